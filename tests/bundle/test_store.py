"""What a finished audit keeps: a store and tables that say the same as `explain --json`."""

import csv
import gc
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow.parquet as pq
import pytest

from recourse_audit.audit.large_graphs import whole_answers
from recourse_audit.audit.load import LoadedAudit, load_audit
from recourse_audit.audit.own_data import alone_answers
from recourse_audit.audit.population import communities_of, members_of, people_of, ties_of
from recourse_audit.audit.report import reports_on
from recourse_audit.bundle.reader import write_tables
from recourse_audit.bundle.store import VERSION, CheckpointWriter, copy_table, open_store
from recourse_audit.errors import InputError
from recourse_audit.records.bundle import COLUMNS
from recourse_audit.records.codec import SUBJECT
from recourse_audit.records.recourse import STATUSES
from recourse_audit.settings import Settings
from tests.audits import IDS, quick_audit, small_audit
from tests.command import command

ROOT = Path(__file__).parents[2]


def found(folder: Path, audit: LoadedAudit, most: int | None = None) -> CheckpointWriter:
    """All subjects of a small audit, or the first of a large one, as a real checkpoint has them."""
    graph, settings = audit.graph, audit.settings
    subjects = list(range(graph.node_count))[:most]
    answers = whole_answers(audit, np.arange(graph.node_count))
    _, communities = communities_of(graph, settings.groups, 0)
    work = CheckpointWriter(folder / "work.sqlite")
    work.begin(
        {"b": "2", "a": "1"},
        people_of(
            graph,
            audit.rule.over(answers),
            audit.recorded,
            communities,
            alone_answers(audit, audit.rule.over(answers)),
            audit.outcomes,
        ),
        members_of(graph, settings.groups),
        ties_of(graph, settings.groups),
        subjects,
    )
    for number, report in reports_on(audit, subjects):
        work.add(number, {number: SUBJECT.write(report)})
    return work


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> LoadedAudit:
    return load_audit(small_audit(tmp_path_factory.mktemp("audit"), "some_nan"))


@pytest.fixture(scope="module")
def findings(audit: LoadedAudit, tmp_path_factory: pytest.TempPathFactory) -> CheckpointWriter:
    return found(tmp_path_factory.mktemp("work"), audit)


def written(folder: Path, findings: CheckpointWriter, settings: Settings) -> dict[str, Path]:
    """The four files, by their endings."""
    files = {ending: folder / f"new.{ending}" for ending in ("jsonl", "csv", "parquet", "sqlite")}
    write_tables(findings, settings, files)
    return files


def rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as store:
        return store.execute(query).fetchall()


