"""Comparisons and findings made by hand, for what headlines and pages say of them."""

from collections.abc import Sequence
from dataclasses import replace

from recourse_audit.groups.measures import HARDER, RATES
from recourse_audit.groups.verdicts import findings_of, worse_off
from recourse_audit.records.group_figures import (
    Comparison,
    Family,
    GapIntervals,
    Interval,
    Intervals,
    Measure,
    PValues,
    Verdict,
)
from recourse_audit.records.groups import GroupReport, GroupTable
from recourse_audit.settings import GroupSettings
from tests.render.group_reports import tiny_report


def compared(
    measure: Measure = "adverse_rate",
    gap: float = 0.2,
    verdict: Verdict = "gap shown",
    *,
    group: str = "south",
    family: Family = "single",
    no_gap: bool | None = None,
    tested: bool = True,
    interval: bool = True,
    smallest: float = 0.12,
    below: bool = False,
    stands: bool = True,
) -> Comparison:
    """A comparison with a verdict; plus is worse for the group."""
    difference = gap * HARDER[measure]
    ends = Interval(low=gap - 0.1, high=gap + 0.1) if interval else None
    nothing = Intervals(ordinary=None, on_graph=None)
    return Comparison(
        measure=measure,
        primary=True,
        family=family,
        group=group,
        reference="north",
        people=100,
        reference_people=100,
        value=0.5 + difference if measure in RATES else None,
        reference_value=0.5 if measure in RATES else None,
        difference=difference,
        ratio=None,
        gap=gap,
        gap_interval=ends,
        intervals=GapIntervals(difference=nothing, ratio=nothing),
        tests=PValues(
            ordinary=0.1,
            on_graph=0.1 if tested else None,
            adjusted=0.1 if tested else None,
            corrected_for=7 if tested else None,
            no_gap=0.1 if tested else None,
            no_gap_adjusted=0.1 if tested else None,
        ),
        precision=None,
        without_not_found=None,
        effect={},
        smallest_gap=smallest if tested else None,
        smallest_gap_in_family=smallest if tested else None,
        favourable_ratio=None,
        below_four_fifths=below,
        verdict=verdict,
        worse=worse_off(verdict, gap),
        no_gap=verdict == "no gap" if no_gap is None else no_gap,
        stands=stands and verdict == "gap shown",
        untested=None if tested else "no_ties",
    )


def report_on(comparisons: Sequence[Comparison], **changes: float) -> GroupReport:
    """A report with these comparisons and their findings."""
    settings = GroupSettings.model_validate(changes)
    tables = tuple(
        GroupTable(
            name=name,
            attributes=tuple(name.split(" x ")),
            reference="north",
            by_group=(),
            comparisons=tuple(one for one in comparisons if one.family == family),
            not_compared=None,
        )
        for name, family in (("origin", "single"), ("origin x gender", "crossed"))
    )
    return replace(
        tiny_report(),
        concern=settings.concern,
        tables=tables,
        findings=tuple(findings_of(tables, settings)),
    )
