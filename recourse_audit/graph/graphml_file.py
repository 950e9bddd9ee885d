"""A GraphML file becomes nodes and ties with their values, each with its place in the file.

One pass with expat, and nothing else, decides what the file says. Whatever GraphML allows only once
(a node, a tie, a key, a value) is refused if it comes twice, and so is every element that
would otherwise be left out without a word. A document type declaration is refused because it can
declare entities, so nothing is ever expanded or fetched.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from recourse_audit.errors import GraphError
from recourse_audit.graph.graphml_keys import TYPES, Key, Value, value_of

YED = "http://www.yworks.com/xml/graphml"
LABELS = {f"{YED} NodeLabel", f"{YED} EdgeLabel"}

# What each element may contain. Ports, descriptions and data of ports say nothing about a tie.
CHILDREN = {
    "": {"graphml"},
    "graphml": {"desc", "key", "graph", "data"},
    "key": {"desc", "default"},
    "graph": {"desc", "data", "node", "edge"},
    "node": {"desc", "data", "port", "graph"},
    "edge": {"desc", "data"},
    "port": {"desc", "data", "port"},
}
FREE = {"desc", "data", "default"}  # may contain anything, which is skipped
REFUSED = {
    "hyperedge": "ties of more than two nodes cannot be audited; write them as several ties",
    "locator": "its content is in another file; export everything into one file",
    "graph": "only groups as yEd writes them may contain a graph; export one flat graph",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node with its values by name."""

    id: str
    place: str
    values: Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tie:
    """One tie with its values by name."""

    source: str
    target: str
    place: str
    values: Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphmlFile:
    """Everything a file says, in its own order."""

    nodes: tuple[Node, ...]
    ties: tuple[Tie, ...]
    directed: bool


@dataclass(slots=True, kw_only=True)
class _Item:
    """A node or a tie while its element is open: its attributes, and its data by key."""

    given: Mapping[str, str]
    place: str
    data: dict[str, tuple[str, str]] = field(default_factory=dict)
    label: str | None = None


def parse_graphml(path: Path, most_ties: int) -> GraphmlFile:
    """Read a file, or refuse it with a `GraphError` that names the line and the column."""
    reader = _Reader(path, most_ties)
    try:
        with path.open("rb") as file:
            reader.parser.ParseFile(file)
    except expat.ExpatError as error:
        raise _unreadable(path, str(error)) from None
    except (OSError, LookupError, ValueError) as error:  # an encoding that expat does not know
        raise _unreadable(path, str(error)) from None
    return reader.finished()


def _unreadable(path: Path, reason: str) -> GraphError:
    reason = " ".join(reason.split())[:120]
    return GraphError(f"{path}: cannot be read as GraphML ({reason}); export it again")


