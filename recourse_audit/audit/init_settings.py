"""A first `audit.toml`, written from the files alone, with every guess marked as one."""

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from recourse_audit.audit.inspection import PREPARATION, Inspection, check_given, inspect_with
from recourse_audit.errors import GraphError, InputError
from recourse_audit.graph.arrays import Graph
from recourse_audit.graph.graphml import survey_graphml
from recourse_audit.graph.readers import read_graph
from recourse_audit.graph.tables import Column, survey
from recourse_audit.model.onnx import OnnxModel
from recourse_audit.model.signature import Signature
from recourse_audit.settings import GraphSettings, ModelSettings

ID_NAMES = ("id", "node", "node_id", "name", "person", "customer", "account")
END_NAMES = (("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v"), ("a", "b"))
KIND_NAMES = ("kind", "type", "edge_type", "tie_type", "relation", "relationship")
PROTECTED = frozenset(
    {"gender", "sex", "race", "ethnicity", "ethnic", "origin", "nationality", "nation", "age"}
    | {"citizenship", "religion", "disability", "disabled", "marital", "birth"}
)
DIRECTED = "directed = false    # CHECK: true if a tie leads one way only"
FEW = 12
MOST_NAMED = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """What is guessed about a graph: the settings to read it with, as text too, and its groups."""

    settings: GraphSettings
    lines: list[str]
    groups: list[str]


def starting_settings(
    model: Path,
    *,
    nodes: Path | None,
    edges: Path | None,
    npz: Path | None,
    graphml: Path | None,
    folder: Path,
) -> str:
    """Write settings for a model and a graph; paths become relative to `folder`.

    Tables in which something is wrong are no reason to write nothing: the file then says what.
    """
    check_given(model, "MODEL")
    settings, doubts = ModelSettings(path=model), []
    given = (nodes is not None, edges is not None, npz is not None, graphml is not None)
    if given not in ((True, True, False, False), (False, False, True, False), (*[False] * 3, True)):
        raise InputError(
            "init needs the graph: --nodes FILE --edges FILE, or --npz FILE, or --graphml FILE"
        )
    graph: Graph | None = None
    if npz is not None:
        check_given(npz, "--npz")
        graph = read_graph(GraphSettings(npz=npz))
        start = _from_npz(npz, graph, folder)
    else:
        start = _from_named(nodes, edges, graphml, settings, folder)
        try:
            graph = read_graph(start.settings)
        except GraphError as error:
            doubts = [f"# CHECK: {error}"]
    try:
        found, _ = inspect_with(settings, graph)
    except InputError as error:
        (found, _), doubts = inspect_with(settings, None), [f"# CHECK: {error}"]
    parts = (_model_section(found, model, folder), start.lines + doubts, _rest(found, start.groups))
    return "\n".join("\n".join([*part, ""]) for part in parts)


def _from_named(
    nodes: Path | None, edges: Path | None, graphml: Path | None, model: ModelSettings, folder: Path
) -> _Start:
    """Guess from a graph whose columns have names: tables, or a GraphML file."""
    for path, option in ((nodes, "--nodes"), (edges, "--edges"), (graphml, "--graphml")):
        if path is not None:
            check_given(path, option)
    signature = OnnxModel(model, complete=False).signature
    if graphml is not None:
        return _from_graphml(graphml, signature, folder)
    assert nodes is not None
    assert edges is not None
    return _from_tables(nodes, edges, signature, folder)


def _model_section(found: Inspection, model: Path, folder: Path) -> list[str]:
    roles = ", ".join(f"{_text(p.name)} = {_text(p.role or '?')}" for p in found.signature.inputs)
    output = found.signature.output.kind
    depth = found.probes.depth if found.probes is not None else None
    lines = ["[model]", f"path = {_text(_relative(model, folder))}"]
    lines.append(f"# roles = {{ {roles} }}    # guessed; set it if one is wrong")
    lines.append(
        f"# output = {_text(output or 'logits')}    # {'guessed' if output else 'unknown'}"
    )
    measured = "no limit was measured" if depth is None else "probed"
    lines.append(f"# depth = {2 if depth is None else depth}    # {measured}")
    if found.weighs:
        lines.append(
            "# CHECK: is anything prepared outside the model? These settings say: nothing."
        )
        lines += [f"#{line[1:]}" for line in PREPARATION[1:]]
    if found.problem:
        lines.append(f"# CHECK: {found.problem}")
    return lines


