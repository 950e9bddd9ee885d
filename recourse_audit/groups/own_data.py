"""Refusals on own data alone by group, beside those that were decided, with the paired difference.

Of everybody with a decision, d is 1 if they were refused and would not be on their own data alone,
-1 the other way round, and 0 otherwise. The mean of d in a group is the share refused as decided
minus the share refused alone, and groups are compared in it person by person. These figures
describe; they are no part of the family of tests and get no verdict.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from recourse_audit.groups.arrays import Floats, Ints
from recourse_audit.groups.gaps import members_of
from recourse_audit.groups.inference import GapTest, Inference
from recourse_audit.groups.measures import rate_of
from recourse_audit.groups.people import FAVOURABLE, NOWHERE, REFUSED, UNDECIDED, Population
from recourse_audit.groups.tables import Design, Grouping
from recourse_audit.records.group_figures import OwnDataGap, OwnDataRates
from recourse_audit.records.groups import OwnDataGroups, OwnDataTable
from recourse_audit.settings import GroupSettings


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
        overall=_rates(population, _decided(population, np.arange(population.people)), settings),
        tables=tuple(
            _table(population, settings, grouping, reference, inference)
            for grouping, reference in zip(design.groupings, references, strict=True)
            if design.allows(grouping, "own_data", *divisions)
        ),
    )


def _table(
    population: Population,
    settings: GroupSettings,
    grouping: Grouping,
    reference: int | None,
    inference: Inference,
) -> OwnDataTable:
    members = members_of(population, grouping).people
    people = [_decided(population, some) for some in members]
    there = [cell for cell in range(len(grouping)) if people[cell].size]
    gaps: Iterator[OwnDataGap] = iter(())
    if reference is not None and people[reference].size:
        gaps = (
            _gap(
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
            grouping.label(cell): _rates(population, people[cell], settings) for cell in there
        },
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
        untested=paired.reason,
    )


def _test(inference: Inference, values: Floats, people: tuple[Ints, Ints]) -> GapTest:
    both = np.concatenate(people)
    return inference.test(values[both], np.arange(both.size) < people[0].size, both)
