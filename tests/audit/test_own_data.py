"""Own data alone: equal to brute force on the whole graph."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recourse_audit.audit import own_data
from recourse_audit.audit.answers import whole_answers
from recourse_audit.audit.load import LoadedAudit, load_audit, open_audit
from recourse_audit.audit.own_data import OwnDataReports, alone_decisions
from recourse_audit.audit.report import explain
from recourse_audit.graph.graph import Floats, Graph
from recourse_audit.graph.readers import from_arrays
from recourse_audit.model.edited_graph import EditedGraph
from recourse_audit.model.queries import Union, whole
from recourse_audit.model.session import OnnxModel
from recourse_audit.records.subject import OwnData
from recourse_audit.settings import parse_settings
from tests.audits import IDS, small_audit
from tests.onnx_models import degree_network, sum_network

TIES = [[0, 1], [0, 1], [1, 2], [2, 3], [3, 0], [3, 4], [4, 5], [5, 1], [6, 6], [2, 2]]
PEOPLE = 9


def random_graph(*, directed: bool, features: int = 5) -> Graph:
    """Nine people; parallel ties, loops, and two people whom nobody is tied to."""
    values = np.random.default_rng(3).normal(size=(PEOPLE, features)).round(3)
    return from_arrays(values, np.array(TIES).T, directed=directed)


def audit_of(graph: Graph, model: Path, **decision: Any) -> LoadedAudit:
    rule = {"classes": ["no", "maybe", "yes"], "favourable": ["yes"], **decision}
    features = [f"x{number}" for number in range(graph.features.shape[1])]
    table = {
        "model": {"path": str(model), **({"output": "score"} if "better" in decision else {})},
        "graph": {"nodes": "nodes.csv", "edges": "edges.csv", "features": features},
        "decision": rule,
    }
    settings = parse_settings(table, folder=model.parent, origin="audit.toml")
    return open_audit(settings, graph=graph, model=OnnxModel(settings.model))


def found_by(audit: LoadedAudit, subjects: list[int] | None = None) -> dict[int, OwnData]:
    """What is found about some subjects, asked about together."""
    people = np.arange(audit.graph.node_count)
    answers = whole_answers(audit, people)
    decisions = audit.rule.over(answers)
    edited = EditedGraph(audit.graph, audit.batcher, audit.probes, decisions)
    reports = OwnDataReports(audit, edited)
    return reports.reports_on(people if subjects is None else np.array(subjects))


def without_ties(audit: LoadedAudit, person: int) -> Floats:
    """The answer on the whole graph with all ties of one person removed but their loops."""
    everything = whole(audit.graph)
    ends = np.stack((everything.sources, everything.targets))
    kept = ~(ends == person).any(axis=0) | (ends[0] == ends[1])
    union = Union(
        nodes=everything.nodes,
        node_starts=everything.node_starts,
        sources=everything.sources[kept],
        targets=everything.targets[kept],
        ties=everything.ties[kept],
        arc_starts=np.array([0, int(kept.sum())]),
    )
    return audit.batcher.ask(union, np.array([person]))


def check_against_brute_force(audit: LoadedAudit, found: dict[int, OwnData]) -> None:
    people = np.arange(audit.graph.node_count)
    answers = whole_answers(audit, people)
    decisions = audit.rule.over(answers)
    for subject, one in found.items():
        alone = without_ties(audit, subject)
        assert one.alone is not None
        assert [one.alone.decision] == decisions.names_of(alone, subject)
        assert one.alone.favourable == decisions.favourable(alone, subject)[0]
        assert one.alone.value == pytest.approx(audit.rule.values(alone)[0], abs=1e-5)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("trap", [None, "ties", "node_order", "batch"])
def test_every_answer_is_that_of_the_whole_graph(
    trap: str | None, directed: bool, tmp_path: Path
) -> None:
    """The last two models depend on order or on who is asked about, and get the whole graph."""
    model = sum_network(tmp_path / "model.onnx", trap=trap)
    audit = audit_of(random_graph(directed=directed), model)
    assert (audit.probes.sender_degree is None) == (trap in ("node_order", "batch"))
    found = found_by(audit)
    assert len(found) == PEOPLE
    check_against_brute_force(audit, found)


@pytest.mark.parametrize("form", ["dense", "target", "fixed"])
def test_models_without_shared_fields_are_asked_about_the_whole_graph(
    form: str, tmp_path: Path
) -> None:
    size: dict[str, Any] = {"form": form}
    if form == "fixed":
        size = {"nodes": 14, "arcs": 60}
    audit = audit_of(random_graph(directed=False), sum_network(tmp_path / "model.onnx", **size))
    check_against_brute_force(audit, found_by(audit, [0, 4, 8]))


def test_a_models_degrees_are_those_of_the_place(tmp_path: Path) -> None:
    audit = audit_of(random_graph(directed=False), degree_network(tmp_path / "model.onnx"))
    check_against_brute_force(audit, found_by(audit, [1, 3]))


@pytest.mark.parametrize(
    "decision",
    [
        {"cut_off": 0.4},
        {"quota": 3},
        {"cut_off_by": {"column": "group", "values": {"a": 0.2, "b": 0.6}}},
    ],
)
def test_answers_are_favourable_by_the_rule(decision: dict[str, Any], tmp_path: Path) -> None:
    graph = random_graph(directed=False)
    groups = np.array(list("abababbba"), dtype=np.dtypes.StringDType())
    graph = replace(graph, attributes={"group": groups})
    audit = audit_of(graph, sum_network(tmp_path / "model.onnx"), **decision)
    check_against_brute_force(audit, found_by(audit))


def test_scores_have_no_probabilities(tmp_path: Path) -> None:
    model = sum_network(tmp_path / "model.onnx", head="score")
    rule = {"classes": ["no", "yes"], "cut_off": 0.0, "better": "higher"}
    audit = audit_of(random_graph(directed=False), model, **rule)
    found = found_by(audit, [0, 5])
    check_against_brute_force(audit, found)
    assert all(one.alone is not None and one.alone.probabilities == {} for one in found.values())


def test_what_is_found_does_not_depend_on_who_is_asked_about_together(tmp_path: Path) -> None:
    audit = audit_of(random_graph(directed=False), sum_network(tmp_path / "model.onnx"))
    together = found_by(audit)
    assert found_by(audit) == together
    for some in ([4], [8, 2, 0], [7, 6, 5, 4, 3, 2, 1]):
        assert found_by(audit, some) == {subject: together[subject] for subject in some}


def test_a_large_graph_is_not_asked_about_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_data, "MOST_ARCS", 10)
    graph = random_graph(directed=False)
    order = audit_of(graph, sum_network(tmp_path / "order.onnx", trap="node_order"))
    [found] = found_by(order, [0]).values()
    assert found.alone is None
    assert "too large" in found.reason
    dense = audit_of(graph, sum_network(tmp_path / "dense.onnx", form="dense"))
    [found] = found_by(dense, [0]).values()
    assert found.alone is not None
    decisions = order.rule.over(whole_answers(order, np.arange(PEOPLE)))
    assert [*alone_decisions(order, decisions)] == [None] * PEOPLE


def test_a_random_model_is_not_asked(tmp_path: Path) -> None:
    audit = audit_of(
        random_graph(directed=False), sum_network(tmp_path / "model.onnx", trap="dropout")
    )
    [found] = found_by(audit, [0]).values()
    assert found.alone is None
    assert found.reason == "the model's answers are random"


def test_everybodys_decisions_alone_are_those_of_the_subjects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = audit_of(random_graph(directed=True), sum_network(tmp_path / "model.onnx"))
    decisions = audit.rule.over(whole_answers(audit, np.arange(PEOPLE)))
    alone = [one.alone and one.alone.favourable for one in found_by(audit).values()]
    assert [*alone_decisions(audit, decisions)] == alone
    monkeypatch.setattr(own_data, "PEOPLE_TOGETHER", 2)
    assert [*alone_decisions(audit, decisions)] == alone


def test_an_answer_that_is_not_a_number_is_no_decision_alone(tmp_path: Path) -> None:
    audit = audit_of(
        random_graph(directed=False), sum_network(tmp_path / "model.onnx", trap="some_nan", seed=6)
    )
    decisions = audit.rule.over(whole_answers(audit, np.arange(PEOPLE)))
    alone = [*alone_decisions(audit, decisions)]
    assert None in alone
    for subject, one in found_by(audit).items():
        assert one.alone is not None
        assert (alone[subject] is None) == (one.alone.decision == "")
        assert (one.alone.value is None) == (one.alone.decision == "")


def test_reports_carry_it(tmp_path: Path) -> None:
    audit = load_audit(small_audit(tmp_path))
    [report] = explain(audit, [IDS[0]])
    assert report.own_data is not None
    assert report.own_data.alone is not None
