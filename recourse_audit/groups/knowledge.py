"""What everybody knows of the cells of all tables, and what is withheld in them so far.

People are told apart by what became of them (`KINDS`), and published is how many of some kinds
there are in a cell. `State` says which of these sums are shown, and what follows from groups that
are shown for the cells inside them.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from scipy.sparse import csr_array, kron

from recourse_audit.groups.arrays import Ints, Mask
from recourse_audit.groups.cells import Cells
from recourse_audit.groups.disclosure import Rules, joint_cells

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
    (EVERYBODY, REFUSED, (FAVOURABLE,), (UNDECIDED,), (NOT_AUDITED,), AUDITED),
    ((ERROR,), (FOUND,), WITHOUT),
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


class State:
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
        self.without_quartiles = np.zeros(len(tables), dtype=bool)
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

    def without(self, kinds: Kinds, stage: Stage) -> Mask:
        """The cells of which their figures, or those of everybody, say that they have none."""
        zero = np.full(len(self.by_cell), int(self.counts[:, list(kinds)].sum()) == 0)
        for at, several in PUBLISHED[: stage + 1]:
            for one in (*several, *([REFUSED] if at == 0 else [])):
                if set(kinds) <= set(one):
                    zero |= self.shown(at) & (self.number(one) == 0)
        return zero

    def inside(self, cells: Mask) -> Mask:
        """The cells of which everybody is known to be in one of these."""
        return np.asarray((self.joint.covered & cells).any(axis=1))

    def known(self, kinds: Kinds, stage: Stage) -> Mask:
        """The cells of which one group that is shown says how many of these kinds they have.

        They have none; or, of people whose number is shown, all: because nobody in that group is
        of another kind. What only follows from two groups together is not known in this sense.
        """
        none = self.inside(self.without(kinds, stage))
        others = OTHERS.get(kinds)
        if others is None:
            return none
        audited = ~self.people & self.inside(self.without((ERROR,), stage))
        alike = np.all([self.without(one, stage) for one in others], axis=0)
        return np.asarray(none | audited & self.inside(alike))


def columns_of(stage: Stage) -> Sequence[Kinds]:
    """The kinds of people that are told apart."""
    return DECISIONS if stage == 0 else [(kind,) for kind in EVERYBODY]


def sums_of(
    state: State, columns: Sequence[Kinds], kinds: Kinds, cells: Ints | None = None
) -> csr_array:
    """For each cell, or for some, the sum over its joint cells of the people of these kinds."""
    inside = state.joint.inside if cells is None else state.joint.inside[cells]
    return csr_array(kron(csr_array(inside.astype(float)), counted(columns, kinds)))


def counted(columns: Sequence[Kinds], kinds: Kinds) -> csr_array:
    """A row with a one for each column that these kinds include."""
    return csr_array(np.array([[set(one) <= set(kinds) for one in columns]], float))


def published(state: State, stage: Stage, columns: Sequence[Kinds]) -> list[Rules]:
    """Every sum that a reader knows something of, and by how much it may be less or more."""
    rules: list[Rules] = []
    everybody = csr_array(np.ones((1, state.joint.size)))
    for one in (*DECISIONS, *(() if stage == 0 else (*OUTCOMES, *DETAILS))):
        total = csr_array(kron(everybody, counted(columns, one)))
        rules.append(Rules(sums=total, low=np.zeros(1), high=np.zeros(1), owner=np.array([-1])))
    for at, several in PUBLISHED[: stage + 1]:
        cells = np.flatnonzero(state.shown(at))
        full = state.number(EVERYBODY if at == 0 else USABLE)[cells] > 0
        fixed = np.zeros(cells.size)
        for one in several:
            sums = sums_of(state, columns, one, cells)
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
                sums=sums_of(state, columns, kinds, cells),
                low=np.where(small, 1.0, state.smallest) - number,
                high=np.where(small, state.smallest - 1.0 - number, np.inf),
                owner=np.full(cells.size, -1),
            )
        )
    return rules


def earlier_secrets(state: State, columns: Sequence[Kinds], stage: Stage) -> Iterator[csr_array]:
    """What is withheld anyway, one sum each: it must not follow from further figures either."""
    nobody = state.number(USABLE) == 0
    for at, _ in PUBLISHED[: stage + 1]:
        for kinds in SECRETS[at]:
            of_audit = set(kinds) <= set(USABLE)
            open_ = state.hidden(at) & ~state.known(kinds, stage)
            cells = np.flatnonzero(open_ & ~(nobody & of_audit))
            sums = sums_of(state, columns, kinds, cells)
            yield from (sums[[place]] for place in range(len(cells)))
