"""Words for figures of groups: per cent, percentage points, p values, days."""

from datetime import date

from recourse_audit.records.group_figures import Rate, WhyWithheld
from recourse_audit.records.groups import Days, OwnDataGroups

WITHHELD: dict[WhyWithheld, str] = {
    "few_people": "fewer people than groups.smallest",
    "few_audited": "fewer audited people than groups.smallest",
    "complementary": "it would reveal another withheld figure",
}
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


def share_words(rate: Rate) -> str:
    """A share with its interval, which allows for ties if that was measured: 41.2% [34, 49]."""
    if rate.share is None:
        return "nobody"
    interval = rate.on_graph or rate.interval
    assert interval is not None
    return f"{rate.share:.1%} [{100 * interval.low:.0f}, {100 * interval.high:.0f}]"


def points(difference: float) -> str:
    """The size of a gap: 35.3 points."""
    return f"{100 * difference:.1f} points"


def round_points(difference: float) -> str:
    """A gap from the settings, with as many digits as it was written with: 10 points."""
    figure = f"{100 * difference:g}"
    return f"{figure} point" if figure == "1" else f"{figure} points"


def signed_points(difference: float) -> str:
    """A gap with its sign: -32.4 points; zero has none."""
    return f"{signed(difference)} points"


def signed(difference: float) -> str:
    """The same figure without its unit, for the ends of intervals."""
    figure = f"{100 * difference:+.1f}"
    return figure[1:] if float(figure) == 0 else figure


def chance(p: float) -> str:
    """A p value that is never shown as zero."""
    return "below 0.001" if p < 0.001 else f"{p:.3f}"


def p_value(p: float) -> str:
    """A p value with its name: p = 0.043."""
    return f"p {chance(p)}" if p < 0.001 else f"p = {chance(p)}"


def two_p_values(tests: int) -> str:
    """Why a corrected p value may seem to contradict its interval; "" for a single test."""
    if tests < 2:
        return ""
    return (
        "A corrected p value allows for all tests of its family, while an interval allows for its "
        "own comparison only; so the p value can be large although the interval excludes zero."
    )


def own_data_sentence(found: OwnDataGroups) -> str:
    """What everybody's refusals on own data alone are, and what they are not."""
    if found.overall is None:
        return found.note
    decided, alone = found.overall.refused.share, found.overall.refused_alone.share
    note = f" {found.note}" if found.note else ""
    return (
        f"With all ties removed the model would refuse {percent(alone)}; with ties as they are, "
        f"{percent(decided)} were refused. This is its answer to a changed question: not how "
        f"the ties came about, nor how people without ties fare.{note}"
    )


def ran_on(days: Days | None) -> str:
    """When the audit ran, by the clock of the machine that ran it."""
    if days is None:
        return "The date of the audit is not known: it is not in run.jsonl of the bundle."
    first, last = _day(days.first), _day(days.last)
    when = f"on {first}" if first == last else f"from {first} to {last}"
    return f"The audit ran {when} (UTC, according to run.jsonl of the bundle)."


def _day(text: str) -> str:
    day = date.fromisoformat(text)
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"
