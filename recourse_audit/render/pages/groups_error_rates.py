"""How decisions turned out, by group, as the group report shows it."""

from collections.abc import Iterator, Mapping

from recourse_audit.records.error_rates import (
    CalibrationBin,
    ErrorGap,
    ErrorMeasure,
    ErrorRates,
    ErrorRateTable,
    GoodRefused,
)
from recourse_audit.records.group_figures import Rate
from recourse_audit.records.groups import GroupReport
from recourse_audit.render.pages.groups_sentences import (
    NOTHING,
    between,
    percent,
    signed_points,
)
from recourse_audit.render.pages.tables import Column, Table, cells
from recourse_audit.render.text import plain

EVERYBODY = "everybody"
Cell = str | tuple[str, ...]
Gaps = Mapping[tuple[ErrorMeasure, str], ErrorGap]


def error_rate_tables(report: GroupReport) -> tuple[Table, ...]:
    """What is shown of everybody and of each table; tables without rows are left out."""
    found = report.error_rates
    if found is None or found.overall is None:
        return ()
    references = {table.name: table.reference for table in report.tables}
    tables = [*_tables("for everybody", {EVERYBODY: found.overall}, {}, None)]
    for one in found.tables:
        name = f"by {plain(one.table.replace(' x ', ' and '))}"
        tables += _tables(name, one.by_group, _gaps(one), references.get(one.table))
    return tuple(table for table in tables if table.rows)


def error_rate_notes(report: GroupReport) -> tuple[str, ...]:
    """What single tables go without."""
    found = report.error_rates
    if found is None:
        return ()
    return tuple(
        f"{plain(table.table)}: {plain(note)}" for table in found.tables for note in table.notes
    )


def _gaps(table: ErrorRateTable) -> Gaps:
    return {(one.measure, one.group): one for one in table.gaps}


def _tables(
    name: str, by_group: Mapping[str, ErrorRates], gaps: Gaps, reference: str | None
) -> Iterator[Table]:
    yield _rates(name, by_group, gaps, reference)
    yield _good_refused(name, by_group)
    yield _calibration(name, by_group)


def _rates(
    name: str, by_group: Mapping[str, ErrorRates], gaps: Gaps, reference: str | None
) -> Table:
    against = "Against the reference" if reference is None else f"Against {plain(reference)}"
    return Table(
        caption=f"Error rates {name}",
        columns=(
            Column(heading="Group"),
            Column(heading="Favourable, outcome known", kind="figures"),
            Column(heading="Bad outcome", kind="figures"),
            Column(heading="False approvals", kind="figures"),
            Column(heading=f"{against}, points", kind="figures"),
            Column(heading="Refused, outcome known", kind="figures"),
            Column(heading="Good outcome", kind="figures"),
            Column(heading="False refusals", kind="figures"),
            Column(heading=f"{against}, points", kind="figures"),
        ),
        rows=tuple(
            cells(
                plain(group),
                *_error(one.favourable_known, one.false_approvals),
                _gap(gaps.get(("false_approvals", group))),
                *_error(one.refused_known, one.false_refusals),
                _gap(gaps.get(("false_refusals", group))),
            )
            for group, one in by_group.items()
            if one.favourable_known is not None or one.refused_known is not None
        ),
    )


def _error(known: int | None, rate: Rate | None) -> tuple[Cell, Cell, Cell]:
    if known is None:
        return NOTHING, NOTHING, NOTHING
    if rate is None or rate.share is None:
        return f"{known:,}", NOTHING, NOTHING
    return f"{known:,}", f"{rate.count:,}", _share(rate)


def _share(rate: Rate) -> Cell:
    """A share with the interval that allows for ties, if there is one."""
    return (percent(rate.share), between(rate.on_graph or rate.interval))


def _gap(gap: ErrorGap | None) -> Cell:
    if gap is None:
        return NOTHING
    return (signed_points(gap.difference), between(gap.interval))


def _good_refused(name: str, by_group: Mapping[str, ErrorRates]) -> Table:
    return Table(
        caption=f"Refused with a good outcome, and without an option, {name}",
        columns=(
            Column(heading="Group"),
            Column(heading="Refused with a good outcome, audited", kind="figures"),
            Column(heading="Without an option", kind="figures"),
            Column(heading="Share", kind="figures"),
            Column(heading="Certified infeasible", kind="figures"),
            Column(heading="Not found within the budget", kind="figures"),
        ),
        rows=tuple(
            cells(plain(group), *_without(one.good_refused))
            for group, one in by_group.items()
            if one.good_refused is not None
        ),
    )


def _without(found: GoodRefused) -> Iterator[Cell]:
    yield f"{found.without_option.of:,}"
    yield f"{found.without_option.count:,}"
    yield _share(found.without_option) if found.without_option.of else NOTHING
    for rate in (found.certified_infeasible, found.not_found_within_budget):
        yield NOTHING if rate is None else f"{rate.count:,}"


def _calibration(name: str, by_group: Mapping[str, ErrorRates]) -> Table:
    return Table(
        caption=f"Calibration of the score {name}",
        columns=(
            Column(heading="Group"),
            Column(heading="Score from", kind="figures"),
            Column(heading="to", kind="figures"),
            Column(heading="People", kind="figures"),
            Column(heading="Mean score", kind="figures"),
            Column(heading="Good outcome", kind="figures"),
            Column(heading="Share", kind="figures"),
        ),
        rows=tuple(
            _bin(group, one) for group, rates in by_group.items() for one in rates.calibration or ()
        ),
    )


def _bin(group: str, one: CalibrationBin) -> tuple[tuple[str, ...], ...]:
    return cells(
        plain(group),
        f"{one.low:.3g}",
        f"{one.high:.3g}",
        f"{one.good.of:,}",
        f"{one.score:.3g}",
        f"{one.good.count:,}",
        _share(one.good),
    )
