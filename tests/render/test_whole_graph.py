"""The explanation's own effect and the whole graph's, side by side; a sentence if they disagree."""

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from recourse_audit.records.search import Carriers, CarryingSet, SetsTried, WholeGraph
from recourse_audit.records.subject import DecisionLine, SubjectReport
from recourse_audit.render.redaction import LEVELS, Level, redact
from recourse_audit.render.terminal import show_subject
from tests.audits import lending_audit
from tests.command import command
from tests.render.subject_pages import NAMED, read
from tests.render.subject_reports import (
    carrying,
    facts,
    made_report,
    probabilities,
    whole_graph,
    with_first,
)

DASH, SPACE = "\N{EN DASH}", "\N{NO-BREAK SPACE}"


def told(inside: tuple[float, float], after: float) -> SubjectReport:
    """A report on a denial, with an explanation's answers before and after, and the whole's."""
    report = made_report()
    first = report.counterfactuals[0]
    return with_first(
        report,
        explanation=replace(first.explanation, probabilities=probabilities(inside[0])),
        probabilities=probabilities(inside[1]),
        whole_graph=whole_graph(after),
    )


def card(report: SubjectReport, level: Level = "auditor") -> str:
    """What the page says of the first counterfactual."""
    return read(report, level=level).pairs[0]


AGREE: list[tuple[tuple[float, float], float]] = [
    ((0.90, 0.60), 0.70),
    ((0.90, 0.60), 0.82),  # over a quarter as far
    ((0.85, 0.40), 0.30),
    ((0.90, 0.897), 0.905),  # neither is worth a sentence
    ((0.90, 0.90), 0.90),
    ((0.90, 0.95), 0.94),
]
HARDLY = "On the whole graph it hardly moves the answer."
LESS = "On the whole graph it moves the answer far less than in the explanation."
OPPOSITE = "On the whole graph it moves the answer the other way."
REVERSES = "Reverses the explanation’s answer, not the decision."  # noqa: RUF001
DECIDES = "Changes the decision, not the explanation’s answer."  # noqa: RUF001
DISAGREEMENTS = ("on the whole graph it", REVERSES.lower(), DECIDES.lower())
DISAGREE: list[tuple[tuple[float, float], float, str]] = [  # inside, whole, what is said
    ((0.90, 0.60), 0.897, HARDLY),
    ((0.90, 0.60), 0.830, LESS),
    ((0.90, 0.60), 0.905, HARDLY),
    ((0.90, 0.80), 0.960, OPPOSITE),
    ((0.95, 0.99), 0.800, OPPOSITE),
    ((0.90, 0.88), 0.600, "On the whole graph it moves the answer far more than in the expl"),
    ((0.90, 0.40), 0.600, REVERSES),
    ((0.90, 0.60), 0.400, DECIDES),
]


@pytest.mark.parametrize(("inside", "after"), AGREE)
def test_nothing_is_said_where_the_explanation_and_the_whole_graph_agree(
    inside: tuple[float, float], after: float
) -> None:
    report = told(inside, after)
    for text in (card(report), terminal(report, full=True)):
        assert not any(words in text.lower() for words in DISAGREEMENTS)


@pytest.mark.parametrize(("inside", "after", "words"), DISAGREE)
def test_page_and_terminal_say_in_one_sentence_how_they_disagree(
    inside: tuple[float, float], after: float, words: str
) -> None:
    report = told(inside, after)
    for text in (card(report), card(report, "reviewer"), terminal(report, full=True)):
        assert words in text
        assert sum(text.lower().count(said) for said in DISAGREEMENTS) == 1
    assert words not in terminal(report), "the brief view has no counterfactuals"


def test_what_was_not_asked_is_compared_with_nothing() -> None:
    assert not any(words in card(made_report()).lower() for words in DISAGREEMENTS)


def scored(inside: tuple[float, float], after: float, **changes: Any) -> SubjectReport:
    """The same of a score of 500, refused below 600."""
    report = made_report()
    first = report.counterfactuals[0]
    line = DecisionLine(rule="cut_off", cut_off=600.0, score=500.0, margin=-100.0, better="higher")
    made = replace(
        report,
        subject=replace(report.subject, probabilities={}),
        decision=replace(line, **changes),
    )
    flips = after >= 600
    return with_first(
        made,
        explanation=replace(first.explanation, probabilities={}, score=inside[0]),
        probabilities={},
        score=inside[1],
        whole_graph=WholeGraph(
            probabilities={},
            score=after,
            effect=after - 500.0,
            decision="approved" if flips else "denied",
            favourable=flips,
            flips=flips,
        ),
    )


@pytest.mark.parametrize(
    ("inside", "after", "words"),
    [
        ((500, 560), 540, ""),
        ((500, 500.5), 499.8, ""),
        ((500, 650), 540, REVERSES),
        ((500, 560), 500.5, HARDLY),
        ((500, 560), 510, LESS),
        ((500, 560), 470, OPPOSITE),
    ],
)
def test_scores_are_compared_in_their_own_units_and_with_their_cut_off(
    inside: tuple[float, float], after: float, words: str
) -> None:
    text = card(scored(inside, after))
    assert (words in text) if words else ("on the whole graph it" not in text.lower())


