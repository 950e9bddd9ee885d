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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import ceil
from typing import Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array, hstack, identity, vstack

from recourse_audit.groups.comparisons import Inputs
from recourse_audit.groups.inference import GapTest, below
from recourse_audit.groups.measures import quartiles_of
from recourse_audit.groups.population import NOWHERE, VERIFIED, Population
from recourse_audit.groups.redraws import Floats, Ints, Mask
from recourse_audit.groups.tables import Grouping
from recourse_audit.groups.verdicts import correct_family, worse_off
from recourse_audit.records.group_figures import (
    ActionFigures,
    ActionGap,
    ActionSet,
    CommonActions,
    ServedGroups,
    Verdict,
)
from recourse_audit.records.recourse import CommonAction
from recourse_audit.settings import GroupSettings

MOST_PATTERNS = 2_000
# A number of nodes, not a time, so that the result is the same on every machine.
MOST_NODES = 2_000


class ChosenSet(NamedTuple):
    """Places of actions, ascending; `exact` if no smaller set serves as many as wanted."""

    actions: tuple[int, ...]
    exact: bool


def smallest_set(serves: Mask, wanted: int) -> ChosenSet | None:
    """The smallest set of columns with somebody in `wanted` rows; None if all are not enough."""
    if wanted <= 0 or int(serves.any(axis=1).sum()) < wanted:
        return None
    patterns, people = np.unique(serves[serves.any(axis=1)], axis=0, return_counts=True)
    chosen = _smallest(patterns, people, wanted) if len(patterns) <= MOST_PATTERNS else None
    if chosen is not None:
        return ChosenSet(chosen, exact=True)
    return ChosenSet(greedy_set(patterns, people, wanted), exact=False)


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
    solution = milp(
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
    if solution.status != 0:
        return None
    taken: list[int] = np.flatnonzero(solution.x[:actions] > 0.5).tolist()
    return tuple(taken)


class Draft(NamedTuple):
    """A gap before the correction for all of them."""

    table: str
    group: str
    reference: str
    tested: GapTest


def give_gap_verdicts(drafts: Sequence[Draft], settings: GroupSettings) -> Iterator[ActionGap]:
    """The gaps with their verdicts, after correction for all that were tested."""
    tests = {
        place: (tested.p, below(tested.difference, settings.concern, error), error)
        for place, (_, _, _, tested) in enumerate(drafts)
        if tested.p is not None and (error := tested.error) is not None
    }
    corrected = dict(zip(tests, correct_family([*tests.values()], settings), strict=True))
    for place, (table, group, reference, tested) in enumerate(drafts):
        own = corrected.get(place)
        verdict: Verdict = "not settled" if own is None else own.verdict
        yield ActionGap(
            table=table,
            group=group,
            reference=reference,
            gap=tested.difference,
            interval=tested.interval,
            p=tested.p,
            adjusted=None if own is None else own.adjusted,
            corrected_for=len(tests),
            effective=tested.effective,
            smallest_gap=None if own is None else own.smallest_gap,
            verdict=verdict,
            worse=worse_off(verdict, tested.difference),
            untested=tested.reason,
        )


SHARES = (0.5, 0.8, 0.9, 1.0)
OF_EVERYBODY = (0.5, 0.8, 0.9)
Whom = Literal["of the served", "of everybody"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What the actions do for everybody audited without an error, one row for each.

    `has_option` says who has an option at all; whom an action serves has.
    """

    actions: tuple[CommonAction, ...]
    person: Ints
    people: int
    has_option: Mask
    serves: Mask
    applies: Mask
    unsettled: Mask
    cost: Floats

    def by_set(self, actions: Sequence[int]) -> Mask:
        """Whom one of some actions serves."""
        return np.asarray(self.serves[:, list(actions)].any(axis=1))

    def of_people(self, marked: Mask) -> Mask:
        """A mark on some of the audited as one on everybody."""
        marks = np.zeros(self.people, dtype=bool)
        marks[self.person[marked]] = True
        return marks

    def labels(self, among: Mask, mark: Mask) -> Ints:
        """Some of the audited by whether they have a mark."""
        labels = np.full(self.people, NOWHERE)
        labels[self.person[among]] = mark[among]
        return labels

    def divisions(self, actions: Sequence[int]) -> list[Ints]:
        """What is said with whom some actions serve: of those with an option, and of each action.

        Beside a set stand the actions that it is made of, so that whom only the others serve
        follows, and of two actions whom both serve.
        """
        yes = self.by_set(actions)
        divisions = [self.labels(self.has_option, yes)]
        if len(actions) > 1:
            divisions += [self.labels(yes, self.serves[:, action]) for action in actions]
        if len(actions) == 2:
            both = self.serves[:, list(actions)].all(axis=1)
            divisions.append(self.labels(yes, np.asarray(both)))
        return divisions


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
    has_option = audited.status[usable] == VERIFIED
    return Served(
        actions=actions,
        person=person,
        people=population.people,
        has_option=has_option,
        serves=serves & has_option[:, np.newaxis],
        applies=applies,
        unsettled=unsettled,
        cost=cost,
    )


def _choose_sets(inputs: Inputs, served: Served) -> Iterator[tuple[float, Whom, ChosenSet]]:
    """The smallest sets of those actions of which it can be shown whom they serve."""
    numbers = range(len(served.actions))
    shown = [
        number for number in numbers if inputs.design.passes(None, *served.divisions([number]))
    ]
    candidates = served.serves[:, shown]
    anybody = int(candidates.any(axis=1).sum())
    wanted: list[tuple[float, Whom, int]] = [
        *((share, "of the served", anybody) for share in SHARES),
        *((share, "of everybody", len(candidates)) for share in OF_EVERYBODY),
    ]
    for share, of, people in wanted:
        chosen = smallest_set(candidates, ceil(share * people - 1e-9))
        if chosen is not None:
            actions = tuple(shown[place] for place in chosen.actions)
            yield share, of, ChosenSet(actions, chosen.exact)


def common_actions_of(inputs: Inputs, served: Served) -> CommonActions:
    """The figures of all actions and sets that can be shown, with gaps between groups."""
    if not served.actions:
        return CommonActions(actions=(), sets=(), nothing="not_asked")
    if not inputs.design.outcomes:
        return CommonActions(actions=(), sets=(), nothing="few_people")
    sets = list(_choose_sets(inputs, served))
    single = [(number,) for number in range(len(served.actions))]
    groups = _serve(inputs, served, [*single, *(chosen.actions for _, _, chosen in sets)])
    return CommonActions(
        actions=tuple(
            _action_figures(inputs, served, number, groups[number,]) for (number,) in single
        ),
        sets=tuple(
            ActionSet(share=share, of=of, actions=actions, exact=exact, served=groups[actions])
            for share, of, (actions, exact) in sets
            if groups[actions].everybody is not None
        ),
        nothing=None,
    )


def _action_figures(
    inputs: Inputs, served: Served, number: int, groups: ServedGroups
) -> ActionFigures:
    """One action, of which it is known whom it serves."""
    yes, applies = served.serves[:, number], served.applies[:, number]
    open_ = served.unsettled[:, number]
    whom = [served.labels(np.ones_like(applies), applies), served.labels(applies, yes)]
    design = inputs.design
    shown = groups.everybody is not None and design.allows(None, "common_actions", *whom)
    settled = shown and design.allows(None, "common_actions", served.labels(applies & ~yes, open_))
    return ActionFigures(
        action=served.actions[number],
        served=groups,
        applies=int(applies.sum()) if shown else None,
        applies_by_group={
            grouping.name: {
                label: int(applies[rows].sum()) for label, rows in _rows(served, grouping)
            }
            for grouping in design.single
            if shown
            and grouping.name in groups.by_group
            and design.allows(grouping, "common_actions", *whom)
        },
        not_settled=int(open_.sum()) if settled else None,
        effort=quartiles_of(served.cost[yes, number]).median if groups.everybody else None,
    )


def _serve(
    inputs: Inputs, served: Served, sets: Sequence[tuple[int, ...]]
) -> dict[tuple[int, ...], ServedGroups]:
    """Whom actions and sets of them serve, with gaps in the share that is not served."""
    groups = {actions: _groups(inputs, served, actions) for actions in sets}
    drafts: dict[tuple[int, ...], list[Draft]] = {actions: [] for actions in groups}
    # Tests of the same people share most of their work, if they follow each other.
    for grouping in inputs.design.single:
        people = [served.person[rows] for rows in grouping.split(served.person)]
        for cell in grouping.compared:
            assert grouping.reference is not None
            sides = people[cell], people[grouping.reference]
            names = (grouping.name, grouping.label(cell), grouping.label(grouping.reference))
            for actions, figures in groups.items():
                if grouping.name in figures.by_group and all(side.size for side in sides):
                    values = ~served.of_people(served.by_set(actions))
                    tested = inputs.test(values.astype(np.float64), *sides)
                    drafts[actions].append(Draft(*names, tested))
    every = [draft for own in drafts.values() for draft in own]
    gaps = give_gap_verdicts(every, inputs.settings)
    return {
        actions: replace(groups[actions], gaps=tuple(islice(gaps, len(own))))
        for actions, own in drafts.items()
    }


def _groups(inputs: Inputs, served: Served, actions: tuple[int, ...]) -> ServedGroups:
    yes, divisions = served.by_set(actions), served.divisions(actions)
    if not inputs.design.allows(None, "common_actions", *divisions):
        return ServedGroups(everybody=None, by_group={}, gaps=())
    by_group = {
        grouping.name: {label: inputs.rate(yes[rows]) for label, rows in _rows(served, grouping)}
        for grouping in inputs.design.single
        if grouping.outcomes and inputs.design.allows(grouping, "common_actions", *divisions)
    }
    return ServedGroups(everybody=inputs.rate(yes), by_group=by_group, gaps=())


def _rows(served: Served, grouping: Grouping) -> Iterator[tuple[str, Ints]]:
    """The rows of each group with anybody audited."""
    for cell, rows in enumerate(grouping.split(served.person)):
        if rows.size:
            yield grouping.label(cell), rows
