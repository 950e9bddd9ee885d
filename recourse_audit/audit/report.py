"""Reports on subjects: the search, the options and the caveats put together, block by block."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from recourse_audit.audit.caveats import Effects, caveats_on
from recourse_audit.audit.comparators import ComparatorFinder
from recourse_audit.audit.large_graphs import is_large, whole_answers
from recourse_audit.audit.load import LoadedAudit, find_subjects
from recourse_audit.audit.own_data import OwnDataReports, ReasonFinder, alone_answers
from recourse_audit.errors import AnswerError
from recourse_audit.graph.graph import Floats, Graph, Indices, Ints
from recourse_audit.graph.neighbourhoods import neighbourhood, pairs_among, spans
from recourse_audit.model.decisions import Decisions
from recourse_audit.model.edited_graph import EditedGraph
from recourse_audit.model.queries import whole
from recourse_audit.records.recourse import Certificate, Recourse, WhatIf
from recourse_audit.records.search import SearchFailure, SearchResult
from recourse_audit.records.subject import (
    Decision,
    DecisionLine,
    EgoNetwork,
    EgoNode,
    EgoTie,
    Note,
    OwnData,
    SubjectReport,
)
from recourse_audit.recourse.search import FoundOptions, RecourseSearch, failure
from recourse_audit.recourse.what_if import Change, read_changes
from recourse_audit.search.influential_ties import on_whole_graph
from recourse_audit.search.moexp import Block, Naming, Outcome, Search
from recourse_audit.search.pareto import round_figure

# How many people near a subject can be drawn.
MOST_SHOWN = 60
NOT_A_NUMBER = "the model's answer for this node on the whole graph is not a number"


def explain(
    audit: LoadedAudit,
    ids: Sequence[str],
    *,
    what_if: Sequence[str] = (),
    done: Callable[[], None] = lambda: None,
) -> list[SubjectReport]:
    """Explain the decisions on some subjects, in the order given; call `done` after each.

    `what_if` are changes to try together: "drop A-B", "add A-B:kind", "savings=4000",
    "housing=own".
    """
    subjects = find_subjects(audit, ids)
    changes = read_changes(what_if, audit.graph, audit.encoder)
    reports = {}
    for subject, report in reports_on(audit, subjects, changes):
        reports[subject] = report
        done()
    return [reports[subject] for subject in subjects]


def try_by_hand(audit: LoadedAudit, subject: str, changes: Sequence[str]) -> WhatIf:
    """What the model decides on one subject after changes chosen by hand, on the whole graph."""
    [number] = find_subjects(audit, [subject])
    audit.model.reseed(audit.scope.seed)
    answers = whole_answers(audit, np.array([number]))
    decisions = audit.rule.over(answers)
    if not decisions.usable(answers[[number]])[0]:
        raise AnswerError(f"{subject}: {NOT_A_NUMBER}")
    return recourse_search(audit, decisions).what_if(
        number, read_changes(changes, audit.graph, audit.encoder)
    )


def recourse_search(audit: LoadedAudit, decisions: Decisions) -> RecourseSearch:
    """The search for options; `decisions` are those on everybody in the whole graph."""
    edited = EditedGraph(audit.graph, audit.batcher, audit.probes, decisions)
    return RecourseSearch(edited, audit.policy, audit.scope.seed)


def reports_on(
    audit: LoadedAudit, subjects: Sequence[int], changes: Sequence[Change] = ()
) -> Iterator[tuple[int, SubjectReport]]:
    """Report on subjects by number, block by block; try some changes for each."""
    wanted = np.unique(np.asarray(subjects, dtype=np.int64))
    audit.model.reseed(audit.scope.seed)
    complete = not audit.batcher.one_row_per_query
    audit, answers = ask_twice(audit, wanted)
    asked = complete and audit.probes.deterministic
    alone = alone_answers(audit, audit.rule.over(answers)) if asked else None
    reporter = Reporter(audit, answers, alone, complete=complete)
    for block in reporter.search.blocks(wanted):
        yield from reporter.on_block(block, changes)


def ask_twice(audit: LoadedAudit, nodes: Ints) -> tuple[LoadedAudit, Floats]:
    """Those of `whole_answers`, asked twice; the audit gets a note if the answers differ.

    A model that answers for one node per query is asked once; of the blocks of a large graph, a
    share is asked about twice.
    """
    batcher = audit.batcher
    if batcher.one_row_per_query:
        return audit, whole_answers(audit, nodes)
    with batcher.repeater.always():
        answers = whole_answers(audit, nodes)
    probes = audit.probes.with_repeats(batcher.repeater.result, "whole_graph")
    return replace(audit, probes=probes), answers


class Reporter:
    """Reports on subjects, once it is known what the model answers on the whole graph."""

    def __init__(
        self,
        audit: LoadedAudit,
        answers: Floats,
        alone: Floats | None = None,
        *,
        complete: bool = True,
    ) -> None:
        """`answers` are those of `whole_answers`; `complete` ones are about everybody.

        `alone` are those of `alone_answers`, if they are known.
        """
        graph, batcher, seed = audit.graph, audit.batcher, audit.scope.seed
        self._audit = audit
        self._answers = answers
        self._complete = complete
        self._decisions = decisions = audit.rule.over(answers)
        # The whole graph is asked about for everybody, and again where answers are repeated.
        self._whole_again = int(
            batcher.repeater.asks_twice and not batcher.one_row_per_query and not is_large(graph)
        )
        self._naming = Naming(graph=graph, rule=audit.rule, kind=batcher.output_kind)
        self.search = Search(graph, batcher, decisions, audit.scope)
        self._edited = EditedGraph(graph, batcher, audit.probes, decisions)
        self._recourse = RecourseSearch(self._edited, audit.policy, seed)
        self._effects, depth = None, audit.probes.depth
        if depth is not None:
            settings = audit.settings.caveats
            self._effects = Effects(graph, batcher, decisions, depth, settings, seed)
        self._own_data = OwnDataReports(audit, self._edited, complete=complete)
        own = [column.name for column in self._own_data.columns]
        self._comparators = ComparatorFinder(audit, decisions, alone, own, complete=complete)
        self._reasons = ReasonFinder(audit)

    def on_block(
        self, block: Block, changes: Sequence[Change] = ()
    ) -> Iterator[tuple[int, SubjectReport]]:
        usable = self._decisions.usable(self._answers[block.subjects])
        for subject in block.subjects[~usable].tolist():
            yield subject, self.report_failure(subject, NOT_A_NUMBER)
        rest = Block(subjects=block.subjects[usable], bounds=block.bounds[usable])
        own_data = self._own_data.reports_on(rest.subjects)
        outcomes: Iterable[tuple[int, Outcome | None]]
        if self._audit.probes.ties_matter:
            outcomes = ((outcome.subject, outcome) for outcome in self.search.run_block(rest))
        else:
            outcomes = ((subject, None) for subject in rest.subjects.tolist())
        begun = [
            (subject, *self._report(subject, outcome, changes, own_data[subject]))
            for subject, outcome in outcomes
        ]
        every = [options for _, _, options in begun if options is not None]
        recourses = iter(self._recourse.with_side_effects(every))
        for subject, report, options in begun:
            if options is None:
                yield subject, report
                continue
            recourse = next(recourses)
            # What was asked about others counts for whoever has the options.
            measured = sum(option.side_effects.measured for option in recourse.options)
            finished = replace(report, recourse=recourse, queries=report.queries + measured)
            yield subject, replace(finished, reasons=self._reasons.find(finished))

    def report_failure(self, subject: int, reason: str) -> SubjectReport:
        return replace(
            self._begin(subject),
            error=reason,
            recourse=failure(reason, self._audit.policy.settings.max_changes),
            queries=_share(None) + self._whole_again,
        )

    def _report(
        self, subject: int, outcome: Outcome | None, changes: Sequence[Change], own_data: OwnData
    ) -> tuple[SubjectReport, FoundOptions | None]:
        """The report on a subject, and the options that still lack their side effects."""
        result = outcome if isinstance(outcome, SearchResult) else None
        report = self._begin(subject, result)
        batcher = self._audit.batcher
        before = batcher.graphs
        asked = self._edited.about(subject)
        disagreement = self._disagreement(report)
        with batcher.repeater.working_on(subject):
            if result is not None:
                budget = self._audit.settings.search.carrier_budget
                removed = [numbers.removed for numbers in result.numbers]
                confirmed, carriers = on_whole_graph(
                    asked, self._naming, result.counterfactuals, removed, budget
                )
                report = replace(report, counterfactuals=confirmed, carriers=carriers)
            own_data = self._own_data.with_ladder(own_data, asked)
            if result is not None:
                decision = self._decisions.classes.index(report.subject.decision)
                report = replace(report, caveats=caveats_on(self._effects, result, decision))
            options = None if disagreement else self._recourse.find(asked, result)
            what_if = self._recourse.what_if(subject, changes) if changes else None
        repeats = batcher.repeater.result
        together = _share(outcome) + self._own_data.queries
        finished = replace(
            report,
            recourse=disagreement,
            own_data=own_data,
            comparators=self._comparators.find(subject),
            what_if=what_if,
            note=_note(outcome),
            error=outcome.reason if isinstance(outcome, SearchFailure) else "",
            queries=together + self._whole_again + batcher.graphs - before,
            repeats=repeats,
            probes=report.probes.with_repeats(repeats),
        )
        return finished, options

    def _begin(self, subject: int, result: SearchResult | None = None) -> SubjectReport:
        """What is known before anything more is asked: the decision, the search, who is near.

        Whoever is near may have to be asked about, by `explain` of a model that answers for one
        node per query; that is for the picture alone and is not counted.
        """
        answer, audit = self._answers[[subject]], self._audit
        [decided] = self._decisions.names_of(answer, subject)
        report = SubjectReport(
            subject=Decision(
                id=str(audit.graph.ids[subject]),
                decision=decided,
                favourable=bool(self._decisions.favourable(answer, subject)[0]),
                probabilities=self._naming.probabilities(answer)[0] if decided else {},
            ),
            decision=self._line(subject),
            baselines={},
            ego_network=self.ego_network(subject, result),
            probes=audit.probes,
            kinds=audit.graph.kinds.names if audit.graph.kinds else (),
        )
        if result is None:
            return report
        pairs = result.counterfactuals
        return replace(
            report,
            search=result.extent,
            explanation=pairs[0].explanation if pairs else None,
            counterfactuals=pairs,
            front=result.front,
            front_size=result.front_size,
            baselines=result.baselines,
            objective_grid=result.objective_grid,
            study_cases=result.study_cases,
        )

    def _disagreement(self, report: SubjectReport) -> Recourse | None:
        """What stands in place of options where the record and the model differ."""
        recorded, decided = report.decision.recorded, report.subject.decision
        if not recorded or not decided or recorded == decided:
            return None
        return Recourse(
            status="model_disagrees",
            certificate=Certificate(max_changes=self._audit.policy.settings.max_changes),
            margin=report.decision.margin,
        )

    def _line(self, subject: int) -> DecisionLine:
        decisions, answer = self._decisions, self._answers[[subject]]
        rule, recorded = decisions.rule, self._audit.recorded
        line = DecisionLine(
            rule=rule.name,
            better=rule.better if rule.scores else None,
            recorded=None if recorded is None else (*decisions.classes, "")[int(recorded[subject])],
        )
        if rule.name != "argmax":
            cut_off = round_figure(float(decisions.cut_offs(subject)))
            line = replace(line, cut_off=cut_off, places=decisions.places)
        if not decisions.usable(answer)[0]:
            return line
        return replace(
            line,
            score=self._naming.scores(answer)[0],
            margin=round_figure(float(decisions.margin(answer, subject)[0])),
            rank=decisions.rank(answer, subject),
        )

    def ego_network(self, subject: int, search: SearchResult | None) -> EgoNetwork | None:
        """Who is near a subject, and what the model decides on them; None without ties.

        These are the nodes within the hops that explanations may reach, nearest first, as many as
        can be drawn, with every tie between them: everything a picture needs.
        """
        graph, reach = self._audit.graph, self._audit.scope.max_hops
        if not graph.degree(subject):
            return None
        near = neighbourhood(graph, np.array([subject]), reach)
        nearest = np.argsort(near.hops, kind="stable")
        trees = () if search is None else (*(t.nodes for t in search.numbers), search.study_nodes)
        in_trees = sorted({node for nodes in trees for node in nodes})
        wanted = np.searchsorted(near.nodes, np.array(in_trees, np.int64))
        others = nearest[~np.isin(nearest, wanted)][: max(MOST_SHOWN - len(wanted), 0)]
        chosen = np.sort(np.concatenate((wanted, others)))
        nodes, hops = near.nodes[chosen], near.hops[chosen]
        answers = self._answers[nodes]
        if not self._complete:
            unknown = np.flatnonzero(np.isnan(answers).any(axis=1))
            rows = nodes[unknown].astype(np.int64)
            answers[unknown] = self._audit.batcher.ask(whole(graph), rows)
        names = self._decisions.names_of(answers, nodes)
        favourable: list[bool] = self._decisions.favourable(answers, nodes).tolist()
        kinds = np.array([""] if graph.kinds is None else ["", *graph.kinds.names[1:]])
        kind = kinds[graph.kinds.of(nodes)] if graph.kinds else np.repeat(kinds, len(nodes))
        return EgoNetwork(
            nodes=tuple(
                EgoNode(
                    id=str(graph.ids[nodes[place]]),
                    hops=int(hops[place]),
                    decision=names[place],
                    favourable=favourable[place],
                    kind=str(kind[place]),
                )
                for place in np.argsort(hops, kind="stable").tolist()
            ),
            ties=_ties_among(graph, nodes),
            shown=len(nodes),
            total=len(near.nodes),
            hops=reach,
            limit=MOST_SHOWN,
        )


def _share(outcome: Outcome | None) -> int:
    """How many graphs the search asked about for a subject, the whole graph included.

    A subtree that several subjects share is asked about once and counts for each of them, so that
    the figure does not depend on who else is searched for.
    """
    if outcome is None:
        return 1
    return outcome.extent.queries if isinstance(outcome, SearchResult) else outcome.queries


def _note(outcome: Outcome | None) -> Note:
    """Why what was found explains nothing, if it does not."""
    if outcome is None:
        return "ties_do_not_matter"
    if isinstance(outcome, SearchFailure):
        return ""
    if not outcome.counterfactuals:
        return "no_ties"
    if outcome.moves_nothing:
        return "no_tie_moves"
    return "first_moves_nothing" if outcome.counterfactuals[0].relevance == 0 else ""


def _ties_among(graph: Graph, nodes: Indices) -> tuple[EgoTie, ...]:
    """The ties among some nodes, one entry per kind between two of them, in canonical order.

    Ties of a directed relation within one kind have an entry per direction.
    """
    pairs = pairs_among(graph, nodes)
    arcs, owner = spans(graph.pair_starts, pairs)
    ties = np.unique(np.stack((owner, graph.arc_tie[arcs])), axis=1)  # one has two arcs
    kinds = graph.ties.kind[ties[1]]
    one_way = np.array([r.directed and r.source == r.target for r in graph.relations], bool)
    directed = one_way[kinds] if graph.relations else np.zeros(len(kinds), bool)
    turned = directed & (graph.ties.source[ties[1]] != graph.pair_low[pairs[ties[0]]])
    groups, counts = np.unique(
        np.stack((ties[0], kinds, directed, turned)), axis=1, return_counts=True
    )
    low, high = (graph.ids[ends[pairs]].tolist() for ends in (graph.pair_low, graph.pair_high))
    return tuple(
        EgoTie(
            ends=(str(high[at]), str(low[at])) if back else (str(low[at]), str(high[at])),
            kind=graph.ties.kinds[number],
            count=count,
            directed=bool(is_directed),
        )
        for (at, number, is_directed, back), count in zip(
            groups.T.tolist(), counts.tolist(), strict=True
        )
    )
