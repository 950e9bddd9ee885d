"""A model file in onnxruntime: opened, asked, and its failures put into words.

The only module that imports onnxruntime, after turning its telemetry off: since 1.29 its builds for
Linux and macOS report to their maker. On import they write an id of the machine to a file, and for
every model that is opened they send its file name, its hashes and more. An audit is nobody else's
business. The variable is read once, when the library is loaded; workers inherit it.

The model, its preprocessing and its head go through the same door, with the same checks: the
runtime gets the bytes that were hashed and nothing else, nothing here reads nodes or initialisers,
and every call ends when its time is up or when it asks for more memory than it may have.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import InputError, LimitError, ModelError
from recourse_audit.graph.graph import Floats, Kinds
from recourse_audit.model.kind_roles import assign_kind_roles, invent_kinds, is_joined
from recourse_audit.model.limits import (
    MemoryLimit,
    OutOfTimeError,
    Watch,
    call_within,
    is_out_of_memory,
)
from recourse_audit.model.queries import Feeder, Query
from recourse_audit.model.roles import (
    InputPort,
    OutputPort,
    Signature,
    assign_roles,
    check_complete,
)
from recourse_audit.model.sealed_files import SealedFile
from recourse_audit.model.split_queries import SplitFeeder
from recourse_audit.records.model import HeadReport
from recourse_audit.settings import ModelSettings
from recourse_audit.settings.inputs import LONGEST_TIMEOUT, SHORTEST_TIMEOUT

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime  # after the line above, or it has no effect
from onnxruntime.capi import onnxruntime_pybind11_state as runtime_errors

# Every exception class that onnxruntime's binding defines; versions differ in a few of them.
RUNTIME_ERRORS: tuple[type[Exception], ...] = tuple(
    kind
    for kind in vars(runtime_errors).values()
    if isinstance(kind, type) and issubclass(kind, Exception)
)
# pybind11 raises these as well, for example for a message that is not text.
FAILURES: tuple[type[Exception], ...] = (
    *RUNTIME_ERRORS,
    *(ValueError, RuntimeError, MemoryError, OutOfTimeError),
)
_TYPES = {"float": "float32", "double": "float64"}  # others are called as in numpy
_UNKNOWN_OPERATOR = (
    "is not a registered function/op",
    "No Op registered",
    "Could not find an implementation",
)
# Where the runtime looks for data files of a model that it gets as bytes.
_DATA_FOLDER = "session.model_external_initializers_file_folder_path"
# Outputs of these types hold other values, and are not read.
_CONTAINERS = ("seq(", "map(", "optional(", "sparse_tensor(")
# A query with more nodes and arcs than this gets a session of its own.
LARGE = 2**18
# How many nodes of a kind are made up for a model that comes without a graph.
MADE_UP_ROWS = 64


class Session(SealedFile):
    """One sealed file in the runtime, one thread, within limits of time and memory.

    For messages, `what` names the file, and `about` leads from *answer* to what was asked.

    Parameters
    ----------
    timeout
        Replaces that of the settings: how many seconds opening the file may take, and each answer.
    in_worker
        Whether this process works for a pool, which replaces it if the file cannot be stopped.
    """

    what, about = "the model", ""

    def __init__(
        self,
        path: Path,
        settings: ModelSettings,
        *,
        timeout: float | None = None,
        in_worker: bool = False,
    ) -> None:
        super().__init__(path)
        self._seconds = settings.timeout if timeout is None else timeout
        if not SHORTEST_TIMEOUT <= self._seconds <= LONGEST_TIMEOUT:
            raise InputError(
                f"the timeout must be from {SHORTEST_TIMEOUT} to {LONGEST_TIMEOUT:,} seconds (got "
                f"{self._seconds:g})"
            )
        self._memory = MemoryLimit(settings.memory)
        self._watch = Watch(self._seconds) if in_worker else None
        session = self._open()
        self._session: onnxruntime.InferenceSession | None = session
        self.inputs = tuple(
            InputPort(name=p.name, dtype=element_type(p.type), shape=tuple(p.shape))
            for p in session.get_inputs()
        )
        self.outputs = tuple(
            OutputPort(name=p.name, dtype=element_type(p.type), shape=tuple(p.shape))
            for p in session.get_outputs()
        )

    def run(
        self,
        names: Sequence[str],
        feeds: Mapping[str, NDArray[Any]],
        asked: str,
        *,
        alone: bool = False,
    ) -> list[NDArray[Any]]:
        """The outputs with some names; `asked` says in messages what was asked.

        The runtime keeps the memory of a query for the next one. That makes small queries fast, but
        after a query about a million nodes it would hold gigabytes until the end; so one that is
        asked `alone` gets a session of its own, which frees its memory afterwards.
        """
        if self._session is None:
            self._session = self._open()
        session = self._open(keeps_memory=False) if alone else self._session
        options = onnxruntime.RunOptions()
        run: Callable[[], list[NDArray[Any]]] = partial(session.run, names, feeds, options)

        def stop() -> None:
            options.terminate = True

        try:
            if self._watch is not None:  # a worker is under the limit of memory anyway
                return self._watch.call(run, stop)
            hold = partial(self._memory.hold, run, keeps=not alone)
            return call_within(self._seconds, hold, stop)
        except FAILURES as error:
            if is_out_of_memory(error):
                self._session = None  # gives back what it holds; the next query opens another
                self._memory.forget()
            self._check_limits(error, f"answer {self.about}{asked}", f"for {asked}")
            raise ModelError(
                f"{self.path}: onnxruntime could not answer {self.about}{asked}: "
                f"{first_line(error)}"
            ) from None

    def _open(self, *, keeps_memory: bool = True) -> onnxruntime.InferenceSession:
        """Open a session from bytes that were hashed, and from data files that were."""
        options = onnxruntime.SessionOptions()
        options.enable_cpu_mem_arena = keeps_memory
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        with self.open_private() as (content, folder):
            options.add_session_config_entry(_DATA_FOLDER, str(folder))
            try:
                hold = partial(self._memory.hold, partial(_session, content, options))
                return call_within(
                    self._seconds,
                    partial(hold, keeps=keeps_memory),
                    partial(options.set_load_cancellation_flag, True),
                )
            except FAILURES as error:
                self._check_limits(error, "open", "to be opened")
                raise self._refusal(first_line(error), str(folder)) from None

    def _check_limits(self, error: Exception, act: str, need: str) -> None:
        """Say of a call that failed if it took too long or too much."""
        if isinstance(error, OutOfTimeError):
            raise LimitError(
                f"{self.path}: {self.what} did not {act} within {self._seconds:g} seconds; "
                f"if it is only {'large' if act == 'open' else 'slow'}, allow more with "
                "model.timeout or --timeout; otherwise ask for another export"
            ) from None
        if is_out_of_memory(error):
            raise LimitError(
                f"{self.path}: {self.what} needs more memory {need} {self._memory}; if it "
                "is only large, allow more; otherwise ask for another export"
            ) from None

    def _refusal(self, message: str, folder: str) -> ModelError:
        if folder in message:
            return ModelError(
                f"{self.path}: refers to data in another file in a way that cannot be accounted "
                f"for ({message.replace(folder, '…')}); save the model as one file"
            )
        if any(words in message for words in _UNKNOWN_OPERATOR):
            return ModelError(
                f"{self.path}: uses an operator that onnxruntime does not have ({message}); export "
                "it with standard operators"
            )
        return ModelError(
            f"{self.path}: is not an ONNX model that onnxruntime can open, or it was cut short "
            f"({message}); export or copy it again"
        )


def _session(content: bytes, options: onnxruntime.SessionOptions) -> onnxruntime.InferenceSession:
    session = onnxruntime.InferenceSession(
        content,
        options,
        providers=["CPUExecutionProvider"],
        # Otherwise active dropout between two layers is removed and never noticed.
        disabled_optimizers=["EliminateDropout"],
        # There is nothing to fall back to, and the attempt is printed on stdout.
        enable_fallback=0,
    )
    # A damaged file may contain names that are not text.
    _ = [(port.name, port.shape) for port in (*session.get_inputs(), *session.get_outputs())]
    return session


def element_type(name: str) -> str:
    """The numpy name of what a tensor holds, or the runtime's own where there is none."""
    inner = name.removeprefix("tensor(").removesuffix(")") if name.startswith("tensor(") else name
    return _TYPES.get(inner, inner)


