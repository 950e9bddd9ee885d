"""The charts of the group report and the tables of options, made from its records."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from recourse_audit.records.group_figures import Interval, Measure
from recourse_audit.records.groups import (
    CommonOption,
    CutOff,
    CutOffTable,
    GroupReport,
    GroupTable,
)
from recourse_audit.render.charts.common_options import CommonOption as Bar
from recourse_audit.render.charts.common_options import common_options
from recourse_audit.render.charts.cost_curves import CostCurve, cost_curves
from recourse_audit.render.charts.cut_off import CutOffBar, cut_off
from recourse_audit.render.charts.intervals import Gap, intervals
from recourse_audit.render.charts.svg import Picture
from recourse_audit.render.pages.groups_sentences import NOTHING, counted, name_of, percent, ratio
from recourse_audit.render.pages.tables import Column, Table, cells
from recourse_audit.render.text import plain

AXES: dict[Measure, str] = {
    "adverse_rate": "refused more often than the reference, points: right is worse",
    "feasibility": "without an option more often than the reference, points: right is worse",
    "cost": "chance of more effort minus less than the reference, points: right is worse",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A chart and its caption."""

    picture: Picture
    caption: str


def gaps_figure(tables: Iterable[GroupTable], measure: Measure, caption: str) -> Figure | None:
    """Every group's gap in one measure, with both intervals; None where nothing is compared."""
    gaps = tuple(
        Gap(
            name=f"{one.group} ({name_of(table)})",
            difference=100 * one.gap,
            on_graph=_ends(one.gap_interval),
            ordinary=_turned(one.intervals.difference.ordinary, one.gap, one.difference),
            verdict=one.verdict or "",
        )
        for table in tables
        for one in table.comparisons
        if one.measure == measure
    )
    if not gaps:
        return None
    return Figure(picture=intervals(gaps, AXES[measure]), caption=caption)


def curves_figure(table: GroupTable) -> Figure | None:
    """The share of each group with an option up to each cost; None where curves are withheld."""
    curves = tuple(
        CostCurve(
            group=group.name,
            people=group.outcomes.feasibility.of,
            steps=tuple((point.cost, point.share) for point in group.outcomes.cost_curve),
        )
        for group in table.by_group
        if group.outcomes is not None and group.outcomes.cost_curve is not None and counted(group)
    )
    if not curves:
        return None
    caption = f"What the cheapest option costs, by {name_of(table)}"
    return Figure(picture=cost_curves(curves), caption=caption)


def cut_off_figure(table: CutOffTable) -> Figure | None:
    """Whom the options cut off, by one attribute."""
    rows = [
        CutOffBar(group=one.group, droppable=one.droppable_share, dropped=one.dropped_share)
        for one in table.by_group
        if one.droppable
    ]
    rows += [CutOffBar(group=name, droppable=None, dropped=None) for name in table.withheld]
    if not rows:
        return None
    which = "cheapest option" if table.options == "first" else "options"
    caption = f"Whom dropping the ties of the {which} would cut off, by {plain(table.attribute)}"
    return Figure(picture=cut_off(tuple(rows)), caption=caption)


def common_figure(report: GroupReport) -> Figure | None:
    """The kinds of change that together serve most of the audited."""
    if not report.common_options or report.overall.outcomes is None:
        return None
    audited = report.overall.outcomes.feasibility.of
    bars = tuple(
        Bar(
            change=changes_of(one),
            share=one.serves / audited,
            together=one.share_so_far,
        )
        for one in report.common_options
    )
    caption = "Common options: kinds of change, and the people they serve whom none above serves"
    return Figure(picture=common_options(bars), caption=caption)


def changes_of(option: CommonOption) -> str:
    """Kinds of change in words: drop payment, guarantor; set savings."""
    by_kind: dict[str, list[str]] = {}
    for one in option.changes:
        by_kind.setdefault(one.do, []).append(one.what)
    return plain("; ".join(f"{do} {', '.join(what)}" for do, what in by_kind.items()))


def _turned(interval: Interval | None, gap: float, difference: float) -> tuple[float, float] | None:
    """Both ends in percentage points, turned as the gap is turned against its difference."""
    ends = _ends(interval)
    if ends is None or gap == difference:
        return ends
    return -ends[1], -ends[0]


def _ends(interval: Interval | None) -> tuple[float, float] | None:
    """Both ends in percentage points."""
    return None if interval is None else (100 * interval.low, 100 * interval.high)


WHICH = {"first": "the cheapest option", "all": "all options"}


def common_table(report: GroupReport) -> Table:
    """Kinds of change, how many people each serves, and the share of each group served so far."""
    return Table(
        caption="Common options",
        columns=(
            Column(heading="Kinds of change"),
            Column(heading="Serves, of those left", kind="figures"),
            Column(heading="Served so far", kind="figures"),
            Column(heading="Of all audited", kind="figures"),
            Column(heading="Of each group, so far"),
        ),
        rows=tuple(
            cells(
                changes_of(one),
                f"{one.serves:,}",
                f"{one.served_so_far:,}",
                percent(one.share_so_far),
                tuple(_group_shares(one)),
            )
            for one in report.common_options
        ),
    )


def _group_shares(option: CommonOption) -> Iterator[str]:
    for attribute, shares in option.shares_by_group.items():
        named = ", ".join(f"{plain(group)} {percent(share)}" for group, share in shares.items())
        yield f"{plain(attribute)}: {named or 'withheld'}"


def cut_off_table(table: CutOffTable) -> Table:
    """Whom the options cut off: both shares, their ratio and its interval."""
    return Table(
        caption=f"Whom {WHICH[table.options]} would cut off, by {plain(table.attribute)}",
        columns=(
            Column(heading="Ties to"),
            Column(heading="Dropped", kind="figures"),
            Column(heading="Share of dropped", kind="figures"),
            Column(heading="Droppable", kind="figures"),
            Column(heading="Share of droppable", kind="figures"),
            Column(heading="Ratio", kind="figures"),
            Column(heading="Interval", kind="figures"),
        ),
        rows=(
            *(_cut_off_row(one) for one in table.by_group if one.droppable),
            *(cells(plain(name), *5 * [NOTHING], "withheld") for name in table.withheld),
        ),
    )


def _cut_off_row(one: CutOff) -> tuple[tuple[str, ...], ...]:
    interval = one.interval
    return cells(
        plain(one.group),
        f"{one.dropped:,}",
        percent(one.dropped_share),
        f"{one.droppable:,}",
        percent(one.droppable_share),
        ratio(one.ratio),
        NOTHING if interval is None else f"{ratio(interval.low)} to {ratio(interval.high)}",
    )
