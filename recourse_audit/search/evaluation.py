"""Subtrees are put to the model, each distinct one once, and scored for every subject in it."""

from dataclasses import dataclass, field

import numpy as np

from recourse_audit.graph.arrays import Floats, Graph, Indices, Ints
from recourse_audit.model.desk import QueryDesk
from recourse_audit.model.output import log_probabilities
from recourse_audit.model.queries import side_by_side
from recourse_audit.search.keys import KeyIndex, Keys, tie_words
from recourse_audit.search.local import LocalGraph
from recourse_audit.search.objectives import simulatability
from recourse_audit.search.packing import place_in, sorted_rows, tree_union
from recourse_audit.search.subtrees import Level

TREES_AT_ONCE = 4096
REMEMBERED = 2_000_000


@dataclass(slots=True)
class Memory:
    """The trees of one size that were evaluated before: ties, and a score for each subject in it."""

    index: KeyIndex = field(default_factory=KeyIndex)
    ties: Indices | None = None
    scores: Floats | None = None

    def extend(self, ties: Indices, scores: Floats) -> None:
        """Add trees in the order in which the index numbered them."""
        self.ties = ties if self.ties is None else np.concatenate((self.ties, ties), axis=1)
        self.scores = scores if self.scores is None else np.concatenate((self.scores, scores))


class Evaluator:
    """Scores subtrees for the subjects of one block, and remembers those that others share.

    Memory is bounded: by the chunk that is asked at once, and by how many trees are remembered.
    """

    def __init__(self, graph: Graph, desk: QueryDesk, whole: Floats, subjects: Ints) -> None:
        """`whole` holds every node's log-probabilities on the whole graph."""
        self._graph = graph
        self._desk = desk
        self._whole = whole
        self._served = np.zeros(graph.node_count, bool)
        self._served[subjects] = True
        self._shared = len(subjects) > 1
        self._memories: dict[int, Memory] = {}

    def score(self, local: LocalGraph, level: Level) -> Floats:
        """The simulatability of every tree of a level for its root."""
        nodes, ties = sorted_rows(level.nodes), sorted_rows(level.ties)
        place = place_in(nodes, level.nodes[0])
        if not self._shared or level.size == 1:
            rows = np.arange(len(level)) * level.size + place
            return self._ask(local, nodes, ties, rows)
        return self._remembered(local, nodes, ties, place)

    def answers(self, local: LocalGraph, subject: int, trees: list[tuple[Ints, Ints]]) -> Floats:
        """Log-probabilities of the subject on some trees, given as local nodes and ties."""
        unions = [
            tree_union(
                self._graph,
                local,
                np.sort(nodes)[:, None],
                np.sort(ties)[:, None],
                with_ties=self._desk.needs_ties,
            )
            for nodes, ties in trees
        ]
        union = side_by_side(unions)
        rows = np.flatnonzero(union.nodes == subject)
        return log_probabilities(self._desk.ask_raw(union, rows), self._desk.output_kind)

    def forget(self) -> None:
        """Make room, if more trees are remembered than there should be."""
        if sum(len(memory.index) for memory in self._memories.values()) > REMEMBERED:
            self._memories.clear()

    def _remembered(
        self, local: LocalGraph, nodes: Indices, ties: Indices, place: Ints
    ) -> Floats:
        """Look trees up by their ties; ask about those not seen before, for all subjects in them."""
        size = len(nodes)
        memory = self._memories.setdefault(size, Memory())
        pairs = local.pairs[ties]
        number, fresh = memory.index.enter(_keys(local, ties))
        rows = np.flatnonzero(self._served[local.nodes[nodes[:, fresh].T.ravel()]])
        scores = np.full(size * len(fresh), np.nan)
        scores[rows] = self._ask(local, nodes[:, fresh], ties[:, fresh], rows)
        memory.extend(pairs[:, fresh], scores.reshape(-1, size))
        assert memory.ties is not None
        assert memory.scores is not None
        for row, known in zip(pairs, memory.ties, strict=True):
            assert np.array_equal(known[number], row), "two sets of ties with one 64-bit key"
        return memory.scores.ravel()[number * size + place]

    def _ask(self, local: LocalGraph, nodes: Indices, ties: Indices, rows: Ints) -> Floats:
        """Score nodes of trees side by side; `rows` are ascending."""
        size, count = nodes.shape
        whole = self._whole[local.nodes]
        scores = np.empty(len(rows))
        cuts = np.searchsorted(rows, np.arange(0, count * size + 1, TREES_AT_ONCE * size))
        cuts = np.append(cuts, len(rows)) if count % TREES_AT_ONCE else cuts
        for number, (first, last) in enumerate(zip(cuts[:-1], cuts[1:], strict=True)):
            part = slice(number * TREES_AT_ONCE, (number + 1) * TREES_AT_ONCE)
            own = nodes[:, part]
            union = tree_union(
                self._graph, local, own, ties[:, part], with_ties=self._desk.needs_ties
            )
            wanted = rows[first:last] - number * TREES_AT_ONCE * size
            answer = log_probabilities(self._desk.ask_raw(union, wanted), self._desk.output_kind)
            asked = own[wanted % size, wanted // size]
            scores[first:last] = simulatability(whole[asked], answer)
        return scores


def _keys(local: LocalGraph, ties: Indices) -> Keys:
    words = tie_words(local.pairs)
    key = np.zeros(ties.shape[1], np.uint64)
    for row in ties:
        key += words[row]
    return key
