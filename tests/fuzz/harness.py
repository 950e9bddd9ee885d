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
from unittest.mock import patch

from recourse_audit.execute.executors import InProcess
from tests.command import command
from tests.fuzz.worlds import FORMATS, Format, case_in, changed_file

ALLOWED = {0, 2, 3, 4, 5}
# What a command may write: its own output, beside the evidence, which it never changes.
OUTPUT = ("bundle/pages", "bundle/letters", "bundle/.", "unfinished")


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


def content_of(root: Path, seed: int, number: int) -> tuple[bytes, tuple[str, ...]]:
    """What the changed file of a case holds, and the command that reads it."""
    draw = Random(f"{seed}:{number}")
    format_ = format_of(number)
    words = draw.choice(format_.commands)
    return changed_file(root / "case", format_, draw), words


def run_case(root: Path, seed: int, number: int) -> Outcome:
    """Run one case in this process."""
    format_ = format_of(number)
    content, words = content_of(root, seed, number)
    with case_in(root, format_, content) as case, _inside(case):
        before = _snapshot(root)
        started = monotonic()
        code, problem = _ended(words)
        seconds = monotonic() - started
        touched = _touched(before, _snapshot(root))
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
    no_paper = (None, "no PDF is made here")
    try:
        with (
            patch("recourse_audit.render.pages.write_pages.open_printer", lambda _: no_paper),
            patch("recourse_audit.execute.executors.executor_for", lambda **_: InProcess()),
            patch("recourse_audit.render.sandbox.MOST_STEPS", 100_000),  # to be quick
            patch("recourse_audit.render.letters.write_letters.open_printer", lambda _: no_paper),
        ):
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


Seen = tuple[int, int, int, int, bytes]


def _snapshot(root: Path) -> dict[str, Seen]:
    """Every file and folder with its kind, rights, size, time of change, and content if small."""
    seen: dict[str, Seen] = {}
    for folder, _, names in os.walk(root):
        for name in (*names, "."):
            path = Path(folder) / name
            stat = path.lstat()
            relative = path.relative_to(root).as_posix()
            small = path.is_file() and stat.st_size < 4096
            changed = 0 if path.is_dir() else stat.st_mtime_ns
            size = 0 if path.is_dir() else stat.st_size
            content = path.read_bytes() if small else b""
            seen[relative] = (stat.st_mode, size, changed, stat.st_ino, content)
    return seen


def _touched(before: dict[str, Seen], after: dict[str, Seen]) -> list[str]:
    """What was added, changed or removed outside the command's output."""
    both = sorted({*before, *after})
    output = tuple(f"case/{name}" for name in OUTPUT)
    return [
        name for name in both if before.get(name) != after.get(name) and not name.startswith(output)
    ]
