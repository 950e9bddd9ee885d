"""The rule and where a person stands, in words: for each rule where it must appear, and not."""

from dataclasses import replace
from typing import Any

import pytest

from recourse_audit.records.model import RuleReport
from recourse_audit.records.subject import DecisionLine
from recourse_audit.render.answers import (
    amount,
    decided_words,
    decision_sentence,
    direction,
    effect,
    held_back,
    margin_words,
    outcome_words,
    rule_sentence,
)
from recourse_audit.render.pages.redaction import redacted
from tests.render.subject_pages import read
from tests.render.subject_reports import made_report

CUT = "Favourable if the favourable classes have a probability of at least 0.650."
BEST = "The 200 with the best probability of the favourable classes get a favourable decision."
SCORE = {"rule": "cut_off", "cut_off": 620, "score": 534.5, "margin": -85.5, "better": "higher"}
RANKED = {"rule": "quota", "score": 0.58, "places": 200, "rank": 231}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"rule": "argmax", "margin": -0.2}, ""),
        (
            {"rule": "cut_off", "cut_off": 0.65, "score": 0.349, "margin": -0.301},
            f"{CUT} This person has 0.349 and is 0.301 short of it.",
        ),
        (
            {"rule": "cut_off", "cut_off": 0.65, "score": 0.7, "margin": 0.05},
            f"{CUT} This person has 0.700 and clears the line by 0.050.",
        ),
        (SCORE, "Favourable from a score of 620.0 on. This person is 85.5 short of it."),
        (
            {"rule": "cut_off_by", "cut_off": 3, "score": 4.5, "margin": -1.5, "better": "lower"},
            "Favourable up to a score of 3.00. This person is 1.50 above it.",
        ),
        (
            RANKED | {"cut_off": 0.71, "margin": -0.13},
            f"{BEST} This person has 0.580 and ranks 231; the last of those let in has 0.710.",
        ),
        (RANKED, f"{BEST} This person has 0.580 and ranks 231."),
    ],
)
def test_the_rule_is_said_with_where_the_person_stands(line: dict[str, Any], words: str) -> None:
    assert rule_sentence(DecisionLine(**line)) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [(12345.6, "12,346"), (534.52, "534.5"), (85.52, "85.5"), (4.5, "4.50"), (-0.1234, "-0.123")],
)
def test_scores_have_as_many_decimals_as_matter(value: float, words: str) -> None:
    assert amount(value) == words


def scored(better: Any = "higher", *, favourable: bool = False) -> Any:
    """A report of a score model: 600 on the whole graph, 590 on the explanation, 640 without."""
    report = made_report()
    [found] = report.counterfactuals
    explanation = replace(found.explanation, probabilities={}, score=590.0)
    found = replace(found, explanation=explanation, probabilities={}, score=640.0)
    line = DecisionLine(rule="cut_off", cut_off=620, score=600, margin=-20, better=better)
    subject = replace(report.subject, probabilities={}, favourable=favourable)
    return replace(report, subject=subject, decision=line, counterfactuals=(found,))


def test_effects_of_a_score_model_are_on_the_score() -> None:
    report = scored()
    [found] = report.counterfactuals
    assert effect(found, report) == "590.0 → 640.0"
    assert decided_words(report) == " with a score of 600.0"
    assert margin_words(report.decision, -20) == "-20.0"
    assert margin_words(report.decision, 3.5) == "+3.50"
    assert "probability" not in effect(found, report) + decided_words(report)


@pytest.mark.parametrize(
    ("better", "favourable", "against"),
    [
        ("higher", False, False),  # refused, and removing the ties raises the score
        ("lower", False, True),
        ("higher", True, True),
        ("lower", True, False),
    ],
)
def test_ties_held_a_decision_back_if_the_score_goes_further_its_way_without_them(
    better: str, favourable: bool, against: bool
) -> None:
    report = scored(better, favourable=favourable)
    [found] = report.counterfactuals
    assert held_back(found, report) is against
    sentence = direction(found, report, "these ties")
    assert ("moves the score further towards" in sentence) is against


def test_the_page_says_how_scores_enter_the_objectives_and_only_of_scores() -> None:
    search = read(scored()).annex("The search")
    assert "a score counts as a normal distribution" in search
    assert "Probability of each class" not in search
    plain = read(made_report()).annex("The search")
    assert "score" not in plain
    assert "Probability of each class" in plain


def test_every_chart_of_a_score_model_has_the_score_on_its_axis() -> None:
    page = read(scored())
    assert page.ladder[0][1].startswith("600.0")
    assert "explanation 590.0\N{NO-BREAK SPACE}→ 640.0" in page.cards[0]
    assert "probability of approved" not in page.text(".//div[@class='ladder']//thead")


def test_options_of_a_score_model_say_what_becomes_of_the_score() -> None:
    report = scored()
    assert report.recourse is not None
    option = replace(report.recourse.options[0], probabilities={}, score=655.0)
    assert outcome_words(report, option) == "600.0 → 655.0"


def test_under_a_quota_the_subjects_copy_does_not_say_whose_place_it_would_be() -> None:
    report = made_report()
    line = DecisionLine(rule="quota", cut_off=0.71, score=0.58, margin=-0.13, places=5, rank=7)
    report = replace(report, decision=line)
    for level, shown in (("auditor", True), ("reviewer", True), ("subject", False)):
        seen = redacted(report, level)  # type: ignore[arg-type]
        assert (seen.decision.cut_off is not None) is shown
        assert (seen.decision.margin is not None) is shown
        assert seen.decision.rank == 7
        assert seen.recourse is not None
        if not shown:
            assert all(option.score is None for option in seen.recourse.options)
            assert seen.recourse.margin is None


def test_the_rule_over_everybody_counts_them() -> None:
    everybody = {"favourable": 649, "refused": 251, "undecided": 0}
    rule = RuleReport(rule="cut_off", cut_offs={"": 0.65}, better=None, places=None, **everybody)
    assert decision_sentence(rule).endswith("is at least 0.65: 649 favourable, 251 refused.")
    by = replace(rule, rule="cut_off_by", cut_offs={"car": 0.6, "house": 0.7}, undecided=3)
    assert "at least 0.6 (car), 0.7 (house): " in decision_sentence(by)
    assert decision_sentence(by).endswith("251 refused, 3 without an answer.")
    assert decision_sentence(replace(rule, rule="argmax", cut_offs={})).startswith("The class with")
