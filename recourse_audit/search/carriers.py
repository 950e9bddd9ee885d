"""The ties that carry a decision on the whole graph: small sets whose removal moves it most.

Sets of one tie are tried first: the subject's own, then others within the model's reach, nearest
first. For each larger size, every set is tried if there are few enough; otherwise every set of two
own ties (of more, if these are few), and sets grown from the best smaller ones (beam search). Which
sets are grown is decided by an estimate: what the smaller set moved, plus what the added tie moved
alone. Sets are compared by how far they move what effects are measured on, away from the decision,
in multiples of 1e-6; of equals, the first in the canonical order of ties. The search is
deterministic, and costs one question per size.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb

import numpy as np

from recourse_audit.graph.arrays import Floats, Ints
from recourse_audit.records.search import (
    Carriers,
    CarryingSet,
    Counterfactual,
    SetsTried,
    WholeGraph,
)
from recourse_audit.search.whole_graph import Removals, SubjectRemovals, padded

MAX_TIES = 4
BEAM = 16
# The budget may be exceeded so many times, if all sets of one and two own ties need it.
MORE_FOR_OWN = 4
# How many sets are ranked for each that is tried.
ENOUGH = 4
# How many of the subject's own ties are listed with what each does alone.
OWN_LISTED = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """Sets of one size, in canonical order, with the answers without them.

    `away` is how far each moves the answer away from the decision; minus infinity where the answer
    is not a number.
    """

    sets: Ints
    answers: Floats
    away: Floats
    flips: np.ndarray[tuple[int], np.dtype[np.bool_]]

    @property
    def best_first(self) -> Ints:
        """The places of the sets, by how far they move the answer."""
        return np.argsort(-self.away, kind="stable")


def on_whole_graph(
    removals: Removals, subject: int, found: Sequence[Counterfactual], budget: int
) -> tuple[tuple[Counterfactual, ...], Carriers | None]:
    """Counterfactuals with what they do on the whole graph, and the ties that carry the decision.

    Both are asked about together. A counterfactual stays as it is where the whole graph is too
    large to be asked about. There are no `Carriers` without a budget, without ties within reach, or
    where nothing could be asked about.
    """
    asking = removals.of(subject, len(found))
    given = [removals.pairs(one.removed) for one in found]
    search = _CarrierSearch(asking, budget, len(found)) if budget else None
    singles = np.empty((0, 1), np.int64) if search is None else search.singles()
    if not given and not len(singles):
        return (), None
    answers = asking.answers(padded([*given, *singles]))
    known = asking.records(answers[: len(given)])
    known += [None] * (len(given) - len(known))
    counterfactuals = tuple(
        replace(one, whole_graph=there) for one, there in zip(found, known, strict=True)
    )
    answered = answers[len(given) :]
    if search is None or not len(answered):
        return counterfactuals, None
    return counterfactuals, _carriers(removals, asking, search.run(singles, answered), search)


class _CarrierSearch:
    """The search for one subject, size by size, within a number of sets to try."""

    def __init__(self, asking: SubjectRemovals, budget: int, given: int) -> None:
        """`given` sets are asked about besides, before any other."""
        self._asking = asking
        reach = asking.in_reach()
        own = asking.is_own(reach)
        self.reach = np.concatenate((reach[own], reach[~own]))
        self.own = int(own.sum())
        self.largest = min(MAX_TIES, len(self.reach))
        self._others = budget // 2
        few = self.own + comb(self.own, 2)
        most = max(budget, min(few + self._others, MORE_FOR_OWN * budget))
        room = asking.room
        self._left = most if room is None else min(most, max(room - given, 0))

    def singles(self) -> Ints:
        """The sets of one tie to try: own ties, and others with up to half of the budget."""
        count = min(len(self.reach), self._left, max(self.own, self._others))
        return self.reach[:count, None]

    def run(self, singles: Ints, answers: Floats) -> list[Tried]:
        """What each size gives, from what is known of sets of one tie."""
        found = [self._tried(singles[: len(answers)], answers)]
        self._left -= len(answers)
        for size in range(2, self.largest + 1):
            sets = self._candidates(size, found)
            if not len(sets):
                break
            answers = self._asking.answers(sets)
            if not len(answers):
                break
            self._left -= len(answers)
            found.append(self._tried(sets[: len(answers)], answers))
        return found

    def own_sets(self, tried: Tried) -> int:
        """How many of some sets are of the subject's own ties alone."""
        own = np.sort(self.reach[: self.own])
        return int(np.isin(tried.sets, own).all(axis=1).sum())

    def _tried(self, sets: Ints, answers: Floats) -> Tried:
        order = np.lexsort(sets.T[::-1])
        away = self._asking.away(answers)
        away = np.where(np.isfinite(answers).all(axis=1), away, -np.inf)
        return Tried(
            sets=sets[order],
            answers=answers[order],
            away=away[order],
            flips=self._asking.flips(answers)[order],
        )

    def _candidates(self, size: int, found: list[Tried]) -> Ints:
        """The sets of a size to try: all of them, or own ties alone and what is grown.

        What is left of the budget is shared equally by the sizes to come. All sets of two own ties
        come first, whatever their share; larger ones if they take up to half of it.
        """
        room = self._asking.room
        left = self._left if room is None else min(self._left, room)
        share = left // (self.largest - size + 1)
        if comb(len(self.reach), size) <= share:
            return _every(np.sort(self.reach), size)
        own = np.empty((0, size), np.int64)
        if size == 2 or comb(self.own, size) <= share // 2:
            own = self._own_sets(size, found[0], left)
        grown = self._grown(found, max(share - len(own), 0), own)
        both = np.concatenate((own, grown))
        ordered: Ints = both[np.lexsort(both.T[::-1])]
        return ordered

    def _own_sets(self, size: int, singles: Tried, most: int) -> Ints:
        """All sets of own ties; the most promising ones, where there are too many."""
        tried = np.isin(singles.sets[singles.best_first, 0], self.reach[: self.own])
        ties = singles.best_first[tried]
        while comb(len(ties), size) > ENOUGH * most and len(ties) > size:
            ties = ties[:-1]
        places = _every(np.sort(ties), size)
        estimate = singles.away[places].sum(axis=1)
        best = np.argsort(-estimate, kind="stable")[:most]
        sets: Ints = singles.sets[places[best], 0]
        return sets

    def _grown(self, found: list[Tried], most: int, known: Ints) -> Ints:
        """The most promising sets made of one of the best smaller sets and one more tie."""
        singles, smaller = found[0], found[-1]
        stems = smaller.best_first[:BEAM]
        usable = np.flatnonzero(np.isfinite(singles.away))
        stem, more = (grid.ravel() for grid in np.meshgrid(stems, usable, indexing="ij"))
        sets = np.column_stack((smaller.sets[stem], singles.sets[more]))
        estimate = smaller.away[stem] + singles.away[more]
        new = ~(smaller.sets[stem] == singles.sets[more]).any(axis=1) & np.isfinite(estimate)
        sets, estimate = np.sort(sets[new], axis=1), estimate[new]
        # A set grown from several stems is as promising as the best of them.
        best = np.argsort(-estimate, kind="stable")
        there = {tuple(row) for row in known.tolist()}
        fresh: list[list[int]] = []
        # It is listed once for each of its ties at most.
        for row in sets[best[: (most + len(there)) * sets.shape[1]]].tolist():
            if len(fresh) >= most:
                break
            if tuple(row) not in there:
                there.add(tuple(row))
                fresh.append(row)
        return np.array(fresh, np.int64).reshape(-1, sets.shape[1])


