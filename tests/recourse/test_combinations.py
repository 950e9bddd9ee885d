"""Combinations are counted, listed and ranked as a plain enumeration would."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recourse_audit.graph.graph import Floats, Ints
from recourse_audit.records.recourse import SetAction
from recourse_audit.recourse.actions import ActionTable, action_table
from recourse_audit.recourse.conditions import counts, every
from recourse_audit.recourse.trials import Cover, best, parts
from tests.recourse.reference import all_combinations
from tests.recourse.worlds import policy_of, star

groupings = st.lists(st.integers(1, 4), min_size=1, max_size=6).map(
    lambda sizes: np.repeat(np.arange(len(sizes)), sizes)
)


@given(groupings, st.integers(1, 4))
def test_every_combination_is_listed_once_and_counted(group: Ints, most: int) -> None:
    listed = [tuple(row) for size in range(1, most + 1) for row in every(group, size).tolist()]
    assert listed == list(all_combinations(group.tolist(), most))
    per_size = [sum(len(row) == size for row in listed) for size in range(1, most + 1)]
    assert counts(group, most)[1:] == per_size


def test_counts_are_exact_where_no_list_would_fit() -> None:
    group = np.concatenate((np.arange(5000), np.full(40, 5000)))
    pairs = 5000 * 4999 // 2 + 5000 * 40
    triples = 5000 * 4999 * 4998 // 6 + 40 * (5000 * 4999 // 2)
    assert counts(group, 3) == [1, 5040, pairs, triples]
    assert counts(np.empty(0, np.int64), 3) == [1, 0, 0, 0]


def effects(group: Ints, seed: int) -> Floats:
    return np.random.default_rng(seed).integers(-3, 9, len(group)).astype(np.float64)


@given(st.integers(1, 12), st.integers(1, 3), st.integers(1, 30), st.integers(0, 5))
def test_the_best_come_first_and_none_is_missed(
    actions: int, size: int, count: int, seed: int
) -> None:
    group = np.arange(actions)
    effect = effects(group, seed)
    found = best(effect, group, size, count)
    totals = sorted(effect[every(group, size)].sum(axis=1).tolist(), reverse=True)
    assert effect[found].sum(axis=1).tolist() == totals[:count]
    assert len({tuple(row) for row in found.tolist()}) == len(found)


@given(groupings, st.integers(1, 3), st.integers(1, 30), st.integers(0, 5))
def test_the_best_are_combinations_and_as_many_as_there_are(
    group: Ints, size: int, count: int, seed: int
) -> None:
    effect = effects(group, seed)
    found = best(effect, group, size, count)
    rows = {tuple(row) for row in every(group, size).tolist()}
    assert len(found) == min(count, len(rows))
    assert {tuple(row) for row in found.tolist()} <= rows
    assert (np.diff(effect[found].sum(axis=1)) <= 0).all()
    if len(found):
        assert effect[found[0]].sum() == max(effect[list(row)].sum() for row in rows)


def table_of(subject: int = 0) -> ActionTable:
    policy = policy_of(
        star(),
        ties=[{"kind": "*", "allow": ["drop", "add"]}],
        attributes=[
            {"name": "savings", "step": 2000, "max": 7000},
            {"name": "income", "step": 1, "direction": "up"},
        ],
    )
    return action_table(policy, subject, 2)


def test_parts_are_smaller_sets_and_lower_levels() -> None:
    table = table_of()
    levels = np.flatnonzero(table.move == 0)
    after = [action.after for action in table.records(levels) if isinstance(action, SetAction)]
    names = dict(zip(after, levels.tolist(), strict=True))
    low, middle, high = names[3000], names[5000], names[7000]
    drop = 0
    assert set(parts(table, (drop, middle))) == {(drop,), (middle,), (low,), (drop, low)}
    assert set(parts(table, (high,))) == {(low,), (middle,)}
    assert list(parts(table, (drop,))) == []


def covered(table: ActionTable, rows: Ints, *working: tuple[int, ...]) -> list[bool]:
    cover = Cover(table)
    for combination in working:
        cover.add(combination)
    return [bool(inside) for inside in cover.holds(rows)]


def test_what_holds_a_working_combination_or_goes_farther_is_covered() -> None:
    table = table_of()
    first, second = np.flatnonzero((table.move == 0) & (table.steps > 0))[:2].tolist()
    rows = np.array([[0, first], [0, second], [1, second], [0, 1], [1, first]])
    assert covered(table, rows, (second,)) == [False, True, True, False, False]
    assert covered(table, rows, (0, first)) == [True, True, False, False, False]
    assert covered(table, rows, (0,), (1, second)) == [True, True, True, True, False]
    assert covered(table, rows, (0, 1, first)) == [False] * 5
    triples = np.array([[0, 1, first], [0, 1, second], [0, 2, second]])
    assert covered(table, triples, (0, 1, second)) == [False, True, False]
    assert covered(table, triples, (0, 1, first)) == [True, True, False]
    assert covered(table, triples, (0, second)) == [False, True, True]


@pytest.mark.parametrize("size", [2, 3])
def test_the_best_of_very_many_are_found_without_listing_them(size: int) -> None:
    effect = np.random.default_rng(0).normal(size=3000)
    found = best(effect, np.arange(3000), size, 500)
    top = np.sort(effect)[::-1]
    assert found.shape == (500, size)
    totals = effect[found].sum(axis=1)
    assert totals[0] == pytest.approx(top[:size].sum())
    assert (np.diff(totals) <= 0).all()
    assert totals[1] == pytest.approx(top[: size - 1].sum() + top[size])
