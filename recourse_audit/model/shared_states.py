"""One query in place of many small graphs: equal states of their nodes are asked about once.

What a node of a small graph answers depends on the nodes within the model's depth, so two graphs
that look the same from a node share that node's state. This finds equal states layer by layer, as
`state_sharing` does for edits of one graph, and for the same models: layer 0 tells nodes apart by
their features, and in the degree form by their number of arcs; layer m by the states of layer m - 1
that send to them.

States are told apart by words: a set of pairs of numbers is known by the sum of their words. A
number's word is looked up digit by digit in tables of random words (tabulation hashing), and the
word of a pair is the product of two. So a sum of words is a multilinear hash: that two sets which
differ have the same 64-bit sum is a hash collision, which a second sum, with other tables, detects.
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.graph import Ints
from recourse_audit.model.queries import Union, single_graph

Form = Literal["plain", "degree"]
Mask = NDArray[np.bool_]
Words = NDArray[np.uint64]

# Two independent words for the same thing have different salts.
_FIRST, _SECOND = 32, 40
_BITS = 14
_MASK = (1 << _BITS) - 1
_ODD = 0x9E3779B97F4A7C15


@dataclass(frozen=True, slots=True, kw_only=True)
class _States:
    """The distinct states of one layer: a node of the union that has each, and who has which.

    They are numbered from `first` on; the number of a node without a state means nothing.
    """

    first: int
    examples: Ints
    number: Ints


def share_union(
    union: Union, rows: Ints, depth: int, form: Form, *, ties_alike: bool
) -> tuple[Union, Ints]:
    """A single graph in which some nodes of a union have their answers, and where.

    `rows` are positions in the union. Several of them may share a position in the result. The depth
    is at least 1.
    """
    own = union.sources == union.targets
    loops = own if bool(own.any()) else None
    wanted = _states_needed(union, rows, depth, loops)
    told = None if ties_alike else union.ties
    layers: list[_States] = []
    parts: list[tuple[Ints, Ints, Ints]] = []
    total = 0
    for layer, mask in enumerate(wanted):
        lean = layer == 0 and form == "plain"
        arcs = np.empty(0, np.int64) if lean else np.flatnonzero(mask[union.targets])
        arriving = _Arriving(
            arcs=arcs,
            sources=union.sources[arcs],
            targets=union.targets[arcs],
            loops=None if loops is None else loops[arcs],
            ties=None if told is None else told[arcs],
        )
        before = layers[-1] if layers else None
        states = _states(union, mask, arriving, before, total)
        parts.append(_arcs_of(union, states, arriving, before))
        layers.append(states)
        total += len(states.examples)
    sources, targets, ties = (np.concatenate(column) for column in zip(*parts, strict=True))
    nodes = union.nodes[np.concatenate([states.examples for states in layers])]
    return single_graph(nodes, sources, targets, ties), layers[-1].number[rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Arriving:
    """The arcs that lead to the states of a layer; `loops` if there are any, `ties` if told."""

    arcs: Ints
    sources: NDArray[np.integer]
    targets: NDArray[np.integer]
    loops: Mask | None
    ties: NDArray[np.integer] | None


def _states_needed(union: Union, rows: Ints, depth: int, loops: Mask | None) -> list[Mask]:
    """Whose states matter, for each layer from 0 to the depth."""
    mask: Mask = np.zeros(len(union.nodes), bool)
    mask[rows] = True
    wanted = [mask]
    for _ in range(depth):
        below: Mask = np.zeros(len(mask), bool)
        sending = wanted[-1][union.targets]
        if loops is not None:
            sending &= ~loops
        below[union.sources[np.flatnonzero(sending)]] = True
        wanted.append(below)
    return wanted[::-1]


def _states(
    union: Union, mask: Mask, arriving: _Arriving, before: _States | None, first: int
) -> _States:
    """Tell states of a layer apart by their nodes and by what arrives at them."""
    slots = np.flatnonzero(mask)
    nodes = union.nodes[slots]
    number = np.empty(len(mask), np.int64)
    number[slots] = np.arange(len(slots))
    place = number[arriving.targets]
    if before is None and arriving.ties is None:
        exact = _by_degree(nodes, place, arriving.loops)
        chosen, copy = distinct(word_of(exact, _FIRST))
        checked: NDArray[np.integer] = exact
    else:
        key, checked = _keys(nodes, place, arriving, before)
        chosen, copy = distinct(key)
    assert np.array_equal(checked, checked[chosen][copy]), "a hash collision of states"
    number[slots] = first + copy
    return _States(first=first, examples=slots[chosen], number=number)


def _by_degree(nodes: Ints, place: Ints, loops: Mask | None) -> Ints:
    """Keys of layer 0 where all ties are alike: nodes, by how many ties and loops they have."""
    key = nodes
    for ends in (place,) if loops is None else (place[~loops], place[loops]):
        number = np.bincount(ends, minlength=len(nodes))
        key = key * (int(number.max(initial=0)) + 1) + number
    return key


def _keys(
    nodes: Ints, place: Ints, arriving: _Arriving, before: _States | None
) -> tuple[Words, Words]:
    """Two independent sums of words: states are told apart by one, and checked by the other."""
    # Senders of layer 0 do not matter, and a loop is the state's own.
    if before is None:
        sender = np.ones(len(place), np.int64)
    else:
        sender = before.number[arriving.sources] - (before.first - 1)
    if arriving.loops is not None:
        sender[arriving.loops] = 0
    keys = []
    for salt in (_FIRST, _SECOND):
        word = word_of(sender, salt)
        if arriving.ties is not None:
            word *= word_of(arriving.ties, salt + 1)
        key = word_of(nodes, salt + 2)
        np.add.at(key, place, word)
        keys.append(key)
    return keys[0], keys[1]


def _arcs_of(
    union: Union, states: _States, arriving: _Arriving, before: _States | None
) -> tuple[Ints, Ints, Ints]:
    """The arcs that lead to the states of a layer, in the order of the union.

    At layer 0 only their number matters: they come from the next node of the query.
    """
    example: Mask = np.zeros(len(union.nodes), bool)
    example[states.examples] = True
    chosen = np.flatnonzero(example[arriving.targets])
    targets = states.number[arriving.targets[chosen]]
    sources = targets + 1 if before is None else before.number[arriving.sources[chosen]]
    if arriving.loops is not None:
        sources = np.where(arriving.loops[chosen], targets, sources)
    ties: Ints = np.zeros(len(chosen), np.int64)
    if len(union.ties):
        ties[:] = union.ties[arriving.arcs[chosen]]
    return sources, targets, ties


def word_of(numbers: NDArray[np.integer], salt: int) -> Words:
    """The words of some numbers, none of them negative; another salt gives other words."""
    table = _table(salt, 0)
    largest = int(numbers.max(initial=0))
    if largest <= _MASK:
        words: Words = table[numbers]
        return words
    words = table[numbers & _MASK]
    digit = 1
    while largest >> (digit * _BITS):
        words ^= _table(salt, digit)[(numbers >> (digit * _BITS)) & _MASK]
        digit += 1
    return words


def pair_word(first: NDArray[np.integer], second: NDArray[np.integer], salt: int) -> Words:
    """A word for each pair of numbers."""
    word = word_of(first, 2 * salt)
    word *= word_of(second, 2 * salt + 1)
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
    words = _stir(_stir(np.arange(_MASK + 1, dtype=np.uint64) + np.uint64(first)))
    if digit:
        words[0] = 0  # leading zeros change nothing
    return words


def _stir(word: Words) -> Words:
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))
