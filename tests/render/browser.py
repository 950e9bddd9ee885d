"""A real Chromium for the tests of pages: opened from a file, without a network, as people do.

from tests.render.browser import findings, visit   # `chromium` is a fixture of this folder

def test_a_page(chromium: Browser, tmp_path: Path) -> None:
    with visit(chromium, tmp_path / "page.html", dark=True) as seen:
        seen.page.get_by_role("link", name="Back").click()
        assert seen.problems == []
        assert findings(seen.page) == []
"""

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

from recourse_audit.render.i18n import LANGUAGES

# A visit or a PDF takes a while: most differ by language only in the length of words, of which
# German has the longest.
EACH_LANGUAGE = [
    pytest.param(language, marks=() if language == "de" else pytest.mark.long)
    for language in LANGUAGES
]
NAMES = ("chromium", "chromium-browser", "google-chrome")
PHONE = 390
DESK = 1280
# Least to worst; what is "minor" or "moderate" is advice.
SERIOUS = ("serious", "critical")


@dataclass(slots=True)
class Seen:
    """A page as it was opened, what its console complained of, and what it asked for."""

    page: Page
    problems: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    @property
    def fetched(self) -> list[str]:
        """What the page asked for beyond files: a page that needs nothing has none."""
        return [url for url in self.asked if not url.startswith(("file:", "data:"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """A running browser, and the event loop through which it is told what to do."""

    browser: Browser
    loop: asyncio.AbstractEventLoop


def path_of_chromium() -> str:
    """Where the machine's Chromium is; a machine without one fails the test, in words."""
    for name in NAMES:
        if found := shutil.which(name):
            return found
    pytest.fail(
        f"This test opens pages in a browser, and none of {', '.join(NAMES)} is on the path; "
        "install Chromium (Debian: apt-get install chromium) and run it again."
    )


@pytest.fixture(scope="session")
def launched() -> Iterator[Launched]:
    """One browser for all tests of a process, started when the first of them asks for it."""
    path = path_of_chromium()
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=["--no-sandbox"])
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield Launched(browser=browser, loop=loop)
        asyncio._set_running_loop(loop)
        browser.close()


@pytest.fixture
def chromium(launched: Launched) -> Iterator[Browser]:
    """The browser, for one test.

    Playwright's event loop counts as running as long as the browser does, and would stop other
    tests of the process from running one of their own; so it counts for this test alone.
    """
    asyncio._set_running_loop(launched.loop)
    try:
        yield launched.browser
    finally:
        asyncio._set_running_loop(None)


@contextmanager
def visit(
    browser: Browser,
    path: Path,
    *,
    width: int = DESK,
    dark: bool = False,
    print_: bool = False,
    fragment: str = "",
) -> Iterator[Seen]:
    """Open a file as its reader would; offline, so that nothing can come from elsewhere."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if dark else "light",
        offline=True,
        reduced_motion="reduce",
    )
    page = context.new_page()
    seen = Seen(page=page)

    def complain(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            seen.problems.append(message.text)

    def ask(request: Request) -> None:
        seen.asked.append(request.url)

    page.on("console", complain)
    page.on("pageerror", lambda error: seen.problems.append(str(error)))
    page.on("request", ask)
    try:
        if print_:
            page.emulate_media(media="print")
        page.goto(path.resolve().as_uri() + fragment)
        yield seen
    finally:
        context.close()


def findings(page: Page, impacts: tuple[str, ...] = SERIOUS) -> list[str]:
    """What axe-core finds wrong with a page, worst kinds only: impact, rule and place of each.

    Empty is good.
    """
    answer = Axe().run(page).response
    return [
        f"{found['impact']}: {found['id']}: {found['help']}: "
        + "; ".join(" ".join(map(str, node["target"])) for node in found["nodes"])
        for found in answer["violations"]
        if found["impact"] in impacts
    ]


def overflow(page: Page) -> int:
    """By how many pixels a page is wider than its window; 0 where nobody has to scroll sideways."""
    return int(
        page.evaluate(
            "document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"
        )
    )
