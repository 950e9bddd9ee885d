"""All pairs of a subject counted on a grid of ν and |μ|, for a picture.

A cell is 1/32 of the subject's range of simulatability wide and 1/20 of its range of relevance
high. The last cells include the upper ends; where all values are equal, the first cells hold
everything. Objectives are whole steps of the resolution, so a pair's cell is exact and does not
depend on the other subjects. Costs a few array operations per pair, on parts that fit the cache.
"""

from collections.abc import Iterator

import numpy as np

from recourse_audit.graph.arrays import Floats, Ints
from recourse_audit.records.search import ObjectiveGrid
from recourse_audit.search.pairs import PairBlock, PairTable
from recourse_audit.search.pareto import figures
from recourse_audit.search.ranking import Ranking

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
