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


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """Answers on the whole graph, one row per node: log-probabilities, and their exponentials.

    Of a score model: scores in one column, and `spread`, the standard deviation of everybody's.
    """

    logarithms: Floats
    probabilities: Floats
    spread: float | None = None

    @classmethod
    def of_answers(cls, answers: Floats, spread: float | None = None) -> "Whole":
        chances = np.exp(answers) if spread is None else answers
        return cls(logarithms=answers, probabilities=chances, spread=spread)

    def of(self, nodes: NDArray[np.integer]) -> "Whole":
        """The rows of some nodes."""
        return Whole(
            logarithms=self.logarithms[nodes],
            probabilities=self.probabilities[nodes],
            spread=self.spread,
        )


def simulatability(whole: Whole, subgraph: Floats) -> Floats:
    """Minus the symmetric Kullback-Leibler divergence between answers, row by row.

    `subgraph` has answers; `whole` may be a single row. Zero is the best value, reached only where
    the subgraph gives exactly the answer of the whole graph.

    A score stands for a normal distribution around it with the population's standard deviation
    sigma. The divergence of two of those is (s - s')^2 / 2 sigma^2 either way, and both are added.
    """
    if whole.spread is not None:
        apart = (whole.logarithms[:, 0] - subgraph[:, 0]) / whole.spread
        scores: Floats = -apart * apart
        return scores
    total = np.zeros(len(subgraph))
    columns = zip(whole.logarithms.T, whole.probabilities.T, subgraph.T, strict=True)
    for one, chance, other in columns:
        term = chance - np.exp(other)
        term *= other - one
        total += term
    return total


def comparable(values: Floats, out: Floats | None = None) -> Floats:
    """Values in whole steps of the resolution, so that equal results compare as equal."""
    steps: Floats = np.multiply(values, 1.0 / RESOLUTION, out=out)
    return np.rint(steps, out=steps)


def figures(steps: Floats) -> Floats:
    """The values that whole steps of the resolution stand for, as they are shown."""
    values: Floats = np.round(steps * RESOLUTION, SHOWN_DIGITS) + 0.0
    return values


@dataclass(frozen=True, kw_only=True)
class Staircase:
    """Explanations in order of subject and simulatability; `starts` is where each step begins.

    Explanations with equal simulatability come in any order.
    """

    order: Ints
    starts: Ints

    @classmethod
    def build(cls, distance: Floats) -> "Staircase":
        """Sort by distance, ascending; those of different subjects do not overlap. O(n log n)."""
        order = np.argsort(distance)
        ordered = distance[order]
        change = np.empty(len(order), bool)
        change[:1] = True
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
        before = np.empty_like(highest)
        before[0] = -1.0
        np.maximum.accumulate(highest[:-1], out=before[1:])
        leading = np.flatnonzero(highest > before)
        places, step = spans(self._ends, leading)
        some = self.order[places]
        return np.sort(some[best[some] == highest[leading[step]]])


Kind = TypeVar("Kind", bound=np.generic)

NO_TIE = np.int32(2**31 - 1)
GAP = -1.0
EXACT = 2.0**52
ROOT_SALT = 1 << 20
COLUMNS_AT_ONCE = 1 << 14


class SpreadError(Exception):
    """The objectives of several subjects are too far apart to be compared in one table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairBlock:
    """Where the pairs of explanations of one size lie: `masks` rows of `count` columns."""

    ties: int
    first: int
    first_explanation: int
    count: int

    @property
    def masks(self) -> int:
        return (1 << self.ties) - 1

    @property
    def explanations(self) -> slice:
        return slice(self.first_explanation, self.first_explanation + self.count)

    def of(self, column: NDArray[Kind]) -> NDArray[Kind]:
        """The block's part of an array over all pairs, one row per mask."""
        size = self.masks * self.count
        return column[self.first : self.first + size].reshape(self.masks, self.count)


