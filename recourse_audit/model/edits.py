"""Edits of one graph as flat arrays, and the fields: the parts of the graph in which they matter.

An edit drops and adds arcs and replaces features, of anybody. A tie that changes its weight, its
attributes or its kind is dropped, and added with another row of the table of ties.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.graph import Floats, Graph, Ints
from recourse_audit.graph.neighbourhoods import OUTSIDE, grow, places_in, spans
from recourse_audit.model.queries import Union, arcs_among, single_graph, whole

NO_ARCS = np.empty((2, 0), np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edits:
    """Edits side by side; the first row of each array, ascending, says whose a column is.

    `dropped` has numbers of arcs in the graph; `added` has source, target and row of the table of
    ties; `replaced` has a node and its row of `features`; `asked` has nodes.
    """

    count: int
    dropped: Ints
    added: Ints
    replaced: Ints
    features: Floats
    asked: Ints

    def part(self, first: int, last: int) -> "Edits":
        """Consecutive edits, numbered from 0."""
        if first == 0 and last == self.count:
            return self

        def take(table: Ints) -> Ints:
            low, high = table[0].searchsorted((first, last))
            part = table[:, low:high].copy()
            part[0] -= first
            return part

        return Edits(
            count=last - first,
            dropped=take(self.dropped),
            added=take(self.added),
            replaced=take(self.replaced),
            features=self.features,
            asked=take(self.asked),
        )


def edits_of(
    count: int,
    asked: Sequence[Ints] | Ints,
    *,
    dropped: Sequence[Ints] | Ints = (),
    added: Sequence[Ints] | Ints = (),
    replaced: Sequence[Ints] | Ints = (),
    features: Floats | None = None,
) -> Edits:
    """Edits from lists of columns; what is left out is empty, and no edit drops an arc twice."""
    return Edits(
        count=count,
        dropped=_once(_table(dropped, 2)),
        added=_table(added, 4),
        replaced=_table(replaced, 3),
        features=np.empty((0, 0), np.float32) if features is None else features,
        asked=_table(asked, 2),
    )


def join_edits(edits: Sequence[Edits]) -> Edits:
    """Several lists of edits one after the other."""
    if len(edits) == 1:
        return edits[0]
    first = np.cumsum([0, *(part.count for part in edits)])
    row = np.cumsum([0, *(len(part.features) for part in edits)])
    wide = [part.features for part in edits if len(part.features)]

    def chain(name: str) -> Ints:
        parts = [getattr(part, name).copy() for part in edits]
        for part, shift, rows in zip(parts, first, row, strict=False):
            part[0] += shift
            if name == "replaced":
                part[2] += rows
        return np.concatenate(parts, axis=1)

    return Edits(
        count=int(first[-1]),
        dropped=chain("dropped"),
        added=chain("added"),
        replaced=chain("replaced"),
        features=np.concatenate(wide) if wide else edits[0].features,
        asked=chain("asked"),
    )


def _table(rows: Sequence[Ints] | Ints, height: int) -> Ints:
    if not len(rows):
        return np.empty((height, 0), np.int64)
    table = np.asarray(rows, np.int64).reshape(height, -1)
    ordered = bool((table[0, 1:] >= table[0, :-1]).all())
    return table if ordered else table[:, np.argsort(table[0], kind="stable")]


def _once(table: Ints) -> Ints:
    """Columns in ascending order, without repetitions."""
    span = int(table[1].max(initial=0)) + 1
    keys = table[0] * span + table[1]
    if bool((keys[1:] > keys[:-1]).all()):
        return table
    return np.stack(np.divmod(np.unique(keys), span))


@dataclass(frozen=True, kw_only=True)
class Field:
    """A part of the graph: nodes ascending; arcs in the graph's order, loops last.

    `arcs` numbers the arcs as in the graph, loops after all others; ends are places in `nodes`.
    """

    nodes: Ints
    arcs: Ints
    sources: NDArray[np.integer]
    targets: NDArray[np.integer]
    ties: NDArray[np.integer]

    def place(self, nodes: NDArray[np.integer]) -> Ints:
        """The places of nodes of the graph; `OUTSIDE` for those that are not in the field."""
        return places_in(self.nodes, nodes)

    @property
    def union(self) -> Union:
        return single_graph(self.nodes, self.sources, self.targets, self.ties)


def whole_field(graph: Graph) -> Field:
    """The whole graph, which is a field of anybody."""
    union = whole(graph)
    return Field(
        nodes=union.nodes,
        arcs=np.arange(len(union.sources)),
        sources=union.sources,
        targets=union.targets,
        ties=union.ties,
    )


def receptive_field(
    graph: Graph, asked: NDArray[np.integer] | int, depth: int | None, added: Ints = NO_ARCS
) -> Field:
    """Everything that the answers of some nodes depend on, for any model of a depth.

    That is every tie of every node within the model's depth. The ring of nodes outside comes along
    because the degrees inside depend on it; ties within that ring do not matter. Without a known
    depth the field is the whole graph. `added` has sources and targets of arcs that may be added.
    """
    if depth is None:
        return whole_field(graph)

    def step(at: Ints) -> NDArray[np.integer]:
        along = [added[1 - end, places_in(at, added[end]) != OUTSIDE] for end in (0, 1)]
        return np.concatenate((graph.neighbour[spans(graph.starts, at)[0]], *along))

    full, _ = grow(asked, depth, step)
    near = (places_in(full, added) != OUTSIDE).any(axis=0)
    return with_every_tie(graph, full, added[:, near].ravel())


def with_every_tie(graph: Graph, full: Ints, more: NDArray[np.integer]) -> Field:
    """Every tie of the nodes in `full`, the other ends of those ties, and the nodes in `more`."""
    positions, _ = spans(graph.starts, full)
    pairs = np.unique(graph.neighbour_pair[positions])
    arcs, _ = spans(graph.pair_starts, pairs)
    ends = (full, more, graph.pair_low[pairs], graph.pair_high[pairs])
    nodes = np.unique(np.concatenate(ends)).astype(np.int64)
    return Field(nodes=nodes, **_arcs_between(graph, nodes, arcs, loops_on(graph, full)[0]))


@dataclass(frozen=True, kw_only=True)
class ArrivingField(Field):
    """The field of some nodes for a model in which states can be shared (`state_sharing`).

    A node's state up to layer m needs the arcs that lead to it and the states of their sources up
    to layer m - 1; so only arcs that lead to nodes near enough are part of it. `distance` is how
    many arcs lead from a node to the nearest one asked about, with every added arc in place.
    """

    depth: int
    distance: NDArray[np.int8]

    @cached_property
    def has_loops(self) -> bool:
        return bool((self.sources == self.targets).any())

    @cached_property
    def arriving(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Arcs by target: where each node's begin, their order, its inverse, their sources."""
        order = np.argsort(self.targets, kind="stable")
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        senders: Ints = self.sources[order].astype(np.int64, copy=False)
        return _starts(self.targets, len(self.nodes)), order, place, senders

    @cached_property
    def leaving(self) -> list[tuple[Ints, Ints]]:
        """For layers 1 to the depth, arcs by the node they leave, without loops.

        For layer m these are the arcs that lead to nodes at most depth - m away: where each node's
        begin, and their order.
        """
        layers = []
        order = np.argsort(self.sources, kind="stable")
        order = order[self.sources[order] != self.targets[order]]
        for layer in range(1, self.depth + 1):
            order = order[self.distance[self.targets[order]] <= self.depth - layer]
            layers.append((_starts(self.sources[order], len(self.nodes)), order))
        return layers


