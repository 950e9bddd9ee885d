"""The page of the group report: every figure, every limit stated, and nothing withheld in it."""

import io
import re
from dataclasses import replace
from functools import cache

import pytest
from rich.console import Console

from recourse_audit.records.groups import Days, GroupReport
from recourse_audit.render.pages.groups import GroupsView, groups_view, verdicts_of
from recourse_audit.render.pages.groups_sentences import lead, signed
from recourse_audit.render.pages.tables import Table
from recourse_audit.render.templates import Templates
from recourse_audit.render.terminal.groups import show_groups
from tests.render.group_reports import (
    HOSTILE,
    few_audited_report,
    gap_report,
    loners_report,
    no_communities_report,
    quiet_report,
    tiny_report,
    unfinished_report,
    withheld_report,
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
REPORTS = {
    "gap": gap_report,
    "quiet": quiet_report,
    "withheld": withheld_report,
    "loners": loners_report,
    "no communities": no_communities_report,
    "unfinished": unfinished_report,
    "tiny": tiny_report,
    "few audited": few_audited_report,
}


@cache
def report_of(name: str) -> GroupReport:
    return REPORTS[name]()


def view_of(name: str) -> GroupsView:
    return groups_view(report_of(name))


def page_of(name: str) -> str:
    return Templates().render("pages/groups.html", view=view_of(name))


def words_of(page: str) -> str:
    return re.sub(r"<[^>]+>", " ", re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL))


def row_of(table: Table, name: str) -> list[str]:
    return [cell[0] for row in table.rows if row[0] == (name,) for cell in row]


@pytest.mark.parametrize("name", REPORTS)
def test_no_page_promises_what_figures_cannot(name: str) -> None:
    words = re.findall(r"[a-z]+", words_of(page_of(name)).lower())
    assert not set(words) & set(NEVER)


@pytest.mark.parametrize("name", REPORTS)
def test_our_own_characters_are_never_written_out(name: str) -> None:
    assert "\\x" not in words_of(page_of(name))


def test_a_gap_is_named_first_and_stands_in_the_table() -> None:
    view = view_of("gap")
    assert "are flagged: origin (south against north: options and cost)" in view.lead
    rows = {row.name: row for part in view.parts for row in part.rows}
    assert rows["south"].verdicts[0].words == "flag: options and cost"
    assert rows["south"].verdicts[0].kind == "flag"
    assert rows["north"].verdicts[0].words == "reference group"
    assert "below 0.8" in rows["south"].option[1]


def test_no_gap_is_said_with_what_is_left_open() -> None:
    view = view_of("quiet")
    assert view.lead.startswith("None of 3 comparisons is flagged: ")
    assert "there may still be a gap" in view.open_questions[-1]


def test_counts_add_up_and_the_rest_is_said() -> None:
    report, view = report_of("gap"), view_of("gap")
    decided, found = report.overall.decisions, report.overall.outcomes
    assert decided is not None
    assert found is not None
    assert decided.people == decided.refused + decided.favourable + decided.undecided
    facts = {fact.name: fact.value for fact in view.facts}
    assert facts["Population"].startswith(f"900 people: {decided.refused:,} refused")
    assert f"{found.verified:,} have a verified option" in facts["Audited"]
    tests = f"{len(report.family)}, corrected together with Holm's method at 0.05."
    assert facts["Tests"].startswith(tests)


@pytest.mark.parametrize(
    ("ran", "words"),
    [
        (Days(first="2026-05-01", last="2026-05-01"), "The audit ran on 1 May 2026 (UTC, "),
        (Days(first="2026-05-31", last="2026-06-02"), "from 31 May 2026 to 2 June 2026 (UTC"),
        (None, "The date of the audit is not known"),
    ],
)
def test_when_the_audit_ran_is_on_the_page_and_in_the_terminal(
    ran: Days | None, words: str
) -> None:
    for name in ("quiet", "tiny"):
        report = replace(report_of(name), ran=ran)
        [fact] = [fact for fact in groups_view(report).facts if fact.name == "Date"]
        assert words in fact.value
        console = Console(width=300, record=True, file=io.StringIO())
        show_groups(console, report)
        assert words in console.export_text()


