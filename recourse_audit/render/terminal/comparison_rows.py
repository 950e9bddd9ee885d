"""Comparisons between groups, one line each, in columns; plus is worse for the group."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from recourse_audit.records.group_figures import Measure, Verdict
from recourse_audit.records.groups import Finding
from recourse_audit.render.terminal.figures import percent, points, points_between
from recourse_audit.render.terminal.lines import cell, cut
from recourse_audit.render.text import plain

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
LONGEST_NAME = 24
NARROWEST_NAME = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """One comparison in words, by column."""

    verdict: Verdict
    who: str
    measure: str
    shares: str
    gap: str
    interval: str


def comparison_rows(
    findings: Sequence[Finding], width: int, *, within: bool = False
) -> tuple[Text, ...]:
    """One line per finding; `within` a table, neither it nor its reference is named again."""
    rows = [_row(one, within=within) for one in findings]
    wide = _widths(rows, width)
    return tuple(_line(row, wide) for row in rows)


def heading(alpha: float) -> str:
    """What the figures of all rows are."""
    return f"Gaps in points with {1 - alpha:.0%} intervals; plus is worse for the group"


def _row(found: Finding, *, within: bool) -> _Row:
    attribute = cut(plain(found.table), LONGEST_NAME // 2)
    shares = ""
    if found.value is not None and found.reference_value is not None:
        words = _effort if found.measure == "cost" else percent
        shares = f"{words(found.value)} / {words(found.reference_value)}"
    group, reference = (cut(plain(one), LONGEST_NAME) for one in (found.group, found.reference))
    return _Row(
        verdict=found.verdict,
        who=group if within else f"{attribute}: {group} / {reference}",
        measure=MEASURES[found.measure],
        shares=shares,
        gap=points(found.gap),
        interval=points_between(found.interval),
    )


def _widths(rows: Sequence[_Row], width: int) -> tuple[int, ...]:
    """The widths of the columns: the names get what the others leave."""
    verdict = max(len(row.verdict) for row in rows) + 2
    fixed = [
        max(cell_len(getattr(row, name)) for row in rows)
        for name in ("measure", "shares", "gap", "interval")
    ]
    who = max(cell_len(row.who) for row in rows)
    return (verdict, min(who, max(NARROWEST_NAME, width - verdict - sum(fixed) - 10)), *fixed)


def _effort(value: float) -> str:
    return f"{value:.3g}"


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
