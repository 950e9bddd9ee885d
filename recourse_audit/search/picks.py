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
from recourse_audit.search.objectives import RESOLUTION, comparable
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
    return canonical_first(table, _largest(pairs, table.explanation_key[table.explanation[pairs]]))


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
    from that one alone. Of the others only those are averaged that have a μ as large as the best
    of the former, since a mean is no larger than the largest of its terms.
    """
    single = np.flatnonzero(table.removed == 1)
    whole = (table.mask == 0) & (table.removed == len(table.ties)) & (table.removed > 1)
    whole_places = np.flatnonzero(whole)
    by_tie = _means_by_tie(table, single)
    best = max(by_tie.max(), table.relevance[whole_places].max(initial=-np.inf))
    rest = np.flatnonzero((table.removed > 1) & ~whole)
    rest, by_part = _means_by_part(table, rest, best - RESOLUTION)
    places = np.concatenate((single, whole_places, rest))
    steps = comparable(np.concatenate((by_tie, table.relevance[whole_places], by_part)))
    largest = places[steps == steps.max()]
    return canonical_first(table, _largest(largest, table.relevance_key[largest]))


def _means_by_tie(table: PairTable, pairs: Ints) -> Floats:
    """The mean μ of the only tie that each of some pairs removes."""
    mask = table.mask[pairs]
    # The ones below the lowest bit that is not kept count its place in the order of growth.
    place = np.bitwise_count(mask & ~(mask + np.uint8(1)))
    tie = table.ties[place, table.explanation[pairs]]
    sums = np.bincount(tie, weights=table.relevance[pairs])
    return (sums / np.maximum(np.bincount(tie), 1))[tie]


def _means_by_part(table: PairTable, pairs: Ints, least: float) -> tuple[Ints, Floats]:
    """The mean μ of the part that each of some pairs removes, for parts with a μ of `least`.

    Returns the pairs that remove such a part, and the means. Parts are told apart by key.
    """
    key = table.subtree_key[table.explanation[pairs] + 1] - table.subtree_key[table.kept[pairs]]
    wanted = np.unique(key[table.relevance[pairs] >= least])
    if not len(wanted):
        return np.empty(0, np.int64), np.empty(0)
    place = np.minimum(wanted.searchsorted(key), len(wanted) - 1)
    found = np.flatnonzero(wanted[place] == key)
    group = place[found]
    sums = np.bincount(group, weights=table.relevance[pairs[found]])
    return pairs[found], (sums / np.bincount(group))[group]


def _largest(pairs: Ints, values: Floats | Ints) -> Ints:
    largest: Ints = pairs[values == values.max()]
    return largest
