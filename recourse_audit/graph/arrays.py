"""The graph as flat arrays, which every later stage reads and none changes.

Vocabulary
----------
tie    one row of the user's table: two nodes and, optionally, a kind, a weight and attributes.
arc    one direction in which a tie carries messages; an undirected tie has two arcs.
pair   two different nodes with at least one tie between them; counterfactuals remove whole pairs.
loop   a tie from a node to itself; it stays with its node in every query.

Arcs are sorted by pair, so the arcs of pair p are `pair_starts[p]:pair_starts[p + 1]`. Pairs are
sorted by their two ends, so a pair's number is its position in the canonical order of ties.
"""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import GraphError, SubjectError

Ints = NDArray[np.int64]
Indices = NDArray[np.int32]
Floats = NDArray[np.floating]
Strings = np.ndarray[tuple[int], np.dtypes.StringDType]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ties:
    """The user's table of ties: one entry per row, with node numbers as ends."""

    source: Indices
    target: Indices
    kind: NDArray[np.int16]
    kinds: tuple[str, ...]
    weight: NDArray[np.float32] | None = None
    attributes: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """Nodes and ties, indexed twice: as arcs for the model and as neighbours for the search."""

    ids: Strings
    features: Floats
    feature_names: tuple[str, ...]
    attributes: Mapping[str, NDArray[np.generic]]
    directed: bool
    ties: Ties
    arc_source: Indices
    arc_target: Indices
    arc_tie: Indices
    pair_low: Indices
    pair_high: Indices
    pair_starts: Ints
    loop_node: Indices
    loop_tie: Indices
    starts: Ints
    neighbour: Indices
    neighbour_pair: Indices
    more: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)
    _order: list[Ints] = field(default_factory=list, repr=False, compare=False)

    @property
    def node_count(self) -> int:
        """The number of nodes, including those without ties."""
        return len(self.ids)

    @property
    def pair_count(self) -> int:
        """The number of pairs of different nodes that have a tie."""
        return len(self.pair_low)

    @property
    def features_by_name(self) -> dict[str, NDArray[np.generic]]:
        """The features as single columns, in the model's order; they share the graph's memory."""
        return {name: self.features[:, place] for place, name in enumerate(self.feature_names)}

    @property
    def columns(self) -> dict[str, NDArray[np.generic]]:
        """What a person knows about the nodes, by the user's names: numbers or text, one per node.

        Attributes and features; then `more`, which encodings and formulas add: categories as text
        and derived numbers.
        """
        return {**self.features_by_name, **self.attributes, **self.more}

    @property
    def column_names(self) -> list[str]:
        """The names of the columns: attributes first, then features, then what is computed."""
        return [*dict.fromkeys((*self.attributes, *self.feature_names, *self.more))]

    def degree(self, node: int) -> int:
        """The number of other nodes that this one is tied to."""
        return int(self.starts[node + 1] - self.starts[node])

    def neighbours(self, node: int) -> Indices:
        """The nodes tied to this one, in ascending order."""
        return self.neighbour[self.starts[node] : self.starts[node + 1]]

    def find(self, identifier: str) -> int:
        """The number of the node with this id, by binary search over ids that are sorted once."""
        if not self._order:
            self._order.append(np.argsort(self.ids, kind="stable"))
        order = self._order[0]
        place = bisect_left(order, identifier, key=lambda number: str(self.ids[number]))
        if place < len(order) and self.ids[order[place]] == identifier:
            return int(order[place])
        some = ", ".join(str(name) for name in self.ids[:3])
        raise SubjectError(f"there is no node with the id {identifier!r}; ids look like {some}")


