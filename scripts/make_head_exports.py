"""Writes `tests/files/head`: a graph network, and gradient boosting on its embeddings as a head.

Run it with what the sample models are made with (`pip install .[samples]`); the tests need none of
that. Input: only the seed below. Output: the tables of 240 invented people and their ties; a
network of two SAGE layers that PyG trains and torch exports, once with its embeddings and once with
its scores as well; and heads that scikit-learn trains on these embeddings and raw columns and
skl2onnx exports, one per form of input and output. A head that answers otherwise than scikit-learn
stops the script.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from torch import Tensor, nn
from torch_geometric.nn import SAGEConv

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "sample_models"))
from export import OPSET, forget_sources  # noqa: E402

SEED = 20261118
PEOPLE = 240
FEATURES = ("income", "debt")
COLUMNS = ("savings", "late_payments", "income")
WIDTH = 6
KINDS = ("payment", "guarantor")


class Network(nn.Module):
    """Two layers; with `scores`, what it was trained to say as well as its embeddings."""

    def __init__(self, mean: Tensor, spread: Tensor) -> None:
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("spread", spread)
        self.first = SAGEConv(len(FEATURES), 8)
        self.second = SAGEConv(8, WIDTH)
        self.last = nn.Linear(WIDTH, 2)
        self.scores = True

    def forward(self, x: Tensor, edge_index: Tensor) -> Any:
        hidden = torch.relu(self.first((x - self.mean) / self.spread, edge_index))
        embedding = torch.tanh(self.second(hidden, edge_index))
        return (embedding, self.last(embedding)) if self.scores else embedding


def make_people(random: np.random.Generator) -> dict[str, Any]:
    """Columns that the network takes, columns that only the head takes, and a group."""
    return {
        "income": random.lognormal(7.6, 0.4, PEOPLE).round(-1),
        "debt": random.lognormal(6.5, 0.7, PEOPLE).round(-1),
        "savings": random.lognormal(7.0, 1.0, PEOPLE).round(-1),
        "late_payments": random.poisson(1.1, PEOPLE),
        "region": np.array(["north", "south"])[random.integers(0, 2, PEOPLE)],
    }


def make_ties(random: np.random.Generator) -> list[tuple[int, int, str]]:
    """Pairs of people, each once, with a kind."""
    drawn = random.integers(0, PEOPLE, (int(1.7 * PEOPLE), 2)).tolist()
    pairs = sorted({(min(a, b), max(a, b)) for a, b in drawn if a != b})
    return [(a, b, KINDS[int(random.integers(0, 2))]) for a, b in pairs]


def make_labels(people: dict[str, Any], ends: np.ndarray, random: np.random.Generator) -> Any:
    """Who repays: by own income, savings and record, and by the debts of those tied to them."""
    burden = people["debt"] / people["income"]
    degree = np.maximum(np.bincount(ends[1], minlength=PEOPLE), 1)
    near = np.bincount(ends[1], burden[ends[0]], minlength=PEOPLE) / degree
    risk = 1.5 * burden + 2.0 * near + 0.5 * people["late_payments"]
    risk = risk - 0.6 * np.log(people["savings"] / 1000) + random.normal(0, 0.3, PEOPLE)
    return (risk < np.quantile(risk, 0.55)).astype(np.int64)


def train(network: Network, x: Tensor, edge_index: Tensor, labels: Tensor) -> None:
    """Fit the network's scores to the labels."""
    optimiser = torch.optim.Adam(network.parameters(), lr=0.02, weight_decay=1e-3)
    for _ in range(200):
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(network(x, edge_index)[1], labels)
        loss.backward()
        optimiser.step()


def export_network(network: Network, path: Path, x: Tensor, edge_index: Tensor) -> None:
    """Write the network with dynamic axes."""
    names = ["embedding", "scores"] if network.scores else ["embedding"]
    torch.onnx.export(
        network.eval(),
        (x, edge_index),
        str(path),
        opset_version=OPSET,
        dynamo=False,
        input_names=["x", "edge_index"],
        output_names=names,
        dynamic_axes={
            "x": {0: "nodes"},
            "edge_index": {1: "arcs"},
            **{name: {0: "nodes"} for name in names},
        },
    )
    forget_sources(path)


