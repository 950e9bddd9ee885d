"""Turns subtrees into questions, with nodes ascending and ties in canonical order.

Because of that order a subtree's answer is the same to the last bit for every subject in it.
"""

import numpy as np

from recourse_audit.graph.arrays import Graph, Indices, Ints
from recourse_audit.graph.neighbourhoods import spans
from recourse_audit.model.queries import Union
from recourse_audit.search.local import LocalGraph


def sorted_rows(columns: Indices) -> Indices:
    """Sort each column of a few rows, by exchanging neighbouring rows (odd-even transposition)."""
    rows = list(columns)
    for sweep in range(len(rows)):
        for upper in range(sweep % 2, len(rows) - 1, 2):
            first, second = rows[upper], rows[upper + 1]
            rows[upper], rows[upper + 1] = np.minimum(first, second), np.maximum(first, second)
    return np.stack(rows) if rows else columns


def place_in(sorted_nodes: Indices, node: Indices) -> Ints:
    """The place of one node of each tree among the tree's nodes in ascending order."""
    place = np.zeros(len(node), np.int64)
    for row in sorted_nodes[:-1]:
        place += row < node
    return place


def tree_union(
    graph: Graph, local: LocalGraph, nodes: Indices, ties: Indices, *, with_ties: bool
) -> Union:
    """Put subtrees of one size side by side; `nodes` and `ties` have their rows sorted.

    `with_ties` asks for the rows of the tie table, which only some models need.
    """
    size, count = nodes.shape
    if is_plain(graph):
        return _plain_union(graph, local, nodes, ties, with_ties=with_ties)
    base = np.arange(count) * size
    low, high = (
        np.stack([base + place_in(nodes, ends[row]) for row in ties])
        if len(ties)
        else np.empty((0, count), np.int64)
        for ends in (local.low, local.high)
    )
    arcs, slot = spans(graph.pair_starts, local.pairs[ties.T.ravel()])
    pair_low = graph.pair_low[local.pairs[ties.T.ravel()]]
    upward = graph.arc_source[arcs] == pair_low[slot]
    low, high = low.T.ravel()[slot], high.T.ravel()[slot]
    every = local.nodes[nodes.T.ravel()]
    first = np.searchsorted(graph.loop_node, every, side="left")
    number = np.searchsorted(graph.loop_node, every, side="right") - first
    holder = np.repeat(np.arange(len(every)), number)
    loop = first[holder] + np.arange(len(holder)) - (np.cumsum(number) - number)[holder]
    tree = np.concatenate((slot // max(size - 1, 1), holder // size))
    order = np.argsort(tree, kind="stable")
    return Union(
        nodes=every.astype(np.int64),
        node_starts=np.arange(count + 1) * size,
        sources=np.concatenate((np.where(upward, low, high), holder))[order],
        targets=np.concatenate((np.where(upward, high, low), holder))[order],
        ties=np.concatenate((graph.arc_tie[arcs], graph.loop_tie[loop]))[order].astype(np.int64),
        arc_starts=np.concatenate(([0], np.cumsum(np.bincount(tree, minlength=count)))),
    )


def is_plain(graph: Graph) -> bool:
    """Whether every pair is one undirected tie and no node is tied to itself."""
    single = len(graph.arc_source) == 2 * graph.pair_count
    return not graph.directed and single and not len(graph.loop_node)


def _plain_union(
    graph: Graph, local: LocalGraph, nodes: Indices, ties: Indices, *, with_ties: bool
) -> Union:
    size, count = nodes.shape
    base = np.arange(count) * size
    sources = np.empty((count, 2 * len(ties)), np.int64)
    targets = np.empty_like(sources)
    rows = np.empty((count, 2 * len(ties)) if with_ties else (0, 0), np.int64)
    for place, tie in enumerate(ties):
        low = base + place_in(nodes, local.low[tie])
        high = base + place_in(nodes, local.high[tie])
        sources[:, 2 * place] = targets[:, 2 * place + 1] = low
        sources[:, 2 * place + 1] = targets[:, 2 * place] = high
        if with_ties:
            rows[:, 2 * place : 2 * place + 2] = graph.arc_tie[2 * local.pairs[tie]][:, None]
    return Union(
        nodes=local.nodes[nodes.T].astype(np.int64).ravel(),
        node_starts=np.arange(count + 1) * size,
        sources=sources.ravel(),
        targets=targets.ravel(),
        ties=rows.ravel(),
        arc_starts=np.arange(count + 1) * (2 * len(ties)),
    )
