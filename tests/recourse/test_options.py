"""Options and certificates agree with a brute force over every combination."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recourse_audit.audit.load import load_audit
from recourse_audit.audit.report import explain
from recourse_audit.graph.graph import Graph
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.edited_graph import EditedGraph, Way
from recourse_audit.model.edits import Edits
from recourse_audit.model.queries import whole
from recourse_audit.records.model import ProbeReport
from recourse_audit.records.recourse import SetAction, TieAction
from recourse_audit.recourse import search as search_module
from recourse_audit.recourse import trials
from recourse_audit.recourse.actions import action_table
from recourse_audit.recourse.policy import Policy
from recourse_audit.recourse.search import RecourseSearch
from recourse_audit.recourse.trials import Verifier, diverse
from tests.audits import IDS, TIES, lending_audit, small_audit
from tests.command import command
from tests.decisions import decisions_over
from tests.onnx_models import sum_network
from tests.recourse.worlds import policy_of, sound, sound_for, town
from tests.search.engine import open_batcher

CLASSES = ("no", "maybe", "yes")
MIXED: dict[str, Any] = {
    "ties": [
        {"kind": "payment", "allow": ["drop"], "cost": 2},
        {"kind": "guarantor", "allow": ["drop", "add"], "cost": 0.5},
        {"kind": "*", "allow": ["drop"]},
    ],
    "attributes": [
        {"name": "savings", "step": 0.9, "cost": 0.7},
        {
            "name": "late",
            "step": 1.1,
            "direction": "down",
            "implies": [{"name": "debt", "by": 0.3}],
        },
    ],
}


def search_over(
    graph: Graph, batcher: QueryBatcher, policy: Policy, probes: ProbeReport | None = None
) -> RecourseSearch:
    answers = batcher.ask(whole(graph), np.arange(graph.node_count))
    decisions = decisions_over(answers, [hoped_for(batcher, graph)], CLASSES, graph=graph)
    edited = EditedGraph(graph, batcher, probes or sound_for(batcher), decisions)
    return RecourseSearch(edited, policy, 0)


def hoped_for(batcher: QueryBatcher, graph: Graph) -> str:
    """The class that comes second, so that many are refused and some are close."""
    answers = batcher.ask(whole(graph), np.arange(graph.node_count))
    means = answers.mean(axis=0)
    means[np.bincount(answers.argmax(axis=1), minlength=len(CLASSES)).argmax()] = -np.inf
    return CLASSES[int(means.argmax())]


def test_with_more_single_changes_than_budget_ones_own_come_first_and_larger_ones_get_a_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = town(3, people=40, ties=120)
    network = sum_network(tmp_path / "m.onnx", scale=0.01, linear=True)
    batcher = open_batcher(network, graph, output="logits")
    anybody: dict[str, Any] = {"ties": [{"kind": "*", "whose": "any", "allow": ["drop"]}]}
    policy = policy_of(graph, budget=40, **anybody)
    answers, tried = Verifier.answers, []

    def noted(self: Verifier, rows: Any) -> Any:
        tried.extend(rows.tolist())
        return answers(self, rows)

    monkeypatch.setattr(Verifier, "answers", noted)
    search = search_over(graph, batcher, policy)
    for subject in range(graph.node_count):
        table = action_table(policy, subject, 2)
        tried.clear()
        if search.run(subject, None).status != "not_found_within_budget" or len(table) <= 40:
            continue
        own = [table.own[row[0]] for row in tried if len(row) == 1]
        assert own == sorted(own, reverse=True)
        assert sum(own) == table.own.sum()
        assert {len(row) for row in tried} == {1, 2, 3}
        return
    pytest.fail("nobody has more changes than the budget")


def test_greedy_search_alone_never_says_infeasible(tmp_path: Path) -> None:
    graph = town(3, people=12, ties=30)
    batcher = open_batcher(
        sum_network(tmp_path / "m.onnx", scale=0.01, linear=True), graph, output="logits"
    )
    policy = policy_of(graph, budget=30, **MIXED)
    search = search_over(graph, batcher, policy)
    found = [search.run(subject, None) for subject in range(graph.node_count)]
    gave_up = [one for one in found if one.status == "not_found_within_budget"]
    assert gave_up
    for one in gave_up:
        assert not one.certificate.exhaustive
        assert one.certificate.tried < one.certificate.possible
        assert one.certificate.complete_up_to < 3


def test_a_search_that_ends_with_enough_options_says_so_and_one_without_budget_does_not(
    tmp_path: Path,
) -> None:
    graph = town(3, people=12, ties=30)
    batcher = open_batcher(sum_network(tmp_path / "m.onnx", scale=0.4), graph, output="logits")
    reasons = set()
    for budget, most in ((None, 1), (12, 1), (None, 3)):
        policy = policy_of(graph, options=most, budget=budget, **MIXED)
        search = search_over(graph, batcher, policy)
        for subject in range(graph.node_count):
            found = search.run(subject, None)
            certificate = found.certificate
            if found.status == "verified" and not certificate.exhaustive:
                reasons.add((budget, certificate.reason))
                assert certificate.complete_up_to or certificate.reason is None
            else:
                assert certificate.reason != "enough_options"
    assert (None, "enough_options") in reasons
    assert (None, None) not in reasons
    assert (12, None) in reasons


def test_of_options_of_equal_cost_those_of_fewer_changes_come_first(tmp_path: Path) -> None:
    graph = town(8, people=12, ties=30)
    batcher = open_batcher(sum_network(tmp_path / "m.onnx", scale=0.4), graph, output="logits")
    policy = policy_of(
        graph,
        options=9,
        ties=[{"kind": "payment", "allow": ["drop"], "cost": 2}, {"kind": "*", "allow": ["drop"]}],
        attributes=[{"name": "savings", "step": 0.9, "cost": 1}],
    )
    search = search_over(graph, batcher, policy)
    orders = [
        [(option.cost, len(option.actions)) for option in search.run(subject, None).options]
        for subject in range(graph.node_count)
    ]
    assert all(order == sorted(order) for order in orders)
    assert any(len({cost for cost, _ in order}) < len(set(order)) for order in orders)


def test_a_policy_that_permits_nothing_is_a_proof_with_its_reason(tmp_path: Path) -> None:
    graph = town(3)
    batcher = open_batcher(sum_network(tmp_path / "m.onnx"), graph, output="logits")
    policy = policy_of(graph, ties=[{"kind": "*", "allow": []}])
    search = search_over(graph, batcher, policy)
    found = [search.run(subject, None) for subject in range(graph.node_count)]
    refused = [one for one in found if one.status != "already_favourable"]
    assert refused
    for one in refused:
        assert one.status == "certified_infeasible"
        assert one.certificate.reason == "nothing_permitted"
        assert one.certificate.exhaustive
        assert (one.certificate.tried, one.certificate.possible) == (0, 0)


def test_ties_that_are_never_suggested_are_counted_in_the_reason(tmp_path: Path) -> None:
    graph = town(3, kinds=("family",))
    batcher = open_batcher(sum_network(tmp_path / "m.onnx"), graph, output="logits")
    search = search_over(graph, batcher, policy_of(graph))
    found = [search.run(subject, None).certificate for subject in range(graph.node_count)]
    assert {one.reason for one in found if one.denied} == {"nothing_permitted"}


def test_what_goes_into_a_question_before_its_turn_changes_nothing_but_their_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = town(3, people=12, ties=30)
    batcher = open_batcher(sum_network(tmp_path / "m.onnx", scale=0.4), graph, output="logits")
    policy = policy_of(graph, **MIXED)
    found, runs = [], []
    for ahead in (512, 0):
        monkeypatch.setattr(trials, "SIZES_AHEAD", ahead)
        monkeypatch.setattr(trials, "AHEAD", ahead)
        monkeypatch.setattr(trials, "AT_ONCE", 8)
        before = batcher.runs
        search = search_over(graph, batcher, policy)
        found.append([search.run(subject, None) for subject in range(12)])
        runs.append(batcher.runs - before)
    assert found[0] == found[1]
    assert runs[0] < runs[1]


def too_kind(hoped: str) -> Any:
    """Answers that promise the favourable decision after any change of ties, but on the whole."""
    honest = EditedGraph.answers

    def answers(self: EditedGraph, edits: Edits, way: Way) -> Any:
        found, fits = honest(self, edits, way)
        if way != "whole":
            changed = np.isin(edits.asked[0], np.append(edits.dropped[0], edits.added[0]))
            found[changed] = np.where(np.array(CLASSES) == hoped, 0.0, -5.0)
        return found, fits

    return answers


def test_a_whole_graph_that_contradicts_an_option_is_searched_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = town(1, people=12, ties=14)
    batcher = open_batcher(
        sum_network(tmp_path / "m.onnx", seed=1, scale=0.4), graph, output="logits"
    )
    policy = policy_of(graph, **MIXED)
    search = search_over(graph, batcher, policy)
    subject = next(s for s in range(12) if search.run(s, None).status == "verified")
    monkeypatch.setattr(EditedGraph, "answers", too_kind(hoped_for(batcher, graph)))
    expected = search_over(graph, batcher, policy, sound(None)).run(subject, None)
    found = search.run(subject, None)
    assert found.evaluated_on == "whole graph"
    assert found.compared.answers > 0
    assert found.compared.largest > 0.1
    assert [option.actions for option in found.options] == [o.actions for o in expected.options]


def test_an_option_says_on_what_it_was_last_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = town(1, people=12, ties=14)
    path = sum_network(tmp_path / "m.onnx", seed=1, scale=0.4)
    batcher = open_batcher(path, graph, output="logits")
    policy = policy_of(graph, **MIXED)
    whole_graphs: list[int] = []
    real = EditedGraph.answers

    def seen(self: EditedGraph, edits: Edits, way: Way) -> Any:
        if way == "whole":
            whole_graphs.append(edits.count)
        return real(self, edits, way)

    monkeypatch.setattr(EditedGraph, "answers", seen)
    arcs = len(graph.arc_source)
    for limit, where in ((arcs, "whole graph"), (arcs - 1, "neighbourhood")):
        monkeypatch.setattr(search_module, "CONFIRMED_ARCS", limit)
        monkeypatch.setattr(trials, "MOST_ARCS_AGAIN", limit)
        monkeypatch.setattr(trials, "MOST_ARCS_COMPARED", limit)
        whole_graphs.clear()
        search = search_over(graph, batcher, policy)
        found = [search.run(subject, None) for subject in range(12)]
        offered = [option for one in found for option in one.options]
        assert offered
        assert {option.verified_on for option in offered} == {where}
        assert {one.evaluated_on for one in found if one.options} == {"neighbourhood"}
        assert sum(whole_graphs) >= len(offered) if where == "whole graph" else not whole_graphs


def test_an_option_searched_for_on_the_whole_graph_is_verified_on_it_whatever_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = town(1, people=12, ties=14)
    path = sum_network(tmp_path / "m.onnx", seed=1, scale=0.4)
    batcher = open_batcher(path, graph, output="logits")
    monkeypatch.setattr(search_module, "CONFIRMED_ARCS", 1)
    search = search_over(graph, batcher, policy_of(graph, **MIXED), sound(None))
    found = [search.run(subject, None) for subject in range(12)]
    assert {option.verified_on for one in found for option in one.options} == {"whole graph"}


def test_counterfactuals_are_tried_first(tmp_path: Path) -> None:
    """What ends together with what a counterfactual removes is ended as well."""
    for report in explain(load_audit(lending_audit(tmp_path)), ["P0008", "P0208"]):
        assert report.recourse is not None
        removed = {frozenset(found.removed) for found in report.counterfactuals}
        removed |= {frozenset(pair.removed) for pair in report.front}
        options = [o for o in report.recourse.options if o.source == "counterfactual"]
        assert options
        for option in options:
            ended = {tie for a in option.actions if not isinstance(a, SetAction) for tie in a.ties}
            assert any(ties <= ended for ties in removed)
            if all(isinstance(action, TieAction) for action in option.actions):
                assert ended in removed


def test_diverse_options_touch_different_things_cheapest_first() -> None:
    touched = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 1, 1], [0, 0, 0, 1]], bool)
    cost = np.array([1.0, 2, 3, 3])
    assert diverse(touched, cost, 2) == [0, 2]
    assert diverse(touched, cost, 3) == [0, 2, 1]
    assert diverse(touched, np.array([1.0, 2, 4, 3]), 2) == [0, 3]
    assert diverse(touched[:1], cost[:1], 3) == [0]
    assert diverse(touched[:0], cost[:0], 3) == []


def test_an_export_of_fixed_size_offers_what_its_neighbourhoods_confirm(tmp_path: Path) -> None:
    [report] = explain(load_audit(lending_audit(tmp_path, "fixed", max_nodes=2)), ["P0008"])
    assert report.recourse is not None
    assert report.recourse.status == "verified"
    assert report.recourse.evaluated_on == "neighbourhood"
    # The whole graph fits exactly, so it can be asked with as many ties as it has and no others.
    for option in report.recourse.options:
        same_ties = all(isinstance(action, SetAction) for action in option.actions)
        assert option.verified_on == ("whole graph" if same_ties else "neighbourhood")


ADDS = """
[recourse]
max_changes = 2
draws = 3
[[recourse.ties]]
kind = "payment"
allow = ["drop", "add"]
"""


def test_what_an_export_of_fixed_size_has_no_room_for_is_left_out_and_counted(
    tmp_path: Path,
) -> None:
    path = small_audit(tmp_path, old="[search]", new=f"{ADDS}\n[search]")
    text = path.read_text("utf-8").replace('favourable = ["yes"]', 'favourable = ["no"]')
    path.write_text(text, encoding="utf-8")
    subjects = [name for name in IDS if name != "lonely"]
    free = explain(load_audit(path), subjects)
    sum_network(tmp_path / "model.onnx", nodes=len(IDS), arcs=2 * len(TIES))
    fixed = explain(load_audit(path), subjects)
    left_out = 0
    for one, other in zip(free, fixed, strict=True):
        assert one.recourse is not None
        assert other.recourse is not None
        found = other.recourse
        assert found.status != "error", found.error
        if found.status == "already_favourable" or not found.certificate.reason:
            continue
        left_out += 1
        assert found.certificate.reason == "no_room"
        assert found.certificate.unasked
        assert not found.certificate.exhaustive
        assert found.status != "certified_infeasible"
        assert found.certificate.possible == one.recourse.certificate.possible
        assert found.certificate.tried < found.certificate.possible
    assert left_out, "somebody's neighbourhood fills the model"
    shown = command("explain", path, *subjects, "--full")
    assert shown.code == 0
    assert "could not be asked" in " ".join(shown.out.split())
    assert "The model was exported for exactly 20 arcs and 10 nodes" in command("inspect", path).err
