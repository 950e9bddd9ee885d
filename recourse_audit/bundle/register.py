"""The register of letters that were sent: `letters/register.csv`, sealed with the letters.

A row has the SHA-256 of the text (HTML) and of the PDF ("" if there is none), so that a later audit
can check what people were told, by whom and when. Rows are only ever added.
"""

import csv
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from io import StringIO
from pathlib import Path

from recourse_audit.bundle.layout import read_plain
from recourse_audit.errors import InputError
from recourse_audit.records.texts import csv_lines, unguard

REGISTER = "register.csv"
COLUMNS = ("number", "id", "letter", "html", "pdf", "signed_by", "signed", "sent_by", "sent", "how")
HOW = ("post", "email", "hand")
SentLetter = dict[str, str]  # a row, by the names of the columns


def register_text(rows: Iterable[SentLetter]) -> str:
    """The register as it is written."""
    return "".join(csv_lines([COLUMNS, *([row.get(name) for name in COLUMNS] for row in rows)]))


def read_register(folder: Path) -> tuple[SentLetter, ...]:
    """The rows of the register in a folder of letters; refused unless we would write the same."""
    content = read_plain(folder / REGISTER)
    text = register_text(()) if content is None else content.decode("utf-8", "replace")
    cells: list[list[str]] = []
    with suppress(csv.Error):
        cells = [*csv.reader(StringIO(text, newline=""))][1:]
    rows = [dict(zip(COLUMNS, map(unguard, line), strict=False)) for line in cells]
    rows = [row | {"number": str(place)} for place, row in enumerate(rows, 1)]
    if register_text(rows) != text:
        raise InputError(f"{folder / REGISTER}: is not a register of letters; restore it")
    return tuple(rows)


def check_register(folder: Path) -> Iterator[str]:
    """What is wrong with the register of a folder, or with the letters in it."""
    try:
        rows = read_register(folder)
    except InputError as error:
        yield str(error).removeprefix(f"{folder}/")
        return
    for row in rows:
        for ending in ("html", "pdf"):
            content = read_plain(folder / f"{row['letter']}.{ending}")
            if row[ending] and (content is None or sha256(content).hexdigest() != row[ending]):
                lost = "is missing" if content is None else "is not what was sent"
                yield f"{row['letter']}.{ending}: {lost} ({REGISTER}, no. {row['number']})"
