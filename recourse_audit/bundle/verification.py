"""A bundle is checked without the model: every file, the counts, the events, the signature.

Each problem is one line that begins with the file it is about.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recourse_audit.errors import InputError
from recourse_audit.bundle.layout import FILES, FOLDERS, LOG, MANIFEST, SIGNATURE, Bundle
from recourse_audit.bundle.chain import broken_at
from recourse_audit.records.codec import compact
from recourse_audit.bundle.manifest import FORMAT, chain_of, counts_of, piece_digests, written
from recourse_audit.bundle.derived_folder import rendered_problems
from recourse_audit.bundle.seal import Sealed, read
from recourse_audit.bundle.signature import is_signed
from recourse_audit.bundle.store import open_store


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is wrong with a bundle, a line each; and what it holds, if that could be read."""

    problems: tuple[str, ...]
    subjects: int | None
    signed_by: str | None


def verify(folder: Path, public_key: str | None = None) -> Verdict:
    """Check a bundle; with a public key, also that it was signed with the private one."""
    bundle = Bundle(folder=folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder; name the bundle to verify")
    if bundle.work_store.is_file():
        raise InputError(f"{folder}: this audit is not finished; the same `run` command goes on")
    content = read(folder / MANIFEST)
    manifest = None if content is None else _manifest(content)
    if content is None or manifest is None:
        lacking = "is missing" if content is None else "was changed, or has another format"
        return Verdict(problems=(f"{MANIFEST}: {lacking}",), subjects=None, signed_by=None)
    files = manifest["files"]
    sealed = Sealed(
        folder=folder,
        digests={name: facts["sha256"] for name, facts in files.items()},
        signed_by=manifest["signed_by"],
    )
    problems = [*sealed.added(LOG, apart=FOLDERS)]
    problems += [f"{name}: is not in the manifest" for name in FILES if name not in files]
    problems += [*sealed.altered()]
    if not problems:
        problems += [*_counts(bundle, manifest)]
    problems += [*sealed.unchecked(), *_log(bundle)]
    problems += [*sealed.unsigned(public_key), *_signature(sealed, content)]
    problems += [*rendered_problems(folder, public_key)]
    return Verdict(
        problems=tuple(problems),
        subjects=manifest["counts"]["subjects"],
        signed_by=manifest["signed_by"],
    )


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a bundle, if it is as it was written."""
    content = read(folder / MANIFEST)
    manifest = None if content is None else _manifest(content)
    if manifest is None:
        raise InputError(f"{folder / MANIFEST}: is missing or was changed; run the audit again")
    return manifest


def _manifest(content: bytes) -> dict[str, Any] | None:
    """The manifest, if not a byte of it was changed: its last event is a digest of the rest."""
    try:
        manifest: dict[str, Any] = json.loads(content)
        rest = {key: value for key, value in manifest.items() if key != "events"}
        pieces = [
            (event["piece"], event["subjects"], event["content"])
            for event in manifest["events"][1:-1]
        ]
        whole = rest | {"events": chain_of(rest, pieces)}
        same = manifest["format"] == FORMAT and written(whole).encode() == content
    except (ValueError, KeyError, TypeError):
        return None
    return manifest if same else None


def _counts(bundle: Bundle, manifest: dict[str, Any]) -> Iterator[str]:
    """Whether the store holds what the manifest counts, piece by piece."""
    counts = manifest["counts"]
    if sum(counts["statuses"].values()) != counts["subjects"]:
        yield f"{MANIFEST}: the statuses do not add up to the subjects"
    with open_store(bundle.store) as store:
        if counts_of(store) != counts:
            yield "store.sqlite: does not hold what the manifest counts"
        done = [
            (event["piece"], event["subjects"], event["content"])
            for event in manifest["events"][1:-1]
        ]
        if list(piece_digests(store)) != done:
            yield "store.sqlite: its documents are not those of the events"
    with (bundle.folder / "data" / "subjects.jsonl").open("rb") as file:
        lines = sum(1 for _ in file)
    if lines != counts["subjects"]:
        yield "data/subjects.jsonl: does not have a line a subject"


def _log(bundle: Bundle) -> Iterator[str]:
    content = read(bundle.log)
    if content is None:
        yield f"{LOG}: is missing"
        return
    lines = content.split(b"\n")
    try:
        records = [json.loads(line) for line in lines[:-1]]
        same = all(
            compact(record).encode() == line
            for record, line in zip(records, lines[:-1], strict=True)
        )
        ended = bool(records) and records[-1]["event"] == "finished" and not lines[-1]
        whole = same and ended and broken_at(records) is None
    except (ValueError, KeyError, TypeError):
        whole = False
    if not whole:
        yield f"{LOG}: was changed"


def _signature(sealed: Sealed, content: bytes) -> Iterator[str]:
    if sealed.signed_by is None:
        return
    signature = read(sealed.folder / SIGNATURE)
    if signature is None:
        yield f"{SIGNATURE}: is missing"
    elif not is_signed(content, signature.decode("utf-8", "replace"), sealed.signed_by):
        yield f"{SIGNATURE}: is not the signature of the manifest"
