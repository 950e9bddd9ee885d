"""The folder that an audit writes: whether it is ours, how far it is, and how it is written.

A folder is a bundle if it has our marker, which is written first. Nothing is deleted in a folder
without one, whatever the names of the things in it.

Files of a bundle are plain files: no step follows a link, and only the owner can read them. Whoever
passes on a bundle could put a symbolic link, a pipe or a device in place of a file. So every entry
is looked at before a bundle is used, files are opened without following links, and folders are
removed by their handles, as `shutil.rmtree` does.

Every command that writes holds one lock, on the marker, which is never replaced. The kernel keeps
it for a process, whatever ends that, so that none is left behind. Whoever only reads needs none.

Notes
-----
The lock is that of `flock`. On a network file system it is as good as its locks are: NFS needs its
lock service, and a mount with `nolock` or `local_lock` knows only the commands of one machine.
"""

import errno
import fcntl
import os
import shutil
import sqlite3
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from recourse_audit.bundle.store import DAMAGE
from recourse_audit.errors import InputError
from recourse_audit.settings.section import exists, is_folder

MARKER = ".recourse-audit"
BUNDLE = "bundle"
SETTINGS, STORE, LOG = "settings.json", "store.sqlite", "run.jsonl"
CHECKPOINT = "work.sqlite"
TABLES = {f"data/subjects.{ending}": ending for ending in ("jsonl", "csv", "parquet")}
# What every finished bundle has; the comparison of groups only if there are protected attributes.
FILES = (MARKER, STORE, SETTINGS, *TABLES)
GROUP_REPORT = "groups.json"
MANIFEST, SIGNATURE, CHECKSUMS = "manifest.json", "manifest.sig", "checksums.txt"
# What is made from a finished bundle, each with a manifest of its own; where it waits until it is
# complete, and where the one before waits until it is in place.
FOLDERS: tuple[Literal["pages", "letters"], ...] = ("pages", "letters")
NEW, OLD = ".new", ".old"
DERIVED = {f"{name}{ending}": name for name in FOLDERS for ending in ("", NEW, OLD)}
# What is in a bundle that has begun, besides folders that were made from it.
NAMES = {
    *("work", LOG, GROUP_REPORT, MANIFEST, SIGNATURE, CHECKSUMS),
    *(name.split("/")[0] for name in FILES),
}
# "damaged" is a bundle of which files are missing, so that it cannot be resumed.
State = Literal["new", "unfinished", "finished", "damaged"]


def find_irregular(
    folder: Path, within: Collection[str] | None = None, before: str = ""
) -> Iterator[str]:
    """Entries that are neither files nor folders, at any depth, as "name: is a symbolic link".

    Only folders with the names `within` are searched, if given. Names get `before` in front.
    """
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        name = f"{before}{entry.name}"
        if entry.is_symlink():
            yield f"{name}: is a symbolic link"
        elif entry.is_dir(follow_symlinks=False):
            if within is None or entry.name in within:
                yield from find_irregular(folder / entry.name, within, f"{name}/")
        elif not entry.is_file(follow_symlinks=False):
            yield f"{name}: is not a regular file"


def refuse_irregular(folder: Path, within: Collection[str] | None = None) -> None:
    """Refuse a folder in which anything is a link, a pipe or a device."""
    try:
        problem = next(find_irregular(folder, within), None)
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
    except (OSError, ValueError):  # the latter for a name with a NUL in it
        return None
    with open(handle, "rb") as file:  # noqa: PTH123
        return file.read() if stat.S_ISREG(os.fstat(handle).st_mode) else None


def write_plain(path: Path, content: bytes, flag: int = os.O_TRUNC) -> None:
    """Write a file that only its owner can read; a link in its place is not followed."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | flag, 0o600)
    rest = memoryview(content)
    try:
        while rest:  # however little the system takes at once
            rest = rest[os.write(handle, rest) :]
    finally:
        os.close(handle)


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


def marker_text(what: str) -> bytes:
    """The content of the file that says that a folder was made by this program."""
    return (
        f"recourse-audit {what}, format 1\n"
        "This folder was made by recourse-audit, which replaces or deletes what is in it.\n"
    ).encode()


def is_marked(folder: Path, what: str) -> bool:
    """Whether a folder has our marker."""
    return read_plain(folder / MARKER) == marker_text(what)


def is_ours(folder: Path, what: str) -> bool:
    """Whether a folder has our marker, or nothing but the beginning of one, left by a kill."""
    entries = os.listdir(folder)  # noqa: PTH208
    if is_marked(folder, what) or not entries:
        return True
    begun = read_plain(folder / MARKER)
    return entries == [MARKER] and begun is not None and marker_text(what).startswith(begun)


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


def remove_if_empty(folder: Path) -> None:
    """Remove a folder if it is there and nothing is in it."""
    if folder.is_dir() and not os.listdir(folder):  # noqa: PTH208
        folder.rmdir()


@contextmanager
def hold_lock(folder: Path, *, new: bool = False) -> Iterator[int]:
    """Hold the lock of a bundle; gives the handle of its marker.

    Only the owner can read what is written meanwhile. With `new` the marker may be missing, and is
    then made, empty: whoever holds the lock says whether the folder may become a bundle.
    """
    handle, before = -1, os.umask(0o077)
    try:
        try:
            handle = _open_marker(folder / MARKER, new=new)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"{folder}: another command is writing into it; wait for it to end, or choose "
                "another folder"
            ) from None
        except OSError as error:
            raise InputError(
                f"{folder}: cannot be locked ({error.strerror}), so nothing is written; choose a "
                "folder on a disk where you may write and that has locks"
            ) from None
        yield handle
    finally:
        os.umask(before)
        if handle >= 0:
            os.close(handle)


def _open_marker(marker: Path, *, new: bool) -> int:
    """A file system that is read only, or somebody else's bundle, can be locked all the same."""
    try:
        return os.open(marker, os.O_RDWR | os.O_NOFOLLOW | (os.O_CREAT if new else 0), 0o600)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
    return os.open(marker, os.O_RDONLY | os.O_NOFOLLOW)


