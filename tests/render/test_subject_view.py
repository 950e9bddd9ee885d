"""The report on a subject: what it says, to whom, and in which state of the report."""
# ruff: noqa: RUF001  # a page has dashes, minus signs and apostrophes of its own

import re
from dataclasses import asdict, replace
from typing import Any

import networkx as nx
import pytest

from recourse_audit.records.caveats import Grade
from recourse_audit.records.codec import SUBJECT
from recourse_audit.records.model import (
    NOTES,
    Repeats,
)
from recourse_audit.records.own_data import OwnData
from recourse_audit.records.recourse import (
    Action,
    Certificate,
    LeftOut,
    Permitted,
    Robustness,
    SetAction,
    SideEffects,
    TieAction,
    WhatIf,
    survival,
)
from recourse_audit.records.report import (
    FIRST_MOVES_NOTHING,
    NO_TIE_MOVES,
    NO_TIES,
    TIES_DO_NOT_MATTER,
    Decision,
    DecisionLine,
    EgoTie,
    SubjectReport,
)
from recourse_audit.records.search import Sample
from recourse_audit.render.page_words import PageWords
from recourse_audit.render.pages.redaction import LEVELS, SOMEBODY, Level, redacted
from recourse_audit.render.pages.subject import SubjectView, subject_view
from recourse_audit.render.pages.subject_recourse import OptionRow
from recourse_audit.render.pages.tables import AuditFacts, Table
from recourse_audit.render.templates import Templates
from tests.render.subject_reports import (
    PROBES,
    carrying,
    facts,
    made_report,
    option,
    own_carriers,
    whole_graph,
    with_first,
    with_recourse,
)

OTHERS = re.compile(r"P00\d[1-9]|P00[1-9]\d")
LARGEST_PAGE = 200_000
SPACE = "\N{NO-BREAK SPACE}"
ARROW = f"{SPACE}→ "
MINUS = "\N{MINUS SIGN}"


def viewed(level: Level = "auditor", **changes: Any) -> SubjectView:
    return subject_view(
        made_report(**changes), facts(), level=level, members={"gender": "x-female"}
    )


def seen(report: SubjectReport, **how: Any) -> SubjectView:
    return subject_view(report, facts(), **how)


def page(view: SubjectView) -> str:
    return Templates().render("pages/subject.html", view=view).replace("&#39;", "'")


def options_of(view: SubjectView) -> tuple[OptionRow, ...]:
    assert view.recourse is not None
    return view.recourse.options


def said_of_recourse(view: SubjectView) -> str:
    assert view.recourse is not None
    return " ".join(one.text for one in (*view.recourse.sentences, *view.recourse.tried))


def column(table: Table | None, heading: str) -> list[tuple[str, ...]]:
    assert table is not None
    place = [one.heading for one in table.columns].index(heading)
    return [row[place] for row in table.rows]


# ------------------------------------------------------------------ the finding first


@pytest.mark.parametrize(
    ("alone", "title"),
    [
        ("approved", "P0000: denied. On own data alone the model would decide approved."),
        ("denied", "P0000: denied. On own data alone the model would decide the same."),
        ("", "P0000: denied."),
    ],
)
def test_the_title_is_the_decision_and_what_own_data_alone_give(alone: str, title: str) -> None:
    made = made_report()
    assert made.own_data is not None
    assert made.own_data.alone is not None
    changed = replace(made.own_data.alone, decision=alone, favourable=alone == "approved")
    view = seen(replace(made, own_data=replace(made.own_data, alone=changed)))
    assert view.title == title
    assert f'<h1 class="title">{title}</h1>' in page(view)


def test_nothing_is_said_of_own_data_that_was_not_asked_about() -> None:
    for own in (None, OwnData()):
        view = viewed(own_data=own)
        assert view.title == "P0000: denied."
        assert "own data alone" not in page(view).lower()


def test_the_lead_says_where_the_person_stands_without_ties_and_what_holds() -> None:
    assert viewed().lead == (
        "Probability of approved: 0.100; the model decides approved above 0.500. Without any ties "
        "it is 0.200. 2 options change the decision; the strongest still works in 40 of 50 tests "
        "with other data."
    )
    counted = seen(own_carriers(made_report(), 0.85, 0.7))
    assert "Without any of the 2 ties it is 0.200. No single tie decides it." in counted.lead
    flipped = seen(own_carriers(made_report(), 0.85, 0.4))
    assert "Without one particular tie the decision would be another." in flipped.lead
    partly = own_carriers(made_report(), 0.85, 0.7)
    assert partly.carriers is not None
    more = replace(partly, carriers=replace(partly.carriers, own_ties=3))
    assert "single tie" not in seen(more).lead


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            {"rule": "cut_off", "cut_off": 0.65, "score": 0.1},
            "Probability of approved: 0.100; the line is 0.650.",
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
                "200 places go to the best; probability of approved: 0.100, rank 231. The last of "
                "those let in has 0.710."
            ),
        ),
    ],
)
def test_the_lead_says_the_rule_and_where_the_person_stands(
    line: dict[str, Any], words: str
) -> None:
    view = viewed(decision=DecisionLine(**line))
    assert view.lead.startswith(words)


