"""No text of any page, terminal view or table contradicts the record: read from what is rendered.

Over random group reports, the index, the group report, its annex, the terminal and the CSV are
rendered and read again. Whatever they say of a comparison (its verdict, its direction, its size and
its interval) and every count is held against the record.
"""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import pytest
from rich.console import Console

from recourse_audit.records.group_figures import Comparison, Measure
from recourse_audit.records.groups import GroupReport
from recourse_audit.render.groups import GroupPage, turn
from recourse_audit.render.groups_csv import groups_csv
from recourse_audit.render.i18n import LANGUAGES, Words
from recourse_audit.render.templates import Templates
from recourse_audit.render.terminal import show_groups
from tests.render.boards import BoardText
from tests.render.group_pages import ReadGroups
from tests.render.indexes import html_of, page_of, some_subjects
from tests.render.random_groups import RandomReport

SEEDS = range(24)
IN_OTHER_LANGUAGES = range(4)
# Of each language: worse for the group, better, more, fewer, no difference, and between two ends.
WAYS = {
    "en": ("worse", "better", "more", "fewer", "no difference", " to "),
    "de": ("schlechter", "besser", "mehr", "weniger", "kein Unterschied", " bis "),
    "fr": ("en défaveur", "en faveur", "de plus", "de moins", "aucune différence", " à "),
    "es": ("en contra", "a favor", "más", "menos", "ninguna diferencia", " a "),
}
VERDICTS = {
    "en": {"gap shown": "gap shown", "no gap": "no gap of N points", "not settled": "not settled"},
    "de": {
        "gap shown": "Abstand festgestellt",
        "no gap": "kein Abstand von N Punkten",
        "not settled": "nicht geklärt",
    },
    "fr": {
        "gap shown": "écart constaté",
        "no gap": "pas d\N{RIGHT SINGLE QUOTATION MARK}écart de N points",
        "not settled": "non tranché",
    },
    "es": {
        "gap shown": "brecha constatada",
        "no gap": "sin brecha de N puntos",
        "not settled": "sin determinar",
    },
}
# What unsettles a gap whose interval leaves out zero.
CORRECTED = {
    "en": "after correction for N tests",
    "de": "nach Korrektur für N Tests",
    "fr": "après correction pour N tests",
    "es": "tras la corrección por N pruebas",
}
MARKS = {"gap shown": "▲ ", "no gap": "", "not settled": "◇ "}
NUMBER = r"\d+(?:[.,]\d+)?"
# A group that has more of something than another: more often, twice, 3 times; and fewer.
MORE, LESS = (
    ("more often", "twice as often", "times as often"),
    ("less often", "half as", "a third"),
)
TEMPLATES = Templates()
FAMILIES = ("single", "crossed")
HEADS: tuple[Measure, ...] = ("adverse_rate", "feasibility", "cost")


@cache
def report_of(seed: int) -> GroupReport:
    return RandomReport(seed).draw()


@cache
def words_in(language: str) -> Words:
    return Words(language, TEMPLATES)


@dataclass(frozen=True)
class Said:
    """A gap as it is read, in points; plus is worse."""

    size: float
    ends: tuple[float, float] | None


def read_gap(text: str, measure: Measure | None, language: str) -> Said:
    """Read a gap from words: 32 points fewer (95% interval: 21 to 43 fewer)."""
    worse, better, more, fewer, none, between = WAYS[language]
    signs = {worse: 1, better: -1}
    if measure in ("adverse_rate", "feasibility"):
        signs |= {more: 1, fewer: -1} if measure == "adverse_rate" else {more: -1, fewer: 1}

    def number(part: str, default: str = "") -> tuple[float, str]:
        way = next((name for name in signs if name in part), default)
        found = re.search(NUMBER, part)
        size = float(found[0].replace(",", ".")) if found else 0.0
        assert way or not size, f"no direction: {text}"
        return size * signs.get(way, 0), way

    main, _, inside = text.partition("(")
    inside = inside.split(")")[0].split(":")[-1].strip()
    size = 0.0 if none in main else number(main)[0]
    assert (none in main) == (size == 0), text
    both = re.split(rf"{between}(?=\d)", inside)
    if len(both) != 2:  # no interval, and at most the reason why there is none
        return Said(size, None)
    first, last = both
    way = number(last)[1] or number(first)[1]
    ends = number(first, way)[0], number(last, way)[0]
    return Said(size, (min(ends), max(ends)))


