"""An audit with a pipeline: raw columns come in from every format, features go to the model."""

import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recourse_audit.audit.inspect import inspect_model
from recourse_audit.audit.load import load_audit, open_audit
from recourse_audit.audit.report import try_by_hand
from recourse_audit.errors import GraphError, InputError, ModelError, SettingsError
from recourse_audit.graph.readers import from_arrays, from_networkx
from recourse_audit.records.codec import INSPECTION
from recourse_audit.settings import load_settings
from tests.onnx_models import sum_network
from tests.onnx_pipelines import Draft, as_block, by_name
from tests.pipeline_audits import NAMES, SETTINGS, expected, people, pipeline_audit, ties


def test_features_are_what_the_pipeline_makes_of_raw_columns(tmp_path: Path) -> None:
    audit = load_audit(pipeline_audit(tmp_path))
    np.testing.assert_array_equal(audit.graph.features, expected(tmp_path, people()))
    assert audit.graph.feature_names == tuple(f"variable[{place}]" for place in range(6))
    assert set(NAMES) <= set(audit.graph.attributes)
    assert audit.graph.attributes["housing"].tolist() == [row["housing"] for row in people()]


def test_text_columns_are_read_as_they_are_written(tmp_path: Path) -> None:
    rows = [{**row, "job": "007"} for row in people()]
    audit = load_audit(pipeline_audit(tmp_path, rows))
    assert set(audit.graph.attributes["job"].tolist()) == {"007"}
    assert audit.graph.attributes["area"].tolist()[:2] == [0, 1], "nobody takes it"


@pytest.mark.parametrize(
    "form", ["parquet", "graphml", "npz", "npz without x", "arrays", "networkx"]
)
def test_every_format_gives_the_same_features(tmp_path: Path, form: str) -> None:
    rows = people()
    whole = load_audit(pipeline_audit(tmp_path)).graph.features
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    ends = np.array(ties()).T
    numbers = np.array([[row["income"], row["debt"]] for row in rows], float)
    texts = {name: np.array(columns[name]) for name in ("housing", "job", "gender")}
    if form == "parquet":
        pq.write_table(pa.table(columns), tmp_path / "nodes.parquet")
        path = pipeline_audit(tmp_path, settings=SETTINGS.replace("nodes.csv", "nodes.parquet"))
    elif form == "graphml":
        graph: nx.Graph[str] = nx.Graph()
        for row in rows:
            own = {key: value for key, value in row.items() if value is not None and key != "id"}
            graph.add_node(row["id"], **own)
        graph.add_edges_from((f"P{a}", f"P{b}") for a, b in ties())
        nx.write_graphml(graph, tmp_path / "graph.graphml")
        path = pipeline_audit(tmp_path, settings=_instead('graphml = "graph.graphml"'))
    elif form == "npz":
        np.savez(
            tmp_path / "graph.npz",
            x=numbers,
            feature_names=["income", "debt"],
            edge_index=ends,
            **texts,  # type: ignore[arg-type]
        )
        path = pipeline_audit(tmp_path, settings=_instead('npz = "graph.npz"'))
    elif form == "npz without x":
        np.savez(
            tmp_path / "graph.npz",
            ids=columns["id"],
            income=numbers[:, 0],
            debt=numbers[:, 1],
            edge_index=ends,
            **texts,  # type: ignore[arg-type]
        )
        path = pipeline_audit(tmp_path, settings=_instead('npz = "graph.npz"'))
    elif form == "networkx":
        network: nx.Graph[str] = nx.Graph()
        network.add_nodes_from((row["id"], row) for row in rows)
        network.add_edges_from((f"P{a}", f"P{b}") for a, b in ties())
        settings = load_settings(tmp_path / "audit.toml")
        audit = open_audit(settings, graph=from_networkx(network, None))
        np.testing.assert_array_equal(audit.graph.features, whole)
        return
    else:
        attributes = {"income": numbers[:, 0], "debt": numbers[:, 1], **texts}
        graph_in_memory = from_arrays(None, ends, ids=columns["id"], attributes=attributes)
        settings = load_settings(tmp_path / "audit.toml")
        audit = open_audit(settings, graph=graph_in_memory)
        np.testing.assert_array_equal(audit.graph.features, whole)
        return
    np.testing.assert_array_equal(load_audit(path).graph.features, whole)


def _instead(source: str) -> str:
    return SETTINGS.replace('nodes = "nodes.csv"\nedges = "edges.csv"', source)


def test_columns_of_a_graph_in_memory_may_be_features_of_its_own(tmp_path: Path) -> None:
    rows = [{**row, "income": row["income"] or 0} for row in people()]
    whole = load_audit(pipeline_audit(tmp_path, rows)).graph.features
    graph = from_arrays(
        np.array([[row["income"], row["debt"]] for row in rows], float),
        np.array(ties()).T,
        attributes={name: [row[name] for row in rows] for name in ("housing", "job")},
        feature_names=["income", "debt"],
    )
    audit = open_audit(load_settings(tmp_path / "audit.toml"), graph=graph)
    np.testing.assert_array_equal(audit.graph.features, whole)
    assert "income" in audit.graph.attributes


