"""The ties that carry a decision on the whole graph: small sets whose removal moves it most.

Explanations and their counterfactuals are small graphs; a person lives in the whole one. A tie is a
pair of people here: with it go all parallel ties between the two, in both directions.

Sets of one tie are tried first: the subject's own, then others within the model's reach, nearest
first. For each larger size, every set is tried if there are few enough. Otherwise the sizes share
what is left of the budget equally, and of each size the most promising sets are tried, grown from
the best smaller ones (beam search): a set is as promising as what the smaller set moved, plus what
the added tie moved alone. Where the budget allows all sets of two own ties, these are tried first.
Sets are compared by how far they move what effects are measured on, away from the decision, in
multiples of 1e-6; of equals, the first in the canonical order of ties. The search is deterministic,
and costs one query per size.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations
from math import comb

import numpy as np

from recourse_audit.graph.graph import Floats, Ints
from recourse_audit.graph.neighbourhoods import (
    OUTSIDE,
    as_rows,
    neighbourhood,
    places_in,
    reach,
    spans,
)
from recourse_audit.model.decisions import Mask
from recourse_audit.model.edited_graph import SubjectAnswers
from recourse_audit.model.edits import edits_of
from recourse_audit.records.search import (
    Carriers,
    CarryingSet,
    Counterfactual,
    SetsTried,
    WholeGraph,
)
from recourse_audit.search.moexp import Naming
from recourse_audit.search.pareto import round_figures

MAX_TIES = 4
BEAM = 16
# The budget may be exceeded so many times, if all sets of one and two own ties need it.
MORE_FOR_OWN = 4
# How many sets are ranked for each that is tried.
ENOUGH = 4
# How many of the subject's own ties are listed with what each does alone.
OWN_LISTED = 60
# Without shared states every set of ties is a graph of its own. Sets are tried up to so many arcs
# in total; a few given ones are asked about in any case, up to so many arcs each.
MOST_ARCS_TRIED = 2**18
MOST_ARCS_GIVEN = 1_000_000
# Pairs are ordered by distance this far, if the model's reach is not known.
NEAR = 2


class AnswerEffects:
    """What answers about one subject after an edit do to the decision: figures and records."""

    def __init__(self, asked: SubjectAnswers, naming: Naming) -> None:
        self.subject = asked.subject
        self.decisions = asked.edited.decisions
        self.naming = naming
        self.own = asked.edited.everybody[[asked.subject]]
        self._decided = int(self.decisions.classes_of(self.own, asked.subject)[0])

    def away(self, answers: Floats) -> Floats:
        """How far each answer is from the subject's, away from the decision; NaN stays NaN.

        In what effects are measured on, at the resolution at which they are shown.
        """
        rule = self.decisions.rule
        sign = -1.0
        if rule.scores:
            sign = -rule.sign if rule.favourable_classes[self._decided] else rule.sign
        return round_figures(sign * self._effects(answers))

    def flips(self, answers: Floats) -> Mask:
        after = self.decisions.classes_of(answers, self.subject)
        return np.asarray((after != self._decided) & (after >= 0))

    def records(self, answers: Floats) -> list[WholeGraph | None]:
        """Answers as records; None for an answer that is not a number."""
        decisions = self.decisions
        usable = decisions.usable(answers)
        numbers = np.where(usable[:, None], answers, 0.0)
        after = decisions.classes_of(numbers, self.subject).tolist()
        probabilities, scores = self.naming.probabilities(numbers), self.naming.scores(numbers)
        effects = self._effects(numbers).tolist()
        return [
            WholeGraph(
                probabilities=probabilities[row],
                score=scores[row],
                effect=effects[row],
                decision=decisions.classes[decision],
                favourable=bool(decisions.rule.favourable_classes[decision]),
                flips=decision != self._decided,
            )
            if usable[row]
            else None
            for row, decision in enumerate(after)
        ]

    def _effects(self, answers: Floats) -> Floats:
        """How far what effects are measured on moves, each value as it is shown."""
        rule = self.decisions.rule
        before, after = (
            round_figures(rule.class_value(rows, self._decided)) for rows in (self.own, answers)
        )
        return round_figures(after - before)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """Sets of one size, in canonical order, with the answers without them.

    `away` is how far each moves the answer away from the decision; -inf where that is no number.
    """

    sets: Ints
    answers: Floats
    away: Floats
    flips: Mask

    @property
    def best_first(self) -> Ints:
        """The places of the sets, by how far they move the answer."""
        return np.argsort(-self.away, kind="stable")


def on_whole_graph(
    asked: SubjectAnswers,
    naming: Naming,
    counterfactuals: Sequence[Counterfactual],
    removed: Sequence[Sequence[int]],
    budget: int,
) -> tuple[tuple[Counterfactual, ...], Carriers | None]:
    """Counterfactuals with what they do on the whole graph, and the ties that carry the decision.

    `removed` has the numbers of the pairs that each counterfactual removes. All are asked about
    together. A counterfactual stays as it is where the whole graph is too large to be asked about.
    There are no `Carriers` without a budget, ties within reach, or room to ask.
    """
    given = len(counterfactuals)
    search = _CarrierSearch(asked, naming, budget, given)
    singles = search.singles()
    if not given and not len(singles):
        return (), None
    answers = search.answers(as_rows([*removed, *singles.tolist()]))
    known = search.effects.records(answers[:given])
    known += [None] * (given - len(known))
    with_answers = tuple(
        replace(counterfactual, whole_graph=answer)
        for counterfactual, answer in zip(counterfactuals, known, strict=True)
    )
    if len(answers) <= given:
        return with_answers, None
    return with_answers, search.carriers(singles, answers[given:])


class _CarrierSearch:
    """The search for one subject, size by size, within a number of sets to try.

    So many sets as `given` are asked about first, in any case; others as far as there is room.
    """

    def __init__(self, asked: SubjectAnswers, naming: Naming, budget: int, given: int) -> None:
        self._asked = asked
        self._graph = asked.edited.graph
        self.effects = AnswerEffects(asked, naming)
        self._given, self._used = given, 0
        within = self._list_in_reach() if budget else np.empty(0, np.int64)
        ends = self._graph.pair_low[within], self._graph.pair_high[within]
        own = (ends[0] == asked.subject) | (ends[1] == asked.subject)
        self._reach = np.concatenate((within[own], within[~own]))
        self._own = int(own.sum())
        self._largest = min(MAX_TIES, len(self._reach))
        self._others = budget // 2
        wanted = self._own + comb(self._own, 2) + self._others
        self._all_own_pairs = wanted <= MORE_FOR_OWN * budget
        most = max(budget, min(wanted, MORE_FOR_OWN * budget))
        room = self._room
        self._left = most if room is None else min(most, max(room - given, 0))

    @property
    def _room(self) -> int | None:
        """How many more sets can be asked about; None where nothing limits them."""
        if self._asked.way == "shared":
            return None
        asked = np.array([[0], [self._asked.subject]])
        arcs = max(self._asked.edited.size(edits_of(1, asked), self._asked.way), 1)
        given = self._given if arcs <= MOST_ARCS_GIVEN else 0
        return max(MOST_ARCS_TRIED // arcs - self._used, given - self._used, 0)

    def answers(self, sets: Ints) -> Floats:
        """One answer for each row of pairs that are removed, padded with `OUTSIDE`.

        Where there is no room for all rows, the last ones get no answer, so there are fewer. An
        answer is NaN where an export of fixed size cannot be asked.
        """
        way, sets = self._asked.way, sets[: self._room]
        row, column = np.nonzero(sets != OUTSIDE)
        arcs, place = spans(self._graph.pair_starts, sets[row, column])
        asked = np.stack((np.arange(len(sets)), np.full(len(sets), self._asked.subject)))
        edits = edits_of(len(sets), asked, dropped=np.stack((row[place], arcs)))
        answers, _ = self._asked.answers(edits, needed=0)
        if self._asked.way != way:
            return self.answers(sets)  # in another way, there may be room for fewer
        self._used += len(answers)
        return answers

    def _list_in_reach(self) -> Ints:
        """The pairs whose ties can matter to the answer, by their nearer end, then in order."""
        graph, edited = self._graph, self._asked.edited
        start = np.array([self._asked.subject])
        if edited.reach is None:
            pairs = np.arange(graph.pair_count)
        elif edited.sharing is None:
            positions, _ = spans(graph.starts, reach(graph, start, edited.reach))
            pairs = np.unique(graph.neighbour_pair[positions]).astype(np.int64)
        else:
            arcs = edited.sharing.field_around(self._asked.subject).arcs
            arcs = arcs[arcs < len(graph.arc_source)]
            pairs = np.unique(np.searchsorted(graph.pair_starts, arcs, side="right") - 1)
        near = neighbourhood(graph, start, NEAR if edited.reach is None else edited.reach)
        far = np.append(near.hops, np.iinfo(np.int8).max)  # whom `OUTSIDE` selects
        ends = places_in(near.nodes, np.stack((graph.pair_low[pairs], graph.pair_high[pairs])))
        return pairs[np.argsort(far[ends].min(axis=0), kind="stable")]

    def singles(self) -> Ints:
        """The sets of one tie to try: own ties, and others with up to half of the budget.

        A quarter of what may be tried is left for larger sets, if there are any.
        """
        most = self._left if len(self._reach) == 1 else max(self._left * 3 // 4, 1)
        count = min(len(self._reach), self._left, most, max(self._own, self._others))
        return self._reach[:count, None]

    def carriers(self, singles: Ints, answers: Floats) -> Carriers:
        """The best set of each size that moves the answer farther than every smaller one."""
        every = self._run(singles, answers)
        best = [(tried, int(tried.best_first[0])) for tried in every]
        moves = np.array([tried.away[place] for tried, place in best])
        farther = moves > np.maximum.accumulate(np.append(0.0, moves))[:-1]
        wanted = [best[size] for size in np.flatnonzero(farther).tolist()]
        flips = [(tried, tried.best_first[tried.flips[tried.best_first]]) for tried in every]
        smallest = [(tried, int(places[0])) for tried, places in flips if len(places)][:1]
        own = np.sort(self._reach[: self._own])
        # Own ties are listed by how far they move the answer; of equals, the first.
        is_own = np.isin(every[0].sets[:, 0], own) & np.isfinite(every[0].away)
        places = np.flatnonzero(is_own)
        farthest = places[np.argsort(-np.abs(every[0].away[places]), kind="stable")]
        listed = [(every[0], place) for place in farthest[:OWN_LISTED].tolist()]
        records = self._name_sets([*wanted, *smallest, *listed])
        counts = tuple(
            SetsTried(
                size=size,
                tried=len(tried.sets),
                of=comb(len(self._reach), size),
                own_tried=int(np.isin(tried.sets, own).all(axis=1).sum()),
                own_of=comb(self._own, size),
            )
            for size, tried in enumerate(every, start=1)
        )
        complete = len(counts) == self._largest and all(size.tried == size.of for size in counts)
        return Carriers(
            front=tuple(records[: len(wanted)]),
            smallest_flip=records[len(wanted)] if smallest else None,
            own=tuple(records[len(wanted) + len(smallest) :]),
            own_ties=self._own,
            ties_in_reach=len(self._reach),
            max_ties=self._largest,
            coverage="exhaustive" if complete else "beam",
            tried=counts,
        )

    def _run(self, sets: Ints, answers: Floats) -> list[Tried]:
        """What each size gives, from what is known of sets of one tie."""
        every: list[Tried] = []
        for size in range(1, self._largest + 1):
            if size > 1:
                sets = self._candidates(size, every)
                answers = self.answers(sets) if len(sets) else answers[:0]
            if not len(answers):
                break
            self._left -= len(answers)
            order = np.lexsort(sets[: len(answers)].T[::-1])
            numbers = np.isfinite(answers).all(axis=1)
            every.append(
                Tried(
                    sets=sets[order],
                    answers=answers[order],
                    away=np.where(numbers, self.effects.away(answers), -np.inf)[order],
                    flips=self.effects.flips(answers)[order],
                )
            )
        return every

    def _candidates(self, size: int, every: list[Tried]) -> Ints:
        """The sets of a size to try: all of them, or the most promising ones.

        What is left of the budget is shared equally by the sizes to come. Where the budget is made
        for it, all sets of two own ties come first, whatever their share; larger sets of own ties,
        if they take up to half of it.
        """
        room = self._room
        left = self._left if room is None else min(self._left, room)
        share = left // (self._largest - size + 1)
        if comb(len(self._reach), size) <= share:
            return _every(np.sort(self._reach), size)
        singles = every[0]
        first = np.empty((0, size), np.int64)
        if size == 2 and not self._all_own_pairs:
            first = self._best_sets(size, singles, singles.best_first, share)
        elif size == 2 or comb(self._own, size) <= share // 2:
            own = np.isin(singles.sets[singles.best_first, 0], self._reach[: self._own])
            first = self._best_sets(size, singles, singles.best_first[own], left)
        elif not self._all_own_pairs and len(singles.sets) >= size and share:
            first = np.sort(singles.sets[singles.best_first[:size], 0])[None]
        grown = self._grow(every, max(share - len(first), 0), first)
        both = np.concatenate((first, grown))
        return np.asarray(both[np.lexsort(both.T[::-1])])

    def _best_sets(self, size: int, singles: Tried, ties: Ints, most: int) -> Ints:
        """All sets of some ties, given best first; the most promising ones, if they are many."""
        while comb(len(ties), size) > ENOUGH * most and len(ties) > size:
            ties = ties[:-1]
        places = _every(np.sort(ties), size)
        estimate = singles.away[places].sum(axis=1)
        best = np.argsort(-estimate, kind="stable")[:most]
        return np.asarray(singles.sets[places[best], 0])

    def _grow(self, every: list[Tried], most: int, known: Ints) -> Ints:
        """The most promising sets made of one of the best smaller sets and one more tie."""
        singles, smaller = every[0], every[-1]
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

    def _name_sets(self, chosen: Sequence[tuple[Tried, int]]) -> list[CarryingSet]:
        """Sets of ties in the user's ids, with what the model answers without them."""
        if not chosen:
            return []
        pairs = [tuple(tried.sets[place].tolist()) for tried, place in chosen]
        rows = np.array([tried.answers[place] for tried, place in chosen])
        names = self.effects.naming.ties(pairs)
        return [
            CarryingSet(
                removed=ties,
                size=len(ties),
                **{field.name: getattr(answer, field.name) for field in fields(answer)},
            )
            for ties, answer in zip(names, self.effects.records(rows), strict=True)
            if answer is not None  # an answer that is not a number moves nothing
        ]


def _every(items: Ints, size: int) -> Ints:
    """All sets of a size, in canonical order."""
    return np.array([*combinations(items.tolist(), size)], np.int64).reshape(-1, size)
