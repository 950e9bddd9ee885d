"""Every subtree that contains a root, level by level, each exactly once, with array operations.

A rooted subtree with k nodes grows from the one with k-1 nodes that remains when its largest leaf
is taken away (the root never counts as a leaf). So a tree is grown only by leaves larger than all
its other leaves, and no tree is built twice: nothing needs to be compared or discarded except ties
that would close a cycle. `count_subtrees` says how many there are without making them.

Trees are stored as columns: entry [j, t] is the j-th node of tree t in order of growth. Trees of
one root are contiguous, because growing keeps the order. They lie in a `LocalGraph`, the part of
the graph around some roots, renumbered from 0: nodes and pairs keep the order of the whole graph,
so that canonical order is the same in both.

A set of ties has a 64-bit key, the sum of one well-mixed word per tie. So the key of a subtree is
that of the tree it grew from plus one word, and the key of a removed part is a difference of two
keys. Code that takes equal keys for equal sets also compares the sets.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recourse_audit.graph.graph import Graph, Indices, Ints
from recourse_audit.graph.neighbourhoods import reach, spans
from recourse_audit.model.state_sharing import ODD, mix

Keys = NDArray[np.uint64]


def tie_words(pairs: NDArray[np.integer], salt: int = 0) -> Keys:
    """A well-mixed word for each pair of the whole graph."""
    return mix((pairs.astype(np.uint64) + np.uint64(1 + (salt << 40))) * np.uint64(ODD))


def keys_of(words: Keys, ties: Indices) -> Keys:
    """The key of each column of ties; `words` has one word per tie."""
    key = np.zeros(ties.shape[1], np.uint64)
    for row in ties:
        key += words[row]
    return key


class KeyIndex:
    """Numbers distinct keys in the order in which they first come; one sort per batch."""

    def __init__(self) -> None:
        self._keys: Keys = np.empty(0, np.uint64)
        self._numbers: Ints = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._keys)

    def enter(self, keys: Keys) -> tuple[Ints, Ints]:
        """Number every key, and return the places in `keys` of those seen for the first time."""
        distinct, earliest, inverse = np.unique(keys, return_index=True, return_inverse=True)
        place = self._keys.searchsorted(distinct)
        is_new = np.append(self._keys, np.uint64(0))[place] != distinct
        is_new |= place == len(self._keys)
        number = np.append(self._numbers, 0)[place]
        new, fresh = np.flatnonzero(is_new), np.sort(earliest[is_new])
        number[new] = len(self._keys) + fresh.searchsorted(earliest[new])
        self._keys = np.insert(self._keys, place[new], distinct[new])
        self._numbers = np.insert(self._numbers, place[new], number[new])
        return number[inverse], fresh


class LocalGraph:
    """Every node at most `hops` ties from a root, and every tie among them.

    The neighbours of each node are sorted, with the `tie` that leads to each. `key` is
    `node * n + neighbour` for every entry, in ascending order, so that one binary search finds a
    place in any node's list. `low` and `high` are the ends of each pair. `within[r, v]` says
    whether node v lies in the neighbourhood of root r; it is None where there is only one root.
    Costs O(ties of those nodes); with several roots, also one byte per root and node.
    """

    def __init__(self, graph: Graph, roots: NDArray[np.integer], hops: int) -> None:
        self.nodes = nodes = reach(graph, roots, hops)
        positions, owner = spans(graph.starts, nodes)
        other = graph.neighbour[positions]
        place = np.minimum(np.searchsorted(nodes, other), len(nodes) - 1).astype(np.int32)
        inside = nodes[place] == other
        owner, self.neighbour = owner[inside], place[inside]
        self.pairs, tie = np.unique(graph.neighbour_pair[positions[inside]], return_inverse=True)
        self.tie = tie.astype(np.int32)
        self.low = np.searchsorted(nodes, graph.pair_low[self.pairs]).astype(np.int32)
        self.high = np.searchsorted(nodes, graph.pair_high[self.pairs]).astype(np.int32)
        self.starts = np.zeros(len(nodes) + 1, np.int64)
        np.cumsum(np.bincount(owner, minlength=len(nodes)), out=self.starts[1:])
        self.key = owner * len(nodes) + self.neighbour
        self.roots = np.searchsorted(nodes, roots).astype(np.int32)
        self.within: NDArray[np.bool_] | None = None
        if len(self.roots) > 1:
            self.within = _within(self.starts, self.neighbour, self.roots, hops)


def _within(starts: Ints, neighbour: Indices, roots: Indices, hops: int) -> NDArray[np.bool_]:
    """Mark the nodes in each root's own neighbourhood, by powers of the adjacency matrix."""
    count = len(starts) - 1
    ties = sparse.csr_array(
        (np.ones(len(neighbour), np.float32), neighbour, starts), shape=(count, count)
    )
    step = ties + sparse.eye_array(count, dtype=np.float32, format="csr")
    reach = step[roots]
    for _ in range(hops - 1):
        reach = reach @ step
        reach.data[:] = 1.0
    marked = np.zeros((len(roots), count), bool)
    marked[np.repeat(np.arange(len(roots)), np.diff(reach.indptr)), reach.indices] = True
    return marked


