"""One audit: settings, graph and model brought together, probed once, then asked.

This is the library's front door: `load_audit`, then `explain`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from recourse_audit.caveats.findings import Caveats
from recourse_audit.errors import SettingsError, SubjectError
from recourse_audit.graph.arrays import Floats, Graph, Ints
from recourse_audit.graph.columns import near_matches
from recourse_audit.graph.readers import read_graph
from recourse_audit.model.desk import QueryDesk
from recourse_audit.model.onnx import OnnxModel
from recourse_audit.model.probes import probe
from recourse_audit.model.queries import pool_of, whole
from recourse_audit.records.probes import ProbeReport
from recourse_audit.records.report import Decision, SubjectReport
from recourse_audit.records.search import SearchFailure, SearchResult
from recourse_audit.recourse.options import RecourseSearch, failure
from recourse_audit.recourse.policy import Policy, open_policy
from recourse_audit.recourse.what_if import Change, read_changes
from recourse_audit.run.no_ties import with_ties_counted
from recourse_audit.run.notes import (
    FIRST_MOVES_NOTHING,
    NO_TIE_MOVES,
    NO_TIES,
    TIES_DO_NOT_MATTER,
)
from recourse_audit.run.surroundings import SurroundingsView
from recourse_audit.search.blocks import Block
from recourse_audit.search.moexp import Search
from recourse_audit.search.results import Naming, Outcome
from recourse_audit.search.scope import Scope
from recourse_audit.settings import Settings, load_settings

UNBOUNDED_HOPS = 2
NOT_A_NUMBER = "the model's answer for this node on the whole graph is not a number"


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """Everything needed to answer for a subject."""

    settings: Settings
    graph: Graph
    model: OnnxModel
    probes: ProbeReport
    desk: QueryDesk
    scope: Scope
    policy: Policy

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the reader must know about the model and the graph before any figure."""
        return tuple(self.probes.sentences.values())


def load_audit(path: Path | str, *, seed: int | None = None) -> Audit:
    """Read an `audit.toml` and all that it names; probe the model on the graph's own nodes.

    `seed` replaces that of the settings.
    """
    settings = load_settings(Path(path))
    if seed is not None:
        search = settings.search.model_copy(update={"seed": seed})
        settings = settings.model_copy(update={"search": search})
    try:
        return open_audit(settings)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from None


def open_audit(settings: Settings) -> Audit:
    """Bring together what the settings name; what does not fit together is a `SettingsError`."""
    model = OnnxModel(settings.model)
    graph = read_graph(settings.graph)
    check_features(model, graph)
    _check_groups(settings, graph)
    policy = open_policy(settings, graph)
    _check_stratum(settings, graph)
    probes = with_ties_counted(probe(model, settings.model, pool_of(graph)), graph)
    _check_classes(settings, model)
    return bring_together(settings, graph, model, probes, policy)


def bring_together(
    settings: Settings, graph: Graph, model: OnnxModel, probes: ProbeReport, policy: Policy
) -> Audit:
    """An audit of parts that are known to fit together."""
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
        policy=policy,
    )


def check_features(model: OnnxModel, graph: Graph) -> None:
    """Refuse a graph with more or fewer features than the model takes."""
    wanted, given = model.signature.feature_count, graph.features.shape[1]
    if wanted is not None and wanted != given:
        raise SettingsError(
            f"graph.features: the model {model.path} takes {wanted} features and the graph gives "
            f"{given}; name the model's features, in its order"
        )


def _check_groups(settings: Settings, graph: Graph) -> None:
    known = [*graph.attributes, *graph.feature_names]
    for name in settings.groups.attributes:
        if name not in known:
            raise SettingsError(
                f"groups.attributes: the nodes have no column {name!r}; {near_matches(name, known)}"
            )


def _check_stratum(settings: Settings, graph: Graph) -> None:
    name, known = settings.caveats.stratum, list(graph.attributes)
    if name is not None and name not in known:
        raise SettingsError(
            f"caveats.stratum: {name!r} is no column of the nodes beside the model's features; "
            f"{near_matches(name, known)}"
        )


def _check_classes(settings: Settings, model: OnnxModel) -> None:
    named, output = settings.decision.classes, model.signature.output
    if output.classes != len(named):
        raise SettingsError(
            f"decision.classes: names {len(named)} classes ({', '.join(named)}), but the output "
            f"{output.name!r} of {model.path} has {output.classes}; name them all, in its order"
        )


def explain(
    audit: Audit,
    ids: Sequence[str],
    *,
    what_if: Sequence[str] = (),
    done: Callable[[], None] = lambda: None,
) -> list[SubjectReport]:
    """Explain the decisions on some subjects, in the order given; call `done` after each.

    `what_if` are changes to try together: "drop A-B", "add A-B:kind", "savings=4000".
    """
    subjects = find_subjects(audit, ids)
    changes = read_changes(what_if, audit.graph)
    reports = {}
    for subject, report in reports_on(audit, subjects, changes):
        reports[subject] = report
        done()
    return [reports[subject] for subject in subjects]


