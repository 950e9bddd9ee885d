"""What lies in a folder, seen without reading it; and the way back to how it was.

Whatever changes a file, or what is in a folder, changes the time that the kernel keeps for it
(`ctime`), which no program can set. That time moves in ticks of some milliseconds: what changed
just before it was looked at is read as well.
"""

import os
import shutil
import stat
from pathlib import Path
from time import time_ns
from typing import NamedTuple

TICKS = 50_000_000  # nanoseconds, several ticks of the slowest kernel


class Seen(NamedTuple):
    """An entry: its rights, size, number and time; its content if that was read."""

    mode: int
    size: int
    number: int
    changed: int
    content: bytes | None


Snapshot = dict[str, Seen]
NOTHING: Snapshot = {}


def snapshot(root: Path, earlier: Snapshot = NOTHING) -> Snapshot:
    """Every entry by its path; what changed just now is read, and what was read earlier."""
    seen: Snapshot = {}
    _look(os.fspath(root), "", earlier, seen)
    return seen


def _look(folder: str, before: str, earlier: Snapshot, seen: Snapshot) -> None:
    recent = time_ns() - TICKS
    with os.scandir(folder) as entries:
        for entry in entries:
            found = entry.stat(follow_symlinks=False)
            name, kind = f"{before}{entry.name}", stat.S_IFMT(found.st_mode)
            if kind == stat.S_IFDIR:  # the time of which changes with every file in it
                seen[name] = Seen(found.st_mode, 0, found.st_ino, 0, None)
                _look(entry.path, f"{name}/", earlier, seen)
                continue
            content = None
            if kind == stat.S_IFREG and (found.st_ctime_ns > recent or _was_read(name, earlier)):
                content = Path(entry.path).read_bytes()
            seen[name] = Seen(
                found.st_mode, found.st_size, found.st_ino, found.st_ctime_ns, content
            )


def _was_read(name: str, earlier: Snapshot) -> bool:
    return name in earlier and earlier[name].content is not None


def differences(earlier: Snapshot, later: Snapshot) -> list[str]:
    """What was added, changed or removed, in order."""
    names = {*earlier, *later}
    return sorted(name for name in names if _differs(earlier.get(name), later.get(name)))


def _differs(one: Seen | None, other: Seen | None) -> bool:
    if one is None or other is None or one[:-1] != other[:-1]:
        return True
    return one.content is not None and one.content != other.content


def restore(root: Path, kept: Path, names: list[str]) -> None:
    """Make these entries what they are in a folder that was kept: what is in folders comes last."""
    for name in reversed(names):
        path, source = root / name, kept / name
        there = path.lstat().st_mode if os.path.lexists(path) else 0
        if stat.S_ISDIR(there) and not source.is_dir():
            shutil.rmtree(path)
        elif there and not stat.S_ISDIR(there):
            path.unlink()
    for name in names:
        path, source = root / name, kept / name
        if source.is_dir():
            path.mkdir(exist_ok=True)
            path.chmod(source.stat().st_mode)
        elif source.is_file():
            shutil.copy2(source, path)
