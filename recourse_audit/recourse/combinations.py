"""Sets of actions that do not exclude each other: how many there are, all of them, the best ones.

`group` has one number per action, ascending. A combination is a row of ascending places.
"""

from collections.abc import Sequence
from itertools import combinations as pick_two
from itertools import product

import numpy as np

from recourse_audit.graph.graph import Floats, Ints
from recourse_audit.model.decisions import Mask
from recourse_audit.recourse.actions import ActionTable

MOST_DRAFTS = 2_000_000
MOST_IN_MATRIX = 3_000


def counts(group: Ints, most: int) -> list[int]:
    """How many combinations there are of each size from 0 to `most`.

    These are the elementary symmetric polynomials of the groups' sizes, in exact whole numbers.
    Groups of one action are taken together: they contribute a binomial coefficient.
    """
    sizes = np.unique(group, return_counts=True)[1]
    total = [1, *[0] * most]
    alone = int((sizes == 1).sum())
    choose = 1
    for size in range(1, most + 1):
        choose = choose * (alone - size + 1) // size
        total[size] = max(choose, 0)
    for members in sizes[sizes > 1].tolist():
        total = [
            count + (members * total[size - 1] if size else 0) for size, count in enumerate(total)
        ]
    return total


def count_possible(table: ActionTable, most: int) -> int:
    """How many combinations of at most `most` changes the rules permit one by one.

    Levels that only an implied attribute forbids count too.
    """
    groups = [table.group]
    for movement, levels in table.unreachable:
        alike = [known.family == movement.family for known, _ in table.moves]
        rows = np.flatnonzero(np.isin(table.move, np.flatnonzero(alike)))
        number = table.group[rows[0]] if len(rows) else len(table) + movement.family
        groups.append(np.full(levels.left_out.total(), number))
    return sum(counts(np.concatenate(groups), most)[1:])


def every(group: Ints, size: int) -> Ints:
    """All combinations of one size, in lexicographic order."""
    count = len(group)
    after = np.searchsorted(group, group, side="right")
    rows: Ints = np.arange(count)[:, None]
    for _ in range(size - 1):
        start = after[rows[:, -1]]
        number = count - start
        owner = np.repeat(np.arange(len(rows)), number)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(number) - number, number)
        rows = np.column_stack((rows[owner], start[owner] + within))
    return rows


def best(effect: Floats, group: Ints, size: int, count: int) -> Ints:
    """Combinations of one size with the largest sums of effects, at most `count`, best first.

    Notes
    -----
    With actions ranked by effect, a combination of ranks r1 < … < rs has r1+1 times r2-r1 times …
    others that are at least as good, itself included. So the best `count` are among those whose
    product of gaps is at most `count`: about count * log(count)^(s-1) / (s-1)! drafts. Drafts of
    actions that exclude each other are discarded, and more are made until enough remain; in that
    case a few of the best may be missed.
    """
    order = np.argsort(-effect, kind="stable")
    wanted, limit = count, count
    while True:
        drafts = _drafts(len(order), size, limit)
        rows = np.sort(order[drafts], axis=1)
        groups = np.sort(group[rows], axis=1)
        rows = rows[(groups[:, 1:] != groups[:, :-1]).all(axis=1)]
        limit *= 4
        if len(rows) >= wanted or len(drafts) * 4 > MOST_DRAFTS or limit > len(order) ** size:
            break
    total = effect[rows].sum(axis=1)
    ranked = np.lexsort((*rows.T[::-1], -total))
    chosen: Ints = rows[ranked[:count]]
    return chosen


def _drafts(actions: int, size: int, limit: int) -> Ints:
    """Ascending ranks whose gaps have a product of at most `limit`."""
    rows, room, last = np.empty((1, 0), np.int64), np.array([limit]), np.array([-1])
    for place in range(size):
        most = np.minimum(room, actions - 1 - last - (size - 1 - place)).clip(0)
        owner = np.repeat(np.arange(len(rows)), most)
        gap = np.arange(len(owner)) - np.repeat(np.cumsum(most) - most, most) + 1
        last = last[owner] + gap
        room = room[owner] // gap
        rows = np.column_stack((rows[owner], last))
    return rows


