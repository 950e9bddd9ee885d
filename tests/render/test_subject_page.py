"""The report on a subject: what it says, to whom, and in which state of the report."""
# ruff: noqa: RUF001  # a page has dashes, minus signs and apostrophes of its own

import re
from dataclasses import replace
from typing import Any

import networkx as nx
import pytest

from recourse_audit.records.codec import SUBJECT
from recourse_audit.records.model import (
    Repeats,
)
from recourse_audit.records.recourse import (
    Action,
    Certificate,
    LeftOut,
    Permitted,
    Robustness,
    SetAction,
    SideEffects,
    TieAction,
    TogetherAction,
    WhatIf,
    forbid,
    survival,
)
from recourse_audit.records.search import Sample
from recourse_audit.records.subject import (
    Decision,
    DecisionLine,
    EgoTie,
    Grade,
    OwnColumn,
    OwnData,
    SubjectReport,
)
from recourse_audit.render.redaction import LEVELS, SOMEBODY, Level, redact
from tests.render.subject_pages import named, read, read_made
from tests.render.subject_reports import (
    PROBES,
    facts,
    made_report,
    option,
    own_carriers,
    own_data,
    whole_graph,
    with_first,
    with_recourse,
)

OTHERS = re.compile(r"P00\d[1-9]|P00[1-9]\d")
LARGEST_PAGE = 200_000
SPACE = "\N{NO-BREAK SPACE}"
ARROW = f"{SPACE}→ "
MINUS = "\N{MINUS SIGN}"
OWN = "Own data: one item at the median of the approved"
TIES = "Ties: without one of them"


# ------------------------------------------------------------------ the finding first


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


# ------------------------------------------------------------------ the ladder


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
    assert page.ladder[-1] == ["2 ties move the answer by less than 0.01 each"]
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
        ["2 items move the answer by less than 0.01 each: savings 0.101, housing"],
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


# ------------------------------------------------------------------ what could change it


def test_options_say_what_to_change_with_effort_before_and_after_and_how_they_held() -> None:
    page = read_made()
    section = page.section("What could change the decision: 2 options")
    save, drop = page.options
    assert save[:3] == [
        "1",
        "Raise savings from €100 to €600 Also better for P0003.",
        "Effort: 0.5",
    ]
    assert drop[1].startswith("End one guarantor tie (between P0001 and P0002)")
    assert drop[2] == "Effort: 1.0"
    assert save[3].startswith("0.700 0.200 past the cut-off")
    assert "Worked in 40 of 50 tests" in save[4]
    assert "[other ties: 48 of 50 (86.5% to 98.9%)] 48 of 50" in save[4]
    assert "other data" in save[4]
    assert "27 of 80 combinations of up to 3 permitted changes" in section
    assert "The model was queried 28 times on the neighbourhood" in section


def test_money_and_attributes_are_said_in_the_users_words() -> None:
    payment = {"end": ["stop a payment", "stop {count} payments"], "caution": "Check first."}
    words = named(loan_amount="loan", ties={"payment": payment, "address": {"end": "move out"}})
    actions: list[Action] = [
        SetAction(attribute="savings", before=4780.0, after=12280.0, unit="euros"),
        SetAction(attribute="loan_amount", before=13100.5, after=10600.0, unit="euros"),
        SetAction(attribute="job_kind", before="none", after="full time"),
        TieAction(do="drop", tie=("P0000", "P0001"), kind="payment"),
        TieAction(do="drop", tie=("P0002", "P0000"), kind="payment"),
        TieAction(do="drop", tie=("P0002", "P0001"), kind="payment"),
        TogetherAction(kind="address", ties=(("P0000", "P0001"), ("P0000", "P0003"))),
        TieAction(do="add", tie=("P0003", "P0000"), kind=""),
    ]
    report = with_recourse(made_report(), options=(option(actions, 1.0),))
    changes = read(report, words=words).texts(".//td[@class='changes']/ul/li")
    assert changes == [
        "Raise savings from €4,780 to €12,280",
        "Lower loan from €13,100.50 to €10,600",
        "Change job kind from ‘none’ to ‘full time’",
        "Stop 2 payments (with P0001 and P0002)Check first.",
        "Stop a payment (between P0002 and P0001)",
        "Move out (with P0001 and P0003)",
        "Add a tie (with P0003)",
    ]
    own = read(report, words=words, level="subject").texts(".//td[@class='changes']/ul/li")
    assert own[3:] == [
        "Stop 2 paymentsCheck first.",
        "A change between other people",
        "Move out",
        "Add a tie",
    ]


