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

from recourse_audit.groups.arrays import Ints
from recourse_audit.groups.calibration import bins_of
from recourse_audit.groups.gaps import FEWEST_COMPARED, members_of
from recourse_audit.groups.inference import GapTest, Inference
from recourse_audit.groups.measures import rate_of
from recourse_audit.groups.notes import (
    BETWEEN_PARTS,
    ERRORS_NOT_SHOWN,
    FEW_OUTCOMES,
    FEW_OUTCOMES_IN,
    PART_NAMES,
    PARTS_WITHHELD,
    PARTS_WITHHELD_IN_TABLES,
    Part,
)
from recourse_audit.groups.outcome_parts import OF_REFUSED, PARTS, enough_known
from recourse_audit.groups.outcome_suppression import ShownErrorRates
from recourse_audit.groups.people import (
    BAD,
    FAVOURABLE,
    GOOD,
    NOT_KNOWN,
    OUTCOMES,
    REFUSED,
    VERIFIED,
    Population,
)
from recourse_audit.groups.tables import TableSet
from recourse_audit.records.error_rates import (
    CalibrationBin,
    ErrorGap,
    ErrorMeasure,
    ErrorRateReport,
    ErrorRates,
    ErrorRateTable,
    GoodRefused,
)
from recourse_audit.records.group_figures import Rate
from recourse_audit.settings import GroupSettings

INFEASIBLE = OUTCOMES.index("certified_infeasible")
# Whose decisions an error is about, and the outcome that makes it one.
ERRORS: dict[ErrorMeasure, tuple[int, int]] = {
    "false_approvals": (FAVOURABLE, BAD),
    "false_refusals": (REFUSED, GOOD),
}
PART_OF: dict[ErrorMeasure, Part] = {"false_approvals": "approvals", "false_refusals": "refusals"}
NO_INFLATION: Mapping[ErrorMeasure, float] = {}


def error_rates_of(
    population: Population,
    settings: GroupSettings,
    table_set: TableSet,
    references: list[tuple[int | None, str]],
    inference: Inference,
    *,
    column: str,
    scored: bool,
) -> ErrorRateReport:
    """The figures of everybody and of all tables that can show them, and the gaps in them."""
    shown = table_set.withheld.error_rates
    if shown is None:
        return _report(column, scored=scored, notes=(ERRORS_NOT_SHOWN,))
    rates = _Rates(population=population, settings=settings, shown=shown, inference=inference)
    tables = [
        _table(rates, table_set, place, reference)
        for place, (reference, _) in enumerate(references)
        if shown.tables[place]
    ]
    everybody = np.arange(population.people)
    return _report(
        column,
        scored=scored,
        notes=tuple(_notes(shown)),
        counts=tuple(rates.known(everybody, one) for one in (FAVOURABLE, REFUSED)),
        refused_known=shown.refused_known,
        overall=rates.of(everybody, None),
        tables=tuple(tables),
    )


def _report(
    column: str,
    *,
    scored: bool,
    notes: tuple[str, ...],
    counts: tuple[tuple[int | None, int | None], ...] = ((None, None), (None, None)),
    refused_known: bool = False,
    overall: ErrorRates | None = None,
    tables: tuple[ErrorRateTable, ...] = (),
) -> ErrorRateReport:
    (favourable_known, favourable), (refused_with_outcome, refused) = counts
    return ErrorRateReport(
        column=column,
        favourable=favourable,
        favourable_known=favourable_known,
        refused=refused,
        refused_known=refused_with_outcome,
        score="score" if scored else "probability",
        calibrated="everybody" if refused_known else "favourable",
        overall=overall,
        tables=tables,
        notes=notes,
    )


