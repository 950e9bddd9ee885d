"""Bins of scores, chosen over everybody and merged until no group has a handful in one of them.

A bin with fewer people of either outcome than the threshold says nearly of everybody in it how
their decision turned out. Bins are the same for all groups of a table, so that groups can be
compared bin by bin; those of a table are made of those of everybody.
"""

import numpy as np

from recourse_audit.groups.arrays import Floats, Ints

MOST_BINS = 10
FEWEST_BINS = 2


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


def merged(good: Ints, bad: Ints, smallest: int) -> list[int]:
    """The places where merged bins start, and the end of the last.

    `good` and `bad` count the people of each group (row) in each bin. While a group has people in
    a bin, but fewer than the threshold of either outcome, the bin is merged with the neighbour that
    has fewer people.
    """
    starts = list(range(good.shape[1] + 1))
    while len(starts) > 2:
        goods, bads = (np.add.reduceat(one, starts[:-1], axis=1) for one in (good, bad))
        few = ((goods + bads > 0) & (np.minimum(goods, bads) < smallest)).any(axis=0)
        few |= (goods + bads).sum(axis=0) == 0
        if not few.any():
            return starts
        people = (goods + bads).sum(axis=0)
        place = int(np.flatnonzero(few)[np.argmin(people[few])])
        left = place > 0 and (place + 1 == people.size or people[place - 1] < people[place + 1])
        del starts[place if left else place + 1]
    return starts
