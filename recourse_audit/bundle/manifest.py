"""What is sealed: the manifest of a bundle, those of folders made from it, and the log of a run.

A manifest has a digest of every file, and one of everything else in it, so that not a byte can
change unnoticed. That of a bundle depends on the audit alone: not on the time, the folder, or the
number of workers. The log is the one file of a bundle that no two runs share; its lines are chained
by hashes, so that a changed one is noticed.

Pages and letters are made from a finished bundle, each in a folder with its own `manifest.json`,
which has the digest of the bundle's, and `checksums.txt` for `sha256sum -c`. Files are collected in
a folder beside the one that they replace, which they do when all are there. Whatever goes wrong
before, the one that was there stays, and so does the one beside, if anything in it is complete: it
has a journal of that, which the same command uses when it is run again. Any other removes it.
"""

import hashlib
import hmac
import os
import platform
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Literal, TypeVar

from recourse_audit.bundle.layout import (
    CHECKSUMS,
    FILES,
    GROUP_REPORT,
    MANIFEST,
    MARKER,
    NEW,
    OLD,
    SIGNATURE,
    BundleFolder,
    marker_text,
    read_plain,
    refuse_others,
    remove_folder,
    sync,
    write_plain,
)
from recourse_audit.bundle.signature import Signer, read_key_file
from recourse_audit.bundle.store import chunk_digests
from recourse_audit.errors import DocumentError, InputError
from recourse_audit.records.bundle import (
    ChunkDigest,
    Command,
    Counts,
    DerivedManifest,
    Fingerprint,
    Inputs,
    LogLine,
    MadeWith,
    Manifest,
)
from recourse_audit.records.codec import (
    DERIVED_MANIFEST,
    FINGERPRINT,
    LOG_LINE,
    MANIFEST_DOCUMENT,
    Document,
)
from recourse_audit.records.model import ProbeReport, Repeats
from recourse_audit.records.recourse import STATUSES, Compared

PACKAGES = ("recourse-audit", "networkx", "numpy", "onnxruntime", "pyarrow", "scipy")
RENDERERS = ("babel", "jinja2", "pydyf", "weasyprint")
JOURNAL = ".journal"
SHORTEST_KEY = 16
M = TypeVar("M", Manifest, DerivedManifest)


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


def manifest_text(document: Document[M], manifest: M) -> str:
    """A manifest as it is written, with a digest of everything else in it."""
    rest = replace(manifest, content="")
    return document.write_indented(replace(rest, content=digest_of(document.write(rest))))


def open_manifest(document: Document[M], folder: Path) -> tuple[M, bytes]:
    """The manifest of a folder and its text, if not a byte of it was changed."""
    content = read_plain(folder / MANIFEST)
    if content is None:
        raise DocumentError("is missing")
    manifest = document.read(content)
    if manifest_text(document, manifest).encode() != content:
        raise DocumentError("this manifest was changed after it was sealed; restore it")
    return manifest, content


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a bundle, if it is as it was written."""
    try:
        return open_manifest(MANIFEST_DOCUMENT, folder)[0]
    except DocumentError as error:
        missing = "; run the audit again" if str(error) == "is missing" else ""
        raise InputError(f"{folder / MANIFEST}: {error}{missing}") from None


def checksums_text(folder: Path, digests: dict[str, str]) -> str:
    """Digests in the form that `sha256sum -c` reads, of all files and the manifest itself."""
    names = [name for name in (MANIFEST, SIGNATURE) if (folder / name).is_file()]
    whole = digests | {name: digest(folder / name) for name in names}
    return "".join(f"{value}  {name}\n" for name, value in sorted(whole.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the manifest says besides the files; with `id_key`, also the ids, hashed with it."""

    command: Command
    fingerprint: Fingerprint
    inputs: Inputs
    probes: ProbeReport
    id_key: bytes | None
    signer: Signer | None


def seal_bundle(bundle: BundleFolder, evidence: Evidence, store: sqlite3.Connection) -> Manifest:
    """Put the manifest, its signature and the checksums into the bundle, in this order."""
    counts, signer = count_results(store), evidence.signer
    names = (*FILES, GROUP_REPORT) if (bundle.folder / GROUP_REPORT).is_file() else FILES
    manifest = Manifest(
        versions=versions(),
        command=evidence.command,
        fingerprint=digest_of(FINGERPRINT.write(evidence.fingerprint)),
        inputs=evidence.inputs,
        seed=evidence.fingerprint.seed,
        probes=evidence.probes.with_repeats(counts.repeats),
        counts=counts,
        hashed_ids=None if evidence.id_key is None else hash_ids(store, evidence.id_key),
        files={name: digest(bundle.folder / name) for name in names},
        signed_by=None if signer is None else signer.public,
        chunks=tuple(chunks_in(store)),
    )
    text = manifest_text(MANIFEST_DOCUMENT, manifest)
    bundle.write(MANIFEST, text)
    if signer is None:
        (bundle.folder / SIGNATURE).unlink(missing_ok=True)
    else:
        bundle.write(SIGNATURE, signer.sign(text))
    bundle.write(CHECKSUMS, checksums_text(bundle.folder, manifest.files))
    return manifest


