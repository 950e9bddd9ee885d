"""A first look at a model: its inputs and output, their likely meaning, what the probes find."""

from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from recourse_audit.audit.agreement import agreement_of, describe_disagreement, read_recorded
from recourse_audit.audit.large_graphs import AskedGraph, whole_answers
from recourse_audit.audit.load import (
    LoadedAudit,
    Preprocessing,
    check_against_graph,
    check_classes,
    check_features,
    note_missing_ties,
    read_features,
    rule_of,
)
from recourse_audit.audit.population import with_neighbour_columns
from recourse_audit.errors import InputError, ModelError, SettingsError
from recourse_audit.graph.columns import check_is_file
from recourse_audit.graph.graph import Graph, Ints
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.head import with_head
from recourse_audit.model.probes import probe
from recourse_audit.model.queries import pool_of
from recourse_audit.model.roles import InputPort, OutputPort, Signature
from recourse_audit.model.session import OnnxModel
from recourse_audit.records.model import (
    Agreement,
    HeadReport,
    ListedOutput,
    ModelInput,
    ModelOutput,
    ModelReport,
    PreprocessingReport,
    ProbeReport,
    RuleReport,
)
from recourse_audit.recourse.deny_list import is_denied
from recourse_audit.recourse.policy import ANY
from recourse_audit.settings import (
    GraphSettings,
    ModelSettings,
    Settings,
    Subject,
    load_settings,
)

R = TypeVar("R", ModelInput, ModelOutput, ListedOutput)

