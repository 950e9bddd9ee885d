"""The graph around a subject with changes applied, many versions side by side in one question.

Surroundings are every tie of every node that the model's depth reaches from the subject: the ring
outside comes along because it carries degrees, ties inside that ring do not. New ties bring the
surroundings of their far ends, one hop less deep. Without a depth they are the whole graph.
"""

from dataclasses import dataclass

import numpy as np

from recourse_audit.graph.arrays import Floats, Graph, Indices, Ints
from recourse_audit.graph.neighbourhoods import reach, spans
from recourse_audit.model.queries import Pool, Union
from recourse_audit.model.queries import whole as whole_graph
from recourse_audit.recourse.actions import ADD, DROP, NONE, SET, ActionTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Nodes ascending, arcs as in the graph, then loops; ends are places in `nodes`.

    `arcs` are the numbers of the arcs in the graph, without loops.
    """

    nodes: Ints
    arcs: Ints
    sources: Ints
    targets: Ints
    ties: Ints

    def place(self, nodes: Ints | Indices) -> Ints:
        """Where nodes of the graph are in here."""
        return np.searchsorted(self.nodes, nodes)


def surroundings(graph: Graph, subject: int, depth: int | None, far: Ints) -> Surroundings:
    """All that bears on a subject's answer once they are tied to the nodes in `far`."""
    if depth is None:
        return everything(graph)
    full: Ints = reach(graph, np.array([subject]), depth).astype(np.int64)
    if len(far) and depth:
        full = np.union1d(full, reach(graph, far, depth - 1))
    return with_every_tie(graph, full, far)


def with_every_tie(graph: Graph, full: Ints, far: Ints) -> Surroundings:
    """Every tie of the nodes in `full`, with the other ends of those ties, and the nodes `far`."""
    positions, _ = spans(graph.starts, full)
    pairs = np.unique(graph.neighbour_pair[positions])
    arcs, _ = spans(graph.pair_starts, pairs)
    loops = np.flatnonzero(np.isin(graph.loop_node, full))
    every = (full, far, graph.pair_low[pairs], graph.pair_high[pairs])
    nodes = np.unique(np.concatenate(every)).astype(np.int64)
    sources = np.concatenate((graph.arc_source[arcs], graph.loop_node[loops]))
    targets = np.concatenate((graph.arc_target[arcs], graph.loop_node[loops]))
    return Surroundings(
        nodes=nodes,
        arcs=arcs,
        sources=np.searchsorted(nodes, sources),
        targets=np.searchsorted(nodes, targets),
        ties=np.concatenate((graph.arc_tie[arcs], graph.loop_tie[loops])).astype(np.int64),
    )


def everything(graph: Graph) -> Surroundings:
    """The whole graph as surroundings of anybody."""
    union = whole_graph(graph)
    return Surroundings(
        nodes=union.nodes,
        arcs=np.arange(len(graph.arc_source)),
        sources=union.sources,
        targets=union.targets,
        ties=union.ties,
    )


def new_ties(graph: Graph) -> Pool:
    """What new ties weigh and carry, a row a kind: the medians of that kind, or of all ties."""
    ties = graph.ties
    chosen = [ties.kind == code for code in range(len(ties.kinds))]
    chosen = [mask if mask.any() else np.ones(len(ties), bool) for mask in chosen]
    weight = attributes = None
    if ties.weight is not None:
        weight = np.array([_median(ties.weight[mask]) for mask in chosen], np.float32)
    if ties.attributes is not None:
        attributes = np.array(
            [[_median(column[mask]) for column in ties.attributes.T] for mask in chosen], np.float32
        )
    kind = np.arange(len(ties.kinds), dtype=np.int16)
    return Pool(features=graph.features[:0], weight=weight, attributes=attributes, kind=kind)


