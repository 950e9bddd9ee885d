"""What an audit keeps while it runs: a checkpoint of its chunks, and a log of what happened when.

The checkpoint has everybody, who is to be audited, and finished chunks: one transaction per chunk,
so that nothing is half written. With each chunk goes a digest of its documents, which is checked
before they are used. The store can be written from it alone.

The log is the one file of a bundle that no two runs share. Its lines are chained by hashes, so that
a changed one is noticed.
"""

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path

from recourse_audit.bundle.layout import write_all
from recourse_audit.bundle.manifest import digest_of
from recourse_audit.bundle.store import (
    MEMBERS,
    PEOPLE,
    PERSON,
    TIES,
    Findings,
    check_attributes,
    check_tables,
    insert_rows,
)
from recourse_audit.errors import DocumentError, InputError
from recourse_audit.records.bundle import LogLine, Member, Person, TieBlock
from recourse_audit.records.codec import LOG_LINE


class RunLog:
    """Appends lines to a file; `now` tells the time as text."""

    def __init__(self, path: Path, now: Callable[[], str]) -> None:
        self._path = path
        self._now = now
        self._before = ""
        if path.exists():
            self._resume()

    def add(self, line: LogLine) -> None:
        """Write down that something happened; the time and the hash are filled in here."""
        whole = chain_line(self._before, replace(line, at=self._now()))
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
        handle = os.open(self._path, flags, 0o600)
        try:
            write_all(handle, f"{LOG_LINE.write(whole)}\n".encode())
        finally:
            os.close(handle)
        self._before = whole.hash

    def _resume(self) -> None:
        """Continue after the last line that was written in full."""
        lines = self._path.read_bytes().split(b"\n")
        complete = lines[:-1]
        if lines[-1]:
            os.truncate(self._path, sum(len(line) + 1 for line in complete))
        if complete:
            try:
                self._before = LOG_LINE.read(complete[-1]).hash
            except DocumentError:
                raise InputError(
                    f"{self._path}: its last line is damaged; restore the file, or start over "
                    "with --fresh"
                ) from None


def chain_line(before: str, line: LogLine) -> LogLine:
    """The line with a hash of itself, given the hash of the one before."""
    return replace(line, hash=digest_of(before + LOG_LINE.write(replace(line, hash=""))))


def is_unbroken(content: bytes) -> bool:
    """Whether a log is complete, ends with "finished", and no line was changed."""
    try:
        lines = read_lines(content)
    except DocumentError:
        return False
    before = ""
    for line in lines:
        if line != chain_line(before, line):
            return False
        before = line.hash
    return bool(lines) and lines[-1].event == "finished" and _rewritten(lines) == content


def read_lines(content: bytes) -> list[LogLine]:
    """The lines of a log that were written in full."""
    return [LOG_LINE.read(line) for line in content.split(b"\n")[:-1]]


def _rewritten(lines: Iterable[LogLine]) -> bytes:
    return "".join(f"{LOG_LINE.write(line)}\n" for line in lines).encode()


def log_days(path: Path) -> tuple[str, str] | None:
    """The first and the last day that a log tells of (as 2026-11-16, UTC); None if it tells none.

    Nothing in the evidence depends on it: `verify` says whether a line was changed.
    """
    try:
        times = [datetime.fromisoformat(line.at) for line in read_lines(path.read_bytes())]
        days = sorted(time.astimezone(UTC).date().isoformat() for time in times)
    except (OSError, ValueError, DocumentError):
        return None
    return (days[0], days[-1]) if days else None


# Changes whenever a table or the format of documents does.
VERSION = 7
SCHEMA = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    PEOPLE,
    MEMBERS,
    TIES,
    "CREATE TABLE planned (subject INTEGER PRIMARY KEY)",
    "CREATE TABLE results (subject INTEGER PRIMARY KEY, chunk INTEGER NOT NULL, document TEXT)",
    "CREATE TABLE chunks (chunk INTEGER PRIMARY KEY, content TEXT NOT NULL)",
)


