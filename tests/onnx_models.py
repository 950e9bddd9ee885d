"""Real ONNX files for tests, written operator by operator: sound ones, and one for each trap.

Weights are seeded. The aggregation is the one exporters write: messages gathered along the ties
and scattered onto their targets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

ELEMENT = {
    "float16": TensorProto.FLOAT16,
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "bool": TensorProto.BOOL,
}
Shape = list[int | str | None]
KIND_WEIGHTS = (1.0, -0.5, 2.0)


@dataclass
class Sheet:
    """A growing ONNX graph: each call adds an operator and returns the name of its result."""

    seed: int = 0
    dtype: str = "float32"
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    inputs: list[Any] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)

    def op(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        name = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], domain=domain, **attributes))
        return name

    def constant(self, value: Any, dtype: str) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def weight(self, *shape: int) -> str:
        values: NDArray[np.float64] = self.random.normal(0, 1.2 / np.sqrt(shape[0]), size=shape)
        return self.constant(values, self.dtype)

    def input(self, name: str, dtype: str, shape: Shape) -> str:
        name = self.names.get(name, name)
        self.inputs.append(helper.make_tensor_value_info(name, ELEMENT[dtype], shape))
        return name

    def save(
        self,
        path: Path,
        output: str,
        shape: Shape | None = None,
        *,
        opset: int = 18,
        dtype: str | None = None,
        **keep: Any,
    ) -> Path:
        element = ELEMENT[dtype or self.dtype]
        info = helper.make_tensor_value_info(
            output, element, [None, None] if shape is None else shape
        )
        graph = helper.make_graph(self.nodes, "model", self.inputs, [info], self.constants)
        domains = {"", *(node.domain for node in self.nodes)}
        versions = [helper.make_opsetid(name, 1 if name else opset) for name in sorted(domains)]
        model = helper.make_model(graph, opset_imports=versions)
        model.ir_version = 9
        onnx.save(model, path, **keep)
        return path


@dataclass
class Parts:
    """Where arcs start and end, how many nodes there are, and what arcs weigh."""

    source: str
    target: str
    count: str
    weight: str | None = None
    matrix: str | None = None


def node_count(sheet: Sheet, features: str) -> str:
    return sheet.op("Shape", features, start=0, end=1)


def aggregate(
    sheet: Sheet, parts: Parts, values: str, width: int, *, reduction: str = "add"
) -> str:
    """Add up what arrives at each node along its ties, itself included."""
    if parts.matrix is not None:
        return sheet.op("Add", values, sheet.op("MatMul", parts.matrix, values))
    messages = sheet.op("Gather", values, parts.source, axis=0)
    if parts.weight is not None:
        column = sheet.op("Unsqueeze", parts.weight, sheet.constant([1], "int64"))
        messages = sheet.op("Mul", messages, column)
    # onnxruntime has no half-precision scatter, so such exports add up in single precision.
    half = sheet.dtype == "float16"
    messages = sheet.op("Cast", messages, to=TensorProto.FLOAT) if half else messages
    size = sheet.op("Concat", parts.count, sheet.constant([width], "int64"), axis=0)
    zero = sheet.op("Expand", sheet.constant(0, "float32" if half else sheet.dtype), size)
    index = sheet.op("Unsqueeze", parts.target, sheet.constant([1], "int64"))
    index = sheet.op("Expand", index, sheet.op("Shape", messages))
    received = sheet.op("ScatterElements", zero, index, messages, axis=0, reduction=reduction)
    received = sheet.op("Cast", received, to=TensorProto.FLOAT16) if half else received
    return sheet.op("Add", values, received)


def ends(sheet: Sheet, edges: str) -> tuple[str, str]:
    first, second = sheet.constant(0, "int64"), sheet.constant(1, "int64")
    return sheet.op("Gather", edges, first, axis=0), sheet.op("Gather", edges, second, axis=0)


def sum_network(
    path: Path,
    *,
    features: int = 5,
    classes: int = 3,
    layers: int = 2,
    hidden: int = 8,
    seed: int = 0,
    dtype: str = "float32",
    index: str = "int64",
    form: str = "edges",
    head: str = "logits",
    nodes: int | None = None,
    arcs: int | None = None,
    trap: str | None = None,
    scale: float = 0.5,
    linear: bool = False,
    opset: int = 18,
    activation: str = "leaky",
    reduction: str = "add",
    names: Mapping[str, str] | None = None,
    target_shape: Sequence[int | str] = (1,),
    class_size: int | str | None = None,
) -> Path:
    """Write a message-passing network in one of the forms, heads and traps that reach us.

    form: edges, rows ([E, 2]), ends (src, dst), weight, attributes, type, dense, target,
        batched (a leading axis of 1 on every input and on the output)
    head: logits, softmax, log_softmax, sigmoid, score (one column of logits)
    trap: dropout, hidden_dropout (between layers), tie_order, ties, node_order, batch, nan,
        some_nan, saturated (the first class whatever is asked), flips (another answer to about one
        call in thirty), crowd (another answer where more than 100 nodes are asked about)
    names: what to call an input, by its usual name
    """
    sheet = Sheet(seed=seed, dtype=dtype, names=dict(names or {}))
    lead: Shape = [1] if form == "batched" else []
    x = sheet.input("x", dtype, [*lead, nodes or "N", features])
    x = _single(sheet, x) if lead else x
    parts = _ties(sheet, form, index, nodes or "N", arcs or "E", node_count(sheet, x))
    if trap == "node_order":
        upward = sheet.op("Cast", sheet.op("Less", parts.source, parts.target), to=ELEMENT[dtype])
        parts.weight = sheet.op("Add", upward, sheet.constant(0.5, dtype))
    values, width = sheet.op("Mul", x, sheet.constant(scale, dtype)), features
    columns = 1 if head in ("sigmoid", "score") else classes
    how = "none" if trap == "tie_order" else reduction
    for layer in range(layers):
        wide = columns if layer == layers - 1 else hidden
        values = sheet.op("MatMul", values, sheet.weight(width, wide))
        width = wide
        if trap != "ties":
            values = aggregate(sheet, parts, values, width, reduction=how)
        values = sheet.op("Add", values, sheet.weight(width))
        if layer < layers - 1 and not linear:
            values = _activated(sheet, values, activation)
        if layer == 0 and trap == "hidden_dropout":
            values = _trapped(sheet, values, parts, "dropout")
        if trap == "batch":
            mean = sheet.op("ReduceMean", values, sheet.constant([0], "int64"), keepdims=1)
            values = sheet.op("Sub", values, mean)
    values = _head(sheet, _trapped(sheet, values, parts, trap, columns), head)
    shape: Shape = [*lead, None, class_size or columns]
    if form == "target":
        target = sheet.input("target", "int64", list(target_shape))
        values = sheet.op("Gather", values, target, axis=0)
        shape = shape if target_shape else [class_size or columns]
    elif lead:
        values = sheet.op("Unsqueeze", values, sheet.constant([0], "int64"))
    return sheet.save(path, values, shape, opset=opset)


def degree_network(path: Path, *, features: int = 5, classes: int = 3, seed: int = 0) -> Path:
    """A model to which ties matter only by their number: no other node's features reach a node."""
    sheet = Sheet(seed=seed)
    x = sheet.input("x", "float32", ["N", features])
    source, target = ends(sheet, sheet.input("edge_index", "int64", [2, "E"]))
    count = node_count(sheet, x)
    zero = sheet.op("Expand", sheet.constant(0, "float32"), count)
    ones = sheet.op("Expand", sheet.constant(1, "float32"), sheet.op("Shape", source))
    degree = sheet.op("ScatterElements", zero, target, ones, axis=0, reduction="add")
    column = sheet.op("Unsqueeze", degree, sheet.constant([1], "int64"))
    own = sheet.op("MatMul", x, sheet.weight(features, classes))
    by_degree = sheet.op("MatMul", column, sheet.weight(1, classes))
    return sheet.save(path, sheet.op("Add", own, by_degree), [None, classes])


