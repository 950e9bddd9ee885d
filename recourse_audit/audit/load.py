"""Settings, graph and model brought together and probed once: everything needed to answer.

Where a sealed pipeline makes the features, it is asked about everybody once, and probed too. Then
the subjects are chosen: everybody, those refused, a group, or a list, all of them or a sample.
"""

import csv
import io
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from recourse_audit.audit.agreement import NOT_RECORDED, read_recorded
from recourse_audit.audit.large_graphs import AskedGraph
from recourse_audit.audit.population import groups_by, read_outcomes, with_neighbour_columns
from recourse_audit.errors import InputError, ModelError, SettingsError, SubjectError
from recourse_audit.graph.arrays import from_arrays, is_hetero_data
from recourse_audit.graph.columns import IN_MEMORY, check_known
from recourse_audit.graph.graph import Floats, Graph, Ints
from recourse_audit.graph.kinds import on_people, people_settings, with_subject
from recourse_audit.graph.readers import read_graph, with_columns
from recourse_audit.model.batching import QueryBatcher, Repeater, sharing_of
from recourse_audit.model.decisions import DecisionRule
from recourse_audit.model.head import check_head_columns, with_head, with_head_columns
from recourse_audit.model.kind_roles import is_input_of
from recourse_audit.model.preprocessing import Encoder, Pipeline, encoder_of, probe_rows
from recourse_audit.model.probes import probe
from recourse_audit.model.queries import pool_of
from recourse_audit.model.roles import check_complete
from recourse_audit.model.session import OnnxModel
from recourse_audit.records.model import PreprocessingReport, ProbeReport
from recourse_audit.records.texts import unguard
from recourse_audit.recourse.attributes import check_comparators, check_references
from recourse_audit.recourse.policy import Policy
from recourse_audit.search.evaluation import Scope
from recourse_audit.settings import (
    GraphSettings,
    ModelSettings,
    Settings,
    Subject,
    SubjectColumn,
    load_settings,
)
from recourse_audit.settings.analysis import LARGEST_SEED
from recourse_audit.settings.section import MOST_COMPARED, close_matches, is_file, near_matches

UNBOUNDED_HOPS = 2
SALT = 23
NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Preprocessing:
    """A pipeline with the columns that it takes, and what the probes found."""

    encoder: Pipeline
    report: PreprocessingReport

    @property
    def problem(self) -> str:
        """Why nobody can be audited with this pipeline; empty if everybody can."""
        notes = " ".join(self.report.probes.notes.values())
        return f"{self.encoder.path}: {notes}" if self.report.probes.failed else ""


def read_features(
    model: ModelSettings,
    settings: GraphSettings,
    *,
    subject: Subject | None = None,
    graph: Graph | None = None,
    timeout: float | None = None,
) -> tuple[Graph, Preprocessing | None]:
    """Read the graph, or take the one in memory; have the pipeline make its features, if any.

    In a graph of several kinds, those of the people. `subject` says who they are. The columns that
    only the model's head takes are the last features of the people.
    """
    people, reports = people_settings(settings, subject), list[PreprocessingReport]()
    pipeline = None if model.preprocessing is None else Pipeline(model, people, timeout=timeout)
    raw = None if pipeline is None else pipeline.kinds
    origin = people.origin if graph is None else IN_MEMORY.name
    if graph is None:
        graph = read_graph(settings, raw, subject=subject)
    else:
        graph = on_people(graph, lambda own: with_columns(own, people, raw, IN_MEMORY))
    if pipeline is not None:
        graph = on_people(graph, lambda own: _encode(pipeline, own, origin, reports))
    made_of = None if graph.kinds is None else graph.kinds.names[0]
    if made_of is None and isinstance(subject, SubjectColumn):
        graph = with_subject(graph, subject, model.node_types)
    elif subject is not None and subject != made_of:
        raise SettingsError(
            f"decision.subject: names {str(subject)!r}, but the graph was made for decisions on "
            f"{'all nodes, which are of one kind' if made_of is None else repr(made_of)}; leave it "
            "out, or correct it"
        )
    names = model.head_columns
    if pipeline is None and names:
        graph = on_people(graph, lambda own: with_head_columns(own, names, origin))
    return graph, Preprocessing(encoder=pipeline, report=reports[0]) if pipeline else None


