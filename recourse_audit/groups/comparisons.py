"""Every group of a table against the reference group: gaps, their intervals and their tests.

Last come refusals on own data alone, beside those that were decided, with the paired difference: of
everybody with a decision, d is 1 if they were refused and would not be on their own data alone, -1
the other way round, and 0 otherwise. The mean of d in a group is the share refused as decided minus
the share refused alone, and groups are compared in it person by person. These figures describe;
they are no part of the family of tests and get no verdict.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from recourse_audit.groups.inference import (
    GapTest,
    Inference,
    below,
    cohens_h,
    detectable,
    mid_ranks,
)
from recourse_audit.groups.measures import Divisions, quartiles_of, rate_of
from recourse_audit.groups.population import (
    FAVOURABLE,
    NOT_FOUND,
    NOWHERE,
    REFUSED,
    UNDECIDED,
    Population,
)
from recourse_audit.groups.redraws import Floats, Ints, Mask
from recourse_audit.groups.tables import (
    ALONE_NO_OPTION,
    Design,
    Grouping,
    detail_labels,
    own_data_labels,
)
from recourse_audit.records.group_figures import (
    GRADES,
    PRIMARY,
    Comparison,
    Family,
    GapIntervals,
    GapWithout,
    Interval,
    Intervals,
    Measure,
    OwnDataGap,
    OwnDataRates,
    PValues,
    Rate,
)
from recourse_audit.records.groups import OwnDataGroups, OwnDataTable
from recourse_audit.settings import GroupSettings

# The sign of a difference that is to the disadvantage of the group; 0 where neither sign is.
HARDER: dict[Measure, int] = {
    "adverse_rate": 1,
    "feasibility": -1,
    "cost": 1,
    "options": -1,
    "simulatability": 0,
    "relevance": 0,
    "caveats": 0,
}
RATES = ("adverse_rate", "feasibility")
FEWEST_COMPARED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What all parts of a report are made from."""

    population: Population
    settings: GroupSettings
    design: Design
    inference: Inference

    def test(self, values: Floats, group: Ints, reference: Ints) -> GapTest:
        """The gap in everybody's values between two groups of people."""
        both = np.concatenate([group, reference])
        return self.inference.test(values[both], np.arange(both.size) < group.size, both)

    def rate(self, yes: Mask, inflation: float | None = None) -> Rate:
        """The share of some people of whom something is so."""
        return rate_of(yes, inflation, self.settings.alpha)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Both sides of a comparison: per person a value, a side, and the number in the graph.

    `stopped` are those for whom the search stopped early, so that nobody knows their true value.
    """

    values: Floats
    member: Mask
    people: Ints
    stopped: Mask

    def without_stopped(self) -> "Sample | None":
        """The others; None if it stopped early for nobody, or nobody is left on a side."""
        kept = ~self.stopped
        if kept.all() or not self.member[kept].any() or self.member[kept].all():
            return None
        return Sample(
            values=self.values[kept],
            member=self.member[kept],
            people=self.people[kept],
            stopped=self.stopped[kept],
        )


def gaps(
    inputs: Inputs, grouping: Grouping, shown: Divisions | None, tick: Callable[[], None]
) -> Iterator[Comparison]:
    """All comparisons of a table; crossed ones are compared in what is concluded from only.

    Groups that are unknown or pooled are never compared. Without a division of the audited, only
    decisions are. `tick` is called after every pair.
    """
    for measure in _measures(grouping, shown):
        values = _values(inputs.population, measure)
        people = [members[~np.isnan(values[members])] for members in grouping.members]
        # Not everybody has an explanation or a caveat, so only a few values may be left.
        least = FEWEST_COMPARED if measure in PRIMARY else inputs.settings.smallest
        for cell in grouping.compared:
            assert grouping.reference is not None
            sides = people[cell], people[grouping.reference]
            if min(side.size for side in sides) >= least:
                sample = _sample(inputs.population, measure, values, *sides)
                comparison = _compare(inputs, grouping, cell, measure, sample)
                if shown is None or not shown.details:  # how many were not found is a detail
                    comparison = replace(comparison, without_not_found=None)
                if shown is not None and measure not in RATES:
                    medians = shown.cost_quartiles if measure == "cost" else shown.quartiles
                    if not medians:
                        comparison = replace(comparison, value=None, reference_value=None)
                yield comparison
            tick()


def count_pairs(grouping: Grouping, shown: Divisions | None) -> int:
    """How many comparisons a table has, those that turn out to be of too few included."""
    return len(_measures(grouping, shown)) * len(grouping.compared)


def _measures(grouping: Grouping, shown: Divisions | None) -> list[Measure]:
    if shown is None:
        return ["adverse_rate"]
    return [*PRIMARY] if grouping.crossed else [*PRIMARY, "options", *shown.valued]


def _values(population: Population, measure: Measure) -> Floats:
    """Everybody's value; NaN for people without one."""
    values = np.full(population.people, np.nan)
    if measure == "adverse_rate":
        known = population.decided != UNDECIDED
        values[known] = population.decided[known] == REFUSED
        return values
    audited = population.audited
    grade = audited.grade.astype(np.float64)
    grade[grade >= GRADES.index("not_settled")] = np.nan
    own = {
        "feasibility": np.isfinite(audited.cost).astype(np.float64),
        "cost": audited.cost,
        "options": audited.options,
        "simulatability": audited.simulatability,
        "relevance": audited.relevance,
        "caveats": grade,
    }[measure]
    values[audited.person[audited.usable]] = own[audited.usable]
    return values


