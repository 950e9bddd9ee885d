"""Tables and lists as a page shows them: every cell is text already."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["plain", "figures", "whole"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A heading, and how the cells under it stand: `plain`, `figures` at the right, `whole` lines.

    Whole lines are never broken; they are for short ones only.
    """

    heading: str
    kind: Kind = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of cells, each of one or several lines; the first cell of a row is its heading."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[tuple[str, ...], ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Something known by name; `code` marks what is to be copied or compared letter by letter."""

    name: str
    value: str
    code: bool = False


def cells(*values: str | tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """A row; a cell of one line may be given as that line."""
    return tuple((value,) if isinstance(value, str) else value for value in values)