def build_graph(
    *,
    ids: Strings,
    features: Floats,
    feature_names: tuple[str, ...],
    attributes: Mapping[str, NDArray[np.generic]],
    ties: Ties,
    directed: bool,
    origin: str = "the graph",
) -> Graph:
    """Index a table of nodes and a table of ties.

    If an undirected graph lists every tie in both directions, as PyG's `edge_index` does, each tie
    is read once. If the two rows of a tie then differ in weight or attributes, the graph is
    refused: read as two ties, they would give the model every arc twice. `origin` is the source of
    the ties, for error messages.

    Notes
    -----
    O((N + T) log T) time for N nodes and T ties, and a few arrays of T entries.
    """
    if not len(ids):
        raise GraphError(f"{origin}: there are no nodes, so there is nobody to audit; add nodes")
    if not directed:
        ties = _without_mirrors(ties, origin)
    count = len(ids)
    loops = ties.source == ties.target
    loop_tie = np.flatnonzero(loops).astype(np.int32)
    loop_tie = loop_tie[np.argsort(ties.source[loop_tie], kind="stable")]
    row = np.flatnonzero(~loops)
    low = np.minimum(ties.source[row], ties.target[row])
    high = np.maximum(ties.source[row], ties.target[row])
    order = _order_of_ends(low, high)
    low, high, row = low[order], high[order], row[order]
    first = np.ones(len(row), bool)
    first[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    tie_starts = np.append(np.flatnonzero(first), len(row))
    pair_low, pair_high = low[first], high[first]
    del low, high, order, first

    source, target, tie, pair_starts = _arcs(ties, row, tie_starts, directed=directed)
    starts, neighbour, neighbour_pair = _adjacency(pair_low, pair_high, count)
    return Graph(
        ids=ids,
        features=features,
        feature_names=feature_names,
        attributes=attributes,
        directed=directed,
        ties=ties,
        arc_source=source,
        arc_target=target,
        arc_tie=tie,
        pair_low=pair_low,
        pair_high=pair_high,
        pair_starts=pair_starts,
        loop_node=ties.source[loop_tie],
        loop_tie=loop_tie,
        starts=starts,
        neighbour=neighbour,
        neighbour_pair=neighbour_pair,
    )


def _arcs(
    ties: Ties, row: Ints, tie_starts: Ints, *, directed: bool
) -> tuple[Indices, Indices, Indices, Ints]:
    """List the arcs pair by pair; an undirected tie carries messages in both directions."""
    source, target, tie = ties.source[row], ties.target[row], row.astype(np.int32)
    if directed:
        return source, target, tie, tie_starts
    both = np.empty((2, len(row), 2), np.int32)
    both[0, :, 0] = both[1, :, 1] = np.minimum(source, target)
    both[0, :, 1] = both[1, :, 0] = np.maximum(source, target)
    return both[0].ravel(), both[1].ravel(), np.repeat(tie, 2), 2 * tie_starts


def _adjacency(low: Indices, high: Indices, count: int) -> tuple[Ints, Indices, Indices]:
    """Sort the distinct neighbours of each node, each with the pair that leads to it."""
    # Pairs are sorted by (low, high). A node's neighbours come out sorted if we take first the
    # pairs in which it is the high end, ordered by low, and then those in which it is the low end.
    counts = np.stack((np.bincount(high, minlength=count), np.bincount(low, minlength=count)), 1)
    starts = np.concatenate(([0], np.cumsum(counts.sum(axis=1))))
    is_below = np.repeat(np.tile([True, False], count), counts.ravel())
    is_above = ~is_below
    by_high = _stable_order(high)
    neighbour = np.empty(2 * len(low), np.int32)
    pair = np.empty(2 * len(low), np.int32)
    neighbour[is_below], pair[is_below] = low[by_high], by_high
    neighbour[is_above], pair[is_above] = high, np.arange(len(low))
    return starts, neighbour, pair


def _without_mirrors(ties: Ties, origin: str) -> Ties:
    """Keep one row of each mirrored pair of rows, if every row of the table has its mirror."""
    backward = ties.source > ties.target
    ahead, behind = np.flatnonzero(ties.source < ties.target), np.flatnonzero(backward)
    if not len(ahead) or len(ahead) != len(behind):
        return ties
    ahead = ahead[_row_order(ties, ahead, ties.source, ties.target)]
    behind = behind[_row_order(ties, behind, ties.target, ties.source)]
    mirrored = (
        np.array_equal(ties.source[ahead], ties.target[behind])
        and np.array_equal(ties.target[ahead], ties.source[behind])
        and np.array_equal(ties.kind[ahead], ties.kind[behind])
    )
    if not mirrored:
        return ties
    for name, column in (("weights", ties.weight), ("attributes", ties.attributes)):
        if column is not None and not np.array_equal(column[ahead], column[behind]):
            raise GraphError(
                f"{origin}: every tie is listed in both directions, but with different {name}; set "
                "graph.directed to true if the directions differ, or list each tie once"
            )
    keep = np.flatnonzero(~backward)
    return Ties(
        source=ties.source[keep],
        target=ties.target[keep],
        kind=ties.kind[keep],
        kinds=ties.kinds,
        weight=None if ties.weight is None else ties.weight[keep],
        attributes=None if ties.attributes is None else ties.attributes[keep],
    )


def _row_order(ties: Ties, rows: Ints, first: Indices, second: Indices) -> Ints:
    """Order rows by their two ends, then by kind, weight and attributes."""
    keys: list[NDArray[np.generic]] = []
    if ties.attributes is not None:
        keys += [ties.attributes[rows, column] for column in range(ties.attributes.shape[1])]
    if ties.weight is not None:
        keys.append(ties.weight[rows])
    if keys or len(ties.kinds) > 1:
        order = np.lexsort((*keys, ties.kind[rows]))
        rows = rows[order]
        return order[_order_of_ends(first[rows], second[rows])]
    return _order_of_ends(first[rows], second[rows])


def _order_of_ends(first: Indices, second: Indices) -> Ints:
    """Order rows by two node numbers; equal rows keep their order."""
    order = _stable_order(second)
    return order[_stable_order(first[order])]


def _stable_order(values: Indices) -> Ints:
    """Do what a stable argsort does, but several times faster.

    A value and its position fit together into one 64-bit key, and numpy sorts such keys faster
    than it sorts positions by key.
    """
    keys = values.astype(np.int64)
    keys <<= 32
    keys |= np.arange(len(values))
    keys.sort()
    keys &= 0xFFFFFFFF
    return keys
