"""Makes the files of `lending_deployed` as a bank would: a pipeline, two models, its decisions.

Input: `nodes.csv` and `edges.csv` from make_deployed.py. Output: `pipeline.onnx` (scikit-learn,
exported by skl2onnx), `model.onnx` (one probability, used with a cut-off), `score.onnx` (one
score), the column `decision` in `nodes.csv`, and the card `README.md`. Needs torch,
torch_geometric, scikit-learn and skl2onnx, which the audit itself never needs.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from deployed_card import Facts, Fit, write_card
from export import compare, export
from lending_data import both_directions, read_rows
from make_deployed import CATEGORIES, FOLDER, NUMBERS
from make_lending import write_rows
from numpy.typing import NDArray
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from torch import Tensor, nn
from torch_geometric.nn import GCNConv, SAGEConv  # type: ignore[import-untyped]

SEED = 11
EPOCHS = 120
TRAIN_SHARE = 0.6
HIDDEN = 8
CUT_OFF = 0.65
SCORE_CUT_OFF = 620
LOWEST, HIGHEST = 300, 850
# What the pipeline takes: `debt_ratio` is computed from two columns before it.
PIPELINE_NUMBERS = (
    "income",
    "debt_ratio",
    "savings",
    "months_employed",
    "late_payments",
    "loan_amount",
)
OPSETS = {"": 18, "ai.onnx.ml": 3}
OLD_CUT_OFF = 0.55
OLD_CASES, OVERRULED, EXCEPTIONS = 5, 4, 3

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """The applicants in raw columns, in features, and their ties."""

    rows: list[dict[str, str]]
    raw: dict[str, NDArray[np.generic]]
    features: Tensor
    edge_index: Tensor
    repaid: Tensor
    train: Tensor


class Approval(nn.Module):
    """A graph convolution network with one column: the probability that a loan is repaid."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = GCNConv(width, HIDDEN), GCNConv(HIDDEN, HIDDEN)
        self.own, self.last = nn.Linear(width, HIDDEN), nn.Linear(HIDDEN, 1)
        self.dropout = nn.Dropout(0.3)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Probabilities [N, 1]."""
        hidden = self.dropout(torch.relu(self.first(x, edge_index)))
        hidden = torch.relu(self.second(hidden, edge_index) + self.own(x))
        return torch.sigmoid(self.last(self.dropout(hidden)))


class Score(nn.Module):
    """GraphSAGE with one column: a score from 300 to 850, higher is better."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = SAGEConv(width, HIDDEN), SAGEConv(HIDDEN, 1)
        self.dropout = nn.Dropout(0.3)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Scores [N, 1]."""
        hidden = self.dropout(torch.relu(self.first(x, edge_index)))
        share = torch.sigmoid(self.second(hidden, edge_index))
        return LOWEST + (HIGHEST - LOWEST) * share


def raw_columns(rows: list[dict[str, str]]) -> dict[str, NDArray[np.generic]]:
    """Every column that the pipeline takes, [N, 1]: numbers as float32, categories as text."""
    numbers = {name: np.array([float(row[name]) for row in rows]) for name in NUMBERS}
    numbers["debt_ratio"] = numbers["debt"] / numbers["income"]
    columns: dict[str, NDArray[np.generic]] = {
        name: numbers[name].astype(np.float32)[:, None] for name in PIPELINE_NUMBERS
    }
    for name in CATEGORIES:
        columns[name] = np.array([row[name] for row in rows], dtype=object)[:, None]
    return columns


def fit_pipeline(raw: dict[str, NDArray[np.generic]], train: NDArray[np.bool_], path: Path) -> None:
    """Fit on the training people, and write a file with one [N, 1] input per column."""
    names = [*PIPELINE_NUMBERS, *CATEGORIES]
    width = len(PIPELINE_NUMBERS)
    steps = ColumnTransformer(
        [
            ("numbers", StandardScaler(), list(range(width))),
            (
                "categories",
                OneHotEncoder(
                    categories=[list(labels) for labels in CATEGORIES.values()],
                    handle_unknown="ignore",
                    sparse_output=False,
                ),
                list(range(width, len(names))),
            ),
        ]
    )
    table = np.empty((int(train.sum()), len(names)), dtype=object)
    for place, name in enumerate(names):
        table[:, place] = raw[name][train, 0]
    steps.fit(table)
    kinds = [FloatTensorType([None, 1])] * width + [StringTensorType([None, 1])] * len(CATEGORIES)
    model = to_onnx(
        steps,
        initial_types=list(zip(names, kinds, strict=True)),
        final_types=[
            ("features", FloatTensorType([None, width + sum(map(len, CATEGORIES.values()))]))
        ],
        target_opset=OPSETS,
    )
    model.graph.name = path.stem
    model.graph.doc_string = model.doc_string = ""
    # skl2onnx writes them in the order of a set, which differs from run to run.
    versions = sorted(model.opset_import, key=lambda one: one.domain)
    del model.opset_import[:]
    model.opset_import.extend(versions)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)


def features_of(path: Path, raw: dict[str, NDArray[np.generic]]) -> Floats:
    """What the exported pipeline answers for raw columns."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (answer,) = session.run(None, raw)
    return np.asarray(answer, np.float32)


