"""Actions that are the same for everybody do what trying them on the whole graph says they do."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recourse_audit.audit.report import explain
from recourse_audit.records.recourse import CommonAction, CommonOutcome, Recourse
from recourse_audit.recourse import common_changes as module
from recourse_audit.recourse.actions import action_table
from recourse_audit.recourse.common_changes import SOURCE, list_changes
from tests.recourse.brute_force import BruteForce
from tests.recourse.random_worlds import random_case
from tests.recourse.raw_worlds import Truth, raw_world
from tests.recourse.test_columns_against_brute_force import CLEAR, abs_margin, search_of
from tests.recourse.test_decision_rules import IDS, MOST, STEP, World, made
from tests.recourse.worlds import change_words, policy_of, star, town

KNIFE_EDGE = 1e-5
# Works, and what it costs; for every way in which somebody can take an action.
Ways = list[tuple[bool, float]]


def expected(action: CommonAction, ways: Ways) -> CommonOutcome:
    """What the ways to take an action say it does."""
    costs = [cost for works, cost in ways if works]
    if costs:
        return CommonOutcome(action=action, outcome="serves", cost=min(costs))
    outcome = "does_not_serve" if ways else "does_not_apply"
    return CommonOutcome(action=action, outcome=outcome)  # type: ignore[arg-type]


def check(found: Recourse, ways: Sequence[Ways]) -> list[str]:
    """Compare what was found for somebody refused, and return the outcomes."""
    for one, several in zip(found.common_actions, ways, strict=True):
        truth = expected(one.action, several)
        assert one.outcome == truth.outcome, one.action
        assert one.cost == (None if truth.cost is None else pytest.approx(truth.cost, abs=1e-6))
    outcomes: list[str] = [one.outcome for one in found.common_actions]
    assert found.status == "verified" or "serves" not in outcomes
    return outcomes


def in_moves(truth: BruteForce, action: CommonAction, step: float) -> Iterator[frozenset[int]]:
    """The sets of a person's moves that take an action."""
    if action.ties is not None:
        same = [
            place
            for place, move in enumerate(truth.moves)
            if move.do == action.do
            and move.kind == action.what
            and move.together == (action.ties == "all")
        ]
        count = 1 if action.ties == "all" else action.ties
        yield from map(frozenset, combinations(same, count))
        return
    assert action.by is not None
    for place, move in enumerate(truth.moves):
        if move.attribute == action.what and move.steps == round(action.by / step):
            yield frozenset({place})


@pytest.mark.parametrize(
    ("name", "number"),
    [("gcn", 17), ("three", 14), ("type", 15), ("dense", 17), ("target", 14), ("whole", 15)],
)
def test_outcomes_equal_the_brute_force(name: str, number: int, tmp_path: Path) -> None:
    case = random_case(name, number)
    audit = case.open(tmp_path)
    steps = {one["name"]: one["step"] for one in case.settings["recourse"].get("attributes", ())}
    reports = explain(audit, case.world.ids)
    seen: set[str] = set()
    for report, truth in zip(reports, case.brute_force(tmp_path), strict=True):
        if truth.is_favourable(truth.now) or truth.least_margin < KNIFE_EDGE:
            continue
        assert report.recourse is not None
        possible = set(truth.combinations)
        ways = [
            [
                (some in truth.working, truth.cost(some))
                for some in in_moves(truth, one.action, steps.get(one.action.what, 1.0))
                if some in possible
            ]
            for one in report.recourse.common_actions
        ]
        seen |= set(check(report.recourse, ways))
    assert seen == {"serves", "does_not_serve", "does_not_apply"}


def test_categories_and_conditions_equal_the_brute_force(tmp_path: Path) -> None:
    """Also what a move implies, and costs in percentiles."""
    seen = set()
    for seed in (0, 3):
        world, folder = raw_world(seed), tmp_path / str(seed)
        folder.mkdir()
        search = search_of(world.open(folder, draws=0))
        for subject in range(len(world.people)):
            truth = Truth(world, folder, subject)
            answers = [truth.answer(()), *truth.answers.values()]
            if answers[0] > 0.5 or min(map(abs_margin, answers)) < CLEAR:
                continue
            found = search.run(subject, None)
            permitted = set(truth.permitted)
            ways = [
                [
                    (some in truth.working, truth.cost(some))
                    for some in in_changes(truth, one.action)
                    if some in permitted
                ]
                for one in found.common_actions
            ]
            for one, outcome in zip(found.common_actions, check(found, ways), strict=True):
                seen.add((one.action.do, one.action.to is None, outcome))
    assert {("set", False, "serves"), ("set", True, "serves")} <= seen
    assert {("set", False, "does_not_apply"), ("set", True, "does_not_apply")} <= seen


def in_changes(truth: Truth, action: CommonAction) -> Iterator[tuple[int, ...]]:
    if isinstance(action.ties, int):
        yield from combinations(range(len(truth.drops)), action.ties)
        return
    for place, change in enumerate(truth.changes, start=len(truth.drops)):
        if change.attribute == action.what:
            after = change.values[action.what]
            wanted = action.to
            if action.by is not None:
                wanted = float(f"{truth.raw[action.what] + action.by:.12g}")  # type: ignore[assignment]
            if after == wanted:
                yield (place,)


