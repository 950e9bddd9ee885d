"""One question in place of many small graphs: equal states of their nodes are asked about once.

What a node of a small graph answers depends on the nodes within the model's depth, so two graphs
that look the same from a node share that node's state. This finds equal states layer by layer, as
`shared_fields` does for edits of one graph, and for the same models: layer 0 tells nodes apart by
their features, and in the degree form by their number of arcs; layer m by the states of layer m - 1
that send to them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.arrays import Ints
from recourse_audit.model.queries import Union
from recourse_audit.model.shared_fields import Form
from recourse_audit.model.state_copies import Mask
from recourse_audit.model.words import Words, distinct, word_of

# Two independent words for the same thing have different salts.
_FIRST, _SECOND = 32, 40


@dataclass(frozen=True, slots=True, kw_only=True)
class _States:
    """The distinct states of one layer: a node of the union that has each, and who has which.

    They are numbered from `first` on; the number of a node without a state means nothing.
    """

    first: int
    examples: Ints
    number: Ints


def shared_union(
    union: Union, rows: Ints, depth: int, form: Form, *, ties_alike: bool
) -> tuple[Union, Ints]:
    """A single graph in which some nodes of a union have their answers, and where.

    `rows` are positions in the union. Several of them may share a position in the result. The depth
    is at least 1.
    """
    own = union.sources == union.targets
    loops = own if bool(own.any()) else None
    wanted = _wanted(union, rows, depth, loops)
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
    shared = Union(
        nodes=nodes,
        node_starts=np.array([0, total]),
        sources=sources,
        targets=targets,
        ties=ties,
        arc_starts=np.array([0, len(sources)]),
    )
    return shared, layers[-1].number[rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Arriving:
    """The arcs that lead to the states of a layer; `loops` if there are any, `ties` if told."""

    arcs: Ints
    sources: NDArray[np.integer]
    targets: NDArray[np.integer]
    loops: Mask | None
    ties: NDArray[np.integer] | None


def _wanted(union: Union, rows: Ints, depth: int, loops: Mask | None) -> list[Mask]:
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
    assert np.array_equal(checked, checked[chosen][copy]), "two states with one 64-bit key"
    number[slots] = first + copy
    return _States(first=first, examples=slots[chosen], number=number)


def _by_degree(nodes: Ints, place: Ints, loops: Mask | None) -> Ints:
    """Keys of layer 0 where all ties are alike: nodes, by how many ties and loops they have."""
    key = nodes
    some = (place,) if loops is None else (place[~loops], place[loops])
    for ends in some:
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

    At layer 0 only their number matters: they come from the next node of the question.
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
