"""Error rates in a terminal: sentences, and a table for each single attribute."""

from collections.abc import Mapping

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from recourse_audit.records.group_figures import ErrorGap, ErrorMeasure, ErrorRates, Rate
from recourse_audit.records.groups import GroupReport
from recourse_audit.render.terminal.figures import points_with_interval, rate, tidy
from recourse_audit.render.terminal.group_words import error_rate_sentences, p_value
from recourse_audit.render.text import columns, plain

EVERYBODY = "everybody"


def show_error_rates(console: Console, report: GroupReport) -> None:
    """Print what is known of how decisions turned out; nothing without a column of outcomes."""
    found = report.error_rates
    if found is None:
        return
    text = tidy(plain(" ".join(error_rate_sentences(found))))
    console.print(Padding(Text("How decisions turned out", style="bold"), (1, 0, 0, 0)))
    console.print(text)
    if found.overall is None:
        return
    single = {table.name for table in report.tables if len(table.attributes) == 1}
    parts: dict[str, Mapping[str, ErrorRates]] = {"": {EVERYBODY: found.overall}}
    parts |= {one.table: one.by_group for one in found.tables if one.table in single}
    gaps = {
        (table.table, one.measure, one.group): one for table in found.tables for one in table.gaps
    }
    for name, by_group in parts.items():
        for made in (_rates(name, by_group, gaps), _good(name, by_group), _bins(name, by_group)):
            if made.row_count:
                console.print(Padding(made, (0, 2)))


def _rates(
    name: str,
    by_group: Mapping[str, ErrorRates],
    gaps: Mapping[tuple[str, ErrorMeasure, str], ErrorGap],
) -> Table:
    against = "against the reference"
    made = columns(plain(name), "false approvals", against, "false refusals", against)
    for group, one in by_group.items():
        if one.false_approvals is not None or one.false_refusals is not None:
            made.add_row(
                plain(group),
                _rate(one.false_approvals),
                _gap(gaps.get((name, "false_approvals", group))),
                _rate(one.false_refusals),
                _gap(gaps.get((name, "false_refusals", group))),
            )
    return made


def _good(name: str, by_group: Mapping[str, ErrorRates]) -> Table:
    made = columns(
        *(plain(name), "refused, good outcome", "without an option", "none exists", "undecided")
    )
    for group, one in by_group.items():
        if (good := one.good_refused) is not None:
            made.add_row(
                plain(group),
                f"{good.without_option.of:,}",
                _rate(good.without_option),
                _rate(good.certified_infeasible),
                _rate(good.not_found_within_budget),
            )
    return made


def _bins(name: str, by_group: Mapping[str, ErrorRates]) -> Table:
    made = columns(plain(name), "score", "people", "mean score", "good outcome")
    for group, rates in by_group.items():
        for one in rates.calibration or ():
            made.add_row(
                plain(group),
                f"{one.low:.3g} to {one.high:.3g}",
                f"{one.good.of:,}",
                f"{one.score:.3f}",
                _rate(one.good),
            )
    return made


def _rate(found: Rate | None) -> str:
    return "not shown" if found is None else rate(found)


def _gap(gap: ErrorGap | None) -> str:
    if gap is None:
        return ""
    words = points_with_interval(gap.difference, gap.interval)
    return words if gap.p is None else f"{words}, {p_value(gap.p)}"
