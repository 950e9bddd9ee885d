"""The report on a subject: what it says, and to whom it says what."""

import re
from dataclasses import asdict, replace
from typing import Any

import networkx as nx
import pytest

from recourse_audit.records.caveats import Grade
from recourse_audit.records.codec import SUBJECT
from recourse_audit.records.recourse import AskedOn, RecourseStatus, TieAction, WhatIf
from recourse_audit.records.report import NO_TIE_MOVES, Decision, EgoTie, SubjectReport
from recourse_audit.records.search import Sample
from recourse_audit.render.page_words import PageWords
from recourse_audit.render.pages.redaction import LEVELS, SOMEBODY, Level, redacted
from recourse_audit.render.pages.subject import SubjectView, subject_view
from recourse_audit.render.pages.tables import Table
from recourse_audit.render.templates import Templates
from tests.render.subject_reports import (
    PROBES,
    facts,
    made_report,
    option,
    with_first,
    with_recourse,
)

OTHERS = re.compile(r"P00\d[1-9]|P00[1-9]\d")
LARGEST_PAGE = 200_000


def viewed(level: Level = "auditor", **changes: Any) -> SubjectView:
    return subject_view(
        made_report(**changes), facts(), level=level, members={"gender": "x-female"}
    )


def page(view: SubjectView) -> str:
    return Templates().render("pages/subject.html", view=view)


def column(table: Table | None, heading: str) -> list[tuple[str, ...]]:
    assert table is not None
    place = [one.heading for one in table.columns].index(heading)
    return [row[place] for row in table.rows]


def test_the_decision_comes_first_with_its_probability_margin_and_the_reach_of_the_model() -> None:
    view = viewed()
    assert view.title == "P0000: denied"
    assert "denied with probability 0.900" in view.summary
    found = {fact.name: fact.value for fact in view.decision_facts}
    assert found["Margin"] == "-0.800"
    assert found["Reach of the model"] == "nodes within 2 hops"


def test_a_counterfactual_has_ranks_layer_and_what_it_dominates() -> None:
    table = viewed().counterfactuals
    assert column(table, "Ranks ν + |μ|") == [("19 + 3",)]
    assert column(table, "Layer") == [("1",)]
    assert column(table, "Dominates") == [("127 of 148", "and the baseline random")]
    assert column(table, "Removed") == [("P0001 - P0002",)]
    assert column(table, "Effect in the explanation") == [("0.850 → 0.400",)]


def test_the_effect_on_the_whole_graph_is_told_where_an_option_asked_for_it() -> None:
    assert column(viewed().counterfactuals, "Effect on the whole graph") == [("0.900 → 0.300",)]
    made = made_report()
    assert made.recourse is not None
    unasked = with_recourse(made, options=made.recourse.options[:1])
    table = subject_view(unasked, facts()).counterfactuals
    assert column(table, "Effect on the whole graph") == [("not asked",)]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("ties", "dropped", "expected"),
    [
        ({"guarantor": 1}, ("guarantor",), "0.900 → 0.048"),
        ({"guarantor": 2}, ("guarantor",), "not asked"),
        ({"guarantor": 2}, ("guarantor", "guarantor"), "0.900 → 0.048"),
        ({"guarantor": 1, "payment": 1}, ("guarantor",), "not asked"),
        ({"guarantor": 1, "payment": 1}, ("guarantor", "payment"), "0.900 → 0.048"),
        ({"guarantor": 3, "payment": 1}, ("guarantor", "guarantor", "payment"), "not asked"),
    ],
)
def test_an_option_has_the_counterfactuals_effect_only_if_it_drops_every_parallel_tie(
    ties: dict[str, int], dropped: tuple[str, ...], expected: str, level: Level
) -> None:
    """A counterfactual removes all that is between two people, an option one tie per action."""
    made = made_report()
    assert made.ego_network is not None
    others = tuple(tie for tie in made.ego_network.ties if tie.ends != ("P0001", "P0002"))
    parallel = tuple(
        EgoTie(ends=("P0001", "P0002"), kind=kind, count=count) for kind, count in ties.items()
    )
    actions = [TieAction(do="drop", tie=("P0002", "P0001"), kind=kind) for kind in dropped]
    chances = {"denied": 0.048, "approved": 0.952}
    report = with_recourse(
        replace(made, ego_network=replace(made.ego_network, ties=(*others, *parallel))),
        options=(option(actions, 1.0, probabilities=chances),),
    )
    table = subject_view(report, facts(), level=level).counterfactuals
    assert column(table, "Effect on the whole graph") == [(expected,)]


