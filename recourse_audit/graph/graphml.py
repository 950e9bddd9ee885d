"""A GraphML file, or a networkx graph in memory, becomes a `Graph`: for small graphs.

networkx reads the file; what it would pass over without a word, or let the second declaration of
win, is refused. It keeps about 1,000 bytes for every node and tie, so a file with more than
`MOST_TIES` ties is refused; larger graphs belong in Parquet.
"""

import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from xml.etree import ElementTree

import networkx as nx
import numpy as np
from networkx.readwrite.graphml import GraphMLReader

from recourse_audit.errors import GraphError
from recourse_audit.graph.columns import (
    DEFAULT_KIND,
    Column,
    ColumnSummary,
    Nodes,
    Numbers,
    Place,
    Table,
    check_is_file,
    damaged,
    describe_columns,
    to_strings,
)
from recourse_audit.graph.graph import Graph, Indices, Ties, build_graph
from recourse_audit.graph.kinds import KindTables, Triple, find_subject, join_kinds, name_relations
from recourse_audit.settings import GraphSettings

MOST_TIES = 200_000
LARGEST = 2**63
NAMESPACE = f"{{{GraphMLReader.NS_GRAPHML}}}"
HEADER = f'<graphml xmlns="{GraphMLReader.NS_GRAPHML}">'.encode()
LABELS = {f"{{{GraphMLReader.NS_Y}}}{name}" for name in ("NodeLabel", "EdgeLabel")}
TYPES = ("string", "boolean", "int", "long", "integer", "float", "double", "yfiles")
BOOLEAN = {"true": True, "1": True, "false": False, "0": False}
IN_MEMORY = "networkx graph"

Node = TypeVar("Node", bound=Hashable)


class Elements(Place):
    """Nodes or ties of a network, which have names instead of row numbers."""

    def __init__(self, name: str | Path, rows: Sequence[str]) -> None:
        super().__init__(name)
        self._rows = rows

    def row(self, index: int) -> str:
        return f"{self.name}, {self._rows[index]}"


class Dictionaries(Table):
    """One dictionary per row; a value may be missing, and None stands for it."""

    def __init__(self, place: Place, rows: Sequence[Mapping[str, object]]) -> None:
        super().__init__(place, [*dict.fromkeys(name for row in rows for name in row)])
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def values(self, name: str) -> list[object]:
        return [row.get(name) for row in self._rows]

    def numbers(self, name: str) -> Numbers:
        column = self.values(name)
        for index, value in enumerate(column):
            if not isinstance(value, bool | int | float | np.number | np.bool_):
                raise self.place.bad_value(index, name, None if value is None else str(value))
        return np.array(column, float)

    def labels(self, name: str) -> Column:
        column = self.values(name)
        kinds = {type(value) for value in column}
        if kinds == {bool}:
            return np.array(column)
        if kinds & {int, float} and kinds <= {int, float, type(None)}:
            return np.array([np.nan if value is None else value for value in column])
        return to_strings(column, self.place)

    def codes(self, name: str) -> tuple[Indices, list[str]]:
        texts = to_strings(self.values(name), self.place)
        names, codes = np.unique(texts, return_inverse=True)
        return codes.astype(np.int32), names.tolist()


def read_graphml(path: Path, settings: GraphSettings, *, raw: bool) -> tuple[Graph, Place]:
    """Read a file in which node and edge attributes are columns; also where its nodes are.

    Ids are those of the nodes, unless `settings.id` names an attribute. The file says whether its
    ties are directed; if `settings.directed` is set to false, they are read as undirected anyway.
    """
    network = _read_network(path)
    directed = network.is_directed()
    if "directed" in settings.model_fields_set:
        if settings.directed and not directed:
            raise GraphError(
                f"{path}: declares its ties undirected, but graph.directed is true; "
                "set it to false, or export the graph as directed"
            )
        directed = settings.directed
    return _convert(network, str(path), settings, directed=directed, raw=raw)


def survey_graphml(path: Path) -> tuple[list[ColumnSummary], bool]:
    """Describe every node attribute, and say whether the file's ties have a direction."""
    network = _read_network(path)
    table = Dictionaries(Place(path), [values for _, values in network.nodes(data=True)])
    summaries = [
        replace(summary, numeric=summary.numeric and None not in table.values(summary.name))
        for summary in describe_columns({name: table.labels(name) for name in table.names})
    ]
    return summaries, network.is_directed()


