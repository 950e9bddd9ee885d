"""The folder that an audit writes: whether it is ours, how far it is, and how it is written.

A folder is a bundle if it has our marker, which is written first. Nothing is deleted in a folder
without one, whatever the names of the things in it.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from recourse_audit.bundle.lock import held, keep_private
from recourse_audit.bundle.plain_files import (
    BUNDLE,
    MARKER,
    is_marked,
    is_ours,
    marker_of,
    read_plain,
    refuse_irregular,
    refuse_others,
    remove_empty,
    remove_folder,
    sync,
    write_all,
    write_plain,
)
from recourse_audit.bundle.soundness import DAMAGE
from recourse_audit.errors import InputError
from recourse_audit.settings.section import exists, is_folder

# "damaged" is a bundle of which files are missing, so that it cannot be resumed.
State = Literal["new", "unfinished", "finished", "damaged"]
FILES = (
    MARKER,
    "store.sqlite",
    "settings.json",
    "data/subjects.jsonl",
    "data/subjects.csv",
    "data/subjects.parquet",
)
SETTINGS, STORE = "settings.json", "store.sqlite"
# The comparison of groups, in a bundle whose settings name protected attributes.
GROUP_REPORT = "groups.json"
MANIFEST = "manifest.json"
SIGNATURE = "manifest.sig"
CHECKSUMS = "checksums.txt"
LOG = "run.jsonl"
# What is made from a finished bundle, each with a manifest of its own.
FOLDERS: tuple[Literal["pages", "letters"], ...] = ("pages", "letters")
# Where it waits until it is complete, and where the one before waits until it is in place.
NEW, OLD = ".new", ".old"
# What is in a bundle that has begun, besides folders that were made from it.
NAMES = {
    "work",
    LOG,
    GROUP_REPORT,
    MANIFEST,
    SIGNATURE,
    CHECKSUMS,
    *(name.split("/")[0] for name in FILES),
}
DERIVED = {f"{name}{ending}": name for name in FOLDERS for ending in ("", NEW, OLD)}


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleFolder:
    """Where the parts of a bundle are."""

    folder: Path

    @property
    def store(self) -> Path:
        return self.folder / "store.sqlite"

    @property
    def log(self) -> Path:
        return self.folder / LOG

    @property
    def work(self) -> Path:
        """What is kept until the audit is finished."""
        return self.folder / "work"

    @property
    def checkpoint(self) -> Path:
        return self.work / "work.sqlite"

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
        names = {path.name for path in self.folder.iterdir()}
        begun = names == {MARKER} or "work" in names
        return "new" if begun and names <= NAMES | set(DERIVED) else "damaged"

    @contextmanager
    def held(self) -> Iterator[State]:
        """Hold the lock of a bundle that may still have to be made; gives its state."""
        self.state()  # before the marker is made, which would say that the folder is ours
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with held(self.folder, new=True) as marker:
            state = self.state()
            if read_plain(self.folder / MARKER) != marker_of(BUNDLE):
                keep_private(self.folder)
                os.ftruncate(marker, 0)
                write_all(marker, marker_of(BUNDLE))
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
        remove_empty(self.folder / "data")

    def write(self, name: str, text: str) -> None:
        """Write a text into its place."""
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
        """Remove what is no longer needed; the checkpoint of finished chunks last.

        Until a power loss can no longer take away what was made of it, it stays.
        """
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
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(_cannot(folder, reason)) from None
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise InputError(
                f"{folder}: another command is reading its checkpoint; wait for it to end"
            ) from None
        raise InputError(_cannot(folder, str(error))) from None
    except DAMAGE as error:
        raise InputError(
            f"{folder}: the checkpoint of finished work is damaged ({error}); restore it, or start "
            "over with --fresh"
        ) from None


def _cannot(folder: Path, reason: str) -> str:
    return f"{folder}: cannot be written ({reason}); fix this and rerun the same command to resume"
