"""The report on a subject in four languages: the same claims, and no English left in the others."""

import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from typing import Any, get_args

import networkx as nx
import pytest

from recourse_audit.records.model import (
    NoteCode,
    Repeats,
)
from recourse_audit.records.recourse import (
    Action,
    Certificate,
    LeftOut,
    Permitted,
    Robustness,
    SetAction,
    TieAction,
    survival,
)
from recourse_audit.records.subject import SubjectReport
from recourse_audit.render.i18n import LANGUAGES, PLACEHOLDER, Words
from recourse_audit.render.redaction import LEVELS, Level
from recourse_audit.render.subject import SubjectPage
from recourse_audit.render.templates import Templates
from tests.render.subject_reports import (
    PROBES,
    facts,
    made_report,
    option,
    own_carriers,
    whole_graph,
    with_first,
    with_recourse,
)

OTHERS = [language for language in LANGUAGES if language != "en"]
# What a user's files say: it is not ours to translate.
CLASSES = ("xnegx", "xposx")
# Words that are the same in English and another language.
SAME = {"Person", "Effort"}


@cache
def words_of(language: str) -> Words:
    return Words(language, Templates())


@pytest.mark.parametrize("language", OTHERS)
def test_every_message_of_the_page_differs_from_the_english_one(language: str) -> None:
    words, english = words_of(language), words_of("en")
    for key in english.keys:
        if not key.startswith("subject.") or not _letters(english.forms(key)[-1]):
            continue
        assert words.forms(key) != english.forms(key) or words.say(key) in SAME, key


def _letters(text: str) -> str:
    """What is left of a message without placeholders, numbers and signs."""
    return re.sub(r"[\W\d_νμ]", "", PLACEHOLDER.sub("", text))


def reports() -> dict[str, SubjectReport]:
    """Reports that together say nearly everything a page can say."""
    changes: dict[str, Any] = {"classes": CLASSES, "kind": "xkindx", "attribute": "xattrx"}
    made = made_report(nx.star_graph(12), **changes)
    fragile = Robustness(draws=50, ties=survival(20, 50), attributes=survival(25, 50))
    actions: list[Action] = [
        TieAction(do="drop", tie=("P0000", "P0001"), kind="xkindx"),
        TieAction(do="add", tie=("P0000", "P0003"), kind="xkindx"),
        SetAction(attribute="xattrx", before=1.0, after=2.0, unit="xunitx"),
    ]
    full = own_carriers(with_first(made, whole_graph=_whole(0.8)), *(0.8,) * 12)
    full = with_recourse(
        full,
        options=(option(actions, 1.0, classes=CLASSES, robustness=fragile, verified=False),),
    )
    figures = dict.fromkeys(("calls", "differed", "largest", "declared", "used", "loops"), 0.25)
    broken = replace(PROBES, notes=dict.fromkeys(get_args(NoteCode), figures))
    open_ = Certificate(
        max_changes=3,
        tried=10,
        possible=20,
        complete_up_to=1,
        permitted=Permitted(drop=2, add=1, set={"xattrx": 4}),
        left_out=LeftOut(implications=2, conditions=None, formulas=1),
        denied=2,
    )
    nothing = Certificate(max_changes=3)
    return {
        "full": full,
        "open": with_recourse(
            replace(made, probes=broken, repeats=Repeats(calls=9, differed=1, largest=0.1)),
            status="not_found_within_budget",
            options=(),
            certificate=open_,
        ),
        "none": with_recourse(
            replace(made, note="no_ties", ego_network=None, counterfactuals=(), caveats=()),
            status="certified_infeasible",
            options=(),
            certificate=nothing,
        ),
    }


def _whole(after: float) -> Any:
    found = whole_graph(after)
    chances = dict(zip(CLASSES, found.probabilities.values(), strict=True))
    return replace(found, probabilities=chances, decision=CLASSES[0])


class _Text(HTMLParser):
    """The words of a page in its own language: texts, labels and alternatives, no quotes."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self._quoted = 0
        self._style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if self._quoted or (tag == "span" and found.get("lang") == "en"):
            self._quoted += 1
        self._style = tag in ("style", "script")
        self.words += [value for name, value in attrs if name == "aria-label" and value]

    def handle_endtag(self, tag: str) -> None:
        del tag
        self._quoted = max(0, self._quoted - 1)
        self._style = False

    def handle_data(self, data: str) -> None:
        if not self._quoted and not self._style:
            self.words.append(data)


def read(language: str, report: SubjectReport, level: Level) -> str:
    view = SubjectPage(report, facts(CLASSES), words=words_of(language), level=level)
    found = _Text()
    found.feed(Templates().render("pages/subject.html", view=view))
    return " ".join(" ".join(found.words).split())


def pieces(text: str) -> list[str]:
    """What a message says between its placeholders, as far as it is words."""
    return [
        piece.strip()
        for piece in PLACEHOLDER.split(text)[::2]
        if len(_letters(piece)) >= 4 and len(piece.split()) >= 2
    ]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("language", OTHERS)
def test_a_page_has_no_english_message_left_in_another_language(
    language: str, level: Level
) -> None:
    english = words_of("en")
    said = {
        piece
        for key in english.keys
        if key.startswith("subject.")
        for form in english.forms(key)
        for piece in pieces(form)
    }
    for report in reports().values():
        shown = read(language, report, level)
        assert [piece for piece in said if piece in shown] == []
        # And what is not in a catalogue: words that only English has.
        assert re.findall(r"\b(?:the|with|were|which|person \d)\b", shown) == []


def test_the_check_for_english_finds_it() -> None:
    said = [piece for form in words_of("en").forms("subject.cf.lead") for piece in pieces(form)]
    shown = read("en", reports()["full"], "auditor")
    assert all(piece in shown for piece in said)


def test_figures_are_written_as_each_language_writes_them() -> None:
    report = reports()["full"]
    space = "\N{NO-BREAK SPACE}"
    for language, figure, share in (
        ("en", "0.100", "20 of 50"),
        ("de", "0,100", "20 von 50"),
        ("fr", "0,100", "20 sur 50"),
        ("es", "0,100", "20 de 50"),
    ):
        shown = read(language, report, "auditor")
        assert f"{figure}{space}→" in shown.replace(f"{figure} →", f"{figure}{space}→")
        assert share in shown


@pytest.mark.parametrize("language", LANGUAGES)
def test_spaces_that_do_not_break_are_drawn_as_spaces(language: str) -> None:
    """Pictures write out what is not printable, which these are not by Python's rules."""
    assert "xa0" not in read(language, reports()["full"], "auditor")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_names_its_language(language: str) -> None:
    view = SubjectPage(made_report(), facts(), words=words_of(language))
    assert f'<html lang="{language}">' in Templates().render("pages/subject.html", view=view)
