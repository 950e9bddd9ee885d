"""Common changes: the same for everybody, tried one by one on each subject.

The list comes from the policy alone: one tie of a kind, and two, or all of them where they end
together; one new tie, and one that moves; each attribute by 1, 2, 4, 8, … steps, as far as its
range goes; each category that may be suggested. So groups can be compared in whom a change serves,
which options that differ from person to person do not allow.

A change that leaves a choice (which tie is dropped?) serves a subject if one of the ways to make it
does. Only ways that the policy permits are tried, so whoever is served has an option.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from recourse_audit.errors import AnswerError
from recourse_audit.graph.graph import Ints
from recourse_audit.records.recourse import CommonAction, CommonOutcome, Outcome
from recourse_audit.recourse.actions import NONE, TIE_WORDS, ActionTable
from recourse_audit.recourse.attributes import SIGNS, Movement, round_value
from recourse_audit.recourse.conditions import SubjectConditions
from recourse_audit.recourse.policy import Policy
from recourse_audit.recourse.trials import AT_ONCE, Success, Verifier, combinations_in
from recourse_audit.search.pareto import round_figure

SOURCE = "common action"
MOST_TIES = 2
LONGEST_SPAN = 2.0**30  # steps of a number
# In how many ways one action is tried: where many fit into one question, and where they do not.
MOST_WAYS = 300
MOST_WAYS_ONE_BY_ONE = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedChange:
    """An action of the list: the kind of tie, or the rule and the signed steps, that it is about.

    `tier` says when it is left out of a list that is too long: the largest amounts go first.
    """

    action: CommonAction
    tier: int
    kind: int = NONE
    rule: str = ""
    steps: int = 0

    def rows(self, table: ActionTable) -> Ints:
        """The subject's changes of which this action takes one, or two; own ties come first."""
        if self.action.do != "set":
            alike = (table.do == TIE_WORDS[self.action.do]) & (table.kind == self.kind)
            rows = np.flatnonzero(alike & (table.together == (self.action.ties == "all")))
            return rows[np.argsort(~table.own[rows], kind="stable")]
        names = [movement.rule.name for movement, _ in table.moves]
        if self.rule not in names:
            return np.empty(0, np.int64)
        place = names.index(self.rule)
        rows = np.flatnonzero((table.move == place) & (table.steps == self.steps))
        if self.action.to is None:
            return rows
        after = [values[0] for values in table.moves[place][1].after]
        return rows[[value == self.action.to for value in after]]


def list_changes(policy: Policy, most: int) -> tuple[ListedChange, ...]:
    """The common actions of a policy, at most so many: small amounts of every kind come first."""
    listed = [*_of_ties(policy)]
    for movement in policy.movements:
        listed += _of_attribute(movement)
    kept = sorted(range(len(listed)), key=lambda place: (listed[place].tier, place))[:most]
    return tuple(listed[place] for place in sorted(kept))


def _of_ties(policy: Policy) -> Iterator[ListedChange]:
    for kind, name in enumerate(policy.graph.ties.kinds):
        if policy.denied[kind]:
            continue
        together, most = policy.together[kind] >= 0, min(MOST_TIES, policy.settings.max_changes)
        one_by_one = (policy.drop[kind] & ~together).any()
        actions = [
            *(CommonAction(do="drop", what=name, ties=n + 1) for n in range(most) if one_by_one),
            *([CommonAction(do="drop", what=name, ties="all")] if together.any() else ()),
            *([CommonAction(do="add", what=name, ties=1)] if policy.add[kind].any() else ()),
            *([CommonAction(do="move", what=name, ties=1)] if policy.move[kind].any() else ()),
        ]
        for action in actions:
            yield ListedChange(action=action, tier=int(action.ties == 2), kind=kind)


def _of_attribute(movement: Movement) -> Iterator[ListedChange]:
    rule, attribute = movement.rule, movement.attribute
    if not attribute.is_number:
        for to in dict.fromkeys([move.to for move in rule.moves] or rule.values):
            action = CommonAction(do="set", what=rule.name, to=to)
            yield ListedChange(action=action, tier=0, rule=rule.name)
        return
    reach = (attribute.high - attribute.low) / movement.step
    span = int(min(max(reach, 0.0), LONGEST_SPAN) + 1e-6)
    for sign in SIGNS[rule.direction]:
        for tier in range(max(span, 1).bit_length()):
            steps = sign * 2**tier
            if not math.isfinite(steps * movement.step):
                break
            by = round_value(steps * movement.step)
            action = CommonAction(do="set", what=rule.name, by=by, unit=rule.unit)
            yield ListedChange(action=action, tier=tier, rule=rule.name, steps=steps)


