"""The block that the index and the group report begin with: which groups and gaps it shows.

The four cards are about one table, that of the headline; the plot has the groups of all single
attributes. `pieces/board.html` says everything. Nothing is in it that is not in the group report.
"""

from functools import cached_property

from recourse_audit.records.group_figures import Comparison, Group, Measure, OwnDataRates, Rate
from recourse_audit.records.groups import Finding, GroupReport, GroupTable
from recourse_audit.render.charts.board import Part, gap_strip, gaps_axis, share_bar
from recourse_audit.render.charts.strips import Axis, axis_row
from recourse_audit.render.charts.svg import Picture
from recourse_audit.render.gaps import Gaps
from recourse_audit.render.i18n import Words

MOST_GROUPS = 6
MOST_ROWS = 12
PLOTTED: tuple[Measure, ...] = ("adverse_rate", "feasibility")


class Board(Gaps):
    """A group report, and what its first block shows of it."""

    @cached_property
    def leading(self) -> Finding | None:
        """The finding that the cards are about: the headline, or the largest gap."""
        if self.headline is not None:
            return self.headline
        ranked = [*self.findings("single"), *self.findings("crossed")]
        shares = [one for one in ranked if one.measure != "cost" and one.family == ranked[0].family]
        return max(shares or ranked, key=lambda one: one.gap, default=None)

    @cached_property
    def table(self) -> GroupTable | None:
        """The table that the cards are about; None where every table is left out."""
        name = self.leading.table if self.leading is not None else None
        tables = self.report.tables if name is not None else self.tables("single")
        return next((table for table in tables if name in (None, table.name)), None)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The groups in the cards: that of the finding, the reference, and the largest."""
        if self.table is None:
            return ()
        named = None if self.leading is None else self.leading.group

        def rank(group: Group) -> tuple[bool, bool, int]:
            reference = self.table is not None and group.name == self.table.reference
            return group.name != named, not reference, -group.decisions.people

        return tuple(sorted(self.table.by_group, key=rank)[:MOST_GROUPS])

    def compared(self, measure: Measure) -> Comparison | None:
        """The comparison that a card is about."""
        if self.leading is None:
            return None
        return self.comparison(self.leading.table, self.leading.group, measure)

    @property
    def own_data(self) -> dict[str, OwnDataRates]:
        """Refusals on own data alone, by group; empty where they are not known or left out."""
        name = None if self.table is None else self.table.name
        tables = self.report.own_data.tables
        return next((one.by_group for one in tables if one.table == name), {})

    @property
    def without_option(self) -> dict[str, Rate]:
        """Who would be approved without their ties and has no option, by group."""
        found = {name: rates.no_option for name, rates in self.own_data.items()}
        return {name: rate for name, rate in found.items() if rate is not None}

    def bar(self, alt: str, *parts: tuple[Part, float]) -> Picture:
        """Shares from nothing to everybody."""
        return share_bar(parts, alt)

    # ------------------------------------------------------------------ the plot of gaps

    @property
    def plotted(self) -> tuple[Measure, ...]:
        """The measures in the plot: those with comparisons."""
        measured = {measure for _, _, gaps in self._all_rows for measure in gaps}
        return tuple(measure for measure in PLOTTED if measure in measured)

    @cached_property
    def _all_rows(self) -> list[tuple[str, str, dict[Measure, Comparison]]]:
        rows: dict[tuple[str, str], dict[Measure, Comparison]] = {}
        for table in self.tables("single"):
            for one in table.comparisons:
                if one.measure in PLOTTED:
                    rows.setdefault((table.name, one.group), {})[one.measure] = one
        return [(table, group, gaps) for (table, group), gaps in rows.items()]

    @property
    def rows(self) -> list[tuple[str, str, dict[Measure, Comparison]]]:
        """The groups in the plot; of many, those with the largest gaps, in their order."""
        largest = sorted(
            self._all_rows, key=lambda row: -max(abs(one.gap) for one in row[2].values())
        )[:MOST_ROWS]
        return [row for row in self._all_rows if row in largest]

    @property
    def rows_left(self) -> int:
        """How many groups are not in the plot."""
        return max(len(self._all_rows) - MOST_ROWS, 0)

    @cached_property
    def axis(self) -> Axis:
        """One scale for all gaps."""
        gaps = [one for _, _, gaps in self.rows for one in gaps.values()]
        ends = [one.gap_interval for one in gaps if one.gap_interval is not None]
        places = [*(one.gap for one in gaps), *(end.low for end in ends), *(e.high for e in ends)]
        return gaps_axis(places, self.report.concern)

    def draw_gap(self, one: Comparison, alt: str) -> Picture:
        """A gap with its interval; right is worse."""
        return gap_strip(self.axis, one.gap, one.gap_interval, alt)

    def draw_axis(self) -> Picture:
        """The figures below the plot."""
        return axis_row(self.axis, [self.say("tick", place) for place in self.axis.ticks])


def board_view(report: GroupReport, words: Words) -> Board:
    """The block of a report."""
    return Board(report, words)
