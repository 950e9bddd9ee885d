"""The human study: made from a bundle, answered by keyboard in a browser, and analysed."""

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from recourse_audit.api import Bundle
from recourse_audit.audit.load import Selection
from recourse_audit.bundle.reader import StoredAudit
from recourse_audit.errors import InputError
from recourse_audit.groups.study import analyse
from recourse_audit.records.codec import STUDY_ANALYSIS, STUDY_ANSWERS, STUDY_KEY
from recourse_audit.records.study import ShownCase, StudyAnswers, StudyKey
from recourse_audit.render.i18n import LANGUAGES, Words
from recourse_audit.render.study import LEVELS, arrange_cases, is_visible, make_study
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
    for name in shown:
        cases = {case.level: case for case in key.cases if case.subject == name}
        assert cases["high"].simulatability > cases["low"].simulatability
        assert all(case.relevance[0] > case.relevance[1] for case in cases.values())
        for level, kept in zip(LEVELS, reports[name].study_cases, strict=True):
            assert cases[level].relevance == (kept.high.relevance, kept.low.relevance)


def arranged(bundle: Path, seed: int) -> list[ShownCase]:
    """The cases of five subjects, as the arrangement of a study orders them."""
    report = next(each for each in Bundle(bundle) if is_visible(each))
    people = [
        replace(report, subject=replace(report.subject, id=f"P{number}")) for number in range(5)
    ]
    return list(arrange_cases(people, np.random.default_rng(seed)))


@pytest.mark.parametrize("seed", range(10))
def test_positions_are_even_at_each_level_and_a_subjects_cases_are_apart(
    bundle: Path, seed: int
) -> None:
    cases = arranged(bundle, seed)
    for level in LEVELS:
        own = [case.order[0] for case in cases if case.level == level]
        assert (own.count("high"), own.count("low")) == (3, 2)
    assert [case.level for case in cases[:5]].count("high") == 3
    assert all(case.subject == later.subject for case, later in zip(cases, cases[5:], strict=False))
    assert {case.level for case in cases[:5] if case.subject == "P0"} != {
        case.level for case in cases[5:] if case.subject == "P0"
    }


def test_a_habit_of_position_is_found_no_more_often_than_chance(bundle: Path) -> None:
    """Everybody rates what the third graph removes 0.8 higher, whatever it is; 100 studies."""
    cases, random = arranged(bundle, 0), np.random.default_rng(5)
    key = StudyKey(
        audit="", seed=0, language="en", subjects=9, able=9, training=(), cases=tuple(cases)
    )
    found = {"interaction": 0, "by participant": 0, "importance": 0}
    for _ in range(100):
        means = 3 + np.array([0, 0.8, 0, 0]) + random.normal(0, 1, (10, len(cases), 4))
        ratings = np.clip(np.rint(means), 1, 5).astype(int).tolist()
        answers = [
            StudyAnswers(
                study="",
                participant=str(number),
                version="B" if number % 2 else "A",
                answers=tuple(map(tuple, rows)),
            )
            for number, rows in enumerate(ratings)
        ]
        analysis = analyse(key, "", answers)
        [term] = [each for each in analysis.variances[1].terms if each.term == "interaction"]
        by_level, overall = (
            next(each for each in analysis.differences if each.what == what and each.among is None)
            for what in ("importance_by_level", "importance")
        )
        for name, p in zip(found, (term.p, by_level.p, overall.p), strict=True):
            found[name] += p is not None and p < 0.05
    assert max(found.values()) <= 10


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
        assert headings(seen)[0] == "A survey about explanations", "whose answers these are"
        assert page.locator("#code:visible").count() == 0
        assert "clearing them deletes" in page.locator(".kept").inner_text()
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Continue as T 0"
        page.keyboard.press("Enter")
        assert headings(seen) == ["Practice case 2 of 2"], "kept on this device"
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
    assert first.version == "B"
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


