"""The index in a real browser, from a file, as a person uses it."""

import csv
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from recourse_audit.render.i18n import MINUS
from recourse_audit.render.text import plain
from recourse_audit.settings import load_settings
from tests.audits import quick_audit
from tests.render.browser import DESK, PHONE, findings, overflow, visit
from tests.render.indexes import HOSTILE, some_subjects, write_index
from tests.render.stores import subject


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_index(tmp_path_factory.mktemp("bundle"), some_subjects())


@pytest.fixture(scope="module")
def long_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    subjects = [subject(f"P{n}", cheapest_cost=float(n % 7)) for n in range(120)]
    return write_index(tmp_path_factory.mktemp("long"), subjects)


EVERYONE = "#list=all"
ORDER = ["P4", "P8", "P9", "P1", "P6", "P7", "P10", "P2", "P3", "P5"]


def ids(page: Page) -> list[str]:
    return page.locator("#rows th").all_inner_texts()


def column(page: Page, name: str) -> list[str]:
    cells = page.locator(f"#rows td.at-{name}").all_inner_texts()
    return [" ".join(cell.split()) for cell in cells]


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.innerText || document.activeElement.id"))


def test_an_overview_comes_first_and_everyone_is_one_click_away(
    chromium: Browser, index: Path
) -> None:
    with visit(chromium, index) as seen:
        page = seen.page
        assert ids(page) == []
        assert page.locator("#overview .person th").all_inner_texts() == [
            *(name for name in ORDER if name != "P3"),
        ]
        expect(page.locator("#count")).to_have_text(
            "All 10 people; those who need a person’s attention come first"  # noqa: RUF001
        )
        page.get_by_role("link", name="1 more person").click()
        assert ids(page) == ["P3"]
        expect(page.locator("#overview")).to_be_hidden()
        page.go_back()
        expect(page.locator("#overview")).to_be_visible()
        page.get_by_role("button", name="List everyone").click()
        assert ids(page) == ORDER
        expect(page.locator("#count")).to_have_text(
            "All 10 people, sorted by “Easiest option”, those who need a person’s attention first"  # noqa: RUF001
        )
        assert column(page, "effort")[1:4] == ["", "9.5", "2.0"]
        assert column(page, "holds")[2:4] == ["25 of 50 ▲ fragile", "45 of 50"]
        assert column(page, "value")[2:4] == [f"{MINUS}0.250", f"{MINUS}0.125"]
        assert column(page, "what")[8] == "Search unfinished: 27 of 80 combinations tried"
        assert column(page, "alone")[:2] == ["refused", "approved"]
        assert seen.problems == []
        assert len(seen.asked) == 1


def test_filters_lead_from_a_finding_to_the_people_and_stay_in_the_address(
    chromium: Browser, tmp_path: Path
) -> None:
    rows = [subject(f"P{n}", favourable_alone=n % 3 == 0) for n in range(12)]
    members = {n: {"origin": "south" if n % 2 else "north"} for n in range(12)}
    changes = {n: (("raise", "savings"),) if n < 6 else (("drop", "payment"),) for n in range(12)}
    settings = load_settings(quick_audit(tmp_path))
    source = {"settings": settings, "members": members, "cheapest": changes}
    with visit(chromium, write_index(tmp_path, rows, source=source)) as seen:
        page = seen.page
        page.get_by_label("Origin").select_option("South")
        page.get_by_label("Easiest option includes").select_option("stop a standing payment")
        assert ids(page) == ["P7", "P9", "P11"]
        page.get_by_label("Without ties").first.select_option("approved")
        assert ids(page) == ["P9"]
        expect(page.get_by_label("Origin").locator("option").nth(1)).to_have_text("North (1)")
        page.reload()
        assert ids(page) == ["P9"]
        expect(page.get_by_label("Origin")).to_have_value("South")
        with page.expect_download() as download:
            page.get_by_role("button", name="Save these rows as CSV").click()
        text = Path(download.value.path()).read_text(encoding="utf-8-sig")
        [head, row] = csv.reader(text.splitlines())
        assert row[:3] == ["P9", "South", "refused"]
        assert head[:3] == ["Person", "Origin", "Decision"]
        assert "Stop a standing payment" in row
        assert seen.problems == []


