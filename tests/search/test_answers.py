"""Answers that are no numbers spoil their own subject and nobody else; no ties is no error."""

import re
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from recourse_audit.audit.load import open_audit
from recourse_audit.audit.report import explain
from recourse_audit.graph.graph import Graph
from recourse_audit.graph.readers import from_arrays
from recourse_audit.records.search import SearchFailure, SearchResult
from recourse_audit.search.evaluation import Scope
from recourse_audit.search.moexp import Outcome
from recourse_audit.settings import Settings
from tests.onnx_models import Parts, Sheet, aggregate, ends, node_count, sum_network
from tests.search.engine import in_full, new_search, open_batcher, whole_answers
from tests.search.reference import nodes_of, rooted_trees, tie_between

UNUSABLE = re.compile(r"the model's answer is not a number for the subgraph (.+) \((.+)\)$")


def summing_model(path: Path) -> Path:
    """Two classes; the score of a node is the root of what it and its neighbours add up to.

    Where the sum is negative the answer is not a number.
    """
    sheet = Sheet()
    x = sheet.input("x", "float32", ["N", 1])
    edges = sheet.input("edge_index", "int64", [2, "E"])
    parts = Parts(*ends(sheet, edges), node_count(sheet, x))
    root = sheet.op("Sqrt", aggregate(sheet, parts, x, 1))
    return sheet.save(path, sheet.op("Concat", root, sheet.op("Neg", root), axis=1), [None, 2])


def outcomes(path: Path, graph: Graph, scope: Scope) -> dict[int, Outcome]:
    """Search for all subjects that have an answer on the whole graph."""
    batcher = open_batcher(path, graph, output="logits")
    usable = np.flatnonzero(np.isfinite(whole_answers(batcher, graph)).all(axis=1))
    search = new_search(graph, batcher, scope)
    return {outcome.subject: outcome for outcome in search.run(usable)}


@pytest.fixture
def chain() -> Graph:
    """0 - 1 - 2 - 3 - 4 - 5, in which 2 and 3 together are negative, and so is 2 alone."""
    features = np.array([[1.0], [4.0], [-2.0], [1.5], [3.0], [2.0]])
    return from_arrays(features, [[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]], ids=list("abcdef"))


def test_a_subgraph_without_an_answer_is_named_and_others_of_the_block_get_theirs(
    chain: Graph, tmp_path: Path
) -> None:
    found = outcomes(summing_model(tmp_path / "model.onnx"), chain, Scope(max_nodes=3, max_hops=2))
    assert sorted(found) == [0, 1, 2, 3, 4, 5]
    reasons = {s: o.reason for s, o in found.items() if isinstance(o, SearchFailure)}
    assert reasons == {
        2: "the model's answer is not a number for the subgraph c (no ties)",
        3: "the model's answer is not a number for the subgraph c, d (c-d)",
    }
    for subject in (0, 1, 4, 5):
        result = found[subject]
        assert isinstance(result, SearchResult)
        assert result.counterfactuals


def test_a_failure_is_the_same_when_the_subject_is_searched_alone(
    chain: Graph, tmp_path: Path
) -> None:
    path, scope = summing_model(tmp_path / "model.onnx"), Scope(max_nodes=3, max_hops=2)
    batcher = open_batcher(path, chain, output="logits")
    search = new_search(chain, batcher, scope)
    together = outcomes(path, chain, scope)
    for subject, outcome in together.items():
        (alone,) = search.run(np.array([subject]))
        assert in_full(alone) == in_full(outcome)


@pytest.mark.parametrize("seed", range(8))
def test_a_subject_fails_exactly_if_one_of_its_subgraphs_has_no_answer(
    seed: int, tmp_path: Path
) -> None:
    drawing = nx.gnm_random_graph(9, 12, seed=seed)
    features = np.random.default_rng(seed).normal(0.8, 1.0, size=(9, 1))
    graph = from_arrays(features, np.array(drawing.edges).T)
    found = outcomes(summing_model(tmp_path / "model.onnx"), graph, Scope(max_nodes=3, max_hops=1))
    assert found
    for subject, outcome in found.items():
        near = nx.ego_graph(drawing, subject, radius=1)
        ties = frozenset(tie_between(*tie) for tie in near.edges)
        broken = set()
        for tree in rooted_trees(ties, subject, 3):
            beside = {other for tie in tree if subject in tie for other in tie}
            if sum(float(features[node, 0]) for node in {subject, *beside}) < 0:
                nodes = ", ".join(str(node) for node in nodes_of(tree, subject))
                broken.add((nodes, "; ".join(f"{a}-{b}" for a, b in sorted(tree)) or "no ties"))
        if broken:
            assert isinstance(outcome, SearchFailure)
            named = UNUSABLE.match(outcome.reason)
            assert named is not None
            assert named.groups() in broken
        else:
            assert isinstance(outcome, SearchResult)


