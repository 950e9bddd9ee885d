"""Workers end with their parent, whatever they are busy with, and leave nothing behind."""

import hashlib
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep

import psutil
import pytest

from recourse_audit.bundle.verification import verify_bundle
from recourse_audit.render.write_pages import PageOptions, write_pages
from tests.bundles import ROOT, contents, ended, request, run_here, started
from tests.command import leave_out_pdfs

SECONDS = 60.0
BUSY = ("sleeping", "in Python", "holding the interpreter", "printing")


def has_ended(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def wait_until(happened: Callable[[], bool]) -> None:
    until = monotonic() + SECONDS
    while not happened():
        assert monotonic() < until, "nothing happens"
        sleep(0.02)


@pytest.mark.parametrize("busy", BUSY)
def test_a_worker_ends_with_its_parent_whatever_it_is_busy_with(busy: str, tmp_path: Path) -> None:
    if busy == "holding the interpreter" and sys.platform != "linux":
        pytest.skip("only Linux ends a process that lets no thread run")
    words = [sys.executable, "-m", "tests.execute.busy_worker", str(tmp_path), busy]
    with subprocess.Popen(words, cwd=ROOT) as parent:
        try:
            wait_until((tmp_path / "pid").exists)
        finally:
            parent.send_signal(signal.SIGKILL)
    worker = psutil.Process(int((tmp_path / "pid").read_text(encoding="utf-8")))
    try:
        wait_until(lambda: has_ended(worker))
    finally:
        if not has_ended(worker):
            worker.kill()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("audit")
    run_here(request(place, place / "bundle", sample=40))
    return place


def test_a_report_that_is_killed_leaves_no_worker_and_nobody_writes_after_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And pages for other readers that are made next hold none of those that it had made."""
    bundle = folder / "bundle"
    process = started("report", bundle, "--workers", "2")
    try:
        wait_until(lambda: any((bundle / "pages.new").glob("subjects/*.html")))
        workers = psutil.Process(process.pid).children(recursive=True)
    finally:
        process.send_signal(signal.SIGKILL)
        ended(process)
    assert workers
    left = digests(bundle)
    wait_until(lambda: all(has_ended(worker) for worker in workers))
    assert digests(bundle) == left
    leave_out_pdfs(monkeypatch)
    write_pages(bundle, PageOptions(level="reviewer"))
    assert verify_bundle(bundle).problems == ()
    for page in (bundle / "pages" / "subjects").iterdir():
        assert b"Age_band" not in page.read_bytes(), "which only auditors see"


def digests(bundle: Path) -> dict[str, str]:
    found = contents(bundle)
    return {name: hashlib.sha256(content).hexdigest() for name, content in found.items()}
