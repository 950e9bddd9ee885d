"""Which pairs to show: the winner, the front, and diverse others, for every subject of a table.

Nothing here asks the model; it is all arithmetic over a `PairTable`. Pairs are identified by their
places in it. Lists with the pairs of several subjects are sorted by subject.

For a picture, all pairs of a subject are counted on a grid of ν and |μ|. A cell is 1/32 of the
subject's range of simulatability wide and 1/20 of its range of relevance high. The last cells
include the upper ends; where all values are equal, the first cells hold everything. Objectives are
whole steps of the resolution, so a pair's cell is exact and does not depend on the other subjects.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.graph import Floats, Indices, Ints
from recourse_audit.records.search import ObjectiveGrid, Ranks
from recourse_audit.search.pareto import GAP, NO_TIE, PairBlock, PairTable, Staircase, figures

LAYERS_SEARCHED = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What is compared about some pairs: both objectives in steps of the resolution, and ranks."""

    root: Indices
    simulatability: Floats
    relevance: Floats
    simulatability_rank: Ints
    relevance_rank: Ints

    @property
    def rank_sum(self) -> Ints:
        return self.simulatability_rank + self.relevance_rank

    def points(self) -> tuple[list[float], list[float]]:
        """Both objectives."""
        return self.simulatability.tolist(), self.relevance.tolist()

    def ranks(self, count: int) -> list[Ranks]:
        """The ranks of the first pairs."""
        both = zip(self.simulatability_rank.tolist(), self.relevance_rank.tolist(), strict=True)
        return [Ranks(simulatability=a, relevance=b, sum=a + b) for a, b in islice(both, count)]


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

    def figures(self, pairs: Ints) -> Figures:
        """Look up objectives and ranks of some pairs."""
        table = self.table
        explanation = table.explanation(pairs)
        root = table.root[explanation]
        relevance = table.relevance_key[pairs]
        after = self.ends[root] - self.relevances.searchsorted(relevance, "right")
        offset = root * table.spread
        return Figures(
            root=root,
            simulatability=offset - table.distance[explanation],
            relevance=relevance - offset,
            simulatability_rank=self.simulatability_rank[explanation],
            relevance_rank=1 + after,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """The pairs of one non-dominated layer, by subject, and what is compared about them."""

    number: int
    pairs: Ints
    figures: Figures

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def root(self) -> Indices:
        return self.figures.root


class Layers:
    """Peels off the Pareto front, then the front of what remains, and so on: at most 25 layers.

    A pair on a front has the largest relevance of its explanation among the pairs that remain,
    so one sweep over explanations finds it.
    """

    def __init__(self, ranking: Ranking) -> None:
        self._ranking = ranking
        self._staircase = ranking.staircase
        self._keys = ranking.table.relevance_key
        self._best = ranking.table.best_key
        self._last = np.empty(0, np.int64)
        self._number = 0

    def peel(self, wanted: NDArray[np.bool_] | None = None) -> Layer:
        """The next layer of the wanted subjects, or of all; empty if there is none.

        A subject that is left out once is left out of all later layers.
        """
        table = self._ranking.table
        if self._number:
            self._take_away(table, self._last)
        if wanted is not None and not wanted.all():
            root = table.root[self._staircase.order[self._staircase.starts]]
            self._staircase = self._staircase.only(np.flatnonzero(wanted[root]))
        self._number += 1
        if self._number > LAYERS_SEARCHED or not len(self._staircase.order):
            pairs = np.empty(0, np.int64)
        else:
            on_front = self._staircase.front(self._best)
            pairs = table.pairs_with(on_front, self._best[on_front], self._keys)
        if table.roots > 1:
            root = table.root[table.explanation(pairs)]
            pairs = pairs[np.argsort(root, kind="stable")]
        self._last = pairs
        return Layer(number=self._number, pairs=pairs, figures=self._ranking.figures(pairs))

    def _take_away(self, table: PairTable, pairs: Ints) -> None:
        if self._number == 1:
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


def winners(table: PairTable, front: Layer) -> Ints:
    """The pair of each subject with the best rank sum, which lies on the front (Theorem 1).

    Of several: fewest removed ties, then fewest nodes, then the canonical order of ties.
    """
    best = least(front.figures.rank_sum, front.root, table.roots)
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
    """Order pairs by subject, removed ties, nodes, the explanation's ties, then the removed ones.

    `leading` columns come right after the subject.
    """
    explanation, mask = table.places(pairs)
    every, gone = table.tie_columns(pairs)
    size = table.sizes(explanation)
    columns = (size - np.bitwise_count(mask), size, *every, *gone)
    return np.lexsort((table.root[explanation], *leading, *columns)[::-1])


def choose_diverse(
    table: PairTable, first: Ints, front: Layer, layers: Layers, count: int
) -> "Choice":
    """Choose pairs that maximise the smallest Jaccard distance between removed ties.

    Starts from `first`, one pair per subject. Takes pairs from the front, and from a later layer
    only when nothing in the earlier ones removes anything new. `front` is the first layer of
    `layers`. Ties are broken by rank sum, then by canonical order.
    """
    choice = Choice(table, first, count)
    layer = front
    while len(layer):
        choice.take_from(layer)
        wanting = choice.wanting
        if not wanting.any():
            break
        layer = layers.peel(wanting)
    return choice


class Choice:
    """What has been chosen so far: for each subject the pairs, their layers and removed ties.

    `pairs` and `layers` have one row per subject, padded with -1 and 0.
    """

    def __init__(self, table: PairTable, first: Ints, count: int) -> None:
        root = table.root[table.explanation(first)]
        self._table = table
        self._most = count
        self._number = np.zeros(table.roots, np.int64)
        self._gone = np.full((count, len(table.ties), table.roots), NO_TIE, np.int32)
        self.pairs = np.full((table.roots, count), -1)
        self.layers = np.zeros((table.roots, count), np.int64)
        self._enter(first, root, 1)

    @property
    def wanting(self) -> NDArray[np.bool_]:
        """Which subjects have fewer pairs than they should."""
        return (self._number > 0) & (self._number < self._most)

    def _enter(self, pairs: Ints, root: Indices, layer: int) -> None:
        """Add a pair for each of some subjects."""
        place = self._number[root]
        self.pairs[root, place], self.layers[root, place] = pairs, layer
        self._gone[place, :, root] = self._table.removed_ties(pairs).T
        self._number[root] += 1

    def take_from(self, layer: Layer) -> None:
        """Add pairs from a layer, the most distant first, while one removes anything new."""
        table = self._table
        here = np.flatnonzero(self.wanting[layer.root])
        pairs, root, total = layer.pairs[here], layer.root[here], layer.figures.rank_sum[here]
        gone = table.removed_ties(pairs)
        distance = np.ones(len(pairs))
        for place in range(int(self._number.max())):
            np.minimum(distance, _jaccard(gone, self._gone[place], root), out=distance)
        for place in range(1, self._most):
            some = np.flatnonzero((distance > 0) & (self._number[root] == place))
            if not len(some):
                continue
            some = some[least(-distance[some], root[some], table.roots)]
            some = some[least(total[some], root[some], table.roots)]
            taken = canonical_firsts(table, pairs[some], root[some])
            self._enter(taken, np.unique(root[some]), layer.number)
            if place + 1 < self._most:
                np.minimum(distance, _jaccard(gone, self._gone[place], root), out=distance)


def count_dominated(
    ranking: Ranking, front: Layer, pairs: Ints, on_front: NDArray[np.bool_]
) -> Ints:
    """Count, for each of some pairs, the pairs of its subject that it dominates.

    No pair is better in both objectives than a pair of the front, so its ranks say how many are no
    better in either; pairs equal to it lie on the front too. Other pairs are compared with all.
    """
    table, own = ranking.table, ranking.figures(pairs)
    counts = ranking.number[own.root] - own.rank_sum + 2
    starts = front.root.searchsorted(np.arange(table.roots + 1)).tolist()
    steps, keys = front.figures.simulatability, front.figures.relevance
    points = zip(own.root.tolist(), *own.points(), strict=True)
    for place, (root, step, key) in enumerate(points):
        if on_front[place]:
            here = slice(starts[root], starts[root + 1])
            counts[place] -= np.count_nonzero((steps[here] == step) & (keys[here] == key))
        else:
            counts[place] = _count_by_comparing(table, root, step, key)
    return counts


def _count_by_comparing(table: PairTable, root: int, step: float, key: float) -> int:
    total, offset = 0, root * table.spread
    for block in table.blocks:
        first, last = table.root[block.explanations].searchsorted((root, root + 1))
        keys = block.of(table.relevance_key)[:, first:last] - offset
        steps = offset - table.distance[block.explanations][first:last]
        weaker = (steps <= step) & (keys <= key) & (keys >= 0)
        alike = (steps == step) & (keys == key)
        total += int(np.count_nonzero(weaker)) - int(np.count_nonzero(alike))
    return total


def _jaccard(gone: Indices, others: Indices, root: Indices) -> Floats:
    """The Jaccard distance between each column of removed ties and the set of its subject."""
    other = others[:, root] if others.shape[1] > 1 else others
    real = other != NO_TIE
    both = ((gone[:, None] == other) & real).sum(axis=(0, 1))
    either = (gone != NO_TIE).sum(axis=0) + real.sum(axis=0) - both
    distance: Floats = 1.0 - both / either
    return distance


COLUMNS = 32
ROWS = 20
EXPLANATIONS_AT_ONCE = 1 << 14


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
    counts = np.zeros((table.roots * COLUMNS, ROWS + 1), np.int64)
    floor, span = lowest[root], np.maximum(highest - lowest, 1.0)[root]
    for block in table.blocks:
        _count(counts, table, block, cell, floor, span)
    counts[:, -2] += counts[:, -1]
    grids = counts[:, :-1].reshape(table.roots, COLUMNS, ROWS).transpose(0, 2, 1)
    offset = np.arange(table.roots) * table.spread
    ranges = (offset - farthest, offset - nearest, lowest - offset, highest - offset)
    for grid, *ends in zip(grids, *figures(np.stack(ranges)).tolist(), strict=True):
        yield _objective_grid(grid.ravel(), *ends)


def _count(
    counts: Ints, table: PairTable, block: PairBlock, cell: Ints, floor: Floats, span: Floats
) -> None:
    """Count the pairs of a block.

    `counts` has one row per subject and column of its grid, and one column per row of the grid. The
    upper end of the last row is counted in an extra one. A gap has a key below every floor: it is
    counted in the first row, and subtracted again together with those of its explanation.
    """
    gaps = block.masks - table.number[block.explanations]
    for first in range(0, block.count, EXPLANATIONS_AT_ONCE):
        some = slice(first, min(first + EXPLANATIONS_AT_ONCE, block.count))
        here = slice(block.first_explanation + some.start, block.first_explanation + some.stop)
        one = slice(None) if len(floor) == 1 else here
        # A subject's explanations are side by side, so the cells of a few subjects suffice.
        start, stop = _of_roots(table, here)
        own = cell[here] - start
        height = np.maximum(block.of(table.relevance_key)[:, some], floor[one])
        height -= floor[one]
        height *= ROWS
        height /= span[one]
        place = height.astype(np.int64)
        place += own * (ROWS + 1)
        found = counts[start:stop]
        found += np.bincount(place.ravel(), minlength=found.size).reshape(found.shape)
        found[:, 0] -= np.bincount(own, gaps[some], len(found)).astype(np.int64)


def _of_roots(table: PairTable, explanations: slice) -> tuple[int, int]:
    """The first column of the first subject of some explanations, and the end of the last one's."""
    root = table.root[explanations]
    return int(root[0]) * COLUMNS, (int(root[-1]) + 1) * COLUMNS


def _objective_grid(grid: Ints, *ends: float) -> ObjectiveGrid:
    cells = np.flatnonzero(grid)
    return ObjectiveGrid(
        simulatability=(ends[0], ends[1]),
        relevance=(ends[2], ends[3]),
        columns=COLUMNS,
        rows=ROWS,
        counts=tuple(zip(cells.tolist(), grid[cells].tolist(), strict=True)),
    )
