"""Refusals on own data alone by group, beside those that were decided, with the paired difference.

Of everybody with a decision, d is 1 if they were refused and would not be on their own data alone,
-1 the other way round, and 0 otherwise. The mean of d in a group is the share refused as decided
minus the share refused alone, and groups are compared in it person by person. These figures
describe; they are no part of the family of tests and get no verdict.
"""

from collections.abc import Iterator

import numpy as np

from recourse_audit.groups.arrays import Floats, Ints
from recourse_audit.groups.comparisons import Sample, gap_over_communities
from recourse_audit.groups.gaps import Members, members_of
from recourse_audit.groups.measures import rate_of
from recourse_audit.groups.people import FAVOURABLE, REFUSED, UNDECIDED, Population
from recourse_audit.groups.tables import TableSet
from recourse_audit.records.group_figures import OwnDataGap, OwnDataRates
from recourse_audit.records.groups import OwnDataGroups, OwnDataTable
from recourse_audit.settings import GroupSettings

NOT_KNOWN = (
    "It is not known for everybody what the model would decide on their own data alone: it was not "
    "asked, or its answer is not a number."
)
NOT_SHOWN = "Refusals on own data alone are withheld, so that nothing follows about a few people."
SOME_NOT_SHOWN = (
    "In some tables, refusals on own data alone are withheld, so that nothing follows about a few "
    "people."
)


def own_data_of(
    population: Population,
    settings: GroupSettings,
    table_set: TableSet,
    references: list[tuple[int | None, str]],
) -> OwnDataGroups:
    """The figures of everybody and of all tables that can show them, and the gaps in them."""
    withheld = table_set.withheld.without_own_data
    if population.changed is None:
        return OwnDataGroups(overall=None, tables=(), note=NOT_KNOWN)
    if withheld is None:
        return OwnDataGroups(overall=None, tables=(), note=NOT_SHOWN)
    tables = []
    for place, (reference, _) in enumerate(references):
        if not withheld[place]:
            members = members_of(population, table_set, place)
            tables.append(_table(population, settings, table_set, place, members, reference))
    return OwnDataGroups(
        overall=_rates(population, _decided(population, np.arange(population.people)), settings),
        tables=tuple(tables),
        note=SOME_NOT_SHOWN if any(withheld) else "",
    )


def _table(
    population: Population,
    settings: GroupSettings,
    table_set: TableSet,
    place: int,
    members: Members,
    reference: int | None,
) -> OwnDataTable:
    cells = table_set.tables[place]
    people = [_decided(population, some) for some in members.people]
    there = [cell for cell in range(len(cells)) if people[cell].size]
    gaps: Iterator[OwnDataGap] = iter(())
    if reference is not None and people[reference].size:
        gaps = (
            _gap(
                population,
                settings,
                (cells.label(cell), cells.label(reference)),
                (people[cell], people[reference]),
            )
            for cell in there
            if cell != reference and cells.known(cell)
        )
    return OwnDataTable(
        table=cells.name,
        by_group={cells.label(cell): _rates(population, people[cell], settings) for cell in there},
        gaps=tuple(gaps),
    )


def _decided(population: Population, people: Ints) -> Ints:
    decided: Ints = people[population.decided[people] != UNDECIDED]
    return decided


def _rates(population: Population, people: Ints, settings: GroupSettings) -> OwnDataRates:
    decided, alone = population.decided[people], population.decided_alone[people]
    community = None if population.community is None else population.community[people]
    rates = [rate_of(one == REFUSED, community, settings.alpha) for one in (decided, alone)]
    return OwnDataRates(
        refused=rates[0],
        refused_alone=rates[1],
        to_favourable=int(((decided == REFUSED) & (alone == FAVOURABLE)).sum()),
        to_refused=int(((decided == FAVOURABLE) & (alone == REFUSED)).sum()),
        difference=(rates[0].count - rates[1].count) / people.size if people.size else None,
    )


def _gap(
    population: Population,
    settings: GroupSettings,
    names: tuple[str, str],
    people: tuple[Ints, Ints],
) -> OwnDataGap:
    seed = population.communities.seed
    alone, paired = (
        _sample(population, values, people)
        for values in (
            (population.decided_alone == REFUSED).astype(np.float64),
            (population.decided == REFUSED) - (population.decided_alone == REFUSED).astype(float),
        )
    )
    alone_interval, _, _ = gap_over_communities(alone, settings, seed)
    interval, communities, reason = gap_over_communities(paired, settings, seed)
    return OwnDataGap(
        group=names[0],
        reference=names[1],
        alone=_difference(alone),
        alone_interval=alone_interval,
        difference=_difference(paired),
        interval=interval,
        communities=communities,
        reason=reason,
    )


def _sample(population: Population, values: Floats, people: tuple[Ints, Ints]) -> Sample:
    everybody = np.concatenate(people)
    return Sample(
        values=values[everybody],
        member=np.arange(everybody.size) < people[0].size,
        community=None if population.community is None else population.community[everybody],
        alone=population.alone(everybody),
    )


def _difference(sample: Sample) -> float:
    one, other = sample.sides
    return float(one.mean() - other.mean())
