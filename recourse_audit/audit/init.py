"""A first `audit.toml`, written from the files alone, with every guess marked as one.

What the columns of the files may mean, then what the model's output and the recorded decisions say
about the decision; settings and text are made from the same entries.
"""

import json
import math
import os
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recourse_audit.audit.inspect import PREPARATION, Inspection, inspect_with
from recourse_audit.audit.load import Preprocessing, read_features
from recourse_audit.audit.population import SAYS_BAD, SAYS_GOOD, people_column
from recourse_audit.errors import GraphError, InputError, ModelError, SettingsError
from recourse_audit.graph.archives import kinds_in
from recourse_audit.graph.columns import (
    ColumnSummary,
    check_is_file,
    describe_columns,
    near_matches,
)
from recourse_audit.graph.graph import Floats, Graph
from recourse_audit.graph.graphml import survey_graphml
from recourse_audit.graph.kinds import people_settings
from recourse_audit.graph.tables import find_kind, survey
from recourse_audit.model.kind_roles import is_input_of
from recourse_audit.model.roles import OutputPort, Signature
from recourse_audit.model.session import OnnxModel
from recourse_audit.settings import GraphSettings, ModelSettings
from recourse_audit.settings.section import is_file

ID_NAMES = ("id", "node", "node_id", "name", "person", "customer", "account")
END_NAMES = (("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v"), ("a", "b"))
KIND_NAMES = ("kind", "type", "edge_type", "tie_type", "relation", "relationship")
PROTECTED = frozenset(
    {"gender", "sex", "race", "ethnicity", "ethnic", "origin", "nationality", "nation", "age"}
    | {"citizenship", "religion", "disability", "disabled", "marital", "birth"}
)
# What an unfavourable decision is called; of two recorded values, such a one is the first class.
REFUSALS = frozenset(
    {"denied", "deny", "declined", "decline", "rejected", "reject", "refused", "refuse", "no"}
    | {"bad", "false", "0", "0.0", "fail", "failed", "negative", "n", "f"}
)
# What a bad outcome is called; of several values, the first that is not called so may be good.
FAILURES = REFUSALS | {"default", "defaulted", "late", "loss", "lost", "charged off", "2", "2.0"}
MOST_GROUPS, MOST_SHOWN, MOST_NAMED = 12, 6, 200
SEPARATORS = re.compile(r"__|[=.:_\[/ -]")
DERIVED = (
    "# A column that is computed from others, and that the pipeline takes, is declared here:",
    "# [[graph.derived]]",
    '# name = "…"',
    '# formula = "… / …"',
)
# What is said beside a key, unless there is more to say.
COMMENTS = {
    "preprocessing": "raw columns in, the model's features out",
    "from": "CHECK: found by its ids",
    "kind": "CHECK: the kind of a tie",
    "edge_attributes": "CHECK: in the model's order",
    "features": "CHECK: the model's order",
    "directed": "CHECK: true if a tie leads one way only",
    "favourable": "CHECK: what a person hopes for",
    "better": 'CHECK: or "lower"',
    "recorded": "the decisions really taken",
    "subject": "CHECK: who is decided on",
    "outcome": "what came true later",
    "good_outcome": "CHECK: the values that are good",
    "bad_outcome": "CHECK: others count as not known",
}
CLOSING = """\
[search]
max_nodes = 4       # at most this many people in an explanation
# max_hops = 2      # the model's depth if absent
budget = 200000     # at most this many subgraphs evaluated per person

[recourse]
max_changes = 3     # at most this many changes in one option
# CHECK: without rules, own ties may be dropped at cost 1, and nothing else may change.
# Ties such as family are never suggested, and protected attributes never change.
# [[recourse.ties]]
# kind = "*"
# allow = ["drop", "add"]
# [[recourse.attributes]]
# name = "…"         # a feature
# direction = "up"
# step = 1"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartingSettings:
    """The text of a first `audit.toml`, and what a person should hear about it at once.

    `problem` says why nobody can be audited with it yet, if so.
    """

    text: str
    guesses: tuple[str, ...]
    problem: str


def starting_settings(
    model: Path,
    graph_files: Mapping[str, Path | None],
    *,
    folder: Path,
    cut_off: float | None = None,
    preprocessing: Path | None = None,
    recorded: str | None = None,
    outcome: str | None = None,
) -> StartingSettings:
    """Write settings for a model and a graph; paths become relative to `folder`.

    Tables in which something is wrong are no reason to write nothing: the file then says what.

    Parameters
    ----------
    graph_files
        The files of the graph by their keys: nodes and edges, or npz, or graphml; of several kinds
        of nodes, `nodes.KIND` and `ties.RELATION`.
    cut_off
        From which probability or score on a decision is favourable.
    preprocessing
        The pipeline that makes the features; they are then not listed.
    recorded
        The column of nodes with the decisions that were taken.
    outcome
        The column of nodes with what came true later.
    """
    check_is_file(model, "MODEL")
    files = {key: path for key, path in graph_files.items() if path is not None}
    several = [key for key in files if key.startswith("nodes.")]
    if set(files) not in ({"nodes", "edges"}, {"npz"}, {"graphml"}) and not several:
        raise InputError(
            "init needs the graph: --nodes FILE --edges FILE, or --npz FILE, or --graphml FILE"
        )
    for key, path in files.items():
        check_is_file(path, f"--{key.partition('.')[0].replace('ties', 'edges')}")
    if preprocessing is not None:
        check_is_file(preprocessing, "--preprocessing")
    settings = ModelSettings(path=model, preprocessing=preprocessing)
    later = {"--recorded": recorded, "--outcome": outcome}
    later_columns = {option: name for option, name in later.items() if name is not None}
    subject: str | None = None
    kinds = kinds_in(files["npz"]) if "npz" in files else [key.partition(".")[2] for key in several]
    if kinds:
        given = _guess_tables(files, settings, later_columns)
        subject, columns = _find_subject(kinds, given, settings)
        lines = _table_lines(given, folder)
    else:
        given, comments, columns = _guess_columns(files, settings, later_columns)
    graph_settings = GraphSettings.model_validate(given)
    graph, inspection, doubts = _look(settings, graph_settings, subject)
    if not kinds:
        given |= {key: _relative(path, folder) for key, path in files.items()}
        lines = ["[graph]", *_entries(given, comments)]
    blocks: list[OneHotBlock] = []
    if graph is not None and preprocessing is None:
        if "npz" in files and not kinds:
            lines += _columns_of_x(graph.feature_names)
        own = slice(*graph.kinds.blocks[0]) if graph.kinds else slice(None)
        people = graph.features[: graph.person_count, own]
        blocks = one_hot_blocks(graph.feature_names[own], people, graph.attributes)
    if "graphml" not in files and not kinds:
        lines += _entries({"directed": False})
    values = {column.name: column.values for column in columns}
    output = inspection.signature.output
    score = cut_off is not None and _is_score(output, cut_off)
    decision = _decision_section(
        output.classes or 2, cut_off, recorded, values.get(recorded or "", ()), score=score
    )
    if subject is not None:
        decision += _entries({"subject": subject})
    if outcome is not None:
        decision += _outcome_lines(outcome, values.get(outcome, ()))
    people_only = people_settings(graph_settings, subject)
    unused = {people_only.id, *people_only.features, *later_columns.values()}
    few = [c.name for c in columns if c.distinct <= MOST_GROUPS and c.name not in unused]
    groups = [name for name in [*few, *(b.name for b in blocks)] if _is_protected(name)]
    sections = (
        _model_section(inspection, settings, folder, score=score),
        [*lines, *doubts],
        *(_encoding_section(block) for block in blocks),
        decision,
        ["[groups]", "# CHECK: the protected attributes", *_entries({"attributes": groups})],
        CLOSING.splitlines(),
    )
    guesses = [
        f"Guessed that decisions are on {kind!r}, of the kinds {', '.join(kinds)}: the model's "
        "output has one row for each. Check decision.subject."
        for kind in kinds
        if kind == subject and not inspection.problem
    ]
    guesses += [
        f"Guessed that {', '.join(block.columns)} are one category, {block.name!r}: they are 0 or "
        "1, and one of them is 1 in every row. Check [[graph.encodings]]."
        for block in blocks
    ]
    return StartingSettings(
        text="\n".join("\n".join([*section, ""]) for section in sections),
        guesses=(*guesses,),
        problem=inspection.problem,
    )


def _look(
    model: ModelSettings, settings: GraphSettings, subject: str | None = None
) -> tuple[Graph | None, Inspection, list[str]]:
    """Read the graph and probe the model on it; what cannot be read is a doubt."""
    graph: Graph | None = None
    pipeline: Preprocessing | None = None
    doubts: list[str] = []
    try:
        graph, pipeline = read_features(model, settings, subject=subject)
    except (GraphError, SettingsError, ModelError) as error:
        if model.preprocessing is None and not isinstance(error, GraphError):
            raise
        doubts = [f"# CHECK: {error}", *(DERIVED if model.preprocessing is not None else ())]
    try:
        return graph, inspect_with(model, graph, pipeline)[0], doubts
    except InputError as error:
        return graph, inspect_with(model, None)[0], [f"# CHECK: {error}"]


# ---------------------------------------------------------------- several kinds of nodes


def name_files(nodes: Sequence[str], edges: Sequence[str]) -> dict[str, Path]:
    """The files that options name, by their keys: FILE, or KIND=FILE for each of several."""
    files: dict[str, Path] = {}
    for key, several, values in (("nodes", "nodes", nodes), ("edges", "ties", edges)):
        for value in values:
            name, equals, path = value.partition("=")
            named = equals and not is_file(Path(value))
            whole = f"{several}.{name}" if named else key
            if whole in files or (len(values) > 1 and not named):
                raise InputError(
                    f"--{key}: is given more than once; for several kinds of nodes, write --{key} "
                    "NAME=FILE for each, with a name of its own"
                )
            files[whole] = Path(path if named else value)
    return files


def _guess_tables(
    files: Mapping[str, Path], model: ModelSettings, later: Mapping[str, str]
) -> dict[str, Any]:
    """Guess what the columns of kinds and relations mean; those in `later` are no features."""
    if "npz" in files:
        return dict(files)
    ports = OnnxModel(model, complete=False).inputs
    given: dict[str, dict[str, dict[str, Any]]] = {"nodes": {}, "ties": {}}
    for key, path in files.items():
        section, _, name = key.partition(".")
        columns = survey(path)
        if section == "nodes":
            identifier = _id_column(columns, path)
            widths = [p.shape[-1] for p in ports if len(p.shape) == 2 and is_input_of(p.name, name)]
            width = next((width for width in widths if isinstance(width, int)), None)
            features, _ = _feature_columns(columns, {identifier, *later.values()}, width)
            given[section][name] = {"path": path, "id": identifier, "features": features}
            continue
        more = _tie_columns(columns, path, None)
        ends = [str(more.get(end, end)) for end in ("source", "target")]
        ids = {kind: (table["path"], table["id"]) for kind, table in given["nodes"].items()}
        start, to = (find_kind(path, end, ids) for end in ends)
        given[section][name] = {"path": path, "from": start, "to": to, **more}
    return dict(given)


def _find_subject(
    kinds: Sequence[str], given: Mapping[str, Any], model: ModelSettings
) -> tuple[str, list[ColumnSummary]]:
    """The kind that the model's output has one row per node of, and what its columns hold."""
    settings, subject = GraphSettings.model_validate(given), kinds[0]
    for kind in kinds:
        graph, inspection, _ = _look(model, settings, kind)
        if graph is not None and not inspection.problem:
            subject = kind
            break
    table = settings.node_tables.get(subject)
    if table is not None and table.path is not None:
        return subject, survey(table.path)
    graph, _ = read_features(model, settings, subject=subject)
    return subject, describe_columns({n: people_column(graph, n) for n in graph.column_names})


