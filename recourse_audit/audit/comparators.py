"""Similarly situated people: who was approved although no better than a refused person.

The model itself says who is alike: by its answer on own data alone. Somebody is *no better* than a
refused person if that answer is no better and at most a caliper worse, if the same holds of every
declared column, and if the same cut-off applies. Of those who were approved, the nearest on own
columns are listed, from the other groups of each protected attribute and from the person's own.
They can be found for almost anybody, so the first list says little without the second, its control.

Notes
-----
No model is asked. A person costs two binary searches among answers that are sorted once, a pass
over those within the caliper, and distances to at most `MOST_COMPARED` for each list. These are
Gower's: numbers by rank, so that a few large ones do not make all others alike, categories by
equality; an empty cell equals no value.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recourse_audit.audit.load import LoadedAudit
from recourse_audit.audit.own_data import arcs_by_kind, count_ties, units_of
from recourse_audit.audit.population import groups_by, people_column
from recourse_audit.graph.graph import Floats, Indices, Ints
from recourse_audit.model.decisions import Decisions, Mask
from recourse_audit.records.subject import (
    ComparatorColumn,
    Comparators,
    ComparatorSet,
    ComparedPerson,
    NoComparators,
)
from recourse_audit.recourse.attributes import SAME, Attribute, is_category, is_missing
from recourse_audit.search.pareto import round_figure, round_figures

CALIPER = 0.1  # of a probability, or of the standard deviation of scores
MOST_COMPARED = 2048
MISSING = -1


class _Column:
    """A column, and everybody's places in it: ranks times `1 / scale`, or numbers of categories."""

    def __init__(
        self, told: ComparatorColumn, values: NDArray[Any], units: Attribute | None
    ) -> None:
        self.told, self.values, self.units = told, values, units
        if units is None:
            self.places, _ = _number(
                "" if is_missing(label) else label for label in values.tolist()
            )
            return
        known = np.isfinite(values.astype(np.float64))
        ordered = np.sort(values[known])
        ranks = sum(np.searchsorted(ordered, values, side=side) for side in ("left", "right"))
        self.places = np.where(known, ranks, MISSING).astype(np.int32)
        self.scale = 0.5 / max(1, ordered.size)

    def distances(self, person: int, people: Ints) -> Floats:
        """How far some people are from a person, from 0 to 1."""
        own, others = self.places[person], self.places[people]
        if self.units is None or own == MISSING:
            return np.asarray(own != others, np.float64)
        return np.where(others == MISSING, 1.0, np.abs(others - own) * self.scale)

    def accepts(self, person: int, people: Ints) -> Mask:
        """Who is no better than a person, and within the caliper, in the user's units."""
        if self.units is None:
            own = self.places[person]
            return np.asarray((self.places[people] == own) & (own != MISSING))
        mine, others = (self.units.user_values(self.values[rows]) for rows in ([person], people))
        room = SAME.get(self.values.dtype.name, 1e-9) * np.maximum(np.abs(mine), np.abs(others))
        ahead = (others - mine) * {"higher": 1, "lower": -1, None: 0}[self.told.direction]
        near = np.abs(others - mine) <= (self.told.caliper or 0.0) + room
        return np.asarray(near & (ahead <= room))


