"""Lines that fit a terminal: cut or wrapped by the cells that characters take, and counted.

A view is made of blocks. If they are too many lines together, blocks give up lines in the order of
how many they can spare, and say how many are missing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len, get_character_cell_size
from rich.console import Console
from rich.text import Text

COLUMNS = 80
# One line less than a terminal has, so that the prompt does not push the first line out.
LINES = 23
MORE = "--full"
ELLIPSIS = "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Some lines that belong together, of which at least `least` stay.

    A block that gave up lines ends by saying how many are missing, after `prefix`; `prose` ends in
    an ellipsis instead. Blocks are set apart by an empty line if `apart`.
    """

    lines: tuple[Text, ...]
    least: int | None = None
    prefix: str = ""
    apart: bool = False
    prose: bool = False

    @property
    def spare(self) -> int:
        """How many lines it can give up."""
        least = len(self.lines) if self.least is None else self.least
        return max(0, len(self.lines) - least)

    def shortened(self, size: int, more: str) -> tuple[Text, ...]:
        """The first lines, and how many more there are."""
        if size >= len(self.lines):
            return self.lines
        if self.prose:
            end = self.lines[size - 1]
            room = max(2, cell_len(end.plain))
            return (*self.lines[: size - 1], Text(cut(f"{end.plain}  ", room), style=end.style))
        missing = len(self.lines) - size + 1
        last = Text(f"{self.prefix}{ELLIPSIS} {missing} more: {more}", style="dim")
        return (*self.lines[: size - 1], last)


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
    console: Console,
    text: str,
    width: int,
    *,
    style: str = "",
    most: int | None = None,
    indent: str = "",
) -> tuple[Text, ...]:
    """A sentence over as many lines as it needs, or as many as it may have."""
    room = width - cell_len(indent)
    found = [line.plain.rstrip() for line in Text(text).wrap(console, room, overflow="fold")]
    if most is not None and len(found) > most:
        rest = " ".join(found[most - 1 :])
        found = [*found[: most - 1], cut(rest, room)]
    return tuple(
        Text(f"{indent if place else ''}{line}", style=style) for place, line in enumerate(found)
    )


def print_blocks(
    console: Console, blocks: Sequence[Block], *, more: str = MORE, lines: int = LINES
) -> None:
    """Print blocks in as many lines at most, unless they cannot spare enough."""
    for line in fitted([block for block in blocks if block.lines], lines, more):
        console.print(line, soft_wrap=True)


def fitted(blocks: Sequence[Block], lines: int, more: str) -> list[Text]:
    """The lines of the blocks: all, or without what they can spare, or without empty lines too."""
    gaps = sum(block.apart for block in blocks[1:])
    sizes = [len(block.lines) for block in blocks]
    if sum(sizes) > lines:
        _shrink(sizes, [_comfortable(block) for block in blocks], lines - gaps)
        _shrink(sizes, [len(block.lines) - block.spare for block in blocks], lines)
    room = lines - sum(sizes)
    made: list[Text] = []
    for block, size in zip(blocks, sizes, strict=True):
        if block.apart and made and room > 0:
            made.append(Text())
            room -= 1
        made += block.shortened(size, more)
    return made


def _comfortable(block: Block) -> int:
    """Down to how many lines a block shrinks before empty lines go: half of what it can spare."""
    return len(block.lines) - (block.spare + 1) // 2


def _shrink(sizes: list[int], least: list[int], lines: int) -> None:
    """Take lines from whichever block can spare most, until all fit or none can spare any."""
    while sum(sizes) > lines:
        place = max(range(len(sizes)), key=lambda one: sizes[one] - least[one])
        if sizes[place] <= least[place]:
            return
        sizes[place] -= 1
