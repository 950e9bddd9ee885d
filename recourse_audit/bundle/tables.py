"""Subjects as files that other programs read: JSON lines, CSV and Parquet."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from recourse_audit.records.summary_columns import FACTS, Kind, Value, facts_of
from recourse_audit.bundle.results import Findings
from recourse_audit.records.spreadsheets import csv_lines
from recourse_audit.settings import Settings

ROWS_TOGETHER = 10_000
_TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}


def write_lines(path: Path, findings: Findings) -> None:
    """A line a subject: the document that `explain --json` prints."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for result in findings.results():
            file.write(f"{result.document}\n")


def write_csv(path: Path, findings: Findings, settings: Settings) -> None:
    """A row a subject, as `csv_lines` writes them for spreadsheets."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(csv_lines([columns_of(settings)]))
        file.writelines(csv_lines(row.values() for row in _rows(findings, settings)))


def write_parquet(path: Path, findings: Findings, settings: Settings) -> None:
    """The same rows, with types."""
    columns = columns_of(settings)
    schema = pa.schema([(name, _TYPES[kind]) for name, kind in columns.items()])
    with pq.ParquetWriter(path, schema) as writer:
        rows = _rows(findings, settings)
        while part := list(islice(rows, ROWS_TOGETHER)):
            writer.write_table(pa.Table.from_pylist(part, schema=schema))


def columns_of(settings: Settings) -> dict[str, Kind]:
    """The facts, a probability for each class, a value for each protected attribute."""
    columns = dict(FACTS)
    columns |= {f"probability_{name}": float for name in settings.decision.classes}
    return columns | {f"group_{name}": str for name in settings.groups.attributes}


def _rows(findings: Findings, settings: Settings) -> Iterator[dict[str, Value]]:
    for result in findings.results():
        document = result.data
        chances, groups = document["subject"]["probabilities"], findings.groups(result.subject)
        row = facts_of(document)
        row |= {f"probability_{name}": chances.get(name) for name in settings.decision.classes}
        yield row | {f"group_{name}": groups[name] for name in settings.groups.attributes}
