"""Kinds and relations that do not fit together are refused in one sentence that says what to do."""

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from recourse_audit.audit.load import find_subjects, read_features
from recourse_audit.errors import GraphError, SettingsError
from recourse_audit.graph.kinds import with_subject
from recourse_audit.graph.readers import from_arrays, from_networkx, read_graph
from recourse_audit.settings import GraphSettings, ModelSettings, SubjectColumn, parse_settings
from tests.graph.graphs import message_of
from tests.graph.kind_graphs import (
    FakeHeteroData,
    FakeTensor,
    arrays_of,
    random_world,
    write_npz,
    write_tables,
)

PEOPLE = "id,income\np1,1.5\np2,2.0\n"
EMPLOYERS = "id,size\ne1,40\ne2,7\n"
WORKS = "source,target\np1,e1\np2,e2\n"


def tables(folder: Path, **changes: Any) -> dict[str, Any]:
    """The settings of two kinds and a relation; changes are texts of files, or parts of tables."""
    texts = {"people": PEOPLE, "employers": EMPLOYERS, "works": WORKS}
    for name, text in texts.items():
        (folder / f"{name}.csv").write_text(changes.pop(name, text))
    return {
        "nodes": {
            "person": {"path": folder / "people.csv", "features": ["income"]}
            | changes.get("person", {}),
            "employer": {"path": folder / "employers.csv", "features": ["size"]}
            | changes.get("employer", {}),
        },
        "ties": {
            "works_at": {"path": folder / "works.csv", "from": "person", "to": "employer"}
            | changes.get("works_at", {})
        },
        **changes.get("graph", {}),
    }


def settings_message(graph: dict[str, Any]) -> str:
    table = {
        "model": {"path": "m.onnx"},
        "graph": graph,
        "decision": {"classes": ["no", "yes"], "favourable": ["yes"], "subject": "person"},
    }
    return message_of(lambda: parse_settings(table, folder=Path(), origin="audit.toml"))


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        (
            {"works_at": {"to": "employr"}},
            ["ties.works_at.to", "'employr' is not a kind", "did you mean 'employer'?"],
        ),
        (
            {"works_at": {"from": "boss"}},
            ["ties.works_at.from", "'boss' is not a kind", "add the kind"],
        ),
        ({"works_at": {"directed": False}}, ["has a direction", "leave out directed"]),
        ({"works_at": {"path": None}}, ["ties.works_at.path", "is missing", "name the CSV"]),
        ({"works_at": {"sources": "x"}}, ["graph.ties.works_at.sources", "did you mean source"]),
        ({"person": {"feature": []}}, ["graph.nodes.person.feature", "did you mean features"]),
        ({"graph": {"ties": {}}}, ["need ties", "[graph.ties]", "works_at = {"]),
        ({"graph": {"edges": "e.csv"}}, ["edges, graphml and a path", "write nodes and ties"]),
        ({"graph": {"features": ["a"]}}, ["features belongs to a table of nodes", "move it"]),
        ({"graph": {"directed": True}}, ["directed belongs to a table of nodes or ties"]),
        ({"graph": {"npz": "g.npz"}}, ["nodes.person.path", "leave it out", "npz has it all"]),
        (
            {"graph": {"nodes": {"a:b": {"path": "a.csv"}}, "ties": {}, "npz": None}},
            ["[graph.ties]"],
        ),
    ],
)
def test_tables_that_do_not_fit_together_are_refused(
    changes: dict[str, Any], parts: list[str], tmp_path: Path
) -> None:
    message = settings_message(tables(tmp_path, **changes))
    assert [part for part in parts if part not in message] == [], message


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        (
            {"works": "source,target\np1,e1\np2,e9\n"},
            ["works.csv, line 3", "'e9'", "not the id of a node in", "employers.csv", "add the"],
        ),
        (
            {"works": "source,target\ne1,p1\n"},
            ["works.csv, line 2", "'e1' in column 'source'", "people.csv"],
        ),
        (
            {"works": "worker,target\np1,e1\n"},
            ["no column 'source' (from graph.ties.works_at.source)"],
        ),
        (
            {"works_at": {"weight": "pay"}},
            ["no column 'pay' (from graph.ties.works_at.weight)"],
        ),
        (
            {"works_at": {"attributes": ["since"]}},
            ["no column 'since' (from graph.ties.works_at.attributes)"],
        ),
        (
            {"employer": {"features": ["sizes"]}},
            ["'sizes' (from graph.nodes.employer.features)", "did you mean 'size'"],
        ),
        ({"employers": "id,size\ne1,x\n"}, ["employers.csv, line 2", "'size'", "finite number"]),
        ({"people": "id,income\n"}, ["people.csv", "there are no nodes"]),
        (
            {"people": "id,income,employer.size\np1,1,2\n", "works": "source,target\n"},
            ["'employer.size'", "as if it were of another kind", "rename it"],
        ),
        (
            {"people": "id,income\nemployer:e1,1\n", "works": "source,target\n"},
            ["'employer:e1'", "also that of employer 'e1'", "rename one of them"],
        ),
        (
            {"people": "id,income\nperson:a,1\na,2\n", "works": "source,target\n"},
            ["'person:a'", "also that of person 'a'", "rename one of them"],
        ),
    ],
)
def test_tables_with_something_wrong_are_refused_with_their_row_or_setting(
    changes: dict[str, Any], parts: list[str], tmp_path: Path
) -> None:
    settings = GraphSettings.model_validate(tables(tmp_path, **changes))
    message = message_of(lambda: read_graph(settings, subject="person"))
    assert [part for part in parts if part not in message] == [], message


