"""State sharing: one query that holds a base graph once, and every edit of it.

A copy of a node may receive messages and send none into the base. So an edit adds to the query
only the states that it changes, and edits share equal states. With a model of depth L:

- A node's state can differ from layer `delta` on: 0 where its features are replaced; 1 where an arc
  that leads to it is dropped or added, or 0 in the *degree* form, for models in which a sender's
  own number of arcs weighs its message; and at most one more along every arc.
- state(v, m), right up to layer m, is the base node if delta(v) > m. Otherwise it is a copy with
  v's features and, in canonical order, an arc from state(u, m - 1) for every arc u -> v of the
  edited graph; a loop is the copy's own. At m = 0 only features matter and, in the degree form,
  how many arcs arrive.
- The answer of a node is that of state(v, L).

Copies are numbered from the lowest layer up, and two copies are one if they have the same node,
features, layer and arriving arcs. Everything is done for all edits at once, with arrays that have
a slot for every edit and every node that some edit can change.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.graph import Ints
from recourse_audit.graph.neighbourhoods import OUTSIDE, spans
from recourse_audit.model.edits import ArrivingField, Edits
from recourse_audit.model.queries import Union, single_graph
from recourse_audit.model.shared_states import (
    Form,
    Mask,
    Words,
    distinct,
    pair_word,
    word_of,
)

Layers = NDArray[np.int8]

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


class Arrivals(NamedTuple):
    """Arcs that lead to changed states: source and target (slots), and the arc.

    Of an added arc, `arc` is its place among those that edits add.
    """

    source: Ints
    target: Ints
    arc: Ints

    def select(self, mask: Mask) -> "Arrivals":
        # numpy takes places faster than it reads a mask three times.
        places = np.flatnonzero(mask)
        if len(places) == len(mask):
            return self
        return Arrivals(*(row[places] for row in self))


class SharedQuery(NamedTuple):
    """One graph, base first and copies after it; where to read the answers that are asked for.

    `replaced` has the places of copies with other features, and their rows of the edits' features.
    """

    union: Union
    rows: Ints
    replaced: Ints


class Differences(NamedTuple):
    """In what states differ from their nodes in the base: three lists, each by state first.

    `drops`: the arc that is gone. `along`: an arc whose source is another node of the query, and
    this source. `new`: an arc by its place among those that edits add, and its source.
    """

    drops: tuple[Ints, Ints]
    along: tuple[Ints, Ints, Ints]
    new: tuple[Ints, Ints, Ints]

    def of(self, rank: Ints) -> "Differences":
        """The same for the states that have a rank, by it."""
        drops, along, new = (_rank_rows(rank, rows) for rows in self)
        return Differences(drops, along, new)


def _rank_rows(rank: Ints, rows: tuple[Ints, ...]) -> Any:
    """What belongs to states that have a rank, by it."""
    if not len(rows[0]):
        return rows
    ranks = rank[rows[0]]
    there = np.flatnonzero(ranks != OUTSIDE)
    return ranks[there], *(row[there] for row in rows[1:])


def share_states(
    field: ArrivingField, edits: Edits, form: Form, *, ties_alike: bool
) -> SharedQuery:
    """One query for all edits of a field.

    Parameters
    ----------
    form
        Which states an edit changes; see the module.
    ties_alike
        Whether the model is told nothing about ties but their ends.
    """
    reached = _Reached(field, edits, degrees=form == "degree")
    copies = Copies(field, reached.changes, degrees=form == "degree", ties_alike=ties_alike)
    for states, arriving in zip(*reached.needs(), strict=True):
        copies.add_layer(states, arriving)
    return copies.query()


class _Reached:
    """Which states edits change, and which of these somebody's answer needs."""

    def __init__(self, field: ArrivingField, edits: Edits, *, degrees: bool) -> None:
        self.field = field
        self._degrees = degrees
        self.changes = self._changes(edits)

    def needs(self) -> tuple[list[Mask], list[tuple[Arrivals, Arrivals | None] | None]]:
        """Layer by layer, the copies that somebody's answer needs and the arcs that lead to them.

        No arcs are listed for layer 0.
        """
        delta, arrivals = self._forward(self.changes)
        needed, arriving = self._backward(delta, self.changes, arrivals)
        return needed, [None, *arriving]

    def _changes(self, edits: Edits) -> Changes:
        """What of the edits matters: all that can reach somebody asked about."""
        field = self.field
        dropped = _locate(edits.dropped, field.arc_place(edits.dropped[1]))
        replaced = _locate(edits.replaced, field.place(edits.replaced[1]))
        added = self._near_arcs(edits.added)
        ends = field.targets[dropped[1]]
        touched = self._nodes_reached(replaced[1], np.append(ends, added[2]), added)
        nodes = np.flatnonzero(touched)
        columns = np.full(len(field.nodes), OUTSIDE)
        columns[nodes] = np.arange(len(nodes))
        asked = field.place(edits.asked[1])
        width = len(nodes)
        return Changes(
            count=edits.count,
            nodes=nodes,
            columns=columns,
            dropped=np.stack((dropped[0], dropped[1], dropped[0] * width + columns[ends])),
            added=_slots_of_added(added, columns, width),
            replaced=np.stack((replaced[0] * width + columns[replaced[1]], replaced[2])),
            asked=np.stack((asked, _slots(edits.asked[0], columns[asked], width))),
        )

    def _near_arcs(self, added: Ints) -> Ints:
        """Added arcs by the places of their ends, without those too far away to matter."""
        if not added.shape[1]:
            return added
        field = self.field
        placed = added.copy()
        placed[1:3] = field.place(added[1]), field.place(added[2])
        placed = placed[:, (placed[1:3] != OUTSIDE).all(axis=0)]
        inner = field.depth - int(not self._degrees)
        near: Ints = placed[:, field.distance[placed[2]] <= inner]
        return near

    def _nodes_reached(self, replaced: Ints, ends: Ints, added: Ints) -> Mask:
        """The nodes whose states some edit may change, at a layer that somebody's answer needs."""
        field = self.field
        touched: Mask = np.zeros(len(field.nodes), bool)
        touched[replaced] = True
        if self._degrees:
            touched[ends] = True
        for layer, (starts, order) in enumerate(field.leaving, start=1):
            arcs, _ = spans(starts, np.flatnonzero(touched))
            if added.shape[1]:
                along = touched[added[1]] & (field.distance[added[2]] <= field.depth - layer)
                touched[field.targets[order[arcs]]] = True
                touched[added[2, along]] = True
            else:
                touched[field.targets[order[arcs]]] = True
            if layer == 1:
                touched[ends] = True
        return touched

    def _forward(self, changes: Changes) -> tuple[Layers, list[tuple[Arrivals, Arrivals | None]]]:
        """From which layer on each state differs, and for each layer the arcs that carry it."""
        field, columns, width = self.field, changes.columns, len(changes.nodes)
        delta = np.full(changes.count * width, field.depth + 1, np.int8)
        own = np.append(changes.dropped[2], changes.added[2])
        if self._degrees:
            delta[own] = 0
        delta[changes.replaced[0]] = 0
        arrivals = []
        for layer, (starts, order) in enumerate(field.leaving, start=1):
            source = np.flatnonzero(delta < layer)
            row = source // max(width, 1) * width
            arcs, owner = spans(starts, changes.nodes[source - row])
            arcs = order[arcs]
            target = row[owner] + columns[field.targets[arcs]]
            along = Arrivals(source[owner], target, arcs)
            new = self._joining(changes, layer)
            # What an added arc carries was there before what arrives at this layer.
            reached = [target] if new is None else [target, new.target[_before(delta, new, layer)]]
            if layer == 1:
                reached.append(own)
            for slots in reached:
                delta[slots[delta[slots] > layer]] = layer
            arrivals.append((along, new))
        return delta, arrivals

    def _joining(self, changes: Changes, layer: int) -> Arrivals | None:
        """The arcs that edits add, as far as they matter at a layer; None without any."""
        if not changes.added.shape[1]:
            return None
        field, to = self.field, changes.added[2]
        distance = field.distance[changes.nodes[to % len(changes.nodes)]]
        near = np.flatnonzero(distance <= field.depth - layer)
        return Arrivals(changes.added[4, near], to[near], near)

    def _backward(
        self, delta: Layers, changes: Changes, arrivals: list[tuple[Arrivals, Arrivals | None]]
    ) -> tuple[list[Mask], list[tuple[Arrivals, Arrivals | None]]]:
        """Which copies somebody's answer needs, layer by layer, and the arcs that lead to them."""
        depth = self.field.depth
        needed = [np.zeros(len(delta), bool) for _ in range(depth + 1)]
        asked = changes.asked[1]
        asked = asked[asked != OUTSIDE]
        needed[depth][asked] = delta[asked] <= depth
        gone = _Dropped(changes, len(self.field.arcs)) if changes.dropped.shape[1] else None
        kept: list[tuple[Arrivals, Arrivals | None]] = []
        for layer in range(depth, 0, -1):
            along, new = arrivals[layer - 1]
            along = along.select(needed[layer][along.target])
            if gone is not None:
                along = along.select(~gone.hold(along))
            needed[layer - 1][along.source] = True
            if new is not None:
                new = new.select(needed[layer][new.target])
                needed[layer - 1][new.source[_before(delta, new, layer)]] = True
            kept.append((along, new))
        return needed, kept[::-1]


