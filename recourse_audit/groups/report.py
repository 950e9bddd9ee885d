"""The group report of an audit, made from its stored bundle alone: no model, no graph."""

import itertools
import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import islice

import numpy as np
from threadpoolctl import threadpool_limits

from recourse_audit.bundle.reader import StoredAudit
from recourse_audit.errors import InputError
from recourse_audit.groups.changes import common_actions_of, common_options_of, cut_off
from recourse_audit.groups.error_rates import ErrorRateTables
from recourse_audit.groups.inference import Inference
from recourse_audit.groups.measures import (
    Divisions,
    Inputs,
    compare_groups,
    decisions_of,
    divisions_of,
    measures_of,
    outcomes_of,
)
from recourse_audit.groups.own_data import own_data_of
from recourse_audit.groups.population import read_population
from recourse_audit.groups.rates import RateTables, scoring_tables
from recourse_audit.groups.reasons import comparators_of, reasons_of
from recourse_audit.groups.sweep import sweep_of
from recourse_audit.groups.tables import Grouping, design_tables
from recourse_audit.groups.verdicts import findings_of, give_verdicts
from recourse_audit.records.group_figures import Group
from recourse_audit.records.groups import Communities, GroupReport, GroupTable, Overall
from recourse_audit.settings import DecisionSettings, GroupSettings

Progress = Callable[[int, int], None]
# What a report repeats of its settings.
REPEATED = {"smallest", "given", "alpha", "concern", "four_fifths", "redraws", "sample"}


def groups_of(stored: StoredAudit, progress: Progress = lambda done, total: None) -> GroupReport:
    """Compare the groups of a stored audit, finished or not, by its own settings.

    The bundle is only read. The report has no days, so that equal audits have equal reports.
    """
    try:
        report = group_report(
            stored.connection,
            stored.settings.groups,
            stored.communities,
            outcome=stored.settings.decision.outcome,
            scored=stored.settings.model.output == "score",
            decision=stored.settings.decision,
            progress=progress,
        )
    except InputError as error:
        raise InputError(f"{stored.folder}: {error}") from None
    # Of the agreement with the record, only what is about everybody: its groups could be small.
    agreement = None if stored.agreement is None else stored.agreement.without_people()
    return replace(
        report, finished=stored.finished, done=stored.done, total=stored.total, agreement=agreement
    )


def group_report(
    store: sqlite3.Connection,
    settings: GroupSettings,
    communities: Communities,
    *,
    outcome: str | None = None,
    scored: bool = False,
    decision: DecisionSettings | None = None,
    progress: Progress = lambda done, total: None,
) -> GroupReport:
    """Compare the groups of an audit, as if it were finished.

    `outcome` is the column with what came true later, if there is one, and `scored` says that the
    model gives scores; by the `decision` its answers are put at other cut-offs. `progress` is told
    how many pairs of groups were compared, and of how many.
    """
    # Sums of several threads differ in their last digits from those of one.
    with threadpool_limits(1, "blas"):
        lower = decision is not None and decision.better == "lower"
        population = read_population(store, settings, communities, lower=lower)
        design = design_tables(population, settings)
        everywhere = divisions_of(population, design, None, None) if design.outcomes else None
        inference = Inference(
            population.network,
            seed=communities.seed,
            alpha=settings.alpha,
            redraws=settings.redraws,
            sample=settings.sample,
            focus=population.audited.person,
            communities=population.community,
        )
        inputs = Inputs(
            population=population, settings=settings, design=design, inference=inference
        )
        tables = _compare_tables(inputs, everywhere, progress)
        own_data, comparators = own_data_of(inputs), comparators_of(inputs, store)
        reasons, reason_parts = reasons_of(inputs, store)
        scoring = scoring_tables(inputs)
        error_rates = ErrorRateTables(inputs, scoring, with_outcomes=outcome is not None)
        rates = RateTables(inputs, scoring, error_rates).report()
        errors = None if outcome is None else error_rates.report(outcome, scored=scored)
        sweeps = sweep_of(inputs, decision, errors, scored=scored) if decision else ()
        actions = common_actions_of(inputs, store)
        ties = tuple(cut_off(inputs, store))
        options = tuple(common_options_of(inputs, store))
    compared = [comparison for table in tables for comparison in table.comparisons]
    tests = [comparison for comparison in compared if comparison.tests.adjusted is not None]
    report = GroupReport(
        communities=communities,
        **settings.model_dump(include=REPEATED),
        overall=_overall(inputs, everywhere),
        tables=tables,
        untested=sum(comparison.primary for comparison in compared) - len(tests),
        by_chance=0.0,
        findings=tuple(findings_of(tables, settings)),
        cut_off=ties,
        common_options=options,
        common_actions=actions,
        own_data=own_data,
        comparators=comparators,
        reasons=reasons,
        reason_parts=reason_parts,
        rates=rates,
        error_rates=errors,
        sweeps=sweeps,
        left_out=tuple(design.left_out),
    )
    # Holm's method keeps to alpha in each family, whatever its tests have to do with each other;
    # `benchmarks/calibration.py` measures how well the tests themselves do.
    families = len({test.family for test in tests}) + sum(
        any(gap.adjusted is not None for gap in gaps) for gaps in report.judged.values()
    )
    return replace(report, by_chance=min(1.0, settings.alpha * families))


