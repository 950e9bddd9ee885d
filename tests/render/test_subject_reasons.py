"""The page of a subject: candidates for reasons, and what to do before a letter is signed."""

import io
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from recourse_audit.records.codec import SUBJECT
from recourse_audit.records.recourse import Part, Responsiveness, SetAction, TieAction
from recourse_audit.records.subject import (
    DecisionLine,
    OwnData,
    OwnPair,
    ReasonCandidate,
    SubjectReport,
)
from recourse_audit.render.i18n import LANGUAGES
from recourse_audit.render.redaction import LEVELS, Level, redact
from recourse_audit.render.terminal import show_subject
from recourse_audit.settings import ReasonSettings
from tests.render.subject_pages import NAMED, ReadPage, named, read
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
    two_kinds,
)
from tests.render.subject_reports import (
    facts,
    option,
    own_data,
    whole_graph,
    with_recourse,
)


def candidate(part: Part, moves: float = 0.5, **changes: Any) -> ReasonCandidate:
    made = ReasonCandidate(part=part, moves=moves, share=moves / moves_to(0.5), fixed=False)
    return replace(made, **changes)


def terminal(report: SubjectReport, *, full: bool = False) -> str:
    console = Console(file=io.StringIO(), width=80)
    show_subject(console, report, full=full, words=NAMED, facts=facts())
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


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
