"""The group report: which rows its page, its annex and the terminal show, in which order.

In: the record of the group stage. The templates take the record and say everything through the
catalogue; nothing here holds a finished sentence. A gap with a plus is worse for the group.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from typing import Literal

from recourse_audit.records.group_figures import (
    ActionFigures,
    ActionGap,
    ActionSet,
    Comparison,
    ErrorGap,
    ErrorMeasure,
    ErrorRates,
    Group,
    Measure,
    OwnDataGap,
    Rate,
    ServedGroups,
    Verdict,
    WorseOff,
)
from recourse_audit.records.groups import Change, GroupReport, GroupTable
from recourse_audit.records.recourse import SEARCHED, CommonAction, RecourseStatus
from recourse_audit.render.agreement import agreement_sentences
from recourse_audit.render.charts.board import unbroken
from recourse_audit.render.charts.cost_curves import (
    EffortCurve,
    effort_axis,
    effort_strip,
    effort_ticks,
)
from recourse_audit.render.charts.strips import Axis, Strip, axis_row
from recourse_audit.render.charts.svg import Picture
from recourse_audit.render.i18n import Words
from recourse_audit.render.pages.board import Board
from recourse_audit.render.templates import Templates

NOTHING = "\N{EN DASH}"  # a figure that does not exist, or is left out
SHARES = Axis(low=0.0, high=1.0, ticks=(0.0, 0.25, 0.5, 0.75, 1.0), width=320.0)
MOST_ATTRIBUTES = 3  # on the page, which a board reads; all others are in the annex


class GroupPage(Board):
    """Everything that the templates of the group report ask for.

    `has_paper` says whether there are PDFs to link to.
    """

    def __init__(
        self,
        report: GroupReport,
        words: Words | None = None,
        templates: Templates | None = None,
        *,
        has_paper: bool = True,
    ) -> None:
        super().__init__(report, words, templates)
        self.has_paper = has_paper
        self.nothing = NOTHING
        self.singles, self.crossed = self.tables("single"), self.tables("crossed")
        self.all_tables = (*self.singles, *self.crossed)

    @property
    def first_attributes(self) -> tuple[GroupTable, ...]:
        """The attributes that the page has charts of: first those with the most gaps shown."""
        shown = [one.table for one in self.report.findings if one.verdict == "gap shown"]
        ranked = sorted(self.singles, key=lambda table: -shown.count(table.name))
        return tuple(table for table in self.singles if table in ranked[:MOST_ATTRIBUTES])

    @property
    def further_attributes(self) -> tuple[GroupTable, ...]:
        """The attributes whose charts are in the annex."""
        return tuple(table for table in self.singles if table not in self.first_attributes)

    @property
    def day(self) -> str:
        """The last day of the audit; "" where it is not known."""
        ran = self.report.ran
        return "" if ran is None else self.words.day(date.fromisoformat(ran.last))

    @property
    def days(self) -> str:
        """All days of the audit; "" where they are not known."""
        ran = self.report.ran
        if ran is None or ran.first == ran.last:
            return self.day
        return self.words.interval(self.words.day(date.fromisoformat(ran.first)), self.day)

    @property
    def agreement(self) -> tuple[str, ...]:
        """How far the record and the model agree; nothing without a record."""
        found = self.report.agreement
        return () if found is None else agreement_sentences(found, self.words)

    @property
    def confidence(self) -> str:
        """How sure intervals are: 95%."""
        return self.words.whole_percent(1 - self.report.alpha)

    # ------------------------------------------------------------------ words

    @staticmethod
    def capitalise(text: str) -> str:
        """The same with a capital, as the beginning of a line."""
        return text[:1].upper() + text[1:]

    def attribute(self, name: str) -> str:
        """An attribute, or two crossed; everyone for figures of everyone."""
        return self.words.say("report.everybody") if name == "overall" else super().attribute(name)

    def say_all(self, keys: Iterable[str]) -> list[str]:
        """Several messages."""
        return [self.words.say(key) for key in keys]

    def both(self, single: int, crossed: int) -> str:
        """Two numbers, of single attributes and of two crossed: 12 + 39."""
        numbers = [single, crossed] if self.count("crossed") else [single]
        return " + ".join(self.words.number(number) for number in numbers)

    @property
    def comparisons(self) -> str:
        """How many comparisons there are, said alike everywhere: 12 + 39."""
        return self.both(self.count("single"), self.count("crossed"))

    def parts(self, group: Group) -> list[tuple[str, float]]:
        """How the audited of a group divide: keys of messages, and shares."""
        found = group.outcomes
        assert found is not None
        of, stopped = found.feasibility.of, found.not_found_within_budget
        if stopped is None:
            parts = [("yes", found.verified), ("without", of - found.verified)]
        else:
            parts = [("yes", found.verified), ("no", of - found.verified - stopped)]
            parts += [("open", stopped)] if stopped else []
        return [(f"report.parts.{key}", count / of) for key, count in parts if of]

    @property
    def result_words(self) -> list[str]:
        """What the audit found, by status: has an option 253 (48.6%)."""
        found = self.report.overall.outcomes
        assert found is not None
        of = found.feasibility.of
        counts: dict[RecourseStatus, int | None] = {
            "verified": found.verified,
            "certified_infeasible": found.certified_infeasible,
            "not_found_within_budget": found.not_found_within_budget,
            "error": found.errors or None,
            "model_disagrees": found.disagreeing or None,
        }
        return [
            f"{self.words.status(status)} {self.words.number(count)}"
            + (f" ({self.words.percent(count / of)})" if of and status in SEARCHED else "")
            for status, count in counts.items()
            if count is not None and (count or status in SEARCHED[:2])
        ]

    # ------------------------------------------------------------------ comparisons

    def worse_off(self, table: GroupTable, measure: Measure, worse: WorseOff) -> list[str]:
        """The groups with a gap that is shown, against them or against the reference."""
        return [
            self.people(table.name, gap.group)
            for gap in table.comparisons
            if (gap.measure, gap.worse) == (measure, worse)
        ]

    def tests(self, table: GroupTable) -> list[Comparison]:
        """The comparisons with a verdict."""
        return [gap for gap in table.comparisons if gap.primary]

    def explored(self, table: GroupTable) -> list[Comparison]:
        """The comparisons outside of all families, without a verdict."""
        return [gap for gap in table.comparisons if not gap.primary]

    def unsettled(self, table: GroupTable) -> list[Comparison]:
        """The comparisons that settle nothing."""
        return [gap for gap in table.comparisons if gap.verdict == "not settled"]

    def count(self, family: Literal["single", "crossed"], verdict: Verdict | None = None) -> int:
        """How many comparisons a family has, with this verdict or any."""
        found = [one.verdict for one in self.report.findings if one.family == family]
        return len(found) if verdict is None else found.count(verdict)

    def count_tests(self, family: Literal["single", "crossed"]) -> int:
        """How many tests a family has."""
        return sum(test.family == family for test in self.report.tests)

    @property
    def is_sampled(self) -> bool:
        """Whether any test rests on a sample of those compared."""
        found = (gap.precision for table in self.report.tables for gap in table.comparisons)
        return any(precision is not None and precision.sampled for precision in found)

    # ------------------------------------------------------------------ impact ratios

    def favourable_share(self, group: Group) -> float | None:
        """The share of favourable decisions among those decided on."""
        decided = group.decisions.refused + group.decisions.favourable
        return group.decisions.favourable / decided if decided else None

    def impact_ratio(self, table: GroupTable, group: Group) -> float | None:
        """Its favourable share against the largest: the ratio of New York City's Local Law 144.

        People of unknown and pooled groups are counted but have no ratio.
        """
        known = [self.favourable_share(other) or 0.0 for other in table.by_group if other.known]
        best, share = max(known, default=0.0), self.favourable_share(group)
        return share / best if group.known and share is not None and best else None

    # ------------------------------------------------------------------ changes

    def kinds(self, changes: Iterable[Change]) -> str:
        """Kinds of change: stop a standing payment or change savings."""
        return self._any([self._kind(change) for change in changes])

    def _kind(self, change: Change) -> str:
        if change.do == "set":
            return self.words.say("report.change.set", what=self.words.name(change.what))
        return self.words.change_ties(change.do, change.what, 1)

    def change(self, change: CommonAction) -> str:
        """One change: raise savings by 5,000 euros; stop 2 standing payments."""
        if change.do != "set":
            count = None if change.ties == "all" else change.ties
            return self.words.change_ties(change.do, change.what, count)
        what = self.words.name(change.what)
        if change.by is None:
            to = self.words.name(change.to or "")
            return self.words.say("report.action.to", what=what, to=to)
        key = "raise" if change.by > 0 else "lower"
        amount = self.words.value(abs(change.by), change.unit)
        return self.words.say(f"report.action.{key}", what=what, amount=amount)

    def any_of(self, changes: Iterable[CommonAction]) -> str:
        """One change, or any of several."""
        return self._any([self.change(change) for change in changes])

    def members(self, chosen: ActionSet) -> tuple[CommonAction, ...]:
        """The changes of a set."""
        return tuple(self.report.common_actions.actions[place].action for place in chosen.actions)

    def _any(self, named: Sequence[str]) -> str:
        *first, last = named
        return self.words.say("report.or", first=", ".join(first), last=last) if first else last

    @property
    def helpful(self) -> list[ActionFigures]:
        """The changes with figures."""
        return [
            one for one in self.report.common_actions.actions if one.served.everybody is not None
        ]

    @property
    def sets(self) -> list[ActionSet]:
        """The smallest sets with figures, the widest first."""
        found = [one for one in self.report.common_actions.sets if one.served.everybody is not None]
        served = [one for one in found if one.of == "of the served"]
        return [*served[-1:], *served[:-1], *(one for one in found if one.of == "of everybody")]

    @property
    def served(self) -> list[tuple[tuple[CommonAction, ...], ServedGroups]]:
        """Single changes, then sets of several, each set once: and whom they help."""
        found = self.report.common_actions
        several = {one.actions: one for one in found.sets if len(one.actions) > 1}
        return [
            *(((one.action,), one.served) for one in found.actions),
            *((self.members(one), one.served) for one in several.values()),
        ]

    def served_gap(self, served: ServedGroups, table: str, group: str) -> ActionGap | None:
        """A group against the reference in the share that is not helped."""
        found = (gap for gap in served.gaps if gap.table == table)
        return next((gap for gap in found if gap.group == group), None)

    # ------------------------------------------------------------------ outcomes and own data

    @property
    def outcome_tables(self) -> Iterator[tuple[str, dict[str, ErrorRates]]]:
        """Error rates of everyone, then by table and group."""
        found = self.report.error_rates
        if found is not None and found.overall is not None:
            yield "overall", {self.words.say("report.everybody"): found.overall}
            for table in found.tables:
                yield table.table, table.by_group

    def error_gap(self, table: str, group: str, measure: ErrorMeasure) -> ErrorGap | None:
        """A group against the reference in one error rate."""
        tables = self.report.error_rates.tables if self.report.error_rates else ()
        found = (gap for one in tables if one.table == table for gap in one.gaps)
        return next((gap for gap in found if (gap.group, gap.measure) == (group, measure)), None)

    @property
    def few_outcomes(self) -> list[str]:
        """The groups of whose refused too few have a known outcome, with their attribute."""
        found = self.report.error_rates
        return [
            self.words.say("board.colon", what=self.attribute(one.table), text=", ".join(names))
            for one in (found.tables if found else ())
            if (
                names := [
                    self.name(one.table, group)
                    for group, rates in one.by_group.items()
                    if rates.refused_known and rates.false_refusals is None
                ]
            )
        ]

    @property
    def has_good_refused(self) -> bool:
        """Whether refused people with a good outcome are counted anywhere."""
        return any(one.good_refused for _, groups in self.outcome_tables for one in groups.values())

    @property
    def has_calibration(self) -> bool:
        """Whether scores are compared with outcomes anywhere."""
        return any(one.calibration for _, groups in self.outcome_tables for one in groups.values())

    def own_data_gap(self, table: str, group: str) -> OwnDataGap | None:
        """A group against the reference on own data alone."""
        found = (
            gap for one in self.report.own_data.tables if one.table == table for gap in one.gaps
        )
        return next((gap for gap in found if gap.group == group), None)

    # ------------------------------------------------------------------ what is left out

    @property
    def left_out(self) -> list[tuple[str, list[str]]]:
        """Per table what it goes without, as keys of messages, and groups that are pooled."""
        names = dict.fromkeys(one.table for one in self.report.left_out)
        return [
            (
                name,
                [
                    "report.left_out.too_many"
                    if one.why == "too_many_groups"
                    else f"report.part.{one.part}"
                    for one in self.report.left_out
                    if one.table == name
                ],
            )
            for name in names
        ]

    @property
    def pools(self) -> list[tuple[str, int]]:
        """The tables with groups that are pooled, and how many."""
        return [
            (table.name, group.pooled)
            for table in self.all_tables
            for group in table.by_group
            if group.pooled
        ]

    # ------------------------------------------------------------------ drawings

    def draw_rate(self, rate: Rate, reference: Rate | None, alt: str) -> Picture:
        """A share with its interval, and a tick at the share of the reference."""
        strip = Strip(SHARES, unbroken(alt))
        interval = rate.on_graph or rate.interval
        share = rate.share or 0.0
        if reference is not None and reference.share is not None:
            strip = strip.tick(reference.share)
        if interval is None:
            return strip.dot(share, mark="square", colour="ink").picture()
        ends = interval.low, interval.high
        return strip.interval(share, *ends, filled=True, mark="square").picture()

    def draw_shares(self) -> Picture:
        """The figures of the axis of shares."""
        return axis_row(SHARES, [unbroken(self.words.whole_percent(tick)) for tick in SHARES.ticks])

    def draw_served(self, before: float, share: float, alt: str) -> Picture:
        """The share that an option adds to those of the rows above."""
        strip = Strip(SHARES, unbroken(alt)).span(0.0, before, colour="lines")
        return strip.span(before, before + share).picture()

    def curve(self, group: Group) -> EffortCurve | None:
        """The share with an option by effort; None where that is left out or nobody is counted."""
        found = group.outcomes
        if found is None or found.cost_curve is None or not found.feasibility.of:
            return None
        of, stopped = found.feasibility.of, found.not_found_within_budget or 0
        return EffortCurve(
            steps=tuple((point.cost, point.share) for point in found.cost_curve),
            none=(of - found.verified - stopped) / of,
            open=stopped / of,
        )

    def curves(self, table: GroupTable) -> list[EffortCurve]:
        """All curves of a table."""
        return [curve for group in table.by_group if (curve := self.curve(group)) is not None]

    def draw_curve(self, table: GroupTable, group: Group, alt: str) -> Picture | None:
        """The curve of one group, on the axis of all."""
        curve = self.curve(group)
        if curve is None:
            return None
        percents = self.words.whole_percent(0.0), self.words.whole_percent(1.0)
        return effort_strip(effort_axis(self.curves(table)), curve, percents, unbroken(alt))

    def draw_efforts(self, table: GroupTable) -> Picture:
        """The figures of the axis of efforts."""
        return effort_ticks(effort_axis(self.curves(table)))
