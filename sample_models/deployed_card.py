"""The card of `lending_deployed`: what each file is, how it was made, and what is planted."""

from __future__ import annotations

import csv
import hashlib
from collections import Counter
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from export import Exported

PACKAGES = (
    "torch",
    "torch_geometric",
    "scikit-learn",
    "skl2onnx",
    "onnx",
    "onnxscript",
    "numpy",
    "onnxruntime",
)
FILES = ("nodes.csv", "edges.csv", "pipeline.onnx", "model.onnx", "score.onnx")
KINDS = {
    "old cut-off": "approved below the cut-off of today: decided when it was {old:g}",
    "overruled": "denied although the model approves: a clerk overruled loans for a business",
    "exception": "approved although the model denies: exceptions of a branch for home owners",
}


CARD = """\
# lending_deployed

The files of a bank that decides on loans with a model, as it would hand them to an auditor: raw
columns, the preprocessing as a file of its own, the model, and the decisions that were taken.
[The tutorial](../../docs/tutorials/deployment.md) audits it step by step.

**Intended use**: synthetic; for tests and the tutorial only. None of the people exist.

| file | what it is |
|---|---|
| `nodes.csv` | {people} applicants: amounts in euros (income and debt per month), four columns \
of text, two protected attributes, the recorded `decision`, and `repaid` |
| `edges.csv` | {ties} undirected ties: {kinds} |
| `pipeline.onnx` | raw columns in, one [N, 1] input each (numbers and text); {features} features \
out: standardised numbers and one-hot categories |
| `model.onnx` | a graph convolution network with one sigmoid column; approved from {cut_off} |
| `score.onnx` | GraphSAGE with one column, a score; approved from {score_cut_off} |
| `audit.toml`, `score.toml` | the settings of two audits, one of each model |

`debt_ratio`, which the pipeline takes, is not in the table: it is `debt / income`, computed where
the settings say so. Nobody without a job has an income above 1,500, which the policy states as a
condition. `repaid` is known for everybody because the people are made up: {repaid} of {people}
repay.

## How it was made

- Scripts: `sample_models/make_deployed.py` (tables) and `sample_models/train_deployed.py` (the
  rest), seed {seed}. The pipeline was fitted with scikit-learn and exported by skl2onnx; the models
  were trained with torch on the features that the exported pipeline gives.
- Versions: {versions}.
- Neither model sees gender, age_band, decision or repaid, nor the kind of a tie.

## Decisions

| | cut-off | denied | correct, train | correct, test |
|---|---|---|---|---|
{model}
{score}

Scores range from {low} to {high}, with a median of {middle}.

## What is planted

The recorded decision of {different} of the {people} people is not that of `model.onnx` with its
cut-off. For everybody else it is.

| kind | people | what happened |
|---|---|---|
{planted}

Nothing is planted on gender or age_band.

## Files

{files}

Largest difference between onnxruntime and torch, relative to the largest output:

{checks}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """How one model decides with its cut-off, and how its export was checked."""

    train: float
    test: float
    denied: int
    exported: Exported


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything that the card says and the files do not."""

    seed: int
    features: int
    cut_off: float
    old_cut_off: float
    score_cut_off: float
    model: Fit
    score: Fit
    scores: tuple[float, float, float]
    planted: dict[str, list[str]]


def write_card(facts: Facts, folder: Path) -> None:
    """Write `README.md` of the sample."""
    people, ties = read_rows(folder / "nodes.csv"), read_rows(folder / "edges.csv")
    kinds = Counter(tie["kind"] for tie in ties)
    low, middle, high = facts.scores
    checks = {"model.onnx": facts.model.exported.checks, "score.onnx": facts.score.exported.checks}
    text = CARD.format(
        people=len(people),
        ties=f"{len(ties):,}",
        kinds=", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())),
        features=facts.features,
        cut_off=facts.cut_off,
        score_cut_off=facts.score_cut_off,
        repaid=sum(person["repaid"] == "yes" for person in people),
        seed=facts.seed,
        versions=", ".join(f"{name} {version(name).split('+')[0]}" for name in PACKAGES),
        model=table_row("model.onnx", facts.cut_off, facts.model),
        score=table_row("score.onnx", facts.score_cut_off, facts.score),
        low=f"{low:.0f}",
        middle=f"{middle:.0f}",
        high=f"{high:.0f}",
        different=sum(map(len, facts.planted.values())),
        planted="\n".join(
            f"| {kind} | {', '.join(names)} | {KINDS[kind].format(old=facts.old_cut_off)} |"
            for kind, names in facts.planted.items()
        ),
        files="\n".join(file_line(folder / name) for name in FILES),
        checks="\n".join(f"- `{name}`, {one}" for name, found in checks.items() for one in found),
    )
    (folder / "README.md").write_text(text, encoding="utf-8", newline="\n")


def table_row(name: str, cut_off: float, fit: Fit) -> str:
    """One line of the table of decisions."""
    return f"| `{name}` | {cut_off:g} | {fit.denied} | {fit.train:.3f} | {fit.test:.3f} |"


def file_line(path: Path) -> str:
    """A file with its size and digest."""
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    return f"- `{path.name}`, {len(content):,} bytes, sha256 `{digest}`"


def read_rows(path: Path) -> list[dict[str, str]]:
    """All rows of a CSV file, keyed by its header."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
