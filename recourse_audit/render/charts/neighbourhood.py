"""The neighbourhood of a subject and, in the same places, the explanation: a pair of pictures.

Colour and shape show the predicted class, a double line the subject, dashes what the
counterfactual removes. Labels never overlap. Of more than `LIMIT` people the nearest are drawn,
and the picture says out of how many.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from recourse_audit.render.charts.ego_network import (
    LABEL,
    LABEL_DROP,
    RADIUS,
    SUBJECT_DROP,
    SUBJECT_RADIUS,
    SUBJECT_RING,
    Layout,
    Neighbourhood,
    Tie,
    layout_of,
    limited,
)
from recourse_audit.render.charts.histograms import UNKNOWN, Look
from recourse_audit.render.charts.svg import Drawing, Picture, short, width_of
from recourse_audit.render.text import number, plain

KEY_LINE = 20.0
DASHES = "5 4"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two pictures with everybody in the same places: all who are near, and the explanation."""

    whole: Picture
    explanation: Picture


def neighbourhood_pair(found: Neighbourhood) -> Pair:
    """Draw everybody near the subject, and the explanation with everybody in the same place."""
    shown = limited(found)
    layout = layout_of(shown)
    return Pair(whole=_whole(shown, layout), explanation=_explanation(shown, layout))


def _whole(shown: Neighbourhood, layout: Layout) -> Picture:
    words = _classes_shown(shown)
    limit = (
        f"{len(shown.people)} of {shown.total:,} people are drawn, the nearest."
        if shown.total > len(shown.people)
        else ""
    )
    key = len(words) + 1 + bool(limit)
    drawing = Drawing(layout.width, layout.height + key * KEY_LINE, _whole_words(shown, limit))
    for across, down in layout.rings:
        x, y = layout.places[0]
        drawing.add("ellipse", cx=x, cy=y, rx=across, ry=down, fill="none", stroke="faint")
    special = {_either(tie) for tie in shown.explanation}
    plain_ties = [_ends(layout, tie) for tie in shown.ties if _either(tie) not in special]
    # One path for all of them, as a dense neighbourhood has over a thousand.
    path = "".join(f"M{short(a)} {short(b)}L{short(c)} {short(d)}" for a, b, c, d in plain_ties)
    drawing.add("path", d=path, fill="none", stroke="lines", stroke_width=1.2)
    _draw_explanation(drawing, shown, layout)
    for place in range(len(shown.people)):
        _draw_person(drawing, shown, layout, place)
    y = layout.height + 8
    for name in words:
        look = shown.looks.get(name, UNKNOWN)
        _draw_mark(drawing, look, 14, y, RADIUS, known=bool(name))
        drawing.text(30, y + 4, f"decided {name}" if name else "no decision", font_size=12)
        y += KEY_LINE
    drawing.add("circle", cx=14, cy=y, r=8, fill="none", stroke="ink", stroke_width=1.5)
    drawing.text(30, y + 4, "double line: the subject", font_size=12)
    if limit:
        drawing.text(6, y + 4 + KEY_LINE, limit, font_size=12, fill="muted")
    return drawing.picture()


def _explanation(shown: Neighbourhood, layout: Layout) -> Picture:
    drawing = Drawing(layout.width, layout.height + 3 * KEY_LINE, _explanation_words(shown))
    inside = {0, *(end for tie in shown.explanation for end in tie)}
    for place, (x, y) in enumerate(layout.places):
        if place not in inside:
            drawing.add("circle", cx=x, cy=y, r=3.5, fill="faint", stroke="lines")
    _draw_explanation(drawing, shown, layout)
    for place in sorted(inside):
        _draw_person(drawing, shown, layout, place)
    y = layout.height + 8
    drawing.line(4, y, 24, y, "ink", stroke_width=2.5)
    drawing.text(30, y + 4, "kept in the counterfactual", font_size=12)
    y += KEY_LINE
    drawing.line(4, y, 24, y, "ink", stroke_width=2.5, stroke_dasharray=DASHES)
    drawing.text(30, y + 4, "removed by the counterfactual", font_size=12)
    y += KEY_LINE
    drawing.add("circle", cx=14, cy=y, r=3.5, fill="faint", stroke="lines")
    drawing.text(30, y + 4, "not part of the explanation", font_size=12)
    return drawing.picture()


