"""Files that people write for letters: principal reasons they confirm, and where letters go.

Reasons come as CSV (`id`, then columns whose names start with `reason`; a person may have several
rows) or as TOML (`[reasons]`, then `P0012 = ["…", "…"]`); addresses as CSV (`id`, then the lines).
"""

import csv
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from unicodedata import category

from recourse_audit.errors import InputError
from recourse_audit.render.letters.letter import AddressLine, Reason
from recourse_audit.records.spreadsheets import unguarded

LONGEST = 200
MOST_LINES = 5
_BREAKS = re.compile(r"[ \t\r\n]+")
_WORDS = re.compile(r"[\w.@-]+")


def read_reasons(path: Path, *, most: int) -> dict[str, tuple[Reason, ...]]:
    """The confirmed reasons of each person, at most so many."""
    rows = _toml(path) if path.suffix == ".toml" else _csv(path, "reason")
    reasons: dict[str, list[Reason]] = {}
    for place, own, texts in rows:
        own_reasons = reasons.setdefault(own, [])
        for text in texts:
            if len(text) > LONGEST:
                raise InputError(
                    f"{path}{place}: a reason of {own} has {len(text)} letters; use at most "
                    f"{LONGEST}, and say one thing"
                )
            own_reasons.append(Reason(text))
        if len(own_reasons) > most:
            raise InputError(
                f"{path}{place}: {own} has {len(own_reasons)} reasons; the profile allows {most}, "
                "so keep those that counted most"
            )
    return {own: tuple(texts) for own, texts in reasons.items() if texts}


def read_addresses(path: Path) -> dict[str, tuple[AddressLine, ...]]:
    """The lines of each person's address."""
    addresses: dict[str, tuple[AddressLine, ...]] = {}
    for place, own, lines in _csv(path, ""):
        if own in addresses:
            raise InputError(f"{path}{place}: has a second address of {own}; keep one of them")
        if len(lines) > MOST_LINES:
            raise InputError(
                f"{path}{place}: the address of {own} has {len(lines)} lines, and the window of an "
                f"envelope shows {MOST_LINES}"
            )
        addresses[own] = tuple(AddressLine(line) for line in lines)
    return addresses


def names_somebody(reasons: tuple[Reason, ...], others: set[str]) -> str | None:
    """Whom of the others a reason names by id, if anybody.

    Ids that are only digits are not looked for: a number in a reason is mostly a number.
    """
    written = {word for reason in reasons for word in _WORDS.findall(reason)}
    return min((name for name in others & written if not name.isdigit()), default=None)


def _csv(path: Path, prefix: str) -> Iterator[tuple[str, str, list[str]]]:
    """Of each row: where it is, the id, and what stands in the columns with such a name."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            table = csv.DictReader(file, strict=True)
            columns = list(table.fieldnames or ())
            chosen = [name for name in columns if name != "id" and name.startswith(prefix)]
            if "id" not in columns or not chosen:
                raise InputError(
                    f"{path}: needs the column id and at least one named {prefix or 'line'}1 or "
                    f"alike (got {', '.join(columns) or 'nothing'})"
                )
            twice = [name for name in columns if columns.count(name) > 1]
            if twice:
                raise InputError(f"{path}: has two columns named {twice[0]!r}; number them")
            for row in table:
                if not row["id"]:
                    raise InputError(f"{path}, line {table.line_num}: has no id")
                if None in row:
                    # What a comma cut off would be missing from a letter, and nobody would know.
                    raise InputError(
                        f"{path}, line {table.line_num}: has more fields than there are columns; "
                        "put a text with a comma in quotation marks"
                    )
                texts = [_text(path, row[name] or "") for name in chosen]
                own = unguarded(row["id"])
                yield f", line {table.line_num}", own, [text for text in texts if text]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise _unreadable(path, error) from None


def _toml(path: Path) -> Iterator[tuple[str, str, list[str]]]:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise _unreadable(path, error) from None
    reasons = table.get("reasons")
    if not isinstance(reasons, dict) or set(table) != {"reasons"}:
        raise InputError(f'{path}: needs one table [reasons], with lines such as P0012 = ["…"]')
    for own, texts in reasons.items():
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise InputError(f"{path}: reasons.{own} must be a list of texts")
        yield "", own, [text for text in (_text(path, one) for one in texts) if text]


def _text(path: Path, text: str) -> str:
    """A text on one line; what no printer prints is no text."""
    line = _BREAKS.sub(" ", text).strip()
    if any(category(letter) == "Cc" for letter in line):
        raise InputError(f"{path}: has a control character in {line!r}; write it without")
    return line


def _unreadable(path: Path, error: Exception) -> InputError:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return InputError(f"{path}: cannot be read ({reason}); give a CSV or TOML file in UTF-8")
