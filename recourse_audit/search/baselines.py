"""The pairs that other ways of choosing would show, taken from the same pairs without a query.

random           one pair, uniformly at random
simulatability   the explanation with the best ν, and in it the counterfactual with the largest |μ|
relevance        the pair with the largest |μ|; of several, the one with the best ν
shapley          the removed part Δ with the largest Shapley value (eq. 9); of the explanations
                 that contain it, the one with the largest |μ|
balanced         the pair whose two ranks are closest to each other (the paper's MOEB); of
                 several, the one with the best rank sum

Each gives one pair for every subject of a table, by subject; every subject has at least one pair.
"""

from collections.abc import Sequence

import numpy as np

from recourse_audit.graph.graph import Floats, Ints
from recourse_audit.search.pareto import GAP, RESOLUTION, PairBlock, PairTable, comparable
from recourse_audit.search.ranking import RankedPairs, Ranking, canonical_firsts, least
from recourse_audit.search.subtrees import Keys

FIRST_WINDOW = 4
FIRST_BITS = 18


def baselines(ranking: Ranking, seeds: Sequence[tuple[int, ...]]) -> dict[str, Ints]:
    """For each baseline, one pair per subject; `seeds` has one seed per subject."""
    return {
        "random": at_random(ranking, seeds),
        "simulatability": most_simulatable(ranking),
        "relevance": most_relevant(ranking.table),
        "shapley": shapley(ranking.table),
        "balanced": most_balanced(ranking),
    }


def at_random(ranking: Ranking, seeds: Sequence[tuple[int, ...]]) -> Ints:
    """A pair drawn uniformly: pairs are counted explanation by explanation, then mask by mask."""
    table = ranking.table
    numbers = zip(seeds, ranking.number.tolist(), strict=True)
    draws = np.array([np.random.default_rng(seed).integers(number) for seed, number in numbers])
    pairs = np.empty(len(draws), np.int64)
    for block in table.blocks:
        number = table.number[block.explanations]
        passed = np.cumsum(number)
        root = table.root[block.explanations]
        here = np.bincount(root, weights=number, minlength=table.roots).astype(np.int64)
        inside = np.flatnonzero((draws >= 0) & (draws < here))
        target = draws[inside] + (np.cumsum(here) - here)[inside]
        column = passed.searchsorted(target, "right")
        nth = target - (passed - number)[column]
        real = block.of(table.relevance_key)[:, column] != GAP
        mask = (np.cumsum(real, axis=0) > nth).argmax(axis=0)
        pairs[inside] = block.first + mask * block.count + column
        draws -= here
    return pairs


def most_simulatable(ranking: Ranking) -> Ints:
    """The best ν; then the largest |μ|; then canonical order."""
    table = ranking.table
    best = np.flatnonzero(ranking.simulatability_rank == 1)
    best = best[least(-table.best_key[best], table.root[best], table.roots)]
    return _first_of(table, best)


def most_relevant(table: PairTable) -> Ints:
    """The largest |μ|; then the best ν; then canonical order."""
    best = least(-table.best_key, table.root, table.roots)
    best = best[least(table.distance[best], table.root[best], table.roots)]
    return _first_of(table, best)


def _first_of(table: PairTable, explanations: Ints) -> Ints:
    """The first of the most relevant pairs of some explanations, by subject."""
    pairs = table.pairs_with(explanations, table.best_key[explanations], table.relevance_key)
    return canonical_firsts(table, pairs, table.root[table.explanation(pairs)])


def most_balanced(ranking: Ranking) -> Ints:
    """The smallest difference of ranks; then the best rank sum; then canonical order.

    Ranks in relevance are worked out only for pairs that could be that close: those whose |μ|
    lies between the values found at nearly the same rank. The window widens until one is found.
    """
    table, number = ranking.table, ranking.number
    last = (ranking.ends - 1)[table.root] if table.roots > 1 else ranking.ends[0] - 1
    most = (number - 1)[table.root] if table.roots > 1 else number[0] - 1
    place = ranking.simulatability_rank - 1
    open_, window = np.ones(table.roots, bool), FIRST_WINDOW
    pairs, roots = [], []
    while open_.any():
        upper = ranking.relevances[last - np.maximum(place - window, 0)]
        lower = ranking.relevances[last - np.minimum(place + window, most)]
        if not open_.all():
            lower[~open_[table.root]] = np.inf
        near = []
        for block in table.blocks:
            low, high = lower[block.explanations], upper[block.explanations]
            for mask, row in enumerate(block.of(table.relevance_key)):
                columns = np.flatnonzero((row >= low) & (row <= high))
                near.append(block.first + mask * block.count + columns)
        ranked = RankedPairs(ranking, np.concatenate(near))
        apart = np.abs(ranked.simulatability_rank - ranked.relevance_rank)
        best = np.flatnonzero(apart <= window)
        best = best[least(apart[best], ranked.root[best], table.roots)]
        best = best[least(ranked.rank_sum[best], ranked.root[best], table.roots)]
        pairs.append(ranked.pairs[best])
        roots.append(ranked.root[best])
        open_[roots[-1]] = False
        window *= 4
    return canonical_firsts(table, np.concatenate(pairs), np.concatenate(roots))


