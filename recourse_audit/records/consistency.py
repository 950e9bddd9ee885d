"""Whether the parts of a subject's document fit together, beyond the type of each.

A document that somebody changed may be well formed and yet speak of people or classes that it does
not list. Whoever draws or words a report relies on what is checked here.
"""

from collections.abc import Iterable, Iterator

from recourse_audit.errors import DocumentError
from recourse_audit.records.own_data import OwnData
from recourse_audit.records.report import EgoNetwork, SubjectReport
from recourse_audit.records.search import (
    Carriers,
    CarryingSet,
    Counterfactual,
    Explanation,
    ObjectiveGrid,
    Tie,
    WholeGraph,
)

# Figures are rounded to six digits.
ROUNDING = 2e-6


def check_consistent(report: SubjectReport) -> SubjectReport:
    """The same report; what does not fit together is a `DocumentError`."""
    for problem in _problems(report):
        raise DocumentError(f"this subject document was changed: {problem}")
    return report


def _problems(report: SubjectReport) -> Iterator[str]:
    listed: set[str] | None = None
    if report.ego_network is not None:
        listed = {node.id for node in report.ego_network.nodes}
        yield from _of_ego_network(report.ego_network, listed, report.subject.id)
    for number, found in enumerate(report.counterfactuals, start=1):
        wrong = _of_counterfactual(found, report, listed)
        yield from (f"counterfactual {number}: {problem}" for problem in wrong)
    if report.carriers is not None:
        yield from _of_carriers(report.carriers, report)
    if report.objective_grid is not None:
        yield from _of_grid(report.objective_grid)
    yield from _of_answers(report)
    if report.own_data is not None:
        yield from _of_own_data(report.own_data)


def _of_answers(report: SubjectReport) -> Iterator[str]:
    """Every decision has the probability of its class, or the score of a score model."""
    scored, subject = report.decision.scored, report.subject
    answered = [(subject.decision, subject.probabilities, report.decision.score)]
    for option in () if report.recourse is None else report.recourse.options:
        answered.append((option.decision, option.probabilities, option.score))
    if report.what_if is not None:
        tried = report.what_if
        answered.append((tried.decision, tried.probabilities, tried.score))
    for decision, chances, score in answered:
        if decision and not scored and decision not in chances:
            yield f"there is no probability of {decision!r}"
        if decision and scored and score is None:
            yield f"there is no score behind {decision!r}"


def _of_own_data(found: OwnData) -> Iterator[str]:
    if found.alone is not None and bool(found.alone.decision) != (found.alone.value is not None):
        yield "the decision on own data alone has no value, or a value no decision"


def _of_ego_network(found: EgoNetwork, listed: set[str], subject: str) -> Iterator[str]:
    if len(listed) != len(found.nodes):
        yield "the ego network lists somebody twice"
    if subject not in listed:
        yield "the ego network lacks the subject"
    yield from _strangers((tie.ends for tie in found.ties), listed, "the ego network")


def _of_counterfactual(
    found: Counterfactual, report: SubjectReport, listed: set[str] | None
) -> Iterator[str]:
    explanation = found.explanation
    nodes = {*explanation.nodes}
    yield from _strangers(explanation.edges, nodes, "the explanation")
    if not nodes <= (nodes if listed is None else listed):
        yield "the ego network lacks somebody of the explanation"
    if {*found.removed, *found.kept} != {*explanation.edges}:
        yield "what is removed and kept is not the explanation"
    if not _connected(explanation, report.subject.id):
        yield "the explanation does not hang together around the subject"
    classes = report.subject.probabilities.keys()
    if found.probabilities.keys() != classes or explanation.probabilities.keys() != classes:
        yield "its probabilities are of other classes"
    if report.decision.scored and None in (found.score, explanation.score):
        yield "it has no score"
    if found.whole_graph is not None:
        yield from _of_whole_graph(found.whole_graph, report)


def _of_whole_graph(found: WholeGraph | CarryingSet, report: SubjectReport) -> Iterator[str]:
    """Its figures are of the same classes, and say what its effect and its flip say."""
    subject, scored = report.subject, report.decision.scored
    if found.probabilities.keys() != subject.probabilities.keys():
        yield "the whole graph's probabilities are of other classes"
        return
    before, after = report.decision.score, found.score
    if not scored:
        if not {subject.decision, found.decision} <= found.probabilities.keys():
            yield f"there is no probability of {found.decision!r} on the whole graph"
            return
        before = subject.probabilities[subject.decision]
        after = found.probabilities[subject.decision]
    if before is None or after is None:
        yield "there is no score on the whole graph"
    elif not abs(after - before - found.effect) <= ROUNDING * (1 + abs(before)):
        yield "the effect on the whole graph is not what its answers say"
    if found.flips != (found.decision != subject.decision):
        yield "whether the decision changes on the whole graph is not what it says"


def _of_carriers(found: Carriers, report: SubjectReport) -> Iterator[str]:
    sizes = [one.size for one in found.front]
    if sizes != sorted({*sizes}) or any(not 1 <= size <= found.max_ties for size in sizes):
        yield "the sets that carry the decision are not one of each size, smallest first"
    flips = () if found.smallest_flip is None else (found.smallest_flip,)
    if any(one.size != 1 for one in found.own) or len(found.own) > found.own_ties:
        yield "the subject's own ties are not listed one by one"
    for one in (*found.front, *flips, *found.own):
        if one.size != len({frozenset(tie) for tie in one.removed}):
            yield "a set that carries the decision is of another size"
        yield from _of_whole_graph(one, report)
    if flips and not flips[0].flips:
        yield "the smallest set that changes the decision does not change it"


def _strangers(ties: Iterable[Tie], known: set[str], whose: str) -> Iterator[str]:
    for tie in ties:
        if not known.issuperset(tie):
            yield f"{whose} has a tie of somebody whom it does not list"
            return


def _connected(explanation: Explanation, subject: str) -> bool:
    """Whether all ties can be walked from the subject, and lead to all nodes."""
    reached, waiting = {subject}, [*explanation.edges]
    while waiting:
        left = [tie for tie in waiting if reached.isdisjoint(tie)]
        if len(left) == len(waiting):
            return False
        reached.update(end for tie in waiting if not reached.isdisjoint(tie) for end in tie)
        waiting = left
    return reached == {*explanation.nodes}


def _of_grid(grid: ObjectiveGrid) -> Iterator[str]:
    cells = grid.rows * grid.columns
    if grid.rows < 1 or grid.columns < 1 or any(not 0 <= cell < cells for cell, _ in grid.counts):
        yield "the grid of objectives has a cell outside of it"
