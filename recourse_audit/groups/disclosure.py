"""Which withheld counts somebody could work out from everything that is published.

Unknown to a reader is how many people of each kind (refused, favourable, with an option and so on)
there are in each joint cell, a combination of one group per attribute. Every published count is a
sum of these unknowns, and so is every withheld one. A withheld count is revealed if it has the same
value in every table of whole numbers, none below zero, that agrees with all that is published. To
show that it is not, one other such table is enough: a `move` away from the true one that keeps
every published sum.

Notes
-----
First, linear programs with random directions look for moves that change many withheld counts at
once; their corners are mostly whole numbers, and only those count. Each count that is left is then
the subject of two integer programs: can it be one more, or one less? A program that has no answer
within its limit counts as "no", so that rather too much is withheld than too little. A move that
was found remains one when more is withheld, so it is never sought again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array, hstack, vstack

from recourse_audit.groups.arrays import Floats, Ints, Mask
from recourse_audit.groups.cells import Cells

# Beyond this many joint cells, only those with people are unknowns; this finds fewer moves.
MOST_JOINT_CELLS = 400
ROUNDS = 6
MOST_NODES = 200
NOTHING = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class JointCells:
    """The joint cells, which of them each cell of each table has, and everybody's.

    `inside` has a row per cell of all tables, one after the other, and `covered` says of each pair
    of cells whether everybody of the first is known to be in the second.
    """

    inside: Mask
    covered: Mask
    of_person: Ints

    @property
    def size(self) -> int:
        return int(self.inside.shape[1])


def joint_cells(tables: Sequence[Cells]) -> JointCells:
    """The joint cells that may have people: no table says of any of their cells that it is empty."""
    single = [table for table in tables if len(table.attributes) == 1]
    names = [table.name for table in single]
    shape = tuple(len(table) for table in single)
    everybody = np.ravel_multi_index(tuple(table.cell for table in single), shape)
    size = int(np.prod([float(one) for one in shape]))
    if size <= MOST_JOINT_CELLS:
        places = np.array(np.unravel_index(np.arange(size), shape))
    else:
        places = np.array(np.unravel_index(np.unique(everybody), shape))
    sides = [[names.index(one.name) for one in table.attributes] for table in tables]
    allowed = np.ones(places.shape[1], dtype=bool)
    for table, side in zip(tables, sides, strict=True):
        listed = np.array(table.values).T
        strides = np.array([shape[one] for one in side])
        allowed &= np.isin(
            np.ravel_multi_index(tuple(places[side]), tuple(strides)),
            np.ravel_multi_index(tuple(listed), tuple(strides)),
        )
    places = places[:, allowed]
    rows = [
        np.all(places[side] == np.array(value)[:, np.newaxis], axis=0)
        for table, side in zip(tables, sides, strict=True)
        for value in table.values
    ]
    inside = np.array(rows)
    groups = [
        frozenset(zip(side, value, strict=True))
        for table, side in zip(tables, sides, strict=True)
        for value in table.values
    ]
    if size <= MOST_JOINT_CELLS:
        covered = (inside.astype(np.int64) @ ~inside.T.astype(bool)) == 0
    else:
        covered = np.array([[other <= one for other in groups] for one in groups])
    numbers = np.ravel_multi_index(tuple(places), shape)
    order = np.argsort(numbers)
    found = order[np.searchsorted(numbers[order], everybody)]
    return JointCells(inside=inside, covered=covered, of_person=found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Sums of the unknowns, one per row, and by how much each may change without contradiction.

    Published sums may not change at all. `owner` is the cell that a published sum would be withheld
    with, -1 if it cannot be.
    """

    sums: csr_array
    low: Floats
    high: Floats
    owner: Ints