@pytest.mark.parametrize(
    ("held", "strength", "fragile"),
    [
        (50, "Worked in 50 of 50 tests", False),
        (26, "Worked in 26 of 50 tests", False),
        (25, "▲ Fragile: failed 25 of 50 tests", True),
        (0, "▲ Fragile: failed 50 of 50 tests", True),
    ],
)
def test_how_strong_an_option_is_goes_by_the_weaker_test(
    held: int, strength: str, fragile: bool
) -> None:
    tests = Robustness(draws=50, ties=survival(50, 50), attributes=survival(held, 50))
    page = read(with_recourse(made_report(), options=(option([], 1.0, robustness=tests),)))
    assert page.text(".//td[@class='held']/strong") == strength
    assert ("Decide on option 1: it failed " in page.clerk) is fragile


def test_an_option_that_was_not_tested_says_so() -> None:
    page = read(with_recourse(made_report(), options=(option([], 1.0, robustness=None),)))
    assert page.options[0][4].endswith("not tested")
    assert page.lead.endswith("1 option would change the decision.")


def test_an_option_says_if_it_is_not_confirmed_or_not_on_the_whole_graph_or_not_minimal() -> None:
    def remarks(**changes: Any) -> list[str]:
        report = with_recourse(made_report(), options=(option([], 1.0, **changes),))
        return read(report).texts(".//span[@class='cell-line attention']")

    assert remarks() == []
    assert remarks(verified=False) == ["NOT confirmed by the model"]
    assert remarks(verified_on="neighbourhood")[0].startswith("confirmed on the neighbourhood")
    assert remarks(minimal=False) == ["a part of it may suffice"]


@pytest.mark.parametrize(
    ("effects", "sentence", "row"),
    [
        (SideEffects(measured=True), "No option changes anyone else’s decision.", ""),
        (SideEffects(measured=False), "was not measured for all of them.", ""),
        (
            SideEffects(measured=True, to_favourable=("P0003",), to_unfavourable=("P0002",)),
            "Some options change other people’s decisions; the table says whose.",
            "Also better for P0003. Worse for P0002.",
        ),
    ],
)
def test_whose_other_decisions_options_change_is_said(
    effects: SideEffects, sentence: str, row: str
) -> None:
    report = with_recourse(made_report(), options=(option([], 1.0, side_effects=effects),))
    page = read(report)
    assert sentence in page.text()
    assert page.options[0][1] == row
    assert read(report, level="subject").options[0][1] == ""


STATES: dict[str, tuple[dict[str, Any], str, str]] = {
    "none exists": (
        {
            "status": "certified_infeasible",
            "certificate": Certificate(
                max_changes=3, tried=3860, possible=3860, exhaustive=True, complete_up_to=3
            ),
        },
        "What could change the decision: nothing within the limits",
        (
            "No option exists within the limits: all 3,860 combinations of up to 3 "
            "permitted changes "
            "were tried."
        ),
    ),
    "none exists, some ruled out": (
        {
            "status": "certified_infeasible",
            "certificate": Certificate(
                max_changes=2,
                tried=30,
                possible=40,
                exhaustive=True,
                complete_up_to=2,
                left_out=LeftOut(conditions=10, by_condition={"income <= 1000": 10}),
            ),
        },
        "What could change the decision: nothing within the limits",
        "of 40 combinations of up to 2 permitted changes 30 were tried, the other 10 are ruled out",
    ),
    "nothing permitted": (
        {"status": "certified_infeasible", "certificate": Certificate(max_changes=3, denied=4)},
        "What could change the decision: nothing within the limits",
        (
            "There was nothing to try: the policy permits this person no change. Never suggested: "
            "4 ties of protected kinds."
        ),
    ),
    "not decided": (
        {
            "status": "not_found_within_budget",
            "certificate": Certificate(
                max_changes=3,
                tried=4899,
                possible=5198,
                complete_up_to=2,
                permitted=Permitted(drop=12, add=1, set={"loan_amount": 4}),
            ),
        },
        "What could change the decision: search unfinished",
        (
            "No option found yet: 4,899 of 5,198 combinations of up to 3 permitted changes were "
            "tried before the search stopped. There may be one. All combinations of up to 2 "
            "changes were covered. Permitted: 12 ties to end, 1 tie to add and loan amount (4 "
            "levels)."
        ),
    ),
    "favourable": (
        {"status": "already_favourable", "certificate": Certificate(max_changes=3)},
        "Nothing needs to change",
        "The decision is favourable already.",
    ),
    "disagrees": (
        {"status": "model_disagrees", "certificate": Certificate(max_changes=3)},
        "No option was looked for",
        "The record says approved, the model decides refused.",
    ),
    "failed": (
        {"status": "error", "certificate": Certificate(max_changes=3), "error": "no memory"},
        "Options could not be determined",
        "The search for options failed:",
    ),
}


