"""Whom actions that are the same for everybody serve, group by group."""

from dataclasses import dataclass
from typing import Literal

from recourse_audit.records.base import Record
from recourse_audit.records.group_figures import Interval, Rate, Verdict, WhyUntested, WorseOff
from recourse_audit.records.recourse import CommonAction


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ActionGap(Record):
    """How much larger the share *not* served is in a group than in the reference.

    A plus is worse for the group. Where the gap was not tested, `p` is None, and `untested` says
    why; `adjusted` is Holm's, over the `corrected_for` gaps of all common actions and sets. "gap
    shown": it is at most `alpha`. "no gap": a gap of `concern` or more against the group is ruled
    out, by its own corrected test. `smallest_gap` would have been found four times in five, after
    the correction; because people who are tied are alike, they count as `effective` people.
    """

    table: str
    group: str
    reference: str
    gap: float
    interval: Interval | None
    p: float | None
    adjusted: float | None
    corrected_for: int
    effective: float | None
    smallest_gap: float | None
    verdict: Verdict
    worse: WorseOff | None
    untested: WhyUntested | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ServedGroups(Record):
    """The people served: of everybody audited, and by table and group in tables that can show it.

    `everybody` is None where few people are served, or few of those with an option are not.
    """

    everybody: Rate | None
    by_group: dict[str, dict[str, Rate]]
    gaps: tuple[ActionGap, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ActionFigures(Record):
    """One action: whom it serves, to how many it applies, and what it costs those it serves.

    `applies` is out of the people of `served`; of `not_settled` people to whom it applies it is
    not known whether it serves them; both are None where a few people would be counted. `effort` is
    the median cost of those served.
    """

    action: CommonAction
    served: ServedGroups
    applies: int | None
    applies_by_group: dict[str, dict[str, int]]
    not_settled: int | None
    effort: float | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ActionSet(Record):
    """The smallest set of actions that serves a share of some people; of those, the one with most.

    `of`: that share "of the served", whom any of the actions that are shown serves, or "of
    everybody" audited. `actions` are places in the list of actions. Unless it is `exact`, actions
    were taken one by one, always the one that serves most of those left.
    """

    share: float
    of: Literal["of the served", "of everybody"]
    actions: tuple[int, ...]
    exact: bool
    served: ServedGroups


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CommonActions(Record):
    """All common actions, and the smallest sets of them; `nothing` says why there are none."""

    actions: tuple[ActionFigures, ...]
    sets: tuple[ActionSet, ...]
    nothing: Literal["not_asked", "few_people"] | None
