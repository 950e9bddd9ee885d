"""The charts of the group report, by attribute: rates, effort, and whom the advice cuts off."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from recourse_audit.records.group_figures import Comparison, Group, Measure, Outcomes, Rate
from recourse_audit.records.groups import CommonOption, CutOffTable, GroupReport, GroupTable
from recourse_audit.render.charts.board import unbroken
from recourse_audit.render.charts.common_options import served_strip
from recourse_audit.render.charts.cost_curves import (
    EffortCurve,
    effort_axis,
    effort_strip,
    effort_ticks,
)
from recourse_audit.render.charts.cut_off import ties_strip
from recourse_audit.render.charts.intervals import RATES, rate_strip
from recourse_audit.render.charts.strips import axis_row
from recourse_audit.render.charts.svg import Picture
from recourse_audit.render.i18n import Words
from recourse_audit.render.pages.board_card import Shown, title_of
from recourse_audit.render.pages.board_cards import gap_words, part_words
from recourse_audit.render.pages.board_words import (
    MARKS,
    TONES,
    attribute_name,
    capitalised,
    colon,
    group_name,
    name_in,
    singles,
)
from recourse_audit.render.pages.groups_words import (
    confidence,
    ratio,
    shares_between,
    table_note,
)
from recourse_audit.render.pages.tables import ChartRow, ChartTable
from recourse_audit.render.text import plain

TITLES: dict[Measure, str] = {"adverse_rate": "refused", "feasibility": "option"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeView:
    """One attribute: its name, why nothing is compared if nothing is, and its charts."""

    anchor: str
    heading: str
    note: str
    charts: tuple[ChartTable, ...]


def attributes(report: GroupReport, words: Words) -> tuple[AttributeView, ...]:
    """Every single attribute with all of its charts; charts without rows are left out."""
    return tuple(
        AttributeView(
            anchor=f"attribute-{place}",
            heading=words.say("report.attribute", attribute=attribute_name(table.name)),
            note=table_note(words, table),
            charts=_noted(
                [one for one in _charts(report, table, words) if one.rows], noted=place == 1
            ),
        )
        for place, table in enumerate(singles(report), start=1)
    )


def _noted(charts: list[ChartTable], *, noted: bool) -> tuple[ChartTable, ...]:
    """The charts of the first attribute say how to read them, each note once."""
    seen: set[str] = set() if noted else {chart.note for chart in charts}
    found = []
    for chart in charts:
        found.append(replace(chart, note="") if chart.note in seen else chart)
        seen.add(chart.note)
    return tuple(found)


def _charts(report: GroupReport, table: GroupTable, words: Words) -> Iterator[ChartTable]:
    yield _rates(report, table, words, "adverse_rate")
    yield _rates(report, table, words, "feasibility")
    yield _effort(report, table, words)
    for one in report.cut_off:
        if one.attribute == table.name and one.options == "first":
            yield _cut_off(report, one, words)


def _rates(report: GroupReport, table: GroupTable, words: Words, measure: Measure) -> ChartTable:
    gaps = {one.group: one for one in table.comparisons if one.measure == measure}
    largest = max(gaps.values(), key=lambda one: abs(one.gap), default=None)
    title = words.say(f"board.card.{TITLES[measure]}")
    if largest is not None:
        shown = Shown(report=report, words=words, table=table, group=largest.group)
        title = title_of(shown, TITLES[measure], largest)
    rows = [
        _rate_row(report, table, words, group, _rate(group, measure), gaps.get(group.name))
        for group in table.by_group
        if measure == "adverse_rate" or group.outcomes is not None
    ]
    return ChartTable(
        title=title,
        rows=tuple(rows),
        axis=_share_axis(words),
        note=words.say("report.rates.note", confidence=confidence(words, report)),
    )


def _rate(group: Group, measure: Measure) -> Rate | None:
    if measure == "adverse_rate":
        return group.decisions.adverse_rate
    return None if group.outcomes is None else group.outcomes.feasibility


def _rate_row(
    report: GroupReport,
    table: GroupTable,
    words: Words,
    group: Group,
    rate: Rate | None,
    gap: Comparison | None,
) -> ChartRow:
    name = group_name(words, group)
    if rate is None or rate.share is None:
        said = words.say("board.card.nobody.here")
        return ChartRow(strong=name, label="", picture=None, words=said, tone="open")
    interval = rate.on_graph or rate.interval
    said = f" ({shares_between(words, rate)}), {words.out_of(rate.count, rate.of)}"
    if gap is not None and gap.verdict is not None:
        verdict = f"{MARKS[gap.verdict]} {words.verdict(gap.verdict, report.concern)}"
        said = f"{said}. {colon(words, verdict, gap_words(words, gap))}"
    hollow = group.name == table.reference
    return ChartRow(
        strong=name,
        label=_role(words, table, group),
        picture=rate_strip(
            rate.share,
            None if interval is None else (interval.low, interval.high),
            colon(words, name, words.percent(rate.share)),
            hollow=hollow,
        ),
        figure=words.percent(rate.share),
        words=said,
        tone=TONES[gap.verdict] if gap is not None and gap.verdict is not None else "",
    )


def _role(words: Words, table: GroupTable, group: Group) -> str:
    if group.name == table.reference:
        return f" ({words.say('report.reference')})"
    return "" if group.known else f" ({words.say('report.not_tested')})"


def _effort(report: GroupReport, table: GroupTable, words: Words) -> ChartTable:
    groups = [one for one in table.by_group if one.outcomes is not None]
    curves = {one.name: curve for one in groups if (curve := _curve(one)) is not None}
    axis = effort_axis(list(curves.values()))
    percents = words.whole_percent(0.0), words.whole_percent(1.0)
    rows = []
    for group in groups:
        name, curve = group_name(words, group), curves.get(group.name)
        if curve is None or group.outcomes is None:
            said = words.say("board.card.nobody.here")
            rows.append(ChartRow(strong=name, label="", picture=None, words=said, tone="open"))
            continue
        parts = words.listed(part_words(words, group))
        steps = "; ".join(
            words.say("report.effort.step", share=words.percent(share), effort=words.number(effort))
            for effort, share in curve.steps
        )
        alt = colon(words, name, words.say("report.effort.alt", steps=steps or words.percent(0.0)))
        rows.append(
            ChartRow(
                strong=name,
                label=f" {words.say_count('board.card.audited', group.outcomes.feasibility.of)}",
                picture=effort_strip(axis, curve, percents, alt),
                figure=_median(words, group.outcomes),
                words=f" {parts}.",
            )
        )
    drawn = bool(curves)
    return ChartTable(
        title=_effort_title(table, words),
        rows=tuple(rows) if drawn else (),
        axis=effort_ticks(axis) if drawn else None,
        head=("", words.say("report.effort.axis"), ""),
        note=words.say("report.effort.note"),
    )


def _curve(group: Group) -> EffortCurve | None:
    found = group.outcomes
    if found is None or found.cost_curve is None or not found.feasibility.of:
        return None
    of, stopped = found.feasibility.of, found.not_found_within_budget or 0
    return EffortCurve(
        steps=tuple((point.cost, point.share) for point in found.cost_curve),
        none=(of - found.verified - stopped) / of,
        open=stopped / of,
    )


def _median(words: Words, found: Outcomes) -> str:
    if found.cost is None or not found.cost.of:
        return ""
    if found.cost.median is None:
        return words.say("report.effort.no_median")
    return words.say("report.effort.median", effort=words.number(found.cost.median))


def _effort_title(table: GroupTable, words: Words) -> str:
    gaps = [one for one in table.comparisons if one.measure == "cost"]
    largest = max(gaps, key=lambda one: abs(one.gap), default=None)
    if largest is None or largest.verdict != "gap shown":
        return words.say("report.effort" if largest is None else "report.effort.none")
    key = "more" if largest.gap > 0 else "less"
    who = {"group": plain(largest.group), "reference": plain(largest.reference)}
    return words.say(f"report.effort.{key}", **who)


def _cut_off(report: GroupReport, table: CutOffTable, words: Words) -> ChartTable:
    rows = [
        ChartRow(
            strong=name_in(words, report, table.attribute, one.group),
            label="",
            picture=ties_strip(
                one.droppable_share,
                one.dropped_share,
                name_in(words, report, table.attribute, one.group),
            ),
            figure=words.percent(one.dropped_share),
            words=" "
            + words.say(
                "report.cut.row",
                droppable=words.percent(one.droppable_share),
                ratio=ratio(words, one.ratio),
            ),
        )
        for one in table.by_group
        if one.droppable
    ]
    return ChartTable(
        title=words.say("report.cut"),
        rows=tuple(rows) if table.nothing is None else (),
        axis=_share_axis(words),
        note=f"{words.say('report.cut.note')} {words.say('report.served_only')}",
    )


def cut_off_notes(report: GroupReport, words: Words) -> Iterator[str]:
    """Why nothing is said of whom the options cut off, by attribute."""
    for table in report.cut_off:
        if table.nothing is not None and table.options == "first":
            key = "report.cut.none" if table.nothing == "no_tie_dropped" else "report.cut.few"
            said = words.say(key, smallest=words.number(report.smallest))
            yield colon(words, attribute_name(table.attribute), said)


def common_chart(report: GroupReport, words: Words) -> ChartTable | None:
    """The kinds of change that together serve most of the audited; None where there are none."""
    outcomes = report.overall.outcomes
    if not report.common_options or outcomes is None:
        return None
    before = 0.0
    rows = []
    for one in report.common_options:
        share = one.share_so_far - before
        so_far = words.percent(one.share_so_far)
        rows.append(
            ChartRow(
                label=capitalised(changes_words(words, one)),
                picture=served_strip(before, share, so_far),
                figure=so_far,
                words=" " + words.say("report.common.row", serves=words.number(one.serves)),
            )
        )
        before = one.share_so_far
    first = report.common_options[0]
    return ChartTable(
        title=words.say(
            "report.common.title",
            changes=capitalised(changes_words(words, first)),
            share=words.whole_percent(first.share_so_far),
        ),
        rows=tuple(rows),
        note=f"{words.say('report.common.note')} {words.say('report.served_only')}",
    )


def changes_words(words: Words, option: CommonOption) -> str:
    """Kinds of change in words: end a payment tie, end a guarantor tie or change savings."""
    named = [
        words.say(f"report.change.{one.do}", what=attribute_name(one.what))
        for one in option.changes
    ]
    *first, last = named
    return words.say("report.or", first=", ".join(first), last=last) if first else last


def _share_axis(words: Words) -> Picture:
    return axis_row(RATES, [unbroken(words.whole_percent(tick)) for tick in RATES.ticks])