def test_a_second_participant_on_a_device_starts_anew(chromium: Browser, study: Path) -> None:
    with visit(chromium, study / "study.html") as seen:
        page = seen.page
        begin(page, "T01")
        answer(page, (1, 2, 3, 4))
        page.reload()
        page.once("dialog", lambda dialog: dialog.dismiss())
        page.locator(".clear:visible").press("Enter")
        assert page.locator(".kept").is_visible(), "nothing is lost by accident"
        page.once("dialog", lambda dialog: dialog.accept())
        page.locator(".clear:visible").press("Enter")
        assert page.locator(".kept").is_hidden()
        assert page.evaluate("document.activeElement.id") == "code"
        page.keyboard.type("T02")
        page.keyboard.press("Enter")
        assert headings(seen) == ["Practice case 1 of 2"]
        assert page.locator("input:checked").count() == 0
        page.reload()
        assert page.locator("#continue").inner_text() == "Continue as T02"


def test_an_even_code_sees_the_third_and_the_fourth_graph_exchanged(
    chromium: Browser, study: Path
) -> None:
    shown: dict[str, list[list[str]]] = {}
    for code in ("T01", "T02", "T03"):
        with visit(chromium, study / "study.html") as seen:
            begin(seen.page, code)
            figures = seen.page.locator("#case-1 figure")
            shown[code] = [
                figures.nth(place).inner_text().split(":", maxsplit=1) for place in range(4)
            ]
            assert (findings(seen.page), seen.problems) == ([], [])
    odd, even = shown["T01"], shown["T02"]
    assert shown["T03"] == odd
    names = ["First graph", "Second graph", "Third graph", "Fourth graph"]
    assert [name for name, _ in odd] == [name for name, _ in even] == names
    contents = [[content for _, content in figures] for figures in (odd, even)]
    assert contents[1] == [contents[0][place] for place in (0, 1, 3, 2)]
    assert odd[2][1] != odd[3][1]


def test_what_is_removed_can_be_traced_to_the_first_graph(chromium: Browser, study: Path) -> None:
    with visit(chromium, study / "study.html") as seen:
        begin(seen.page, "T1")
        assert "Solid disc" in seen.page.locator("#case-1").inner_text()
        first, second, third, _ = seen.page.locator("#case-1 figure").all()
        [removed] = re.findall(
            r"the tie between (this person|person \d+) and (person \d+)", third.inner_text()
        )
        people = {f"person {number}" for number in re.findall(r"person (\d+)", second.inner_text())}
        assert {*removed} - {"this person"} <= people
        assert {*first.locator("svg").first.locator("text").all_text_contents()} == people
        assert first.locator("line[stroke-width='3']").count() == len(people)


@pytest.mark.parametrize("language", LANGUAGES)
def test_whoever_asks_is_named_before_anybody_agrees(
    bundle: Path, tmp_path: Path, language: str
) -> None:
    own = tmp_path / "own.txt"
    own.write_text("Example University <asks> you.\n\nContact: Dr A,\na@example.org\n", "utf-8")
    arguments = (bundle, *TWO, "--language", language, "--out", tmp_path / "study")
    without = command("study", *arguments)
    assert "does not say who asks" in " ".join(without.err.split())
    assert command("study", *arguments, "--information", own).err.count("!") == 0
    page = (tmp_path / "study" / "study.html").read_text(encoding="utf-8")
    assert (
        "<p>Example University &lt;asks&gt; you.</p>\n<p>Contact: Dr A,\na@example.org</p>" in page
    )
    words = Words(language)
    for key in ("kept", "voluntary"):
        assert words.say(f"study.part.{key}") in page
    assert words.say("study.start.asks") not in page
    minutes = 2 * (2 + CASES)
    assert words.say("study.start", cases=CASES, minutes=minutes) in page
    gone = command("study", *arguments, "--information", tmp_path / "none.txt")
    assert "cannot be read" in one_line(gone)


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
    good = {"format": 1, "study": "", "participant": "T", "version": "A", "answers": rows}
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
        make_study(cast("StoredAudit", stored), 2, 0, "en", Templates(), "")
