"""A trained network becomes one ONNX file that answers as torch does, or the build stops.

Input: a network in evaluation mode and example inputs. Output: a single file with its weights,
opset 18, checked in onnxruntime against torch on graphs of several sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from torch import Tensor, nn

OPSET = 18
TOLERANCE = 1e-4
Inputs = dict[str, Tensor]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """An exported file: its inputs and outputs as onnxruntime reports them, and its checks."""

    path: Path
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    checks: tuple[str, ...]


def export(
    network: nn.Module,
    path: Path,
    example: Inputs,
    *,
    output: str,
    dynamic: bool,
    strict: bool,
) -> None:
    """Write `path` with torch's exporter; `strict` traces with torch.export first.

    Attention with self-loops needs the strict route: the direct one cannot express its guards.
    """
    shapes = {name: free_axes(name) for name in example} if dynamic else None
    arguments = tuple(example.values())
    source: nn.Module | torch.export.ExportedProgram = network
    if strict:
        source = torch.export.export(network, arguments, dynamic_shapes=shapes, strict=True)
    torch.onnx.export(
        source,
        () if strict else arguments,
        path,
        input_names=list(example),
        output_names=[output],
        opset_version=OPSET,
        dynamo=True,
        dynamic_shapes=None if strict else shapes,
        external_data=False,
        verbose=False,
    )
    forget_sources(path)


def free_axes(name: str) -> dict[int, torch.export.Dim]:
    """The axes of an input that grow with the graph; `x_KIND` and `edge_index_RELATION` too."""
    if name.startswith("x_"):
        return {0: torch.export.Dim(name.removeprefix("x_"), min=1)}
    if name.startswith("edge_index_"):
        return {1: torch.export.Dim(name.removeprefix("edge_index_"), min=0)}
    people, arcs = torch.export.Dim("people", min=1), torch.export.Dim("arcs", min=0)
    return {
        "x": {0: people},
        "edge_index": {1: arcs},
        "edge_weight": {0: arcs},
        "adj": {0: people, 1: people},
    }[name]


def export_traced(network: nn.Module, path: Path, example: Inputs, *, output: str) -> None:
    """Write `path` with torch's older exporter, which takes networks that the newer one refuses."""
    axes = {name: {1: "arcs"} if name == "edge_index" else {0: "nodes"} for name in example}
    axes |= {output: {0: "nodes"}}
    if "edge_type" in axes:
        axes["edge_type"] = {0: "arcs"}
    torch.onnx.export(
        network,
        tuple(example.values()),
        path,
        input_names=list(example),
        output_names=[output],
        opset_version=OPSET,
        dynamo=False,
        dynamic_axes=axes,
    )
    forget_sources(path)
    number_names(path)


def number_names(path: Path) -> None:
    """Number the names inside a file (not its inputs and outputs), which makes it far smaller."""
    model = onnx.load(path)
    ports = {port.name for port in [*model.graph.input, *model.graph.output]}
    numbers = {name: name for name in ports | {""}}

    def number(graph: onnx.GraphProto) -> None:
        del graph.value_info[:]
        for tensor in graph.initializer:
            tensor.name = numbers.setdefault(tensor.name, f"v{len(numbers)}")
        for node in graph.node:
            node.name = ""
            for side in (node.input, node.output):
                for place, name in enumerate(side):
                    side[place] = numbers.setdefault(name, f"v{len(numbers)}")
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH:
                    number(attribute.g)
        for port in [*graph.input, *graph.output]:
            port.name = numbers.setdefault(port.name, f"v{len(numbers)}")

    number(model.graph)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)


def forget_sources(path: Path) -> None:
    """Remove the exporter's metadata (source lines, local paths) from the file."""
    model = onnx.load(path)
    for node in model.graph.node:
        del node.metadata_props[:]
        node.doc_string = ""
    for function in model.functions:
        del function.metadata_props[:]
        function.doc_string = ""
        for node in function.node:
            del node.metadata_props[:]
            node.doc_string = ""
    for value in [*model.graph.input, *model.graph.output, *model.graph.value_info]:
        del value.metadata_props[:]
    for tensor in model.graph.initializer:
        del tensor.metadata_props[:]
    del model.metadata_props[:]
    del model.graph.metadata_props[:]
    model.graph.name = path.stem
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)


def compare(network: nn.Module, path: Path, cases: dict[str, Inputs]) -> Exported:
    """Give torch and onnxruntime the same inputs, and stop at the first output that differs."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    checks = []
    for title, case in cases.items():
        with torch.no_grad():
            wanted = network(*case.values()).numpy()
        feed = {name: value.numpy() for name, value in case.items()}
        got = np.asarray(session.run(None, feed)[0])
        if got.shape != wanted.shape:
            raise SystemExit(f"{path.name}: {title}: shape {got.shape}, torch {wanted.shape}")
        error = float(np.abs(got - wanted).max() / max(1.0, float(np.abs(wanted).max())))
        if not error < TOLERANCE:
            raise SystemExit(f"{path.name}: {title}: onnxruntime and torch differ by {error:.2g}")
        checks.append(f"{title}: {error:.1e}")
    return Exported(
        path=path,
        inputs=tuple(f"`{p.name}` {p.type} {shape_text(p.shape)}" for p in session.get_inputs()),
        outputs=tuple(f"`{p.name}` {p.type} {shape_text(p.shape)}" for p in session.get_outputs()),
        checks=tuple(checks),
    )


def shape_text(shape: list[int | str]) -> str:
    """A shape as text, such as [people, 7]."""
    return "[" + ", ".join(str(size) for size in shape) + "]"
