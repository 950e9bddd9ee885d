"""A letter on screen: axe finds nothing to complain about, and the page asks for nothing else."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, sync_playwright

from tests.render.letters import LANGUAGES, desk, document, drop, move, option, written

FOUND = document(
    option(drop("P1000"), holds=0.2),
    option(move("savings", 2000.0, 17000.0)),
    ties={"guarantor": 4},
)
NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.fail("there is no Chromium on this machine; scripts/setup.sh dev installs it")
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("language", LANGUAGES)
def test_axe_finds_nothing_in_a_letter(
    browser: Browser, language: str, dark: bool, tmp_path: Path
) -> None:
    at = desk(language=language)
    path = tmp_path / "letter.html"
    path.write_text(at.html(written(FOUND, at)), encoding="utf-8")
    page = browser.new_page(
        viewport={"width": 390, "height": 800}, color_scheme="dark" if dark else "light"
    )
    complaints: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    assert Axe().run(page).response["violations"] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert asked == [path.as_uri()]
    assert complaints == []
    page.close()
