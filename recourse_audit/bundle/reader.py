"""A bundle as later stages read it: its store, also that of an audit which is not finished."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from recourse_audit.errors import InputError
from recourse_audit.bundle.layout import CHECKSUMS, Bundle
from recourse_audit.bundle.digests import digest
from recourse_audit.bundle.store import fill_store, open_store
from recourse_audit.bundle.verification import read_manifest
from recourse_audit.bundle.checkpoint import open_record

SETTINGS, STORE = "settings.json", "store.sqlite"


class BundleStore(NamedTuple):
    """An open store, and how far the audit has come; of one not finished, what is done so far."""

    connection: sqlite3.Connection
    finished: bool
    done: int
    total: int


@contextmanager
def bundle_store(folder: Path) -> Iterator[BundleStore]:
    """Open the store of a bundle, finished or not.

    For an audit that is not finished, a store is made of what is, and is gone afterwards; it is
    held in memory as long as it fits there. Nothing in the bundle is changed.
    """
    bundle = Bundle(folder=folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder; name a bundle that `run` has written")
    if bundle.work_store.is_file():
        # An empty name is a database of its own, which SQLite moves to the disk if it grows large.
        with closing(sqlite3.connect("", isolation_level=None)) as store:
            done, total = _filled(store, bundle)
            yield BundleStore(connection=store, finished=False, done=done, total=total)
        return
    if not bundle.store.is_file():
        raise InputError(f"{folder}: holds no audit; `recourse-audit run` writes one")
    with open_store(bundle.store) as store:
        [[count]] = store.execute("SELECT count(*) FROM subjects")
        yield BundleStore(connection=store, finished=True, done=count, total=count)


@contextmanager
def finished_store(folder: Path) -> Iterator[sqlite3.Connection]:
    """Open the store of a finished bundle; any other is refused."""
    with bundle_store(folder) as opened:
        if not opened.finished:
            raise InputError(
                f"{folder}: this audit is not finished ({opened.done:,} of {opened.total:,} "
                "subjects); the same `run` command goes on"
            )
        _as_sealed(folder)
        yield opened.connection


def _as_sealed(folder: Path) -> None:
    """Refuse a bundle of which a part that pages rest on is not what was sealed."""
    if not (folder / CHECKSUMS).is_file():
        raise InputError(f"{folder}: was not sealed; the same `run` command ends it")
    files = read_manifest(folder)["files"]
    for name in (SETTINGS, STORE):
        path = folder / name
        if not path.is_file() or digest(path) != files[name]["sha256"]:
            raise InputError(
                f"{path}: is missing or was changed since the audit; restore it, or run the audit "
                "again into another --out"
            )


def _filled(store: sqlite3.Connection, bundle: Bundle) -> tuple[int, int]:
    """Copy what is finished into a store; how many subjects are done, of how many."""
    try:
        with open_record(bundle.work_store) as record:
            fill_store(store, record.findings())
            return record.progress()
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise InputError(
                f"{bundle.folder}: a run is writing into it; wait for it, or interrupt it: the "
                "same command continues later"
            ) from None
        raise _unreadable(bundle, error) from None
    except sqlite3.DatabaseError as error:
        raise _unreadable(bundle, error) from None


def _unreadable(bundle: Bundle, error: sqlite3.Error) -> InputError:
    return InputError(
        f"{bundle.folder}: the record of finished work cannot be read ({error}); finish the audit "
        "with the same `run` command, or start over with --fresh"
    )
