"""The group report in a real browser and on real paper."""

from io import BytesIO
from pathlib import Path

import pikepdf
import pytest
from playwright.sync_api import Browser, expect

from recourse_audit.render.i18n import LANGUAGES, Words
from recourse_audit.render.pages.groups import groups_view
from recourse_audit.render.pdf import Printer
from recourse_audit.render.templates import Templates
from tests.render.browser import EACH_LANGUAGE, PHONE, findings, overflow, visit
from tests.render.group_reports import gap_report, renamed_report
from tests.render.reading import read_pdf

LONG = "a name that goes on and on " * 11 + "end"


def html_in(language: str) -> str:
    words = Words(language, Templates())
    return Templates().render("pages/groups.html", view=groups_view(gap_report(), words=words))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page in every language, and one of groups whose names are long or right to left."""
    found = tmp_path_factory.mktemp("pages")
    for language in LANGUAGES:
        (found / f"{language}.html").write_text(html_in(language), encoding="utf-8")
    for name, south in (("long", LONG), ("unbroken", "x" * 300), ("right", "جنوب")):
        view = groups_view(renamed_report(south))
        page = Templates().render("pages/groups.html", view=view)
        (found / f"{name}.html").write_text(page, encoding="utf-8")
    return found


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_serious(chromium: Browser, folder: Path, dark: bool) -> None:
    """In all details; `test_every_page` visits the page in every language."""
    with visit(chromium, folder / "en.html", dark=dark) as seen:
        seen.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert findings(seen.page) == []
        assert seen.problems == []
        assert len(seen.asked) == 1


@pytest.mark.parametrize("name", [*EACH_LANGUAGE, "long", "unbroken", "right"])
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
        south = page.locator(".gaps").get_by_role("row").filter(has_text="South against")
        expect(south).to_contain_text("▲ gap shown")
        below = page.locator(".board").evaluate("one => one.getBoundingClientRect().bottom")
        assert below < 1300


def test_the_annex_is_folded_on_a_screen_and_opens_by_keyboard(
    chromium: Browser, folder: Path
) -> None:
    with visit(chromium, folder / "en.html") as seen:
        summary = seen.page.get_by_text("Impact ratios", exact=True)
        table = seen.page.get_by_role("table", name="Impact ratios by gender", exact=True)
        expect(table).not_to_be_visible()
        summary.focus()
        seen.page.keyboard.press("Enter")
        expect(table).to_be_visible()


def test_the_paper_is_tagged_complete_and_begins_with_the_board() -> None:
    html, paper = html_in("en"), Printer(Templates())
    content = paper.pdf(html)
    assert content == paper.pdf(html)
    found = read_pdf(content)
    assert (found.language, found.title, found.marked) == ("en", "Group report", True)
    text = " ".join(one.text for one in found.elements)
    for words in (
        "Impact ratios by origin, gender",
        "Every test of two attributes crossed",
        "Tested are refusals, having an option and effort",
    ):
        assert words in text, "what is folded on a screen is whole on paper"
    with pikepdf.open(BytesIO(content)) as pdf, pdf.open_outline() as outline:
        items = [child for item in outline.root for child in (item, *item.children)]
        places = {
            item.title: pdf.pages.index(pikepdf.Page(item.destination[0]))
            for item in items
            if isinstance(item.destination, pikepdf.Array)
        }
    cards = [
        place
        for title, place in places.items()
        if "have an option" in title and "Of those" not in title
    ]
    assert cards == [0]
    assert places["By origin"] == 1
