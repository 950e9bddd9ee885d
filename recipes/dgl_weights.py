"""A DGL network: its weights carried over into a network of torch and PyG, which is then exported.

DGL has no way to ONNX, say its maintainers, and does not import beside torch 2.13. What leaves it
are arrays: where DGL runs, save weights, a few graphs and its answers; then rebuild and compare.

    arrays = {name: value.numpy() for name, value in model.state_dict().items()}
    for title, graph in graphs.items():
        ends = torch.stack(graph.edges())
        named = {"x": x, "edge_index": ends, "answers": model(graph, x)}
        arrays |= {f"{title}/{name}": value for name, value in named.items()}
    np.savez("dgl.npz", **arrays)

`recorded/dgl.npz` was made like that by DGL 2.1.0: SAGEConv("mean"), relu, GraphConv(norm="both").
"""

from pathlib import Path

import numpy as np
import torch
from check import TOLERANCE, Feed, answer, compare, draw_graphs, show, start
from torch import Tensor, nn
from torch_geometric.nn import GCNConv, SAGEConv

RECORDED = Path(__file__).parent / "recorded" / "dgl.npz"
WIDTH, HIDDEN = 4, 4
AXES = {"x": {0: "people"}, "edge_index": {1: "arcs"}, "logits": {0: "people"}}


def add_up(messages: Tensor, index: Tensor, x: Tensor) -> Tensor:
    """The sum of the messages to each node. Not `index_add`: its export loses messages."""
    nothing = x.new_zeros(x.shape[0], messages.shape[1])
    return nothing.scatter_add(0, index.unsqueeze(1).expand_as(messages), messages)


class GraphConv(nn.Module):
    """DGL's GraphConv with norm="both": by the sender's arcs out and the receiver's arcs in.

    PyG's GCNConv counts arcs in on both sides, which is the same only where every tie is two arcs.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs))
        self.bias = nn.Parameter(torch.empty(outputs))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        source, target = edge_index
        ones = torch.ones_like(source, dtype=x.dtype).unsqueeze(1)
        sent = add_up(ones, source, x).clamp(min=1).rsqrt()
        received = add_up(ones, target, x).clamp(min=1).rsqrt()
        messages = (sent * (x @ self.weight))[source]
        return add_up(messages, target, x) * received + self.bias


class Network(nn.Module):
    """The same two layers; `second` may be another than GraphConv, to show what goes wrong."""

    def __init__(self, second: nn.Module) -> None:
        super().__init__()
        self.first, self.second = SAGEConv(WIDTH, HIDDEN), second

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.second(self.first(x, edge_index).relu(), edge_index)


def carry_over(arrays: Feed, *, second: nn.Module | None = None, turned: bool = False) -> Network:
    """A network with DGL's weights: GraphConv's are [in, out], a linear layer's [out, in]."""
    network = Network(second or GraphConv(HIDDEN, HIDDEN)).eval()
    weight = arrays["second.weight"]
    is_linear = isinstance(second, GCNConv)
    weight = weight.T if is_linear or turned else weight
    names = {  # lin_l is about the neighbours, lin_r about the node itself
        "first.lin_l.weight": arrays["first.fc_neigh.weight"],
        "first.lin_l.bias": arrays["first.fc_self.bias"],
        "first.lin_r.weight": arrays["first.fc_self.weight"],
        "second.lin.weight" if is_linear else "second.weight": weight,
        "second.bias": arrays["second.bias"],
    }
    network.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in names.items()})
    return network


def off_from_dgl(network: nn.Module, arrays: Feed) -> float:
    """The largest difference from what DGL answered."""
    titles = [name.removesuffix("/answers") for name in arrays if name.endswith("/answers")]
    feeds = {t: {key: arrays[f"{t}/{key}"] for key in ("x", "edge_index")} for t in titles}
    return max(
        float(np.abs(answer(network, feeds[title]) - arrays[f"{title}/answers"]).max())
        for title in titles
    )


def main(folder: Path) -> None:
    arrays = dict(np.load(RECORDED))
    network = carry_over(arrays)
    print(
        f"weights carried over: differs from DGL's answers by {off_from_dgl(network, arrays):.1e}"
    )
    assert off_from_dgl(network, arrays) < TOLERANCE
    # Each of these loads, and passes every check of `inspect`: only DGL's own answers tell.
    loops, no_loops = (GCNConv(HIDDEN, HIDDEN, add_self_loops=loops) for loops in (True, False))
    wrong = {
        "a square weight that was not turned": carry_over(arrays, turned=True),
        "GCNConv, which adds self-loops": carry_over(arrays, second=loops),
        "GCNConv without self-loops, on ties of one direction": carry_over(arrays, second=no_loops),
    }
    for trap, other in wrong.items():
        assert off_from_dgl(other, arrays) > 0.01
        print(f"trap: {trap}: differs from DGL by {off_from_dgl(other, arrays):.2g}")
    graphs = draw_graphs(WIDTH)
    path, example = folder / "dgl.onnx", tuple(map(torch.from_numpy, graphs["as traced"].values()))
    names = {"input_names": ["x", "edge_index"], "output_names": ["logits"], "dynamic_axes": AXES}
    torch.onnx.export(network, example, path, dynamo=False, opset_version=18, **names)
    compare(path, graphs, lambda feed: answer(network, feed))
    show(path)


if __name__ == "__main__":
    start(main)
