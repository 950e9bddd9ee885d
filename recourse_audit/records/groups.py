"""How groups of people fare against each other: figures, gaps, tests, and what is withheld.

A figure that is withheld is in no record: the record that would hold it is None, and
`Group.withheld` says why. A figure that does not exist (a ratio to a rate of zero) is None inside a
record that is shown.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from recourse_audit.records.base import Record
from recourse_audit.records.caveats import Grade

# 1: the first. 2: `flags` hold the reference, the difference and the reason as well.
FORMAT = 2

Verdict = Literal["flag", "no flag", "insufficient evidence"]
Measure = Literal[
    "adverse_rate",
    "feasibility",
    "cost",
    "options",
    "simulatability",
    "relevance",
    "caveats",
]
Direction = Literal["harder", "easier", "none"]
WhyWithheld = Literal["few_people", "few_audited", "complementary"]
GradeOrNone = Grade | Literal["none"]
Do = Literal["drop", "add", "set"]
CommunityMethod = Literal["louvain", "column", "none"]

PRIMARY: tuple[Measure, ...] = ("adverse_rate", "feasibility", "cost")
EXPLORATORY: tuple[Measure, ...] = ("options", "simulatability", "relevance", "caveats")
GRADES: tuple[GradeOrNone, ...] = (*get_args(Grade), "none")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Interval(Record):
    """From low to high, both included."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Rate(Record):
    """A share of people, with two intervals.

    `interval` is Wilson's, for independent people; `clustered` allows for people who come in
    communities. Both are None where there is nobody.
    """

    count: int
    of: int
    share: float | None
    interval: Interval | None
    clustered: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DecisionCounts(Record):
    """People by decision: people = refused + favourable + undecided."""

    people: int
    refused: int
    favourable: int
    undecided: int
    audited: int
    not_audited: int
    adverse_rate: Rate


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Quartiles(Record):
    """The quartiles of a value over `of` people; None lies beyond every value that was found."""

    of: int
    first: float | None
    median: float | None
    third: float | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CostPoint(Record):
    """How many people have an option at this cost or less, and their share of all audited."""

    cost: float
    count: int
    share: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Outcomes(Record):
    """What the audit found: audited = verified + infeasible + not found + errors.

    Simulatability and relevance are None where fewer people than the threshold have a value.
    """

    verified: int
    certified_infeasible: int
    not_found_within_budget: int
    errors: int
    feasibility: Rate
    infeasible: Rate
    not_found: Rate
    cost: Quartiles
    cost_curve: tuple[CostPoint, ...]
    options: Quartiles
    simulatability: Quartiles | None
    relevance: Quartiles | None
    grades: dict[GradeOrNone, int]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Group(Record):
    """One group: its figures, or why they are withheld."""

    name: str
    values: tuple[str, ...]
    known: bool
    decisions: DecisionCounts | None
    outcomes: Outcomes | None
    withheld: WhyWithheld | Literal[""]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Intervals(Record):
    """Three intervals of one figure.

    `ordinary` takes people for independent; `clustered` and `bootstrap` allow for communities.
    """

    ordinary: Interval | None
    clustered: Interval | None
    bootstrap: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GapIntervals(Record):
    """The intervals of a gap, as a difference and as a ratio."""

    difference: Intervals
    ratio: Intervals


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PValues(Record):
    """The p values of one gap.

    `ordinary` takes people for independent, `clustered` counts communities, and `adjusted` also
    corrects for all `corrected_for` tests of the family. `smallest` is the smallest p value that
    this number of communities allows, 0 if there is no such limit.
    """

    method: str
    ordinary: float | None
    clustered: float | None
    smallest: float | None
    adjusted: float | None
    corrected_for: int | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison(Record):
    """A group against the reference group in one measure.

    `difference` is group minus reference: of two shares, or, for amounts, the chance that somebody
    of the group has more than somebody of the reference minus the chance of less (for a yes or no,
    both are the same). `ratio` is that of the two shares, or the odds of more against less.
    `communities` counts those in the test, `alone` those of them that are a single person.
    """

    measure: Measure
    primary: bool
    group: str
    reference: str
    people: int
    reference_people: int
    communities: int
    alone: int
    value: float | None
    reference_value: float | None
    difference: float
    ratio: float | None
    intervals: GapIntervals
    tests: PValues
    effect: dict[str, float]
    standard_error: float | None
    smallest_gap: float | None
    smallest_gap_in_family: float | None
    favourable_ratio: float | None
    below_four_fifths: bool
    direction: Direction
    verdict: Verdict | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GroupTable(Record):
    """The groups of one attribute, or of two crossed, and their comparisons."""

    name: str
    attributes: tuple[str, ...]
    reference: str | None
    by_group: tuple[Group, ...]
    comparisons: tuple[Comparison, ...]
    note: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Flag(Record):
    """A flagged gap, and the table it is in."""

    table: str
    group: str
    reference: str
    measure: Measure
    direction: Direction
    difference: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Suppressed(Record):
    """What is withheld, where and why; never how many people it concerns."""

    table: str
    group: str
    what: Literal["all figures", "figures of the audited"]
    why: WhyWithheld


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FamilyTest(Record):
    """One of the tests that Holm's method corrects together."""

    table: str
    group: str
    measure: Measure
    p: float
    adjusted: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CutOffTable(Record):
    """Whom the options cut off, by one attribute: the first options, or all of them."""

    attribute: str
    options: Literal["first", "all"]
    people: int
    dropped: int
    droppable: int
    by_group: tuple[CutOff, ...]
    withheld: tuple[str, ...]
    note: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Change(Record):
    """A kind of change: drop or add ties of one kind, or set an attribute."""

    do: Do
    what: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CommonOption(Record):
    """Kinds of change, and how many people they serve whom no option before them serves.

    `shares_by_group` has, by attribute and group, the share served by this option or one before.
    """

    changes: tuple[Change, ...]
    serves: int
    served_so_far: int
    share_so_far: float
    shares_by_group: dict[str, dict[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Communities(Record):
    """Where communities come from, and how many there are; `alone` of them are a single person.

    With the method "none" there are no communities, and `reason` says why.
    """

    method: CommunityMethod
    column: str | None
    seed: int
    count: int
    reason: str
    alone: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Overall(Record):
    """Everybody together; `excluded` counts the audited who were left out, by error.

    Figures are None where there are too few people to show them.
    """

    decisions: DecisionCounts | None
    outcomes: Outcomes | None
    excluded: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Days(Record):
    """The first and the last day of the audit, as 2026-11-16 (UTC)."""

    first: str
    last: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GroupReport(Record):
    """All comparisons between the groups of an audit.

    `ran` is None where the log of the run does not tell when. `flags` repeats the comparisons
    with the verdict "flag", so that nobody has to search the tables for them.
    """

    format: int
    finished: bool
    done: int
    total: int
    ran: Days | None
    communities: Communities
    smallest: int
    alpha: float
    concern: float
    four_fifths: float
    draws: int
    overall: Overall
    tables: tuple[GroupTable, ...]
    family: tuple[FamilyTest, ...]
    untested: int
    flags: tuple[Flag, ...]
    suppressed: tuple[Suppressed, ...]
    cut_off: tuple[CutOffTable, ...]
    common_options: tuple[CommonOption, ...]
    notes: tuple[str, ...]

    @property
    def by_group(self) -> dict[str, dict[str, Group]]:
        """Every group, by table and name: `report.by_group["origin"]["south"]`."""
        return {table.name: {one.name: one for one in table.by_group} for table in self.tables}

    @property
    def difference(self) -> dict[str, dict[str, dict[Measure, float]]]:
        """Every difference to the reference group, by table, group and measure."""
        found: dict[str, dict[str, dict[Measure, float]]] = {}
        for table in self.tables:
            groups = found.setdefault(table.name, {})
            for one in table.comparisons:
                groups.setdefault(one.group, {})[one.measure] = one.difference
        return found

    @property
    def ratio(self) -> dict[str, dict[str, dict[Measure, float | None]]]:
        """Every ratio to the reference group, by table, group and measure."""
        found: dict[str, dict[str, dict[Measure, float | None]]] = {}
        for table in self.tables:
            groups = found.setdefault(table.name, {})
            for one in table.comparisons:
                groups.setdefault(one.group, {})[one.measure] = one.ratio
        return found
