"""The page of a subject: what the decision rests on, part by part, on one ladder."""
# ruff: noqa: RUF001  # a page has dashes, minus signs and apostrophes of its own

from dataclasses import replace
from typing import Any, get_args

import pytest

from recourse_audit.records.subject import (
    DecisionLine,
    EgoTie,
    NoColumnAnswer,
    OwnPair,
)
from recourse_audit.settings import ReasonSettings
from tests.render.subject_pages import read
from tests.render.subject_parts import (
    ARROW,
    COLUMNS,
    LADDER,
    LATE,
    PAYMENT,
    SPACE,
    TIES,
    column,
    far_below,
    moves_to,
    ties,
    two_kinds,
)
from tests.render.subject_reports import (
    carrying,
    facts,
    probabilities,
    whole_graph,
)

MINUS = "\N{MINUS SIGN}"
LOG_ODDS = "ranked and drawn in log-odds"
LITTLE = "move the answer by less than 0.01"


def test_items_kinds_of_ties_and_single_ties_are_one_ladder_ranked_by_their_effect() -> None:
    page = read(two_kinds())
    assert page.ladder == LADDER
    assert LOG_ODDS not in page.text()
    assert "No single item of own data, kind of ties or tie changes the decision" in page.lead


def test_a_kind_that_counts_another_way_than_one_of_its_ties_is_an_example_and_only_then() -> None:
    example = "Without both payment ties the answer is 0.050; without the one with P0001 alone it"
    assert f"{example} is 0.300." in read(two_kinds()).text()
    alike = two_kinds(ties=(ties("payment", 2, 0.95), ties("guarantor", 2, 0.6)))
    assert alike.carriers is not None
    own = tuple(tie for tie in alike.carriers.own if "P0001" not in tie.removed[0])
    page = read(replace(alike, carriers=replace(alike.carriers, own=own)))
    assert "Without both" not in page.text()


def test_rows_are_ranked_in_log_odds_which_the_probabilities_of_several_classes_may_not_be() -> (
    None
):
    first, second = column("late", 0.8), column("income", 0.7)
    swapped = (replace(first, moves=2.0), replace(second, moves=1.0))
    page = read(two_kinds(columns=swapped))
    assert [row[0] for row in page.ladder[3:5]] == ["Late 1 → 0", "Income 1 → 0"]


@pytest.mark.parametrize("reason", get_args(NoColumnAnswer)[1:])
def test_what_was_not_asked_is_said_and_nothing_is_claimed_of_it(reason: NoColumnAnswer) -> None:
    silent = replace(COLUMNS[1], answer=None, moves=None, reason=reason)
    page = read(two_kinds(columns=(COLUMNS[0], silent)))
    assert ": income." in page.section("What the decision rests on")
    assert "No single item" not in page.lead
    assert "Removing any single tie leaves it refused." in page.lead
    assert ": income." not in read(two_kinds()).section("What the decision rests on")
    assert "No single item" not in read(two_kinds(columns=())).lead


def test_what_decides_by_itself_is_in_the_lead_and_only_then() -> None:
    page = read(two_kinds(columns=(column("late", 0.4),), ties=(ties("guarantor", 2, 0.3),)))
    deciding = "Each of these by itself changes the decision: "
    assert f"{deciding}late at 0 and without both guarantor ties." in page.lead
    assert "No single item" not in page.lead
    assert page.ladder[3] == ["Late 1 → 0", "0.600 up 0.500, then approved"]
    page = read(two_kinds(ties=(ties("address", 1, 0.3),)))
    assert "One change by itself changes the decision: without the only address tie." in page.lead
    assert "by itself changes" not in read(two_kinds()).lead


def test_many_ties_of_a_kind_are_counted_and_a_kind_that_hardly_moves_is_in_one_line() -> None:
    many = (ties("payment", 4, 0.6), ties("guarantor", 2, 0.899), ties("address", 1, 0.9))
    report = replace(two_kinds(ties=many), carriers=None)
    rows = read(report).ladder[6:]
    assert rows == [
        ["Ties: without them"],
        ["All 4 payment ties", "0.400 up 0.300, still refused"],
        [f"2 more kinds of ties {LITTLE} each: guarantor ties (→ 0.101), address ties"],
    ]


def test_a_kind_that_does_nothing_as_a_whole_has_a_row_if_one_of_its_ties_does_something() -> None:
    report = two_kinds(ties=(ties("payment", 2, 0.9), *TIES[1:]))
    labels = [row[0] for row in read(report).ladder]
    place = labels.index("Both payment ties")
    assert labels[place + 1 :][:2] == LADDER[-2][:1] + LADDER[-1][:1]


def test_ties_of_several_kinds_stand_below_the_kinds_with_all_their_names() -> None:
    made = two_kinds()
    assert made.ego_network is not None
    parallel = EgoTie(ends=("P0000", "P0001"), kind="guarantor")
    near = replace(made.ego_network, ties=(*made.ego_network.ties, parallel))
    labels = [row[0] for row in read(replace(made, ego_network=near)).ladder]
    assert labels[-1] == "Payment tie and guarantor tie: P0001 (approved)"
    assert labels.index("Both payment ties") + 1 == labels.index(LADDER[-1][0])


def test_a_kind_without_a_name_is_called_ties() -> None:
    report = replace(two_kinds(ties=(ties("", 3, 0.6),)), carriers=None)
    assert read(report).ladder[-1][0] == "All 3 ties"


