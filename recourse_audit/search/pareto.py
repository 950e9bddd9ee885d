"""All pairs of an explanation with a counterfactual inside it, their objectives, and their fronts.

A counterfactual keeps a set of the explanation's ties that is still connected to the subject.
With the ties of a tree numbered in order of growth, the kept ties are a bit mask: mask m is a
counterfactual if every kept tie's node hangs on a node that is kept too. The evaluated subtree that
a mask stands for is found by the key of its root and set of ties. That different subtrees have
different keys is checked, so the result is exact.

There is one block of pairs for each size of explanation, with one row per mask and one column per
explanation, so that all arithmetic runs along rows. A mask that is not a counterfactual of a tree
leaves a gap. Objectives are compared in steps of the resolution. Those of subject r are shifted up
by r times more than any two can differ, so that sorts, maxima and searches over all subjects at
once never mix two of them.

One pair dominates another if it is at least as good in both objectives and better in one
(Definition 2 of the paper). Equal pairs do not dominate each other, so ties all stay. Explanations
are sorted once, by subject, then by simulatability, best first; those that are equal in both form
one step of a staircase, which is the shape of a front.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.graph import Floats, Indices, Ints
from recourse_audit.graph.neighbourhoods import spans
from recourse_audit.search.subtrees import Keys, Level, tie_words

RESOLUTION = 1e-6
SHOWN_DIGITS = 6
NO_TIE = np.int32(2**31 - 1)
GAP = -1.0
EXACT = 2.0**52
ROOT_SALT = 1 << 20
COLUMNS_AT_ONCE = 1 << 14

Kind = TypeVar("Kind", bound=np.generic)


def comparable(values: Floats, out: Floats | None = None) -> Floats:
    """Values in whole steps of the resolution, so that equal results compare as equal."""
    steps: Floats = np.multiply(values, 1.0 / RESOLUTION, out=out)
    return np.rint(steps, out=steps)


def round_figures(values: Floats) -> Floats:
    """Round to the resolution at which results are compared; no negative zero."""
    return np.asarray(np.round(values, SHOWN_DIGITS) + 0.0)


def round_figure(value: float) -> float:
    """One figure, rounded as it is shown."""
    return round(value, SHOWN_DIGITS) + 0.0


@dataclass(frozen=True, kw_only=True)
class Staircase:
    """Explanations by subject and simulatability, equals in any order; steps begin at `starts`."""

    order: Ints
    starts: Ints

    @classmethod
    def build(cls, distance: Floats) -> "Staircase":
        """Sort by distance, ascending; those of different subjects do not overlap. O(n log n)."""
        order = np.argsort(distance)
        ordered = distance[order]
        change = np.ones(len(order), bool)
        np.not_equal(ordered[1:], ordered[:-1], out=change[1:])
        return cls(order=order, starts=np.flatnonzero(change))

    @cached_property
    def _ends(self) -> Ints:
        return np.append(self.starts, len(self.order))

    def only(self, wanted: Ints) -> "Staircase":
        """The staircase with only some of the steps, given in ascending order."""
        places, step = spans(self._ends, wanted)
        starts = np.flatnonzero(np.diff(step, prepend=-1))
        return Staircase(order=self.order[places], starts=starts)

    def ranks(self, number: Ints, root: Indices, before: Ints) -> Ints:
        """Competition ranks of explanations, the best first; equal ones share the best rank.

        Each stands for `number` pairs; `before` counts those of earlier subjects.
        """
        passed = np.cumsum(number[self.order])
        first = self.order[self.starts]
        own = 1 + passed[self.starts] - number[first] - before[root[first]]
        ranks = np.empty(len(self.order), np.int64)
        ranks[self.order] = np.repeat(own, np.diff(self._ends))
        return ranks

    def front(self, best: Floats) -> Ints:
        """The explanations that no other one of the same subject dominates, ascending.

        `best` is the largest relevance of each; those of a later subject are larger than all those
        of an earlier one.
        """
        highest = np.maximum.reduceat(best[self.order], self.starts)
        before = np.append(-1.0, np.maximum.accumulate(highest[:-1]))
        leading = np.flatnonzero(highest > before)
        places, step = spans(self._ends, leading)
        candidates = self.order[places]
        return np.sort(candidates[best[candidates] == highest[leading[step]]])


class SpreadError(Exception):
    """The objectives of several subjects are too far apart to be compared in one table."""


class PairBlock:
    """Where the pairs of explanations of one size lie: `masks` rows of `count` columns."""

    def __init__(self, *, ties: int, first: int, first_explanation: int, count: int) -> None:
        self.ties, self.first, self.count = ties, first, count
        self.masks, self.first_explanation = (1 << ties) - 1, first_explanation
        self.explanations = slice(first_explanation, first_explanation + count)

    def of(self, column: NDArray[Kind]) -> NDArray[Kind]:
        """The block's part of an array over all pairs, one row per mask."""
        size = self.masks * self.count
        return column[self.first : self.first + size].reshape(self.masks, self.count)


