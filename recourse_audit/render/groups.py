"""What the templates about groups ask for: names, directions, which rows there are, drawings.

In: the record of the group stage. The sentences are macros of `pieces/group_words.html`, so that
the index, the group report, its annex, the terminal and `--fail-on` say the same of the same gap.
Plus, and right, is worse for the group that is named first.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from html import unescape
from typing import Any, TypeVar

from recourse_audit.records.group_figures import (
    ActionSet,
    Comparison,
    ErrorRates,
    Family,
    Gap,
    Group,
    Interval,
    Measure,
    OwnDataGap,
    OwnDataMeasure,
    OwnDataRates,
    Rate,
    ServedGroups,
    Verdict,
)
from recourse_audit.records.groups import Finding, GroupReport, GroupTable, OwnDataTable, SweepTable
from recourse_audit.records.rates import PairFigures, RateName, RateTable
from recourse_audit.records.recourse import CommonAction
from recourse_audit.render.charts import draw_sweep
from recourse_audit.render.drawing import (
    GAP_ROW,
    Axis,
    Part,
    Picture,
    Strip,
    axis_row,
    effort_strip,
    effort_ticks,
    gaps_axis,
    share_bar,
)
from recourse_audit.render.i18n import Words, agreement_sentences
from recourse_audit.render.templates import Templates, our_templates
from recourse_audit.render.text import plain

SENTENCES = "pages/pieces/group_words.html"
NOTHING = "\N{EN DASH}"  # a figure that does not exist, or is left out
UNSEEN = 0.0005  # half of the last digit of a share
# A ratio this close to a whole number is said as one: twice; about twice.
EXACT, ABOUT = 0.05, 0.10
NEXT = 1e-9  # a ratio at a bound is within it, however its digits round
MOST_TIMES = 10
PARTS = {2: "half", 3: "third", 4: "quarter"}
# The words for a gap that is worse for the group, and for one that is better.
WAYS: dict[Measure, tuple[str, str]] = {
    "adverse_rate": ("more", "fewer"),
    "feasibility": ("fewer", "more"),
    "cost": ("worse", "better"),
}
MOST_GROUPS = 6  # in a card
MOST_ROWS = 12  # in the plot of gaps
PLOTTED: tuple[Measure, ...] = ("adverse_rate", "feasibility")
MOST_ATTRIBUTES = 3  # on the page, which a board reads; all others are in the annex
SHARES = Axis(low=0.0, high=1.0, ticks=(0.0, 0.25, 0.5, 0.75, 1.0))
TAGS = re.compile(r"<[^>]*>")
Row = tuple[str, str, dict[Measure, Comparison]]


G = TypeVar("G", bound=Comparison | Gap | PairFigures)
J = TypeVar("J", bound=Comparison | Finding | OwnDataGap)


def find_gap(gaps: Iterable[G], group: str, **fields: object) -> G | None:
    """The gap of a group, in one measure or table where that is asked for."""
    wanted = {"group": group, **fields}
    for gap in gaps:
        if all(getattr(gap, name) == value for name, value in wanted.items()):
            return gap
    return None


def turn(gap: J) -> J:
    """The same gap as prose tells it, of the people whom it is against."""
    if gap.worse != "reference":
        return gap
    sides = {"group": "reference", "value": "reference_value"}
    swaps = [*sides.items(), *((other, name) for name, other in sides.items())]
    changes = {name: getattr(gap, other) for name, other in swaps if hasattr(gap, name)}
    for name in ("interval", "gap_interval"):
        if ends := getattr(gap, name, None):
            changes[name] = Interval(low=-ends.high, high=-ends.low)
    return replace(gap, gap=-gap.gap, worse="group", **changes)


class GroupPage:
    """A group report and its words; `has_paper` says whether there are PDFs to link to.

    Import `group_words.html` with context, with this as `gaps`; or ask `say` for a macro's text.
    """

    nothing, ways, text = NOTHING, WAYS, staticmethod(plain)
    find, turn = staticmethod(find_gap), staticmethod(turn)
    draw_bar = staticmethod(share_bar)

    def __init__(
        self,
        report: GroupReport,
        words: Words | None = None,
        templates: Templates | None = None,
        *,
        has_paper: bool = True,
    ) -> None:
        self.report = report
        self.words = words or Words()
        self.has_paper = has_paper
        self._templates = templates
        self.singles = tuple(table for table in report.tables if len(table.attributes) == 1)
        self.crossed = tuple(table for table in report.tables if len(table.attributes) > 1)
        self.all_tables = (*self.singles, *self.crossed)

    def say(self, macro: str, /, *given: object) -> str:
        """What a macro of `group_words.html` says, as one line of text without markup."""
        markup = str(getattr(self.macros, macro)(*given))
        return re.sub(r"[^\S\xa0]+", " ", unescape(TAGS.sub("", markup))).strip()

    @cached_property
    def macros(self) -> Any:
        """The macros of `group_words.html`, which return markup."""
        return (self._templates or our_templates()).macros(SENTENCES, gaps=self)

    # ------------------------------------------------------------------ findings

    def findings(self, family: Family, verdict: Verdict | None = None) -> list[Finding]:
        """The comparisons of a family, with this verdict or any, by rank."""
        found = (one for one in self.report.findings if one.family == family)
        return [one for one in found if verdict in (None, one.verdict)]

    @property
    def headline(self) -> Finding | None:
        """The finding to lead with, if there is one."""
        first = next(iter(self.report.findings), None)
        return first if first is not None and first.headline else None

    @property
    def all_against(self) -> tuple[str, str] | None:
        """The attribute and the group that all crossed gaps that are shown have in common."""
        worse = self._worse("crossed")
        values = [
            set(zip(table.attributes, group.values, strict=True))
            for table in self.crossed
            for group in table.by_group
            if (table.name, group.name) in worse
        ]
        shared = set.intersection(*values) if values else set()
        return shared.pop() if len(worse) > 1 and len(shared) == 1 else None

    def _worse(self, family: Family) -> list[tuple[str, str]]:
        """The table and the group of those whom each gap that is shown is against."""
        shown = self.findings(family, "gap shown")
        return [(gap.table, gap.group if gap.worse == "group" else gap.reference) for gap in shown]

    @property
    def worse_people(self) -> list[str]:
        """The people whom a gap of a single attribute is shown against, each once."""
        return [self.people(*names) for names in dict.fromkeys(self._worse("single"))]

    # ------------------------------------------------------------------ names

    def attribute(self, name: str) -> str:
        """An attribute, or two crossed: origin, gender; everyone for figures of everyone."""
        if name == "overall":
            return self.words.say("report.everybody")
        return ", ".join(map(self.words.name, name.split(" x ")))

    def name(self, table: str, name: str) -> str:
        """A group as the label of a row: South; of a name that two attributes have, whose."""
        group = self.report.by_group.get(table, {}).get(name)
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
        words, group = self.words, self.report.by_group.get(table, {}).get(name)
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
        text = words.say(f"often.{key}", times=words.number(whole))
        if abs(size - whole) > EXACT * whole + NEXT:
            text = words.say("often.about", often=text)
        return text, "times"

    # ------------------------------------------------------------------ the first block

    @cached_property
    def leading(self) -> Finding | None:
        """The finding that the cards are about: the headline, or the largest gap."""
        if self.headline is not None:
            return self.headline
        ranked = [*self.findings("single"), *self.findings("crossed")]
        shares = [one for one in ranked if one.measure != "cost" and one.family == ranked[0].family]
        return max(shares or ranked, key=lambda one: abs(one.gap), default=None)

    @cached_property
    def table(self) -> GroupTable | None:
        """The table that the cards are about; None where every table is left out."""
        name = self.leading.table if self.leading is not None else None
        tables = self.report.tables if name is not None else self.singles
        return next((table for table in tables if name in (None, table.name)), None)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The groups in the cards: that of the finding, the reference, and the largest."""
        table = self.table
        if table is None:
            return ()
        first = [table.reference] if self.leading is None else [self.leading.group, table.reference]
        ranked = sorted(table.by_group, key=lambda group: -group.decisions.people)
        ranked.sort(key=lambda group: [*first, group.name].index(group.name))
        return tuple(ranked[:MOST_GROUPS])

    def comparison(self, measure: Measure) -> Comparison | None:
        """The comparison that a card is about."""
        if self.leading is None or self.table is None:
            return None
        gap = find_gap(self.table.comparisons, self.leading.group, measure=measure)
        return gap and turn(gap)

    @cached_property
    def _own_table(self) -> OwnDataTable | None:
        name = None if self.table is None else self.table.name
        return next((one for one in self.report.own_data.tables if one.table == name), None)

    @property
    def own_data(self) -> dict[str, OwnDataRates]:
        """Refusals on own data alone, by group; empty where they are not known or left out."""
        return {} if self._own_table is None else self._own_table.by_group

    def own_gap(self, measure: OwnDataMeasure) -> OwnDataGap | None:
        """A gap on own data, or with ties, of the group that the cards are about."""
        if self.leading is None or self._own_table is None:
            return None
        gap = find_gap(self._own_table.gaps, self.leading.group, measure=measure)
        return gap and turn(gap)

    @cached_property
    def all_rows(self) -> list[Row]:
        """Every group of a single attribute against its reference, in each measure of the plot."""
        rows: dict[tuple[str, str], dict[Measure, Comparison]] = {}
        for table in self.singles:
            for gap in table.comparisons:
                if gap.measure in PLOTTED:
                    rows.setdefault((table.name, gap.group), {})[gap.measure] = gap
        return [(table, group, gaps) for (table, group), gaps in rows.items()]

    @cached_property
    def rows(self) -> list[Row]:
        """The groups in the plot; of many, those with the largest gaps, in their order."""
        largest = sorted(
            self.all_rows, key=lambda row: -max(abs(gap.gap) for gap in row[2].values())
        )
        return [row for row in self.all_rows if row in largest[:MOST_ROWS]]

    @property
    def measures(self) -> list[Measure]:
        """The measures in the plot: those with comparisons."""
        return [measure for measure in PLOTTED if any(measure in row[2] for row in self.all_rows)]

    @cached_property
    def axis(self) -> Axis:
        gaps = [gap for *_, gaps in self.rows for gap in gaps.values()]
        ends = [end for gap in gaps if (end := gap.gap_interval) is not None]
        places = [*(gap.gap for gap in gaps), *(e.low for e in ends), *(e.high for e in ends)]
        return gaps_axis(places, self.report.concern)

    def draw_gap(self, gap: Comparison, alt: str) -> Picture:
        """A gap with its interval; right is worse."""
        return Strip(self.axis, alt, GAP_ROW).estimate(gap.gap, gap.gap_interval).picture()

    def draw_axis(self) -> Picture:
        return axis_row(self.axis, [self.say("tick", place) for place in self.axis.ticks])

    # ------------------------------------------------------------------ the report and its annex

    @property
    def first_attributes(self) -> tuple[GroupTable, ...]:
        """The attributes that the page has charts of: first those with the most gaps shown."""
        shown = [one.table for one in self.report.findings if one.verdict == "gap shown"]
        ranked = sorted(self.singles, key=lambda table: -shown.count(table.name))
        return tuple(table for table in self.singles if table in ranked[:MOST_ATTRIBUTES])

    @property
    def days(self) -> list[str]:
        """The first and the last day of the audit, once if they are the same; empty if unknown."""
        ran = self.report.ran
        return [] if ran is None else [*dict.fromkeys(map(self.words.day, (ran.first, ran.last)))]

    @property
    def agreement(self) -> tuple[str, ...]:
        """How far the record and the model agree; nothing without a record."""
        return agreement_sentences(self.report.agreement, self.words)

    def rate_tables(self, name: RateName | None = None) -> list[RateTable]:
        """A rate, or all, of everybody and by table: the groups that have it."""
        everybody = RateTable(
            table="overall",
            by_group={self.words.say("report.everybody"): self.report.rates.overall},
            impact_ratios={},
            pairs=(),
            spreads={},
        )
        tables = []
        for table in (everybody, *self.report.rates.tables):
            groups = {g: rates for g, rates in table.by_group.items() if not name or name in rates}
            tables += [replace(table, by_group=groups)] if groups else []
        return tables

    def outcome_tables(self, part: str = "") -> Iterator[tuple[str, dict[str, ErrorRates]]]:
        """How decisions turned out for everyone, then by table: the groups that have this part."""
        found = self.report.error_rates
        if found is None or found.overall is None:
            return
        tables = {"overall": {self.words.say("report.everybody"): found.overall}}
        tables |= {table.table: table.by_group for table in found.tables}
        for name, groups in tables.items():
            kept = {g: rates for g, rates in groups.items() if not part or getattr(rates, part)}
            if kept:
                yield name, kept

    @property
    def omissions(self) -> list[tuple[str, list[str]]]:
        """Per table what it goes without, in words."""
        parts: dict[str, list[str]] = {}
        for one in self.report.left_out:
            many = one.why == "too_many_groups"
            key = "report.left_out.too_many" if many else f"report.part.{one.part}"
            parts.setdefault(one.table, []).append(self.words.say(key))
        return [*parts.items()]

    @property
    def pools(self) -> list[tuple[str, int]]:
        """The tables with groups that are pooled, and how many."""
        groups = ((table.name, group) for table in self.all_tables for group in table.by_group)
        return [(name, group.pooled) for name, group in groups if group.pooled]

    # ------------------------------------------------------------------ changes

    def members(self, chosen: ActionSet) -> tuple[CommonAction, ...]:
        return tuple(self.report.common_actions.actions[place].action for place in chosen.actions)

    @property
    def sets(self) -> list[ActionSet]:
        """The smallest sets with figures, the widest first; each once, for the most it reaches."""
        found = [one for one in self.report.common_actions.sets if one.served.everybody is not None]
        once = {(one.of, one.actions): one for one in found}.values()
        served = [one for one in once if one.of == "of the served"]
        return [*served[-1:], *served[:-1], *(one for one in once if one.of == "of everybody")]

    @property
    def help_of_changes(self) -> list[tuple[tuple[CommonAction, ...], ServedGroups]]:
        """Single changes, then sets of several, each set once: and whom they help."""
        found = self.report.common_actions
        several = {one.actions: one for one in found.sets if len(one.actions) > 1}
        return [
            *(((one.action,), one.served) for one in found.actions),
            *((self.members(one), one.served) for one in several.values()),
        ]

    # ------------------------------------------------------------------ cut-offs

    @property
    def sweeps(self) -> list[SweepTable]:
        """The attributes at other cut-offs; first that of the cards."""
        leading = None if self.table is None else self.table.name
        return sorted(self.report.sweeps, key=lambda table: table.table != leading)

    def draw_sweep(self, table: SweepTable, alt: str) -> Picture:
        """The reference and the largest of the groups that are compared with it."""
        rest = dict.fromkeys(stretch.group for stretch in table.stretches)
        largest = sorted(rest, key=lambda name: -table.by_group[name].of)[: MOST_GROUPS - 1]
        chosen = [table.reference] if table.reference else [*table.by_group][:MOST_GROUPS]
        names = {name: self.name(table.table, name) for name in [*chosen, *largest]}
        if table.reference:
            names[table.reference] += f" ({self.words.say('report.reference')})"
        return draw_sweep(table, names, self.report.four_fifths, self.words, alt)

    # ------------------------------------------------------------------ drawings

    def draw_rate(self, rate: Rate, reference: Rate | None, alt: str) -> Picture:
        """A share with its interval, and a tick at the share of the reference."""
        strip = Strip(SHARES, alt)
        if reference is not None and reference.share is not None:
            strip.tick(reference.share)
        return strip.estimate(rate.share or 0.0, rate.on_graph or rate.interval).picture()

    def draw_shares(self) -> Picture:
        return axis_row(SHARES, [self.words.whole_percent(tick) for tick in SHARES.ticks])

    def draw_served(self, before: float, share: float, alt: str) -> Picture:
        """The share that an option adds to those of the rows above."""
        strip = Strip(SHARES, alt).span(0.0, before, colour="lines")
        return strip.span(before, before + share).picture()

    def _most_effort(self, table: GroupTable) -> float:
        curves = [one.outcomes.cost_curve or () for one in table.by_group if one.outcomes]
        return max((point.cost for curve in curves for point in curve), default=1.0) or 1.0

    def draw_curve(self, table: GroupTable, group: Group, alt: str) -> Picture | None:
        """The curve of one group, on the axis of all; nothing where it is left out."""
        found = group.outcomes
        if found is None or found.cost_curve is None or not found.feasibility.of:
            return None
        of, stopped = found.feasibility.of, found.not_found_within_budget or 0
        steps = [(point.cost, point.share) for point in found.cost_curve]
        rest: list[tuple[Part, float]] = [
            ("no", (of - found.verified - stopped) / of),
            ("open", stopped / of),
        ]
        percents = self.words.whole_percent(0.0), self.words.whole_percent(1.0)
        return effort_strip(steps, rest, self._most_effort(table), percents, alt)

    def draw_efforts(self, table: GroupTable) -> Picture:
        return effort_ticks(self._most_effort(table))
