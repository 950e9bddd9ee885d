"""Everybody's answer on a graph that is too large for one query, block by block.

The runtime holds several hundred bytes per arc, so a query about the whole graph may need more
memory than there is. Nodes are asked about in blocks instead, each on the part of the graph that
their answers depend on (`block_fields`), one after the other; so memory is bounded by the largest
block. In a graph without locality these parts overlap a lot, and time pays for memory.

The whole graph cannot be asked to compare with, so a node's receptive field alone takes its place:
it is cut in another way and shown with all of its ties. Some nodes are compared before, to choose
how the ring of a block is shown, and one node of a block is compared whenever that costs little
next to what was asked so far. One difference, and the whole graph is asked after all.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recourse_audit.audit.askable import Askable
from recourse_audit.audit.block_fields import (
    BlockFields,
    BlockQuestion,
    Blocks,
    Ring,
    union_of,
)
from recourse_audit.graph.arrays import Floats, Graph, Ints
from recourse_audit.graph.neighbourhoods import by_locality
from recourse_audit.model.rounding import CLOSE, noise_of, same_answer
from recourse_audit.recourse.context import neighbourhoods_suffice
from recourse_audit.recourse.receptive_field import ReceptiveField, receptive_field

RINGS: tuple[Ring, ...] = ("bare", "counted", "tied")
SALT = 53
# How many nodes are compared before a ring is relied on, and how many are drawn to find them.
COMPARED = 8
DRAWN = 64
# Blocks are estimated around this many nodes.
ESTIMATED = 4
# What is compared costs at most this share of what is asked.
SHARE_COMPARED = 0.05
# More answers than this within rounding of the decision line are not asked about one by one.
MOST_CLOSE = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockLimits:
    """When a graph is cut into blocks, and how.

    A graph of at most `whole` arcs is one query. `sizes` are how many arcs a block may have, the
    smallest first: small queries are faster per arc, so a larger size has to need a third fewer.
    A receptive field of more than `alone` arcs is not compared.
    `times` is how many times the arcs of the graph all blocks together may have.
    """

    whole: int = 2**22
    sizes: Sequence[int] = (200_000, 3_000_000)
    alone: int = 3_000_000
    times: float = 50.0
    worth: float = 1.5


LIMITS = BlockLimits()


def is_large(graph: Graph, limits: BlockLimits = LIMITS) -> bool:
    """Whether a graph has more arcs than one query may have, if it can be avoided."""
    return len(graph.arc_source) > limits.whole


def block_answers(audit: Askable, limits: BlockLimits = LIMITS) -> Floats | None:
    """The answers for everybody, one row each; None if the whole graph has to be asked."""
    depth = audit.probes.depth
    if depth is None or not _may_be_cut(audit, limits):
        return None
    with audit.batcher.repeater.now_and_then():
        asked = _BlockQuestions(audit, depth, limits)
        blocks = asked.blocks(asked.ring())
        return None if blocks is None else asked.answers(blocks)


def _may_be_cut(audit: Askable, limits: BlockLimits) -> bool:
    model = audit.batcher.model
    return (
        is_large(audit.graph, limits)
        and neighbourhoods_suffice(audit.probes)
        and not audit.batcher.one_row_per_query
        and model.node_room is None
        and model.arc_room is None
        and model.signature.port("adjacency") is None
    )


class _BlockQuestions:
    """The questions about one graph, cut into blocks, and what they are compared with."""

    def __init__(self, audit: Askable, depth: int, limits: BlockLimits) -> None:
        self._audit = audit
        self._graph: Graph = audit.graph
        self._batcher = audit.batcher
        self._depth = depth
        self._limits = limits
        self._draw = np.random.default_rng((SALT, audit.graph.node_count))
        self._noise = noise_of(audit.batcher)
        known = audit.batcher.model.signature.port("node_ids") is not None
        self._fields = BlockFields(
            audit.graph,
            depth,
            features=audit.batcher.features,
            alike=not audit.batcher.needs_ties and not known,
        )

    def ring(self) -> Ring:
        """The cheapest ring that gives every compared node the answer of its receptive field.

        Only nodes to whose field the ring makes a difference are compared. Where they are few, as
        in a graph of small components, nothing is relied on, and rings are small.
        """
        tied = np.flatnonzero(self._fields.arriving)
        drawn = tied[self._draw.integers(0, len(tied), DRAWN)]
        compared: list[tuple[Ints, Floats]] = []
        for node in dict.fromkeys(drawn.tolist()):
            own = np.array([node])
            bare = self._fields.question(own, "bare", self._limits.alone)
            field = self._field(node)
            if bare is None or field is None or len(field.sources) <= bare.arcs:
                continue
            compared.append((own, self._alone(node, field)))
            if len(compared) == COMPARED:
                return next((one for one in RINGS if self._gives(one, compared)), "tied")
        return "tied"

    def _gives(self, ring: Ring, compared: Sequence[tuple[Ints, Floats]]) -> bool:
        for own, expected in compared:
            question = self._fields.question(own, ring)
            assert question is not None
            if not self._same(self._batcher.ask(question.union, question.rows)[0], expected):
                return False
        return True

    def blocks(self, ring: Ring) -> Blocks | None:
        """The graph cut into blocks of the best size; None if they would cost too much."""
        order = by_locality(self._graph)
        places = self._draw.integers(0, len(order), ESTIMATED).tolist()
        best: tuple[float, Blocks] | None = None
        for size in self._limits.sizes:
            blocks = Blocks(self._fields, order, ring, size)
            sampled = [blocks.around(place) for place in places]
            cost = float(np.mean([one.arcs / len(one.nodes) for one in sampled])) * len(order)
            if best is None or cost * self._limits.worth < best[0]:
                best = cost, blocks
        assert best is not None
        cost, blocks = best
        return blocks if cost <= self._limits.times * len(self._graph.arc_source) else None

    def answers(self, blocks: Blocks) -> Floats | None:
        """Ask block after block; None as soon as one node gets another answer on its own field."""
        answers = np.empty((self._graph.node_count, self._batcher.answer_width))
        asked = compared = 0
        for block in blocks:
            answers[block.nodes] = self._batcher.ask(block.union, block.rows)
            asked += block.arcs
            if compared <= SHARE_COMPARED * asked:
                cost = self._compare(block, answers)
                if cost is None:
                    return None
                compared += cost
        return self._with_close_ones(answers)

    def _compare(self, block: BlockQuestion, answers: Floats) -> int | None:
        """Compare one node of a block with its own field: how many arcs that took, or None."""
        node = int(self._draw.choice(block.nodes))
        field = self._field(node)
        if field is None:
            return 0
        if not self._same(answers[node], self._alone(node, field)):
            return None
        return len(field.sources)

    def _with_close_ones(self, answers: Floats) -> Floats | None:
        """Where rounding may decide, the answer is that on the node's own field, however cut."""
        rule = self._audit.rule
        usable = np.flatnonzero(rule.usable(answers))
        decisions = rule.over(answers)
        close = usable[decisions.close(answers[usable], usable, CLOSE * self._noise)]
        if len(close) > MOST_CLOSE:
            return None
        for node in close.tolist():
            answers[node] = self._alone(node, receptive_field(self._graph, node, self._depth))
        return answers

    def _field(self, node: int) -> ReceptiveField | None:
        """The receptive field of a node, unless it is too large to be compared."""
        question = self._fields.question(np.array([node]), "tied", self._limits.alone)
        return None if question is None else receptive_field(self._graph, node, self._depth)

    def _alone(self, node: int, field: ReceptiveField) -> Floats:
        answer: Floats = self._batcher.ask(union_of(field), field.place(np.array([node])))[0]
        return answer

    def _same(self, near: Floats, far: Floats) -> bool:
        if not np.isfinite(near).any() and not np.isfinite(far).any():
            return True
        return same_answer(near, far, self._noise, scores=self._audit.rule.scores)
