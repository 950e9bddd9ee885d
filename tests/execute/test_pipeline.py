"""The audit of everyone: whoever works, and whatever is killed, the bundle has the same bytes."""

import json
import os
import signal
import sqlite3
import time
from collections.abc import Callable, Generator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, get_args

import numpy as np
import psutil
import pytest

from recourse_audit.audit.load import Selection
from recourse_audit.bundle.layout import BundleFolder
from recourse_audit.bundle.store import CheckpointWriter
from recourse_audit.errors import InputError
from recourse_audit.execute import pipeline, worker
from recourse_audit.execute.process_pool import Failed, Say
from recourse_audit.execute.worker import (
    NO_MEMORY,
    Answers,
    AuditJob,
    ChunkQueue,
    FinishedChunk,
    Part,
    Worker,
)
from recourse_audit.records.recourse import RecourseStatus
from recourse_audit.render.i18n import status_name
from tests.audits import quick_audit, small_audit
from tests.bundles import (
    Remembered,
    contents,
    ended,
    processes,
    request,
    request_for,
    run_here,
    started,
    stop_after,
    words_for,
)
from tests.command import command, one_line

SAMPLE = 64
TRIES = 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An audit whose bundle, never interrupted, is in `bundle`."""
    place = tmp_path_factory.mktemp("audit")
    run_here(request(place, place / "bundle", sample=SAMPLE))
    return place


@pytest.fixture(scope="module")
def expected(folder: Path) -> dict[str, bytes]:
    return contents(folder / "bundle")


def documents(out: Path) -> dict[str, dict[str, Any]]:
    lines = (out / "data" / "subjects.jsonl").read_text(encoding="utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    return {document["subject"]["id"]: document for document in found}


def test_a_bundle_has_its_files_and_nothing_else(expected: dict[str, bytes]) -> None:
    assert set(expected) >= {
        "data/subjects.csv",
        "data/subjects.jsonl",
        "data/subjects.parquet",
        "groups.json",
        "settings.json",
        "store.sqlite",
    }
    assert not any(name.startswith("work") for name in expected)
    assert json.loads(expected["settings.json"])["graph"]["nodes"] == "nodes.csv"


def test_two_workers_give_the_bytes_of_one_and_explain_says_the_same(
    folder: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    out = tmp_path / "bundle"
    finished = command(*words_for(folder, out, SAMPLE), "--workers", "2")
    assert finished.code == 0, finished.err
    assert f"{SAMPLE} subjects to audit" in finished.err
    assert contents(out) == expected
    some = sorted(documents(out))[:2]
    shown = command("explain", folder / "audit.toml", *some, "--json").document
    assert shown == [documents(out)[name] for name in some]
    assert any(document["comparators"].get("people") for document in documents(out).values())


@pytest.mark.parametrize("moments", [(2,), pytest.param((0, 2), marks=pytest.mark.long)])
def test_killed_at_many_moments_the_same_command_ends_with_the_same_bytes(
    moments: tuple[int, ...], folder: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    """Each when so many chunks are done; 0 is after some time, whatever is done."""
    out, chance = tmp_path / "bundle", Random(7)
    words = (*words_for(folder, out, SAMPLE), "--workers", "2")
    for chunks_first in moments:
        process = started(*words)
        if chunks_first == 0:
            time.sleep(chance.uniform(0.1, 2.0))
            process.kill()
        else:
            stop_after(process, out, chunks_first, signal.SIGKILL)
        ended(process)
    code, said = ended(started(*words))
    assert code == 0, said
    assert contents(out) == expected


@pytest.mark.parametrize(
    "moment", ["store.sqlite", "settings.json", "data/subjects.csv", "groups.json"]
)
def test_stopped_while_files_are_written_it_writes_them_again(
    moment: str,
    folder: Path,
    expected: dict[str, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "bundle"
    asked = request(folder, out, sample=SAMPLE)
    put, copy = BundleFolder.put, copied_work(folder)
    copied: list[bool] = []

    def stop(bundle: BundleFolder, name: str, source: Path) -> None:
        put(bundle, name, source)
        if copied and name == moment:
            raise ZeroDivisionError

    def work_and_note(*given: Any) -> None:
        copy(*given)
        copied.append(True)

    with monkeypatch.context() as patch:
        patch.setattr(BundleFolder, "put", stop)
        patch.setattr(pipeline, "_work", work_and_note)
        with pytest.raises(ZeroDivisionError):
            run_here(asked)
    watcher = Remembered()
    run_here(asked, watcher)
    assert (watcher.before, watcher.done) == (SAMPLE, 0)
    assert watcher.stages[-1] in ("Writing the tables", "Comparing groups")
    assert contents(out) == expected


def copied_work(folder: Path) -> Callable[..., None]:
    """Chunks as they were found before, so that nothing is worked out again."""

    def copy(_bundle: object, _plan: object, record: CheckpointWriter, *_: object) -> None:
        with closing(sqlite3.connect(folder / "bundle" / "store.sqlite")) as store:
            rows = store.execute("SELECT chunk, number, document FROM subjects").fetchall()
        for chunk in sorted({chunk for chunk, _, _ in rows}):
            record.add(chunk, {number: text for own, number, text in rows if own == chunk})

    return copy


def test_a_worker_that_is_killed_costs_nobody_anything(
    folder: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    class Killer(Remembered):
        def advance(self, subjects: int, queries: int) -> None:
            super().advance(subjects, queries)
            if self.done == subjects:
                for process in psutil.Process().children():
                    with suppress(psutil.NoSuchProcess):  # a child of another test may have ended
                        if "--multiprocessing-fork" in process.cmdline():
                            process.kill()

    killer = Killer()
    run_here(request(folder, tmp_path / "bundle", sample=SAMPLE), killer, processes(1))
    assert contents(tmp_path / "bundle") == expected


class BadJob(AuditJob):
    """A job of which one subject kills the worker, one keeps it for ever, one leaves no memory."""

    def open(self) -> Callable[[Part], Answers | Failed]:
        opened = Worker(self)
        crash, hang, hungry = json.loads((self.folder.parents[1] / "bad.json").read_text())

        def work_on(part: Part) -> Answers | Failed:
            if crash in part.subjects:
                os.kill(os.getpid(), signal.SIGSEGV)
            if hang in part.subjects:
                time.sleep(3600)
            if hungry in part.subjects:
                return Failed(reason=NO_MEMORY)
            return opened.work(part)

        return work_on


class BadProcesses:
    """Two processes that work on a bad job."""

    def run(
        self, job: AuditJob, queue: ChunkQueue, say: Say
    ) -> Generator[FinishedChunk, None, None]:
        bad = BadJob(**{name: getattr(job, name) for name in job.__dataclass_fields__})
        yield from processes(2, timeout=3.0).run(bad, queue, say)


def test_only_the_subjects_who_make_a_worker_fail_get_an_error(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "SUBJECTS_IN_CHUNK", 2)
    monkeypatch.setattr(worker, "FEWEST_CHUNKS", 1)
    names = sorted(documents(folder / "bundle"))[:6]
    ids = tmp_path / "ids.txt"
    ids.write_text("\n".join(names), encoding="utf-8")
    settings = folder / "audit.toml"
    asked = request_for(settings, tmp_path / "bundle", Selection(subjects=str(ids)))
    plan = pipeline._make_plan(asked)
    bad = [part.subjects[0] for part in worker.chunks_of(plan.audit, plan.subjects)]
    assert len(bad) == 3
    (tmp_path / "bad.json").write_text(json.dumps(bad), encoding="utf-8")
    watcher = Remembered()
    summary = run_here(asked, watcher, BadProcesses())
    assert summary.statuses["error"] == 3
    found = documents(tmp_path / "bundle")
    reasons = [found[str(plan.audit.graph.ids[number])]["error"] for number in bad]
    assert reasons == [
        "the worker process ended (SIGSEGV)",
        "it took longer than 3 seconds (--timeout)",
        NO_MEMORY,
    ]
    whole = documents(folder / "bundle")
    good = [name for name in names if not found[name]["error"]]
    assert len(good) == 3
    assert all(found[name] == whole[name] for name in good)
    for name in set(names) - set(good):
        assert found[name]["subject"] == whole[name]["subject"]
        assert found[name]["recourse"]["status"] == "error"
    assert any("will be tried again" in text for text in watcher.said)
    again = command("run", "--no-pages", settings, "--out", asked.out, "--subjects", ids)
    assert again.code == 4, "the bundle is finished, with errors"


def test_ctrl_c_ends_with_130_keeps_what_is_done_and_leaves_no_worker(
    folder: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    out = tmp_path / "bundle"
    asked = request(folder, out, sample=SAMPLE)
    words = (
        *words_for(folder, out, SAMPLE),
        "--workers",
        "1",
        "--fresh",
    )
    for _ in range(TRIES):  # on a busy machine the signal may come after the end
        process = started(*words)
        stop_after(process, out, 1, signal.SIGINT)
        code, said = ended(process)
        if code != 0:
            break
    assert code == 130, said
    assert said.splitlines()[-1] == (
        f"interrupted; rerun the same command to resume from what is in {out}"
    )
    left = [p for p in psutil.process_iter() if _session(p) == process.pid]
    psutil.wait_procs(left, timeout=10)
    assert not [p for p in left if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]
    watcher = Remembered()
    run_here(asked, watcher)
    assert watcher.before > 0
    assert contents(out) == expected


def _session(process: psutil.Process) -> int | None:
    try:
        return os.getsid(process.pid)
    except OSError:
        return None


def test_a_small_audit_is_cut_fine_and_a_large_one_is_not(folder: Path, tmp_path: Path) -> None:
    plan = pipeline._make_plan(request(folder, tmp_path / "bundle", sample=SAMPLE))
    small = [len(one.subjects) for one in worker.chunks_of(plan.audit, plan.subjects)]
    assert sum(small) == SAMPLE
    assert max(small) == SAMPLE // worker.FEWEST_CHUNKS
    everybody = np.arange(plan.audit.graph.node_count)
    large = [len(one.subjects) for one in worker.chunks_of(plan.audit, everybody)]
    assert max(large) == worker.SUBJECTS_IN_CHUNK


def test_work_that_was_cut_into_other_pieces_is_not_continued(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = request(folder, tmp_path / "bundle", sample=SAMPLE)
    bundle = BundleFolder(folder=asked.out)
    with bundle.hold():
        bundle.begin()
    plan = pipeline._make_plan(asked)
    record = CheckpointWriter(bundle.checkpoint)
    pipeline._begin_or_resume(bundle, plan, record)
    first = next(iter(worker.chunks_of(plan.audit, plan.subjects)))
    record.add(first.chunk, dict.fromkeys(first.subjects, "{}"))
    record.close()
    monkeypatch.setattr(worker, "FEWEST_CHUNKS", 1)
    with pytest.raises(InputError, match="cuts the work into other chunks"):
        run_here(asked, Remembered())


def test_a_finished_bundle_is_left_as_it_is(folder: Path) -> None:
    out = folder / "bundle"
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    finished = command(
        "run", "--no-pages", folder / "audit.toml", "--out", out, "--sample", str(SAMPLE)
    )
    assert finished.code == 0
    first, *counted = finished.err.splitlines()
    assert first.startswith(f"{out}: was finished before, nothing was changed: 64 subjects")
    words = {status_name(status) for status in get_args(RecourseStatus)}
    counts = [line.strip().split("  ", maxsplit=1) for line in counted]
    assert {name for _, name in counts} <= words
    assert sum(int(count) for count, _ in counts) == SAMPLE, "one line per status, in words"
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before


@pytest.mark.parametrize("finished", [True, False])
def test_what_changed_since_is_named_and_refused(
    finished: bool, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, out = quick_audit(tmp_path), tmp_path / "bundle"
    monkeypatch.setattr(pipeline, "_work", copied_work(folder))
    if not finished:
        monkeypatch.setattr(pipeline, "_seal", lambda *_: 1 / 0)
    command("run", "--no-pages", settings, "--out", out, "--sample", str(SAMPLE))
    before = contents(out)

    def refused(*words: str) -> str:
        tried = command(
            "run", "--no-pages", settings, "--out", out, *(words or ("--sample", str(SAMPLE)))
        )
        assert tried.code == 2
        start, end = f"error: {out}: holds a different audit: ", " changed since; choose"
        line = one_line(tried)
        assert line.startswith(start)
        return line.removeprefix(start).split(end)[0]

    assert refused("--sample", "63") == "the subjects"
    assert refused("--sample", str(SAMPLE), "--seed", "1") == "the seed and the subjects"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(text.replace("budget = 200000", "budget = 100000"), encoding="utf-8")
    assert refused() == "the settings"
    settings.write_text(text, encoding="utf-8")
    with (tmp_path / "edges.csv").open("a", encoding="utf-8") as file:
        file.write("\n")
    assert refused() == "the graph"
    monkeypatch.setattr("recourse_audit.execute.pipeline.versions", dict)
    assert refused() == "the versions of the program or its packages and the graph"
    assert contents(out) == before


def test_fresh_starts_over_in_a_bundle_only(folder: Path, tmp_path: Path) -> None:
    asked = request(folder, tmp_path / "bundle", sample=4)
    run_here(asked)
    first = contents(asked.out)
    (asked.out / "settings.json").write_text("spoilt", encoding="utf-8")
    run_here(replace(asked, fresh=True))
    assert contents(asked.out) == first
    (tmp_path / "mine").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match=r"is not empty and has no \.recourse-audit file"):
        run_here(replace(asked, out=tmp_path, fresh=True))
    assert (tmp_path / "mine").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("name", "words"),
    [("file", "is a file; choose another"), ("file/below", "cannot be written (Not a directory)")],
)
def test_a_place_that_cannot_be_a_bundle_is_refused(
    name: str, words: str, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    finished = command("run", "--no-pages", folder / "audit.toml", "--out", tmp_path / name)
    assert finished.code == 2
    assert words in one_line(finished)


def test_two_runs_never_write_into_one_bundle(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "bundle"
    with BundleFolder(folder=out).hold():
        for words in ([], ["--fresh"]):
            finished = command("run", "--no-pages", folder / "audit.toml", "--out", out, *words)
            assert finished.code == 2
            assert "another command is writing into it" in one_line(finished)
    assert [path.name for path in out.iterdir()] == [".recourse-audit"]


def test_a_full_disk_is_one_sentence_and_loses_nothing(
    folder: Path, expected: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "bundle"
    asked = request(folder, out, sample=SAMPLE)
    add, calls = CheckpointWriter.add, []

    def full(record: CheckpointWriter, chunk: int, found: dict[int, str]) -> None:
        calls.append(chunk)
        if len(calls) == 2:
            raise sqlite3.OperationalError("database or disk is full")
        add(record, chunk, found)

    with monkeypatch.context() as patch:
        patch.setattr(CheckpointWriter, "add", full)
        with pytest.raises(InputError, match=r"disk is full\); fix this and rerun"):
            run_here(asked)
    watcher = Remembered()
    run_here(asked, watcher)
    assert watcher.before > 0
    assert contents(out) == expected


def test_a_checkpoint_of_another_version_is_refused(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "bundle" / "work" / "work.sqlite"
    with BundleFolder(folder=tmp_path / "bundle").hold():
        path.parent.mkdir()
    with closing(sqlite3.connect(path)) as store:
        store.execute("PRAGMA user_version = 99")
    finished = command("run", "--no-pages", folder / "audit.toml", "--out", tmp_path / "bundle")
    assert finished.code == 2
    assert "was begun by a program that writes version 99" in one_line(finished)


def unfinished(folder: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> BundleFolder:
    """An audit of which all chunks are finished, and no file is written."""
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "_work", copied_work(folder))
        patch.setattr(pipeline, "_seal", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run_here(request(folder, out, sample=SAMPLE))
    return BundleFolder(folder=out)


def test_a_checkpoint_that_was_changed_is_not_sealed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = unfinished(folder, tmp_path / "bundle", monkeypatch)
    with closing(sqlite3.connect(bundle.checkpoint)) as store:
        store.execute("UPDATE results SET document = replace(document, 'denied', 'granted')")
        store.commit()
    finished = command(*words_for(folder, bundle.folder, SAMPLE))
    assert finished.code == 2
    assert "damaged (it was changed since it was written)" in finished.err
    assert not bundle.store.exists()


@pytest.mark.parametrize(
    "damaged",
    [
        lambda line: b"\0" * len(line),
        lambda line: b"\0" * len(line) + b"\n",
        lambda line: line[:-4] + b"\0\0\0\n",
        lambda line: b"[]\n",
        lambda line: b"\xff\xfe\n",
        lambda line: line[: len(line) // 2],
        lambda _: b"1" * 5000 + b"\n",
        lambda _: b"[" * 100_000 + b"\n",
        lambda _: b"\n",
    ],
)
def test_a_damaged_last_line_of_the_log_is_cut_off_or_one_sentence(
    damaged: Callable[[bytes], bytes],
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bundle = unfinished(folder, tmp_path / "bundle", monkeypatch)
    *lines, last = bundle.log.read_bytes().splitlines(keepends=True)
    content = damaged(last)
    bundle.log.write_bytes(b"".join(lines) + content)
    words = words_for(folder, bundle.folder, SAMPLE)
    finished = command(*words, "--workers", "1")
    if content.endswith(b"\n"):
        assert finished.code == 2
        assert "its last line is damaged; restore the file, or start over" in finished.err
    else:
        assert finished.code == 0, finished.err
        assert command("verify", bundle.folder).code == 0


def test_findings_over_a_threshold_end_with_3(folder: Path) -> None:
    words = words_for(folder, folder / "bundle", SAMPLE)
    finished = command(*words, "--fail-on", "infeasible=0.1", "--fail-on", "errors")
    assert finished.code == 3
    infeasible = status_name("certified_infeasible")
    assert f"infeasible ({infeasible}): " in finished.err.splitlines()[-1]
    assert "errors" not in finished.err.splitlines()[-1]
    assert command(*words, "--fail-on", "infeasible=1").code == 0
    refused = command(*words, "--fail-on", "infeasible=2")
    assert refused.code == 2
    assert "--fail-on infeasible=2: must be errors, infeasible, not-found" in one_line(refused)
    assert "or gap, which takes no share" in one_line(refused)


def test_errors_for_some_subjects_end_with_4(tmp_path: Path) -> None:
    settings, out = small_audit(tmp_path, "some_nan"), tmp_path / "bundle"
    finished = command(
        "run", "--no-pages", settings, "--out", out, "--subjects", "all", "--workers", "1"
    )
    assert finished.code == 4
    broken = [name for name, found in documents(out).items() if found["error"]]
    assert 0 < len(broken) < len(documents(out))
    failed = status_name("error")
    assert finished.err.splitlines()[-1].split(maxsplit=1) == [str(len(broken)), failed]
