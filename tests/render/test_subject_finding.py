"""The page of a subject: what was decided, own data, and what single changes do."""
# ruff: noqa: RUF001  # a page has dashes, minus signs and apostrophes of its own

from dataclasses import replace
from typing import Any

import networkx as nx
import pytest

from recourse_audit.records.recourse import (
    TogetherAction,
)
from recourse_audit.records.subject import (
    Decision,
    DecisionLine,
    EgoTie,
    OwnColumn,
    OwnData,
)
from recourse_audit.render.redaction import LEVELS, Level
from tests.render.subject_pages import read, read_made
from tests.render.subject_reports import (
    facts,
    made_report,
    option,
    own_carriers,
    own_data,
    whole_graph,
    with_first,
    with_recourse,
)

SPACE = "\N{NO-BREAK SPACE}"
ARROW = f"{SPACE}→ "
MINUS = "\N{MINUS SIGN}"
OWN = "Own data: one item at the median of the approved"
TIES = "Ties: without one of them"


@pytest.mark.parametrize(
    ("alone", "title"),
    [
        ("approved", "P0000: refused. On their own data alone, the model would approve."),
        ("denied", "P0000: refused. On their own data alone, the model would decide the same."),
        ("later", "P0000: refused. On their own data alone, the model would decide: ‘later’."),
        ("", "P0000: refused."),
    ],
)
def test_the_title_is_the_decision_and_what_own_data_alone_give(alone: str, title: str) -> None:
    made = made_report()
    assert made.own_data is not None
    assert made.own_data.alone is not None
    changed = replace(made.own_data.alone, decision=alone, favourable=alone == "approved")
    page = read(replace(made, own_data=replace(made.own_data, alone=changed)))
    assert page.title == title
    assert page.text(".//title") == f"{title} – report"


def test_nothing_is_said_of_own_data_that_was_not_asked_about() -> None:
    for own in (None, OwnData()):
        page = read_made(own_data=own)
        assert page.title == "P0000: refused."
        assert "own data alone" not in page.html.lower()


def test_the_lead_says_where_the_person_stands_without_ties_and_what_holds() -> None:
    assert read_made().lead == (
        "Approval probability 0.100; approval needs more than 0.500. With all ties removed: 0.200. "
        "2 options would change the decision. The most reliable worked in 40 of 50 tests."
    )
    counted = read(own_carriers(made_report(), 0.85, 0.7))
    assert (
        "With all 2 ties removed: 0.200. Removing any single tie leaves it refused." in counted.lead
    )
    flipped = read(own_carriers(made_report(), 0.85, 0.4))
    assert "Removing one particular tie changes the decision." in flipped.lead
    partly = own_carriers(made_report(), 0.85, 0.7)
    assert partly.carriers is not None
    more = replace(partly, carriers=replace(partly.carriers, own_ties=3))
    assert "single tie" not in read(more).lead


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            {"rule": "cut_off", "cut_off": 0.65, "score": 0.1},
            "Approval probability 0.100; approval needs at least 0.650.",
        ),
        (
            {"rule": "cut_off", "cut_off": 620.0, "score": 534.52, "better": "higher"},
            "Score 534.5; favourable from 620.0 on.",
        ),
        (
            {"rule": "cut_off_by", "cut_off": 3.0, "score": 4.5, "better": "lower"},
            "Score 4.50; favourable up to 3.00.",
        ),
        (
            {"rule": "quota", "cut_off": 0.71, "score": 0.1, "places": 200, "rank": 231},
            (
                "200 places go to the best; approval probability: 0.100, rank 231. The last of "
                "those let in has 0.710."
            ),
        ),
    ],
)
def test_the_lead_says_the_rule_and_where_the_person_stands(
    line: dict[str, Any], words: str
) -> None:
    assert read_made(decision=DecisionLine(**line)).lead.startswith(words)


def test_several_classes_are_compared_by_their_lead() -> None:
    classes = ("denied", "pending", "approved")
    page = read(made_report(classes=classes), facts(classes))
    assert page.lead.startswith(f"Lead of the favourable classes over the others: {MINUS}0.850;")
    assert page.ladder[0][1].startswith(f"{MINUS}0.850")
    assert page.options[0][3].startswith("0.000")


def test_under_a_quota_no_copy_for_the_subject_shows_the_cut_off() -> None:
    line = DecisionLine(rule="quota", cut_off=0.71, score=0.1, margin=-0.61, places=5, rank=7)
    for level in LEVELS:
        html = read_made(level, decision=line).html
        assert ("0.710" in html) == (level != "subject")
        # The option reaches 0.700 and says by how much: together they would tell the cut-off.
        assert ("0.010 short of the cut-off" in html) == (level != "subject")


def test_the_record_is_said_where_it_differs_and_only_there() -> None:
    said = "The record says approved; the model decides refused."
    for recorded, expected in (("approved", True), ("denied", False), (None, False)):
        line = DecisionLine(rule="argmax", margin=-0.8, recorded=recorded)
        assert (said in read_made(decision=line).lead) is expected


