"""The figures of groups, and how two groups compare in them.

A figure that a table leaves out is None in all of its groups, and `GroupReport.left_out` says so. A
figure that does not exist (a ratio to a rate of zero) is None as well. *Good* and *bad* are what
came true later, by the column `decision.outcome`. Intervals and p values allow for people who are
tied being alike, unless they are called ordinary.
"""

from typing import Literal, get_args

from recourse_audit.records import Record
from recourse_audit.records.recourse import CommonAction
from recourse_audit.records.subject import Grade

Verdict = Literal["gap shown", "no gap", "not settled"]
Family = Literal["single", "crossed"]
Primary = Literal["adverse_rate", "feasibility", "cost"]
Measure = Literal[Primary, "options", "simulatability", "relevance", "caveats"]
# Refused on own data alone; refused as decided minus that; refused as decided, given the answer on
# own data alone; and refused as decided among the people approved on own data alone.
OwnDataMeasure = Literal["alone", "ties", "given_alone", "approved_alone"]
# Where a gap in refusals is shown: among people alike on own data, on own data alone, both, or not.
Carried = Literal["ties", "own_data", "both", "neither"]
# Whom a gap that is shown is to the disadvantage of.
WorseOff = Literal["group", "reference"]
# Of the user's attribute; people without a value; several groups with few people taken together.
GroupKind = Literal["known", "unknown", "pooled"]
WhyUntested = Literal["no_ties", "unlike", "few_cases", "alike", "few_effective"]
GradeOrNone = Grade | Literal["none"]

PRIMARY: tuple[Measure, ...] = get_args(Primary)
# In the order in which groups are compared; the last two have no place in it.
GRADES: tuple[GradeOrNone, ...] = (*get_args(Grade), "none")


class Interval(Record):
    """From low to high, both included."""

    low: float
    high: float


class Rate(Record):
    """A share of people: `interval` is Wilson's, the ordinary one; None where there is nobody."""

    count: int
    of: int
    share: float | None
    interval: Interval | None
    on_graph: Interval | None


class DecisionCounts(Record):
    """People by decision: people = refused + favourable + undecided."""

    people: int
    refused: int
    favourable: int
    undecided: int
    audited: int
    not_audited: int
    adverse_rate: Rate


class Quartiles(Record):
    """The quartiles of a value over `of` people; None lies beyond every value that was found."""

    of: int
    first: float | None
    median: float | None
    third: float | None


class CostPoint(Record):
    """How many people have an option at this cost or less, and their share of all audited."""

    cost: float
    count: int
    share: float


class Outcomes(Record):
    """What the audit found: audited = verified + infeasible + not found + errors + disagreeing.

    `disagreeing` counts those whose decision on record is not the model's, for whom nothing was
    looked for. What divides people with or without an option further is None in a table in which a
    cell would have a few people.
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


class Gap(Record):
    """A group against the reference; without a test there is no p, and `untested` says why."""

    group: str
    reference: str
    interval: Interval | None
    p: float | None
    untested: WhyUntested | None


class JudgedGap(Gap):
    """A gap in a family of tests, in which Holm's method corrects for `corrected_for` of them.

    Plus is worse for the group. `verdict`, `worse`, `no_gap`, `stands` and `smallest_gap` (after
    the correction) are as in a `Comparison`; a gap outside all families has no verdict.
    """

    gap: float
    adjusted: float | None = None
    cautious_adjusted: float | None = None
    no_gap_adjusted: float | None = None
    corrected_for: int = 0
    effective: float | None
    smallest_gap: float | None = None
    verdict: Verdict | None = None
    worse: WorseOff | None = None
    no_gap: bool = False
    stands: bool = False


class Intervals(Record):
    """Two intervals of one figure."""

    ordinary: Interval | None
    on_graph: Interval | None


class GapIntervals(Record):
    """The intervals of a gap, as a difference and as a ratio."""

    difference: Intervals
    ratio: Intervals


class PValues(Record):
    """The p values of one gap.

    `adjusted` corrects for all `corrected_for` tests of the family. `cautious` allows for labels
    that follow ties more than most redrawn ones do. `no_gap` is the larger p value of two one-sided
    tests: that the gap against the group is as large as `concern`, and that against the reference.
    """

    ordinary: float | None
    on_graph: float | None
    adjusted: float | None = None
    corrected_for: int | None = None
    cautious: float | None = None
    cautious_adjusted: float | None = None
    no_gap: float | None
    no_gap_adjusted: float | None = None


class ByColumn(Record):
    """The same gap over the communities that a column names; `p` is None in too few of them.

    `leaving` is the share of all ties that lead out of a community. `decides` says whether its p
    value was taken: because few ties leave, or because it is the larger one.
    """

    communities: int
    leaving: float
    p: float | None
    decides: bool


class Precision(Record):
    """How far ties between people make a gap less sure.

    `inflation` is the variance over that of independent people, and `effective` the number of
    people over the inflation. `redrawn` (D) is how much larger squared gaps of redrawn labels are
    than their own variances say, and `fit` how far the observed labels clump unlike the redrawn
    ones (above 4: not tested). `sampled` people stand for all in the test where more than the
    report's `sample` are compared: the `error` is then larger than the true one.
    """

    error: float
    effective: float
    inflation: float
    redrawn: float
    fit: float
    redraws: int
    sampled: int | None
    by_column: ByColumn | None


class GapWithout(Record):
    """The gap without the people for whom the search stopped early; plus is worse for the group."""

    people: int
    reference_people: int
    gap: float
    interval: Interval | None
    p: float | None


class Comparison(Record):
    """A group against the reference group in one measure.

    `difference` is group minus reference: of two shares, or, for amounts, the chance that somebody
    of the group has more than somebody of the reference minus the chance of less. `gap` is the
    same, turned so that plus means *worse for the group*. `ratio` is that of the two shares, or the
    odds of more against less. `worse` is None without a gap that is shown. `no_gap` says whether a
    gap of `concern` or more is ruled out, against the group and against the reference, which can be
    so of a gap that is shown. `favourable_ratio` is of the group's share to the reference's;
    `below_four_fifths` says whether either of the two is so far below the other.
    `stands` says whether a gap that is shown would be by the cautious p values as well.
    `smallest_gap` would have been found four times in five by this test alone,
    `smallest_gap_in_family` after correction.
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
    smallest_gap_in_family: float | None = None
    favourable_ratio: float | None
    below_four_fifths: bool
    verdict: Verdict | None = None
    worse: WorseOff | None = None
    no_gap: bool = False
    stands: bool = False
    untested: WhyUntested | None


