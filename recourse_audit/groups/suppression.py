"""Which cells are withheld, so that nothing can be worked out about a handful of people.

A cell under the threshold is withheld. So is the next smallest of every sum in which one cell
alone is withheld, since the sum would give it away, or in which the withheld cells are cornered; a
sum is a row or column of a crossed table with the
group's own figure in the table of one attribute, or such a table with the total. Afterwards linear
algebra, and for people what is known of their bounds, looks for what the sums give away together,
and more is withheld until there is nothing.

What is withheld follows from two counts: of people (then no figure of the cell is shown), and of
audited people (then none about what the audit found).

Notes
-----
A withheld count is given away if no vector of the null space of the sums moves it: one singular
value decomposition for every cell that is added, of a matrix of sums by withheld cells.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from recourse_audit.groups.arrays import Floats, Ints, Mask
from recourse_audit.groups.bounds import pinned_down
from recourse_audit.groups.cells import Cells

NOTHING = 1e-8
TOTAL = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """Cells that add up to another one, or to the total (-1)."""

    parts: Ints
    whole: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Withheld:
    """For each cell of each table, whether it is under the threshold, and whether withheld."""

    primary: tuple[Mask, ...]
    all: tuple[Mask, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """Counts of all cells of all tables together, and what is withheld of them so far.

    `found` of the `number` were refused, or have an option. `bounded` if it is known of every
    withheld number whether it is under the threshold.
    """

    number: Ints
    found: Ints
    bounded: bool
    primary: Mask
    hidden: Mask
    smallest: int


def withhold_people(
    tables: Sequence[Cells], people: Sequence[Ints], refused: Sequence[Ints], smallest: int
) -> Withheld:
    """Find the cells of which nothing is shown; one without anybody is no secret."""
    number, found = np.concatenate(people), np.concatenate(refused)
    primary = (number > 0) & (number < smallest)
    return _withhold(
        tables,
        _State(
            number=number,
            found=found,
            bounded=True,
            primary=primary,
            hidden=primary.copy(),
            smallest=smallest,
        ),
    )


def withhold_outcomes(
    tables: Sequence[Cells],
    audited: Sequence[Ints],
    verified: Sequence[Ints],
    smallest: int,
    before: Withheld,
) -> Withheld:
    """Find the cells of which nothing is shown that the audit found; `before` are among them."""
    number, found = np.concatenate(audited), np.concatenate(verified)
    primary = (number > 0) & (number < smallest) | np.concatenate(before.all)
    return _withhold(
        tables,
        _State(
            number=number,
            found=found,
            bounded=False,
            primary=primary,
            hidden=primary.copy(),
            smallest=smallest,
        ),
    )


def _withhold(tables: Sequence[Cells], state: _State) -> Withheld:
    sums = list(sums_of(tables))
    while (more := _exposed_cell(sums, state)) is not None:
        state.hidden[more] = True
    ends = np.cumsum([len(table) for table in tables])[:-1]
    return Withheld(
        primary=tuple(np.split(state.primary, ends)), all=tuple(np.split(state.hidden, ends))
    )


def sums_of(tables: Sequence[Cells]) -> Iterator[Sum]:
    """Every way in which cells of the tables add up, by their places in all tables together."""
    starts = np.cumsum([0, *map(len, tables)])
    single = {
        table.name: int(start)
        for table, start in zip(tables, starts, strict=False)
        if len(table.attributes) == 1
    }
    for table, start in zip(tables, starts, strict=False):
        if len(table.attributes) == 1:
            yield Sum(parts=start + np.arange(len(table)), whole=TOTAL)
            continue
        values = np.array(table.values)
        for side, attribute in enumerate(table.attributes):
            for place in range(len(attribute.groups)):
                parts = start + np.flatnonzero(values[:, side] == place)
                if parts.size:
                    yield Sum(parts=parts, whole=single[attribute.name] + place)


def _exposed_cell(sums: Sequence[Sum], state: _State) -> int | None:
    """A cell to withhold next, or None if nothing that is withheld is given away."""
    for one in sums:
        if _alone(one, state.hidden) or _cornered(one, state):
            next_one = _next_smallest([one], state)
            if next_one is not None:
                return next_one
    for place in _followed(sums, state):
        near = [one for one in sums if place in one.parts or place == one.whole]
        for some in (near, sums):
            next_one = _next_smallest(some, state)
            if next_one is not None:
                return next_one
    return None


def _followed(sums: Sequence[Sum], state: _State) -> list[int]:
    """The withheld cells that follow from the sums, or of people from sums and bounds."""
    places, rows = _equations(sums, state.hidden)
    if not len(rows):
        return []
    fixed = given_away(rows)
    if not fixed and state.bounded:
        fixed = pinned_down(rows, state.number[places], state.primary[places], state.smallest)
    return [int(places[column]) for column in fixed]


def given_away(rows: Floats) -> list[int]:
    """The columns of the sums that no vector of their null space moves."""
    _, sizes, directions = np.linalg.svd(rows, full_matrices=True)
    free = directions[int((sizes > NOTHING * sizes[0]).sum()) :]
    moved = np.abs(free).max(axis=0, initial=0.0)
    return [int(place) for place in np.flatnonzero(moved <= NOTHING)]


def _equations(sums: Sequence[Sum], hidden: Mask) -> tuple[Ints, Floats]:
    """The withheld cells, and the sums over them that are known to be constant, a row each."""
    places = np.flatnonzero(hidden)
    column = np.full(hidden.size, -1)
    column[places] = np.arange(places.size)
    rows = []
    for one in sums:
        row = np.zeros(places.size)
        row[column[one.parts[hidden[one.parts]]]] = 1.0
        if one.whole != TOTAL and hidden[one.whole]:
            row[column[one.whole]] = -1.0
        if row.any():
            rows.append(row)
    return places, np.array(rows)


def _alone(one: Sum, hidden: Mask) -> bool:
    """Whether exactly one of the figures of a sum is withheld."""
    whole = one.whole != TOTAL and bool(hidden[one.whole])
    return int(hidden[one.parts].sum()) + whole == 1


def _cornered(one: Sum, state: _State) -> bool:
    """Whether what is left for the withheld parts is the least or the most that they can be.

    Of people, each of them is known to be under the threshold or not. As many refused, or with an
    option, as there are people, or none, would say it of everyone; unless the whole sum says so
    already.
    """
    parts = one.parts[state.hidden[one.parts]]
    if not parts.size or (one.whole != TOTAL and state.hidden[one.whole]):
        return False
    left = int(state.number[parts].sum())
    outright = (0, int(state.number[one.parts].sum()))
    everyone = int(state.found[parts].sum()) in (0, left)
    told = everyone and int(state.found[one.parts].sum()) not in outright
    if told or not state.bounded:
        return told
    small = state.primary[parts]
    least = int(np.where(small, 1, state.smallest).sum())
    most = int(small.sum()) * (state.smallest - 1) if small.all() else None
    return left in (least, most)


def _next_smallest(sums: Sequence[Sum], state: _State) -> int | None:
    """The smallest cell with anybody in it that is still shown; parts before their sum."""
    parts = np.unique(np.concatenate([one.parts for one in sums]))
    wholes = np.array([one.whole for one in sums if one.whole != TOTAL], dtype=np.int64)
    for places in (parts, wholes):
        shown = places[~state.hidden[places] & (state.number[places] > 0)]
        if shown.size:
            return int(shown[np.argmin(state.number[shown])])
    return None
