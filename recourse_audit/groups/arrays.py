"""The array types of this stage; arrays have one entry per person, community or cell."""

import hashlib
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Ints = NDArray[np.integer]
Mask = NDArray[np.bool_]


class ArrayKey:
    """An array that `functools.lru_cache` takes: equal to those with the same content."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array

    @cached_property
    def _digest(self) -> bytes:
        return hashlib.sha256(np.ascontiguousarray(self.array).tobytes()).digest()

    def __hash__(self) -> int:
        return hash(self._digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArrayKey) and self._digest == other._digest


def added(places: Ints, weights: Floats | Mask, size: int) -> Floats:
    """The sum of the weights at each place from 0 to `size` - 1."""
    return np.asarray(np.bincount(places, weights=weights, minlength=size), dtype=np.float64)
