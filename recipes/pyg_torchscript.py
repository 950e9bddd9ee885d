"""A PyG network for nodes of one kind, through torch's older exporter (`dynamo=False`).

The older exporter follows one run of the network, so it takes nearly everything that PyG has,
attention with self-loops too. What it does not see in that run it makes constant: name every axis.
"""

from pathlib import Path
from typing import Any

import torch
from check import answer, compare, differ, draw_graphs, probe, runtime_error, show, start
from torch import Tensor, nn
from torch_geometric.nn import GCNConv

from recourse_audit.cli.inspect import advice_on

FEATURES, HIDDEN, CLASSES = 4, 8, 2
GRAPHS = draw_graphs(FEATURES)
AXES = {"x": {0: "people"}, "edge_index": {1: "arcs"}, "logits": {0: "people"}}


class Network(nn.Module):
    """Two layers. Standardise inside, so that a file takes the units that people know."""

    def __init__(self, *, cached: bool = False) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(FEATURES))
        self.register_buffer("spread", torch.ones(FEATURES))
        self.first = GCNConv(FEATURES, HIDDEN, cached=cached)
        self.second = GCNConv(HIDDEN, CLASSES, cached=cached)
        self.dropout = nn.Dropout()

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        hidden = self.first((x - self.mean) / self.spread, edge_index).relu()
        return self.second(self.dropout(hidden), edge_index)


def export(network: nn.Module, path: Path, *, opset: int = 18, **more: Any) -> Path:
    """Write one file: `eval()` first, opset 16 or newer, every axis named."""
    example = tuple(torch.from_numpy(array) for array in GRAPHS["as traced"].values())
    more = {"dynamic_axes": AXES, **more}
    torch.onnx.export(
        network,
        more.pop("example", example),
        path,
        dynamo=False,
        opset_version=opset,
        input_names=["x", "edge_index"],
        output_names=["logits"],
        **more,
    )
    return path


def trap_old_opset(network: nn.Module, folder: Path) -> str:
    """Below opset 16 a scatter keeps the last of the messages that meet, and drops the others."""
    path = export(network, folder / "trap_opset_11.onnx", opset=11)
    off = differ(path, GRAPHS["bigger"], answer(network, GRAPHS["bigger"]))
    assert off > 0.1, off
    # A convolution's own loop comes last and wins, so other ties are lost; with GraphSAGE it is the
    # last neighbour that wins, and `tie_order` fails instead.
    assert probe(path).probes.failed == ("ties_matter",)
    return f"opset 11 differs from torch by {off:.2g}; inspect: ties do not matter"


def trap_no_axes(network: nn.Module, folder: Path) -> str:
    """Without `dynamic_axes` a file takes graphs of the traced size, and no other."""
    path = export(network, folder / "trap_no_axes.onnx", dynamic_axes=None)
    assert "INVALID_ARGUMENT" in runtime_error(path, GRAPHS["bigger"])
    advice = " ".join(advice_on(probe(path)))
    assert "was exported for exactly 30 arcs and 12 nodes" in advice, advice
    return "without dynamic axes, inspect: exported for exactly 30 arcs and 12 nodes"


def trap_cached(folder: Path) -> str:
    """`cached=True` keeps the ties of the first graph: a file that never looks at `edge_index`."""
    network = Network(cached=True).eval()
    answer(network, GRAPHS["as traced"])  # as after training: the cache is full
    path = export(network, folder / "trap_cached.onnx")
    message = probe(path).problem
    assert "no input takes the ties" in message, message
    return "cached=True, inspect: " + message.split(": ", 1)[1]


def trap_types(folder: Path) -> str:
    """A file takes the types it was traced with, and onnxruntime casts nothing."""
    wide = Network().double().eval()
    path = folder / "trap_types.onnx"
    people, ties = (torch.from_numpy(array) for array in GRAPHS["as traced"].values())
    export(wide, path, example=(people.double(), ties.int()))
    assert "Unexpected input data type" in runtime_error(path, GRAPHS["bigger"])
    types = [port.dtype for port in probe(path).signature.inputs]
    assert types == ["float64", "int32"]
    return f"traced with {' and '.join(types)}, a file refuses float32 and int64; inspect casts"


def trap_training_mode(folder: Path) -> str:
    """Without `eval()`, and told to stay in training, a file keeps its dropout."""
    mode = torch.onnx.TrainingMode.TRAINING
    path = export(Network().train(), folder / "trap_training.onnx", training=mode)
    assert "deterministic" in probe(path).probes.failed
    return "in training mode, inspect: the same question gets different answers"


def main(folder: Path) -> None:
    torch.manual_seed(0)
    network = Network().eval()
    path = export(network, folder / "pyg_torchscript.onnx")
    compare(path, GRAPHS, lambda feed: answer(network, feed))
    print("trap:", trap_old_opset(network, folder))
    print("trap:", trap_no_axes(network, folder))
    print("trap:", trap_cached(folder))
    print("trap:", trap_types(folder))
    print("trap:", trap_training_mode(folder))
    show(path)


if __name__ == "__main__":
    start(main)
