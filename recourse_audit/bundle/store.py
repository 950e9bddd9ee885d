"""The SQLite store of an audit: written in one go, in one order, so that its bytes depend on its
content alone; read by every later stage. `Findings` is what it is written from, and
`docs/bundle.md` describes the tables.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from operator import attrgetter
from pathlib import Path

from recourse_audit.bundle.soundness import DAMAGE, check_tables
from recourse_audit.errors import DocumentError, InputError
from recourse_audit.records.bundle import COLUMNS, Member, Person, TieBlock, Value, summary_of
from recourse_audit.records.recourse import Action, CommonAction, CommonOutcome, TieAction
from recourse_audit.records.search import Tie
from recourse_audit.records.subject import SubjectReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What was found about one subject: the document as it is kept, and the report in it."""

    subject: int
    chunk: int
    document: str
    report: SubjectReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What is known about an audit, about everybody, and about the subjects that are done.

    All rows come in the order of their numbers. They are read anew each time, because those of a
    million people do not fit into memory.
    """

    meta: dict[str, str]
    people: Callable[[], Iterator[Person]]
    members: Callable[[], Iterator[Member]]
    ties: Callable[[], Iterator[TieBlock]]
    groups: Callable[[int], dict[str, str]]
    results: Callable[[], Iterator[Result]]


# Changes whenever a table or the format of documents does; a store of another version is refused.
VERSION = 7
PERSON = (
    *("number", "id", "decision", "favourable", "community", "favourable_alone"),
    *("outcome", "score"),
)
_TYPES = {str: "TEXT", int: "INTEGER", float: "REAL", bool: "INTEGER"}
# The checkpoint of an unfinished audit has these as well.
PEOPLE = """CREATE TABLE people (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL, decision TEXT NOT NULL, favourable INTEGER,
  community INTEGER, favourable_alone INTEGER, outcome INTEGER, score REAL
)"""
MEMBERS = """CREATE TABLE members (
  person INTEGER NOT NULL, attribute TEXT NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY (person, attribute)
) WITHOUT ROWID"""
TIES = "CREATE TABLE ties (block INTEGER PRIMARY KEY, pairs BLOB NOT NULL)"
SCHEMA = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
{PEOPLE};
CREATE UNIQUE INDEX people_by_id ON people (id);
{MEMBERS};
{TIES};
CREATE TABLE subjects (
  number INTEGER PRIMARY KEY, chunk INTEGER NOT NULL,
  {", ".join(f"{name} {_TYPES[kind]}" for name, kind in COLUMNS.items())},
  document TEXT NOT NULL
);
CREATE TABLE probabilities (
  subject INTEGER NOT NULL, class TEXT NOT NULL, probability REAL NOT NULL,
  PRIMARY KEY (subject, class)
) WITHOUT ROWID;
CREATE TABLE actions (
  subject INTEGER NOT NULL, option INTEGER NOT NULL, action INTEGER NOT NULL, do TEXT NOT NULL,
  kind TEXT, source INTEGER, target INTEGER, attribute TEXT, before, after,
  cost REAL NOT NULL, PRIMARY KEY (subject, option, action)
) WITHOUT ROWID;
CREATE TABLE droppable (
  subject INTEGER NOT NULL, place INTEGER NOT NULL, kind TEXT NOT NULL, source INTEGER NOT NULL,
  target INTEGER NOT NULL, PRIMARY KEY (subject, place)
) WITHOUT ROWID;
CREATE TABLE common_actions (
  number INTEGER PRIMARY KEY, do TEXT NOT NULL, what TEXT NOT NULL, ties INTEGER, moves REAL,
  value TEXT, unit TEXT NOT NULL
);
CREATE TABLE common_outcomes (
  subject INTEGER NOT NULL, action INTEGER NOT NULL, outcome TEXT NOT NULL, cost REAL,
  PRIMARY KEY (subject, action)
) WITHOUT ROWID;
"""


