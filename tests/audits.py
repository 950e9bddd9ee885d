"""Small audits on disk: a graph of ten people, a real ONNX file, and settings that fit both."""

import csv
import shutil
from pathlib import Path

import numpy as np

from tests.onnx_models import sum_network

SAMPLES = Path(__file__).parents[1] / "sample_models" / "lending"
FEATURES = [f"f{number}" for number in range(5)]
IDS = ["[bold]x[/]", "<b>h</b>", "new\nline", "\x1b[31mred", "lonely", "ünï", "a", "b", "c", "d"]
TIES = [(0, 1), (0, 2), (1, 3), (2, 3), (0, 5), (5, 6), (6, 7), (7, 8), (0, 8), (8, 9)]
SETTINGS = """
[model]
path = "model.onnx"

[graph]
nodes = "nodes.csv"
edges = "edges.csv"
features = ["f0", "f1", "f2", "f3", "f4"]

[decision]
classes = ["no", "[b]maybe", "yes"]
favourable = ["yes"]

[groups]
attributes = ["gender"]

[search]
max_nodes = 4
budget = 200000
"""


def write_tables(folder: Path) -> None:
    values = np.random.default_rng(0).normal(size=(len(IDS), len(FEATURES))).round(3)
    with (folder / "nodes.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *FEATURES, "gender"])
        for number, name in enumerate(IDS):
            writer.writerow([name, *values[number], "fm"[number % 2]])
    with (folder / "edges.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["source", "target", "kind"])
        writer.writerows([IDS[a], IDS[b], "payment"] for a, b in TIES)


def small_audit(folder: Path, trap: str | None = None, **settings: str) -> Path:
    """Write an audit; `settings` replaces text in its settings, old by new."""
    write_tables(folder)
    sum_network(folder / "model.onnx", trap=trap)
    return write_settings(folder, **settings)


def write_settings(folder: Path, old: str = "", new: str = "") -> Path:
    assert old in SETTINGS
    path = folder / "audit.toml"
    path.write_text(SETTINGS.replace(old, new) if old else SETTINGS, encoding="utf-8")
    return path


def lending_audit(folder: Path, model: str = "gcn", *, more: str = "", max_nodes: int = 4) -> Path:
    """Copy what an audit of one sample model needs."""
    for name in (f"{model}.onnx", "nodes.csv", "edges.csv"):
        shutil.copy(SAMPLES / name, folder / name)
    text = (SAMPLES / "audit.toml").read_text(encoding="utf-8")
    text = text.replace('path = "gcn.onnx"', f'path = "{model}.onnx"\n{more}')
    text = text.replace("max_nodes = 4", f"max_nodes = {max_nodes}")
    text = text.replace("[recourse]\n", "[recourse]\nbudget = 300\ndraws = 5\n")
    path = folder / "audit.toml"
    path.write_text(text, encoding="utf-8")
    return path


PEOPLE = 300


def quick_audit(folder: Path, model: str = "gcn") -> Path:
    """An audit of the lending sample that takes a few milliseconds a subject."""
    path = lending_audit(folder, model, max_nodes=3)
    text = path.read_text(encoding="utf-8")
    text = text.replace("max_changes = 3", "max_changes = 1").replace("draws = 5", "draws = 0")
    text = text.replace("[groups]", "[groups]\ncrossed = false\nredraws = 200")
    path.write_text(f"{text}\n[caveats]\ndraws = 0\n", encoding="utf-8")
    return path


def write_lending(folder: Path) -> None:
    """The lending sample with fewer people, groups and redraws, so that nothing takes long."""
    path = quick_audit(folder)
    text = path.read_text(encoding="utf-8")
    for old, new in (
        ("redraws = 200", "redraws = 100"),
        (', "gender", "age_band"]', ', "gender"]'),
    ):
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    known = set()
    for name, ends in (("nodes", 1), ("edges", 2)):
        first, *rows = (folder / f"{name}.csv").read_text(encoding="utf-8").splitlines()
        if name == "nodes":
            known = {row.split(",")[0] for row in rows[:PEOPLE]}
        kept = [row for row in rows if {*row.split(",")[:ends]} <= known]
        (folder / f"{name}.csv").write_text("\n".join([first, *kept, ""]), encoding="utf-8")
