"""How far explanations and options move when the graph or the model is perturbed.

Section V-C of the paper: an explanation must change when the mechanism behind a decision changes,
and stay when it does not. Distances are Jaccard distances: of the people in the winning
explanations, and of what the offered options touch. Subjects whose decision changed are kept apart
from those whose decision did not.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recourse_audit.audit.large_graphs import whole_answers
from recourse_audit.audit.load import LoadedAudit
from recourse_audit.audit.report import recourse_search
from recourse_audit.errors import InputError, ModelError
from recourse_audit.graph.graph import Floats, Graph, Ints, Ties, build_graph
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.decisions import Mask
from recourse_audit.model.edited_graph import new_ties
from recourse_audit.model.head import with_head
from recourse_audit.model.probes import probe
from recourse_audit.model.queries import pool_of
from recourse_audit.model.roles import Signature
from recourse_audit.model.session import OnnxModel
from recourse_audit.records.recourse import Action, MoveAction, Recourse, SetAction, TogetherAction
from recourse_audit.records.search import SearchFailure, SearchResult
from recourse_audit.records.subject import StabilityPoint, StabilityReport, StabilityRow
from recourse_audit.recourse.policy import INCOMING, OUTGOING, WAYS, Policy
from recourse_audit.search.moexp import Search

SALT = 11
POINTS = 5
# Statuses that say which options there are, or that there are none.
KNOWN = ("verified", "certified_infeasible")
Column = NDArray[np.float32] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a subject stands: probabilities, who explains the decision, what the options touch.

    A field is None where there is nothing to compare: there is no explanation or it moves nothing,
    no option was searched for (the decision is favourable), or the budget ended before one was
    found. A subject certified to have no option has an empty set of options.
    """

    decision: str
    probabilities: Floats
    explained_by: frozenset[str] | None
    options: frozenset[str] | None


def standing(
    decision: str, probabilities: Floats, search: SearchResult | None, recourse: Recourse | None
) -> Standing:
    """Take from a subject's results what is compared."""
    pairs = search.counterfactuals if search is not None and not search.moves_nothing else ()
    options = None
    if recourse is not None and recourse.status in KNOWN:
        options = frozenset(_touch(action) for each in recourse.options for action in each.actions)
    return Standing(
        decision=decision,
        probabilities=probabilities,
        explained_by=frozenset(pairs[0].explanation.nodes) if pairs else None,
        options=options,
    )


def _touch(action: Action) -> str:
    if isinstance(action, SetAction):
        return repr(action.attribute)
    if isinstance(action, TogetherAction):
        return repr((action.do, action.kind))
    to = [action.to] if isinstance(action, MoveAction) else []
    return repr((action.do, *sorted(action.tie), action.kind, *to))


def stability_row(
    subject: str, perturbation: str, before: Standing, after: Standing
) -> StabilityRow:
    """Compare two standings of one subject; the strength is how far the answer itself moved.

    It is the total variation distance of the two answers: half the sum of absolute differences.
    """
    strength = 0.5 * float(np.abs(before.probabilities - after.probabilities).sum())
    return StabilityRow(
        subject=subject,
        perturbation=perturbation,
        strength=round(strength, 6),
        changed=before.decision != after.decision,
        explanation=jaccard(before.explained_by, after.explained_by),
        options=jaccard(before.options, after.options),
    )


def jaccard(first: frozenset[str] | None, second: frozenset[str] | None) -> float | None:
    """The Jaccard distance of two sets: 0 for two empty ones, None if one is not known."""
    if first is None or second is None:
        return None
    either = first | second
    return round(1 - len(first & second) / len(either), 6) if either else 0.0


