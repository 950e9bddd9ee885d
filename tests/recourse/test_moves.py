"""Moving a tie is one change; rules go by relation and by the kind of far end."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recourse_audit.errors import AuditError, SettingsError
from recourse_audit.graph.arrays import from_arrays
from recourse_audit.graph.graph import Graph
from recourse_audit.graph.kinds import with_subject
from recourse_audit.records.recourse import MoveAction
from recourse_audit.recourse.actions import (
    MOVE,
    NONE,
    ActionEdits,
    ActionTable,
    action_table,
    action_text,
)
from recourse_audit.recourse.common_changes import list_changes
from recourse_audit.recourse.conditions import every, tie_counts
from recourse_audit.recourse.what_if import read_changes
from recourse_audit.settings import SubjectColumn
from tests.recourse.worlds import change_words, policy_of, reasons, star

WORKS: dict[str, Any] = {"kind": "works_at", "allow": ["move"], "cost": 3.0}
ANY: dict[str, Any] = {"kind": "*", "allow": ["drop", "add", "move"], "to": "anyone"}


def town() -> Graph:
    """Person a works at A and recommends b; b works at A and B; c works at C and recommends a.

    Everybody goes to the church of the town; A supplies B.
    """
    return from_arrays(
        {"person": np.eye(4), "employer": np.ones((4, 2)), "church": np.zeros((1, 0))},
        {
            ("person", "works_at", "employer"): [[0, 1, 1, 2], [0, 0, 1, 2]],
            ("person", "recommends", "person"): [[0, 2], [1, 0]],
            ("person", "attends", "church"): [[0, 1, 2], [0, 0, 0]],
            ("employer", "supplies", "employer"): [[0], [1]],
        },
        ids={"person": list("abcd"), "employer": list("ABCD"), "church": ["X"]},
        subject="person",
    )


def homogenised() -> Graph:
    """The same people and employers in one table."""
    graph = from_arrays(
        np.ones((8, 2)),
        np.array([[0, 1, 1, 2, 0, 2], [4, 4, 5, 6, 1, 0]]),
        ids=list("abcdABCD"),
        kind=["works_at"] * 4 + ["recommends"] * 2,
        attributes={"what": ["person"] * 4 + ["employer"] * 4},
        directed=True,
    )
    return with_subject(graph, SubjectColumn(column="what", value="person"))


def table_of(graph: Graph, subject: str, *rules: dict[str, Any], **more: Any) -> ActionTable:
    policy = policy_of(graph, groups=(), ties=list(rules), **more)
    return action_table(policy, graph.find(subject), 2)


def texts(table: ActionTable) -> list[str]:
    return [action_text(action) for action in table.records(np.arange(len(table)))]


def test_a_move_is_one_action_at_one_cost() -> None:
    table = table_of(town(), "a", WORKS)
    assert texts(table) == [
        "move person:a-employer:A:works_at to employer:B",
        "move person:a-employer:A:works_at to employer:C",
    ]
    assert table.cost.tolist() == [3.0, 3.0]
    assert (table.permits.drop, table.permits.add, table.permits.move) == (0, 0, 2)
    assert table.records(np.array([0])) == (
        MoveAction(
            tie=("person:a", "employer:A"),
            to="employer:B",
            kind="works_at",
            shared_by=1,
            cost=3.0,
        ),
    )
    assert [tie.tie for tie in table.droppable] == [("person:a", "employer:A")]


def test_near_is_two_or_three_ties_away_for_nodes_of_another_kind() -> None:
    # B is three ties away by a colleague, C two by somebody who recommends a, D nowhere near.
    near = texts(table_of(town(), "a", {"kind": "works_at", "allow": ["add"]}))
    assert near == ["add person:a-employer:B:works_at", "add person:a-employer:C:works_at"]
    anyone = texts(table_of(town(), "a", {**WORKS, "to": "anyone"}))
    assert [text[-1] for text in anyone] == ["B", "C", "D"]


def test_moves_and_the_end_of_a_tie_are_one_group_and_no_new_tie_is_made_twice() -> None:
    table = table_of(town(), "b", {**ANY, "kind": "works_at"})
    assert texts(table)[:3] == [
        "drop person:b-employer:A:works_at",
        "move person:b-employer:A:works_at to employer:C",
        "move person:b-employer:A:works_at to employer:D",
    ]
    assert table.group.tolist() == [0, 0, 0, 1, 1, 1, 2, 3]
    assert table.new is not None
    rows = every(table.group, 2, table.new)
    for row in rows.tolist():
        new = [table.new[action] for action in row if table.new[action] != NONE]
        assert len({*new}) == len(new)
    # Two ties and two new ends, by hand: 2 ends, 4 moves and 2 additions; of two, 6 without a move,
    # 4 x 2 with one and 2 with two; of three, 4 without a move and 4 x 1 with one.
    assert tie_counts(table, 3) == [1, 8, 16, 8]
    for size in (1, 2, 3):
        assert tie_counts(table, 4)[size] == len(every(table.group, size, table.new))


def test_an_edit_ends_both_arcs_of_the_old_tie_and_makes_both_of_the_new_one() -> None:
    graph = town()
    table = table_of(graph, "a", WORKS)
    edits = ActionEdits(table, graph.features[0]).of(np.array([[0]]))
    ends = {(int(graph.arc_source[arc]), int(graph.arc_target[arc])) for arc in edits.dropped[1]}
    a, old, new = (graph.find(name) for name in ("a", "employer:A", "employer:B"))
    assert ends == {(a, old), (old, a)}
    forward, back = graph.new_rows(np.array([graph.ties.kinds.index("works_at")]))
    assert edits.added[1:].T.tolist() == [[a, new, forward[0]], [new, a, back[0]]]


def test_rules_by_kind_of_far_end_and_direction_of_the_relation() -> None:
    graph = town()
    to_people = {"to_kind": "person", "allow": ["drop", "add"], "whose": "outgoing"}
    assert texts(table_of(graph, "a", {**to_people, "to": "anyone"})) == [
        "drop person:a-person:b:recommends",
        "add person:a-person:c:recommends",
        "add person:a-person:d:recommends",
    ]
    own = texts(table_of(graph, "a", {"kind": "recommends", "allow": ["drop"]}))
    assert own == ["drop person:a-person:b:recommends", "drop person:c-person:a:recommends"]
    first = {"to_kind": "employer", "allow": []}
    assert texts(table_of(graph, "a", first, {"kind": "*", "allow": ["drop"]})) == own


def test_churches_are_left_alone_whatever_the_relation_is_called() -> None:
    table = table_of(town(), "a", ANY)
    assert not any("church" in text for text in texts(table))
    assert table.denied == 1
    never = table_of(town(), "a", ANY, never=["employer"])
    assert not any("employer" in text for text in texts(never))


def test_a_graph_of_one_table_knows_the_kinds_of_far_ends_by_its_ties() -> None:
    graph = homogenised()
    rule = {"to_kind": "employer", "allow": ["move", "add"], "to": "anyone"}
    assert texts(table_of(graph, "a", rule)) == [
        "move a-A:works_at to B",
        "move a-A:works_at to C",
        "move a-A:works_at to D",
        "add a-B:works_at",
        "add a-C:works_at",
        "add a-D:works_at",
    ]
    anything = texts(table_of(graph, "a", {"kind": "recommends", "allow": ["add"], "to": "anyone"}))
    assert anything == [
        "add a-c:recommends",
        "add a-d:recommends",
        "add b-a:recommends",
        "add d-a:recommends",
    ]


def test_ties_move_among_people_of_one_kind() -> None:
    table = table_of(star(), "a", {"kind": "guarantor", "allow": ["move"]})
    assert texts(table) == ["move a-d:guarantor to f"]
    assert table.records(np.array([0]))[0].shared_by is None  # type: ignore[union-attr]


def test_candidates_are_the_only_new_far_ends(tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text(
        "source,target,kind\nperson:a,employer:D,works_at\nemployer:C,person:a,works_at\n"
        "person:a,person:d,works_at\n"
    )
    policy = policy_of(town(), tmp_path, groups=(), ties=[WORKS], candidates="new.csv")
    moves = texts(action_table(policy, 0, 2))
    assert [text[-1] for text in moves] == ["C", "D"]


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ([{"kind": "supplies", "allow": ["drop"]}], "can never match"),
        ([{"kind": "works_at", "to_kind": "person", "allow": ["drop"]}], "can never match"),
        ([{"to_kind": "employers", "allow": []}], "no kind of node 'employers'; did you mean"),
        (
            [{"to_kind": "employer", "allow": []}, {"kind": "works_at", "allow": ["drop"]}],
            "ties[1]: can never match, because recourse.ties[0]",
        ),
        ([{**WORKS, "whose": "others"}], "cannot add or move a tie between two other people"),
        ([{**WORKS, "allow": ["drop", "move"], "together": True}], "leave out one of the two"),
        ([{"to_kind": "employer", "whose": "any", "allow": []}], "own ties; set whose"),
    ],
)
def test_rules_that_cannot_be_meant_are_refused(rules: list[dict[str, Any]], words: str) -> None:
    with pytest.raises(SettingsError) as raised:
        policy_of(town(), groups=(), ties=rules)
    assert words in str(raised.value)
    assert raised.value.exit_code == 2


def test_attributes_of_other_kinds_are_not_a_persons_to_change() -> None:
    name = next(name for name in town().feature_names if name.startswith("employer."))
    with pytest.raises(SettingsError, match="not a person's to change; leave it out"):
        policy_of(town(), groups=(), attributes=[{"name": name, "step": 1}])
    with pytest.raises(AuditError, match="another kind of node, and not the subject's"):
        read_changes([f"{name}=3"], town())


def test_a_common_change_is_to_move_one_tie() -> None:
    policy = policy_of(town(), groups=(), ties=[WORKS])
    [change] = list_changes(policy, 10)
    assert change_words(change.action) == "move one works_at tie"
    table = action_table(policy, 0, 2)
    assert change.rows(table).tolist() == np.flatnonzero(table.do == MOVE).tolist()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("move a-employer:A:works_at to employer:B", []),
        ("move person:a-employer:A to employer:C", []),
        ("move a-employer:A to employer:D", ["employer:D is not two or three ties away"]),
        ("move a-b to c", ["no rule allows moving own ties of the kind 'recommends'"]),
        ("move c-a to b", ["no rule allows moving incoming ties of the kind 'recommends'"]),
    ],
)
def test_a_move_is_typed_and_judged(text: str, said: list[str]) -> None:
    policy = policy_of(town(), groups=(), ties=[WORKS])
    assert [reason.partition(": ")[2] for reason in reasons(policy, 0, text)] == said


def test_moving_a_tie_twice_or_to_where_another_moves_is_reported() -> None:
    policy = policy_of(town(), groups=(), ties=[{**WORKS, "to": "anyone"}], max_changes=2)
    twice = ("move b-employer:A to employer:C", "move b-employer:B to employer:C")
    assert reasons(policy, 1, *twice) == ["a tie is ended twice, or made twice"]
    text = "move b-employer:A to employer:B"
    assert reasons(policy, 1, text) == [
        "move person:b-employer:A:works_at to employer:B: this tie already exists"
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("move a-employer:A", "write move ID-ID:KIND to ID"),
        ("move a-employer:A to nowhere", "write move ID-ID:KIND to ID"),
        ("move a-employer:B to employer:C", "there is no tie between the two"),
        ("move a-employer:A to employer:A", "leads where the tie is already"),
        ("move a-employer:A to b", "leads from person to employer"),
        ("move b-employer:A to employer:C", "only a tie of the subject can be moved"),
    ],
)
def test_a_move_that_cannot_be_meant_is_refused(text: str, words: str) -> None:
    policy = policy_of(town(), groups=(), ties=[WORKS])
    with pytest.raises(AuditError) as raised:
        reasons(policy, 0, text)
    assert words in str(raised.value)
    assert raised.value.exit_code == 2
