"""The group summary as records: figures of groups, gaps between them, and how sure they are.

A figure that is withheld is in no record: `Group.withheld` says why it is missing, and `shown`
parts are None. A figure that does not exist (the ratio to a rate of zero) is None inside a part
that is shown.
"""

from dataclasses import dataclass
from typing import Literal

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
PRIMARY: tuple[Measure, ...] = ("adverse_rate", "feasibility", "cost")
EXPLORATORY: tuple[Measure, ...] = ("options", "simulatability", "relevance", "caveats")
GRADES = ("holds", "weakens", "reverses", "none")
UNKNOWN = "unknown"
WITHHELD = {
    "few_people": "fewer people than groups.smallest",
    "few_audited": "fewer audited people than groups.smallest",
    "complementary": "it would give another withheld figure away",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """From low to high, both included."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A share of people: Wilson's interval, and one for people who come in communities."""

    count: int
    of: int
    share: float | None
    interval: Interval | None
    clustered: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions:
    """Everybody by what was decided; people = refused + favourable + undecided."""

    people: int
    refused: int
    favourable: int
    undecided: int
    audited: int
    not_audited: int
    adverse_rate: Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Quartiles over so many people; None is beyond everything that was found."""

    of: int
    first: float | None
    median: float | None
    third: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CostPoint:
    """How many have an option at this cost or less; the share is of all, infeasible included."""

    cost: float
    count: int
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """What became of the audited: audited = verified + infeasible + not found + errors.

    Simulatability and relevance are None where fewer people than the threshold have any.
    """

    verified: int
    certified_infeasible: int
    not_found_within_budget: int
    errors: int
    feasibility: Rate
    infeasible: Rate
    not_found: Rate
    cost: Spread
    cost_curve: tuple[CostPoint, ...]
    options: Spread
    simulatability: Spread | None
    relevance: Spread | None
    grades: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One group: its figures, or why they are withheld."""

    name: str
    values: tuple[str, ...]
    known: bool
    decisions: Decisions | None
    outcomes: Outcomes | None
    withheld: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals:
    """The same gap three ways; only the clustered one knows that people come in communities."""

    ordinary: Interval | None
    clustered: Interval | None
    bootstrap: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tests:
    """p values: of independent people, of communities, and corrected for the whole family.

    `smallest` is the smallest that so few communities can have, 0 if there is no such limit;
    `corrected_for` is how many tests `adjusted` allows for.
    """

    method: str
    ordinary: float | None
    clustered: float | None
    smallest: float | None
    adjusted: float | None
    corrected_for: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A group against the reference group in one measure.

    `difference` is group minus reference. Of rates it is that of two shares; of everything else the
    chance that somebody of the group has more than somebody of the reference, minus the chance of
    less, which for a rate comes to the same. `ratio` is that of the two shares, or the odds of more
    against less. `communities` are those that the test counts, `alone` how many of these are one
    person.
    """

    measure: Measure
    primary: bool
    group: str
    reference: str
    people: int
    reference_people: int
    communities: int
    value: float | None
    reference_value: float | None
    difference: float
    ratio: float | None
    intervals: dict[Literal["difference", "ratio"], Intervals]
    tests: Tests
    effect: dict[str, float]
    standard_error: float | None
    smallest_gap: float | None
    smallest_gap_in_family: float | None
    favourable_ratio: float | None
    below_four_fifths: bool
    direction: Literal["harder", "easier", "none"]
    verdict: Verdict | None
    reason: str
    alone: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTable:
    """The groups of one attribute, or of two crossed."""

    attributes: tuple[str, ...]
    reference: str | None
    by_group: tuple[Group, ...]
    comparisons: tuple[Comparison, ...]
    note: str

    @property
    def name(self) -> str:
        return " x ".join(self.attributes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppressed:
    """What is withheld, where and why; never how many."""

    table: str
    group: str
    what: Literal["all figures", "figures of the audited"]
    why: Literal["few_people", "few_audited", "complementary"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyTest:
    """One test of the family that Holm's correction is over."""

    table: str
    group: str
    measure: Measure
    p: float
    adjusted: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CutOff:
    """How often dropped ties lead to a group, against how often they could have."""

    group: str
    dropped: int
    dropped_share: float
    droppable: int
    droppable_share: float
    ratio: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CutOffTable:
    """Whom the advice cuts off, for one attribute; of first options or of all of them."""

    attribute: str
    options: Literal["first", "all"]
    people: int
    dropped: int
    droppable: int
    by_group: tuple[CutOff, ...]
    withheld: tuple[str, ...]
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A kind of change: drop or add a kind of tie, or set an attribute."""

    do: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonOption:
    """A kind of change, whom it serves that none before it did, and how far they come together."""

    changes: tuple[Change, ...]
    serves: int
    served_so_far: int
    share_so_far: float
    shares_by_group: dict[str, dict[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Communities:
    """Where communities come from, how many there are, and how many of them are one person."""

    method: str
    column: str | None
    seed: int
    count: int
    reason: str
    alone: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Overall:
    """Everybody, and how many of the audited were left out for which error; withheld if too few."""

    decisions: Decisions | None
    outcomes: Outcomes | None
    excluded: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Days:
    """From when to when the audit ran, as 2026-11-16 (UTC)."""

    first: str
    last: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupReport:
    """The whole group summary; `ran` is None where nobody wrote down when the audit ran."""

    finished: bool
    done: int
    total: int
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
    suppressed: tuple[Suppressed, ...]
    cut_off: tuple[CutOffTable, ...]
    common_options: tuple[CommonOption, ...]
    notes: tuple[str, ...]
    ran: Days | None = None

    @property
    def flags(self) -> tuple[tuple[str, Comparison], ...]:
        """Every gap that is flagged, with the table it stands in."""
        return tuple(
            (table.name, one)
            for table in self.tables
            for one in table.comparisons
            if one.verdict == "flag"
        )