def _table_lines(given: Mapping[str, Any], folder: Path) -> list[str]:
    """A section for each kind and each relation; an archive says it all by itself."""
    if "npz" in given:
        return ["[graph]", *_entries({"npz": _relative(given["npz"], folder)})]
    lines = []
    for section, tables in given.items():
        for name, table in tables.items():
            entries = {**table, "path": _relative(table["path"], folder)}
            key = name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quote(name)
            lines += [f"[graph.{section}.{key}]", *_entries(entries), ""]
    return lines[:-1]


# ---------------------------------------------------------------- what columns may mean


def _guess_columns(
    files: Mapping[str, Path], model: ModelSettings, later: Mapping[str, str]
) -> tuple[dict[str, object], dict[str, str], list[ColumnSummary]]:
    """Guess what the columns of a graph's files mean; those in `later` are no features.

    The settings of the graph, comments on some of them, and what the columns of nodes hold.
    """
    given: dict[str, object] = dict(files)
    comments: dict[str, str] = {}
    [path, *_] = files.values()
    if "npz" in files:
        columns = describe_columns(read_features(model, GraphSettings(npz=path))[0].attributes)
    elif "graphml" in files:
        columns, given["directed"] = survey_graphml(path)
        comments["directed"] = "as the file says"
    else:
        columns = survey(files["nodes"])
    known = [column.name for column in columns]
    for option, name in later.items():
        if name not in known:
            raise InputError(
                f"{path}: the nodes have no column {name!r} (from {option}); "
                f"{near_matches(name, known)}"
            )
    if "npz" in files:
        return given, comments, columns
    signature = OnnxModel(model, complete=False).signature
    unused, where = {*later.values()}, "node attribute"
    if "nodes" in files:
        ties = survey(files["edges"])
        identifier = _id_column([c for c in columns if c.name not in unused], path)
        given |= {"id": identifier, **_tie_columns(ties, files["edges"], signature)}
        unused, where = unused | {identifier}, "column except the id"
    features, doubt = _feature_columns(columns, unused, signature.feature_count)
    if model.preprocessing is None:
        if not features:
            raise InputError(f"{path}: no {where} holds numbers, so there are no features")
        directed = {"directed": given.pop("directed")} if "directed" in given else {}
        given |= {"features": features, **directed}
        comments["features"] = f"CHECK: {doubt}"
    return given, comments, columns


