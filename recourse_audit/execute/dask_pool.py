"""The only door to Dask: the same parts, worked on by a cluster that somebody else has started.

Dask gives the parts of a worker that died to another worker. What was there when several workers
died comes back to us, and is halved like anything else that fails. Dask gives a worker its next
part before it needs it, so a part that comes back may only have been waiting beside the one that
killed the worker: a single subject is called an error only after a last try alone.
"""

import logging
import os
from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock, Timer
from typing import Any

from recourse_audit.errors import AuditError, InputError
from recourse_audit.execute.process_pool import Failed, Say, settle
from recourse_audit.execute.worker import (
    ANSWERS,
    Answers,
    AuditJob,
    ChunkQueue,
    FinishedChunk,
    Part,
    Worker,
)

SECONDS_TO_CONNECT = 20.0
PARTS_PER_WORKER = 3

_turn = Lock()
_opened: dict[tuple[str, int], Worker] = {}


def work_on(job: AuditJob, part: Part, timeout: float) -> Answers | Failed:
    """What a worker of the cluster does; one part at a time, whatever its number of threads.

    A part that takes too long ends the worker, since nothing else ends a model that hangs.
    """
    with _turn:
        answers = job.folder / ANSWERS
        key = (str(answers), answers.stat().st_mtime_ns if answers.exists() else 0)
        if key not in _opened:
            worker = Worker(job)
            _opened.clear()
            _opened[key] = worker
        overdue = Timer(timeout, os._exit, (1,))
        overdue.daemon = True
        overdue.start()
        try:
            return _opened[key].work(part)
        finally:
            overdue.cancel()


class DaskPool:
    """Workers of a cluster, by the address of its scheduler; a part may take `timeout` seconds."""

    def __init__(self, address: str, *, timeout: float) -> None:
        self._address = address
        self._timeout = timeout

    def run(
        self, job: AuditJob, queue: ChunkQueue, say: Say
    ) -> Generator[FinishedChunk, None, None]:
        distributed = _import_distributed()
        with self._connect(distributed) as client:
            room = PARTS_PER_WORKER * max(1, len(client.scheduler_info(n_workers=-1)["workers"]))
            running: dict[str, Part] = {}
            suspects: list[Part] = []
            answers = distributed.as_completed(loop=client.loop)

            def submit(part: Part) -> None:
                future = client.submit(work_on, job, part, self._timeout, pure=False)
                running[future.key] = part
                answers.add(future)

            def hand_out() -> None:
                while len(running) < room and (part := queue.take()) is not None:
                    submit(part)
                if suspects and not running:
                    submit(suspects[0])

            with self._translate(distributed):
                hand_out()
            for future in answers:
                part = running.pop(future.key)
                answer = self._fetch(distributed, future)
                killed = isinstance(answer, distributed.KilledWorker)
                if killed and len(part.subjects) == 1 and part not in suspects:
                    suspects.append(part)
                else:
                    suspects = [suspect for suspect in suspects if suspect != part]
                    if (finished := self._hear(answer, part, queue, say)) is not None:
                        yield finished
                with self._translate(distributed):
                    hand_out()

    def _fetch(self, distributed: Any, future: Any) -> Any:
        """What a worker answered, or the exception that says why there is no answer."""
        with self._translate(distributed):
            try:
                if future.status in ("finished", "error"):
                    return future.result() if future.status == "finished" else future.exception()
            finally:
                future.release()
        raise self._scheduler_gone()

    def _hear(self, answer: Any, part: Part, queue: ChunkQueue, say: Say) -> FinishedChunk | None:
        if not isinstance(answer, BaseException):
            return settle(queue, part, answer, say)
        if isinstance(answer, _import_distributed().KilledWorker):
            reason = (
                f"the worker processes ended, or it took longer than {self._timeout:g} "
                "seconds (--timeout)"
            )
            say(f"{part} will be tried again: {reason}")
            return queue.fail(part, reason)
        if isinstance(answer, AuditError):
            raise InputError(str(answer))
        raise InputError(
            f"{self._address}: a worker of the cluster cannot work ({type(answer).__name__}: "
            f"{answer}); install the same version of this program on all machines"
        )

    @contextmanager
    def _translate(self, distributed: Any) -> Generator[None, None, None]:
        """Whatever Dask raises where nothing but Dask is asked means that it cannot be reached."""
        try:
            yield
        except (OSError, distributed.CancelledError, distributed.client.ClosedClientError):
            raise self._scheduler_gone() from None

    def _scheduler_gone(self) -> InputError:
        return InputError(
            f"{self._address}: the scheduler has gone; start it again and rerun the same command "
            "to resume"
        )

    @contextmanager
    def _connect(self, distributed: Any) -> Generator[Any, None, None]:
        _silence()
        try:
            client = distributed.Client(
                self._address, timeout=SECONDS_TO_CONNECT, set_as_default=False
            )
        except (OSError, ValueError) as error:
            reason = str(error).split("\n")[0]
            raise InputError(
                f"{self._address}: no Dask scheduler answers there ({reason}); check --scheduler"
            ) from None
        with client:
            try:
                client.wait_for_workers(1, timeout=SECONDS_TO_CONNECT)
            except TimeoutError:
                raise InputError(
                    f"{self._address}: the scheduler has no workers; start some with `dask worker "
                    f"{self._address}`"
                ) from None
            yield client


def _silence() -> None:
    """Have Dask print no tracebacks: some of its loggers have a level of their own."""
    for name in [*logging.root.manager.loggerDict]:
        if name.split(".")[0] in {"distributed", "tornado"}:
            logging.getLogger(name).setLevel(logging.CRITICAL)


def _import_distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise InputError(
            "--scheduler needs Dask; install it with pip install 'recourse-audit[cluster]'"
        ) from None
    return distributed