def arriving_field(
    graph: Graph,
    asked: NDArray[np.integer],
    depth: int,
    *,
    counted: NDArray[np.bool_] | bool,
    added: Ints = NO_ARCS,
) -> ArrivingField:
    """The field of some nodes for a model of a depth.

    Parameters
    ----------
    counted
        Whether a sender's number of arriving arcs matters, so that senders at the edge of the
        field need theirs too; or the rows about ties for which it does.
    added
        Sources and targets of arcs that edits may add.
    """
    arcs, hops = [np.empty(0, np.int64)], depth + int(counted is not False)

    def step(at: Ints) -> NDArray[np.integer]:
        arriving = _arriving(graph, at)
        if len(arcs) > depth and not isinstance(counted, bool):
            arriving = arriving[counted[graph.arc_row[arriving]]]
        arcs.append(arriving)
        along = places_in(at, added[1]) != OUTSIDE
        return np.concatenate((graph.arc_source[arcs[-1]], added[0, along]))

    nodes, distance = grow(asked, hops, step)
    every, loops = np.sort(np.concatenate(arcs)), loops_on(graph, nodes[distance < hops])[0]
    return ArrivingField(
        depth=depth, nodes=nodes, distance=distance, **_arcs_between(graph, nodes, every, loops)
    )


def exceeds(graph: Graph, asked: NDArray[np.integer], hops: int, most: int) -> bool:
    """Whether more arcs than `most` lead to nodes less than so many hops from some nodes.

    Costs at most as much as that many arcs: nobody is listed whose arcs would be too many.
    """
    count = 0

    def step(at: Ints) -> NDArray[np.integer]:
        nonlocal count
        # Every neighbour sends an arc, unless ties have directions.
        neighbours = int((graph.starts[at + 1] - graph.starts[at]).sum())
        if not graph.directed and count + neighbours > most:
            count = most + 1
            return at[:0]
        arriving = _arriving(graph, at)
        count += len(arriving)
        return graph.arc_source[arriving]

    grow(asked, hops, step)
    return count > most


def _arcs_between(graph: Graph, nodes: Ints, arcs: Ints, loops: Ints) -> dict[str, Ints]:
    """Arcs and loops of a field, in this order, with the places of their ends."""
    sources, targets, ties = arcs_among(graph, nodes, arcs, loops)
    arcs = np.concatenate((arcs, len(graph.arc_source) + loops))
    return {"arcs": arcs, "sources": sources, "targets": targets, "ties": ties}


def _arriving(graph: Graph, nodes: Ints) -> Ints:
    positions, owner = spans(graph.starts, nodes)
    arcs, pair = spans(graph.pair_starts, graph.neighbour_pair[positions])
    return np.asarray(arcs[graph.arc_target[arcs] == nodes[owner[pair]]])


def loops_on(graph: Graph, nodes: NDArray[np.integer]) -> tuple[Ints, Ints]:
    """The loops on some nodes, node after node; and the place of each one's node among these."""
    if not len(graph.loop_node):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    bounds = np.searchsorted(graph.loop_node, np.stack((nodes, nodes + 1), axis=1)).ravel()
    return spans(bounds, 2 * np.arange(len(nodes)))


def _starts(values: NDArray[np.integer], count: int) -> Ints:
    return np.concatenate(([0], np.cumsum(np.bincount(values, minlength=count))))
