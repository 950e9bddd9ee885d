"""The manifest of a bundle: made from its files and its store, sealed, and read again.

It depends on the audit alone: not on the time, the folder, or the number of workers.
"""

import hashlib
import hmac
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from recourse_audit.bundle.layout import (
    CHECKSUMS,
    FILES,
    GROUP_REPORT,
    MANIFEST,
    SIGNATURE,
    BundleFolder,
)
from recourse_audit.bundle.plain_files import read_plain
from recourse_audit.bundle.seal import checksums_text, digest, digest_of, versions
from recourse_audit.errors import DocumentError, InputError
from recourse_audit.records.bundle import (
    FORMAT,
    ChunkDone,
    Command,
    Counts,
    Fingerprint,
    Inputs,
    Manifest,
    OutputFile,
    Sealed,
    Started,
)
from recourse_audit.records.codec import FINGERPRINT, MANIFEST_DOCUMENT, compact
from recourse_audit.records.model import ProbeReport, Repeats
from recourse_audit.records.recourse import STATUSES, Compared

SHORTEST_KEY = 16
Event = TypeVar("Event", Started, ChunkDone, Sealed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the manifest says besides the files; with `id_key`, also the ids, hashed with it."""

    command: Command
    fingerprint: Fingerprint
    inputs: Inputs
    probes: ProbeReport
    id_key: bytes | None
    signed_by: str | None


def make_manifest(bundle: BundleFolder, evidence: Evidence, store: sqlite3.Connection) -> Manifest:
    """The manifest of the files that are in the bundle."""
    counts = counts_of(store)
    names = (*FILES, GROUP_REPORT) if (bundle.folder / GROUP_REPORT).is_file() else FILES
    manifest = Manifest(
        format=FORMAT,
        versions=versions(),
        command=evidence.command,
        fingerprint=fingerprint_digest(evidence.fingerprint),
        inputs=evidence.inputs,
        seed=evidence.fingerprint.seed,
        probes=evidence.probes.with_repeats(counts.repeats),
        counts=counts,
        hashed_ids=None if evidence.id_key is None else hashed_ids(store, evidence.id_key),
        files={name: _output_file(bundle.folder / name) for name in names},
        signed_by=evidence.signed_by,
        events=(),
    )
    return replace(manifest, events=tuple(chain_of(manifest, chunk_digests(store))))


def fingerprint_digest(fingerprint: Fingerprint) -> str:
    """One digest of everything that an audit is of."""
    return digest_of(FINGERPRINT.write(fingerprint))


def chain_of(
    manifest: Manifest, chunks: Iterable[ChunkDone]
) -> Iterator[Started | ChunkDone | Sealed]:
    """The events of an audit: begun, each chunk finished, sealed with the rest of the manifest."""
    first = _chained("", Started(fingerprint=manifest.fingerprint, hash=""))
    yield first
    before = first.hash
    for chunk in chunks:
        done = _chained(before, replace(chunk, hash=""))
        yield done
        before = done.hash
    rest = digest_of(MANIFEST_DOCUMENT.write(replace(manifest, events=())))
    yield _chained(before, Sealed(content=rest, hash=""))


def _chained(before: str, event: Event) -> Event:
    """The event with a hash of itself, given the hash of the one before."""
    return replace(event, hash=digest_of(before + compact(event.to_dict())))


def counts_of(store: sqlite3.Connection) -> Counts:
    """How many there are of everything in a store."""
    [[subjects, queries, evaluations, chunks]] = store.execute(
        "SELECT count(*), coalesce(sum(queries), 0), coalesce(sum(evaluations), 0), "
        "count(DISTINCT chunk) FROM subjects"
    )
    [[repeated, differed, difference, compared, deviation]] = store.execute(
        "SELECT coalesce(sum(calls_repeated), 0), coalesce(sum(calls_differed), 0), "
        "coalesce(max(largest_difference), 0.0), coalesce(sum(answers_compared), 0), "
        "coalesce(max(largest_deviation), 0.0) FROM subjects"
    )
    [[people]] = store.execute("SELECT count(*) FROM people")
    found = dict(store.execute("SELECT status, count(*) FROM subjects GROUP BY status").fetchall())
    return Counts(
        people=people,
        subjects=subjects,
        statuses={status: found.get(status, 0) for status in STATUSES},
        chunks=chunks,
        queries=queries,
        repeats=Repeats(calls=repeated, differed=differed, largest=difference),
        evaluations=evaluations,
        compared=Compared(answers=compared, largest=deviation),
    )


def chunk_digests(store: sqlite3.Connection) -> Iterator[ChunkDone]:
    """Each chunk in order: its number, its subjects, and a digest of their documents."""
    rows = store.execute("SELECT chunk, number, document FROM subjects ORDER BY chunk, number")
    current, count, content = -1, 0, hashlib.sha256()
    for chunk, number, document in rows:
        if chunk != current:
            if count:
                yield _chunk_done(current, count, content.hexdigest())
            current, count, content = chunk, 0, hashlib.sha256()
        count += 1
        content.update(f"{number} {document}\n".encode())
    if count:
        yield _chunk_done(current, count, content.hexdigest())


def _chunk_done(chunk: int, subjects: int, content: str) -> ChunkDone:
    return ChunkDone(chunk=chunk, subjects=subjects, content=content, hash="")


def hashed_ids(store: sqlite3.Connection, key: bytes) -> tuple[str, ...]:
    """The ids of the subjects, in their order, hashed so that they take the key to guess."""
    rows = store.execute("SELECT id FROM subjects ORDER BY number")
    return tuple(hmac.new(key, name.encode(), hashlib.sha256).hexdigest() for (name,) in rows)


def read_id_key(path: Path) -> bytes:
    """Read the key for ids: any file of some length that is kept secret."""
    try:
        key = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); correct --id-key") from None
    if len(key) < SHORTEST_KEY:
        raise InputError(
            f"{path}: is too short for a key; --id-key takes at least {SHORTEST_KEY} random bytes, "
            "as from `openssl rand 32`"
        )
    return key


def seal(bundle: BundleFolder, manifest: Manifest, signature: str | None) -> None:
    """Put the manifest, its signature and the checksums into the bundle, in this order."""
    bundle.write(MANIFEST, MANIFEST_DOCUMENT.write_indented(manifest))
    if signature is None:
        (bundle.folder / SIGNATURE).unlink(missing_ok=True)
    else:
        bundle.write(SIGNATURE, signature)
    files = {name: file.sha256 for name, file in manifest.files.items()}
    bundle.write(CHECKSUMS, checksums_text(bundle.folder, files))


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a bundle, if it is as it was written."""
    content = read_plain(folder / MANIFEST)
    if content is None:
        raise InputError(f"{folder / MANIFEST}: is missing; run the audit again")
    try:
        return parse_manifest(content)
    except DocumentError as error:
        raise InputError(f"{folder / MANIFEST}: {error}") from None


def parse_manifest(content: bytes) -> Manifest:
    """The manifest in a text, if not a byte of it was changed: its events seal the rest."""
    manifest = MANIFEST_DOCUMENT.read(content)
    whole = replace(manifest, events=tuple(chain_of(manifest, manifest.chunks)))
    if MANIFEST_DOCUMENT.write_indented(whole).encode() != content:
        raise DocumentError("this manifest was changed after it was sealed; restore it")
    return manifest


def _output_file(path: Path) -> OutputFile:
    return OutputFile(bytes=path.stat().st_size, sha256=digest(path))
