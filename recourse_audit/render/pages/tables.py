"""Tables and lists as a page shows them; every cell is finished text."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["plain", "figures", "whole"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A heading, and the layout of its cells: `plain`, `figures` (aligned right) or `whole`.

    Lines of `whole` cells are never broken; use it for short lines only.
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
    """A name and a value; `code` marks values to be copied or compared letter by letter."""

    name: str
    value: str
    code: bool = False


def cells(*values: str | tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """A row; a cell of one line may be given as a string."""
    return tuple((value,) if isinstance(value, str) else value for value in values)