def _overall(inputs: Inputs, divisions: Divisions | None) -> Overall:
    audited = inputs.population.audited
    everyone = np.arange(audited.person.size)
    everybody = np.arange(inputs.population.people)
    # A handful of people is too few to show, whether it is a group or everybody.
    shown = inputs.design.people
    decisions = decisions_of(inputs, everybody, everyone.size) if shown else None
    outcomes = None if divisions is None else outcomes_of(inputs, everyone, divisions)
    # The change after which something failed may name people, and is cut off.
    reasons = Counter(error.split(" after ")[0] for error in audited.errors if decisions)
    return Overall(decisions=decisions, outcomes=outcomes, excluded=dict(sorted(reasons.items())))


def _compare_tables(
    inputs: Inputs, everywhere: Divisions | None, progress: Progress
) -> tuple[GroupTable, ...]:
    population, design = inputs.population, inputs.design
    every: list[tuple[Grouping, Divisions | None]] = [
        (each, divisions_of(population, design, each, everywhere) if each.outcomes else None)
        for each in design.groupings
    ]
    pairs = sum(
        len(measures_of(grouping, divisions)) * max(0, len(grouping.comparable) - 1)
        for grouping, divisions in every
        if grouping.reference is not None
    )
    compared = itertools.count(1)
    drafts = [_table(inputs, *each, lambda: progress(next(compared), pairs)) for each in every]
    comparisons = [comparison for draft in drafts for comparison in draft.comparisons]
    final = give_verdicts(comparisons, inputs.settings)
    return tuple(
        replace(draft, comparisons=tuple(islice(final, len(draft.comparisons)))) for draft in drafts
    )


def _table(
    inputs: Inputs, grouping: Grouping, divisions: Divisions | None, tick: Callable[[], None]
) -> GroupTable:
    """One table with its comparisons, still without verdicts."""
    compared = tuple(compare_groups(inputs, grouping, divisions, tick))

    # By how much ties inflate the variance of a group's share: the most of its comparisons.
    inflation: dict[tuple[str, str], float] = {}
    for each in compared:
        for key in ((each.group, each.measure), (each.reference, each.measure)):
            if each.precision is not None:
                inflation[key] = max(inflation.get(key, 0.0), each.precision.inflation)
    audited = grouping.split(inputs.population.audited.person)
    groups = []
    for cell, name in enumerate(grouping.labels):
        people, own, kinds = grouping.members[cell], audited[cell], grouping.kinds[cell]
        refusals, options = (inflation.get((name, of)) for of in ("adverse_rate", "feasibility"))
        outcomes = None if divisions is None else outcomes_of(inputs, own, divisions, options)
        groups.append(
            Group(
                name=name,
                values=grouping.values[cell],
                kinds=kinds,
                pooled=grouping.pooled if kinds == ("pooled",) else 0,
                decisions=decisions_of(inputs, people, own.size, refusals),
                outcomes=outcomes,
            )
        )
    return GroupTable(
        name=grouping.name,
        attributes=grouping.attributes,
        reference=None if grouping.reference is None else grouping.labels[grouping.reference],
        by_group=tuple(groups),
        comparisons=compared,
        not_compared=grouping.not_compared,
    )
