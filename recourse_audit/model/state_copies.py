"""Copies of nodes that hold changed states, numbered layer by layer and written as one graph."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.arrays import Ints
from recourse_audit.graph.neighbourhoods import spans
from recourse_audit.model.base_fields import OUTSIDE, BaseField
from recourse_audit.model.queries import Union

Mask = NDArray[np.bool_]
Words = NDArray[np.uint64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Edits in terms of a field, each array with the number of the edit in its first row.

    `nodes` are the places of all nodes that some edit can change; a column is a place among them.
    `dropped` has places of arcs; `added` has the source's place, the target's column and the row of
    the tie; `replaced` has columns and rows of features; `asked` has places.
    """

    nodes: Ints
    columns: Ints
    dropped: Ints
    added: Ints
    replaced: Ints
    asked: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """Arcs that lead to changed states: the edit, source and target (columns), and the arc.

    Of an added arc, `arc` is its place among those that edits add.
    """

    edit: Ints
    source: Ints
    target: Ints
    arc: Ints

    def chosen(self, mask: Mask) -> "Arrivals":
        return Arrivals(
            edit=self.edit[mask],
            source=self.source[mask],
            target=self.target[mask],
            arc=self.arc[mask],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedQuestion:
    """One graph, base first and copies after it; where to read the answers that are asked for.

    `replaced` has the places of copies with other features, and their rows of the edits' features.
    """

    union: Union
    rows: Ints
    replaced: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layer:
    """The copies of one layer: their nodes, rows of features, and the arcs that lead to them."""

    nodes: Ints
    features: Ints
    sources: Ints
    targets: Ints
    ties: Ints


class Copies:
    """Numbers the copies that edits need, and lists the arcs that lead to them.

    Parameters
    ----------
    degrees
        Whether copies of layer 0 need the arcs that lead to them.
    ties_alike
        Whether only the number of these matters.
    """

    def __init__(
        self, field: BaseField, changes: Changes, count: int, *, degrees: bool, ties_alike: bool
    ) -> None:
        self._field = field
        self._changes = changes
        self._degrees = degrees
        self._ties_alike = ties_alike
        self._shape = (count, len(changes.nodes))
        self._features = np.full(self._shape, OUTSIDE)
        self._features[changes.replaced[0], changes.replaced[1]] = changes.replaced[2]
        self._layers: list[_Layer] = []
        self._total = len(field.nodes)
        self._number = np.empty((0, 0), np.int64)
        self._dropped_column = changes.columns[field.targets[changes.dropped[1]]]

    def add_layer(self, needed: Mask, arrivals: tuple[Arrivals, Arrivals] | None) -> None:
        """Make the copies of the next layer; equal ones are made once.

        `needed` marks the states; `arrivals` has the arcs that lead to them from changed states,
        and those that edits add. None for layer 0.
        """
        changes, field = self._changes, self._field
        edit, column = np.nonzero(needed)
        place = np.full(self._shape, OUTSIDE)
        place[edit, column] = np.arange(len(edit))
        nodes, features = changes.nodes[column], self._features[edit, column]
        first = arrivals is None
        drops, gone, along, new = self._modified(place, arrivals)
        # Two independent sums of words: states are told apart by one, and checked by the other.
        words = [_mixed(nodes, features, salt) for salt in (1, 2)]
        if first and self._degrees and self._ties_alike:
            number = np.bincount(new.target, minlength=len(edit))
            number = number - np.bincount(drops, minlength=len(edit))
            words = [word + _mixed(number, number, salt) for salt, word in zip((3, 4), words)]
        elif not first or self._degrees:
            for word, salt in zip(words, (5, 8), strict=True):
                np.add.at(word, drops, _mixed(gone, gone, salt))
                np.add.at(word, along.target, _mixed(along.arc, along.source, salt + 1))
                tie = changes.added[3, new.arc]
                np.add.at(word, new.target, _mixed(tie, new.source, salt + 2))
        _, chosen, copy = np.unique(words[0], return_index=True, return_inverse=True)
        assert np.array_equal(words[1], words[1][chosen][copy]), "two states with one 64-bit key"
        number = np.full(self._shape, OUTSIDE)
        number[edit, column] = self._total + copy
        layer = _Layer(
            nodes=nodes[chosen],
            features=features[chosen],
            sources=np.empty(0, np.int64),
            targets=np.empty(0, np.int64),
            ties=np.empty(0, np.int64),
        )
        if not first or self._degrees:
            rank = np.full(len(edit), OUTSIDE)
            rank[chosen] = np.arange(len(chosen))
            sources, targets, ties = self._arcs(layer.nodes, rank, drops, gone, along, new)
            layer = _Layer(
                nodes=layer.nodes,
                features=layer.features,
                sources=sources,
                targets=targets,
                ties=ties,
            )
        self._layers.append(layer)
        self._total += len(chosen)
        self._number = number

    def _modified(
        self, place: Ints, arrivals: tuple[Arrivals, Arrivals] | None
    ) -> tuple[Ints, Ints, Arrivals, Arrivals]:
        """What differs in the arcs that lead to states.

        The arcs that are gone, each with its state; arcs with changed sources, and added arcs, both
        with the states as targets and the numbers of nodes in the question as sources.
        """
        changes = self._changes
        states = place[changes.dropped[0], self._dropped_column]
        here = states != OUTSIDE
        drops, gone = states[here], changes.dropped[1, here]
        if arrivals is None:
            states = place[changes.added[0], changes.added[2]]
            here = states != OUTSIDE
            new = Arrivals(
                edit=changes.added[0, here],
                source=changes.added[1, here],
                target=states[here],
                arc=np.flatnonzero(here),
            )
            return drops, gone, new.chosen(np.zeros(len(new.edit), bool)), new
        along, added = arrivals
        along = Arrivals(
            edit=along.edit,
            source=self._number[along.edit, along.source],
            target=place[along.edit, along.target],
            arc=along.arc,
        )
        base = changes.added[1, added.arc]
        source = np.where(
            added.source == OUTSIDE, OUTSIDE, self._number[added.edit, added.source]
        )
        new = Arrivals(
            edit=added.edit,
            source=np.where(source == OUTSIDE, base, source),
            target=place[added.edit, added.target],
            arc=added.arc,
        )
        return drops, gone, along, new

    def _arcs(
        self, nodes: Ints, rank: Ints, drops: Ints, gone: Ints, along: Arrivals, new: Arrivals
    ) -> tuple[Ints, Ints, Ints]:
        """The arcs that lead to the copies of a layer, in canonical order, copy after copy."""
        field = self._field
        starts, order, position = field.arriving
        listed, owner = spans(starts, nodes)
        arcs = order[listed]
        first = np.cumsum(starts[nodes + 1] - starts[nodes]) - (starts[nodes + 1] - starts[nodes])
        sources = field.sources[arcs].copy()
        senders = sources
        targets = self._total + owner
        keep = np.ones(len(arcs), bool)

        def at(copies: Ints, arc: Ints) -> Ints:
            """Where an arc of the base stands among those of a copy."""
            return first[copies] + position[arc] - starts[nodes[copies]]

        own = rank[drops] != OUTSIDE
        keep[at(rank[drops[own]], gone[own])] = False
        loops = senders == nodes[owner]
        senders = senders.copy() if len(new.edit) else senders
        own = rank[along.target] != OUTSIDE
        sources[at(rank[along.target[own]], along.arc[own])] = along.source[own]
        sources[loops] = targets[loops]
        ties = field.ties[arcs]
        if not len(new.edit):
            return sources[keep], targets[keep], ties[keep]
        own = rank[new.target] != OUTSIDE
        place = new.arc[own]
        sender = np.concatenate((senders[keep], self._changes.added[1, place]))
        late = np.concatenate((loops[keep], np.zeros(len(place), bool)))
        sources = np.concatenate((sources[keep], new.source[own]))
        targets = np.concatenate((targets[keep], self._total + rank[new.target[own]]))
        ties = np.concatenate((ties[keep], self._changes.added[3, place]))
        ordered = np.lexsort((sender, late, targets))
        return sources[ordered], targets[ordered], ties[ordered]

    def question(self) -> SharedQuestion:
        """The base and all copies as one graph."""
        field, changes = self._field, self._changes
        layers = self._layers
        places = np.concatenate([np.arange(len(field.nodes)), *(one.nodes for one in layers)])
        features = np.concatenate([one.features for one in layers])
        sources = np.concatenate([field.sources, *(one.sources for one in layers)])
        edit, asked = changes.asked
        column = changes.columns[asked]
        copy = np.where(column == OUTSIDE, OUTSIDE, self._number[edit, column])
        changed = np.flatnonzero(features != OUTSIDE)
        return SharedQuestion(
            union=Union(
                nodes=field.nodes[places],
                node_starts=np.array([0, len(places)]),
                sources=sources,
                targets=np.concatenate([field.targets, *(one.targets for one in layers)]),
                ties=np.concatenate([field.ties, *(one.ties for one in layers)]),
                arc_starts=np.array([0, len(sources)]),
            ),
            rows=np.where(copy == OUTSIDE, asked, copy),
            replaced=np.stack((len(field.nodes) + changed, features[changed])),
        )


def _mixed(one: Ints, other: Ints, salt: int) -> Words:
    """A word for each pair of numbers that looks random (the finaliser of splitmix64, twice)."""
    with np.errstate(over="ignore"):
        word = _stirred(one.astype(np.uint64) + np.uint64(salt) * _ODD)
        return _stirred(word ^ (other.astype(np.uint64) * _ODD + np.uint64(salt)))


def _stirred(word: Words) -> Words:
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


_ODD = np.uint64(0x9E3779B97F4A7C15)
