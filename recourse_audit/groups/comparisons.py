"""Every group of a table against the reference group: gaps, their intervals and their tests.

Last come refusals on own data alone, beside those that were decided, with the paired difference: of
everybody with a decision, d is 1 if they were refused and would not be on their own data alone, -1
the other way round, and 0 otherwise. The mean of d in a group is the share refused as decided minus
the share refused alone, and groups are compared in it person by person. These figures describe;
they are no part of the family of tests and get no verdict.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from recourse_audit.groups.arrays import Floats, Ints, Mask
from recourse_audit.groups.inference import (
    CommunityError,
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
    ByColumn,
    Comparison,
    Family,
    GapIntervals,
    GapWithout,
    Interval,
    Intervals,
    Measure,
    OwnDataGap,
    OwnDataRates,
    Precision,
    PValues,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Both sides of a comparison: per person a value, a side, and the number in the graph.

    `stopped` are those for whom the search stopped early, so that nobody knows their true value.
    """

    values: Floats
    member: Mask
    people: Ints
    stopped: Mask

    @property
    def sides(self) -> tuple[Floats, Floats]:
        return self.values[self.member], self.values[~self.member]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is compared, and with whom; `family` is None where nothing is concluded from it."""

    measure: Measure
    family: Family | None
    group: str
    reference: str
    settings: GroupSettings


def compare_groups(question: Question, sample: Sample, inference: Inference) -> Comparison:
    """Compare one group with the reference; the verdict depends on the whole family."""
    tested, settings = _test(question, sample, inference), question.settings
    one, other = sample.sides
    sign = HARDER[question.measure] or 1
    values: tuple[float | None, float | None]
    ratio: float | None
    favourable = None
    if question.measure in RATES:
        values = share, reference = float(one.mean()), float(other.mean())
        ratio = share / reference if reference else None
        good = [1 - each if sign > 0 else each for each in values]
        favourable = good[0] / good[1] if good[1] else None
        effect = {"cohens_h": cohens_h(share, reference)}
    else:
        values = quartiles_of(one).median, quartiles_of(other).median
        ratio = _odds(tested.difference)
        effect = {"relative_effect": (1 + tested.difference) / 2}
    error = tested.error
    return Comparison(
        measure=question.measure,
        primary=question.family is not None,
        family=question.family,
        group=question.group,
        reference=question.reference,
        people=one.size,
        reference_people=other.size,
        value=values[0],
        reference_value=values[1],
        difference=tested.difference,
        ratio=ratio,
        gap=sign * tested.difference,
        gap_interval=_turned(tested.interval, sign),
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
            no_gap=_no_gap(tested, sign, settings) if HARDER[question.measure] else None,
            no_gap_adjusted=None,
        ),
        precision=_precision(tested),
        without_not_found=_without_stopped(question, sample, inference),
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


def _test(question: Question, sample: Sample, inference: Inference) -> GapTest:
    """Test shares as they are, and amounts by their ranks."""
    if question.measure in RATES:
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


def _without_stopped(question: Question, sample: Sample, inference: Inference) -> GapWithout | None:
    """The same gap among those whose value is known for certain, if that is not everybody."""
    rest = sample.without_stopped()
    if question.family is None or rest is None:
        return None
    tested, sign = _test(question, rest, inference), HARDER[question.measure]
    return GapWithout(
        people=int(rest.member.sum()),
        reference_people=int((~rest.member).sum()),
        gap=sign * tested.difference,
        interval=_turned(tested.interval, sign),
        p=tested.p,
    )


def _no_gap(tested: GapTest, sign: int, settings: GroupSettings) -> float | None:
    if tested.p is None or tested.error is None:
        return None
    return below(sign * tested.difference, settings.concern, tested.error)


def _precision(tested: GapTest) -> Precision | None:
    if tested.error is None:
        return None
    assert tested.effective is not None
    assert tested.inflation is not None
    assert tested.redrawn is not None
    assert tested.fit is not None
    return Precision(
        error=tested.error,
        effective=tested.effective,
        inflation=tested.inflation,
        redrawn=tested.redrawn,
        fit=tested.fit,
        redraws=tested.redraws,
        sampled=tested.sampled,
        by_column=_by_column(tested.communities, decides=tested.by_column),
    )


def _by_column(found: CommunityError | None, *, decides: bool) -> ByColumn | None:
    if found is None:
        return None
    return ByColumn(
        communities=found.communities, leaving=found.leaving, p=found.p, decides=decides
    )


def _turned(interval: Interval | None, sign: int) -> Interval | None:
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
    found = _within(interval)
    if found is None:
        return None
    low, high = _odds(found.low), _odds(found.high)
    return None if low is None or high is None else Interval(low=low, high=high)


FEWEST_COMPARED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """By cell of a table, its people, and the places of its audited among all audited."""

    people: list[Ints]
    audited: list[Ints]


def members_of(population: Population, grouping: Grouping) -> Members:
    """Sort everybody into the groups of a table."""
    return Members(
        people=_by_cell(grouping.cell, len(grouping)),
        audited=_by_cell(grouping.cell[population.audited.person], len(grouping)),
    )


def gaps(
    population: Population,
    settings: GroupSettings,
    grouping: Grouping,
    shown: Divisions | None,
    members: Members,
    reference: int,
    inference: Inference,
    tick: Callable[[], None],
) -> Iterator[Comparison]:
    """All comparisons of a table; crossed ones are compared in what is concluded from only.

    Groups that are unknown or pooled are never compared. Without a division of the audited, only
    decisions are. `tick` is called after every pair.
    """
    family: Family = "crossed" if grouping.crossed else "single"
    for measure in _measures(grouping, shown):
        other = _values(population, measure, members, reference)
        for cell in _compared_cells(grouping, reference):
            one = _values(population, measure, members, cell)
            # Not everybody has an explanation or a caveat, so only a few values may be left.
            least = FEWEST_COMPARED if measure in PRIMARY else settings.smallest
            if min(one[0].size, other[0].size) >= least:
                found = compare_groups(
                    Question(
                        measure=measure,
                        family=family if measure in PRIMARY else None,
                        group=grouping.label(cell),
                        reference=grouping.label(reference),
                        settings=settings,
                    ),
                    _sample(population, measure, one, other),
                    inference,
                )
                if shown is None or not shown.details:  # how many were not found is a detail
                    found = replace(found, without_not_found=None)
                if shown is not None and measure not in RATES:
                    medians = shown.cost_quartiles if measure == "cost" else shown.quartiles
                    if not medians:
                        found = replace(found, value=None, reference_value=None)
                yield found
            tick()


def count_pairs(grouping: Grouping, shown: Divisions | None, reference: int | None) -> int:
    """How many comparisons a table has, those that turn out to be of too few included."""
    if reference is None:
        return 0
    return len(_measures(grouping, shown)) * len(_compared_cells(grouping, reference))


def _measures(grouping: Grouping, shown: Divisions | None) -> list[Measure]:
    if shown is None:
        return ["adverse_rate"]
    return [*PRIMARY] if grouping.crossed else [*PRIMARY, "options", *shown.valued]


def _compared_cells(grouping: Grouping, reference: int) -> list[int]:
    cells = range(len(grouping))
    return [cell for cell in cells if cell != reference and grouping.known(cell)]


def _values(
    population: Population, measure: Measure, members: Members, cell: int
) -> tuple[Floats, Ints]:
    """The values of the people in a cell, and who they are; people without a value are left out."""
    if measure == "adverse_rate":
        people = members.people[cell]
        people = people[population.decided[people] != UNDECIDED]
        return (population.decided[people] == REFUSED).astype(np.float64), people
    audited = population.audited
    places = members.audited[cell]
    places = places[audited.usable[places]]
    grade = audited.grade[places].astype(np.float64)
    grade[grade >= GRADES.index("not_settled")] = np.nan
    values = {
        "feasibility": np.isfinite(audited.cost[places]).astype(np.float64),
        "cost": audited.cost[places],
        "options": audited.options[places],
        "simulatability": audited.simulatability[places],
        "relevance": audited.relevance[places],
        "caveats": grade,
    }[measure]
    there = ~np.isnan(values)
    return values[there], audited.person[places[there]]


def _sample(
    population: Population,
    measure: Measure,
    one: tuple[Floats, Ints],
    other: tuple[Floats, Ints],
) -> Sample:
    people = np.concatenate([one[1], other[1]])
    stopped = np.zeros(people.size, dtype=bool)
    if measure in ("feasibility", "cost"):
        audited = population.audited
        stopped = np.isin(people, audited.person[audited.status == NOT_FOUND])
    return Sample(
        values=np.concatenate([one[0], other[0]]),
        member=np.arange(people.size) < one[0].size,
        people=people,
        stopped=stopped,
    )


def _by_cell(cell: Ints, cells: int) -> list[Ints]:
    """The places of each cell, in order."""
    order = np.argsort(cell, kind="stable")
    ends = np.cumsum(np.bincount(cell, minlength=cells))
    return np.split(order, ends[:-1])


def own_data_of(
    population: Population,
    settings: GroupSettings,
    design: Design,
    references: Sequence[int | None],
    inference: Inference,
) -> OwnDataGroups:
    """The figures of everybody and of all tables that can show them, and the gaps in them."""
    known = population.changed is not None
    divisions = [
        np.where(population.decided == decision, population.decided_alone, NOWHERE)
        for decision in (FAVOURABLE, REFUSED)
    ]
    if not known or not design.people or not design.allows(None, "own_data", *divisions):
        return OwnDataGroups(known=known, overall=None, tables=())
    return OwnDataGroups(
        known=True,
        overall=_own_data_rates(
            population,
            _people_decided_on(population, np.arange(population.people)),
            settings,
            no_option=design.outcomes,
        ),
        tables=tuple(
            _own_data_table(population, settings, design, grouping, reference, inference)
            for grouping, reference in zip(design.groupings, references, strict=True)
            if design.allows(grouping, "own_data", *divisions)
        ),
    )


def _own_data_table(
    population: Population,
    settings: GroupSettings,
    design: Design,
    grouping: Grouping,
    reference: int | None,
    inference: Inference,
) -> OwnDataTable:
    no_option = _shows_no_option(population, design, grouping)
    members = members_of(population, grouping).people
    people = [_people_decided_on(population, some) for some in members]
    there = [cell for cell in range(len(grouping)) if people[cell].size]
    gaps: Iterator[OwnDataGap] = iter(())
    if reference is not None and people[reference].size:
        gaps = (
            _own_data_gap(
                population,
                inference,
                (grouping.label(cell), grouping.label(reference)),
                (people[cell], people[reference]),
            )
            for cell in there
            if cell != reference and grouping.known(cell)
        )
    return OwnDataTable(
        table=grouping.name,
        by_group={
            grouping.label(cell): _own_data_rates(
                population, people[cell], settings, no_option=no_option
            )
            for cell in there
        },
        gaps=tuple(gaps),
    )


def _shows_no_option(population: Population, design: Design, grouping: Grouping) -> bool:
    """Whether a table says who would be let in alone and has no option.

    By one attribute that is said of a whole group, as having an option is, wherever it is said for
    whom no option exists. Of two attributes crossed every cell needs enough people.
    """
    needed = [own_data_labels(population)] if grouping.crossed else []
    if not grouping.outcomes:
        return False
    if not design.passes(grouping, detail_labels(population), *needed):
        design.leave_out(grouping, "own_data_no_option")
        return False
    return True


def _people_decided_on(population: Population, people: Ints) -> Ints:
    decided: Ints = people[population.decided[people] != UNDECIDED]
    return decided


def _own_data_rates(
    population: Population, people: Ints, settings: GroupSettings, *, no_option: bool
) -> OwnDataRates:
    labels = own_data_labels(population)[people]
    decided, alone = population.decided[people], population.decided_alone[people]
    rates = [rate_of(one == REFUSED, None, settings.alpha) for one in (decided, alone)]
    return OwnDataRates(
        refused=rates[0],
        refused_alone=rates[1],
        to_favourable=int(((decided == REFUSED) & (alone == FAVOURABLE)).sum()),
        to_refused=int(((decided == FAVOURABLE) & (alone == REFUSED)).sum()),
        difference=(rates[0].count - rates[1].count) / people.size if people.size else None,
        no_option=(
            rate_of(labels[labels != NOWHERE] == ALONE_NO_OPTION, None, settings.alpha)
            if no_option
            else None
        ),
    )


def _own_data_gap(
    population: Population,
    inference: Inference,
    names: tuple[str, str],
    people: tuple[Ints, Ints],
) -> OwnDataGap:
    decided, on_own = (
        (one == REFUSED).astype(np.float64)
        for one in (population.decided, population.decided_alone)
    )
    alone, paired = (
        _test_own_data(inference, values, people) for values in (on_own, decided - on_own)
    )
    return OwnDataGap(
        group=names[0],
        reference=names[1],
        alone=alone.difference,
        alone_interval=alone.interval,
        difference=paired.difference,
        interval=paired.interval,
        p=paired.p,
        untested=paired.reason,
    )


def _test_own_data(inference: Inference, values: Floats, people: tuple[Ints, Ints]) -> GapTest:
    both = np.concatenate(people)
    return inference.test(values[both], np.arange(both.size) < people[0].size, both)
