"""Answers become decisions in one place: each rule, its line, ties, and rows without numbers."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recourse_audit.errors import SettingsError
from recourse_audit.graph.arrays import from_arrays
from recourse_audit.graph.graph import Floats, Graph
from recourse_audit.model.decisions import NO_DECISION, Decisions
from tests.decisions import decisions_over

NAN, INF = np.nan, np.inf


def answers(*chances: list[float]) -> Floats:
    """Log-probabilities of rows of probabilities."""
    with np.errstate(divide="ignore"):
        logarithms: Floats = np.log(np.array(chances))
    return logarithms


def people(count: int, **columns: Any) -> Graph:
    """People without ties, called 0, 1, 2 and so on."""
    return from_arrays(np.zeros((count, 1)), np.empty((2, 0), np.int64), attributes=columns)


def likeliest(rows: Floats, *favourable: str) -> Decisions:
    return decisions_over(rows, favourable)


def every(rows: Floats) -> Any:
    return np.arange(len(rows))


def test_the_class_with_the_highest_probability_is_decided() -> None:
    rows = answers([0.5, 0.3, 0.2], [0.1, 0.7, 0.2], [0.2, 0.2, 0.6])
    decisions = likeliest(rows, "yes")
    assert decisions.classes_of(rows, every(rows)).tolist() == [0, 1, 2]
    assert decisions.names_of(rows, every(rows)) == ["no", "maybe", "yes"]
    assert decisions.favourable(rows, every(rows)).tolist() == [False, False, True]


def test_of_classes_that_are_equally_probable_the_first_is_decided() -> None:
    rows = answers([0.4, 0.2, 0.4], [0.2, 0.4, 0.4], [1 / 3, 1 / 3, 1 / 3])
    assert likeliest(rows, "yes").names_of(rows, every(rows)) == ["no", "maybe", "no"]
    assert not likeliest(rows, "yes").favourable(rows, every(rows)).any()
    assert likeliest(rows, "no").favourable(rows, every(rows)).tolist() == [True, False, True]


@pytest.mark.parametrize(
    "row",
    [[NAN, NAN, NAN], [NAN, -1.0, -2.0], [-1.0, NAN, -2.0], [-1.0, -2.0, NAN], [-1.0, INF, -2.0]],
)
@pytest.mark.parametrize("rule", [{}, {"cut_off": 0.01}, {"quota": 1}])
def test_a_row_that_is_not_a_number_has_no_decision_and_is_never_favourable(
    row: list[float], rule: dict[str, Any]
) -> None:
    rows = np.array([row, [-3.0, -2.0, -0.2], [-3.0, -2.0, -0.3]])
    for favourable in (["yes"], ["no"], ["no", "maybe"]):
        decisions = decisions_over(rows, favourable, **rule)
        assert decisions.usable(rows).tolist() == [False, True, True]
        assert decisions.classes_of(rows, every(rows))[0] == -1
        assert decisions.names_of(rows, every(rows))[0] == NO_DECISION == ""
        assert not decisions.favourable(rows, every(rows))[0]


def test_several_classes_can_be_favourable() -> None:
    rows = answers([0.5, 0.3, 0.2], [0.1, 0.7, 0.2], [0.2, 0.2, 0.6])
    decisions = likeliest(rows, "maybe", "yes")
    assert decisions.favourable(rows, every(rows)).tolist() == [False, True, True]
    assert decisions.margin(rows, every(rows)) == pytest.approx([-0.2, 0.6, 0.4])


def test_margins_and_leads_are_above_zero_where_the_decision_is_favourable() -> None:
    rows = answers([0.5, 0.3, 0.2], [0.1, 0.7, 0.2], [0.2, 0.2, 0.6], [0.4, 0.2, 0.4])
    decisions = likeliest(rows, "yes")
    assert decisions.margin(rows, every(rows)) == pytest.approx([-0.3, -0.5, 0.4, 0.0])
    expected = np.log([0.2 / 0.5, 0.2 / 0.7, 0.6 / 0.2, 1.0])
    assert decisions.lead(rows, every(rows)) == pytest.approx(expected)


def test_no_rows_have_no_decisions() -> None:
    nothing = np.empty((0, 3))
    assert likeliest(nothing, "yes").names_of(nothing, every(nothing)) == []
    assert likeliest(nothing, "yes").favourable(nothing, every(nothing)).tolist() == []


def test_a_cut_off_is_about_the_summed_probability_of_all_favourable_classes() -> None:
    rows = answers([0.45, 0.30, 0.25], [0.30, 0.36, 0.34], [0.40, 0.05, 0.55], [0.1, 0.2, 0.7])
    decisions = decisions_over(rows, ["maybe", "yes"], cut_off=0.65)
    assert decisions.favourable(rows, every(rows)).tolist() == [False, True, False, True]
    # The class is the likeliest on its side: "no" has the highest probability of nobody but one.
    assert decisions.names_of(rows, every(rows)) == ["no", "maybe", "no", "yes"]
    assert decisions.margin(rows, every(rows)) == pytest.approx([-0.10, 0.05, -0.05, 0.25])
    assert (np.sign(decisions.lead(rows, every(rows))) == [-1, 1, -1, 1]).all()
    assert decisions.cut_offs(every(rows)).tolist() == [0.65] * 4


@pytest.mark.parametrize("precision", ["float16", "float32", "float64"])
@pytest.mark.parametrize("cut_off", [0.1, 0.3, 0.65, 0.7, 0.9])
def test_a_probability_at_the_cut_off_is_favourable_in_the_models_own_precision(
    cut_off: float, precision: str
) -> None:
    """A model in single precision says 0.65 as 0.64999998, and so does whoever compares there."""
    at = np.dtype(precision).type(cut_off)
    below = np.nextafter(at, np.dtype(precision).type(0))
    rows = answers([1 - float(at), float(at)], [1 - float(below), float(below)])
    if precision == "float64":
        rows[1] = np.log([1 - cut_off + 1e-12, cut_off - 1e-12])
    decisions = decisions_over(rows, ["yes"], ["no", "yes"], cut_off=cut_off, precision=precision)
    assert decisions.favourable(rows, every(rows)).tolist() == [True, False]


def test_the_cut_off_one_half_decides_as_the_likelier_of_two_classes_does() -> None:
    rows = answers([0.6, 0.4], [0.49, 0.51], [0.2, 0.8], [0.999, 0.001])
    cut, likelier = (
        decisions_over(rows, ["yes"], ["no", "yes"], cut_off=line) for line in (0.5, None)
    )
    assert cut.names_of(rows, every(rows)) == likelier.names_of(rows, every(rows))
    assert cut.lead(rows, every(rows)) == pytest.approx(likelier.lead(rows, every(rows)))


def scores(*values: float) -> Floats:
    return np.array(values, float)[:, None]


@pytest.mark.parametrize(
    ("better", "expected"), [("higher", [False, True, True]), ("lower", [True, True, False])]
)
def test_a_score_is_compared_in_its_own_units(better: str, expected: list[bool]) -> None:
    rows = scores(580.25, 620, 700)
    decisions = decisions_over(
        rows, ["yes"], ["no", "yes"], kind="score", cut_off=620, better=better
    )
    assert decisions.favourable(rows, every(rows)).tolist() == expected
    assert decisions.names_of(rows, every(rows)) == ["yes" if good else "no" for good in expected]
    sign = 1 if better == "higher" else -1
    assert (sign * decisions.margin(rows, every(rows))).tolist() == [-39.75, 0, 80]
    assert decisions.spread == pytest.approx(np.std([580.25, 620, 700]))


def test_a_cut_off_can_depend_on_a_column() -> None:
    graph = people(4, product=np.array(["car", "house", "car", "house"]))
    rows = answers([0.35, 0.65], [0.35, 0.65], [0.45, 0.55], [0.2, 0.8])
    by = {"column": "product", "values": {"car": 0.6, "house": 0.7}}
    decisions = decisions_over(rows, ["yes"], ["no", "yes"], graph=graph, cut_off_by=by)
    assert decisions.favourable(rows, every(rows)).tolist() == [True, False, False, True]
    assert decisions.margin(rows, every(rows)) == pytest.approx([0.05, -0.05, -0.05, 0.1])
    # The same answer of another person is compared with that person's line.
    assert decisions.favourable(rows[[0, 0]], np.array([0, 1])).tolist() == [True, False]
    assert decisions.favourable(rows[[0, 3]], 1).tolist() == [False, True]


@pytest.mark.parametrize(
    ("by", "named"),
    [
        (
            {"column": "product", "values": {"car": 0.6}},
            "has no cut-off for 'house', the product of 1",
        ),
        ({"column": "produkt", "values": {"car": 0.6}}, "the nodes have no column 'produkt'"),
    ],
)
def test_a_value_without_a_line_is_refused(by: dict[str, Any], named: str) -> None:
    graph = people(2, product=np.array(["car", "house"]))
    with pytest.raises(SettingsError, match=named):
        decisions_over(answers([0.5, 0.5]), ["yes"], ["no", "yes"], graph=graph, cut_off_by=by)


def best(values: list[float], ids: list[str], count: int) -> list[bool]:
    """Who is among the best, by sorting everybody; of equals, the first id."""
    order = sorted(range(len(values)), key=lambda person: (-values[person], ids[person]))
    return [person in order[:count] for person in range(len(values))]


LEVELS = st.integers(0, 6)


@given(st.lists(LEVELS, min_size=2, max_size=14), st.data())
def test_a_quota_lets_in_the_best_of_everybody_and_whoever_changes_is_ranked_anew(
    levels: list[int], data: st.DataObject
) -> None:
    count = data.draw(st.integers(1, len(levels) - 1))
    better = data.draw(st.sampled_from(["higher", "lower"]))
    sign = 1 if better == "higher" else -1
    values = [float(level) for level in levels]
    ids = [str(number) for number in range(len(values))]

    def ranked(everybody: list[float]) -> Decisions:
        return decisions_over(
            scores(*everybody), ["yes"], ["no", "yes"], kind="score", quota=count, better=better
        )

    decisions, rows = ranked(values), scores(*values)
    expected = best([sign * value for value in values], ids, count)
    assert decisions.favourable(rows, every(rows)).tolist() == expected
    assert sum(expected) == count == decisions.places
    who = data.draw(st.integers(0, len(values) - 1))
    new = float(data.draw(LEVELS)) + data.draw(st.sampled_from([0, 0.5]))
    changed = [new if person == who else value for person, value in enumerate(values)]
    expected = best([sign * value for value in changed], ids, count)
    [inside] = decisions.favourable(scores(new), who).tolist()
    assert inside == expected[who]
    assert ranked(changed).favourable(scores(*changed), every(rows)).tolist() == expected
    line, margin = float(decisions.cut_offs(who)), float(decisions.margin(scores(new), who)[0])
    assert margin == sign * (new - line)
    assert inside if margin > 0 else not inside if margin < 0 else True
    assert decisions.rank(scores(new), who) == 1 + sum(
        (-sign * value, ids[person]) < (-sign * new, ids[who])
        for person, value in enumerate(values)
        if person != who
    )


@given(st.lists(LEVELS, min_size=3, max_size=9), st.data())
def test_whoever_is_settled_stays_in_or_out_whatever_some_others_do(
    levels: list[int], data: st.DataObject
) -> None:
    count = data.draw(st.integers(1, len(levels) - 1))
    values = [float(level) for level in levels]

    def ranked(everybody: list[float]) -> Decisions:
        rows = scores(*everybody)
        return decisions_over(rows, ["yes"], ["no", "yes"], kind="score", quota=count)

    who = data.draw(st.integers(0, len(values) - 1))
    others = data.draw(st.sets(st.integers(0, len(values) - 1), max_size=3)) - {who}
    own = scores(values[who])
    inside, outside = ranked(values).certain_either_way(own, who, len(others))
    moved = list(values)
    for other in others:
        moved[other] = float(data.draw(LEVELS))
    [now] = ranked(moved).favourable(own, who).tolist()
    assert not inside[0] or now
    assert not outside[0] or not now


def test_a_share_is_rounded_down_and_counts_those_with_an_answer() -> None:
    rows = scores(5, NAN, 3, 4, 1, 2)
    decisions = decisions_over(rows, ["yes"], ["no", "yes"], kind="score", quota=0.5)
    assert decisions.places == 2
    assert decisions.favourable(rows, every(rows)).tolist() == [
        *(True, False, False),
        *(True, False, False),
    ]


@pytest.mark.parametrize(
    ("quota", "message"),
    [(0.01, "lets in nobody"), (3, "lets in everybody"), (7, "lets in everybody")],
)
def test_a_quota_that_decides_nothing_is_refused(quota: float, message: str) -> None:
    rows = scores(1, 2, 3)
    with pytest.raises(SettingsError, match=message):
        decisions_over(rows, ["yes"], ["no", "yes"], kind="score", quota=quota)
