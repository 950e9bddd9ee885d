"""The shapes that rooted trees come in, and uniform draws of subtrees by shape.

A shape is the sorted tuple of its root's children's shapes; a leaf is (). A *walk* of a shape maps
it into the graph: the root goes to the subject, and each child to any neighbour of its parent's
node. Walks are counted exactly by dynamic programming and drawn uniformly from the top down. A walk
that visits no node twice is a subtree, and each subtree of a shape is found by as many walks as the
shape has automorphisms. So draw a shape with a probability proportional to walks over
automorphisms, draw a walk, and keep it if it is a subtree: all subtrees are equally likely.
"""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import combinations_with_replacement
from math import factorial

import numpy as np
from scipy import sparse

from recourse_audit.graph.arrays import Floats, Indices, Ints
from recourse_audit.search.closure import Trees
from recourse_audit.search.local import LocalGraph

Shape = tuple["Shape", ...]
LEAF: Shape = ()


@cache
def shapes(size: int) -> tuple[Shape, ...]:
    """All shapes of rooted trees with `size` nodes, each once."""
    if size == 1:
        return (LEAF,)
    return tuple(sorted({tuple(sorted(forest)) for forest in _forests(size - 1, size - 1)}))


def _forests(total: int, largest: int) -> Iterator[tuple[Shape, ...]]:
    """Collections of shapes with `total` nodes in all, none larger than `largest`."""
    if total == 0:
        yield ()
        return
    for size in range(min(total, largest), 0, -1):
        for number in range(1, total // size + 1):
            for chosen in combinations_with_replacement(shapes(size), number):
                for rest in _forests(total - number * size, size - 1):
                    yield (*chosen, *rest)


def automorphisms(shape: Shape) -> int:
    """In how many ways a rooted tree maps onto itself."""
    ways = 1
    for child, number in Counter(shape).items():
        ways *= factorial(number) * automorphisms(child) ** number
    return ways


class SubtreeSampler:
    """Draws subtrees of the only root of a local graph, uniformly and independently.

    Setting up costs one product with the adjacency matrix for each shape that occurs; a draw costs
    one binary search per node.
    """

    def __init__(self, local: LocalGraph, max_nodes: int) -> None:
        self._local = local
        count = len(local.nodes)
        ones = np.ones(len(local.neighbour))
        self._ties = sparse.csr_array((ones, local.neighbour, local.starts), shape=(count, count))
        self._walks: dict[Shape, Floats] = {LEAF: np.ones(count)}
        self._sums: dict[Shape, Floats] = {}
        self._root = int(local.roots[0])
        self._shapes = [shape for size in range(2, max_nodes + 1) for shape in shapes(size)]
        self.weights = np.array(
            [self._walked(shape)[self._root] / automorphisms(shape) for shape in self._shapes]
        )
        self.walked = 0
        self.kept = 0

    def draw(self, generator: np.random.Generator, count: int) -> list[tuple[Trees, Ints]]:
        """Draw `count` walks; return the subtrees among them, by shape, and when each was drawn."""
        chosen = generator.multinomial(count, self.weights / self.weights.sum())
        turns = generator.permutation(count)
        drawn, first = [], 0
        for shape, number in zip(self._shapes, chosen.tolist(), strict=True):
            trees, simple = self._walk(shape, number, generator)
            drawn.append((trees, turns[first : first + number][simple]))
            first += number
            self.kept += len(simple)
        self.walked += count
        return drawn

    def estimated_total(self) -> float:
        """How many subtrees there are, judging by the share of walks that are; root included."""
        return 1.0 + float(self.weights.sum()) * self.kept / max(self.walked, 1)

    def _walked(self, shape: Shape) -> Floats:
        """How many walks of a shape start at each node."""
        if shape not in self._walks:
            walks = np.ones(len(self._local.nodes))
            for child in shape:
                walks = walks * (self._ties @ self._walked(child))
            self._walks[shape] = walks
        return self._walks[shape]

    def _walk(
        self, shape: Shape, number: int, generator: np.random.Generator
    ) -> tuple[Trees, Ints]:
        """Draw walks of one shape, and keep those that visit no node twice."""
        nodes = [np.full(number, self._root, np.int32)]
        ties: list[Indices] = []
        parents: list[int] = []
        todo = [(0, child) for child in shape]
        while todo:
            parent, child = todo.pop(0)
            position = self._step(nodes[parent], child, generator)
            todo += [(len(nodes), grandchild) for grandchild in child]
            nodes.append(self._local.neighbour[position])
            ties.append(self._local.tie[position])
            parents.append(parent)
        simple = np.ones(number, bool)
        for one in range(len(nodes)):
            for other in range(one):
                simple &= nodes[one] != nodes[other]
        keep = np.flatnonzero(simple)
        grown = np.repeat(np.array(parents, np.int8)[:, None], len(keep), axis=1)
        trees = Trees(nodes=np.stack(nodes)[:, keep], ties=np.stack(ties)[:, keep], parent=grown)
        return trees, keep

    def _step(self, start: Indices, child: Shape, generator: np.random.Generator) -> Ints:
        """Choose a neighbour of each node, with a probability proportional to its walks."""
        starts = self._local.starts
        chance = generator.random(len(start))
        if child == LEAF:
            degree = starts[start + 1] - starts[start]
            step: Ints = np.minimum((chance * degree).astype(np.int64), degree - 1)
            return starts[start] + step
        if child not in self._sums:
            # Each node's list is scaled to add up to one: beside those of a large hub, the plain
            # sums of other nodes would vanish.
            along = self._walked(child)[self._local.neighbour]
            owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
            total = np.bincount(owner, weights=along, minlength=len(starts) - 1)
            share = along / np.where(total > 0, total, 1.0)[owner]
            self._sums[child] = np.concatenate(([0.0], np.cumsum(share)))
        sums = self._sums[child]
        low, high = sums[starts[start]], sums[starts[start + 1]]
        position = np.searchsorted(sums, low + chance * (high - low), side="right") - 1
        inside: Ints = np.clip(position, starts[start], starts[start + 1] - 1)
        return inside