@dataclass(slots=True, kw_only=True)
class Moves:
    """All ways to change the true table that keep everything published.

    `counts` has the true number of people by joint cell and kind. Of each target, the sum of some
    joint cells and kinds, `moved` knows whether a move that changes it has been found.
    """

    counts: Ints
    targets: csr_array
    moved: Mask = field(init=False)
    rules: Rules = field(init=False)

    def __post_init__(self) -> None:
        self.moved = np.zeros(self.targets.shape[0], dtype=bool)

    def publish(self, rules: Sequence[Rules]) -> None:
        """Say what is published, all over again."""
        self.rules = Rules(
            sums=vstack([one.sums for one in rules], format="csr"),
            low=np.concatenate([one.low for one in rules]),
            high=np.concatenate([one.high for one in rules]),
            owner=np.concatenate([one.owner for one in rules]),
        )

    def search(self, wanted: Ints, rounds: int = ROUNDS) -> None:
        """Look for moves that change many of the wanted targets at once."""
        from scipy.optimize import linprog

        random = np.random.default_rng(0)
        equal, upper, limits = self._parts()
        bounds = np.column_stack([np.maximum(-self.counts.ravel(), -1), np.ones(self.counts.size)])
        for _ in range(rounds):
            left = wanted[~self.moved[wanted]]
            if not left.size:
                return
            towards = self.targets[left].T @ random.uniform(-1, 1, left.size)
            found = linprog(
                towards,
                A_ub=upper if limits.size else None,
                b_ub=limits if limits.size else None,
                A_eq=self.rules.sums[equal],
                b_eq=self.rules.low[equal],
                bounds=bounds,
                method="highs",
            )
            if found.x is not None:
                self._accept(found.x)

    def can_move(self, target: int) -> bool:
        """Whether a target can be more or less than it is."""
        return bool(self.moved[target]) or self._try(target, 1.0) or self._try(target, -1.0)

    def cheapest_way(self, target: int, cost: Floats) -> list[int]:
        """The cells without whose published sums the target could move, at the least cost.

        `cost` is what a sum of each cell is worth. This is a linear program, so what it finds nearly
        always suffices, and is checked afterwards. Empty if there is no way.
        """
        ways = [self._way(target, sign, cost) for sign in (1.0, -1.0)]
        _, cells = min(ways, key=lambda way: way[0])
        return cells

    def _way(self, target: int, sign: float, cost: Floats) -> tuple[float, list[int]]:
        from scipy.optimize import linprog

        owner = self.rules.owner
        given_up = np.flatnonzero(owner >= 0)
        equal, upper, limits = self._parts()
        slack = csr_array(
            (np.ones(given_up.size), (given_up, np.arange(given_up.size))),
            shape=(self.rules.sums.shape[0], given_up.size),
        )
        moving = -sign * self.targets[[target]]
        unmoved = csr_array((upper.shape[0] + 1, 2 * given_up.size))
        people = self.counts.sum()
        found = linprog(
            np.concatenate([np.zeros(self.counts.size), np.tile(cost[owner[given_up]], 2)]),
            A_ub=hstack([vstack([upper, moving]), unmoved], format="csr"),
            b_ub=np.append(limits, -1.0),
            A_eq=hstack([self.rules.sums, slack, -slack], format="csr")[equal],
            b_eq=self.rules.low[equal],
            bounds=[
                *((-one, people) for one in self.counts.ravel().tolist()),
                *([(0, None)] * (2 * given_up.size)),
            ],
            method="highs",
        )
        if found.x is None:
            return np.inf, []
        change = found.x[self.counts.size :].reshape(2, -1).sum(axis=0) > NOTHING
        return float(found.fun), np.unique(owner[given_up[change]]).tolist()

    def _parts(self) -> tuple[Mask, csr_array, Floats]:
        """The rules as equations, and as sums that have an upper limit."""
        equal = self.rules.low == self.rules.high
        ends = np.isfinite(self.rules.high) & ~equal
        starts = np.isfinite(self.rules.low) & ~equal
        upper = vstack([self.rules.sums[ends], -self.rules.sums[starts]], format="csr")
        return equal, upper, np.concatenate([self.rules.high[ends], -self.rules.low[starts]])

    def _try(self, target: int, sign: float) -> bool:
        from scipy.optimize import Bounds, LinearConstraint, milp

        rows = vstack([self.rules.sums, sign * self.targets[[target]]], format="csr")
        low, high = np.append(self.rules.low, 1.0), np.append(self.rules.high, np.inf)
        found = milp(
            np.zeros(self.counts.size),
            constraints=LinearConstraint(rows, low, high),
            integrality=np.ones(self.counts.size),
            bounds=Bounds(-self.counts.ravel(), np.full(self.counts.size, self.counts.sum())),
            options={"node_limit": MOST_NODES},
        )
        return found.x is not None and self._accept(found.x) and bool(self.moved[target])

    def _accept(self, change: Floats) -> bool:
        """Note which targets a move changes, if it is one of whole numbers."""
        whole = np.round(change)
        sums = self.rules.sums @ whole
        if (
            np.abs(whole - change).max(initial=0.0) > 0.01
            or (sums < self.rules.low - NOTHING).any()
            or (sums > self.rules.high + NOTHING).any()
            or (self.counts.ravel() + whole < 0).any()
        ):
            return False
        self.moved |= np.abs(self.targets @ whole) > NOTHING
        return True
