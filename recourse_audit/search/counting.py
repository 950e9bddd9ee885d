"""How many subtrees a subject has, counted before any of them is built.

Up to four nodes there are closed forms in the degrees of the neighbourhood, which cost one pass
over the ties within two hops. Beyond that the last level is counted without being built; where even
the level below is too large, the count is left to an estimate (see `sampling`).
"""

import numpy as np

from recourse_audit.graph.neighbourhoods import spans
from recourse_audit.search.local import LocalGraph
from recourse_audit.search.subtrees import Level, leaf_spans, subtrees

CLOSED_FORM = 4
COUNTED_BY_GROWING = 400_000


def count_subtrees(local: LocalGraph, max_nodes: int) -> int | None:
    """Count the subtrees of the only root with at most `max_nodes` nodes, the root alone included.

    None where counting would cost as much as searching.
    """
    total = 1 + sum(_closed_forms(local)[: max_nodes - 1])
    if max_nodes <= CLOSED_FORM:
        return total
    if total > COUNTED_BY_GROWING:
        return None
    total = 0
    for level in subtrees(local, max_nodes - 1):
        total += len(level)
        if len(level) > COUNTED_BY_GROWING:
            return None
    return total + _last_level(local, level)


def _closed_forms(local: LocalGraph) -> tuple[int, int, int]:
    """The number of subtrees of the root with two, three and four nodes."""
    root = int(local.roots[0])
    degree = local.degree
    near = local.neighbour[local.starts[root] : local.starts[root + 1]]
    own = int(degree[root])
    beyond = degree[near] - 1
    positions, _ = spans(local.starts, near)
    second = local.neighbour[positions]
    second = second[second != root]
    is_near = np.zeros(len(local.nodes), np.int64)
    is_near[near] = 1
    three = own * (own - 1) // 2 + int(beyond.sum())
    star = own * (own - 1) * (own - 2) // 6
    fork = int((beyond * (beyond - 1) // 2).sum())
    path_from_end = int((degree[second] - 1 - is_near[second]).sum())
    path_from_inside = int((own - 1 - is_near[second]).sum())
    return own, three, star + fork + path_from_end + path_from_inside


def _last_level(local: LocalGraph, level: Level) -> int:
    """Count what would grow from a level: the leaves in reach, minus those already in the tree."""
    first, count = leaf_spans(local, level)
    total = int(count.sum())
    for place in range(level.size):
        row = level.nodes[place].astype(np.int64) * len(local.nodes)
        for node in level.nodes:
            position = np.searchsorted(local.key, row + node)
            position = np.minimum(position, len(local.key) - 1)
            tied = (local.key[position] == row + node) & (position >= first[:, place])
            total -= int(np.count_nonzero(tied))
    return total
