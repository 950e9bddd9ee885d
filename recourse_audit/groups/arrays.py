"""The array types of this stage; arrays have one entry per person, community or cell."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Ints = NDArray[np.integer]
Mask = NDArray[np.bool_]


def added(places: Ints, weights: Floats | Mask, size: int) -> Floats:
    """The sum of the weights at each place from 0 to `size` - 1."""
    return np.asarray(np.bincount(places, weights=weights, minlength=size), dtype=np.float64)
