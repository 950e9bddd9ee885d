"""Every format gives the same graph, and ids of any type become text."""

import gzip
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from recourse_audit.graph.readers import from_arrays, from_networkx, read_graph
from recourse_audit.settings import GraphSettings
from tests.graph.graphs import WRITERS, Sample, assert_equal, write_csv, write_npz, write_parquet

PLAIN = Sample(
    nodes={
        "id": ["ann", "bob", "cem", "dot"],
        "income": [1.5, 2.0, -3.0, 0.0],
        "open": [True, False, True, True],
        "region": ["north", "south", "north", "a, b"],
        "age": [30, 41, 52, 63],
    },
    ties={"source": ["ann", "ann", "bob"], "target": ["bob", "cem", "cem"]},
    features=("income", "open"),
)
RICH = Sample(
    nodes=PLAIN.nodes,
    ties={
        "source": ["ann", "ann", "ann", "bob", "cem"],
        "target": ["bob", "bob", "cem", "cem", "cem"],
        "kind": ["kin", "debt", "kin", "work", "work"],
        "weight": [1.0, 0.5, 0.25, 2.0, 4.0],
        "since": [1.0, 2.0, 3.0, 4.0, 5.0],
        "until": [9.0, 8.0, 7.0, 6.0, 5.0],
    },
    features=("income",),
    edge_attributes=("until", "since"),
)


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("sample", [PLAIN, RICH], ids=["plain", "rich"])
def test_every_format_gives_the_same_graph(
    sample: Sample, directed: bool, writer: str, tmp_path: Path
) -> None:
    sample = Sample(
        nodes=sample.nodes,
        ties=sample.ties,
        features=sample.features,
        edge_attributes=sample.edge_attributes,
        directed=directed,
    )
    expected = read_graph(write_csv(sample, tmp_path))
    assert_equal(read_graph(WRITERS[writer](sample, tmp_path)), expected)


@pytest.mark.parametrize("writer", WRITERS)
def test_the_fields_of_a_rich_graph_are_what_the_tables_say(writer: str, tmp_path: Path) -> None:
    graph = read_graph(WRITERS[writer](RICH, tmp_path))
    assert graph.ids.tolist() == ["ann", "bob", "cem", "dot"]
    assert graph.features.tolist() == [[1.5], [2.0], [-3.0], [0.0]]
    assert graph.features.dtype == np.float64
    assert graph.feature_names == ("income",)
    assert sorted(graph.attributes) == ["age", "open", "region"]
    assert graph.attributes["age"].tolist() == [30, 41, 52, 63]
    assert graph.attributes["region"].tolist() == ["north", "south", "north", "a, b"]
    assert graph.ties.kinds == ("debt", "kin", "work")
    assert graph.ties.kind.tolist() == [1, 0, 1, 2, 2]
    assert graph.ties.weight is not None
    assert graph.ties.weight.tolist() == [1.0, 0.5, 0.25, 2.0, 4.0]
    assert graph.ties.attributes is not None
    assert graph.ties.attributes.tolist()[0] == [9.0, 1.0]
    assert graph.ties.attributes.dtype == np.float32


