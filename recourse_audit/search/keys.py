"""64-bit keys for sets of ties, and an index that finds keys seen before.

The key of a set is the sum of one well-mixed word per tie. So the key of a subtree is that of the
tree it grew from plus one word, and the key of a removed part is a difference of two keys. Code
that takes equal keys for equal sets also compares the sets.
"""

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.arrays import Ints

Keys = NDArray[np.uint64]

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_EMPTY = np.uint64(0)


def tie_words(pairs: NDArray[np.integer], salt: int = 0) -> Keys:
    """A well-mixed word for each pair of the whole graph (the finaliser of SplitMix64)."""
    word = (pairs.astype(np.uint64) + np.uint64(1 + (salt << 40))) * _SPREAD
    word = (word ^ (word >> np.uint64(30))) * _FIRST
    word = (word ^ (word >> np.uint64(27))) * _SECOND
    return word ^ (word >> np.uint64(31))


class KeyIndex:
    """Numbers distinct keys in the order in which they first come, by open addressing.

    It uses array operations only: each round places or finds every key whose slot is free or its
    own, and the rest move on by one slot. With at most half of the slots taken, few rounds are
    needed.
    """

    def __init__(self, room: int = 1 << 12) -> None:
        self._slots = np.zeros(room, np.uint64)
        self._numbers = np.zeros(room, np.int64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def enter(self, keys: Keys) -> tuple[Ints, Ints]:
        """Number every key, and return the places in `keys` of those seen for the first time.

        New keys are numbered in the order of those places.
        """
        self._make_room(self._count + len(keys))
        keys = np.where(keys == _EMPTY, np.uint64(1), keys)
        slot, fresh = self._place(keys)
        fresh = np.sort(fresh)
        self._numbers[slot[fresh]] = np.arange(self._count, self._count + len(fresh))
        self._count += len(fresh)
        return self._numbers[slot], fresh

    def _place(self, keys: Keys) -> tuple[Ints, Ints]:
        """Find or take a slot for every key; also say which places took one."""
        last = np.int64(len(self._slots) - 1)
        slot = (keys >> np.uint64(64 - int(last).bit_length())).astype(np.int64)
        waiting = np.flatnonzero(self._slots[slot] != keys)
        taken = []
        while len(waiting):
            at, key = slot[waiting], keys[waiting]
            free = np.flatnonzero(self._slots[at] == _EMPTY)
            self._slots[at[free]] = key[free]
            # Of several keys that want one slot, the last gets it; of equal keys, the first in
            # the list counts as new.
            won = free[self._slots[at[free]] == key[free]]
            _, first = np.unique(at[won], return_index=True)
            taken.append(waiting[won[first]])
            lost = np.flatnonzero(self._slots[at] != key)
            waiting = waiting[lost]
            slot[waiting] = (slot[waiting] + 1) & last
            waiting = waiting[self._slots[slot[waiting]] != keys[waiting]]
        return slot, np.concatenate(taken) if taken else np.empty(0, np.int64)

    def _make_room(self, wanted: int) -> None:
        if 2 * wanted <= len(self._slots):
            return
        full = np.flatnonzero(self._slots != _EMPTY)
        keys, numbers = self._slots[full], self._numbers[full]
        room = 1 << (4 * wanted - 1).bit_length()
        self._slots = np.zeros(room, np.uint64)
        self._numbers = np.zeros(room, np.int64)
        slot, _ = self._place(keys)
        self._numbers[slot] = numbers
