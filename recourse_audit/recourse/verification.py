"""Asks the model about changes: on the whole graph, or on the part of it that matters.

There are three ways to ask, and each is tried before the next: many changes in one question, by
shared receptive fields; each change on a copy of the subject's receptive field; each change on the
whole graph. The first two are relied on only if the probes allow it and the model gives the whole
graph's answer for the unchanged graph, and as long as every answer that is asked again on the whole
graph agrees. Where an answer is so close to the line that rounding might decide, the whole graph is
asked about as well, if it is small enough.
"""

from dataclasses import replace
from typing import Literal, Protocol

import numpy as np

from recourse_audit.errors import AnswerError, LimitError, ModelError, RoomError
from recourse_audit.graph.arrays import Floats, Ints
from recourse_audit.model.batching import CLOSE, QueryBatcher, same_answer
from recourse_audit.model.decisions import Mask
from recourse_audit.records.recourse import AskedOn, Compared
from recourse_audit.recourse.actions import NONE, ActionTable, action_text
from recourse_audit.recourse.context import RecourseContext
from recourse_audit.recourse.foresight import Shared
from recourse_audit.recourse.receptive_field import receptive_field
from recourse_audit.recourse.side_effects import OtherPeople
from recourse_audit.recourse.variants import Question, Variants

# The runtime may take a kilobyte per arc, in every worker at once.
MOST_ARCS_AGAIN = 1_000_000
# Answers are compared with those of the whole graph where it has at most so many arcs.
MOST_ARCS_COMPARED = 200_000
SALT = 29
DIGITS = 6

Way = Literal["shared", "nearby", "whole"]
WAYS: tuple[Way, ...] = ("shared", "nearby", "whole")


class _Asker(Protocol):
    """A way to ask that does not take the whole graph."""

    def checked(self, combinations: Ints) -> tuple[Floats, Mask, Floats]:
        """The answers, and some about the unchanged graph, which must be the subject's own."""

    def answers(self, combinations: Ints) -> tuple[Floats, Mask]:
        """One row per combination, and which of them fit into the model."""


class _Nearby:
    """Copies of the subject's receptive field, side by side."""

    def __init__(self, context: RecourseContext, variants: Variants) -> None:
        self._batcher = context.batcher
        self._variants = variants

    def checked(self, combinations: Ints) -> tuple[Floats, Mask, Floats]:
        unchanged, _ = self.answers(np.array([[NONE]]))
        return *self.answers(combinations), unchanged

    def answers(self, combinations: Ints) -> tuple[Floats, Mask]:
        """Ask batch by batch; one for which an export of fixed size has no room is marked."""
        answers = np.full((len(combinations), self._batcher.answer_width), np.nan)
        fits = np.ones(len(combinations), bool)
        for batch in self._variants.batches(combinations):
            waiting = [batch]
            while waiting:
                rows = waiting.pop()
                try:
                    answers[rows] = ask(self._batcher, self._variants.ask(combinations[rows]))
                except RoomError:
                    if len(rows) == 1:
                        fits[rows] = False
                    else:
                        waiting += np.split(rows, len(rows))
        return answers, fits


