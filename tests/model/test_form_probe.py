"""The probe finds the form in which shared fields give a model's answers, or that none does."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from recourse_audit.graph.graph import Graph
from recourse_audit.graph.readers import read_graph
from recourse_audit.model.decisions import Decisions
from recourse_audit.model.edited_graph import EditedGraph
from recourse_audit.model.probes import probe
from recourse_audit.model.queries import Pool, pool_of
from recourse_audit.model.session import OnnxModel
from recourse_audit.records.model import ProbeReport
from recourse_audit.settings import ModelSettings, load_settings
from tests.cases import long_after
from tests.decisions import decisions_over
from tests.model.small_graphs import open_model, random_pool
from tests.model.test_edited_graph import DEGREE, PLAIN, a_world
from tests.model.test_packing import SAMPLE_MODELS, sample_name, sample_settings
from tests.onnx_models import degree_network, sum_network
from tests.onnx_networks import network


def probed(path: Path, pool: Pool | None = None, *, seed: int = 0) -> ProbeReport:
    settings = ModelSettings(path=path)
    return probe(OnnxModel(settings), settings, pool, seed=seed)


def nobody_decided(graph: Graph) -> Decisions:
    return decisions_over(np.zeros((graph.node_count, 3)), ["c"], ["a", "b", "c"], graph=graph)


def a_pool(*, scale: float = 1.0, seed: int = 0) -> Pool:
    pool = random_pool(np.random.default_rng(seed + 100))
    return replace(pool, features=pool.features * scale)


@pytest.mark.parametrize("layers", long_after(2, [1, 3, 2, 4]))
@pytest.mark.parametrize("kind", [*PLAIN, *DEGREE, "weighed_mean", "degree_of_some"])
def test_the_form_of_an_architecture_is_found(kind: str, layers: int, tmp_path: Path) -> None:
    path = network(tmp_path / "model.onnx", kind, layers=layers, seed=layers)
    report = probed(path, a_pool())
    assert report.depth == layers
    assert report.sender_degree == (kind not in PLAIN)


@pytest.mark.parametrize("kind", ["gcn", "gat"])
def test_the_form_is_found_without_a_graph(kind: str, tmp_path: Path) -> None:
    assert probed(network(tmp_path / "model.onnx", kind)).sender_degree == (kind == "gcn")


@pytest.mark.parametrize("kind", ["out_degree", "second_degree", "both_ways"])
@pytest.mark.parametrize("layers", long_after(2, [1, 3, 2]))
def test_a_model_that_looks_beyond_arriving_arcs_is_caught(
    kind: str, layers: int, tmp_path: Path
) -> None:
    """By how many arcs leave a sender, by its neighbours' degrees, or along arcs turned round."""
    for seed in range(3):
        path = network(tmp_path / "model.onnx", kind, layers=layers, seed=seed)
        world = a_world(path, seed, features=5)
        for pool in (a_pool(seed=seed), *([None] if seed == 0 else [])):
            report = probed(path, pool, seed=seed)
            assert report.sender_degree is None
            edited = EditedGraph(world.graph, world.batcher, report, nobody_decided(world.graph))
            assert not edited.allows("shared")


@pytest.mark.parametrize(
    "form",
    [
        {"trap": "batch"},
        {"form": "dense"},
        {"nodes": 60, "arcs": 120},
        {"arcs": 120},
        {"form": "target"},
        {"trap": "tie_order"},
        {"trap": "node_order"},
        {"trap": "dropout"},
    ],
    ids=str,
)
def test_exports_that_hold_no_shared_fields_are_caught(
    form: dict[str, int | str], tmp_path: Path
) -> None:
    path = sum_network(tmp_path / "model.onnx", **form)  # type: ignore[arg-type]
    assert probed(path, a_pool()).sender_degree is None


@pytest.mark.parametrize("head", ["logits", "softmax"])
@pytest.mark.parametrize("scale", [1e-3, 1e-2, 1.0, 30.0, 1e3, 1e5])
def test_a_gcn_never_passes_for_plain_whatever_the_scale_of_its_features(
    scale: float, head: str, tmp_path: Path
) -> None:
    """Probabilities that are nearly equal, or nearly 0 and 1, hide how messages are weighed."""
    for seed in range(4):
        path = network(tmp_path / "model.onnx", "gcn", seed=seed, head=head)
        degree = probed(path, a_pool(scale=scale, seed=seed), seed=seed).sender_degree
        # A softmax that gives 0 and 1 only tells nothing, so that no form may be used.
        assert degree is True or (degree is None and head == "softmax" and scale > 100)


@pytest.mark.parametrize(
    ("kind", "expected"), [("gcn", True), ("weighed_mean", True), ("sage", False), ("gin", False)]
)
def test_the_form_is_found_where_all_nodes_have_the_same_features(
    kind: str, expected: bool, tmp_path: Path
) -> None:
    """A mean of equal features is the same however they are weighed, until an edit changes one."""
    path = network(tmp_path / "model.onnx", kind)
    pool = replace(a_pool(), features=np.full((30, 5), 2.0))
    report = probed(path, pool)
    assert (report.depth, report.sender_degree) == (2, expected)


def test_models_of_depth_0_have_a_form(tmp_path: Path) -> None:
    for pool in (None, a_pool()):
        untied = probed(sum_network(tmp_path / "model.onnx", trap="ties"), pool)
        assert (untied.depth, untied.sender_degree) == (0, False)
        counted = probed(degree_network(tmp_path / "model.onnx"), pool)
        assert (counted.depth, counted.sender_degree) == (0, True)


def test_a_node_without_ties_that_gets_no_number_hides_no_form(tmp_path: Path) -> None:
    path = network(tmp_path / "model.onnx", "bare_mean")
    world = a_world(path, 1, features=5)
    report = probed(path, pool_of(world.graph))
    assert report.sender_degree is False


@pytest.mark.parametrize("path", SAMPLE_MODELS, ids=sample_name)
def test_the_form_of_every_sample_is_found(path: Path) -> None:
    graph = read_graph(load_settings(path.parent / "audit.toml").graph)
    settings = sample_settings(path)
    report = probe(open_model(**settings.model_dump(exclude_unset=True)), settings, pool_of(graph))
    expected = {"dense": None, "fixed": None, "gat": False, "gin": False, "sage": False}
    assert report.sender_degree == expected.get(path.stem, True)
