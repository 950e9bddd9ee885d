"""Gradient boosting on a network's embeddings: two files, the network and its head.

The network is exported with its embedding as the output; the head takes the embedding and columns
of the table. Keep both: embeddings computed the night before are not a network any more, and an
audit of the head alone would say that ties do not matter.
"""

from pathlib import Path

import numpy as np
import onnx
import torch
from check import answer, compare, draw_graphs, probe, refusal, show, start, write_tables
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import FloatTensorType
from sklearn.ensemble import GradientBoostingClassifier
from torch import Tensor, nn
from torch_geometric.nn import SAGEConv

FEATURES, WIDTH, PEOPLE = 4, 6, 80
COLUMNS = ["f0", "f1", "f2", "f3"]
GRAPHS = draw_graphs(FEATURES)
AUDIT = """
[model]
path = "embedding.onnx"
head = "{head}"
head_columns = ["savings"]

[graph]
nodes = "nodes.csv"
edges = "ties.csv"
features = ["f0", "f1", "f2", "f3"]

[decision]
classes = ["declined", "granted"]
favourable = ["granted"]
"""


class Embedding(nn.Module):
    """Two layers; the output is what the head takes, not the logits of the training."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = SAGEConv(FEATURES, 8), SAGEConv(8, WIDTH)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.second(self.first(x, edge_index).relu(), edge_index).tanh()


def export_network(network: nn.Module, path: Path) -> Path:
    example = tuple(map(torch.from_numpy, GRAPHS["as traced"].values()))
    axes = {"x": {0: "people"}, "edge_index": {1: "arcs"}, "embedding": {0: "people"}}
    names = {"input_names": ["x", "edge_index"], "output_names": ["embedding"]}
    more = {"dynamo": False, "opset_version": 18, "dynamic_axes": axes} | names
    torch.onnx.export(network.eval(), example, path, **more)
    return path


def export_head(head: GradientBoostingClassifier, path: Path, *, zipmap: bool = False) -> Path:
    """Write the head; `zipmap=False`, or probabilities come as a list of maps.

    Only the probabilities stay: the first output would be the class.
    """
    types = [("rows", FloatTensorType([None, head.n_features_in_]))]
    options = {id(head): {"zipmap": zipmap}}
    model = convert_sklearn(head, initial_types=types, options=options, target_opset=18)
    if not zipmap:
        del model.graph.output[0]
    onnx.save(model, path)
    return path


def main(folder: Path) -> None:
    folder = folder / "boosted_head"
    folder.mkdir(exist_ok=True)
    torch.manual_seed(0)
    random = np.random.default_rng(0)
    network = Embedding().eval()
    path = export_network(network, folder / "embedding.onnx")
    compare(path, GRAPHS, lambda feed: answer(network, feed))
    feed = GRAPHS["bigger"]
    savings = random.gamma(2, 1000, len(feed["x"])).round().astype(np.float32)
    # Thresholds are float64 in scikit-learn and float32 in the file. Trained on float32 rows, most
    # rows fall on the same side; one within the rounding of a threshold may not.
    rows = np.column_stack((answer(network, feed), savings)).astype(np.float32)
    granted = rows[:, 0] + rows[:, 1] + savings / 4000 > 0.5
    head = GradientBoostingClassifier(n_estimators=20, max_depth=3, random_state=0)
    head.fit(rows, granted)
    made = {str(n): random.normal(size=(n, WIDTH + 1)).astype(np.float32) for n in (1, 7, 2000)}
    feeds = {f"{count} rows": {"rows": values} for count, values in made.items()}
    path = export_head(head, folder / "head.onnx")
    compare(path, feeds, lambda each: head.predict_proba(each["rows"]), share=0.99)
    columns = dict(zip(COLUMNS, feed["x"].T, strict=True)) | {"savings": savings}
    write_tables(folder, columns, feed["edge_index"])
    for name in ("head", "trap_zipmap", "trap_ignores"):
        (folder / f"{name}.toml").write_text(AUDIT.format(head=f"{name}.onnx"))

    export_head(head, folder / "trap_zipmap.onnx", zipmap=True)
    message = refusal(folder / "trap_zipmap.toml")
    assert "zipmap=False" in message, message
    print("trap: zipmap left on, inspect:", message.split(": ", 1)[1])

    blind = rows.copy()
    blind[:, :WIDTH] = 0  # as if the embeddings never arrived: the head learns by savings alone
    export_head(head.fit(blind, granted), folder / "trap_ignores.onnx")
    assert "ties_matter" in probe(folder / "trap_ignores.toml").probes.failed
    print("trap: a head that ignores the embedding, inspect: ties do not matter")
    show(folder / "head.toml")


if __name__ == "__main__":
    start(main)
