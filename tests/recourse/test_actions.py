"""What a policy permits a subject is listed completely, once, in a fixed order."""

from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recourse_audit.graph.arrays import from_arrays
from recourse_audit.graph.graph import Graph
from recourse_audit.records.recourse import SetAction
from recourse_audit.recourse.actions import ActionTable, action_table, action_text
from tests.recourse import brute_force
from tests.recourse.worlds import policy_of, reasons, star, town


def names(table: ActionTable) -> list[str]:
    return [action_text(action) for action in table.records(np.arange(len(table)))]


def listed(graph: Graph, subject: str, folder: Path = Path(), **recourse: Any) -> list[str]:
    policy = policy_of(graph, folder, **recourse)
    return names(action_table(policy, graph.find(subject), 2))


def rule(kind: str, *allow: str, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "allow": [*allow], **more}


def test_without_rules_own_ties_but_family_may_be_dropped() -> None:
    policy = policy_of(star())
    table = action_table(policy, 0, 2)
    assert names(table) == ["drop a-b:address", "drop a-d:guarantor", "drop a-e:payment"]
    assert table.denied == 1
    assert table.cost.tolist() == [1, 1, 1]


def test_other_peoples_ties_need_a_rule_of_their_own() -> None:
    assert listed(star(), "a", ties=[rule("*", "drop", whose="others")]) == [
        "drop b-c:payment",
        "drop d-f:address",
    ]
    assert listed(star(), "a", ties=[rule("payment", "drop", whose="any")]) == [
        "drop a-e:payment",
        "drop b-c:payment",
    ]
    assert listed(star(), "f", ties=[rule("guarantor", "drop", whose="others")]) == [
        "drop a-d:guarantor"
    ]
    assert listed(star(), "f", ties=[rule("address", "drop", whose="others")]) == []


def test_new_ties_lead_to_people_two_ties_away_or_to_anyone() -> None:
    near = [rule("guarantor", "add"), rule("payment", "add", to="anyone")]
    assert listed(star(), "a", ties=near) == [
        "add a-f:guarantor",
        "add a-b:payment",
        "add a-c:payment",
        "add a-d:payment",
        "add a-f:payment",
    ]