def test_a_boolean_column_is_a_feature_of_zeros_and_ones(tmp_path: Path) -> None:
    graph = read_graph(write_csv(PLAIN, tmp_path))
    assert graph.features[:, 1].tolist() == [1.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize("writer", WRITERS)
def test_a_table_without_kinds_has_one_kind_and_no_weights(writer: str, tmp_path: Path) -> None:
    graph = read_graph(WRITERS[writer](PLAIN, tmp_path))
    assert graph.ties.kinds == ("tie",)
    assert graph.ties.kind.tolist() == [0, 0, 0]
    assert graph.ties.weight is None
    assert graph.ties.attributes is None


@pytest.mark.parametrize("writer", WRITERS)
def test_the_settings_fix_the_order_of_kinds(writer: str, tmp_path: Path) -> None:
    settings = WRITERS[writer](RICH, tmp_path)
    kinds = ("work", "kin", "unused", "debt")
    graph = read_graph(settings.model_copy(update={"kinds": kinds}))
    assert graph.ties.kinds == kinds
    assert graph.ties.kind.tolist() == [1, 3, 1, 0, 0]


def test_ids_in_csv_stay_as_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("id,v\n007,1\n7,2\n")
    (tmp_path / "edges.csv").write_text("source,target\n7,007\n")
    graph = read_graph(tables(tmp_path, features=("v",)))
    assert graph.ids.tolist() == ["007", "7"]
    assert graph.ties.source.tolist() == [1]


@pytest.mark.parametrize(
    ("ids", "ends", "texts"),
    [
        (pa.array([5, 9]), pa.array([9, 5]), ["5", "9"]),
        (pa.array([5, 10**12]), pa.array([10**12, 5]), ["5", "1000000000000"]),
        (pa.array([5, 9], pa.uint8()), pa.array([9, 5]), ["5", "9"]),
        (pa.array([-5, 9]), pa.array([9, -5], pa.int8()), ["-5", "9"]),
        (pa.array([5, 9]), pa.array(["9", "5"]), ["5", "9"]),
        (pa.array(["5", "9"]), pa.array([9, 5]), ["5", "9"]),
        (pa.array([5.0, 9.0]), pa.array([9, 5]), ["5", "9"]),
        (pa.array([2**64 - 1, 9], pa.uint64()), pa.array([9, 2**64 - 1], pa.uint64()), None),
        (pa.array(["a", "b"]).dictionary_encode(), pa.array(["b", "a"]), ["a", "b"]),
        (pa.array(["a", "b"], pa.large_string()), pa.array(["b", "a"]), ["a", "b"]),
        (pa.array(["a", "b"], pa.string_view()), pa.array(["b", "a"]), ["a", "b"]),
        (
            pa.array([date(2020, 1, 2), date(2020, 1, 1)]),
            pa.array(["2020-01-01", "2020-01-02"]),
            None,
        ),
    ],
)
def test_ids_in_parquet_of_any_type_match_their_ends(
    ids: Any, ends: Any, texts: list[str] | None, tmp_path: Path
) -> None:
    pq.write_table(pa.table({"id": ids, "v": [1.0, 2.0]}), tmp_path / "nodes.parquet")
    turned = ends.take(pa.array([1, 0]))
    pq.write_table(pa.table({"source": ends, "target": turned}), tmp_path / "edges.parquet")
    graph = read_graph(tables(tmp_path, "parquet", features=("v",), directed=True))
    assert graph.ties.source.tolist() == [1, 0]
    assert graph.ties.target.tolist() == [0, 1]
    if texts is not None:
        assert graph.ids.tolist() == texts


def test_compressed_and_tab_separated_tables_are_read(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "nodes.csv.gz", "wt") as file:
        file.write("id,v\na,1\nb,2\n")
    (tmp_path / "edges.tsv").write_text("source\ttarget\na\tb\n")
    settings = GraphSettings(
        nodes=tmp_path / "nodes.csv.gz", edges=tmp_path / "edges.tsv", features=("v",)
    )
    assert read_graph(settings).pair_count == 1


def test_a_byte_order_mark_and_quoted_line_breaks_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_bytes(b'\xef\xbb\xbfid,note,v\na,"two\nlines",1\nb,,2\n')
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    graph = read_graph(tables(tmp_path, features=("v",)))
    assert graph.attributes["note"].tolist() == ["two\nlines", ""]


def test_dates_stay_text_and_gaps_in_numbers_are_nan(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("id,v,day,age\na,1,2020-01-02,\nb,2,2020-01-03,7\n")
    (tmp_path / "edges.csv").write_text("source,target\n")
    graph = read_graph(tables(tmp_path, features=("v",)))
    assert graph.attributes["day"].tolist() == ["2020-01-02", "2020-01-03"]
    assert str(graph.attributes["age"].tolist()) == "[nan, 7.0]"


def test_a_graph_without_ties_is_a_graph(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("id,v\na,1\nb,2\n")
    (tmp_path / "edges.csv").write_text("source,target,kind,weight\n")
    graph = read_graph(tables(tmp_path, features=("v",)))
    assert graph.pair_count == 0
    assert graph.degree(0) == 0
    assert graph.neighbours(1).tolist() == []


def test_features_from_parquet_keep_the_widest_of_their_types(tmp_path: Path) -> None:
    columns = {
        "id": [1, 2],
        "single": pa.array([0.1, 0.2], pa.float32()),
        "half": pa.array(np.array([1, 2], np.float16)),
        "whole": [1, 2],
        "exact": [Decimal("1.5"), Decimal("2.5")],
        "nested": [[1], [2]],
    }
    pq.write_table(pa.table(columns), tmp_path / "nodes.parquet")
    pq.write_table(pa.table({"source": [1], "target": [2]}), tmp_path / "edges.parquet")
    single = read_graph(tables(tmp_path, "parquet", features=("single", "half")))
    assert single.features.dtype == np.float32
    assert single.attributes["whole"].dtype == np.int64
    assert single.attributes["exact"].tolist() == [1.5, 2.5]
    assert "nested" not in single.attributes
    mixed = read_graph(tables(tmp_path, "parquet", features=("single", "whole", "exact")))
    assert mixed.features.dtype == np.float64
    assert mixed.features[:, 0].tolist() == np.array([0.1, 0.2], np.float32).tolist()


def test_unused_categories_in_parquet_are_not_kinds(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["a", "b"], "v": [1.0, 2.0]}), tmp_path / "nodes.parquet")
    kinds = pa.DictionaryArray.from_arrays(pa.array([2, 0]), pa.array(["z", "unused", "k"]))
    table = pa.table({"source": ["a", "a"], "target": ["b", "b"], "kind": kinds})
    pq.write_table(table, tmp_path / "edges.parquet")
    graph = read_graph(tables(tmp_path, "parquet", features=("v",)))
    assert graph.ties.kinds == ("k", "z")
    assert graph.ties.kind.tolist() == [0, 1]


def test_columns_may_have_other_names(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("person,v\na,1\nb,2\n")
    (tmp_path / "edges.csv").write_text("from,to,relation,amount\na,b,kin,3\n")
    names = {"id": "person", "source": "from", "target": "to"}
    names |= {"kind": "relation", "weight": "amount"}
    graph = read_graph(tables(tmp_path, features=("v",), **names))
    assert graph.ties.kinds == ("kin",)
    assert graph.ties.weight is not None
    assert graph.ties.weight.tolist() == [3.0]


def test_an_archive_with_the_arrays_of_a_sparse_matrix_is_read(tmp_path: Path) -> None:
    dense = np.array([[0, 1.5, 0], [2, 0, 0]], np.float32)
    x = sparse.csr_array(dense)
    np.savez(
        tmp_path / "graph.npz",
        x_data=x.data,
        x_indices=x.indices,
        x_indptr=x.indptr,
        x_shape=np.array(x.shape),
        edge_index=np.array([[0], [1]]),
        y=np.array([0, 1]),
    )
    graph = read_graph(GraphSettings(npz=tmp_path / "graph.npz"))
    assert graph.features.tolist() == dense.tolist()
    assert graph.features.dtype == np.float32
    assert graph.feature_names == ("x0", "x1", "x2")
    assert graph.ids.tolist() == ["0", "1"]
    assert graph.attributes["y"].tolist() == [0, 1]


def test_settings_select_features_of_an_archive_by_name(tmp_path: Path) -> None:
    settings = write_npz(PLAIN, tmp_path).model_copy(update={"features": ("open",)})
    graph = read_graph(settings)
    assert graph.feature_names == ("open",)
    assert graph.features.tolist() == [[1.0], [0.0], [1.0], [1.0]]


def test_whole_numbers_as_kinds_of_an_archive_are_the_codes_of_the_model(tmp_path: Path) -> None:
    graph = from_arrays(np.ones((3, 1)), [[0, 1], [1, 2]], kind=[2, 0])
    assert graph.ties.kinds == ("0", "1", "2")
    assert graph.ties.kind.tolist() == [2, 0]
    np.savez(
        tmp_path / "graph.npz",
        x=np.ones((3, 1)),
        edge_index=np.array([[0, 1], [1, 2]]),
        edge_type=np.array([2, 0]),
    )
    settings = GraphSettings(npz=tmp_path / "graph.npz", kinds=("kin", "work", "debt"))
    assert read_graph(settings).ties.kinds == ("kin", "work", "debt")


def test_arrays_in_memory_give_the_same_graph_as_an_archive(tmp_path: Path) -> None:
    nodes, ties = RICH.nodes, RICH.ties
    number = {"ann": 0, "bob": 1, "cem": 2}
    graph = from_arrays(
        np.array([nodes["income"]]).T,
        [[number[end] for end in ties[side]] for side in ("source", "target")],
        ids=nodes["id"],
        attributes={name: np.array(nodes[name]) for name in ("open", "region", "age")},
        kind=ties["kind"],
        weight=ties["weight"],
        edge_attributes=np.array([ties["until"], ties["since"]]).T,
        feature_names=["income"],
    )
    assert_equal(graph, read_graph(write_npz(RICH, tmp_path)))
    assert_equal(graph, read_graph(write_parquet(RICH, tmp_path)))


def test_sparse_features_become_dense() -> None:
    graph = from_arrays(sparse.coo_matrix(np.eye(3)), np.empty((2, 0)))
    assert graph.features.tolist() == np.eye(3).tolist()


def test_ids_may_be_of_any_type() -> None:
    graph = from_arrays(np.ones((4, 1)), [[0], [1]], ids=[7, "a", b"c", (1, 2)])
    assert graph.ids.tolist() == ["7", "a", "c", "(1, 2)"]
    assert graph.find("7") == 0


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_a_networkx_graph_of_any_class_is_read(kind: Any) -> None:
    drawing = kind()
    drawing.add_node(7, v=1, region="north")
    drawing.add_node("b", v=2.5)
    drawing.add_edge(7, "b", kind="kin", weight=2)
    drawing.add_edge(7, 7, kind="self", weight=1)
    graph = from_networkx(drawing, features=["v"])
    assert graph.ids.tolist() == ["7", "b"]
    assert graph.directed == drawing.is_directed()
    assert graph.features.tolist() == [[1.0], [2.5]]
    assert graph.attributes["region"].tolist() == ["north", ""]
    assert graph.ties.kinds == ("kin", "self")
    assert graph.loop_node.tolist() == [0]
    assert graph.pair_count == 1


def test_a_graphml_file_says_whether_it_is_directed(tmp_path: Path) -> None:
    drawing: nx.DiGraph[Any] = nx.DiGraph()
    drawing.add_node("a", v=1.0, code="x1")
    drawing.add_node("b", v=2.0, code="x2")
    drawing.add_edge("b", "a")
    path = tmp_path / "graph.graphml"
    nx.write_graphml(drawing, path)
    assert read_graph(GraphSettings(graphml=path, features=("v",))).directed
    assert not read_graph(GraphSettings(graphml=path, features=("v",), directed=False)).directed
    named = read_graph(GraphSettings(graphml=path, features=("v",), id="code"))
    assert named.ids.tolist() == ["x1", "x2"]
    assert named.attributes == {}


YED = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns"
 xmlns:y="http://www.yworks.com/xml/graphml"><key id="d0" for="node" yfiles.type="nodegraphics"/>
<key id="d1" for="node" attr.name="v" attr.type="int"><default>7</default></key>
<key id="d2" for="node" attr.name="region" attr.type="string"><default>north</default></key>
<graph edgedefault="directed"><node id="n0" yfiles.foldertype="group">
<data key="d1">1</data><port name="N"/>
<data key="d0"><y:ShapeNode><y:Geometry x="1"/>
<y:NodeLabel>Ada<y:x/></y:NodeLabel></y:ShapeNode></data>
<graph edgedefault="directed"><node id="n0::n1"><data key="d2">south</data></node></graph></node>
<edge source="n0::n1" target="n0"><desc>a <b>note</b></desc></edge></graph></graphml>"""


def test_groups_labels_and_defaults_of_a_graphml_file_are_read(tmp_path: Path) -> None:
    path = tmp_path / "graph.graphml"
    path.write_text(YED)
    graph = read_graph(GraphSettings(graphml=path, features=("v",)))
    assert graph.ids.tolist() == ["n0", "n0::n1"]
    assert graph.features.tolist() == [[1.0], [7.0]]
    assert graph.attributes["region"].tolist() == ["north", "south"]
    assert graph.attributes["label"].tolist() == ["Ada", ""]
    assert (graph.ties.source.tolist(), graph.ties.target.tolist()) == ([1], [0])


def tables(folder: Path, ending: str = "csv", **settings: Any) -> GraphSettings:
    return GraphSettings(
        nodes=folder / f"nodes.{ending}", edges=folder / f"edges.{ending}", **settings
    )
