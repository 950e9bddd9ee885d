"""Explanations move when the mechanism does and stay when it does not; distances are measured."""

import shutil
from pathlib import Path
from xml.etree import ElementTree as Xml

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from recourse_audit.audit.large_graphs import whole_answers
from recourse_audit.audit.load import load_audit
from recourse_audit.audit.stability import (
    Standing,
    by_models,
    curve,
    jaccard,
    stability_row,
    standing,
    with_link,
)
from recourse_audit.graph.graph import Graph
from recourse_audit.graph.readers import from_arrays
from recourse_audit.records.recourse import (
    Certificate,
    Option,
    Recourse,
    RecourseStatus,
    SideEffects,
    TieAction,
)
from recourse_audit.records.subject import StabilityReport, StabilityRow
from recourse_audit.render.charts import draw_stability
from recourse_audit.search.evaluation import Scope
from tests.audits import IDS, SAMPLES, lending_audit, small_audit
from tests.command import command, one_line
from tests.onnx_models import Parts, Sheet, ends, node_count, sum_network
from tests.search.engine import new_search, open_batcher, results_by_subject


def one_layer(path: Path, weights: list[list[float]]) -> Path:
    """The paper's one-layer network: a class scores the sum of the neighbours' features."""
    sheet = Sheet()
    features = sheet.input("x", "float32", ["nodes", len(weights)])
    source, target = ends(sheet, sheet.input("edge_index", "int64", [2, "arcs"]))
    parts = Parts(source=source, target=target, count=node_count(sheet, features))
    messages = sheet.op("Gather", features, parts.source, axis=0)
    size = sheet.op("Concat", parts.count, sheet.constant([len(weights)], "int64"), axis=0)
    zero = sheet.op("Expand", sheet.constant(0, "float32"), size)
    index = sheet.op("Unsqueeze", parts.target, sheet.constant([1], "int64"))
    index = sheet.op("Expand", index, sheet.op("Shape", messages))
    received = sheet.op("ScatterElements", zero, index, messages, axis=0, reduction="add")
    return sheet.save(path, sheet.op("MatMul", received, sheet.constant(weights, "float32")))


def rotated(angle: float) -> Graph:
    """The paper's figure: 1 and 2 carry the prediction on 0; 3 and 4 cancel out, however turned."""
    turned = 1.6 * np.array([np.cos(angle), np.sin(angle)])
    features = np.array([[0, 0], [1.5, 3], [1.5, -3], turned, -turned])
    return from_arrays(features, [[0, 0, 0, 0], [1, 2, 3, 4]])


def test_the_explanation_does_not_move_with_two_neighbours_that_cancel_out(tmp_path: Path) -> None:
    # Each of 1 and 2 alone speaks for another class; only their sum speaks for the first.
    model = one_layer(tmp_path / "model.onnx", [[1.0, 0.0, 0.0], [0.0, 1.0, -1.0]])
    straight, tilted = rotated(np.pi / 2), rotated(0.1)
    theta = np.array([1.0, 0.0])
    assert abs(straight.features[3] @ theta) < 1e-9
    assert tilted.features[3] @ theta > tilted.features[2] @ theta
    for graph in (straight, tilted):
        search = new_search(
            graph, open_batcher(model, graph, output="logits"), Scope(max_nodes=3, max_hops=1)
        )
        [result] = results_by_subject(list(search.run(np.array([0])))).values()
        assert result.counterfactuals[0].explanation.nodes == ("0", "1", "2")


def test_distances_are_of_people_and_of_what_is_touched() -> None:
    assert jaccard(frozenset("ab"), frozenset("bc")) == pytest.approx(2 / 3, abs=1e-6)
    assert jaccard(frozenset("ab"), frozenset("ab")) == 0
    assert jaccard(frozenset("a"), frozenset("b")) == 1
    assert jaccard(frozenset(), frozenset()) == 0
    assert jaccard(None, frozenset("b")) is None


