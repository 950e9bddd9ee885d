"""Compares methods on the same subjects: means, marks, paired tests, dominance."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from recourse_audit.search.pareto import RESOLUTION

LEVEL = 0.05
Column = NDArray[np.floating]


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """The mean of a method on a graph, and its place among the others.

    `mark` is "best"; "certain" if a paired t-test at 5 % tells the best apart from every other
    method; "runner-up", "worst", "second-worst" or empty. Means that are equal to the digits shown
    share a mark.
    """

    mean: float
    mark: str


def marked(columns: Mapping[str, Column], digits: int = 3) -> dict[str, Marked]:
    """Mark methods by their means (higher is better); all columns have the same subjects."""
    means = {name: round(float(np.mean(column)), digits) + 0.0 for name, column in columns.items()}
    levels = sorted(set(means.values()), reverse=True)
    places = dict(zip(levels, _marks(len(levels)), strict=True))
    found = {name: places[mean] for name, mean in means.items()}
    best = [name for name, mark in found.items() if mark == "best"]
    if len(best) == 1 and all(
        p_value(columns[best[0]], columns[name]) < LEVEL for name in columns if name != best[0]
    ):
        found[best[0]] = "certain"
    return {name: Marked(mean=means[name], mark=found[name]) for name in columns}


def _marks(count: int) -> list[str]:
    """The marks from best to worst; if there are few methods, good marks take precedence."""
    marks = [""] * count
    for place, mark in ((-2, "second-worst"), (-1, "worst"), (1, "runner-up"), (0, "best")):
        if -count <= place < count:
            marks[place] = mark
    return marks


def p_value(one: Column, other: Column) -> float:
    """The two-sided p-value of a paired t-test; 1 if there is nothing to tell apart."""
    difference = one - other
    if len(difference) < 2 or np.ptp(difference) == 0:
        # Without spread the test is undefined: all are equal, or all differ by the same amount.
        return 1.0 if len(difference) < 2 or difference[0] == 0 else 0.0
    return float(stats.ttest_rel(one, other).pvalue)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dominance:
    """The shares of subjects on which a method dominates another, is dominated, or is equal."""

    dominates: float
    dominated: float
    equal: float

    @property
    def neither(self) -> float:
        return 1.0 - self.dominates - self.dominated - self.equal


def dominance(
    one: tuple[Column, Column], other: tuple[Column, Column], *, scored_twice: bool = True
) -> Dominance:
    """Count on how many subjects one method's pair of objectives dominates the other's.

    If the two methods were scored separately, figures that differ by at most two steps of the
    resolution count as equal, since scoring the same pair twice can give such a difference. Choices
    from one search are compared exactly.
    """
    steps = 2.5 if scored_twice else 0.5
    ahead = [_compared(mine, theirs, steps) for mine, theirs in zip(one, other, strict=True)]
    no_worse, no_better = np.min(ahead, axis=0) >= 0, np.max(ahead, axis=0) <= 0
    return Dominance(
        dominates=float(np.mean(no_worse & ~no_better)),
        dominated=float(np.mean(no_better & ~no_worse)),
        equal=float(np.mean(no_worse & no_better)),
    )


def _compared(one: Column, other: Column, steps: float) -> Column:
    difference = one - other
    return np.where(np.abs(difference) <= steps * RESOLUTION, 0.0, np.sign(difference))


def agreement(own: Mapping[str, float], published: Mapping[str, float]) -> float:
    """Spearman's rank correlation between two tables' orders of the same methods."""
    names = list(own)
    found = stats.spearmanr([own[name] for name in names], [published[name] for name in names])
    return float(found.statistic)


def beats(one: Column, other: Column) -> str:
    """Say whether one method is "better" or "worse" by a paired test, or "inconclusive"."""
    if p_value(one, other) >= LEVEL:
        return "inconclusive"
    return "better" if float(np.mean(one - other)) > 0 else "worse"


def common(columns: Iterable[Iterable[int]]) -> list[int]:
    """The subjects that all methods have in common, in ascending order."""
    shared = [set(column) for column in columns]
    return sorted(set.intersection(*shared)) if shared else []