def test_far_below_the_cut_off_effects_are_in_log_odds_and_the_page_says_so() -> None:
    page = read(far_below())
    section = page.section("What the decision rests on")
    assert f"so effects are {LOG_ODDS}, in which the answer is 9.21 from the cut-off." in section
    assert page.ladder == [
        ["As decided", f"<{SPACE}0.001 refused"],
        ["Own data alone, without ties", f"<{SPACE}0.001 refused"],
        ["Own data: one item at the median of the approved"],
        ["Late 1 → 0", "0.001 up 2.50 in log-odds"],
        ["1 more item moves the answer by less than 0.09 in log-odds: income"],
        ["Ties: without them"],
        ["All 3 payment ties", f"<{SPACE}0.001 down 0.25 in log-odds"],
    ]
    assert f"[Late 1 → 0: {MINUS}9.21{ARROW}{MINUS}6.71]" in section
    assert "[Own data alone: " not in section, "its log-odds are not known"
    assert "Log-odds from the cut-off" in section


def test_one_visible_effect_is_enough_for_probabilities() -> None:
    seen = replace(COLUMNS[0], answer=replace(whole_graph(0.98), effect=-0.0199), moves=5.3)
    page = read(far_below(columns=(seen,)))
    assert LOG_ODDS not in page.text()
    assert page.ladder[3] == ["Late 1 → 0", "0.020 up 0.020, still refused"]


def test_log_odds_that_no_probability_can_tell_have_no_figure_and_all_says_one_thing() -> None:
    far = far_below(distance=6e4)
    assert far.own_data is not None
    kind = replace(far.own_data.ties[0], moves=52_649.43)
    report = replace(far, note="no_tie_moves", own_data=replace(far.own_data, ties=(kind,)))
    page = read(report)
    section = page.section("What the decision rests on")
    assert f"in which the answer is >{SPACE}100 from the cut-off" in section
    assert page.ladder[-1] == ["All 3 payment ties", f"<{SPACE}0.001 up > 100 in log-odds"]
    assert "0,000" not in section
    assert "52,649" not in page.html
    assert "No tie that was tried moves the answer" not in section
    assert "probabilities stayed the same to six digits" in section
    assert (
        "No tie that was tried moves the answer"
        in read(replace(two_kinds(), note="no_tie_moves")).text()
    )


def test_own_data_alone_is_drawn_in_log_odds_where_its_probability_is_not_too_small() -> None:
    own = far_below().own_data
    assert own is not None
    assert own.alone is not None
    likely = replace(own.alone, decision="approved", favourable=True, value=0.9)
    likely = replace(likely, probabilities=probabilities(0.1))
    page = read(far_below(alone=likely))
    assert page.ladder[1] == ["Own data alone, without ties", "0.900 approved"]
    assert page.html.count("<title>Own data alone: 0.900, approved</title>") == 1
    assert LOG_ODDS in page.text()


def test_scores_are_never_turned_into_log_odds() -> None:
    made = far_below()
    line = DecisionLine(rule="cut_off", cut_off=620.0, score=600.0, margin=-20.0, better="higher")
    subject = replace(made.subject, probabilities={})
    assert made.own_data is not None
    answer = replace(whole_graph(0.9), probabilities={}, score=600.1, effect=0.1)
    own = replace(
        made.own_data,
        columns=(replace(COLUMNS[0], answer=answer, moves=0.1),),
        ties=(),
        distance=20.0,
    )
    page = read(replace(made, subject=subject, decision=line, own_data=own, counterfactuals=()))
    assert LOG_ODDS not in page.text()
    assert "1 item moves the answer by less than 0.200: late (→ 600.1)" in page.text()


def pair(after: float) -> OwnPair:
    answer = whole_graph(after)
    return OwnPair(parts=(LATE, PAYMENT), answer=answer, moves=moves_to(after))


def test_the_best_pair_is_said_where_pairs_were_tried_and_only_there() -> None:
    nearest = "No two of the strongest items or kinds of ties decide it either; the nearest, "
    page = read(two_kinds(pairs=(pair(0.508), pair(0.6))))
    assert f"{nearest}late and payment ties: 0.492." in page.text()
    page = read(two_kinds(pairs=(pair(0.45), pair(0.508))))
    assert "two together do: late and payment ties, 0.550." in page.text()
    assert nearest not in page.text()
    assert "together do" not in read(two_kinds()).text()
    assert "No two" not in read(two_kinds()).text()
    far = read(far_below(pairs=(replace(pair(0.9989), moves=3.0),)))
    assert f"{nearest}late and payment ties: up 3.00 in log-odds." in far.text()


@pytest.mark.parametrize(
    ("reference", "heading", "name"),
    [
        ("approved_median", "one item at the median of the approved", "approved median"),
        ("population_median", "one item at everyone’s median", "everyone’s median"),
        ({"late": 0.0}, "one item at its reference", "reference"),
        ({"income": 0.0}, "one item at its reference", "approved median"),
        (None, "one item at its reference", "reference"),
    ],
)
def test_the_reference_is_named(reference: Any, heading: str, name: str) -> None:
    reasons = None if reference is None else ReasonSettings(reference=reference)
    page = read(two_kinds(), replace(facts(), reasons=reasons))
    assert page.ladder[2] == [f"Own data: {heading}"]
    assert page.columns[0] == f"Late 1 {name} 0"


def test_a_set_of_single_ties_of_the_same_kind_is_not_the_only_one() -> None:
    """Two payments to one person are one single tie, and all there is of the kind."""
    made = two_kinds(ties=(ties("payment", 2, 0.7),))
    assert made.ego_network is not None
    assert made.carriers is not None
    both = EgoTie(ends=("P0000", "P0001"), kind="payment", count=2)
    only = replace(made.carriers, own=(carrying((("P0000", "P0001"),), 0.7),), own_ties=1)
    near = replace(made.ego_network, ties=(both,))
    rows = read(replace(made, ego_network=near, carriers=only)).ladder
    assert [row[0] for row in rows[7:]] == ["Payment ties ×2: P0001 (approved)"]
