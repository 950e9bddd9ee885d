"""Recourse for one subject after the other: a status, verified options, and a certificate.

Candidates come first from the counterfactuals of the search, best first, and then in full or in
order of measured effect (see `trials`). Every option is asked about again on the whole graph where
that is small enough before it is offered.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from recourse_audit.errors import AuditError
from recourse_audit.graph.arrays import Floats, Graph, Ints
from recourse_audit.model.base_fields import KeptFields
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.decisions import Decisions, Mask
from recourse_audit.records.common_actions import CommonOutcome
from recourse_audit.records.model import ProbeReport
from recourse_audit.records.recourse import (
    Certificate,
    Compared,
    LeftOut,
    Option,
    Recourse,
    RecourseStatus,
    WhatIf,
)
from recourse_audit.records.search import SearchResult, Tie
from recourse_audit.recourse.actions import NONE, ActionTable, action_table
from recourse_audit.recourse.combinations import count_possible
from recourse_audit.recourse.common_actions import CommonActions
from recourse_audit.recourse.conditions import SubjectConditions, with_implications
from recourse_audit.recourse.context import RecourseContext
from recourse_audit.recourse.policy import Policy
from recourse_audit.recourse.robustness import RobustnessTest
from recourse_audit.recourse.trials import Combination, Success, Trials
from recourse_audit.recourse.typed_changes import Change
from recourse_audit.recourse.verification import Verifier, Way
from recourse_audit.recourse.what_if import try_changes
from recourse_audit.search.results import Naming, shown
from recourse_audit.settings.recourse import BUDGET, BUDGET_ONE_BY_ONE

CONFIRMED_ARCS = 200_000
NOTHING_PERMITTED = "The policy permits this person no change."
NO_ROOM = (
    "{} could not be asked: the model was exported for a fixed number of nodes and ties and has no "
    "room for the graph with these changes. Export it with dynamic axes to try them."
)
NOTHING_BUT_LEFT_OUT = "Every change that a rule allows would move something else too far."
ALREADY = "The decision is already favourable, so nothing was tried."


class RecourseSearch:
    """The search for options over one graph with one model and one policy."""

    def __init__(
        self,
        graph: Graph,
        batcher: QueryBatcher,
        probes: ProbeReport,
        policy: Policy,
        decisions: Decisions,
        seed: int,
        fields: KeptFields | None = None,
    ) -> None:
        """`decisions` are those on everybody in the whole graph."""
        settings = policy.settings
        self._context = RecourseContext(
            graph, batcher, probes, decisions, compare=settings.compare, seed=seed, fields=fields
        )
        self._policy = policy
        self._common = CommonActions(policy, decisions)
        self._naming = Naming(graph=graph, rule=decisions.rule, kind=batcher.output_kind)
        self._robustness = RobustnessTest(
            self._context, draws=settings.draws, jitter=settings.jitter, seed=seed
        )

    def run(self, subject: int, search: SearchResult | None) -> Recourse:
        """Find options for a subject; an error becomes a status and stops nobody else."""
        try:
            return self._run(subject, search)
        except AuditError as error:
            return failure(str(error), self._policy.settings.max_changes)

    def what_if(self, subject: int, changes: Sequence[Change]) -> WhatIf:
        """Try changes that somebody chose by hand."""
        return try_changes(self._context, self._policy, self._naming, subject, changes)

    def _run(self, subject: int, search: SearchResult | None) -> Recourse:
        settings, decisions = self._policy.settings, self._context.decisions
        now = self._context.whole[subject]
        margin = shown(float(decisions.margin(now[None], subject)[0]))
        if decisions.favourable(now[None], subject)[0]:
            certificate = Certificate(max_changes=settings.max_changes, reason=ALREADY)
            return Recourse(status="already_favourable", certificate=certificate, margin=margin)
        table = action_table(self._policy, subject, self._context.reach)
        if not len(table):
            certificate = self._certificate(table, None, None)
            return Recourse(
                status="certified_infeasible",
                certificate=certificate,
                margin=margin,
                reason=certificate.reason,
                common_actions=self._common.none_serves(table, None),
            )
        conditions = self._policy.conditions
        kept = SubjectConditions(conditions, table) if conditions and table.moves else None
        trials, verifier, options, common, spent, compared = self._tried(table, now, search, kept)
        certificate = self._certificate(table, trials, kept)
        return Recourse(
            status=_status(options, certificate),
            certificate=certificate,
            margin=margin,
            options=options,
            evaluations=spent,
            evaluated_on=verifier.asked_on,
            compared=compared,
            droppable=table.droppable,
            common_actions=common,
        )

    def _tried(
        self,
        table: ActionTable,
        now: Floats,
        search: SearchResult | None,
        kept: SubjectConditions | None,
    ) -> tuple[Trials, Verifier, tuple[Option, ...], tuple[CommonOutcome, ...], int, Compared]:
        """Search in the fastest way; if the whole graph contradicts it, search in the next.

        Also says how many evaluations all took together, which is never more than the budget.
        """
        settings, decisions = self._policy.settings, self._context.decisions
        spent, compared = 0, Compared()
        way: Way | None = "shared"
        while way is not None:
            verifier = Verifier(self._context, table, way)
            trials = Trials(
                verifier,
                decisions,
                table,
                now,
                partial(self._budget, verifier, spent),
                None if kept is None else kept.allowed,
            )
            most = settings.max_changes
            trials.follow(_counterfactuals(table, search, most), most)
            trials.run(most, settings.options)
            chosen = trials.options(settings.options)
            common, works = self._common_actions(trials, verifier, table, kept)
            if works and not chosen:
                trials.add(works)
                chosen = trials.options(settings.options)
            rows = _as_rows([success for success, _ in chosen])
            answers, on_whole = self._confirmed(verifier, rows, [one.answer for one, _ in chosen])
            spent += verifier.evaluations
            compared = compared.with_more(verifier.compared)
            way = verifier.next_way
            if not verifier.contradicted and verifier.reached(rows, answers).all():
                break
        options = tuple(
            self._option(
                verifier, table, success, answer, place, minimal=minimal, on_whole=bool(asked)
            )
            for place, ((success, minimal), answer, asked) in enumerate(
                zip(chosen, answers, on_whole, strict=True)
            )
        )
        return trials, verifier, options, common, spent, compared

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
        return self._common.tried(verifier, table, kept)

    def _budget(self, verifier: Verifier, spent: int) -> int:
        """How many combinations may be tried for a subject, after those that were."""
        most = self._policy.settings.budget
        if most is None:
            most = BUDGET if verifier.way == "shared" else BUDGET_ONE_BY_ONE
        return most - spent

    def _confirmed(
        self, verifier: Verifier, rows: Ints, found: Sequence[Floats]
    ) -> tuple[Floats, Mask]:
        """The answers for what is to be offered, and a mark on those that the whole graph gave.

        The whole graph is asked about where it is not too large.
        """
        if not found:
            return np.empty((0, self._context.batcher.answer_width)), np.empty(0, bool)
        known = np.array(found)
        if verifier.asked_on == "whole graph":
            return known, np.ones(len(known), bool)
        return verifier.confirmed(rows, known, most_arcs=CONFIRMED_ARCS)

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
        combination = np.array(success.combination)
        actions = table.records(combination)
        question = verifier.question(combination)
        decisions, subject = verifier.others.decisions(combination), table.subject
        return Option(
            actions=actions,
            cost=shown(float(table.cost[combination].sum())),
            decision=decisions.names_of(answer[None], subject)[0],
            probabilities=self._naming.probabilities(answer[None])[0],
            score=self._naming.scores(answer[None])[0],
            margin=shown(float(decisions.margin(answer[None], subject)[0])),
            verified=True,
            verified_on="whole graph" if on_whole else "neighbourhood",
            minimal=minimal,
            source=success.source,
            robustness=self._robustness.of(table, combination, question, place, decisions),
            side_effects=verifier.others.side_effects(combination),
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
        reason = ""
        if trials is None:
            reason = NOTHING_PERMITTED
            if left_out.implications:
                reason += f" {NOTHING_BUT_LEFT_OUT}"
            if table.denied:
                number = "1 tie is" if table.denied == 1 else f"{table.denied} ties are"
                reason += f" {number} of kinds that are never suggested."
        elif trials.unasked:
            several = "1 combination" if trials.unasked == 1 else f"{trials.unasked:,} combinations"
            reason = NO_ROOM.format(several)
        return Certificate(
            max_changes=settings.max_changes,
            tried=0 if trials is None else trials.tried,
            possible=possible,
            exhaustive=complete == settings.max_changes,
            complete_up_to=complete,
            permitted=table.permitted,
            left_out=left_out,
            denied=table.denied,
            reason=reason,
        )


def _as_rows(chosen: Sequence[Success]) -> Ints:
    """Combinations of any sizes as rows, padded with `NONE`."""
    width = max((len(success.combination) for success in chosen), default=1)
    rows = np.full((len(chosen), width), NONE)
    for row, success in zip(rows, chosen, strict=True):
        row[: len(success.combination)] = success.combination
    return rows


def failure(reason: str, max_changes: int) -> Recourse:
    """The recourse of a subject for whom none could be worked out, and why."""
    certificate = Certificate(max_changes=max_changes, reason=reason)
    return Recourse(status="error", certificate=certificate, reason=reason)


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
    chosen = [found.removed for found in search.counterfactuals]
    for removed in chosen + [pair.removed for pair in search.front]:
        if all(tie in droppable for tie in removed):
            rows = sorted(row for tie in removed for row in droppable[tie])
            if len(rows) <= most:
                yield tuple(rows)


def _droppable(table: ActionTable) -> dict[Tie, list[int]]:
    """Pairs of people whose ties may all be dropped, with the actions that drop them."""
    graph, arc = table.graph, table.drops.arc
    pair: Ints = np.searchsorted(graph.pair_starts, arc, side="right") - 1
    ways = 1 if graph.directed else 2
    there = (graph.pair_starts[pair + 1] - graph.pair_starts[pair]) // ways
    found: dict[int, list[int]] = {}
    for action, number in enumerate(pair.tolist()):
        found.setdefault(number, []).append(action)
    needed = dict(zip(pair.tolist(), there.tolist(), strict=True))
    ids = graph.ids
    return {
        (str(ids[graph.pair_low[number]]), str(ids[graph.pair_high[number]])): actions
        for number, actions in found.items()
        if len(actions) == needed[number]
    }
