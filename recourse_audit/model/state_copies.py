"""Copies of nodes that hold changed states, numbered layer by layer and written as one graph."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.arrays import Ints
from recourse_audit.graph.neighbourhoods import OUTSIDE
from recourse_audit.model.base_fields import BaseField
from recourse_audit.model.queries import Union
from recourse_audit.model.words import Words, distinct, pair_word, word_of

Mask = NDArray[np.bool_]

NOTHING = np.empty(0, np.int64)
# What words are about: nodes, numbers of arcs, dropped arcs, arcs from copies, added arcs. The
# second of two independent words for the same thing has another salt.
_NODE, _NUMBERS, _GONE, _ALONG, _NEW, _SECOND = 0, 1, 2, 3, 4, 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Edits in terms of a field.

    `nodes` are the places of all nodes that some edit can change; a column is a place among them.
    A slot is an edit and a column: edit x number of columns + column.

    Each array has one column per change. `dropped` has the edit, the arc's place and the target's
    slot. `added` has the edit, the source's place (`OUTSIDE` for a loop, whose source is the copy
    itself), the target's slot, the row of the tie, and the source's slot if it has one. `replaced`
    has slots and rows of features; `asked` has places and slots, `OUTSIDE` if there is none.
    """

    count: int
    nodes: Ints
    columns: Ints
    dropped: Ints
    added: Ints
    replaced: Ints
    asked: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """Arcs that lead to changed states: source and target (slots), and the arc.

    Of an added arc, `arc` is its place among those that edits add.
    """

    source: Ints
    target: Ints
    arc: Ints

    def chosen(self, mask: Mask) -> "Arrivals":
        # numpy takes places faster than it reads a mask three times.
        some = np.flatnonzero(mask)
        if len(some) == len(mask):
            return self
        return Arrivals(source=self.source[some], target=self.target[some], arc=self.arc[some])


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
        drops, (gone,) = _ranked(rank, self.drops, self.gone)
        along, (arc, source) = _ranked(rank, self.along, self.arc, self.source)
        new, (added, new_source) = _ranked(rank, self.new, self.added, self.new_source)
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


def _ranked(rank: Ints, states: Ints, *values: Ints) -> tuple[Ints, tuple[Ints, ...]]:
    """Some states by rank, and what belongs to those that have one."""
    if not len(states):
        return states, values
    ranks = rank[states]
    there = np.flatnonzero(ranks != OUTSIDE)
    return ranks[there], tuple(value[there] for value in values)


