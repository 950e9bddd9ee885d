"""How far a command has come, on stderr, for whoever waits: after a second, on a terminal only."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

SECONDS_BEFORE = 1.0


class Steps:
    """Says what is being done now, and counts how much of it is done."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._task = bar.add_task("", total=None)

    def begin(self, doing: str, total: int | None = None) -> None:
        """Start on something of `total` parts; None where nobody can count them."""
        self._bar.reset(self._task, description=doing, total=total)

    def advance(self, parts: int = 1) -> None:
        """So many parts are done."""
        self._bar.advance(self._task, parts)


@contextmanager
def progress(console: Console) -> Iterator[Steps]:
    """Show a bar while the block runs, and leave nothing of it behind.

    What is over within a second shows none, and neither does a console that is no terminal.
    """
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    start = Timer(SECONDS_BEFORE, bar.start)
    start.daemon = True
    start.start()
    try:
        yield Steps(bar)
    finally:
        start.cancel()
        start.join()
        bar.stop()
