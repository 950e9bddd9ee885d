"""Inference over communities agrees with slow loops, and with scipy on the same scores."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

from recourse_audit.groups.arrays import Floats, Ints, Mask
from recourse_audit.groups.clustered import (
    compare,
    estimate,
    few_communities,
    jackknife,
    log_rank_scores,
    mid_ranks,
    ratio_interval,
    relative_effect,
    sums_of,
)
from recourse_audit.groups.iid_tests import detectable
from recourse_audit.groups.wild_bootstrap import (
    gap_test,
    percentile_interval,
    permutation_test,
    wild_test,
    wild_weights,
)

Drawn = tuple[Floats, Mask, Ints]


def drawn(seed: int, communities: int = 7, people: int = 60, *, levels: int = 4) -> Drawn:
    """Scores with ties, groups and communities, every one of them there."""
    random = np.random.default_rng(seed)
    community = np.concatenate(
        [np.arange(communities), random.integers(communities, size=people - communities)]
    )
    member = random.random(people) < random.random(communities)[community]
    member[:2] = True, False
    return random.integers(levels, size=people).astype(float), member, community


def separated(seed: int, communities: int = 8, treated: int = 3) -> Drawn:
    """Every community is of one group only."""
    random = np.random.default_rng(seed)
    community = np.repeat(np.arange(communities), random.integers(3, 9, size=communities))
    return random.integers(2, size=community.size) * 1.0, community < treated, community


def t_of(scores: Floats, member: Mask, community: Ints) -> float:
    """|t| of the slope of an ordinary regression on membership, with cluster-robust variance."""
    x = np.column_stack([np.ones(scores.size), member])
    bread = np.linalg.inv(x.T @ x)
    slopes = bread @ x.T @ scores
    residuals = scores - x @ slopes
    meat = np.zeros((2, 2))
    for one in np.unique(community):
        part = x[community == one].T @ residuals[community == one]
        meat += np.outer(part, part)
    variance = (bread @ meat @ bread)[1, 1]
    return float(abs(slopes[1]) / np.sqrt(variance))


@pytest.mark.parametrize("seed", range(6))
def test_the_wild_test_is_a_loop_over_all_signs(seed: int) -> None:
    scores, member, community = drawn(seed)
    found = t_of(scores, member, community)
    common = scores.mean()
    as_large = [
        t_of(common + np.array(signs)[community] * (scores - common), member, community)
        >= found - 1e-9
        for signs in product([-1.0, 1.0], repeat=7)
    ]
    assert wild_test(sums_of(scores, member, community), draws=9, seed=0) == pytest.approx(
        np.mean(as_large)
    )


@pytest.mark.parametrize("communities", [12, 20])
def test_the_wild_test_is_a_loop_over_the_drawn_weights(communities: int) -> None:
    scores, member, community = drawn(1, communities, 150)
    found, common, larger = t_of(scores, member, community), scores.mean(), 0
    for weights in np.concatenate(list(wild_weights(communities, 99, 5))):
        again = common + weights[community] * (scores - common)
        larger += t_of(again, member, community) >= found
    sums = sums_of(scores, member, community)
    assert wild_test(sums, draws=99, seed=5) == pytest.approx((larger + 1) / 100)


def test_weights_have_mean_zero_and_variance_one() -> None:
    for communities in (5, 12, 30):
        weights = np.concatenate(list(wild_weights(communities, 4000, 3)))
        if communities > 11:  # else the mirror images are left out
            assert weights.mean() == pytest.approx(0, abs=0.02)
        assert (weights**2).mean() == pytest.approx(1, abs=0.02)
        assert len(np.unique(weights)) == (6 if communities == 12 else 2)


@pytest.mark.parametrize("seed", range(4))
def test_whole_communities_are_permuted_and_the_larger_p_counts(seed: int) -> None:
    scores, member, community = separated(seed)
    found = t_of(scores, member, community)
    as_large = [
        t_of(scores, np.isin(community, chosen), community) >= found - 1e-9
        for chosen in combinations(range(8), 3)
    ]
    sums = sums_of(scores, member, community)
    assert not sums.mixed
    dealt = permutation_test(sums, draws=1999, seed=0)
    assert dealt == pytest.approx(np.mean(as_large))
    assert gap_test(sums, draws=1999, seed=0) == max(dealt, wild_test(sums, draws=1999, seed=0))


def test_drawn_permutations_come_close_to_all_of_them() -> None:
    sums = sums_of(*separated(1, 14, 5))
    every = permutation_test(sums, draws=2001, seed=0)
    some = permutation_test(sums, draws=2000, seed=0)
    assert some == pytest.approx(every, abs=0.03)
    assert some != every


@pytest.mark.parametrize("seed", range(6))
def test_the_jackknife_is_a_loop_that_leaves_out_one_community_at_a_time(seed: int) -> None:
    scores, member, community = drawn(seed)
    gap = compare(scores, member, community, alpha=0.1)

    def difference(kept: Mask) -> float:
        return float(scores[kept & member].mean() - scores[kept & ~member].mean())

    whole = difference(np.ones(scores.size, dtype=bool))
    each = np.array([difference(community != one) for one in range(7)])
    error = np.sqrt(6 / 7 * ((each - whole) ** 2).sum())
    assert gap.difference.value == pytest.approx(whole)
    assert gap.difference.error == pytest.approx(error)
    reach = stats.t.ppf(0.95, 6) * error
    assert gap.difference.interval.low == pytest.approx(whole - reach)
    assert gap.difference.interval.high == pytest.approx(whole + reach)
    assert gap.communities == 7


def test_the_interval_of_a_ratio_is_made_on_its_logarithm() -> None:
    scores, member, community = drawn(2)
    sums = sums_of(scores + 1, member, community)
    group, reference = sums.means
    without = np.divide(*sums.means_without())
    made = ratio_interval(group / reference, without, 0.05)
    log, error, count = jackknife(np.log(group / reference), np.log(without))
    expected = estimate(log, error, count, 0.05).interval
    assert made is not None
    assert np.log([made.low, made.high]) == pytest.approx([expected.low, expected.high])
    assert ratio_interval(0.0, without, 0.05) is None
    assert ratio_interval(1.0, np.array([1.0, np.nan]), 0.05) is None


def test_the_percentile_interval_draws_communities_with_replacement() -> None:
    scores, member, community = drawn(4, 20, 400)
    made = percentile_interval(sums_of(scores, member, community), alpha=0.05, draws=4000, seed=1)
    random, found = np.random.default_rng(2), []
    for _ in range(2000):
        times = np.bincount(random.integers(20, size=20), minlength=20)[community]
        group = np.average(scores[member], weights=times[member])
        found.append(group - np.average(scores[~member], weights=times[~member]))
    assert made is not None
    expected = np.quantile(found, [0.025, 0.975])
    assert [made.low, made.high] == pytest.approx(expected.tolist(), abs=0.03)


def test_no_difference_at_all_has_p_of_one_and_no_width() -> None:
    _, member, community = drawn(0)
    gap = compare(np.ones(member.size), member, community)
    assert gap.p == 1.0
    assert gap.difference.error == pytest.approx(0, abs=1e-12)


def test_groups_that_differ_in_everyone_have_the_smallest_p_there_is() -> None:
    _, member, community = drawn(0, 9, 200)
    gap = compare(member * 1.0, member, community)
    assert gap.difference.value == 1.0
    assert gap.p == pytest.approx(2 / 2**9)


def test_the_same_seed_gives_the_same_p_and_another_a_similar_one() -> None:
    case = drawn(3, 30, 500)
    first, again, other = (compare(*case, seed=seed).p for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert first == pytest.approx(other, abs=0.05)


@pytest.mark.parametrize("seed", range(6))
def test_the_relative_effect_is_a_loop_over_pairs_and_over_communities(seed: int) -> None:
    values, member, community = drawn(seed, 6, 40)
    values[values == 3] = np.inf

    def effect(kept: Mask) -> float:
        wins = [
            (one > other) + 0.5 * (one == other)
            for one in values[kept & member]
            for other in values[kept & ~member]
        ]
        return float(np.mean(wins)) if wins else np.nan

    found = relative_effect(values, member, community)
    assert found.value == pytest.approx(effect(np.ones(values.size, dtype=bool)))
    expected = [effect(community != one) for one in range(6)]
    assert found.without == pytest.approx(expected, nan_ok=True)
    ranks = mid_ranks(values)
    difference = ranks[member].mean() - ranks[~member].mean()
    assert difference == pytest.approx(found.value - 0.5)


def test_for_yes_and_no_the_relative_effect_is_the_difference_of_rates() -> None:
    scores, member, community = drawn(5, levels=2)
    effect = relative_effect(scores, member, community).value
    assert 2 * effect - 1 == pytest.approx(scores[member].mean() - scores[~member].mean())


@pytest.mark.parametrize("seed", range(4))
def test_log_rank_scores_add_up_to_the_statistic_of_scipy(seed: int) -> None:
    costs, member, _ = drawn(seed, people=80, levels=6)
    costs[costs >= 4] = np.inf
    censored = [
        stats.CensoredData(
            uncensored=side[np.isfinite(side)].astype(np.float64),
            right=np.full(int(np.isinf(side).sum()), 9.0),
        )
        for side in (costs[member], costs[~member])
    ]
    variance = 0.0
    for cost in np.unique(costs[np.isfinite(costs)]):
        at_risk, events = costs >= cost, (costs == cost).sum()
        n, n1 = at_risk.sum(), (at_risk & member).sum()
        variance += events * n1 * (n - n1) * (n - events) / (n**2 * (n - 1))
    score = log_rank_scores(costs)
    assert score.sum() == pytest.approx(0, abs=1e-9)
    expected = stats.logrank(censored[0], censored[1]).statistic
    assert abs(score[member].sum()) / np.sqrt(variance) == pytest.approx(abs(expected))


@pytest.mark.parametrize(
    ("communities", "treated", "enough"), [(5, 3, False), (9, 2, False), (6, 3, True)]
)
def test_few_communities_are_said(communities: int, treated: int, enough: bool) -> None:
    words = few_communities(sums_of(*separated(0, communities, treated)))
    assert (words == "") == enough
    assert enough or f"in {communities} communities" in words


@pytest.mark.parametrize("communities", [6, 10, 36, 1000])
def test_the_smallest_gap_is_close_to_the_exact_power_of_statsmodels(communities: int) -> None:
    size = TTestPower().solve_power(nobs=communities, alpha=0.05, power=0.8)
    exact = size * np.sqrt(communities)
    assert detectable(communities - 1, 0.05) == pytest.approx(exact, rel=0.02)
