"""The SQLite store of a finished audit: written in one go, in one order, so that its bytes depend
on its content alone; read by every later stage. `docs/bundle.md` describes the tables.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from recourse_audit.errors import InputError
from recourse_audit.recourse.actions import action_table
from recourse_audit.run.facts import FACTS, facts_of
from recourse_audit.run.findings import Findings, Result, group_values, numbers_by_id

VERSION = 1
_TYPES = {str: "TEXT", int: "INTEGER", float: "REAL", bool: "INTEGER"}
SCHEMA = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE people (number INTEGER PRIMARY KEY, decision TEXT NOT NULL, favourable INTEGER);
CREATE TABLE members (
  person INTEGER NOT NULL, attribute TEXT NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY (person, attribute)
) WITHOUT ROWID;
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
        store.execute("PRAGMA page_size = 4096")
        store.execute("PRAGMA journal_mode = OFF")
        store.execute(f"PRAGMA user_version = {VERSION}")
        store.execute("BEGIN")
        for statement in SCHEMA.split(";"):
            store.execute(statement)
        _insert(store, "meta", sorted(findings.meta.items()))
        _insert(store, "people", _people(findings))
        _insert(store, "members", _members(findings))
        numbers = numbers_by_id(findings.audit.graph)
        for result in findings.results():
            _insert_subject(store, findings, result, numbers)
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


def _insert(store: sqlite3.Connection, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
    remaining = iter(rows)
    for first in islice(remaining, 1):
        places = ", ".join("?" * len(first))
        insert = f"INSERT INTO {table} VALUES ({places})"  # noqa: S608
        store.executemany(insert, chain([first], remaining))


def _people(findings: Findings) -> Iterator[tuple[Any, ...]]:
    """Everybody's decision on the whole graph; "" and NULL where the model gave no number."""
    decision = findings.audit.settings.decision
    usable = np.asarray(np.isfinite(findings.answers).all(axis=1)).tolist()
    chosen: list[int] = findings.answers.argmax(axis=1).tolist()
    for number, (known, place) in enumerate(zip(usable, chosen, strict=True)):
        name = decision.classes[place] if known else ""
        yield number, name, name in decision.favourable if known else None


def _members(findings: Findings) -> Iterator[tuple[Any, ...]]:
    graph = findings.audit.graph
    names = sorted(set(findings.audit.settings.groups.attributes))
    columns = [group_values(graph, name) for name in names]
    for number in range(graph.node_count):
        for name, values in zip(names, columns, strict=True):
            yield number, name, values[number]


def _insert_subject(
    store: sqlite3.Connection, findings: Findings, result: Result, numbers: dict[str, int]
) -> None:
    document, subject = result.data, result.subject
    facts = facts_of(document)
    _insert(store, "subjects", [(subject, result.piece, *facts.values(), result.document)])
    chances = sorted(document["subject"]["probabilities"].items())
    _insert(store, "probabilities", [(subject, *chance) for chance in chances])
    options = (document["recourse"] or {}).get("options", [])
    for place, option in enumerate(options):
        for step, action in enumerate(option["actions"]):
            row = (subject, place, step, *_action(action, numbers))
            _insert(store, "actions", [row])
    if not facts["favourable"] and facts["decision"]:
        _insert(store, "droppable", _droppable(findings, subject))


def _action(action: dict[str, Any], numbers: dict[str, int]) -> tuple[Any, ...]:
    ends = tuple(numbers[name] for name in action.get("tie") or ()) or (None, None)
    changed = (action.get("attribute"), action.get("from"), action.get("to"))
    return (action["do"], action.get("kind"), *ends, *changed, action["cost"])


def _droppable(findings: Findings, subject: int) -> Iterator[tuple[Any, ...]]:
    """The ties that the policy would let the subject drop."""
    audit = findings.audit
    drops = action_table(audit.policy, subject, audit.probes.depth).drops
    kinds = audit.graph.ties.kinds
    rows = zip(drops.kind.tolist(), drops.source.tolist(), drops.target.tolist(), strict=True)
    for place, (kind, source, target) in enumerate(rows):
        yield subject, place, kinds[kind], source, target
