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
from recourse_audit.search.choice import Pairs, Ranking, canonical_order
from recourse_audit.search.objectives import comparable
from recourse_audit.search.pairs import NONE, PairTable

NAMES = ("random", "simulatability", "relevance", "shapley", "balanced")


def picks(ranking: Ranking, seed: tuple[int, ...]) -> dict[str, Pairs]:
    """One pair for each of the other ways."""
    table = ranking.table
    return {
        "random": random_pair(table, np.random.default_rng(seed)),
        "simulatability": most_simulatable(table),
        "relevance": most_relevant(table),
        "shapley": shapley(table),
        "balanced": balanced(ranking),
    }


def random_pair(table: PairTable, generator: np.random.Generator) -> Pairs:
    """Draw one pair uniformly from all of them."""
    number = int(generator.integers(table.pair_count))
    until = np.cumsum(table.pair_counts)
    explanation = int(np.searchsorted(until, number, side="right"))
    level, column = table.locate(explanation)
    within = number - int(until[explanation] - table.pair_counts[explanation])
    mask = int(np.flatnonzero(level.kept[:, column] >= 0)[within])
    return Pairs(explanation=np.array([explanation]), mask=np.array([mask]))


def most_simulatable(table: PairTable) -> Pairs:
    """The best ν; then the largest |μ|; then canonical order."""
    best = np.flatnonzero(table.explanation_key == table.explanation_key.max())
    key = table.best_key[best]
    return _first(table, _with_key(table, best[key == key.max()]))


def most_relevant(table: PairTable) -> Pairs:
    """The largest |μ|; then the best ν; then canonical order."""
    best = np.flatnonzero(table.best_key == table.best_key.max())
    key = table.explanation_key[best]
    return _first(table, _with_key(table, best[key == key.max()]))


def balanced(ranking: Ranking) -> Pairs:
    """The smallest difference of ranks; then the best rank sum; then canonical order.

    Ranks in relevance are worked out only for pairs that could be that close: those whose |μ|
    lies between the values found at nearly the same rank. The window doubles until one is.
    """
    table = ranking.table
    descending = ranking.relevances[::-1]
    window = 4
    while True:
        ranks = ranking.simulatability_rank - 1
        upper = descending[np.maximum(ranks - window, 0)]
        lower = descending[np.minimum(ranks + window, table.pair_count - 1)]
        near = []
        for level in table.levels:
            span = slice(level.first - 1, level.first - 1 + len(level.level))
            close = (level.rank_key >= lower[span]) & (level.rank_key <= upper[span])
            mask, column = np.nonzero(close & (level.rank_key > NONE))
            near.append((column + level.first - 1, mask))
        pairs = Pairs(
            explanation=np.concatenate([explanation for explanation, _ in near]),
            mask=np.concatenate([mask for _, mask in near]),
        )
        if len(pairs):
            figures = ranking.figures(pairs)
            apart = np.abs(figures.simulatability_rank - figures.relevance_rank)
            if apart.min() <= window:
                some = np.flatnonzero(apart == apart.min())
                total = figures.rank_sum[some]
                return _first(table, pairs.take(some[total == total.min()]))
        window *= 4


def shapley(table: PairTable) -> Pairs:
    """A pair of the removed part with the largest Shapley value; of several the largest |μ|.

    The value of a part is its mean signed μ over all explanations it can be removed from.
    """
    found = [_single_ties(table), _whole_largest(table), _other_parts(table)]
    values = [(comparable(value), pairs) for value, pairs in found if len(value)]
    largest = max(float(value.max()) for value, _ in values)
    best = [pairs.take(np.flatnonzero(value == largest)) for value, pairs in values]
    pairs = Pairs(
        explanation=np.concatenate([some.explanation for some in best]),
        mask=np.concatenate([some.mask for some in best]),
    )
    relevance = table.relevance_keys(pairs.explanation, pairs.mask)
    return _first(table, pairs.take(np.flatnonzero(relevance == relevance.max())))


def _single_ties(table: PairTable) -> tuple[Floats, Pairs]:
    """The Shapley value of the removed tie, for every pair that removes one tie."""
    explanation, masks, ties, values = [], [], [], []
    for level in table.levels:
        complete = (1 << (level.level.size - 1)) - 1
        for place, tie in enumerate(level.level.ties):
            mask = complete ^ (1 << place)
            columns = np.flatnonzero(level.kept[mask] >= 0)
            explanation.append(columns + level.first - 1)
            masks.append(np.full(len(columns), mask))
            ties.append(tie[columns])
            values.append(level.relevance[mask, columns])
    tie, value = np.concatenate(ties), np.concatenate(values)
    with np.errstate(invalid="ignore"):
        mean = np.bincount(tie, weights=value) / np.bincount(tie)
    pairs = Pairs(explanation=np.concatenate(explanation), mask=np.concatenate(masks))
    return mean[tie], pairs


def _whole_largest(table: PairTable) -> tuple[Floats, Pairs]:
    """The value of all ties of a largest explanation, which can be removed from it alone."""
    level = table.levels[-1]
    if level.level.size == 2:
        return np.empty(0), _no_pairs()
    columns = np.arange(len(level.level))
    pairs = Pairs(explanation=columns + level.first - 1, mask=np.zeros(len(columns), np.int64))
    return level.relevance[0], pairs


def _other_parts(table: PairTable) -> tuple[Floats, Pairs]:
    """The value of every part of two ties or more that several explanations may share."""
    explanation, masks, keys, values = [], [], [], []
    for level in table.levels:
        for mask, removed in enumerate(level.removed):
            if removed < 2 or (level is table.levels[-1] and mask == 0):
                continue
            columns = np.flatnonzero(level.kept[mask] >= 0)
            explanation.append(columns + level.first - 1)
            masks.append(np.full(len(columns), mask))
            keys.append(table.keys[columns + level.first] - table.keys[level.kept[mask, columns]])
            values.append(level.relevance[mask, columns])
    if not keys:
        return np.empty(0), _no_pairs()
    key, value = np.concatenate(keys), np.concatenate(values)
    order = np.argsort(key)
    change = np.ones(len(key), bool)
    change[1:] = key[order][1:] != key[order][:-1]
    starts = np.flatnonzero(change)
    mean = np.add.reduceat(value[order], starts) / np.diff(np.append(starts, len(key)))
    result = np.empty(len(key))
    result[order] = mean[np.cumsum(change) - 1]
    return result, Pairs(explanation=np.concatenate(explanation), mask=np.concatenate(masks))


def _with_key(table: PairTable, explanations: Ints) -> Pairs:
    """All pairs of some explanations that have their largest |μ|."""
    found: list[tuple[Ints, Ints]] = []
    for level in table.levels:
        column = explanations + 1 - level.first
        column = column[(column >= 0) & (column < len(level.level))]
        best = table.best_key[column + level.first - 1]
        place, mask = np.nonzero((level.rank_key[:, column] == best).T)
        found.append((column[place] + level.first - 1, mask))
    return Pairs(
        explanation=np.concatenate([explanation for explanation, _ in found]),
        mask=np.concatenate([mask for _, mask in found]),
    )


def _first(table: PairTable, pairs: Pairs) -> Pairs:
    return pairs.take(canonical_order(table, pairs)[:1])


def _no_pairs() -> Pairs:
    return Pairs(explanation=np.empty(0, np.int64), mask=np.empty(0, np.int64))
