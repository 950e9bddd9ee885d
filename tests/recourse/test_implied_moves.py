"""An attribute that moves along with another keeps to its own rule."""

from typing import Any

import pytest

from recourse_audit.errors import SettingsError
from tests.recourse.worlds import policy_of, reasons, star


def rules(direction: str, by: float, own: str, **more: Any) -> list[dict[str, Any]]:
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
        policy_of(star(), attributes=rules(direction, by, own))
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
    assert len(policy_of(star(), attributes=rules(direction, by, own)).movements) == 2


def test_levels_that_would_leave_the_other_rules_range_are_not_permitted() -> None:
    policy = policy_of(star(), attributes=rules("up", 1, "up", max=4))
    [savings, _] = policy.movements
    assert savings.levels(policy.graph, 0).after == ((2000, 4),)


def test_a_level_that_something_implied_forbids_says_so() -> None:
    policy = policy_of(star(), attributes=rules("up", 1, "up", max=4))
    assert reasons(policy, 0, "savings=2000") == []
    assert reasons(policy, 0, "savings=3000") == [
        "savings=3000: would take 'loan' to 5, outside 3 to 4"
    ]
