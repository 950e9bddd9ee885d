"""Families of tests, corrected together; the only door to statsmodels and `scipy.stats`."""

from collections.abc import Sequence

import numpy as np

from recourse_audit.groups.arrays import Floats, Mask


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p values of a family."""
    from statsmodels.stats.multitest import multipletests

    if not p_values:
        return []
    adjusted: list[float] = multipletests(p_values, method="holm")[1].tolist()
    return adjusted


def cohens_h(share: float, other: float) -> float:
    """The effect size of two rates."""
    from statsmodels.stats.proportion import proportion_effectsize

    return float(proportion_effectsize(share, other))


def fisher(values: Floats, member: Mask) -> float:
    """Fisher's exact test that members say yes (1) as often as the others."""
    from scipy.stats import fisher_exact

    sides = [values[member], values[~member]]
    return float(fisher_exact(np.array([[one.sum(), (1 - one).sum()] for one in sides])).pvalue)
