"""Own data and surroundings: every figure is in words, and no word claims a cause."""

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from recourse_audit.records.own_data import RANDOM_ANSWERS, OwnData, Part, Parts
from recourse_audit.records.report import Decision, DecisionLine, SubjectReport
from recourse_audit.render.own_data import REASONS, answer_rows, own_data_sentences
from recourse_audit.render.page_words import LANGUAGES, PageWords
from recourse_audit.render.pages.redaction import Level
from recourse_audit.render.pages.subject import subject_view
from recourse_audit.render.templates import Templates
from recourse_audit.render.terminal.subject import show_subject
from tests.render.subject_reports import facts, made_report, own_data

NOT_A_CAUSE = "not say what the cause of the decision was."
MINUS, APOSTROPHE = "\N{MINUS SIGN}", "\N{RIGHT SINGLE QUOTATION MARK}"
SECTION = "Own data against surroundings"


def words(**changes: Any) -> str:
    return " ".join(own_data_sentences(made_report(own_data=own_data(**changes))))


def parts(own: float, surroundings: float, interaction: float) -> Parts:
    return Parts(
        **{
            name: Part(mean=mean, low=mean - 0.1, high=mean + 0.1)
            for name, mean in (
                ("own", own),
                ("surroundings", surroundings),
                ("interaction", interaction),
            )
        }
    )


def shown(report: SubjectReport, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width)
    show_subject(console, report)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def page(report: SubjectReport, level: Level = "auditor") -> str:
    view = subject_view(report, facts(), level=level)
    return Templates().render("pages/subject.html", view=view)


def test_what_is_decided_without_ties_is_said_and_no_cause_is_claimed() -> None:
    assert "With all ties removed, the model would still decide denied." in words()
    alone = own_data().alone
    assert alone is not None
    other = replace(alone, decision="approved", favourable=True, value=0.8)
    assert "the model would decide approved instead of denied." in words(alone=other)
    none = replace(alone, decision="", probabilities={}, value=None)
    assert "With all ties removed, the model gives no usable answer." in words(alone=none)
    only = own_data_sentences(made_report(own_data=OwnData(alone=alone)))
    assert only[-1] == (
        f"This is the model{APOSTROPHE}s answer to a changed question; it does {NOT_A_CAUSE}"
    )


@pytest.mark.parametrize("larger", ["own", "surroundings", None])
def test_a_part_is_called_larger_with_its_figures_or_none_is(larger: str | None) -> None:
    text = words(larger=larger)
    assert text.endswith(NOT_A_CAUSE)
    assert {f"{MINUS}0.100", f"{MINUS}0.420", f"{MINUS}0.030"} <= {
        word.strip("();.,") for word in text.split()
    }
    assert f"own data change the probability of the favourable classes by {MINUS}0.100 and" in text
    place = "Their surroundings weigh more than their own data."
    data = "Their own data weigh more than their surroundings."
    assert (place in text) == (larger == "surroundings")
    assert (data in text) == (larger == "own")
    assert ("Neither is said to weigh more: 32 draws are too few" in text) == (larger is None)


def test_an_interaction_that_hides_the_parts_is_named_as_the_reason() -> None:
    text = words(larger=None, parts=parts(0.3, 0.2, -0.25))
    assert "Neither is said to weigh more: what the two change only together is at least" in text


def test_what_was_not_asked_is_said_with_the_reason() -> None:
    report = made_report(own_data=OwnData(reason=RANDOM_ANSWERS))
    [sentence] = own_data_sentences(report)
    assert sentence == f"Not everything was asked: the model{APOSTROPHE}s answers are random."
    assert sentence in shown(report)
    assert own_data_sentences(made_report(own_data=None)) == []
    assert "Own data and surroundings" not in shown(made_report(own_data=None))
    assert SECTION not in page(made_report(own_data=None))
    assert SECTION in page(report)


def test_the_terminal_and_the_page_give_all_five_answers() -> None:
    report = made_report()
    terminal, html = shown(report), page(report)
    for row in answer_rows(report, own_data()):
        assert row.words in terminal
        assert row.words in html
    assert "0.550 (0.500 to 0.600)" in terminal
    assert "62.5%" in terminal
    assert "Means over 32 draws of two other people." in html
    assert NOT_A_CAUSE in html


def test_the_subject_learns_the_answer_without_ties_and_nothing_of_others() -> None:
    html = page(made_report(), "subject")
    assert "With all ties removed, the model would still decide denied." in html
    others = f"Others{APOSTROPHE} data"
    assert others not in html
    assert "0.650" not in html
    assert others in page(made_report(), "reviewer")


def test_scores_are_shown_in_their_own_units() -> None:
    found = own_data(parts=parts(-30.0, 12.5, 1.0), larger="own")
    report = made_report(
        subject=Decision(id="P0000", decision="denied", favourable=False, probabilities={}),
        decision=DecisionLine(rule="cut_off", cut_off=600.0, score=540.0, better="higher"),
        counterfactuals=(),
        own_data=found,
    )
    text = " ".join(own_data_sentences(report))
    assert f"own data change the score by {MINUS}30.0 and their surroundings by +12.5" in text
    assert {row.name for row in answer_rows(report, found)} >= {"Own data, no ties"}
    assert "favourable: 62.5%" in page(report)


def test_a_class_with_a_hostile_name_is_shown_as_text() -> None:
    name = "<b>no</b>[red]"
    report = made_report(classes=(name, "yes"))
    assert f"would still decide {name}" in shown(report, 400)
    assert "<b>no</b>" not in page(report)


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_for_not_asking_is_said_in_every_language(reason: str) -> None:
    report = made_report(own_data=OwnData(reason=reason))
    said = {
        language: own_data_sentences(report, PageWords(language, Templates(), "subject"))[-1]
        for language in LANGUAGES
    }
    assert len(set(said.values())) == len(LANGUAGES)
    assert reason.replace("'", APOSTROPHE) in said["en"]
