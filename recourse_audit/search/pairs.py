"""All pairs of an explanation with a counterfactual inside it, for one subject.

A counterfactual keeps a set of the explanation's ties that still hangs together at the subject.
With the ties of a tree numbered in order of growth, the kept ties are a bit mask: mask m is a
counterfactual where every kept tie's node hangs on a node that is kept too. For each level of
explanations the table below has a row a mask and a column an explanation.

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

NONE = -1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PairLevel:
    """The pairs of explanations with one number of nodes.

    `kept[m, t]` numbers the subtree that mask m of explanation t keeps (-1: not a counterfactual),
    `relevance` is signed μ, `rank_key` is |μ| in steps of the resolution, or -1.
    """

    level: Level
    first: int
    kept: Indices
    removed: NDArray[np.int8]
    relevance: Floats
    rank_key: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTable:
    """Every pair of one subject, and the simulatability of every subtree of it.

    Subtrees are numbered level by level; 0 is the subject alone. Arrays over explanations leave
    that one out, so that explanation e is subtree e + 1. The key of a part is the difference of
    the keys of the subtrees with and without it.
    """

    simulatability: Floats
    keys: Keys
    levels: tuple[PairLevel, ...]
    explanation_key: Floats
    best_key: Floats
    pair_counts: Ints

    @property
    def explanations(self) -> int:
        return len(self.explanation_key)

    @property
    def pair_count(self) -> int:
        return int(self.pair_counts.sum())

    def relevance_keys(self, explanation: Ints, mask: Ints) -> Floats:
        """|μ| of some pairs, in steps of the resolution."""
        values = np.empty(len(explanation))
        for level in self.levels:
            column = explanation + 1 - level.first
            here = (column >= 0) & (column < len(level.level))
            values[here] = level.rank_key[mask[here], column[here]]
        return values

    def locate(self, explanation: int) -> tuple[PairLevel, int]:
        """The level of an explanation, and its column in it."""
        for pairs in reversed(self.levels):
            if explanation + 1 >= pairs.first:
                return pairs, explanation + 1 - pairs.first
        raise IndexError(explanation)


def pair_table(levels: Sequence[Level], simulatability: Floats, pairs: Indices) -> PairTable:
    """Build all pairs of one subject from its complete levels, one node first.

    `pairs` are the graph's numbers of the local ties.

    O(n 2^(C-1)) array entries for n subtrees of at most C nodes.
    """
    kept_of, book = _kept(levels, pairs)
    tables = []
    for level, kept, first in zip(levels[1:], kept_of, book.firsts[1:], strict=True):
        masks = np.arange(len(kept))
        removed = (level.size - 1 - np.bitwise_count(masks)).astype(np.int8)
        own = simulatability[first : first + len(level)]
        relevance = own - simulatability[kept]
        relevance /= removed[:, None]
        key = comparable(np.abs(relevance))
        key[kept < 0] = NONE
        tables.append(
            PairLevel(
                level=level,
                first=first,
                kept=kept,
                removed=removed,
                relevance=relevance,
                rank_key=key,
            )
        )
    return PairTable(
        simulatability=simulatability,
        keys=np.concatenate(book.keys),
        levels=tuple(tables),
        explanation_key=comparable(simulatability[1:]),
        best_key=_joined([table.rank_key.max(axis=0) for table in tables]),
        pair_counts=_joined([(table.kept >= 0).sum(axis=0) for table in tables]).astype(np.int64),
    )


def _joined(parts: list[NDArray[np.generic]]) -> NDArray[np.generic]:
    return np.concatenate(parts) if parts else np.empty(0)


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
    largest = levels[-1].size
    kept_of: list[Indices] = []
    below = np.empty((0, 1), np.int32)
    for level in levels[1:]:
        book.add(level, searchable=level.size < largest)
        every = np.concatenate(book.keys[:-1])
        complete = 1 << (level.size - 2)
        kept = np.full((2 * complete - 1, len(level)), -1, np.int32)
        kept[complete - 1] = level.owner + book.firsts[level.size - 2]
        word = book.words[level.ties[-1]]
        parent = level.parent[-1]
        for mask in range(complete - 1):
            kept[mask] = base = below[mask][level.owner]
            held = parent == 0
            for tie in range(level.size - 2):
                if mask >> tie & 1:
                    held |= parent == tie + 1
            some = np.flatnonzero(held & (base >= 0))
            keys = every[base[some]] + word[some]
            kept[complete + mask, some] = book.number(mask.bit_count() + 2, keys)
        kept_of.append(kept)
        below = kept
    return kept_of
