"""The page of a subject: what could change the decision, and what a clerk minds."""
# ruff: noqa: RUF001  # a page has dashes, minus signs and apostrophes of its own

import re
from dataclasses import replace
from typing import Any

import pytest

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
    survival,
)
from recourse_audit.records.subject import (
    DecisionLine,
)
from tests.render.subject_pages import named, read, read_made
from tests.render.subject_reports import (
    made_report,
    option,
    own_data,
    with_recourse,
)

SPACE = "\N{NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"


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
    assert ("Decide on option 1. It failed " in page.clerk) is fragile


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


def test_why_a_search_with_options_stopped_is_said_once_and_with_what_was_covered() -> None:
    stopped = Certificate(max_changes=3, tried=162, possible=1900, complete_up_to=2)
    enough = replace(stopped, reason="enough_options")
    text = read(with_recourse(made_report(), certificate=enough)).text()
    assert (
        "All combinations of up to 2 changes are covered; the search stopped there, after 162 of "
        "1,900 combinations: it had enough options, and none of the rest could be easier than the "
        "easiest."
    ) in text
    assert "were not" not in text
    assert "were covered" not in text
    text = read(with_recourse(made_report(), certificate=stopped)).text()
    assert (
        "162 of 1,900 combinations of up to 3 permitted changes were tried before the search "
        "stopped; 1,738 were not. All combinations of up to 2 changes were covered."
    ) in text


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
    assert "a reason that you add to letters/reasons.csv needs a note." in clerk
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
