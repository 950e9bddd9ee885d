"""Many files at once: worker processes each take a few subjects and make their files.

What is made does not depend on how many workers there are. Only the process that holds the lock of
the bundle writes, so that a worker whose parent was killed cannot leave anything behind.
"""

import atexit
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from recourse_audit.bundle.reader import StoredAudit, open_stored_audit
from recourse_audit.bundle.signature import Signer
from recourse_audit.errors import AuditError, InputError
from recourse_audit.execute.process_pool import Failed, ProcessPool
from recourse_audit.records.subject import SubjectReport

SUBJECTS_TOGETHER = 16
SECONDS_PER_RUN = 3600.0
LONGEST_NAME = 40
Run = tuple[int, ...]
Files = dict[str, bytes]
Made = tuple[Files, ...]


# Makes the files of one subject, by their names.
FileMaker = Callable[[int, SubjectReport], Files]
# Makes the file maker of one process; small enough to be sent to every worker.
MakerFactory = Callable[[StoredAudit], FileMaker]


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderOptions:
    """How files are made: by how many workers, signed by whom, and who is told of the progress.

    Without `again`, files that were made from the same bundle before are left as they are: they
    may be signed off, or meant for other readers.
    """

    workers: int = 1
    signer: Signer | None = None
    again: bool = True
    begin: Callable[[str, int], None] = lambda doing, total: None
    done: Callable[[int], None] = lambda _: None


ALONE = RenderOptions()


def file_name(number: int, subject: str) -> str:
    """The name of a subject's files, without ending: safe on every system, and distinct."""
    subject = subject.replace(":", "-")
    kept = re.sub(r"[^A-Za-z0-9_-]", "", subject)
    return f"{number:06d}-{kept[:LONGEST_NAME]}".rstrip("-")


def make_files(
    bundle: Path, factory: MakerFactory, numbers: Sequence[int], options: RenderOptions
) -> Iterator[Files]:
    """The files of each of these subjects, by name."""
    runs = [
        tuple(numbers[first : first + SUBJECTS_TOGETHER])
        for first in range(0, len(numbers), SUBJECTS_TOGETHER)
    ]
    workers, job = min(options.workers, len(runs)), RenderJob(bundle, factory)
    pool = ProcessPool[Run, Made, Made](workers, timeout=SECONDS_PER_RUN)
    with closing(job):
        alone = workers <= 1
        made = map(job.make, runs) if alone else pool.run(job, _Runs(bundle, runs), lambda _: None)
        for files in made:
            yield from files
            options.done(len(files))


class RenderJob:
    """Makes files in one process, with the bundle opened once, when it is first needed."""

    def __init__(self, bundle: Path, factory: MakerFactory) -> None:
        self._bundle, self._factory = bundle, factory
        self._held = ExitStack()
        self._opened: tuple[StoredAudit, FileMaker] | None = None

    def open(self) -> Callable[[Run], Made | Failed]:
        """Called in each worker."""
        # A maker left for the interpreter's last moments would leave temporary fonts behind.
        atexit.register(self.close)
        return self.answer

    def close(self) -> None:
        """Let go of what is held open, in the thread that opened it."""
        self._opened = None
        self._held.close()

    def answer(self, numbers: Run) -> Made | Failed:
        """The same for the process that gave out the work: what goes wrong is an answer, too."""
        try:
            return self.make(numbers)
        except AuditError as error:
            return Failed(reason=str(error))
        except Exception as error:
            return Failed(reason=f"internal error: {type(error).__name__}: {error}")

    def make(self, numbers: Run) -> Made:
        if self._opened is None:
            stored = self._held.enter_context(open_stored_audit(self._bundle))
            self._opened = stored, self._factory(stored)
        stored, maker = self._opened
        return tuple(maker(number, stored.report(number)) for number in numbers)


class _Runs:
    """The runs that wait for a worker; one that fails ends the command."""

    def __init__(self, bundle: Path, runs: Sequence[Run]) -> None:
        self._bundle = bundle
        self._waiting = list(reversed(runs))
        self._left = len(runs)

    def __len__(self) -> int:
        return self._left

    def take(self) -> Run | None:
        return self._waiting.pop() if self._waiting else None

    def accept(self, task: Run, answer: Made) -> Made:
        del task
        self._left -= 1
        return answer

    def fail(self, task: Run, reason: str, *, sudden: bool = False) -> None:
        if not sudden:
            raise InputError(reason)
        raise InputError(
            f"{self._bundle}: a worker that made pages or letters stopped: {reason}; rerun the "
            "same command"
        )
