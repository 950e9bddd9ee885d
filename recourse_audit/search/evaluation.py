"""Asks the model about every distinct subtree once, and scores it for every subject in it.

Subtrees become queries with nodes ascending and ties in canonical order. Because of that order, a
subtree's answer is the same to the last bit for every subject in it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.graph import Floats, Graph, Indices, Ints
from recourse_audit.graph.neighbourhoods import spans
from recourse_audit.model.batching import QueryBatcher, as_answers
from recourse_audit.model.edits import loops_on
from recourse_audit.model.queries import Union, side_by_side
from recourse_audit.records.search import Sample
from recourse_audit.search.subtrees import KeyIndex, Level, LocalGraph, keys_of, tie_words

TREES_AT_ONCE = 4096
REMEMBERED_BYTES = 200_000_000
FIRST_ROOM = 1 << 19

Kind = TypeVar("Kind", bound=np.generic)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The limits of a search: C and D of the paper, and our own budget and number to show."""

    max_nodes: int = 4
    max_hops: int = 2
    budget: int = 200_000
    counterfactuals: int = 3
    study: bool = False
    seed: int = 0


def simulatability(whole: Floats, subgraph: Floats, spread: float | None = None) -> Floats:
    """Minus the symmetric Kullback-Leibler divergence between answers, row by row.

    `whole` has the answers of the whole graph, and may be a single row. Zero is the best value,
    reached only where the subgraph gives exactly the answer of the whole graph.

    A score stands for a normal distribution around it with the population's standard deviation
    sigma, its `spread`. The divergence of two of those is (s - s')^2 / 2 sigma^2 either way, and
    both are added.
    """
    if spread is not None:
        apart = (whole[:, 0] - subgraph[:, 0]) / spread
        return np.asarray(-apart * apart)
    total = np.zeros(len(subgraph))
    for logarithm, chance, other in zip(whole.T, np.exp(whole).T, subgraph.T, strict=True):
        term = chance - np.exp(other)
        term *= other - logarithm
        total += term
    return total


class Scores(NamedTuple):
    """The model's raw rows for the roots of some trees, and the trees' simulatabilities."""

    raw: Floats
    simulatability: Floats


def join_scores(parts: Sequence[Scores]) -> Scores:
    """Scores one after the other."""
    raw, simulatability = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return Scores(raw, simulatability)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Everything evaluated for some subjects: their subtrees level by level, and the scores.

    The subjects are the roots of the local graph, in its order; either all of them have ties or
    none of them has. `totals` are the numbers of all their subtrees. `sample` and `winner` are set
    by a sampled search, which is about one subject: what it has seen, and the pair it has moved to.
    Without a `winner`, the best rank sum wins.
    """

    subjects: Ints
    local: LocalGraph
    levels: tuple[Level, ...]
    scores: Scores
    totals: tuple[int, ...]
    sample: Sample | None = None
    winner: int | None = None


def sort_rows(columns: Indices) -> Indices:
    """Sort each column of a few rows, by exchanging neighbouring rows (odd-even transposition)."""
    rows = list(columns)
    for sweep in range(len(rows)):
        for upper in range(sweep % 2, len(rows) - 1, 2):
            first, second = rows[upper], rows[upper + 1]
            rows[upper], rows[upper + 1] = np.minimum(first, second), np.maximum(first, second)
    return np.stack(rows) if rows else columns


def place_in(sorted_nodes: Indices, node: Indices) -> Ints:
    """The place of one node of each tree among the tree's nodes in ascending order."""
    place = np.zeros(len(node), np.int64)
    for row in sorted_nodes[:-1]:
        place += row < node
    return place