@pytest.mark.parametrize(("rule", "seed"), [("lower", 3), ("by", 4), ("quota", 4), ("share", 4)])
def test_an_action_serves_by_the_rule_that_decides(rule: str, seed: int, tmp_path: Path) -> None:
    """Under a quota, everybody is ranked anew."""
    world, audit = made(tmp_path, rule, seed)
    now = world.favourable(world.values())
    outcomes: set[str] = set()
    for subject, report in enumerate(explain(audit, IDS)):
        assert report.recourse is not None
        if now[subject]:
            assert report.recourse.common_actions == ()
            continue
        ways = [by_hand(world, subject, one.action) for one in report.recourse.common_actions]
        outcomes |= set(check(report.recourse, ways))
    assert {"serves", "does_not_serve"} <= outcomes


def by_hand(world: World, subject: int, action: CommonAction) -> Ways:
    if action.by is not None:
        wanted = world.features[subject, 0] + action.by
        levels = [one for one in world.levels(subject) if abs(one - wanted) < 1e-5]
        cost = 0.4 * round(abs(action.by) / STEP)
        return [(world.works(subject, (), level), cost) for level in levels]
    assert isinstance(action.ties, int)
    own = [number for number, tie in enumerate(world.ties) if subject in tie]
    assert action.ties <= MOST
    return [
        (world.works(subject, gone, None), float(len(gone)))
        for gone in combinations(own, action.ties)
    ]


def named(most: int = 100, **recourse: Any) -> list[str]:
    return [change_words(one.action) for one in list_changes(policy_of(star(), **recourse), most)]


RULES_OF_STAR: dict[str, Any] = {
    "ties": [
        {"kind": "payment", "allow": ["drop"]},
        {"kind": "guarantor", "allow": ["drop", "add"]},
    ],
    "attributes": [
        {"name": "savings", "step": 500, "direction": "up", "max": 6500, "unit": "euros"},
        {"name": "late", "step": 1, "integer": True},
    ],
}


def test_the_list_has_every_kind_of_change_with_amounts_that_double() -> None:
    assert named(**RULES_OF_STAR) == [
        "drop one guarantor tie",
        "drop two guarantor ties",
        "add one guarantor tie",
        "drop one payment tie",
        "drop two payment ties",
        "raise savings by 500 euros",
        "raise savings by 1,000 euros",
        "raise savings by 2,000 euros",
        "raise savings by 4,000 euros",
        "raise late by 1",
        "raise late by 2",
        "lower late by 1",
        "lower late by 2",
    ]


def test_of_a_list_that_is_too_long_the_largest_amounts_are_left_out() -> None:
    assert named(7, **RULES_OF_STAR) == [
        "drop one guarantor tie",
        "drop two guarantor ties",
        "add one guarantor tie",
        "drop one payment tie",
        "raise savings by 500 euros",
        "raise late by 1",
        "lower late by 1",
    ]
    assert named(0, **RULES_OF_STAR) == []


def test_two_ties_are_two_changes_and_family_is_never_on_the_list() -> None:
    assert named(max_changes=1) == [
        f"drop one {kind} tie" for kind in ("address", "guarantor", "payment")
    ]


def test_nobody_gets_an_action_that_the_settings_switch_off(tmp_path: Path) -> None:
    audit = random_case("gcn", 15).open(tmp_path, common_actions=0)
    reports = explain(audit, audit.graph.ids.tolist())
    assert all(one.recourse and not one.recourse.common_actions for one in reports)


def test_an_action_that_works_becomes_an_option_if_the_search_found_none(tmp_path: Path) -> None:
    case = random_case("gcn", 15)
    full = explain(case.open(tmp_path, draws=0), case.world.ids)
    short = explain(case.open(tmp_path, draws=0, budget=1), case.world.ids)
    taken = 0
    for one, other in zip(full, short, strict=True):
        assert one.recourse is not None
        assert other.recourse is not None
        assert other.recourse.evaluations <= 1
        if one.recourse.status == "verified":
            assert other.recourse.common_actions == one.recourse.common_actions
        for option in other.recourse.options:
            if option.source == SOURCE:
                taken += 1
                assert option.verified
                assert option.actions in {kept.actions for kept in one.recourse.options} or (
                    option.cost >= one.recourse.options[0].cost
                )
        served = [o for o in other.recourse.common_actions if o.outcome == "serves"]
        assert bool(served) <= (other.recourse.status == "verified")
    assert taken


def test_of_too_many_ways_the_best_are_tried_and_the_rest_is_not_settled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = random_case("three", 14)
    audit = case.open(tmp_path, draws=0, max_changes=2)
    reports = explain(audit, case.world.ids)
    monkeypatch.setattr(module, "MOST_WAYS", 1)
    monkeypatch.setattr(module, "MOST_WAYS_ONE_BY_ONE", 1)
    limited = explain(audit, case.world.ids)
    seen = set()
    for one, other in zip(reports, limited, strict=True):
        assert one.recourse is not None
        assert other.recourse is not None
        pairs = zip(one.recourse.common_actions, other.recourse.common_actions, strict=True)
        for full, short in pairs:
            seen.add(short.outcome)
            if short.outcome == "not_settled":
                assert full.outcome in ("serves", "does_not_serve")
            elif short.outcome != "serves":
                assert short == full
    assert "not_settled" in seen


def test_own_ties_come_first_among_many() -> None:
    policy = policy_of(
        town(people=20, ties=60, kinds=("payment",)),
        ties=[{"kind": "payment", "allow": ["drop"], "whose": "any"}],
    )
    [one, two] = list_changes(policy, 10)
    table = action_table(policy, 3, 2)
    rows = one.rows(table)
    own = table.own[rows]
    assert own.any()
    assert not own.all()
    assert (np.diff(own.astype(int)) <= 0).all()
    assert (two.rows(table) == rows).all()
