"""Subtrees are put to the model, each distinct one once, and scored for every subject in it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from recourse_audit.graph.arrays import Floats, Graph, Indices, Ints
from recourse_audit.model.desk import QueryDesk
from recourse_audit.model.output import log_probabilities
from recourse_audit.search.keys import KeyIndex, Keys, tie_words
from recourse_audit.search.local import LocalGraph
from recourse_audit.search.objectives import simulatability
from recourse_audit.search.packing import place_in, sorted_rows, tree_union
from recourse_audit.search.subtrees import Level

TREES_AT_ONCE = 4096
REMEMBERED_BYTES = 200_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """The model's raw rows for the roots of some trees, and the trees' simulatabilities."""

    raw: Floats
    simulatability: Floats

    def cut(self, first: int, last: int) -> "Scores":
        return Scores(raw=self.raw[first:last], simulatability=self.simulatability[first:last])


def joined(parts: Sequence[Scores]) -> Scores:
    """One after the other."""
    return Scores(
        raw=np.concatenate([part.raw for part in parts]),
        simulatability=np.concatenate([part.simulatability for part in parts]),
    )


@dataclass(slots=True)
class Memory:
    """The trees of one size that were evaluated before: ties, and a score for each subject in it."""

    index: KeyIndex = field(default_factory=KeyIndex)
    ties: Indices | None = None
    scores: Scores | None = None

    def extend(self, ties: Indices, scores: Scores) -> None:
        """Add trees in the order in which the index numbered them."""
        self.ties = ties if self.ties is None else np.concatenate((self.ties, ties), axis=1)
        self.scores = scores if self.scores is None else joined((self.scores, scores))

    @property
    def bytes(self) -> int:
        if self.ties is None or self.scores is None:
            return 0
        return self.ties.nbytes + self.scores.raw.nbytes + self.scores.simulatability.nbytes


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

    def score(self, local: LocalGraph, level: Level) -> Scores:
        """What the model answers for the root of every tree of a level, and how close that is."""
        nodes, ties = sorted_rows(level.nodes), sorted_rows(level.ties)
        place = place_in(nodes, level.nodes[0])
        if not self._shared or level.size == 1:
            rows = np.arange(len(level)) * level.size + place
            return self._ask(local, nodes, ties, rows)
        return self._remembered(local, nodes, ties, place)

    def forget(self) -> None:
        """Make room, if more trees are remembered than there should be."""
        if sum(memory.bytes for memory in self._memories.values()) > REMEMBERED_BYTES:
            self._memories.clear()

    def _remembered(
        self, local: LocalGraph, nodes: Indices, ties: Indices, place: Ints
    ) -> Scores:
        """Look trees up by their ties; ask about those not seen before, for all subjects in them."""
        size = len(nodes)
        memory = self._memories.setdefault(size, Memory())
        pairs = local.pairs[ties]
        number, fresh = memory.index.enter(_keys(local, ties))
        rows = np.flatnonzero(self._served[local.nodes[nodes[:, fresh].T.ravel()]])
        asked = self._ask(local, nodes[:, fresh], ties[:, fresh], rows)
        memory.extend(pairs[:, fresh], _spread(asked, rows, size * len(fresh)))
        assert memory.ties is not None
        assert memory.scores is not None
        for row, known in zip(pairs, memory.ties, strict=True):
            assert np.array_equal(known[number], row), "two sets of ties with one 64-bit key"
        wanted = number * size + place
        return Scores(
            raw=memory.scores.raw[wanted], simulatability=memory.scores.simulatability[wanted]
        )

    def _ask(self, local: LocalGraph, nodes: Indices, ties: Indices, rows: Ints) -> Scores:
        """Score nodes of trees side by side; `rows` are ascending."""
        size, count = nodes.shape
        whole = self._whole[local.nodes]
        scores = np.empty(len(rows))
        answers = [self._desk.no_rows()]
        cuts = np.searchsorted(rows, np.arange(0, count * size + 1, TREES_AT_ONCE * size))
        cuts = np.append(cuts, len(rows)) if count % TREES_AT_ONCE else cuts
        for number, (first, last) in enumerate(zip(cuts[:-1], cuts[1:], strict=True)):
            part = slice(number * TREES_AT_ONCE, (number + 1) * TREES_AT_ONCE)
            own = nodes[:, part]
            union = tree_union(
                self._graph, local, own, ties[:, part], with_ties=self._desk.needs_ties
            )
            wanted = rows[first:last] - number * TREES_AT_ONCE * size
            raw = self._desk.ask_raw(union, wanted)
            answer = log_probabilities(raw, self._desk.output_kind)
            asked = own[wanted % size, wanted // size]
            scores[first:last] = simulatability(whole[asked], answer)
            answers.append(raw)
        return Scores(raw=np.concatenate(answers), simulatability=scores)


def _spread(scores: Scores, rows: Ints, length: int) -> Scores:
    """Put scores at their rows; the rest is never looked at."""
    raw = np.full((length, scores.raw.shape[1]), np.nan, scores.raw.dtype)
    simulatability = np.full(length, np.nan)
    raw[rows], simulatability[rows] = scores.raw, scores.simulatability
    return Scores(raw=raw, simulatability=simulatability)


def _keys(local: LocalGraph, ties: Indices) -> Keys:
    words = tie_words(local.pairs)
    key = np.zeros(ties.shape[1], np.uint64)
    for row in ties:
        key += words[row]
    return key
