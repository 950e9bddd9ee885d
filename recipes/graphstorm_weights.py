"""A GraphStorm model (RGCN for nodes): what it saves, rebuilt in plain torch, and exported.

GraphStorm runs on DGL and has no code for ONNX. Training leaves `model.bin`, weights by name:

    node_embed  input_projs.KIND                a matrix for the features of each kind
    gnn         _layers.N.weight                [relations, in, out], in the graph's order
                _layers.N.h_bias, .loop_weight  shared by all kinds
    decoder     decoder, bias                   logits

The rest is not in the file and comes from the training's YAML and the graph's JSON: kinds and the
order of relations, bases, norm, activation, which kind is decided on. Transformations of features
(`gconstruct`) are outside too: audit from the columns that the network takes. A kind without
features has a learned vector per node (`sparse_emb`): it cannot answer about new nodes, and
this recipe refuses it.

`recorded/` has weights and answers of the layers of GraphStorm 0.5.1 (on DGL 2.1.0).
"""

from pathlib import Path

import numpy as np
import torch
from check import TOLERANCE, Feed, answer, compare, differ, show, start
from torch import Tensor, nn

RECORDED = Path(__file__).parent / "recorded"
NAMES = ["x_person", "x_employer", "edge_index_works_at", "edge_index_knows"]
EMPLOYS, WORKS_AT = ("employer", "employs", "person"), ("person", "works_at", "employer")
KNOWS = ("person", "knows", "person")
# As `graph.canonical_etypes` lists them where the model was trained.
RELATIONS = (EMPLOYS, KNOWS, WORKS_AT)


def mean_of(x: Tensor, ties: Tensor, receivers: Tensor) -> Tensor:
    """The mean over all ties to each receiver; zero where there is none."""
    index = ties[1].unsqueeze(1)
    count = receivers.new_zeros(receivers.shape[0], 1)
    count = count.scatter_add(0, index, torch.ones_like(index, dtype=x.dtype)).clamp(min=1)
    total = receivers.new_zeros(receivers.shape[0], x.shape[1])
    return total.scatter_add(0, index.expand(-1, x.shape[1]), x[ties[0]]) / count


class Rgcn(nn.Module):
    """Input matrices, RGCN layers without norm or bases, decoder; relu between the layers."""

    def __init__(self, saved: dict[str, dict[str, Tensor]], relations: tuple = RELATIONS) -> None:
        super().__init__()
        kinds = {
            name.split(".")[1]: w for name, w in saved["node_embed"].items() if "input" in name
        }
        missing = {kind for r in relations for kind in (r[0], r[2])} - kinds.keys()
        if missing or any(name.startswith("proj_matrix") for name in saved["node_embed"]):
            raise SystemExit(f"{missing or 'some kinds'} have a learned vector per node: no recipe")
        if any(".basis." in name or ".norm." in name for name in saved["gnn"]):
            raise SystemExit("the layers have bases or a norm, which this recipe does not rebuild")
        self.relations = relations
        self.inputs = nn.ParameterDict(kinds)
        self.layers = nn.ParameterDict({k.replace(".", "_"): w for k, w in saved["gnn"].items()})
        self.decoder = nn.ParameterDict(saved["decoder"])
        self.depth = len({name.split(".")[1] for name in saved["gnn"]})

    def forward(self, x_person: Tensor, x_employer: Tensor, jobs: Tensor, knows: Tensor) -> Tensor:
        given = {"person": x_person, "employer": x_employer}
        ties = {WORKS_AT: jobs, EMPLOYS: jobs.flip(0), KNOWS: knows}
        hidden = {kind: x @ self.inputs[kind] for kind, x in given.items()}
        for depth in range(self.depth):
            part = {key: self.layers[f"_layers_{depth}_{key}"] for key in ("weight", "loop_weight")}
            after = {kind: x @ part["loop_weight"] for kind, x in hidden.items()}
            for number, relation in enumerate(self.relations):
                sender, receiver = hidden[relation[0]], hidden[relation[2]]
                mean = mean_of(sender, ties[relation], receiver)
                after[relation[2]] = after[relation[2]] + mean @ part["weight"][number]
            hidden = {kind: x + self.layers[f"_layers_{depth}_h_bias"] for kind, x in after.items()}
            if depth < self.depth - 1:
                hidden = {kind: x.relu() for kind, x in hidden.items()}
        return hidden["person"] @ self.decoder["decoder"] + self.decoder["bias"]


def main(folder: Path) -> None:
    saved = torch.load(RECORDED / "model.bin", weights_only=True)
    arrays = dict(np.load(RECORDED / "graphstorm.npz"))
    feeds: dict[str, Feed] = {}
    for title in ("large", "small", "no_ties"):
        keys = ("x_person", "x_employer", "works_at", "knows")
        feeds[title] = dict(zip(NAMES, (arrays[f"{title}/{key}"] for key in keys), strict=True))
    wanted = {title: arrays[f"{title}/answers"] for title in feeds}
    network = Rgcn(saved).eval()
    off = max(float(np.abs(answer(network, feeds[t]) - wanted[t]).max()) for t in feeds)
    print(f"rebuilt: differs from GraphStorm's answers by {off:.1e}")
    assert off < TOLERANCE
    path = folder / "graphstorm.onnx"
    axes = {name: {int(name.startswith("edge")): f"n_{name}"} for name in NAMES}
    example = tuple(map(torch.from_numpy, feeds["large"].values()))
    names = {"input_names": NAMES, "output_names": ["logits"], "dynamic_axes": axes}
    torch.onnx.export(network, example, path, dynamo=False, opset_version=18, **names)
    compare(path, feeds, lambda feed: answer(network, feed))
    # Weights of relations in another order fit as well, and every check passes.
    other = answer(Rgcn(saved, (WORKS_AT, KNOWS, EMPLOYS)), feeds["large"])
    off = differ(path, feeds["large"], other)
    assert off > 0.01
    print(f"trap: relations in another order: differs by {off:.2g}, and inspect cannot see it")
    show(path)


if __name__ == "__main__":
    start(main)
