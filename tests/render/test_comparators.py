"""Approved people no better on own data: side by side for the auditor, for nobody else at all."""
# ruff: noqa: RUF001  # a page has apostrophes of its own

import io
from collections.abc import Mapping
from dataclasses import replace

import pytest
from rich.console import Console

from recourse_audit.records.codec import SUBJECT, plain_data
from recourse_audit.records.subject import (
    ComparatorColumn,
    Comparators,
    ComparatorSet,
    ComparedPerson,
    NoComparators,
)
from recourse_audit.render.i18n import Words
from recourse_audit.render.redaction import Level, redact
from recourse_audit.render.templates import Templates
from recourse_audit.render.terminal import show_subject
from recourse_audit.render.write_letters import Signing, decide
from tests.render.letters import report as letter_report
from tests.render.letters import writer
from tests.render.subject_pages import NAMED, ReadPage, named, read
from tests.render.subject_reports import made_report

HEADING = "Similarly situated"
LANGUAGES = ("en", "de", "fr", "es")
CONTROL = "Such people can be found for almost anybody."


def somebody(name: str, origin: str, alone: float, income: float, **ties: int) -> ComparedPerson:
    return ComparedPerson(
        id=name,
        decision="approved",
        groups={"origin": origin, "gender": ""},
        alone=alone,
        score=0.8771,
        columns={"income": income, "product": "car"},
        ties=ties,
        neighbours=sum(ties.values()),
        favourable=1,
        distance=0.125,
    )


def compared(own: str = "P0000", groups: Mapping[str, str] | None = None) -> Comparators:
    """One person from another group, two from the own; by the other attribute it is not known."""
    mine = somebody(own, "north", 0.59, 28_100.0, guarantor=2)
    return Comparators(
        caliper=0.1,
        columns=(
            ComparatorColumn(name="income", unit="euros", caliper=500.0, direction="higher"),
            ComparatorColumn(name="product"),
        ),
        subject=replace(mine, decision="denied", score=0.307, distance=0.0),
        people=(
            somebody("Q7771", "south", 0.5781, 27_999.0, payment=1),
            somebody("Q7772", "north", 0.4942, 28_100.0, payment=1, guarantor=1),
            somebody("Q7773", "north", 0.4931, 27_777.0),
        ),
        sets=(
            ComparatorSet(
                attribute="origin",
                group="north",
                others=("Q7771",),
                others_approved=41,
                others_of=43,
                own=("Q7773", "Q7772"),
                own_approved=47,
                own_of=53,
            ),
            ComparatorSet(
                attribute="gender",
                group="",
                others=(),
                others_approved=0,
                others_of=0,
                own=(),
                own_approved=0,
                own_of=0,
            ),
        ),
    )


def rows_of(page: ReadPage) -> list[str]:
    return page.texts(".//section[@aria-labelledby='similar']//tbody/tr")


def test_the_auditor_sees_both_lists_and_why_one_says_little_alone() -> None:
    page = read(made_report(comparators=compared()), words=named(north="North", south="South"))
    mine, other, south, own, first, second, unknown = rows_of(page)
    assert mine.split()[:3] == ["P0000", "North", "0.590"]
    assert "€28,100" in mine
    assert "2\N{NO-BREAK SPACE}guarantor ties" in mine
    assert mine.endswith("0.307 refused")
    assert other == "Other groups by origin: 41 of 43 who are no better were approved"
    assert south.split()[:3] == ["Q7771", "South", "0.578"]
    assert "€27,999 (weaker)" in south
    assert "1\N{NO-BREAK SPACE}payment tie" in south
    assert south.endswith("1 of 1 0.877 approved")
    assert own == "Own group by origin, North (control): 47 of 53 who are no better were approved"
    assert (first.split()[0], second.split()[0]) == ("Q7773", "Q7772")
    assert ("(weaker)" in first, "(weaker)" in second) == (True, False)
    assert unknown == "Gender: P0000’s own group is not known, so nobody is listed"
    text = page.section(HEADING)
    assert "no better than P0000’s 0.590, and at most 0.100 worse" in text
    assert "no better, within the calipers of the settings, on these: income" in text
    assert CONTROL in text
    assert "no finding about one person" in text
    assert "is tested in the group report" in text


