"""How decisions turned out: what tables show of it, calibration by group, and who had no way in.

What is about refused people needs their outcomes, which a lender rarely sees: it is computed only
where those of 95 % of the refused are known, of everybody and of each group in question. People
without an outcome are counted and left out. These figures, and the rates that rest on the same
parts (`rates`), are no part of the family of tests and get no verdict.
"""

from collections.abc import Collection, Iterator
from functools import cached_property
from itertools import pairwise

import numpy as np

from recourse_audit.groups.measures import Inputs
from recourse_audit.groups.population import (
    FAVOURABLE,
    GOOD,
    INFEASIBLE,
    NOT_FOUND,
    NOT_KNOWN,
    NOWHERE,
    REFUSED,
    VERIFIED,
)
from recourse_audit.groups.redraws import Floats, Ints, Mask
from recourse_audit.groups.tables import (
    Grouping,
    choose_steps,
    detail_labels,
    option_labels,
    tells_few,
)
from recourse_audit.records.group_figures import (
    CalibrationBin,
    ErrorRateReport,
    ErrorRates,
    ErrorRateTable,
    GoodRefused,
)
from recourse_audit.records.groups import Part

MOST_BINS = 10
NO_BINS: Floats = np.zeros(0)
# What is about refused people is only computed where the outcomes of this share are known.
LEAST_KNOWN = 0.95


def edges_of(scores: Floats) -> Floats:
    """Ends of bins of about equally many people, in three digits; every score lies between them."""
    inner = np.quantile(scores, np.linspace(0, 1, MOST_BINS + 1)[1:-1])
    ends = np.array([np.floor(scores.min() * 100) / 100, np.ceil(scores.max() * 100) / 100])
    rounded = np.unique([float(f"{edge:.3g}") for edge in inner])
    inside = rounded[(rounded > ends[0]) & (rounded < ends[1])]
    return np.concatenate([ends[:1], inside, ends[1:]])


def bins_of(scores: Floats, edges: Floats) -> Ints:
    """The bin of each score; -1 for a score that is not a number."""
    places = np.searchsorted(edges[1:-1], scores, side="right")
    return np.where(np.isnan(scores), -1, places)


