"""What the paper's human study shows: explanations of high and of low simulatability, with ties.

Both have as many nodes as the search allows, so neither is simpler than the other. High is the
quarter of a subject's explanations of that size with the best simulatability, low the quarter with
the worst. In each, the two counterfactuals that remove equally many ties are the pair with the
largest and the pair with the smallest |μ|; the explanation in which these two are farthest apart
stands for its quarter. Nothing is asked: these are pairs that the search has scored.
"""

from collections.abc import Sequence

import numpy as np

from recourse_audit.graph.graph import Floats, Indices, Ints
from recourse_audit.search.pareto import GAP, PairBlock, PairTable


def choose_cases(table: PairTable, ties: int) -> list[tuple[int, ...]]:
    """Four pairs of each subject, or none: high and low relevance of the high, then of the low.

    Explanations have as many `ties` as any may have. One pass over their pairs; equal ones are
    taken in canonical order, so that a subject's pairs do not depend on its batch.
    """
    block = table.blocks[-1]
    if block.ties < ties:
        return [()] * table.roots
    sizes = np.array([block.ties - mask.bit_count() for mask in range(block.masks)])
    apart = np.zeros((block.ties + 1, block.count))
    for size in range(1, block.ties):  # to remove every tie leaves nothing to compare
        rows = block.of(table.relevance_key)[sizes == size]
        lowest = np.where(rows == GAP, np.inf, rows).min(axis=0)
        np.maximum(rows.max(axis=0) - lowest, 0.0, out=apart[size])
    able = np.flatnonzero(apart.any(axis=0))
    root = table.root[block.explanations][able]
    return [
        _of_subject(table, block, sizes, apart, able[slice(*root.searchsorted((own, own + 1)))])
        for own in range(table.roots)
    ]


def _of_subject(
    table: PairTable, block: PairBlock, sizes: Ints, apart: Floats, own: Ints
) -> tuple[int, ...]:
    if not len(own):
        return ()
    distance = table.distance[block.explanations][own]
    near = np.quantile(distance, 0.25, method="lower")
    far = np.quantile(distance, 0.75, method="higher")
    if not near < far:
        return ()
    pairs: list[int] = []
    for quarter in (own[distance <= near], own[distance >= far]):
        widest = apart[:, quarter].max(axis=0)
        column = _first(quarter[widest == widest.max()], table.ties[:, block.explanations])
        masks = np.flatnonzero(sizes == apart[:, column].argmax())
        keys = block.of(table.relevance_key)[masks, column]
        for key in (keys.max(), keys[keys != GAP].min()):
            equal = block.first + masks[keys == key] * block.count + column
            pairs.append(equal[_first(range(len(equal)), table.ties_removed(equal))])
    return tuple(map(int, pairs))


def _first(columns: Sequence[int] | Ints, ties: Indices) -> int:
    """The column of which the ties come first in canonical order."""
    return min(map(int, columns), key=lambda column: sorted(ties[:, column].tolist()))
