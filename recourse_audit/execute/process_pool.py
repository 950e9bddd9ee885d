"""Work on one machine: a process a worker, each with a pipe of its own.

Whose pipe ends says who died, so that only what that worker had in hand is tried again.
"""

import signal
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from os import _exit
from threading import Thread
from typing import Protocol

from recourse_audit.errors import AuditError, InputError
from recourse_audit.execute.chunks import Finished, Part, Queue
from recourse_audit.execute.worker import Failed, Worker, Workplace

READY = "ready"
SECONDS_TO_START = 600.0
SECONDS_TO_END = 5.0
FAILED_STARTS = 3

Say = Callable[[str], None]
Serve = Callable[[Connection, Workplace], None]


class Crew(Protocol):
    """Whoever works on the pieces."""

    def run(self, place: Workplace, queue: Queue, say: Say) -> Generator[Finished, None, None]:
        """Hand out parts until every piece is finished; pieces come in any order."""
        ...


def serve(connection: Connection, place: Workplace) -> None:
    """What a worker process does: open the audit, then answer each part until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who gives out work
    Thread(target=_end_with_parent, daemon=True).start()
    try:
        worker = Worker(place)
    except AuditError as error:
        connection.send(Failed(reason=str(error)))
        return
    connection.send(READY)
    answer_parts(connection, worker.work)


def answer_parts(connection: Connection, work: Callable[[Part], dict[int, str] | Failed]) -> None:
    """Answer parts until nobody asks any more."""
    while True:
        try:
            part = connection.recv()
        except EOFError:
            return
        connection.send(work(part))


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
    _exit(1)


@dataclass(slots=True, kw_only=True)
class _Hand:
    """A worker process, what it has in hand, and until when it may take."""

    process: SpawnProcess
    connection: Connection
    deadline: float
    ready: bool = False
    part: Part | None = None

    def dismiss(self) -> int:
        """End the process at once; its exit code."""
        self.connection.close()
        self.process.kill()
        self.process.join()
        code = self.process.exitcode
        self.process.close()
        return code or 0


class Workers:
    """Processes on this machine.

    Parameters
    ----------
    timeout
        Seconds that a part may take.
    clock
        Seconds that never go back.
    serve
        What a worker process does.
    """

    def __init__(
        self, count: int, *, timeout: float, clock: Callable[[], float], serve: Serve = serve
    ) -> None:
        self._count = count
        self._timeout = timeout
        self._clock = clock
        self._serve = serve
        self._hands: list[_Hand] = []
        self._failed_starts = 0

    def run(self, place: Workplace, queue: Queue, say: Say) -> Generator[Finished, None, None]:
        """Hand out parts until every piece is finished; end all workers, whatever happens."""
        try:
            while len(queue):
                self._hand_out(place, queue)
                for hand in self._heard():
                    finished = self._hear(hand, queue, say)
                    if finished is not None:
                        yield finished
        finally:
            for hand in self._hands:
                hand.dismiss()
            self._hands.clear()

    def _hand_out(self, place: Workplace, queue: Queue) -> None:
        """Give every idle worker a part; start workers that are missing."""
        while len(self._hands) < min(self._count, len(queue)):
            self._hands.append(self._start(place))
        for hand in self._hands:
            if hand.ready and hand.part is None:
                hand.part = queue.take()
                hand.deadline = self._clock() + self._timeout
                if hand.part is not None:
                    self._send(hand, hand.part)

    def _send(self, hand: _Hand, part: Part) -> None:
        with suppress(OSError):  # it died while it waited; its pipe says so when next heard
            hand.connection.send(part)

    def _start(self, place: Workplace) -> _Hand:
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=self._serve, args=(theirs, place), daemon=True)
        process.start()
        theirs.close()
        return _Hand(process=process, connection=ours, deadline=self._clock() + SECONDS_TO_START)

    def _heard(self) -> list[_Hand]:
        """Wait until some worker says something, dies, or is overdue."""
        busy = [hand for hand in self._hands if hand.part is not None or not hand.ready]
        rest = max(0.0, min(hand.deadline for hand in busy) - self._clock())
        speaking = wait([hand.connection for hand in self._hands], rest)
        now = self._clock()
        overdue = [hand for hand in busy if hand.deadline <= now]
        return [hand for hand in self._hands if hand.connection in speaking or hand in overdue]

    def _hear(self, hand: _Hand, queue: Queue, say: Say) -> Finished | None:
        if not hand.connection.poll():
            return self._lost(hand, queue, say, overdue=True)
        try:
            answer = hand.connection.recv()
        except (EOFError, OSError):
            return self._lost(hand, queue, say, overdue=False)
        if not hand.ready:
            if isinstance(answer, Failed):
                raise InputError(answer.reason)
            hand.ready, self._failed_starts = True, 0
            return None
        part, hand.part = hand.part, None
        assert part is not None, "nobody answers without a question"
        if isinstance(answer, Failed):
            say(f"{_subjects(part)} could not be done ({answer.reason})")
            return queue.failed(part, answer.reason)
        return queue.done(part, answer)

    def _lost(self, hand: _Hand, queue: Queue, say: Say, *, overdue: bool) -> Finished | None:
        self._hands.remove(hand)
        if not overdue:
            hand.process.join(SECONDS_TO_END)  # so that its own end is seen, not ours
        code = hand.dismiss()
        if overdue:
            reason = f"it took longer than {self._timeout:g} seconds (--timeout)"
        else:
            reason = f"the process that worked on it ended ({_ending(code)})"
        if hand.part is None:
            self._failed_starts += not hand.ready
            if self._failed_starts >= FAILED_STARTS:
                raise AuditError(
                    f"no worker could start: {reason}; try fewer --workers, or more memory"
                )
            return None
        say(f"{_subjects(hand.part)} will be tried again: {reason}")
        return queue.failed(hand.part, reason, sudden=not overdue)


def _subjects(part: Part) -> str:
    return "1 subject" if len(part.subjects) == 1 else f"{len(part.subjects)} subjects"


def _ending(code: int) -> str:
    """How a process ended, in words that do not depend on when or where."""
    if code >= 0:
        return f"exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"{name}, as when memory runs out" if -code == signal.SIGKILL else name
