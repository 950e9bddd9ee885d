"""Writes `recipes/recorded`: weights and answers of real DGL and GraphStorm layers.

    python scripts/record_dgl.py FOLDER      # where the wheels of dgl and graphstorm are unpacked

The last release of DGL does not import beside torch 2.13: its part for sampling (graphbolt) is
compiled for older ones. Its layers are Python over a library that loads, so that part is replaced
by an empty module here, as are GraphStorm's parts for clusters.
Made with dgl 2.1.0 and graphstorm 0.5.1.
"""

import importlib
import sys
import types
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[1]
SIZES = {"large": (40, 120), "no_ties": (4, 0), "small": (3, 4)}
WIDTHS = {"person": 4, "employer": 3}
HIDDEN, CLASSES = 4, 2


class Empty(types.ModuleType):
    """A module that has every name: each is a class that does nothing."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (torch.nn.Module,), {})


def empty(*names: str) -> None:
    """Put modules that have every name in the place of some that do not import."""
    for name in names:
        sys.modules[name] = Empty(name)
        sys.modules[name].__path__ = []


def draw(random: np.random.Generator, count: int, *sizes: int) -> torch.Tensor:
    """Arcs between the nodes of two kinds, all but the last of each."""
    return torch.from_numpy(np.stack([random.integers(0, max(n - 1, 1), count) for n in sizes]))


def record_dgl(dgl: types.ModuleType, into: Path) -> None:
    """SAGEConv, then GraphConv, on directed graphs; the second is square, as the recipe needs."""
    random = np.random.default_rng(0)
    first = dgl.nn.SAGEConv(4, HIDDEN, "mean")
    second = dgl.nn.GraphConv(HIDDEN, HIDDEN, norm="both", allow_zero_in_degree=True)
    torch.nn.init.normal_(second.bias)
    torch.nn.init.normal_(first.fc_self.bias)
    arrays = {f"first.{name}": value for name, value in first.state_dict().items()}
    arrays |= {f"second.{name}": value for name, value in second.state_dict().items()}
    for title, (people, arcs) in SIZES.items():
        x = torch.from_numpy(random.normal(size=(people, 4)).astype(np.float32))
        ends = draw(random, arcs, people, people)
        graph = dgl.graph((ends[0], ends[1]), num_nodes=people)
        with torch.no_grad():
            answers = second(graph, first(graph, x).relu())
        arrays |= {f"{title}/x": x, f"{title}/edge_index": ends, f"{title}/answers": answers}
    np.savez_compressed(into / "dgl.npz", **{name: value.numpy() for name, value in arrays.items()})


def record_graphstorm(dgl: types.ModuleType, into: Path) -> None:
    """An input layer, RGCN and a decoder, saved as `save_model` does, with answers."""
    encoders = importlib.import_module("graphstorm.model.rgcn_encoder")
    embeds = importlib.import_module("graphstorm.model.embed")
    decoders = importlib.import_module("graphstorm.model.node_decoder")
    random, arrays, model = np.random.default_rng(1), {}, None
    for title, (people, arcs) in SIZES.items():
        employers = max(people // 4, 2)
        jobs = draw(random, arcs, people, employers)
        knows = draw(random, arcs // 2, people, people)
        graph = dgl.heterograph(
            {
                ("employer", "employs", "person"): (jobs[1], jobs[0]),
                ("person", "knows", "person"): (knows[0], knows[1]),
                ("person", "works_at", "employer"): (jobs[0], jobs[1]),
            },
            num_nodes_dict={"person": people, "employer": employers},
        )
        if model is None:
            model = (
                embeds.GSNodeEncoderInputLayer(graph, WIDTHS, HIDDEN),
                encoders.RelationalGCNEncoder(graph, HIDDEN, HIDDEN, num_hidden_layers=1),
                decoders.EntityClassifier(HIDDEN, CLASSES, False),
            )
            for layer in model[1].layers:
                torch.nn.init.normal_(layer.h_bias)
            for part in model:
                part.eval()
        x = {
            kind: torch.from_numpy(random.normal(size=(count, WIDTHS[kind])).astype(np.float32))
            for kind, count in (("person", people), ("employer", employers))
        }
        with torch.no_grad():
            ids = {kind: torch.arange(len(rows)) for kind, rows in x.items()}
            hidden = model[1]([graph, graph], model[0](x, ids))
            answers = model[2](hidden["person"])
        given = {"x_person": x["person"], "x_employer": x["employer"]}
        given |= {"works_at": jobs, "knows": knows, "answers": answers}
        arrays |= {f"{title}/{name}": value.numpy() for name, value in given.items()}
    np.savez_compressed(into / "graphstorm.npz", **arrays)
    parts = dict(zip(("node_embed", "gnn", "decoder"), model, strict=True))
    torch.save({name: part.state_dict() for name, part in parts.items()}, into / "model.bin")


def main() -> None:
    """Record both."""
    folder, into = Path(sys.argv[1]), ROOT / "recipes" / "recorded"
    into.mkdir(exist_ok=True)
    sys.path.append(str(folder))
    torch.manual_seed(0)
    empty("dgl.graphbolt", "torchdata")
    dgl = importlib.import_module("dgl")
    record_dgl(dgl, into)
    for name in ("graphstorm", "graphstorm.model"):  # not their __init__, which import a cluster
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = [str(folder / name.replace(".", "/"))]
    parts = ("config", "config.config", "dataloading", "dataloading.dataset", "distributed")
    empty(*(f"graphstorm.{part}" for part in (*parts, "utils", "wholegraph")))
    record_graphstorm(dgl, into)
    for path in sorted(into.iterdir()):
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
