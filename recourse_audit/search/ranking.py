"""Which pairs to show: the winner, the front, and diverse others, for every subject of a table.

Nothing here asks the model; it is all arithmetic over a `PairTable`. Pairs are identified by their
places in it. Lists with the pairs of several subjects are sorted by subject.

For a picture, all pairs of a subject are counted on a grid of ν and |μ|. A cell is 1/32 of the
subject's range of simulatability wide and 1/20 of its range of relevance high. The last cells
include the upper ends; where all values are equal, the first cells hold everything. Objectives are
whole steps of the resolution, so a pair's cell is exact and does not depend on the other subjects.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.graph import Floats, Indices, Ints
from recourse_audit.records.search import ObjectiveGrid
from recourse_audit.search.pareto import (
    GAP,
    NO_TIE,
    RESOLUTION,
    PairTable,
    Staircase,
    round_figures,
)

LAYERS_SEARCHED = 25
COLUMNS = 32
ROWS = 20
EXPLANATIONS_AT_ONCE = 1 << 14


class Ranking:
    """Competition ranks of all pairs of each subject along both objectives (eq. 6 of the paper)."""

    def __init__(self, table: PairTable) -> None:
        self.table = table
        keys = table.relevance_key
        self.relevances = np.sort(keys[keys != GAP])
        self.number = table.pairs_by_root
        self.ends = np.cumsum(self.number)
        self.staircase = Staircase.build(table.distance)
        self.simulatability_rank = self.staircase.ranks(
            table.number, table.root, self.ends - self.number
        )


class RankedPairs:
    """Some pairs and what is compared: both objectives in steps of the resolution, and ranks."""

    def __init__(self, ranking: Ranking, pairs: Ints) -> None:
        table, explanation = ranking.table, ranking.table.explanation(pairs)
        key = table.relevance_key[pairs]
        self.pairs = pairs
        self.root = table.root[explanation]
        offset = self.root * table.spread
        self.simulatability: Floats = offset - table.distance[explanation]
        self.relevance: Floats = key - offset
        self.simulatability_rank = ranking.simulatability_rank[explanation]
        after = ranking.ends[self.root] - ranking.relevances.searchsorted(key, "right")
        self.relevance_rank: Ints = 1 + after
        self.rank_sum = self.simulatability_rank + self.relevance_rank


class Layers:
    """Peels off the Pareto front, then the front of what remains, and so on: at most 25 layers.

    A pair on a front has the largest relevance of its explanation among the pairs that remain,
    so one sweep over explanations finds it.
    """

    def __init__(self, ranking: Ranking) -> None:
        self.number = 0
        self._ranking = ranking
        self._staircase = ranking.staircase
        self._keys = ranking.table.relevance_key
        self._best = ranking.table.best_key
        self._last = np.empty(0, np.int64)

    def peel(self, wanted: NDArray[np.bool_] | None = None) -> RankedPairs:
        """The next layer of the wanted subjects, or of all; empty if there is none.

        A subject that is left out once is left out of all later layers.
        """
        table = self._ranking.table
        if self.number:
            self._take_away(table, self._last)
        if wanted is not None and not wanted.all():
            root = table.root[self._staircase.order[self._staircase.starts]]
            self._staircase = self._staircase.only(np.flatnonzero(wanted[root]))
        self.number += 1
        pairs = np.empty(0, np.int64)
        if self.number <= LAYERS_SEARCHED and len(self._staircase.order):
            on_front = self._staircase.front(self._best)
            pairs = table.pairs_with(on_front, self._best[on_front], self._keys)
        if table.roots > 1:
            root = table.root[table.explanation(pairs)]
            pairs = pairs[np.argsort(root, kind="stable")]
        self._last = pairs
        return RankedPairs(self._ranking, pairs)

    def _take_away(self, table: PairTable, pairs: Ints) -> None:
        if self.number == 1:
            self._keys, self._best = self._keys.copy(), self._best.copy()
        self._keys[pairs] = GAP
        touched = np.unique(table.explanation(pairs))
        for block in table.blocks:
            first, last = touched.searchsorted((block.explanations.start, block.explanations.stop))
            columns = touched[first:last] - block.first_explanation
            left = block.of(self._keys)[:, columns]
            self._best[touched[first:last]] = left.max(axis=0, initial=GAP)


def least(values: NDArray[np.number], root: Indices, roots: int) -> Ints:
    """The places of the smallest value of each subject, ties included."""
    if roots == 1:
        return np.flatnonzero(values == values.min()) if len(values) else np.empty(0, np.int64)
    smallest = np.full(roots, np.inf)
    np.minimum.at(smallest, root, values)
    return np.flatnonzero(values == smallest[root])


def winners(table: PairTable, front: RankedPairs) -> Ints:
    """The pair of each subject with the best rank sum, which lies on the front (Theorem 1).

    Of several: fewest removed ties, then fewest nodes, then the canonical order of ties.
    """
    best = least(front.rank_sum, front.root, table.roots)
    return canonical_firsts(table, front.pairs[best], front.root[best])


def canonical_firsts(table: PairTable, pairs: Ints, root: Indices) -> Ints:
    """The first pair of each subject in canonical order, by subject."""
    if len(pairs) == 1:
        return pairs
    if table.roots > 1:
        order = np.argsort(root, kind="stable")
        pairs, root = pairs[order], root[order]
        if (root[1:] != root[:-1]).all():
            return pairs
    order = canonical_order(table, pairs)
    first = np.flatnonzero(np.diff(root, prepend=-1))
    return pairs[order[first]]


def canonical_order(table: PairTable, pairs: Ints, *leading: NDArray[np.number]) -> Ints:
    """Order pairs by subject, `leading`, removed ties, nodes, all ties, then the removed ones."""
    explanation, mask = table.places(pairs)
    every, gone = table.tie_columns(pairs)
    size = table.sizes(explanation)
    columns = (size - np.bitwise_count(mask), size, *every, *gone)
    return np.lexsort((table.root[explanation], *leading, *columns)[::-1])


def choose_diverse(
    table: PairTable, first: Ints, front: RankedPairs, layers: Layers, count: int
) -> tuple[Ints, Ints]:
    """Choose pairs that maximise the smallest Jaccard distance between removed ties.

    Starts from `first`, one pair per subject. Takes pairs from the front, and from a later layer
    only when nothing in the earlier ones removes anything new. `front` is the first layer of
    `layers`. Ties are broken by rank sum, then by canonical order. Returns the pairs and their
    layers, one row of at most `count` per subject, padded with -1 and 0.
    """
    chosen, from_layer = np.full((table.roots, count), -1), np.zeros((table.roots, count), np.int64)
    gone = np.full((count, len(table.ties), table.roots), NO_TIE, np.int32)
    number = np.zeros(table.roots, np.int64)

    def enter(pairs: Ints, root: Indices) -> None:
        place = number[root]
        chosen[root, place], from_layer[root, place] = pairs, layers.number
        gone[place, :, root] = table.ties_removed(pairs).T
        number[root] += 1

    enter(first, table.root[table.explanation(first)])
    layer = front
    while len(layer.pairs):
        here = np.flatnonzero(((number > 0) & (number < count))[layer.root])
        pairs, root, rank_sum = layer.pairs[here], layer.root[here], layer.rank_sum[here]
        removed = table.ties_removed(pairs)
        distance = np.ones(len(pairs))
        for place in range(int(number.max())):
            np.minimum(distance, _jaccard(removed, gone[place], root), out=distance)
        for place in range(1, count):
            best = np.flatnonzero((distance > 0) & (number[root] == place))
            if not len(best):
                continue
            best = best[least(-distance[best], root[best], table.roots)]
            best = best[least(rank_sum[best], root[best], table.roots)]
            enter(canonical_firsts(table, pairs[best], root[best]), np.unique(root[best]))
            np.minimum(distance, _jaccard(removed, gone[place], root), out=distance)
        wanting = (number > 0) & (number < count)
        if not wanting.any():
            break
        layer = layers.peel(wanting)
    return chosen, from_layer


def _jaccard(gone: Indices, others: Indices, root: Indices) -> Floats:
    """The Jaccard distance between each column of removed ties and the set of its subject."""
    other = others[:, root] if others.shape[1] > 1 else others
    real = other != NO_TIE
    both = ((gone[:, None] == other) & real).sum(axis=(0, 1))
    either = (gone != NO_TIE).sum(axis=0) + real.sum(axis=0) - both
    return np.asarray(1.0 - both / either)


def count_dominated(
    ranking: Ranking, front: RankedPairs, pairs: Ints, on_front: NDArray[np.bool_]
) -> list[int]:
    """Count, for each of some pairs, the pairs of its subject that it dominates.

    No pair is better in both objectives than a pair of the front, so its ranks say how many are no
    better in either; pairs equal to it lie on the front too. Other pairs are compared with all.
    """
    table, own = ranking.table, RankedPairs(ranking, pairs)
    counts: list[int] = (ranking.number[own.root] - own.rank_sum + 2).tolist()
    starts = front.root.searchsorted(np.arange(table.roots + 1)).tolist()
    points = zip(own.root.tolist(), own.simulatability, own.relevance, strict=True)
    for place, (root, nu, mu) in enumerate(points):
        here = slice(starts[root], starts[root + 1])
        alike = (front.simulatability[here] == nu) & (front.relevance[here] == mu)
        counts[place] -= int(np.count_nonzero(alike))
        if not on_front[place]:
            far, key = root * table.spread - nu, root * table.spread + mu
            counts[place] = sum(
                int(np.count_nonzero((keys <= key) & (distance >= far) & (keys != GAP)))
                - int(np.count_nonzero((keys == key) & (distance == far)))
                for keys, distance in _objectives_of(table, root)
            )
    return counts


def _objectives_of(table: PairTable, root: int) -> Iterator[tuple[Floats, Floats]]:
    """The keys of relevance and the distances of one subject's pairs, block by block."""
    for block in table.blocks:
        first, last = table.root[block.explanations].searchsorted((root, root + 1))
        distance = table.distance[block.explanations][first:last]
        yield block.of(table.relevance_key)[:, first:last], distance


