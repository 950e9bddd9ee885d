"""Every subtree that contains a root, level by level, each exactly once, with array operations.

A rooted subtree with k nodes grows from the one with k-1 nodes that remains when its largest leaf
is taken away (the root never counts as a leaf). So a tree is grown only by leaves larger than all
its other leaves, and no tree is built twice: nothing needs to be compared or discarded except ties
that would close a cycle.

`count_subtrees` says how many there are without making them.

Trees are stored as columns: entry [j, t] is the j-th node of tree t in order of growth. Trees of
one root are contiguous, because growing keeps the order.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.arrays import Indices, Ints
from recourse_audit.graph.neighbourhoods import spans
from recourse_audit.search.local import LocalGraph

Whole = TypeVar("Whole", bound=np.integer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """Rooted subtrees with the same number of nodes.

    `root` is the number of the root among the local graph's roots. `parent[j]` is the place in
    `nodes` of the node that node j + 1 hangs on. `owner` is the place, in the level below, of the
    tree that this one grew from.
    """

    root: Indices
    nodes: Indices
    ties: Indices
    parent: NDArray[np.int8]
    owner: Indices

    @property
    def size(self) -> int:
        """How many nodes each of the trees has."""
        return len(self.nodes)

    def __len__(self) -> int:
        return int(self.nodes.shape[1])

    def of_root(self, root: int, owner_shift: int) -> tuple["Level", slice]:
        """The trees of one root as if it were the only one, and their place in the level.

        Owners are counted from `owner_shift`.
        """
        first, last = (int(place) for place in self.root.searchsorted((root, root + 1)))
        level = Level(
            root=np.zeros(last - first, np.int32),
            nodes=self.nodes[:, first:last],
            ties=self.ties[:, first:last],
            parent=self.parent[:, first:last],
            owner=self.owner[first:last] - np.int32(owner_shift),
        )
        return level, slice(first, last)

    def select(self, trees: Ints) -> "Level":
        """Some of the trees, in the order given."""
        return Level(
            root=self.root[trees],
            nodes=self.nodes[:, trees],
            ties=self.ties[:, trees],
            parent=self.parent[:, trees],
            owner=self.owner[trees],
        )


def roots_alone(local: LocalGraph) -> Level:
    """The smallest subtree of every root: itself."""
    count = len(local.roots)
    return Level(
        root=np.arange(count, dtype=np.int32),
        nodes=local.roots[None, :],
        ties=np.empty((0, count), np.int32),
        parent=np.empty((0, count), np.int8),
        owner=np.arange(count, dtype=np.int32),
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
    first, count = leaf_spans(local, level)
    size = level.size
    flat = count.ravel()
    slot = np.repeat(np.arange(len(flat), dtype=np.int32), flat)
    ends = np.cumsum(flat)
    position = np.arange(len(slot)) + (first.ravel() - ends + flat)[slot]
    tree, place = slot // np.int32(size), slot % np.int32(size)
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


def leaf_spans(local: LocalGraph, level: Level) -> tuple[Ints, Ints]:
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
    """Take some columns, and append one row."""
    taken = np.empty((len(rows) + 1, len(trees)), rows.dtype)
    for place, row in enumerate(rows):
        np.take(row, trees, out=taken[place])
    taken[-1] = last
    return taken


CLOSED_FORM = 4
COUNTED_BY_GROWING = 400_000


def count_subtrees(local: LocalGraph, max_nodes: int) -> int | None:
    """Count the subtrees of the only root with at most `max_nodes` nodes, the root alone included.

    None where counting would cost as much as searching.
    """
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
    return total + _last_level(local, level)


def _closed_forms(local: LocalGraph) -> tuple[int, int, int]:
    """The number of subtrees of the root with two, three and four nodes."""
    root = int(local.roots[0])
    degree = local.degree
    near = local.neighbour[local.starts[root] : local.starts[root + 1]]
    own = int(degree[root])
    beyond = degree[near] - 1
    positions, _ = spans(local.starts, near)
    second = local.neighbour[positions]
    second = second[second != root]
    is_near = np.zeros(len(local.nodes), np.int64)
    is_near[near] = 1
    three = own * (own - 1) // 2 + int(beyond.sum())
    star = own * (own - 1) * (own - 2) // 6
    fork = int((beyond * (beyond - 1) // 2).sum())
    path_from_end = int((degree[second] - 1 - is_near[second]).sum())
    path_from_inside = int((own - 1 - is_near[second]).sum())
    return own, three, star + fork + path_from_end + path_from_inside


def _last_level(local: LocalGraph, level: Level) -> int:
    """Count what would grow from a level: the leaves in reach, minus those already in the tree."""
    first, count = leaf_spans(local, level)
    total = int(count.sum())
    for place in range(level.size):
        row = level.nodes[place].astype(np.int64) * len(local.nodes)
        for node in level.nodes:
            position = np.searchsorted(local.key, row + node)
            position = np.minimum(position, len(local.key) - 1)
            tied = (local.key[position] == row + node) & (position >= first[:, place])
            total -= int(np.count_nonzero(tied))
    return total