def _sample(
    population: Population, measure: Measure, values: Floats, group: Ints, reference: Ints
) -> Sample:
    people = np.concatenate([group, reference])
    stopped = np.zeros(people.size, dtype=bool)
    if measure in ("feasibility", "cost"):
        audited = population.audited
        stopped = np.isin(people, audited.person[audited.status == NOT_FOUND])
    member = np.arange(people.size) < group.size
    return Sample(values=values[people], member=member, people=people, stopped=stopped)


def _compare(
    inputs: Inputs, grouping: Grouping, cell: int, measure: Measure, sample: Sample
) -> Comparison:
    """Compare one group with the reference; the verdict depends on the whole family."""
    assert grouping.reference is not None
    tested, settings = _test(measure, sample, inputs.inference), inputs.settings
    group, reference = sample.values[sample.member], sample.values[~sample.member]
    sign, favourable = HARDER[measure] or 1, None
    values: tuple[float | None, float | None]
    if measure in RATES:
        values = share, other = float(group.mean()), float(reference.mean())
        ratio = share / other if other else None
        good = [1 - each if sign > 0 else each for each in values]
        favourable = good[0] / good[1] if good[1] else None
        effect = {"cohens_h": cohens_h(share, other)}
    else:
        values = quartiles_of(group).median, quartiles_of(reference).median
        ratio = _odds(tested.difference)
        effect = {"relative_effect": (1 + tested.difference) / 2}
    family: Family = "crossed" if grouping.crossed else "single"
    error, no_gap = tested.error, None
    if HARDER[measure] and tested.p is not None and error is not None:
        no_gap = below(sign * tested.difference, settings.concern, error)
    rest = sample.without_stopped() if measure in PRIMARY else None
    return Comparison(
        measure=measure,
        primary=measure in PRIMARY,
        family=family if measure in PRIMARY else None,
        group=grouping.label(cell),
        reference=grouping.label(grouping.reference),
        people=group.size,
        reference_people=reference.size,
        value=values[0],
        reference_value=values[1],
        difference=tested.difference,
        ratio=ratio,
        gap=sign * tested.difference,
        gap_interval=_turn(tested.interval, sign),
        intervals=GapIntervals(
            difference=Intervals(ordinary=tested.ordinary.interval, on_graph=tested.interval),
            ratio=Intervals(
                ordinary=tested.ordinary.ratio_interval, on_graph=tested.ratio_interval
            ),
        ),
        tests=PValues(
            ordinary=tested.ordinary.p,
            on_graph=tested.p,
            adjusted=None,
            corrected_for=None,
            no_gap=no_gap,
            no_gap_adjusted=None,
        ),
        precision=tested.precision,
        without_not_found=None if rest is None else _gap_without(measure, rest, inputs.inference),
        effect=effect,
        smallest_gap=None if error is None else detectable(error, settings.alpha),
        smallest_gap_in_family=None,
        favourable_ratio=favourable,
        below_four_fifths=favourable is not None and favourable < settings.four_fifths,
        verdict=None,
        worse=None,
        no_gap=False,
        untested=tested.reason,
    )


def _test(measure: Measure, sample: Sample, inference: Inference) -> GapTest:
    """Test shares as they are, and amounts by their ranks."""
    if measure in RATES:
        return inference.test(sample.values, sample.member, sample.people)
    tested = inference.test(mid_ranks(sample.values), sample.member, sample.people)
    odds = _odds_interval(tested.interval)
    ordinary = replace(
        tested.ordinary,
        interval=_within(tested.ordinary.interval),
        ratio_interval=_odds_interval(tested.ordinary.interval),
    )
    return replace(
        tested, interval=_within(tested.interval), ratio_interval=odds, ordinary=ordinary
    )


