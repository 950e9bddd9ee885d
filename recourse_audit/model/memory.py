"""The memory that the runtime may take in a process: a limit that the kernel keeps.

An allocation beyond the limit fails, the runtime reports that, and nobody is killed. What counts is
memory that the process has to itself (RLIMIT_DATA), and of that only what calls of the runtime add
or have left behind: not the graph, nor what other packages have reserved. Only Linux offers such a
limit.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TypeVar

if sys.platform == "linux":
    import resource

MEGABYTE = 2**20
# Without a setting: what is left is for everybody else.
SHARE_OF_MACHINE = 0.75
# The memory of the container that this process runs in, if it is in one.
_CONTAINER = Path("/sys/fs/cgroup")
# How many seconds pass between two looks at the memory of a call.
PAUSE = 0.001

Answer = TypeVar("Answer")


class MemoryLimit:
    """At most this many megabytes; without a number, a share of the machine's memory."""

    def __init__(self, megabytes: int | None = None) -> None:
        self._megabytes = _default() if megabytes is None else megabytes
        self._kept = 0

    def __str__(self) -> str:
        """The limit in words, or that there is none."""
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
        _begin(before + max(self._megabytes * MEGABYTE - self._kept, 0))
        try:
            return call()
        finally:
            _end()
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
    said = str(error)
    return isinstance(error, MemoryError) or "bad_alloc" in said or "o allocate memory" in said


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


def _begin(limit: int) -> None:
    global _held, _before, _highest  # noqa: PLW0603  # as the limit itself
    if sys.platform == "linux":
        with _lock:
            if not _held:
                _before = resource.getrlimit(resource.RLIMIT_DATA)
            _highest = max(_highest, limit) if _held else limit
            others = [one for one in _before if one != resource.RLIM_INFINITY]
            resource.setrlimit(resource.RLIMIT_DATA, (min((_highest, *others)), _before[1]))
            _held += 1


def _end() -> None:
    global _held  # noqa: PLW0603
    if sys.platform == "linux":
        with _lock:
            _held -= 1
            if not _held:
                resource.setrlimit(resource.RLIMIT_DATA, _before)
