"""Stability of an audit's findings: perturb the graph or the model, explain again, compare."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from recourse_audit.audit.answers import whole_answers
from recourse_audit.audit.loaded import LoadedAudit
from recourse_audit.audit.reporter import recourse_search
from recourse_audit.caveats.stability import Standing, curve, linked, moved, standing
from recourse_audit.errors import InputError, ModelError
from recourse_audit.graph.arrays import Floats, Graph, Ints
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.decisions import Decisions
from recourse_audit.model.onnx import OnnxModel
from recourse_audit.model.probes import probe
from recourse_audit.model.queries import pool_of
from recourse_audit.model.signature import Signature
from recourse_audit.records.caveats import FORMAT, StabilityReport, StabilityRow
from recourse_audit.records.search import SearchFailure
from recourse_audit.search.moexp import Search

SALT = 11


def nobody() -> None:
    """Nobody wants to know."""


def some_subjects(audit: LoadedAudit, count: int) -> list[int]:
    """Draw subjects from those whom the model refused; from everybody, if it refused nobody."""
    every = np.arange(audit.graph.node_count)
    answers = whole_answers(audit, every)
    decisions = audit.rule.over(answers)
    usable = decisions.usable(answers)
    refused = usable & ~decisions.favourable(answers, every)
    able = every[refused] if refused.any() else every[usable]
    drawn = np.random.default_rng((audit.scope.seed, SALT)).permutation(able)[:count]
    return [int(subject) for subject in np.sort(drawn)]


def by_links(
    audit: LoadedAudit,
    subjects: Sequence[int],
    links: int,
    *,
    with_options: bool,
    done: Callable[[], None] = nobody,
) -> StabilityReport:
    """Tie each subject to one other node after the other, and explain again each time."""
    _check_reach(audit)
    before = standings(audit, subjects, with_options=with_options)
    rows: list[StabilityRow] = []
    for subject in subjects:
        if before[subject] is None:
            continue
        for other in _strangers(audit.graph, subject, links, audit.scope.seed):
            changed = with_graph(audit, linked(audit.graph, subject, other))
            after = standings(changed, [subject], with_options=with_options)
            rows += _compared(audit, [subject], before, after, f"tie to {audit.graph.ids[other]}")
            done()
    return _report(audit, subjects, before, rows, kind="links")


def by_models(
    audit: LoadedAudit,
    subjects: Sequence[int],
    models: Sequence[Path],
    *,
    with_options: bool,
    done: Callable[[], None] = nobody,
) -> StabilityReport:
    """Explain every subject again with each perturbed copy of the model."""
    _check_reach(audit)
    perturbed = [_opened(audit, path) for path in models]
    before = standings(audit, subjects, with_options=with_options)
    rows: list[StabilityRow] = []
    for path, other in zip(models, perturbed, strict=True):
        after = standings(other, subjects, with_options=with_options)
        rows += _compared(audit, subjects, before, after, path.name)
        done()
    return _report(audit, subjects, before, rows, kind="models")


def standings(
    audit: LoadedAudit, subjects: Sequence[int], *, with_options: bool
) -> dict[int, Standing | None]:
    """Where subjects stand; None where the model's answer is not a number."""
    wanted: Ints = np.unique(np.asarray(subjects, dtype=np.int64))
    answers = whole_answers(audit, wanted)
    decisions = audit.rule.over(answers)
    found: dict[int, Standing | None] = dict.fromkeys(wanted.tolist())
    search = Search(audit.graph, audit.batcher, decisions, audit.scope)
    recourse = recourse_search(audit, decisions)
    for outcome in search.run(wanted[decisions.usable(answers[wanted])]):
        if not isinstance(outcome, SearchFailure):
            options = recourse.run(outcome.subject, outcome) if with_options else None
            own = answers[[outcome.subject]]
            chances = _scaled(own[0], decisions)
            [decided] = decisions.names_of(own, outcome.subject)
            found[outcome.subject] = standing(decided, chances, outcome, options)
    return found


def _scaled(answer: Floats, decisions: Decisions) -> Floats:
    """Numbers whose distance is how far an answer moved: of a score, in standard deviations."""
    if decisions.rule.scores:
        return np.concatenate((answer, -answer)) / decisions.spread
    chances: Floats = np.exp(answer)
    return chances


def with_graph(audit: LoadedAudit, graph: Graph) -> LoadedAudit:
    """The same audit of a changed graph with the same nodes."""
    return replace(
        audit,
        graph=graph,
        batcher=_batcher(audit.model, graph, packing=audit.probes.packing),
        policy=replace(audit.policy, graph=graph),
    )


def _batcher(model: OnnxModel, graph: Graph, *, packing: bool) -> QueryBatcher:
    return QueryBatcher(model, pool_of(graph), graphs_per_query=None if packing else 1)


def _opened(audit: LoadedAudit, path: Path) -> LoadedAudit:
    """The same audit of a copy of the model, which must look the same from outside."""
    own = audit.model.signature
    settings = audit.settings.model.model_copy(update={"path": path, "output_name": None})
    copy = OnnxModel(settings).signature
    settings = settings.model_copy(update={"output_name": own.output.name})
    known = own.output.name in {port.name for port in copy.outputs}
    model = OnnxModel(settings) if known else None
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
    """What two copies of a model have in common."""
    ports = [(port.name, port.dtype, len(port.shape)) for port in signature.inputs]
    output = signature.output
    return (*ports, output.name, output.dtype, len(output.shape), output.shape[-1:])


def _check_reach(audit: LoadedAudit) -> None:
    if audit.probes.depth is None and audit.settings.search.max_hops is None:
        raise InputError(
            f"{audit.model.path}: the number of hops that reach a node is unknown, so explanations "
            "before and after cannot be compared; declare model.depth or search.max_hops"
        )


def _strangers(graph: Graph, subject: int, count: int, seed: int) -> Iterator[int]:
    """Other nodes that the subject is not tied to, drawn at random."""
    able = np.ones(graph.node_count, bool)
    able[subject] = False
    able[graph.neighbours(subject)] = False
    generator = np.random.default_rng((seed, subject, SALT))
    yield from generator.permutation(np.flatnonzero(able))[:count].tolist()


def _compared(
    audit: LoadedAudit,
    subjects: Sequence[int],
    before: dict[int, Standing | None],
    after: dict[int, Standing | None],
    perturbation: str,
) -> Iterator[StabilityRow]:
    for subject in subjects:
        one, other = before[subject], after[subject]
        if one is not None and other is not None:
            yield moved(str(audit.graph.ids[subject]), perturbation, one, other)


def _report(
    audit: LoadedAudit,
    subjects: Sequence[int],
    before: dict[int, Standing | None],
    rows: Sequence[StabilityRow],
    *,
    kind: Literal["links", "models"],
) -> StabilityReport:
    unanswered = [str(audit.graph.ids[subject]) for subject in subjects if before[subject] is None]
    return StabilityReport(
        format=FORMAT,
        kind=kind,
        subjects=len(subjects),
        unanswered=tuple(unanswered),
        rows=tuple(rows),
        changed=curve(rows, changed=True),
        unchanged=curve(rows, changed=False),
    )
