"""Own data alone, and data and places exchanged: equal to brute force, and named with care."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recourse_audit.audit import exchanges, own_data
from recourse_audit.audit.answers import whole_answers
from recourse_audit.audit.exchanges import drawn_pairs
from recourse_audit.audit.loaded import LoadedAudit, load_audit, open_audit
from recourse_audit.audit.own_data import (
    FourValues,
    OwnDataReports,
    alone_decisions,
    larger_part,
)
from recourse_audit.audit.reporter import explain
from recourse_audit.graph.arrays import Floats, Graph
from recourse_audit.graph.readers import from_arrays
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.onnx import OnnxModel
from recourse_audit.model.queries import Union, pool_of, whole
from recourse_audit.records.own_data import OwnData
from recourse_audit.settings import parse_settings
from tests.audits import IDS, small_audit
from tests.caveats.models import arithmetic_model
from tests.onnx_models import degree_network, sum_network

TIES = [[0, 1], [0, 1], [1, 2], [2, 3], [3, 0], [3, 4], [4, 5], [5, 1], [6, 6], [2, 2]]
PEOPLE = 9
DRAWS = 32


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
    reports = OwnDataReports(audit, audit.rule.over(answers))
    shared = reports.shared(people if subjects is None else np.array(subjects))
    return {subject: reports.on(subject, one) for subject, one in shared.items()}


def asked(audit: LoadedAudit, data: int, place: int) -> Floats:
    """The answer with one person's features at somebody's place, on the whole graph."""
    features = audit.graph.features.copy()
    features[place] = audit.graph.features[data]
    graph = replace(audit.graph, features=features)
    batcher = QueryBatcher(audit.model, pool_of(graph), graphs_per_query=1)
    return batcher.ask(whole(graph), np.array([place]))


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
    pairs = drawn_pairs(len(people), audit.settings.own_data.draws, audit.scope.seed)
    assert (pairs.data != pairs.place).all()
    drawn = list(zip(pairs.data.tolist(), pairs.place.tolist(), strict=True))
    for subject, one in found.items():
        alone = without_ties(audit, subject)
        assert one.alone is not None
        assert [one.alone.decision] == decisions.names_of(alone, subject)
        assert one.alone.favourable == decisions.favourable(alone, subject)[0]
        assert one.alone.value == pytest.approx(audit.rule.values(alone)[0], abs=1e-5)
        usable = [(d, p) for d, p in drawn if subject not in (d, p)]
        assert one.draws == len(usable)
        assert one.cells is not None
        assert one.parts is not None
        cells = {
            "as_is": [(subject, subject)] * len(usable),
            "own_data_elsewhere": [(subject, p) for _, p in usable],
            "others_data_here": [(d, subject) for d, _ in usable],
            "neither": usable,
        }
        values = {}
        for name, several in cells.items():
            rows = np.concatenate([asked(audit, data, place) for data, place in several])
            about = np.array([place for _, place in several])
            if audit.rule.name == "cut_off_by":
                about = np.array([data for data, _ in several])
            values[name] = audit.rule.values(rows)
            cell = getattr(one.cells, name)
            assert cell.mean == pytest.approx(values[name].mean(), abs=1e-5)
            assert cell.favourable == pytest.approx(decisions.favourable(rows, about).mean())
            assert cell.low <= cell.mean <= cell.high
        own = values["own_data_elsewhere"] - values["neither"]
        place = values["others_data_here"] - values["neither"]
        assert one.parts.own.mean == pytest.approx(own.mean(), abs=1e-5)
        assert one.parts.surroundings.mean == pytest.approx(place.mean(), abs=1e-5)
        total = one.cells.as_is.mean - one.cells.neither.mean
        parts = (one.parts.own, one.parts.surroundings, one.parts.interaction)
        assert sum(part.mean for part in parts) == pytest.approx(total, abs=1e-5)
        # Student's quantiles for 95 % are between 1.96 and 2.37 for 8 draws or more.
        error = own.std(ddof=1) / np.sqrt(len(own))
        half = (one.parts.own.high - one.parts.own.low) / 2
        assert 1.95 * error - 1e-5 <= half <= 2.37 * error + 1e-5


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
    """A cut-off by a column goes with the data; under a quota, who is at a place gives way."""
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


def test_draws_are_the_same_for_everybody_and_change_with_the_seed() -> None:
    one, again, other = drawn_pairs(50, 32, 7), drawn_pairs(50, 32, 7), drawn_pairs(50, 32, 8)
    assert np.array_equal(one.data, again.data)
    assert np.array_equal(one.place, again.place)
    assert not np.array_equal(one.data, other.data)
    assert len(drawn_pairs(1, 32, 0)) == 0


def test_two_people_are_too_few_to_exchange_with(tmp_path: Path) -> None:
    graph = from_arrays(np.arange(10.0).reshape(2, 5), [[0], [1]])
    found = found_by(audit_of(graph, sum_network(tmp_path / "model.onnx")))
    assert found[0].cells is None
    assert found[0].alone is not None
    assert "fewer than 8 usable draws" in found[0].reason


def test_a_large_graph_is_not_asked_about_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchanges, "MOST_ARCS", 10)
    graph = random_graph(directed=False)
    order = audit_of(graph, sum_network(tmp_path / "order.onnx", trap="node_order"))
    [found] = found_by(order, [0]).values()
    assert found.alone is None
    assert found.cells is None
    assert "too large" in found.reason
    dense = audit_of(graph, sum_network(tmp_path / "dense.onnx", form="dense"))
    [found] = found_by(dense, [0]).values()
    assert found.alone is not None
    assert found.cells is None
    assert "too large" in found.reason
    decisions = order.rule.over(whole_answers(order, np.arange(PEOPLE)))
    assert [*alone_decisions(order, decisions)] == [None] * PEOPLE


def test_a_random_model_is_not_asked(tmp_path: Path) -> None:
    audit = audit_of(
        random_graph(directed=False), sum_network(tmp_path / "model.onnx", trap="dropout")
    )
    [found] = found_by(audit, [0]).values()
    assert (found.alone, found.cells) == (None, None)
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


def values(as_is: float, elsewhere: float, here: float, neither: float) -> FourValues:
    """Sixteen draws with a little noise that all cells of a draw share."""
    noise = np.random.default_rng(0).normal(0, 0.01, 16)
    return FourValues(
        as_is=as_is, elsewhere=elsewhere + noise, here=here + noise, neither=neither + noise
    )


@pytest.mark.parametrize(
    ("cells", "larger"),
    [
        ((0.7, 0.6, 0.3, 0.2), "own"),
        ((0.7, 0.3, 0.6, 0.2), "surroundings"),
        ((0.2, 0.7, 0.1, 0.6), "surroundings"),
        # Either or, and both at once: the interaction is as large as a part.
        ((0.2, 0.8, 0.8, 0.2), None),
        ((0.9, 0.1, 0.1, 0.1), None),
        # From the other end, around the answer as it is, the place does nothing at all.
        ((0.3, 0.3, 0.05, 0.15), None),
        # The two parts are alike.
        ((0.6, 0.4, 0.4, 0.2), None),
    ],
)
def test_a_part_is_named_only_if_the_four_answers_name_one(
    cells: tuple[float, float, float, float], larger: str | None
) -> None:
    assert larger_part(values(*cells)) == larger


def test_no_part_is_named_if_the_draws_do_not_tell() -> None:
    draws = np.random.default_rng(1).normal(0, 1, (2, 16))
    some = FourValues(
        as_is=0.71, elsewhere=0.5 + draws[0], here=0.4 + draws[1], neither=np.full(16, 0.2)
    )
    assert larger_part(some) is None


def test_an_additive_model_has_a_larger_part_and_a_product_has_none(tmp_path: Path) -> None:
    """Own features spread widely and neighbours' little; then the same, multiplied."""
    values = np.array([30.0, 1, 2, 1, 2, -8, 4, -1, 0, 3, 5, 2])[:, None]
    graph = from_arrays(values, [[0, 1, 3, 5, 7, 9, 10], [1, 2, 4, 6, 8, 10, 11]])
    rule = {"classes": ["no", "yes"]}
    sums = arithmetic_model(tmp_path / "sums.onnx", layers=1, size=0.001)
    [found] = found_by(audit_of(graph, sums, **rule), [0]).values()
    assert found.parts is not None
    assert found.parts.interaction.mean == pytest.approx(0, abs=1e-6)
    assert found.larger == "own"
    times = arithmetic_model(tmp_path / "times.onnx", layers=1, size=0.0001, times_own=True)
    [found] = found_by(audit_of(graph, times, **rule), [10]).values()
    assert found.parts is not None
    assert abs(found.parts.interaction.mean) > 0
    assert found.larger is None


def test_a_model_that_ties_do_not_matter_to_names_own_data(tmp_path: Path) -> None:
    audit = audit_of(
        random_graph(directed=False), sum_network(tmp_path / "model.onnx", trap="ties")
    )
    for one in found_by(audit).values():
        assert one.parts is not None
        assert (one.parts.surroundings.mean, one.parts.interaction.mean) == (0.0, 0.0)
        assert one.larger in ("own", None)
    assert "own" in {one.larger for one in found_by(audit).values()}


def test_reports_carry_it_and_draws_can_be_left_out(tmp_path: Path) -> None:
    audit = load_audit(small_audit(tmp_path))
    [report] = explain(audit, [IDS[0]])
    assert report.own_data is not None
    assert report.own_data.cells is not None
    text = "[own_data]\ndraws = 0\n\n[search]"
    audit = load_audit(small_audit(tmp_path, old="[search]", new=text))
    [fewer] = explain(audit, [IDS[0]])
    assert fewer.own_data is not None
    assert fewer.own_data == OwnData(alone=report.own_data.alone)
    # Two sets of draws that all subjects share, one at the place, and the place as it is.
    assert report.queries == fewer.queries + 3 * DRAWS + 1
