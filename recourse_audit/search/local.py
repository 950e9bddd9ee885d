"""The part of the graph in which the explanations of some subjects lie, renumbered from 0.

Nodes and pairs keep the order of the whole graph, so that canonical order is the same in both.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recourse_audit.graph.arrays import Graph, Indices, Ints
from recourse_audit.graph.neighbourhoods import reach, spans


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalGraph:
    """Neighbours of nodes near some roots, sorted, with the tie that leads to each.

    `within[r, v]` says whether node v lies in the neighbourhood of root r; it is None where there
    is only one root, because this is its neighbourhood. `key` is `node * n + neighbour` for every
    entry, in ascending order, so that one binary search finds a place in any node's list. `low` and
    `high` are the ends of each pair.
    """

    nodes: Indices
    pairs: Indices
    low: Indices
    high: Indices
    starts: Ints
    neighbour: Indices
    tie: Indices
    key: Ints
    roots: Indices
    within: NDArray[np.bool_] | None

    @property
    def degree(self) -> Ints:
        return np.diff(self.starts)


def local_graph(graph: Graph, subjects: NDArray[np.integer], hops: int) -> LocalGraph:
    """Cut out every node at most `hops` ties from a subject, and every tie among them.

    Costs O(ties of those nodes); with several subjects, also one byte per subject and node.
    """
    subjects = np.asarray(subjects)
    nodes = reach(graph, subjects, hops)
    positions, owner = spans(graph.starts, nodes)
    other = graph.neighbour[positions]
    place = np.minimum(np.searchsorted(nodes, other), len(nodes) - 1).astype(np.int32)
    inside = nodes[place] == other
    owner, place = owner[inside], place[inside]
    pair = graph.neighbour_pair[positions[inside]]
    pairs, tie = np.unique(pair, return_inverse=True)
    starts = np.zeros(len(nodes) + 1, np.int64)
    np.cumsum(np.bincount(owner, minlength=len(nodes)), out=starts[1:])
    roots = np.searchsorted(nodes, subjects).astype(np.int32)
    return LocalGraph(
        nodes=nodes,
        pairs=pairs,
        low=np.searchsorted(nodes, graph.pair_low[pairs]).astype(np.int32),
        high=np.searchsorted(nodes, graph.pair_high[pairs]).astype(np.int32),
        starts=starts,
        neighbour=place,
        tie=tie.astype(np.int32),
        key=owner * len(nodes) + place,
        roots=roots,
        within=None if len(roots) == 1 else _within(starts, place, roots, hops),
    )


def _within(starts: Ints, neighbour: Indices, roots: Indices, hops: int) -> NDArray[np.bool_]:
    """Mark the nodes in each root's own neighbourhood, by powers of the adjacency matrix."""
    count = len(starts) - 1
    ties = sparse.csr_array(
        (np.ones(len(neighbour), np.float32), neighbour, starts), shape=(count, count)
    )
    step = ties + sparse.eye_array(count, dtype=np.float32, format="csr")
    reach = step[roots]
    for _ in range(hops - 1):
        reach = reach @ step
        reach.data[:] = 1.0
    marked = np.zeros((len(roots), count), bool)
    marked[np.repeat(np.arange(len(roots)), np.diff(reach.indptr)), reach.indices] = True
    return marked
