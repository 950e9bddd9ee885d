"""One action for all, by group: whom each action of one list serves, and the smallest sets of them.

Every action was tried on everybody refused, so the share that it serves can be compared between
groups; shares are of everybody audited, as those of people with an option are. An action that
serves fewer people than the threshold has no figures and is in no set.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import ceil
from typing import Literal

import numpy as np

from recourse_audit.groups.action_gaps import Draft, Test, decided, draft_gap
from recourse_audit.groups.action_sets import ChosenSet, smallest_set
from recourse_audit.groups.arrays import Floats, Ints, Mask
from recourse_audit.groups.knowledge import FOUND, USABLE
from recourse_audit.groups.marks import Mark, Without
from recourse_audit.groups.measures import quartiles_of, rate_of
from recourse_audit.groups.notes import ACTIONS_NOT_ASKED, ACTIONS_NOT_SHOWN
from recourse_audit.groups.people import VERIFIED, Population
from recourse_audit.groups.tables import TableSet
from recourse_audit.records.group_actions import (
    ActionFigures,
    ActionSet,
    CommonActions,
    ServedGroups,
)
from recourse_audit.records.group_figures import Rate
from recourse_audit.records.recourse import CommonAction
from recourse_audit.settings import GroupSettings

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

    `goals` are the smallest sets, of actions that may be shown.
    """

    actions: tuple[CommonAction, ...]
    person: Ints
    people: int
    serves: Mask
    applies: Mask
    unsettled: Mask
    cost: Floats
    goals: tuple[Goal, ...] = ()

    def marks(self) -> Iterator[Mark]:
        """Whom each action serves, then to whom each applies, then whom each set serves."""
        for column in self.serves.T:
            yield Mark(part_of=(FOUND,), members=self.of_people(column))
        for column in self.applies.T:
            yield Mark(part_of=USABLE, members=self.of_people(column), innocent=True)
        for goal in self.goals:
            yield Mark(part_of=(FOUND,), members=self.of_people(self.by_set(goal)))

    def by_set(self, goal: Goal) -> Mask:
        """Whom one of the actions of a set serves."""
        return np.asarray(self.serves[:, list(goal.chosen.actions)].any(axis=1))

    def of_people(self, marked: Mask) -> Mask:
        """A mark on some of the audited as one on everybody."""
        found = np.zeros(self.people, dtype=bool)
        found[self.person[marked]] = True
        return found


def read_served(store: sqlite3.Connection, population: Population, smallest: int) -> Served:
    """Read what the actions do, and find the smallest sets of those that serve enough people."""
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
    serves &= (audited.status[usable] == VERIFIED)[:, np.newaxis]
    found = Served(
        actions=actions,
        person=person,
        people=population.people,
        serves=serves,
        applies=applies,
        unsettled=unsettled,
        cost=cost,
    )
    return replace(found, goals=tuple(_goals(serves, smallest)))


def _goals(serves: Mask, smallest: int) -> Iterator[Goal]:
    number = serves.sum(axis=0)
    shown = np.flatnonzero((number >= smallest) & (number < len(serves)))
    candidates = serves[:, shown]
    served = int(candidates.any(axis=1).sum())
    wanted: list[tuple[float, Literal["of the served", "of everybody"], int]] = [
        *((share, "of the served", served) for share in SHARES),
        *((share, "of everybody", len(serves)) for share in OF_EVERYBODY),
    ]
    for share, of, people in wanted:
        chosen = smallest_set(candidates, ceil(share * people - 1e-9))
        if chosen is not None:
            actions = tuple(shown[list(chosen.actions)].tolist())
            yield Goal(share=share, of=of, chosen=replace(chosen, actions=actions))


def common_actions_of(
    served: Served,
    settings: GroupSettings,
    table_set: TableSet,
    references: Sequence[tuple[int | None, str]],
    test: Test,
) -> CommonActions:
    """The figures of all actions and sets that can be shown, with gaps between groups."""
    if not served.actions:
        return CommonActions(actions=(), sets=(), note=ACTIONS_NOT_ASKED)
    if table_set.withheld.all_outcomes:
        return CommonActions(actions=(), sets=(), note=ACTIONS_NOT_SHOWN)
    marks = iter(table_set.withheld.marks)
    count = len(served.actions)
    of_actions, of_applying = ([*islice(marks, count)] for _ in range(2))
    writer = _Writer(served, settings, table_set, references, test)
    whom = [
        *(served.serves[:, number] for number in range(count)),
        *(served.by_set(goal) for goal in served.goals),
    ]
    groups = writer.served(whom, [*of_actions, *marks])
    return CommonActions(
        actions=tuple(
            writer.figures(number, groups[number], of_applying[number]) for number in range(count)
        ),
        sets=tuple(
            ActionSet(
                share=goal.share,
                of=goal.of,
                actions=goal.chosen.actions,
                exact=goal.chosen.exact,
                served=found,
            )
            for goal, found in zip(served.goals, groups[count:], strict=True)
        ),
        note="",
    )