@pytest.mark.parametrize("own", [-1.0, 30.0], ids=["subject_alone", "some_subgraphs"])
def test_a_sampled_subject_without_an_answer_fails_in_words_too(own: float, tmp_path: Path) -> None:
    leaves = np.tile([30.0, -40.0, 20.0], 20)
    graph = from_arrays(np.append(own, leaves)[:, None], [[0] * 60, range(1, 61)])
    found = outcomes(
        summing_model(tmp_path / "model.onnx"), graph, Scope(max_nodes=3, max_hops=1, budget=300)
    )
    failure = found[0]
    assert isinstance(failure, SearchFailure)
    assert UNUSABLE.match(failure.reason)


def test_where_all_answers_are_alike_every_pair_is_on_the_front_and_the_first_500_are_listed(
    tmp_path: Path,
) -> None:
    graph = from_arrays(np.zeros((13, 1)), [[0] * 12, range(1, 13)])
    found = outcomes(summing_model(tmp_path / "model.onnx"), graph, Scope(max_nodes=4, max_hops=1))
    result = found[0]
    assert isinstance(result, SearchResult)
    assert result.extent.pairs == 12 + 66 * 3 + 220 * 7
    assert result.front_size == result.extent.pairs
    assert len(result.front) == 500
    first, *others = result.counterfactuals
    assert (first.removed, first.kept) == ((("0", "1"),), ())
    assert (first.simulatability, first.relevance, first.dominates) == (0.0, 0.0, 0)
    assert (first.ranks.simulatability, first.ranks.relevance, first.ranks.sum) == (1, 1, 2)
    assert [other.removed for other in others] == [(("0", "2"),), (("0", "3"),)]
    assert {shown.layer for shown in result.counterfactuals} == {1}


def settings_for(folder: Path, model: Path, classes: tuple[str, ...]) -> Settings:
    """Settings over a graph of seven people, the last of whom has no ties."""
    random = np.random.default_rng(6)
    rows = [[0, 0, 1, 2, 3, 4], [1, 2, 2, 3, 4, 5]]
    np.savez(
        folder / "graph.npz",
        x=random.normal(size=(7, 5)),
        edge_index=np.array(rows),
        ids=np.array([f"p{number}" for number in range(7)]),
    )
    return Settings.model_validate(
        {
            "model": {"path": model},
            "graph": {"npz": folder / "graph.npz"},
            "decision": {"classes": classes, "favourable": classes[-1:]},
        }
    )


def test_a_subject_without_ties_gets_a_note_in_words_and_no_error(tmp_path: Path) -> None:
    model = sum_network(tmp_path / "model.onnx")
    audit = open_audit(settings_for(tmp_path, model, ("no", "perhaps", "yes")))
    tied, lonely = explain(audit, ["p1", "p6"])
    assert tied.search is not None
    assert tied.counterfactuals
    assert (tied.note, tied.error) == ("", "")
    assert lonely.error == ""
    assert lonely.note == "no_ties"
    assert lonely.search is not None
    assert lonely.counterfactuals == ()
    assert lonely.front == ()
    assert (lonely.search.subgraphs, lonely.search.pairs) == (1, 0)
    assert lonely.search.coverage == "exhaustive"
    assert lonely.caveats == ()
    assert lonely.subject.decision in ("no", "perhaps", "yes")


def test_explain_answers_in_the_order_asked_whatever_the_blocks(tmp_path: Path) -> None:
    model = sum_network(tmp_path / "model.onnx")
    audit = open_audit(settings_for(tmp_path, model, ("no", "perhaps", "yes")))
    ids = ["p6", "p2", "p0", "p5", "p2"]
    reports = explain(audit, ids)
    assert [report.subject.id for report in reports] == ids
    for identifier, report in zip(ids, reports, strict=True):
        assert in_full(*explain(audit, [identifier])) == in_full(report)


def test_explain_reports_a_subgraph_without_an_answer_as_that_subjects_error(
    tmp_path: Path,
) -> None:
    settings = settings_for(tmp_path, summing_model(tmp_path / "model.onnx"), ("no", "yes"))
    features = np.array([[1.0], [4.0], [-2.0], [1.5], [3.0], [2.0], [5.0]])
    rows = [[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]]
    ids = np.array([f"p{number}" for number in range(7)])
    np.savez(tmp_path / "graph.npz", x=features, edge_index=np.array(rows), ids=ids)
    audit = open_audit(settings)
    reports = explain(audit, list(ids))
    errors = {report.subject.id: report.error for report in reports if report.error}
    assert sorted(errors) == ["p2", "p3"]
    assert "p2, p3 (p2-p3)" in errors["p3"]
    assert all(report.search is None for report in reports if report.error)
    assert all(report.search is not None for report in reports if not report.error)
