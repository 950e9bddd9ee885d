"""Copies of nodes that hold changed states, numbered layer by layer and written as one graph."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.arrays import Ints
from recourse_audit.graph.neighbourhoods import OUTSIDE, spans
from recourse_audit.model.base_fields import BaseField
from recourse_audit.model.queries import Union

Mask = NDArray[np.bool_]
Words = NDArray[np.uint64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Edits in terms of a field, each array with the number of the edit in its first row.

    `nodes` are the places of all nodes that some edit can change; a column is a place among them.
    `dropped` has places of arcs; `added` has the source's place (`OUTSIDE` for a loop, whose source
    is the copy itself), the target's column and the row of the tie; `replaced` has columns and rows
    of features; `asked` has places.
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
        # numpy takes places faster than it reads a mask four times.
        some = np.flatnonzero(mask)
        return Arrivals(
            edit=self.edit[some],
            source=self.source[some],
            target=self.target[some],
            arc=self.arc[some],
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Modified:
    """In what states differ from their nodes in the base: three lists, each by state.

    Arcs that are `gone` (from the states `drops`); arcs whose `source` is another node of the
    question (of the states `along`); arcs that are `added`, from `new_source` (to `new`).
    """

    drops: Ints
    gone: Ints
    along: Ints
    arc: Ints
    source: Ints
    new: Ints
    added: Ints
    new_source: Ints

    def of(self, rank: Ints) -> "_Modified":
        """The same for the states that have a rank, by it."""
        drops, along, new = rank[self.drops], rank[self.along], rank[self.new]
        gone, changed, more = (np.flatnonzero(one != OUTSIDE) for one in (drops, along, new))
        return _Modified(
            drops=drops[gone],
            gone=self.gone[gone],
            along=along[changed],
            arc=self.arc[changed],
            source=self.source[changed],
            new=new[more],
            added=self.added[more],
            new_source=self.new_source[more],
        )


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
        edit, column = np.nonzero(needed)
        place = np.full(self._shape, OUTSIDE)
        place[edit, column] = np.arange(len(edit))
        nodes, features = self._changes.nodes[column], self._features[edit, column]
        modified = self._modified(place, arrivals)
        words = self._words(nodes, features, modified, first=arrivals is None)
        chosen, copy = _distinct(words[0])
        assert np.array_equal(words[1], words[1][chosen][copy]), "two states with one 64-bit key"
        sources = targets = ties = np.empty(0, np.int64)
        if arrivals is not None or self._degrees:
            rank = np.full(len(edit), OUTSIDE)
            rank[chosen] = np.arange(len(chosen))
            sources, targets, ties = self._arcs(nodes[chosen], modified.of(rank))
        self._layers.append(
            _Layer(
                nodes=nodes[chosen],
                features=features[chosen],
                sources=sources,
                targets=targets,
                ties=ties,
            )
        )
        self._number = np.full(self._shape, OUTSIDE)
        self._number[edit, column] = self._total + copy
        self._total += len(chosen)

    def _words(
        self, nodes: Ints, features: Ints, modified: "_Modified", *, first: bool
    ) -> tuple[Words, Words]:
        """Two keys for each state: states are told apart by one, and checked by the other.

        Both are sums of words over everything in which a state differs from its node in the base.
        """
        key = mixed(nodes, features, 0)
        check = _stirred(~key)
        if first and self._degrees and self._ties_alike:
            word = mixed(*self._numbers(modified, len(nodes)), 1)
            return key + word, check + _stirred(~word)
        if not first or self._degrees:
            tie = self._changes.added[3, modified.added]
            for state, word in (
                (modified.drops, mixed(modified.gone, modified.gone, 2)),
                (modified.along, mixed(modified.arc, modified.source, 3)),
                (modified.new, mixed(tie, modified.new_source, 4)),
            ):
                np.add.at(key, state, word)
                np.add.at(check, state, _stirred(~word))
        return key, check

    def _numbers(self, modified: "_Modified", count: int) -> tuple[Ints, Ints]:
        """How many more arcs lead to each state than to its node, and how many more loops.

        Models that give every node a loop of its own do not count those that are there.
        """
        field = self._field
        loop = modified.new_source == OUTSIDE
        gone = field.sources[modified.gone] == field.targets[modified.gone]
        arcs = np.bincount(modified.new[~loop], minlength=count)
        arcs -= np.bincount(modified.drops[~gone], minlength=count)
        loops = np.bincount(modified.new[loop], minlength=count)
        loops -= np.bincount(modified.drops[gone], minlength=count)
        return arcs, loops

    def _modified(self, place: Ints, arrivals: tuple[Arrivals, Arrivals] | None) -> "_Modified":
        """What differs in the arcs that lead to the states at these places."""
        changes = self._changes
        states = place[changes.dropped[0], self._dropped_column]
        drops, gone = states[states != OUTSIDE], changes.dropped[1, states != OUTSIDE]
        nothing = np.empty(0, np.int64)
        if arrivals is None:
            states = place[changes.added[0], changes.added[2]]
            added = np.flatnonzero(states != OUTSIDE)
            along = arc = source = nothing
            new, new_source = states[added], changes.added[1, added]
        else:
            carried, joined = arrivals
            source = self._number[carried.edit, carried.source]
            along, arc = place[carried.edit, carried.target], carried.arc
            added, new = joined.arc, place[joined.edit, joined.target]
            there = joined.source != OUTSIDE
            new_source = changes.added[1, added]
            copies = self._number[joined.edit[there], joined.source[there]]
            new_source[there] = np.where(copies == OUTSIDE, new_source[there], copies)
        return _Modified(
            drops=drops,
            gone=gone,
            along=along,
            arc=arc,
            source=source,
            new=new,
            added=added,
            new_source=new_source,
        )

    def _arcs(self, nodes: Ints, modified: "_Modified") -> tuple[Ints, Ints, Ints]:
        """The arcs that lead to the copies of a layer, in canonical order, copy after copy."""
        field = self._field
        starts, order, position = field.arriving
        listed, owner = spans(starts, nodes)
        arcs = order[listed]
        number = starts[nodes + 1] - starts[nodes]
        first = np.cumsum(number) - number - starts[nodes]
        senders = field.sources[arcs]
        targets = self._total + owner
        keep = np.ones(len(arcs), bool)
        keep[first[modified.drops] + position[modified.gone]] = False
        sources, ties = senders.copy(), field.ties[arcs]
        sources[first[modified.along] + position[modified.arc]] = modified.source
        loops = senders == nodes[owner]
        sources[loops] = targets[loops]
        if not len(modified.new):
            return sources[keep], targets[keep], ties[keep]
        added = self._changes.added[:, modified.added]
        own = added[1] == OUTSIDE
        to = self._total + modified.new
        sender = np.concatenate((senders[keep], np.where(own, len(field.nodes), added[1])))
        late = np.concatenate((loops[keep], own))
        sources = np.concatenate((sources[keep], np.where(own, to, modified.new_source)))
        targets = np.concatenate((targets[keep], to))
        ties = np.concatenate((ties[keep], added[3]))
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
        rows = np.where(changes.columns[asked] == OUTSIDE, asked, OUTSIDE)
        maybe = np.flatnonzero(rows == OUTSIDE)
        copy = self._number[edit[maybe], changes.columns[asked[maybe]]]
        rows[maybe] = np.where(copy == OUTSIDE, asked[maybe], copy)
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
            rows=rows,
            replaced=np.stack((len(field.nodes) + changed, features[changed])),
        )


def _distinct(words: Words) -> tuple[Ints, Ints]:
    """The place of one of each distinct word; and for each word, which of these it is.

    Words and places are sorted as one number, several times faster than places by words. The last
    bits of a word give way to its place. Should words that differ in these alone mix, some of them
    are listed twice, which makes a copy too many and no answer wrong.
    """
    low = np.uint64((1 << len(words).bit_length()) - 1)
    keys = (words & ~low) | np.arange(len(words), dtype=np.uint64)
    keys.sort()
    order = (keys & low).astype(np.int64)
    ascending = words[order]
    first = np.ones(len(words), bool)
    first[1:] = ascending[1:] != ascending[:-1]
    number = np.empty(len(words), np.int64)
    number[order] = np.cumsum(first) - 1
    return order[first], number


def mixed(one: NDArray[np.integer], other: NDArray[np.integer], salt: int) -> Words:
    """A word for each pair of numbers that looks random (the finaliser of splitmix64, twice)."""
    with np.errstate(over="ignore"):
        word = _stirred(one.astype(np.uint64) + np.uint64(salt) * _ODD)
        return _stirred(word ^ (other.astype(np.uint64) * _ODD + np.uint64(salt)))


def _stirred(word: Words) -> Words:
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


_ODD = np.uint64(0x9E3779B97F4A7C15)
