"""A model file in onnxruntime: opened, asked, and its failures put into words.

Nothing in this project reads the model's nodes or initialisers. Only the names of the data files
that belong to the model are looked up in the file's bytes, because they are part of the model: they
are hashed with it, and must lie beside it.
"""

import hashlib
import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from recourse_audit.errors import ModelError
from recourse_audit.graph.arrays import Floats
from recourse_audit.model.feeds import Feeder
from recourse_audit.model.queries import Query
from recourse_audit.model.roles import assign_roles
from recourse_audit.model.runtime import onnxruntime, runtime_errors
from recourse_audit.model.signature import InputPort, OutputPort, Signature
from recourse_audit.settings import ModelSettings

# Every exception class that onnxruntime's binding defines; versions differ in a few of them.
RUNTIME_ERRORS: tuple[type[Exception], ...] = tuple(
    kind
    for kind in vars(runtime_errors).values()
    if isinstance(kind, type) and issubclass(kind, Exception)
)
# pybind11 raises these as well, for example for a message that is not text.
FAILURES: tuple[type[Exception], ...] = (*RUNTIME_ERRORS, ValueError, RuntimeError)
_TYPES = {
    "float": "float32",
    "double": "float64",
    "float16": "float16",
    "int64": "int64",
    "int32": "int32",
    "bool": "bool",
}
_UNKNOWN_OPERATOR = (
    "is not a registered function/op",
    "No Op registered",
    "Could not find an implementation",
)
# A query with more nodes and arcs than this gets a session of its own.
LARGE = 2**18
# A file reference as protobuf writes it: key "location", then a length of one or two bytes.
_REFERENCE = re.compile(rb"\x0a\x08location\x12([\x00-\x7f]|[\x80-\xff][\x01-\x7f])")


class OnnxModel:
    """A sealed model in onnxruntime, one thread, ready to be asked."""

    def __init__(self, settings: ModelSettings, *, complete: bool = True) -> None:
        self.path = settings.path
        self.files = (settings.path, *external_files(settings.path))
        self._stamps = _stamps(self.files)
        self._session = _open(settings.path)
        ports = tuple(
            InputPort(name=p.name, dtype=_type(p.type), shape=tuple(p.shape))
            for p in self._session.get_inputs()
        )
        self.signature = Signature(
            inputs=assign_roles(ports, settings, complete=complete), output=self._output(settings)
        )
        self._feeder = Feeder(self.signature, settings)
        self._target = self.signature.port("target")
        self._output_names = [self.signature.output.name]

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

    def digest(self) -> str:
        """SHA-256 of the model file; with data files, of all their digests, ordered by name."""
        digests = []
        for path in (self.files[0], *sorted(self.files[1:])):
            with path.open("rb") as file:
                digests.append(hashlib.file_digest(file, "sha256"))
        if len(digests) == 1:
            return digests[0].hexdigest()
        return hashlib.sha256(b"".join(digest.digest() for digest in digests)).hexdigest()

    def with_output(self, output: OutputPort) -> None:
        """Record what has been found out about the output."""
        self.signature = replace(self.signature, output=output)

    def reseed(self, seed: int) -> None:
        """Restart the runtime's random numbers; this affects only models that draw any."""
        onnxruntime.set_seed(seed)

    def ask(self, query: Query) -> Floats:
        """Run one query; rows come in the order asked for, even from a model with fixed sizes."""
        feeds = self._feeder.fill(query)
        try:
            (raw,) = self._session_for(query).run(self._output_names, feeds)
        except FAILURES as error:
            raise ModelError(
                f"{self.path}: onnxruntime could not answer a query of {len(query.nodes)} nodes "
                f"and {query.arc_count} arcs: {_sentence(error)}"
            ) from None
        target = self._target
        one_row = target is not None and target.shape in ((), (1,))
        columns = raw.shape[-1] if raw.ndim > 1 else raw.size if one_row else 1
        rows: Floats = raw.reshape(-1, columns) if raw.size else raw.reshape(0, 1)
        if target is not None and len(rows) == len(query.rows):
            return rows
        slots = self._feeder.slots(len(query.nodes), query.arc_count)
        if len(rows) == slots:
            return rows[query.rows]
        raise ModelError(
            f"{self.path}: the output {self.signature.output.name!r} has {len(rows)} rows for "
            f"{slots} nodes, so it is not a node classifier; name another output with "
            "model.output_name"
        )

    def _session_for(self, query: Query) -> onnxruntime.InferenceSession:
        """The open session; for a large query, a new one that frees its memory afterwards.

        The runtime keeps the memory of a query for the next one. That makes small queries fast, but
        after a query about a million nodes it would hold gigabytes until the end.
        """
        if len(query.nodes) + query.arc_count <= LARGE:
            return self._session
        if _stamps(self.files) != self._stamps:
            raise ModelError(f"{self.path}: has changed since it was opened; restore it")
        return _open(self.path, keeps_memory=False)

    def _output(self, settings: ModelSettings) -> OutputPort:
        ports = [
            OutputPort(name=p.name, dtype=_type(p.type), shape=tuple(p.shape))
            for p in self._session.get_outputs()
        ]
        names = ", ".join(port.name for port in ports)
        if settings.output_name is not None:
            named = [port for port in ports if port.name == settings.output_name]
            if not named:
                raise ModelError(
                    f"{self.path}: model.output_name is {settings.output_name!r}, but the outputs "
                    f"are {names}"
                )
            return named[0]
        usable = [port for port in ports if port.dtype.startswith("float") and len(port.shape) <= 3]
        if not usable:
            raise ModelError(
                f"{self.path}: no output holds floating-point scores (outputs: {names}); export "
                "the class scores, not the chosen class"
            )
        return usable[0]


