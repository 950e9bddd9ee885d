"""Trains networks of four kinds on dense real graphs and exports them; needs the `samples` extra.

    python -m benchmarks.train_dense --data DIR --models DIR [NAME_KIND …]

Each is one of the sample's networks (two layers, 16 hidden units), trained with Adam at 0.01 on
half of the nodes that have a label. Writes NAME_KIND.onnx.
"""

import argparse
import logging
from pathlib import Path

import numpy as np
import torch

from benchmarks.datasets import load_arrays
from benchmarks.train import split
from sample_models import networks
from sample_models.export import export

KINDS = {
    "gcn": networks.gcn,
    "gat": networks.gat,
    "gin": networks.gin,
    "sage": networks.sage,
}
NAMES = ("nba_gin", "nba_gcn", "tolokers_gat", "income_sage")
EPOCHS = 60


def train(folder: Path, out: Path, name: str, seed: int) -> None:
    """Train and export one network; nodes without a label are left out."""
    torch.manual_seed(seed)
    data, kind = name.rsplit("_", 1)
    arrays = load_arrays(folder, data)
    x, edges = torch.tensor(arrays["x"]).float(), torch.tensor(arrays["edge_index"])
    known = arrays["y"] >= 0
    if "no_label" in arrays:
        known &= ~arrays["no_label"]
    labelled = np.flatnonzero(known)
    fit, _, test = (labelled[part] for part in split(len(labelled), seed))
    y = torch.tensor(np.minimum(arrays["y"], 1)).long()
    model = KINDS[kind](x[fit])
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    share = torch.bincount(y[fit], minlength=2).float()
    for _ in range(EPOCHS):
        model.train()
        optimiser.zero_grad()
        answers = model(x, edges)[fit]
        loss = torch.nn.functional.cross_entropy(answers, y[fit], weight=share.sum() / share)
        loss.backward()
        optimiser.step()
    model.eval()
    with torch.no_grad():
        right = (model(x, edges).argmax(1) == y).float()
    out.mkdir(parents=True, exist_ok=True)
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    few = edges[:, (edges < 50).all(0)]
    export(
        model,
        out / f"{name}.onnx",
        {"x": x[:50], "edge_index": few},
        output="logits",
        dynamic=True,
        strict=kind == "gat",
    )
    print(f"{name}_test_accuracy: {float(right[test].mean()):.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(NAMES))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name in options.names:
        train(options.data, options.models, name, options.seed)


if __name__ == "__main__":
    main()
