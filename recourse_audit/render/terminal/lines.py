"""Lines that fit the width of a terminal, by the cells that characters take.

A brief view is the first sections of the full one, and lists in it are their first rows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, get_character_cell_size
from rich.console import Console
from rich.text import Text

COLUMNS = 80
MORE = "--full"
ELLIPSIS = "…"
FIRST_ROWS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Some lines that belong together; set apart from those before by an empty line if `apart`."""

    lines: tuple[Text, ...]
    apart: bool = False


def width_of(console: Console) -> int:
    """The width of a short view: that of the terminal, at most 80 columns."""
    return max(20, min(console.width, COLUMNS))


def cut(text: str, width: int) -> str:
    """The beginning of a text, in as many cells at most."""
    if cell_len(text) <= width:
        return text
    kept, used = [], 0
    for letter in text:
        used += get_character_cell_size(letter)
        if used > width - 1:
            break
        kept.append(letter)
    return "".join(kept).rstrip() + ELLIPSIS if width > 0 else ""


def cut_left(text: str, width: int) -> str:
    """The end of a text, such as that of a long path, in as many cells at most."""
    if cell_len(text) <= width:
        return text
    return ELLIPSIS + cut(text[::-1], width)[-2::-1]


def cell(text: str, width: int, *, right: bool = False) -> str:
    """A text in exactly as many cells."""
    text = cut(text, width)
    space = " " * (width - cell_len(text))
    return space + text if right else text + space


def wrapped(
    console: Console, text: str, width: int, *, style: str = "", indent: str = ""
) -> tuple[Text, ...]:
    """A sentence over as many lines as it needs."""
    lines = Text(text).wrap(console, width - cell_len(indent), overflow="fold")
    return tuple(
        Text(f"{indent if place else ''}{line.plain.rstrip()}", style=style)
        for place, line in enumerate(lines)
    )


def first_rows(
    rows: Sequence[Text], more: str, *, most: int = FIRST_ROWS, prefix: str = ""
) -> tuple[Text, ...]:
    """The first rows of a list, and how many more there are in the view that `more` asks for."""
    if len(rows) <= most:
        return tuple(rows)
    rest = Text(f"{prefix}{ELLIPSIS} {len(rows) - most} more: {more}", style="dim")
    return (*rows[:most], rest)


def print_blocks(console: Console, blocks: Iterable[Block]) -> None:
    """Print blocks one after the other."""
    is_first = True
    for block in blocks:
        if block.lines and block.apart and not is_first:
            console.print()
        for line in block.lines:
            console.print(line, soft_wrap=True)
        is_first = is_first and not block.lines
