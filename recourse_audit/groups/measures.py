"""The figures of one group: decisions, outcomes of the audit, and costs of options."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recourse_audit.groups.population import (
    DISAGREES,
    ERROR,
    FAVOURABLE,
    INFEASIBLE,
    NOT_FOUND,
    NOWHERE,
    OUTCOMES,
    REFUSED,
    UNDECIDED,
    VERIFIED,
    Population,
)
from recourse_audit.groups.redraws import Floats, Ints, Mask
from recourse_audit.groups.tables import (
    Design,
    Grouping,
    choose_steps,
    detail_labels,
    is_divisible,
)
from recourse_audit.records.group_figures import (
    GRADES,
    CostPoint,
    DecisionCounts,
    Interval,
    Measure,
    Outcomes,
    Quartiles,
    Rate,
)
from recourse_audit.records.recourse import wilson

MOST_COST_POINTS = 40
# Between two quartiles of seven people there is room for two numbers of people.
FEWEST_IN_QUARTILES = 7
QUARTERS = (0.25, 0.5, 0.75)
UNGRADED = GRADES.index("not_settled")


@dataclass(frozen=True, slots=True, kw_only=True)
class Divisions:
    """How a table, or everybody, divides the audited further than by whether they have an option.

    `quartiles` are not shown of fewer than seven people, whom they would nearly list. `costs` are
    those at which the curve is given, and `cost_quartiles` says whether their quartiles may stand
    beside it. `valued` says of which exploratory measures it is shown how many people have a value.
    """

    details: bool
    quartiles: bool
    costs: tuple[float, ...]
    cost_quartiles: bool
    grades: bool
    valued: tuple[Measure, ...]


def divisions_of(
    population: Population, design: Design, grouping: Grouping | None, within: Divisions | None
) -> Divisions:
    """What may be shown; costs are some of those `within` the division of everybody."""
    audited = population.audited
    grid = cost_grid(audited.cost)
    steps = np.searchsorted(grid, audited.cost)
    labels = population.label_audited(np.where(np.isfinite(audited.cost), steps, NOWHERE))
    counts = design.count(grouping, labels)
    candidates = [step for step, cost in enumerate(grid) if within is None or cost in within.costs]
    costs = choose_steps(counts, candidates, design.smallest)
    if grid and not costs:
        design.leave_out(grouping, "cost_curve")
    valued: dict[Measure, Mask] = {
        "simulatability": ~np.isnan(audited.simulatability),
        "relevance": ~np.isnan(audited.relevance),
        "caveats": audited.grade < UNGRADED,
    }
    return Divisions(
        # Results are counted one by one in the list of everybody, so they are no secret in sum.
        details=grouping is None or design.allows(grouping, "details", detail_labels(population)),
        quartiles=is_divisible(
            design.count(grouping, population.label_audited(np.zeros_like(audited.status))),
            FEWEST_IN_QUARTILES,
        ),
        costs=tuple(grid[step] for step in costs),
        cost_quartiles=grouping is None
        or _quartiles_hide(population, grouping, counts, candidates, costs, grid),
        grades=design.allows(grouping, "grades", population.label_audited(audited.grade)),
        valued=tuple(
            measure
            for measure, has in valued.items()
            if design.allows(
                grouping,
                "grades" if measure == "caveats" else "explanations",
                population.label_audited(has.astype(np.int64)),
            )
        ),
    )


def _quartiles_hide(
    population: Population,
    grouping: Grouping,
    counts: Ints,
    candidates: Sequence[int],
    kept: Sequence[int],
    grid: Sequence[float],
) -> bool:
    """Whether no number of people within a cost follows from the quartiles of the groups.

    A quartile says that at least so many people of its group are within its cost, and fewer within
    any smaller one. At a cost at which everybody's curve is given and that of the table is not, the
    numbers of its groups have a known sum: none of them may be the only one that is possible.
    """
    audited = population.audited
    own, usable = grouping.cell[audited.person], audited.usable
    within, everybody = np.cumsum(counts, axis=1), counts.sum(axis=1)
    costs = [np.sort(audited.cost[usable & (own == cell)]) for cell in range(len(grouping))]
    places = [[max(1, math.ceil(share * one.size)) for share in QUARTERS] for one in costs]
    there = np.flatnonzero(everybody)
    for step in (one for one in candidates if one not in kept and there.size > 1):
        below, above = [k for k in kept if k < step], [k for k in kept if k > step]
        low = within[:, below[-1]].copy() if below else np.zeros_like(everybody)
        high = within[:, above[0]].copy() if above else everybody.copy()
        for cell in there.tolist():
            for place in places[cell]:
                if costs[cell][place - 1] <= grid[step]:
                    low[cell] = max(low[cell], place)
                else:
                    high[cell] = min(high[cell], place - 1)
        total = int(within[:, step].sum())
        least = np.maximum(low, total - (high.sum() - high))[there]
        most = np.minimum(high, total - (low.sum() - low))[there]
        if (least == most).any():
            return False
    return True


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
    shown: Divisions,
    alpha: float,
    inflation: float | None = None,
) -> Outcomes:
    """What the audit found for some of the audited (places among them).

    Shares leave out those whose audit failed, or whose decision on record is not the model's.
    """
    everyone = population.audited
    count = np.bincount(everyone.status[audited], minlength=len(OUTCOMES)).tolist()
    usable = audited[everyone.usable[audited]]
    status = everyone.status[usable]

    def rate(code: int) -> Rate:
        return rate_of(status == code, inflation, alpha)

    curve = bool(shown.costs) or not np.isfinite(everyone.cost).any()
    grades = np.bincount(everyone.grade[usable], minlength=len(GRADES)).tolist()
    return Outcomes(
        verified=count[VERIFIED],
        certified_infeasible=count[INFEASIBLE] if shown.details else None,
        not_found_within_budget=count[NOT_FOUND] if shown.details else None,
        errors=count[ERROR],
        disagreeing=count[DISAGREES],
        feasibility=rate(VERIFIED),
        infeasible=rate(INFEASIBLE) if shown.details else None,
        not_found=rate(NOT_FOUND) if shown.details else None,
        cost=quartiles_of(everyone.cost[usable]) if shown.cost_quartiles else None,
        cost_curve=tuple(_curve(everyone.cost[usable], shown.costs)) if curve else None,
        options=quartiles_of(everyone.options[usable]) if shown.quartiles else None,
        simulatability=_if_any(everyone.simulatability[usable], "simulatability", shown),
        relevance=_if_any(everyone.relevance[usable], "relevance", shown),
        grades=dict(zip(GRADES, grades, strict=True)) if shown.grades else None,
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
    places = [max(0, math.ceil(share * known.size) - 1) for share in QUARTERS]
    first, median, third = (
        float(known[place]) if known.size and math.isfinite(known[place]) else None
        for place in places
    )
    return Quartiles(of=known.size, first=first, median=median, third=third)


def _if_any(values: Floats, measure: Measure, shown: Divisions) -> Quartiles | None:
    quartiles = quartiles_of(values)
    return quartiles if shown.quartiles and measure in shown.valued and quartiles.of else None


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
