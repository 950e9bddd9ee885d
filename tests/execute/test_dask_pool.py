"""The same audit on a real Dask cluster of processes gives the same bytes, also if one dies."""

import json
import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from distributed import Client, LocalCluster

from recourse_audit.audit.load import LoadedAudit
from recourse_audit.bundle.store import open_store
from recourse_audit.bundle.verification import verify_bundle
from recourse_audit.errors import InputError
from recourse_audit.execute.dask_pool import DaskPool, work_on
from recourse_audit.execute.pipeline import _make_plan, run_audit
from recourse_audit.execute.process_pool import Failed
from recourse_audit.execute.worker import Answers, AuditJob, Part, chunks_of, prepare_job
from recourse_audit.graph.graph import Floats
from tests.bundles import (
    PATIENCE,
    ROOT,
    Remembered,
    contents,
    request,
    run_here,
)
from tests.command import command
from tests.head_audits import head_audit

SAMPLE = 64


def cluster_of(workers: int) -> LocalCluster:
    return LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0"
    )


@pytest.fixture(scope="module")
def scheduler() -> Iterator[LocalCluster]:
    with cluster_of(2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("audit")
    run_here(request(place, place / "bundle", sample=SAMPLE))
    return place


def test_a_cluster_gives_the_bytes_of_one_machine(
    scheduler: LocalCluster, folder: Path, tmp_path: Path
) -> None:
    words = (
        "run",
        "--no-pages",
        folder / "audit.toml",
        "--out",
        tmp_path / "bundle",
        "--sample",
        str(SAMPLE),
    )
    finished = command(*words, "--scheduler", scheduler.scheduler_address)
    assert finished.code == 0, finished.err
    assert contents(tmp_path / "bundle") == contents(folder / "bundle")


def test_workers_of_a_cluster_open_the_model_and_its_head(
    scheduler: LocalCluster, tmp_path: Path
) -> None:
    words = ("run", "--no-pages", head_audit(tmp_path), "--sample", "4", "--out")
    assert command(*words, tmp_path / "here").code == 0
    finished = command(*words, tmp_path / "there", "--scheduler", scheduler.scheduler_address)
    assert finished.code == 0, finished.err
    assert contents(tmp_path / "there") == contents(tmp_path / "here")


def test_a_worker_of_the_cluster_that_is_killed_costs_nobody_anything(
    scheduler: LocalCluster, folder: Path, tmp_path: Path
) -> None:
    class Killer(Remembered):
        def advance(self, subjects: int, queries: int) -> None:
            super().advance(subjects, queries)
            if self.done == subjects:
                with Client(scheduler.scheduler_address, set_as_default=False) as client:
                    pids = client.run(os.getpid)
                os.kill(min(pids.values()), 9)

    asked = request(folder, tmp_path / "bundle", sample=SAMPLE)
    pool = DaskPool(scheduler.scheduler_address, timeout=600.0)
    run_audit(asked, pool, now=lambda: "now", progress=Killer())
    assert contents(tmp_path / "bundle") == contents(folder / "bundle")


@contextmanager
def processes_of_dask(place: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A scheduler and a worker in processes of their own: its address, and its process."""
    file = place / "scheduler.json"

    def start(*words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", *words, "--scheduler-file", str(file)]
        return subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT
        )

    scheduler = start("distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard")
    worker = start("distributed.cli.dask_worker", "--no-nanny", "--no-dashboard", "--nthreads", "1")
    try:
        until = time.monotonic() + PATIENCE
        while not file.exists() or not file.read_bytes():
            assert time.monotonic() < until, "the scheduler does not start"
            time.sleep(0.05)
        yield json.loads(file.read_bytes())["address"], scheduler
    finally:
        for process in (worker, scheduler):
            process.kill()
            process.wait()


@pytest.fixture
def heard() -> Iterator[list[logging.LogRecord]]:
    """What Dask would print, which it does to the stderr that there was when it was imported."""
    records: list[logging.LogRecord] = []

    class Heard(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    handler = Heard()
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client", "tornado")]
    for logger in loggers:
        logger.addHandler(handler)
    yield records
    for logger in loggers:
        logger.removeHandler(handler)


@pytest.mark.long
def test_a_scheduler_that_is_killed_is_one_sentence_and_the_rerun_ends_with_the_same_bytes(
    folder: Path, tmp_path: Path, heard: list[logging.LogRecord]
) -> None:
    asked = request(folder, tmp_path / "bundle", sample=SAMPLE)
    with processes_of_dask(tmp_path) as (address, scheduler):

        class Killer(Remembered):
            def advance(self, subjects: int, queries: int) -> None:
                super().advance(subjects, queries)
                scheduler.kill()

        pool, before = DaskPool(address, timeout=600.0), Killer()
        with pytest.raises(InputError, match=f"^{address}: the scheduler has gone; start it again"):
            run_audit(asked, pool, now=lambda: "now", progress=before)
    assert 0 < before.done < SAMPLE
    after = Remembered()
    run_here(asked, after)
    assert after.before == before.done, "what was finished is not done again"
    assert contents(asked.out) == contents(folder / "bundle")
    assert verify_bundle(asked.out).problems == ()
    assert heard == [], "the error is all that is said"


def crash_on(job: AuditJob, part: Part, timeout: float) -> Answers | Failed:
    """Die of one subject, while others wait."""
    if int((job.folder.parents[1] / "bad").read_text(encoding="utf-8")) in part.subjects:
        time.sleep(1.0)
        os._exit(3)
    return work_on(job, part, timeout)


@pytest.mark.long
def test_only_the_subject_who_kills_workers_gets_an_error(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the only worker all others wait beside the guilty one, and Dask blames them too."""
    asked = request(folder, tmp_path / "bundle", sample=4)
    plan = _make_plan(asked)
    monkeypatch.setattr("recourse_audit.execute.worker.FEWEST_CHUNKS", 1)
    (chunk,) = chunks_of(plan.audit, plan.subjects)
    bad = chunk.subjects[chunk.bounds.index(max(chunk.bounds))]
    (tmp_path / "bad").write_text(str(bad), encoding="utf-8")
    monkeypatch.setattr("recourse_audit.execute.dask_pool.work_on", crash_on)
    with cluster_of(1) as cluster:
        monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
        pool = DaskPool(cluster.scheduler_address, timeout=600.0)
        summary = run_audit(asked, pool, now=lambda: "now", progress=Remembered())
    assert (summary.subjects, summary.statuses["error"]) == (4, 1)
    with open_store(asked.out / "store.sqlite") as store:
        rows = store.execute("SELECT number, error FROM subjects WHERE error != ''").fetchall()
    assert [number for number, _ in rows] == [bad]
    assert "the worker processes ended" in rows[0][1]


def test_a_worker_that_does_not_see_the_folder_says_so(
    scheduler: LocalCluster, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = tmp_path / "hidden"

    def prepare_elsewhere(
        folder: Path, audit: LoadedAudit, answers: Floats, alone: Floats | None
    ) -> AuditJob:
        return replace(prepare_job(folder, audit, answers, alone), folder=hidden)

    monkeypatch.setattr("recourse_audit.execute.pipeline.prepare_job", prepare_elsewhere)
    asked = request(folder, tmp_path / "bundle", sample=4)
    pool = DaskPool(scheduler.scheduler_address, timeout=600.0)
    with pytest.raises(InputError, match=f"{hidden}: a worker does not see this folder"):
        run_audit(asked, pool, now=lambda: "now", progress=Remembered())


@pytest.mark.long
def test_a_scheduler_that_does_not_answer_is_one_sentence_and_loses_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    monkeypatch.setattr("recourse_audit.execute.dask_pool.SECONDS_TO_CONNECT", 0.5)
    out = tmp_path / "bundle"
    words = ("run", "--no-pages", folder / "audit.toml", "--out", out, "--sample", str(SAMPLE))
    finished = command(*words, "--scheduler", address)
    assert finished.code == 2
    assert finished.err.splitlines()[-1].startswith(
        f"error: {address}: no Dask scheduler answers there ("
    )
    assert command(*words, "--scheduler", "nonsense://x").code == 2
    run_here(request(folder, out, sample=SAMPLE))
    assert contents(out) == contents(folder / "bundle")
