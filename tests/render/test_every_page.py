"""Index, group report and subject report in every language: on a screen, a phone and paper."""

import io
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pikepdf
import pytest
from playwright.sync_api import Browser

from recourse_audit.render.groups import GroupPage
from recourse_audit.render.i18n import Words
from recourse_audit.render.index import Links
from recourse_audit.render.pdf import Printer
from recourse_audit.render.subject import SubjectPage
from recourse_audit.render.templates import Templates
from recourse_audit.settings.letters import AuditSettings
from tests.render.browser import EACH_LANGUAGE, PHONE, findings, overflow, visit
from tests.render.group_reports import gap_report
from tests.render.indexes import page_of, some_subjects
from tests.render.reading import read_pdf
from tests.render.subject_reports import facts, made_report

KINDS = ("index", "groups", "groups_annex", "subject")
DESK = 1200
# A4 in points, and the margins of pages.
WIDTH, HEIGHT, SIDE = 595.3, 841.9, 45.0
WORD = re.compile(r'<word xMin="([\d.-]+)" yMin="([\d.-]+)" xMax="([\d.-]+)" yMax="([\d.-]+)">')
TEMPLATES = Templates()


def html_of(kind: str, language: str) -> str:
    if kind == "index":
        links = {n: Links(file=f"{n:06d}", letter=True) for n in range(10)}
        view: Any = page_of(
            some_subjects(),
            links,
            gap_report(),
            language=language,
            options={"paper": True},
        )
    elif kind.startswith("groups"):
        view = GroupPage(gap_report(), Words(language, TEMPLATES), TEMPLATES)
    else:
        words = Words(language, TEMPLATES)
        view = SubjectPage(made_report(), facts(), words=words)
    audit = AuditSettings(title="Lending", organisation="Sampletown Bank", notice="Sample data.")
    return TEMPLATES.render(f"pages/{kind}.html", view=view, audit=audit)


@cache
def pdf_of(kind: str, language: str) -> bytes:
    return Printer(TEMPLATES).pdf(html_of(kind, language))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", EACH_LANGUAGE)
def test_nothing_overflows_and_axe_finds_nothing_serious(
    language: str, kind: str, chromium: Browser, tmp_path: Path
) -> None:
    path = tmp_path / f"{kind}.html"
    path.write_text(html_of(kind, language), encoding="utf-8")
    for width, dark in ((DESK, False), (PHONE, True)):
        with visit(chromium, path, width=width, dark=dark) as seen:
            assert overflow(seen.page) == 0, width
            assert _cut_off(seen.page) == [], width
            assert kind == "subject" or _tiny(seen.page) == [], width
            assert findings(seen.page) == []
            assert seen.problems == []
            assert seen.page.evaluate("document.documentElement.lang") == language


def _tiny(page: Any) -> list[str]:
    """Words that are smaller than 11 px as they are drawn, those of pictures included."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll("body *")].filter((one) => {
          const words = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
          if (!words || !one.getClientRects().length || one.tagName === "title") return false;
          const matrix = one.ownerSVGElement ? one.getScreenCTM() : null;
          return parseFloat(getComputedStyle(one).fontSize) * (matrix ? matrix.a : 1) < 10.95;
        }).map((one) => one.textContent.trim().slice(0, 60))"""
    )
    return found


def _cut_off(page: Any) -> list[str]:
    """The words of every element that is wider than the box which clips it."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll("main *")]
          .filter((one) => one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1
            && getComputedStyle(one).overflowX === "hidden"
            && !one.classList.contains("unseen"))
          .map((one) => one.textContent.slice(0, 60))"""
    )
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", EACH_LANGUAGE)
def test_paper_is_tagged_and_its_text_stays_on_the_sheet(
    language: str, kind: str, tmp_path: Path
) -> None:
    pdf = pdf_of(kind, language)
    found = read_pdf(pdf)
    assert (found.language, found.part, found.marked) == (language, "1", True)
    assert found.untagged == ()
    title = next(one.text for one in found.elements if one.role == "/H1")
    running = {line for line in found.outside if not re.fullmatch(r"\d+ / \d+", line)}
    assert all(line in title for line in running), "in the margins, where it may take two lines"
    assert found.text.strip()
    path = tmp_path / "page.pdf"
    path.write_bytes(pdf)
    boxes = subprocess.run(["pdftotext", "-bbox", path, "-"], capture_output=True, check=True)
    words = WORD.findall(boxes.stdout.decode("utf-8", "replace"))
    assert len(words) > 100
    for left, top, right, bottom in (tuple(map(float, word)) for word in words):
        assert SIDE <= left <= right <= WIDTH - SIDE + 2
        assert 0 <= top <= bottom <= HEIGHT


@pytest.mark.parametrize("kind", KINDS)
def test_the_tree_of_a_paper_has_rows_in_tables_and_words_for_pictures(
    kind: str,
) -> None:
    pdf = pdf_of(kind, "en")
    for element in read_pdf(pdf).elements:
        if element.role == "/TR":
            assert element.path[-1] in ("/Table", "/THead", "/TBody", "/TFoot"), element
            assert "/TR" not in element.path[element.path.index("/Table") :], element
        if element.role in ("/TH", "/TD"):
            assert element.path[-1] == "/TR", element
    with pikepdf.open(io.BytesIO(pdf)) as opened:
        figures = list(_figures(opened.Root.StructTreeRoot))
    assert bool(figures) == (kind != "groups_annex")
    assert [alt for alt in figures if not alt] == []


def _figures(element: Any) -> Any:
    """The text alternative of every figure below an element."""
    if element.get("/S") == "/Figure":
        yield str(element.get("/Alt", ""))
    kids = element.get("/K", [])
    for kid in kids if isinstance(kids, pikepdf.Array) else [kids]:
        if isinstance(kid, pikepdf.Dictionary):
            yield from _figures(kid)


@pytest.mark.parametrize("language", EACH_LANGUAGE)
def test_the_first_sheet_of_the_index_is_the_board_page(language: str, tmp_path: Path) -> None:
    path = tmp_path / "index.pdf"
    path.write_bytes(pdf_of("index", language))
    words = Words(language, TEMPLATES)
    sheets = subprocess.run(["pdftotext", path, "-"], capture_output=True, check=True)
    first, second, *_ = sheets.stdout.decode("utf-8").split("\f")
    assert words.say("board.limits") in " ".join(first.split())
    # The list of people follows, and its heading stands on no other sheet than its first rows.
    headed = first if words.say("index.people") in first.splitlines() else second
    _, _, rows = headed.partition(words.say("index.people"))
    assert re.search(r"^P\d+$", rows, re.MULTILINE), rows