def first_line(error: Exception) -> str:
    """The useful part of a runtime message: one line, without its prefix."""
    text = " ".join(str(error).split())
    text = re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", text)
    # Nobody here can use the place in the runtime's own source code.
    return re.sub(r"\S*onnxruntime_src/\S+:\d+ .*?\) (?=[A-Z])", "", text)[:300].rstrip(". ")


class OnnxModel(Session):
    """A sealed model in onnxruntime, ready to be asked.

    With `complete`, an input without a role is refused; `kinds` are those of the graph, if it has
    several. The rest is as for any session. `origin` is the file that has the answers, and
    `head_only` how many columns of the features its head alone takes.
    """

    feeder: Feeder | SplitFeeder
    head: Session | None = None
    head_report: HeadReport | None = None
    head_only = 0

    def __init__(
        self,
        settings: ModelSettings,
        *,
        kinds: Kinds | None = None,
        complete: bool = True,
        timeout: float | None = None,
        in_worker: bool = False,
    ) -> None:
        super().__init__(settings.path, settings, timeout=timeout, in_worker=in_worker)
        self._settings, self.origin = settings, self.path
        self.adopt(kinds, complete=complete)

    def adopt(self, kinds: Kinds | None, *, complete: bool = True) -> None:
        """Give every input its role, for a graph of these kinds."""
        settings, several = self._settings, kinds is not None and bool(kinds.relations)
        self.kinds = kinds
        if kinds is not None and several and not is_joined(self.inputs, settings):
            inputs = assign_kind_roles(self.inputs, settings, kinds, self._try)
            if complete:
                check_complete(inputs, settings)
        else:
            inputs = assign_roles(self.inputs, settings, complete=complete)
        key = "output_name" if settings.head is None else "embedding_output"
        self._setting = f"model.{key}"
        output = first_guess(self.path, self.outputs, getattr(settings, key), self._setting)
        self.signature = Signature(inputs=inputs, output=output, outputs=self.outputs)
        if kinds is not None and several:
            self.feeder = SplitFeeder(self.signature, settings, kinds)
        else:
            self.feeder = Feeder(self.signature, settings)
        self._target = self.signature.port("target")

    def invent_kinds(self) -> Kinds | None:
        """The kinds that the inputs speak of, for a model that comes without a graph."""
        return invent_kinds(self.inputs, self._settings, self._try, rows=MADE_UP_ROWS)

    @property
    def body(self) -> "OnnxModel":
        """The model that takes the graph: this one, unless it has a head."""
        return self

    @property
    def pairs_arcs(self) -> bool:
        """Whether one input speaks of a relation's arcs both ways: then they come in pairs."""
        of = [port for port in self.signature.inputs if port.of]
        back = {port.of for port in of if port.role == "edges" and port.reverse}
        told = [port for port in of if port.role in ("edge_weight", "edge_attributes")]
        return bool({port.of for port in told} & back - {port.of for port in told if port.reverse})

    def _try(self, feeds: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]] | None:
        """All outputs that hold numbers; None if the model fails."""
        names = [port.name for port in self.outputs if port.numeric]
        try:
            return self.run(names, feeds, "a small graph")
        except LimitError:
            raise
        except ModelError:
            return None

    @property
    def feature_type(self) -> type:
        ports = [port for port in self.signature.inputs if port.role == "features"]
        return np.result_type(*(port.dtype for port in ports)).type if ports else np.float32

    @property
    def free_memory(self) -> int | None:
        """How many bytes a query may take now; None where nobody knows."""
        return self._memory.free

    def begin_work(self) -> None:
        """Limit the memory of a worker from now on, as everything else has been opened."""
        if self._watch is not None:
            self._memory.hold_from_now_on()

    def with_output(self, output: OutputPort) -> None:
        """Read this output from now on; what has been found out about it is recorded."""
        ports = tuple(
            output if port.name == output.name else port for port in self.signature.outputs
        )
        self.signature = replace(self.signature, output=output, outputs=ports)

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
        places, slots = self.feeder.locate(query)
        if len(rows) == slots:
            return np.asarray(rows[places])
        raise ModelError(
            f"{self.path}: the output {self.signature.output.name!r} has {len(rows)} rows for "
            f"{slots} nodes, so it is not a node classifier; name another output with "
            f"{self._setting}"
        )

    def ask_every(self, query: Query) -> dict[str, NDArray[Any]]:
        """Run one query and return every output that holds numbers, by name, as it comes."""
        names = [port.name for port in self.signature.outputs if port.numeric]
        return dict(zip(names, self._answers(query, names), strict=True)) if names else {}

    def rows_of(self, raw: NDArray[Any]) -> NDArray[Any]:
        """An output as a table; a single axis is a column, or the row of the only target."""
        one_row = self._target is not None and self._target.shape in ((), (1,))
        columns = raw.shape[-1] if raw.ndim > 1 else raw.size if one_row else 1
        return raw.reshape(-1, columns) if raw.size else raw.reshape(0, 1)

    def _answers(self, query: Query, names: list[str]) -> list[NDArray[Any]]:
        """Outputs for one query; a large one gets a session of its own."""
        asked = f"a query of {len(query.nodes):,} nodes and {query.arc_count:,} arcs"
        alone = len(query.nodes) + query.arc_count > LARGE
        return self.run(names, self.feeder.fill(query), asked, alone=alone)


def first_guess(
    path: Path, ports: tuple[OutputPort, ...], wanted: str | None, setting: str
) -> OutputPort:
    """The output that a setting names; else the first with scores, until one is chosen."""
    names = ", ".join(port.name for port in ports)
    if wanted is not None:
        named = [port for port in ports if port.name == wanted]
        if not named:
            raise ModelError(f"{path}: {setting} is {wanted!r}, but the outputs are {names}")
        ports = (named[0],)
    usable = [port for port in ports if port.floating]
    if usable:
        return usable[0]
    if any(port.dtype.startswith(_CONTAINERS) for port in ports):
        raise ModelError(
            f"{path}: no output is a table of floating-point scores (outputs: {names}): "
            "scores come as a sequence of maps, as skl2onnx writes them; export the model "
            "again with zipmap=False"
        )
    raise ModelError(
        f"{path}: no output holds floating-point scores (outputs: {names}); export "
        "the class scores, not the chosen class"
    )
