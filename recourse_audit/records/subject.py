"""All that was found about one subject, under the names that `explain --json` prints.

What a decision rests on, caveats and stability, and the report itself.
"""

from typing import Literal

from recourse_audit.records import Record, Sparse
from recourse_audit.records.model import NO_REPEATS, ProbeReport, Repeats, RuleName
from recourse_audit.records.recourse import Part, Recourse, RecourseStatus, WhatIf
from recourse_audit.records.search import (
    Carriers,
    Counterfactual,
    Explanation,
    FrontPair,
    ObjectiveGrid,
    SearchExtent,
    StudyCase,
    Tie,
    WholeGraph,
)

# Why something was not asked: the model's answers are random; an answer depends on who else is
# asked about, and the graph is too large to ask about the whole of it for each person.
NotAlone = Literal["", "random_answers", "depends_on_others"]
# The same for own columns: the graph is too large to be asked about for each column; there are so
# many columns that none says much; the model answers for one person per query, so that it is not
# known who else is decided on favourably.
NoColumns = Literal[
    "", "random_answers", "too_large", "too_many_columns", "other_answers_not_known"
]
# Why one column has no answer: nobody with a favourable decision has a value; the column decides
# which cut-off applies; what follows from the columns has no value; the answer is not a number.
NoColumnAnswer = Literal["", "no_reference", "moves_cut_off", "no_features", "not_a_number"]


class AnswerAlone(Record):
    """What the model answers about a subject all of whose own ties are removed; loops stay.

    `value` is what the rule compares: the summed probability of the favourable classes, or a score.
    Where the answer is not a number it is None, and `decision` and `probabilities` are empty.
    """

    decision: str
    favourable: bool
    probabilities: dict[str, float]
    value: float | None = None


class OwnColumn(Record):
    """One of the subject's own columns, as the user knows it, and what another value would do.

    `reference` is the median (of two middle values the lower), or the most frequent category, of
    the people whom the model decides on favourably, or of everybody, or as the settings give it.
    `percentile` is the percentage of all people decided on with a lower value, those with an equal
    one counting half. `answer` is the model's on the whole graph with this column at the reference
    and everything else as it is; `moves` is how far that is towards a favourable decision, in
    log-odds or units of the score.
    """

    name: str
    value: float | str | None
    unit: str = ""
    reference: float | str | None = None
    percentile: float | None = None
    answer: WholeGraph | None = None
    moves: float | None = None
    reason: NoColumnAnswer = ""


class OwnTies(Record):
    """All of the subject's ties of one kind, and what the model answers without any of them."""

    kind: str
    count: int
    answer: WholeGraph | None = None
    moves: float | None = None


class OwnPair(Record):
    """Two columns or kinds of ties at once: columns at their references, ties removed."""

    parts: tuple[Part, Part]
    answer: WholeGraph
    moves: float


class OwnData(Record):
    """What the decision rests on: the answer on own data alone, by own column, by kind of tie.

    `reason` says why the answer alone was not asked, `columns_reason` why no column has an answer
    or why none is listed. `distance` is how far the answer is from the cut-off, in log-odds or
    units of the score, below 0 if it is on the favourable side. `pairs` are asked about where no
    single column or kind of tie changes the decision; the farthest come first.
    """

    alone: AnswerAlone | None = None
    reason: NotAlone = ""
    distance: float | None = None
    columns: tuple[OwnColumn, ...] = ()
    columns_reason: NoColumns = ""
    ties: tuple[OwnTies, ...] = ()
    pairs: tuple[OwnPair, ...] = ()

    @property
    def parts(self) -> dict[Part, OwnColumn | OwnTies]:
        """Columns, then kinds of ties, by the part of the decision that they are."""
        columns = {Part(what="column", name=column.name): column for column in self.columns}
        return {**columns, **{Part(what="ties", name=ties.kind): ties for ties in self.ties}}


class ReasonCandidate(Record):
    """A column or a kind of tie that counts against the subject, for a person to confirm.

    Without it (the column at its reference, all ties of the kind removed) the answer `moves` so far
    towards a favourable decision, which is a `share` of its distance to the cut-off. `fixed`: no
    change that the policy permits moves it noticeably. `proxy` is the protected attribute that the
    column is or gives away.
    """

    part: Part
    moves: float
    share: float
    fixed: bool
    proxy: str = ""


# Why nobody is compared with a subject: the decision was favourable, or is not on record; answers
# are random, or not known on own data of everybody; `explain` asked about this person alone, so it
# is not known who was approved; the answer on own data is not a number.
NoComparators = Literal[
    "",
    "favourable",
    "no_decision",
    "random_answers",
    "depends_on_others",
    "other_answers_not_known",
    "not_a_number",
]


