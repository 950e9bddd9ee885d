"""The queries for a model: small graphs side by side as one union, and the arrays they become.

What a model needs is worked out once, from its signature and its settings; filling a query then
costs a few array operations. The free slots of an export with fixed sizes are padded: with nodes
that no tie leads to, and with arcs that lie on one of them or weigh nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import ModelError, RoomError
from recourse_audit.graph.graph import Floats, Graph, Indices, Ints, Kinds, Relation
from recourse_audit.graph.neighbourhoods import spans
from recourse_audit.model.roles import InputPort, Signature, fixed_value
from recourse_audit.settings import ModelSettings, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Union:
    """Small graphs one after the other, without ties between them.

    `nodes` are rows of the pool's features, `ties` rows of its table of ties; the ends of arcs
    are positions in `nodes`.
    """

    nodes: Ints
    node_starts: Ints
    sources: NDArray[np.integer]
    targets: NDArray[np.integer]
    ties: NDArray[np.integer]
    arc_starts: Ints

    def __len__(self) -> int:
        return len(self.node_starts) - 1

    def part(self, first: int, last: int) -> "Union":
        nodes = slice(int(self.node_starts[first]), int(self.node_starts[last]))
        arcs = slice(int(self.arc_starts[first]), int(self.arc_starts[last]))
        return Union(
            nodes=self.nodes[nodes],
            node_starts=self.node_starts[first : last + 1] - nodes.start,
            sources=self.sources[arcs] - nodes.start,
            targets=self.targets[arcs] - nodes.start,
            ties=self.ties[arcs] if len(self.ties) else self.ties,
            arc_starts=self.arc_starts[first : last + 1] - arcs.start,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """What a query says about nodes and ties: features; weights, attributes and kinds of ties.

    In a graph of several kinds of nodes, what is said of ties is said twice, first for the arcs of
    all ties from end to end and then for the reversed ones, and `kind` is a channel: twice the
    number of the relation, plus 1 for reversed arcs. `carried` are the columns of features that the
    network takes, if it has a head; the others go from a node into its own answer and no other.
    """

    features: Floats
    carried: Ints | None = None
    weight: NDArray[np.float32] | None = None
    attributes: NDArray[np.float32] | None = None
    kind: NDArray[np.int16] | None = None
    kinds: Kinds | None = None

    @property
    def relations(self) -> tuple[Relation, ...]:
        return () if self.kinds is None else self.kinds.relations

    def people(self, nodes: Ints) -> Ints:
        """The positions of those who are decided on, among some nodes."""
        if self.kinds is None:
            return np.arange(len(nodes))
        return np.flatnonzero(nodes < self.kinds.starts[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One complete question, which a model adapter turns into its inputs.

    `ends` has the sources of arcs in its first row and their targets in the second. `node_starts`
    says where its graphs begin, with any offset; ends and rows count from its first node. `graphs`
    is how many graphs it asks about: more than it has, if one holds several what-ifs. `kinds` are
    those of the pool that `nodes` are rows of.
    """

    features: Floats
    nodes: Ints
    ends: Ints
    weight: Floats | None
    attributes: Floats | None
    kind: NDArray[np.integer] | None
    node_starts: Ints
    rows: Ints
    graphs: int
    kinds: Kinds | None = None

    @property
    def arc_count(self) -> int:
        return int(self.ends.shape[1])


def single_graph(
    nodes: Ints,
    sources: NDArray[np.integer],
    targets: NDArray[np.integer],
    ties: NDArray[np.integer],
) -> Union:
    """A union of one graph."""
    return Union(
        nodes=nodes,
        node_starts=np.array([0, len(nodes)]),
        sources=sources,
        targets=targets,
        ties=ties,
        arc_starts=np.array([0, len(sources)]),
    )


def list_once(places: Ints, nodes: int) -> tuple[Ints, Ints]:
    """Places among some nodes, each once and ascending; and where each of them is in that list."""
    rank = np.zeros(nodes, np.int64)
    rank[places] = 1
    each = np.flatnonzero(rank)
    rank[each] = np.arange(len(each))
    return each, rank[places]


