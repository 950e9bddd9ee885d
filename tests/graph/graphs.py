"""Small graphs written in every format, and what it means for two graphs to be equal."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from recourse_audit.errors import InputError
from recourse_audit.graph.graph import Graph, Kinds, Ties
from recourse_audit.settings import GraphSettings

Columns = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Columns of nodes and ties; the ends of ties are ids."""

    nodes: Columns
    ties: Columns
    features: tuple[str, ...]
    edge_attributes: tuple[str, ...] = ()
    directed: bool = False

    def settings(self, **sources: Path) -> GraphSettings:
        columns = {"features": self.features, "edge_attributes": self.edge_attributes}
        return GraphSettings.model_validate({**sources, **columns, "directed": self.directed})


def write_csv(sample: Sample, folder: Path) -> GraphSettings:
    pacsv.write_csv(pa.table(dict(sample.nodes)), folder / "nodes.csv")
    pacsv.write_csv(pa.table(dict(sample.ties)), folder / "edges.csv")
    return sample.settings(nodes=folder / "nodes.csv", edges=folder / "edges.csv")


def write_parquet(sample: Sample, folder: Path) -> GraphSettings:
    pq.write_table(pa.table(dict(sample.nodes)), folder / "nodes.parquet")
    pq.write_table(pa.table(dict(sample.ties)), folder / "edges.pq")
    return sample.settings(nodes=folder / "nodes.parquet", edges=folder / "edges.pq")


def write_npz(sample: Sample, folder: Path) -> GraphSettings:
    ids = list(sample.nodes["id"])
    arrays: dict[str, Any] = {
        name: np.array(values)
        for name, values in sample.nodes.items()
        if name not in {"id", *sample.features}
    }
    arrays["ids"] = np.array(ids)
    arrays["x"] = np.array([sample.nodes[name] for name in sample.features], float).T
    arrays["feature_names"] = np.array(sample.features)
    arrays["edge_index"] = np.array(
        [[ids.index(end) for end in sample.ties[side]] for side in ("source", "target")]
    )
    if "kind" in sample.ties:
        arrays["edge_type"] = np.array(sample.ties["kind"])
    if "weight" in sample.ties:
        arrays["edge_weight"] = np.array(sample.ties["weight"])
    if sample.edge_attributes:
        arrays["edge_attr"] = np.array([sample.ties[n] for n in sample.edge_attributes]).T
    np.savez(folder / "graph.npz", **arrays)
    return sample.settings(npz=folder / "graph.npz")


def write_graphml(sample: Sample, folder: Path) -> GraphSettings:
    drawing: nx.MultiGraph[Any] = nx.MultiDiGraph() if sample.directed else nx.MultiGraph()
    for row in _rows(sample.nodes):
        drawing.add_node(row.pop("id"), **row)
    for row in _rows(sample.ties):
        drawing.add_edge(row.pop("source"), row.pop("target"), **row)
    nx.write_graphml(drawing, folder / "graph.graphml")
    return sample.settings(graphml=folder / "graph.graphml")


WRITERS = {
    "csv": write_csv,
    "parquet": write_parquet,
    "npz": write_npz,
    "graphml": write_graphml,
}


def _rows(columns: Columns) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def assert_equal(first: Graph, other: Graph) -> None:
    """Fail at the first field in which two graphs differ."""
    for field in fields(Graph):
        if field.name not in {"ties", "attributes", "kinds"}:
            _assert_same(getattr(first, field.name), getattr(other, field.name), field.name)
    for field in fields(Ties):
        _assert_same(
            getattr(first.ties, field.name), getattr(other.ties, field.name), f"ties.{field.name}"
        )
    assert (first.kinds is None) == (other.kinds is None)
    for field in fields(Kinds) if first.kinds and other.kinds else ():
        _assert_same(
            getattr(first.kinds, field.name),
            getattr(other.kinds, field.name),
            f"kinds.{field.name}",
        )
    assert sorted(first.attributes) == sorted(other.attributes)
    for name, values in first.attributes.items():
        _assert_same(values, other.attributes[name], f"attributes.{name}")


def _assert_same(first: object, other: object, name: str) -> None:
    if isinstance(first, np.ndarray) and isinstance(other, np.ndarray):
        assert first.dtype == other.dtype, name
        if first.dtype.kind == "f":
            assert np.array_equal(first, other, equal_nan=True), name
        else:
            assert first.tolist() == other.tolist(), name
    else:
        assert first == other, name


def message_of(act: Callable[[], object]) -> str:
    """The message of a call that must fail: one line, exit code 2."""
    with pytest.raises(InputError) as caught:
        act()
    assert caught.value.exit_code == 2
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    message = str(caught.value)
    assert "\n" not in message
    return message
