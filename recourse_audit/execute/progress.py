"""Who is told how far an audit has come."""

from typing import Protocol


class Progress(Protocol):
    """Whoever wants to know how far the audit has come."""

    def begin(self, total: int, done: int) -> None:
        """There are `total` subjects, and `done` of them were finished before."""
        ...

    def advance(self, subjects: int, queries: int) -> None:
        """Some more subjects are done, with this many queries."""
        ...

    def say(self, text: str) -> None:
        """Something happened that a person may want to read."""
        ...


class NoProgress:
    """Nobody wants to know."""

    def begin(self, total: int, done: int) -> None:
        """Ignored."""

    def advance(self, subjects: int, queries: int) -> None:
        """Ignored."""

    def say(self, text: str) -> None:
        """Ignored."""
