"""Options and certificates over raw columns, against everything that is true of a small world."""

from pathlib import Path

import numpy as np
import pytest

from recourse_audit.audit.large_graphs import whole_answers
from recourse_audit.audit.load import LoadedAudit
from recourse_audit.audit.report import recourse_search
from recourse_audit.records.recourse import Option, Recourse, SetAction
from recourse_audit.recourse.search import RecourseSearch
from tests.cases import long_after
from tests.recourse.raw_worlds import FEATURES, RawWorld, Truth, raw_world, written_out

SEEDS = range(16)
CLEAR = 1e-4


def search_of(audit: LoadedAudit) -> RecourseSearch:
    answers = whole_answers(audit, np.arange(audit.graph.node_count))
    return recourse_search(audit, audit.rule.over(answers))


def combination_of(truth: Truth, option: Option) -> tuple[int, ...]:
    """Which of the reference's changes an option is made of."""
    found = []
    for action in option.actions:
        if isinstance(action, SetAction):
            assert action.before == truth.raw[action.attribute]
            moved = {action.attribute: action.after}
            moved |= {move.attribute: move.after for move in action.implied}
            places = [
                place
                for place, change in enumerate(truth.changes)
                if change.attribute == action.attribute
                and change.values[action.attribute] == action.after
                and {n: v for n, v in change.values.items() if v != truth.raw[n]} == moved
                and change.cost == pytest.approx(action.cost)
                and not change.stopped
            ]
            assert len(places) == 1, f"{action} is not permitted"
            found.append(len(truth.drops) + places[0])
        else:
            [tie] = action.ties
            ends = tuple(sorted(int(name[1:]) for name in tie))
            found.append(truth.drops.index((ends[0], ends[1])))
    return tuple(sorted(found))


def assert_true(world: RawWorld, truth: Truth, found: Recourse) -> None:
    """What was found about one person is what the reference knows."""
    certificate = found.certificate
    left_out = certificate.left_out
    stopped = [some for some in truth.possible if truth.is_stopped(some)]
    assert certificate.possible == len(truth.possible)
    assert left_out.implications == len(stopped)
    assert left_out.conditions == len(truth.possible) - len(stopped) - len(truth.permitted)
    assert left_out.formulas == 0
    assert certificate.exhaustive
    if not truth.working:
        assert found.status == "certified_infeasible"
        assert certificate.tried == len(truth.permitted)
        return
    assert found.status == "verified"
    cheapest = min(truth.cost(some) for some in truth.working)
    assert found.options[0].cost == pytest.approx(cheapest, abs=1e-6)
    for option in found.options:
        some = combination_of(truth, option)
        assert some in truth.working
        assert option.cost == pytest.approx(truth.cost(some), abs=1e-6)
        assert option.probabilities["yes"] == pytest.approx(truth.answers[some], abs=1e-5)
        assert option.minimal
        assert not truth.below(some) & truth.working


@pytest.mark.parametrize("seed", long_after(4, SEEDS))
def test_options_and_certificates_are_those_of_an_exhaustive_search(
    seed: int, tmp_path: Path
) -> None:
    world = raw_world(seed)
    audit = world.open(tmp_path)
    expected = [[written_out(raw)[name] for name in FEATURES] for raw in world.people]
    assert audit.graph.features == pytest.approx(np.array(expected))
    search = search_of(audit)
    checked = 0
    for subject in range(len(world.people)):
        truth = Truth(world, tmp_path, subject)
        now = truth.answer(())
        found = search.run(subject, None)
        if (
            abs(now - 0.5) < CLEAR
            or min(map(abs_margin, truth.answers.values()), default=1) < CLEAR
        ):
            continue
        if now > 0.5:
            assert found.status == "already_favourable"
            continue
        assert_true(world, truth, found)
        checked += 1
    assert checked or all(Truth(world, tmp_path, s).answer(()) > 0.5 for s in range(9))


def abs_margin(answer: float) -> float:
    return abs(answer - 0.5)


def test_the_worlds_hold_every_kind_of_case(tmp_path: Path) -> None:
    """The comparison above would mean little if nothing were ever left out, or nothing worked."""
    seen = {"working": 0, "infeasible": 0, "conditions": 0, "implications": 0, "category": 0}
    for seed in SEEDS[:8]:
        world = raw_world(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        search = search_of(world.open(folder, draws=0))
        for subject in range(len(world.people)):
            found = search.run(subject, None)
            if found.status == "already_favourable":
                continue
            left_out = found.certificate.left_out
            seen["working"] += bool(found.options)
            seen["infeasible"] += found.status == "certified_infeasible"
            seen["conditions"] += bool(left_out.conditions)
            seen["implications"] += bool(left_out.implications)
            actions = [action for option in found.options for action in option.actions]
            seen["category"] += any(
                isinstance(action, SetAction) and isinstance(action.after, str)
                for action in actions
            )
    assert min(seen.values()) >= 3, seen


@pytest.mark.parametrize("seed", long_after(3, SEEDS[:5]))
def test_a_small_budget_claims_nothing_that_was_not_tried(seed: int, tmp_path: Path) -> None:
    world = raw_world(seed)
    truths: list[Truth] = []
    for budget in (1, 6, 25):
        search = search_of(world.open(tmp_path, budget=budget, draws=0))
        truths = truths or [Truth(world, tmp_path, s) for s in range(len(world.people))]
        for subject, truth in enumerate(truths):
            found = search.run(subject, None)
            near = min(map(abs_margin, (truth.answer(()), *truth.answers.values())))
            if near < CLEAR or found.status == "already_favourable":
                continue
            certificate = found.certificate
            left_out = certificate.left_out.total
            assert certificate.tried <= budget
            assert left_out == len(truth.possible) - len(truth.permitted)
            if found.status == "certified_infeasible":
                assert not truth.working
                assert certificate.tried + left_out == certificate.possible
            for option in found.options:
                some = combination_of(truth, option)
                assert some in truth.working
                assert not option.minimal or not truth.below(some) & truth.working
            small = [some for some in truth.working if len(some) <= certificate.complete_up_to]
            assert not small or found.options
