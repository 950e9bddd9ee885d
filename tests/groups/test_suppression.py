"""What is withheld, in tables small enough to be followed by hand."""

import numpy as np
import pytest

from recourse_audit.groups.arrays import Ints
from recourse_audit.groups.cells import Cells, tables_of
from recourse_audit.groups.knowledge import KINDS, State
from recourse_audit.groups.people import Attribute, Audited, Population
from recourse_audit.groups.redraws import Network
from recourse_audit.groups.suppression import Suppression, withhold
from recourse_audit.records.groups import Communities

SMALLEST = 11
FAVOURABLE, REFUSED, FOUND, INFEASIBLE, NOT_FOUND = (
    KINDS.index(one) for one in ("favourable", "not audited", "found", "infeasible", "not found")
)


def one_table(sizes: tuple[int, ...]) -> Cells:
    places = np.repeat(np.arange(len(sizes)), sizes)
    attribute = Attribute(name="a", groups=tuple("tuvwxyz"[: len(sizes)]), places=places)
    return Cells(
        attributes=(attribute,), values=tuple((one,) for one in range(len(sizes))), cell=places
    )


def kinds_of(*groups: dict[int, int]) -> Ints:
    """Everybody's kind: for each group, how many there are of each."""
    return np.concatenate(
        [np.repeat(list(one), list(one.values())).astype(np.int64) for one in groups]
    )


def withheld_of(*groups: dict[int, int]) -> Suppression:
    table = one_table(tuple(sum(one.values()) for one in groups))
    return withhold([table], kinds_of(*groups), SMALLEST)


