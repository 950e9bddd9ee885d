"""A first `audit.toml`, written from the files alone, with every guess marked as one."""

import json
import os
from pathlib import Path

from recourse_audit.errors import InputError
from recourse_audit.graph.readers import read_graph
from recourse_audit.graph.survey import Column, survey
from recourse_audit.run.inspection import Inspection, inspect_model
from recourse_audit.settings import GraphSettings

ID_NAMES = ("id", "node", "node_id", "name", "person", "customer", "account")
END_NAMES = (("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v"), ("a", "b"))
PROTECTED = ("gender", "sex", "race", "ethnic", "origin", "nation", "age", "religion", "disab")
FEW = 12


def starting_settings(
    model: Path, *, nodes: Path | None, edges: Path | None, npz: Path | None, folder: Path
) -> str:
    """Write settings for a model and a graph; paths become relative to `folder`."""
    if (nodes is None) != (edges is None) or (nodes is None) == (npz is None):
        raise InputError("init needs the graph: --nodes FILE --edges FILE, or --npz FILE")
    found = inspect_model(model, npz)
    if npz is not None:
        graph, groups = _npz_section(npz, folder)
    else:
        assert nodes is not None
        assert edges is not None
        graph, groups = _tables_section(nodes, edges, found, folder)
    return "\n".join([*_model_section(found, model, folder), "", *graph, "", *_rest(found, groups)])


def _model_section(found: Inspection, model: Path, folder: Path) -> list[str]:
    roles = ", ".join(f"{_text(p.name)} = {_text(p.role or '?')}" for p in found.signature.inputs)
    depth = found.probes.depth if found.probes is not None else None
    lines = ["[model]", f"path = {_text(_relative(model, folder))}"]
    lines.append(f"# roles = {{ {roles} }}    # guessed; set it if one is wrong")
    lines.append(f"# output = {_text(found.signature.output.kind or 'logits')}    # guessed")
    lines.append(f"# depth = {2 if depth is None else depth}    # probed")
    if found.signature.port("edge_weight") or found.signature.port("adjacency"):
        lines.append('# self_loops = "add"            # CHECK: was this done outside the model?')
        lines.append('# normalisation = "symmetric"   # CHECK: or "row"')
        lines.append('# tie_weights = "column"        # CHECK: or "ones"')
    if found.problem:
        lines.append(f"# CHECK: {found.problem}")
    return lines


def _tables_section(
    nodes: Path, edges: Path, found: Inspection, folder: Path
) -> tuple[list[str], list[str]]:
    columns = survey(nodes, "nodes")
    identifier = _id_column(columns, nodes)
    source, target = _end_columns(survey(edges, "edges"), edges)
    features, doubt = _features(columns, identifier, found.signature.feature_count)
    lines = ["[graph]"]
    lines.append(f"nodes = {_text(_relative(nodes, folder))}")
    lines.append(f"edges = {_text(_relative(edges, folder))}")
    lines.append(f"id = {_text(identifier)}")
    if (source, target) != END_NAMES[0]:
        lines += [f"source = {_text(source)}", f"target = {_text(target)}"]
    lines.append(f"# CHECK: {doubt}")
    lines.append("features = [")
    lines += [f"    {_text(name)}," for name in features]
    lines.append("]")
    lines.append("directed = false    # CHECK: true if a tie leads one way only")
    used = {identifier, *features}
    return lines, _group_columns([c for c in columns if c.name not in used])


def _npz_section(npz: Path, folder: Path) -> tuple[list[str], list[str]]:
    graph = read_graph(GraphSettings(npz=npz))
    lines = ["[graph]", f"npz = {_text(_relative(npz, folder))}"]
    lines.append("directed = false    # CHECK: true if a tie leads one way only")
    names = [name for name in graph.attributes if _is_protected(name)]
    return lines, names


def _rest(found: Inspection, groups: list[str]) -> list[str]:
    count = found.signature.output.classes or 2
    classes = [f"class_{number}" for number in range(count)]
    return [
        "[decision]",
        "# CHECK: what the classes are called, in the order of the model's output",
        f"classes = [{', '.join(_text(name) for name in classes)}]",
        f"favourable = [{_text(classes[-1])}]    # CHECK: what a person hopes for",
        "",
        "[groups]",
        "# CHECK: the protected attributes",
        f"attributes = [{', '.join(_text(name) for name in groups)}]",
        "",
        "[search]",
        "max_nodes = 4       # people in an explanation, at most",
        "# max_hops = 2      # the model's depth if absent",
        "budget = 200000     # subgraphs evaluated for one person, at most",
        "",
    ]


def _id_column(columns: list[Column], path: Path) -> str:
    unique = [column.name for column in columns if column.distinct == column.rows]
    named = [name for name in unique if name.lower() in ID_NAMES]
    if not unique:
        raise InputError(f"{path}: no column has a different value in every row, so none is an id")
    return (named or unique)[0]


def _end_columns(columns: list[Column], path: Path) -> tuple[str, str]:
    names = {column.name.lower(): column.name for column in columns}
    for source, target in END_NAMES:
        if source in names and target in names:
            return names[source], names[target]
    if len(columns) < 2:
        raise InputError(f"{path}: needs two columns, the ends of each tie")
    return columns[0].name, columns[1].name


def _features(columns: list[Column], identifier: str, wanted: int | None) -> tuple[list[str], str]:
    numeric = [
        column.name
        for column in columns
        if column.numeric and column.name != identifier and not _is_protected(column.name)
    ]
    if wanted is None:
        return numeric, "the model does not say how many features it takes; these are numbers"
    if len(numeric) == wanted:
        return numeric, f"the model takes {wanted} features, and so many columns hold numbers"
    return numeric[:wanted], (
        f"the model takes {wanted} features and {len(numeric)} columns hold numbers; name the "
        "right ones, in the model's order"
    )


def _group_columns(columns: list[Column]) -> list[str]:
    return [c.name for c in columns if _is_protected(c.name) and c.distinct <= FEW]


def _is_protected(name: str) -> bool:
    return any(name.lower().startswith(word) for word in PROTECTED)


def _relative(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()


def _text(value: str) -> str:
    """A TOML string; JSON's escapes are a subset of TOML's."""
    return json.dumps(value, ensure_ascii=False)