def test_a_missing_table_is_named_with_its_setting(tmp_path: Path) -> None:
    settings = GraphSettings.model_validate(tables(tmp_path))
    (tmp_path / "employers.csv").unlink()
    message = message_of(lambda: read_graph(settings, subject="person"))
    assert "no such file; correct the path in graph.nodes.employer.path" in message


@pytest.mark.parametrize(
    ("subject", "parts"),
    [
        (None, ["decision.subject: is missing", "person, employer"]),
        ("persons", ["names 'persons', which is no kind", "name the kind", "person, employer"]),
        (SubjectColumn(column="c", value="v"), ["no kind of nodes", "name the kind", "employer"]),
    ],
)
def test_somebody_must_be_decided_on(subject: Any, parts: list[str], tmp_path: Path) -> None:
    settings = GraphSettings.model_validate(tables(tmp_path))
    message = message_of(lambda: read_graph(settings, subject=subject))
    assert [part for part in parts if part not in message] == [], message


def test_a_graph_of_one_kind_has_no_kind_that_is_decided_on() -> None:
    graph = from_arrays([[1.0], [2.0]], [[0], [1]])
    model = ModelSettings(path=Path("m.onnx"))
    with pytest.raises(
        SettingsError, match="names 'person', but the graph was made for decisions on all"
    ):
        read_features(model, GraphSettings(), subject="person", graph=graph)


def test_a_homogenised_table_must_have_the_column_and_the_value() -> None:
    graph = from_arrays([[1.0], [2.0]], [[0], [1]], attributes={"type": ["a", "b"]})
    for subject, node_types, part in (
        (SubjectColumn(column="typ", value="a"), (), "no column 'typ'; did you mean 'type'?"),
        (SubjectColumn(column="type", value="c"), (), "'c' does not stand in the column 'type'"),
        (
            SubjectColumn(column="type", value="a"),
            ("a",),
            "model.node_types: 'b' does not stand in",
        ),
    ):
        assert part in message_of(lambda: with_subject(graph, subject, node_types))  # noqa: B023


def test_a_reversed_relation_that_does_not_mirror_its_own_is_refused(tmp_path: Path) -> None:
    world = random_world(3)
    data = FakeHeteroData(world, mirrored=True)
    back = ("employer", "rev_works_at", "person")
    ends = data.edge_index_dict[back].values.copy()
    ends[0, 0] = (ends[0, 0] + 1) % len(world.nodes["employer"]["id"])
    data.edge_index_dict[back] = FakeTensor(ends)
    message = message_of(lambda: from_arrays(data, subject="person"))
    assert "'rev_works_at' is not 'works_at' with its ends exchanged; make it so" in message
    settings = write_npz(world, tmp_path, declared=True)
    with np.load(tmp_path / "graph.npz") as archive:
        arrays = dict(archive)
    np.savez(tmp_path / "graph.npz", **arrays, edge_index_rev_works_at=ends)
    message = message_of(lambda: read_graph(settings, subject="person"))
    assert "'rev_works_at' is not 'works_at' with its ends exchanged; make it so" in message


