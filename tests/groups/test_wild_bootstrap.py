"""The interval holds just the gaps that the test does not reject."""

from dataclasses import replace

import numpy as np
import pytest

from recourse_audit.groups.sums import Sums, studentised
from recourse_audit.groups.wild_bootstrap import p_values, wild_interval, wild_test

ALPHA, DRAWS, SEED = 0.05, 399, 3


def drawn(communities: int, seed: int) -> Sums:
    random = np.random.default_rng(seed)
    n1, n0 = random.integers(0, 30, (2, communities)).astype(float)
    n1[0], n0[1] = 7.0, 5.0
    level = random.beta(2, 3, communities)
    return Sums(
        n1=n1,
        n0=n0,
        s1=random.binomial(n1.astype(int), level).astype(float),
        s0=random.binomial(n0.astype(int), level).astype(float),
    )


def shifted(sums: Sums, gap: float) -> Sums:
    """The same people, with the scores of the group so much less."""
    return replace(sums, s1=sums.s1 - gap * sums.n1)


@pytest.mark.parametrize("communities", [6, 9, 11, 12, 13, 30])
@pytest.mark.parametrize("seed", range(4))
def test_the_p_value_of_a_gap_is_that_of_no_gap_after_a_shift(communities: int, seed: int) -> None:
    sums = drawn(communities, seed)
    p = p_values(sums, draws=DRAWS, seed=SEED)
    for gap in (-0.4, -0.03, 0.0, 0.1, 0.5):
        expected = wild_test(shifted(sums, gap), draws=DRAWS, seed=SEED)
        assert p(gap) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("communities", [7, 12, 25])
@pytest.mark.parametrize("seed", range(5))
def test_gaps_inside_are_not_rejected_and_gaps_just_outside_are(
    communities: int, seed: int
) -> None:
    sums = drawn(communities, seed)
    found = wild_interval(sums, alpha=ALPHA, draws=DRAWS, seed=SEED, reach=0.2)
    assert found.low < sums.difference < found.high

    def rejected(gap: float) -> bool:
        return wild_test(shifted(sums, gap), draws=DRAWS, seed=SEED) <= ALPHA

    for end, outwards in ((found.low, -1e-6), (found.high, 1e-6)):
        if abs(end) < 2:
            assert rejected(end + outwards)
            assert not rejected(end - outwards)


def test_the_first_guess_of_its_reach_changes_nothing() -> None:
    sums = drawn(20, 1)
    near, far = (
        wild_interval(sums, alpha=ALPHA, draws=DRAWS, seed=SEED, reach=reach)
        for reach in (0.01, 0.3)
    )
    assert near.low == pytest.approx(far.low, abs=1e-6)
    assert near.high == pytest.approx(far.high, abs=1e-6)


def test_where_everybody_is_alike_the_interval_ends() -> None:
    sums = Sums(n1=np.full(8, 5.0), n0=np.full(8, 5.0), s1=np.full(8, 5.0), s0=np.zeros(8))
    found = wild_interval(sums, alpha=ALPHA, draws=DRAWS, seed=SEED, reach=0.0)
    assert found.low == pytest.approx(1.0, abs=1e-6)
    assert found.high == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("communities", [6, 9, 12, 20])
@pytest.mark.parametrize("seed", range(4))
def test_groups_that_are_alike_in_every_community_have_a_p_of_one(
    communities: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    people = random.integers(1, 9, communities).astype(float)
    refused = np.floor(people * random.random(communities))
    sums = Sums(n1=3 * people, n0=people, s1=3 * refused, s0=refused)
    assert wild_test(sums, draws=DRAWS, seed=SEED) == 1.0


def test_a_scale_that_rounding_leaves_below_zero_is_none() -> None:
    """Communities that are all alike; numpy warned of the root of a negative number."""
    rounding = np.array([-3.9e-18, -3.9e-18])
    assert studentised(np.array([1e-9, 0.0]), rounding, rounding).tolist() == [np.inf, 0.0]
