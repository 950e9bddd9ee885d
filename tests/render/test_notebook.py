"""What a notebook shows of a record: what the terminal shows, and a hostile name is only text."""

from html import unescape

import pytest

from recourse_audit.records import Record
from recourse_audit.records.model import (
    ListedOutput,
    ModelInput,
    ModelOutput,
    ModelReport,
)
from recourse_audit.records.recourse import TieAction, WhatIf, forbid
from recourse_audit.records.search import Ranks
from recourse_audit.records.subject import StabilityReport
from recourse_audit.render.terminal import html_of
from tests.render.group_reports import quiet_report
from tests.render.subject_reports import PROBES, made_report

HOSTILE = "<script>alert(1)</script>[bold]&\x1b[2J"
SHOWN = "<script>alert(1)</script>[bold]&\\x1b[2J"


def what_if(name: str) -> WhatIf:
    return WhatIf(
        actions=(TieAction(do="drop", tie=(name, "other"), kind="guarantor"),),
        decision="approved",
        favourable=True,
        probabilities={"denied": 0.4, "approved": 0.6},
        margin_before=-0.8,
        margin=0.2,
        forbidden=(forbid("kind_denied", kind="family"),),
    )


def stability(name: str) -> StabilityReport:
    return StabilityReport(
        kind="links",
        subjects=1,
        unanswered=(name,),
        rows=(),
        changed=(),
        unchanged=(),
    )


def model(name: str) -> ModelReport:
    return ModelReport(
        sha256="0" * 64,
        inputs=(
            ModelInput(
                name=name, dtype="float32", shape=(None, 5), role=None, why="", sure="unsure"
            ),
        ),
        output=ModelOutput(
            name="logits", dtype="float32", shape=("n", 2), kind="logits", classes=2, why="a name"
        ),
        outputs=(
            ListedOutput(
                name=name,
                dtype="float32",
                shape=("n", 2),
                rows="node",
                columns=2,
                looks="",
                hops=None,
                taken="",
            ),
        ),
        probes=PROBES,
        problem=f"no role for {name}",
    )


RECORDS = {
    "subject": lambda name: made_report(name=lambda place: name if place == 0 else str(place)),
    "what if": what_if,
    "stability": stability,
    "model": model,
}


@pytest.mark.parametrize("name", ["P0004", HOSTILE], ids=["plain", "hostile"])
@pytest.mark.parametrize("kind", RECORDS)
def test_a_record_is_shown_with_its_names_as_text(kind: str, name: str) -> None:
    html = html_of(RECORDS[kind](name))
    assert html.startswith("<pre")
    assert html.endswith("</pre>")
    assert "<script" not in html
    assert "\x1b" not in html
    assert (SHOWN if name == HOSTILE else name) in unescape(html)


def test_a_subject_is_shown_as_in_the_terminal() -> None:
    text = unescape(html_of(made_report()))
    for words in (
        "P0000: ",
        "As decided",
        "2 options",
        "did not necessarily cause it",
        "to_dict(): ",
    ):
        assert words in text
    assert "--full" not in text, "a notebook has no such option"


def test_groups_are_shown_as_in_the_terminal() -> None:
    assert "having an option" in html_of(quiet_report())


def test_a_record_without_a_view_is_shown_by_its_repr() -> None:
    record = Ranks(simulatability=1, relevance=2, sum=3)
    assert unescape(html_of(record)) == f"<pre>{record!r}</pre>"


@pytest.mark.parametrize("record", [made_report(), what_if("a"), stability("a")])
def test_a_notebook_asks_the_record_itself(record: Record) -> None:
    import recourse_audit.api  # noqa: F401  # the front door tells records how they look

    assert record._repr_html_() == html_of(record)


def test_a_notebook_shows_a_report_once(monkeypatch: pytest.MonkeyPatch) -> None:
    displays: list[object] = []
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setattr("rich.jupyter.display", lambda *_: displays.append(1))
    assert "<pre" in html_of(quiet_report())
    assert displays == []
