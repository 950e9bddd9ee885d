"""The SQLite databases of an audit: the checkpoint while it runs, and the store it ends with.

The checkpoint has everybody, who is to be audited, and finished chunks: one transaction per chunk,
so that nothing is half written. With each chunk goes a digest of its documents, which is checked
before they are used. The store is written from it in one go, in one order, so that its bytes depend
on its content alone; every later stage reads it. `docs/reference/bundle.md` describes its tables.

Both hold what their tables promise, or are refused before anything is read: SQLite keeps a text in
a column of numbers if somebody puts it there. So all tables are looked through once, when a
database is opened: types and ranges in one pass over each table, without the documents, and whether
the people that rows are about exist with one search by key for each. What fails is an
`sqlite3.IntegrityError`, as in a database that is damaged itself, and is reported in the same way.
"""

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import astuple
from functools import lru_cache
from itertools import groupby
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import NamedTuple

from recourse_audit.errors import DocumentError, InputError
from recourse_audit.records.bundle import (
    COLUMNS,
    ChunkDigest,
    Member,
    Person,
    TieBlock,
    Value,
    summary_of,
)
from recourse_audit.records.codec import SUBJECT
from recourse_audit.records.group_figures import GRADES
from recourse_audit.records.recourse import OUTCOMES, STATUSES, Action, MoveAction, SetAction
from recourse_audit.records.search import Tie
from recourse_audit.records.subject import SubjectReport

# What reading a damaged database raises; SQLite's own message may quote bytes that are no text.
DAMAGE = (sqlite3.DatabaseError, UnicodeDecodeError)
# Change whenever a table or the format of documents does; other versions are refused.
VERSION, CHECKPOINT_VERSION = 12, 10
# What holds of every value, by the type of its column; NULL is what the tables themselves forbid.
HOLDS = {
    "TEXT": "typeof({0}) IN ('text', 'null')",
    "BLOB": "typeof({0}) = 'blob' AND length({0}) % 8 = 0",
    "BOOLEAN": "{0} IN (0, 1)",
    "INTEGER": "typeof({0}) IN ('integer', 'null') AND {0} >= 0",
    "REAL": "typeof({0}) IN ('real', 'null') AND abs({0}) < 9e999",
    "": "typeof({0}) != 'blob' AND (typeof({0}) = 'text' OR abs({0}) < 9e999)",
}
# What else holds of every row.
RULES = {
    "subjects": f"status IN {STATUSES} AND (status != 'verified' OR cheapest_cost IS NOT NULL) "
    f"AND caveat_grade IN {GRADES} AND cheapest_held <= most_held AND most_held <= tests "
    "AND (most_held IS NULL) = (tests IS NULL) AND fixed_reasons <= reasons",
    "probabilities": "probability <= 1.0001",
    "common_actions": "CASE WHEN do IN ('drop', 'add', 'move') "
    "THEN coalesce(ties IN (1, 2, 'all'), 0) AND moves IS NULL AND value IS NULL "
    "ELSE do = 'set' AND ties IS NULL AND (moves IS NULL) != (value IS NULL) END",
    "common_outcomes": f"outcome IN {OUTCOMES} AND (cost IS NOT NULL) = (outcome = 'serves')",
}
# Both databases have these. Communities are numbered, and there are no more of them than people.
PEOPLE = """CREATE TABLE people (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL, decision TEXT NOT NULL, favourable BOOLEAN,
  community INTEGER REFERENCES people, favourable_alone BOOLEAN, outcome BOOLEAN, score REAL,
  score_alone REAL
)"""
MEMBERS = """CREATE TABLE members (
  person INTEGER NOT NULL REFERENCES people, attribute TEXT NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY (person, attribute)
) WITHOUT ROWID"""
TIES = "CREATE TABLE ties (block INTEGER PRIMARY KEY, pairs BLOB NOT NULL)"
META = "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
CHECKPOINT_SCHEMA = (
    META,
    PEOPLE,
    MEMBERS,
    TIES,
    "CREATE TABLE planned (subject INTEGER PRIMARY KEY REFERENCES people)",
    """CREATE TABLE results (
  subject INTEGER PRIMARY KEY REFERENCES planned, chunk INTEGER NOT NULL REFERENCES chunks,
  document TEXT NOT NULL
)""",
    "CREATE TABLE chunks (chunk INTEGER PRIMARY KEY, content TEXT NOT NULL)",
)
_TYPES = {str: "TEXT", int: "INTEGER", float: "REAL", bool: "BOOLEAN"}
_FILLED = ("id", "decision", "favourable", "status", "error", "note", "queries", "options")
_SUMMARY = [
    f"{name} {_TYPES[kind]}{' NOT NULL' * (name in _FILLED)}" for name, kind in COLUMNS.items()
]
SCHEMA = (
    META,
    PEOPLE,
    "CREATE UNIQUE INDEX people_by_id ON people (id)",
    MEMBERS,
    TIES,
    f"""CREATE TABLE subjects (
  number INTEGER PRIMARY KEY REFERENCES people, chunk INTEGER NOT NULL, {", ".join(_SUMMARY)},
  document TEXT NOT NULL, FOREIGN KEY (id) REFERENCES people (id)
)""",
    """CREATE TABLE probabilities (
  subject INTEGER NOT NULL REFERENCES subjects, class TEXT NOT NULL, probability REAL NOT NULL,
  PRIMARY KEY (subject, class)
) WITHOUT ROWID""",
    """CREATE TABLE actions (
  subject INTEGER NOT NULL REFERENCES subjects, option INTEGER NOT NULL, action INTEGER NOT NULL,
  tie INTEGER NOT NULL, do TEXT NOT NULL, kind TEXT, source INTEGER REFERENCES people,
  target INTEGER REFERENCES people, attribute TEXT, before, after, cost REAL NOT NULL,
  PRIMARY KEY (subject, option, action, tie)
) WITHOUT ROWID""",
    """CREATE TABLE droppable (
  subject INTEGER NOT NULL REFERENCES subjects, place INTEGER NOT NULL, kind TEXT NOT NULL,
  source INTEGER NOT NULL REFERENCES people, target INTEGER NOT NULL REFERENCES people,
  PRIMARY KEY (subject, place)
) WITHOUT ROWID""",
    """CREATE TABLE common_actions (
  number INTEGER PRIMARY KEY, do TEXT NOT NULL, what TEXT NOT NULL, ties, moves REAL,
  value TEXT, unit TEXT NOT NULL
)""",
    """CREATE TABLE common_outcomes (
  subject INTEGER NOT NULL REFERENCES subjects, action INTEGER NOT NULL REFERENCES common_actions,
  outcome TEXT NOT NULL, cost REAL, PRIMARY KEY (subject, action)
) WITHOUT ROWID""",
)


