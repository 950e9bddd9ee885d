"""Folders made from a bundle are sealed by themselves, and the evidence stays as it is."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from recourse_audit.bundle.attempt import FINISHED, Attempt
from recourse_audit.bundle.derived_folder import DerivedFolder
from recourse_audit.bundle.layout import BundleFolder
from recourse_audit.bundle.signature import read_public_key, read_signer
from recourse_audit.bundle.verification import verify_bundle as verify
from recourse_audit.errors import InputError
from recourse_audit.records.manifest import MadeWith
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


def made(bundle: Path, key: Path | None = None) -> DerivedFolder:
    attempt = begun(bundle, key=key)
    for name, content in FILES.items():
        attempt.put(name, content)
    attempt.seal()
    return attempt.derived


def begun(bundle: Path, made_with: MadeWith = MADE_WITH, key: Path | None = None) -> Attempt:
    derived = DerivedFolder(bundle=bundle, name="pages")
    return Attempt(derived, made_with, None if key is None else read_signer(key))


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
    begun(bundle).seal()
    assert derived.is_there(paper=False)
    assert not derived.is_there(paper=True)
    begun(bundle, replace(MADE_WITH, paper=True)).seal()
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
    made(bundle, folder / "mine.pem")
    mine, other = (read_public_key(folder / f"{name}.pub") for name in ("mine", "other"))
    assert not [line for line in verify(bundle, mine).problems if line.startswith("pages/")]
    assert "pages/manifest.json: is signed with another key" in verify(bundle, other).problems
    (bundle / "pages" / "manifest.sig").unlink()
    assert "pages/manifest.sig: is not the signature of its manifest" in verify(bundle).problems


RUN = "0-2"


def interrupted(bundle: Path, key: Path | None = None) -> Path:
    """An attempt that was killed when all files were there; where they wait."""
    attempt = begun(bundle, key=key)
    for name, content in FILES.items():
        attempt.put(name, content)
    attempt.finish(RUN, FILES)
    return attempt.derived.new


def test_an_attempt_made_with_the_same_is_continued_and_any_other_is_not(bundle: Path) -> None:
    waiting = interrupted(bundle)
    begun(bundle).put("stray.html", b"of an attempt that made other files")
    again = begun(bundle)
    assert not again.resume("7-1"), "was never finished"
    assert again.resume(RUN)
    again.seal()
    assert FILES.items() <= contents(again.derived.folder).items()
    assert "stray.html" not in contents(again.derived.folder)
    assert not waiting.exists()
    interrupted(bundle)
    assert not begun(bundle, replace(MADE_WITH, level="reviewer")).resume(RUN)
    assert not (waiting / "index.html").exists()


def test_what_was_made_for_others_is_not_taken_on_even_if_it_is_put_back(bundle: Path) -> None:
    waiting = interrupted(bundle)
    kept = bundle.with_name("kept")
    shutil.copytree(waiting, kept)
    attempt = begun(bundle, replace(MADE_WITH, level="reviewer"))
    for name in (f"{FINISHED}/{RUN}", *FILES):
        (waiting / name).parent.mkdir(exist_ok=True)
        shutil.copy(kept / name, waiting / name)
    assert not attempt.resume(RUN)


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_file_changed_after_an_interruption_is_made_again(name: str, bundle: Path) -> None:
    (interrupted(bundle) / name).write_bytes(b"<p>somebody else's words</p>")
    assert not begun(bundle).resume(RUN)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"note": "[]", "signed": ""}', b"[" * 99_999]
)
def test_a_damaged_note_is_not_believed(content: bytes, bundle: Path) -> None:
    (interrupted(bundle) / FINISHED / RUN).write_bytes(content)
    assert not begun(bundle).resume(RUN)


def test_notes_of_what_will_be_signed_cannot_be_forged_without_the_key(
    bundle: Path, folder: Path
) -> None:
    mine = folder / "mine.pem"
    interrupted(bundle, mine)
    assert begun(bundle, key=mine).resume(RUN)
    interrupted(bundle)  # by somebody without the key, who can compute every digest
    assert not begun(bundle, key=mine).resume(RUN)


def test_a_file_changed_before_the_seal_is_not_sealed_and_what_was_there_stays(
    bundle: Path,
) -> None:
    made(bundle)
    before = contents(bundle)
    attempt = begun(bundle, replace(MADE_WITH, level="reviewer"))
    attempt.put("index.html", b"reviewer's")
    (attempt.derived.new / "index.html").write_bytes(b"auditor's")
    with pytest.raises(InputError, match=r"index\.html: was changed while pages were made"):
        attempt.seal()
    after = contents(bundle)
    assert {name: after[name] for name in before} == before


@pytest.mark.parametrize("ending", ["", ".new", ".old"])
def test_a_folder_that_somebody_else_made_is_neither_replaced_nor_deleted(
    ending: str, bundle: Path
) -> None:
    mine = bundle / f"pages{ending}" / "mine.txt"
    mine.parent.mkdir()
    mine.write_text("mine", encoding="utf-8")
    (bundle / "pages").mkdir(exist_ok=True)
    with pytest.raises(InputError, match=rf"pages{ending}: was not made by this program"):
        begun(bundle)
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


def test_an_unfinished_attempt_is_named_and_leaves_the_bundle_usable(bundle: Path) -> None:
    derived = DerivedFolder(bundle=bundle, name="letters")
    attempt = Attempt(derived, MADE_WITH)
    attempt.put("one.pdf", b"x")
    assert "letters.new/one.pdf: was added" in verify(bundle).problems
    assert BundleFolder(folder=bundle).state() == "finished"
    attempt.seal()
    assert verify(bundle).problems == ()
