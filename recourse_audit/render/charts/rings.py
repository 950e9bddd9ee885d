"""A neighbourhood in rings: the subject in the middle, direct ties around it, others further out.

Only the subject, direct ties and the ends of removed ties have labels; one that would cover
something is left out. Removed ties are dashed and carry the number of their counterfactual.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import cos, hypot, pi, sin

from recourse_audit.render.charts.people import DASHES, RING, draw_person
from recourse_audit.render.charts.ring_angles import spread_angles, tree_angles
from recourse_audit.render.charts.svg import Drawing, Picture, short, shortened, width_of

OUTERMOST = 3  # whoever is further away is drawn here
GAP, FIRST, SPACING, FLAT = 19.0, 84.0, 84.0, 1.3
RADIUS, DIRECT = 5.5, 7.5
LABEL, LETTERS, SHORTER = 12, 26, (13, 7)
DISC, LETTER = 9.0, 7.0
PARTS = (0.5, 0.7, 0.35, 0.8)  # of a removed tie, where its number may stand
MARGIN = 22.0

Tie = tuple[int, int]
Place = tuple[float, float]
Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """One person of the picture; `favourable` is None where there is no decision.

    `label` is empty where none is wanted; `tip` is what pointing at the mark says.
    """

    hops: int
    favourable: bool | None
    label: str
    tip: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """Who is around a subject, who is the first of `people`; ties name their ends by place.

    `removed` has each removed tie and the numbers of the counterfactuals that remove it.
    """

    people: tuple[Person, ...]
    ties: tuple[Tie, ...]
    removed: Mapping[Tie, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What is written at a mark, shortened if need be, and the box it takes up."""

    words: str
    box: Box


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The places of marks, of the discs on removed ties, and the boxes of labels that fit."""

    width: float
    height: float
    places: tuple[Place, ...]
    discs: Mapping[Tie, Place]
    labels: Mapping[int, Label]


def rings(found: Around, alt: str) -> Picture:
    """Draw everybody around the subject."""
    layout = layout_of(found)
    drawing = Drawing(layout.width, layout.height, alt)
    _draw_ties(drawing, found, layout)
    for place, person in enumerate(found.people):
        x, y = layout.places[place]
        group = drawing.group(class_="named")
        drawing.add("title", person.tip, group)
        draw_person(
            drawing,
            x,
            y,
            _radius(person),
            favourable=person.favourable,
            subject=place == 0,
            within=group,
        )
        label = layout.labels.get(place)
        if label is not None:
            box = label.box
            drawing.add(
                "rect",
                "",
                group,
                x=box[0],
                y=box[1],
                width=box[2] - box[0],
                height=box[3] - box[1],
                rx=2,
                fill="paper",
                fill_opacity=0.85,
            )
            drawing.text(
                (box[0] + box[2]) / 2,
                box[3] - 3.5,
                label.words,
                within=group,
                font_size=LABEL,
                font_weight=None if place else 700,
                text_anchor="middle",
            )
    return drawing.picture()


def _draw_ties(drawing: Drawing, found: Around, layout: Layout) -> None:
    gone = {frozenset(tie): number for tie, number in found.removed.items()}
    plain = [tie for tie in found.ties if 0 not in tie and frozenset(tie) not in gone]
    path = "".join(
        f"M{short(a)} {short(b)}L{short(c)} {short(d)}"
        for (a, b), (c, d) in ((layout.places[one], layout.places[other]) for one, other in plain)
    )
    drawing.add("path", d=path, fill="none", stroke="lines", stroke_width=1)
    for one, other in found.ties:
        if 0 in (one, other) and frozenset((one, other)) not in gone:
            drawing.line(*layout.places[one], *layout.places[other], "ink", stroke_width=1.5)
    for one, other in found.removed:
        ends = (*layout.places[one], *layout.places[other])
        drawing.line(*ends, "no", stroke_width=2, stroke_dasharray=DASHES)
    for tie, number in found.removed.items():
        x, y = layout.discs[tie]
        width = 2 * DISC + LETTER * (len(number) - 1)
        box = {"x": x - width / 2, "y": y - DISC, "width": width, "height": 2 * DISC, "rx": DISC}
        drawing.add("rect", fill="paper", stroke="no", stroke_width=1.5, **box)
        drawing.text(
            x, y + 4.5, number, fill="no", font_size=LABEL, font_weight=700, text_anchor="middle"
        )


def _radius(person: Person) -> float:
    return DIRECT if person.hops <= 1 else RADIUS


def layout_of(found: Around) -> Layout:
    """Everybody on the ring of their distance, in the order of a radial tree. O(n log n + ties)."""
    hops = [person.hops for person in found.people]
    wished = tree_angles(hops, found.ties)
    places: list[Place] = [(0.0, 0.0)] * len(hops)
    radius = 0.0
    for ring in range(1, OUTERMOST + 1):
        members = [
            place for place, hop in enumerate(hops) if place and min(max(hop, 1), OUTERMOST) == ring
        ]
        if not members:
            continue
        members.sort(key=lambda place: (wished[place], place))
        least = FIRST if not radius else radius + SPACING
        radius = max(least, len(members) * GAP / (2 * pi))
        angles = spread_angles([wished[place] for place in members], GAP / radius)
        for place, angle in zip(members, angles, strict=True):
            places[place] = (FLAT * radius * cos(angle), radius * sin(angle))
    across = max(FLAT * radius + MARGIN, 150.0)
    down = radius + MARGIN
    placed = tuple((x + across, y + down) for x, y in places)
    discs = _discs(found, placed)
    return Layout(
        width=2 * across,
        height=2 * down,
        places=placed,
        discs=discs,
        labels=_labels(found, placed, discs, (2 * across, 2 * down)),
    )


def _discs(found: Around, places: Sequence[Place]) -> dict[Tie, Place]:
    """Where the number of each removed tie stands: in its middle, unless another stands there."""
    discs: dict[Tie, Place] = {}
    for tie in found.removed:
        (x1, y1), (x2, y2) = (places[end] for end in tie)
        wished = [(x1 + part * (x2 - x1), y1 + part * (y2 - y1)) for part in PARTS]
        free = (
            one
            for one in wished
            if all(hypot(one[0] - x, one[1] - y) > 2 * DISC for x, y in discs.values())
        )
        discs[tie] = next(free, wished[0])
    return discs


def _labels(
    found: Around,
    places: Sequence[Place],
    discs: Mapping[Tie, Place],
    size: tuple[float, float],
) -> dict[int, Label]:
    """The boxes of the labels that fit, in order: the subject, removed ties, direct ties."""
    marks = [
        _around(place, _radius(person) * (RING if not number else 1.3))
        for number, (place, person) in enumerate(zip(places, found.people, strict=True))
    ]
    taken = list(marks)
    for tie, number in found.removed.items():
        (x, y), half = discs[tie], DISC + 1 + LETTER * (len(number) - 1) / 2
        taken.append((x - half, y - DISC - 1, x + half, y + DISC + 1))
    ends = [end for tie in found.removed for end in tie]
    labels: dict[int, Label] = {}
    for place in dict.fromkeys((0, *sorted(ends), *range(len(found.people)))):
        others = [box for number, box in enumerate(taken) if number != place]
        label = _fitting(found.people[place].label, places[place], others, size, first=not place)
        if label is not None:
            labels[place] = label
            taken.append(label.box)
    return labels


def _fitting(
    words: str, place: Place, others: Sequence[Box], size: tuple[float, float], *, first: bool
) -> Label | None:
    """A label that covers nothing, shortened further if it must be; None if there is no room."""
    for letters in dict.fromkeys((LETTERS, *SHORTER)) if words else ():
        said = shortened(words, letters)
        for box in _candidates(place, said, first=first):
            inside = box[0] >= 0 and box[1] >= 0 and box[2] <= size[0] and box[3] <= size[1]
            if inside and not any(overlap(box, one) for one in others):
                return Label(words=said, box=box)
    return None


def _around(place: Place, reach: float) -> Box:
    x, y = place
    return x - reach, y - reach, x + reach, y + reach


def _candidates(place: Place, label: str, *, first: bool) -> Iterable[Box]:
    """Below, above, to the right, to the left, and further off in the same order."""
    x, y = place
    width, height = width_of(label, LABEL) + 4, LABEL + 4.0
    reach = (DIRECT * RING if first else DIRECT) + 3
    for more in (0.0, 9.0):
        off = reach + more
        yield x - width / 2, y + off, x + width / 2, y + off + height
        yield x - width / 2, y - off - height, x + width / 2, y - off
        yield x + off, y - height / 2, x + off + width, y + height / 2
        yield x - off - width, y - height / 2, x - off, y + height / 2


def overlap(one: Box, other: Box) -> bool:
    """Whether two boxes have a point in common."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
