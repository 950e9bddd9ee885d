"""What `pieces/group_words.html` cannot decide about a comparison: names, directions and sizes.

The sentences themselves are macros of that template, so that pages, terminal, tables and charts say
the same of the same gap. Plus is worse for the group that is named first.
"""

import re
from functools import cached_property
from html import unescape
from typing import Any

from recourse_audit.records.group_figures import Comparison, Family, Group, Measure, Verdict
from recourse_audit.records.groups import Finding, GroupReport, GroupTable
from recourse_audit.render.i18n import Words
from recourse_audit.render.templates import Templates
from recourse_audit.render.text import plain

SENTENCES = "pages/pieces/group_words.html"
UNSEEN = 0.0005  # half of the last digit of a share
# A ratio this close to a whole number is said as one: twice; about twice.
EXACT = 0.05
ABOUT = 0.10
NEXT = 1e-9  # a ratio at a bound is within it, however its digits round
MOST_TIMES = 10
PARTS = {2: "half", 3: "third", 4: "quarter"}
MARKS: dict[Verdict, str] = {"gap shown": "▲", "not settled": "◇", "no gap": ""}
TOPICS: dict[Measure, str] = {"adverse_rate": "refused", "feasibility": "option", "cost": "effort"}
# The word for a gap that is worse for the group, and for one that is better.
WAYS: dict[Measure, tuple[str, str]] = {
    "adverse_rate": ("more", "fewer"),
    "feasibility": ("fewer", "more"),
}
TAGS = re.compile(r"<[^>]*>")


