"""Unusable input is refused in one sentence that says where the problem is and what to do."""

import contextlib
import gzip
import io
import warnings
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from recourse_audit.errors import GraphError, InputError, SettingsError
from recourse_audit.graph import archives
from recourse_audit.graph.readers import from_arrays, read_graph
from recourse_audit.settings import GraphSettings
from tests.graph.graphs import WRITERS, Columns, Sample, message_of

NODES = "id,v,w\na,1,2\nb,3,4\nc,5,6\n"
EDGES = "source,target,kind,weight,since\na,b,kin,1,2\nb,c,debt,2,3\n"


def csv_message_of(
    folder: Path, nodes: str | bytes = NODES, edges: str | bytes = EDGES, **settings: Any
) -> str:
    for name, content in (("nodes.csv", nodes), ("edges.csv", edges)):
        data = content.encode() if isinstance(content, str) else content
        (folder / name).write_bytes(data)
    given: dict[str, Any] = {"nodes": folder / "nodes.csv", "edges": folder / "edges.csv"}
    given |= {"features": ("v", "w"), **settings}
    return message_of(lambda: read_graph(GraphSettings(**given)))


@pytest.mark.parametrize(
    ("nodes", "parts"),
    [
        ("id,v,w\na,1,2\nb,,4\n", ["line 3", "column 'v' is empty", "correct the value"]),
        ("id,v,w\na,1,2\n\nb,x7,4\n", ["line 4", "'v'", "'x7'", "finite number"]),
        ("id,v,w\na,1,2\nb,1_000,4\n", ["line 3", "'v'", "'1_000'"]),
        ("id,v,w\na,1,2\nb,NaN,4\n", ["line 3", "'v'", "'NaN'"]),
        ("id,v,w\na,1,2\nb,NA,4\n", ["line 3", "'v'", "'NA'"]),
        ("id,v,w\na,1,2\nb,-inf,4\n", ["line 3", "'v'", "'-inf'"]),
        ("id,v,w\na,1,2\nb,2020-01-01,4\n", ["line 3", "'v'", "'2020-01-01'"]),
        ("id,v,w\na,2020-01-01,2\nb,2020-01-01,4\n", ["line 2", "'v'", "'2020-01-01'"]),
        ('id,v,w\n"a\nb",1,2\nb,nan,4\n', ["line 4", "'v'", "'nan'"]),
        ("id,v,w\na,1,2\nb,1\n", ["line 3", "2 fields", "header has 3", "quote"]),
        ("id,v,w\na,1,2\nb,1,2,3\n", ["line 3", "4 fields"]),
        ("id,v,w\na,1,2\nb,3,4\na,5,6\n", ["line 2", "'a' is used again in line 4", "remove one"]),
        ("id,v,w\na,1,2\n,3,4\n", ["line 3", "id is empty", "give every node an id"]),
        ("id,v,w\na,1,2\n  ,3,4\n", ["line 3", "id is empty"]),
        ("id,v,w\n", ["no nodes", "add nodes"]),
        ("", ["is empty", "header"]),
        ("Id,v,w\na,1,2\n", ["no column 'id'", "graph.id", "did you mean 'Id'?"]),
        ("id,v,wealth\na,1,2\n", ["no column 'w'", "graph.features", "choose from 'id', 'v'"]),
        ("id;v;w\na;1;2\n", ["no column 'id'", "';'", "save it with commas"]),
        ("id,v,w,v\na,1,2,3\n", ["more than one column 'v'", "rename"]),
        (b"id,v,w\na,1,2\nb\xe9,3,4\n", ["line 3", "not UTF-8", "save the file with UTF-8"]),
        (b"id,v,w,n\na,1,2,x\nb,3,4,\xff\n", ["line 3", "not UTF-8"]),
        (b"id,v,w\xe9\na,1,2\n", ["line 1", "not UTF-8"]),
        ("id,v,w\na,1,2\n".encode("utf-16"), ["line 1", "not UTF-8"]),
    ],
)
def test_a_bad_node_table_is_refused_with_its_line(
    nodes: str | bytes, parts: list[str], tmp_path: Path
) -> None:
    message = csv_message_of(tmp_path, nodes=nodes)
    assert message.startswith(str(tmp_path / "nodes.csv"))
    for part in parts:
        assert part in message