class CommonChanges:
    """The common actions of a policy, tried on one subject after the other."""

    def __init__(self, policy: Policy) -> None:
        self._listed = list_changes(policy, policy.settings.common_actions)

    def none_serves(self, conditions: SubjectConditions) -> tuple[CommonOutcome, ...]:
        """What is known without asking if no permitted combination of changes works."""
        words: tuple[Outcome, ...] = ("does_not_apply", "does_not_serve")
        return tuple(
            CommonOutcome(
                action=listed.action, outcome=words[len(_list_ways(listed, conditions, 1)[0]) > 0]
            )
            for listed in self._listed
        )

    def try_on(
        self, verifier: Verifier, conditions: SubjectConditions
    ) -> tuple[tuple[CommonOutcome, ...], list[Success]]:
        """What each action does for a subject, and the ways that work."""
        if not self._listed:
            return (), []
        most = MOST_WAYS if verifier.asked.way == "shared" else MOST_WAYS_ONE_BY_ONE
        evaluations = verifier.evaluations
        answers = _WayAnswers(verifier)
        ways = [_list_ways(listed, conditions, most) for listed in self._listed]
        try:
            answers.ask(np.concatenate([rows for rows, _ in ways]))
            side = int((1 + (1 + 8 * most) ** 0.5) / 2)  # so many ties have at most `most` pairs
            for place, listed in enumerate(self._listed):
                rows, complete = ways[place]
                if not complete and listed.action.ties == 2:
                    # Not all pairs were tried: those of the ties that help most alone.
                    pairs = _pairs(answers.best(listed.rows(verifier.table)[:most], side))
                    rows = np.concatenate((rows, conditions.keep(pairs)))
                    ways[place] = np.unique(rows, axis=0), False
            answers.ask(np.concatenate([rows for rows, _ in ways]))
        except AnswerError:
            return tuple(
                replace(outcome, outcome="not_settled")
                if outcome.outcome == "does_not_serve"
                else outcome
                for outcome in self.none_serves(conditions)
            ), []
        finally:
            verifier.evaluations = evaluations  # these do not count towards the budget
        outcomes = tuple(
            answers.outcome(listed.action, rows, complete=complete)
            for listed, (rows, complete) in zip(self._listed, ways, strict=True)
        )
        return outcomes, answers.successes


def _list_ways(listed: ListedChange, conditions: SubjectConditions, most: int) -> tuple[Ints, bool]:
    """At most so many ways to take an action that the conditions allow; whether these are all.

    Conditions are about attributes, so they allow all ways to change ties, or none.
    """
    chosen = listed.rows(conditions.table)
    if listed.action.ties == 2:
        count = len(chosen) * (len(chosen) - 1) // 2
        # Of too many, which ones help most is known later.
        rows = _pairs(chosen if count <= most else chosen[:2])
    else:
        count, few = len(chosen), chosen[:most]
        rows = np.column_stack((few, np.full(len(few), NONE)))
    return conditions.keep(rows), count <= most


def _pairs(actions: Ints) -> Ints:
    return np.array([*combinations(np.sort(actions).tolist(), 2)], np.int64).reshape(-1, 2)


class _WayAnswers:
    """The answers about ways to take actions, each asked about once."""

    def __init__(self, verifier: Verifier) -> None:
        self.successes: list[Success] = []
        self._verifier = verifier
        self._works: dict[tuple[int, ...], bool] = {}
        self._lead: dict[int, float] = {}

    def ask(self, rows: Ints) -> None:
        fresh = [row for row in dict.fromkeys(map(tuple, rows.tolist())) if row not in self._works]
        for first in range(0, len(fresh), AT_ONCE):
            rows = np.array(fresh[first : first + AT_ONCE])
            answers = self._verifier.answers(rows)
            there = ~np.isnan(answers).all(axis=1)
            rows, answers = rows[there], answers[there]
            works = self._verifier.reaches(rows, answers).tolist()
            asked = self._verifier.asked
            leads = asked.edited.decisions.lead(answers, asked.subject).tolist()
            self._works |= zip(map(tuple, rows.tolist()), works, strict=True)
            chosen = combinations_in(rows)
            for actions, answer, good, lead in zip(chosen, answers, works, leads, strict=True):
                if len(actions) == 1:
                    self._lead[actions[0]] = lead
                if good:
                    self.successes.append(
                        Success(combination=actions, answer=answer, source=SOURCE)
                    )

    def best(self, actions: Ints, count: int) -> Ints:
        """The single actions that move the answer farthest towards a favourable one."""
        leads = np.array([self._lead.get(action, -np.inf) for action in actions.tolist()])
        return np.sort(actions[np.argsort(-leads, kind="stable")[:count]])

    def outcome(self, action: CommonAction, ways: Ints, *, complete: bool) -> CommonOutcome:
        """What one action does, by the ways that were asked about."""
        if not len(ways):
            return CommonOutcome(action=action, outcome="does_not_apply")
        rows = [tuple(row) for row in ways.tolist()]
        working = ways[[self._works.get(row, False) for row in rows]]
        if len(working):
            costs = np.where(working == NONE, 0.0, self._verifier.table.cost[working])
            cost = float(costs.sum(axis=1).min())
            return CommonOutcome(action=action, outcome="serves", cost=round_figure(cost))
        settled = complete and all(row in self._works for row in rows)
        outcome: Outcome = "does_not_serve" if settled else "not_settled"
        return CommonOutcome(action=action, outcome=outcome)
