"""The seam between what people know about a person and what the model takes.

A `Graph` has columns, by the user's names: numbers, and categories as text. The model takes
features. An `Encoder` turns rows of columns into rows of features; where columns are features
already, there is none.
"""

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.arrays import Floats, Graph
from recourse_audit.graph.computed import Computation
from recourse_audit.settings import GraphSettings


class Encoder(Protocol):
    """Turns rows of columns that people know into rows of features that the model takes."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that features depend on, before anything is computed from them."""

    @property
    def whole(self) -> frozenset[str]:
        """The columns among them that take whole numbers only."""

    @property
    def computation(self) -> Computation:
        """What follows from these columns: derived columns and encodings."""

    def encode(self, columns: Mapping[str, NDArray[np.generic]]) -> Floats:
        """Features [n, F]; `columns` has n entries under every name of `columns`.

        A row on which a formula has no finite value is NaN or infinite there.
        """


class PlainEncoder:
    """Computes derived columns and writes out encodings, in the order of the features."""

    whole: frozenset[str] = frozenset()

    def __init__(self, computation: Computation, feature_names: tuple[str, ...]) -> None:
        self.computation = computation
        self.columns = computation.base(feature_names)
        self._feature_names = feature_names

    def encode(self, columns: Mapping[str, NDArray[np.generic]]) -> Floats:
        """Features [n, F] in float64, one row per entry of the columns."""
        whole = self.computation.complete(columns)
        return np.stack([whole[name].astype(np.float64) for name in self._feature_names], axis=1)


def encoder_of(settings: GraphSettings, graph: Graph) -> Encoder | None:
    """The encoder that the settings ask for; None where features are columns as they are."""
    computation = Computation(settings)
    made = [name for name in graph.feature_names if name in computation.maker]
    return PlainEncoder(computation, graph.feature_names) if made else None
