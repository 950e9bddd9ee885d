"""The SQLite store of an audit: written in one go, in one order, so that its bytes depend on its
content alone; read by every later stage. `Findings` is what it is written from, and
`docs/bundle.md` describes the tables.

Stores and checkpoints hold what their tables promise, or are refused before anything is read.
SQLite keeps a text in a column of numbers if somebody puts it there. So all tables are looked
through once, when a database is opened: their columns, the types and ranges of all values, and
whether the people that rows are about exist. Later stages rely on it.

Notes
-----
The check takes one pass over each table, without the documents, and one search by key for each row
that is about a person who need not be there. It raises `sqlite3.IntegrityError`, as a database that
is damaged itself does, so that both are reported in the same way.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from recourse_audit.errors import DocumentError, InputError
from recourse_audit.records.bundle import COLUMNS, Value, summary_of
from recourse_audit.records.codec import SUBJECT
from recourse_audit.records.group_figures import GRADES
from recourse_audit.records.recourse import (
    OUTCOMES,
    STATUSES,
    Action,
    CommonAction,
    CommonOutcome,
    SetAction,
)
from recourse_audit.records.search import Tie
from recourse_audit.records.subject import SubjectReport

LARGEST = 1.7976931348623157e308
# What reading a damaged database raises; SQLite's own message may quote bytes that are no text.
DAMAGE = (sqlite3.DatabaseError, UnicodeDecodeError)


class _Column(NamedTuple):
    name: str
    kind: str
    filled: bool


# What holds in a row besides types; {people} is how many there are.
IS_TRUTH = "{0} IS NULL OR {0} IN (0, 1)"
IS_PERSON = "{0} IS NULL OR {0} < {people}"
IS_SUBJECT = "{0} IN (SELECT number FROM subjects)"
NEVER_EMPTY = ("decision", "error", "note", "queries", "options", "favourable")
RULES = {
    "people": {
        "number": IS_PERSON,
        "favourable": IS_TRUTH,
        "community": IS_PERSON,
        "favourable_alone": IS_TRUTH,
        "outcome": IS_TRUTH,
    },
    "members": {"person": IS_PERSON},
    "ties": {"pairs": "length({0}) % 8 = 0"},
    "planned": {"subject": IS_PERSON},
    "results": {
        "subject": "{0} IN (SELECT subject FROM planned)",
        "chunk": "{0} IN (SELECT chunk FROM chunks)",
        "document": "{0} IS NOT NULL",
    },
    "subjects": {
        **dict.fromkeys(NEVER_EMPTY, "{0} IS NOT NULL"),
        "id": "{0} IS (SELECT p.id FROM people p WHERE p.number = subjects.number)",
        "status": f"{{0}} IN ({', '.join(map(repr, STATUSES))})",
        "caveat_grade": f"{{0}} IS NULL OR {{0}} IN ({', '.join(map(repr, GRADES))})",
        "cheapest_cost": "{0} IS NOT NULL OR status IS NOT 'verified'",
        "cheapest_held": "{0} IS NULL OR {0} BETWEEN 0 AND most_held",
        "most_held": "({0} IS NULL) = (tests IS NULL) AND ({0} IS NULL OR {0} <= tests)",
        "exhaustive": IS_TRUTH,
        "favourable_alone": IS_TRUTH,
    },
    "probabilities": {"subject": IS_SUBJECT, "probability": "{0} BETWEEN 0 AND 1.0001"},
    "actions": {"subject": IS_SUBJECT, "source": IS_PERSON, "target": IS_PERSON},
    "droppable": {"subject": IS_SUBJECT, "source": IS_PERSON, "target": IS_PERSON},
    "common_actions": {
        "number": "{0} < (SELECT count(*) FROM common_actions)",
        "do": "({0} IN ('drop', 'add') AND ties IN (1, 2, 'all') AND moves IS NULL AND value IS "
        "NULL) OR "
        "({0} = 'set' AND ties IS NULL AND (moves IS NULL) != (value IS NULL))",
    },
    "common_outcomes": {
        "subject": IS_SUBJECT,
        "action": "{0} IN (SELECT number FROM common_actions)",
        "outcome": f"{{0}} IN ({', '.join(repr(outcome) for outcome in OUTCOMES)})",
        "cost": "({0} IS NOT NULL) = (outcome = 'serves')",
    },
}


def check_tables(store: sqlite3.Connection, schema: Sequence[str]) -> None:
    """Refuse a database whose tables are not those of a schema, or hold what they cannot hold."""
    with closing(sqlite3.connect(":memory:")) as sound:
        for statement in schema:
            sound.execute(statement)
        tables = {
            name: _columns(sound, name)
            for (name,) in sound.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        }
    for name, columns in tables.items():
        actual = _columns(store, name)
        if not actual:
            raise sqlite3.IntegrityError(f"no such table: {name}")
        if actual != columns:
            raise sqlite3.IntegrityError(f"the table {name} has other columns")
    [[people, last]] = store.execute("SELECT count(*), coalesce(max(number), -1) FROM people")
    if last != people - 1:
        raise sqlite3.IntegrityError("people are missing")
    [[settled]] = store.execute("SELECT count(community) FROM people")
    if settled not in (0, people):
        raise sqlite3.IntegrityError("not everybody has a community")
    for name, columns in tables.items():
        for column in columns:
            _check_column(store, name, column, people)


def check_attributes(store: sqlite3.Connection, attributes: Iterable[str]) -> None:
    """Refuse a database in which not everybody has a value for each protected attribute."""
    [[people]] = store.execute("SELECT count(*) FROM people")
    counts = dict(store.execute("SELECT attribute, count(*) FROM members GROUP BY attribute"))
    for name in attributes:
        if counts.pop(name, 0) != people:
            raise sqlite3.IntegrityError(f"not everybody has a value of {name!r}")
    if counts:
        raise sqlite3.IntegrityError(f"{next(iter(counts))!r} is no protected attribute")


def _columns(store: sqlite3.Connection, table: str) -> list[_Column]:
    rows = store.execute('SELECT name, type, "notnull" OR pk FROM pragma_table_info(?)', (table,))
    return [_Column(name, kind, bool(filled)) for name, kind, filled in rows]


def _check_column(store: sqlite3.Connection, table: str, column: _Column, people: int) -> None:
    conditions = [_type_condition(column)]
    rule = RULES.get(table, {}).get(column.name)
    if rule is not None:
        conditions.append(rule.format(column.name, people=people))
    holds = " AND ".join(f"({condition})" for condition in conditions)
    wrong = f"SELECT 1 FROM {table} WHERE NOT coalesce({holds}, 0) LIMIT 1"  # noqa: S608
    if store.execute(wrong).fetchone() is not None:
        raise sqlite3.IntegrityError(
            f"the table {table} holds an impossible value of {column.name}"
        )


def _type_condition(column: _Column) -> str:
    name, kind = column.name, column.kind
    typed = f"typeof({name}) = '{kind.lower()}'"
    if not kind:  # a number, or the name of a category
        finite = f"typeof({name}) IN ('integer', 'real') AND abs({name}) <= {LARGEST!r}"
        typed = f"typeof({name}) = 'text' OR ({finite})"
    elif kind == "INTEGER":
        typed += f" AND {name} >= 0"
    elif kind == "REAL":
        typed += f" AND abs({name}) <= {LARGEST!r}"
    return typed if column.filled else f"{name} IS NULL OR ({typed})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What was found about one subject: the document as it is kept, and the report in it."""

    subject: int
    chunk: int
    document: str
    report: SubjectReport


