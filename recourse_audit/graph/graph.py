"""The graph as flat arrays, which every later stage reads and none changes.

Vocabulary
----------
tie    one row of the user's table: two nodes and, optionally, a kind, a weight and attributes.
arc    one direction in which a tie carries messages; an undirected tie has two arcs.
pair   two different nodes with at least one tie between them; counterfactuals remove whole pairs.
loop   a tie from a node to itself; it stays with its node in every query.

Arcs are sorted by pair, so the arcs of pair p are `pair_starts[p]:pair_starts[p + 1]`. Pairs are
sorted by their two ends, so a pair's number is its position in the canonical order of ties.

A graph of several kinds of nodes (`Kinds`) has the same arrays. Its nodes are numbered kind by
kind, those that are decided on first; the kinds of its ties are relations, and its features lie in
blocks of columns, one block per kind. Every tie has two arcs, whatever its relation; which inputs
of a model take them is for the model's door to say (`model.queries`).
"""

import sys
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import GraphError, SubjectError
from recourse_audit.settings.section import MOST_COMPARED, close_matches

# Arcs are numbered in 32 bits, and a tie may have two.
MOST_TIES = 2**30 - 1
# How many entries go through a wider type at a time.
AT_ONCE = 2**22
_LOWER_HALF = 0 if sys.byteorder == "little" else 1

