"""The figures of groups, and how two groups compare in them.

A figure that a table leaves out is None in all of its groups, and `GroupReport.left_out` says so. A
figure that does not exist (a ratio to a rate of zero) is None as well. *Good* and *bad* are what
came true later, by the column `decision.outcome`.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from recourse_audit.records.base import Record
from recourse_audit.records.recourse import CommonAction
from recourse_audit.records.subject import Grade

Verdict = Literal["gap shown", "no gap", "not settled"]
Family = Literal["single", "crossed"]
Measure = Literal[
    "adverse_rate",
    "feasibility",
    "cost",
    "options",
    "simulatability",
    "relevance",
    "caveats",
]
# Whom a gap that is shown is to the disadvantage of.
WorseOff = Literal["group", "reference"]
# Of the user's attribute; people without a value; several groups with few people taken together.
GroupKind = Literal["known", "unknown", "pooled"]
WhyUntested = Literal["no_ties", "unlike", "few_cases", "alike", "few_effective"]
GradeOrNone = Grade | Literal["none"]

PRIMARY: tuple[Measure, ...] = ("adverse_rate", "feasibility", "cost")
EXPLORATORY: tuple[Measure, ...] = ("options", "simulatability", "relevance", "caveats")
# In the order in which groups are compared; the last two have no place in it.
GRADES: tuple[GradeOrNone, ...] = (*get_args(Grade), "none")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Interval(Record):
    """From low to high, both included."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Rate(Record):
    """A share of people, with two intervals.

    `interval` is Wilson's, for independent people; `on_graph` allows for people who are tied being
    alike, and is None where that was not measured. Both are None where there is nobody.
    """

    count: int
    of: int
    share: float | None
    interval: Interval | None
    on_graph: Interval | None


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
    """What the audit found: audited = verified + infeasible + not found + errors + disagreeing.

    `disagreeing` counts those whose decision on record is not the model's, for whom nothing was
    looked for. What divides people with or without an option further (infeasible and not found, the
    cost curve, grades, simulatability and relevance) is None in a table in which a cell would have
    a few people.
    """

    verified: int
    certified_infeasible: int | None
    not_found_within_budget: int | None
    errors: int
    disagreeing: int
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
    """One group of a table; `pooled` says how many groups *other* stands for.

    `kinds` has one entry per attribute. `outcomes` is None in a table that leaves them out.
    """

    name: str
    values: tuple[str, ...]
    kinds: tuple[GroupKind, ...]
    pooled: int
    decisions: DecisionCounts
    outcomes: Outcomes | None

    @property
    def known(self) -> bool:
        """Whether its people have a value of each attribute, which no other group was added to."""
        return all(kind == "known" for kind in self.kinds)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class OwnDataRates(Record):
    """Refused as decided, and on own data alone: with all of a person's own ties removed.

    Alone, `to_favourable` of the refused would be let in, and `to_refused` of the others would be
    refused. `difference` is the share refused as decided minus the share refused alone; None where
    there is nobody. `no_option` counts, of the refused with a result, those who would be let in
    alone and for whom no option exists (`certified_infeasible`): somebody whose search is
    unfinished is in `of`, not in `count`. None where it is left out.
    """

    refused: Rate
    refused_alone: Rate
    to_favourable: int
    to_refused: int
    difference: float | None
    no_option: Rate | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class OwnDataGap(Record):
    """A group against the reference: refused on own data alone, and what ties add to refusals.

    `alone` is the gap in the share refused alone, `difference` that in the paired difference
    between being refused as decided and alone; both are group minus reference, so that plus is
    worse for the group. Intervals allow for people who are tied being alike; they are None where
    that is not known, and `untested` then says why.
    """

    group: str
    reference: str
    alone: float
    alone_interval: Interval | None
    difference: float
    interval: Interval | None
    p: float | None
    untested: WhyUntested | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Intervals(Record):
    """Two intervals of one figure.

    `ordinary` takes people for independent; `on_graph` allows for people who are tied being alike.
    """

    ordinary: Interval | None
    on_graph: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GapIntervals(Record):
    """The intervals of a gap, as a difference and as a ratio."""

    difference: Intervals
    ratio: Intervals


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PValues(Record):
    """The p values of one gap.

    `ordinary` takes people for independent, `on_graph` allows for ties, and `adjusted` also
    corrects for all `corrected_for` tests of the family. `no_gap` is the p value of the test that
    the gap against the group is as large as `concern`, and `no_gap_adjusted` is corrected likewise.
    """

    ordinary: float | None
    on_graph: float | None
    adjusted: float | None
    corrected_for: int | None
    no_gap: float | None
    no_gap_adjusted: float | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ByColumn(Record):
    """The same gap over the communities that a column names.

    `leaving` is the share of all ties that lead out of a community. `decides` says whether its p
    value was taken: because few ties leave, or because it is the larger one. `p` is None in too
    few communities.
    """

    communities: int
    leaving: float
    p: float | None
    decides: bool


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Precision(Record):
    """How far ties between people make a gap less sure.

    `error` is its standard error; `inflation` is its variance over that of independent people, and
    `effective` the number of people over the inflation. `redrawn` (D) is how much larger squared
    gaps of redrawn labels are than their own variances say, `redraws` how many labels were redrawn,
    and `fit` how far the observed labels clump unlike the redrawn ones (above 4: not tested).
    `sampled` people stand for all in the test where more than the report's `sample` are compared:
    the error is then that of a gap between so few, which is larger than the true one.
    """

    error: float
    effective: float
    inflation: float
    redrawn: float
    fit: float
    redraws: int
    sampled: int | None
    by_column: ByColumn | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GapWithout(Record):
    """The gap without the people for whom the search stopped early; plus is worse for the group."""

    people: int
    reference_people: int
    gap: float
    interval: Interval | None
    p: float | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison(Record):
    """A group against the reference group in one measure.

    `difference` is group minus reference: of two shares, or, for amounts, the chance that somebody
    of the group has more than somebody of the reference minus the chance of less (for a yes or no,
    both are the same). `gap` is the same with its sign turned where that is needed for plus to
    mean *worse for the group*, and `gap_interval` is its interval on the graph. `ratio` is that of
    the two shares, or the odds of more against less.

    `worse` says which of the two a gap that is shown is to the disadvantage of, and is None without
    such a gap. `no_gap` says whether a gap of `concern` or more against the group is ruled out,
    which can be so of a gap that is shown. `untested` says why there is no test. `smallest_gap`
    would have been found four times in five by this test alone, `smallest_gap_in_family` after
    correction.
    """

    measure: Measure
    primary: bool
    family: Family | None
    group: str
    reference: str
    people: int
    reference_people: int
    value: float | None
    reference_value: float | None
    difference: float
    ratio: float | None
    gap: float
    gap_interval: Interval | None
    intervals: GapIntervals
    tests: PValues
    precision: Precision | None
    without_not_found: GapWithout | None
    effect: dict[str, float]
    smallest_gap: float | None
    smallest_gap_in_family: float | None
    favourable_ratio: float | None
    below_four_fifths: bool
    verdict: Verdict | None
    worse: WorseOff | None
    no_gap: bool
    untested: WhyUntested | None