def read_material(folder: Path) -> Material:
    """Read the tables, fit the pipeline, and push everybody through the exported file."""
    rows = read_rows(folder / "nodes.csv")
    number = {row["id"]: place for place, row in enumerate(rows)}
    edges = read_rows(folder / "edges.csv")
    ties = np.array([[number[e["source"]], number[e["target"]]] for e in edges], np.int64)
    chance = torch.rand(len(rows), generator=torch.Generator().manual_seed(SEED))
    train = chance < TRAIN_SHARE
    raw = raw_columns(rows)
    fit_pipeline(raw, train.numpy(), folder / "pipeline.onnx")
    return Material(
        rows=rows,
        raw=raw,
        features=torch.from_numpy(features_of(folder / "pipeline.onnx", raw)),
        edge_index=torch.from_numpy(both_directions(ties)),
        repaid=torch.tensor([float(row["repaid"] == "yes") for row in rows]),
        train=train,
    )


def fit(network: nn.Module, material: Material, chance: float) -> nn.Module:
    """Train on the whole graph; `chance` turns an answer into a probability by its range."""
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01, weight_decay=1e-2)
    network.train()
    lowest = LOWEST if chance > 1 else 0.0
    for _ in range(EPOCHS):
        optimiser.zero_grad()
        answer = (network(material.features, material.edge_index)[:, 0] - lowest) / chance
        answer = answer.clamp(1e-6, 1 - 1e-6)[material.train]
        wanted = material.repaid[material.train]
        nn.functional.binary_cross_entropy(answer, wanted).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    return network.eval()


def finish(
    network: nn.Module, material: Material, path: Path, output: str, cut_off: float
) -> tuple[Floats, Fit]:
    """Export a network, check it against torch, and measure its decisions."""
    example = {"x": material.features, "edge_index": material.edge_index}
    export(network, path, example, output=output, dynamic=True, strict=False)
    half = torch.arange(10)
    steps = torch.stack([half[:-1], half[1:]])
    few = {"x": material.features[:20], "edge_index": torch.cat([steps, steps.flip(0)], dim=1)}
    alone = {"x": material.features[:1], "edge_index": torch.zeros((2, 0), dtype=torch.int64)}
    cases = {"the whole graph": example, "a path of 10 people and 10 without ties": few}
    exported = compare(network, path, {**cases, "one person without ties": alone})
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (answer,) = session.run(None, {name: value.numpy() for name, value in example.items()})
    approved = answer[:, 0] >= cut_off
    right = approved == (material.repaid.numpy() > 0.5)
    train = material.train.numpy()
    return answer[:, 0], Fit(
        train=float(right[train].mean()),
        test=float(right[~train].mean()),
        denied=int((~approved).sum()),
        exported=exported,
    )


def plant_decisions(
    rows: list[dict[str, str]], chance: Floats
) -> tuple[list[str], dict[str, list[str]]]:
    """The decisions on file: the model's, but for a few cases of three kinds.

    Cases decided before the cut-off was raised; approvals that a clerk overruled; exceptions that
    a branch made. Each kind takes the first people, in the order of the table, that fit it.
    """
    decisions = np.where(chance >= CUT_OFF, "approved", "denied").astype(object)
    between = np.flatnonzero((chance >= OLD_CUT_OFF) & (chance < CUT_OFF))[:OLD_CASES]
    business = np.array([row["purpose"] == "business" for row in rows])
    overruled = np.flatnonzero((chance >= 0.9) & business)[:OVERRULED]
    owners = np.array([row["housing"] == "own" for row in rows])
    excepted = np.flatnonzero((chance < 0.3) & owners)[:EXCEPTIONS]
    decisions[between] = decisions[excepted] = "approved"
    decisions[overruled] = "denied"
    planted = {"old cut-off": between, "overruled": overruled, "exception": excepted}
    named = {kind: [rows[place]["id"] for place in places] for kind, places in planted.items()}
    return decisions.tolist(), named


def write_decisions(folder: Path, rows: list[dict[str, str]], decisions: list[str]) -> None:
    """Write the table again with the column `decision` before `repaid`."""
    header = [name for name in rows[0] if name not in ("decision", "repaid")]
    lines = [
        [*(row[name] for name in header), decision, row["repaid"]]
        for row, decision in zip(rows, decisions, strict=True)
    ]
    write_rows(folder / "nodes.csv", (*header, "decision", "repaid"), lines)


def main() -> None:
    """Make everything in the chosen folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--within", type=Path, default=Path(__file__).parent)
    folder: Path = parser.parse_args().within / FOLDER
    material = read_material(folder)
    width = material.features.size(1)
    torch.manual_seed(SEED)
    approval = fit(Approval(width), material, 1.0)
    torch.manual_seed(SEED)
    score = fit(Score(width), material, float(HIGHEST - LOWEST))
    chance, model = finish(approval, material, folder / "model.onnx", "probability", CUT_OFF)
    points, scored = finish(score, material, folder / "score.onnx", "score", SCORE_CUT_OFF)
    decisions, planted = plant_decisions(material.rows, chance)
    write_decisions(folder, material.rows, decisions)
    facts = Facts(
        seed=SEED,
        features=width,
        cut_off=CUT_OFF,
        old_cut_off=OLD_CUT_OFF,
        score_cut_off=SCORE_CUT_OFF,
        model=model,
        score=scored,
        scores=(float(points.min()), float(np.median(points)), float(points.max())),
        planted=planted,
    )
    write_card(facts, folder)


if __name__ == "__main__":
    main()
