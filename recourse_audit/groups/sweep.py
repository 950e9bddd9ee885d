"""Selection rates and refusals of groups, had one cut-off decided on everybody.

Counted from stored answers alone, of people with an answer. A *step* is a cut-off with counts. The
cut-off in force is one, with the decisions that were taken: so it agrees with the rest of a report,
whatever a rule rounds and however a quota tells equals apart.

Notes
-----
A curve at every cut-off would list everybody's answer. *Borders* are where a report tells anyway
how many people are below: the cut-off in force, ends of calibration bins, and the median (scoring
rates count those above). Between two borders a table has steps only if each group has enough people
from border to step, from step to step, and from step to border; a group with nobody there does not
pass. The steps of all tables are some of everybody's. Where decisions do not follow from one
cut-off, it is known in sum who is refused above a step that nobody favoured is below, and the other
way round: these have to be nobody or enough.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from recourse_audit.groups.measures import Inputs
from recourse_audit.groups.population import FAVOURABLE, NOWHERE, REFUSED
from recourse_audit.groups.redraws import Floats, Ints
from recourse_audit.groups.tables import Grouping, choose_steps, has_few, tells_few
from recourse_audit.records.group_figures import ErrorRateReport
from recourse_audit.records.groups import Stretch, SweepCurve, SweepRule, SweepTable
from recourse_audit.records.model import RuleName
from recourse_audit.settings import DecisionSettings

GRID = np.arange(1, 100) / 100


def sweep_of(
    inputs: Inputs, decision: DecisionSettings, errors: ErrorRateReport | None, *, scored: bool
) -> tuple[SweepTable, ...]:
    """Every attribute's groups at common cut-offs; nothing where no answers are stored."""
    if not inputs.design.people or np.isnan(inputs.population.score).all():
        return ()
    return tuple(_Sweep(inputs, decision, errors, scored=scored).tables())