def test_several_classes_are_compared_by_their_lead() -> None:
    classes = ("denied", "pending", "approved")
    made = made_report(classes=classes)
    view = subject_view(made, facts(classes))
    assert view.lead.startswith(f"Lead of the favourable classes over the others: {MINUS}0.850;")
    assert view.ladder.chart is not None
    assert view.ladder.chart.rows[0].figure == f"{MINUS}0.850"
    assert options_of(view)[0].figure == f"{MINUS}0.850{ARROW}0.000"


def test_under_a_quota_no_copy_for_the_subject_shows_the_line() -> None:
    line = DecisionLine(rule="quota", cut_off=0.71, score=0.1, margin=-0.61, places=5, rank=7)
    for level in LEVELS:
        html = page(viewed(level, decision=line))
        assert ("0.710" in html) == (level != "subject")
        # The option reaches 0.700 and says by how much: together they would tell the line.
        assert (f"(0.710 {MINUS} 0.010)" in html) == (level != "subject")


def test_the_record_is_said_where_it_differs_and_only_there() -> None:
    said = "The record says approved; the model decides denied."
    for recorded, expected in (("approved", True), ("denied", False), (None, False)):
        line = DecisionLine(rule="argmax", margin=-0.8, recorded=recorded)
        assert (said in viewed(decision=line).lead) is expected


def test_only_the_auditor_reads_the_groups_and_whose_copy_it_is_stands_first() -> None:
    assert viewed().about == (
        "Subject P0000 · x-female · auditor’s copy, shows other people’s data: do not send"
    )
    assert "reviewer’s copy" in viewed("reviewer").about
    assert "x-female" not in viewed("reviewer").about


def test_links_to_the_neighbours_of_the_index_are_there_if_given() -> None:
    html = page(seen(made_report(), previous_link="000001.html", next_link="000003.html"))
    assert 'href="000001.html"' in html
    assert 'href="000003.html"' in html
    assert "Previous" not in page(viewed())


# ------------------------------------------------------------------ the ladder


def test_the_ladder_has_the_decision_own_data_and_every_own_tie_on_one_axis() -> None:
    view = seen(own_carriers(made_report(nx.star_graph(3)), 0.85, 0.95, 0.4))
    assert view.ladder.chart is not None
    rows = [
        (row.strong + row.label, row.figure, row.words, row.apart) for row in view.ladder.chart.rows
    ]
    assert rows == [
        ("As decided, with all 3 ties", "0.100", " denied", ""),
        ("Own data alone, no ties", "0.200", " denied", ""),
        ("guarantor: P0003 (approved)", "0.600", " (+0.500), then approved", IF),
        ("guarantor: P0001 (approved)", "0.150", " (+0.050), still denied", ""),
        ("guarantor: P0002 (denied)", "0.050", f" ({MINUS}0.050), still denied", ""),
    ]
    assert "Effects do not add up" in view.ladder.chart.note
    html = page(view)
    assert "need not be its cause" in html
    assert html.index("What the decision rests on") < html.index("What could change")


IF = "If one tie were not there:"


def test_the_eight_largest_moves_are_drawn_and_the_rest_is_in_the_annex() -> None:
    afters = [0.9 - place / 50 for place in range(1, 12)]
    view = seen(own_carriers(made_report(nx.star_graph(11)), *reversed(afters)))
    assert view.ladder.chart is not None
    assert len(view.ladder.chart.rows) == 2 + 8
    assert "3 more own ties, which move the answer less, are in annex F." in view.ladder.sentences
    assert view.annex.sets is not None
    assert view.annex.sets.head.letter == "F"
    assert view.annex.sets.rest is not None
    assert len(view.annex.sets.rest.rows) == 3


def test_a_move_too_small_to_be_seen_has_no_figure() -> None:
    view = seen(own_carriers(made_report(), 0.9000001))
    assert view.ladder.chart is not None
    assert view.ladder.chart.rows[2].words == ", still denied"


def test_older_reports_tell_of_the_single_ties_they_know_or_that_none_was_asked() -> None:
    made = own_carriers(made_report(), 0.85, 0.7)
    assert made.carriers is not None
    front = (carrying((("P0000", "P0001"),), 0.7), carrying((("P0001", "P0002"),), 0.6))
    older = replace(made, carriers=replace(made.carriers, own=(), front=front))
    chart = seen(older).ladder.chart
    assert chart is not None
    assert [row.label for row in chart.rows[2:]] == ["guarantor: P0001 (approved)"]
    silent = replace(made, carriers=replace(made.carriers, own=(), front=()))
    assert "was not asked in this audit" in " ".join(seen(silent).ladder.sentences)


