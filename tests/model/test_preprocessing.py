"""A sealed pipeline takes raw columns by name or as a block, and is refused where it cannot."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from recourse_audit.errors import GraphError, ModelError, SettingsError
from recourse_audit.graph.columns import Place, as_kind, as_strings
from recourse_audit.graph.graph import Floats
from recourse_audit.model import preprocessing as preprocessing_module
from recourse_audit.model.preprocessing import Pipeline, probe_rows
from recourse_audit.records.model import PreprocessingProbes
from recourse_audit.settings import GraphSettings, ModelSettings
from tests.onnx_pipelines import Draft, as_block, by_name

TABLE = "nodes.csv"
COUNT = 200


def pipeline_of(path: Path, *block: str, output: str | None = None) -> Pipeline:
    settings = ModelSettings(path=path, preprocessing=path, preprocessing_output=output)
    return Pipeline(settings, GraphSettings(features=block))


def people(count: int = COUNT, seed: int = 0) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    income = random.normal(2000, 800, count).round()
    income[::7] = np.nan
    return {
        "income": income,
        "debt": random.normal(500, 200, count).round(2),
        "housing": as_strings(random.choice(["rent", "own", "free", "tent"], count)),
        "job": as_strings(random.choice(["none", "some", "full"], count)),
    }


def asked(path: Path, columns: Mapping[str, Any]) -> Floats:
    """The pipeline's own answer, asked by other code, row by row."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    rows = []
    for row in range(len(columns["income"])):
        feeds = {
            port.name: np.array(
                [[columns[port.name][row]]], np.float32 if "float" in port.type else object
            )
            for port in session.get_inputs()
        }
        rows.append(session.run(None, feeds)[0][0])
    return np.stack(rows)


def encoder_of(path: Path, *block: str, known: tuple[str, ...]) -> Pipeline:
    pipeline = pipeline_of(path, *block)
    pipeline.take(pipeline.find_intakes(known, TABLE))
    return pipeline


def probed(path: Path) -> PreprocessingProbes:
    columns = people()
    encoder = encoder_of(path, known=(*columns,))
    features = encoder.encode(columns)
    names = encoder.feature_names(features.shape[1])
    return probe_rows(encoder.encode, columns, features, names)


def test_inputs_take_the_columns_that_they_are_named_after(tmp_path: Path) -> None:
    path = by_name(tmp_path / "pipe.onnx")
    columns = people()
    encoder = encoder_of(path, known=("gender", *columns))
    assert encoder.columns == ("income", "debt", "housing", "job")
    features = encoder.encode(columns)
    np.testing.assert_array_equal(features, asked(path, columns))
    assert encoder.feature_names(2) == ("variable[0]", "variable[1]")
    kinds = encoder.kinds([*columns], TABLE)
    assert kinds == {"income": "numbers", "debt": "numbers", "housing": "text", "job": "text"}


def test_more_rows_than_one_call_takes_give_the_same_features(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = encoder_of(by_name(tmp_path / "pipe.onnx"), known=(*people(),))
    whole = encoder.encode(people())
    monkeypatch.setattr(preprocessing_module, "MOST_ROWS", 64)
    np.testing.assert_array_equal(encoder.encode(people()), whole)


@pytest.mark.parametrize("width", [3, None])
def test_a_block_takes_the_listed_columns_in_order(tmp_path: Path, width: int | None) -> None:
    path = as_block(tmp_path / "pipe.onnx", width=width)
    encoder = encoder_of(path, "c", "a", "b", known=("a", "b", "c", "d"))
    columns = {"a": np.array([1.0]), "b": np.array([2.0]), "c": np.array([3.0])}
    assert encoder.columns == ("c", "a", "b")
    np.testing.assert_allclose(encoder.encode(columns), [[(3 - 1) * 2, (1 - 2) * 4, (2 - 3) * 8]])


def test_a_block_without_a_list_takes_all_columns_in_the_order_of_the_file(tmp_path: Path) -> None:
    encoder = encoder_of(as_block(tmp_path / "pipe.onnx"), known=("b", "c", "a"))
    assert encoder.columns == ("b", "c", "a")


def test_an_input_may_be_flat(tmp_path: Path) -> None:
    draft = Draft()
    age = draft.op("Cast", draft.input("age", "bool"), to=1)
    draft.output("variable", draft.op("Unsqueeze", age, draft.constant([1], "int64")), 1)
    encoder = encoder_of(draft.save(tmp_path / "pipe.onnx"), known=("age",))
    assert encoder.encode({"age": np.array([0.0, 1.0])}).tolist() == [[0], [1]]


def test_two_blocks_share_the_listed_columns_in_order(tmp_path: Path) -> None:
    draft = Draft()
    numbers, texts = draft.input("num", "float64", 2), draft.input("cat", "string", 1)
    named = draft.input("own", "int64", 1)
    parts = [draft.op("Cast", numbers, to=1), draft.one_hot(texts, ("x", "y"))]
    parts.append(draft.op("Cast", named, to=1))
    draft.output("variable", draft.op("Concat", *parts, axis=1), 5)
    path = draft.save(tmp_path / "pipe.onnx")
    with pytest.raises(ModelError, match=r"takes the column 'cat', which nodes.csv does not have"):
        encoder_of(path, "a", "b", "own", known=("a", "b", "c", "own"))
    columns = {
        "a": np.array([0.5]),
        "b": np.array([1.5]),
        "cat": as_strings(np.array(["y"])),
        "own": np.array([7.0]),
    }
    encoder = encoder_of(path, "own", "b", "a", known=(*columns,))
    assert encoder.columns == ("b", "a", "cat", "own")
    np.testing.assert_array_equal(encoder.encode(columns), [[1.5, 0.5, 0, 1, 7]])


@pytest.mark.parametrize(
    ("block", "known", "part"),
    [
        (("a", "b"), ("a", "b", "c"), "graph.features names 2 for that ('a', 'b'); list in graph"),
        ((), ("a", "b", "c", "d"), "nodes.csv has, besides the id, 4 for that ('a', 'b', 'c'"),
    ],
)
def test_a_block_of_another_width_is_refused(
    tmp_path: Path, block: tuple[str, ...], known: tuple[str, ...], part: str
) -> None:
    path = as_block(tmp_path / "pipe.onnx")
    with pytest.raises(ModelError, match=re.escape(part)):
        encoder_of(path, *block, known=known)


def test_a_missing_column_is_named_with_the_nearest_one(tmp_path: Path) -> None:
    path = by_name(tmp_path / "pipe.onnx")
    with pytest.raises(ModelError) as caught:
        encoder_of(path, known=("Income", "debt", "housing", "job"))
    assert str(path) in str(caught.value)
    assert "takes the column 'income', which nodes.csv does not have; did you mean 'Income'?" in (
        str(caught.value)
    )


def test_listed_columns_that_the_pipeline_does_not_take_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"graph.features: names 'gender', which .* not take"):
        encoder_of(by_name(tmp_path / "pipe.onnx"), "gender", known=("gender", *people()))


