"""A GraphML file, or a networkx graph in memory, becomes a `Graph`: for small graphs.

Both keep a dictionary of about 1,000 bytes for every node and tie, so a file with more than
`MOST_TIES` ties is refused; larger graphs belong in Parquet. networkx's own reader is not used: it
silently accepts a node, a tie or a value that is declared twice, and leaves out defaults.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import GraphError
from recourse_audit.graph.arrays import Graph, Ties, build_graph
from recourse_audit.graph.columns import (
    Place,
    as_labels,
    bad_value,
    check_column,
    check_finite,
    check_ids,
    check_is_file,
    code_kinds,
    no_nodes,
    one_kind,
    single_precision,
    stack_features,
    to_strings,
)
from recourse_audit.graph.computed import needed_features, with_computed
from recourse_audit.graph.graphml_file import GraphmlFile, parse_graphml
from recourse_audit.graph.raw_columns import RawColumns, checked_columns
from recourse_audit.graph.tables import Column
from recourse_audit.settings import GraphSettings

MOST_TIES = 200_000

Values = list[object]
Node = TypeVar("Node", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class TieColumns:
    """Which edge attributes describe a tie, and how; those in `required` must exist."""

    kind: str
    kinds: Sequence[str]
    weight: str
    attributes: Sequence[str]
    required: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Nodes and ties with their values by name; the ends of ties are numbers of nodes.

    `nodes` and `ties` say where each of them is, for messages.
    """

    own: Sequence[object]
    node_values: Sequence[Mapping[str, object]]
    nodes: "Elements"
    ends: Sequence[tuple[int, int]]
    tie_values: Sequence[Mapping[str, object]]
    ties: "Elements"


class Elements(Place):
    """Nodes or ties of a network, which have names instead of row numbers."""

    def __init__(self, name: str | Path, rows: Sequence[str]) -> None:
        super().__init__(name)
        self._rows = rows

    def row(self, index: int) -> str:
        """Name an element by its place in the file and its name in the network."""
        return f"{self.name}, {self._rows[index]}"


def read_graphml(settings: GraphSettings, raw: RawColumns | None = None) -> Graph:
    """Read `settings.graphml`, in which node and edge attributes are columns.

    Ids are those of the nodes, unless `settings.id` names an attribute. The file says whether its
    ties are directed; if `settings.directed` is set to false, they are read as undirected anyway.
    """
    path = settings.graphml
    assert path is not None
    file = _opened(path)
    given = settings.model_fields_set
    directed = settings.directed if "directed" in given else file.directed
    if directed and not file.directed:
        raise GraphError(
            f"{path}: declares its ties undirected, but graph.directed is true; "
            "set it to false, or export the graph as directed"
        )
    network = _network_of(file, str(path))
    known = {name for values in network.node_values for name in values}
    graph = _convert(
        network,
        name=str(path),
        identifier=settings.id if settings.id != GraphSettings.model_fields["id"].default else None,
        features=needed_features(settings, known) if settings.derived else settings.features,
        raw=raw,
        tie_columns=TieColumns(
            kind=settings.kind,
            kinds=settings.kinds,
            weight=settings.weight,
            attributes=settings.edge_attributes,
            required=frozenset(given & {"kind", "weight"}),
        ),
        directed=directed,
        needs_features=raw is None and not settings.derived,
    )
    return with_computed(graph, settings, network.nodes)


def survey_graphml(path: Path) -> tuple[list[Column], bool]:
    """Describe every node attribute, and say whether the file's ties have a direction."""
    file = _opened(path)
    columns = _columns([node.values for node in file.nodes])
    labels = {name: _labels(values) for name, values in columns.items()}
    described = [
        Column(
            name=name,
            numeric=values.dtype.kind in "iuf" and None not in columns[name],
            distinct=len(np.unique(values)),
            rows=len(values),
        )
        for name, values in labels.items()
    ]
    return described, file.directed


def _opened(path: Path) -> GraphmlFile:
    check_is_file(path, "graphml")
    return parse_graphml(path, MOST_TIES)


def _network_of(file: GraphmlFile, name: str) -> Network:
    number = {node.id: position for position, node in enumerate(file.nodes)}
    return Network(
        own=[node.id for node in file.nodes],
        node_values=[node.values for node in file.nodes],
        nodes=Elements(name, [f"{node.place}, node {node.id!r}" for node in file.nodes]),
        ends=[(number[tie.source], number[tie.target]) for tie in file.ties],
        tie_values=[tie.values for tie in file.ties],
        ties=Elements(name, [f"{t.place}, tie {t.source!r}-{t.target!r}" for t in file.ties]),
    )