def tree_union(
    graph: Graph, local: LocalGraph, nodes: Indices, ties: Indices, *, with_ties: bool
) -> Union:
    """Put subtrees with sorted rows side by side; `with_ties` with rows of the tie table."""
    size, count = nodes.shape
    single = len(graph.arc_source) == 2 * graph.pair_count
    if single and not graph.directed and not len(graph.loop_node):
        return _plain_union(graph, local, nodes, ties, with_ties=with_ties)
    tie = ties.T.ravel()
    arcs, slot = spans(graph.pair_starts, local.pairs[tie])
    low, high, owner = local.low[tie][slot], local.high[tie][slot], slot // max(size - 1, 1)
    upward = graph.arc_source[arcs] == local.nodes[low]
    sources, targets = (
        owner * size + place_in(nodes[:, owner], np.where(upward, end, other))
        for end, other in ((low, high), (high, low))
    )
    every = local.nodes[nodes.T.ravel()]
    loop, holder = loops_on(graph, every)
    tree = np.concatenate((owner, holder // size))
    order = np.argsort(tree, kind="stable")
    return Union(
        nodes=every.astype(np.int64),
        node_starts=np.arange(count + 1) * size,
        sources=np.concatenate((sources, holder))[order],
        targets=np.concatenate((targets, holder))[order],
        ties=np.concatenate((graph.arc_row[arcs], graph.loop_row[loop]))[order].astype(np.int64),
        arc_starts=np.concatenate(([0], np.cumsum(np.bincount(tree, minlength=count)))),
    )


def _plain_union(
    graph: Graph, local: LocalGraph, nodes: Indices, ties: Indices, *, with_ties: bool
) -> Union:
    """The same where every pair is one undirected tie and no node is tied to itself."""
    size, count = nodes.shape
    base = np.arange(count) * size
    sources = np.empty((count, 2 * len(ties)), np.int64)
    targets = np.empty_like(sources)
    rows = np.empty((count, 2 * len(ties)) if with_ties else (0, 0), np.int64)
    for place, tie in enumerate(ties):
        low = base + place_in(nodes, local.low[tie])
        high = base + place_in(nodes, local.high[tie])
        sources[:, 2 * place] = targets[:, 2 * place + 1] = low
        sources[:, 2 * place + 1] = targets[:, 2 * place] = high
        if with_ties:
            arc = 2 * local.pairs[tie].astype(np.int64)
            rows[:, 2 * place] = graph.arc_row[arc]
            rows[:, 2 * place + 1] = graph.arc_row[arc + 1]
    return Union(
        nodes=local.nodes[nodes.T].astype(np.int64).ravel(),
        node_starts=np.arange(count + 1) * size,
        sources=sources.ravel(),
        targets=targets.ravel(),
        ties=rows.ravel(),
        arc_starts=np.arange(count + 1) * (2 * len(ties)),
    )


class Memory:
    """The trees of one size that were evaluated before: ties, and a score for each subject in them.

    Trees are numbered as they come in. Space that is not written to costs no memory and is never
    read; it grows fourfold when it runs out.
    """

    def __init__(self, size: int, nothing: Floats) -> None:
        self.index = KeyIndex()
        self._count = 0
        self.ties: Indices = np.empty((FIRST_ROOM, size - 1), np.int32)
        self.raw: Floats = np.empty((FIRST_ROOM, size, nothing.shape[1]), nothing.dtype)
        self.simulatability: Floats = np.empty((FIRST_ROOM, size))

    def extend(self, ties: Indices, rows: Ints, scores: Scores) -> None:
        """Add trees; `rows` are the places, counted from the first of them, that have scores."""
        first, self._count = self._count, self._count + ties.shape[1]
        while self._count > len(self.ties):
            self.ties, self.raw = _with_room(self.ties, first), _with_room(self.raw, first)
            self.simulatability = _with_room(self.simulatability, first)
        self.ties[first : self._count] = ties.T
        raw = self.raw[first : self._count].reshape(-1, self.raw.shape[2])
        simulatability = self.simulatability[first : self._count].reshape(-1)
        # Often every node of every tree is a subject; then rows need not be looked up.
        places = slice(None) if len(rows) == len(raw) else rows
        raw[places], simulatability[places] = scores.raw, scores.simulatability

    @property
    def bytes(self) -> int:
        """The memory that the trees take, without the space kept for more."""
        arrays = (self.ties, self.raw, self.simulatability)
        return self._count * sum(array[:1].nbytes for array in arrays)


def _with_room(array: NDArray[Kind], used: int) -> NDArray[Kind]:
    larger = np.empty((4 * len(array), *array.shape[1:]), array.dtype)
    larger[:used] = array[:used]
    return larger


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Trees of one size with sorted rows, and the nodes asked about, as ascending places."""

    nodes: Indices
    ties: Indices
    rows: Ints

    @property
    def size(self) -> int:
        return len(self.nodes)

    @property
    def subjects(self) -> Indices:
        tree, place = np.divmod(self.rows, self.size)
        return self.nodes[place, tree]

    def parts(self, most: int) -> Iterator["Request"]:
        count = self.nodes.shape[1]
        if count <= most:
            yield self
            return
        for first in range(0, count, most):
            low, high = np.searchsorted(self.rows, (first * self.size, (first + most) * self.size))
            yield Request(
                nodes=self.nodes[:, first : first + most],
                ties=self.ties[:, first : first + most],
                rows=self.rows[low:high] - first * self.size,
            )


class Evaluator:
    """Scores subtrees for a block's subjects; how many are asked at once or kept is bounded.

    `whole` has everybody's answers on the whole graph; of a score model, `spread` is the standard
    deviation of everybody's scores.
    """

    def __init__(
        self,
        graph: Graph,
        batcher: QueryBatcher,
        whole: Floats,
        subjects: Ints,
        spread: float | None = None,
    ) -> None:
        self._graph = graph
        self._batcher = batcher
        self._whole, self._spread = whole, spread
        self._served = np.zeros(graph.node_count, bool)
        self._served[subjects] = True
        self._shared = len(subjects) > 1
        self._memories: dict[int, Memory] = {}

    def score(self, local: LocalGraph, levels: Sequence[Level]) -> list[Scores]:
        """The model's answers for the root of every tree, and their simulatability."""
        requests = []
        for level in levels:
            nodes, ties = sort_rows(level.nodes), sort_rows(level.ties)
            rows = np.arange(len(level)) * level.size + place_in(nodes, level.nodes[0])
            requests.append(Request(nodes=nodes, ties=ties, rows=rows))
        if self._shared:
            return [
                self._ask(local, [request]) if request.size == 1 else self._recall(local, request)
                for request in requests
            ]
        scores = self._ask(local, requests)
        ends = np.cumsum([len(level) for level in levels])[:-1]
        return [*map(Scores, *(np.split(array, ends) for array in scores))]

    def forget(self) -> None:
        if sum(memory.bytes for memory in self._memories.values()) > REMEMBERED_BYTES:
            self._memories.clear()

    def _recall(self, local: LocalGraph, request: Request) -> Scores:
        """Look trees up by their ties; ask about new ones for all the subjects in them."""
        size, ties = request.size, request.ties
        if size not in self._memories:
            self._memories[size] = Memory(size, self._batcher.no_rows())
        memory = self._memories[size]
        pairs = local.pairs[ties]
        number, fresh = memory.index.enter(keys_of(tie_words(local.pairs), ties))
        nodes = request.nodes[:, fresh]
        rows = np.flatnonzero(self._served[local.nodes[nodes.T.ravel()]])
        asked = self._ask(local, [Request(nodes=nodes, ties=ties[:, fresh], rows=rows)])
        memory.extend(pairs[:, fresh], rows, asked)
        same = np.array_equal(memory.ties[number], pairs.T)
        assert same, "two sets of ties with one 64-bit key"
        asked_about = number, request.rows % size
        return Scores(memory.raw[asked_about], memory.simulatability[asked_about])

    def _ask(self, local: LocalGraph, requests: Sequence[Request]) -> Scores:
        """Score the nodes that are asked about, request after request."""
        raw = np.concatenate([self._batcher.no_rows(), *self._raw(local, requests)])
        asked = local.nodes[np.concatenate([request.subjects for request in requests])]
        scores = np.empty(len(raw))
        for first in range(0, len(raw), TREES_AT_ONCE):
            part = slice(first, first + TREES_AT_ONCE)
            answer = as_answers(raw[part], self._batcher.output_kind)
            who = asked[part] if self._shared else asked[:1]
            scores[part] = simulatability(self._whole[who], answer, self._spread)
        return Scores(raw=raw, simulatability=scores)

    def _raw(self, local: LocalGraph, requests: Sequence[Request]) -> Iterator[Floats]:
        """Ask in unions of a bounded number of trees; small requests go together."""
        waiting: list[Union] = []
        rows: list[Ints] = []
        held = 0
        for request in requests:
            for part in request.parts(TREES_AT_ONCE):
                with_ties = self._batcher.needs_ties
                waiting.append(
                    tree_union(self._graph, local, part.nodes, part.ties, with_ties=with_ties)
                )
                rows.append(part.rows)
                held += len(waiting[-1])
                if held >= TREES_AT_ONCE:
                    yield self._batcher.ask_raw(*side_by_side(waiting, rows))
                    waiting, rows, held = [], [], 0
        if waiting:
            yield self._batcher.ask_raw(*side_by_side(waiting, rows))
