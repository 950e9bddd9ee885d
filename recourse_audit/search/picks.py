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

from recourse_audit.graph.arrays import Floats, Indices, Ints
from recourse_audit.graph.neighbourhoods import spans
from recourse_audit.search.choice import Ranking, canonical_first
from recourse_audit.search.keys import Keys
from recourse_audit.search.objectives import RESOLUTION, comparable
from recourse_audit.search.pairs import NO_TIE, PairTable

NAMES = ("random", "simulatability", "relevance", "shapley", "balanced")
FIRST_WINDOW = 4
FIRST_BITS = 18


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

    The value of a part is its mean signed μ over all explanations it can be removed from. A part
    that is all of a largest explanation can be removed from that one alone, so its value is its
    μ. Of the other parts of several ties only those are averaged that have a μ as large as the
    best value so far, since a mean is no larger than the largest of its terms.
    """
    single = np.flatnonzero(table.removed == 1)
    tie, by_tie = _means_by_tie(table, single)
    whole = _whole_largest(table)
    floor = max(by_tie.max(), table.relevance[whole].max(initial=-np.inf)) - RESOLUTION
    large = np.flatnonzero(table.relevance >= floor)
    shared = large[(table.removed[large] > 1) & (table.removed[large] < len(table.ties))]
    parts, by_part = _means_by_part(table, shared)
    whole = whole[table.relevance[whole] >= floor]
    parts = np.concatenate((whole, parts))
    part_steps = comparable(np.concatenate((table.relevance[whole], by_part)))
    tie_steps = comparable(by_tie)
    best = max(tie_steps.max(), part_steps.max(initial=-np.inf))
    pairs = np.concatenate((single[(tie_steps == best)[tie]], parts[part_steps == best]))
    return canonical_first(table, _largest(pairs, table.relevance_key[pairs]))


def _whole_largest(table: PairTable) -> Ints:
    """The pairs that remove all of an explanation of the largest size, if that is several ties.

    The first pair of every explanation keeps nothing, and the largest explanations come last.
    """
    if len(table.ties) == 1:
        return np.empty(0, np.int64)
    smaller = int(np.count_nonzero(table.ties[-1] == NO_TIE))
    return table.starts[smaller:-1]


def _means_by_tie(table: PairTable, pairs: Ints) -> tuple[Indices, Floats]:
    """The only tie that each of some pairs removes, and the mean μ of every tie (-inf for none)."""
    mask = table.mask[pairs]
    # The ones below the lowest bit that is not kept count its place in the order of growth.
    place = np.bitwise_count(mask & ~(mask + np.uint8(1)))
    tie: Indices = table.ties[place, table.explanation[pairs]]
    sums, number = np.bincount(tie, weights=table.relevance[pairs]), np.bincount(tie)
    return tie, np.where(number > 0, sums / np.maximum(number, 1), -np.inf)


def _means_by_part(table: PairTable, large: Ints) -> tuple[Ints, Floats]:
    """All pairs that remove a part which one of some pairs removes, and the mean μ of the part.

    Parts are told apart by key.
    """
    if not len(large):
        return large, np.empty(0)
    wanted = np.unique(_part_keys(table, large))
    several = np.flatnonzero(table.removed > 1)
    key = _part_keys(table, several)
    # A table of the keys' first bits passes over nearly all that are not wanted.
    first_bits = np.zeros(1 << FIRST_BITS, bool)
    first_bits[wanted >> np.uint64(64 - FIRST_BITS)] = True
    likely = np.flatnonzero(first_bits[key >> np.uint64(64 - FIRST_BITS)])
    several, key = several[likely], key[likely]
    place = np.minimum(wanted.searchsorted(key), len(wanted) - 1)
    found = np.flatnonzero(wanted[place] == key)
    group = place[found]
    sums = np.bincount(group, weights=table.relevance[several[found]])
    return several[found], (sums / np.bincount(group))[group]


def _part_keys(table: PairTable, pairs: Ints) -> Keys:
    keys = table.subtree_key
    return keys[table.explanation[pairs] + 1] - keys[table.kept[pairs]]


def _largest(pairs: Ints, values: Floats | Ints) -> Ints:
    largest: Ints = pairs[values == values.max()]
    return largest
