"""Every error message about a graph names the place in the same way: a file and a row in it.

Each reader chooses the kind of `Place` that its user can find again: lines of a text file, rows of
a table, positions in an array, nodes and ties of a network.
"""

from pathlib import Path

from recourse_audit.errors import GraphError


class Place:
    """A file, or data in memory, whose rows are counted from 1."""

    def __init__(self, name: str | Path) -> None:
        self.name = str(name)

    def row(self, index: int) -> str:
        """Name the row at this position (counted from 0) in the way the user counts."""
        return f"{self.name}, row {index + 1}"

    def text(self, index: int, column: str) -> str | None:
        """The text of a cell in the user's file, if the reader may have changed it."""
        del index, column
        return None


class Positions(Place):
    """Arrays, whose entries are counted from 0 as in the code that made them."""

    def row(self, index: int) -> str:
        """Name an entry by its position."""
        return f"{self.name}, position {index} (counted from 0)"


def check_is_file(path: Path, key: str) -> None:
    """Refuse a path without a file, naming the setting it came from."""
    if path.is_dir():
        raise GraphError(f"{path}: is a folder; name the file inside it in graph.{key}")
    if not path.is_file():
        raise GraphError(f"{path}: there is no such file; correct the path in graph.{key}")