class Verifier:
    """Asks about combinations of one subject's actions, in the first of some ways that can be used.

    `compared` are the answers that were asked again on the whole graph. If one of them was another,
    this way of asking is `contradicted`, and nothing that was found may be relied on.
    """

    def __init__(self, context: RecourseContext, table: ActionTable, first: Way = "shared") -> None:
        self.contradicted = False
        self.others = OtherPeople(context, table)
        self._context = context
        self._table = table
        self._whole: Variants | None = None
        self._near: Variants | None = None
        self.way: Way = "whole"
        self._asker: _Asker | None = None
        self._fresh = True
        self.compared = Compared()
        self._draw = np.random.default_rng((SALT, context.seed, table.subject))
        self._choose(first)
        # The check of the unchanged graph is one of the evaluations.
        self.evaluations = int(self.way != "whole")

    @property
    def asked_on(self) -> AskedOn:
        """Where: on the subject's "neighbourhood" or on the "whole graph"."""
        return "whole graph" if self._asker is None else "neighbourhood"

    @property
    def next_way(self) -> Way | None:
        """What to try if this way is contradicted."""
        return None if self.way == "whole" else WAYS[WAYS.index(self.way) + 1]

    def answers(self, combinations: Ints) -> Floats:
        """The answers for the subject, one row per combination (padded with `NONE`).

        A row is NaN where an export of fixed size has no room for the graph with these changes.
        """
        self.evaluations += len(combinations)
        answers, fits = self._asked(combinations)
        if self._asker is None:
            return answers
        within = CLOSE * self._context.noise
        close = np.flatnonzero(self._context.decisions.close(answers, self._table.subject, within))
        if len(close):
            answers[close], _ = self.confirmed(
                combinations[close], answers[close], most_arcs=MOST_ARCS_AGAIN
            )
        self._compare_some(combinations, answers, fits)
        self._numbers(answers[fits], combinations[fits])
        return answers

    def foresee(self, combinations: Ints) -> None:
        """Say what will probably be asked about soon: the next question may hold it too."""
        if isinstance(self._asker, Shared):
            self._asker.foresee(combinations)

    def _asked(self, combinations: Ints) -> tuple[Floats, Mask]:
        """Ask in the way that was chosen; the first time, in the first way that proves right."""
        while self._asker is not None and self._fresh:
            answers, fits, unchanged = self._asker.checked(combinations)
            if self._agree(unchanged):
                return answers, fits
            self._choose(WAYS[WAYS.index(self.way) + 1])
        if self._asker is not None:
            return self._asker.answers(combinations)
        unknown = np.full((len(combinations), self._context.batcher.answer_width), np.nan)
        return self._where_it_fits(combinations, unknown)

    def _choose(self, first: Way) -> None:
        """Take the first way, from this one on, that the probes allow."""
        for way in WAYS[WAYS.index(first) :]:
            self.way, self._asker = way, self._asking(way)
            if self._asker is not None:
                break

    def _compare_some(self, combinations: Ints, answers: Floats, fits: Mask) -> None:
        """Ask some again on the whole graph: a drawn share, and one of the first that are asked."""
        drawn: Mask = self._draw.random(len(answers)) < self._context.compare
        drawn[:1] |= self._fresh and self._context.compare > 0
        self._fresh = False
        some = np.flatnonzero(drawn & fits & np.isfinite(answers).all(axis=1))
        if len(some):
            self.confirmed(combinations[some], answers[some], most_arcs=MOST_ARCS_COMPARED)

    def reached(self, combinations: Ints, answers: Floats) -> Mask:
        """Which combinations get a favourable decision with these answers for the subject.

        Where a quota decides, everybody whom the changes reach is asked about again, unless the
        subject is in or out whatever becomes of them.
        """
        decisions, subject = self._context.decisions, self._table.subject
        if not decisions.depends_on_others:
            return decisions.favourable(answers, subject)
        reached = np.zeros(len(answers), bool)
        unsettled: list[int] = []
        chosen = [row[row != NONE] for row in combinations]
        for place, actions in enumerate(chosen):
            own = answers[[place]]
            inside, outside = decisions.settled(own, subject, self.others.count(actions))
            reached[place] = inside[0]
            if not (inside | outside)[0]:
                unsettled.append(place)
        every = self.others.every_decision([chosen[place] for place in unsettled])
        for place, after in zip(unsettled, every, strict=True):
            reached[place] = after.favourable(answers[[place]], subject)[0]
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
            answers, asked = self._where_it_fits(combinations, known)
        except LimitError:
            raise  # what is found must not depend on how fast a machine is, or how large
        except ModelError:
            return known, nothing
        self._compare(known[asked], answers[asked])
        return answers, asked

    def _compare(self, known: Floats, whole: Floats) -> None:
        """Note how far answers are from those of the whole graph."""
        scores = self._context.decisions.rule.scores
        one, other = (known, whole) if scores else (np.exp(known), np.exp(whole))
        largest = float(np.abs(one - other).max(initial=0.0))
        self.compared = self.compared.with_more(
            Compared(answers=len(known), largest=float(f"{largest:.{DIGITS}g}"))
        )
        noise = self._context.noise
        self.contradicted |= not all(
            same_answer(near, far, noise, scores=scores)
            for near, far in zip(known, whole, strict=True)
        )

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
                answers[place] = ask(self._context.batcher, question)[0]
        finally:
            self._whole.restore()
        return self._numbers(answers, combinations)

    def question(self, combination: Ints) -> Question:
        """What the model is asked about one combination, in arrays of its own."""
        variants = (
            self._context.everything(self._table) if self._asker is None else self._variants()
        )
        question = variants.ask(combination[None])
        features = question.features.copy()
        variants.restore()
        return replace(question, features=features)

    def _asking(self, way: Way) -> _Asker | None:
        """Something that asks in this way, if the probes allow it."""
        context = self._context
        if way == "shared":
            what_ifs = context.what_ifs
            return None if what_ifs is None else Shared(context, self._table, what_ifs)
        if way == "nearby" and context.depth is not None:
            return _Nearby(context, self._variants())
        return None

    def _variants(self) -> Variants:
        """Versions of the subject's receptive field."""
        if self._near is None:
            context = self._context
            self._near = Variants(
                self._table,
                receptive_field(context.graph, self._table.subject, context.depth),
                context.features,
                depth=context.depth,
                room=context.room,
            )
        return self._near

    def _agree(self, unchanged: Floats) -> bool:
        """Whether answers for the unchanged graph are the whole graph's."""
        whole = self._context.whole[self._table.subject]
        scores = self._context.decisions.rule.scores
        return all(
            same_answer(near, whole, self._context.noise, scores=scores) for near in unchanged
        )

    def _numbers(self, answers: Floats, combinations: Ints) -> Floats:
        """Refuse an answer that is not a number, and name the changes."""
        broken = np.flatnonzero(~np.isfinite(answers).all(axis=1))
        if len(broken):
            actions = combinations[broken[0]]
            named = ", ".join(
                action_text(action) for action in self._table.records(actions[actions != NONE])
            )
            raise AnswerError(f"the model's answer is not a number after {named or 'no change'}")
        return answers


def ask(batcher: QueryBatcher, question: Question) -> Floats:
    """The answers to a question."""
    return batcher.ask(question.union, question.rows, features=question.features)
