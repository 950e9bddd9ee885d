"""Figures, measures and reasons as the group report says them, in the language of its words."""

from recourse_audit.groups import notes
from recourse_audit.records.group_figures import Comparison, Group, Interval, Measure, Rate
from recourse_audit.records.groups import GroupReport, GroupTable
from recourse_audit.render.page_words import PageWords
from recourse_audit.render.pages.board_words import MARKS, attribute_name, named, signed, withheld
from recourse_audit.render.text import plain

NOTHING = "\N{EN DASH}"  # a figure that does not exist; what is withheld says so
WHY_NOT_TESTED = {
    notes.NO_TIES: "no_ties",
    notes.UNLIKE: "unlike",
    notes.FEW_CASES: "few_cases",
    notes.ALIKE: "alike",
    notes.FEW_EFFECTIVE: "few_effective",
}
TABLE_NOTES = {
    notes.FEW_GROUPS: "report.table.few_groups",
    notes.REFERENCE_WITHHELD: "report.table.reference_withheld",
}


def share(words: PageWords, value: float | None) -> str:
    """A share with one decimal."""
    return NOTHING if value is None else words.percent(value)


def points(words: PageWords, difference: float | None) -> str:
    """A gap in points with its sign."""
    return NOTHING if difference is None else words.points(difference)


def between(words: PageWords, interval: Interval | None) -> str:
    """An interval of gaps in points."""
    return NOTHING if interval is None else signed(words, interval)


def ratio(words: PageWords, value: float | None) -> str:
    """A ratio with two decimals."""
    return NOTHING if value is None else words.signed(value, 2).lstrip("+")


def p_value(words: PageWords, p: float | None) -> str:
    """A p value that is never shown as zero."""
    return NOTHING if p is None else words.probability(p)


def shares_between(words: PageWords, rate: Rate) -> str:
    """The interval of a share, which allows for ties if that was measured."""
    interval = rate.on_graph or rate.interval
    if interval is None:
        return NOTHING
    return words.interval(words.percent(interval.low), words.percent(interval.high))


def measure(words: PageWords, one: Measure) -> str:
    """What is compared: refusals."""
    return words.say(f"report.measure.{one}")


def compared(report: GroupReport, table: str, one: Comparison, words: PageWords) -> str:
    """Both groups of a comparison, with the attribute if another one has such a group."""
    against = words.say("board.against", reference=plain(one.reference))
    return f"{named(report, table, one.group)} {against}"


def verdict(words: PageWords, one: Comparison, concern: float) -> str:
    """A verdict with its mark."""
    if one.verdict is None:
        return NOTHING
    return f"{MARKS[one.verdict]} {words.verdict(one.verdict, concern)}"


def why_not_tested(words: PageWords, reason: str) -> str:
    """Why a gap was not tested; "" where it was."""
    for text, key in WHY_NOT_TESTED.items():
        if text in reason:
            return words.say(f"report.untested.{key}")
    return ""


def why_withheld(words: PageWords, group: Group, smallest: int) -> str:
    """Why a group's figures are withheld; "" where they are not."""
    return withheld(words, group.withheld, smallest) if group.withheld else ""


def table_note(words: PageWords, table: GroupTable) -> str:
    """Why nothing is compared in a table; "" where something is."""
    return words.say(TABLE_NOTES[table.note]) if table.note in TABLE_NOTES else plain(table.note)


def report_notes(words: PageWords, report: GroupReport) -> tuple[str, ...]:
    """Which attributes were not crossed, and why."""
    return tuple(
        words.say(
            "report.table.too_large",
            table=attribute_name(note.removesuffix(notes.TOO_LARGE)),
            most=words.number(notes.MOST_CELLS),
        )
        for note in report.notes
    )


def confidence(words: PageWords, report: GroupReport) -> str:
    """How sure intervals are: 95%."""
    return words.whole_percent(1 - report.alpha)