class BundleFolder:
    """Where the parts of a bundle are; `work` is kept until the audit is finished."""

    def __init__(self, *, folder: Path) -> None:
        self.folder, self.work = folder, folder / "work"
        self.store, self.log, self.checkpoint = folder / STORE, folder / LOG, self.work / CHECKPOINT

    def state(self) -> State:
        """How far the audit has come; a folder that is not a bundle is refused."""
        if not exists(self.folder):
            return "new"
        if not is_folder(self.folder):
            raise InputError(f"{self.folder}: is a file; choose another --out")
        refuse_irregular(self.folder)
        if not is_ours(self.folder, BUNDLE):
            raise InputError(
                f"{self.folder}: is not empty and has no {MARKER} file, which every bundle begins "
                "with, so nothing in it was touched; choose another --out, or an empty folder"
            )
        if not is_marked(self.folder, BUNDLE):
            return "new"
        if self.checkpoint.is_file():
            return "unfinished"
        if all((self.folder / name).is_file() for name in (*FILES, MANIFEST, CHECKSUMS)):
            return "finished"
        names = {*os.listdir(self.folder)}  # noqa: PTH208
        begun = names == {MARKER} or "work" in names
        return "new" if begun and names <= NAMES | set(DERIVED) else "damaged"

    @contextmanager
    def hold(self) -> Iterator[State]:
        """Hold the lock of a bundle that may still have to be made; gives its state."""
        self.state()  # before the marker is made, which would say that the folder is ours
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with hold_lock(self.folder, new=True) as marker:
            state = self.state()
            if read_plain(self.folder / MARKER) != marker_text(BUNDLE):
                with suppress(PermissionError):  # where the file system knows owners
                    self.folder.chmod(0o700)
                os.ftruncate(marker, 0)
                with open(marker, "wb", closefd=False) as file:
                    file.write(marker_text(BUNDLE))
                os.fsync(marker)
                sync(self.folder)
            yield state

    def begin(self) -> None:
        """Make the folder ready for a new audit; what an earlier one left is removed."""
        if not is_marked(self.folder, BUNDLE):
            raise InputError(f"{self.folder}: has no {MARKER} file; choose another --out")
        for name, what in DERIVED.items():
            refuse_others(self.folder / name, what)
        self.work.mkdir(exist_ok=True)  # says that this has begun, if it is interrupted
        self.checkpoint.unlink(missing_ok=True)
        for path in self.work.iterdir():
            path.unlink()
        for name, what in DERIVED.items():
            remove_folder(self.folder / name, what)
        for name in (CHECKSUMS, MANIFEST, SIGNATURE, LOG, GROUP_REPORT, *FILES):
            if name != MARKER:
                (self.folder / name).unlink(missing_ok=True)
        remove_if_empty(self.folder / "data")

    def write(self, name: str, text: str) -> None:
        new = self.work / "new"
        write_plain(new, text.encode())
        self.put(name, new)

    def put(self, name: str, source: Path) -> None:
        """Move a file that is complete into its place, so that it outlives a power loss."""
        target = self.folder / name
        target.parent.mkdir(exist_ok=True)
        sync(source)
        source.replace(target)

    def end(self) -> None:
        """Remove what is no longer needed; the checkpoint last, once a power loss takes nothing."""
        for path in (self.log, self.folder / "data", self.folder):
            sync(path)
        for path in self.work.iterdir():
            if path != self.checkpoint:
                path.unlink()
        self.checkpoint.unlink()
        self.work.rmdir()


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Translate what goes wrong while a bundle is written."""
    try:
        yield
    except (OSError, *DAMAGE) as error:
        reason = getattr(error, "strerror", None) or str(error)
        if isinstance(error, sqlite3.OperationalError) and "locked" in reason:
            problem = "another command is reading its checkpoint; wait for it to end"
        elif isinstance(error, OSError | sqlite3.OperationalError):
            problem = f"cannot be written ({reason}); fix this and rerun the same command to resume"
        else:
            problem = (
                f"the checkpoint of finished work is damaged ({reason}); restore it, or start over "
                "with --fresh"
            )
        raise InputError(f"{folder}: {problem}") from None