def _ties(
    sheet: Sheet, form: str, index: str, nodes: int | str, arcs: int | str, count: str
) -> Parts:
    """Declare the inputs that carry ties, and bring them into one form."""
    if form == "dense":
        matrix = sheet.input("adj", sheet.dtype, [nodes, nodes])
        return Parts("", "", count, matrix=matrix)
    if form == "ends":
        source = sheet.input("src", index, [arcs])
        return Parts(source, sheet.input("dst", index, [arcs]), count)
    shapes: dict[str, Shape] = {"rows": [arcs, 2], "batched": [1, 2, arcs]}
    edges = sheet.input("edge_index", index, shapes.get(form, [2, arcs]))
    edges = sheet.op("Transpose", edges, perm=[1, 0]) if form == "rows" else edges
    edges = _single(sheet, edges) if form == "batched" else edges
    parts = Parts(*ends(sheet, edges), count)
    match form:
        case "weight":
            parts.weight = sheet.input("edge_weight", sheet.dtype, [arcs])
        case "attributes":
            attributes = sheet.input("edge_attr", sheet.dtype, [arcs, 2])
            last = sheet.constant([1], "int64")
            parts.weight = sheet.op("ReduceSum", attributes, last, keepdims=0)
        case "type":
            kinds = sheet.input("edge_type", index, [arcs])
            weights = sheet.constant(KIND_WEIGHTS, sheet.dtype)
            parts.weight = sheet.op("Gather", weights, kinds, axis=0)
    return parts