@dataclass(frozen=True, kw_only=True)
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

    roots: int
    root: Indices
    number: Ints
    simulatability: Floats
    subtree_key: Keys
    ties: Indices
    tie_count: int
    spread: float
    distance: Floats
    best_key: Floats
    blocks: tuple[PairBlock, ...]
    kept: Indices
    relevance: Floats
    relevance_key: Floats

    @cached_property
    def _layout(self) -> tuple[Ints, Ints, Ints]:
        """Where each block's pairs begin, where its explanations begin, and how many there are."""
        firsts = [(block.first, block.first_explanation, block.count) for block in self.blocks]
        first, explanation, count = np.array(firsts, np.int64).reshape(-1, 3).T
        return first, explanation, count

    @property
    def pairs_by_root(self) -> Ints:
        """How many pairs each subject has."""
        return np.bincount(self.root, weights=self.number, minlength=self.roots).astype(np.int64)

    def places(self, pairs: Ints) -> tuple[Ints, Ints]:
        """The explanation and the mask of kept ties of some pairs."""
        firsts, explanations, counts = self._layout
        block = firsts.searchsorted(pairs, "right") - 1
        mask, column = np.divmod(pairs - firsts[block], counts[block])
        column += explanations[block]
        return column, mask

    def explanation(self, pairs: Ints) -> Ints:
        """The explanations of some pairs."""
        return self.places(pairs)[0]

    def sizes(self, explanations: Ints) -> Ints:
        """How many ties some explanations have."""
        return self._layout[1].searchsorted(explanations, "right")

    def pairs_with(self, explanations: Ints, keys: Floats, relevance_key: Floats) -> Ints:
        """The pairs of some explanations, ascending, that have the key given for each."""
        found = []
        for block in self.blocks:
            first, last = explanations.searchsorted(
                (block.first_explanation, block.first_explanation + block.count)
            )
            if first == last:
                continue
            columns = explanations[first:last] - block.first_explanation
            hit = block.of(relevance_key)[:, columns] == keys[first:last]
            mask, place = np.nonzero(hit)
            found.append(block.first + mask * block.count + columns[place])
        return found[0] if len(found) == 1 else np.concatenate(found or [np.empty(0, np.int64)])

    def tie_columns(self, pairs: Ints) -> tuple[Indices, Indices]:
        """Each pair's ties and removed ties, both sorted and padded with NO_TIE."""
        explanation, mask = self.places(pairs)
        every = self.ties[:, explanation]
        return np.sort(every, axis=0), np.sort(_removed_ties(every, mask), axis=0)

    def removed_ties(self, pairs: Ints) -> Indices:
        """Each pair's removed ties in order of growth; NO_TIE stands for the kept ones."""
        explanation, mask = self.places(pairs)
        return _removed_ties(self.ties[:, explanation], mask)


def _removed_ties(ties: Indices, mask: Ints) -> Indices:
    place = np.arange(len(ties))[:, None]
    return np.where(mask >> place & 1, NO_TIE, ties)


def pair_table(
    levels: Sequence[Level], simulatability: Floats, pairs: Indices, roots: int = 1
) -> PairTable:
    """Build all pairs of some subjects from their levels, smallest first, closed under subtrees.

    `pairs` are the graph's numbers of the local ties. O(n 2^(C-1)) array entries for n subtrees
    of at most C nodes. Raises `SpreadError` where the subjects must be taken one by one.
    """
    levels = [level for level in levels if len(level)]
    blocks = _blocks(levels)
    kept, index = _kept_subtrees(levels, blocks, pairs, roots)
    relevance, key = np.empty(len(kept)), np.empty(len(kept))
    for block in blocks:
        own = simulatability[roots:][block.explanations]
        table, signed, steps = block.of(kept), block.of(relevance), block.of(key)
        for first in range(0, block.count, COLUMNS_AT_ONCE):
            some = slice(first, first + COLUMNS_AT_ONCE)
            for mask in range(block.masks):
                row, stepped = signed[mask, some], steps[mask, some]
                # A gap takes the last of the values, and its key is overwritten below.
                np.take(simulatability, table[mask, some], out=row, mode="wrap")
                np.subtract(own[some], row, out=row)
                if block.ties - mask.bit_count() > 1:
                    row /= block.ties - mask.bit_count()
                comparable(np.abs(row, out=stepped), out=stepped)
    root = _join([level.root for level in levels[1:]])
    distance = comparable(-simulatability[roots:])
    spread = _spread(roots, distance, key)
    offset = root * spread
    number, best = np.empty(len(root), np.int64), np.empty(len(root))
    for block in blocks:
        table, steps = block.of(kept), block.of(key)
        for first in range(0, block.count, COLUMNS_AT_ONCE):
            some = slice(first, first + COLUMNS_AT_ONCE)
            here = slice(block.first_explanation + first, block.explanations.stop)
            here = slice(here.start, min(here.start + COLUMNS_AT_ONCE, here.stop))
            gaps = table[:, some] < 0
            if spread:
                steps[:, some] += offset[here]
            np.copyto(steps[:, some], GAP, where=gaps)
            number[here] = block.masks - np.add.reduce(gaps, axis=0, dtype=np.int8)
            np.maximum.reduce(steps[:, some], axis=0, out=best[here])
    return PairTable(
        roots=roots,
        root=root,
        number=number,
        simulatability=simulatability,
        subtree_key=np.concatenate(index.keys),
        ties=_ties(levels),
        tie_count=len(pairs),
        spread=spread,
        distance=distance + offset if spread else distance,
        best_key=best,
        blocks=blocks,
        kept=kept,
        relevance=relevance,
        relevance_key=key,
    )