def _tie_columns(
    columns: list[ColumnSummary], path: Path, signature: Signature | None
) -> dict[str, object]:
    """The columns of ties that are no default, as settings."""
    names = {column.name.lower(): column.name for column in columns}
    ends = next((pair for pair in END_NAMES if names.keys() >= {*pair}), None)
    if ends is None and len(columns) < 2:
        raise InputError(f"{path}: needs two columns, the ends of each tie")
    source, target = (
        (columns[0].name, columns[1].name) if ends is None else (names[ends[0]], names[ends[1]])
    )
    given: dict[str, object] = {}
    if (source, target) != END_NAMES[0]:
        given |= {"source": source, "target": target}
    if signature is None:  # of one relation, which is a kind
        return given
    kind = next((names[name] for name in KIND_NAMES if name in names), KIND_NAMES[0])
    if kind != KIND_NAMES[0]:  # a column that is named must be there, the usual one need not
        given["kind"] = kind
    port = signature.port("edge_attributes")
    numeric = [c.name for c in columns if c.numeric and c.name not in (source, target)]
    width = None if port is None else port.inner[1]
    if isinstance(width, int) and len(numeric) > width:
        numeric = [name for name in numeric if name != "weight"][:width]
    if port is not None and numeric:
        given["edge_attributes"] = numeric
    return given


