"""The tables of the group report: what is not settled, every test, impact ratios, what is left out.

A gap with a plus is worse for the group in all of them, and each says so.
"""

from collections.abc import Iterable

from recourse_audit.records.group_figures import Comparison, Group
from recourse_audit.records.groups import CutOff, CutOffTable, GroupReport, GroupTable, LeftOut
from recourse_audit.render.i18n import Words
from recourse_audit.render.pages.board_words import (
    attribute_name,
    colon,
    group_name,
    name_in,
    size,
)
from recourse_audit.render.pages.groups_charts import changes_words
from recourse_audit.render.pages.groups_words import (
    NOTHING,
    between,
    compared,
    confidence,
    measure,
    p_value,
    points,
    ratio,
    share,
    verdict,
    why_not_tested,
)
from recourse_audit.render.pages.tables import Column, Kind, Table, cells


def columns(words: Words, *keys: str, kind: Kind = "figures", **values: str) -> list[Column]:
    """Columns by the keys of their headings."""
    return [Column(heading=words.say(f"report.column.{key}", **values), kind=kind) for key in keys]


def not_settled(
    report: GroupReport, tables: Iterable[GroupTable], caption: str, words: Words
) -> Table:
    """Comparisons that are not settled, with the gap that would have been found."""
    found = [
        (table.name, one)
        for table in tables
        for one in table.comparisons
        if one.verdict == "not settled"
    ]
    return Table(
        caption=caption,
        columns=(
            *columns(words, "group", "measure", kind="plain"),
            *columns(words, "gap", "interval", "detectable", confidence=confidence(words, report)),
        ),
        rows=tuple(
            cells(
                compared(report, table, one, words),
                measure(words, one.measure),
                points(words, one.gap),
                between(words, one.gap_interval),
                _detectable(words, one),
            )
            for table, one in found
        ),
    )


def _detectable(words: Words, one: Comparison) -> str | tuple[str, ...]:
    """The gap that would have been found; or why none could have been."""
    if one.smallest_gap_in_family is not None:
        return size(words, one.smallest_gap_in_family)
    return words.say("report.untested"), why_not_tested(words, one.untested)


def every_test(
    report: GroupReport, tables: Iterable[GroupTable], caption: str, words: Words
) -> Table:
    """Every comparison of the family in these tables, with all figures."""
    found = [(table.name, one) for table in tables for one in table.comparisons if one.primary]
    tests = next((one.tests.corrected_for for _, one in found if one.tests.corrected_for), 0)
    return Table(
        caption=caption,
        columns=(
            *columns(words, "group", "measure", kind="plain"),
            *columns(words, "gap_interval", confidence=confidence(words, report)),
            Column(heading=words.say_count("report.column.p", tests or 0), kind="figures"),
            *columns(words, "counting", "detectable"),
            *columns(words, "verdict", kind="plain"),
        ),
        rows=tuple(_test_row(report, table, one, words) for table, one in found),
    )


def _test_row(
    report: GroupReport, table: str, one: Comparison, words: Words
) -> tuple[tuple[str, ...], ...]:
    return cells(
        compared(report, table, one, words),
        measure(words, one.measure),
        (points(words, one.gap), between(words, one.gap_interval)),
        (p_value(words, one.tests.on_graph), p_value(words, one.tests.adjusted)),
        _counting(one, words),
        NOTHING if one.smallest_gap_in_family is None else size(words, one.smallest_gap_in_family),
        verdict(words, one, report.concern),
    )


def _counting(one: Comparison, words: Words) -> str | tuple[str, ...]:
    """How many people are compared, and as how many they count, because the tied are alike."""
    everybody = words.number(one.people + one.reference_people)
    if one.precision is None:
        return everybody
    return everybody, words.number(round(one.precision.effective))


def exploratory(report: GroupReport, tables: Iterable[GroupTable], words: Words) -> Table:
    """Measures outside the family: not corrected, and without a verdict."""
    return Table(
        caption=words.say("report.exploratory"),
        columns=(
            *columns(words, "group", "measure", kind="plain"),
            *columns(
                words, "more_less", "interval", "p_alone", confidence=confidence(words, report)
            ),
        ),
        rows=tuple(
            cells(
                compared(report, table.name, one, words),
                measure(words, one.measure),
                points(words, one.difference),
                between(words, one.intervals.difference.on_graph),
                p_value(words, one.tests.on_graph),
            )
            for table in tables
            for one in table.comparisons
            if not one.primary
        ),
    )


