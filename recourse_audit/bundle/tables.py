"""Subjects as files that other programs read: JSON lines, CSV and Parquet, written in one pass."""

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from recourse_audit.bundle.reader import StoredAudit
from recourse_audit.bundle.store import Findings, Result, StoreWriter
from recourse_audit.records.bundle import (
    COLUMNS,
    WINNERS_EFFECTS,
    ColumnType,
    Value,
    summary_of,
    winners_effects,
)
from recourse_audit.records.texts import csv_lines
from recourse_audit.settings import Settings

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_TOGETHER = 10_000


class ResultWriter(Protocol):
    """Writes one result after the other, in the order of subjects."""

    def add(self, result: Result) -> None: ...


def write_tables(findings: Findings, settings: Settings, files: dict[str, Path]) -> None:
    """Write `subjects.jsonl`, `subjects.csv`, `subjects.parquet` and the store.

    Every document is read once, however many files are written from it. `files` has the path of
    each file by the ending of its name.
    """
    with ExitStack() as stack:
        writers: list[ResultWriter] = [
            stack.enter_context(closing(_Lines(files["jsonl"]))),
            stack.enter_context(closing(_Csv(files["csv"], findings, settings))),
            stack.enter_context(closing(_Parquet(files["parquet"], findings, settings))),
            stack.enter_context(_store(files["sqlite"], findings)),
        ]
        for result in findings.results():
            for writer in writers:
                writer.add(result)


def columns_of(settings: Settings) -> dict[str, ColumnType]:
    """The summary and the winner's effects, then a probability for each class, then the groups."""
    columns = COLUMNS | WINNERS_EFFECTS
    columns |= {f"probability_{name}": float for name in settings.decision.classes}
    return columns | {f"group_{name}": str for name in settings.groups.attributes}


def row_of(result: Result, groups: dict[str, str], settings: Settings) -> dict[str, Value]:
    """One subject's row, by column."""
    chances = result.report.subject.probabilities
    row: dict[str, Value] = dict(zip(COLUMNS, summary_of(result.report).values(), strict=True))
    row |= zip(WINNERS_EFFECTS, winners_effects(result.report), strict=True)
    row |= {f"probability_{name}": chances.get(name) for name in settings.decision.classes}
    return row | {f"group_{name}": groups[name] for name in settings.groups.attributes}


def arrow_schema(settings: Settings) -> "pa.Schema":
    """The columns with their Arrow types."""
    import pyarrow as pa

    types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    return pa.schema([(name, types[kind]) for name, kind in columns_of(settings).items()])


class _Lines:
    """One document per line, as `explain --json` prints it."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8", newline="\n")

    def add(self, result: Result) -> None:
        self._file.write(f"{result.document}\n")

    def close(self) -> None:
        self._file.close()


class _Csv:
    """One row per subject, guarded against formulas."""

    def __init__(self, path: Path, findings: Findings, settings: Settings) -> None:
        self._file = path.open("w", encoding="utf-8", newline="")
        self._findings = findings
        self._settings = settings
        self._file.writelines(csv_lines([columns_of(settings)]))

    def add(self, result: Result) -> None:
        row = row_of(result, self._findings.groups(result.subject), self._settings)
        self._file.writelines(csv_lines([row.values()]))

    def close(self) -> None:
        self._file.close()


class _Parquet:
    """The same rows, with types."""

    def __init__(self, path: Path, findings: Findings, settings: Settings) -> None:
        import pyarrow.parquet as pq

        self._schema = arrow_schema(settings)
        self._writer = pq.ParquetWriter(path, self._schema)
        self._findings = findings
        self._settings = settings
        self._rows: list[dict[str, Value]] = []

    def add(self, result: Result) -> None:
        groups = self._findings.groups(result.subject)
        self._rows.append(row_of(result, groups, self._settings))
        if len(self._rows) == ROWS_TOGETHER:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        import pyarrow as pa

        if self._rows:
            self._writer.write_table(pa.Table.from_pylist(self._rows, schema=self._schema))
            self._rows = []


@contextmanager
def _store(path: Path, findings: Findings) -> Iterator[ResultWriter]:
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as store:
        writer = StoreWriter(store, findings)
        yield writer
        writer.finish()


def arrow_table(stored: StoredAudit) -> "pa.Table":
    """All subjects of a stored audit as one table."""
    import pyarrow as pa

    rows = [
        row_of(result, stored.groups_of(result.subject), stored.settings)
        for result in stored.results()
    ]
    return pa.Table.from_pylist(rows, schema=arrow_schema(stored.settings))
