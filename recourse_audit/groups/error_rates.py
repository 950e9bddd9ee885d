"""Error rates by group, with gaps, the calibration of the score, and who had no way in.

Of the people with a favourable decision, false approvals are those whose outcome is bad; of the
refused, false refusals are those whose outcome is good. The latter need outcomes of people who were
refused, which a lender rarely sees: they are computed only where those of 95 % of the refused are
known, of everybody and of each group in question. People without an outcome are counted and left
out. These figures are no part of the family of tests and get no verdict.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from recourse_audit.groups.comparisons import FEWEST_COMPARED, Inputs
from recourse_audit.groups.inference import GapTest
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
    Population,
)
from recourse_audit.groups.redraws import Floats, Ints
from recourse_audit.groups.tables import (
    Design,
    Grouping,
    choose_steps,
    detail_labels,
    option_labels,
)
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


def edges_of(scores: Floats) -> Floats:
    """The ends of bins with about equally many people each, in three significant digits.

    The first and the last lie at or beyond every score.
    """
    inner = np.quantile(scores, np.linspace(0, 1, MOST_BINS + 1)[1:-1])
    ends = np.array([np.floor(scores.min() * 100) / 100, np.ceil(scores.max() * 100) / 100])
    rounded = np.unique([float(f"{edge:.3g}") for edge in inner])
    inside = rounded[(rounded > ends[0]) & (rounded < ends[1])]
    return np.concatenate([ends[:1], inside, ends[1:]])


def bins_of(scores: Floats, edges: Floats) -> Ints:
    """The bin of each score; -1 for a score that is not a number."""
    found = np.searchsorted(edges[1:-1], scores, side="right")
    return np.where(np.isnan(scores), -1, found)


# Whose decisions an error is about, and the outcome that makes it one.
ERRORS: dict[ErrorMeasure, tuple[int, int]] = {
    "false_approvals": (FAVOURABLE, BAD),
    "false_refusals": (REFUSED, GOOD),
}
PART_OF: dict[ErrorMeasure, Part] = {"false_approvals": "approvals", "false_refusals": "refusals"}
NO_INFLATION: Mapping[ErrorMeasure, float] = {}
# False refusals are only computed where the outcomes of this share of the refused are known.
LEAST_KNOWN = 0.95


def enough_known(known: int, of: int) -> bool:
    """Whether the outcomes of enough refused people are known to compute false refusals."""
    return known > 0 and known >= LEAST_KNOWN * of


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """What a table, or everybody, shows of how decisions turned out, and the ends of its bins."""

    parts: frozenset[Part]
    edges: Floats


def error_rates_of(inputs: Inputs, column: str, *, scored: bool) -> ErrorRateReport:
    """The figures of everybody and of all tables that can show them, and the gaps in them."""
    population, design = inputs.population, inputs.design
    rates = _Rates(inputs=inputs)
    everybody = np.arange(population.people)
    counts = [rates.known(everybody, one) for one in (FAVOURABLE, REFUSED)]
    refused_known = enough_known(*counts[1])
    everywhere = _Shown(parts=frozenset(), edges=np.zeros(0))
    tables: list[ErrorRateTable] = []
    if design.people:
        outcomes = _Outcomes(population, design, refused_known=refused_known)
        everywhere = outcomes.shown(None, None)
        for grouping in design.groupings:
            shown = outcomes.shown(grouping, everywhere)
            if shown.parts:
                tables.append(_table(rates, grouping, shown))
    (favourable_known, favourable), (refused_with_outcome, refused) = (
        counts if everywhere.parts else ((None, None), (None, None))
    )
    return ErrorRateReport(
        column=column,
        favourable=favourable,
        favourable_known=favourable_known,
        refused=refused,
        refused_known=refused_with_outcome,
        score="score" if scored else "probability",
        calibrated="everybody" if refused_known else "favourable",
        overall=rates.of(everybody, everywhere) if everywhere.parts else None,
        tables=tuple(tables),
    )


class _Outcomes:
    """How decisions turned out, as labels of people by which tables would divide them."""

    def __init__(self, population: Population, design: Design, *, refused_known: bool) -> None:
        self._design = design
        decided, came_true = population.decided, population.came_true
        known = came_true != NOT_KNOWN
        good = came_true == GOOD
        self._divisions: dict[Part, list[Ints]] = {
            "approvals": [np.where(known & (decided == FAVOURABLE), came_true, NOWHERE)]
        }
        if refused_known:
            self._divisions["refusals"] = [
                np.where(known & (decided == REFUSED), came_true, NOWHERE)
            ]
            self._divisions["good_refused"] = [
                np.where(option_labels(population) == one, good, NOWHERE) for one in (0, 1)
            ]
            self._divisions["good_refused_details"] = [
                np.where(detail_labels(population) == one, good, NOWHERE)
                for one in (INFEASIBLE, NOT_FOUND)
            ]
        scope = (decided == FAVOURABLE) | ((decided == REFUSED) & refused_known)
        counted = known & scope & ~np.isnan(population.score)
        self._edges = edges_of(population.score[counted]) if counted.any() else np.zeros(0)
        bins = bins_of(population.score, self._edges) if counted.any() else came_true
        # Bins of good and of bad outcomes, each by its own.
        self._bins = [np.where(counted & (good == one), bins, NOWHERE) for one in (True, False)]

    def shown(self, grouping: Grouping | None, everywhere: _Shown | None) -> _Shown:
        """What a table can show, as far as it is shown of everybody."""
        parts: set[Part] = set()
        for part, divisions in self._divisions.items():
            audit = part in ("good_refused", "good_refused_details")
            nobody = all((labels < 0).all() for labels in divisions)
            if nobody or (everywhere is not None and part not in everywhere.parts):
                continue
            if audit and not (self._design.outcomes if grouping is None else grouping.outcomes):
                continue
            if part == "good_refused_details" and "good_refused" not in parts:
                continue
            if self._design.allows(grouping, part, *divisions):
                parts.add(part)
        edges: Floats = np.zeros(0)
        if grouping is None or not grouping.crossed:
            edges = self._merged(grouping, None if everywhere is None else everywhere.edges, parts)
        if edges.size > 2:
            parts.add("calibration")
        return _Shown(parts=frozenset(parts), edges=edges)

    def _merged(self, grouping: Grouping | None, within: Floats | None, parts: set[Part]) -> Floats:
        """The ends of the bins: neighbours are merged until no cell has a few people.

        The bins add up to everybody's outcomes, so they need the parts with the same sums.
        """
        whole: set[Part] = {"approvals", "refusals"}
        if self._edges.size < 2 or (within is not None and not within.size):
            return np.zeros(0)
        size = self._edges.size - 1
        counts = np.zeros((0, size), np.int64)
        for labels in self._bins:
            found = self._design.count(grouping, labels)
            counts = np.vstack([counts, np.pad(found, ((0, 0), (0, size - found.shape[1])))])
        candidates = [
            step for step in range(size) if within is None or self._edges[step + 1] in within
        ]
        kept = choose_steps(counts, candidates, self._design.smallest)
        complete = whole & set(self._divisions) <= parts and len(kept) > 1
        if not complete or kept[-1] != size - 1:
            self._design.leave_out(grouping, "calibration")
            return np.zeros(0)
        return self._edges[[0, *(step + 1 for step in kept)]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rates:
    """The figures of some people."""

    inputs: Inputs

    @property
    def population(self) -> Population:
        return self.inputs.population

    def decided(self, people: Ints, decision: int) -> Ints:
        """Those of them with a known outcome on whom this was decided."""
        population = self.population
        there = population.decided[people] == decision
        found: Ints = people[there & (population.came_true[people] != NOT_KNOWN)]
        return found

    def known(self, people: Ints, decision: int) -> tuple[int, int]:
        """How many of those on whom this was decided have a known outcome, and of how many."""
        all_of = int((self.population.decided[people] == decision).sum())
        return self.decided(people, decision).size, all_of

    def of(
        self,
        people: Ints,
        shown: _Shown,
        inflation: Mapping[ErrorMeasure, float] = NO_INFLATION,
    ) -> ErrorRates:
        """What is shown of some people in a table, or of everybody.

        `inflation` says by how much ties inflate the variance of their error rates.
        """
        parts = shown.parts
        favourable, refused = (self.decided(people, one) for one in (FAVOURABLE, REFUSED))
        enough = enough_known(*self.known(people, REFUSED))
        approvals, refusals = "approvals" in parts, "refusals" in parts
        return ErrorRates(
            favourable_known=favourable.size if approvals else None,
            false_approvals=self.rate(favourable, BAD, inflation.get("false_approvals"))
            if approvals
            else None,
            refused_known=refused.size if refusals else None,
            false_refusals=self.rate(refused, GOOD, inflation.get("false_refusals"))
            if refusals and enough
            else None,
            good_refused=self._good_refused(people, parts)
            if "good_refused" in parts and enough
            else None,
            calibration=tuple(self._bins(people, shown.edges)) if "calibration" in parts else None,
        )

    def rate(self, people: Ints, outcome: int, inflation: float | None = None) -> Rate:
        """The share of some people with an outcome."""
        yes = self.population.came_true[people] == outcome
        return self.inputs.rate(yes, inflation)

    def gap(self, measure: ErrorMeasure, people: tuple[Ints, Ints]) -> GapTest | None:
        """The gap in an error rate between two groups; None if one of them does not have it."""
        decision, outcome = ERRORS[measure]
        mine, others = (self.decided(some, decision) for some in people)
        if min(mine.size, others.size) < FEWEST_COMPARED:
            return None
        if decision == REFUSED and not all(
            enough_known(*self.known(some, REFUSED)) for some in people
        ):
            return None
        values = (self.population.came_true == outcome).astype(np.float64)
        return self.inputs.test(values, mine, others)

    def _good_refused(self, people: Ints, parts: frozenset[Part]) -> GoodRefused:
        """What the audit found for the refused among them whose outcome is good."""
        audited = self.population.audited
        mine = np.isin(audited.person, people) & audited.usable
        mine &= self.population.came_true[audited.person] == GOOD
        without = audited.status[mine] != VERIFIED
        infeasible = audited.status[mine] == INFEASIBLE
        whole, first, second = (
            self.inputs.rate(status) for status in (without, infeasible, without & ~infeasible)
        )
        details = "good_refused_details" in parts
        return GoodRefused(
            without_option=whole,
            certified_infeasible=first if details else None,
            not_found_within_budget=second if details else None,
        )

    def _bins(self, people: Ints, edges: Floats) -> Iterator[CalibrationBin]:
        """Scores and outcomes by bin; bins without anybody are left out."""
        population = self.population
        some = [self.decided(people, FAVOURABLE)]
        if enough_known(*self.known(np.arange(population.people), REFUSED)):
            some.append(self.decided(people, REFUSED))
        known = np.concatenate(some)
        bins = bins_of(population.score[known], edges)
        for number, (low, high) in enumerate(pairwise(edges.tolist())):
            there = known[bins == number]
            if there.size:
                score = float(population.score[there].mean())
                yield CalibrationBin(low=low, high=high, score=score, good=self.rate(there, GOOD))


def _table(rates: _Rates, grouping: Grouping, shown: _Shown) -> ErrorRateTable:
    members, reference = grouping.members, grouping.reference
    tests: dict[tuple[ErrorMeasure, int], GapTest] = {}
    for cell in grouping.compared:
        assert reference is not None
        for measure, part in PART_OF.items():
            if part in shown.parts:
                test = rates.gap(measure, (members[cell], members[reference]))
                tests |= {} if test is None else {(measure, cell): test}

    def inflation(cell: int) -> dict[ErrorMeasure, float]:
        """From the group's comparisons; the reference is in several, and the largest counts."""
        largest: dict[ErrorMeasure, float] = {}
        for (measure, other), test in tests.items():
            if cell in (other, reference) and test.precision is not None:
                largest[measure] = max(largest.get(measure, 1.0), test.precision.inflation)
        return largest

    return ErrorRateTable(
        table=grouping.name,
        by_group={
            grouping.label(cell): rates.of(people, shown, inflation(cell))
            for cell, people in enumerate(members)
        },
        gaps=tuple(
            ErrorGap(
                measure=measure,
                group=grouping.label(cell),
                reference="" if reference is None else grouping.label(reference),
                difference=test.difference,
                interval=test.interval,
                p=test.p,
                effective=test.effective,
                untested=test.reason,
            )
            for (measure, cell), test in tests.items()
        ),
    )