@pytest.mark.parametrize("state", STATES)
def test_every_state_without_an_option_says_why_and_how_far_was_looked(state: str) -> None:
    changes, heading, words = STATES[state]
    line = DecisionLine(rule="argmax", margin=-0.8, recorded="approved")
    report = with_recourse(replace(made_report(), decision=line), options=(), **changes)
    page = read(report)
    section = page.section(heading)
    for sentence in re.split(r"(?<=\.) ", words):
        assert sentence in section
    assert page.options == []
    searched = changes["status"] in ("certified_infeasible", "not_found_within_budget")
    assert bool(page.clerk) is searched
    assert '<table class="options"' not in page.html


def test_what_rules_out_combinations_and_what_went_wrong_is_quoted_in_english() -> None:
    changes, _, _ = STATES["none exists, some ruled out"]
    html = read(with_recourse(made_report(), options=(), **changes)).html
    assert '<span lang="en">income &lt;= 1000</span> would not hold after 10 combinations.' in html
    failed, _, _ = STATES["failed"]
    html = read(with_recourse(made_report(), options=(), **failed)).html
    assert '<span lang="en">no memory</span>' in html


def test_before_signing_the_clerk_learns_whom_not_to_name_and_what_not_to_say() -> None:
    clerk = read_made().clerk
    assert (
        "The letter does not name P0001 and P0002. Check with data protection before you say which "
        "tie is meant."
    ) in clerk
    assert "offers to give them on request" in clerk
    assert "Do not promise approval." in clerk
    assert "The letter does not name person 1 and person 2." in read_made("reviewer").clerk
    assert read_made("subject").clerk == ""
    stopped, _, _ = STATES["not decided"]
    clerk = read(with_recourse(made_report(), options=(), **stopped)).clerk
    assert "The search is unfinished: the letter must not say that there is no option." in clerk


@pytest.mark.parametrize("alone", ["denied", "approved"])
@pytest.mark.parametrize("state", ["none exists", "not decided"])
def test_a_review_is_offered_where_own_data_would_be_approved_and_no_option_is_known(
    alone: str, state: str
) -> None:
    own = own_data()
    assert own.alone is not None
    own = replace(own, alone=replace(own.alone, decision=alone, favourable=alone == "approved"))
    changes, _, _ = STATES[state]
    page = read(with_recourse(made_report(own_data=own), options=(), **changes))
    assert ("Offer a review by a person" in page.clerk) is (alone == "approved")
    assert "Offer a review" not in read(made_report(own_data=own)).clerk


# ------------------------------------------------------------------ counterfactuals


def test_a_counterfactual_is_a_row_with_both_moves_and_what_it_shows() -> None:
    page = read(with_first(made_report(), whole_graph=whole_graph(0.8)))
    [pair] = page.pairs
    assert pair.startswith("1 Guarantor tie P0001–P0002 [The explanation as a small graph.")
    assert "Removed: P0001–P0002. Kept: P0000–P0001." in pair
    assert f"[In the explanation: 0.150{ARROW}0.600]" in pair
    assert f"[On the whole graph: 0.100{ARROW}0.200]" in pair
    assert pair.endswith(
        "Still refused. Counts against P0000. Reverses the explanation’s answer, not the "
        "decision. With other people’s data in place of those of P0000 and P0001, the effect "
        "weakens (clear in 51 of 60 tests). It depends on whose data they are."
    )


