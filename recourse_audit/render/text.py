"""Small pieces of terminal views: tables that are never cut off, figures, a user's own text."""

from rich.table import Table


def columns(*names: str, show_header: bool = True, title: str | None = None) -> Table:
    """A table without lines, whose cells are text and are wrapped, never cut off."""
    table = Table(
        box=None, pad_edge=False, show_header=show_header, title=title, title_justify="left"
    )
    for name in names:
        table.add_column(name, overflow="fold")
    return table


def plain(text: str) -> str:
    """A user's text with line breaks and control characters written out, so they do nothing."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )


def share(value: float) -> str:
    """Three digits; a share that is not quite all or nothing does not look it."""
    if 0.9995 <= value < 1:
        return ">.999"
    return "<.001" if 0 < value < 0.0005 else f"{value:.3f}"


def number(count: int, word: str) -> str:
    """How many of something: 1 tie, 2,000 ties."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"
