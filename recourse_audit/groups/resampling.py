"""The test of no gap, by bootstrap and permutation, and percentile intervals over communities.

The wild bootstrap (`wild_bootstrap`) is unreliable where no community has people of both groups and
one group has few communities. There the labels of whole communities are permuted as well, and the
larger of the two p values counts.
"""

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from recourse_audit.groups.arrays import Floats, Mask
from recourse_audit.groups.sums import Sums, batches_of_draws, p_from_draws, studentised
from recourse_audit.groups.wild_bootstrap import MOST_ENUMERATED, wild_test
from recourse_audit.records.group_figures import Interval

# With more communities than this, a percentile interval would cost too much.
MOST_RESAMPLED = 2000
# A p value near a level is resolved if about this many draws are expected below the level.
DRAWS_BELOW = 20
NEAR = 4
MOST_DRAWS = 99_999
MOST_NUMBERS = 400_000_000


def gap_test(sums: Sums, *, draws: int, seed: int, level: float = 0.05) -> float:
    """The p value of no gap; repeated with more draws if it is near a level that it cannot resolve.

    After a correction for many tests the level is so small that the usual draws cannot reach it.
    """
    p = _gap_test(sums, draws, seed)
    finer = min(math.ceil(DRAWS_BELOW / level), MOST_DRAWS, max(draws, MOST_NUMBERS // len(sums)))
    if finer > draws and p <= NEAR * max(level, 1 / (draws + 1)):
        p = _gap_test(sums, finer, seed)
    return p


def smallest_p(sums: Sums) -> float:
    """The smallest p value that is possible; 0 if more draws would make it smaller."""
    least = 2.0 ** (1 - len(sums)) if len(sums) <= MOST_ENUMERATED else 0.0
    if sums.mixed:
        return least
    return max(least, 1 / math.comb(len(sums), int((sums.n1 > 0).sum())))


def _gap_test(sums: Sums, draws: int, seed: int) -> float:
    p = wild_test(sums, draws=draws, seed=seed)
    return p if sums.mixed else max(p, permutation_test(sums, draws=draws, seed=seed))


def permutation_test(sums: Sums, *, draws: int, seed: int) -> float:
    """The p value when the labels of whole communities, none of them mixed, are permuted."""
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
    permuted = all_labels(labels.size, chosen) if exact else drawn_labels(labels, draws, seed)
    return p_from_draws(found, map(statistic, permuted), exact=exact)


def percentile_interval(sums: Sums, *, alpha: float, draws: int, seed: int) -> Interval | None:
    """Percentiles of the difference when communities are drawn with replacement."""
    count = len(sums)
    if count > MOST_RESAMPLED:
        return None
    random = np.random.default_rng(seed)
    sides = np.column_stack([sums.n1, sums.n0, sums.s1, sums.s0])
    found = []
    for rows in batches_of_draws(draws, count):
        drawn = random.integers(count, size=(rows, count)) + count * np.arange(rows)[:, None]
        times = np.bincount(drawn.ravel(), minlength=rows * count).reshape(rows, count)
        n1, n0, s1, s0 = (times @ sides).T
        there = (n1 > 0) & (n0 > 0)
        found.append(s1[there] / n1[there] - s0[there] / n0[there])
    low, high = np.quantile(np.concatenate(found), [alpha / 2, 1 - alpha / 2]).tolist()
    return Interval(low=low, high=high)


def all_labels(communities: int, chosen: int) -> Iterator[Floats]:
    """Every choice of this many communities, one row per choice."""
    picked = np.array(list(combinations(range(communities), chosen)))
    labels = np.zeros((len(picked), communities))
    np.put_along_axis(labels, picked, 1.0, axis=1)
    yield labels


def drawn_labels(labels: Mask, draws: int, seed: int) -> Iterator[Floats]:
    """The labels of communities in random order, one row per draw."""
    random = np.random.default_rng(seed)
    for rows in batches_of_draws(draws, labels.size):
        repeated = np.repeat(labels[None, :].astype(np.float64), rows, axis=0)
        yield random.permuted(repeated, axis=1)


def _mean_and_variance(sums: Floats) -> tuple[Floats, Floats]:
    people, score, score2, product, people2 = sums.T
    mean = score / people
    return mean, (score2 - 2 * mean * product + mean**2 * people2) / people**2