def read_signed(text: str, language: str) -> Said:
    """Read a gap from a table: +32 (+21 to +43)."""
    found = re.findall(rf"([+\N{{MINUS SIGN}}]?)({NUMBER})", text)
    values = [
        (-1 if sign == "\N{MINUS SIGN}" else 1) * float(size.replace(",", "."))
        for sign, size in found
    ]
    assert all(sign or not value for (sign, _), value in zip(found, values, strict=True)), text
    return Said(values[0], (min(values[1:]), max(values[1:])) if values[1:] else None)


def check_gap(said: Said, gap: Comparison, text: str) -> None:
    """What is said has the sign, the size and the interval of the record."""
    ends = gap.gap_interval
    assert abs(said.size - 100 * gap.gap) <= 0.51, (text, gap.gap)
    assert (said.ends is None) == (ends is None), text
    if abs(gap.gap) >= 0.0006:
        assert said.size * gap.gap > 0, (text, gap.gap)
    if said.ends is not None and ends is not None:
        assert abs(said.ends[0] - 100 * ends.low) <= 0.51, (text, ends)
        assert abs(said.ends[1] - 100 * ends.high) <= 0.51, (text, ends)


def verdict_in(gap: Comparison, report: GroupReport, language: str) -> str:
    """A verdict with its mark, in words that are written down here."""
    assert gap.verdict is not None
    concern = f"{100 * report.concern:g}"
    verdict = MARKS[gap.verdict] + VERDICTS[language][gap.verdict].replace("N", concern)
    ends, tests = gap.gap_interval, gap.tests.corrected_for
    if gap.verdict != "not settled" or ends is None or ends.low * ends.high <= 0 or not tests:
        return verdict
    return f"{verdict} {CORRECTED[language].replace('N', str(tests))}"


def check_verdict(text: str, gap: Comparison, report: GroupReport, language: str) -> None:
    said = verdict_in(gap, report, language)
    assert text.lower().startswith(said.lower()), (text, gap.verdict)
    others = {name for name in VERDICTS[language] if name != gap.verdict} - {"no gap"}
    assert not any(VERDICTS[language][name] in text for name in others), text


def comparisons(report: GroupReport) -> dict[tuple[str, str, Measure], Comparison]:
    return {
        (table.name, gap.group, gap.measure): gap
        for table in report.tables
        for gap in table.comparisons
    }


def named(gap: Comparison, words: Words) -> str:
    against = words.say("board.against", reference=gap.reference)
    return f"{gap.group} {against}".lower()


# ---------------------------------------------------------------------- what each view says


def check_board(board: BoardText, report: GroupReport, language: str) -> None:
    """The plot, row by row; the cards' verdicts and counts; the notes' counts."""
    words, all_gaps = words_in(language), comparisons(report)
    single = [table for table in report.tables if len(table.attributes) == 1]
    rows = board.gaps
    expected = [
        (t.name, gap.group) for t in single for gap in t.comparisons if gap.measure == "cost"
    ]
    assert len(rows) == len(expected)
    for row, (table, group) in zip(rows, expected, strict=True):
        first, *parts = re.split(
            "|".join(
                re.escape(words.say(f"board.gaps.{m}")) for m in ("adverse_rate", "feasibility")
            ),
            row,
        )
        for measure, part in zip(("adverse_rate", "feasibility"), parts, strict=True):
            gap = all_gaps[table, group, measure]  # type: ignore[index]
            assert first.strip().lower() == named(gap, words)
            check_verdict(part.strip(), gap, report, language)
            said = part.strip().removeprefix(verdict_in(gap, report, language))
            check_gap(read_gap(said, None, language), gap, row)
    page = GroupPage(report, words, TEMPLATES)
    for card, measure in ((0, "adverse_rate"), (1, "feasibility")):
        leading = page.comparison(measure)  # type: ignore[arg-type]
        assert leading is not None
        verdict = board.verdicts[card]
        check_verdict(verdict, leading, report, language)
        said = verdict.split(":", 1)[1]
        check_gap(read_gap(said, leading.measure, language), leading, verdict)
    check_counts(board, report, page)
    unsettled = sum(one.verdict == "not settled" for one in report.findings)
    if unsettled:
        assert (
            words.say_count("board.open.comparisons", unsettled, all=str(len(report.findings)))
            in board.notes
        )
    assert words.whole_percent(report.by_chance) in board.notes


