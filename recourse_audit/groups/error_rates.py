"""Error rates by group, with gaps, the calibration of the score, and who had no way in.

Of the people with a favourable decision, false approvals are those whose outcome is bad; of the
refused, false refusals are those whose outcome is good. The latter need outcomes of people who were
refused, which a lender rarely sees: they are computed only where those of 95 % of the refused are
known, of everybody and of each group in question. People without an outcome are counted and left
out. These figures are no part of the family of tests and get no verdict.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import pairwise

import numpy as np

from recourse_audit.groups.measures import FEWEST_COMPARED, Inputs, gap_fields
from recourse_audit.groups.population import (
    BAD,
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
from recourse_audit.groups.tables import Grouping, choose_steps, detail_labels, option_labels
from recourse_audit.records.group_figures import (
    CalibrationBin,
    ErrorGap,
    ErrorMeasure,
    ErrorRateReport,
    ErrorRates,
    ErrorRateTable,
    GoodRefused,
    Rate,
)
from recourse_audit.records.groups import Part

MOST_BINS = 10
NO_BINS: Floats = np.zeros(0)
# The part of a table with an error rate, whose decisions it is about, and which outcome is one.
ERRORS: dict[ErrorMeasure, tuple[Part, int, int]] = {
    "false_approvals": ("approvals", FAVOURABLE, BAD),
    "false_refusals": ("refusals", REFUSED, GOOD),
}
# False refusals are only computed where the outcomes of this share of the refused are known.
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
    """How decisions turned out: `parts` of a table or of everybody, and the ends of bins."""

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs
        self._design = inputs.design
        self._population = inputs.population
        self._with_outcome = self._population.came_true != NOT_KNOWN
        self._everybody = np.arange(self._population.people)
        self._refused_known = self._enough_known(self._everybody)
        self._edges = NO_BINS
        if self._with_score.any():
            self._edges = edges_of(self._population.score[self._with_score])

    def report(self, column: str, *, scored: bool) -> ErrorRateReport:
        """The figures of everybody and of all tables that can show them, and the gaps in them."""
        parts: frozenset[Part] = frozenset()
        edges, tables = NO_BINS, []
        if self._design.people:
            parts, edges = self._find_parts(None, None)
            for grouping in self._design.groupings:
                own, bins = self._find_parts(grouping, (parts, edges))
                if own:
                    tables.append(self._table(grouping, own, bins))
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
            overall=self._rates(self._everybody, parts, edges, {}) if parts else None,
            tables=tuple(tables),
        )

    def _people(self, people: Ints, decision: int) -> Ints:
        """Those of them on whom this was decided, and whose outcome is known."""
        decided = self._population.decided[people] == decision
        return np.asarray(people[decided & self._with_outcome[people]])

    def _count(self, people: Ints, decision: int) -> tuple[int, int]:
        """How many of those on whom this was decided have a known outcome, and of how many."""
        of = int((self._population.decided[people] == decision).sum())
        return self._people(people, decision).size, of

    def _enough_known(self, people: Ints) -> bool:
        """Whether the outcomes of enough refused people are known to compute false refusals."""
        known, of = self._count(people, REFUSED)
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
            if not left_out and self._design.allows(grouping, part, *divisions):
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

        The bins add up to everybody's outcomes, so they need the parts with the same sums.
        """
        if self._edges.size < 2 or (within is not None and not within.size):
            return NO_BINS
        size, came_true = self._edges.size - 1, self._population.came_true
        bins = bins_of(self._population.score, self._edges)
        counts = [  # bins of good and of bad outcomes, each by its own
            np.pad(count, ((0, 0), (0, size - count.shape[1])))
            for good in (True, False)
            for there in [self._with_score & ((came_true == GOOD) == good)]
            for count in [self._design.count(grouping, np.where(there, bins, NOWHERE))]
        ]
        candidates = [
            step for step in range(size) if within is None or self._edges[step + 1] in within
        ]
        kept = choose_steps(np.vstack(counts), candidates, self._design.smallest)
        whole = {"approvals", "refusals"} & set(self._divisions)
        if not whole <= parts or len(kept) < 2 or kept[-1] != size - 1:
            self._design.leave_out(grouping, "calibration")
            return NO_BINS
        return self._edges[[0, *(step + 1 for step in kept)]]

    def _table(self, grouping: Grouping, parts: frozenset[Part], edges: Floats) -> ErrorRateTable:
        gaps: list[ErrorGap] = []
        # By how much ties inflate the variance of rates: the largest of a group's comparisons.
        inflation: dict[str, dict[ErrorMeasure, float]] = {name: {} for name in grouping.labels}
        everybody = np.ones(self._everybody.size, dtype=bool)
        for pair in grouping.pairs(everybody):
            for measure, (part, decision, outcome) in ERRORS.items():
                sides = [self._people(side, decision) for side in pair[2:]]
                rest = pair._replace(people=sides[0], reference_people=sides[1])
                if part not in parts or rest.fewer < FEWEST_COMPARED:
                    continue
                if decision == REFUSED and not all(self._enough_known(side) for side in pair[2:]):
                    continue
                values = (self._population.came_true == outcome).astype(np.float64)
                test = self._inputs.test(values, rest)
                gaps.append(
                    ErrorGap(
                        **gap_fields(pair, test),
                        measure=measure,
                        difference=test.difference,
                        effective=test.effective,
                    )
                )
                if test.precision is not None:
                    for own in (inflation[pair.group], inflation[pair.reference]):
                        own[measure] = max(own.get(measure, 1.0), test.precision.inflation)
        return ErrorRateTable(
            table=grouping.name,
            by_group={
                name: self._rates(people, parts, edges, inflation[name])
                for name, people in zip(grouping.labels, grouping.members, strict=True)
            },
            gaps=tuple(gaps),
        )

    def _rates(
        self,
        people: Ints,
        parts: frozenset[Part],
        edges: Floats,
        inflation: Mapping[ErrorMeasure, float],
    ) -> ErrorRates:
        favourable, refused = (self._people(people, each) for each in (FAVOURABLE, REFUSED))
        enough = self._enough_known(people)
        false_approvals = self._rate(favourable, BAD, inflation.get("false_approvals"))
        false_refusals = self._rate(refused, GOOD, inflation.get("false_refusals"))
        good_refused = self._good_refused(people, details="good_refused_details" in parts)
        return ErrorRates(
            favourable_known=favourable.size if "approvals" in parts else None,
            false_approvals=false_approvals if "approvals" in parts else None,
            refused_known=refused.size if "refusals" in parts else None,
            false_refusals=false_refusals if "refusals" in parts and enough else None,
            good_refused=good_refused if "good_refused" in parts and enough else None,
            calibration=tuple(self._bins(people, edges)) if "calibration" in parts else None,
        )

    def _rate(self, people: Ints, outcome: int, inflation: float | None = None) -> Rate:
        return self._inputs.rate(self._population.came_true[people] == outcome, inflation)

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
                yield CalibrationBin(low=low, high=high, score=score, good=self._rate(there, GOOD))
