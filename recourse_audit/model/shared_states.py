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


@dataclass(frozen=True, slots=True, kw_only=True)
class _States:
    """The distinct states of one layer: a node of the union that has each, and who has which."""

    examples: Ints
    number: Ints


def shared_union(
    union: Union, rows: Ints, depth: int, form: Form, *, ties_alike: bool
) -> tuple[Union, Ints]:
    """A single graph in which some nodes of a union have their answers, and where.

    `rows` are positions in the union. Several of them may share a position in the result. The depth
    is at least 1.
    """
    wanted = _wanted(union, rows, depth)
    told = None if ties_alike else union.ties
    layers: list[_States] = []
    parts: list[tuple[Ints, Ints, Ints]] = []
    total = 0
    for layer, mask in enumerate(wanted):
        arcs = np.flatnonzero(mask[union.targets])
        if layer == 0 and form == "plain":
            arcs = arcs[:0]
        before = layers[-1] if layers else None
        states = _states(union, mask, arcs, told, before, total)
        parts.append(_arcs_of(union, states, arcs, before))
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


def _wanted(union: Union, rows: Ints, depth: int) -> list[Mask]:
    """Whose states matter, for each layer from 0 to the depth."""
    mask: Mask = np.zeros(len(union.nodes), bool)
    mask[rows] = True
    wanted = [mask]
    for _ in range(depth):
        below: Mask = np.zeros(len(mask), bool)
        sending = wanted[-1][union.targets] & (union.sources != union.targets)
        below[union.sources[sending]] = True
        wanted.append(below)
    return wanted[::-1]


def _states(
    union: Union,
    mask: Mask,
    arcs: Ints,
    told: NDArray[np.integer] | None,
    before: _States | None,
    first: int,
) -> _States:
    """Tell states of a layer apart by their nodes and by what arrives at them."""
    slots = np.flatnonzero(mask)
    if before is None and told is None:
        key = _by_degree(union, slots, arcs)
        _, chosen, copy = np.unique(key, return_index=True, return_inverse=True)
    else:
        keys = _keys(union, slots, arcs, told, before)
        chosen, copy = distinct(keys[0])
        assert np.array_equal(keys[1], keys[1][chosen][copy]), "two states with one 64-bit key"
    number = np.full(len(mask), -1)
    number[slots] = first + copy
    return _States(examples=slots[chosen], number=number)


def _by_degree(union: Union, slots: Ints, arcs: Ints) -> Ints:
    """Keys of layer 0 where all ties are alike: nodes, by how many ties and loops they have."""
    key = union.nodes[slots]
    loops = union.sources[arcs] == union.targets[arcs]
    for some in (arcs[~loops], arcs[loops]):
        number = np.bincount(union.targets[some], minlength=len(union.nodes))[slots]
        key = key * (int(number.max(initial=0)) + 1) + number
    return key


def _keys(
    union: Union,
    slots: Ints,
    arcs: Ints,
    told: NDArray[np.integer] | None,
    before: _States | None,
) -> list[Words]:
    """Two independent sums of words: states are told apart by one, and checked by the other."""
    sources, targets = union.sources[arcs], union.targets[arcs]
    place = np.empty(len(union.nodes), np.int64)
    place[slots] = np.arange(len(slots))
    # Senders of layer 0 do not matter, and a loop is the state's own.
    sender = np.ones(len(arcs), np.int64) if before is None else before.number[sources] + 1
    sender[sources == targets] = 0
    keys = []
    for salt in (16, 24):
        word = word_of(sender, salt)
        if told is not None:
            word *= word_of(told[arcs], salt + 1)
        key = word_of(union.nodes[slots], salt + 2)
        np.add.at(key, place[targets], word)
        keys.append(key)
    return keys


def _arcs_of(
    union: Union, states: _States, arcs: Ints, before: _States | None
) -> tuple[Ints, Ints, Ints]:
    """The arcs that lead to the states of a layer, in the order of the union.

    At layer 0 only their number matters: they come from the next node of the question.
    """
    example: Mask = np.zeros(len(union.nodes), bool)
    example[states.examples] = True
    arcs = arcs[example[union.targets[arcs]]]
    targets = states.number[union.targets[arcs]]
    loops = union.sources[arcs] == union.targets[arcs]
    other = targets + 1 if before is None else before.number[union.sources[arcs]]
    ties: Ints = np.zeros(len(arcs), np.int64)
    if len(union.ties):
        ties[:] = union.ties[arcs]
    return np.where(loops, targets, other), targets, ties
