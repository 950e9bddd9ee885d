"""Findings in words: every sentence where it must be, none where it must not, in four languages."""

import re
from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest

from recourse_audit.records.codec import GROUPS
from recourse_audit.records.group_figures import Comparison, Interval, Measure
from recourse_audit.records.groups import Finding, GroupReport
from recourse_audit.render.findings import speak
from recourse_audit.render.i18n import LANGUAGES, PLACEHOLDER, Words
from recourse_audit.render.templates import Templates
from tests.render.comparisons import compared, report_on
from tests.render.group_reports import tiny_report

QUOTE = "\N{RIGHT SINGLE QUOTATION MARK}"
SPACE = "\N{NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
NAME = "finding.attribute"  # a group with its attribute, in every finding
CLAUSES: dict[Measure, tuple[str, str, str]] = {
    "adverse_rate": ("refused.more", "refused.less", "refused.same"),
    "feasibility": ("option.less", "option.more", "option.same"),
    "cost": ("effort.more", "effort.less", "effort.same"),
}
GAPS = (0.2, -0.2, 0.0)


@cache
def wording(language: str) -> Words:
    return Words(language, Templates())


@cache
def said_of_findings(language: str) -> tuple[str, ...]:
    """The keys of what findings say; the catalogue has those of the board block as well."""
    return tuple(key for key in wording(language).keys if key.startswith("finding."))


def sentences(found: Finding) -> dict[str, str]:
    return {language: speak(tiny_report(), language).sentence(found) for language in LANGUAGES}


def headlines(report: GroupReport) -> dict[str, str]:
    return {language: speak(report, language).headline() for language in LANGUAGES}


def finding(one: Comparison) -> Finding:
    [found] = report_on([one]).findings
    return found


def keys_in(text: str, language: str) -> set[str]:
    """The messages that a text is made of; the name of a group apart."""
    words = wording(language)
    return {
        key.removeprefix("finding.")
        for key in said_of_findings(language)
        if key != NAME and any(_pattern(form).search(text) for form in words.forms(key))
    }


@cache
def _pattern(form: str) -> re.Pattern[str]:
    return re.compile(
        ".+?".join(re.escape(part) for part in re.split(PLACEHOLDER.pattern, form)[::2])
    )


def say_exactly(said: dict[str, str], expected: set[str]) -> None:
    assert list(said) == list(LANGUAGES)
    for language, text in said.items():
        assert keys_in(text, language) == expected, (language, text)
        assert not re.search("[{}]", text)


@pytest.mark.parametrize("measure", CLAUSES)
@pytest.mark.parametrize("place", range(3), ids=["worse", "better", "same"])
def test_what_is_said_first_goes_with_measure_and_direction(measure: Measure, place: int) -> None:
    found = finding(compared(measure, GAPS[place], "not settled"))
    say_exactly(sentences(found), {CLAUSES[measure][place], "gap", "open"})
    for text in sentences(found).values():
        assert "south (origin)" in text


@pytest.mark.parametrize("gap", [0.2, -0.2])
@pytest.mark.parametrize("measure", CLAUSES)
def test_a_gap_shown_says_so_and_not_that_anything_is_open(measure: Measure, gap: float) -> None:
    found = finding(compared(measure, gap, "gap shown"))
    say_exactly(sentences(found), {CLAUSES[measure][gap < 0], "gap", "shown"})


@pytest.mark.parametrize("gap", [0.03, -0.03])
@pytest.mark.parametrize("measure", CLAUSES)
def test_a_small_gap_can_be_shown_and_a_large_one_ruled_out(measure: Measure, gap: float) -> None:
    found = finding(compared(measure, gap, "gap shown", no_gap=True))
    say_exactly(sentences(found), {CLAUSES[measure][gap < 0], "gap", "shown", "small"})


@pytest.mark.parametrize("gap", [0.03, -0.2])
@pytest.mark.parametrize("measure", CLAUSES)
def test_no_gap_rules_out_a_large_one_and_says_nothing_of_chance(
    measure: Measure, gap: float
) -> None:
    found = finding(compared(measure, gap, "no gap"))
    say_exactly(sentences(found), {CLAUSES[measure][gap < 0], "gap", "small"})


