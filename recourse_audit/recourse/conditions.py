"""How many combinations of changes there are, and which are left out for what would be so after.

A condition is checked wherever an option changes a column that it names, or one that such a column
is computed from; what stays as it is was never advised. Numbers are compared in the user's units.
A combination after which a derived column has no finite value is left out in the same way.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import comb, perm

import numpy as np

from recourse_audit.graph.columns import Column
from recourse_audit.graph.computed import evaluate
from recourse_audit.graph.graph import Ints
from recourse_audit.model.decisions import Mask
from recourse_audit.records.recourse import Forbidden, LeftOut, LeftOutLevels, forbid
from recourse_audit.recourse.actions import ADD, DROP, MOVE, NONE, SET, ActionTable
from recourse_audit.recourse.attributes import Value, column_from, column_of
from recourse_audit.recourse.policy import Conditions

MOST_COUNTED = 1_000_000
AT_ONCE = 65_536
BROKEN_FORMULA = -2
KEPT = -1


def counts(group: Ints, most: int) -> list[int]:
    """How many combinations there are of each size from 0 to `most`.

    These are the elementary symmetric polynomials of the groups' sizes, in exact whole numbers.
    Groups of one action are taken together: they contribute a binomial coefficient.
    """
    sizes = np.unique(group, return_counts=True)[1]
    alone = int((sizes == 1).sum())
    total = [comb(alone, size) for size in range(most + 1)]
    for members in sizes[sizes > 1].tolist():
        total = [
            count + (members * total[size - 1] if size else 0) for size, count in enumerate(total)
        ]
    return total


def tie_counts(table: ActionTable, most: int) -> list[int]:
    """How many combinations of changes of ties there are of each size, in exact whole numbers.

    All ties that may move to some new ties may move to each of them, and none of these is made
    twice: of t ties, j move to different ones of n new ties in (t over j) n! / (n - j)! ways.
    """
    do, group = table.do[: table.tie_actions], table.group[: table.tie_actions]
    alike = (table.kind * (table.relation.max(initial=0) + 1) + table.relation)[: len(do)]
    moving = np.unique(alike[do == MOVE])
    total = counts(group[~np.isin(alike, moving)], most)
    for number in moving.tolist():
        inside = alike == number
        ends, adds, moves = (int((do[inside] == what).sum()) for what in (DROP, ADD, MOVE))
        ties = len(np.unique(group[inside & (do == MOVE)]))
        new = moves // ties
        assert {ends, adds} <= {0, ties, new}, "not all ties may move to the same new ones"
        ways = [0] * (most + 1)
        for moved in range(min(ties, new, most) + 1):
            rest = (ties - moved) * bool(ends) + (new - moved) * bool(adds)
            for more in range(most - moved + 1):
                ways[moved + more] += comb(ties, moved) * perm(new, moved) * comb(rest, more)
        total = _convolve(total, ways)
    return total


def _convolve(one: Sequence[int], other: Sequence[int]) -> list[int]:
    """How many combinations of two independent parts there are, by size."""
    sizes = range(len(one))
    return [sum(one[part] * other[size - part] for part in range(size + 1)) for size in sizes]


def repeats(rows: Ints, labels: Ints | None) -> Mask:
    """Which combinations have two actions of one label, other than `NONE`."""
    if labels is None:
        return np.zeros(len(rows), bool)
    chosen = np.sort(labels[rows], axis=1)
    again: Mask = (chosen[:, 1:] == chosen[:, :-1]) & (chosen[:, 1:] != NONE)
    return np.asarray(again.any(axis=1))


def every(group: Ints, size: int, new: Ints | None = None) -> Ints:
    """All combinations of one size, in lexicographic order; none makes a `new` tie twice."""
    count = len(group)
    after = np.searchsorted(group, group, side="right")
    rows: Ints = np.arange(count)[:, None]
    for _ in range(size - 1):
        start = after[rows[:, -1]]
        number = count - start
        owner = np.repeat(np.arange(len(rows)), number)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(number) - number, number)
        rows = np.column_stack((rows[owner], start[owner] + within))
        rows = rows if new is None else rows[~repeats(rows, new)]
    return rows


def count_possible(table: ActionTable, most: int, *, all_levels: bool = True) -> int:
    """How many combinations rules permit, with levels that an implied attribute forbids or not."""
    unreachable = [
        np.full(levels.left_out.total(), table.tie_actions + movement.family)
        for movement, levels in (table.unreachable if all_levels else ())
    ]
    sets = np.concatenate((table.group[table.tie_actions :], *unreachable))
    return sum(_convolve(tie_counts(table, most), counts(sets, most))[1:])


class SubjectConditions:
    """The conditions of a policy for the actions of one subject."""

    def __init__(self, conditions: Conditions, table: ActionTable) -> None:
        self._conditions = conditions
        self.table = table
        self._apply = bool(conditions and table.moves)
        self._columns: dict[str, tuple[Mask, Column, Column]] = {}
        if self._apply:
            assigned = [*(table.assignments(action) for action in range(len(table))), {}]
            self._columns = {name: self._column(name, assigned) for name in conditions.columns}

    def _column(
        self, name: str, assigned: Sequence[dict[str, tuple[Value, Value]]]
    ) -> tuple[Mask, Column, Column]:
        """Which actions set a column, and its value after each, in the table's and user's units.

        The last entry, which `NONE` selects, is what the subject has.
        """
        value = column_of(self.table.graph, name)[self.table.subject]
        own: tuple[Value, Value] = (
            (value, value)
            if isinstance(value, str)
            else (float(value), self._conditions.user_value(name, value))
        )
        pairs = [columns.get(name, own) for columns in assigned]
        in_table, in_units = map(column_from, zip(*pairs, strict=True))
        return np.array([name in columns for columns in assigned], bool), in_table, in_units

    def allows(self, combinations: Ints) -> Mask:
        """Which combinations break no condition, and leave every derived column a value."""
        if not self._apply:
            return np.ones(len(combinations), bool)
        return np.asarray(self._verdicts(combinations) == KEPT)

    def keep(self, combinations: Ints) -> Ints:
        return combinations[self.allows(combinations)] if self._apply else combinations

    def reasons_against_all(self) -> Iterator[Forbidden]:
        """What would be wrong after all actions together; nothing if all is well."""
        if not self._apply:
            return
        [verdict] = self._verdicts(np.arange(len(self.table))[None]).tolist()
        if verdict >= 0:
            yield forbid("condition", condition=self._conditions.texts[verdict])
        elif verdict == BROKEN_FORMULA:
            yield forbid("formula")

    def count_left_out(self, max_changes: int) -> LeftOut:
        """How many combinations of at most so many changes are left out, and why."""
        table, texts = self.table, self._conditions.texts
        broken = self._count_broken(max_changes) if self._apply else Counter[int]()
        permitted = count_possible(table, max_changes, all_levels=False)
        return LeftOut(
            implications=count_possible(table, max_changes) - permitted,
            conditions=None if broken is None else sum(broken[n] for n in range(len(texts))),
            formulas=None if broken is None else broken[BROKEN_FORMULA],
            levels=tuple(
                LeftOutLevels(attribute=movement.rule.name, moves=name, levels=number)
                for movement, levels in table.unreachable
                for name, number in sorted(levels.left_out.items())
            ),
            by_condition={text: broken[n] for n, text in enumerate(texts) if broken and broken[n]},
        )

    def _count_broken(self, max_changes: int) -> Counter[int] | None:
        """How many combinations break which condition; None if there are too many to count."""
        table = self.table
        own = np.flatnonzero(table.do == SET)
        ties = tie_counts(table, max_changes)
        if sum(counts(table.group[own], max_changes)) > MOST_COUNTED:
            return None
        broken: Counter[int] = Counter()
        for size in range(1, max_changes + 1):
            beside = sum(ties[: max_changes - size + 1])
            rows = own[every(table.group[own], size)]
            for first in range(0, len(rows), AT_ONCE):
                verdicts = self._verdicts(rows[first : first + AT_ONCE])
                for verdict, count in zip(*np.unique(verdicts, return_counts=True), strict=True):
                    broken[int(verdict)] += int(count) * beside
        return broken

    def _verdicts(self, combinations: Ints) -> Ints:
        """The first condition that each combination breaks; `KEPT` if none."""
        verdicts = np.full(len(combinations), KEPT)
        conditions = self._conditions
        in_table: dict[str, Column] = {}
        compared: dict[str, Column] = {}
        touched: dict[str, Mask] = {}
        for name, (sets, table_values, user_values) in self._columns.items():
            setting = np.full(len(combinations), NONE)
            for action in combinations.T:
                setting = np.where(sets[action], action, setting)
            in_table[name], compared[name] = table_values[setting], user_values[setting]
            touched[name] = setting != NONE
        # What is compared is in the user's units; what is computed is computed from the table's.
        whole = conditions.computation.complete(in_table)
        compared = {**whole, **compared}
        for number, (when, then) in enumerate(conditions.trees):
            moved = np.zeros(len(combinations), bool)
            for name in conditions.base[number]:
                moved |= touched[name]
            kept = evaluate(then, compared)
            if when is not None:
                kept = kept | ~evaluate(when, compared)
            verdicts[(verdicts == KEPT) & moved & ~kept] = number
        for name in conditions.derived:
            verdicts[~np.isfinite(whole[name])] = BROKEN_FORMULA
        return verdicts
