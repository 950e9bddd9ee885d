"""Small graphs of several kinds of nodes, drawn at random, and what their arrays must be."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from recourse_audit.graph.graph import Graph
from recourse_audit.settings import GraphSettings
from tests.graph.graphs import Columns


@dataclass(frozen=True, kw_only=True)
class WorldTies:
    """The ties of a relation; its ends are ids."""

    source: str
    target: str
    columns: Columns
    attributes: tuple[str, ...] = ()
    directed: bool = True


@dataclass(frozen=True, kw_only=True)
class World:
    """Columns of each kind and each relation; the subject's kind need not be the first."""

    nodes: dict[str, Columns]
    features: dict[str, tuple[str, ...]]
    ties: dict[str, WorldTies]
    subject: str

    @property
    def kinds(self) -> list[str]:
        return [self.subject, *(kind for kind in self.nodes if kind != self.subject)]


def random_world(seed: int, *, extras: bool = True) -> World:
    """People, employers and devices; with `extras`, ties have weights and attributes."""
    random = np.random.default_rng(seed)
    counts = {kind: int(random.integers(3, 9)) for kind in ("employer", "person", "device")}
    ids = {kind: [f"{kind[0]}{n}" for n in range(count)] for kind, count in counts.items()}

    def columns(kind: str, *names: str) -> dict[str, Any]:
        return {name: random.normal(size=counts[kind]).round(3).tolist() for name in names}

    def ties(source: str, target: str, *extra: str) -> dict[str, Any]:
        count = int(random.integers(2, 15))
        ends = {
            key: [ids[kind][n] for n in random.integers(0, counts[kind], count)]
            for key, kind in (("source", source), ("target", target))
        }
        more = {name: random.random(count).round(2).tolist() for name in extra if extras}
        return {**ends, **more}

    knows = {*zip(*(random.integers(0, counts["person"], 8).tolist() for _ in "ab"), strict=True)}
    pairs = sorted({(min(pair), max(pair)) for pair in knows if pair[0] != pair[1]})
    both = [*pairs, *((high, low) for low, high in pairs)]
    word = [f"w{n % 2}" for n in range(counts["person"])]
    return World(
        nodes={
            "employer": {
                "id": ids["employer"],
                **columns("employer", "size", "age"),
                "sector": [f"s{n % 3}" for n in range(counts["employer"])],
            },
            "person": {
                "id": ids["person"],
                **columns("person", "income"),
                "region": word,
                "children": random.integers(0, 4, counts["person"]).tolist(),
            },
            "device": {"id": ids["device"]},
        },
        features={"employer": ("age", "size"), "person": ("income",), "device": ()},
        ties={
            "works_at": WorldTies(
                source="person",
                target="employer",
                columns=ties("person", "employer", "weight", "since", "until"),
                attributes=("until", "since") if extras else (),
            ),
            "uses": WorldTies(
                source="device",
                target="person",
                columns=ties("device", "person", "since"),
                attributes=("since",) if extras else (),
            ),
            "lends_to": WorldTies(
                source="person", target="person", columns=ties("person", "person")
            ),
            "knows": WorldTies(
                source="person",
                target="person",
                columns={
                    key: [ids["person"][pair[place]] for pair in both]
                    for place, key in enumerate(("source", "target"))
                },
                directed=not pairs,
            ),
        },
        subject="person",
    )


def table_settings(world: World, **source: Path) -> dict[str, Any]:
    """The settings of a world but for its paths."""
    return {
        "nodes": {kind: {"features": world.features[kind]} for kind in world.nodes},
        "ties": {
            name: {
                "from": ties.source,
                "to": ties.target,
                "attributes": ties.attributes,
                "directed": ties.directed,
            }
            for name, ties in world.ties.items()
        },
        **source,
    }


def write_tables(world: World, folder: Path, suffix: str = "csv") -> GraphSettings:
    settings = table_settings(world)
    columns = {("nodes", kind): table for kind, table in world.nodes.items()}
    columns |= {("ties", name): ties.columns for name, ties in world.ties.items()}
    for (section, name), table in columns.items():
        path = folder / f"{section}_{name}.{suffix}"
        if suffix == "csv":
            pacsv.write_csv(pa.table(dict(table)), path)
        else:
            pq.write_table(pa.table(dict(table)), path)
        settings[section][name]["path"] = path
    return GraphSettings.model_validate(settings)


def positions(world: World, name: str) -> np.ndarray[Any, Any]:
    """The ends of a relation's ties as positions within their kinds."""
    ties = world.ties[name]
    return np.array(
        [
            [list(world.nodes[kind]["id"]).index(end) for end in ties.columns[key]]
            for key, kind in (("source", ties.source), ("target", ties.target))
        ],
        np.int64,
    )


