"""Own data alone: equal to brute force on the whole graph."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recourse_audit.audit import own_data
from recourse_audit.audit.large_graphs import whole_answers
from recourse_audit.audit.load import LoadedAudit, load_audit, open_audit
from recourse_audit.audit.own_data import OwnDataReports, alone_answers
from recourse_audit.audit.population import people_of
from recourse_audit.audit.report import explain
from recourse_audit.errors import SettingsError
from recourse_audit.graph.graph import Floats, Graph
from recourse_audit.graph.readers import from_arrays
from recourse_audit.model.edited_graph import EditedGraph
from recourse_audit.model.queries import Union, whole
from recourse_audit.model.session import OnnxModel
from recourse_audit.records.subject import OwnData
from recourse_audit.settings import parse_settings
from tests.audits import IDS, lending_audit, small_audit
from tests.onnx_models import degree_network, sum_network
from tests.pipeline_audits import SETTINGS, expected, people, pipeline_audit

TIES = [[0, 1], [0, 1], [1, 2], [2, 3], [3, 0], [3, 4], [4, 5], [5, 1], [6, 6], [2, 2]]
PEOPLE = 9


def stored(audit: LoadedAudit) -> list[tuple[bool | None, float | None]]:
    """What the store says of everybody on their own data alone."""
    decisions = audit.rule.over(whole_answers(audit, np.arange(audit.graph.person_count)))
    alone = alone_answers(audit, decisions)
    people = people_of(audit.graph, decisions, None, None, alone, None)
    return [
        (person.favourable_alone, person.score_alone and round(person.score_alone, 6))
        for person in people
    ]


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
    assert found.reason == "depends_on_others"
    dense = audit_of(graph, sum_network(tmp_path / "dense.onnx", form="dense"))
    [found] = found_by(dense, [0]).values()
    assert found.alone is not None
    decisions = order.rule.over(whole_answers(order, np.arange(PEOPLE)))
    assert alone_answers(order, decisions) is None
    assert stored(order) == [(None, None)] * PEOPLE


def test_a_random_model_is_not_asked(tmp_path: Path) -> None:
    audit = audit_of(
        random_graph(directed=False), sum_network(tmp_path / "model.onnx", trap="dropout")
    )
    [found] = found_by(audit, [0]).values()
    assert found.alone is None
    assert found.reason == "random_answers"


def test_everybodys_decisions_alone_are_those_of_the_subjects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = audit_of(random_graph(directed=True), sum_network(tmp_path / "model.onnx"))
    reports = [report.alone for report in found_by(audit).values()]
    alone = [(answer and answer.favourable, answer and answer.value) for answer in reports]
    assert stored(audit) == alone
    monkeypatch.setattr(own_data, "PEOPLE_TOGETHER", 2)
    assert stored(audit) == alone


def test_an_answer_that_is_not_a_number_is_no_decision_alone(tmp_path: Path) -> None:
    audit = audit_of(
        random_graph(directed=False), sum_network(tmp_path / "model.onnx", trap="some_nan", seed=6)
    )
    alone = [favourable for favourable, _ in stored(audit)]
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


def columns_by(audit: LoadedAudit, subject: int, *, complete: bool = True) -> OwnData:
    """What is found about one subject's columns."""
    answers = whole_answers(audit, np.arange(audit.graph.node_count))
    edited = EditedGraph(audit.graph, audit.batcher, audit.probes, audit.rule.over(answers))
    reports = OwnDataReports(audit, edited, complete=complete)
    return reports.with_ladder(OwnData(), edited.about(subject))


def approved(audit: LoadedAudit) -> list[int]:
    everybody = np.arange(audit.graph.node_count)
    answers = whole_answers(audit, everybody)
    return np.flatnonzero(audit.rule.over(answers).favourable(answers, everybody)).tolist()


def check_columns(audit: LoadedAudit, subject: int, rows: dict[str, Floats]) -> OwnData:
    """Every answer is that of the whole graph with the subject's features written by hand.

    `rows` has the subject's features with each column at its reference.
    """
    graph = audit.graph
    found = columns_by(audit, subject)
    assert [column.name for column in found.columns] == [*rows]
    everybody = whole_answers(audit, np.arange(graph.node_count))
    decisions = audit.rule.over(everybody)
    [before] = decisions.names_of(everybody[[subject]], subject)
    for column in found.columns:
        features = audit.batcher.features_of(np.arange(graph.node_count))
        features[subject] = rows[column.name]
        answer = audit.batcher.ask(whole(graph), np.array([subject]), features=features)
        assert column.answer is not None
        chances = np.exp(answer[0]).tolist() if column.answer.probabilities else []
        assert [*column.answer.probabilities.values()] == pytest.approx(chances, abs=1e-5)
        assert [column.answer.decision] == decisions.names_of(answer, subject)
        assert column.answer.favourable == decisions.favourable(answer, subject)[0]
        assert column.answer.flips == (column.answer.decision != before)
        if audit.rule.name != "argmax":
            assert column.answer.score == pytest.approx(audit.rule.values(answer)[0], abs=1e-5)
    return found


