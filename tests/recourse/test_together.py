"""Ties that end together: one change at one cost, and nobody is advised to end a part of them."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from recourse_audit.audit.load import open_audit
from recourse_audit.audit.report import explain
from recourse_audit.graph.arrays import from_arrays
from recourse_audit.graph.graph import Graph
from recourse_audit.records.recourse import Action, SetAction, TieAction, TogetherAction
from recourse_audit.recourse.actions import action_table, action_text
from recourse_audit.recourse.common_changes import list_changes
from recourse_audit.settings import Settings, load_settings
from tests.recourse.worlds import NAMES, change_words, policy_of, reasons

LENDING = Path(__file__).resolve().parent.parent.parent / "sample_models" / "lending"
TOGETHER = ("employer", "address")
ADDRESS: dict[str, Any] = {"kind": "address", "allow": ["drop"], "together": True, "cost": 3.0}
PAYMENT: dict[str, Any] = {"kind": "payment", "allow": ["drop"]}


def house(*, directed: bool = False, kinds: Sequence[str] = ()) -> Graph:
    """Person a shares an address with b, c and d, and pays c and e; b and c share it as well."""
    ends = [(0, 1), (2, 0), (0, 3), (0, 2), (4, 0), (1, 2)]
    return from_arrays(
        np.ones((6, len(NAMES))),
        np.array(ends).T,
        ids=list("abcdef"),
        attributes={"gender": list("fmfmfm"), "node_kind": kinds or ["person"] * 6},
        kind=np.array(["address"] * 3 + ["payment"] * 2 + ["address"]),
        feature_names=NAMES,
        directed=directed,
    )


def actions(graph: Graph, *rules: dict[str, Any], subject: int = 0, **more: Any) -> list[Action]:
    table = action_table(policy_of(graph, ties=list(rules), **more), subject, 2)
    return list(table.records(np.arange(len(table))))


def test_all_ties_of_the_kind_are_one_change_at_one_cost() -> None:
    moving, *payments = actions(house(), ADDRESS, PAYMENT)
    assert moving == TogetherAction(
        kind="address", ties=(("a", "b"), ("a", "c"), ("a", "d")), cost=3.0
    )
    assert payments == [
        TieAction(do="drop", tie=("a", "c"), kind="payment", cost=1.0),
        TieAction(do="drop", tie=("a", "e"), kind="payment", cost=1.0),
    ]
    assert action_text(moving) == "drop address"


def test_the_certificate_counts_changes_and_the_list_of_ties_counts_ties() -> None:
    table = action_table(policy_of(house(), ties=[ADDRESS, PAYMENT]), 0, 2)
    assert table.permits.drop == 3
    assert [tie.kind for tie in table.droppable] == ["address"] * 3 + ["payment"] * 2


def test_somebody_with_one_tie_ends_all_of_them_with_it() -> None:
    assert actions(house(), ADDRESS, subject=3) == [
        TogetherAction(kind="address", ties=(("a", "d"),), cost=3.0)
    ]


def test_a_rule_for_outgoing_ties_leaves_those_that_lead_to_the_person() -> None:
    graph = house(directed=True)
    outgoing = {**ADDRESS, "whose": "outgoing"}
    assert actions(graph, outgoing) == [
        TogetherAction(kind="address", ties=(("a", "b"), ("a", "d")), cost=3.0)
    ]
    [own] = actions(graph, ADDRESS)
    assert isinstance(own, TogetherAction)
    assert set(own.ties) == {("a", "b"), ("c", "a"), ("a", "d")}


def test_a_rule_for_any_kind_ends_each_kind_by_itself() -> None:
    ended = actions(house(), {**ADDRESS, "kind": "*"})
    assert [action_text(action) for action in ended] == ["drop address", "drop payment"]


def test_where_one_of_the_ties_is_never_suggested_none_of_them_is() -> None:
    graph = house(kinds=["person", "person", "person", "church", "person", "person"])
    policy = policy_of(graph, ties=[ADDRESS, PAYMENT])
    table = action_table(policy, 0, 2)
    assert [action_text(action) for action in table.records(np.arange(len(table)))] == [
        "drop a-c:payment",
        "drop a-e:payment",
    ]
    assert table.denied == 3
    assert reasons(policy, 0, "drop address") == [
        "drop address: ties to nodes like d are never suggested"
    ]


def test_a_part_of_them_is_tried_by_hand_and_not_suggested() -> None:
    policy = policy_of(house(), ties=[ADDRESS, PAYMENT])
    only = "a person's ties of the kind 'address' end only together, as one change"
    assert reasons(policy, 0, "drop a-b:address") == [f"drop a-b:address: {only}"]
    assert reasons(policy, 0, "drop a-b:address", "drop a-d") == [
        f"drop a-b:address: {only}",
        f"drop a-d:address: {only}",
    ]
    assert reasons(policy, 0, "drop address") == []
    assert reasons(policy, 0, "drop a-b", "drop a-c:address", "drop d-a") == []
    assert reasons(policy, 0, "drop payment") == []


def test_the_common_change_is_to_end_all_of_them() -> None:
    policy = policy_of(house(), ties=[ADDRESS, PAYMENT])
    listed = list_changes(policy, 10)
    assert [change_words(change.action) for change in listed] == [
        "drop all address ties together",
        "drop one payment tie",
        "drop two payment ties",
    ]
    table = action_table(policy, 0, 2)
    assert [change.rows(table).tolist() for change in listed] == [[0], [1, 2], [1, 2]]


class Sample:
    """The lending sample as its files are, and the model's file asked about all of it."""

    def __init__(self, settings: Settings) -> None:
        with (LENDING / "nodes.csv").open(encoding="utf-8", newline="") as file:
            self.people = {row["id"]: row for row in csv.DictReader(file)}
        with (LENDING / "edges.csv").open(encoding="utf-8", newline="") as file:
            self.ties = [
                (frozenset((row["source"], row["target"])), row["kind"])
                for row in csv.DictReader(file)
            ]
        self._features = settings.graph.features
        self._session = onnxruntime.InferenceSession(LENDING / "gcn.onnx")

    def of_kind(self, person: str, kind: str) -> set[frozenset[str]]:
        return {ends for ends, of in self.ties if person in ends and of == kind}

    def approved(self, person: str = "", actions: Sequence[Action] = ()) -> set[str]:
        """Who is approved if a person does literally what an option says."""
        ties, own = list(self.ties), {}
        for action in actions:
            if isinstance(action, SetAction):
                own[action.attribute] = action.after
            elif isinstance(action, TogetherAction):
                ties = [tie for tie in ties if not (person in tie[0] and tie[1] == action.kind)]
            else:
                ties.remove((frozenset(action.tie), action.kind))
        number = {name: place for place, name in enumerate(self.people)}
        rows = [
            [(row | own if name == person else row)[column] for column in self._features]
            for name, row in self.people.items()
        ]
        arcs = [tuple(number[end] for end in ends) for ends, _ in ties]
        feeds = {
            "x": np.array(rows, np.float32),
            "edge_index": np.array([*arcs, *(arc[::-1] for arc in arcs)], np.int64).T,
        }
        [logits] = self._session.run(None, feeds)
        return {name for name, row in zip(number, logits, strict=True) if row.argmax() == 1}


def test_what_the_sample_advises_works_if_people_do_it_literally() -> None:
    """Moving ends all address ties; once, options ended one of three, and moving did not help."""
    audit = open_audit(load_settings(LENDING / "audit.toml"))
    sample = Sample(audit.settings)
    approved = sample.approved()
    refused = [person for person in sample.people if person not in approved]
    ended = 0
    for report in explain(audit, [*refused[::20], "P0358"]):
        assert report.recourse is not None
        person = report.subject.id
        for option in report.recourse.options:
            for action in option.actions:
                assert not (isinstance(action, TieAction) and action.kind in TOGETHER)
                if isinstance(action, TogetherAction):
                    assert action.kind in TOGETHER
                    assert set(map(frozenset, action.ties)) == sample.of_kind(person, action.kind)
                    assert action.cost == pytest.approx(3.0)
                    ended += len(action.ties) > 1
            assert person in sample.approved(person, option.actions), option
    assert ended