def arrays_of(world: World) -> dict[str, Any]:
    """What `from_arrays` takes."""
    triples = {name: (ties.source, name, ties.target) for name, ties in world.ties.items()}
    given: dict[str, Any] = {"subject": world.subject}
    given["x"] = {
        kind: np.array([table[n] for n in world.features[kind]]).reshape(-1, len(table["id"])).T
        for kind, table in world.nodes.items()
    }
    given["ids"] = {kind: table["id"] for kind, table in world.nodes.items()}
    given["feature_names"] = dict(world.features)
    given["attributes"] = {
        kind: {n: v for n, v in table.items() if n not in {"id", *world.features[kind]}}
        for kind, table in world.nodes.items()
    }
    given["edge_index"] = {triple: positions(world, name) for name, triple in triples.items()}
    given["weight"] = {
        triples[name]: ties.columns["weight"]
        for name, ties in world.ties.items()
        if "weight" in ties.columns
    }
    given["edge_attributes"] = {
        triples[name]: np.array([ties.columns[n] for n in ties.attributes]).T
        for name, ties in world.ties.items()
        if ties.attributes
    }
    return given


def write_npz(world: World, folder: Path, *, declared: bool) -> GraphSettings:
    """An archive; `declared` relations have their kinds in the settings, others in their names."""
    given, arrays = arrays_of(world), dict[str, Any]()
    for kind in world.nodes:
        if world.features[kind]:
            arrays[f"x_{kind}"] = given["x"][kind]
            arrays[f"feature_names_{kind}"] = np.array(world.features[kind])
        arrays[f"ids_{kind}"] = np.array(given["ids"][kind])
        for place, (name, values) in enumerate(given["attributes"][kind].items()):
            arrays[f"{name}{'__' if place else '_'}{kind}"] = np.array(values)
    names = {"edge_index": "edge_index", "edge_weight": "weight", "edge_attr": "edge_attributes"}
    for key, name in names.items():
        for triple, values in given[name].items():
            suffix = triple[1] if declared else "__".join(triple)
            arrays[f"{key}_{suffix}"] = np.array(values)
    path = folder / "graph.npz"
    np.savez(path, **arrays)
    if not declared:
        return GraphSettings(npz=path)
    settings = table_settings(world, npz=path)
    for table in settings["ties"].values():
        table.pop("attributes")
    return GraphSettings.model_validate(settings)


def network_of(world: World) -> "nx.MultiDiGraph[Any]":
    """The same as a networkx graph with unique ids; ties of a relation in its order."""
    network: nx.MultiDiGraph[Any] = nx.MultiDiGraph()
    for kind, table in world.nodes.items():
        for place, name in enumerate(table["id"]):
            own = {n: table[n][place] for n in table if n != "id"}
            network.add_node(name, kind=kind, **own)
    for name, ties in world.ties.items():
        for place in range(len(ties.columns["source"])):
            own = {n: v[place] for n, v in ties.columns.items() if n not in ("source", "target")}
            ends = (ties.columns[key][place] for key in ("source", "target"))
            network.add_edge(*ends, kind=name, **own)
    return network


class FakeTensor:
    """What PyTorch's tensors have that matters here."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)
        self.shape = self.values.shape

    def detach(self) -> "FakeTensor":
        return self

    def cpu(self) -> "FakeTensor":
        return self

    def numpy(self) -> Any:
        return self.values


class FakeStore(dict[str, Any]):
    """What `HeteroData` has for one kind of nodes."""

    def __getattr__(self, name: str) -> Any:
        if name == "num_nodes":
            return len(self["x"].values) if "x" in self else self.get(name)
        return self[name]


class FakeHeteroData:
    """What PyG's `HeteroData` looks like from outside, with reversed relations on request."""

    def __init__(self, world: World, *, mirrored: bool) -> None:
        given = arrays_of(world)
        self.node_types = [*world.nodes]
        self.stores = {
            kind: FakeStore(
                ids=list(given["ids"][kind]),
                feature_names=list(world.features[kind]),
                **given["attributes"][kind],
            )
            for kind in world.nodes
        }
        for kind, store in self.stores.items():
            if world.features[kind]:
                store["x"] = FakeTensor(given["x"][kind])
            else:
                store["num_nodes"] = len(given["ids"][kind])
        self.x_dict = {kind: store["x"] for kind, store in self.stores.items() if "x" in store}
        self.edge_index_dict = {k: FakeTensor(v) for k, v in given["edge_index"].items()}
        self.edge_weight_dict = {k: FakeTensor(v) for k, v in given["weight"].items()}
        self.edge_attr_dict = {k: FakeTensor(v) for k, v in given["edge_attributes"].items()}
        for triple, ends in [*self.edge_index_dict.items()] if mirrored else ():
            if triple[0] == triple[2]:
                continue
            back = (triple[2], f"rev_{triple[1]}", triple[0])
            self.edge_index_dict[back] = FakeTensor(ends.values[::-1, ::-1])
            if triple in self.edge_attr_dict:
                self.edge_attr_dict[back] = FakeTensor(self.edge_attr_dict[triple].values[::-1])

        for name in ("edge_weight_dict", "edge_attr_dict"):
            if not getattr(self, name):
                delattr(self, name)

    def __getattr__(self, name: str) -> Any:
        raise KeyError(f"did not find any occurrences of {name}")

    def __getitem__(self, kind: str) -> FakeStore:
        return self.stores[kind]


