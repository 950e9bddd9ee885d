"""How much time and memory the calls of the runtime may take in this process."""

from collections.abc import Callable
from typing import TypeVar

from recourse_audit.errors import InputError
from recourse_audit.model.calls import Watch, call_within
from recourse_audit.model.memory import MemoryLimit
from recourse_audit.settings import ModelSettings
from recourse_audit.settings.inputs import LONGEST_TIMEOUT, SHORTEST_TIMEOUT

LARGE_OR_HOSTILE = "if it is only large, allow more; otherwise ask for another export"

Answer = TypeVar("Answer")


class Limits:
    """The limits of one sealed file.

    Parameters
    ----------
    timeout
        Replaces that of the settings: how many seconds opening the file may take, and each answer.
    in_worker
        Whether this process works for a pool, which replaces it if the file cannot be stopped.
    """

    def __init__(
        self, settings: ModelSettings, *, timeout: float | None = None, in_worker: bool = False
    ) -> None:
        self.seconds = settings.timeout if timeout is None else timeout
        if not SHORTEST_TIMEOUT <= self.seconds <= LONGEST_TIMEOUT:
            raise InputError(
                f"the timeout must be from {SHORTEST_TIMEOUT} to {LONGEST_TIMEOUT:,} seconds (got "
                f"{self.seconds:g})"
            )
        self.memory = MemoryLimit(settings.memory)
        self._watch = Watch(self.seconds) if in_worker else None

    def open(self, call: Callable[[], Answer], stop: Callable[[], None], *, keeps: bool) -> Answer:
        """Run a call that opens a session; what it takes counts from then on if it `keeps` it."""
        return call_within(self.seconds, lambda: self.memory.hold(call, keeps=keeps), stop)

    def run(self, call: Callable[[], Answer], stop: Callable[[], None], *, keeps: bool) -> Answer:
        """Run a call that asks; a worker's memory is limited anyway (`hold_from_now_on`)."""
        if self._watch is not None:
            return self._watch.call(call, stop)
        return self.open(call, stop, keeps=keeps)

    def hold_from_now_on(self) -> None:
        """Limit the memory of a worker until it ends."""
        if self._watch is not None:
            self.memory.hold_from_now_on()