class _Dropped:
    """Tells which edits drop which arcs."""

    def __init__(self, changes: Changes, arcs: int) -> None:
        edit, dropped, _ = changes.dropped
        there: Mask = np.zeros(arcs, bool)
        there[dropped] = True
        places = np.flatnonzero(there)
        self._column = np.zeros(arcs, np.int64)  # the first column is of arcs that nobody drops
        self._column[places] = np.arange(1, len(places) + 1)
        self._width = len(places) + 1
        self._slots = len(changes.nodes)
        self._there: Mask = np.zeros(changes.count * self._width, bool)
        self._there[edit * self._width + self._column[dropped]] = True

    def hold(self, arrivals: Arrivals) -> Mask:
        """Which arcs are dropped by the edits to whose states they lead."""
        edit = arrivals.target // self._slots
        gone: Mask = self._there[edit * self._width + self._column[arrivals.arc]]
        return gone


def _before(delta: Layers, arrivals: Arrivals, layer: int) -> Mask:
    """Which arcs start at a state that differs before some layer."""
    early: Mask = arrivals.source != OUTSIDE
    early[early] = delta[arrivals.source[early]] < layer
    return early


def _locate(rows: Ints, places: Ints) -> Ints:
    """A table with the places of what its second row names; without columns that have none."""
    there = np.flatnonzero(places != OUTSIDE)
    return np.stack((rows[0][there], places[there], *(row[there] for row in rows[2:])))


