"""Measures the gap planted in `hiring`, and that it travels through employers only.

Input: the folder with its two models. Output: figures on stdout, from the models themselves; the
script stops at a figure that is not as the README says. Needs onnxruntime and numpy, and knows
nothing of the generator's hidden traits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnxruntime
from hiring_data import Hiring, read_hiring
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

MODELS = ("hetero", "rgcn")
FOLDS = 5
DRAWS = 200
# What the figures must be: shares, and areas under the curve.
LEAST_GAP = 0.30
MOST_LEFT = 0.03
CHANCE = (0.45, 0.55)
LEAST_FROM_EMPLOYERS = 0.75


class Model:
    """One of the two models: whom it refuses in a world."""

    def __init__(self, folder: Path, name: str) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.name = name
        self.session = onnxruntime.InferenceSession(
            folder / f"{name}.onnx", options, ["CPUExecutionProvider"]
        )

    def refuses(self, hiring: Hiring) -> Mask:
        """Which people are refused; other kinds have answers in one model, which mean nothing."""
        inputs = hiring.by_kind() if self.name == "hetero" else hiring.homogenised()
        answers = np.asarray(self.session.run(None, inputs)[0])[: hiring.people]
        return np.asarray(answers[:, 0] >= answers[:, 1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Shares refused in the valley and in the city."""

    valley: float
    city: float

    @property
    def size(self) -> float:
        """How much larger the share in the valley is."""
        return self.valley - self.city


def gap_between(refused: Mask, valley: Mask) -> Gap:
    """The two shares refused."""
    return Gap(valley=float(refused[valley].mean()), city=float(refused[~valley].mean()))


def with_equal_columns(hiring: Hiring, kind: str) -> Hiring:
    """The world in which every node of a kind has that kind's mean in every column."""
    table = hiring.features[kind]
    equal = np.repeat(table.mean(axis=0, keepdims=True), len(table), axis=0)
    return replace(hiring, features=hiring.features | {kind: equal})


def columns_of_employers(hiring: Hiring) -> Floats:
    """For each person the mean of their employers' columns, or everybody's mean without a job."""
    person, employer = hiring.ties["works_at"]
    table = hiring.features["employer"].astype(float)
    total = np.zeros((hiring.people, table.shape[1]))
    np.add.at(total, person, table[employer])
    count = np.bincount(person, minlength=hiring.people)[:, None]
    return np.where(count > 0, total / np.maximum(count, 1), table.mean(axis=0))


def folds(count: int) -> Iterator[tuple[Mask, Mask]]:
    """Everybody but a part, and that part, for each part."""
    part = np.random.default_rng(0).permutation(count) % FOLDS
    for number in range(FOLDS):
        yield part != number, part == number


def area_under_curve(columns: Floats, marked: Mask) -> float:
    """How well a line through the columns tells who is marked, on people it was not fitted to."""
    scaled = (columns - columns.mean(axis=0)) / np.maximum(columns.std(axis=0), 1e-9)
    design = np.column_stack([np.ones(len(scaled)), scaled, scaled**2])
    areas = []
    for fitted, tested in folds(len(marked)):
        weights = np.linalg.lstsq(design[fitted], marked[fitted].astype(float), rcond=None)[0]
        scores, truth = design[tested] @ weights, marked[tested]
        above = scores[truth][:, None] - scores[~truth][None, :]
        areas.append(float((above > 0).mean() + 0.5 * (above == 0).mean()))
    return float(np.mean(areas))


def largest_difference(columns: Floats, marked: Mask) -> float:
    """The largest difference in means between the groups, in standard deviations."""
    apart = columns[marked].mean(axis=0) - columns[~marked].mean(axis=0)
    return float(np.abs(apart / columns.std(axis=0)).max())


def refusals_after_moving(model: Model, hiring: Hiring, refused: Mask) -> float:
    """The share of refused people with one job who would be invited at an employer drawn at random.

    The drawn employer replaces their own, in both directions, for one person at a time.
    """
    random = np.random.default_rng(1)
    person, employer = hiring.ties["works_at"]
    jobs = np.bincount(person, minlength=hiring.people)
    places = np.flatnonzero(refused[person] & (jobs[person] == 1))
    flipped = []
    for place in random.choice(places, min(DRAWS, len(places)), replace=False):
        moved = employer.copy()
        moved[place] = random.integers(0, len(hiring.features["employer"]))
        world = replace(hiring, ties=hiring.ties | {"works_at": np.stack([person, moved])})
        flipped.append(not model.refuses(world)[person[place]])
    return float(np.mean(flipped))


def insist(holds: bool, sentence: str) -> None:
    """Print a finding, or stop because it is not as planted."""
    if not holds:
        raise SystemExit(f"hiring: not as planted: {sentence}")
    print(sentence)


def check_columns(hiring: Hiring, valley: Mask) -> None:
    """Region is not in people's own columns, and is in their employers'."""
    own = hiring.features["person"].astype(float)
    area = area_under_curve(own, valley)
    insist(
        CHANCE[0] <= area <= CHANCE[1], f"own columns tell region: area {area:.3f} (0.5: chance)"
    )
    apart = largest_difference(own, valley)
    insist(apart < 0.1, f"largest difference in an own column: {apart:.3f} standard deviations")
    area = area_under_curve(columns_of_employers(hiring), valley)
    insist(area >= LEAST_FROM_EMPLOYERS, f"employers' columns tell region: area {area:.3f}")


def check_model(model: Model, hiring: Hiring, valley: Mask) -> None:
    """The gap is in the decisions, and goes with the employers' columns, not with people's own."""
    refused = model.refuses(hiring)
    print(f"{model.name}.onnx: refuses {100 * refused.mean():.1f} %")
    gap = gap_between(refused, valley)
    shares = f"valley {100 * gap.valley:.1f} %, city {100 * gap.city:.1f} %"
    insist(gap.size >= LEAST_GAP, f"  refused: {shares}")
    for kind, closes in (("employer", True), ("person", False), ("school", False)):
        left = gap_between(model.refuses(with_equal_columns(hiring, kind)), valley)
        shares = f"valley {100 * left.valley:.1f} %, city {100 * left.city:.1f} %"
        holds = abs(left.size) <= MOST_LEFT if closes else left.size >= LEAST_GAP
        insist(holds, f"  with equal columns for every {kind}: {shares}")
    for attribute in ("gender", "age_band"):
        values = hiring.protected[attribute]
        each = {value: 100 * refused[values == value].mean() for value in np.unique(values)}
        print("  refused by", attribute, ", ".join(f"{v} {s:.1f} %" for v, s in each.items()))
    share = refusals_after_moving(model, hiring, refused)
    print(f"  refused, with one job, invited at an employer drawn at random: {100 * share:.1f} %")


def check_hiring(folder: Path) -> None:
    """Check the data, then both models."""
    hiring = read_hiring(folder)
    valley = hiring.protected["region"] == "valley"
    counts = ", ".join(f"{kind} {len(table)}" for kind, table in hiring.features.items())
    ties = ", ".join(f"{name} {arcs.shape[1]}" for name, arcs in hiring.ties.items())
    print(f"\nhiring: {counts}; {ties}")
    check_columns(hiring, valley)
    for name in MODELS:
        check_model(Model(folder, name), hiring, valley)
