"""How groups of people fare against each other: tables, tests, findings, and what is left out."""

import math
from typing import Any, Literal

from recourse_audit.records import Record
from recourse_audit.records.group_figures import (
    Carried,
    CommonActions,
    Comparison,
    DecisionCounts,
    ErrorRateReport,
    Family,
    Group,
    GroupTies,
    Interval,
    JudgedGap,
    Measure,
    Outcomes,
    OwnDataGap,
    OwnDataRates,
    Rate,
    Verdict,
    WorseOff,
)
from recourse_audit.records.model import Agreement, RuleName
from recourse_audit.records.rates import RateReport
from recourse_audit.records.recourse import Part as DecisionPart

Do = Literal["drop", "add", "move", "set"]
# What a table, or the figures of everybody ("overall"), can go without.
AuditPart = Literal["outcomes", "details", "cost_curve", "grades", "explanations"]
OwnDataPart = Literal["own_data", "own_data_no_option", "own_ties", "comparators"]
ErrorPart = Literal["approvals", "refusals", "good_refused", "good_refused_details", "calibration"]
RatePart = Literal["scoring_rate", "cut_offs"]
ChangePart = Literal["common_options", "common_actions", "ties"]
ReasonPart = Literal["reasons", "reason_parts"]
Part = Literal["table", AuditPart, OwnDataPart, ErrorPart, RatePart, ChangePart, ReasonPart]
PartMeasure = Literal["permitted", "flips", "reason", "fixed"]
ReasonMeasure = Literal["reasons", "none_flips", "all_fixed", PartMeasure]
WhyLeftOut = Literal["few_people", "too_many_groups"]
WhyNotCompared = Literal["few_groups", "reference_pooled"]
# How many standard deviations below what is expected one draw in ten lies.
NINE_OF_TEN = 1.28
# Nobody can tell from a small sample that fewer have an option, or have none.
SMALLEST_SHARE = 0.1


class GroupTable(Record):
    """The groups of one attribute, or of two crossed, and their comparisons."""

    name: str
    attributes: tuple[str, ...]
    reference: str | None
    by_group: tuple[Group, ...]
    comparisons: tuple[Comparison, ...]
    not_compared: WhyNotCompared | None


class Finding(Record):
    """One comparison in short: who, what, how much, how sure (see `Comparison`).

    `headline` is the finding to lead with, which comes first; the others follow by `rank`.
    """

    rank: int
    headline: bool
    family: Family
    table: str
    group: str
    reference: str
    measure: Measure
    value: float | None
    reference_value: float | None
    gap: float
    interval: Interval | None
    ratio: float | None
    adjusted: float | None
    tests: int
    smallest_gap: float | None
    verdict: Verdict
    worse: WorseOff | None
    no_gap: bool
    stands: bool


class OwnDataTable(Record):
    """Refusals on own data alone by group, of the groups with anybody who was decided on.

    `carried` says for each group that is compared where a gap in refusals is shown, in either
    direction: `ties` if `given_alone` has one, `own_data` if `alone` has one. It lacks groups of
    which either was not tested, and is empty in a crossed table, whose gaps are in no family.
    """

    table: str
    by_group: dict[str, OwnDataRates]
    gaps: tuple[OwnDataGap, ...]
    carried: dict[str, Carried]


class OwnDataGroups(Record):
    """Refusals on own data alone; none unless they are `known` of everybody with a decision.

    `ties` has, by attribute, how ties keep to groups, where enough people are tied.
    """

    known: bool
    overall: OwnDataRates | None
    tables: tuple[OwnDataTable, ...]
    ties: dict[str, GroupTies]


class ComparatorShares(Record):
    """Of those no better on own data than a refused person, the share approved; a mean of people.

    In other groups, and in the person's own, the control; None where nobody is no better.
    """

    others: float | None
    own: float | None


class ReasonFigures(Record):
    """Shares of the refused whom the model was asked about; a table has what it can show.

    Who has reasons; no single permitted change of any of which makes the decision favourable
    (`none_flips`); all of which are fixed. Of one part: who may change it (`permitted`), to a
    favourable decision (`flips`); of whom it is a `reason`, a `fixed` one.
    """

    overall: dict[ReasonMeasure, Rate]
    by_group: dict[str, dict[str, dict[ReasonMeasure, Rate]]]