class _Writer:
    """Writes the figures of actions and sets."""

    def __init__(
        self,
        served: Served,
        settings: GroupSettings,
        table_set: TableSet,
        references: Sequence[tuple[int | None, str]],
        test: Test,
    ) -> None:
        self._served = served
        self._settings = settings
        self._table_set = table_set
        self._references = references
        self._test = test

    def figures(
        self, number: int, groups: ServedGroups, without_applying: Without
    ) -> ActionFigures:
        """One action, of which it is known whom it serves."""
        found = self._served
        yes, applies = found.serves[:, number], found.applies[:, number]
        effort = quartiles_of(found.cost[yes, number]).median if groups.everybody else None
        return ActionFigures(
            action=found.actions[number],
            served=groups,
            applies=None if without_applying is None else int(applies.sum()),
            applies_by_group={
                name: {label: int(applies[rows].sum()) for label, rows in some}
                for _, name, some in self._tables(without_applying)
            },
            not_settled=int(found.unsettled[:, number].sum()),
            effort=effort,
        )

    def served(self, whom: Sequence[Mask], without: Sequence[Without]) -> list[ServedGroups]:
        """Whom actions and sets serve, with gaps; what serves the same people is tested once."""
        keys = [yes.tobytes() for yes in whom]
        several = dict(zip(keys, zip(whom, without, strict=True), strict=True))
        groups = {key: self._groups(yes, hidden) for key, (yes, hidden) in several.items()}
        drafts: dict[bytes, list[Draft]] = {key: [] for key in several}
        # Tests of the same people share most of their work, if they follow each other.
        for place, names, people, other in self._compared():
            for key, (yes, hidden) in several.items():
                if hidden is not None and not hidden[place]:
                    served = self._served.of_people(yes)
                    drafts[key].append(draft_gap(self._test, names, served, people, other))
        gaps = iter(decided([one for some in drafts.values() for one in some], self._settings))
        for key, some in drafts.items():
            groups[key] = replace(groups[key], gaps=tuple(islice(gaps, len(some))))
        return [groups[key] for key in keys]

    def _groups(self, yes: Mask, without: Without) -> ServedGroups:
        by_group = {
            name: {label: self._rate(yes[rows]) for label, rows in groups}
            for _, name, groups in self._tables(without)
        }
        everybody = None if without is None else self._rate(yes)
        return ServedGroups(everybody=everybody, by_group=by_group, gaps=())

    def _rate(self, yes: Mask) -> Rate:
        return rate_of(yes, None, self._settings.alpha)

    def _tables(self, without: Without) -> Iterator[tuple[int, str, list[tuple[str, Ints]]]]:
        """The tables that show a mark: place, name, and the rows of each group with anybody."""
        for place in () if without is None else np.flatnonzero(~np.array(without)).tolist():
            cells = self._table_set.tables[place]
            cell = cells.cell[self._served.person]
            groups = [(cells.label(at), np.flatnonzero(cell == at)) for at in range(len(cells))]
            yield place, cells.name, [(label, rows) for label, rows in groups if rows.size]

    def _compared(self) -> Iterator[tuple[int, tuple[str, str, str], Ints, Ints]]:
        """Every known group of a table with anybody audited, and the reference.

        The place of the table; its name and those of the two; the people of both.
        """
        for place, (reference, _) in enumerate(self._references):
            cells = self._table_set.tables[place]
            own = cells.cell[self._served.person]
            if reference is None or len(cells.attributes) > 1 or not (own == reference).any():
                continue
            other = self._served.person[own == reference]
            for cell in range(len(cells)):
                people = self._served.person[own == cell]
                if cell != reference and cells.known(cell) and people.size:
                    names = (cells.name, cells.label(cell), cells.label(reference))
                    yield place, names, people, other
