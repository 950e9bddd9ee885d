"""A worker that never ends by itself: run as a program, the parent of one. Quick to import."""

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from recourse_audit.execute.process_pool import Failed, ProcessPool


@dataclass(frozen=True)
class BusyJob:
    """A job whose only task never ends; it writes down who works on it."""

    folder: Path
    busy: str

    def open(self) -> Callable[[int], int | Failed]:
        return self.work

    def work(self, task: int) -> int | Failed:
        begin = {"sleeping": _sleep, "in Python": _loop, "printing": _print}
        (self.folder / "new").write_text(str(os.getpid()), encoding="utf-8")
        (self.folder / "new").replace(self.folder / "pid")
        begin.get(self.busy, _hold)()
        return task


def _sleep() -> None:
    time.sleep(3600)


def _loop() -> None:
    while True:
        pass


def _hold() -> None:
    """No other thread runs until a sum of so many numbers is known."""
    sum(range(10**12))


def _print() -> None:
    from recourse_audit.render.pdf import Printer
    from recourse_audit.render.templates import Templates

    Printer(Templates()).pdf(f"<title>x</title>{'<p>some words</p>' * 100_000}")


class OneTask:
    """A queue of one task."""

    def __init__(self) -> None:
        self._tasks = [1]

    def __len__(self) -> int:
        return 1

    def take(self) -> int | None:
        return self._tasks.pop() if self._tasks else None

    def accept(self, task: int, answer: int) -> int:
        return task + answer

    def fail(self, task: int, reason: str, *, sudden: bool = False) -> None:
        raise AssertionError(task, reason, sudden)


def keep_busy(folder: str, busy: str) -> None:
    """What the parent does."""
    pool = ProcessPool[int, int, int](1, timeout=3600.0)
    list(pool.run(BusyJob(Path(folder), busy), OneTask(), lambda _: None))


if __name__ == "__main__":
    keep_busy(*sys.argv[1:])
