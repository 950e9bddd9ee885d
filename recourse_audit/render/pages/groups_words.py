"""Figures, measures and reasons as the group report says them, in the language of its words."""

from recourse_audit.records.group_figures import Comparison, Interval, Measure, Rate, WhyUntested
from recourse_audit.records.groups import GroupReport, GroupTable
from recourse_audit.render.i18n import Words
from recourse_audit.render.pages.board_words import MARKS, named, signed
from recourse_audit.render.text import plain

NOTHING = "\N{EN DASH}"  # a figure that does not exist, or is left out


def share(words: Words, value: float | None) -> str:
    """A share with one decimal."""
    return NOTHING if value is None else words.percent(value)


def points(words: Words, difference: float | None) -> str:
    """A gap in points with its sign."""
    return NOTHING if difference is None else words.points(difference)


def between(words: Words, interval: Interval | None) -> str:
    """An interval of gaps in points."""
    return NOTHING if interval is None else signed(words, interval)


def ratio(words: Words, value: float | None) -> str:
    """A ratio with two decimals."""
    return NOTHING if value is None else words.signed(value, 2).lstrip("+")


def p_value(words: Words, p: float | None) -> str:
    """A p value that is never shown as zero."""
    return NOTHING if p is None else words.probability(p)


def shares_between(words: Words, rate: Rate) -> str:
    """The interval of a share, which allows for ties if that was measured."""
    interval = rate.on_graph or rate.interval
    if interval is None:
        return NOTHING
    return words.interval(words.percent(interval.low), words.percent(interval.high))


def measure(words: Words, one: Measure) -> str:
    """What is compared: refusals."""
    return words.say(f"report.measure.{one}")


def compared(report: GroupReport, table: str, one: Comparison, words: Words) -> str:
    """Both groups of a comparison, with the attribute if another one has such a group."""
    against = words.say("board.against", reference=plain(one.reference))
    return f"{named(report, table, one.group)} {against}"


def verdict(words: Words, one: Comparison, concern: float) -> str:
    """A verdict with its mark."""
    if one.verdict is None:
        return NOTHING
    return f"{MARKS[one.verdict]} {words.verdict(one.verdict, concern)}"


def why_not_tested(words: Words, why: WhyUntested | None) -> str:
    """Why a gap was not tested; "" where it was."""
    return "" if why is None else words.say(f"report.untested.{why}")


def table_note(words: Words, table: GroupTable) -> str:
    """Why nothing is compared in a table; "" where something is."""
    why = table.not_compared
    return "" if why is None else words.say(f"report.table.{why}")


def confidence(words: Words, report: GroupReport) -> str:
    """How sure intervals are: 95%."""
    return words.whole_percent(1 - report.alpha)
