"""The page of a subject: what the decision rests on part by part, and candidates for reasons."""
# ruff: noqa: RUF001  # a page has dashes, minus signs and apostrophes of its own

import io
from collections.abc import Iterator
from dataclasses import replace
from math import log
from typing import Any, get_args

import networkx as nx
import pytest
from rich.console import Console

from recourse_audit.records.codec import SUBJECT
from recourse_audit.records.recourse import Part, Responsiveness, SetAction, TieAction
from recourse_audit.records.search import WholeGraph
from recourse_audit.records.subject import (
    DecisionLine,
    EgoTie,
    NoColumnAnswer,
    OwnColumn,
    OwnData,
    OwnPair,
    OwnTies,
    ReasonCandidate,
    SubjectReport,
)
from recourse_audit.render.i18n import LANGUAGES
from recourse_audit.render.redaction import LEVELS, Level, redact
from recourse_audit.render.terminal import show_subject
from recourse_audit.settings import ReasonSettings
from tests.render.subject_pages import NAMED, ReadPage, named, read
from tests.render.subject_reports import (
    carrying,
    facts,
    made_report,
    option,
    own_carriers,
    own_data,
    probabilities,
    whole_graph,
    with_recourse,
)

SPACE = "\N{NO-BREAK SPACE}"
ARROW = f"{SPACE}→ "
MINUS = "\N{MINUS SIGN}"
LOG_ODDS = "ranked and drawn in log-odds"
LITTLE = "move the answer by less than 0.01"
LATE, PAYMENT = Part(what="column", name="late"), Part(what="ties", name="payment")


def moves_to(after: float, before: float = 0.9) -> float:
    """How far an answer moves towards approval in log-odds, given the probability of denied."""
    return log(before / (1 - before)) - log(after / (1 - after))


def column(name: str, after: float, value: Any = 1.0, reference: Any = 0.0) -> OwnColumn:
    answer = whole_graph(after)
    return OwnColumn(
        name=name, value=value, reference=reference, answer=answer, moves=moves_to(after)
    )


def ties(kind: str, count: int, after: float) -> OwnTies:
    return OwnTies(kind=kind, count=count, answer=whole_graph(after), moves=moves_to(after))


def candidate(part: Part, moves: float = 0.5, **changes: Any) -> ReasonCandidate:
    made = ReasonCandidate(part=part, moves=moves, share=moves / moves_to(0.5), fixed=False)
    return replace(made, **changes)


COLUMNS = (column("late", 0.8), column("income", 0.87), column("age", 0.899))
TIES = (ties("payment", 2, 0.95), ties("guarantor", 2, 0.6), ties("address", 1, 0.88))
OWN: dict[str, Any] = {"columns": COLUMNS, "ties": TIES, "distance": moves_to(0.5)}


def two_kinds(**changes: Any) -> SubjectReport:
    """A subject with two payments to 1 and 2, two guarantors, 3 and 4, and the address of 5."""
    made = own_carriers(made_report(nx.star_graph(5)), 0.7, 0.96, 0.8, 0.85, 0.88)
    assert made.ego_network is not None
    kinds = ("payment", "payment", "guarantor", "guarantor", "address")
    between = tuple(
        EgoTie(ends=("P0000", f"P000{place}"), kind=kind)
        for place, kind in enumerate(kinds, start=1)
    )
    near = replace(made.ego_network, ties=between)
    return replace(made, ego_network=near, own_data=own_data(**{**OWN, **changes}))


def terminal(report: SubjectReport, *, full: bool = False) -> str:
    console = Console(file=io.StringIO(), width=80)
    show_subject(console, report, full=full, words=NAMED, facts=facts())
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


# ---------------------------------------------------------------- one ladder

LADDER = [
    ["As decided, with all 5 ties", "0.100 refused"],
    ["Own data alone, without ties", "0.200 refused"],
    ["Own data: one item at the median of the approved"],
    ["Late 1 → 0", "0.200 up 0.100, still refused"],
    ["Income 1 → 0", "0.130 up 0.030, still refused"],
    ["1 more item moves the answer by less than 0.01: age 0.101"],
    ["Ties: without them"],
    ["Both guarantor ties", "0.400 up 0.300, still refused"],
    ["only the one with P0003 (approved)", "0.200 up 0.100, still refused"],
    ["only the one with P0004 (refused)", "0.150 up 0.050, still refused"],
    ["Address tie: P0005 (approved)", "0.120 up 0.020, still refused"],
    ["Both payment ties", "0.050 down 0.050, still refused"],
    ["only the one with P0001 (approved)", "0.300 up 0.200, still refused"],
    ["only the one with P0002 (refused)", "0.040 down 0.060, still refused"],
]


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
        [f"2 more kinds of ties {LITTLE} each: guarantor ties 0.101, address ties"],
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