def test_parallel_ties_of_the_subject_are_named_by_every_kind() -> None:
    made = own_carriers(made_report(), 0.85)
    assert made.ego_network is not None
    ties = (
        EgoTie(ends=("P0001", "P0000"), kind="payment", count=2),
        EgoTie(ends=("P0000", "P0001"), kind="guarantor"),
    )
    view = seen(replace(made, ego_network=replace(made.ego_network, ties=ties)))
    assert view.ladder.chart is not None
    assert view.ladder.chart.rows[2].label == "payment ×2, guarantor: P0001 (approved)"


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_the_ladder_of_a_score_shades_the_favourable_side(better: Any) -> None:
    made = made_report()
    line = DecisionLine(rule="cut_off", cut_off=620.0, score=600.0, margin=-20.0, better=better)
    subject = replace(made.subject, probabilities={})
    view = seen(replace(made, subject=subject, decision=line, own_data=None, counterfactuals=()))
    assert view.ladder.chart is not None
    [row] = view.ladder.chart.rows
    assert row.figure == "600.0"
    assert row.picture is not None
    shade = re.search(r'<rect x="([\d.]+)"[^>]*fill="#eaeef2"', row.picture.svg)
    assert shade is not None
    assert (float(shade[1]) > 50) == (better == "higher")
    assert view.ladder.chart.top is not None
    words = f"{'≥' if better == 'higher' else '≤'}{SPACE}620.0"
    assert words in view.ladder.chart.top.svg


# ------------------------------------------------------------------ what could change it


def test_options_say_what_to_change_with_effort_before_and_after_and_how_they_held() -> None:
    view = viewed()
    assert view.recourse is not None
    assert view.recourse.heading == "What could change the decision: 2 options"
    save, drop = options_of(view)
    assert save.changes == ("Savings from 100 euros to 600 euros",)
    assert drop.changes == ("End the guarantor tie between P0001 and P0002",)
    assert [one.effort for one in (save, drop)] == ["0.5", "1.0"]
    assert save.figure == f"0.100{ARROW}0.700"
    assert save.words == "(0.500 + 0.200)"
    assert save.strength == "Holds in most tests"
    assert [(one.label, one.figure) for one in save.tests] == [
        ("other ties", "48 of 50"),
        ("other data", "40 of 50"),
    ]
    assert "other ties: 48 of 50 (86.5% to 98.9%)" in save.tests[0].picture.alt
    assert "27 of 80 combinations of up to 3 permitted changes" in said_of_recourse(view)
    assert "28 questions to the deployed model" in said_of_recourse(view)


def test_money_and_attributes_are_said_in_the_users_words() -> None:
    own = AuditFacts(
        **{
            **{name: getattr(facts(), name) for name in AuditFacts.__slots__},
            "currencies": {"euros": "EUR"},
            "names": {"en": {"loan_amount": ("loan",)}},
        }
    )
    actions: list[Action] = [
        SetAction(attribute="savings", before=4780.0, after=12280.0, unit="euros"),
        SetAction(attribute="loan_amount", before=13100.5, after=10600.0, unit="euros"),
        SetAction(attribute="job_kind", before="none", after="full time"),
        TieAction(do="drop", tie=("P0000", "P0001"), kind="payment"),
        TieAction(do="add", tie=("P0003", "P0000"), kind=""),
    ]
    report = with_recourse(made_report(), options=(option(actions, 1.0),))
    [row] = options_of(subject_view(report, own))
    assert row.changes == (
        "Savings from €4,780 to €12,280",
        "Loan from €13,100.50 to €10,600",
        "Job kind from none to full time",
        "End the payment tie with P0001",
        "Add a tie with P0003",
    )


@pytest.mark.parametrize(
    ("held", "strength", "fragile"),
    [
        (50, "Holds in most tests", False),
        (40, "Holds in most tests", False),
        (39, "Holds in more than half of the tests", False),
        (26, "Holds in more than half of the tests", False),
        (25, "▲ Fragile: fails in half of the tests or more", True),
        (0, "▲ Fragile: fails in half of the tests or more", True),
    ],
)
def test_how_strong_an_option_is_goes_by_the_weaker_test(
    held: int, strength: str, fragile: bool
) -> None:
    tests = Robustness(draws=50, ties=survival(50, 50), attributes=survival(held, 50))
    report = with_recourse(made_report(), options=(option([], 1.0, robustness=tests),))
    view = seen(report)
    [row] = options_of(view)
    assert (row.strength, row.fragile) == (strength, fragile)
    warned = "Option 1 failed in half of its tests or more: leave it out, or have it confirmed."
    assert (warned in view.clerk) is fragile


def test_an_option_that_was_not_tested_says_so() -> None:
    report = with_recourse(made_report(), options=(option([], 1.0, robustness=None),))
    [row] = options_of(seen(report))
    assert row.strength == "not tested"
    assert row.tests == ()
    assert seen(report).lead.endswith("1 option changes the decision.")


