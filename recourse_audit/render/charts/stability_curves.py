"""Stability as a chart: how far explanations move when the answer moves, as one SVG file."""

from collections.abc import Sequence
from math import ceil

from recourse_audit.records.subject import StabilityPoint, StabilityReport
from recourse_audit.render.charts.svg import Drawing, Scale, points

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 620, 76, 340
# Colour, mark and dash, so that the curves can be told apart without colour.
LOOKS = {"changed": ("class-1", "circle", None), "unchanged": ("class-0", "square", "6 4")}
TITLES = {
    "links": "Explanations when a new tie is made",
    "models": "Explanations when the model is perturbed",
}


def stability_picture(report: StabilityReport) -> str:
    """Mean Jaccard distance of explanations by how far the answer moved, one curve per outcome."""
    curves = {"changed": report.changed, "unchanged": report.unchanged}
    most = max((point.strength for points in curves.values() for point in points), default=0.0)
    most = max(ceil(10 * most), 1) / 10
    title = TITLES[report.kind]
    drawing = Drawing(WIDTH, HEIGHT, f"{title}. {_described(curves)}")
    drawing.add("rect", width=WIDTH, height=HEIGHT, fill="paper")
    drawing.text(LEFT, 24, title, font_size=16)
    across = Scale(low=0, high=most, start=LEFT, end=RIGHT)
    up = Scale(low=0, high=1, start=BOTTOM, end=TOP)
    _draw_axes(drawing, across, up, most)
    for place, (name, found) in enumerate(curves.items()):
        _draw_curve(drawing, name, found, across, up)
        _draw_key(drawing, name, sum(point.rows for point in found), 44 + 18 * place)
    return drawing.file()


def _described(curves: dict[str, tuple[StabilityPoint, ...]]) -> str:
    sentences = []
    for name, found in curves.items():
        values = ", ".join(f"{p.explanation:.2f} at {p.strength:.2f}" for p in found) or "none"
        sentences.append(f"Mean distance where the decision was {name}: {values}.")
    return " ".join(sentences)


def _draw_axes(drawing: Drawing, across: Scale, up: Scale, most: float) -> None:
    for step in range(6):
        share, strength = step / 5, step * most / 5
        x, y = across(strength), up(share)
        drawing.line(LEFT, y, RIGHT, y, "lines")
        drawing.text(LEFT - 8, y + 4, f"{share:.1f}", text_anchor="end", fill="muted")
        drawing.text(x, BOTTOM + 18, f"{strength:.2g}", text_anchor="middle", fill="muted")
    words = "move of the answer (total variation)"
    middle = (LEFT + RIGHT) / 2
    drawing.text(middle, BOTTOM + 42, words, text_anchor="middle", fill="muted")
    turned = f"translate(18 {(TOP + BOTTOM) / 2:.0f}) rotate(-90)"
    words = "mean Jaccard distance of explanations"
    drawing.add("text", words, transform=turned, text_anchor="middle", fill="muted")


def _draw_curve(
    drawing: Drawing, name: str, found: Sequence[StabilityPoint], across: Scale, up: Scale
) -> None:
    colour, mark, dashes = LOOKS[name]
    places = [(across(point.strength), up(point.explanation)) for point in found]
    drawing.add(
        "polyline",
        points=points(places),
        fill="none",
        stroke=colour,
        stroke_width=2.5,
        stroke_dasharray=dashes,
    )
    for x, y in places:
        drawing.shape(mark, x, y, 5, fill=colour)


def _draw_key(drawing: Drawing, name: str, rows: int, y: int) -> None:
    colour, mark, dashes = LOOKS[name]
    drawing.line(LEFT, y - 4, LEFT + 34, y - 4, colour, stroke_width=2.5, stroke_dasharray=dashes)
    drawing.shape(mark, LEFT + 17, y - 4, 5, fill=colour)
    drawing.text(LEFT + 44, y, f"decision {name} ({rows} comparisons)")