def export_head(model: Any, path: Path, inputs: dict[str, tuple[Any, np.ndarray]]) -> None:
    """Write a head whose inputs have these types, and compare it with scikit-learn."""
    types = [(name, kind([None, values.shape[1]])) for name, (kind, values) in inputs.items()]
    options = {id(model): {"zipmap": False}} if hasattr(model, "classes_") else None
    exported = convert_sklearn(model, initial_types=types, options=options, target_opset=OPSET)
    path.write_bytes(exported.SerializeToString())
    forget_sources(path)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    feeds = {
        name: values.astype(np.int64 if kind is Int64TensorType else np.float32)
        for name, (kind, values) in inputs.items()
    }
    joined = np.concatenate([values for _, values in inputs.values()], axis=1)
    if hasattr(model, "classes_"):
        ours, theirs = model.predict_proba(joined), session.run(None, feeds)[1]
    else:
        ours, theirs = model.predict(joined)[:, None], session.run(None, feeds)[0]
    # A number within the rounding of a threshold may fall on its other side.
    far = np.abs(ours - theirs).max(axis=1) > 1e-4
    if far.mean() > 0.01:
        raise SystemExit(f"{path}: differs from scikit-learn on {far.sum()} rows")


def main() -> None:
    """Write all files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "tests" / "files" / "head")
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(SEED)
    torch.manual_seed(SEED)
    people, ties = make_people(random), make_ties(random)
    with (folder / "nodes.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", *people])
        writer.writerows(
            [f"P{row:03}", *(values[row] for values in people.values())] for row in range(PEOPLE)
        )
    with (folder / "edges.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["source", "target", "kind"])
        writer.writerows([f"P{a:03}", f"P{b:03}", kind] for a, b, kind in ties)
    low, high = np.array([(a, b) for a, b, _ in ties]).T
    ends = np.stack((np.concatenate((low, high)), np.concatenate((high, low))))
    labels = make_labels(people, ends, random)
    x = torch.tensor(np.stack([people[name] for name in FEATURES], axis=1), dtype=torch.float32)
    edge_index = torch.from_numpy(ends)
    network = Network(x.mean(0), x.std(0))
    train(network, x, edge_index, torch.from_numpy(labels))
    export_network(network, folder / "two_outputs.onnx", x, edge_index)
    network.scores = False
    export_network(network, folder / "gnn.onnx", x, edge_index)
    embedding = network(x, edge_index).detach().numpy().astype(np.float64)
    raw = np.stack([people[name] for name in COLUMNS], axis=1).astype(np.float64)

    def boost(*blocks: np.ndarray, score: bool = False) -> Any:
        kind = GradientBoostingRegressor if score else GradientBoostingClassifier
        model = kind(n_estimators=30, max_depth=3, subsample=0.8, random_state=SEED)
        rows = np.concatenate(blocks, axis=1)
        if len(blocks) > 1:  # skl2onnx joins several inputs in a pipeline only
            every = ColumnTransformer([("all", "passthrough", [*range(rows.shape[1])])])
            model = make_pipeline(every, model)
        return model.fit(rows, labels)

    table = FloatTensorType
    joined = np.concatenate((embedding, raw), axis=1)
    export_head(boost(joined), folder / "head.onnx", {"input": (table, joined)})
    export_head(boost(joined, score=True), folder / "score.onnx", {"input": (table, joined)})
    export_head(
        boost(raw, embedding),
        folder / "blocks.onnx",
        {"columns": (table, raw), "hidden": (table, embedding)},
    )
    export_head(
        boost(raw[:, :1], embedding, raw[:, 1:2], raw[:, 2:]),
        folder / "by_name.onnx",
        {
            "savings": (table, raw[:, :1]),
            "hidden": (table, embedding),
            "late_payments": (Int64TensorType, raw[:, 1:2]),
            "income": (table, raw[:, 2:]),
        },
    )
    export_head(boost(embedding), folder / "alone.onnx", {"input": (table, embedding)})


if __name__ == "__main__":
    main()