def count_results(store: sqlite3.Connection) -> Counts:
    """How many there are of everything in a store."""
    [[people, subjects, chunks, queries, evaluations, *repeats, compared, deviation]] = (
        store.execute(
            "SELECT (SELECT count(*) FROM people), count(*), count(DISTINCT chunk), "
            "coalesce(sum(queries), 0), coalesce(sum(evaluations), 0), "
            "coalesce(sum(calls_repeated), 0), coalesce(sum(calls_differed), 0), "
            "coalesce(max(largest_difference), 0.0), coalesce(sum(answers_compared), 0), "
            "coalesce(max(largest_deviation), 0.0) FROM subjects"
        )
    )
    counts = dict(store.execute("SELECT status, count(*) FROM subjects GROUP BY status").fetchall())
    return Counts(
        people=people,
        subjects=subjects,
        statuses={status: counts.get(status, 0) for status in STATUSES},
        chunks=chunks,
        queries=queries,
        repeats=Repeats(**dict(zip(("calls", "differed", "largest"), repeats, strict=True))),
        evaluations=evaluations,
        compared=Compared(answers=compared, largest=deviation),
    )


def chunks_in(store: sqlite3.Connection) -> Iterator[ChunkDigest]:
    """The chunks of a store, in order."""
    return chunk_digests(
        store.execute("SELECT chunk, number, document FROM subjects ORDER BY chunk, number")
    )


def hash_ids(store: sqlite3.Connection, key: bytes) -> tuple[str, ...]:
    """The ids of the subjects, in their order, hashed so that they take the key to guess."""
    rows = store.execute("SELECT id FROM subjects ORDER BY number")
    return tuple(hmac.new(key, name.encode(), hashlib.sha256).hexdigest() for (name,) in rows)


def read_id_key(path: Path) -> bytes:
    """Read the key for ids: any file of some length that is kept secret."""
    key = read_key_file(path, "--id-key")
    if len(key) < SHORTEST_KEY:
        raise InputError(
            f"{path}: is too short for a key; --id-key takes at least {SHORTEST_KEY} random bytes, "
            "as from `openssl rand 32`"
        )
    return key


class DerivedFolder:
    """A folder made from a bundle, by the folder of the bundle and its own name."""

    def __init__(self, *, bundle: Path, name: Literal["pages", "letters"]) -> None:
        self.bundle, self.name, self.folder = bundle, name, bundle / name
        self.new, self.old = bundle / f"{name}{NEW}", bundle / f"{name}{OLD}"

    def tidy(self) -> None:
        """Clear up after a command that was killed: what was there stays, or comes back."""
        refuse_others(self.folder, self.name)
        refuse_others(self.new, self.name)
        if self.old.is_dir() and not self.folder.exists():
            self.old.replace(self.folder)
        remove_folder(self.old, self.name)

    @contextmanager
    def remake(self, made_with: MadeWith, signer: Signer | None = None) -> Iterator["NewFolder"]:
        """Give a folder for files, which then replaces this one; the lock must be held."""
        self.tidy()
        public = None if signer is None else signer.public
        of = digest(self.bundle / MANIFEST)
        manifest = DerivedManifest(of=of, made_with=made_with, files={}, signed_by=public)
        new = NewFolder(self.new, manifest)
        try:
            yield new
            new.seal(signer)
            if self.folder.exists():
                self.folder.replace(self.old)
            self.new.replace(self.folder)
            sync(self.bundle)
            remove_folder(self.old, self.name)
        except BaseException:
            if not new.groups:
                with suppress(OSError):  # what stopped this may keep anything from being removed
                    remove_folder(self.new, self.name)
            raise

    def read_manifest(self, *, of_any: bool = False) -> DerivedManifest | None:
        """The folder's manifest, if it was made from this bundle as it is, or from any."""
        with suppress(DocumentError):
            manifest = DERIVED_MANIFEST.read(read_plain(self.folder / MANIFEST) or b"")
            if of_any or manifest.of == digest(self.bundle / MANIFEST):
                return manifest
        return None

    def amend(self, files: Mapping[str, str], signer: Signer | None) -> None:
        """Replace some files; all others stay, and all must be as they were sealed."""
        manifest = self.read_manifest()
        assert manifest is not None
        if manifest.signed_by is not None and signer is None:
            raise InputError(f"{self.folder}: is signed with a key; sign it again with --sign KEY")
        with self.remake(manifest.made_with, signer) as new:
            for name, value in manifest.files.items():
                content = read_plain(self.folder / name)
                if content is None or hashlib.sha256(content).hexdigest() != value:
                    raise InputError(
                        f"{self.folder / name}: was changed since it was sealed; restore it"
                    )
                new.put(name, files[name].encode() if name in files else content)

    def is_there(self, *, paper: bool) -> bool:
        """Whether the folder is there already, made from this bundle, whoever asked for it.

        Made where PDFs could not be, it is not complete once they can (`paper`).
        """
        manifest = self.read_manifest()
        return manifest is not None and (manifest.made_with.paper or not paper)


