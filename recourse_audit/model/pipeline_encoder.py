"""A sealed pipeline as an encoder: rows of raw columns become rows of features."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import ModelError
from recourse_audit.graph.arrays import Floats, Strings
from recourse_audit.graph.columns import Columns
from recourse_audit.graph.computed import Computation
from recourse_audit.model.preprocessing import WHOLE, Intake, Pipeline


class PipelineEncoder:
    """Computes what follows from columns, then asks a pipeline once for all rows."""

    def __init__(
        self, pipeline: Pipeline, intakes: tuple[Intake, ...], computation: Computation
    ) -> None:
        self.pipeline = pipeline
        self.intakes = intakes
        self.computation = computation
        self.columns = computation.base(tuple(name for one in intakes for name in one.columns))
        self.whole = frozenset(
            name for one in intakes if one.port.dtype in WHOLE for name in one.columns
        )

    def encode(self, columns: Mapping[str, NDArray[np.generic]]) -> Floats:
        """Features [n, F], one row per entry of the columns."""
        return self.pipeline.features(self.intakes, self.computation.complete(columns))

    def encode_nodes(self, columns: Columns, ids: Strings, origin: str) -> Floats:
        """Everybody's features; a row that the pipeline cannot take is named by its id."""
        try:
            features = self.encode(columns)
        except ModelError as error:
            row = self._first_refused(columns)
            if row is None:
                raise
            reason = str(error).removeprefix(f"{self.pipeline.path}: ")
            raise ModelError(
                f"{self.pipeline.path}: cannot take the row of {str(ids[row])!r} in {origin} "
                f"({self._shown(columns, row)}): {reason}"
            ) from None
        broken = ~np.isfinite(features)
        if broken.any():
            row, place = (int(found[0]) for found in np.nonzero(broken))
            raise ModelError(
                f"{self.pipeline.path}: gives no finite number ({features[row, place]}) as "
                f"{self.feature_names(features.shape[1])[place]} for {str(ids[row])!r} in {origin} "
                f"({self._shown(columns, row)}); correct the row, or ask for another export"
            )
        return features

    def feature_names(self, count: int) -> tuple[str, ...]:
        """The pipeline's features, which have no names of their own: `output[0]`, `output[1]`."""
        return tuple(f"{self.pipeline.output.name}[{place}]" for place in range(count))

    def _first_refused(self, columns: Columns) -> int | None:
        """The first row that is refused even alone, found by halving; None if there is none."""
        first, last = 0, len(next(iter(columns.values())))
        while last - first > 1:
            middle = (first + last) // 2
            if self._refuses(columns, first, middle):
                last = middle
            else:
                first = middle
        return first if self._refuses(columns, first, last) else None

    def _refuses(self, columns: Columns, first: int, last: int) -> bool:
        try:
            self.encode({name: values[first:last] for name, values in columns.items()})
        except ModelError:
            return True
        return False

    def _shown(self, columns: Columns, row: int) -> str:
        shown = [f"{name} = {values[row]!s}" for name, values in [*columns.items()][:8]]
        return ", ".join(shown) + (", …" if len(columns) > 8 else "")