def _encode(
    pipeline: Pipeline, graph: Graph, origin: str, reports: list[PreprocessingReport]
) -> Graph:
    """The graph with the features that the pipeline makes; what is to be said of it is reported."""
    check_head_columns(graph.columns, pipeline.further)
    pipeline.take(pipeline.find_intakes([*graph.attributes], origin))
    columns = {name: graph.columns[name] for name in pipeline.columns}
    features = pipeline.encode_nodes(columns, graph.ids, origin)
    names = pipeline.feature_names(features.shape[1])
    report = PreprocessingReport(
        file=pipeline.path.name,
        sha256=pipeline.digest(),
        inputs=tuple(intake.record for intake in pipeline.intakes),
        output=pipeline.output.name,
        features=features.shape[1] - len(pipeline.further),
        probes=probe_rows(pipeline.encode, columns, features, names),
    )
    reports.append(report)
    return replace(graph, features=features, feature_names=names, head_only=len(pipeline.further))


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedAudit(AskedGraph):
    """Everything needed to answer for a subject."""

    settings: Settings
    model: OnnxModel
    recorded: Ints | None
    scope: Scope
    policy: Policy
    preprocessing: Preprocessing | None = None
    encoder: Encoder | None = None
    graph_from_files: bool = True
    outcomes: Ints | None = None


def load_audit(
    path: Path | str, *, seed: int | None = None, timeout: float | None = None
) -> LoadedAudit:
    """Read an `audit.toml` and all that it names; probe the model on the graph's own nodes.

    `seed` replaces that of the settings, and `timeout` that of the model.
    """
    settings = with_seed(load_settings(Path(path)), seed)
    try:
        return open_audit(settings, timeout=timeout)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from None


def with_seed(settings: Settings, seed: int | None) -> Settings:
    """The same settings with another seed, if one is given."""
    if seed is None:
        return settings
    if not 0 <= seed <= LARGEST_SEED:
        raise InputError(f"the seed must be from 0 to 2^63 - 1 (got {seed})")
    search = settings.search.model_copy(update={"seed": seed})
    return settings.model_copy(update={"search": search})


def open_audit(
    settings: Settings,
    *,
    graph: Graph | Any | None = None,
    model: OnnxModel | None = None,
    timeout: float | None = None,
) -> LoadedAudit:
    """Bring together what the settings name; what does not fit together is a `SettingsError`.

    A graph or a model that is given is used in place of the one that the settings name; PyG's
    `HeteroData` is a graph, too.
    """
    from_files = graph is None
    if graph is not None and not isinstance(graph, Graph):
        if not is_hetero_data(graph):
            raise InputError(
                "graph: must be what from_arrays or from_networkx returns, or a HeteroData (got "
                f"{type(graph).__name__})"
            )
        graph = from_arrays(graph, subject=settings.decision.subject)
    opened = OnnxModel(settings.model, timeout=timeout, complete=False) if model is None else model
    graph, preprocessing = read_features(
        settings.model,
        settings.graph,
        subject=settings.decision.subject,
        graph=graph,
        timeout=timeout,
    )
    if preprocessing is not None and preprocessing.problem:
        raise ModelError(preprocessing.problem)
    graph = with_neighbour_columns(graph, settings.groups)
    if model is None:
        opened.adopt(graph.kinds, complete=not graph.relations)
    model = with_head(opened, settings.model, graph, timeout=timeout)
    check_features(model, graph, preprocessing)
    check_complete(model.signature.inputs, settings.model)
    policy, outcomes = check_against_graph(settings, graph, preprocessing)
    classes = len(settings.decision.classes)
    names = graph.feature_names
    probes = probe(model, settings.model, pool_of(graph), classes=classes, columns=names)
    probes = note_missing_ties(probes, graph)
    check_classes(settings, model)
    audit = assemble(settings, graph, model, probes, policy)
    return replace(
        audit, preprocessing=preprocessing, graph_from_files=from_files, outcomes=outcomes
    )


