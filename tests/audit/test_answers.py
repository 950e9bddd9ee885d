"""What is asked of the whole graph: once, or of a model with one row per query, hardly ever."""

from pathlib import Path

import numpy as np
import pytest

from recourse_audit.audit import large_graphs as answers
from recourse_audit.audit.large_graphs import whole_answers
from recourse_audit.audit.load import LoadedAudit, load_audit
from recourse_audit.model.edits import receptive_field
from recourse_audit.model.queries import Query
from recourse_audit.model.session import OnnxModel
from tests.onnx_models import sum_network

PEOPLE = 60


def ring_audit(folder: Path, form: str = "edges") -> LoadedAudit:
    """A ring of people with three more ties, and a model of some form."""
    sum_network(folder / "model.onnx", form=form)
    x = np.random.default_rng(0).normal(size=(PEOPLE, 5)).astype(np.float32)
    ends = np.stack((np.arange(PEOPLE), (np.arange(PEOPLE) + 1) % PEOPLE))
    ends = np.concatenate((ends, np.array([[0, 7, 20], [30, 44, 51]])), axis=1)
    np.savez(folder / "graph.npz", x=x, edge_index=ends)
    (folder / "audit.toml").write_text(
        '[model]\npath = "model.onnx"\n[graph]\nnpz = "graph.npz"\n'
        '[decision]\nclasses = ["a", "b", "c"]\nfavourable = ["c"]\n',
        encoding="utf-8",
    )
    return load_audit(folder / "audit.toml")


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of nodes of every question that is put to a model."""
    asked: list[int] = []
    ask = OnnxModel.ask

    def noted(model: OnnxModel, query: Query) -> object:
        asked.append(len(query.nodes))
        return ask(model, query)

    monkeypatch.setattr(OnnxModel, "ask", noted)
    return asked


def test_a_model_with_one_row_per_query_is_asked_about_fields_and_answers_the_same(
    tmp_path: Path, sizes: list[int]
) -> None:
    everybody = np.arange(PEOPLE)
    expected = whole_answers(ring_audit(tmp_path), everybody)
    audit = ring_audit(tmp_path, form="target")
    assert audit.batcher.one_row_per_query
    sizes.clear()
    assert np.array_equal(whole_answers(audit, everybody), expected)
    assert sum(size == PEOPLE for size in sizes) == answers.COMPARED
    assert len(sizes) == PEOPLE + answers.COMPARED


def test_where_a_field_does_not_give_the_whole_graphs_answer_the_whole_graph_is_asked(
    tmp_path: Path, sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    everybody = np.arange(PEOPLE)
    expected = whole_answers(ring_audit(tmp_path), everybody)
    audit = ring_audit(tmp_path, form="target")
    monkeypatch.setattr(
        answers, "receptive_field", lambda graph, node, _: receptive_field(graph, node, 0)
    )
    sizes.clear()
    assert np.array_equal(whole_answers(audit, everybody), expected)
    assert sum(size == PEOPLE for size in sizes) == PEOPLE + answers.COMPARED