def from_networkx(
    graph: "nx.Graph[Node]",
    features: Sequence[str] | Mapping[str, Sequence[str]] | None,
    *,
    kind: str = "kind",
    weight: str = "weight",
    edge_attributes: Sequence[str] | Mapping[str, Sequence[str]] = (),
    kinds: Sequence[str] = (),
    subject: str | None = None,
) -> Graph:
    """Build a `Graph` from a networkx graph, simple or multigraph, directed or not.

    Parameters
    ----------
    graph
        Nodes of any type, which become text ids: 7 becomes "7".
    features
        Node attributes that the model takes, in its order; all others are kept as attributes. None
        where a pipeline makes the features from attributes.
    kind, weight
        Edge attributes with the kind and the weight of a tie, if ties have them.
    edge_attributes
        Edge attributes that the model takes, in its order.
    kinds
        The kinds of ties in the order of the model's codes; sorted if absent.
    subject
        The kind of nodes that is decided on, if there are several. Then the attribute `kind` says
        what each node is, and which relation a tie belongs to; `features` is a dictionary by kind,
        and `edge_attributes` by relation. In an undirected graph, a relation between two kinds
        leads from the one that comes first: that of the subject, then in the order of `features`.
        Relations are sorted by name.

    Examples
    --------
    >>> import networkx as nx
    >>> people = nx.Graph()
    >>> people.add_node("ann", income=1.5)
    >>> people.add_node("bob", income=2.0)
    >>> people.add_edge("ann", "bob", kind="guarantor")
    >>> from_networkx(people, ["income"])
    Graph(nodes=2, ties=1, features=1)
    """
    if isinstance(features, Mapping):
        columns = edge_attributes if isinstance(edge_attributes, Mapping) else {}
        return _join(graph, features, columns, kind, weight, subject)
    if features is not None and not features:
        raise GraphError(f"{IN_MEMORY}: no features are named; name what the model takes")
    settings = GraphSettings.model_construct(
        set(),  # columns that ties may have, not must have
        features=tuple(features or ()),
        kind=kind,
        weight=weight,
        edge_attributes=tuple(edge_attributes),
        kinds=tuple(kinds),
    )
    return _convert(graph, IN_MEMORY, settings, directed=graph.is_directed())[0]


def _convert(
    network: "nx.Graph[Any]",
    name: str,
    settings: GraphSettings,
    *,
    directed: bool,
    raw: bool = False,
) -> tuple[Graph, Place]:
    """Check every value of a network, and turn it into arrays; also where its nodes are."""
    number = {node: position for position, node in enumerate(network.nodes)}
    nodes, place = _read_nodes(network, [*number], name, settings, raw=raw)
    ties = _read_ties([*network.edges(data=True)], number, name, settings)
    return build_graph(**nodes, ties=ties, directed=directed, origin=name), place


def _join(
    network: "nx.Graph[Any]",
    features: Mapping[str, Sequence[str]],
    edge_attributes: Mapping[str, Sequence[str]],
    kind: str,
    weight: str,
    subject: str | None,
) -> Graph:
    """Check every value of a network in which an attribute says the kind of nodes and of ties."""
    members: dict[str, list[Any]] = {name: [] for name in features}
    for node, values in network.nodes(data=True):
        if not values.get(kind):
            raise GraphError(
                f"{IN_MEMORY}, node {str(node)!r}: has no {kind!r}; say of every node what kind "
                "it is"
            )
        members.setdefault(str(values[kind]), []).append(node)
    members = {name: nodes for name, nodes in members.items() if nodes}
    people = find_subject(members, subject)
    order = sorted(members, key=lambda name: name != people)
    nodes: dict[str, Nodes] = {}
    places: dict[str, Place] = {}
    kind_of = {node: name for name in order for node in members[name]}
    number = {node: place for own in members.values() for place, node in enumerate(own)}
    for name in order:
        own = GraphSettings(features=tuple(features.get(name, ())))
        nodes[name], places[name] = _read_nodes(network, members[name], IN_MEMORY, own, kind=kind)
    listed: dict[Triple, list[tuple[Any, Any, dict[str, Any]]]] = {}
    for source, target, values in network.edges(data=True):
        ends, (start, to) = (source, target), (kind_of[source], kind_of[target])
        if not network.is_directed() and order.index(start) > order.index(to):
            ends, start, to = (target, source), to, start
        rows = listed.setdefault((start, str(values.get(kind, DEFAULT_KIND)), to), [])
        values = {name: value for name, value in values.items() if name != kind}  # noqa: PLW2901
        rows.append((*ends, values))
        if not network.is_directed() and start == to and source != target:
            rows.append((target, source, values))  # without a direction: it is there both ways
    ties: dict[Triple, Ties] = {}
    for triple, rows in sorted(listed.items(), key=lambda each: each[0][1]):
        columns = tuple(edge_attributes.get(triple[1], ()))
        own = GraphSettings.model_construct(
            set(), kind=kind, weight=weight, edge_attributes=columns
        )
        ties[triple] = _read_ties(rows, number, IN_MEMORY, own)
    relations = name_relations(ties, {}, IN_MEMORY)
    tables = KindTables(nodes=nodes, relations=relations, place=places[people], origin=IN_MEMORY)
    return join_kinds(tables.people, tables)


