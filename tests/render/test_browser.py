"""What a test of a page relies on does see what is wrong with one."""

from pathlib import Path

from playwright.sync_api import Browser

from tests.render.browser import PHONE, findings, overflow, visit

GOOD = """<!doctype html><html lang="en"><head><title>A page</title></head>
<body><main><h1>A page</h1><p>Words.</p></main></body></html>"""
BAD = """<!doctype html><html><head><title>A page</title>
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'"></head>
<body><main><h1>A page</h1><img src="https://example.org/x.png">
<hr style="width: 900px">
<script>document.title = "changed"</script></main></body></html>"""


def test_a_good_page_has_no_problem_and_no_finding(chromium: Browser, tmp_path: Path) -> None:
    path = tmp_path / "good.html"
    path.write_text(GOOD, encoding="utf-8")
    with visit(chromium, path, width=PHONE) as seen:
        assert seen.problems == []
        assert seen.fetched == []
        assert findings(seen.page) == []
        assert overflow(seen.page) == 0


def test_a_bad_page_is_seen_to_be_one(chromium: Browser, tmp_path: Path) -> None:
    path = tmp_path / "bad.html"
    path.write_text(BAD, encoding="utf-8")
    with visit(chromium, path, width=PHONE) as seen:
        assert any("Content Security Policy" in problem for problem in seen.problems)
        assert seen.page.title() == "A page"
        assert any("html-has-lang" in finding for finding in findings(seen.page))
        assert overflow(seen.page) > 0
