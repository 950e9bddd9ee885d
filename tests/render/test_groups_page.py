"""The group report in a real browser and on real paper."""

from io import BytesIO
from pathlib import Path

import pikepdf
import pytest
from playwright.sync_api import Browser, expect

from recourse_audit.render.pages.groups import groups_view
from recourse_audit.render.pdf import Printer
from recourse_audit.render.templates import Templates
from tests.render.browser import PHONE, findings, overflow, visit
from tests.render.group_reports import gap_report


@pytest.fixture(scope="module")
def html() -> str:
    return Templates().render("pages/groups.html", view=groups_view(gap_report()))


@pytest.fixture(scope="module")
def path(html: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("pages") / "groups.html"
    found.write_text(html, encoding="utf-8")
    return found


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_serious(chromium: Browser, path: Path, dark: bool) -> None:
    with visit(chromium, path, dark=dark) as seen:
        assert findings(seen.page) == []
        assert seen.problems == []
        assert len(seen.asked) == 1


def test_a_phone_shows_the_table_without_scrolling_sideways(chromium: Browser, path: Path) -> None:
    with visit(chromium, path, width=PHONE) as seen:
        assert overflow(seen.page) == 0
        frame = seen.page.get_by_role("region", name="At a glance").locator(".frame")
        assert frame.evaluate("one => one.scrollWidth - one.clientWidth") == 0
        expect(seen.page.get_by_text("gap shown: options and cost").first).to_be_visible()
        assert findings(seen.page) == []


def test_a_row_of_the_table_reads_as_a_sentence(chromium: Browser, path: Path) -> None:
    with visit(chromium, path) as seen:
        table = seen.page.get_by_role("region", name="At a glance").get_by_role("table")
        row = table.get_by_role("row").filter(has_text="south")
        expect(row.get_by_role("rowheader")).to_have_text("south")
        assert row.get_by_role("cell").count() == 5
        assert seen.page.get_by_role("img").count() >= 8


def test_the_paper_is_tagged_and_its_first_part_takes_three_sheets(html: str) -> None:
    paper = Printer(Templates())
    content = paper.pdf(html)
    assert content == paper.pdf(html)
    with pikepdf.open(BytesIO(content)) as pdf:
        assert str(pdf.docinfo["/Title"]) == "Group report"
        assert str(pdf.Root.Lang) == "en"
        assert bool(pdf.Root.MarkInfo.Marked)
        marks = [_place(pdf, item) for item in _outline(pdf)]
    named = dict(marks)
    assert named["At a glance"] == named["Findings"] == 0
    assert named["What could not be concluded"] <= 1
    assert named["Charts"] == 2
    assert named["Annex: how groups were tested"] == 3


def _outline(pdf: pikepdf.Pdf) -> list[pikepdf.OutlineItem]:
    with pdf.open_outline() as outline:
        return [child for item in outline.root for child in (item, *item.children)]


def _place(pdf: pikepdf.Pdf, item: pikepdf.OutlineItem) -> tuple[str, int]:
    """A heading, and the sheet that it is on."""
    assert isinstance(item.destination, pikepdf.Array)
    return item.title, pdf.pages.index(pikepdf.Page(item.destination[0]))
