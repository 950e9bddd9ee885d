"""The rule and where a person stands, in words: for each rule where it must appear, and not."""

from dataclasses import replace
from typing import Any

import pytest

from recourse_audit.records.model import RuleReport
from recourse_audit.records.search import WholeGraph
from recourse_audit.records.subject import DecisionLine
from recourse_audit.render.i18n import Words
from recourse_audit.render.redaction import redact
from recourse_audit.render.templates import Templates
from recourse_audit.render.text import plain
from tests.render.subject_pages import read
from tests.render.subject_reports import made_report

MINUS = "\N{MINUS SIGN}"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (12345.6, "12,346"),
        (534.52, "534.5"),
        (85.52, "85.5"),
        (4.5, "4.50"),
        (-0.1234, f"{MINUS}0.123"),
    ],
)
def test_scores_have_as_many_decimals_as_matter(value: float, words: str) -> None:
    assert Words().amount(value) == words


def scored(better: Any = "higher", *, favourable: bool = False) -> Any:
    """A report of a score model: 600 on the whole graph, 590 on the explanation, 640 without."""
    report = made_report()
    [found] = report.counterfactuals
    explanation = replace(found.explanation, probabilities={}, score=590.0)
    found = replace(found, explanation=explanation, probabilities={}, score=640.0)
    line = DecisionLine(rule="cut_off", cut_off=620, score=600, margin=-20, better=better)
    subject = replace(report.subject, probabilities={}, favourable=favourable)
    return replace(report, subject=subject, decision=line, counterfactuals=(found,))


@pytest.mark.parametrize(("better", "way"), [("higher", "against"), ("lower", "for")])
def test_which_way_a_removal_moves_a_score_depends_on_what_is_better(better: str, way: str) -> None:
    made = scored(better)
    [first] = made.counterfactuals
    whole = WholeGraph(
        probabilities={}, score=610.0, effect=10.0, decision="denied", favourable=False, flips=False
    )
    [pair] = read(replace(made, counterfactuals=(replace(first, whole_graph=whole),))).pairs
    assert f"Counts {way} P0000." in pair
    assert "590.0\N{NO-BREAK SPACE}→ 640.0" in pair
    assert "probability" not in pair


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
    assert "[In the explanation: 590.0\N{NO-BREAK SPACE}→ 640.0]" in page.pairs[0]
    assert "probability" not in page.text(".//div[@class='ladder']//thead")


def test_under_a_quota_the_subjects_copy_does_not_say_whose_place_it_would_be() -> None:
    report = made_report()
    line = DecisionLine(rule="quota", cut_off=0.71, score=0.58, margin=-0.13, places=5, rank=7)
    report = replace(report, decision=line)
    for level, shown in (("auditor", True), ("reviewer", True), ("subject", False)):
        seen = redact(report, level)  # type: ignore[arg-type]
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

    def sentence(**changes: Any) -> str:
        macros = Templates().macros("pages/pieces/model.html", words=Words(), plain=plain)
        return str(macros.rule(replace(rule, **changes))).strip()

    assert sentence().endswith("is at least 0.65: 649 favourable, 251 refused.")
    by = sentence(rule="cut_off_by", cut_offs={"car": 0.6, "house": 0.7}, undecided=3)
    assert "at least 0.6 (car), 0.7 (house): " in by
    assert by.endswith("251 refused, 3 without an answer.")
    assert "the most probable class wins: 649" in sentence(rule="argmax", cut_offs={})
    assert "score is up to 3: " in sentence(better="lower", cut_offs={"": 3.0})
    assert "the 649 with the best score are approved" in sentence(
        rule="quota", better="higher", places=649
    )
