"""Messages and progress on stderr, for commands and for whoever asks for `progress=True`."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from rich.console import Console

from recourse_audit.execute.progress import NoProgress, Progress
from recourse_audit.render.terminal.progress import Steps, audit_progress, progress


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