def test_candidates_replace_the_neighbourhood(tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("source,target,kind\nf,a,payment\na,e,payment\nb,c,address\n")
    ties = [rule("*", "add")]
    assert listed(star(), "a", tmp_path, ties=ties, candidates="new.csv") == ["add a-f:payment"]
    (tmp_path / "any.csv").write_text("source,target\na,f\n")
    assert listed(star(), "a", tmp_path, ties=ties, candidates="any.csv") == [
        "add a-f:address",
        "add a-f:guarantor",
        "add a-f:payment",
    ]


def test_directed_ties_are_told_apart_by_where_they_lead(tmp_path: Path) -> None:
    graph = from_arrays(
        np.zeros((4, 1)),
        np.array([[0, 1, 0, 2], [1, 0, 2, 3]]),
        ids=list("abcd"),
        directed=True,
        kind=["pay"] * 4,
    )
    own, out = rule("pay", "drop"), rule("pay", "drop", whose="outgoing")
    assert listed(graph, "a", groups=(), ties=[own]) == [
        "drop a-b:pay",
        "drop b-a:pay",
        "drop a-c:pay",
    ]
    assert listed(graph, "a", groups=(), ties=[out]) == ["drop a-b:pay", "drop a-c:pay"]
    assert listed(graph, "a", groups=(), ties=[rule("pay", "add")]) == [
        "add a-d:pay",
        "add d-a:pay",
    ]
    assert listed(graph, "a", groups=(), ties=[rule("pay", "add", whose="outgoing")]) == [
        "add a-d:pay"
    ]
    (tmp_path / "new.csv").write_text("source,target\nc,a\nd,a\n")
    found = listed(graph, "a", tmp_path, groups=(), ties=[rule("pay", "add")], candidates="new.csv")
    assert found == ["add c-a:pay", "add d-a:pay"]


def test_parallel_ties_are_several_actions_and_self_loops_are_none() -> None:
    graph = from_arrays(
        np.zeros((2, 1)), np.array([[0, 0, 1, 0], [1, 1, 0, 0]]), ids=["x", "y"], kind=list("aaba")
    )
    assert listed(graph, "x", groups=()) == ["drop x-y:a", "drop x-y:a", "drop x-y:b"]


def test_levels_of_linked_attributes_exclude_each_other_and_ties_do_not() -> None:
    policy = policy_of(
        star(),
        attributes=[
            {"name": "savings", "step": 4000, "implies": [{"name": "debt", "by": 0.1}]},
            {"name": "late", "step": 1, "direction": "down", "integer": True},
            {"name": "debt", "step": 0.2},
        ],
    )
    table = action_table(policy, 0, 2)
    sets = names(table)[3:]
    assert sets == ["late=1", "late=0", "savings=5000", "savings=9000", "debt=0.7", "debt=0.9"]
    groups = dict(zip(sets, table.group[3:].tolist(), strict=True))
    assert groups["debt=0.7"] == groups["savings=9000"] != groups["late=1"]
    assert (np.diff(table.group) >= 0).all()
    assert table.permits.set == {"savings": 2, "late": 2, "debt": 2}
    assert table.permits.drop == 3
    [action] = table.records(np.array([names(table).index("savings=9000")]))
    assert isinstance(action, SetAction)
    assert (action.before, action.after, action.cost) == (1000, 9000, 2)
    [implied] = action.implied
    assert (implied.attribute, implied.before, implied.after) == ("debt", 0.5, 0.7)


ANYTHING: dict[str, Any] = {
    "ties": [
        rule("payment", "drop", cost=2),
        rule("*", "drop", "add", whose="own"),
        rule("*", "drop", whose="others", cost=3),
    ],
    "attributes": [
        {"name": "income", "step": 0.5, "implies": [{"name": "debt", "by": -0.2}]},
        {"name": "savings", "step": 300, "scale": 1000, "shift": 50},
        {"name": "late", "step": 1, "integer": True, "cost": 0.3},
    ],
}


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_table_is_what_reading_the_rules_one_by_one_permits(seed: int, directed: bool) -> None:
    graph = town(seed, directed=directed)
    policy = policy_of(graph, **ANYTHING)
    slow = brute_force.Policy(world_of(graph), {"recourse": ANYTHING}, 2)
    for subject in range(graph.node_count):
        table = action_table(policy, subject, 2)
        texts = names(table)
        assert sorted(texts) == sorted(text_of(graph, move) for move in slow.moves(subject))
        droppable = [f"drop {'-'.join(one.tie)}:{one.kind}" for one in table.droppable]
        assert droppable == [text for text in texts if text.startswith("drop")]
        assert reasons(policy, subject, *texts[:1], *texts[-1:]) == []


@pytest.mark.parametrize("directed", [False, True])
def test_a_typed_change_has_reasons_against_it_exactly_if_the_rules_do_not_permit_it(
    directed: bool,
) -> None:
    graph = town(5, directed=directed)
    rules: dict[str, Any] = {**ANYTHING, "never": ["address"]}
    policy = policy_of(graph, **rules)
    slow = brute_force.Policy(world_of(graph), {"recourse": rules}, 2)
    judged: Counter[bool] = Counter()
    for subject in range(0, graph.node_count, 3):
        permitted = {text_of(graph, move) for move in slow.moves(subject)}
        for text in typed_changes(graph, slow, subject):
            expected = text in permitted
            assert (reasons(policy, subject, text) == []) == expected, text
            judged[expected] += 1
    assert min(judged.values()) > 50


def typed_changes(graph: Graph, slow: brute_force.Policy, subject: int) -> Iterator[str]:
    """Every tie dropped, every own tie added, and attributes at and between their levels."""
    rows = {(row.source, row.target, row.kind) for row in slow.world.rows}
    for source, target, kind in rows:
        if source != target:
            yield text_of(
                graph, brute_force.Move(do="drop", cost=1, ties=((source, target),), kind=kind)
            )
    for other, kind in product(range(graph.node_count), graph.ties.kinds):
        for ends in [(subject, other), (other, subject)] if other != subject else []:
            yield text_of(graph, brute_force.Move(do="add", cost=1, ties=(ends,), kind=kind))
    for name, step in (("income", 0.5), ("savings", 300), ("late", 1), ("debt", 0.1)):
        before = slow.current(name, subject)
        for steps in (-9, -2, -1, 0, 0.5, 1, 3, 20):
            yield f"{name}={before + steps * step:.12g}"


def world_of(graph: Graph) -> brute_force.World:
    """A graph as the tables that a user would have."""
    ties = graph.ties
    return brute_force.World(
        ids=tuple(graph.ids.tolist()),
        columns={
            name: tuple(graph.features[:, place].tolist())
            for place, name in enumerate(graph.feature_names)
        },
        rows=tuple(
            brute_force.TieRow(source=a, target=b, kind=ties.kinds[kind])
            for a, b, kind in zip(
                ties.source.tolist(), ties.target.tolist(), ties.kind.tolist(), strict=True
            )
        ),
        kinds=ties.kinds,
        directed=graph.directed,
    )


def text_of(graph: Graph, move: brute_force.Move) -> str:
    if not move.ties:
        assert move.attribute is not None
        return f"{move.attribute}={move.values[move.attribute]:.12g}"
    [tie] = move.ties
    ends = tie if graph.directed else sorted(tie)
    return f"{move.do} {graph.ids[ends[0]]}-{graph.ids[ends[1]]}:{move.kind}"


def test_what_excludes_each_other_is_not_suggested_together() -> None:
    policy = policy_of(star(), max_changes=2)
    linked = [{"name": "savings", "step": 1000, "implies": [{"name": "debt", "by": 0.1}]}]
    both = policy_of(star(), attributes=[*linked, {"name": "debt", "step": 0.1}])
    assert reasons(both, 0, "savings=2000", "debt=0.7")[-1] == (
        "attributes that move along with each other are not suggested together"
    )
    three = reasons(policy, 0, "drop a-b", "drop a-d", "drop a-e")
    assert three == ["these are 3 changes; at most 2 are suggested together"]


def test_a_new_tie_that_is_not_permitted_says_why(tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("source,target,kind\nf,a,payment\n")
    near = policy_of(star(), ties=[rule("payment", "add")])
    assert reasons(near, 0, "add a-f:payment") == []
    assert reasons(near, 0, "add a-d:payment") == ["add a-d:payment: d is not two ties away"]
    listed_only = policy_of(star(), tmp_path, ties=[rule("payment", "add")], candidates="new.csv")
    assert reasons(listed_only, 0, "add a-f:payment") == []
    assert reasons(listed_only, 0, "add a-c:payment") == [
        "add a-c:payment: is not among the candidates"
    ]
    others = policy_of(star(), ties=[rule("*", "drop", whose="others")])
    assert reasons(others, 0, "drop d-f:address") == []
    assert reasons(others, 2, "drop d-f:address") == [
        "drop d-f:address: is farther away than the 2 ties that the model can see"
    ]