def find_subjects(audit: Audit, ids: Sequence[str]) -> list[int]:
    """The numbers of the nodes with these ids; all that are unknown are named at once."""
    numbers = {identifier: _number_of(audit.graph, identifier) for identifier in ids}
    unknown = [repr(identifier) for identifier, number in numbers.items() if number is None]
    if unknown:
        source = audit.settings.graph
        file = source.nodes or source.npz or source.graphml
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


def reports_on(
    audit: Audit, subjects: Sequence[int], changes: Sequence[Change] = ()
) -> Iterator[tuple[int, SubjectReport]]:
    """Report on subjects by number, block by block; try some changes for each."""
    wanted = np.unique(np.asarray(subjects, dtype=np.int64))
    audit.model.reseed(audit.scope.seed)
    complete = not audit.desk.one_row_a_query
    reporter = Reporter(audit, whole_answers(audit, wanted), complete=complete)
    for block in reporter.search.blocks(wanted):
        yield from reporter.on_block(block, changes)


class Reporter:
    """Reports on subjects, once it is known what the model answers on the whole graph."""

    def __init__(self, audit: Audit, answers: Floats, *, complete: bool = True) -> None:
        """`answers` are those of `whole_answers`; `complete` ones are about everybody."""
        decision, seed = audit.settings.decision, audit.scope.seed
        self._audit = audit
        self._answers = answers
        self._naming = Naming(
            graph=audit.graph, classes=decision.classes, kind=audit.desk.output_kind
        )
        self.search = Search(audit.graph, audit.desk, answers, decision.classes, audit.scope)
        self._recourse = RecourseSearch(
            audit.graph, audit.desk, audit.probes, answers, audit.policy, decision, seed
        )
        self._caveats = Caveats(
            audit.graph, audit.desk, audit.probes.depth, audit.settings.caveats, seed
        )
        self._view = SurroundingsView(
            audit.graph, audit.desk, answers, decision, audit.scope.max_hops, complete=complete
        )

    def on_block(
        self, block: Block, changes: Sequence[Change] = ()
    ) -> Iterator[tuple[int, SubjectReport]]:
        """Report on the subjects of one block."""
        usable = np.isfinite(self._answers[block.subjects]).all(axis=1)
        for subject in block.subjects[~usable].tolist():
            yield subject, self.failed(subject, NOT_A_NUMBER)
        rest = Block(subjects=block.subjects[usable], bounds=block.bounds[usable])
        for subject, report in self._explained(rest):
            yield (
                subject,
                replace(
                    report,
                    recourse=self._recourse.run(subject, report.search),
                    what_if=self._recourse.what_if(subject, changes) if changes else None,
                    surroundings=self._view.of(subject, report.search),
                ),
            )

    def failed(self, subject: int, reason: str) -> SubjectReport:
        """The report on a subject for whom something went wrong."""
        return SubjectReport(
            decision=self._decision(subject),
            search=None,
            error=reason,
            recourse=failure(reason, self._audit.policy.settings.max_changes),
            surroundings=self._view.of(subject, None),
        )

    def _explained(self, block: Block) -> Iterator[tuple[int, SubjectReport]]:
        if not self._audit.probes.ties_matter:
            for subject in block.subjects.tolist():
                decision = self._decision(subject)
                yield (
                    subject,
                    SubjectReport(decision=decision, search=None, note=TIES_DO_NOT_MATTER),
                )
            return
        classes = self._audit.settings.decision.classes
        for outcome in self.search.run_block(block):
            decision = self._decision(outcome.subject)
            yield outcome.subject, _report(decision, outcome, self._caveats, classes)

    def _decision(self, subject: int) -> Decision:
        return decision_on(self._audit, self._naming, subject, self._answers[subject])


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
        probabilities=naming.probabilities(answer[None])[0] if usable else {},
    )


def _report(
    decision: Decision, outcome: Outcome, caveats: Caveats, classes: tuple[str, ...]
) -> SubjectReport:
    if isinstance(outcome, SearchFailure):
        return SubjectReport(decision=decision, search=None, error=outcome.reason)
    return SubjectReport(
        decision=decision,
        search=outcome,
        caveats=caveats.on(outcome, classes, classes.index(decision.decision)),
        note=_note(outcome),
    )


def _note(search: SearchResult) -> str:
    """Why what was found explains nothing, if it does not."""
    if not search.counterfactuals:
        return NO_TIES
    if search.moves_nothing:
        return NO_TIE_MOVES
    return FIRST_MOVES_NOTHING if search.counterfactuals[0].relevance == 0 else ""