def _spread(roots: int, distance: Floats, key: Floats) -> float:
    """By how much to shift each subject further up; whole steps must stay exact."""
    if roots == 1:
        return 0.0
    spread = 1.0 + max(distance.max(initial=0.0), key.max(initial=0.0))
    if not roots * spread < EXACT:
        raise SpreadError
    return float(spread)


def _blocks(levels: Sequence[Level]) -> tuple[PairBlock, ...]:
    blocks, pairs, explanations = [], 0, 0
    for level in levels[1:]:
        block = PairBlock(
            ties=level.size - 1,
            first=pairs,
            first_explanation=explanations,
            count=len(level),
        )
        blocks.append(block)
        pairs += block.masks * block.count
        explanations += block.count
    return tuple(blocks)


def _join(parts: Sequence[Indices]) -> Indices:
    return np.concatenate([np.empty(0, np.int32), *parts])


def _ties(levels: Sequence[Level]) -> Indices:
    """The ties of every explanation in order of growth, padded with NO_TIE."""
    rows, total = levels[-1].size - 1, sum(len(level) for level in levels[1:])
    ties = np.full((rows, total), NO_TIE, np.int32)
    first = 0
    for level in levels[1:]:
        ties[: level.size - 1, first : first + len(level)] = level.ties
        first += len(level)
    return ties


def _kept_subtrees(
    levels: Sequence[Level], blocks: Sequence[PairBlock], pairs: Indices, roots: int
) -> tuple[Indices, "SubtreeIndex"]:
    """The number of the subtree that every mask of every explanation keeps; -1 for a gap."""
    for salt in range(8):
        index = SubtreeIndex(tie_words(pairs, salt), roots)
        try:
            return _kept_with(levels, blocks, index), index
        except CollisionError:
            continue
    raise AssertionError("keys collided under eight salts, which cannot be chance")


class CollisionError(Exception):
    """Two different subtrees got the same key."""


class SubtreeIndex:
    """Finds a subtree's number by the key of its root and set of ties."""

    def __init__(self, words: Keys, roots: int) -> None:
        self.words = words
        self.keys: list[Keys] = [tie_words(np.arange(roots), ROOT_SALT)]
        self._sorted: list[tuple[Keys, Ints]] = []
        self.firsts = [0]

    def add(self, level: Level, *, searchable: bool) -> None:
        """Enter a level; the last one is never looked up and need not be sorted."""
        key = self.keys[-1][level.owner] + self.words[level.ties[-1]]
        self.firsts.append(self.firsts[-1] + len(self.keys[-1]))
        self.keys.append(key)
        if searchable:
            order = np.argsort(key)
            ordered = key[order]
            if (ordered[1:] == ordered[:-1]).any():
                raise CollisionError
            self._sorted.append((ordered, order))

    def number(self, size: int, keys: Keys) -> Ints:
        """The subtrees of `size` nodes, at least two, with these keys, all of which exist."""
        ordered, order = self._sorted[size - 2]
        return order[np.searchsorted(ordered, keys)] + self.firsts[size - 1]


def _kept_with(
    levels: Sequence[Level], blocks: Sequence[PairBlock], index: SubtreeIndex
) -> Indices:
    """Which subtree each mask keeps.

    A mask without the last tie keeps what it keeps in the tree below. A mask with it also keeps the
    last tie, if the node that this hangs on is kept.
    """
    kept = np.empty(sum(block.masks * block.count for block in blocks), np.int32)
    below = np.empty((0, len(levels[0])), np.int32)
    for level, block in zip(levels[1:], blocks, strict=True):
        index.add(level, searchable=level.size < levels[-1].size)
        every = np.concatenate(index.keys[:-1])
        table = block.of(kept)
        complete = 1 << (level.size - 2)
        for mask, row in enumerate(below):
            np.take(row, level.owner, out=table[mask], mode="clip")
        np.add(level.owner, index.firsts[level.size - 2], out=table[complete - 1])
        word, parent = index.words[level.ties[-1]], level.parent[-1]
        for mask in range(complete - 1):
            base, row = table[mask], table[complete + mask]
            row.fill(-1)
            holds = np.array([(2 * mask + 1) >> place & 1 for place in range(level.size - 1)], bool)
            some = np.flatnonzero(holds[parent] & (base >= 0))
            row[some] = index.number(mask.bit_count() + 2, every[base[some]] + word[some])
        below = table
    return kept
