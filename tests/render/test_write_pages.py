"""Pages and letters are made from a finished bundle alone, the same bytes whoever makes them."""

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pikepdf
import pytest

from recourse_audit.bundle.reader import StoredAudit, open_finished_audit
from recourse_audit.bundle.verification import verify_bundle
from recourse_audit.errors import InputError
from recourse_audit.records.subject import SubjectReport
from recourse_audit.render.batch import RenderOptions, file_name, make_files
from recourse_audit.render.templates import template_folder
from recourse_audit.render.write_letters import write_letters
from recourse_audit.render.write_pages import PageMaker, PageOptions, write_pages
from tests.audits import quick_audit
from tests.bundles import contents
from tests.command import command, leave_out_pdfs, one_line
from tests.render.conftest import SUBJECTS
from tests.render.reading import read_pdf
from tests.render.sarif_logs import check_log

GROUPS = (
    "groups.html",
    "groups.pdf",
    "groups_annex.html",
    "groups_annex.pdf",
    "groups.json",
)
SEALS = ("manifest.json", "checksums.txt")
TWO_WORKERS = RenderOptions(workers=2)
# Worker processes take a while to start; only where they are tested are there any.
ALONE = ("--workers", "1")
ACCEPT = ("--accept", "fragile", "--accept", "no-reason", "--accept", "unreviewed")


@pytest.fixture(autouse=True)
def _one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recourse_audit.render.batch.SUBJECTS_TOGETHER", 1)


def test_every_subject_has_a_page_and_a_letter_and_the_index_leads_to_them(made: Path) -> None:
    pages = sorted(path.stem for path in (made / "pages" / "subjects").glob("*.html"))
    letters = sorted(path.stem for path in (made / "letters").glob("*.pdf"))
    assert len(pages) == SUBJECTS
    assert pages == letters == sorted(path.stem for path in (made / "letters").glob("0*.html"))
    for stem in pages:
        page = (made / "pages" / "subjects" / f"{stem}.html").read_text(encoding="utf-8")
        links = re.findall(r'href="([^"#]+)"', page)
        assert f"../../letters/{stem}.html" in links
        assert "../index.html" in links
        for link in links:
            assert (made / "pages" / "subjects" / link).resolve().is_file(), link
    assert verify_bundle(made).problems == ()


def test_nothing_on_any_page_is_escaped_twice(made: Path) -> None:
    pages = [*made.glob("pages/**/*.html"), *made.glob("letters/*.html")]
    assert len(pages) > 2 * SUBJECTS
    for page in pages:
        assert not re.search("&amp;(lt|gt|amp|quot|#)", page.read_text(encoding="utf-8")), page


def test_nothing_below_the_command_line_makes_a_page_depend_on_who_makes_it(
    made: Path, bundle: Path
) -> None:
    write_letters(bundle, rendering=TWO_WORKERS)
    write_pages(bundle, options=TWO_WORKERS)
    assert contents(bundle) == contents(made)


def test_a_run_ends_with_letters_and_pages_and_makes_up_for_those_that_are_missing(
    made: Path, audited: Path, tmp_path: Path
) -> None:
    out = tmp_path / "bundle"
    words = ("run", audited / "audit.toml", "--out", out, "--sample", str(SUBJECTS), *ALONE)
    log = tmp_path / "findings.sarif"
    finished = command(*words, "--fail-on", "gap", "--sarif", log, "--json")
    assert finished.code == 3, finished.err
    check_run(finished.document, out, [*check_log(json.loads(log.read_text("utf-8")))])
    assert f"{out / 'pages' / 'index.html'}: start here" in finished.err
    assert "1 gap shown: People in the South " in finished.err
    # The group report says on which day the audit ran, and its seal depends on it.
    dated = {f"pages/{name}" for name in ("index.html", "index.pdf", *GROUPS, *SEALS)}
    ours, theirs = contents(out), contents(made)
    assert ours.keys() == theirs.keys()
    assert {name for name in ours if ours[name] != theirs[name]} == dated
    shutil.copy(made / "run.jsonl", out / "run.jsonl")
    shutil.rmtree(out / "pages")
    before = {path: path.stat().st_mtime_ns for path in (out / "letters").iterdir()}
    assert command(*words).code == 0
    assert contents(out) == contents(made)
    assert {path: path.stat().st_mtime_ns for path in (out / "letters").iterdir()} == before


