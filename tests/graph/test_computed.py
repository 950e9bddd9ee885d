"""Categories that columns encode and columns that formulas give, in every format that is read."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recourse_audit.errors import AuditError, GraphError, SettingsError
from recourse_audit.graph.arrays import from_arrays
from recourse_audit.graph.columns import Positions
from recourse_audit.graph.computed import with_computed
from recourse_audit.graph.graph import Graph
from recourse_audit.graph.readers import read_graph
from recourse_audit.model.preprocessing import encoder_of
from recourse_audit.settings import GraphSettings
from tests.graph.graphs import WRITERS, Sample

NODES: dict[str, list[Any]] = {
    "id": ["a", "b", "c", "d"],
    "rent": [1, 0, 0, 0],
    "own": [0, 1, 1, 0],
    "free": [0, 0, 0, 1],
    "school": [0, 2, 1, 2],
    "warm_1": [0, 1, 1, 1],
    "warm_2": [0, 0, 1, 1],
    "young": [1, 0, 0, 0],
    "grown": [0, 1, 1, 0],
    "grey": [0, 0, 0, 1],
    "income": [2.0, 4.0, 5.0, 8.0],
    "debt": [1.0, 1.0, 2.0, 2.0],
    "age": [20.0, 30.0, 59.5, 60.0],
    "town": ["x", "y", "x", "y"],
}
FEATURES = (
    *("rent", "own", "free", "school", "warm_1", "warm_2"),
    *("young", "grown", "grey", "income"),
)
TIES = {"source": ["a", "b", "c"], "target": ["b", "c", "d"], "kind": ["t", "t", "t"]}
HOUSING = {
    "name": "housing",
    "kind": "one_hot",
    "columns": ["rent", "own", "free"],
    "labels": ["rents", "owns", "lives free"],
}
SCHOOL = {"name": "education", "kind": "ordinal", "columns": ["school"], "labels": list("lmh")}
WARMTH = {
    "name": "warmth",
    "kind": "thermometer",
    "columns": ["warm_1", "warm_2"],
    "labels": ["cold", "mild", "hot"],
}
BAND = {
    "name": "band",
    "kind": "binned",
    "columns": ["young", "grown", "grey"],
    "edges": [30, 60],
    "of": "age",
}
RATIO = {"name": "ratio", "formula": "debt / income"}


def written(
    folder: Path, name: str, features: tuple[str, ...] = FEATURES, **changed: list[Any]
) -> GraphSettings:
    nodes = {**NODES, **changed}
    known = tuple(name for name in features if name in nodes)
    sample = Sample(nodes=nodes, ties=TIES, features=known)
    settings = WRITERS[name](sample, folder)
    return settings.model_copy(update={"features": features})


def with_columns(
    settings: GraphSettings,
    encodings: list[dict[str, Any]] | None = None,
    derived: list[dict[str, Any]] | None = None,
) -> GraphSettings:
    table = settings.model_dump(exclude_unset=True)
    table |= {"encodings": encodings or [], "derived": derived or []}
    return GraphSettings.model_validate(table)


def column(graph: Graph, name: str) -> list[Any]:
    values: list[Any] = graph.columns[name].tolist()
    return values


@pytest.mark.parametrize("name", WRITERS)
def test_categories_and_derived_columns_are_read_from_every_format(
    name: str, tmp_path: Path
) -> None:
    settings = written(tmp_path, name, features=(*FEATURES[:3], "ratio", *FEATURES[3:]))
    graph = read_graph(with_columns(settings, [HOUSING, SCHOOL, WARMTH, BAND], [RATIO]))
    assert column(graph, "housing") == ["rents", "owns", "owns", "lives free"]
    assert column(graph, "education") == ["l", "h", "m", "h"]
    assert column(graph, "warmth") == ["cold", "mild", "hot", "hot"]
    assert column(graph, "band") == ["under 30", "30 to under 60", "30 to under 60", "60 and over"]
    assert graph.feature_names == settings.features
    assert graph.features[:, 3] == pytest.approx([0.5, 0.25, 0.4, 0.25])
    encoder = encoder_of(with_columns(settings, [HOUSING, SCHOOL, WARMTH, BAND], [RATIO]), graph)
    assert encoder is not None
    assert set(encoder.columns) == {"housing", "education", "warmth", "age", "income", "debt"}
    again = encoder.encode({name: graph.columns[name] for name in encoder.columns})
    assert np.array_equal(again, graph.features)


PLACES = {
    "csv": "nodes.csv, line 3",
    "parquet": "nodes.parquet, row 2",
    "npz": "graph.npz, position 1",
    "graphml": "node 'b'",
}
BROKEN: list[tuple[dict[str, list[Any]], dict[str, Any], str]] = [
    (
        {"rent": [1, 1, 0, 0]},
        HOUSING,
        r"column 'rent' is 1, column 'own' is 1, which is no code of 'housing' \(a single 1\)",
    ),
    (
        {"own": [0, 0, 1, 0]},
        HOUSING,
        "every column of 'housing' is 0, which is no code of 'housing'",
    ),
    ({"own": [0, 2, 1, 0]}, HOUSING, "column 'own' is 2, which is no code of 'housing'"),
    ({"school": [0, 7, 1, 2]}, SCHOOL, "column 'school' is 7, which is no code of 'education'"),
    (
        {"warm_1": [0, 0, 1, 1], "warm_2": [0, 1, 1, 1]},
        WARMTH,
        r"no code of .* \(1 up to one column, and 0 after",
    ),
    ({"age": [20.0, 20.0, 59.5, 60.0]}, BAND, r"column 'young' is 0, but .* gives 1"),
]


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize(("changed", "encoding", "words"), BROKEN)
def test_a_row_that_encodes_no_category_is_an_error_with_its_place(
    name: str, changed: Any, encoding: dict[str, Any], words: str, tmp_path: Path
) -> None:
    settings = with_columns(written(tmp_path, name, FEATURES, **changed), [encoding])
    with pytest.raises(GraphError, match=words) as error:
        read_graph(settings)
    assert PLACES[name] in str(error.value)
    assert "graph.encodings[0]" in str(error.value)


DERIVED: list[tuple[str, str]] = [
    ("debt / (income - 4)", r"'made' has no finite value .* with debt = 1, income = 4"),
    ("rent ** -1", "has no finite value"),
    ("debt * wealth", r"graph.derived\[0\].formula: the nodes have no column 'wealth'"),
    ("debt * town", "'town' is text, but numbers are needed"),
    ("debt + made", r"is computed from itself \(made -> made\)"),
]


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize(("formula", "words"), DERIVED)
def test_a_formula_without_a_value_is_an_error(
    name: str, formula: str, words: str, tmp_path: Path
) -> None:
    settings = written(tmp_path, name)
    with pytest.raises(AuditError, match=words) as error:
        read_graph(with_columns(settings, [HOUSING], [{"name": "made", "formula": formula}]))
    assert error.value.exit_code == 2


def test_a_circle_through_bins_and_formulas_is_an_error(tmp_path: Path) -> None:
    settings = written(tmp_path, "csv")
    band = {**BAND, "of": "years"}
    years = {"name": "years", "formula": "10 * young + 50"}
    with pytest.raises(SettingsError, match=r"is computed from itself .*; break the circle"):
        read_graph(with_columns(settings, [band], [years]))


def test_a_derived_column_of_the_table_must_agree_and_is_then_computed(tmp_path: Path) -> None:
    features = (*FEATURES, "ratio")
    single = [float(np.float32(value)) for value in (0.5, 0.25, 0.4, 0.25)]
    good = written(tmp_path, "csv", features=features, ratio=single)
    graph = read_graph(with_columns(good, [], [RATIO]))
    assert graph.features[:, -1].tolist() == [0.5, 0.25, 0.4, 0.25]
    bad = written(tmp_path, "csv", features=features, ratio=[0.5, 0.25, 0.41, 0.25])
    with pytest.raises(GraphError, match=r"line 4: column 'ratio' is 0.41, but .* gives 0.4"):
        read_graph(with_columns(bad, [], [RATIO]))


def test_a_category_of_the_table_must_agree(tmp_path: Path) -> None:
    texts = ["rents", "owns", "owns", "lives free"]
    good = written(tmp_path, "csv", housing=texts)
    assert column(read_graph(with_columns(good, [HOUSING])), "housing") == texts
    bad = written(tmp_path, "csv", housing=["rents", "owns", "rents", "lives free"])
    with pytest.raises(GraphError, match=r"line 4: column 'housing' is 'rents', but .*'owns'"):
        read_graph(with_columns(bad, [HOUSING]))


def test_an_empty_cell_in_what_a_formula_needs_is_an_error(tmp_path: Path) -> None:
    settings = written(tmp_path, "csv", debt=[1.0, None, 2.0, 2.0])
    with pytest.raises(GraphError, match="line 3: column 'debt' is empty or not finite"):
        read_graph(with_columns(settings, [], [RATIO]))


def test_an_unknown_column_of_an_encoding_is_an_error(tmp_path: Path) -> None:
    wrong = {**HOUSING, "columns": ["rent", "owns", "free"]}
    with pytest.raises(SettingsError, match=r"encodings\[0\].columns: .* 'owns'; did you mean"):
        read_graph(with_columns(written(tmp_path, "csv"), [wrong]))


def test_a_graph_in_memory_is_read_with_the_settings_encodings(tmp_path: Path) -> None:
    x = np.array([NODES[name] for name in FEATURES], float).T
    more = {"debt": np.array(NODES["debt"]), "age": np.array(NODES["age"])}
    graph = from_arrays(x, np.array([[0], [1]]), feature_names=FEATURES, attributes=more)
    settings = with_columns(GraphSettings(npz=Path("x.npz")), [HOUSING, BAND], [RATIO])
    made = with_computed(graph, settings, Positions("the graph"))
    assert column(made, "housing") == ["rents", "owns", "owns", "lives free"]
    assert made.feature_names == FEATURES
    assert with_computed(made, settings, Positions("the graph")).columns.keys() == (
        made.columns.keys()
    )
    broken = replace(graph, features=np.where(graph.features == 1, 0, graph.features))
    with pytest.raises(GraphError, match="the graph, position 0"):
        with_computed(broken, settings, Positions("the graph"))


def test_without_encodings_the_columns_are_attributes_and_features(tmp_path: Path) -> None:
    settings = written(tmp_path, "csv")
    graph = read_graph(settings)
    assert encoder_of(settings, graph) is None
    assert set(graph.columns) == set(NODES) - {"id"}
    assert np.shares_memory(graph.columns["income"], graph.features)


def test_all_features_may_be_derived(tmp_path: Path) -> None:
    for name in WRITERS:
        settings = written(tmp_path, name, features=(*FEATURES, "debt"))
        settings = settings.model_copy(update={"features": ("ratio",)})
        graph = read_graph(with_columns(settings, [], [RATIO]))
        assert graph.features.tolist() == [[0.5], [0.25], [0.4], [0.25]]
        assert column(graph, "income") == NODES["income"]


@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        ({**HOUSING, "labels": ["a", "b"]}, "needs 2 columns for 2 labels (got 3)"),
        ({**HOUSING, "labels": ["a", "b", "a"]}, "labels must not repeat one"),
        ({**HOUSING, "name": "rent"}, "name must differ from its columns"),
        ({**HOUSING, "edges": [1]}, "edges and of belong to kind 'binned'"),
        ({**SCHOOL, "values": [0, 1]}, "needs as many values as labels"),
        ({**HOUSING, "values": [0, 1, 2]}, "values belong to kind 'ordinal'"),
        ({**BAND, "edges": [60, 30]}, "edges must be ascending"),
        ({**BAND, "edges": []}, "needs edges"),
        ({**BAND, "labels": ["a"]}, "needs 3 labels, one more than edges (got 1)"),
        ({**SCHOOL, "kind": "hashed"}, "Input should be"),
    ],
)
def test_an_encoding_that_makes_no_sense_is_refused(encoding: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011
        with_columns(GraphSettings(npz=Path("x.npz")), [encoding])
    assert words in str(error.value)


def test_a_name_has_one_meaning() -> None:
    graph = GraphSettings(npz=Path("x.npz"))
    for encodings, derived, words in (
        ([HOUSING, {**SCHOOL, "name": "housing"}], [], "'housing' is already the name of"),
        ([HOUSING, {**SCHOOL, "columns": ["own"]}], [], "'own' is already a column of"),
        ([HOUSING], [{"name": "own", "formula": "1"}], "'own' is already a column of"),
        ([HOUSING], [{"name": "housing", "formula": "1"}], "'housing' is already the name of"),
    ):
        with pytest.raises(ValueError, match=words):
            with_columns(graph, encodings, derived)