def _median(values: Floats) -> float:
    return float(np.median(values)) if len(values) else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Versions side by side, whose rows to read, and their features."""

    union: Union
    rows: Ints
    features: Floats


class Variants:
    """Writes versions of one subject's surroundings, always into the same block of features.

    A question must have been answered before the next one is written, and `restore` called when
    somebody else shares the features.
    """

    def __init__(
        self, table: ActionTable, around: Surroundings, features: Floats, copies: int
    ) -> None:
        """`features` are those of the nodes around, in the model's number type."""
        self.around = around
        self.copies = copies
        self._table = table
        self._size = len(around.nodes)
        self._place = int(around.place(np.array([table.subject]))[0])
        self._own = features[self._place].copy()
        self._features = features
        self._nodes = around.nodes
        self._sources, self._targets = around.sources[None], around.targets[None]
        self._ties = around.ties[None]
        if copies > 1:
            shift = np.arange(copies)[:, None] * self._size
            self._features = np.tile(features, (copies, 1))
            self._nodes = np.tile(around.nodes, copies)
            self._sources, self._targets = self._sources + shift, self._targets + shift
            self._ties = np.tile(around.ties, (copies, 1))
        self._arc = np.searchsorted(around.arcs, table.arc)
        self._directed = table.graph.directed

    def ask(self, combinations: Ints) -> Question:
        """Write one version for each combination, at most as many as there are copies."""
        count, table = len(combinations), self._table
        assert count <= self.copies
        do = np.where(combinations == NONE, NONE, table.do[combinations])
        sources, targets, ties = self._sources[:count], self._targets[:count], self._ties[:count]
        keep = np.ones(sources.shape, bool)
        row, column = np.nonzero(do == DROP)
        arc = self._arc[combinations[row, column]]
        keep[row, arc] = False
        if not self._directed:
            keep[row, arc + 1] = False
        row, column = np.nonzero(do == ADD)
        if len(row):
            more = self._added(count, row, column, combinations)
            sources, targets, ties, keep = (
                np.concatenate(both, axis=1)
                for both in zip((sources, targets, ties, keep), more, strict=True)
            )
        self._set(combinations, do)
        return Question(
            union=Union(
                nodes=self._nodes[: count * self._size],
                node_starts=np.arange(count + 1) * self._size,
                sources=sources[keep],
                targets=targets[keep],
                ties=ties[keep],
                arc_starts=np.concatenate(([0], np.cumsum(keep.sum(axis=1)))),
            ),
            rows=np.arange(count) * self._size + self._place,
            features=self._features[: count * self._size],
        )

    def _added(
        self, count: int, row: Ints, column: Ints, combinations: Ints
    ) -> tuple[Ints, Ints, Ints, np.ndarray]:
        """Room for the arcs of new ties behind the others, and which of it is used."""
        table, width = self._table, combinations.shape[1]
        action = combinations[row, column]
        ways = 1 if self._directed else 2
        sources, targets, ties = (np.zeros((count, ways * width), np.int64) for _ in range(3))
        keep = np.zeros((count, ways * width), bool)
        ends = (
            self.around.place(table.source[action]) + row * self._size,
            self.around.place(table.target[action]) + row * self._size,
        )
        for way in range(ways):
            place = ways * column + way
            sources[row, place], targets[row, place] = ends[way], ends[1 - way]
            ties[row, place] = len(table.graph.ties) + table.kind[action]
            keep[row, place] = True
        return sources, targets, ties, keep

    def restore(self) -> None:
        """Give every version's subject their own features again."""
        self._features[self._place :: self._size] = self._own

    def _set(self, combinations: Ints, do: Ints) -> None:
        """Write the features that each version changes."""
        if not self._table.moves:
            return
        self.restore()
        own = np.arange(len(combinations)) * self._size + self._place
        row, column = np.nonzero(do == SET)
        entry, owner = spans(self._table.changes, combinations[row, column])
        self._features[own[row[owner]], self._table.column[entry]] = self._table.number[entry]