def test_an_option_says_if_it_is_not_confirmed_or_not_on_the_whole_graph_or_not_minimal() -> None:
    def remarks(**changes: Any) -> tuple[str, ...]:
        report = with_recourse(made_report(), options=(option([], 1.0, **changes),))
        return options_of(seen(report))[0].remarks

    assert remarks() == ()
    assert remarks(verified=False) == ("NOT confirmed by the model",)
    assert remarks(verified_on="neighbourhood")[0].startswith("confirmed on the neighbourhood")
    assert remarks(minimal=False) == ("a part of it may suffice",)


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
    view = seen(report)
    assert sentence in said_of_recourse(view)
    assert options_of(view)[0].others == row
    assert options_of(seen(report, level="subject"))[0].others == ""


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
                left_out=LeftOut(conditions=10, why=("income <= 1000: 10",)),
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
        "What could change the decision: not decided",
        (
            "No option found yet: 4,899 of 5,198 combinations of up to 3 permitted changes tried. "
            "There may be one. All combinations of up to 2 changes were covered. Permitted: "
            "12 ties "
            "to end, 1 tie to add, and loan amount (4 levels)."
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
        "The record says approved, the model decides denied.",
    ),
    "failed": (
        {"status": "error", "certificate": Certificate(max_changes=3), "reason": "no memory"},
        "Options could not be determined",
        "The search for options failed:",
    ),
}


@pytest.mark.parametrize("state", STATES)
def test_every_state_without_an_option_says_why_and_how_far_was_looked(state: str) -> None:
    changes, heading, words = STATES[state]
    line = DecisionLine(rule="argmax", margin=-0.8, recorded="approved")
    report = with_recourse(replace(made_report(), decision=line), options=(), **changes)
    view = seen(report)
    assert view.recourse is not None
    assert view.recourse.heading == heading
    assert view.recourse.options == ()
    assert words in said_of_recourse(view)
    searched = changes["status"] in ("certified_infeasible", "not_found_within_budget")
    assert bool(view.clerk) is searched
    assert '<table class="options"' not in page(view)


def test_what_rules_out_combinations_and_what_went_wrong_is_quoted_in_english() -> None:
    changes, _, _ = STATES["none exists, some ruled out"]
    html = page(seen(with_recourse(made_report(), options=(), **changes)))
    assert 'By condition: <span lang="en">income &lt;= 1000: 10</span>' in html
    failed, _, _ = STATES["failed"]
    html = page(seen(with_recourse(made_report(), options=(), **failed)))
    assert '<span lang="en">no memory</span>' in html


def test_before_signing_the_clerk_learns_whom_not_to_name_and_what_not_to_say() -> None:
    names, *rest = viewed().clerk
    assert names == (
        "The letter must not name P0001 and P0002; if P0000 asks which tie is meant, tell them in "
        "person."
    )
    assert "offers to give reasons on request" in rest[-2]
    assert "must not promise a favourable decision" in rest[-1]
    assert viewed("reviewer").clerk[0].startswith("The letter must not name person 1 and person 2;")
    assert viewed("subject").clerk == ()
    stopped, _, _ = STATES["not decided"]
    said = seen(with_recourse(made_report(), options=(), **stopped)).clerk[0]
    assert said == "The search stopped early: the letter must not say that there is no option."


# ------------------------------------------------------------------ counterfactuals


def test_a_counterfactual_is_a_card_with_both_moves_and_the_whole_graph_first() -> None:
    report = with_first(made_report(), whole_graph=whole_graph(0.8))
    view = seen(report).counterfactuals
    assert view is not None
    assert view.finding == "None of them changes the decision on the whole graph."
    [card] = view.cards
    assert card.title == "1. Tie P0001–P0002"
    assert card.direction == (
        f"Without it, towards approved: whole graph 0.100{ARROW}0.200, explanation "
        f"0.150{ARROW}0.600"
    )
    assert [row.label for row in card.arrows] == ["explanation", "whole graph"]
    assert card.graph is not None
    assert "Removed: P0001–P0002. Kept: P0000–P0001." in card.graph.alt
    assert card.sentences == (
        "Still denied.",
        "This tie counts against the subject.",
        "Within the explanation it reverses the answer; on the whole graph it does not.",
        (
            "With other data for P0000 and P0001 the effect weakens (clearly in the same "
            "direction in "
            "51 of 60 tests). It depends on whose data they are."
        ),
    )


@pytest.mark.parametrize(
    ("after", "direction", "counts"),
    [
        (0.95, "away from approved", "This tie counts for the subject."),
        (0.6, "towards approved", "This tie counts against the subject."),
        (0.9, "neither towards approved nor away", ""),
    ],
)
def test_the_direction_never_contradicts_the_text(
    after: float, direction: str, counts: str
) -> None:
    view = seen(with_first(made_report(), whole_graph=whole_graph(after))).counterfactuals
    assert view is not None
    [card] = view.cards
    assert direction in card.direction
    text = " ".join(card.sentences)
    assert (counts in text) if counts else ("counts" not in text)


def test_an_explanation_that_answers_otherwise_reproduces_the_decision_poorly() -> None:
    made = made_report()
    first = made.counterfactuals[0].explanation
    poor = replace(first, probabilities={"denied": 0.1, "approved": 0.9})
    said = "The explanation alone answers approved, so it reproduces the decision poorly."
    for explanation, expected in ((poor, True), (first, False)):
        view = seen(with_first(made, explanation=explanation)).counterfactuals
        assert view is not None
        assert (said in view.cards[0].sentences) is expected