def test_two_people_stand_side_by_side(chromium: Browser, index: Path) -> None:
    with visit(chromium, index) as seen:
        page = seen.page
        page.get_by_text("Compare two people").click()
        page.get_by_label("First person").fill("P1")
        page.get_by_label("Second person").fill("P9")
        page.get_by_role("button", name="Compare").click()
        table = page.get_by_role("table", name="Compare two people")
        expect(table.get_by_role("row", name="Effort")).to_have_text("Effort2.09.5")
        expect(table.get_by_role("link", name="P9")).to_have_attribute(
            "href", "subjects/000001-P9.html"
        )
        assert table.locator(".differs th").first.inner_text() == "Distance to the cut-off"
        page.reload()
        expect(table.get_by_role("row", name="Worked in")).to_have_text("Worked in45 of 5025 of 50")
        page.get_by_label("Second person").fill("P99")
        page.get_by_role("button", name="Compare").click()
        expect(page.get_by_text("Nobody in this audit has this id.")).to_be_visible()
        expect(table).to_be_hidden()
        assert findings(page) == []
        assert seen.problems == []


def test_what_a_spreadsheet_would_run_is_saved_as_text(chromium: Browser, tmp_path: Path) -> None:
    rows = [subject(name) for name in ("=1+1", "@SUM(A1)", "-2", 'a"b,c')]
    with visit(chromium, write_index(tmp_path, rows), fragment=EVERYONE) as seen:
        with seen.page.expect_download() as download:
            seen.page.get_by_role("button", name="Save these rows as CSV").click()
        text = Path(download.value.path()).read_text(encoding="utf-8-sig")
        saved = {row[0] for row in csv.reader(text.splitlines()[1:])}
        assert saved == {"'=1+1", "'@SUM(A1)", "-2", 'a"b,c'}


def test_typing_narrows_the_table_and_says_how_far(chromium: Browser, index: Path) -> None:
    with visit(chromium, index) as seen:
        box = seen.page.get_by_role("searchbox")
        box.press_sequentially("p1")
        assert ids(seen.page) == ["P1", "P10"]
        box.fill("NO combinations")
        assert ids(seen.page) == ["P8", "P2"]
        said = seen.page.get_by_role("status")
        expect(said).to_contain_text("2 of 10 people, sorted by")
        expect(seen.page.get_by_role("table", name="People")).to_have_attribute(
            "aria-rowcount", "3"
        )


def test_nobody_found_is_said_and_one_button_brings_all_back(
    chromium: Browser, index: Path
) -> None:
    with visit(chromium, index) as seen:
        seen.page.get_by_role("searchbox").fill("zebra")
        seen.page.get_by_role("checkbox", name="Has an option").check()
        expect(seen.page.locator("#nobody")).to_contain_text(
            "Nobody matches “zebra”, “Has an option”."
        )
        expect(seen.page.locator("#subjects")).to_be_hidden()
        seen.page.locator("#clear-here").click()
        expect(seen.page.locator("#overview")).to_be_visible()
        assert focused(seen.page) == "search"


def test_numbers_sort_as_numbers_and_what_is_missing_comes_last(
    chromium: Browser, index: Path
) -> None:
    with visit(chromium, index) as seen:
        seen.page.get_by_role("button", name="List everyone").click()
        effort = seen.page.get_by_role("button", name="Effort")
        effort.click()
        heading = seen.page.get_by_role("columnheader", name="Effort")
        expect(heading).to_have_attribute("aria-sort", "ascending")
        assert column(seen.page, "effort") == ["2.0", "2.0", "2.0", "9.5", "10.0", *5 * [""]]
        effort.click()
        expect(heading).to_have_attribute("aria-sort", "descending")
        assert column(seen.page, "effort") == ["10.0", "9.5", "2.0", "2.0", "2.0", *5 * [""]]
        assert ids(seen.page)[2:5] == ["P1", "P6", "P7"]
        seen.page.get_by_role("button", name="Worked in").click()
        assert column(seen.page, "holds")[:2] == ["25 of 50 ▲ fragile", "45 of 50"]
        assert column(seen.page, "holds")[5:] == 5 * [""]
        seen.page.get_by_role("button", name="Person").click()
        assert ids(seen.page) == [f"P{n}" for n in range(1, 11)]


