"""Raw answers of every kind are told apart, and become the same log-probabilities."""

from pathlib import Path

import numpy as np
import pytest

from recourse_audit.errors import ModelError
from recourse_audit.model.batching import SMALLEST_PROBABILITY, QueryBatcher, as_answers, guess_kind
from recourse_audit.model.probe_graphs import invent_pools
from recourse_audit.model.probes import identify_output, probe
from recourse_audit.model.session import OnnxModel
from recourse_audit.settings import ModelSettings, OutputKind
from tests.model.small_graphs import (
    SumNetwork,
    all_rows,
    open_model,
    random_pool,
    random_union,
)
from tests.onnx_models import Sheet, ends, sum_network

KINDS: dict[str, OutputKind] = {
    "logits": "logits",
    "score": "logits",
    "softmax": "probabilities",
    "sigmoid": "probabilities",
    "log_softmax": "log_probabilities",
}


@pytest.mark.parametrize("head", KINDS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_kind_of_output_is_told_from_answers_with_a_reason(
    head: str, dtype: str, tmp_path: Path
) -> None:
    for seed in range(4):
        path = sum_network(tmp_path / "model.onnx", head=head, dtype=dtype, seed=seed)
        model = open_model(path)
        random = np.random.default_rng(seed)
        pools = [random_pool(random)] if seed % 2 else invent_pools(model, random)
        identify_output(model, ModelSettings(path=path), pools, random)
        output = model.signature.output
        columns = 1 if head in ("sigmoid", "score") else 3
        assert output.kind == KINDS[head]
        assert output.why
        assert output.columns == columns
        assert output.classes == max(columns, 2)


def test_the_kind_can_be_declared(tmp_path: Path) -> None:
    path = sum_network(tmp_path / "model.onnx", head="sigmoid")
    settings = ModelSettings(path=path, output="logits")
    model = open_model(path)
    probe(model, settings)
    assert (model.signature.output.kind, model.signature.output.why) == (
        "logits",
        "declared in the settings",
    )


def test_every_head_leads_to_the_same_log_probabilities(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    pool = random_pool(random)
    union = random_union(random, pool, 30)
    answers = {}
    for head in KINDS:
        path = sum_network(tmp_path / "model.onnx", head=head, dtype="float64")
        model = open_model(path)
        identify_output(model, ModelSettings(path=path), [pool], random)
        batcher = QueryBatcher(model, pool)
        answers[head] = batcher.ask(union, all_rows(union))
        assert answers[head].dtype == np.float64
        assert answers[head].shape == (len(union.nodes), batcher.answer_width)
    likely = np.exp(answers["logits"]) > 1e-9
    for head in ("softmax", "log_softmax"):
        np.testing.assert_allclose(answers[head][likely], answers["logits"][likely], atol=1e-6)
    sure = np.exp(answers["score"]) > 1e-9
    np.testing.assert_allclose(answers["sigmoid"][sure], answers["score"][sure], atol=1e-6)
    score = SumNetwork(head="score").answer(pool, union)[:, 0]
    second_wins = answers["score"][:, 1] > answers["score"][:, 0]
    assert second_wins.tolist() == (score > 0).tolist()


@pytest.mark.parametrize("size", ["C", None])
def test_a_symbolic_number_of_classes_is_counted_in_the_answers(
    size: str | None, tmp_path: Path
) -> None:
    path = sum_network(tmp_path / "model.onnx", classes=4, class_size=size or "unknown")
    model = open_model(path)
    probe(model, ModelSettings(path=path))
    assert model.signature.output.classes == 4


def test_kinds_are_told_apart_by_hand() -> None:
    third = np.full((5, 3), 1 / 3)
    assert guess_kind(third)[0] == "probabilities"
    assert guess_kind(np.log(third))[0] == "log_probabilities"
    assert guess_kind(third * 2)[0] == "logits"
    assert guess_kind(third - 1)[0] == "logits"
    assert guess_kind(np.array([[0.0], [1.0]]))[0] == "probabilities"
    assert guess_kind(np.array([[0.5], [1.5]]))[0] == "logits"
    assert guess_kind(np.array([[0.5], [-0.5]]))[0] == "logits"


def test_extreme_answers_stay_finite_and_a_nan_stays_a_nan() -> None:
    far = np.array([[1e4, -1e4], [-1e30, 1e30]])
    logs = as_answers(far, "logits")
    np.testing.assert_allclose(logs, [[0, -2e4], [-2e30, 0]])
    floor = np.log(SMALLEST_PROBABILITY)
    np.testing.assert_allclose(as_answers(np.array([[0.0, 1.0]]), "probabilities"), [[floor, 0]])
    np.testing.assert_allclose(as_answers(np.array([[0.0]]), "probabilities"), [[0, floor]])
    np.testing.assert_allclose(as_answers(np.array([[-800.0]]), "logits"), [[0, -800]])
    for kind in KINDS.values():
        for columns in (1, 3):
            assert np.isnan(as_answers(np.full((2, columns), np.nan), kind)).all()


def test_raw_answers_are_not_changed_by_reading_them() -> None:
    for kind in KINDS.values():
        raw = np.array([[0.2, 0.8]])
        as_answers(raw, kind)
        assert raw.tolist() == [[0.2, 0.8]]


def two_outputs(path: Path) -> Path:
    """Write a model that gives an embedding first, then a code, then the scores of its classes."""
    from onnx import TensorProto, helper, save

    sheet = Sheet()
    x = sheet.input("x", "float32", ["N", 4])
    source, target = ends(sheet, sheet.input("edge_index", "int64", [2, "E"]))
    both = sheet.op("ReduceSum", sheet.op("Add", source, target), keepdims=0)
    none = sheet.op("Mul", sheet.op("Cast", both, to=1), sheet.constant(0, "float32"))
    hidden = sheet.op("Add", x, none)
    scores = sheet.op("MatMul", hidden, sheet.weight(4, 2))
    code = sheet.op("ArgMax", scores, axis=1, keepdims=0)
    outputs = [
        helper.make_tensor_value_info(code, TensorProto.INT64, ["N"]),
        helper.make_tensor_value_info(hidden, TensorProto.FLOAT, ["N", 4]),
        helper.make_tensor_value_info(scores, TensorProto.FLOAT, ["N", 2]),
    ]
    graph = helper.make_graph(sheet.nodes, "model", sheet.inputs, outputs, sheet.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    model.ir_version = 9
    save(model, path)
    return path


def test_one_of_several_outputs_can_be_named(tmp_path: Path) -> None:
    path = two_outputs(tmp_path / "model.onnx")
    assert open_model(path, output_name="matmul_7").signature.output.shape == ("N", 2)
    with pytest.raises(ModelError, match=r"output_name is 'scores', but the outputs are argmax"):
        open_model(path, output_name="scores")
    with pytest.raises(ModelError, match="no output holds floating-point scores"):
        open_model(path, output_name="argmax_8")


def test_an_output_that_is_not_what_the_settings_declare_is_refused(tmp_path: Path) -> None:
    path = sum_network(tmp_path / "model.onnx", head="logits")
    settings = ModelSettings(path=path, output="probabilities")
    with pytest.raises(ModelError, match=r"model\.output says probabilities") as caught:
        probe(OnnxModel(settings), settings)
    assert caught.value.exit_code == 2
    assert "change model.output to 'logits'" in str(caught.value)
