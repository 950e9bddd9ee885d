"""A GraphML file, or a networkx graph in memory, becomes a `Graph`: for small graphs.

networkx reads the file, after a look at its elements: what networkx would pass over without a word,
or let the second declaration of win, is refused. It keeps about 1,000 bytes for every node and tie,
so a file with more than `MOST_TIES` ties is refused; larger graphs belong in Parquet.
"""

import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, TypeVar
from xml.etree import ElementTree
from xml.parsers import expat

import networkx as nx
import numpy as np
from networkx.readwrite.graphml import GraphMLReader

from recourse_audit.errors import GraphError
from recourse_audit.graph.archives import read_kinds
from recourse_audit.graph.columns import (
    DEFAULT_KIND,
    Column,
    ColumnSummary,
    Numbers,
    Place,
    Table,
    bad_value,
    check_column,
    check_features,
    check_ids,
    check_is_file,
    check_tie_columns,
    describe_columns,
    no_nodes,
    read_nodes,
    read_ties,
    to_strings,
)
from recourse_audit.graph.graph import Graph, Indices, build_graph
from recourse_audit.graph.kinds import Triple, find_subject, join_kinds
from recourse_audit.settings import GraphSettings

MOST_TIES = 200_000
LARGEST = 2**63
NAMESPACE = f"{{{GraphMLReader.NS_GRAPHML}}}"
HEADER = f'<graphml xmlns="{GraphMLReader.NS_GRAPHML}">'.encode()
LABEL = "the label that a drawing shows"  # the id of a key of ours
LABELS = {f"{{{GraphMLReader.NS_Y}}}{name}" for name in ("NodeLabel", "EdgeLabel")}
BOOLEAN = {"true": True, "1": True, "false": False, "0": False}
TYPES = {"string", "boolean", "int", "long", "integer", "float", "double"}
# What each element must have, and what it may contain besides descriptions and values.
NEEDED = {"key": ("id", "attr.name"), "node": ("id",), "edge": ("source", "target")}
CHILDREN = {
    "graphml": {"key", "graph"},
    "key": {"default"},
    "graph": {"node", "edge"},
    "node": {"port"},
    "edge": set[str](),
}
ONCE = {
    "node": "the id {!r} is used",
    "edge": "the tie {!r} is declared",
    "key": "the key {!r} is declared",
}
REFUSED = {
    "hyperedge": "ties of more than two nodes cannot be audited; write them as several ties",
    "locator": "its content is in another file; export everything into one file",
    "graph": "only groups as yEd writes them may contain a graph; export one flat graph",
}

Node = TypeVar("Node", bound=Hashable)
Element = ElementTree.Element


class Elements(Place):
    """Nodes or ties of a network, which have names instead of row numbers."""

    def __init__(self, name: str | Path, rows: Sequence[str]) -> None:
        super().__init__(name)
        self._rows = rows

    def row(self, index: int) -> str:
        """Name an element by what it is called in the network."""
        return f"{self.name}, {self._rows[index]}"


class Dictionaries(Table):
    """One dictionary per row; a value may be missing, and None stands for it."""

    def __init__(self, place: Place, rows: Sequence[Mapping[str, object]]) -> None:
        super().__init__(place, [*dict.fromkeys(name for row in rows for name in row)])
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def values(self, name: str) -> list[object]:
        """A column as it is."""
        return [row.get(name) for row in self._rows]

    def numbers(self, name: str) -> Numbers:
        column = self.values(name)
        for index, value in enumerate(column):
            if not isinstance(value, bool | int | float | np.number | np.bool_):
                raise bad_value(self.place, index, name, None if value is None else str(value))
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
        return _join(graph, features, subject, kind, weight, columns)
    if features is not None and not features:
        raise GraphError("networkx graph: no features are named; name what the model takes")
    settings = GraphSettings.model_construct(
        set(),  # columns that ties may have, not must have
        features=tuple(features or ()),
        kind=kind,
        weight=weight,
        edge_attributes=tuple(edge_attributes),
        kinds=tuple(kinds),
    )
    return _convert(graph, "networkx graph", settings, directed=graph.is_directed())[0]


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
    place = Elements(name, [f"node {str(node)!r}" for node in number])
    if not number:
        raise no_nodes(place)
    nodes = Dictionaries(place, [values for _, values in network.nodes(data=True)])
    own = settings.id == GraphSettings.model_fields["id"].default
    if not own:
        check_column(settings.id, nodes.names, "id", place)
    check_features(nodes, settings)
    ids = to_strings([*number] if own else nodes.values(settings.id), place)
    check_ids(ids, place)
    if not own:
        nodes.names.remove(settings.id)
    columns = read_nodes(nodes, ids, settings, raw=raw)
    rows = [*network.edges(data=True)]
    ties = Dictionaries(
        Elements(name, [_tie_name(source, target) for source, target, _ in rows]),
        [values for _, _, values in rows],
    )
    check_tie_columns(ties, settings)
    ends = [(number[source], number[target]) for source, target, _ in rows]
    source, target = np.array(ends, np.int32).reshape(-1, 2).T.copy()
    graph = build_graph(
        **columns,
        ties=read_ties(ties, (source, target), settings),
        directed=directed,
        origin=name,
    )
    return graph, place