def _notes(shown: ShownErrorRates) -> Iterator[str]:
    """What is not shown of everybody, and why; and that some tables go without something."""
    if not shown.refused_known:
        yield FEW_OUTCOMES
    left = [one for one in PARTS if shown.refused_known or one not in OF_REFUSED]
    hidden = [PART_NAMES[one] for one in left if one not in shown.overall]
    if hidden:
        yield f"{PARTS_WITHHELD}{BETWEEN_PARTS.join(hidden)}."
    less = [
        PART_NAMES[one]
        for one in PARTS
        if one in shown.overall and any(one not in table for table in shown.tables)
    ]
    if less:
        yield f"{PARTS_WITHHELD_IN_TABLES}{BETWEEN_PARTS.join(less)}."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rates:
    """The figures of some people."""

    population: Population
    settings: GroupSettings
    shown: ShownErrorRates
    inference: Inference

    def parts(self, place: int | None) -> frozenset[Part]:
        return self.shown.overall if place is None else self.shown.tables[place]

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
        place: int | None,
        inflation: Mapping[ErrorMeasure, float] = NO_INFLATION,
    ) -> ErrorRates:
        """What is shown of some people in a table, or of everybody.

        `inflation` says by how much ties inflate the variance of their error rates.
        """
        parts = self.parts(place)
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
            if "options" in parts and enough
            else None,
            calibration=tuple(self._bins(people, place)) if "calibration" in parts else None,
        )

    def rate(self, people: Ints, outcome: int, inflation: float | None = None) -> Rate:
        """The share of some people with an outcome."""
        yes = self.population.came_true[people] == outcome
        return rate_of(yes, inflation, self.settings.alpha)

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
        both = np.concatenate([mine, others])
        values = (self.population.came_true[both] == outcome).astype(np.float64)
        return self.inference.test(values, np.arange(both.size) < mine.size, both)

    def _good_refused(self, people: Ints, parts: frozenset[Part]) -> GoodRefused:
        """What the audit found for the refused among them whose outcome is good."""
        audited = self.population.audited
        mine = np.isin(audited.person, people) & audited.usable
        mine &= self.population.came_true[audited.person] == GOOD
        without = audited.status[mine] != VERIFIED
        infeasible = audited.status[mine] == INFEASIBLE
        whole, first, second = (
            rate_of(one, None, self.settings.alpha)
            for one in (without, infeasible, without & ~infeasible)
        )
        details = "details" in parts
        return GoodRefused(
            without_option=whole,
            certified_infeasible=first if details else None,
            not_found_within_budget=second if details else None,
        )

    def _bins(self, people: Ints, place: int | None) -> Iterator[CalibrationBin]:
        """Scores and outcomes by bin; bins without anybody are left out."""
        population, edges = self.population, self.shown.bins[place]
        some = [self.decided(people, FAVOURABLE)]
        if self.shown.refused_known:
            some.append(self.decided(people, REFUSED))
        known = np.concatenate(some)
        bins = bins_of(population.score[known], edges)
        for number, (low, high) in enumerate(pairwise(edges.tolist())):
            there = known[bins == number]
            if there.size:
                score = float(population.score[there].mean())
                yield CalibrationBin(low=low, high=high, score=score, good=self.rate(there, GOOD))


def _table(rates: _Rates, table_set: TableSet, place: int, reference: int | None) -> ErrorRateTable:
    cells = table_set.tables[place]
    members = members_of(rates.population, table_set, place).people
    there = [cell for cell in range(len(cells)) if members[cell].size]
    tests: dict[tuple[ErrorMeasure, int], GapTest] = {}
    if reference is not None:
        for cell in (one for one in there if one != reference and cells.known(one)):
            for measure, part in PART_OF.items():
                if part in rates.shown.tables[place]:
                    found = rates.gap(measure, (members[cell], members[reference]))
                    tests |= {} if found is None else {(measure, cell): found}

    def inflation(cell: int) -> dict[ErrorMeasure, float]:
        """From the group's comparisons; the reference is in several, and the largest counts."""
        largest: dict[ErrorMeasure, float] = {}
        for (measure, other), test in tests.items():
            if cell in (other, reference) and test.inflation is not None:
                largest[measure] = max(largest.get(measure, 1.0), test.inflation)
        return largest

    by_group = {
        cells.label(cell): rates.of(members[cell], place, inflation(cell)) for cell in there
    }
    return ErrorRateTable(
        table=cells.name,
        by_group=by_group,
        gaps=tuple(
            ErrorGap(
                measure=measure,
                group=cells.label(cell),
                reference="" if reference is None else cells.label(reference),
                difference=test.difference,
                interval=test.interval,
                p=test.p,
                effective=test.effective,
                reason=test.reason,
            )
            for (measure, cell), test in tests.items()
        ),
        notes=tuple(_table_notes(rates, place, by_group)),
    )


def _table_notes(rates: _Rates, place: int, by_group: dict[str, ErrorRates]) -> Iterator[str]:
    hidden = [
        PART_NAMES[part]
        for part in PARTS
        if part in rates.shown.overall and part not in rates.shown.tables[place]
    ]
    if hidden:
        yield f"{PARTS_WITHHELD}{BETWEEN_PARTS.join(hidden)}."
    few = [name for name, one in by_group.items() if one.refused_known and not one.false_refusals]
    if few:
        yield f"{FEW_OUTCOMES_IN}{', '.join(few)}."