def test_only_the_auditor_reads_the_groups_and_whose_copy_it_is_stands_first() -> None:
    about = ".//p[@class='about']"
    assert read_made().text(about) == (
        "P0000 · x-female · auditor’s copy, shows other people’s data: do not send"
    )
    assert "reviewer’s copy" in read_made("reviewer").text(about)
    assert "x-female" not in read_made("reviewer").html


def test_links_to_the_neighbours_of_the_index_are_there_if_given() -> None:
    html = read(made_report(), previous="000001.html", next="000003.html").html
    assert 'href="000001.html"' in html
    assert 'href="000003.html"' in html
    assert "Previous" not in read_made().html


def test_people_with_a_page_are_linked_wherever_they_are_named() -> None:
    together = TogetherAction(kind="address", ties=(("P0000", "P0001"), ("P0002", "P0000")))
    made = with_recourse(made_report(), options=(option([together], 1.0),))
    page = read(own_carriers(made, 0.7), people={"P0001": "000001-P0001.html"})
    link = '<a href="000001-P0001.html">P0001</a>'
    assert f"End all address ties (with {link} and P0002)" in page.html
    assert f"Guarantor tie: {link} (approved)" in page.html
    assert f'<th scope="row">{link}</th>' in page.html
    assert "000001" not in read(made).html


def test_the_ladder_has_the_decision_own_data_and_every_own_tie_on_one_axis() -> None:
    page = read(own_carriers(made_report(nx.star_graph(3)), 0.85, 0.95, 0.4))
    assert page.ladder == [
        ["As decided, with all 3 ties", "0.100 refused"],
        ["Own data alone, without ties", "0.200 refused"],
        [TIES],
        ["Guarantor tie: P0003 (approved)", "0.600 up 0.500, then approved"],
        ["Guarantor tie: P0001 (approved)", "0.150 up 0.050, still refused"],
        ["Guarantor tie: P0002 (refused)", "0.050 down 0.050, still refused"],
    ]
    section = page.section("What the decision rests on")
    assert f"[Guarantor tie: P0003 (approved): 0.100{ARROW}0.600]" in section
    assert "Effects do not add up" in section
    assert "did not necessarily cause it" in section
    assert page.html.index("What the decision rests on") < page.html.index("What could change")


def test_the_eight_largest_moves_are_drawn_and_the_rest_is_in_the_annex() -> None:
    afters = [0.9 - place / 50 for place in range(1, 12)]
    page = read(own_carriers(made_report(nx.star_graph(11)), *reversed(afters)))
    assert len(page.ladder) == 2 + 1 + 8
    assert "3 more ties, all with smaller effects: see Evidence." in page.text()
    assert len(page.column("Own ties with smaller effects", "Removed")) == 3


def test_what_moves_nothing_is_one_row() -> None:
    page = read(own_carriers(made_report(nx.star_graph(3)), 0.9000001, 0.895, 0.4))
    assert page.ladder[-1] == ["2 single ties move the answer by less than 0.01 each"]
    assert len(page.ladder) == 2 + 1 + 1 + 1
    assert len(page.column("Own ties with smaller effects", "Removed")) == 2


INCOME = OwnColumn(name="income", value=28100.0, unit="euros", reference=34500.0, percentile=32.0)
COLUMNS = (
    replace(INCOME, answer=whole_graph(0.85)),
    OwnColumn(name="late", value=1.0, reference=0.0, percentile=72.0, answer=whole_graph(0.4)),
    OwnColumn(name="savings", value=5.0, reference=6.0, percentile=50.0, answer=whole_graph(0.899)),
    OwnColumn(name="housing", value="rent", reference="own_flat", answer=whole_graph(0.9)),
    OwnColumn(name="age", value=None, reference=40.0),
)


def test_own_data_stand_beside_the_approved_and_among_all() -> None:
    page = read(made_report(own_data=own_data(columns=COLUMNS)))
    income, late, savings, housing, age = page.columns
    assert (
        income
        == "Income €28,100 approved median €34,500 [lower than 68% of all] lower than 68% of all"
    )
    assert late.endswith("higher than 72% of all")
    assert savings.endswith("higher than 50% of all")
    assert housing == "Housing ‘rent’ most of the approved ‘own_flat’"
    assert age == "Age no value approved median 40"


def test_own_columns_and_single_ties_are_on_one_ladder() -> None:
    made = own_carriers(made_report(own_data=own_data(columns=COLUMNS)), 0.7)
    page = read(made)
    assert page.ladder[2:] == [
        [OWN],
        ["Late 1 → 0", "0.600 up 0.500, then approved"],
        ["Income €28,100 → €34,500", "0.150 up 0.050, still refused"],
        ["2 more items move the answer by less than 0.01 each: savings (→ 0.101), housing"],
        [TIES],
        ["Guarantor tie: P0001 (approved)", "0.300 up 0.200, still refused"],
    ]
    assert page.text(".//p[@class='command']/code") == (
        "recourse-audit explain audit.toml P0000 --what-if late=0"
    )
    assert read(made, level="reviewer").text(".//p[@class='command']") == ""
    reason = own_data(columns=(INCOME,), columns_reason="too_large")
    page = read(made_report(own_data=reason))
    assert OWN not in page.text()
    assert "the graph is too large" in page.section("What the decision rests on")


