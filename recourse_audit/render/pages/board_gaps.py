"""The gap plots of the board block: every group of single attributes in two measures, one scale."""

from collections.abc import Iterator

from recourse_audit.records.group_figures import Comparison, Measure
from recourse_audit.records.groups import GroupReport
from recourse_audit.render.charts.board import gap_strip, gaps_axis, unbroken
from recourse_audit.render.charts.strips import Axis, axis_row
from recourse_audit.render.i18n import Words
from recourse_audit.render.pages.board_words import (
    MARKS,
    TONES,
    colon,
    crossed,
    named,
    signed,
    singles,
    with_verdicts,
)
from recourse_audit.render.pages.tables import ChartRow, ChartTable
from recourse_audit.render.text import plain

MEASURES: tuple[Measure, ...] = ("adverse_rate", "feasibility")
MOST_ROWS = 12
Named = tuple[str, Comparison]  # the table that a comparison is of


def gap_panels(report: GroupReport, words: Words) -> tuple[ChartTable, ...]:
    """Refusals, then being without an option; a measure without comparisons is left out."""
    compared = _compared(report)
    rows = {measure: _largest(compared, measure) for measure in MEASURES}
    axis = gaps_axis(
        [end for found in rows.values() for _, one in found for end in _places(one)], report.concern
    )
    return tuple(
        _panel(report, words, measure, found, axis) for measure, found in rows.items() if found
    )


def panels_note(report: GroupReport, words: Words) -> str:
    """How to read the plots, what is not in them, and what crossed groups show."""
    concern = words.number(100 * report.concern)
    confidence = words.whole_percent(1 - report.alpha)
    said = [words.say("board.gaps.note", concern=concern, confidence=confidence)]
    measured = [one.measure for _, one in _compared(report)]
    left = max(measured.count(measure) for measure in MEASURES) - MOST_ROWS
    if left > 0:
        said.append(words.say_count("board.gaps.more", left))
    said += _crossed_note(report, words)
    return " ".join(said)


def _crossed_note(report: GroupReport, words: Words) -> Iterator[str]:
    both = crossed(report)
    compared = with_verdicts(both)
    if not compared:
        return
    shown = [one for one in compared if one.verdict == "gap shown"]
    all_of_them = words.number(len(compared))
    if not shown:
        yield words.say_count("board.gaps.crossed.none", len(compared))
        return
    values = {group.name: group.values for table in both for group in table.by_group}
    shared = set.intersection(*(set(values.get(one.group, ())) for one in shown))
    if len(shown) > 1 and len(shared) == 1:
        [value] = shared
        yield words.say(
            "board.gaps.crossed.all",
            count=words.number(len(shown)),
            all=all_of_them,
            group=plain(value),
        )
        return
    yield words.say_count("board.gaps.crossed", len(shown), all=all_of_them)


def _compared(report: GroupReport) -> list[Named]:
    return [(table.name, one) for table in singles(report) for one in table.comparisons]


def _largest(compared: list[Named], measure: Measure) -> list[Named]:
    """The comparisons in one measure; of many, those with the largest gaps, in their order."""
    found = [named for named in compared if named[1].measure == measure]
    places = sorted(range(len(found)), key=lambda place: -abs(found[place][1].gap))[:MOST_ROWS]
    return [found[place] for place in sorted(places)]


def _places(one: Comparison) -> tuple[float, ...]:
    interval = one.gap_interval
    return (one.gap,) if interval is None else (one.gap, interval.low, interval.high)


def _panel(
    report: GroupReport,
    words: Words,
    measure: Measure,
    compared: list[Named],
    axis: Axis,
) -> ChartTable:
    figures = [words.points(tick) if abs(tick) > 1e-9 else "0" for tick in axis.ticks]
    return ChartTable(
        title=words.say(f"board.gaps.{measure}"),
        head=("", words.say("board.gaps.direction"), ""),
        rows=tuple(_row(report, words, table, one, axis) for table, one in compared),
        axis=axis_row(axis, list(map(unbroken, figures))),
    )


def _row(report: GroupReport, words: Words, table: str, one: Comparison, axis: Axis) -> ChartRow:
    """A group against its reference: the mark, the verdict, the gap and its interval."""
    ends = one.gap_interval
    figures = words.points(one.gap)
    if ends is not None:
        figures = f"{figures} ({signed(words, ends)})"
    verdict = one.verdict or "not settled"
    group, reference = named(report, table, one.group), plain(one.reference)
    return ChartRow(
        strong=group,
        label=f" {words.say('board.against', reference=reference)}",
        picture=gap_strip(
            axis,
            one.gap,
            None if ends is None else (ends.low, ends.high),
            verdict,
            colon(words, group, figures),
        ),
        figure=f"{MARKS[verdict]} {words.verdict(verdict, report.concern)}",
        words=f" {figures}",
        tone=TONES[verdict],
    )
