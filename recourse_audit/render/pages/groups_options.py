"""The tables about options in the group report: common options, and whom they cut off."""

from collections.abc import Iterator

from recourse_audit.records.groups import (
    CommonOption,
    CutOff,
    CutOffTable,
    GroupReport,
)
from recourse_audit.render.pages.groups_charts import changes_of
from recourse_audit.render.pages.groups_words import NOTHING, percent, ratio
from recourse_audit.render.pages.tables import Column, Table, cells
from recourse_audit.render.text import plain

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
            Column(heading="Interval over communities", kind="figures"),
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
