"""Words that tell sets apart: a set of pairs of numbers is known by the sum of their words.

A number's word is looked up digit by digit in tables of random words (tabulation), and the word of
a pair is the product of two. So a sum of words is a multilinear hash: two sets that differ have the
same 64-bit sum by an accident that nobody sees twice, and a second sum, with other tables, tells.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.arrays import Ints

Words = NDArray[np.uint64]

_BITS = 14
_MASK = (1 << _BITS) - 1
_ODD = 0x9E3779B97F4A7C15


def word_of(numbers: NDArray[np.integer], salt: int) -> Words:
    """The words of some numbers, none of them negative; another salt gives other words."""
    table = _table(salt, 0)
    largest = int(numbers.max(initial=0))
    if largest <= _MASK:
        found: Words = table[numbers]
        return found
    found = table[numbers & _MASK]
    digit = 1
    while largest >> (digit * _BITS):
        found ^= _table(salt, digit)[(numbers >> (digit * _BITS)) & _MASK]
        digit += 1
    return found


def pair_word(one: NDArray[np.integer], other: NDArray[np.integer], salt: int) -> Words:
    """A word for each pair of numbers."""
    word = word_of(one, 2 * salt)
    word *= word_of(other, 2 * salt + 1)
    return word


def distinct(words: Words) -> tuple[Ints, Ints]:
    """The place of one of each distinct word; and for each word, which of these it is.

    Words and places are sorted as one number, several times faster than places by words. The last
    bits of a word give way to its place. Should words that differ in these alone mix, some of them
    are listed twice, which makes a copy too many and no answer wrong.
    """
    low = np.uint64((1 << len(words).bit_length()) - 1)
    keys = (words & ~low) | np.arange(len(words), dtype=np.uint64)
    keys.sort()
    keys &= low
    order = keys.view(np.int64)
    ascending = words[order]
    first = np.ones(len(words), bool)
    np.not_equal(ascending[1:], ascending[:-1], out=first[1:])
    number = np.empty(len(words), np.int64)
    number[order] = np.cumsum(first) - 1
    return order[first], number


@cache
def _table(salt: int, digit: int) -> Words:
    """Random words, always the same (the finaliser of splitmix64, twice)."""
    first = (64 * salt + digit + 1) * _ODD % 2**64
    words = _stirred(_stirred(np.arange(_MASK + 1, dtype=np.uint64) + np.uint64(first)))
    if digit:
        words[0] = 0  # leading zeros change nothing
    return words


def _stirred(word: Words) -> Words:
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))
