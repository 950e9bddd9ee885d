"""The figures of one group: decisions, outcomes of the audit, and costs of options."""

import math
from collections.abc import Sequence

import numpy as np

from recourse_audit.groups.arrays import Floats, Ints, Mask
from recourse_audit.groups.people import FAVOURABLE, OUTCOMES, REFUSED, UNDECIDED, Population
from recourse_audit.records.group_figures import (
    GRADES,
    CostPoint,
    DecisionCounts,
    Interval,
    Outcomes,
    Quartiles,
    Rate,
)
from recourse_audit.records.recourse import RecourseStatus, wilson
from recourse_audit.settings import GroupSettings

MOST_COST_POINTS = 40


def decisions_of(
    population: Population,
    people: Ints,
    audited: int,
    alpha: float,
    inflation: float | None = None,
) -> DecisionCounts:
    """The decisions on some people, `audited` of whom are in the audit."""
    decided = population.decided[people]
    refused = int((decided == REFUSED).sum())
    known = people[decided != UNDECIDED]
    return DecisionCounts(
        people=people.size,
        refused=refused,
        favourable=int((decided == FAVOURABLE).sum()),
        undecided=int((decided == UNDECIDED).sum()),
        audited=audited,
        not_audited=refused - audited,
        adverse_rate=rate_of(population.decided[known] == REFUSED, inflation, alpha),
    )


def outcomes_of(
    population: Population,
    audited: Ints,
    costs: Sequence[float],
    settings: GroupSettings,
    inflation: float | None = None,
) -> Outcomes:
    """What the audit found for some of the audited (places among them); shares leave out errors."""
    everyone = population.audited
    counts = np.bincount(everyone.status[audited], minlength=len(OUTCOMES)).tolist()
    count = dict(zip(OUTCOMES, counts, strict=True))
    usable = audited[everyone.usable[audited]]
    status = everyone.status[usable]

    def rate(one: RecourseStatus) -> Rate:
        return rate_of(status == OUTCOMES.index(one), inflation, settings.alpha)

    grades = np.bincount(everyone.grade[usable], minlength=len(GRADES)).tolist()
    return Outcomes(
        verified=count["verified"],
        certified_infeasible=count["certified_infeasible"],
        not_found_within_budget=count["not_found_within_budget"],
        errors=count["error"],
        feasibility=rate("verified"),
        infeasible=rate("certified_infeasible"),
        not_found=rate("not_found_within_budget"),
        cost=quartiles_of(everyone.cost[usable]),
        cost_curve=tuple(_curve(everyone.cost[usable], costs)),
        options=quartiles_of(everyone.options[usable]),
        simulatability=_if_many(quartiles_of(everyone.simulatability[usable]), settings),
        relevance=_if_many(quartiles_of(everyone.relevance[usable]), settings),
        grades=dict(zip(GRADES, grades, strict=True)),
    )


def rate_of(yes: Mask, inflation: float | None, alpha: float) -> Rate:
    """A share with two Wilson intervals: for independent people, and for people who are tied.

    The second counts the people over the inflation, which comes from the group's comparison.
    """
    count, of = int(yes.sum()), yes.size
    if not of:
        return Rate(count=0, of=0, share=None, interval=None, on_graph=None)
    on_graph = None
    if inflation is not None:
        on_graph = _wilson(count / max(1.0, inflation), of / max(1.0, inflation), alpha)
    return Rate(
        count=count,
        of=of,
        share=count / of,
        interval=_wilson(count, of, alpha),
        on_graph=on_graph,
    )


def _wilson(count: float, of: float, alpha: float) -> Interval:
    low, high = wilson(count, of, 1 - alpha)
    return Interval(low=low, high=high)


def quartiles_of(values: Floats) -> Quartiles:
    """Quartiles that are values of people; NaN is left out, infinity lies beyond everything."""
    known = np.sort(values[~np.isnan(values)])
    places = [max(0, math.ceil(share * known.size) - 1) for share in (0.25, 0.5, 0.75)]
    first, median, third = (
        float(known[place]) if known.size and math.isfinite(known[place]) else None
        for place in places
    )
    return Quartiles(of=known.size, first=first, median=median, third=third)


def _if_many(quartiles: Quartiles, settings: GroupSettings) -> Quartiles | None:
    """Not everybody has a value, and a median of a handful would be one person's figure."""
    return quartiles if quartiles.of >= settings.smallest else None


def cost_grid(costs: Floats) -> list[float]:
    """The costs at which all curves are given: those that were found, thinned if there are many."""
    found = np.unique(costs[np.isfinite(costs)])
    if found.size > MOST_COST_POINTS:
        found = found[np.linspace(0, found.size - 1, MOST_COST_POINTS).round().astype(np.int64)]
    return [float(cost) for cost in found]


def _curve(costs: Floats, grid: Sequence[float]) -> list[CostPoint]:
    ordered = np.sort(costs)
    if not ordered.size:
        return []
    counts = np.searchsorted(ordered, grid, side="right").tolist()
    return [
        CostPoint(cost=cost, count=count, share=count / ordered.size)
        for cost, count in zip(grid, counts, strict=True)
    ]
