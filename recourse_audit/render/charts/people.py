"""The marks of people: a disc if decided favourably, a square if not, a ring around the subject.

A disc is solid, a square tinted, and the mark of somebody without a decision hollow and dashed, so
that they can be told apart without colour.
"""

from xml.etree.ElementTree import Element

from recourse_audit.render.charts.svg import Drawing

RING = 1.75  # the radius of the subject's ring, in radii of a mark
DASHES = "5 4"


def draw_person(
    drawing: Drawing,
    x: float,
    y: float,
    radius: float,
    *,
    favourable: bool | None,
    subject: bool = False,
    within: Element | None = None,
) -> None:
    """One mark; `favourable` is None where there is no decision."""
    if subject:
        drawing.add(
            "circle",
            "",
            within,
            cx=x,
            cy=y,
            r=RING * radius,
            fill="paper",
            stroke="ink",
            stroke_width=1.5,
        )
    if favourable is None:
        drawing.add(
            "circle",
            "",
            within,
            cx=x,
            cy=y,
            r=radius,
            fill="paper",
            stroke="open",
            stroke_dasharray="3 2",
        )
        return
    fill, stroke = ("yes", "yes") if favourable else ("no-tint", "no")
    shape = "circle" if favourable else "square"
    drawing.shape(shape, x, y, radius, within=within, fill=fill, stroke=stroke, stroke_width=1.5)