class _Sweep:
    """Answers turned so that more is better: somebody at place p reaches the first p thresholds."""

    def __init__(
        self,
        inputs: Inputs,
        decision: DecisionSettings,
        errors: ErrorRateReport | None,
        *,
        scored: bool,
    ) -> None:
        self._design, self._four_fifths = inputs.design, inputs.settings.four_fifths
        self._decided = decided = inputs.population.decided
        self._sign = sign = -1.0 if decision.better == "lower" else 1.0
        values = sign * inputs.population.score
        answers = np.sort(values[~np.isnan(values)])
        name, force = _find_rule(decision, answers, scored=scored)
        cut_off = None if force is None else sign * force
        if name == "quota" and cut_off is not None:
            cut_off = float(f"{cut_off:.3g}")
        grid = GRID
        if scored:
            grid = np.array([float(f"{end:.3g}") for end in np.quantile(sign * answers, GRID)])
        # The bins of tables are some of everybody's.
        bins = errors.overall.calibration if errors and errors.overall else None
        ends = [sign * end for each in bins or () for end in (each.low, each.high)]
        told = np.array([np.median(answers), *ends])
        in_force = [] if force is None else [force]
        borders = np.concatenate([told, np.nextafter(told, np.inf), in_force])
        self._thresholds = np.unique(np.concatenate([sign * grid[grid != cut_off], borders]))
        self._borders = np.unique(np.searchsorted(self._thresholds, borders)).tolist()
        self._force = None if force is None else int(np.searchsorted(self._thresholds, force))
        places = np.searchsorted(self._thresholds, values, side="right")
        if self._force is not None and decision.recorded is None:
            worse, better = np.minimum(places, self._force), np.maximum(places, self._force + 1)
            places = np.select([decided == REFUSED, decided == FAVOURABLE], [worse, better], places)
        self._places = np.where(np.isnan(values), NOWHERE, places)
        self._rule = SweepRule(
            name=name,
            value="score" if scored else "probability",
            better=decision.better,
            cut_off=cut_off,
            cut_off_by={} if decision.cut_off_by is None else dict(decision.cut_off_by.values),
            recorded=decision.recorded is not None,
        )

    def tables(self) -> Iterator[SweepTable]:
        everybody = self._steps(None, range(self._thresholds.size))
        for grouping in self._design.single:
            if steps := self._steps(grouping, everybody):
                yield self._table(grouping, steps)
            else:
                self._design.leave_out(grouping, "cut_offs")

    def _count(self, grouping: Grouping | None, *decisions: int) -> Ints:
        """By group and threshold, how many are below it; of some decisions, and last of all."""
        labels = self._places
        if decisions:
            labels = np.where(np.isin(self._decided, decisions), labels, NOWHERE)
        counts = self._design.count(grouping, labels, self._thresholds.size + 1)
        return np.cumsum(counts, axis=1)

    def _steps(self, grouping: Grouping | None, candidates: Sequence[int]) -> list[int]:
        """The steps that hide everybody, besides the cut-off in force."""
        counts = np.diff(self._count(grouping), axis=1, prepend=0)
        smallest, last = self._design.smallest, self._thresholds.size
        edge = -1 if self._force is None else self._force
        steps: list[int] = []
        for start, end in pairwise([-1, *self._borders, last]):
            side = counts[:, : edge + 1] if end <= edge else counts[:, edge + 1 :]
            part = counts[side.any(axis=1), start + 1 : end + 1]
            if part.size and (part.sum(axis=1) >= smallest).all():
                own = [step - start - 1 for step in candidates if start < step < end]
                own = [step for step in own if part[:, step + 1 :].any()]
                steps += [step + start + 1 for step in choose_steps(part, own, smallest)]
        told = tells_few(*self._decided_otherwise(grouping), smallest)
        return [step for step in steps if not told[step]]

    def _decided_otherwise(self, grouping: Grouping | None) -> tuple[Ints, Ints]:
        """By group and threshold, who is refused though they reach it, or favoured below it."""
        refused = self._count(grouping, REFUSED)
        return refused[:, -1:] - refused, self._count(grouping, FAVOURABLE)

    def _table(self, grouping: Grouping, steps: list[int]) -> SweepTable:
        force, few = self._force, self._design.smallest
        if force is not None and not any(
            has_few(each[:, force], few).any() for each in self._decided_otherwise(grouping)
        ):
            steps = [*steps, force]
        steps.sort(key=lambda step: self._sign * self._thresholds[step])
        counts, names, known = self._count(grouping), grouping.labels, grouping.comparable
        refused, of = counts[:, steps], counts[:, -1:]
        shares, others = 1 - refused / np.maximum(of, 1), np.full((2, len(steps)), np.nan)
        base = grouping.reference
        if base is not None:
            others[0] = shares[base]
        others[1] = shares[[cell for cell in known if of[cell]]].max(axis=0, initial=0)
        others[~(others > 0)] = np.nan
        cut_offs = [float(self._sign * self._thresholds[step]) for step in steps]
        if force in steps and self._rule.cut_off is not None:
            cut_offs[steps.index(force)] = self._rule.cut_off
        by_group: dict[str, SweepCurve] = {}
        stretches: list[Stretch] = []
        for cell in np.flatnonzero(of).tolist():
            ratios = shares[cell] / others if cell in known else others * np.nan
            by_group[names[cell]] = SweepCurve(
                of=int(of[cell, 0]),
                refused=tuple(refused[cell].tolist()),
                selection_rate=tuple(shares[cell].tolist()),
                impact_ratio=_list(ratios[0]),
                highest_ratio=_list(ratios[1]),
            )
            if base is not None and cell in known and cell != base and of[base]:
                # Of whole numbers, so that equal shares are equal.
                more = np.sign(refused[cell] * of[base] - refused[base] * of[cell])
                for labels in (WAYS[more], np.where(ratios[0] < self._four_fifths, "below", "")):
                    stretches += _runs(names[cell], labels.tolist(), cut_offs)
        return SweepTable(
            table=grouping.name,
            reference=None if base is None else names[base],
            rule=self._rule,
            cut_offs=tuple(cut_offs),
            by_group=by_group,
            stretches=tuple(stretches),
        )


WAYS = np.array(["same", "more", "fewer"])  # by the sign of the difference in refusals


def _list(values: Floats) -> tuple[float | None, ...]:
    return tuple(None if np.isnan(value) else value for value in values.tolist())


def _runs(group: str, labels: Sequence[Any], cut_offs: Sequence[float]) -> Iterator[Stretch]:
    """Neighbouring cut-offs with one label, in order."""
    for what, run in groupby(zip(labels, cut_offs, strict=True), key=lambda each: each[0]):
        if what:
            ends = [cut_off for _, cut_off in run]
            yield Stretch(group=group, what=what, first=ends[0], last=ends[-1], cut_offs=len(ends))


def _find_rule(
    decision: DecisionSettings, answers: Floats, *, scored: bool
) -> tuple[RuleName, float | None]:
    """The rule, and the one number that it compares answers with, turned as these are."""
    if decision.cut_off is not None:
        return "cut_off", -decision.cut_off if decision.better == "lower" else decision.cut_off
    if decision.cut_off_by is not None:
        return "cut_off_by", None
    if decision.quota is not None:
        places = decision.quota
        places = places if isinstance(places, int) else int(places * answers.size)
        return "quota", float(answers[-places]) if 0 < places <= answers.size else None
    return "argmax", 0.5 if len(decision.classes) == 2 and not scored else None
