"""The record of an audit while it runs: everybody, who is to be audited, and finished pieces.

A transaction a piece, nothing by halves. From the record alone, the store can be written.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from operator import attrgetter
from pathlib import Path

from recourse_audit.errors import InputError
from recourse_audit.bundle.results import Findings, Result
from recourse_audit.records.people import Member, Person
from recourse_audit.bundle.store import MEMBERS, PEOPLE, PERSON, VERSION, insert_rows

SCHEMA = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    PEOPLE,
    MEMBERS,
    "CREATE TABLE planned (subject INTEGER PRIMARY KEY)",
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


class Record:
    """What can be read from a record, whoever has opened it."""

    def __init__(self, store: sqlite3.Connection) -> None:
        self._store = store

    def meta(self) -> dict[str, str]:
        """What the audit was begun with; empty if it has just begun."""
        return dict(self._store.execute("SELECT key, value FROM meta"))

    def people(self) -> Iterator[Person]:
        """Everybody, in order."""
        rows = self._store.execute(
            "SELECT number, id, decision, favourable, community FROM people ORDER BY number"
        )
        for number, name, decision, favourable, community in rows:
            yield Person(
                number=number,
                id=name,
                decision=decision,
                favourable=None if favourable is None else bool(favourable),
                community=community,
            )

    def members(self) -> Iterator[Member]:
        """Everybody's groups, in order."""
        yield from self._store.execute(
            "SELECT person, attribute, value FROM members ORDER BY person, attribute"
        )

    def groups(self, person: int) -> dict[str, str]:
        """One person's groups by attribute."""
        find = "SELECT attribute, value FROM members WHERE person = ?"
        return dict(self._store.execute(find, (person,)))

    def results(self) -> Iterator[Result]:
        """All results, in the order of subjects."""
        rows = self._store.execute("SELECT subject, piece, document FROM results ORDER BY subject")
        for subject, piece, document in rows:
            yield Result(subject=subject, piece=piece, document=document)

    def findings(self) -> Findings:
        """All that the files of a bundle are written from."""
        return Findings(
            meta=self.meta(),
            people=self.people,
            members=self.members,
            groups=self.groups,
            results=self.results,
        )

    def pieces(self) -> dict[int, set[int]]:
        """The subjects of every finished piece."""
        found: dict[int, set[int]] = {}
        for subject, piece in self._store.execute("SELECT subject, piece FROM results"):
            found.setdefault(piece, set()).add(subject)
        return found

    def progress(self) -> tuple[int, int]:
        """How many subjects are done, of how many."""
        [[done]] = self._store.execute("SELECT count(*) FROM results")
        [[total]] = self._store.execute("SELECT count(*) FROM planned")
        return done, total


class Work(Record):
    """A record that is open for writing; nobody else can open it meanwhile."""

    def __init__(self, path: Path) -> None:
        """Open the record, or begin one."""
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
        subjects: Iterable[int],
    ) -> None:
        """Keep what the audit is begun with, everybody in the graph, and who is to be audited."""
        self._store.execute("BEGIN")
        for table, rows in (
            ("people", map(attrgetter(*PERSON), people)),
            ("members", members),
            ("planned", ((subject,) for subject in subjects)),
            ("meta", meta.items()),
        ):
            insert_rows(self._store, table, rows)
        self._store.execute("COMMIT")

    def add(self, piece: int, documents: dict[int, str]) -> None:
        """Keep a finished piece."""
        rows = [(subject, piece, document) for subject, document in sorted(documents.items())]
        self._store.execute("BEGIN")
        self._store.executemany("INSERT INTO results VALUES (?, ?, ?)", rows)
        self._store.execute("INSERT INTO pieces VALUES (?)", (piece,))
        self._store.execute("COMMIT")


@contextmanager
def open_record(path: Path) -> Iterator[Record]:
    """Open the record of an unfinished audit to read it; fails while a run is writing to it."""
    uri = f"{path.resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, isolation_level=None, timeout=1.0)) as store:
        store.execute("BEGIN")  # what is read is of one moment
        version = _version(store)
        if version not in (0, VERSION):
            raise InputError(
                f"{path}: was begun by a program that writes version {version}, and this one "
                f"reads {VERSION}; use that program"
            )
        record = Record(store)
        if version == 0 or not record.meta():
            raise InputError(
                f"{path}: this audit has only just begun; the same `run` command goes on"
            )
        yield record


def _version(store: sqlite3.Connection) -> int:
    [[version]] = store.execute("PRAGMA user_version").fetchall()
    return int(version)
