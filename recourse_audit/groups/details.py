"""Which details of groups that are shown would reveal the same details of a withheld group.

A detail is a kind of people among those with an option, or among all audited: an option of at most
some cost, more than so many options, a grade of caveats, an explanation, being served by the first
common options. Tables with details, and everybody together, say how many there are; quartiles say
between which two numbers there are. How many there are in a withheld group must not follow, nor
that it is everybody or nobody.

Notes
-----
One detail is taken at a time: each kind of people that it divides becomes two, and `disclosure`
looks for another table that agrees with everything published. Nearly always a swap shows at once
that there is one: somebody of the detail in one place, and somebody of the same kind without it in
another. Where nothing else helps, quartiles are withheld from a table, or all of its details.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, kron, vstack

from recourse_audit.groups.arrays import Floats, Ints, Mask
from recourse_audit.groups.disclosure import Moves, Rules
from recourse_audit.groups.knowledge import (
    EVERYBODY,
    USABLE,
    Kinds,
    State,
    published,
)

QUARTERS = (0.25, 0.5, 0.75)
# What it costs to withhold quartiles from a table, by its number of attributes; details cost more.
PRICES = {1: 4.0, 2: 1.0}
DETAILS_COST = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """Some people of some kinds, and how their number is published.

    `members` says of everybody whether they are of the detail. If it is `counted`, their number is
    given in tables with details. `below` are the people that quartiles, if they say anything about
    the detail, have at or below a value, `over` those whom they are about, and `everywhere` says
    whether they are given in all tables.
    """

    part_of: Kinds
    members: Mask
    counted: bool
    below: Mask | None = None
    over: Mask | None = None
    everywhere: bool = False


def protect_details(state: State, kind_of_person: Ints, details: Sequence[Detail]) -> bool:
    """Withhold quartiles and details of tables until nothing withheld follows from them.

    False if nothing is left to withhold, and something still follows.
    """
    if not state.outcomes.any():
        return True
    seen: set[bytes] = set()
    for detail in details:
        one = Split(state, kind_of_person, detail)
        if one.key() not in seen:
            seen.add(one.key())
            while (secret := one.revealed()) is not None:
                if not one.withhold_more(secret):
                    return False
    return True


class Split:
    """One detail: its people by joint cell, and what is published of them by cell."""

    def __init__(self, state: State, kind_of_person: Ints, detail: Detail) -> None:
        self.state = state
        self.detail = detail
        self.moves: Moves | None = None
        # Each kind of which there is anybody, without the members of the detail, then with them.
        there = [kind for kind in EVERYBODY if (kind_of_person == kind).any()]
        columns = [(kind, False) for kind in there]
        columns += [(kind, True) for kind in there if kind in detail.part_of]
        self.columns: list[Kinds] = [(kind,) for kind, _ in columns]
        everybody = zip(kind_of_person.tolist(), detail.members.tolist(), strict=True)
        place = {one: at for at, one in enumerate(columns)}
        column = np.array(
            [place[kind, member and kind in detail.part_of] for kind, member in everybody]
        )
        self.counts = np.zeros((state.joint.size, len(columns)), dtype=np.int64)
        np.add.at(self.counts, (state.joint.of_person, column), 1)
        self.is_member = np.array([member for _, member in columns])
        self.is_other = np.isin([kind for kind, _ in columns], detail.part_of) & ~self.is_member
        self.has = self.counts[:, self.is_member].sum(axis=1)
        self.lacks = self.counts[:, self.is_other].sum(axis=1)
        inside = state.joint.inside.astype(np.int64)
        self.members, self.others = inside @ self.has, inside @ self.lacks
        self.down, self.up = self._ranks(inside)
        self.total_down, self.total_up = self._ranks(np.ones((1, state.joint.size), np.int64))

    def key(self) -> bytes:
        """Equal for details of which the same is published."""
        parts = [self.has, self.lacks, self.down, self.up]
        return b"".join(one.astype(np.float64).tobytes() for one in parts)

    def _ranks(self, inside: Ints) -> tuple[Floats, Floats]:
        """By how much the number in each cell could be less or more with the same quartiles."""
        free = np.full(len(inside), np.inf)
        if self.detail.below is None or self.detail.over is None:
            return free, free
        joint = self.state.joint
        below, over = (
            inside @ np.bincount(joint.of_person[mask], minlength=joint.size)
            for mask in (self.detail.below, self.detail.over)
        )
        places = np.maximum(1, np.ceil(np.outer(QUARTERS, over))).astype(np.int64)
        low = np.where(places <= below, places, 0).max(axis=0)
        high = np.where(places > below, places - 1, over).min(axis=0)
        return np.asarray(below - low, float), np.asarray(high - below, float)

    @property
    def secret(self) -> Mask:
        """The cells of which the number must not follow."""
        return self.state.outcomes

    def _exact(self) -> Mask:
        """The cells of which the number is given."""
        state = self.state
        counted = ~state.outcomes & ~state.undetailed[state.table_of]
        return counted if self.detail.counted else np.zeros_like(counted)

    def _ranked(self) -> Mask:
        """The cells of which quartiles say something."""
        state = self.state
        gone = state.without_quartiles if self.detail.everywhere else state.undetailed
        return ~state.outcomes & ~gone[state.table_of] & np.isfinite(self.down)

    def _known(self) -> Mask:
        """The cells that lie in a shown group of which everybody, or nobody, is of the detail."""
        exact, ranked = self._exact(), self._ranked()
        none = (self.members == 0) & (exact | ranked & (self.up == 0))
        every = (self.others == 0) & (exact | ranked & (self.down == 0))
        if self.detail.counted and (not self.has.sum() or not self.lacks.sum()):
            return np.ones_like(none)
        return self.state.inside(none | every)

    def revealed(self) -> int | None:
        """A withheld cell whose number of people of the detail follows; None if there is none."""
        wanted = self.secret & ~self._known()
        wanted[wanted] = ~self._swapped()[wanted]
        cells = np.flatnonzero(wanted)
        if not cells.size:
            return None
        rows = self.state.joint.inside[cells].astype(float)
        usable = np.isin([one[0] for one in self.columns], USABLE)
        targets = [kron(csr_array(rows), csr_array(one[np.newaxis].astype(float)))
                   for one in (self.is_member, self.is_other, usable)]  # fmt: skip
        self.moves = moves = Moves(counts=self.counts, targets=csr_array(vstack(targets)))
        moves.publish(self._rules())
        moves.search(np.arange(3 * cells.size), rounds=2)
        for place in range(2 * cells.size):
            if not moves.can_move(place):
                nobody = not self.members[cells[place % cells.size]]
                nobody &= not self.others[cells[place % cells.size]]
                if not (nobody and not moves.can_move(2 * cells.size + place % cells.size)):
                    return place
        return None

    def _swapped(self) -> Mask:
        """The cells whose number changes if two people of the same kind swap places."""
        state, inside = self.state, self.state.joint.inside
        free = ~self._exact() & ~self._ranked()
        exact, ranked = self._exact(), self._ranked()
        allowed = np.outer(self.has > 0, self.lacks > 0)
        for place in range(len(state.tables)):
            mine = inside[state.table_of == place]
            cell = mine.argmax(axis=0)
            own = state.table_of == place
            less = (free | ~exact & (~ranked | (self.down >= 1)))[own][cell]
            more = (free | ~exact & (~ranked | (self.up >= 1)))[own][cell]
            allowed &= (cell[:, np.newaxis] == cell) | np.outer(less, more)
        real = inside.astype(np.float32)
        leaves, enters = real @ allowed.astype(np.float32), real @ allowed.T.astype(np.float32)
        return np.asarray((((leaves > 0) | (enters > 0)) & ~inside).any(axis=1))

    def _rules(self) -> list[Rules]:
        """Everything published; a rule's owner is the table whose quartiles or details it is."""
        state = self.state
        rules = [self._without_owner(one) for one in published(state, 2, self.columns)]
        member = csr_array(self.is_member[np.newaxis].astype(float))
        exact, ranked = self._exact(), self._ranked() & ~self._exact()
        for mask, down, up, shift in (
            (exact, np.zeros_like(self.down), np.zeros_like(self.up), len(state.tables)),
            (ranked, self.down, self.up, 0),
        ):
            sums = csr_array(kron(csr_array(state.joint.inside[mask].astype(float)), member))
            owner = state.table_of[mask] + shift
            rules.append(Rules(sums=sums, low=-down[mask], high=up[mask], owner=owner))
        if self.detail.counted or np.isfinite(self.total_down).all():
            total = csr_array(kron(csr_array(np.ones((1, state.joint.size))), member))
            ends = (np.zeros(1),) * 2 if self.detail.counted else (-self.total_down, self.total_up)
            rules.append(Rules(sums=total, low=ends[0], high=ends[1], owner=np.array([-1])))
        return rules

    def _without_owner(self, rules: Rules) -> Rules:
        return Rules(
            sums=rules.sums, low=rules.low, high=rules.high, owner=np.full(rules.low.size, -1)
        )

    def withhold_more(self, secret: int) -> bool:
        """Withhold the quartiles or the details of some tables; False if nothing is left."""
        state = self.state
        assert self.moves is not None
        price = np.array([PRICES[len(table.attributes)] for table in state.tables])
        owners = self.moves.cheapest_way(secret, np.concatenate([price, DETAILS_COST * price]))
        if not owners:
            quartiles = np.flatnonzero(~state.without_quartiles)
            detailed = np.flatnonzero(~state.undetailed)
            owners = [*quartiles[-1:], *(len(state.tables) + detailed[-1:])][:1]
        for owner in owners:
            place = owner % len(state.tables)
            if owner >= len(state.tables):
                state.undetailed[place] = True
            elif self.detail.everywhere:
                state.without_quartiles[place] = True
            else:
                state.undetailed[place] = True
        return bool(owners)
