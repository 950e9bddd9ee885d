"""Asks the model about changes: on the whole graph, or on the part of it that matters.

A subject's receptive field is relied on only if the model gives the same answer on it as on the
whole graph, and only if the probes say that it suffices. Where an answer is so close to the line
that rounding might decide, the whole graph is asked about as well, if it is small enough.
"""

from dataclasses import replace

import numpy as np

from recourse_audit.errors import AnswerError, LimitError, ModelError, RoomError
from recourse_audit.graph.arrays import Floats, Ints
from recourse_audit.model.decisions import Mask
from recourse_audit.records.recourse import AskedOn
from recourse_audit.recourse.actions import NONE, ActionTable
from recourse_audit.recourse.context import CLOSE, RecourseContext, same_answer
from recourse_audit.recourse.receptive_field import receptive_field
from recourse_audit.recourse.rules import described
from recourse_audit.recourse.side_effects import OtherPeople
from recourse_audit.recourse.variants import Question, Variants

# The runtime may take a kilobyte per arc, in every worker at once.
MOST_ARCS_AGAIN = 1_000_000


class Verifier:
    """Asks about combinations of one subject's actions.

    `asked_on` says where: on the subject's "neighbourhood" or on the "whole graph".
    """

    def __init__(
        self, context: RecourseContext, table: ActionTable, *, whole: bool = False
    ) -> None:
        self.evaluations = 0
        self.others = OtherPeople(context, table)
        self._context = context
        self._table = table
        self._whole: Variants | None = None
        self._near: Variants | None = None
        if not whole and context.depth is not None:
            self._near = Variants(
                table,
                receptive_field(context.graph, table.subject, context.depth),
                context.features,
                depth=context.depth,
                room=context.room,
            )
            if not self._agrees():
                self._near = None

    @property
    def asked_on(self) -> AskedOn:
        return "whole graph" if self._near is None else "neighbourhood"

    def answers(self, combinations: Ints) -> Floats:
        """The answers for the subject, one row per combination (padded with `NONE`).

        A row is NaN where an export of fixed size has no room for the graph with these changes.
        """
        self.evaluations += len(combinations)
        if self._near is None:
            unknown = np.full((len(combinations), self._context.batcher.answer_width), np.nan)
            return self._where_it_fits(combinations, unknown)[0]
        answers, fits = self._nearby(combinations)
        within = CLOSE * self._context.noise
        close = np.flatnonzero(self._context.decisions.close(answers, self._table.subject, within))
        if len(close):
            answers[close], _ = self.confirmed(
                combinations[close], answers[close], most_arcs=MOST_ARCS_AGAIN
            )
        self._numbers(answers[fits], combinations[fits])
        return answers

    def reached(self, combinations: Ints, answers: Floats) -> Mask:
        """Which combinations get a favourable decision with these answers for the subject.

        Where a quota decides, everybody whom the changes reach is asked about again, unless the
        subject is in or out whatever becomes of them.
        """
        decisions, subject = self._context.decisions, self._table.subject
        if not decisions.depends_on_others:
            return decisions.favourable(answers, subject)
        reached = np.zeros(len(answers), bool)
        for place, row in enumerate(combinations):
            chosen, own = row[row != NONE], answers[[place]]
            inside, outside = decisions.settled(own, subject, self.others.count(chosen))
            if not (inside | outside)[0]:
                after = self.others.decisions(chosen)
                inside = after.favourable(own, subject)
            reached[place] = inside[0]
        return reached

    def confirmed(
        self, combinations: Ints, known: Floats, *, most_arcs: int
    ) -> tuple[Floats, Mask]:
        """Ask on the whole graph what is known from the neighbourhood; mark what was asked there.

        What is known stands where the whole graph has too many arcs to be asked about by every
        worker, or where an export of fixed size has no room for it with these changes.
        """
        nothing = np.zeros(len(combinations), bool)
        if len(self._context.graph.arc_source) > most_arcs:
            return known, nothing
        try:
            return self._where_it_fits(combinations, known)
        except LimitError:
            raise  # what is found must not depend on how fast a machine is, or how large
        except ModelError:
            return known, nothing

    def _where_it_fits(self, combinations: Ints, known: Floats) -> tuple[Floats, Mask]:
        """The answers on the whole graph; what is known, where it does not fit into the model."""
        fits = np.ones(len(combinations), bool)
        try:
            return self.on_whole_graph(combinations), fits
        except RoomError:
            answers = known.copy()
        for place in range(len(combinations)):
            try:
                answers[place] = self.on_whole_graph(combinations[place : place + 1])[0]
            except RoomError:
                fits[place] = False
        return answers, fits

    def on_whole_graph(self, combinations: Ints) -> Floats:
        """The same, with every combination asked about on the whole graph."""
        if self._whole is None:
            self._whole = self._context.everything(self._table)
        answers = np.empty((len(combinations), self._context.batcher.answer_width))
        try:
            for place in range(len(combinations)):
                question = self._whole.ask(combinations[place : place + 1])
                answers[place] = self._ask(question)[0]
        finally:
            self._whole.restore()
        return self._numbers(answers, combinations)

    def question(self, combination: Ints) -> Question:
        """What the model is asked about one combination, in arrays of its own."""
        variants = self._context.everything(self._table) if self._near is None else self._near
        question = variants.ask(combination[None])
        features = question.features.copy()
        variants.restore()
        return replace(question, features=features)

    def _agrees(self) -> bool:
        """Whether the model gives the same answer on the unchanged field as on the whole graph."""
        self.evaluations += 1
        answers, _ = self._nearby(np.array([[NONE]]))
        [near] = answers
        whole = self._context.whole[self._table.subject]
        scores = self._context.decisions.rule.scores
        return same_answer(near, whole, self._context.noise, scores=scores)

    def _nearby(self, combinations: Ints) -> tuple[Floats, Mask]:
        """Ask on the receptive field, batch by batch; mark the combinations that fit the model."""
        assert self._near is not None
        answers = np.full((len(combinations), self._context.batcher.answer_width), np.nan)
        fits = np.ones(len(combinations), bool)
        for batch in self._near.batches(combinations):
            waiting = [batch]
            while waiting:
                rows = waiting.pop()
                try:
                    answers[rows] = self._ask(self._near.ask(combinations[rows]))
                except RoomError:
                    if len(rows) == 1:
                        fits[rows] = False
                    else:
                        waiting += np.split(rows, len(rows))
        return answers, fits

    def _ask(self, question: Question) -> Floats:
        return self._context.batcher.ask(question.union, question.rows, features=question.features)

    def _numbers(self, answers: Floats, combinations: Ints) -> Floats:
        """Refuse an answer that is not a number, and name the changes."""
        broken = np.flatnonzero(~np.isfinite(answers).all(axis=1))
        if len(broken):
            actions = combinations[broken[0]]
            named = ", ".join(
                described(action) for action in self._table.records(actions[actions != NONE])
            )
            raise AnswerError(f"the model's answer is not a number after {named or 'no change'}")
        return answers
