"""How much time and memory the calls of the runtime may take in this process.

A call in the main thread cannot be ended: Python handles a signal only when it returns. So each one
runs in another thread, while whoever asked waits. A call that has to end is told so. One that does
not listen (an operator that takes an hour, say) is left behind, and never keeps the process from
ending. A worker hears no Ctrl-C, and handing over a call takes as long as a small query: so its
calls run where they are made, and a thread watches them. One that does not listen ends the process,
which its pool replaces.

An allocation beyond the limit of memory fails, the runtime reports that, and nobody is killed. What
counts is memory that the process has to itself (RLIMIT_DATA), and of that only what calls of the
runtime add or have left behind: not the graph, nor what other packages have reserved. Only Linux
offers such a limit.
"""

import math
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import TypeVar

SECONDS_TO_STOP = 1.0
# How often a watched call is looked at within its time.
LOOKS = 10
# The exit code of a worker whose call did not listen.
DEAF = 75

Answer = TypeVar("Answer")


class OutOfTimeError(Exception):
    """A call did not end within its time limit."""


# The calls of threads that wait for the next one.
_idle: list[SimpleQueue[Callable[[], None]]] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # a fork takes no threads along


def call_within(seconds: float, call: Callable[[], Answer], stop: Callable[[], None]) -> Answer:
    """Run a call in another thread; `stop` tells it to end, if time is up or on an interrupt."""
    calls = _idle.pop() if _idle else _start_thread()
    future: Future[Answer] = Future()
    calls.put(partial(_settle, future, call))
    in_time = False
    try:
        wait((future,), seconds)
        in_time = future.done()
    finally:
        if not in_time:
            stop()
            wait((future,), SECONDS_TO_STOP)
        if future.done():
            _idle.append(calls)
    if not in_time:
        raise OutOfTimeError
    try:
        return future.result()
    finally:
        del future  # what the call holds, memory included, goes with its error


def _start_thread() -> SimpleQueue[Callable[[], None]]:
    calls: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def serve() -> None:
        while True:
            calls.get()()

    Thread(target=serve, daemon=True, name="onnxruntime").start()
    return calls


def _settle(future: "Future[Answer]", call: Callable[[], Answer]) -> None:
    try:
        future.set_result(call())
    except BaseException as error:  # whoever waits gets it, whatever it is
        # Its traceback would hold this frame, which holds the future, which holds it.
        future.set_exception(error.with_traceback(None))


@dataclass(slots=True)
class _Running:
    """A call that is watched: how often it was looked at, and whether it was told to end."""

    stop: Callable[[], None]
    looks: int = 0
    stopped: bool = False


class Watch:
    """Ends calls that take longer than some seconds, and the process with one that does not listen.

    Time is counted in looks, so a call may take a tenth longer.
    """

    def __init__(self, seconds: float) -> None:
        self._pause = seconds / LOOKS
        self._patience = math.ceil(SECONDS_TO_STOP / self._pause)
        self._running: _Running | None = None
        Thread(target=self._look, daemon=True, name="watch").start()

    def call(self, call: Callable[[], Answer], stop: Callable[[], None]) -> Answer:
        """Run a call here; `stop` tells it to end, from the thread that watches."""
        self._running = running = _Running(stop)
        try:
            return call()
        except Exception:
            if running.stopped:
                raise OutOfTimeError from None
            raise
        finally:
            self._running = None

    def _look(self) -> None:
        pause = Event()
        while True:
            pause.wait(self._pause)
            running = self._running
            if running is None:
                continue
            running.looks += 1
            if running.looks > LOOKS and not running.stopped:
                running.stopped = True
                running.stop()
            elif running.looks > LOOKS + self._patience and running is self._running:
                os._exit(DEAF)


if sys.platform == "linux":
    import resource

MEGABYTE = 2**20
# Without a setting: what is left is for everybody else.
SHARE_OF_MACHINE = 0.75
# The memory of the container that this process runs in, if it is in one.
_CONTAINER = Path("/sys/fs/cgroup")
# How many seconds pass between two looks at the memory of a call.
PAUSE = 0.001


