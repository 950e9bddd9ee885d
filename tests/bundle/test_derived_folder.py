"""Folders made from a bundle are sealed by themselves, and the evidence stays as it is."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from recourse_audit.bundle.derived_folder import DerivedFolder
from recourse_audit.bundle.layout import BundleFolder
from recourse_audit.bundle.signature import read_public_key, read_signer
from recourse_audit.bundle.verification import verify_bundle as verify
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
    derived = DerivedFolder(bundle=bundle, name="pages")
    derived.begin(MADE_WITH)
    for name, content in FILES.items():
        derived.put(name, content)
    derived.seal(MADE_WITH, set(FILES), None if key is None else read_signer(key))
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
    derived.begin(MADE_WITH)
    derived.seal(MADE_WITH, set())
    assert derived.is_there(paper=False)
    assert not derived.is_there(paper=True)
    with_paper = replace(MADE_WITH, paper=True)
    derived.begin(with_paper)
    derived.seal(with_paper, set())
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


def test_an_attempt_made_with_the_same_is_continued_and_any_other_is_not(bundle: Path) -> None:
    derived = DerivedFolder(bundle=bundle, name="pages")
    derived.begin(MADE_WITH)
    derived.put("index.html", b"kept")
    derived.put("stray.html", b"of an attempt that made other files")
    (derived.new / "empty.html").touch()
    derived.begin(MADE_WITH)
    assert derived.has("index.html")
    assert not derived.has("empty.html")
    derived.seal(MADE_WITH, {"index.html"})
    assert contents(derived.folder)["index.html"] == b"kept"
    assert "stray.html" not in contents(derived.folder)
    derived.begin(MADE_WITH)
    derived.put("index.html", b"kept")
    derived.begin(replace(MADE_WITH, level="subject"))
    assert not derived.has("index.html")


def test_an_unfinished_attempt_is_named_and_leaves_the_bundle_usable(bundle: Path) -> None:
    derived = DerivedFolder(bundle=bundle, name="letters")
    derived.begin(MADE_WITH)
    derived.put("one.pdf", b"x")
    assert "letters.new/one.pdf: was added" in verify(bundle).problems
    assert BundleFolder(folder=bundle).state() == "finished"
    derived.seal(MADE_WITH, {"one.pdf"})
    assert verify(bundle).problems == ()
