"""Stability as a picture: how far explanations move as the answer does, as one SVG file."""

from collections.abc import Sequence
from math import ceil
from xml.etree import ElementTree as Xml

from recourse_audit.records import StabilityPoint, StabilityReport

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 620, 76, 340
INK, GREY, PAPER, LINES = "#1a1a1a", "#333333", "#ffffff", "#d9d9d9"
# Safe for the colour-blind, and told apart by mark and dash as well.
COLOURS = {"changed": "#b35806", "unchanged": "#2166ac"}
DASHES = {"changed": "none", "unchanged": "6 4"}
TITLES = {
    "links": "Explanations when a new tie is made",
    "models": "Explanations when the model is perturbed",
}


def stability_picture(report: StabilityReport) -> str:
    """Mean Jaccard distance of explanations over the move of the answer, changed and unchanged."""
    curves = {"changed": report.changed, "unchanged": report.unchanged}
    most = max((point.strength for points in curves.values() for point in points), default=0.0)
    most = max(ceil(10 * most), 1) / 10
    picture = Xml.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {WIDTH} {HEIGHT}",
            "role": "img",
            "font-family": "sans-serif",
            "font-size": "13",
        },
    )
    _add(picture, "title", TITLES[report.kind])
    _add(picture, "desc", _described(curves))
    _add(picture, "rect", width=WIDTH, height=HEIGHT, fill=PAPER)
    _add(picture, "text", TITLES[report.kind], x=LEFT, y=24, font_size=16, fill=INK)
    _draw_axes(picture, most)
    for place, (name, points) in enumerate(curves.items()):
        _draw_curve(picture, name, points, most)
        _draw_key(picture, name, sum(point.rows for point in points), 44 + 18 * place)
    Xml.indent(picture)
    return Xml.tostring(picture, encoding="unicode") + "\n"


def _add(parent: Xml.Element, tag: str, text: str = "", **attributes: object) -> None:
    named = {
        name.replace("_", "-"): f"{value:.1f}" if isinstance(value, float) else str(value)
        for name, value in attributes.items()
    }
    Xml.SubElement(parent, tag, named).text = text or None


def _described(curves: dict[str, tuple[StabilityPoint, ...]]) -> str:
    sentences = []
    for name, points in curves.items():
        values = ", ".join(f"{p.explanation:.2f} at {p.strength:.2f}" for p in points) or "none"
        sentences.append(f"Mean distance where the decision was {name}: {values}.")
    return " ".join(sentences)


def _place(strength: float, distance: float, most: float) -> tuple[float, float]:
    return LEFT + (RIGHT - LEFT) * strength / most, BOTTOM - (BOTTOM - TOP) * distance


def _draw_axes(picture: Xml.Element, most: float) -> None:
    for step in range(6):
        share, strength = step / 5, step * most / 5
        x, y = _place(strength, share, most)
        words = f"{strength:.2g}"
        _add(picture, "line", x1=LEFT, x2=RIGHT, y1=y, y2=y, stroke=LINES)
        _add(picture, "text", f"{share:.1f}", x=LEFT - 8, y=y + 4, text_anchor="end", fill=GREY)
        _add(picture, "text", words, x=x, y=BOTTOM + 18, text_anchor="middle", fill=GREY)
    across, up = (LEFT + RIGHT) / 2, (TOP + BOTTOM) / 2
    words = "move of the answer (total variation)"
    _add(picture, "text", words, x=across, y=BOTTOM + 42, text_anchor="middle", fill=GREY)
    turned = f"translate(18 {up:.0f}) rotate(-90)"
    words = "mean Jaccard distance of explanations"
    _add(picture, "text", words, transform=turned, text_anchor="middle", fill=GREY)


def _draw_curve(
    picture: Xml.Element, name: str, points: Sequence[StabilityPoint], most: float
) -> None:
    places = [_place(point.strength, point.explanation, most) for point in points]
    _add(
        picture,
        "polyline",
        points=" ".join(f"{x:.1f},{y:.1f}" for x, y in places),
        fill="none",
        stroke=COLOURS[name],
        stroke_width=2.5,
        stroke_dasharray=DASHES[name],
    )
    for x, y in places:
        _draw_mark(picture, name, x, y)


def _draw_mark(picture: Xml.Element, name: str, x: float, y: float) -> None:
    if name == "changed":
        _add(picture, "circle", cx=x, cy=y, r=5, fill=COLOURS[name])
    else:
        _add(picture, "rect", x=x - 4.5, y=y - 4.5, width=9, height=9, fill=COLOURS[name])


def _draw_key(picture: Xml.Element, name: str, rows: int, y: int) -> None:
    _add(
        picture,
        "line",
        x1=LEFT,
        x2=LEFT + 34,
        y1=y - 4,
        y2=y - 4,
        stroke=COLOURS[name],
        stroke_width=2.5,
        stroke_dasharray=DASHES[name],
    )
    _draw_mark(picture, name, LEFT + 17.0, y - 4.0)
    _add(picture, "text", f"decision {name} ({rows} comparisons)", x=LEFT + 44, y=y, fill=INK)
