"""Figures and verdicts of groups in words, the same in all parts of the page."""

from collections.abc import Iterable, Sequence

from recourse_audit.records.group_figures import (
    Comparison,
    Group,
    Interval,
    Measure,
    Quartiles,
    Verdict,
    WhyWithheld,
)
from recourse_audit.records.groups import GroupReport, GroupTable
from recourse_audit.render.text import plain

NOTHING = "\N{EN DASH}"
MEASURES: dict[Measure, str] = {
    "adverse_rate": "refusals",
    "feasibility": "having an option",
    "cost": "cost of the cheapest option",
    "options": "options per person",
    "simulatability": "simulatability",
    "relevance": "relevance",
    "caveats": "caveat grades",
}
SHORT: dict[Measure, str] = {"adverse_rate": "refusals", "feasibility": "options", "cost": "cost"}
VERDICTS: tuple[Verdict, ...] = ("flag", "insufficient evidence", "no flag")
SIGNS: dict[Verdict, str] = {"flag": "▲", "insufficient evidence": "◇", "no flag": "○"}
WITHHELD: dict[WhyWithheld, str] = {
    "few_people": "withheld: too few people",
    "few_audited": "withheld: too few audited",
    "complementary": "withheld: would reveal another group",
}


def percent(share: float | None) -> str:
    """A share with one decimal."""
    return NOTHING if share is None else f"{100 * share:.1f}\N{NO-BREAK SPACE}%"


def points(difference: float | None) -> str:
    """A difference of shares in percentage points, with its sign."""
    return NOTHING if difference is None else signed(100 * difference, 1)


def size(difference: float | None) -> str:
    """The size of a gap in percentage points, whatever its direction."""
    return NOTHING if difference is None else f"{100 * difference:.1f}"


def signed(value: float, decimals: int) -> str:
    """A figure with its sign, the minus as wide as the plus; zero has none."""
    words = f"{value:+.{decimals}f}"
    return words[1:] if float(words) == 0 else words.replace("-", "\N{MINUS SIGN}")


def between(interval: Interval | None) -> str:
    """An interval of differences in percentage points."""
    if interval is None:
        return NOTHING
    return f"{points(interval.low)} to {points(interval.high)}"


def chance(p: float | None) -> str:
    """A p value that is never shown as zero."""
    if p is None:
        return NOTHING
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def ratio(value: float | None) -> str:
    """A ratio with two decimals."""
    return NOTHING if value is None else f"{value:.2f}"


def median_of(quartiles: Quartiles | None, decimals: int) -> str:
    """The median; "none" where it lies beyond every cost that was found."""
    if quartiles is None or not quartiles.of:
        return NOTHING
    return "none" if quartiles.median is None else f"{quartiles.median:.{decimals}f}"


def listed(words: Sequence[str]) -> str:
    """Words as a list in a sentence: a, b and c."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def several(count: int, word: str, plural: str = "") -> str:
    """How many of something; give the plural if it is irregular."""
    return f"{count:,} {word if count == 1 else plural or f'{word}s'}"


def singles(report: GroupReport) -> tuple[GroupTable, ...]:
    """The tables of one attribute."""
    return tuple(table for table in report.tables if len(table.attributes) == 1)


def crossed(report: GroupReport) -> tuple[GroupTable, ...]:
    """The tables of two attributes."""
    return tuple(table for table in report.tables if len(table.attributes) > 1)


def with_verdicts(tables: Iterable[GroupTable]) -> list[tuple[GroupTable, Comparison]]:
    """Every comparison that has a verdict, with its table."""
    return [
        (table, one) for table in tables for one in table.comparisons if one.verdict is not None
    ]


def counted(group: Group) -> bool:
    """Whether a group is listed: the unknown group is not if it is empty."""
    return group.known or group.decisions is None or group.decisions.people > 0


def name_of(table: GroupTable) -> str:
    """The attributes of a table, in the user's own words."""
    return plain(" and ".join(table.attributes))
