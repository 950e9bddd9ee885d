"""Figures for independent people are the known formulas, and never NaN, infinite or a warning."""

import math

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from recourse_audit.groups.iid_tests import (
    brunner_munzel,
    cohens_h,
    holm,
    log_rank,
    newcombe,
    rank_interval,
    rates_test,
    score_ratio,
    t_quantile,
)
from recourse_audit.records.recourse import wilson

Z = 1.959963984540054


def wilson_by_hand(count: int, of: int) -> tuple[float, float]:
    share = count / of
    centre = (share + Z**2 / (2 * of)) / (1 + Z**2 / of)
    reach = Z * math.sqrt(share * (1 - share) / of + Z**2 / (4 * of**2)) / (1 + Z**2 / of)
    return centre - reach, centre + reach


@pytest.mark.parametrize(("count", "of"), [(0, 12), (12, 12), (3, 20)])
def test_wilson_is_its_formula_and_never_of_no_width(count: int, of: int) -> None:
    low, high = wilson(count, of)
    assert (low, high) == pytest.approx(wilson_by_hand(count, of), abs=1e-12)
    assert 0 <= low < high <= 1


@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.2])
@pytest.mark.parametrize(("count", "of"), [(0, 12), (12, 12), (3, 20), (2.5, 7.25), (40.0, 961.5)])
def test_wilson_is_that_of_statsmodels_for_effective_numbers_too(
    count: float, of: float, alpha: float
) -> None:
    expected = proportion_confint(count, of, alpha=alpha, method="wilson")
    assert wilson(count, of, 1 - alpha) == pytest.approx(expected, abs=1e-12)


def test_newcombe_combines_two_wilson_intervals() -> None:
    made = newcombe(5, 20, 10, 30, 0.05)
    assert made is not None
    (low1, high1), (low0, high0) = wilson_by_hand(5, 20), wilson_by_hand(10, 30)
    gap = 5 / 20 - 10 / 30
    low = gap - math.hypot(5 / 20 - low1, high0 - 10 / 30)
    high = gap + math.hypot(high1 - 5 / 20, 10 / 30 - low0)
    assert (made.low, made.high) == pytest.approx((low, high))


def test_at_the_ends_of_the_score_interval_the_score_is_the_quantile() -> None:
    made = score_ratio(5, 20, 10, 30, 0.05)
    assert made is not None
    for ratio in (made.low, made.high):
        # The rates of largest likelihood with this ratio between them.
        a = 50 * ratio
        b, c = 20 * ratio + 5 + 30 + 10 * ratio, 15
        reference = (b - math.sqrt(b**2 - 4 * a * c)) / (2 * a)
        share = ratio * reference
        error = share * (1 - share) / 20 + ratio**2 * reference * (1 - reference) / 30
        error *= 50 / 49  # Miettinen and Nurminen
        assert abs(5 / 20 - ratio * 10 / 30) / math.sqrt(error) == pytest.approx(Z, rel=1e-4)


def test_the_z_test_pools_the_variance() -> None:
    z = (5 / 20 - 10 / 30) / math.sqrt(0.3 * 0.7 * (1 / 20 + 1 / 30))
    assert rates_test(5, 20, 10, 30) == pytest.approx(math.erfc(abs(z) / math.sqrt(2)))
    assert rates_test(0, 20, 0, 30) == rates_test(20, 20, 30, 30) == 1.0


def test_cohens_h_is_a_difference_of_angles() -> None:
    by_hand = 2 * math.asin(math.sqrt(0.5)) - 2 * math.asin(math.sqrt(0.2))
    assert cohens_h(0.5, 0.2) == pytest.approx(by_hand)


def test_holm_by_hand() -> None:
    # Sorted: 0.005 x 4, 0.01 x 3, 0.03 x 2, 0.04 x 1; never less than the one before.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []


@pytest.mark.parametrize("case", [(12, 12, 0, 30), (0, 12, 0, 30), (12, 12, 30, 30), (0, 9, 3, 9)])
def test_what_does_not_exist_is_none_and_never_a_warning(case: tuple[int, int, int, int]) -> None:
    for made in (newcombe(*case, 0.05), score_ratio(*case, 0.05)):
        if made is not None:
            assert math.isfinite(made.low)
            assert math.isfinite(made.high)
            assert made.low <= made.high
    assert 0 <= rates_test(*case) <= 1
    if not case[2]:
        assert score_ratio(*case, 0.05) is None


def test_constants_have_a_test_only_if_they_are_alike() -> None:
    ones, twos = np.ones(5), np.full(6, 2.0)
    assert brunner_munzel(ones, np.ones(7)) == 1.0
    assert brunner_munzel(ones, twos) is None
    assert rank_interval(ones, twos, 0.05) is None
    assert log_rank(np.full(5, np.inf), np.full(6, np.inf)) == 1.0
    few = log_rank(ones, np.full(6, np.inf))
    assert few is not None
    assert few < 0.01


def test_the_interval_of_ranks_goes_with_the_test_of_ranks() -> None:
    random = np.random.default_rng(0)
    one, other = random.integers(0, 5, 40) * 1.0, random.integers(1, 6, 50) * 1.0
    p = brunner_munzel(one, other)
    assert p is not None
    inside = rank_interval(one, other, p * 1.001)
    outside = rank_interval(one, other, p * 0.999)
    assert inside is not None
    assert outside is not None
    assert outside.low <= 0.5 <= outside.high
    assert not inside.low <= 0.5 <= inside.high


def test_the_quantile_is_that_of_student() -> None:
    assert t_quantile(0.975, 5) == pytest.approx(2.5706, abs=1e-4)
