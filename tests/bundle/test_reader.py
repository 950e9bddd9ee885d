"""A bundle is read through its store, which is the same while the audit is not finished."""

import json
import shutil
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recourse_audit.bundle.reader import open_stored_audit
from recourse_audit.bundle.store import VERSION, CheckpointWriter
from recourse_audit.errors import InputError
from recourse_audit.execute import pipeline
from tests.audits import small_audit
from tests.bundles import contents, ended, request, run_here, started, stop_after
from tests.command import command, one_line

SAMPLE = 48
TABLES = (
    "meta",
    "people",
    "members",
    "ties",
    "subjects",
    "probabilities",
    "actions",
    "droppable",
    "common_actions",
    "common_outcomes",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An audit whose finished bundle is in `bundle`, and one that was killed in `killed`."""
    place = tmp_path_factory.mktemp("audit")
    run_here(request(place, place / "bundle", sample=SAMPLE))
    out = place / "killed"
    process = started(
        *(
            "run",
            "--no-pages",
            place / "audit.toml",
            "--out",
            out,
            "--sample",
            str(SAMPLE),
            "--workers",
            "1",
        )
    )
    stop_after(process, out, 1, signal.SIGKILL)
    ended(process)
    return place


def tables(store: sqlite3.Connection) -> dict[str, list[tuple[Any, ...]]]:
    return {name: store.execute(f"SELECT * FROM {name}").fetchall() for name in TABLES}


def test_a_finished_bundle_is_read_as_it_is(folder: Path) -> None:
    with open_stored_audit(folder / "bundle") as stored:
        assert (stored.finished, stored.done, stored.total) == (True, SAMPLE, SAMPLE)
        assert len(stored.names()) == len(list(stored.rows())) == SAMPLE


def test_a_killed_audit_has_the_same_tables_of_what_is_done(folder: Path) -> None:
    before = contents(folder / "killed")
    with open_stored_audit(folder / "bundle") as opened:
        whole = tables(opened.connection)
    with open_stored_audit(folder / "killed") as stored:
        finished, done, total = stored.finished, stored.done, stored.total
        part = tables(stored.connection)
        schema = stored.connection.execute("SELECT sql FROM sqlite_schema ORDER BY name").fetchall()
        assert stored.connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
    assert not finished
    assert 0 < done < total == SAMPLE
    assert len(part["subjects"]) == done
    for name in ("meta", "people", "members", "ties", "common_actions"):
        assert part[name] == whole[name]
    numbers = {row[0] for row in part["subjects"]}
    for name in ("subjects", "probabilities", "actions", "droppable", "common_outcomes"):
        assert part[name] == [row for row in whole[name] if row[0] in numbers]
    with open_stored_audit(folder / "bundle") as opened:
        same = opened.connection.execute("SELECT sql FROM sqlite_schema ORDER BY name").fetchall()
    assert schema == same
    after = contents(folder / "killed")
    assert after == before, "reading changes nothing, and leaves nothing behind"


def test_the_settings_are_there_from_the_start(folder: Path) -> None:
    texts = [(folder / name / "settings.json").read_bytes() for name in ("bundle", "killed")]
    assert texts[0] == texts[1]
    assert json.loads(texts[0])["groups"]["smallest"] == 11


def test_once_read_it_goes_on_to_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "bundle"
    shutil.copytree(folder / "killed", out)
    with open_stored_audit(out):
        pass
    run_here(request(folder, out, sample=SAMPLE))
    assert contents(out) == contents(folder / "bundle")


def test_all_done_but_the_files_is_not_finished(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "bundle"
    monkeypatch.setattr(pipeline, "_seal", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run_here(request(folder, out, sample=4))
    with open_stored_audit(out) as stored:
        assert (stored.finished, stored.done, stored.total) == (False, 4, 4)


def test_people_and_groups_are_those_of_the_graph(folder: Path) -> None:
    with open_stored_audit(folder / "bundle") as opened:
        store = opened.connection
        meta = dict(store.execute("SELECT key, value FROM meta"))
        people = store.execute("SELECT number, id FROM people ORDER BY number").fetchall()
        [[communities]] = store.execute("SELECT count(community) FROM people")
        ties = [pairs for (pairs,) in store.execute("SELECT pairs FROM ties ORDER BY block")]
        groups = dict(
            store.execute(
                "SELECT value, count(*) FROM members WHERE attribute = 'origin' GROUP BY value"
            )
        )
    assert json.loads(meta["communities"]) == {"column": None, "count": 0, "seed": 0}
    assert communities == 0
    lines = (folder / "nodes.csv").read_text(encoding="utf-8").splitlines()
    column = lines[0].split(",").index("origin")
    assert people == [(number, line.split(",")[0]) for number, line in enumerate(lines[1:])]
    number_of = {name: number for number, name in people}
    edges = (folder / "edges.csv").read_text(encoding="utf-8").splitlines()[1:]
    ends = [sorted(number_of[name] for name in line.split(",")[:2]) for line in edges]
    kept = np.frombuffer(b"".join(ties), "<i4").reshape(-1, 2).tolist()
    assert sorted(kept) == sorted({tuple(pair): pair for pair in ends}.values())
    values = [line.split(",")[column] for line in lines[1:]]
    assert groups == {value: values.count(value) for value in set(values)}


def test_bins_are_groups_in_every_file(tmp_path: Path) -> None:
    settings = small_audit(
        tmp_path,
        old='attributes = ["gender"]',
        new='attributes = ["f0"]\nbins = { f0 = [0.0] }\ncommunities = "gender"',
    )
    code, said = ended(
        started(
            "run",
            "--no-pages",
            settings,
            "--out",
            tmp_path / "out",
            "--subjects",
            "all",
            "--workers",
            "1",
        )
    )
    assert code == 0, said
    with open_stored_audit(tmp_path / "out") as opened:
        stored = opened.connection.execute("SELECT value FROM members ORDER BY person").fetchall()
        meta = dict(opened.connection.execute("SELECT key, value FROM meta"))
    assert {value for (value,) in stored} == {"under 0", "0 and over"}
    assert json.loads(meta["communities"])["count"] == 2
    table = (tmp_path / "out" / "data" / "subjects.csv").read_text(encoding="utf-8")
    assert sum(map(table.count, ("under 0", "0 and over"))) == len(stored)


def begun(out: Path) -> CheckpointWriter:
    (out / "work").mkdir(parents=True)
    return CheckpointWriter(out / "work" / "work.sqlite")


def spoilt(out: Path) -> None:
    (out / "work").mkdir(parents=True)
    (out / "work" / "work.sqlite").write_bytes(b"x" * 5000)


def other_version(out: Path) -> None:
    begun(out).close()
    with closing(sqlite3.connect(out / "work" / "work.sqlite")) as store:
        store.execute("PRAGMA user_version = 1")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda _: None, "there is no such folder; name a bundle"),
        (lambda out: out.mkdir(), "holds no audit; `recourse-audit run` writes one"),
        (lambda out: begun(out).close(), "has only just begun"),
        (spoilt, "the checkpoint of finished work cannot be read"),
        (other_version, "was begun by a program that writes version 1, and this"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(make: Any, words: str, tmp_path: Path) -> None:
    out = tmp_path / "bundle"
    make(out)
    with pytest.raises(InputError, match=words), open_stored_audit(out):
        pass


def test_a_run_that_is_writing_is_not_disturbed(tmp_path: Path) -> None:
    work = begun(tmp_path / "bundle")
    with (
        pytest.raises(InputError, match="a run is writing into it"),
        open_stored_audit(tmp_path / "bundle"),
    ):
        pass
    work.close()


@pytest.mark.parametrize("table", ["meta", "members", "people", "subjects", "ties"])
def test_a_store_without_one_of_its_tables_is_one_sentence(
    table: str, folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "bundle"
    shutil.copytree(folder / "bundle", out)
    with closing(sqlite3.connect(out / "store.sqlite")) as store:
        store.execute(f"DROP TABLE {table}")
    finished = command("groups", out)
    assert finished.code == 2
    assert f"store.sqlite: is damaged (no such table: {table})" in one_line(finished)


def test_a_store_without_a_fact_about_the_audit_is_one_sentence(
    folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "bundle"
    shutil.copytree(folder / "bundle", out)
    with closing(sqlite3.connect(out / "store.sqlite")) as store:
        store.execute("DELETE FROM meta WHERE key = 'communities'")
        store.commit()
    words = "the store says nothing about its communities, so it is damaged"
    with open_stored_audit(out) as stored, pytest.raises(InputError, match=words):
        _ = stored.communities


def test_a_store_with_damaged_pages_is_one_sentence(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "bundle"
    shutil.copytree(folder / "bundle", out)
    content = bytearray((out / "store.sqlite").read_bytes())
    for page in range(4096 * 8, len(content), 4096):
        content[page : page + 512] = b"\xff" * 512
    (out / "store.sqlite").write_bytes(content)
    finished = command("groups", out)
    assert finished.code == 2
    assert "store.sqlite: is damaged (" in one_line(finished)
