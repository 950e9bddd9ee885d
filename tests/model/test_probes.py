"""Each probe fails for the model made to fail it and for no other, and measures the depth."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recourse_audit.errors import ModelError
from recourse_audit.graph.readers import read_graph
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.probes import (
    probe,
)
from recourse_audit.model.queries import Pool, pool_of
from recourse_audit.model.session import OnnxModel
from recourse_audit.records.model import (
    ProbeReport,
)
from recourse_audit.settings import ModelSettings, load_settings
from tests.cases import long_after
from tests.model.small_graphs import all_rows, open_model, random_pool, random_union
from tests.model.test_packing import FORMS, SAMPLE_MODELS, described, sample_name, sample_settings
from tests.onnx_models import Sheet, sum_network

FAILS = {
    "dropout": "deterministic",
    "hidden_dropout": "deterministic",
    "tie_order": "tie_order",
    "ties": "ties_matter",
    "node_order": "node_order",
    "batch": "packing",
}


def probed(path: Path, pool: Pool | None = None, *, seed: int = 0, **declared: Any) -> ProbeReport:
    settings = ModelSettings(path=path, **declared)
    return probe(OnnxModel(settings), settings, pool, seed=seed)


def made_pool(seed: int) -> Pool:
    return random_pool(np.random.default_rng(seed + 100))


@pytest.mark.parametrize("trap", FAILS)
@pytest.mark.parametrize("seed", long_after(1, range(3)))
def test_a_trap_fails_its_own_probe_and_no_other(trap: str, seed: int, tmp_path: Path) -> None:
    path = sum_network(tmp_path / "model.onnx", trap=trap, seed=seed)
    for pool in (None, made_pool(seed)):
        report = probed(path, pool, seed=7 * seed)
        assert report.failed == (FAILS[trap],)
        assert FAILS[trap] in report.notes


@pytest.mark.parametrize("trap", FAILS)
def test_a_trap_is_found_whatever_the_head_and_the_form(trap: str, tmp_path: Path) -> None:
    variants: list[dict[str, Any]] = [
        {"head": "softmax"},
        {"form": "rows", "index": "int32"},
        {"head": "sigmoid"},
        {"dtype": "float64"},
        {"nodes": 60, "arcs": 120},
        {"layers": 1},
    ]
    for more in variants[:1] if "dropout" in trap else variants:
        path = sum_network(tmp_path / "model.onnx", trap=trap, seed=1, **more)
        assert probed(path).failed == (FAILS[trap],), more


@pytest.mark.parametrize("seed", long_after(4, range(12)))
def test_a_sound_model_passes_every_probe(seed: int, tmp_path: Path) -> None:
    layers = 1 + seed % 4
    path = sum_network(tmp_path / "model.onnx", seed=seed, layers=layers)
    for pool in (None, made_pool(seed)):
        report = probed(path, pool, seed=seed)
        assert report.failed == ()
        assert report.depth == layers
        assert report.notes == {}


@pytest.mark.parametrize("form", FORMS, ids=described)
def test_every_form_of_a_sound_model_passes_every_probe(
    form: dict[str, Any], tmp_path: Path
) -> None:
    path = sum_network(tmp_path / "model.onnx", **form)
    for pool in (None, made_pool(0)) if list(form) == ["form"] else (made_pool(0),):
        report = probed(path, pool)
        assert report.failed == ()
        room = min(form.get("nodes", 99), form.get("arcs", 99) // 2)
        assert report.depth == (form.get("layers", 2) if room > 8 else report.depth)


@pytest.mark.parametrize("activation", ["relu", "leaky"])
@pytest.mark.parametrize("layers", [1, 2, 3, 4])
@pytest.mark.parametrize("reduction", ["add", "max"])
@pytest.mark.parametrize("seed", long_after(1, range(2)))
def test_the_depth_is_the_number_of_layers(
    seed: int, layers: int, activation: str, reduction: str, tmp_path: Path
) -> None:
    path = sum_network(
        tmp_path / "model.onnx",
        layers=layers,
        seed=seed,
        activation=activation,
        reduction=reduction,
        hidden=16,
    )
    report = probed(path, made_pool(seed) if seed else None, seed=seed)
    assert report.depth == layers
    assert report.failed == ()


@pytest.mark.parametrize("hidden", [3, 16, 64, 130])
def test_the_depth_does_not_hang_on_the_last_bits_of_wide_layers(
    hidden: int, tmp_path: Path
) -> None:
    path = sum_network(tmp_path / "model.onnx", hidden=hidden, features=37, layers=3)
    assert probed(path).depth == 3


def test_last_bits_that_a_softmax_blows_up_do_not_fail_a_probe(tmp_path: Path) -> None:
    """Scores in the hundred thousands, two of them nearly equal in one row of 56."""
    path = sum_network(
        tmp_path / "model.onnx",
        trap="batch",
        layers=3,
        features=33,
        hidden=25,
        head="softmax",
        scale=0.05,
        seed=104,
    )
    assert probed(path, seed=104).failed == ("packing",)


@pytest.mark.parametrize(("value", "rows"), [(0.0, 1), (1.0, 30), (-40.0, 2), (5000.0, 30)])
@pytest.mark.parametrize("layers", [1, 3])
def test_the_depth_is_found_where_all_nodes_have_the_same_features(
    layers: int, value: float, rows: int, tmp_path: Path
) -> None:
    path = sum_network(tmp_path / "model.onnx", layers=layers)
    pool = replace(made_pool(0), features=np.full((rows, 5), value))
    assert probed(path, pool).depth == layers


def test_the_depth_is_found_where_nearly_all_nodes_have_the_same_features(tmp_path: Path) -> None:
    path = sum_network(tmp_path / "model.onnx", layers=2)
    features = np.zeros((20_000, 5))
    features[-1] = 1.0
    assert probed(path, replace(made_pool(0), features=features)).depth == 2


def test_a_model_without_ties_has_no_depth_among_equals_either(tmp_path: Path) -> None:
    path = sum_network(tmp_path / "model.onnx", trap="ties")
    report = probed(path, replace(made_pool(0), features=np.ones((30, 5))))
    assert report.depth == 0


def test_a_model_without_ties_has_no_depth(tmp_path: Path) -> None:
    report = probed(sum_network(tmp_path / "model.onnx", trap="ties"))
    assert report.depth == 0


def test_a_depth_without_bound_is_said_in_words(tmp_path: Path) -> None:
    report = probed(sum_network(tmp_path / "model.onnx", trap="batch"))
    assert report.depth is None
    assert "depth" in report.notes


def test_a_deep_model_has_a_depth_too_large_to_bound(tmp_path: Path) -> None:
    assert probed(sum_network(tmp_path / "model.onnx", layers=10, scale=0.1)).depth is None


def test_a_declared_depth_stands_unless_more_was_seen_and_a_difference_is_said(
    tmp_path: Path,
) -> None:
    path = sum_network(tmp_path / "model.onnx", layers=3)
    same, less, more = (probed(path, depth=depth) for depth in (3, 2, 5))
    assert (same.depth, same.notes) == (3, {})
    assert less.depth == 3
    assert less.notes == {"declared": {"declared": 2, "used": 3, "measured": 3}}
    assert more.depth == 5
    assert more.notes == {"declared": {"declared": 5, "used": 5, "measured": 3}}


@pytest.mark.parametrize(
    "size", [{"nodes": 1}, {"nodes": 3}, {"nodes": 3, "arcs": 4}, {"arcs": 2}, {"arcs": 7}]
)
def test_a_fixed_size_too_small_to_measure_the_depth_says_so(
    size: dict[str, int], tmp_path: Path
) -> None:
    path = sum_network(tmp_path / "model.onnx", **size)  # type: ignore[arg-type]
    report = probed(path)
    assert report.depth is None
    assert "no_room" in report.notes


@pytest.mark.parametrize("path", SAMPLE_MODELS, ids=sample_name)
def test_a_sample_model_passes_every_probe_with_two_hops(path: Path) -> None:
    settings = sample_settings(path)
    pool = pool_of(read_graph(load_settings(path.parent / "audit.toml").graph))
    for seed, given in ((0, None), (1, pool), (2, pool)):
        report = probe(OnnxModel(settings), settings, given, seed=seed)
        assert report.failed == ()
        assert report.depth == 2


def standardised(path: Path, *, trap: bool = False) -> Path:
    """Write a model that expects incomes near 40,000 and saturates on everything else."""
    sheet = Sheet(seed=2)
    x = sheet.input("x", "float32", ["N", 3])
    edges = sheet.input("edge_index", "int64", [2, "E"])
    shifted = sheet.op("Sub", x, sheet.constant([40_000, 0.3, 5], "float32"))
    scaled = sheet.op("Div", shifted, sheet.constant([12_000, 0.2, 4], "float32"))
    values = sheet.op("MatMul", sheet.op("Clip", scaled, *_limits(sheet)), sheet.weight(3, 2))
    values = _one_hot_sum(sheet, edges, values, matter=not trap)
    return sheet.save(path, sheet.op("Softmax", values, axis=1), ["N", 2])


def _limits(sheet: Sheet) -> tuple[str, str]:
    return sheet.constant(-3, "float32"), sheet.constant(3, "float32")


def _one_hot_sum(sheet: Sheet, edges: str, values: str, *, matter: bool = True) -> str:
    """Sum over ties as exporters without a scatter do: a product with one-hot ends."""
    count = sheet.op("Squeeze", sheet.op("Shape", values, start=0, end=1))
    switch = sheet.constant([0.0, 1.0 if matter else 0.0], "float32")
    ends = sheet.op("OneHot", edges, count, switch, axis=-1)
    source = sheet.op("Gather", ends, sheet.constant(0, "int64"), axis=0)
    target = sheet.op("Gather", ends, sheet.constant(1, "int64"), axis=0)
    messages = sheet.op("MatMul", source, values)
    received = sheet.op("MatMul", sheet.op("Transpose", target, perm=[1, 0]), messages)
    return sheet.op("Add", values, received)


def test_ties_are_seen_to_matter_in_real_units_without_a_graph(tmp_path: Path) -> None:
    for seed in range(5):
        report = probed(standardised(tmp_path / "model.onnx"), seed=seed)
        assert (report.failed, report.depth) == ((), 1)
        blind = probed(standardised(tmp_path / "model.onnx", trap=True), seed=seed)
        assert blind.failed == ("ties_matter",)


def foreign(path: Path) -> Path:
    """Write a model as none of the samples is: one-hot products, pairs in rows, odd names."""
    sheet = Sheet(seed=4)
    edges = sheet.input("args_0_1:0", "int32", ["unk__7", 2])
    x = sheet.input("args_0:0", "float64", ["unk__6", 4])
    pairs = sheet.op("Transpose", sheet.op("Cast", edges, to=7), perm=[1, 0])
    values = sheet.op("MatMul", sheet.op("Cast", x, to=1), sheet.weight(4, 6))
    values = sheet.op("Tanh", _one_hot_sum(sheet, pairs, values))
    values = sheet.op("MatMul", values, sheet.weight(6, 2))
    values = sheet.op("Sigmoid", _one_hot_sum(sheet, pairs, values))
    total = sheet.op("ReduceSum", values, sheet.constant([1], "int64"), keepdims=1)
    return sheet.save(path, sheet.op("Div", values, total), [None, None])


def test_a_model_exported_as_no_sample_is_understood(tmp_path: Path) -> None:
    path = foreign(tmp_path / "model.onnx")
    settings = ModelSettings(path=path)
    model = OnnxModel(settings)
    report = probe(model, settings)
    assert (report.failed, report.depth) == ((), 2)
    assert [port.role for port in model.signature.inputs] == ["edges", "features"]
    assert model.signature.output.kind == "probabilities"


def test_a_model_that_must_not_be_packed_is_asked_one_graph_a_query(tmp_path: Path) -> None:
    path = sum_network(tmp_path / "model.onnx", trap="batch")
    model = open_model(path)
    assert not probe(model, ModelSettings(path=path)).packing
    random = np.random.default_rng(0)
    pool = random_pool(random)
    union = random_union(random, pool, 30)
    rows = all_rows(union)
    batcher = QueryBatcher(model, pool, graphs_per_query=1)
    answer = batcher.ask_raw(union, rows)
    assert batcher.runs == len(union)
    for low, high in zip(union.node_starts[:-1], union.node_starts[1:], strict=True):
        np.testing.assert_allclose(answer[low:high].mean(axis=0), 0, atol=1e-4)
    packed = QueryBatcher(model, pool).ask_raw(union, rows)
    assert np.abs(packed - answer).max() > 0.1


def test_probing_twice_with_one_seed_gives_one_report(tmp_path: Path) -> None:
    for trap in (None, "dropout"):
        path = sum_network(tmp_path / "model.onnx", trap=trap)
        assert probed(path, seed=3) == probed(path, seed=3)


def test_a_model_that_answers_nan_is_refused(tmp_path: Path) -> None:
    path = sum_network(tmp_path / "model.onnx", trap="nan")
    for pool in (None, made_pool(0)):
        with pytest.raises(ModelError, match="NaN or infinite") as caught:
            probed(path, pool)
        assert caught.value.exit_code == 2
        assert str(path) in str(caught.value)


def test_a_model_that_answers_nan_to_some_is_probed_on_the_others(tmp_path: Path) -> None:
    path = sum_network(tmp_path / "model.onnx", trap="some_nan", layers=2)
    report = probed(path, made_pool(0))
    assert (report.failed, report.depth) == ((), 2)


def test_a_pool_of_one_node_is_enough_for_probes_that_need_no_other(tmp_path: Path) -> None:
    path = sum_network(tmp_path / "model.onnx")
    report = probed(path, Pool(features=np.ones((1, 5))))
    assert report.failed == ()


def test_a_model_that_does_not_say_its_feature_count_needs_a_graph(tmp_path: Path) -> None:
    sheet = Sheet()
    x = sheet.input("x", "float32", ["N", "F"])
    edges = sheet.input("edge_index", "int64", [2, "E"])
    path = sheet.save(tmp_path / "model.onnx", _one_hot_sum(sheet, edges, x), ["N", "F"])
    with pytest.raises(ModelError, match="how many features it takes; give it a graph"):
        probed(path)
    assert probed(path, made_pool(0)).failed == ()
