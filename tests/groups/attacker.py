"""Somebody who has a group report, a solver and patience, and wants to know about a few people.

Unknown are the people of each combination of groups by what became of them; groups that are pooled
are told apart. What is published (`published`) bounds them, one division of people at a time.
A count is learnt if it is the same in every table of numbers that agrees with all of this, is of a
few people (at least one, and fewer than the threshold), and is not printed as such: not even of a
larger group of which the rest has nobody. Shares no code with the stage that designs the tables.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array

from tests.groups.published import (
    EVERYBODY,
    FIGURES,
    KINDS,
    Cell,
    Division,
    Published,
    rates_of,
    read,
)

Row = NDArray[np.float64]
# How many have figures, and how many have none, is no secret.
TECHNICAL = ("undecided", "not_audited", "audited", "left_out", "usable")
SECRETS = tuple(name for name in FIGURES if name not in TECHNICAL)
ROUNDS = 6
CUT_OFF = 0.5  # of the populations that one cut-off decides on
MOST = 1e6


@dataclass(frozen=True, slots=True)
class Learnt:
    """A count of a few people that is known."""

    cell: Cell
    figure: str
    value: int


class System:
    """Everything that is published as linear constraints, with one division of people or none."""

    def __init__(self, known: Published, division: Division | None = None) -> None:
        self.known = known
        self.division = division
        self.base = frozenset() if division is None else FIGURES[division.part_of]
        labels = () if division is None else (*division.labels, "")
        self.kinds = [
            (kind, label) for kind in KINDS for label in (labels if kind in self.base else ("",))
        ]
        parts = [[*self._parts(name)] for name in known.groups]
        self.joint: list[Cell] = [frozenset().union(*one) for one in product(*parts)]
        rows = [*self._constraints(), (np.ones(self.width), 0.0, MOST)]
        matrix = np.array([row for row, _, _ in rows])
        low, high = (np.array([row[place] for row in rows]) for place in (1, 2))
        same, above = low == high, (low != high) & np.isfinite(high)
        self.limits: dict[str, Any] = {
            "A_eq": csr_array(matrix[same]),
            "b_eq": low[same],
            "A_ub": csr_array(np.vstack([matrix[above], -matrix[~same]])),
            "b_ub": np.concatenate([high[above], -low[~same]]),
        }

    @property
    def width(self) -> int:
        return len(self.joint) * len(self.kinds)

    def _parts(self, name: str) -> Iterator[Cell]:
        """The groups of an attribute, and those inside a pool."""
        pool = self.known.pools.get(name, [])
        for group in self.known.groups[name]:
            if pool and group == self.known.groups[name][-1]:
                yield from (
                    frozenset({(name, group), (f"pool of {name}", str(number))})
                    for number in range(len(pool))
                )
            else:
                yield frozenset({(name, group)})

    def row(self, cell: Cell, figure: str, labels: Sequence[str] | None = None) -> Row:
        inside = np.array([cell <= one for one in self.joint], dtype=float)
        counted = [
            kind in FIGURES[figure] and (labels is None or (kind in self.base and label in labels))
            for kind, label in self.kinds
        ]
        return np.outer(inside, np.array(counted, dtype=float)).ravel()

    def _constraints(self) -> Iterator[tuple[Row, float, float]]:
        for (cell, figure), count in self.known.counts.items():
            yield self.row(cell, figure), count, count
        for name, ends in self.known.pools.items():
            for number, (low, high) in enumerate(ends):
                yield self.row(frozenset({(f"pool of {name}", str(number))}), "people"), low, high
        if self.division is not None:
            for (cell, labels), (low, high) in self.division.counts.items():
                yield self.row(cell, self.division.part_of, labels), low, high
            for (cell, figure, label), count in self.division.inside.items():
                yield self.row(cell, figure, [label]), count, count

    def secrets(self) -> Iterator[tuple[Cell, str, Row]]:
        """What the attacker is after: of all groups, pooled ones, and crossings left out."""
        known = self.known
        cells = dict.fromkeys(known.cells)
        for one, other in combinations(known.groups, 2):
            pairs = product(known.groups[one], known.groups[other])
            cells |= dict.fromkeys(frozenset({(one, a), (other, b)}) for a, b in pairs)
        for name, ends in known.pools.items():
            cells |= dict.fromkeys(
                frozenset({(f"pool of {name}", str(number))}) for number in range(len(ends))
            )
        for cell in cells:
            if self.division is None:
                yield from ((cell, name, self.row(cell, name)) for name in SECRETS)
            else:
                inside = dict.fromkeys(figure for _, figure, _ in self.division.inside)
                for figure in (self.division.part_of, *inside):
                    for label in self._labels():
                        yield cell, f"{figure}, {label}", self.row(cell, figure, [label])

    def _labels(self) -> Iterator[str]:
        """The labels that are a secret of anybody, and the people without one.

        What everybody or nobody has is no secret, and neither is whose outcome is not known.
        """
        assert self.division is not None
        of = self.known.counts.get((EVERYBODY, self.division.part_of))
        everybody = [
            self.division.counts.get((EVERYBODY, (label,)), (-1, -1))[0]
            for label in self.division.labels
        ]
        if len(everybody) == 1 and everybody[0] in (0, of):
            return
        yield from self.division.labels
        if len(everybody) == 1:
            yield ""

    def learn(self) -> list[Learnt]:
        """The counts of a few people that have one value in all tables that agree."""
        wanted = list(self.secrets())
        if not wanted:
            return []
        targets = csr_array(np.array([row for _, _, row in wanted]))
        least, most = np.full(len(wanted), np.inf), np.full(len(wanted), -np.inf)
        random = np.random.default_rng(0)

        def fixed() -> list[int]:
            return np.flatnonzero(most - least < 1 - 1e-6).tolist()

        def move(some: list[int]) -> None:
            weights = targets[some].T @ random.uniform(1, 2, len(some))
            for sign in (1, -1):
                sums = targets @ self._solve(sign * weights)
                np.minimum(least, sums, out=least)
                np.maximum(most, sums, out=most)

        # Many at once first; then those of a few people that have not moved, one by one.
        move(list(range(len(wanted))))
        for _ in range(ROUNDS):
            if left := fixed():
                move(left)
        tried: set[int] = set()
        while left := [
            place
            for place in fixed()
            if 0 < round(most[place]) < self.known.smallest and place not in tried
        ]:
            tried.add(left[0])  # what it moves beside may have to be moved in turn
            move(left[:1])
        return [
            Learnt(cell, figure, round(most[place]))
            for place, (cell, figure, row) in enumerate(wanted)
            if place in fixed()
            and 0 < round(most[place]) < self.known.smallest
            and self._open(row) not in self.printed
        ]

    @cached_property
    def nobody(self) -> NDArray[np.bool_]:
        """The unknowns of which a single published figure says that there is nobody."""
        none = [row for row, count in self._published() if count == 0]
        found: NDArray[np.bool_] = np.sum([*none, np.zeros(self.width)], axis=0) > 0
        return found

    @cached_property
    def printed(self) -> set[bytes]:
        """What published figures add up, without those of whom there is nobody."""
        return {self._open(row) for row, _ in self._published()}

    def _open(self, row: Row) -> bytes:
        return ((row > 0) & ~self.nobody).tobytes()

    def _published(self) -> Iterator[tuple[Row, float]]:
        counts = self.known.counts
        for (cell, figure), count in counts.items():
            yield self.row(cell, figure), count
            if figure == "verified":
                yield self.row(cell, "without"), counts[cell, "usable"] - count
        if self.division is not None:
            for (cell, labels), (low, high) in self.division.counts.items():
                if low == high:
                    yield self.row(cell, self.division.part_of, labels), low
                    of = counts.get((cell, self.division.part_of))
                    if of is not None and len(self.division.labels) == 1:
                        yield self.row(cell, self.division.part_of, [""]), of - low
            for (cell, figure, label), count in self.division.inside.items():
                yield self.row(cell, figure, [label]), count
                if len(self.division.labels) == 1:
                    yield self.row(cell, figure, [""]), counts[cell, figure] - count

    def _solve(self, cost: Row) -> Row:
        found = linprog(cost, **self.limits, bounds=(0, None), method="highs")
        assert found.x is not None, f"the report contradicts itself: {found.message}"
        return np.asarray(found.x)


def printed_handfuls(known: Published) -> Iterator[Learnt]:
    """The counts of a few people that a report prints: of small groups, and of divisions."""
    for (cell, figure), count in known.counts.items():
        told = figure in ("people", "usable") or (len(cell) > 1 and figure not in TECHNICAL)
        if cell and told and 0 < count < known.smallest:
            yield Learnt(cell, figure, count)
    for name, division in known.divisions.items():
        for (cell, labels), (low, high) in division.counts.items():
            if cell and any(labels) and low == high and 0 < low < known.smallest:
                yield Learnt(cell, f"{name}, {labels[0]}", round(low))
        for (cell, figure, label), count in division.inside.items():
            # Who has no option and would be let in alone is said of a whole group, as options are.
            told = name != "to_favourable" or len(cell) > 1
            if cell and label and told and 0 < count < known.smallest:
                yield Learnt(cell, f"{name}, {figure}, {label}", count)


def told_by_bins(report: Mapping[str, Any], cut_off: float) -> Iterator[Learnt]:
    """The few with one outcome who are let in below an end of a bin, or refused above it.

    Where one cut-off decides, all who are refused are below it: so of those with an outcome below
    an end beyond the cut-off, the refused are known, and the rest are let in.
    """
    errors = report["error_rates"]
    if errors is None or errors["calibrated"] != "everybody":
        return
    names = {
        (table["name"], group["name"]): frozenset({(table["name"], group["name"])})
        for table in report["tables"]
        for group in table["by_group"]
    }
    rates = dict(rates_of(report["rates"], names))
    for cell, figures in rates_of(errors, names):
        bins, own = figures["calibration"] or (), rates[cell]
        for end in [each["low"] for each in bins[1:]]:
            below = [each["good"] for each in bins if each["high"] <= end]
            good = sum(each["count"] for each in below)
            bad = sum(each["of"] for each in below) - good
            for name, count, rate in (
                ("good", good, "false_omission_rate"),
                ("bad", bad, "negative_predictive_value"),
            ):
                if rate not in own:
                    continue
                # More than are refused are let in below the end; fewer, and some are beyond it.
                others = count - own[rate]["count"]
                if (others > 0) == (end > cut_off) and 0 < abs(others) < report["smallest"]:
                    yield Learnt(cell, f"{name}, decided otherwise at {end}", abs(others))


def attack(
    report: Mapping[str, Any],
    sizes: Mapping[str, Mapping[str, int]],
    *,
    by_cut_off: bool = False,
) -> tuple[int, list[Learnt]]:
    """How many counts were attacked, and the counts of a few people that were learnt."""
    known = read(report, sizes, by_cut_off=by_cut_off)
    attacked, learnt = 0, list(printed_handfuls(known))
    if by_cut_off:
        learnt += told_by_bins(report, CUT_OFF)
    for division in (None, *known.divisions.values()):
        system = System(known, division)
        attacked += sum(1 for _ in system.secrets())
        learnt += system.learn()
    return attacked, learnt
