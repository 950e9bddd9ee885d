"""An attacker with all published counts and linear algebra learns no count that is withheld."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.optimize import linprog

from recourse_audit.groups.arrays import Floats, Ints
from recourse_audit.groups.cells import Cells, tables_of
from recourse_audit.groups.people import Attribute, Audited, Population
from recourse_audit.groups.suppression import Withheld, withhold_outcomes, withhold_people
from recourse_audit.records.groups import Communities

SMALLEST = 11
Case = tuple[tuple[Cells, ...], list[Ints], Withheld]


def population_of(columns: Mapping[str, Ints]) -> Population:
    """Everybody's groups; the last group of each attribute is the unknown."""
    attributes = tuple(
        Attribute(
            name=name,
            groups=tuple(f"g{place}" for place in range(int(places.max(initial=0)) + 1)),
            places=places,
        )
        for name, places in columns.items()
    )
    people = len(next(iter(columns.values())))
    nothing, none = np.zeros(0), np.zeros(0, np.int64)
    return Population(
        decided=np.zeros(people, np.int64),
        community=None,
        communities=Communities(
            method="none", column=None, seed=0, count=0, reason="", alone=0
        ),
        attributes=attributes,
        audited=Audited(
            person=none, status=none, cost=nothing, options=nothing, simulatability=nothing,
            relevance=nothing, grade=none, errors=(),
        ),
    )  # fmt: skip


def drawn(seed: int) -> tuple[Cells, ...]:
    """One to three attributes whose groups are of very different sizes, some of them tiny."""
    random = np.random.default_rng(seed)
    people = int(random.integers(40, 600))
    columns = {}
    for name in "abc"[: int(random.integers(1, 4))]:
        sizes = random.dirichlet(np.full(int(random.integers(2, 6)), 0.6))
        places = random.choice(sizes.size, size=people, p=sizes)
        places[:2] = 0, sizes.size - 1
        columns[name] = places
    return tables_of(population_of(columns), crossed=True)[0]


def joint_sums(tables: Sequence[Cells]) -> tuple[Ints, list[Floats]]:
    """The cells of all attributes together, and for each table the joint cells of its cells."""
    attributes = [table for table in tables if len(table.attributes) == 1]
    shape = tuple(len(table) for table in attributes)
    joint = np.arange(int(np.prod(shape))).reshape(shape)
    where = {table.name: side for side, table in enumerate(attributes)}
    rows: list[Floats] = []
    for table in tables:
        matrix = np.zeros((len(table), joint.size))
        for cell, values in enumerate(table.values):
            inside = np.ones(shape, dtype=bool)
            for attribute, place in zip(table.attributes, values, strict=True):
                index = [np.newaxis] * len(shape)
                index[where[attribute.name]] = slice(None)  # type: ignore[call-overload]
                inside &= (np.arange(shape[where[attribute.name]]) == place)[tuple(index)]
            matrix[cell, joint[inside]] = 1.0
        rows.append(matrix)
    return joint, rows


def published(
    tables: Sequence[Cells], counts: Sequence[Ints], withheld: Withheld
) -> tuple[Floats, Ints, Floats]:
    """All that is known, and what is not, as sums over the joint cells.

    Known are the total, every cell that is shown, and that cells which are not listed are empty.
    """
    joint, rows = joint_sums(tables)
    known: list[Floats] = [np.ones((1, joint.size))]
    secret: list[Floats] = []
    values: list[Ints] = [np.array([sum(counts[0])])]
    for table, matrix, count, hidden in zip(tables, rows, counts, withheld.all, strict=True):
        known.append(matrix[~hidden])
        values.append(count[~hidden])
        secret.append(matrix[hidden])
        listed = matrix.sum(axis=0) > 0
        if len(table.attributes) == 2:
            known.append(np.eye(joint.size)[~listed])
            values.append(np.zeros(int((~listed).sum()), np.int64))
    return np.vstack(known), np.concatenate(values), np.vstack(secret)


def determined(known: Floats, secret: Floats) -> list[int]:
    """The secret sums that are combinations of the known ones."""
    if not len(secret):
        return []
    free = null_space(known)
    moved = np.abs(secret @ free).max(axis=1, initial=0.0)
    return [int(place) for place in np.flatnonzero(moved < 1e-9)]


def all_drawn(count: int) -> Iterator[Case]:
    yield from map(one_drawn, range(count))


@cache
def one_drawn(seed: int) -> Case:
    tables = drawn(seed)
    counts = [table.counts() for table in tables]
    return tables, counts, withhold_people(tables, counts, counts, SMALLEST)


def test_no_withheld_number_of_people_follows_from_what_is_shown() -> None:
    hidden = 0
    for tables, counts, withheld in all_drawn(300):
        known, _, secret = published(tables, counts, withheld)
        hidden += len(secret)
        assert determined(known, secret) == []
    assert hidden > 300


def test_what_is_withheld_first_could_be_worked_out_if_nothing_else_were() -> None:
    """The attack itself works: without complementary suppression it finds most of the cells."""
    found = total = 0
    for tables, counts, withheld in all_drawn(60):
        alone = Withheld(primary=withheld.primary, all=withheld.primary)
        known, _, secret = published(tables, counts, alone)
        found += len(determined(known, secret))
        total += len(secret)
    assert found > total / 4


