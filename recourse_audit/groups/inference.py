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
"""

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from scipy.special import ndtr, ndtri

from recourse_audit.groups.arrays import Floats, Ints, Mask
from recourse_audit.groups.community_errors import CommunityError, community_error
from recourse_audit.groups.families import fisher
from recourse_audit.groups.network import UNREACHED, Network
from recourse_audit.groups.notes import (
    ALIKE,
    FEW_CASES,
    FEW_EFFECTIVE,
    FEWEST_EFFECTIVE,
    FEWEST_TIED,
    NO_TIES,
    UNLIKE,
)
from recourse_audit.groups.recent import Recent, digest
from recourse_audit.groups.redraws import Effort, Labels, Packed, Redrawing, Redraws
from recourse_audit.groups.score_intervals import Shares, difference_interval, ratio_interval
from recourse_audit.records.group_figures import Interval

# Distances between more people than this, or through more ties than this, are not looked at.
MOST_NEAR, MOST_WORK = 5_000, 2_000_000_000
KEPT = 32
SQUARES_KEPT = 4_096
FEWEST_EXPECTED, FEW_EXPECTED = 1, 5
WORST_FIT = 4.0
LARGE = Effort(weighed=4, redraws=40, permutations=40, tolerance=0.02)
VERY_LARGE, HUGE = 50_000, Effort(weighed=1, redraws=40, permutations=40, tolerance=0.02)
WEIGHED, PERMUTATIONS = 50, 200
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

    `error` is its standard error on this graph. Where a gap was not tested, `p` is None and
    `reason` says why; where nothing is known about its error, `error` and the intervals are None
    too. `redrawn` is how much larger squared gaps of redrawn labels are than their variance allows
    for (D), and `fit` how far the observed labels clump unlike the redrawn ones. `by_column` says
    whether the error is that over communities.
    """

    difference: float
    error: float | None = None
    p: float | None = None
    interval: Interval | None = None
    ratio_interval: Interval | None = None
    effective: float | None = None
    inflation: float | None = None
    redrawn: float | None = None
    fit: float | None = None
    redraws: int = 0
    communities: CommunityError | None = None
    by_column: bool = False
    ordinary: Ordinary = Ordinary()
    reason: str = ""


