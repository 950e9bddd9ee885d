"""Raw columns of a node table, as the people in it know them: numbers that may be missing, or text.

They are what preprocessing takes in. Whoever needs them says which columns of a table, and as
what; the readers of all formats then check every value and name the first one that does not fit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import GraphError
from recourse_audit.graph.arrays import Graph
from recourse_audit.graph.columns import Place, as_labels, bad_value, to_strings

ColumnKind = Literal["numbers", "text"]
Columns = Mapping[str, NDArray[np.generic]]


class RawColumns(Protocol):
    """Somebody who takes raw columns of the node table."""

    def kinds(self, known: Sequence[str], origin: str) -> Mapping[str, ColumnKind]:
        """Which of the table's columns are taken, and as what; a column it lacks is an error."""
        ...


def with_raw_columns(graph: Graph, raw: RawColumns, place: Place) -> Graph:
    """A graph in memory whose features and attributes are all taken as raw columns."""
    features = {name: graph.features[:, column] for column, name in enumerate(graph.feature_names)}
    columns: Columns = {**features, **graph.attributes}
    kinds = raw.kinds([*columns], place.name)
    return replace(
        graph,
        features=graph.features[:, :0],
        feature_names=(),
        attributes=checked_columns(columns, kinds, place),
    )


def checked_columns(columns: Columns, kinds: Mapping[str, ColumnKind], place: Place) -> Columns:
    """The same columns, with those that somebody takes turned into numbers or text."""
    return {
        name: values if name not in kinds else as_kind(values, kinds[name], name, place)
        for name, values in columns.items()
    }


def as_kind(
    values: NDArray[np.generic], kind: ColumnKind, column: str, place: Place
) -> NDArray[np.generic]:
    """A column as numbers (float64, NaN where a cell is empty) or as text ("" where it is)."""
    return _numbers(values, column, place) if kind == "numbers" else _texts(values, column, place)


def _numbers(values: NDArray[np.generic], column: str, place: Place) -> NDArray[np.float64]:
    if values.dtype.kind in "biuf":
        numbers = values.astype(np.float64)
    else:
        texts = values.tolist()
        numbers = np.full(len(texts), np.nan)
        for index, text in enumerate(texts):
            if str(text).strip():
                numbers[index] = _number(str(text), index, column, place)
    infinite = np.isinf(numbers)
    if infinite.any():
        index = int(np.flatnonzero(infinite)[0])
        raise bad_value(place, index, column, str(values[index]))
    return numbers


def _number(text: str, index: int, column: str, place: Place) -> float:
    try:
        return float(text.replace("_", "?"))  # Python would accept 1_000
    except ValueError:
        raise bad_value(place, index, column, text) from None


def _texts(values: NDArray[np.generic], column: str, place: Place) -> NDArray[np.generic]:
    if values.dtype.kind == "T":
        return values
    if values.dtype.kind == "f":
        raise GraphError(
            f"{place.name}: column {column!r} holds numbers with fractions, but text is needed; "
            "store it as text, as the pipeline was trained on it"
        )
    return as_labels(to_strings(values.tolist(), place))
