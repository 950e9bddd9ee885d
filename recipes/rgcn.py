"""RGCN over a homogenised graph: all nodes in one table, kinds and relations as codes.

`HeteroData.to_homogeneous()` makes such tables: kind after kind, the columns of narrower kinds
filled up with zeros. What a code means is nowhere in the file, so write it down for the auditor.
"""

from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import torch
from check import Feed, answer, compare, differ, show, start
from torch import Tensor, nn
from torch_geometric.nn import RGCNConv

# The order is the code.
KINDS, RELATIONS = ("person", "employer"), ("works_at", "rev_works_at", "knows")
WIDTHS = {"person": 4, "employer": 3}
WIDEST, HIDDEN, CLASSES = max(WIDTHS.values()), 8, 2
AXES = {"x": {0: "nodes"}, "edge_index": {1: "arcs"}, "edge_type": {0: "arcs"}}
AXES |= {"node_type": {0: "nodes"}, "logits": {0: "nodes"}}
# People, employers, jobs, acquaintances.
SIZES = {
    "as traced": (10, 6, 14, 18),
    "bigger": (200, 40, 260, 300),
    "smaller": (3, 2, 2, 2),
    "no tie": (4, 2, 0, 0),
    "people and employers without ties": (12, 8, 10, 10),
    "no employer": (6, 0, 0, 8),
}


def draw_graph(people: int, employers: int, jobs: int, acquaintances: int) -> Feed:
    """A made-up graph, people first; the last person and the last employer have no ties."""
    random = np.random.default_rng(people)
    someone = random.integers(0, people - 1, jobs)
    firm = people + random.integers(0, max(employers - 1, 1), jobs)
    x = random.normal(size=(people + employers, WIDEST)).astype(np.float32)
    x[people:, WIDTHS["employer"] :] = 0.0
    work, pairs = np.stack((someone, firm)), random.integers(0, people - 1, (2, acquaintances))
    return {
        "x": x,
        "edge_index": np.concatenate((work, work[::-1], pairs), axis=1),
        "edge_type": np.repeat([0, 1, 2], [jobs, jobs, acquaintances]),
        "node_type": np.repeat([0, 1], [people, employers]),
    }


GRAPHS = {title: draw_graph(*sizes) for title, sizes in SIZES.items()}


class Network(nn.Module):
    """An entry per kind, then two RGCN layers; logits of all nodes of all kinds."""

    def __init__(self) -> None:
        super().__init__()
        self.entries = nn.ModuleList(nn.Linear(WIDEST, HIDDEN) for _ in KINDS)
        self.first = RGCNConv(HIDDEN, HIDDEN, num_relations=len(RELATIONS))
        self.second = RGCNConv(HIDDEN, CLASSES, num_relations=len(RELATIONS))

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_type: Tensor, node_type: Tensor
    ) -> Tensor:
        # All entries for all rows, then a choice: a mask of rows would have a size of its own.
        entered = torch.stack([entry(x) for entry in self.entries], dim=1)
        chosen = nn.functional.one_hot(node_type, len(KINDS)).unsqueeze(2)
        hidden = self.first((entered * chosen).sum(dim=1), edge_index, edge_type).relu()
        return self.second(hidden, edge_index, edge_type)


def export(network: nn.Module, path: Path, *, dynamo: bool = False) -> Path:
    """Write one file; the older exporter, because the newer one stops in RGCNConv."""
    example = tuple(map(torch.from_numpy, GRAPHS["as traced"].values()))
    names = {"input_names": [*GRAPHS["as traced"]], "output_names": ["logits"]}
    auto = torch.export.Dim.AUTO
    shapes = tuple(dict.fromkeys(AXES[name], auto) for name in names["input_names"])
    sizes = {"dynamic_shapes": shapes} if dynamo else {"dynamic_axes": AXES}
    more = {"opset_version": 18, "verbose": False} | names | sizes
    torch.onnx.export(network, example, path, dynamo=dynamo, **more)
    return path


def trap_dynamo(network: nn.Module, folder: Path) -> str:
    """The newer exporter stops: RGCNConv looks at a number that only data can tell."""
    stopped = ""
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):  # it prints the network
            export(network, folder / "rgcn_dynamo.onnx", dynamo=True)
    except torch.onnx.errors.OnnxExporterError as error:
        stopped = str(error.__cause__)
    assert "data-dependent" in stopped  # if it stops no more, say so in the documentation
    return "dynamo=True stops: data-dependent expression"


def trap_codes(network: nn.Module, path: Path) -> str:
    """With two codes exchanged, a file answers as readily: nothing in it says which is which."""
    feed = GRAPHS["bigger"]
    exchanged = {**feed, "edge_type": np.array([1, 0, 2])[feed["edge_type"]]}
    off = differ(path, exchanged, answer(network, feed))
    assert off > 0.01, off
    return (
        f"codes exchanged: answers move by {off:.2g}, and inspect cannot see it; declare\n"
        f"  [model]\n  node_types = {[*KINDS]}\n  edge_types = {[*RELATIONS]}"
    )


def main(folder: Path) -> None:
    torch.manual_seed(0)
    network = Network().eval()
    path = export(network, folder / "rgcn.onnx")
    compare(path, GRAPHS, lambda feed: answer(network, feed))
    print("trap:", trap_dynamo(network, folder))
    print("trap:", trap_codes(network, path))
    show(path)


if __name__ == "__main__":
    start(main)
