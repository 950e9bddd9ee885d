"""Which pairs to show: the winner, the front, diverse others, and what other methods would pick.

Nothing here asks the model; all is arithmetic over one subject's `PairTable`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from recourse_audit.graph.arrays import Floats, Indices, Ints
from recourse_audit.search.packing import sorted_rows
from recourse_audit.search.pairs import NONE, PairTable
from recourse_audit.search.pareto import competition_ranks, non_dominated

LAYERS_SEARCHED = 25
NO_TIE = np.int32(2**31 - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Some pairs of a table: explanations with the masks of the ties they keep."""

    explanation: Ints
    mask: Ints

    def __len__(self) -> int:
        return len(self.explanation)

    def take(self, places: Ints) -> "Pairs":
        return Pairs(explanation=self.explanation[places], mask=self.mask[places])


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What is compared of some pairs: both objectives in steps of the resolution, and ranks."""

    simulatability: Floats
    relevance: Floats
    simulatability_rank: Ints
    relevance_rank: Ints

    @property
    def rank_sum(self) -> Ints:
        return self.simulatability_rank + self.relevance_rank


class Ranking:
    """Competition ranks of all pairs of a subject along both objectives (eq. 6 of the paper)."""

    def __init__(self, table: PairTable) -> None:
        self.table = table
        self.relevances = np.sort(_flat([level.rank_key for level in table.levels]))
        self.simulatability_rank = competition_ranks(table.explanation_key, table.pair_counts)

    def figures(self, pairs: Pairs) -> Figures:
        """Look up objectives and ranks of some pairs."""
        relevance = self.table.relevance_keys(pairs.explanation, pairs.mask)
        return Figures(
            simulatability=self.table.explanation_key[pairs.explanation],
            relevance=relevance,
            simulatability_rank=self.simulatability_rank[pairs.explanation],
            relevance_rank=self.relevance_rank(relevance),
        )

    def relevance_rank(self, keys: Floats) -> Ints:
        """Competition ranks of relevances among all pairs."""
        return 1 + len(self.relevances) - np.searchsorted(self.relevances, keys, side="right")


def fronts(table: PairTable) -> Iterator[Pairs]:
    """Yield the Pareto front, then the front of what remains, layer by layer.

    A pair on a front has the largest relevance of its explanation among the pairs that remain,
    so one sweep over explanations finds it.
    """
    keys = [level.rank_key for level in table.levels]
    best = table.best_key
    for layer in range(LAYERS_SEARCHED):
        left = np.flatnonzero(best > NONE)
        if not len(left):
            return
        on_front = left[non_dominated(table.explanation_key[left], best[left])]
        found = []
        for place, level in enumerate(table.levels):
            columns = on_front[(on_front + 1 >= level.first)] + 1 - level.first
            columns = columns[columns < len(level.level)]
            column, mask = np.nonzero(
                (keys[place][:, columns] == best[columns + level.first - 1]).T
            )
            found.append(Pairs(explanation=columns[column] + level.first - 1, mask=mask))
        front = Pairs(
            explanation=_flat([pairs.explanation for pairs in found]),
            mask=_flat([pairs.mask for pairs in found]),
        )
        yield front
        if layer == 0:
            keys = [key.copy() for key in keys]
        for place, pairs in enumerate(found):
            level = table.levels[place]
            keys[place][pairs.mask, pairs.explanation + 1 - level.first] = NONE
        best = _flat([key.max(axis=0) for key in keys])


def winner(ranking: Ranking, front: Pairs) -> Pairs:
    """The pair with the best rank sum, which lies on the front (Theorem 1).

    Of several: fewest removed ties, then fewest nodes, then the canonical order of ties.
    """
    total = ranking.figures(front).rank_sum
    best = front.take(np.flatnonzero(total == total.min()))
    return best.take(canonical_order(ranking.table, best)[:1])


def canonical_order(table: PairTable, pairs: Pairs) -> Ints:
    """Order pairs by removed ties, nodes, then the explanation's ties, then the removed ones."""
    if len(pairs) == 1:
        return np.zeros(1, np.int64)
    every, removed = tie_columns(table, pairs)
    counts = (removed != NO_TIE).sum(axis=0), (every != NO_TIE).sum(axis=0)
    columns = (*counts, *every, *removed)
    return np.lexsort(columns[::-1])


def tie_columns(table: PairTable, pairs: Pairs) -> tuple[Indices, Indices]:
    """The ties of each pair's explanation and its removed ties, sorted, filled up with NO_TIE."""
    rows = max((level.level.size - 1 for level in table.levels), default=0)
    every = np.full((rows, len(pairs)), NO_TIE, np.int32)
    removed = every.copy()
    for level in table.levels:
        column = pairs.explanation + 1 - level.first
        here = np.flatnonzero((column >= 0) & (column < len(level.level)))
        for place, ties in enumerate(level.level.ties):
            tie = ties[column[here]]
            every[place, here] = tie
            dropped = (pairs.mask[here] >> place & 1) == 0
            removed[place, here[dropped]] = tie[dropped]
    return sorted_rows(every), sorted_rows(removed)


def diverse(ranking: Ranking, first: Pairs, count: int) -> list[tuple[Pairs, int]]:
    """Choose pairs for the largest least Jaccard distance between removed ties; with their layers.

    Starts from `first`; takes from the front, and from a later layer only when nothing in the
    earlier ones removes anything new. Ties go to the better rank sum, then to canonical order.
    Looks at most at 25 layers.
    """
    table = ranking.table
    chosen = [(first, 1)]
    removed = [tie_columns(table, first)[1][:, 0]]
    for number, layer in enumerate(fronts(table), start=1):
        pool = _ordered(ranking, layer)
        ties = tie_columns(table, pool)[1]
        least = np.min([_jaccard(ties, other) for other in removed], axis=0)
        while len(chosen) < count and len(least) and least.max() > 0:
            place = int(np.argmax(least))
            chosen.append((pool.take(np.array([place])), number))
            removed.append(ties[:, place])
            least = np.minimum(least, _jaccard(ties, ties[:, place]))
        if len(chosen) == count:
            break
    return chosen


def dominated_by(table: PairTable, simulatability: float, relevance: float) -> int:
    """Count the pairs that a pair with these objectives dominates."""
    total = 0
    weaker = table.explanation_key <= simulatability
    for level in table.levels:
        span = slice(level.first - 1, level.first - 1 + len(level.level))
        keys = level.rank_key
        worse = (keys <= relevance) & (keys > NONE) & weaker[span]
        equal = (keys == relevance) & (table.explanation_key[span] == simulatability)
        total += int(np.count_nonzero(worse)) - int(np.count_nonzero(equal))
    return total


def _ordered(ranking: Ranking, pairs: Pairs) -> Pairs:
    """Sort pairs by rank sum, then canonically."""
    pairs = pairs.take(canonical_order(ranking.table, pairs))
    return pairs.take(np.argsort(ranking.figures(pairs).rank_sum, kind="stable"))


def _jaccard(ties: Indices, other: Indices) -> Floats:
    """The Jaccard distance between each column of removed ties and one set of removed ties."""
    real = other[other != NO_TIE]
    both = sum((ties == tie).sum(axis=0) for tie in real)
    either = (ties != NO_TIE).sum(axis=0) + len(real) - both
    return 1.0 - both / either


def _flat(parts: "list[Floats] | list[Ints]") -> "Floats":
    return np.concatenate([part.ravel() for part in parts]) if parts else np.empty(0)