FEW_TIES, MOST_NAMED = 3, 5
NO_GRAPH = (
    "takes single columns and no ties, so it looks like a pipeline that makes features from raw "
    "columns; give it in model.preprocessing, or to init with --preprocessing, beside the model"
)
PREPARATION = (
    "The model takes weights of ties: ask whoever trained it how they were made, and set",
    '  self_loops = "add"             # or "none", if they added no self-loops',
    '  normalisation = "symmetric"    # or "row", or "none", if the model does it itself',
    '  tie_weights = "column"         # or "ones", if every tie counts the same',
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Inspection:
    """What can be said about a model from outside; `problem` says why it cannot be asked, if so.

    `made_up` says that the probes had no graph to draw features from. `undecided` are the kinds of
    ties that the policy neither names nor denies, and whether it lets them be suggested.
    `disagreement` says why the decisions on record speak against the model, if they do. `refused`
    are some people whom it refuses, first those with a few ties.
    """

    name: str
    signature: Signature
    probes: ProbeReport | None
    sha256: str
    settings_file: str = "audit.toml"
    made_up: bool = False
    problem: str = ""
    undecided: dict[str, bool] = field(default_factory=dict)
    decision: RuleReport | None = None
    agreement: Agreement | None = None
    disagreement: str = ""
    refused: tuple[str, ...] = ()
    preprocessing: PreprocessingReport | None = None
    head: HeadReport | None = None

    def __repr__(self) -> str:
        failed = "not probed" if self.probes is None else ", ".join(self.probes.failed)
        return (
            f"Inspection({self.name!r}: {len(self.signature.inputs)} inputs, "
            f"{self.signature.output.classes} classes, failed probes: {failed or 'none'})"
        )

    def to_dict(self) -> dict[str, Any]:
        return self.report.to_dict()

    def _repr_html_(self) -> str | None:
        return self.report._repr_html_()

    @property
    def report(self) -> ModelReport:
        """What `inspect --json` prints; no output where one of several is yet to be chosen."""
        output = self.signature.output
        chosen = output.taken or len(self.signature.outputs) < 2
        return ModelReport(
            sha256=self.sha256,
            inputs=tuple(
                replace(_as_record(ModelInput, port), role=port.full_role)
                for port in self.signature.inputs
            ),
            output=_as_record(ModelOutput, output) if chosen else None,
            outputs=tuple(_as_record(ListedOutput, port) for port in self.signature.outputs),
            probes=self.probes,
            decision=self.decision,
            agreement=self.agreement,
            problem=self.problem,
            preprocessing=self.preprocessing,
            head=self.head,
        )

    @property
    def weighs(self) -> bool:
        """Whether inputs may need preparation outside the model, which cannot be seen."""
        return any(self.signature.port(role) for role in ("edge_weight", "adjacency"))


def _as_record(kind: type[R], port: InputPort | OutputPort) -> R:
    """What a record says about an input or an output, whose fields have the same names."""
    return kind(**{field.name: getattr(port, field.name) for field in fields(kind)})


def inspection_of(audit: LoadedAudit, settings: Path) -> Inspection:
    """What is known about a model that is already open and probed."""
    return Inspection(
        name=str(audit.settings.model.path),
        signature=audit.model.signature,
        probes=audit.probes,
        sha256=audit.model.digest(),
        settings_file=str(settings),
        undecided=kinds_to_decide(audit.settings, audit.graph),
        **_apply_rule(audit.settings, audit.recorded, audit),
        preprocessing=None if audit.preprocessing is None else audit.preprocessing.report,
        head=audit.model.head_report,
    )


def kinds_to_decide(settings: Settings, graph: Graph) -> dict[str, bool]:
    """Kinds of ties that are neither denied nor named by a rule, and whether they are suggested.

    A rule for any kind, or no rules at all, names none of them, and lets all of them be suggested.
    """
    recourse = settings.recourse
    named = {rule.kind for rule in recourse.ties} | set(recourse.never)
    suggested = not recourse.ties or any(rule.kind == ANY and rule.allow for rule in recourse.ties)
    present = {graph.ties.kinds[kind] for kind in set(graph.ties.kind.tolist())}
    kinds = sorted(kind for kind in present - named if not is_denied(kind))
    return dict.fromkeys(kinds, suggested)


def inspect_model(path: Path, graph: Path | None, *, timeout: float | None = None) -> Inspection:
    """Open a model, guess roles, probe it.

    Parameters
    ----------
    path
        An ONNX file, or an `audit.toml`, whose settings and graph are then used.
    graph
        An `audit.toml` or npz file whose nodes' features the probes draw from.
    timeout
        Replaces that of the settings.
    """
    whole = load_settings(path) if path.suffix == ".toml" else None
    if whole is None:
        check_is_file(path, "MODEL")
    settings = ModelSettings(path=path) if whole is None else whole.model
    ties, origin = None if whole is None else whole.graph, path
    subject = None if whole is None else whole.decision.subject
    if graph is not None:
        ties, pipeline, subject = _graph_settings(graph)
        settings, origin = settings.model_copy(update=pipeline), graph
    try:
        read, preprocessing = None, None
        if ties is not None:
            read, preprocessing = read_features(settings, ties, subject=subject, timeout=timeout)
        classes = None if whole is None else len(whole.decision.classes)
        inspection, model = inspect_with(
            settings, read, preprocessing, timeout=timeout, classes=classes
        )
        if whole is None:
            return inspection
        known: dict[str, Any] = {"settings_file": str(path)}
        probes = inspection.probes
        if read is not None and probes is not None:
            if graph is None:
                read = with_neighbour_columns(read, whole.groups)
                check_against_graph(whole, read, preprocessing)
            check_classes(whole, model)
            alone = None if probes.packing else 1
            asked = AskedGraph(
                graph=read,
                batcher=QueryBatcher(model, pool_of(read), graphs_per_query=alone),
                probes=probes,
                rule=rule_of(whole, read, model),
            )
            known |= _apply_rule(whole, read_recorded(whole, read), asked)
        if read is not None:
            known["undecided"] = kinds_to_decide(whole, read)
    except SettingsError as error:
        raise SettingsError(f"{origin}: {error}") from None
    return replace(inspection, **known)


def inspect_with(
    settings: ModelSettings,
    graph: Graph | None,
    preprocessing: Preprocessing | None = None,
    *,
    timeout: float | None = None,
    classes: int | None = None,
) -> tuple[Inspection, OnnxModel]:
    """Probe a model on a graph's nodes, or on made-up ones; also the open model.

    `classes` is how many the settings declare, if they do.
    """
    model = OnnxModel(settings, complete=False, timeout=timeout)
    kinds = model.invent_kinds() if graph is None else graph.kinds
    model.adopt(kinds, complete=False)
    if graph is not None:
        model = with_head(model, settings, graph, timeout=timeout)
        check_features(model, graph, preprocessing)
    facts = Inspection(
        name=str(settings.path),
        signature=model.signature,
        probes=None,
        sha256=model.digest(),
        made_up=graph is None,
        problem="" if preprocessing is None else preprocessing.problem,
        preprocessing=None if preprocessing is None else preprocessing.report,
    )
    try:
        model = OnnxModel(settings, kinds=kinds, timeout=timeout)
        model = model if graph is None else with_head(model, settings, graph, timeout=timeout)
        pool = None if graph is None else pool_of(graph)
        names = () if graph is None else graph.feature_names
        probes = probe(model, settings, pool, classes=classes, columns=names)
        probes = probes if graph is None else note_missing_ties(probes, graph)
    except ModelError as error:
        shapes = [port.shape for port in model.signature.inputs]
        if len(shapes) > 1 and all(len(shape) == 2 and shape[1] == 1 for shape in shapes):
            raise ModelError(f"{settings.path}: {NO_GRAPH}") from None
        facts = replace(facts, problem=str(error))
    else:
        facts = replace(facts, probes=probes)
    return replace(facts, signature=model.signature, head=model.head_report), model


def _graph_settings(path: Path) -> tuple[GraphSettings, dict[str, Any], Subject | None]:
    """The graph that a file names, the pipeline that makes its features, who is decided on."""
    check_is_file(path, "--graph")
    match path.suffix:
        case ".toml":
            settings = load_settings(path)
            keys = ("preprocessing", "preprocessing_output")
            pipeline = {key: getattr(settings.model, key) for key in keys}
            return settings.graph, pipeline, settings.decision.subject
        case ".npz":
            return GraphSettings(npz=path), {}, None
        case _:
            raise InputError(
                f"{path}: --graph takes an npz file, or an audit.toml that says which columns of "
                "your tables are features; `recourse-audit init` writes one"
            )


def _apply_rule(settings: Settings, recorded: Ints | None, asked: AskedGraph) -> dict[str, Any]:
    """The rule over everybody, and how it agrees with the decisions on record."""
    every, rule = np.arange(asked.graph.person_count), asked.rule
    decisions = rule.over(whole_answers(asked, every))
    decided = decisions.classes_of(decisions.everybody[every], every)
    good = int(rule.favourable_classes[decided[decided >= 0]].sum())
    refused = np.flatnonzero((decided >= 0) & ~rule.favourable_classes[decided])
    few = np.diff(asked.graph.starts)[refused] < FEW_TIES
    examples = asked.graph.ids[refused[np.argsort(few, kind="stable")[:MOST_NAMED]]]
    agreement = None
    if recorded is not None:
        agreement = agreement_of(settings, asked.graph, recorded, decisions)
    undecided = int((decided < 0).sum())
    by = settings.decision.cut_off_by
    cut_offs = {} if settings.decision.cut_off is None else {"": settings.decision.cut_off}
    return {
        "decision": RuleReport(
            rule=rule.name,
            cut_offs=cut_offs if by is None else by.values,
            better=rule.better if rule.scores else None,
            places=decisions.places,
            favourable=good,
            refused=len(every) - good - undecided,
            undecided=undecided,
        ),
        "agreement": agreement,
        "disagreement": describe_disagreement(settings, agreement),
        "refused": (*examples.tolist(),),
    }
