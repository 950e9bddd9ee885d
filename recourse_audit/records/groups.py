"""How groups of people fare against each other: tables, flags, tests, and what is withheld.

A figure that is withheld is in no record: the record that would hold it is None, and
`Group.withheld` says why.
"""

from dataclasses import dataclass
from typing import Literal

from recourse_audit.records.agreement import Agreement
from recourse_audit.records.base import Record
from recourse_audit.records.group_figures import (
    Comparison,
    DecisionCounts,
    Direction,
    Group,
    Interval,
    Measure,
    Outcomes,
    OwnDataGap,
    OwnDataRates,
    WhyWithheld,
)

# 1: the first. 2: `flags` hold the reference, the difference and the reason as well. 3: details of
# outcomes can be null. 4: agreement with the record. 5: refusals on own data alone.
FORMAT = 5

Do = Literal["drop", "add", "set"]
CommunityMethod = Literal["louvain", "column", "none"]


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
class OwnDataTable(Record):
    """Refusals on own data alone, by the groups of one attribute or of two crossed.

    `by_group` has the groups with anybody who was decided on, by name.
    """

    table: str
    by_group: dict[str, OwnDataRates]
    gaps: tuple[OwnDataGap, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class OwnDataGroups(Record):
    """Refusals on own data alone: of everybody, and in the tables that can show them.

    `note` says why there are none, or that some tables go without.
    """

    overall: OwnDataRates | None
    tables: tuple[OwnDataTable, ...]
    note: str


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
    agreement: Agreement | None
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
    own_data: OwnDataGroups
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
