"""A subject's document that is well formed and contradicts itself is refused, and no other is."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from recourse_audit.errors import DocumentError
from recourse_audit.records.consistency import check_consistent
from recourse_audit.records.report import EgoTie, SubjectReport
from tests.render.subject_reports import made_report

REPORT = made_report()


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


def nodes() -> Any:
    assert REPORT.ego_network is not None
    return REPORT.ego_network.nodes


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
    assert check_consistent(REPORT) is REPORT
