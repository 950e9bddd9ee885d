"""The figures of a group, and how every group of a table compares with the reference group.

Figures are decisions, outcomes of the audit, and costs of options; gaps come with intervals and
tests.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from recourse_audit.groups.inference import (
    GapTest,
    Inference,
    cohens_h,
    detectable,
    mid_ranks,
    p_within,
)
from recourse_audit.groups.population import (
    FAVOURABLE,
    NOT_FOUND,
    NOWHERE,
    OUTCOMES,
    REFUSED,
    UNDECIDED,
    Population,
)
from recourse_audit.groups.redraws import Floats, Ints, Mask
from recourse_audit.groups.tables import (
    Design,
    Grouping,
    Pair,
    choose_steps,
    detail_labels,
    is_divisible,
)
from recourse_audit.records.group_figures import (
    GRADES,
    PRIMARY,
    Comparison,
    CostPoint,
    DecisionCounts,
    GapIntervals,
    GapWithout,
    Interval,
    Intervals,
    Measure,
    Outcomes,
    PValues,
    Quartiles,
    Rate,
)
from recourse_audit.records.recourse import SEARCHED, wilson
from recourse_audit.settings import GroupSettings

MOST_COST_POINTS = 40
# Between two quartiles of seven people there is room for two numbers of people.
FEWEST_IN_QUARTILES = 7
QUARTERS = (0.25, 0.5, 0.75)
UNGRADED = GRADES.index("not_settled")
# The sign of a difference that is to the disadvantage of the group, of measures where one is.
HARDER: dict[Measure, int] = {"adverse_rate": 1, "feasibility": -1, "cost": 1, "options": -1}
RATES = ("adverse_rate", "feasibility")
FEWEST_COMPARED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What all parts of a report are made from."""

    population: Population
    settings: GroupSettings
    design: Design
    inference: Inference

    def test(self, values: Floats, pair: Pair) -> GapTest:
        """The gap in everybody's values between two groups of people."""
        both = np.concatenate([pair.people, pair.reference_people])
        return self.inference.test(values[both], np.arange(both.size) < pair.people.size, both)

    def rate(self, yes: Mask, inflation: float | None = None) -> Rate:
        return rate_of(yes, inflation, self.settings.alpha)


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
    audited, label = population.audited, population.label_audited
    grid = cost_grid(audited.cost)
    steps = np.searchsorted(grid, audited.cost)
    counts = design.count(grouping, label(np.where(np.isfinite(audited.cost), steps, NOWHERE)))
    candidates = [step for step, cost in enumerate(grid) if within is None or cost in within.costs]
    costs = choose_steps(counts, candidates, design.smallest)
    if grid and not costs:
        design.leave_out(grouping, "cost_curve")
    valued: dict[Measure, Mask] = {
        "simulatability": ~np.isnan(audited.simulatability),
        "relevance": ~np.isnan(audited.relevance),
        "caveats": audited.grade < UNGRADED,
    }
    everyone = design.count(grouping, label(np.zeros_like(audited.status)))
    return Divisions(
        # Results are counted one by one in the list of everybody, so they are no secret in sum.
        details=grouping is None or design.allows(grouping, "details", detail_labels(population)),
        quartiles=is_divisible(everyone, FEWEST_IN_QUARTILES),
        costs=tuple(grid[step] for step in costs),
        cost_quartiles=grouping is None
        or _quartiles_hide(population, grouping, counts, candidates, costs, grid),
        grades=design.allows(grouping, "grades", label(audited.grade)),
        valued=tuple(
            measure
            for measure, has in valued.items()
            if design.allows(
                grouping,
                "grades" if measure == "caveats" else "explanations",
                label(has.astype(np.int64)),
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
    within, everybody = np.cumsum(counts, axis=1), counts.sum(axis=1)
    usable = audited.cost[audited.usable]
    groups = grouping.split(audited.person[audited.usable])
    costs = [np.sort(usable[places]) for places in groups]
    there = np.flatnonzero(everybody)
    for step in (each for each in candidates if each not in kept and there.size > 1):
        below, above = [k for k in kept if k < step], [k for k in kept if k > step]
        low = within[:, below[-1]].copy() if below else np.zeros_like(everybody)
        high = within[:, above[0]].copy() if above else everybody.copy()
        for cell in there.tolist():
            for place in _quarter_places(costs[cell].size):
                if costs[cell][place] <= grid[step]:
                    low[cell] = max(low[cell], place + 1)
                else:
                    high[cell] = min(high[cell], place)
        total = int(within[:, step].sum())
        least = np.maximum(low, total - (high.sum() - high))[there]
        most = np.minimum(high, total - (low.sum() - low))[there]
        if (least == most).any():
            return False
    return True


def decisions_of(
    inputs: Inputs, people: Ints, audited: int, inflation: float | None = None
) -> DecisionCounts:
    """The decisions on some people, `audited` of whom are in the audit."""
    decided = inputs.population.decided[people]
    refused, favourable, undecided = (
        int((decided == decision).sum()) for decision in (REFUSED, FAVOURABLE, UNDECIDED)
    )
    return DecisionCounts(
        people=people.size,
        refused=refused,
        favourable=favourable,
        undecided=undecided,
        audited=audited,
        not_audited=refused - audited,
        adverse_rate=inputs.rate(decided[decided != UNDECIDED] == REFUSED, inflation),
    )


def outcomes_of(
    inputs: Inputs, audited: Ints, divisions: Divisions, inflation: float | None = None
) -> Outcomes:
    """What the audit found for some of the audited (places among them).

    Shares leave out those whose audit failed, or whose decision on record is not the model's.
    """
    everyone = inputs.population.audited
    counted = np.bincount(everyone.status[audited], minlength=len(OUTCOMES)).tolist()
    count, usable = dict(zip(OUTCOMES, counted, strict=True)), audited[everyone.usable[audited]]
    rates = [
        inputs.rate(everyone.status[usable] == OUTCOMES.index(status), inflation)
        for status in SEARCHED
    ]
    cost = np.sort(everyone.cost[usable])
    grades = np.bincount(everyone.grade[usable], minlength=len(GRADES)).tolist()

    def quartiles(values: Floats, measure: Measure) -> Quartiles | None:
        own = quartiles_of(values[usable])
        return own if divisions.quartiles and measure in divisions.valued and own.of else None

    return Outcomes(
        verified=count["verified"],
        certified_infeasible=count["certified_infeasible"] if divisions.details else None,
        not_found_within_budget=count["not_found_within_budget"] if divisions.details else None,
        errors=count["error"],
        disagreeing=count["model_disagrees"],
        feasibility=rates[0],
        infeasible=rates[1] if divisions.details else None,
        not_found=rates[2] if divisions.details else None,
        cost=quartiles_of(cost) if divisions.cost_quartiles else None,
        cost_curve=_cost_curve(cost, divisions.costs)
        if divisions.costs or not np.isfinite(everyone.cost).any()
        else None,
        options=quartiles_of(everyone.options[usable]) if divisions.quartiles else None,
        simulatability=quartiles(everyone.simulatability, "simulatability"),
        relevance=quartiles(everyone.relevance, "relevance"),
        grades=dict(zip(GRADES, grades, strict=True)) if divisions.grades else None,
    )


def rate_of(yes: Mask, inflation: float | None, alpha: float) -> Rate:
    """A share with two Wilson intervals: for independent people, and for people who are tied.

    The second counts the people over the inflation, which comes from the group's comparison.
    """
    count, of = int(yes.sum()), yes.size
    if not of:
        return Rate(count=0, of=0, share=None, interval=None, on_graph=None)

    def interval(over: float) -> Interval:
        low, high = wilson(count / over, of / over, 1 - alpha)
        return Interval(low=low, high=high)

    return Rate(
        count=count,
        of=of,
        share=count / of,
        interval=interval(1.0),
        on_graph=None if inflation is None else interval(max(1.0, inflation)),
    )


def _quarter_places(people: int) -> list[int]:
    """Whose values are the quartiles, of so many people in ascending order."""
    return [max(0, math.ceil(share * people) - 1) for share in QUARTERS]


def quartiles_of(values: Floats) -> Quartiles:
    """Quartiles that are values of people; NaN is left out, infinity lies beyond everything."""
    known = np.sort(values[~np.isnan(values)])
    first, median, third = (
        float(known[place]) if known.size and math.isfinite(known[place]) else None
        for place in _quarter_places(known.size)
    )
    return Quartiles(of=known.size, first=first, median=median, third=third)


def cost_grid(costs: Floats) -> list[float]:
    """The costs at which all curves are given: those that were found, thinned if there are many."""
    distinct = np.unique(costs[np.isfinite(costs)])
    if distinct.size > MOST_COST_POINTS:
        places = np.linspace(0, distinct.size - 1, MOST_COST_POINTS).round().astype(np.int64)
        distinct = distinct[places]
    return [float(cost) for cost in distinct]


def _cost_curve(costs: Floats, grid: Sequence[float]) -> tuple[CostPoint, ...]:
    counts = np.searchsorted(costs, grid if costs.size else [], side="right").tolist()
    return tuple(
        CostPoint(cost=cost, count=count, share=count / costs.size)
        for cost, count in zip(grid, counts, strict=False)
    )


def measures_of(grouping: Grouping, divisions: Divisions | None) -> list[Measure]:
    """What a table compares groups in; crossed or without outcomes, in fewer measures."""
    if divisions is None:
        return ["adverse_rate"]
    return [*PRIMARY] if grouping.crossed else [*PRIMARY, "options", *divisions.valued]


def compare_groups(
    inputs: Inputs, grouping: Grouping, divisions: Divisions | None, tick: Callable[[], None]
) -> Iterator[Comparison]:
    """All comparisons of a table, of no unknown or pooled group; `tick` is called after each."""
    for measure in measures_of(grouping, divisions):
        values = _values(inputs.population, measure)
        # Not everybody has an explanation or a caveat, so only a few values may be left.
        least = FEWEST_COMPARED if measure in PRIMARY else inputs.settings.smallest
        for pair in grouping.pairs(~np.isnan(values)):
            if pair.fewer >= least:
                comparison = _compare(inputs, measure, values, pair, divisions)
                yield replace(comparison, family="crossed") if grouping.crossed else comparison
            tick()


def _values(population: Population, measure: Measure) -> Floats:
    """Everybody's value; NaN for people without one."""
    if measure == "adverse_rate":
        decided = population.decided
        return np.where(decided == UNDECIDED, np.nan, decided == REFUSED)
    audited = population.audited
    if measure == "feasibility":
        own = np.isfinite(audited.cost).astype(np.float64)
    elif measure == "caveats":
        own = np.where(audited.grade >= UNGRADED, np.nan, audited.grade)
    else:
        own = getattr(audited, measure)
    values = np.full(population.people, np.nan)
    values[audited.person[audited.usable]] = own[audited.usable]
    return values


def _compare(
    inputs: Inputs, measure: Measure, values: Floats, pair: Pair, divisions: Divisions | None
) -> Comparison:
    """Compare a group with the reference; the verdict depends on the whole family."""
    tested, settings = _test(inputs, measure, values, pair), inputs.settings
    own, others = values[pair.people], values[pair.reference_people]
    sign, favourable, below = HARDER.get(measure, 1), None, False
    middle: list[float | None]
    if measure in RATES:
        share, other = float(own.mean()), float(others.mean())
        middle, ratio = [share, other], share / other if other else None
        good = [1 - each if sign > 0 else each for each in (share, other)]
        favourable = good[0] / good[1] if good[1] else None
        below = max(good) > 0 and min(good) / max(good) < settings.four_fifths
        effect = {"cohens_h": cohens_h(share, other)}
    else:
        ratio = _odds(tested.difference)
        shown = divisions and (
            divisions.cost_quartiles if measure == "cost" else divisions.quartiles
        )
        middle = [quartiles_of(side).median if shown else None for side in (own, others)]
        effect = {"relative_effect": (1 + tested.difference) / 2}
    error, no_gap = tested.error, None
    if measure in HARDER and tested.p is not None and error is not None:
        no_gap = p_within(tested.difference, settings.concern, error)
    ordinary = tested.ordinary
    return Comparison(
        measure=measure,
        primary=measure in PRIMARY,
        family="single" if measure in PRIMARY else None,
        group=pair.group,
        reference=pair.reference,
        people=own.size,
        reference_people=others.size,
        value=middle[0],
        reference_value=middle[1],
        difference=tested.difference,
        ratio=ratio,
        gap=sign * tested.difference,
        gap_interval=_change_ends(tested.interval, lambda end: sign * end),
        intervals=GapIntervals(
            difference=Intervals(ordinary=ordinary.interval, on_graph=tested.interval),
            ratio=Intervals(ordinary=ordinary.ratio_interval, on_graph=tested.ratio_interval),
        ),
        tests=PValues(
            ordinary=ordinary.p, on_graph=tested.p, cautious=tested.cautious, no_gap=no_gap
        ),
        precision=tested.precision,
        without_not_found=_compare_without(inputs, measure, values, pair, divisions),
        effect=effect,
        smallest_gap=None if error is None else detectable(error, settings.alpha),
        favourable_ratio=favourable,
        below_four_fifths=below,
        untested=tested.reason,
    )


def _test(inputs: Inputs, measure: Measure, values: Floats, pair: Pair) -> GapTest:
    """Test shares as they are, and amounts by their ranks."""
    if measure in RATES:
        return inputs.test(values, pair)
    both = np.concatenate([pair.people, pair.reference_people])
    ranks = np.full(values.size, np.nan)
    ranks[both] = mid_ranks(values[both])
    tested = inputs.test(ranks, pair)
    # A difference of chances is never beyond 1 or -1.
    own, ordinary = (
        _change_ends(interval, lambda end: min(1.0, max(-1.0, end)))
        for interval in (tested.interval, tested.ordinary.interval)
    )
    odds, ordinary_odds = _change_ends(own, _odds), _change_ends(ordinary, _odds)
    independent = replace(tested.ordinary, interval=ordinary, ratio_interval=ordinary_odds)
    return replace(tested, interval=own, ratio_interval=odds, ordinary=independent)


def _compare_without(
    inputs: Inputs, measure: Measure, values: Floats, pair: Pair, divisions: Divisions | None
) -> GapWithout | None:
    """The gap among those whose value is known for certain.

    None if the search stopped early for nobody, nobody is left on a side, or that is not shown.
    """
    if measure not in ("feasibility", "cost") or divisions is None or not divisions.details:
        return None
    audited = inputs.population.audited
    stopped = audited.person[audited.status == NOT_FOUND]
    own, others = (side[~np.isin(side, stopped)] for side in (pair.people, pair.reference_people))
    rest = pair._replace(people=own, reference_people=others)
    if not rest.fewer or own.size + others.size == pair.people.size + pair.reference_people.size:
        return None
    tested, sign = _test(inputs, measure, values, rest), HARDER[measure]
    return GapWithout(
        people=own.size,
        reference_people=others.size,
        gap=sign * tested.difference,
        interval=_change_ends(tested.interval, lambda end: sign * end),
        p=tested.p,
    )


def _odds(difference: float) -> float | None:
    """The odds of more against less, from the difference of their chances."""
    return (1 + difference) / (1 - difference) if difference < 1 else None


def _change_ends(
    interval: Interval | None, change: Callable[[float], float | None]
) -> Interval | None:
    """The interval of a changed figure; None where an end has none."""
    if interval is None:
        return None
    low, high = change(interval.low), change(interval.high)
    if low is None or high is None:
        return None
    return Interval(low=min(low, high), high=max(low, high))
