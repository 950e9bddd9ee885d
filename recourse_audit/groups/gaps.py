"""Every group of a table compared with the reference group, in every measure."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from recourse_audit.groups.arrays import Floats, Ints
from recourse_audit.groups.comparisons import Question, Sample, compare_groups
from recourse_audit.groups.inference import Inference
from recourse_audit.groups.people import NOT_FOUND, REFUSED, UNDECIDED, Population
from recourse_audit.groups.tables import TableSet
from recourse_audit.records.group_figures import (
    EXPLORATORY,
    GRADES,
    PRIMARY,
    Comparison,
    Family,
    Measure,
)
from recourse_audit.settings import GroupSettings

FEWEST_COMPARED = 2
# Not everybody has a value of these, so that a comparison counts people who are a detail.
DETAILS: tuple[Measure, ...] = ("simulatability", "relevance", "caveats")
# The values of these are medians.
MEDIANS: tuple[Measure, ...] = ("cost", "options")


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """By cell of a table, its people, and the places of its audited among all audited."""

    people: list[Ints]
    audited: list[Ints]


def members_of(population: Population, table_set: TableSet, place: int) -> Members:
    """Sort everybody into the cells of a table."""
    cells = table_set.tables[place]
    return Members(
        people=_by_cell(cells.cell, len(cells)),
        audited=_by_cell(cells.cell[population.audited.person], len(cells)),
    )


def gaps(
    population: Population,
    settings: GroupSettings,
    table_set: TableSet,
    place: int,
    members: Members,
    reference: int,
    inference: Inference,
    tick: Callable[[], None],
) -> Iterator[Comparison]:
    """All comparisons of a table; crossed ones are compared in what is concluded from only.

    Groups that are unknown or withheld are never compared, and no detail is where details are
    withheld. `tick` is called after every pair.
    """
    family: Family = "single" if len(table_set.tables[place].attributes) == 1 else "crossed"
    cells, withheld = table_set.tables[place], table_set.withheld
    for measure in _measures(table_set, place):
        other = _values(population, measure, members, reference)
        for cell in compared_cells(table_set, place, measure, reference):
            one = _values(population, measure, members, cell)
            # Not everybody has an explanation or a caveat, so only a few values may be left.
            least = FEWEST_COMPARED if measure in PRIMARY else settings.smallest
            if min(one[0].size, other[0].size) >= least:
                found = compare_groups(
                    Question(
                        measure=measure,
                        family=family if measure in PRIMARY else None,
                        group=cells.label(cell),
                        reference=cells.label(reference),
                        settings=settings,
                    ),
                    _sample(population, measure, one, other),
                    inference,
                )
                if withheld.undetailed[place]:  # how many were not found is a detail
                    found = replace(found, without_not_found=None)
                if withheld.without_quartiles[place] and measure in MEDIANS:
                    found = replace(found, value=None, reference_value=None)
                yield found
            tick()


def count_pairs(table_set: TableSet, place: int, reference: int | None) -> int:
    """How many comparisons a table has, those that turn out to be of too few included."""
    if reference is None:
        return 0
    measures = _measures(table_set, place)
    return sum(len(compared_cells(table_set, place, measure, reference)) for measure in measures)


def _measures(table_set: TableSet, place: int) -> list[Measure]:
    left_out = DETAILS if table_set.withheld.undetailed[place] else ()
    single = len(table_set.tables[place].attributes) == 1
    measures = (*PRIMARY, *EXPLORATORY) if single else PRIMARY
    return [measure for measure in measures if measure not in left_out]


def compared_cells(table_set: TableSet, place: int, measure: Measure, reference: int) -> list[int]:
    """The known cells shown in a measure; none at all if the reference is withheld."""
    withheld = table_set.people if measure == "adverse_rate" else table_set.outcomes
    cells, hidden = table_set.tables[place], withheld.all[place]
    if hidden[reference]:
        return []
    return [
        cell
        for cell in range(len(cells))
        if cell != reference and not hidden[cell] and cells.known(cell)
    ]


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
