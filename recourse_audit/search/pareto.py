"""Dominance, fronts and competition ranks over two objectives, larger being better in both.

One pair dominates another if it is at least as good in both objectives and better in one
(Definition 2 of the paper). Equal pairs do not dominate each other, so ties all stay.
"""

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.arrays import Floats, Ints

Mask = NDArray[np.bool_]


def non_dominated(simulatability: Floats, relevance: Floats) -> Mask:
    """Mark the pairs that no other pair dominates (the paper's Pareto optimal set).

    Notes
    -----
    One sort and one sweep: O(n log n) time, O(n) memory. Only pairs at least as relevant as the
    most simulatable one, and at least as simulatable as the most relevant one, are sorted.
    """
    mask = np.zeros(len(simulatability), bool)
    if not len(mask):
        return mask
    floor_relevance = relevance[simulatability == simulatability.max()].max()
    floor_simulatability = simulatability[relevance == relevance.max()].max()
    some = np.flatnonzero((simulatability >= floor_simulatability) & (relevance >= floor_relevance))
    order = some[np.lexsort((-relevance[some], -simulatability[some]))]
    first, second = simulatability[order], relevance[order]
    best_before = np.concatenate(([-np.inf], np.maximum.accumulate(second)[:-1]))
    repeats = np.zeros(len(order), bool)
    repeats[1:] = (first[1:] == first[:-1]) & (second[1:] == second[:-1])
    leads = ~repeats & (second > best_before)
    # A repeat of a pair that leads is optimal too; it follows its leader directly.
    leader = np.maximum.accumulate(np.where(~repeats, np.arange(len(order)), 0))
    mask[order[leads[leader]]] = True
    return mask


def competition_ranks(values: Floats, weights: Ints) -> Ints:
    """Rank values, the largest first; equal values share the best position.

    Each value stands for `weights` equal entries. O(n log n).
    """
    order = np.argsort(-values)
    ordered = values[order]
    change = np.ones(len(values), bool)
    change[1:] = ordered[1:] != ordered[:-1]
    total = np.cumsum(weights[order])
    before = np.concatenate(([0], total))[np.flatnonzero(change)]
    ranks = np.empty(len(values), np.int64)
    ranks[order] = 1 + before[np.cumsum(change) - 1]
    return ranks