def _slots(edit: Ints, column: Ints, width: int) -> Ints:
    """Slots; `OUTSIDE` for what has no column."""
    return np.where(column == OUTSIDE, OUTSIDE, edit * width + column)


def _slots_of_added(added: Ints, columns: Ints, width: int) -> Ints:
    """Added arcs by the slots of their ends; a loop has no source but the copy itself."""
    if not added.shape[1]:
        return np.empty((5, 0), np.int64)
    edit, source, target, tie = added
    loop = source == target
    return np.stack(
        (
            edit,
            np.where(loop, OUTSIDE, source),
            edit * width + columns[target],
            tie,
            np.where(loop, OUTSIDE, _slots(edit, columns[source], width)),
        )
    )


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
        self, field: ArrivingField, changes: Changes, *, degrees: bool, ties_alike: bool
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
        # Of each layer: nodes, rows of features, and the arcs that lead to its copies.
        self._layers: list[tuple[Ints, Ints, Ints, Ints, Ints]] = []
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
        differences = self._differences(place, arrivals)
        words = self._words(nodes, features, differences, first=arrivals is None)
        chosen, copy = distinct(words[0])
        assert np.array_equal(words[1], words[1][chosen][copy]), "a hash collision of states"
        arcs = (NOTHING, NOTHING, NOTHING)
        if arrivals is not None or self._degrees:
            rank = np.full(len(slots), OUTSIDE)
            rank[chosen] = np.arange(len(chosen))
            arcs = self._arcs(nodes[chosen], differences.of(rank))
        rows = NOTHING if features is None else features[chosen]
        self._layers.append((nodes[chosen], rows, *arcs))
        place[slots] = self._total + copy
        self._number = place
        self._total += len(chosen)

    def _differences(
        self, place: Ints, arrivals: tuple[Arrivals, Arrivals | None] | None
    ) -> Differences:
        """What differs in the arcs that lead to the states at these places."""
        changes = self._changes
        state = place[changes.dropped[2]]
        there = np.flatnonzero(state != OUTSIDE)
        drops = state[there], changes.dropped[1, there]
        along = new = (NOTHING, NOTHING, NOTHING)
        if arrivals is None:
            if changes.added.shape[1]:
                state = place[changes.added[2]]
                added = np.flatnonzero(state != OUTSIDE)
                new = state[added], added, changes.added[1, added]
            return Differences(drops, along, new)
        carried, joining = arrivals
        along = place[carried.target], carried.arc, self._number[carried.source]
        if joining is not None:
            source = changes.added[1, joining.arc]
            there = np.flatnonzero(joining.source != OUTSIDE)
            copies = self._number[joining.source[there]]
            source[there] = np.where(copies == OUTSIDE, source[there], copies)
            new = place[joining.target], joining.arc, source
        return Differences(drops, along, new)

    def _words(
        self, nodes: Ints, features: Ints | None, differences: Differences, *, first: bool
    ) -> tuple[Words, Words]:
        """Two keys for each state: states are told apart by one, and checked by the other.

        Both are sums of words over everything in which a state differs from its node in the base.
        """
        drops, along, new = differences
        listed = not first or self._degrees
        numbers: tuple[Ints, Ints] | None = None
        if first and listed and self._ties_alike:
            numbers, listed = self._numbers(differences, len(nodes)), False
        # All that arcs come from are copies of the layer below.
        source = along[2] - (int(along[2].min()) if len(along[2]) else 0)
        keys = []
        for salt in (0, _SECOND):
            if features is None:
                key = word_of(nodes, 2 * (_NODE + salt))
            else:
                key = pair_word(nodes, features - OUTSIDE, _NODE + salt)
            if numbers is not None:
                key += pair_word(*numbers, _NUMBERS + salt)
            if listed and len(drops[0]):
                np.add.at(key, drops[0], word_of(drops[1], 2 * (_GONE + salt)))
            if listed and len(along[0]):
                np.add.at(key, along[0], pair_word(along[1], source, _ALONG + salt))
            if listed and len(new[0]):
                tie = self._changes.added[3, new[1]]
                np.add.at(key, new[0], pair_word(tie, new[2] - OUTSIDE, _NEW + salt))
            keys.append(key)
        return keys[0], keys[1]

    def _numbers(self, differences: Differences, count: int) -> tuple[Ints, Ints]:
        """How many arcs and how many loops lead to each state, more than to its node.

        Counted from the smallest of these numbers. Models that give every node a loop of its own do
        not count those that are there.
        """
        field, (drops, gone), (new, _, source) = self._field, differences.drops, differences.new
        arcs = -np.bincount(drops, minlength=count)
        loops = np.zeros(count, np.int64)
        if len(new):
            loop = source == OUTSIDE
            arcs += np.bincount(new[~loop], minlength=count)
            loops += np.bincount(new[loop], minlength=count)
        if field.has_loops and len(drops):
            own = field.sources[gone] == field.targets[gone]
            number = np.bincount(drops[own], minlength=count)
            arcs += number
            loops -= number
        return arcs - arcs.min(initial=0), loops - loops.min(initial=0)

    def _arcs(self, nodes: Ints, differences: Differences) -> tuple[Ints, Ints, Ints]:
        """The arcs that lead to the copies of a layer, in canonical order, copy after copy."""
        field, (drops, gone), along, new = self._field, *differences
        starts, order, position, senders = field.arriving
        begin = starts[nodes]
        lengths = starts[nodes + 1] - begin
        owner = np.repeat(np.arange(len(nodes)), lengths)
        # Where the arcs of each copy begin, less where those of its node do.
        first = np.cumsum(lengths) - lengths - begin
        listed = np.arange(len(owner)) - first[owner]
        senders = senders[listed]
        sources = senders.copy() if len(new[0]) else senders
        sources[first[along[0]] + position[along[1]]] = along[2]
        targets = owner + self._total
        loops = None
        if field.has_loops:
            loops = senders == nodes[owner]
            sources[loops] = targets[loops]
        ties = NOTHING if self._ties_alike else field.ties[order[listed]]
        if len(drops):
            keep = np.ones(len(listed), bool)
            keep[first[drops] + position[gone]] = False
            kept = np.flatnonzero(keep)
            sources, targets, senders = sources[kept], targets[kept], senders[kept]
            ties = ties if self._ties_alike else ties[kept]
            loops = None if loops is None else loops[kept]
        if not len(new[0]):
            return sources, targets, ties
        added = self._changes.added[:, new[1]]
        own = added[1] == OUTSIDE
        to = self._total + new[0]
        sender = np.concatenate((senders, np.where(own, len(field.nodes), added[1])))
        late = np.concatenate((np.zeros(len(senders), bool) if loops is None else loops, own))
        sources = np.concatenate((sources, np.where(own, to, new[2])))
        targets = np.concatenate((targets, to))
        # Two lists in order, one after the other: a stable sort by one number merges them.
        ordered = np.argsort((2 * targets + late) * (len(field.nodes) + 1) + sender, kind="stable")
        if not self._ties_alike:
            ties = np.concatenate((ties, added[3]))[ordered]
        return sources[ordered], targets[ordered], ties

    def query(self) -> SharedQuery:
        """The base and all copies as one graph."""
        field = self._field
        copies, features, sources, targets, ties = map(
            np.concatenate, zip(*self._layers, strict=True)
        )
        nodes = np.concatenate((field.nodes, field.nodes[copies]))
        replaced = np.empty((2, 0), np.int64)
        if self._features is not None:
            changed = np.flatnonzero(features != OUTSIDE)
            replaced = np.stack((len(field.nodes) + changed, features[changed]))
        rows = self._changes.asked[0].copy()
        maybe = np.flatnonzero(self._changes.asked[1] != OUTSIDE)
        copy = self._number[self._changes.asked[1, maybe]]
        rows[maybe] = np.where(copy == OUTSIDE, rows[maybe], copy)
        union = single_graph(
            nodes,
            np.concatenate((field.sources, sources)),
            np.concatenate((field.targets, targets)),
            NOTHING if self._ties_alike else np.concatenate((field.ties, ties)),
        )
        return SharedQuery(union, rows, replaced)
