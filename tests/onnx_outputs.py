"""Real ONNX files with several outputs: layers that are read out, heads beside the decision."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper

from tests.onnx_models import ELEMENT, Parts, Sheet, aggregate, ends, node_count

KARATE = (("conv1", 4), ("conv2", 4), ("conv3", 2))


@dataclass(frozen=True, kw_only=True)
class Head:
    """One more output, made from a layer.

    how: linear, softmax, log_softmax, sigmoid (one column), code (the number of the largest
        score), graph (the mean of each graph's nodes), tie (one score per tie), matrix (one score
        per pair of nodes), zipmap (a sequence of maps, as skl2onnx writes it), first (the rows of
        three nodes)
    """

    name: str
    of: str
    how: str
    columns: int = 2


def layered_network(
    path: Path,
    *,
    layers: Sequence[tuple[str, int]] = KARATE,
    heads: Sequence[Head] = (Head(name="final", of="conv3", how="linear", columns=4),),
    order: Sequence[str] | None = None,
    features: int = 5,
    batch: bool = False,
    labels: bool = False,
    dropout: bool = False,
    gain: float = 1.0,
    seed: int = 0,
) -> Path:
    """Write a network of layers with a tanh each, and heads; `order` orders and limits outputs."""
    sheet = Sheet(seed=seed)
    x = sheet.input("x", "float32", ["N", features])
    edges = sheet.input("edge_index", "int64", [2, "E"])
    parts = Parts(*ends(sheet, edges), node_count(sheet, x))
    groups = sheet.input("batch", "int64", ["N"]) if batch else None
    pairs = ends(sheet, sheet.input("edge_label_index", "int64", [2, "L"])) if labels else None
    values = {"x": (x, features)}
    last = "x"
    for name, width in layers:
        inner, wide = values[last]
        mixed = aggregate(sheet, parts, sheet.op("MatMul", inner, sheet.weight(wide, width)), width)
        if dropout:
            rate, on = sheet.constant(0.5, "float32"), sheet.constant(True, "bool")
            mixed = sheet.op("Dropout", mixed, rate, on)
        mixed = sheet.op("Mul", mixed, sheet.constant(gain, "float32"))
        values[name], last = (sheet.op("Tanh", mixed), width), name
    infos = {name: _tensor(name, "float32", ["N", width]) for name, width in layers}
    for head in heads:
        source, width = values[head.of]
        made, infos[head.name] = _made(sheet, head, source, width, parts, groups, pairs)
        values[head.name] = (made, head.columns)
    names = list(infos) if order is None else list(order)
    for name in names:
        made = values[name][0]
        if made.startswith("zipmap"):  # no operator renames a sequence
            next(node for node in sheet.nodes if made in node.output).output[0] = name
        else:
            sheet.nodes.append(helper.make_node("Identity", [made], [name]))
    return _saved(sheet, path, [infos[name] for name in names])


def _made(
    sheet: Sheet,
    head: Head,
    source: str,
    width: int,
    parts: Parts,
    groups: str | None,
    pairs: tuple[str, str] | None,
) -> tuple[str, Any]:
    """The value of a head, and what the file declares about it."""
    columns = head.columns
    match head.how:
        case "softmax" | "log_softmax":
            kind = "Softmax" if head.how == "softmax" else "LogSoftmax"
            return sheet.op(kind, source, axis=1), _tensor(head.name, "float32", ["N", width])
        case "sigmoid":
            score = sheet.op("MatMul", source, sheet.weight(width, 1))
            return sheet.op("Sigmoid", score), _tensor(head.name, "float32", ["N", 1])
        case "code":
            code = sheet.op("ArgMax", source, axis=1, keepdims=0)
            return code, _tensor(head.name, "int64", ["N"])
        case "graph":
            mean = _pooled(sheet, source, width, groups)
            score = sheet.op("MatMul", mean, sheet.weight(width, columns))
            return score, _tensor(head.name, "float32", [None, columns])
        case "tie":
            first, second = pairs or (parts.source, parts.target)
            product = sheet.op(
                "Mul",
                sheet.op("Gather", source, first, axis=0),
                sheet.op("Gather", source, second, axis=0),
            )
            score = sheet.op("MatMul", product, sheet.weight(width, columns))
            return score, _tensor(head.name, "float32", [None, columns])
        case "matrix":
            other = sheet.op("Transpose", source, perm=[1, 0])
            return sheet.op("MatMul", source, other), _tensor(head.name, "float32", ["N", "N"])
        case "first":
            rows = sheet.op("Gather", source, sheet.constant([0, 1, 2], "int64"), axis=0)
            return rows, _tensor(head.name, "float32", [3, width])
        case "zipmap":
            labels = list(range(width))
            made = sheet.op("ZipMap", source, domain="ai.onnx.ml", classlabels_int64s=labels)
            inner = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
            maps = helper.make_map_type_proto(TensorProto.INT64, inner)
            return made, helper.make_value_info(head.name, helper.make_sequence_type_proto(maps))
        case _:
            score = sheet.op("MatMul", source, sheet.weight(width, columns))
            return score, _tensor(head.name, "float32", ["N", columns])


def _pooled(sheet: Sheet, source: str, width: int, groups: str | None) -> str:
    """The sum of the rows of each graph; of all rows if the model is not told of graphs."""
    if groups is None:
        return sheet.op("ReduceSum", source, sheet.constant([0], "int64"), keepdims=1)
    one = sheet.constant([1], "int64")
    count = sheet.op("Add", sheet.op("ReduceMax", groups, keepdims=1), one)
    size = sheet.op("Concat", count, sheet.constant([width], "int64"), axis=0)
    zero = sheet.op("Expand", sheet.constant(0, "float32"), size)
    index = sheet.op("Expand", sheet.op("Unsqueeze", groups, one), sheet.op("Shape", source))
    return sheet.op("ScatterElements", zero, index, source, axis=0, reduction="add")


def _tensor(name: str, dtype: str, shape: list[int | str | None]) -> Any:
    return helper.make_tensor_value_info(name, ELEMENT[dtype], shape)


def _saved(sheet: Sheet, path: Path, outputs: list[Any]) -> Path:
    graph = helper.make_graph(sheet.nodes, "model", sheet.inputs, outputs, sheet.constants)
    domains = sorted({"", *(node.domain for node in sheet.nodes)})
    versions = [helper.make_opsetid(name, 1 if name else 18) for name in domains]
    model = helper.make_model(graph, opset_imports=versions)
    model.ir_version = 9
    onnx.save(model, path)
    return path