class ComparatorColumn(Record):
    """An own column that people are compared by, with the caliper of a declared one, or None.

    `direction` says which values are better, if that is declared.
    """

    name: str
    unit: str = ""
    caliper: float | None = None
    direction: Literal["higher", "lower"] | None = None


class ComparedPerson(Record):
    """The subject, or somebody approved: groups, own columns, ties by kind, and answers.

    `alone` and `score` are what the rule compares, without ties and with them. Of the people among
    the `neighbours`, so many are `favourable`. `distance` is Gower's from the subject over all
    columns; without any, how far apart the answers alone are.
    """

    id: str
    decision: str
    groups: dict[str, str]
    alone: float
    score: float | None
    columns: dict[str, float | str | None]
    ties: dict[str, int]
    neighbours: int
    favourable: int
    distance: float


class ComparatorSet(Record):
    """The nearest approved people outside the subject's group of an attribute, and inside it.

    The latter are the control. Of all who are no better, `others_of` and `own_of`, some were
    approved. Where no attribute is protected, `attribute` is empty and `others` are of everybody;
    nobody is listed where the subject's `group` is not known.
    """

    attribute: str
    group: str
    others: tuple[str, ...]
    others_approved: int
    others_of: int
    own: tuple[str, ...]
    own_approved: int
    own_of: int


class Comparators(Record):
    """Approved people whose answer on own data is no better than that of a refused subject.

    It is worse by at most `caliper`, and on declared columns they are no better and within their
    calipers. `people` has everybody of the sets, in the order of the graph; `reason` says why
    nobody was looked for.
    """

    reason: NoComparators = ""
    caliper: float | None = None
    columns: tuple[ComparatorColumn, ...] = ()
    subject: ComparedPerson | None = None
    people: tuple[ComparedPerson, ...] = ()
    sets: tuple[ComparatorSet, ...] = ()


# Each further than the one before from the effect as it is; what is not settled is nowhere.
Grade = Literal["holds", "weakens", "no_effect", "reverses", "not_settled"]

# What a caveat says: its grade, unless the move is too small as it is, or was not measured.
CaveatText = Grade | Literal["general", "unknown_reach", "too_small", "unmeasured"]


class AdjustedEffect(Record):
    """What removing a part does to the probability of the decision, confounders drawn or not.

    `adjusted` is the mean over draws of the confounders' features, `low` to `high` its interval. A
    move of up to `smallest` is no effect to speak of. `agreeing` is the share of draws with a
    larger move the same way, `negligible` the share with no larger move; `depends_on_whom` where
    the mean does not speak for nine draws in ten.
    """

    unadjusted: float
    adjusted: float
    low: float
    high: float
    smallest: float
    agreeing: float
    negligible: float
    depends_on_whom: bool
    draws: int
    grade: Grade


class Caveat(Record):
    """What must be said beside a finding, as a code, and what it is about.

    `counterfactual` is its number, the first being 1; None if it is about all of them.
    """

    kind: Literal["general", "confounders", "unknown_reach"]
    grade: Grade | None
    counterfactual: int | None
    about: str
    text: CaveatText
    variables: tuple[str, ...] = ()
    effect: AdjustedEffect | None = None


class StabilityRow(Record):
    """How far the answer on one subject, and what explains it, moved under one perturbation.

    Distances are Jaccard distances; None where there was nothing to compare.
    """

    subject: str
    perturbation: str
    strength: float
    changed: bool
    explanation: float | None
    options: float | None


class StabilityPoint(Record):
    """Means over some rows of about the same strength."""

    strength: float
    explanation: float
    options: float | None
    rows: int


class StabilityReport(Record):
    """How stable the findings are: every row, and curves for changed and unchanged decisions.

    `unanswered` are subjects whom the model gave no number.
    """

    format: Literal[1] = 1
    kind: Literal["links", "models"]
    subjects: int
    unanswered: tuple[str, ...]
    rows: tuple[StabilityRow, ...]
    changed: tuple[StabilityPoint, ...]
    unchanged: tuple[StabilityPoint, ...]


# Why ties explain nothing: there are none; whichever were removed, the answer stayed the same;
# those of the first counterfactual leave it as it is, though others move it; the model's answers
# do not change with ties at all.
Note = Literal["", "no_ties", "no_tie_moves", "first_moves_nothing", "ties_do_not_matter"]


class Decision(Record):
    """What was decided on a subject; empty where the model's answer is not a number.

    A score model has no probabilities.
    """

    id: str
    decision: str
    favourable: bool
    probabilities: dict[str, float]