def external_files(path: Path) -> tuple[Path, ...]:
    """Find the data files that belong to a model; they must lie beside it."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise ModelError(f"{path}: there is no such model file; check model.path") from None
    except OSError as error:
        raise ModelError(
            f"{path}: cannot be read as a model file ({error.strerror}); check model.path"
        ) from None
    names = set()
    for found in _REFERENCE.finditer(content):
        size = found.group(1)
        start, length = found.end(), size[0] & 0x7F | (size[1] << 7 if len(size) > 1 else 0)
        names.add(content[start : start + length].decode("utf-8", "replace"))
    files = []
    for name in sorted(names):
        shown = repr(name if len(name) <= 150 else f"{name[:150]}…")
        try:
            inside = (path.parent / name).resolve()
            there = inside.is_file()
        except (OSError, ValueError):
            inside, there = path, False
        if path.parent.resolve() not in inside.resolve().parents:
            raise ModelError(
                f"{path}: the model keeps its weights in {shown}, outside its own folder; put the "
                "data file beside the model and save it again"
            )
        if not there:
            raise ModelError(
                f"{path}: the model's data file {shown} is missing beside it; copy both together"
            )
        files.append(path.parent / name)
    return tuple(files)


def _stamps(files: tuple[Path, ...]) -> list[tuple[int, int] | None]:
    """What tells a file from one that replaced it; None for a file that is gone."""
    found = [path.stat() if path.exists() else None for path in files]
    return [None if one is None else (one.st_size, one.st_mtime_ns) for one in found]


def _open(path: Path, *, keeps_memory: bool = True) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.enable_cpu_mem_arena = keeps_memory
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(
            path,
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
    except FAILURES as error:
        message = _sentence(error)
        if any(words in message for words in _UNKNOWN_OPERATOR):
            raise ModelError(
                f"{path}: uses an operator that onnxruntime does not have ({message}); export it "
                "with standard operators"
            ) from None
        raise ModelError(
            f"{path}: is not an ONNX model that onnxruntime can open, or it was cut short "
            f"({message}); export or copy it again"
        ) from None


def _type(name: str) -> str:
    inner = name.removeprefix("tensor(").removesuffix(")")
    return _TYPES.get(inner, inner)


def _sentence(error: Exception) -> str:
    """The useful part of a runtime message: one line, without its prefix."""
    text = " ".join(str(error).split())
    text = re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", text)
    # Nobody here can use the place in the runtime's own source code.
    return re.sub(r"\S*onnxruntime_src/\S+:\d+ .*?\) (?=[A-Z])", "", text)[:300].rstrip(". ")
