"""The smallest set of actions is what trying all subsets finds."""

from itertools import combinations

import numpy as np
import pytest

from recourse_audit.groups import changes
from recourse_audit.groups.changes import greedy_set, smallest_set
from recourse_audit.groups.redraws import Mask


def drawn(seed: int, people: int = 60, actions: int = 7) -> Mask:
    random = np.random.default_rng(seed)
    chance = random.uniform(0.02, 0.35, actions)
    return np.asarray(random.random((people, actions)) < chance)


def by_trying(serves: Mask, wanted: int) -> tuple[int, int] | None:
    """The size of the smallest set, and how many the best of that size serves."""
    for size in range(1, serves.shape[1] + 1):
        best = max(
            int(serves[:, list(some)].any(axis=1).sum())
            for some in combinations(range(serves.shape[1]), size)
        )
        if best >= wanted:
            return size, best
    return None


@pytest.mark.parametrize("seed", range(12))
def test_the_smallest_set_is_that_of_a_brute_force(seed: int) -> None:
    serves = drawn(seed)
    reachable = int(serves.any(axis=1).sum())
    for wanted in (1, reachable // 2, int(0.9 * reachable), reachable, reachable + 1):
        found, expected = smallest_set(serves, wanted), by_trying(serves, wanted)
        assert (found is None) == (expected is None)
        if found is not None:
            served = int(serves[:, list(found.actions)].any(axis=1).sum())
            assert found.exact
            assert (len(found.actions), served) == expected


def test_one_by_one_is_not_always_smallest_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The middle action serves most at first, and the other two together everybody."""
    serves = np.zeros((12, 3), dtype=bool)
    serves[:6, 0] = serves[6:, 2] = True
    serves[1:5, 1] = serves[7:11, 1] = True
    exact = smallest_set(serves, 12)
    assert exact is not None
    assert (exact.actions, exact.exact) == ((0, 2), True)
    monkeypatch.setattr(changes, "MOST_PATTERNS", 1)
    greedy = smallest_set(serves, 12)
    assert greedy is not None
    assert (greedy.actions, greedy.exact) == ((0, 1, 2), False)


def test_nobody_needs_no_set() -> None:
    assert smallest_set(np.zeros((5, 3), dtype=bool), 1) is None
    assert smallest_set(np.zeros((0, 0), dtype=bool), 0) is None
    assert greedy_set(np.ones((1, 2), dtype=bool), np.array([4]), 4) == (0,)