Ints = NDArray[np.int64]
Indices = NDArray[np.int32]
Floats = NDArray[np.floating]
Strings = NDArray[Any]  # of numpy's StringDType, which its type hierarchy leaves out


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

    def take(self, rows: NDArray[np.integer]) -> "Ties":
        return Ties(
            source=self.source[rows],
            target=self.target[rows],
            kind=self.kind[rows],
            kinds=self.kinds,
            weight=None if self.weight is None else self.weight[rows],
            attributes=None if self.attributes is None else self.attributes[rows],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A kind of tie in a graph of several kinds of nodes, and the kinds that it leads between.

    `attributes` is how many columns of the ties' attributes it has, from the first one on. Without
    a direction, a tie between two nodes of one kind is the same in both directions.
    """

    name: str
    source: int
    target: int
    directed: bool = True
    weighted: bool = False
    attributes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Kinds:
    """The kinds of nodes, those that are decided on first.

    Kind k has the nodes from `starts[k]` to `starts[k + 1]`, and the columns of features from
    `blocks[k][0]` to `blocks[k][1]`. Without `relations`, the graph is of one table, in which a
    column says what a node is, and the model's code for each kind is in `codes`.
    """

    names: tuple[str, ...]
    starts: Ints
    blocks: tuple[tuple[int, int], ...]
    relations: tuple[Relation, ...] = ()
    codes: tuple[int, ...] = ()

    def of(self, nodes: NDArray[np.integer]) -> Ints:
        return self.starts.searchsorted(nodes, "right") - 1

    def members(self, kind: int) -> range:
        return range(int(self.starts[kind]), int(self.starts[kind + 1]))

    def draw_alike(self, nodes: NDArray[np.integer], generator: np.random.Generator) -> Ints:
        """For each of some nodes, any node of the same kind."""
        kind = self.of(nodes)
        return generator.integers(self.starts[kind], self.starts[kind + 1])


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Graph:
    """Nodes and ties, indexed twice: as arcs for the model and as neighbours for the search.

    `arc_row` and `loop_row` say where a query finds what is known of a tie (`model.queries`): in
    the row of the tie, or, for the reversed arcs of relations, as many rows further on as there
    are ties. The last `head_only` features of the people, after their block, go into the
    model's head alone.
    """

    ids: Strings
    features: Floats
    feature_names: tuple[str, ...]
    attributes: Mapping[str, NDArray[np.generic]]
    directed: bool
    ties: Ties
    arc_source: Indices
    arc_target: Indices
    arc_tie: Indices
    arc_row: Indices
    pair_low: Indices
    pair_high: Indices
    pair_starts: Indices
    loop_node: Indices
    loop_row: Indices
    starts: Ints
    neighbour: Indices
    neighbour_pair: Indices
    kinds: Kinds | None = None
    head_only: int = 0
    more: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)
    _order: list[Ints] = field(default_factory=list, repr=False, compare=False)

    def __repr__(self) -> str:
        return (
            f"Graph(nodes={self.node_count}, ties={len(self.ties)}, "
            f"features={len(self.feature_names)})"
        )

    @property
    def node_count(self) -> int:
        """The number of nodes, including those without ties."""
        return len(self.ids)

    @property
    def person_count(self) -> int:
        """The number of nodes that are decided on, which come first."""
        return self.node_count if self.kinds is None else int(self.kinds.starts[1])

    @property
    def person_features(self) -> tuple[str, ...]:
        """The names of the features of those who are decided on, which come first."""
        width = None if self.kinds is None else self.kinds.blocks[0][1] + self.head_only
        return self.feature_names[:width]

    @property
    def carried(self) -> Ints | None:
        """The columns of features that a network takes, without those for its head; None: all."""
        if not self.head_only:
            return None
        width = self.features.shape[1]
        own = self.kinds.blocks[0][1] if self.kinds and self.relations else width - self.head_only
        return np.asarray(np.r_[0:own, own + self.head_only : width])

    @property
    def relations(self) -> tuple[Relation, ...]:
        """What the kinds of ties lead between, in a graph of several kinds of nodes."""
        return () if self.kinds is None else self.kinds.relations

    @property
    def row_count(self) -> int:
        """How many rows about ties a query can refer to."""
        return len(self.ties) * (2 if self.relations else 1)

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
        """What a person knows about the nodes, by the user's names: numbers or text.

        Features and attributes, then `more`: what encodings and formulas add.
        """
        return {**self.features_by_name, **self.attributes, **self.more}

    @property
    def column_names(self) -> list[str]:
        """The names of people's columns: attributes first, then features, then what is computed."""
        names = dict.fromkeys((*self.attributes, *self.feature_names, *self.more))
        return [name for name in names if not self.kind_of_column(name)]

    def kind_of_column(self, name: str) -> int:
        """The kind of the nodes that have a column; in a graph of one kind, and for people, 0."""
        kind, names = name.partition(".")[0], self.kinds.names if self.kinds else ()
        return names.index(kind) if self.relations and kind in names[1:] else 0

    def rows_of_column(self, name: str) -> slice:
        """The nodes that have a column; of one that all kinds share, the people."""
        if self.kinds is None:
            return slice(0, self.node_count)
        members = self.kinds.members(self.kind_of_column(name))
        return slice(members.start, members.stop)

    def degree(self, node: int) -> int:
        """The number of other nodes that this one is tied to."""
        return int(self.starts[node + 1] - self.starts[node])

    def neighbours(self, node: int) -> Indices:
        """The nodes tied to this one, in ascending order."""
        return self.neighbour[self.starts[node] : self.starts[node + 1]]

    def ends_of(self, arcs: NDArray[np.integer]) -> tuple[Indices, Indices]:
        """The ends of the ties that some arcs belong to, as `from` and `to` if relations say so."""
        if not self.relations:
            return self.arc_source[arcs], self.arc_target[arcs]
        ties = self.arc_tie[arcs]
        return self.ties.source[ties], self.ties.target[ties]

    def new_rows(self, kind: Ints) -> tuple[Ints, Ints]:
        """The rows about the two arcs of new ties of some kinds, which come after all others."""
        if not self.relations:
            return len(self.ties) + kind, len(self.ties) + kind
        forward = self.row_count + 2 * kind
        return forward, forward + np.array([r.directed for r in self.relations], int)[kind]

    def find(self, identifier: str) -> int:
        """The number of the node with this id, by binary search over ids that are sorted once.

        In a graph of several kinds, an id without its kind is that of somebody decided on.
        """
        if not self._order:
            self._order.append(np.argsort(self.ids, kind="stable"))
        order, numbers = self._order[0], []
        prefixes = ("", f"{self.kinds.names[0]}:") if self.kinds and self.relations else ("",)
        for name in (prefix + identifier for prefix in prefixes):
            place = bisect_left(order, name, key=lambda number: str(self.ids[number]))
            if place < len(order) and self.ids[order[place]] == name:
                numbers.append(int(order[place]))
        if len(numbers) > 1:
            assert self.kinds is not None
            raise SubjectError(
                f"the id {identifier!r} is that of a node, and of {self.kinds.names[0]} "
                f"{identifier!r}; write {f'{self.kinds.names[0]}:{identifier}'!r} for the latter, "
                "and rename one of them"
            )
        if numbers:
            return numbers[0]
        ids = self.ids[:MOST_COMPARED].tolist()
        hint = close_matches(identifier, ids) or f"ids look like {', '.join(ids[:3])}"
        raise SubjectError(f"there is no node with the id {identifier!r}; {hint}")


def build_graph(
    *,
    ids: Strings,
    features: Floats,
    feature_names: tuple[str, ...],
    attributes: Mapping[str, NDArray[np.generic]],
    ties: Ties,
    directed: bool,
    kinds: Kinds | None = None,
    origin: str = "the graph",
) -> Graph:
    """Index a table of nodes and a table of ties.

    If an undirected graph lists every tie in both directions, as PyG's `edge_index` does, each tie
    is read once. If the two rows of a tie then differ in weight or attributes, the graph is
    refused: read as two ties, they would give the model every arc twice. `origin` is the source of
    the ties, for error messages. Ties of several kinds of nodes are taken as they are.

    Notes
    -----
    O((N + T) log T) time for N nodes and T ties, and a few arrays of T entries. Positions are kept
    in 32 bits, also on the way, because arrays of ties are most of the memory.
    """
    if not len(ids):
        raise GraphError(f"{origin}: there are no nodes, so there is nobody to audit; add nodes")
    if len(ties) > MOST_TIES:
        raise GraphError(
            f"{origin}: has {len(ties):,} ties, more than {MOST_TIES:,}; audit a part of the graph"
        )
    relations = () if kinds is None else kinds.relations
    if not directed and not relations:
        ties = without_mirrors(ties, origin)
    count = len(ids)
    loops = ties.source == ties.target
    loop_tie = _positions(loops)
    loop_tie = loop_tie[np.argsort(ties.source[loop_tie], kind="stable")]
    row = _positions(np.logical_not(loops, out=loops))
    del loops
    low = np.minimum(ties.source[row], ties.target[row])
    high = np.maximum(ties.source[row], ties.target[row])
    order = _order_of_ends(low, high)
    low, high, row = low[order], high[order], row[order]
    del order
    first = np.ones(len(row), bool)
    first[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    pair_low, pair_high = low[first], high[first]
    tie_starts = np.append(_positions(first), np.int32(len(row)))
    del first

    source, target, tie, pair_starts = ties.source[row], ties.target[row], row, tie_starts
    if not directed:  # each tie carries messages in both directions
        source = np.stack((low, high), axis=1).ravel()
        target = np.stack((high, low), axis=1).ravel()
        tie, pair_starts = np.repeat(row, 2), np.int32(2) * tie_starts
    del low, high, row, tie_starts
    starts, neighbour, neighbour_pair = _adjacency(pair_low, pair_high, count)
    arc_row, loop_row, loop_node = tie, loop_tie, ties.source[loop_tie]
    if relations:
        one_way = np.array([relation.directed for relation in relations], bool)[ties.kind]
        reversed_arcs = (ties.source[tie] != source) & one_way[tie]
        arc_row = tie + np.int32(len(ties)) * reversed_arcs
        twice = np.repeat(loop_tie, 1 + one_way[loop_tie])
        loop_node = ties.source[twice]
        again = np.diff(twice, prepend=-1) == 0
        loop_row = twice + np.int32(len(ties)) * again
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
        arc_row=arc_row,
        pair_low=pair_low,
        pair_high=pair_high,
        pair_starts=pair_starts,
        loop_node=loop_node,
        loop_row=loop_row,
        starts=starts,
        neighbour=neighbour,
        neighbour_pair=neighbour_pair,
        kinds=kinds,
    )


def _adjacency(low: Indices, high: Indices, count: int) -> tuple[Ints, Indices, Indices]:
    """Sort the distinct neighbours of each node, each with the pair that leads to it."""
    # Pairs are sorted by (low, high). A node's neighbours come out sorted if we take first the
    # pairs in which it is the high end, ordered by low, and then those in which it is the low end.
    counts = np.stack([np.bincount(ends, minlength=count) for ends in (high, low)], 1)
    starts = np.concatenate(([0], np.cumsum(counts.sum(axis=1))))
    is_below = np.repeat(np.tile([True, False], count), counts.ravel())
    del counts
    by_high = _stable_order(high)
    neighbour = np.empty(2 * len(low), np.int32)
    pair = np.empty(2 * len(low), np.int32)
    neighbour[is_below], pair[is_below] = low[by_high], by_high
    del by_high
    is_above = np.logical_not(is_below, out=is_below)
    neighbour[is_above], pair[is_above] = high, np.arange(len(low), dtype=np.int32)
    return starts, neighbour, pair


def _positions(where: NDArray[np.bool_]) -> Indices:
    """The positions of what is true, in 32 bits."""
    return np.flatnonzero(where).astype(np.int32)


def without_mirrors(ties: Ties, origin: str) -> Ties:
    """Keep one row of each mirrored pair of rows, if every row of the table has its mirror."""
    backward = ties.source > ties.target
    ahead, behind = _positions(ties.source < ties.target), _positions(backward)
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
    return ties.take(np.flatnonzero(~backward))


def _row_order(ties: Ties, rows: Indices, first: Indices, second: Indices) -> Ints | Indices:
    """Order rows by their two ends, then by kind, weight and attributes."""
    keys: list[NDArray[np.generic]] = []
    if ties.attributes is not None:
        keys += [ties.attributes[rows, column] for column in range(ties.attributes.shape[1])]
    if ties.weight is not None:
        keys.append(ties.weight[rows])
    if not keys and len(ties.kinds) <= 1:
        return _order_of_ends(first[rows], second[rows])
    order = np.lexsort((*keys, ties.kind[rows]))
    rows = rows[order]
    return order[_order_of_ends(first[rows], second[rows])]


def _order_of_ends(first: Indices, second: Indices) -> Indices:
    """Order rows by two node numbers; equal rows keep their order."""
    order = _stable_order(second)
    return order[_stable_order(first[order])]


def _stable_order(values: Indices) -> Indices:
    """Do what a stable argsort does, but several times faster.

    A value and its position fit together into one 64-bit key, and numpy sorts such keys faster
    than it sorts positions by key.
    """
    keys = values.astype(np.int64)
    keys <<= 32
    for first in range(0, len(keys), AT_ONCE):
        part = keys[first : first + AT_ONCE]
        part |= np.arange(first, first + len(part))
    keys.sort()
    return keys.view(np.int32)[_LOWER_HALF::2].copy()
