"""Find the nodes within some hops of given nodes, without touching the rest of the graph.

The cost is that of sorting the ties of the nodes reached, whatever the size of the graph. What is
about all nodes goes through their neighbours in parts, so that it needs no array of that size.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.graph import Graph, Indices, Ints

NEIGHBOURS_AT_ONCE = 2**22

OUTSIDE = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbourhood:
    """Nodes in ascending order, and how many hops each is from the nearest starting node."""

    nodes: Indices
    hops: NDArray[np.int8]


def spans(starts: Ints | Indices, rows: NDArray[np.integer]) -> tuple[Ints, Ints]:
    """List the positions of some rows of a CSR array, row after row.

    Returns the positions and, for each, the index in `rows` of the row it belongs to.
    """
    lengths = starts[rows + 1] - starts[rows]
    owner = np.repeat(np.arange(len(rows)), lengths)
    ends = np.cumsum(lengths)
    within = np.arange(int(ends[-1]) if len(ends) else 0) - (ends - lengths)[owner]
    return starts[rows][owner] + within, owner


def places_in(ascending: NDArray[np.integer], values: NDArray[np.integer]) -> Ints:
    """The places of values in an ascending array; `OUTSIDE` for those it lacks."""
    if not len(ascending):
        return np.full(values.shape, OUTSIDE)
    place = np.searchsorted(ascending, values)
    there = ascending[np.minimum(place, len(ascending) - 1)] == values
    return np.where(there, place, OUTSIDE)


def as_rows(lists: Sequence[Sequence[int]]) -> Ints:
    """Lists of any lengths as rows of one length, padded with `OUTSIDE`."""
    rows = np.full((len(lists), max(map(len, lists), default=1)), OUTSIDE)
    for row, numbers in zip(rows, lists, strict=True):
        row[: len(numbers)] = numbers
    return rows


def grow(
    start: NDArray[np.integer] | int, hops: int, step: Callable[[Ints], NDArray[np.integer]]
) -> tuple[Ints, NDArray[np.int8]]:
    """Breadth-first search: nodes, ascending, and after how many steps each is reached first.

    `step` gives the nodes that some nodes lead to, in any order and as often as it likes.
    """
    nodes = frontier = np.unique(start).astype(np.int64)
    distance = np.zeros(len(nodes), np.int8)
    for hop in range(1, hops + 1):
        reached = np.unique(step(frontier)).astype(np.int64)
        frontier = reached[places_in(nodes, reached) == OUTSIDE]
        if not len(frontier):
            break
        nodes = np.concatenate((nodes, frontier))
        order = nodes.argsort(kind="stable")  # merges two sorted runs
        nodes = nodes[order]
        distance = np.concatenate((distance, np.full(len(frontier), hop, np.int8)))[order]
    return nodes, distance


def neighbourhood(graph: Graph, start: NDArray[np.integer], hops: int) -> Neighbourhood:
    """Find every node at most `hops` ties away from a node in `start`.

    Ties are followed in both directions, even in a directed graph.
    """
    nodes, distance = grow(start, hops, lambda at: graph.neighbour[spans(graph.starts, at)[0]])
    return Neighbourhood(nodes=nodes.astype(np.int32), hops=distance)


def reach(graph: Graph, start: NDArray[np.integer], hops: int) -> Indices:
    """The nodes at most `hops` ties away from a node in `start`, in ascending order."""
    return neighbourhood(graph, start, hops).nodes


def pairs_among(graph: Graph, nodes: NDArray[np.integer]) -> Indices:
    """The pairs of tied nodes that are both among some nodes, given in ascending order."""
    positions, owner = spans(graph.starts, nodes)
    other = graph.neighbour[positions]
    inside = np.isin(other, nodes) & (nodes[owner] < other)
    return graph.neighbour_pair[positions[inside]]


def by_locality(graph: Graph) -> Indices:
    """All nodes, in an order in which neighbours are close to each other (Cuthill-McKee)."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    shape = (graph.node_count, graph.node_count)
    # Only who is tied to whom is looked at, so one number stands for all entries.
    ones = np.broadcast_to(np.int8(1), len(graph.neighbour))
    ties = csr_array((ones, graph.neighbour, graph.starts.astype(np.int32)), shape=shape)
    return np.asarray(reverse_cuthill_mckee(ties, symmetric_mode=True))


def over_neighbours(graph: Graph, values: NDArray[Any], how: np.ufunc) -> NDArray[Any]:
    """Reduce the values of each node's neighbours, such as to their sum; 0 without neighbours."""
    reduced, low = np.zeros_like(values), 0
    while low < graph.node_count:  # nodes with a bounded number of neighbours, or a single one
        first = int(graph.starts[low])
        limit = np.searchsorted(graph.starts, first + NEIGHBOURS_AT_ONCE, "right")
        high = max(int(limit) - 1, low + 1)
        tied = low + np.flatnonzero(np.diff(graph.starts[low : high + 1]))
        if len(tied):
            there = values[graph.neighbour[first : graph.starts[high]]]
            reduced[tied] = how.reduceat(there, graph.starts[tied] - first)
        low = high
    return reduced
