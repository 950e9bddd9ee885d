"""Audits of many, run in this process or in one of their own, and what they leave behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

from recourse_audit.execute.pipeline import Request, Summary, run_audit
from recourse_audit.audit.selection import Selection
from recourse_audit.execute.process_pool import Serve, Workers, serve
from tests.audits import quick_audit

ROOT = Path(__file__).parents[1]
LOG = "run.jsonl"
PATIENCE = 120.0


class Quiet:
    """A watcher that remembers what it was told."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.total = self.before = self.done = self.queries = 0

    def begin(self, total: int, done: int) -> None:
        self.total, self.before = total, done

    def advance(self, subjects: int, queries: int) -> None:
        self.done += subjects
        self.queries += queries

    def say(self, text: str) -> None:
        self.said.append(text)


def request(folder: Path, out: Path, *, sample: int = 32) -> Request:
    """A small audit of the lending sample; its files are written if they are not there."""
    settings = folder / "audit.toml"
    if not settings.exists():
        quick_audit(folder)
    return Request(settings=settings, out=out, selection=Selection(sample=sample))


def words_for(folder: Path, out: Path, sample: int) -> tuple[str | Path, ...]:
    """The command that audits so many, and makes no pages."""
    settings = folder / "audit.toml"
    return ("run", "--no-pages", settings, "--out", out, "--sample", str(sample))


def run_here(
    asked: Request,
    watcher: Quiet | None = None,
    *,
    workers: int = 1,
    timeout: float = 600.0,
    serve: Serve = serve,
) -> Summary:
    crew = Workers(workers, timeout=timeout, clock=monotonic, serve=serve)
    return run_audit(asked, crew, now=lambda: "now", watcher=watcher or Quiet())


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
        [sys.executable, "-m", "recourse_audit", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        start_new_session=True,
    )


def pieces_done(out: Path) -> int:
    log = out / LOG
    return log.read_text(encoding="utf-8").count('"event":"piece"') if log.exists() else 0


def stop_after(process: subprocess.Popen[str], out: Path, pieces: int, how: signal.Signals) -> None:
    """Send a signal once so many pieces are done."""
    until = monotonic() + PATIENCE
    while pieces_done(out) < pieces and process.poll() is None:
        assert monotonic() < until, "nothing happens"
        sleep(0.005)
    process.send_signal(how)


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """The exit code and what was said, once the process has ended."""
    _, said = process.communicate(timeout=PATIENCE)
    return process.returncode, said
