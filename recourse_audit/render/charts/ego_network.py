"""Who is near a subject, and where each person is drawn so that no two labels overlap."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import asin, atan2, cos, floor, pi, sin, sqrt, tau

from recourse_audit.render.charts.histograms import Look
from recourse_audit.render.charts.svg import shortened, width_of

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


LIMIT = 60
RADIUS, SUBJECT_RADIUS, SUBJECT_RING = 7.0, 8.0, 12.5
LABEL, LABEL_LETTERS = 11, 7
LABEL_DROP, SUBJECT_DROP = 20.0, 24.0
# A cell holds a mark and its label: as high as the subject's, as wide as a short label.
CELL_HEIGHT, CELL_WIDTH = 37.0, 30.0
LEAST_ACROSS, LEAST_DOWN = 190.0, 130.0

Tie = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """One node of the picture; `decision` is empty where the model gave none.

    `label` is written at the mark, shortened if it is too long.
    """

    name: str
    label: str
    hops: int
    decision: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbourhood:
    """Who is near a subject, which ties explain the decision, and which of those are removed.

    The subject is the first of `people`, and ties name their ends by place; `total` counts
    everybody within `hops` hops, drawn or not.
    """

    people: tuple[Person, ...]
    ties: tuple[Tie, ...]
    explanation: tuple[Tie, ...]
    removed: tuple[Tie, ...]
    total: int
    hops: int
    looks: Mapping[str, Look]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The places of all marks and labels, in pixels of the picture."""

    places: tuple[Place, ...]
    labels: tuple[str, ...]
    width: float
    height: float
    rings: tuple[tuple[float, float], ...]


def labels_of(people: tuple[Person, ...]) -> tuple[str, ...]:
    """Labels short enough for a mark; those that would look alike become numbers."""
    short = [shortened(person.label, LABEL_LETTERS) for person in people]
    counts = Counter(short)
    return tuple(
        label if counts[label] == 1 else f"#{place}" for place, label in enumerate(short, start=1)
    )


def layout_of(shown: Neighbourhood) -> Layout:
    """Place everybody on rings whose cells are wide enough for the longest label."""
    labels = labels_of(shown.people)
    cell = max(CELL_WIDTH, 6 + max(width_of(label, LABEL) for label in labels))
    places, rings = ring_places([person.hops for person in shown.people], shown.ties)
    extent = max(rings, 1) * SPACING
    across = max(cell, LEAST_ACROSS / extent)
    down = max(CELL_HEIGHT, LEAST_DOWN / extent)
    middle_x, middle_y = extent * across + cell / 2 + 4, extent * down + SUBJECT_RING + 6
    return Layout(
        places=tuple((middle_x + x * across, middle_y + y * down) for x, y in places),
        labels=labels,
        width=2 * middle_x,
        height=middle_y + extent * down + SUBJECT_DROP + 6,
        rings=tuple((k * SPACING * across, k * SPACING * down) for k in range(1, rings + 1)),
    )


def limited(found: Neighbourhood) -> Neighbourhood:
    """Only the people in the explanation and the nearest, if there are too many for a picture."""
    if len(found.people) <= LIMIT:
        return found
    needed = {0, *(end for tie in found.explanation for end in tie)}
    ranked = sorted(
        range(len(found.people)), key=lambda place: (place not in needed, found.people[place].hops)
    )
    kept = sorted(ranked[:LIMIT])
    new = {old: place for place, old in enumerate(kept)}

    def renumbered(ties: tuple[Tie, ...]) -> tuple[Tie, ...]:
        return tuple((new[a], new[b]) for a, b in ties if a in new and b in new)

    return Neighbourhood(
        people=tuple(found.people[place] for place in kept),
        ties=renumbered(found.ties),
        explanation=renumbered(found.explanation),
        removed=renumbered(found.removed),
        total=found.total,
        hops=found.hops,
        looks=found.looks,
    )
