"""The two objectives, and dominance, fronts and competition ranks over them, for many subjects.

One pair dominates another if it is at least as good in both objectives and better in one
(Definition 2 of the paper). Equal pairs do not dominate each other, so ties all stay.

Everything starts from one sort: explanations by subject, then by simulatability, best first.
Explanations that are equal in both form one step of a staircase, which is the shape of a front.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.arrays import Floats, Indices, Ints
from recourse_audit.graph.neighbourhoods import spans

RESOLUTION = 1e-6
SHOWN_DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """Answers on the whole graph, one row per node: log-probabilities, and their exponentials.

    Of a score model: scores in one column, and `spread`, the standard deviation of everybody's.
    """

    logarithms: Floats
    probabilities: Floats
    spread: float | None = None

    @classmethod
    def of_answers(cls, answers: Floats, spread: float | None = None) -> "Whole":
        chances = np.exp(answers) if spread is None else answers
        return cls(logarithms=answers, probabilities=chances, spread=spread)

    def of(self, nodes: NDArray[np.integer]) -> "Whole":
        """The rows of some nodes."""
        return Whole(
            logarithms=self.logarithms[nodes],
            probabilities=self.probabilities[nodes],
            spread=self.spread,
        )


def simulatability(whole: Whole, subgraph: Floats) -> Floats:
    """Minus the symmetric Kullback-Leibler divergence between answers, row by row.

    `subgraph` has answers; `whole` may be a single row. Zero is the best value, reached only where
    the subgraph gives exactly the answer of the whole graph.

    A score stands for a normal distribution around it with the population's standard deviation
    sigma. The divergence of two of those is (s - s')^2 / 2 sigma^2 either way, and both are added.
    """
    if whole.spread is not None:
        apart = (whole.logarithms[:, 0] - subgraph[:, 0]) / whole.spread
        scores: Floats = -apart * apart
        return scores
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


@dataclass(frozen=True, kw_only=True)
class Staircase:
    """Explanations in order of subject and simulatability; `starts` is where each step begins.

    Explanations with equal simulatability come in any order.
    """

    order: Ints
    starts: Ints

    @classmethod
    def build(cls, distance: Floats) -> "Staircase":
        """Sort by distance, ascending; those of different subjects do not overlap. O(n log n)."""
        order = np.argsort(distance)
        ordered = distance[order]
        change = np.empty(len(order), bool)
        change[:1] = True
        np.not_equal(ordered[1:], ordered[:-1], out=change[1:])
        return cls(order=order, starts=np.flatnonzero(change))

    @cached_property
    def _ends(self) -> Ints:
        return np.append(self.starts, len(self.order))

    def only(self, wanted: Ints) -> "Staircase":
        """The staircase with only some of the steps, given in ascending order."""
        places, step = spans(self._ends, wanted)
        starts = np.flatnonzero(np.diff(step, prepend=-1))
        return Staircase(order=self.order[places], starts=starts)

    def ranks(self, number: Ints, root: Indices, before: Ints) -> Ints:
        """Competition ranks of explanations, the best first; equal ones share the best rank.

        Each stands for `number` pairs; `before` counts those of earlier subjects.
        """
        passed = np.cumsum(number[self.order])
        first = self.order[self.starts]
        own = 1 + passed[self.starts] - number[first] - before[root[first]]
        ranks = np.empty(len(self.order), np.int64)
        ranks[self.order] = np.repeat(own, np.diff(self._ends))
        return ranks

    def front(self, best: Floats) -> Ints:
        """The explanations that no other one of the same subject dominates, ascending.

        `best` is the largest relevance of each; those of a later subject are larger than all those
        of an earlier one.
        """
        highest = np.maximum.reduceat(best[self.order], self.starts)
        before = np.empty_like(highest)
        before[0] = -1.0
        np.maximum.accumulate(highest[:-1], out=before[1:])
        leading = np.flatnonzero(highest > before)
        places, step = spans(self._ends, leading)
        some = self.order[places]
        return np.sort(some[best[some] == highest[leading[step]]])
