"""Which pairs to show: the winner, the front, and diverse others.

Nothing here asks the model; all is arithmetic over one subject's `PairTable`. Pairs are named by
their places in it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.arrays import Floats, Indices, Ints
from recourse_audit.graph.neighbourhoods import spans
from recourse_audit.search.pairs import NO_TIE, PairTable
from recourse_audit.search.pareto import competition_ranks, non_dominated

LAYERS_SEARCHED = 25
GONE = -1.0


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
        self.relevances = np.sort(table.relevance_key)
        self.simulatability_rank = competition_ranks(table.explanation_key, np.diff(table.starts))

    def figures(self, pairs: Ints) -> Figures:
        """Look up objectives and ranks of some pairs."""
        explanation = self.table.explanation[pairs]
        relevance = self.table.relevance_key[pairs]
        return Figures(
            simulatability=self.table.explanation_key[explanation],
            relevance=relevance,
            simulatability_rank=self.simulatability_rank[explanation],
            relevance_rank=1 + len(self.table) - self.relevances.searchsorted(relevance, "right"),
        )


def fronts(table: PairTable) -> Iterator[Ints]:
    """Yield the Pareto front, then the front of what remains, layer by layer, 25 at most.

    A pair on a front has the largest relevance of its explanation among the pairs that remain,
    so one sweep over explanations finds it.
    """
    keys, best = table.relevance_key, table.best_key
    for layer in range(LAYERS_SEARCHED):
        left = np.flatnonzero(best > GONE) if layer else np.arange(len(best))
        if not len(left):
            return
        on_front = left[non_dominated(table.explanation_key[left], best[left])]
        pairs, owner = spans(table.starts, on_front)
        front = pairs[keys[pairs] == best[on_front[owner]]]
        yield front
        keys = keys if layer else keys.copy()
        keys[front] = GONE
        best = np.maximum.reduceat(keys, table.starts[:-1])


def winner(ranking: Ranking, front: Ints) -> int:
    """The pair with the best rank sum, which lies on the front (Theorem 1).

    Of several: fewest removed ties, then fewest nodes, then the canonical order of ties.
    """
    total = ranking.figures(front).rank_sum
    return canonical_first(ranking.table, front[total == total.min()])


def canonical_first(table: PairTable, pairs: Ints) -> int:
    """The first of some pairs in canonical order."""
    return int(pairs[canonical_order(table, pairs)[0]]) if len(pairs) > 1 else int(pairs[0])


def canonical_order(table: PairTable, pairs: Ints) -> Ints:
    """Order pairs by removed ties, nodes, then the explanation's ties, then the removed ones."""
    every, gone = table.tie_columns(pairs)
    columns = (table.removed[pairs], table.sizes(pairs), *every, *gone)
    return np.lexsort(columns[::-1])


def diverse(
    ranking: Ranking, first: int, layers: Iterable[Ints], count: int
) -> list[tuple[int, int]]:
    """Choose pairs for the largest least Jaccard distance between removed ties; with their layers.

    Starts from `first`; takes from the front, and from a later layer only when nothing in the
    earlier ones removes anything new. `layers` are those of `fronts`. Ties go to the better rank
    sum, then to canonical order.
    """
    table = ranking.table
    chosen = [(first, 1)]
    removed = [table.removed_ties(np.array([first]))[:, 0]]
    if count == 1:
        return chosen
    for number, layer in enumerate(layers, start=1):
        gone, sizes = table.removed_ties(layer), table.removed[layer]
        least = _jaccard(gone, sizes, removed[0])
        for other in removed[1:]:
            np.minimum(least, _jaccard(gone, sizes, other), out=least)
        while len(chosen) < count:
            farthest = np.flatnonzero(least == least.max())
            if least[farthest[0]] == 0:
                break
            place = int(farthest[0] if len(farthest) == 1 else _preferred(ranking, layer, farthest))
            chosen.append((int(layer[place]), number))
            removed.append(gone[:, place])
            np.minimum(least, _jaccard(gone, sizes, removed[-1]), out=least)
        if len(chosen) == count:  # before the next layer is worked out
            break
    return chosen


def _preferred(ranking: Ranking, pairs: Ints, places: Ints) -> int:
    """Of some places in a list of pairs, the one with the best rank sum, then canonical order."""
    total = ranking.figures(pairs[places]).rank_sum
    best = places[total == total.min()]
    if len(best) == 1:
        return int(best[0])
    return int(best[canonical_order(ranking.table, pairs[best])[0]])


def dominated_by(table: PairTable, pairs: Ints) -> Ints:
    """Count, for each of some pairs, the pairs that it dominates."""
    simulatability = table.explanation_key[table.explanation]
    counts = []
    for pair in pairs:
        own, other = simulatability[pair], table.relevance_key[pair]
        weaker = (simulatability <= own) & (table.relevance_key <= other)
        alike = (simulatability == own) & (table.relevance_key == other)
        counts.append(np.count_nonzero(weaker) - np.count_nonzero(alike))
    return np.array(counts)


def _jaccard(gone: Indices, sizes: NDArray[np.int8], other: Indices) -> Floats:
    """The Jaccard distance between each column of removed ties and one set of removed ties."""
    real = other[other != NO_TIE]
    both = (gone[:, None, :] == real[:, None]).sum(axis=(0, 1))
    distance: Floats = 1.0 - both / (sizes + len(real) - both)
    return distance
