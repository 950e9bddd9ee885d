"""A combination of changes gets the answer that the rebuilt whole graph gets."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recourse_audit.audit.load import load_audit
from recourse_audit.errors import AnswerError
from recourse_audit.graph.graph import Graph, Ints
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.edited_graph import EditedGraph, Way
from recourse_audit.model.edits import Edits
from recourse_audit.recourse import trials
from recourse_audit.recourse.actions import ADD, DROP, MOVE, NONE, SET, ActionTable, action_table
from recourse_audit.recourse.policy import Policy
from recourse_audit.recourse.trials import Verifier
from tests.audits import lending_audit
from tests.onnx_models import sum_network
from tests.recourse.reference import asked, changed
from tests.recourse.worlds import edited_graph, policy_of, sound, town, verifier_of
from tests.search.engine import open_batcher

ANYTHING: dict[str, Any] = {
    "ties": [
        {"kind": "*", "whose": "own", "allow": ["drop", "add", "move"], "to": "anyone"},
        {"kind": "*", "whose": "others", "allow": ["drop"]},
    ],
    "attributes": [
        {"name": "income", "step": 0.7, "implies": [{"name": "debt", "by": -0.2}]},
        {"name": "savings", "step": 300, "scale": 1000, "shift": 50},
        {"name": "loan", "step": 1, "transform": "log1p", "scale": 0.4, "shift": 2, "min": 0},
    ],
}


def some_combinations(table: ActionTable, seed: int, count: int = 40, most: int = 4) -> Ints:
    """Combinations of random sizes, all kinds of actions among them."""
    random = np.random.default_rng(seed)
    rows = np.full((count, most), NONE)
    by_kind = [np.flatnonzero(table.do == do) for do in (DROP, ADD, MOVE, SET)]
    for row in rows:
        size = int(random.integers(1, most + 1))
        kinds = [by_kind[k] for k in random.integers(0, 4, size) if len(by_kind[k])]
        drawn = [int(random.choice(actions)) for actions in kinds]
        kept: dict[int, int] = {}
        for action in drawn:
            kept.setdefault(int(table.group[action]), action)
        row[: len(kept)] = sorted(kept.values())
    return rows


def assert_like_rebuilt(
    policy: Policy, table: ActionTable, verifier: Verifier, batcher: QueryBatcher, rows: Ints
) -> None:
    answers = verifier.answers(rows)
    for row, answer in zip(rows, answers, strict=True):
        actions = table.records(row[row != NONE])
        rebuilt = changed(policy, table.subject, actions)
        expected = asked(batcher, rebuilt, table.subject)
        assert answer == pytest.approx(expected, abs=2e-5), actions


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("form", ["edges", "weight", "attributes", "type", "dense", "target"])
def test_a_changed_neighbourhood_answers_like_the_rebuilt_graph(
    form: str, directed: bool, tmp_path: Path
) -> None:
    graph = town(
        3, directed=directed, kinds=("address", "guarantor", "payment"), people=16, ties=20
    )
    batcher = open_batcher(
        sum_network(tmp_path / "m.onnx", form=form, scale=0.3), graph, output="logits"
    )
    policy = policy_of(graph, **ANYTHING)
    edited = edited_graph(graph, batcher)
    ways: tuple[Way, ...] = ("field",) if form in ("dense", "target") else ("shared", "field")
    for subject in (0, 5, 11):
        table = action_table(policy, subject, 2)
        assert set(table.do.tolist()) == {DROP, ADD, MOVE, SET}
        for way in ways:
            verifier = verifier_of(edited, table, way)
            assert verifier.asked.way == way
            assert verifier.scope == "neighbourhood"
            rows = some_combinations(table, seed=subject)
            assert_like_rebuilt(policy, table, verifier, batcher, rows)


@pytest.mark.parametrize("layers", [1, 3])
def test_the_depth_of_the_model_decides_how_far_a_neighbourhood_goes(
    layers: int, tmp_path: Path
) -> None:
    graph = town(8, people=60, ties=75)
    path = sum_network(tmp_path / "m.onnx", layers=layers, scale=0.3)
    batcher = open_batcher(path, graph, output="logits")
    policy = policy_of(graph, **ANYTHING)
    edited = edited_graph(graph, batcher, sound(layers))
    for subject in (1, 30):
        table = action_table(policy, subject, layers)
        verifier = verifier_of(edited, table)
        assert verifier.scope == "neighbourhood"
        assert_like_rebuilt(
            policy, table, verifier, batcher, some_combinations(table, seed=subject)
        )


def test_a_depth_that_is_too_small_is_found_out(tmp_path: Path) -> None:
    graph = town(8, people=60, ties=75)
    batcher = open_batcher(sum_network(tmp_path / "m.onnx", layers=3), graph, output="logits")
    policy = policy_of(graph, **ANYTHING)
    subject = int(np.argmax(np.diff(graph.starts)))
    table = action_table(policy, subject, 1)
    verifier = verifier_of(edited_graph(graph, batcher, sound(1)), table)
    assert_like_rebuilt(policy, table, verifier, batcher, some_combinations(table, 0, count=15))
    assert verifier.scope == "whole graph"


@pytest.mark.parametrize("failed", ["deterministic", "node_order", "tie_order", None])
def test_a_model_that_neighbourhoods_may_mislead_is_asked_about_the_whole_graph(
    failed: str | None, tmp_path: Path
) -> None:
    graph = town(1)
    batcher = open_batcher(sum_network(tmp_path / "m.onnx"), graph, output="logits")
    policy = policy_of(graph, **ANYTHING)
    probes = sound(None) if failed is None else sound(2, **{failed: False})
    table = action_table(policy, 2, 2)
    edited = edited_graph(graph, batcher, probes)
    verifier = verifier_of(edited, table)
    assert verifier.scope == "whole graph"
    assert_like_rebuilt(policy, table, verifier, batcher, some_combinations(table, 0, count=15))
    other = action_table(policy, 3, 2)
    rows = np.array([[NONE]])
    assert verifier_of(edited, other).answers(rows)[0] == pytest.approx(
        edited.everybody[3], abs=1e-5
    )


PREPARED = {"outside_normalised": 'self_loops = "add"\nnormalisation = "symmetric"'}


@pytest.mark.parametrize(
    "model", ["gcn", "gat", "sage", "gin", "dense", "outside_normalised", "sigmoid"]
)
def test_sample_models_answer_for_a_neighbourhood_as_for_the_whole_graph(
    model: str, tmp_path: Path
) -> None:
    audit = load_audit(lending_audit(tmp_path, model, more=PREPARED.get(model, "")))
    graph: Graph = audit.graph
    policy = policy_of(
        graph,
        ties=[
            {"kind": "guarantor", "allow": ["drop", "add"]},
            {"kind": "*", "whose": "any", "allow": ["drop"]},
        ],
        attributes=[{"name": "savings", "step": 500, "implies": [{"name": "income", "by": 100}]}],
    )
    edited = edited_graph(graph, audit.batcher, audit.probes)
    hub = int(np.argmax(np.diff(graph.starts)))
    for subject in (3, hub):
        table = action_table(policy, subject, audit.probes.depth)
        verifier = verifier_of(edited, table)
        assert verifier.scope == "neighbourhood"
        rows = some_combinations(table, seed=subject, count=8 if model == "dense" else 20, most=3)
        answers = verifier.answers(rows)
        for row, answer in zip(rows, answers, strict=True):
            rebuilt = changed(policy, subject, table.records(row[row != NONE]))
            expected = np.exp(asked(audit.batcher, rebuilt, subject))
            assert np.exp(answer) == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize("too_large", [False, True])
def test_an_answer_close_to_the_line_is_asked_again_on_a_whole_graph_that_is_not_too_large(
    too_large: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = town(1)
    batcher = open_batcher(sum_network(tmp_path / "m.onnx"), graph, output="logits")
    table = action_table(policy_of(graph, **ANYTHING), 2, 2)
    edited = edited_graph(graph, batcher)
    verifier = verifier_of(edited, table)
    rows = np.arange(6)[:, None]
    known = verifier.answers(rows)
    close = np.abs(edited.decisions.lead(known, 2))
    edited.noise = float(np.sort(close)[2]) / 10
    again: list[Edits] = []
    real = EditedGraph.answers

    def seen(self: EditedGraph, edits: Edits, way: Way) -> Any:
        if way == "whole":
            again.append(edits)
        return real(self, edits, way)

    monkeypatch.setattr(EditedGraph, "answers", seen)
    arcs = len(graph.arc_source)
    monkeypatch.setattr(trials, "MOST_ARCS_AGAIN", arcs - 1 if too_large else arcs)
    answers = verifier.answers(rows)
    if too_large:
        assert not again
        assert np.array_equal(answers, known)
        return
    [asked_again] = again
    assert asked_again.count == 3
    nearest = verifier.edits.of(rows[np.sort(np.argsort(close)[:3])])
    assert np.array_equal(asked_again.dropped, nearest.dropped)


def test_an_answer_that_is_no_number_names_the_changes(tmp_path: Path) -> None:
    graph = town(1)
    batcher = open_batcher(
        sum_network(tmp_path / "m.onnx", trap="some_nan"), graph, output="logits"
    )
    table = action_table(policy_of(graph, **ANYTHING), 2, 2)
    edited = edited_graph(graph, batcher)
    with pytest.raises(AnswerError, match=r"not a number after (drop|add) P\d\d-P\d\d:\w+$"):
        verifier_of(edited, table).answers(np.arange(len(table))[:, None])


def test_copies_and_mixed_questions_answer_as_alone(tmp_path: Path) -> None:
    graph = town(3, people=40, ties=60)
    batcher = open_batcher(sum_network(tmp_path / "m.onnx"), graph, output="logits")
    table = action_table(policy_of(graph, **ANYTHING), 4, 2)
    verifier = verifier_of(edited_graph(graph, batcher), table)
    rows = some_combinations(table, seed=1, count=120)
    together = verifier.answers(rows)
    alone = np.concatenate(
        [verifier.answers(rows[place : place + 1]) for place in range(len(rows))]
    )
    assert together == pytest.approx(alone, abs=1e-5)
    assert verifier.evaluations == 241
