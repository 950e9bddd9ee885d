"""The two objectives of the paper: simulatability ν, eq. (4), and relevance μ, eq. (5).

Both are float64 with natural logarithms. They are compared as whole multiples of 1e-6, the
resolution of a float32 model, so that smaller noise does not break ties.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.arrays import Floats

RESOLUTION = 1e-6
SHOWN_DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """Answers on the whole graph, one row per node: log-probabilities, and their exponentials."""

    logarithms: Floats
    probabilities: Floats

    @classmethod
    def of_answers(cls, logarithms: Floats) -> "Whole":
        return cls(logarithms=logarithms, probabilities=np.exp(logarithms))

    def of(self, nodes: NDArray[np.integer]) -> "Whole":
        """The rows of some nodes."""
        return Whole(logarithms=self.logarithms[nodes], probabilities=self.probabilities[nodes])


def simulatability(whole: Whole, subgraph: Floats) -> Floats:
    """Minus the symmetric Kullback-Leibler divergence between answers, row by row.

    `subgraph` has log-probabilities; `whole` may be a single row. Zero is the best value, reached
    only where the subgraph gives exactly the answer of the whole graph.
    """
    total = np.zeros(len(subgraph))
    columns = zip(whole.logarithms.T, whole.probabilities.T, subgraph.T, strict=True)
    for one, chance, other in columns:
        term = chance - np.exp(other)
        term *= other - one
        total += term
    return total


def comparable(values: Floats, out: Floats | None = None) -> Floats:
    """Values in whole steps of the resolution, so that equal results compare as equal."""
    steps: Floats = np.multiply(values, 1.0 / RESOLUTION, out=out)
    return np.rint(steps, out=steps)


def figures(steps: Floats) -> Floats:
    """The values that whole steps of the resolution stand for, as they are shown."""
    values: Floats = np.round(steps * RESOLUTION, SHOWN_DIGITS) + 0.0
    return values