def half(people: int) -> dict[int, int]:
    """Half of them refused, and not audited."""
    return {FAVOURABLE: people - people // 2, REFUSED: people // 2}


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
    made = withheld_of(*(half(one) for one in sizes))
    assert tuple(made.people.all[0].tolist()) == hidden
    assert not made.everything


@pytest.mark.parametrize(
    ("small", "hidden"),
    [
        ([{REFUSED: 5}, {REFUSED: 6}], True),  # all of the two small ones were refused
        ([{FAVOURABLE: 5}, {FAVOURABLE: 6}], True),  # none of them
        ([{REFUSED: 5}, {FAVOURABLE: 6}], False),  # all of one, but nobody knows
    ],
)
def test_that_everybody_withheld_was_refused_or_nobody_does_not_follow(
    small: list[dict[int, int]], hidden: bool
) -> None:
    made = withheld_of(half(500), half(40), *small)
    assert made.people.all[0].tolist() == [False, hidden, True, True]


def test_what_the_total_says_of_everybody_is_no_secret() -> None:
    """Nobody at all was refused, so that it is true of the small groups need not be hidden."""
    everybody = [{FAVOURABLE: one} for one in (500, 40, 5, 6)]
    made = withheld_of(*everybody)
    assert made.people.all[0].tolist() == [False, False, True, True]


@pytest.mark.parametrize(
    ("found", "hidden"),
    [
        # Of 6 and 7 audited 13 have an option: all, by 0 <= verified <= audited.
        ([(100, 100), (15, 15), (6, 0), (7, 0)], [False, True, True, True]),
        ([(100, 100), (15, 15), (0, 6), (0, 7)], [False, True, True, True]),
        ([(100, 100), (15, 15), (5, 1), (3, 4)], [False, False, True, True]),
    ],
)
def test_numbers_with_an_option_lie_between_none_and_all_of_the_audited(
    found: list[tuple[int, int]], hidden: list[bool]
) -> None:
    """Everybody's decision is shown, so the reader knows how many of each group were audited."""
    groups = [{FAVOURABLE: 30, FOUND: yes, INFEASIBLE: no} for yes, no in found]
    made = withheld_of(*groups)
    assert not made.people.all[0].any()
    assert made.outcomes.all[0].tolist() == hidden


def test_a_table_of_which_an_outcome_is_withheld_has_no_details() -> None:
    groups = [{FAVOURABLE: 30, FOUND: yes, INFEASIBLE: no} for yes, no in [(50, 40), (40, 50)]]
    assert withheld_of(*groups).undetailed == (False,)
    few = [{FAVOURABLE: 30, FOUND: yes, INFEASIBLE: no} for yes, no in [(5, 1), (3, 4)]]
    assert withheld_of(*groups, *few).undetailed == (True,)


@pytest.mark.parametrize("alone", [False, True])
def test_what_two_shown_groups_say_only_together_is_a_secret(alone: bool) -> None:
    """Nobody of a has an option, and for nobody of x was none found within the budget.

    So those of both are certified infeasible, all of them: a secret, unless x alone says it.
    """
    people = [("a", "x", INFEASIBLE)] * 5 + [("a", "y", NOT_FOUND)] * 20
    people += [("b", "x", INFEASIBLE if alone else FOUND)] * 20
    people += [("b", "y", kind) for kind in (FOUND, INFEASIBLE, NOT_FOUND)] * 20
    people += [(one, other, FAVOURABLE) for one in "ab" for other in "xy"] * 20
    attributes = tuple(
        Attribute(
            name=name,
            groups=(*groups, "unknown"),
            places=np.array([groups.index(str(person[place])) for person in people]),
        )
        for place, (name, groups) in enumerate({"s": "ab", "t": "xy"}.items())
    )
    tables = tables_of(population_of(attributes, len(people)), crossed=True)[0]
    state = State(tables, np.array([kind for _, _, kind in people]), SMALLEST)
    both = [len(tables[0]) + len(tables[1]) + tables[2].values.index((0, 0))]
    assert state.hidden(2)[both].all()
    assert state.known((INFEASIBLE,), 2)[both].all() == alone


def test_where_nothing_helps_nothing_is_shown() -> None:
    """Two groups of 10 and nobody else: each is from 1 to 10, and there are 20 in all."""
    made = withheld_of(half(10), half(10))
    assert made.everything
    assert made.people.all[0].all()


def drawn(seed: int) -> tuple[tuple[Cells, ...], Ints]:
    """Two or three attributes with groups of very different sizes."""
    random = np.random.default_rng(seed)
    people = int(random.integers(100, 500))
    attributes = []
    for name in "abc"[: int(random.integers(2, 4))]:
        sizes = random.dirichlet(np.full(int(random.integers(2, 5)), 0.7))
        places = random.choice(sizes.size, size=people, p=sizes)
        groups = tuple(f"{name}{place}" for place in range(sizes.size))
        attributes.append(Attribute(name=name, groups=groups, places=places))
    kinds = random.choice(
        [FAVOURABLE, FOUND, INFEASIBLE, NOT_FOUND], people, p=[0.5, 0.2, 0.2, 0.1]
    )
    return tables_of(population_of(tuple(attributes), people), crossed=True)[0], kinds


def population_of(attributes: tuple[Attribute, ...], people: int) -> Population:
    """People of whom nothing is known but their groups."""
    nothing, none = np.zeros(0), np.zeros(0, np.int64)
    return Population(
        decided=np.zeros(people, np.int64),
        decided_alone=np.zeros(people, np.int64),
        came_true=np.full(people, -1),
        score=np.full(people, np.nan),
        community=None,
        communities=Communities(column=None, count=0, seed=0),
        network=Network(people=people, low=none, high=none),
        attributes=attributes,
        audited=Audited(
            person=none, status=none, cost=nothing, options=nothing, simulatability=nothing,
            relevance=nothing, grade=none, errors=(),
        ),
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
def test_every_small_cell_is_withheld_and_nothing_without_need(seed: int) -> None:
    tables, kinds = drawn(seed)
    made = withhold(tables, kinds, SMALLEST)
    found = zip(tables, made.people.primary, made.people.all, made.outcomes.all, strict=True)
    for table, small, people, outcomes in found:
        number = table.counts()
        assert np.array_equal(small, (number > 0) & (number < SMALLEST))
        assert (people | ~small).all()
        assert (outcomes | ~people).all()
        assert not (people & (number == 0)).any() or made.everything
    if not any(small.any() for small in made.people.primary):
        assert not any(people.any() for people in made.people.all)


def test_the_same_people_give_the_same_choice() -> None:
    tables, kinds = drawn(3)
    one, other = (withhold(tables, kinds, SMALLEST) for _ in range(2))
    assert [mask.tolist() for mask in one.outcomes.all] == [
        mask.tolist() for mask in other.outcomes.all
    ]