def _join(
    network: "nx.Graph[Any]",
    features: Mapping[str, Sequence[str]],
    subject: str | None,
    kind: str,
    weight: str,
    edge_attributes: Mapping[str, Sequence[str]],
) -> Graph:
    """Check every value of a network in which an attribute says the kind of nodes and of ties."""
    members: dict[str, list[Any]] = {name: [] for name in features}
    for node, values in network.nodes(data=True):
        if not values.get(kind):
            raise GraphError(
                f"networkx graph, node {str(node)!r}: has no {kind!r}; say of every node what kind "
                "it is"
            )
        members.setdefault(str(values[kind]), []).append(node)
    people = find_subject([name for name, nodes in members.items() if nodes], subject)
    order = sorted((name for name, nodes in members.items() if nodes), key=lambda n: n != people)
    nodes: dict[str, dict[str, Any]] = {}
    number: dict[Any, tuple[str, int]] = {}
    for name in order:
        number |= {node: (name, position) for position, node in enumerate(members[name])}
        place = Elements("networkx graph", [f"node {str(node)!r}" for node in members[name]])
        table = Dictionaries(place, [network.nodes[node] for node in members[name]])
        table.names.remove(kind)
        own = GraphSettings(features=tuple(features.get(name, ())))
        check_features(table, own)
        read = read_nodes(table, to_strings(members[name], place), own, raw=False)
        names = np.array(read["feature_names"], object)
        nodes[name] = {"ids": read["ids"], "x": read["features"], "feature_names": names}
        nodes[name] |= read["attributes"]
    listed: dict[Triple, list[tuple[Any, Any, dict[str, Any]]]] = {}
    for source, target, values in network.edges(data=True):
        ends, start, to = (source, target), number[source][0], number[target][0]
        if not network.is_directed() and order.index(start) > order.index(to):
            ends, start, to = (target, source), to, start
        rows = listed.setdefault((start, str(values.get(kind, DEFAULT_KIND)), to), [])
        rows.append((*ends, values))
        if not network.is_directed() and start == to and source != target:
            rows.append((target, source, values))  # without a direction: it is there both ways
    edges: dict[Triple, dict[str, Any]] = {}
    for triple, rows in sorted(listed.items(), key=lambda each: each[0][1]):
        place = Elements("networkx graph", [_tie_name(start, to) for start, to, _ in rows])
        table = Dictionaries(place, [values for _, _, values in rows])
        columns = edge_attributes.get(triple[1], ())
        for column in columns:
            check_column(column, table.names, "edge_attributes", place)
        edges[triple] = {
            "edge_index": np.array([[number[n][1] for n in row[:2]] for row in rows]).T
        }
        if weight in table.names:
            edges[triple]["edge_weight"] = table.numbers(weight)
        if columns:
            edges[triple]["edge_attr"] = np.column_stack([table.numbers(n) for n in columns])
    tables = read_kinds("networkx graph", nodes, edges, GraphSettings(), subject)
    return join_kinds(tables.people, tables)


def _tie_name(source: object, target: object) -> str:
    return f"tie {str(source)!r}-{str(target)!r}"


# ---------------------------------------------------------------- a file becomes a network


