"""The human study: made from a bundle, answered by keyboard in a browser, and analysed."""

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from playwright.sync_api import Browser, Page

from recourse_audit.api import Bundle
from recourse_audit.audit.load import Selection
from recourse_audit.bundle.reader import StoredAudit
from recourse_audit.errors import InputError
from recourse_audit.records.codec import STUDY_ANALYSIS, STUDY_ANSWERS, STUDY_KEY
from recourse_audit.records.study import StudyKey
from recourse_audit.render.i18n import LANGUAGES
from recourse_audit.render.study import LEVELS, is_visible, make_study
from recourse_audit.render.templates import Templates
from tests.audits import quick_audit
from tests.bundles import request_for, run_here
from tests.command import command, one_line
from tests.render.browser import DESK, PHONE, Seen, findings, overflow, visit

# The cases of these differ visibly; those of the last do not.
PEOPLE = ("P0049", "P0133", "P0527", "P0724", "P0134")
SUBJECTS = 2
CASES = 2 * SUBJECTS
TWO = ("--subjects", "2")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("audit")
    settings = quick_audit(folder, whole=True)
    text = settings.read_text(encoding="utf-8").replace("max_nodes = 3", "max_nodes = 4")
    settings.write_text(text.replace('attributes = ["origin"]', "attributes = []"), "utf-8")
    (folder / "ids.txt").write_text("\n".join(PEOPLE), encoding="utf-8")
    selection = Selection(subjects=str(folder / "ids.txt"))
    run_here(request_for(settings, folder / "bundle", selection))
    return folder / "bundle"


@pytest.fixture(scope="module")
def study(bundle: Path) -> Path:
    folder = bundle.parent / "study"
    assert command("study", bundle, "--subjects", str(SUBJECTS), "--out", folder).code == 0
    return folder


def key_of(study: Path) -> StudyKey:
    return STUDY_KEY.read((study / "key.json").read_text(encoding="utf-8"))


def test_the_key_has_both_levels_of_every_subject_in_a_balanced_order(
    bundle: Path, study: Path
) -> None:
    key, reports = key_of(study), {report.subject.id: report for report in Bundle(bundle)}
    able = {name for name, report in reports.items() if is_visible(report)}
    assert able == {*PEOPLE[:-1]}
    assert (key.able, key.subjects) == (4, 5)
    assert len(key.cases) == CASES
    shown = {case.subject for case in key.cases}
    assert len(shown) == SUBJECTS
    assert {case.subject for case in key.training} <= able - shown
    assert [case.level for case in key.training] == ["high", "low"]
    assert sum(case.order[0] == "high" for case in key.cases) == SUBJECTS
    for name in shown:
        cases = {case.level: case for case in key.cases if case.subject == name}
        assert cases["high"].simulatability > cases["low"].simulatability
        assert all(case.relevance[0] > case.relevance[1] for case in cases.values())
        for level, kept in zip(LEVELS, reports[name].study_cases, strict=True):
            assert cases[level].relevance == (kept.high.relevance, kept.low.relevance)


def test_the_page_names_nobody_and_tells_neither_objective(bundle: Path, study: Path) -> None:
    page = (study / "study.html").read_text(encoding="utf-8")
    body = page[page.index("<main") :]
    assert re.findall(r"P\d{4}", page) == []
    assert not re.search(r"simulatab|relevan|counterfactual|\b(high|low)\b", body, re.IGNORECASE)
    assert "default-src &#39;none&#39;" in page
    for case in key_of(study).cases:
        assert str(case.relevance[0]) not in page


def test_the_same_seed_gives_the_same_bytes_and_another_seed_another_study(
    bundle: Path, study: Path, tmp_path: Path
) -> None:
    for seed, out in (("0", "again"), ("1", "other")):
        assert command("study", bundle, *TWO, "--seed", seed, "--out", tmp_path / out).code == 0
    for name in ("study.html", "key.json"):
        assert (tmp_path / "again" / name).read_bytes() == (study / name).read_bytes()
        assert (tmp_path / "other" / name).read_bytes() != (study / name).read_bytes()
    refused = command("study", bundle, *TWO, "--seed", "1", "--out", study)
    assert "holds another study" in one_line(refused)


def begin(page: Page, code: str) -> None:
    page.keyboard.press("Tab")  # past the link to the content
    page.keyboard.press("Tab")
    page.keyboard.type(code)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")


def answer(page: Page, points: tuple[int, ...]) -> None:
    """Answer the case in view by keyboard: arrows choose a point, Tab leads on."""
    for point in points:
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        for _ in range(1, point):
            page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")  # back
    page.keyboard.press("Tab")  # next
    page.keyboard.press("Enter")


def ratings(participant: int, case: int) -> tuple[int, ...]:
    return tuple(1 + (participant + case + question) % 5 for question in range(4))


def headings(seen: Seen) -> list[str]:
    return [text for text in seen.page.locator("h1:visible, h2:visible").all_inner_texts() if text]


