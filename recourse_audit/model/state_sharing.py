"""State sharing: in one query, equal states of nodes are asked about once.

What a node answers depends on the nodes within the model's depth L, so whatever looks the same from
a node shares that node's state. A copy of a node may receive messages and send none. Layer by
layer, this finds which states differ, for many edits of one graph (`share_states`) as
`shared_unions` does for many small graphs. For edits, the base graph goes into the query once:

- A node's state can differ from layer `delta` on: 0 where its features are replaced; 1 where an arc
  that leads to it is dropped or added, or 0 in the *degree* form, for models in which a sender's
  own number of arcs weighs its message; and at most one more along every arc.
- state(v, m), right up to layer m, is the base node if delta(v) > m. Otherwise it is a copy with
  v's features and, in canonical order, an arc from state(u, m - 1) for every arc u -> v of the
  edited graph; a loop is the copy's own. At m = 0 only features matter and, in the degree form,
  how many arcs arrive.
- The answer of a node is that of state(v, L).

States are told apart by words: a set of pairs of numbers is known by the sum of their words. A
number's word is looked up digit by digit in tables of random words (tabulation hashing), and the
word of a pair is the product of two. So a sum of words is a multilinear hash: that two sets which
differ have the same 64-bit sum is a hash collision, which a second sum, with other tables, detects.
Everything is done for all graphs or edits at once, with arrays.
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.graph import Ints
from recourse_audit.graph.neighbourhoods import OUTSIDE, places_in, spans
from recourse_audit.model.edits import ArrivingField, Edits
from recourse_audit.model.queries import Union, single_graph

# For several kinds of nodes, the numbers of the relations in the degree form; others are plain.
Form = Literal["plain", "degree"] | tuple[int, ...]
Mask = NDArray[np.bool_]
Words = NDArray[np.uint64]
# Which rows about ties are counted, in the degree form: all of them, none, or those marked.
Counted = Mask | bool
Layers = NDArray[np.int8]

NOTHING = np.empty(0, np.int64)
# Salts of words: nodes, numbers of arcs, dropped arcs, arcs from other sources. The second of two
# independent words adds SECOND.
_NODE, _NUMBERS, _GONE, _ALONG, SECOND = 0, 1, 2, 3, 8
_BITS = 14
_MASK = (1 << _BITS) - 1
ODD = 0x9E3779B97F4A7C15


def mix(words: Words) -> Words:
    """The finaliser of SplitMix64."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def word_of(numbers: NDArray[np.integer], salt: int) -> Words:
    """The words of some numbers, none of them negative; another salt gives other words."""
    largest, digit = int(numbers.max(initial=0)), 1
    words: Words = _table(salt, 0)[numbers if largest <= _MASK else numbers & _MASK]
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
    """Random words, always the same."""
    first = (64 * salt + digit + 1) * ODD % 2**64
    words = mix(mix(np.arange(_MASK + 1, dtype=np.uint64) + np.uint64(first)))
    if digit:
        words[0] = 0  # leading zeros change nothing
    return words


class SharedQuery(NamedTuple):
    """One graph, base first and copies after it; where to read the answers that are asked for.

    `replaced` has the places of copies with other features, and their rows of the edits' features.
    """

    union: Union
    rows: Ints
    replaced: Ints


def share_states(
    field: ArrivingField, edits: Edits, counted: Counted, *, ties_alike: bool
) -> SharedQuery:
    """One query for all edits of a field; `counted` and `ties_alike` as for `share_union`."""
    changes = _locate_changes(field, edits, counted)
    copies = _Copies(field, changes, counted, ties_alike=ties_alike)
    for needed, arrivals in _list_needed(field, changes):
        copies.add_layer(needed, arrivals)
    return copies.query()


