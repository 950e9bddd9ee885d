"""Settings, graph and model brought together and probed once: everything needed to answer."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from recourse_audit.audit.agreement import recorded_decisions
from recourse_audit.audit.outcomes import known_outcomes
from recourse_audit.audit.preprocessed import Preprocessing, preprocessed
from recourse_audit.errors import InputError, ModelError, SettingsError, SubjectError
from recourse_audit.graph.arrays import Graph, Ints
from recourse_audit.graph.columns import Positions, near_matches
from recourse_audit.graph.computed import with_computed
from recourse_audit.graph.readers import read_graph
from recourse_audit.model.batching import QueryBatcher, Repeater, sharing_of
from recourse_audit.model.decisions import DecisionRule
from recourse_audit.model.preprocessing import Encoder, encoder_of
from recourse_audit.model.probes import probe
from recourse_audit.model.queries import pool_of
from recourse_audit.model.session import OnnxModel
from recourse_audit.records.model import ProbeReport
from recourse_audit.recourse.policy import Policy, open_policy
from recourse_audit.search.results import Scope
from recourse_audit.settings import Settings, load_settings
from recourse_audit.settings.search import LARGEST_SEED

UNBOUNDED_HOPS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedAudit:
    """Everything needed to answer for a subject."""

    settings: Settings
    graph: Graph
    model: OnnxModel
    probes: ProbeReport
    batcher: QueryBatcher
    rule: DecisionRule
    recorded: Ints | None
    scope: Scope
    policy: Policy
    preprocessing: Preprocessing | None = None
    encoder: Encoder | None = None
    graph_from_files: bool = True
    outcomes: Ints | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the reader must know about the model and the graph before any figure."""
        return tuple(self.probes.notes.values())


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
    graph: Graph | None = None,
    model: OnnxModel | None = None,
    timeout: float | None = None,
) -> LoadedAudit:
    """Bring together what the settings name; what does not fit together is a `SettingsError`.

    A graph or a model that is given is used in place of the one that the settings name.
    """
    from_files = graph is None
    model = OnnxModel(settings.model, timeout=timeout) if model is None else model
    preprocessing = None
    if settings.model.preprocessing is not None:
        graph, preprocessing = preprocessed(
            settings.model, settings.graph, graph=graph, timeout=timeout
        )
        preprocessing.check()
    elif graph is None:
        graph = read_graph(settings.graph)
    else:
        graph = with_computed(graph, settings.graph, Positions("the graph"))
    check_features(model, graph, preprocessing)
    policy, outcomes = check_against_graph(settings, graph, preprocessing)
    classes = len(settings.decision.classes)
    probes = probe(model, settings.model, pool_of(graph), classes=classes)
    probes = with_ties_counted(probes, graph)
    check_classes(settings, model)
    audit = assemble(settings, graph, model, probes, policy)
    return replace(
        audit, preprocessing=preprocessing, graph_from_files=from_files, outcomes=outcomes
    )


def check_against_graph(
    settings: Settings, graph: Graph, preprocessing: Preprocessing | None
) -> tuple[Policy, Ints | None]:
    """The policy and what came true later, checked against the graph as `run` needs them."""
    _check_groups(settings, graph)
    encoder = encoder_of(settings.graph, graph) if preprocessing is None else preprocessing.encoder
    policy = open_policy(settings, graph, encoder)
    _check_stratum(settings, graph)
    return policy, known_outcomes(settings, graph, () if encoder is None else encoder.columns)


def assemble(
    settings: Settings, graph: Graph, model: OnnxModel, probes: ProbeReport, policy: Policy
) -> LoadedAudit:
    """An audit of parts that are known to fit together."""
    search = settings.search
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
        recorded=recorded_decisions(settings, graph),
        scope=Scope(
            max_nodes=search.max_nodes,
            max_hops=search.max_hops or probes.depth or UNBOUNDED_HOPS,
            budget=search.budget,
            counterfactuals=search.counterfactuals,
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


def with_ties_counted(probes: ProbeReport, graph: Graph) -> ProbeReport:
    """The same report, with one more note where no two people of the graph have a tie."""
    if graph.pair_count:
        return probes
    if len(graph.ties):
        found = f"only ties from a person to themselves ({len(graph.ties):,})"
    else:
        found = "no ties at all"
    note = (
        f"THE GRAPH HAS NO TIES: the file of ties was read, and it holds {found}. No decision can "
        "be explained by ties, no tie can be dropped, and every figure about ties is empty. Check "
        "that the settings name the right file (graph)."
    )
    return replace(probes, notes={"no_ties": note, **probes.notes})


def check_features(
    model: OnnxModel, graph: Graph, preprocessing: Preprocessing | None = None
) -> None:
    """Refuse a graph with more or fewer features than the model takes."""
    wanted, given = model.signature.feature_count, graph.features.shape[1]
    if preprocessing is not None and wanted not in (None, given):
        pipeline = preprocessing.encoder.pipeline
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


def _check_groups(settings: Settings, graph: Graph) -> None:
    known = graph.column_names
    for name in settings.groups.attributes:
        if name not in known:
            raise SettingsError(
                f"groups.attributes: the nodes have no column {name!r}; {near_matches(name, known)}"
            )


def _check_stratum(settings: Settings, graph: Graph) -> None:
    name, known = settings.caveats.stratum, list(graph.attributes)
    if name is not None and name not in known:
        raise SettingsError(
            f"caveats.stratum: the nodes have no column {name!r} besides the model's features; "
            f"{near_matches(name, known)}"
        )


def check_classes(settings: Settings, model: OnnxModel) -> None:
    """Refuse names for more or fewer classes than the output has."""
    named, output = settings.decision.classes, model.signature.output
    if output.classes != len(named):
        raise SettingsError(
            f"decision.classes: names {len(named)} classes ({', '.join(named)}), but the output "
            f"{output.name!r} of {model.path} has {output.classes}; name them all, in its order"
        )


def find_subjects(audit: LoadedAudit, ids: Sequence[str]) -> list[int]:
    """The numbers of the nodes with these ids; all unknown ids are reported at once."""
    numbers = {identifier: _number_of(audit.graph, identifier) for identifier in ids}
    unknown = [repr(identifier) for identifier, number in numbers.items() if number is None]
    if unknown:
        file = audit.settings.graph.origin
        some = ", ".join(repr(name) for name in audit.graph.ids[:3].tolist())
        raise SubjectError(
            f"{file}: there is no node with the {'id' if len(unknown) == 1 else 'ids'} "
            f"{', '.join(unknown)}; ids look like {some}"
        )
    return [number for identifier in ids if (number := numbers[identifier]) is not None]


def _number_of(graph: Graph, identifier: str) -> int | None:
    try:
        identifier.encode()  # numpy refuses what a terminal may send and UTF-8 cannot hold
        return graph.find(identifier)
    except (UnicodeEncodeError, SubjectError):
        return None