ErrorMeasure = Literal["false_approvals", "false_refusals"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CalibrationBin(Record):
    """People with a known outcome and a score from `low` to under `high`; the last has its end.

    `score` is their mean score, and `good` the share of them whose outcome is good.
    """

    low: float
    high: float
    score: float
    good: Rate


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GoodRefused(Record):
    """Refused and audited people whose outcome is good: how many of them have no option.

    They are certified infeasible, or nothing was found for them within the budget; both are None
    where this division is left out.
    """

    without_option: Rate
    certified_infeasible: Rate | None
    not_found_within_budget: Rate | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ErrorRates(Record):
    """The error rates of one group, or of everybody.

    `false_approvals` is the share with a bad outcome among people with a favourable decision and a
    known outcome (`favourable_known`), `false_refusals` the share with a good one among the refused
    (`refused_known`).
    """

    favourable_known: int | None
    false_approvals: Rate | None
    refused_known: int | None
    false_refusals: Rate | None
    good_refused: GoodRefused | None
    calibration: tuple[CalibrationBin, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ErrorGap(Record):
    """A group against the reference in one error rate: group minus reference.

    `effective` is the number of independent people who would be as informative. Where the gap
    was not tested, `interval`, `p` and `effective` are None, and `untested` says why.
    """

    measure: ErrorMeasure
    group: str
    reference: str
    difference: float
    interval: Interval | None
    p: float | None
    effective: float | None
    untested: WhyUntested | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ErrorRateTable(Record):
    """The groups of one attribute, or of two crossed.

    A group of whose refused too few have a known outcome has `refused_known`, but no
    `false_refusals`.
    """

    table: str
    by_group: dict[str, ErrorRates]
    gaps: tuple[ErrorGap, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ErrorRateReport(Record):
    """Error rates of everybody, and in the tables that can show them.

    `favourable_known` of `favourable`, and `refused_known` of `refused` people have a known
    outcome; None where nothing is shown of anybody. `calibrated` says whose scores are compared
    with outcomes: everybody's with a decision, or, where the outcomes of fewer than 95 % of the
    refused are known, those of people with a favourable one; then there are no false refusals.
    """

    column: str
    favourable: int | None
    favourable_known: int | None
    refused: int | None
    refused_known: int | None
    score: Literal["probability", "score"]
    calibrated: Literal["everybody", "favourable"]
    overall: ErrorRates | None
    tables: tuple[ErrorRateTable, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ActionGap(Record):
    """How much larger the share *not* served is in a group than in the reference.

    A plus is worse for the group. Where the gap was not tested, `p` is None, and `untested` says
    why; `adjusted` is Holm's, over the `corrected_for` gaps of all common actions and sets. "gap
    shown": it is at most `alpha`. "no gap": a gap of `concern` or more against the group is ruled
    out, by its own corrected test. `smallest_gap` would have been found four times in five, after
    the correction; because people who are tied are alike, they count as `effective` people.
    """

    table: str
    group: str
    reference: str
    gap: float
    interval: Interval | None
    p: float | None
    adjusted: float | None
    corrected_for: int
    effective: float | None
    smallest_gap: float | None
    verdict: Verdict
    worse: WorseOff | None
    untested: WhyUntested | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ServedGroups(Record):
    """The people served: of everybody audited, and by table and group in tables that can show it.

    `everybody` is None where few people are served, or few of those with an option are not.
    """

    everybody: Rate | None
    by_group: dict[str, dict[str, Rate]]
    gaps: tuple[ActionGap, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ActionFigures(Record):
    """One action: whom it serves, to how many it applies, and what it costs those it serves.

    `applies` is out of the people of `served`; of `not_settled` people to whom it applies it is
    not known whether it serves them; both are None where a few people would be counted. `effort` is
    the median cost of those served.
    """

    action: CommonAction
    served: ServedGroups
    applies: int | None
    applies_by_group: dict[str, dict[str, int]]
    not_settled: int | None
    effort: float | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ActionSet(Record):
    """The smallest set of actions that serves a share of some people; of those, the one with most.

    `of`: that share "of the served", whom any of the actions that are shown serves, or "of
    everybody" audited. `actions` are places in the list of actions. Unless it is `exact`, actions
    were taken one by one, always the one that serves most of those left.
    """

    share: float
    of: Literal["of the served", "of everybody"]
    actions: tuple[int, ...]
    exact: bool
    served: ServedGroups


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CommonActions(Record):
    """All common actions, and the smallest sets of them; `nothing` says why there are none."""

    actions: tuple[ActionFigures, ...]
    sets: tuple[ActionSet, ...]
    nothing: Literal["not_asked", "few_people"] | None
