"""What the model answers for a subject on the whole graph without some ties.

Explanations and their counterfactuals are small graphs; a person lives in the whole one. A tie is a
pair of people here: with it go all parallel ties between the two, in both directions.
"""

from collections.abc import Sequence

import numpy as np

from recourse_audit.errors import RoomError
from recourse_audit.graph.arrays import Floats, Graph, Ints
from recourse_audit.graph.neighbourhoods import neighbourhood, reach, spans
from recourse_audit.model.base_fields import KeptFields
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.decisions import Decisions, Mask
from recourse_audit.model.edits import edits_of
from recourse_audit.model.queries import Union, whole
from recourse_audit.model.what_ifs import WhatIfs
from recourse_audit.records.model import ProbeReport
from recourse_audit.records.search import Tie, WholeGraph
from recourse_audit.search.results import Naming, rounded

NO_PAIR = -1
# Without shared fields every set of ties is a question about the whole graph. Sets are tried up to
# so many arcs in total; a few given ones are asked about in any case, up to so many arcs each.
MOST_ARCS_TRIED = 2**18
MOST_ARCS_GIVEN = 1_000_000
# How far the answer on a shared field may be from the whole graph's before it is not relied on.
ROUNDING = 1e-5
# Pairs are ordered by distance this far, if the model's reach is not known.
NEAR = 2


class Removals:
    """What all subjects of an audit share when they are asked about without some ties."""

    def __init__(
        self,
        graph: Graph,
        batcher: QueryBatcher,
        probes: ProbeReport,
        decisions: Decisions,
        what_ifs: WhatIfs | None,
        fields: KeptFields | None = None,
    ) -> None:
        """`decisions` are those on everybody in the whole graph; `fields` may be shared."""
        self.fields = fields or KeptFields()
        self.graph = graph
        self.batcher = batcher
        self.probes = probes
        self.decisions = decisions
        self.what_ifs = what_ifs
        self.naming = Naming(graph=graph, rule=decisions.rule, kind=batcher.output_kind)

    def of(self, subject: int, given: int = 0) -> "SubjectRemovals":
        """The same for one subject, with a number of sets that are asked about in any case."""
        return SubjectRemovals(self, subject, given)

    def ties(self, pairs: Ints) -> tuple[Tie, ...]:
        """Pairs by the ids of their ends."""
        low = self.naming.nodes(self.graph.pair_low[pairs])
        return tuple(zip(low, self.naming.nodes(self.graph.pair_high[pairs]), strict=True))

    def pairs(self, ties: Sequence[Tie]) -> Ints:
        """Ties by the numbers of their pairs."""
        found = []
        for low, high in ties:
            one, other = self.graph.find(low), self.graph.find(high)
            place = np.searchsorted(self.graph.neighbours(one), other)
            found.append(int(self.graph.neighbour_pair[self.graph.starts[one] + place]))
        return np.array(found, np.int64)