def test_the_output_must_be_beyond_doubt(tmp_path: Path) -> None:
    draft = Draft()
    block = draft.input("X", "float32", 2)
    draft.output("scaled", draft.scaled(block, (0, 0), (1, 1)), 2)
    draft.output("other", draft.scaled(block, (0, 0), (2, 2)), 2)
    path = draft.save(tmp_path / "pipe.onnx")
    with pytest.raises(ModelError, match=r"more than one output .*preprocessing_output = \"scaled"):
        pipeline_of(path)
    with pytest.raises(SettingsError, match=r"no output 'third' that holds numbers; choose"):
        pipeline_of(path, output="third")
    encoder_path = pipeline_of(path, output="other")
    assert encoder_path.output.name == "other"


def test_outputs_beside_the_features_are_no_error(tmp_path: Path) -> None:
    draft = Draft()
    block = draft.input("X", "float32", 2)
    draft.output("rows", draft.op("Shape", block), dtype="int64")
    draft.output("variable", draft.scaled(block, (0, 0), (1, 1)), 2)
    assert pipeline_of(draft.save(tmp_path / "pipe.onnx")).output.name == "variable"


def test_a_pipeline_without_a_table_of_numbers_is_refused(tmp_path: Path) -> None:
    draft = Draft()
    draft.output("label", draft.input("job", "string", 1), 1, dtype="string")
    with pytest.raises(ModelError, match="no output is a table of numbers"):
        pipeline_of(draft.save(tmp_path / "pipe.onnx"))


def test_a_pipeline_that_takes_nothing_is_refused(tmp_path: Path) -> None:
    draft = Draft()
    draft.output("variable", draft.constant(np.ones((4, 2)), "float32"), 2)
    with pytest.raises(ModelError, match="takes no input"):
        pipeline_of(draft.save(tmp_path / "pipe.onnx"))


def test_another_number_of_rows_is_refused(tmp_path: Path) -> None:
    encoder = encoder_of(by_name(tmp_path / "pipe.onnx", "rows"), known=(*people(),))
    with pytest.raises(ModelError, match=r"'variable' has shape \[199, 6\] for 200 rows"):
        encoder.encode(people())


def test_a_fixed_number_of_rows_is_refused(tmp_path: Path) -> None:
    draft = Draft()
    draft.output("variable", draft.scaled(draft.input("X", "float32", 2), (0, 0), (1, 1)), 2)
    draft.inputs[0].type.tensor_type.shape.dim[0].dim_value = 1
    with pytest.raises(ModelError, match="takes exactly 1 row; ask for an export whose first axis"):
        pipeline_of(draft.save(tmp_path / "pipe.onnx"))


@pytest.mark.parametrize(("value", "ok"), [(3.0, True), (3.5, False), (np.nan, False)])
def test_whole_numbers_must_be_whole(tmp_path: Path, value: float, ok: bool) -> None:
    draft = Draft()
    cast = draft.op("Cast", draft.input("age", "int64", 1), to=1)
    draft.output("variable", cast, 1)
    encoder = encoder_of(draft.save(tmp_path / "pipe.onnx"), known=("age",))
    if ok:
        assert encoder.encode({"age": np.array([value])}).tolist() == [[3.0]]
    else:
        with pytest.raises(ModelError, match=r"cannot take (3\.5|nan) from the column 'age'"):
            encoder.encode({"age": np.array([value])})


