"""The group report in 24 lines of 80 columns: the headline, then one line per comparison.

Single attributes come first, as findings rank; comparisons of attributes crossed are counted. Plus
is worse for the group everywhere.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from recourse_audit.records.group_figures import DecisionCounts, Measure, Outcomes, Verdict
from recourse_audit.records.groups import Finding, GroupReport
from recourse_audit.render.agreement import agreement_sentences
from recourse_audit.render.status import STATUS_WORDS
from recourse_audit.render.terminal.figures import percent, points, points_between, tidy
from recourse_audit.render.terminal.lines import (
    MORE,
    Block,
    cell,
    cut,
    print_blocks,
    width_of,
    wrapped,
)
from recourse_audit.render.text import number, plain

NO_ATTRIBUTE = "Groups were not compared: audit.toml names no attribute."
MARKS: dict[Verdict, tuple[str, str]] = {
    "gap shown": ("▲", "bold red"),
    "not settled": ("◇", "yellow"),
    "no gap": ("○", "green"),
}
MEASURES: dict[Measure, str] = {
    "feasibility": "option",
    "adverse_rate": "refused",
    "cost": "effort",
}
FEWEST_ROWS = 6
LONGEST_NAME = 24
HEADLINE_LINES = 5


def unfinished(report: GroupReport) -> str:
    """The warning for an audit that is not finished."""
    return (
        f"THIS AUDIT IS NOT FINISHED: {report.done:,} of {report.total:,} subjects are done, and "
        "the figures cover these only; rerun the same `run` command to resume"
    )


def show_groups_briefly(console: Console, report: GroupReport, *, more: str = MORE) -> None:
    """Print the headline and the comparisons; `more` says where the rest is."""
    view = _BriefGroups(console, report, more)
    print_blocks(console, list(view.blocks()), more=more)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """One comparison in words, by column."""

    verdict: Verdict
    who: str
    measure: str
    shares: str
    gap: str
    interval: str


class _BriefGroups:
    """The blocks of the view, each from the report alone."""

    def __init__(self, console: Console, report: GroupReport, more: str) -> None:
        self._console = console
        self._report = report
        self._more = more
        self._width = width_of(console)

    def blocks(self) -> Iterator[Block]:
        """What is unfinished, the headline, who was counted, comparisons, and what is left out."""
        report = self._report
        if not report.finished:
            yield self._said(unfinished(report), "bold yellow", most=3)
        yield self._said(self._headline(), "bold", most=HEADLINE_LINES)
        if report.agreement is not None:
            style = "yellow" if report.agreement.disagreeing else ""
            yield self._said(tidy(agreement_sentences(report.agreement)[0]), style, most=2)
        people = [line for one in self._people() for line in self._wrapped(one, most=2)]
        yield Block(lines=tuple(people), apart=True)
        yield from self._comparisons()
        for sentence in self._left_out():
            yield self._said(sentence, most=2)
        yield self._said(
            f"{self._more}: every group, tests, whom the advice cuts off, common options", "dim"
        )

    def _headline(self) -> str:
        report = self._report
        decisions = report.overall.decisions
        if decisions is not None and decisions.favourable == decisions.people > 0:
            return f"All {decisions.people:,} decisions were favourable; there is nothing to audit."
        if not report.tables:
            return NO_ATTRIBUTE
        return tidy(plain(report.headline["en"]))

    def _people(self) -> Iterator[str]:
        decisions, outcomes = self._report.overall.decisions, self._report.overall.outcomes
        if decisions is None:
            yield "Too few people to show anything."
            return
        yield _decided(decisions)
        if outcomes is not None:
            yield _found(outcomes)
        elif decisions.audited:
            yield "Too few of them were audited to show the results."
        alone = self._report.own_data.overall
        if alone is not None and alone.refused_alone.share is not None:
            yield (
                f"On own data alone: {percent(alone.refused_alone.share)} refused (counted, not "
                "tested)."
            )

    def _comparisons(self) -> Iterator[Block]:
        """The comparisons of single attributes in columns; the others are counted."""
        single = [one for one in self._report.findings if one.family == "single"]
        crossed = [one for one in self._report.findings if one.family == "crossed"]
        rows = [_row(one) for one in single]
        if rows:
            wide = _widths(rows, self._width)
            level = f"{1 - self._report.alpha:.0%}"
            yield Block(lines=(_heading(wide, level),), apart=True)
            lines = tuple(_line(row, wide) for row in rows)
            yield Block(lines=lines, least=FEWEST_ROWS, prefix="  ")
        if crossed:
            counted = _counted(crossed)
            words = f"Attributes crossed, {number(len(crossed), 'comparison')}: {counted}."
            yield self._said(words, most=2)

    def _left_out(self) -> Iterator[str]:
        """Tables that were not compared, groups withheld, and people left out."""
        report = self._report
        for table in report.tables:
            if table.note and len(table.attributes) == 1:
                yield f"{cut(plain(table.name), LONGEST_NAME)}: {plain(table.note)}"
        single = {table.name for table in report.tables if len(table.attributes) == 1}
        withheld = [one for one in report.suppressed if one.table in single]
        if withheld:
            names = ", ".join(
                f"{cut(plain(one.table), LONGEST_NAME)} {cut(plain(one.group), LONGEST_NAME)}"
                for one in withheld
            )
            yield f"Withheld: fewer than {report.smallest} people or audited, or would reveal one: {names}."
        if report.untested:
            yield f"{number(report.untested, 'comparison')} could not be tested ({self._more})."

    def _said(self, text: str, style: str = "", most: int | None = None) -> Block:
        return Block(lines=self._wrapped(text, style, most))

    def _wrapped(self, text: str, style: str = "", most: int | None = None) -> tuple[Text, ...]:
        return wrapped(self._console, text, self._width, style=style, most=most)


def _decided(found: DecisionCounts) -> str:
    """Who was decided on: 1,800 people: 521 refused (28.9%), all audited."""
    people = number(found.people, "person").replace("persons", "people")
    words = f"{people}: {found.refused:,} refused ({percent(found.adverse_rate.share)})"
    if found.refused:
        audited = "all audited" if not found.not_audited else f"{found.audited:,} of them audited"
        words = f"{words}, {audited}"
    return f"{words}; {found.undecided:,} without a decision." if found.undecided else f"{words}."


def _found(found: Outcomes) -> str:
    """What the audit found for them, in the words for statuses."""
    of = found.feasibility.of
    counts = {
        "verified": found.verified,
        "certified_infeasible": found.certified_infeasible,
        "not_found_within_budget": found.not_found_within_budget,
    }
    parts = [
        f"{STATUS_WORDS[name].name} {count:,}" + (f" ({percent(count / of)})" if of else "")
        for name, count in counts.items()
        if count is not None
    ]
    if found.errors:
        parts.append(f"left out {found.errors:,}")
    return f"Of the audited: {'; '.join(parts)}."


def _row(found: Finding) -> _Row:
    attribute = cut(plain(found.table), LONGEST_NAME // 2)
    shares = ""
    if found.value is not None and found.reference_value is not None:
        shares = f"{percent(found.value)} / {percent(found.reference_value)}"
    group, reference = (cut(plain(one), LONGEST_NAME) for one in (found.group, found.reference))
    return _Row(
        verdict=found.verdict,
        who=f"{attribute}: {group} / {reference}",
        measure=MEASURES[found.measure],
        shares=shares,
        gap=points(found.gap),
        interval=points_between(found.interval),
    )


def _widths(rows: Sequence[_Row], width: int) -> tuple[int, ...]:
    """The widths of the columns: the names get what the others leave."""
    verdict = max(len(row.verdict) for row in rows) + 2
    fixed = [
        max(len(title), *(cell_len(getattr(row, name)) for row in rows))
        for name, title in (("measure", ""), ("shares", "shares"), ("gap", "gap"), ("interval", "to"))
    ]
    fixed[-1] = max(fixed[-1], len("95% interval"))
    who = max(cell_len(row.who) for row in rows)
    return (verdict, min(who, max(12, width - verdict - sum(fixed) - 10)), *fixed)


def _heading(wide: Sequence[int], level: str) -> Text:
    verdict, who, measure, shares, gap, interval = wide
    name = "Plus is worse for the group"
    room = verdict + who + measure + shares + 6
    words = f"{cell(name, room)}  {cell('gap', gap, right=True)}  {cell(f'{level} interval', interval)}"
    return Text(words.rstrip(), style="dim")


def _line(row: _Row, wide: Sequence[int]) -> Text:
    verdict, who, measure, shares, gap, interval = wide
    mark, style = MARKS[row.verdict]
    rest = (
        cell(row.who, who),
        cell(row.measure, measure),
        cell(row.shares, shares, right=True),
        cell(row.gap, gap, right=True),
        cell(row.interval, interval),
    )
    words = "  ".join(rest).rstrip()
    return Text.assemble((cell(f"{mark} {row.verdict}", verdict), style), f"  {words}")


def _counted(findings: Sequence[Finding]) -> str:
    counts = Counter(one.verdict for one in findings)
    return ", ".join(f"{counts[name]:,} {name}" for name in MARKS if counts[name])
