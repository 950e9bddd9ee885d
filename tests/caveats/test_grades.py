"""Grades are true by construction, on planted models and on moves that are made up."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from recourse_audit.caveats.effects import Effects, Removal, rounds
from recourse_audit.caveats.grades import adjusted_effect, grade
from recourse_audit.caveats.wording import LETTER_DEPENDS, LETTERS, confounder_caveat
from recourse_audit.graph.readers import from_arrays
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.records.caveats import AdjustedEffect, Grade
from recourse_audit.records.search import Counterfactual, Explanation
from recourse_audit.settings import CaveatSettings
from tests.caveats.models import arithmetic_model
from tests.decisions import decisions_over
from tests.search.engine import open_batcher

# Moves are 0.01 times a feature between -1 and 1, and those up to 0.002 too small to speak of.
SIZE = 0.01
SMALLEST = 0.002
SIZES = (60, 240, 960)


class Planted:
    """A path 0 - 1 - 2 whose end is removed, which moves class `yes` by -0.01 times one's own feature.

    The subject's own feature and that of node 1 are drawn from a population with given ones.
    """

    def __init__(self, folder: Path, own: float, population: Sequence[float]) -> None:
        features = np.array([own, 0.0, 1.0, *population])[:, None]
        drawn = np.array(["me", "other", "other", *["me"] * len(population)])
        self.graph = from_arrays(features, [[0, 1], [1, 2]], attributes={"drawn": drawn})
        path = arithmetic_model(folder / "model.onnx", times_own=True, size=SIZE)
        self.batcher: QueryBatcher = open_batcher(path, self.graph, output="probabilities")

    def effect(self, **settings: float) -> AdjustedEffect:
        answers = np.zeros((self.graph.node_count, 2))
        decisions = decisions_over(answers, ["yes"], ["no", "yes"], graph=self.graph)
        chosen = CaveatSettings.model_validate({"stratum": "drawn", "smallest_effect": SMALLEST, **settings})
        effects = Effects(self.graph, self.batcher, decisions, 2, chosen, seed=3)
        removal = Removal(
            subject=0, decision=1, nodes=np.arange(3), pairs=np.array([0, 1]), kept=np.array([0])
        )
        [(_, effect)] = effects.measure([removal])
        assert effect is not None
        return effect


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
