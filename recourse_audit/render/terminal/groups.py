"""The group report in a terminal: who was counted, the figures, and the verdicts in sentences."""

from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from recourse_audit.records.group_figures import (
    PRIMARY,
    Comparison,
    Group,
    Outcomes,
    Quartiles,
)
from recourse_audit.records.groups import (
    CutOffTable,
    Finding,
    GroupReport,
    GroupTable,
)
from recourse_audit.render.agreement import agreement_sentences
from recourse_audit.render.gaps import Gaps
from recourse_audit.render.terminal.comparison_rows import comparison_rows, heading
from recourse_audit.render.terminal.error_rates import show_error_rates
from recourse_audit.render.terminal.figures import percent, points, points_with_interval, rate, tidy
from recourse_audit.render.terminal.group_words import (
    NO_TIES_CUT,
    NOT_COMPARED,
    group_label,
    left_out_lines,
    own_data_sentence,
    p_value,
    ran_on,
    two_p_values,
)
from recourse_audit.render.terminal.groups_actions import show_common_actions
from recourse_audit.render.terminal.groups_brief import found_words, headline_of, unfinished
from recourse_audit.render.terminal.lines import width_of
from recourse_audit.render.text import columns, number, plain

STYLES = {"gap shown": "bold red", "no gap": "green", "not settled": "yellow"}
MEASURES = {
    "adverse_rate": "refusals",
    "feasibility": "having an option",
    "cost": "effort of the cheapest option",
    "options": "options per person",
    "simulatability": "simulatability",
    "relevance": "relevance",
    "caveats": "caveat grades",
}
COMMON_SHOWN = 8
LEFT_OUT = "left out"
EXPLORED_BELOW = 0.05
EVERYBODY_AUDITED = (
    "Quartiles of effort are over all audited people; 'none' means that no option was found. The "
    "efforts of people with an option alone would make the group with the fewest options look best."
)


def show_groups(console: Console, report: GroupReport) -> None:
    """Print the whole report; what is unfinished or unknown comes first."""
    for line in _warnings(report):
        console.print(Text(line, style="bold yellow"))
    console.print(Padding(Text(headline_of(report), style="bold"), (0, 0, 1, 0)))
    _show_overall(console, report)
    console.print(ran_on(report.ran))
    for table in report.tables:
        _show_table(console, report, table)
    _show_family(console, report)
    _show_own_data(console, report)
    show_error_rates(console, report)
    _show_cut_off(console, report.cut_off)
    _show_common_options(console, report)
    show_common_actions(console, report)
    _show_left_out(console, report)


def _warnings(report: GroupReport) -> Iterator[str]:
    if not report.finished:
        yield unfinished(report)


def _show_overall(console: Console, report: GroupReport) -> None:
    decisions, outcomes = report.overall.decisions, report.overall.outcomes
    if report.agreement is not None:
        console.print(tidy(" ".join(agreement_sentences(report.agreement))))
    if decisions is None:
        console.print("Too few people to show anything.")
        return
    console.print(
        f"{number(decisions.people, 'person').replace('persons', 'people')}: "
        f"{decisions.refused:,} refused, {decisions.favourable:,} favourable, "
        f"{decisions.undecided:,} without a decision."
    )
    if outcomes is None:
        console.print("Too few of them were audited to show the results.")
        return
    console.print(
        f"{decisions.refused:,} refused: {decisions.audited:,} audited, "
        f"{decisions.not_audited:,} not in the audit. {found_words(outcomes)}"
    )
    for reason, count in report.overall.excluded.items():
        console.print(f"  left out: {count:,} ({plain(reason)})")
    if outcomes.disagreeing:
        console.print(f"  left out: {outcomes.disagreeing:,} (record and model disagree)")


def _show_own_data(console: Console, report: GroupReport) -> None:
    """Refusals on own data alone by single attributes, with the gaps in them."""
    console.print(Padding(Text(tidy(own_data_sentence(report.own_data))), (1, 0, 0, 0)))
    single = {table.name for table in report.tables if len(table.attributes) == 1}
    for table in report.own_data.tables:
        if table.table not in single:
            continue
        made = columns(
            plain(table.table), "refused", "alone", "difference", "against the reference"
        )
        gaps = {one.group: one for one in table.gaps}
        for name, one in table.by_group.items():
            gap = gaps.get(name)
            words = "" if gap is None else points_with_interval(gap.difference, gap.interval)
            made.add_row(
                plain(name),
                percent(one.refused.share),
                percent(one.refused_alone.share),
                "" if one.difference is None else f"{points(one.difference)} points",
                words,
            )
        console.print(Padding(made, (0, 2)))


def _show_table(console: Console, report: GroupReport, table: GroupTable) -> None:
    made = columns(
        plain(table.name), "people", "refused", "has option", "none exists", "undecided", "effort"
    )
    for group in table.by_group:
        made.add_row(*_group_row(group, table.reference))
    console.print(Padding(made, (1, 0, 0, 0)))
    if table.not_compared is not None:
        console.print(Padding(Text(NOT_COMPARED[table.not_compared], style="yellow"), (0, 2)))
    single = len(table.attributes) == 1
    gaps = Gaps(report)
    for found in report.findings:
        if found.table == table.name and (single or found.verdict == "gap shown"):
            words = f"  {tidy(gaps.say('finding', found))}"
            line = Text.assemble((found.verdict, STYLES[found.verdict]), words)
            console.print(Padding(line, (0, 2)))
    others = [] if single else _others(report, table)
    if others:
        against = f"{heading(report.alpha)}; against {plain(others[0].reference)}:"
        console.print(Padding(against, (0, 2)))
        for line in comparison_rows(others, width_of(console) - 2, within=True):
            console.print(Text("  ") + line, soft_wrap=True)
    for one in table.comparisons:
        if single and not one.primary and _below(one, EXPLORED_BELOW):
            console.print(Padding(Text(_explored(one), style="dim"), (0, 2)))


