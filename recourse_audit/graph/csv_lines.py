"""A second, slow pass over a text table finds the line that the user should look at.

The fast reader counts rows, an editor counts lines, and a quoted field may span several lines.
Except for reading the header, nothing here runs unless there is an error to report.
"""

import csv
import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path

from recourse_audit.errors import GraphError
from recourse_audit.graph.columns import Place


class Lines(Place):
    """A text table whose rows are named by the line they start on (the header is line 1)."""

    def __init__(self, path: Path, row_of: str = "node") -> None:
        super().__init__(path)
        self.row_of = row_of
        self.path = path
        self.delimiter = "\t" if ".tsv" in path.name.lower() else ","

    def row(self, index: int) -> str:
        """Name a row by the line it starts on."""
        line, _ = self._record(index + 1)
        return f"{self.name}, line {line}"

    def text(self, index: int, column: str) -> str | None:
        """The field as it is written in the file."""
        header = self.header()
        _, fields = self._record(index + 1)
        return fields[header.index(column)] if column in header else None

    def header(self) -> list[str]:
        """The names of the columns; an unreadable file is refused here first."""
        try:
            header = next((fields for _, fields in self._records()), None)
        except (OSError, EOFError, zlib.error, UnicodeError, csv.Error) as error:
            raise self.explain(error) from None
        if header is None:
            raise GraphError(
                f"{self.name}: is empty; it needs a header and one row per {self.row_of}"
            )
        return header

    def explain(self, error: Exception) -> GraphError:
        """Find out why a file cannot be read: bad bytes, a ragged row, or what the reader said."""
        try:
            with self._open() as file:
                for number, line in enumerate(file, start=1):
                    if not _is_text(line):
                        return GraphError(
                            f"{self.name}, line {number}: is not UTF-8 text; "
                            "save the file with UTF-8 encoding"
                        )
            width = len(next(fields for _, fields in self._records()))
            for line_number, fields in self._records():
                if len(fields) != width:
                    return GraphError(
                        f"{self.name}, line {line_number}: has {len(fields)} fields, but the "
                        f"header has {width}; quote fields that contain {self.delimiter!r}, and "
                        "fill in missing fields"
                    )
        except (OSError, EOFError, zlib.error, csv.Error, StopIteration) as second:
            error = second
        reason = " ".join(str(error).split())[:200]
        return GraphError(f"{self.name}: cannot be read ({reason}); save the table again as CSV")

    def _record(self, number: int) -> tuple[int, list[str]]:
        for position, record in enumerate(self._records()):
            if position == number:
                return record
        raise AssertionError(f"{self.name} has no record {number}")

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield each record with its first line; empty lines are skipped, as in the fast reader."""
        with self._open() as file:
            text = (line.decode("utf-8-sig" if not i else "utf-8") for i, line in enumerate(file))
            reader = csv.reader(text, delimiter=self.delimiter)
            first = 1
            for fields in reader:
                if fields:
                    yield first, fields
                first = reader.line_num + 1

    def _open(self) -> io.BufferedIOBase:
        if self.path.name.lower().endswith(".gz"):
            return gzip.open(self.path)
        return self.path.open("rb")


def _is_text(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