def far_below(**changes: Any) -> SubjectReport:
    """A subject far below the cut-off: every part moves the probability by hardly anything."""

    def answer(denied: float) -> WholeGraph:
        return replace(whole_graph(denied), effect=denied - 0.9999)

    made = made_report()
    subject = replace(made.subject, probabilities=probabilities(0.9999))
    columns = (
        replace(COLUMNS[0], answer=answer(0.9989), moves=2.5),
        replace(COLUMNS[1], answer=answer(0.9999), moves=0.05),
    )
    kinds = (OwnTies(kind="payment", count=3, answer=answer(0.9996), moves=-0.25),)
    own = own_data(columns=columns, ties=kinds, distance=9.21)
    assert own.alone is not None
    own = replace(own, alone=replace(own.alone, value=0.0, probabilities=probabilities(1.0)))
    return replace(made, subject=subject, own_data=replace(own, **changes))


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
    assert "1 item moves the answer by less than 0.200: late 600.1" in page.text()


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


# ---------------------------------------------------------------- candidates


def weighed(*reasons: ReasonCandidate, **changes: Any) -> SubjectReport:
    """A report with these candidates, on permitted changes of savings, guarantors and payments."""
    single = Responsiveness(
        part=Part(what="ties", name="guarantor"),
        moves=2,
        tried=2,
        flips=0,
        share=0.0,
        best_answer=0.401,
        best_move=0.6,
    )
    measured = (single, replace(single, part=PAYMENT, best_answer=0.09, best_move=-0.1))
    save = SetAction(attribute="income", before=1.0, after=2.0)
    end = TieAction(do="drop", tie=("P0000", "P0003"), kind="guarantor")
    stop = TieAction(do="drop", tie=("P0000", "P0001"), kind="payment")
    options = (option([end], 1.0), option([save, end], 2.0), option([stop], 2.0))
    made = with_recourse(two_kinds(), options=options, responsiveness=measured, **changes)
    return replace(made, reasons=reasons)


GUARANTOR = candidate(Part(what="ties", name="guarantor"), 1.79)
CANDIDATES = (GUARANTOR, candidate(LATE, 0.81, fixed=True))
HEADING = "Candidates for the reasons"


def test_candidates_have_their_effect_what_changes_do_and_whether_the_person_can_act() -> None:
    page = read(weighed(*CANDIDATES))
    head = "Effect on the answer: ", "What permitted changes do: ", "Code to confirm: "
    assert page.reasons == [
        [
            "1",
            "Guarantor ties: 2",
            f"{head[0]}0.100{ARROW}0.400 without them 81% of the way to the cut-off",
            f"{head[1]}Alone, 0 of 2 change the decision; best 0.401",
            "can act in options 1 and 2",
            f"{head[2]}none set ▲ rests on ties: compliance check",
        ],
        [
            "2",
            "Late: 1",
            f"{head[0]}0.100{ARROW}0.200 at 0 37% of the way to the cut-off",
            f"{head[1]}No change is permitted",
            "fixed",
            f"{head[2]}none set",
        ],
    ]
    section = page.section(HEADING)
    assert section.startswith("Candidates for the reasons: 1 of 2 is fixed")
    assert "state it, never advise it" in section
    assert "Counting for P0000, so not candidates: payment ties." in section
    little = (
        "less than 10% of its distance to the cut-off), so not candidates: address ties and age"
    )
    assert little in section
    assert "Candidates after these: income." in section
    assert page.section("What the decision rests on").startswith(
        "What the decision rests on: above all guarantor ties and late"
    )


def test_codes_and_concerns_stand_beside_the_candidate_they_are_about() -> None:
    codes = ReasonSettings(codes={"late": "delinquent", "guarantor": "other"})
    proxy = candidate(LATE, proxy="gender")
    page = read(weighed(GUARANTOR, proxy), replace(facts(), reasons=codes))
    assert "other ▲ rests on ties" in page.reasons[0][5]
    assert page.reasons[1][5].endswith("delinquent ▲ gives away gender: compliance check")
    texts = {"delinquent": {"en": "Delinquent credit obligations", "es": "Obligaciones vencidas"}}
    known = replace(facts(), reasons=codes, codes=texts)
    assert "Delinquent credit obligations (delinquent) ▲" in read(weighed(proxy), known).text()
    page = read(weighed(proxy), known, words=named("es"))
    assert "Obligaciones vencidas (delinquent) ▲" in page.text()
    itself = candidate(Part(what="column", name="gender"), proxy="gender")
    made = weighed(itself)
    assert made.own_data is not None
    columns = (*COLUMNS, column("gender", 0.8, "x-female", "x-male"))
    made = replace(made, own_data=replace(made.own_data, columns=columns))
    assert read(made).reasons[0][5].endswith("▲ protected attribute: compliance check")
    plain = read(weighed(candidate(LATE))).section(HEADING)
    assert "compliance" not in plain
    assert "▲" not in plain


