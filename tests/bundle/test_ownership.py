"""Nothing is deleted or written that is not ours, through no link, and by one command at a time."""

import os
import shutil
import signal
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from recourse_audit.bundle.layout import MARKER, BundleFolder, hold_lock
from recourse_audit.bundle.verification import verify_bundle as verify
from recourse_audit.errors import InputError
from recourse_audit.execute import pipeline
from recourse_audit.render.write_pages import write_pages
from tests.bundles import contents, ended, request, run_here, started, words_for
from tests.command import command, leave_out_pdfs, one_line

NAMES = ("work", "data", "letters", "pages")
WRITERS = ("report", "letters")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An audit with a finished bundle, and pages in it."""
    place = tmp_path_factory.mktemp("audit")
    run_here(request(place, place / "bundle", sample=2))
    with pytest.MonkeyPatch.context() as patch:
        leave_out_pdfs(patch)
        write_pages(place / "bundle")
    return place


@pytest.fixture
def bundle(folder: Path, tmp_path: Path) -> Path:
    return shutil.copytree(folder / "bundle", tmp_path / "bundle")


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """A folder outside the bundle that must stay as it is."""
    place = tmp_path / "elsewhere"
    (place / "deep").mkdir(parents=True)
    for name in ("mine.txt", "work.sqlite", "deep/mine.txt", "index.html"):
        (place / name).write_text("mine", encoding="utf-8")
    before = contents(place)
    yield place
    assert contents(place) == before


@pytest.mark.parametrize("more", [(), ("--fresh",)])
@pytest.mark.parametrize("names", [NAMES, ("work",), ("work", "pages.new", "run.jsonl")])
def test_a_project_with_folders_called_like_ours_is_refused_and_not_touched(
    names: tuple[str, ...], more: tuple[str, ...], folder: Path, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    for name in names:
        (project / name).mkdir(parents=True)
        (project / name / "mine.txt").write_text("mine", encoding="utf-8")
    before = contents(project)
    finished = command(*words_for(folder, project, 2), *more)
    assert finished.code == 2
    assert f"{project}: is not empty and has no {MARKER} file" in one_line(finished)
    assert contents(project) == before


@pytest.mark.parametrize("more", [(), ("--fresh",)])
def test_a_bundle_without_its_marker_is_refused_and_not_touched(
    more: tuple[str, ...], folder: Path, bundle: Path
) -> None:
    (bundle / MARKER).unlink()
    before = contents(bundle)
    finished = command(*words_for(folder, bundle, 2), *more)
    assert finished.code == 2
    assert f"has no {MARKER} file" in one_line(finished)
    for name in WRITERS:
        refused = command(name, bundle)
        assert refused.code == 2
        assert f"{bundle / MARKER}: is missing" in one_line(refused)
    assert contents(bundle) == before
    assert f"{MARKER}: is missing" in verify(bundle).problems


def test_what_a_user_put_into_a_bundle_outlives_starting_over(folder: Path, bundle: Path) -> None:
    (bundle / "data" / "mine.txt").write_text("mine", encoding="utf-8")
    (bundle / "notes.txt").write_text("mine", encoding="utf-8")
    run_here(replace(request(folder, bundle, sample=2), fresh=True))
    for name in ("data/mine.txt", "notes.txt"):
        assert (bundle / name).read_text(encoding="utf-8") == "mine"


def test_a_bundle_of_which_files_are_missing_is_not_started_over_unasked(
    folder: Path, bundle: Path
) -> None:
    whole = contents(bundle)
    (bundle / "settings.json").unlink()
    before = contents(bundle)
    finished = command(*words_for(folder, bundle, 2))
    assert finished.code == 2
    assert "files are missing; restore them, or start over with --fresh" in one_line(finished)
    assert contents(bundle) == before
    assert command(*words_for(folder, bundle, 2), "--fresh", "--workers", "1").code == 0
    assert contents(bundle).items() <= whole.items()


@pytest.mark.parametrize("begun", [b"", b"recourse-audit bun"])
def test_a_marker_that_was_only_begun_does_not_hinder_the_same_command(
    begun: bytes, folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "bundle"
    out.mkdir()
    (out / MARKER).write_bytes(begun)
    run_here(request(folder, out, sample=2))
    assert verify(out).problems == ()


LINKED = (
    *("work", "data", "letters", "pages", "letters.new", "pages.new", "pages.old"),
    *("store.sqlite", "manifest.json", "settings.json", "run.jsonl", "data/subjects.csv", MARKER),
    *("pages/index.html", "pages/subjects", "more", "data/more"),
)


@pytest.mark.parametrize("name", LINKED)
def test_no_command_follows_a_link_in_a_bundle(
    name: str, folder: Path, bundle: Path, elsewhere: Path
) -> None:
    path = bundle / name
    if path.is_file():
        path.symlink_to(path.replace(elsewhere.with_name("moved")))
    else:
        shutil.rmtree(path, ignore_errors=True)
        path.symlink_to(elsewhere)
    before = contents(bundle)
    assert f"{name}: is a symbolic link" in verify(bundle).problems
    run = words_for(folder, bundle, 2)
    commands: list[tuple[str | Path, ...]] = [run, (*run, "--fresh")]
    commands += [(one, bundle) for one in WRITERS]
    commands += [] if name.startswith("pages/") else [("groups", bundle)]
    for words in commands:
        finished = command(*words)
        assert finished.code == 2, words
        line = one_line(finished)
        assert "is a symbolic link" in line or f"{MARKER}: " in line, words
    assert path.is_symlink()
    assert contents(bundle) == before


def test_a_pipe_in_place_of_a_file_is_named_and_not_waited_for(bundle: Path) -> None:
    (bundle / "manifest.json").unlink()
    os.mkfifo(bundle / "manifest.json")
    assert verify(bundle).problems == ("manifest.json: is not a regular file",)
    finished = command("report", bundle)
    assert finished.code == 2
    assert "manifest.json: is not a regular file" in one_line(finished)


def test_links_in_what_is_left_of_an_attempt_are_not_followed(
    bundle: Path, elsewhere: Path, folder: Path
) -> None:
    shutil.copytree(bundle / "pages", bundle / "pages.new")
    (bundle / "pages.new" / "subjects" / "link").symlink_to(elsewhere)
    with pytest.raises(InputError, match="is a symbolic link"):
        write_pages(bundle)
    with pytest.raises(InputError, match="is a symbolic link"):
        run_here(replace(request(folder, bundle, sample=2), fresh=True))


@pytest.mark.parametrize("name", [*WRITERS, "run"])
def test_only_one_command_writes_into_a_bundle(name: str, folder: Path, bundle: Path) -> None:
    before = contents(bundle)
    whole = (*words_for(folder, bundle, 2), "--fresh") if name == "run" else (name, bundle)
    with hold_lock(bundle):
        finished = command(*whole)
        assert finished.code == 2
        assert f"{bundle}: another command is writing into it" in one_line(finished)
        assert command("groups", bundle).code == 0
        assert command("verify", bundle).code == 0
    assert contents(bundle) == before


def test_the_kernel_takes_the_lock_back_from_a_command_that_is_killed(
    folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "bundle"
    process = started(*words_for(folder, out, 2), "--workers", "1")
    while not (out / "work").is_dir():
        assert process.poll() is None
    refused = command(*words_for(folder, out, 2))
    process.send_signal(signal.SIGKILL)
    ended(process)
    assert refused.code == 2
    assert "another command is writing into it" in one_line(refused)
    run_here(request(folder, out, sample=2))
    assert verify(out).problems == ()


def test_only_the_owner_can_read_a_bundle(folder: Path) -> None:
    out = folder / "bundle"
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (out, *out.rglob("*"))}
    assert {modes[path] for path in modes if path.is_dir()} == {0o700}
    assert {modes[path] for path in modes if path.is_file()} == {0o600}


def test_an_empty_folder_that_everybody_may_read_becomes_the_owners(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "bundle"
    out.mkdir(mode=0o755)
    before = os.umask(0)
    try:
        monkeypatch.setattr(pipeline, "_seal", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run_here(request(folder, out, sample=2))
        assert os.umask(0) == 0
    finally:
        os.umask(before)
    paths = (out, *out.rglob("*"))
    assert BundleFolder(folder=out).state() == "unfinished"
    assert all(stat.S_IMODE(path.stat().st_mode) & 0o077 == 0 for path in paths)