@pytest.mark.parametrize("level", LEVELS)
def test_protected_columns_are_the_auditors(level: Level) -> None:
    gender = OwnColumn(name="gender", value="x-female", reference="x-male")
    page = read(made_report(own_data=own_data(columns=(INCOME, gender))), level=level)
    assert len(page.columns) == (2 if level == "auditor" else 1)
    assert ("x-male" in page.html) == (level == "auditor")


def test_where_single_ties_were_not_asked_about_the_page_says_so() -> None:
    made = own_carriers(made_report(), 0.85, 0.7)
    assert made.carriers is not None
    silent = replace(made, carriers=replace(made.carriers, own=()))
    assert "was not queried in this audit" in read(silent).text()
    assert "was not queried in this audit" not in read(made).text()


def test_parallel_ties_of_the_subject_are_named_by_every_kind() -> None:
    made = own_carriers(made_report(), 0.85)
    assert made.ego_network is not None
    ties = (
        EgoTie(ends=("P0001", "P0000"), kind="payment", count=2),
        EgoTie(ends=("P0000", "P0001"), kind="guarantor"),
    )
    page = read(replace(made, ego_network=replace(made.ego_network, ties=ties)))
    assert page.ladder[-1][0] == "Payment ties ×2 and guarantor tie: P0001 (approved)"


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_the_ladder_of_a_score_names_its_two_sides(better: Any) -> None:
    made = made_report()
    line = DecisionLine(rule="cut_off", cut_off=620.0, score=600.0, margin=-20.0, better=better)
    subject = replace(made.subject, probabilities={})
    page = read(replace(made, subject=subject, decision=line, own_data=None, counterfactuals=()))
    [row] = page.ladder
    assert row[1] == "600.0 refused"
    sides = ("refused", f"approved (≥{SPACE}620.0)")
    if better == "lower":
        sides = (f"approved (≤{SPACE}620.0)", "refused")
    assert " | ".join(sides) in page.html


@pytest.mark.parametrize(
    ("note", "words"),
    [
        ("no_ties", "This person has no ties to others in the graph"),
        ("no_tie_moves", "No tie that was tried moves the answer"),
        ("first_moves_nothing", "does not measurably move the answer"),
        ("ties_do_not_matter", "the model’s answers do not change with them"),
    ],
)
def test_why_ties_explain_nothing_is_said_in_the_words_of_the_page(note: str, words: str) -> None:
    page = read_made(note=note)
    assert words in page.section("What the decision rests on")
    assert '<span lang="en">' not in page.html


def test_a_subject_without_ties_has_a_title_that_says_so_and_no_pictures_of_others() -> None:
    page = read_made(
        search=None,
        counterfactuals=(),
        front=(),
        front_size=0,
        objective_grid=None,
        ego_network=None,
        caveats=(),
        note="no_ties",
    )
    assert page.title == (
        "P0000: refused. P0000 has no ties; the decision rests on their own data alone."
    )
    assert "removed" not in page.lead
    assert page.annex("The neighbourhood") == ""
    assert "ounterfactual" not in page.text()


def test_a_report_without_anything_to_draw_still_becomes_a_page() -> None:
    bare = with_recourse(made_report(ego_network=None, objective_grid=None), droppable=())
    page = read(bare)
    assert page.annex("The neighbourhood") == ""
    assert "P0001–P0002" in page.html


def test_a_subject_whom_the_model_gave_no_number_becomes_a_page() -> None:
    page = read_made(
        subject=Decision(id="P0000", decision="", favourable=False, probabilities={}),
        search=None,
        counterfactuals=(),
        front=(),
        objective_grid=None,
        ego_network=None,
        own_data=None,
        recourse=None,
        caveats=(),
        error="the model gave NaN for P0007",
    )
    assert page.title == "P0000: the model gave no answer."
    assert page.lead == "The model gave no usable answer for this person."
    assert page.ladder == []
    assert '<span lang="en">the model gave NaN for P0007</span>' in page.html


def test_a_favourable_decision_needs_no_option_and_no_letter() -> None:
    good = Decision(
        id="P0000",
        decision="approved",
        favourable=True,
        probabilities={"denied": 0.2, "approved": 0.8},
    )
    page = read(with_recourse(made_report(subject=good), status="already_favourable", options=()))
    assert page.title.startswith("P0000: approved.")
    assert page.clerk == ""
    assert "The decision is favourable already." in page.text()


def test_where_no_tie_moves_the_answer_the_page_shows_no_explanation() -> None:
    made = with_first(made_report(), relevance=0.0, signed_relevance=0.0)
    assert made.objective_grid is not None
    still = replace(made, objective_grid=replace(made.objective_grid, relevance=(0.0, 0.0)))
    page = read(replace(still, note="no_tie_moves"))
    assert "No tie that was tried" in page.section("What the decision rests on")
    assert page.pairs == []
    assert page.annex("Caveats") == ""
    assert "Removing these ties changes" not in page.html