@pytest.mark.parametrize(
    ("after", "counts"),
    [
        (0.95, "Still refused. Counts for P0000."),
        (0.6, "Still refused. Counts against P0000."),
        (0.9, "Removing it changes nothing (0.100 either way)."),
    ],
)
def test_what_a_counterfactual_shows_goes_by_the_whole_graph(after: float, counts: str) -> None:
    [pair] = read(with_first(made_report(), whole_graph=whole_graph(after))).pairs
    assert counts in pair
    assert ("Counts" in pair) is ("Counts" in counts)


def test_an_explanation_that_answers_otherwise_reproduces_the_decision_poorly() -> None:
    made = made_report()
    first = made.counterfactuals[0].explanation
    poor = replace(first, probabilities={"denied": 0.1, "approved": 0.9})
    said = "The explanation alone answers approved, so it reproduces the decision poorly."
    for explanation, expected in ((poor, True), (first, False)):
        [pair] = read(with_first(made, explanation=explanation)).pairs
        assert (said in pair) is expected


def test_how_many_counterfactuals_change_the_decision_is_the_finding() -> None:
    made = made_report()
    for found, finding in (
        (whole_graph(0.4), ": 1 changes the decision on the whole graph"),
        (whole_graph(0.6), ": none changes the decision on the whole graph"),
        (None, ""),
    ):
        page = read(with_recourse(with_first(made, whole_graph=found), options=()))
        heading = f"Counterfactuals from the search{finding}"
        assert heading in page.texts(".//h2")
        assert ("not queried" in page.pairs[0]) is (found is None)


# ------------------------------------------------------------------ the neighbourhood


def test_the_neighbourhood_is_counted_by_distance() -> None:
    near = read_made(graph=nx.star_graph(4)).annex("The neighbourhood")
    assert near.startswith("The neighbourhood: direct ties 2 approved, 2 refused")
    tree = nx.star_graph([0, 2, 4, 6])
    tree.add_edge(2, 1)
    near = read_made(graph=tree).annex("The neighbourhood")
    assert near.startswith("The neighbourhood: direct ties 3 refused; 2 ties away 1 approved")
    assert "2 ties away 1 [2 ties away: 1 approved] 1 approved" in near


def test_of_many_people_the_page_says_whom_it_lists() -> None:
    page = read_made(graph=nx.path_graph(60), total=4321)
    assert "4,321 people are within 59 ties" in page.text()
    assert "60 of them are listed: everyone in an explanation, then the nearest." in page.text()
    assert len(page.column("People nearby, nearest first", "Person")) == 60
    assert "are listed" not in read_made().text()
    people = read_made().column("People nearby, nearest first", "Person")
    assert people == ["P0000 (the subject)", "P0001", "P0002", "P0003"]


# ------------------------------------------------------------------ states without ties


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


# ------------------------------------------------------------------ the annex


def test_the_annex_has_ranks_layer_and_what_a_counterfactual_dominates() -> None:
    page = read_made()
    table = "Counterfactuals by both objectives"
    assert page.column(table, "Ranks ν + |μ|") == ["19 + 3"]
    assert page.column(table, "Layer") == ["1"]
    assert page.column(table, "Dominates") == ["127 of 148 and the baseline random"]
    assert page.column(table, "Removed") == ["P0001–P0002"]
    assert page.column(table, "Simulatability ν") == [f"{MINUS}0.006957"]
    assert page.column(table, "Relevance |μ|") == ["0.521894"]
    assert page.column("Probability of each class", "Explanation 1") == ["0.850", "0.150"]


def test_a_sampled_search_says_how_much_it_saw() -> None:
    made = made_report()
    assert made.search is not None
    sample = Sample(drawn=1000, of=123456, of_is_estimate=True, bound=0.0123, confidence=0.95)
    changed = replace(made, search=replace(made.search, coverage="sampled", sample=sample))
    search = read(changed).annex("The search")
    assert "1,000 of about 123,456 subgraphs" in search
    assert "95% confidence" in search
    assert "1.2%" in search


