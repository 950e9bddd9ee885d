"""Many files at once: processes that each take a few subjects of a bundle and write their files.

What is written does not depend on how many there are. A run of subjects that was finished is noted
beside the files, so that an interrupted press goes on where it stopped.
"""

import atexit
import json
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Protocol

from recourse_audit.errors import InputError
from recourse_audit.bundle.layout import Bundle
from recourse_audit.bundle.derived_folder import Rendered
from recourse_audit.bundle.signature import Signer
from recourse_audit.bundle.store import open_store

SUBJECTS_TOGETHER = 16
FINISHED = ".finished"
LONGEST_NAME = 40


class Press(Protocol):
    """Makes the files of a subject, by their names."""

    def files(self, number: int, document: dict[str, Any]) -> dict[str, bytes]: ...


class Opener(Protocol):
    """What each process makes its press with; small, and the same in all of them."""

    def open(self) -> Press: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Where the subjects are, where their files go, and what makes them."""

    rendered: Rendered
    opener: Opener


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """How files are made: by how many, signed by whom, and who is told how far it has come.

    Without `again`, files that were made of the same bundle before are left as they are: they may
    be signed off, or for other readers.
    """

    workers: int = 1
    signer: Signer | None = None
    again: bool = True
    begin: Callable[[int], None] = lambda _: None
    done: Callable[[int], None] = lambda _: None


ALONE = Work()


def file_name(number: int, subject: str) -> str:
    """The name of a subject's files, without ending: safe on every system, and distinct."""
    kept = "".join(letter for letter in subject if letter.isascii() and _plain(letter))
    return f"{number:06d}-{kept[:LONGEST_NAME]}".rstrip("-")


def press_all(job: Job, numbers: Sequence[int], work: Work) -> set[str]:
    """Have the files of all these subjects made; their names."""
    work.begin(len(numbers))
    runs = [
        tuple(numbers[first : first + SUBJECTS_TOGETHER])
        for first in range(0, len(numbers), SUBJECTS_TOGETHER)
    ]
    names: set[str] = set()
    with _hands(job, min(work.workers, len(runs))) as pressed:
        for run, made in zip(runs, pressed(runs), strict=True):
            names.update(made)
            work.done(len(run))
    return names


Pressed = Callable[[Sequence[tuple[int, ...]]], Iterator[list[str]]]


@contextmanager
def _hands(job: Job, workers: int) -> Iterator[Pressed]:
    """Whoever does the work: this process, or several others."""
    if workers <= 1:
        _begin(job)
        try:
            yield lambda runs: map(_press, runs)
        finally:
            _at_work.clear()
        return
    pool = ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=_begin, initargs=(job,)
    )

    def pressed(runs: Sequence[tuple[int, ...]]) -> Iterator[list[str]]:
        with _deaf_to_interrupts():
            return pool.map(_press, runs)

    try:
        yield pressed
    except BrokenProcessPool:
        raise InputError(
            f"{job.rendered.bundle}: a process that made {job.rendered.name} was ended from "
            "outside, or had no memory left; the same command continues where it stopped"
        ) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Processes started here inherit that Ctrl-C is for the one who gives out work.

    They must not learn it themselves: until then each would answer Ctrl-C with a traceback.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield  # Windows sends Ctrl-C in another way
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_at_work: dict[str, tuple[Job, Press | None]] = {}


def _begin(job: Job) -> None:
    # A press left for the interpreter's last moments would leave its temporary fonts behind.
    atexit.register(_at_work.clear)
    _at_work["now"] = (job, None)


def _press(numbers: tuple[int, ...]) -> list[str]:
    """Make the files of a run of subjects; their names."""
    job, press = _at_work["now"]
    rendered = job.rendered
    note = f"{FINISHED}/{numbers[0]}-{len(numbers)}"
    if rendered.has(note):
        noted: list[str] = json.loads((rendered.new / note).read_text(encoding="utf-8"))
        return noted
    if press is None:
        press = job.opener.open()
        _at_work["now"] = (job, press)
    names: list[str] = []
    for number, document in _documents(rendered.bundle, numbers):
        for name, content in press.files(number, document).items():
            rendered.put(name, content)
            names.append(name)
    rendered.put(note, json.dumps(names).encode())
    return names


def _documents(bundle: Path, numbers: tuple[int, ...]) -> Iterator[tuple[int, dict[str, Any]]]:
    with open_store(Bundle(folder=bundle).store) as store:
        for number in numbers:
            [[document]] = store.execute("SELECT document FROM subjects WHERE number = ?", [number])
            yield number, json.loads(document)


def _plain(letter: str) -> bool:
    return letter.isalnum() or letter in "_-"
