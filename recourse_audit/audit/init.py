"""A first `audit.toml`, written from the files, with every guess marked as one or asked about.

What the columns of the files may mean, then what the model's output and the recorded decisions say
about the decision, then what a person answers; all of it becomes the same entries.
"""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from recourse_audit.audit.inspect import Inspection, inspect_with
from recourse_audit.audit.load import Preprocessing, read_features
from recourse_audit.audit.population import people_column
from recourse_audit.audit.questions import (
    Answers,
    Ask,
    Question,
    check_cut_off,
    interview,
    join_names,
    read_name,
)
from recourse_audit.audit.sections import (
    DERIVED,
    ENCODED,
    MOST_GROUPS,
    SEARCH,
    columns_of_x,
    decision_section,
    encoding_section,
    entries,
    group_section,
    model_section,
    name_classes,
    name_key,
    outcome_lines,
    policy_sections,
    relative_path,
    word_sections,
)
from recourse_audit.errors import GraphError, InputError, ModelError, SettingsError
from recourse_audit.graph.archives import kinds_in
from recourse_audit.graph.columns import ColumnSummary, check_is_file, describe_columns
from recourse_audit.graph.graph import Floats, Graph
from recourse_audit.graph.graphml import survey_graphml
from recourse_audit.graph.kinds import people_settings
from recourse_audit.graph.tables import find_kind, survey
from recourse_audit.model.kind_roles import is_input_of
from recourse_audit.model.roles import Signature
from recourse_audit.model.session import OnnxModel
from recourse_audit.settings import DerivedSettings, EncodingSettings, GraphSettings, ModelSettings
from recourse_audit.settings.section import first_problem, is_file, near_matches