def test_a_row_says_how_far_the_answer_moved_and_whether_the_class_did() -> None:
    before = Standing(
        decision="no",
        probabilities=np.array([0.6, 0.4]),
        explained_by=frozenset("ab"),
        options=None,
    )
    after = Standing(
        decision="yes",
        probabilities=np.array([0.3, 0.7]),
        explained_by=frozenset("ac"),
        options=frozenset(),
    )
    row = stability_row("a", "tie to z", before, after)
    assert row.strength == pytest.approx(0.3)
    assert row.changed
    assert row.explanation == pytest.approx(2 / 3, abs=1e-6)
    assert row.options is None


def rows_of(strengths: list[float], *, changed: bool) -> list[StabilityRow]:
    return [
        StabilityRow(
            subject="a",
            perturbation="",
            strength=strength,
            changed=changed,
            explanation=strength,
            options=None,
        )
        for strength in strengths
    ]


@pytest.mark.parametrize(
    ("before", "after", "distance"),
    [
        ("certified_infeasible", "certified_infeasible", 0.0),
        ("certified_infeasible", "verified", 1.0),
        ("certified_infeasible", "already_favourable", None),
        ("verified", "already_favourable", None),
        ("verified", "not_found_within_budget", None),
        ("not_found_within_budget", "not_found_within_budget", None),
        ("verified", "verified", 0.0),
    ],
)
def test_options_are_compared_only_where_both_times_it_is_known_which_there_are(
    before: RecourseStatus, after: RecourseStatus, distance: float | None
) -> None:
    one, other = (
        standing("no", np.array([0.6, 0.4]), None, recourse_of_status(status))
        for status in (before, after)
    )
    assert stability_row("a", "x", one, other).options == distance


def recourse_of_status(status: RecourseStatus) -> Recourse:
    option = Option(
        actions=(TieAction(do="drop", tie=("a", "b"), kind="loan", cost=1.0),),
        cost=1.0,
        decision="yes",
        probabilities={},
        margin=0.1,
        verified=True,
        minimal=True,
        source="effect",
        verified_on="whole graph",
        robustness=None,
        side_effects=SideEffects(measured=False),
    )
    return Recourse(
        status=status,
        certificate=Certificate(max_changes=1),
        margin=-0.2,
        options=(option,) if status == "verified" else (),
    )


def test_a_curve_has_means_of_growing_strength_and_leaves_the_other_class_out() -> None:
    rows = rows_of([0.5, 0.1, 0.3, 0.2, 0.4, 0.9], changed=True) + rows_of([1.0], changed=False)
    points = curve(rows, changed=True)
    assert [point.rows for point in points] == [2, 1, 1, 1, 1]
    assert [point.strength for point in points] == pytest.approx([0.15, 0.3, 0.4, 0.5, 0.9])
    assert [point.explanation for point in points] == [point.strength for point in points]
    assert [point.rows for point in curve(rows, changed=False)] == [1]
    assert curve([], changed=True) == ()


@pytest.mark.parametrize("directed", [True, False])
def test_a_linked_graph_has_one_tie_more_and_nothing_else_new(directed: bool) -> None:
    graph = from_arrays(np.eye(4), [[0, 1], [1, 2]], directed=directed)
    more = with_link(graph, 0, 3)
    assert more.pair_count == graph.pair_count + 1
    assert more.neighbours(0).tolist() == [1, 3]
    assert more.neighbours(1).tolist() == graph.neighbours(1).tolist()
    assert more.ids.tolist() == graph.ids.tolist()
    assert (more.ties.source[-1], more.ties.target[-1]) == (0, 3)


def moved_copy(path: Path, out: Path, by: float) -> Path:
    """A copy of a model with its last bias moved."""
    model = onnx.load(path)
    [bias] = [c for c in model.graph.initializer if c.name == "second.bias"]
    values = numpy_helper.to_array(bias)
    bias.CopyFrom(numpy_helper.from_array(values + np.array([by, -by], values.dtype), bias.name))
    onnx.save(model, out)
    return out


