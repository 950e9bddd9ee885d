"""Asks the model about every distinct subtree once, and scores it for every subject in it.

Subtrees become queries with nodes ascending and ties in canonical order. Because of that order, a
subtree's answer is the same to the last bit for every subject in it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from recourse_audit.graph.graph import Floats, Graph, Indices, Ints
from recourse_audit.graph.neighbourhoods import spans
from recourse_audit.model.batching import QueryBatcher, as_answers
from recourse_audit.model.queries import Union, side_by_side
from recourse_audit.search.pareto import Whole, simulatability
from recourse_audit.search.subtrees import KeyIndex, Level, LocalGraph, keys_of, tie_words


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
    """Put subtrees of one size side by side; `nodes` and `ties` have their rows sorted.

    `with_ties` asks for the rows of the tie table, which only some models need.
    """
    size, count = nodes.shape
    if is_plain(graph):
        return _plain_union(graph, local, nodes, ties, with_ties=with_ties)
    base = np.arange(count) * size
    low, high = (
        np.stack([base + place_in(nodes, ends[row]) for row in ties])
        if len(ties)
        else np.empty((0, count), np.int64)
        for ends in (local.low, local.high)
    )
    arcs, slot = spans(graph.pair_starts, local.pairs[ties.T.ravel()])
    pair_low = graph.pair_low[local.pairs[ties.T.ravel()]]
    upward = graph.arc_source[arcs] == pair_low[slot]
    low, high = low.T.ravel()[slot], high.T.ravel()[slot]
    every = local.nodes[nodes.T.ravel()]
    first = np.searchsorted(graph.loop_node, every, side="left")
    number = np.searchsorted(graph.loop_node, every, side="right") - first
    holder = np.repeat(np.arange(len(every)), number)
    loop = first[holder] + np.arange(len(holder)) - (np.cumsum(number) - number)[holder]
    tree = np.concatenate((slot // max(size - 1, 1), holder // size))
    order = np.argsort(tree, kind="stable")
    return Union(
        nodes=every.astype(np.int64),
        node_starts=np.arange(count + 1) * size,
        sources=np.concatenate((np.where(upward, low, high), holder))[order],
        targets=np.concatenate((np.where(upward, high, low), holder))[order],
        ties=np.concatenate((graph.arc_tie[arcs], graph.loop_tie[loop]))[order].astype(np.int64),
        arc_starts=np.concatenate(([0], np.cumsum(np.bincount(tree, minlength=count)))),
    )


def is_plain(graph: Graph) -> bool:
    """Whether every pair is one undirected tie and no node is tied to itself."""
    single = len(graph.arc_source) == 2 * graph.pair_count
    return not graph.directed and single and not len(graph.loop_node)


def _plain_union(
    graph: Graph, local: LocalGraph, nodes: Indices, ties: Indices, *, with_ties: bool
) -> Union:
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
            rows[:, 2 * place : 2 * place + 2] = graph.arc_tie[2 * local.pairs[tie]][:, None]
    return Union(
        nodes=local.nodes[nodes.T].astype(np.int64).ravel(),
        node_starts=np.arange(count + 1) * size,
        sources=sources.ravel(),
        targets=targets.ravel(),
        ties=rows.ravel(),
        arc_starts=np.arange(count + 1) * (2 * len(ties)),
    )


TREES_AT_ONCE = 4096
REMEMBERED_BYTES = 200_000_000
FIRST_ROOM = 1 << 19


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """The model's raw rows for the roots of some trees, and the trees' simulatabilities."""

    raw: Floats
    simulatability: Floats

    def cut(self, first: int, last: int) -> "Scores":
        return Scores(raw=self.raw[first:last], simulatability=self.simulatability[first:last])


def join_scores(parts: Sequence[Scores]) -> Scores:
    """Scores one after the other."""
    return Scores(
        raw=np.concatenate([part.raw for part in parts]),
        simulatability=np.concatenate([part.simulatability for part in parts]),
    )


class Memory:
    """The trees of one size that were evaluated before: ties, and a score for each subject in them.

    Trees are numbered as they come in. Space that is not written to costs no memory; it grows
    fourfold when it runs out, so that a tree is copied at most once or twice.
    """

    def __init__(self, size: int, nothing: Floats) -> None:
        self.index = KeyIndex()
        self._size = size
        self._count = 0
        self.ties = np.empty((size - 1, 0), np.int32)
        self.raw = nothing
        self.simulatability = np.empty(0)
        self._make_room(FIRST_ROOM, 0)

    def extend(self, ties: Indices, rows: Ints, scores: Scores) -> None:
        """Add trees; `rows` are the places, counted from the first of them, that have scores."""
        first, self._count = self._count, self._count + ties.shape[1]
        if self._count > self.ties.shape[1]:
            self._make_room(4 * self._count, first)
        self.ties[:, first : self._count] = ties
        begin, end = first * self._size, self._count * self._size
        raw, simulatability = self.raw[begin:end], self.simulatability[begin:end]
        # Often every node of every tree is a subject; then rows need not be looked up.
        places = slice(None) if len(rows) == len(raw) else rows
        raw[places], simulatability[places] = scores.raw, scores.simulatability

    def _make_room(self, room: int, used: int) -> None:
        """Move to larger arrays; what is not written yet costs no memory and is never read."""
        ties = np.empty((self._size - 1, room), np.int32)
        raw = np.empty((room * self._size, self.raw.shape[1]), self.raw.dtype)
        simulatability = np.empty(room * self._size)
        ties[:, :used] = self.ties[:, :used]
        raw[: used * self._size] = self.raw[: used * self._size]
        simulatability[: used * self._size] = self.simulatability[: used * self._size]
        self.ties, self.raw, self.simulatability = ties, raw, simulatability

    @property
    def bytes(self) -> int:
        """The memory that the trees take, without the space kept for more."""
        each = int(self.raw.shape[1]) * self.raw.itemsize + self.simulatability.itemsize
        return self._count * (self._size * each + (self._size - 1) * self.ties.itemsize)


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
    def asked(self) -> Indices:
        """The nodes asked about, as numbers of the local graph."""
        tree, place = np.divmod(self.rows, self.size)
        return self.nodes[place, tree]

    def parts(self, most: int) -> Iterator["Request"]:
        """Cut into requests of at most `most` trees."""
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
    """Scores subtrees for the subjects of one block, and remembers those that subjects share.

    Memory is bounded by how many trees are asked about at once, and by how many are remembered.
    """

    def __init__(self, graph: Graph, batcher: QueryBatcher, whole: Whole, subjects: Ints) -> None:
        self._graph = graph
        self._batcher = batcher
        self._whole = whole
        self._served = np.zeros(graph.node_count, bool)
        self._served[subjects] = True
        self._shared = len(subjects) > 1
        self._memories: dict[int, Memory] = {}

    def score(self, local: LocalGraph, levels: Sequence[Level]) -> list[Scores]:
        """The model's answers for the root of every tree, and their simulatability."""
        requests, places = [], []
        for level in levels:
            nodes, ties = sort_rows(level.nodes), sort_rows(level.ties)
            place = place_in(nodes, level.nodes[0])
            rows = np.arange(len(level)) * level.size + place
            requests.append(Request(nodes=nodes, ties=ties, rows=rows))
            places.append(place)
        if self._shared:
            return [
                self._ask(local, [request])
                if request.size == 1
                else self._recall(local, request, place)
                for request, place in zip(requests, places, strict=True)
            ]
        scores = self._ask(local, requests)
        ends = np.cumsum([0, *(len(level) for level in levels)]).tolist()
        return [scores.cut(a, b) for a, b in pairwise(ends)]

    def forget(self) -> None:
        """Forget all trees if more are remembered than should be."""
        if sum(memory.bytes for memory in self._memories.values()) > REMEMBERED_BYTES:
            self._memories.clear()

    def _recall(self, local: LocalGraph, request: Request, place: Ints) -> Scores:
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
        known = np.delete(np.arange(len(number)), fresh)
        for row, entered in zip(pairs, memory.ties, strict=True):
            same = np.array_equal(entered[number[known]], row[known])
            assert same, "two sets of ties with one 64-bit key"
        wanted = number * size + place
        return Scores(raw=memory.raw[wanted], simulatability=memory.simulatability[wanted])

    def _ask(self, local: LocalGraph, requests: Sequence[Request]) -> Scores:
        """Score the nodes that are asked about, request after request."""
        raw = np.concatenate([self._batcher.no_rows(), *self._raw(local, requests)])
        asked = local.nodes[np.concatenate([request.asked for request in requests])]
        scores = np.empty(len(raw))
        for first in range(0, len(raw), TREES_AT_ONCE):
            part = slice(first, first + TREES_AT_ONCE)
            answer = as_answers(raw[part], self._batcher.output_kind)
            who = asked[part] if self._shared else asked[:1]
            scores[part] = simulatability(self._whole.of(who), answer)
        return Scores(raw=raw, simulatability=scores)

    def _raw(self, local: LocalGraph, requests: Sequence[Request]) -> Iterator[Floats]:
        """Ask in unions of a bounded number of trees; small requests go together."""
        waiting: list[Union] = []
        rows: list[Ints] = []
        held = 0
        for request in requests:
            for part in request.parts(TREES_AT_ONCE):
                waiting.append(
                    tree_union(
                        self._graph,
                        local,
                        part.nodes,
                        part.ties,
                        with_ties=self._batcher.needs_ties,
                    )
                )
                rows.append(part.rows)
                held += len(waiting[-1])
                if held >= TREES_AT_ONCE:
                    yield self._batcher.ask_raw(*side_by_side(waiting, rows))
                    waiting, rows, held = [], [], 0
        if waiting:
            yield self._batcher.ask_raw(*side_by_side(waiting, rows))
