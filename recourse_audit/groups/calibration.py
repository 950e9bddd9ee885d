"""Bins of scores, chosen over everybody."""

import numpy as np

from recourse_audit.groups.arrays import Floats, Ints

MOST_BINS = 10


def edges_of(scores: Floats) -> Floats:
    """The ends of bins with about equally many people each, in three significant digits.

    The first and the last lie at or beyond every score.
    """
    inner = np.quantile(scores, np.linspace(0, 1, MOST_BINS + 1)[1:-1])
    ends = np.array([np.floor(scores.min() * 100) / 100, np.ceil(scores.max() * 100) / 100])
    rounded = np.unique([float(f"{edge:.3g}") for edge in inner])
    inside = rounded[(rounded > ends[0]) & (rounded < ends[1])]
    return np.concatenate([ends[:1], inside, ends[1:]])


def bins_of(scores: Floats, edges: Floats) -> Ints:
    """The bin of each score; -1 for a score that is not a number."""
    found = np.searchsorted(edges[1:-1], scores, side="right")
    return np.where(np.isnan(scores), -1, found)
