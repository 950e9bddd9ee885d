"""The small graphs that probes ask about: drawn from a pool, put side by side, or disturbed."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

import numpy as np

from recourse_audit.errors import LimitError, ModelError
from recourse_audit.graph.graph import Floats, Ints, Kinds
from recourse_audit.model.queries import Pool, Union, join_graphs, select_carried, single_graph
from recourse_audit.model.session import MADE_UP_ROWS, OnnxModel

# How many hops away from a subject a probe looks.
FARTHEST = 9
ROWS_AT_ONCE = 4096

Result = TypeVar("Result")


def ring(generator: np.random.Generator, pool: Pool, size: int) -> Union:
    """A ring of nodes with one chord, whose ends have a higher degree; drawn from the pool."""
    ends = [(k, (k + 1) % size) for k in range(size if size > 2 else size - 1)]
    ends += [(0, size // 2)] if size > 3 else []
    return _probe_graph(generator, pool, size, ends)


def vary_path(generator: np.random.Generator, pool: Pool, length: int, *, first: int) -> Union:
    """A path of `length` ties from node 0, and one more node that no tie leads to.

    Beside it is the same path with other features, for each node from the first on.
    """
    base = _probe_graph(generator, pool, length + 2, [(k, k + 1) for k in range(length)])
    positions = range(first, length + 2)
    return join_graphs(
        [base, *(with_other_features(generator, pool, base, position) for position in positions)]
    )


def relabel(graph: Union, order: Ints) -> Union:
    """Give node k the place `order[k]`; arcs keep their order."""
    nodes = np.empty_like(graph.nodes)
    nodes[order] = graph.nodes
    return replace(graph, nodes=nodes, sources=order[graph.sources], targets=order[graph.targets])


def with_arcs(graph: Union, arcs: Ints) -> Union:
    """Keep some arcs, in the order given."""
    return single_graph(graph.nodes, graph.sources[arcs], graph.targets[arcs], graph.ties[arcs])


def with_other_features(
    generator: np.random.Generator, pool: Pool, graph: Union, position: int
) -> Union:
    """Give one node the features of another row of the pool, one that differs if there is any.

    A row is drawn at random; if it is equal to the node's own, the next one that is not is taken.
    A node of a kind without features loses its ties instead.
    """
    own, low, size = int(graph.nodes[position]), 0, len(pool.features)
    if pool.kinds is not None:  # another node of the same kind
        kind = int(pool.kinds.of(graph.nodes[position : position + 1])[0])
        alike, block = pool.kinds.members(kind), pool.kinds.blocks[kind]
        if block[0] == block[1]:
            tied = (graph.sources == position) | (graph.targets == position)
            return with_arcs(graph, np.flatnonzero(~tied))
        low, size = alike.start, len(alike)
    first = own - low + int(generator.integers(1, max(size, 2)))
    nodes = graph.nodes.copy()
    nodes[position] = low + first % size
    for start in range(0, size, ROWS_AT_ONCE):
        rows = low + (first + np.arange(start, min(start + ROWS_AT_ONCE, size))) % size
        features = select_carried(pool.features[np.append(rows, own)], pool.carried)
        different = np.flatnonzero((features[:-1] != features[-1]).any(axis=1))
        if len(different):
            nodes[position] = rows[different[0]]
            break
    return replace(graph, nodes=nodes)


def _probe_graph(
    generator: np.random.Generator, pool: Pool, size: int, ends: list[tuple[int, int]]
) -> Union:
    if pool.relations:
        nodes, (low, high, row) = draw_kinds(generator, pool, size, ends)
        assert pool.kind is not None
        one_way = np.array([relation.directed for relation in pool.relations], int)
        rows = (row, row + len(pool.kind) // 2 * one_way[pool.kind[row] // 2])  # back is further on
    else:
        people = len(pool.features)
        nodes = generator.choice(people, size=size, replace=size > people).astype(np.int64)
        low, high = np.array(ends, dtype=np.int64).reshape(-1, 2).T
        columns = (pool.weight, pool.attributes, pool.kind)
        ties = min((len(column) for column in columns if column is not None), default=1)
        row = generator.integers(0, max(ties, 1), size=len(low))
        rows = (row, row)
    both_ways = [np.stack(pair, axis=1).ravel() for pair in ((low, high), (high, low), rows)]
    return single_graph(nodes, *both_ways)


def draw_kinds(
    generator: np.random.Generator, pool: Pool, size: int, ends: list[tuple[int, int]]
) -> tuple[Ints, Ints]:
    """Nodes of several kinds, the first of them decided on, and ties of relations that fit.

    Ties between kinds that no relation leads between are left out. Returns rows of the pool, and
    the sources, targets (by position) and rows of ties.
    """
    kinds, relations = pool.kinds, pool.relations
    assert kinds is not None
    assert pool.kind is not None
    channels = pool.kind[: len(pool.kind) // 2]
    able = [np.flatnonzero(channels == 2 * number) for number in range(len(relations))]
    used = [number for number in range(len(relations)) if len(able[number])]
    kind: dict[int, int] = {0: 0}
    ties = []
    for pair in ends:
        low, high = pair if pair[0] in kind else pair[::-1]
        kind.setdefault(low, int(generator.integers(len(kinds.names))))
        options = [
            (number, way, (relations[number].target, relations[number].source)[way])
            for number in used
            for way in (0, 1)
            if (relations[number].source, relations[number].target)[way] == kind[low]
        ]
        options = [option for option in options if kind.get(high, option[2]) == option[2]]
        if not options:
            continue
        number, way, far = options[int(generator.integers(len(options)))]
        kind[high] = far
        source, target = (low, high) if way == 0 else (high, low)
        ties.append((source, target, int(generator.choice(able[number]))))
    drawn = [kind.get(node, int(generator.integers(len(kinds.names)))) for node in range(size)]
    nodes = kinds.draw_alike(kinds.starts[drawn], generator)
    return nodes, np.array(ties, np.int64).reshape(-1, 3).T


def room_for(model: OnnxModel, wanted: int) -> int:
    """How many nodes a probe's graph, with one tie more, may have in an export of fixed size."""
    nodes = wanted if model.feeder.node_room is None else model.feeder.node_room
    ties = wanted if model.feeder.arc_room is None else model.feeder.arc_room // 2 - 1
    return max(1, min(wanted, nodes, ties))


