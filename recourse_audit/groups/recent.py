"""What was worked out lately, kept for the next comparison of the same people."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """The last values that were asked for, by key."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, Value] = OrderedDict()

    def get(self, key: Hashable, work_out: Callable[[], Value]) -> Value:
        """The value of a key; worked out if it is not among the last."""
        if key not in self._kept:
            self._kept[key] = work_out()
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]


def digest(array: NDArray[np.generic]) -> bytes:
    """Equal for arrays with the same content."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).digest()
