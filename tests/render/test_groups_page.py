"""The group report in a real browser and on real paper."""

import subprocess
from dataclasses import replace
from functools import cache
from io import BytesIO
from pathlib import Path

import pikepdf
import pytest
from playwright.sync_api import Browser, expect

from recourse_audit.render.i18n import LANGUAGES
from recourse_audit.render.pdf import Printer
from recourse_audit.render.templates import Templates
from tests.render.browser import EACH_LANGUAGE, PHONE, findings, overflow, visit
from tests.render.group_pages import ReadGroups
from tests.render.group_reports import gap_report, renamed_report
from tests.render.reading import read_pdf

LONG = "a name that goes on and on " * 11 + "end"


@cache
def pages_in(language: str) -> dict[str, str]:
    return ReadGroups(gap_report(), language).html


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages in every language, and some of groups whose names are long or right to left."""
    found = tmp_path_factory.mktemp("pages")
    pages = {language: pages_in(language) for language in LANGUAGES}
    for name, south in (("long", LONG), ("unbroken", "x" * 300), ("right", "جنوب")):
        pages[name] = ReadGroups(renamed_report(south)).html
    for name, html in pages.items():
        (found / f"{name}.html").write_text(html["groups"], encoding="utf-8")
        (found / f"{name}_annex.html").write_text(html["groups_annex"], encoding="utf-8")
    return found


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["en", pytest.param("en_annex", marks=pytest.mark.long)])
def test_axe_finds_nothing_serious(chromium: Browser, folder: Path, name: str, dark: bool) -> None:
    """`test_every_page` visits the pages in every language."""
    with visit(chromium, folder / f"{name}.html", dark=dark) as seen:
        assert findings(seen.page) == []
        assert seen.problems == []
        assert len(seen.asked) == 1


@pytest.mark.parametrize("name", [*EACH_LANGUAGE, "long", "unbroken", "right", "unbroken_annex"])
def test_nothing_overflows(chromium: Browser, folder: Path, name: str) -> None:
    with visit(chromium, folder / f"{name}.html", width=1200) as seen:
        for width in (1200, PHONE):
            seen.page.set_viewport_size({"width": width, "height": 900})
            assert overflow(seen.page) == 0, width
            wide = seen.page.evaluate(
                """() => [...document.querySelectorAll('.board *, .chart *')]
                  .filter(one => one.getBoundingClientRect().right > innerWidth + 1)
                  .filter(one => !one.closest('svg')).length"""
            )
            assert wide == 0, width


def test_the_first_screen_has_the_finding_the_cards_and_the_gaps(
    chromium: Browser, folder: Path
) -> None:
    with visit(chromium, folder / "en.html", width=1200) as seen:
        page = seen.page
        expect(page.get_by_role("heading", level=1)).to_contain_text("people with origin")
        assert page.locator(".card").count() == 4
        south = page.locator(".gaps").get_by_role("row").filter(has_text="south")
        expect(south.get_by_role("rowheader")).to_have_text("South against north")
        expect(south).to_contain_text("▲ gap shown")
        below = page.locator(".board").evaluate("one => one.getBoundingClientRect().bottom")
        assert below < 1300


@pytest.mark.parametrize("language", EACH_LANGUAGE)
def test_a_board_gets_four_sheets_and_the_rest_is_a_second_file(language: str) -> None:
    """With charts of as many attributes as a page has, of which one has three groups."""
    report = gap_report()
    origin, gender, crossed = report.tables
    ages = replace(origin, name="age_band", attributes=("age_band",))
    wide = replace(report, tables=(origin, gender, ages, crossed))
    content = Printer(Templates()).pdf(ReadGroups(wide, language).html["groups"])
    assert read_pdf(content).pages <= 4
    text = subprocess.run(["pdftotext", "-", "-"], input=content, capture_output=True, check=True)
    *sheets, _last, _end = text.stdout.decode("utf-8").split("\f")
    # No sheet has only what was too much for the one before.
    assert all(len(sheet.splitlines()) > 30 for sheet in sheets)


def test_the_papers_are_tagged_and_the_first_begins_with_the_board() -> None:
    printer = Printer(Templates())
    for name, title in (("groups", "Group report"), ("groups_annex", "Annex to the group report")):
        content = printer.pdf(pages_in("en")[name])
        assert content == printer.pdf(pages_in("en")[name])
        found = read_pdf(content)
        assert (found.language, found.title, found.marked) == ("en", title, True)
        text = " ".join(one.text for one in found.elements)
        assert ("Impact ratios" in text) == (name == "groups_annex")
    content = printer.pdf(pages_in("en")["groups"])
    with pikepdf.open(BytesIO(content)) as pdf, pdf.open_outline() as outline:
        items = [child for item in outline.root for child in (item, *item.children)]
        places = {
            item.title: pdf.pages.index(pikepdf.Page(item.destination[0]))
            for item in items
            if isinstance(item.destination, pikepdf.Array)
        }
    cards = [place for title, place in places.items() if "have an option" in title]
    assert set(cards) == {0}
    assert places["By origin"] <= 1
