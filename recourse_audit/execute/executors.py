"""Who works on the chunks: this process, others, or a Dask cluster; and who is told of progress."""

from collections.abc import Generator
from typing import Protocol

from recourse_audit.execute.chunks import Answers, ChunkQueue, FinishedChunk, Part
from recourse_audit.execute.process_pool import Failed, ProcessPool, Say
from recourse_audit.execute.worker import AuditJob


class Executor(Protocol):
    """Whoever works on the chunks."""

    def run(
        self, job: AuditJob, queue: ChunkQueue, say: Say
    ) -> Generator[FinishedChunk, None, None]:
        """Hand out parts until every chunk is finished; chunks come in any order."""
        ...


class InProcess:
    """Works on the chunks in this process: nothing to start, and nothing that survives a crash."""

    def run(
        self, job: AuditJob, queue: ChunkQueue, say: Say
    ) -> Generator[FinishedChunk, None, None]:
        """Work on part after part until every chunk is finished."""
        work = job.open()
        while (part := queue.take()) is not None:
            answer = work(part)
            if isinstance(answer, Failed):
                say(f"{queue.described(part)} failed ({answer.reason})")
                finished = queue.failed(part, answer.reason)
            else:
                finished = queue.done(part, answer)
            if finished is not None:
                yield finished


def executor_for(*, workers: int, scheduler: str | None, timeout: float) -> Executor:
    """The executor that a user asked for; 0 workers is this process itself."""
    if scheduler is not None:
        from recourse_audit.execute.dask_pool import DaskPool

        return DaskPool(scheduler, timeout=timeout)
    if workers == 0:
        return InProcess()
    return ProcessPool[Part, Answers, FinishedChunk](workers, timeout=timeout)


class Progress(Protocol):
    """Whoever wants to know how far the audit has come."""

    def begin(self, total: int, done: int) -> None:
        """There are `total` subjects, and `done` of them were finished before."""
        ...

    def advance(self, subjects: int, queries: int) -> None:
        """Some more subjects are done, with this many queries."""
        ...

    def stage(self, doing: str, done: int = 0, total: int | None = None) -> None:
        """Something other than subjects takes time; so many steps of it are done, if they count."""
        ...

    def say(self, text: str) -> None:
        """Something happened that a person may want to read."""
        ...


class NoProgress:
    """Nobody wants to know."""

    def begin(self, total: int, done: int) -> None:
        """Ignored."""

    def advance(self, subjects: int, queries: int) -> None:
        """Ignored."""

    def stage(self, doing: str, done: int = 0, total: int | None = None) -> None:
        """Ignored."""

    def say(self, text: str) -> None:
        """Ignored."""
