"""Text that terminal views, pages and letters share: users' own text made plain."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar, cast

T = TypeVar("T")
NO_BREAK = "\N{NO-BREAK SPACE}"


def plain(text: str) -> str:
    """A user's text with line breaks and control characters written out, so they do nothing.

    A space that does not break a line does no harm, and stands between a number and its unit.
    """
    return "".join(
        letter
        if letter.isprintable() or letter == NO_BREAK
        else letter.encode("unicode_escape").decode()
        for letter in text
    )


def printable(value: T) -> T:
    """The same record with every text in it made plain."""
    made: object = value
    if isinstance(value, str):
        made = plain(value)
    elif isinstance(value, tuple):
        made = tuple(map(printable, value))
    elif isinstance(value, Mapping):
        made = {printable(name): printable(content) for name, content in value.items()}
    elif is_dataclass(value) and not isinstance(value, type):
        changes = {field.name: printable(getattr(value, field.name)) for field in fields(value)}
        made = replace(value, **changes)
    return cast(T, made)


def number(count: int, word: str) -> str:
    """A count and its noun: 1 tie, 2,000 ties."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"
