"""A letter on screen: axe finds nothing to complain about, and the page asks for nothing else."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.render.browser import EACH_LANGUAGE, PHONE, findings, overflow, visit
from tests.render.letters import drop, move, option, report, writer, written

FOUND = report(
    option(drop("P1000"), holds=0.2),
    option(move("savings", 2000.0, 17000.0)),
    ties={"guarantor": 4},
)
ALL = ("minor", "moderate", "serious", "critical")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("language", EACH_LANGUAGE)
def test_axe_finds_nothing_in_a_letter(
    chromium: Browser, language: str, dark: bool, tmp_path: Path
) -> None:
    by = writer(language=language)
    path = tmp_path / "letter.html"
    path.write_text(by.html(written(FOUND, by)), encoding="utf-8")
    with visit(chromium, path, width=PHONE, dark=dark) as seen:
        assert findings(seen.page, ALL) == []
        assert overflow(seen.page) == 0
        assert (seen.problems, seen.fetched) == ([], [])
