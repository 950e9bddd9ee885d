"""Amounts compared by rank: the relative effect of two samples, and log-rank scores of costs.

The relative effect is the chance that somebody of the group has more than somebody of the
reference; equal amounts count half. Whoever has no option has an infinite cost, equal to every
other infinite cost and above every finite one, so nobody is dropped.

Notes
-----
O(n log n) for the effect together with all the effects that leave out one community.
"""

from dataclasses import dataclass

import numpy as np

from recourse_audit.groups.arrays import Floats, Ints, Mask, added


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