@pytest.mark.parametrize(
    ("edges", "settings", "parts"),
    [
        ("source,target\na,b\nb,zz\n", {}, ["line 3", "'zz'", "'target'", "nodes.csv", "add the"]),
        ("source,target\nq,b\nb,c\nq,c\n", {}, ["line 2", "'q'", "1 more"]),
        ("source,target\na,\n", {}, ["line 2", "'target' is empty", "give both ends"]),
        ("source,target\na,b\n  ,b\n", {}, ["line 3", "'source' is empty"]),
        ("source,target,weight\na,b,1\nb,a,2\n", {}, ["both directions", "graph.directed"]),
        ("source,target\na,b,c\n", {}, ["line 2", "3 fields"]),
        ("from,target\na,b\n", {}, ["no column 'source'", "graph.source", "'from'"]),
        ("source,targets\na,b\n", {}, ["no column 'target'", "did you mean 'targets'?"]),
        (EDGES, {"weight": "weigth"}, ["no column 'weigth'", "did you mean 'weight'?"]),
        (EDGES, {"kind": "relation"}, ["no column 'relation'", "graph.kind"]),
        (EDGES, {"edge_attributes": ("sinse",)}, ["'sinse'", "did you mean 'since'?"]),
        ("source,target,weight\na,b,1\nb,c,big\n", {}, ["line 3", "'weight'", "'big'"]),
        ("source,target,weight\na,b,1\nb,c,\n", {}, ["line 3", "'weight' is empty"]),
        ("source,target,weight\na,b,1e200\n", {}, ["line 2", "'weight'", "'1e200'"]),
        ("source,target,kind\na,b,kin\nb,c,\n", {}, ["line 3", "kind of the tie is empty"]),
        (EDGES, {"kinds": ("kin", "dept")}, ["line 3", "'debt'", "graph.kinds", "'dept'?"]),
        ("source,target\na,b\n", {"kinds": ("kin",)}, ["no kind", "graph.kinds", "remove"]),
        (b"source,target\na,b\nb,\xe9\n", {}, ["line 3", "not UTF-8"]),
        ("", {}, ["is empty", "one row per node or tie"]),
    ],
)
def test_a_bad_tie_table_is_refused_with_its_line(
    edges: str | bytes, settings: dict[str, Any], parts: list[str], tmp_path: Path
) -> None:
    message = csv_message_of(tmp_path, edges=edges, **settings)
    assert message.startswith(str(tmp_path / "edges.csv"))
    for part in parts:
        assert part in message


def test_a_feature_named_twice_is_an_error_in_the_settings(tmp_path: Path) -> None:
    assert "names 'v' twice" in csv_message_of(tmp_path, features=("v", "v"))
    with pytest.raises(SettingsError):
        read_graph(GraphSettings(npz=tmp_path / "graph.npz", features=("v", "v")))


@pytest.mark.parametrize("key", ["nodes", "npz", "graphml"])
def test_a_missing_file_and_a_folder_are_named_with_their_setting(key: str, tmp_path: Path) -> None:
    others = {"edges": tmp_path / "edges.csv"} if key == "nodes" else {}
    for path, part in ((tmp_path / "none.csv", "no such file"), (tmp_path, "is a folder")):
        settings = GraphSettings.model_validate({key: path, "features": ("v",), **others})
        message = message_of(partial(read_graph, settings))
        assert str(path) in message
        assert part in message
        assert f"graph.{key}" in message


