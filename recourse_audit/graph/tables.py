"""A table of nodes and a table of ties, CSV or Parquet, become a `Graph`.

Nodes keep the order of their rows. Each column of the node table is the id, a feature or an
attribute; from the tie table, only the columns that the settings name are read. The default kind
and weight columns are used if they exist.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import GraphError
from recourse_audit.graph.arrow import (
    Keys,
    Table,
    arrow_errors,
    give_back_memory,
    match,
    open_table,
)
from recourse_audit.graph.columns import (
    ColumnKind,
    Place,
    RawColumns,
    check_column,
    check_is_file,
    check_raw_columns,
    code_kinds,
    no_nodes,
    one_kind,
    single_precision,
    stack_features,
)
from recourse_audit.graph.computed import needed_features, with_computed
from recourse_audit.graph.graph import Floats, Graph, Indices, Strings, Ties, build_graph
from recourse_audit.settings import GraphSettings

FEW_VALUES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """What a column holds before anyone has said what it means: numbers or text, and how varied.

    `values` are its different values as text, if there are few.
    """

    name: str
    numeric: bool
    distinct: int
    rows: int
    values: tuple[str, ...] = ()


def survey(path: Path, key: str) -> list[Column]:
    """Describe every column of a CSV or Parquet file; `key` is the setting that names the file."""
    check_is_file(path, key)
    with arrow_errors(str(path)):
        table = open_table(path, as_text=(), row_of="node or tie")
        table.load(table.names)
        labels = {name: table.labels(name) for name in table.names}
    return describe_columns({name: column for name, column in labels.items() if column is not None})


def describe_columns(columns: Mapping[str, NDArray[np.generic]]) -> list[Column]:
    """Say of each column whether it holds numbers, and how varied it is."""
    described = []
    for name, column in columns.items():
        distinct = np.unique(column)
        texts = [str(value) for value in distinct.tolist()] if len(distinct) <= FEW_VALUES else []
        described.append(
            Column(
                name=name,
                numeric=column.dtype.kind in "iuf",
                distinct=len(distinct),
                rows=len(column),
                values=tuple(text for text in texts if text not in ("", "nan")),
            )
        )
    return described


def read_tables(settings: GraphSettings, raw: RawColumns | None = None) -> Graph:
    """Read `settings.nodes` and `settings.edges`.

    Notes
    -----
    Matching ends with ids takes O(N + T) time, on top of the indexing in `build_graph`.
    """
    assert settings.nodes is not None
    assert settings.edges is not None
    check_is_file(settings.nodes, "nodes")
    check_is_file(settings.edges, "edges")
    with arrow_errors(str(settings.nodes)):
        nodes = _read_nodes(settings, raw)
    give_back_memory()
    with arrow_errors(str(settings.edges)):
        ties = _read_ties(settings, nodes.keys)
    give_back_memory()
    graph = build_graph(
        ids=nodes.ids,
        features=nodes.features,
        feature_names=nodes.feature_names,
        attributes=nodes.attributes,
        ties=ties,
        directed=settings.directed,
        origin=str(settings.edges),
    )
    return with_computed(graph, settings, nodes.place)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Nodes:
    """What is kept of the node table; `keys` are the ids in the type they are stored as."""

    keys: Keys
    ids: Strings
    features: Floats
    feature_names: tuple[str, ...]
    attributes: Mapping[str, NDArray[np.generic]]
    place: Place


def _read_nodes(settings: GraphSettings, raw: RawColumns | None) -> _Nodes:
    assert settings.nodes is not None
    table = open_table(settings.nodes, as_text={settings.id})
    check_column(settings.id, table.names, "id", table.place)
    features = needed_features(settings, table.names)
    for name in features:
        check_column(name, table.names, "features", table.place)
    kinds: Mapping[str, ColumnKind] = {}
    if raw is not None:
        others = [name for name in table.names if name != settings.id]
        kinds = raw.kinds(others, table.place.name)
        texts = {name for name, kind in kinds.items() if kind == "text"}
        table = open_table(settings.nodes, as_text={settings.id, *texts})
    table.load(table.names)
    if not len(table):
        raise no_nodes(table.place)
    keys = table.keys(settings.id)
    features = () if raw is not None else features
    used = {settings.id, *features}
    labels = {name: table.labels(name) for name in table.names if name not in used}
    attributes = {name: values for name, values in labels.items() if values is not None}
    for name in kinds:
        if name not in attributes:
            raise GraphError(
                f"{table.place.name}: column {name!r} holds neither numbers nor text; store it as "
                "one of them"
            )
    return _Nodes(
        keys=keys,
        ids=table.identifiers(keys),
        features=stack_features({n: table.numbers(n) for n in features}, table.place, len(table)),
        feature_names=features,
        attributes=check_raw_columns(attributes, kinds, table.place),
        place=table.place,
    )


def _read_ties(settings: GraphSettings, ids: Keys) -> Ties:
    assert settings.edges is not None
    ends = (settings.source, settings.target)
    edges = open_table(
        settings.edges, as_text={*ends, settings.kind}, few={settings.kind}, row_of="tie"
    )
    required = {"source": settings.source, "target": settings.target}
    required |= {
        key: getattr(settings, key)
        for key in ("kind", "weight")
        if key in settings.model_fields_set
    }
    for key, name in required.items():
        check_column(name, edges.names, key, edges.place)
    for name in settings.edge_attributes:
        check_column(name, edges.names, "edge_attributes", edges.place)
    wanted = {*ends, settings.kind, settings.weight, *settings.edge_attributes}
    edges.load([name for name in edges.names if name in wanted])

    source, target = (_match_ends(edges, name, ids, str(settings.nodes)) for name in ends)
    if settings.kind in edges.names:
        kind, kinds = code_kinds(*edges.codes(settings.kind), settings.kinds, edges.place)
    else:
        kind, kinds = one_kind(len(edges), settings.kinds, edges.place)
    weight = None
    if settings.weight in edges.names:
        weight = single_precision(edges.numbers(settings.weight), settings.weight, edges.place)
    attributes = None
    if settings.edge_attributes:
        attributes = np.empty((len(edges), len(settings.edge_attributes)), np.float32)
        for position, name in enumerate(settings.edge_attributes):
            attributes[:, position] = single_precision(edges.numbers(name), name, edges.place)
    return Ties(
        source=source, target=target, kind=kind, kinds=kinds, weight=weight, attributes=attributes
    )


def _match_ends(edges: Table, column: str, ids: Keys, nodes_name: str) -> Indices:
    """Turn a column of ids in the table of ties into node numbers."""
    if not len(edges):
        return np.empty(0, np.int32)
    keys = edges.keys(column)
    places = match(ids, keys)
    if places.min() < 0:
        unknown = np.flatnonzero(places < 0)
        first, name = int(unknown[0]), keys.text(int(unknown[0]))
        if not name.strip():
            raise GraphError(
                f"{edges.place.row(first)}: column {column!r} is empty; give both ends of the tie, "
                "or remove the row"
            )
        others = f" (and {len(unknown) - 1:,} more)" if len(unknown) > 1 else ""
        raise GraphError(
            f"{edges.place.row(first)}: {name!r} in column {column!r} is not the id of a node in "
            f"{nodes_name}{others}; add the node or remove the tie"
        )
    return places