def test_it_is_answered_by_keyboard_resumed_saved_and_analysed(
    chromium: Browser, study: Path, tmp_path: Path
) -> None:
    files = [tmp_path / f"{participant}.json" for participant in range(3)]
    with visit(chromium, study / "study.html") as seen:
        page = seen.page
        begin(page, "T 0")
        assert headings(seen) == ["Practice case 1 of 2"]
        answer(page, (3, 3, 3, 3))
        page.locator(".step:visible [data-by='1']").click()
        assert page.locator(".missing:visible").inner_text().startswith("Answer all four")
        assert page.evaluate("document.activeElement.name") == "case-2-a"
        page.reload()
        assert headings(seen) == ["Practice case 2 of 2"], "kept on this device"
        page.locator(".step:visible h2").focus()
        answer(page, (3, 3, 3, 3))
        for case in range(CASES):
            assert headings(seen) == [f"Case {case + 1} of {CASES}"]
            answer(page, ratings(0, case))
        with page.expect_download() as download:
            page.locator("#save").press("Enter")
        assert download.value.suggested_filename == "answers-T-0.json"
        download.value.save_as(files[0])
        assert seen.problems == []
        assert [url for url in seen.fetched if not url.startswith("blob:")] == []
    first = STUDY_ANSWERS.read(files[0].read_text(encoding="utf-8"))
    assert first.participant == "T 0"
    assert first.answers == tuple(ratings(0, case) for case in range(CASES))
    for participant in (1, 2):
        rows = [ratings(participant, case) for case in range(CASES)]
        others = {**first.to_dict(), "participant": f"T {participant}", "answers": rows}
        files[participant].write_text(json.dumps(others), encoding="utf-8")
    for language in LANGUAGES:
        told = command("study", "--analyse", *files, "--out", study, "--language", language)
        assert told.code == 0
        page_ = (study / "analysis.html").read_text(encoding="utf-8")
        assert f'lang="{language}"' in page_
    analysis = STUDY_ANALYSIS.read((study / "analysis.json").read_text(encoding="utf-8"))
    assert (analysis.participants, analysis.subjects) == (3, SUBJECTS)
    with visit(chromium, study / "analysis.html", width=PHONE, dark=True) as seen:
        assert (findings(seen.page), seen.problems, seen.fetched) == ([], [], [])
        assert overflow(seen.page) == 0


@pytest.mark.parametrize(
    ("width", "language"), [(DESK, "en"), (PHONE, "de")], ids=["desk", "phone"]
)
def test_a_case_fits_and_axe_finds_nothing_serious(
    chromium: Browser, bundle: Path, tmp_path: Path, width: int, language: str
) -> None:
    assert command("study", bundle, *TWO, "--language", language, "--out", tmp_path).code == 0
    with visit(chromium, tmp_path / "study.html", width=width, dark=width == PHONE) as seen:
        assert overflow(seen.page) == 0
        begin(seen.page, "T")
        assert (findings(seen.page), overflow(seen.page)) == ([], 0)
        assert seen.page.locator("#case-1 svg").first.get_attribute("role") == "img"


def test_mistakes_are_told_in_plain_sentences(bundle: Path, study: Path, tmp_path: Path) -> None:
    words = one_line(command("study", bundle, "--subjects", "4", "--out", tmp_path / "new"))
    assert "needs 5, one of them to practise on" in words
    assert "4 of 5 have such cases" in words
    rows = [[1, 2, 3, 4]] * CASES
    good = {"format": 1, "study": "", "participant": "T", "answers": rows}
    with_digest = {**good, "study": _digest(study)}
    for change, expected in (
        (good, "answers another study"),
        ({**with_digest, "answers": rows[1:]}, f"answers {CASES - 1} of {CASES} cases"),
        ({**with_digest, "answers": [[1, 2, 3, 6]] * CASES}, "was changed"),
        (with_digest, "at least 3 participants (got 1)"),
    ):
        path = tmp_path / "answers.json"
        path.write_text(json.dumps(change), encoding="utf-8")
        finished = command("study", "--analyse", path, "--out", study)
        assert finished.code == 2
        assert expected in one_line(finished)
    path.write_text('{"format": 1, "study"', encoding="utf-8")
    assert "it is not JSON" in one_line(command("study", "--analyse", path, "--out", study))
    path.write_text(json.dumps(with_digest), encoding="utf-8")
    assert "in another file too" in one_line(
        command("study", "--analyse", path, path, "--out", study)
    )


def _digest(study: Path) -> str:
    page = (study / "study.html").read_text(encoding="utf-8")
    found = re.search(r'data-study="([0-9a-f]{64})"', page)
    assert found is not None
    return found[1]


def test_a_bundle_that_kept_no_cases_says_what_to_set(bundle: Path) -> None:
    bare = [replace(report, study_cases=()) for report in Bundle(bundle)]
    stored = SimpleNamespace(
        folder=bundle, results=lambda: [SimpleNamespace(report=report) for report in bare]
    )
    with pytest.raises(InputError, match="study = true in audit"):
        make_study(cast("StoredAudit", stored), 2, 0, "en", Templates())
