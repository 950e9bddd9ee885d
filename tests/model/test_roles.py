"""Every input gets the right role with a reason, and a wrong guess can be set right."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recourse_audit.errors import ModelError
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.roles import InputPort, assign_roles
from recourse_audit.settings import ModelSettings
from tests.model.small_graphs import SumNetwork, all_rows, open_model, random_pool, random_union
from tests.onnx_models import Sheet, sum_network

TIES = {"x": "features", "edge_index": "edges"}
ROLES: dict[str, dict[str, str]] = {
    "edges": TIES,
    "rows": TIES,
    "batched": TIES,
    "ends": {"x": "features", "src": "sources", "dst": "targets"},
    "dense": {"x": "features", "adj": "adjacency"},
    "weight": {**TIES, "edge_weight": "edge_weight"},
    "attributes": {**TIES, "edge_attr": "edge_attributes"},
    "type": {**TIES, "edge_type": "edge_type"},
    "target": {**TIES, "target": "target"},
}
SIZES: list[dict[str, int]] = [{}, {"nodes": 9}, {"arcs": 14}, {"nodes": 9, "arcs": 14}]
TYPES: list[dict[str, str]] = [
    {},
    {"index": "int32"},
    {"dtype": "float64"},
    {"dtype": "float16"},
]


def roles_of(path: Path, **declared: Any) -> dict[str, str | None]:
    return {port.name: port.role for port in open_model(path, **declared).signature.inputs}


@pytest.mark.parametrize("form", ROLES)
def test_every_form_gets_its_roles_whatever_the_sizes_and_types(form: str, tmp_path: Path) -> None:
    for sizes, types in itertools.product(SIZES, TYPES):
        path = sum_network(tmp_path / "model.onnx", form=form, **sizes, **types)  # type: ignore[arg-type]
        model = open_model(path)
        assert roles_of(path) == ROLES[form], (sizes, types)
        assert all(port.why for port in model.signature.inputs)
        ties = form != "dense"
        assert model.signature.fixed_nodes == sizes.get("nodes")
        assert model.signature.fixed_arcs == (sizes.get("arcs") if ties else None)
        assert model.signature.feature_count == 5
        edges = model.signature.port("edges")
        assert (edges is not None and edges.by_row) == (form == "rows")


@pytest.mark.parametrize("form", ROLES)
@pytest.mark.parametrize("style", ["arg{}", "onnx::Gather_{}", "input.{}", "args_{}:0"])
def test_names_that_say_nothing_leave_the_role_to_type_and_rank(
    form: str, style: str, tmp_path: Path
) -> None:
    names = {name: style.format(place) for place, name in enumerate(ROLES[form])}
    for sizes in SIZES:
        path = sum_network(tmp_path / "model.onnx", form=form, names=names, **sizes)  # type: ignore[arg-type]
        assert roles_of(path) == {names[name]: role for name, role in ROLES[form].items()}


@pytest.mark.parametrize("shape", [(), (1,), ("K",)])
def test_a_target_is_known_as_a_scalar_a_single_or_a_list(shape: Any, tmp_path: Path) -> None:
    for names in ({}, {"target": "onnx::Gather_7"}):
        path = sum_network(tmp_path / "model.onnx", form="target", target_shape=shape, names=names)
        assert "target" in roles_of(path).values()


def port(name: str, dtype: str, *shape: int | str | None) -> InputPort:
    return InputPort(name=name, dtype=dtype, shape=shape)


def guessed(*ports: InputPort, complete: bool = True) -> list[str | None]:
    settings = ModelSettings(path=Path("model.onnx"))
    return [port.role for port in assign_roles(ports, settings, complete=complete)]


X = port("x", "float32", "N", 5)
EDGES = port("edge_index", "int64", 2, "E")


def test_ends_may_be_called_source_and_target() -> None:
    source, target = port("source", "int64", "E"), port("target", "int64", "E")
    assert guessed(X, source, target) == ["features", "sources", "targets"]
    assert guessed(X, target, source) == ["features", "targets", "sources"]


def test_ends_and_a_target_are_told_apart_in_any_order() -> None:
    ports = {
        "features": X,
        "sources": port("src", "int64", "E"),
        "targets": port("dst", "int64", "E"),
        "target": port("target", "int64", "K"),
    }
    for order in itertools.permutations(ports):
        assert guessed(*(ports[role] for role in order)) == list(order)


def test_attributes_of_ties_that_come_before_the_features_do_not_take_their_role() -> None:
    named = port("edge_attr", "float32", "E", 3)
    unnamed = port("arg0", "float32", "E", 3)
    for attributes in (named, unnamed):
        assert guessed(attributes, X, EDGES) == ["edge_attributes", "features", "edges"]
    nodes = port("arg1", "float32", "N", 5)
    assert guessed(unnamed, nodes, EDGES) == ["edge_attributes", "features", "edges"]
    ends = port("a0", "int64", "E"), port("a1", "int64", "E")
    assert guessed(unnamed, nodes, *ends) == ["edge_attributes", "features", "sources", "targets"]


def test_a_list_of_integers_is_told_by_the_size_it_shares() -> None:
    for size, role in (("E", "edge_type"), ("N", "batch"), ("K", "target")):
        assert guessed(X, EDGES, port("arg2", "int64", size)) == ["features", "edges", role]


def test_the_adjacency_matrix_is_known_by_its_shape_or_its_open_end() -> None:
    for matrix in (
        port("arg0", "float32", "N", "N"),
        port("arg0", "float32", 9, 9),
        port("arg0", "float32", None, None),
        port("arg0", "float32", "a", "b"),
    ):
        nodes = port("arg1", "float32", 9 if matrix.shape[0] == 9 else "N", 5)
        assert guessed(matrix, nodes) == ["adjacency", "features"]
        assert guessed(nodes, matrix) == ["features", "adjacency"]


def test_as_many_features_as_nodes_are_not_taken_for_an_adjacency_matrix() -> None:
    nodes = port("arg0", "float32", 7, 7)
    assert guessed(nodes, port("arg1", "float32", 7, 7)) == ["features", "adjacency"]
    assert guessed(nodes, EDGES) == ["features", "edges"]
    ends = port("a0", "int64", 12), port("a1", "int64", 12)
    assert guessed(nodes, *ends) == ["features", "sources", "targets"]


def test_a_dense_model_may_take_lists_of_nodes_beside_its_matrix() -> None:
    matrix = port("adj", "float32", "N", "N")
    lists = port("batch", "int64", "N"), port("n_id", "int64", "N")
    assert guessed(X, matrix, *lists) == ["features", "adjacency", "batch", "node_ids"]


def test_a_leading_axis_of_one_is_seen_on_every_input() -> None:
    ports = (
        port("arg0", "float32", 1, "N", 5),
        port("arg1", "int64", 1, 2, "E"),
        port("arg2", "float32", 1, "E", 3),
        port("arg3", "float32", 1, "E"),
        port("arg4", "int64", 1, "E"),
    )
    roles = ["features", "edges", "edge_attributes", "edge_weight", "edge_type"]
    assert guessed(*ports) == roles
    settings = ModelSettings(path=Path("model.onnx"))
    assert all(port.has_batch_axis for port in assign_roles(ports, settings))


def test_integer_features_are_known_beside_the_ties() -> None:
    codes = port("arg0", "int64", "N", 5)
    assert guessed(codes, EDGES) == ["features", "edges"]


def test_counts_and_targets_are_told_apart_by_name() -> None:
    count, target = port("num_nodes", "int64"), port("node_idx", "int64")
    assert guessed(X, EDGES, count, target) == ["features", "edges", "node_count", "target"]


def test_a_wrong_guess_is_overridden_by_the_settings(tmp_path: Path) -> None:
    names = {"x": "h", "edge_index": "e", "edge_type": "seed"}
    path = sum_network(tmp_path / "model.onnx", form="type", names=names)
    assert roles_of(path)["seed"] != "edge_type"
    model = open_model(path, roles={"seed": "edge_type"})
    assert {p.name: p.role for p in model.signature.inputs}["seed"] == "edge_type"
    declared = next(p for p in model.signature.inputs if p.name == "seed")
    assert declared.why == "declared in the settings"
    random = np.random.default_rng(0)
    pool = random_pool(random)
    union = random_union(random, pool, 10)
    answer = QueryBatcher(model, pool).ask_raw(union, all_rows(union))
    np.testing.assert_allclose(answer, SumNetwork(form="type").answer(pool, union), atol=1e-4)


def test_a_declared_role_is_taken_before_any_guess(tmp_path: Path) -> None:
    path = sum_network(tmp_path / "model.onnx", form="ends", names={"src": "dst", "dst": "src"})
    swapped = {"dst": "sources", "src": "targets"}
    assert roles_of(path, roles=swapped) == {"x": "features", **swapped}


def test_a_leading_axis_may_have_a_name_instead_of_a_size() -> None:
    ports = (
        port("arg0", "float32", "batch", "N", 5),
        port("arg1", "int64", "batch", 2, "E"),
        port("arg2", "int64", "batch", "E"),
    )
    assert guessed(*ports) == ["features", "edges", "edge_type"]
    several = port("arg0", "float32", 4, "N", 5)
    assert guessed(several, EDGES, complete=False) == [None, "edges"]


@pytest.mark.parametrize("batch_shape", [["N"], [None]])
def test_the_batch_list_tells_packed_graphs_apart(batch_shape: Any, tmp_path: Path) -> None:
    """Each node gets its own score less the mean of its graph, so packing needs the list."""
    sheet = Sheet()
    x = sheet.input("x", "float32", ["N", 4])
    edges = sheet.input("edge_index", "int64", [2, "E"])
    batch = sheet.input("batch", "int64", batch_shape)
    ones = sheet.op("Cast", sheet.op("Equal", *_both_ways(sheet, batch)), to=1)
    sizes = sheet.op("ReduceSum", ones, sheet.constant([1], "int64"), keepdims=1)
    mean = sheet.op("Div", sheet.op("MatMul", ones, x), sizes)
    ties = sheet.op("ReduceSum", sheet.op("Cast", edges, to=1), keepdims=0)
    still = sheet.op("Mul", ties, sheet.constant(0, "float32"))
    path = sheet.save(
        tmp_path / "model.onnx", sheet.op("Add", sheet.op("Sub", x, mean), still), [None, 4]
    )
    model = open_model(path)
    assert model.signature.port("batch") is not None
    random = np.random.default_rng(1)
    pool = random_pool(random, features=4)
    union = random_union(random, pool, 20)
    answer = QueryBatcher(model, pool).ask_raw(union, all_rows(union))
    starts = union.node_starts
    for low, high in itertools.pairwise(starts):
        values = pool.features[union.nodes[low:high]]
        np.testing.assert_allclose(answer[low:high], values - values.mean(axis=0), atol=1e-5)


def _both_ways(sheet: Sheet, values: str) -> tuple[str, str]:
    column = sheet.op("Unsqueeze", values, sheet.constant([1], "int64"))
    return column, sheet.op("Unsqueeze", values, sheet.constant([0], "int64"))


@pytest.mark.parametrize("shape", [[], [1]])
def test_the_node_count_and_the_node_ids_are_given_when_asked_for(
    shape: Any, tmp_path: Path
) -> None:
    sheet = Sheet()
    x = sheet.input("x", "float32", ["N", 2])
    edges = sheet.input("edge_index", "int64", [2, "E"])
    count = sheet.op("Cast", sheet.input("num_nodes", "int64", shape), to=1)
    ids = sheet.op("Cast", sheet.input("n_id", "int64", ["N"]), to=1)
    ids = sheet.op("Unsqueeze", ids, sheet.constant([1], "int64"))
    ties = sheet.op("ReduceSum", sheet.op("Cast", edges, to=1), keepdims=0)
    still = sheet.op("Mul", ties, sheet.constant(0, "float32"))
    both = sheet.op("Concat", ids, sheet.op("Expand", count, sheet.op("Shape", ids)), axis=1)
    zeros = sheet.op("Mul", x, sheet.constant(0, "float32"))
    out = sheet.op("Add", sheet.op("Add", both, still), zeros)
    model = open_model(sheet.save(tmp_path / "model.onnx", out, [None, 2]))
    random = np.random.default_rng(1)
    pool = random_pool(random, features=2)
    union = random_union(random, pool, 5)
    answer = QueryBatcher(model, pool).ask_raw(union, all_rows(union))
    assert answer[:, 0].tolist() == union.nodes.tolist()
    assert set(answer[:, 1].tolist()) == {len(union.nodes)}


def test_an_adjacency_matrix_may_have_sources_in_its_rows(tmp_path: Path) -> None:
    path = sum_network(tmp_path / "model.onnx", form="dense")
    random = np.random.default_rng(4)
    pool = random_pool(random)
    union = random_union(random, pool, 20)
    mirrored = type(union)(
        nodes=union.nodes,
        node_starts=union.node_starts,
        sources=union.targets,
        targets=union.sources,
        ties=union.ties,
        arc_starts=union.arc_starts,
    )
    by_source = QueryBatcher(open_model(path, adjacency_rows="sources"), pool)
    by_target = QueryBatcher(open_model(path), pool)
    np.testing.assert_array_equal(
        by_source.ask_raw(union, all_rows(union)), by_target.ask_raw(mirrored, all_rows(union))
    )


def test_roles_that_the_model_does_not_have_or_cannot_play_are_refused(tmp_path: Path) -> None:
    path = sum_network(tmp_path / "model.onnx")
    for roles, words in (
        ({"y": "features"}, "does not have; choose from 'x', 'edge_index'"),
        ({"edge_index": "edge_type"}, "cannot be edge_type, which has at most 1 axes"),
        ({"edge_index": "features", "x": "features"}, "x and edge_index both have the role"),
        ({"x": "adjacency"}, "no input takes node features"),
    ):
        with pytest.raises(ModelError, match=words) as caught:
            open_model(path, roles=roles)
        assert str(path) in str(caught.value)
