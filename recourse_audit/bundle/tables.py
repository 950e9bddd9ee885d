"""Subjects as files that other programs read: JSON lines, CSV and Parquet, written in one pass."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import astuple
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from recourse_audit.bundle.reader import StoredAudit
from recourse_audit.bundle.store import Checkpoint, Result, fill_store, read_groups
from recourse_audit.records.bundle import COLUMNS, ColumnType, Value, summary_of
from recourse_audit.records.texts import csv_lines
from recourse_audit.settings import Settings

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_TOGETHER = 10_000


def write_tables(checkpoint: Checkpoint, settings: Settings, files: dict[str, Path]) -> None:
    """Write `subjects.jsonl`, `subjects.csv`, `subjects.parquet` and the store.

    Every document is read once, however many files are written from it. `files` has the path of
    each file by the ending of its name.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    files["sqlite"].unlink(missing_ok=True)
    schema = arrow_schema(settings)
    with (
        files["jsonl"].open("w", encoding="utf-8", newline="\n") as lines,
        files["csv"].open("w", encoding="utf-8", newline="") as csv,
        closing(pq.ParquetWriter(files["parquet"], schema)) as parquet,
        closing(sqlite3.connect(files["sqlite"], isolation_level=None)) as store,
    ):

        def write_texts() -> Iterator[dict[str, Value]]:
            csv.writelines(csv_lines([table_columns(settings)]))
            for result in fill_store(store, checkpoint):
                groups = read_groups(checkpoint.connection, result.subject)
                row = table_row(result, groups, settings)
                lines.write(f"{result.document}\n")
                csv.writelines(csv_lines([row.values()]))  # guarded against formulas
                yield row

        rows = write_texts()
        while several := list(islice(rows, ROWS_TOGETHER)):
            parquet.write_table(pa.Table.from_pylist(several, schema=schema))


def table_columns(settings: Settings) -> dict[str, ColumnType]:
    """The summary, then a probability for each class, then the groups."""
    classes: dict[str, ColumnType] = {
        f"probability_{name}": float for name in settings.decision.classes
    }
    return COLUMNS | classes | {f"group_{name}": str for name in settings.groups.attributes}


def table_row(result: Result, groups: dict[str, str], settings: Settings) -> dict[str, Value]:
    """One subject's row, by column."""
    chances = result.report.subject.probabilities
    values = (
        *astuple(summary_of(result.report)),
        *(chances.get(name) for name in settings.decision.classes),
        *(groups[name] for name in settings.groups.attributes),
    )
    return dict(zip(table_columns(settings), values, strict=True))


def arrow_schema(settings: Settings) -> "pa.Schema":
    """The columns with their Arrow types."""
    import pyarrow as pa

    types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    return pa.schema([(name, types[kind]) for name, kind in table_columns(settings).items()])


def arrow_table(stored: StoredAudit) -> "pa.Table":
    """All subjects of a stored audit as one table."""
    import pyarrow as pa

    rows = [
        table_row(result, stored.groups_of(result.subject), stored.settings)
        for result in stored.results()
    ]
    return pa.Table.from_pylist(rows, schema=arrow_schema(stored.settings))
