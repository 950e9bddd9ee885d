"""A subject's document that is well formed and contradicts itself is refused, and no other is."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from recourse_audit.errors import DocumentError
from recourse_audit.records.search import Carriers, CarryingSet, SetsTried, WholeGraph
from recourse_audit.records.subject import EgoTie, SubjectReport, check_consistent
from tests.render.subject_reports import made_report

REPORT = made_report()
WHOLE = WholeGraph(
    probabilities={"denied": 0.7, "approved": 0.3},
    effect=-0.2,
    decision="denied",
    favourable=False,
    flips=False,
)


def with_ego(**changes: Any) -> SubjectReport:
    assert REPORT.ego_network is not None
    return replace(REPORT, ego_network=replace(REPORT.ego_network, **changes))


def with_first(**changes: Any) -> SubjectReport:
    return replace(REPORT, counterfactuals=(replace(REPORT.counterfactuals[0], **changes),))


def with_explanation(**changes: Any) -> SubjectReport:
    return with_first(explanation=replace(REPORT.counterfactuals[0].explanation, **changes))


def with_option(**changes: Any) -> SubjectReport:
    assert REPORT.recourse is not None
    options = (replace(REPORT.recourse.options[0], **changes),)
    return replace(REPORT, recourse=replace(REPORT.recourse, options=options))


def with_whole(**changes: Any) -> SubjectReport:
    return with_first(whole_graph=replace(WHOLE, **changes))


def carrying(**changes: Any) -> CarryingSet:
    chances = {"denied": 0.7, "approved": 0.3}
    made = CarryingSet(
        removed=(("P0000", "P0001"),),
        size=1,
        probabilities=chances,
        effect=-0.2,
        decision="denied",
        favourable=False,
        flips=False,
    )
    return replace(made, **changes)


def with_carriers(**changes: Any) -> SubjectReport:
    return replace(REPORT, carriers=replace(CARRIERS, **changes))


def nodes() -> Any:
    assert REPORT.ego_network is not None
    return REPORT.ego_network.nodes


CARRIERS = Carriers(
    front=(carrying(),),
    smallest_flip=None,
    own=(carrying(),),
    own_ties=1,
    ties_in_reach=3,
    max_ties=3,
    coverage="beam",
    tried=(SetsTried(size=1, tried=1, of=3, own_tried=1, own_of=1),),
)
SPOILT: dict[str, tuple[Callable[[], SubjectReport], str]] = {
    "a tie of a stranger": (
        lambda: with_ego(ties=(EgoTie(ends=("P0062", REPORT.subject.id), kind="x"),)),
        "the ego network has a tie of somebody whom it does not list",
    ),
    "somebody twice": (lambda: with_ego(nodes=(*nodes(), nodes()[0])), "lists somebody twice"),
    "nobody": (lambda: with_ego(nodes=(), ties=()), "the ego network lacks the subject"),
    "a node too few": (
        lambda: with_explanation(nodes=REPORT.counterfactuals[0].explanation.nodes[:-1]),
        "counterfactual 1: the explanation has a tie of somebody",
    ),
    "nothing removed": (lambda: with_first(removed=()), "what is removed and kept is not"),
    "other classes": (lambda: with_first(probabilities={"x": 1.0}), "are of other classes"),
    "no such decision": (lambda: with_option(decision="x"), "there is no probability of 'x'"),
    "no such decision on the subject": (
        lambda: replace(REPORT, subject=replace(REPORT.subject, decision="x")),
        "there is no probability of 'x'",
    ),
    "another effect": (
        lambda: with_whole(effect=-0.1),
        "the effect on the whole graph is not what its answers say",
    ),
    "classes of another model": (
        lambda: with_whole(probabilities={"x": 1.0}),
        "the whole graph's probabilities are of other classes",
    ),
    "a decision that is no class": (
        lambda: with_whole(decision="x", flips=True),
        "there is no probability of 'x' on the whole graph",
    ),
    "a flip that is none": (
        lambda: with_whole(flips=True),
        "whether the decision changes on the whole graph is not what it says",
    ),
    "a set of another size": (
        lambda: with_carriers(front=(carrying(size=2),)),
        "a set that carries the decision is of another size",
    ),
    "two own ties as one": (
        lambda: with_carriers(own=(carrying(), carrying())),
        "the subject's own ties are not listed one by one",
    ),
    "a size twice": (
        lambda: with_carriers(front=(carrying(), carrying())),
        "the sets that carry the decision are not one of each size, smallest first",
    ),
    "a size too large": (
        lambda: with_carriers(max_ties=0),
        "the sets that carry the decision are not one of each size, smallest first",
    ),
    "a set with another effect": (
        lambda: with_carriers(front=(carrying(effect=0.5),)),
        "the effect on the whole graph is not what its answers say",
    ),
    "a flip that changes nothing": (
        lambda: with_carriers(smallest_flip=carrying()),
        "the smallest set that changes the decision does not change it",
    ),
    "a cell outside": (
        lambda: replace(REPORT, objective_grid=_grid_outside()),
        "the grid of objectives has a cell outside of it",
    ),
}


def _grid_outside() -> Any:
    grid = REPORT.objective_grid
    assert grid is not None
    return replace(grid, counts=((grid.rows * grid.columns, 1),))


@pytest.mark.parametrize("name", SPOILT)
def test_what_contradicts_itself_is_refused(name: str) -> None:
    spoil, words = SPOILT[name]
    with pytest.raises(DocumentError, match="this subject document was changed: ") as error:
        check_consistent(spoil())
    assert words in str(error.value)


def test_ties_that_do_not_lead_to_the_subject_are_refused() -> None:
    [found] = REPORT.counterfactuals
    far = found.explanation.edges[-1]
    apart = replace(found.explanation, edges=(far,), nodes=far)
    report = with_first(explanation=apart, removed=(far,), kept=())
    with pytest.raises(DocumentError, match="does not hang together around the subject"):
        check_consistent(report)


def test_a_report_that_fits_together_is_taken() -> None:
    for report in (REPORT, with_whole(), with_carriers()):
        assert check_consistent(report) is report
