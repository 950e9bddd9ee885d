"""Progress on stderr: a bar on a terminal; in a log, a line now and then, or nothing.

The time left covers everything up to the last file: what follows an audit is estimated from how
long it took per subject on the sample, until it has begun.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from threading import Timer
from time import monotonic

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import Progress as Bar

from recourse_audit.render.text import number, plain

SECONDS_BEFORE = 1.0
SECONDS_BETWEEN = 10.0
# Of one worker, for the letter and the page of one subject.
SECONDS_ON_PAPER = 0.1


class AuditProgress:
    """The progress of an audit, in subjects and queries, with an estimate of the time left.

    `clock` gives seconds that never go back; `on_paper` is how many seconds per subject are spent
    on letters and pages afterwards.
    """

    def __init__(
        self, console: Console, clock: Callable[[], float], *, on_paper: float = 0.0
    ) -> None:
        self._console = console
        self._clock = clock
        self._on_paper = on_paper
        self._bar = _bar(console, TextColumn("{task.fields[rate]}"))
        self._task = self._bar.add_task("", total=None, rate="")
        self._doing = ""
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
        self._show("Auditing", done, total)

    def advance(self, subjects: int, queries: int) -> None:
        """Count subjects that are finished, and the queries they took."""
        self._done += subjects
        self._queries += queries
        seconds = max(self._clock() - self._start, 1e-9)
        left = self._time_left(seconds, self._done - self._before, self._total - self._done)
        rate = f"{self._queries / seconds:,.0f} queries per second, {left}"
        self._bar.update(self._task, completed=self._done, rate=rate)
        self._log(f"{self._done:,} of {self._total:,} subjects, {rate}")

    def stage(self, doing: str, done: int = 0, total: int | None = None) -> None:
        """Something else takes time: so many steps of it are done."""
        if doing != self._doing:
            self._show(doing, done, total)
            self._start, self._before = self._clock(), done
            return
        left = ""
        if total is not None:
            seconds = self._clock() - self._start
            left = self._time_left(seconds, done - self._before, total - done)
        self._bar.update(self._task, completed=done, total=total, rate=left)
        self._log(f"{doing}: {done:,} of {total:,}, {left}" if total is not None else doing)

    def say(self, text: str) -> None:
        self._console.print(plain(text))

    def close(self) -> None:
        self._bar.stop()

    def _show(self, doing: str, done: int, total: int | None) -> None:
        self._doing = doing
        self._bar.remove_task(self._task)  # one whose steps count cannot become one without
        self._task = self._bar.add_task(doing, total=total, completed=done, rate="")
        self._bar.start()

    def _time_left(self, seconds: float, done: int, left: int) -> str:
        expected = left * seconds / max(done, 1) + self._on_paper * self._total
        return f"{duration(expected)} left"

    def _log(self, words: str) -> None:
        """Print a line in a log if the last one is some time ago."""
        now = self._clock()
        if not self._console.is_terminal and now - self._reported >= SECONDS_BETWEEN:
            self._reported = now
            self._console.print(words)


class Steps:
    """The progress of any other command: what it is doing, how much of that is done, time left."""

    def __init__(self, bar: Bar, clock: Callable[[], float]) -> None:
        self._bar = bar
        self._clock = clock
        self._task = bar.add_task("", total=None, left="")
        self._start, self._done, self._total = clock(), 0, 0

    def begin(self, doing: str, total: int | None = None) -> None:
        """Start on something that has `total` steps; None if they cannot be counted."""
        self._start, self._done, self._total = self._clock(), 0, total or 0
        self._bar.remove_task(self._task)
        self._task = self._bar.add_task(doing, total=total, left="")

    def advance(self, steps: int = 1) -> None:
        """Count steps that are done."""
        self._done += steps
        seconds = (self._clock() - self._start) * (self._total - self._done) / max(self._done, 1)
        left = f"{duration(seconds)} left" if self._total > self._done else ""
        self._bar.update(self._task, advance=steps, left=left)


@contextmanager
def progress(console: Console) -> Iterator[Steps]:
    """Show a bar while the block runs, and leave no trace of it.

    No bar is shown for what ends within a second, or on a console that is not a terminal.
    """
    bar = _bar(console, TimeElapsedColumn(), TextColumn("{task.fields[left]}"))
    start = Timer(SECONDS_BEFORE, bar.start)
    start.daemon = True
    start.start()
    try:
        yield Steps(bar, monotonic)
    finally:
        start.cancel()
        start.join()
        bar.stop()


def _bar(console: Console, *columns: ProgressColumn) -> Bar:
    first = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn()
    hidden = not console.is_terminal
    return Bar(*first, *columns, console=console, transient=True, disable=hidden)


def duration(seconds: float) -> str:
    """A duration in its two largest units."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def message_console(*, shown: bool = True) -> Console:
    """A console on stderr that wraps nothing and reads no markup."""
    return Console(
        stderr=True, quiet=not shown, markup=False, highlight=False, emoji=False, soft_wrap=True
    )


def steps_on_stderr(*, shown: bool) -> AbstractContextManager[Steps]:
    """A bar for a task that can be counted, if it is to be shown."""
    return progress(message_console(shown=shown))


def audit_progress_on_stderr(*, shown: bool, on_paper: float = 0.0) -> closing[AuditProgress]:
    """How far an audit of many has come, if it is to be shown."""
    return closing(AuditProgress(message_console(shown=shown), monotonic, on_paper=on_paper))