def test_communities_of_one_person_are_said_apart() -> None:
    facts = {fact.name: fact.value for fact in view_of("loners").facts}
    assert facts["Communities"].startswith(
        "29 communities, 9 of them one person without ties; found in the ties (Louvain)."
    )
    console = Console(width=300, record=True, file=io.StringIO())
    show_groups(console, report_of("loners"))
    said = "29 communities, 9 of them one person without ties, found in the ties (Louvain)."
    assert said in console.export_text()


def test_people_of_unknown_groups_are_counted_and_never_tested() -> None:
    view = view_of("gap")
    [unknown] = [row for part in view.parts for row in part.rows if row.name == "unknown"]
    assert unknown.people == "30"
    assert unknown.verdicts[0].words == "counted, not tested"
    assert row_of(view.impacts[0], "unknown")[4:] == ["\N{EN DASH}", "counted, no ratio"]


def test_an_impact_ratio_is_against_the_group_with_the_largest_share() -> None:
    report, view = report_of("gap"), view_of("gap")
    shares = {
        group.name: group.decisions.favourable
        / (group.decisions.favourable + group.decisions.refused)
        for group in report.tables[0].by_group
        if group.decisions is not None and group.known
    }
    best = max(shares.values())
    for name, share in shares.items():
        row = row_of(view.impacts[0], name)
        assert row[4] == f"{share / best:.2f}"
        assert row[5] == ("below 0.8" if share / best < 0.8 else "not below 0.8")
    assert [table.caption for table in view.impacts] == [
        "Impact ratios by origin",
        "Impact ratios by gender",
        "Impact ratios by origin and gender",
    ]


def test_every_test_of_the_family_is_in_the_annex() -> None:
    report, view = report_of("gap"), view_of("gap")
    rows = [row for table in view.test_tables for row in table.rows]
    assert len(rows) == len(report.family) + report.untested
    adjusted = sorted(f"{test.adjusted:.3f}" for test in report.family if test.adjusted >= 0.001)
    assert adjusted == sorted(row[6][0] for row in rows if not row[6][0].startswith("<"))


def test_why_p_and_interval_may_disagree_is_said_once_a_page() -> None:
    words, tests = words_of(page_of("gap")), len(report_of("gap").family)
    assert words.count(f"corrected p value allows for all {tests} tests, while an interval") == 1
    headings = [column.heading for column in view_of("gap").test_tables[0].columns]
    assert headings[5:7] == ["p, this test alone", f"p, corrected for {tests} tests"]
    assert "corrected p value" not in words_of(page_of("no communities"))


def test_figures_that_are_withheld_are_nowhere_and_the_log_says_so() -> None:
    report, view = report_of("withheld"), view_of("withheld")
    assert {one.group for one in report.suppressed} == {"tiny", "other"}
    assert [row[0] for row in view.withheld.rows] == [("other",), ("tiny",)]
    rows = {row.name: row for part in view.parts for row in part.rows}
    assert rows["tiny"].people == rows["tiny"].cost == "\N{EN DASH}"
    assert rows["tiny"].verdicts[0].words == "withheld: too few people"
    assert rows["other"].verdicts[0].words == "withheld: would reveal another group"
    assert row_of(view.impacts[0], "tiny")[1:5] == 4 * ["\N{EN DASH}"]


def test_survivors_are_never_taken_for_everybody() -> None:
    page = words_of(page_of("gap"))
    assert "people without an option count as beyond every cost" in page
    assert "Only people with an option are counted here" in page


def test_what_is_not_finished_or_not_known_comes_first() -> None:
    [first] = view_of("unfinished").warnings
    assert "120 of 400 subjects are done" in first
    [first] = view_of("no communities").warnings
    assert first == "No verdicts: communities are not known (too many ties)."
    assert "cannot be decided" in view_of("no communities").lead


def test_too_few_people_leave_a_page_without_figures() -> None:
    view = view_of("tiny")
    assert view.lead == "No groups could be compared."
    assert view.facts[0].value == "Too few people to show anything."
    assert (view.main_gap, view.main_curve, view.common) == (None, None, None)