def _single(sheet: Sheet, values: str) -> str:
    return sheet.op("Squeeze", values, sheet.constant([0], "int64"))


def _activated(sheet: Sheet, values: str, activation: str) -> str:
    if activation == "relu":
        return sheet.op("Relu", values)
    return sheet.op("LeakyRelu", values, alpha=0.2)


def _trapped(sheet: Sheet, values: str, parts: Parts, trap: str | None, classes: int = 0) -> str:
    match trap:
        case "ties":
            source = sheet.op("Cast", parts.source, to=ELEMENT[sheet.dtype])
            touched = sheet.op("ReduceSum", source, keepdims=0)
            none = sheet.op("Mul", touched, sheet.constant(0, sheet.dtype))
            return sheet.op("Add", values, none)
        case "dropout":
            half, true = sheet.constant(0.5, sheet.dtype), sheet.constant(True, "bool")
            return sheet.op("Dropout", values, half, true)
        case "flips":
            # Dropout makes 0 of a number now and then. It draws nearly the same first numbers every
            # time, so the last of many is used. A constant would be folded.
            rarely, true = sheet.constant(0.03, sheet.dtype), sheet.constant(True, "bool")
            count = sheet.op("Cast", parts.count, to=ELEMENT[sheet.dtype])
            many = sheet.op("Expand", count, sheet.constant([100], "int64"))
            kept = sheet.op("Dropout", many, rarely, true)
            last = sheet.op("Gather", kept, sheet.constant([99], "int64"), axis=0)
            usual = sheet.op("Greater", last, sheet.constant([0.5], sheet.dtype))
            return sheet.op("Where", usual, values, sheet.op("Neg", values))
        case "nan":
            below = sheet.op("Sub", sheet.constant(-1, sheet.dtype), sheet.op("Abs", values))
            return sheet.op("Sqrt", below)
        case "saturated":
            most = sheet.constant([100.0, *[0.0] * (classes - 1)], sheet.dtype)
            return sheet.op("Add", values, most)
        case "crowd":
            many = sheet.op("Greater", parts.count, sheet.constant([100], "int64"))
            more = sheet.op("Cast", many, to=ELEMENT[sheet.dtype])
            first = sheet.constant([1.0, *[0.0] * (classes - 1)], sheet.dtype)
            return sheet.op("Add", values, sheet.op("Mul", more, first))
        case "some_nan":
            top = sheet.op("ReduceMax", values, sheet.constant([1], "int64"), keepdims=1)
            return sheet.op("Add", values, sheet.op("Sqrt", top))
        case _:
            return values


def _head(sheet: Sheet, values: str, head: str) -> str:
    match head:
        case "softmax":
            return sheet.op("Softmax", values, axis=1)
        case "log_softmax":
            return sheet.op("LogSoftmax", values, axis=1)
        case "sigmoid":
            return sheet.op("Sigmoid", values)
        case _:
            return values


def endless_network(path: Path, *, features: int = 5, classes: int = 3, turns: int = 2**62) -> Path:
    """A model with a loop that would take 2^62 turns for every answer."""
    sheet = Sheet()
    x = sheet.input("x", "float32", ["N", features])
    source, target = ends(sheet, sheet.input("edge_index", "int64", [2, "E"]))
    parts = Parts(source, target, node_count(sheet, x))
    values = aggregate(
        sheet, parts, sheet.op("MatMul", x, sheet.weight(features, classes)), classes
    )
    step = helper.make_node("Neg", ["before"], ["after"])
    trips = sheet.constant(turns, "int64")
    return sheet.save(path, _looped(sheet, trips, values, step), [None, classes])


def slow_network(path: Path, *, folded: bool = False) -> Path:
    """A model with one operator that takes minutes: when asked, or already when it is opened."""
    sheet = Sheet()
    x = sheet.input("x", "float32", ["N", 5])
    edges = sheet.input("edge_index", "int64", [2, "E"])
    sizes = [sheet.constant([1, 1, size], "int64") for size in (2**21, 2**20)]
    if not folded:  # the same sizes, as numbers that are not known before the model is asked
        arcs = sheet.op("Shape", edges, start=0, end=1)
        nothing = sheet.op("Sub", arcs, arcs)
        sizes = [sheet.op("Add", size, nothing) for size in sizes]
    half = numpy_helper.from_array(np.array([0.5], np.float32))
    long, kernel = (sheet.op("ConstantOfShape", size, value=half) for size in sizes)
    total = sheet.op("ReduceSum", sheet.op("Conv", long, kernel), keepdims=0)
    values = sheet.op("MatMul", x, sheet.weight(5, 3))
    return sheet.save(path, sheet.op("Add", values, total), [None, 3])


