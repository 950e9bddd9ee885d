"""Texts of users: names compared as people read them, and CSV cells that are safe to open.

Names of people, of columns and of kinds of ties are written in many ways; whatever decides by a
name compares what these functions make of it, never the text itself. A cell that begins with
= + - @, a tab or a line break may be run when somebody opens the file. As OWASP advises (CSV
injection), such a text gets an apostrophe in front. So that it can always be taken off again, a
text that begins with apostrophes and then one of these characters gets one too.
"""

import csv
import re
from collections.abc import Iterable, Iterator
from unicodedata import category, normalize

# Letters that Unicode does not decompose, and Cyrillic and Greek ones that look like Latin ones.
_LETTERS = str.maketrans(
    dict(zip("авекмнорстухіјѕ", "abekmhopctyxijs", strict=True))
    | dict(zip("αβεζηικμνορτυχ", "abezhikmnoptyx", strict=True))
    | dict(zip("øłđð\u0131ħ", "olddih", strict=True))
    | {"æ": "ae", "œ": "oe", "þ": "th"}
)
# Fillers of Hangul are letters to Unicode, and nobody sees them.
_UNSEEN = frozenset("\u115f\u1160\u3164\uffa0")
_CAMEL = re.compile(r"(?<=[a-zß-ÿ])(?=[A-ZÀ-Þ])|(?<=[A-ZÀ-Þ])(?=[A-ZÀ-Þ][a-zß-ÿ])")
_WORD = re.compile(r"[^\W_]+")


def fold(text: str) -> str:
    """The text in lower case, without accents and invisible characters: "Fiancée" is "fiancee"."""
    composed = normalize("NFKC", text)
    seen = "".join(c for c in composed if category(c) != "Cf" and c not in _UNSEEN)
    plain = normalize("NFKD", seen.casefold()).translate(_LETTERS)
    return "".join(letter for letter in plain if not category(letter).startswith("M"))


def words_of(text: str) -> tuple[str, ...]:
    """The words of a text, folded; whatever is neither a letter nor a digit separates words."""
    return tuple(_WORD.findall(fold(text)))


def split_words_of(text: str) -> tuple[str, ...]:
    """The same, where a capital letter inside a word begins another: tradeUnion is two words."""
    return words_of(_CAMEL.sub(" ", normalize("NFKC", text)))


def same_name(name: str, other: str) -> bool:
    """Whether two names differ only in case, accents and separators."""
    return "".join(words_of(name)) == "".join(words_of(other))


Cell = str | int | float | bool | None
FULL_WIDTH = (
    "\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}"
    "\N{FULLWIDTH HYPHEN-MINUS}\N{FULLWIDTH COMMERCIAL AT}"
)
_FORMULA = re.compile(f"'*[=+\\-@\t\r\n{FULL_WIDTH}]")
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?")


def guard(text: str) -> str:
    """A text as a cell; one that is only a number, such as the group -1, does no harm."""
    if _FORMULA.match(text) and not _NUMBER.fullmatch(text):
        return f"'{text}"
    return text


def unguard(cell: str) -> str:
    """The text of a cell that `guard` made; a cell that somebody wrote without it stays."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def csv_lines(rows: Iterable[Iterable[Cell]]) -> Iterator[str]:
    """One line per row, texts guarded; booleans are true and false, None is empty."""
    # Some versions of Python quote a carriage return only if lines end with one.
    writer = csv.writer(_Echo(), lineterminator="\r\n")
    for row in rows:
        texts = (str(cell).lower() if isinstance(cell, bool) else cell for cell in row)
        line: str = writer.writerow([guard(x) if isinstance(x, str) else x for x in texts])
        yield line.removesuffix("\r\n") + "\n"


class _Echo:
    """A file that hands back what is written to it."""

    def write(self, text: str) -> str:
        return text
