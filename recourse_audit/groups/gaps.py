"""Every group of a table compared with the reference group, in every measure."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from recourse_audit.groups.arrays import Floats, Ints
from recourse_audit.groups.comparisons import RATES, Question, Sample, compare_groups
from recourse_audit.groups.inference import Inference
from recourse_audit.groups.measures import Divisions
from recourse_audit.groups.people import NOT_FOUND, REFUSED, UNDECIDED, Population
from recourse_audit.groups.tables import Grouping
from recourse_audit.records.group_figures import (
    GRADES,
    PRIMARY,
    Comparison,
    Family,
    Measure,
)
from recourse_audit.settings import GroupSettings

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
                if shown is not None and measure == "cost":
                    medians = (shown.at_step(one) for one in (found.value, found.reference_value))
                    found = replace(found, value=next(medians), reference_value=next(medians))
                elif shown is not None and not shown.quartiles and measure not in RATES:
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