def test_the_same_findings_give_the_same_bytes(
    audit: LoadedAudit, findings: CheckpointWriter, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    first = written(tmp_path / "one", findings, audit.settings)
    second = written(tmp_path / "two", findings, audit.settings)
    for ending, path in first.items():
        assert path.read_bytes() == second[ending].read_bytes(), ending


def test_a_document_is_parsed_once_however_many_files_are_written(
    audit: LoadedAudit, findings: CheckpointWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, parsed = SUBJECT.read, []

    def counted(text: str | bytes) -> Any:
        parsed.append(text)
        return read(text)

    monkeypatch.setattr(SUBJECT, "read", counted)
    written(tmp_path, findings, audit.settings)
    assert len(parsed) == len(set(parsed)) == len(IDS)


def test_lines_are_the_documents_of_explain(tmp_path: Path) -> None:
    settings = small_audit(tmp_path)
    audit = load_audit(settings)
    files = written(tmp_path, found(tmp_path, audit), audit.settings)
    lines = files["jsonl"].read_text(encoding="utf-8").splitlines()
    shown = command("explain", settings, *IDS, "--json").document
    assert [json.loads(line) for line in lines] == shown


def test_csv_and_parquet_have_the_same_rows(
    audit: LoadedAudit, findings: CheckpointWriter, tmp_path: Path
) -> None:
    files = written(tmp_path, findings, audit.settings)
    table = pq.read_table(files["parquet"])
    with files["csv"].open(encoding="utf-8", newline="") as file:
        texts_by_row = list(csv.DictReader(file))
    assert [row["id"] for row in texts_by_row] == IDS
    for one, other in zip(texts_by_row, table.to_pylist(), strict=True):
        texts = {
            name: "" if value is None else str(value).lower() if value in (True, False) else value
            for name, value in other.items()
        }
        for name, text in one.items():
            assert text == str(texts[name]) or float(text) == float(texts[name]), name


def test_the_store_holds_everybody_and_every_subject(
    audit: LoadedAudit, findings: CheckpointWriter, tmp_path: Path
) -> None:
    path = written(tmp_path, findings, audit.settings)["sqlite"]
    count = len(IDS)
    assert rows(path, "SELECT key, value FROM meta") == [("a", "1"), ("b", "2")]
    assert rows(path, "SELECT count(*) FROM people") == [(count,)]
    assert rows(path, "SELECT value, count(*) FROM members GROUP BY value") == [("f", 5), ("m", 5)]
    statuses = dict(rows(path, "SELECT status, count(*) FROM subjects GROUP BY status"))
    assert set(statuses) <= set(STATUSES)
    assert statuses["error"]
    broken = rows(path, "SELECT number FROM people WHERE favourable IS NULL")
    assert broken == rows(path, "SELECT number FROM subjects WHERE decision = ''")
    kept = rows(path, "SELECT number, chunk, document FROM subjects ORDER BY number")
    assert kept == [(one.subject, one.chunk, one.document) for one in findings.results()]


def test_actions_and_ties_that_could_be_dropped_name_their_ends(tmp_path: Path) -> None:
    audit = load_audit(quick_audit(tmp_path))
    path = written(tmp_path, found(tmp_path, audit, most=100), audit.settings)["sqlite"]
    actions = rows(path, "SELECT subject, source, target FROM actions WHERE do = 'drop'")
    assert actions
    droppable = rows(path, "SELECT subject, source, target FROM droppable")
    assert set(actions) <= set(droppable)
    assert all(subject in ends for subject, *ends in droppable)


def test_a_store_of_another_version_is_refused_in_one_sentence(
    audit: LoadedAudit, findings: CheckpointWriter, tmp_path: Path
) -> None:
    path = written(tmp_path, findings, audit.settings)["sqlite"]
    with closing(sqlite3.connect(path)) as store:
        store.execute(f"PRAGMA user_version = {VERSION + 1}")
    words = rf"is a store of version {VERSION + 1}, .* reads version {VERSION}; use"
    with pytest.raises(InputError, match=words), open_store(path):
        pass


@pytest.mark.parametrize(
    ("content", "words"), [(None, "there is no such store"), (b"x" * 5000, "is not a store")]
)
def test_what_is_no_store_is_refused(content: bytes | None, words: str, tmp_path: Path) -> None:
    path = tmp_path / "store"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=words), open_store(path):
        pass


def test_every_field_is_in_the_documentation() -> None:
    page = (ROOT / "docs" / "reference" / "bundle.md").read_text(encoding="utf-8")
    for name in (*COLUMNS, *STATUSES):
        assert f"`{name}`" in page, name


def test_reading_that_is_given_up_says_nothing_when_the_checkpoint_closes(
    audit: LoadedAudit, tmp_path: Path
) -> None:
    """As on a full disk: rows are left over when the database is closed, and then forgotten."""
    work = found(tmp_path, audit, most=2)
    loud: list[object] = []
    with patch("sys.unraisablehook", loud.append), closing(sqlite3.connect(":memory:")) as full:
        full.execute("CREATE TABLE people (number INTEGER)")  # takes no row of a person
        with pytest.raises(sqlite3.Error):
            copy_table(work.connection, full, "people")
        results = work.results()
        next(results)
        work.close()
        del results
        gc.collect()
    assert not loud
