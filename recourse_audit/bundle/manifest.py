"""The manifest of a bundle: what was audited, a digest of every file, and a chain of events.

It depends on the audit alone: not on the time, the folder, or the number of workers. The events
seal the rest of the manifest, so that not a byte of it can change unnoticed. Digests
also seal what is made from a bundle. Each problem is one line that begins with the file it is
about, as it is named inside the folder.
"""

import hashlib
import hmac
import platform
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

from recourse_audit.bundle.layout import (
    CHECKSUMS,
    FILES,
    GROUP_REPORT,
    MANIFEST,
    SIGNATURE,
    BundleFolder,
    read_plain,
)
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

PACKAGES = ("recourse-audit", "networkx", "numpy", "onnxruntime", "pyarrow", "scipy")


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of(text: str) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def versions() -> dict[str, str]:
    """The program first, then packages by name, then Python and SQLite."""
    packages = {name: version(name) for name in PACKAGES}
    return packages | {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version}


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedFolder:
    """A folder as its manifest says it is: a digest of every file, and whose key signed it."""

    folder: Path
    digests: dict[str, str]
    signed_by: str | None

    def find_added(self, *more: str, apart: tuple[str, ...] = ()) -> Iterator[str]:
        """Files that the manifest does not name, nor `more`; folders `apart` have their own."""
        known = {*self.digests, *more, MANIFEST, CHECKSUMS}
        known |= {SIGNATURE} if self.signed_by else set()
        for path in sorted(self.folder.rglob("*")):
            inside = path.relative_to(self.folder)
            is_apart = len(inside.parts) > 1 and inside.parts[0] in apart
            if inside.as_posix() not in known and not is_apart and not path.is_dir():
                yield f"{inside.as_posix()}: was added"

    def find_altered(self) -> Iterator[str]:
        """Files that are missing or were changed."""
        for name, value in self.digests.items():
            path = self.folder / name
            if not path.is_file():
                yield f"{name}: is missing"
            elif digest(path) != value:
                yield f"{name}: was changed"

    def check_key(self, public_key: str | None) -> Iterator[str]:
        """A problem if it is not signed with the expected key."""
        if public_key is not None and self.signed_by != public_key:
            lacking = "is not signed" if self.signed_by is None else "is signed with another key"
            yield f"{MANIFEST}: {lacking}"

    def check_checksums(self) -> Iterator[str]:
        """A problem if the checksums are not those of the manifest."""
        content = read_plain(self.folder / CHECKSUMS)
        if content is None:
            yield f"{CHECKSUMS}: is missing"
        elif content != checksums_text(self.folder, self.digests).encode():
            yield f"{CHECKSUMS}: was changed, or does not agree with the manifest"


def checksums_text(folder: Path, digests: dict[str, str]) -> str:
    """Digests in the form that `sha256sum -c` reads, of all files and the manifest itself."""
    signature = folder / SIGNATURE
    more = {MANIFEST: digest(folder / MANIFEST)}
    more |= {SIGNATURE: digest(signature)} if signature.is_file() else {}
    return "".join(f"{value}  {name}\n" for name, value in sorted((digests | more).items()))


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
    counts = count_results(store)
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
        hashed_ids=None if evidence.id_key is None else hash_ids(store, evidence.id_key),
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
    first = _chain_event("", Started(fingerprint=manifest.fingerprint, hash=""))
    yield first
    before = first.hash
    for chunk in chunks:
        done = _chain_event(before, replace(chunk, hash=""))
        yield done
        before = done.hash
    rest = digest_of(MANIFEST_DOCUMENT.write(replace(manifest, events=())))
    yield _chain_event(before, Sealed(content=rest, hash=""))


def _chain_event(before: str, event: Event) -> Event:
    """The event with a hash of itself, given the hash of the one before."""
    return replace(event, hash=digest_of(before + compact(event.to_dict())))


def count_results(store: sqlite3.Connection) -> Counts:
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
    counts = dict(store.execute("SELECT status, count(*) FROM subjects GROUP BY status").fetchall())
    return Counts(
        people=people,
        subjects=subjects,
        statuses={status: counts.get(status, 0) for status in STATUSES},
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


def hash_ids(store: sqlite3.Connection, key: bytes) -> tuple[str, ...]:
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