def pool_of(graph: Graph) -> Pool:
    """What the graph knows about its nodes and ties."""
    ties, times = graph.ties, 2 if graph.relations else 1
    kind = ties.kind
    if graph.relations:
        channel = np.int16(2) * ties.kind
        kind = np.concatenate((channel, channel + np.int16(1)))
    return Pool(
        features=graph.features,
        carried=graph.carried,
        weight=None if ties.weight is None else np.tile(ties.weight, times),
        attributes=None if ties.attributes is None else np.tile(ties.attributes, (times, 1)),
        kind=kind,
        kinds=graph.kinds,
    )


def select_carried(features: Floats, carried: Ints | None) -> Floats:
    """The features that the network takes, without those for its head."""
    return features if carried is None else features[:, carried]


def whole(graph: Graph) -> Union:
    """The whole graph as one question, in canonical order; shares the graph's arrays if it can."""

    def join(arcs: Indices, loops: Indices) -> Indices:
        return np.concatenate((arcs, loops)) if len(loops) else arcs

    return single_graph(
        np.arange(graph.node_count),
        join(graph.arc_source, graph.loop_node),
        join(graph.arc_target, graph.loop_node),
        join(graph.arc_row, graph.loop_row),
    )


def with_pairs(graph: Graph, nodes: NDArray[np.integer], pairs: NDArray[np.integer]) -> Union:
    """Some nodes, ascending, with the ties of some pairs among them and their own loops."""
    arcs, _ = spans(graph.pair_starts, np.sort(pairs))
    loops = np.flatnonzero(np.isin(graph.loop_node, nodes))
    return single_graph(nodes.astype(np.int64), *arcs_among(graph, nodes, arcs, loops))


def arcs_among(
    graph: Graph, nodes: NDArray[np.integer], arcs: Ints, loops: Ints
) -> tuple[Ints, Ints, Ints]:
    """Sources and targets of arcs, then loops, as places in `nodes`; and their rows."""
    own = graph.loop_node[loops]
    return (
        np.searchsorted(nodes, np.concatenate((graph.arc_source[arcs], own))),
        np.searchsorted(nodes, np.concatenate((graph.arc_target[arcs], own))),
        np.concatenate((graph.arc_row[arcs], graph.loop_row[loops])).astype(np.int64),
    )


def side_by_side(unions: Sequence[Union], rows: Sequence[Ints]) -> tuple[Union, Ints]:
    """Join several questions into one, with the rows that each asks about."""
    if len(unions) == 1:
        return unions[0], rows[0]
    return join_graphs(unions), _shift(rows, _offsets([union.nodes for union in unions]))


def join_graphs(unions: Sequence[Union]) -> Union:
    """The graphs of several unions in one."""
    nodes = _offsets([union.nodes for union in unions])
    arcs = _offsets([union.sources for union in unions])
    start = np.zeros(1, np.int64)
    return Union(
        nodes=np.concatenate([union.nodes for union in unions]),
        node_starts=np.append(start, _shift([union.node_starts[1:] for union in unions], nodes)),
        sources=_shift([union.sources for union in unions], nodes),
        targets=_shift([union.targets for union in unions], nodes),
        ties=np.concatenate([union.ties for union in unions]),
        arc_starts=np.append(start, _shift([union.arc_starts[1:] for union in unions], arcs)),
    )


def _offsets(parts: Sequence[NDArray[np.integer]]) -> Ints:
    return np.cumsum([0, *map(len, parts)])[:-1]


def _shift(parts: Sequence[NDArray[np.integer]], shifts: Ints) -> Ints:
    return np.concatenate([part + shift for part, shift in zip(parts, shifts, strict=True)])


Normalisation = Literal["none", "symmetric", "row"]


def missing_loops(sources: Ints, targets: Ints, count: int) -> Ints:
    """List the nodes that have no self-loop yet."""
    present = np.zeros(count, bool)
    present[sources[sources == targets]] = True
    return np.flatnonzero(~present)


def normalise(
    weight: Floats, sources: Ints, targets: Ints, count: int, how: Normalisation
) -> Floats:
    """Scale the weights of arcs by the degrees of their ends, as GCN or a mean would.

    Symmetric: w / sqrt(d_source d_target); row: w / d_target. A degree is the sum of the weights
    that arrive at a node; a node at which nothing arrives keeps zeros.
    """
    if how == "none":
        return weight
    degree = np.bincount(targets, weights=weight, minlength=count)
    with np.errstate(divide="ignore"):
        scale = degree**-0.5 if how == "symmetric" else 1.0 / degree
    scale[~np.isfinite(scale)] = 0.0
    scaled = weight * scale[targets]
    return scaled * scale[sources] if how == "symmetric" else scaled


