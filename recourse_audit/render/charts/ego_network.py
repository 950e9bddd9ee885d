"""Who is near a subject, and where each person is drawn so that no two labels overlap."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from recourse_audit.render.charts.classes import Look
from recourse_audit.render.charts.rings import SPACING, Place, ring_places
from recourse_audit.render.charts.svg import shortened, width_of

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