class Inference:
    """Compares groups on one graph; the same seed gives the same figures."""

    def __init__(
        self,
        network: Network,
        *,
        seed: int,
        alpha: float = 0.05,
        redraws: int = 400,
        communities: Ints | None = None,
    ) -> None:
        self._network = network
        self._alpha = alpha
        effort = Effort(weighed=WEIGHED, redraws=redraws, permutations=PERMUTATIONS)
        if network.people > MOST_NEAR:
            effort = LARGE if network.people <= VERY_LARGE else HUGE
        self._redrawing = Redrawing(network, seed, effort)
        self._redraws: Recent[Redraws] = Recent(KEPT)
        self._near: Recent[Floats | None] = Recent(2)
        self._squares: Recent[float] = Recent(SQUARES_KEPT)
        self._communities = communities

    def test(self, values: Floats, member: Mask, people: Ints) -> GapTest:
        """The gap in the mean value between members and the others among some people.

        Values may be yes or no (1 or 0), ranks, or differences; both sides have somebody.
        """
        values = np.asarray(values, dtype=np.float64)
        difference = float(values[member].mean() - values[~member].mean())
        ones, others = int(member.sum()), int((~member).sum())
        independent = float(values.var()) * (1 / ones + 1 / others)
        if independent <= NOTHING:
            return GapTest(difference=difference, reason=ALIKE)
        ordinary = self._ordinary(values, member, difference, independent)
        plain = GapTest(difference=difference, ordinary=ordinary)
        if self._network.tied < FEWEST_TIED:
            return replace(plain, reason=NO_TIES)
        who = digest(people)
        redraws = self._redraws.get(
            (who, digest(member)), lambda: self._redrawing.of(member, people)
        )
        if redraws.fit > WORST_FIT:
            return replace(plain, fit=redraws.fit, reason=UNLIKE)
        near = self._near.get(who, lambda: self._nearness(people))
        redrawn = self._redrawn(values, redraws, near, (who, ones, digest(values)))
        _, _, variance = _gaps(values, member[:, None], near)
        inflation = redrawn * float(variance[0]) / independent
        p = _two_sided(difference, math.sqrt(inflation * independent))
        by_column = self._by_column(values, member, people, independent)
        decides = by_column is not None and by_column.decides(p)
        if by_column is not None and decides:
            assert by_column.inflation is not None
            assert by_column.p is not None
            inflation, p = by_column.inflation, by_column.p
        error = math.sqrt(inflation * independent)
        reason, p_value = self._tested(values, member, inflation, p)
        interval, ratio = self._intervals(values, member, difference, error, inflation)
        return GapTest(
            difference=difference,
            error=error,
            p=p_value,
            interval=interval,
            ratio_interval=ratio,
            effective=values.size / inflation,
            inflation=inflation,
            redrawn=redrawn,
            fit=redraws.fit,
            redraws=redraws.count,
            communities=by_column,
            by_column=decides,
            ordinary=ordinary,
            reason=reason,
        )

    def _ordinary(
        self, values: Floats, member: Mask, difference: float, independent: float
    ) -> Ordinary:
        error = math.sqrt(independent)
        interval, ratio = self._intervals(values, member, difference, error, 1.0)
        return Ordinary(p=_two_sided(difference, error), interval=interval, ratio_interval=ratio)

    def _nearness(self, people: Ints) -> Floats | None:
        """How much the errors of two people go together: less with each step between them."""
        if people.size > MOST_NEAR or people.size * self._network.ties.nnz > MOST_WORK:
            return None
        steps = self._network.distances(people)
        apart = steps[(steps > 0) & (steps < UNREACHED)]
        if not apart.size:
            return None
        width = max(1.5, 4 / 3 * float(apart.mean()))
        near: Floats = np.maximum(0, 1 - steps.astype(np.float32) / np.float32(width))
        near[steps == UNREACHED] = 0
        return near

    def _redrawn(
        self, values: Floats, redraws: Redraws, near: Floats | None, key: tuple[Hashable, ...]
    ) -> float:
        """By how much squared gaps of redrawn labels exceed their variance; at least 1."""

        def square(packed: Packed) -> float:
            return _mean_square(values, redraws.unpacked(packed), near)

        along = [
            self._squares.get((*key, place), partial(square, labels))
            for place, labels in zip(redraws.settings, redraws.labels, strict=True)
        ]
        by_parts = [square(labels) for labels in redraws.by_parts]
        return max(1.0, float(np.dot(redraws.weights, along)), *by_parts)

    def _by_column(
        self, values: Floats, member: Mask, people: Ints, independent: float
    ) -> CommunityError | None:
        if self._communities is None:
            return None
        return community_error(
            values,
            member,
            self._communities[people],
            independent=independent,
            leaving=self._leaving,
            alpha=self._alpha,
        )

    @cached_property
    def _leaving(self) -> float:
        """The share of ties that lead out of their community."""
        assert self._communities is not None
        low, high = self._network.low, self._network.high
        crossing = self._communities[low] != self._communities[high]
        return float(crossing.mean()) if crossing.size else 0.0

    def _tested(
        self, values: Floats, member: Mask, inflation: float, p: float
    ) -> tuple[str, float | None]:
        """Why the gap is not tested, if it is not; the p value otherwise."""
        ones = int(member.sum())
        if min(ones, member.size - ones) / inflation < FEWEST_EFFECTIVE:
            return FEW_EFFECTIVE, None
        if not _is_yes_or_no(values):
            return "", p
        share = float(values.mean())
        expected = min(ones, member.size - ones) * min(share, 1 - share)
        if expected < FEWEST_EXPECTED:
            return FEW_CASES, None
        if expected < FEW_EXPECTED:
            return "", max(p, fisher(values, member))
        return "", p

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


def detectable(error: float, level: float) -> float:
    """The gap that a two-sided test at a level finds four times in five."""
    return float(ndtri(1 - level / 2) + ndtri(POWER)) * error


def below(difference: float, limit: float, error: float) -> float:
    """The p value of the test that a gap against the group is as large as a limit."""
    return float(ndtr((difference - limit) / error)) if error else float(difference >= limit)


def _two_sided(difference: float, error: float) -> float:
    return float(2 * ndtr(-abs(difference) / error))


def _is_yes_or_no(values: Floats) -> bool:
    return bool(np.isin(values, (0.0, 1.0)).all())


def _mean_square(values: Floats, labels: Labels, near: Floats | None) -> float:
    """The mean of squared gaps over their variances; labels of one kind only are left out."""
    ones = labels.sum(axis=0)
    mixed = (ones > 0) & (ones < values.size)
    if not mixed.any():
        return 1.0
    gap, _, variance = _gaps(values, labels[:, mixed], near)
    return float((gap**2 / variance).mean())


def _gaps(values: Floats, labels: Labels, near: Floats | None) -> tuple[Floats, Floats, Floats]:
    """For each column of labels, the gap, V0 and V1."""
    member = labels.astype(np.float32)
    ones = labels.sum(axis=0).astype(np.float64)
    others = values.size - ones
    total = values.astype(np.float32) @ member
    mean, rest = total / ones, (values.sum() - total) / others
    independent = values.var() * (1 / ones + 1 / others)
    if near is None:
        return mean - rest, independent, independent
    column = values[:, None]
    parts = np.where(labels, (column - mean) / ones, (rest - column) / others).astype(np.float32)
    together = (parts * (near @ parts)).sum(axis=0)
    return mean - rest, independent, np.maximum(independent, together)
