"""A PyG network for several kinds of nodes (HeteroConv), through a flat wrapper.

Exporters make up names for what is inside a dictionary, and the newer one refuses tuples as keys.
The usual cure: a wrapper with one argument per tensor, named `x_KIND` and `edge_index_RELATION`.
"""

from pathlib import Path

import numpy as np
import torch
from check import Feed, answer, compare, differ, probe, show, start
from torch import Tensor, nn
from torch_geometric.nn import GATConv, HeteroConv, SAGEConv

WORKS_AT, KNOWS = ("person", "works_at", "employer"), ("person", "knows", "person")
EMPLOYS = ("employer", "rev_works_at", "person")
RELATIONS = (WORKS_AT, EMPLOYS, KNOWS)
WIDTHS = {"person": 4, "employer": 3}
HIDDEN, CLASSES = 8, 2
NAMES = ["x_person", "x_employer", "edge_index_works_at", "edge_index_knows"]
# People, employers, jobs, acquaintances. Numbers of nodes are local to each kind.
SIZES = {
    "as traced": (10, 6, 14, 18),
    "bigger": (200, 40, 260, 300),
    "smaller": (3, 2, 2, 2),
    "no tie": (4, 2, 0, 0),
    "people and employers without ties": (12, 8, 10, 10),
    "one job, nobody knows anybody": (5, 3, 1, 0),
}


def draw_graph(people: int, employers: int, jobs: int, acquaintances: int) -> Feed:
    """A made-up graph; the last person and the last employer have no ties."""
    random = np.random.default_rng(people)
    someone, firm = random.integers(0, people - 1, jobs), random.integers(0, employers - 1, jobs)
    x = [random.normal(size=(people, 4)), random.normal(size=(employers, 3))]
    pairs = random.integers(0, people - 1, (2, acquaintances))
    tables = [*(table.astype(np.float32) for table in x), np.stack((someone, firm)), pairs]
    return dict(zip(NAMES, tables, strict=True))


GRAPHS = {title: draw_graph(*sizes) for title, sizes in SIZES.items()}


class Kinds(nn.Module):
    """Two HeteroConv layers over dictionaries, as PyG's users write them."""

    def __init__(self, layer: type[nn.Module], **more: bool) -> None:
        super().__init__()
        for name, widths in (("first", WIDTHS), ("second", dict.fromkeys(WIDTHS, HIDDEN))):
            ends = {r: (widths[r[0]], widths[r[2]]) for r in RELATIONS}
            layers = {r: layer(ends[r], HIDDEN, **more) for r in RELATIONS}
            setattr(self, name, HeteroConv(layers))
        self.last = nn.Linear(HIDDEN, CLASSES)

    def forward(self, x: dict[str, Tensor], ties: dict[tuple, Tensor]) -> Tensor:
        hidden = {kind: rows.relu() for kind, rows in self.first(x, ties).items()}
        return self.last(self.second(hidden, ties)["person"])


class Flat(nn.Module):
    """One argument per tensor. The reversed relation is made inside: one input less."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x_person: Tensor, x_employer: Tensor, jobs: Tensor, knows: Tensor) -> Tensor:
        ties = {WORKS_AT: jobs, EMPLOYS: jobs.flip(0), KNOWS: knows}
        return self.inner({"person": x_person, "employer": x_employer}, ties)


def export(network: nn.Module, path: Path, traced: str = "as traced") -> Path:
    """Write one file; trace with at least two nodes of each kind and two ties of each relation."""
    axes = {name: {int(name.startswith("edge")): f"n_{name}"} for name in NAMES}
    example = tuple(map(torch.from_numpy, GRAPHS[traced].values()))
    names = {"input_names": NAMES, "output_names": ["logits"], "dynamic_axes": axes}
    torch.onnx.export(network, example, path, dynamo=False, opset_version=18, **names)
    return path


def trap_traced_empty(folder: Path) -> str:
    """Attention leaves early where nobody has ties; traced there, the file never normalises it."""
    network = Flat(Kinds(GATConv, add_self_loops=False)).eval()
    path = export(network, folder / "trap_traced_empty.onnx", "one job, nobody knows anybody")
    off = differ(path, GRAPHS["bigger"], answer(network, GRAPHS["bigger"]))
    assert off > 0.01, off
    probed = probe(path).probes
    # No probe can know: this is a sound model, but not the trained one. Only torch's answers tell.
    assert probed.failed == ()
    return f"traced where a relation has no tie: differs by {off:.2g}, and inspect cannot see it"


def trap_dictionaries(folder: Path) -> str:
    """Given dictionaries, the older exporter makes names up: roles have to be declared."""
    path = folder / "trap_dictionaries.onnx"
    x_person, x_employer, jobs, knows = map(torch.from_numpy, GRAPHS["as traced"].values())
    ties = {WORKS_AT: jobs, EMPLOYS: jobs.flip(0).clone(), KNOWS: knows}
    # The empty dictionary last: else the exporter takes the one before it for keyword arguments.
    example = ({"person": x_person, "employer": x_employer}, ties, {})
    torch.onnx.export(Kinds(SAGEConv).eval(), example, path, dynamo=False, opset_version=18)
    ports = probe(path).signature.inputs
    assert not {port.name for port in ports} & set(NAMES)
    named = ", ".join(f"{port.name} {port.full_role}" for port in ports)
    return f"dictionaries, inspect: {named}"


def main(folder: Path) -> None:
    torch.manual_seed(0)
    network = Flat(Kinds(SAGEConv)).eval()
    path = export(network, folder / "hetero.onnx")
    compare(path, GRAPHS, lambda feed: answer(network, feed))
    print("trap:", trap_traced_empty(folder))
    print("trap:", trap_dictionaries(folder))
    show(path)


if __name__ == "__main__":
    start(main)
