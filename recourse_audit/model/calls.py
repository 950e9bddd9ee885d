"""Calls of the runtime can be ended, by a time limit and by Ctrl-C.

A call that runs in the main thread cannot: Python handles a signal only when the call returns. So
each one runs in a thread of its own, while whoever asked waits for it. A call that has to end is
told so. One that does not listen (a single operator that takes an hour, say) is left behind: its
thread never keeps the process from ending.
"""

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from queue import SimpleQueue
from typing import TypeVar

SECONDS_TO_STOP = 1.0

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
                future.set_exception(error)

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
    return future.result()
