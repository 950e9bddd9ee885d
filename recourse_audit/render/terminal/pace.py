"""How far an audit of many has come: a bar on a terminal, now and then a line anywhere else."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from recourse_audit.render.text import number, plain

SECONDS_BETWEEN = 10.0


class Pace:
    """Counts subjects and queries; `clock` gives seconds that never go back."""

    def __init__(self, console: Console, clock: Callable[[], float]) -> None:
        self._console = console
        self._clock = clock
        self._bar = Progress(
            TextColumn("Auditing"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[pace]}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("", total=None, pace="")
        self._total = self._before = self._done = self._queries = 0
        self._start = self._told = clock()

    def begin(self, total: int, done: int) -> None:
        """Say what there is to do."""
        self._total, self._before, self._done = total, done, done
        self._start = self._told = self._clock()
        words = f"{number(total, 'subject')} to audit"
        if done:
            words += f", {done:,} of them done before"
        self._console.print(words)
        self._bar.update(self._task, total=total, completed=done)
        self._bar.start()

    def advance(self, subjects: int, queries: int) -> None:
        """Some more are done."""
        self._done += subjects
        self._queries += queries
        self._bar.update(self._task, completed=self._done, pace=self._pace())
        now = self._clock()
        if not self._console.is_terminal and now - self._told >= SECONDS_BETWEEN:
            self._told = now
            self._console.print(f"{self._done:,} of {self._total:,} subjects, {self._pace()}")

    def say(self, text: str) -> None:
        """Something happened."""
        self._console.print(plain(text))

    def stop(self) -> None:
        """Take the bar away."""
        self._bar.stop()

    def _pace(self) -> str:
        seconds = max(self._clock() - self._start, 1e-9)
        left = (self._total - self._done) * seconds / max(self._done - self._before, 1)
        return f"{self._queries / seconds:,.0f} queries a second, {_lasting(left)} left"


@contextmanager
def pace(console: Console, clock: Callable[[], float]) -> Iterator[Pace]:
    """Show how far an audit has come while the block runs."""
    shown = Pace(console, clock)
    try:
        yield shown
    finally:
        shown.stop()


def _lasting(seconds: float) -> str:
    """A time in the two units that matter."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
