"""Grades are true by construction, on planted models and on moves that are made up."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recourse_audit.audit.caveats import (
    Effects,
    Removal,
    confounder_caveat,
    effect_over,
    grade,
    mean_interval,
    rounds,
)
from recourse_audit.graph.readers import from_arrays
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.records.subject import AdjustedEffect, Grade
from recourse_audit.settings import CaveatSettings
from tests.audit.arithmetic_model import arithmetic_model
from tests.decisions import decisions_over
from tests.search.engine import open_batcher

# Moves are 0.01 times a feature between -1 and 1, and those up to 0.002 too small to speak of.
SIZE = 0.01
SMALLEST = 0.002
SIZES = (60, 240, 960)


class Planted:
    """A path 0 - 1 - 2 whose end is removed: that moves `yes` by -0.01 times the own feature.

    The subject's own feature and that of node 1 are drawn from a population with given ones. With
    a spread, the model gives scores of that standard deviation.
    """

    def __init__(
        self, folder: Path, own: float, population: Sequence[float], spread: float | None = None
    ) -> None:
        features = np.array([own, 1.0, 1.0, *population])[:, None]
        drawn = np.array(["me", "other", "other", *["me"] * len(population)])
        self.graph = from_arrays(features, [[0, 1], [1, 2]], attributes={"drawn": drawn})
        kind = "probabilities" if spread is None else "score"
        path = arithmetic_model(
            folder / "model.onnx", times_own=True, size=SIZE, scores=spread is not None
        )
        self.batcher: QueryBatcher = open_batcher(path, self.graph, output=kind)
        answers = np.zeros((self.graph.node_count, 2))
        if spread is not None:
            answers = np.resize([-spread, spread], (self.graph.node_count, 1))
        rule: dict[str, Any] = {} if spread is None else {"cut_off": 0.0}
        self.decisions = decisions_over(
            answers, ["yes"], ["no", "yes"], graph=self.graph, kind=kind, **rule
        )

    def effects(self, **settings: float) -> Effects:
        chosen = {"stratum": "drawn", "smallest_effect": SMALLEST, **settings}
        checked = CaveatSettings.model_validate(chosen)
        return Effects(self.graph, self.batcher, self.decisions, 2, checked, seed=3)

    def effect(self, **settings: float) -> AdjustedEffect:
        [(_, effect)] = self.effects(**settings).measure([END])
        assert effect is not None
        return effect


END = Removal(subject=0, decision=1, nodes=np.arange(3), pairs=np.array([0, 1]), kept=np.array([0]))
MILLIONTH = 1e-4
PLANTED: dict[str, tuple[float, list[float], Grade, bool]] = {
    "as it is": (0.6, [0.6] * 400, "holds", False),
    "larger": (0.5, [1.0] * 400, "holds", False),
    "larger for seven in ten": (0.5, [1.0] * 280 + [0.0] * 120, "holds", True),
    "a third": (1.0, [0.33] * 400, "weakens", False),
    "all of it for a third of people": (1.0, [1.0] * 133 + [0.0] * 267, "weakens", True),
    "nothing": (1.0, [0.0] * 400, "no_effect", False),
    "little, both ways": (1.0, [0.1] * 200 + [-0.15] * 200, "no_effect", False),
    "much, both ways": (1.0, [0.5] * 200 + [-0.5] * 200, "no_effect", True),
    "a millionth the other way": (1.0, [-MILLIONTH] * 400, "no_effect", False),
    "a millionth, and the other way": (MILLIONTH, [-MILLIONTH] * 40, "no_effect", False),
    "the other way": (1.0, [-1.0] * 400, "reverses", False),
    "the other way for eight in ten": (1.0, [-1.0] * 320 + [0.5] * 80, "reverses", True),
    "half": (1.0, [1.0] * 200 + [0.0] * 200, "not_settled", True),
    "at the smallest that counts": (1.0, [0.4] * 200 + [0.0] * 200, "not_settled", True),
    "none, and the same way": (0.1, [0.6] * 400, "holds", False),
    "none, and the other way": (0.1, [-0.6] * 400, "not_settled", True),
}


@pytest.mark.parametrize("name", PLANTED)
def test_an_effect_gets_the_grade_that_was_planted(name: str, tmp_path: Path) -> None:
    own, population, expected, depends = PLANTED[name]
    effect = Planted(tmp_path, own, population).effect()
    assert (effect.grade, effect.depends_on_whom) == (expected, depends)
    move = -SIZE
    mean = move * float(np.mean(population))
    assert effect.unadjusted == pytest.approx(move * own if own > MILLIONTH else 0, abs=1e-6)
    assert effect.low - 1e-5 <= effect.adjusted <= effect.high + 1e-5
    width = (effect.high - effect.low) / 2
    assert effect.adjusted == pytest.approx(mean, abs=2 * width + 1e-4)
    assert effect.smallest == SMALLEST


def test_draws_go_on_only_where_a_grade_is_not_settled(tmp_path: Path) -> None:
    assert Planted(tmp_path, 1.0, [1.0] * 400).effect().draws == 60
    assert Planted(tmp_path, 1.0, HALF).effect().draws == 960
    assert Planted(tmp_path, 1.0, HALF).effect(draws=240).draws == 240
    drawn_on = Planted(tmp_path, 1.0, [1.0] * 250 + [0.0] * 150).effect()
    assert (drawn_on.grade, drawn_on.draws) == ("holds", 240)


HALF = [1.0] * 200 + [0.0] * 200


def test_only_what_is_not_settled_is_asked_about_again(tmp_path: Path) -> None:
    """Seen from the other end of the path, everybody who is drawn is alike, so it settles."""
    planted = Planted(tmp_path, 1.0, HALF)
    other = Removal(
        subject=2, decision=1, nodes=END.nodes, pairs=END.pairs, kept=np.array([1], np.int64)
    )
    before = planted.batcher.graphs
    [(_, half), (_, all_of_it)] = planted.effects().measure([END, other])
    assert half is not None
    assert all_of_it is not None
    assert (half.grade, half.draws) == ("not_settled", 960)
    assert (all_of_it.grade, all_of_it.draws) == ("holds", 60)
    assert planted.batcher.graphs - before == 2 * (960 + 1) + 2 * (60 + 1)


def test_the_first_draws_are_the_same_whatever_follows(tmp_path: Path) -> None:
    planted = Planted(tmp_path, 1.0, HALF)
    donors = planted.effects()._donors(0, np.array([1, 2]), 960)
    for count in SIZES:
        drawn = planted.effects()._donors(0, np.array([1, 2]), count)
        assert np.array_equal(drawn, donors[:count])
    moves = -SIZE * planted.graph.features[donors[:, 0], 0]
    for count in SIZES:
        effect = planted.effect(draws=count)
        assert effect.adjusted == pytest.approx(float(moves[:count].mean()), abs=2e-6)


@pytest.mark.parametrize(
    ("most", "expected"),
    [(0, []), (60, [60]), (100, [60, 100]), (960, [60, 240, 960]), (1000, [60, 240, 960, 1000])],
)
def test_rounds_grow_fourfold(most: int, expected: list[int]) -> None:
    assert list(rounds(most)) == expected


def test_what_is_too_small_is_in_units_of_the_spread_of_scores(tmp_path: Path) -> None:
    one = Planted(tmp_path, 1.0, [0.5] * 400, spread=1.0).effect()
    assert (one.smallest, one.grade) == (SMALLEST, "holds")
    ten = Planted(tmp_path, 1.0, [0.5] * 400, spread=10.0).effect()
    assert (ten.smallest, ten.grade) == (10 * SMALLEST, "no_effect")
    assert ten.adjusted == pytest.approx(one.adjusted)


def test_moves_within_what_repeated_calls_differ_by_settle_nothing(tmp_path: Path) -> None:
    """Two answers to one question, 0.004 apart: a move of that size is nothing, but could be."""
    for population, expected in (([-1.0] * 400, "reverses"), ([0.3] * 400, "not_settled")):
        planted = Planted(tmp_path, 1.0, population)
        assert planted.effect().grade == ("reverses" if expected == "reverses" else "weakens")
        one, other = np.array([[0.5, 0.5]]), np.array([[0.504, 0.496]])
        planted.batcher.repeater.compare(one, other, "probabilities")
        effect = planted.effect()
        assert (effect.grade, effect.smallest) == (expected, 0.004)
        moved = 0.0 if expected == "not_settled" else SIZE
        assert effect.adjusted == pytest.approx(moved, abs=1e-4)


@pytest.mark.parametrize(
    ("unadjusted", "low", "high", "agreeing", "expected"),
    [
        (0.2, 0.19, 0.21, 1.0, "holds"),
        (0.2, 0.1, 0.3, 0.6, "holds"),
        (-0.2, -0.3, -0.1, 0.6, "holds"),
        (0.2, 0.09, 0.3, 1.0, "not_settled"),
        (0.2, 0.01, 0.09, 1.0, "weakens"),
        (-0.2, -0.09, -0.01, 1.0, "weakens"),
        (0.2, 0.009, 0.09, 1.0, "not_settled"),
        (0.2, -0.009, 0.009, 0.3, "no_effect"),
        (0.2, -0.009, 0.011, 0.3, "not_settled"),
        (0.2, -0.09, -0.01, 0.4, "reverses"),
        (-0.2, 0.01, 0.09, 0.4, "reverses"),
        (0.2, -0.09, -0.01, 0.5, "not_settled"),
        (0.2, -0.09, -0.009, 0.4, "not_settled"),
        # An effect of twice the smallest, or less, cannot weaken.
        (0.015, 0.01, 0.02, 1.0, "holds"),
        # There is no effect to begin with.
        (0.009, 0.01, 0.02, 1.0, "holds"),
        (0.009, -0.02, -0.01, 0.0, "not_settled"),
        (0.0, 0.01, 0.02, 0.0, "not_settled"),
        (0.0, -0.02, -0.01, 0.0, "not_settled"),
        (0.0, -0.009, 0.009, 0.0, "no_effect"),
    ],
)
def test_a_grade_needs_the_whole_interval(
    unadjusted: float, low: float, high: float, agreeing: float, expected: str
) -> None:
    assert grade(unadjusted, (low, high), agreeing, 0.01) == expected


POPULATIONS = {
    "one in six moves": np.array([0.0] * 5 + [1.0]),
    "exponential": -np.log(np.arange(1, 1000) / 1000),
    "even": np.linspace(-1, 1, 999),
}


@pytest.mark.parametrize("name", POPULATIONS)
@pytest.mark.parametrize("sign", [1, -1])
def test_intervals_of_the_mean_hold_for_skewed_moves(name: str, sign: int) -> None:
    """Normal intervals of the same samples end below the mean of the first two in 5 %."""
    population = sign * POPULATIONS[name]
    samples = np.random.default_rng(0).choice(population, (2000, 60))
    ends = np.array([mean_interval(sample) for sample in samples])
    below, above = ends[:, 0] > population.mean(), ends[:, 1] < population.mean()
    assert 0.94 <= 1 - np.mean(below | above) <= 0.985
    assert max(below.mean(), above.mean()) < 0.04


def test_the_interval_of_equal_moves_is_the_move() -> None:
    assert mean_interval(np.full(60, 0.25)) == (0.25, 0.25)


def made_up(unadjusted: float, *moves: float) -> AdjustedEffect:
    return effect_over(unadjusted, np.resize(moves, 960), smallest=0.01)


SAMPLES: dict[str, AdjustedEffect | None] = {
    "holds": made_up(-0.2, -0.2, -0.21),
    "holds, not for all": made_up(-0.2, -0.3, -0.3, 0.0),
    "weakens": made_up(-0.2, -0.05, -0.06),
    "no_effect": made_up(-0.2, 0.001, -0.001),
    "reverses": made_up(-0.2, 0.2, 0.21),
    "not_settled": made_up(-0.2, 0.8, -0.8),
    "too small": made_up(-0.005, 0.2, 0.2),
    "no direction": made_up(0.0, 0.2, 0.0),
    "not measured": None,
}


def test_what_a_caveat_says_is_its_grade_unless_it_is_too_small_or_not_measured() -> None:
    other = {
        "holds, not for all": "holds",
        "too small": "too_small",
        "no direction": "too_small",
        "not measured": "unmeasured",
    }
    for name, effect in SAMPLES.items():
        caveat = confounder_caveat(1, ("a", "b"), effect)
        assert caveat.text == other.get(name, name)
        assert caveat.grade == (effect.grade if effect else None)
        assert (caveat.effect, caveat.variables) == (effect, ("a", "b"))
