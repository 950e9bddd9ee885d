"""A bundle as later stages read it, typed, also that of an audit which is not finished.

Other programs read its subjects as JSON lines, CSV and Parquet, which are written here in one pass.
"""

import sqlite3
from collections import deque
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import KW_ONLY, astuple, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recourse_audit.bundle.layout import (
    BUNDLE,
    CHECKSUMS,
    GROUP_REPORT,
    MARKER,
    SETTINGS,
    STORE,
    BundleFolder,
    hold_lock,
    is_marked,
    read_plain,
    refuse_irregular,
)
from recourse_audit.bundle.manifest import digest, log_days, read_manifest
from recourse_audit.bundle.store import (
    DAMAGE,
    Checkpoint,
    Result,
    check_attributes,
    fill_store,
    open_store,
    parse_results,
    read_groups,
    read_meta,
)
from recourse_audit.errors import DocumentError, InputError
from recourse_audit.records.bundle import (
    COLUMNS,
    ColumnType,
    Fingerprint,
    Manifest,
    SummaryRow,
    Value,
    summary_of,
)
from recourse_audit.records.codec import AGREEMENT, COMMUNITIES, FINGERPRINT, GROUPS, SUBJECT
from recourse_audit.records.groups import Communities, Days, GroupReport
from recourse_audit.records.model import Agreement
from recourse_audit.records.subject import SubjectReport
from recourse_audit.records.texts import csv_lines
from recourse_audit.settings import Settings, load_bundle_settings
from recourse_audit.settings.section import is_folder

if TYPE_CHECKING:
    import pyarrow as pa

# The folders of a bundle that are read; the others are checked by those who write or verify them.
READ = ("data", "work")
RESTORE = "restore it, or run the audit again into another --out"
ROWS_TOGETHER = 10_000


@dataclass(frozen=True, slots=True)
class StoredAudit:
    """An open bundle: what was audited, how far it has come, and what was found so far."""

    folder: Path
    connection: sqlite3.Connection
    settings: Settings
    _: KW_ONLY
    finished: bool
    done: int
    total: int

    @property
    def fingerprint(self) -> Fingerprint:
        return FINGERPRINT.read(self._meta("fingerprint"))

    @property
    def communities(self) -> Communities:
        return COMMUNITIES.read(self._meta("communities"))

    @property
    def agreement(self) -> Agreement | None:
        """How the decisions on record agree with the model's; None if none are on record."""
        text = read_meta(self.connection).get("agreement")
        return None if text is None else AGREEMENT.read(text)

    def _meta(self, key: str) -> str:
        text = read_meta(self.connection).get(key)
        if text is None:
            raise InputError(
                f"{self.folder}: the store says nothing about its {key}, so it is damaged; "
                f"{RESTORE}"
            )
        return text

    @property
    def days(self) -> tuple[str, str] | None:
        return log_days(BundleFolder(folder=self.folder).log)

    @property
    def manifest(self) -> Manifest:
        return read_manifest(self.folder)

    def names(self) -> dict[int, str]:
        return dict(self.connection.execute("SELECT number, id FROM subjects ORDER BY number"))

    def number_of(self, subject: str) -> int | None:
        """The number of the subject with an id, if there is one; its kind may be left out."""
        names = (subject, self.settings.subject_prefix + subject)
        rows = self.connection.execute("SELECT number FROM subjects WHERE id IN (?, ?)", names)
        return next((int(number) for (number,) in rows), None)

    def rows(self) -> Iterator[tuple[int, SummaryRow]]:
        """One row per subject, by number, in order."""
        find = f"SELECT number, {', '.join(COLUMNS)} FROM subjects ORDER BY number"  # noqa: S608
        for number, *values in self.connection.execute(find):
            row: dict[str, Any] = {
                name: bool(value) if kind is bool and value is not None else value
                for (name, kind), value in zip(COLUMNS.items(), values, strict=True)
            }
            yield number, SummaryRow(**row)

    def scores(self) -> dict[int, float | None]:
        """What the decision on each subject goes by: a probability, or a score."""
        find = "SELECT s.number, p.score FROM subjects s JOIN people p USING (number)"
        return dict(self.connection.execute(find))

    def first_options(self) -> Iterator[tuple[int, str, str | None, str | None, object, object]]:
        """The changes of each subject's cheapest option: what is done, to what, from, to."""
        yield from self.connection.execute(
            "SELECT subject, do, kind, attribute, before, after FROM actions WHERE option = 0 "
            "AND tie = 0 ORDER BY subject, action"
        )

    def report(self, number: int) -> SubjectReport:
        find = "SELECT document FROM subjects WHERE number = ?"
        [[document]] = self.connection.execute(find, [number])
        return SUBJECT.read(document)

    def documents(self) -> dict[int, str]:
        """The documents of all subjects as they are kept, by number."""
        find = "SELECT number, document FROM subjects ORDER BY number"
        return dict(self.connection.execute(find))

    def results(self) -> Iterator[Result]:
        find = "SELECT number, chunk, document FROM subjects ORDER BY number"
        yield from parse_results(self.connection.execute(find))

    def group_report(self) -> GroupReport:
        """The comparison of groups that was sealed with the audit."""
        if not self.settings.groups.attributes:
            raise InputError(
                f"{self.folder}: groups.attributes: names no protected attribute, so there are no "
                "groups; fix the settings and run the audit again"
            )
        path = self.folder / GROUP_REPORT
        content = read_plain(path)
        if content is None:
            raise InputError(f"{path}: is missing; {RESTORE}")
        try:
            return self.with_days(GROUPS.read(content))
        except DocumentError as error:
            raise InputError(f"{path}: {error}") from None

    def with_days(self, report: GroupReport) -> GroupReport:
        """The report with the days of the audit, which are in no sealed file."""
        days = self.days
        return report if days is None else replace(report, ran=Days(first=days[0], last=days[1]))

    def groups_of(self, number: int) -> dict[str, str]:
        """One person's values of protected attributes."""
        values = read_groups(self.connection, number)
        return {name: values[name] for name in self.settings.groups.attributes}

    def groups_of_subjects(self) -> dict[int, dict[str, str]]:
        """The values of protected attributes of all subjects, by number."""
        groups: dict[int, dict[str, str]] = {}
        for number, attribute, value in self.connection.execute(
            "SELECT person, attribute, value FROM members JOIN subjects ON person = number"
        ):
            if attribute in self.settings.groups.attributes:
                groups.setdefault(number, {})[attribute] = value
        return groups