def _read_network(path: Path) -> "nx.Graph[Any]":
    """What a file says, defaults included; whatever is wrong with it is a `GraphError`."""
    check_is_file(path, "graphml")
    try:
        data = path.read_bytes()
        _check_document(data, path)
        # networkx wants a namespace, which some programs leave out.
        root = ElementTree.fromstring(data.replace(b"<graphml>", HEADER, 1))  # noqa: S314
        _check_elements(root, path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of ports, and of keys without a type
            return _network(root, path)
    except (
        *(expat.ExpatError, ElementTree.ParseError, nx.NetworkXException, OSError),
        *(LookupError, ValueError, RecursionError),
    ) as error:
        reason = " ".join(str(error).split())[:120]
        raise GraphError(f"{path}: cannot be read as GraphML ({reason}); export it again") from None


def _check_document(data: bytes, path: Path) -> None:
    """Refuse entities before anything could expand or fetch them, and more ties than fit."""
    parser = expat.ParserCreate()
    ties = 0

    def refuse_doctype(*_given: object) -> None:
        raise GraphError(
            f"{path}, line {parser.CurrentLineNumber}: a document type declaration is not "
            "accepted, because it can declare entities; remove <!DOCTYPE …>"
        )

    def count(name: str, _given: object) -> None:
        nonlocal ties
        ties += name.rpartition(":")[2] == "edge"
        if ties > MOST_TIES:
            raise GraphError(
                f"{path}: has more than {MOST_TIES:,} ties, too many for GraphML; "
                "save the nodes and ties as Parquet tables"
            )

    parser.StartDoctypeDeclHandler = refuse_doctype
    parser.StartElementHandler = count
    parser.Parse(data, True)


def _network(root: Element, path: Path) -> "nx.Graph[Any]":
    """Have networkx read checked elements, with our types and all defaults."""
    reader: Any = GraphMLReader(force_multigraph=True)
    defaults: list[tuple[str | None, str, object]] = []
    converters = {}
    for key in root.iterfind(f"{NAMESPACE}key"):
        name = _name_of(key)
        convert = _converter(key.get("attr.type", "string"), name, path)
        converters[key.get("id")] = convert
        for default in key.findall(f"{NAMESPACE}default"):
            key.remove(default)  # networkx takes an empty one for the word None
            defaults.append((key.get("for"), name, convert(default.text or "")))
    keys, _ = reader.find_graphml_keys(root)
    for identifier, convert in converters.items():
        keys[identifier]["type"] = convert
    network: nx.Graph[Any] = reader.make_graph(root.find(f"{NAMESPACE}graph"), keys, {})
    nodes = [values for _, values in network.nodes(data=True)]
    ties = [values for _, _, values in network.edges(data=True)]
    for scope, name, value in defaults:
        for element, rows in (("node", nodes), ("edge", ties)):
            for values in rows if scope in (element, "all", None) else ():
                values.setdefault(name, value)
    return network


def _check_elements(root: Element, path: Path) -> None:
    """Refuse what networkx would pass over, and what may be there only once but is there twice.

    Every tie gets an id of its own, since networkx would take a value called "key" for one.
    """
    graphs = root.findall(f"{NAMESPACE}graph")
    if len(graphs) != 1:
        raise ValueError("a second graph begins; keep one" if graphs else "it contains no graph")
    direction = graphs[0].get("edgedefault", "undirected")
    if direction not in {"directed", "undirected"}:
        raise ValueError(f"edgedefault is {direction!r}, not 'directed' or 'undirected'")
    ElementTree.SubElement(root, f"{NAMESPACE}key", {"id": LABEL, "attr.name": "label"})
    names = {key.get("id"): _name_of(key) for key in root.iterfind(f"{NAMESPACE}key")}
    seen: set[tuple[str, ...]] = set()
    ties: list[Element] = []
    for element in _structure(root):
        kind = _kind(element)
        _check_shape(element, kind, path)
        if kind in ONCE and "id" in element.attrib:
            # Of a tie, its id may be there once between its two ends.
            ends = [element.get(end, "") for end in ("source", "target")]
            identity: tuple[str, ...] = (kind, element.attrib["id"])
            if kind == "edge":
                identity += (*(ends if direction == "directed" else sorted(ends)),)
            if identity in seen:
                again = ONCE[kind].format(identity[1])
                _refuse(path, element, f"{again} again; remove one of them")
            seen.add(identity)
        if kind in {"node", "edge"}:
            _check_values(element, names, path)
        if kind == "edge":
            ties.append(element)
    for number, tie in enumerate(ties):
        for end in (tie.attrib["source"], tie.attrib["target"]):
            if ("node", end) not in seen:
                remedy = "add the node or remove the tie"
                _refuse(path, tie, f"{end!r} is not the id of a node in the file; {remedy}")
        tie.set("id", f"tie {number}")


def _structure(element: Element) -> Iterator[Element]:
    """An element and those inside it that are keys, graphs, nodes or ties, parents first."""
    yield element
    for child in element:
        if _kind(child) in CHILDREN:
            yield from _structure(child)


def _check_shape(element: Element, kind: str, path: Path) -> None:
    """Refuse an element that lacks something, or holds what nobody would read."""
    for name in NEEDED.get(kind, ()):
        if name not in element.attrib and not (name == "attr.name" and _name_of(element)):
            _refuse(path, element, f"<{kind}> has no {name!r}; add it")
    if kind == "key" and element.get("attr.type", "string") not in TYPES:
        _refuse(path, element, f"the type {element.get('attr.type')!r} is not one of GraphML's")
    allowed = CHILDREN[kind]
    if element.get("yfiles.foldertype") == "group":
        allowed = allowed | {"graph"}
        if element.find(f"{NAMESPACE}graph") is None:
            del element.attrib["yfiles.foldertype"]  # networkx would look for its graph
    for child in element:
        name = _kind(child)
        if name not in allowed | {"desc", "data"}:
            remedy = REFUSED.get(name, "remove it, or export the graph again")
            _refuse(path, element, f"<{name}> inside <{kind}> is not accepted: {remedy}")


def _check_values(element: Element, names: Mapping[str | None, str], path: Path) -> None:
    """Refuse a second value of one name; of a drawing by yEd, keep the first label."""
    given: set[str] = set()
    label: str | None = None
    for data in element.findall(f"{NAMESPACE}data"):
        key = data.get("key")
        if key not in names:
            _refuse(path, element, f"there is no key {key!r}; declare it, or remove its value")
        if len(data):
            if "".join([data.text or "", *(inner.tail or "" for inner in data)]).strip():
                _refuse(path, element, "a value mixes text and elements; keep one of them")
            labels = (inner.text for inner in data.iter() if inner.tag in LABELS)
            label = next(labels, None) if label is None else label
            element.remove(data)
            continue
        name = names[key]
        if name in given:
            _refuse(path, element, f"the value of {name!r} is given again; remove one of them")
        given.add(name)
        data.text = data.text or ""  # networkx would not convert it
    if label is not None and "label" not in given:
        ElementTree.SubElement(element, f"{NAMESPACE}data", key=LABEL).text = label


def _converter(kind: str, name: str, path: Path) -> Callable[[str], object]:
    """Turn the text of a value into its declared type; None if it is empty and not text."""

    def convert(value: str) -> object:
        text = value.strip()
        if kind == "string":
            return value
        if not text:
            return None
        try:
            if kind == "boolean":
                return BOOLEAN[text.lower()]
            if "_" in text:  # Python would accept 1_000
                raise ValueError
            number = float(text) if kind in {"float", "double"} else int(text)
            if isinstance(number, int) and not -LARGEST <= number < LARGEST:
                raise ValueError
        except (LookupError, ValueError):
            brief = text if len(text) <= 40 else f"{text[:40]}…"
            raise GraphError(
                f"{path}: {brief!r} in {name!r} is not of the type {kind}; correct the value"
            ) from None
        return number

    return convert


def _name_of(key: Element) -> str:
    """What a key's values are called; yEd's own have no name but a type."""
    return key.get("yfiles.type") or key.get("attr.name") or ""


def _kind(element: Element) -> str:
    return element.tag.removeprefix(NAMESPACE)


def _refuse(path: Path, element: Element, what: str) -> NoReturn:
    name = {
        "node": f", node {element.get('id')!r}",
        "edge": f", {_tie_name(element.get('source'), element.get('target'))}",
    }.get(_kind(element), "")
    raise GraphError(f"{path}{name}: {what}")
