"""Gaps between two groups of people who come in communities, with intervals that allow for that.

People of one community resemble each other, so a community counts as one observation, however many
people it has. Everything is computed from sums per community, so the cost depends on the number of
communities, not of people.

Notes
-----
Intervals are Student's t with K-1 degrees of freedom around the estimate, with the jackknife
variance over communities (CV3 of MacKinnon, Nielsen and Webb 2023, "Cluster-robust inference: a
guide to empirical practice"): (K-1)/K times the sum of squared deviations of the K estimates that
leave one community out. Tests are in `wild_bootstrap`. Costs are compared by ranks.
"""

import math
from dataclasses import dataclass

import numpy as np

from recourse_audit.groups.arrays import Floats, Ints, Mask, added
from recourse_audit.groups.iid_tests import t_quantile
from recourse_audit.groups.sums import Sums
from recourse_audit.groups.wild_bootstrap import gap_test
from recourse_audit.records.group_figures import Interval

FEWEST_COMMUNITIES = 6
FEWEST_ON_A_SIDE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """An estimate, its standard error over communities, and its interval."""

    value: float
    error: float
    interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """The difference of means between a group and the reference, with its interval and p value."""

    difference: Estimate
    p: float
    communities: int


def compare(
    scores: Floats,
    member: Mask,
    community: Ints,
    *,
    alpha: float = 0.05,
    draws: int = 1999,
    seed: int = 0,
) -> Gap:
    """The gap in mean score between members (1 or true) and the reference (0 or false).

    Each array has one entry per person; communities are numbered from 0. The caller makes sure
    that there are enough communities (`few_communities`).
    """
    sums = sums_of(scores, member, community)
    value, error, _ = jackknife(sums.difference, sums.differences_without)
    return Gap(
        difference=estimate(value, error, len(sums), alpha),
        p=gap_test(sums, draws=draws, seed=seed),
        communities=len(sums),
    )


def sums_of(scores: Floats, member: Mask, community: Ints) -> Sums:
    """People and total score by community and side; empty communities are left out."""
    side = np.asarray(member, dtype=np.int64)
    places = community * 2 + side
    size = 2 * (int(community.max(initial=0)) + 1)
    people = np.bincount(places, minlength=size).reshape(-1, 2)
    total = added(places, scores, size).reshape(-1, 2)
    there = people.any(axis=1)
    return Sums(
        n1=people[there, 1].astype(np.float64),
        n0=people[there, 0].astype(np.float64),
        s1=total[there, 1],
        s0=total[there, 0],
    )


def few_communities(sums: Sums) -> str:
    """Why there are too few communities to conclude anything; empty if there are enough."""
    fewest = min(int((sums.n1 > 0).sum()), int((sums.n0 > 0).sum()))
    if len(sums) >= FEWEST_COMMUNITIES and fewest >= FEWEST_ON_A_SIDE:
        return ""
    return (
        f"the two groups are in {len(sums)} communities, and one of them in {fewest}; at least "
        f"{FEWEST_COMMUNITIES} and {FEWEST_ON_A_SIDE} are needed"
    )


def jackknife(value: float, without: Floats) -> tuple[float, float, int]:
    """The estimate, its standard error over the leave-one-out estimates, and how many there are."""
    count = without.size
    error = math.sqrt((count - 1) / count * float(((without - value) ** 2).sum()))
    return value, error, count


def estimate(value: float, error: float, communities: int, alpha: float) -> Estimate:
    """The estimate with its t interval."""
    reach = t_quantile(1 - alpha / 2, communities - 1) * error
    return Estimate(
        value=value, error=error, interval=Interval(low=value - reach, high=value + reach)
    )


def ratio_interval(ratio: float, without: Floats, alpha: float) -> Interval | None:
    """The interval of a ratio, on the log scale; None if any ratio is zero or infinite."""
    values = np.append(without, ratio)
    if not (np.isfinite(values).all() and (values > 0).all()):
        return None
    log, error, count = jackknife(math.log(ratio), np.log(without))
    interval = estimate(log, error, count, alpha).interval
    return Interval(low=_exp(interval.low), high=_exp(interval.high))


