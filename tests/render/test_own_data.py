"""Own data alone is said in words, and no word claims a cause."""

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from recourse_audit.records.subject import NotAlone, OwnData, SubjectReport
from recourse_audit.render.i18n import LANGUAGES, Words
from recourse_audit.render.redaction import Level
from recourse_audit.render.subject import SubjectPage
from recourse_audit.render.templates import Templates
from recourse_audit.render.terminal import show_subject
from tests.render.subject_pages import NAMED, read
from tests.render.subject_reports import facts, made_report, own_data

NOT_A_CAUSE = "not say what the cause of the decision was."
APOSTROPHE = "\N{RIGHT SINGLE QUOTATION MARK}"
SECTION = "Own data alone"


def words(**changes: Any) -> str:
    return read(made_report(own_data=own_data(**changes))).annex(SECTION)


def shown(report: SubjectReport, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width)
    show_subject(console, report, full=True, words=NAMED)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def page(report: SubjectReport, level: Level = "auditor") -> str:
    view = SubjectPage(report, facts(), level=level, words=NAMED)
    return Templates().render("pages/subject.html", view=view)


def test_what_is_decided_without_ties_is_said_and_no_cause_is_claimed() -> None:
    assert "With all ties removed, the model would still decide refused." in words()
    alone = own_data().alone
    assert alone is not None
    other = replace(alone, decision="approved", favourable=True, value=0.8)
    assert "the model would decide approved instead of refused." in words(alone=other)
    none = replace(alone, decision="", probabilities={}, value=None)
    assert "With all ties removed, the model gives no usable answer." in words(alone=none)
    assert words(alone=alone).endswith(
        f"This is the model{APOSTROPHE}s answer to a changed question; it does {NOT_A_CAUSE}"
    )


def test_what_was_not_asked_is_said_with_the_reason() -> None:
    report = made_report(own_data=OwnData(reason="random_answers"))
    sentence = f"Not everything was asked: the model{APOSTROPHE}s answers are random."
    assert sentence in " ".join(shown(report).split())
    assert sentence in read(report).annex(SECTION)
    assert SECTION not in shown(made_report(own_data=None))
    assert SECTION not in page(made_report(own_data=None))
    assert SECTION in page(report)


def test_the_subject_learns_the_answer_without_ties() -> None:
    for level in ("subject", "reviewer", "auditor"):
        html = page(made_report(), level)
        assert "With all ties removed, the model would still decide refused." in html
        assert NOT_A_CAUSE in html


def test_a_class_with_a_hostile_name_is_shown_as_text() -> None:
    name = "<b>no</b>[red]"
    report = made_report(classes=(name, "yes"))
    assert f"would still decide {Words().class_name(name)}" in shown(report, 400)
    assert "<b>no</b>" not in page(report)


@pytest.mark.parametrize("reason", ["random_answers", "depends_on_others"])
def test_every_reason_for_not_asking_is_said_in_every_language(reason: NotAlone) -> None:
    report = made_report(own_data=OwnData(reason=reason))
    said = {
        language: read(report, words=Words(language, Templates())).texts(".//details/p")[-1]
        for language in LANGUAGES
    }
    assert len(set(said.values())) == len(LANGUAGES)
    assert "Not everything was asked: the model" in said["en"]
