"""A graph network in plain torch, without PyG: what to write, and what an exporter gets wrong.

One layer: the mean of a person's neighbours, and the person. Everything is in two operations that
export well: a choice of rows, and a sum by index.
"""

from pathlib import Path

import torch
from check import answer, compare, differ, draw_graphs, probe, runtime_error, show, start
from torch import Tensor, nn

FEATURES, HIDDEN, CLASSES = 4, 8, 2
GRAPHS = draw_graphs(FEATURES)
AXES = {"x": {0: "people"}, "edge_index": {1: "arcs"}, "logits": {0: "people"}}


def add_up(messages: Tensor, target: Tensor, nothing: Tensor) -> Tensor:
    """The sum of the messages to each person."""
    return nothing.scatter_add(0, target.unsqueeze(1).expand_as(messages), messages)


def add_up_wrongly(messages: Tensor, target: Tensor, nothing: Tensor) -> Tensor:
    """The same in torch. The older exporter drops messages that meet, at every opset."""
    return nothing.index_add(0, target, messages)


class Layer(nn.Module):
    """A mean over neighbours (zero where there are none), and a matrix for each of both."""

    def __init__(self, inputs: int, outputs: int, add_up: object) -> None:
        super().__init__()
        self.own, self.near = nn.Linear(inputs, outputs), nn.Linear(inputs, outputs, bias=False)
        self.add_up = add_up

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        source, target = edge_index[0], edge_index[1]
        ones = torch.ones_like(target, dtype=x.dtype).unsqueeze(1)
        # Sizes come from tensors (zeros_like), not from Python numbers, which would be kept.
        count = self.add_up(ones, target, torch.zeros_like(x[:, :1])).clamp(min=1)
        return self.own(x) + self.near(self.add_up(x[source], target, torch.zeros_like(x)) / count)


class Network(nn.Module):
    """Two layers."""

    def __init__(self, add_up: object = add_up) -> None:
        super().__init__()
        self.first, self.second = Layer(FEATURES, HIDDEN, add_up), Layer(HIDDEN, CLASSES, add_up)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.second(self.first(x, edge_index).relu(), edge_index)


class Flawed(Network):
    """A size as a Python number: tracing keeps that of the first graph."""

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return super().forward(x, edge_index) * float(x.shape[0]) ** 0.5


def export(network: nn.Module, path: Path) -> Path:
    example = tuple(map(torch.from_numpy, GRAPHS["as traced"].values()))
    names = {"input_names": ["x", "edge_index"], "output_names": ["logits"], "dynamic_axes": AXES}
    torch.onnx.export(network.eval(), example, path, dynamo=False, opset_version=18, **names)
    return path


def trap_index_add(network: nn.Module, folder: Path) -> str:
    """`index_add` becomes a scatter that does not add, opset 18 or not."""
    other = Network(add_up_wrongly)
    other.load_state_dict(network.state_dict())
    path = export(other, folder / "trap_index_add.onnx")
    off = differ(path, GRAPHS["bigger"], answer(network, GRAPHS["bigger"]))
    assert off > 0.1, off
    assert "tie_order" in probe(path).probes.failed
    return f"index_add, dynamo=False: differs by {off:.2g}; inspect: the order of ties matters"


def trap_python_number(folder: Path) -> str:
    """A Python number made of a size is a constant in the file."""
    network = Flawed()
    path = export(network, folder / "trap_python_number.onnx")
    off = differ(path, GRAPHS["bigger"], answer(network, GRAPHS["bigger"]))
    assert off > 0.1, off
    assert probe(path).probes.failed == ()  # a sound model of another scale
    return f"a size as a Python number: differs by {off:.2g}, and inspect cannot see it"


def trap_numbers_of_nodes(path: Path) -> str:
    """A node number too large is an error; a negative one counts from the end, without a word."""
    feed = GRAPHS["bigger"]
    assert runtime_error(path, {**feed, "edge_index": feed["edge_index"] - 1}) == ""
    assert "out of data bounds" in runtime_error(
        path, {**feed, "edge_index": feed["edge_index"] + 300}
    )
    return "node number -1 is the last person, silently; an audit makes its own numbers from ids"


def main(folder: Path) -> None:
    torch.manual_seed(0)
    network = Network()
    path = export(network, folder / "by_hand_torch.onnx")
    compare(path, GRAPHS, lambda feed: answer(network, feed))
    print("trap:", trap_index_add(network, folder))
    print("trap:", trap_python_number(folder))
    print("trap:", trap_numbers_of_nodes(path))
    show(path)


if __name__ == "__main__":
    start(main)