def _exp(power: float) -> float:
    return math.exp(min(max(power, -700.0), 700.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class RelativeEffect:
    """The effect, and the effect with each community left out."""

    value: float
    without: Floats


def relative_effect(values: Floats, member: Mask, community: Ints) -> RelativeEffect:
    """The relative effect of members against the rest, also with each community left out."""
    _, ranks = np.unique(values, return_inverse=True)
    size = int(community.max(initial=0)) + 1
    counts = _by_community(np.ones(values.size), member, community, size)
    there = counts.any(axis=1)
    # For a member, the others that have less; for one of the others, the members that have more.
    wins = np.where(member, _below(ranks, ~member), _above(ranks, member))
    own = _by_community(wins, member, community, size)
    inside = _wins_inside(ranks, member, community, size)
    n1, n0 = counts[:, 1].sum(), counts[:, 0].sum()
    total = own[:, 1].sum()
    with np.errstate(all="ignore"):
        pairs = (n1 - counts[:, 1]) * (n0 - counts[:, 0])
        without = (total - own[:, 1] - own[:, 0] + inside) / pairs
    return RelativeEffect(value=float(total / (n1 * n0)), without=without[there])


def mid_ranks(values: Floats) -> Floats:
    """Ranks from 0 to 1; equal values share the middle of their ranks.

    The difference of mean mid-ranks between two groups is their relative effect minus a half.
    """
    _, ranks, counts = np.unique(values, return_inverse=True, return_counts=True)
    below = np.cumsum(counts) - counts
    middle: Floats = (below + (counts + 1) / 2)[ranks] / values.size
    return middle


def log_rank_scores(costs: Floats) -> Floats:
    """One score per person: 1 if an option was found, minus the options expected up to their cost.

    The sum over a group is observed minus expected of the log-rank test; a cost that was never
    found is censored after the last cost.
    """
    levels, ranks, counts = np.unique(costs, return_inverse=True, return_counts=True)
    at_risk = counts[::-1].cumsum()[::-1]
    found = np.isfinite(levels)
    hazard = np.cumsum(np.where(found, counts / at_risk, 0.0))
    scores: Floats = found[ranks] - hazard[ranks]
    return scores


def _below(ranks: Ints, counted: Mask) -> Floats:
    """For each person, how many of the counted have less; equal values count half."""
    counts = added(ranks, counted, int(ranks.max(initial=0)) + 1)
    below: Floats = (np.cumsum(counts) - counts / 2)[ranks]
    return below


def _above(ranks: Ints, counted: Mask) -> Floats:
    return float(counted.sum()) - _below(ranks, counted)


def _by_community(values: Floats, member: Mask, community: Ints, size: int) -> Floats:
    """Sums by community: of the rest in the first column, of the members in the second."""
    places = community * 2 + member
    return added(places, values, 2 * size).reshape(-1, 2)


def _wins_inside(ranks: Ints, member: Mask, community: Ints, size: int) -> Floats:
    """In each community, how often one of its members has more than one of its others."""
    order = np.lexsort((ranks, community))
    where, what = community[order], ranks[order]
    starts = np.ones(order.size, dtype=bool)
    starts[1:] = (where[1:] != where[:-1]) | (what[1:] != what[:-1])
    block = np.cumsum(starts) - 1
    inside = member[order]
    members = added(block, inside, 0)
    others = added(block, ~inside, 0)
    place = where[starts]
    before = np.cumsum(others) - others
    # What was counted before the first block of a community belongs to earlier ones.
    first = np.ones(place.size, dtype=bool)
    first[1:] = place[1:] != place[:-1]
    before -= np.repeat(before[first], np.diff(np.append(np.flatnonzero(first), place.size)))
    return added(place, members * (before + others / 2), size)
