"""Stores and checkpoints hold what their tables promise, or are refused before anything is read.

SQLite keeps a text in a column of numbers if somebody puts it there. So all tables are looked
through once, when a database is opened: their columns, the types and ranges of all values, and
whether the people that rows are about exist. Later stages rely on it.

Notes
-----
One pass over each table, without the documents, and one search by key for each row that is about
a person who need not be there. Raises `sqlite3.IntegrityError`, as a database that is damaged
itself does, so that both are reported in the same way.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import NamedTuple

from recourse_audit.records.group_figures import GRADES
from recourse_audit.records.recourse import OUTCOMES, STATUSES

LARGEST = 1.7976931348623157e308
# What reading a damaged database raises; SQLite's own message may quote bytes that are no text.
DAMAGE = (sqlite3.DatabaseError, UnicodeDecodeError)


class _Column(NamedTuple):
    name: str
    kind: str
    filled: bool


# What holds in a row besides types; {people} is how many there are.
TRUTH = "{0} IS NULL OR {0} IN (0, 1)"
PERSON = "{0} IS NULL OR {0} < {people}"
SUBJECT = "{0} IN (SELECT number FROM subjects)"
NEVER_EMPTY = ("decision", "error", "note", "queries", "options", "favourable")
RULES = {
    "people": {
        "number": PERSON,
        "favourable": TRUTH,
        "community": PERSON,
        "favourable_alone": TRUTH,
        "outcome": TRUTH,
    },
    "members": {"person": PERSON},
    "ties": {"pairs": "length({0}) % 8 = 0"},
    "planned": {"subject": PERSON},
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
        "exhaustive": TRUTH,
        "favourable_alone": TRUTH,
    },
    "probabilities": {"subject": SUBJECT, "probability": "{0} BETWEEN 0 AND 1.0001"},
    "actions": {"subject": SUBJECT, "source": PERSON, "target": PERSON},
    "droppable": {"subject": SUBJECT, "source": PERSON, "target": PERSON},
    "common_actions": {
        "number": "{0} < (SELECT count(*) FROM common_actions)",
        "do": "({0} IN ('drop', 'add') AND ties IN (1, 2) AND moves IS NULL AND value IS NULL) OR "
        "({0} = 'set' AND ties IS NULL AND (moves IS NULL) != (value IS NULL))",
    },
    "common_outcomes": {
        "subject": SUBJECT,
        "action": "{0} IN (SELECT number FROM common_actions)",
        "outcome": f"{{0}} IN ({', '.join(repr(one) for one in OUTCOMES)})",
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
        found = _columns(store, name)
        if not found:
            raise sqlite3.IntegrityError(f"no such table: {name}")
        if found != columns:
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
    conditions = [_typed(column)]
    rule = RULES.get(table, {}).get(column.name)
    if rule is not None:
        conditions.append(rule.format(column.name, people=people))
    holds = " AND ".join(f"({one})" for one in conditions)
    wrong = f"SELECT 1 FROM {table} WHERE NOT coalesce({holds}, 0) LIMIT 1"  # noqa: S608
    if store.execute(wrong).fetchone() is not None:
        raise sqlite3.IntegrityError(
            f"the table {table} holds an impossible value of {column.name}"
        )


def _typed(column: _Column) -> str:
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
