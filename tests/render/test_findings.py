"""Findings in words: nothing said contradicts the verdict, the direction or the size, anywhere."""

import random
import re
from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest

from recourse_audit.records.codec import GROUPS
from recourse_audit.records.group_figures import Comparison, Interval, Measure, Verdict
from recourse_audit.records.groups import Finding, GroupReport
from recourse_audit.render.groups import GroupPage
from recourse_audit.render.i18n import LANGUAGES, Words
from recourse_audit.settings import LanguageWords
from tests.render.comparisons import compared, report_on
from tests.render.group_reports import tiny_report

SPACE = "\N{NO-BREAK SPACE}"
LEFT, RIGHT = "\N{LEFT SINGLE QUOTATION MARK}", "\N{RIGHT SINGLE QUOTATION MARK}"
OWN = LanguageWords(
    names={"south": ("South",), "north": ("North",)},
    people={"south": "people in the South", "north": "people in the North"},
)
MEASURES: tuple[Measure, ...] = ("adverse_rate", "feasibility", "cost")
VERDICTS: tuple[Verdict, ...] = ("gap shown", "not settled", "no gap")
WORDS = {language: Words(language, own={language: OWN}) for language in LANGUAGES}
# Which way a gap goes, in each language: worse for the group, and better.
WAYS = {
    "en": ("worse", "better"),
    "de": ("schlechter", "besser"),
    "fr": ("en défaveur", "en faveur"),
    "es": ("en contra", "a favor"),
}


def headline(report: GroupReport, language: str = "en") -> str:
    return GroupPage(report, WORDS[language]).say("headline")


def finding(one: Comparison) -> Finding:
    [found] = report_on([one]).findings
    return found


@cache
def gaps_in(language: str) -> GroupPage:
    return GroupPage(tiny_report(), WORDS[language])


def say(macro: str, *given: object, language: str = "en", report: GroupReport | None = None) -> str:
    gaps = gaps_in(language) if report is None else GroupPage(report, WORDS[language])
    return gaps.say(macro, *given)


@pytest.mark.parametrize(
    ("value", "reference", "often"),
    [
        (0.359, 0.2, "more often than"),
        (0.362, 0.2, "about twice as often as"),
        (0.38, 0.2, "twice as often as"),
        (0.422, 0.2, "about twice as often as"),
        (0.442, 0.2, "more often than"),
        (0.6, 0.2, "3 times as often as"),
        (0.4, 0.0, "more often than"),
        (0.56, 0.05, "more than 10 times as often as"),
        (0.056, 0.1, "less often than"),
        (0.05188, 0.1, "half as often as"),
        (0.036, 0.1, "about a third as often as"),
        (0.025, 0.1, "a quarter as often as"),
        (0.02, 0.1, "less often than"),
        (0.0, 0.1, "less often than"),
    ],
)
def test_a_ratio_is_a_word_only_where_it_is_close_to_one(
    value: float, reference: float, often: str
) -> None:
    """Of those who are worse off: who were refused more often, or have an option less often."""
    measure: Measure = "adverse_rate" if value > reference else "feasibility"
    what = "People in the South were refused" if value > reference else "have an option"
    found = replace(finding(compared(measure)), value=value, reference_value=reference)
    assert f"{what} {often} people in the North" in say("claim", found)


@pytest.mark.parametrize(
    ("measure", "gap", "claim", "size"),
    [
        ("adverse_rate", 0.2, "People in the South were refused more often than", "20 percentage"),
        ("feasibility", 0.2, "Of those refused, people in the South have an option less", "fewer"),
        ("feasibility", -0.2, "Of those refused, people in the North have an option less", "fewer"),
        ("cost", 0.2, "Of those refused, people in the South need more effort than", "worse"),
        ("cost", -0.2, "Of those refused, people in the North need more effort than", "worse"),
    ],
)
def test_a_gap_that_is_shown_has_a_direction_and_its_size(
    measure: Measure, gap: float, claim: str, size: str
) -> None:
    text = say("finding", finding(compared(measure, gap)))
    assert text.startswith(claim)
    assert size in text
    assert "(95% interval: 10 to 30 " in text


