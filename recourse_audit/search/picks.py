"""What other ways of choosing would have picked from the same pairs, without another query.

random           one pair, uniformly
simulatability   the explanation with the best ν, and in it the counterfactual with the largest |μ|
relevance        the pair with the largest |μ|, and of several the best ν
shapley          the removed part Δ with the largest Shapley value (eq. 9), and of the
                 explanations that hold it the one with the largest |μ|
balanced         the pair whose two ranks are closest to each other (the paper's MOEB), and of
                 several the best rank sum
"""

import numpy as np

from recourse_audit.graph.arrays import Floats, Ints
from recourse_audit.graph.neighbourhoods import spans
from recourse_audit.search.choice import Ranking, canonical_first
from recourse_audit.search.objectives import comparable
from recourse_audit.search.pairs import PairTable

NAMES = ("random", "simulatability", "relevance", "shapley", "balanced")
FIRST_WINDOW = 4


def picks(ranking: Ranking, seed: tuple[int, ...]) -> dict[str, int]:
    """One pair for each of the other ways."""
    table = ranking.table
    return {
        "random": int(np.random.default_rng(seed).integers(len(table))),
        "simulatability": most_simulatable(table),
        "relevance": most_relevant(table),
        "shapley": shapley(table),
        "balanced": balanced(ranking),
    }


def most_simulatable(table: PairTable) -> int:
    """The best ν; then the largest |μ|; then canonical order."""
    best = np.flatnonzero(table.explanation_key == table.explanation_key.max())
    pairs, _ = spans(table.starts, best)
    return canonical_first(table, _largest(pairs, table.relevance_key[pairs]))


def most_relevant(table: PairTable) -> int:
    """The largest |μ|; then the best ν; then canonical order."""
    pairs = np.flatnonzero(table.relevance_key == table.best_key.max())
    return canonical_first(
        table, _largest(pairs, table.explanation_key[table.explanation[pairs]])
    )


def balanced(ranking: Ranking) -> int:
    """The smallest difference of ranks; then the best rank sum; then canonical order.

    Ranks in relevance are worked out only for pairs that could be that close: those whose |μ|
    lies between the values found at nearly the same rank. The window widens until one is.
    """
    table = ranking.table
    descending = ranking.relevances[::-1]
    window = FIRST_WINDOW
    while True:
        place = ranking.simulatability_rank - 1
        upper = descending[np.maximum(place - window, 0)][table.explanation]
        lower = descending[np.minimum(place + window, len(table) - 1)][table.explanation]
        near = np.flatnonzero((table.relevance_key >= lower) & (table.relevance_key <= upper))
        if len(near):
            figures = ranking.figures(near)
            apart = np.abs(figures.simulatability_rank - figures.relevance_rank)
            if apart.min() <= window:
                closest = np.flatnonzero(apart == apart.min())
                best = _largest(near[closest], -figures.rank_sum[closest])
                return canonical_first(table, best)
        window *= 4


def shapley(table: PairTable) -> int:
    """A pair of the removed part with the largest Shapley value; of several the largest |μ|.

    The value of a part is its mean signed μ over all explanations it can be removed from. Parts
    of one tie are averaged by tie. A part that is all of a largest explanation can be removed
    from that one alone. Only the others have to be sorted.
    """
    complete = np.uint8((1 << len(table.ties)) - 1)
    single = table.removed == 1
    unshared = (table.mask == 0) & (table.removed == len(table.ties)) & ~single
    some, rest = np.flatnonzero(single), np.flatnonzero(~single & ~unshared)
    value = table.relevance.copy()
    value[some] = _means_by_tie(table, some, complete)
    value[rest] = _means_by_part(table, rest)
    steps = comparable(value)
    best = np.flatnonzero(steps == steps.max())
    return canonical_first(table, _largest(best, table.relevance_key[best]))


def _means_by_tie(table: PairTable, pairs: Ints, complete: np.uint8) -> Floats:
    """The mean μ of the only tie that each of some pairs removes."""
    explanation, mask = table.explanation[pairs], table.mask[pairs]
    # The lowest bit that is not kept is the tie's place in the order of growth.
    place = np.bitwise_count((mask & ~(mask + np.uint8(1))) & complete)
    tie = table.ties[place, explanation]
    sums = np.bincount(tie, weights=table.relevance[pairs])
    return (sums / np.maximum(np.bincount(tie), 1))[tie]


def _means_by_part(table: PairTable, pairs: Ints) -> Floats:
    """The mean μ of the part that each of some pairs removes; parts are told apart by key."""
    if not len(pairs):
        return np.empty(0)
    key = table.subtree_key[table.explanation[pairs] + 1] - table.subtree_key[table.kept[pairs]]
    order = np.argsort(key)
    ordered = key[order]
    change = np.ones(len(key), bool)
    change[1:] = ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(change)
    sums = np.add.reduceat(table.relevance[pairs[order]], starts)
    means = np.empty(len(key))
    means[order] = np.repeat(
        sums / np.diff(starts, append=len(key)), np.diff(starts, append=len(key))
    )
    return means


def _largest(pairs: Ints, values: Floats) -> Ints:
    return pairs[values == values.max()]
