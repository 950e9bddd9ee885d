"""Many cases: `python -m tests.fuzz --cases 100000`, in child processes with limits.

Case k of a seed is always the same, so that `--only k` runs it again. The changed file of a case
that fails is kept. A child that hangs or dies is a failure of the case that it was in, and another
child goes on after it.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from queue import Empty, Queue
from tempfile import TemporaryDirectory
from threading import Thread

from tests.fuzz.harness import content_of, format_of, run_case
from tests.fuzz.quick import settle
from tests.fuzz.worlds import World, make_world

SECONDS = 60.0
MEMORY = 6 * 2**30  # of address space, most of which onnxruntime and pyarrow only reserve

MEMORY_DISK = Path("/dev/shm")  # where files come and go quickly, if there is one


def main() -> int:
    """Run the cases that were asked for; 1 if one of them failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"))
    parser.add_argument("--only", type=int, help="run this case alone, in this process")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--step", type=int, default=1, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child is not None:
        return _child(given)
    with TemporaryDirectory(dir=MEMORY_DISK if MEMORY_DISK.is_dir() else None) as folder:
        world = Path(folder) / "world"
        make_world(world)
        if given.only is not None:
            outcome = run_case(World(world), given.seed, given.only)
            _say(str(outcome))
            return int(bool(outcome.problem))
        return _parent(given, world)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _child(given: argparse.Namespace) -> int:
    """Run every `step`-th case, and say before and after each of them."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    world = World(given.child)
    run_case(world, given.seed, given.first)  # so that everything is imported
    settle()
    for number in range(given.first, given.cases, given.step):
        _say(json.dumps({"begin": number}))
        done = run_case(world, given.seed, number)
        _say(json.dumps({"end": number, "code": done.code, "problem": done.problem}))
    return 0


def _parent(given: argparse.Namespace, world: Path) -> int:
    counts: Counter[tuple[str, str]] = Counter()
    failures: list[tuple[int, str]] = []
    queue: Queue[tuple[int, str]] = Queue()
    threads = []
    for place in range(given.workers):
        own = world.with_name(f"world{place}")
        shutil.copytree(world, own, symlinks=True)
        threads.append(Thread(target=_follow, args=(given, place, own, queue)))
        threads[-1].start()
    while any(thread.is_alive() for thread in threads) or not queue.empty():
        try:
            number, ending = queue.get(timeout=0.5)
        except Empty:
            continue
        name = format_of(number).name
        code, _, problem = ending.partition(" ")
        counts[name, "FAILED" if problem else f"exit {code}"] += 1
        if problem:
            failures.append((number, problem))
            _say(f"case {number} ({name}): {problem}")
            _keep(given, world, number, problem)
        if counts.total() % 1000 == 0:
            _say(f"{counts.total():,} cases, {len(failures):,} failures")
    for thread in threads:
        thread.join()
    for (name, ending), count in sorted(counts.items()):
        _say(f"{name:14} {ending:8} {count:8,}")
    _say(f"{counts.total():,} cases with seed {given.seed}, {len(failures):,} failures")
    return int(bool(failures))


def _follow(
    given: argparse.Namespace, place: int, world: Path, queue: "Queue[tuple[int, str]]"
) -> None:
    """Start children one after the other until all cases of this place are done."""
    number = given.first + place
    last = given.first + given.cases
    clean = world.with_name("world")
    while number < last:
        words = ["--seed", given.seed, "--step", given.workers, "--first", number, "--cases", last]
        child = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz", "--child", str(world), *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        lines: Queue[str] = Queue()
        Thread(target=_read, args=(child, lines), daemon=True).start()
        problem = ""
        while True:
            try:
                line = lines.get(timeout=SECONDS)
            except Empty:
                problem = f"took more than {SECONDS:.0f} seconds"
                break
            if not line:
                break
            said = json.loads(line)
            number = said.get("begin", number)
            if "end" in said:
                queue.put((said["end"], f"{said['code']} {said['problem']}".rstrip()))
                number = said["end"] + given.workers
        child.kill()
        code = child.wait()
        if number >= last:
            return
        queue.put((number, f"-1 {problem or f'the process ended with {code}'}"))
        number += given.workers
        shutil.rmtree(world, ignore_errors=True)
        shutil.rmtree(world.with_name(f"{world.name}.kept"), ignore_errors=True)
        shutil.copytree(clean, world, symlinks=True)


def _read(child: "subprocess.Popen[str]", lines: "Queue[str]") -> None:
    assert child.stdout is not None
    for line in child.stdout:
        if line.startswith("{"):
            lines.put(line)
    lines.put("")


def _keep(given: argparse.Namespace, world: Path, number: int, problem: str) -> None:
    content, words = content_of(world / "case", given.seed, number)
    folder = given.keep / f"{given.seed}-{number}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / Path(format_of(number).path).name).write_bytes(content)
    text = f"recourse-audit {' '.join(words)}\n{format_of(number).path}\n{problem}\n"
    (folder / "case.txt").write_text(text, encoding="utf-8", errors="replace")


if __name__ == "__main__":
    sys.exit(main())
