"""The receptive field: the part of the graph that a subject's answer depends on.

It holds every tie of every node within the model's depth. The ring of nodes outside comes along
because the degrees inside depend on it; ties within that ring do not matter. A new tie extends the
field around its far end, one hop less deep. Without a known depth the field is the whole graph.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.arrays import Graph, Indices, Ints
from recourse_audit.graph.neighbourhoods import OUTSIDE, places_in, reach, spans
from recourse_audit.model.queries import whole as whole_graph


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceptiveField:
    """Nodes in ascending order, arcs as in the graph, then loops; ends are places in `nodes`.

    `arcs` are the numbers of the arcs in the graph, with loops after all others; `full` are the
    nodes that have all of their ties in the field.
    """

    nodes: Ints
    full: Ints
    arcs: Ints
    sources: NDArray[np.integer]
    targets: NDArray[np.integer]
    ties: NDArray[np.integer]

    def place(self, nodes: Ints | Indices) -> Ints:
        """The places of some nodes of the graph; `OUTSIDE` for those that are not in the field."""
        return places_in(self.nodes, nodes)


def receptive_field(graph: Graph, subject: int, depth: int | None) -> ReceptiveField:
    """The field of a subject before any change."""
    if depth is None:
        return everything(graph)
    own = np.array([subject])
    return with_every_tie(graph, reach(graph, own, depth).astype(np.int64), own)


def everything(graph: Graph) -> ReceptiveField:
    """The whole graph, which is a field of any subject."""
    union = whole_graph(graph)
    return ReceptiveField(
        nodes=union.nodes,
        full=union.nodes,
        arcs=np.arange(len(graph.arc_source) + len(graph.loop_node)),
        sources=union.sources,
        targets=union.targets,
        ties=union.ties,
    )


def with_every_tie(graph: Graph, full: Ints, more: Ints) -> ReceptiveField:
    """Every tie of the nodes in `full`, the other ends of those ties, and the nodes in `more`."""
    positions, _ = spans(graph.starts, full)
    pairs = np.unique(graph.neighbour_pair[positions])
    arcs, _ = spans(graph.pair_starts, pairs)
    loops = _loops(graph, full)
    every = (full, more, graph.pair_low[pairs], graph.pair_high[pairs])
    nodes = np.unique(np.concatenate(every)).astype(np.int64)
    sources = np.concatenate((graph.arc_source[arcs], graph.loop_node[loops]))
    targets = np.concatenate((graph.arc_target[arcs], graph.loop_node[loops]))
    return ReceptiveField(
        nodes=nodes,
        full=full,
        arcs=np.concatenate((arcs, len(graph.arc_source) + loops)),
        sources=np.searchsorted(nodes, sources),
        targets=np.searchsorted(nodes, targets),
        ties=np.concatenate((graph.arc_tie[arcs], graph.loop_tie[loops])).astype(np.int64),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldExtension:
    """What a new tie to one node adds to a field.

    `nodes` are those outside the field, ascending. `arc` numbers the arcs, loops after the others;
    `ends` are their sources and targets as nodes, and `places` are the places of these in the
    field, or `OUTSIDE`.
    """

    nodes: Ints
    arc: Ints
    ends: Ints
    places: Ints
    ties: Ints


def extension(graph: Graph, around: ReceptiveField, far: int, depth: int | None) -> FieldExtension:
    """What a field lacks once a tie leads to `far`."""
    end = np.array([far])
    full = reach(graph, end, depth - 1).astype(np.int64) if depth else end[:0]
    full = full[places_in(around.full, full) == OUTSIDE]
    positions, _ = spans(graph.starts, full)
    # A pair is in the field already if one of its ends has all of its ties there.
    new = places_in(around.full, graph.neighbour[positions]) == OUTSIDE
    pairs = np.unique(graph.neighbour_pair[positions[new]])
    arcs, _ = spans(graph.pair_starts, pairs)
    loops = _loops(graph, full)
    loop = graph.loop_node[loops]
    ends = np.stack(
        (
            np.concatenate((graph.arc_source[arcs], loop)),
            np.concatenate((graph.arc_target[arcs], loop)),
        )
    ).astype(np.int64)
    every = np.unique(np.concatenate((ends.ravel(), full, end)))
    return FieldExtension(
        nodes=every[around.place(every) == OUTSIDE],
        arc=np.concatenate((arcs, len(graph.arc_source) + loops)),
        ends=ends,
        places=around.place(ends),
        ties=np.concatenate((graph.arc_tie[arcs], graph.loop_tie[loops])).astype(np.int64),
    )


def _loops(graph: Graph, nodes: Ints) -> Ints:
    """The places of the loops that lie on some nodes, given in ascending order."""
    if not len(graph.loop_node) or not len(nodes):
        return np.empty(0, np.int64)
    return np.flatnonzero(places_in(nodes, graph.loop_node) != OUTSIDE)