def test_dropping_more_than_the_counterfactual_removes_is_another_effect() -> None:
    more = (
        TieAction(do="drop", tie=("P0001", "P0002"), kind="guarantor"),
        TieAction(do="drop", tie=("P0000", "P0001"), kind="guarantor"),
    )
    report = with_recourse(made_report(), options=(option(more, 2.0),))
    table = subject_view(report, facts()).counterfactuals
    assert column(table, "Effect on the whole graph") == [("not asked",)]


@pytest.mark.parametrize(
    ("asked_on", "checked", "effect"),
    [
        ("whole graph", "verified on the whole graph", ("0.900 → 0.300",)),
        (
            "neighbourhood",
            "verified on the neighbourhood",
            ("0.900 → 0.300", "asked on the neighbourhood"),
        ),
    ],
)
def test_an_option_says_on_what_it_was_verified(
    asked_on: AskedOn, checked: str, effect: tuple[str, ...]
) -> None:
    made = made_report()
    assert made.recourse is not None
    options = tuple(replace(one, verified_on=asked_on) for one in made.recourse.options)
    view = subject_view(with_recourse(made, options=options), facts())
    assert view.recourse is not None
    assert {lines[0] for lines in column(view.recourse.options, "Checked")} == {checked}
    assert view.recourse.sentence == f"2 options that the model confirms on the {asked_on}."
    assert column(view.counterfactuals, "Effect on the whole graph") == [effect]


def test_an_option_that_was_not_verified_does_not_say_so() -> None:
    made = made_report()
    assert made.recourse is not None
    options = tuple(replace(one, verified=False) for one in made.recourse.options)
    view = subject_view(with_recourse(made, options=options), facts())
    assert view.recourse is not None
    assert {lines[0] for lines in column(view.recourse.options, "Checked")} == {"NOT verified"}


def test_options_come_with_cost_margin_and_how_they_were_checked() -> None:
    recourse = viewed().recourse
    assert recourse is not None
    assert recourse.status == "Verified options"
    assert column(recourse.options, "Cost") == [("0.5",), ("1.0",)]
    assert column(recourse.options, "Checked")[0] == (
        "verified on the whole graph",
        "no part of it suffices",
    )
    assert "27 of 80 combinations (up to 3 changes) were tried" in recourse.certificate
    assert "28 evaluations by the deployed model" in recourse.checked


def test_what_was_certified_and_what_was_not_found_are_told_apart() -> None:
    sentences = {}
    statuses: tuple[RecourseStatus, ...] = ("certified_infeasible", "not_found_within_budget")
    for status in statuses:
        changed = with_recourse(made_report(), status=status, options=())
        view = subject_view(changed, facts()).recourse
        assert view is not None
        assert view.options is None
        sentences[status] = view.sentence
    assert "No combination of up to 3 permitted changes" in sentences["certified_infeasible"]
    assert "there may be one" in sentences["not_found_within_budget"]


def test_failed_probes_are_in_the_first_lines() -> None:
    html = page(viewed(probes=replace(PROBES, notes={"x": "The model contradicts itself."})))
    assert html.index("The model contradicts itself.") < html.index("The decision")
    assert "The model contradicts itself." not in page(viewed())


def test_the_roll_out_is_drawn_beside_the_caveat_it_belongs_to() -> None:
    general, confounded = viewed().caveats
    assert general.picture is None
    assert confounded.picture is not None
    assert confounded.grade == "the effect weakens"
    assert "Confounders: the features of P0000 and the features of P0001." in confounded.picture.alt