def test_sorting_keeps_the_order_of_before_among_equals(chromium: Browser, index: Path) -> None:
    with visit(chromium, index, fragment=EVERYONE) as seen:
        seen.page.get_by_role("button", name="Person").click()
        seen.page.get_by_role("button", name="Person").click()
        assert ids(seen.page)[0] == "P10"
        seen.page.get_by_role("button", name="Effort").click()
        assert ids(seen.page)[:3] == ["P7", "P6", "P1"]
        seen.page.get_by_role("button", name="Easiest option").click()
        assert ids(seen.page)[3:6] == ["P7", "P6", "P1"]


def test_every_column_sorts_both_ways_with_the_keyboard(chromium: Browser, index: Path) -> None:
    names = (
        "Person",
        "Easiest option",
        "Effort",
        "Worked in",
        "Distance",
        "Without ties",
        "Letter",
    )
    with visit(chromium, index, fragment=EVERYONE) as seen:
        table = seen.page.get_by_role("table", name="People")
        for name in names:
            button = table.get_by_role("button", name=name)
            button.focus()
            heading = table.get_by_role("columnheader", name=name)
            ways, orders = [], []
            for key in ("Enter", "Space"):
                seen.page.keyboard.press(key)
                ways.append(heading.get_attribute("aria-sort"))
                orders.append(ids(seen.page))
            assert set(ways) == {"ascending", "descending"}
            assert orders[0] != orders[1]
            assert sorted(orders[0]) == sorted(orders[1])
            assert seen.page.locator("[aria-sort]").count() == 1
            expect(button).to_be_focused()


def test_filters_say_how_many_each_would_leave(chromium: Browser, index: Path) -> None:
    with visit(chromium, index, fragment=EVERYONE) as seen:
        needs = seen.page.get_by_role("group", name="Show only")
        expect(needs.get_by_role("checkbox", name="Has an option")).to_have_accessible_name(
            "Has an option 4"
        )
        seen.page.get_by_role("checkbox", name="denied").check()
        expect(needs.locator("label").filter(has_text="Already approved")).to_contain_text("0")
        needs.get_by_role("checkbox", name="fragile").check()
        needs.get_by_role("checkbox", name="unfinished").check()
        assert ids(seen.page) == ["P9", "P3"]


def test_the_address_remembers_everything(chromium: Browser, index: Path) -> None:
    with visit(chromium, index) as seen:
        page = seen.page
        page.get_by_role("searchbox").fill("denied")
        page.get_by_role("checkbox", name="Has an option").check()
        page.get_by_role("button", name="Effort").click()
        page.get_by_role("button", name="Effort").click()
        wanted = ["P10", "P1", "P6", "P7"]
        assert ids(page) == wanted
        page.reload()
        assert ids(page) == wanted
        expect(page.get_by_role("searchbox")).to_have_value("denied")
        expect(page.get_by_role("checkbox", name="Has an option")).to_be_checked()
        page.go_back()
        assert ids(page) == ["P1", "P6", "P7", "P10"]
        page.go_back()
        page.go_back()
        expect(page.get_by_role("checkbox", name="Has an option")).not_to_be_checked()
        assert len(ids(page)) == 8
        page.go_forward()
        assert len(ids(page)) == 4
        assert seen.problems == []


def test_a_page_that_was_read_leads_back_to_the_same_rows(chromium: Browser, index: Path) -> None:
    with visit(chromium, index) as seen:
        seen.page.get_by_role("searchbox").fill("P9")
        seen.page.get_by_role("link", name="P9", exact=True).click()
        assert seen.page.title() == "Subject 1"
        seen.page.go_back()
        assert ids(seen.page) == ["P9"]


