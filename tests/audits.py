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


# Enough for groups to be tested, and few enough for the test to take a moment.
PEOPLE = 300


def quick_audit(folder: Path, model: str = "gcn", *, whole: bool = False) -> Path:
    """An audit of the lending sample, or a part of it, that takes a few milliseconds a subject.

    It has one protected attribute, and as few redraws as the settings allow. In the part a gap is
    planted, since the sample's own is too small to be seen among so few.
    """
    path = lending_audit(folder, model, max_nodes=3)
    text = path.read_text(encoding="utf-8")
    for old, new in (
        ("max_changes = 3", "max_changes = 1"),
        ("draws = 5", "draws = 0"),
        ("[groups]", "[groups]\nredraws = 100"),
        ('"origin", "gender", "age_band"]', '"origin"]'),
        ("credit = true", "credit = false"),  # letters of the generic profile can be signed off
    ):
        assert old in text
        text = text.replace(old, new)
    path.write_text(f"{text}\n[caveats]\ndraws = 0\n", encoding="utf-8")
    if not whole:
        keep_people(folder, PEOPLE)
        plant_gap(folder)
    return path


def keep_people(folder: Path, count: int) -> None:
    """Leave the first people in the tables of an audit, and the ties among them."""
    known = set()
    for name, ends in (("nodes", 1), ("edges", 2)):
        first, *rows = (folder / f"{name}.csv").read_text(encoding="utf-8").splitlines()
        if name == "nodes":
            known = {row.split(",")[0] for row in rows[:count]}
        kept = [row for row in rows if {*row.split(",")[:ends]} <= known]
        (folder / f"{name}.csv").write_text("\n".join([first, *kept, ""]), encoding="utf-8")


def plant_gap(folder: Path) -> None:
    """Let those with little income come from the south, so that the south is refused more often."""
    with (folder / "nodes.csv").open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    income, origin = header.index("income"), header.index("origin")
    middle = np.median([float(row[income]) for row in rows])
    for row in rows:
        row[origin] = "south" if float(row[income]) < middle else "north"
    with (folder / "nodes.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


def small_package(folder: Path) -> Path:
    """A folder that `demo` takes for the installed package, with a small lending sample in it."""
    package = folder / "package"
    sample = package / "_data" / "sample_models" / "lending"
    sample.mkdir(parents=True)
    path = quick_audit(sample)
    text = path.read_text(encoding="utf-8").replace("[caveats]\ndraws = 0", "")
    path.write_text(text, encoding="utf-8")
    return package
