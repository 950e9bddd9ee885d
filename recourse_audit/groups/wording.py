"""Gaps in words: shares in per cent, differences of shares in percentage points, p values, days."""

from datetime import date

from recourse_audit.groups.records import Days

MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


def percent(share: float | None) -> str:
    """A share with one decimal."""
    return "nothing" if share is None else f"{share:.1%}"


def points(difference: float) -> str:
    """The size of a gap: 35.3 points."""
    return f"{100 * difference:.1f} points"


def round_points(difference: float) -> str:
    """A gap that somebody chose, with no more digits than they wrote: 10 points."""
    figure = f"{100 * difference:g}"
    return f"{figure} point" if figure == "1" else f"{figure} points"


def signed_points(difference: float) -> str:
    """A gap with its direction: -32.4 points; none at all has no sign."""
    return f"{signed(difference)} points"


def signed(difference: float) -> str:
    """The figure alone, for intervals whose unit has been said."""
    figure = f"{100 * difference:+.1f}"
    return figure[1:] if float(figure) == 0 else figure


def chance(p: float) -> str:
    """A p value that never looks like none at all."""
    return "below 0.001" if p < 0.001 else f"{p:.3f}"


def p_value(p: float) -> str:
    """A p value with its name, to begin with."""
    return f"p {chance(p)}" if p < 0.001 else f"p = {chance(p)}"


def communities(count: int, alone: int, method: str) -> str:
    """How many communities, and how many of them are one person: 34 communities, 18 of them …"""
    words = "1 community" if count == 1 else f"{count:,} communities"
    if not alone:
        return words
    # Louvain's method leaves nobody alone who has ties: joining some neighbour is always better.
    who = "one person without ties" if method == "louvain" else "one person each"
    return f"{words}, {alone:,} of them {who}"


def two_p_values(tests: int) -> str:
    """Why a corrected p value may seem to contradict the interval beside it; "" for one test."""
    if tests < 2:
        return ""
    return (
        f"A corrected p value allows for all {tests:,} tests, while an interval is of its one "
        "comparison alone: so the first can be large where the second leaves zero out."
    )


def ran_on(days: Days | None) -> str:
    """When the audit ran, by the clock of the machine that ran it."""
    if days is None:
        return "When the audit ran is not known: run.jsonl of the bundle does not tell."
    first, last = _day(days.first), _day(days.last)
    when = f"on {first}" if first == last else f"from {first} to {last}"
    return f"The audit ran {when} (UTC, by run.jsonl of the bundle)."


def _day(text: str) -> str:
    day = date.fromisoformat(text)
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"