class Copies:
    """Numbers the copies that edits need, and lists the arcs that lead to them.

    Parameters
    ----------
    degrees
        Whether copies of layer 0 need the arcs that lead to them.
    ties_alike
        Whether only the number of these matters, because a tie is nothing but its ends.
    """

    def __init__(
        self, field: BaseField, changes: Changes, *, degrees: bool, ties_alike: bool
    ) -> None:
        self._field = field
        self._changes = changes
        self._degrees = degrees
        self._ties_alike = ties_alike
        self._slots = changes.count * len(changes.nodes)
        self._features: Ints | None = None
        if changes.replaced.shape[1]:
            self._features = np.full(self._slots, OUTSIDE)
            self._features[changes.replaced[0]] = changes.replaced[1]
        self._layers: list[_Layer] = []
        self._total = len(field.nodes)
        self._number = NOTHING

    def add_layer(self, needed: Mask, arrivals: tuple[Arrivals, Arrivals | None] | None) -> None:
        """Make the copies of the next layer; equal ones are made once.

        `needed` marks the slots of states; `arrivals` has the arcs that lead to them from changed
        states, and those that edits add, if any. None for layer 0.
        """
        slots = np.flatnonzero(needed)
        place = np.full(self._slots, OUTSIDE)
        place[slots] = np.arange(len(slots))
        width = max(len(self._changes.nodes), 1)
        nodes = self._changes.nodes[slots - slots // width * width]
        features = None if self._features is None else self._features[slots]
        modified = self._modified(place, arrivals)
        words = self._words(nodes, features, modified, first=arrivals is None)
        chosen, copy = distinct(words[0])
        assert np.array_equal(words[1], words[1][chosen][copy]), "two states with one 64-bit key"
        sources = targets = ties = NOTHING
        own = nodes[chosen]
        if arrivals is not None or self._degrees:
            rank = np.full(len(slots), OUTSIDE)
            rank[chosen] = np.arange(len(chosen))
            sources, targets, ties = self._arcs(own, modified.of(rank))
        self._layers.append(
            _Layer(
                nodes=own,
                features=NOTHING if features is None else features[chosen],
                sources=sources,
                targets=targets,
                ties=ties,
            )
        )
        place[slots] = self._total + copy
        self._number = place
        self._total += len(chosen)

    def _words(
        self, nodes: Ints, features: Ints | None, modified: "_Modified", *, first: bool
    ) -> tuple[Words, Words]:
        """Two keys for each state: states are told apart by one, and checked by the other.

        Both are sums of words over everything in which a state differs from its node in the base.
        """
        numbers: tuple[Ints, Ints] | None = None
        listed = not first or self._degrees
        if first and listed and self._ties_alike:
            numbers, listed = self._numbers(modified, len(nodes)), False
        tie = self._changes.added[3, modified.added] if len(modified.added) else NOTHING
        # All that arcs come from are copies of the layer below.
        source = modified.source - (int(modified.source.min()) if len(modified.source) else 0)
        keys = []
        for salt in (0, _SECOND):
            if features is None:
                key = word_of(nodes, 2 * (_NODE + salt))
            else:
                key = pair_word(nodes, features - OUTSIDE, _NODE + salt)
            if numbers is not None:
                key += pair_word(*numbers, _NUMBERS + salt)
            if listed and len(modified.drops):
                np.add.at(key, modified.drops, word_of(modified.gone, 2 * (_GONE + salt)))
            if listed and len(modified.along):
                np.add.at(key, modified.along, pair_word(modified.arc, source, _ALONG + salt))
            if listed and len(modified.new):
                word = pair_word(tie, modified.new_source - OUTSIDE, _NEW + salt)
                np.add.at(key, modified.new, word)
            keys.append(key)
        return keys[0], keys[1]

    def _numbers(self, modified: "_Modified", count: int) -> tuple[Ints, Ints]:
        """How many arcs and how many loops lead to each state, more than to its node.

        Counted from the smallest of these numbers. Models that give every node a loop of its own do
        not count those that are there.
        """
        field = self._field
        arcs = -np.bincount(modified.drops, minlength=count)
        loops = np.zeros(count, np.int64)
        if len(modified.new):
            loop = modified.new_source == OUTSIDE
            arcs += np.bincount(modified.new[~loop], minlength=count)
            loops += np.bincount(modified.new[loop], minlength=count)
        if field.has_loops and len(modified.drops):
            gone = field.sources[modified.gone] == field.targets[modified.gone]
            number = np.bincount(modified.drops[gone], minlength=count)
            arcs += number
            loops -= number
        return arcs - arcs.min(initial=0), loops - loops.min(initial=0)

    def _modified(
        self, place: Ints, arrivals: tuple[Arrivals, Arrivals | None] | None
    ) -> "_Modified":
        """What differs in the arcs that lead to the states at these places."""
        changes = self._changes
        drops = place[changes.dropped[2]]
        there = np.flatnonzero(drops != OUTSIDE)
        drops, gone = drops[there], changes.dropped[1, there]
        along = arc = source = new = added = new_source = NOTHING
        if arrivals is None:
            if changes.added.shape[1]:
                new = place[changes.added[2]]
                added = np.flatnonzero(new != OUTSIDE)
                new, new_source = new[added], changes.added[1, added]
        else:
            carried, joined = arrivals
            source = self._number[carried.source]
            along, arc = place[carried.target], carried.arc
            if joined is not None:
                added, new = joined.arc, place[joined.target]
                new_source = changes.added[1, added]
                there = np.flatnonzero(joined.source != OUTSIDE)
                copies = self._number[joined.source[there]]
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
        starts, order, position, senders = field.arriving
        begin = starts[nodes]
        lengths = starts[nodes + 1] - begin
        owner = np.repeat(np.arange(len(nodes)), lengths)
        # Where the arcs of each copy begin, less where those of its node do.
        first = np.cumsum(lengths) - lengths - begin
        listed = np.arange(len(owner)) - first[owner]
        senders = senders[listed]
        sources = senders.copy() if len(modified.new) else senders
        sources[first[modified.along] + position[modified.arc]] = modified.source
        targets = owner + self._total
        loops = None
        if field.has_loops:
            loops = senders == nodes[owner]
            sources[loops] = targets[loops]
        ties = NOTHING if self._ties_alike else field.ties[order[listed]]
        if len(modified.drops):
            keep = np.ones(len(listed), bool)
            keep[first[modified.drops] + position[modified.gone]] = False
            kept = np.flatnonzero(keep)
            sources, targets, senders = sources[kept], targets[kept], senders[kept]
            ties = ties if self._ties_alike else ties[kept]
            loops = None if loops is None else loops[kept]
        if not len(modified.new):
            return sources, targets, ties
        added = self._changes.added[:, modified.added]
        own = added[1] == OUTSIDE
        to = self._total + modified.new
        sender = np.concatenate((senders, np.where(own, len(field.nodes), added[1])))
        late = np.concatenate((np.zeros(len(senders), bool) if loops is None else loops, own))
        sources = np.concatenate((sources, np.where(own, to, modified.new_source)))
        targets = np.concatenate((targets, to))
        # Two lists in order, one after the other: a stable sort by one number merges them.
        ordered = np.argsort((2 * targets + late) * (len(field.nodes) + 1) + sender, kind="stable")
        if not self._ties_alike:
            ties = np.concatenate((ties, added[3]))[ordered]
        return sources[ordered], targets[ordered], ties

    def question(self) -> SharedQuestion:
        """The base and all copies as one graph."""
        field, layers = self._field, self._layers
        copied = np.concatenate([one.nodes for one in layers])
        nodes = np.concatenate([field.nodes, field.nodes[copied]])
        sources = np.concatenate([field.sources, *(one.sources for one in layers)])
        ties = NOTHING
        if not self._ties_alike:
            ties = np.concatenate([field.ties, *(one.ties for one in layers)])
        replaced = np.empty((2, 0), np.int64)
        if self._features is not None:
            features = np.concatenate([one.features for one in layers])
            changed = np.flatnonzero(features != OUTSIDE)
            replaced = np.stack((len(field.nodes) + changed, features[changed]))
        rows = self._changes.asked[0].copy()
        maybe = np.flatnonzero(self._changes.asked[1] != OUTSIDE)
        copy = self._number[self._changes.asked[1, maybe]]
        rows[maybe] = np.where(copy == OUTSIDE, rows[maybe], copy)
        return SharedQuestion(
            union=Union(
                nodes=nodes,
                node_starts=np.array([0, len(nodes)]),
                sources=sources,
                targets=np.concatenate([field.targets, *(one.targets for one in layers)]),
                ties=ties,
                arc_starts=np.array([0, len(sources)]),
            ),
            rows=rows,
            replaced=replaced,
        )