def test_pictures_show_the_attribute_with_most_flags_first() -> None:
    view = view_of("gap")
    assert view.main_curve is not None
    assert view.main_curve.caption == "What the cheapest option costs, by origin"
    assert view.main_cut_off is not None
    assert view.common is not None
    captions = [figure.caption for figure in view.more_figures]
    assert "Gaps in refusals" in captions
    assert "What the cheapest option costs, by gender" in captions


@pytest.mark.parametrize("name", REPORTS)
def test_no_difference_of_shares_is_in_per_cent(name: str) -> None:
    words = words_of(page_of(name)).replace("\N{NO-BREAK SPACE}", " ")
    assert not re.search(r"\b(gaps? of|gap|cheaper|five are) [-+]?[\d.]+ ?%", words)
    assert not re.search(r"[-+\N{MINUS SIGN}][\d.]+ ?%", words)


def test_gaps_are_in_points_in_sentences_tables_and_pictures() -> None:
    report, view = report_of("gap"), view_of("gap")
    assert "show no gap of 10 points or more" in view.lead
    crossed = [one for one in view.open_questions if one.startswith("Attributes crossed")]
    assert re.search(r"Gaps of [\d.]+ to [\d.]+ points would be flagged four times", crossed[0])
    [one] = [
        one
        for one in report.tables[0].comparisons
        if (one.group, one.measure) == ("south", "feasibility")
    ]
    table = view.test_tables[0]
    assert "Detectable gap, points" in [column.heading for column in table.columns]
    [row] = [row for row in table.rows if row[:2] == (("south / north",), ("options",))]
    assert row[2] == (signed(100 * one.difference, 1),)
    assert one.smallest_gap_in_family is not None
    assert row[7] == (f"{100 * one.smallest_gap_in_family:.1f}",)
    assert view.main_gap is not None
    assert f"south (origin): {100 * one.difference:+.1f}, " in view.main_gap.picture.alt
    assert "group minus reference, points" in view.main_gap.picture.alt


def test_a_figure_that_rounds_to_nothing_has_no_sign() -> None:
    assert [signed(value, 1) for value in (-0.01, 0.0, 0.04, -0.06, 12.34)] == [
        "0.0",
        "0.0",
        "0.0",
        "\N{MINUS SIGN}0.1",
        "+12.3",
    ]


def test_where_few_were_audited_refusals_are_shown_and_the_rest_is_withheld() -> None:
    view = view_of("few audited")
    assert view.main_gap is not None
    assert view.main_gap.caption == "Gaps in refusals"
    assert view.main_curve is None
    [part] = view.parts
    assert [row.verdicts[-1].words for row in part.rows] == 2 * ["withheld: too few audited"]
    assert {row.option for row in part.rows} == {("\N{EN DASH}",)}


def test_the_index_counts_the_verdicts_of_every_table() -> None:
    report = report_of("gap")
    found = verdicts_of(report, "groups.html")
    assert [row.attribute for row in found.rows] == ["origin", "gender", "origin and gender"]
    assert sum(row.flags for row in found.rows) == len(report.flags)
    assert sum(row.flags + row.no_flags + row.insufficient for row in found.rows) == sum(
        one.primary for table in report.tables for one in table.comparisons
    )


def test_a_group_named_to_break_a_page_is_text() -> None:
    page = Templates().render("pages/groups.html", view=groups_view(withheld_report(HOSTILE)))
    assert "<b onclick" not in page
    assert "&lt;b onclick=alert(1)&gt;{{7*7}}&lt;/b&gt;" in page


def test_without_paper_no_link_leads_to_it() -> None:
    links = [link.address for link in groups_view(report_of("quiet"), paper=False).links]
    assert links == ["index.html", "groups.csv"]


def test_one_comparison_shows_and_several_show() -> None:
    report = report_of("gap")
    quiet = [one for table in report.tables for one in table.comparisons]
    one = replace(quiet[0], verdict="no flag")
    few = replace(report, tables=(replace(report.tables[0], comparisons=(one,)),))
    assert "1 shows no gap" in lead(few)
    few = replace(report, tables=(replace(report.tables[0], comparisons=(one, one)),))
    assert "2 show no gap" in lead(few)
