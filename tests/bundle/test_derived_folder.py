"""Folders made from a bundle are sealed by themselves, and the evidence stays as it is."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from recourse_audit.bundle.layout import BundleFolder
from recourse_audit.bundle.manifest import DerivedFolder
from recourse_audit.bundle.signature import read_public_key, read_signer
from recourse_audit.bundle.verification import leftovers
from recourse_audit.bundle.verification import verify_bundle as verify
from recourse_audit.errors import InputError
from recourse_audit.records.bundle import MadeWith
from tests.bundle.test_verification import write_keys
from tests.bundles import contents, request, run_here

MADE_WITH = MadeWith(
    what="pages", version="1", templates="abc", paper=False, letters="", level="auditor"
)
FILES = {"index.html": b"<p>one</p>", "subjects/one.html": b"<p>two</p>"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("audit")
    run_here(request(place, place / "bundle", sample=2))
    write_keys(place, "mine", 1)
    write_keys(place, "other", 2)
    return place


@pytest.fixture
def bundle(folder: Path, tmp_path: Path) -> Path:
    shutil.copytree(folder / "bundle", tmp_path / "bundle")
    return tmp_path / "bundle"


def made(bundle: Path, made_with: MadeWith = MADE_WITH, key: Path | None = None) -> DerivedFolder:
    derived = DerivedFolder(bundle=bundle, name="pages")
    with derived.remake(made_with, None if key is None else read_signer(key)) as new:
        for name, content in FILES.items():
            new.put(name, content)
    return derived


def test_a_folder_is_sealed_and_the_evidence_is_as_before(bundle: Path) -> None:
    before = contents(bundle)
    derived = made(bundle)
    assert {name: derived.folder.joinpath(name).read_bytes() for name in FILES} == FILES
    after = contents(bundle)
    assert {name: after[name] for name in before} == before
    assert verify(bundle).problems == ()
    assert BundleFolder(folder=bundle).state() == "finished"
    subprocess.run(["sha256sum", "-c", "--quiet", "checksums.txt"], cwd=derived.folder, check=True)


def test_a_folder_of_this_bundle_is_there_until_there_can_be_more_of_it(bundle: Path) -> None:
    derived = DerivedFolder(bundle=bundle, name="pages")
    assert not derived.is_there(paper=False)
    made(bundle)
    assert derived.is_there(paper=False)
    assert not derived.is_there(paper=True)
    made(bundle, replace(MADE_WITH, paper=True))
    assert derived.is_there(paper=True)
    (bundle / "manifest.json").write_text("{}", encoding="utf-8")
    assert not derived.is_there(paper=True)


def test_one_changed_byte_anywhere_in_a_folder_is_found_and_named(bundle: Path) -> None:
    derived, random = made(bundle), Random(0)
    for path in sorted(path for path in derived.folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        for _ in range(40):
            place = random.randrange(len(content))
            changed = bytes([content[place] ^ (1 << random.randrange(8))])
            path.write_bytes(content[:place] + changed + content[place + 1 :])
            problems = verify(bundle).problems
            assert any(line.startswith(f"pages/{path.relative_to(derived.folder)}: ")
                       for line in problems), (path.name, place, problems)  # fmt: skip
        path.write_bytes(content)
    assert verify(bundle).problems == ()


def test_files_added_or_missing_are_named(bundle: Path) -> None:
    derived = made(bundle)
    (derived.folder / "more.html").write_bytes(b"x")
    (derived.folder / "index.html").unlink()
    assert verify(bundle).problems == ("pages/more.html: was added", "pages/index.html: is missing")
    shutil.rmtree(derived.folder)
    assert verify(bundle).problems == ()


def test_a_folder_made_from_another_bundle_is_named(bundle: Path, folder: Path) -> None:
    made(bundle)
    run_here(request(folder, folder / "larger", sample=3))
    shutil.rmtree(folder / "larger" / "pages", ignore_errors=True)
    shutil.copytree(bundle / "pages", folder / "larger" / "pages")
    assert verify(folder / "larger").problems == (
        "pages/manifest.json: was made from another bundle; make pages again",
    )


def test_a_signed_folder_is_checked_with_its_key(bundle: Path, folder: Path) -> None:
    made(bundle, key=folder / "mine.pem")
    mine, other = (read_public_key(folder / f"{name}.pub") for name in ("mine", "other"))
    assert not [line for line in verify(bundle, mine).problems if line.startswith("pages/")]
    assert "pages/manifest.json: is signed with another key" in verify(bundle, other).problems
    (bundle / "pages" / "manifest.sig").unlink()
    assert "pages/manifest.sig: is missing" in verify(bundle).problems


class StoppedError(Exception):
    pass


def _stop_while_making(derived: DerivedFolder) -> None:
    with derived.remake(replace(MADE_WITH, level="reviewer")) as new:
        new.put("index.html", b"reviewer's")
        raise StoppedError


def test_nothing_is_left_of_an_attempt_that_fails_and_what_was_there_stays(bundle: Path) -> None:
    derived = made(bundle)
    before = contents(bundle)
    with pytest.raises(StoppedError):
        _stop_while_making(derived)
    assert not derived.new.exists()
    assert contents(bundle) == before


def killed(bundle: Path) -> DerivedFolder:
    """What a command leaves that is killed while it makes pages."""
    derived = DerivedFolder(bundle=bundle, name="pages")
    waiting = derived.remake(MADE_WITH)
    waiting.__enter__().put("stray.html", b"of an attempt that was killed")
    kept = bundle.with_name("kept")
    shutil.copytree(derived.new, kept)
    waiting.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    kept.replace(derived.new)
    return derived


def test_what_a_killed_command_left_is_no_problem_and_the_next_one_removes_it(
    bundle: Path,
) -> None:
    derived = killed(bundle)
    assert (derived.new / "stray.html").is_file()
    assert leftovers(bundle) == ("pages.new",)
    assert verify(bundle).problems == ()
    assert BundleFolder(folder=bundle).state() == "finished"
    made(bundle)
    assert leftovers(bundle) == ()
    assert "stray.html" not in contents(derived.folder)


def test_a_folder_without_our_marker_is_named_whatever_it_is_called(bundle: Path) -> None:
    derived = killed(bundle)
    (derived.new / ".recourse-audit").unlink()
    assert verify(bundle).problems == ("pages.new/stray.html: was added",)


@pytest.mark.parametrize("ending", ["", ".new", ".old"])
def test_a_folder_that_somebody_else_made_is_neither_replaced_nor_deleted(
    ending: str, bundle: Path
) -> None:
    mine = bundle / f"pages{ending}" / "mine.txt"
    mine.parent.mkdir()
    mine.write_text("mine", encoding="utf-8")
    (bundle / "pages").mkdir(exist_ok=True)
    with pytest.raises(InputError, match=rf"pages{ending}: was not made by this program"):
        made(bundle)
    with pytest.raises(InputError, match=rf"pages{ending}: was not made by this program"):
        BundleFolder(folder=bundle).begin()
    assert mine.read_text(encoding="utf-8") == "mine"
    assert (bundle / "store.sqlite").is_file()


def test_pages_that_were_there_come_back_if_their_replacement_was_interrupted(
    bundle: Path,
) -> None:
    derived = made(bundle)
    before = contents(bundle)
    derived.folder.replace(derived.old)
    derived.tidy()
    assert contents(bundle) == before
