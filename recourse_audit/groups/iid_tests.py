"""Tests and intervals for independent people, by statsmodels and scipy.

This is the only module that imports statsmodels. People in one graph are not independent, so these
figures are shown beside those of `clustered`, never alone. A figure that does not exist (a ratio to
zero, a test of two different constants) is None; no warning and no NaN leaves this module.
"""

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache

import numpy as np

from recourse_audit.groups.arrays import Floats
from recourse_audit.records.group_figures import Interval

POWER = 0.8


def newcombe(count: int, of: int, other: int, of_other: int, alpha: float) -> Interval | None:
    """Newcombe's interval of the difference between two rates."""
    from statsmodels.stats.proportion import confint_proportions_2indep

    return _interval(
        lambda: confint_proportions_2indep(
            count, of, other, of_other, method="newcomb", compare="diff", alpha=alpha
        ),
        count / of - other / of_other,
    )


def score_ratio(count: int, of: int, other: int, of_other: int, alpha: float) -> Interval | None:
    """The score interval of the ratio of two rates; None where the ratio does not exist."""
    from statsmodels.stats.proportion import confint_proportions_2indep

    if not other:
        return None
    return _interval(
        lambda: confint_proportions_2indep(
            count, of, other, of_other, method="score", compare="ratio", alpha=alpha
        ),
        (count / of) / (other / of_other),
    )


def rates_test(count: int, of: int, other: int, of_other: int) -> float:
    """The z test of two rates with a pooled variance; 1 where everybody is alike."""
    from statsmodels.stats.proportion import proportions_ztest

    if count + other in (0, of + of_other):
        return 1.0
    _, p = proportions_ztest([count, other], [of, of_other])
    return float(p)


def cohens_h(share: float, other: float) -> float:
    """The effect size of two rates."""
    from statsmodels.stats.proportion import proportion_effectsize

    return float(proportion_effectsize(share, other))


def brunner_munzel(values: Floats, others: Floats) -> float | None:
    """The test of Brunner and Munzel that neither of two samples tends to be larger."""
    from scipy import stats

    with _quiet():
        p = float(stats.brunnermunzel(values, others).pvalue)
    if math.isfinite(p):
        return p
    # The variance of two constants is zero: equal constants are alike, others cannot be tested.
    return 1.0 if np.array_equal(np.unique(values), np.unique(others)) else None


def rank_interval(values: Floats, others: Floats, alpha: float) -> Interval | None:
    """The interval of the relative effect that goes with the test of Brunner and Munzel."""
    from statsmodels.stats.nonparametric import rank_compare_2indep

    with _quiet():
        low, high = map(float, rank_compare_2indep(values, others).conf_int(alpha=alpha))
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    return Interval(low=max(0.0, low), high=min(1.0, high))


def log_rank(costs: Floats, others: Floats) -> float | None:
    """The log-rank test of two samples of costs; infinite costs are censored beyond all others."""
    from scipy import stats

    def censored(sample: Floats) -> stats.CensoredData:
        found = np.isfinite(sample)
        return stats.CensoredData(uncensored=sample[found], right=np.full((~found).sum(), beyond))

    known = np.concatenate([costs, others])
    known = known[np.isfinite(known)]
    if not known.size:
        return 1.0
    beyond = float(known.max()) + 1.0
    with _quiet():
        p = float(stats.logrank(censored(costs), censored(others)).pvalue)
    return p if math.isfinite(p) else None


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p values of a family."""
    from statsmodels.stats.multitest import multipletests

    if not p_values:
        return []
    adjusted: list[float] = multipletests(p_values, method="holm")[1].tolist()
    return adjusted


@lru_cache(maxsize=4096)
def t_quantile(share: float, freedom: int) -> float:
    """The quantile of Student's t."""
    from scipy import stats

    return float(stats.t.ppf(share, freedom))


def detectable(freedom: int, alpha: float) -> float:
    """The smallest difference, in standard errors, that a two-sided t test finds 4 times out of 5.

    The sum of two quantiles: within 2 % of statsmodels' exact TTestPower at 5 %, whose root finding
    fails at the small levels that a correction for many tests requires.
    """
    return t_quantile(1 - alpha / 2, freedom) + t_quantile(POWER, freedom)


def _interval(compute: Callable[[], tuple[float, float]], estimate: float) -> Interval | None:
    """An interval if it exists and contains the estimate; at an edge, root finding may miss it."""
    with _quiet():
        low, high = map(float, compute())
    if not (math.isfinite(low) and math.isfinite(high) and low <= estimate <= high):
        return None
    return Interval(low=low, high=high)


@contextmanager
def _quiet() -> Iterator[None]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
