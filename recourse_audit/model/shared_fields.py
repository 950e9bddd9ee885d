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
one row per edit and one column per node that some edit can change.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.arrays import Ints
from recourse_audit.graph.neighbourhoods import OUTSIDE, spans
from recourse_audit.model.base_fields import BaseField
from recourse_audit.model.edits import Edits
from recourse_audit.model.state_copies import (
    Arrivals,
    Changes,
    Copies,
    Mask,
    SharedQuestion,
)

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
        delta, arrivals = self._forward(edits.count, changes)
        needed, arrivals = self._backward(delta, changes, arrivals)
        copies = Copies(
            self.field,
            changes,
            edits.count,
            degrees=self._degrees,
            ties_alike=self._ties_alike,
        )
        for states, arriving in zip(needed, [None, *arrivals], strict=True):
            copies.add_layer(states, arriving)
        return copies.question()

    def _changes(self, edits: Edits) -> Changes:
        """What of the edits matters: all that can reach somebody asked about."""
        field = self.field
        dropped = _placed(edits.dropped, {1: field.arc_place})
        replaced = _placed(edits.replaced, {1: field.place})
        added = _placed(edits.added, {1: field.place, 2: field.place})
        inner = field.depth - int(not self._degrees)
        added = added[:, field.distance[added[2]] <= inner]
        ends = np.concatenate((field.targets[dropped[1]], added[2]))
        nodes = np.flatnonzero(self._touched(replaced[1], ends, added))
        columns = np.full(len(field.nodes), OUTSIDE)
        columns[nodes] = np.arange(len(nodes))
        added[1] = np.where(added[1] == added[2], OUTSIDE, added[1])
        added[2], replaced[1] = columns[added[2]], columns[replaced[1]]
        return Changes(
            nodes=nodes,
            columns=columns,
            dropped=dropped,
            added=added,
            replaced=replaced,
            asked=_placed(edits.asked, {1: field.place}),
        )

    def _touched(self, replaced: Ints, ends: Ints, added: Ints) -> Mask:
        """The nodes whose states some edit may change, at a layer that somebody's answer needs."""
        field = self.field
        touched: Mask = np.zeros(len(field.nodes), bool)
        touched[replaced] = True
        if self._degrees:
            touched[ends] = True
        for layer, (starts, order) in enumerate(field.leaving, start=1):
            arcs, _ = spans(starts, np.flatnonzero(touched))
            along = touched[added[1]] & (field.distance[added[2]] <= field.depth - layer)
            touched[field.targets[order[arcs]]] = True
            touched[added[2, along]] = True
            if layer == 1:
                touched[ends] = True
        return touched

    def _forward(
        self, count: int, changes: Changes
    ) -> tuple[Layers, list[tuple[Arrivals, Arrivals]]]:
        """From which layer on each state differs, and for each layer the arcs that carry it."""
        field, columns = self.field, changes.columns
        delta = np.full((count, len(changes.nodes)), field.depth + 1, np.int8)
        ends = (changes.dropped[0], columns[field.targets[changes.dropped[1]]])
        own = np.concatenate((np.stack(ends), changes.added[[0, 2]]), axis=1)
        if self._degrees:
            delta[own[0], own[1]] = 0
        delta[changes.replaced[0], changes.replaced[1]] = 0
        added = Arrivals(
            edit=changes.added[0],
            source=np.where(changes.added[1] == OUTSIDE, OUTSIDE, columns[changes.added[1]]),
            target=changes.added[2],
            arc=np.arange(changes.added.shape[1]),
        )
        arrivals = []
        for layer, (starts, order) in enumerate(field.leaving, start=1):
            edit, source = np.nonzero(delta < layer)
            arcs, owner = spans(starts, changes.nodes[source])
            arcs = order[arcs]
            target = columns[field.targets[arcs]]
            along = Arrivals(edit=edit[owner], source=source[owner], target=target, arc=arcs)
            near = field.distance[changes.nodes[added.target]] <= field.depth - layer
            new = added.chosen(near)
            carried = new.chosen(_before(delta, new, layer))
            reached = np.zeros(delta.shape, bool)
            reached[along.edit, along.target] = True
            reached[carried.edit, carried.target] = True
            if layer == 1:
                reached[own[0], own[1]] = True
            np.minimum(delta, layer, out=delta, where=reached)
            arrivals.append((along, new))
        return delta, arrivals

    def _backward(
        self, delta: Layers, changes: Changes, arrivals: list[tuple[Arrivals, Arrivals]]
    ) -> tuple[list[Mask], list[tuple[Arrivals, Arrivals]]]:
        """Which copies somebody's answer needs, layer by layer, and the arcs that lead to them."""
        depth = self.field.depth
        needed = [np.zeros(delta.shape, bool) for _ in range(depth + 1)]
        edit, asked = changes.asked[0], changes.columns[changes.asked[1]]
        edit, asked = edit[asked != OUTSIDE], asked[asked != OUTSIDE]
        needed[depth][edit, asked] = delta[edit, asked] <= depth
        gone = _Dropped(changes.dropped, len(delta), len(self.field.arcs))
        kept: list[tuple[Arrivals, Arrivals]] = []
        for layer in range(depth, 0, -1):
            along, new = arrivals[layer - 1]
            wanted = needed[layer][along.edit, along.target]
            along = along.chosen(wanted & ~gone.hold(along.edit, along.arc))
            new = new.chosen(needed[layer][new.edit, new.target])
            carried = new.chosen(_before(delta, new, layer))
            needed[layer - 1][along.edit, along.source] = True
            needed[layer - 1][carried.edit, carried.source] = True
            kept.append((along, new))
        return needed, kept[::-1]


class _Dropped:
    """Tells which edits drop which arcs."""

    def __init__(self, dropped: Ints, count: int, arcs: int) -> None:
        some, place = np.unique(dropped[1], return_inverse=True)
        self._column = np.full(arcs, len(some))  # a column of arcs that nobody drops
        self._column[some] = np.arange(len(some))
        self._there: Mask = np.zeros((count, len(some) + 1), bool)
        self._there[dropped[0], place] = True

    def hold(self, edit: Ints, arc: Ints) -> Mask:
        found: Mask = self._there[edit, self._column[arc]]
        return found


def _before(delta: Layers, arrivals: Arrivals, layer: int) -> Mask:
    """Which arcs start at a state that differs before some layer."""
    found: Mask = arrivals.source != OUTSIDE
    found[found] = delta[arrivals.edit[found], arrivals.source[found]] < layer
    return found


def _placed(rows: Ints, places: dict[int, Callable[[Ints], Ints]]) -> Ints:
    """A table with the places of what some of its rows name; without columns that have none."""
    placed = rows.copy()
    for row, place in places.items():
        placed[row] = place(rows[row])
    return placed[:, (placed[list(places)] != OUTSIDE).all(axis=0)]
