"""Refusals on own data alone by group, as the group report shows them."""

from recourse_audit.records.group_figures import OwnDataGap, OwnDataRates
from recourse_audit.records.groups import GroupReport, OwnDataTable
from recourse_audit.render.pages.groups_sentences import (
    NOTHING,
    between,
    percent,
    signed_points,
)
from recourse_audit.render.pages.tables import Column, Table, cells
from recourse_audit.render.text import plain

CAPTION = "Refused on own data alone, by "


def own_data_tables(report: GroupReport) -> tuple[Table, ...]:
    """One table per attribute, and per two attributes crossed, of those that are shown."""
    references = {table.name: table.reference for table in report.tables}
    return tuple(_table(one, references.get(one.table)) for one in report.own_data.tables)


def _table(found: OwnDataTable, reference: str | None) -> Table:
    gaps = {one.group: one for one in found.gaps}
    against = "" if reference is None else f" against {plain(reference)}"
    return Table(
        caption=f"{CAPTION}{plain(found.table.replace(' x ', ' and '))}",
        columns=(
            Column(heading="Group"),
            Column(heading="Decided on", kind="figures"),
            Column(heading="Refused", kind="figures"),
            Column(heading="Refused alone", kind="figures"),
            Column(heading="Refused only with ties", kind="figures"),
            Column(heading="Refused only without ties", kind="figures"),
            Column(heading="Difference, points", kind="figures"),
            Column(heading=f"Alone{against}, points", kind="figures"),
            Column(heading=f"Difference{against}, points", kind="figures"),
        ),
        rows=tuple(_row(name, one, gaps.get(name)) for name, one in found.by_group.items()),
    )


def _row(name: str, one: OwnDataRates, gap: OwnDataGap | None) -> tuple[tuple[str, ...], ...]:
    return cells(
        plain(name),
        f"{one.refused.of:,}",
        percent(one.refused.share),
        percent(one.refused_alone.share),
        f"{one.to_favourable:,}",
        f"{one.to_refused:,}",
        signed_points(one.difference),
        NOTHING if gap is None else (signed_points(gap.alone), between(gap.alone_interval)),
        NOTHING if gap is None else (signed_points(gap.difference), between(gap.interval)),
    )
