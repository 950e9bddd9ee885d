"""A scikit-learn pipeline in front of the network: raw columns in, features out (skl2onnx).

An audit then speaks of income and housing, not of standardised numbers. `convert_sklearn` gives a
ColumnTransformer an [N, 1] input per column: name each as the node table does, with its type.
"""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pandas as pd
import torch
from check import Feed, compare, draw_graphs, refusal, show, start, write_tables
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from torch import Tensor, nn
from torch_geometric.nn import SAGEConv

NUMBERS, TEXTS = ["income", "savings", "debt"], ["housing"]
FEATURES, PEOPLE = 6, 80
AUDIT = """
[model]
path = "network.onnx"
preprocessing = "pipeline.onnx"

[graph]
nodes = "nodes.csv"
edges = "ties.csv"

[decision]
classes = ["declined", "granted"]
favourable = ["granted"]
"""


def draw_people(random: np.random.Generator, people: int) -> pd.DataFrame:
    """Made-up columns, as float32: skl2onnx's files take these."""
    columns: dict[str, Any] = {name: random.gamma(4, 600, people).round() for name in NUMBERS}
    columns = {name: values.astype(np.float32) for name, values in columns.items()}
    return pd.DataFrame(columns | {"housing": random.choice(["rent", "own", "free"], people)})


class Network(nn.Module):
    """Two layers on what the pipeline makes; its weights do not matter here."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = SAGEConv(FEATURES, 8), SAGEConv(8, 2)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.second(self.first(x, edge_index).relu(), edge_index)


def fit(people: pd.DataFrame) -> ColumnTransformer:
    """Numbers standardised, texts one-hot; an unknown text is zeros, not an error."""
    texts = OneHotEncoder(sparse_output=False, handle_unknown="ignore")
    return ColumnTransformer([("n", StandardScaler(), NUMBERS), ("t", texts, TEXTS)]).fit(people)


def export_pipeline(pipeline: ColumnTransformer, path: Path) -> Path:
    """Write the pipeline; `None` is the size that may change."""
    kinds = dict.fromkeys(NUMBERS, FloatTensorType) | dict.fromkeys(TEXTS, StringTensorType)
    types = [(name, kind([None, 1])) for name, kind in kinds.items()]
    onnx.save(convert_sklearn(pipeline, initial_types=types, target_opset=18), path)
    return path


def as_feed(people: pd.DataFrame) -> Feed:
    """One [N, 1] array per column."""
    numbers = {name: people[[name]].to_numpy(np.float32) for name in NUMBERS}
    return numbers | {name: people[[name]].to_numpy(object) for name in TEXTS}


def export_network(network: nn.Module, path: Path) -> None:
    graph = draw_graphs(FEATURES)["as traced"]
    axes = {"x": {0: "people"}, "edge_index": {1: "arcs"}, "logits": {0: "people"}}
    names = {"input_names": [*graph], "output_names": ["logits"], "dynamic_axes": axes}
    example = tuple(map(torch.from_numpy, graph.values()))
    torch.onnx.export(network.eval(), example, path, dynamo=False, opset_version=18, **names)


def trap_names(folder: Path) -> str:
    """Inputs are found by the names of columns: rename a column, and nothing fits."""
    table = folder / "nodes.csv"
    text = table.read_text()
    table.write_text(text.replace("savings", "deposits", 1))
    message = refusal(folder / "audit.toml")
    table.write_text(text)
    assert "savings" in message, message
    return "a renamed column, inspect: " + message.split(": ", 1)[1]


def main(folder: Path) -> None:
    (folder := folder / "sklearn_pipeline").mkdir(exist_ok=True)
    torch.manual_seed(0)
    random = np.random.default_rng(0)
    people = draw_people(random, PEOPLE)
    pipeline = fit(people)
    path = export_pipeline(pipeline, folder / "pipeline.onnx")
    more = {f"{n} people": draw_people(random, n) for n in (1, 3, 500)}
    more["an unknown text"] = more["3 people"].assign(housing="caravan")
    feeds = {title: as_feed(table) for title, table in more.items()}
    columns = [*NUMBERS, *TEXTS]
    table = lambda feed: pd.DataFrame({name: feed[name][:, 0] for name in columns})  # noqa: E731
    compare(path, feeds, lambda feed: pipeline.transform(table(feed)))
    assert [port.name for port in onnx.load(path).graph.input] == columns
    print(f"one input per column: {', '.join(columns)}")
    export_network(Network(), folder / "network.onnx")
    write_tables(folder, dict(people.items()), random.integers(0, PEOPLE, (2, 120)))
    (folder / "audit.toml").write_text(AUDIT)
    print("trap:", trap_names(folder))
    show(folder / "audit.toml")


if __name__ == "__main__":
    start(main)