def count_rows(counted: Counted, rows: NDArray[np.integer]) -> Mask:
    """Mark the rows about ties whose number weighs the messages of whoever they lead to."""
    if isinstance(counted, bool):
        return np.full(len(rows), counted)
    return np.asarray(counted[rows])


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Edits in terms of a field.

    `nodes` are the places of all nodes that some edit can change; a column is a place among them.
    A slot is an edit and a column: edit x number of columns + column.

    Each array has one column per change. `dropped` has the edit, the arc's place and the target's
    slot. `added` has the edit, the source's place (`OUTSIDE` for a loop, whose source is the copy
    itself), the target's slot, the row of the tie, and the source's slot if it has one; as arcs,
    these are numbered after those of the field. `replaced` has slots and rows of features; `asked`
    has places and slots, `OUTSIDE` if there is none. `weighed` are the slots of targets whose
    number of arcs changes, in the degree form.
    """

    count: int
    nodes: Ints
    columns: Ints
    dropped: Ints
    added: Ints
    replaced: Ints
    asked: Ints
    weighed: Ints


class Arrivals(NamedTuple):
    """Arcs to changed states: slots of source and target; `OUTSIDE` for an unchanged source."""

    source: Ints
    target: Ints
    arc: Ints

    def select(self, mask: Mask) -> "Arrivals":
        # numpy takes places faster than it reads a mask three times.
        places = np.flatnonzero(mask)
        if len(places) == len(mask):
            return self
        return Arrivals(*(row[places] for row in self))


def _locate_changes(field: ArrivingField, edits: Edits, counted: Counted) -> Changes:
    """What of the edits matters: all that can reach somebody asked about."""

    def locate(rows: Ints, places: Ints) -> Ints:
        there = np.flatnonzero(places != OUTSIDE)
        return np.stack((rows[0][there], places[there], *(row[there] for row in rows[2:])))

    def slots(edit: Ints, column: Ints) -> Ints:
        return np.where(column == OUTSIDE, OUTSIDE, edit * len(nodes) + column)

    dropped = locate(edits.dropped, places_in(field.arcs, edits.dropped[1]))
    replaced = locate(edits.replaced, field.place(edits.replaced[1]))
    added = edits.added.copy()
    if added.shape[1]:
        added[1:3] = field.place(added[1]), field.place(added[2])
        added = added[:, (added[1:3] != OUTSIDE).all(axis=0)]
        added = added[:, field.distance[added[2]] <= field.depth - int(counted is False)]
    ends = field.targets[dropped[1]]
    gone, new = count_rows(counted, field.ties[dropped[1]]), count_rows(counted, added[3])
    weighed = np.append(ends[gone], added[2, new])
    touched = _find_touched(field, replaced[1], np.append(ends, added[2]), weighed, added)
    nodes = np.flatnonzero(touched)
    columns = np.full(len(field.nodes), OUTSIDE)
    columns[nodes] = np.arange(len(nodes))
    edit, source, target, tie = added
    loop = source == target
    from_slot = np.where(loop, OUTSIDE, slots(edit, columns[source]))
    asked = field.place(edits.asked[1])
    to, dropped_to = slots(edit, columns[target]), slots(dropped[0], columns[ends])
    return Changes(
        count=edits.count,
        nodes=nodes,
        columns=columns,
        dropped=np.stack((dropped[0], dropped[1], dropped_to)),
        added=np.stack((edit, np.where(loop, OUTSIDE, source), to, tie, from_slot)),
        replaced=np.stack((slots(replaced[0], columns[replaced[1]]), replaced[2])),
        asked=np.stack((asked, slots(edits.asked[0], columns[asked]))),
        weighed=np.append(dropped_to[gone], to[new]),
    )


def _find_touched(
    field: ArrivingField, replaced: Ints, ends: Ints, weighed: Ints, added: Ints
) -> Mask:
    """The nodes whose states some edit may change, at a layer that somebody's answer needs."""
    touched: Mask = np.zeros(len(field.nodes), bool)
    touched[replaced] = True
    touched[weighed] = True
    for layer, (starts, order) in enumerate(field.leaving, start=1):
        arcs, _ = spans(starts, np.flatnonzero(touched))
        along = touched[added[1]] & (field.distance[added[2]] <= field.depth - layer)
        touched[field.targets[order[arcs]]] = True
        touched[added[2, along]] = True
        if layer == 1:
            touched[ends] = True
    return touched


def _spread(field: ArrivingField, changes: Changes) -> tuple[Layers, list[Arrivals]]:
    """From which layer on each state differs, and for each layer the arcs that carry it."""
    width, to = len(changes.nodes), changes.added[2]
    delta = np.full(changes.count * width, field.depth + 1, np.int8)
    own = np.append(changes.dropped[2], to)
    delta[changes.weighed] = 0
    delta[changes.replaced[0]] = 0
    arrivals = []
    for layer, (starts, order) in enumerate(field.leaving, start=1):
        source = np.flatnonzero(delta < layer)
        row = source // max(width, 1) * width
        arcs, owner = spans(starts, changes.nodes[source - row])
        arcs = order[arcs]
        along = Arrivals(source[owner], row[owner] + changes.columns[field.targets[arcs]], arcs)
        reached = along.target
        if len(to):
            near = np.flatnonzero(field.distance[changes.nodes[to % width]] <= field.depth - layer)
            slot = changes.added[4, near]
            slot = np.where((slot != OUTSIDE) & (delta[slot] < layer), slot, OUTSIDE)
            new = (slot, to[near], len(field.arcs) + near)
            along = Arrivals(*map(np.concatenate, zip(along, new, strict=True)))
            reached = along.target[along.source != OUTSIDE]
        for slots in (reached, own) if layer == 1 else (reached,):
            delta[slots[delta[slots] > layer]] = layer
        arrivals.append(along)
    return delta, arrivals


