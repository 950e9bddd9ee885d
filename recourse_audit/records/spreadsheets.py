"""CSV cells that are safe to open: no text is a formula, and every text can be read back.

A cell that begins with = + - @, a tab or a line break may be run when somebody opens the file. As
OWASP advises (CSV injection), such a text gets an apostrophe in front. So that it can always be
taken off again, a text that begins with apostrophes and then one of these characters gets one too.
"""

import csv
import re
from collections.abc import Iterable, Iterator

Cell = str | int | float | bool | None
FULL_WIDTH = (
    "\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}"
    "\N{FULLWIDTH HYPHEN-MINUS}\N{FULLWIDTH COMMERCIAL AT}"
)
_FORMULA = re.compile(f"'*[=+\\-@\t\r\n{FULL_WIDTH}]")
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?")


def guarded(text: str) -> str:
    """A text as a cell; one that is only a number, such as the group -1, does no harm."""
    if _FORMULA.match(text) and not _NUMBER.fullmatch(text):
        return f"'{text}"
    return text


def unguarded(cell: str) -> str:
    """The text of a cell that `guarded` made; a cell that somebody wrote without it stays."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def csv_lines(rows: Iterable[Iterable[Cell]]) -> Iterator[str]:
    """One line per row, texts guarded; booleans are true and false, None is empty."""
    # Some versions of Python quote a carriage return only if lines end with one.
    writer = csv.writer(_Echo(), lineterminator="\r\n")
    for row in rows:
        line: str = writer.writerow([_written(cell) for cell in row])
        yield line.removesuffix("\r\n") + "\n"


def _written(cell: Cell) -> Cell:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return guarded(cell) if isinstance(cell, str) else cell


class _Echo:
    """A file that hands back what is written to it."""

    def write(self, text: str) -> str:
        return text