ID_NAMES = ("id", "node", "node_id", "name", "person", "customer", "account")
END_NAMES = (("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v"), ("a", "b"))
KIND_NAMES = ("kind", "type", "edge_type", "tie_type", "relation", "relationship")
PROTECTED = frozenset(
    {"gender", "sex", "race", "ethnicity", "ethnic", "origin", "nationality", "nation", "age"}
    | {"citizenship", "religion", "disability", "disabled", "marital", "birth"}
)
# Words in the names of numbers that are codes, and hardly features.
CODES = frozenset({"code", "post", "postal", "postcode", "zip", "zipcode", "plz"})
# How far from 0 and 1 the mean and the standard deviation of a standardised column may be.
NEARLY = 0.1
# In how many rows unrelated columns would break the order of a thermometer, for it to count.
EXPECTED_BY_CHANCE = 5
SEPARATORS = re.compile(r"__|[=.:_\[/ -]")
STANDARDISED = (
    "have mean 0 and standard deviation 1, so their units are lost, and advice in them would say "
    "nothing to a person: give the raw columns, with model.preprocessing, or with a formula in "
    "[[graph.derived]]; or write scale = S (the standard deviation) and shift = M (the mean of the "
    "raw column) into their rules: a person's value is the column's * S + M."
)


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
    derived: Sequence[str] = (),
    ask: Ask | None = None,
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
    derived
        Columns that are computed from others: NAME = FORMULA.
    ask
        Whoever answers questions about the guesses; without anyone, they are all taken.
    """
    files = {key: path for key, path in graph_files.items() if path is not None}
    several = [key for key in files if key.startswith("nodes.")]
    _check_files(model, files, preprocessing, several=bool(several))
    settings = ModelSettings(path=model, preprocessing=preprocessing)
    later = {"--recorded": recorded, "--outcome": outcome}
    later_columns = {option: name for option, name in later.items() if name is not None}
    subject: str | None = None
    kinds = kinds_in(files["npz"]) if "npz" in files else [key.partition(".")[2] for key in several]
    guesses: list[str] = []
    if kinds:
        given = _guess_tables(files, settings, later_columns, guesses)
        subject, columns = _find_subject(kinds, given, settings, ask)
        lines = _table_lines(given, folder)
    else:
        given, comments, columns = _guess_columns(files, settings, later_columns, guesses)
    formulas = [_read_formula(text) for text in derived]
    graph_settings = GraphSettings.model_validate({**given, "derived": formulas})
    look = _look(settings, graph_settings, subject)
    graph, inspection = look.graph, look.inspection
    if not kinds:
        given |= {key: relative_path(path, folder) for key, path in files.items()}
        lines = ["[graph]", *entries(given, comments)]
    if "npz" in files and not kinds and graph is not None and preprocessing is None:
        lines += columns_of_x(graph.feature_names)
    if "graphml" not in files and not kinds:
        lines += entries({"directed": False})
    values = {column.name: column.values for column in columns}
    output = inspection.signature.output
    if cut_off is not None:
        check_cut_off(output, cut_off, "--cut-off: ")
    unused = {people_settings(graph_settings, subject).id, *later_columns.values()}
    unused.update(*(encoding.columns for encoding in look.encodings))
    few = [c.name for c in columns if c.distinct <= MOST_GROUPS or (c.numeric and not c.padded)]
    able = [*(n for n in few if n not in unused), *(e.name for e in look.encodings)]
    classes, doubts = name_classes(output.classes or 2, recorded, values.get(recorded or "", ()))
    answers = Answers(
        classes=classes,
        favourable=classes[-1:],
        cut_off=cut_off,
        protected=[name for name in able if is_protected(name)],
    )
    if ask is not None and graph is not None and look.model is not None and inspection.probes:
        column = None if classes[0] == "class_0" else recorded
        interview(ask, answers, graph, look.model, inspection.probes, look.able, column)
    score = answers.cut_off is not None and not 0 < answers.cut_off < 1
    decision = [*decision_section(answers, recorded, score=score), *doubts]
    if subject is not None:
        decision += entries({"subject": subject})
    if outcome is not None:
        decision += outcome_lines(outcome, values.get(outcome, ()))
    sections = (
        model_section(inspection, settings, folder, score=score),
        [*lines, *look.doubts],
        *(["[[graph.derived]]", *entries(formula)] for formula in formulas),
        *(encoding_section(encoding) for encoding in look.encodings),
        decision,
        group_section(answers, {c.name: c.distinct for c in columns if c.numeric}, graph),
        SEARCH.splitlines(),
        *policy_sections(answers, look.encodings, graph),
        *word_sections(answers, graph),
    )
    guesses += _say_guesses("" if ask or inspection.problem else subject, kinds, look.encodings)
    guesses += [f"{', '.join(look.standardised)} {STANDARDISED}"] * bool(look.standardised)
    return StartingSettings(
        text="\n".join("\n".join([*section, ""]) for section in sections),
        guesses=(*guesses,),
        problem=_describe_problem(inspection, several),
    )


def _check_files(
    model: Path, files: Mapping[str, Path], preprocessing: Path | None, *, several: bool
) -> None:
    """Refuse files that make no graph, or are not there."""
    check_is_file(model, "MODEL")
    if set(files) not in ({"nodes", "edges"}, {"npz"}, {"graphml"}) and not several:
        raise InputError(
            "init needs the graph: --nodes FILE --edges FILE, or --npz FILE, or --graphml FILE"
        )
    for key, path in files.items():
        check_is_file(path, f"--{key.partition('.')[0].replace('ties', 'edges')}")
    if preprocessing is not None:
        check_is_file(preprocessing, "--preprocessing")


def _describe_problem(inspection: Inspection, several: Sequence[str]) -> str:
    """Why nobody can be audited yet, and which of several kinds may be missing; or ""."""
    unfit = ", ".join(port.name for port in inspection.signature.inputs if port.role is None)
    more = f"; if {unfit} take more kinds of nodes, give --nodes KIND=FILE for each"
    return inspection.problem + more * bool(inspection.problem and several and unfit)


def _say_guesses(
    subject: str | None, kinds: Sequence[str], encodings: Sequence[EncodingSettings]
) -> list[str]:
    """What a person should hear of at once."""
    guesses = [
        f"Guessed that {', '.join(encoding.columns)} are one category, {encoding.name!r}: "
        f"{ENCODED[encoding.kind]}. Check [[graph.encodings]]."
        for encoding in encodings
    ]
    if not subject:
        return guesses
    first = (
        f"Guessed that decisions are on {subject!r}, of the kinds {', '.join(kinds)}: the model's "
        "output has one row for each. Check decision.subject."
    )
    return [first, *guesses]


@dataclass(slots=True, kw_only=True)
class _Look:
    """What the files hold, and what probes found; what cannot be read is a doubt."""

    inspection: Inspection
    doubts: list[str]
    graph: Graph | None = None
    pipeline: Preprocessing | None = None
    model: OnnxModel | None = None
    encodings: list[EncodingSettings] = field(default_factory=list)
    standardised: list[str] = field(default_factory=list)

    @property
    def able(self) -> list[str]:
        """The columns that may change in principle, each as a person knows it."""
        if self.pipeline is not None:
            return [*self.pipeline.encoder.columns]
        encoded = {column for encoding in self.encodings for column in encoding.columns}
        names = [] if self.graph is None else self.graph.person_features
        plain = [name for name in names if name not in encoded]
        return [*(encoding.name for encoding in self.encodings), *plain]


def _look(model: ModelSettings, settings: GraphSettings, subject: str | None = None) -> _Look:
    """Read the graph, probe the model on it, and see how columns are coded."""
    graph: Graph | None = None
    pipeline: Preprocessing | None = None
    doubts: list[str] = []
    try:
        graph, pipeline = read_features(model, settings, subject=subject)
    except (GraphError, SettingsError, ModelError) as error:
        if model.preprocessing is None and not isinstance(error, GraphError):
            raise
        doubts = [f"# CHECK: {error}"]
        if model.preprocessing is not None:
            doubts += DERIVED.splitlines()
    try:
        inspection, probed = inspect_with(model, graph, pipeline)
    except InputError as error:
        doubts, (inspection, _), probed = [f"# CHECK: {error}"], inspect_with(model, None), None
    look = _Look(inspection=inspection, doubts=doubts)
    look.graph, look.pipeline, look.model = graph, pipeline, probed
    if graph is not None and pipeline is None:
        own = slice(*graph.kinds.blocks[0]) if graph.kinds else slice(None)
        names, people = graph.feature_names[own], graph.features[: graph.person_count, own]
        look.encodings = find_encodings(names, people, graph.attributes)
        look.standardised = find_standardised(names, people)
        if look.standardised:
            doubts.append(f"# CHECK: {', '.join(look.standardised)} {STANDARDISED}")
    return look


def _read_formula(text: str) -> dict[str, str]:
    """A derived column as an option gives it."""
    name, equals, formula = text.partition("=")
    try:
        DerivedSettings(name=name.strip(), formula=formula.strip())
    except ValidationError as error:
        problem = "write NAME = FORMULA" if not equals else first_problem(error, DerivedSettings)
        raise InputError(f"--derived {text}: {problem}") from None
    return {"name": name.strip(), "formula": formula.strip()}


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
    files: Mapping[str, Path],
    model: ModelSettings,
    later: Mapping[str, str],
    guesses: list[str],
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
            identifier = guess_id(columns, path)
            widths = [p.shape[-1] for p in ports if len(p.shape) == 2 and is_input_of(p.name, name)]
            width = next((width for width in widths if isinstance(width, int)), None)
            features, doubt, left = guess_features(columns, {identifier, *later.values()}, width)
            guesses += [f"Guessed graph.nodes.{name}.features: {doubt}."] * bool(left)
            given[section][name] = {"path": path, "id": identifier, "features": features}
            continue
        more = guess_tie_columns(columns, path, None)
        ends = [str(more.get(end, end)) for end in ("source", "target")]
        ids = {kind: (table["path"], table["id"]) for kind, table in given["nodes"].items()}
        start, to = (find_kind(path, end, ids) for end in ends)
        given[section][name] = {"path": path, "from": start, "to": to, **more}
    return dict(given)


def _find_subject(
    kinds: Sequence[str], given: Mapping[str, Any], model: ModelSettings, ask: Ask | None
) -> tuple[str, list[ColumnSummary]]:
    """The kind that the model's output has one row per node of, and what its columns hold."""
    settings, subject = GraphSettings.model_validate(given), kinds[0]
    for kind in kinds:
        look = _look(model, settings, kind)
        if look.graph is not None and not look.inspection.problem:
            subject = kind
            break
    if ask is not None:
        why = f"the model's output has one row for each; the kinds are {', '.join(kinds)}"
        read = partial(read_name, kinds, "kind of node")
        subject = ask(Question("subject", subject, why, read))
    table = settings.node_tables.get(subject)
    if table is not None and table.path is not None:
        return subject, survey(table.path)
    graph, _ = read_features(model, settings, subject=subject)
    return subject, describe_columns({n: people_column(graph, n) for n in graph.column_names})