def _others(report: GroupReport, table: GroupTable) -> list[Finding]:
    """The findings of a crossed table that no sentence is for."""
    return [
        one for one in report.findings if one.table == table.name and one.verdict != "gap shown"
    ]


def _group_row(group: Group, reference: str | None) -> Iterator[str]:
    yield plain(group_label(group)) + (" (reference)" if group.name == reference else "")
    yield f"{group.decisions.people:,}"
    yield rate(group.decisions.adverse_rate)
    yield from _outcomes(group.outcomes)


def _outcomes(outcomes: Outcomes | None) -> tuple[str, ...]:
    if outcomes is None:
        return (LEFT_OUT,) * 4
    return (
        rate(outcomes.feasibility),
        LEFT_OUT if outcomes.infeasible is None else rate(outcomes.infeasible),
        LEFT_OUT if outcomes.not_found is None else rate(outcomes.not_found),
        _quartiles(outcomes.cost),
    )


def _quartiles(quartiles: Quartiles | None) -> str:
    if quartiles is None:
        return LEFT_OUT
    if not quartiles.of:
        return "nobody"
    values = (quartiles.first, quartiles.median, quartiles.third)
    return " | ".join("none" if one is None else f"{one:.4g}" for one in values)


def _below(one: Comparison, level: float) -> bool:
    return one.tests.on_graph is not None and one.tests.on_graph <= level


def _explored(one: Comparison) -> str:
    assert one.tests.on_graph is not None
    return (
        f"exploratory, outside the family: {MEASURES[one.measure]} of {plain(one.group)} against "
        f"{plain(one.reference)}: chance of more minus less {points(one.difference)} points, "
        f"{p_value(one.tests.on_graph)}, not corrected"
    )


def _show_family(console: Console, report: GroupReport) -> None:
    measures = ", ".join(MEASURES[name] for name in PRIMARY)
    verdicts: list[str] = [
        one.verdict for table in report.tables for one in table.comparisons if one.verdict
    ]
    counted = ", ".join(f"{verdicts.count(name)} {name}" for name in STYLES)
    single = sum(one.family == "single" for one in report.tests)
    families = (
        f"{number(len(report.tests), 'test')} ({measures}; every known group shown against its "
        f"reference): {single:,} of single attributes, {len(report.tests) - single:,} of "
        f"attributes crossed, each family corrected with Holm's method at {report.alpha:g}; "
        f"{report.untested} could not be tested."
    )
    console.print(Padding(f"Verdicts: {counted}.", (1, 0, 0, 0)))
    console.print(families)
    if note := two_p_values(len(report.tests)):
        console.print(note)
    console.print(
        f"Intervals and tests allow for people who are tied being alike. {EVERYBODY_AUDITED}"
    )


def _show_cut_off(console: Console, tables: Iterable[CutOffTable]) -> None:
    for table in tables:
        which = "first options" if table.options == "first" else "all options"
        title = f"Whom the advice cuts off, by {plain(table.attribute)} ({which})"
        console.print(Padding(Text(title, style="bold"), (1, 0, 0, 0)))
        if table.nothing is not None:
            console.print(Padding(NO_TIES_CUT[table.nothing], (0, 2)))
            continue
        console.print(Padding(_cut_off(table), (0, 2)))


def _cut_off(table: CutOffTable) -> Table:
    made = columns("ties to", "share of dropped", "share of droppable", "ratio")
    for row in table.by_group:
        if not row.droppable:
            continue
        interval = row.interval
        ends = "" if interval is None else f" ({interval.low:.2f} to {interval.high:.2f})"
        made.add_row(
            plain(row.group),
            f"{row.dropped_share:.1%} ({row.dropped:,})",
            f"{row.droppable_share:.1%} ({row.droppable:,})",
            "none" if row.ratio is None else f"{row.ratio:.2f}{ends}",
        )
    return made


def _show_common_options(console: Console, report: GroupReport) -> None:
    if not report.common_options:
        return
    console.print(Padding(Text("Common options", style="bold"), (1, 0, 0, 0)))
    made = columns("kinds of change", "serves", "served so far, of all audited")
    for option in report.common_options[:COMMON_SHOWN]:
        changes = " and ".join(f"{one.do} {plain(one.what)}" for one in option.changes)
        made.add_row(changes, f"{option.serves:,}", f"{option.share_so_far:.1%}")
    console.print(Padding(made, (0, 2)))
    more = len(report.common_options) - COMMON_SHOWN
    if more > 0:
        console.print(Padding(f"… {number(more, 'more kind')}", (0, 2)))


def _show_left_out(console: Console, report: GroupReport) -> None:
    lines = list(left_out_lines(report))
    if not lines:
        return
    title = f"Left out or pooled, because a figure would be about fewer than {report.smallest}"
    console.print(Padding(Text(title, style="bold"), (1, 0, 0, 0)))
    for line in lines:
        console.print(Padding(plain(line), (0, 2)))