def test_everything_needed_to_repeat_the_audit_is_on_the_page() -> None:
    page = read_made()
    assert page.html.count("0123456789abcdef" * 4) == 4
    assert "all 45 subgraphs of up to 4 people, within 2 ties" in page.text()
    assert "100 in total, including 46 for the search and 28 for options" in page.text()
    assert "seed 7, 100 queries" in page.text()


def test_evidence_is_closed_on_a_screen() -> None:
    html = read_made().html
    assert html.count("<details>") == 6
    assert "<details open" not in html


def test_a_caveat_is_told_in_full_with_its_figures_and_its_computation_drawn() -> None:
    caveats = read_made().annex("Caveats in full")
    general, confounded = caveats.split("Counterfactual 1")
    assert "Every counterfactual" in general
    assert "not its only or true cause" in general
    assert "[" not in general
    for words in (
        "the effect weakens",
        f"Removing P0001–P0002 moves the probability of refused by {MINUS}0.315",
        f"the move is {MINUS}0.116 on average (95% interval {MINUS}0.145 to {MINUS}0.087)",
        (
            "exceeds 0.010 in the same direction in 51 of 60 draws, in the opposite direction in "
            "3 of 60, and in neither in 6 of 60."
        ),
        "Confounders: the data of P0000 and the data of P0001.",
    ):
        assert words in confounded


def test_a_grade_says_where_it_depends_on_whom_and_only_there() -> None:
    general, confounded = made_report().caveats
    assert confounded.effect is not None
    always = replace(confounded, effect=replace(confounded.effect, depends_on_whom=False))
    for caveats, expected in (((general, confounded), True), ((general, always), False)):
        html = read_made(caveats=caveats).html
        assert '<span class="grade">the effect weakens</span>' in html
        assert ('<span class="grade">depends on whom</span>' in html) == expected


@pytest.mark.parametrize(
    ("grade", "words"),
    [
        ("holds", "the effect holds"),
        ("weakens", "the effect weakens"),
        ("no_effect", "no effect to speak of"),
        ("reverses", "the effect reverses"),
        ("not_settled", "whether it holds is not settled"),
    ],
)
def test_a_page_has_the_words_of_its_own_grade_only(grade: Grade, words: str) -> None:
    general, confounded = made_report().caveats
    html = read_made(caveats=(general, replace(confounded, grade=grade))).html
    assert re.findall('<span class="grade">(?!depends)(.*?)</span>', html) == [words]


def test_a_roll_out_is_drawn_only_where_it_agrees_with_the_audit_and_can_be_read() -> None:
    general, confounded = made_report().caveats
    drawn = "The model’s computation on the explanation, layer by layer"
    assert drawn in read_made().text()
    directed = read_made(caveats=(general, replace(confounded, variables=("P0001",)))).text()
    assert drawn not in directed
    assert "messages travel one way" in directed
    large = read_made(probes=replace(PROBES, depth=9)).text()
    assert drawn not in large
    assert "a picture has room for 12 people and 6 layers" in large


def test_failed_probes_are_in_the_first_lines_and_counted_in_the_annex() -> None:
    broken = replace(PROBES, tie_order=False, notes={"tie_order": {}})
    page = read_made(probes=broken)
    said = "Answers depend on the order in which ties are listed"
    assert page.html.index(said) < page.html.index("What the decision rests on")
    assert "4 of 5 passed" in page.annex("Model checks")
    assert said not in read_made().html
    assert "5 of 5 passed" in read_made().annex("Model checks")


def test_notes_of_probes_are_put_into_words() -> None:
    probes = replace(PROBES, depth=3).with_note("declared", declared=2, used=3)
    probes = probes.with_repeats(Repeats(calls=1234, differed=2, largest=0.25))
    probes = probes.with_repeats(Repeats(calls=1, differed=1, largest=0.5), "whole_graph")
    whole, again, depth = read_made(probes=probes).texts(".//div[@role='note']")
    assert "asked twice about the decisions on the whole graph" in whole
    assert "of 1,234 calls that were repeated, 2 got another answer (by up to 0.25)" in again
    assert "declare a depth of 2, which is not what was measured" in depth


# ------------------------------------------------------------------ who may see what


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
    assert (SOMEBODY in text) == (level == "subject")


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