def _read_nodes(
    network: "nx.Graph[Any]",
    members: Sequence[Any],
    origin: str,
    settings: GraphSettings,
    *,
    raw: bool = False,
    kind: str | None = None,
) -> tuple[Nodes, Place]:
    """Some nodes, whose attribute `kind` is known, and where they are."""
    place = Elements(origin, [f"node {str(node)!r}" for node in members])
    if not members:
        raise place.no_nodes()
    table = Dictionaries(place, [network.nodes[node] for node in members])
    own = settings.id == GraphSettings.model_fields["id"].default
    if not own:
        table.check_column(settings.id, "id")
    table.check_features(settings)
    ids = to_strings(members if own else table.values(settings.id), place)
    place.check_ids(ids)
    table.names = [name for name in table.names if name != kind and (own or name != settings.id)]
    return table.read_nodes(ids, settings, raw=raw), place


def _read_ties(
    rows: Sequence[tuple[Any, Any, Mapping[str, Any]]],
    number: Mapping[Any, int],
    origin: str,
    settings: GraphSettings,
) -> Ties:
    place = Elements(origin, [f"tie {str(source)!r}-{str(target)!r}" for source, target, _ in rows])
    table = Dictionaries(place, [values for _, _, values in rows])
    table.check_tie_columns(settings)
    ends = [(number[source], number[target]) for source, target, _ in rows]
    source, target = np.array(ends, np.int32).reshape(-1, 2).T.copy()
    return table.read_ties((source, target), settings)


# ---------------------------------------------------------------- a file becomes a network


def _read_network(path: Path) -> "nx.Graph[Any]":
    """What a file says, defaults included; whatever is wrong with it is a `GraphError`."""
    check_is_file(path, "graph.graphml")
    try:
        # networkx wants a namespace, which some programs leave out.
        data = path.read_bytes().replace(b"<graphml>", HEADER, 1)
        parser = ElementTree.XMLParser(target=_Builder(path))  # noqa: S314
        root = ElementTree.fromstring(data, parser)  # noqa: S314
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of ports, and of keys without a type
            return _Reader(path).read(root)
    except (
        *(ElementTree.ParseError, nx.NetworkXException, OSError, RecursionError),
        *(AttributeError, LookupError, TypeError, ValueError),
    ) as error:
        raise damaged(path, "a GraphML file", "the program that exported it", error) from None


