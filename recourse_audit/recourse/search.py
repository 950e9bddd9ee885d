"""Recourse for one subject after the other: a status, verified options, and a certificate.

Candidates come first from the counterfactuals of the search, best first, and then in full or in
order of measured effect (see `trials`). Every option is asked about again on the whole graph where
that is small enough before it is offered.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from recourse_audit.errors import AuditError
from recourse_audit.graph.graph import Floats, Ints
from recourse_audit.graph.neighbourhoods import as_rows
from recourse_audit.model.decisions import Mask
from recourse_audit.model.edited_graph import EditedGraph, SubjectAnswers
from recourse_audit.records.recourse import (
    Certificate,
    CertificateReason,
    Option,
    Recourse,
    RecourseStatus,
    SideEffects,
    WhatIf,
)
from recourse_audit.records.search import SearchResult
from recourse_audit.recourse.actions import ActionTable, action_table
from recourse_audit.recourse.common_changes import CommonChanges
from recourse_audit.recourse.conditions import SubjectConditions, count_possible
from recourse_audit.recourse.policy import Policy
from recourse_audit.recourse.responsiveness import measure_responsiveness
from recourse_audit.recourse.robustness import RobustnessTest
from recourse_audit.recourse.side_effects import ReachQuery, side_effects
from recourse_audit.recourse.trials import Combination, Success, Trials, Verifier
from recourse_audit.recourse.what_if import Change, try_changes
from recourse_audit.search.moexp import Naming
from recourse_audit.search.pareto import round_figure
from recourse_audit.settings.policy import BUDGET, BUDGET_ONE_BY_ONE

CONFIRMED_ARCS = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundOptions:
    """Recourse whose options still lack their side effects, with the queries about these."""

    recourse: Recourse
    queries: tuple[ReachQuery, ...] = ()


class RecourseSearch:
    """The search for options over one graph with one model and one policy."""

    def __init__(self, edited: EditedGraph, policy: Policy, seed: int) -> None:
        settings = policy.settings
        self._edited = edited
        self._policy = policy
        self._seed = seed
        self._common = CommonChanges(policy)
        self._naming = Naming(
            graph=edited.graph, rule=edited.decisions.rule, kind=edited.batcher.output_kind
        )
        self._robustness = RobustnessTest(
            edited, draws=settings.draws, jitter=settings.jitter, seed=seed
        )

    def run(self, subject: int, search: SearchResult | None) -> Recourse:
        """Find options for a subject; an error becomes a status and stops nobody else."""
        options = self.find(self._edited.about(subject), search)
        return self.with_side_effects([options])[0]

    def find(self, asked: SubjectAnswers, search: SearchResult | None) -> FoundOptions:
        """The same without side effects, which can be asked about for several subjects at once."""
        try:
            return self._find(asked, search)
        except AuditError as error:
            return FoundOptions(recourse=failure(str(error), self._policy.settings.max_changes))

    def with_side_effects(self, parts: Sequence[FoundOptions]) -> list[Recourse]:
        """Ask whose decisions the options of several subjects change; an error is one subject's."""
        try:
            effects = iter(side_effects([query for part in parts for query in part.queries]))
        except AuditError as error:
            if len(parts) == 1:
                return [failure(str(error), self._policy.settings.max_changes)]
            return [recourse for part in parts for recourse in self.with_side_effects([part])]
        with_effects = []
        for recourse in (part.recourse for part in parts):
            options = [replace(option, side_effects=next(effects)) for option in recourse.options]
            with_effects.append(replace(recourse, options=tuple(options)))
        return with_effects

    def what_if(self, subject: int, changes: Sequence[Change]) -> WhatIf:
        asked = self._edited.about(subject, "whole")
        return try_changes(asked, self._policy, self._naming, changes)

    def _find(self, asked: SubjectAnswers, search: SearchResult | None) -> FoundOptions:
        """Search in the fastest way, then in the next if contradicted, all within one budget."""
        settings, decisions = self._policy.settings, self._edited.decisions
        subject, most = asked.subject, settings.max_changes
        now = self._edited.everybody[[subject]]
        margin = round_figure(float(decisions.margin(now, subject)[0]))
        if decisions.favourable(now, subject)[0]:
            certificate = Certificate(max_changes=most, reason="already_favourable")
            recourse = Recourse(status="already_favourable", certificate=certificate, margin=margin)
            return FoundOptions(recourse=recourse)
        table = action_table(self._policy, subject, self._edited.reach)
        conditions = SubjectConditions(self._policy.conditions, table)
        if not len(table):
            recourse = Recourse(
                status="certified_infeasible",
                certificate=self._certificate(conditions, None),
                margin=margin,
                common_actions=self._common.none_serves(conditions),
            )
            return FoundOptions(recourse=recourse)
        spent = 0
        while True:
            verifier = Verifier(asked, table, compare=settings.compare, seed=self._seed)
            trials = Trials(verifier, conditions, partial(self._budget, asked, spent))
            trials.follow(_counterfactuals(table, search, most), most)
            trials.run(most, settings.options)
            chosen = trials.options(settings.options)
            if trials.complete_up_to == most and not trials.successes:
                common, working = self._common.none_serves(conditions), list[Success]()
            else:
                common, working = self._common.try_on(verifier, conditions)
            if working and not chosen:
                trials.add(working)
                chosen = trials.options(settings.options)
            rows = as_rows([success.combination for success, _ in chosen])
            known = [success.answer for success, _ in chosen]
            answers, on_whole = self._confirm(verifier, rows, known)
            spent += verifier.evaluations
            sound = not asked.contradicted and verifier.reaches(rows, answers).all()
            if sound or not asked.fall_back():
                break
        options = tuple(
            self._option(verifier, place, *chosen[place], answer, bool(on_whole[place]))
            for place, answer in enumerate(answers)
        )
        certificate = self._certificate(conditions, trials)
        recourse = Recourse(
            status=_status(options, certificate),
            certificate=certificate,
            margin=margin,
            options=options,
            evaluations=spent,
            evaluated_on=verifier.scope,
            compared=asked.compared,
            droppable=table.droppable,
            common_actions=common,
            responsiveness=measure_responsiveness(verifier, conditions, trials.alone, self._seed),
        )
        queries = [verifier.others.query(np.array(success.combination)) for success, _ in chosen]
        return FoundOptions(recourse=recourse, queries=tuple(queries))

    def _budget(self, asked: SubjectAnswers, spent: int) -> int:
        most = self._policy.settings.budget
        if most is None:
            most = BUDGET if asked.way == "shared" else BUDGET_ONE_BY_ONE
        return most - spent

    def _confirm(
        self, verifier: Verifier, rows: Ints, answers: Sequence[Floats]
    ) -> tuple[Floats, Mask]:
        """The answers for what is to be offered, and which of them the whole graph gave."""
        if not answers:
            return np.empty((0, self._edited.batcher.answer_width)), np.empty(0, bool)
        known = np.array(answers)
        if verifier.scope == "whole graph":
            return known, np.ones(len(known), bool)
        return verifier.confirm(rows, known, most_arcs=CONFIRMED_ARCS)

    def _option(
        self,
        verifier: Verifier,
        place: int,
        success: Success,
        minimal: bool,
        answer: Floats,
        on_whole: bool,
    ) -> Option:
        """An option in the user's ids; its side effects are asked about later."""
        combination, table = np.array(success.combination), verifier.table
        decisions, subject = verifier.others.decisions(combination), table.subject
        return Option(
            actions=table.records(combination),
            cost=round_figure(float(table.cost[combination].sum())),
            decision=decisions.names_of(answer[None], subject)[0],
            probabilities=self._naming.probabilities(answer[None])[0],
            score=self._naming.scores(answer[None])[0],
            margin=round_figure(float(decisions.margin(answer[None], subject)[0])),
            verified=True,
            verified_on="whole graph" if on_whole else "neighbourhood",
            minimal=minimal,
            source=success.source,
            robustness=self._robustness.of(verifier.asked, table, combination, place, decisions),
            side_effects=SideEffects(measured=False),
        )

    def _certificate(self, conditions: SubjectConditions, trials: Trials | None) -> Certificate:
        """How far trials looked; without them, nothing is permitted."""
        most, table = self._policy.settings.max_changes, conditions.table
        complete, without_room = most, 0
        reason: CertificateReason | None = "nothing_permitted"
        if trials is not None:
            complete, without_room = trials.complete_up_to, trials.without_room
            enough: CertificateReason | None = "enough_options" if trials.has_enough else None
            reason = "no_room" if without_room else enough
        return Certificate(
            max_changes=most,
            tried=0 if trials is None else trials.count,
            possible=count_possible(table, most),
            exhaustive=complete == most,
            complete_up_to=complete,
            permitted=table.permits,
            left_out=conditions.count_left_out(most),
            denied=table.denied,
            unasked=without_room,
            reason=reason,
        )


