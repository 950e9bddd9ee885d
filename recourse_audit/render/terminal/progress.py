"""Progress on stderr: a bar on a terminal; in a log, a line now and then, or nothing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from recourse_audit.execute.executors import NoProgress, Progress
from recourse_audit.render.text import number, plain

SECONDS_BEFORE = 1.0
SECONDS_BETWEEN = 10.0


class AuditProgress:
    """The progress of an audit, in subjects and queries, with an estimate of the time left.

    `clock` gives seconds that never go back.
    """

    def __init__(self, console: Console, clock: Callable[[], float]) -> None:
        self._console = console
        self._clock = clock
        self._bar = Bar(
            TextColumn("Auditing"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("", total=None, rate="")
        self._total = self._before = self._done = self._queries = 0
        self._start = self._reported = clock()

    def begin(self, total: int, done: int) -> None:
        """Start: there are `total` subjects, `done` of them from an earlier run."""
        self._total, self._before, self._done = total, done, done
        self._start = self._reported = self._clock()
        words = f"{number(total, 'subject')} to audit"
        if done:
            words += f", {done:,} already done"
        self._console.print(words)
        self._bar.update(self._task, total=total, completed=done)
        self._bar.start()

    def advance(self, subjects: int, queries: int) -> None:
        """Count subjects that are finished, and the queries they took."""
        self._done += subjects
        self._queries += queries
        self._bar.update(self._task, completed=self._done, rate=self._rate())
        now = self._clock()
        if not self._console.is_terminal and now - self._reported >= SECONDS_BETWEEN:
            self._reported = now
            self._console.print(f"{self._done:,} of {self._total:,} subjects, {self._rate()}")

    def say(self, text: str) -> None:
        """Print a message above the bar."""
        self._console.print(plain(text))

    def stop(self) -> None:
        """Remove the bar."""
        self._bar.stop()

    def _rate(self) -> str:
        seconds = max(self._clock() - self._start, 1e-9)
        left = (self._total - self._done) * seconds / max(self._done - self._before, 1)
        return f"{self._queries / seconds:,.0f} queries per second, {_duration(left)} left"


@contextmanager
def audit_progress(console: Console, clock: Callable[[], float]) -> Iterator[AuditProgress]:
    """Show the progress of an audit while the block runs."""
    shown = AuditProgress(console, clock)
    try:
        yield shown
    finally:
        shown.stop()


class Steps:
    """The progress of any other command: what it is doing, and how much of that is done."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._task = bar.add_task("", total=None)

    def begin(self, doing: str, total: int | None = None) -> None:
        """Start on something that has `total` steps; None if they cannot be counted."""
        self._bar.reset(self._task, description=doing, total=total)

    def advance(self, steps: int = 1) -> None:
        """Count steps that are done."""
        self._bar.advance(self._task, steps)


@contextmanager
def progress(console: Console) -> Iterator[Steps]:
    """Show a bar while the block runs, and leave no trace of it.

    No bar is shown for what ends within a second, or on a console that is not a terminal.
    """
    bar = Bar(
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


def _duration(seconds: float) -> str:
    """A duration in its two largest units."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def message_console() -> Console:
    """A console on stderr that wraps nothing and reads no markup."""
    return Console(stderr=True, markup=False, highlight=False, emoji=False, soft_wrap=True)


@contextmanager
def steps_on_stderr(*, shown: bool) -> Iterator[Steps]:
    """A bar for a task that can be counted, if it is to be shown."""
    console = message_console() if shown else Console(quiet=True)
    with progress(console) as steps:
        yield steps


@contextmanager
def audit_progress_on_stderr(*, shown: bool) -> Iterator[Progress]:
    """How far an audit of many has come, if it is to be shown."""
    if not shown:
        yield NoProgress()
        return
    with audit_progress(message_console(), monotonic) as running:
        yield running
