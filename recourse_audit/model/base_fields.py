"""The base of a question about what-ifs: the part of the graph that some nodes' answers depend on.

Nodes are grouped by their distance from those asked about, against the direction of arcs. A node's
state up to layer m needs the arcs that lead to it and the states of their sources up to layer
m - 1; so only arcs that lead to nodes near enough are part of the base.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.arrays import Graph, Ints
from recourse_audit.graph.neighbourhoods import OUTSIDE, places_in, spans


@dataclass(frozen=True, kw_only=True)
class BaseField:
    """Nodes in ascending order; arcs in the graph's order, loops last; ends are places in `nodes`.

    `arcs` numbers the arcs as in the graph, loops after all others. `distance` is how many arcs
    lead from a node to the nearest one asked about, with every added arc in place.
    """

    depth: int
    nodes: Ints
    distance: NDArray[np.int8]
    arcs: Ints
    sources: Ints
    targets: Ints
    ties: Ints

    def place(self, nodes: NDArray[np.integer]) -> Ints:
        """The places of some nodes of the graph; `OUTSIDE` for those that are not in the field."""
        return places_in(self.nodes, nodes)

    def arc_place(self, arcs: NDArray[np.integer]) -> Ints:
        """The places of some arcs of the graph; `OUTSIDE` for those that are not in the field."""
        return places_in(self.arcs, arcs)

    @cached_property
    def has_loops(self) -> bool:
        """Whether some arc leads from a node to itself."""
        return bool((self.sources == self.targets).any())

    @cached_property
    def arriving(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Arcs by the node they lead to.

        Where each node's begin, their order, its inverse, and their sources in this order.
        """
        order = np.argsort(self.targets, kind="stable")
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        return _starts(self.targets, len(self.nodes)), order, place, self.sources[order]

    @cached_property
    def leaving(self) -> list[tuple[Ints, Ints]]:
        """For layers 1 to the depth, arcs by the node they leave, without loops.

        For layer m these are the arcs that lead to nodes at most depth - m away: where each node's
        begin, and their order.
        """
        found = []
        order = np.argsort(self.sources, kind="stable")
        order = order[self.sources[order] != self.targets[order]]
        for layer in range(1, self.depth + 1):
            order = order[self.distance[self.targets[order]] <= self.depth - layer]
            found.append((_starts(self.sources[order], len(self.nodes)), order))
        return found


class KeptFields:
    """The fields of the last single node, and of the last several, that were asked about.

    Whatever asks about the same subject, for one model, may share them.
    """

    def __init__(self) -> None:
        self._kept: dict[bool, tuple[Ints, BaseField]] = {}

    def around(
        self, graph: Graph, asked: NDArray[np.integer], depth: int, *, degrees: bool
    ) -> BaseField:
        """The field of some nodes, in ascending order."""
        kept = self._kept.get(len(asked) == 1)
        if kept is None or not np.array_equal(kept[0], asked):
            nodes = asked.astype(np.int64)
            kept = nodes, base_field(graph, nodes, depth, degrees=degrees)
            self._kept[len(asked) == 1] = kept
        return kept[1]


def base_field(
    graph: Graph,
    asked: NDArray[np.integer],
    depth: int,
    *,
    degrees: bool,
    added: Ints | None = None,
) -> BaseField:
    """The field of some nodes for a model of a depth.

    Parameters
    ----------
    degrees
        Whether a sender's number of arriving arcs matters, so that senders at the edge of the
        field need theirs too.
    added
        Sources and targets of arcs that edits may add.
    """
    nodes = np.unique(asked).astype(np.int64)
    distance = np.zeros(len(nodes), np.int8)
    frontier = nodes
    arcs, loops = [], []
    more = np.empty((2, 0), np.int64) if added is None else added
    for hop in range(1, depth + 1 + int(degrees)):
        arriving = _arriving(graph, frontier)
        arcs.append(arriving)
        loops.append(_loops(graph, frontier))
        along = places_in(frontier, more[1]) != OUTSIDE
        frontier = np.unique(np.concatenate((graph.arc_source[arriving], more[0, along])))
        frontier = frontier[places_in(nodes, frontier) == OUTSIDE]
        place = np.searchsorted(nodes, frontier)
        nodes = np.insert(nodes, place, frontier)
        distance = np.insert(distance, place, np.int8(hop))
        if not len(frontier):
            break
    every = np.sort(np.concatenate(arcs)) if arcs else np.empty(0, np.int64)
    loop = np.sort(np.concatenate(loops)) if loops else np.empty(0, np.int64)
    own = graph.loop_node[loop]
    return BaseField(
        depth=depth,
        nodes=nodes,
        distance=distance,
        arcs=np.concatenate((every, len(graph.arc_source) + loop)),
        sources=np.searchsorted(nodes, np.concatenate((graph.arc_source[every], own))),
        targets=np.searchsorted(nodes, np.concatenate((graph.arc_target[every], own))),
        ties=np.concatenate((graph.arc_tie[every], graph.loop_tie[loop])).astype(np.int64),
    )


def _arriving(graph: Graph, nodes: Ints) -> Ints:
    """The arcs that lead to some nodes."""
    positions, owner = spans(graph.starts, nodes)
    arcs, pair = spans(graph.pair_starts, graph.neighbour_pair[positions])
    there = graph.arc_target[arcs] == nodes[owner[pair]]
    arriving: Ints = arcs[there]
    return arriving


def _loops(graph: Graph, nodes: Ints) -> Ints:
    """The loops on some nodes, which are in ascending order."""
    if not len(graph.loop_node):
        return np.empty(0, np.int64)
    low = np.searchsorted(graph.loop_node, nodes, side="left")
    high = np.searchsorted(graph.loop_node, nodes, side="right")
    owner = np.repeat(np.arange(len(nodes)), high - low)
    within = np.arange(len(owner)) - (np.cumsum(high - low) - (high - low))[owner]
    loops: Ints = low[owner] + within
    return loops


def _starts(values: Ints, count: int) -> Ints:
    return np.concatenate(([0], np.cumsum(np.bincount(values, minlength=count))))