def test_a_block_takes_the_columns_of_graph_features(tmp_path: Path) -> None:
    as_block(tmp_path / "pipeline.onnx")
    rows = [{**row, "income": row["income"] or 0, "age": 30} for row in people()]
    settings = SETTINGS.replace("[graph]", '[graph]\nfeatures = ["age", "debt", "income"]')
    path = pipeline_audit(tmp_path, rows, settings)
    sum_network(tmp_path / "model.onnx", features=3)
    features = load_audit(path).graph.features
    wanted = [[(30 - 1) * 2, (row["debt"] - 2) * 4, (row["income"] - 3) * 8] for row in rows]
    np.testing.assert_allclose(features, wanted, rtol=1e-5)


@pytest.mark.parametrize(
    ("trap", "words"), [("mean", "NOT ROW BY ROW"), ("random", "THE PIPELINE IS RANDOM")]
)
def test_what_cannot_be_relied_on_is_refused_and_shown_by_inspect(
    tmp_path: Path, trap: str, words: str
) -> None:
    by_name(tmp_path / "pipeline.onnx", trap)
    path = pipeline_audit(tmp_path)
    with pytest.raises(ModelError, match=f"pipeline.onnx: .*{words}"):
        load_audit(path)
    found = inspect_model(path, None)
    assert words in found.problem
    assert found.report.preprocessing is not None
    assert found.report.preprocessing.probes.failed


def test_inspect_shows_which_columns_go_where(tmp_path: Path) -> None:
    found = inspect_model(pipeline_audit(tmp_path), None)
    document = json.loads(json.dumps(found.to_dict()))
    shown = document["preprocessing"]
    assert shown["file"] == "pipeline.onnx"
    assert shown["inputs"][0] == {
        "name": "income",
        "dtype": "float32",
        "shape": [None, 1],
        "columns": ["income"],
    }
    assert (shown["output"], shown["features"]) == ("variable", 6)
    assert shown["probes"] == {"deterministic": True, "row_by_row": True, "notes": {}}
    assert len(shown["sha256"]) == 64
    assert INSPECTION.read(json.dumps(document)) == found.report


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        ({"housing": None}, ModelError, "takes the column 'housing', which"),
        ({"debt": "much"}, GraphError, "nodes.csv, line 2: column 'debt' contains 'much'"),
    ],
)
def test_columns_that_do_not_fit_are_named_with_their_file(
    tmp_path: Path, change: dict[str, Any], kind: type[InputError], words: str
) -> None:
    rows = people()
    for name, value in change.items():
        for row in rows:
            if value is None:
                del row[name]
        if value is not None:
            rows[0][name] = value
    with pytest.raises(kind, match=words):
        load_audit(pipeline_audit(tmp_path, rows))


def test_features_of_another_width_than_the_models_are_refused(tmp_path: Path) -> None:
    path = pipeline_audit(tmp_path)
    sum_network(tmp_path / "model.onnx", features=5)
    with pytest.raises(ModelError, match=r"pipeline.onnx: gives 6 features .* takes 5"):
        load_audit(path)


def test_an_output_without_a_pipeline_is_refused(tmp_path: Path) -> None:
    path = pipeline_audit(tmp_path)
    path.write_text(SETTINGS.replace("preprocessing =", "preprocessing_output ="))
    with pytest.raises(SettingsError, match="has preprocessing_output, but no preprocessing"):
        load_settings(path)


MADE = """
[[graph.derived]]
name = "ratio"
formula = "debt / income"
[[graph.encodings]]
name = "home"
kind = "one_hot"
columns = ["rents", "owns"]
labels = ["rents", "owns"]
"""


def made_from(path: Path) -> None:
    """A pipeline that takes a number and a category which the table does not have as such."""
    draft = Draft()
    ratio, home = draft.input("ratio", "float32", 1), draft.input("home", "string", 1)
    parts = (draft.scaled(ratio, (0.2,), (3,)), draft.one_hot(home, ("rents", "owns")))
    draft.output("variable", draft.op("Concat", *parts, axis=1), 3)
    draft.save(path)


def test_a_pipeline_may_take_what_is_computed_from_columns(tmp_path: Path) -> None:
    made_from(tmp_path / "pipeline.onnx")
    rows = [
        {**row, "income": row["income"] or 900, "rents": int(place % 3 > 0), "owns": place % 3 == 0}
        for place, row in enumerate(people())
    ]
    rows = [{**row, "owns": int(row["owns"])} for row in rows]
    settings = SETTINGS + MADE
    path = pipeline_audit(tmp_path, rows, settings)
    sum_network(tmp_path / "model.onnx", features=3)
    audit = load_audit(path)
    wanted = [[(row["debt"] / row["income"] - 0.2) * 3, row["rents"], row["owns"]] for row in rows]
    np.testing.assert_allclose(audit.graph.features, wanted, rtol=1e-4, atol=1e-6)
    assert audit.encoder is not None
    assert set(audit.encoder.columns) == {"debt", "income", "home"}
    tried = try_by_hand(audit, "P0", ["home=rents", "income=1500"])
    assert tried.actions[0].to_dict()["from"] == "owns"
    before = audit.graph.columns
    changed = {name: before[name][:1].copy() for name in audit.encoder.columns}
    changed["income"][0], changed["home"][0] = 1500, "rents"
    [row] = audit.encoder.encode(changed)
    np.testing.assert_allclose(row, [(rows[0]["debt"] / 1500 - 0.2) * 3, 1, 0], rtol=1e-4)
