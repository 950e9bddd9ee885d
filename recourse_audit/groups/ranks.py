"""Amounts as ranks, by which groups are compared in costs: no unit, and no option beyond all."""

import numpy as np

from recourse_audit.groups.arrays import Floats


def mid_ranks(values: Floats) -> Floats:
    """Ranks from 0 to 2; equal values share the middle of their ranks.

    The difference of mean ranks between two groups is the chance that somebody of the one has more
    than somebody of the other, minus the chance of less.
    """
    _, ranks, counts = np.unique(values, return_inverse=True, return_counts=True)
    below = np.cumsum(counts) - counts
    middle: Floats = 2 * (below + (counts + 1) / 2)[ranks] / values.size
    return middle
