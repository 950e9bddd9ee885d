"""The hiring sample read, edited and decided without the package: plain loops and onnxruntime."""

import csv
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

SAMPLE = Path(__file__).parents[2] / "sample_models" / "hiring"
TABLES = {"person": "people.csv", "employer": "employers.csv", "school": "schools.csv"}
FEATURES = {
    "person": ("test_score", "certificates", "years_experience", "languages"),
    "employer": ("staff", "age", "turnover", "training_days"),
    "school": ("students", "completion_rate"),
}
RELATIONS = {
    "works_at": ("person", "employer"),
    "studied_at": ("person", "school"),
    "recommends": ("person", "person"),
}
CODES = (
    ("works_at", False),
    ("works_at", True),
    ("studied_at", False),
    ("studied_at", True),
    ("recommends", False),
)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@dataclass(frozen=True, kw_only=True)
class World:
    """Rows by kind and id, and ties by relation, as pairs of ids."""

    rows: dict[str, dict[str, dict[str, str]]]
    ties: dict[str, list[tuple[str, str]]]

    def decide(self, session: onnxruntime.InferenceSession, *, homogenised: bool) -> dict[str, Any]:
        """The answer for every person of the edited world, on the whole graph."""
        number = {
            kind: {name: place for place, name in enumerate(rows)}
            for kind, rows in self.rows.items()
        }
        tables = {
            kind: np.array(
                [[float(row[name]) for name in FEATURES[kind]] for row in rows.values()], np.float32
            )
            for kind, rows in self.rows.items()
        }
        arcs = {}
        for relation, reverse in CODES:
            first, second = RELATIONS[relation]
            ends = np.array(
                [(number[first][a], number[second][b]) for a, b in self.ties[relation]], np.int64
            ).T
            arcs[relation, reverse] = np.ascontiguousarray(ends[::-1] if reverse else ends)
        feed = (homogenise if homogenised else spread)(tables, arcs)
        answers = session.run(None, feed)[0]
        return dict(zip(self.rows["person"], answers, strict=False))

    def after(self, person: str, action: dict[str, Any]) -> "World":
        """The world after one change as the JSON of an option has it."""
        if action["do"] == "set":
            people = dict(self.rows["person"])
            people[person] = people[person] | {action["attribute"]: str(action["to"])}
            return replace(self, rows=self.rows | {"person": people})
        relation, ties = action["kind"], list(self.ties[action["kind"]])
        first, second = (bare(end) for end in action["tie"])
        if action["do"] == "add":
            ties.append((first, second))
        else:
            place = ties.index((first, second) if (first, second) in ties else (second, first))
            source, _ = ties.pop(place)
            if action["do"] == "move":
                ties.append((source, bare(action["to"])))
        return replace(self, ties=self.ties | {relation: ties})


def bare(identifier: str) -> str:
    """An id without its kind."""
    return identifier.partition(":")[2]


def spread(tables: dict[str, Any], arcs: dict[tuple[str, bool], Any]) -> dict[str, Any]:
    """The inputs of `hetero.onnx`."""
    names = {key: f"edge_index_{key[0]}{'_rev' if key[1] else ''}" for key in arcs}
    features = {f"x_{kind}": table for kind, table in tables.items()}
    return features | {names[key]: ends for key, ends in arcs.items()}


def homogenise(tables: dict[str, Any], arcs: dict[tuple[str, bool], Any]) -> dict[str, Any]:
    """The inputs of `rgcn.onnx`."""
    counts = [len(table) for table in tables.values()]
    starts = dict(zip(tables, (0, counts[0], counts[0] + counts[1]), strict=True))
    shifted = []
    for (relation, reverse), ends in arcs.items():
        kinds = RELATIONS[relation][:: -1 if reverse else 1]
        shifted.append(ends + np.array([[starts[kind]] for kind in kinds]))
    return {
        "x": np.concatenate([np.pad(t, ((0, 0), (0, 4 - t.shape[1]))) for t in tables.values()]),
        "edge_index": np.concatenate(shifted, axis=1),
        "edge_type": np.repeat(np.arange(len(CODES)), [ends.shape[1] for ends in shifted]),
        "node_type": np.repeat(np.arange(len(counts)), counts),
    }


def read_world() -> World:
    return World(
        rows={
            kind: {row["id"]: row for row in rows_of(SAMPLE / path)}
            for kind, path in TABLES.items()
        },
        ties={
            relation: [
                (row["source"], row["target"]) for row in rows_of(SAMPLE / f"{relation}.csv")
            ]
            for relation in RELATIONS
        },
    )