class _Reader:
    """Follows the elements of one file, and collects keys, nodes and ties."""

    def __init__(self, path: Path, most_ties: int) -> None:
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.StartDoctypeDeclHandler = self._doctype
        self._path = path
        self._most_ties = most_ties
        self._prefix = ""  # of the names of elements: the root's namespace
        self._open: list[str] = []
        self._skipped = 0  # elements that are open inside an element of `FREE`
        self._text: list[str] | None = None  # of the open value or default
        self._nested = False  # whether that value contains elements, as drawings do
        self._label: list[str] | None = None
        self._data_key = ""
        self._keys: dict[str, Key] = {}
        self._key: Key | None = None
        self._items: list[_Item] = []  # the nodes and ties that are open
        self._nodes: dict[str, _Item] = {}
        self._ties: list[_Item] = []
        self._tie_ids: dict[tuple[str, ...], str] = {}
        self._directed: bool | None = None

    def finished(self) -> GraphmlFile:
        """What was read, once its keys are known and the ends of its ties are found."""
        if self._directed is None:
            raise _unreadable(self._path, "it contains no graph")
        for tie in self._ties:
            for end in ("source", "target"):
                if tie.given[end] not in self._nodes:
                    raise self._error(
                        tie.place,
                        f"{tie.given[end]!r} is not the id of a node in the file; "
                        "add the node or remove the tie",
                    )
        return GraphmlFile(
            nodes=tuple(
                Node(id=name, place=node.place, values=self._values(node, "node"))
                for name, node in self._nodes.items()
            ),
            ties=tuple(
                Tie(
                    source=tie.given["source"],
                    target=tie.given["target"],
                    place=tie.place,
                    values=self._values(tie, "edge"),
                )
                for tie in self._ties
            ),
            directed=self._directed,
        )

    # ------------------------------------------------------------ elements

    def _start(self, tag: str, given: dict[str, str]) -> None:
        if self._open and self._open[-1] in FREE:
            self._skipped += 1
            self._nested = True
            self._end_label()
            if tag in LABELS and self._text is not None and self._items:
                self._label = []
            return
        if not self._open:
            self._prefix = tag[: -len("graphml")] if tag.endswith("graphml") else ""
        name = tag.removeprefix(self._prefix)
        inside = self._open[-1] if self._open else ""
        group = inside == "node" and self._items[-1].given.get("yfiles.foldertype") == "group"
        if name not in CHILDREN[inside] or (name == "graph" and inside == "node" and not group):
            raise self._unexpected(name, inside)
        self._open.append(name)
        match name:
            case "key":
                self._start_key(given)
            case "graph" if inside == "graphml":
                self._start_graph(given)
            case "node":
                self._start_node(given)
            case "edge":
                self._start_tie(given)
            case "data" if inside in {"node", "edge"}:
                self._data_key = self._needed(given, "key", "a value")
                self._text, self._nested = [], False
            case "default":
                self._text, self._nested = [], False

    def _end(self, tag: str) -> None:
        del tag
        if self._skipped:
            self._skipped -= 1
            self._end_label()
            return
        name = self._open.pop()
        if name in FREE and self._text is not None:
            self._end_value("".join(self._text))
        elif name in {"node", "edge"}:
            self._items.pop()

    def _end_value(self, text: str) -> None:
        self._text = None
        if self._nested:
            if text.strip():
                raise self._error(self._here(), "a value mixes text and elements; keep one of them")
        elif self._open[-1] == "key":
            assert self._key is not None
            self._key.default = text
        else:
            self._add_value(text)

    def _end_label(self) -> None:
        """Keep the text of the first label that yEd draws for a node or a tie."""
        if self._label is not None and self._items[-1].label is None:
            self._items[-1].label = "".join(self._label)
        self._label = None

    def _characters(self, text: str) -> None:
        if self._label is not None:
            self._label.append(text)
        elif self._text is not None and not self._skipped:
            self._text.append(text)

    def _doctype(self, *_given: object) -> None:
        raise self._error(
            self._here(),
            "a document type declaration is not accepted, because it can declare entities; "
            "remove <!DOCTYPE …>",
        )

    # ------------------------------------------------------------ what they declare

    def _start_key(self, given: Mapping[str, str]) -> None:
        name, place = self._needed(given, "id", "a key"), self._here()
        if name in self._keys:
            raise self._twice(self._keys[name].place, f"the key {name!r} is declared", place)
        drawn = given.get("yfiles.type")
        kind = "string" if drawn else given.get("attr.type", "string")
        if kind not in TYPES:
            raise self._error(
                place, f"the type {kind!r} is not one of GraphML's; correct attr.type"
            )
        self._key = self._keys[name] = Key(
            name=drawn or self._needed(given, "attr.name", "a key"),
            type=kind,
            scope=given.get("for", "all"),
            place=place,
        )

    def _start_graph(self, given: Mapping[str, str]) -> None:
        if self._directed is not None:
            raise self._error(self._here(), "a second graph begins here; keep one graph per file")
        direction = given.get("edgedefault", "undirected")
        if direction not in {"directed", "undirected"}:
            raise self._error(
                self._here(),
                f"edgedefault is {direction!r}; it must be 'directed' or 'undirected'",
            )
        self._directed = direction == "directed"

    def _start_node(self, given: Mapping[str, str]) -> None:
        name, node = self._needed(given, "id", "a node"), _Item(given=given, place=self._here())
        if name in self._nodes:
            first = self._nodes[name].place
            raise self._error(
                f"{first}, node {name!r}",
                f"the id {name!r} is used again in {node.place}; remove one of them or give them "
                "different ids",
            )
        self._nodes[name] = node
        self._items.append(node)

    def _start_tie(self, given: Mapping[str, str]) -> None:
        place = self._here()
        for end in ("source", "target"):
            self._needed(given, end, "a tie")
        if len(self._ties) >= self._most_ties:
            raise GraphError(
                f"{self._path}: has more than {self._most_ties:,} ties, too many for GraphML; "
                "save the nodes and ties as Parquet tables"
            )
        if "id" in given:  # networkx numbers the ties of each pair of nodes from 0
            ends = (given["source"], given["target"])
            own = (given["id"], *(ends if self._directed else sorted(ends)))
            if self._tie_ids.setdefault(own, place) != place:
                raise self._twice(self._tie_ids[own], f"the tie {own[0]!r} is declared", place)
        wanted = "true" if self._directed else "false"
        if given.get("directed", wanted) != wanted:
            raise self._error(
                place,
                f"the tie has directed={given['directed']!r}, but the graph says otherwise; "
                "export all ties as directed, or all as undirected",
            )
        tie = _Item(given=given, place=place)
        self._ties.append(tie)
        self._items.append(tie)

    def _add_value(self, text: str) -> None:
        item, place = self._items[-1], self._here()
        if self._data_key in item.data:
            first = item.data[self._data_key][1]
            raise self._twice(first, f"the value of {self._data_key!r} is given", place)
        item.data[self._data_key] = (text, place)

    # ------------------------------------------------------------ values

    def _values(self, item: _Item, scope: str) -> dict[str, Value]:
        """The values of a node or a tie; two keys may share a name, but not in one element."""
        values: dict[str, Value] = {}
        for key_id, (text, place) in item.data.items():
            key = self._keys.get(key_id)
            if key is None:
                raise self._error(place, f"there is no key {key_id!r}; declare it, or remove this")
            if key.name in values:
                raise self._twice(item.place, f"the value of {key.name!r} is given", place)
            values[key.name] = self._value(text, key, place)
        if item.label is not None:
            values.setdefault("label", item.label)
        for key in self._keys.values():
            if key.default is not None and key.scope in {scope, "all"}:
                values.setdefault(key.name, self._value(key.default, key, key.place))
        return values

    def _value(self, text: str, key: Key, place: str) -> Value:
        try:
            return value_of(text, key.type)
        except ValueError:
            plain = text.strip()
            shown = plain if len(plain) <= 40 else f"{plain[:40]}…"
            raise self._error(
                place, f"{shown!r} in {key.name!r} is not of the type {key.type}; correct the value"
            ) from None

    # ------------------------------------------------------------ messages

    def _here(self) -> str:
        return f"line {self.parser.CurrentLineNumber}, column {self.parser.CurrentColumnNumber + 1}"

    def _needed(self, given: Mapping[str, str], name: str, what: str) -> str:
        if name not in given:
            raise self._error(self._here(), f"{what} has no {name!r}; add it")
        return given[name]

    def _unexpected(self, name: str, inside: str) -> GraphError:
        if not inside:
            return _unreadable(self._path, f"it starts with <{name}>, not <graphml>")
        remedy = REFUSED.get(name, "remove it, or export the graph again")
        return self._error(self._here(), f"<{name}> inside <{inside}> is not accepted: {remedy}")

    def _twice(self, first: str, what: str, again: str) -> GraphError:
        return self._error(first, f"{what} again in {again}; remove one of them")

    def _error(self, place: str, what: str) -> GraphError:
        return GraphError(f"{self._path}, {place}: {what}")
