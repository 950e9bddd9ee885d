"""Changes are put to the model as it would meet them: on the whole graph, or on all that matters.

A subject's surroundings are relied on only if the model gives the same answer on them as on the
whole graph, and only with a model whose probes say that they suffice. Answers so close to the line
that rounding might decide are asked for again on the whole graph.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from recourse_audit.errors import AnswerError, ModelError
from recourse_audit.graph.arrays import Floats, Graph, Ints
from recourse_audit.model.desk import QueryDesk
from recourse_audit.model.queries import side_by_side
from recourse_audit.records import ProbeReport
from recourse_audit.recourse.actions import ADD, NONE, ActionTable
from recourse_audit.recourse.policy import Mask
from recourse_audit.recourse.rules import described
from recourse_audit.recourse.variants import (
    Question,
    Surroundings,
    Variants,
    everything,
    new_ties,
    surroundings,
)

NOISE = {"float16": 1e-2, "float32": 1e-5, "float64": 1e-9}
CLOSE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Tells favourable answers from others; answers are rows of log-probabilities."""

    favourable: Mask

    def approves(self, answers: Floats) -> Mask:
        """Whether the likeliest class, of several the first, is favourable."""
        approved: Mask = self.favourable[answers.argmax(axis=1)]
        return approved

    def log_odds(self, answers: Floats) -> Floats:
        """The best favourable class against the best other, in log-probability."""
        odds: Floats = answers[:, self.favourable].max(axis=1) - answers[:, ~self.favourable].max(
            axis=1
        )
        return odds

    def margin(self, answers: Floats) -> Floats:
        """The same as a difference of probabilities."""
        chances = np.exp(answers)
        difference: Floats = chances[:, self.favourable].max(axis=1) - chances[
            :, ~self.favourable
        ].max(axis=1)
        return difference


class Bench:
    """What all subjects of an audit share: the graph, a desk that knows new ties, the judge."""

    def __init__(
        self, graph: Graph, desk: QueryDesk, probes: ProbeReport, whole: Floats, favourable: Mask
    ) -> None:
        """`whole` holds every node's log-probabilities on the whole graph."""
        more = new_ties(graph)
        self.graph = graph
        self.desk = desk.with_more_ties(more)
        self.whole = whole
        self.judge = Judge(favourable=favourable)
        self.depth = probes.depth if _neighbourhoods_suffice(probes) else None
        self.reach = probes.depth
        self.noise = NOISE.get(desk.model.signature.output.dtype, NOISE["float32"])
        self._everything: tuple[Surroundings, Floats] | None = None

    def features(self, nodes: Ints) -> Floats:
        """Features as the model takes them, in an array of their own."""
        with np.errstate(over="ignore"):
            return self.graph.features[nodes].astype(self.desk.model.feature_type)

    def everything(self, table: ActionTable) -> Variants:
        """The whole graph around a subject; its arrays are made once for all."""
        if self._everything is None:
            around = everything(self.graph)
            self._everything = around, self.features(around.nodes)
        around, features = self._everything
        return Variants(table, around, features, 1)


def _neighbourhoods_suffice(probes: ProbeReport) -> bool:
    """Whether a part of the graph, its nodes and ties in another order, may stand for the whole."""
    return probes.deterministic and probes.node_order and probes.tie_order


