"""Asks the model about changes: on the whole graph, or on the part of it that matters.

A subject's receptive field is relied on only if the model gives the same answer on it as on the
whole graph, and only if the probes say that it suffices. Where an answer is so close to the line
that rounding might decide, the whole graph is asked about as well, if it is small enough.
"""

from dataclasses import replace

import numpy as np

from recourse_audit.errors import AnswerError, ModelError, RoomError
from recourse_audit.graph.arrays import Floats, Graph, Ints
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.decisions import Decisions, Mask
from recourse_audit.records.model import ProbeReport
from recourse_audit.records.recourse import AskedOn
from recourse_audit.recourse.actions import NONE, ActionTable
from recourse_audit.recourse.receptive_field import ReceptiveField, everything, receptive_field
from recourse_audit.recourse.rules import described
from recourse_audit.recourse.variants import Question, Variants, new_ties

NOISE = {"float16": 1e-2, "float32": 1e-5, "float64": 1e-9}
CLOSE = 10
# The runtime may take a kilobyte per arc, in every worker at once.
MOST_ARCS_AGAIN = 1_000_000
QUERIES_WRITTEN = 4
BYTES_WRITTEN = 2**23


class RecourseContext:
    """What all subjects of an audit share; its batcher also knows new ties."""

    def __init__(
        self,
        graph: Graph,
        batcher: QueryBatcher,
        probes: ProbeReport,
        whole: Floats,
        decisions: Decisions,
    ) -> None:
        """`whole` holds every node's log-probabilities on the whole graph."""
        self.graph = graph
        self.batcher = batcher.with_more_ties(new_ties(graph)) if batcher.needs_ties else batcher
        self.whole = whole
        self.decisions = decisions
        self.depth = probes.depth if neighbourhoods_suffice(probes) else None
        self.reach = probes.depth
        self.noise = noise_of(batcher)
        self._everything: tuple[ReceptiveField, Floats] | None = None

    def features(self, nodes: Ints) -> Floats:
        """Features as the model takes them, in an array of their own."""
        with np.errstate(over="ignore"):
            return self.graph.features[nodes].astype(self.batcher.model.feature_type)

    @property
    def room(self) -> int:
        """How many nodes to write at once: enough for a few queries, in bounded memory."""
        room = self.batcher.node_room
        width = (
            int(self.graph.features.shape[1]) * np.dtype(self.batcher.model.feature_type).itemsize
        )
        return room * min(max(BYTES_WRITTEN // (room * width), 1), QUERIES_WRITTEN)

    def everything(self, table: ActionTable) -> Variants:
        """Versions of the whole graph; its arrays are made once for all subjects."""
        if self._everything is None:
            around = everything(self.graph)
            self._everything = around, self.features(around.nodes)
        around, features = self._everything
        return Variants(table, around, self.features, depth=None, room=1, own=features)


def noise_of(batcher: QueryBatcher) -> float:
    """How far two answers to one question may be apart, by the precision of the output."""
    return NOISE.get(batcher.model.signature.output.dtype, NOISE["float32"])


def same_answer(near: Floats, whole: Floats, noise: float) -> bool:
    """Whether two rows of log-probabilities are the same but for rounding."""
    alike = np.abs(near - whole) <= noise * (1 + np.abs(whole).max())
    # The last bit of a probability near 1 moves the logarithm of the other one, near 0, a lot.
    alike |= np.abs(np.exp(near) - np.exp(whole)) <= noise / 10
    return bool(alike.all())


def neighbourhoods_suffice(probes: ProbeReport) -> bool:
    """Whether a part of the graph, with its nodes and ties renumbered, may stand for the whole."""
    return probes.deterministic and probes.node_order and probes.tie_order


class Verifier:
    """Asks about combinations of one subject's actions.

    `asked_on` says where: on the subject's "neighbourhood" or on the "whole graph".
    """

    def __init__(
        self, context: RecourseContext, table: ActionTable, *, whole: bool = False
    ) -> None:
        self.evaluations = 0
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
        """Log-probabilities of the subject, one row per combination (padded with `NONE`).

        A row is NaN where an export of fixed size has no room for the graph with these changes.
        """
        self.evaluations += len(combinations)
        if self._near is None:
            unknown = np.full((len(combinations), self._context.batcher.class_count), np.nan)
            return self._where_it_fits(combinations, unknown)[0]
        answers, fits = self._nearby(combinations)
        odds = np.abs(self._context.decisions.log_odds(answers))
        close = np.flatnonzero(odds <= CLOSE * self._context.noise)
        if len(close):
            answers[close], _ = self.confirmed(
                combinations[close], answers[close], most_arcs=MOST_ARCS_AGAIN
            )
        self._numbers(answers[fits], combinations[fits])
        return answers

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
        answers = np.empty((len(combinations), self._context.batcher.class_count))
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
        return same_answer(near, whole, self._context.noise)

    def _nearby(self, combinations: Ints) -> tuple[Floats, Mask]:
        """Ask on the receptive field, batch by batch; mark the combinations that fit the model."""
        assert self._near is not None
        answers = np.full((len(combinations), self._context.batcher.class_count), np.nan)
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
