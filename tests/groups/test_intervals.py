"""Score intervals are those of the likelihood, and agree with each other and with the test."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar
from statsmodels.stats.proportion import confint_proportions_2indep

from recourse_audit.groups.intervals import Shares, difference_interval, ratio_interval

REACH = 1.959963984540054


def score(shares: Shares, difference: float) -> float:
    """The same statistic, with the shares found by maximising the likelihood."""
    n1, n0, p1, p0 = (
        shares.people,
        shares.reference_people,
        shares.group,
        shares.reference,
    )

    def unlikely(group: float) -> float:
        other = group - difference
        chances = np.array([group, 1 - group, other, 1 - other])
        return -float(np.array([n1 * p1, n1 * (1 - p1), n0 * p0, n0 * (1 - p0)]) @ np.log(chances))

    low, high = max(0.0, difference), min(1.0, 1 + difference)
    found = minimize_scalar(
        unlikely, bounds=(low + 1e-12, high - 1e-12), method="bounded", options={"xatol": 1e-13}
    )
    group = float(found.x)
    other = group - difference
    variance = group * (1 - group) / n1 + other * (1 - other) / n0
    return float((p1 - p0 - difference) / np.sqrt(variance))


@pytest.mark.parametrize(
    "shares",
    [
        Shares(group=0.41, reference=0.2, people=147.0, reference_people=213.5),
        Shares(group=0.05, reference=0.31, people=22.4, reference_people=180.0),
        Shares(group=0.5, reference=0.5, people=31.0, reference_people=12.0),
    ],
)
def test_ends_are_where_the_likelihood_puts_them(shares: Shares) -> None:
    found, gap = difference_interval(shares, 0.05), shares.group - shares.reference
    low = brentq(lambda at: score(shares, at) - REACH, -0.99, gap)
    high = brentq(lambda at: score(shares, at) + REACH, gap, 0.99)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-6)


def test_ratios_are_those_of_statsmodels() -> None:
    for count, of, other, of_other in ((30, 80, 20, 90), (5, 60, 22, 70), (59, 60, 30, 70)):
        shares = Shares(
            group=count / of, reference=other / of_other, people=of, reference_people=of_other
        )
        found = ratio_interval(shares, 0.05)
        assert found is not None
        expected = confint_proportions_2indep(
            count, of, other, of_other, method="score", compare="ratio", correction=False
        )
        assert (found.low, found.high) == pytest.approx(expected, rel=1e-5)


@given(
    st.floats(0, 1), st.floats(0, 1), st.floats(1.5, 400), st.floats(1.5, 400)
)  # fmt: skip
def test_difference_ratio_and_test_agree(a: float, b: float, n1: float, n0: float) -> None:
    shares = Shares(group=a, reference=b, people=n1, reference_people=n0)
    pooled = (a * n1 + b * n0) / (n1 + n0)
    variance = pooled * (1 - pooled) * (1 / n1 + 1 / n0)
    statistic = abs(a - b) / np.sqrt(variance) if variance > 1e-12 else 0.0
    found = difference_interval(shares, 0.05)
    assert -1 <= found.low <= a - b + 1e-9
    assert a - b - 1e-9 <= found.high <= 1
    if abs(statistic - REACH) > 1e-4 and variance > 1e-12:
        assert (not found.low <= 0 <= found.high) == (statistic > REACH)
        ratio = ratio_interval(shares, 0.05)
        if ratio is not None and b > 1e-6:
            assert (not ratio.low <= 1 <= ratio.high) == (statistic > REACH)


def test_edges_have_intervals_too() -> None:
    none = Shares(group=0.0, reference=0.0, people=20.0, reference_people=30.0)
    found = difference_interval(none, 0.05)
    assert found.low < 0 < found.high
    assert ratio_interval(none, 0.05) is None
    every = Shares(group=1.0, reference=1.0, people=20.0, reference_people=30.0)
    assert difference_interval(every, 0.05).low < 0
    never = Shares(group=0.0, reference=0.3, people=20.0, reference_people=30.0)
    ratio = ratio_interval(never, 0.05)
    assert ratio is not None
    assert ratio.low == 0.0
