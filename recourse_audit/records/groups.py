"""How groups of people fare against each other: tables, tests, findings, and what is left out."""

from typing import Any, Literal

from recourse_audit.records import Record
from recourse_audit.records.group_figures import (
    CommonActions,
    Comparison,
    DecisionCounts,
    ErrorRateReport,
    Family,
    Group,
    Interval,
    Measure,
    Outcomes,
    OwnDataGap,
    OwnDataRates,
    Rate,
    Verdict,
    WorseOff,
)
from recourse_audit.records.model import Agreement
from recourse_audit.records.recourse import Part as DecisionPart

Do = Literal["drop", "add", "move", "set"]
# What a table, or the figures of everybody ("overall"), can go without.
AuditPart = Literal["outcomes", "details", "cost_curve", "grades", "explanations"]
OwnDataPart = Literal["own_data", "own_data_no_option"]
ErrorPart = Literal["approvals", "refusals", "good_refused", "good_refused_details", "calibration"]
ChangePart = Literal["common_options", "common_actions", "ties"]
ReasonPart = Literal["reasons", "reason_parts"]
Part = Literal["table", AuditPart, OwnDataPart, ErrorPart, ChangePart, ReasonPart]
PartMeasure = Literal["permitted", "flips", "reason", "fixed"]
ReasonMeasure = Literal["reasons", "none_flips", "all_fixed", PartMeasure]
WhyLeftOut = Literal["few_people", "too_many_groups"]
WhyNotCompared = Literal["few_groups", "reference_pooled"]


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
    """Refusals on own data alone by group, of the groups with anybody who was decided on."""

    table: str
    by_group: dict[str, OwnDataRates]
    gaps: tuple[OwnDataGap, ...]


class OwnDataGroups(Record):
    """Refusals on own data alone; none unless they are `known` of everybody with a decision."""

    known: bool
    overall: OwnDataRates | None
    tables: tuple[OwnDataTable, ...]


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
    the share `by_chance` of such reports shows one: `alpha` for each family. `findings` has one
    entry per comparison with a verdict. `error_rates` is None without a column of outcomes, and
    `reasons` where the model was asked about few people, or nobody, part by part; of
    `reason_parts`, frequent reasons come first.
    """

    format: Literal[10] = 10
    finished: bool = True
    done: int = 0
    total: int = 0
    ran: Days | None = None
    agreement: Agreement | None = None
    communities: Communities
    smallest: int
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
    reasons: ReasonFigures | None
    reason_parts: tuple[PartFigures, ...]
    error_rates: ErrorRateReport | None

    @property
    def tests(self) -> tuple[Comparison, ...]:
        """The comparisons of both families that were tested and corrected."""
        comparisons = (each for table in self.tables for each in table.comparisons)
        return tuple(each for each in comparisons if each.tests.adjusted is not None)

    @property
    def flags(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.verdict == "gap shown")

    @property
    def pooled(self) -> int:
        """How many groups of single attributes are pooled with others."""
        single = (table for table in self.tables if len(table.attributes) == 1)
        return sum(group.pooled for table in single for group in table.by_group)

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