class PairTable:
    """Every pair of some subjects.

    Subtrees are numbered level by level, those of one subject side by side; the first ones are the
    `roots` subjects alone. Arrays over explanations leave these out, so that explanation e is
    subtree e + roots. `root` is the subject of an explanation, `number` how many pairs it has; ties
    are numbered below `tie_count`.

    `distance` is minus ν and `relevance_key` is |μ|, both in steps of the resolution and shifted up
    by the subject's number times `spread`; gaps have the key `GAP`. `best_key` is the largest of
    each explanation. `relevance` is signed μ. The key of a part is the difference of the subtree
    keys with and without it.
    """

    def __init__(
        self, levels: Sequence[Level], simulatability: Floats, pairs: Indices, roots: int = 1
    ) -> None:
        """Build all pairs from levels, smallest first, closed under subtrees.

        `pairs` are the graph's numbers of the local ties. O(n 2^(C-1)) array entries for n subtrees
        of at most C nodes. Raises `SpreadError` where the subjects must be taken one by one.
        """
        levels = [level for level in levels if len(level)]
        self.roots, self.tie_count, self.simulatability = roots, len(pairs), simulatability
        self.blocks, self.ties = _blocks(levels)
        self.kept, self.subtree_key = _match_subtrees(levels, self.blocks, pairs, roots)
        self.relevance, self.relevance_key = np.empty(len(self.kept)), np.empty(len(self.kept))
        for block in self.blocks:
            self._score(block)
        root = [np.empty(0, np.int32), *(level.root for level in levels[1:])]
        self.root: Indices = np.concatenate(root)
        self.distance, self.spread = comparable(-simulatability[roots:]), 0.0
        if roots > 1:
            farthest = self.distance.max(initial=0.0), self.relevance_key.max(initial=0.0)
            self.spread = float(1.0 + max(farthest))
            if not roots * self.spread < EXACT:  # whole steps must stay exact
                raise SpreadError
            self.distance += self.root * self.spread
        self.number, self.best_key = np.empty(len(self.root), np.int64), np.empty(len(self.root))
        for block in self.blocks:
            self._shift(block)

    def _score(self, block: PairBlock) -> None:
        """Work out the relevance of a block's pairs, and its size in steps."""
        own = self.simulatability[self.roots :][block.explanations]
        kept = block.of(self.kept)
        signed, steps = block.of(self.relevance), block.of(self.relevance_key)
        for first in range(0, block.count, COLUMNS_AT_ONCE):
            part = slice(first, first + COLUMNS_AT_ONCE)
            for mask in range(block.masks):
                row, stepped = signed[mask, part], steps[mask, part]
                # A gap takes the last of the values, and its key is overwritten later.
                np.take(self.simulatability, kept[mask, part], out=row, mode="wrap")
                np.subtract(own[part], row, out=row)
                if block.ties - mask.bit_count() > 1:
                    row /= block.ties - mask.bit_count()
                comparable(np.abs(row, out=stepped), out=stepped)

    def _shift(self, block: PairBlock) -> None:
        """Shift a block's keys up by subject, mark its gaps, and find what is best."""
        kept, steps = block.of(self.kept), block.of(self.relevance_key)
        root, number, best = (
            array[block.explanations] for array in (self.root, self.number, self.best_key)
        )
        for first in range(0, block.count, COLUMNS_AT_ONCE):
            part = slice(first, first + COLUMNS_AT_ONCE)
            gaps = kept[:, part] < 0
            if self.spread:
                steps[:, part] += root[part] * self.spread
            np.copyto(steps[:, part], GAP, where=gaps)
            number[part] = block.masks - np.add.reduce(gaps, axis=0, dtype=np.int8)
            np.maximum.reduce(steps[:, part], axis=0, out=best[part])

    @cached_property
    def _layout(self) -> tuple[Ints, Ints, Ints]:
        """Where each block's pairs begin, where its explanations begin, and how many there are."""
        firsts = [(block.first, block.first_explanation, block.count) for block in self.blocks]
        first, explanation, count = np.array(firsts, np.int64).reshape(-1, 3).T
        return first, explanation, count

    @property
    def pairs_by_root(self) -> Ints:
        return np.bincount(self.root, weights=self.number, minlength=self.roots).astype(np.int64)

    def places(self, pairs: Ints) -> tuple[Ints, Ints]:
        """The explanation and the mask of kept ties of some pairs."""
        firsts, explanations, counts = self._layout
        block = firsts.searchsorted(pairs, "right") - 1
        mask, column = np.divmod(pairs - firsts[block], counts[block])
        column += explanations[block]
        return column, mask

    def explanation(self, pairs: Ints) -> Ints:
        return self.places(pairs)[0]

    def sizes(self, explanations: Ints) -> Ints:
        return self._layout[1].searchsorted(explanations, "right")

    def pairs_with(self, explanations: Ints, keys: Floats, relevance_key: Floats) -> Ints:
        """The pairs of some explanations, ascending, that have the key given for each."""
        pairs = [np.empty(0, np.int64)]
        for block in self.blocks:
            first, last = explanations.searchsorted(
                (block.first_explanation, block.first_explanation + block.count)
            )
            columns = explanations[first:last] - block.first_explanation
            hit = block.of(relevance_key)[:, columns] == keys[first:last]
            mask, place = np.nonzero(hit)
            pairs.append(block.first + mask * block.count + columns[place])
        return np.concatenate(pairs)

    def tie_columns(self, pairs: Ints) -> tuple[Indices, Indices]:
        """Each pair's ties and removed ties, both sorted and padded with NO_TIE."""
        every = np.sort(self.ties[:, self.explanation(pairs)], axis=0)
        return every, np.sort(self.ties_removed(pairs), axis=0)

    def ties_removed(self, pairs: Ints) -> Indices:
        """Each pair's removed ties in order of growth; NO_TIE stands for the kept ones."""
        explanation, mask = self.places(pairs)
        is_kept = mask >> np.arange(len(self.ties))[:, None] & 1
        return np.where(is_kept, NO_TIE, self.ties[:, explanation])