def response(**changes: Any) -> ReadPage:
    made = weighed(*CANDIDATES)
    assert made.recourse is not None
    first = replace(made.recourse.responsiveness[0], **changes)
    return read(with_recourse(made, responsiveness=(first,)))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"moves": 900, "tried": 256, "flips": 3, "interval": (0.004, 0.034)},
            (
                "Alone, 3 of 256 change the decision (a sample of 900; 95% interval 0.4% to 3.4%); "
                "best 0.401"
            ),
        ),
        ({"best_move": -0.2}, "Alone, 0 of 2 change the decision; none brings the answer closer"),
        (
            {"tried": 0, "best_move": None, "best_answer": None},
            "2 changes are permitted; none could be tried",
        ),
    ],
)
def test_what_permitted_changes_do_is_said_as_it_was_tried(
    changes: dict[str, Any], words: str
) -> None:
    page = response(**changes)
    assert page.reasons[0][3] == f"What permitted changes do: {words}"
    sampled = "a random sample is tried" in page.annex("Permitted changes, one by one")
    assert sampled == ("interval" in changes)


def test_every_permitted_change_is_in_the_evidence_also_of_what_is_no_reason() -> None:
    page = read(weighed(*CANDIDATES))
    annex = page.annex("Permitted changes, one by one")
    assert annex.startswith("Permitted changes, one by one: 0 of 4 that were tried change")
    caption = "What single changes that the policy permits do"
    assert page.column(caption, "What may change") == ["Guarantor ties", "Payment ties"]
    assert page.column(caption, "Best answer") == ["0.401", "0.090"]
    assert read(two_kinds()).annex("Permitted changes") == ""


def test_a_candidate_that_decides_by_itself_and_one_that_is_in_no_option() -> None:
    made = weighed(candidate(LATE, 2.6), candidate(Part(what="ties", name="address"), 0.3))
    assert made.own_data is not None
    columns = (column("late", 0.4), *COLUMNS[1:])
    page = read(replace(made, own_data=replace(made.own_data, columns=columns)))
    assert page.reasons[0][2].endswith("at 0 then approved")
    assert page.reasons[1][4] == "can act in no option"


def test_far_below_the_cut_off_candidates_are_in_log_odds_too() -> None:
    made = replace(far_below(), reasons=(candidate(LATE, 2.5, fixed=True),))
    [row] = read(made).reasons
    assert row[2].endswith(": up 2.50 in log-odds at 0 114% of the way to the cut-off")


def test_without_a_candidate_the_page_says_why_and_what_a_reason_then_needs() -> None:
    page = read(weighed())
    section = page.section(HEADING)
    assert section.startswith("Candidates for the reasons: none Nothing that counts against P0000")
    assert "moves the answer by 10% or more of its distance to the cut-off." in section
    assert page.reasons == []
    assert "There is no candidate" in page.clerk
    assert page.section("What the decision rests on").startswith("What the decision rests on Each")


@pytest.mark.parametrize(
    "own",
    [None, OwnData(), own_data(columns=(replace(COLUMNS[0], answer=None, moves=None),))],
)
def test_nothing_is_said_of_candidates_where_nothing_was_asked(own: OwnData | None) -> None:
    assert HEADING not in read(replace(two_kinds(), own_data=own)).text()


def test_a_favourable_decision_has_no_candidates() -> None:
    made = two_kinds(distance=-1.2)
    good = replace(made.subject, favourable=True, decision="approved")
    page = read(with_recourse(replace(made, subject=good), status="already_favourable", options=()))
    assert HEADING not in page.text()


# ---------------------------------------------------------------- before signing


def test_before_signing_reasons_are_confirmed_checked_and_questions_expected() -> None:
    clerk = read(weighed(*CANDIDATES)).clerk
    for words in (
        "Confirm the reasons. The letter states only those that are confirmed in",
        "Fixed: late. The letter may state what is fixed, never suggest changing it.",
        "Have reason 1 checked by compliance.",
        "Prepare for a question. Option 3 changes ties of a kind that no candidate",
        "mentions: payment ties. As a whole, they count for P0000.",
    ):
        assert words in clerk, words
    assert "Offer a review" not in clerk


def test_nothing_is_to_be_checked_or_expected_where_nothing_gives_cause() -> None:
    save = SetAction(attribute="income", before=1.0, after=2.0)
    made = weighed(candidate(LATE, 0.81))
    clerk = read(with_recourse(made, options=(option([save], 1.0),))).clerk
    for words in ("compliance", "Prepare for a question", "Fixed:", "Decide on option"):
        assert words not in clerk, words
    assert "Prepare for a question" not in read(weighed(*CANDIDATES, candidate(PAYMENT))).clerk
    against = weighed(*CANDIDATES)
    assert against.own_data is not None
    kinds = (replace(TIES[0], moves=0.1), *TIES[1:])
    clerk = read(replace(against, own_data=replace(against.own_data, ties=kinds))).clerk
    assert "Prepare for a question" in clerk
    assert "As a whole" not in clerk


