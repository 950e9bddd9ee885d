"""In which tables it is shown how many people have a mark, so that nothing follows from it.

A mark divides the audited further: an action serves them, or applies to them. A table of one
attribute says how many people of each group have it, if the outcomes of all of its groups are
shown, and in none of them a handful of people have the mark, or all. More tables go without until
neither such a number, nor an outcome that is withheld anyway, can be worked out from everything
that is published (`disclosure`). One mark is taken at a time, as details are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, vstack

from recourse_audit.groups.arrays import Ints, Mask
from recourse_audit.groups.details import PRICES, Detail, Split
from recourse_audit.groups.disclosure import Moves
from recourse_audit.groups.knowledge import (
    PUBLISHED,
    SECRETS,
    USABLE,
    Kinds,
    State,
    sums_of,
)

# By table, whether it goes without a mark; None if not even everybody's number is shown.
Without = tuple[bool, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Some people of some kinds: `members` says of everybody whether they have the mark.

    That all audited people of a group have it is as good as a secret, unless it is `innocent`; then
    it is one that a handful of them do not.
    """

    part_of: Kinds
    members: Mask
    innocent: bool = False


def marks_withheld(
    state: State, kind_of_person: Ints, marks: Sequence[Mark]
) -> tuple[Without, ...]:
    """In which tables each mark is not shown; what is withheld of outcomes is settled by now."""
    known: dict[bytes, Without] = {}
    found: list[Without] = []
    for mark in marks:
        one = _Marked(state, kind_of_person, mark)
        key = one.key() + bytes([mark.innocent])
        if key not in known:
            known[key] = one.protected()
        found.append(known[key])
    return tuple(found)


class _Marked(Split):
    """One mark: the people who have it, and the tables that go without it."""

    def __init__(self, state: State, kind_of_person: Ints, mark: Mark) -> None:
        detail = Detail(part_of=mark.part_of, members=mark.members, counted=True)
        super().__init__(state, kind_of_person, detail)
        self._innocent = mark.innocent
        self.few = self._is_few(self.members, state.number(USABLE))
        crossed = np.array([len(table.attributes) > 1 for table in state.tables])
        hidden = self.few | state.outcomes
        some = [bool(hidden[state.table_of == place].any()) for place in range(len(state.tables))]
        self.without: Mask = state.undetailed | crossed | np.array(some)

    def _is_few(self, number: Ints, usable: Ints) -> Mask:
        """Whether a handful of people have the mark, or all."""
        few = (number > 0) & (number < self.state.smallest)
        rest = usable - number
        if self._innocent:
            return np.asarray(few | (rest > 0) & (rest < self.state.smallest))
        return np.asarray(few | (number > 0) & (rest == 0))

    @property
    def secret(self) -> Mask:
        return np.asarray(self.state.outcomes | self.few)

    def _exact(self) -> Mask:
        return np.asarray(~self.state.outcomes & ~self.without[self.state.table_of])

    def protected(self) -> Without:
        """The tables that go without, after as many more as it takes."""
        total = np.array([self.has.sum()])
        if self._is_few(total, np.array([self.state.counts[:, list(USABLE)].sum()]))[0]:
            return None
        while (secret := self.revealed()) is not None:
            assert self.moves is not None
            if not self._withhold(self.moves, secret):
                return None
        while (found := self._earlier_revealed()) is not None:
            if not self._withhold(*found):
                return None
        return tuple(self.without.tolist())

    def _withhold(self, moves: Moves, secret: int) -> bool:
        """Take the mark from more tables; False if it is in none."""
        tables = len(self.state.tables)
        price = np.array([PRICES[len(table.attributes)] for table in self.state.tables])
        owners = moves.cheapest_way(secret, np.tile(price, 2))
        places = [owner % tables for owner in owners] or np.flatnonzero(~self.without)[-1:].tolist()
        self.without[places] = True
        return bool(places)

    def _earlier_revealed(self) -> tuple[Moves, int] | None:
        """An outcome that is withheld, and follows from the mark together with everything else.

        With the mark in one table, any people who agree with its outcomes can have it.
        """
        rows = [*self._earlier_secrets()] if int((~self.without).sum()) > 1 else []
        if not rows:
            return None
        targets = vstack(rows, format="csr")
        moves = Moves(counts=self.counts, targets=targets)
        moves.publish(self._rules())
        wanted = np.arange(targets.shape[0])
        moves.search(wanted, rounds=2)
        revealed = (int(one) for one in wanted if not moves.can_move(int(one)))
        return next(((moves, one) for one in revealed), None)

    def _earlier_secrets(self) -> Iterator[csr_array]:
        state = self.state
        nobody = state.number(USABLE) == 0
        for at, _ in PUBLISHED:
            for kinds in SECRETS[at]:
                outcome = set(kinds) <= set(USABLE)
                hidden = state.hidden(at) & ~state.known(kinds, 2)
                cells = np.flatnonzero(hidden & ~(nobody & outcome))
                if cells.size:
                    yield sums_of(state, self.columns, kinds, cells)