class NewFolder:
    """Files that wait beside the folder which they are to replace, with their digests.

    `digests` are those of the files that are there; at first the complete ones of an earlier
    attempt, if all else in the `manifest` and the packages that render are the same as then.
    `groups` counts the groups of files that are complete.
    """

    def __init__(self, path: Path, manifest: DerivedManifest) -> None:
        self._path, self._journal, self._manifest = path, path / JOURNAL, manifest
        self.digests: dict[str, str] = {}
        self.groups = 0
        what = manifest.made_with.what
        packages = " ".join(f"{name} {version(name)}" for name in RENDERERS)
        first = f"{DERIVED_MANIFEST.write(manifest)} {packages}"
        *lines, _ = (read_plain(self._journal) or b"").split(b"\n")
        if lines[:1] == [first.encode()]:
            os.truncate(self._journal, sum(len(line) + 1 for line in lines))
            self._keep(lines[1:])
        else:
            remove_folder(path, what)
            path.mkdir()
            self.put(MARKER, marker_text(what))
            self._note(first)

    def _keep(self, lines: list[bytes]) -> None:
        """Keep the files of an earlier attempt that are as they were noted, and no others."""
        files = {
            path.relative_to(self._path).as_posix(): path
            for path in self._path.rglob("*")
            if path.is_symlink() or (path.is_file() and path != self._journal)
        }
        digests = {n: hashlib.sha256(read_plain(p) or b"").hexdigest() for n, p in files.items()}
        for line in lines:
            words = line.decode("utf-8", "replace").split()
            noted = dict(zip(words[::2], words[1::2], strict=False))
            if noted.items() <= digests.items():
                self.digests |= noted
                self.groups += 1
        for name in files.keys() - self.digests.keys() - {MARKER}:
            files[name].unlink()
        self.put(MARKER, marker_text(self._manifest.made_with.what))

    def put(self, name: str, content: bytes) -> None:
        path = self._path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_plain(path, content)
        self.digests[name] = hashlib.sha256(content).hexdigest()

    def put_together(self, files: Mapping[str, bytes]) -> None:
        """Put files that are complete only if all are there; an attempt after this keeps them."""
        for name, content in files.items():
            self.put(name, content)
        self._note(" ".join(f"{name} {self.digests[name]}" for name in files))
        self.groups += 1

    def _note(self, line: str) -> None:
        write_plain(self._journal, f"{line}\n".encode(), os.O_APPEND)

    def seal(self, signer: Signer | None) -> None:
        """Write down what all files are, and wait until a power loss cannot take them."""
        manifest = replace(self._manifest, files=dict(sorted(self.digests.items())))
        text = manifest_text(DERIVED_MANIFEST, manifest)
        write_plain(self._path / MANIFEST, text.encode())
        if signer is not None:
            write_plain(self._path / SIGNATURE, signer.sign(text).encode())
        write_plain(self._path / CHECKSUMS, checksums_text(self._path, manifest.files).encode())
        os.sync()
        self._journal.unlink()
        sync(self._path)


class RunLog:
    """Appends lines to a file; `now` tells the time as text."""

    def __init__(self, path: Path, now: Callable[[], str]) -> None:
        self._path = path
        self._now = now
        self._before = ""
        if not path.exists():
            return
        # Continue after the last line that was written in full.
        *complete, rest = path.read_bytes().split(b"\n")
        if rest:
            os.truncate(path, sum(len(line) + 1 for line in complete))
        try:
            self._before = LOG_LINE.read(complete[-1]).hash if complete else ""
        except DocumentError:
            raise InputError(
                f"{path}: its last line is damaged; restore the file, or start over with --fresh"
            ) from None

    def add(self, line: LogLine) -> None:
        """Write down that something happened; the time and the hash are filled in here."""
        whole = _chain(self._before, replace(line, at=self._now()))
        write_plain(self._path, f"{LOG_LINE.write(whole)}\n".encode(), os.O_APPEND)
        self._before = whole.hash


def _chain(before: str, line: LogLine) -> LogLine:
    """The line with a hash of itself, given the hash of the one before."""
    return replace(line, hash=digest_of(before + LOG_LINE.write(replace(line, hash=""))))


def is_unbroken(content: bytes) -> bool:
    """Whether a log is complete, ends with "finished", and no line was changed."""
    before, text, event = "", "", ""
    try:
        for line in _read_lines(content):
            if line != _chain(before, line):
                return False
            before, event = line.hash, line.event
            text += f"{LOG_LINE.write(line)}\n"
    except DocumentError:
        return False
    return event == "finished" and text.encode() == content


def log_days(path: Path) -> tuple[str, str] | None:
    """The first and the last day (UTC) that a log tells of, if any; no evidence depends on it."""
    try:
        times = [datetime.fromisoformat(line.at) for line in _read_lines(path.read_bytes())]
        days = sorted(time.astimezone(UTC).date().isoformat() for time in times)
    except (OSError, ValueError, DocumentError):
        return None
    return (days[0], days[-1]) if days else None


def _read_lines(content: bytes) -> Iterator[LogLine]:
    """The lines of a log that were written in full."""
    return map(LOG_LINE.read, content.split(b"\n")[:-1])