def check_against_graph(
    settings: Settings, graph: Graph, preprocessing: Preprocessing | None
) -> tuple[Policy, Ints | None]:
    """The policy and what came true later, checked against the graph as `run` needs them."""
    for key in ("attributes", "given"):
        for name in getattr(settings.groups, key):
            check_known(f"groups.{key}", name, graph.column_names)
    encoder = encoder_of(settings.graph, graph) if preprocessing is None else preprocessing.encoder
    policy = Policy(settings, graph, encoder)
    columns = graph.person_features if encoder is None else encoder.columns
    check_references(settings, graph, columns)
    check_comparators(settings, graph)
    stratum, known = settings.caveats.stratum, list(graph.attributes)
    if stratum is not None and stratum not in known:
        raise SettingsError(
            f"caveats.stratum: the nodes have no column {stratum!r} besides the model's features; "
            f"{near_matches(stratum, known)}"
        )
    return policy, read_outcomes(settings, graph, () if encoder is None else encoder.columns)


def find_unknown_words(audit: LoadedAudit) -> list[str]:
    """Words for kinds of ties, columns and decisions that are not there, most likely misspelt."""
    settings, graph = audit.settings, audit.graph
    kinds = [*graph.ties.kinds]
    columns = [*graph.column_names, *(audit.encoder.columns if audit.encoder is not None else ())]
    known = {"ties": kinds, "levels": columns, "cautions": columns, "reasons": columns + kinds}
    known["decided"] = [*settings.decision.classes]
    return [
        f"words.{language}.{table}: there is no {name!r}; {near_matches(name, names)}"
        for language, words in settings.words.items()
        for table, names in known.items()
        for name in getattr(words, table)
        if name not in names
    ]


def assemble(
    settings: Settings, graph: Graph, model: OnnxModel, probes: ProbeReport, policy: Policy
) -> LoadedAudit:
    """An audit of parts that are known to fit together."""
    search = settings.search
    model.feeder.pads = probes.padded
    return LoadedAudit(
        settings=settings,
        graph=graph,
        model=model,
        probes=probes,
        batcher=QueryBatcher(
            model,
            pool_of(graph),
            graphs_per_query=None if probes.packing else 1,
            sharing=sharing_of(probes),
            # Of a model that fails the probe it is known.
            repeater=Repeater(settings.model.repeat if probes.deterministic else 0, search.seed),
        ),
        rule=rule_of(settings, graph, model),
        recorded=read_recorded(settings, graph),
        scope=Scope(
            max_nodes=search.max_nodes,
            max_hops=search.max_hops or probes.depth or UNBOUNDED_HOPS,
            budget=search.budget,
            counterfactuals=search.counterfactuals,
            study=search.study,
            seed=search.seed,
        ),
        policy=policy,
        encoder=policy.encoder,
    )


def rule_of(settings: Settings, graph: Graph, model: OnnxModel) -> DecisionRule:
    """The rule that decides, for a model whose output has been identified."""
    output = model.signature.output
    assert output.kind is not None
    return DecisionRule(settings.decision, graph, kind=output.kind, precision=output.dtype)


def note_missing_ties(probes: ProbeReport, graph: Graph) -> ProbeReport:
    """The same report, with one more note where no two people of the graph have a tie."""
    if graph.pair_count:
        return probes
    if len(graph.ties):
        return probes.with_note("only_loops", loops=len(graph.ties))
    return probes.with_note("no_ties")


def check_features(
    model: OnnxModel, graph: Graph, preprocessing: Preprocessing | None = None
) -> None:
    """Refuse a graph with more or fewer features than the model takes."""
    if model.feeder.splits:
        check_widths(model, graph)
        return
    wanted, given = model.signature.feature_count, graph.features.shape[1] - graph.head_only
    if preprocessing is not None and wanted not in (None, given):
        pipeline = preprocessing.encoder
        raise ModelError(
            f"{pipeline.path}: gives {given} features (its output {pipeline.output.name!r}), and "
            f"the model {model.path} takes {wanted}; name the pipeline that the model was trained "
            "with"
        )
    if not given or wanted not in (None, given):
        raise SettingsError(
            f"graph.features: the model {model.path} takes {wanted} features and the graph gives "
            f"{given}; name the model's features, in its order"
        )