def objective_grids(ranking: Ranking) -> Iterator[ObjectiveGrid]:
    """The grid of every subject of a table, by subject; all of them have at least one pair."""
    table = ranking.table
    until = np.cumsum(np.bincount(table.root, minlength=table.roots))
    ordered = table.distance[ranking.staircase.order]
    nearest, farthest = ordered[np.append(0, until[:-1])], ordered[until - 1]
    lowest = ranking.relevances[ranking.ends - ranking.number]
    highest = ranking.relevances[ranking.ends - 1]
    root = table.root if table.roots > 1 else np.zeros(1, np.int32)
    column = (farthest[root] - table.distance) * COLUMNS
    column /= np.maximum(farthest - nearest, 1.0)[root]
    cell = np.minimum(column, COLUMNS - 1).astype(np.int64)
    cell += root * np.int64(COLUMNS)
    counts = _count_in_cells(table, cell, lowest[root], np.maximum(highest - lowest, 1.0)[root])
    offset = np.arange(table.roots) * table.spread
    steps = np.stack((offset - farthest, offset - nearest, lowest - offset, highest - offset))
    for grid, *ends in zip(counts, *round_figures(steps * RESOLUTION).tolist(), strict=True):
        cells = np.flatnonzero(grid)
        yield ObjectiveGrid(
            simulatability=(ends[0], ends[1]),
            relevance=(ends[2], ends[3]),
            columns=COLUMNS,
            rows=ROWS,
            counts=tuple(zip(cells.tolist(), grid.ravel()[cells].tolist(), strict=True)),
        )


