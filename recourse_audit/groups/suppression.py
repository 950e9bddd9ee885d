"""Which cells are withheld, so that nothing can be inferred about a handful of people.

A cell under the threshold is withheld (primary suppression). More cells follow (complementary
suppression): the next smallest cell of every sum that would otherwise reveal a withheld cell,
because it is the only one withheld there, or because the withheld cells are at their bounds. A sum
is a row or column of a crossed table with that group's own figure, or a table of one attribute with
the total. Then linear algebra, and for numbers of people also bounds, look for what all sums reveal
together, and more cells are withheld until nothing is revealed.

Two counts decide: of people (under the threshold, no figure of the cell is shown), and of audited
people (under the threshold, no outcome is shown).

Notes
-----
*Sums.* A withheld count is revealed if no vector of the null space of the sums moves it: one
singular value decomposition, of a matrix of sums by withheld cells, per cell that is added.

*Bounds.* Whoever reads the list of what is withheld knows of each withheld cell that it is under
the threshold, so from 1 to the threshold less 1, or that it is not. A count is revealed if it is
the same in every table that agrees with the sums and the bounds. From the true table one can move
in any direction that changes no sum, and no cell beyond a bound it lies on. Linear programs look
for moves that change as many cells as possible; cells that never move are then tried one by one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from recourse_audit.groups.arrays import Floats, Ints, Mask
from recourse_audit.groups.cells import Cells

NOTHING = 1e-8
TOTAL = -1
Bounds = list[tuple[float, float]]
TRIES = 3
MOVED = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """Cells that add up to another one, or to the total (-1)."""

    parts: Ints
    whole: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Withheld:
    """By table and cell, whether it is under the threshold, and whether it is withheld."""

    primary: tuple[Mask, ...]
    all: tuple[Mask, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """The counts of all cells of all tables in one array, and what is withheld so far.

    `found` of the `number` people were refused, or have an option. `bounded`: a reader knows of
    every withheld number whether it is under the threshold.
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
    """Find the cells of which nothing is shown; an empty cell is no secret."""
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
    """Find the cells of which no outcome is shown; those withheld `before` are among them."""
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
    """Every way in which cells add up; cells are places in one array of all tables."""
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
    """The next cell to withhold, or None if no withheld cell is revealed."""
    for one in sums:
        if _only_one(one, state.hidden) or _at_bounds(one, state):
            next_one = _next_smallest([one], state)
            if next_one is not None:
                return next_one
    for place in _revealed(sums, state):
        near = [one for one in sums if place in one.parts or place == one.whole]
        for some in (near, sums):
            next_one = _next_smallest(some, state)
            if next_one is not None:
                return next_one
    return None


def _revealed(sums: Sequence[Sum], state: _State) -> list[int]:
    """The withheld cells that the sums reveal, or, for people, the sums and bounds together."""
    places, rows = _equations(sums, state.hidden)
    if not len(rows):
        return []
    fixed = revealed_by_sums(rows)
    if not fixed and state.bounded:
        fixed = revealed_by_bounds(
            rows, state.number[places], state.primary[places], state.smallest
        )
    return [int(places[column]) for column in fixed]


def revealed_by_sums(rows: Floats) -> list[int]:
    """The columns of the sums that no vector of the null space moves."""
    _, sizes, directions = np.linalg.svd(rows, full_matrices=True)
    free = directions[int((sizes > NOTHING * sizes[0]).sum()) :]
    moved = np.abs(free).max(axis=0, initial=0.0)
    return [int(place) for place in np.flatnonzero(moved <= NOTHING)]


def _equations(sums: Sequence[Sum], hidden: Mask) -> tuple[Ints, Floats]:
    """The withheld cells, and the known sums over them, one row per sum."""
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


def _only_one(one: Sum, hidden: Mask) -> bool:
    """Whether exactly one of the figures of a sum is withheld."""
    whole = one.whole != TOTAL and bool(hidden[one.whole])
    return int(hidden[one.parts].sum()) + whole == 1


def _at_bounds(one: Sum, state: _State) -> bool:
    """Whether the withheld parts of a sum must all be at their smallest or largest possible value.

    For numbers of people the bounds come from the threshold. And if everybody in the withheld
    parts was refused (or has an option), or nobody, that must not follow either; unless the whole
    sum says so already.
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
    """The smallest cell with people in it that is still shown; parts come before wholes."""
    parts = np.unique(np.concatenate([one.parts for one in sums]))
    wholes = np.array([one.whole for one in sums if one.whole != TOTAL], dtype=np.int64)
    for places in (parts, wholes):
        shown = places[~state.hidden[places] & (state.number[places] > 0)]
        if shown.size:
            return int(shown[np.argmin(state.number[shown])])
    return None


def revealed_by_bounds(rows: Floats, number: Ints, primary: Mask, smallest: int) -> list[int]:
    """The withheld cells (columns of the sums in `rows`) whose counts cannot vary."""
    low = np.where(number == np.where(primary, 1, smallest), 0.0, -1.0)
    high = np.where(primary & (number == smallest - 1), 0.0, 1.0)
    if not ((low == 0) | (high == 0)).any():
        return []  # strictly inside their bounds, cells move as linear algebra alone says
    bounds = list(zip(low.tolist(), high.tolist(), strict=True))
    left = np.ones(number.size, dtype=bool)
    random = np.random.default_rng(0)
    for _ in range(TRIES):
        left &= ~_moved(random.uniform(-1, 1, number.size), rows, bounds)
    for place in np.flatnonzero(left):
        for sign in (1.0, -1.0):
            wanted = np.zeros(number.size)
            wanted[place] = sign
            left &= ~_moved(wanted, rows, bounds)
    return [int(place) for place in np.flatnonzero(left)]


def _moved(wanted: Floats, rows: Floats, bounds: Bounds) -> Mask:
    """The cells that change in the longest move in the wanted direction."""
    from scipy.optimize import linprog

    found = linprog(-wanted, A_eq=rows, b_eq=np.zeros(len(rows)), bounds=bounds, method="highs")
    assert found.x is not None, "no move at all is always possible"
    return np.asarray(np.abs(found.x) > MOVED)
