"""How the board block says what was measured: how often, how many points, what is left out."""

from collections.abc import Sequence

from recourse_audit.records.group_figures import (
    Comparison,
    Group,
    GroupKind,
    Interval,
    Measure,
    Verdict,
)
from recourse_audit.records.groups import GroupReport, GroupTable
from recourse_audit.render.i18n import Words
from recourse_audit.render.text import plain

# A ratio this close to a whole number is said as one: twice; about twice.
EXACT = 0.05
ABOUT = 0.10
NEXT = 1e-9  # a ratio at a bound is within it, however its digits round
MOST_TIMES = 10
PARTS = {2: "half", 3: "third", 4: "quarter"}
MARKS: dict[Verdict, str] = {"gap shown": "▲", "not settled": "◇", "no gap": "○"}
TONES: dict[Verdict, str] = {"gap shown": "attention", "not settled": "", "no gap": "open"}


def times(words: Words, ratio: float | None) -> str:
    """A ratio of shares in words, such as half as often; "" where it is near no such word."""
    if ratio is None or ratio <= 0:
        return ""
    size = max(ratio, 1 / ratio)
    whole = round(size)
    if ratio > 1 and whole > MOST_TIMES:
        return words.say("board.times.many", most=words.number(MOST_TIMES))
    if whole < 2 or abs(size - whole) > ABOUT * whole + NEXT or (ratio < 1 and whole not in PARTS):
        return ""
    if ratio < 1:
        said = words.say(f"board.times.{PARTS[whole]}")
    elif whole == 2:
        said = words.say("board.times.twice")
    else:
        said = words.say("board.times.times", times=words.number(whole))
    if abs(size - whole) <= EXACT * whole + NEXT:
        return said
    return words.say("board.times.about", times=said)


def compared_often(words: Words, key: str, ratio: float | None, gap: float, **who: str) -> str:
    """A sentence with a ratio in words, or only with which of the two is more often.

    `gap` is the difference of the two shares, group minus reference.
    """
    said = times(words, ratio)
    if said:
        return words.say(f"{key}.times", times=said, **who)
    return words.say(f"{key}.than", times=often(words, gap), **who)


def often(words: Words, difference: float) -> str:
    """More often, or less often."""
    return words.say("board.often.more" if difference > 0 else "board.often.less")


def ratio_of(value: float | None, reference: float | None) -> float | None:
    """The ratio of two shares; None without it."""
    return value / reference if value is not None and reference else None


def size(words: Words, difference: float) -> str:
    """The size of a difference in points, without a sign or a unit."""
    return words.points(abs(difference)).lstrip("+")


def points(words: Words, key: str, difference: float) -> str:
    """A difference in points with its unit, in the singular or plural: 32 points fewer."""
    if abs(difference) < 0.01:
        return words.say(f"{key}.small", points=size(words, difference))
    return words.say_count(key, round(abs(100 * difference)))


def signed(words: Words, interval: Interval) -> str:
    """An interval in points with signs: -0.4 to +37."""
    return words.interval(words.points(interval.low), words.points(interval.high))


def along(words: Words, interval: Interval, gap: float) -> str:
    """An interval in the direction of its gap: without signs where both ends have it."""
    low, high = interval.low, interval.high
    if gap < 0:
        low, high = -high, -low
    if low > 0:
        return words.interval(size(words, low), size(words, high))
    return words.interval(words.points(low), words.points(high))


def more_or_fewer(measure: Measure, gap: float) -> str:
    """The key of a direction: a gap against a group is more refusals, and fewer options."""
    return "more" if (gap > 0) == (measure != "feasibility") else "fewer"


def chance(words: Words, p: float) -> str:
    """A p value with its sign: = 0.002."""
    said = words.probability(p)
    return said if said[0] in "<>" else f"= {said}"


def colon(words: Words, what: str, text: str) -> str:
    """Something and what is said of it, as the language writes a colon."""
    return words.say("board.colon", what=what, text=text)


def capitalised(words: str) -> str:
    """The same with a capital, as the beginning of a line."""
    return words[:1].upper() + words[1:]


def few_people(words: Words, smallest: int) -> str:
    """Why something is left out."""
    return words.say("board.few_people", smallest=words.number(smallest))


def group_name(words: Words, group: Group) -> str:
    """A group as the reader meets it; of people without a value, and of pools, that is said."""
    if group.pooled:
        return words.say_count("board.other", group.pooled)
    names = zip(group.values, group.kinds, strict=True)
    return ", ".join(_value(words, value, kind) for value, kind in names)


def _value(words: Words, value: str, kind: GroupKind) -> str:
    if kind == "known":
        return plain(value)
    # Where a group of the user has the name of the others, theirs says more.
    if kind == "unknown":
        return words.say("board.no_value" if "(" in value else "unknown")
    return words.say("board.pooled")


def name_in(words: Words, report: GroupReport, table: str, group: str) -> str:
    """The name of a group in a table, as the reader meets it."""
    found = report.by_group.get(table, {}).get(group)
    return plain(group) if found is None else group_name(words, found)


def named(report: GroupReport, table: str, group: str) -> str:
    """A group where tables stand together: with its attribute if another one has such a group."""
    tables = [one for one in report.tables if any(two.name == group for two in one.by_group)]
    said = plain(group)
    return said if len(tables) < 2 else f"{said} ({attribute_name(table)})"


def attribute_name(name: str) -> str:
    """An attribute, or two crossed, as a reader would write it."""
    return plain(name).replace("_", " ").replace(" x ", ", ")


def singles(report: GroupReport) -> tuple[GroupTable, ...]:
    """The tables of one attribute."""
    return tuple(table for table in report.tables if len(table.attributes) == 1)


def crossed(report: GroupReport) -> tuple[GroupTable, ...]:
    """The tables of two attributes."""
    return tuple(table for table in report.tables if len(table.attributes) > 1)


def with_verdicts(tables: Sequence[GroupTable]) -> list[Comparison]:
    """Every comparison of some tables that has a verdict."""
    return [one for table in tables for one in table.comparisons if one.verdict is not None]