def _id_column(columns: list[ColumnSummary], path: Path) -> str:
    """The likeliest of the columns without a repeated value: by name, then text before numbers."""
    unique = [column for column in columns if column.distinct == column.rows]
    if not unique:
        raise InputError(f"{path}: no column has a different value in every row, so none is an id")

    def doubt(column: ColumnSummary) -> tuple[bool, bool, bool]:
        name = column.name.lower()
        return name not in ID_NAMES, not name.endswith("id"), column.numeric

    return min(unique, key=doubt).name


def _feature_columns(
    columns: list[ColumnSummary], unused: Container[str], wanted: int | None
) -> tuple[list[str], str]:
    """The columns of numbers that the model may take, and what is doubtful about that."""
    numeric = [c.name for c in columns if c.numeric and c.name not in unused]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class OneHotBlock:
    """A category, the columns that encode it, and what each of them stands for."""

    name: str
    columns: tuple[str, ...]
    labels: tuple[str, ...]


def one_hot_blocks(
    names: Sequence[str], features: Floats, others: Iterable[str] = ()
) -> list[OneHotBlock]:
    """The blocks among features, in the order of their first columns; `others` are names in use.

    Both the names and the numbers must say so: the columns share a prefix (`housing_rent`,
    `housing=rent`, `housing.rent`, `housing[rent]`), hold nothing but 0 and 1, and every row has
    exactly one 1 among them. Where a longer and a shorter prefix both fit, the block with more
    columns is taken. The name of a block is its prefix, unless a column is already called that.
    """
    place = {name: number for number, name in enumerate(names)}
    binary = ((features == 0) | (features == 1)).all(axis=0)
    groups: dict[tuple[str, str], dict[str, str]] = {}
    for name in (name for name in names if binary[place[name]]):
        for match in SEPARATORS.finditer(name):
            prefix, label = name[: match.start()], name[match.end() :]
            label = label.removesuffix("]") if match[0] == "[" else label
            if prefix.strip() and label.strip():
                groups.setdefault((prefix, match[0]), {})[name] = label
    used: set[str] = set()
    known = {*names, *others}
    blocks: list[OneHotBlock] = []
    order = sorted(groups.items(), key=lambda group: (-len(group[1]), -len(group[0][0])))
    for (name, _), members in order:
        rows = features[:, [place[member] for member in members]]
        # Exactly one 1 in every row, and not always in the same column.
        if len({*members.values()}) < max(2, len(members)) or not used.isdisjoint(members):
            continue
        if (rows.sum(axis=1) == 1).all() and rows.any(axis=0).sum() > 1:
            used.update(members)
            while name in known:
                name = f"{name}_category"  # noqa: PLW2901
            known.add(name)
            labels = tuple(members.values())
            blocks.append(OneHotBlock(name=name, columns=tuple(members), labels=labels))
    return sorted(blocks, key=lambda block: place[block.columns[0]])