class Verifier:
    """Asks about combinations of one subject's actions.

    `checked_by` says where: on the subject's "neighbourhood" or on the "whole graph".
    """

    def __init__(self, bench: Bench, table: ActionTable, *, whole: bool = False) -> None:
        self.evaluations = 0
        self._bench = bench
        self._table = table
        self._room = bench.desk.node_room
        self._whole: Variants | None = None
        self._near: Variants | None = None
        if not whole and bench.depth is not None:
            self._near = self._variants(np.empty(0, np.int64), None)
            if not self._agrees():
                self._near = None

    @property
    def checked_by(self) -> str:
        return "whole graph" if self._near is None else "neighbourhood"

    def answers(self, combinations: Ints) -> Floats:
        """Log-probabilities of the subject, a row a combination (filled up with `NONE`)."""
        self.evaluations += len(combinations)
        if self._near is None:
            return self.on_whole_graph(combinations)
        answers = self._nearby(combinations)
        odds = np.abs(self._bench.judge.log_odds(answers))
        close = np.flatnonzero(odds <= CLOSE * self._bench.noise)
        if len(close):
            answers[close] = self.confirmed(combinations[close], answers[close])
        return self._numbers(answers, combinations)

    def confirmed(self, combinations: Ints, known: Floats) -> Floats:
        """Ask on the whole graph what is known from surroundings.

        An export of fixed size may have no room for the whole graph with another number of ties;
        then what is known stands.
        """
        try:
            return self.on_whole_graph(combinations)
        except ModelError:
            return known

    def on_whole_graph(self, combinations: Ints) -> Floats:
        """The same, each asked on the whole graph."""
        if self._whole is None:
            self._whole = self._bench.everything(self._table)
        answers = np.empty((len(combinations), self._bench.desk.class_count))
        try:
            for place in range(len(combinations)):
                question = self._whole.ask(combinations[place : place + 1])
                answers[place] = self._ask([question])[0]
        finally:
            self._whole.restore()
        return self._numbers(answers, combinations)

    def around(self, combination: Ints) -> Surroundings:
        """What the model was asked on for one combination."""
        if self._near is None:
            return everything(self._bench.graph)
        return self._surroundings(self._far(combination[None])[0])

    def _agrees(self) -> bool:
        """Whether the unchanged surroundings get the whole graph's answer."""
        self.evaluations += 1
        [near] = self._nearby(np.array([[NONE]]))
        whole = self._bench.whole[self._table.subject]
        noise = self._bench.noise
        apart = np.abs(near - whole) > noise * (1 + np.abs(whole).max())
        # Where a probability is nearly 0, the last bit of one that is nearly 1 moves its logarithm.
        apart &= np.abs(np.exp(near) - np.exp(whole)) > noise / 10
        return not apart.any()

    def _nearby(self, combinations: Ints) -> Floats:
        """Ask on surroundings; combinations with the same new ties share theirs."""
        far = self._far(combinations)
        order = np.lexsort(far.T)
        ends = far[order]
        fresh = np.ones(len(order), bool)
        fresh[1:] = (ends[1:] != ends[:-1]).any(axis=1)
        groups = np.split(order, np.flatnonzero(fresh)[1:])
        answers = np.empty((len(combinations), self._bench.desk.class_count))
        for batch in self._batches(combinations, far, groups):
            rows = np.concatenate([rows for _, rows in batch])
            answers[rows] = self._ask([question for question, _ in batch])
        return answers

    def _batches(
        self, combinations: Ints, far: Ints, groups: list[Ints]
    ) -> Iterator[list[tuple[Question, Ints]]]:
        """Questions that together fill a query; two of the same variants never wait together."""
        waiting: list[tuple[Question, Ints]] = []
        held = 0
        for rows in groups:
            variants = self._variants(far[rows[0]], len(rows))
            for first in range(0, len(rows), variants.copies):
                if waiting and (first or held + len(variants.around.nodes) > self._room):
                    yield waiting
                    waiting, held = [], 0
                part = rows[first : first + variants.copies]
                waiting.append((variants.ask(combinations[part]), part))
                held += len(part) * len(variants.around.nodes)
        if waiting:
            yield waiting

    def _ask(self, questions: list[Question]) -> Floats:
        union, rows = side_by_side(
            [question.union for question in questions], [question.rows for question in questions]
        )
        features = (
            questions[0].features
            if len(questions) == 1
            else np.concatenate([question.features for question in questions])
        )
        return self._bench.desk.ask(union, rows, features=features)

    def _far(self, combinations: Ints) -> Ints:
        """The far ends of new ties, ascending in each row, filled up with `NONE`."""
        table = self._table
        added = (combinations != NONE) & (table.do[combinations] == ADD)
        return np.sort(np.where(added, table.other[combinations], NONE), axis=1)

    def _variants(self, far: Ints, count: int | None) -> Variants:
        """The subject's own surroundings are written once; others for as many as are wanted."""
        if self._near is not None and (far == NONE).all():
            return self._near
        around = self._surroundings(far)
        copies = max(1, self._room // len(around.nodes))
        if count is not None:
            copies = min(copies, count)
        return Variants(self._table, around, self._bench.features(around.nodes), copies)

    def _surroundings(self, far: Ints) -> Surroundings:
        far = np.unique(far[far != NONE])
        return surroundings(self._bench.graph, self._table.subject, self._bench.depth, far)

    def _numbers(self, answers: Floats, combinations: Ints) -> Floats:
        """Refuse an answer that is not a number, naming the changes."""
        broken = np.flatnonzero(~np.isfinite(answers).all(axis=1))
        if len(broken):
            actions = combinations[broken[0]]
            named = ", ".join(
                described(action) for action in self._table.records(actions[actions != NONE])
            )
            raise AnswerError(f"the model's answer is not a number after {named or 'no change'}")
        return answers
