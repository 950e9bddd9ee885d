"""The record of finished pieces while an audit runs: a transaction a piece, nothing by halves."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from recourse_audit.errors import InputError
from recourse_audit.run.findings import Result
from recourse_audit.run.store import VERSION

SCHEMA = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE pieces (piece INTEGER PRIMARY KEY)",
    "CREATE TABLE results (subject INTEGER PRIMARY KEY, piece INTEGER NOT NULL, document TEXT)",
)


def check_idle(path: Path) -> None:
    """Fail if another run is writing to a record; what else is wrong with it does not matter."""
    if not path.is_file():
        return
    with closing(sqlite3.connect(path, isolation_level=None, timeout=1.0)) as store:
        try:
            store.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            return


class Work:
    """An open record; nobody else can write to it meanwhile."""

    def __init__(self, path: Path) -> None:
        """Open the record, or begin one."""
        self._store = sqlite3.connect(path, isolation_level=None, timeout=1.0)
        self._store.execute("PRAGMA locking_mode = EXCLUSIVE")
        self._store.execute("PRAGMA journal_mode = WAL")
        self._store.execute("BEGIN IMMEDIATE")
        [[version]] = self._store.execute("PRAGMA user_version").fetchall()
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

    def meta(self) -> dict[str, str]:
        """What the audit was begun with; empty if it has just begun."""
        return dict(self._store.execute("SELECT key, value FROM meta"))

    def describe(self, meta: dict[str, str]) -> None:
        """Keep what the audit is begun with."""
        self._store.execute("BEGIN")
        self._store.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
        self._store.execute("COMMIT")

    def add(self, piece: int, documents: dict[int, str]) -> None:
        """Keep a finished piece."""
        rows = [(subject, piece, document) for subject, document in sorted(documents.items())]
        self._store.execute("BEGIN")
        self._store.executemany("INSERT INTO results VALUES (?, ?, ?)", rows)
        self._store.execute("INSERT INTO pieces VALUES (?)", (piece,))
        self._store.execute("COMMIT")

    def finished(self) -> set[int]:
        """The pieces that need no work any more."""
        return {piece for (piece,) in self._store.execute("SELECT piece FROM pieces")}

    def results(self) -> Iterator[Result]:
        """All results, in the order of subjects."""
        rows = self._store.execute("SELECT subject, piece, document FROM results ORDER BY subject")
        for subject, piece, document in rows:
            yield Result(subject=subject, piece=piece, document=document)
