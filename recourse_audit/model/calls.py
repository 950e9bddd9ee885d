"""Calls of the runtime can be ended, by a time limit and by Ctrl-C.

A call that runs in the main thread cannot: Python handles a signal only when the call returns. So
each one runs in a thread of its own, while whoever asked waits for it. A call that has to end is
told so. One that does not listen (a single operator that takes an hour, say) is left behind: its
thread never keeps the process from ending.

A worker process hears no Ctrl-C, and handing over a call takes as long as a small query. So its
calls run where they are made, and another thread watches them. One that does not listen ends the
process, which its pool replaces.
"""

import math
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from queue import SimpleQueue
from typing import TypeVar

SECONDS_TO_STOP = 1.0
# How often a watched call is looked at within its time.
LOOKS = 10
# The exit code of a worker whose call did not listen.
DEAF = 75

Answer = TypeVar("Answer")


class OutOfTimeError(Exception):
    """A call did not end within its time limit."""


class _Thread:
    """Runs calls one after the other, for whoever has taken it from the idle ones."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        threading.Thread(target=self._serve, daemon=True, name="onnxruntime").start()

    def begin(self, call: Callable[[], Answer]) -> "Future[Answer]":
        future: Future[Answer] = Future()

        def act() -> None:
            try:
                future.set_result(call())
            except BaseException as error:  # whoever waits gets it, whatever it is
                # Its traceback would hold this frame, which holds the future, which holds it.
                future.set_exception(error.with_traceback(None))

        self._calls.put(act)
        return future

    def _serve(self) -> None:
        while True:
            self._calls.get()()


_idle: list[_Thread] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # a fork takes no threads along


def call_within(seconds: float, call: Callable[[], Answer], stop: Callable[[], None]) -> Answer:
    """Run a call in another thread, and wait for its result.

    Parameters
    ----------
    stop
        Tells the call to end; used when time is up, and when the wait is interrupted.
    """
    thread = _idle.pop() if _idle else _Thread()
    future = thread.begin(call)
    in_time = False
    try:
        wait((future,), seconds)
        in_time = future.done()
    finally:
        if not in_time:
            stop()
            wait((future,), SECONDS_TO_STOP)
        if future.done():
            _idle.append(thread)
    if not in_time:
        raise OutOfTimeError
    try:
        return future.result()
    finally:
        del future  # as above: what the call holds, memory included, goes with its error


class Watch:
    """Ends calls that take longer than some seconds, and the process with one that does not listen.

    Time is counted in looks, so a call may take a tenth longer.
    """

    def __init__(self, seconds: float) -> None:
        self._pause = seconds / LOOKS
        self._patience = math.ceil(SECONDS_TO_STOP / self._pause)
        self._running: _Running | None = None
        threading.Thread(target=self._look, daemon=True, name="watch").start()

    def call(self, call: Callable[[], Answer], stop: Callable[[], None]) -> Answer:
        """Run a call here; `stop` tells it to end, from the thread that watches."""
        self._running = running = _Running(stop)
        try:
            return call()
        except Exception:
            if running.stopped:
                raise OutOfTimeError from None
            raise
        finally:
            self._running = None

    def _look(self) -> None:
        pause = threading.Event()
        while True:
            pause.wait(self._pause)
            running = self._running
            if running is None:
                continue
            running.looks += 1
            if running.looks > LOOKS and not running.stopped:
                running.stopped = True
                running.stop()
            elif running.looks > LOOKS + self._patience and running is self._running:
                os._exit(DEAF)


class _Running:
    """A call that is watched: how often it was looked at, and whether it was told to end."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self.stop = stop
        self.looks = 0
        self.stopped = False
