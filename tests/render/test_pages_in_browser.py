"""The report on a subject in a real browser and on real paper."""

import re
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import networkx as nx
import pikepdf
import pytest
from playwright.sync_api import Browser, Page

from recourse_audit.records.subject import SubjectReport
from recourse_audit.render.i18n import Words
from recourse_audit.render.pdf import Printer
from recourse_audit.render.redaction import LEVELS, Level
from recourse_audit.render.subject import PageLinks, SubjectPage
from recourse_audit.render.templates import Templates
from tests.render.browser import DESK, EACH_LANGUAGE, PHONE, findings, overflow, visit
from tests.render.subject_reports import (
    facts,
    made_report,
    own_carriers,
    whole_graph,
    with_first,
)

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</title></svg></style><h1>owned</h1>",
    "{{7*7}}",
    "{% for x in y %}",
    "';}body{display:none}/*",
    "../../x",
    "javascript:alert(1)",
    "&lt;b&gt;",
    "\u202egnidaer\x1b[2J",
]
LABELS = """() => [...document.querySelectorAll('.pairs td:nth-child(2) svg text')].map(text => {
  const box = text.getBoundingClientRect()
  return [box.left, box.top, box.right, box.bottom]
})"""
TIES = """() => [...document.querySelectorAll('.pairs td:nth-child(2) svg polyline')].map(line => {
  const place = line.getScreenCTM()
  return [...line.points].map(point => point.matrixTransform(place)).map(at => [at.x, at.y])
})"""
LONG = "customer-of-a-very-long-name-" * 10  # 290 characters
ARABIC = "\u0645\u0631\u062d\u0628\u0627"


def crowded(language: str = "en", **changes: Any) -> SubjectPage:
    graph = nx.gnp_random_graph(60, 0.08, seed=3)
    graph.add_edges_from([(0, 1), (1, 2)])
    made = made_report(graph.subgraph(nx.node_connected_component(graph, 0)), total=312, **changes)
    report = own_carriers(with_first(made, whole_graph=whole_graph(0.8)), 0.85, 0.95, 0.4)
    return SubjectPage(
        report,
        facts(),
        words=Words(language, Templates()),
        members={"gender": "x"},
        links=PageLinks(
            previous="000000-P0009.html",
            next="000000-P0001.html",
            letter="../../letters/000000-P0000.html",
        ),
    )


def written(folder: Path, view: SubjectPage) -> Path:
    path = folder / "subject.html"
    path.write_text(Templates().render("pages/subject.html", view=view), encoding="utf-8")
    return path


@pytest.mark.parametrize(("width", "dark"), [(DESK, False), (PHONE, True)], ids=["desk", "phone"])
def test_the_report_needs_nothing_fits_its_window_and_axe_finds_nothing_serious(
    chromium: Browser, tmp_path: Path, width: int, dark: bool
) -> None:
    with visit(chromium, written(tmp_path, crowded()), width=width, dark=dark) as seen:
        assert seen.problems == []
        assert seen.fetched == []
        assert findings(seen.page) == []
        assert overflow(seen.page) == 0
        assert seen.page.locator("h1").count() == 1
        assert seen.page.locator("html").get_attribute("lang") == "en"


@pytest.mark.parametrize("language", EACH_LANGUAGE)
def test_the_report_fits_and_is_accessible_in_every_language(
    chromium: Browser, tmp_path: Path, language: str
) -> None:
    with visit(chromium, written(tmp_path, crowded(language)), width=PHONE) as seen:
        open_annex(seen.page)
        assert findings(seen.page) == []
        assert overflow(seen.page) == 0
        assert seen.page.locator("html").get_attribute("lang") == language


@pytest.mark.parametrize("name", [LONG, ARABIC, "\N{FAMILY}"], ids=["long", "arabic", "emoji"])
def test_names_of_any_length_and_script_stay_inside_the_page(
    chromium: Browser, tmp_path: Path, name: str
) -> None:
    made = made_report(
        nx.star_graph(5),
        name=lambda place: f"{name}{place}",
        kind=name,
        attribute=name,
        classes=(f"{name}-no", f"{name}-yes"),
    )
    view = SubjectPage(made, facts(classes=list(made.subject.probabilities)))
    with visit(chromium, written(tmp_path, view), width=DESK) as seen:
        open_annex(seen.page)
        wide = "[...document.querySelectorAll('main *:not(svg *)')].filter(one =>"
        wide += " !one.closest('.frame') && one.getBoundingClientRect().right > innerWidth + 1)"
        for width in (DESK, PHONE):
            seen.page.set_viewport_size({"width": width, "height": 900})
            assert overflow(seen.page) == 0, width
            assert seen.page.evaluate(f"{wide}.length") == 0, width


