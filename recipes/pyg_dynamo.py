"""A PyG network for nodes of one kind, through torch's newer exporter (`dynamo=True`).

The newer exporter reads the program instead of one run of it. It wants to be told which sizes are
free, and writes the weights into a second file unless told not to.
"""

import shutil
from pathlib import Path

import torch
from check import answer, compare, draw_graphs, probe, refusal, show, start
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv

from recourse_audit.cli.inspect import advice_on

FEATURES, HIDDEN, CLASSES = 4, 8, 2
GRAPHS = draw_graphs(FEATURES)
PEOPLE, ARCS = torch.export.Dim("people", min=1), torch.export.Dim("arcs", min=0)
SHAPES = {"x": {0: PEOPLE}, "edge_index": {1: ARCS}, "edge_weight": {0: ARCS}}


class Network(nn.Module):
    """Attention, then a convolution; `cached` is the convolution's."""

    def __init__(self, *, hidden: int = HIDDEN, cached: bool = False) -> None:
        super().__init__()
        self.first = GATConv(FEATURES, hidden)
        self.dropout = nn.Dropout()
        self.second = GCNConv(hidden, CLASSES, cached=cached)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        return self.second(self.dropout(self.first(x, edge_index).relu()), edge_index)


class Convolutions(Network):
    """Two convolutions, both with a cache."""

    def __init__(self) -> None:
        super().__init__(cached=True)
        self.first = GCNConv(FEATURES, HIDDEN, cached=True)


def export(network: nn.Module, path: Path, *, weights: bool = False, one_file: bool = True) -> Path:
    """Write one file. `eval()` first; a `Dim` per size that may change, not `Dim.AUTO`."""
    example = {name: torch.from_numpy(array) for name, array in GRAPHS["as traced"].items()}
    if weights:
        example["edge_weight"] = torch.ones(example["edge_index"].shape[1])
    torch.onnx.export(
        network,
        tuple(example.values()),
        path,
        dynamo=True,
        opset_version=18,
        input_names=list(example),
        output_names=["logits"],
        dynamic_shapes=tuple(SHAPES[name] for name in example),
        external_data=not one_file,
        verbose=False,
    )
    return path


def trap_data_file(folder: Path) -> str:
    """Left alone, the exporter writes NAME.onnx.data too; the model is both, so move both.

    Tensors of about a kilobyte and more go there. Of a smaller network that file is empty.
    """
    path = export(Network(hidden=128).eval(), folder / "trap_data.onnx", one_file=False)
    assert path.with_name("trap_data.onnx.data").stat().st_size > 0
    assert len(probe(path).sha256) == 64  # of both files
    alone = folder / "alone"
    alone.mkdir(exist_ok=True)
    message = refusal(Path(shutil.copy(path, alone)))
    assert "'trap_data.onnx.data' is missing beside it" in message, message
    return "moved without its .onnx.data, inspect: " + message.split(": ", 1)[1]


def trap_cached(folder: Path) -> str:
    """`cached=True` keeps the ties of the first graph: `edge_index` is there, and ignored."""
    network = Convolutions().eval()
    answer(network, GRAPHS["as traced"])  # as after training: the caches are full
    path = export(network, folder / "trap_cached_dynamo.onnx")
    message = probe(path).problem
    assert "could not answer a query" in message, message
    return "cached=True, inspect: " + message.split(": ", 1)[1].split(":")[0]


def trap_unused_weight(network: nn.Module, folder: Path) -> str:
    """An input that the network ignores stays in the file (the older exporter drops it)."""
    path = export(network, folder / "trap_weight.onnx", weights=True)
    probed = probe(path)
    assert [port.role for port in probed.signature.inputs] == ["features", "edges", "edge_weight"]
    assert "The model takes weights of ties" in " ".join(advice_on(probed))
    return "an unused edge_weight stays an input: inspect asks how weights were made"


def trap_training_mode(folder: Path) -> str:
    """Without `eval()` the dropout stays in the file."""
    path = export(Network().train(), folder / "trap_training_dynamo.onnx")
    assert "deterministic" in probe(path).probes.failed
    return "in training mode, inspect: the same question gets different answers"


def main(folder: Path) -> None:
    torch.manual_seed(0)
    network = Network().eval()
    path = export(network, folder / "pyg_dynamo.onnx")
    compare(path, GRAPHS, lambda feed: answer(network, feed))
    print("trap:", trap_data_file(folder))
    print("trap:", trap_cached(folder))
    print("trap:", trap_unused_weight(network, folder))
    print("trap:", trap_training_mode(folder))
    show(path)


if __name__ == "__main__":
    start(main)
