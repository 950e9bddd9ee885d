"""The door of a model that is told of several kinds of nodes.

Everything before it works with one numbering of all nodes. Here a query is taken apart by kind and
by relation, and the rows asked about are found again in the answer.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import ModelError
from recourse_audit.graph.graph import Ints, Kinds
from recourse_audit.model.queries import Query, pad
from recourse_audit.model.roles import InputPort, Signature, fixed_value
from recourse_audit.records.model import Direction
from recourse_audit.settings import ModelSettings


class Split(NamedTuple):
    """A query taken apart: its nodes by kind, and its arcs by channel.

    `kind` is that of each node; `members[k]` are the nodes of kind k as positions in the query, and
    `place` says where each node is among them; `arcs[c]` are the arcs of channel c.
    """

    query: Query
    kind: NDArray[np.int16]
    members: list[Ints]
    place: Ints
    arcs: list[Ints]


PADDING = 2


class SplitFeeder:
    """Fills the inputs of a model that is told of several kinds of nodes.

    Its inputs take the nodes of one kind and the arcs of one relation in one direction, numbered
    within their kinds; or it is homogenised, and takes all nodes with their features side by side
    from the first column on, and all arcs that have a type. Arcs that no input takes are left out.

    With `pads`, every kind gets isolated nodes and every relation an arc between each two of them:
    for exports that cannot do without.
    """

    splits = True
    node_room: int | None = None
    arc_room: int | None = None

    def __init__(self, signature: Signature, settings: ModelSettings, kinds: Kinds) -> None:
        self.pads = False
        self._path = settings.path
        self._kinds = kinds
        self._ports = [(port, np.dtype(port.dtype)) for port in signature.inputs if port.role]
        self._constants = settings.constants
        edges = signature.port("edges")
        self.joined = edges is not None and not edges.of
        self.weighs_ties = signature.port("edge_weight") is not None
        self._names = [relation.name for relation in kinds.relations]
        # The code of each channel in a homogenised model; -1 for arcs that it does not take.
        self.codes = channel_codes(kinds, settings.edge_types)
        self._widest = max(last - first for first, last in kinds.blocks)
        types = settings.node_types or tuple(kinds.names)
        self._node_codes = np.array([types.index(name) for name in kinds.names])
        self._last: Split | None = None

    def fill(self, query: Query) -> dict[str, np.ndarray]:
        split = self._split(query)
        feeds = {}
        for port, dtype in self._ports:
            value = np.asarray(self._write(split, port), dtype=dtype)
            feeds[port.name] = value[None] if port.has_batch_axis else value
        return feeds

    def sizes(self, query: Query) -> tuple[int, int]:
        """How many nodes have a row in the output, and how many arcs the model is told of."""
        arcs = self._split(query).arcs
        return self.locate(query)[1], sum(map(len, arcs)) + PADDING * self.pads * len(arcs)

    def locate(self, query: Query) -> tuple[Ints, int]:
        """Where an output has the rows asked about, and how many rows it has."""
        padding = PADDING * self.pads
        if self.joined:
            return query.rows, len(query.nodes) + padding * len(self._kinds.names)
        split = self._split(query)
        return split.place[query.rows], len(split.members[0]) + padding

    def directions_of(self, relation: int) -> tuple[Direction, ...]:
        taken = [self.codes[2 * relation + way] >= 0 for way in (0, 1)]
        if not self.joined:
            ports = [port for port, _ in self._ports if port.of == self._names[relation]]
            ways = {port.reverse for port in ports if port.role == "edges"}
            taken = [False in ways, True in ways]
        names: tuple[Direction, ...] = ("forward", "reversed")
        return tuple(name for name, there in zip(names, taken, strict=True) if there)

    @property
    def channels_told(self) -> Ints:
        """For each channel, a number that it shares with those that the model cannot tell apart."""
        told = np.arange(len(self.codes))
        if self.joined and not any(port.role == "edge_type" for port, _ in self._ports):
            told = np.where(self.codes >= 0, 0, told)
        return told

    def _split(self, query: Query) -> Split:
        """Take a query apart; the last one is kept."""
        if self._last is not None and self._last.query is query:
            return self._last
        assert query.kinds is not None
        assert query.kind is not None
        kind = query.kinds.of(query.nodes).astype(np.int16)
        members = _by_value(kind, len(self._kinds.names))
        place = np.empty(len(kind), np.int64)
        for own in members:
            place[own] = np.arange(len(own))
        arcs = _by_value(query.kind.astype(np.int16), len(self.codes))
        self._last = Split(query, kind, members, place, arcs)
        return self._last

    def _write(self, split: Split, port: InputPort) -> np.ndarray:
        match port.role:
            case "constant":
                return fixed_value(port, self._constants)
            case "features" | "node_count" | "node_type" | "target":
                return self._write_nodes(split, port)
            case _:
                return self._write_arcs(split, port)

    def _write_nodes(self, split: Split, port: InputPort) -> np.ndarray:
        query, kinds = split.query, self._kinds
        kind = kinds.names.index(port.of) if port.of else None
        members = np.arange(len(query.nodes)) if kind is None else split.members[kind]
        padding = (PADDING * (len(kinds.names) if kind is None else 1)) if self.pads else 0
        values: NDArray[Any]
        match port.role:
            case "features" if kind is not None:
                values = query.features[members, slice(*kinds.blocks[kind])]
            case "features":
                width = port.inner[1] if isinstance(port.inner[1], int) else self._widest
                values = np.zeros((len(members), width), query.features.dtype)
                for own, (first, last) in zip(split.members, kinds.blocks, strict=True):
                    values[own, : last - first] = query.features[own, first:last]
            case "node_type":
                values = self._node_codes[split.kind]
                padded = np.repeat(self._node_codes, PADDING) if self.pads else values[:0]
                return np.append(values, padded)
            case "node_count":
                count = len(members) + padding
                return np.array([count] if port.shape else count)
            case _:
                rows, _ = self.locate(query)
                return rows if port.shape else rows[0]
        return pad(values, len(members) + padding)

    def _write_arcs(self, split: Split, port: InputPort) -> np.ndarray:
        """Ends, weights, attributes or types of the arcs that an input takes."""
        query = split.query
        assert query.kind is not None
        if port.of:
            channel = 2 * self._names.index(port.of) + int(port.reverse)
            arcs, channels = split.arcs[channel], [channel]
        else:
            arcs = np.flatnonzero(self.codes[query.kind] >= 0)
            channels = np.flatnonzero(self.codes >= 0).tolist()
        ends = query.ends[:, arcs]
        if port.of:
            ends = split.place[ends]
        padding = self._padding_arcs(split, channels) if self.pads else ends[:, :0]
        match port.role:
            case "edges":
                ends = np.concatenate((ends, padding), axis=1)
                return np.ascontiguousarray(ends.T) if port.by_row else ends
            case "edge_weight":
                given = np.ones(len(arcs)) if query.weight is None else query.weight[arcs]
                weights = np.append(given, np.ones(padding.shape[1]))
                return weights.reshape(-1, *[1] * (len(port.inner) - 1))
            case "edge_type":
                types = np.append(query.kind[arcs], np.repeat(channels, PADDING * self.pads))
                return np.asarray(self.codes[types])
            case _:
                if query.attributes is None:
                    raise ModelError(
                        f"{self._path}: the input {port.describe()} takes {port.full_role}, which "
                        f"the graph does not have; name the columns in graph.ties.{port.of}"
                        ".attributes, or correct model.roles"
                    )
                width = port.inner[1] if isinstance(port.inner[1], int) else None
                return pad(query.attributes[arcs, :width], len(arcs) + padding.shape[1])

    def _padding_arcs(self, split: Split, channels: list[int]) -> Ints:
        """For each channel, arcs between the nodes of padding of the two kinds."""
        columns = []
        for channel in channels:
            relation = self._kinds.relations[channel // 2]
            ends = [relation.source, relation.target]
            if channel % 2:
                ends.reverse()
            first = [
                len(split.query.nodes) + PADDING * kind if self.joined else len(split.members[kind])
                for kind in ends
            ]
            columns.append(np.array(first)[:, None] + np.arange(PADDING))
        return np.concatenate([np.empty((2, 0), np.int64), *columns], axis=1)


def channel_codes(kinds: Kinds, types: Sequence[str]) -> Ints:
    """The type of each channel's arcs, -1 for none; by default relations, then reversed ones."""
    relations = kinds.relations
    if not types:
        back = [f"{relation.name}:reversed" for relation in relations if relation.directed]
        types = [*(relation.name for relation in relations), *back]
    codes = np.full(2 * len(relations), -1)
    for place, relation in enumerate(relations):
        for way, name in enumerate((relation.name, f"{relation.name}:reversed")):
            if name in types:
                codes[2 * place + way] = types.index(name)
    return codes


def _by_value(values: NDArray[np.int16], count: int) -> list[Ints]:
    """The positions of each of some small numbers, from 0."""
    starts = np.concatenate(([0], np.cumsum(np.bincount(values, minlength=count))))
    order = np.argsort(values, kind="stable")
    return [order[first:last] for first, last in pairwise(starts.tolist())]
