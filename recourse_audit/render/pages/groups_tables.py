"""The tables of the group report: at a glance, impact ratios, every test, what is withheld."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from recourse_audit.records.group_figures import (
    PRIMARY,
    Comparison,
    Group,
    Measure,
)
from recourse_audit.records.groups import GroupReport, GroupTable, Suppressed
from recourse_audit.render.pages.groups_sentences import (
    MEASURES,
    NOTHING,
    SHORT,
    SIGNS,
    VERDICTS,
    WITHHELD,
    between,
    chance,
    counted,
    listed,
    median_of,
    name_of,
    percent,
    ratio,
    several,
    signed_points,
    singles,
    size,
)
from recourse_audit.render.pages.index_rows import decimals_of
from recourse_audit.render.pages.tables import Column, Table, cells
from recourse_audit.render.text import plain


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictLine:
    """Measures of a group with the same verdict; `kind` is its name in the style sheet."""

    kind: str
    sign: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GlanceRow:
    """A group at a glance; withheld figures are a dash, and the verdict says why."""

    name: str
    people: str
    refused: tuple[str, ...]
    option: tuple[str, ...]
    cost: str
    verdicts: tuple[VerdictLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GlancePart:
    """The groups of one attribute."""

    attribute: str
    rows: tuple[GlanceRow, ...]
    note: str


def glance(report: GroupReport) -> tuple[GlancePart, ...]:
    """The overview: every attribute, every group, three measures."""
    medians = [
        group.outcomes.cost.median
        for table in singles(report)
        for group in table.by_group
        if group.outcomes is not None and group.outcomes.cost is not None
    ]
    decimals = decimals_of(medians)
    return tuple(
        GlancePart(
            attribute=name_of(table),
            rows=tuple(
                _glance_row(table, group, decimals, report.four_fifths)
                for group in table.by_group
                if counted(group)
            ),
            note=plain(table.note),
        )
        for table in singles(report)
    )


def _glance_row(table: GroupTable, group: Group, decimals: int, line: float) -> GlanceRow:
    gaps = {one.measure: one for one in table.comparisons if one.group == group.name}
    decided, found = group.decisions, group.outcomes
    return GlanceRow(
        name=plain(group.name),
        people=NOTHING if decided is None else f"{decided.people:,}",
        refused=(NOTHING,)
        if decided is None
        else (percent(decided.adverse_rate.share), *_ratio_line(gaps.get("adverse_rate"), line)),
        option=(NOTHING,)
        if found is None
        else (percent(found.feasibility.share), *_ratio_line(gaps.get("feasibility"), line)),
        cost=median_of(None if found is None else found.cost, decimals),
        verdicts=tuple(_verdicts(table, group, gaps)),
    )


def _ratio_line(gap: Comparison | None, line: float) -> Iterator[str]:
    if gap is not None and gap.favourable_ratio is not None:
        below = f", below {line:g}" if gap.below_four_fifths else ""
        yield f"ratio {ratio(gap.favourable_ratio)}{below}"


def _verdicts(
    table: GroupTable, group: Group, gaps: dict[Measure, Comparison]
) -> Iterator[VerdictLine]:
    for verdict in VERDICTS:
        named = [SHORT[one] for one in PRIMARY if one in gaps and gaps[one].verdict == verdict]
        if named:
            kind = verdict.replace(" ", "-")
            yield VerdictLine(kind=kind, sign=SIGNS[verdict], words=f"{verdict}: {listed(named)}")
    yield from (VerdictLine(kind="none", sign="", words=words) for words in _remarks(table, group))


def _remarks(table: GroupTable, group: Group) -> Iterator[str]:
    if group.name == table.reference:
        yield "reference group"
    if not group.known:
        yield "counted, not tested"
    if group.withheld:
        yield WITHHELD[group.withheld]
    elif group.outcomes is not None and not group.outcomes.feasibility.of:
        yield "nobody audited"


def impact_ratios(table: GroupTable, line: float) -> Table:
    """The share of favourable decisions against that of the group with the largest share.

    This is the impact ratio of New York City's Local Law 144. Withheld groups have no figures, and
    people of unknown groups are counted but have no ratio.
    """
    shares = {group.name: _favourable(group) for group in table.by_group}
    known = [shares[group.name] or 0.0 for group in table.by_group if group.known]
    best = max(known, default=0.0)
    return Table(
        caption=f"Impact ratios by {name_of(table)}",
        columns=(
            Column(heading="Group"),
            Column(heading="People", kind="figures"),
            Column(heading="Favourable", kind="figures"),
            Column(heading="Share", kind="figures"),
            Column(heading="Impact ratio", kind="figures"),
            Column(heading="Four-fifths line"),
        ),
        rows=tuple(
            _impact_row(group, shares[group.name], best, line)
            for group in table.by_group
            if counted(group)
        ),
    )


def _favourable(group: Group) -> float | None:
    decided = group.decisions
    if decided is None or not decided.refused + decided.favourable:
        return None
    return decided.favourable / (decided.refused + decided.favourable)


def _impact_row(
    group: Group, share: float | None, best: float, line: float
) -> tuple[tuple[str, ...], ...]:
    decided = group.decisions
    if decided is None:
        why = WITHHELD[group.withheld] if group.withheld else NOTHING
        return cells(plain(group.name), *4 * [NOTHING], why)
    impact = share / best if group.known and share is not None and best else None
    beside = "" if impact is None else f"{'below' if impact < line else 'not below'} {line:g}"
    return cells(
        plain(group.name),
        f"{decided.people:,}",
        f"{decided.favourable:,}",
        percent(share),
        ratio(impact),
        beside if group.known else "counted, no ratio",
    )


def every_test(tables: Iterable[GroupTable], caption: str, family: int) -> Table:
    """Every comparison of the family in these tables, with all figures."""
    return Table(
        caption=caption,
        columns=(
            Column(heading="Group and reference"),
            Column(heading="Measure"),
            Column(heading="Gap, points", kind="figures"),
            Column(heading="Interval", kind="figures"),
            Column(heading="p, this test alone", kind="figures"),
            Column(heading=f"p, corrected for {several(family, 'test')}", kind="figures"),
            Column(heading="People, and as how many they count", kind="figures"),
            Column(heading="Detectable gap, points", kind="figures"),
            Column(heading="Verdict"),
        ),
        rows=tuple(_test_row(one) for table in tables for one in table.comparisons if one.primary),
    )


def _test_row(one: Comparison) -> tuple[tuple[str, ...], ...]:
    return cells(
        f"{plain(one.group)} / {plain(one.reference)}",
        SHORT[one.measure],
        signed_points(one.gap),
        between(one.gap_interval),
        chance(one.tests.on_graph),
        chance(one.tests.adjusted),
        _counting(one),
        size(one.smallest_gap_in_family),
        f"{SIGNS[one.verdict]} {one.verdict}" if one.verdict else NOTHING,
    )


def _counting(one: Comparison) -> str:
    everybody = f"{one.people + one.reference_people:,}"
    return everybody if one.precision is None else f"{everybody}: {one.precision.effective:,.0f}"


def exploratory(tables: Iterable[GroupTable]) -> Table:
    """Measures outside the family: not corrected, and without a verdict."""
    return Table(
        caption="Exploratory measures, outside the family and not corrected",
        columns=(
            Column(heading="Group and reference"),
            Column(heading="Measure"),
            Column(heading="More minus less, points", kind="figures"),
            Column(heading="Interval", kind="figures"),
            Column(heading="p", kind="figures"),
        ),
        rows=tuple(
            cells(
                f"{plain(one.group)} / {plain(one.reference)}",
                MEASURES[one.measure],
                signed_points(one.difference),
                between(one.intervals.difference.on_graph),
                chance(one.tests.on_graph),
            )
            for table in tables
            for one in table.comparisons
            if not one.primary
        ),
    )


def withheld_list(entries: tuple[Suppressed, ...]) -> Table:
    """What is withheld, where and why; never how many people it concerns."""
    return Table(
        caption="What is withheld",
        columns=(
            Column(heading="Group"),
            Column(heading="Table"),
            Column(heading="What"),
            Column(heading="Why"),
        ),
        rows=tuple(
            cells(
                plain(one.group),
                plain(one.table),
                one.what,
                WITHHELD[one.why].removeprefix("withheld: "),
            )
            for one in entries
        ),
    )