def _table_lines(given: Mapping[str, Any], folder: Path) -> list[str]:
    """A section for each kind and each relation; an archive says it all by itself."""
    if "npz" in given:
        return ["[graph]", *entries({"npz": relative_path(given["npz"], folder)})]
    lines = []
    for section, tables in given.items():
        for name, table in tables.items():
            given_path = {"path": relative_path(table["path"], folder)}
            lines += [f"[graph.{section}.{name_key(name)}]", *entries({**table, **given_path}), ""]
    return lines[:-1]


def _guess_columns(
    files: Mapping[str, Path],
    model: ModelSettings,
    later: Mapping[str, str],
    guesses: list[str],
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
        identifier = guess_id([c for c in columns if c.name not in unused], path)
        given |= {"id": identifier, **guess_tie_columns(ties, files["edges"], signature)}
        unused, where = unused | {identifier}, "column except the id"
    features, doubt, left = guess_features(columns, unused, signature.feature_count)
    if model.preprocessing is None:
        if not features:
            raise InputError(f"{path}: no {where} holds numbers, so there are no features")
        directed = {"directed": given.pop("directed")} if "directed" in given else {}
        given |= {"features": features, **directed}
        comments["features"] = f"CHECK: {doubt}"
        guesses += [f"Guessed graph.features: {doubt}."] * bool(left)
    return given, comments, columns


def guess_tie_columns(
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


def guess_id(columns: list[ColumnSummary], path: Path) -> str:
    """The likeliest of the columns without a repeated value: by name, then text before numbers."""
    unique = [column for column in columns if column.distinct == column.rows]
    if not unique:
        raise InputError(f"{path}: no column has a different value in every row, so none is an id")

    def doubt(column: ColumnSummary) -> tuple[bool, bool, bool]:
        name = column.name.lower()
        return name not in ID_NAMES, not name.endswith("id"), column.numeric

    return min(unique, key=doubt).name


def guess_features(
    columns: list[ColumnSummary], unused: Container[str], wanted: int | None
) -> tuple[list[str], str, list[str]]:
    """The columns of numbers that the model may take, what is doubtful about that, and the others.

    Protected attributes come after the other numbers, and codes, such as post codes, come last.
    """
    numeric = [c for c in columns if c.numeric and c.name not in unused]
    rank = {c.name: is_protected(c.name) + 2 * is_code(c) for c in numeric}
    count = [*rank.values()].count(0) if wanted is None else wanted
    taken = sorted(rank, key=rank.__getitem__)[:count]
    features = [name for name in rank if name in taken]
    left = [name for name in rank if name not in taken]
    takes = f"the model takes {wanted} features, and "
    if wanted is None:
        doubt = "the model does not say how many features it takes; these are numbers"
    elif len(rank) < wanted:
        doubt = f"{takes}only {len(rank)} columns hold numbers; does it need --preprocessing?"
    else:
        many = "that many" if not left else f"{len(rank)}"
        doubt = f"{takes}{many} columns hold numbers"
    doubt += ", protected attributes included" * any(rank[name] % 2 for name in features)
    if left:
        doubt += f": taken are {join_names(features)}; left out are {join_names(left)}; name the "
        doubt += "right ones, in the model's order"
    return features, doubt, left


def is_code(column: ColumnSummary) -> bool:
    """Whether the numbers of a column rather are codes: by zeros in front, or by its name."""
    return column.padded or not CODES.isdisjoint(_words_of(column.name))


def is_protected(name: str) -> bool:
    """Whether a word of a column's name is that of a protected attribute."""
    return not PROTECTED.isdisjoint(_words_of(name))


def _words_of(name: str) -> list[str]:
    return re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())


def find_encodings(
    names: Sequence[str], features: Floats, others: Iterable[str] = ()
) -> list[EncodingSettings]:
    """The categories that features encode, in the order of their first columns.

    Both the names and the numbers must say so: the columns share a prefix (`housing_rent`,
    `housing=rent`, `housing.rent`, `housing[rent]`) and hold nothing but 0 and 1. Either every row
    has exactly one 1 among them (one-hot), or whoever has a 1 has it in all columns before as well
    (thermometer), for more people than would by chance. Where a longer and a shorter prefix both
    fit, the category with more columns is taken. Its name is the prefix, unless a column is
    already called that; `others` are names in use.
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
    encodings: list[EncodingSettings] = []
    order = sorted(groups.items(), key=lambda group: (-len(group[1]), -len(group[0][0])))
    for (name, _), members in order:
        if len({*members.values()}) < max(2, len(members)) or not used.isdisjoint(members):
            continue
        coded = _read_codes(members, features[:, [place[member] for member in members]])
        if coded is not None:
            used.update(members)
            while name in known:
                name = f"{name}_category"  # noqa: PLW2901
            known.add(name)
            encodings.append(EncodingSettings.model_validate({"name": name, **coded}))
    return sorted(encodings, key=lambda encoding: place[encoding.columns[0]])


def _read_codes(members: Mapping[str, str], rows: Floats) -> dict[str, object] | None:
    """The kind, columns and labels of a category in columns of 0 and 1; None if it is none."""
    if (rows.sum(axis=1) == 1).all() and rows.any(axis=0).sum() > 1:
        return {"kind": "one_hot", "columns": [*members], "labels": [*members.values()]}
    order = np.argsort(-rows.sum(axis=0), kind="stable")
    lower, upper = rows[:, order[:-1]], rows[:, order[1:]]
    by_chance = ((1 - lower.mean(axis=0)) * upper.mean(axis=0)).sum() * len(rows)
    if (upper > lower).any() or by_chance < EXPECTED_BY_CHANCE:
        return None
    columns = [[*members][at] for at in order.tolist()]
    labels = [members[column] for column in columns]
    below = [] if rows[:, order[0]].all() else [f"below {labels[0]}"]
    return {"kind": "thermometer", "columns": columns, "labels": [*below, *labels]}


def find_standardised(names: Sequence[str], features: Floats) -> list[str]:
    """The features whose units are lost: fractions with mean 0 and standard deviation 1, nearly."""
    if not features.size:
        return []
    near = (np.abs(features.mean(axis=0)) < NEARLY) & (np.abs(features.std(axis=0) - 1) < NEARLY)
    near &= (features != np.round(features)).any(axis=0)
    return [name for name, is_near in zip(names, near.tolist(), strict=True) if is_near]