def test_how_many_counterfactuals_change_the_decision_is_the_finding() -> None:
    made = made_report()
    for found, finding in (
        (whole_graph(0.4), "1 of them changes the decision on the whole graph."),
        (whole_graph(0.6), "None of them changes the decision on the whole graph."),
        (None, ""),
    ):
        view = seen(with_recourse(with_first(made, whole_graph=found), options=())).counterfactuals
        assert view is not None
        assert view.finding == finding
        assert ("not asked" in view.cards[0].direction) is (found is None)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("ties", "dropped", "expected"),
    [
        ({"guarantor": 1}, ("guarantor",), f"0.100{ARROW}0.952"),
        ({"guarantor": 2}, ("guarantor",), "not asked"),
        ({"guarantor": 2}, ("guarantor", "guarantor"), f"0.100{ARROW}0.952"),
        ({"guarantor": 1, "payment": 1}, ("guarantor",), "not asked"),
        ({"guarantor": 1, "payment": 1}, ("guarantor", "payment"), f"0.100{ARROW}0.952"),
        ({"guarantor": 3, "payment": 1}, ("guarantor", "guarantor", "payment"), "not asked"),
    ],
)
def test_an_option_has_the_counterfactuals_effect_only_if_it_drops_every_parallel_tie(
    ties: dict[str, int], dropped: tuple[str, ...], expected: str, level: Level
) -> None:
    """A counterfactual removes all that is between two people, an option one tie per action."""
    made = made_report()
    assert made.ego_network is not None
    others = tuple(tie for tie in made.ego_network.ties if tie.ends != ("P0001", "P0002"))
    parallel = tuple(
        EgoTie(ends=("P0001", "P0002"), kind=kind, count=count) for kind, count in ties.items()
    )
    actions = [TieAction(do="drop", tie=("P0002", "P0001"), kind=kind) for kind in dropped]
    chances = {"denied": 0.048, "approved": 0.952}
    report = with_recourse(
        replace(made, ego_network=replace(made.ego_network, ties=(*others, *parallel))),
        options=(option(actions, 1.0, probabilities=chances),),
    )
    view = seen(report, level=level).counterfactuals
    assert view is not None
    assert f"whole graph {expected}" in view.cards[0].direction


def test_dropping_more_than_the_counterfactual_removes_is_another_effect() -> None:
    more = (
        TieAction(do="drop", tie=("P0001", "P0002"), kind="guarantor"),
        TieAction(do="drop", tie=("P0000", "P0001"), kind="guarantor"),
    )
    report = with_recourse(made_report(), options=(option(more, 2.0),))
    view = seen(report).counterfactuals
    assert view is not None
    assert "whole graph not asked" in view.cards[0].direction


# ------------------------------------------------------------------ the neighbourhood


def test_the_neighbourhood_is_counted_by_distance_and_its_title_is_what_most_got() -> None:
    view = viewed(graph=nx.star_graph(4)).neighbourhood
    assert view is not None
    assert view.heading == "The neighbourhood: mixed"
    [direct] = view.bars.rows
    assert (direct.strong, direct.label, direct.words) == (
        "direct ties",
        " 4",
        "2 approved, 2 denied",
    )
    tree = nx.star_graph([0, 2, 4, 6])
    tree.add_edge(2, 1)
    mostly = viewed(graph=tree).neighbourhood
    assert mostly is not None
    assert mostly.heading == "The neighbourhood: mostly denied"
    assert [row.words for row in mostly.bars.rows] == ["3 denied", "1 approved"]


def test_direct_ties_and_removed_ties_have_labels_and_nobody_else() -> None:
    tree = nx.star_graph([0, 1, 2])
    tree.add_edges_from([(1, 3), (2, 4)])
    view = viewed(graph=tree).neighbourhood
    assert view is not None
    labels = re.findall(r">([^<]*)</text>", view.picture.svg)
    assert sorted(labels) == ["1", "P0000", "P0001, guarantor", "P0002, guarantor"]


def test_beyond_sixty_people_the_page_says_whom_it_draws_and_lists_the_same() -> None:
    view = viewed(graph=nx.path_graph(90), total=4321).neighbourhood
    assert view is not None
    assert "4,321 people are within 89 ties" in view.note
    assert "60 of them are drawn: everyone in an explanation, then the nearest." in view.note
    assert len(view.people.rows) == 60
    assert "P0060" not in page(viewed(graph=nx.path_graph(90), total=4321))
    few = viewed().neighbourhood
    assert few is not None
    assert "are drawn" not in few.note


def test_everybody_in_the_picture_is_in_the_annex_once() -> None:
    view = viewed()
    assert view.neighbourhood is not None
    assert view.annex.people is not None
    assert view.annex.people.about == "4 people and their ties"
    assert f"Annex {view.annex.people.letter} lists everybody." in view.neighbourhood.note
    people = column(view.neighbourhood.people, "Person")
    assert people == [("P0000 (the subject)",), ("P0001",), ("P0002",), ("P0003",)]