def check_run(document: Any, out: Path, results: list[dict[str, Any]]) -> None:
    """What `--json` prints is the summary, and names the findings that SARIF does."""
    assert (document["format"], document["bundle"]) == (1, str(out))
    assert document["subjects"] == sum(document["statuses"].values()) == SUBJECTS
    assert (document["finished_before"], document["problem"]) == (False, "")
    [gap], [result] = document["findings"], results
    assert gap["rule"] == result["ruleId"] == "gap/adverse_rate"
    assert gap["text"] == result["message"]["text"]
    assert gap["text"].startswith("People in the South ")
    place = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert place.endswith("/audit.toml")


def test_the_group_summary_says_when_the_audit_ran_as_its_log_has_it(bundle: Path) -> None:
    log = bundle / "run.jsonl"
    text = log.read_text(encoding="utf-8")
    log.write_text(text.replace('"at":"now"', '"at":"2026-05-01T23:00:00+00:00"'), "utf-8")
    write_pages(bundle)
    page = (bundle / "pages" / "groups_annex.html").read_text(encoding="utf-8")
    assert "1 May 2026 (UTC, according to run.jsonl of the bundle)" in page
    document = json.loads((bundle / "pages" / "groups.json").read_text(encoding="utf-8"))
    assert document["ran"] == {"first": "2026-05-01", "last": "2026-05-01"}
    paper = read_pdf((bundle / "pages" / "groups_annex.pdf").read_bytes())
    assert "1 May 2026 (UTC" in " ".join(one.text for one in paper.elements)
    before = contents(bundle)
    write_pages(bundle)
    assert contents(bundle) == before


def test_a_run_refuses_letters_without_a_text_in_their_language_before_it_starts(
    tmp_path: Path,
) -> None:
    path = quick_audit(tmp_path)
    text = path.read_text(encoding="utf-8").replace('de = "Ihr Kreditantrag"\n', "")
    path.write_text(text.replace('language = "en"', 'language = "de"'), encoding="utf-8")
    refused = command("run", path, "--out", tmp_path / "out", "--sample", "2")
    assert refused.code == 2
    assert "letters.about: has no text in 'de', the language of the letters" in one_line(refused)
    assert not (tmp_path / "out").exists()


