"""An attacker with every published file and an integer solver learns no count that is withheld.

`python -m benchmarks.withheld 500` attacks as many populations as it is told.
"""

from pathlib import Path

import pytest

from tests.groups.attacker import (
    ALL,
    Cell,
    Published,
    attack,
    attack_details,
    hidden_counts,
    read,
)
from tests.groups.populations import publish

# `python -m benchmarks.withheld` attacks as many more as one likes.
SEEDS = range(10)


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_that_is_withheld_can_be_worked_out(seed: int, tmp_path: Path) -> None:
    known = read(publish(seed, (5, 11)[seed % 2], tmp_path))
    assert attack(known) == []


@pytest.mark.parametrize("seed", [1, 7, 8])
def test_nor_can_costs_caveats_and_common_options(seed: int, tmp_path: Path) -> None:
    known = read(publish(seed, 5, tmp_path))
    assert hidden_counts(known)
    assert known.details
    assert attack_details(known) == []


def published_by_hand(outcomes: dict[str, tuple[int, int] | None]) -> Published:
    """One attribute, by group the numbers with and without an option; everybody was audited.

    The decisions on all groups are shown, each group has 20 people, and 40 in all have an option.
    """
    known = Published(smallest=30)
    known.groups["a"] = list(outcomes)
    known.listed[("a",)] = [Cell((("a", name),)) for name in outcomes]
    for cell in (ALL, *known.listed[("a",)]):
        people = 20 * len(outcomes) if cell == ALL else 20
        for figure in ("people", "refused", "audited", "usable"):
            known.know(cell, figure, people)
        for figure in ("favourable", "undecided", "not_audited", "errors", "not_found"):
            known.know(cell, figure, 0)
    for cell, found in zip(known.listed[("a",)], outcomes.values(), strict=True):
        if found is not None:
            known.know(cell, "verified", found[0])
    known.know(ALL, "verified", 40)
    return known


def test_the_attack_uses_bounds_and_not_only_sums() -> None:
    """40 with an option in three groups of 20 of which one has none: the other two are all."""
    known = published_by_hand({"x": (0, 20), "y": None, "z": None})
    learnt = {(one.cell.values[0][1], one.figure, one.value) for one in attack(known)}
    assert learnt >= {("y", "verified", 20), ("z", "verified", 20), ("y", "without", 0)}
    known = published_by_hand({"x": (1, 19), "y": None, "z": None})
    assert attack(known) == []