def hungry_network(path: Path, *, how: str, gigabytes: int = 40) -> Path:
    """A model that asks for more memory than there is.

    how: asked (one large result), loop (a result that doubles in every turn)
    """
    sheet = Sheet()
    x = sheet.input("x", "float32", ["N", 5])
    edges = sheet.input("edge_index", "int64", [2, "E"])
    values = sheet.op("MatMul", x, sheet.weight(5, 3))
    if how == "loop":
        step = helper.make_node("Concat", ["before", "before"], ["after"], axis=0)
        much = _looped(sheet, sheet.constant(40, "int64"), values, step)
    else:
        two = sheet.op("Shape", edges, start=0, end=1)
        size = sheet.op("Mul", two, sheet.constant([gigabytes * 2**27], "int64"))
        much = sheet.op("ConstantOfShape", size)
    total = sheet.op("ReduceSum", much, keepdims=0)
    return sheet.save(path, sheet.op("Add", values, total), [None, 3])


def sprung_network(path: Path, trap: str, *, mark: float, people: int, features: int = 7) -> Path:
    """A sound model, unless it is asked about a marked node in a graph that is not the whole one.

    The last feature of a marked node is `mark`. trap: endless (a loop), deaf (one operator that
    takes minutes), hungry (a result of 40 GB), growing (one that doubles in every turn of a loop)
    """
    sheet = Sheet()
    x = sheet.input("x", "float32", ["N", features])
    source, target = ends(sheet, sheet.input("edge_index", "int64", [2, "E"]))
    count = node_count(sheet, x)
    parts = Parts(source, target, count)
    scaled = sheet.op("Mul", x, sheet.constant([1e-5, 1, 1e-4, 0.1, 1, 1e-4, 0.1], "float32"))
    values = aggregate(sheet, parts, sheet.op("MatMul", scaled, sheet.weight(features, 2)), 2)
    last = sheet.op("Gather", x, sheet.constant(features - 1, "int64"), axis=1)
    most = sheet.op("ReduceMax", last, keepdims=0)
    marked = sheet.op("Equal", most, sheet.constant(mark, "float32"))
    part = sheet.op("Not", sheet.op("Equal", count, sheet.constant([people], "int64")))
    sprung = sheet.op("Cast", sheet.op("And", part, marked), to=TensorProto.INT64)

    def size(large: int) -> str:
        grown = sheet.op("Mul", sprung, sheet.constant([large], "int64"))
        return sheet.op("Add", grown, sheet.constant([1], "int64"))

    match trap:
        case "endless":
            step = helper.make_node("Identity", ["before"], ["after"])
            turns = sheet.op("Squeeze", size(2**62))
            values = _looped(sheet, turns, values, step)
        case "growing":
            step = helper.make_node("Concat", ["before", "before"], ["after"], axis=0)
            grown = _looped(sheet, sheet.op("Squeeze", size(40)), values, step)
            nothing = sheet.op("ReduceMax", sheet.op("Mul", grown, sheet.constant(0, "float32")))
            values = sheet.op("Add", values, nothing)
        case "deaf":
            one = sheet.constant([1, 1], "int64")
            long, kernel = (
                sheet.op("ConstantOfShape", sheet.op("Concat", one, size(large), axis=0))
                for large in (2**21, 2**20)
            )
            nothing = sheet.op("ReduceSum", sheet.op("Conv", long, kernel), keepdims=0)
            values = sheet.op("Add", values, nothing)
        case "hungry":
            nothing = sheet.op(
                "ReduceSum", sheet.op("ConstantOfShape", size(10 * 2**30)), keepdims=0
            )
            values = sheet.op("Add", values, nothing)
    return sheet.save(path, values, [None, 2])


def _looped(sheet: Sheet, turns: str, values: str, step: Any) -> str:
    """A loop that takes one step with a result per turn, from `before` to `after`."""
    going = helper.make_tensor_value_info("going", TensorProto.BOOL, [])
    still = helper.make_tensor_value_info("still", TensorProto.BOOL, [])
    turn = helper.make_tensor_value_info("turn", TensorProto.INT64, [])
    before = helper.make_tensor_value_info("before", TensorProto.FLOAT, None)
    after = helper.make_tensor_value_info("after", TensorProto.FLOAT, None)
    steps = [helper.make_node("Identity", ["going"], ["still"]), step]
    body = helper.make_graph(steps, "body", [turn, going, before], [still, after])
    return sheet.op("Loop", turns, sheet.constant(True, "bool"), values, body=body)
