"""Rows of the store: one per person, and one per subject with the figures that fit into a row."""

from dataclasses import dataclass, fields
from types import NoneType
from typing import get_args, get_type_hints

from recourse_audit.records.base import Record
from recourse_audit.records.caveats import Caveat
from recourse_audit.records.report import SubjectReport
from recourse_audit.records.search import Counterfactual

DIGITS = 6
# (person's number, attribute, group); "" is unknown.
Member = tuple[int, str, str]
# (number of the block, some pairs of people who are tied: two 32-bit numbers each, low end first).
TieBlock = tuple[int, bytes]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Person(Record):
    """Anybody in the graph: what the model decided on them, and their community.

    Where the model's answer is not a number, `decision` is "" and `favourable` is None;
    `community` is None where communities are not known. `favourable_alone` is the model's decision
    with all of their own ties removed; None where that is not known. `outcome` says whether what
    came true later is good, None where that is not known, and `score` is what the rule goes by: the
    summed probability of the favourable classes, or the model's score.
    """

    number: int
    id: str
    decision: str
    favourable: bool | None
    community: int | None
    favourable_alone: bool | None
    outcome: bool | None
    score: float | None


Value = str | int | float | bool | None
ColumnType = type[str] | type[int] | type[float] | type[bool]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SummaryRow(Record):
    """The figures of one subject's report that fit into a row; None where there is none."""

    id: str
    decision: str
    favourable: bool
    status: str
    error: str
    note: str
    margin: float | None
    coverage: str | None
    subgraphs: int | None
    pairs: int | None
    queries: int
    calls_repeated: int
    calls_differed: int
    largest_difference: float
    answers_compared: int
    largest_deviation: float
    explanation_nodes: int | None
    removed_ties: int | None
    simulatability: float | None
    relevance: float | None
    signed_relevance: float | None
    caveat_grade: str | None
    options: int
    cheapest_cost: float | None
    cheapest_changes: int | None
    cheapest_held: int | None
    most_held: int | None
    tests: int | None
    tried: int | None
    possible: int | None
    exhaustive: bool | None
    evaluations: int | None
    favourable_alone: bool | None

    def values(self) -> tuple[Value, ...]:
        """The row's values, in the order of `COLUMNS`."""
        return tuple(getattr(self, name) for name in COLUMNS)


def _column_types() -> dict[str, ColumnType]:
    hints = get_type_hints(SummaryRow)
    found: dict[str, ColumnType] = {}
    for field in fields(SummaryRow):
        kinds = [kind for kind in get_args(hints[field.name]) if kind is not NoneType]
        found[field.name] = kinds[0] if kinds else hints[field.name]
    return found


COLUMNS = _column_types()


def summary_of(report: SubjectReport) -> SummaryRow:
    """The row of one subject."""
    search, recourse = report.search, report.recourse
    winner = report.counterfactuals[0] if report.counterfactuals else None
    cheapest = recourse.options[0] if recourse and recourse.options else None
    certificate = recourse.certificate if recourse else None
    held = [one.robustness for one in recourse.options if one.robustness] if recourse else []
    alone = report.own_data.alone if report.own_data else None
    return SummaryRow(
        id=report.subject.id,
        decision=report.subject.decision,
        favourable=report.subject.favourable,
        status=report.status,
        error=report.problem,
        note=report.note,
        margin=recourse.margin if recourse else None,
        coverage=search.coverage if search else None,
        subgraphs=search.subgraphs if search else None,
        pairs=search.pairs if search else None,
        queries=report.queries,
        calls_repeated=report.repeats.calls,
        calls_differed=report.repeats.differed,
        largest_difference=report.repeats.largest,
        answers_compared=recourse.compared.answers if recourse else 0,
        largest_deviation=recourse.compared.largest if recourse else 0.0,
        explanation_nodes=len(winner.explanation.nodes) if winner else None,
        removed_ties=len(winner.removed) if winner else None,
        simulatability=winner.simulatability if winner else None,
        relevance=winner.relevance if winner else None,
        signed_relevance=winner.signed_relevance if winner else None,
        caveat_grade=grade_of_winner(report.caveats),
        options=len(recourse.options) if recourse else 0,
        cheapest_cost=cheapest.cost if cheapest else None,
        cheapest_changes=len(cheapest.actions) if cheapest else None,
        cheapest_held=cheapest.robustness.held if cheapest and cheapest.robustness else None,
        most_held=max((one.held for one in held), default=None),
        tests=held[0].draws if held else None,
        tried=certificate.tried if certificate else None,
        possible=certificate.possible if certificate else None,
        exhaustive=certificate.exhaustive if certificate else None,
        evaluations=recourse.evaluations if recourse else None,
        favourable_alone=alone.favourable if alone and alone.decision else None,
    )


# What tables have besides the summary: how far removing the winner's ties moves the probability of
# the decision, or the score, in the explanation and on the whole graph.
WINNERS_EFFECTS: dict[str, ColumnType] = {
    "effect_in_explanation": float,
    "effect_on_whole_graph": float,
    "flips_on_whole_graph": bool,
}


def winners_effects(report: SubjectReport) -> tuple[Value, ...]:
    """The values of these columns; None where there is no winner, or the model was not asked."""
    if not report.counterfactuals:
        return (None, None, None)
    winner = report.counterfactuals[0]
    whole = winner.whole_graph
    return (
        _effect_inside(report, winner),
        None if whole is None else whole.effect,
        None if whole is None else whole.flips,
    )


def _effect_inside(report: SubjectReport, winner: Counterfactual) -> float | None:
    before: float | None
    after: float | None
    if report.decision.scored:
        before, after = winner.explanation.score, winner.score
    else:
        decided = report.subject.decision
        before = winner.explanation.probabilities.get(decided)
        after = winner.probabilities.get(decided)
    return None if before is None or after is None else round(after - before, DIGITS) + 0.0


def grade_of_winner(caveats: tuple[Caveat, ...]) -> str | None:
    """The grade of what confounds the first counterfactual; None if nothing was measured."""
    return next((one.grade for one in caveats if one.counterfactual == 1), None)
