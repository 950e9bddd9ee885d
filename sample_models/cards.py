"""Every sample model has a card: how it was made, how accurate it is, its inputs and output."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from export import Exported
from make_lending import FEATURES

PACKAGES = ("torch", "torch_geometric", "onnx", "onnxscript", "numpy", "onnxruntime")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """Shares of people: decided in line with the true outcome, and denied."""

    train: float
    test: float
    denied: float
    baseline_train: float
    baseline_test: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """Everything a card says about one model."""

    title: str
    about: str
    route: str
    output: str
    data: str
    seed: int
    quality: Quality
    exported: Exported
    script: str = "train.py"
    generator: str = "make_lending.py"
    label: str = "approved for people who repaid, denied for people who defaulted."
    unseen: tuple[str, ...] = (
        "- The model does not see gender, origin, age_band or community, nor the kind, weight or",
        "  year of a tie.",
    )
    features: str = ", ".join(FEATURES)


def installed(package: str) -> str:
    """A package's public version, without the local build tag."""
    return version(package).split("+")[0]


def write_card(card: Card, path: Path) -> None:
    """Write one card as Markdown."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(card_lines(card)) + "\n", encoding="utf-8", newline="\n")


def card_lines(card: Card) -> list[str]:
    """The card's text, line by line."""
    quality, exported = card.quality, card.exported
    digest = hashlib.sha256(exported.path.read_bytes()).hexdigest()
    return [
        f"# {card.title}",
        "",
        card.about,
        "",
        "**Intended use**: synthetic; for tests and the demo only. It decides on no real person.",
        "",
        "## How it was made",
        "",
        f"- Script: `sample_models/{card.script}`, seed {card.seed}.",
        f"- Export: {card.route}",
        f"- Versions: {', '.join(f'{name} {installed(name)}' for name in PACKAGES)}.",
        f"- Data: `sample_models/{card.data}/`, made by `sample_models/{card.generator}`.",
        f"- Label: {card.label}",
        *card.unseen,
        "",
        "## Accuracy",
        "",
        "| share of correct decisions | train | test |",
        "|---|---|---|",
        f"| this model | {quality.train:.3f} | {quality.test:.3f} |",
        f"| baseline without ties | {quality.baseline_train:.3f} | {quality.baseline_test:.3f} |",
        "",
        "The baseline is a perceptron of the same size that sees only the person.",
        f"It denies {100 * quality.denied:.1f} % of the people.",
        "",
        "## Inputs and output",
        "",
        *(f"- in: {port}" for port in exported.inputs),
        *(f"- out: {port}" for port in exported.outputs),
        "",
        f"Features in order, in real units (standardised inside): {card.features}.",
        f"Output: {card.output}",
        "",
        "## File",
        "",
        f"- `{exported.path.name}`, {exported.path.stat().st_size:,} bytes, one file, opset 18.",
        f"- sha256 `{digest}`",
        "- Largest difference between onnxruntime and torch, relative to the largest output:",
        *(f"  - {check}" for check in exported.checks),
    ]