def test_copies_of_the_model_are_told_apart_by_what_they_change(tmp_path: Path) -> None:
    settings = lending_audit(tmp_path)
    same = moved_copy(SAMPLES / "gcn.onnx", tmp_path / "same.onnx", 0.0)
    other = moved_copy(SAMPLES / "gcn.onnx", tmp_path / "other.onnx", -30.0)
    picture = tmp_path / "curve.svg"
    found = command(
        *("stability", settings, "P0004", "P0007", "--json", "--no-options"),
        *("--perturbed-model", same, "--perturbed-model", other, "--picture", picture),
    )
    assert found.code == 0, found.err
    rows = {(row["perturbation"], row["subject"]): row for row in found.document["rows"]}
    assert len(rows) == 4
    for subject in ("P0004", "P0007"):
        unmoved = rows["same.onnx", subject]
        assert (unmoved["strength"], unmoved["explanation"], unmoved["changed"]) == (0, 0, False)
        assert rows["other.onnx", subject]["strength"] > 0
    assert any(rows["other.onnx", subject]["changed"] for subject in ("P0004", "P0007"))
    drawn = Xml.fromstring(picture.read_text(encoding="utf-8"))
    assert drawn.find("{*}title") is not None
    assert len(drawn.findall("{*}polyline")) == 2


def test_new_ties_are_tried_for_each_subject_and_repeat(tmp_path: Path) -> None:
    settings = lending_audit(tmp_path)
    words = ("stability", settings, "P0004", "P0007", "--new-ties", "2", "--json")
    first = command(*words)
    assert first.code == 0, first.err
    rows = first.document["rows"]
    assert [row["subject"] for row in rows] == ["P0004", "P0004", "P0007", "P0007"]
    assert len({(row["subject"], row["perturbation"]) for row in rows}) == 4
    assert all(row["perturbation"].startswith("tie to P") for row in rows)
    assert any(row["options"] is not None for row in rows)
    assert command(*words).out == first.out
    view = command(*words[:-1])
    assert "2 people, new ties to other people: 4 comparisons" in view.out


def test_answers_that_are_not_numbers_are_no_decisions_and_are_not_compared(
    tmp_path: Path,
) -> None:
    path = small_audit(tmp_path, "some_nan")
    broken = sum_network(tmp_path / "broken.onnx", trap="some_nan", seed=6)
    subjects = list(range(len(IDS)))
    sound = load_audit(path)
    assert sound.rule.usable(whole_answers(sound, np.array(subjects))).all()
    shutil.copy(broken, tmp_path / "model.onnx")
    audit = load_audit(path)
    usable = audit.rule.usable(whole_answers(audit, np.array(subjects)))
    lost = {IDS[number] for number in np.flatnonzero(~usable)}
    assert 0 < len(lost) < len(IDS)
    before = by_models(audit, subjects, [broken], with_options=False)
    assert lost <= set(before.unanswered)
    # An answer that only the copy lacks is not a changed decision either.
    after = by_models(sound, subjects, [broken], with_options=False)
    assert lost - set(after.unanswered)
    for report in (before, after):
        assert report.rows
        assert not lost & {row.subject for row in report.rows}
        assert all(np.isfinite(row.strength) for row in report.rows)


def test_a_model_that_looks_different_is_refused(tmp_path: Path) -> None:
    settings = lending_audit(tmp_path)
    other = sum_network(tmp_path / "other.onnx", features=7, classes=3)
    refused = command("stability", settings, "P0004", "--perturbed-model", other)
    assert refused.code == 2
    assert "not a perturbed copy of it" in one_line(refused)


def test_a_model_without_a_limit_to_its_reach_is_refused(tmp_path: Path) -> None:
    refused = command("stability", small_audit(tmp_path, "batch"), "a")
    assert refused.code == 2
    assert "declare model.depth or search.max_hops" in one_line(refused)


def test_a_picture_of_nothing_still_has_axes_and_words() -> None:
    empty = StabilityReport(
        format=1, kind="models", subjects=0, unanswered=(), rows=(), changed=(), unchanged=()
    )
    drawn = Xml.fromstring(draw_stability(empty))
    assert "Mean distance where the decision was changed: none." in str(drawn.findtext("{*}title"))
