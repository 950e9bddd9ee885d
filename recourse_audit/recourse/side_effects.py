"""What a change does to everybody else: their answers, their decisions, and the line of a quota.

A change reaches the people within the model's depth of whatever it touches; everybody else's
answer stays what it is. Under a quota that is not all: whoever gets in takes somebody's place, who
may live at the other end of the graph. Side effects of many options are asked about together.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from recourse_audit.errors import RoomError
from recourse_audit.graph.graph import Floats, Ints
from recourse_audit.graph.neighbourhoods import as_rows, reach
from recourse_audit.model.batching import CLOSE
from recourse_audit.model.decisions import Decisions, Mask
from recourse_audit.model.edited_graph import EditedGraph, SubjectAnswers
from recourse_audit.model.edits import Edits, join_edits
from recourse_audit.records.recourse import SideEffects
from recourse_audit.recourse.actions import ActionEdits, ActionTable

MOST_ARCS = 200_000
AT_ONCE = 32
NO_ROOM = (
    "the model was exported for a fixed number of nodes and ties, and has no room for the graph "
    "with these changes; export it with dynamic axes"
)


# One edit that asks about everybody whom an option of a subject can reach.
ReachQuery = tuple[SubjectAnswers, Edits]


class OtherPeople:
    """Everybody's answers after changes that one subject might make."""

    def __init__(self, asked: SubjectAnswers, table: ActionTable, edits: ActionEdits) -> None:
        self._asked = asked
        self._table = table
        self._edits = edits
        self._reached: dict[int, int] = {}

    def count(self, combination: Ints) -> int:
        """At most how many other people a combination of actions reaches."""
        everybody = self._asked.edited.graph.person_count - 1
        return min(sum(self._count_reached(action) for action in combination.tolist()), everybody)

    def query(self, combination: Ints) -> ReachQuery:
        return self._asked, self._write([combination])

    def decisions(self, combination: Ints) -> Decisions:
        """The decisions after the actions; under any rule but a quota, those before them."""
        now = self._asked.edited.decisions
        return next(self.decisions_after([combination])) if now.depends_on_others else now

    def decisions_after(self, combinations: Sequence[Ints]) -> Iterator[Decisions]:
        """The decisions after each of many combinations, several of them in one query."""
        for first in range(0, len(combinations), AT_ONCE):
            edits = self._write(combinations[first : first + AT_ONCE])
            answers, fits = self._asked.answers(edits)
            if not fits.all():
                raise RoomError(NO_ROOM)
            bounds = edits.asked[0].searchsorted(np.arange(1, edits.count))
            people = np.split(edits.asked[1], bounds)
            for reached, part in zip(people, np.split(answers, bounds), strict=True):
                yield _decisions_with(self._asked.edited, reached, part)

    def _write(self, combinations: Sequence[Ints]) -> Edits:
        people = [self._people(combination) for combination in combinations]
        edit = np.repeat(np.arange(len(combinations)), [len(reached) for reached in people])
        rows = as_rows([combination.tolist() for combination in combinations])
        return self._edits.of(rows, np.stack((edit, np.concatenate(people))))

    def _people(self, combination: Ints) -> Ints:
        """Whoever is near enough to the subject or to an end of a tie that is changed."""
        edited, table = self._asked.edited, self._table
        if self._asked.way == "whole" or edited.reach is None:
            return np.arange(edited.graph.person_count)
        touched = np.append(table.people(combination), table.subject)
        reached = reach(edited.graph, touched, edited.reach).astype(np.int64)
        return reached[: reached.searchsorted(edited.graph.person_count)]

    def _count_reached(self, action: int) -> int:
        if action not in self._reached:
            graph, depth = self._asked.edited.graph, self._asked.edited.depth
            if depth is None:
                self._reached[action] = graph.person_count - 1
            else:
                reached = reach(graph, self._table.people(np.array([action])), depth)
                self._reached[action] = int(reached.searchsorted(graph.person_count))
        return self._reached[action]


def side_effects(queries: Sequence[ReachQuery]) -> list[SideEffects]:
    """Whose decisions change besides the subject's, for options of one subject or of several."""
    effects = [SideEffects(measured=False)] * len(queries)
    for places in _groups(queries):
        asked, _ = queries[places[0]]
        edits = join_edits([queries[place][1] for place in places])
        if asked.way == "shared":
            answers, fits = asked.edited.answers(edits, "shared")
        else:
            answers, fits = asked.answers(edits)
        bounds = edits.asked[0].searchsorted(np.arange(1, edits.count))
        parts = zip(places, np.split(answers, bounds), np.split(fits, bounds), strict=True)
        for place, part, fit in parts:
            if fit.all():
                effects[place] = _flips(*queries[place], part)
    return effects


def _groups(queries: Sequence[ReachQuery]) -> Iterator[list[int]]:
    """Queries that are asked together, by their places; without those that are too large."""
    group, arcs = list[int](), 0
    for place, (asked, edits) in enumerate(queries):
        if asked.edited.batcher.one_row_per_query:
            continue
        # In a small graph everything may go together: how much of it a query holds is seen to.
        small = len(asked.edited.graph.arc_source) <= MOST_ARCS
        size = 0 if small else asked.edited.size(edits, asked.way, MOST_ARCS)
        if size > MOST_ARCS:
            continue
        if asked.way != "shared":
            yield [place]
            continue
        if group and arcs + size > MOST_ARCS:
            yield group
            group, arcs = [], 0
        group.append(place)
        arcs += size
    if group:
        yield group


def _decisions_with(edited: EditedGraph, people: Ints, answers: Floats) -> Decisions:
    """The decisions on everybody, with new answers for some; rounding moves nobody."""
    rule, before = edited.decisions.rule, edited.everybody[people]
    moved = rule.has_moved(before, answers, CLOSE * edited.noise)
    everybody = edited.everybody.copy()
    everybody[people] = np.where(moved[:, None], answers, before)
    return rule.over(everybody)


def _flips(asked: SubjectAnswers, edits: Edits, answers: Floats) -> SideEffects:
    """Compare decisions before and after: on those reached, and under a quota on everybody."""
    edited = asked.edited
    before = after = edited.decisions
    rule, people = before.rule, edits.asked[1]
    old, new = edited.everybody[people], answers
    if before.depends_on_others:
        after = _decisions_with(edited, people, answers)
        people, old, new = np.arange(len(edited.everybody)), edited.everybody, after.everybody
    able = rule.usable(old) & rule.usable(new) & (people != asked.subject)
    if not before.depends_on_others:
        able &= rule.has_moved(old, new, CLOSE * edited.noise)
    people, old, new = people[able], old[able], new[able]
    was, now = before.favourable(old, people), after.favourable(new, people)
    changed = before.classes_of(old, people) != after.classes_of(new, people)

    def ids_of(mask: Mask) -> tuple[str, ...]:
        return tuple(edited.graph.ids[people[changed & mask]].tolist())

    return SideEffects(
        measured=True,
        to_favourable=ids_of(~was & now),
        to_unfavourable=ids_of(was & ~now),
        other=ids_of(was == now),
    )