def test_a_claim_without_words_of_the_user_quotes_the_group() -> None:
    found = finding(compared(group="{reference}"))
    assert GroupPage(tiny_report()).say("claim", replace(found, reference="\x1b[31m{low}")) == (
        f"People with origin {LEFT}{{reference}}{RIGHT} were refused more often than people with "
        f"origin {LEFT}\\x1b[31m{{low}}{RIGHT}"
    )


def test_gaps_in_prose_have_no_sign_and_name_both_ends() -> None:
    across = Interval(low=-0.07, high=0.12)
    assert say("gap", "feasibility", 0.03, across) == (
        "3 points fewer (95% interval: 12 fewer to 7 more)"
    )
    assert say("gap", "adverse_rate", -0.005, Interval(low=-0.054, high=0.04)) == (
        "0.5 points fewer (95% interval: 5 fewer to 4 more)"
    )
    assert say("gap", "adverse_rate", 0.01, None) == "1 point more"
    assert say("worse", -0.13, Interval(low=-0.26, high=0.02)) == "13 better (26 better to 2 worse)"
    assert say("worse", 0.0001, Interval(low=-0.05, high=0.06)) == (
        "no difference (5 better to 6 worse)"
    )
    assert say("worse", -0.3, Interval(low=-0.4, high=-0.2)) == "30 better (20 to 40 better)"
    assert say("gap", "feasibility", 0.324, Interval(low=0.21, high=0.43), language="de") == (
        f"32 Punkte weniger (Intervall zu 95{SPACE}%: 21 bis 43 weniger)"
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_text_contradicts_its_verdict_direction_or_size(language: str) -> None:
    """Over random comparisons, by what is read: signs, directions and claims."""
    rng = random.Random(7)
    worse, better = WAYS[language]
    for _ in range(300):
        gap = rng.choice([0.0, rng.uniform(-0.45, 0.45), rng.uniform(-0.02, 0.02)])
        one = compared(rng.choice(MEASURES), gap, rng.choice(VERDICTS))
        one = replace(one, gap_interval=Interval(low=gap - 0.1, high=gap + 0.15))
        found = finding(one)
        row, full = (
            say(name, *given, language=language)
            for name, given in (
                ("worse", (found.gap, found.interval)),
                ("finding", (found,)),
            )
        )
        assert not re.search("[-+{}\N{MINUS SIGN}][0-9]", f"{row} {full}")
        first = row.split("(")[0]
        assert (worse in first) == (gap >= 0.0005)
        assert (better in first) == (gap <= -0.0005)
        claims = [WORDS[language].say(f"often.{key}") for key in ("more", "less")]
        claim = say("claim", found, language=language)
        if found.verdict != "gap shown":
            assert not any(often in claim for often in claims), claim
        elif found.measure != "cost" and gap:
            assert claims[found.measure == "adverse_rate"] not in claim, claim
        assert WORDS[language].number(round(abs(100 * gap))) in full or abs(gap) < 0.01
        verdict = say("verdict", found.verdict, language=language)
        assert verdict.startswith("▲") == (found.verdict == "gap shown")
        assert verdict.startswith("◇") == (found.verdict == "not settled")


# In the order in which they lead: each before all that follow it.
LEADING = (
    compared("feasibility", -0.3),
    compared("feasibility", 0.2),
    compared("feasibility", 0.1, group="west"),
    compared("adverse_rate", 0.9),
    compared("cost", 0.9),
    compared("cost", -0.3),
    compared("feasibility", 0.3, family="crossed"),
    compared("adverse_rate", 0.4, family="crossed"),
    compared("cost", 0.5, family="crossed"),
    compared("cost", 0.7, "not settled"),
    compared("feasibility", -0.65, "not settled"),
    compared("feasibility", 0.6, "not settled"),
    compared("adverse_rate", 0.1, "not settled"),
    compared("adverse_rate", 0.05, "not settled", below=True),
    compared("cost", 0.8, "not settled", family="crossed", tested=False),
)
# What never leads.
QUIET = (
    compared("adverse_rate", 0.09, "not settled"),
    compared("feasibility", -0.05, "not settled"),
    compared("cost", 0.04, "no gap"),
    compared("feasibility", -0.5, "no gap"),
)


MISSED, WOULD = "There, most gaps smaller than 12", "would have been missed."
DEPENDING = f"points, depending on the group, {WOULD}"


def test_the_headline_is_the_first_by_the_rule_whatever_the_order_of_the_tables() -> None:
    for first, second in pairwise(LEADING):
        for pair in ([first, second], [second, first]):
            report = report_on([*QUIET, *pair])
            leading = report.findings[0]
            assert leading.headline
            assert (leading.measure, leading.gap, leading.family, leading.verdict) == (
                *(first.measure, first.gap, first.family, first.verdict),
            )
            assert headline(report) == say("claim", leading, report=report)
            assert [one.headline for one in report.findings[1:]] == [False] * 5
            assert [one.rank for one in report.findings] == [1, 2, 3, 4, 5, 6]


def test_a_gap_that_is_open_leads_only_if_it_is_as_large_as_the_concern() -> None:
    one = compared("adverse_rate", 0.1, "not settled")
    assert report_on([one]).findings[0].headline
    assert not report_on([one], concern=0.11).findings[0].headline


@pytest.mark.parametrize(
    ("quiet", "expected"),
    [
        (QUIET[2:], "No gap of 10 points in any of 2 comparisons."),
        (QUIET[3:], "No gap of 10 points in the only comparison."),
        (QUIET, f"No gap is shown; 2 of 4 comparisons are not settled. {MISSED} points {WOULD}"),
        (
            (QUIET[0], replace(QUIET[1], smallest_gap_in_family=0.301)),
            f"No gap is shown; 2 of 2 comparisons are not settled. {MISSED} to 30 {DEPENDING}",
        ),
        (
            (compared(gap=0.05, verdict="not settled", tested=False),),
            "No gap is shown; 1 of 1 comparisons is not settled.",
        ),
        ((), "Groups were not compared."),
    ],
)
def test_where_nothing_leads_the_headline_says_how_much_is_settled(
    quiet: tuple[Comparison, ...], expected: str
) -> None:
    report = report_on(quiet)
    assert say("summary", report=report) == expected
    assert not any(one.headline for one in report.findings)


def test_what_was_not_tested_says_so() -> None:
    found = finding(compared(verdict="not settled", tested=False, interval=False))
    assert say("finding", found).endswith(
        "It could not be tested whether this is more than chance."
    )


def test_crossed_groups_are_counted_and_those_that_all_gaps_are_against_are_named() -> None:
    crossed = [
        compared(measure, 0.3, group="south, woman", family="crossed") for measure in MEASURES
    ]
    text = say("crossed", report=report_on(crossed))
    assert text == "3 combinations of two attributes were also compared: 3 show a gap."
    quiet = say("crossed", report=report_on([replace(crossed[0], verdict="no gap", worse=None)]))
    assert quiet == "1 combination of two attributes was also compared: none shows a gap."
    assert say("crossed", report=report_on([])) == ""


def test_a_gap_can_be_to_the_disadvantage_of_the_reference() -> None:
    """Whom a gap that is shown is against is in the finding, and no sentence says the opposite."""
    against, favour = (finding(compared(gap=gap)) for gap in (0.2, -0.2))
    assert (against.worse, favour.worse) == ("group", "reference")
    assert "People in the South were refused more often" in say("claim", against)
    assert say("finding", favour).startswith(
        "People in the North were refused more often than people in the South. "
        "50% of them were refused, against 30%: 20 percentage points more "
        "(95% interval: 10 to 30 more)."
    )
    assert finding(compared(gap=-0.2, verdict="not settled")).worse is None
    assert finding(compared(gap=-0.2, verdict="no gap")).worse is None


def test_the_document_has_findings_and_no_sentence() -> None:
    report = report_on(LEADING)
    text = GROUPS.write(report)
    assert GROUPS.read(text).findings == report.findings
    assert "sentence" not in text
    assert "were refused" not in text