def _blocks(levels: Sequence[Level]) -> tuple[tuple[PairBlock, ...], Indices]:
    """The blocks, and the ties of every explanation in order of growth, padded with NO_TIE."""
    blocks, first, explanations = [], 0, 0
    total = sum(len(level) for level in levels[1:])
    ties = np.full((levels[-1].size - 1, total), NO_TIE, np.int32)
    for level in levels[1:]:
        width, count = level.size - 1, len(level)
        block = PairBlock(ties=width, first=first, first_explanation=explanations, count=count)
        ties[:width, block.explanations] = level.ties
        blocks.append(block)
        first += block.masks * count
        explanations += count
    return tuple(blocks), ties


def _match_subtrees(
    levels: Sequence[Level], blocks: Sequence[PairBlock], pairs: Indices, roots: int, salt: int = 0
) -> tuple[Indices, Keys]:
    """The subtree that every mask of every explanation keeps (-1 for a gap), and subtrees' keys.

    A mask without the last tie keeps what it keeps in the tree below. A mask with it also keeps the
    last tie, if the node that this hangs on is kept. If two subtrees get one key, other words are
    taken for the ties.
    """
    words = tie_words(pairs, salt)
    kept = np.empty(sum(block.masks * block.count for block in blocks), np.int32)
    below = np.empty((0, roots), np.int32)
    keys, firsts, by_key = [tie_words(np.arange(roots), ROOT_SALT)], [0], []
    for level, block in zip(levels[1:], blocks, strict=True):
        every = np.concatenate(keys)
        word, parent = words[level.ties[-1]], level.parent[-1]
        keys.append(keys[-1][level.owner] + word)
        firsts.append(len(every))
        if level is not levels[-1]:  # whose keys are never looked up
            order = np.argsort(keys[-1])
            ordered = keys[-1][order]
            if (ordered[1:] == ordered[:-1]).any():
                return _match_subtrees(levels, blocks, pairs, roots, salt + 1)
            by_key.append((ordered, order + firsts[-1]))
        table = block.of(kept)
        complete = 1 << (level.size - 2)
        for mask, row in enumerate(below):
            np.take(row, level.owner, out=table[mask], mode="clip")
        np.add(level.owner, firsts[-2], out=table[complete - 1])
        for mask in range(complete - 1):
            base, row = table[mask], table[complete + mask]
            row.fill(-1)
            holds = np.array([(2 * mask + 1) >> place & 1 for place in range(level.size - 1)], bool)
            columns = np.flatnonzero(holds[parent] & (base >= 0))
            ordered, numbers = by_key[mask.bit_count()]
            row[columns] = numbers[ordered.searchsorted(every[base[columns]] + word[columns])]
        below = table
    return kept, np.concatenate(keys)