@pytest.mark.parametrize("gap", [0.2, -0.2])
@pytest.mark.parametrize("measure", CLAUSES)
def test_what_was_not_tested_says_so_and_promises_no_gap_that_would_be_found(
    measure: Measure, gap: float
) -> None:
    found = finding(compared(measure, gap, "not settled", tested=False, interval=False))
    say_exactly(sentences(found), {CLAUSES[measure][gap < 0], "gap.plain", "untested"})


def test_every_message_is_said_by_some_finding_or_headline() -> None:
    said: dict[str, set[str]] = {language: set() for language in LANGUAGES}
    several = [
        *(compared(measure, gap, "gap shown") for measure in CLAUSES for gap in GAPS),
        compared(verdict="no gap"),
        compared(verdict="not settled"),
        compared(verdict="not settled", tested=False, interval=False),
    ]
    quiet = compared(gap=0.01, verdict="no gap")
    open_still = compared(gap=0.01, verdict="not settled")
    reports = [
        report_on(several),
        report_on([quiet]),
        report_on([open_still]),
        report_on([open_still, replace(open_still, smallest_gap_in_family=0.3)]),
        report_on([]),
    ]
    for report in reports:
        for language, text in headlines(report).items():
            said[language] |= keys_in(text, language)
        for found in report.findings:
            for language, text in sentences(found).items():
                said[language] |= keys_in(text, language)
    for language, keys in said.items():
        known = {key.removeprefix("finding.") for key in said_of_findings(language) if key != NAME}
        assert keys == known, language


def test_numbers_are_written_by_the_rules_of_the_language() -> None:
    one = replace(compared(gap=-0.005), value=0.412, reference_value=0.417)
    found = finding(replace(one, gap_interval=Interval(low=-0.054, high=0.04)))
    shares = {
        "en": ("41.2%", "41.7%", f"{MINUS}0.5", "95% interval"),
        "de": (f"41,2{SPACE}%", f"41,7{SPACE}%", f"{MINUS}0,5", f"95{SPACE}%-Intervall"),
        "fr": (f"41,2{SPACE}%", f"41,7{SPACE}%", f"{MINUS}0,5", f"intervalle à 95{SPACE}%"),
        "es": (f"41,2{SPACE}%", f"41,7{SPACE}%", f"{MINUS}0,5", f"intervalo del 95{SPACE}%"),
    }
    for language, written in shares.items():
        text = sentences(found)[language]
        for figure in (*written, f"{MINUS}5", "+4"):
            assert figure in text, (language, figure)
        assert "-0" not in text


def test_many_comparisons_and_fine_concerns_are_written_by_the_rules_of_the_language() -> None:
    quiet = compared(gap=0.01, verdict="no gap")
    headline = headlines(report_on([quiet] * 12_345, concern=0.125))
    assert headline == {
        "en": "No gap of 12.5 points or more against any group in 12,345 comparisons.",
        "de": "Kein Abstand von 12,5 Punkten oder mehr zulasten einer Gruppe in 12.345 "
        "Vergleichen.",
        "fr": f"Aucun écart de 12,5 points ou plus au détriment d{QUOTE}un groupe dans "
        f"12{SPACE}345 comparaisons.",
        "es": "Ninguna diferencia de 12,5 puntos o más en contra de un grupo en 12.345 "
        "comparaciones.",
    }


# In the order in which they lead: each before all that follow it.
LEADING = (
    compared("feasibility", 0.2),
    compared("feasibility", 0.1, group="west"),
    compared("adverse_rate", 0.9),
    compared("cost", 0.9),
    compared("feasibility", 0.3, family="crossed"),
    compared("adverse_rate", 0.4, family="crossed"),
    compared("cost", 0.5, family="crossed"),
    compared("feasibility", -0.3),
    compared("cost", -0.3),
    compared("cost", 0.7, "not settled"),
    compared("feasibility", 0.6, "not settled"),
    compared("adverse_rate", 0.1, "not settled"),
    compared("adverse_rate", 0.05, "not settled", below=True),
    compared("cost", 0.8, "not settled", family="crossed", tested=False),
    compared("feasibility", -0.6, "not settled"),
)
# What never leads.
QUIET = (
    compared("adverse_rate", 0.09, "not settled"),
    compared("feasibility", -0.05, "not settled"),
    compared("cost", 0.04, "no gap"),
    compared("feasibility", -0.5, "no gap"),
)


