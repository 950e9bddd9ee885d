"""The wild bootstrap: the test of no gap, and the interval of all gaps that it does not reject.

*Restricted wild cluster bootstrap* (Cameron, Gelbach and Miller 2008): with the gap set to zero,
everybody's residual is their score minus the common mean; each draw multiplies the residuals of
every community by one weight, and t is computed again. Weights are signs: all combinations for up
to 11 communities, and random signs for 13 or more; for 12, Webb's six points are drawn.

With few communities the interval covers the gap more often than the jackknife's does, and it agrees
with the test: it contains zero exactly when the test does not reject. With the gap set to d, the
scores of the group are lower by d, and the sums behind a draw's statistic are linear in d; so the
weights are multiplied only once, and each further d costs a few operations per draw.

Notes
-----
O(draws x communities), in batches of bounded memory.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

from recourse_audit.groups.arrays import Floats, Mask
from recourse_audit.groups.sums import (
    CLOSE,
    NUMBERS_PER_BATCH,
    Sums,
    batches_of_draws,
    p_from_draws,
    studentised,
)
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


MOST_ENUMERATED = 11
MOST_WEBB = 12
WEBB = np.sqrt([0.5, 1.0, 1.5])
FARTHEST = 4.0
HALVINGS = 40


def wild_test(sums: Sums, *, draws: int, seed: int) -> float:
    """The p value of no gap."""
    return p_values(sums, draws=draws, seed=seed)(0.0)


def wild_interval(sums: Sums, *, alpha: float, draws: int, seed: int, reach: float) -> Interval:
    """The gaps with a p value over alpha; `reach` is a first guess of the half-width."""
    p = p_values(sums, draws=draws, seed=seed)
    value, step = sums.difference, reach or CLOSE
    return Interval(low=_end(p, value, -step, alpha), high=_end(p, value, step, alpha))


def p_values(sums: Sums, *, draws: int, seed: int) -> Callable[[float], float]:
    """The p value as a function of the gap, by the restricted wild cluster bootstrap."""
    terms = _LinearTerms.of(sums)
    batches = [terms.weighted(weights) for weights in wild_weights(len(sums), draws, seed)]
    found = terms.weighted(np.ones((1, len(sums))))

    def p(gap: float) -> float:
        observed = float(terms.statistic(found, gap)[0])
        drawn = (terms.statistic(batch, gap) for batch in batches)
        return p_from_draws(observed, drawn, exact=_exact(sums))

    return p


def _end(p: Callable[[float], float], value: float, step: float, alpha: float) -> float:
    """Where rejection begins, going out from the estimate; or beyond the largest possible gap."""
    inside, outside = value, value + step
    while p(outside) > alpha:
        if abs(outside - value) > FARTHEST:
            return outside
        inside, outside = outside, value + 2 * (outside - value)
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if p(middle) > alpha else (inside, middle)
    return outside


@dataclass(frozen=True, slots=True, kw_only=True)
class _Weighted:
    """Sums over communities under the weights of each draw, one row per draw, and their squares."""

    sums: Floats
    squares: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class _LinearTerms:
    """The terms of the statistic: at a gap of zero (first four columns) and per unit of gap."""

    sides: Floats
    spread: Floats
    w11: float
    w00: float
    w10: float
    signs: bool

    @classmethod
    def of(cls, sums: Sums) -> "_LinearTerms":
        n1, n0 = sums.n1.sum(), sums.n0.sum()
        common = (sums.s1.sum() + sums.s0.sum()) / (n1 + n0)
        share = n1 / (n1 + n0)
        w1, w0 = sums.n1 / n1, sums.n0 / n0
        r1, r0 = sums.s1 / n1 - w1 * common, sums.s0 / n0 - w0 * common
        part, move = r1 - r0, (1 - share) * w1 + share * w0
        return cls(
            sides=np.column_stack(
                [
                    *(r1, r0, part * w1, part * w0),
                    *((1 - share) * w1, -share * w0, move * w1, move * w0),
                ]
            ),
            spread=np.column_stack([part**2, part * move, move**2]),
            w11=float(w1 @ w1),
            w00=float(w0 @ w0),
            w10=float(w1 @ w0),
            signs=len(sums) != MOST_WEBB,
        )

    def weighted(self, weights: Floats) -> _Weighted:
        """The terms under some weights; signs have squares of 1, so their squares never change."""
        squares = self.spread.sum(axis=0)[None, :] if self.signs else weights**2 @ self.spread
        return _Weighted(sums=weights @ self.sides, squares=squares)

    def statistic(self, drawn: _Weighted, gap: float) -> Floats:
        m1, m0, with1, with0 = (drawn.sums[:, :4] - gap * drawn.sums[:, 4:]).T
        size = drawn.squares @ np.array([1.0, -2 * gap, gap**2])
        variance = size - 2 * m1 * with1 + 2 * m0 * with0
        variance = variance + m1**2 * self.w11 + m0**2 * self.w00 - 2 * m1 * m0 * self.w10
        return studentised(m1 - m0, variance, np.broadcast_to(size, m1.shape))


def _exact(sums: Sums) -> bool:
    return len(sums) <= MOST_ENUMERATED


def wild_weights(communities: int, draws: int, seed: int) -> Iterator[Floats]:
    """Weights of communities, one row per draw; for few communities all signs, up to reflection."""
    if communities <= MOST_ENUMERATED:
        numbers = np.arange(2 ** (communities - 1))[:, None]
        yield 1.0 - 2.0 * (numbers >> np.arange(communities) & 1)
        return
    if draws * communities <= NUMBERS_PER_BATCH:
        yield from _few_weights(communities, draws, seed)
    else:
        yield from _drawn_weights(communities, draws, seed)


@lru_cache(maxsize=4)
def _few_weights(communities: int, draws: int, seed: int) -> tuple[Floats, ...]:
    """Weights that all comparisons over the same number of communities share."""
    return tuple(_drawn_weights(communities, draws, seed))


def _drawn_weights(communities: int, draws: int, seed: int) -> Iterator[Floats]:
    random = np.random.default_rng(seed)
    for rows in batches_of_draws(draws, communities):
        if communities <= MOST_WEBB:
            points = np.concatenate([WEBB, -WEBB])
            yield points[random.integers(points.size, size=(rows, communities))]
        else:
            packed = random.integers(256, size=(rows, -(-communities // 8)), dtype=np.uint8)
            signs = np.unpackbits(packed, axis=1, count=communities).astype(np.float64)
            signs *= -2.0
            signs += 1.0
            yield signs