def _from_tables(nodes: Path, edges: Path, signature: Signature, folder: Path) -> _Start:
    columns, ties = survey(nodes, "nodes"), survey(edges, "edges")
    identifier = _id_column(columns, nodes)
    source, target = _end_columns(ties, edges)
    features, doubt = _features(columns, identifier, signature.feature_count)
    kind = _kind_column(ties)
    attributes = _tie_attributes([c for c in ties if c.name not in (source, target)], signature)
    lines = ["[graph]", f"nodes = {_text(_relative(nodes, folder))}"]
    lines += [f"edges = {_text(_relative(edges, folder))}", f"id = {_text(identifier)}"]
    if (source, target) != END_NAMES[0]:
        lines += [f"source = {_text(source)}", f"target = {_text(target)}"]
    if kind != KIND_NAMES[0]:
        lines.append(f"kind = {_text(kind)}    # CHECK: the kind of a tie")
    if attributes:
        lines.append(f"edge_attributes = {_list(attributes)}    # CHECK: in the model's order")
    lines += [f"# CHECK: {doubt}", *_feature_lines(features), DIRECTED]
    if not features:
        raise InputError(
            f"{nodes}: no column except the id holds numbers, so there are no features"
        )
    unused = [c for c in columns if c.name not in {identifier, *features}]
    settings = GraphSettings(
        nodes=nodes,
        edges=edges,
        id=identifier,
        source=source,
        target=target,
        features=tuple(features),
        edge_attributes=tuple(attributes),
    )
    if kind != KIND_NAMES[0]:  # a column that is named must be there, the usual one need not
        settings = settings.model_copy(update={"kind": kind})
    return _Start(
        settings=settings,
        lines=lines,
        groups=[c.name for c in unused if _is_protected(c.name) and c.distinct <= FEW],
    )


def _from_npz(npz: Path, graph: Graph, folder: Path) -> _Start:
    return _Start(
        settings=GraphSettings(npz=npz),
        lines=[
            "[graph]",
            f"npz = {_text(_relative(npz, folder))}",
            *_columns_of_x(graph.feature_names),
            DIRECTED,
        ],
        groups=[name for name in graph.attributes if _is_protected(name)],
    )


def _from_graphml(path: Path, signature: Signature, folder: Path) -> _Start:
    columns, directed = survey_graphml(path)
    features, doubt = _features(columns, "", signature.feature_count)
    if not features:
        raise InputError(f"{path}: no node attribute holds numbers, so there are no features")
    unused = [column for column in columns if column.name not in features]
    return _Start(
        settings=GraphSettings(graphml=path, features=tuple(features), directed=directed),
        lines=[
            "[graph]",
            f"graphml = {_text(_relative(path, folder))}",
            f"# CHECK: {doubt}",
            *_feature_lines(features),
            f"directed = {str(directed).lower()}    # as the file says",
        ],
        groups=[c.name for c in unused if _is_protected(c.name) and c.distinct <= FEW],
    )


def _columns_of_x(names: Sequence[str]) -> list[str]:
    """The features of an archive, which rules and protected attributes are named after."""
    if len(names) > MOST_NAMED:
        return [f"# features: {len(names):,} columns of x, {names[0]!r} to {names[-1]!r}"]
    return [
        "# CHECK: the columns of x, named by the archive's feature_names or numbered; give them",
        "# names in this order: rules and protected attributes refer to them",
        *_feature_lines(names),
    ]


def _feature_lines(features: Sequence[str]) -> list[str]:
    return ["features = [", *(f"    {_text(name)}," for name in features), "]"]


