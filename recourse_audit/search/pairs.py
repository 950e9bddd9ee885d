"""All pairs of an explanation with a counterfactual inside it, for one subject.

A counterfactual keeps a set of the explanation's ties that still hangs together at the subject.
With the ties of a tree numbered in order of growth, the kept ties are a bit mask: mask m is a
counterfactual where every kept tie's node hangs on a node that is kept too.

Which evaluated subtree a mask stands for is found by the key of its set of ties (see `keys`).
That the keys of different subtrees differ is checked, not hoped for, so the result is exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.arrays import Floats, Indices, Ints
from recourse_audit.search.keys import Keys, tie_words
from recourse_audit.search.objectives import comparable
from recourse_audit.search.subtrees import Level

NO_TIE = np.int32(2**31 - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTable:
    """Every pair of one subject, sorted by explanation, then by the mask of kept ties.

    Subtrees are numbered level by level; 0 is the subject alone. Arrays over explanations leave
    that one out, so that explanation e is subtree e + 1. Pairs of explanation e are
    `starts[e]:starts[e + 1]`. `relevance` is signed μ; keys count in steps of the resolution. The
    key of a part is the difference of the subtree keys with and without it.
    """

    simulatability: Floats
    subtree_key: Keys
    ties: Indices
    explanation_key: Floats
    best_key: Floats
    starts: Ints
    explanation: Indices
    mask: NDArray[np.uint8]
    kept: Indices
    removed: NDArray[np.int8]
    relevance: Floats
    relevance_key: Floats

    def __len__(self) -> int:
        return len(self.explanation)

    def tie_columns(self, pairs: Ints) -> tuple[Indices, Indices]:
        """Each pair's ties and removed ties, both sorted and filled up with NO_TIE."""
        every = self.ties[:, self.explanation[pairs]]
        return np.sort(every, axis=0), np.sort(self.removed_ties(pairs), axis=0)

    def removed_ties(self, pairs: Ints) -> Indices:
        """Each pair's removed ties in order of growth; NO_TIE stands for the kept ones."""
        every = self.ties[:, self.explanation[pairs]]
        place = np.arange(len(every), dtype=np.uint8)[:, None]
        return np.where(self.mask[pairs] >> place & 1, NO_TIE, every)

    def sizes(self, pairs: Ints) -> Ints:
        """How many ties each pair's explanation has."""
        kept = np.bitwise_count(self.mask[pairs]).astype(np.int64)
        return kept + self.removed[pairs]


def pair_table(levels: Sequence[Level], simulatability: Floats, pairs: Indices) -> PairTable:
    """Build all pairs of one subject from its levels, one node first, closed under subtrees.

    `pairs` are the graph's numbers of the local ties. O(n 2^(C-1)) array entries for n subtrees
    of at most C nodes.
    """
    tables, book = _kept(levels, pairs)
    parts: list[tuple[NDArray[np.generic], ...]] = [_NOTHING]
    for level, table, first in zip(levels[1:], tables, book.firsts[1:], strict=True):
        valid = table >= 0
        count = valid.sum(axis=1)
        kept = table[valid]
        mask = np.broadcast_to(np.arange(table.shape[1], dtype=np.uint8), table.shape)[valid]
        removed = (level.size - 1 - np.bitwise_count(np.arange(table.shape[1]))).astype(np.int8)
        removed = removed[mask]
        relevance = np.repeat(simulatability[first : first + len(level)], count)
        relevance -= simulatability[kept]
        relevance /= removed
        numbers = np.arange(first - 1, first - 1 + len(level), dtype=np.int32)
        parts.append((count, np.repeat(numbers, count), mask, kept, removed, relevance))
    count, explanation, mask, kept, removed, relevance = (
        np.concatenate(columns) for columns in zip(*parts, strict=True)
    )
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(count)))
    key = comparable(np.abs(relevance))
    return PairTable(
        simulatability=simulatability,
        subtree_key=np.concatenate(book.keys),
        ties=_ties(levels),
        explanation_key=comparable(simulatability[1:]),
        best_key=np.maximum.reduceat(key, starts[:-1]) if len(key) else key,
        starts=starts,
        explanation=explanation,
        mask=mask,
        kept=kept,
        removed=removed,
        relevance=relevance,
        relevance_key=key,
    )