def test_a_missing_tie_table_is_named(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text(NODES)
    settings = GraphSettings(
        nodes=tmp_path / "nodes.csv", edges=tmp_path / "edges.csv", features=("v",)
    )
    message = message_of(lambda: read_graph(settings))
    assert "edges.csv: there is no such file" in message


def test_an_unknown_suffix_is_refused_and_the_known_ones_are_listed(tmp_path: Path) -> None:
    for name in ("nodes.xlsx", "edges.csv"):
        (tmp_path / name).write_text(NODES)
    settings = GraphSettings(
        nodes=tmp_path / "nodes.xlsx", edges=tmp_path / "edges.csv", features=("v",)
    )
    message = message_of(lambda: read_graph(settings))
    assert "nodes.xlsx" in message
    assert ".parquet" in message


def test_a_damaged_compressed_table_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(NODES.encode() * 500)
    for content in (b"not gzip", whole[: len(whole) // 2]):
        (tmp_path / "nodes.csv.gz").write_bytes(content)
        (tmp_path / "edges.csv").write_text(EDGES)
        settings = GraphSettings(
            nodes=tmp_path / "nodes.csv.gz", edges=tmp_path / "edges.csv", features=("v",)
        )
        message = message_of(partial(read_graph, settings))
        assert "nodes.csv.gz: is damaged or not a CSV or Parquet table (" in message
        assert "write it again" in message


# ---------------------------------------------------------------- Parquet


def parquet_message_of(folder: Path, nodes: dict[str, Any], edges: dict[str, Any]) -> str:
    pq.write_table(pa.table(nodes), folder / "nodes.parquet")
    pq.write_table(pa.table(edges), folder / "edges.parquet")
    settings = GraphSettings(
        nodes=folder / "nodes.parquet", edges=folder / "edges.parquet", features=("v",)
    )
    return message_of(lambda: read_graph(settings))


@pytest.mark.parametrize(
    ("nodes", "edges", "parts"),
    [
        ({"v": [1.0, None, 3.0]}, {}, ["nodes.parquet, row 2", "'v' is empty"]),
        ({"v": [1.0, 2.0, np.nan]}, {}, ["nodes.parquet, row 3", "'v'", "'nan'"]),
        ({"v": [1, None, 3]}, {}, ["row 2", "'v' is empty"]),
        ({"v": ["1", "2", "three"]}, {}, ["row 3", "'v'", "'three'"]),
        ({"v": [[1.0], [2.0], [3.0]]}, {}, ["column 'v'", "list", "store it as numbers"]),
        ({"id": [1, 2, 1]}, {}, ["row 1", "'1' is used again in row 3"]),
        ({"id": [1, None, 2]}, {}, ["row 2", "id is empty"]),
        ({"id": pa.array([], pa.int64()), "v": []}, {}, ["no nodes"]),
        ({}, {"source": [1, 4]}, ["edges.parquet, row 2", "'4'", "not the id of a node"]),
        ({}, {"source": [1, None]}, ["edges.parquet, row 2", "'source' is empty"]),
        ({}, {"source": [1, -1]}, ["edges.parquet, row 2", "'-1'"]),
        ({}, {"source": ["1", "x"]}, ["edges.parquet, row 2", "'x'"]),
        ({}, {"source": [10**15, 1]}, ["edges.parquet, row 1", "'1000000000000000'"]),
        ({}, {"kind": ["kin", None]}, ["edges.parquet, row 2", "kind of the tie is empty"]),
        ({}, {"weight": [1.0, np.inf]}, ["edges.parquet, row 2", "'weight'", "'inf'"]),
    ],
)
def test_a_bad_parquet_table_is_refused_with_its_row(
    nodes: dict[str, Any], edges: dict[str, Any], parts: list[str], tmp_path: Path
) -> None:
    good_nodes = {"id": [1, 2, 3], "v": [1.0, 2.0, 3.0]}
    good_edges = {"source": [1, 2], "target": [2, 3]}
    message = parquet_message_of(tmp_path, good_nodes | nodes, good_edges | edges)
    for part in parts:
        assert part in message


def test_a_file_that_is_not_parquet_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["a"] * 999, "v": [1.0] * 999}), tmp_path / "good.parquet")
    damaged = bytearray((tmp_path / "good.parquet").read_bytes())
    damaged[4:60] = b"\xff" * 56
    for content in (NODES.encode(), b"", bytes(damaged)):
        (tmp_path / "nodes.parquet").write_bytes(content)
        (tmp_path / "edges.csv").write_text(EDGES)
        settings = GraphSettings(
            nodes=tmp_path / "nodes.parquet", edges=tmp_path / "edges.csv", features=("v",)
        )
        message = message_of(partial(read_graph, settings))
        assert "nodes.parquet: is damaged or not a CSV or Parquet table (" in message
        assert "write it again" in message


