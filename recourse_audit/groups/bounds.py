"""What follows from sums together with bounds: a withheld count that could be nothing else.

Whoever reads the log knows of each withheld cell that it is under the threshold, so from 1 to the
threshold less 1, or that it is not. A count is pinned down if it is the same in every table that
agrees with the sums and the bounds.

Notes
-----
From the true table one can move in any direction that changes no sum and no cell against a bound it
lies on. Linear programs look for moves that change as many cells as possible; those that none has
changed are asked for one by one.
"""

import numpy as np

from recourse_audit.groups.arrays import Floats, Ints, Mask

Bounds = list[tuple[float, float]]
TRIES = 3
MOVED = 1e-6


def pinned_down(rows: Floats, number: Ints, primary: Mask, smallest: int) -> list[int]:
    """The withheld cells (columns of the sums in `rows`) with these counts that cannot vary."""
    low = np.where(number == np.where(primary, 1, smallest), 0.0, -1.0)
    high = np.where(primary & (number == smallest - 1), 0.0, 1.0)
    if not ((low == 0) | (high == 0)).any():
        return []  # inside its bounds, every cell moves as linear algebra alone says
    bounds = list(zip(low.tolist(), high.tolist(), strict=True))
    left = np.ones(number.size, dtype=bool)
    random = np.random.default_rng(0)
    for _ in range(TRIES):
        left &= ~_moved(random.uniform(-1, 1, number.size), rows, bounds)
    for place in np.flatnonzero(left):
        for sign in (1.0, -1.0):
            wanted = np.zeros(number.size)
            wanted[place] = sign
            left &= ~_moved(wanted, rows, bounds)
    return [int(place) for place in np.flatnonzero(left)]


def _moved(wanted: Floats, rows: Floats, bounds: Bounds) -> Mask:
    """The cells that change on the way furthest towards what is wanted."""
    from scipy.optimize import linprog

    found = linprog(-wanted, A_eq=rows, b_eq=np.zeros(len(rows)), bounds=bounds, method="highs")
    assert found.x is not None, "staying where one is agrees with everything"
    return np.asarray(np.abs(found.x) > MOVED)
