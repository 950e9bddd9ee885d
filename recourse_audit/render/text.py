"""Text that terminal views, pages and letters share: users' own text made plain, tables."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from recourse_audit.records.recourse import CommonAction

if TYPE_CHECKING:
    from rich.table import Table

T = TypeVar("T")
NO_BREAK = "\N{NO-BREAK SPACE}"


NUMBERS = {1: "one", 2: "two"}


def common_action_words(action: CommonAction) -> str:
    """A common action in English: raise savings by 5,000 euros; drop one payment tie."""
    if action.ties == "all":
        return f"{action.do} all {action.what} ties together"
    if action.ties is not None:
        ties = "tie" if action.ties == 1 else "ties"
        return f"{action.do} {NUMBERS.get(action.ties, action.ties)} {action.what} {ties}"
    if action.by is None:
        return f"change {action.what} to {action.to}"
    unit = f" {action.unit}" if action.unit else ""
    way = "raise" if action.by > 0 else "lower"
    return f"{way} {action.what} by {abs(action.by):,.12g}{unit}"


def columns(*names: str, show_header: bool = True, title: str | None = None) -> "Table":
    """A table without lines for the terminal; its cells are wrapped, never cut off."""
    from rich.table import Table

    table = Table(
        box=None, pad_edge=False, show_header=show_header, title=title, title_justify="left"
    )
    for name in names:
        table.add_column(name, overflow="fold")
    return table


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


def printable(record: T) -> T:
    """The same record with every text in it made plain."""
    found = _printable(record)
    assert isinstance(found, type(record))
    return found


def _printable(value: object) -> object:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, tuple):
        return tuple(map(_printable, value))
    if isinstance(value, Mapping):
        return {_printable(name): _printable(content) for name, content in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        changes = {field.name: _printable(getattr(value, field.name)) for field in fields(value)}
        return replace(value, **changes)
    return value


def number(count: int, word: str) -> str:
    """A count and its noun: 1 tie, 2,000 ties."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"