def _draw_explanation(drawing: Drawing, shown: Neighbourhood, layout: Layout) -> None:
    removed = {_either(tie) for tie in shown.removed}
    for tie in shown.explanation:
        dashes = DASHES if _either(tie) in removed else None
        drawing.line(*_ends(layout, tie), "ink", stroke_width=2.5, stroke_dasharray=dashes)


def _ends(layout: Layout, tie: Tie) -> tuple[float, float, float, float]:
    return *layout.places[tie[0]], *layout.places[tie[1]]


def _draw_person(drawing: Drawing, shown: Neighbourhood, layout: Layout, place: int) -> None:
    person, label, (x, y) = shown.people[place], layout.labels[place], layout.places[place]
    look = shown.looks.get(person.decision, UNKNOWN)
    group = drawing.group(class_="named")
    hops = "the subject" if place == 0 else f"{number(person.hops, 'hop')} away"
    drawing.add("title", f"{person.name}: {person.decision or 'no decision'}, {hops}", group)
    drop = LABEL_DROP
    if place == 0:
        drop = SUBJECT_DROP
        drawing.add(
            "circle",
            "",
            group,
            cx=x,
            cy=y,
            r=SUBJECT_RING,
            fill="paper",
            stroke="ink",
            stroke_width=1.5,
        )
    width = width_of(label, LABEL)
    drawing.add(
        "rect",
        "",
        group,
        x=x - width / 2,
        y=y + drop - 9.5,
        width=width,
        height=12.0,
        rx=2,
        fill="paper",
        fill_opacity=0.85,
    )
    radius = RADIUS if place else SUBJECT_RADIUS
    _draw_mark(drawing, look, x, y, radius, known=bool(person.decision), within=group)
    weight = None if place else 700
    drawing.text(
        x, y + drop, label, within=group, font_size=LABEL, text_anchor="middle", font_weight=weight
    )


def _draw_mark(
    drawing: Drawing,
    look: Look,
    x: float,
    y: float,
    radius: float,
    *,
    known: bool,
    within: Element | None = None,
) -> None:
    """A mark in the colour and shape of its class; hollow where there is no decision."""
    fill, stroke = (look.colour, "ink") if known else ("paper", "muted")
    drawing.shape(
        look.shape, x, y, radius, within=within, fill=fill, stroke=stroke, stroke_width=0.8
    )


def _classes_shown(shown: Neighbourhood) -> list[str]:
    """The classes that the key explains: those that somebody in the picture has."""
    found = {person.decision for person in shown.people}
    return [name for name in shown.looks if name in found] + ([""] if "" in found else [])


def _either(tie: Tie) -> Tie:
    """A tie, the same from whichever end it is named."""
    return (min(tie), max(tie))


def _whole_words(shown: Neighbourhood, limit: str) -> str:
    """Everybody in the picture, by distance and decision."""
    subject = shown.people[0]
    others = number(len(shown.people) - 1, "other node")
    sentences = [
        f"The neighbourhood of {subject.name}, decided {subject.decision or 'nothing'}.",
        f"{others} within {number(shown.hops, 'hop')}, {number(len(shown.ties), 'tie')}.",
        limit,
    ]
    for hop in sorted({person.hops for person in shown.people[1:]}):
        there = [person for person in shown.people[1:] if person.hops == hop]
        parts = []
        for name in dict.fromkeys(person.decision for person in there):
            names = ", ".join(person.name for person in there if person.decision == name)
            parts.append(f"decided {name or 'nothing'}: {names}")
        sentences.append(f"{number(hop, 'hop')} away, {'; '.join(parts)}.")
    return " ".join(sentence for sentence in sentences if sentence)


def _explanation_words(shown: Neighbourhood) -> str:
    removed = {_either(tie) for tie in shown.removed}
    kept = [tie for tie in shown.explanation if _either(tie) not in removed]
    return (
        f"The explanation of {shown.people[0].name} in the same places: "
        f"{number(len(shown.explanation), 'tie')}. "
        f"Removed by the counterfactual: {_listed(shown, shown.removed)}. "
        f"Kept: {_listed(shown, kept)}."
    )


def _listed(shown: Neighbourhood, ties: Iterable[Tie]) -> str:
    names = (f"{shown.people[a].name} - {shown.people[b].name}" for a, b in ties)
    return plain(", ".join(names)) or "none"
