"""The group report of an audit, made from its stored bundle alone: no model, no graph."""

import itertools
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from recourse_audit.bundle.reader import StoredAudit
from recourse_audit.errors import InputError
from recourse_audit.groups.arrays import Ints
from recourse_audit.groups.common_actions import common_actions_of, read_served
from recourse_audit.groups.cut_off import MOST_SHOWN, choose, cut_off, options_by_subject
from recourse_audit.groups.error_rates import error_rates_of
from recourse_audit.groups.findings import findings_of
from recourse_audit.groups.gaps import Members, count_pairs, gaps, members_of
from recourse_audit.groups.inference import Inference, largest_inflation
from recourse_audit.groups.measures import cost_grid, decisions_of, outcomes_of
from recourse_audit.groups.own_data import own_data_of
from recourse_audit.groups.people import Population, read_population
from recourse_audit.groups.tables import TableSet, make_tables, reference_cell
from recourse_audit.groups.verdicts import give_verdicts
from recourse_audit.records.group_figures import Comparison, Group, Measure, Outcomes
from recourse_audit.records.groups import (
    FORMAT,
    Change,
    CommonOption,
    Communities,
    Flag,
    GroupReport,
    GroupTable,
    Overall,
)
from recourse_audit.records.model import Agreement
from recourse_audit.settings import GroupSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class _Inputs:
    """What all parts of a report are made from."""

    population: Population
    settings: GroupSettings
    table_set: TableSet
    costs: list[float]
    references: list[tuple[int | None, str]]
    inference: Inference


def groups_of(
    stored: StoredAudit, progress: Callable[[int, int], None] = lambda done, total: None
) -> GroupReport:
    """Compare the groups of a stored audit, finished or not, by its own settings.

    The bundle is only read. The report has no days, so that equal audits have equal reports.
    """
    try:
        return group_report(
            stored.connection,
            stored.settings.groups,
            stored.communities,
            finished=stored.finished,
            done=stored.done,
            total=stored.total,
            agreement=stored.agreement,
            outcome=stored.settings.decision.outcome,
            scored=stored.settings.model.output == "score",
            progress=progress,
        )
    except InputError as error:
        raise InputError(f"{stored.folder}: {error}") from None


