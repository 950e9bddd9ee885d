"""The clerk's page: how far each letter is and what it needs, in a real browser, from a file."""

import csv
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from recourse_audit.bundle.register import COLUMNS as REGISTER_COLUMNS
from recourse_audit.records.bundle import CAUSES, LETTER_NOTES, MadeWith
from recourse_audit.records.texts import csv_lines
from recourse_audit.render.clerk import NEEDS, ClerkPage
from recourse_audit.render.letter_inputs import AddressLine, read_ids
from recourse_audit.render.write_letters import COLUMNS, Signing, write_letters
from tests.render.browser import EACH_LANGUAGE, PHONE, findings, overflow, visit
from tests.render.indexes import HOSTILE
from tests.render.letters import move, option, report, writer, written

MADE_WITH = MadeWith(
    what="letters", version="1", templates="t", paper=True, letters="l", addresses="a"
)
ALL = ("minor", "moderate", "serious", "critical")


def row(own: str, number: int = 0, **given: Any) -> dict[str, Any]:
    """A row of signing.csv; by default of a draft that nothing speaks against."""
    base = dict.fromkeys(COLUMNS, "") | {"status": "draft", "outcome": "options", "options": "2"}
    return base | {"id": own, "letter": f"{number:06d}-X"} | given


def sent(own: str, number: int = 1, how: str = "post") -> dict[str, str]:
    day = {"signed_by": "A. Clerk", "signed": "2026-11-17", "sent_by": "M. Post"}
    rest = dict.fromkeys(REGISTER_COLUMNS, "") | day | {"sent": "2026-11-18", "how": how}
    return rest | {"id": own, "number": str(number)}


SIGNED = {"status": "signed", "signed_by": "J. Example", "date": "2026-11-17"}
ROWS = (
    row("P9", 9, against="no-reason; fragile; unreviewed", notes="fixed", send_by="2026-11-26"),
    row("P10", 10, against="unreviewed", send_by="2026-11-20"),
    row("P7", 7, against="unchecked; unreviewed", notes="review", outcome="none_exists"),
    row("P5", 5, reviewer="B. Reader", reviewed="2026-11-16", send_by="2026-12-01", options="1"),
    row("P3", 3, outcome="none_found", notes="unfinished", options="0"),
    row("P2", 2, **SIGNED, against="fragile", accepted="fragile; unreviewed", outcome="staff"),
    row("P1", 1, **SIGNED, send_by="2026-11-19"),
)


REGISTER = (sent("P1", 4),)


def page_of(rows: Any = ROWS, register: Any = REGISTER, **given: Any) -> ClerkPage:
    table = "".join(csv_lines([COLUMNS, *([row[name] for name in COLUMNS] for row in rows)]))
    return ClerkPage(table, register, writer(**given), MADE_WITH)


