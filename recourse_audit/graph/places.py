"""Every complaint about a graph names its place the same way: a file, and a row of it.

A reader picks the `Place` whose rows its user can find again: lines of a text file, rows of a
table, positions of an array, nodes of a drawing.
"""

from pathlib import Path

from recourse_audit.errors import GraphError


class Place:
    """A file, or something held in memory, whose rows are counted from 1."""

    def __init__(self, name: str | Path) -> None:
        self.name = str(name)

    def row(self, index: int) -> str:
        """Name the row at this position (counted from 0) as the user would find it."""
        return f"{self.name}, row {index + 1}"

    def text(self, index: int, column: str) -> str | None:
        """What the user's file says in a row's column, if a reader may have changed it."""
        del index, column
        return None


class Positions(Place):
    """Arrays, whose entries are counted from 0 as their makers count them."""

    def row(self, index: int) -> str:
        """Name an entry by its position."""
        return f"{self.name}, position {index} (from 0)"


def check_is_file(path: Path, key: str) -> None:
    """Refuse a path that leads to no file, naming the setting it came from."""
    if path.is_dir():
        raise GraphError(f"{path}: is a folder; name the file inside it in graph.{key}")
    if not path.is_file():
        raise GraphError(f"{path}: there is no such file; correct the path in graph.{key}")