def test_a_run_warns_once_of_what_its_drafts_lack(
    audited: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_out_pdfs(monkeypatch)
    path = tmp_path / "audit.toml"
    text = (audited / "audit.toml").read_text(encoding="utf-8")
    text = text.replace('language = "en"', 'language = "de"').replace(
        'savings = "Ersparnisse"\n', ""
    )
    path.write_text(re.sub(r"(?m)^contact = .*$", "", text), encoding="utf-8")
    for name in ("gcn.onnx", "nodes.csv", "edges.csv"):
        shutil.copy(audited / name, tmp_path)
    words = ("run", path, "--out", tmp_path / "bundle", "--sample", "2", *ALONE)
    first, second = command(*words), command(*words)
    assert (first.code, second.code) == (0, 0)
    warnings = [line for line in first.err.splitlines() if line.startswith("! letters")]
    assert warnings == [
        "! letters stay drafts until these are filled in: letters.contact",
        "! letters use these names as they are; give words for them in [words]: savings",
    ]
    assert "! letters" not in second.err


def test_who_gets_a_letter_with_boxes_for_characters_is_named(bundle: Path, tmp_path: Path) -> None:
    addresses = tmp_path / "addresses.csv"
    with open_finished_audit(bundle) as stored:
        first, second = stored.names().values()
    rows = f"id,name\n{first},{chr(0x10FFFF)}\n{second},Łódź\n"
    addresses.write_text(rows, encoding="utf-8")
    finished = command("letters", bundle, "--addresses", addresses, *ALONE)
    assert finished.code == 0
    advice = "install a font that has them, such as Noto, and make the letters again"
    assert f"{advice}: {first}\n" in finished.err
    assert "have no address" not in finished.err
    assert "no font" not in command("letters", bundle, *ALONE).err


def test_who_is_missing_among_the_addresses_is_named(bundle: Path, tmp_path: Path) -> None:
    addresses = tmp_path / "addresses.csv"
    with open_finished_audit(bundle) as stored:
        first, second = stored.names().values()
    addresses.write_text(f"id,name\n{first},Ada\nP9999,Eve\n", encoding="utf-8")
    finished = command("letters", bundle, "--addresses", addresses, *ALONE)
    assert f"have no address, because the file lacks them: {second}\n" in finished.err
    assert "these ids in the addresses are not subjects of this audit: P9999\n" in finished.err


def test_letters_that_a_mistake_stopped_leave_nothing_behind(
    made: Path, bundle: Path, tmp_path: Path
) -> None:
    before = contents(bundle)
    own = tmp_path / "own"
    shutil.copytree(template_folder() / "letters", own / "letters")
    letter = own / "letters" / "letter.html"
    letter.write_text(letter.read_text(encoding="utf-8") + "{{ nobody }}", encoding="utf-8")
    for workers in ("1", "2"):
        finished = command("letters", bundle, "--templates", own, "--workers", workers)
        assert finished.code == 2
        assert "'nobody' is undefined" in one_line(finished)
        assert contents(bundle) == before
        assert command("verify", bundle).code == 0


class _Listening:
    """A file maker, and its factory, that writes down whether its process would hear Ctrl-C."""

    def open(self, stored: StoredAudit) -> "_Listening":
        assert stored.finished
        return self

    def __call__(self, number: int, report: SubjectReport) -> dict[str, bytes]:
        deaf = signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
        return {f"{number}-{report.subject.id}": str(deaf).encode()}


def test_pages_let_go_of_the_bundle_in_the_thread_that_opened_it(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left to the garbage collector may be closed in any thread, which SQLite refuses."""
    opened = []

    def noted(stored: StoredAudit, *, pages: PageOptions, on_paper: bool) -> PageMaker:
        opened.append(PageMaker(stored, pages=pages, on_paper=on_paper))
        return opened[-1]

    monkeypatch.setattr("recourse_audit.render.write_pages.PageMaker", noted)
    leave_out_pdfs(monkeypatch)
    write_pages(bundle)
    [maker] = opened
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        maker.stored.connection.execute("SELECT 1")


def test_ctrl_c_is_heard_only_by_the_process_that_gives_out_the_work(bundle: Path) -> None:
    with open_finished_audit(bundle) as stored:
        numbers = list(stored.names())
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    made = [*make_files(bundle, _Listening().open, numbers, TWO_WORKERS)]
    assert len(made) == SUBJECTS
    assert {heard for files in made for heard in files.values()} == {b"True"}
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


@pytest.mark.parametrize(("name", "made_by"), [("letters", "letters"), ("report", "pages")])
def test_an_interrupt_is_answered_with_how_to_go_on(
    name: str, made_by: str, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"recourse_audit.api.Bundle.write_{made_by}", interrupt)
    finished = command(name, bundle)
    assert finished.code == 130
    said = f"interrupted; rerun the same command to resume from what is in {bundle}\n"
    assert finished.err == said


def test_pages_made_before_are_left_alone_unless_made_again(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_out_pdfs(monkeypatch)
    shutil.copytree(made, tmp_path / "bundle")
    index = tmp_path / "bundle" / "pages" / "index.html"
    index.write_text("changed", encoding="utf-8")
    for_a_reviewer = PageOptions(level="reviewer")
    kept = write_pages(tmp_path / "bundle", for_a_reviewer, RenderOptions(again=False))
    assert kept.kept
    assert index.read_text(encoding="utf-8") == "changed"
    assert not write_pages(tmp_path / "bundle", for_a_reviewer).kept
    assert index.read_text(encoding="utf-8") != "changed"


def test_a_second_run_keeps_letters_that_are_signed_off_and_pages_for_reviewers(
    made: Path, audited: Path, tmp_path: Path
) -> None:
    bundle = tmp_path / "bundle"
    shutil.copytree(made, bundle)
    with open_finished_audit(bundle) as stored:
        first, _ = stored.names().values()
    signed = ("--sign-off", "A. Clerk", "--date", "2026-03-31", "--ids", first, *ACCEPT)
    assert command("letters", bundle, *signed, *ALONE).code == 0
    assert command("report", bundle, "--level", "reviewer", *ALONE).code == 0
    before = contents(bundle)
    again = ("run", audited / "audit.toml", "--out", bundle, "--sample", str(SUBJECTS))
    finished = command(*again, *ALONE)
    assert finished.code == 0, finished.err
    assert contents(bundle) == before
    assert f"{SUBJECTS} letters for {SUBJECTS} subjects, kept as they are" in finished.err


@pytest.mark.parametrize(
    ("old", "new", "words", "more"),
    [
        (
            'profile = "generic"',
            'profile = "mars"',
            "letters.profile: there is no profile mars",
            (),
        ),
        ("attributes = [", "attributes = []\n#", "so --fail-on gap has", ("--fail-on", "gap")),
    ],
)
def test_what_would_stop_a_run_at_its_end_stops_it_at_its_beginning(
    old: str, new: str, words: str, more: tuple[str, ...], tmp_path: Path
) -> None:
    settings = quick_audit(tmp_path)
    text = settings.read_text(encoding="utf-8")
    assert old in text
    settings.write_text(text.replace(old, new, 1), encoding="utf-8")
    finished = command("run", settings, "--out", tmp_path / "bundle", "--sample", "2", *more)
    assert finished.code == 2
    assert words in one_line(finished)
    assert not (tmp_path / "bundle").exists()


def test_a_date_that_leaves_no_day_to_hold_until_is_refused(made: Path) -> None:
    finished = command("letters", made, "--sign-off", "A. Clerk", "--date", "9999-12-31")
    assert finished.code == 2
    assert "--date must be a day" in one_line(finished)


def test_reports_go_on_paper_when_asked(bundle: Path) -> None:
    write_pages(bundle, PageOptions(pdf=True))
    papers = sorted((bundle / "pages" / "subjects").glob("*.pdf"))
    assert len(papers) == SUBJECTS
    with pikepdf.open(papers[0]) as paper:
        assert paper.Root.MarkInfo.Marked
        assert str(paper.Root.Lang) == "en"


def test_only_the_auditors_index_holds_protected_attributes(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_out_pdfs(monkeypatch)
    with open_finished_audit(bundle) as stored:
        groups = {value for one in stored.groups_of_subjects().values() for value in one.values()}
    assert groups
    for level in ("auditor", "reviewer", "subject"):
        write_pages(bundle, PageOptions(level=level))
        page = (bundle / "pages" / "index.html").read_text(encoding="utf-8")
        page = re.sub(r"<style>.*?</style>|<script>.*?</script>", "", page, flags=re.DOTALL)
        people = page[page.index('id="people"') :]
        found = {name for name in groups if re.search(rf"\b{name}\b", people, re.IGNORECASE)}
        assert found == (groups if level == "auditor" else set()), level


def test_a_reviewers_index_leads_to_every_page_and_a_subjects_to_none(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_out_pdfs(monkeypatch)
    write_pages(bundle, PageOptions(level="reviewer"))
    index = (bundle / "pages" / "index.html").read_text(encoding="utf-8")
    pages = sorted((bundle / "pages" / "subjects").glob("*.html"))
    assert len(pages) == SUBJECTS
    for page in pages:
        assert f'href="subjects/{page.name}"' in index
    assert "data/subjects.csv" not in index
    write_pages(bundle, PageOptions(level="subject"))
    index = (bundle / "pages" / "index.html").read_text(encoding="utf-8")
    assert 'href="subjects/' not in index
    assert "subjects-data" not in index
    assert f"{SUBJECTS} of" in index
    assert "There are too few people to show how many have each result." in index
    assert verify_bundle(bundle).problems == ()


def test_names_of_files_are_safe_and_distinct() -> None:
    assert file_name(12, "P0012") == "000012-P0012"
    assert file_name(3, "../../etc/passwd\0<b>ü\u202e") == "000003-etcpasswdb"
    assert file_name(3, "///") == "000003"
    assert len(file_name(3, "x" * 300)) < 60
    assert file_name(1, "a/b") != file_name(2, "ab")


def test_an_audit_that_is_not_finished_has_no_pages(bundle: Path) -> None:
    (bundle / "manifest.json").unlink()
    for make in (write_pages, write_letters):
        with pytest.raises(InputError):
            make(bundle)
    assert not (bundle / "pages.new").exists()
    assert not (bundle / "letters.new").exists()


@pytest.mark.parametrize(
    ("changed", "content", "words"),
    [
        ("settings.json", None, "cannot be read"),
        ("settings.json", "{", "was changed"),
        ("settings.json", "{}", "was changed"),
        ("manifest.json", None, "is missing"),
        ("manifest.json", "{", "this is not a manifest document"),
        ("manifest.json", "{}", "this manifest document has format None"),
    ],
)
@pytest.mark.parametrize("name", ["report", "letters"])
def test_nothing_is_made_of_a_bundle_that_was_changed(
    name: str, changed: str, content: str | None, words: str, bundle: Path
) -> None:
    if content is None:
        (bundle / changed).unlink()
    else:
        (bundle / changed).write_text(content, encoding="utf-8")
    finished = command(name, bundle)
    assert finished.code == 2
    assert f"{bundle / changed}: {words}" in one_line(finished)
    assert not (bundle / "pages.new").exists()
    assert not (bundle / "letters.new").exists()


@pytest.mark.parametrize("name", ["report", "letters"])
def test_a_folder_of_something_else_is_one_sentence(name: str, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "holiday.jpg").touch()
    for folder in (tmp_path / "other", tmp_path / "absent"):
        finished = command(name, folder)
        assert finished.code == 2
        assert str(folder) in one_line(finished)
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["holiday.jpg"]


def test_letters_are_signed_off_by_the_command(bundle: Path, tmp_path: Path) -> None:
    assert command("letters", bundle, "--date", "2026-03-31").code == 2
    assert command("letters", bundle, "--sign-off", "A. Clerk", "--date", "31.3.").code == 2
    own = quick_audit(tmp_path).read_text(encoding="utf-8")
    filled = tmp_path / "filled.toml"
    named, changes = re.subn(r'(?m)^sender = ".*"$', 'sender = "A Bank of Our Own"', own)
    assert changes == 1
    filled.write_text(named, encoding="utf-8")
    finished = command(
        *("letters", bundle, "--sign-off", "A. Clerk", "--date", "2026-03-31"),
        *("--ids-file", bundle / "data" / "subjects.csv", *ACCEPT, "--settings", filled),
        *ALONE,
    )
    assert finished.code == 0, finished.err
    page = next((bundle / "letters").glob("0*.html")).read_text(encoding="utf-8")
    assert "A. Clerk" in page
    assert "A Bank of Our Own" in page
    assert "DRAFT" not in page
    assert "31 March 2026" in page or "March 31, 2026" in page
    manifest = json.loads((bundle / "letters" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["made_with"]["sign_off"] == {"name": "A. Clerk", "day": "2026-03-31"}
    assert command("verify", bundle).out.endswith(", manifest not signed\n"), "letters are"


@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.long), 2])
def test_nothing_is_left_in_the_temporary_folder(
    bundle: Path, workers: int, tmp_path: Path
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    subprocess.run(
        [sys.executable, "-m", "recourse_audit", "letters", bundle, "--workers", str(workers)],
        env=os.environ | {"TMPDIR": str(temporary)},
        check=True,
    )
    assert list(temporary.iterdir()) == []


def test_without_pango_pages_are_made_and_the_end_says_how_to_get_paper(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Missing:
        def find_spec(self, name: str, path: object = None, target: object = None) -> None:
            if name == "weasyprint":
                raise OSError("cannot load library 'libpango-1.0-0'")

    for name in [name for name in sys.modules if name.split(".")[0] == "weasyprint"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Missing(), *sys.meta_path])
    for name in ("letters", "report"):
        finished = command(name, bundle, *ALONE)
        assert finished.code == 4
        assert "install libpango" in finished.err
    assert len(list((bundle / "letters").glob("0*.html"))) == SUBJECTS
    assert not list((bundle / "letters").glob("*.pdf"))
    assert (bundle / "pages" / "index.html").is_file()


def test_templates_of_the_user_are_used_and_a_mistake_in_them_is_named(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_out_pdfs(monkeypatch)
    own = tmp_path / "own"
    assert command("report", "--eject", own).code == 0
    page = own / "pages" / "base.html"
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("</main>", "<p>Our own words.</p></main>"), encoding="utf-8")
    assert command("report", bundle, "--templates", own, *ALONE).code == 0
    first = next((bundle / "pages" / "subjects").glob("*.html"))
    before = first.read_text(encoding="utf-8")
    assert before.count("Our own words.") == 1
    page.write_text(f"{text}\n{{% nonsense %}}", encoding="utf-8")
    finished = command("report", bundle, "--templates", own, *ALONE)
    assert finished.code == 2
    line = len(text.split("\n")) + 1
    assert f"{page}:{line}: " in one_line(finished)
    assert first.read_text(encoding="utf-8") == before
