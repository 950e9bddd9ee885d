"""A set of one root's subtrees that is closed under taking subtrees, for the sampled search.

It contains all counterfactuals of every tree in it, so pairs, ranks and fronts are built from it
just as from the complete enumeration.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.arrays import Indices, Ints
from recourse_audit.search.evaluation import Evaluator, Scores, joined
from recourse_audit.search.keys import KeyIndex, Keys, tie_words
from recourse_audit.search.local import LocalGraph
from recourse_audit.search.packing import sorted_rows
from recourse_audit.search.subtrees import Level, roots_alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Trees:
    """Rooted trees of one size as columns, in any order of growth (see `Level`)."""

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
            nodes=self.nodes[:, columns],
            ties=self.ties[:, columns],
            parent=self.parent[:, columns],
        )


def stacked(parts: list[Trees]) -> list[Trees]:
    """Put trees of the same size together, the smallest first."""
    return [
        Trees(
            nodes=np.concatenate([part.nodes for part in parts if part.size == size], axis=1),
            ties=np.concatenate([part.ties for part in parts if part.size == size], axis=1),
            parent=np.concatenate([part.parent for part in parts if part.size == size], axis=1),
        )
        for size in sorted({part.size for part in parts})
    ]


def canonical(trees: Trees) -> Trees:
    """Reorder growth so that each tree without its last leaf is the tree it canonically grew from.

    The largest leaf comes last, then the largest of what remains, and so on down to the root.
    """
    size, count = trees.nodes.shape
    every = np.arange(count)
    above = np.concatenate((np.zeros((1, count), np.int8), trees.parent))
    children = np.zeros((size, count), np.int8)
    for row in range(1, size):
        np.add.at(children, (above[row], every), 1)
    label = trees.nodes.copy()
    label[0] = -1
    order = np.zeros((size, count), np.intp)
    for place in range(size - 1, 0, -1):
        picked = np.where(children == 0, label, -1).argmax(axis=0)
        order[place] = picked
        label[picked, every] = -1
        children[above[picked, every], every] -= 1
    rank = np.argsort(order, axis=0)
    parent = np.take_along_axis(rank, above[order, every].astype(np.intp), axis=0)[1:]
    return Trees(
        nodes=np.take_along_axis(trees.nodes, order, axis=0),
        ties=np.take_along_axis(trees.ties, order[1:] - 1, axis=0),
        parent=parent.astype(np.int8),
    )


def subtrees_of(trees: Trees) -> list[tuple[Trees, Ints]]:
    """All subtrees with at least one tie of each tree, itself included, by the ties they keep.

    Each comes with the columns of the trees that it is part of.
    """
    found = []
    ties = trees.size - 1
    for mask in range(1, 1 << ties):
        kept = [tie for tie in range(ties) if mask >> tie & 1]
        place = np.zeros(trees.size, np.int8)
        place[[tie + 1 for tie in kept]] = np.arange(1, len(kept) + 1)
        present = np.zeros(trees.size, bool)
        present[[0, *(tie + 1 for tie in kept)]] = True
        whole = present[trees.parent[kept]].all(axis=0)
        columns = np.flatnonzero(whole)
        rows = [0, *(tie + 1 for tie in kept)]
        part = Trees(
            nodes=trees.nodes[rows][:, columns],
            ties=trees.ties[kept][:, columns],
            parent=place[trees.parent[kept][:, columns]],
        )
        found.append((part, columns))
    return found


class Closure:
    """Takes in trees, evaluates those that are new, and gives levels and scores."""

    def __init__(self, local: LocalGraph, evaluator: Evaluator, max_nodes: int) -> None:
        self._local = local
        self._evaluator = evaluator
        self._words = tie_words(local.pairs)
        self._index = {size: KeyIndex() for size in range(2, max_nodes + 1)}
        self._trees: dict[int, Trees] = {}
        self._scores: dict[int, Scores] = {}
        alone = roots_alone(local)
        [score] = evaluator.score(local, [alone])
        self._alone = alone, score

    def __len__(self) -> int:
        return 1 + sum(len(index) for index in self._index.values())

    def add(self, trees: Trees) -> None:
        """Add trees with all their subtrees; those not seen before are evaluated."""
        for part, _ in subtrees_of(trees):
            if not len(part):
                continue
            number, fresh = self._index[part.size].enter(self._keys(part.ties))
            new = canonical(part.take(fresh))
            level = self._level(new, np.zeros(len(new), np.int32))
            [score] = self._evaluator.score(self._local, [level])
            if part.size in self._trees:
                [new] = stacked([self._trees[part.size], new])
                score = joined((self._scores[part.size], score))
            self._trees[part.size], self._scores[part.size] = new, score
            same = sorted_rows(new.ties[:, number]) == sorted_rows(part.ties)
            assert same.all(), "two sets of ties with one 64-bit key"

    def is_finite(self) -> bool:
        """Whether every answer so far is a number."""
        every = (self._alone[1], *self._scores.values())
        return all(np.isfinite(scores.simulatability).all() for scores in every)

    def keys_of(self, trees: Trees) -> Keys:
        """The keys of some trees' sets of ties."""
        return self._keys(trees.ties)

    def is_new(self, trees: Trees) -> NDArray[np.bool_]:
        """Mark the trees that are not in it yet; of several equal ones, the first."""
        index = KeyIndex()
        if trees.size in self._trees:
            index.enter(self._keys(self._trees[trees.size].ties))
        _, fresh = index.enter(self._keys(trees.ties))
        mask = np.zeros(len(trees), bool)
        mask[fresh] = True
        return mask

    def levels(self) -> tuple[tuple[Level, ...], Scores]:
        """Levels of growth, the root alone first, and the scores of all trees in their order."""
        alone, score = self._alone
        levels, scores = [alone], [score]
        for size in sorted(self._trees):
            trees = self._trees[size]
            if size == 2:
                owner = np.zeros(len(trees), np.int32)
            else:
                below = self._keys(trees.ties[:-1])
                owner = self._index[size - 1].enter(below)[0].astype(np.int32)
            levels.append(self._level(trees, owner))
            scores.append(self._scores[size])
        return tuple(levels), joined(scores)

    def _level(self, trees: Trees, owner: Indices) -> Level:
        return Level(
            root=np.zeros(len(trees), np.int32),
            nodes=trees.nodes,
            ties=trees.ties,
            parent=trees.parent,
            owner=owner,
        )

    def _keys(self, ties: Indices) -> Keys:
        key = np.zeros(ties.shape[1], np.uint64)
        for row in ties:
            key += self._words[row]
        return key
