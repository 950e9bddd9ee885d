"""Whether a gap between two groups of people on one graph is more than chance.

People who are tied are alike: in what becomes of them, and often in their group. So a gap counts
for less than it would between independent people. How much less is found by redrawing the labels of
the groups on the same graph (`redraws`); what became of people stays as it is.

Notes
-----
With n people in the group and the reference, values y and their variance s2, V0 = s2 (1/n1 + 1/n0)
is the variance of the gap if people were independent. V1 adds the products of the residuals of two
people, weighed by how close they are in the graph. D is the mean of gap²/V1 over redrawn labels, at
least 1; so D V1 is the variance of the gap on this graph, D V1 / V0 the *inflation*, and the number
of people over the inflation the *effective* number. Differences, ratios and tests all rest on it.

Ties alone cannot tell every world in which labels clump as the observed ones do: D is a mean over
such worlds. The *cautious* p value takes D plus the standard deviation over them.

Where a column names everybody's community, the same gap is tested a second time: people of one
community may be alike in unknown ways, people of different ones are taken for independent (the
jackknife over communities, CV3 of MacKinnon, Nielsen and Webb 2023, with Student's t). It finds
more than redrawn labels where communities are what they seem, and is wrong where labels cross their
borders along ties; so it decides alone only where few ties do.

Among very many people, D and V1 are those of a sample of them. The variance of the gap between so
few stands for that of the gap between all, which is smaller: no gap is shown that a test on
everybody would not show, and 20,000 people are enough to find a gap of a few points.

`scipy.stats` is imported when it is needed, because it loads slowly.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from recourse_audit.groups.intervals import Shares, difference_interval, ratio_interval
from recourse_audit.groups.redraws import (
    UNREACHED,
    Effort,
    Floats,
    Ints,
    Labels,
    Mask,
    Network,
    Redrawing,
    Redraws,
)
from recourse_audit.records.group_figures import (
    ByColumn,
    Estimate,
    Interval,
    Precision,
    WhyUntested,
)

# A gap is not tested where fewer people have ties, or where a group counts for fewer people.
FEWEST_TIED, FEWEST_EFFECTIVE = 100, 10
# Distances between more people than this, or through more ties than this, are not looked at.
MOST_NEAR, MOST_WORK = 5_000, 2_000_000_000
# Among more people than this, closeness is kept as a product of this rank.
MOST_DENSE, RANK, POWERS, LEAST_EIGENVALUE = 400, 128, 3, 1e-3
COMPARISONS_KEPT, LARGE_COMPARISONS_KEPT = 80, 4
NUMBERS_AT_ONCE = 1_000_000
# Below the first, a yes or no is not tested; below the second, Fisher's test has a say.
FEWEST_EXPECTED, FEW_EXPECTED = 1, 5
# Labels that clump less like those of any setting are not tested.
WORST_FIT = 4.0
LARGE = Effort(pilot=4, more=0, redraws=8_000, rows=40, permutations=40, tolerance=0.02)
VERY_LARGE, HUGE = 50_000, replace(LARGE, pilot=1)
FEWEST_COMMUNITIES, FEWEST_ON_A_SIDE = 6, 3
# A column of communities decides alone if no more of the ties than this lead out of them.
MOST_LEAVING = 0.2
POWER = 0.8
NOTHING = 1e-18


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordinary:
    """The same gap if people were independent; ratios are of shares only."""

    p: float | None = None
    interval: Interval | None = None
    ratio_interval: Interval | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GapTest:
    """A gap, group minus reference, and how sure it is.

    Where a gap was not tested, `p` is None and `reason` says why; where nothing is known about its
    error, `precision` and the intervals are None too. `fit` is how far the observed labels clump
    unlike the redrawn ones.
    """

    difference: float
    p: float | None = None
    cautious: float | None = None
    interval: Interval | None = None
    ratio_interval: Interval | None = None
    precision: Precision | None = None
    fit: float | None = None
    ordinary: Ordinary = Ordinary()
    reason: WhyUntested | None = None

    @property
    def error(self) -> float | None:
        return None if self.precision is None else self.precision.error

    @property
    def effective(self) -> float | None:
        """As how many independent people these count."""
        return None if self.precision is None else self.precision.effective


class Inference:
    """Compares groups on one graph; the same seed gives the same figures.

    A test rests on at most `sample` people. In a very large graph, labels are redrawn for a
    uniform sample of everybody, and for those of the `focus` (who were audited).
    """

    def __init__(
        self,
        network: Network,
        *,
        seed: int,
        alpha: float = 0.05,
        redraws: int = 2_000,
        sample: int = 20_000,
        focus: Ints | None = None,
        communities: Ints | None = None,
    ) -> None:
        people, audited = network.people, np.zeros(0, np.int64) if focus is None else focus
        self._network = network
        self._alpha = alpha
        self._sample = sample
        self._communities = communities
        effort = Effort(redraws=redraws) if people <= MOST_NEAR else LARGE
        if people > VERY_LARGE:
            self._redrawing = Redrawing(network, seed, HUGE, audited)
        else:
            self._redrawing = Redrawing(network, seed, effort)
        # Between these people, distances are measured at once.
        self._focus: Ints = np.arange(people)
        if people > MOST_NEAR:
            near = audited.size <= min(MOST_NEAR, MOST_WORK // max(1, network.ties.nnz))
            self._focus = audited if near else audited[:0]
        kept = COMPARISONS_KEPT if people <= MOST_NEAR else LARGE_COMPARISONS_KEPT
        # Arrays are given as bytes, by which they are remembered.
        self._redraws = lru_cache(kept)(self._redraw)
        self._near = lru_cache(2)(self._weigh_pairs)
        self._near_roughly = lru_cache(kept)(self._weigh_pairs_roughly)

    def test(self, values: Floats, member: Mask, people: Ints) -> GapTest:
        """The gap in the mean value between members and the others among some people.

        Values may be yes or no (1 or 0), ranks, or differences; both sides have somebody.
        """
        values, people = np.asarray(values, dtype=np.float64), np.asarray(people, dtype=np.int64)
        difference = float(values[member].mean() - values[~member].mean())
        ones, others = int(member.sum()), int((~member).sum())
        independent = float(values.var()) * (1 / ones + 1 / others)
        if independent <= NOTHING:
            return GapTest(difference=difference, reason="alike")
        interval, ratio = self._intervals(values, member, difference, math.sqrt(independent), 1.0)
        p = _two_sided(difference, math.sqrt(independent))
        ordinary = Ordinary(p=p, interval=interval, ratio_interval=ratio)
        plain = GapTest(difference=difference, ordinary=ordinary)
        if self._network.tied < FEWEST_TIED:
            return replace(plain, reason="no_ties")
        places = self._redrawing.choose(people, self._sample)
        drawn, side = values[places], member[places]
        if not 0 < side.sum() < side.size:
            return replace(plain, reason="few_effective")
        redraws = self._redraws(people.tobytes(), member.tobytes())
        if redraws.fit > WORST_FIT:
            return replace(plain, fit=redraws.fit, reason="unlike")
        who = people[places].tobytes()
        redrawn, most = excess_of(drawn, redraws, self._near_roughly(who))
        _, variance = _gaps(drawn, side[None], self._near(who))
        inflation = redrawn * float(variance[0]) / independent
        p, cautious = (
            _two_sided(difference, math.sqrt(excess * float(variance[0])))
            for excess in (redrawn, most)
        )
        by_column = None
        if self._communities is not None:
            by_column, other = community_error(
                values, member, self._communities[people], independent, self._alpha
            )
            decides = by_column.p is not None and (
                self._share_leaving <= MOST_LEAVING or by_column.p > p
            )
            by_column = replace(by_column, leaving=self._share_leaving, decides=decides)
            if decides and by_column.p is not None:
                inflation, p = other, by_column.p
        error = math.sqrt(inflation * independent)
        reason, p_value = _check(values, member, inflation, p)
        interval, ratio = self._intervals(values, member, difference, error, inflation)
        precision = Precision(
            error=error,
            effective=values.size / inflation,
            inflation=inflation,
            redrawn=redrawn,
            fit=redraws.fit,
            redraws=redraws.along_walks,
            sampled=None if places.size == people.size else places.size,
            by_column=by_column,
        )
        return replace(
            plain,
            p=p_value,
            cautious=None if p_value is None else max(p_value, cautious),
            interval=interval,
            ratio_interval=ratio,
            precision=precision,
            fit=redraws.fit,
            reason=reason,
        )

    def _redraw(self, people: bytes, member: bytes) -> Redraws:
        labels, numbers = np.frombuffer(member, bool), np.frombuffer(people, np.int64)
        return self._redrawing.redraw(labels, numbers, self._sample)

    def _weigh_pairs(self, people: bytes) -> "Nearness | None":
        numbers = np.frombuffer(people, np.int64)
        if numbers.size > MOST_NEAR or numbers.size * self._network.ties.nnz > MOST_WORK:
            return None
        if self._network.people > MOST_NEAR and not np.isin(numbers, self._focus).all():
            # A search through a very large graph takes long, and is made for the focus alone.
            very_large = self._network.people > VERY_LARGE
            return None if very_large else nearness_of(self._network.distances(numbers))
        places = np.searchsorted(self._focus, numbers)
        return nearness_of(self._steps[np.ix_(places, places)])

    def _weigh_pairs_roughly(self, people: bytes) -> "Nearness | None":
        near, numbers = self._near(people), np.frombuffer(people, np.int64)
        if near is None or numbers.size <= MOST_DENSE:
            return near
        small = self._network.people <= MOST_NEAR
        return near.low_rank(self._leading[numbers] if small else leading_columns(near.matrix))

    @cached_property
    def _leading(self) -> Floats:
        """The leading columns of everybody's nearness; good enough for any of them."""
        near = nearness_of(self._steps)
        assert near is not None
        return leading_columns(near.matrix)

    @cached_property
    def _steps(self) -> NDArray[np.uint8]:
        """The steps between any two people of the focus, or of a graph that is not large."""
        return self._network.distances(self._focus)

    @cached_property
    def _share_leaving(self) -> float:
        assert self._communities is not None
        low, high = self._network.low, self._network.high
        crossing = self._communities[low] != self._communities[high]
        return float(crossing.mean()) if crossing.size else 0.0

    def _intervals(
        self, values: Floats, member: Mask, difference: float, error: float, inflation: float
    ) -> tuple[Interval, Interval | None]:
        if _is_yes_or_no(values):
            shares = Shares(
                group=float(values[member].mean()),
                reference=float(values[~member].mean()),
                people=int(member.sum()) / inflation,
                reference_people=int((~member).sum()) / inflation,
            )
            return difference_interval(shares, self._alpha), ratio_interval(shares, self._alpha)
        reach = float(ndtri(1 - self._alpha / 2)) * error
        return Interval(low=difference - reach, high=difference + reach), None


