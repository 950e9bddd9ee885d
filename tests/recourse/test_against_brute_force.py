"""Options, certificates and side effects are what trying every combination says they are.

Left out are people for whom some combination ends within 1e-5 of the edge between a favourable and
another class: there the noise of single precision decides, and not the definitions.
"""

from collections.abc import Iterator, Sequence
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest

from recourse_audit.audit.report import explain
from recourse_audit.records.recourse import (
    Action,
    MoveAction,
    Option,
    Recourse,
    SetAction,
    TogetherAction,
    survival,
)
from tests.cases import long_after
from tests.recourse.brute_force import BruteForce, Combination, Move
from tests.recourse.random_worlds import AMPLE, MOVING, NETWORKS, Case, random_case

KNIFE_EDGE = 1e-5
NUMBERS = range(14, 21)
MOVES = range(MOVING, MOVING + 6)
BUDGETS = (1, 4, 17, 60)
Key = tuple[str, int]


class Truths:
    """Brute force over the random cases, each worked out once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[Key, list[BruteForce]] = {}

    def folder(self, key: Key) -> Path:
        return self._folder / f"{key[0]}-{key[1]}"

    def of(self, key: Key) -> list[BruteForce]:
        if key not in self._known:
            self.folder(key).mkdir()
            case = random_case(*key)
            case.write(self.folder(key))
            self._known[key] = case.brute_force(self.folder(key))
        return self._known[key]


@pytest.fixture(scope="module")
def truths(tmp_path_factory: pytest.TempPathFactory) -> Truths:
    return Truths(tmp_path_factory.mktemp("worlds"))


def recourse_of(
    truths: Truths, key: Key, ids: Sequence[str] | None = None, **settings: object
) -> dict[str, Recourse]:
    """Explain some people of a case, in the order given; all of them if none are named."""
    case = random_case(*key)
    truths.of(key)
    audit = case.open(truths.folder(key), **settings)
    reports = explain(audit, case.world.ids if ids is None else ids)
    found = {report.subject.id: report.recourse for report in reports}
    return {name: recourse for name, recourse in found.items() if recourse is not None}


def clear_cut(truths: Truths, key: Key) -> Iterator[tuple[str, BruteForce]]:
    """The people of a case for whom no combination ends on a knife edge."""
    for name, truth in zip(random_case(*key).world.ids, truths.of(key), strict=True):
        if truth.least_margin >= KNIFE_EDGE:
            yield name, truth


@pytest.mark.parametrize("number", [*long_after(2, NUMBERS), *long_after(1, MOVES)])
@pytest.mark.parametrize("name", NETWORKS)
def test_recourse_equals_the_brute_force(name: str, number: int, truths: Truths) -> None:
    key = name, number
    found = recourse_of(truths, key)
    assert list(found) == list(random_case(*key).world.ids)
    for person, truth in clear_cut(truths, key):
        recourse = found[person]
        assert recourse.evaluations <= AMPLE
        assert recourse.margin == pytest.approx(truth.margin(truth.now), abs=1e-5)
        if truth.is_favourable(truth.now):
            assert (recourse.status, recourse.options) == ("already_favourable", ())
            continue
        assert_same_certificate(truth, recourse)
        if truth.working:
            assert recourse.status == "verified"
            assert_options(random_case(*key), truth, recourse)
        else:
            assert (recourse.status, recourse.options) == ("certified_infeasible", ())


def assert_same_certificate(truth: BruteForce, recourse: Recourse) -> None:
    certificate = recourse.certificate
    assert certificate.max_changes == truth.policy.max_changes
    assert certificate.possible == truth.possible
    assert certificate.left_out.total == truth.possible - len(truth.combinations)
    assert certificate.denied == truth.policy.denied(truth.subject)
    counts = {do: sum(move.do == do for move in truth.moves) for do in ("drop", "add", "move")}
    names = [move.attribute for move in truth.moves if move.attribute is not None]
    permitted = certificate.permitted
    assert {"drop": permitted.drop, "add": permitted.add, "move": permitted.move} == counts
    levels = {name: names.count(name) for name in truth.policy.attributes}
    assert {name: count for name, count in permitted.set.items() if count} == {
        name: count for name, count in levels.items() if count
    }
    if truth.working:
        assert certificate.tried <= len(truth.combinations)
    else:
        assert certificate.tried == len(truth.combinations)
        assert certificate.exhaustive
        assert certificate.complete_up_to == certificate.max_changes
        assert bool(truth.moves) or certificate.reason


def assert_options(case: Case, truth: BruteForce, recourse: Recourse) -> None:
    """Each option is minimal and true; the first costs no more than anything that works."""
    options, limit = recourse.options, case.settings["recourse"]["options"]
    combinations = [combination_of(case, truth, option) for option in options]
    assert 1 <= len(options) <= limit
    assert len(set(combinations)) == len(combinations)
    for option, some in zip(options, combinations, strict=True):
        assert option.minimal
        assert some in truth.minimal
        assert_option(case, truth, option, some)
    costs = [option.cost for option in options]
    assert costs == sorted(costs)
    assert costs[0] == pytest.approx(min(truth.cost(some) for some in truth.working))
    certificate = recourse.certificate
    if certificate.exhaustive:
        assert len(options) == min(limit, len(truth.minimal))
        assert is_diverse(truth, combinations)


def assert_option(case: Case, truth: BruteForce, option: Option, some: Combination) -> None:
    shares = truth.answers[some]
    classes = case.settings["decision"]["classes"]
    assert option.verified is True
    assert option.source in ("counterfactual", "effect", "exhaustive")
    assert list(option.probabilities) == classes
    assert list(option.probabilities.values()) == pytest.approx(shares, abs=1e-5)
    assert option.decision == classes[int(np.argmax(shares))]
    assert option.margin == pytest.approx(truth.margin(shares), abs=2e-5)
    assert option.margin > 0
    assert option.cost == pytest.approx(truth.cost(some))
    assert option.cost == pytest.approx(sum(action.cost for action in option.actions))
    draws = case.settings["recourse"]["draws"]
    if draws and option.robustness is not None:
        assert option.robustness.draws == draws
        for held in (option.robustness.ties, option.robustness.attributes):
            assert 0 <= held.count <= draws
            assert held == survival(held.count, draws)
    assert (option.robustness is None) == (not draws)
    assert_side_effects(case, truth, option, some)


def assert_side_effects(case: Case, truth: BruteForce, option: Option, some: Combination) -> None:
    """Whose other decisions change, and in which direction."""
    before, after = truth.everyone(frozenset()), truth.everyone(some)
    if any(abs(truth.margin(row)) < KNIFE_EDGE for row in (*before, *after)):
        return
    if case.network.form.inputs == "target":
        assert not option.side_effects.measured
        return
    assert option.side_effects.measured
    expected: dict[tuple[bool, bool], set[str]] = {}
    for person, (old, new) in enumerate(zip(before, after, strict=True)):
        if person != truth.subject and np.argmax(old) != np.argmax(new):
            way = truth.is_favourable(old), truth.is_favourable(new)
            expected.setdefault(way, set()).add(case.world.ids[person])
    assert set(option.side_effects.to_favourable) == expected.get((False, True), set())
    assert set(option.side_effects.to_unfavourable) == expected.get((True, False), set())
    assert set(option.side_effects.other) == (
        expected.get((True, True), set()) | expected.get((False, False), set())
    )


def combination_of(case: Case, truth: BruteForce, option: Option) -> Combination:
    """The only permitted combination that an option can be."""
    choices = [list(places_of(case, truth, action)) for action in option.actions]
    found = {frozenset(places) for places in product(*choices)}
    fitting = [places for places in found if len(places) == len(option.actions)]
    assert len(fitting) == 1, f"{len(fitting)} permitted combinations are {option.actions}"
    assert fitting[0] in truth.answers
    return fitting[0]


def places_of(case: Case, truth: BruteForce, action: Action) -> Iterator[int]:
    """The permitted moves that an action describes; there should be one."""
    for place, move in enumerate(truth.moves):
        if move.do != action.do:
            continue
        if move.ties and not isinstance(action, SetAction):
            named = [tuple(case.world.ids[end] for end in tie) for tie in move.ties]
            if not case.world.directed:
                named += [tie[::-1] for tie in named]
            same = action.kind == move.kind and set(action.ties) <= set(named)
            same &= len(action.ties) == len(move.ties)
            if isinstance(action, MoveAction):
                same &= action.to == case.world.ids[sum(move.new or ()) - truth.subject]
            if same and action.cost == pytest.approx(move.cost):
                assert isinstance(action, TogetherAction) == move.together
                yield place
        elif isinstance(action, SetAction) and move.attribute == action.attribute:
            after = {action.attribute: action.after}
            after |= {implied.attribute: implied.after for implied in action.implied}
            if after == pytest.approx(move.values) and action.cost == pytest.approx(move.cost):
                before = truth.policy.current(action.attribute, truth.subject)
                assert action.before == pytest.approx(before)
                yield place


def is_diverse(truth: BruteForce, combinations: Sequence[Combination]) -> bool:
    """Whether the options can have been chosen one by one: the cheapest, then the farthest."""
    return any(was_greedy(truth, order) for order in permutations(combinations))


def was_greedy(truth: BruteForce, order: Sequence[Combination]) -> bool:
    cheapest = min(truth.cost(some) for some in truth.minimal)
    if truth.cost(order[0]) > cheapest + 1e-9:
        return False
    for place in range(1, len(order)):
        chosen, left = order[:place], truth.minimal - set(order[:place])
        ranked = {
            some: (-min(distance(truth, some, other) for other in chosen), truth.cost(some))
            for some in left
        }
        best = min(ranked.values())
        if ranked[order[place]] > (best[0] + 1e-9, best[1] + 1e-9):
            return False
    return True


def distance(truth: BruteForce, one: Combination, other: Combination) -> float:
    """The Jaccard distance of what two combinations touch."""
    first, second = touched(truth, one), touched(truth, other)
    return 1 - len(first & second) / len(first | second)


def touched(truth: BruteForce, some: Combination) -> set[object]:
    moves = [(place, truth.moves[place]) for place in some]
    return {move.attribute or move.rows or place for place, move in moves}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_small_budget_claims_nothing_that_was_not_tried(name: str, truths: Truths) -> None:
    for number, budget in zip(NUMBERS, BUDGETS, strict=False):
        key = name, number
        found = recourse_of(truths, key, budget=budget, draws=0)
        for person, truth in clear_cut(truths, key):
            recourse = found[person]
            if truth.is_favourable(truth.now):
                assert recourse.status == "already_favourable"
                continue
            certificate = recourse.certificate
            assert recourse.evaluations <= budget
            assert certificate.tried <= min(budget, len(truth.combinations))
            assert certificate.possible == truth.possible
            if certificate.tried < len(truth.combinations):
                assert recourse.status != "certified_infeasible"
            if recourse.status == "verified":
                assert recourse.options
                for option in recourse.options:
                    some = combination_of(random_case(*key), truth, option)
                    assert some in (truth.minimal if option.minimal else truth.working)
            else:
                assert recourse.options == ()
                assert_nothing_small_works(truth, certificate.complete_up_to, certificate.tried)
                infeasible = certificate.tried == len(truth.combinations)
                assert recourse.status == (
                    "certified_infeasible" if infeasible else "not_found_within_budget"
                )


def assert_nothing_small_works(truth: BruteForce, size: int, tried: int) -> None:
    """A size that is said to be complete is: all of it was tried, and none of it works."""
    small = {some for some in truth.combinations if len(some) <= size}
    assert not small & truth.working
    assert len(small) <= tried


@pytest.mark.parametrize("name", NETWORKS)
def test_a_budget_for_every_combination_and_the_check_before_them_is_enough(
    name: str, truths: Truths
) -> None:
    key = name, NUMBERS[1]
    hopeless = [
        (len(truth.combinations), person)
        for person, truth in clear_cut(truths, key)
        if not truth.working and not truth.is_favourable(truth.now)
    ]
    for possible, person in sorted(hopeless)[-2:]:
        recourse = recourse_of(truths, key, [person], budget=possible + 1)[person]
        assert recourse.status == "certified_infeasible"


@pytest.mark.parametrize("name", NETWORKS)
def test_the_answer_does_not_depend_on_who_else_is_asked_about(name: str, truths: Truths) -> None:
    key = name, NUMBERS[2]
    ids = random_case(*key).world.ids
    together = recourse_of(truths, key)
    assert recourse_of(truths, key, ids[::-1]) == together
    audit = random_case(*key).open(truths.folder(key))
    for person in ids[::3]:
        assert [report.recourse for report in explain(audit, [person])] == [together[person]]


@pytest.mark.parametrize("name", NETWORKS)
def test_an_option_holds_in_every_draw_if_nothing_changes_around_it(
    name: str, truths: Truths
) -> None:
    key = name, NUMBERS[2]
    found = recourse_of(truths, key, jitter=0.0, draws=4)
    for person, _ in clear_cut(truths, key):
        for option in found[person].options:
            assert option.robustness is not None
            assert option.robustness.draws == 4
            assert option.robustness.ties == option.robustness.attributes == survival(4, 4)


@pytest.mark.parametrize("number", long_after(1, [NUMBERS[3], MOVES[0]]))
@pytest.mark.parametrize("name", NETWORKS)
def test_a_change_tried_by_hand_is_answered_like_the_brute_force(
    name: str, number: int, truths: Truths
) -> None:
    key = name, number
    case = random_case(*key)
    truths.of(key)
    audit = case.open(truths.folder(key), draws=0, budget=1)
    for person, truth in clear_cut(truths, key):
        for some in truth.combinations[:: max(1, len(truth.combinations) // 3)][:3]:
            moves = [truth.moves[place] for place in sorted(some)]
            words = [words for move in moves for words in words_for(case, move)]
            if any(len(move.values) > 1 for move in moves):
                continue  # what a change implies is the policy's word, not the auditor's
            [report] = explain(audit, [person], what_if=words)
            assert report.what_if is not None
            shares = truth.answer(some)
            assert list(report.what_if.probabilities.values()) == pytest.approx(shares, abs=1e-5)
            assert report.what_if.favourable == truth.is_favourable(shares)
            assert report.what_if.margin == pytest.approx(truth.margin(shares), abs=2e-5)
            assert report.what_if.margin_before == pytest.approx(truth.margin(truth.now), abs=2e-5)
            assert report.what_if.forbidden == ()


def words_for(case: Case, move: Move) -> Iterator[str]:
    if not move.ties:
        yield f"{move.attribute}={move.values[str(move.attribute)]!r}"
    for one, other in move.ties:
        text = f"{move.do} {case.world.ids[one]}-{case.world.ids[other]}:{move.kind}"
        if move.new is not None:
            [to] = {*move.new} - {one, other}
            text += f" to {case.world.ids[to]}"
        yield text


def test_knife_edges_are_rare_and_the_random_worlds_hold_what_is_awkward(truths: Truths) -> None:
    keys = [(name, number) for name in NETWORKS for number in NUMBERS]
    people = [truth for key in keys for truth in truths.of(key)]
    refused = [truth for truth in people if not truth.is_favourable(truth.now)]
    assert sum(truth.least_margin < KNIFE_EDGE for truth in people) < len(people) / 100
    assert sum(bool(truth.working) for truth in refused) > len(refused) / 5
    assert sum(bool(truth.moves) and not truth.working for truth in refused) > len(refused) / 5
    assert any(not truth.moves for truth in refused)
    shown = [(truth, some) for truth in refused for some in truth.minimal]
    assert {len(some) for _, some in shown} >= {1, 2, 3}
    done = [{truth.moves[place].do for place in some} for truth, some in shown]
    for wanted in ({"drop"}, {"add"}, {"set"}, {"drop", "add"}, {"drop", "set"}, {"add", "set"}):
        assert wanted in done
    assert any(len(truth.moves[p].rows) > 1 for truth, some in shown for p in some)
    moving = [truth for name in NETWORKS for number in MOVES for truth in truths.of((name, number))]
    refused_movers = [truth for truth in moving if not truth.is_favourable(truth.now)]
    moved = [
        {truth.moves[place].do for place in some}
        for truth in refused_movers
        for some in truth.minimal
    ]
    for wanted in ({"move"}, {"move", "drop"}, {"move", "add"}, {"move", "set"}):
        assert wanted in moved
    assert any(not truth.working and len(truth.moves) > 9 for truth in refused_movers)
    assert any(truth.moves[p].steps > 1 for truth, some in shown for p in some)
    assert any(truth.moves[p].steps < -1 for truth, some in shown for p in some)
    assert any(len(truth.moves[p].values) > 1 for truth, some in shown for p in some)
    for directed in (True, False):
        worlds = [random_case(*key).world for key in keys]
        worlds = [world for world in worlds if world.directed is directed]
        assert any(len(world.hops[0]) == 1 for world in worlds)
        assert any(world.candidates for world in worlds)
        assert any(row.source == row.target for world in worlds for row in world.rows)
        ends = [[frozenset((r.source, r.target)) for r in world.rows] for world in worlds]
        assert any(len(set(pairs)) < len(pairs) for pairs in ends)
