"""All that was found about one subject, under the names that `explain --json` prints."""

from dataclasses import dataclass
from typing import Literal

from recourse_audit.records.base import Record
from recourse_audit.records.caveats import Caveat
from recourse_audit.records.model import NO_REPEATS, ProbeReport, Repeats, RuleName
from recourse_audit.records.own_data import OwnData
from recourse_audit.records.recourse import Recourse, RecourseStatus, WhatIf
from recourse_audit.records.search import (
    Carriers,
    Counterfactual,
    Explanation,
    FrontPair,
    ObjectiveGrid,
    SearchExtent,
    Tie,
)

NO_TIES = "This person has no ties to others in the graph, so the decision rests on no tie."
NO_TIE_MOVES = (
    "No tie that was tried moves the answer: whichever ties were removed, the model's answer "
    "stayed the same to six digits. So no tie is shown as one that the decision rests on."
)
FIRST_MOVES_NOTHING = (
    "Removing the ties of the first counterfactual does not measurably move the answer, so the "
    "decision does not rest on them. Some of the other pairs do move it."
)
TIES_DO_NOT_MATTER = "There is no explanation by ties: the model's answers do not change with them."


# 1: the first. 2: names as in docs/json.md; caveats name their counterfactual by number; probes
# hold their notes; every key is always there. 3: the rule that decides, its line and the scores it
# compares (`decision`, `score`); categories are text in actions; certificates say what was left
# out. 4: repeated calls of the model. 5: what counterfactuals do on the whole graph, and the ties
# that carry the decision there (`carriers`); own data alone (`own_data`); in which
# form one question can hold many what-ifs. 6: caveats are graded by the mean effect, with two more
# grades; effects say what is too small to speak of, and whether they depend on whom; what actions
# that are the same for everybody do for the subject (`recourse.common_actions`). 7: what removing
# each of the subject's own ties does on the whole graph (`carriers.own`).
FORMAT = 7


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Decision(Record):
    """What was decided on a subject, by the model's answer on the whole graph.

    Where the answer is not a number, `decision` and `probabilities` are empty; a score model has no
    probabilities.
    """

    id: str
    decision: str
    favourable: bool
    probabilities: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DecisionLine(Record):
    """How the decision was taken: the rule, what it compared with which line, and how far apart.

    `cut_off` is the line: the cut-off for this person, or, under a quota, the value of the last of
    the others who is let in. `score` is what is compared with it, the summed probability of the
    favourable classes or the score of a score model. Both are None where the likeliest class wins.
    `margin` is how far the score is on the favourable side, in its own units; without a line, the
    probability of the best favourable class minus that of the best other one. `better` is None
    for probabilities. Under a quota, `places` are given away, and the subject ranks at `rank`.
    `recorded` is the decision on record, if a column names it.
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
    def scored(self) -> bool:
        """Whether the model gives scores, which are no probabilities."""
        return self.better is not None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EgoNode(Record):
    """Somebody near a subject, and the decision on them: empty where the answer is not a number."""

    id: str
    hops: int
    decision: str
    favourable: bool


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EgoTie(Record):
    """The ties of one kind between two nodes; `count` of them, where parallel ties are allowed."""

    ends: Tie
    kind: str
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EgoNetwork(Record):
    """The nodes within some hops of a subject, nearest first, the subject included.

    `shown` of `total` nodes are listed: at most `limit`, unless the counterfactuals hold more. All
    nodes of the counterfactuals are among them. `ties` are those between the listed nodes.
    """

    nodes: tuple[EgoNode, ...]
    ties: tuple[EgoTie, ...]
    shown: int
    total: int
    hops: int
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SubjectReport(Record):
    """All that was found about one subject.

    `explanation` is that of the first counterfactual. `carriers` is None where there are no ties
    within reach, or where they were not searched for. `note` says why ties explain nothing, where
    they do not; `error` says what went wrong. `queries` counts every graph that the model was
    asked about for this subject, those that were asked twice included twice. Without any ties there
    is no ego network.
    """

    format: int
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
    caveats: tuple[Caveat, ...] = ()
    probes: ProbeReport
    what_if: WhatIf | None = None
    queries: int = 0
    repeats: Repeats = NO_REPEATS
    note: str = ""
    error: str = ""

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
        """What went wrong, if anything did."""
        if self.error or self.recourse is None:
            return self.error
        return self.recourse.reason if self.recourse.status == "error" else ""

    @property
    def moves_nothing(self) -> bool:
        """Whether no pair that was tried moves the answer at the resolution used."""
        return self.objective_grid is not None and self.objective_grid.relevance[1] == 0
