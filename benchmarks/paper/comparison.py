"""Methods beside each other on the same subjects: means, marks, paired tests, dominance."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from recourse_audit.search.objectives import RESOLUTION

LEVEL = 0.05
Column = NDArray[np.floating]


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """The mean of a method on a graph and where it stands among the others.

    `mark` is "best", "certain" for a best that a paired t-test at 5 % tells from every other
    method, "runner-up", "worst", "second-worst" or nothing. Means that are equal at the digits
    shown share a mark.
    """

    mean: float
    mark: str


def marked(columns: Mapping[str, Column], digits: int = 3) -> dict[str, Marked]:
    """Mark methods by their means, the higher the better; a column holds the same subjects."""
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
    """Marks from the best to the worst; good ones first where there are few."""
    marks = [""] * count
    for place, mark in ((-2, "second-worst"), (-1, "worst"), (1, "runner-up"), (0, "best")):
        if -count <= place < count:
            marks[place] = mark
    return marks


def p_value(one: Column, other: Column) -> float:
    """The paired t-test's p-value, two-sided; 1 where there is nothing to tell apart."""
    difference = one - other
    if len(difference) < 2 or np.ptp(difference) == 0:
        # Without spread the test has no answer: all alike, or all apart by the same amount.
        return 1.0 if len(difference) < 2 or difference[0] == 0 else 0.0
    return float(stats.ttest_rel(one, other).pvalue)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dominance:
    """Shares of subjects: one method dominates the other, is dominated, is equal, or neither."""

    dominates: float
    dominated: float
    equal: float

    @property
    def neither(self) -> float:
        return 1.0 - self.dominates - self.dominated - self.equal


def dominance(
    one: tuple[Column, Column], other: tuple[Column, Column], *, scored_twice: bool = True
) -> Dominance:
    """How often a method's pair of objectives dominates another's, subject by subject.

    Figures that differ by no more than two steps of the resolution count as equal if the two were
    scored apart: the same pair scored twice may come out so. Picks of one search differ or do not.
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
    """How alike two tables order the same methods: Spearman's rank correlation."""
    names = list(own)
    found = stats.spearmanr([own[name] for name in names], [published[name] for name in names])
    return float(found.statistic)


def beats(one: Column, other: Column) -> str:
    """What a paired test says of two methods: "better", "worse" or "no telling"."""
    if p_value(one, other) >= LEVEL:
        return "no telling"
    return "better" if float(np.mean(one - other)) > 0 else "worse"


def common(columns: Iterable[Iterable[int]]) -> list[int]:
    """The subjects that every method has, ascending."""
    shared = [set(column) for column in columns]
    return sorted(set.intersection(*shared)) if shared else []