def check_widths(model: OnnxModel, graph: Graph) -> None:
    """Refuse a kind with more or fewer features than the model's input for it takes."""
    assert graph.kinds is not None
    given = {n: h - low for n, (low, h) in zip(graph.kinds.names, graph.kinds.blocks, strict=True)}
    for port in model.signature.inputs:
        kind = port.of if port.role == "features" else None
        if port.role is None and len(port.shape) == 2:
            kind = next((name for name in given if is_input_of(port.name, name)), None)
        wanted = port.shape[-1] if kind in given else None
        if kind is not None and isinstance(wanted, int) and wanted != given[kind]:
            raise SettingsError(
                f"graph.nodes.{kind}.features: the input {port.name!r} of {model.path} takes "
                f"{wanted} features, and the graph gives {given[kind]}; name the model's features "
                "for this kind, in its order"
            )


def check_classes(settings: Settings, model: OnnxModel) -> None:
    """Refuse names for more or fewer classes than the output has."""
    named, output = settings.decision.classes, model.signature.output
    if output.classes != len(named):
        raise SettingsError(
            f"decision.classes: names {len(named)} classes ({', '.join(named)}), but the output "
            f"{output.name!r} of {model.origin} has {output.classes}; name them all, in its order"
        )


def find_subjects(audit: LoadedAudit, ids: Sequence[str]) -> list[int]:
    """The numbers of the nodes with these ids; all unknown ids are reported at once."""
    graph = audit.graph
    numbers: dict[str, int] = {}
    for identifier in ids:
        # numpy refuses what a terminal may send and UTF-8 cannot hold
        with suppress(UnicodeEncodeError, SubjectError):
            identifier.encode()
            numbers[identifier] = graph.find(identifier)
    for identifier, number in numbers.items():
        if graph.kinds is not None and number >= graph.person_count:
            [kind] = graph.kinds.of(np.array([number])).tolist()
            raise SubjectError(
                f"{identifier!r} is a node of the kind {graph.kinds.names[kind]!r}, and decisions "
                f"are on {graph.kinds.names[0]!r} alone; give the id of one of these"
            )
    unknown = [repr(identifier) for identifier in dict.fromkeys(ids) if identifier not in numbers]
    if unknown:
        file, known = audit.settings.graph.origin, graph.ids[:MOST_COMPARED].tolist()
        missed = next(name for name in ids if repr(name) in unknown)
        examples = ", ".join(map(repr, known[:3]))
        hint = close_matches(missed, known) or f"ids look like {examples}"
        raise SubjectError(
            f"{file}: there is no node with the {'id' if len(unknown) == 1 else 'ids'} "
            f"{', '.join(unknown)}; {hint}"
        )
    return [numbers[identifier] for identifier in ids]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What the user asked for: all, unfavourable, a file of ids, or ATTRIBUTE=VALUE."""

    subjects: str = "unfavourable"
    sample: int | None = None
    stratify: str | None = None


def select_subjects(audit: LoadedAudit, answers: Floats, selection: Selection) -> Ints:
    """The numbers of the subjects, in ascending order; an empty selection is refused."""
    if selection.stratify is not None and selection.sample is None:
        raise InputError("--stratify needs --sample N, the size of the sample")
    chosen = _choose(audit, answers, selection.subjects)
    if not len(chosen):
        if selection.subjects == "unfavourable" and audit.recorded is None:
            raise SubjectError(
                f"all {audit.graph.person_count:,} decisions were favourable; there is nothing to "
                "audit, except with --subjects all"
            )
        raise SubjectError(
            f"--subjects {selection.subjects}: there is nobody to audit; choose others, or all"
        )
    if selection.sample is None or selection.sample >= len(chosen):
        return chosen
    return _draw(audit, chosen, selection.sample, selection.stratify)


def _choose(audit: LoadedAudit, answers: Floats, wanted: str) -> Ints:
    every = np.arange(audit.graph.person_count)
    if wanted == "all":
        return every
    if wanted == "unfavourable":
        if audit.recorded is None:  # including those whose answer is not a number
            return np.flatnonzero(~audit.rule.over(answers).favourable(answers[every], every))
        favourable = audit.rule.favourable_classes[audit.recorded]
        return np.flatnonzero((audit.recorded != NOT_RECORDED) & ~favourable)
    path = Path(wanted)
    if "=" in wanted and not is_file(path):
        name, _, value = wanted.partition("=")
        values = _values(audit, name, "--subjects")
        if value not in values:
            hint = near_matches(value, sorted({*values}))
            raise SubjectError(f"--subjects {wanted}: nobody's {name!r} is {value!r}; {hint}")
        return np.flatnonzero(np.array(values) == value)
    return _read_ids_of(audit, path)


def _values(audit: LoadedAudit, name: str, option: str) -> list[str]:
    check_known(option, name, audit.graph.column_names)
    return groups_by(audit.graph, audit.settings.groups, name)


def _read_ids_of(audit: LoadedAudit, path: Path) -> Ints:
    graph = audit.graph
    people = graph.ids[: graph.person_count].tolist()
    numbers = {name: number for number, name in enumerate(people)}
    if graph.relations and len(people) < graph.node_count:  # an id without its kind will do
        numbers |= {name.partition(":")[2]: number for name, number in numbers.items()}
    settings = people_settings(audit.settings.graph, audit.settings.decision.subject)
    ids = _ids(path, settings.id)
    unknown = [name for name in ids if name not in numbers]
    if unknown:
        more = f" (and {len(unknown) - NAMED:,} more)" if len(unknown) > NAMED else ""
        raise SubjectError(
            f"{path}: the graph has no node with the {'id' if len(unknown) == 1 else 'ids'} "
            f"{', '.join(map(repr, unknown[:NAMED]))}{more}; "
            f"correct them or leave them out; {close_matches(unknown[0], people)}"
        )
    return np.unique(np.array([numbers[name] for name in ids], np.int64))


def _ids(path: Path, column: str) -> list[str]:
    """One id per line; from a CSV file, the column of ids, guarded against formulas or not."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            text = file.read()
    except FileNotFoundError:
        raise InputError(
            f"{path}: there is no such file; --subjects takes all, unfavourable, a file of ids or "
            "ATTRIBUTE=VALUE"
        ) from None
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{path}: is not UTF-8 text; write one id per line") from None
    if path.suffix != ".csv":
        return [line.strip() for line in text.splitlines() if line.strip()]
    rows = csv.DictReader(io.StringIO(text, newline=""))
    names = list(rows.fieldnames or [])
    if column not in names:
        raise InputError(f"{path}: there is no column {column!r}; {near_matches(column, names)}")
    return [unguard(row[column]) for row in rows]


def _draw(audit: LoadedAudit, chosen: Ints, count: int, stratify: str | None) -> Ints:
    """A uniform sample; with strata, in proportion to their sizes and at least one of each."""
    generator = np.random.default_rng((audit.scope.seed, SALT))
    if stratify is None:
        return np.sort(generator.permutation(chosen)[:count])
    values = np.array(_values(audit, stratify, "--stratify"))[chosen]
    names, which = np.unique(values, return_inverse=True)
    sizes = np.bincount(which, minlength=len(names))
    drawn = [
        generator.permutation(chosen[which == place])[:share]
        for place, share in enumerate(_shares(sizes, count).tolist())
    ]
    return np.sort(np.concatenate(drawn))


def _shares(sizes: Ints, count: int) -> Ints:
    """Divide a number in proportion to sizes by largest remainders, at least one each."""
    least = np.ones_like(sizes) if count >= len(sizes) else np.zeros_like(sizes)
    exact = (sizes - least) * (count - least.sum()) / max(int((sizes - least).sum()), 1)
    shares: Ints = least + exact.astype(np.int64)
    order = np.argsort(exact.astype(np.int64) - exact, kind="stable")
    shares[order[: count - int(shares.sum())]] += 1
    return shares
