"""Measures the planted gaps: in `lending` and not in `lending_twin`, and in `hiring`.

Input: the folders with their models. `hiring_truth.py` measures `hiring`; what follows is about the
two others, with their `gcn.onnx`. Output: a table on stdout with, for each group, how many people
the model refuses and how many of those it would approve after a small change. The answers come from
the model itself. Needs onnxruntime and numpy; nothing here knows the generator's hidden traits.

Every set of up to three droppable own ties is tried. Each set is evaluated on the person's
three-hop neighbourhood (people two hops away affect the person, the third hop provides their
degrees). A sample is evaluated on the whole graph as well, and any difference stops the script.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from pathlib import Path

import numpy as np
import onnxruntime
from hiring_truth import check_hiring
from lending_data import Lending, both_directions, read_lending
from make_lending import FEATURES
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

DROPPABLE = ("guarantor", "payment", "co-borrower", "employer", "address")
MOST_DROPS = 3
HOPS = 3
BATCH = 32
TOLERANCE = 1e-4
SMALL_CHANGES = (("savings", 5000.0), ("loan_amount", -5000.0), ("late_payments", -1.0))


class Model:
    """One onnxruntime session that returns logits for denied and approved."""

    def __init__(self, path: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])

    def logits(self, features: Floats, ties: Ints) -> Floats:
        """Logits [N, 2] for people and undirected ties [T, 2]."""
        inputs = {"x": features, "edge_index": both_directions(ties)}
        return np.asarray(self.session.run(None, inputs)[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbourhood:
    """A person's neighbourhood; row 0 is the person, and the ends of ties are local rows."""

    features: Floats
    ties: Ints
    droppable: tuple[int, ...]
    tie_numbers: Ints


def neighbourhood(lending: Lending, person: int) -> Neighbourhood:
    """All people within three hops, and every tie among them."""
    inside = np.zeros(lending.people, dtype=bool)
    inside[person] = True
    for _ in range(HOPS):
        touched = inside[lending.ties].any(axis=1)
        inside[lending.ties[touched]] = True
    members = np.flatnonzero(inside)
    members = np.concatenate([[person], members[members != person]])
    row = np.full(lending.people, -1)
    row[members] = np.arange(members.size)
    numbers = np.flatnonzero(inside[lending.ties].all(axis=1))
    ties = row[lending.ties[numbers]]
    own = (ties == 0).any(axis=1) & np.isin(lending.kinds[numbers], DROPPABLE)
    return Neighbourhood(
        features=lending.features[members],
        ties=ties,
        droppable=tuple(int(tie) for tie in np.flatnonzero(own)),
        tie_numbers=numbers,
    )