# ---------------------------------------------------------------- sections


def _model_section(
    inspection: Inspection, settings: ModelSettings, folder: Path, *, score: bool
) -> list[str]:
    """The model, with what was guessed and measured about it as comments."""
    signature, output = inspection.signature, inspection.signature.output.kind
    roles = ", ".join(f"{_quote(p.name)} = {_quote(p.full_role or '?')}" for p in signature.inputs)
    depth = inspection.probes.depth if inspection.probes is not None else None
    given = {"path": _relative(settings.path, folder)}
    if settings.preprocessing is not None:
        given["preprocessing"] = _relative(settings.preprocessing, folder)
    lines = ["[model]", *_entries(given)]
    lines.append(f"# roles = {{ {roles} }}    # guessed; set it if one is wrong")
    if score:
        lines.append('output = "score"    # CHECK: one column of any numbers, no probability')
    else:
        guessed = "guessed" if output else "unknown"
        lines.append(f"# output = {_quote(output or 'logits')}    # {guessed}")
    measured = "no limit was measured" if depth is None else "probed"
    lines.append(f"# depth = {2 if depth is None else depth}    # {measured}")
    if inspection.weighs:
        lines.append(
            "# CHECK: is anything prepared outside the model? These settings say: nothing."
        )
        lines += [f"#{line[1:]}" for line in PREPARATION[1:]]
    if inspection.problem:
        lines.append(f"# CHECK: {inspection.problem}")
    return lines


