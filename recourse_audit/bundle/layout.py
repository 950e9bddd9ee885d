"""The folder that an audit writes: whether it is ours, how far it is, and how it is written."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from recourse_audit.errors import InputError

State = Literal["new", "unfinished", "finished"]
FILES = (
    "store.sqlite",
    "settings.json",
    "data/subjects.jsonl",
    "data/subjects.csv",
    "data/subjects.parquet",
)
SETTINGS, STORE = "settings.json", "store.sqlite"
MANIFEST = "manifest.json"
SIGNATURE = "manifest.sig"
CHECKSUMS = "checksums.txt"
LOG = "run.jsonl"
# What is made from a finished bundle, each with a manifest of its own.
FOLDERS: tuple[Literal["pages", "letters"], ...] = ("pages", "letters")
NEW = ".new"
NAMES = {
    "work",
    LOG,
    MANIFEST,
    SIGNATURE,
    CHECKSUMS,
    *(name.split("/")[0] for name in FILES),
    *FOLDERS,
    *(f"{name}{NEW}" for name in FOLDERS),
}


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
        """How far the audit has come; a folder with anything else in it is refused."""
        if not self.folder.exists():
            return "new"
        if not self.folder.is_dir():
            raise InputError(f"{self.folder}: is a file; choose another --out")
        there = {path.relative_to(self.folder).as_posix() for path in self._paths()}
        if self.checkpoint.is_file():
            return "unfinished"
        if {*FILES, MANIFEST, CHECKSUMS} <= there:
            return "finished"
        names = {name.split("/")[0] for name in there}
        if not there or ("work" in there and names <= NAMES):
            return "new"
        raise InputError(
            f"{self.folder}: is not empty and does not hold an audit; choose another --out, or an "
            "empty folder"
        )

    def begin(self) -> None:
        """Make the folder ready for a new audit; what an earlier one left is removed."""
        self.work.mkdir(parents=True, exist_ok=True)  # first, so that it is always known as ours
        self.checkpoint.unlink(missing_ok=True)
        for path in self.work.iterdir():
            path.unlink()
        for name in NAMES - {"work"}:
            path = self.folder / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def write(self, name: str, text: str) -> None:
        """Write a text into its place."""
        new = self.work / "new"
        new.write_text(text, encoding="utf-8", newline="\n")
        self.put(name, new)

    def put(self, name: str, source: Path) -> None:
        """Move a file that is complete into its place, so that it outlives a power loss."""
        target = self.folder / name
        target.parent.mkdir(exist_ok=True)
        with source.open("rb+") as file:
            os.fsync(file.fileno())
        source.replace(target)

    def _paths(self) -> Iterator[Path]:
        for path in self.folder.iterdir():
            yield path
            if path.name == "data" and path.is_dir():
                yield from path.iterdir()

    def end(self) -> None:
        """Remove what is no longer needed; the checkpoint of finished chunks last."""
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
                f"{folder}: another run is writing into it; wait for it, or choose another --out"
            ) from None
        raise InputError(_cannot(folder, str(error))) from None
    except sqlite3.DatabaseError as error:
        raise InputError(
            f"{folder}: the checkpoint of finished work is damaged ({error}); start over with "
            "--fresh"
        ) from None


def _cannot(folder: Path, reason: str) -> str:
    return f"{folder}: cannot be written ({reason}); fix this and rerun the same command to resume"
