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


ONE, TWO = {"subjects/one.html": b"<p>two</p>", "subjects/one.pdf": b"two"}, {"more.html": b"three"}


def stop_while_making(
    bundle: Path, *complete: dict[str, bytes], made_with: MadeWith = MADE_WITH
) -> DerivedFolder:
    """What a command leaves that is stopped while it makes pages."""
    derived = DerivedFolder(bundle=bundle, name="pages")
    with pytest.raises(StoppedError), derived.remake(made_with) as new:  # noqa: PT012
        for files in complete:
            new.put_together(files)
        new.put("stray.html", b"of an attempt that was stopped")
        raise StoppedError
    return derived


def test_nothing_is_left_of_an_attempt_that_completed_nothing_and_what_was_there_stays(
    bundle: Path,
) -> None:
    derived = made(bundle)
    before = contents(bundle)
    stop_while_making(bundle, made_with=replace(MADE_WITH, level="reviewer"))
    assert not derived.new.exists()
    assert contents(bundle) == before


def test_what_a_stopped_command_left_is_no_problem_and_another_one_removes_it(
    bundle: Path,
) -> None:
    derived = stop_while_making(bundle, ONE, made_with=replace(MADE_WITH, level="reviewer"))
    assert (derived.new / "stray.html").is_file()
    assert leftovers(bundle) == ("pages.new",)
    assert verify(bundle).problems == ()
    assert BundleFolder(folder=bundle).state() == "finished"
    made(bundle)
    assert leftovers(bundle) == ()
    assert contents(derived.folder).keys() - FILES.keys() == {
        *(".recourse-audit", "manifest.json", "checksums.txt"),
    }


def resume(bundle: Path, made_with: MadeWith = MADE_WITH) -> dict[str, str]:
    """Make the rest as the same command does that was stopped before; what it found complete."""
    derived = DerivedFolder(bundle=bundle, name="pages")
    with derived.remake(made_with) as new:
        complete = dict(new.digests)
        for files in (ONE, TWO):
            if not files.keys() <= complete.keys():
                new.put_together(files)
        new.put("index.html", b"<p>one</p>")
    return complete


def test_the_same_command_keeps_what_is_complete_and_leaves_the_same_bytes(bundle: Path) -> None:
    resume(bundle)
    expected = contents(bundle)
    stop_while_making(bundle, ONE)
    assert resume(bundle).keys() == {".recourse-audit", *ONE}
    assert contents(bundle) == expected
    stop_while_making(bundle, ONE)
    stop_while_making(bundle, TWO)
    assert resume(bundle).keys() == {".recourse-audit", *ONE, *TWO}
    assert contents(bundle) == expected
    assert verify(bundle).problems == ()


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("content", [None, b"", b"<p>changed</p>"])
def test_what_was_changed_since_is_made_again_with_all_that_belongs_to_it(
    name: str, content: bytes | None, bundle: Path
) -> None:
    derived = stop_while_making(bundle, ONE, TWO)
    (derived.new / name).unlink()
    if content is not None:
        (derived.new / name).write_bytes(content)
    assert resume(bundle).keys() == {".recourse-audit", *TWO}
    assert contents(derived.folder)["subjects/one.html"] == ONE["subjects/one.html"]
    assert verify(bundle).problems == ()


def test_a_link_in_what_was_left_is_removed_and_not_followed(bundle: Path, tmp_path: Path) -> None:
    derived = stop_while_making(bundle, ONE, TWO)
    (tmp_path / "mine").write_bytes(TWO["more.html"])
    (tmp_path / "folder").mkdir()
    (derived.new / "more.html").unlink()
    (derived.new / "more.html").symlink_to(tmp_path / "mine")
    (derived.new / "folder").symlink_to(tmp_path / "folder")
    assert resume(bundle).keys() == {".recourse-audit", *ONE}
    assert (tmp_path / "mine").read_bytes() == TWO["more.html"]
    assert verify(bundle).problems == ()


def test_a_journal_that_is_cut_off_anywhere_loses_only_what_is_not_in_it(bundle: Path) -> None:
    resume(bundle)
    expected = contents(bundle)
    derived = stop_while_making(bundle, ONE, TWO)
    journal = (derived.new / ".journal").read_bytes()
    first, one, two = (len(line) + 1 for line in journal.splitlines())
    left = bundle.with_name("left")
    shutil.copytree(derived.new, left)
    for end in (
        0,
        1,
        first - 1,
        first,
        first + 1,
        *range(first + one - 70, len(journal)),
        len(journal),
    ):
        shutil.rmtree(derived.new, ignore_errors=True)
        shutil.copytree(left, derived.new)
        (derived.new / ".journal").write_bytes(journal[:end])
        complete = {name for name in resume(bundle) if name != ".recourse-audit"}
        assert complete == {
            *(ONE if end >= first + one else ()),
            *(TWO if end == len(journal) else ()),
        }
        assert contents(bundle) == expected
    assert two


@pytest.mark.parametrize(
    "made_with",
    [
        replace(MADE_WITH, templates="other"),
        replace(MADE_WITH, letters="x"),
        replace(MADE_WITH, version="2"),
    ],
)
def test_nothing_is_kept_that_was_made_with_anything_else(
    made_with: MadeWith, bundle: Path
) -> None:
    stop_while_making(bundle, ONE, TWO, made_with=made_with)
    assert resume(bundle).keys() == {".recourse-audit"}


def test_nothing_is_kept_that_other_packages_made(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("recourse_audit.bundle.manifest.version", lambda name: f"another {name}")
        stop_while_making(bundle, ONE, TWO)
    assert resume(bundle).keys() == {".recourse-audit"}


def test_a_folder_without_our_marker_is_named_whatever_it_is_called(bundle: Path) -> None:
    derived = stop_while_making(bundle, TWO)
    (derived.new / ".recourse-audit").unlink()
    assert verify(bundle).problems == (
        "pages.new/.journal: was added",
        "pages.new/more.html: was added",
        "pages.new/stray.html: was added",
    )


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