class Findings:
    """What a checkpoint says of an audit, of everybody, and of the subjects that are done.

    All rows come in the order of their numbers. They are read anew each time, because those of a
    million people do not fit into memory.
    """

    def __init__(self, checkpoint: sqlite3.Connection) -> None:
        self._store = checkpoint

    def meta(self) -> dict[str, str]:
        """What the audit was begun with; empty if it has just begun."""
        return read_meta(self._store)

    def copy(self, store: sqlite3.Connection, table: str) -> None:
        """Copy a table that a store has as well."""
        rows = self._store.execute(f"SELECT * FROM {table} ORDER BY 1, 2")  # noqa: S608
        insert_rows(store, table, rows)

    def groups(self, person: int) -> dict[str, str]:
        """One person's groups by attribute."""
        find = "SELECT attribute, value FROM members WHERE person = ?"
        return dict(self._store.execute(find, (person,)))

    def results(self) -> Iterator[Result]:
        """All results, in the order of subjects; each document is parsed once."""
        rows = self._store.execute("SELECT subject, chunk, document FROM results ORDER BY subject")
        for subject, chunk, document in rows:
            report = SUBJECT.read(document)
            yield Result(subject=subject, chunk=chunk, document=document, report=report)


# Changes whenever a table or the format of documents does; a store of another version is refused.
VERSION = 8
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
  subject INTEGER NOT NULL, option INTEGER NOT NULL, action INTEGER NOT NULL,
  tie INTEGER NOT NULL, do TEXT NOT NULL, kind TEXT, source INTEGER, target INTEGER,
  attribute TEXT, before, after, cost REAL NOT NULL, PRIMARY KEY (subject, option, action, tie)
) WITHOUT ROWID;
CREATE TABLE droppable (
  subject INTEGER NOT NULL, place INTEGER NOT NULL, kind TEXT NOT NULL, source INTEGER NOT NULL,
  target INTEGER NOT NULL, PRIMARY KEY (subject, place)
) WITHOUT ROWID;
CREATE TABLE common_actions (
  number INTEGER PRIMARY KEY, do TEXT NOT NULL, what TEXT NOT NULL, ties, moves REAL,
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
        self._actions: tuple[CommonAction, ...] | None = None
        store.execute("PRAGMA page_size = 4096")
        store.execute("PRAGMA journal_mode = OFF")
        store.execute(f"PRAGMA user_version = {VERSION}")
        store.execute("BEGIN")
        for statement in SCHEMA.split(";"):
            store.execute(statement)
        for table in ("meta", "people", "members", "ties"):
            findings.copy(store, table)

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
                (subject, place, step, *row)
                for place, option in enumerate(report.recourse.options)
                for step, action in enumerate(option.actions)
                for row in self._action_rows(action)
            ),
        )
        insert_rows(
            self._store,
            "droppable",
            (
                (subject, place, droppable.kind, *self._ends(droppable.tie))
                for place, droppable in enumerate(report.recourse.droppable)
            ),
        )
        self._add_common(subject, report.recourse.common_actions)

    def _add_common(self, subject: int, outcomes: tuple[CommonOutcome, ...]) -> None:
        """The list of actions once, and what each that applies does for the subject."""
        actions = tuple(outcome.action for outcome in outcomes)
        if not actions:
            return
        if self._actions is None:
            self._actions = actions
            rows = (
                (number, action.do, action.what, action.ties, action.by, action.to, action.unit)
                for number, action in enumerate(actions)
            )
            insert_rows(self._store, "common_actions", rows)
        if actions != self._actions:
            raise DocumentError("two reports of one audit have different common actions")
        insert_rows(
            self._store,
            "common_outcomes",
            (
                (subject, number, outcome.outcome, outcome.cost)
                for number, outcome in enumerate(outcomes)
                if outcome.outcome != "does_not_apply"
            ),
        )

    def finish(self) -> None:
        """Make what was written permanent."""
        self._store.execute("COMMIT")

    def _action_rows(self, action: Action) -> Iterator[tuple[Value, ...]]:
        """A row for each tie that an action changes, the cost in the first of them; or one row."""
        if isinstance(action, SetAction):
            changed_to = (action.attribute, action.before, action.after)
            yield (0, action.do, None, None, None, *changed_to, action.cost)
            return
        for place, tie in enumerate(action.ties):
            cost = 0.0 if place else action.cost
            yield (place, action.do, action.kind, *self._ends(tie), None, None, None, cost)

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
    with closing(_connect(path)) as store:
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
            state = path.stat()
            _check_once(path, state.st_ino, state.st_size, state.st_ctime_ns)
            yield store
        except DAMAGE as error:
            raise InputError(
                f"{path}: is damaged ({error}); restore it, or run the audit again into another "
                "--out"
            ) from None


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)


@lru_cache(maxsize=16)
def _check_once(path: Path, *_state: int) -> None:
    """Check the tables of a store; once for each state of the file, however often it is opened."""
    with closing(_connect(path)) as store:
        check_tables(store, SCHEMA.split(";"))


def read_meta(store: sqlite3.Connection) -> dict[str, str]:
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
