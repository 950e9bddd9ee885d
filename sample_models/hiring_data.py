"""The hiring folder becomes arrays, in the two forms that its models take.

Input: the tables of make_hiring.py. Output: one `Hiring` record. Needs only numpy.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from lending_data import read_rows
from make_hiring import FEATURES, PROTECTED, RELATIONS, TABLES
from numpy.typing import NDArray

Arrays = dict[str, NDArray[np.generic]]
# The relations whose ties the models take in both directions; recommendations go one way.
BOTH_WAYS = ("works_at", "studied_at")
WIDEST = max(len(names) for names in FEATURES.values())
# What the numbers in `edge_type` mean: a relation, and whether its ties are reversed.
EDGE_TYPES = (
    ("works_at", False),
    ("works_at", True),
    ("studied_at", False),
    ("studied_at", True),
    ("recommends", False),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hiring:
    """Three kinds of nodes as tables of features, three relations as [2, ties] of row numbers."""

    features: dict[str, NDArray[np.float32]]
    ties: dict[str, NDArray[np.int64]]
    invited: NDArray[np.int64]
    protected: dict[str, NDArray[np.str_]]
    sector: NDArray[np.str_]

    @property
    def people(self) -> int:
        """The number of people."""
        return len(self.features["person"])

    def by_kind(self) -> Arrays:
        """The inputs of `hetero.onnx`: features per kind, ties per relation and direction."""
        inputs: Arrays = {f"x_{kind}": table for kind, table in self.features.items()}
        for relation, reversed_ties in EDGE_TYPES:
            name = f"edge_index_{relation}" + ("_rev" if reversed_ties else "")
            inputs[name] = self.arcs(relation, reversed_ties=reversed_ties)
        return inputs

    def homogenised(self) -> Arrays:
        """The inputs of `rgcn.onnx`: one numbering, kind by kind, with types as numbers."""
        counts = [len(table) for table in self.features.values()]
        starts = dict(zip(self.features, np.cumsum([0, *counts]), strict=False))
        padded = [
            np.pad(table, ((0, 0), (0, WIDEST - table.shape[1])))
            for table in self.features.values()
        ]
        arcs = []
        for relation, reversed_ties in EDGE_TYPES:
            offsets = np.array([[starts[kind]] for kind in RELATIONS[relation]])
            ends = self.ties[relation] + offsets
            arcs.append(ends[::-1] if reversed_ties else ends)
        return {
            "x": np.concatenate(padded),
            "edge_index": np.concatenate(arcs, axis=1),
            "edge_type": np.repeat(np.arange(len(arcs)), [part.shape[1] for part in arcs]),
            "node_type": np.repeat(np.arange(len(counts)), counts),
        }

    def arcs(self, relation: str, *, reversed_ties: bool) -> NDArray[np.int64]:
        """The ties of a relation as arcs, from `source` to `target` or the other way round."""
        ties = self.ties[relation]
        return np.ascontiguousarray(ties[::-1] if reversed_ties else ties)


def read_hiring(folder: Path) -> Hiring:
    """Read the hiring folder; the label is 1 (invited) for people who stayed."""
    tables = {kind: read_rows(folder / path) for kind, path in TABLES.items()}
    row = {
        kind: {node["id"]: number for number, node in enumerate(table)}
        for kind, table in tables.items()
    }
    ties = {}
    for relation, (source, target) in RELATIONS.items():
        ends = read_rows(folder / f"{relation}.csv")
        sources = [row[source][tie["source"]] for tie in ends]
        ties[relation] = np.array(
            [sources, [row[target][tie["target"]] for tie in ends]], dtype=np.int64
        )
    people = tables["person"]
    return Hiring(
        features={
            kind: np.array([[float(n[name]) for name in FEATURES[kind]] for n in table], np.float32)
            for kind, table in tables.items()
        },
        ties=ties,
        invited=np.array([int(n["outcome"] == "stayed") for n in people], np.int64),
        protected={name: np.array([n[name] for n in people]) for name in PROTECTED},
        sector=np.array([n["sector"] for n in tables["employer"]]),
    )