def parts(table: ActionTable, combination: Sequence[int]) -> list[tuple[int, ...]]:
    """Everything less than a combination: fewer of its actions, lower levels of its attributes."""
    choices = []
    for action in combination:
        lower: list[int | None] = [None, action]
        if table.steps[action]:
            same = np.flatnonzero(table.move == table.move[action])
            steps, own = table.steps[same], int(table.steps[action])
            inside = (np.sign(steps) == np.sign(own)) & (np.abs(steps) < abs(own))
            lower += same[inside].tolist()
        choices.append(lower)
    smaller = (tuple(a for a in chosen if a is not None) for chosen in product(*choices))
    return [part for part in smaller if part and part != tuple(combination)]


def count_parts(table: ActionTable, combination: Sequence[int]) -> int:
    """How many parts a combination has."""
    total = 1
    for action in combination:
        levels = 1
        own = int(table.steps[action])
        if own:
            inside = (table.move == table.move[action]) & (np.sign(table.steps) == np.sign(own))
            levels = int((inside & (np.abs(table.steps) <= abs(own))).sum())
        total *= levels + 1
    return total - 2


class Cover:
    """Tells which combinations contain one that works, or move its attributes further.

    What is covered costs at least as much and asks for more, so it need not be tried.
    """

    def __init__(self, table: ActionTable) -> None:
        self._table = table
        self._single = np.zeros(len(table), bool)
        self._pairs: Mask | None = None
        self._larger: list[list[Mask]] = []

    @property
    def alive(self) -> Ints:
        """The actions that neither work alone nor go further than one that does."""
        return np.flatnonzero(~self._single)

    def add(self, combination: Sequence[int]) -> None:
        """Note a combination that works."""
        masks = [self._table.at_least(action) for action in combination]
        if len(masks) == 1:
            self._single |= masks[0]
        elif len(masks) == 2 and len(self._table) <= MOST_IN_MATRIX:
            if self._pairs is None:
                self._pairs = np.zeros((len(self._table), len(self._table)), bool)
            self._pairs[np.ix_(*masks)] = True
            self._pairs[np.ix_(*masks[::-1])] = True
        else:
            self._larger.append(masks)

    def holds(self, combinations: Ints) -> Mask:
        """Which of some combinations of one size are covered."""
        inside: Mask = np.any(self._single[combinations], axis=1)
        if self._pairs is not None:
            for first, other in pick_two(range(combinations.shape[1]), 2):
                inside |= self._pairs[combinations[:, first], combinations[:, other]]
        for masks in self._larger:
            if len(masks) <= combinations.shape[1]:
                every_one: Mask = np.ones(len(combinations), bool)
                for mask in masks:
                    every_one &= mask[combinations].any(axis=1)
                inside |= every_one
        return inside


def diverse(touched: Mask, cost: Floats, count: int) -> list[int]:
    """Choose rows that differ in what they touch: the cheapest, then those farthest from it.

    The distance of two rows is the Jaccard distance of what they touch; the distance of a row from
    several others is the smallest. Ties are broken by cost, then by order. Rows are sorted by cost.
    """
    if not len(touched):
        return []
    sets = touched.astype(np.float64)
    size = sets.sum(axis=1)
    chosen = [int(np.argmin(cost))]
    distance = np.full(len(sets), np.inf)
    while len(chosen) < min(count, len(sets)):
        shared = sets @ sets[chosen[-1]]
        distance = np.minimum(distance, 1 - shared / (size + size[chosen[-1]] - shared))
        distance[chosen] = -1
        chosen.append(int(np.lexsort((cost, -np.round(distance, 9)))[0]))
    return chosen
