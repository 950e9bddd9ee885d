"""Whom common actions serve, group by group, as the group report shows it."""

from collections.abc import Iterator

from recourse_audit.groups.action_wording import any_of, gap_words
from recourse_audit.records.group_actions import CommonActions, ServedGroups
from recourse_audit.records.group_figures import Rate
from recourse_audit.records.groups import GroupReport
from recourse_audit.render.pages.groups_sentences import NOTHING, percent
from recourse_audit.render.pages.tables import Column, Table, cells
from recourse_audit.render.text import plain

CAPTION = "Served by one action, by "


def action_tables(report: GroupReport) -> tuple[Table, ...]:
    """Everybody first, then one table per attribute of which anything can be shown."""
    found = report.common_actions
    if not found.actions:
        return ()
    names = [table.name for table in report.tables if len(table.attributes) == 1]
    tables = (_table(report, found, name) for name in names)
    return (_overall(found, report.smallest), *(one for one in tables if one.rows))


def _overall(found: CommonActions, smallest: int) -> Table:
    few = f"fewer than {smallest}, or all"
    return Table(
        caption="Served by one action, of everybody audited",
        columns=(
            Column(heading="Action"),
            Column(heading="Applies to", kind="figures"),
            Column(heading="Not settled", kind="figures"),
            Column(heading="Serves", kind="figures"),
            Column(heading="Of all audited", kind="figures"),
            Column(heading="Effort of those served, median", kind="figures"),
        ),
        rows=tuple(
            cells(
                plain(str(one.action)),
                NOTHING if one.applies is None else f"{one.applies:,}",
                f"{one.not_settled:,}",
                few if one.served.everybody is None else f"{one.served.everybody.count:,}",
                NOTHING if one.served.everybody is None else percent(one.served.everybody.share),
                NOTHING if one.effort is None else f"{one.effort:.6g}",
            )
            for one in found.actions
        ),
    )


def _table(report: GroupReport, found: CommonActions, name: str) -> Table:
    [table] = [one for one in report.tables if one.name == name]
    groups = [one.name for one in table.by_group if one.outcomes is not None]
    rows = [(words, served) for words, served in _served(found) if name in served.by_group]
    groups = [group for group in groups if any(group in one.by_group[name] for _, one in rows)]
    reference = f"; gaps against {plain(table.reference)}" if table.reference else ""
    return Table(
        caption=f"{CAPTION}{plain(name)}{reference}",
        columns=(
            Column(heading="Action, or any of several"),
            *(Column(heading=plain(group), kind="figures") for group in groups),
        ),
        rows=tuple(
            cells(plain(words), *(_cell(served, name, group, report.concern) for group in groups))
            for words, served in rows
        ),
    )


def _served(found: CommonActions) -> Iterator[tuple[str, ServedGroups]]:
    """Single actions, then sets of several; each set once."""
    seen: set[tuple[int, ...]] = set()
    for one in found.actions:
        yield str(one.action), one.served
    for several in found.sets:
        if len(several.actions) > 1 and several.actions not in seen:
            seen.add(several.actions)
            yield any_of(found, several.actions), several.served


def _cell(served: ServedGroups, table: str, group: str, concern: float) -> tuple[str, ...]:
    rate = served.by_group[table].get(group)
    if rate is None:
        return (NOTHING,)
    gap = next((one for one in served.gaps if (one.table, one.group) == (table, group)), None)
    return (_rate(rate), *(() if gap is None else gap_words(gap, concern)))


def _rate(rate: Rate) -> str:
    return f"{percent(rate.share)} ({rate.count:,} of {rate.of:,})"