def curve(rows: Sequence[StabilityRow], *, changed: bool) -> tuple[StabilityPoint, ...]:
    """Mean distances over rows of growing strength, in at most five runs of about equal length."""
    ordered = sorted(
        (row for row in rows if row.changed == changed and row.explanation is not None),
        key=lambda row: row.strength,
    )
    runs = np.array_split(np.arange(len(ordered)), min(POINTS, len(ordered)) or 1)
    parts = [[ordered[place] for place in run] for run in runs if run.size]

    def mean(values: Iterable[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return round(float(np.mean(known)), 6) if known else None

    return tuple(
        StabilityPoint(
            strength=mean(row.strength for row in part) or 0.0,
            explanation=mean(row.explanation for row in part) or 0.0,
            options=mean(row.options for row in part),
            rows=len(part),
        )
        for part in parts
    )


def with_link(graph: Graph, subject: int, other: int, fits: Mask | None = None) -> Graph:
    """The graph with one more tie from the subject, of the kind that they have most of.

    Its weight and attributes are the usual ones for ties of that kind; `fits` are the kinds that
    may lead there.
    """
    ties, usual, ends = graph.ties, new_ties(graph), (subject, other)
    own = (ties.source == subject) | (ties.target == subject)
    if fits is not None:
        own &= fits[ties.kind]
    counts = np.bincount(ties.kind[own] if own.any() else ties.kind, minlength=len(ties.kinds) or 1)
    kind = int(counts.argmax() if fits is None else np.where(fits, counts, -1).argmax())
    if graph.relations and graph.relations[kind].source != 0:
        ends = other, subject

    def extend(column: Column, typical: Column) -> Column:
        if column is None or typical is None:
            return None
        return np.concatenate((column, typical[kind : kind + 1]))

    changed = build_graph(
        ids=graph.ids,
        features=graph.features,
        feature_names=graph.feature_names,
        attributes=graph.attributes,
        directed=graph.directed,
        kinds=graph.kinds,
        ties=Ties(
            source=np.append(ties.source, np.int32(ends[0])),
            target=np.append(ties.target, np.int32(ends[1])),
            kind=np.append(ties.kind, ties.kind.dtype.type(kind)),
            kinds=ties.kinds,
            weight=extend(ties.weight, usual.weight),
            attributes=extend(ties.attributes, usual.attributes),
        ),
    )
    return replace(changed, more=graph.more)


def draw_subjects(audit: LoadedAudit, count: int) -> list[int]:
    """Draw subjects from those whom the model refused; from everybody, if it refused nobody."""
    every = np.arange(audit.graph.person_count)
    everybody = whole_answers(audit, every)
    decisions, answers = audit.rule.over(everybody), everybody[every]
    usable = decisions.usable(answers)
    refused = usable & ~decisions.favourable(answers, every)
    able = every[refused] if refused.any() else every[usable]
    drawn = np.random.default_rng((audit.scope.seed, SALT)).permutation(able)[:count]
    subjects: list[int] = np.sort(drawn).tolist()
    return subjects


def by_links(
    audit: LoadedAudit,
    subjects: Sequence[int],
    links: int,
    *,
    with_options: bool,
    done: Callable[[], None] = lambda: None,
) -> StabilityReport:
    """Tie each subject to one other node after the other, and explain again each time."""
    _check_reach(audit)
    perturbed = (
        ([subject], f"tie to {audit.graph.ids[other]}", with_new_tie(audit, subject, other))
        for subject in subjects
        for other in _strangers(audit.policy, subject, links, audit.scope.seed)
    )
    return _explain_again(audit, subjects, "links", perturbed, with_options, done)


def by_models(
    audit: LoadedAudit,
    subjects: Sequence[int],
    models: Sequence[Path],
    *,
    with_options: bool,
    done: Callable[[], None] = lambda: None,
) -> StabilityReport:
    """Explain every subject again with each perturbed copy of the model."""
    _check_reach(audit)
    perturbed = [(subjects, path.name, _open_copy(audit, path)) for path in models]
    return _explain_again(audit, subjects, "models", perturbed, with_options, done)


def _explain_again(
    audit: LoadedAudit,
    subjects: Sequence[int],
    kind: Literal["links", "models"],
    perturbed: Iterable[tuple[Sequence[int], str, LoadedAudit]],
    with_options: bool,
    done: Callable[[], None],
) -> StabilityReport:
    """Compare where subjects stand with where they stand in perturbed audits, one after another."""
    names = audit.graph.ids
    before = standings(audit, subjects, with_options=with_options)
    rows: list[StabilityRow] = []
    for people, perturbation, changed in perturbed:
        answered = [subject for subject in people if subject in before]
        after = standings(changed, answered, with_options=with_options)
        rows += [
            stability_row(str(names[subject]), perturbation, before[subject], after[subject])
            for subject in answered
            if subject in after
        ]
        done()
    return StabilityReport(
        kind=kind,
        subjects=len(subjects),
        unanswered=tuple(str(names[subject]) for subject in subjects if subject not in before),
        rows=tuple(rows),
        changed=curve(rows, changed=True),
        unchanged=curve(rows, changed=False),
    )


def standings(
    audit: LoadedAudit, subjects: Sequence[int], *, with_options: bool
) -> dict[int, Standing]:
    """Where subjects stand, except where the model's answer is not a number."""
    wanted: Ints = np.unique(np.asarray(subjects, dtype=np.int64))
    answers = whole_answers(audit, wanted)
    decisions = audit.rule.over(answers)
    known: dict[int, Standing] = {}
    search = Search(audit.graph, audit.batcher, decisions, audit.scope)
    recourse = recourse_search(audit, decisions)
    for outcome in search.run(wanted[decisions.usable(answers[wanted])]):
        if not isinstance(outcome, SearchFailure):
            options = recourse.run(outcome.subject, outcome) if with_options else None
            own = answers[[outcome.subject]]
            # Numbers whose distance is how far an answer moved: of a score, in its deviations.
            if decisions.rule.scores:
                chances = np.concatenate((own[0], -own[0])) / decisions.spread
            else:
                chances = np.exp(own[0])
            [decided] = decisions.names_of(own, outcome.subject)
            known[outcome.subject] = standing(decided, chances, outcome, options)
    return known


def with_new_tie(audit: LoadedAudit, subject: int, other: int) -> LoadedAudit:
    """The same audit of a graph in which a subject is tied to somebody else."""
    fits = None if audit.graph.kinds is None else fitting_kinds(audit.policy, np.array([other]))[0]
    graph = with_link(audit.graph, subject, other, fits)
    return replace(
        audit,
        graph=graph,
        batcher=_batcher(audit.model, graph, packing=audit.probes.packing),
        policy=audit.policy.on(graph),
    )


def _batcher(model: OnnxModel, graph: Graph, *, packing: bool) -> QueryBatcher:
    return QueryBatcher(model, pool_of(graph), graphs_per_query=None if packing else 1)


def _open_copy(audit: LoadedAudit, path: Path) -> LoadedAudit:
    """The same audit of a copy of the model, which must look the same from outside."""
    own = audit.model.signature
    settings = audit.settings.model.model_copy(update={"path": path, "output_name": None})
    graph = audit.graph
    copy = with_head(OnnxModel(settings, kinds=graph.kinds), settings, graph).signature
    settings = settings.model_copy(update={"output_name": own.output.name})
    known = own.output.name in {port.name for port in copy.outputs}
    model = with_head(OnnxModel(settings, kinds=graph.kinds), settings, graph) if known else None
    if model is None or _face(model.signature) != _face(own):
        raise ModelError(
            f"{path}: its inputs or outputs are not those of {audit.model.path}, so it is not a "
            "perturbed copy of it; export it the same way"
        )
    probes = probe(model, settings, pool_of(audit.graph))
    return replace(
        audit,
        model=model,
        probes=probes,
        batcher=_batcher(model, audit.graph, packing=probes.packing),
    )


def _face(signature: Signature) -> tuple[object, ...]:
    ports = [(port.name, port.dtype, len(port.shape)) for port in signature.inputs]
    output = signature.output
    return (*ports, output.name, output.dtype, len(output.shape), output.shape[-1:])


def _check_reach(audit: LoadedAudit) -> None:
    if audit.probes.depth is None and audit.settings.search.max_hops is None:
        raise InputError(
            f"{audit.model.path}: the number of hops that reach a node is unknown, so explanations "
            "before and after cannot be compared; declare model.depth or search.max_hops"
        )


def fitting_kinds(policy: Policy, nodes: Ints) -> Mask:
    """Which kinds of ties can lead from somebody to each of some nodes, or back."""
    columns = WAYS * policy.far_kind[nodes]
    return np.asarray((policy.fits[:, columns + OUTGOING] | policy.fits[:, columns + INCOMING]).T)


def _strangers(policy: Policy, subject: int, count: int, seed: int) -> Iterator[int]:
    """Other nodes that the subject is not tied to and could be, drawn at random."""
    graph = policy.graph
    able = np.ones(graph.node_count, bool)
    if graph.kinds is not None:
        able &= fitting_kinds(policy, np.arange(graph.node_count)).any(axis=1)
    able[subject] = False
    able[graph.neighbours(subject)] = False
    generator = np.random.default_rng((seed, subject, SALT))
    yield from generator.permutation(np.flatnonzero(able))[:count].tolist()