def _rest(found: Inspection, groups: list[str]) -> list[str]:
    count = found.signature.output.classes or 2
    classes = [f"class_{number}" for number in range(count)]
    return [
        "[decision]",
        "# CHECK: what the classes are called, in the order of the model's output",
        f"classes = {_list(classes)}",
        f"favourable = {_list(classes[-1:])}    # CHECK: what a person hopes for",
        "",
        "[groups]",
        "# CHECK: the protected attributes",
        f"attributes = {_list(groups)}",
        "",
        "[search]",
        "max_nodes = 4       # at most this many people in an explanation",
        "# max_hops = 2      # the model's depth if absent",
        "budget = 200000     # at most this many subgraphs evaluated per person",
        "",
        "[recourse]",
        "max_changes = 3     # at most this many changes in one option",
        "budget = 5000       # at most this many combinations of changes tried per person",
        "# CHECK: without rules, own ties may be dropped at cost 1, and nothing else may change.",
        "# Ties such as family are never suggested, and protected attributes never change.",
        "# [[recourse.ties]]",
        '# kind = "*"',
        '# allow = ["drop", "add"]',
        "# [[recourse.attributes]]",
        '# name = "…"         # a feature',
        '# direction = "up"',
        "# step = 1",
    ]


def _id_column(columns: list[Column], path: Path) -> str:
    """The likeliest of the columns without a repeated value: by name, then text before numbers."""
    unique = [column for column in columns if column.distinct == column.rows]
    if not unique:
        raise InputError(f"{path}: no column has a different value in every row, so none is an id")

    def doubt(column: Column) -> tuple[bool, bool, bool]:
        name = column.name.lower()
        return name not in ID_NAMES, not name.endswith("id"), column.numeric

    return min(unique, key=doubt).name


def _end_columns(columns: list[Column], path: Path) -> tuple[str, str]:
    names = {column.name.lower(): column.name for column in columns}
    for source, target in END_NAMES:
        if source in names and target in names:
            return names[source], names[target]
    if len(columns) < 2:
        raise InputError(f"{path}: needs two columns, the ends of each tie")
    return columns[0].name, columns[1].name


def _kind_column(columns: list[Column]) -> str:
    """The column with a name for this purpose; the usual name if there is none."""
    names = {column.name.lower(): column.name for column in columns}
    return next((names[name] for name in KIND_NAMES if name in names), KIND_NAMES[0])


def _tie_attributes(columns: list[Column], signature: Signature) -> list[str]:
    port = signature.port("edge_attributes")
    if port is None:
        return []
    numeric = [column.name for column in columns if column.numeric]
    width = port.inner[1]
    if isinstance(width, int) and len(numeric) > width:
        numeric = [name for name in numeric if name != "weight"][:width]
    return numeric


def _features(columns: list[Column], identifier: str, wanted: int | None) -> tuple[list[str], str]:
    numeric = [c.name for c in columns if c.numeric and c.name != identifier]
    plain = [name for name in numeric if not _is_protected(name)]
    if wanted is None:
        return plain, "the model does not say how many features it takes; these are numbers"
    if len(plain) == wanted:
        return plain, f"the model takes {wanted} features, and that many columns hold numbers"
    if len(numeric) == wanted:
        return numeric, (
            f"the model takes {wanted} features, and that many columns hold numbers, protected "
            "attributes included"
        )
    return plain[:wanted], (
        f"the model takes {wanted} features and {len(plain)} columns hold numbers; name the "
        "right ones, in the model's order"
    )


def _is_protected(name: str) -> bool:
    """Whether a word of a column's name is that of a protected attribute."""
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    return not PROTECTED.isdisjoint(words)


def _relative(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()


def _list(values: list[str]) -> str:
    return f"[{', '.join(_text(value) for value in values)}]"


def _text(value: str) -> str:
    """A TOML string; JSON's escapes are a subset of TOML's."""
    return json.dumps(value, ensure_ascii=False)