def test_no_single_damaged_byte_of_a_tie_table_crashes_the_reader(tmp_path: Path) -> None:
    nodes, edges = tmp_path / "nodes.parquet", tmp_path / "edges.parquet"
    pq.write_table(pa.table({"id": ["a", "b", "c"], "f": [1.0, 2.0, 3.0]}), nodes)
    ties = {"source": ["a", "b"], "target": ["b", "c"], "kind": ["x", "x"]}
    pq.write_table(pa.table(ties), edges)
    sound = edges.read_bytes()
    settings = GraphSettings(nodes=nodes, edges=edges, features=("f",))
    refused = []
    for position in range(len(sound)):
        edges.write_bytes(sound[:position] + b"\x01" + sound[position + 1 :])
        try:
            read_graph(settings)
        except GraphError as error:
            refused.append(str(error))
    assert len(refused) > len(sound) // 4
    assert all(str(edges) in message for message in refused)


# ---------------------------------------------------------------- npz


@pytest.mark.parametrize(
    ("arrays", "parts"),
    [
        ({"edge_index": [[0, -1], [1, 2]]}, ["'edge_index' has -1 in column 1", "0 to 2"]),
        ({"edge_index": [[0, 1], [1, 3]]}, ["has 3 in column 1", "correct the tie"]),
        ({"edge_index": [[0, 1], [1, 2], [2, 0]]}, ["[3, 2]", "[2, E] (transpose it)"]),
        ({"edge_index": [0, 1]}, ["'edge_index' has shape [2]", "[2, E]"]),
        ({"edge_index": [[0.0, 1], [1, 2]]}, ["'edge_index' has type float64", "int64"]),
        ({"edge_index": [[True], [False]]}, ["'edge_index' has type bool"]),
        ({"edge_index": None}, ["no array 'edge_index'"]),
        ({"x": None}, ["no array 'x'", "x_indptr"]),
        ({"x": [1.0, 2, 3]}, ["'x' has shape [3]", "[N, F]"]),
        ({"x": np.empty((0, 2))}, ["no nodes"]),
        ({"x": np.empty((3, 0))}, ["'x' has shape [3, 0]"]),
        ({"x": [["a"], ["b"], ["c"]]}, ["'x' has type", "numbers"]),
        (
            {"x": [[1, 2], [3, np.nan], [5, 6]]},
            ["position 1 (counted from 0)", "'x[:, 1]'", "'nan'"],
        ),
        ({"x": [[1, 2], [3, 4], [np.inf, 6]]}, ["position 2", "'x[:, 0]'", "'inf'"]),
        ({"feature_names": ["a"]}, ["'feature_names'", "[1]"]),
        ({"ids": ["a", "b", "a"]}, ["position 0", "'a' is used again in position 2"]),
        ({"ids": ["a", "", "c"]}, ["position 1", "id is empty"]),
        ({"ids": ["a", "b"]}, ["'ids' has shape [2], but [3]"]),
        ({"edge_weight": [1.0]}, ["'edge_weight' has shape [1], but [2]"]),
        ({"edge_weight": [1.0, np.nan]}, ["position 1", "'edge_weight'", "'nan'"]),
        ({"edge_weight": ["a", "b"]}, ["'edge_weight' has type", "numbers"]),
        ({"edge_attr": [1.0, 2.0]}, ["'edge_attr' has shape [2], but [2, 1]"]),
        ({"edge_attr": [[1.0], [np.inf]]}, ["position 1", "edge_attr[:, 0]", "'inf'"]),
        ({"edge_type": [0, -1]}, ["position 1", "'edge_type' is -1", "from 0"]),
        ({"edge_type": [0, 10**6]}, ["position 1", "1000000"]),
        ({"edge_type": ["kin", ""]}, ["position 1", "kind of the tie is empty"]),
        ({"edge_type": [0]}, ["'edge_type' has shape [1]"]),
        ({"x": np.array([[None], [1], [2]])}, ["allow_pickle", "from plain arrays"]),
        ({"region": np.array([None, "a", "b"])}, ["allow_pickle", "from plain arrays"]),
        ({"ids": ["a", "b\ud800", "c"]}, ["position 1", r"'b\ud800' is not valid Unicode text"]),
        ({"region": ["a", "b", "\udfff"]}, ["position 2", "not valid Unicode text"]),
        ({"edge_type": ["\ud800", "kin"]}, ["position 0", "not valid Unicode text"]),
        ({"feature_names": ["a", "\ud800"]}, ["position 1", "not valid Unicode text"]),
    ],
)
def test_a_bad_archive_is_refused_with_the_name_of_its_array(
    arrays: dict[str, Any], parts: list[str], tmp_path: Path
) -> None:
    good: dict[str, Any] = {"x": [[1.0, 2], [3, 4], [5, 6]], "edge_index": [[0, 1], [1, 2]]}
    used: dict[str, Any] = {
        name: np.asarray(array) for name, array in (good | arrays).items() if array is not None
    }
    path = tmp_path / "graph.npz"
    np.savez(path, **used)
    message = message_of(lambda: read_graph(GraphSettings(npz=path)))
    assert message.startswith(str(path))
    for part in parts:
        assert part in message


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"kinds": ("kin",)}, "list every kind in graph.kinds"),
        ({"features": ("a", "z")}, "'feature_names' does not contain 'z'"),
        ({"edge_attributes": ("since", "until")}, "'edge_attr' has 1 columns"),
    ],
)
def test_settings_that_do_not_fit_an_archive_are_refused(
    settings: dict[str, Any], part: str, tmp_path: Path
) -> None:
    path = tmp_path / "graph.npz"
    np.savez(
        path,
        x=np.ones((2, 2)),
        feature_names=np.array(["a", "b"]),
        edge_index=np.array([[0], [1]]),
        edge_type=np.array([1]),
        edge_attr=np.ones((1, 1)),
    )
    assert part in message_of(lambda: read_graph(GraphSettings(npz=path, **settings)))