class ComparatorFinder:
    """Finds, for each refused person, approved people who are no better on own data.

    `alone` are everybody's answers on own data, if they are known, `own_columns` those that the
    model's features are made from, and `complete` says that everybody's decision is known.
    """

    def __init__(
        self,
        audit: LoadedAudit,
        decisions: Decisions,
        alone: Floats | None,
        own_columns: Iterable[str],
        *,
        complete: bool = True,
    ) -> None:
        graph, settings, rule = audit.graph, audit.settings, decisions.rule
        self._graph, self._decisions = graph, decisions
        every, recorded = np.arange(graph.person_count), audit.recorded
        answers = decisions.everybody[every]
        self._decided = decisions.classes_of(answers, every) if recorded is None else recorded
        self._approved: Mask = rule.favourable_classes[self._decided] & (self._decided >= 0)
        self._scores = np.where(rule.usable(answers), rule.values(answers), np.nan)
        self._reason: NoComparators = "" if audit.probes.deterministic else "random_answers"
        if alone is None:
            reason: NoComparators = "depends_on_others" if complete else "other_answers_not_known"
            self._reason = self._reason or reason
            return
        known = rule.usable(alone)
        self._alone = np.where(known, round_figures(rule.values(alone)), np.nan)
        spread = float(self._alone[known].std()) if rule.scores and known.any() else 1.0
        self._count = settings.comparators.count
        self._caliper = settings.comparators.caliper or CALIPER * spread
        self._towards = rule.sign * self._alone
        people = np.flatnonzero(known & (self._decided >= 0))
        self._order = people[np.argsort(self._towards[people], kind="stable")]
        self._sorted = self._towards[self._order]
        protected, declared = settings.groups.attributes, settings.comparators.columns
        self._groups = {n: _number(groups_by(graph, settings.groups, n)) for n in protected}
        apart = {*protected, settings.decision.outcome, settings.decision.recorded}
        self._columns = []
        for name in dict.fromkeys((*declared, *(n for n in own_columns if n not in apart))):
            units = None if is_category(graph, name) else units_of(settings, name)
            told = ComparatorColumn(name=name, unit=units.unit if units else "")
            if name in declared:
                told = replace(told, **declared[name].model_dump())
            self._columns.append(_Column(told, people_column(graph, name), units))

    def find(self, person: int) -> Comparators:
        """The nearest comparators of a person from each group, or why nobody was looked for."""
        reason = self._reason
        if self._decided[person] < 0 or self._approved[person]:
            reason = "favourable" if self._approved[person] else "no_decision"
        elif not reason and not np.isfinite(self._alone[person]):
            reason = "not_a_number"
        if reason:
            return Comparators(reason=reason)
        near, distances, sets = self._no_better(person), dict[int, float](), []
        approved = self._approved[near]
        for name, (groups, names) in self._groups.items() or [("", _number([""]))]:
            own = int(groups[person]) if name else MISSING
            others = groups[near] if name else np.zeros(near.size, np.int32)
            inside = (others == own) & (own != MISSING)
            outside = (others != own) & (others != MISSING) & (own != MISSING or not name)
            nearest = [self._nearest(person, near[side & approved]) for side in (outside, inside)]
            distances |= nearest[0] | nearest[1]
            listed = [tuple(str(self._graph.ids[other]) for other in side) for side in nearest]
            sets.append(
                ComparatorSet(
                    attribute=name,
                    group=names[own],
                    others=listed[0],
                    others_approved=int((outside & approved).sum()),
                    others_of=int(outside.sum()),
                    own=listed[1],
                    own_approved=int((inside & approved).sum()),
                    own_of=int(inside.sum()),
                )
            )
        return Comparators(
            caliper=round_figure(self._caliper),
            columns=tuple(column.told for column in self._columns),
            subject=self._describe(person, 0.0),
            people=tuple(self._describe(other, distances[other]) for other in sorted(distances)),
            sets=tuple(sets),
        )

    def _no_better(self, person: int) -> Ints:
        """Others decided on who are no better, from the worst answer on own data to the best."""
        value, cut_offs = self._towards[person], self._decisions.rule.cut_offs
        low = np.searchsorted(self._sorted, value - self._caliper * (1 + 1e-9))
        near: Ints = self._order[low : np.searchsorted(self._sorted, value, side="right")]
        if cut_offs is not None:
            near = near[cut_offs[near] == cut_offs[person]]
        for column in self._columns:
            if column.told.caliper is not None:
                near = near[column.accepts(person, near)]
        return np.asarray(near[near != person])

    def _nearest(self, person: int, people: Ints) -> dict[int, float]:
        """The nearest of some people with their distances; of equals, the first in the graph."""
        people = np.sort(people[-MOST_COMPARED:])
        apart = [column.distances(person, people) for column in self._columns]
        apart = apart or [np.abs(self._alone[people] - self._alone[person])]
        distances = round_figures(np.mean(apart, axis=0))
        first = np.argsort(distances, kind="stable")[: self._count]
        return dict(zip(people[first].tolist(), distances[first].tolist(), strict=True))

    def _describe(self, person: int, distance: float) -> ComparedPerson:
        graph, score, columns = self._graph, float(self._scores[person]), {}
        for column in self._columns:
            value = column.values[person]
            plain = str(value) if column.units is None else float(value)
            user_value = column.units.user_value if column.units else str
            columns[column.told.name] = None if is_missing(plain) else user_value(value)
        neighbours = graph.neighbours(person)
        neighbours = neighbours[neighbours < graph.person_count]
        return ComparedPerson(
            id=str(graph.ids[person]),
            decision=self._decisions.classes[self._decided[person]],
            groups={name: names[groups[person]] for name, (groups, names) in self._groups.items()},
            alone=float(self._alone[person]),
            score=round_figure(score) if np.isfinite(score) else None,
            columns=columns,
            ties={k: count_ties(graph, arcs) for k, arcs in arcs_by_kind(graph, person).items()},
            neighbours=len(neighbours),
            favourable=int(self._approved[neighbours].sum()),
            distance=distance,
        )


def _number(labels: Iterable[str]) -> tuple[Indices, list[str]]:
    """Labels by number, in the order of their names; the empty one is `MISSING`, the last."""
    labels = [*labels]
    names = [*sorted({*labels} - {""}), ""]
    places = {name: place for place, name in enumerate(names)} | {"": MISSING}
    return np.array([places[label] for label in labels], np.int32), names