def expected_rows(world: World) -> list[dict[str, Any]]:
    """Every node with its id and what is known of it, as `join_kinds` must number them."""
    rows = []
    for kind in world.kinds:
        prefix = "" if kind == world.subject else f"{kind}."
        table = world.nodes[kind]
        for place, name in enumerate(table["id"]):
            known = {f"{prefix}{n}": table[n][place] for n in table if n != "id"}
            rows.append({"id": f"{kind}:{name}", **known})
    return rows


def expected_ties(world: World) -> list[tuple[Any, ...]]:
    """Every tie: its relation, its two ends, its weight and its attributes."""
    weighted = any("weight" in ties.columns for ties in world.ties.values())
    width = max(len(ties.attributes) for ties in world.ties.values())
    listed = []
    for name, ties in world.ties.items():
        seen: set[tuple[str, str]] = set()
        for place in range(len(ties.columns["source"])):
            ends = [
                f"{kind}:{ties.columns[key][place]}"
                for key, kind in (("source", ties.source), ("target", ties.target))
            ]
            if not ties.directed and (ends[1], ends[0]) in seen:
                continue
            seen.add((ends[0], ends[1]))
            weight = ties.columns.get("weight", [1.0] * 99)[place] if weighted else 1.0
            own = [ties.columns[column][place] for column in ties.attributes]
            listed.append((name, *ends, weight, (*own, *[0.0] * (width - len(own)))))
    return listed


def assert_is_world(graph: Graph, world: World, *, in_order: bool = True) -> None:
    """Compare a graph with a world, value by value."""
    rows, kinds = expected_rows(world), graph.kinds
    assert kinds is not None
    assert list(kinds.names) == world.kinds
    assert graph.ids.tolist() == [row["id"] for row in rows]
    assert graph.person_count == len(world.nodes[world.subject]["id"])
    for place, kind in enumerate(world.kinds):
        members = kinds.members(place)
        assert len(members) == len(world.nodes[kind]["id"])
        low, high = kinds.blocks[place]
        prefix = "" if kind == world.subject else f"{kind}."
        assert graph.feature_names[low:high] == tuple(f"{prefix}{n}" for n in world.features[kind])
        outside = np.delete(graph.features[members.start : members.stop], range(low, high), axis=1)
        assert not outside.any()
        for name in world.nodes[kind]:
            if name == "id":
                continue
            column = graph.columns[f"{prefix}{name}"]
            for number, row in enumerate(rows):
                if number in members:
                    value = row[f"{prefix}{name}"]
                    if isinstance(value, str):
                        assert column[number] == value
                    else:
                        assert abs(float(column[number]) - value) <= 1e-6
                elif name not in world.features[kind]:
                    assert column[number] == "" or np.isnan(column[number])
    _assert_ties(graph, world, in_order=in_order)


def _assert_ties(graph: Graph, world: World, *, in_order: bool) -> None:
    kinds, ties = graph.kinds, graph.ties
    assert kinds is not None
    listed = expected_ties(world)
    relations = [
        (r.name, kinds.names[r.source], kinds.names[r.target], r.directed, r.attributes, r.weighted)
        for r in kinds.relations
    ]
    wanted = [
        (n, t.source, t.target, t.directed, len(t.attributes), "weight" in t.columns)
        for n, t in world.ties.items()
    ]
    assert relations == (wanted if in_order else sorted(wanted))
    found = [
        (
            ties.kinds[ties.kind[row]],
            str(graph.ids[ties.source[row]]),
            str(graph.ids[ties.target[row]]),
            1.0 if ties.weight is None else round(float(ties.weight[row]), 4),
            ()
            if ties.attributes is None
            else tuple(round(v, 4) for v in ties.attributes[row].tolist()),
        )
        for row in range(len(ties))
    ]
    if not in_order:
        found, listed = sorted(found), sorted(listed)
    assert [row[:3] for row in found] == [row[:3] for row in listed]
    assert np.allclose([row[3] for row in found], [row[3] for row in listed])
    assert np.allclose([row[4] for row in found], [row[4] for row in listed])
