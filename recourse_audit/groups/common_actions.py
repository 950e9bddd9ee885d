"""One action for all, by group: whom each action of one list serves, and the smallest sets of them.

Every action was tried on everybody refused, so the share that it serves can be compared between
groups; shares are of everybody audited, as those of people with an option are. An action that
serves a few people has no figures and is in no set. Compared are the shares *not* served, so that a
plus is worse for the group; all gaps of all actions and sets are one family of their own, corrected
by Holm's method.

Notes
-----
People who are served by the same actions are alike, so a set is sought over their patterns. An
integer program finds the smallest set and, among sets of that size, one that serves most. Where
there are too many patterns, or no answer within the limit, actions are taken one by one, always the
one that serves most of those left. Such a set is at most 1 + ln(m) times as large as the smallest,
where m is the number of people whom the best single action serves (Wolsey 1982).
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import ceil
from typing import Literal

import numpy as np
from scipy.sparse import csr_array, hstack, identity, vstack

from recourse_audit.groups.arrays import Floats, Ints, Mask
from recourse_audit.groups.inference import GapTest, below, detectable, holm
from recourse_audit.groups.measures import quartiles_of, rate_of
from recourse_audit.groups.population import NOWHERE, VERIFIED, Population
from recourse_audit.groups.tables import Design, Grouping
from recourse_audit.groups.verdicts import worse_off
from recourse_audit.records.group_figures import (
    ActionFigures,
    ActionGap,
    ActionSet,
    CommonActions,
    Rate,
    ServedGroups,
    Verdict,
)
from recourse_audit.records.recourse import CommonAction
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


def give_gap_verdicts(drafts: Sequence[Draft], settings: GroupSettings) -> list[ActionGap]:
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


MOST_PATTERNS = 2_000
# A number of nodes, not a time, so that the result is the same on every machine.
MOST_NODES = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenSet:
    """Places of actions, ascending; `exact` if no smaller set serves as many as wanted."""

    actions: tuple[int, ...]
    exact: bool


def smallest_set(serves: Mask, wanted: int) -> ChosenSet | None:
    """The smallest set of columns with somebody in `wanted` rows; None if all are not enough."""
    if wanted <= 0 or int(serves.any(axis=1).sum()) < wanted:
        return None
    patterns, people = np.unique(serves[serves.any(axis=1)], axis=0, return_counts=True)
    found = _smallest(patterns, people, wanted) if len(patterns) <= MOST_PATTERNS else None
    if found is not None:
        return ChosenSet(actions=found, exact=True)
    return ChosenSet(actions=greedy_set(patterns, people, wanted), exact=False)


def greedy_set(patterns: Mask, people: Ints, wanted: int) -> tuple[int, ...]:
    """Take the action that serves most of those left until as many as wanted are served."""
    left = np.ones(len(patterns), dtype=bool)
    chosen: list[int] = []
    while int(people[~left].sum()) < wanted:
        best = int(np.argmax(people * left @ patterns))
        chosen.append(best)
        left &= ~patterns[:, best]
    return tuple(sorted(chosen))


def _smallest(patterns: Mask, people: Ints, wanted: int) -> tuple[int, ...] | None:
    """The same exactly: fewest actions first, then most people; None if it takes too long.

    Unknown are whether each action is taken, and the share of each pattern that is served.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    count, actions = patterns.shape
    served = hstack([-csr_array(patterns.astype(float)), identity(count)])
    number = csr_array(np.concatenate([np.zeros(actions), people.astype(float)])[np.newaxis])
    cost = np.concatenate([np.full(actions, float(people.sum() + 1)), -people.astype(float)])
    found = milp(
        cost,
        constraints=LinearConstraint(
            vstack([served, number], format="csr"),
            np.append(np.full(count, -np.inf), float(wanted)),
            np.append(np.zeros(count), np.inf),
        ),
        integrality=np.concatenate([np.ones(actions), np.zeros(count)]),
        bounds=Bounds(0, 1),
        options={"node_limit": MOST_NODES, "mip_rel_gap": 0.0},
    )
    if found.status != 0:
        return None
    taken: list[int] = np.flatnonzero(found.x[:actions] > 0.5).tolist()
    return tuple(taken)