class CheckpointReader(Findings):
    """What can be read from a checkpoint, whoever has opened it."""

    def chunks(self) -> dict[int, set[int]]:
        """The subjects of every finished chunk."""
        chunks: dict[int, set[int]] = {}
        for subject, chunk in self._store.execute("SELECT subject, chunk FROM results"):
            chunks.setdefault(chunk, set()).add(subject)
        return chunks

    def check(self) -> None:
        """Refuse a checkpoint that holds what was never put there; damage is an `sqlite3` error."""
        check_tables(self._store, SCHEMA)
        if self._find_changed():
            raise sqlite3.IntegrityError("it was changed since it was written")

    def check_attributes(self, attributes: Iterable[str]) -> None:
        """Refuse a checkpoint in which not everybody has a value of these attributes."""
        check_attributes(self._store, attributes)

    def _find_changed(self) -> list[int]:
        """The chunks whose documents are not those that were kept."""
        kept = dict(self._store.execute("SELECT chunk, content FROM chunks"))
        digests = {chunk: hashlib.sha256() for chunk in kept}
        rows = self._store.execute("SELECT chunk, subject, document FROM results ORDER BY subject")
        for chunk, subject, document in rows:
            digests.setdefault(chunk, hashlib.sha256()).update(_line(subject, document))
        return sorted(chunk for chunk in digests if digests[chunk].hexdigest() != kept.get(chunk))

    def progress(self) -> tuple[int, int]:
        """How many subjects are done, and how many there are."""
        [[done]] = self._store.execute("SELECT count(*) FROM results")
        [[total]] = self._store.execute("SELECT count(*) FROM planned")
        return done, total


class Checkpoint(CheckpointReader):
    """A checkpoint that is open for writing; nobody else can open it meanwhile."""

    def __init__(self, path: Path) -> None:
        """Open the checkpoint, or begin one."""
        super().__init__(sqlite3.connect(path, isolation_level=None, timeout=1.0))
        self._store.execute("PRAGMA locking_mode = EXCLUSIVE")
        self._store.execute("PRAGMA journal_mode = WAL")
        self._store.execute("BEGIN IMMEDIATE")
        version = _version(self._store)
        if version == 0:
            for statement in SCHEMA:
                self._store.execute(statement)
            self._store.execute(f"PRAGMA user_version = {VERSION}")
        self._store.execute("COMMIT")
        if version not in (0, VERSION):
            self.close()
            raise InputError(
                f"{path}: was begun by a program that writes version {version}, and this one "
                f"writes {VERSION}; use that program, or start over with --fresh"
            )

    def close(self) -> None:
        self._store.close()

    def begin(
        self,
        meta: dict[str, str],
        people: Iterable[Person],
        members: Iterable[Member],
        ties: Iterable[TieBlock],
        subjects: Iterable[int],
    ) -> None:
        """Keep what the audit is begun with, everybody in the graph, and who is to be audited."""
        self._store.execute("BEGIN")
        insert_rows(self._store, "people", map(attrgetter(*PERSON), people))
        insert_rows(self._store, "members", members)
        insert_rows(self._store, "ties", ties)
        insert_rows(self._store, "planned", ((subject,) for subject in subjects))
        insert_rows(self._store, "meta", meta.items())
        self._store.execute("COMMIT")

    def add(self, chunk: int, documents: dict[int, str]) -> None:
        """Keep a finished chunk."""
        rows = [(subject, chunk, document) for subject, document in sorted(documents.items())]
        self._store.execute("BEGIN")
        self._store.executemany("INSERT INTO results VALUES (?, ?, ?)", rows)
        content = hashlib.sha256(b"".join(_line(subject, text) for subject, _, text in rows))
        self._store.execute("INSERT INTO chunks VALUES (?, ?)", (chunk, content.hexdigest()))
        self._store.execute("COMMIT")


@contextmanager
def open_checkpoint(path: Path) -> Iterator[CheckpointReader]:
    """Open the checkpoint of an unfinished audit for reading; fails while a run writes to it."""
    uri = f"{path.resolve().as_uri()}?mode=ro"
    with (
        closing(sqlite3.connect(uri, uri=True, isolation_level=None, timeout=1.0)) as store,
        _left_as_it_was(path),
    ):
        store.execute("BEGIN")  # everything read is of one moment
        version = _version(store)
        if version not in (0, VERSION):
            raise InputError(
                f"{path}: was begun by a program that writes version {version}, and this one "
                f"reads {VERSION}; use that program"
            )
        checkpoint = CheckpointReader(store)
        if version == 0 or not checkpoint.meta():
            raise InputError(
                f"{path}: this audit has only just begun; rerun the same `run` command to resume"
            )
        yield checkpoint


@contextmanager
def _left_as_it_was(path: Path) -> Iterator[None]:
    """Remove the files that SQLite makes beside a database even if it is only read.

    They go before the connection is closed: until then its lock keeps writers out.
    """
    beside = [path.with_name(f"{path.name}-{ending}") for ending in ("shm", "wal")]
    there = {file for file in beside if file.exists()}
    try:
        yield
    finally:
        shared_memory, log = beside
        if shared_memory not in there:
            shared_memory.unlink(missing_ok=True)
        if log not in there and log.exists() and not log.stat().st_size:
            log.unlink()


def _line(subject: int, document: str) -> bytes:
    return f"{subject} {document}\n".encode()


def _version(store: sqlite3.Connection) -> int:
    [[version]] = store.execute("PRAGMA user_version").fetchall()
    return int(version)
