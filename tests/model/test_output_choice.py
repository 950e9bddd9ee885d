"""Decisions are read from the output that holds them, or from none."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recourse_audit.errors import ModelError
from recourse_audit.model.outputs import unexplained_share
from recourse_audit.model.probes import probe
from recourse_audit.model.roles import OutputPort
from recourse_audit.model.session import OnnxModel
from recourse_audit.settings import ModelSettings
from tests.model.small_graphs import random_pool
from tests.onnx_models import sum_network
from tests.onnx_outputs import Head, layered_network

EMBEDDED = (("conv1", 16), ("embedding", 16))
LOGITS = Head(name="logits", of="embedding", how="linear")


def chosen(
    path: Path, *, classes: int | None = None, graph: bool = False, **declared: Any
) -> OutputPort:
    settings = ModelSettings(path=path, **declared)
    model = OnnxModel(settings)
    pool = random_pool(np.random.default_rng(0)) if graph else None
    probe(model, settings, pool, classes=classes)
    return model.signature.output


def refusal(path: Path, *, classes: int | None = None, **declared: Any) -> str:
    with pytest.raises(ModelError) as caught:
        chosen(path, classes=classes, **declared)
    assert caught.value.exit_code == 2
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    return message


def listed(path: Path, **declared: Any) -> dict[str, OutputPort]:
    """Every output as it is known after probing, whether one was taken or not."""
    settings = ModelSettings(path=path, **declared)
    model = OnnxModel(settings)
    with suppress(ModelError):
        probe(model, settings)
    return {port.name: port for port in model.signature.outputs}


@pytest.mark.parametrize("graph", [False, True])
def test_a_hidden_layer_is_not_audited_because_it_comes_first(graph: bool, tmp_path: Path) -> None:
    for seed in range(4):
        path = layered_network(tmp_path / "karate.onnx", seed=seed)
        output = chosen(path, classes=4, graph=graph)
        assert (output.name, output.columns, output.classes, output.hops) == ("final", 4, 4, 3)
        assert output.taken == (
            "nodes 3 hops away can move it, and no other output for 4 classes sees as far"
        )


@pytest.mark.parametrize("classes", [None, 2, 3])
def test_without_the_right_number_of_classes_no_layer_is_beyond_doubt(
    classes: int | None, tmp_path: Path
) -> None:
    path = layered_network(tmp_path / "karate.onnx")
    message = refusal(path, classes=classes)
    assert "which of them holds the decision is not beyond doubt" in message
    assert '"conv1": 4 columns, 1 hop, "conv2": 4 columns, 2 hops' in message
    for name in ("conv1", "conv2", "conv3", "final"):
        assert f'output_name = "{name}"' in message


def test_the_line_in_the_message_is_the_one_that_settles_it(tmp_path: Path) -> None:
    path = layered_network(tmp_path / "karate.onnx")
    line = refusal(path).rpartition(" or ")[2]
    key, _, value = line.partition(" = ")
    output = chosen(path, **{key: json.loads(value)})
    assert (output.name, output.taken) == ("final", "named in the settings")


def test_a_layer_that_sees_farther_than_all_others_is_the_last(tmp_path: Path) -> None:
    layers = (("first", 3), ("second", 3), ("third", 3))
    path = layered_network(tmp_path / "model.onnx", layers=layers, heads=())
    for classes in (None, 3):
        assert chosen(path, classes=classes).name == "third"
    assert {name: port.hops for name, port in listed(path).items()} == {
        "first": 1,
        "second": 2,
        "third": 3,
    }


def test_an_embedding_beside_the_decision_is_no_error_once_classes_are_declared(
    tmp_path: Path,
) -> None:
    for order in (["embedding", "logits"], ["logits", "embedding"]):
        path = layered_network(
            tmp_path / "model.onnx", layers=EMBEDDED, heads=[LOGITS], order=order
        )
        assert chosen(path, classes=2).name == "logits"
        assert 'output_name = "logits"' in refusal(path)


def test_an_embedding_as_wide_as_a_wrong_declaration_is_not_taken(tmp_path: Path) -> None:
    order = ["embedding", "logits"]
    path = layered_network(tmp_path / "model.onnx", layers=EMBEDDED, heads=[LOGITS], order=order)
    assert '"logits" may come after "embedding"' in refusal(path, classes=16)


def test_weights_of_ties_codes_and_matrices_beside_the_decision_are_no_error(
    tmp_path: Path,
) -> None:
    heads = [
        Head(name="attention", of="embedding", how="tie", columns=2),
        Head(name="similar", of="embedding", how="matrix"),
        LOGITS,
        Head(name="code", of="logits", how="code"),
    ]
    order = ["attention", "similar", "code", "logits"]
    path = layered_network(tmp_path / "model.onnx", layers=EMBEDDED, heads=heads, order=order)
    for classes in (None, 2):
        output = chosen(path, classes=classes)
        assert output.name == "logits"
        assert output.taken == "the only output with one row of scores per node"
    rows = {name: (port.rows, port.columns) for name, port in listed(path).items()}
    assert rows == {
        "attention": ("tie", 2),
        "similar": ("other", None),
        "code": ("node", 1),
        "logits": ("node", 2),
    }


@pytest.mark.parametrize("form", ["softmax", "log_softmax"])
def test_scores_and_their_probabilities_are_one_decision(form: str, tmp_path: Path) -> None:
    heads = [LOGITS, Head(name="chances", of="logits", how=form)]
    for order in (["chances", "logits"], ["logits", "chances"]):
        path = layered_network(tmp_path / "model.onnx", layers=EMBEDDED, heads=heads, order=order)
        output = chosen(path)
        assert (output.name, output.kind) == ("logits", "logits")
        assert output.taken.endswith('; "chances" has the same decision')
    if form == "softmax":
        assert chosen(path, output="probabilities").name == "chances"


def test_of_several_outputs_only_one_with_a_single_column_is_a_score(tmp_path: Path) -> None:
    heads = [LOGITS, Head(name="points", of="embedding", how="linear", columns=1)]
    order = ["logits", "points"]
    path = layered_network(tmp_path / "model.onnx", layers=EMBEDDED, heads=heads, order=order)
    assert chosen(path, classes=2, output="score").name == "points"
    assert 'output_name = "points"' in refusal(path, classes=2)


def test_two_heads_with_the_same_number_of_classes_are_in_doubt(tmp_path: Path) -> None:
    heads = [LOGITS, Head(name="other_task", of="embedding", how="linear")]
    order = ["logits", "other_task"]
    path = layered_network(tmp_path / "model.onnx", layers=EMBEDDED, heads=heads, order=order)
    message = refusal(path, classes=2)
    assert 'output_name = "logits" or output_name = "other_task"' in message
    assert chosen(path, classes=2, output_name="other_task").name == "other_task"


def test_rows_that_sum_to_one_are_not_passed_over_for_a_layer_that_sees_farther(
    tmp_path: Path,
) -> None:
    layers = (("conv1", 2), ("conv2", 2))
    heads = [Head(name="chances", of="conv1", how="softmax")]
    path = layered_network(
        tmp_path / "model.onnx", layers=layers, heads=heads, order=["chances", "conv2"]
    )
    assert '"chances" may come after "conv2"' in refusal(path, classes=2)


def test_a_saturated_output_is_not_taken_to_come_first(tmp_path: Path) -> None:
    layers = (("conv1", 4), ("conv2", 4), ("conv3", 4))
    path = layered_network(tmp_path / "model.onnx", layers=layers, heads=(), gain=1e4)
    settings = ModelSettings(path=path)
    pool = random_pool(np.random.default_rng(0))
    with pytest.raises(ModelError, match="not beyond doubt"):
        probe(OnnxModel(settings), settings, pool, classes=4)


def test_a_model_that_answers_at_random_and_has_several_outputs_is_refused(tmp_path: Path) -> None:
    path = layered_network(tmp_path / "model.onnx", dropout=True)
    assert "the model answers at random" in refusal(path, classes=4)
    assert chosen(path, output_name="final").name == "final"


@pytest.mark.parametrize("batch", [True, False])
def test_a_model_with_one_row_per_graph_is_called_what_it_is(batch: bool, tmp_path: Path) -> None:
    heads = [Head(name="toxic", of="conv3", how="graph")]
    path = layered_network(tmp_path / "model.onnx", heads=heads, order=["toxic"], batch=batch)
    message = refusal(path)
    assert 'the output "toxic" has one row per graph: the model decides on whole graphs' in message
    assert "Decisions on nodes can be audited, and nothing else" in message
    both = layered_network(tmp_path / "both.onnx", heads=heads, batch=batch)
    assert "the model may decide on whole graphs" in refusal(both, classes=2)
    assert 'output_name = "conv3"' in refusal(both, classes=2)
    assert chosen(both, classes=2, output_name="conv3").name == "conv3"
    assert "the model decides on whole graphs" in refusal(both, output_name="toxic")


def test_a_graph_head_with_other_classes_than_declared_is_no_rival(tmp_path: Path) -> None:
    heads = [LOGITS, Head(name="size", of="embedding", how="graph", columns=5)]
    path = layered_network(
        tmp_path / "model.onnx", layers=EMBEDDED, heads=heads, order=["size", "logits"], batch=True
    )
    assert chosen(path, classes=2).name == "logits"
    assert "the model may decide on whole graphs" in refusal(path)


def test_a_model_that_is_asked_about_pairs_is_called_what_it_is(tmp_path: Path) -> None:
    heads = [Head(name="link", of="conv3", how="tie", columns=1)]
    path = layered_network(tmp_path / "model.onnx", heads=heads, order=["link"], labels=True)
    roles = {port.name: port.role for port in OnnxModel(ModelSettings(path=path)).signature.inputs}
    assert roles == {"x": "features", "edge_index": "edges", "edge_label_index": "edge_labels"}
    message = refusal(path)
    assert 'the output "link" has one row per tie: the model decides on ties, not on' in message
    both = layered_network(
        tmp_path / "both.onnx", heads=heads, order=["conv3", "link"], labels=True
    )
    assert "the model may decide on ties" in refusal(both, classes=2)
    assert chosen(both, classes=2, output_name="conv3").name == "conv3"


def test_a_second_list_of_ties_with_another_name_is_not_taken_for_pairs_to_score(
    tmp_path: Path,
) -> None:
    from onnx import load, save

    heads = [Head(name="link", of="conv3", how="tie", columns=1)]
    path = layered_network(tmp_path / "model.onnx", heads=heads, order=["link"], labels=True)
    model = load(path)
    for node in model.graph.node:
        for place, name in enumerate(node.input):
            if name == "edge_label_index":
                node.input[place] = "edge_index_works_at"
    model.graph.input[2].name = "edge_index_works_at"
    save(model, path)
    with pytest.raises(ModelError, match=r"edge_index_works_at\), as models of several"):
        OnnxModel(ModelSettings(path=path))


def test_a_sequence_of_maps_is_named_and_skipped(tmp_path: Path) -> None:
    heads = [
        LOGITS,
        Head(name="chances", of="logits", how="softmax"),
        Head(name="output_probability", of="chances", how="zipmap"),
    ]
    order = ["output_probability", "logits"]
    path = layered_network(tmp_path / "model.onnx", layers=EMBEDDED, heads=heads, order=order)
    assert chosen(path).name == "logits"
    skipped = listed(path)["output_probability"]
    assert (skipped.rows, skipped.dtype) == (None, "seq(map(int64,tensor(float)))")
    assert "which is not read" in skipped.looks
    only = layered_network(tmp_path / "only.onnx", layers=EMBEDDED, heads=heads, order=order[:1])
    with pytest.raises(ModelError, match=r"sequence of maps.*export the model again with zipmap"):
        OnnxModel(ModelSettings(path=only))
    with pytest.raises(ModelError, match="sequence of maps"):
        OnnxModel(ModelSettings(path=path, output_name="output_probability"))


def test_an_output_with_rows_of_some_nodes_only_is_described(tmp_path: Path) -> None:
    heads = [Head(name="seeds", of="conv3", how="first")]
    path = layered_network(tmp_path / "model.onnx", heads=heads, order=["seeds"])
    message = refusal(path)
    assert 'no output has one row of scores per node ("seeds": a table of 3 by 2 for 11' in message


@pytest.mark.parametrize("form", ["edges", "dense", "target", "batched", "weight", "ends"])
@pytest.mark.parametrize("sizes", [{}, {"nodes": 9, "arcs": 24}, {"nodes": 9}])
def test_the_rows_of_every_form_of_export_are_seen_to_be_nodes(
    form: str, sizes: dict[str, int], tmp_path: Path
) -> None:
    if form == "dense":
        sizes = {key: value for key, value in sizes.items() if key == "nodes"}
    path = sum_network(tmp_path / "model.onnx", form=form, **sizes)  # type: ignore[arg-type]
    output = chosen(path)
    assert (output.rows, output.columns) == ("node", 3)
    assert output.taken == "the only output with one row of scores per node"


def test_what_is_computed_from_an_output_is_told_from_what_is_not() -> None:
    random = np.random.default_rng(0)
    wide = random.normal(size=(96, 8))
    narrow = wide @ random.normal(size=(8, 2))
    assert unexplained_share(narrow, wide) < 1e-9
    assert unexplained_share(wide, narrow) > 0.5
    assert np.isnan(unexplained_share(np.zeros((96, 2)), wide))
