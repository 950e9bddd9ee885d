"""Sums per community of two groups of people, and what all resampling of communities shares.

The statistic is always the difference of two means over its cluster-robust standard error (CV1),
two-sided. With u_k a community's part of the error of the difference,

    t = (m1 - m0) / sqrt(sum u_k^2),  u_k = (s1_k - n1_k m1) / N1 - (s0_k - n0_k m0) / N0.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from recourse_audit.groups.arrays import Floats

NUMBERS_PER_BATCH = 4_000_000
CLOSE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """Per community, the number (n) and total score (s) of the group (1) and the reference (0)."""

    n1: Floats
    n0: Floats
    s1: Floats
    s0: Floats

    def __len__(self) -> int:
        return self.n1.size

    @property
    def means(self) -> tuple[float, float]:
        return float(self.s1.sum() / self.n1.sum()), float(self.s0.sum() / self.n0.sum())

    @property
    def difference(self) -> float:
        group, reference = self.means
        return group - reference

    def means_without(self) -> tuple[Floats, Floats]:
        """Both means with each community left out."""
        with np.errstate(all="ignore"):
            group = (self.s1.sum() - self.s1) / (self.n1.sum() - self.n1)
            reference = (self.s0.sum() - self.s0) / (self.n0.sum() - self.n0)
        return group, reference

    @property
    def differences_without(self) -> Floats:
        group, reference = self.means_without()
        return group - reference

    @property
    def mixed(self) -> bool:
        """Whether any community has people of both groups."""
        return bool(((self.n1 > 0) & (self.n0 > 0)).any())


def studentised(difference: Floats, variance: Floats, scale: Floats) -> Floats:
    """|t|; zero where there is no difference, infinite for a difference without any variance."""
    scale = np.maximum(scale, 0.0)  # where all communities are alike, rounding may leave less
    nothing = variance <= CLOSE**2 * 1e4 * scale
    none = np.abs(difference) <= CLOSE * np.sqrt(scale)
    with np.errstate(all="ignore"):
        size = np.abs(difference) / np.sqrt(variance)
    return np.where(none, 0.0, np.where(nothing, np.inf, size))


def p_from_draws(found: float, drawn: Iterable[Floats], *, exact: bool) -> float:
    """The share of draws with a statistic at least as large as the one found.

    Unless all possible draws were made (`exact`), what was found counts as one draw more.
    """
    larger = total = 0
    for statistics in drawn:
        larger += int((statistics >= found * (1 - CLOSE)).sum())
        total += len(statistics)
    return larger / total if exact else (larger + 1) / (total + 1)


def batches_of_draws(draws: int, communities: int) -> Iterator[int]:
    """The sizes of batches of draws that together keep memory bounded."""
    most = max(1, NUMBERS_PER_BATCH // max(1, communities))
    for start in range(0, draws, most):
        yield min(most, draws - start)
