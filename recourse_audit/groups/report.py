"""The group report of an audit, made from its stored bundle alone: no model, no graph."""

import itertools
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from recourse_audit.bundle.reader import StoredAudit
from recourse_audit.errors import InputError
from recourse_audit.groups.common_actions import common_actions_of, read_served
from recourse_audit.groups.comparisons import Inputs, count_pairs, gaps, own_data_of
from recourse_audit.groups.cut_off import MOST_SHOWN, choose, cut_off, options_by_subject
from recourse_audit.groups.error_rates import error_rates_of
from recourse_audit.groups.inference import Inference
from recourse_audit.groups.measures import Divisions, decisions_of, divisions_of, outcomes_of
from recourse_audit.groups.population import NOWHERE, Population, read_population
from recourse_audit.groups.redraws import Ints
from recourse_audit.groups.tables import Grouping, choose_steps, design_tables
from recourse_audit.groups.verdicts import findings_of, give_verdicts, shown_by_chance
from recourse_audit.records.group_figures import Group, Measure
from recourse_audit.records.groups import (
    FORMAT,
    Change,
    CommonOption,
    Communities,
    GroupReport,
    GroupTable,
    Overall,
)
from recourse_audit.records.model import Agreement
from recourse_audit.settings import GroupSettings


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
    about everybody is kept: its groups could be small. `outcome` is the column
    with what came true later, if there is one, and `scored` says that the model gives scores.
    `progress` is told how many pairs of groups were compared, and how many there are.
    """
    population = read_population(store, settings, communities)
    design = design_tables(population, settings)
    everywhere = divisions_of(population, design, None, None) if design.outcomes else None
    inputs = Inputs(
        population=population,
        settings=settings,
        design=design,
        inference=Inference(
            population.network,
            seed=communities.seed,
            alpha=settings.alpha,
            redraws=settings.redraws,
            sample=settings.sample,
            focus=population.audited.person,
            communities=population.community,
        ),
    )
    shown = [
        divisions_of(population, design, grouping, everywhere) if grouping.outcomes else None
        for grouping in design.groupings
    ]
    pairs = sum(map(count_pairs, design.groupings, shown))
    compared = itertools.count(1)
    drafts = [
        _table(inputs, grouping, divisions, lambda: progress(next(compared), pairs))
        for grouping, divisions in zip(design.groupings, shown, strict=True)
    ]
    decided, tests = give_verdicts(
        [(draft.name, comparison) for draft in drafts for comparison in draft.comparisons],
        settings,
    )
    final = iter(decided)
    tables = tuple(
        replace(draft, comparisons=tuple(islice(final, len(draft.comparisons)))) for draft in drafts
    )
    own_data = own_data_of(inputs)
    error_rates = None if outcome is None else error_rates_of(inputs, outcome, scored=scored)
    actions = common_actions_of(inputs, read_served(store, population))
    ties = tuple(cut_off(store, population, settings, design))
    options = tuple(_common_options(inputs, store))
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
        sample=settings.sample,
        overall=_overall(inputs, everywhere),
        tables=tables,
        tests=tuple(tests),
        untested=sum(comparison.primary for comparison in decided) - len(tests),
        by_chance=shown_by_chance(tests, settings),
        findings=tuple(findings_of(tables, settings)),
        cut_off=ties,
        common_options=options,
        common_actions=actions,
        own_data=own_data,
        error_rates=error_rates,
        left_out=tuple(design.left_out),
    )


def _overall(inputs: Inputs, shown: Divisions | None) -> Overall:
    population, alpha = inputs.population, inputs.settings.alpha
    audited = population.audited
    everyone = np.arange(audited.person.size)
    decisions = outcomes = None
    # A handful of people is too few to show, whether it is a group or everybody.
    if inputs.design.people:
        everybody = np.arange(population.people)
        decisions = decisions_of(population, everybody, everyone.size, alpha)
    if shown is not None:
        outcomes = outcomes_of(population, everyone, shown, alpha)
    # The change after which something failed may name people, and is cut off.
    reasons = Counter(error.split(" after ")[0] for error in audited.errors if decisions)
    return Overall(decisions=decisions, outcomes=outcomes, excluded=dict(sorted(reasons.items())))


def _table(
    inputs: Inputs, grouping: Grouping, shown: Divisions | None, tick: Callable[[], None]
) -> GroupTable:
    """One table with its comparisons, still without verdicts."""
    population, alpha = inputs.population, inputs.settings.alpha
    compared = tuple(gaps(inputs, grouping, shown, tick))

    def inflation(group: str, measure: Measure) -> float | None:
        """By how much ties inflate the variance of a group's share, from its comparisons.

        The reference is in all of them. Groups that are compared with nobody have none.
        """
        inflations = [
            comparison.precision.inflation
            for comparison in compared
            if comparison.measure == measure
            and comparison.precision is not None
            and group in (comparison.group, comparison.reference)
        ]
        return max(inflations, default=None)

    audited = grouping.split(population.audited.person)
    groups = []
    for cell, people in enumerate(grouping.members):
        name, outcomes = grouping.label(cell), None
        if shown is not None:
            by_ties = inflation(name, "feasibility")
            outcomes = outcomes_of(population, audited[cell], shown, alpha, by_ties)
        decisions = decisions_of(
            population, people, audited[cell].size, alpha, inflation(name, "adverse_rate")
        )
        groups.append(
            Group(
                name=name,
                values=grouping.words(cell),
                kinds=grouping.kinds(cell),
                pooled=grouping.pooled(cell),
                decisions=decisions,
                outcomes=outcomes,
            )
        )
    return GroupTable(
        name=grouping.name,
        attributes=tuple(attribute.name for attribute in grouping.attributes),
        reference=None if grouping.reference is None else grouping.label(grouping.reference),
        by_group=tuple(groups),
        comparisons=compared,
        not_compared=grouping.not_compared,
    )


def _common_options(inputs: Inputs, store: sqlite3.Connection) -> Iterator[CommonOption]:
    """Kinds of change, and the share of each group that they serve so far.

    The list ends where an option would serve a few more people. Shares of groups are given at the
    steps at which none of them has a few more.
    """
    population, design = inputs.population, inputs.design
    if not design.outcomes:
        return
    audited = population.audited
    usable = audited.person[audited.usable]
    choices = list(_choices(population, store))
    labels = np.full(population.people, NOWHERE)
    labels[audited.person[audited.usable & np.isfinite(audited.cost)]] = len(choices)
    for step, (_, reached) in reversed([*enumerate(choices)]):
        labels[reached] = step
    counts = design.count(None, labels)
    steps = choose_steps(counts, range(len(choices)), design.smallest)
    by_table = {}
    for grouping in design.single:
        if grouping.outcomes:
            kept = choose_steps(design.count(grouping, labels), steps, design.smallest)
            by_table[grouping.name] = (grouping, kept)
            if steps and not kept:
                design.leave_out(grouping, "common_options")
    if choices and not steps:
        design.leave_out(None, "common_options")
    before = 0
    for step in steps:
        changes, reached = choices[step]
        yield CommonOption(
            changes=changes,
            serves=reached.size - before,
            served_so_far=reached.size,
            share_so_far=reached.size / usable.size,
            shares_by_group={
                name: dict(_shares(grouping, reached, usable))
                for name, (grouping, kept) in by_table.items()
                if step in kept
            },
        )
        before = reached.size


Choice = tuple[tuple[Change, ...], Ints]


def _choices(population: Population, store: sqlite3.Connection) -> Iterator[Choice]:
    """The kinds of change of each common option, and the people served so far."""
    audited = population.audited
    wanted = set(audited.person[audited.usable & np.isfinite(audited.cost)].tolist())
    options = {who: some for who, some in options_by_subject(store).items() if who in wanted}
    subjects = np.array(list(options), dtype=np.int64)
    for changes, served in islice(choose(options), MOST_SHOWN):
        yield changes, subjects[served]


def _shares(grouping: Grouping, reached: Ints, usable: Ints) -> Iterator[tuple[str, float]]:
    served, of = grouping.counts(reached), grouping.counts(usable)
    for cell in range(len(grouping)):
        if of[cell]:
            yield grouping.label(cell), int(served[cell]) / int(of[cell])