def open_annex(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")


@pytest.mark.parametrize("level", LEVELS)
def test_every_copy_of_the_report_is_accessible(
    chromium: Browser, tmp_path: Path, level: Level
) -> None:
    with visit(
        chromium, written(tmp_path, SubjectPage(made_report(), facts(), level=level))
    ) as seen:
        assert findings(seen.page) == []


def test_a_keyboard_reaches_the_content_the_other_pages_and_opens_the_annex(
    chromium: Browser, tmp_path: Path
) -> None:
    with visit(chromium, written(tmp_path, crowded()), width=PHONE) as seen:
        page, reached = seen.page, []
        for _ in range(8):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.textContent.trim()"))
        assert [words.strip("◂▸ \N{NO-BREAK SPACE}") for words in reached[:6]] == [
            "Skip to the content",
            "All people",
            "Previous in the list",
            "Next in the list",
            "Draft letter",
            "Evidence",
        ]
        page.locator("summary").first.focus()
        page.keyboard.press("Enter")
        assert page.locator("details[open]").count() == 1
        skip = page.get_by_role("link", name="Skip to the content")
        skip.focus()
        skip.press("Enter")
        assert page.url.endswith("#main")


def test_links_lead_back_to_the_index_and_to_the_letter(chromium: Browser, tmp_path: Path) -> None:
    with visit(chromium, written(tmp_path, crowded())) as seen:
        links = seen.page.locator("nav a")
        assert [links.nth(place).get_attribute("href") for place in range(5)] == [
            "../index.html",
            "000000-P0009.html",
            "000000-P0001.html",
            "../../letters/000000-P0000.html",
            "#evidence",
        ]


def overlap(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether two boxes (left, top, right, bottom) share more than their edges."""
    return all(
        one[side] < other[side + 2] - 0.5 and other[side] < one[side + 2] - 0.5 for side in (0, 1)
    )


@pytest.mark.parametrize("graph", [nx.star_graph(11), nx.path_graph(12)], ids=["star", "path"])
def test_no_tie_crosses_a_label_as_the_browser_measures_it(
    chromium: Browser, tmp_path: Path, graph: "nx.Graph[int]"
) -> None:
    report = made_report(graph)
    edges = tuple((f"P{a:04d}", f"P{b:04d}") for a, b in graph.edges)
    explanation = replace(report.counterfactuals[0].explanation, edges=edges)
    report = with_first(report, explanation=explanation, removed=edges[1:3])
    report = replace(report, caveats=report.caveats[:1])
    with visit(chromium, written(tmp_path, SubjectPage(report, facts()))) as seen:
        labels: list[list[float]] = seen.page.evaluate(LABELS)
        ties: list[list[list[float]]] = seen.page.evaluate(TIES)
    assert len(labels) == 12 + 2, "everybody, and the word at each removed tie"
    assert len(ties) == 11
    assert not any(overlap(one, other) for one, other in combinations(labels, 2))
    for tie in ties:
        for (x1, y1), (x2, y2) in pairwise(tie):
            line = (min(x1, x2) - 1, min(y1, y2) - 1, max(x1, x2) + 1, max(y1, y2) + 1)
            assert not any(overlap(line, label) for label in labels)


def test_pictures_follow_the_reader_into_dark_mode_and_print_in_plain_colours(
    chromium: Browser, tmp_path: Path
) -> None:
    colour = (
        "getComputedStyle(document.querySelector('svg text.fill-ink')).fill"
        " + getComputedStyle(document.body).color"
    )
    path = written(tmp_path, crowded())
    found = []
    for dark, print_ in ((False, False), (True, False), (True, True)):
        with visit(chromium, path, dark=dark, print_=print_) as seen:
            found.append(seen.page.evaluate(colour))
    light, dark_, printed = found
    assert light == "rgb(27, 31, 36)" * 2
    assert dark_ == "rgb(230, 237, 243)" * 2
    assert printed.startswith("rgb(27, 31, 36)")


def hostile(name: str) -> SubjectReport:
    """A report in which everything that a user's files can name has a hostile name."""
    return made_report(
        nx.star_graph(5),
        name=lambda place: f"{name}{place}",
        classes=(f"{name} no", f"{name} yes"),
        kind=name,
        attribute=name,
    )


@pytest.mark.parametrize(
    ("name", "level"),
    [*((name, "auditor") for name in HOSTILE), *((HOSTILE[0], level) for level in LEVELS[1:])],
)
def test_a_hostile_name_is_nothing_but_text(
    chromium: Browser, tmp_path: Path, name: str, level: Level
) -> None:
    made = hostile(name)
    view = SubjectPage(
        made,
        facts(classes=list(made.subject.probabilities), protected=["other"]),
        level=level,
        members={name: name},
    )
    with visit(chromium, written(tmp_path, view)) as seen:
        page = seen.page
        assert seen.problems == []
        assert seen.fetched == []
        assert page.locator("script, img, iframe, object, h1 h1, [onerror]").count() == 0
        assert page.locator("h1").count() == 1
        shown = name.replace("\u202e", "\\u202e").replace("\x1b", "\\x1b")
        begin = f"{shown}0: \N{LEFT SINGLE QUOTATION MARK}{shown} no"
        assert page.locator("h1").inner_text().startswith(begin)
        assert page.locator("body").is_visible()
        assert page.title().startswith(f"{shown}0: ")
        hrefs = page.eval_on_selector_all("a", "links => links.map(l => l.getAttribute('href'))")
        assert set(hrefs) <= {"#main", "#evidence", "../index.html"}


@pytest.fixture(scope="module")
def paper() -> bytes:
    return Printer(Templates()).pdf(Templates().render("pages/subject.html", view=crowded()))


def structure(pdf: pikepdf.Pdf) -> dict[str, list[Any]]:
    """Every element of a PDF's structure tree, by kind."""
    kinds: dict[str, list[Any]] = {}
    waiting = [pdf.Root.StructTreeRoot]
    while waiting:
        element = waiting.pop()
        if isinstance(element, pikepdf.Dictionary):
            kinds.setdefault(str(element.get("/S", "")), []).append(element)
            below = element.get("/K", pikepdf.Array())
            waiting += list(below) if isinstance(below, pikepdf.Array) else [below]
    return kinds


def test_the_report_on_paper_is_tagged_and_every_picture_has_its_words(paper: bytes) -> None:
    page = crowded()
    with pikepdf.open(BytesIO(paper)) as pdf:
        assert str(pdf.Root.Lang) == "en"
        assert bool(pdf.Root.MarkInfo.Marked)
        kinds = structure(pdf)
        words = {str(element.get("/Alt", "")) for element in kinds["/Figure"]}
        first = page.counterfactuals[0]
        explanation = page.draw_explanation(first.explanation.edges, first.removed)
        assert explanation is not None
        assert explanation.alt in words
        grid = page.report.objective_grid
        assert grid is not None
        pairs = f"All {sum(count for _, count in grid.counts):,} pairs of the search "
        assert any(text.startswith(pairs) for text in words)
        assert "" not in words
        assert len(kinds["/H1"]) == 1
        assert len(kinds["/Table"]) >= 8


def test_the_report_on_paper_has_the_colours_of_the_palette(paper: bytes) -> None:
    """WeasyPrint paints what it does not understand black."""
    with pikepdf.open(BytesIO(paper)) as pdf:
        drawn = b"".join(
            stream.read_bytes() for stream in pdf.objects if isinstance(stream, pikepdf.Stream)
        )
    assert re.search(rb"0 0?\.447\d* 0?\.698\d* rg", drawn)
    assert re.search(rb"0?\.992\d* 0?\.890\d* 0?\.811\d* rg", drawn)


def test_every_page_on_paper_has_its_number_and_a_long_table_its_heading_again(
    paper: bytes, tmp_path: Path
) -> None:
    (tmp_path / "report.pdf").write_bytes(paper)
    command = ["pdftotext", "-layout", str(tmp_path / "report.pdf"), "-"]
    read = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    sheets = read.rstrip("\f").split("\f")
    for number, sheet in enumerate(sheets, start=1):
        assert re.search(rf"\b{number} ?/ ?{len(sheets)}\b", sheet)
    assert sum("Ties away" in sheet for sheet in sheets) >= 2
    # The annex is closed on a screen and open on paper.
    for words in ("P0059", "0123456789abcdef", "Simulatability: how close"):
        assert words in read