# ------------------------------------------------------------------ states without ties


@pytest.mark.parametrize(
    ("note", "words"),
    [
        (NO_TIES, "This person has no ties to others in the graph"),
        (NO_TIE_MOVES, "No tie that was tried moves the answer"),
        (FIRST_MOVES_NOTHING, "does not measurably move the answer"),
        (TIES_DO_NOT_MATTER, "the model’s answers do not change with them"),
    ],
)
def test_why_ties_explain_nothing_is_said_in_the_words_of_the_page(note: str, words: str) -> None:
    view = viewed(note=note)
    assert view.note is not None
    assert words in view.note.text
    assert view.note.quote == ""


def test_a_subject_without_ties_has_a_title_that_says_so_and_no_pictures_of_others() -> None:
    view = viewed(
        search=None,
        counterfactuals=(),
        front=(),
        front_size=0,
        objective_grid=None,
        ego_network=None,
        caveats=(),
        note=NO_TIES,
    )
    assert view.title == ("P0000: denied. P0000 has no ties; the decision rests on own data alone.")
    assert "Without any" not in view.lead
    assert view.neighbourhood is None
    assert view.counterfactuals is None
    assert view.annex.search is None
    assert [view.annex.checks.head.letter, view.annex.repeat.head.letter] == ["A", "C"]
    assert "counterfactual" not in page(view)


def test_a_report_without_anything_to_draw_still_becomes_a_page() -> None:
    bare = with_recourse(made_report(ego_network=None, objective_grid=None), droppable=())
    view = seen(bare)
    assert view.neighbourhood is None
    assert "P0001–P0002" in page(view)