def test_a_grade_says_where_it_depends_on_whom_and_only_there() -> None:
    made = made_report()
    general, confounded = made.caveats
    assert confounded.effect is not None
    always = replace(confounded, effect=replace(confounded.effect, depends_on_whom=False))
    for caveats, expected in (((general, confounded), True), ((general, always), False)):
        view = viewed(caveats=caveats)
        assert [bool(one.depends) for one in view.caveats] == [False, expected]
        html = page(view)
        assert '<span class="grade">the effect weakens</span>' in html
        assert ('<span class="grade">depends on whom</span>' in html) == expected


@pytest.mark.parametrize(
    ("grade", "words"),
    [
        ("holds", "the effect holds"),
        ("weakens", "the effect weakens"),
        ("no_effect", "no effect to speak of"),
        ("reverses", "the effect reverses"),
        ("not_settled", "not settled"),
    ],
)
def test_a_page_has_the_words_of_its_own_grade_only(grade: Grade, words: str) -> None:
    general, confounded = made_report().caveats
    html = page(viewed(caveats=(general, replace(confounded, grade=grade))))
    assert re.findall('<span class="grade">(?!depends)(.*?)</span>', html) == [words]


def test_a_roll_out_that_the_audit_would_not_agree_with_is_not_drawn() -> None:
    made = made_report()
    general, confounded = made.caveats
    changed = replace(made, caveats=(general, replace(confounded, variables=("P0001",))))
    caveat = subject_view(changed, facts()).caveats[1]
    assert caveat.picture is None
    assert "messages travel one way" in caveat.limit


def test_a_roll_out_too_large_to_be_read_says_so() -> None:
    changed = made_report(probes=replace(PROBES, depth=9))
    caveat = subject_view(changed, facts()).caveats[1]
    assert caveat.picture is None
    assert "a picture has room for 12 nodes and 6 layers" in caveat.limit


def test_everything_needed_to_repeat_the_audit_is_on_the_page() -> None:
    html = page(viewed())
    assert html.count("0123456789abcdef" * 4) == 4
    assert "All 45 subgraphs of up to 4 nodes within 2 hops" in html
    assert "100 in total, including 46 for the search and 28 for options" in html


def test_a_sampled_search_says_how_much_it_saw() -> None:
    made = made_report()
    assert made.search is not None
    sample = Sample(drawn=1000, of=123456, of_is_estimate=True, bound=0.0123, confidence=0.95)
    changed = replace(made, search=replace(made.search, coverage="sampled", sample=sample))
    found = {fact.name: fact.value for fact in subject_view(changed, facts()).search_facts}
    assert "1,000 of about 123,456 subgraphs" in found["Coverage"]
    assert "1.23%" in found["Coverage"]


def test_a_subject_without_ties_has_words_in_place_of_pictures() -> None:
    view = viewed(
        search=None,
        counterfactuals=(),
        front=(),
        front_size=0,
        objective_grid=None,
        ego_network=None,
        caveats=(),
        note="This subject has no ties.",
    )
    assert view.nothing == "This subject has no ties."
    assert view.neighbourhood is None
    assert view.histograms is not None
    assert "This subject has no ties." in page(view)


def test_a_report_without_anything_to_draw_still_becomes_a_page() -> None:
    bare = with_recourse(made_report(ego_network=None, objective_grid=None), droppable=())
    view = subject_view(bare, facts())
    assert view.neighbourhood is None
    assert view.objective_grid is None
    assert "P0001 - P0002" in page(view)


def test_a_subject_whom_the_model_gave_no_number_becomes_a_page() -> None:
    nobody = Decision(id="P0000", decision="", favourable=False, probabilities={})
    view = viewed(
        subject=nobody,
        search=None,
        counterfactuals=(),
        front=(),
        objective_grid=None,
        ego_network=None,
        recourse=None,
        caveats=(),
        error="the model gave NaN for P0007",
    )
    assert view.title == "P0000: no decision"
    assert "NaN" in page(view)


