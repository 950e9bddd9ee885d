"""Tests that resample communities: the wild bootstrap, and permutations of whole communities.

The statistic is always the difference of two means over its cluster-robust standard error (CV1),
two-sided. With u_k a community's part of the error of the difference,

    t = (m1 - m0) / sqrt(sum u_k^2),  u_k = (s1_k - n1_k m1) / N1 - (s0_k - n0_k m0) / N0.

*Restricted wild cluster bootstrap* (Cameron, Gelbach and Miller 2008): with the gap set to zero
everybody's residual is their score minus the common mean; a draw multiplies the residuals of each
community by one weight, and t is worked out again. Weights are signs; all of them are tried for up
to 11 communities, Webb's six points are drawn for 12, and signs for more. It is unreliable where
few communities are on a side and none is mixed, so that there the labels of whole communities are
permuted as well, and the larger p counts.

Notes
-----
A draw costs a few products over communities: O(draws x communities), in parts of bounded memory.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

from recourse_audit.groups.arrays import Floats, Mask
from recourse_audit.groups.records import Interval

MOST_ENUMERATED = 11
MOST_WEBB = 12
WEBB = np.sqrt([0.5, 1.0, 1.5])
# A percentile interval is drawn beside the others only while that is cheap.
MOST_RESAMPLED = 2000
NUMBERS_TOGETHER = 4_000_000
# So many draws should lie beyond a level that is to be told from its neighbours, within reason.
DRAWS_BELOW = 20
NEAR = 4
MOST_DRAWS = 99_999
MOST_NUMBERS = 400_000_000
CLOSE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """People (n) and scores (s) of the group (1) and the reference (0) in each community."""

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
        """Whether any community has people of both."""
        return bool(((self.n1 > 0) & (self.n0 > 0)).any())


def gap_test(sums: Sums, *, draws: int, seed: int, level: float = 0.05) -> float:
    """The p value of no gap; drawn again more finely if it comes near a level it cannot resolve.

    After a correction for many tests the level is so small that the usual draws would miss it.
    """
    p = _gap_test(sums, draws, seed)
    finer = min(math.ceil(DRAWS_BELOW / level), MOST_DRAWS, max(draws, MOST_NUMBERS // len(sums)))
    if finer > draws and p <= NEAR * max(level, 1 / (draws + 1)):
        p = _gap_test(sums, finer, seed)
    return p


def smallest_p(sums: Sums) -> float:
    """The smallest p value that there can be; 0 if more draws make it smaller."""
    least = 2.0 ** (1 - len(sums)) if len(sums) <= MOST_ENUMERATED else 0.0
    if sums.mixed:
        return least
    return max(least, 1 / math.comb(len(sums), int((sums.n1 > 0).sum())))


def _gap_test(sums: Sums, draws: int, seed: int) -> float:
    p = wild_test(sums, draws=draws, seed=seed)
    return p if sums.mixed else max(p, permutation_test(sums, draws=draws, seed=seed))


def wild_test(sums: Sums, *, draws: int, seed: int) -> float:
    """The p value of the restricted wild cluster bootstrap."""
    n1, n0 = sums.n1.sum(), sums.n0.sum()
    common = (sums.s1.sum() + sums.s0.sum()) / (n1 + n0)
    r1, r0 = (sums.s1 - sums.n1 * common) / n1, (sums.s0 - sums.n0 * common) / n0
    w1, w0, part = sums.n1 / n1, sums.n0 / n0, r1 - r0
    sides = np.column_stack([r1, r0, part * w1, part * w0])
    squares = w1 @ w1, w0 @ w0, w1 @ w0
    signs = len(sums) != MOST_WEBB  # whose squares are 1

    def statistic(weights: Floats) -> Floats:
        m1, m0, with1, with0 = (weights @ sides).T
        size = np.full(len(weights), part @ part) if signs else weights**2 @ part**2
        variance = size - 2 * m1 * with1 + 2 * m0 * with0
        variance += m1**2 * squares[0] + m0**2 * squares[1] - 2 * m1 * m0 * squares[2]
        return studentised(m1 - m0, variance, size)

    found = float(statistic(np.ones((1, len(sums))))[0])
    return _share_as_large(found, statistic, wild_weights(len(sums), draws, seed), _exact(sums))


def permutation_test(sums: Sums, *, draws: int, seed: int) -> float:
    """The p value when the labels of whole communities, none of them mixed, are dealt anew."""
    people, score, labels = sums.n1 + sums.n0, sums.s1 + sums.s0, sums.n1 > 0
    sides = np.column_stack([people, score, score**2, score * people, people**2])
    whole = sides.sum(axis=0)

    def statistic(labels: Floats) -> Floats:
        group = labels @ sides
        (m1, v1), (m0, v0) = _mean_and_variance(group), _mean_and_variance(whole - group)
        return studentised(m1 - m0, v1 + v0, v1 + v0 + m1**2 + m0**2)

    found = float(statistic(labels[None, :].astype(np.float64))[0])
    chosen = int(labels.sum())
    exact = math.comb(labels.size, chosen) <= draws + 1
    dealt = all_labels(labels.size, chosen) if exact else drawn_labels(labels, draws, seed)
    return _share_as_large(found, statistic, dealt, exact)


def percentile_interval(sums: Sums, *, alpha: float, draws: int, seed: int) -> Interval | None:
    """Percentiles of the difference when communities are drawn with replacement."""
    count = len(sums)
    if count > MOST_RESAMPLED:
        return None
    random = np.random.default_rng(seed)
    sides = np.column_stack([sums.n1, sums.n0, sums.s1, sums.s0])
    found = []
    for rows in _parts(draws, count):
        drawn = random.integers(count, size=(rows, count)) + count * np.arange(rows)[:, None]
        times = np.bincount(drawn.ravel(), minlength=rows * count).reshape(rows, count)
        n1, n0, s1, s0 = (times @ sides).T
        there = (n1 > 0) & (n0 > 0)
        found.append(s1[there] / n1[there] - s0[there] / n0[there])
    low, high = np.quantile(np.concatenate(found), [alpha / 2, 1 - alpha / 2]).tolist()
    return Interval(low=low, high=high)


def wild_weights(communities: int, draws: int, seed: int) -> Iterator[Floats]:
    """Weights of communities, a row a draw; all signs once (up to their mirror image) if few."""
    if communities <= MOST_ENUMERATED:
        numbers = np.arange(2 ** (communities - 1))[:, None]
        yield 1.0 - 2.0 * (numbers >> np.arange(communities) & 1)
        return
    if draws * communities <= NUMBERS_TOGETHER:
        yield from _few_weights(communities, draws, seed)
    else:
        yield from _drawn_weights(communities, draws, seed)


@lru_cache(maxsize=4)
def _few_weights(communities: int, draws: int, seed: int) -> tuple[Floats, ...]:
    """Weights that many comparisons over the same number of communities have in common."""
    return tuple(_drawn_weights(communities, draws, seed))


def _drawn_weights(communities: int, draws: int, seed: int) -> Iterator[Floats]:
    random = np.random.default_rng(seed)
    for rows in _parts(draws, communities):
        if communities <= MOST_WEBB:
            points = np.concatenate([WEBB, -WEBB])
            yield points[random.integers(points.size, size=(rows, communities))]
        else:
            packed = random.integers(256, size=(rows, -(-communities // 8)), dtype=np.uint8)
            signs = np.unpackbits(packed, axis=1, count=communities).astype(np.float64)
            signs *= -2.0
            signs += 1.0
            yield signs


def all_labels(communities: int, chosen: int) -> Iterator[Floats]:
    """Every choice of so many communities, a row each."""
    picked = np.array(list(combinations(range(communities), chosen)))
    labels = np.zeros((len(picked), communities))
    np.put_along_axis(labels, picked, 1.0, axis=1)
    yield labels


def drawn_labels(labels: Mask, draws: int, seed: int) -> Iterator[Floats]:
    """The labels of communities in a random order, a row a draw."""
    random = np.random.default_rng(seed)
    for rows in _parts(draws, labels.size):
        dealt = np.repeat(labels[None, :].astype(np.float64), rows, axis=0)
        yield random.permuted(dealt, axis=1)


def _exact(sums: Sums) -> bool:
    return len(sums) <= MOST_ENUMERATED


def _share_as_large(
    found: float, statistic: Callable[[Floats], Floats], drawn: Iterator[Floats], exact: bool
) -> float:
    """The share of draws with a statistic at least as large; what was found counts as one draw."""
    larger = total = 0
    for part in drawn:
        larger += int((statistic(part) >= found * (1 - CLOSE)).sum())
        total += len(part)
    return larger / total if exact else (larger + 1) / (total + 1)


def _mean_and_variance(sums: Floats) -> tuple[Floats, Floats]:
    people, score, score2, product, people2 = sums.T
    mean = score / people
    return mean, (score2 - 2 * mean * product + mean**2 * people2) / people**2


def studentised(difference: Floats, variance: Floats, scale: Floats) -> Floats:
    """|t|; zero for no difference, infinite for one without any spread."""
    nothing = variance <= CLOSE**2 * 1e4 * scale
    none = np.abs(difference) <= CLOSE * np.sqrt(scale)
    with np.errstate(all="ignore"):
        size = np.abs(difference) / np.sqrt(variance)
    return np.where(none, 0.0, np.where(nothing, np.inf, size))


def _parts(draws: int, communities: int) -> Iterator[int]:
    """Numbers of draws that are made together, so that memory is bounded."""
    most = max(1, NUMBERS_TOGETHER // max(1, communities))
    for start in range(0, draws, most):
        yield min(most, draws - start)
