"""The questions for a model: many small graphs side by side, as one disjoint union."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.arrays import Floats, Graph, Indices, Ints
from recourse_audit.graph.neighbourhoods import spans


@dataclass(frozen=True, slots=True, kw_only=True)
class Union:
    """Small graphs one after the other, without ties between them.

    `nodes` are rows of the pool's features, `ties` rows of its table of ties; the ends of arcs
    are positions in `nodes`.
    """

    nodes: Ints
    node_starts: Ints
    sources: NDArray[np.integer]
    targets: NDArray[np.integer]
    ties: NDArray[np.integer]
    arc_starts: Ints

    def __len__(self) -> int:
        return len(self.node_starts) - 1

    def part(self, first: int, last: int) -> "Union":
        """Some graphs in a row, by themselves."""
        nodes = slice(int(self.node_starts[first]), int(self.node_starts[last]))
        arcs = slice(int(self.arc_starts[first]), int(self.arc_starts[last]))
        return Union(
            nodes=self.nodes[nodes],
            node_starts=self.node_starts[first : last + 1] - nodes.start,
            sources=self.sources[arcs] - nodes.start,
            targets=self.targets[arcs] - nodes.start,
            ties=self.ties[arcs] if len(self.ties) else self.ties,
            arc_starts=self.arc_starts[first : last + 1] - arcs.start,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """What a query says about nodes and ties: features; weights, attributes and kinds of ties."""

    features: Floats
    weight: NDArray[np.float32] | None = None
    attributes: NDArray[np.float32] | None = None
    kind: NDArray[np.int16] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One complete question, which a model adapter turns into its inputs.

    `ends` has the sources of arcs in its first row and their targets in the second. `node_starts`
    says where its graphs begin, with any offset; ends and rows count from its first node. `graphs`
    is how many graphs it asks about: more than it has, if one holds several what-ifs.
    """

    features: Floats
    nodes: Ints
    ends: Ints
    weight: Floats | None
    attributes: Floats | None
    kind: NDArray[np.integer] | None
    node_starts: Ints
    rows: Ints
    graphs: int

    @property
    def arc_count(self) -> int:
        return int(self.ends.shape[1])


def listed(places: Ints, nodes: int) -> tuple[Ints, Ints]:
    """Places among some nodes, each once and ascending; and where each of them is in that list."""
    rank = np.zeros(nodes, np.int64)
    rank[places] = 1
    each = np.flatnonzero(rank)
    rank[each] = np.arange(len(each))
    return each, rank[places]


def pool_of(graph: Graph) -> Pool:
    """What the graph knows about its nodes and ties."""
    ties = graph.ties
    return Pool(
        features=graph.features, weight=ties.weight, attributes=ties.attributes, kind=ties.kind
    )


def whole(graph: Graph) -> Union:
    """The whole graph as one question, nodes in the order of the file, ties in canonical order.

    It shares the graph's arrays where it can, because most of the memory is in them.
    """
    sources = _followed(graph.arc_source, graph.loop_node)
    return Union(
        nodes=np.arange(graph.node_count),
        node_starts=np.array([0, graph.node_count]),
        sources=sources,
        targets=_followed(graph.arc_target, graph.loop_node),
        ties=_followed(graph.arc_tie, graph.loop_tie),
        arc_starts=np.array([0, len(sources)]),
    )


def _followed(arcs: Indices, loops: Indices) -> Indices:
    return np.concatenate((arcs, loops)) if len(loops) else arcs


def with_pairs(graph: Graph, nodes: NDArray[np.integer], pairs: NDArray[np.integer]) -> Union:
    """Some nodes, ascending, with the ties of some pairs among them and their own loops."""
    arcs, _ = spans(graph.pair_starts, np.sort(pairs))
    loops = np.flatnonzero(np.isin(graph.loop_node, nodes))
    sources = np.concatenate((graph.arc_source[arcs], graph.loop_node[loops]))
    targets = np.concatenate((graph.arc_target[arcs], graph.loop_node[loops]))
    return Union(
        nodes=nodes.astype(np.int64),
        node_starts=np.array([0, len(nodes)]),
        sources=np.searchsorted(nodes, sources),
        targets=np.searchsorted(nodes, targets),
        ties=np.concatenate((graph.arc_tie[arcs], graph.loop_tie[loops])).astype(np.int64),
        arc_starts=np.array([0, len(sources)]),
    )


def side_by_side(unions: Sequence[Union], rows: Sequence[Ints]) -> tuple[Union, Ints]:
    """Join several questions into one, with the rows that each asks about."""
    if len(unions) == 1:
        return unions[0], rows[0]
    nodes = np.cumsum([0, *(len(union.nodes) for union in unions)])[:-1]
    arcs = np.cumsum([0, *(len(union.sources) for union in unions)])[:-1]
    union = Union(
        nodes=np.concatenate([union.nodes for union in unions]),
        node_starts=_chained([union.node_starts for union in unions], nodes),
        sources=_shifted([union.sources for union in unions], nodes),
        targets=_shifted([union.targets for union in unions], nodes),
        ties=np.concatenate([union.ties for union in unions]),
        arc_starts=_chained([union.arc_starts for union in unions], arcs),
    )
    return union, _shifted(rows, nodes)


def _shifted(parts: Sequence[NDArray[np.integer]], shifts: Ints) -> Ints:
    return np.concatenate([part + shift for part, shift in zip(parts, shifts, strict=True)])


def _chained(starts: Sequence[Ints], shifts: Ints) -> Ints:
    """Join offsets that each begin at 0 into one list that begins at 0."""
    rest = [start[1:] + shift for start, shift in zip(starts[1:], shifts[1:], strict=True)]
    return np.concatenate((starts[0], *rest))