class PartFigures(Record):
    """What permitted changes of one column or kind of tie do, and how often it is a reason."""

    part: DecisionPart
    changes: ReasonFigures
    reasons: ReasonFigures


class CutOff(Record):
    """How often dropped ties lead to a group, against how often droppable ties do.

    Both count pairs of people once, however many parallel ties a pair has.
    """

    group: str
    dropped: int
    dropped_share: float
    droppable: int
    droppable_share: float
    ratio: float | None
    interval: Interval | None


class CutOffTable(Record):
    """Whom the options cut off, by one attribute; `nothing` says why there is no group in it."""

    attribute: str
    options: Literal["first", "all"]
    people: int
    dropped: int
    droppable: int
    by_group: tuple[CutOff, ...]
    nothing: Literal["few_people", "no_tie_dropped"] | None


class Change(Record):
    """A kind of change: drop or add ties of one kind, or set an attribute."""

    do: Do
    what: str


class CommonOption(Record):
    """Kinds of change, and how many people they serve whom no option before them serves.

    `shares_by_group` has, by attribute and group, the share served by this option or one before.
    """

    changes: tuple[Change, ...]
    serves: int
    served_so_far: int
    share_so_far: float
    shares_by_group: dict[str, dict[str, float]]


class SweepRule(Record):
    """What cut-offs are put at, and those in force: `cut_off` for everybody, or `cut_off_by` value.

    Under a quota `cut_off` is what it amounts to, in three digits. `recorded` decisions may differ
    from the model's answers, which the sweep is of.
    """

    name: RuleName
    value: Literal["probability", "score"]
    better: Literal["higher", "lower"]
    cut_off: float | None
    cut_off_by: dict[str, float]
    recorded: bool


class SweepCurve(Record):
    """Of so many people with an answer, those refused at each cut-off, and what follows from it.

    Ratios of selection rates, against the reference and against the known group with the highest.
    """

    of: int
    refused: tuple[int, ...]
    selection_rate: tuple[float, ...]
    impact_ratio: tuple[float | None, ...]
    highest_ratio: tuple[float | None, ...]


class Stretch(Record):
    """Neighbouring cut-offs at which the same is true of a group against the reference.

    It is refused more often, less often or as often, or its impact ratio is below `four_fifths`.
    """

    group: str
    what: Literal["more", "fewer", "same", "below"]
    first: float
    last: float
    cut_offs: int


class SweepTable(Record):
    """The groups of one attribute at common cut-offs, in ascending order."""

    table: str
    reference: str | None
    rule: SweepRule
    cut_offs: tuple[float, ...]
    by_group: dict[str, SweepCurve]
    stretches: tuple[Stretch, ...]


class LeftOut(Record):
    """What a table goes without; "few_people": a cell would have fewer people than `smallest`."""

    table: str
    part: Part
    why: WhyLeftOut


class Communities(Record):
    """The column that names everybody's community, if there is one, and how many there are.

    `seed` is that of the audit, by which labels of groups are redrawn.
    """

    column: str | None
    count: int
    seed: int


class Overall(Record):
    """Everybody together; `excluded` counts the audited whose audit failed, by error."""

    decisions: DecisionCounts | None
    outcomes: Outcomes | None
    excluded: dict[str, int]


class Days(Record):
    """The first and the last day of the audit, as 2026-11-16 (UTC)."""

    first: str
    last: str


