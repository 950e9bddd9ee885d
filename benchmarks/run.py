"""What a second core adds to an audit of many, workers, store and files included.

Whole runs of the lending sample with its own settings, by turns, so that a busy moment of the
machine slows both; the fastest of each counts. Beside it stand what two busy processes get on the
machine at the same time, since nothing can do better, and the processor time of two workers over
that of one, which others on the machine hardly change.
"""

import argparse
import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from recourse_audit.execute.pipeline import Request, run_audit
from recourse_audit.audit.selection import Selection
from recourse_audit.execute.process_pool import Workers

SAMPLE = Path(__file__).parents[1] / "sample_models" / "lending" / "audit.toml"


def seconds(workers: int, subjects: int) -> tuple[float, float]:
    """How long a whole run takes, and how much processor time of its workers."""
    with tempfile.TemporaryDirectory() as folder:
        request = Request(
            settings=SAMPLE, out=Path(folder) / "bundle", selection=Selection(sample=subjects)
        )
        crew = Workers(workers, timeout=3600.0, clock=time.monotonic)
        start, used = time.perf_counter(), processor_time()
        run_audit(request, crew, now=lambda: "")
        return time.perf_counter() - start, processor_time() - used


def processor_time() -> float:
    """Seconds that processes used which have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def spin(_: int) -> int:
    """Keep a core busy for about a second."""
    return sum(range(50_000_000))


def bare() -> tuple[float, float]:
    """How long a busy process takes alone, and how long two take side by side."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        list(pool.map(spin, range(2)))
        start = time.perf_counter()
        list(pool.map(spin, range(1)))
        middle = time.perf_counter()
        list(pool.map(spin, range(2)))
        return middle - start, time.perf_counter() - middle


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--subjects", type=int, default=128)
    parser.add_argument("--turns", type=int, default=2)
    given = parser.parse_args(argv)
    turns = [
        (seconds(1, given.subjects), seconds(2, given.subjects), bare()) for _ in range(given.turns)
    ]
    one, two = min(turn[0][0] for turn in turns), min(turn[1][0] for turn in turns)
    work = sum(turn[1][1] for turn in turns) / sum(turn[0][1] for turn in turns)
    alone, beside = min(turn[2][0] for turn in turns), min(turn[2][1] for turn in turns)
    print(f"two_cores_vs_one_bare: {2 * alone / beside:.3g}")
    print(f"two_cores_vs_one_run: {one / two:.3g}", flush=True)
    print(f"two_workers_processor_time: {work:.3g}")
    print(f"# {given.subjects} subjects in {one:.1f} s with one worker, {two:.1f} s with two")


if __name__ == "__main__":
    main()