def test_a_broken_sparse_matrix_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "graph.npz"
    np.savez(
        path,
        x_data=np.ones(2),
        x_indices=np.array([0, 9]),
        x_indptr=np.array([0, 1, 2]),
        x_shape=np.array([2, 2]),
        edge_index=np.array([[0], [1]]),
    )
    message = message_of(lambda: read_graph(GraphSettings(npz=path)))
    assert "is damaged or not an npz archive (x_data, x_indices" in message


@pytest.mark.parametrize("again", ["x.npy", "x"])
def test_an_archive_with_two_arrays_of_one_name_is_refused(again: str, tmp_path: Path) -> None:
    path = tmp_path / "graph.npz"
    np.savez(path, x=np.ones((2, 1)), edge_index=np.array([[0], [1]]))
    second = io.BytesIO()
    np.save(second, np.zeros((2, 1)))
    with warnings.catch_warnings(), zipfile.ZipFile(path, "a") as archive:
        warnings.simplefilter("ignore")
        archive.writestr(again, second.getvalue())
    message = message_of(lambda: read_graph(GraphSettings(npz=path)))
    assert "is damaged or not an npz archive (more than one array 'x')" in message


@pytest.mark.parametrize("features", [(), ("a",)])
def test_an_archive_with_two_features_of_one_name_is_refused(
    features: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / "graph.npz"
    names, ends = np.array(["a", "a"]), np.array([[0], [1]])
    np.savez(path, x=np.ones((2, 2)), feature_names=names, edge_index=ends)
    message = message_of(lambda: read_graph(GraphSettings(npz=path, features=features)))
    assert "'feature_names' has 'a' more than once" in message


def test_a_sparse_matrix_that_is_too_large_when_dense_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "graph.npz"
    np.savez(
        path,
        x_data=np.ones(1),
        x_indices=np.array([0]),
        x_indptr=np.array([0, 1, 1]),
        x_shape=np.array([2, 10**12]),
        edge_index=np.array([[0], [1]]),
    )
    message = message_of(lambda: read_graph(GraphSettings(npz=path)))
    assert "'x' has shape [2, 1000000000000] and would take" in message


def test_an_archive_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "graph.npz"
    np.savez_compressed(path, x=np.zeros((1000, 1000)), edge_index=np.array([[0], [1]]))
    assert path.stat().st_size < 2**20
    monkeypatch.setattr(archives, "MOST_BYTES", 2**20)
    assert "unpacks to" in message_of(lambda: read_graph(GraphSettings(npz=path)))


def test_a_file_that_is_not_an_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "graph.npz"
    settings = GraphSettings(npz=path)
    content = io.BytesIO()
    np.save(content, np.ones(3))
    compressed = io.BytesIO()
    np.savez_compressed(compressed, x=np.random.default_rng(0).random((50, 50)))
    damaged = bytearray(compressed.getvalue())
    damaged[200:400] = b"\x00" * 200
    text = io.BytesIO()
    with zipfile.ZipFile(text, "w") as archive:
        archive.writestr("x.txt", "text")
    for data in (b"x", content.getvalue(), text.getvalue(), damaged):
        path.write_bytes(data)
        message = message_of(lambda: read_graph(settings))
        assert message.startswith(f"{path}: is damaged or not an npz archive (")
        assert "write it again with numpy.savez" in message


def test_arrays_in_memory_get_the_checks_of_a_file() -> None:
    message = message_of(lambda: from_arrays([[1.0], [2.0]], [[0], [-1]]))
    assert "edge_index" in message
    message = message_of(
        lambda: from_arrays([[1.0], [2.0]], [[0], [1]], attributes={"age": [1, 2, 3]})
    )
    assert "'age' has shape [3], but [2]" in message


# ---------------------------------------------------------------- damage of any kind


@pytest.mark.parametrize("writer", WRITERS)
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(where=st.floats(0, 1, exclude_max=True), junk=st.binary(min_size=0, max_size=4))
def test_a_damaged_file_is_read_or_refused_but_never_crashes(
    writer: str, where: float, junk: bytes, tmp_path: Path
) -> None:
    nodes: Columns = {"id": ["a", "b"], "v": [1.0, 2.0], "region": ["x", "y"]}
    ties: Columns = {"source": ["a"], "target": ["b"], "kind": ["kin"], "weight": [1.0]}
    given_settings = WRITERS[writer](Sample(nodes=nodes, ties=ties, features=("v",)), tmp_path)
    for path in [*tmp_path.iterdir()]:
        whole = path.read_bytes()
        place = int(where * len(whole))
        path.write_bytes(whole[:place] + junk + whole[place + max(1, len(junk)) :])
        with warnings.catch_warnings(), contextlib.suppress(InputError):
            warnings.simplefilter("ignore")
            read_graph(given_settings)
        path.write_bytes(whole)
