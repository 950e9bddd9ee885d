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
once; their corners are mostly whole numbers, and only those count. If a random combination of the
counts that are left can be neither more nor less, not even in fractions, then none of them can be,
and two linear programs have shown it for all. What is still open is asked one by one: can it be one
more, or one less, in fractions, and if so, in whole numbers? An integer program that has no answer
within its limit counts as "no", so that rather too much is withheld than too little. A move that
was found remains one when more is withheld, so it is never sought again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse import csr_array, hstack, vstack

from recourse_audit.groups.arrays import Floats, Ints, Mask
from recourse_audit.groups.cells import Cells

# Beyond this many joint cells, only those with people are unknowns; this finds fewer moves.
MOST_JOINT_CELLS = 400
ROUNDS = 6
TRIES = 4
MOST_NODES = 200
NOTHING = 1e-6
NEARLY_WHOLE = 0.01


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
    """The joint cells that may have people: no table says that one of their cells is empty."""
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
        covered = inside.astype(np.int64) @ (~inside.T).astype(np.int64) == 0
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
    stuck: Mask = field(init=False)
    rules: Rules = field(init=False)

    def __post_init__(self) -> None:
        self.moved = np.zeros(self.targets.shape[0], dtype=bool)

    def publish(self, rules: Sequence[Rules]) -> None:
        """Say what is published, all over again."""
        self.rules = _joined(rules)
        self.stuck = np.zeros(self.targets.shape[0], dtype=bool)

    def search(self, wanted: Ints, rounds: int = ROUNDS) -> None:
        """Look for moves that change many of the wanted targets at once, or show that none does."""
        random = np.random.default_rng(0)
        for _ in range(rounds):
            left = wanted[~self.moved[wanted]]
            if not left.size:
                return
            towards = self.targets[left].T @ random.uniform(-1, 1, left.size)
            found = self._far(towards, step=1)
            if found is not None:
                self._accept(found)
        self._find_stuck(wanted[~self.moved[wanted]], random)

    def _find_stuck(self, left: Ints, random: np.random.Generator) -> None:
        """Find out which of these targets cannot change, not even by a fraction."""
        while left.size:
            towards = self.targets[left].T @ random.uniform(-1, 1, left.size)
            found = [self._far(towards), self._far(-towards)]
            ends = [end for end in found if end is not None]
            if len(ends) < len(found):
                return
            if max(abs(float(towards @ end)) for end in ends) < NOTHING:
                self.stuck[left] = True
                return
            still = ~self.moved[left]
            for end in ends:
                self._accept(end)
                still &= np.abs(self.targets[left] @ end) < NOTHING
            left = left[still & ~self.moved[left]]

    def _far(
        self, towards: Floats, more: Rules | None = None, *, step: int = 0, whole: bool = False
    ) -> Floats | None:
        """The move, of whole numbers or not, that goes farthest against a direction.

        No unknown changes by more than `step`, if there is one.
        """
        rules = self.rules if more is None else _joined([self.rules, more])
        step = step or int(self.counts.sum())
        least = np.maximum(-self.counts.ravel(), -step)
        return _solve(towards, rules, least, np.full(self.counts.size, float(step)), whole=whole)

    def can_move(self, target: int) -> bool:
        """Whether a target can be more or less than it is."""
        if self.moved[target] or self.stuck[target]:
            return bool(self.moved[target])
        if self._try(target, 1.0) or self._try(target, -1.0):
            return True
        self.stuck[target] = True
        return False

    def _try(self, target: int, sign: float) -> bool:
        """Look for a move of whole numbers that changes the target in one direction."""
        row = sign * self.targets[[target]]
        by_one = Rules(sums=row, low=np.ones(1), high=np.full(1, np.inf), owner=np.array([-1]))
        rules = _joined([self.rules, by_one])
        random = np.random.default_rng(target)
        for _ in range(TRIES):
            found = self._short(rules, random.uniform(1, 2, self.counts.size))
            if found is None:
                return False
            # Halves and thirds become whole numbers in a move twice or three times as long.
            if any(self._accept(times * found) for times in (1, 2, 3)):
                return bool(self.moved[target])
        # Small steps nearly always suffice, and an integer program without them takes long.
        for step in (1, 2, 0):
            found = self._far(np.zeros(self.counts.size), by_one, step=step, whole=True)
            if found is not None and self._accept(found):
                return bool(self.moved[target])
        return False

    def _short(self, rules: Rules, price: Floats) -> Floats | None:
        """The move, of fractions or not, that changes least at these prices; None if none exists.

        It changes few unknowns, and mostly by whole numbers.
        """
        size, counts = self.counts.size, self.counts.ravel()
        found = _solve(
            np.tile(price, 2),
            replace(rules, sums=hstack([rules.sums, -rules.sums], format="csr")),
            np.zeros(2 * size),
            np.concatenate([np.full(size, float(counts.sum())), counts]),
        )
        return None if found is None else found[:size] - found[size:]

    def _accept(self, change: Floats) -> bool:
        """Note which targets a move changes, if it is one of whole numbers."""
        whole = np.round(change)
        sums = self.rules.sums @ whole
        if (
            np.abs(whole - change).max(initial=0.0) > NEARLY_WHOLE
            or (sums < self.rules.low - NOTHING).any()
            or (sums > self.rules.high + NOTHING).any()
            or (self.counts.ravel() + whole < 0).any()
        ):
            return False
        self.moved |= np.abs(self.targets @ whole) > NOTHING
        return True

    def cheapest_way(self, target: int, cost: Floats) -> list[int]:
        """The cells without whose published sums the target could move, at the least cost.

        `cost` is what a sum of each cell is worth. This is a linear program: what it finds nearly
        always suffices, and the caller checks it. Empty if there is no way.
        """
        ways = [self._way(target, sign, cost) for sign in (1.0, -1.0)]
        return min(ways, key=lambda way: way[0])[1]

    def _way(self, target: int, sign: float, cost: Floats) -> tuple[float, list[int]]:
        """The same in one direction, and what it costs."""
        rules = _joined([self.rules, _at_least_one(sign * self.targets[[target]])])
        given_up = np.flatnonzero(rules.owner >= 0)
        size, more = self.counts.size, given_up.size
        places = (given_up, np.arange(more))
        change = csr_array((np.ones(more), places), shape=(rules.low.size, more))
        price = np.concatenate([np.zeros(size), np.tile(cost[rules.owner[given_up]], 2)])
        found = _solve(
            price,
            replace(rules, sums=hstack([rules.sums, change, -change], format="csr")),
            np.concatenate([-self.counts.ravel(), np.zeros(2 * more)]),
            np.full(size + 2 * more, float(self.counts.sum())),
        )
        if found is None:
            return np.inf, []
        changed = found[size:].reshape(2, -1).sum(axis=0) > NOTHING
        cells = np.unique(rules.owner[given_up[changed]])
        return float(price @ found), [int(cell) for cell in cells]


def _at_least_one(sums: csr_array) -> Rules:
    """The rule that a sum changes by one or more."""
    return Rules(sums=sums, low=np.ones(1), high=np.full(1, np.inf), owner=np.array([-1]))


def _joined(rules: Sequence[Rules]) -> Rules:
    return Rules(
        sums=vstack([one.sums for one in rules], format="csr"),
        low=np.concatenate([one.low for one in rules]),
        high=np.concatenate([one.high for one in rules]),
        owner=np.concatenate([one.owner for one in rules]),
    )


def _solve(
    cost: Floats, rules: Rules, least: Floats | Ints, most: Floats, *, whole: bool = False
) -> Floats | None:
    """The cheapest values, in whole numbers if wanted, that obey the rules; None if none is found.

    The limit is a number of nodes, not a time, so that the result is the same on every machine.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    found = milp(
        cost,
        constraints=LinearConstraint(rules.sums, rules.low, rules.high),
        integrality=np.full(cost.size, int(whole)),
        bounds=Bounds(least.astype(np.float64), most),
        options={"node_limit": MOST_NODES},
    )
    return None if found.x is None else np.asarray(found.x, dtype=np.float64)
