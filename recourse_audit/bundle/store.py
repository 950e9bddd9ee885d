"""The SQLite store of an audit: written in one go, in one order, so that its bytes depend on its
content alone; read by every later stage. `docs/bundle.md` describes the tables.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import chain, islice
from operator import attrgetter
from pathlib import Path
from typing import Any

from recourse_audit.errors import InputError
from recourse_audit.records.summary_columns import FACTS, facts_of
from recourse_audit.bundle.results import Findings, Result

# 1: the first. 2: people have ids and communities, numeric attributes are in bins, and what could
# be dropped is in the document.
VERSION = 2
PERSON = ("number", "id", "decision", "favourable", "community")
_TYPES = {str: "TEXT", int: "INTEGER", float: "REAL", bool: "INTEGER"}
# The record of an unfinished audit has these two as well.
PEOPLE = """CREATE TABLE people (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL, decision TEXT NOT NULL, favourable INTEGER,
  community INTEGER
)"""
MEMBERS = """CREATE TABLE members (
  person INTEGER NOT NULL, attribute TEXT NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY (person, attribute)
) WITHOUT ROWID"""
SCHEMA = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
{PEOPLE};
CREATE UNIQUE INDEX people_by_id ON people (id);
{MEMBERS};
CREATE TABLE subjects (
  number INTEGER PRIMARY KEY, piece INTEGER NOT NULL,
  {", ".join(f"{name} {_TYPES[kind]}" for name, kind in FACTS.items())},
  document TEXT NOT NULL
);
CREATE TABLE probabilities (
  subject INTEGER NOT NULL, class TEXT NOT NULL, probability REAL NOT NULL,
  PRIMARY KEY (subject, class)
) WITHOUT ROWID;
CREATE TABLE actions (
  subject INTEGER NOT NULL, option INTEGER NOT NULL, action INTEGER NOT NULL, do TEXT NOT NULL,
  kind TEXT, source INTEGER, target INTEGER, attribute TEXT, before REAL, after REAL,
  cost REAL NOT NULL, PRIMARY KEY (subject, option, action)
) WITHOUT ROWID;
CREATE TABLE droppable (
  subject INTEGER NOT NULL, place INTEGER NOT NULL, kind TEXT NOT NULL, source INTEGER NOT NULL,
  target INTEGER NOT NULL, PRIMARY KEY (subject, place)
) WITHOUT ROWID;
"""


def write_store(path: Path, findings: Findings) -> None:
    """Write all tables into a new file."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as store:
        fill_store(store, findings)


def fill_store(store: sqlite3.Connection, findings: Findings) -> None:
    """Write all tables into an empty database, in one transaction."""
    store.execute("PRAGMA page_size = 4096")
    store.execute("PRAGMA journal_mode = OFF")
    store.execute(f"PRAGMA user_version = {VERSION}")
    store.execute("BEGIN")
    for statement in SCHEMA.split(";"):
        store.execute(statement)
    insert_rows(store, "meta", sorted(findings.meta.items()))
    insert_rows(store, "people", map(attrgetter(*PERSON), findings.people()))
    insert_rows(store, "members", findings.members())
    for result in findings.results():
        _insert_subject(store, result)
    store.execute("COMMIT")


@contextmanager
def open_store(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a store to read it; one of another version, or no store at all, is refused."""
    if not path.is_file():
        raise InputError(f"{path}: there is no such store; `recourse-audit run` writes one")
    uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
    with closing(sqlite3.connect(uri, uri=True)) as store:
        try:
            [[version]] = store.execute("PRAGMA user_version").fetchall()
            store.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        except sqlite3.DatabaseError:
            raise InputError(
                f"{path}: is not a store, or it was damaged; run the audit again into another --out"
            ) from None
        if version != VERSION:
            raise InputError(
                f"{path}: is a store of version {version} and this program reads version "
                f"{VERSION}; use the program it was written with, or run the audit again"
            )
        yield store


def stored_results(store: sqlite3.Connection) -> Iterator[Result]:
    """The results of all subjects, in their order."""
    rows = store.execute("SELECT number, piece, document FROM subjects ORDER BY number")
    for number, piece, document in rows:
        yield Result(subject=number, piece=piece, document=document)


def meta_of(store: sqlite3.Connection) -> dict[str, str]:
    """The facts about the audit."""
    return dict(store.execute("SELECT key, value FROM meta"))


def insert_rows(store: sqlite3.Connection, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
    """Write rows into a table; none are no mistake."""
    remaining = iter(rows)
    for first in islice(remaining, 1):
        places = ", ".join("?" * len(first))
        insert = f"INSERT INTO {table} VALUES ({places})"  # noqa: S608
        store.executemany(insert, chain([first], remaining))


def _insert_subject(store: sqlite3.Connection, result: Result) -> None:
    document, subject = result.data, result.subject
    facts = facts_of(document)
    insert_rows(store, "subjects", [(subject, result.piece, *facts.values(), result.document)])
    chances = sorted(document["subject"]["probabilities"].items())
    insert_rows(store, "probabilities", [(subject, *chance) for chance in chances])
    recourse = document["recourse"] or {}
    for place, option in enumerate(recourse.get("options", [])):
        for step, action in enumerate(option["actions"]):
            row = (subject, place, step, *_action(store, action))
            insert_rows(store, "actions", [row])
    for place, one in enumerate(recourse.get("droppable", [])):
        row = (subject, place, one["kind"], *_ends(store, one["tie"]))
        insert_rows(store, "droppable", [row])


def _action(store: sqlite3.Connection, action: dict[str, Any]) -> tuple[Any, ...]:
    ends = _ends(store, action["tie"]) if "tie" in action else (None, None)
    changed = (action.get("attribute"), action.get("from"), action.get("to"))
    return (action["do"], action.get("kind"), *ends, *changed, action["cost"])


def _ends(store: sqlite3.Connection, tie: Sequence[str]) -> tuple[int, ...]:
    """The numbers of the people at the ends of a tie."""
    find = "SELECT number FROM people WHERE id = ?"
    return tuple(store.execute(find, (name,)).fetchone()[0] for name in tie)
