"""The work cut into chunks: a few neighbours each, done by one worker, kept when done.

Chunks depend on the graph, the subjects and the settings, and never on who works on them: this
process, others, or a Dask cluster. A chunk that fails is tried again and then halved, down to the
one subject who makes it fail.
"""

import heapq
from collections.abc import Collection, Generator, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Protocol

import numpy as np

from recourse_audit.audit.load import LoadedAudit
from recourse_audit.execute.process_pool import Failed, ProcessPool, Say
from recourse_audit.graph.graph import Ints
from recourse_audit.search.moexp import Block, blocks

if TYPE_CHECKING:
    from recourse_audit.execute.worker import AuditJob


SUBJECTS_IN_CHUNK = 16
# A small audit is cut finer, so that one that is interrupted loses a small share of its work.
FEWEST_CHUNKS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some subjects of a chunk, with bounds on their subtrees; at first, all of them."""

    chunk: int
    subjects: tuple[int, ...]
    bounds: tuple[float, ...]
    whole: bool = True
    deaths: int = 0

    @property
    def block(self) -> Block:
        return Block(subjects=np.array(self.subjects, np.int64), bounds=np.array(self.bounds))

    @property
    def patient(self) -> bool:
        """Whether one sudden death of a worker is not yet held against it.

        Somebody may have killed the worker; so a chunk gets a second chance before it is halved,
        and a subject before it is given up.
        """
        return self.deaths == 0 and (self.whole or len(self.subjects) == 1)

    def retry(self) -> "Part":
        return replace(self, deaths=self.deaths + 1)

    def only(self, wanted: Collection[int]) -> "Part":
        """The part with only these of its subjects."""
        kept = [pair for pair in zip(self.subjects, self.bounds, strict=True) if pair[0] in wanted]
        subjects, bounds = zip(*kept, strict=True)
        return Part(chunk=self.chunk, subjects=subjects, bounds=bounds, whole=False)

    def halves(self) -> tuple["Part", "Part"]:
        middle = len(self.subjects) // 2
        return self.only(self.subjects[:middle]), self.only(self.subjects[middle:])

    def __str__(self) -> str:
        return "1 subject" if len(self.subjects) == 1 else f"{len(self.subjects)} subjects"


# The document of each subject, and how many queries it took.
Answers = dict[int, tuple[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedChunk:
    """What a chunk gave: documents of subjects, and reasons where there is none."""

    chunk: int
    answers: Answers = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.answers) + len(self.failures)


def chunks_of(audit: LoadedAudit, subjects: Ints) -> Iterator[Part]:
    """Cut the blocks of the search into chunks, numbered in order."""
    size = min(SUBJECTS_IN_CHUNK, max(len(subjects) // FEWEST_CHUNKS, 1))
    scope, number = audit.scope, count()
    for block in blocks(audit.graph, subjects, scope.max_nodes, budget=scope.budget):
        own, bounds = block.subjects.tolist(), block.bounds.tolist()
        for first in range(0, len(own), size):
            cut = slice(first, first + size)
            yield Part(chunk=next(number), subjects=tuple(own[cut]), bounds=tuple(bounds[cut]))


class ChunkQueue:
    """Parts that wait for a worker, the largest first, and what has come back so far."""

    def __init__(self, chunks: Iterable[Part]) -> None:
        self._waiting: list[tuple[float, int, tuple[int, ...], Part]] = []
        self._sizes: dict[int, int] = {}
        self._chunks: dict[int, FinishedChunk] = {}
        for chunk in chunks:
            self._sizes[chunk.chunk] = len(chunk.subjects)
            self._chunks[chunk.chunk] = FinishedChunk(chunk=chunk.chunk)
            self.put(chunk)

    def __len__(self) -> int:
        """How many chunks are not finished."""
        return len(self._chunks)

    def put(self, part: Part) -> None:
        """Let a part wait."""
        heapq.heappush(self._waiting, (-sum(part.bounds), part.chunk, part.subjects, part))

    def take(self) -> Part | None:
        """The next part to work on, if one waits."""
        return heapq.heappop(self._waiting)[-1] if self._waiting else None

    def accept(self, part: Part, answers: Answers) -> FinishedChunk | None:
        """Keep the answers of a part; the chunk, if this was the last of it."""
        self._chunks[part.chunk].answers.update(answers)
        return self._complete(part.chunk)

    def fail(self, part: Part, reason: str, *, sudden: bool = False) -> FinishedChunk | None:
        """Try again, in halves, or give up on the one subject; the chunk, if that ends it.

        `sudden` is the death of a worker, which may have had another cause.
        """
        if sudden and part.patient:
            self.put(part.retry())
        elif len(part.subjects) > 1:
            for half in part.halves():
                self.put(half)
        else:
            self._chunks[part.chunk].failures[part.subjects[0]] = reason
        return self._complete(part.chunk)

    def _complete(self, chunk: int) -> FinishedChunk | None:
        if len(self._chunks[chunk]) < self._sizes[chunk]:
            return None
        return self._chunks.pop(chunk)


class Executor(Protocol):
    """Whoever works on the chunks."""

    def run(
        self, job: "AuditJob", queue: ChunkQueue, say: Say
    ) -> Generator[FinishedChunk, None, None]:
        """Hand out parts until every chunk is finished; chunks come in any order."""
        ...


class InProcess:
    """Works on the chunks in this process: nothing to start, and nothing that survives a crash."""

    def run(
        self, job: "AuditJob", queue: ChunkQueue, say: Say
    ) -> Generator[FinishedChunk, None, None]:
        """Work on part after part until every chunk is finished."""
        work = job.open()
        while (part := queue.take()) is not None:
            answer = work(part)
            if isinstance(answer, Failed):
                say(f"{part} failed ({answer.reason})")
                finished = queue.fail(part, answer.reason)
            else:
                finished = queue.accept(part, answer)
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

    def advance(self, subjects: int, queries: int) -> None:
        """Some more subjects are done, with this many queries."""

    def stage(self, doing: str, done: int = 0, total: int | None = None) -> None:
        """Something other than subjects takes time; so many steps of it are done, if they count."""

    def say(self, text: str) -> None:
        """Something happened that a person may want to read."""
