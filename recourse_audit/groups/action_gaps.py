"""Gaps between groups in whom an action, or a set of actions, serves.

Compared are the shares *not* served, so that a plus is worse for the group. All gaps of all actions
and sets are one family of their own, corrected by Holm's method.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Protocol

import numpy as np

from recourse_audit.groups.arrays import Floats, Ints, Mask
from recourse_audit.groups.families import holm
from recourse_audit.records.group_actions import ActionGap, ActionVerdict
from recourse_audit.records.group_figures import Interval
from recourse_audit.settings import GroupSettings

POWER = 0.8


class Tested(Protocol):
    """A gap, group minus reference; `error` and `p` are None where it was not tested."""

    @property
    def difference(self) -> float: ...
    @property
    def interval(self) -> Interval | None: ...
    @property
    def error(self) -> float | None: ...
    @property
    def p(self) -> float | None: ...
    @property
    def reason(self) -> str: ...


# Compares members with the others: values, who is a member, and their numbers in the graph.
Test = Callable[[Floats, Mask, Ints], Tested]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A gap before the correction for all of them."""

    table: str
    group: str
    reference: str
    tested: Tested


def draft_gap(
    test: Test, names: tuple[str, str, str], served: Mask, group: Ints, reference: Ints
) -> Draft:
    """Compare a group with the reference; `names` are those of the table and of the two.

    `served` is about everybody in the graph, and both groups are numbers of people.
    """
    people = np.concatenate([group, reference])
    member = np.arange(people.size) < group.size
    tested = test((~served[people]).astype(np.float64), member, people)
    table, one, other = names
    return Draft(table=table, group=one, reference=other, tested=tested)


def decided(drafts: Sequence[Draft], settings: GroupSettings) -> list[ActionGap]:
    """The gaps with their verdicts, after correction for all that were tested."""
    places = [place for place, one in enumerate(drafts) if one.tested.p is not None]
    ps = [p for one in drafts if (p := one.tested.p) is not None]
    no_gap = [_ruled_out(drafts[place].tested, settings.concern) for place in places]
    adjusted = dict(zip(places, holm(ps), strict=True))
    excluded = dict(zip(places, holm(no_gap), strict=True))
    level = settings.alpha / max(1, len(places))
    return [
        _gap(one, adjusted.get(place), excluded.get(place), len(places), level, settings.alpha)
        for place, one in enumerate(drafts)
    ]


def _gap(
    one: Draft,
    adjusted: float | None,
    excluded: float | None,
    tests: int,
    level: float,
    alpha: float,
) -> ActionGap:
    verdict: ActionVerdict = "not settled"
    if excluded is not None and excluded <= alpha:
        verdict = "no gap"
    if adjusted is not None and adjusted <= alpha:
        verdict = "gap shown"
    tested, normal = one.tested, NormalDist()
    smallest = None
    if tested.error is not None and adjusted is not None:
        reach = normal.inv_cdf(1 - level / 2) + normal.inv_cdf(POWER)
        smallest = min(1.0, reach * tested.error)
    return ActionGap(
        table=one.table,
        group=one.group,
        reference=one.reference,
        difference=tested.difference,
        interval=tested.interval,
        p=tested.p,
        adjusted=adjusted,
        corrected_for=tests,
        smallest_gap=smallest,
        verdict=verdict,
        reason=tested.reason,
    )


def _ruled_out(tested: Tested, concern: float) -> float:
    """The p value of a gap as large as `concern` against the group."""
    if tested.error is None or tested.error <= 0 or not math.isfinite(tested.error):
        return 1.0
    return NormalDist().cdf((tested.difference - concern) / tested.error)
