"""The page of a subject: counterfactuals, the neighbourhood and the evidence."""
# ruff: noqa: RUF001  # a page has dashes, minus signs and apostrophes of its own

import re
from dataclasses import replace

import networkx as nx
import pytest

from recourse_audit.records.model import (
    Repeats,
)
from recourse_audit.records.search import Sample
from recourse_audit.records.subject import (
    Grade,
)
from tests.render.subject_pages import read, read_made
from tests.render.subject_reports import (
    PROBES,
    made_report,
    whole_graph,
    with_first,
    with_recourse,
)

SPACE = "\N{NO-BREAK SPACE}"
ARROW = f"{SPACE}→ "
MINUS = "\N{MINUS SIGN}"


def test_a_counterfactual_is_a_row_with_both_moves_and_what_it_shows() -> None:
    page = read(with_first(made_report(), whole_graph=whole_graph(0.8)))
    [pair] = page.pairs
    assert pair.startswith("1 Guarantor tie P0001–P0002 [The explanation as a small graph.")
    assert "Removed: P0001–P0002. Kept: P0000–P0001." in pair
    assert f"[In the explanation: 0.150{ARROW}0.600]" in pair
    assert f"[On the whole graph: 0.100{ARROW}0.200]" in pair
    assert pair.endswith(
        "Still refused. Counts against P0000. Reverses the explanation’s answer, not the "
        "decision. With other people’s data in place of those of P0000 and P0001, the effect "
        "weakens (clear in 51 of 60 tests). It depends on whose data they are."
    )


@pytest.mark.parametrize(
    ("after", "counts"),
    [
        (0.95, "Still refused. Counts for P0000."),
        (0.6, "Still refused. Counts against P0000."),
        (0.9, "Removing it changes nothing (0.100 either way)."),
    ],
)
def test_what_a_counterfactual_shows_goes_by_the_whole_graph(after: float, counts: str) -> None:
    [pair] = read(with_first(made_report(), whole_graph=whole_graph(after))).pairs
    assert counts in pair
    assert ("Counts" in pair) is ("Counts" in counts)


def test_an_explanation_that_answers_otherwise_reproduces_the_decision_poorly() -> None:
    made = made_report()
    first = made.counterfactuals[0].explanation
    poor = replace(first, probabilities={"denied": 0.1, "approved": 0.9})
    said = "The explanation alone answers approved, so it reproduces the decision poorly."
    for explanation, expected in ((poor, True), (first, False)):
        [pair] = read(with_first(made, explanation=explanation)).pairs
        assert (said in pair) is expected


def test_how_many_counterfactuals_change_the_decision_is_the_finding() -> None:
    made = made_report()
    for found, finding in (
        (whole_graph(0.4), ": 1 changes the decision on the whole graph"),
        (whole_graph(0.6), ": none changes the decision on the whole graph"),
        (None, ""),
    ):
        page = read(with_recourse(with_first(made, whole_graph=found), options=()))
        heading = f"Counterfactuals from the search{finding}"
        assert heading in page.texts(".//h2")
        assert ("not queried" in page.pairs[0]) is (found is None)


def test_the_neighbourhood_is_counted_by_distance() -> None:
    near = read_made(graph=nx.star_graph(4)).annex("The neighbourhood")
    assert near.startswith("The neighbourhood: direct ties 2 approved, 2 refused")
    tree = nx.star_graph([0, 2, 4, 6])
    tree.add_edge(2, 1)
    near = read_made(graph=tree).annex("The neighbourhood")
    assert near.startswith("The neighbourhood: direct ties 3 refused; 2 ties away 1 approved")
    assert "2 ties away 1 [2 ties away: 1 approved] 1 approved" in near


def test_of_many_people_the_page_says_whom_it_lists() -> None:
    page = read_made(graph=nx.path_graph(60), total=4321)
    assert "4,321 people are within 59 ties" in page.text()
    assert "60 of them are listed: everyone in an explanation, then the nearest." in page.text()
    assert len(page.column("People nearby, nearest first", "Person")) == 60
    assert "are listed" not in read_made().text()
    people = read_made().column("People nearby, nearest first", "Person")
    assert people == ["P0000 (the subject)", "P0001", "P0002", "P0003"]


def test_the_annex_has_ranks_layer_and_what_a_counterfactual_dominates() -> None:
    page = read_made()
    table = "Counterfactuals by both objectives"
    assert page.column(table, "Ranks ν + |μ|") == ["19 + 3"]
    assert page.column(table, "Layer") == ["1"]
    assert page.column(table, "Dominates") == ["127 of 148 and the baseline random"]
    assert page.column(table, "Removed") == ["P0001–P0002"]
    assert page.column(table, "Simulatability ν") == [f"{MINUS}0.006957"]
    assert page.column(table, "Relevance |μ|") == ["0.521894"]
    assert page.column("Probability of each class", "Explanation 1") == ["0.850", "0.150"]


