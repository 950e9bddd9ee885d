"""How much a second core speeds up a whole audit, including workers, store and files.

Whole runs of the lending sample with its own settings take turns with one and two workers, so that
a busy machine slows both; the fastest run of each counts. Two more figures put the result in
context: what two busy processes achieve on the machine at the same time, since nothing can do
better, and the processor time of two workers divided by that of one, which other programs on the
machine hardly affect.
"""

import argparse
import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import recourse_audit as ra

SAMPLE = Path(__file__).parents[1] / "sample_models" / "lending" / "audit.toml"


def seconds(workers: int, subjects: int) -> tuple[float, float]:
    """Run a whole audit; return its seconds and the processor time of its workers."""
    with tempfile.TemporaryDirectory() as folder:
        start, used = time.perf_counter(), processor_time()
        audit = ra.Audit.from_toml(SAMPLE)
        audit.run(Path(folder) / "bundle", sample=subjects, workers=workers)
        return time.perf_counter() - start, processor_time() - used


def processor_time() -> float:
    """The processor seconds used by child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def spin(_: int) -> int:
    """Keep a core busy for about a second."""
    return sum(range(50_000_000))


def bare() -> tuple[float, float]:
    """Time one busy process alone, and then two side by side."""
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
