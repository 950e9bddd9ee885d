"""Files of a bundle are plain files: no step follows a link, and only the owner can read them.

Whoever passes on a bundle could put a symbolic link, a pipe or a device in place of a file. So
every entry is looked at before a bundle is used, files are opened without following links, and
folders are removed by their handles, as `shutil.rmtree` does. `MARKER` is the file that says that
a folder is ours; nothing is deleted in a folder without one.
"""

import errno
import os
import shutil
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from recourse_audit.errors import InputError

MARKER = ".recourse-audit"
OWNER_ONLY = 0o077
BUNDLE = "bundle"


def irregular(folder: Path, within: Collection[str] | None = None) -> Iterator[str]:
    """Entries that are neither files nor folders, at any depth, as "name: is a symbolic link".

    With `within`, of the folders in it only those with these names are searched.
    """
    yield from _irregular(folder, "", within)


def _irregular(folder: Path, before: str, within: Collection[str] | None) -> Iterator[str]:
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        name = f"{before}{entry.name}"
        if entry.is_symlink():
            yield f"{name}: is a symbolic link"
        elif entry.is_dir(follow_symlinks=False):
            if within is None or entry.name in within:
                yield from _irregular(folder / entry.name, f"{name}/", within)
        elif not entry.is_file(follow_symlinks=False):
            yield f"{name}: is not a regular file"


def refuse_irregular(folder: Path, within: Collection[str] | None = None) -> None:
    """Refuse a folder in which anything is a link, a pipe or a device."""
    try:
        problem = next(irregular(folder, within), None)
    except OSError as error:
        raise InputError(
            f"{folder}: cannot be read ({error.strerror}); correct its permissions"
        ) from None
    if problem is not None:
        raise InputError(
            f"{folder}/{problem}, and no bundle holds one; remove it, or restore the bundle"
        )


def read_plain(path: Path) -> bytes | None:
    """What is in a file; None if there is none, or if it is a link, a pipe or a device."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with open(handle, "rb") as file:  # noqa: PTH123
        return file.read() if stat.S_ISREG(os.fstat(handle).st_mode) else None


def write_plain(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read; a link in its place is not followed."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    handle = os.open(path, flags, 0o600)
    try:
        write_all(handle, content)
    finally:
        os.close(handle)


def write_all(handle: int, content: bytes) -> None:
    """Write everything, however little the system takes at once."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(handle, rest) :]


def sync(path: Path) -> None:
    """Wait until a file, or which files a folder holds, would outlive a power loss."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some file systems cannot sync folders
            raise
    finally:
        os.close(handle)


@contextmanager
def for_the_owner() -> Iterator[None]:
    """Only the owner can read files that this process, and those it starts, make meanwhile."""
    before = os.umask(OWNER_ONLY)
    try:
        yield
    finally:
        os.umask(before)


def marker_of(what: str) -> bytes:
    """The content of the file that says that a folder was made by this program."""
    return (
        f"recourse-audit {what}, format 1\n"
        "This folder was made by recourse-audit, which replaces or deletes what is in it.\n"
    ).encode()


def is_marked(folder: Path, what: str) -> bool:
    """Whether a folder has our marker."""
    return read_plain(folder / MARKER) == marker_of(what)


def is_ours(folder: Path, what: str) -> bool:
    """Whether a folder has our marker, or nothing in it but the beginning of one.

    The latter is left if a command is killed just as it begins.
    """
    if is_marked(folder, what):
        return True
    if any(entry != MARKER for entry in os.listdir(folder)):  # noqa: PTH208
        return False
    begun = read_plain(folder / MARKER)
    if begun is None:
        return not os.path.lexists(folder / MARKER)
    return marker_of(what).startswith(begun)


def refuse_others(folder: Path, what: str) -> None:
    """Refuse to touch a folder that is there and that this program did not make."""
    if folder.is_dir() and not is_ours(folder, what):
        raise InputError(
            f"{folder}: was not made by this program (it has no {MARKER} file); move it elsewhere"
        )


def remove_folder(folder: Path, what: str) -> None:
    """Remove a folder that this program made, if it is there; its marker last."""
    refuse_others(folder, what)
    try:
        entries = [*os.scandir(folder)]
    except FileNotFoundError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        elif entry.name != MARKER:
            os.unlink(entry.path)  # noqa: PTH108
    (folder / MARKER).unlink(missing_ok=True)
    folder.rmdir()


def remove_empty(folder: Path) -> None:
    """Remove a folder if it is there and nothing is in it."""
    try:
        folder.rmdir()
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