def check_counts(board: BoardText, report: GroupReport, page: GroupPage) -> None:
    """The figures of every group in the four cards."""
    words, tables = page.words, {table.name: table for table in report.tables}
    assert page.table is not None
    for group in tables[page.table.name].by_group:
        [refused] = [row for row in board.rows(0) if row.lower().startswith(f"{group.name} ")]
        rate = group.decisions.adverse_rate
        assert words.out_of(rate.count, rate.of) in refused
        assert words.percent(rate.share or 0) in refused
        assert group.outcomes is not None
        [options] = [row for row in board.rows(1) if row.lower().startswith(f"{group.name} ")]
        rate = group.outcomes.feasibility
        assert words.out_of(rate.count, rate.of) in options
    own = report.own_data
    if own.overall is not None and own.overall.no_option is not None:
        assert words.number(own.overall.no_option.count) in board.titles[3]
        without = {name: rates.no_option for name, rates in page.own_data.items()}
        for name, found in without.items():
            [row] = [row for row in board.rows(3) if row.lower().startswith(f"{name} ")]
            assert found is not None
            assert row.split()[-1] == str(found.of) or str(found.of) in row
            assert f" {words.number(found.count)} " in row


def check_titles(board: BoardText, report: GroupReport) -> None:
    """In English: a title claims a direction only where a gap is shown, and that of the record."""
    page = GroupPage(report, words_in("en"), TEMPLATES)
    for place, measure in ((0, "adverse_rate"), (1, "feasibility")):
        gap = page.comparison(measure)  # type: ignore[arg-type]
        assert gap is not None
        check_direction(board.titles[place], gap.verdict == "gap shown", gap)
    leading = report.findings[0]
    if leading.headline:
        claim = leading.verdict == "gap shown"
        assert claim == ("not settled" not in board.headline)
        if leading.measure != "cost":
            gap = turn(comparisons(report)[leading.table, leading.group, leading.measure])
            check_direction(board.headline, claim, gap)
        elif claim:
            assert "more effort" in board.headline
    else:
        assert not any(words in board.headline for words in (*MORE, *LESS, "effort"))


def check_direction(text: str, claim: bool, gap: Comparison) -> None:
    says_more, says_less = (any(words in text for words in ways) for ways in (MORE, LESS))
    if not claim:
        assert not says_more, text
        assert not says_less, text
    else:
        more = (gap.value or 0.0) > (gap.reference_value or 0.0)
        assert (says_more, says_less or "a quarter as often" in text) == (more, not more), text


def check_annex(pages: ReadGroups, report: GroupReport, language: str) -> None:
    """Every test in the annex, and the tables of what is not settled."""
    words, all_gaps = words_in(language), comparisons(report)
    rows = pages.tables(words.say("report.tests"))
    assert len(rows) == len(all_gaps) == len(report.findings)
    for row, gap in zip(rows, all_gaps.values(), strict=True):
        assert row.cells[0].lower() == named(gap, words)
        check_gap(read_signed(row.cells[2], language), gap, row.cells[2])
        check_verdict(row.cells[-1], gap, report, language)
    unsettled = [gap for gap in all_gaps.values() if gap.verdict == "not settled"]
    listed = [row for rows in pages.all_tables(words.say("report.open")) for row in rows]
    assert len(listed) == len(unsettled)
    for row, gap in zip(listed, unsettled, strict=True):
        assert row.cells[0].lower() == named(gap, words)
        check_gap(read_signed(row.cells[2], language), gap, row.cells[2])


def check_unsettled(text: str, report: GroupReport) -> None:
    """In English: how many comparisons of each family are not settled."""
    families = [[one for one in report.findings if one.family == name] for name in FAMILIES]
    unsettled = [sum(one.verdict == "not settled" for one in family) for family in families]
    (singles, crosses), (single, crossed) = map(len, families), unsettled
    if not single + crossed:
        assert "Every comparison is settled." in text
    elif crosses:
        counts = f"{single} of {singles} comparisons of one attribute, and {crossed} of {crosses} "
        assert f"Not settled: {counts}of two attributes" in text
    else:
        assert f"{single} of {singles} comparisons are not settled." in text


def check_charts(pages: ReadGroups, report: GroupReport, language: str) -> None:
    """Rows of the attributes' charts, and their titles, which name whom a gap is shown against."""
    words = words_in(language)
    for table in report.tables:
        if len(table.attributes) > 1:
            continue
        heading = words.say("report.attribute", attribute=words.name(table.name))
        charts = pages.charts(heading)
        for measure, (title, rows) in zip(
            ("adverse_rate", "feasibility"), charts.items(), strict=False
        ):
            gaps = {gap.group: gap for gap in table.comparisons if gap.measure == measure}
            for worse in ("group", "reference"):
                people = [
                    words.people(table.name, g.group) for g in gaps.values() if g.worse == worse
                ]
                key = f"report.title.{measure}.{worse}"
                said = words.say(key, people=words.series(people))
                assert (said in title) == bool(people), title
            for name, text in rows:
                group = next(
                    (one for one in table.by_group if name.split(" (")[0] == one.name), None
                )
                assert group is not None
                assert group.outcomes is not None
                refused = measure == "adverse_rate"
                rate = group.decisions.adverse_rate if refused else group.outcomes.feasibility
                assert text.startswith(words.percent(rate.share or 0.0))
                _, _, said = text.partition(f", {words.out_of(rate.count, rate.of)}")
                assert bool(said) == (group.name in gaps)
                if said:
                    gap = gaps[group.name]
                    check_verdict(said.strip(), gap, report, language)
                    said = said.split(":", 1)[1]
                    check_gap(read_gap(said, gap.measure, language), gap, text)


