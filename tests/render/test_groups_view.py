"""The page of the group report: every figure, every limit stated, and nothing withheld in it."""

import html
import io
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
from rich.console import Console

from recourse_audit.records.groups import Days, GroupReport
from recourse_audit.render.pages.groups import GroupsView, groups_view
from recourse_audit.render.pages.groups_sentences import lead, signed
from recourse_audit.render.pages.tables import Table
from recourse_audit.render.templates import Templates
from recourse_audit.render.terminal.groups import show_groups
from tests.render.group_reports import (
    HOSTILE,
    column_report,
    few_audited_report,
    gap_report,
    no_ties_report,
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
REPORTS: dict[str, Callable[[], GroupReport]] = {
    "gap": gap_report,
    "quiet": quiet_report,
    "withheld": withheld_report,
    "column": column_report,
    "no ties": no_ties_report,
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


def terminal(report: GroupReport) -> str:
    console = Console(width=1000, record=True, file=io.StringIO())
    show_groups(console, report)
    return "\n".join(line.strip() for line in console.export_text().splitlines())


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
    assert view.lead.startswith(
        "Of the refused, south (origin) has an option less often than north: "
    )
    assert re.search(r"Of 9 comparisons, 2 show a gap, 0 rule out a gap of 10 points", view.lead)
    rows = {row.name: row for part in view.parts for row in part.rows}
    assert rows["south"].verdicts[0].words == "gap shown: options and cost"
    assert rows["south"].verdicts[0].kind == "gap-shown"
    assert rows["north"].verdicts[0].words == "reference group"
    assert "below 0.8" in rows["south"].option[1]


def test_no_gap_is_said_with_what_is_left_open() -> None:
    view = view_of("quiet")
    assert re.match(
        r"No gap is shown, and 3 of 3 comparisons are not settled\. Gaps of \d+ to \d+ points "
        "would have been found four times in five",
        view.lead,
    )
    assert view.open_questions[-1].endswith("Where no gap is shown, there may still be one.")


def test_findings_stand_in_order_on_the_page_and_crossed_ones_only_if_a_gap_is_shown() -> None:
    report, view = report_of("gap"), view_of("gap")
    assert {one.family for one in report.findings} == {"single", "crossed"}
    assert view.findings == tuple(
        one.sentences["en"]
        for one in report.findings
        if one.family == "single" or one.verdict == "gap shown"
    )
    assert len(view.findings) < len(report.findings)
    words = " ".join(words_of(page_of("gap")).split())
    places = [words.index(html.escape(one, quote=False)) for one in view.findings]
    assert places == sorted(places)


def test_the_terminal_leads_with_the_same_headline_and_names_every_gap_shown() -> None:
    report = report_of("gap")
    said = terminal(report)
    assert said.startswith(report.headline["en"])
    for one in report.findings:
        if one.family == "single" or one.verdict == "gap shown":
            assert f"{one.verdict}  {one.sentences['en']}" in said
    assert "6 of single attributes, 3 of attributes crossed, each family corrected" in said
    assert "Verdicts: 2 gap shown, 0 no gap, 7 not settled." in said


def test_counts_add_up_and_the_rest_is_said() -> None:
    report, view = report_of("gap"), view_of("gap")
    decided, found = report.overall.decisions, report.overall.outcomes
    assert decided is not None
    assert found is not None
    assert decided.people == decided.refused + decided.favourable + decided.undecided
    facts = {fact.name: fact.value for fact in view.facts}
    assert facts["Population"].startswith(f"900 people: {decided.refused:,} refused")
    assert f"{found.verified:,} have a verified option" in facts["Audited"]
    single = sum(one.family == "single" for one in report.tests)
    assert facts["Tests"].startswith(
        f"{single} of single attributes and {len(report.tests) - single} of attributes crossed, "
        "each family corrected with Holm's method at 0.05; so by chance alone a gap is shown in up "
        "to 10% of such reports."
    )


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
        assert words in terminal(report)


def test_communities_are_named_where_a_column_names_them_and_only_there() -> None:
    facts = {fact.name: fact.value for fact in view_of("column").facts}
    assert facts["Communities"].startswith(
        "20 communities, named by the column district. Gaps are tested over them as well; "
    )
    assert "Communities" not in {fact.name for fact in view_of("quiet").facts}


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


def test_every_test_of_both_families_is_in_the_annex() -> None:
    report, view = report_of("gap"), view_of("gap")
    rows = [row for table in view.test_tables for row in table.rows]
    assert len(rows) == len(report.tests) + report.untested
    adjusted = sorted(f"{test.adjusted:.3f}" for test in report.tests if test.adjusted >= 0.001)
    assert adjusted == sorted(row[5][0] for row in rows if not row[5][0].startswith("<"))
    people = [one for table in report.tables for one in table.comparisons if one.primary]
    for row, one in zip(rows, people, strict=True):
        assert one.precision is not None
        everybody = one.people + one.reference_people
        assert row[6] == (f"{everybody}: {one.precision.effective:.0f}",)


def test_why_p_and_interval_may_disagree_is_said_once_a_page() -> None:
    words = words_of(page_of("gap"))
    assert words.count("corrected p value allows for all tests of its family, while an ") == 1
    headings = [[one.heading for one in table.columns] for table in view_of("gap").test_tables]
    for names, tests in zip(headings, (6, 3), strict=True):
        assert names[4:6] == ["p, this test alone", f"p, corrected for {tests} tests"]
    assert "corrected p value" not in words_of(page_of("no ties"))


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


def test_what_is_not_finished_comes_first() -> None:
    [first] = view_of("unfinished").warnings
    assert "120 of 400 subjects are done" in first


def test_without_ties_nothing_is_tested_and_the_page_says_why() -> None:
    view = view_of("no ties")
    assert view.lead.startswith("No gap is shown, and 3 of 3 comparisons are not settled. Of 3 ")
    untested = [one for one in view.open_questions if "Not tested: fewer than 100 people" in one]
    assert len(untested) == 3
    assert "3 comparisons could not be tested at all." in view.open_questions
    assert all("could not be tested whether" in one for one in view.findings)
    [table] = view.test_tables
    assert {row[4] for row in table.rows} == {("\N{EN DASH}",)}


def test_too_few_people_leave_a_page_without_figures() -> None:
    view = view_of("tiny")
    assert view.lead == "No groups could be compared."
    assert view.facts[0].value == "Too few people to show anything."
    assert (view.main_gap, view.main_curve, view.common) == (None, None, None)


def test_pictures_show_the_attribute_with_most_gaps_first() -> None:
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
    assert "rule out a gap of 10 points or more" in view.lead
    crossed = [one for one in view.open_questions if one.startswith("Attributes crossed")]
    assert re.search(r"Gaps of [\d.]+ to [\d.]+ points would have been found four", crossed[0])
    [one] = [
        one
        for one in report.tables[0].comparisons
        if (one.group, one.measure) == ("south", "feasibility")
    ]
    table = view.test_tables[0]
    assert "Detectable gap, points" in [column.heading for column in table.columns]
    [row] = [row for row in table.rows if row[:2] == (("south / north",), ("options",))]
    assert one.gap == -one.difference > 0
    assert row[2] == (signed(100 * one.gap, 1),)
    assert one.smallest_gap_in_family is not None
    assert row[7] == (f"{100 * one.smallest_gap_in_family:.1f}",)
    assert view.main_gap is not None
    assert f"south (origin): {100 * one.gap:+.1f}, " in view.main_gap.picture.alt
    assert "points: right is worse" in view.main_gap.picture.alt


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
    one = replace(quiet[0], verdict="gap shown")
    few = replace(report, tables=(replace(report.tables[0], comparisons=(one,)),))
    assert "Of 1 comparison, 1 shows a gap, 0 rule out" in lead(few)
    few = replace(report, tables=(replace(report.tables[0], comparisons=(one, one)),))
    assert "Of 2 comparisons, 2 show a gap, 0 rule out" in lead(few)
    settled = replace(one, verdict="no gap")
    few = replace(report, tables=(replace(report.tables[0], comparisons=(settled,)),))
    assert "0 show a gap, 1 rules out a gap of 10 points or more" in lead(few)
    open_still = replace(one, verdict="not settled")
    few = replace(report, tables=(replace(report.tables[0], comparisons=(open_still,)),))
    assert "and 1 is not settled." in lead(few)