@pytest.mark.parametrize("level", LEVELS)
def test_only_the_auditor_sees_other_peoples_ids(level: Level) -> None:
    html = page(viewed(level, graph=nx.star_graph(20)))
    assert bool(OTHERS.search(html)) == (level == "auditor")


@pytest.mark.parametrize("level", LEVELS)
def test_only_the_auditor_sees_protected_attributes(level: Level) -> None:
    html = page(viewed(level, attribute="gender"))
    assert ("x-female" in html) == (level == "auditor")
    assert ("gender" in html.lower()) == (level == "auditor")


@pytest.mark.parametrize("level", LEVELS)
def test_only_the_auditor_reads_what_went_wrong(level: Level) -> None:
    html = page(viewed(level, error="row of P0007 is broken"))
    assert ("P0007" in html) == (level == "auditor")
    assert level == "auditor" or "the auditor's copy says what" in html.replace("&#39;", "'")


def test_a_reviewer_meets_the_same_person_under_the_same_number_everywhere() -> None:
    view = viewed("reviewer")
    assert column(view.counterfactuals, "Removed") == [("person 1 - person 2",)]
    assert "Removing person 1-person 2" in view.caveats[1].text
    assert view.caveats[1].picture is not None
    assert "the features of person 1" in view.caveats[1].picture.alt
    assert view.recourse is not None
    assert column(view.recourse.options, "Change")[1] == (
        "drop the guarantor tie person 1 - person 2",
    )
    assert view.people is not None
    assert [row[0] for row in view.people.rows] == [("P0000",), ("1",), ("2",), ("3",)]


def test_the_subject_learns_kinds_of_ties_and_counts_and_sees_no_neighbourhood() -> None:
    view = viewed("subject")
    assert view.neighbourhood is None
    assert view.people is None
    assert column(view.counterfactuals, "Removed") == [("1 guarantor tie",)]
    assert column(view.counterfactuals, "Explanation") == [("2 guarantor ties",)]
    assert view.recourse is not None
    assert column(view.recourse.options, "Change")[1] == (
        "drop a guarantor tie between two other people",
    )
    headings = (
        [one.heading for one in view.recourse.options.columns] if view.recourse.options else []
    )
    assert "Other decisions it changes" not in headings
    assert view.caveats[1].text == "How much this matters depends on other information."
    assert all(caveat.picture is None for caveat in view.caveats)


def test_numbers_of_people_go_by_distance_from_the_subject() -> None:
    shown = redacted(made_report(nx.star_graph(3)), "reviewer")
    assert shown.ego_network is not None
    names = [node.id for node in shown.ego_network.nodes]
    assert names == ["P0000", "person 1", "person 2", "person 3"]


def everything() -> SubjectReport:
    """A report in which every field that can name somebody does."""
    made = made_report(attribute="gender")
    changed = WhatIf(
        actions=(TieAction(do="drop", tie=("P0000", "P0002"), kind="guarantor"),),
        decision="approved",
        favourable=True,
        probabilities={"denied": 0.4, "approved": 0.6},
        margin_before=-0.8,
        margin=0.2,
        forbidden=("P0002 is family",),
    )
    lost = replace(made.caveats[1], counterfactual=7, about="counterfactual 7")
    strange = replace(made.caveats[0], text="P0003 matters.", variables=("P0003",))
    return replace(
        made,
        baselines={"random": made.front[0]},
        caveats=(*made.caveats, lost, strange),
        what_if=changed,
        error="row of P0002 is broken",
    )


@pytest.mark.parametrize("level", LEVELS)
def test_no_field_of_a_redacted_report_names_anybody_else(level: Level) -> None:
    text = SUBJECT.write(redacted(everything(), level, ["gender"]))
    assert bool(OTHERS.search(text)) == (level == "auditor")
    assert ("gender" in text) == (level == "auditor")
    assert ("person 1" in text) == (level == "reviewer")
    assert (SOMEBODY in text) == (level == "subject")