@contextmanager
def open_stored_audit(folder: Path) -> Iterator[StoredAudit]:
    """Open a bundle, finished or not, for reading.

    For an audit that is not finished, a store is made of what is there, in memory as long as it
    fits; it is gone afterwards. Nothing in the bundle is changed.
    """
    bundle = BundleFolder(folder=folder)
    if not is_folder(folder):
        raise InputError(f"{folder}: there is no such folder; name a bundle that `run` has written")
    refuse_irregular(folder, within=READ)
    if bundle.checkpoint.is_file():
        # An empty name is a temporary database, which SQLite moves to disk if it grows large.
        with closing(sqlite3.connect("", isolation_level=None)) as store:
            settings, done, total = _fill_from_checkpoint(store, bundle)
            yield StoredAudit(folder, store, settings, finished=False, done=done, total=total)
        return
    if not bundle.store.is_file():
        raise InputError(f"{folder}: holds no audit; `recourse-audit run` writes one")
    with open_store(bundle.store) as store:
        settings = load_bundle_settings(folder)
        check_attributes(store, settings.groups.columns)
        [[count]] = store.execute("SELECT count(*) FROM subjects")
        yield StoredAudit(folder, store, settings, finished=True, done=count, total=count)


@contextmanager
def open_finished_audit(folder: Path) -> Iterator[StoredAudit]:
    """Open a finished bundle for reading; any other, or one that was changed, is refused."""
    with open_stored_audit(folder) as stored:
        if not stored.finished:
            raise InputError(
                f"{folder}: this audit is not finished ({stored.done:,} of {stored.total:,} "
                "subjects); rerun the same `run` command to resume"
            )
        _check_sealed(folder)
        yield stored


@contextmanager
def hold_finished_audit(folder: Path) -> Iterator[StoredAudit]:
    """Open a finished bundle to add to it: no other command can write into it meanwhile."""
    if not is_marked(folder, BUNDLE):
        with open_finished_audit(folder):
            raise InputError(
                f"{folder / MARKER}: is missing or was changed, and every bundle begins with it; "
                f"{RESTORE}"
            )
    refuse_irregular(folder)
    with hold_lock(folder), open_finished_audit(folder) as stored:
        yield stored


