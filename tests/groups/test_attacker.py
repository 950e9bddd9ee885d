"""An attacker with a report and a solver learns no count of a few people; a broken rule is noticed.

`python -m benchmarks.withheld 500` attacks as many populations as it is told.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from recourse_audit.groups import error_rates, measures, reasons, tables
from tests.cases import long_after
from tests.groups.attacker import CUT_OFF, attack, told_by_bins
from tests.groups.populations import attack_population, report_on_population
from tests.groups.stores import Person, report_on, settings


@pytest.mark.parametrize("seed", long_after(3, [3, 14, 1189, 4, 9, 69]))
def test_nothing_of_a_few_people_can_be_worked_out(seed: int) -> None:
    attacked, learnt = attack_population(seed)
    assert attacked > 100
    assert learnt == []


def nothing_is_few(counts: Any, _: int) -> Any:
    return np.zeros(np.shape(counts), dtype=bool)


def always(*_: Any) -> bool:
    return True


@pytest.mark.parametrize(
    ("where", "what", "broken", "seed"),
    [
        pytest.param(tables, "has_few", nothing_is_few, 24, id="small groups are shown"),
        pytest.param(tables, "is_divisible", always, 27, id="any division is shown"),
        pytest.param(reasons, "is_divisible", always, 12, id="any division by reasons is shown"),
        pytest.param(measures, "_quartiles_hide", always, 12, id="all quartiles are shown"),
    ],
)
def test_an_attacker_notices_a_broken_rule(
    where: object,
    what: str,
    broken: Callable[..., Any],
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(where, what, broken)
    assert attack_population(seed)[1]


@pytest.mark.parametrize("seed", [35, 55, 63])
def test_ends_of_bins_tell_of_no_few_people_with_an_outcome_who_are_decided_otherwise(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [*told_by_bins(report_on_population(seed)[0], CUT_OFF)] == []

    def nothing_told(refused: Any, *_: Any) -> Any:
        return np.zeros(refused.shape[1], dtype=bool)

    monkeypatch.setattr(error_rates, "tells_few", nothing_told)
    assert [*told_by_bins(report_on_population(seed)[0], CUT_OFF)] != []


def two_groups_of_ten() -> tuple[dict[str, Any], dict[str, Counter[str]]]:
    """Each of two pooled groups has at most 10 people, and both together have 20."""
    sizes = Counter(north=40, south=30, east=10, west=10)
    people = [
        Person(groups={"origin": name}, favourable=bool(number % 2))
        for name, size in sizes.items()
        for number in range(size)
    ]
    report = report_on(people, settings("origin", smallest=11), ties=False)
    return report.to_dict(), {"origin": sizes}


def test_a_pool_takes_one_more_group_if_its_size_gives_the_others_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    report, sizes = two_groups_of_ten()
    [table] = report["tables"]
    assert [(one["name"], one["pooled"]) for one in table["by_group"]] == [
        ("north", 0),
        ("other", 3),
    ]
    assert attack(report, sizes)[1] == []
    monkeypatch.setattr(tables, "_hides", always)
    assert {one.value for one in attack(*two_groups_of_ten())[1]} >= {10}


@pytest.mark.parametrize(
    ("counts", "passes"),
    [
        ([[11, 20], [30, 11]], True),
        ([[11, 20], [30, 10]], False),
        ([[11, 20], [30, 0]], False),  # that all of a group are alike can tell others apart
        ([[11, 0], [30, 0]], True),  # nobody at all has the second label
        ([[11, 20], [0, 0]], True),  # nobody of the second group is divided
    ],
)
def test_a_division_passes_if_each_of_its_cells_has_enough_people(
    counts: list[list[int]], passes: bool
) -> None:
    assert tables.is_divisible(np.array(counts), 11) == passes
