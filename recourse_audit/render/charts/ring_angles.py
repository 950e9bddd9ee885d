"""Angles on rings around a subject: near whom a person is tied to, and never too close."""

from collections.abc import Sequence
from math import atan2, cos, pi, sin, tau


def tree_angles(hops: Sequence[int], ties: Sequence[tuple[int, int]]) -> list[float]:
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


def spread_angles(wished: list[float], gap: float) -> list[float]:
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