def shapley(table: PairTable) -> Ints:
    """A pair that removes the part with the largest Shapley value; of several, the largest |μ|.

    The value of a part is its mean signed μ over all explanations it can be removed from. A part
    that is all of an explanation of the largest size can be removed from that one alone, so its
    value is its μ. Other parts of several ties are averaged only if one of their μ is as large as
    the best value so far, since a mean is no larger than the largest of its terms.
    """
    single, tie = _single_removals(table)
    by_tie = _means_by_tie(table, single, tie)
    floor = by_tie.reshape(table.roots, -1).max(axis=1)
    largest = table.blocks[-1]
    whole = largest.of(table.relevance)[0]
    root = table.root[largest.explanations]
    if largest.ties > 1:
        first = np.flatnonzero(np.diff(root, prepend=-1))
        highest = np.maximum.reduceat(whole, first)
        floor[root[first]] = np.maximum(floor[root[first]], highest)
    floor -= RESOLUTION
    parts, values = _means_by_part(table, floor)
    if largest.ties > 1:
        columns = np.flatnonzero(whole >= floor[root if table.roots > 1 else 0])
        parts = np.concatenate((largest.first + columns, parts))
        values = np.concatenate((whole[columns], values))
    part_steps, tie_steps = comparable(values), comparable(by_tie)
    best = tie_steps.reshape(table.roots, -1).max(axis=1)
    root = table.root[table.explanation(parts)]
    np.maximum.at(best, root, part_steps)
    leading = (tie_steps.reshape(table.roots, -1) == best[:, None]).ravel()
    pairs = np.concatenate((single[leading[tie]], parts[part_steps == best[root]]))
    root = table.root[table.explanation(pairs)]
    best_pairs = least(-table.relevance_key[pairs], root, table.roots)
    return canonical_firsts(table, pairs[best_pairs], root[best_pairs])


def _single_removals(table: PairTable) -> tuple[Ints, Ints]:
    """The pairs that remove one tie, and that tie, numbered separately for every subject."""
    pairs, ties = [], []
    for block in table.blocks:
        kept = block.of(table.kept)
        for place in range(block.ties):
            mask = block.masks ^ (1 << place)
            real = np.flatnonzero(kept[mask] >= 0)
            pairs.append(real + (block.first + mask * block.count))
            tie = table.ties[place, block.explanations][real].astype(np.int64)
            if table.roots > 1:
                tie += table.root[block.explanations][real] * np.int64(table.tie_count)
            ties.append(tie)
    return np.concatenate(pairs), np.concatenate(ties)


def _means_by_tie(table: PairTable, pairs: Ints, tie: Ints) -> Floats:
    """The mean μ of removing each tie of each subject; -inf for ties that nothing removes."""
    size = table.roots * table.tie_count
    sums = np.bincount(tie, weights=table.relevance[pairs], minlength=size)
    number = np.bincount(tie, minlength=size)
    return np.where(number > 0, sums / np.maximum(number, 1), -np.inf)


def _means_by_part(table: PairTable, floor: Floats) -> tuple[Ints, Floats]:
    """Pairs that remove a part of several ties, smaller than a largest explanation, and its mean μ.

    Only parts, told apart by key, with a μ of at least the subject's floor in one of their pairs.
    """
    rows = [
        (block, mask)
        for block in table.blocks
        for mask in range(1 if block is table.blocks[-1] else 0, block.masks)
        if block.ties - mask.bit_count() > 1
    ]
    wanted = []
    for block, mask in rows:
        least_wanted = floor[table.root[block.explanations]] if table.roots > 1 else floor[0]
        large = block.of(table.relevance)[mask] >= least_wanted
        columns = np.flatnonzero(large & (block.of(table.kept)[mask] >= 0))
        wanted.append(_part_keys(table, block, mask, columns))
    wanted_keys = np.unique(np.concatenate([np.empty(0, np.uint64), *wanted]))
    if not len(wanted_keys):
        return np.empty(0, np.int64), np.empty(0)
    # A table of first bits rules out nearly all keys that are not wanted.
    first_bits = np.zeros(1 << FIRST_BITS, bool)
    first_bits[wanted_keys >> np.uint64(64 - FIRST_BITS)] = True
    pairs, groups = [], []
    for block, mask in rows:
        real = np.flatnonzero(block.of(table.kept)[mask] >= 0)
        key = _part_keys(table, block, mask, real)
        likely = np.flatnonzero(first_bits[key >> np.uint64(64 - FIRST_BITS)])
        key = key[likely]
        place = np.minimum(wanted_keys.searchsorted(key), len(wanted_keys) - 1)
        wanted_here = np.flatnonzero(wanted_keys[place] == key)
        pairs.append(real[likely[wanted_here]] + (block.first + mask * block.count))
        groups.append(place[wanted_here])
    pair, group = np.concatenate(pairs), np.concatenate(groups)
    sums = np.bincount(group, weights=table.relevance[pair])
    return pair, (sums / np.bincount(group))[group]


def _part_keys(table: PairTable, block: PairBlock, mask: int, columns: Ints) -> Keys:
    """Keys of removed parts, different for every subject."""
    keys = table.subtree_key
    explanation = columns + block.first_explanation
    key: Keys = keys[explanation + table.roots] - keys[block.of(table.kept)[mask][columns]]
    if table.roots > 1:
        key += keys[table.root[explanation]]
    return key