def _list_needed(field: ArrivingField, changes: Changes) -> list[tuple[Mask, Arrivals | None]]:
    """The copies that somebody's answer needs, by layer, and the arcs to them, if not layer 0."""
    delta, arrivals = _spread(field, changes)
    needed: Mask = np.zeros(len(delta), bool)
    asked = changes.asked[1]
    asked = asked[asked != OUTSIDE]
    needed[asked] = delta[asked] <= field.depth
    # Which edit drops which arc; the first column is of arcs that nobody drops.
    edit, dropped, _ = changes.dropped
    column = np.zeros(len(field.arcs) + changes.added.shape[1], np.int64)
    column[dropped] = 1
    places = np.flatnonzero(column)
    column[places] = np.arange(1, len(places) + 1)
    gone: Mask = np.zeros((changes.count, len(places) + 1), bool)
    gone[edit, column[dropped]] = True
    layers: list[tuple[Mask, Arrivals | None]] = []
    for every in reversed(arrivals):
        along = every.select(needed[every.target])
        if len(places):
            along = along.select(~gone[along.target // len(changes.nodes), column[along.arc]])
        layers.append((needed, along))
        below: Mask = np.zeros(len(delta) + 1, bool)
        below[along.source] = True  # the last one is for `OUTSIDE`
        needed = below[:-1]
    return [(needed, None), *layers[::-1]]


class Differences(NamedTuple):
    """In what states differ from their nodes in the base.

    `drops`: states, and the arcs that are gone. `along`: states, arcs whose source is another node
    of the query or that are added, and their sources (`OUTSIDE` for an added loop).
    """

    drops: tuple[Ints, ...]
    along: tuple[Ints, ...]

    def of(self, rank: Ints) -> "Differences":
        """The same for the states that have a rank, by it."""
        lists = []
        for state, *rows in self:
            there = np.flatnonzero(rank[state] != OUTSIDE)
            lists.append((rank[state[there]], *(row[there] for row in rows)))
        return Differences(*lists)


class _Copies:
    """Numbers the copies that edits need, and lists the arcs that lead to them.

    Copies are numbered from the lowest layer up, and two copies are one if they have the same node,
    features, layer and arriving arcs. Copies of layer 0 need those of these arcs that are
    `counted`; with `ties_alike`, only their number matters.
    """

    def __init__(
        self, field: ArrivingField, changes: Changes, counted: Counted, *, ties_alike: bool
    ) -> None:
        self._field = field
        self._changes = changes
        self._counted = counted
        self._degrees = counted is not False
        self._ties_alike = ties_alike
        self._slots = changes.count * len(changes.nodes)
        self._features: Ints | None = None
        if changes.replaced.shape[1]:
            self._features = np.full(self._slots, OUTSIDE)
            self._features[changes.replaced[0]] = changes.replaced[1]
        # Of each layer: nodes, rows of features, and the arcs that lead to its copies.
        self._layers: list[tuple[Ints, ...]] = []
        self._total = len(field.nodes)
        self._number = NOTHING

    def add_layer(self, needed: Mask, arrivals: Arrivals | None) -> None:
        """Make the copies of the next layer, equal ones once; `needed` marks slots of states."""
        slots = np.flatnonzero(needed)
        place = np.full(self._slots + 1, OUTSIDE)  # the last one is that of `OUTSIDE`
        place[slots] = np.arange(len(slots))
        width = max(len(self._changes.nodes), 1)
        nodes = self._changes.nodes[slots - slots // width * width]
        features = None if self._features is None else self._features[slots]
        differences = self._differences(place, arrivals)
        key, checked = self._words(nodes, features, differences, lowest=arrivals is None)
        chosen, copy = distinct(key)
        assert np.array_equal(checked, checked[chosen][copy]), "a hash collision of states"
        arcs: tuple[Ints, ...] = (NOTHING, NOTHING, NOTHING)
        if arrivals is not None or self._degrees:
            rank = np.full(len(slots), OUTSIDE)
            rank[chosen] = np.arange(len(chosen))
            arcs = self._arcs(nodes[chosen], differences.of(rank))
            if arrivals is None and not isinstance(self._counted, bool):
                keep = self._counted[arcs[2]]
                arcs = tuple(row[keep] for row in arcs)
        rows = NOTHING if features is None else features[chosen]
        self._layers.append((nodes[chosen], rows, *arcs))
        place[slots] = self._total + copy
        self._number = place
        self._total += len(chosen)

    def _differences(self, place: Ints, arrivals: Arrivals | None) -> Differences:
        """What differs in the arcs that lead to the states at these places."""
        added, arcs = self._changes.added, len(self._field.arcs)
        state, gone = place[self._changes.dropped[2]], self._changes.dropped[1]
        there = state != OUTSIDE
        if arrivals is None:
            there &= count_rows(self._counted, self._field.ties[gone])
        drops = state[there], gone[there]
        if arrivals is None:
            state = place[added[2]]
            there = np.flatnonzero((state != OUTSIDE) & count_rows(self._counted, added[3]))
            return Differences(drops, (state[there], arcs + there, added[1, there]))
        source = self._number[arrivals.source]
        if added.shape[1]:
            base = np.flatnonzero(source == OUTSIDE)
            source[base] = added[1, arrivals.arc[base] - arcs]
        return Differences(drops, (place[arrivals.target], arrivals.arc, source))

    def _words(
        self, nodes: Ints, features: Ints | None, differences: Differences, *, lowest: bool
    ) -> tuple[Words, Words]:
        """Two independent sums of words over all in which a state differs from its node."""
        (drops, gone), (along, arc, source) = differences
        listed = not lowest or self._degrees
        numbers: tuple[Ints, Ints] | None = None
        if lowest and not isinstance(self._counted, bool):
            return self._count_words(nodes, features, differences)
        if lowest and listed and self._ties_alike:
            numbers, listed = self._numbers(differences, len(nodes)), False
        if self._changes.added.shape[1]:  # added arcs are alike if their ties are
            first, arc = len(self._field.arcs), arc.copy()
            new = arc >= first
            arc[new] = first + self._changes.added[3, arc[new] - first]
        source = source - (int(source.min()) if len(source) else 0)  # small numbers are faster
        keys = []
        for salt in (0, SECOND):
            if features is None:
                key = word_of(nodes, 2 * (_NODE + salt))
            else:
                key = pair_word(nodes, features - OUTSIDE, _NODE + salt)
            if numbers is not None:
                key += pair_word(*numbers, _NUMBERS + salt)
            if listed and len(drops):
                np.add.at(key, drops, word_of(gone, 2 * (_GONE + salt)))
            if listed and len(along):
                np.add.at(key, along, pair_word(arc, source, _ALONG + salt))
            keys.append(key)
        return keys[0], keys[1]

    def _count_words(
        self, nodes: Ints, features: Ints | None, differences: Differences
    ) -> tuple[Words, Words]:
        """The same for layer 0, where only the numbers of arcs and loops by relation matter."""
        (drops, gone), (along, arc, source) = differences
        field, features = self._field, np.zeros_like(nodes) if features is None else features
        loop = field.sources[gone] == field.targets[gone]
        fewer = 2 * field.ties[gone] + loop
        more = 2 * self._changes.added[3, arc - len(field.arcs)] + (source == OUTSIDE)
        keys = []
        for salt in (0, SECOND):
            key = pair_word(nodes, features - OUTSIDE, _NODE + salt)
            np.add.at(key, along, word_of(more, 2 * (_NUMBERS + salt)))
            np.subtract.at(key, drops, word_of(fewer, 2 * (_NUMBERS + salt)))
            keys.append(key)
        return keys[0], keys[1]

    def _numbers(self, differences: Differences, count: int) -> tuple[Ints, Ints]:
        """How many arcs and loops lead to states of layer 0, more than to nodes; the least is 0.

        Models that give every node a loop of its own do not count those that are there.
        """
        field, (drops, gone), (new, _, source) = self._field, *differences
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
        field, (drops, gone), (state, arc, source) = self._field, *differences
        joining = np.flatnonzero(arc >= len(field.arcs))
        starts, order, position, senders = field.arriving
        begin = starts[nodes]
        lengths = starts[nodes + 1] - begin
        owner = np.repeat(np.arange(len(nodes)), lengths)
        # Where the arcs of each copy begin, less where those of its node do.
        first = np.cumsum(lengths) - lengths - begin
        listed = np.arange(len(owner)) - first[owner]
        senders = senders[listed]
        sources = senders
        if len(joining):
            sources = senders.copy()
            new = state[joining], arc[joining] - len(field.arcs), source[joining]
            state, arc, source = (np.delete(row, joining) for row in (state, arc, source))
        sources[first[state] + position[arc]] = source
        targets = owner + self._total
        loops: Mask | None = None
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
        if not len(joining):
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
        changed = np.flatnonzero(features != OUTSIDE)
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
        return SharedQuery(union, rows, np.stack((len(field.nodes) + changed, features[changed])))
