"""A first look at a table, before anybody has said what its columns mean."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from recourse_audit.graph.arrow import arrow_errors, open_table
from recourse_audit.graph.places import check_is_file


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column: whether it holds numbers, and how many different values."""

    name: str
    numeric: bool
    distinct: int
    rows: int


def survey(path: Path, key: str) -> list[Column]:
    """Describe every column of a CSV or Parquet file; `key` is the setting that named it."""
    check_is_file(path, key)
    with arrow_errors(str(path)):
        table = open_table(path, as_text=(), row_of="node or tie")
        table.load(table.names)
        described = []
        for name in table.names:
            values = table.labels(name)
            if values is not None:
                numeric = values.dtype.kind in "iufb" and values.dtype.kind != "b"
                distinct = len(np.unique(values))
                described.append(
                    Column(name=name, numeric=numeric, distinct=distinct, rows=len(table))
                )
    return described
