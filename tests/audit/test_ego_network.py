"""Who is shown around a subject: the nearest, all of the counterfactuals, and every tie of them."""

from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from recourse_audit.audit.large_graphs import whole_answers
from recourse_audit.audit.load import LoadedAudit, load_audit
from recourse_audit.audit.report import Reporter, explain
from recourse_audit.graph.graph import Graph
from recourse_audit.records.search import SearchResult
from recourse_audit.records.subject import EgoNetwork, EgoNode, SubjectReport
from tests.audits import IDS, quick_audit, small_audit
from tests.onnx_models import sum_network

EVERY = 12


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> LoadedAudit:
    return load_audit(quick_audit(tmp_path_factory.mktemp("lending"), whole=True))


@pytest.fixture(scope="module")
def reports(audit: LoadedAudit) -> list[SubjectReport]:
    return explain(audit, audit.graph.ids[::EVERY].tolist())


def ties_of(graph: Graph) -> list[tuple[str, str, str]]:
    """The user's table of ties, without self-loops."""
    names, ties = graph.ids.tolist(), graph.ties
    rows = zip(ties.source.tolist(), ties.target.tolist(), ties.kind.tolist(), strict=True)
    return [(names[a], names[b], ties.kinds[kind]) for a, b, kind in rows if a != b]


def drawing_of(graph: Graph) -> "nx.Graph[str]":
    drawing: nx.Graph[str] = nx.Graph()
    drawing.add_nodes_from(graph.ids.tolist())
    drawing.add_edges_from((one, other) for one, other, _ in ties_of(graph))
    return drawing


def around(report: SubjectReport) -> EgoNetwork:
    assert report.ego_network is not None
    return report.ego_network


def explained(report: SubjectReport) -> set[str]:
    trees = [found.explanation for found in report.counterfactuals]
    trees += [case.explanation for case in report.study_cases]
    return {name for tree in trees for name in tree.nodes}


def test_the_nearest_are_shown_with_every_node_of_the_counterfactuals(
    audit: LoadedAudit, reports: list[SubjectReport]
) -> None:
    drawing, hops = drawing_of(audit.graph), audit.scope.max_hops
    place = {name: number for number, name in enumerate(audit.graph.ids.tolist())}
    crowded = 0
    for report in reports:
        if not drawing.degree(report.subject.id):
            assert report.ego_network is None
            continue
        found = around(report)
        far = nx.single_source_shortest_path_length(drawing, report.subject.id, cutoff=hops)
        nearest = sorted(far, key=lambda name: (far[name], place[name]))
        wanted = explained(report)
        others = [name for name in nearest if name not in wanted][: 60 - len(wanted)]
        expected = [name for name in nearest if name in wanted or name in others]
        assert [(one.id, one.hops) for one in found.nodes] == [(n, far[n]) for n in expected]
        assert (found.total, found.shown) == (len(far), min(len(far), 60))
        assert (found.hops, found.limit) == (hops, 60)
        crowded += wanted - set(nearest[:60]) != set()
    assert crowded


def test_every_tie_of_those_shown_is_there_with_its_kind_and_no_other(
    audit: LoadedAudit, reports: list[SubjectReport]
) -> None:
    ties = ties_of(audit.graph)
    place = {name: number for number, name in enumerate(audit.graph.ids.tolist())}
    for report in reports:
        if report.ego_network is None:
            continue
        shown = [one.id for one in around(report).nodes]
        expected = {
            (*sorted((one, other), key=place.__getitem__), kind)
            for one, other, kind in ties
            if one in shown and other in shown
        }
        found = [(*tie.ends, tie.kind) for tie in around(report).ties]
        assert len(found) == len(set(found))
        assert set(found) == expected
        assert found == sorted(found, key=lambda tie: (place[tie[0]], place[tie[1]]))


def test_decisions_are_those_on_the_whole_graph(
    audit: LoadedAudit, reports: list[SubjectReport]
) -> None:
    own = {report.subject.id: report.subject for report in reports}
    met = 0
    for report in reports:
        for one in () if report.ego_network is None else report.ego_network.nodes:
            if one.id in own:
                met += one.hops > 0
                expected = own[one.id].decision, own[one.id].favourable
                assert (one.decision, one.favourable) == expected
    assert met


def test_counterfactuals_with_more_nodes_than_are_shown_are_shown_whole(
    audit: LoadedAudit, reports: list[SubjectReport], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recourse_audit.audit.report.MOST_SHOWN", 2)
    report = next(report for report in reports if len(explained(report)) > 2)
    reporter = Reporter(audit, whole_answers(audit, np.arange(audit.graph.node_count)))
    subject = audit.graph.find(report.subject.id)
    (outcome,) = reporter.search.run(np.array([subject]))
    assert isinstance(outcome, SearchResult)
    found = reporter.ego_network(subject, outcome)
    assert found is not None
    assert {one.id for one in found.nodes} == explained(report)


def test_parallel_ties_are_one_entry_per_kind_with_their_number(tmp_path: Path) -> None:
    path = small_audit(tmp_path)
    with (tmp_path / "edges.csv").open("a", encoding="utf-8") as file:
        file.write("a,b,payment\na,b,family\nb,b,family\n")
    (report,) = explain(load_audit(path), ["a"])
    ties = [(tie.kind, tie.count) for tie in around(report).ties if tie.ends == ("a", "b")]
    assert ties == [("family", 1), ("payment", 2)]


@pytest.mark.parametrize("trap", ["ties", "some_nan"])
def test_whoever_has_ties_has_an_ego_network_also_without_a_search(
    trap: str, tmp_path: Path
) -> None:
    reports = explain(load_audit(small_audit(tmp_path, trap)), IDS)
    assert any(report.search is None for report in reports)
    for report in reports:
        assert (report.ego_network is None) == (report.subject.id == "lonely")


def test_a_model_that_answers_one_row_per_query_is_asked_about_those_shown(tmp_path: Path) -> None:
    path = small_audit(tmp_path)
    (everybody_asked,) = explain(load_audit(path), ["a"])
    sum_network(tmp_path / "model.onnx", form="target")
    (report,) = explain(load_audit(path), ["a"])
    assert report.ego_network == everybody_asked.ego_network
    assert all(one.decision for one in around(report).nodes)


def test_the_answers_that_are_shared_are_never_written_to(audit: LoadedAudit) -> None:
    answers = np.full((audit.graph.node_count, 2), np.nan)
    answers.flags.writeable = False
    for complete, known in ((True, False), (False, True)):
        found = Reporter(audit, answers, complete=complete).ego_network(0, None)
        assert found is not None
        assert all(bool(one.decision) is known for one in found.nodes)
        first = EgoNode(id="P0001", hops=0, decision="", favourable=False)
        assert replace(found.nodes[0], decision="", favourable=False) == first
