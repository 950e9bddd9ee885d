"""Adjusted effects equal what arithmetic says they are."""

from pathlib import Path

import numpy as np
import pytest

from recourse_audit.audit.caveats import Effects, Removal
from recourse_audit.graph.graph import Graph
from recourse_audit.graph.readers import from_arrays
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.decisions import Decisions
from recourse_audit.records.subject import AdjustedEffect
from recourse_audit.settings import CaveatSettings
from tests.audit.arithmetic_model import arithmetic_model
from tests.decisions import decisions_over
from tests.search.engine import open_batcher

SIZE = 0.001
SMALLEST = SIZE / 4


def path_graph(features: list[float]) -> Graph:
    """A path 0 - 1 - 2, and nodes without ties that only the population knows."""
    return from_arrays(np.array(features)[:, None], [[0, 1], [1, 2]])


def removal_of_the_end(graph: Graph) -> Removal:
    return Removal(
        subject=0, decision=1, nodes=np.arange(3), pairs=np.array([0, 1]), kept=np.array([0])
    )


def desk_of(tmp_path: Path, graph: Graph, *, times_own: bool = False) -> QueryBatcher:
    path = arithmetic_model(tmp_path / "model.onnx", times_own=times_own, size=SIZE)
    return open_batcher(path, graph, output="probabilities")


def likeliest(graph: Graph) -> Decisions:
    """The rule that takes the likelier of two classes."""
    return decisions_over(np.zeros((graph.node_count, 2)), ["yes"], ["no", "yes"], graph=graph)


def effect_of(
    graph: Graph, batcher: QueryBatcher, settings: CaveatSettings | None = None, depth: int = 2
) -> tuple[list[int], AdjustedEffect | None]:
    chosen = settings or CaveatSettings(smallest_effect=SMALLEST)
    effects = Effects(graph, batcher, likeliest(graph), depth, chosen, seed=3)
    [(confounders, effect)] = effects.measure([removal_of_the_end(graph)])
    return confounders.tolist(), effect


def test_an_additive_model_holds_and_moves_by_what_is_removed(tmp_path: Path) -> None:
    graph = path_graph([1, 2, -3, 4, -5, 6, 2, 2])
    confounders, effect = effect_of(graph, desk_of(tmp_path, graph))
    assert confounders == [0, 1]
    assert effect is not None
    # Node 2 reaches the subject by one walk of two steps, so its removal takes -3 away once.
    assert effect.unadjusted == pytest.approx(3 * SIZE, abs=1e-6)
    assert effect.adjusted == pytest.approx(3 * SIZE, abs=1e-6)
    assert effect.high - effect.low < 1e-5
    assert (effect.agreeing, effect.draws, effect.grade) == (1.0, 60, "holds")


def test_an_effect_that_turns_with_the_subjects_own_features_reverses(tmp_path: Path) -> None:
    graph = path_graph([1, 1, 2, -1, -1, -1, -1, -1, -1, -1, -1, -1])
    _, effect = effect_of(graph, desk_of(tmp_path, graph, times_own=True))
    assert effect is not None
    assert effect.unadjusted == pytest.approx(-2 * SIZE, abs=1e-6)
    assert effect.low > 0
    assert effect.agreeing < 0.5
    assert effect.grade == "reverses"


def test_the_adjusted_effect_is_the_mean_over_the_population(tmp_path: Path) -> None:
    # The subject's own is too small to hold or reverse, so that the grade is never settled.
    graph = path_graph([-0.1, 1, 2, -1, 3, 0.5, -2, 4])
    settings = CaveatSettings(draws=6000, smallest_effect=SMALLEST)
    _, effect = effect_of(graph, desk_of(tmp_path, graph, times_own=True), settings)
    assert effect is not None
    expected = -2 * SIZE * float(graph.features.mean())
    assert effect.low - 5e-5 < expected < effect.high + 5e-5
    assert effect.high - effect.low < 3e-4
    assert effect.agreeing == pytest.approx(float((graph.features < -0.5).mean()), abs=0.03)


def test_a_stratum_keeps_draws_among_those_alike(tmp_path: Path) -> None:
    features = [1.0, 1, 2, *[1.0] * 5, *[-1.0] * 40]
    region = np.array(["a"] * 8 + ["b"] * 40)
    plain = path_graph(features)
    graph = from_arrays(plain.features, [[0, 1], [1, 2]], attributes={"region": region})
    batcher = desk_of(tmp_path, graph, times_own=True)
    _, everyone = effect_of(graph, batcher)
    _, alike = effect_of(graph, batcher, CaveatSettings(stratum="region", smallest_effect=SMALLEST))
    assert everyone is not None
    assert alike is not None
    assert everyone.grade == "reverses"
    assert alike.grade == "holds"


def test_one_layer_confounds_nothing_and_asks_nothing(tmp_path: Path) -> None:
    graph = path_graph([1, 2, 3, 4])
    batcher = desk_of(tmp_path, graph)
    asked = batcher.graphs
    assert effect_of(graph, batcher, depth=1) == ([], None)
    assert batcher.graphs == asked


def test_without_draws_the_confounders_are_named_and_nothing_is_asked(tmp_path: Path) -> None:
    graph = path_graph([1, 2, 3, 4])
    batcher = desk_of(tmp_path, graph)
    asked = batcher.graphs
    assert effect_of(graph, batcher, CaveatSettings(draws=0)) == ([0, 1], None)
    assert batcher.graphs == asked


def test_several_removals_are_measured_as_each_is_alone(tmp_path: Path) -> None:
    graph = path_graph([1, 2, -3, 4, -5])
    batcher = desk_of(tmp_path, graph, times_own=True)
    effects = Effects(graph, batcher, likeliest(graph), 2, CaveatSettings(), seed=0)
    one = removal_of_the_end(graph)
    all_of_it = Removal(
        subject=0, decision=0, nodes=one.nodes, pairs=one.pairs, kept=np.empty(0, np.int64)
    )
    together = effects.measure([one, all_of_it])
    for removal, (confounders, effect) in zip((one, all_of_it), together, strict=True):
        [(same, alone)] = effects.measure([removal])
        assert same.tolist() == confounders.tolist()
        assert alone == effect