def drop_sets(droppable: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every set of one, two or three droppable ties, smallest sets first."""
    for size in range(1, MOST_DROPS + 1):
        yield from combinations(droppable, size)


def logits_after_drops(
    model: Model, near: Neighbourhood, dropped: Sequence[tuple[int, ...]]
) -> Floats:
    """The person's logits [sets, 2] after each set of drops, all in one query."""
    people = near.features.shape[0]
    copies = [np.delete(near.ties, drop, axis=0) + n * people for n, drop in enumerate(dropped)]
    answer = model.logits(np.tile(near.features, (len(dropped), 1)), np.concatenate(copies))
    return answer[::people]


def fewest_drops(model: Model, lending: Lending, person: int) -> int:
    """The smallest number of dropped ties that flips a refusal, or 0 if three do not."""
    near = neighbourhood(lending, person)
    pending = drop_sets(near.droppable)
    while batch := list(islice(pending, BATCH)):
        answer = logits_after_drops(model, near, batch)
        flipped = np.flatnonzero(answer[:, 1] > answer[:, 0])
        if flipped.size:
            return len(batch[int(flipped[0])])
    return 0


def largest_local_error(model: Model, lending: Lending, refused: Ints) -> float:
    """The largest difference between local and whole-graph logits over a sample of drops."""
    largest = 0.0
    for person in refused[:: max(1, refused.size // 40)]:
        near = neighbourhood(lending, int(person))
        for drop in list(drop_sets(near.droppable))[::7]:
            local = logits_after_drops(model, near, [drop])[0]
            ties = np.delete(lending.ties, near.tie_numbers[list(drop)], axis=0)
            whole = model.logits(lending.features, ties)[person]
            largest = max(largest, float(np.abs(local - whole).max()))
    return largest


def flips_with_change(
    model: Model, lending: Lending, refused: Ints, name: str, amount: float
) -> Mask:
    """Which refused people are approved after a change to one of their attributes."""
    flipped = np.zeros(refused.size, dtype=bool)
    for place, person in enumerate(refused):
        near = neighbourhood(lending, int(person))
        features = near.features.copy()
        column = FEATURES.index(name)
        features[0, column] = max(0.0, features[0, column] + amount)
        answer = model.logits(features, near.ties)[0]
        flipped[place] = answer[1] > answer[0]
    return flipped


def percent(part: Mask, among: Mask) -> str:
    """The share in per cent of the people in `among`, or a dash if there are none."""
    return f"{100 * part[among].mean():5.1f}" if among.any() else "    -"


def measure(folder: Path) -> None:
    """Print the table of one network; stop if a neighbourhood disagrees with the whole graph."""
    lending = read_lending(folder)
    model = Model(folder / "gcn.onnx")
    answer = model.logits(lending.features, lending.ties)
    adverse = answer[:, 0] >= answer[:, 1]
    refused = np.flatnonzero(adverse)
    error = largest_local_error(model, lending, refused)
    if error > TOLERANCE:
        raise SystemExit(f"{folder.name}: neighbourhood and whole graph differ by {error:.2g}")
    drops = np.zeros(lending.people, dtype=np.int64)
    drops[refused] = [fewest_drops(model, lending, int(person)) for person in refused]
    changed = {}
    for name, amount in SMALL_CHANGES:
        flips = np.zeros(lending.people, dtype=bool)
        flips[refused] = flips_with_change(model, lending, refused, name, amount)
        changed[f"{name} {amount:+g}"] = flips
    print(f"\n{folder.name}: {lending.people} people, {lending.ties.shape[0]} ties, ", end="")
    print(f"{refused.size} refused; neighbourhood against whole graph: {error:.1e}")
    print_table(lending, adverse, drops, changed)


def print_table(lending: Lending, adverse: Mask, drops: Ints, changed: dict[str, Mask]) -> None:
    """Print one line per group: people, share refused, and what flips refusals, in per cent."""
    titles = ["1 drop", "<=2", "<=3", *changed]
    print(f"{'group':<16} people refused adverse% | of the refused, % flipped by: ", end="")
    print(" | ".join(titles))
    groups = {"everyone": np.ones(lending.people, dtype=bool)}
    for attribute in ("origin", "gender", "age_band"):
        values = lending.protected[attribute]
        groups |= {f"{attribute} {value}": values == value for value in np.unique(values)}
    for title, group in groups.items():
        among = group & adverse
        flips = [(drops > 0) & (drops <= most) for most in (1, 2, 3)] + list(changed.values())
        cells = " | ".join(percent(flip, among) for flip in flips)
        head = f"{title:<16} {group.sum():6d} {among.sum():7d}   {percent(adverse, group)}"
        print(f"{head} | {cells}")


def main() -> None:
    """Measure `hiring`, `lending` and `lending_twin`, or those chosen."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--within", type=Path, default=Path(__file__).parent)
    parser.add_argument("--only", nargs="*", default=["hiring", "lending", "lending_twin"])
    options = parser.parse_args()
    for name in options.only:
        check = check_hiring if name == "hiring" else measure
        check(options.within / name)


if __name__ == "__main__":
    main()
