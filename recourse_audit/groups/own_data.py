"""Refusals on own data alone by group, beside those that were decided, with the paired difference.

Of everybody with a decision, d is 1 if they were refused and would not be on their own data alone,
-1 the other way round, and 0 otherwise. The mean of d in a group is the share refused as decided
minus the share refused alone, and groups are compared in it person by person. These figures
describe; they are no part of the family of tests and get no verdict.
"""

from collections.abc import Iterator

import numpy as np

from recourse_audit.groups.arrays import Floats, Ints
from recourse_audit.groups.gaps import Members, members_of
from recourse_audit.groups.inference import GapTest, Inference
from recourse_audit.groups.measures import rate_of
from recourse_audit.groups.notes import OWN_NOT_KNOWN, OWN_NOT_SHOWN, OWN_SOME_NOT_SHOWN
from recourse_audit.groups.people import FAVOURABLE, REFUSED, UNDECIDED, Population
from recourse_audit.groups.tables import TableSet
from recourse_audit.records.group_figures import OwnDataGap, OwnDataRates
from recourse_audit.records.groups import OwnDataGroups, OwnDataTable
from recourse_audit.settings import GroupSettings


def own_data_of(
    population: Population,
    settings: GroupSettings,
    table_set: TableSet,
    references: list[tuple[int | None, str]],
    inference: Inference,
) -> OwnDataGroups:
    """The figures of everybody and of all tables that can show them, and the gaps in them."""
    withheld = table_set.withheld.without_own_data
    if population.changed is None:
        return OwnDataGroups(overall=None, tables=(), note=OWN_NOT_KNOWN)
    if withheld is None:
        return OwnDataGroups(overall=None, tables=(), note=OWN_NOT_SHOWN)
    tables = []
    for place, (reference, _) in enumerate(references):
        if not withheld[place]:
            members = members_of(population, table_set, place)
            tables.append(
                _table(population, settings, table_set, place, members, reference, inference)
            )
    return OwnDataGroups(
        overall=_rates(population, _decided(population, np.arange(population.people)), settings),
        tables=tuple(tables),
        note=OWN_SOME_NOT_SHOWN if any(withheld) else "",
    )


def _table(
    population: Population,
    settings: GroupSettings,
    table_set: TableSet,
    place: int,
    members: Members,
    reference: int | None,
    inference: Inference,
) -> OwnDataTable:
    cells = table_set.tables[place]
    people = [_decided(population, some) for some in members.people]
    there = [cell for cell in range(len(cells)) if people[cell].size]
    gaps: Iterator[OwnDataGap] = iter(())
    if reference is not None and people[reference].size:
        gaps = (
            _gap(
                population,
                inference,
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
    rates = [rate_of(one == REFUSED, None, settings.alpha) for one in (decided, alone)]
    return OwnDataRates(
        refused=rates[0],
        refused_alone=rates[1],
        to_favourable=int(((decided == REFUSED) & (alone == FAVOURABLE)).sum()),
        to_refused=int(((decided == FAVOURABLE) & (alone == REFUSED)).sum()),
        difference=(rates[0].count - rates[1].count) / people.size if people.size else None,
    )


def _gap(
    population: Population,
    inference: Inference,
    names: tuple[str, str],
    people: tuple[Ints, Ints],
) -> OwnDataGap:
    decided, on_own = (
        (one == REFUSED).astype(np.float64)
        for one in (population.decided, population.decided_alone)
    )
    alone, paired = (_test(inference, values, people) for values in (on_own, decided - on_own))
    return OwnDataGap(
        group=names[0],
        reference=names[1],
        alone=alone.difference,
        alone_interval=alone.interval,
        difference=paired.difference,
        interval=paired.interval,
        p=paired.p,
        reason=paired.reason,
    )


def _test(inference: Inference, values: Floats, people: tuple[Ints, Ints]) -> GapTest:
    both = np.concatenate(people)
    return inference.test(values[both], np.arange(both.size) < people[0].size, both)
