"""People who all have the same features are audited like anybody else."""

import csv
from pathlib import Path

import pytest

from recourse_audit.audit.load import load_audit
from recourse_audit.audit.report import explain
from recourse_audit.records.subject import SubjectReport
from tests.audits import FEATURES, IDS, small_audit
from tests.onnx_models import degree_network, sum_network


def constant_audit(folder: Path) -> Path:
    """The small audit with one value for every feature of everybody."""
    path = small_audit(folder)
    with (folder / "nodes.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *FEATURES, "gender"])
        for number, name in enumerate(IDS):
            writer.writerow([name, *[0.5] * len(FEATURES), "fm"[number % 2]])
    return path


def assert_sound(reports: list[SubjectReport]) -> None:
    assert [report.error for report in reports] == [""] * len(IDS)
    assert "error" not in {report.status for report in reports}
    assert any(report.counterfactuals for report in reports)


@pytest.mark.parametrize("layers", [1, 2])
def test_a_graph_of_constant_features_is_explained_at_the_depth_of_its_model(
    layers: int, tmp_path: Path
) -> None:
    path = constant_audit(tmp_path)
    sum_network(tmp_path / "model.onnx", layers=layers)
    audit = load_audit(path)
    assert audit.probes.depth == layers
    assert_sound(explain(audit, IDS))


@pytest.mark.parametrize("constant", [False, True])
def test_a_model_that_no_other_node_reaches_is_explained_by_its_ties(
    constant: bool, tmp_path: Path
) -> None:
    path = constant_audit(tmp_path) if constant else small_audit(tmp_path)
    degree_network(tmp_path / "model.onnx")
    audit = load_audit(path)
    assert audit.probes.ties_matter
    assert audit.probes.depth == 0
    reports = explain(audit, IDS, what_if=["drop a-b"])
    assert_sound(reports)
    kinds = {caveat.kind for report in reports for caveat in report.caveats}
    assert kinds == {"general"}
