"""What every recipe needs beside its export: graphs of other sizes, a comparison, and `inspect`.

Copy it along with a recipe. A model that was right on the graph it was
traced with has shown nothing yet: what goes wrong in an export goes wrong on other sizes.
"""

import csv
import logging
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from recourse_audit.audit.inspect import Inspection, inspect_model
from recourse_audit.errors import AuditError

Feed = dict[str, np.ndarray]
TOLERANCE = 1e-4
# People and arcs; the last person of "a person without ties" has none.
SIZES = {
    "as traced": (12, 30),
    "bigger": (300, 900),
    "smaller": (3, 4),
    "no tie": (5, 0),
    "a person without ties": (8, 20),
    "a single person": (1, 0),
}


def draw_graphs(features: int, seed: int = 0) -> dict[str, Feed]:
    """Made-up graphs of several sizes, each as the inputs `x` and `edge_index`."""
    random = np.random.default_rng(seed)
    graphs = {}
    for title, (people, arcs) in SIZES.items():
        ends = random.integers(0, max(people - 1, 1), (2, arcs))
        x = random.normal(size=(people, features))
        graphs[title] = {"x": x.astype(np.float32), "edge_index": ends.astype(np.int64)}
    return graphs


def ask(path: Path, feed: Feed) -> np.ndarray:
    """The first output of a file that answers a feed; names that the file lacks are left out."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    taken = {port.name for port in session.get_inputs()}
    return np.asarray(session.run(None, {k: v for k, v in feed.items() if k in taken})[0])


def answer(network: Any, feed: Feed) -> np.ndarray:
    """What a torch network says to the same arrays, in the order of its arguments."""
    import torch

    with torch.no_grad():
        return np.asarray(network(*map(torch.from_numpy, feed.values())))


def runtime_error(path: Path, feed: Feed) -> str:
    """What onnxruntime says against a feed; empty if it answers."""
    try:
        ask(path, feed)
    except Exception as error:  # its own class is private
        return str(error)
    return ""


def differ(path: Path, feed: Feed, wanted: np.ndarray) -> float:
    """The largest difference between a file's answer and the one it should give."""
    got = ask(path, feed)
    if got.shape != wanted.shape:
        return float("inf")
    return float(np.abs(got - wanted).max(initial=0.0))


def compare(
    path: Path, feeds: dict[str, Feed], answer: Callable[[Feed], np.ndarray], share: float = 1.0
) -> None:
    """Stop at the first graph about which the file says something else than the framework.

    `share` is how many rows must agree: trees answer in steps, so a number on a step may fall on
    its other side.
    """
    largest = 0.0
    for title, feed in feeds.items():
        wanted = answer(feed)
        got = ask(path, feed)
        if got.shape != wanted.shape:
            raise SystemExit(f"{path}: {title}: shape {got.shape} instead of {wanted.shape}")
        apart = np.abs(got - wanted).reshape(len(got), -1).max(axis=1, initial=0.0)
        agreeing = apart <= TOLERANCE
        if agreeing.mean() < share:
            raise SystemExit(f"{path}: {title}: differs by {apart.max():.2g}")
        largest = max(largest, float(apart[agreeing].max(initial=0.0)))
    print(f"wrote {path}: {path.stat().st_size:,} bytes")
    print(f"compared on {', '.join(feeds)}: largest difference {largest:.1e}")


def probe(path: Path) -> Inspection:
    """What `recourse-audit inspect` knows of a file; `problem` has its message, if it ends."""
    return inspect_model(path, None)


def refusal(path: Path) -> str:
    """The message with which `recourse-audit inspect` refuses a file; empty if it does not."""
    try:
        return probe(path).problem
    except AuditError as error:
        return str(error)


def show(path: Path) -> None:
    """Print what `recourse-audit inspect` says about a file, or an audit.toml."""
    print(f"\n$ recourse-audit inspect {path}", flush=True)
    subprocess.run([sys.executable, "-m", "recourse_audit", "inspect", str(path)], check=True)


def write_tables(folder: Path, columns: Feed, arcs: np.ndarray) -> None:
    """Write nodes.csv and ties.csv: people P000, P001, …, each pair of them once."""
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    with (folder / "nodes.csv").open("w", newline="", encoding="utf-8") as file:
        people = ((f"P{number:03}", *row) for number, row in enumerate(rows))
        csv.writer(file).writerows([("id", *columns), *people])
    pairs = sorted({(min(pair), max(pair)) for pair in arcs.T.tolist() if pair[0] != pair[1]})
    with (folder / "ties.csv").open("w", newline="", encoding="utf-8") as file:
        ties = ((f"P{a:03}", f"P{b:03}", "payment") for a, b in pairs)
        csv.writer(file).writerows([("source", "target", "kind"), *ties])


def start(main: Callable[[Path], None]) -> None:
    """Run a recipe; its files go into the folder named on the command line, or recipe-exports."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "recipe-exports")
    folder.mkdir(parents=True, exist_ok=True)
    # Exporters announce a good deal that is no news; what goes wrong is raised.
    logging.disable(logging.CRITICAL)
    warnings.filterwarnings("ignore")
    onnxruntime.set_default_logger_severity(4)
    main(folder)