def test_a_copy_that_hides_the_cut_off_says_nothing_of_the_decision_inside() -> None:
    hidden = scored((500, 650), 540, rule="quota", cut_off=None, margin=None)
    assert "Reverses" not in card(hidden)


SECRET = ("P0001", "P9876")
FRONT = (
    carrying((("P0000", "P0001"),), 0.7),
    carrying((("P0000", "P0001"), SECRET), 0.45),
)


def carried(front: tuple[CarryingSet, ...] = FRONT, **changes: Any) -> SubjectReport:
    flips = [one for one in front if one.flips]
    found = Carriers(
        front=front,
        smallest_flip=flips[0] if flips else None,
        own=front[:1],
        own_ties=3,
        ties_in_reach=12,
        max_ties=4,
        coverage="beam",
        tried=(
            SetsTried(size=1, tried=12, of=12, own_tried=3, own_of=3),
            SetsTried(size=2, tried=20, of=66, own_tried=3, own_of=3),
        ),
    )
    return replace(told((0.9, 0.6), 0.897), carriers=replace(found, **changes))


def terminal(report: SubjectReport, **how: Any) -> str:
    console = Console(file=io.StringIO(), width=160)
    with console.capture() as captured:
        show_subject(console, report, words=NAMED, **how)
    return " ".join(captured.get().split())


def test_the_ties_that_carry_the_decision_are_shown_with_their_figures() -> None:
    page = read(carried())
    table = "The best set of each size"
    assert page.column(table, "Removed") == [
        f"P0000{DASH}P0001",
        f"P0000{DASH}P0001 P0001{DASH}P9876",
    ]
    assert page.column(table, "Approval probability") == [
        f"0.100{SPACE}→ 0.300",
        f"0.100{SPACE}→ 0.550",
    ]
    assert page.column(table, "Decision") == ["still refused", "then approved"]
    assert (
        "The smallest set found whose removal changes the decision (to approved) has 2 ties: "
        f"0.100{SPACE}→ 0.550."
    ) in page.section("What the decision rests on")
    coverage = (
        "Sets tried, out of all sets of the 12 ties within reach: 1 tie: 12 of 12; 2 ties: 20 of "
        "66. Where not all could be tried, the best smaller sets were extended. Among them are all "
        "sets of 1 and 2 of the subject’s own 3 ties."  # noqa: RUF001
    )
    assert coverage in page.annex("Sets of ties")
    shown = terminal(carried(), full=True)
    for words in ("Sets of ties on the whole graph", "0.550 then approved", coverage):
        assert words in shown


def test_that_nothing_carries_the_decision_or_changes_it_is_said() -> None:
    nothing = carried(())
    assert nothing.carriers is not None
    assert "none moves the answer away from the decision" in terminal(nothing, full=True)
    sets = read(nothing).annex("Sets of ties")
    assert "The best set of each size" not in sets
    assert "none moves the answer away from the decision" in sets
    one = carried(FRONT[:1], coverage="exhaustive")
    assert one.carriers is not None
    assert "No set of up to 4 ties that was tried changes the decision." in read(one).text()
    assert "All 32 sets of up to 4 of the 12 ties within reach tried." in read(one).text()


@pytest.mark.parametrize("level", LEVELS)
def test_prefer_changes_the_terminal_and_no_page(level: Level) -> None:
    """A page begins with the whole graph in either case."""
    report = carried()
    one, other = (
        read(report, replace(facts(), prefer=prefer), level=level).html
        for prefer in ("paper", "whole_graph")
    )
    assert one == other
    if level != "subject":
        assert one.index("What the decision rests on") < one.index("from the search")


def test_the_setting_decides_what_the_terminal_shows_first(tmp_path: Path) -> None:
    settings = lending_audit(tmp_path, max_nodes=3)
    paper = command("explain", settings, "P0004", "--full").out
    text = settings.read_text(encoding="utf-8")
    text = text.replace("[search]", '[search]\nprefer = "whole_graph"')
    settings.write_text(text, encoding="utf-8")
    other = command("explain", settings, "P0004", "--full").out
    sets, found = "Sets of ties on the whole graph", "from the search"
    assert paper.index(found) < paper.index(sets)
    assert other.index(sets) < other.index(found)
    assert sorted(paper.split()) == sorted(other.split())


@pytest.mark.parametrize("level", ["reviewer", "subject"])
def test_nobody_else_is_named_by_the_ties_that_carry_a_decision(level: Level) -> None:
    report = carried()
    html = read(report, level=level).html
    for name in ("P0001", "P9876"):
        assert name not in html
    shown = redact(report, level)
    assert shown.carriers is not None
    assert report.carriers is not None
    if level == "subject":
        assert shown.carriers.front == ()
        return
    for one, other in zip(shown.carriers.front, report.carriers.front, strict=True):
        assert replace(one, removed=()) == replace(other, removed=())
    named = shown.carriers.front[1].removed
    assert named == (("P0000", "person 1"), ("person 1", "person 4"))
    assert "P9876" in read(report).html
