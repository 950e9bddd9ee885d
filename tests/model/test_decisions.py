"""Answers become decisions in one place: ties between classes, rows that are no numbers, signs."""

import numpy as np
import pytest

from recourse_audit.graph.arrays import Floats
from recourse_audit.model.decisions import NO_DECISION, Decisions
from recourse_audit.settings import DecisionSettings

NAN, INF = np.nan, np.inf


def rule(*favourable: str, classes: tuple[str, ...] = ("no", "maybe", "yes")) -> Decisions:
    return Decisions(DecisionSettings(classes=classes, favourable=favourable))


def answers(*chances: list[float]) -> Floats:
    """Log-probabilities of rows of probabilities."""
    with np.errstate(divide="ignore"):
        logarithms: Floats = np.log(np.array(chances))
    return logarithms


def test_the_class_with_the_highest_probability_is_decided() -> None:
    rows = answers([0.5, 0.3, 0.2], [0.1, 0.7, 0.2], [0.2, 0.2, 0.6])
    assert rule("yes").classes_of(rows).tolist() == [0, 1, 2]
    assert rule("yes").names_of(rows) == ["no", "maybe", "yes"]
    assert rule("yes").favourable(rows).tolist() == [False, False, True]


def test_of_classes_that_are_equally_probable_the_first_is_decided() -> None:
    rows = answers([0.4, 0.2, 0.4], [0.2, 0.4, 0.4], [1 / 3, 1 / 3, 1 / 3])
    assert rule("yes").names_of(rows) == ["no", "maybe", "no"]
    assert not rule("yes").favourable(rows).any()
    assert rule("no").favourable(rows).tolist() == [True, False, True]


@pytest.mark.parametrize(
    "row",
    [[NAN, NAN, NAN], [NAN, -1.0, -2.0], [-1.0, NAN, -2.0], [-1.0, -2.0, NAN], [-1.0, INF, -2.0]],
)
def test_a_row_that_is_not_a_number_has_no_decision_and_is_never_favourable(
    row: list[float],
) -> None:
    rows = np.array([row, [-3.0, -2.0, -0.2]])
    for decisions in (rule("yes"), rule("no"), rule("no", "maybe")):
        assert decisions.usable(rows).tolist() == [False, True]
        assert decisions.classes_of(rows).tolist() == [-1, 2]
        assert decisions.names_of(rows) == [NO_DECISION, "yes"] == ["", "yes"]
        assert not decisions.favourable(rows)[0]


def test_the_last_class_being_favourable_makes_no_row_without_a_decision_so() -> None:
    """No decision is numbered -1, which would be the last class to numpy."""
    assert rule("yes").favourable(np.full((2, 3), NAN)).tolist() == [False, False]


def test_several_classes_can_be_favourable() -> None:
    rows = answers([0.5, 0.3, 0.2], [0.1, 0.7, 0.2], [0.2, 0.2, 0.6])
    assert rule("maybe", "yes").favourable(rows).tolist() == [False, True, True]
    assert rule("maybe", "yes").margin(rows) == pytest.approx([-0.2, 0.6, 0.4])


def test_margins_and_log_odds_are_above_zero_where_the_decision_is_favourable() -> None:
    rows = answers([0.5, 0.3, 0.2], [0.1, 0.7, 0.2], [0.2, 0.2, 0.6], [0.4, 0.2, 0.4])
    decisions = rule("yes")
    assert decisions.margin(rows) == pytest.approx([-0.3, -0.5, 0.4, 0.0])
    expected = np.log([0.2 / 0.5, 0.2 / 0.7, 0.6 / 0.2, 1.0])
    assert decisions.log_odds(rows) == pytest.approx(expected)
    clear = decisions.margin(rows) != 0
    for lead in (decisions.margin(rows), decisions.log_odds(rows)):
        assert ((lead > 0) == decisions.favourable(rows))[clear].all()


def test_a_decision_has_changed_only_if_there_was_one_and_is_one() -> None:
    no, yes = [-0.1, -3.0, -4.0], [-4.0, -3.0, -0.1]
    broken = [NAN, -3.0, -0.1]
    before = np.array([no, no, yes, no, broken, broken, yes])
    after = np.array([no, yes, no, broken, yes, broken, yes])
    changed = rule("yes").changed(before, after).tolist()
    assert changed == [False, True, True, False, False, False, False]


def test_no_rows_have_no_decisions() -> None:
    nothing = np.empty((0, 3))
    assert rule("yes").names_of(nothing) == []
    assert rule("yes").favourable(nothing).tolist() == []
