"""A packed answer is the answer to one graph alone, and both are what numpy computes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recourse_audit.errors import ModelError
from recourse_audit.graph.graph import Graph
from recourse_audit.graph.readers import read_graph
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.queries import Pool, Union, missing_loops, normalise, pool_of, whole
from recourse_audit.model.session import OnnxModel
from recourse_audit.settings import ModelSettings, load_settings
from tests.model.small_graphs import SumNetwork, all_rows, open_model, random_pool, random_union
from tests.onnx_models import sum_network

SAMPLES = Path(__file__).resolve().parents[2] / "sample_models"
# Those of one kind of node that take columns of the table as they are.
SAMPLE_MODELS = sorted(
    path
    for path in SAMPLES.glob("*/*.onnx")
    if path.parent.name not in ("lending_deployed", "hiring")
)
# What the cards of the samples ask whoever uses them to declare.
DECLARED: dict[str, dict[str, str]] = {
    "outside_normalised": {"self_loops": "add", "normalisation": "symmetric"},
}
FORMS: list[dict[str, Any]] = [
    {"form": "edges"},
    {"form": "rows"},
    {"form": "ends"},
    {"form": "weight"},
    {"form": "attributes"},
    {"form": "type"},
    {"form": "dense"},
    {"form": "batched"},
    {"form": "target"},
    {"form": "target", "target_shape": ()},
    {"form": "target", "target_shape": ("K",)},
    {"form": "target", "target_shape": (), "head": "score"},
    {"form": "target", "target_shape": ("K",), "head": "sigmoid"},
    {"form": "target", "nodes": 9},
    {"nodes": 9},
    {"nodes": 40},
    {"arcs": 16},
    {"arcs": 61},
    {"nodes": 8, "arcs": 16},
    {"nodes": 50, "arcs": 70},
    {"nodes": 50, "arcs": 70, "form": "rows"},
    {"nodes": 50, "arcs": 70, "form": "ends"},
    {"nodes": 50, "arcs": 70, "form": "weight"},
    {"nodes": 50, "arcs": 70, "form": "attributes"},
    {"nodes": 50, "arcs": 70, "form": "type"},
    {"nodes": 50, "arcs": 70, "form": "batched"},
    {"nodes": 7, "arcs": 16, "form": "weight"},
    {"nodes": 30, "form": "dense"},
    {"head": "softmax"},
    {"head": "log_softmax"},
    {"head": "sigmoid"},
    {"head": "score"},
    {"index": "int32"},
    {"index": "int32", "form": "type"},
    {"index": "int32", "form": "ends"},
    {"dtype": "float64"},
    {"dtype": "float64", "form": "weight"},
    {"dtype": "float16"},
    {"dtype": "float16", "form": "dense"},
    {"layers": 1},
    {"layers": 4, "hidden": 5},
    {"activation": "relu"},
    {"class_size": "C"},
]
TOLERANCE = {"float16": 0.1, "float32": 1e-5, "float64": 1e-10}
KNOWN = set(SumNetwork.__dataclass_fields__)


def described(form: dict[str, Any]) -> str:
    return "-".join(f"{key}={value}" for key, value in form.items())


def sample_name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


@pytest.mark.parametrize("form", FORMS, ids=described)
def test_a_packed_answer_is_the_answer_alone_and_what_numpy_computes(
    form: dict[str, Any], tmp_path: Path
) -> None:
    model = open_model(sum_network(tmp_path / "model.onnx", seed=3, **form))
    network = SumNetwork(seed=3, **{key: value for key, value in form.items() if key in KNOWN})
    random = np.random.default_rng(11)
    pool = random_pool(random)
    union = random_union(random, pool, 60)
    rows = all_rows(union)
    packed = QueryBatcher(model, pool)
    alone = QueryBatcher(model, pool, graphs_per_query=1)
    together, singly = packed.ask_raw(union, rows), alone.ask_raw(union, rows)
    expected = network.answer(pool, union)
    assert together.shape == expected.shape
    scale = max(1.0, float(np.abs(expected).max()))
    tolerance = TOLERANCE[form.get("dtype", "float32")] * scale
    np.testing.assert_allclose(together, singly, rtol=0, atol=tolerance)
    np.testing.assert_allclose(together, expected, rtol=0, atol=tolerance)
    if form.get("target_shape", (1,) if form.get("form") == "target" else ("K",)) == ("K",):
        assert packed.runs <= alone.runs


@pytest.mark.parametrize("normalisation", ["none", "symmetric", "row"])
@pytest.mark.parametrize("loops", ["none", "add"])
@pytest.mark.parametrize(
    "form",
    [
        {"form": "weight"},
        {"form": "dense"},
        {"form": "weight", "arcs": 60},
        {"form": "weight", "nodes": 40, "arcs": 80},
        {"form": "dense", "nodes": 20},
    ],
    ids=described,
)
def test_preparation_outside_the_model_is_what_its_definition_says(
    form: dict[str, Any], loops: str, normalisation: str, tmp_path: Path
) -> None:
    model = open_model(
        sum_network(tmp_path / "model.onnx", **form),
        self_loops=loops,
        normalisation=normalisation,
        tie_weights="column",
    )
    random = np.random.default_rng(5)
    pool = random_pool(random)
    union = random_union(random, pool, 40)
    rows = all_rows(union)
    prepared_pool, prepared = prepared_by_hand(pool, union, loops, normalisation)
    expected = SumNetwork(form="weight").answer(prepared_pool, prepared)
    for graphs_per_query in (None, 1):
        answer = QueryBatcher(model, pool, graphs_per_query=graphs_per_query).ask_raw(union, rows)
        np.testing.assert_allclose(answer, expected, rtol=1e-5, atol=1e-5)


def prepared_by_hand(
    pool: Pool, union: Union, loops: str, normalisation: str
) -> tuple[Pool, Union]:
    """Add loops and scale weights arc by arc; every arc becomes a tie of its own."""
    assert pool.weight is not None
    sources: list[int] = []
    targets: list[int] = []
    weights: list[float] = []
    arc_starts = [0]
    for graph in range(len(union)):
        first = len(sources)
        for arc in range(union.arc_starts[graph], union.arc_starts[graph + 1]):
            sources.append(int(union.sources[arc]))
            targets.append(int(union.targets[arc]))
            weights.append(float(pool.weight[union.ties[arc]]))
        for node in range(union.node_starts[graph], union.node_starts[graph + 1]):
            has_loop = any(
                a == b == node for a, b in zip(sources[first:], targets[first:], strict=True)
            )
            if loops == "add" and not has_loop:
                sources.append(node)
                targets.append(node)
                weights.append(1.0)
        arc_starts.append(len(sources))
    arriving: dict[int, float] = {}
    for target, weight in zip(targets, weights, strict=True):
        arriving[target] = arriving.get(target, 0.0) + weight
    if normalisation == "row":
        weights = [w / arriving[b] for b, w in zip(targets, weights, strict=True)]
    if normalisation == "symmetric":
        weights = [
            w / (arriving[a] * arriving[b]) ** 0.5 if arriving.get(a, 0) else 0.0
            for a, b, w in zip(sources, targets, weights, strict=True)
        ]
    prepared = Union(
        nodes=union.nodes,
        node_starts=union.node_starts,
        sources=np.array(sources),
        targets=np.array(targets),
        ties=np.arange(len(sources)),
        arc_starts=np.array(arc_starts),
    )
    return Pool(features=pool.features, weight=np.array(weights, np.float32)), prepared


def test_a_node_that_has_a_loop_gets_no_second_one() -> None:
    sources, targets = np.array([0, 1, 1, 2]), np.array([1, 1, 1, 0])
    assert missing_loops(sources, targets, 4).tolist() == [0, 2, 3]


def test_a_node_at_which_nothing_arrives_gets_zeros_and_no_nan() -> None:
    sources, targets = np.array([0, 2]), np.array([1, 1])
    for how in ("symmetric", "row"):
        scaled = normalise(np.ones(2), sources, targets, 3, how)
        assert np.isfinite(scaled).all()


def sample_settings(path: Path) -> ModelSettings:
    return ModelSettings.model_validate({"path": path, **DECLARED.get(path.stem, {})})


def sample_graph(path: Path) -> Graph:
    return read_graph(load_settings(path.parent / "audit.toml").graph)


@pytest.mark.parametrize("path", SAMPLE_MODELS, ids=sample_name)
def test_a_sample_model_answers_packed_graphs_as_it_answers_them_alone(path: Path) -> None:
    model = OnnxModel(sample_settings(path))
    fixed = model.signature.fixed_nodes is not None
    random = np.random.default_rng(2)
    pool = pool_of(sample_graph(path))
    union = random_union(random, pool, 40 if fixed else 300)
    rows = all_rows(union)
    together = QueryBatcher(model, pool).ask_raw(union, rows)
    singly = QueryBatcher(model, pool, graphs_per_query=1).ask_raw(union, rows)
    np.testing.assert_allclose(together, singly, rtol=1e-5, atol=1e-5)


def test_samples_with_the_same_weights_decide_alike_on_the_whole_graph() -> None:
    graph = sample_graph(SAMPLES / "lending" / "gcn.onnx")
    union = whole(graph)
    answers = {}
    for name in ("gcn", "fixed", "outside_normalised"):
        model = OnnxModel(sample_settings(SAMPLES / "lending" / f"{name}.onnx"))
        answers[name] = QueryBatcher(model, pool_of(graph)).ask_raw(union, all_rows(union))
    np.testing.assert_allclose(answers["fixed"], answers["gcn"], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(answers["outside_normalised"], answers["gcn"], rtol=1e-4, atol=1e-4)
    refused = (answers["gcn"].argmax(axis=1) == 0).mean()
    assert round(100 * refused, 1) == 28.9


@pytest.mark.parametrize("name", ["gcn", "fixed", "dense", "outside_normalised", "sigmoid", "gin"])
def test_a_sample_refuses_as_many_people_as_its_card_says(name: str) -> None:
    path = SAMPLES / "lending" / f"{name}.onnx"
    graph = sample_graph(path)
    union = whole(graph)
    answer = QueryBatcher(OnnxModel(sample_settings(path)), pool_of(graph)).ask_raw(
        union, all_rows(union)
    )
    approved = answer[:, 0] > 0.5 if answer.shape[1] == 1 else answer[:, 1] > answer[:, 0]
    card = (path.parent / "cards" / f"{name}.md").read_text(encoding="utf-8")
    assert f"It denies {100 * (1 - approved.mean()):.1f} % of the people." in card


def test_a_graph_larger_than_a_fixed_export_is_refused_with_a_remedy(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    pool = random_pool(random)
    union = random_union(random, pool, 1, largest=1, most_arcs=0)
    for form in ({"nodes": 3}, {"arcs": 4}):
        model = open_model(sum_network(tmp_path / "model.onnx", **form))  # type: ignore[arg-type]
        big = Union(
            nodes=np.arange(5),
            node_starts=np.array([0, 5]),
            sources=np.arange(5),
            targets=np.arange(5)[::-1].copy(),
            ties=np.zeros(5, np.int64),
            arc_starts=np.array([0, 5]),
        )
        with pytest.raises(ModelError, match=r"exported for exactly .* dynamic axes"):
            QueryBatcher(model, pool).ask_raw(big, np.arange(5))
        assert QueryBatcher(model, pool).ask_raw(union, np.arange(1)).shape == (1, 3)