def _count_in_cells(table: PairTable, cell: Ints, floor: Floats, span: Floats) -> Ints:
    """Count the pairs of each subject by row and column of its grid.

    `cell` is an explanation's column, counted over all subjects; `floor` and `span` are the range
    of relevance of its subject. The upper end of the last row is counted in an extra one. A gap has
    a key below every floor: it is counted in the first row, and subtracted again.
    """
    counts = np.zeros((table.roots * COLUMNS, ROWS + 1), np.int64)
    for block in table.blocks:
        gaps = block.masks - table.number[block.explanations]
        for first in range(0, block.count, EXPLANATIONS_AT_ONCE):
            part = slice(first, min(first + EXPLANATIONS_AT_ONCE, block.count))
            here = slice(block.first_explanation + part.start, block.first_explanation + part.stop)
            bounds = slice(None) if len(floor) == 1 else here
            # A subject's explanations are side by side, so the cells of a few subjects suffice.
            start, stop = (
                table.root[here.start] * COLUMNS,
                (table.root[here.stop - 1] + 1) * COLUMNS,
            )
            own = cell[here] - start
            height = np.maximum(block.of(table.relevance_key)[:, part], floor[bounds])
            height -= floor[bounds]
            height *= ROWS
            height /= span[bounds]
            place = height.astype(np.int64)
            place += own * (ROWS + 1)
            rows = counts[start:stop]
            rows += np.bincount(place.ravel(), minlength=rows.size).reshape(rows.shape)
            rows[:, 0] -= np.bincount(own, gaps[part], len(rows)).astype(np.int64)
    counts[:, -2] += counts[:, -1]
    return counts[:, :-1].reshape(table.roots, COLUMNS, ROWS).transpose(0, 2, 1)
