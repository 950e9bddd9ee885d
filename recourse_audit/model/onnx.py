"""The only door to onnxruntime: opens a model file, asks it, translates what goes wrong.

Nothing here or anywhere reads the model's nodes or initialisers. The one thing looked for in the
file's bytes are the names of the data files that belong to it, because they are part of the
model: they are hashed with it, and must lie beside it.
"""

import hashlib
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as runtime_errors

from recourse_audit.errors import ModelError
from recourse_audit.graph.arrays import Floats, Ints
from recourse_audit.model.preparation import adjacency, missing_loops, normalise
from recourse_audit.model.queries import Query
from recourse_audit.model.roles import assign_roles
from recourse_audit.model.signature import InputPort, OutputPort, Signature
from recourse_audit.settings import ModelSettings

# Every exception class that onnxruntime's binding defines; versions differ in a few of them.
RUNTIME_ERRORS: tuple[type[Exception], ...] = tuple(
    kind
    for kind in vars(runtime_errors).values()
    if isinstance(kind, type) and issubclass(kind, Exception)
)
_TYPES = {
    "float": "float32",
    "double": "float64",
    "float16": "float16",
    "int64": "int64",
    "int32": "int32",
    "bool": "bool",
}
# A file reference as protobuf writes it: key "location", then a length of one or two bytes.
_REFERENCE = re.compile(rb"\x0a\x08location\x12([\x00-\x7f]|[\x80-\xff][\x01-\x7f])")