Whole = TypeVar("Whole", bound=np.integer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trees:
    """Rooted trees with the same number of nodes, as columns, in any order of growth.

    `parent[j]` is the place in `nodes` of the node that node j + 1 hangs on.
    """

    nodes: Indices
    ties: Indices
    parent: NDArray[np.int8]

    @property
    def size(self) -> int:
        return len(self.nodes)

    def __len__(self) -> int:
        return int(self.nodes.shape[1])

    def take(self, columns: Ints) -> "Trees":
        return Trees(
            nodes=self.nodes[:, columns], ties=self.ties[:, columns], parent=self.parent[:, columns]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Level(Trees):
    """All subtrees of one size, in the order in which they grow.

    `root` is the number of the root among the local graph's roots. `owner` is the place, in the
    level below, of the tree that this one grew from.
    """

    root: Indices
    owner: Indices


def level_of(trees: Trees, owner: NDArray[np.integer]) -> Level:
    """Trees of the only root as a level."""
    return Level(
        nodes=trees.nodes,
        ties=trees.ties,
        parent=trees.parent,
        root=np.zeros(len(trees), np.int32),
        owner=owner.astype(np.int32),
    )


def roots_alone(local: LocalGraph) -> Level:
    """The smallest subtree of every root: itself."""
    count = len(local.roots)
    number = np.arange(count, dtype=np.int32)
    return Level(
        root=number,
        nodes=local.roots[None, :],
        ties=np.empty((0, count), np.int32),
        parent=np.empty((0, count), np.int8),
        owner=number,
    )


def subtrees(local: LocalGraph, max_nodes: int) -> Iterator[Level]:
    """Yield the subtrees of every root, smallest first: one node, two nodes, up to `max_nodes`.

    Costs a few array operations per entry; memory is that of the largest level.
    """
    level = roots_alone(local)
    yield level
    while level.size < max_nodes:
        level = grow(local, level)
        yield level


def grow(local: LocalGraph, level: Level) -> Level:
    """Add one leaf to every tree in every way that makes it the largest leaf."""
    first, count = _leaf_spans(local, level)
    flat = count.ravel()
    slot = np.repeat(np.arange(len(flat), dtype=np.int32), flat)
    position = np.arange(len(slot)) + (first.ravel() - np.cumsum(flat) + flat)[slot]
    tree, place = slot // np.int32(level.size), slot % np.int32(level.size)
    leaf = local.neighbour[position]
    fresh = np.ones(len(slot), bool)
    for node in level.nodes:
        fresh &= node[tree] != leaf
    if local.within is not None:
        fresh &= local.within[level.root[tree], leaf]
    if not fresh.all():
        keep = np.flatnonzero(fresh)
        tree, place, leaf, position = tree[keep], place[keep], leaf[keep], position[keep]
    return Level(
        root=level.root[tree],
        nodes=_with_row(level.nodes, tree, leaf),
        ties=_with_row(level.ties, tree, local.tie[position]),
        parent=_with_row(level.parent, tree, place.astype(np.int8)),
        owner=tree,
    )


def _leaf_spans(local: LocalGraph, level: Level) -> tuple[Ints, Ints]:
    """Where the leaves that may grow on each node of each tree begin in its list, and their number.

    Leaves that are in the tree already are still counted. Both arrays are [tree, node].
    """
    size, count = level.nodes.shape
    label = level.nodes.copy()
    label[0] = -1
    trees = np.arange(count)
    for parent in level.parent:
        label[parent, trees] = -1
    first = np.empty((count, size), np.int64)
    for place in range(size):
        others = [label[j] for j in range(size) if j != place]
        largest = np.maximum.reduce(others) if others else np.full(count, -1)
        row = level.nodes[place].astype(np.int64) * len(local.nodes)
        first[:, place] = np.searchsorted(local.key, row + largest, side="right")
    return first, local.starts[level.nodes.T + 1] - first


def _with_row(rows: NDArray[Whole], trees: Indices, last: NDArray[Whole]) -> NDArray[Whole]:
    taken = np.empty((len(rows) + 1, len(trees)), rows.dtype)
    for place, row in enumerate(rows):
        np.take(row, trees, out=taken[place])
    taken[-1] = last
    return taken


CLOSED_FORM = 4
COUNTED_BY_GROWING = 400_000
GROWN_AT_ONCE = 1 << 14


def count_subtrees(local: LocalGraph, max_nodes: int) -> int | None:
    """Count the only root's subtrees, itself included; None if that costs as much as searching."""
    total = 1 + sum(_closed_forms(local)[: max_nodes - 1])
    if max_nodes <= CLOSED_FORM:
        return total
    if total > COUNTED_BY_GROWING:
        return None
    total = 0
    for level in subtrees(local, max_nodes - 1):
        total += len(level)
        if len(level) > COUNTED_BY_GROWING:
            return None
    for first in range(0, len(level), GROWN_AT_ONCE):
        part = np.arange(first, min(first + GROWN_AT_ONCE, len(level)))
        total += len(grow(local, level_of(level.take(part), part)))
    return total


def _closed_forms(local: LocalGraph) -> tuple[int, int, int]:
    """The number of subtrees of the root with two, three and four nodes."""
    root, degree = int(local.roots[0]), np.diff(local.starts)
    near = local.neighbour[local.starts[root] : local.starts[root + 1]]
    own, beyond = len(near), degree[near] - 1
    second = local.neighbour[spans(local.starts, near)[0]]
    second = second[second != root]
    is_near = np.zeros(len(local.nodes), np.int64)
    is_near[near] = 1
    three = own * (own - 1) // 2 + int(beyond.sum())
    star = own * (own - 1) * (own - 2) // 6
    fork = int((beyond * (beyond - 1) // 2).sum())
    path_from_end = int((degree[second] - 1 - is_near[second]).sum())
    path_from_inside = int((own - 1 - is_near[second]).sum())
    return own, three, star + fork + path_from_end + path_from_inside