def check_terminal(report: GroupReport) -> None:
    """In English: every comparison of a single attribute, its verdict and its gap."""
    console = Console(width=300, file=io.StringIO(), record=True)
    show_groups(console, report, words=words_in("en"), full=True)
    lines = console.export_text().splitlines()
    single = [one for one in report.findings if one.family == "single"]
    start = next(place for place, line in enumerate(lines) if line.startswith("Verdict"))
    measures = {name: words_in("en").say(f"report.measure.{name}") for name in HEADS}
    for line, found in zip(lines[start + 1 :], single, strict=False):
        gap = turn(comparisons(report)[found.table, found.group, found.measure])
        cells = re.split(r" {2,}", line.strip())
        check_verdict(cells[0], gap, report, "en")
        assert (cells[1], cells[2]) == (named(gap, words_in("en")), measures[gap.measure])
        check_gap(read_signed(cells[3], "en"), gap, line)


def check_csv(report: GroupReport) -> None:
    all_gaps = comparisons(report)
    for row in csv.DictReader(io.StringIO(groups_csv(report, words_in("en")))):
        gap = all_gaps.get((row["table"], row["group"], row["measure"]))  # type: ignore[arg-type]
        if gap is None:
            continue
        assert row["verdict"] == gap.verdict
        plain = replace(gap, gap_interval=None)
        assert row["result"] == verdict_in(plain, report, "en").lstrip("▲◇ ")
        assert row["worse"] == (gap.worse or "")
        assert float(row["gap"]) == pytest.approx(gap.gap, rel=1e-4, abs=1e-9)
        if row["measure"] == "adverse_rate":
            group = report.by_group[row["table"]][row["group"]]
            assert int(row["count"]) == group.decisions.refused


def signs_in_prose(pages: ReadGroups) -> Iterator[str]:
    """Signs outside of tables; a plus between two counts is none."""
    for text in [*pages.texts(".//p"), *pages.texts(".//h1"), *pages.texts(".//h2")]:
        yield from re.findall(rf"(?:[+\N{{MINUS SIGN}}]|(?<![\w-])-){NUMBER}", text)


def check_everything(report: GroupReport, language: str) -> None:
    words = words_in(language)
    pages = ReadGroups(report, words=words, templates=TEMPLATES)
    index = html_of(page_of(some_subjects(), groups=report, language=language))
    for html in (pages.html["groups"], index):
        board = BoardText(markup=html)
        check_board(board, report, language)
        if language == "en":
            check_titles(board, report)
    check_annex(pages, report, language)
    check_charts(pages, report, language)
    assert list(signs_in_prose(pages)) == []
    if language == "en":
        check_unsettled(pages.text, report)
        check_terminal(report)
        check_csv(report)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_text_contradicts_the_record(seed: int) -> None:
    check_everything(report_of(seed), "en")


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_no_text_contradicts_the_record_in_other_languages(language: str) -> None:
    for seed in IN_OTHER_LANGUAGES:
        check_everything(report_of(seed), language)


def test_the_reader_notices_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong verdict, a wrong sign and a wrong count in what is rendered are each found."""
    report = report_of(0)
    right = GroupPage.ways
    turned = {measure: (better, worse) for measure, (worse, better) in right.items()}
    monkeypatch.setattr(GroupPage, "ways", turned)
    with pytest.raises(AssertionError):
        check_everything(report, "en")
    monkeypatch.setattr(GroupPage, "ways", right)
    monkeypatch.setattr(Words, "verdict", lambda *_: "no gap")
    with pytest.raises(AssertionError):
        check_everything(report, "en")
    monkeypatch.undo()
    first = report.tables[0].by_group[0]
    count = replace(first.decisions.adverse_rate, count=first.decisions.refused + 1)
    wrong = replace(first, decisions=replace(first.decisions, adverse_rate=count))
    table = replace(report.tables[0], by_group=(wrong, *report.tables[0].by_group[1:]))
    pages = ReadGroups(replace(report, tables=(table, *report.tables[1:])), templates=TEMPLATES)
    with pytest.raises(AssertionError):
        check_charts(pages, report, "en")
    check_everything(report, "en")