class ErrorRateTables:
    """How decisions turned out: `parts` by table, None for everybody, and the ends of bins.

    In the tables of `scoring` it is also shown whose answer is above the median.
    """

    def __init__(
        self, inputs: Inputs, scoring: Collection[str | None], *, with_outcomes: bool
    ) -> None:
        self._inputs = inputs
        self._design = inputs.design
        self._population = inputs.population
        self._scoring = scoring
        self._with_outcome = self._population.came_true != NOT_KNOWN
        self._everybody = np.arange(self._population.people)
        self._refused_known = self.knows_enough(self._everybody, REFUSED)
        self._edges = NO_BINS
        if self._with_score.any():
            self._edges = edges_of(self._population.score[self._with_score])
        self._shown: dict[str | None, tuple[frozenset[Part], Floats]] = {}
        if with_outcomes and self._design.people:
            self._shown[None] = whole = self._find_parts(None, None)
            for grouping in self._design.groupings:
                self._shown[grouping.name] = self._find_parts(grouping, whole)

    def parts(self, table: str | None) -> frozenset[Part]:
        """What a table, or everybody, shows of how decisions turned out."""
        return self._shown[table][0] if table in self._shown else frozenset()

    def report(self, column: str, *, scored: bool) -> ErrorRateReport:
        """The figures of everybody and of all tables that can show them, beside their rates."""
        parts = self.parts(None)
        (favourable_known, favourable), (refused_known, refused) = (
            self._count(self._everybody, decision) if parts else (None, None)
            for decision in (FAVOURABLE, REFUSED)
        )
        return ErrorRateReport(
            column=column,
            favourable=favourable,
            favourable_known=favourable_known,
            refused=refused,
            refused_known=refused_known,
            score="score" if scored else "probability",
            calibrated="everybody" if self._refused_known else "favourable",
            overall=self._rates(self._everybody, None) if parts else None,
            tables=tuple(
                ErrorRateTable(
                    table=each.name,
                    by_group={
                        name: self._rates(people, each.name)
                        for name, people in zip(each.labels, each.members, strict=True)
                    },
                )
                for each in self._design.groupings
                if self.parts(each.name)
            ),
        )

    def _people(self, people: Ints, decision: int) -> Ints:
        """Those of them on whom this was decided, and whose outcome is known."""
        decided = self._population.decided[people] == decision
        return np.asarray(people[decided & self._with_outcome[people]])

    def _count(self, people: Ints, decision: int) -> tuple[int, int]:
        """How many of those on whom this was decided have a known outcome, and of how many."""
        of = int((self._population.decided[people] == decision).sum())
        return self._people(people, decision).size, of

    def knows_enough(self, people: Ints, decision: int) -> bool:
        """Whether the outcomes of nearly all of those on whom this was decided are known."""
        known, of = self._count(people, decision)
        return known > 0 and known >= LEAST_KNOWN * of

    @cached_property
    def _with_score(self) -> Mask:
        decided = self._population.decided
        scope = (decided == FAVOURABLE) | ((decided == REFUSED) & self._refused_known)
        return np.asarray(self._with_outcome & scope & ~np.isnan(self._population.score))

    @cached_property
    def _divisions(self) -> dict[Part, list[Ints]]:
        """The labels of people by which each part of a table would divide them."""
        population, came_true = self._population, self._population.came_true
        good = came_true == GOOD

        def by_outcome(decision: int) -> list[Ints]:
            there = self._with_outcome & (population.decided == decision)
            return [np.where(there, came_true, NOWHERE)]

        divisions: dict[Part, list[Ints]] = {"approvals": by_outcome(FAVOURABLE)}
        if self._refused_known:
            options, details = option_labels(population), detail_labels(population)
            divisions["refusals"] = by_outcome(REFUSED)
            divisions["good_refused"] = [
                np.where(options == label, good, NOWHERE) for label in (0, 1)
            ]
            divisions["good_refused_details"] = [
                np.where(details == label, good, NOWHERE) for label in (INFEASIBLE, NOT_FOUND)
            ]
        return divisions

    def _find_parts(
        self, grouping: Grouping | None, everywhere: tuple[frozenset[Part], Floats] | None
    ) -> tuple[frozenset[Part], Floats]:
        """What a table can show, as far as it is shown of everybody, and the ends of its bins."""
        parts: set[Part] = set()
        audited = (self._design if grouping is None else grouping).outcomes
        for part, divisions in self._divisions.items():
            nobody = all((labels < 0).all() for labels in divisions)
            left_out = (
                nobody
                or (everywhere is not None and part not in everywhere[0])
                or (part.startswith("good_refused") and not audited)
                or (part == "good_refused_details" and "good_refused" not in parts)
            )
            if left_out:
                continue
            # If all of some people have the same outcome, so have the few of them in any group.
            if any(np.ptp(labels[labels >= 0]) == 0 for labels in divisions if labels.max() >= 0):
                self._design.leave_out(grouping, part)
            elif self._design.allows(grouping, part, *divisions):
                parts.add(part)
        edges = NO_BINS
        if grouping is None or not grouping.crossed:
            edges = self._merge_bins(grouping, None if everywhere is None else everywhere[1], parts)
        if edges.size > 2:
            parts.add("calibration")
        return frozenset(parts), edges

    def _merge_bins(
        self, grouping: Grouping | None, within: Floats | None, parts: set[Part]
    ) -> Floats:
        """The ends of the bins: neighbours are merged until no cell has a few people.

        Nor may an end of a bin tell, with the decisions, of a few people with one outcome that lie
        between both.

        The bins add up to everybody's outcomes, so they need the parts with the same sums.
        """
        if self._edges.size < 2 or (within is not None and not within.size):
            return NO_BINS
        size, came_true = self._edges.size - 1, self._population.came_true
        bins = bins_of(self._population.score, self._edges)

        def count(among: Mask) -> Ints:
            labels = np.where(self._with_score & among, bins, NOWHERE)
            return self._design.count(grouping, labels, size)

        # Bins of good and of bad outcomes, each by its own.
        counts = [count((came_true == GOOD) == good) for good in (True, False)]
        candidates = [
            step
            for step in range(size)
            if (within is None or self._edges[step + 1] in within)
            and (step == size - 1 or self._is_apart(grouping, self._edges[step + 1]))
        ]
        told = np.zeros(size, dtype=bool)
        for good in (True, False):
            refused, favoured = (
                np.cumsum(
                    count((self._population.decided == decision) & ((came_true == GOOD) == good)),
                    axis=1,
                )
                for decision in (REFUSED, FAVOURABLE)
            )
            # Higher scores are better, or lower ones are; the last end has nobody beyond.
            told |= tells_few(refused[:, -1:] - refused, favoured, self._design.smallest)
            told |= tells_few(refused, favoured[:, -1:] - favoured, self._design.smallest)
        candidates = [step for step in candidates if step == size - 1 or not told[step]]
        kept = choose_steps(np.vstack(counts), candidates, self._design.smallest)
        whole = {"approvals", "refusals"} & set(self._divisions)
        if not whole <= parts or len(kept) < 2 or kept[-1] != size - 1:
            self._design.leave_out(grouping, "calibration")
            return NO_BINS
        return self._edges[[0, *(step + 1 for step in kept)]]

    def _is_apart(self, grouping: Grouping | None, edge: float) -> bool:
        """Whether people between an end of bins and the median are enough, where both are shown."""
        population = self._population
        beyond = (population.score >= edge) == population.lower
        between = self._with_score & (beyond == population.better_half)
        shown = (None if grouping is None else grouping.name) in self._scoring
        labels = np.where(self._with_score, between, NOWHERE)
        return not shown or self._design.passes(grouping, labels)

    def _rates(self, people: Ints, table: str | None) -> ErrorRates:
        parts, edges = self._shown[table]
        good_refused = None
        if "good_refused" in parts and self.knows_enough(people, REFUSED):
            details = "good_refused_details" in parts
            good_refused = self._good_refused(people, details=details)
        return ErrorRates(
            favourable_known=self._count(people, FAVOURABLE)[0] if "approvals" in parts else None,
            refused_known=self._count(people, REFUSED)[0] if "refusals" in parts else None,
            good_refused=good_refused,
            calibration=tuple(self._bins(people, edges)) if "calibration" in parts else None,
        )

    def _good_refused(self, people: Ints, *, details: bool) -> GoodRefused:
        """What the audit found for the refused among them whose outcome is good."""
        audited = self._population.audited
        mine = np.isin(audited.person, people) & audited.usable
        mine &= self._population.came_true[audited.person] == GOOD
        without = audited.status[mine] != VERIFIED
        infeasible = audited.status[mine] == INFEASIBLE
        rate = self._inputs.rate
        return GoodRefused(
            without_option=rate(without),
            certified_infeasible=rate(infeasible) if details else None,
            not_found_within_budget=rate(without & ~infeasible) if details else None,
        )

    def _bins(self, people: Ints, edges: Floats) -> Iterator[CalibrationBin]:
        """Scores and outcomes by bin; bins without anybody are left out."""
        decisions = (FAVOURABLE, REFUSED) if self._refused_known else (FAVOURABLE,)
        known = np.concatenate([self._people(people, decision) for decision in decisions])
        bins = bins_of(self._population.score[known], edges)
        for number, (low, high) in enumerate(pairwise(edges.tolist())):
            there = known[bins == number]
            if there.size:
                score = float(self._population.score[there].mean())
                good = self._inputs.rate(self._population.came_true[there] == GOOD)
                yield CalibrationBin(low=low, high=high, score=score, good=good)
