"""One audit: settings, graph and model brought together, probed once, then asked.

This is the library's front door: `load_audit`, then `explain`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from recourse_audit.caveats.general import CAUTION
from recourse_audit.errors import SettingsError
from recourse_audit.graph.arrays import Floats, Graph, Ints
from recourse_audit.graph.readers import read_graph
from recourse_audit.model.desk import QueryDesk
from recourse_audit.model.onnx import OnnxModel
from recourse_audit.model.probes import probe
from recourse_audit.model.queries import pool_of, whole
from recourse_audit.records import Decision, ProbeReport, SearchFailure, SubjectReport
from recourse_audit.search.moexp import Outcome, Search
from recourse_audit.search.results import Naming
from recourse_audit.search.scope import Scope
from recourse_audit.settings import Settings, load_settings

UNBOUNDED_HOPS = 2
NO_TIES = "This person has no ties to others in the graph, so no tie carried the decision."


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """Everything needed to answer for a subject."""

    settings: Settings
    graph: Graph
    model: OnnxModel
    probes: ProbeReport
    desk: QueryDesk
    scope: Scope

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the reader must know about the model before any figure."""
        return tuple(self.probes.sentences.values())


def load_audit(path: Path | str) -> Audit:
    """Read an `audit.toml` and all that it names; probe the model on the graph's own nodes."""
    return open_audit(load_settings(Path(path)))


def open_audit(settings: Settings) -> Audit:
    """Bring together what the settings name."""
    model = OnnxModel(settings.model)
    graph = read_graph(settings.graph)
    probes = probe(model, settings.model, pool_of(graph))
    classes = model.signature.output.classes
    if classes != len(settings.decision.classes):
        raise SettingsError(
            f"decision.classes names {len(settings.decision.classes)} classes "
            f"({', '.join(settings.decision.classes)}), but the model's output "
            f"{model.signature.output.name!r} has {classes}; name them all, in its order"
        )
    search = settings.search
    return Audit(
        settings=settings,
        graph=graph,
        model=model,
        probes=probes,
        desk=QueryDesk(model, pool_of(graph), graphs_per_query=None if probes.packing else 1),
        scope=Scope(
            max_nodes=search.max_nodes,
            max_hops=search.max_hops or probes.depth or UNBOUNDED_HOPS,
            budget=search.budget,
            counterfactuals=search.counterfactuals,
            seed=search.seed,
        ),
    )


def explain(audit: Audit, ids: Sequence[str]) -> list[SubjectReport]:
    """Explain the decisions on some subjects, in the order given."""
    subjects = [audit.graph.find(identifier) for identifier in ids]
    reports = dict(reports_on(audit, subjects))
    return [reports[subject] for subject in subjects]


def reports_on(audit: Audit, subjects: Sequence[int]) -> Iterator[tuple[int, SubjectReport]]:
    """Report on subjects by number, block by block."""
    wanted = np.unique(np.asarray(subjects, dtype=np.int64))
    audit.model.reseed(audit.scope.seed)
    answers = whole_answers(audit, wanted)
    naming = Naming(
        graph=audit.graph,
        classes=audit.settings.decision.classes,
        kind=audit.desk.output_kind,
    )
    decisions = {int(s): decision_on(audit, naming, int(s), answers[s]) for s in wanted}
    usable = wanted[np.isfinite(answers[wanted]).all(axis=1)]
    for subject in np.setdiff1d(wanted, usable):
        yield (
            int(subject),
            SubjectReport(
                decision=decisions[int(subject)],
                search=None,
                error="the model's answer for this node on the whole graph is not a number",
            ),
        )
    search = Search(audit.graph, audit.desk, answers, audit.settings.decision.classes, audit.scope)
    if not audit.probes.ties_matter:
        note = audit.probes.sentences["ties_matter"]
        for subject in usable:
            yield (
                int(subject),
                SubjectReport(decision=decisions[int(subject)], search=None, note=note),
            )
        return
    for outcome in search.run(usable):
        yield outcome.subject, _report(audit, decisions[outcome.subject], outcome)


def whole_answers(audit: Audit, subjects: Ints) -> Floats:
    """Log-probabilities on the whole graph, a row a node; NaN for nodes nobody asked about.

    A model that answers for one node a query is asked about the subjects alone.
    """
    graph = audit.graph
    rows = subjects if audit.desk.one_row_a_query else np.arange(graph.node_count)
    answers = np.full((graph.node_count, audit.desk.class_count), np.nan)
    answers[rows] = audit.desk.ask(whole(graph), rows)
    return answers


def decision_on(audit: Audit, naming: Naming, subject: int, answer: Floats) -> Decision:
    """The class with the highest probability; of several, the first."""
    usable = bool(np.isfinite(answer).all())
    chosen = audit.settings.decision.classes[int(np.argmax(answer))] if usable else ""
    return Decision(
        id=str(audit.graph.ids[subject]),
        decision=chosen,
        favourable=chosen in audit.settings.decision.favourable,
        probabilities=naming.probabilities(answer) if usable else {},
    )


def _report(audit: Audit, decision: Decision, outcome: Outcome) -> SubjectReport:
    if isinstance(outcome, SearchFailure):
        return SubjectReport(decision=decision, search=None, error=outcome.reason)
    found = bool(outcome.counterfactuals)
    return SubjectReport(
        decision=decision,
        search=outcome,
        caveats=(CAUTION,) if found else (),
        note="" if found else NO_TIES,
    )
