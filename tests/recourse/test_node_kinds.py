"""What a tie leads to counts as much as what it is called: a membership in a church is denied."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from recourse_audit.errors import SettingsError
from recourse_audit.graph.arrays import Graph
from recourse_audit.graph.npz import from_arrays
from recourse_audit.recourse.actions import action_table
from tests.recourse.worlds import policy_of, reasons

RULES = [{"kind": "*", "allow": ["drop", "add"], "whose": "own", "to": "anyone"}]
KINDS = ["person", "person", "Église", "club", "church"]


def village(kinds: Sequence[object] = KINDS, column: str = "kind") -> Graph:
    """Ann is a member of a church and of a club; Bob is a member of nothing, and knows Ann."""
    return from_arrays(
        np.arange(5.0)[:, None],
        np.array([[0, 0, 0], [1, 2, 3]]),
        ids=["ann", "bob", "st-marys", "chess", "st-johns"],
        attributes={column: np.array(kinds)},
        kind=np.array(["knows", "member_of", "member_of"]),
        feature_names=["income"],
    )


def changes(graph: Graph, subject: int = 0, **recourse: Any) -> tuple[set[str], set[str], int]:
    """To whom ties may be dropped and added, and how many only the deny list forbids."""
    table = action_table(policy_of(graph, groups=(), **recourse), subject, 2)
    names = [
        {str(graph.ids[node]) for node in [*part.source, *part.target]} - {graph.ids[subject]}
        for part in (table.drops, table.adds)
    ]
    return names[0], names[1], table.denied


@pytest.mark.parametrize("column", ["kind", "type", "Node Type", "node_kind"])
def test_a_tie_to_a_church_is_never_suggested(column: str) -> None:
    dropped, added, denied = changes(village(column=column), ties=RULES)
    assert dropped == {"bob", "chess"}
    assert denied == 1
    assert added == {"bob", "chess"}  # by the kind that is not there yet; neither church


def test_other_columns_must_be_named() -> None:
    world = village(column="sort")
    assert changes(world, ties=RULES)[0] == {"bob", "st-marys", "chess"}
    assert changes(world, ties=RULES, node_kind="sort")[0] == {"bob", "chess"}
    with pytest.raises(SettingsError, match=r"recourse\.node_kind: the nodes have no col"):
        changes(world, node_kind="srot")


def test_kinds_of_nodes_can_be_added_to_those_never_suggested() -> None:
    assert changes(village(), never=["club"])[0] == {"bob"}
    with pytest.raises(SettingsError, match=r"recourse\.never\[0\]: there is no kind of tie"):
        changes(village(), never=["clbu"])


def test_numbers_say_nothing_about_kinds() -> None:
    assert changes(village([0, 0, 1, 2, 1]))[0] == {"bob", "st-marys", "chess"}


def test_the_subjects_own_kind_does_not_matter() -> None:
    dropped, _, _ = changes(village(["doctor", "person", "church", "club", "church"]))
    assert dropped == {"bob", "chess"}


def test_a_change_typed_by_hand_is_told_so() -> None:
    policy = policy_of(village(), groups=(), ties=RULES)
    assert reasons(policy, 0, "drop ann-st-marys") == [
        "drop ann-st-marys:member_of: ties to nodes like st-marys are never suggested"
    ]
    assert reasons(policy, 0, "drop ann-chess") == []
    [reason] = reasons(policy, 0, "add ann-st-johns:knows")
    assert "never suggested" in reason
