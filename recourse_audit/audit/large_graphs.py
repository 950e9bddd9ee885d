"""What the model answers on the whole graph: in one query, or, of a large graph, in blocks.

A model that answers for all nodes at once is asked once (`whole_answers`). A model that answers for
one node per query would need a whole graph for each of them; so each node is asked about on its
receptive field, after some nodes have shown that this gives the whole graph's answer.

The runtime holds several hundred bytes per arc, so one query about the whole graph may need more
memory than is free: this is measured on two small graphs of the same density. If it does not fit,
nodes are asked about in blocks, each on the part of the graph that their answers depend on, so that
the largest block bounds the memory. In a graph without locality these parts overlap a lot, and time
pays for memory.

A block's answers depend on its *core*, the nodes within depth - 1 hops against the direction of the
arcs, with all arcs that arrive there; and on its *ring*, the other senders of these arcs. Messages
from the ring are sent in the first layer alone, so they rest on the features of the ring and,
in a model that scales messages by the degree of whoever sends them, on its degrees. So there are
three ways to show a ring to a model, from the cheapest to the safest:

bare       nothing arrives at the ring.
counted    as many arcs arrive as in the graph, though from anywhere.
tied       every tie of core and ring, as in a `Field`.

Nodes of a bare or counted ring that look alike (equal features, equally many arcs and loops) send
equal messages, so one of them stands for all. Arcs arrive at a node in the order of the whole
graph, so that sums are taken in the same order.

Which ring is enough is probed (`sender_degree`) and checked: the whole graph cannot be asked to
compare with, so a node's receptive field, which is cut in another way and shown with all of its
ties, takes its place. A node of a block is compared whenever that costs little next to what was
asked so far. One difference, and the whole graph is asked after all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import LimitError, RoomError
from recourse_audit.graph.graph import Floats, Graph, Indices, Ints
from recourse_audit.graph.neighbourhoods import by_locality, places_in, reach, spans
from recourse_audit.model.batching import CLOSE, QueryBatcher, noise_of, same_answer
from recourse_audit.model.decisions import DecisionRule
from recourse_audit.model.edited_graph import neighbourhoods_suffice
from recourse_audit.model.edits import receptive_field, with_every_tie
from recourse_audit.model.limits import peak_of
from recourse_audit.model.queries import Union, whole
from recourse_audit.records.model import ProbeReport

Ring = Literal["bare", "counted", "tied"]
# By whether a sender's degree weighs its message; None if that is not known.
RINGS: dict[bool | None, Ring] = {False: "bare", True: "counted", None: "tied"}
SALT = 53
# How many nodes are asked about both ways before the receptive fields are relied on.
COMPARED = 8
# Blocks are estimated around this many nodes.
ESTIMATED = 4
# What is compared costs at most this share of what is asked.
SHARE_COMPARED = 0.05
# More answers than this within rounding of the decision line are not asked about one by one.
MOST_CLOSE = 20_000
ROWS_AT_ONCE = 2**20
ARCS_AT_ONCE = 2**23
# The arcs of the two graphs on which memory is measured: too many for the session that stays open.
MEASURED = (2**18, 2**19)
# The share of the free memory that a query may take.
SHARE_OF_FREE = 0.75
_MIX = 0x9E3779B97F4A7C15


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedGraph:
    """What it takes to ask about the whole graph, where the policy need not be sound yet."""

    graph: Graph
    batcher: QueryBatcher
    probes: ProbeReport
    rule: DecisionRule


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


def whole_answers(audit: AskedGraph, nodes: Ints, limits: BlockLimits = LIMITS) -> Floats:
    """Answers on the whole graph, one row per node; NaN for nodes nobody asked about.

    Of several kinds of nodes, only people are asked about.

    A model that answers for one node per query is asked about `nodes` alone, unless the decision
    on one person depends on everybody's answer. Of a graph that is cut into blocks, answers so
    close to the line that rounding might decide are those on the node's receptive field, so no
    decision depends on how much memory was free.
    """
    graph, batcher, depth = audit.graph, audit.batcher, audit.probes.depth
    if depth is not None and _may_be_cut(audit, limits):
        queries = LargeGraph(audit, depth, limits)
        for ask in (queries.answers_at_once, queries.answers_in_blocks):
            everybody = ask()
            if everybody is not None:
                return everybody
        return queries.answers_of_whole()
    one_by_one = batcher.one_row_per_query and not audit.rule.needs_everybody
    rows = nodes if one_by_one else np.arange(graph.person_count)
    answers = np.full((graph.node_count, batcher.answer_width), np.nan)
    near = _answers_on_fields(audit, rows)
    answers[rows] = batcher.ask(whole(graph), rows) if near is None else near
    return answers


def _may_be_cut(audit: AskedGraph, limits: BlockLimits) -> bool:
    model = audit.batcher.model
    return (
        is_large(audit.graph, limits)
        and neighbourhoods_suffice(audit.probes)
        and not audit.batcher.one_row_per_query
        and model.feeder.node_room is None
        and model.feeder.arc_room is None
        and model.signature.port("adjacency") is None
    )


def _answers_on_fields(audit: AskedGraph, rows: Ints) -> Floats | None:
    """Ask about each of some nodes on its own field, where a model answers for one per query.

    None if that is not the whole graph's answer. Answers so close to the line that rounding might
    decide come from the whole graph.
    """
    graph, batcher, depth = audit.graph, audit.batcher, audit.probes.depth
    if not batcher.one_row_per_query or not neighbourhoods_suffice(audit.probes):
        return None
    if depth is None or len(rows) <= COMPARED:
        return None
    answers = np.empty((len(rows), batcher.answer_width))
    try:
        for place, node in enumerate(rows.tolist()):
            answers[place] = _ask_alone(audit, node, depth)
    except RoomError:
        return None
    noise = noise_of(batcher)
    compared = np.unique(np.linspace(0, len(rows) - 1, COMPARED).astype(np.int64))
    known = batcher.ask(whole(graph), rows[compared])
    if not all(
        same_answer(near, far, noise, scores=audit.rule.scores)
        for near, far in zip(answers[compared], known, strict=True)
        if np.isfinite(near).all() or np.isfinite(far).all()
    ):
        return None
    answers[compared] = known
    everybody = np.full((graph.node_count, answers.shape[1]), np.nan)
    everybody[rows] = answers
    close = _find_close(audit, everybody)
    if len(close):
        answers[np.searchsorted(rows, close)] = batcher.ask(whole(graph), close)
    return answers


def _ask_alone(audit: AskedGraph, node: int, depth: int) -> Floats:
    field = receptive_field(audit.graph, node, depth)
    answer: Floats = audit.batcher.ask(field.union, field.place(np.array([node])))[0]
    return answer


def _find_close(audit: AskedGraph, everybody: Floats) -> Ints:
    """The nodes whose answers are so close to the line that rounding may decide."""
    usable = np.flatnonzero(audit.rule.usable(everybody))
    within = CLOSE * noise_of(audit.batcher)
    close: Ints = usable[audit.rule.over(everybody).close(everybody[usable], usable, within)]
    return close


class LargeGraph:
    """The queries about one graph, at once or in blocks, and what they are compared with."""

    def __init__(self, audit: AskedGraph, depth: int, limits: BlockLimits) -> None:
        self._audit = audit
        self._graph = audit.graph
        self._batcher = audit.batcher
        self._depth = depth
        self._limits = limits
        self._draw = np.random.default_rng((SALT, audit.graph.node_count))

    def answers_at_once(self) -> Floats | None:
        """The answers to one query; None if that takes more memory than is free."""
        free = self._batcher.model.free_memory
        if free is None or self._bytes_at_once() > SHARE_OF_FREE * free:
            return None
        try:
            return self.answers_of_whole()
        except LimitError:
            return None

    def answers_of_whole(self) -> Floats:
        """The answers to one query, whatever it takes."""
        people = np.arange(self._graph.person_count)
        answers = self._no_answers()
        answers[people] = self._batcher.ask(whole(self._graph), people)
        exact = self._with_close_ones(answers)
        return answers if exact is None else exact

    def _no_answers(self) -> Floats:
        return np.full((self._graph.node_count, self._batcher.answer_width), np.nan)

    def _bytes_at_once(self) -> float:
        """How many bytes one query about the whole graph takes, by those of two small ones."""
        small, large = (self._shrink(arcs) for arcs in MEASURED)
        more_arcs = len(large.sources) - len(small.sources)
        if more_arcs <= 0:
            return np.inf
        before = self._peak(small)
        more_bytes = self._peak(large) - before
        return more_bytes / more_arcs * len(self._graph.arc_source) if more_bytes > 0 else np.inf

    def _shrink(self, arcs: int) -> Union:
        """A made-up graph of so many arcs, with as many nodes per arc as the graph has.

        Of several kinds of nodes, a part of the graph, since ends must be of the right kinds.
        """
        graph = self._graph
        sources, targets = graph.arc_source[:arcs], graph.arc_target[:arcs]
        count = max(graph.node_count * len(sources) // len(graph.arc_source), 1)
        nodes = np.arange(count)
        places: list[Indices | Ints] = [sources % count, targets % count]
        if graph.kinds is not None:
            nodes = np.unique(np.concatenate((sources, targets, [0]))).astype(np.int64)
            places = [places_in(nodes, ends) for ends in (sources, targets)]
        return Union(
            nodes=nodes,
            node_starts=np.array([0, len(nodes)]),
            sources=places[0],
            targets=places[1],
            ties=graph.arc_row[:arcs],
            arc_starts=np.array([0, len(sources)]),
        )

    def _peak(self, union: Union) -> int:
        asked = np.flatnonzero(union.nodes < self._graph.person_count)
        return peak_of(lambda: self._batcher.ask_raw(union, asked))

    def answers_in_blocks(self) -> Floats | None:
        """The answers block by block; None if the whole graph has to be asked.

        That is so if blocks would cost too much, or one node gets another answer on its own field.
        """
        answers = self._no_answers()
        asked = compared = 0
        with self._batcher.repeater.now_and_then():
            blocks = self._cut()
            if blocks is None:
                return None
            for block in blocks:
                answers[block.nodes] = self._batcher.ask(block.union, block.rows)
                asked += block.arcs
                if compared <= SHARE_COMPARED * asked:
                    node = int(self._draw.choice(block.nodes))
                    field = self._fields.query(np.array([node]), "tied", self._limits.alone)
                    if field is None:
                        continue  # too large to be compared
                    if not self._is_same(answers[node], _ask_alone(self._audit, node, self._depth)):
                        return None
                    compared += field.arcs
            return self._with_close_ones(answers)

    @cached_property
    def _fields(self) -> "BlockFields":
        batcher = self._batcher
        known = batcher.model.signature.port("node_ids") is not None
        alike = not batcher.needs_ties and not known and self._graph.kinds is None
        return BlockFields(self._graph, self._depth, features=batcher.features, alike=alike)

    def _cut(self) -> "Blocks | None":
        """The graph cut into blocks of the best size; None if they would cost too much."""
        ring = RINGS[self._audit.probes.sender_degree] if self._depth else "tied"
        if self._graph.kinds is not None:  # of which no node stands in for another
            ring = "tied"
        order = by_locality(self._graph)
        order = order[order < self._graph.person_count]
        places = self._draw.integers(0, len(order), ESTIMATED).tolist()
        best: tuple[float, Blocks] | None = None
        for size in self._limits.sizes:
            blocks = Blocks(self._fields, order, ring, size)
            sampled = [blocks.find_block(place) for place in places]
            cost = float(np.mean([block.arcs / len(block.nodes) for block in sampled])) * len(order)
            if best is None or cost * self._limits.worth < best[0]:
                best = cost, blocks
        assert best is not None
        cost, blocks = best
        return blocks if cost <= self._limits.times * len(self._graph.arc_source) else None

    def _is_same(self, near: Floats, far: Floats) -> bool:
        if not np.isfinite(near).any() and not np.isfinite(far).any():
            return True
        return same_answer(near, far, noise_of(self._batcher), scores=self._audit.rule.scores)

    def _with_close_ones(self, answers: Floats) -> Floats | None:
        """Where rounding may decide, take the answer on the node's receptive field.

        None if these are too many, or if one is not the same answer.
        """
        close = _find_close(self._audit, answers)
        if len(close) > MOST_CLOSE:
            return None
        exact = [_ask_alone(self._audit, node, self._depth) for node in close.tolist()]
        if not all(map(self._is_same, answers[close], exact)):
            return None
        answers[close] = np.reshape(exact, (len(close), answers.shape[1]))
        return answers


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockQuery:
    """A block of nodes in ascending order, the graph they are asked about on, their rows there."""

    nodes: Ints
    union: Union
    rows: Ints

    @property
    def arcs(self) -> int:
        return len(self.union.sources)


class Blocks:
    """A graph cut into blocks whose queries have at most so many arcs.

    All nodes, by locality, are cut in halves again and again until a part is small enough, so the
    block of a node can be found without the others. A single node is never cut.
    """

    def __init__(self, fields: "BlockFields", order: Indices, ring: Ring, most: int) -> None:
        self._fields = fields
        self._order = order
        self._ring = ring
        self._most = most
        self._before = np.concatenate(([0], np.cumsum(fields.arriving[order], dtype=np.int64)))

    def __iter__(self) -> Iterator[BlockQuery]:
        waiting = [(0, len(self._order))]
        while waiting:
            low, high = waiting.pop()
            query = self._try(low, high)
            if query is not None:
                yield query
            else:
                middle = (low + high) // 2
                waiting += [(middle, high), (low, middle)]

    def find_block(self, place: int) -> BlockQuery:
        """The block of the node at some place in the order."""
        low, high = 0, len(self._order)
        while (query := self._try(low, high)) is None:
            middle = (low + high) // 2
            low, high = (low, middle) if place < middle else (middle, high)
        return query

    def _try(self, low: int, high: int) -> BlockQuery | None:
        alone = high - low == 1
        if not alone and self._before[high] - self._before[low] > self._most:
            return None
        block = np.sort(self._order[low:high]).astype(np.int64)
        return self._fields.query(block, self._ring, None if alone else self._most)


class BlockFields:
    """Makes the queries about blocks of one graph."""

    def __init__(self, graph: Graph, depth: int, *, features: Floats, alike: bool) -> None:
        """`features` are those the model gets; `alike`: one node may stand for others like it."""
        self._graph = graph
        self._depth = depth
        self._features = features
        self._alike = alike
        self._simple = not graph.directed and len(graph.arc_source) == 2 * graph.pair_count
        self._place = np.zeros(graph.node_count, np.int32)
        self._inside = np.zeros(graph.node_count, bool)
        # How many arcs arrive at each node, without loops; made in parts, to need little memory.
        self.arriving = np.zeros(graph.node_count, np.int32)
        for first in range(0, len(graph.arc_target), ARCS_AT_ONCE):
            part = graph.arc_target[first : first + ARCS_AT_ONCE]
            self.arriving += np.bincount(part, minlength=graph.node_count).astype(np.int32)

    def query(self, block: Ints, ring: Ring, most: int | None = None) -> BlockQuery | None:
        """What to ask about a block, given in ascending order; None if it has more arcs than most.

        Notes
        -----
        The cost is that of the arcs in the query, or of `most` arcs if there are more.
        """
        limit = np.inf if most is None else most
        if ring == "tied":
            return self._query_with_ties(block, limit)
        core = self._core(block, limit)
        if core is None:
            return None
        sources, targets, arcs = self._arrivals_at(core)
        outside = self._others(core, sources)
        first = stand_in = np.arange(len(outside))
        if self._alike:
            looks = self._looks[outside]
            _, first, stand_in = np.unique(looks, return_index=True, return_inverse=True)
        self._place[core] = np.arange(len(core))
        self._place[outside] = len(core) + stand_in
        ring_nodes = outside[first]
        rows = np.searchsorted(core, block)
        from_place = self._place[sources]
        if ring == "counted":
            if len(sources) + int(self.arriving[ring_nodes].sum()) > limit:
                return None
            _, more_targets, more_arcs = self._arrivals_at(ring_nodes)
            # Who sends these does not matter, so a node of the block does.
            anybody = np.full(len(more_targets), rows[0], np.int32)
            from_place = np.concatenate((from_place, anybody))
            targets = np.concatenate((targets, more_targets + np.int32(len(core))))
            arcs = np.concatenate((arcs, more_arcs))
        nodes = np.concatenate((core, ring_nodes))
        loops = self._loops(nodes if ring == "counted" else core)
        on = self._place[self._graph.loop_node[loops]]
        union = Union(
            nodes=nodes,
            node_starts=np.array([0, len(nodes)]),
            sources=np.concatenate((from_place, on)),
            targets=np.concatenate((targets, on)),
            ties=np.concatenate((self._graph.arc_row[arcs], self._graph.loop_row[loops])),
            arc_starts=np.array([0, len(from_place) + len(on)]),
        )
        return BlockQuery(nodes=block, union=union, rows=rows)

    def _query_with_ties(self, block: Ints, most: float) -> BlockQuery | None:
        full = block
        for hop in range(self._depth + 1):
            if int(self.arriving[full].sum()) > most:
                return None
            if hop < self._depth:
                full = reach(self._graph, full, 1).astype(np.int64)
        field = with_every_tie(self._graph, full, block)
        if len(field.sources) > most:
            return None
        return BlockQuery(nodes=block, union=field.union, rows=field.place(block))

    def _core(self, block: Ints, most: float) -> Ints | None:
        """The nodes within depth - 1 hops of a block, against the arcs; None if beyond `most`."""
        core = block
        for hop in range(self._depth):
            if int(self.arriving[core].sum()) > most:
                return None
            if hop + 1 < self._depth:
                sources, _, _ = self._arrivals_at(core)
                core = np.sort(np.concatenate((core, self._others(core, sources))))
        return core

    def _arrivals_at(self, nodes: Ints) -> tuple[Indices, Indices, Ints]:
        """Arcs that arrive at some nodes, node by node: sources, places of the targets, numbers."""
        graph = self._graph
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
        distinct = np.flatnonzero(inside)
        inside[others] = False
        return distinct

    def _loops(self, nodes: Ints) -> Ints:
        self._inside[nodes] = True
        loops = np.flatnonzero(self._inside[self._graph.loop_node])
        self._inside[nodes] = False
        return loops

    @cached_property
    def _looks(self) -> Indices:
        """Numbers that are equal only for nodes that look alike."""
        loops = np.bincount(self._graph.loop_node, minlength=self._graph.node_count)
        return number_looks(self._features, self.arriving, loops)


def number_looks(features: Floats, *counts: NDArray[np.integer]) -> Indices:
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
        here = order[first : first + ROWS_AT_ONCE]
        before = order[first - 1 : first - 1 + len(here)]
        differs = (words[here] != words[before]).any(axis=1)
        for column in counts:
            differs |= column[here] != column[before]
        new[first : first + ROWS_AT_ONCE] |= differs
    numbers = np.empty(size, np.int32)
    numbers[order] = np.cumsum(new, dtype=np.int32) - 1
    return numbers