def test_a_probability_near_nothing_is_escaped_once_and_not_in_the_terminal() -> None:
    found = compared()
    assert found.subject is not None
    found = replace(found, subject=replace(found.subject, alone=1e-6))
    report = made_report(comparators=found)
    out = io.StringIO()
    show_subject(Console(file=out, width=300), report, full=True)
    for text in (read(report).section(HEADING), out.getvalue().replace("\n", "")):
        assert "no better than P0000’s <\N{NO-BREAK SPACE}0.001, and" in text
        assert "&" not in text


@pytest.mark.parametrize("level", ["reviewer", "subject"])
def test_no_other_copy_differs_by_whom_somebody_is_compared_with(level: Level) -> None:
    without, with_people = made_report(), made_report(comparators=compared())
    assert read(with_people, level=level).html == read(without, level=level).html
    copy = redact(with_people, level)
    assert SUBJECT.write(copy) == SUBJECT.write(redact(without, level))
    assert "comparators" not in plain_data(copy)
    assert redact(with_people, "auditor").comparators == compared()


def test_letters_and_all_that_a_clerk_reads_are_the_same_without_them() -> None:
    by, without = writer(), letter_report()
    with_people = replace(without, comparators=compared(without.subject.id))
    letters = [by.letter(found) for found in (without, with_people)]
    assert letters[0] == letters[1] is not None
    entries = [
        decide(by, found, letter, "letter", Signing(), {})
        for found, letter in zip((without, with_people), letters, strict=True)
        if letter is not None
    ]
    assert entries[0] == entries[1]
    rows = [[*by.reasons.table_rows(found, ())] for found in (without, with_people)]
    assert rows[0] == rows[1]


def test_many_columns_are_cut_off_and_counted() -> None:
    columns: dict[str, float | str | None] = {f"c{number}": 1.0 for number in range(11)}
    people = [replace(person, columns=columns) for person in compared().people]
    many = replace(
        compared(),
        columns=tuple(ComparatorColumn(name=name) for name in columns),
        people=tuple(people),
        subject=replace(people[0], id="P0000"),
    )
    page = read(made_report(comparators=many))
    heads = page.texts(".//section[@aria-labelledby='similar']//thead/tr/th")
    assert heads[3:-3] == [f"C{number}" for number in range(8)]
    assert "3 more items of own data are in the document" in page.section(HEADING)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_reason_for_listing_nobody_is_said(language: str) -> None:
    reasons: tuple[NoComparators, ...] = (
        "no_decision",
        "random_answers",
        "depends_on_others",
        "other_answers_not_known",
        "not_a_number",
    )
    words, texts = Words(language, Templates()), set()
    for reason in reasons:
        page = read(made_report(comparators=Comparators(reason=reason)), words=words)
        [text] = page.texts(".//section[@aria-labelledby='similar']/p")
        texts.add(text)
    assert len(texts) == len(reasons)
    approved = read(made_report(comparators=Comparators(reason="favourable")), words=words)
    assert not approved.texts(".//section[@aria-labelledby='similar']")


def test_where_no_attribute_is_protected_or_nobody_qualifies_it_is_said() -> None:
    [first, _] = compared().sets
    everybody = replace(first, attribute="", group="", own=(), others=(), others_of=0)
    page = read(made_report(comparators=replace(compared(), sets=(everybody,))))
    assert rows_of(page)[1:] == ["Everybody: nobody is no better and that close"]


def test_the_full_terminal_has_both_lists() -> None:
    console = Console(file=io.StringIO(), width=100)
    show_subject(console, made_report(comparators=compared()), full=True, words=NAMED)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    lists = text[text.index(HEADING) :]
    assert "Other groups by origin: 41 of 43 who are no better were approved" in lists
    assert lists.index("Q7771") < lists.index("(control)") < lists.index("Q7773")
    assert CONTROL in lists
    brief = Console(file=io.StringIO(), width=100)
    show_subject(brief, made_report(comparators=compared()), words=NAMED)
    assert isinstance(brief.file, io.StringIO)
    assert "Q777" not in brief.file.getvalue()
