"""What settings, graph and model must agree on before anybody is explained."""

from pathlib import Path

import numpy as np
import pytest

from recourse_audit.audit.load import LoadedAudit, load_audit
from recourse_audit.audit.report import explain
from recourse_audit.errors import SettingsError, SubjectError
from tests.audits import IDS, small_audit
from tests.onnx_models import sum_network


@pytest.fixture
def audit(tmp_path: Path) -> LoadedAudit:
    return load_audit(small_audit(tmp_path))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"no", ', "", "decision.classes: names 2 classes ([b]maybe, yes), but the output"),
        (', "f4"', "", "graph.features: the model"),
        ('"f4"', '"f3"', "graph.features: names 'f3' twice"),
        ('"gender"', '"gendr"', "groups.attributes: the nodes have no column 'gendr'; did you"),
    ],
)
def test_settings_that_do_not_fit_the_files_are_named_with_their_file(
    old: str, new: str, words: str, tmp_path: Path
) -> None:
    path = small_audit(tmp_path, old=old, new=new)
    with pytest.raises(SettingsError) as raised:
        load_audit(path)
    assert str(raised.value).startswith(f"{path}: {words}")


def test_reports_come_in_the_order_asked_for_also_twice(audit: LoadedAudit) -> None:
    ids = ["c", "a", "c"]
    assert [report.subject.id for report in explain(audit, ids)] == ids


def test_each_subject_counts_as_done_once(audit: LoadedAudit) -> None:
    calls: list[int] = []
    explain(audit, ["a", "lonely", "a", "c"], done=lambda: calls.append(1))
    assert len(calls) == 3


def test_all_unknown_ids_are_named_at_once_with_the_file(audit: LoadedAudit) -> None:
    with pytest.raises(SubjectError) as raised:
        explain(audit, ["a", "nobody", "[red]", "\udcff"])
    message = str(raised.value)
    assert "nodes.csv: there is no node with the ids 'nobody', '[red]', '\\udcff'" in message
    assert "\n" not in message, "the ids of this graph hold line breaks"


def test_a_person_without_ties_is_told_so_in_words(audit: LoadedAudit) -> None:
    [report] = explain(audit, ["lonely"])
    assert report.note == "no_ties"
    assert not report.error
    assert not report.caveats
    assert report.search is not None
    assert report.counterfactuals == ()


def test_a_model_that_ties_do_not_move_explains_nobody(tmp_path: Path) -> None:
    audit = load_audit(small_audit(tmp_path, "ties"))
    [report] = explain(audit, ["a"])
    assert report.note == "ties_do_not_matter"
    assert report.search is None
    assert "ties_matter" in audit.probes.notes


def test_a_subject_with_answers_that_are_no_numbers_does_not_stop_the_others(
    tmp_path: Path,
) -> None:
    reports = explain(load_audit(small_audit(tmp_path, "some_nan")), IDS)
    failed = [report for report in reports if report.error]
    assert 0 < len(failed) < len(reports)
    for report in failed:
        assert "not a number" in report.error


def test_an_npz_audit_names_its_nodes_by_number(tmp_path: Path) -> None:
    sum_network(tmp_path / "model.onnx")
    x = np.random.default_rng(0).normal(size=(6, 5)).astype(np.float32)
    np.savez(tmp_path / "graph.npz", x=x, edge_index=np.array([[0, 1, 2], [1, 2, 3]]))
    path = tmp_path / "audit.toml"
    path.write_text(
        '[model]\npath = "model.onnx"\n[graph]\nnpz = "graph.npz"\n'
        '[decision]\nclasses = ["a", "b", "c"]\nfavourable = ["c"]\n',
        encoding="utf-8",
    )
    [report] = explain(load_audit(path), ["1"])
    assert report.subject.id == "1"


def test_where_no_tie_moves_the_answer_nothing_is_said_to_rest_on_one(tmp_path: Path) -> None:
    [report] = explain(load_audit(small_audit(tmp_path, trap="saturated")), ["a"])
    assert report.search is not None
    assert report.counterfactuals[0].relevance == 0
    assert report.moves_nothing
    assert report.note == "no_tie_moves"
    assert report.caveats == (), "removing ties changes nothing, so there is nothing to caution of"


def test_an_answer_that_ties_move_has_no_such_note(audit: LoadedAudit) -> None:
    [report] = explain(audit, ["a"])
    assert report.search is not None
    assert not report.moves_nothing
    assert report.note == ""
    assert report.caveats