def test_an_address_made_up_by_somebody_does_no_harm(chromium: Browser, index: Path) -> None:
    wrong = "#sort=constructor,-effort,x&page=-7&need=nobody&decision=__proto__&search=%3Cb%3E"
    with visit(chromium, index, fragment=wrong) as seen:
        expect(seen.page.locator("#nobody-why")).to_have_text("Nobody matches “<b>”.")
        seen.page.get_by_role("searchbox").fill("")
        assert column(seen.page, "effort")[0] == "10.0"
        assert seen.problems == []


def test_keys_lead_from_the_search_through_the_rows_to_a_page(
    chromium: Browser, index: Path
) -> None:
    with visit(chromium, index, fragment=EVERYONE) as seen:
        keys = seen.page.keyboard
        keys.press("/")
        assert focused(seen.page) == "search"
        expect(seen.page.get_by_role("searchbox")).to_have_value("")
        keys.press("ArrowDown")
        keys.press("ArrowDown")
        assert focused(seen.page) == "P8"
        keys.press("ArrowRight")
        assert focused(seen.page) == "draft"
        keys.press("ArrowLeft")
        keys.press("End")
        assert focused(seen.page) == "P5"
        keys.press("ArrowUp")
        assert focused(seen.page) == "P3"
        keys.press("Escape")
        assert focused(seen.page) == "search"
        keys.type("P4")
        keys.press("Escape")
        assert len(ids(seen.page)) == 10
        seen.page.goto(index.as_uri())
        keys.press("/")
        keys.press("ArrowDown")
        keys.press("ArrowDown")
        assert focused(seen.page) == "P8", "also in the overview"
        keys.press("Escape")
        keys.type("P4")
        keys.press("ArrowDown")
        keys.press("Enter")
        expect(seen.page).to_have_title("Subject 5")


def test_the_slash_can_be_turned_off(chromium: Browser, index: Path) -> None:
    with visit(chromium, index) as seen:
        seen.page.get_by_text("With the keyboard").click()
        seen.page.get_by_role("checkbox", name="goes to the search").uncheck()
        seen.page.keyboard.press("/")
        assert focused(seen.page) != "search"
        seen.page.reload()
        seen.page.keyboard.press("/")
        assert focused(seen.page) != "search"


def test_tab_goes_from_the_search_over_filters_and_headings_to_the_rows(
    chromium: Browser, index: Path
) -> None:
    with visit(chromium, index, fragment=EVERYONE) as seen:
        seen.page.get_by_role("searchbox").focus()
        stops = []
        for _ in range(28):
            seen.page.keyboard.press("Tab")
            stops.append(
                seen.page.evaluate(
                    "(document.activeElement.closest('label') ?? document.activeElement).innerText"
                )
            )
        words = [" ".join(stop.split()) for stop in stops]
        places = [
            next(n for n, stop in enumerate(words) if stop.startswith(text))
            for text in (
                *("Effort any", "Without ties", "Audit failed 1", "no decision 1", "List everyone"),
                *("Compare two people", "Easiest option▲", "P4", "draft", "P8"),
            )
        ]
        assert places == sorted(places)


def test_arrows_go_on_over_the_end_of_a_page(chromium: Browser, long_index: Path) -> None:
    with visit(chromium, long_index, fragment=EVERYONE) as seen:
        pager = seen.page.get_by_role("navigation", name="Pages of the table")
        assert len(ids(seen.page)) == 50
        seen.page.get_by_role("searchbox").press("ArrowDown")
        seen.page.keyboard.press("End")
        seen.page.keyboard.press("ArrowDown")
        assert focused(seen.page) == "P50"
        row = seen.page.get_by_role("row", name="P50")
        expect(row).to_have_attribute("aria-rowindex", "52")
        expect(pager).to_contain_text("Rows 51 to 100, page 2 of 3")
        seen.page.keyboard.press("PageDown")
        assert ids(seen.page)[-1] == "P119"
        seen.page.keyboard.press("PageDown")
        assert focused(seen.page) == "P100"
        seen.page.keyboard.press("ArrowUp")
        assert focused(seen.page) == "P99"
        seen.page.reload()
        assert ids(seen.page)[0] == "P50"


