"""The figures of groups, and how two groups compare in them.

A figure that is withheld is in no record: the record that would hold it is None, and
`Group.withheld` says why. A figure that does not exist (a ratio to a rate of zero) is None inside a
record that is shown.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from recourse_audit.records.base import Record
from recourse_audit.records.caveats import Grade

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

    Simulatability and relevance are None where fewer people than the threshold have a value. What
    divides people with or without an option further (infeasible and not found, the cost curve, the
    grades of caveats, simulatability and relevance) is None in a table of which anything is
    withheld, and so are the quartiles of cost and options if they would reveal something.
    """

    verified: int
    certified_infeasible: int | None
    not_found_within_budget: int | None
    errors: int
    feasibility: Rate
    infeasible: Rate | None
    not_found: Rate | None
    cost: Quartiles | None
    cost_curve: tuple[CostPoint, ...] | None
    options: Quartiles | None
    simulatability: Quartiles | None
    relevance: Quartiles | None
    grades: dict[GradeOrNone, int] | None


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
class OwnDataRates(Record):
    """Refused as decided, and on own data alone: with all of a person's own ties removed.

    Alone, `to_favourable` of the refused would be let in, and `to_refused` of the others would be
    refused. `difference` is the share refused as decided minus the share refused alone; None where
    there is nobody.
    """

    refused: Rate
    refused_alone: Rate
    to_favourable: int
    to_refused: int
    difference: float | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class OwnDataGap(Record):
    """A group against the reference: refused on own data alone, and what ties add to refusals.

    `alone` is the gap in the share refused alone, `difference` that in the paired difference
    between being refused as decided and alone; both are group minus reference. Intervals are over
    communities, and None where there are too few of them; `reason` then says so.
    """

    group: str
    reference: str
    alone: float
    alone_interval: Interval | None
    difference: float
    interval: Interval | None
    communities: int
    reason: str


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