def test_a_sound_pipeline_passes_the_probes(tmp_path: Path) -> None:
    probes = probed(by_name(tmp_path / "pipe.onnx"))
    assert probes == PreprocessingProbes(deterministic=True, row_by_row=True)


@pytest.mark.parametrize("trap", ["mean", "order", "missing"])
def test_rows_that_depend_on_others_are_found(tmp_path: Path, trap: str) -> None:
    probes = probed(by_name(tmp_path / "pipe.onnx", trap))
    assert probes.failed == ("row_by_row",)
    assert "NOT ROW BY ROW" in probes.notes["row_by_row"]


def test_randomness_is_found(tmp_path: Path) -> None:
    probes = probed(by_name(tmp_path / "pipe.onnx", "random"))
    assert probes.failed == ("deterministic",)
    assert probes.row_by_row is None
    assert "variable[0]" in probes.notes["deterministic"]


def test_rounding_in_a_matrix_product_is_not_taken_for_dependence(tmp_path: Path) -> None:
    draft = Draft()
    block = draft.input("X", "float32", 30)
    weights = np.random.default_rng(0).normal(size=(30, 17))
    draft.output("variable", draft.op("MatMul", block, draft.constant(weights, "float32")), 17)
    path = draft.save(tmp_path / "pipe.onnx")
    names = tuple(f"c{place}" for place in range(30))
    encoder = encoder_of(path, known=names)
    random = np.random.default_rng(1)
    columns = {name: random.normal(1e5, 1e4, 501) for name in names}
    features = encoder.encode(columns)
    assert not probe_rows(encoder.encode, columns, features, encoder.feature_names(17)).failed


def test_a_row_that_the_pipeline_refuses_is_named(tmp_path: Path) -> None:
    columns = people()
    columns["housing"][:] = "own"
    columns["housing"][137] = "castle"
    encoder = encoder_of(by_name(tmp_path / "pipe.onnx", "text"), known=(*columns,))
    ids = as_strings(np.array([f"P{number}" for number in range(COUNT)]))
    with pytest.raises(ModelError, match=r"row of 'P137' in nodes.csv .*housing = castle"):
        encoder.encode_nodes(columns, ids, TABLE)


def test_features_that_are_no_numbers_are_refused_with_the_row(tmp_path: Path) -> None:
    draft = Draft()
    draft.output("variable", draft.op("Log", draft.input("income", "float32", 1)), 1)
    encoder = encoder_of(draft.save(tmp_path / "pipe.onnx"), known=("income",))
    ids = as_strings(np.array(["a", "b"]))
    with pytest.raises(ModelError, match=r"\(nan\) as variable\[0\] for 'b' in nodes.csv"):
        encoder.encode_nodes({"income": np.array([1.0, -1.0])}, ids, TABLE)


def test_data_files_are_hashed_and_a_changed_file_is_another_pipeline(tmp_path: Path) -> None:
    draft = Draft()
    block = draft.input("X", "float32", 300)
    weights = draft.constant(np.eye(300), "float32")
    draft.output("variable", draft.op("MatMul", block, weights), 300)
    path = draft.save(tmp_path / "pipe.onnx", save_as_external_data=True, location="pipe.onnx.data")
    first = pipeline_of(path)
    assert [*first.digests] == ["pipe.onnx", "pipe.onnx.data"]
    data = tmp_path / "pipe.onnx.data"
    data.write_bytes(data.read_bytes()[:-1] + b"\x01")
    assert pipeline_of(path).digest() != first.digest()


def test_an_endless_pipeline_ends_when_its_time_is_up(tmp_path: Path) -> None:
    path = by_name(tmp_path / "pipe.onnx", "endless")
    settings = ModelSettings(path=path, preprocessing=path)
    pipeline = Pipeline(settings, GraphSettings(), timeout=0.2)
    pipeline.take(pipeline.find_intakes([*people()], TABLE))
    with pytest.raises(ModelError, match=r"did not answer for 200 rows within 0\.2 seconds"):
        pipeline.encode(people())


def test_a_missing_file_names_its_setting(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no such model file; check model\.preprocessing"):
        pipeline_of(tmp_path / "pipe.onnx")


def test_text_where_a_number_must_be_names_the_row() -> None:
    texts = as_strings(np.array(["1", "", "2k"]))
    with pytest.raises(GraphError, match=r"nodes.csv, row 3: column 'age' contains '2k'"):
        as_kind(texts, "numbers", "age", Place(TABLE))
    numbers = as_kind(texts[:2], "numbers", "age", Place(TABLE))
    np.testing.assert_array_equal(numbers, [1, np.nan])


def test_whole_numbers_become_text_and_fractions_do_not() -> None:
    texts = as_kind(np.array([7, 12]), "text", "area", Place(TABLE))
    assert texts.tolist() == ["7", "12"]
    with pytest.raises(GraphError, match="column 'area' holds numbers with fractions"):
        as_kind(np.array([7.5]), "text", "area", Place(TABLE))