def _check_sealed(folder: Path) -> None:
    """Refuse a bundle if a file that pages rest on is not what was sealed."""
    if not (folder / CHECKSUMS).is_file():
        raise InputError(f"{folder}: was not sealed; rerun the same `run` command to finish it")
    files = read_manifest(folder).files
    for name in (SETTINGS, STORE, GROUP_REPORT):
        path = folder / name
        if name in files and (not path.is_file() or digest(path) != files[name]):
            raise InputError(f"{path}: is missing or was changed since the audit; {RESTORE}")


def _fill_from_checkpoint(
    store: sqlite3.Connection, bundle: BundleFolder
) -> tuple[Settings, int, int]:
    """Copy what is finished into a store; the settings, how many are done, how many there are."""
    try:
        with Checkpoint.open(bundle.checkpoint) as checkpoint:
            settings = load_bundle_settings(bundle.folder)
            checkpoint.check()
            check_attributes(checkpoint.connection, settings.groups.columns)
            deque(fill_store(store, checkpoint), maxlen=0)
            return settings, *checkpoint.progress()
    except (*DAMAGE, DocumentError) as error:
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            raise InputError(
                f"{bundle.folder}: a run is writing into it; wait for it to end, or interrupt it "
                "and rerun the same command later"
            ) from None
        raise InputError(
            f"{bundle.folder}: the checkpoint of finished work cannot be read ({error}); rerun the "
            "same `run` command to resume, or start over with --fresh"
        ) from None


def write_tables(checkpoint: Checkpoint, settings: Settings, files: dict[str, Path]) -> None:
    """Write `subjects.jsonl`, `subjects.csv`, `subjects.parquet` and the store.

    Every document is read once, however many files are written from it. `files` has the path of
    each file by the ending of its name.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    files["sqlite"].unlink(missing_ok=True)
    schema = arrow_schema(settings)
    with (
        files["jsonl"].open("w", encoding="utf-8", newline="\n") as lines,
        files["csv"].open("w", encoding="utf-8", newline="") as csv,
        closing(pq.ParquetWriter(files["parquet"], schema)) as parquet,
        closing(sqlite3.connect(files["sqlite"], isolation_level=None)) as store,
    ):

        def write_texts() -> Iterator[dict[str, Value]]:
            csv.writelines(csv_lines([table_columns(settings)]))
            for result in fill_store(store, checkpoint):
                groups = read_groups(checkpoint.connection, result.subject)
                row = table_row(result, groups, settings)
                lines.write(f"{result.document}\n")
                csv.writelines(csv_lines([row.values()]))  # guarded against formulas
                yield row

        rows = write_texts()
        while several := list(islice(rows, ROWS_TOGETHER)):
            parquet.write_table(pa.Table.from_pylist(several, schema=schema))


def table_columns(settings: Settings) -> dict[str, ColumnType]:
    """The summary, then a probability for each class, then the groups."""
    classes: dict[str, ColumnType] = {
        f"probability_{name}": float for name in settings.decision.classes
    }
    return COLUMNS | classes | {f"group_{name}": str for name in settings.groups.attributes}


def table_row(result: Result, groups: dict[str, str], settings: Settings) -> dict[str, Value]:
    """One subject's row, by column."""
    chances = result.report.subject.probabilities
    values = (
        *astuple(summary_of(result.report)),
        *(chances.get(name) for name in settings.decision.classes),
        *(groups[name] for name in settings.groups.attributes),
    )
    return dict(zip(table_columns(settings), values, strict=True))


def arrow_schema(settings: Settings) -> "pa.Schema":
    """The columns with their Arrow types."""
    import pyarrow as pa

    types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    return pa.schema([(name, types[kind]) for name, kind in table_columns(settings).items()])


def arrow_table(stored: StoredAudit) -> "pa.Table":
    """All subjects of a stored audit as one table."""
    import pyarrow as pa

    rows = [
        table_row(result, stored.groups_of(result.subject), stored.settings)
        for result in stored.results()
    ]
    return pa.Table.from_pylist(rows, schema=arrow_schema(stored.settings))
