"""The share of people whom options serve: those of the rows above, then those of this row."""

from recourse_audit.render.charts.board import unbroken
from recourse_audit.render.charts.intervals import WIDE
from recourse_audit.render.charts.svg import Drawing, Picture

HEIGHT = 26.0


def served_strip(before: float, share: float, alt: str) -> Picture:
    """Outlined what the rows above serve, solid what this row adds; the rest is open ground."""
    drawing = Drawing(WIDE, HEIGHT, unbroken(alt))
    wide = WIDE - 1
    drawing.line(0.5, HEIGHT - 4, WIDE - 0.5, HEIGHT - 4, "axis")
    parts = ((0.0, before, "paper"), (before, share, "yes"))
    for start, size, fill in parts:
        if size > 0:
            drawing.add(
                "rect",
                x=0.5 + start * wide,
                y=4.0,
                width=max(size * wide, 1.0),
                height=HEIGHT - 8,
                fill=fill,
                stroke="yes",
            )
    return drawing.picture()
