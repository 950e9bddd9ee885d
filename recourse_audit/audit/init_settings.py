"""A first `audit.toml`, written from the files alone, with every guess marked as one."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from recourse_audit.audit.column_guesses import (
    END_NAMES,
    KIND_NAMES,
    end_columns,
    feature_columns,
    id_column,
    is_protected,
    kind_column,
    tie_attributes,
)
from recourse_audit.audit.decision_guesses import decision_lines, is_score, outcome_lines
from recourse_audit.audit.inspection import Inspection, check_given, inspect_with
from recourse_audit.audit.one_hot_blocks import OneHotBlock, one_hot_blocks
from recourse_audit.audit.preprocessed import Preprocessing, preprocessed
from recourse_audit.audit.toml_sections import (
    closing_sections,
    columns_of_x,
    encoding_section,
    feature_lines,
    listed,
    model_section,
    quoted,
    relative,
)
from recourse_audit.errors import AuditError, GraphError, InputError, ModelError, SettingsError
from recourse_audit.graph.arrays import Graph
from recourse_audit.graph.columns import near_matches
from recourse_audit.graph.graphml import survey_graphml
from recourse_audit.graph.readers import read_graph
from recourse_audit.graph.tables import Column, survey, values_of
from recourse_audit.model.onnx import OnnxModel
from recourse_audit.model.signature import Signature
from recourse_audit.settings import GraphSettings, ModelSettings

DIRECTED = "directed = false    # CHECK: true if a tie leads one way only"
FEW = 12
DERIVED = (
    "# A column that is computed from others, and that the pipeline takes, is declared here:",
    "# [[graph.derived]]",
    '# name = "…"',
    '# formula = "… / …"',
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphFiles:
    """The files of a graph, as they were named: two tables, an archive, or a GraphML file."""

    nodes: Path | None = None
    edges: Path | None = None
    npz: Path | None = None
    graphml: Path | None = None

    @property
    def origin(self) -> Path:
        """The file that has the columns of nodes."""
        origin = self.nodes or self.npz or self.graphml
        assert origin is not None
        return origin

    def check(self) -> None:
        """Refuse anything but one complete graph, and paths that are not files."""
        given = tuple(path is not None for path in (self.nodes, self.edges, self.npz, self.graphml))
        whole = ((True, True, False, False), (False, False, True, False), (*[False] * 3, True))
        if given not in whole:
            raise InputError(
                "init needs the graph: --nodes FILE --edges FILE, or --npz FILE, or --graphml FILE"
            )
        for name in ("nodes", "edges", "npz", "graphml"):
            path: Path | None = getattr(self, name)
            if path is not None:
                check_given(path, f"--{name}")


@dataclass(frozen=True, slots=True, kw_only=True)
class StartingSettings:
    """The text of a first `audit.toml`, and what a person should hear about it at once.

    `problem` says why nobody can be audited with it yet, if so.
    """

    text: str
    guesses: tuple[str, ...]
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """What is guessed about a graph: the settings to read it with, as text too, and its groups.

    `recorded` are the different decisions in the column that has them, and `outcomes` the different
    outcomes.
    """

    settings: GraphSettings
    lines: list[str]
    groups: list[str]
    recorded: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Later:
    """The columns that say what was decided, and what came true: no features."""

    recorded: str | None
    outcome: str | None

    @property
    def named(self) -> dict[str, str]:
        """The columns that were named, by the option that names them."""
        named = {"--recorded": self.recorded, "--outcome": self.outcome}
        return {option: name for option, name in named.items() if name is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What reading the graph and asking the model gave, and what went wrong on the way."""

    found: Inspection
    graph: Graph | None
    doubts: list[str]


