"""The whole group summary of an audit, made from its store alone."""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from recourse_audit.groups.cut_off import cut_off
from recourse_audit.groups.arrays import Ints
from recourse_audit.groups.common_options import MOST_SHOWN, choose, options_by_subject
from recourse_audit.groups.gaps import Members, compared_cells, gaps, members_of
from recourse_audit.groups.tables import Layout, lay_out, reference_cell
from recourse_audit.groups.measures import cost_grid, decisions_of, outcomes_of
from recourse_audit.groups.people import Population, read_population
from recourse_audit.groups.records import (
    PRIMARY,
    CommonOption,
    Comparison,
    Group,
    GroupReport,
    GroupTable,
    Overall,
)
from recourse_audit.groups.verdicts import judge
from recourse_audit.settings import GroupSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """What all parts of a report are made from."""

    population: Population
    settings: GroupSettings
    layout: Layout
    costs: list[float]
    references: list[tuple[int | None, str]]

    @property
    def level(self) -> float:
        """The smallest level that the correction for all primary tests comes down to."""
        tests = sum(
            len(compared_cells(self.layout, place, measure, reference))
            for place, (reference, _) in enumerate(self.references)
            if reference is not None
            for measure in PRIMARY
        )
        return self.settings.alpha / max(1, tests)


def group_report(
    store: sqlite3.Connection,
    settings: GroupSettings,
    *,
    finished: bool = True,
    done: int = 0,
    total: int = 0,
) -> GroupReport:
    """Compare the groups of an audit; `done` of `total` subjects are in a store not `finished`."""
    population = read_population(store, settings)
    layout = lay_out(population, settings)
    costs = cost_grid(population.audited.cost)
    places = range(len(layout.tables))
    work = _Work(
        population=population,
        settings=settings,
        layout=layout,
        costs=costs,
        references=[reference_cell(layout, place, settings) for place in places],
    )
    level = work.level
    drafts = [_table(work, place, level) for place in places]
    judged, family = judge(
        [(draft.name, one) for draft in drafts for one in draft.comparisons],
        settings,
        population.communities.method,
    )
    final = iter(judged)
    return GroupReport(
        finished=finished,
        done=done,
        total=total,
        communities=population.communities,
        smallest=settings.smallest,
        alpha=settings.alpha,
        concern=settings.concern,
        four_fifths=settings.four_fifths,
        draws=settings.draws,
        overall=_overall(work),
        tables=tuple(
            replace(draft, comparisons=tuple(islice(final, len(draft.comparisons))))
            for draft in drafts
        ),
        family=tuple(family),
        untested=sum(one.primary for one in judged) - len(family),
        suppressed=tuple(layout.suppressed()),
        cut_off=tuple(
            cut_off(store, population, settings, [layout.people.all[p] for p in layout.single()])
        ),
        common_options=tuple(_common_options(work, store)),
        notes=layout.left_out,
    )


def _overall(work: _Work) -> Overall:
    population, settings = work.population, work.settings
    audited = population.audited
    everyone = np.arange(audited.person.size)
    decisions = outcomes = None
    # A handful of people is as small as a whole as it is as a group.
    if population.people >= settings.smallest:
        everybody = np.arange(population.people)
        decisions = decisions_of(population, everybody, everyone.size, settings.alpha)
        if int(audited.usable.sum()) >= settings.smallest:
            outcomes = outcomes_of(population, everyone, work.costs, settings)
    # What failed may be told by the change it failed after, and nobody is named here.
    reasons = Counter(error.split(" after ")[0] for error in audited.errors)
    return Overall(decisions=decisions, outcomes=outcomes, excluded=dict(sorted(reasons.items())))


def _table(work: _Work, place: int, level: float) -> GroupTable:
    """One table with its comparisons, whose verdicts are still open."""
    layout, cells = work.layout, work.layout.tables[place]
    members = members_of(work.population, layout, place)
    reference, note = work.references[place]
    compared: tuple[Comparison, ...] = ()
    if reference is not None:
        compared = tuple(
            gaps(work.population, work.settings, layout, place, members, reference, level)
        )
    return GroupTable(
        attributes=tuple(one.name for one in cells.attributes),
        reference=None if reference is None else cells.label(reference),
        by_group=tuple(_group(work, place, cell, members) for cell in range(len(cells))),
        comparisons=compared,
        note=note,
    )


def _group(work: _Work, place: int, cell: int, members: Members) -> Group:
    layout, cells = work.layout, work.layout.tables[place]
    people, audited = members.people[cell], members.audited[cell]
    decisions = outcomes = None
    if not layout.people.all[place][cell]:
        decisions = decisions_of(work.population, people, audited.size, work.settings.alpha)
    if not layout.outcomes.all[place][cell]:
        outcomes = outcomes_of(work.population, audited, work.costs, work.settings)
    return Group(
        name=cells.label(cell),
        values=cells.words(cell),
        known=cells.known(cell),
        decisions=decisions,
        outcomes=outcomes,
        withheld=layout.why(place, cell),
    )


def _common_options(work: _Work, store: sqlite3.Connection) -> Iterator[CommonOption]:
    """Kinds of change, greedily, with the share of each shown group that they serve so far."""
    audited = work.population.audited
    usable = audited.person[audited.usable]
    if usable.size < work.settings.smallest or work.population.people < work.settings.smallest:
        return
    wanted = set(usable[np.isfinite(audited.cost[audited.usable])].tolist())
    options = {who: some for who, some in options_by_subject(store).items() if who in wanted}
    subjects = np.array(list(options), dtype=np.int64)
    before = 0
    for changes, served in islice(choose(options), MOST_SHOWN):
        reached = subjects[served]
        yield CommonOption(
            changes=changes,
            serves=reached.size - before,
            served_so_far=reached.size,
            share_so_far=reached.size / usable.size,
            shares_by_group=dict(_shares(work, reached, usable)),
        )
        before = reached.size


def _shares(work: _Work, reached: Ints, usable: Ints) -> Iterator[tuple[str, dict[str, float]]]:
    for place in work.layout.single():
        cells, hidden = work.layout.tables[place], work.layout.outcomes.all[place]
        there, of = cells.counts(reached), cells.counts(usable)
        yield (
            cells.name,
            {
                cells.label(cell): int(there[cell]) / int(of[cell])
                for cell in range(len(cells))
                if of[cell] and not hidden[cell]
            },
        )
