"""Recourse for one subject after the other: a status, verified options, and a certificate.

Candidates come first from the counterfactuals of the search, best first, and then in full or in
order of measured effect (see `trials`). Every option is asked about again on the whole graph where
that is small enough before it is offered.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

import numpy as np

from recourse_audit.errors import AuditError
from recourse_audit.graph.graph import Floats, Ints
from recourse_audit.model.decisions import Mask
from recourse_audit.model.edited_graph import EditedGraph, SubjectAnswers
from recourse_audit.records.recourse import (
    Certificate,
    CertificateReason,
    CommonOutcome,
    LeftOut,
    Option,
    Recourse,
    RecourseStatus,
    SideEffects,
    WhatIf,
)
from recourse_audit.records.search import SearchResult
from recourse_audit.recourse.actions import ActionTable, action_table, as_rows
from recourse_audit.recourse.combinations import count_possible
from recourse_audit.recourse.common_changes import CommonChanges
from recourse_audit.recourse.conditions import SubjectConditions, with_implications
from recourse_audit.recourse.policy import Policy
from recourse_audit.recourse.robustness import RobustnessTest
from recourse_audit.recourse.side_effects import ReachQuery, side_effects
from recourse_audit.recourse.trials import Combination, Success, Trials
from recourse_audit.recourse.verification import Verifier
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

    def with_side_effects(self, found: Sequence[SideEffects]) -> Recourse:
        options = zip(self.recourse.options, found, strict=True)
        return replace(
            self.recourse,
            options=tuple(replace(option, side_effects=known) for option, known in options),
        )


class RecourseSearch:
    """The search for options over one graph with one model and one policy."""

    def __init__(self, edited: EditedGraph, policy: Policy, seed: int) -> None:
        settings = policy.settings
        self._edited = edited
        self._policy = policy
        self._seed = seed
        self._common = CommonChanges(policy, edited.decisions)
        self._naming = Naming(
            graph=edited.graph, rule=edited.decisions.rule, kind=edited.batcher.output_kind
        )
        self._robustness = RobustnessTest(
            edited, draws=settings.draws, jitter=settings.jitter, seed=seed
        )

    def run(self, subject: int, search: SearchResult | None) -> Recourse:
        """Find options for a subject; an error becomes a status and stops nobody else."""
        found = self.find(self._edited.about(subject), search)
        return self.with_side_effects([found])[0]

    def find(self, asked: SubjectAnswers, search: SearchResult | None) -> FoundOptions:
        """The same without side effects, which can be asked about for several subjects at once."""
        try:
            return self._find(asked, search)
        except AuditError as error:
            return FoundOptions(recourse=failure(str(error), self._policy.settings.max_changes))

    def with_side_effects(self, found: Sequence[FoundOptions]) -> list[Recourse]:
        """Ask whose decisions the options of several subjects change; an error is one subject's."""
        try:
            known = iter(side_effects([query for part in found for query in part.queries]))
            return [part.with_side_effects([*islice(known, len(part.queries))]) for part in found]
        except AuditError as error:
            if len(found) == 1:
                return [failure(str(error), self._policy.settings.max_changes)]
            return [recourse for part in found for recourse in self.with_side_effects([part])]

    def what_if(self, subject: int, changes: Sequence[Change]) -> WhatIf:
        """Try changes that somebody chose by hand."""
        asked = self._edited.about(subject, "whole")
        return try_changes(asked, self._policy, self._naming, changes)

    def _find(self, asked: SubjectAnswers, search: SearchResult | None) -> FoundOptions:
        settings, decisions = self._policy.settings, self._edited.decisions
        subject = asked.subject
        now = self._edited.everybody[[subject]]
        margin = round_figure(float(decisions.margin(now, subject)[0]))
        if decisions.favourable(now, subject)[0]:
            certificate = Certificate(max_changes=settings.max_changes, reason="already_favourable")
            return FoundOptions(
                recourse=Recourse(
                    status="already_favourable", certificate=certificate, margin=margin
                )
            )
        table = action_table(self._policy, subject, self._edited.reach)
        if not len(table):
            certificate = self._certificate(table, None, None)
            return FoundOptions(
                recourse=Recourse(
                    status="certified_infeasible",
                    certificate=certificate,
                    margin=margin,
                    common_actions=self._common.none_serves(table, None),
                )
            )
        conditions = self._policy.conditions
        kept = SubjectConditions(conditions, table) if conditions and table.moves else None
        attempt, spent = self._attempts(asked, table, search, kept)
        certificate = self._certificate(table, attempt.trials, kept)
        options = attempt.options
        return FoundOptions(
            recourse=Recourse(
                status=_status(options, certificate),
                certificate=certificate,
                margin=margin,
                options=options,
                evaluations=spent,
                evaluated_on=attempt.verifier.asked_on,
                compared=asked.compared,
                droppable=table.droppable,
                common_actions=attempt.common,
            ),
            queries=attempt.queries,
        )

    def _attempts(
        self,
        asked: SubjectAnswers,
        table: ActionTable,
        search: SearchResult | None,
        kept: SubjectConditions | None,
    ) -> tuple["_Attempt", int]:
        """Search in the fastest way; if the whole graph contradicts it, search in the next.

        Also says how many evaluations all took together, which is never more than the budget.
        """
        settings = self._policy.settings
        spent, most = 0, settings.max_changes
        while True:
            verifier = Verifier(asked, table, compare=settings.compare, seed=self._seed)
            trials = Trials(
                verifier,
                self._edited.decisions,
                table,
                self._edited.everybody[table.subject],
                partial(self._budget, asked, spent),
                None if kept is None else kept.allows,
            )
            trials.follow(_counterfactuals(table, search, most), most)
            trials.run(most, settings.options)
            chosen = trials.options(settings.options)
            common, works = self._common_actions(trials, verifier, table, kept)
            if works and not chosen:
                trials.add(works)
                chosen = trials.options(settings.options)
            rows = as_rows([success.combination for success, _ in chosen])
            answers, on_whole = self._confirm(
                verifier, rows, [success.answer for success, _ in chosen]
            )
            spent += verifier.evaluations
            sound = not asked.contradicted and verifier.reaches(rows, answers).all()
            if sound or not asked.fall_back():
                break
        options = [
            self._option(
                verifier, table, success, answer, place, minimal=minimal, on_whole=bool(whole)
            )
            for place, ((success, minimal), answer, whole) in enumerate(
                zip(chosen, answers, on_whole, strict=True)
            )
        ]
        queries = [verifier.others.query(np.array(success.combination)) for success, _ in chosen]
        attempt = _Attempt(
            verifier=verifier,
            trials=trials,
            options=tuple(options),
            common=common,
            queries=tuple(queries),
        )
        return attempt, spent

    def _common_actions(
        self,
        trials: Trials,
        verifier: Verifier,
        table: ActionTable,
        kept: SubjectConditions | None,
    ) -> tuple[tuple[CommonOutcome, ...], list[Success]]:
        """What the common actions do for a subject, and those that work."""
        complete = trials.complete_up_to == self._policy.settings.max_changes
        if complete and not trials.successes:
            return self._common.none_serves(table, kept), []
        return self._common.try_on(verifier, table, kept)

    def _budget(self, asked: SubjectAnswers, spent: int) -> int:
        """How many combinations may be tried for a subject, after those that were."""
        most = self._policy.settings.budget
        if most is None:
            most = BUDGET if asked.way == "shared" else BUDGET_ONE_BY_ONE
        return most - spent

    def _confirm(
        self, verifier: Verifier, rows: Ints, found: Sequence[Floats]
    ) -> tuple[Floats, Mask]:
        """The answers for what is to be offered, and a mark on those that the whole graph gave.

        The whole graph is asked about where it is not too large.
        """
        if not found:
            return np.empty((0, self._edited.batcher.answer_width)), np.empty(0, bool)
        known = np.array(found)
        if verifier.asked_on == "whole graph":
            return known, np.ones(len(known), bool)
        return verifier.confirm(rows, known, most_arcs=CONFIRMED_ARCS)

    def _option(
        self,
        verifier: Verifier,
        table: ActionTable,
        success: Success,
        answer: Floats,
        place: int,
        *,
        minimal: bool,
        on_whole: bool,
    ) -> Option:
        """An option as it is offered, in the user's ids; its side effects are asked about later."""
        combination = np.array(success.combination)
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

    def _certificate(
        self, table: ActionTable, trials: Trials | None, kept: SubjectConditions | None
    ) -> Certificate:
        settings = self._policy.settings
        possible = count_possible(table, settings.max_changes)
        left_out = with_implications(
            table,
            LeftOut() if kept is None else kept.left_out(settings.max_changes),
            settings.max_changes,
        )
        complete = settings.max_changes if trials is None else trials.complete_up_to
        reason: CertificateReason | None = "nothing_permitted" if trials is None else None
        if trials is not None and trials.unasked:
            reason = "no_room"
        return Certificate(
            max_changes=settings.max_changes,
            tried=0 if trials is None else trials.tried,
            possible=possible,
            exhaustive=complete == settings.max_changes,
            complete_up_to=complete,
            permitted=table.permitted_counts,
            left_out=left_out,
            denied=table.denied,
            unasked=0 if trials is None else trials.unasked,
            reason=reason,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    """What a search in one way of asking found."""

    verifier: Verifier
    trials: Trials
    options: tuple[Option, ...]
    common: tuple[CommonOutcome, ...]
    queries: tuple[ReachQuery, ...]


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
    """What counterfactuals remove, if all of it may be dropped: those shown, then the front."""
    if search is None:
        return
    droppable = _droppable(table)
    for removed in (*(tree.removed for tree in search.numbers), *search.front_removed):
        if all(pair in droppable for pair in removed):
            rows = sorted({row for pair in removed for row in droppable[pair]})
            if len(rows) <= most:
                yield tuple(rows)


def _droppable(table: ActionTable) -> dict[int, list[int]]:
    """Pairs of people whose ties may all be dropped, with the actions that drop them.

    An action that ends ties together drops those of other pairs as well.
    """
    graph, arc = table.graph, table.ties.arc
    pair: Ints = np.searchsorted(graph.pair_starts, arc, side="right") - 1
    ways = 1 if graph.directed else 2
    there = (graph.pair_starts[pair + 1] - graph.pair_starts[pair]) // ways
    found: dict[int, list[int]] = {}
    for action, number in zip(table.dropping.tolist(), pair.tolist(), strict=True):
        found.setdefault(number, []).append(action)
    needed = dict(zip(pair.tolist(), there.tolist(), strict=True))
    return {number: actions for number, actions in found.items() if len(actions) == needed[number]}