def test_buttons_turn_pages_and_keep_the_focus_at_the_ends(
    chromium: Browser, long_index: Path
) -> None:
    with visit(chromium, long_index, fragment=EVERYONE) as seen:
        after = seen.page.get_by_role("button", name="Next")
        after.click()
        after.click()
        expect(after).to_have_attribute("aria-disabled", "true")
        expect(after).to_be_focused()
        seen.page.keyboard.press("Enter")
        expect(seen.page.locator("#page")).to_have_text("Rows 101 to 120, page 3 of 3")
        seen.page.get_by_role("button", name="First").click()
        assert ids(seen.page)[0] == "P0"
        seen.page.get_by_role("searchbox").fill("P11")
        expect(seen.page.get_by_role("navigation", name="Pages of the table")).to_be_hidden()


def test_ids_made_to_break_a_page_are_text(chromium: Browser, tmp_path: Path) -> None:
    subjects = [subject(name, decision=name, caveat_grade=None) for name in HOSTILE]
    index = write_index(tmp_path, subjects)
    with visit(chromium, index, fragment=EVERYONE) as seen:
        said: list[str] = []
        seen.page.on("dialog", lambda dialog: said.append(dialog.message))
        shown = {plain(name) for name in HOSTILE}
        assert set(ids(seen.page)) == shown
        for name in HOSTILE:
            seen.page.get_by_role("searchbox").fill(plain(name))
            seen.page.get_by_role("button", name="Person").click()
        seen.page.reload()
        assert seen.page.locator("#rows a").count() > 0
        where = seen.page.locator("#rows a").evaluate_all("links => links.map(one => one.href)")
        assert all(address.startswith(index.parent.parent.as_uri()) for address in where)
        assert (said, seen.problems, seen.fetched) == ([], [], [])
        for width in (PHONE, DESK):
            seen.page.set_viewport_size({"width": width, "height": 900})
            assert overflow(seen.page) == 0


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_serious(chromium: Browser, index: Path, dark: bool) -> None:
    with visit(chromium, index, dark=dark) as seen:
        seen.page.get_by_text("With the keyboard").click()
        seen.page.get_by_role("checkbox", name="Has an option").check()
        assert findings(seen.page) == []
        seen.page.get_by_role("searchbox").fill("nobody at all")
        assert findings(seen.page) == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_phone_shows_everything_without_scrolling_sideways(
    chromium: Browser, index: Path, dark: bool
) -> None:
    with visit(chromium, index, width=PHONE, dark=dark) as seen:
        assert overflow(seen.page) == 0
        assert seen.page.get_by_role("cell", name="No option: all 80").count() == 2
        assert findings(seen.page) == []
        seen.page.get_by_role("button", name="List everyone").click()
        assert overflow(seen.page) == 0
        expect(seen.page.get_by_role("table", name="People")).to_be_visible()
        assert findings(seen.page) == []


def test_without_scripts_a_few_subjects_are_a_list(chromium: Browser, index: Path) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(index.as_uri())
    expect(page.get_by_text("Search, filters and sorting need JavaScript")).to_be_visible()
    expect(page.locator(".overview .person")).to_have_count(9)
    expect(page.locator(".overview .need")).to_have_count(7)
    expect(page.get_by_role("searchbox")).to_be_hidden()
    page.get_by_role("link", name="P9", exact=True).click()
    expect(page).to_have_title("Subject 1")
    context.close()


def test_twenty_thousand_subjects_are_searched_and_sorted(
    chromium: Browser, tmp_path: Path
) -> None:
    subjects = [subject(f"P{n}", margin=-n / 20_000) for n in range(20_000)]
    with visit(chromium, write_index(tmp_path, subjects), fragment=EVERYONE) as seen:
        seen.page.get_by_role("button", name="Distance to the cut-off").click()
        assert ids(seen.page)[:2] == ["P19999", "P19998"]
        seen.page.get_by_role("searchbox").fill("P1234")
        assert ids(seen.page) == [*(f"P{n}" for n in range(12349, 12339, -1)), "P1234"]
        assert seen.problems == []
