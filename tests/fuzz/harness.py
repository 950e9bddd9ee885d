"""One case: a changed file, the real command, and everything around it exactly as it was.

Allowed are success and our own errors with their exit codes. An internal error, a traceback, any
exception that comes through, and every change outside the command's own output are failures.
"""

import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from time import monotonic

from tests.command import command
from tests.fuzz.quick import made_quick
from tests.fuzz.snapshots import Snapshot, differences, snapshot
from tests.fuzz.worlds import FORMATS, Format, World, changed_file

ALLOWED = {0, 2, 3, 4, 5}
# What a command may write: its own output, beside the evidence, which it never changes.
OUTPUT = {"report": "case/bundle/pages", "letters": "case/bundle/letters", "run": "case/unfinished"}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a case ended: `problem` is empty if it ended well."""

    number: int
    format: str
    words: tuple[str, ...]
    code: int
    problem: str
    seconds: float


def format_of(number: int) -> Format:
    """Every format has its turn."""
    return FORMATS[number % len(FORMATS)]


def content_of(case: Path, seed: int, number: int) -> tuple[bytes, tuple[str, ...]]:
    """What the changed file of a case holds, and the command that reads it."""
    draw = Random(f"{seed}:{number}")
    format_ = format_of(number)
    words = draw.choice(format_.commands)
    return changed_file(case, format_, draw), words


def run_case(world: World, seed: int, number: int) -> Outcome:
    """Run one case in this process."""
    format_ = format_of(number)
    content, words = content_of(world.case, seed, number)
    with world.with_file(format_, content), _inside(world.case):
        before = snapshot(world.root)
        started = monotonic()
        code, problem = _ended(words)
        seconds = monotonic() - started
        touched = _touched(before, snapshot(world.root, before), words)
    return Outcome(
        number=number,
        format=format_.name,
        words=words,
        code=code,
        problem=problem or (f"changed {touched[0]}" if touched else ""),
        seconds=seconds,
    )


def _ended(words: tuple[str, ...]) -> tuple[int, str]:
    """The exit code, and what is wrong with how the command ended."""
    try:
        with made_quick():
            finished = command(*words)
    except BaseException as error:  # anything that comes through is a finding
        last = traceback.extract_tb(error.__traceback__)[-1]
        return -1, f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"
    if finished.code not in ALLOWED:
        return finished.code, finished.err.strip().splitlines()[-1][:300]
    if "Traceback" in finished.err or "internal error" in finished.err:
        return finished.code, finished.err.strip()[:300]
    return finished.code, ""


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    here = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(here)


def _touched(before: Snapshot, after: Snapshot, words: tuple[str, ...]) -> list[str]:
    """What was added, changed or removed outside the command's output."""
    output = OUTPUT.get(words[0])
    changed = differences(before, after)
    return [name for name in changed if output is None or not name.startswith(output)]