def _gap_without(measure: Measure, rest: Sample, inference: Inference) -> GapWithout:
    """The gap among those whose value is known for certain."""
    tested, sign = _test(measure, rest, inference), HARDER[measure]
    return GapWithout(
        people=int(rest.member.sum()),
        reference_people=int((~rest.member).sum()),
        gap=sign * tested.difference,
        interval=_turn(tested.interval, sign),
        p=tested.p,
    )


def _turn(interval: Interval | None, sign: int) -> Interval | None:
    if interval is None or sign > 0:
        return interval
    return Interval(low=-interval.high, high=-interval.low)


def _within(interval: Interval | None) -> Interval | None:
    """A difference of chances is never beyond 1 or -1."""
    if interval is None:
        return None
    return Interval(low=max(-1.0, interval.low), high=min(1.0, interval.high))


def _odds(difference: float) -> float | None:
    """The odds of more against less, from the difference of their chances."""
    return (1 + difference) / (1 - difference) if difference < 1 else None


def _odds_interval(interval: Interval | None) -> Interval | None:
    inside = _within(interval)
    if inside is None:
        return None
    low, high = _odds(inside.low), _odds(inside.high)
    return None if low is None or high is None else Interval(low=low, high=high)


def own_data_of(inputs: Inputs) -> OwnDataGroups:
    """The figures of everybody and of all tables that can show them, and the gaps in them."""
    population, design = inputs.population, inputs.design
    known = population.changed is not None
    divisions = [
        np.where(population.decided == decision, population.decided_alone, NOWHERE)
        for decision in (FAVOURABLE, REFUSED)
    ]
    if not known or not design.people or not design.allows(None, "own_data", *divisions):
        return OwnDataGroups(known=known, overall=None, tables=())
    everybody = np.arange(population.people)
    return OwnDataGroups(
        known=True,
        overall=_own_data_rates(inputs, everybody, no_option=design.outcomes),
        tables=tuple(
            _own_data_table(inputs, grouping)
            for grouping in design.groupings
            if design.allows(grouping, "own_data", *divisions)
        ),
    )


def _own_data_table(inputs: Inputs, grouping: Grouping) -> OwnDataTable:
    no_option = _shows_no_option(inputs, grouping)
    decided_on = inputs.population.decided != UNDECIDED
    people = [members[decided_on[members]] for members in grouping.members]
    gaps = []
    if grouping.reference is not None and people[grouping.reference].size:
        gaps = [
            _own_data_gap(inputs, grouping, cell, people[cell], people[grouping.reference])
            for cell in grouping.compared
            if people[cell].size
        ]
    return OwnDataTable(
        table=grouping.name,
        by_group={
            grouping.label(cell): _own_data_rates(inputs, members, no_option=no_option)
            for cell, members in enumerate(people)
            if members.size
        },
        gaps=tuple(gaps),
    )


def _shows_no_option(inputs: Inputs, grouping: Grouping) -> bool:
    """Whether a table says who would be let in alone and has no option.

    By one attribute that is said of a whole group, as having an option is, wherever it is said for
    whom no option exists. Of two attributes crossed every cell needs enough people.
    """
    if not grouping.outcomes:
        return False
    needed = [detail_labels(inputs.population)]
    if grouping.crossed:
        needed.append(own_data_labels(inputs.population))
    return inputs.design.allows(grouping, "own_data_no_option", *needed)


def _own_data_rates(inputs: Inputs, people: Ints, *, no_option: bool) -> OwnDataRates:
    population = inputs.population
    people = people[population.decided[people] != UNDECIDED]
    decided, alone = population.decided[people], population.decided_alone[people]
    labels = own_data_labels(population)[people]
    refused, refused_alone = (inputs.rate(answers == REFUSED) for answers in (decided, alone))
    return OwnDataRates(
        refused=refused,
        refused_alone=refused_alone,
        to_favourable=int(((decided == REFUSED) & (alone == FAVOURABLE)).sum()),
        to_refused=int(((decided == FAVOURABLE) & (alone == REFUSED)).sum()),
        difference=(refused.count - refused_alone.count) / people.size if people.size else None,
        no_option=inputs.rate(labels[labels != NOWHERE] == ALONE_NO_OPTION) if no_option else None,
    )


def _own_data_gap(
    inputs: Inputs, grouping: Grouping, cell: int, group: Ints, reference: Ints
) -> OwnDataGap:
    assert grouping.reference is not None
    population = inputs.population
    decided, on_own = (
        (answers == REFUSED).astype(np.float64)
        for answers in (population.decided, population.decided_alone)
    )
    alone, paired = (inputs.test(values, group, reference) for values in (on_own, decided - on_own))
    return OwnDataGap(
        group=grouping.label(cell),
        reference=grouping.label(grouping.reference),
        alone=alone.difference,
        alone_interval=alone.interval,
        difference=paired.difference,
        interval=paired.interval,
        p=paired.p,
        untested=paired.reason,
    )
