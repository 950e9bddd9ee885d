"""Audits with a pipeline, on disk: people with raw columns, ties, a real pipeline, a real model."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from recourse_audit.graph.graph import Floats
from tests.onnx_models import sum_network
from tests.onnx_pipelines import by_name

NAMES = ("income", "debt", "housing", "job", "gender", "area")
COUNT = 60
SETTINGS = """
[model]
path = "model.onnx"
preprocessing = "pipeline.onnx"
[graph]
nodes = "nodes.csv"
edges = "edges.csv"
[decision]
classes = ["no", "maybe", "yes"]
favourable = ["yes"]
"""


def people(count: int = COUNT, seed: int = 3) -> list[dict[str, Any]]:
    random = np.random.default_rng(seed)
    return [
        {
            "id": f"P{number}",
            "income": None if number % 11 == 5 else int(random.normal(2000, 800)),
            "debt": round(float(random.normal(500, 200)), 2),
            "housing": str(random.choice(["rent", "own", "free"])),
            "job": str(random.choice(["none", "some", "full"])),
            "gender": "fm"[number % 2],
            "area": f"{number % 7:03}",
        }
        for number in range(count)
    ]


def ties(count: int = COUNT, seed: int = 3) -> list[tuple[int, int]]:
    drawn = np.random.default_rng((seed, 1)).integers(0, count, (2 * count, 2))
    return sorted({(min(a, b), max(a, b)) for a, b in drawn.tolist() if a != b})


def pipeline_audit(
    folder: Path,
    rows: list[dict[str, Any]] | None = None,
    settings: str = SETTINGS,
    *,
    seed: int = 3,
) -> Path:
    """An audit on disk, whose pipeline and model fit."""
    rows = people() if rows is None else rows
    with (folder / "nodes.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*rows[0]])
        writer.writeheader()
        writer.writerows(rows)
    with (folder / "edges.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)  # type: ignore[assignment]
        writer.writerow(["source", "target"])  # type: ignore[arg-type]
        writer.writerows([f"P{a}", f"P{b}"] for a, b in ties(len(rows), seed))  # type: ignore[misc]
    if not (folder / "pipeline.onnx").exists():
        by_name(folder / "pipeline.onnx")
    sum_network(folder / "model.onnx", features=6)
    path = folder / "audit.toml"
    path.write_text(settings, encoding="utf-8")
    return path


def expected(folder: Path, rows: list[dict[str, Any]]) -> Floats:
    """Everybody's features, by the test's own code."""
    session = onnxruntime.InferenceSession(
        str(folder / "pipeline.onnx"), providers=["CPUExecutionProvider"]
    )
    feeds = {}
    for port in session.get_inputs():
        values = [row[port.name] for row in rows]
        if "float" in port.type:
            values = [np.nan if value is None else value for value in values]
        kind = np.float32 if "float" in port.type else object
        feeds[port.name] = np.array(values, kind)[:, None]
    [features] = session.run(None, feeds)
    return np.asarray(features)