class OwnDataRates(Record):
    """Refused as decided, and on own data alone: with all of a person's own ties removed.

    Alone, `to_favourable` of the refused would be let in, and `to_refused` of the others would be
    refused. `difference` is the share refused as decided minus the share refused alone. `no_option`
    counts, of the refused with a result, those who would be let in alone and for whom no option
    exists: somebody whose search is unfinished is in `of`, not in `count`. `approved_alone` is the
    share refused as decided among those who would be let in alone.
    """

    refused: Rate
    refused_alone: Rate
    to_favourable: int
    to_refused: int
    difference: float | None
    approved_alone: Rate
    no_option: Rate | None


class OwnDataGap(JudgedGap):
    """A gap in refusals without ties, or in what comes with ties.

    `ties` is the gap in the paired difference between being refused as decided and alone.
    `given_alone` is that in being refused as decided, minus the share refused of everybody in the
    same tenth of answers on own data alone (and with the same values of `given` columns).
    """

    measure: OwnDataMeasure


class Estimate(Record):
    """A figure with its interval, from leaving out one part of the graph at a time."""

    value: float
    interval: Interval | None


class GroupTies(Record):
    """How far ties keep to one's own group, and tell it.

    `within` is the share of ties between people of one group, of all ties between people of known
    groups, and `by_chance` what it would be if ties led to anybody. `told` has, by group, the area
    under the curve of the share of a person's neighbours who are of it: the chance that it is
    larger for somebody of the group than for somebody of another one; 0.5 is chance.
    """

    within: Estimate
    by_chance: float
    told: dict[str, Estimate]


class CalibrationBin(Record):
    """People with a known outcome and a score from `low` to under `high`; the last has its end.

    `score` is their mean score, and `good` the share of them whose outcome is good.
    """

    low: float
    high: float
    score: float
    good: Rate


class GoodRefused(Record):
    """Refused and audited people whose outcome is good: how many of them have no option."""

    without_option: Rate
    certified_infeasible: Rate | None
    not_found_within_budget: Rate | None


class ErrorRates(Record):
    """How decisions on one group, or on everybody, turned out, beside their rates.

    `favourable_known` people with a favourable decision and `refused_known` refused ones have a
    known outcome; None where the rates that are about them are left out.
    """

    favourable_known: int | None
    refused_known: int | None
    good_refused: GoodRefused | None
    calibration: tuple[CalibrationBin, ...] | None


class ErrorRateTable(Record):
    """The groups of one attribute, or of two crossed."""

    table: str
    by_group: dict[str, ErrorRates]


class ErrorRateReport(Record):
    """How decisions turned out, of everybody and in the tables that can show it, beside rates.

    `favourable_known` of `favourable`, and `refused_known` of `refused` people have a known
    outcome; None where nothing is shown of anybody. `calibrated` says whose scores are compared
    with outcomes: everybody's with a decision, or, where the outcomes of fewer than 95 % of the
    refused are known, those of people with a favourable one; then no rate is about the refused.
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


class ActionGap(JudgedGap):
    """How much larger the share *not* served is in a group than in the reference.

    Its family has the gaps of all common actions and sets.
    """

    table: str


class ServedGroups(Record):
    """The people served: of everybody audited, and by table and group in tables that can show it.

    `everybody` is None where few people are served, or few of those with an option are not.
    """

    everybody: Rate | None
    by_group: dict[str, dict[str, Rate]]
    gaps: tuple[ActionGap, ...]


class ActionFigures(Record):
    """One action: whom it serves, to how many it applies, and what it costs those it serves.

    Of `not_settled` people to whom it applies it is not known whether it serves them; counts are
    None where a few people would be counted. `effort` is the median cost of those served.
    """

    action: CommonAction
    served: ServedGroups
    applies: int | None
    applies_by_group: dict[str, dict[str, int]]
    not_settled: int | None
    effort: float | None


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


class CommonActions(Record):
    """All common actions, and the smallest sets of them; `nothing` says why there are none."""

    actions: tuple[ActionFigures, ...]
    sets: tuple[ActionSet, ...]
    nothing: Literal["not_asked", "few_people"] | None