def from_networkx(
    graph: "nx.Graph[Node]",
    features: Sequence[str] | None,
    *,
    kind: str = "kind",
    weight: str = "weight",
    edge_attributes: Sequence[str] = (),
    kinds: Sequence[str] = (),
) -> Graph:
    """Build a `Graph` from a networkx graph, simple or multigraph, directed or not.

    `features` and `edge_attributes` name node and edge attributes in the model's order; all other
    node attributes are kept as attributes. `features` is None where a pipeline makes them from
    attributes. Nodes of any type become text ids: 7 becomes "7".
    """
    name = "networkx graph"
    number = {node: position for position, node in enumerate(graph.nodes)}
    rows = [*graph.edges(data=True)]
    network = Network(
        own=[*graph.nodes],
        node_values=[data for _, data in graph.nodes(data=True)],
        nodes=Elements(name, [f"node {str(node)!r}" for node in graph.nodes]),
        ends=[(number[a], number[b]) for a, b, _ in rows],
        tie_values=[data for _, _, data in rows],
        ties=Elements(name, [f"tie {str(a)!r}-{str(b)!r}" for a, b, _ in rows]),
    )
    return _convert(
        network,
        name=name,
        identifier=None,
        features=features or (),
        raw=None,
        tie_columns=TieColumns(kind=kind, kinds=kinds, weight=weight, attributes=edge_attributes),
        directed=graph.is_directed(),
        needs_features=features is not None,
    )


def _convert(
    network: Network,
    *,
    name: str,
    identifier: str | None,
    features: Sequence[str],
    raw: RawColumns | None,
    tie_columns: TieColumns,
    directed: bool,
    needs_features: bool = True,
) -> Graph:
    nodes = network.nodes
    if not network.own:
        raise no_nodes(nodes)
    if not features and needs_features:
        raise GraphError(f"{name}: no features are named; name the attributes that the model takes")
    columns = _columns(network.node_values)
    if identifier is not None:
        check_column(identifier, [*columns], "id", nodes)
    for feature in features:
        check_column(feature, [*columns], "features", nodes)
    ids = to_strings(network.own if identifier is None else columns.pop(identifier))
    check_ids(ids, nodes)
    kinds = {} if raw is None else raw.kinds([*columns], name)
    features = features if raw is None else ()
    numbers = {f: _numbers(columns[f], f, nodes) for f in features}
    matrix = stack_features(numbers, nodes, len(ids))
    labels = {n: _labels(values) for n, values in columns.items() if n not in features}
    ties = _ties(network, tie_columns)
    return build_graph(
        ids=ids,
        features=matrix,
        feature_names=tuple(features),
        attributes=checked_columns(labels, kinds, nodes),
        ties=ties,
        directed=directed,
        origin=name,
    )


def _ties(network: Network, wanted: TieColumns) -> Ties:
    edges = network.ties
    columns = _columns(network.tie_values)
    for key in sorted(wanted.required):
        check_column(getattr(wanted, key), [*columns], key, edges)
    for column in wanted.attributes:
        check_column(column, [*columns], "edge_attributes", edges)
    if wanted.kind in columns:
        names, codes = np.unique(to_strings(columns[wanted.kind]), return_inverse=True)
        code, kinds = code_kinds(codes, names.tolist(), wanted.kinds, edges)
    else:
        code, kinds = one_kind(len(network.ends), wanted.kinds, edges)
    singles = {
        column: single_precision(_numbers(columns[column], column, edges), column, edges)
        for column in (wanted.weight, *wanted.attributes)
        if column in columns
    }
    attributes = [singles[column] for column in wanted.attributes]
    return Ties(
        source=np.array([a for a, _ in network.ends], np.int32),
        target=np.array([b for _, b in network.ends], np.int32),
        kind=code,
        kinds=kinds,
        weight=singles.get(wanted.weight),
        attributes=np.stack(attributes, axis=1) if attributes else None,
    )


def _columns(rows: Sequence[Mapping[str, object]]) -> dict[str, Values]:
    """Turn dictionaries into columns in order of first use; None where a key is missing."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _numbers(column: Values, name: str, place: Place) -> NDArray[np.float64]:
    for index, value in enumerate(column):
        if value is None or not isinstance(value, bool | int | float | np.number | np.bool_):
            raise bad_value(place, index, name, None if value is None else str(value))
    numbers = np.array(column, float)
    check_finite(numbers, name, place)
    return numbers


def _labels(column: Values) -> NDArray[np.generic]:
    """Numbers (NaN if missing) if all values are numbers, otherwise text ("" if missing)."""
    present = [value for value in column if value is not None]
    if present and all(isinstance(value, bool | int | float) for value in present):
        booleans = [isinstance(value, bool) for value in present]
        if all(booleans) and len(present) == len(column):
            return np.array(column)
        if not any(booleans):
            return np.array([np.nan if v is None else v for v in column])
    return as_labels(to_strings(column))
