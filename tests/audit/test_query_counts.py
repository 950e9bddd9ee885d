"""A report says how many graphs the model was asked about, and the model itself agrees."""

from pathlib import Path

import numpy as np
import pytest

from recourse_audit.audit import report
from recourse_audit.audit.large_graphs import whole_answers
from recourse_audit.audit.load import LoadedAudit, load_audit
from recourse_audit.audit.own_data import alone_answers
from recourse_audit.audit.report import Reporter, explain
from recourse_audit.graph.graph import Floats
from recourse_audit.model.decisions import Decisions
from recourse_audit.model.queries import Query
from recourse_audit.model.session import OnnxModel
from recourse_audit.search.moexp import Block, subtree_bounds
from tests.audits import IDS, lending_audit, small_audit
from tests.onnx_models import sum_network

ADDS = """
[recourse]
max_changes = 2
draws = 3
[[recourse.ties]]
kind = "payment"
allow = ["drop", "add"]
[search]"""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of all queries that reached a model, in graphs.

    Without those about everybody's own data, which are an audit's and no subject's.
    """
    sizes: list[int] = []
    real = OnnxModel.ask

    def counted(model: OnnxModel, query: Query) -> Floats:
        answer = real(model, query)
        sizes.append(query.graphs)
        return answer

    def about_everybody(audit: LoadedAudit, decisions: Decisions) -> Floats | None:
        before = len(sizes)
        answers = alone_answers(audit, decisions)
        del sizes[before:]
        return answers

    monkeypatch.setattr(OnnxModel, "ask", counted)
    monkeypatch.setattr(report, "alone_answers", about_everybody)
    return sizes


def test_the_figure_is_what_the_model_was_asked(tmp_path: Path, asked: list[int]) -> None:
    audit = load_audit(lending_audit(tmp_path))
    asked.clear()
    [found] = explain(audit, ["P0004"])
    assert found.queries == sum(asked)
    assert found.search is not None
    assert found.recourse is not None
    # Draws, side effects, confirmations and caveats come on top of the two searches.
    assert found.recourse.options
    assert found.queries > found.search.queries + found.recourse.evaluations
    again = explain(audit, ["P0004"])
    assert [one.queries for one in again] == [found.queries]


def test_a_change_tried_by_hand_is_one_more_graph(tmp_path: Path, asked: list[int]) -> None:
    audit = load_audit(lending_audit(tmp_path))
    [plain] = explain(audit, ["P0004"])
    asked.clear()
    [changed] = explain(audit, ["P0004"], what_if=["savings=9000"])
    assert plain.repeats.calls == changed.repeats.calls
    assert changed.queries == sum(asked) == plain.queries + 1


@pytest.mark.parametrize("form", ["edges", "target", "weight", "fixed"])
@pytest.mark.parametrize("trap", [None, "ties", "some_nan", "batch"])
def test_every_kind_of_model_is_counted_to_the_last_graph(
    form: str, trap: str | None, tmp_path: Path, asked: list[int]
) -> None:
    path = small_audit(tmp_path, old="[search]", new=ADDS)
    size = {"nodes": 14, "arcs": 60, "form": "edges"} if form == "fixed" else {"form": form}
    sum_network(tmp_path / "model.onnx", trap=trap, **size)
    audit = load_audit(path)
    for name in IDS:
        asked.clear()
        [found] = explain(audit, [name])
        near = found.ego_network
        # Neighbours are asked about for the picture alone, where the model answers one by one.
        for_the_picture = near.shown - 1 if form == "target" and near is not None else 0
        assert found.queries == sum(asked) - for_the_picture, name


def figures_by_block(audit: LoadedAudit, subjects: list[int]) -> dict[int, int]:
    """The figures of some subjects who are searched for in one block."""
    some = np.array(subjects)
    block = Block(subjects=some, bounds=subtree_bounds(audit.graph, audit.scope.max_nodes)[some])
    reporter = Reporter(audit, whole_answers(audit, some))
    return {subject: report.queries for subject, report in reporter.on_block(block)}


def test_the_figure_does_not_depend_on_who_shares_a_block(tmp_path: Path) -> None:
    audit = load_audit(small_audit(tmp_path, old="[search]", new=ADDS))
    everyone = list(range(len(IDS)))
    together = figures_by_block(audit, everyone)
    assert sorted(together) == everyone
    for some in ([0], [3, 5], [9, 2, 4], everyone[::-1]):
        assert figures_by_block(audit, some) == {subject: together[subject] for subject in some}
