"""Audits of many, run in this process or in one of their own, and what they leave behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

from recourse_audit.audit.load import Selection, load_audit
from recourse_audit.execute.pipeline import Request, RunSummary, run_audit
from recourse_audit.execute.process_pool import ProcessPool
from recourse_audit.execute.worker import (
    Answers,
    Executor,
    FinishedChunk,
    InProcess,
    Part,
)
from tests.audits import quick_audit

ROOT = Path(__file__).parents[1]
LOG = "run.jsonl"
PATIENCE = 120.0
# Ctrl-C is ignored in the background of a shell, and a command that is started there inherits
# that; so the command that is to be interrupted listens to it again, whatever started the tests.
LISTENING = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT}); "
    "from recourse_audit.cli import main; main()"
)


class Remembered:
    """Progress that remembers what it was told."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.stages: list[str] = []
        self.total = self.before = self.done = self.queries = 0

    def begin(self, total: int, done: int) -> None:
        self.total, self.before = total, done

    def advance(self, subjects: int, queries: int) -> None:
        self.done += subjects
        self.queries += queries

    def stage(self, doing: str, done: int = 0, total: int | None = None) -> None:
        if doing not in self.stages:
            self.stages.append(doing)

    def say(self, text: str) -> None:
        self.said.append(text)


def request(folder: Path, out: Path, *, sample: int = 32, seed: int | None = None) -> Request:
    """A small audit of the lending sample; its files are written if they are not there."""
    settings = folder / "audit.toml"
    if not settings.exists():
        quick_audit(folder)
    return request_for(settings, out, Selection(sample=sample), seed=seed)


def request_for(
    settings: Path, out: Path, selection: Selection, *, seed: int | None = None
) -> Request:
    """An audit of some subjects, opened and probed."""
    audit = load_audit(settings, seed=seed)
    return Request(audit=audit, origin=settings, out=out, selection=selection)


def words_for(folder: Path, out: Path, sample: int) -> tuple[str | Path, ...]:
    """The command that audits a sample of this size, and makes no pages."""
    settings = folder / "audit.toml"
    return ("run", "--no-pages", settings, "--out", out, "--sample", str(sample))


def run_here(
    asked: Request, progress: Remembered | None = None, executor: Executor | None = None
) -> RunSummary:
    """Run an audit in this process, unless somebody else is to do the work."""
    executor = InProcess() if executor is None else executor
    return run_audit(asked, executor, now=lambda: "now", progress=progress or Remembered())


def processes(count: int, *, timeout: float = 600.0) -> Executor:
    """Worker processes, where these are what is tested."""
    return ProcessPool[Part, Answers, FinishedChunk](count, timeout=timeout)


def contents(out: Path) -> dict[str, bytes]:
    """Every file of a bundle but its log, by name."""
    return {
        path.relative_to(out).as_posix(): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file() and path.name != LOG
    }


def started(*words: str | Path) -> subprocess.Popen[str]:
    """The real command in a process of its own, with its own group so that Ctrl-C can be sent."""
    return subprocess.Popen(
        [sys.executable, "-c", LISTENING, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        start_new_session=True,
    )


def chunks_done(out: Path) -> int:
    log = out / LOG
    return log.read_text(encoding="utf-8").count('"event":"chunk"') if log.exists() else 0


def stop_after(process: subprocess.Popen[str], out: Path, chunks: int, how: signal.Signals) -> None:
    """Send a signal once this many chunks are done."""
    until = monotonic() + PATIENCE
    while chunks_done(out) < chunks and process.poll() is None:
        assert monotonic() < until, "nothing happens"
        sleep(0.005)
    process.send_signal(how)


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """The exit code and what was said, once the process has ended."""
    _, said = process.communicate(timeout=PATIENCE)
    return process.returncode, said
