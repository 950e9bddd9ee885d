"""State sharing among many small graphs: equal states of their nodes are asked about once.

The states and words are those of `state_sharing`, which does the same for edits of one graph.
"""

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.graph import Ints, Kinds
from recourse_audit.model.queries import Union, single_graph
from recourse_audit.model.state_sharing import NOTHING, SECOND, Counted, Mask, distinct, word_of

# The salt of these words; the others belong to edits.
_UNION = 32


def share_union(
    union: Union,
    rows: Ints,
    depth: int,
    counted: Counted,
    *,
    ties_alike: bool,
    kinds: Kinds | None = None,
) -> tuple[Union, Ints]:
    """A single graph in which some nodes of a union have their answers, and where.

    Several of `rows`, which are positions in the union, may share a position in the result. The
    depth is at least 1. `counted` are the rows about ties in the degree form. With `ties_alike`,
    the model is told nothing about ties but their ends.
    """
    own = union.sources == union.targets
    sharing = _UnionStates(union, own if bool(own.any()) else None, ties_alike=ties_alike)
    for layer, mask in enumerate(sharing.list_needed(rows, depth)):
        arcs = np.flatnonzero(mask[union.targets]) if layer or counted is not False else NOTHING
        if layer == 0 and not isinstance(counted, bool):
            arcs = arcs[counted[union.ties[arcs]]]
        sharing.add_layer(mask, arcs)
    sources, targets, ties = (np.concatenate(column) for column in zip(*sharing.arcs, strict=True))
    nodes = union.nodes[np.concatenate(sharing.examples)]
    if kinds is not None and kinds.relations:
        # Arcs of layer 0, whose senders do not matter, must still come from the right kind: one
        # node of each kind that sends any joins the query.
        number = len(sharing.senders)
        listed = np.flatnonzero(sources[:number] != targets[:number])
        senders = union.nodes[sharing.senders[listed]]
        each, place = np.unique(kinds.of(senders), return_inverse=True)
        example = np.zeros(len(each), np.int64)
        example[place] = senders
        sources[listed] = len(nodes) + place
        nodes = np.append(nodes, example)
    return single_graph(nodes, sources, targets, ties), sharing.number[rows]


class _UnionStates:
    """The distinct states of small graphs, layer by layer, and the arcs that lead to them.

    `examples` has a node of the union for each state; `number` says who has which; `senders` are
    those of the arcs of layer 0.
    """

    def __init__(self, union: Union, loops: Mask | None, *, ties_alike: bool) -> None:
        self._union = union
        self._loops = loops
        self._ties_alike = ties_alike
        self._first = self._total = 0
        self.number = NOTHING
        self.senders: NDArray[np.integer] = NOTHING
        self.examples: list[Ints] = []
        self.arcs: list[tuple[Ints, Ints, Ints]] = []

    def list_needed(self, rows: Ints, depth: int) -> list[Mask]:
        """Whose states matter, for each layer from 0 to the depth."""
        mask: Mask = np.zeros(len(self._union.nodes), bool)
        mask[rows] = True
        masks = [mask]
        for _ in range(depth):
            sending = masks[-1][self._union.targets]
            if self._loops is not None:
                sending &= ~self._loops
            below: Mask = np.zeros(len(mask), bool)
            below[self._union.sources[np.flatnonzero(sending)]] = True
            masks.append(below)
        return masks[::-1]

    def add_layer(self, mask: Mask, arcs: Ints) -> None:
        """Number the states of the next layer, to which these arcs lead."""
        union, lowest = self._union, not self.examples
        slots = np.flatnonzero(mask)
        place = np.empty(len(mask), np.int64)
        place[slots] = np.arange(len(slots))
        sources, targets = union.sources[arcs], union.targets[arcs]
        loops = None if self._loops is None else self._loops[arcs]
        if lowest and self._ties_alike:
            checked: NDArray[np.integer] = _by_degree(union.nodes[slots], place[targets], loops)
            key = word_of(checked, _UNION)
        else:
            # Senders of layer 0 do not matter, and a loop is the state's own.
            sender = np.ones(len(arcs), np.int64)
            if not lowest:
                sender = self.number[sources] - (self._first - 1)
            if loops is not None:
                sender[loops] = 0
            keys = []
            for salt in (_UNION, _UNION + SECOND):
                word = word_of(sender, salt)
                if not self._ties_alike:
                    word *= word_of(union.ties[arcs], salt + 1)
                keys.append(word_of(union.nodes[slots], salt + 2))
                np.add.at(keys[-1], place[targets], word)
            key, checked = keys
        chosen, copy = distinct(key)
        assert np.array_equal(checked, checked[chosen][copy]), "a hash collision of states"
        place[slots] = self._total + copy
        example: Mask = np.zeros(len(mask), bool)
        example[slots[chosen]] = True
        listed = np.flatnonzero(example[targets])
        to = place[targets[listed]]
        # At layer 0 only the number of arcs matters: they come from the next node of the query.
        if lowest:
            self.senders = sources[listed]
        senders = to + 1 if lowest else self.number[sources[listed]]
        if loops is not None:
            senders = np.where(loops[listed], to, senders)
        ties: Ints = np.zeros(len(listed), np.int64)
        if len(union.ties):
            ties[:] = union.ties[arcs[listed]]
        self.arcs.append((senders, to, ties))
        self.examples.append(slots[chosen])
        self._first, self.number = self._total, place
        self._total += len(chosen)


def _by_degree(nodes: Ints, place: Ints, loops: Mask | None) -> Ints:
    """Keys of layer 0 where all ties are alike: nodes, by how many ties and loops they have."""
    key = nodes
    for ends in (place,) if loops is None else (place[~loops], place[loops]):
        number = np.bincount(ends, minlength=len(nodes))
        key = key * (int(number.max(initial=0)) + 1) + number
    return key
