"""The small graphs that probes ask about: drawn from a pool, put side by side, or disturbed."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from recourse_audit.graph.arrays import Ints
from recourse_audit.model.queries import Pool, Union


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """One small graph of a probe."""

    nodes: Ints
    sources: Ints
    targets: Ints
    ties: Ints


def ring(generator: np.random.Generator, pool: Pool, size: int) -> Sketch:
    """A ring of nodes with one chord, the chord's ends of higher degree; drawn from the pool."""
    ends = [(k, (k + 1) % size) for k in range(size if size > 2 else size - 1)]
    ends += [(0, size // 2)] if size > 3 else []
    return _sketch(generator, pool, size, ends)


def path(generator: np.random.Generator, pool: Pool, length: int) -> Sketch:
    """A path of `length` ties from node 0, and one more node to which no tie leads."""
    return _sketch(generator, pool, length + 2, [(k, k + 1) for k in range(length)])


def joined(sketches: Iterable[Sketch]) -> Union:
    """Put sketches side by side."""
    parts = list(sketches)
    node_starts = np.cumsum([0, *(len(part.nodes) for part in parts)])
    shift = node_starts[:-1]
    return Union(
        nodes=np.concatenate([part.nodes for part in parts]),
        node_starts=node_starts,
        sources=np.concatenate([p.sources + s for p, s in zip(parts, shift, strict=True)]),
        targets=np.concatenate([p.targets + s for p, s in zip(parts, shift, strict=True)]),
        ties=np.concatenate([part.ties for part in parts]),
        arc_starts=np.cumsum([0, *(len(part.sources) for part in parts)]),
    )


def relabelled(sketch: Sketch, order: Ints) -> Sketch:
    """Give node k the place `order[k]`; arcs keep their order."""
    nodes = np.empty_like(sketch.nodes)
    nodes[order] = sketch.nodes
    return replace(
        sketch, nodes=nodes, sources=order[sketch.sources], targets=order[sketch.targets]
    )


def with_arcs(sketch: Sketch, arcs: Ints) -> Sketch:
    """Keep some arcs, in the order given."""
    return replace(
        sketch, sources=sketch.sources[arcs], targets=sketch.targets[arcs], ties=sketch.ties[arcs]
    )


def _sketch(
    generator: np.random.Generator, pool: Pool, size: int, ends: list[tuple[int, int]]
) -> Sketch:
    rows = size_of(pool)
    nodes = generator.choice(rows, size=size, replace=size > rows)
    low, high = np.array(ends, dtype=np.int64).reshape(-1, 2).T
    columns = (pool.weight, pool.attributes, pool.kind)
    ties = min((len(column) for column in columns if column is not None), default=1)
    tie = generator.integers(0, max(ties, 1), size=len(low))
    return Sketch(
        nodes=nodes.astype(np.int64),
        sources=np.stack((low, high), axis=1).ravel(),
        targets=np.stack((high, low), axis=1).ravel(),
        ties=np.repeat(tie, 2),
    )


def size_of(pool: Pool) -> int:
    """How many nodes may be drawn from a pool."""
    return len(pool.features)