def starting_settings(
    model: Path,
    files: GraphFiles,
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
    cut_off
        From which probability or score on a decision is favourable.
    preprocessing
        The pipeline that makes the features; they are then not listed.
    recorded
        The column of nodes with the decisions that were taken.
    outcome
        The column of nodes with what came true later.
    """
    check_given(model, "MODEL")
    files.check()
    if preprocessing is not None:
        check_given(preprocessing, "--preprocessing")
    settings = ModelSettings(path=model, preprocessing=preprocessing)
    later = _Later(recorded=recorded, outcome=outcome)
    start = _start(files, settings, folder, later)
    seen = _look(settings, start.settings)
    if files.npz is not None:
        if seen.graph is not None and preprocessing is None:
            start.lines.extend(columns_of_x(seen.graph.feature_names))
        start.lines.append(DIRECTED)
    blocks: list[OneHotBlock] = []
    if seen.graph is not None and preprocessing is None:
        graph = seen.graph
        blocks = one_hot_blocks(graph.feature_names, graph.features, graph.attributes)
    output = seen.found.signature.output
    decision = decision_lines(output, cut_off, recorded, start.recorded)
    if outcome is not None:
        decision += outcome_lines(outcome, start.outcomes)
    groups = start.groups + [block.name for block in blocks if is_protected(block.name)]
    parts = (
        model_section(seen.found, settings, folder, score=is_score(output, cut_off)),
        start.lines + seen.doubts,
        *(encoding_section(block) for block in blocks),
        decision,
        closing_sections(groups),
    )
    text = "\n".join("\n".join([*part, ""]) for part in parts)
    return StartingSettings(
        text=text,
        guesses=tuple(_guessed(block) for block in blocks),
        problem=seen.found.problem,
    )


def _start(files: GraphFiles, model: ModelSettings, folder: Path, later: _Later) -> _Start:
    if files.npz is not None:
        return _from_npz(files.npz, model, folder, later)
    signature = OnnxModel(model, complete=False).signature
    named = model.preprocessing is None
    if files.graphml is not None:
        return _from_graphml(files.graphml, signature, folder, later, named=named)
    assert files.nodes is not None
    assert files.edges is not None
    return _from_tables(files.nodes, files.edges, signature, folder, later, named=named)


def _look(model: ModelSettings, settings: GraphSettings) -> _Seen:
    """Read the graph and probe the model on it; what cannot be read is a doubt."""
    graph: Graph | None = None
    pipeline: Preprocessing | None = None
    doubts: list[str] = []
    try:
        if model.preprocessing is None:
            graph = read_graph(settings)
        else:
            graph, pipeline = preprocessed(model, settings)
    except (GraphError, SettingsError, ModelError) as error:
        if model.preprocessing is None and not isinstance(error, GraphError):
            raise
        doubts.append(_doubt(error))
    if model.preprocessing is not None and graph is None:
        doubts += DERIVED
    try:
        found, _ = inspect_with(model, graph, pipeline)
        return _Seen(found=found, graph=graph, doubts=doubts)
    except InputError as error:
        found, _ = inspect_with(model, None)
        return _Seen(found=found, graph=graph, doubts=[_doubt(error)])


def _doubt(error: AuditError) -> str:
    return f"# CHECK: {error}"


def _from_tables(
    nodes: Path,
    edges: Path,
    signature: Signature,
    folder: Path,
    later: _Later,
    *,
    named: bool,
) -> _Start:
    columns, ties = survey(nodes, "nodes"), survey(edges, "edges")
    columns, values = _without_later(columns, nodes, later)
    identifier = id_column(columns, nodes)
    source, target = end_columns(ties, edges)
    features, doubt = feature_columns(columns, identifier, signature.feature_count)
    features = features if named else []
    kind = kind_column(ties)
    attributes = tie_attributes([c for c in ties if c.name not in (source, target)], signature)
    lines = ["[graph]", f"nodes = {quoted(relative(nodes, folder))}"]
    lines += [f"edges = {quoted(relative(edges, folder))}", f"id = {quoted(identifier)}"]
    if (source, target) != END_NAMES[0]:
        lines += [f"source = {quoted(source)}", f"target = {quoted(target)}"]
    if kind != KIND_NAMES[0]:
        lines.append(f"kind = {quoted(kind)}    # CHECK: the kind of a tie")
    if attributes:
        lines.append(f"edge_attributes = {listed(attributes)}    # CHECK: in the model's order")
    if named and not features:
        raise InputError(
            f"{nodes}: no column except the id holds numbers, so there are no features"
        )
    lines += [f"# CHECK: {doubt}", *feature_lines(features)] if named else []
    lines.append(DIRECTED)
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
        groups=[c.name for c in unused if is_protected(c.name) and c.distinct <= FEW],
        recorded=values.get(later.recorded or "", ()),
        outcomes=values.get(later.outcome or "", ()),
    )


def _from_npz(npz: Path, model: ModelSettings, folder: Path, later: _Later) -> _Start:
    settings = GraphSettings(npz=npz)
    if model.preprocessing is None:
        attributes = read_graph(settings).attributes
    else:
        attributes = preprocessed(model, settings)[0].attributes
    for option, name in later.named.items():
        if name not in attributes:
            raise _no_such_column(npz, name, option, list(attributes))
    recorded, outcome = later.recorded, later.outcome
    return _Start(
        settings=settings,
        lines=["[graph]", f"npz = {quoted(relative(npz, folder))}"],
        groups=[name for name in attributes if is_protected(name)],
        recorded=() if recorded is None else values_of(attributes[recorded]),
        outcomes=() if outcome is None else values_of(attributes[outcome]),
    )


def _from_graphml(
    path: Path, signature: Signature, folder: Path, later: _Later, *, named: bool
) -> _Start:
    columns, directed = survey_graphml(path)
    columns, values = _without_later(columns, path, later)
    features, doubt = feature_columns(columns, "", signature.feature_count)
    features = features if named else []
    if named and not features:
        raise InputError(f"{path}: no node attribute holds numbers, so there are no features")
    unused = [column for column in columns if column.name not in features]
    return _Start(
        settings=GraphSettings(graphml=path, features=tuple(features), directed=directed),
        lines=[
            "[graph]",
            f"graphml = {quoted(relative(path, folder))}",
            *([f"# CHECK: {doubt}", *feature_lines(features)] if named else []),
            f"directed = {str(directed).lower()}    # as the file says",
        ],
        groups=[c.name for c in unused if is_protected(c.name) and c.distinct <= FEW],
        recorded=values.get(later.recorded or "", ()),
        outcomes=values.get(later.outcome or "", ()),
    )


def _without_later(
    columns: list[Column], path: Path, later: _Later
) -> tuple[list[Column], dict[str, tuple[str, ...]]]:
    """All columns but those of decisions and outcomes, which are no features; and their values."""
    values = {column.name: column.values for column in columns}
    for option, name in later.named.items():
        if name not in values:
            raise _no_such_column(path, name, option, list(values))
    named = set(later.named.values())
    rest = [column for column in columns if column.name not in named]
    return rest, {name: values[name] for name in named}


def _no_such_column(path: Path, name: str, option: str, known: Sequence[str]) -> InputError:
    return InputError(
        f"{path}: the nodes have no column {name!r} (from {option}); {near_matches(name, known)}"
    )


def _guessed(block: OneHotBlock) -> str:
    return (
        f"Guessed that {', '.join(block.columns)} are one category, {block.name!r}: they are 0 or "
        "1, and one of them is 1 in every row. Check [[graph.encodings]]."
    )
