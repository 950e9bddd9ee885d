"""Levels are in the user's units, and the model gets the table's number for them."""

from typing import Any

import numpy as np
import pytest

from recourse_audit.errors import SettingsError
from recourse_audit.graph.arrays import from_arrays
from recourse_audit.graph.graph import Graph
from recourse_audit.recourse.attributes import Levels, movements_of, round_value
from recourse_audit.settings import AttributeRule
from tests.recourse.worlds import policy_of, reasons, star


def graph_of(*columns: list[float], names: tuple[str, ...] = ("a", "b", "c")) -> Graph:
    x = np.array(columns, float).T
    return from_arrays(x, np.empty((2, 0), int), feature_names=names[: x.shape[1]])


def levels_of(graph: Graph, person: int, *rules: dict[str, Any]) -> Levels:
    found = movements_of(graph, [AttributeRule.model_validate(rule) for rule in rules], {})
    return found[0].levels(graph, person)


def after(levels: Levels) -> list[float]:
    return [float(row[0]) for row in levels.after]


def test_levels_are_whole_steps_inside_the_range_up_then_down() -> None:
    graph = graph_of([0.1, 0.5, 0.0, 1.0])
    levels = levels_of(graph, 0, {"name": "a", "step": 0.1, "max": 0.4, "min": 0.0})
    assert after(levels) == [0.2, 0.3, 0.4, 0.0]
    assert levels.steps.tolist() == [1, 2, 3, -1]
    assert levels.before == (0.1,)


def test_bounds_that_are_missing_are_those_of_the_graph() -> None:
    graph = graph_of([3, 1, 6])
    assert after(levels_of(graph, 0, {"name": "a", "step": 1})) == [4, 5, 6, 2, 1]
    assert after(levels_of(graph, 0, {"name": "a", "step": 1, "direction": "up"})) == [4, 5, 6]
    assert after(levels_of(graph, 0, {"name": "a", "step": 2, "direction": "down"})) == [1]
    assert after(levels_of(graph, 2, {"name": "a", "step": 1, "direction": "up"})) == []


def test_somebody_outside_the_range_may_move_into_it() -> None:
    graph = graph_of([10, 1, 6])
    levels = levels_of(graph, 0, {"name": "a", "step": 3, "max": 5, "min": 0})
    assert after(levels) == [4, 1]
    assert levels.steps.tolist() == [-2, -3]


def test_whole_numbers_are_reached_by_rounding_the_way_one_moves() -> None:
    graph = graph_of([2.4, 0, 5.5])
    rule = {"name": "a", "step": 1, "integer": True}
    assert after(levels_of(graph, 0, rule)) == [3, 4, 5, 2, 1, 0]
    assert after(levels_of(graph, 1, rule)) == [1, 2, 3, 4, 5]
    assert after(levels_of(graph, 0, {**rule, "step": 2})) == [3, 5, 2, 0]


def test_the_table_holds_scaled_values_and_the_user_speaks_of_others() -> None:
    graph = graph_of([0.5, -1.0, 2.0])
    rule = {"name": "a", "step": 500, "scale": 2000, "shift": 3000, "direction": "up"}
    levels = levels_of(graph, 0, rule)
    assert levels.before[0] == 4000
    assert after(levels) == [4500, 5000, 5500, 6000, 6500, 7000]
    assert levels.numbers[:, 0] == pytest.approx([0.75, 1, 1.25, 1.5, 1.75, 2])


@pytest.mark.parametrize(("transform", "stored"), [("log", np.log), ("log1p", np.log1p)])
def test_logarithms_in_the_table_are_undone(transform: str, stored: Any) -> None:
    graph = graph_of([float(stored(value)) for value in (1000, 200, 3000)])
    rule = {"name": "a", "step": 1000, "transform": transform, "direction": "up"}
    levels = levels_of(graph, 0, rule)
    assert levels.before[0] == 1000
    assert after(levels) == [2000, 3000]
    assert levels.numbers[:, 0] == pytest.approx([stored(2000), stored(3000)])


def test_a_level_without_a_number_in_the_table_is_none() -> None:
    graph = graph_of([0.0, 1.0])
    rule = {"name": "a", "step": 1, "transform": "log", "min": -5, "direction": "down"}
    assert after(levels_of(graph, 0, rule)) == []