def _check(
    values: Floats, member: Mask, inflation: float, p: float
) -> tuple[WhyUntested | None, float | None]:
    """Why the gap is not tested, if it is not; the p value otherwise."""
    fewer = min(int(member.sum()), int((~member).sum()))
    if fewer / inflation < FEWEST_EFFECTIVE:
        return "few_effective", None
    share = float(values.mean())
    expected = fewer * min(share, 1 - share)
    if not _is_yes_or_no(values) or expected >= FEW_EXPECTED:
        return None, p
    if expected < FEWEST_EXPECTED:
        return "few_cases", None
    return None, max(p, fisher(values, member))


def detectable(error: float, level: float) -> float:
    """The gap that a two-sided test at a level finds four times in five."""
    return float(ndtri(1 - level / 2) + ndtri(POWER)) * error


def p_within(difference: float, limit: float, error: float) -> float:
    """The larger p value of two tests: that a gap, in either direction, is as large as a limit."""
    size = abs(difference)
    return float(ndtr((size - limit) / error)) if error else float(size >= limit)


def _two_sided(difference: float, error: float) -> float:
    return float(2 * ndtr(-abs(difference) / error))


def _is_yes_or_no(values: Floats) -> bool:
    return bool(np.isin(values, (0.0, 1.0)).all())


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearness:
    """How much the errors of two people go together: less with each step between them.

    `matrix` has it for every pair; or, of low rank, `matrix` @ diag(`signs`) @ `matrix`.T has it
    for pairs of different people, roughly, and lacks `own` for everyone with themselves.
    """

    matrix: Floats
    signs: Floats | None = None
    own: Floats | None = None

    def together(self, parts: Floats) -> Floats:
        """The quadratic form of each row."""
        products = parts @ self.matrix
        if self.signs is None or self.own is None:
            together: Floats = np.einsum("ij,ij->i", products, parts)
        else:
            together = np.einsum("ij,ij,j->i", products, products, self.signs)
            together += np.einsum("ij,ij,j->i", parts, parts, self.own)
        return together

    def low_rank(self, columns: Floats) -> "Nearness":
        """Nystrom's approximation from columns that span about the same space."""
        image = self.matrix @ columns
        values, vectors = np.linalg.eigh((columns.T @ image).astype(np.float64))
        large = np.abs(values) > LEAST_EIGENVALUE * np.abs(values).max()
        vectors = vectors[:, large] / np.sqrt(np.abs(values[large]))
        matrix = image @ vectors.astype(np.float32)
        signs = np.sign(values[large]).astype(np.float32)
        return Nearness(matrix=matrix, signs=signs, own=1 - matrix**2 @ signs)


