"""Find the nodes within some hops of given nodes, without touching the rest of the graph.

The cost is that of sorting the ties of the nodes reached, whatever the size of the graph.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.arrays import Graph, Indices, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbourhood:
    """Nodes in ascending order, and how many hops each is from the nearest starting node."""

    nodes: Indices
    hops: NDArray[np.int8]


def spans(starts: Ints, rows: NDArray[np.integer]) -> tuple[Ints, Ints]:
    """List the positions of some rows of a CSR array, row after row.

    Returns the positions and, for each, the index in `rows` of the row it belongs to.
    """
    lengths = starts[rows + 1] - starts[rows]
    owner = np.repeat(np.arange(len(rows)), lengths)
    ends = np.cumsum(lengths)
    within = np.arange(int(ends[-1]) if len(ends) else 0) - (ends - lengths)[owner]
    return starts[rows][owner] + within, owner


def neighbourhood(graph: Graph, start: NDArray[np.integer], hops: int) -> Neighbourhood:
    """Find every node at most `hops` ties away from a node in `start`, by breadth-first search.

    Ties are followed in both directions, even in a directed graph.
    """
    reached = np.unique(np.asarray(start)).astype(np.int32)
    found, distance = [reached], [np.zeros(len(reached), np.int8)]
    known = frontier = reached
    for hop in range(1, hops + 1):
        positions, _ = spans(graph.starts, frontier)
        candidates = np.unique(graph.neighbour[positions])
        frontier = candidates[~np.isin(candidates, known, assume_unique=True)]
        if not len(frontier):
            break
        known = np.concatenate((known, frontier))
        found.append(frontier)
        distance.append(np.full(len(frontier), hop, np.int8))
    nodes = np.concatenate(found)
    order = np.argsort(nodes)
    return Neighbourhood(nodes=nodes[order], hops=np.concatenate(distance)[order])


def reach(graph: Graph, start: NDArray[np.integer], hops: int) -> Indices:
    """The nodes at most `hops` ties away from a node in `start`, in ascending order."""
    nodes = np.unique(start).astype(np.int32)
    for _ in range(hops):
        positions, _ = spans(graph.starts, nodes)
        nodes = np.unique(np.concatenate((nodes, graph.neighbour[positions])))
    return nodes
