"""What a change does to everybody else: their answers, their decisions, and the line of a quota.

A change reaches the people within the model's depth of whatever it touches; everybody else's
answer stays what it is. Under a quota that is not all: whoever gets in takes somebody's place, who
may live at the other end of the graph.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from recourse_audit.errors import RoomError
from recourse_audit.graph.arrays import Floats, Ints
from recourse_audit.graph.neighbourhoods import reach
from recourse_audit.model.batching import CLOSE
from recourse_audit.model.decisions import Decisions, Mask
from recourse_audit.records.recourse import SideEffects
from recourse_audit.recourse.actions import NONE, ActionTable
from recourse_audit.recourse.context import RecourseContext
from recourse_audit.recourse.edited import ActionEdits
from recourse_audit.recourse.receptive_field import ReceptiveField, everything, with_every_tie
from recourse_audit.recourse.variants import Variants

MOST_ARCS = 200_000
AT_ONCE = 32


class OtherPeople:
    """Everybody's answers after changes that one subject might make."""

    def __init__(self, context: RecourseContext, table: ActionTable) -> None:
        self._context = context
        self._table = table
        self._edits = ActionEdits(table, context.features(np.array([table.subject]))[0])
        self._reached: dict[int, int] = {}

    def count(self, combination: Ints) -> int:
        """At most how many other people a combination of actions reaches."""
        everybody = self._context.graph.node_count - 1
        return min(sum(self._reached_by(action) for action in combination.tolist()), everybody)

    def answers(
        self, combination: Ints, most_arcs: int | None = MOST_ARCS
    ) -> tuple[Ints, Floats] | None:
        """Whom the actions can reach, and their answers after them.

        None if more arcs matter than may be asked about.

        Raises
        ------
        RoomError
            An export of fixed size has no room for the graph with these changes.
        """
        touched = self._touched(combination)
        shared = self._shared(combination, touched, most_arcs)
        return shared or self._by_itself(combination, touched, most_arcs)

    def _touched(self, combination: Ints) -> Ints:
        """The subject, and both ends of every tie that a combination drops or adds."""
        table = self._table
        ends = (table.source[combination], table.target[combination], [table.subject])
        return np.unique(np.concatenate(ends))

    def _shared(
        self, combination: Ints, touched: Ints, most_arcs: int | None
    ) -> tuple[Ints, Floats] | None:
        """The answers by shared receptive fields; None if there are none, or they are too large."""
        context = self._context
        what_ifs, depth = context.what_ifs, context.depth
        if what_ifs is None or depth is None:
            return None
        affected = reach(context.graph, touched, depth).astype(np.int64)
        asked = np.stack((np.zeros(len(affected), np.int64), affected))
        edits = self._edits.of(combination[None], asked)
        if most_arcs is not None and what_ifs.size(edits) > most_arcs:
            return None
        return affected, what_ifs.ask(edits)

    def _by_itself(
        self, combination: Ints, touched: Ints, most_arcs: int | None
    ) -> tuple[Ints, Floats] | None:
        """The answers on a part of the graph, or the whole of it, with the changes applied."""
        context, table = self._context, self._table
        around, affected = self._affected(touched, most_arcs)
        if around is None:
            return None
        variants = Variants(table, around, context.features, depth=None, room=1)
        question = variants.ask(combination[None])
        rows = around.place(affected)
        return affected, context.batcher.ask(question.union, rows, features=question.features)

    def every_decision(self, combinations: Sequence[Ints]) -> Iterator[Decisions]:
        """The decisions after each of many combinations, some of them in one question."""
        what_ifs, depth = self._context.what_ifs, self._context.depth
        if what_ifs is None or depth is None:
            yield from map(self.decisions, combinations)
            return
        for first in range(0, len(combinations), AT_ONCE):
            some = combinations[first : first + AT_ONCE]
            affected = [
                reach(self._context.graph, self._touched(one), depth).astype(np.int64)
                for one in some
            ]
            counts = [len(people) for people in affected]
            asked = np.stack((np.repeat(np.arange(len(some)), counts), np.concatenate(affected)))
            width = max(len(one) for one in some)
            rows = [np.pad(one, (0, width - len(one)), constant_values=NONE) for one in some]
            answers = what_ifs.ask(self._edits.of(np.array(rows), asked))
            for people, part in zip(
                affected, np.split(answers, np.cumsum(counts)[:-1]), strict=True
            ):
                yield self._after(people, part)

    def decisions(self, combination: Ints) -> Decisions:
        """The decisions after the actions; under any rule but a quota, those before them."""
        decisions = self._context.decisions
        if not decisions.depends_on_others:
            return decisions
        found = self.answers(combination, most_arcs=None)
        assert found is not None
        return self._after(*found)

    def side_effects(self, combination: Ints) -> SideEffects:
        """Whose decisions change besides the subject's."""
        if self._context.batcher.one_row_per_query:
            return SideEffects(measured=False)
        try:
            found = self.answers(combination)
        except RoomError:
            return SideEffects(measured=False)
        return SideEffects(measured=False) if found is None else self._flips(*found)

    def _reached_by(self, action: int) -> int:
        if action not in self._reached:
            graph, depth = self._context.graph, self._context.depth
            if depth is None:
                self._reached[action] = graph.node_count - 1
            else:
                ends = np.unique([self._table.source[action], self._table.target[action]])
                self._reached[action] = len(reach(graph, ends, depth))
        return self._reached[action]

    def _affected(self, touched: Ints, most_arcs: int | None) -> tuple[ReceptiveField | None, Ints]:
        """Everyone the changes can reach, and their receptive field; None if that is too large."""
        graph, depth = self._context.graph, self._context.depth
        most = len(graph.arc_source) if most_arcs is None else most_arcs
        if depth is None:
            small = len(graph.arc_source) <= most
            return (everything(graph) if small else None), np.arange(graph.node_count)
        affected = reach(graph, touched, depth).astype(np.int64)
        full = reach(graph, affected, depth).astype(np.int64)
        if int((graph.starts[full + 1] - graph.starts[full]).sum()) > most:
            whole = everything(graph) if most_arcs is None else None
            return whole, affected
        return with_every_tie(graph, full, touched), affected

    def _after(self, affected: Ints, answers: Floats) -> Decisions:
        """The decisions on everybody, with new answers for some of them.

        Rounding moves nobody: whoever did not move by more keeps their answer, and their rank.
        """
        context = self._context
        rule, before = context.decisions.rule, context.whole[affected]
        moved = rule.moved(before, answers, CLOSE * context.noise)
        everybody = context.whole.copy()
        everybody[affected] = np.where(moved[:, None], answers, before)
        return rule.over(everybody)

    def _flips(self, affected: Ints, answers: Floats) -> SideEffects:
        """Compare decisions before and after: on those reached, and under a quota on everybody."""
        context, before = self._context, self._context.decisions
        rule, after = before.rule, before
        people, old, new = affected, context.whole[affected], answers
        if before.depends_on_others:
            after = self._after(affected, answers)
            people, old, new = np.arange(len(context.whole)), context.whole, after.everybody
        able = rule.usable(old) & rule.usable(new) & (people != self._table.subject)
        if not before.depends_on_others:
            able &= rule.moved(old, new, CLOSE * context.noise)
        people, old, new = people[able], old[able], new[able]
        was, now = before.favourable(old, people), after.favourable(new, people)
        changed = before.classes_of(old, people) != after.classes_of(new, people)

        def named(mask: Mask) -> tuple[str, ...]:
            return tuple(context.graph.ids[people[changed & mask]].tolist())

        return SideEffects(
            measured=True,
            to_favourable=named(~was & now),
            to_unfavourable=named(was & ~now),
            other=named(was == now),
        )