# ---------------------------------------------------------------- who may see what


def everything() -> SubjectReport:
    itself = candidate(Part(what="column", name="gender"), 0.7, proxy="gender", fixed=True)
    made = weighed(GUARANTOR, itself, candidate(LATE, proxy="gender"))
    assert made.own_data is not None
    columns = (*COLUMNS, column("gender", 0.8, "x-female", "x-male"))
    both = OwnPair(parts=(itself.part, PAYMENT), answer=whole_graph(0.6), moves=1.0)
    return replace(made, own_data=replace(made.own_data, columns=columns, pairs=(both,)))


@pytest.mark.parametrize("level", LEVELS)
def test_copies_name_no_protected_attribute_and_the_subjects_has_no_candidates(
    level: Level,
) -> None:
    shown = redact(everything(), level, ["gender"])
    text, page = SUBJECT.write(shown), read(everything(), level=level)
    for name in ("gender", "x-male"):
        assert (name in text) == (level == "auditor")
        assert (name in page.html) == (level == "auditor")
    assert bool(shown.reasons) == (level != "subject")
    assert (HEADING in page.text()) == (level != "subject")
    if level == "reviewer":
        assert page.reasons[1][1:3] == [
            "A protected attribute",
            "Effect on the answer: 32% of the way to the cut-off",
        ]
        assert page.reasons[1][5].endswith("▲ protected attribute: compliance check")
        assert page.reasons[2][5].endswith("▲ gives away a protected attribute: compliance check")


def test_the_subjects_copy_says_nothing_of_what_kinds_of_ties_do() -> None:
    page = read(everything(), level="subject")
    assert [row[0] for row in page.ladder[3:]] == ["Late 1 → 0", "Income 1 → 0", LADDER[5][0]]
    for words in ("guarantor ties", "Both", "above all", "No two", "one by one"):
        assert words not in page.text(), words
    shown = redact(everything(), "subject")
    assert shown.own_data is not None
    assert shown.recourse is not None
    assert (shown.own_data.ties, shown.own_data.pairs) == ((), ())
    assert shown.recourse.responsiveness == ()


def test_under_a_quota_the_subjects_copy_has_no_distance_to_the_cut_off() -> None:
    line = DecisionLine(rule="quota", cut_off=0.71, score=0.1, margin=-0.61, places=5, rank=7)
    for level in LEVELS:
        own = redact(replace(everything(), decision=line), level).own_data
        assert own is not None
        assert (own.distance is None) == (level == "subject")
        assert all((part.moves is None) == (level == "subject") for part in own.columns)


def test_a_reviewers_copy_numbers_the_people_of_single_ties() -> None:
    labels = [row[0] for row in read(two_kinds(), level="reviewer").ladder]
    assert "only the one with person 3 (approved)" in labels
    assert "Address tie: person 5 (approved)" in labels


# ---------------------------------------------------------------- terminal and languages


def test_the_terminal_has_items_and_kinds_and_one_line_for_each_candidate() -> None:
    brief, full = (terminal(weighed(*CANDIDATES), full=full) for full in (False, True))
    words = " ".join(brief.split())
    assert "Both guarantor ties ○" in words
    assert "only the one" not in brief
    assert "single ties move" not in brief
    lines = brief.splitlines()
    [first] = [line for line in lines if line.startswith("1    Guarantor ties: 2")]
    line = "1 Guarantor ties: 2 0.100 → 0.400 without them can act, in options 1 and 2"
    assert " ".join(first.split()) == line
    [second] = [line for line in lines if line.startswith("2    Late: 1")]
    assert second.split()[-1] == "fixed"
    for part in ("only the one with P0003", "Alone, 0 of 2 change the decision; best 0.401"):
        assert part in " ".join(full.split()), part
    assert "Counting for P0000" in " ".join(full.split())


def sentences(page: ReadPage) -> Iterator[str]:
    yield from page.texts(".//section/h2")
    yield from page.texts(".//table[@class='options reasons']/tbody/tr")
    yield page.clerk


def test_every_language_has_its_own_words_for_reasons() -> None:
    report = weighed(*CANDIDATES, candidate(PAYMENT, proxy="gender"))
    english = set(sentences(read(report)))
    for language in LANGUAGES[1:]:
        page = read(report, words=named(language))
        assert not english & set(sentences(page)), language
        assert len(page.ladder) == len(LADDER)
    french = read(report, words=named("fr")).text(".//div[@class='ladder']")
    assert f"{SPACE}: P0005" in french
    assert f"0,01{SPACE}: age" in french


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