def test_what_is_implied_moves_along_in_its_own_units_and_bounds_the_levels() -> None:
    graph = graph_of([1, 9], [0.30, 0.10], [5, 5])
    rule = {"name": "a", "step": 1, "direction": "up", "implies": [{"name": "b", "by": -0.05}]}
    levels = levels_of(graph, 0, rule)
    assert [row[1] for row in levels.after] == [0.25, 0.2, 0.15, 0.1]
    own = {"name": "b", "step": 5, "scale": 100, "min": 20}
    percent = {**rule, "implies": [{"name": "b", "by": -5}]}
    levels = levels_of(graph, 0, percent, own)
    assert [row[1] for row in levels.after] == [25, 20]
    assert levels.numbers[:, 1] == pytest.approx([0.25, 0.2])


def test_attributes_that_are_linked_by_what_they_imply_are_one_family() -> None:
    rules = [
        {"name": "a", "step": 1, "implies": [{"name": "d", "by": 1}]},
        {"name": "b", "step": 1},
        {"name": "c", "step": 1, "implies": [{"name": "d", "by": 1}]},
        {"name": "d", "step": 1},
        {"name": "e", "step": 1, "implies": [{"name": "b", "by": 1}]},
    ]
    names = ("a", "b", "c", "d", "e")
    graph = graph_of(*[[0.0, 1.0]] * 5, names=names)
    found = movements_of(graph, [AttributeRule.model_validate(rule) for rule in rules], {})
    family = {one.rule.name: one.family for one in found}
    assert family["a"] == family["c"] == family["d"]
    assert family["b"] == family["e"] != family["a"]


def test_a_float32_table_shows_the_digits_it_has() -> None:
    graph = from_arrays(
        np.array([[0.3], [0.9]], np.float32), np.empty((2, 0), int), feature_names="a"
    )
    levels = levels_of(graph, 0, {"name": "a", "step": 0.1, "direction": "up", "max": 0.5})
    assert levels.before == (0.3,)
    assert after(levels) == [0.4, 0.5]


def test_rounding_leaves_no_negative_zero() -> None:
    assert str(round_value(-0.0)) == "0.0"
    assert round_value(0.1 + 0.2) == 0.3


def savings_and_loan(direction: str, by: float, own: str, **more: Any) -> list[dict[str, Any]]:
    """Savings, which move the loan along, and the loan, with a rule of its own."""
    return [
        {
            "name": "savings",
            "step": 1000,
            "direction": direction,
            "implies": [{"name": "loan", "by": by}],
        },
        {"name": "loan", "step": 1, "direction": own, **more},
    ]


@pytest.mark.parametrize(
    ("direction", "by", "own", "step"),
    [
        ("up", 1, "down", "up"),
        ("up", -1, "up", "up"),
        ("down", 1, "up", "down"),
        ("down", -1, "down", "down"),
        ("any", 1, "up", "down"),
        ("any", -1, "up", "up"),
    ],
)
def test_a_policy_that_moves_an_attribute_against_its_own_rule_is_refused(
    direction: str, by: float, own: str, step: str
) -> None:
    with pytest.raises(SettingsError) as raised:
        policy_of(star(), attributes=savings_and_loan(direction, by, own))
    said = str(raised.value)
    assert said.startswith(
        f"recourse.attributes[0].implies[0].by: a step {step} of 'savings' would"
    )
    assert f"recourse.attributes[1].direction lets it go only {own}" in said


@pytest.mark.parametrize(
    ("direction", "by", "own"),
    [("up", 1, "up"), ("up", -1, "down"), ("down", -1, "up"), ("any", 1, "any"), ("up", 0, "down")],
)
def test_a_policy_that_keeps_to_it_is_not(direction: str, by: float, own: str) -> None:
    assert len(policy_of(star(), attributes=savings_and_loan(direction, by, own)).movements) == 2


def test_levels_that_would_leave_the_other_rules_range_are_not_permitted() -> None:
    policy = policy_of(star(), attributes=savings_and_loan("up", 1, "up", max=4))
    [savings, _] = policy.movements
    assert savings.levels(policy.graph, 0).after == ((2000, 4),)


def test_a_level_that_something_implied_forbids_says_so() -> None:
    policy = policy_of(star(), attributes=savings_and_loan("up", 1, "up", max=4))
    assert reasons(policy, 0, "savings=2000") == []
    assert reasons(policy, 0, "savings=3000") == [
        "savings=3000: would take 'loan' to 5, outside 3 to 4"
    ]