def nearness_of(steps: NDArray[np.uint8]) -> Nearness | None:
    """Bartlett weights of steps, with a reach of 4/3 of their mean; None if nobody is tied."""
    counts = np.bincount(steps.ravel(), minlength=UNREACHED + 1)
    apart = counts[1:UNREACHED]
    if not apart.any():
        return None
    width = max(1.5, 4 / 3 * float(apart @ np.arange(1, UNREACHED)) / int(apart.sum()))
    by_steps = np.maximum(0, 1 - np.arange(UNREACHED + 1) / width)
    by_steps[UNREACHED] = 0
    return Nearness(matrix=by_steps.astype(np.float32)[steps])


def leading_columns(matrix: Floats) -> Floats:
    """Columns that span about the space of the largest eigenvalues."""
    generator = np.random.default_rng(0)
    columns = generator.standard_normal((len(matrix), RANK), dtype=np.float32)
    for _ in range(POWERS):
        columns, _ = np.linalg.qr(matrix @ columns)
    return columns


def excess_of(values: Floats, redraws: Redraws, near: Nearness | None) -> tuple[float, float]:
    """By how much squared gaps of redrawn labels exceed their variance, and cautiously; at least 1.

    The second is one standard deviation over the settings more.
    """
    rows, squares = max(1, NUMBERS_AT_ONCE // values.size), []
    for first in range(0, len(redraws.labels), rows):
        gap, variance = _gaps(values, redraws.unpack(slice(first, first + rows)), near)
        squares.append(gap**2 / variance)
    by_kind = np.split(np.concatenate(squares), np.cumsum(redraws.counts)[:-1])
    means = np.array([float(kind.mean()) if kind.size else 1.0 for kind in by_kind])
    settings = len(redraws.settings)
    along = float(redraws.weights @ means[:settings])
    spread = math.sqrt(float(redraws.weights @ (means[:settings] - along) ** 2))
    excess = max(1.0, along, *means[settings:].tolist())
    return excess, max(excess, along + spread)


def _gaps(values: Floats, labels: Labels, near: Nearness | None) -> tuple[Floats, Floats]:
    """For each row of labels, the gap and its variance V1."""
    member = labels.astype(np.float32)
    ones = member.sum(axis=1).astype(np.float64)
    others = values.size - ones
    centred = (values - values.mean()).astype(np.float32)
    total = (member @ centred).astype(np.float64)
    mean, rest = total / ones, -total / others
    independent = values.var() * (1 / ones + 1 / others)
    if near is None:
        return mean - rest, independent

    def column(figures: Floats) -> Floats:
        return figures.astype(np.float32)[:, None]

    # (y - mean) / n in the group, minus the same in the reference, in as few passes as can be.
    parts = column(1 / ones + 1 / others) * centred - column(mean / ones + rest / others)
    parts *= member
    parts += column(rest / others) - column(1 / others) * centred
    return mean - rest, np.maximum(independent, near.together(parts))


def community_error(
    values: Floats, member: Mask, community: Ints, independent: float, alpha: float
) -> tuple[ByColumn, float]:
    """The p value of a gap over communities, and the inflation of its variance that goes with it.

    `independent` is its variance without communities. There is no p value in too few of them.
    """
    _, place = np.unique(community, return_inverse=True)
    size = 2 * (int(place.max()) + 1)
    at = 2 * place + member
    people = np.bincount(at, minlength=size).reshape(-1, 2)
    total = np.bincount(at, weights=values, minlength=size).reshape(-1, 2)
    count = len(people)
    by_column = ByColumn(communities=count, leaving=0.0, p=None, decides=False)
    if count < FEWEST_COMMUNITIES or (people > 0).sum(axis=0).min() < FEWEST_ON_A_SIDE:
        return by_column, 1.0
    means = (total.sum(axis=0) - total) / (people.sum(axis=0) - people)
    without = means[:, 1] - means[:, 0]
    gap = float(np.subtract(*(total.sum(axis=0) / people.sum(axis=0))[::-1]))
    error = jackknife_error(gap, without)
    reach = error * _quantile(alpha, count) / float(ndtri(1 - alpha / 2))
    p = float(2 * stdtr(count - 1, -abs(gap) / error)) if error else float(gap == 0)
    return replace(by_column, p=p), max(reach**2 / independent, 1e-12)


def jackknife_error(value: float, without: Floats) -> float:
    """The standard error of an estimate, from the estimates that leave one community out."""
    count = without.size
    return math.sqrt((count - 1) / count * float(((without - value) ** 2).sum()))


def jackknife_interval(ratio: float, without: Floats, alpha: float) -> Interval | None:
    """The interval of a ratio, from the log scale; None if any is zero or infinite."""
    values = np.append(without, ratio)
    if not (np.isfinite(values).all() and (values > 0).all()):
        return None
    reach = jackknife_error(math.log(ratio), np.log(without)) * _quantile(alpha, without.size)
    return Interval(low=ratio * math.exp(-reach), high=ratio * math.exp(min(reach, 700)))


def share_estimate(values: Floats, alpha: float) -> Estimate:
    """A share, the first of the values, with an interval from the others, which leave out a part.

    There is no interval from few parts, or where a share does not exist.
    """
    value, without = float(values[0]), values[1:]
    if without.size < FEWEST_COMMUNITIES or not np.isfinite(without).all():
        return Estimate(value=value, interval=None)
    reach = jackknife_error(value, without) * _quantile(alpha, without.size)
    interval = Interval(low=max(0.0, value - reach), high=min(1.0, value + reach))
    return Estimate(value=value, interval=interval)


def _quantile(alpha: float, communities: int) -> float:
    """Student's t for a two-sided interval over communities."""
    return float(stdtrit(communities - 1, 1 - alpha / 2))


def mid_ranks(values: Floats) -> Floats:
    """Ranks from 0 to 2; equal values share the middle of their ranks.

    The difference of mean ranks between two groups is the chance that somebody of the one has more
    than somebody of the other, minus the chance of less.
    """
    from scipy.stats import rankdata

    return np.asarray(2 * rankdata(values) / values.size)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p values of a family.

    As in statsmodels, which collects garbage at every call and is slow to load.
    """
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    steps = np.maximum.accumulate(values[order] * np.arange(values.size, 0, -1))
    adjusted = np.empty(values.size)
    adjusted[order] = np.minimum(steps, 1.0)
    return list(adjusted.tolist())


def cohens_h(share: float, other: float) -> float:
    """The effect size of two rates."""
    return 2 * (math.asin(math.sqrt(share)) - math.asin(math.sqrt(other)))


def fisher(values: Floats, member: Mask) -> float:
    """Fisher's exact test that members say yes (1) as often as the others."""
    from scipy.stats import fisher_exact

    sides = (values[member], values[~member])
    table = np.array([[side.sum(), (1 - side).sum()] for side in sides])
    return float(fisher_exact(table).pvalue)
