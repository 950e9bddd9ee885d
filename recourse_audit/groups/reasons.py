"""Of the refused people of each group: candidates for reasons, and approved comparators.

Everybody counts who was refused and about whom the model was asked part by part. An approved person
no better on own data can be found for almost anybody; so what is compared is the share approved of
those who are no better, in other groups and in one's own, the control. Figures are counted, not
tested; whether people alike on own data are decided differently has a test of its own.

Notes
-----
Whoever has the second of two measures has the first, so people have levels, and a table shows as
many measures as pass together. What is a reason and not fixed may be changed, and what makes a
decision favourable is not fixed. So changes of a part stand beside reasons only where the people of
each group can be arranged in several ways: enough may change it in vain, and it is no reason.
"""

import sqlite3
from collections import defaultdict
from functools import partial
from itertools import combinations

import numpy as np

from recourse_audit.groups.measures import Inputs
from recourse_audit.groups.population import NOWHERE
from recourse_audit.groups.redraws import Floats, Ints, Mask
from recourse_audit.groups.tables import Grouping, is_divisible
from recourse_audit.records.group_figures import Rate
from recourse_audit.records.groups import (
    ComparatorShares,
    PartFigures,
    ReasonFigures,
    ReasonMeasure,
    ReasonPart,
)
from recourse_audit.records.recourse import Part

ASKED = "SELECT number FROM subjects WHERE reasons IS NOT NULL"
PART = "json_extract(value, '$.part.what') AS what, json_extract(value, '$.part.name') AS name"
# By part and person the level of changes (may be changed, and to a favourable decision) and of
# reasons (is one, and fixed).
LEVELS = f"""SELECT what, name, number, sum(change), sum(reason) FROM (
    SELECT {PART}, number, 1 + (json_extract(value, '$.flips') > 0) AS change, 0 AS reason
    FROM subjects, json_each(document, '$.recourse.responsiveness')
    UNION ALL SELECT {PART}, number, 0, 1 + json_extract(value, '$.fixed')
    FROM subjects, json_each(document, '$.reasons')
  ) GROUP BY what, name, number"""  # noqa: S608
NO_BETTER = """SELECT number, json_extract(value, '$.others_approved'),
  json_extract(value, '$.others_of'), json_extract(value, '$.own_approved'),
  json_extract(value, '$.own_of') FROM subjects, json_each(document, '$.comparators.sets')
  WHERE json_extract(value, '$.attribute') = ? AND json_extract(value, '$.group') != ''"""


def reasons_of(
    inputs: Inputs, store: sqlite3.Connection
) -> tuple[ReasonFigures | None, tuple[PartFigures, ...]]:
    """The figures of all reasons, and of each part, where enough people were asked about."""
    audited, design = inputs.population.audited, inputs.design
    asked = np.isin(audited.person, [number for (number,) in store.execute(ASKED)])
    person = audited.person[asked & audited.usable]
    if person.size < design.smallest:
        if person.size:
            design.leave_out(None, "reasons")
        return None, ()
    levels = _read_levels(store, person)
    changes, reasons = np.array([*levels.values()]).reshape(-1, 2, person.size).swapaxes(0, 1)
    in_vain = (changes * (reasons > 0) < 2).all(axis=0)
    level = (reasons > 0).any(axis=0) * (1 + in_vain * (1 + (reasons != 1).all(axis=0)))
    count, figures = partial(_count, inputs, person), []
    for part, (change, reason) in levels.items():
        spare = (change == 1) & (reason == 0) if change.any() else None
        by_change = count(change, ("permitted", "flips"), "reason_parts", spare)
        by_reason = count(reason, ("reason", "fixed"), "reason_parts")
        figures.append(PartFigures(part=part, changes=by_change, reasons=by_reason))
    return count(level, ("reasons", "none_flips", "all_fixed"), "reasons"), tuple(figures)


def _read_levels(store: sqlite3.Connection, person: Ints) -> dict[Part, Ints]:
    """By part, frequent reasons first, everybody's levels of changes and of reasons."""
    places = {number: place for place, number in enumerate(person.tolist())}
    levels: dict[Part, Ints] = defaultdict(lambda: np.zeros((2, person.size), np.int64))
    for what, name, number, *both in store.execute(LEVELS):
        if number in places:
            levels[Part(what=what, name=name)][:, places[number]] = both
    return dict(sorted(levels.items(), key=lambda item: -np.count_nonzero(item[1][1])))


def _count(
    inputs: Inputs,
    person: Ints,
    level: Ints,
    names: tuple[ReasonMeasure, ...],
    part: ReasonPart,
    spare: Mask | None = None,
) -> ReasonFigures:
    """Count people by how many measures they have: everybody, and groups, as far as that passes.

    That all reasons are fixed, the third, is always said of everybody, as having an option is.
    Each group needs enough people who are `spare`, if that is given.
    """
    design, every = inputs.design, [*range(len(names))]

    def choose(table: Grouping | None, among: list[int], always: list[int]) -> list[int]:
        """As many measures as pass; whoever has that of `always`, the last one, is in no cell."""
        groups = [rows for rows in table.split(person) if rows.size] if table else [slice(None)]
        runs = [among[slice(*ends)] for ends in combinations(range(len(among) + 1), 2)]
        if spare is not None and min(spare[rows].sum() for rows in groups) < design.smallest:
            runs = []
        for run in sorted(runs, key=lambda run: (-len(run), -run[0])):
            labels = np.sum([level > place for place in run], axis=0)
            cells = [np.bincount(labels[rows], minlength=len(run) + 1) for rows in groups]
            counts = np.array(cells)[:, : len(run) + 1 - len(always)]
            if run[len(run) - len(always) :] == always and is_divisible(counts, design.smallest):
                break
        else:
            run = always
        if run != every:
            design.leave_out(table, part)
        return run

    def rates(rows: Ints | slice, places: list[int]) -> dict[ReasonMeasure, Rate]:
        return {names[place]: inputs.rate(level[rows] > place) for place in places}

    shown = choose(None, every, every[2:])
    by_group = {}
    for table in (table for table in design.single if table.outcomes):
        if kept := choose(table, shown, []):
            groups = zip(table.labels, table.split(person), strict=True)
            by_group[table.name] = {name: rates(rows, kept) for name, rows in groups if rows.size}
    return ReasonFigures(overall=rates(slice(None), shown), by_group=by_group)


def comparators_of(
    inputs: Inputs, store: sqlite3.Connection
) -> dict[str, dict[str, ComparatorShares]]:
    """By attribute and group, where enough refused people of each have somebody no better."""
    figures = {}
    for grouping in inputs.design.single:
        rows = np.array(store.execute(NO_BETTER, (grouping.name,)).fetchall(), np.float64)
        if not rows.size or not grouping.outcomes:
            continue
        shares = np.full((2, inputs.population.people), np.nan)
        with np.errstate(invalid="ignore"):
            shares[:, rows[:, 0].astype(np.int64)] = rows[:, [1, 3]].T / rows[:, [2, 4]].T
        known = np.where(np.isnan(shares), NOWHERE, 0)
        if inputs.design.allows(grouping, "comparators", *known):
            figures[grouping.name] = {
                name: ComparatorShares(others=_mean(shares[0, own]), own=_mean(shares[1, own]))
                for name, own in zip(grouping.labels, grouping.members, strict=True)
                if (known[:, own] == 0).any()
            }
    return figures


def _mean(shares: Floats) -> float | None:
    """The mean of those that are known, in as many digits as hide single people."""
    there = shares[~np.isnan(shares)]
    return round(float(there.mean()), 3) if there.size else None