class MemoryLimit:
    """At most this many megabytes; without a number, a share of the machine's memory."""

    def __init__(self, megabytes: int | None = None) -> None:
        self._megabytes = _default() if megabytes is None else megabytes
        self._kept = 0

    def __str__(self) -> str:
        if self._megabytes is None or sys.platform != "linux":
            return "than there is"
        return f"than {self._megabytes:,} MB (model.memory)"

    @property
    def free(self) -> int | None:
        """The bytes that a call may take now: of the limit, and of the machine; None if unknown."""
        if self._megabytes is None:
            return None
        return min(self._megabytes * MEGABYTE - self._kept, _available())

    def hold(self, call: Callable[[], Answer], *, keeps: bool = True) -> Answer:
        """Run a call under the limit; `keeps` says that what it leaves behind counts from then on.

        The runtime keeps the memory of a query for the next one. Without that count, queries that
        each need a little more than the last would never reach the limit.
        """
        if self._megabytes is None or sys.platform != "linux":
            return call()
        before = _data()
        try:
            with _data_limit(before + max(self._megabytes * MEGABYTE - self._kept, 0)):
                return call()
        finally:
            if keeps:
                self._kept = max(self._kept + _data() - before, 0)

    def hold_from_now_on(self) -> None:
        """Put this process under the limit until it ends, which costs nothing per call."""
        if self._megabytes is not None and sys.platform == "linux":
            limit = _data() + max(self._megabytes * MEGABYTE - self._kept, 0)
            _, most = resource.getrlimit(resource.RLIMIT_DATA)
            limit = limit if most == resource.RLIM_INFINITY else min(limit, most)
            resource.setrlimit(resource.RLIMIT_DATA, (limit, most))

    def forget(self) -> None:
        """What calls have left behind was freed."""
        self._kept = 0


def is_out_of_memory(error: Exception) -> bool:
    """Whether a failure of the runtime, or of numpy, is that memory could not be had."""
    message = str(error)
    return isinstance(error, MemoryError) or any(
        words in message for words in ("bad_alloc", "o allocate memory")
    )


def _default() -> int | None:
    """The usual limit in megabytes; None where the system keeps none."""
    if sys.platform != "linux":
        return None
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return int(SHARE_OF_MACHINE * min(memory, _container_bytes("memory.max"))) // MEGABYTE


def _container_bytes(name: str) -> int:
    """A figure of the container; more than any machine has where there is none."""
    file = _CONTAINER / name
    text = file.read_text(encoding="ascii").strip() if file.is_file() else ""
    return int(text) if text.isdecimal() else sys.maxsize


def _available() -> int:
    """The bytes that the machine and the container can give without taking them from others."""
    table = Path("/proc/meminfo").read_text(encoding="ascii")
    machine = int(table.partition("MemAvailable:")[2].split()[0]) * 1024
    most = _container_bytes("memory.max")
    used = 0 if most == sys.maxsize else _container_bytes("memory.current")
    return max(min(machine, most - used), 0)


def peak_of(call: Callable[[], object]) -> int:
    """The most bytes that this process has to itself while a call runs; Linux only."""
    peak, over = 0, Event()

    def look() -> None:
        nonlocal peak
        while not over.wait(PAUSE):
            peak = max(peak, _data())

    thread = Thread(target=look, daemon=True, name="memory")
    thread.start()
    try:
        call()
    finally:
        over.set()
        thread.join()
    return peak


def _data() -> int:
    """The bytes that this process has to itself, written to or not."""
    if not _statm:
        _statm.append(os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC))
    return int(os.pread(_statm[0], 256, 0).split()[5]) * _PAGE


# Kept open, because opening it takes longer than a small query; a fork would read its parent's.
_statm: list[int] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_statm.clear)
_PAGE = os.sysconf("SC_PAGE_SIZE") if sys.platform == "linux" else 0

# The limit is the process's, so calls in several threads share the highest of theirs.
_lock = Lock()
_held = 0
_before = (-1, -1)
_highest = 0


@contextmanager
def _data_limit(limit: int) -> Iterator[None]:
    global _held, _before, _highest  # noqa: PLW0603  # as the limit itself
    with _lock:
        if not _held:
            _before = resource.getrlimit(resource.RLIMIT_DATA)
        _highest = max(_highest, limit) if _held else limit
        others = [other for other in _before if other != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_DATA, (min((_highest, *others)), _before[1]))
        _held += 1
    try:
        yield
    finally:
        with _lock:
            _held -= 1
            if not _held:
                resource.setrlimit(resource.RLIMIT_DATA, _before)
