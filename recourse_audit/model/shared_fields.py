"""Shared receptive fields: one question that holds a base graph once, and every edit of it.

A copy of a node may receive messages and send none into the base. So an edit adds to the question
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

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.arrays import Ints
from recourse_audit.graph.neighbourhoods import OUTSIDE, spans
from recourse_audit.model.base_fields import BaseField
from recourse_audit.model.edits import Edits
from recourse_audit.model.queries import Union
from recourse_audit.model.state_copies import Arrivals, Changes, Copies, Mask, SharedQuestion

Form = Literal["plain", "degree"]
Layers = NDArray[np.int8]


class SharedFields:
    """Writes questions about edits of one field.

    Parameters
    ----------
    form
        Which states an edit changes; see the module.
    ties_alike
        Whether the model is told nothing about ties but their ends.
    """

    def __init__(self, field: BaseField, form: Form, *, ties_alike: bool) -> None:
        self.field = field
        self._degrees = form == "degree"
        self._ties_alike = ties_alike

    def question(self, edits: Edits) -> SharedQuestion:
        """One question for all edits."""
        changes = self._changes(edits)
        delta, arrivals = self._forward(changes)
        needed, arrivals = self._backward(delta, changes, arrivals)
        copies = Copies(self.field, changes, degrees=self._degrees, ties_alike=self._ties_alike)
        for states, arriving in zip(needed, [None, *arrivals], strict=True):
            copies.add_layer(states, arriving)
        return copies.question()

    def single(self, edits: Edits) -> SharedQuestion:
        """The question for one edit that adds no arc: the field itself with the edit made."""
        field = self.field
        gone = field.arc_place(edits.dropped[1])
        keep = np.ones(len(field.arcs), bool)
        keep[gone[gone != OUTSIDE]] = False
        kept = np.flatnonzero(keep)
        place = field.place(edits.replaced[1])
        there = place != OUTSIDE
        return SharedQuestion(
            union=Union(
                nodes=field.nodes,
                node_starts=np.array([0, len(field.nodes)]),
                sources=field.sources[kept],
                targets=field.targets[kept],
                ties=field.ties[kept],
                arc_starts=np.array([0, len(kept)]),
            ),
            rows=field.place(edits.asked[1]),
            replaced=np.stack((place[there], edits.replaced[2, there])),
        )

    def _changes(self, edits: Edits) -> Changes:
        """What of the edits matters: all that can reach somebody asked about."""
        field = self.field
        dropped = _placed(edits.dropped, field.arc_place(edits.dropped[1]))
        replaced = _placed(edits.replaced, field.place(edits.replaced[1]))
        added = self._added(edits.added)
        ends = field.targets[dropped[1]]
        touched = self._touched(replaced[1], np.append(ends, added[2]), added)
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
            added=_added_slots(added, columns, width),
            replaced=np.stack((replaced[0] * width + columns[replaced[1]], replaced[2])),
            asked=np.stack((asked, _slots(edits.asked[0], columns[asked], width))),
        )

    def _added(self, added: Ints) -> Ints:
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

    def _touched(self, replaced: Ints, ends: Ints, added: Ints) -> Mask:
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
            along = Arrivals(source=source[owner], target=target, arc=arcs)
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
        return Arrivals(source=changes.added[4, near], target=to[near], arc=near)

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
            along = along.chosen(needed[layer][along.target])
            if gone is not None:
                along = along.chosen(~gone.hold(along))
            needed[layer - 1][along.source] = True
            if new is not None:
                new = new.chosen(needed[layer][new.target])
                needed[layer - 1][new.source[_before(delta, new, layer)]] = True
            kept.append((along, new))
        return needed, kept[::-1]


class _Dropped:
    """Tells which edits drop which arcs."""

    def __init__(self, changes: Changes, arcs: int) -> None:
        edit, dropped, _ = changes.dropped
        there: Mask = np.zeros(arcs, bool)
        there[dropped] = True
        some = np.flatnonzero(there)
        self._column = np.zeros(arcs, np.int64)  # the first column is of arcs that nobody drops
        self._column[some] = np.arange(1, len(some) + 1)
        self._width = len(some) + 1
        self._slots = len(changes.nodes)
        self._there: Mask = np.zeros(changes.count * self._width, bool)
        self._there[edit * self._width + self._column[dropped]] = True

    def hold(self, arrivals: Arrivals) -> Mask:
        """Which arcs are dropped by the edits to whose states they lead."""
        edit = arrivals.target // self._slots
        found: Mask = self._there[edit * self._width + self._column[arrivals.arc]]
        return found


def _before(delta: Layers, arrivals: Arrivals, layer: int) -> Mask:
    """Which arcs start at a state that differs before some layer."""
    found: Mask = arrivals.source != OUTSIDE
    found[found] = delta[arrivals.source[found]] < layer
    return found


def _placed(rows: Ints, places: Ints) -> Ints:
    """A table with the places of what its second row names; without columns that have none."""
    there = np.flatnonzero(places != OUTSIDE)
    return np.stack((rows[0][there], places[there], *(row[there] for row in rows[2:])))


def _slots(edit: Ints, column: Ints, width: int) -> Ints:
    """Slots; `OUTSIDE` for what has no column."""
    return np.where(column == OUTSIDE, OUTSIDE, edit * width + column)


def _added_slots(added: Ints, columns: Ints, width: int) -> Ints:
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