def test_a_reversed_relation_with_other_attributes_is_refused() -> None:
    world = random_world(4)
    data = FakeHeteroData(world, mirrored=True)
    back = ("employer", "rev_works_at", "person")
    data.edge_attr_dict[back] = FakeTensor(data.edge_attr_dict[back].values + 1)
    message = message_of(lambda: from_arrays(data, subject="person"))
    assert "'rev_works_at' is not 'works_at' with its ends exchanged" in message


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"x": {"person": [[1.0]]}}, ["'works_at' leads to the kind 'employer'", "no nodes"]),
        ({"edge_index": [[0], [0]]}, ["edge_index must be a dictionary by relation"]),
        ({"x": [[1.0]]}, ["x must be a dictionary by kind"]),
        ({"attributes": {"person": {"age": [1, 2]}}}, ["kind 'person'", "'age'", "[1] is needed"]),
        (
            {"edge_index": {("person", "works_at", "employer"): [[0], [5]]}},
            ["relation 'works_at'", "5 in column 0", "nodes are 0 to 0"],
        ),
        ({"edge_index": {"works_at": [[0], [0]]}}, ["'works_at'", "(from, relation, to)"]),
        ({"ids": ["a"]}, ["ids must be a dictionary by kind"]),
        ({"ids": {"boss": ["a"]}}, ["ids names 'boss'", "has no x; add it"]),
        ({"weight": [1.0]}, ["edge_weight must be a dictionary by relation"]),
        ({"feature_names": {"person": ["a", "b"]}}, ["kind 'person'", "'feature_names'", "[1]"]),
        ({"x": {"person": [1.0], "employer": [[1.0]]}}, ["kind 'person'", "'x' has shape [1]"]),
        (
            {"edge_index": {("person", "works.at", "employer"): [[0], [0]]}},
            ["'works.at' cannot name", "without : and ."],
        ),
        ({"attributes": {"boss": {"age": [1]}}}, ["attributes names 'boss'", "has no x; add it"]),
        ({"subject": None}, ["decision.subject: is missing", "person, employer"]),
    ],
)
def test_arrays_of_kinds_that_do_not_fit_are_refused(
    change: dict[str, Any], parts: list[str]
) -> None:
    given: dict[str, Any] = {
        "x": {"person": [[1.0]], "employer": [[1.0, 2.0]]},
        "edge_index": {("person", "works_at", "employer"): [[0], [0]]},
        "subject": "person",
    }
    message = message_of(lambda: from_arrays(**(given | change)))
    assert [part for part in parts if part not in message] == [], message


def test_an_archive_must_say_which_kinds_a_relation_leads_between(tmp_path: Path) -> None:
    path = tmp_path / "graph.npz"
    arrays: dict[str, Any] = {"x_person": np.ones((2, 1)), "x_employer": np.ones((1, 2))}
    np.savez(path, **arrays, edge_index_works_at=np.zeros((2, 1), int))
    message = message_of(lambda: read_graph(GraphSettings(npz=path), subject="person"))
    assert "'edge_index_works_at' does not say which kinds" in message
    assert "edge_index_FROM__RELATION__TO" in message
    ties = {"works_for": {"from": "person", "to": "employer"}}
    settings = GraphSettings.model_validate({"npz": path, "ties": ties})
    message = message_of(lambda: read_graph(settings, subject="person"))
    assert "no array 'edge_index_works_for' (from graph.ties.works_for)" in message
    assert "did you mean 'edge_index_works_at'?" in message


def test_a_network_must_say_what_each_node_is() -> None:
    network: nx.Graph[str] = nx.Graph()
    network.add_node("a", kind="person", v=1.0)
    network.add_node("b", v=1.0)
    message = message_of(lambda: from_networkx(network, {"person": ["v"]}, subject="person"))
    assert "node 'b': has no 'kind'; say of every node what kind it is" in message


def test_a_kind_without_features_needs_a_number_of_nodes() -> None:
    data = FakeHeteroData(random_world(3), mirrored=False)
    data.stores["device"].pop("num_nodes")
    message = message_of(lambda: from_arrays(data, subject="person"))
    assert "the kind 'device' has neither x nor num_nodes" in message


def test_nobody_decides_on_an_employer() -> None:
    graph = from_arrays(**arrays_of(random_world(2)))

    class Audit:
        def __init__(self) -> None:
            self.graph = graph

    audit: Any = Audit()
    assert find_subjects(audit, ["p1", "person:p0"]) == [1, 0]
    message = message_of(lambda: find_subjects(audit, ["employer:e1"]))
    assert "node of the kind 'employer', and decisions are on 'person' alone" in message


def test_an_id_that_is_missing_in_its_kind_is_named_in_parquet_too(tmp_path: Path) -> None:
    world = random_world(5)
    bad = dict(world.ties["works_at"].columns)
    bad["target"] = ["p0", *bad["target"][1:]]
    world.ties["works_at"] = type(world.ties["works_at"])(
        source="person",
        target="employer",
        columns=bad,
        attributes=world.ties["works_at"].attributes,
    )
    settings = write_tables(world, tmp_path, "parquet")
    with pytest.raises(GraphError, match=r"row 1: 'p0' in column 'target' is not the id of a node"):
        read_graph(settings, subject="person")
