"""A model file in onnxruntime: opened, asked, and its failures put into words.

Nothing in this project reads the model's nodes or initialisers, and every call of the runtime ends
when its time is up, or when it asks for more memory than it may have.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import LimitError, ModelError
from recourse_audit.graph.arrays import Floats
from recourse_audit.model.calls import OutOfTimeError
from recourse_audit.model.feeds import Feeder
from recourse_audit.model.files import ModelFiles
from recourse_audit.model.limits import LARGE_OR_HOSTILE, Limits
from recourse_audit.model.memory import is_out_of_memory
from recourse_audit.model.queries import Query
from recourse_audit.model.roles import assign_roles
from recourse_audit.model.runtime import onnxruntime
from recourse_audit.model.sessions import (
    FAILURES,
    element_type,
    first_line,
    open_session,
    run_session,
)
from recourse_audit.model.signature import InputPort, OutputPort, Signature
from recourse_audit.settings import ModelSettings

# Outputs of these types hold other values, and are not read.
_CONTAINERS = ("seq(", "map(", "optional(", "sparse_tensor(")
# A query with more nodes and arcs than this gets a session of its own.
LARGE = 2**18


class OnnxModel:
    """A sealed model in onnxruntime, one thread, ready to be asked.

    Parameters
    ----------
    complete
        Whether an input without a role is refused.
    timeout
        Replaces that of the settings: how many seconds opening the file may take, and each answer.
    in_worker
        Whether this process works for a pool, which replaces it if the model cannot be stopped.
    """

    def __init__(
        self,
        settings: ModelSettings,
        *,
        complete: bool = True,
        timeout: float | None = None,
        in_worker: bool = False,
    ) -> None:
        self.path = settings.path
        self._files = ModelFiles(settings.path)
        self._limits = Limits(settings, timeout=timeout, in_worker=in_worker)
        session = open_session(self._files, self._limits)
        self._session: onnxruntime.InferenceSession | None = session
        ports = tuple(
            InputPort(name=p.name, dtype=element_type(p.type), shape=tuple(p.shape))
            for p in session.get_inputs()
        )
        outputs = tuple(
            OutputPort(name=p.name, dtype=element_type(p.type), shape=tuple(p.shape))
            for p in session.get_outputs()
        )
        self.signature = Signature(
            inputs=assign_roles(ports, settings, complete=complete),
            output=self._first_guess(outputs, settings),
            outputs=outputs,
        )
        self._feeder = Feeder(self.signature, settings)
        self._target = self.signature.port("target")

    @property
    def feature_type(self) -> type:
        port = self.signature.port("features")
        return np.dtype(port.dtype).type if port else np.float32

    @property
    def weighs_ties(self) -> bool:
        return self._feeder.weighs_ties

    @property
    def node_room(self) -> int | None:
        return self._feeder.node_room

    @property
    def arc_room(self) -> int | None:
        return self._feeder.arc_room

    @property
    def files(self) -> tuple[Path, ...]:
        """The model file, and the data files that belong to it."""
        return self._files.paths

    @property
    def digests(self) -> dict[str, str]:
        """SHA-256 of what the runtime opened, by the name of the file."""
        return self._files.digests

    def digest(self) -> str:
        """One SHA-256 for all that the runtime opened: for a single file, that of its bytes."""
        return self._files.digest()

    @property
    def free_memory(self) -> int | None:
        """How many bytes a query may take now; None where nobody knows."""
        return self._limits.memory.free

    def begin_work(self) -> None:
        """Limit the memory of a worker from now on, as everything else has been opened."""
        self._limits.hold_from_now_on()

    def with_output(self, output: OutputPort) -> None:
        """Read this output from now on; what has been found out about it is recorded."""
        listed = tuple(
            output if port.name == output.name else port for port in self.signature.outputs
        )
        self.signature = replace(self.signature, output=output, outputs=listed)

    def with_outputs(self, outputs: tuple[OutputPort, ...]) -> None:
        """Record what has been found out about all outputs; the one that is read stays the same."""
        self.signature = replace(self.signature, outputs=outputs)

    def reseed(self, seed: int) -> None:
        """Restart the runtime's random numbers; this affects only models that draw any."""
        onnxruntime.set_seed(seed)

    def ask(self, query: Query) -> Floats:
        """Run one query; rows come in the order asked for, even from a model with fixed sizes."""
        (raw,) = self._answers(query, [self.signature.output.name])
        rows = self.rows_of(raw)
        if self._target is not None and len(rows) == len(query.rows):
            return rows
        slots = self._feeder.slots(len(query.nodes), query.arc_count)
        if len(rows) == slots:
            return rows[query.rows]
        raise ModelError(
            f"{self.path}: the output {self.signature.output.name!r} has {len(rows)} rows for "
            f"{slots} nodes, so it is not a node classifier; name another output with "
            "model.output_name"
        )

    def ask_every(self, query: Query) -> dict[str, NDArray[Any]]:
        """Run one query and return every output that holds numbers, by name, as it comes."""
        names = [port.name for port in self.signature.outputs if port.numeric]
        return dict(zip(names, self._answers(query, names), strict=True)) if names else {}

    def sizes(self, query: Query) -> tuple[int, int]:
        """How many nodes and arcs a query tells the model of."""
        return self._feeder.sizes(query)

    def rows_of(self, raw: NDArray[Any]) -> NDArray[Any]:
        """An output as a table; a single axis is a column, or the row of the only target."""
        one_row = self._target is not None and self._target.shape in ((), (1,))
        columns = raw.shape[-1] if raw.ndim > 1 else raw.size if one_row else 1
        return raw.reshape(-1, columns) if raw.size else raw.reshape(0, 1)

    def _answers(self, query: Query, names: list[str]) -> list[NDArray[Any]]:
        asked = f"a query of {len(query.nodes):,} nodes and {query.arc_count:,} arcs"
        session = self._session_for(query)
        keeps = session is self._session
        try:
            return run_session(session, names, self._feeder.fill(query), self._limits, keeps=keeps)
        except OutOfTimeError:
            raise LimitError(
                f"{self.path}: the model did not answer {asked} within {self._limits.seconds:g} "
                "seconds; if it is only slow, allow more with model.timeout or --timeout; "
                "otherwise ask for another export"
            ) from None
        except FAILURES as error:
            if is_out_of_memory(error):
                self._close()
                raise LimitError(
                    f"{self.path}: the model needs more memory for {asked} {self._limits.memory}; "
                    f"{LARGE_OR_HOSTILE}"
                ) from None
            raise ModelError(
                f"{self.path}: onnxruntime could not answer {asked}: {first_line(error)}"
            ) from None

    def _session_for(self, query: Query) -> onnxruntime.InferenceSession:
        """The open session; for a large query, a new one that frees its memory afterwards.

        The runtime keeps the memory of a query for the next one. That makes small queries fast, but
        after a query about a million nodes it would hold gigabytes until the end.
        """
        if len(query.nodes) + query.arc_count > LARGE:
            return open_session(self._files, self._limits, keeps_memory=False)
        if self._session is None:
            self._session = open_session(self._files, self._limits)
        return self._session

    def _close(self) -> None:
        """Give back what the session holds; the next query opens another."""
        self._session = None
        self._limits.memory.forget()

    def _first_guess(self, ports: tuple[OutputPort, ...], settings: ModelSettings) -> OutputPort:
        """The output that the settings name; else the first with scores, until one is chosen."""
        names = ", ".join(port.name for port in ports)
        if settings.output_name is not None:
            named = [port for port in ports if port.name == settings.output_name]
            if not named:
                raise ModelError(
                    f"{self.path}: model.output_name is {settings.output_name!r}, but the outputs "
                    f"are {names}"
                )
            ports = (named[0],)
        usable = [port for port in ports if port.floating]
        if usable:
            return usable[0]
        if any(port.dtype.startswith(_CONTAINERS) for port in ports):
            raise ModelError(
                f"{self.path}: no output is a table of floating-point scores (outputs: {names}): "
                "scores come as a sequence of maps, as skl2onnx writes them; export the model "
                "again with zipmap=False"
            )
        raise ModelError(
            f"{self.path}: no output holds floating-point scores (outputs: {names}); export "
            "the class scores, not the chosen class"
        )