def test_a_subject_whom_the_model_gave_no_number_becomes_a_page() -> None:
    nobody = Decision(id="P0000", decision="", favourable=False, probabilities={})
    view = viewed(
        subject=nobody,
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
    assert view.title == "P0000: the model gave no answer."
    assert view.lead == "The model gave no usable answer for this subject."
    assert view.ladder.chart is None
    assert '<span lang="en">the model gave NaN for P0007</span>' in page(view)


def test_a_favourable_decision_needs_no_option_and_no_letter() -> None:
    good = Decision(
        id="P0000",
        decision="approved",
        favourable=True,
        probabilities={"denied": 0.2, "approved": 0.8},
    )
    report = with_recourse(made_report(subject=good), status="already_favourable", options=())
    view = seen(report)
    assert view.title.startswith("P0000: approved.")
    assert view.clerk == ()
    assert "The decision is favourable already." in page(view)


def test_where_no_tie_moves_the_answer_the_page_shows_no_explanation() -> None:
    made = with_first(made_report(), relevance=0.0, signed_relevance=0.0)
    assert made.objective_grid is not None
    still = replace(made, objective_grid=replace(made.objective_grid, relevance=(0.0, 0.0)))
    for note, words in (("", "No tie that was tried"), ("In the words of the report.", "In the")):
        view = seen(replace(still, note=note))
        assert view.note is not None
        assert (view.note.text or view.note.quote).startswith(words)
        assert view.counterfactuals is None
        assert view.annex.caveats is None
        assert "Removing these ties changes" not in page(view)


# ------------------------------------------------------------------ the annex


def test_the_annex_has_ranks_layer_and_what_a_counterfactual_dominates() -> None:
    search = viewed().annex.search
    assert search is not None
    assert column(search.table, "Ranks ν + |μ|") == [("19 + 3",)]
    assert column(search.table, "Layer") == [("1",)]
    assert column(search.table, "Dominates") == [("127 of 148", "and the baseline random")]
    assert column(search.table, "Removed") == [("P0001–P0002",)]
    assert column(search.table, "Simulatability ν") == [(f"{MINUS}0.006957",)]
    assert column(search.table, "Relevance |μ|") == [("0.521894",)]
    assert column(search.answers, "Explanation 1") == [("0.850",), ("0.150",)]


def test_a_sampled_search_says_how_much_it_saw() -> None:
    made = made_report()
    assert made.search is not None
    sample = Sample(drawn=1000, of=123456, of_is_estimate=True, bound=0.0123, confidence=0.95)
    changed = replace(made, search=replace(made.search, coverage="sampled", sample=sample))
    search = seen(changed).annex.search
    assert search is not None
    found = {fact.name: fact.value for fact in search.facts}
    assert "1,000 of about 123,456 subgraphs" in found["Coverage"]
    assert "95% confidence" in found["Coverage"]
    assert "1.2%" in found["Coverage"]


def test_everything_needed_to_repeat_the_audit_is_on_the_page() -> None:
    html = page(viewed())
    assert html.count("0123456789abcdef" * 4) == 4
    assert "all 45 subgraphs of up to 4 people, within 2 ties" in html
    assert "100 in total, including 46 for the search and 28 for options" in html
    assert "seed 7, 100 queries" in html


def test_the_annex_is_closed_on_a_screen_and_every_section_has_a_letter_of_its_own() -> None:
    html = page(viewed())
    letters = re.findall(r"<summary><strong>([A-Z])\. ", html)
    assert letters == list("ABCDEF")
    assert "<details open" not in html


def caveat_pictures(view: SubjectView) -> list[Any]:
    assert view.annex.caveats is not None
    return [one.picture for one in view.annex.caveats.caveats]


def test_the_roll_out_is_drawn_beside_the_caveat_it_belongs_to() -> None:
    general, confounded = caveat_pictures(viewed())
    assert general is None
    assert confounded is not None
    assert "Confounders: the data of P0000 and the data of P0001." in confounded.alt


def test_a_caveat_is_told_in_full_with_its_figures() -> None:
    caveats = viewed().annex.caveats
    assert caveats is not None
    general, confounded = caveats.caveats
    assert general.title == "Every counterfactual"
    assert "not its only or true cause" in general.said.text
    assert confounded.title == "Counterfactual 1"
    assert confounded.grade == "the effect weakens"
    for words in (
        "Removing P0001–P0002 moves the probability of denied by −0.315",
        "the move is −0.116 on average (95% interval −0.145 to −0.087)",
        (
            "exceeds 0.010 in the same direction in 51 of 60 draws, in the opposite "
            "direction in 3 of "
            "60, and in neither in 6 of 60."
        ),
    ):
        assert words in confounded.said.text


def test_a_grade_says_where_it_depends_on_whom_and_only_there() -> None:
    made = made_report()
    general, confounded = made.caveats
    assert confounded.effect is not None
    always = replace(confounded, effect=replace(confounded.effect, depends_on_whom=False))
    for caveats, expected in (((general, confounded), True), ((general, always), False)):
        html = page(viewed(caveats=caveats))
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
    html = page(viewed(caveats=(general, replace(confounded, grade=grade))))
    assert re.findall('<span class="grade">(?!depends)(.*?)</span>', html) == [words]


def test_a_roll_out_that_the_audit_would_not_agree_with_is_not_drawn() -> None:
    general, confounded = made_report().caveats
    view = viewed(caveats=(general, replace(confounded, variables=("P0001",))))
    assert caveat_pictures(view) == [None, None]
    assert "messages travel one way" in page(view)


def test_a_roll_out_too_large_to_be_read_says_so() -> None:
    view = viewed(probes=replace(PROBES, depth=9))
    assert caveat_pictures(view) == [None, None]
    assert "a picture has room for 12 people and 6 layers" in page(view)


def test_failed_probes_are_in_the_first_lines_and_counted_in_the_annex() -> None:
    broken = replace(PROBES, tie_order=False, notes={"tie_order": NOTES["tie_order"]})
    view = viewed(probes=broken)
    html = page(view)
    said = "Answers depend on the order in which ties are listed"
    assert html.index(said) < html.index("What the decision rests on")
    assert view.annex.checks.head.about == "4 of 5 passed"
    assert said not in page(viewed())
    assert viewed().annex.checks.head.about == "5 of 5 passed"


def test_notes_of_probes_are_worded_anew_and_unknown_ones_are_quoted() -> None:
    notes = {
        "whole_graph": "THE MODEL IS NOT DETERMINISTIC: twice",
        "repeats": "THE MODEL IS NOT DETERMINISTIC: 2 calls",
        "depth": "The settings declare a depth of 3 hops; the probe measured 2.",
        "new": "Something of a later version.",
    }
    probes = replace(PROBES, depth=3, notes=notes)
    repeats = Repeats(calls=100, differed=2, largest=0.25)
    whole, again, depth, new = viewed(probes=probes, repeats=repeats).warnings
    assert "asked twice about the decisions on the whole graph" in whole.text
    assert "2 of 100 repeated calls got another answer (by up to 0.250)" in again.text
    assert "this audit relies on 3 ties" in depth.text
    assert (new.text, new.quote) == ("", "Something of a later version.")


# ------------------------------------------------------------------ who may see what


@pytest.mark.parametrize("level", LEVELS)
def test_only_the_auditor_sees_other_peoples_ids(level: Level) -> None:
    report = own_carriers(made_report(nx.star_graph(20)), *(0.9 - n / 100 for n in range(20)))
    html = page(seen(with_first(report, whole_graph=whole_graph(0.8)), level=level))
    assert bool(OTHERS.search(html)) == (level == "auditor")


@pytest.mark.parametrize("level", LEVELS)
def test_only_the_auditor_sees_protected_attributes(level: Level) -> None:
    html = page(viewed(level, attribute="gender"))
    assert ("x-female" in html) == (level == "auditor")
    assert ("gender" in html.lower()) == (level == "auditor")
    assert level == "auditor" or "a protected attribute" in html.lower()


@pytest.mark.parametrize("level", LEVELS)
def test_only_the_auditor_reads_what_went_wrong(level: Level) -> None:
    html = page(viewed(level, error="row of P0007 is broken"))
    assert ("P0007" in html) == (level == "auditor")
    assert level == "auditor" or "the auditor’s copy says what" in html


def test_a_reviewer_meets_the_same_person_under_the_same_number_everywhere() -> None:
    view = subject_view(own_carriers(made_report(), 0.85), facts(), level="reviewer")
    assert view.counterfactuals is not None
    [card] = view.counterfactuals.cards
    assert card.title == "1. Tie person 1–person 2"
    assert view.ladder.chart is not None
    assert view.ladder.chart.rows[2].label == "guarantor: person 1 (approved)"
    assert view.annex.caveats is not None
    assert "Removing person 1–person 2" in view.annex.caveats.caveats[1].said.text
    picture = caveat_pictures(view)[1]
    assert picture is not None
    assert "the data of person 1" in picture.alt
    assert options_of(view)[1].changes == ("End the guarantor tie between person 1 and person 2",)
    assert view.neighbourhood is not None
    people = column(view.neighbourhood.people, "Person")
    assert people == [("P0000 (the subject)",), ("person 1",), ("person 2",), ("person 3",)]


def test_the_subject_learns_kinds_of_ties_and_counts_and_sees_nobody() -> None:
    report = own_carriers(made_report(), 0.85, 0.4)
    view = seen(report, level="subject")
    assert view.neighbourhood is None
    assert view.annex.people is None
    assert view.counterfactuals is not None
    [card] = view.counterfactuals.cards
    assert card.title == "1. 1 guarantor tie"
    assert card.graph is None
    assert view.annex.search is not None
    assert column(view.annex.search.table, "Explanation") == [("2 guarantor ties",)]
    assert options_of(view)[1].changes == ("End a guarantor tie between two other people",)
    assert caveat_pictures(view) == [None, None]


def test_the_subject_does_not_learn_what_each_tie_does() -> None:
    """The direction of one tie's effect tells how the person at its other end was decided."""
    report = own_carriers(made_report(), 0.85, 0.4)
    shown = redacted(report, "subject")
    assert shown.carriers is not None
    assert shown.carriers.own == ()
    view = seen(report, level="subject")
    assert view.ladder.chart is not None
    assert len(view.ladder.chart.rows) == 2
    assert "left out of this copy" in view.ladder.sentences[0]
    assert "single tie" not in view.lead
    assert "(approved)" not in page(view)


def test_numbers_of_people_go_by_distance_from_the_subject() -> None:
    shown = redacted(made_report(nx.star_graph(3)), "reviewer")
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
        forbidden=("P0002 is family",),
    )
    lost = replace(made.caveats[1], counterfactual=7, about="counterfactual 7")
    strange = replace(made.caveats[0], text="P0003 matters.", variables=("P0003",))
    return replace(
        made,
        baselines={"random": made.front[0]},
        caveats=(*made.caveats, lost, strange),
        what_if=changed,
        error="row of P0002 is broken",
    )