def test_every_small_cell_is_withheld_and_nothing_without_need() -> None:
    for _, counts, withheld in all_drawn(100):
        for count, primary, hidden in zip(counts, withheld.primary, withheld.all, strict=True):
            assert np.array_equal(primary, (count > 0) & (count < SMALLEST))
            assert (hidden | ~primary).all()
        if not any(primary.any() for primary in withheld.primary):
            assert not any(hidden.any() for hidden in withheld.all)


def test_an_attacker_who_knows_why_each_cell_is_withheld_cannot_pin_it_down() -> None:
    """With bounds as well: a cell under the threshold is 1 to 10, another one 11 or more."""
    pinned = total = 0
    for tables, counts, withheld in all_drawn(60):
        known, values, _ = published(tables, counts, withheld)
        _, rows = joint_sums(tables)
        upper, limits = [], []
        for matrix, primary, hidden in zip(rows, withheld.primary, withheld.all, strict=True):
            for cell in np.flatnonzero(hidden):
                low, high = (1, SMALLEST - 1) if primary[cell] else (SMALLEST, 10**6)
                upper += [matrix[cell], -matrix[cell]]
                limits += [high, -low]
        for matrix, hidden in zip(rows, withheld.all, strict=True):
            for cell in np.flatnonzero(hidden):
                reach = 0.0
                for sign in (1, -1):
                    found = linprog(
                        sign * matrix[cell],
                        A_ub=np.array(upper),
                        b_ub=np.array(limits),
                        A_eq=known,
                        b_eq=values,
                        method="highs",
                    ).x
                    assert found is not None
                    reach -= sign * float(matrix[cell] @ found)
                total += 1
                pinned += reach < 0.5
    assert total > 200
    assert pinned == 0


def test_outcomes_are_withheld_in_the_same_way() -> None:
    random = np.random.default_rng(0)
    hidden = 0
    for tables, _, before in all_drawn(200):
        people = len(tables[0].cell)
        audited = np.flatnonzero(random.random(people) < 0.4)
        verified = audited[random.random(audited.size) < 0.5]
        counts = [table.counts(audited) for table in tables]
        found = [table.counts(verified) for table in tables]
        withheld = withhold_outcomes(tables, counts, found, SMALLEST, before)
        known, _, secret = published(tables, found, withheld)
        hidden += len(secret)
        empty = [count == 0 for count in counts]
        for gone, earlier, none in zip(withheld.all, before.all, empty, strict=True):
            assert (gone | ~earlier).all()
            assert not (gone & none & ~earlier).any()
        assert determined(known, secret) == []
    assert hidden > 300


@pytest.mark.parametrize(
    ("sizes", "hidden"),
    [
        ((500, 5, 0), (True, True, False)),  # the other group would give it away
        ((500, 5, 6, 0), (False, True, True, False)),  # two small ones hide each other
        ((500, 10, 10, 40), (False, True, True, True)),  # 20 left for two of at most 10 each
        ((500, 1, 1, 40), (False, True, True, True)),  # 2 left for two of at least 1 each
        ((500, 40, 30, 3), (False, False, True, True)),  # the unknown takes part
        ((500, 40, 0), (False, False, False)),  # nobody is no secret
    ],
)
def test_small_groups_of_one_attribute_by_hand(
    sizes: tuple[int, ...], hidden: tuple[bool, ...]
) -> None:
    places = np.repeat(np.arange(len(sizes)), sizes)
    attribute = Attribute(name="a", groups=tuple("vwxyz"[: len(sizes)]), places=places)
    population = population_of({"a": places})
    [table] = tables_of(
        Population(
            decided=population.decided,
            community=None,
            communities=population.communities,
            attributes=(attribute,),
            audited=population.audited,
        ),
        crossed=True,
    )[0]
    withheld = withhold_people([table], [table.counts()], [table.counts()], SMALLEST)
    assert tuple(withheld.all[0].tolist()) == hidden


@pytest.mark.parametrize(
    ("refused", "hidden"),
    [
        ((100, 10, 5, 6, 0), (False, True, True, True, False)),  # all of the two small ones
        ((100, 10, 0, 0, 0), (False, True, True, True, False)),  # none of them
        ((100, 10, 5, 0, 0), (False, False, True, True, False)),  # all of one, but nobody knows
        ((0, 0, 0, 0, 0), (False, False, True, True, False)),  # the total says it of everybody
    ],
)
def test_that_everybody_withheld_was_refused_or_nobody_does_not_follow(
    refused: tuple[int, ...], hidden: tuple[bool, ...]
) -> None:
    sizes = (500, 40, 5, 6, 0)
    places = np.repeat(np.arange(len(sizes)), sizes)
    attribute = Attribute(name="a", groups=tuple("vwxyz"), places=places)
    table = Cells(attributes=(attribute,), values=tuple((one,) for one in range(5)), cell=places)
    withheld = withhold_people([table], [np.array(sizes)], [np.array(refused)], SMALLEST)
    assert tuple(withheld.all[0].tolist()) == hidden