ONE_SIZE = "A gap of 12 points would have been found four times in five."
SIZES = "Gaps of 12 to 30 points would have been found four times in five."


def test_the_headline_is_the_first_by_the_rule_whatever_the_order_of_the_tables() -> None:
    for first, second in pairwise(LEADING):
        for pair in ([first, second], [second, first]):
            report = report_on([*QUIET, *pair])
            leading = report.findings[0]
            assert leading.headline
            assert (leading.measure, leading.gap, leading.family, leading.verdict) == (
                *(first.measure, first.gap, first.family, first.verdict),
            )
            assert headlines(report) == sentences(leading)
            assert [one.headline for one in report.findings[1:]] == [False] * 5
            assert [one.rank for one in report.findings] == [1, 2, 3, 4, 5, 6]


def test_a_gap_that_is_open_leads_only_if_it_is_as_large_as_the_concern() -> None:
    one = compared("adverse_rate", 0.1, "not settled")
    assert report_on([one]).findings[0].headline
    assert not report_on([one], concern=0.11).findings[0].headline


@pytest.mark.parametrize(
    ("quiet", "expected"),
    [
        (QUIET[2:], "No gap of 10 points or more against any group in 2 comparisons."),
        (QUIET[3:], "No gap of 10 points or more against any group in 1 comparison."),
        (
            QUIET,
            f"No gap is shown, and 2 of 4 comparisons are not settled. {ONE_SIZE}",
        ),
        (
            (*QUIET[1:], replace(QUIET[2], smallest_gap_in_family=0.9)),
            f"No gap is shown, and 1 of 4 comparisons is not settled. {ONE_SIZE}",
        ),
        (
            (QUIET[0], replace(QUIET[1], smallest_gap_in_family=0.301)),
            f"No gap is shown, and 2 of 2 comparisons are not settled. {SIZES}",
        ),
        (
            (compared(gap=0.05, verdict="not settled", tested=False),),
            "No gap is shown, and 1 of 1 comparisons is not settled.",
        ),
        ((), "Groups were not compared."),
    ],
)
def test_where_nothing_leads_the_headline_says_how_much_is_settled(
    quiet: tuple[Comparison, ...], expected: str
) -> None:
    report = report_on(quiet)
    assert headlines(report)["en"] == expected
    assert not any(one.headline for one in report.findings)


@pytest.mark.parametrize(
    ("language", "one", "several"),
    [
        ("de", "1 von 4 Vergleichen bleibt offen", "2 von 4 Vergleichen bleiben offen"),
        ("fr", "1 comparaison sur 4 reste ouverte", "2 comparaisons sur 4 restent ouvertes"),
        ("es", "1 de 4 comparaciones queda sin", "2 de 4 comparaciones quedan sin"),
    ],
)
def test_one_comparison_is_open_and_several_are(language: str, one: str, several: str) -> None:
    assert one in headlines(report_on([*QUIET[1:], QUIET[2]]))[language]
    assert several in headlines(report_on(QUIET))[language]


def test_names_are_text_and_never_placeholders() -> None:
    found = finding(replace(compared(group="{reference}"), reference="\x1b[31m{low}"))
    for text in sentences(found).values():
        assert "{reference} (origin)" in text
        assert "\x1b" not in text
        assert "{low}" in text


def test_crossed_groups_name_both_attributes() -> None:
    found = finding(compared(group="south, woman", family="crossed"))
    assert sentences(found)["en"].startswith("south, woman (origin, gender) was refused more often")


def test_a_gap_can_be_to_the_disadvantage_of_the_reference() -> None:
    """Whom a gap that is shown is against is in the finding, and no sentence says the opposite."""
    against, favour = (finding(compared(gap=gap)) for gap in (0.2, -0.2))
    assert (against.worse, favour.worse) == ("group", "reference")
    assert "was refused more often" in sentences(against)["en"]
    assert "was refused less often" in sentences(favour)["en"]
    assert finding(compared(gap=-0.2, verdict="not settled")).worse is None
    assert finding(compared(gap=-0.2, verdict="no gap")).worse is None


def test_the_document_has_findings_and_no_sentence() -> None:
    report = report_on(LEADING)
    text = GROUPS.write(report)
    assert GROUPS.read(text).findings == report.findings
    assert "sentence" not in text
    assert "was refused" not in text
