"""The page of the group report: every figure, every limit stated, and what is left out."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import get_args

import pytest

from recourse_audit.records.group_figures import WhyUntested
from recourse_audit.records.groups import Days, GroupReport, LeftOut, Part, WhyNotCompared
from recourse_audit.records.model import (
    Agreement,
    BetterRule,
    DecidedAs,
    Disagreement,
    GroupAgreement,
)
from recourse_audit.render.i18n import LANGUAGES, Words
from recourse_audit.render.pages.groups import GroupsView, groups_view
from recourse_audit.render.pages.tables import ChartTable, Table
from recourse_audit.render.templates import Templates
from tests.render.group_reports import (
    HOSTILE,
    column_report,
    favourable_report,
    few_audited_report,
    gap_report,
    many_groups_report,
    no_ties_report,
    notes_of,
    one_group_report,
    pooled_report,
    quiet_report,
    renamed_report,
    tables_of,
    tiny_report,
    unfinished_report,
)

NEVER = (
    "fair",
    "unfair",
    "fairness",
    "unbiased",
    "bias",
    "biased",
    "compliant",
    "proves",
    "proven",
)
REPORTS: dict[str, Callable[[], GroupReport]] = {
    "gap": gap_report,
    "quiet": quiet_report,
    "pooled": pooled_report,
    "column": column_report,
    "no ties": no_ties_report,
    "unfinished": unfinished_report,
    "tiny": tiny_report,
    "few audited": few_audited_report,
    "one group": one_group_report,
    "twelve groups": many_groups_report,
    "all favourable": favourable_report,
}


@cache
def report_of(name: str) -> GroupReport:
    return REPORTS[name]()


def view_of(name: str, language: str = "en") -> GroupsView:
    return groups_view(report_of(name), words=words_in(language))


@cache
def words_in(language: str) -> Words:
    return Words(language, Templates())


@cache
def page_of(name: str, language: str = "en") -> str:
    return Templates().render("pages/groups.html", view=view_of(name, language))


def charts_of(view: GroupsView, attribute: str) -> dict[str, ChartTable]:
    """The charts of one attribute, by the first word of their titles."""
    [found] = [one for one in view.attributes if one.heading == f"By {attribute}"]
    return {re.split(r"[: ]", one.title)[0]: one for one in found.charts}


def words_of(page: str) -> str:
    return re.sub(r"<[^>]+>", " ", re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL))


def row_of(table: Table, name: str) -> list[str]:
    return [cell[0] for row in table.rows if row[0] == (name,) for cell in row]


@pytest.mark.parametrize("name", REPORTS)
def test_no_page_promises_what_figures_cannot(name: str) -> None:
    words = re.findall(r"[a-z]+", words_of(page_of(name)).lower())
    assert not set(words) & set(NEVER)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", REPORTS)
def test_every_page_is_made_in_every_language_without_a_trace_of_our_own(
    name: str, language: str
) -> None:
    page = page_of(name, language)
    words = words_of(page)
    assert f'<html lang="{language}">' in page
    assert not re.search(r"\\x|\{[a-z_]+\}|\bNone\b(?! of| exists)", words)
    if language != "en":
        text = words.lower()
        for english in ("refused", "pooled", "points", "people", "interval ", "nobody", "search"):
            if (language, english) != ("fr", "points"):
                assert english not in text, english


def test_tables_have_seven_columns_at_most_and_say_what_a_plus_is() -> None:
    view = view_of("gap")
    for caption, table in tables_of(view).items():
        assert len(table.columns) <= 7, caption
    page = words_of(page_of("gap"))
    assert page.count("A plus is worse for the group.") >= 2


def test_attributes_are_named_plainly() -> None:
    report = report_of("quiet")
    [table] = report.tables
    renamed = replace(table, name="age_band", attributes=("age_band",))
    view = groups_view(replace(report, tables=(renamed,), findings=()))
    assert [one.heading for one in view.attributes] == ["By age band"]


def test_rates_say_share_interval_count_and_verdict_and_that_overlap_is_no_test() -> None:
    report, view = report_of("gap"), view_of("gap")
    charts = charts_of(view, "origin")
    south = next(row for row in charts["Have"].rows if row.strong == "south")
    found = report.by_group["origin"]["south"].outcomes
    assert found is not None
    rate = found.feasibility
    assert rate.share is not None
    assert south.figure == f"{rate.share:.1%}"
    assert f", {rate.count} of {rate.of}. ▲ gap shown: " in south.words
    assert "Overlap is not a test" in charts["Refused"].note
    assert "Overlap" not in charts["Have"].note, "a note stands once"
    labels = {row.strong: row.label for row in charts["Refused"].rows}
    assert labels["north"] == " (reference)"
    assert labels["unknown"] == " (counted, not tested)"


def test_effort_keeps_those_without_an_option_in_view() -> None:
    report = report_of("quiet")
    chart = charts_of(view_of("quiet"), "gender")["Effort"]
    for row in chart.rows:
        found = report.by_group["gender"][row.strong].outcomes
        assert found is not None
        assert found.certified_infeasible is None  # few searches are unfinished, and folded in
        without = 1 - found.verified / found.feasibility.of
        assert f"{without:.1%} none exists or none was found" in row.words
        assert row.picture is not None
        assert 'class="fill-no-tint' in row.picture.svg
    assert "people without an option count as beyond every effort" in chart.note


def test_survivors_are_never_taken_for_everybody() -> None:
    page = words_of(page_of("gap"))
    assert "people without an option count as beyond every effort" in words_of(page_of("quiet"))
    assert "Only people with an option are counted here" in page


def test_whom_options_cut_off_says_both_shares_and_their_ratio() -> None:
    report, view = report_of("gap"), view_of("gap")
    chart = charts_of(view, "origin")["Whom"]
    [table] = [one for one in report.cut_off if (one.attribute, one.options) == ("origin", "first")]
    rows = {row.strong: row for row in chart.rows}
    for one in table.by_group:
        if one.droppable and one.ratio is not None:
            row = rows[one.group]
            assert row.figure == f"{one.dropped_share:.1%}"
            assert f"{one.droppable_share:.1%}: ratio {one.ratio:.2f}" in row.words


def test_common_options_are_said_in_words() -> None:
    report, view = report_of("gap"), view_of("gap")
    assert view.common is not None
    first = report.common_options[0]
    assert view.common.title == (
        f"End a payment tie: {first.share_so_far:.0%} of those audited"
        if first.changes[0].do == "drop"
        else f"Change savings: {first.share_so_far:.0%} of those audited"
    )
    assert view_of("quiet").common is None


def test_what_is_not_settled_is_a_table_with_the_smallest_detectable_gap() -> None:
    report, view = report_of("gap"), view_of("gap")
    single, crossed = view.not_settled
    open_still = [one for one in report.findings if one.verdict == "not settled"]
    assert len(single.rows) + len(crossed.rows) == len(open_still)
    assert [one.heading for one in single.columns] == [
        "Group",
        "Measure",
        "Gap, points",
        "95% interval",
        "Smallest detectable gap, points",
    ]
    for row in single.rows:
        assert re.fullmatch(r"\d+|0\.\d", row[4][0])
    assert len(page_of("gap").split("would have been found")) <= 8


def test_without_ties_nothing_is_tested_and_the_table_says_why() -> None:
    view = view_of("no ties")
    [table] = view.not_settled
    assert {row[4] for row in table.rows} == {("not tested", "fewer than 100 people have ties")}
    tests = tables_of(view)["Every test of one attribute"]
    assert {row[3] for row in tests.rows} == {("\N{EN DASH}", "\N{EN DASH}")}


def test_every_test_of_both_families_is_in_the_annex() -> None:
    report, view = report_of("gap"), view_of("gap")
    tables = tables_of(view)
    rows = [
        row
        for caption in ("Every test of one attribute", "Every test of two attributes crossed")
        for row in tables[caption].rows
    ]
    assert len(rows) == len(report.tests) + report.untested
    people = [one for table in report.tables for one in table.comparisons if one.primary]
    for row, one in zip(rows, people, strict=True):
        assert one.precision is not None
        everybody = one.people + one.reference_people
        assert row[4] == (f"{everybody}", f"{round(one.precision.effective)}")
    heading = tables["Every test of one attribute"].columns[3].heading
    assert heading == "p alone; corrected for 6 tests"


def test_gaps_are_in_points_with_a_plus_where_it_is_worse() -> None:
    report, view = report_of("gap"), view_of("gap")
    [one] = [
        one
        for one in report.tables[0].comparisons
        if (one.group, one.measure) == ("south", "feasibility")
    ]
    assert one.gap == -one.difference > 0
    table = tables_of(view)["Every test of one attribute"]
    [row] = [
        row for row in table.rows if row[:2] == (("south against north",), ("having an option",))
    ]
    assert row[2][0] == f"+{round(100 * one.gap)}"
    assert row[6] == ("▲ gap shown",)


@pytest.mark.parametrize("name", REPORTS)
def test_no_difference_of_shares_is_in_per_cent(name: str) -> None:
    words = words_of(page_of(name)).replace("\N{NO-BREAK SPACE}", " ")
    assert not re.search(r"\b(gaps? of|gap|cheaper|five are) [-+]?[\d.]+ ?%", words)
    assert not re.search(r"[-+\N{MINUS SIGN}][\d.]+ ?%", words)


def test_why_p_and_interval_may_disagree_is_said_once() -> None:
    assert words_of(page_of("gap")).count("corrected p value allows for all tests") == 1
    assert "corrected p value allows" not in words_of(page_of("no ties"))


def test_an_impact_ratio_is_against_the_group_with_the_largest_share() -> None:
    report, tables = report_of("gap"), tables_of(view_of("gap"))
    shares = {
        group.name: group.decisions.favourable
        / (group.decisions.favourable + group.decisions.refused)
        for group in report.tables[0].by_group
        if group.known
    }
    best = max(shares.values())
    for name, share in shares.items():
        row = row_of(tables["Impact ratios by origin"], name)
        assert row[4] == f"{share / best:.2f}"
        assert row[5] == ("below" if share / best < 0.8 else "not below")
    assert row_of(tables["Impact ratios by origin"], "unknown")[4:] == [
        "\N{EN DASH}",
        "counted, no ratio",
    ]
    assert {"Impact ratios by gender", "Impact ratios by origin, gender"} <= set(tables)


def test_groups_that_are_pooled_have_one_row_and_the_page_says_so_once() -> None:
    report, view = report_of("pooled"), view_of("pooled")
    assert report.pooled == 2
    rows = {row.strong: row for row in charts_of(view, "gender")["Refused"].rows}
    assert set(rows) == {"man", "woman", "other (2 groups)"}
    assert rows["other (2 groups)"].picture is not None
    ratios = tables_of(view)["Impact ratios by gender"]
    assert row_of(ratios, "other (2 groups)")[4:] == ["\N{EN DASH}", "counted, no ratio"]
    assert notes_of(view).count("By gender, 2 groups are pooled.") == 1
    assert "tiny" not in words_of(page_of("pooled"))


def test_that_nothing_is_left_out_is_said_only_where_nothing_is() -> None:
    """It follows from the two places in the record that say what is."""
    nothing = "no group is pooled and nothing is left out"
    for name in REPORTS:
        report = report_of(name)
        assert (nothing in notes_of(view_of(name))) == (not report.pooled and not report.left_out)
        assert ("What is left out" in tables_of(view_of(name))) == bool(report.left_out)
    every = tuple(LeftOut(table="a_b x c", part=part, why="few_people") for part in get_args(Part))
    view = groups_view(replace(report_of("quiet"), left_out=every))
    [row] = tables_of(view)["What is left out"].rows
    assert row[0] == ("a b, c",)
    assert len(row[1]) == len(every)


def test_where_few_were_audited_refusals_are_shown_and_the_rest_is_left_out() -> None:
    charts = charts_of(view_of("few audited"), "gender")
    assert all(row.picture is not None for row in charts["Refused"].rows)
    assert set(charts) == {"Refused"}


def test_groups_of_people_without_a_value_are_unknown_in_every_language() -> None:
    for language, unknown in (("de", "unbekannt"), ("fr", "inconnu"), ("es", "desconocido")):
        assert unknown in words_of(page_of("gap", language))
        assert "unknown" not in words_of(page_of("gap", language))


@pytest.mark.parametrize(
    ("ran", "words"),
    [
        (Days(first="2026-05-01", last="2026-05-01"), "May 1, 2026 (UTC, "),
        (Days(first="2026-05-31", last="2026-06-02"), "May 31, 2026 to June 2, 2026 (UTC"),
        (None, "not known: it is not in run.jsonl"),
    ],
)
def test_when_the_audit_ran_is_on_the_page(ran: Days | None, words: str) -> None:
    for name in ("quiet", "tiny"):
        view = groups_view(replace(report_of(name), ran=ran))
        [fact] = [fact for part in view.annex for fact in part.facts if fact.name == "Date"]
        assert words in fact.value


def test_communities_are_named_where_a_column_names_them_and_only_there() -> None:
    facts = {fact.name: fact.value for part in view_of("column").annex for fact in part.facts}
    assert facts["Communities"].startswith("20 communities, named by the column district. ")
    others = {fact.name for part in view_of("quiet").annex for fact in part.facts}
    assert "Communities" not in others


def test_every_note_of_a_report_has_words_in_every_language() -> None:
    """A text of the record that no catalogue knows would be left in English."""
    report = report_of("quiet")
    [table] = report.tables
    untested = [
        replace(one, untested=why, smallest_gap_in_family=None, verdict="not settled")
        for one in table.comparisons
        if one.primary
        for why in get_args(WhyUntested)
    ]
    parts = [LeftOut(table="a x b", part=part, why="few_people") for part in get_args(Part)]
    parts.append(LeftOut(table="a x c", part="table", why="too_many_groups"))
    for why in get_args(WhyNotCompared):
        noted = replace(table, not_compared=why, comparisons=tuple(untested))
        changed = replace(report, tables=(noted,), left_out=tuple(parts))
        for known in (True, False):
            own = replace(report.own_data, known=known, overall=None, tables=())
            full = replace(changed, own_data=own)
            for nothing in ("not_asked", "few_people"):
                common = replace(report.common_actions, nothing=nothing)
                words = words_of(
                    Templates().render(
                        "pages/groups.html",
                        view=groups_view(
                            replace(full, common_actions=common), words=words_in("de")
                        ),
                    )
                )
                for english in ("fewer", "left out", "people", "known", "clump", "alike", "tried"):
                    assert english not in words


def test_agreement_with_the_record_is_said_in_every_language() -> None:
    agreement = Agreement(
        column="decision",
        compared=100,
        agreeing=90,
        unrecorded=3,
        undecided=2,
        by_class=(DecidedAs(recorded="denied", decided="approved", people=10),),
        by_group=(GroupAgreement(attribute="age_band", group="", compared=20, agreeing=15),),
        examples=(Disagreement(id="P1", recorded="denied", decided="approved", margin=0.1),),
        better=BetterRule(kind="cut_off", cut_off=0.65, classes=(), agreeing=97),
        outside=2,
        outside_features=("income",),
    )
    report = replace(report_of("quiet"), agreement=agreement)
    said = " ".join(groups_view(report).agreement)
    for words in (
        "90 of 100 people (90.0%)",
        "3 without a decision",
        "10 denied on record",
        "cut-off of 0.650",
        "2 of those on whom",
        "age band: unknown 75.0%",
        "P1 (denied",
    ):
        assert words in said
    for language in ("de", "fr", "es"):
        other = " ".join(groups_view(report, words=words_in(language)).agreement)
        assert "record" not in other.replace("recorded", "")
        assert "people" not in other
    classes = replace(
        agreement,
        better=BetterRule(kind="class_order", cut_off=None, classes=("b", "a"), agreeing=97),
    )
    assert "order b, a" in " ".join(groups_view(replace(report, agreement=classes)).agreement)
    assert groups_view(report_of("quiet")).agreement == ()


def test_too_few_people_leave_a_page_without_figures() -> None:
    view = view_of("tiny")
    assert view.board.say("headline") == "Groups were not compared"
    assert (view.common, view.actions, view.not_settled) == (None, None, ())
    assert "No comparison is left open." in words_of(page_of("tiny"))


def test_a_group_named_to_break_a_page_is_text() -> None:
    page = Templates().render("pages/groups.html", view=groups_view(renamed_report(HOSTILE)))
    assert "<b onclick" not in page
    assert "&lt;b onclick=alert(1)&gt;{{7*7}}&lt;/b&gt;" in page


def test_without_paper_no_link_leads_to_it() -> None:
    links = [link.address for link in groups_view(report_of("quiet"), paper=False).links]
    assert links == ["index.html", "groups.csv"]
