"""Every step at which a command writes, counted; and one of them at which something goes wrong.

Steps are what Python announces before it does it (files opened for writing, renamed, removed,
truncated; folders made and removed), each write and sync of our own, each statement that changes a
database, and each part of a Parquet file. Only those in the bundle count, each by its path there.
Making a folder that is there already is no step: it writes nothing, also if the disk is full. The
process is one that is thrown away afterwards: what announces the steps cannot be taken off again.
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
        name = self.inside(_opened(handle))
        if name is None:
            return
        self.seen.append(f"os.write {name}")
        if len(self.seen) == self._at:
            _write(handle, content[: len(content) // 2])
            self._fail()

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments
            writes = set(mode) & set("wax+") if isinstance(mode, str) else flags & WRITING
            name = self.inside(_path(path)) if writes else None
            if name is not None:
                self.step(f"open {name}")
        elif event in EVENTS:
            path = _path(arguments[0], _handle(event, arguments))
            name = self.inside(path)
            if name is None or (event == "os.mkdir" and path is not None and path.is_dir()):
                return
            if event == "os.rename":
                name += f" to {self.inside(_path(arguments[1], arguments[3]))}"
            self.step(f"{event} {name}")

    def inside(self, path: Path | None) -> str | None:
        """A path as it is called in the folder; None if it is not there."""
        if path is None or not path.is_relative_to(self._folder):
            return None
        return path.relative_to(self._folder).as_posix()


def _path(path: object, handle: int = -1) -> Path | None:
    """The path of something that is about to be changed, as a whole."""
    if not isinstance(path, str | bytes | os.PathLike):
        return None
    return (_opened(handle) if handle >= 0 else Path.cwd()) / os.fsdecode(path)


def _opened(handle: int) -> Path:
    return Path(f"/proc/self/fd/{handle}").readlink()


def _handle(event: str, arguments: tuple[Any, ...]) -> int:
    place = EVENTS[event]
    return -1 if place == NO_HANDLE else int(arguments[place])


_write, _fsync = os.write, os.fsync
_connect: Callable[..., sqlite3.Connection] = sqlite3.connect


def install(points: Points) -> None:
    """Have all steps of this process announced; it can never be undone."""

    def write(handle: int, content: memoryview) -> int:
        points.half(handle, content)
        return _write(handle, content)

    def fsync(handle: int) -> None:
        name = points.inside(_opened(handle))
        if name is not None:
            points.step(f"os.fsync {name}")
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

    def connect(path: object, **given: Any) -> sqlite3.Connection:
        ours = points.inside(_path(path)) is not None
        return _connect(path, **given, **({"factory": Counted} if ours else {}))

    return connect


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
