"""Explanations from tie weights, and all counterfactuals of one (section V-A of the paper).

A method that weighs ties gets its explanation by repeatedly adding the heaviest tie that leads from
the explanation to a new node, until it has C nodes. A tie between two nodes of the explanation
would close a cycle and is skipped. The counterfactuals of an explanation are all its connected
parts that contain the subject.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.graph import Graph
from recourse_audit.search.subtrees import LocalGraph

Pairs = tuple[int, ...]


def pairs_around(graph: Graph, subject: int, hops: int) -> NDArray[np.int64]:
    """The numbers of all pairs that an explanation of the subject may contain, ascending."""
    return LocalGraph(graph, np.array([subject]), hops).pairs.astype(np.int64)


def grown(
    graph: Graph,
    subject: int,
    pairs: NDArray[np.int64],
    weights: NDArray[np.floating],
    max_nodes: int,
) -> Pairs:
    """Grow an explanation by the weights of pairs; among equal weights, the lower number wins.

    It has fewer than `max_nodes` nodes only if no more can be reached. Time is O(C times the
    number of pairs).
    """
    low, high = graph.pair_low[pairs], graph.pair_high[pairs]
    inside = {subject}
    held: list[int] = []
    order = np.lexsort((pairs, -weights))
    low, high, ordered = low[order], high[order], pairs[order]
    while len(inside) < max_nodes:
        nodes = np.fromiter(inside, np.int64)
        leads_out = np.isin(low, nodes) != np.isin(high, nodes)
        if not leads_out.any():
            break
        first = int(leads_out.argmax())
        held.append(int(ordered[first]))
        inside |= {int(low[first]), int(high[first])}
    return tuple(sorted(held))


def parts(graph: Graph, subject: int, tree: Pairs) -> Iterator[Pairs]:
    """Yield every connected part of a tree that contains the subject, the tree itself last."""
    ends = {pair: (int(graph.pair_low[pair]), int(graph.pair_high[pair])) for pair in tree}
    for mask in range(1 << len(tree)):
        part = tuple(pair for place, pair in enumerate(tree) if mask >> place & 1)
        if _is_connected(subject, [ends[pair] for pair in part]):
            yield part


def _is_connected(subject: int, ties: list[tuple[int, int]]) -> bool:
    reached, left = {subject}, ties
    while left:
        touching = [tie for tie in left if tie[0] in reached or tie[1] in reached]
        if not touching:
            return False
        reached.update(*touching)
        left = [tie for tie in left if tie not in touching]
    return True


def nodes_of(graph: Graph, subject: int, tree: Pairs) -> NDArray[np.int64]:
    """The nodes of a tree, in ascending order."""
    chosen = np.array(tree, np.int64)
    return np.unique(np.concatenate(([subject], graph.pair_low[chosen], graph.pair_high[chosen])))