def write_page(folder: Path, *rows: Any, language: str = "en", **given: Any) -> Path:
    path = folder / "index.html"
    page = page_of(*rows, language=language, **given)
    path.write_text(page.html(), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_page(tmp_path_factory.mktemp("letters"))


def ids(page: Page) -> list[str]:
    return page.locator("#rows th").all_inner_texts()


def cell(page: Page, own: str, name: str) -> list[str]:
    line = page.locator("#rows tr").filter(has=page.get_by_role("link", name=own, exact=True))
    return line.locator(f".at-{name}").inner_text().splitlines()


def test_every_cause_and_note_is_in_the_legend() -> None:
    assert {*NEEDS} == {*CAUSES, *LETTER_NOTES}


def test_letters_that_need_work_come_first_then_by_the_day_they_are_due() -> None:
    page = page_of()
    assert [letter["id"] for letter in page.letters] == ["P10", "P9", "P7", "P5", "P3", "P2", "P1"]
    assert "due" in page.columns
    assert "due" not in page_of([row("P1")], ()).columns  # where nothing is due
    assert page.counts == {"work": 3, "ready": 2, "signed": 1, "sent": 1}
    # What was signed is not counted among what letters need.
    assert page.needs == {
        "no-reason": 1,
        "unchecked": 1,
        "fixed": 1,
        "review": 1,
        "fragile": 1,
        "unfinished": 1,
        "unreviewed": 3,
    }


def test_settings_that_keep_all_letters_drafts_are_listed() -> None:
    html = page_of(profile="", sender="", facts={}).html()
    assert "Profile: none chosen" in html
    assert "All letters stay drafts until audit.toml gives these:" in html
    assert "letters.profile, letters.sender" in html
    html = page_of().html()
    assert "Profile: none chosen" not in html
    assert "stay drafts until" not in html


def test_a_row_says_what_is_to_do_and_what_is_done(chromium: Browser, path: Path) -> None:
    with visit(chromium, path) as seen:
        page = seen.page
        expect(page.get_by_role("heading", level=1)).to_have_text(
            "2 of 7 letters are ready to sign"
        )
        assert page.locator(".steps li").all_inner_texts() == [
            "3 need work\nWhat is missing is listed below.",
            "2 ready to sign\nNothing keeps them from being signed.",
            "1 signed\nThe text no longer changes.",
            "1 sent\nEntered in the register.",
        ]
        assert ids(page) == ["P10", "P9", "P7", "P5", "P3", "P2", "P1"]
        assert cell(page, "P9", "todo") == [
            "☐ Confirm the reasons",
            "☐ A reason is fixed: state it, never advise it",
            "☐ Fragile option: leave it out, or have it confirmed",
            "☐ Have the draft read",
        ]
        assert cell(page, "P5", "todo") == [
            "✓ Reasons confirmed",
            "✓ Read by B. Reader on 16 November 2026",
        ]
        assert cell(page, "P2", "todo") == [
            "✓ Signed by J. Example on 17 November 2026",
            "✓ Signed despite: Fragile option, Review of the draft",
        ]
        assert cell(page, "P1", "todo") == [
            "✓ Sent by post on 18 November 2026, register no.\N{NO-BREAK SPACE}4"
        ]
        assert cell(page, "P9", "due") == ["26 Nov 2026"]
        assert cell(page, "P1", "due") == []
        says = {own: cell(page, own, "says") for own in ("P5", "P7", "P3", "P2")}
        assert says == {
            "P5": ["1 option"],
            "P7": ["No option"],
            "P3": ["Search unfinished"],
            "P2": ["2 options, told in person"],
        }
        expect(page.locator("#rows").get_by_role("link", name="P9", exact=True)).to_have_attribute(
            "href", "../pages/subjects/000009-X.html"
        )
        link = page.get_by_role("link", name="Letter to P9, draft")
        expect(link).to_have_attribute("href", "000009-X.html")
        # What a screen reader is told is not on the page twice.
        expect(page.locator("#said")).to_contain_text("All 7 people")
        assert page.evaluate("document.getElementById('said').getBoundingClientRect().width") <= 1
        assert (seen.problems, len(seen.asked)) == ([], 1)


def test_the_legend_filters_and_the_address_keeps_it(chromium: Browser, path: Path) -> None:
    with visit(chromium, path) as seen:
        page = seen.page
        page.get_by_role("link", name="Compliance check").click()
        assert ids(page) == ["P7"]
        page.get_by_role("button", name="Clear search and filters").first.click()
        page.get_by_label("State").select_option("ready to sign")
        assert ids(page) == ["P5", "P3"]
        page.reload()
        assert ids(page) == ["P5", "P3"]
        with page.expect_download() as download:
            page.get_by_role("button", name="Save these rows as CSV").click()
        file = Path(download.value.path())
        assert read_ids(file) == ("P5", "P3")
        Signing(ids=read_ids(file), reopen=True)  # fit for --ids-file
        [head, first, _] = csv.reader(file.read_text(encoding="utf-8-sig").splitlines())
        assert dict(zip(head, first, strict=True))["State"] == "ready to sign"
        page.get_by_role("button", name="Clear search and filters").first.click()
        page.get_by_label("Person", exact=True).fill("p1")
        assert ids(page) == ["P10", "P1"]
        page.get_by_role("link", name="1 sent").click()
        assert ids(page) == ["P1"]
        page.get_by_role("button", name="Clear search and filters").first.click()
        page.get_by_role("button", name="Send by").click()
        assert ids(page)[:3] == ["P10", "P9", "P5"]
        page.get_by_role("button", name="Before you sign").click()
        page.get_by_role("button", name="Before you sign").click()
        assert ids(page)[0] == "P9"
        assert seen.problems == []


def test_what_looks_like_a_button_copies_the_command(chromium: Browser, path: Path) -> None:
    with visit(chromium, path) as seen:
        seen.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        sign = seen.page.get_by_role("listitem").filter(has_text="Sign the 2 letters")
        sign.get_by_role("button", name="Copy").click()
        expect(sign.get_by_role("button")).to_have_text("Copied")
        assert seen.page.evaluate("navigator.clipboard.readText()") == (
            "recourse-audit letters . --addresses ADDRESSES.csv --reviewed letters/signing.csv "
            '--sign-off "YOUR NAME" --all'
        )
        expect(seen.page.locator("#commands + p")).to_contain_text("the buttons copy them")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("language", EACH_LANGUAGE)
def test_axe_finds_nothing_and_nobody_scrolls_sideways(
    chromium: Browser, language: str, dark: bool, tmp_path: Path
) -> None:
    path = write_page(tmp_path, language=language)
    with visit(chromium, path, width=PHONE, dark=dark) as seen:
        assert findings(seen.page, ALL) == []
        assert overflow(seen.page) == 0
        assert (seen.problems, seen.fetched) == ([], [])
    with visit(chromium, path, dark=dark, print_=True) as seen:
        expect(seen.page.locator("#rows tr")).to_have_count(7)
        expect(seen.page.locator("#controls")).to_be_hidden()
        assert overflow(seen.page) == 0


def test_ids_are_text_whatever_they_look_like(chromium: Browser, tmp_path: Path) -> None:
    rows = [row(own, number, **SIGNED | {"signed_by": own}) for number, own in enumerate(HOSTILE)]
    with visit(chromium, write_page(tmp_path, rows, register=[sent(HOSTILE[0])])) as seen:
        assert len(ids(seen.page)) == len(HOSTILE)
        assert (seen.problems, len(seen.asked)) == ([], 1)
        assert seen.page.evaluate("document.scripts.length") == 4


def test_twenty_thousand_letters_are_paged(chromium: Browser, tmp_path: Path) -> None:
    rows = [
        row(
            f"P{n}",
            n,
            against=("no-reason; unreviewed", "", "fragile")[n % 3],
            send_by="2026-11-26",
        )
        for n in range(20_000)
    ]
    path = write_page(tmp_path, rows, register=())
    assert path.stat().st_size < 3_000_000
    with visit(chromium, path) as seen:
        assert len(ids(seen.page)) == 50
        seen.page.get_by_role("link", name="Fragile option").click()
        expect(seen.page.locator("#count")).to_contain_text("6,666 of 20,000 people")
        seen.page.get_by_label("Person", exact=True).fill("P19997")
        assert ids(seen.page) == ["P19997"]
        assert seen.problems == []


def test_without_a_script_the_first_letters_are_there(chromium: Browser, path: Path) -> None:
    context = chromium.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(path.as_uri())
        expect(page.locator("#overview tbody tr")).to_have_count(7)
        expect(page.locator("#without-script")).to_contain_text("signing.csv")
        expect(page.locator("#overview tbody tr").nth(1)).to_contain_text("☐ Confirm the reasons")
        expect(page.get_by_role("button", name="Copy")).to_have_count(0)
    finally:
        context.close()


def test_a_letter_is_due_some_days_after_the_application_was_complete() -> None:

    slots = {"agency": "A", "reasons_office": "B"}
    facts = {"consumer_report": False, "other_information": False}
    by = writer(profile="us-credit", slots=slots, facts=facts)
    letter = written(report(option(move("savings", 1.0, 2.0))), by)

    def due(completed: str | None, who: Any = by) -> str:
        line = None if completed is None else AddressLine(completed)
        details = (None, None, AddressLine("A-1"), line)
        return str(who.summary(replace(letter, details=details))[2])

    assert due("2026-10-27") == "2026-11-26"
    assert [due(text) for text in ("2026-02-30", "9999-12-31", "last week", None)] == [""] * 4
    assert due("2026-10-27", writer()) == ""  # no law, no day
    assert by.summary(letter)[:2] == ("options", "1")


def test_a_folder_of_letters_has_the_page_and_it_is_sealed(made: Path) -> None:
    page = (made / "letters" / "index.html").read_text(encoding="utf-8")
    assert "0 of 2 letters are ready to sign" in page
    assert "Confirm the reasons" in page
    assert '"index.html"' in (made / "letters" / "manifest.json").read_text(encoding="utf-8")


def test_the_index_leads_to_the_letters_and_back(made: Path) -> None:
    index = (made / "pages" / "index.html").read_text(encoding="utf-8")
    assert '<a href="../letters/index.html">Letters</a>' in index
    page = (made / "letters" / "index.html").read_text(encoding="utf-8")
    assert '<a href="../pages/index.html">' in page
    for link in re.findall(r'"(\.\./pages/subjects/[^"]+)"', page):
        assert (made / "letters" / link).resolve().is_file()


def test_pages_and_letters_are_the_same_each_time(bundle: Path) -> None:
    path = bundle / "letters" / "index.html"
    write_letters(bundle)
    first = path.read_bytes()
    write_letters(bundle)
    assert path.read_bytes() == first