def _every(items: Ints, size: int) -> Ints:
    """All sets of a size, in canonical order."""
    return np.array([*combinations(items.tolist(), size)], np.int64).reshape(-1, size)


def _carriers(
    removals: Removals, asking: SubjectRemovals, found: list[Tried], search: _CarrierSearch
) -> Carriers:
    """The best set of each size that moves the answer farther than every smaller one."""
    front, farthest = [], 0.0
    for tried in found:
        best = int(tried.best_first[0])
        if tried.away[best] > farthest:
            farthest = float(tried.away[best])
            front.append(_named(removals, asking, tried, best))
    flip = None
    for tried in found:
        flipping = tried.best_first[tried.flips[tried.best_first]]
        if len(flipping):
            flip = _named(removals, asking, tried, int(flipping[0]))
            break
    counts = tuple(
        SetsTried(
            size=size,
            tried=len(tried.sets),
            of=comb(len(search.reach), size),
            own_tried=search.own_sets(tried),
            own_of=comb(search.own, size),
        )
        for size, tried in enumerate(found, start=1)
    )
    complete = len(counts) == search.largest and all(one.tried == one.of for one in counts)
    return Carriers(
        front=tuple(front),
        smallest_flip=flip,
        own=_own(removals, asking, found[0], search),
        own_ties=search.own,
        ties_in_reach=len(search.reach),
        max_ties=search.largest,
        coverage="exhaustive" if complete else "beam",
        tried=counts,
    )


def _own(
    removals: Removals, asking: SubjectRemovals, singles: Tried, search: _CarrierSearch
) -> tuple[CarryingSet, ...]:
    """What each own tie does alone, the farthest move first; of equals, the first tie."""
    own = np.isin(singles.sets[:, 0], search.reach[: search.own]) & np.isfinite(singles.away)
    places = np.flatnonzero(own)
    farthest = places[np.argsort(-np.abs(singles.away[places]), kind="stable")]
    return tuple(_named(removals, asking, singles, int(place)) for place in farthest[:OWN_LISTED])


def _named(removals: Removals, asking: SubjectRemovals, tried: Tried, place: int) -> CarryingSet:
    [found] = asking.records(tried.answers[[place]])
    assert isinstance(found, WholeGraph), "an answer that is not a number moves nothing"
    pairs = tried.sets[place]
    return CarryingSet(
        removed=removals.ties(pairs),
        size=len(pairs),
        probabilities=found.probabilities,
        score=found.score,
        effect=found.effect,
        decision=found.decision,
        flips=found.flips,
    )