def test_a_sampled_search_says_how_much_it_saw() -> None:
    made = made_report()
    assert made.search is not None
    sample = Sample(drawn=1000, of=123456, of_is_estimate=True, bound=0.0123, confidence=0.95)
    changed = replace(made, search=replace(made.search, coverage="sampled", sample=sample))
    search = read(changed).annex("The search")
    assert "1,000 of about 123,456 subgraphs" in search
    assert "95% confidence" in search
    assert "1.2%" in search


def test_everything_needed_to_repeat_the_audit_is_on_the_page() -> None:
    page = read_made()
    assert page.html.count("0123456789abcdef" * 4) == 4
    assert "all 45 subgraphs of up to 4 people, within 2 ties" in page.text()
    assert "100 in total, including 46 for the search and 28 for options" in page.text()
    assert "seed 7, 100 queries" in page.text()


def test_evidence_is_closed_on_a_screen() -> None:
    html = read_made().html
    assert html.count("<details>") == 6
    assert "<details open" not in html


def test_a_caveat_is_told_in_full_with_its_figures_and_its_computation_drawn() -> None:
    caveats = read_made().annex("Caveats in full")
    general, confounded = caveats.split("Counterfactual 1")
    assert "Every counterfactual" in general
    assert "not its only or true cause" in general
    assert "[" not in general
    for words in (
        "the effect weakens",
        f"Removing P0001–P0002 moves the probability of refused by {MINUS}0.315",
        f"the move is {MINUS}0.116 on average (95% interval {MINUS}0.145 to {MINUS}0.087)",
        (
            "exceeds 0.010 in the same direction in 51 of 60 draws, in the opposite direction in "
            "3 of 60, and in neither in 6 of 60."
        ),
        "Confounders: the data of P0000 and the data of P0001.",
    ):
        assert words in confounded


def test_a_grade_says_where_it_depends_on_whom_and_only_there() -> None:
    general, confounded = made_report().caveats
    assert confounded.effect is not None
    always = replace(confounded, effect=replace(confounded.effect, depends_on_whom=False))
    for caveats, expected in (((general, confounded), True), ((general, always), False)):
        html = read_made(caveats=caveats).html
        assert '<span class="grade">the effect weakens</span>' in html
        assert ('<span class="grade">depends on whom</span>' in html) == expected


@pytest.mark.parametrize(
    ("grade", "words"),
    [
        ("holds", "the effect holds"),
        ("weakens", "the effect weakens"),
        ("no_effect", "no effect to speak of"),
        ("reverses", "the effect reverses"),
        ("not_settled", "whether it holds is not settled"),
    ],
)
def test_a_page_has_the_words_of_its_own_grade_only(grade: Grade, words: str) -> None:
    general, confounded = made_report().caveats
    html = read_made(caveats=(general, replace(confounded, grade=grade))).html
    assert re.findall('<span class="grade">(?!depends)(.*?)</span>', html) == [words]


def test_a_roll_out_is_drawn_only_where_it_agrees_with_the_audit_and_can_be_read() -> None:
    general, confounded = made_report().caveats
    drawn = "The model’s computation on the explanation, layer by layer"
    assert drawn in read_made().text()
    directed = read_made(caveats=(general, replace(confounded, variables=("P0001",)))).text()
    assert drawn not in directed
    assert "messages travel one way" in directed
    large = read_made(probes=replace(PROBES, depth=9)).text()
    assert drawn not in large
    assert "a picture has room for 12 people and 6 layers" in large


def test_failed_probes_are_in_the_first_lines_and_counted_in_the_annex() -> None:
    broken = replace(PROBES, tie_order=False, notes={"tie_order": {}})
    page = read_made(probes=broken)
    said = "Answers depend on the order in which ties are listed"
    assert page.html.index(said) < page.html.index("What the decision rests on")
    assert "4 of 5 passed" in page.annex("Model checks")
    assert said not in read_made().html
    assert "5 of 5 passed" in read_made().annex("Model checks")


def test_notes_of_probes_are_put_into_words() -> None:
    probes = replace(PROBES, depth=3).with_note("declared", declared=2, used=3)
    probes = probes.with_repeats(Repeats(calls=1234, differed=2, largest=0.25))
    probes = probes.with_repeats(Repeats(calls=1, differed=1, largest=0.5), "whole_graph")
    whole, again, depth = read_made(probes=probes).texts(".//div[@role='note']")
    assert "asked twice about the decisions on the whole graph" in whole
    assert "of 1,234 calls that were repeated, 2 got another answer (by up to 0.25)" in again
    assert "declare a depth of 2, which is not what was measured" in depth