def group_report(
    store: sqlite3.Connection,
    settings: GroupSettings,
    communities: Communities,
    *,
    finished: bool = True,
    done: int = 0,
    total: int = 0,
    agreement: Agreement | None = None,
    outcome: str | None = None,
    scored: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> GroupReport:
    """Compare the groups of an audit.

    `done` of `total` subjects are in the store. Of the `agreement` with the record, only what is
    about everybody is kept: its groups would say what may be withheld here. `outcome` is the column
    with what came true later, if there is one, and `scored` says that the model gives scores.
    `progress` is told how many pairs of groups were compared, and how many there are.
    """
    population = read_population(store, settings, communities)
    choices = list(_choices(population, store))
    served = read_served(store, population, settings.smallest)
    table_set = make_tables(
        population, settings, [people for _, people in choices], [*served.marks()]
    )
    places = range(len(table_set.tables))
    inputs = _Inputs(
        population=population,
        settings=settings,
        table_set=table_set,
        costs=cost_grid(population.audited.cost),
        references=[reference_cell(table_set, place, settings) for place in places],
        inference=Inference(
            population.network,
            seed=communities.seed,
            alpha=settings.alpha,
            redraws=settings.redraws,
            communities=population.community,
        ),
    )
    pairs = sum(count_pairs(table_set, place, inputs.references[place][0]) for place in places)
    compared = itertools.count(1)
    drafts = [_table(inputs, place, lambda: progress(next(compared), pairs)) for place in places]
    decided, tests = give_verdicts(
        [(draft.name, one) for draft in drafts for one in draft.comparisons], settings
    )
    final = iter(decided)
    tables = tuple(
        replace(draft, comparisons=tuple(islice(final, len(draft.comparisons)))) for draft in drafts
    )
    hidden = [table_set.people.all[place] for place in table_set.single()]
    return GroupReport(
        format=FORMAT,
        finished=finished,
        done=done,
        total=total,
        ran=None,
        agreement=None if agreement is None else agreement.without_people(),
        communities=communities,
        smallest=settings.smallest,
        alpha=settings.alpha,
        concern=settings.concern,
        four_fifths=settings.four_fifths,
        redraws=settings.redraws,
        overall=_overall(inputs),
        tables=tables,
        tests=tuple(tests),
        untested=sum(one.primary for one in decided) - len(tests),
        flags=tuple(_flags(tables)),
        headline={},
        findings=tuple(findings_of(tables, settings)),
        suppressed=tuple(table_set.suppressed()),
        cut_off=tuple(cut_off(store, population, settings, hidden)),
        common_options=tuple(_common_options(inputs, choices)),
        common_actions=common_actions_of(
            served, settings, table_set, inputs.references, inputs.inference.test
        ),
        own_data=own_data_of(population, settings, table_set, inputs.references, inputs.inference),
        error_rates=None
        if outcome is None
        else error_rates_of(
            *(population, settings, table_set, inputs.references, inputs.inference),
            column=outcome,
            scored=scored,
        ),
        notes=table_set.left_out,
    )


def _flags(tables: Iterable[GroupTable]) -> Iterator[Flag]:
    for table in tables:
        for one in table.comparisons:
            if one.verdict == "gap shown":
                assert one.tests.adjusted is not None
                yield Flag(
                    table=table.name,
                    group=one.group,
                    reference=one.reference,
                    measure=one.measure,
                    direction=one.direction,
                    difference=one.difference,
                    gap=one.gap,
                    interval=one.gap_interval,
                    adjusted=one.tests.adjusted,
                    reason=one.reason,
                )


def _overall(inputs: _Inputs) -> Overall:
    population, settings = inputs.population, inputs.settings
    audited = population.audited
    everyone = np.arange(audited.person.size)
    decisions = outcomes = None
    # A handful of people is too few to show, whether it is a group or everybody.
    if not inputs.table_set.withheld.everything:
        everybody = np.arange(population.people)
        decisions = decisions_of(population, everybody, everyone.size, settings.alpha)
        if not inputs.table_set.withheld.all_outcomes:
            outcomes = outcomes_of(population, everyone, inputs.costs, settings)
    # The change after which something failed may name people, and is cut off.
    reasons = Counter(error.split(" after ")[0] for error in audited.errors if decisions)
    return Overall(decisions=decisions, outcomes=outcomes, excluded=dict(sorted(reasons.items())))


def _table(inputs: _Inputs, place: int, tick: Callable[[], None]) -> GroupTable:
    """One table with its comparisons, still without verdicts."""
    table_set, cells = inputs.table_set, inputs.table_set.tables[place]
    members = members_of(inputs.population, table_set, place)
    reference, note = inputs.references[place]
    compared: tuple[Comparison, ...] = ()
    if reference is not None:
        compared = tuple(
            gaps(
                inputs.population,
                inputs.settings,
                table_set,
                place,
                members,
                reference,
                inputs.inference,
                tick,
            )
        )

    def inflation(cell: int, measure: Measure) -> float | None:
        group = None if cell == reference else cells.label(cell)
        return largest_inflation(compared, measure, group)

    return GroupTable(
        name=cells.name,
        attributes=tuple(one.name for one in cells.attributes),
        reference=None if reference is None else cells.label(reference),
        by_group=tuple(
            _group(inputs, place, cell, members, inflation) for cell in range(len(cells))
        ),
        comparisons=compared,
        note=note,
    )


def _group(
    inputs: _Inputs,
    place: int,
    cell: int,
    members: Members,
    inflation: Callable[[int, Measure], float | None],
) -> Group:
    table_set, cells = inputs.table_set, inputs.table_set.tables[place]
    people, audited = members.people[cell], members.audited[cell]
    decisions = outcomes = None
    if not table_set.people.all[place][cell]:
        decisions = decisions_of(
            inputs.population,
            people,
            audited.size,
            inputs.settings.alpha,
            inflation(cell, "adverse_rate"),
        )
    if not table_set.outcomes.all[place][cell]:
        outcomes = outcomes_of(
            inputs.population,
            audited,
            inputs.costs,
            inputs.settings,
            inflation(cell, "feasibility"),
        )
        if table_set.withheld.undetailed[place]:
            outcomes = _without_details(outcomes)
        if table_set.withheld.without_quartiles[place]:
            outcomes = replace(outcomes, cost=None, options=None)
    return Group(
        name=cells.label(cell),
        values=cells.words(cell),
        known=cells.known(cell),
        decisions=decisions,
        outcomes=outcomes,
        withheld=table_set.why(place, cell),
    )


def _without_details(outcomes: Outcomes) -> Outcomes:
    """Who has an option, quartiles of costs and options, and nothing that adds up to a total."""
    return replace(
        outcomes,
        certified_infeasible=None,
        not_found_within_budget=None,
        infeasible=None,
        not_found=None,
        cost_curve=None,
        simulatability=None,
        relevance=None,
        grades=None,
    )


Choice = tuple[tuple[Change, ...], Ints]


def _choices(population: Population, store: sqlite3.Connection) -> Iterator[Choice]:
    """The kinds of change of each common option, and the people served so far."""
    audited = population.audited
    wanted = set(audited.person[audited.usable & np.isfinite(audited.cost)].tolist())
    options = {who: some for who, some in options_by_subject(store).items() if who in wanted}
    subjects = np.array(list(options), dtype=np.int64)
    for changes, served in islice(choose(options), MOST_SHOWN):
        yield changes, subjects[served]


def _common_options(inputs: _Inputs, choices: Iterable[Choice]) -> Iterator[CommonOption]:
    """Kinds of change, and the share of each shown group that they serve so far."""
    audited = inputs.population.audited
    usable = audited.person[audited.usable]
    if inputs.table_set.withheld.all_outcomes:
        return
    before = 0
    for changes, reached in choices:
        yield CommonOption(
            changes=changes,
            serves=reached.size - before,
            served_so_far=reached.size,
            share_so_far=reached.size / usable.size,
            shares_by_group=dict(_shares(inputs, reached, usable)),
        )
        before = reached.size


def _shares(inputs: _Inputs, reached: Ints, usable: Ints) -> Iterator[tuple[str, dict[str, float]]]:
    for place in inputs.table_set.single():
        cells = inputs.table_set.tables[place]
        undetailed = inputs.table_set.withheld.undetailed[place]
        there, of = cells.counts(reached), cells.counts(usable)
        yield (
            cells.name,
            {
                cells.label(cell): int(there[cell]) / int(of[cell])
                for cell in range(len(cells))
                if of[cell] and not undetailed
            },
        )