class _Builder(ElementTree.TreeBuilder):
    """Refuse entities before anything could expand or fetch them, and more ties than fit."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._ties = 0

    def doctype(self, *_declared: object) -> None:
        raise ValueError("a document type declaration, which can declare entities, is not accepted")

    def start(self, tag: str, attrs: dict[Any, Any], /) -> Any:
        self._ties += tag.endswith("edge")
        if self._ties > MOST_TIES:
            raise GraphError(
                f"{self._path}: has more than {MOST_TIES:,} ties, too many for GraphML; "
                "save the nodes and ties as Parquet tables"
            )
        return super().start(tag, attrs)


class _Reader(GraphMLReader):
    """networkx's reader, with our types, and without a second value for anything."""

    def __init__(self, path: Path) -> None:
        super().__init__(force_multigraph=True)
        self.python_type = {kind: partial(_convert_text, kind) for kind in TYPES}
        self._path = path
        self._declared: set[tuple[str, ...]] = set()

    def read(self, root: Any) -> "nx.Graph[Any]":
        """The only graph of a document, with the defaults of its keys."""
        [graph] = root.findall(f"{NAMESPACE}graph")
        for key in root.iterfind(f"{NAMESPACE}key"):
            self._declare("key", key.attrib["id"])
        keys, defaults = self.find_graphml_keys(root)  # type: ignore[no-untyped-call]
        network: nx.Graph[Any] = self.make_graph(graph, keys, {})  # type: ignore[no-untyped-call]
        nodes = [values for _, values in network.nodes(data=True)]
        ties = [values for _, _, values in network.edges(data=True)]
        for source, target in network.edges():
            for end in (source, target):
                if ("node", end) not in self._declared:
                    raise GraphError(
                        f"{self._path}, tie {source!r}-{target!r}: {end!r} is not the id of a "
                        "node in the file; add the node or remove the tie"
                    )
        for element, rows in (("node", nodes), ("edge", ties)):
            if len(rows) != sum(1 for _ in root.iter(NAMESPACE + element)):
                raise ValueError(f"a {element} where none can be, in a graph that is not flat")
            for identifier, value in defaults.items():
                for values in rows if keys[identifier]["for"] in (element, "all", None) else ():
                    values.setdefault(keys[identifier]["name"], value)
        if graph.get("edgedefault", "undirected") not in {"directed", "undirected"}:
            raise ValueError("edgedefault is neither 'directed' nor 'undirected'")
        if next(root.iter(f"{NAMESPACE}locator"), None) is not None:
            raise ValueError("a part of it, named by <locator>, is in another file")
        return network

    def add_node(self, G: Any, node_xml: Any, graphml_keys: Any, defaults: Any) -> None:
        self._declare("node", node_xml.attrib["id"])
        super().add_node(G, node_xml, graphml_keys, defaults)

    def add_edge(self, G: Any, edge_element: Any, graphml_keys: Any) -> None:
        """Add a tie under a number of its own, and not under a value that is called "key"."""
        ends = [edge_element.attrib[end] for end in ("source", "target")]
        if "id" in edge_element.attrib:  # which may be there once between two ends
            ends = ends if G.is_directed() else sorted(ends)
            self._declare("tie", edge_element.attrib["id"], *ends)
        edge_element.set("id", f"tie {G.number_of_edges()}")
        super().add_edge(G, edge_element, graphml_keys)

    def decode_data_elements(self, graphml_keys: Any, obj_xml: Any) -> dict[str, object]:
        """The values of an element; of a drawing by yEd, the first label."""
        values: dict[str, object] = {}
        labels: list[str | None] = []
        for data in obj_xml.findall(f"{NAMESPACE}data"):
            key = graphml_keys[data.attrib["key"]]
            texts = (data.text, *(inner.tail for inner in data))
            if len(data) and not any((text or "").strip() for text in texts):
                labels += [inner.text for inner in data.iter() if inner.tag in LABELS]
            elif len(data) or key["name"] in values:
                raise ValueError(f"{key['name']!r} has two values where one can be")
            else:
                values[key["name"]] = key["type"](data.text)
        return {**({"label": labels[0]} if labels else {}), **values}

    def _declare(self, *identity: str) -> None:
        if identity in self._declared:
            raise GraphError(
                f"{self._path}: the {identity[0]} {identity[1]!r} is declared again; remove one"
            )
        self._declared.add(identity)


def _convert_text(kind: str, text: str | None) -> object:
    """Turn the text of a value into its declared type; None if it is empty and not text."""
    if kind in {"string", "yfiles"}:
        return text or ""
    text = (text or "").strip()
    if not text:
        return None
    if kind == "boolean":
        return BOOLEAN[text.lower()]
    number = float(text) if kind in {"float", "double"} else int(text)
    if "_" in text or (isinstance(number, int) and not -LARGEST <= number < LARGEST):
        raise ValueError(f"{text[:40]!r} is no number of the type {kind}")  # Python takes 1_000
    return number