class Prepared(NamedTuple):
    """A query with loops, norms and padding as the model expects; weights only if it takes them."""

    query: Query
    nodes: int
    ends: Ints
    weights: Floats


class Feeder:
    """Fills the inputs of one model."""

    splits, pads, channels_told = False, False, None  # see `SplitFeeder`

    def __init__(self, signature: Signature, settings: ModelSettings) -> None:
        self._path = settings.path
        self._constants = settings.constants
        self._loops = settings.self_loops == "add"
        self._normalisation = settings.normalisation
        self._rows_are_targets = settings.adjacency_rows == "targets"
        self._fixed_nodes = signature.fixed_nodes
        self._fixed_arcs = signature.fixed_arcs
        self._weight_input = signature.port("edge_weight") is not None
        self._weighted = self._weight_input or signature.port("adjacency") is not None
        own_norm = self._weight_input and settings.normalisation == "none"
        default = "column" if own_norm else "ones"
        self.weighs_ties = self._weighted and (settings.tie_weights or default) == "column"
        nodes, arcs = self._fixed_nodes, self._fixed_arcs
        # Slots for graphs, of nodes and of arcs. One node stays free where padding arcs need it to
        # lie on; every node slot takes an arc where self-loops are added.
        self.node_room = nodes if nodes is None or arcs is None else max(nodes - 1, 1)
        self.arc_room = arcs
        if arcs is not None and self._loops:
            self.arc_room = max(arcs - (nodes or arcs // 2), 1)
            self.node_room = max(arcs // 2 - 1, 1) if nodes is None else self.node_room
        self.carried: Ints | None = None  # columns of the features; all, unless there is a head
        writers: dict[Role, Callable[[Prepared, InputPort], np.ndarray]] = {
            "features": lambda p, _: pad(select_carried(p.query.features, self.carried), p.nodes),
            "edges": self._edges,
            "sources": lambda p, _: p.ends[0],
            "targets": lambda p, _: p.ends[1],
            "adjacency": self._adjacency,
            "edge_weight": lambda p, port: p.weights.reshape(-1, *[1] * (len(port.inner) - 1)),
            "edge_attributes": lambda p, port: self._of_arcs(p, p.query.attributes, port),
            "edge_type": lambda p, port: self._of_arcs(p, p.query.kind, port),
            "node_ids": lambda p, _: pad(p.query.nodes, p.nodes),
            "batch": _graph_numbers,
            "node_count": lambda p, port: np.array([p.nodes] if port.shape else p.nodes),
            "target": lambda p, port: p.query.rows if port.shape else p.query.rows[0],
            "edge_labels": self._pairs_to_score,
            "node_type": self._node_types,
            "constant": lambda _, port: fixed_value(port, self._constants),
        }
        self._inputs = [
            (port, np.dtype(port.dtype), port.has_batch_axis, writers[port.role])
            for port in signature.inputs
            if port.role is not None
        ]
        if settings.normalisation != "none" and not self._weighted:
            raise ModelError(
                f"{settings.path}: model.normalisation is {settings.normalisation!r}, but no input "
                "takes tie weights or an adjacency matrix to carry it; correct the settings"
            )

    def fill(self, query: Query) -> dict[str, np.ndarray]:
        prepared = self._prepare(query)
        feeds = {}
        for port, dtype, batched, write in self._inputs:
            value = np.asarray(write(prepared, port), dtype=dtype)
            feeds[port.name] = value[None] if batched else value
        return feeds

    def sizes(self, query: Query) -> tuple[int, int]:
        """How many nodes and arcs the model is told of, with what preparation and padding add."""
        prepared = self._prepare(query)
        return prepared.nodes, int(prepared.ends.shape[1])

    def locate(self, query: Query) -> tuple[Ints, int]:
        """Where an output has the rows asked about, and how many rows it has."""
        return query.rows, self.slots(len(query.nodes), query.arc_count)

    def slots(self, nodes: int, arcs: int) -> int:
        """How many node slots a query fills; padding arcs lie on the last one."""
        if self._fixed_nodes is not None:
            if nodes > self._fixed_nodes:
                raise RoomError(
                    f"{self._path}: the model was exported for exactly {self._fixed_nodes} nodes "
                    f"and the graph asked about has {nodes}; export it with dynamic axes"
                )
            return self._fixed_nodes
        return nodes if self._fixed_arcs in (None, arcs) else nodes + 1

    def _prepare(self, query: Query) -> Prepared:
        nodes = self.slots(len(query.nodes), query.arc_count)
        ends = query.ends
        if self._loops:
            ends = _with_loops(ends, missing_loops(ends[0], ends[1], nodes))
        weights: Floats = np.empty(0)
        if self._weighted:
            given = np.ones(query.arc_count) if query.weight is None else query.weight
            weights = np.append(given, np.ones(ends.shape[1] - len(given)))
            weights = normalise(weights, ends[0], ends[1], nodes, self._normalisation)
        if self._fixed_arcs is not None:
            gap = self._fixed_arcs - ends.shape[1]
            if gap < 0 or (gap and nodes == len(query.nodes) and not self._weight_input):
                raise RoomError(
                    f"{self._path}: the model was exported for exactly {self._fixed_arcs} arcs and "
                    f"{self._fixed_nodes or 'any number of'} nodes, and a graph of "
                    f"{len(query.nodes)} nodes and {ends.shape[1]} arcs does not fit; export it "
                    "with dynamic axes"
                )
            ends = _with_loops(ends, np.full(gap, nodes - 1))
            weights = np.append(weights, np.zeros(gap))
        return Prepared(query=query, nodes=nodes, ends=ends, weights=weights)

    def _edges(self, prepared: Prepared, port: InputPort) -> np.ndarray:
        return np.ascontiguousarray(prepared.ends.T) if port.by_row else prepared.ends

    def _pairs_to_score(self, prepared: Prepared, port: InputPort) -> np.ndarray:
        """Pairs to be scored: the ties themselves, as many as an export of fixed size takes."""
        arcs = prepared.ends.shape[1]
        size = port.inner[0 if port.by_row else 1]
        wanted = size if isinstance(size, int) else arcs
        pairs = prepared.ends[:, np.arange(wanted) % arcs] if arcs else np.zeros((2, wanted))
        return np.ascontiguousarray(pairs.T) if port.by_row else pairs

    def _node_types(self, prepared: Prepared, _port: InputPort) -> np.ndarray:
        """The model's code for the kind of each node; padding is of the first kind."""
        kinds = prepared.query.kinds
        if kinds is None:
            raise ModelError(
                f"{self._path}: the input {_port.describe()} takes the kinds of nodes, and nothing "
                "says what they are; name the column: decision.subject = "
                '{ column = "node_type", value = "person" }'
            )
        codes = np.array(kinds.codes)[kinds.of(prepared.query.nodes)]
        return np.append(codes, np.repeat(codes[:1], prepared.nodes - len(codes)))

    def _adjacency(self, prepared: Prepared, _port: InputPort) -> np.ndarray:
        """The arcs in a dense matrix; parallel arcs add up, as their messages would."""
        sources, targets = prepared.ends
        row, column = (targets, sources) if self._rows_are_targets else (sources, targets)
        count = prepared.nodes
        cells = np.bincount(row * count + column, prepared.weights, minlength=count * count)
        return cells.reshape(count, count)

    def _of_arcs(
        self, prepared: Prepared, values: np.ndarray | None, port: InputPort
    ) -> np.ndarray:
        if values is None:
            raise ModelError(
                f"{self._path}: the input {port.describe()} takes {port.role}, which the graph "
                "does not have; name the columns with graph.edge_attributes, or correct model.roles"
            )
        return pad(values, prepared.ends.shape[1])


def _with_loops(ends: Ints, nodes: Ints) -> Ints:
    return np.concatenate((ends, np.broadcast_to(nodes, (2, len(nodes)))), axis=1)


def _graph_numbers(prepared: Prepared, _port: InputPort) -> np.ndarray:
    """Which graph of the query each node belongs to; padding is a graph of its own."""
    query = prepared.query
    sizes = np.append(np.diff(query.node_starts), prepared.nodes - len(query.nodes))
    return np.repeat(np.arange(len(sizes)), sizes)


def pad(values: np.ndarray, length: int) -> np.ndarray:
    """Pad with zeros to a number of rows."""
    if len(values) == length:
        return values
    return np.concatenate(
        (values, np.zeros((length - len(values), *values.shape[1:]), values.dtype))
    )