class SubjectRemovals:
    """Asks about one subject without one set of ties or another.

    Where shared fields give the model's answers, one question holds many sets. A model without a
    form, or a subject whose field does not give the whole graph's own answer, is asked about the
    whole graph set by set, as far as there is room. The answers are those of the whole graph either
    way.
    """

    def __init__(self, removals: Removals, subject: int, given: int) -> None:
        decisions = removals.decisions
        self._own = decisions.everybody[[subject]]
        self._decided = int(decisions.classes_of(self._own, subject)[0])
        self._subject = subject
        self._removals = removals
        self._what_ifs = removals.what_ifs
        self._checked = False
        arcs = max(len(removals.graph.arc_source), 1)
        self._room = max(MOST_ARCS_TRIED // arcs, given if arcs <= MOST_ARCS_GIVEN else 0)

    @property
    def room(self) -> int | None:
        """How many more sets can be asked about; None where nothing limits them."""
        return self._room if self._what_ifs is None else None

    def answers(self, sets: Ints) -> Floats:
        """One answer for each row of pairs that are removed, padded with `NO_PAIR`.

        Where there is no room for all rows, the last ones get no answer, so there are fewer. An
        answer is NaN where an export of fixed size cannot be asked.
        """
        if self._what_ifs is not None:
            answers = self._shared(self._what_ifs, sets)
            if answers is not None:
                return answers
            self._what_ifs = None
        asked = sets[: self._room]
        self._room -= len(asked)
        answers = np.full((len(asked), self._removals.batcher.answer_width), np.nan)
        for place, row in enumerate(asked):
            try:
                answers[place] = self._on_whole_graph(row[row != NO_PAIR])
            except RoomError:
                continue  # an export of fixed size has no room for the graph without these ties
        return answers

    def in_reach(self) -> Ints:
        """The pairs whose ties can matter to the subject's answer: nearest first, then in order.

        A pair is as near as the nearer of its two people.
        """
        graph, probes = self._removals.graph, self._removals.probes
        start = np.array([self._subject])
        if probes.depth is None:
            pairs = np.arange(graph.pair_count)
        elif probes.sender_degree is None:
            positions, _ = spans(graph.starts, reach(graph, start, probes.depth))
            pairs = np.unique(graph.neighbour_pair[positions]).astype(np.int64)
        else:
            field = self._removals.fields.around(
                graph, start, probes.depth, degrees=probes.sender_degree
            )
            arcs = field.arcs[field.arcs < len(graph.arc_source)]
            pairs = np.unique(np.searchsorted(graph.pair_starts, arcs, side="right") - 1)
        near = neighbourhood(graph, start, NEAR if probes.depth is None else probes.depth)
        hops = np.full(len(pairs), np.iinfo(np.int8).max)
        for ends in (graph.pair_low[pairs], graph.pair_high[pairs]):
            place = np.minimum(np.searchsorted(near.nodes, ends), len(near.nodes) - 1)
            there = near.nodes[place] == ends
            hops = np.where(there, np.minimum(hops, near.hops[place]), hops)
        return pairs[np.argsort(hops, kind="stable")]

    def is_own(self, pairs: Ints) -> Mask:
        """Which pairs the subject is one end of."""
        graph = self._removals.graph
        low, high = graph.pair_low[pairs], graph.pair_high[pairs]
        own: Mask = (low == self._subject) | (high == self._subject)
        return own

    def away(self, answers: Floats) -> Floats:
        """How far each answer is from the subject's, away from the decision; NaN stays NaN.

        In what effects are measured on, at the resolution at which they are shown.
        """
        rule = self._removals.decisions.rule
        sign = -1.0
        if rule.scores and not rule.favourable_classes[self._decided]:
            sign = 1.0
        if rule.scores:
            sign *= rule.sign
        return rounded(sign * self._effects(answers))

    def records(self, answers: Floats) -> list[WholeGraph | None]:
        """Answers as records; None for an answer that is not a number."""
        decisions, naming = self._removals.decisions, self._removals.naming
        usable = decisions.usable(answers)
        numbers = np.where(usable[:, None], answers, 0.0)
        decided = decisions.classes[self._decided]
        rows = zip(
            naming.probabilities(numbers),
            naming.scores(numbers),
            self._effects(numbers).tolist(),
            decisions.names_of(numbers, self._subject),
            usable.tolist(),
            strict=True,
        )
        return [
            WholeGraph(
                probabilities=probabilities,
                score=score,
                effect=effect,
                decision=decision,
                flips=decision != decided,
            )
            if there
            else None
            for probabilities, score, effect, decision, there in rows
        ]

    def flips(self, answers: Floats) -> Mask:
        """Which answers change the decision on the subject."""
        after = self._removals.decisions.classes_of(answers, self._subject)
        flips: Mask = (after != self._decided) & (after >= 0)
        return flips

    def _values(self, answers: Floats) -> Floats:
        """What effects are measured on, as it is shown."""
        return rounded(self._removals.decisions.rule.watched(answers, self._decided))

    def _effects(self, answers: Floats) -> Floats:
        return rounded(self._values(answers) - self._values(self._own))

    def _shared(self, what_ifs: WhatIfs, sets: Ints) -> Floats | None:
        """The answers by shared fields; None if these do not give the answer that is known.

        The first question also holds the field as it is, which must get the whole graph's answer.
        """
        first = 0 if self._checked else 1
        row, column = np.nonzero(sets != NO_PAIR)
        arcs, place = spans(self._removals.graph.pair_starts, sets[row, column])
        count = len(sets) + first
        asked = np.stack((np.arange(count), np.full(count, self._subject)))
        dropped = np.stack((row[place] + first, arcs))
        answers = what_ifs.ask(edits_of(count, asked, dropped=dropped))
        if first and not self._is_known(answers[0]):
            return None
        self._checked = True
        return answers[first:]

    def _is_known(self, answer: Floats) -> bool:
        """Whether an answer is the subject's own on the whole graph, but for rounding."""
        own = self._own[0]
        alike = np.abs(answer - own) <= ROUNDING * (1 + np.abs(own).max())
        if self._removals.batcher.output_kind == "probabilities":
            # The last bit of a probability near 1 moves the logarithm of the other one a lot.
            alike |= np.abs(np.exp(answer) - np.exp(own)) <= ROUNDING / 10
        return bool(alike.all())

    def _on_whole_graph(self, pairs: Ints) -> Floats:
        union = whole(self._removals.graph)
        arcs, _ = spans(self._removals.graph.pair_starts, pairs)
        kept = np.ones(len(union.sources), bool)
        kept[arcs] = False
        left = Union(
            nodes=union.nodes,
            node_starts=union.node_starts,
            sources=union.sources[kept],
            targets=union.targets[kept],
            ties=union.ties[kept],
            arc_starts=np.array([0, int(kept.sum())]),
        )
        answer: Floats = self._removals.batcher.ask(left, np.array([self._subject]))[0]
        return answer


def padded(sets: Sequence[Ints]) -> Ints:
    """Sets of pairs as rows of one length."""
    rows = np.full((len(sets), max(map(len, sets), default=0)), NO_PAIR, np.int64)
    for row, pairs in zip(rows, sets, strict=True):
        row[: len(pairs)] = pairs
    return rows
