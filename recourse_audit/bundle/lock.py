"""One lock per bundle for every command that writes: the kernel keeps it, for a process.

It lies on the marker, the first file of every bundle, which is never replaced. It ends with the
process, whatever ends it, so that no lock is ever left behind. Whoever only reads needs none.

Notes
-----
The lock is that of `flock`. On a network file system it is as good as its locks are: NFS needs its
lock service, and a mount with `nolock` or `local_lock` knows only the commands of one machine.
"""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from recourse_audit.bundle.plain_files import MARKER, for_the_owner
from recourse_audit.errors import InputError

# A file system that is read only, or somebody else's bundle, can be locked all the same.
_NOT_WRITABLE = {errno.EACCES, errno.EPERM, errno.EROFS}


@contextmanager
def held(folder: Path, *, new: bool = False) -> Iterator[int]:
    """Hold the lock of a bundle; gives the handle of its marker.

    Only the owner can read what is written meanwhile. With `new` the marker may be missing, and is
    then made, empty: whoever holds the lock says whether the folder may become a bundle.
    """
    try:
        handle = _opened(folder / MARKER, new=new)
    except OSError as error:
        raise _no_lock(folder, error) from None
    try:
        _lock(handle, folder)
        with for_the_owner():
            yield handle
    finally:
        os.close(handle)


def _opened(marker: Path, *, new: bool) -> int:
    flags = os.O_RDWR | os.O_NOFOLLOW | (os.O_CREAT if new else 0)
    try:
        return os.open(marker, flags, 0o600)
    except OSError as error:
        if error.errno not in _NOT_WRITABLE:
            raise
    return os.open(marker, os.O_RDONLY | os.O_NOFOLLOW)


def _lock(handle: int, folder: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(
            f"{folder}: another command is writing into it; wait for it to end, or choose another "
            "folder"
        ) from None
    except OSError as error:
        raise _no_lock(folder, error) from None


def _no_lock(folder: Path, error: OSError) -> InputError:
    return InputError(
        f"{folder}: cannot be locked ({error.strerror}), so nothing is written; choose a folder on "
        "a disk where you may write and that has locks"
    )


def keep_private(folder: Path) -> None:
    """Let only the owner into a folder, where the file system knows owners."""
    with suppress(PermissionError):
        folder.chmod(0o700)