class Result(NamedTuple):
    """What was found about one subject: the document as it is kept, and the report in it."""

    subject: int
    chunk: int
    document: str
    report: SubjectReport


def parse_results(rows: Iterable[tuple[int, int, str]]) -> Iterator[Result]:
    """Results from rows of subject, chunk and document; each document is parsed once."""
    for subject, chunk, document in rows:
        yield Result(subject, chunk, document, SUBJECT.read(document))


def check_tables(store: sqlite3.Connection, schema: Sequence[str]) -> None:
    """Refuse a database whose tables are not those of a schema, or hold what they cannot hold."""
    tables = dict(store.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'"))
    for statement in (each for each in schema if each.startswith("CREATE TABLE")):
        name = statement.split()[2]
        if tables.get(name) != statement:
            problem = f"the table {name} is another" if name in tables else f"no such table: {name}"
            raise sqlite3.IntegrityError(problem)
        columns = store.execute("SELECT name, type FROM pragma_table_info(?)", (name,))
        holds = [HOLDS[kind].format(column) for column, kind in columns]
        rules = " AND ".join([*holds, RULES.get(name, "1")])
        if store.execute(f"SELECT 1 FROM {name} WHERE NOT ({rules})").fetchone():  # noqa: S608
            raise sqlite3.IntegrityError(f"the table {name} holds an impossible value")
        numbered = f"SELECT count(*) - 1 - coalesce(max(number), -1) FROM {name}"  # noqa: S608
        # By these numbers arrays are indexed.
        if name in ("people", "common_actions") and store.execute(numbered).fetchone() != (0,):
            raise sqlite3.IntegrityError(f"{name.replace('_', ' ')} are missing")
    for name, _, target, _ in store.execute("PRAGMA foreign_key_check"):
        raise sqlite3.IntegrityError(f"the table {name} is about {target} that are not there")


def check_attributes(store: sqlite3.Connection, attributes: Iterable[str]) -> None:
    """Refuse a database in which not everybody has a value in each column that groups need."""
    [[people]] = store.execute("SELECT count(*) FROM people")
    counts = dict(store.execute("SELECT attribute, count(*) FROM members GROUP BY attribute"))
    for name in attributes:
        if counts.pop(name, 0) != people:
            raise sqlite3.IntegrityError(f"not everybody has a value of {name!r}")
    if counts:
        raise sqlite3.IntegrityError(
            f"{next(iter(counts))!r} is no protected attribute, nor in groups.given"
        )


def read_meta(store: sqlite3.Connection) -> dict[str, str]:
    """What a database says about the audit, by key; empty if the audit has just begun."""
    return dict(store.execute("SELECT key, value FROM meta"))


def read_groups(store: sqlite3.Connection, person: int) -> dict[str, str]:
    """One person's values in all columns that groups need."""
    find = "SELECT attribute, value FROM members WHERE person = ?"
    return dict(store.execute(find, (person,)))


def copy_table(source: sqlite3.Connection, target: sqlite3.Connection, table: str) -> None:
    """Copy a table that both databases have, row by row: many people do not fit into memory."""
    rows = source.execute(f"SELECT * FROM {table} ORDER BY 1, 2")  # noqa: S608
    insert_rows(target, table, rows)


def insert_rows(
    store: sqlite3.Connection, table: str, rows: Iterable[tuple[Value | bytes, ...]]
) -> None:
    """Write rows into a table; there may be none."""
    [[columns]] = store.execute("SELECT count(*) FROM pragma_table_info(?)", (table,))
    places = ", ".join("?" * columns)
    store.executemany(f"INSERT INTO {table} VALUES ({places})", rows)  # noqa: S608


def chunk_digests(rows: Iterable[tuple[int, int, str]]) -> Iterator[ChunkDigest]:
    """Each chunk with a digest of its documents, from ordered rows of chunk, subject, document."""
    for chunk, own in groupby(rows, itemgetter(0)):
        subjects, content = 0, hashlib.sha256()
        for _, subject, document in own:
            subjects += 1
            content.update(f"{subject} {document}\n".encode())
        yield ChunkDigest(chunk=chunk, subjects=subjects, content=content.hexdigest())


def read_version(store: sqlite3.Connection) -> int:
    """The version of the program's tables that a database has; 0 if it has none."""
    [[version]] = store.execute("PRAGMA user_version").fetchall()
    return int(version)


class Checkpoint:
    """What can be read from a checkpoint, whoever has opened it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def results(self) -> Iterator[Result]:
        find = "SELECT subject, chunk, document FROM results ORDER BY subject"
        return parse_results(self.connection.execute(find))

    def chunks(self) -> dict[int, set[int]]:
        """The subjects of every finished chunk."""
        chunks: dict[int, set[int]] = {}
        for subject, chunk in self.connection.execute("SELECT subject, chunk FROM results"):
            chunks.setdefault(chunk, set()).add(subject)
        return chunks

    def progress(self) -> tuple[int, int]:
        """How many subjects are done, and how many there are."""
        count = "SELECT (SELECT count(*) FROM results), (SELECT count(*) FROM planned)"
        [[done, total]] = self.connection.execute(count)
        return done, total

    def check(self) -> None:
        """Refuse a checkpoint that holds what was never put there; damage is an `sqlite3` error."""
        check_tables(self.connection, CHECKPOINT_SCHEMA)
        kept = dict(self.connection.execute("SELECT chunk, content FROM chunks"))
        find = "SELECT chunk, subject, document FROM results ORDER BY chunk, subject"
        chunks = chunk_digests(self.connection.execute(find))
        if kept != {chunk.chunk: chunk.content for chunk in chunks}:
            raise sqlite3.IntegrityError("it was changed since it was written")

    def _check_version(self, path: Path) -> int:
        version = read_version(self.connection)
        if version not in (0, CHECKPOINT_VERSION):
            raise InputError(
                f"{path}: was begun by a program that writes version {version}, and this one "
                f"writes {CHECKPOINT_VERSION}; use that program, or start over with --fresh"
            )
        return version

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Iterator["Checkpoint"]:
        """Open that of an unfinished audit for reading; fails while a run writes to it."""
        uri = f"{path.resolve().as_uri()}?mode=ro"
        with (
            closing(sqlite3.connect(uri, uri=True, isolation_level=None, timeout=1.0)) as store,
            _leave_no_trace(path),
        ):
            store.execute("BEGIN")  # everything read is of one moment
            checkpoint = cls(store)
            if checkpoint._check_version(path) == 0 or not read_meta(store):
                raise InputError(
                    f"{path}: this audit has only just begun; rerun the same `run` command to "
                    "resume"
                )
            yield checkpoint


class CheckpointWriter(Checkpoint):
    """A checkpoint that is open for writing; nobody else can open it meanwhile."""

    def __init__(self, path: Path) -> None:
        super().__init__(sqlite3.connect(path, isolation_level=None, timeout=1.0))
        self.connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            if self._check_version(path) == 0:
                for statement in CHECKPOINT_SCHEMA:
                    self.connection.execute(statement)
                self.connection.execute(f"PRAGMA user_version = {CHECKPOINT_VERSION}")
        except InputError:
            self.connection.close()
            raise
        self.connection.execute("COMMIT")

    def close(self) -> None:
        self.connection.close()

    def begin(
        self,
        meta: dict[str, str],
        people: Iterable[Person],
        members: Iterable[Member],
        ties: Iterable[TieBlock],
        subjects: Iterable[int],
    ) -> None:
        """Keep what the audit is begun with, everybody in the graph, and who is to be audited."""
        self.connection.execute("BEGIN")
        person = attrgetter(*Person.__dataclass_fields__)
        insert_rows(self.connection, "people", map(person, people))
        insert_rows(self.connection, "members", members)
        insert_rows(self.connection, "ties", ties)
        insert_rows(self.connection, "planned", ((subject,) for subject in subjects))
        insert_rows(self.connection, "meta", meta.items())
        self.connection.execute("COMMIT")

    def add(self, chunk: int, documents: dict[int, str]) -> None:
        rows = sorted(documents.items())
        [done] = chunk_digests((chunk, *row) for row in rows)
        self.connection.execute("BEGIN")
        insert_rows(self.connection, "results", ((row[0], chunk, row[1]) for row in rows))
        insert_rows(self.connection, "chunks", [(chunk, done.content)])
        self.connection.execute("COMMIT")


@contextmanager
def _leave_no_trace(path: Path) -> Iterator[None]:
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


def fill_store(store: sqlite3.Connection, checkpoint: Checkpoint) -> Iterator[Result]:
    """Write results into an empty database, and give each; one transaction, to the last of them."""
    store.execute("PRAGMA page_size = 4096")
    store.execute("PRAGMA journal_mode = OFF")
    store.execute(f"PRAGMA user_version = {VERSION}")
    store.execute("BEGIN")
    for statement in SCHEMA:
        store.execute(statement)
    for table in ("meta", "people", "members", "ties"):
        copy_table(checkpoint.connection, store, table)
    for result in checkpoint.results():
        for table, rows in _rows_of(result, store).items():
            insert_rows(store, table, rows)
        yield result
    store.execute("COMMIT")


def _rows_of(result: Result, store: sqlite3.Connection) -> dict[str, list[tuple[Value, ...]]]:
    """The rows of one subject, by table; those of common actions with the first who has any."""
    subject, report = result.subject, result.report
    rows: dict[str, list[tuple[Value, ...]]] = {
        "subjects": [(subject, result.chunk, *astuple(summary_of(report)), result.document)],
        "probabilities": [(subject, *row) for row in sorted(report.subject.probabilities.items())],
    }
    if report.recourse is None:
        return rows
    rows["actions"] = [
        (subject, place, step, *row)
        for place, option in enumerate(report.recourse.options)
        for step, action in enumerate(option.actions)
        for row in _action_rows(action, report.subject.id, store)
    ]
    rows["droppable"] = [
        (subject, place, droppable.kind, *ends)
        for place, droppable in enumerate(report.recourse.droppable)
        if None not in (ends := _ends(droppable.tie, store))
    ]
    outcomes = report.recourse.common_actions
    rows["common_actions"] = [
        (number, *attrgetter("do", "what", "ties", "by", "to", "unit")(outcome.action))
        for number, outcome in enumerate(outcomes)
    ]
    before = store.execute("SELECT * FROM common_actions ORDER BY number").fetchall()
    if before and outcomes and before != rows.pop("common_actions"):
        raise DocumentError("two reports of one audit have different common actions")
    rows["common_outcomes"] = [
        (subject, number, outcome.outcome, outcome.cost)
        for number, outcome in enumerate(outcomes)
        if outcome.outcome != "does_not_apply"
    ]
    return rows


def _action_rows(
    action: Action, subject: str, store: sqlite3.Connection
) -> Iterator[tuple[Value, ...]]:
    """A row for each tie that an action changes, the cost in the first of them; or one row."""
    if isinstance(action, SetAction):
        changed_to = (action.attribute, action.before, action.after)
        yield (0, action.do, None, None, None, *changed_to, action.cost)
        return
    ties = action.ties
    if isinstance(action, MoveAction):  # the tie that ends, then the new one
        outward = action.tie[0] == subject
        ties = (action.tie, (subject, action.to) if outward else (action.to, subject))
    for place, tie in enumerate(ties):
        cost = 0.0 if place else action.cost
        yield (place, action.do, action.kind, *_ends(tie, store), None, None, None, cost)


def _ends(tie: Tie, store: sqlite3.Connection) -> tuple[int | None, ...]:
    """The numbers of the people at the ends of a tie; None where an end is no person."""
    find = "SELECT number FROM people WHERE id = ?"
    rows = (store.execute(find, (name,)).fetchone() for name in tie)
    return tuple(None if row is None else int(row[0]) for row in rows)


@contextmanager
def open_store(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a store of this version for reading; damage is one sentence, whenever it shows."""
    if not path.is_file():
        raise InputError(f"{path}: there is no such store; `recourse-audit run` writes one")
    with closing(_connect(path)) as store:
        try:
            version = read_version(store)
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
        check_tables(store, SCHEMA)
