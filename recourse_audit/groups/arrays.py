"""The arrays of the stage: an entry a person, a community or a cell."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Ints = NDArray[np.integer]
Mask = NDArray[np.bool_]


def added(places: Ints, weights: NDArray[Any], size: int) -> Floats:
    """The sum of the weights at each place from 0 to below `size`."""
    return np.asarray(np.bincount(places, weights=weights, minlength=size), dtype=np.float64)
