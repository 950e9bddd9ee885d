"""Figures of one group, worked by hand."""

import numpy as np
import pytest

from recourse_audit.groups.clustered import jackknife
from recourse_audit.groups.iid_tests import t_quantile
from recourse_audit.groups.measures import cost_grid, effective_number, quartiles_of, rate_of
from recourse_audit.records.recourse import wilson


def test_quartiles_are_values_of_people_and_the_infeasible_count() -> None:
    spread = quartiles_of(np.array([1.0, 2.0, 3.0, np.inf, np.inf, np.inf, np.inf, 5.0]))
    assert (spread.of, spread.first, spread.median, spread.third) == (8, 2.0, 5.0, None)
    nothing = quartiles_of(np.array([np.nan, np.nan]))
    assert (nothing.of, nothing.median) == (0, None)


def test_a_share_of_nobody_is_none() -> None:
    rate = rate_of(np.zeros(0, dtype=bool), np.zeros(0, dtype=np.int64), 0.05)
    assert (rate.share, rate.interval, rate.clustered) == (None, None, None)


def test_people_alike_within_communities_count_as_fewer() -> None:
    community = np.repeat(np.arange(10), 20)
    alike = community < 4
    mixed = np.tile([True, True, False, False, False], 40)
    assert alike.mean() == mixed.mean()
    few, many = rate_of(alike, community, 0.05), rate_of(mixed, community, 0.05)
    assert few.interval == many.interval
    assert few.clustered is not None
    assert many.clustered is not None
    assert few.clustered.high - few.clustered.low > 3 * (many.clustered.high - many.clustered.low)


def test_the_effective_number_is_people_over_the_design_effect() -> None:
    random = np.random.default_rng(0)
    community = random.integers(8, size=300)
    yes = random.random(300) < 0.1 + 0.1 * community
    without = np.array([yes[community != one].mean() for one in range(8)])
    _, error, _ = jackknife(float(yes.mean()), without)
    effect = error**2 / (yes.mean() * (1 - yes.mean()) / 300)
    by_hand = 300 / effect * (1.959963984540054 / t_quantile(0.975, 7)) ** 2
    assert effective_number(yes, community, 0.05) == pytest.approx(by_hand)


def test_where_all_are_alike_a_community_counts_as_one_person() -> None:
    rate = rate_of(np.ones(50, dtype=bool), np.repeat(np.arange(5), 10), 0.05)
    number = 5 * (1.959963984540054 / t_quantile(0.975, 4)) ** 2
    assert rate.clustered is not None
    assert rate.clustered.low == pytest.approx(wilson(number, number)[0])
    assert rate_of(np.ones(5, dtype=bool), np.zeros(5, np.int64), 0.05).clustered is None


def test_curves_have_few_points_however_many_costs_there_are() -> None:
    grid = cost_grid(np.append(np.arange(1000.0), np.inf))
    assert len(grid) == 40
    assert (grid[0], grid[-1]) == (0.0, 999.0)
    assert cost_grid(np.array([2.0, 1.0, 2.0, np.inf])) == [1.0, 2.0]
