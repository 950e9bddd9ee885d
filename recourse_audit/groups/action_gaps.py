"""Gaps between groups in whom an action, or a set of actions, serves.

Compared are the shares *not* served, so that a plus is worse for the group. All gaps of all actions
and sets are one family of their own, corrected by Holm's method.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from recourse_audit.groups.arrays import Floats, Ints, Mask
from recourse_audit.groups.inference import GapTest, below, detectable, holm
from recourse_audit.groups.verdicts import worse_off
from recourse_audit.records.group_actions import ActionGap
from recourse_audit.records.group_figures import Verdict
from recourse_audit.settings import GroupSettings

# Compares members with the others: values, who is a member, and their numbers in the graph.
Test = Callable[[Floats, Mask, Ints], GapTest]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A gap before the correction for all of them."""

    table: str
    group: str
    reference: str
    tested: GapTest


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
    no_gap = [
        below(one.difference, settings.concern, one.error or 0.0)
        for one in (drafts[place].tested for place in places)
    ]
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
    verdict: Verdict = "not settled"
    if excluded is not None and excluded <= alpha:
        verdict = "no gap"
    if adjusted is not None and adjusted <= alpha:
        verdict = "gap shown"
    tested, smallest = one.tested, None
    if tested.error is not None and adjusted is not None:
        smallest = min(1.0, detectable(tested.error, level))
    return ActionGap(
        table=one.table,
        group=one.group,
        reference=one.reference,
        gap=tested.difference,
        interval=tested.interval,
        p=tested.p,
        adjusted=adjusted,
        corrected_for=tests,
        effective=tested.effective,
        smallest_gap=smallest,
        verdict=verdict,
        worse=worse_off(verdict, tested.difference),
        untested=tested.reason,
    )
