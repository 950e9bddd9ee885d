"""Which figures are withheld, so that nothing can be inferred about a handful of people.

A cell of a table with fewer people than the threshold has no figures, and one with fewer audited
people has none of what the audit found (primary suppression). More is withheld (complementary
suppression) until no withheld count can be worked out from everything that is published, as
`disclosure` finds: how many people there are, how many of them were refused and how many were not,
how many have an option and how many have none, and how the latter divide into certified infeasible
and not found. A reader knows whether a cell is withheld for being small, so that is a constraint.

What is withheld next is the smallest cell near a count that is revealed: of the same row or column
first, then its wholes or parts, then of the same table, then any. What divides people with an
option or without one further (costs, caveats, common options) is shown only in tables of which no
outcome is withheld.

A count may still follow from a group that is shown and has nobody of a kind (nobody of the south
was refused): this is said of everybody in that group, with or without smaller ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.sparse import csr_array, kron, vstack

from recourse_audit.groups.arrays import Ints, Mask
from recourse_audit.groups.cells import Cells
from recourse_audit.groups.disclosure import Moves, Rules, joint_cells

# What can become of a person; every published count is a sum of these.
KINDS = ("favourable", "undecided", "not audited", "error", "found", "infeasible", "not found")
FAVOURABLE, UNDECIDED, NOT_AUDITED, ERROR, FOUND, INFEASIBLE, NOT_FOUND = range(len(KINDS))
Kinds = tuple[int, ...]
EVERYBODY: Kinds = tuple(range(len(KINDS)))
REFUSED: Kinds = (NOT_AUDITED, ERROR, FOUND, INFEASIBLE, NOT_FOUND)
AUDITED: Kinds = (ERROR, FOUND, INFEASIBLE, NOT_FOUND)
USABLE: Kinds = (FOUND, INFEASIBLE, NOT_FOUND)
WITHOUT: Kinds = (INFEASIBLE, NOT_FOUND)
# What is published of a cell: with its decisions, with its outcomes, with their details.
DECISIONS: tuple[Kinds, ...] = ((FAVOURABLE,), (UNDECIDED,), (NOT_AUDITED,), AUDITED)
OUTCOMES: tuple[Kinds, ...] = ((ERROR,), (FOUND,), WITHOUT)
DETAILS: tuple[Kinds, ...] = ((INFEASIBLE,), (NOT_FOUND,))
# What must not be revealed of a cell whose decisions, outcomes or details are withheld.
SECRETS: tuple[tuple[Kinds, ...], ...] = (
    (EVERYBODY, REFUSED, (FAVOURABLE,)),
    ((FOUND,), WITHOUT),
    ((INFEASIBLE,), (NOT_FOUND,)),
)
# The audited are of these kinds, or of those.
OTHERS: dict[Kinds, tuple[Kinds, ...]] = {
    (FOUND,): (WITHOUT,),
    WITHOUT: ((FOUND,),),
    (INFEASIBLE,): ((FOUND,), (NOT_FOUND,)),
    (NOT_FOUND,): ((FOUND,), (INFEASIBLE,)),
}
Stage = Literal[0, 1, 2]
PUBLISHED: tuple[tuple[Stage, tuple[Kinds, ...]], ...] = (
    (0, DECISIONS),
    (1, OUTCOMES),
    (2, DETAILS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Withheld:
    """By table and cell, whether it is under the threshold, and whether it is withheld."""

    primary: tuple[Mask, ...]
    all: tuple[Mask, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppression:
    """What is withheld: all figures of cells, their outcomes, and the details of whole tables.

    `everything`: not even the figures of everybody can be shown, and `all_outcomes`: none of what
    the audit found.
    """

    people: Withheld
    outcomes: Withheld
    undetailed: tuple[bool, ...]
    everything: bool = False
    all_outcomes: bool = False


def withhold(
    tables: Sequence[Cells], kind_of_person: Ints, smallest: int, *, outcomes: bool = True
) -> Suppression:
    """Find what must not be shown; without `outcomes`, none of what the audit found is shown.

    `kind_of_person` has everybody's place in `KINDS`.
    """
    state = _State(tables, kind_of_person, smallest)
    if not _protect(state, 0):
        return state.suppression(everything=True)
    state.outcomes |= state.people
    if not outcomes or not _protect(state, 1):
        return state.suppression(all_outcomes=True)
    state.undetailed = np.array(
        [state.outcomes[state.table_of == place].any() for place in range(len(tables))]
    )
    # Without details, people of whom only the sum is known can be told apart in any way.
    if not state.undetailed.all() and not _protect(state, 2):
        return state.suppression(all_outcomes=True)
    return state.suppression()


def nothing_shown(tables: Sequence[Cells]) -> Suppression:
    """Everything is withheld: there are too few people in all."""
    every = tuple(np.ones(len(table), dtype=bool) for table in tables)
    hidden = Withheld(primary=every, all=every)
    return Suppression(
        people=hidden,
        outcomes=hidden,
        undetailed=(True,) * len(tables),
        everything=True,
        all_outcomes=True,
    )


class _State:
    """What is known of every cell of all tables, one after the other, and what is withheld."""

    def __init__(self, tables: Sequence[Cells], kind_of_person: Ints, smallest: int) -> None:
        self.tables = tables
        self.smallest = smallest
        self.joint = joint_cells(tables)
        self.counts = np.zeros((self.joint.size, len(KINDS)), dtype=np.int64)
        np.add.at(self.counts, (self.joint.of_person, kind_of_person), 1)
        self.by_cell: Ints = self.joint.inside.astype(np.int64) @ self.counts
        number, usable = self.number(EVERYBODY), self.number(USABLE)
        self.small = (number > 0) & (number < smallest)
        self.few_audited = (usable > 0) & (usable < smallest)
        self.people = self.small.copy()
        self.outcomes = self.few_audited | self.small
        self.undetailed = np.zeros(len(tables), dtype=bool)
        self.table_of = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
        self.groups = [
            frozenset((one.name, place) for one, place in zip(table.attributes, value, strict=True))
            for table in tables
            for value in table.values
        ]

    def number(self, kinds: Kinds) -> Ints:
        """How many people of these kinds each cell has."""
        return np.asarray(self.by_cell[:, list(kinds)].sum(axis=1))

    def hidden(self, stage: Stage) -> Mask:
        """The cells with secrets of a stage: those of details are secrets of withheld outcomes."""
        return self.people if stage == 0 else self.outcomes

    def shown(self, stage: Stage) -> Mask:
        """The cells whose decisions, outcomes or details are shown."""
        if stage == 2:
            return ~self.outcomes & ~self.undetailed[self.table_of]
        return ~self.hidden(stage)

    def told(self, kinds: Kinds, stage: Stage) -> Mask:
        """The cells of which a shown group around them, or the total, says that they have none."""
        zero = np.zeros(len(self.by_cell), dtype=bool)
        for at, several in PUBLISHED[: stage + 1]:
            for one in (*several, *([REFUSED] if at == 0 else [])):
                if set(kinds) <= set(one):
                    zero |= self.shown(at) & (self.number(one) == 0)
        nobody = int(self.counts[:, list(kinds)].sum()) == 0
        return np.asarray((self.joint.covered & zero).any(axis=1) | nobody)

    def known(self, kinds: Kinds, stage: Stage) -> Mask:
        """The cells of which groups that are shown say how many of these kinds they have.

        They have none; or, of people whose number is shown, all: because they have no others.
        """
        none = self.told(kinds, stage)
        audited = ~self.people & self.told((ERROR,), stage)
        others = OTHERS.get(kinds)
        if others is None:
            return none
        return np.asarray(
            none | audited & np.all([self.told(one, stage) for one in others], axis=0)
        )

    def suppression(self, *, everything: bool = False, all_outcomes: bool = False) -> Suppression:
        ends = np.cumsum([len(table) for table in self.tables])[:-1]
        all_outcomes |= everything
        people, outcomes = self.people | everything, self.outcomes | all_outcomes

        def by_table(mask: Mask) -> tuple[Mask, ...]:
            return tuple(np.split(mask, ends))

        return Suppression(
            people=Withheld(primary=by_table(self.small), all=by_table(people)),
            outcomes=Withheld(primary=by_table(self.few_audited | people), all=by_table(outcomes)),
            undetailed=tuple(bool(one) or all_outcomes for one in self.undetailed),
            everything=everything,
            all_outcomes=all_outcomes,
        )


def _protect(state: _State, stage: Stage) -> bool:
    """Withhold more until no secret of this stage or an earlier one is revealed.

    False if nothing is left to withhold, and something is still revealed.
    """
    columns = [kinds for kinds in _columns(stage) if state.counts[:, list(kinds)].sum()]
    secrets = [(at, kinds) for at, _ in PUBLISHED[: stage + 1] for kinds in SECRETS[at]]
    cells = len(state.by_cell)
    moves = Moves(
        counts=np.column_stack([state.counts[:, list(kinds)].sum(axis=1) for kinds in columns]),
        targets=vstack(
            [_sums(state, columns, kinds) for _, kinds in secrets] + [_sums(state, columns, USABLE)]
        ).tocsr(),
    )
    nobody = np.zeros(cells * len(secrets), dtype=bool)

    def open_secrets() -> Ints:
        masks = [state.hidden(at) & ~state.known(kinds, stage) for at, kinds in secrets]
        return np.flatnonzero(np.concatenate(masks) & ~nobody & ~moves.moved[: nobody.size])

    _publish(state, stage, columns, moves)
    moves.search(open_secrets())
    while (left := open_secrets()).size:
        secret = int(left[0])
        if moves.can_move(secret):
            continue
        at, _ = secrets[secret // cells]
        audited = len(secrets) * cells + secret % cells
        if at and not state.number(USABLE)[secret % cells] and not moves.can_move(audited):
            nobody[secret] = True  # nobody was audited, so there is no outcome to reveal
            continue
        if not _withhold_more(state, stage, moves, secret):
            return False
        _publish(state, stage, columns, moves)
        moves.search(open_secrets(), rounds=1)
    return True


def _columns(stage: Stage) -> Sequence[Kinds]:
    """The kinds of people that are told apart."""
    return DECISIONS if stage == 0 else [(kind,) for kind in EVERYBODY]


def _sums(
    state: _State, columns: Sequence[Kinds], kinds: Kinds, cells: Ints | None = None
) -> csr_array:
    """For each cell, or for some, the sum over its joint cells of the people of these kinds."""
    inside = state.joint.inside if cells is None else state.joint.inside[cells]
    return csr_array(kron(csr_array(inside.astype(float)), _counted(columns, kinds)))


def _counted(columns: Sequence[Kinds], kinds: Kinds) -> csr_array:
    return csr_array(np.array([[set(one) <= set(kinds) for one in columns]], float))


def _publish(state: _State, stage: Stage, columns: Sequence[Kinds], moves: Moves) -> None:
    """Every sum that a reader knows something of, and by how much it may be less or more."""
    rules: list[Rules] = []
    everybody = csr_array(np.ones((1, state.joint.size)))
    for one in (*DECISIONS, *(() if stage == 0 else (*OUTCOMES, *DETAILS))):
        total = csr_array(kron(everybody, _counted(columns, one)))
        rules.append(Rules(sums=total, low=np.zeros(1), high=np.zeros(1), owner=np.array([-1])))
    for at, several in PUBLISHED[: stage + 1]:
        cells = np.flatnonzero(state.shown(at))
        full = state.number(EVERYBODY if at == 0 else USABLE)[cells] > 0
        fixed = np.zeros(cells.size)
        for one in several:
            sums = _sums(state, columns, one, cells)
            owner = np.where(full & (at == stage), cells, -1)
            rules.append(Rules(sums=sums, low=fixed, high=fixed, owner=owner))
    sizes = [(state.people, state.small, EVERYBODY)]
    if stage:
        sizes.append((state.outcomes & ~state.people, state.few_audited, USABLE))
    for hidden, few, kinds in sizes:
        cells = np.flatnonzero(hidden)
        number, small = state.number(kinds)[cells], few[cells]
        rules.append(
            Rules(
                sums=_sums(state, columns, kinds, cells),
                low=np.where(small, 1.0, state.smallest) - number,
                high=np.where(small, state.smallest - 1.0 - number, np.inf),
                owner=np.full(cells.size, -1),
            )
        )
    moves.publish(rules)


def _withhold_more(state: _State, stage: Stage, moves: Moves, secret: int) -> bool:
    """Withhold more cells, or the details of one more table; False if nothing is left."""
    if stage == 2:
        shown = np.flatnonzero(~state.undetailed)
        if shown.size:
            state.undetailed[shown[-1]] = True
        return bool(shown.size)
    number = state.number(EVERYBODY if stage == 0 else USABLE)
    cells = moves.cheapest_way(secret, np.log2(1.0 + number))
    if not cells:
        cell = secret % len(state.by_cell)
        places = np.flatnonzero(state.shown(stage) & (number > 0)).tolist()
        near = sorted(places, key=lambda one: (_distance(state, cell, one), int(number[one]), one))
        cells = near[:1]
    state.hidden(stage)[cells] = True
    return bool(cells)


def _distance(state: _State, cell: int, other: int) -> int:
    """0 for cells that add up with this one, 1 for its parts and wholes, 2 for the same table."""
    mine, others = state.groups[cell], state.groups[other]
    if state.table_of[cell] == state.table_of[other]:
        return 0 if len(mine) == 1 or mine & others else 2
    return 1 if mine < others or others < mine else 3