class GroupReport(Record):
    """All comparisons between the groups of an audit.

    `ran` is None where the log of the run does not tell when. Where there is no gap at all, at most
    the share `by_chance` of such reports is meant to show one: `alpha` for each family that has
    tests (single attributes, crossed ones, own data alone, common actions). `findings` has one
    entry per comparison with a verdict. `error_rates` is None without a column of outcomes, and
    `reasons` where the model was asked about few people, or nobody, part by part; of
    `reason_parts`, frequent reasons come first.
    """

    format: Literal[11] = 11
    finished: bool = True
    done: int = 0
    total: int = 0
    ran: Days | None = None
    agreement: Agreement | None = None
    communities: Communities
    smallest: int
    given: tuple[str, ...]
    alpha: float
    concern: float
    four_fifths: float
    redraws: int
    sample: int
    overall: Overall
    tables: tuple[GroupTable, ...]
    untested: int
    by_chance: float
    findings: tuple[Finding, ...]
    left_out: tuple[LeftOut, ...]
    cut_off: tuple[CutOffTable, ...]
    common_options: tuple[CommonOption, ...]
    common_actions: CommonActions
    own_data: OwnDataGroups
    comparators: dict[str, dict[str, ComparatorShares]]
    reasons: ReasonFigures | None
    reason_parts: tuple[PartFigures, ...]
    rates: RateReport
    error_rates: ErrorRateReport | None
    sweeps: tuple[SweepTable, ...] = ()

    @property
    def tests(self) -> tuple[Comparison, ...]:
        """The comparisons of both families that were tested and corrected."""
        comparisons = (each for table in self.tables for each in table.comparisons)
        return tuple(each for each in comparisons if each.tests.adjusted is not None)

    @property
    def judged(self) -> dict[str, tuple[JudgedGap, ...]]:
        """The gaps of the families on own data and of common actions."""
        common = [each.served for each in self.common_actions.actions]
        common += [each.served for each in self.common_actions.sets]
        return {
            "own_data": tuple(gap for table in self.own_data.tables for gap in table.gaps),
            "actions": tuple(gap for served in common for gap in served.gaps),
        }

    @property
    def flags(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.verdict == "gap shown")

    @property
    def pooled(self) -> int:
        """How many groups of single attributes are pooled with others."""
        single = (table for table in self.tables if len(table.attributes) == 1)
        return sum(group.pooled for table in single for group in table.by_group)

    @property
    def sample_needed(self) -> tuple[tuple[str, ...], int] | None:
        """The single tables whose outcomes the next larger sample would show, and its size, about.

        None where everybody who was refused is audited, or would have to be. Worked out from
        figures that are shown: in nine of ten such samples every cell has `smallest` people.
        """
        decided, outcomes = self.overall.decisions, self.overall.outcomes
        if decided is None or not decided.not_audited:
            return None
        share = 0.5 if outcomes is None else outcomes.feasibility.share or 0.0
        split = max(min(share, 1 - share), SMALLEST_SHARE)
        expected = ((NINE_OF_TEN + math.sqrt(NINE_OF_TEN**2 + 4 * self.smallest)) / 2) ** 2
        gone = {left.table for left in self.left_out if left.part == "outcomes"}
        needed = {}
        for table in (table for table in self.tables if gone & {table.name, "overall"}):
            refused = [g.decisions.refused for g in table.by_group]
            if len(table.attributes) == 1 and all(refused):
                people = expected * decided.refused / (min(refused) * split)
                needed[table.name] = 10 * math.ceil(people / 10)
        within = {name: n for name, n in needed.items() if decided.audited < n < decided.refused}
        least = min(within.values(), default=0)
        return ((*(name for name, n in within.items() if n == least),), least) if within else None

    @property
    def by_group(self) -> dict[str, dict[str, Group]]:
        """Every group, by table and name: `report.by_group["origin"]["south"]`."""
        return {t.name: {group.name: group for group in t.by_group} for t in self.tables}

    @property
    def difference(self) -> dict[str, dict[str, dict[Measure, float]]]:
        """Every difference to the reference group, by table, group and measure."""
        return self._by_measure("difference")

    @property
    def ratio(self) -> dict[str, dict[str, dict[Measure, float | None]]]:
        """Every ratio to the reference group, by table, group and measure."""
        return self._by_measure("ratio")

    def _by_measure(self, figure: str) -> dict[str, dict[str, dict[Measure, Any]]]:
        figures: dict[str, dict[str, dict[Measure, Any]]] = {}
        for table in self.tables:
            groups = figures.setdefault(table.name, {})
            for each in table.comparisons:
                groups.setdefault(each.group, {})[each.measure] = getattr(each, figure)
        return figures
