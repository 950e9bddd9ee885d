"""Audits of a graph network with a head: real files of PyG and scikit-learn, asked by hand too."""

import csv
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from tests.onnx_pipelines import Draft

FILES = Path(__file__).parent / "files" / "head"
COLUMNS = ("savings", "late_payments", "income")
WIDTH = 6
Row = dict[str, Any]
# What each head takes, in the order in which it was trained on it.
FORMS: dict[str, tuple[str, ...]] = {
    "head": ("input",),
    "score": ("input",),
    "alone": ("input",),
    "blocks": ("columns", "hidden"),
    "by_name": ("savings", "hidden", "late_payments", "income"),
}


def head_audit(folder: Path, *changes: tuple[str, str], head: str = "head") -> Path:
    """The files of an audit in a folder of their own; `changes` replace text of the settings."""
    for file in (*FILES.glob("*.csv"), FILES / "gnn.onnx", FILES / "two_outputs.onnx"):
        shutil.copy(file, folder / file.name)
    if (FILES / f"{head}.onnx").exists():
        shutil.copy(FILES / f"{head}.onnx", folder / "head.onnx")
    text = (FILES / "audit.toml").read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    path = folder / "audit.toml"
    path.write_text(text, encoding="utf-8")
    return path


def read_rows(path: Path) -> list[Row]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def session(path: Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


class ByHand:
    """The chain as a bank would run it: everybody through the network, then through the head."""

    def __init__(self, head: str = "head", folder: Path = FILES) -> None:
        self.people, self.ties = read_rows(FILES / "nodes.csv"), read_rows(FILES / "edges.csv")
        self.number = {row["id"]: place for place, row in enumerate(self.people)}
        self._network, self._head = session(FILES / "gnn.onnx"), session(folder / f"{head}.onnx")

    def embeddings(self, people: Sequence[Row], ties: Sequence[Row]) -> NDArray[np.float32]:
        ends = [[self.number[tie["source"]], self.number[tie["target"]]] for tie in ties]
        arcs = np.array([*ends, *(end[::-1] for end in ends)], np.int64).reshape(-1, 2).T
        x = np.array([[float(row["income"]), float(row["debt"])] for row in people], np.float32)
        feeds = {"x": x, "edge_index": np.ascontiguousarray(arcs)}
        return np.asarray(self._network.run(None, feeds)[0])

    def answers(
        self, people: Sequence[Row] | None = None, ties: Sequence[Row] | None = None
    ) -> NDArray[np.float32]:
        """Everybody's probabilities, or scores: the last output of the head."""
        people = self.people if people is None else people
        hidden = self.embeddings(people, self.ties if ties is None else ties)
        raw = {n: np.array([[float(row[n])] for row in people], np.float32) for n in COLUMNS}
        columns = np.concatenate([raw[name] for name in COLUMNS], axis=1)
        known = {**raw, "hidden": hidden, "columns": columns}
        feeds = {}
        for port in self._head.get_inputs():
            both = np.concatenate((hidden, columns), axis=1)[:, : port.shape[1]]
            values = known.get(port.name, both)
            feeds[port.name] = values.astype(np.int64) if "int64" in port.type else values
        return np.asarray(self._head.run(None, feeds)[-1])

    def changed(self, subject: str, **values: float) -> list[Row]:
        """Everybody, with other values for one person."""
        return [row | values if row["id"] == subject else row for row in self.people]


def linear_head(
    path: Path,
    width: int,
    trap: str | None = None,
    *,
    scale: float = 1e-3,
    embeddings: int = WIDTH,
) -> NDArray[np.float64]:
    """Two scores, linear in a row of so many numbers; returns the weights, columns' times scale.

    Traps: "mean" subtracts that of the batch, "random" adds noise, "rows" drops the last row,
    "text" takes a column of text, "steps" rounds to whole numbers, "endless" takes for ever,
    "fixed" takes exactly one row, "hungry" wants 40 GB.
    """
    draft = Draft()
    rows = draft.input("rows", "float32", width)
    if trap == "fixed":
        draft.inputs[0].type.tensor_type.shape.dim[0].dim_value = 1
    if trap == "text":
        draft.input("region", "string", 1)
    weights = np.random.default_rng(5).normal(0, 1, (width, 2))
    weights[embeddings:] *= scale
    scores = draft.op("MatMul", rows, draft.constant(weights, "float32"))
    if trap == "mean":
        mean = draft.op("ReduceMean", scores, draft.constant([0], "int64"), keepdims=1)
        scores = draft.op("Sub", scores, mean)
    if trap == "random":
        scores = draft.op("Add", scores, draft.op("RandomNormalLike", scores))
    if trap == "rows":
        ends = draft.constant([0], "int64"), draft.constant([-1], "int64")
        scores = draft.op("Slice", scores, *ends, draft.constant([0], "int64"))
    if trap == "steps":
        scores = draft.op("Round", scores)
    if trap == "hungry":
        much = draft.op("ConstantOfShape", draft.constant([40 * 2**28], "int64"))
        scores = draft.op("Add", scores, draft.op("ReduceSum", much, keepdims=0))
    if trap == "endless":
        scores = draft.turned(scores, 2**62)
    draft.output("scores", scores, 2)
    draft.save(path)
    return weights
