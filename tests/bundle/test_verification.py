"""A bundle says what it is of, and one changed byte anywhere is found and named."""

import hashlib
import hmac
import json
import re
import shutil
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from recourse_audit.bundle.manifest import read_id_key
from recourse_audit.bundle.signature import read_signer
from tests.bundles import LOG, contents, request, run_here, words_for
from tests.command import command, one_line

SAMPLE = 20
SECRET = bytes(range(32))


def write_keys(folder: Path, name: str, seed: int) -> tuple[Path, Path]:
    key = Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
    private, public = folder / f"{name}.pem", folder / f"{name}.pub"
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    public.write_bytes(
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    return private, public


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An audit with a signed bundle."""
    place = tmp_path_factory.mktemp("audit")
    private, _ = write_keys(place, "mine", 1)
    write_keys(place, "other", 2)
    (place / "secret").write_bytes(SECRET)
    asked = request(place, place / "bundle", sample=SAMPLE)
    run_here(replace(asked, signer=read_signer(private), id_key=read_id_key(place / "secret")))
    return place


@pytest.fixture
def bundle(folder: Path, tmp_path: Path) -> Path:
    """A copy to spoil."""
    return shutil.copytree(folder / "bundle", tmp_path / "bundle")


def problems(bundle: Path, *words: str | Path) -> list[str]:
    finished = command("verify", bundle, *words)
    assert finished.err == ""
    lines = finished.out.splitlines()
    assert finished.code in (0, 5)
    return lines if finished.code else []


def manifest_of(bundle: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((bundle / "manifest.json").read_text(encoding="utf-8"))
    return found


def test_an_unchanged_bundle_is_one_line_and_0(folder: Path) -> None:
    finished = command("verify", folder / "bundle", "--key", folder / "mine.pub")
    assert (finished.code, finished.err) == (0, "")
    [line] = finished.out.splitlines()
    assert line.startswith(f"{folder / 'bundle'}: unchanged, {SAMPLE} subjects, signed by ")
    assert command("verify", folder / "bundle", "--json").document["problems"] == []


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="sha256sum is not installed")
def test_checksums_are_those_that_sha256sum_reads(bundle: Path) -> None:
    words = ["sha256sum", "--check", "--strict", "checksums.txt"]
    subprocess.run(words, cwd=bundle, check=True, capture_output=True)
    listed = (bundle / "checksums.txt").read_text(encoding="utf-8").split()[1::2]
    assert set(listed) == set(contents(bundle)) - {"checksums.txt"}


def test_one_changed_byte_anywhere_is_found_and_named(bundle: Path) -> None:
    chance = Random(3)
    names = [path for path in sorted(bundle.rglob("*")) if path.is_file()]
    assert {path.name for path in names} >= {LOG, "manifest.sig", "checksums.txt"}
    for path in names:
        content = path.read_bytes()
        places = {
            0,
            content.find(b"1"),
            len(content) - 1,
            *(chance.randrange(len(content)) for _ in range(6)),
        }
        for place in sorted(places):
            spoilt = bytearray(content)
            spoilt[place] ^= 1 << chance.randrange(8)
            path.write_bytes(spoilt)
            name = path.relative_to(bundle).as_posix()
            found = problems(bundle)
            assert found, f"{name} at {place}"
            assert any(line.startswith(f"{name}: ") for line in found), (name, place, found)
        path.write_bytes(content)
    assert problems(bundle) == []


def test_a_signature_in_capital_letters_was_changed(bundle: Path) -> None:
    path = bundle / "manifest.sig"
    document = json.loads(path.read_text(encoding="utf-8"))
    text = path.read_text(encoding="utf-8")
    path.write_text(
        text.replace(document["signature"], document["signature"].upper()), encoding="utf-8"
    )
    assert "manifest.sig: is not the signature of the manifest" in problems(bundle)


def test_missing_and_added_files_are_named(bundle: Path) -> None:
    for path in [path for path in sorted(bundle.rglob("*")) if path.is_file()]:
        content, name = path.read_bytes(), path.relative_to(bundle).as_posix()
        path.unlink()
        assert f"{name}: is missing" in problems(bundle)
        path.write_bytes(content)
    (bundle / "data" / "more.csv").write_text("x", encoding="utf-8")
    assert problems(bundle) == ["data/more.csv: was added"]


def test_the_end_of_the_log_cannot_be_cut_off(bundle: Path) -> None:
    lines = (bundle / LOG).read_bytes().splitlines(keepends=True)
    (bundle / LOG).write_bytes(b"".join(lines[:-1]))
    assert problems(bundle) == [f"{LOG}: was changed"]


def test_a_manifest_says_what_was_audited_and_its_counts_add_up(folder: Path) -> None:
    manifest = manifest_of(folder / "bundle")
    model = hashlib.sha256((folder / "gcn.onnx").read_bytes()).hexdigest()
    nodes = hashlib.sha256((folder / "nodes.csv").read_bytes()).hexdigest()
    assert manifest["inputs"]["model"] == {"sha256": model, "files": {"gcn.onnx": model}}
    assert manifest["inputs"]["graph"]["nodes"] == {"file": "nodes.csv", "sha256": nodes}
    counts = manifest["counts"]
    assert sum(counts["statuses"].values()) == counts["subjects"] == SAMPLE
    assert counts["queries"] > 0
    assert counts["chunks"] == len(manifest["chunks"])
    assert sum(chunk["subjects"] for chunk in manifest["chunks"]) == SAMPLE
    assert {"recourse-audit", "onnxruntime", "numpy", "python"} <= set(manifest["versions"])
    assert manifest["probes"]["deterministic"] is True


def test_ids_are_in_the_manifest_only_as_keyed_hashes(folder: Path, tmp_path: Path) -> None:
    lines = (folder / "bundle" / "data" / "subjects.jsonl").read_text(encoding="utf-8").splitlines()
    ids = [json.loads(line)["subject"]["id"] for line in lines]
    text = (folder / "bundle" / "manifest.json").read_text(encoding="utf-8")
    assert not any(name in text for name in ids)
    hashed = [hmac.new(SECRET, name.encode(), hashlib.sha256).hexdigest() for name in ids]
    assert manifest_of(folder / "bundle")["hashed_ids"] == hashed
    short = tmp_path / "short"
    short.write_bytes(b"1234")
    refused = command("run", "--no-pages", folder / "audit.toml", "--id-key", short)
    assert refused.code == 2
    assert "is too short for a key" in one_line(refused)


def test_a_consistent_forgery_is_caught_by_the_signature(folder: Path, bundle: Path) -> None:
    shutil.rmtree(bundle)
    other = request(folder, bundle, sample=SAMPLE, seed=5)
    run_here(replace(other, signer=read_signer(folder / "other.pem")))
    assert problems(bundle) == []
    assert problems(bundle, "--key", folder / "mine.pub") == [
        "manifest.json: is signed with another key"
    ]
    shutil.copy(folder / "bundle" / "manifest.sig", bundle / "manifest.sig")
    assert "manifest.sig: is not the signature of the manifest" in problems(bundle)


def test_a_finished_bundle_without_the_signature_asked_for_is_not_passed_off(folder: Path) -> None:
    words = words_for(folder, folder / "bundle", SAMPLE)
    assert command(*words, "--sign", folder / "mine.pem").code == 0
    refused = command(*words, "--sign", folder / "other.pem")
    assert refused.code == 2
    assert "was finished without this --sign" in one_line(refused)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (
            ["run", "--no-pages", "audit.toml", "--sign", "gone"],
            "gone: cannot be read (No such file",
        ),
        (
            ["run", "--no-pages", "audit.toml", "--sign", "nodes.csv"],
            "nodes.csv: is not an Ed25519 private key",
        ),
        (
            ["run", "--no-pages", "audit.toml", "--sign", "mine.pub"],
            "mine.pub: is not an Ed25519 private key",
        ),
        (["verify", "bundle", "--key", "mine.pem"], "mine.pem: is not an Ed25519 public key"),
        (["verify", "gone"], "gone: there is no such folder"),
        (["verify", "bundle", "--replay", "2"], "--replay needs --settings FILE"),
    ],
)
def test_what_cannot_be_used_is_one_line_and_2(
    words: list[str], complaint: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    finished = command(*words)
    assert finished.code == 2
    assert one_line(finished).startswith(f"error: {complaint}")


def test_a_replay_finds_the_same_again(folder: Path) -> None:
    words = ("verify", folder / "bundle", "--replay", "5", "--settings", folder / "audit.toml")
    finished = command(*words)
    assert finished.code == 0
    assert finished.out.endswith("; 5 worked out again\n")


def test_a_replay_names_the_subject_who_was_tampered_with(
    folder: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(sqlite3.connect(bundle / "store.sqlite")) as store:
        [[number, name, document]] = store.execute(
            "SELECT number, id, document FROM subjects LIMIT 1"
        ).fetchall()
        other = re.sub(r'"relevance":\d', '"relevance":7', document, count=1)
        assert other != document
        store.execute("UPDATE subjects SET document = ? WHERE number = ?", (other, number))
        store.commit()
    monkeypatch.setattr("recourse_audit.bundle.verification._file_problems", lambda *_: [])
    found = problems(bundle)
    assert found == ["store.sqlite: its documents are not those of the manifest"]
    monkeypatch.setattr("recourse_audit.bundle.verification._counts", lambda *_: [])
    found = problems(bundle, "--replay", str(SAMPLE), "--settings", folder / "audit.toml")
    assert found == [f"store.sqlite: {name}: a replay finds something else"]


def test_a_replay_with_another_model_says_so(folder: Path, tmp_path: Path) -> None:
    for name in ("audit.toml", "nodes.csv", "edges.csv"):
        shutil.copy(folder / name, tmp_path / name)
    shutil.copy(folder.parent / folder.name / "gcn.onnx", tmp_path / "gcn.onnx")
    with (tmp_path / "edges.csv").open("a", encoding="utf-8") as file:
        file.write("\n")
    settings = tmp_path / "audit.toml"
    found = problems(folder / "bundle", "--replay", "1", "--settings", settings)
    assert found == [f"{settings}: the graph is not what was audited"]


def test_an_unfinished_bundle_cannot_be_verified(bundle: Path) -> None:
    (bundle / "work").mkdir()
    (bundle / "work" / "work.sqlite").touch()
    finished = command("verify", bundle)
    assert finished.code == 2
    assert "this audit is not finished" in one_line(finished)