def _encoding_section(block: OneHotBlock) -> list[str]:
    return [
        "[[graph.encodings]]    # CHECK: guessed from names, and because one of them is 1 per row",
        *_entries({"name": block.name, "kind": "one_hot"}, {"kind": ""}),
        *_entries({"columns": block.columns, "labels": block.labels}),
    ]


def _decision_section(
    count: int,
    cut_off: float | None,
    recorded: str | None,
    values: tuple[str, ...],
    *,
    score: bool,
) -> list[str]:
    """The classes, named by the recorded decisions where they fit the model, and the rule."""
    classes, doubts = [f"class_{number}" for number in range(count)], []
    if len(values) == count:
        classes = sorted(values, key=lambda text: (text.lower() not in REFUSALS, text))
    elif recorded is not None:
        first = ", ".join(values[:MOST_SHOWN]) + (", …" if len(values) > MOST_SHOWN else "")
        there = f"{len(values)} different values ({first})" if values else "many different values"
        doubts = [f"# CHECK: {recorded!r} holds {there}, and the model has {count} classes"]
    given: dict[str, object] = {"classes": classes, "favourable": classes[-1:]}
    if cut_off is not None:
        whole = cut_off == int(cut_off) and abs(cut_off) >= 1
        given["cut_off"] = int(cut_off) if whole else cut_off
    given |= {"better": "higher"} if score else {}
    given |= {} if recorded is None else {"recorded": recorded}
    of = "score" if score else "summed probability of the favourable classes"
    comments = {"cut_off": f"favourable from this {of} on"}
    names = "# CHECK: what the classes are called, in the order of the model's output"
    return ["[decision]", names, *_entries(given, comments), *doubts]


def _outcome_lines(column: str, values: tuple[str, ...]) -> list[str]:
    """The column of outcomes, and which of its values are good unless they say yes or no."""
    given: dict[str, object] = {"outcome": column}
    there = [value for value in values if value.strip()]
    if not all(value.strip().casefold() in SAYS_GOOD | SAYS_BAD for value in there):
        good = [value for value in there if value.casefold() not in FAILURES][:1]
        given["good_outcome"] = good
        if len(there) > 2:
            given["bad_outcome"] = [value for value in there if value not in good][:MOST_SHOWN]
    return _entries(given)


def _is_score(output: OutputPort, cut_off: float) -> bool:
    """Whether a cut-off can only be that of a score: one column, and no probability."""
    if not math.isfinite(cut_off):
        raise InputError(f"--cut-off: must be a number (got {cut_off})")
    if not 0 < cut_off < 1 and output.columns != 1:
        columns = "" if output.columns is None else f", and this one has {output.columns} columns"
        raise InputError(
            f"--cut-off: a cut-off for probabilities lies between 0 and 1 (got {cut_off:g}); only "
            f"a model with one column of scores takes others{columns}"
        )
    return not 0 < cut_off < 1


def _columns_of_x(names: Sequence[str]) -> list[str]:
    """The features of an archive, which rules and protected attributes are named after."""
    if len(names) > MOST_NAMED:
        return [f"# features: {len(names):,} columns of x, {names[0]!r} to {names[-1]!r}"]
    return [
        "# CHECK: the columns of x, named by the archive's feature_names or numbered; give them",
        "# names in this order: rules and protected attributes refer to them",
        *_entries({"features": names}, {"features": ""}),
    ]


def _entries(given: Mapping[str, object], comments: Mapping[str, str] | None = None) -> list[str]:
    """Lines of TOML; features have one line each, below what is said about them."""
    lines = []
    for key, value in given.items():
        comment = {**COMMENTS, **(comments or {})}.get(key)
        if key == "features" and isinstance(value, Sequence):
            lines += [f"# {comment}"] if comment else []
            lines += ["features = [", *(f"    {_quote(name)}," for name in value), "]"]
        else:
            lines.append(f"{key} = {_quote(value)}" + (f"    # {comment}" if comment else ""))
    return lines


def _relative(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()


def _quote(value: object) -> str:
    """A value as TOML writes it; JSON's strings, numbers and lists are a subset of TOML's."""
    return json.dumps(value, ensure_ascii=False)
