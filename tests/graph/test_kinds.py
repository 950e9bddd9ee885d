"""Several kinds of nodes become one graph, the same in every format."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recourse_audit.audit.population import ties_of
from recourse_audit.errors import SubjectError
from recourse_audit.graph.graph import Graph
from recourse_audit.graph.kinds import on_people, with_subject
from recourse_audit.graph.readers import from_arrays, from_networkx, read_graph
from recourse_audit.settings import GraphSettings, GroupSettings, SubjectColumn
from tests.graph.graphs import Sample, assert_equal, write_csv
from tests.graph.kind_graphs import (
    FakeHeteroData,
    World,
    arrays_of,
    assert_is_world,
    network_of,
    random_world,
    write_npz,
    write_tables,
)

WORLDS = range(12)


def _read_network(world: World, _: Path) -> Graph:
    attributes = {name: ties.attributes for name, ties in world.ties.items()}
    return from_networkx(
        network_of(world), world.features, edge_attributes=attributes, subject=world.subject
    )


READERS: dict[str, Callable[[World, Path], Graph]] = {
    "csv": lambda world, folder: read_graph(write_tables(world, folder), subject="person"),
    "parquet": lambda world, folder: read_graph(
        write_tables(world, folder, "parquet"), subject="person"
    ),
    "npz": lambda world, folder: read_graph(
        write_npz(world, folder, declared=True), subject="person"
    ),
    "npz by names": lambda world, folder: read_graph(
        write_npz(world, folder, declared=False), subject="person"
    ),
    "arrays": lambda world, _: from_arrays(**arrays_of(world)),
    "networkx": _read_network,
    "HeteroData": lambda world, _: from_arrays(
        FakeHeteroData(world, mirrored=False), subject="person"
    ),
    "HeteroData, mirrored": lambda world, _: from_arrays(
        FakeHeteroData(world, mirrored=True), subject="person"
    ),
}

OUT_OF_ORDER = ("networkx",)  # which list ties by their first node


@pytest.mark.parametrize("seed", WORLDS)
@pytest.mark.parametrize("reader", READERS)
def test_every_format_gives_the_graph_value_by_value(
    reader: str, seed: int, tmp_path: Path
) -> None:
    world = random_world(seed, extras=seed % 2 == 0)
    graph = READERS[reader](world, tmp_path)
    assert_is_world(graph, world, in_order=reader not in OUT_OF_ORDER)


@pytest.mark.parametrize("reader", [name for name in READERS if name not in OUT_OF_ORDER])
def test_every_format_gives_the_same_arrays(reader: str, tmp_path: Path) -> None:
    world = random_world(4)
    assert_equal(READERS[reader](world, tmp_path), READERS["arrays"](world, tmp_path))


def test_ends_may_be_named_after_their_kinds(tmp_path: Path) -> None:
    world = random_world(1)
    settings = write_tables(world, tmp_path)
    expected = read_graph(settings, subject="person")
    path = settings.files["ties.works_at"]
    header, _, rest = path.read_text().partition("\n")
    renamed = header.replace('"source"', "person").replace('"target"', "employer")
    assert renamed != header
    path.write_text(f"{renamed}\n{rest}")
    assert_equal(read_graph(settings, subject="person"), expected)


@pytest.mark.parametrize("directed", [False, True])
def test_one_kind_in_a_table_gives_the_arrays_of_a_plain_graph(
    directed: bool, tmp_path: Path
) -> None:
    sample = Sample(
        nodes={"id": ["a", "b", "c"], "v": [1.5, 2.0, 3.0], "word": ["x", "y", "x"]},
        ties={
            "source": ["a", "b", "b", "c"],
            "target": ["b", "a", "c", "c"],
            "weight": [1.0, 2.0, 3.0, 4.0],
        },
        features=("v",),
        directed=directed,
    )
    settings = write_csv(sample, tmp_path)
    plain = read_graph(settings)
    tables = {
        "nodes": {"person": {"path": settings.nodes, "features": ["v"]}},
        "ties": {
            "tie": {"path": settings.edges, "from": "person", "to": "person", "directed": directed}
        },
    }
    graph = read_graph(GraphSettings.model_validate(tables))
    assert graph.kinds is not None
    assert graph.kinds.names == ("person",)
    for name in ("ids", "features", "pair_low", "pair_high", "starts", "neighbour", "loop_node"):
        if name != "loop_node" or not directed:
            assert np.array_equal(getattr(graph, name), getattr(plain, name)), name
    assert {name: v.tolist() for name, v in graph.attributes.items()} == {"word": ["x", "y", "x"]}
    assert np.array_equal(graph.ties.source, plain.ties.source)
    assert graph.ties.weight is not None
    assert plain.ties.weight is not None
    assert np.array_equal(graph.ties.weight, plain.ties.weight)
    if not directed:  # a directed relation has its arcs both ways, for the model's door to choose
        assert np.array_equal(graph.arc_source, plain.arc_source)
        assert np.array_equal(graph.arc_tie, plain.arc_tie)


def test_a_change_of_people_leaves_other_kinds_alone(tmp_path: Path) -> None:
    world = random_world(2)
    graph = READERS["csv"](world, tmp_path)

    def widen(people: Graph) -> Graph:
        assert people.node_count == graph.person_count
        assert people.feature_names == ("income",)
        wide = np.column_stack([people.features, people.features + 1])
        extra = {"twice": people.features[:, 0] * 2}
        return replace(people, features=wide, feature_names=("income", "more"), more=extra)

    wide = on_people(graph, widen)
    assert wide.feature_names == ("income", "more", *graph.feature_names[1:])
    people = slice(0, graph.person_count)
    assert np.array_equal(wide.features[people, 1], graph.features[people, 0] + 1)
    assert not wide.features[graph.person_count :, :2].any()
    assert np.array_equal(wide.features[:, 2:], graph.features[:, 1:])
    assert wide.kinds is not None
    assert wide.kinds.blocks == ((0, 2), (2, 4), (4, 4))
    assert np.isnan(wide.columns["twice"][graph.person_count :]).all()
    assert {*wide.attributes} == {*graph.attributes}


def test_columns_are_those_of_people_or_of_the_kind_in_their_name(tmp_path: Path) -> None:
    graph = READERS["csv"](random_world(3), tmp_path)
    assert graph.kinds is not None
    assert {*graph.column_names} == {"income", "region", "children"}
    assert graph.rows_of_column("income") == slice(0, graph.person_count)
    members = graph.kinds.members(graph.kinds.names.index("employer"))
    assert graph.rows_of_column("employer.size") == slice(members.start, members.stop)


def test_a_bare_id_is_that_of_a_person(tmp_path: Path) -> None:
    graph = READERS["csv"](random_world(3), tmp_path)
    assert graph.find("p1") == graph.find("person:p1") == 1
    assert graph.ids[graph.find("employer:e1")] == "employer:e1"
    with pytest.raises(SubjectError, match="no node with the id 'e1'"):
        graph.find("e1")


@pytest.mark.parametrize("seed", WORLDS)
@pytest.mark.parametrize("codes", [False, True])
def test_a_homogenised_table_has_those_decided_on_first(codes: bool, seed: int) -> None:
    random = np.random.default_rng(seed)
    count = 9
    types = random.integers(0, 3, count)
    types[:3] = [0, 1, 2]
    names = np.array(["employer", "person", "device"])[types]
    x, ends = random.normal(size=(count, 2)), random.integers(0, count, (2, 12))
    graph = from_arrays(x, ends, attributes={"type": types if codes else names}, directed=True)
    value: Any = 1 if codes else "person"
    order = ("device", "employer", "person")
    moved = with_subject(
        graph, SubjectColumn(column="type", value=value), () if codes else order[::-1]
    )
    assert moved.kinds is not None
    assert moved.person_count == (types == 1).sum()
    assert moved.ids[: moved.person_count].tolist() == [str(n) for n in np.flatnonzero(types == 1)]
    assert moved.kinds.names[0] == str(value)
    code = dict(zip(moved.kinds.names, moved.kinds.codes, strict=True))
    if codes:
        assert code == {str(n): n for n in range(3)}
    else:
        assert code == {"person": 0, "employer": 1, "device": 2}
    for number, name in enumerate(moved.ids.tolist()):
        assert np.array_equal(moved.features[number], x[int(name)])
        kind = moved.kinds.names[moved.kinds.of(np.array([number]))[0]]
        assert kind == str((types if codes else names)[int(name)])
    found = zip(moved.ids[moved.ties.source], moved.ids[moved.ties.target], strict=True)
    assert [(int(s), int(t)) for s, t in found] == [*zip(*ends.tolist(), strict=True)]


@pytest.mark.parametrize("seed", WORLDS)
def test_groups_are_compared_on_people_who_are_tied_or_share_a_node(seed: int) -> None:
    graph = from_arrays(**arrays_of(random_world(seed)))
    [(_, block)] = ties_of(graph, GroupSettings(attributes=("region",)))
    pairs = {tuple(pair) for pair in np.frombuffer(block, "<i4").reshape(-1, 2).tolist()}
    expected = set()
    people = range(graph.person_count)
    ends = zip(graph.ties.source.tolist(), graph.ties.target.tolist(), strict=True)
    tied = {frozenset(pair) for pair in ends if pair[0] != pair[1]}
    for pair in tied:
        if max(pair) in people:
            expected.add(tuple(sorted(pair)))
    for node in range(graph.person_count, graph.node_count):
        sharing = [person for person in people if frozenset((person, node)) in tied]
        expected |= set(pairwise(sharing))
    assert pairs == expected
