"""The parts of a large graph that blocks of nodes are asked about on.

A block's answers depend on its *core*, the nodes within depth - 1 hops against the direction of the
arcs, with all arcs that arrive there; and on its *ring*, the other senders of these arcs. Messages
from the ring are sent in the first layer alone, so they rest on the features of the ring and,
in a model that scales messages by the degree of whoever sends them, on its degrees. Nothing else
about the ring matters, so there are three ways to show it to a model, from the cheapest to the
safest:

bare       nothing arrives at the ring.
counted    as many arcs arrive as in the graph, though from anywhere.
tied       every tie of core and ring, as in a `ReceptiveField`.

Nodes of a bare or counted ring that look alike (equal features, equally many arcs and loops) send
equal messages, so one of them stands for all. Which ring is enough depends on the model and is
measured (`block_answers`). Arcs arrive at a node in the order of the whole graph, so that sums are
taken in the same order.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.arrays import Floats, Graph, Indices, Ints
from recourse_audit.graph.neighbourhoods import reach, spans
from recourse_audit.model.queries import Union
from recourse_audit.recourse.receptive_field import ReceptiveField, with_every_tie

Ring = Literal["bare", "counted", "tied"]

ROWS_AT_ONCE = 2**20
ARCS_AT_ONCE = 2**23
_MIX = 0x9E3779B97F4A7C15


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockQuestion:
    """A block of nodes in ascending order, what they are asked about on, and their rows there."""

    nodes: Ints
    union: Union
    rows: Ints

    @property
    def arcs(self) -> int:
        return len(self.union.sources)


class BlockFields:
    """Makes the questions about blocks of one graph."""

    def __init__(self, graph: Graph, depth: int, *, features: Floats, alike: bool) -> None:
        """`features` are those the model gets; `alike`: one node may stand for others like it."""
        self._graph = graph
        self._depth = depth
        self._features = features
        self._alike = alike
        self._simple = not graph.directed and len(graph.arc_source) == 2 * graph.pair_count
        self._looks: Indices | None = None
        self._place = np.zeros(graph.node_count, np.int32)
        self._inside = np.zeros(graph.node_count, bool)
        self.arriving = arrivals(graph)

    def question(self, block: Ints, ring: Ring, most: int | None = None) -> BlockQuestion | None:
        """What to ask about a block, given in ascending order; None if it has more arcs than most.

        Notes
        -----
        The cost is that of the arcs in the question, or of `most` arcs if there are more.
        """
        if ring == "tied":
            return self._tied(block, most)
        core = self._core(block, most)
        if core is None:
            return None
        sources, targets, arcs = self._arrivals_at(core)
        outside = self._others(core, sources)
        self._place[core] = np.arange(len(core))
        shown = outside
        if self._alike:
            _, first, stand_in = np.unique(
                self._look()[outside], return_index=True, return_inverse=True
            )
            shown = outside[first]
            self._place[outside] = len(core) + stand_in
        else:
            self._place[outside] = len(core) + np.arange(len(outside))
        rows = np.searchsorted(core, block)
        from_place = self._place[sources]
        if ring == "counted":
            if _beyond(most, len(sources) + int(self.arriving[shown].sum())):
                return None
            _, more_targets, more_arcs = self._arrivals_at(shown)
            # Who sends these does not matter, so a node of the block does.
            anybody = np.full(len(more_targets), rows[0], np.int32)
            from_place = np.concatenate((from_place, anybody))
            targets = np.concatenate((targets, more_targets + np.int32(len(core))))
            arcs = np.concatenate((arcs, more_arcs))
        nodes = np.concatenate((core, shown))
        loops = self._loops(nodes if ring == "counted" else core)
        on = self._place[self._graph.loop_node[loops]]
        union = Union(
            nodes=nodes,
            node_starts=np.array([0, len(nodes)]),
            sources=np.concatenate((from_place, on)),
            targets=np.concatenate((targets, on)),
            ties=np.concatenate((self._graph.arc_tie[arcs], self._graph.loop_tie[loops])),
            arc_starts=np.array([0, len(from_place) + len(on)]),
        )
        return BlockQuestion(nodes=block, union=union, rows=rows)

    def _tied(self, block: Ints, most: int | None) -> BlockQuestion | None:
        full = block
        for _ in range(self._depth):
            if _beyond(most, int(self.arriving[full].sum())):
                return None
            full = reach(self._graph, full, 1).astype(np.int64)
        if _beyond(most, int(self.arriving[full].sum())):
            return None
        field = with_every_tie(self._graph, full, block)
        if _beyond(most, len(field.sources)):
            return None
        return BlockQuestion(nodes=block, union=union_of(field), rows=field.place(block))

    def _core(self, block: Ints, most: int | None) -> Ints | None:
        """The nodes within depth - 1 hops of a block, against the arcs; None if beyond `most`."""
        core = block
        for hop in range(self._depth):
            if _beyond(most, int(self.arriving[core].sum())):
                return None
            if hop + 1 < self._depth:
                sources, _, _ = self._arrivals_at(core)
                core = np.sort(np.concatenate((core, self._others(core, sources))))
        return core if self._depth else block

    def _arrivals_at(self, nodes: Ints) -> tuple[Indices, Indices, Ints]:
        """Arcs that arrive at some nodes, node by node: sources, places of the targets, numbers."""
        graph = self._graph
        if not self._depth:
            return np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int64)
        positions, owner = spans(graph.starts, nodes)
        places = owner.astype(np.int32)
        pairs = graph.neighbour_pair[positions]
        if self._simple:
            sources = graph.neighbour[positions]
            # The arcs of a pair are the one towards its high end, then the one towards its low end.
            return sources, places, 2 * pairs.astype(np.int64) + (sources > nodes[owner])
        del positions, owner
        arcs, which = spans(graph.pair_starts, pairs)
        places = places[which]
        here = np.flatnonzero(graph.arc_target[arcs] == nodes[places])
        arcs = arcs[here]
        return graph.arc_source[arcs], places[here], arcs

    def _others(self, nodes: Ints, senders: Indices) -> Ints:
        """Those of some senders that are not among the nodes, ascending, each once."""
        inside = self._inside
        inside[nodes] = True
        others = senders[~inside[senders]]
        inside[nodes] = False
        if len(others) < len(inside) // 16:
            return np.unique(others).astype(np.int64)
        inside[others] = True
        found = np.flatnonzero(inside)
        inside[others] = False
        return found

    def _loops(self, nodes: Ints) -> Ints:
        if not len(self._graph.loop_node):
            return np.empty(0, np.int64)
        self._inside[nodes] = True
        loops = np.flatnonzero(self._inside[self._graph.loop_node])
        self._inside[nodes] = False
        return loops

    def _look(self) -> Indices:
        """Numbers that are equal only for nodes that look alike."""
        if self._looks is None:
            loops = np.bincount(self._graph.loop_node, minlength=self._graph.node_count)
            self._looks = looks(self._features, self.arriving, loops)
        return self._looks


def _beyond(most: int | None, arcs: int) -> bool:
    return most is not None and arcs > most


def union_of(field: ReceptiveField) -> Union:
    """A receptive field as a question."""
    return Union(
        nodes=field.nodes,
        node_starts=np.array([0, len(field.nodes)]),
        sources=field.sources,
        targets=field.targets,
        ties=field.ties,
        arc_starts=np.array([0, len(field.sources)]),
    )


def arrivals(graph: Graph) -> Indices:
    """How many arcs arrive at each node, without loops; made in parts, to need little memory."""
    count = np.zeros(graph.node_count, np.int32)
    for first in range(0, len(graph.arc_target), ARCS_AT_ONCE):
        part = graph.arc_target[first : first + ARCS_AT_ONCE]
        count += np.bincount(part, minlength=graph.node_count).astype(np.int32)
    return count


def looks(features: Floats, *counts: NDArray[np.integer]) -> Indices:
    """Number the nodes so that two have one number only if all bits of their rows are equal.

    Nodes are brought together by a hash of their rows, and told apart by the rows themselves; where
    two hashes collide, equal rows may get several numbers.
    """
    size = len(features)
    words = np.ascontiguousarray(features).view(f"u{min(features.itemsize, 8)}")
    mixed = np.zeros(size, np.uint64)
    for column in (*words.T, *counts):
        mixed ^= column.astype(np.uint64)
        mixed *= np.uint64(_MIX)
        mixed ^= mixed >> np.uint64(29)
    order = np.argsort(mixed)
    new = np.ones(size, bool)
    new[1:] = mixed[order[1:]] != mixed[order[:-1]]
    del mixed
    for first in range(1, size, ROWS_AT_ONCE):
        here, before = order[first : first + ROWS_AT_ONCE], order[first - 1 :][:ROWS_AT_ONCE]
        before = before[: len(here)]
        differs = (words[here] != words[before]).any(axis=1)
        for column in counts:
            differs |= column[here] != column[before]
        new[first : first + ROWS_AT_ONCE] |= differs
    numbers = np.empty(size, np.int32)
    numbers[order] = np.cumsum(new, dtype=np.int32) - 1
    return numbers


class Blocks:
    """A graph cut into blocks whose questions have at most so many arcs.

    All nodes, by locality, are cut in halves again and again until a part is small enough, so the
    block of a node can be found without the others. A single node is never cut.
    """

    def __init__(self, fields: BlockFields, order: Indices, ring: Ring, most: int) -> None:
        self._fields = fields
        self._order = order
        self._ring = ring
        self._most = most
        self._before = np.concatenate(([0], np.cumsum(fields.arriving[order], dtype=np.int64)))

    def __iter__(self) -> Iterator[BlockQuestion]:
        """All blocks, in order."""
        waiting = [(0, len(self._order))]
        while waiting:
            low, high = waiting.pop()
            question = self._tried(low, high)
            if question is not None:
                yield question
            else:
                middle = (low + high) // 2
                waiting += [(middle, high), (low, middle)]

    def around(self, place: int) -> BlockQuestion:
        """The block of the node at some place in the order."""
        low, high = 0, len(self._order)
        while (question := self._tried(low, high)) is None:
            middle = (low + high) // 2
            low, high = (low, middle) if place < middle else (middle, high)
        return question

    def _tried(self, low: int, high: int) -> BlockQuestion | None:
        alone = high - low == 1
        if not alone and self._before[high] - self._before[low] > self._most:
            return None
        block = np.sort(self._order[low:high]).astype(np.int64)
        return self._fields.question(block, self._ring, None if alone else self._most)