class DecisionLine(Record):
    """How the decision was taken: the rule, what it compared with which cut-off, how far apart.

    `cut_off` is that for this person, or, under a quota, the value of the last of the others who is
    let in. `score` is what is compared with it, the summed probability of the favourable classes or
    the score of a score model. Both are None where the likeliest class wins. `margin` is how far
    the score is on the favourable side, in its own units; without a cut-off, the probability of the
    best favourable class minus that of the best other one. `better` is None for probabilities.
    Under a quota, `places` are given away, and the subject ranks at `rank`. `recorded` is the
    decision on record, if a column names it.
    """

    rule: RuleName
    cut_off: float | None = None
    score: float | None = None
    margin: float | None = None
    better: Literal["higher", "lower"] | None = None
    places: int | None = None
    rank: int | None = None
    recorded: str | None = None

    @property
    def has_score(self) -> bool:
        """Whether the model gives scores, which are no probabilities."""
        return self.better is not None


class EgoNode(Record):
    """Somebody near a subject, and the decision on them: empty where the answer is not a number.

    `kind` is that of a node that nobody decides on, such as an employer; people have none.
    """

    id: str
    hops: int
    decision: str
    favourable: bool
    kind: Sparse[str] = ""


class EgoTie(Record):
    """The ties of one kind between two nodes; `count` of them, where parallel ties are allowed.

    `directed` ties are of a relation between nodes of one kind, and lead to the second end.
    """

    ends: Tie
    kind: str
    count: int = 1
    directed: Sparse[bool] = False


class EgoNetwork(Record):
    """The nodes within some hops of a subject, nearest first, the subject included.

    `shown` of `total` nodes are listed, with the ties between them: at most `limit`, unless the
    counterfactuals hold more, whose nodes all are.
    """

    nodes: tuple[EgoNode, ...]
    ties: tuple[EgoTie, ...]
    shown: int
    total: int
    hops: int
    limit: int


class SubjectReport(Record):
    """All that was found about one subject.

    `explanation` is that of the first counterfactual. `carriers` is None where there are no ties
    within reach, or where they were not searched for. `note` says why ties explain nothing; `error`
    says what went wrong. `queries` counts every graph that the model was asked about for this
    subject, those asked twice included twice. `reasons` are candidates of which a person may state
    any, at most four, the strongest first. Without any ties there is no ego network. `kinds` are
    those of the nodes in a graph of several kinds, the subject's first. `study_cases` are there if
    `search.study` is on and the search scored enough: high simulatability, then low.
    """

    format: Literal[11] = 11
    subject: Decision
    decision: DecisionLine
    search: SearchExtent | None = None
    explanation: Explanation | None = None
    counterfactuals: tuple[Counterfactual, ...] = ()
    front: tuple[FrontPair, ...] = ()
    front_size: int = 0
    carriers: Carriers | None = None
    baselines: dict[str, FrontPair]
    objective_grid: ObjectiveGrid | None = None
    ego_network: EgoNetwork | None = None
    own_data: OwnData | None = None
    recourse: Recourse | None = None
    reasons: tuple[ReasonCandidate, ...] = ()
    comparators: Sparse[Comparators | None] = None
    caveats: tuple[Caveat, ...] = ()
    probes: ProbeReport
    what_if: WhatIf | None = None
    queries: int = 0
    repeats: Repeats = NO_REPEATS
    note: Note = ""
    error: str = ""
    kinds: Sparse[tuple[str, ...]] = ()
    study_cases: Sparse[tuple[StudyCase, ...]] = ()

    def __repr__(self) -> str:
        options = 0 if self.recourse is None else len(self.recourse.options)
        return (
            f"SubjectReport({self.subject.id!r}: {self.subject.decision or 'no decision'}, "
            f"{self.status}, {len(self.counterfactuals)} counterfactuals, {options} options)"
        )

    @property
    def status(self) -> RecourseStatus:
        """The status of the recourse, or `error` if anything at all went wrong."""
        return "error" if self.error or self.recourse is None else self.recourse.status

    @property
    def problem(self) -> str:
        if self.error or self.recourse is None:
            return self.error
        return self.recourse.error

    def kind_of(self, node: str) -> str:
        """The kind of a node that nobody decides on; empty for a person."""
        near, kind = self.ego_network, node.partition(":")[0]
        for listed in near.nodes if near is not None and self.kinds else ():
            if listed.id == node:
                return listed.kind
        return kind if kind in self.kinds[1:] else ""

    @property
    def moves_nothing(self) -> bool:
        """Whether no pair that was tried moves the answer at the resolution used."""
        return self.objective_grid is not None and self.objective_grid.relevance[1] == 0
