"""The group report and its annex: every figure, every limit stated, and what is left out."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Literal, get_args

import pytest

from recourse_audit.records.group_figures import Verdict, WhyUntested, WorseOff
from recourse_audit.records.groups import (
    Days,
    GroupReport,
    LeftOut,
    OwnDataTable,
    Part,
    WhyNotCompared,
)
from recourse_audit.records.model import (
    Agreement,
    BetterRule,
    DecidedAs,
    Disagreement,
    GroupAgreement,
)
from recourse_audit.render.i18n import LANGUAGES, Words
from recourse_audit.settings import LanguageWords
from tests.render.group_pages import ReadGroups
from tests.render.group_reports import (
    HOSTILE,
    column_report,
    favourable_report,
    few_audited_report,
    gap_report,
    many_groups_report,
    no_ties_report,
    one_group_report,
    pooled_report,
    quiet_report,
    renamed_report,
    tiny_report,
    unfinished_report,
)

NOTHING = "\N{EN DASH}"
FAMILIES = ("single", "crossed")
SOUTH = Words().people("origin", "south")
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


@cache
def read(name: str, language: str = "en") -> ReadGroups:
    return ReadGroups(report_of(name), language)


def rows_of(name: str, caption: str) -> dict[tuple[str, str], list[str]]:
    """The rows of a table, by the attribute that they stand below and their first cell."""
    rows = read(name).tables(caption)
    return {(row.attribute, row.cells[0]): row.cells[1:] for row in rows}


SELECTION = "Favourable decision, of everybody decided on (selection rate)"


@pytest.mark.parametrize("name", REPORTS)
def test_no_page_promises_what_figures_cannot(name: str) -> None:
    words = re.findall(r"[a-z]+", read(name).text.lower())
    assert not set(words) & set(NEVER)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", REPORTS)
def test_every_page_is_made_in_every_language_without_a_trace_of_our_own(
    name: str, language: str
) -> None:
    pages = read(name, language)
    assert all(f'<html lang="{language}">' in html for html in pages.html.values())
    assert not re.search(r"\\x|\{[a-z_]+\}|\bNone\b(?! of| exists)|&#?\w+;", pages.text)
    if language != "en":
        text = pages.text.lower()
        for english in ("refused", "pooled", "points", "people", "interval ", "nobody", "search"):
            if (language, english) != ("fr", "points"):
                assert english not in text, english


def test_tables_have_eight_columns_at_most_and_the_annex_says_what_a_plus_is() -> None:
    pages = read("gap")
    for caption in pages.captions:
        assert len(pages.heads(caption)) <= 8, caption
    assert pages.text.count("A plus is worse for the group.") >= 2


def test_attributes_and_groups_are_named_as_the_user_calls_them() -> None:
    report = report_of("quiet")
    [table] = report.tables
    named = replace(table, name="age_band", attributes=("age_band",))
    report = replace(report, tables=(named,), findings=())
    assert "By age band" in ReadGroups(report).texts(".//h2")
    own = LanguageWords.model_validate({"age_band": "age", "man": "M", "woman": "W"})
    pages = ReadGroups(report, words=Words("en", own={"en": own}))
    [rows] = [rows for title, rows in pages.charts("By age").items() if "Refused" in title]
    assert {row[0].split()[0] for row in rows} == {"M", "W"}


def test_rates_say_share_interval_count_and_verdict_and_that_overlap_is_no_test() -> None:
    report, pages = report_of("gap"), read("gap")
    charts = pages.charts("By origin")
    rows = charts[f"Have an option less often: {SOUTH}"]
    [south] = [row[1] for row in rows if row[0].startswith("south")]
    found = report.by_group["origin"]["south"].outcomes
    assert found is not None
    rate = found.feasibility
    assert rate.share is not None
    assert south.startswith(f"{rate.share:.1%} (")
    assert f", {rate.count} of {rate.of} ▲ gap shown: " in south
    assert re.search(r"points fewer \(95% interval: \d+ to \d+ fewer\)$", south)
    assert pages.text.count("Overlapping lines do not settle it") == 1
    labels = [row[0] for row in charts["Refused: no gap shown"]]
    assert labels == ["north (reference)", "south", "unknown (counted, not tested)"]


def test_a_title_claims_a_direction_only_for_a_gap_that_is_shown() -> None:
    report = report_of("gap")
    [table, *_] = report.tables
    cases: tuple[tuple[Verdict, WorseOff | None, str], ...] = (
        ("gap shown", "group", f"Refused more often: {SOUTH}"),
        ("gap shown", "reference", f"Refused less often: {SOUTH}"),
        ("not settled", None, "Refused: no gap shown"),
        ("no gap", None, "Refused: no gap shown"),
    )
    for verdict, worse, title in cases:
        gaps = [
            replace(gap, verdict=verdict, worse=worse) if gap.measure == "adverse_rate" else gap
            for gap in table.comparisons
        ]
        changed = replace(table, comparisons=tuple(gaps))
        pages = ReadGroups(replace(report, tables=(changed, *report.tables[1:])))
        assert title in pages.charts("By origin")


def test_effort_keeps_those_without_an_option_in_view() -> None:
    report = report_of("quiet")
    rows = read("quiet").charts("By gender")["Effort: no gap shown"]
    assert len(rows) == 2
    for label, words in rows:
        found = report.by_group["gender"][label.split()[0]].outcomes
        assert found is not None
        assert found.certified_infeasible is None  # few searches are unfinished, and folded in
        without = 1 - found.verified / found.feasibility.of
        assert f"none exists or none was found for {without:.1%}" in words
    assert 'class="fill-no-tint' in read("quiet").html["groups"]
    assert "without an option count as needing more than any effort shown" in read("quiet").text


def test_whose_ties_would_be_ended_says_both_shares_and_their_ratio() -> None:
    rows = rows_of("gap", "Whose ties would be ended")
    [table] = [
        one
        for one in report_of("gap").cut_off
        if (one.attribute, one.options) == ("origin", "first")
    ]
    for one in table.by_group:
        if one.droppable and one.ratio is not None:
            cells = rows["Origin: easiest options", one.group]
            assert cells[1::2][:2] == [f"{one.dropped_share:.1%}", f"{one.droppable_share:.1%}"]
            assert cells[4] == f"{one.ratio:.2f}"
    assert "Only people with an option are counted here" in read("gap").text


def test_common_options_are_said_in_words() -> None:
    report = report_of("gap")
    first = report.common_options[0]
    change = "End one payment tie" if first.changes[0].do == "drop" else "Change savings"
    title = f"{change}: an option for {first.share_so_far:.0%} of those audited"
    [row, *_] = read("gap").charts("Common options")[title]
    assert row == [change, f"{first.serves} more people: {first.share_so_far:.1%} in all"]
    assert "Common options" not in read("quiet").texts(".//h2")


def test_what_is_not_settled_is_a_table_with_the_smallest_detectable_gap() -> None:
    report, pages = report_of("gap"), read("gap")
    unsettled = [one for one in report.findings if one.verdict == "not settled"]
    single = [one for one in unsettled if one.family == "single"]
    assert len(pages.tables("Not settled")) == len(unsettled) - len(single)
    assert pages.heads("Not settled")[:4] == [
        "Group",
        "Measure",
        "Gap and 95% interval, points",
        "Smallest detectable gap, points",
    ]
    for row in pages.tables("Not settled"):
        assert re.fullmatch(r"\d+|0\.\d", row.cells[3])
    families = [sum(one.family == family for one in report.findings) for family in FAMILIES]
    counts = f"Not settled: {len(single)} of {families[0]} comparisons of one attribute, and "
    counts += f"{len(unsettled) - len(single)} of {families[1]} of two attributes combined."
    assert counts in pages.text


def test_without_ties_nothing_is_tested_and_the_table_says_why() -> None:
    rows = read("no ties").tables("Not settled")
    assert {row.cells[3] for row in rows} == {"not tested fewer than 100 people have ties"}
    tests = read("no ties").tables("Every test")
    assert {row.cells[3] for row in tests} == {f"{NOTHING} {NOTHING}"}


def test_every_test_of_both_families_is_in_the_annex() -> None:
    report = report_of("gap")
    rows = read("gap").tables("Every test")
    assert len(rows) == len(report.tests) + report.untested
    gaps = [gap for table in report.tables for gap in table.comparisons if gap.primary]
    for row, gap in zip(rows, gaps, strict=True):
        assert gap.precision is not None
        people = gap.people + gap.reference_people
        assert row.cells[4] == f"{people:,} {round(gap.precision.effective):,}"
        assert (row.cells[2][0] == "+") == (round(100 * gap.gap, 1) > 0)
    assert (rows[0].attribute, rows[0].cells[0]) == ("Origin", "south against north")
    counts = [sum(test.family == family for test in report.tests) for family in FAMILIES]
    counted = f"{counts[0]} tests of one attribute and {counts[1]} of two attributes combined"
    assert counted in read("gap").text


@pytest.mark.parametrize("name", REPORTS)
def test_no_difference_of_shares_is_in_per_cent(name: str) -> None:
    words = read(name).text.replace("\N{NO-BREAK SPACE}", " ")
    assert not re.search(r"\b(gaps? of|gap|cheaper|five are) [-+]?[\d.]+ ?%", words)
    assert not re.search(r"[-+\N{MINUS SIGN}][\d.]+ ?%", words)


def test_why_p_and_interval_may_disagree_is_said_once() -> None:
    said = "Verdicts rest on corrected p values"
    assert read("gap").text.count(said) == 1
    assert said not in read("no ties").text


def test_an_impact_ratio_is_against_the_group_with_the_largest_share() -> None:
    rows = rows_of("gap", SELECTION)
    shares = {
        group.name: group.decisions.favourable
        / (group.decisions.favourable + group.decisions.refused)
        for group in report_of("gap").tables[0].by_group
        if group.known
    }
    best = max(shares.values())
    for name, share in shares.items():
        below = "below" if share / best < 0.8 else "not below"
        assert rows["Origin", name][-1] == f"{share / best:.2f} {below}"
    assert rows["Origin", "unknown"][-1] == f"{NOTHING} counted, no ratio"
    assert {"", "Origin", "Gender", "Origin, gender"} == {attribute for attribute, _ in rows}


def test_groups_that_are_pooled_have_one_row_and_the_pages_say_so() -> None:
    assert report_of("pooled").pooled == 2
    pages = read("pooled")
    rows = pages.charts("By gender")["Refused: no gap shown"]
    assert {row[0] for row in rows} == {
        "man (reference)",
        "woman",
        "other (2 groups) (counted, not tested)",
    }
    ratios = rows_of("pooled", SELECTION)
    assert ratios["Gender", "other (2 groups)"][-1] == f"{NOTHING} counted, no ratio"
    assert "2 groups are pooled." in pages.text
    assert "tiny" not in pages.text


def test_an_attribute_that_is_not_compared_has_no_row_without_figures() -> None:
    caption = "Gaps in refusals on own data and with ties, in points with 95% intervals"
    report = one_group_report()
    table = OwnDataTable(table="gender", by_group={}, gaps=(), carried={})
    pages = ReadGroups(replace(report, own_data=replace(report.own_data, tables=(table,))))
    assert caption not in pages.text
    assert "Gender: not compared, as fewer than two of its groups" in pages.text


def test_what_is_left_out_is_said_as_the_record_has_it() -> None:
    """It follows from the two places in the record that say what is."""
    nothing = "no group is pooled and nothing is left out"
    for name in REPORTS:
        report, pages = report_of(name), read(name)
        assert (nothing in pages.text) == (not report.pooled and not report.left_out)
        listed = bool(pages.tables("What is left out"))
        assert listed == bool(report.left_out or report.pooled)
    every = tuple(LeftOut(table="a_b x c", part=part, why="few_people") for part in get_args(Part))
    pages = ReadGroups(replace(report_of("quiet"), left_out=every))
    [row] = pages.tables("What is left out")
    assert row.cells[0] == "A b, c"
    [sentence] = [text for text in pages.texts(".//p") if "Left out in some tables" in text][:1]
    for part in ("who has an option, and effort", "explanations", "whose ties would be ended"):
        assert part in sentence
        assert part in row.cells[1]


def test_where_few_were_audited_refusals_are_shown_and_the_rest_is_left_out() -> None:
    charts = read("few audited").charts("By gender")
    assert [title.split(":")[0] for title in charts] == ["Refused"]


def test_groups_of_people_without_a_value_are_unknown_in_every_language() -> None:
    for language, unknown in (("de", "unbekannt"), ("fr", "inconnu"), ("es", "desconocido")):
        assert unknown in read("gap", language).text
        assert "unknown" not in read("gap", language).text


@pytest.mark.parametrize(
    ("ran", "words"),
    [
        (Days(first="2026-05-01", last="2026-05-01"), "Date 1 May 2026 (UTC, "),
        (Days(first="2026-05-31", last="2026-06-02"), "Date 31 May 2026 to 2 June 2026 (UTC"),
        (None, "Date not known: it is not in run.jsonl"),
    ],
)
def test_when_the_audit_ran_is_on_the_page(ran: Days | None, words: str) -> None:
    for name in ("quiet", "tiny"):
        assert words in ReadGroups(replace(report_of(name), ran=ran)).text


def test_communities_are_named_where_a_column_names_them_and_only_there() -> None:
    assert "Communities 20 communities, named by the column district. " in read("column").text
    assert "Communities" not in read("quiet").text


def test_every_code_of_a_report_has_words_in_every_language() -> None:
    report = report_of("quiet")
    [table] = report.tables
    untested = [
        replace(gap, untested=why, smallest_gap_in_family=None, verdict="not settled")
        for gap in table.comparisons
        if gap.primary
        for why in get_args(WhyUntested)
    ]
    parts = [LeftOut(table="a x b", part=part, why="few_people") for part in get_args(Part)]
    parts.append(LeftOut(table="a x c", part="table", why="too_many_groups"))
    for why in get_args(WhyNotCompared):
        noted = replace(table, not_compared=why, comparisons=tuple(untested))
        cases: tuple[tuple[bool, Literal["not_asked", "few_people"]], ...] = (
            (True, "not_asked"),
            (False, "few_people"),
        )
        for known, nothing in cases:
            pages = ReadGroups(
                replace(
                    report,
                    tables=(noted,),
                    left_out=tuple(parts),
                    own_data=replace(
                        report.own_data, known=known, overall=None, tables=(), ties={}
                    ),
                    common_actions=replace(report.common_actions, nothing=nothing),
                ),
                "de",
            )
            for english in ("fewer", "left out", "people", "known", "cluster", "alike", "tried"):
                assert english not in pages.text


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
    [said] = ReadGroups(report).texts(".//p[@class='agreement']")
    for words in ("90 of 100 people (90.0%)", "10 denied on record", "cut-off of 0.65", "P1 ("):
        assert words in said
    for language in ("de", "fr", "es"):
        [other] = ReadGroups(report, language).texts(".//p[@class='agreement']")
        assert "people" not in other
    assert read("quiet").texts(".//p[@class='agreement']") == []


def test_too_few_people_leave_a_page_without_figures() -> None:
    pages = read("tiny")
    assert "Groups were not compared" in pages.texts(".//h1")
    assert "Nothing was compared." in pages.text
    assert pages.tables("Every test") == []


def test_a_group_named_to_break_a_page_is_text() -> None:
    for html in ReadGroups(renamed_report(HOSTILE)).html.values():
        assert "<b onclick" not in html
        assert "&amp;lt;" not in html
        assert "&lt;b onclick=alert(1)&gt;{{7*7}}&lt;/b&gt;" in html


def test_the_pages_link_to_each_other_and_to_paper_only_where_there_is_some() -> None:
    for has_paper in (True, False):
        pages = ReadGroups(report_of("quiet"), has_paper=has_paper)
        links = {
            name: [link.get("href") for link in tree.findall(".//nav/a")]
            for name, tree in pages.trees.items()
        }
        paper = {name: [f"{name}.pdf"] if has_paper else [] for name in links}
        assert links == {
            "groups": ["index.html", "groups_annex.html", *paper["groups"], "groups.csv"],
            "groups_annex": ["index.html", "groups.html", *paper["groups_annex"], "groups.csv"],
        }
