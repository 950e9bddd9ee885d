"""In which tables the answers on own data alone are shown, so that nothing follows from them.

Published of a group would be how many of the refused would be let in on their own data alone, and
how many of the others would be refused. A table has these figures only if none of its groups is
withheld, and in none of them the decisions on a handful of people change, or all of them. More
tables go without until neither these numbers, nor anything else that is withheld, can be worked out
from everything that is published (`disclosure`).
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from scipy.sparse import csr_array, kron, vstack

from recourse_audit.groups.arrays import Ints, Mask
from recourse_audit.groups.details import PRICES
from recourse_audit.groups.disclosure import Moves, Rules
from recourse_audit.groups.knowledge import (
    EVERYBODY,
    FAVOURABLE,
    REFUSED,
    UNDECIDED,
    Kinds,
    Stage,
    State,
    earlier_secrets,
    published,
)

DECIDED: Kinds = tuple(kind for kind in EVERYBODY if kind != UNDECIDED)
BASES: tuple[Kinds, ...] = (REFUSED, (FAVOURABLE,))
# Whether a group that is shown says it by itself.
Told = Callable[[], bool]


def own_data_withheld(
    state: State, kind_of_person: Ints, changed: Mask, *, outcomes: bool
) -> "OwnDataSplit | None":
    """Which tables go without answers on own data alone; None if even everybody does.

    `changed` says of everybody whether the decision on them would be another one.
    """
    split = OwnDataSplit(state, kind_of_person, changed, 2 if outcomes else 0)
    few = 0 < split.changed.sum() < state.smallest
    if few or split.changed.sum() == split.decided.sum():
        return None
    return split if split.protect() else None


class OwnDataSplit:
    """Everybody by joint cell, kind, and whether the decision on them changes.

    `withheld` says of each table whether it goes without these answers.
    """

    def __init__(self, state: State, kind_of_person: Ints, changed: Mask, stage: Stage) -> None:
        self.state = state
        self.stage = stage
        there = [kind for kind in EVERYBODY if (kind_of_person == kind).any()]
        columns = [(kind, False) for kind in there]
        columns += [(kind, True) for kind in there if kind in DECIDED]
        place = {one: at for at, one in enumerate(columns)}
        everybody = zip(kind_of_person.tolist(), changed.tolist(), strict=True)
        column = [place[kind, change and kind in DECIDED] for kind, change in everybody]
        self.columns: list[Kinds] = [(kind,) for kind, _ in columns]
        self.counts = np.zeros((state.joint.size, len(columns)), dtype=np.int64)
        np.add.at(self.counts, (state.joint.of_person, np.array(column, np.int64)), 1)
        # Of the refused, then of the others: whose decision changes, and whose does not.
        self.figures = [
            np.array([kind in base and change == changes for kind, change in columns])
            for base in BASES
            for changes in (True, False)
        ]
        self.changed = self.counts @ (self.figures[0] | self.figures[2])
        self.decided = self.counts @ np.any(self.figures, axis=0)
        inside = state.joint.inside.astype(np.int64)
        self.numbers = np.array([inside @ (self.counts @ one) for one in self.figures])
        number, all_of = inside @ self.changed, inside @ self.decided
        self.few: Mask = (number > 0) & ((number < state.smallest) | (number == all_of))
        self.few |= state.people
        self.withheld: Mask = np.array(
            [bool(self.few[state.table_of == table].any()) for table in range(len(state.tables))]
        )

    def protect(self) -> bool:
        """Withhold more tables until nothing is revealed; False if it would take all of them."""
        secrets = [*self._own_secrets(), *self._earlier_secrets()]
        if not secrets:
            return True
        moves = Moves(counts=self.counts, targets=vstack([row for row, _ in secrets], format="csr"))
        price = np.array([PRICES[len(table.attributes)] for table in self.state.tables])
        while True:
            moves.publish(self._rules())
            wanted = np.array([place for place, (_, told) in enumerate(secrets) if not told()])
            moves.search(wanted.astype(np.int64), rounds=2)
            revealed = next((int(one) for one in wanted if not moves.can_move(int(one))), None)
            if revealed is None:
                return True
            tables = moves.cheapest_way(revealed, price)
            tables = tables or np.flatnonzero(~self.withheld)[-1:].tolist()
            if not tables:
                return False
            self.withheld[tables] = True

    def _own_secrets(self) -> Iterator[tuple[csr_array, Told]]:
        """The numbers of groups with few people, or few whose decision changes."""
        inside = self.state.joint.inside
        for cell in np.flatnonzero(self.few).tolist():
            for figure, counted in enumerate(self.figures):
                row = csr_array(inside[[cell]].astype(float))
                yield csr_array(kron(row, _row(counted))), partial(self.told, cell, figure)

    def _earlier_secrets(self) -> Iterator[tuple[csr_array, Told]]:
        """What is withheld anyway: it must not follow from these answers either."""
        for row in earlier_secrets(self.state, self.columns, self.stage):
            yield row, _never

    def told(self, cell: int, figure: int) -> bool:
        """Whether one group that is shown, and has everybody of this one, has none of a figure."""
        state = self.state
        shown = ~self.withheld[state.table_of] & (self.numbers[figure] == 0)
        base = ~state.people & (state.number(BASES[figure // 2]) == 0)
        none = not self.numbers[figure][state.table_of == 0].sum()
        return none or bool(state.inside(shown | base)[cell])

    def _rules(self) -> list[Rules]:
        """Everything published; the owner of a rule is the table whose answers alone it is."""
        state = self.state
        rules = [
            Rules(sums=one.sums, low=one.low, high=one.high, owner=np.full(one.low.size, -1))
            for one in published(state, self.stage, self.columns)
        ]
        shown = np.flatnonzero(~self.withheld[state.table_of])
        everybody = csr_array(np.ones((1, state.joint.size)))
        for counted in (self.figures[0], self.figures[2]):
            for cells, owner in (
                (csr_array(state.joint.inside[shown].astype(float)), state.table_of[shown]),
                (everybody, np.array([-1])),
            ):
                sums = csr_array(kron(cells, _row(counted)))
                none = np.zeros(sums.shape[0])
                rules.append(Rules(sums=sums, low=none, high=none, owner=owner))
        return rules


def _never() -> bool:
    """What is withheld anyway was checked for that when it was withheld."""
    return False


def _row(counted: Mask) -> csr_array:
    return csr_array(counted[np.newaxis].astype(float))