def failure(reason: str, max_changes: int) -> Recourse:
    """The recourse of a subject for whom none could be worked out, and why."""
    return Recourse(status="error", certificate=Certificate(max_changes=max_changes), error=reason)


def _status(options: Sequence[Option], certificate: Certificate) -> RecourseStatus:
    if options:
        return "verified"
    if not certificate.exhaustive:
        return "not_found_within_budget"
    left_out = certificate.left_out.total
    if left_out is not None:
        all_there = certificate.tried + left_out == certificate.possible
        assert all_there, "a size counts as complete and is not"
    return "certified_infeasible"


def _counterfactuals(
    table: ActionTable, search: SearchResult | None, most: int
) -> Iterator[Combination]:
    """What counterfactuals remove, if all of it may be dropped: those shown, then the front.

    An action that ends ties together drops those of other pairs as well.
    """
    if search is None:
        return
    graph = table.graph
    dropping, arcs = table.dropping
    pairs: Ints = np.searchsorted(graph.pair_starts, arcs, side="right") - 1
    actions: dict[int, list[int]] = {}
    for action, pair in zip(dropping.tolist(), pairs.tolist(), strict=True):
        actions.setdefault(pair, []).append(action)
    ways = 1 if graph.directed else 2
    ties = (graph.pair_starts[pairs + 1] - graph.pair_starts[pairs]) // ways
    needed = dict(zip(pairs.tolist(), ties.tolist(), strict=True))
    for removed in (*(tree.removed for tree in search.numbers), *search.front_removed):
        if all(pair in needed and len(actions[pair]) == needed[pair] for pair in removed):
            rows = sorted({action for pair in removed for action in actions[pair]})
            if len(rows) <= most:
                yield tuple(rows)