@pytest.mark.parametrize("level", LEVELS)
def test_why_options_could_not_be_determined_is_left_to_the_auditor(level: Level) -> None:
    report = with_recourse(made_report(), status="error", reason="P0002 is broken", options=())
    html = page(subject_view(report, facts(), level=level))
    assert ("P0002 is broken" in html) == (level == "auditor")


def test_the_auditors_copy_is_the_report_with_its_text_made_plain() -> None:
    assert redacted(everything(), "auditor", ["gender"]) == everything()
    hostile = made_report(name=lambda place: f"\x1b[2J{place}", kind="new\nline")
    shown = redacted(hostile, "auditor")
    assert shown.subject.id == "\\x1b[2J0"
    assert shown.counterfactuals[0].removed == (("\\x1b[2J1", "\\x1b[2J2"),)
    assert "\\n" in SUBJECT.write(shown)
    assert not set(SUBJECT.write(shown)) & {"\x1b", "\n"}


def test_a_view_holds_text_only_so_that_templates_decide_nothing() -> None:
    def leaves(value: Any) -> list[Any]:
        if isinstance(value, dict):
            return [leaf for one in value.values() for leaf in leaves(one)]
        if isinstance(value, tuple | list):
            return [leaf for one in value for leaf in leaves(one)]
        return [value]

    kinds = {type(leaf) for leaf in leaves(asdict(viewed()))}
    assert kinds <= {str, bool, type(None), PageWords}


@pytest.mark.parametrize("level", LEVELS)
def test_the_largest_page_is_small(level: Level) -> None:
    made = made_report(
        nx.complete_graph(60), name=lambda place: f"{place:04d}-{'customer-of-a-bank' * 2}"
    )
    assert made.objective_grid is not None
    full = tuple((cell, 123456) for cell in range(640))
    crowd = replace(
        made,
        objective_grid=replace(made.objective_grid, counts=full),
        counterfactuals=made.counterfactuals * 3,
        caveats=(*made.caveats, *made.caveats[1:] * 2),
    )
    assert len(page(subject_view(crowd, facts(), level=level)).encode()) < LARGEST_PAGE


def test_beyond_sixty_people_the_page_says_whom_it_draws_and_lists_the_same() -> None:
    view = viewed(graph=nx.path_graph(90), total=4321)
    assert view.limit.startswith(
        "A picture has room for 60 people. Of the 4,321 within 89 hops, 60"
    )
    assert view.people is not None
    assert len(view.people.rows) == 60
    assert "P0060" not in page(view)
    assert viewed().limit == ""


def test_where_no_tie_moves_the_answer_the_page_shows_no_explanation() -> None:
    made = with_first(made_report(), relevance=0.0, signed_relevance=0.0)
    assert made.objective_grid is not None
    still = replace(made, objective_grid=replace(made.objective_grid, relevance=(0.0, 0.0)))
    for note in ("", "In the words of the report."):
        view = subject_view(replace(still, note=note), facts())
        assert view.nothing == (note or NO_TIE_MOVES)
        assert view.counterfactuals is None
        assert view.caveats == ()
        assert "Removing these ties changes" not in page(view)


def test_the_decision_is_not_said_to_rest_on_ties_that_held_it_back() -> None:
    assert viewed().remark == ""
    raised = with_first(made_report(), probabilities={"denied": 0.95, "approved": 0.05})
    view = subject_view(raised, facts())
    assert "raises the probability of denied (0.850 → 0.950)" in view.remark
    assert "the decision does not rest on them; they held it back" in page(view)
    effects = column(view.counterfactuals, "Effect in the explanation")
    assert effects == [("0.850 → 0.950", "held it back")]
    assert column(view.counterfactuals, "Relevance |μ|") == [("0.521894",)]


def test_how_often_an_option_still_works_has_its_count_and_interval() -> None:
    view = viewed()
    assert view.recourse is not None
    [still, *_] = column(
        view.recourse.options, "Still works if the neighbourhood changes (draws, 95 % interval)"
    )
    assert still == (
        "96% with other ties",
        "(48 of 50: 87 to 99%)",
        "80% with other values",
        "(40 of 50: 67 to 89%)",
    )
