"""Every step at which a command writes, counted; and one of them at which something goes wrong.

Steps are what Python announces before it does it (files opened for writing, renamed, removed,
truncated; folders made and removed), each write and sync of our own, each statement that changes a
database, and each part of a Parquet file. Only those in the bundle count. The process is one that
is thrown away afterwards: what announces the steps cannot be taken off again.
"""

import errno
import os
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NoReturn
from unittest.mock import patch

Fault = Literal["killed", "full"]
KILLED = 77
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
NO_HANDLE = -1
# Announced with the path first, and here the handle of the folder that a path is relative to.
EVENTS = {
    "os.rename": 2,
    "os.remove": 1,
    "os.rmdir": 1,
    "os.mkdir": 2,
    "os.truncate": NO_HANDLE,
    "os.chmod": 2,
}
CHANGES = ("INSERT", "CREATE", "COMMIT", "UPDATE", "DELETE")


class Points:
    """Counts steps in a folder, and fails at one of them: number 0 is none."""

    def __init__(self, folder: Path, at: int, fault: Fault) -> None:
        self._folder = folder.resolve()
        self._at = at
        self._fault = fault
        self.seen: list[str] = []

    def step(self, name: str) -> None:
        """One step more; it is not done if it is the one."""
        self.seen.append(name)
        if len(self.seen) == self._at:
            self._fail()

    def _fail(self) -> None:
        if self._fault == "killed":
            os._exit(KILLED)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def half(self, handle: int, content: memoryview) -> None:
        """The step that writes some of a content and then no more."""
        self.seen.append("os.write")
        if len(self.seen) == self._at:
            _write(handle, content[: len(content) // 2])
            self._fail()

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments
            writes = set(mode) & set("wax+") if isinstance(mode, str) else flags & WRITING
            if writes and self._inside(path):
                self.step(f"open {Path(os.fsdecode(path)).name}")
        elif event in EVENTS and self._inside(arguments[0], _handle(event, arguments)):
            self.step(f"{event} {Path(os.fsdecode(arguments[0])).name}")

    def _inside(self, path: object, handle: int = -1) -> bool:
        if not isinstance(path, str | bytes | os.PathLike):
            return False
        base = Path(f"/proc/self/fd/{handle}").readlink() if handle >= 0 else Path.cwd()
        return (base / os.fsdecode(path)).is_relative_to(self._folder)


def _handle(event: str, arguments: tuple[Any, ...]) -> int:
    place = EVENTS[event]
    return -1 if place == NO_HANDLE else int(arguments[place])


_write, _fsync, _connect = os.write, os.fsync, sqlite3.connect


def install(points: Points) -> None:
    """Have all steps of this process announced; it can never be undone."""

    def write(handle: int, content: memoryview) -> int:
        points.half(handle, content)
        return _write(handle, content)

    def fsync(handle: int) -> None:
        points.step("os.fsync")
        _fsync(handle)

    patch.object(os, "write", write).start()
    patch.object(os, "fsync", fsync).start()
    # A sync is of the whole machine, which others use.
    patch.object(os, "sync", lambda: points.step("os.sync")).start()
    patch.object(sqlite3, "connect", _counted_connect(points)).start()
    _count_parquet(points)
    sys.addaudithook(points.hook)


def _counted_connect(points: Points) -> Callable[..., sqlite3.Connection]:
    class Counted(sqlite3.Connection):
        def execute(self, sql: str, *given: Any) -> sqlite3.Cursor:
            if sql.lstrip().startswith(CHANGES):
                counted(sql)
            return super().execute(sql, *given)

        def executemany(self, sql: str, *given: Any) -> sqlite3.Cursor:
            counted(sql)
            return super().executemany(sql, *given)

    def counted(sql: str) -> None:
        try:
            points.step(sql.split("(", maxsplit=1)[0].strip())
        except OSError:
            raise sqlite3.OperationalError("database or disk is full") from None

    return lambda path, **given: _connect(path, factory=Counted, **given)


def _count_parquet(points: Points) -> None:
    import pyarrow.parquet as pq

    for name in ("__init__", "write_table", "close"):
        whole = getattr(pq.ParquetWriter, name)

        def counted(*given: Any, whole: Any = whole, name: str = name, **more: Any) -> Any:
            points.step(f"parquet {name}")
            return whole(*given, **more)

        setattr(pq.ParquetWriter, name, counted)


def end(code: int) -> NoReturn:
    """End the process as a command does, but without what Python does at its own end."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