@pytest.mark.parametrize("level", LEVELS)
def test_no_field_of_a_redacted_report_names_anybody_else(level: Level) -> None:
    text = SUBJECT.write(redacted(everything(), level, ["gender"]))
    assert bool(OTHERS.search(text)) == (level == "auditor")
    assert ("gender" in text) == (level == "auditor")
    assert ("person 1" in text) == (level == "reviewer")
    assert (SOMEBODY in text) == (level == "subject")


@pytest.mark.parametrize("level", LEVELS)
def test_why_options_could_not_be_determined_is_left_to_the_auditor(level: Level) -> None:
    report = with_recourse(made_report(), status="error", reason="P0002 is broken", options=())
    html = page(seen(report, level=level))
    assert ("P0002 is broken" in html) == (level == "auditor")


def test_the_auditors_copy_is_the_report_with_its_text_made_plain() -> None:
    assert redacted(everything(), "auditor", ["gender"]) == everything()
    hostile = made_report(name=lambda place: f"\x1b[2J{place}", kind="new\nline")
    shown = redacted(hostile, "auditor")
    assert shown.subject.id == "\\x1b[2J0"
    assert shown.counterfactuals[0].removed == (("\\x1b[2J1", "\\x1b[2J2"),)
    assert "\\n" in SUBJECT.write(shown)
    assert not set(SUBJECT.write(shown)) & {"\x1b", "\n"}


def test_a_view_holds_text_only_so_that_templates_decide_nothing() -> None:
    def leaves(value: Any) -> list[Any]:
        if isinstance(value, dict):
            return [leaf for one in value.values() for leaf in leaves(one)]
        if isinstance(value, tuple | list):
            return [leaf for one in value for leaf in leaves(one)]
        return [value]

    kinds = {type(leaf) for leaf in leaves(asdict(viewed()))}
    assert kinds <= {str, bool, type(None), PageWords}


def test_the_same_report_gives_the_same_page() -> None:
    assert page(viewed()) == page(viewed())


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
    assert len(page(seen(crowd, level=level)).encode()) < LARGEST_PAGE
