"""A lending folder becomes arrays: features in the model's order, ties in both directions.

Input: `nodes.csv` and `edges.csv`. Output: one `Lending` record. Needs only numpy.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from make_lending import FEATURES, PROTECTED
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Lending:
    """One network: people as rows, and every tie once, as the row numbers of two people."""

    features: NDArray[np.float32]
    approved: NDArray[np.int64]
    protected: dict[str, NDArray[np.str_]]
    ties: NDArray[np.int64]
    kinds: NDArray[np.str_]

    @property
    def people(self) -> int:
        """The number of people in the network."""
        return int(self.features.shape[0])

    @property
    def edge_index(self) -> NDArray[np.int64]:
        """Ties in both directions [2, 2 x ties]: first as written, then reversed."""
        return both_directions(self.ties)


def both_directions(ties: NDArray[np.int64]) -> NDArray[np.int64]:
    """Undirected ties [T, 2] as arcs [2, 2T]."""
    return np.ascontiguousarray(np.concatenate([ties, ties[:, ::-1]]).T)


def read_lending(folder: Path) -> Lending:
    """Read one lending folder; the label is 1 (approved) for people who repaid."""
    nodes = read_rows(folder / "nodes.csv")
    edges = read_rows(folder / "edges.csv")
    row = {node["id"]: number for number, node in enumerate(nodes)}
    return Lending(
        features=np.array([[float(n[name]) for name in FEATURES] for n in nodes], np.float32),
        approved=np.array([int(n["outcome"] == "repaid") for n in nodes], np.int64),
        protected={name: np.array([n[name] for n in nodes]) for name in PROTECTED},
        ties=np.array([[row[e["source"]], row[e["target"]]] for e in edges], np.int64),
        kinds=np.array([e["kind"] for e in edges]),
    )


def read_rows(path: Path) -> list[dict[str, str]]:
    """All rows of a CSV file, keyed by its header."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