class StoreWriter:
    """Fills an empty database in one transaction, which `finish` ends."""

    def __init__(self, store: sqlite3.Connection, findings: Findings) -> None:
        self._store = store
        self._listed: tuple[CommonAction, ...] | None = None
        store.execute("PRAGMA page_size = 4096")
        store.execute("PRAGMA journal_mode = OFF")
        store.execute(f"PRAGMA user_version = {VERSION}")
        store.execute("BEGIN")
        for statement in SCHEMA.split(";"):
            store.execute(statement)
        insert_rows(store, "meta", sorted(findings.meta.items()))
        insert_rows(store, "people", map(attrgetter(*PERSON), findings.people()))
        insert_rows(store, "members", findings.members())
        insert_rows(store, "ties", findings.ties())

    def add(self, result: Result) -> None:
        """Write the rows of one subject."""
        subject, report = result.subject, result.report
        row = (subject, result.chunk, *summary_of(report).values(), result.document)
        insert_rows(self._store, "subjects", [row])
        chances = sorted(report.subject.probabilities.items())
        insert_rows(self._store, "probabilities", [(subject, *chance) for chance in chances])
        if report.recourse is None:
            return
        insert_rows(
            self._store,
            "actions",
            (
                (subject, place, step, *self._action(action))
                for place, option in enumerate(report.recourse.options)
                for step, action in enumerate(option.actions)
            ),
        )
        insert_rows(
            self._store,
            "droppable",
            (
                (subject, place, one.kind, *self._ends(one.tie))
                for place, one in enumerate(report.recourse.droppable)
            ),
        )
        self._add_common(subject, report.recourse.common_actions)

    def _add_common(self, subject: int, found: tuple[CommonOutcome, ...]) -> None:
        """The list of actions once, and what each that applies does for the subject."""
        listed = tuple(one.action for one in found)
        if not listed:
            return
        if self._listed is None:
            self._listed = listed
            rows = (
                (number, one.do, one.what, one.ties, one.by, one.to, one.unit)
                for number, one in enumerate(listed)
            )
            insert_rows(self._store, "common_actions", rows)
        if listed != self._listed:
            raise DocumentError("two reports of one audit have different common actions")
        insert_rows(
            self._store,
            "common_outcomes",
            (
                (subject, number, one.outcome, one.cost)
                for number, one in enumerate(found)
                if one.outcome != "does_not_apply"
            ),
        )

    def finish(self) -> None:
        """Make what was written permanent."""
        self._store.execute("COMMIT")

    def _action(self, action: Action) -> tuple[Value, ...]:
        if isinstance(action, TieAction):
            changed = (None, None, None)
            return (action.do, action.kind, *self._ends(action.tie), *changed, action.cost)
        changed_to = (action.attribute, action.before, action.after)
        return (action.do, None, None, None, *changed_to, action.cost)

    def _ends(self, tie: Tie) -> tuple[int, ...]:
        """The numbers of the people at the ends of a tie."""
        return tuple(self._number(name) for name in tie)

    def _number(self, name: str) -> int:
        find = "SELECT number FROM people WHERE id = ?"
        for (number,) in self._store.execute(find, (name,)):
            return int(number)
        raise DocumentError(f"a report names {name!r}, who is not in the graph")


def fill_store(store: sqlite3.Connection, findings: Findings) -> None:
    """Write everything that was found into an empty database."""
    writer = StoreWriter(store, findings)
    for result in findings.results():
        writer.add(result)
    writer.finish()


@contextmanager
def open_store(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a store for reading; one of another version, or no store at all, is refused.

    Damage is reported in one sentence, also where it shows only while the store is read.
    """
    if not path.is_file():
        raise InputError(f"{path}: there is no such store; `recourse-audit run` writes one")
    with closing(_connected(path)) as store:
        try:
            [[version]] = store.execute("PRAGMA user_version").fetchall()
            store.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        except DAMAGE:
            raise InputError(
                f"{path}: is not a store, or is damaged; run the audit again into another --out"
            ) from None
        if version != VERSION:
            raise InputError(
                f"{path}: is a store of version {version}, and this program reads version "
                f"{VERSION}; use the program that wrote it, or run the audit again"
            )
        try:
            found = path.stat()
            _check_once(path, found.st_ino, found.st_size, found.st_ctime_ns)
            yield store
        except DAMAGE as error:
            raise InputError(
                f"{path}: is damaged ({error}); restore it, or run the audit again into another "
                "--out"
            ) from None


def _connected(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)


@lru_cache(maxsize=16)
def _check_once(path: Path, *_state: int) -> None:
    """Check the tables of a store; once for each state of the file, however often it is opened."""
    with closing(_connected(path)) as store:
        check_tables(store, SCHEMA.split(";"))


def meta_of(store: sqlite3.Connection) -> dict[str, str]:
    """What the store says about the audit, by key."""
    return dict(store.execute("SELECT key, value FROM meta"))


def insert_rows(
    store: sqlite3.Connection, table: str, rows: Iterable[tuple[Value | bytes, ...]]
) -> None:
    """Write rows into a table; there may be none."""
    remaining = iter(rows)
    for first in islice(remaining, 1):
        places = ", ".join("?" * len(first))
        insert = f"INSERT INTO {table} VALUES ({places})"  # noqa: S608
        store.executemany(insert, chain([first], remaining))
