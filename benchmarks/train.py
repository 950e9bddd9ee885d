"""Trains the paper's models on real graphs and exports them; needs the `samples` extra.

    python -m benchmarks.train --data DIR --models DIR [NAME …]

Each model is a two-layer GCN with 16 hidden units, trained with Adam at 0.01 for at most 500 epochs
with early stopping. Nodes are split 50:20:30 at random with a fixed seed. Writes NAME.onnx,
NAME.test.npy with the test nodes and, last, NAME.pt with the weights, for methods that need them.
"""

import argparse
import logging
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch_geometric.nn import GCNConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from benchmarks.datasets import load_arrays

PATIENCE = 40


class GCN(torch.nn.Module):
    """Two graph convolutions."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.first = GCNConv(features, 16)
        self.second = GCNConv(16, classes)
        self.register_buffer("shift", torch.zeros(features))
        self.register_buffer("scale", torch.ones(features))

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        hidden = self.first((x - self.shift) / self.scale, edge_index).relu()
        hidden = torch.nn.functional.dropout(hidden, 0.5, self.training)
        return self.second(hidden, edge_index)


def split(count: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    order = np.random.default_rng(seed).permutation(count)
    first, second = int(0.5 * count), int(0.7 * count)
    return order[:first], order[first:second], order[second:]


def thinned(x: torch.Tensor) -> torch.Tensor:
    """The features as a sparse matrix, if most of them are zero."""
    return x.to_sparse().coalesce() if float((x != 0).float().mean()) < 0.1 else x


def multiplied(words: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return torch.sparse.mm(words, weight) if words.is_sparse else words @ weight


def sparse_forward(model: GCN, x: torch.Tensor, edges: torch.Tensor) -> Callable[[], torch.Tensor]:
    """The model on its whole graph, by sparse products: wide features are slow otherwise."""
    count = x.shape[0]
    ends, weight = gcn_norm(edges, None, count)
    ties = torch.sparse_coo_tensor(
        ends.flip(0), weight, (count, count), check_invariants=False
    ).coalesce()
    words = thinned((x - model.shift) / model.scale)

    def forward() -> torch.Tensor:
        product = multiplied(words, model.first.lin.weight.T)
        hidden = (torch.sparse.mm(ties, product) + model.first.bias).relu()
        hidden = torch.nn.functional.dropout(hidden, 0.5, model.training)
        product = hidden @ model.second.lin.weight.T
        return torch.sparse.mm(ties, product) + model.second.bias

    return forward


def train(folder: Path, out: Path, name: str, seed: int) -> None:
    """Train and export one model; nodes without a real label are left out."""
    torch.manual_seed(seed)
    arrays = load_arrays(folder, name)
    x, edges = torch.tensor(arrays["x"]).float(), torch.tensor(arrays["edge_index"])
    y = torch.tensor(arrays["y"])
    known = arrays["y"] >= 0
    if "no_label" in arrays:
        known &= ~arrays["no_label"]
    labelled = np.flatnonzero(known)
    fit, check, test = (labelled[part] for part in split(len(labelled), seed))
    model = GCN(x.shape[1], int(y.max()) + 1)
    # Standardise measurements, and word lists so long that raw ones kill the hidden units (Amazon).
    if x.max() > 10 or x.mean() > 0.1:
        model.shift, model.scale = x[fit].mean(0), x[fit].std(0).clamp_min(1e-6)
    forward = sparse_forward(model, x, edges)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    best, waited, kept = -1.0, 0, {}
    for _ in range(500):
        model.train()
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(forward()[fit], y[fit])
        loss.backward()
        optimiser.step()
        model.eval()
        with torch.no_grad():
            right = (forward().argmax(1) == y).float()
        if float(right[check].mean()) > best:
            best, waited = float(right[check].mean()), 0
            kept = {key: value.clone() for key, value in model.state_dict().items()}
        waited += 1
        if waited > PATIENCE:
            break
    model.load_state_dict(kept)
    model.eval()
    with torch.no_grad():
        answers = model(x, edges)
        assert torch.allclose(answers, forward(), atol=1e-3), (
            "the sparse products must give the model's own answers"
        )
        right = (answers.argmax(1) == y).float()
    out.mkdir(parents=True, exist_ok=True)
    # The exporter warns about every optional library that is not installed.
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    node, arc = torch.export.Dim("nodes"), torch.export.Dim("arcs")
    torch.onnx.export(
        model,
        (x[:50], edges[:, (edges < 50).all(0)]),
        out / f"{name}.onnx",
        input_names=["x", "edge_index"],
        output_names=["logits"],
        dynamic_shapes=({0: node}, {1: arc}),
        dynamo=True,
        external_data=False,
        verbose=False,
    )
    np.save(out / f"{name}.test.npy", test)
    torch.save({**model.state_dict(), "accuracy": right[test].mean()}, out / f"{name}.pt")
    print(f"{name}_test_accuracy: {float(right[test].mean()):.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=["cora", "german"])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name in options.names:
        train(options.data, options.models, name, options.seed)


if __name__ == "__main__":
    main()