@pytest.mark.parametrize(
    ("options", "decision"),
    [
        ({}, {}),
        ({"trap": "node_order"}, {}),
        ({"form": "dense"}, {"cut_off": 0.6}),
        ({"nodes": 14, "arcs": 60}, {"quota": 3}),
        ({"head": "score"}, {"classes": ["no", "yes"], "cut_off": 0.0, "better": "lower"}),
    ],
)
def test_a_column_at_its_reference_is_asked_about_on_the_whole_graph(
    options: dict[str, Any], decision: dict[str, Any], tmp_path: Path
) -> None:
    graph = random_graph(directed=False)
    favourable = {"favourable": ["yes"]} if "better" in decision else {}
    audit = audit_of(
        graph,
        sum_network(tmp_path / "model.onnx", seed=11, **options),
        **{**decision, **favourable},
    )
    good = approved(audit)
    assert 0 < len(good) < PEOPLE
    for subject in (0, 6):
        own = graph.features[subject]
        middle = {
            name: float(sorted(graph.features[good, place])[(len(good) - 1) // 2])
            for place, name in enumerate(graph.feature_names)
        }
        rows = {name: own.copy() for name in middle}
        for place, name in enumerate(middle):
            rows[name][place] = middle[name]
        found = check_columns(audit, subject, rows)
        for place, column in enumerate(found.columns):
            values = graph.features[:, place]
            below = (values < own[place]).sum() + (values == own[place]).sum() / 2
            assert column.value == pytest.approx(own[place])
            assert column.reference == pytest.approx(middle[column.name])
            assert column.percentile == pytest.approx(100 * below / PEOPLE)
            assert column.reason == ""


def test_columns_behind_a_pipeline_are_raw_and_in_the_users_units(tmp_path: Path) -> None:
    """Numbers in the units of their rule, categories by their most frequent value."""
    rule = """
[[recourse.attributes]]
name = "debt"
step = 1
unit = "hundreds below 10"
scale = -0.01
shift = 10
"""
    audit = load_audit(pipeline_audit(tmp_path, settings=SETTINGS + rule))
    rows, good = people(), approved(audit)
    subject = next(place for place in range(len(rows)) if place not in good)
    names = audit.encoder.columns if audit.encoder else ()
    middle: dict[str, Any] = {}
    for name in names:
        values = sorted(rows[place][name] for place in good if rows[place][name] is not None)
        middle[name] = values[(len(values) - 1) // 2]
        if isinstance(values[0], str):
            middle[name] = max(sorted(set(values)), key=values.count)
    changed = [{**rows[subject], name: middle[name]} for name in names]
    features = dict(zip(names, expected(tmp_path, changed), strict=True))
    found = check_columns(audit, subject, features)
    columns = {column.name: column for column in found.columns}
    assert columns["housing"].value == rows[subject]["housing"]
    assert columns["housing"].reference == middle["housing"]
    assert columns["housing"].percentile is None
    debts = np.array([row["debt"] for row in rows])
    own = debts[subject]
    assert columns["debt"].unit == "hundreds below 10"
    assert columns["debt"].value == pytest.approx(10 - own / 100)
    assert columns["debt"].reference == pytest.approx(10 - middle["debt"] / 100)
    higher = (debts > own).sum() + (debts == own).sum() / 2
    assert columns["debt"].percentile == pytest.approx(100 * higher / len(debts))
    empty = next(place for place, row in enumerate(rows) if row["income"] is None)
    [income] = [c for c in columns_by(audit, empty).columns if c.name == "income"]
    assert (income.value, income.percentile) == (None, None)
    assert income.answer is not None


def test_why_a_column_has_no_answer_is_a_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = random_graph(directed=False)
    model = sum_network(tmp_path / "model.onnx", seed=11)
    nobody = columns_by(audit_of(graph, model, cut_off=0.9), 0)
    assert {(c.reference, c.answer, c.reason) for c in nobody.columns} == {
        (None, None, "no_reference")
    }
    audit = audit_of(graph, model)
    unknown = columns_by(audit, 0, complete=False)
    assert unknown.columns_reason == "other_answers_not_known"
    assert {column.reference for column in unknown.columns} == {None}
    assert all(column.percentile is not None for column in unknown.columns)
    monkeypatch.setattr(own_data, "MOST_ARCS_IN_LADDER", 10)
    order = audit_of(graph, sum_network(tmp_path / "order.onnx", trap="node_order"))
    large = columns_by(order, 0)
    assert large.columns_reason == "too_large"
    assert {column.answer for column in large.columns} == {None}
    assert columns_by(audit, 0).columns_reason == ""
    monkeypatch.setattr(own_data, "MOST_COLUMNS", 4)
    many = columns_by(audit, 0)
    assert (many.columns, many.columns_reason) == ((), "too_many_columns")
    assert [ties.moves is not None for ties in many.ties] == [True]
    dropout = audit_of(graph, sum_network(tmp_path / "dropout.onnx", trap="dropout"))
    monkeypatch.undo()
    assert columns_by(dropout, 0).columns_reason == "random_answers"


def test_a_column_that_decides_which_cut_off_applies_is_not_moved(tmp_path: Path) -> None:
    graph = random_graph(directed=False)
    graph = replace(graph, features=np.column_stack((np.tile([1, 2, 1], 3), graph.features[:, 1:])))
    by = {"column": "x0", "values": {"1": 0.1, "2": 0.2}}
    audit = audit_of(graph, sum_network(tmp_path / "model.onnx"), cut_off_by=by)
    first, *rest = columns_by(audit, 0).columns
    assert (first.answer, first.reason) == (None, "moves_cut_off")
    assert all(column.answer is not None for column in rest)


def test_units_of_columns_without_a_rule_come_from_the_graphs_settings(tmp_path: Path) -> None:
    settings = lending_audit(tmp_path)
    report = explain(load_audit(settings), ["P0570"])[0]
    assert report.own_data is not None
    units = {column.name: column.unit for column in report.own_data.columns}
    assert (units["income"], units["savings"], units["debt_ratio"]) == ("euros", "euros", "")
    text = settings.read_text(encoding="utf-8").replace("units = { income", "units = { incom")
    settings.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=r"graph\.units: the nodes have no column 'incom'"):
        load_audit(settings)