class Gaps:
    """A group report and its words: what the macros on gaps read.

    Import `group_words.html` with context, with this as `gaps`; or ask `say` for a macro's text.
    """

    def __init__(
        self, report: GroupReport, words: Words | None = None, templates: Templates | None = None
    ) -> None:
        self.report = report
        self.words = words or Words()
        self._templates = templates

    def say(self, macro: str, /, *given: object) -> str:
        """What a macro says, as one line of text without markup."""
        markup = str(getattr(self.macros, macro)(*given))
        return re.sub(r"[^\S\xa0]+", " ", unescape(TAGS.sub("", markup))).strip()

    @cached_property
    def macros(self) -> Any:
        """The macros of `group_words.html`, which return markup."""
        return (self._templates or Templates()).macros(SENTENCES, gaps=self)

    # ------------------------------------------------------------------ tables and comparisons

    def tables(self, family: Family) -> tuple[GroupTable, ...]:
        """The tables of one attribute, or of two crossed."""
        single = family == "single"
        return tuple(
            table for table in self.report.tables if (len(table.attributes) == 1) == single
        )

    def findings(self, family: Family) -> tuple[Finding, ...]:
        """The comparisons with a verdict, by rank."""
        return tuple(finding for finding in self.report.findings if finding.family == family)

    @property
    def headline(self) -> Finding | None:
        """The finding to lead with, if there is one."""
        first = next(iter(self.report.findings), None)
        return first if first is not None and first.headline else None

    @property
    def missed(self) -> tuple[float, ...]:
        """The smallest and the largest gap that unsettled comparisons would have found."""
        seen = [
            finding.smallest_gap
            for finding in self.report.findings
            if finding.verdict == "not settled" and finding.smallest_gap is not None
        ]
        return (min(seen), max(seen)) if seen else ()

    @property
    def false_alarms(self) -> float:
        """The share of such reports that show a gap by chance alone, at most."""
        return self.report.alpha * len({test.family for test in self.report.tests})

    @property
    def all_against(self) -> tuple[str, str] | None:
        """The attribute and the group that all crossed gaps that are shown have in common."""
        shown = [one for one in self.findings("crossed") if one.verdict == "gap shown"]
        worse = [
            (finding.table, finding.group if finding.worse == "group" else finding.reference)
            for finding in shown
        ]
        values = [
            set(zip(table.attributes, group.values, strict=True))
            for name, group_name in worse
            for table in self.tables("crossed")
            for group in table.by_group
            if (table.name, group.name) == (name, group_name)
        ]
        shared = set.intersection(*values) if values else set()
        return shared.pop() if len(shown) > 1 and len(shared) == 1 else None

    # ------------------------------------------------------------------ names

    def _group(self, table: str, name: str) -> Group | None:
        return self.report.by_group.get(table, {}).get(name)

    def attribute(self, name: str) -> str:
        """An attribute, or two crossed: origin, gender."""
        return ", ".join(map(self.words.name, name.split(" x ")))

    def name(self, table: str, name: str) -> str:
        """A group as the label of a row: South; of a name that two attributes have, whose."""
        group = self._group(table, name)
        text = self.words.name(name) if group is None else self.label(group)
        alike = [one for one in self.report.tables if any(g.name == name for g in one.by_group)]
        return text if len(alike) < 2 else f"{text} ({self.attribute(table)})"

    def label(self, group: Group) -> str:
        """A group by its values; of people without one, and of several groups, that is said."""
        words = self.words
        if group.pooled:
            return words.say_count("board.other", group.pooled)
        named = {"unknown": "unknown", "pooled": "board.pooled"}
        return ", ".join(
            words.name(value)
            if kind == "known"
            else words.say("board.no_value" if kind == "unknown" and "(" in value else named[kind])
            for value, kind in zip(group.values, group.kinds, strict=True)
        )

    def people(self, table: str, name: str) -> str:
        """The people of a group in a sentence: people in the South."""
        words, group = self.words, self._group(table, name)
        attributes = table.split(" x ")
        if group is None:
            return words.people(attributes[0], name)
        if group.pooled:
            return words.say_count("people.other", group.pooled)
        first, *others = [
            words.people(attribute, value)
            if kind == "known"
            else words.say("people.unknown", attribute=words.name(attribute))
            for attribute, value, kind in zip(attributes, group.values, group.kinds, strict=True)
        ]
        if not others:
            return first
        names = ", ".join(map(words.name, group.values[1:]))
        return words.say("people.crossed", people=first, others=names)

    # ------------------------------------------------------------------ sizes and directions

    def ways(self, measure: Measure) -> tuple[str, str]:
        """The keys of *worse for the group* and *better* in a measure: more refusals, fewer."""
        return WAYS.get(measure, ("worse", "better"))

    def size(self, difference: float) -> str:
        """The size of a difference in points, without a sign or a unit."""
        return "0" if abs(difference) < UNSEEN else self.words.points(abs(difference)).lstrip("+")

    def often(self, value: float | None, reference: float | None) -> tuple[str, str]:
        """A ratio of shares in words (half as often), and whether *as* or *than* goes with it."""
        words = self.words
        ratio = value / reference if value and reference else 0.0
        size = max(ratio, 1 / ratio) if ratio else 0.0
        whole = round(size)
        if ratio > 1 and whole > MOST_TIMES:
            return words.say("often.many", times=words.number(MOST_TIMES)), "times"
        near = whole >= 2 and abs(size - whole) <= ABOUT * whole + NEXT
        if not near or (ratio < 1 and whole not in PARTS):
            more = (value or 0.0) > (reference or 0.0)
            return words.say("often.more" if more else "often.less"), "than"
        key = PARTS[whole] if ratio < 1 else "twice" if whole == 2 else "times"
        text = words.say(
            f"often.{key}", **({"times": words.number(whole)} if key == "times" else {})
        )
        if abs(size - whole) > EXACT * whole + NEXT:
            text = words.say("often.about", often=text)
        return text, "times"

    def topic(self, measure: Measure) -> str:
        """The key of what a primary measure is about: refused, option or effort."""
        return TOPICS[measure]

    def mark(self, verdict: Verdict | None) -> str:
        """▲ needs attention, ◇ is not settled; what is ruled out has no mark."""
        return "" if verdict is None else MARKS[verdict]

    def chance(self, p: float) -> str:
        """A p value with its sign: = 0.002."""
        text = self.words.probability(p)
        return text if text[0] in "<>" else f"= {text}"

    def comparison(self, table: str, group: str | None, measure: Measure) -> Comparison | None:
        """A group against its reference in one measure."""
        return next(
            (
                one
                for found in self.report.tables
                if found.name == table
                for one in found.comparisons
                if (one.group, one.measure) == (group, measure)
            ),
            None,
        )

    def text(self, text: str) -> str:
        """A user's own text, made plain."""
        return plain(text)