_NOTHING = (
    np.empty(0, np.int64),
    np.empty(0, np.int32),
    np.empty(0, np.uint8),
    np.empty(0, np.int32),
    np.empty(0, np.int8),
    np.empty(0, np.float64),
)


def _ties(levels: Sequence[Level]) -> Indices:
    """The ties of every explanation in order of growth, filled up with NO_TIE."""
    rows, total = levels[-1].size - 1, sum(len(level) for level in levels[1:])
    ties = np.full((rows, total), NO_TIE, np.int32)
    first = 0
    for level in levels[1:]:
        ties[: level.size - 1, first : first + len(level)] = level.ties
        first += len(level)
    return ties


def _kept(levels: Sequence[Level], pairs: Indices) -> tuple[list[Indices], "KeyBook"]:
    """Number the subtree behind every mask of every explanation."""
    for salt in range(8):
        book = KeyBook(tie_words(pairs, salt))
        try:
            return _kept_with(levels, book), book
        except CollisionError:
            continue
    raise AssertionError("keys collided under eight salts, which cannot be chance")


class CollisionError(Exception):
    """Two different subtrees got the same key."""


class KeyBook:
    """Finds a subtree's number by the key of its set of ties."""

    def __init__(self, words: Keys) -> None:
        self.words = words
        self.keys: list[Keys] = [np.zeros(1, np.uint64)]
        self._sorted: list[tuple[Keys, Ints]] = [(self.keys[0], np.zeros(1, np.int64))]
        self.firsts = [0]

    def add(self, level: Level, *, searchable: bool) -> None:
        """Enter a level; one that is the last is never looked up and need not be sorted."""
        key = self.keys[-1][level.owner] + self.words[level.ties[-1]]
        self.firsts.append(self.firsts[-1] + len(self.keys[-1]))
        self.keys.append(key)
        if searchable:
            order = np.argsort(key)
            ordered = key[order]
            if (ordered[1:] == ordered[:-1]).any():
                raise CollisionError
            self._sorted.append((ordered, order))

    def number(self, size: int, keys: Keys) -> Indices:
        """The subtrees of `size` nodes with these keys, all of which exist."""
        ordered, order = self._sorted[size - 1]
        place = order[np.searchsorted(ordered, keys)]
        return (place + self.firsts[size - 1]).astype(np.int32)


def _kept_with(levels: Sequence[Level], book: KeyBook) -> list[Indices]:
    """Which subtree each mask keeps, a row an explanation and a column a mask; -1 for none.

    A mask without the last tie keeps what it keeps in the tree below. One with it keeps that and
    the last tie, if the node this hangs on is kept.
    """
    largest = levels[-1].size
    tables: list[Indices] = []
    below = np.empty((1, 0), np.int32)
    for level in levels[1:]:
        book.add(level, searchable=level.size < largest)
        every = np.concatenate(book.keys[:-1])
        complete = 1 << (level.size - 2)
        kept = np.full((len(level), 2 * complete - 1), -1, np.int32)
        kept[:, : complete - 1] = below[level.owner]
        kept[:, complete - 1] = level.owner + book.firsts[level.size - 2]
        word, parent = book.words[level.ties[-1]], level.parent[-1]
        for mask in range(complete - 1):
            held = parent == 0
            for tie in range(level.size - 2):
                if mask >> tie & 1:
                    held |= parent == tie + 1
            base = kept[:, mask]
            some = np.flatnonzero(held & (base >= 0))
            keys = every[base[some]] + word[some]
            kept[some, complete + mask] = book.number(mask.bit_count() + 2, keys)
        tables.append(kept)
        below = kept
    return tables
