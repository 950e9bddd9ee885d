"""The page of a subject: who may see what."""
# ruff: noqa: RUF001  # a page has dashes, minus signs and apostrophes of its own

import re
from dataclasses import replace

import networkx as nx
import pytest

from recourse_audit.records.codec import SUBJECT
from recourse_audit.records.recourse import (
    TieAction,
    WhatIf,
    forbid,
)
from recourse_audit.records.subject import (
    SubjectReport,
)
from recourse_audit.render.redaction import LEVELS, Level, redact
from tests.render.subject_pages import read, read_made
from tests.render.subject_reports import (
    made_report,
    own_carriers,
    whole_graph,
    with_first,
    with_recourse,
)

OTHERS = re.compile(r"P00\d[1-9]|P00[1-9]\d")
LARGEST_PAGE = 200_000
SPACE = "\N{NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"


@pytest.mark.parametrize("level", LEVELS)
def test_only_the_auditor_sees_other_peoples_ids(level: Level) -> None:
    report = own_carriers(made_report(nx.star_graph(20)), *(0.9 - n / 100 for n in range(20)))
    html = read(with_first(report, whole_graph=whole_graph(0.8)), level=level).html
    assert bool(OTHERS.search(html)) == (level == "auditor")


@pytest.mark.parametrize("level", LEVELS)
def test_only_the_auditor_sees_protected_attributes(level: Level) -> None:
    html = read_made(level, attribute="gender").html
    assert ("x-female" in html) == (level == "auditor")
    assert ("gender" in html.lower()) == (level == "auditor")
    assert level == "auditor" or "a protected attribute" in html.lower()


@pytest.mark.parametrize("level", LEVELS)
def test_only_the_auditor_reads_what_went_wrong(level: Level) -> None:
    html = read_made(level, error="row of P0007 is broken").html
    assert ("P0007" in html) == (level == "auditor")
    assert level == "auditor" or "the auditor’s copy says what" in html
    report = with_recourse(made_report(), status="error", error="P0002 is broken", options=())
    assert ("P0002 is broken" in read(report, level=level).html) == (level == "auditor")


def test_a_reviewer_meets_the_same_person_under_the_same_number_everywhere() -> None:
    page = read(own_carriers(made_report(), 0.85), level="reviewer")
    assert page.pairs[0].startswith("1 Guarantor tie person 1–person 2")
    assert page.ladder[-1][0] == "Guarantor tie: person 1 (approved)"
    assert "Removing person 1–person 2" in page.annex("Caveats in full")
    assert "the data of person 1" in page.annex("Caveats in full")
    assert page.options[1][1].startswith("End one guarantor tie (between person 1 and person 2)")
    people = page.column("People nearby, nearest first", "Person")
    assert people == ["P0000 (the subject)", "person 1", "person 2", "person 3"]


def test_the_subjects_copy_shows_nothing_of_ties_and_of_other_people() -> None:
    """Which way a single tie moves the answer tells how the person at its other end was decided."""
    made = with_first(own_carriers(made_report(), 0.85, 0.4), whole_graph=whole_graph(0.8))
    shown = redact(made, "subject")
    assert shown.carriers is not None
    assert shown.carriers.own == ()
    page = read(made, level="subject")
    assert page.ladder == [
        ["As decided, with all 2 ties", "0.100 refused"],
        ["Own data alone, without ties", "0.200 refused"],
    ]
    assert "left out of this copy" in page.section("What the decision rests on")
    assert page.pairs == []
    for title in ("The search", "Caveats", "The neighbourhood", "Sets of ties"):
        assert page.annex(title) == ""
    assert page.options[1][1] == "A change between other people"
    for words in (
        "counterfactual",
        "smallest set",
        "single tie leaves",
        "(approved)",
        "neighbourhood: ",
    ):
        assert words not in page.text()


def test_numbers_of_people_go_by_distance_from_the_subject() -> None:
    shown = redact(made_report(nx.star_graph(3)), "reviewer")
    assert shown.ego_network is not None
    names = [node.id for node in shown.ego_network.nodes]
    assert names == ["P0000", "person 1", "person 2", "person 3"]


def everything() -> SubjectReport:
    """A report in which every field that can name somebody does."""
    made = made_report(attribute="gender")
    changed = WhatIf(
        actions=(TieAction(do="drop", tie=("P0000", "P0002"), kind="guarantor"),),
        decision="approved",
        favourable=True,
        probabilities={"denied": 0.4, "approved": 0.6},
        margin_before=-0.8,
        margin=0.2,
        forbidden=(forbid("node_denied", node="P0002"),),
    )
    lost = replace(made.caveats[1], counterfactual=7, about="counterfactual 7")
    strange = replace(made.caveats[0], variables=("P0003",))
    return replace(
        made,
        baselines={"random": made.front[0]},
        caveats=(*made.caveats, lost, strange),
        what_if=changed,
        error="row of P0002 is broken",
    )


@pytest.mark.parametrize("level", LEVELS)
def test_no_field_of_a_redacted_report_names_anybody_else(level: Level) -> None:
    text = SUBJECT.write(redact(everything(), level, ["gender"]))
    assert bool(OTHERS.search(text)) == (level == "auditor")
    assert ("gender" in text) == (level == "auditor")
    assert ("person 1" in text) == (level == "reviewer")
    assert ("another person" in text) == (level == "subject")


def test_the_auditors_copy_is_the_report_with_its_text_made_plain() -> None:
    assert redact(everything(), "auditor", ["gender"]) == everything()
    hostile = made_report(name=lambda place: f"\x1b[2J{place}", kind="new\nline")
    shown = redact(hostile, "auditor")
    assert shown.subject.id == "\\x1b[2J0"
    assert shown.counterfactuals[0].removed == (("\\x1b[2J1", "\\x1b[2J2"),)
    assert "\\n" in SUBJECT.write(shown)
    assert not set(SUBJECT.write(shown)) & {"\x1b", "\n"}


def test_the_same_report_gives_the_same_page() -> None:
    assert read_made().html == read_made().html


@pytest.mark.parametrize("level", LEVELS)
def test_the_largest_page_is_small(level: Level) -> None:
    made = made_report(
        nx.complete_graph(60), name=lambda place: f"{place:04d}-{'customer-of-a-bank' * 2}"
    )
    assert made.objective_grid is not None
    full = tuple((cell, 123456) for cell in range(640))
    crowd = replace(
        made,
        objective_grid=replace(made.objective_grid, counts=full),
        counterfactuals=made.counterfactuals * 3,
        caveats=(*made.caveats, *made.caveats[1:] * 2),
    )
    assert len(read(crowd, level=level).html.encode()) < LARGEST_PAGE
