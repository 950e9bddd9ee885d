"""Long, right-to-left and pictorial texts stay within the margins of a letter, and stay text."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from recourse_audit.render.letters import LetterWriter
from recourse_audit.render.pdf import Printer
from recourse_audit.render.templates import Templates
from recourse_audit.render.text import plain
from recourse_audit.settings import parse_settings
from tests.render.letters import (
    OWN,
    SIGNED,
    TABLES,
    drop,
    move,
    option,
    report,
    with_subject,
    writer,
    written,
)
from tests.render.reading import read_pdf

# In points: A4, and the margins of letter.css; the footer is in the margin below.
LEFT, RIGHT, TOP, BOTTOM = 70.8, 595.3 - 56.6, 40.0, 841.9
LONG = "W" * 300
ARABIC = "ضامن القرض"
EMOJI = "\N{BANK}\N{ZERO WIDTH JOINER}\N{FAMILY} guarantor \N{ROCKET}"
FOUND = report(
    option(drop("P1000"), move("savings", 2000.0, 17000.0)),
    option(drop("P1000"), holds=0.2),
    ties={"guarantor": 4},
)
WORD = re.compile(
    r'<word xMin="([\d.-]+)" yMin="([\d.-]+)" xMax="([\d.-]+)" yMax="([\d.-]+)">(.*?)</word>'
)


def words(text: str) -> dict[str, Any]:
    return {"words": {"en": {"ties": {"guarantor": {"name": [text, text]}}, "savings": text}}}


def boxes(pdf: bytes, folder: Path) -> list[tuple[float, float, float, float, str]]:
    """Where each word of a PDF is, from the top left corner of its page, and the word."""
    path = folder / "letter.pdf"
    path.write_bytes(pdf)
    made = subprocess.run(["pdftotext", "-bbox", path, "-"], capture_output=True, check=True)
    text = made.stdout.decode("utf-8", "replace")
    return [
        (float(left), float(top), float(right), float(bottom), word)
        for left, top, right, bottom, word in WORD.findall(text)
    ]


@pytest.fixture(scope="module")
def paper() -> Printer:
    return Printer(Templates())


@pytest.mark.parametrize(
    ("own", "given", "pages"),
    [
        (OWN, {}, 1),
        ("P" * 300, {}, 1),
        (LONG, {}, 1),
        (OWN, words(LONG), 2),
        (OWN, words(LONG) | {"sender": LONG, "about": LONG, "contact": [LONG]}, 3),
        (ARABIC * 30, words(ARABIC) | {"sender": ARABIC, "about": ARABIC}, 1),
        (EMOJI, words(EMOJI), 1),
        (OWN, {"words": {"en": {"ties": {"guarantor": {"end": [EMOJI, "{count} " + ARABIC]}}}}}, 1),
    ],
)
def test_no_text_leaves_the_margins(
    own: str, given: dict[str, Any], pages: int, paper: Printer, tmp_path: Path
) -> None:
    # A draft has a word across the page.
    by = writer(sign_off=SIGNED, **given)
    pdf = paper.pdf(by.html(written(with_subject(FOUND, id=own), by)))
    found = boxes(pdf, tmp_path)
    assert len(found) > 100
    for left, top, right, bottom, word in found:
        assert left >= LEFT, word
        assert right <= RIGHT, word
        assert top >= TOP, word
        assert bottom <= BOTTOM, word
    reading = read_pdf(pdf)
    assert reading.pages <= pages
    assert reading.untagged == ()


@pytest.mark.parametrize("kind", [EMOJI, ARABIC])
def test_a_kind_of_tie_that_is_a_picture_or_runs_leftwards_is_told(
    kind: str, paper: Printer
) -> None:
    ties = {"ties": [{"kind": kind, "allow": ["drop"]}]}
    tables = TABLES | {"recourse": TABLES["recourse"] | ties}
    by = LetterWriter(parse_settings(tables, folder=Path(), origin="audit.toml"), Templates())
    letter = written(report(option(drop("P1000", kind)), ties={kind: 4}), by)
    assert letter.outcome == "options"
    html = by.html(letter)
    assert plain(kind) in html
    assert "end one of your connections of this kind" in html
    assert "end one of your connections of this kind" in read_pdf(paper.pdf(html)).text


def test_a_long_address_pushes_the_letter_down_and_covers_nothing(
    paper: Printer, tmp_path: Path
) -> None:
    lines = ",".join("W" * 200 for _ in range(5))
    path = tmp_path / "addresses.csv"
    path.write_text(f"id,line1,line2,line3,line4,line5\n{OWN},{lines}\n", encoding="utf-8")
    by = writer(sign_off=SIGNED, addresses=path)
    placed = boxes(paper.pdf(by.html(written(FOUND, by))), tmp_path)
    window = max(bottom for _, _, _, bottom, word in placed if word.startswith("WW"))
    heading = next(top for _, top, _, _, word in placed if word == "application")
    assert window > 250  # lower than the heading of an ordinary letter
    assert heading >= window - 2


def test_the_margin_repeats_a_short_form_of_a_long_reference() -> None:
    by = writer()
    assert f'<main data-reference="{OWN}">' in by.html(written(FOUND, by))
    html = by.html(written(with_subject(FOUND, id="a" * 150 + "b" * 150), by))
    assert f'<main data-reference="{"a" * 19}…{"b" * 19}">' in html