def farthest_for(model: OnnxModel) -> int:
    """The longest path for which a model of fixed size has room, with one node to spare."""
    return min(FARTHEST, room_for(model, FARTHEST + 2) - 2)


def is_constant(pool: Pool) -> bool:
    """Whether all nodes of a pool have the same features, so that exchanging them shows nothing."""
    features = select_carried(pool.features, pool.carried)
    return all(
        bool((features[start : start + ROWS_AT_ONCE] == features[0]).all())
        for start in range(0, len(features), ROWS_AT_ONCE)
    )


def vary_pool(generator: np.random.Generator, pool: Pool) -> Iterator[Pool]:
    """Pools around the one row of a constant pool: it differs by made-up amounts of every scale."""
    constant = pool.features[:1].astype(np.float64)
    for amounts in _invent_features(generator, constant.shape[1]):
        yield replace(pool, features=constant + amounts)


def ask_varied(
    generator: np.random.Generator, pool: Pool, ask: Callable[[Pool], Iterable[Result]]
) -> Iterator[Result]:
    """What asking with each of these pools gives; a model may refuse features of some scale."""
    for varied in vary_pool(generator, pool):
        try:
            yield from ask(varied)
        except LimitError:
            raise
        except ModelError:
            continue


def invent_pools(model: OnnxModel, generator: np.random.Generator) -> list[Pool]:
    """Features for a model that comes without a graph, on the scales that features come in."""
    if model.kinds is not None and model.kinds.relations:
        return _invent_pools_of_kinds(model.kinds, generator)
    width = model.signature.feature_count
    if width is None:
        raise ModelError(
            f"{model.path}: the model does not say how many features it takes; give it a graph "
            "with --graph"
        )
    scales = _invent_features(generator, width)
    port = model.signature.port("edge_attributes")
    columns = port.inner[1] if port is not None else 1
    attributes = generator.normal(size=(MADE_UP_ROWS, columns if isinstance(columns, int) else 1))
    return [
        Pool(
            features=features,
            attributes=attributes.astype(np.float32),
            kind=np.zeros(MADE_UP_ROWS, np.int16),
            kinds=model.kinds,
        )
        for features in scales
    ]


def _invent_pools_of_kinds(kinds: Kinds, generator: np.random.Generator) -> list[Pool]:
    """The same for several kinds of nodes; a node has features in the block of its kind only."""
    rows, width = int(kinds.starts[-1]), max(last for _, last in kinds.blocks)
    own = np.zeros((rows, width), bool)
    for number, (first, last) in enumerate(kinds.blocks):
        own[kinds.members(number), first:last] = True
    channel = np.repeat(2 * np.arange(len(kinds.relations), dtype=np.int16), MADE_UP_ROWS)
    widest = max(relation.attributes for relation in kinds.relations)
    attributes = generator.normal(size=(2 * len(channel), widest)).astype(np.float32)
    return [
        Pool(
            features=np.where(own, features, 0.0),
            attributes=attributes if widest else None,
            kind=np.concatenate((channel, channel + np.int16(1))),
            kinds=kinds,
        )
        for features in _invent_features(generator, width, rows)
    ]


def _invent_features(
    generator: np.random.Generator, width: int, rows: int = MADE_UP_ROWS
) -> tuple[Floats, ...]:
    shape = (rows, width)
    marks = (generator.random(shape) < 0.3).astype(float)
    return (
        generator.normal(size=shape),
        generator.lognormal(1.0, 1.5, size=shape),
        generator.lognormal(7.0, 2.0, size=shape),
        marks,
        marks / np.maximum(marks.sum(axis=1, keepdims=True), 1.0),
    )
