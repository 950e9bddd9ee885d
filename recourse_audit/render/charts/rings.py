"""Places on concentric rings at which no two equal cells overlap, whatever the graph.

Every node gets a cell, a box with its mark and its label. In units of a cell, rings are √2 apart,
and neighbours on a ring at least that: two unit squares whose centres are √2 apart never overlap.
Four rings hold 61 nodes. A ring holds the nodes at one distance if that takes no more than `RINGS`
rings; in long, thin graphs the rings are filled in order of distance instead.
"""

from collections.abc import Sequence
from math import asin, atan2, cos, floor, pi, sin, sqrt, tau

SPACING = sqrt(2)
RINGS = 5
# Against rounding: neighbours are this much further apart than they need to be.
SLACK = 1e-6

Place = tuple[float, float]


def ring_places(hops: Sequence[int], ties: Sequence[tuple[int, int]]) -> tuple[list[Place], int]:
    """The place of each node, in cells from the centre, and the number of rings.

    `hops` are distances from node 0, which is at the centre. The wish for each node is the middle
    of its part of a radial tree; it is placed as close to that as its ring allows.
    O(n log n + ties).
    """
    wished = _wished(hops, ties)
    places: list[Place] = [(0.0, 0.0)] * len(hops)
    rings = _rings(hops, wished)
    for ring, members in enumerate(rings, start=1):
        members.sort(key=lambda node: (wished[node], node))
        radius = ring * SPACING
        angles = _spread([wished[node] for node in members], 2 * asin(1 / (2 * ring)) + SLACK)
        for node, angle in zip(members, angles, strict=True):
            places[node] = (radius * cos(angle), radius * sin(angle))
    return places, len(rings)


def capacity(ring: int) -> int:
    """How many cells fit on a ring; rings are counted from 1."""
    return floor(tau / (2 * asin(1 / (2 * ring)) + SLACK) + 1e-5)


def _wished(hops: Sequence[int], ties: Sequence[tuple[int, int]]) -> list[float]:
    """The angle of each node in a radial tree: every leaf of the tree gets an equal share."""
    parents = [0] * len(hops)
    for one, other in (pair for tie in ties for pair in (tie, tie[::-1])):
        if hops[other] == hops[one] + 1 and (parents[other] == 0 or one < parents[other]):
            parents[other] = one
    children: dict[int, list[int]] = {node: [] for node in range(len(hops))}
    for node in range(1, len(hops)):
        children[parents[node]].append(node)
    outside_in = sorted(range(len(hops)), key=lambda node: -hops[node])
    leaves = [0] * len(hops)
    for node in outside_in:
        leaves[node] = sum(leaves[child] for child in children[node]) or 1
    starts = [-pi / 2] * len(hops)
    share = tau / leaves[0]
    for node in reversed(outside_in):
        start = starts[node]
        for child in children[node]:
            starts[child] = start
            start += leaves[child] * share
    return [start + own * share / 2 for start, own in zip(starts, leaves, strict=True)]


def _rings(hops: Sequence[int], wished: Sequence[float]) -> list[list[int]]:
    """The nodes on each ring."""
    order = sorted(range(1, len(hops)), key=lambda node: (hops[node], wished[node], node))
    rings: list[list[int]] = []
    for hop in sorted(set(hops[1:])):
        rings += _dealt([node for node in order if hops[node] == hop], len(rings) + 1)
    if len(rings) <= RINGS:
        return rings
    rings = []
    while order:
        size = capacity(len(rings) + 1)
        rings.append(order[:size])
        order = order[size:]
    return rings


def _dealt(members: list[int], first: int) -> list[list[int]]:
    """Nodes at one distance, spread evenly over as few rings as can hold them."""
    sizes: list[int] = []
    while sum(sizes) < len(members):
        sizes.append(capacity(first + len(sizes)))
    rings: list[list[int]] = [[] for _ in sizes]
    for node in members:
        fullness = [len(ring) / size for ring, size in zip(rings, sizes, strict=True)]
        rings[fullness.index(min(fullness))].append(node)
    return rings


def _spread(wished: list[float], gap: float) -> list[float]:
    """Angles at least `gap` apart and as close as possible to those wished, in the same order.

    The circle is cut where it is emptiest and the rest is an isotonic regression (least squares,
    by pooling neighbours that are too close). If the ends then overlap, all are spaced evenly.
    """
    count = len(wished)
    following = [*wished[1:], wished[0] + tau]
    widest = max(range(count), key=lambda place: following[place] - wished[place])
    cut = (widest + 1) % count
    line = wished[cut:] + [angle + tau for angle in wished[:cut]]
    pools: list[tuple[float, int]] = []
    for place, angle in enumerate(line):
        pools.append((angle - place * gap, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (late, many), (early, more) = pools[-2:]
            pools[-2:] = [((late * many + early * more) / (many + more), many + more)]
    level = [value for value, size in pools for _ in range(size)]
    found = [value + place * gap for place, value in enumerate(level)]
    if found[-1] - found[0] > tau - gap:
        step = tau / count
        turns = [angle - place * step for place, angle in enumerate(line)]
        turn = atan2(sum(map(sin, turns)), sum(map(cos, turns)))
        found = [turn + place * step for place in range(count)]
    return found[count - cut :] + found[: count - cut]