def impact_ratios(report: GroupReport, table: GroupTable, words: Words) -> Table:
    """The share of favourable decisions against that of the group with the largest share.

    This is the impact ratio of New York City's Local Law 144. Unknown and pooled groups are counted
    but have no ratio.
    """
    shares = {group.name: _favourable(group) for group in table.by_group}
    known = [shares[group.name] or 0.0 for group in table.by_group if group.known]
    best = max(known, default=0.0)
    return Table(
        caption=words.say("report.impact.by", attribute=attribute_name(table.name)),
        columns=(
            *columns(words, "group_alone", kind="plain"),
            *columns(words, "people", "favourable", "share", "impact"),
            *columns(words, "four_fifths", kind="plain", line=ratio(words, report.four_fifths)),
        ),
        rows=tuple(
            _impact_row(report, group, shares[group.name], best, words) for group in table.by_group
        ),
    )


def _favourable(group: Group) -> float | None:
    decided = group.decisions
    if not decided.refused + decided.favourable:
        return None
    return decided.favourable / (decided.refused + decided.favourable)


def _impact_row(
    report: GroupReport, group: Group, favourable: float | None, best: float, words: Words
) -> tuple[tuple[str, ...], ...]:
    decided, line = group.decisions, report.four_fifths
    impact = favourable / best if group.known and favourable is not None and best else None
    beside = ""
    if impact is not None:
        beside = words.say("report.impact.below" if impact < line else "report.impact.not_below")
    return cells(
        group_name(words, group),
        words.number(decided.people),
        words.number(decided.favourable),
        share(words, favourable),
        ratio(words, impact),
        beside if group.known else words.say("report.impact.unknown"),
    )


def left_out_table(report: GroupReport, words: Words) -> Table:
    """What each table goes without; never how many people it concerns."""
    tables = dict.fromkeys(one.table for one in report.left_out)
    return Table(
        caption=words.say("report.left_out"),
        columns=tuple(columns(words, "attribute", "what", kind="plain")),
        rows=tuple(
            cells(
                words.say("report.everybody") if name == "overall" else attribute_name(name),
                tuple(_part(words, one) for one in report.left_out if one.table == name),
            )
            for name in tables
        ),
    )


def _part(words: Words, one: LeftOut) -> str:
    if one.why == "too_many_groups":
        return words.say("report.left_out.too_many")
    return words.say(f"report.part.{one.part}")


def cut_off_table(report: GroupReport, table: CutOffTable, words: Words) -> Table:
    """Whom the options cut off: both shares, their ratio and its interval."""
    return Table(
        caption=words.say(f"report.cut.{table.options}", attribute=attribute_name(table.attribute)),
        columns=(
            *columns(words, "ties_to", kind="plain"),
            *columns(
                words,
                "dropped",
                "dropped_share",
                "droppable",
                "droppable_share",
                "ratio",
                "ratio_interval",
            ),
        ),
        rows=tuple(
            _cut_off_row(name_in(words, report, table.attribute, one.group), one, words)
            for one in table.by_group
            if one.droppable
        ),
    )


def _cut_off_row(name: str, one: CutOff, words: Words) -> tuple[tuple[str, ...], ...]:
    interval = one.interval
    return cells(
        name,
        words.number(one.dropped),
        words.percent(one.dropped_share),
        words.number(one.droppable),
        words.percent(one.droppable_share),
        ratio(words, one.ratio),
        NOTHING
        if interval is None
        else words.interval(ratio(words, interval.low), ratio(words, interval.high)),
    )


def common_table(report: GroupReport, words: Words) -> Table:
    """Kinds of change, how many people each serves, and the share of each group served so far."""
    return Table(
        caption=words.say("report.common"),
        columns=(
            *columns(words, "changes", kind="plain"),
            *columns(words, "serves", "so_far", "of_audited"),
            *columns(words, "of_groups", kind="plain"),
        ),
        rows=tuple(
            cells(
                changes_words(words, one),
                words.number(one.serves),
                words.number(one.served_so_far),
                words.percent(one.share_so_far),
                tuple(_group_shares(report, one.shares_by_group, words)),
            )
            for one in report.common_options
        ),
    )


def _group_shares(
    report: GroupReport, shares: dict[str, dict[str, float]], words: Words
) -> Iterable[str]:
    for attribute, groups in shares.items():
        named = ", ".join(
            f"{name_in(words, report, attribute, name)} {words.percent(one)}"
            for name, one in groups.items()
        )
        yield colon(words, attribute_name(attribute), named)