class OnnxModel:
    """A sealed model in onnxruntime, one thread, ready to be asked."""

    def __init__(self, settings: ModelSettings, *, complete: bool = True) -> None:
        self.path = settings.path
        self.files = (settings.path, *external_files(settings.path))
        self._session = _open(settings.path)
        self._loops = settings.self_loops == "add"
        self._normalisation = settings.normalisation
        self._rows_are_targets = settings.adjacency_rows == "targets"
        ports = tuple(
            InputPort(name=p.name, dtype=_type(p.type), shape=tuple(p.shape))
            for p in self._session.get_inputs()
        )
        self.signature = Signature(
            inputs=assign_roles(ports, settings, complete=complete), output=self._output(settings)
        )
        carriers = (self.signature.port("edge_weight"), self.signature.port("adjacency"))
        self._weighted = any(carriers)
        own_norm = self._normalisation == "none" and carriers[0] is not None
        default = "column" if own_norm else "ones"
        self.weighs_ties = self._weighted and (settings.tie_weights or default) == "column"
        if complete and self._normalisation != "none" and not self._weighted:
            raise ModelError(
                f"{self.path}: model.normalisation is {self._normalisation!r}, but no input takes "
                "tie weights or an adjacency matrix to carry it; correct the settings"
            )

    @property
    def feature_type(self) -> type:
        port = self.signature.port("features")
        return np.dtype(port.dtype).type if port else np.float32

    @property
    def node_room(self) -> int | None:
        """Node slots for graphs; one stays free where spare arcs need a node to lie on."""
        nodes, arcs = self.signature.fixed_nodes, self.signature.fixed_arcs
        if nodes is None:
            return max(arcs // 2 - 1, 1) if arcs is not None and self._loops else None
        return nodes if arcs is None else max(nodes - 1, 1)

    @property
    def arc_room(self) -> int | None:
        """Arc slots for graphs; every node slot takes one where self-loops are added."""
        fixed = self.signature.fixed_arcs
        if fixed is None or not self._loops:
            return fixed
        return max(fixed - (self.signature.fixed_nodes or fixed // 2), 1)

    def digest(self) -> str:
        """SHA-256 over the model file and the data files that belong to it, in order of name."""
        total = hashlib.sha256()
        for path in (self.files[0], *sorted(self.files[1:])):
            with path.open("rb") as file:
                total.update(hashlib.file_digest(file, "sha256").digest())
        return total.hexdigest()

    def with_output(self, output: OutputPort) -> None:
        """Note what has been found out about the output."""
        self.signature = replace(self.signature, output=output)

    def reseed(self, seed: int) -> None:
        """Restart the runtime's random numbers, which only a model that uses them notices."""
        onnxruntime.set_seed(seed)

    def ask(self, query: Query) -> Floats:
        """Run one query; rows come in the order asked for, also from a model with fixed sizes."""
        try:
            (raw,) = self._session.run([self.signature.output.name], self._feeds(query))
        except RUNTIME_ERRORS as error:
            raise ModelError(
                f"{self.path}: onnxruntime could not answer a query of {len(query.nodes)} nodes "
                f"and {len(query.sources)} arcs: {_sentence(error)}"
            ) from None
        target = self.signature.port("target")
        one_row = target is not None and target.shape in ((), (1,))
        columns = raw.shape[-1] if raw.ndim > 1 else raw.size if one_row else 1
        rows: Floats = raw.reshape(-1, columns)
        if target is not None and len(rows) == len(query.rows):
            return rows
        slots = self._padded_nodes(len(query.nodes), len(query.sources))
        if len(rows) == slots:
            return rows[query.rows]
        raise ModelError(
            f"{self.path}: the output {self.signature.output.name!r} has {len(rows)} rows for "
            f"{slots} nodes, so it is no node classifier; name another with model.output_name"
        )

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

    def _feeds(self, query: Query) -> dict[str, np.ndarray]:
        room = self._padded_nodes(len(query.nodes), len(query.sources))
        sources, targets, weights = self._prepared_arcs(query, room)
        return {
            port.name: self._fed(port, query, room, sources, targets, weights)
            for port in self.signature.inputs
        }

    def _prepared_arcs(self, query: Query, room: int) -> tuple[Ints, Ints, Floats | None]:
        """Add the self-loops, norms and padding that the model's makers or its sizes ask for."""
        signature, sources, targets = self.signature, query.sources, query.targets
        if self._loops:
            loops = missing_loops(sources, targets, room)
            sources, targets = np.append(sources, loops), np.append(targets, loops)
        weights: Floats | None = None
        if self._weighted:
            given = np.ones(len(query.sources)) if query.weight is None else query.weight
            weights = np.append(given, np.ones(len(sources) - len(given)))
            weights = normalise(weights, sources, targets, room, self._normalisation)
        gap = 0 if signature.fixed_arcs is None else signature.fixed_arcs - len(sources)
        if gap < 0 or (gap and room == len(query.nodes) and signature.port("edge_weight") is None):
            raise ModelError(
                f"{self.path}: the model was exported for exactly {signature.fixed_arcs} arcs and "
                f"{signature.fixed_nodes or 'any number of'} nodes, and a graph of "
                f"{len(query.nodes)} nodes and {len(sources)} arcs does not fit; export it with "
                "dynamic axes"
            )
        if gap:
            spare = np.full(gap, room - 1)
            sources, targets = np.append(sources, spare), np.append(targets, spare)
            weights = None if weights is None else np.append(weights, np.zeros(gap))
        return sources, targets, weights

    def _fed(
        self,
        port: InputPort,
        query: Query,
        room: int,
        sources: Ints,
        targets: Ints,
        weights: Floats | None,
    ) -> np.ndarray:
        """Write one input in the type and shape that the model declares."""
        value: np.ndarray
        match port.role:
            case "features":
                value = _extended(query.features, room)
            case "edges":
                value = np.empty((2, len(sources)), port.dtype)
                value[0], value[1] = sources, targets
                value = np.ascontiguousarray(value.T) if self.signature.edges_by_row else value
            case "sources":
                value = sources
            case "targets":
                value = targets
            case "adjacency":
                assert weights is not None
                rows = self._rows_are_targets
                value = adjacency(weights, sources, targets, room, rows_are_targets=rows)
            case "edge_weight":
                assert weights is not None
                value = weights if len(port.inner) == 1 else weights[:, None]
            case "edge_attributes":
                value = _extended(self._needed(query.attributes, port), len(sources))
            case "edge_type":
                value = _extended(self._needed(query.kind, port), len(sources))
            case "node_ids":
                value = _extended(query.nodes, room)
            case "batch":
                sizes = np.append(np.diff(query.node_starts), room - len(query.nodes))
                value = np.repeat(np.arange(len(sizes)), sizes)
            case "node_count":
                value = np.array([room] if port.shape else room)
            case _:
                value = query.rows if port.shape else query.rows[0]
        value = np.asarray(value, dtype=port.dtype)
        return value[None] if port.batched else value

    def _padded_nodes(self, count: int, arcs: int) -> int:
        """How many node slots a query fills; the last one takes the arcs that are padding."""
        fixed = self.signature.fixed_nodes
        if fixed is not None:
            if count > fixed:
                raise ModelError(
                    f"{self.path}: the model was exported for exactly {fixed} nodes and the graph "
                    f"asked about has {count}; export it with dynamic axes"
                )
            return fixed
        return count if self.signature.fixed_arcs in (None, arcs) else count + 1

    def _needed(self, values: np.ndarray | None, port: InputPort) -> np.ndarray:
        if values is None:
            raise ModelError(
                f"{self.path}: the input {port.described()} takes {port.role}, which the graph "
                "does not have; name the columns with graph.edge_attributes, or correct model.roles"
            )
        return values


def external_files(path: Path) -> tuple[Path, ...]:
    """Find the data files that belong to a model by their names in it; they must lie beside it."""
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


def _open(path: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except RUNTIME_ERRORS as error:
        message = _sentence(error)
        if "is not a registered function/op" in message or "No Op registered" in message:
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


def _extended(values: np.ndarray, length: int) -> np.ndarray:
    """Fill up with zeros to a number of rows."""
    if len(values) == length:
        return values
    zeros = np.zeros((length - len(values), *values.shape[1:]), values.dtype)
    return np.concatenate((values, zeros))


def _sentence(error: Exception) -> str:
    """The part of a runtime message that a person can use: one line, without its prefix."""
    text = " ".join(str(error).split())
    return re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", text)[:300]