SHARES = (0.5, 0.8, 0.9, 1.0)
OF_EVERYBODY = (0.5, 0.8, 0.9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A share of some people that a set is to serve, and the set."""

    share: float
    of: Literal["of the served", "of everybody"]
    chosen: ChosenSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What the actions do for everybody audited without an error, one row for each.

    `found` says who has an option at all; whom an action serves has.
    """

    actions: tuple[CommonAction, ...]
    person: Ints
    people: int
    found: Mask
    serves: Mask
    applies: Mask
    unsettled: Mask
    cost: Floats

    def by_set(self, actions: Sequence[int]) -> Mask:
        """Whom one of some actions serves."""
        return np.asarray(self.serves[:, list(actions)].any(axis=1))

    def of_people(self, marked: Mask) -> Mask:
        """A mark on some of the audited as one on everybody."""
        found = np.zeros(self.people, dtype=bool)
        found[self.person[marked]] = True
        return found

    def labels(self, among: Mask, mark: Mask) -> Ints:
        """Some of the audited by whether they have a mark."""
        found = np.full(self.people, NOWHERE)
        found[self.person[among]] = mark[among]
        return found

    def divisions(self, actions: Sequence[int]) -> list[Ints]:
        """What is said with whom some actions serve: of those with an option, and of each action.

        Beside a set stand the actions that it is made of, so that whom only the others serve
        follows, and of two actions whom both serve.
        """
        yes = self.by_set(actions)
        said = [self.labels(self.found, yes)]
        if len(actions) > 1:
            said += [self.labels(yes, self.serves[:, action]) for action in actions]
        if len(actions) == 2:
            both = self.serves[:, list(actions)].all(axis=1)
            said.append(self.labels(yes, np.asarray(both)))
        return said


def read_served(store: sqlite3.Connection, population: Population) -> Served:
    """Read what the actions do."""
    actions = tuple(
        CommonAction(do=do, what=what, ties=ties, by=by, to=to, unit=unit)
        for do, what, ties, by, to, unit in store.execute(
            "SELECT do, what, ties, moves, value, unit FROM common_actions ORDER BY number"
        )
    )
    audited = population.audited
    usable = audited.usable
    person = audited.person[usable]
    place = np.full(population.people, -1)
    place[person] = np.arange(person.size)
    shape = (person.size, len(actions))
    serves, applies, unsettled = (np.zeros(shape, dtype=bool) for _ in range(3))
    cost = np.full(shape, np.nan)
    rows = store.execute("SELECT subject, action, outcome, cost FROM common_outcomes")
    for subject, action, outcome, price in rows:
        at = (place[subject], action)
        if at[0] >= 0:
            applies[at] = True
            serves[at] = outcome == "serves"
            unsettled[at] = outcome == "not_settled"
            cost[at] = np.nan if price is None else price
    found = audited.status[usable] == VERIFIED
    return Served(
        actions=actions,
        person=person,
        people=population.people,
        found=found,
        serves=serves & found[:, np.newaxis],
        applies=applies,
        unsettled=unsettled,
        cost=cost,
    )


def _goals(served: Served, design: Design) -> Iterator[Goal]:
    """The smallest sets of those actions of which it can be shown whom they serve."""
    count = len(served.actions)
    shown = np.array([at for at in range(count) if design.passes(None, *served.divisions([at]))])
    candidates = served.serves[:, shown.astype(np.int64)]
    anybody = int(candidates.any(axis=1).sum())
    wanted: list[tuple[float, Literal["of the served", "of everybody"], int]] = [
        *((share, "of the served", anybody) for share in SHARES),
        *((share, "of everybody", len(candidates)) for share in OF_EVERYBODY),
    ]
    for share, of, people in wanted:
        chosen = smallest_set(candidates, ceil(share * people - 1e-9))
        if chosen is not None:
            actions = tuple(shown[list(chosen.actions)].tolist())
            yield Goal(share=share, of=of, chosen=replace(chosen, actions=actions))


def common_actions_of(
    served: Served,
    settings: GroupSettings,
    design: Design,
    references: Sequence[int | None],
    test: Test,
) -> CommonActions:
    """The figures of all actions and sets that can be shown, with gaps between groups."""
    if not served.actions:
        return CommonActions(actions=(), sets=(), nothing="not_asked")
    if not design.outcomes:
        return CommonActions(actions=(), sets=(), nothing="few_people")
    writer = _Writer(served, settings, design, references, test)
    goals = list(_goals(served, design))
    single = [(number,) for number in range(len(served.actions))]
    groups = writer.served([*single, *(goal.chosen.actions for goal in goals)])
    return CommonActions(
        actions=tuple(writer.figures(number, groups[number,]) for (number,) in single),
        sets=tuple(
            ActionSet(
                share=goal.share,
                of=goal.of,
                actions=goal.chosen.actions,
                exact=goal.chosen.exact,
                served=groups[goal.chosen.actions],
            )
            for goal in goals
            if groups[goal.chosen.actions].everybody is not None
        ),
        nothing=None,
    )


class _Writer:
    """Writes the figures of actions and sets."""

    def __init__(
        self,
        served: Served,
        settings: GroupSettings,
        design: Design,
        references: Sequence[int | None],
        test: Test,
    ) -> None:
        self._served = served
        self._settings = settings
        self._design = design
        self._references = references
        self._test = test

    def figures(self, number: int, groups: ServedGroups) -> ActionFigures:
        """One action, of which it is known whom it serves."""
        found = self._served
        yes, applies = found.serves[:, number], found.applies[:, number]
        open_ = found.unsettled[:, number]
        whom = [found.labels(np.ones_like(applies), applies), found.labels(applies, yes)]
        shown = groups.everybody is not None and self._allows(None, whom)
        settled = shown and self._allows(None, [found.labels(applies & ~yes, open_)])
        return ActionFigures(
            action=found.actions[number],
            served=groups,
            applies=int(applies.sum()) if shown else None,
            applies_by_group={
                grouping.name: {
                    label: int(applies[rows].sum()) for label, rows in self._rows(grouping)
                }
                for grouping in self._design.single
                if shown and grouping.name in groups.by_group and self._allows(grouping, whom)
            },
            not_settled=int(open_.sum()) if settled else None,
            effort=quartiles_of(found.cost[yes, number]).median if groups.everybody else None,
        )

    def served(self, sets: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], ServedGroups]:
        """Whom actions and sets of them serve, with gaps."""
        groups = {actions: self._groups(actions) for actions in sets}
        drafts: dict[tuple[int, ...], list[Draft]] = {actions: [] for actions in groups}
        # Tests of the same people share most of their work, if they follow each other.
        for name, names, people, other in self._compared():
            for actions, found in groups.items():
                if name in found.by_group:
                    served = self._served.of_people(self._served.by_set(actions))
                    drafts[actions].append(draft_gap(self._test, names, served, people, other))
        gaps = iter(
            give_gap_verdicts([one for some in drafts.values() for one in some], self._settings)
        )
        return {
            actions: replace(groups[actions], gaps=tuple(islice(gaps, len(some))))
            for actions, some in drafts.items()
        }

    def _allows(self, grouping: Grouping | None, divisions: Sequence[Ints]) -> bool:
        return self._design.allows(grouping, "common_actions", *divisions)

    def _groups(self, actions: tuple[int, ...]) -> ServedGroups:
        yes, divisions = self._served.by_set(actions), self._served.divisions(actions)
        if not self._allows(None, divisions):
            return ServedGroups(everybody=None, by_group={}, gaps=())
        by_group = {
            grouping.name: {label: self._rate(yes[rows]) for label, rows in self._rows(grouping)}
            for grouping in self._design.single
            if grouping.outcomes and self._allows(grouping, divisions)
        }
        return ServedGroups(everybody=self._rate(yes), by_group=by_group, gaps=())

    def _rate(self, yes: Mask) -> Rate:
        return rate_of(yes, None, self._settings.alpha)

    def _rows(self, grouping: Grouping) -> Iterator[tuple[str, Ints]]:
        """The rows of each group with anybody audited."""
        own = grouping.cell[self._served.person]
        for cell in range(len(grouping)):
            rows = np.flatnonzero(own == cell)
            if rows.size:
                yield grouping.label(cell), rows

    def _compared(self) -> Iterator[tuple[str, tuple[str, str, str], Ints, Ints]]:
        """Every known group of a table with anybody audited, and the reference.

        The name of the table; again with those of the two groups; the people of both.
        """
        for grouping, reference in zip(self._design.groupings, self._references, strict=True):
            own = grouping.cell[self._served.person]
            if reference is None or grouping.crossed or not (own == reference).any():
                continue
            other = self._served.person[own == reference]
            for cell in range(len(grouping)):
                people = self._served.person[own == cell]
                if cell != reference and grouping.known(cell) and people.size:
                    names = (grouping.name, grouping.label(cell), grouping.label(reference))
                    yield grouping.name, names, people, other
