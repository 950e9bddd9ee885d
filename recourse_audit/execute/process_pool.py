"""Work on one machine: one process per worker, each with a pipe of its own.

Whose pipe ends says who died, so that only the task of that worker is tried again. Workers end
with their parent, whatever ends it.
"""

import signal
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from ctypes import CDLL
from dataclasses import dataclass
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from os import _exit
from threading import Thread
from time import monotonic
from typing import Generic, Protocol, TypeVar

from recourse_audit.errors import AuditError, InputError
from recourse_audit.model.limits import DEAF

READY = "ready"
SECONDS_TO_START = 600.0
SECONDS_TO_END = 5.0
FAILED_STARTS = 3
SIGNAL_AT_PARENTS_DEATH = 1  # PR_SET_PDEATHSIG of prctl(2)

Say = Callable[[str], None]
Task = TypeVar("Task")
Answer = TypeVar("Answer")
Finished = TypeVar("Finished")
Task_contra = TypeVar("Task_contra", contravariant=True)
Answer_contra = TypeVar("Answer_contra", contravariant=True)
Answer_co = TypeVar("Answer_co", covariant=True)
Finished_co = TypeVar("Finished_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Why a task could not be done."""

    reason: str


class Job(Protocol[Task_contra, Answer_co]):
    """What every worker is told, small enough to be sent; it opens what answers tasks."""

    def open(self) -> Callable[[Task_contra], Answer_co | Failed]: ...


class Queue(Protocol[Task, Answer_contra, Finished_co]):
    """Hands out tasks and takes answers; says what is finished, if an answer finishes something."""

    def __len__(self) -> int:
        """How much is not finished."""

    def take(self) -> Task | None:
        """The next task, if one waits."""

    def accept(self, task: Task, answer: Answer_contra) -> Finished_co | None: ...

    def fail(self, task: Task, reason: str, *, sudden: bool = False) -> Finished_co | None:
        """A task could not be done; `sudden` is the death of a worker, whatever caused it."""


def settle(
    queue: Queue[Task, Answer, Finished], task: Task, answer: Answer | Failed, say: Say
) -> Finished | None:
    """Hand an answer to the queue; what is finished with it, if anything is."""
    if not isinstance(answer, Failed):
        return queue.accept(task, answer)
    say(f"{task} failed ({answer.reason})")
    return queue.fail(task, answer.reason)


def serve(connection: Connection, job: Job[Task, Answer]) -> None:
    """What a worker process does: open the job, then answer each task until the pipe closes."""
    if sys.platform == "linux":  # has it end this process with its parent, also in a long call
        CDLL(None).prctl(SIGNAL_AT_PARENTS_DEATH, signal.SIGKILL)
    Thread(target=_end_with_parent, daemon=True).start()
    try:
        answer = job.open()
    except AuditError as error:
        connection.send(Failed(reason=str(error)))
        return
    connection.send(READY)
    while True:
        try:
            task = connection.recv()
        except EOFError:
            return
        answered = answer(task)
        with suppress(OSError):  # the parent may have been killed, which ends this process, too
            connection.send(answered)


def _end_with_parent() -> None:
    """Wait for the parent's end on systems that do not tell, or if it came before we asked."""
    parent = parent_process()
    if parent is not None:
        parent.join()
    _exit(1)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Processes started here inherit that Ctrl-C is for the parent.

    They must not learn it themselves: until then each would answer Ctrl-C with a traceback.
    """
    resource_tracker.ensure_running()  # starting it with the first worker would unblock Ctrl-C
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@dataclass(slots=True, kw_only=True)
class _Worker(Generic[Task]):
    """A worker process, the task it has, and until when it may take."""

    process: SpawnProcess
    connection: Connection
    deadline: float
    ready: bool = False
    task: Task | None = None

    def dismiss(self) -> int:
        """End the process at once; its exit code."""
        self.connection.close()
        self.process.kill()
        self.process.join()
        code = self.process.exitcode
        self.process.close()
        return code or 0


class ProcessPool(Generic[Task, Answer, Finished]):
    """Processes on this machine; a task may take `timeout` seconds of the `clock`."""

    def __init__(
        self,
        count: int,
        *,
        timeout: float,
        clock: Callable[[], float] = monotonic,
        serve: Callable[[Connection, Job[Task, Answer]], None] = serve,
    ) -> None:
        self._count = count
        self._timeout = timeout
        self._clock = clock
        self._serve = serve
        self._workers: list[_Worker[Task]] = []
        self._failed_starts = 0

    def run(
        self, job: Job[Task, Answer], queue: Queue[Task, Answer, Finished], say: Say
    ) -> Generator[Finished, None, None]:
        """Hand out tasks until everything is finished; end all workers, whatever happens."""
        try:
            while len(queue):
                self._hand_out(job, queue)
                for worker in self._wait_for_workers():
                    finished = self._hear(worker, queue, say)
                    if finished is not None:
                        yield finished
        finally:
            for worker in self._workers:
                worker.dismiss()
            self._workers.clear()

    def _hand_out(self, job: Job[Task, Answer], queue: Queue[Task, Answer, Finished]) -> None:
        """Give every idle worker a task; start workers that are missing."""
        while len(self._workers) < min(self._count, len(queue)):
            self._workers.append(self._start(job))
        for worker in self._workers:
            if worker.ready and worker.task is None:
                worker.task = queue.take()
                worker.deadline = self._clock() + self._timeout
                if worker.task is not None:
                    # If it died while it waited, its pipe says so when it is next heard.
                    with suppress(OSError):
                        worker.connection.send(worker.task)

    def _start(self, job: Job[Task, Answer]) -> _Worker[Task]:
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=self._serve, args=(theirs, job), daemon=True)
        with _without_interrupts():
            process.start()
        theirs.close()
        return _Worker(process=process, connection=ours, deadline=self._clock() + SECONDS_TO_START)

    def _wait_for_workers(self) -> list[_Worker[Task]]:
        """Wait until some worker says something, dies, or is overdue."""
        busy = [worker for worker in self._workers if worker.task is not None or not worker.ready]
        rest = max(0.0, min(worker.deadline for worker in busy) - self._clock())
        speaking = wait([worker.connection for worker in self._workers], rest)
        now = self._clock()
        overdue = [worker for worker in busy if worker.deadline <= now]
        return [
            worker for worker in self._workers if worker.connection in speaking or worker in overdue
        ]

    def _hear(
        self, worker: _Worker[Task], queue: Queue[Task, Answer, Finished], say: Say
    ) -> Finished | None:
        if not worker.connection.poll():
            return self._replace_lost(worker, queue, say, overdue=True)
        try:
            answer = worker.connection.recv()
        except (EOFError, OSError):
            return self._replace_lost(worker, queue, say, overdue=False)
        if not worker.ready:
            if isinstance(answer, Failed):
                raise InputError(answer.reason)
            worker.ready, self._failed_starts = True, 0
            return None
        task, worker.task = worker.task, None
        assert task is not None, "nobody answers without a question"
        return settle(queue, task, answer, say)

    def _replace_lost(
        self,
        worker: _Worker[Task],
        queue: Queue[Task, Answer, Finished],
        say: Say,
        *,
        overdue: bool,
    ) -> Finished | None:
        self._workers.remove(worker)
        if not overdue:
            worker.process.join(SECONDS_TO_END)  # so that its own end is seen, not ours
        code = worker.dismiss()
        stuck = code == DEAF
        if overdue:
            reason = f"it took longer than {self._timeout:g} seconds (--timeout)"
        elif stuck:
            reason = "a query took longer than model.timeout, and the model could not be stopped"
        else:
            reason = f"the worker process ended ({_ending(code)})"
        if worker.task is None:
            self._failed_starts += not worker.ready
            if self._failed_starts >= FAILED_STARTS:
                raise AuditError(
                    f"no worker could start: {reason}; try fewer --workers, or more memory"
                )
            return None
        say(f"{worker.task} will be tried again: {reason}")
        return queue.fail(worker.task, reason, sudden=not (overdue or stuck))


def _ending(code: int) -> str:
    """How a process ended, in words that do not depend on when or where."""
    if code >= 0:
        return f"exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"{name}, as when memory runs out" if -code == signal.SIGKILL else name
