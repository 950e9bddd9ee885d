"""How much effort the cheapest option takes: a curve per group that ends in those without one.

The curve is the share of everybody audited with an option up to each effort. People without an
option are never left out: what the curve leaves up to 100 % is a bar beside it, tinted where none
exists, dashed where that is not decided.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from recourse_audit.render.charts.board import unbroken
from recourse_audit.render.charts.svg import (
    Drawing,
    Picture,
    Scale,
    figure,
    points,
    short,
    ticks,
)

WIDTH, HEIGHT = 320.0, 64.0
LEFT, RIGHT = 44.0, 280.0  # of the curve; the bar is beside it
TOP, BOTTOM = 8.0, 58.0
BAR = 288.0, 312.0
SMALL = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class EffortCurve:
    """At each effort, the share with an option of at most that much; then those without one."""

    steps: tuple[tuple[float, float], ...]
    none: float
    open: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EffortAxis:
    """The efforts that all curves of a chart share."""

    most: float

    @property
    def scale(self) -> Scale:
        return Scale(low=0.0, high=self.most, start=LEFT, end=RIGHT)


def effort_axis(curves: Sequence[EffortCurve]) -> EffortAxis:
    """From nothing to the largest effort of any curve."""
    found = [effort for curve in curves for effort, _ in curve.steps]
    return EffortAxis(most=max(found, default=1.0) or 1.0)


def effort_strip(
    axis: EffortAxis, curve: EffortCurve, percents: tuple[str, str], alt: str
) -> Picture:
    """One group; `percents` are the words for none and all of its people."""
    drawing = Drawing(WIDTH, HEIGHT, unbroken(alt))
    across, up = axis.scale, Scale(low=0.0, high=1.0, start=BOTTOM, end=TOP)
    for share, words in zip((0.0, 1.0), percents, strict=True):
        y = up(share)
        drawing.line(LEFT, y, RIGHT, y, "lines")
        drawing.text(
            LEFT - 4, y + 4, unbroken(words), fill="muted", font_size=11, text_anchor="end"
        )
    served = curve.steps[-1][1] if curve.steps else 0.0
    path = [f"M{short(across(0))} {short(up(0))}"]
    corners = [(across(0), up(0))]
    for effort, share in curve.steps:
        path.append(f"H{short(across(effort))}V{short(up(share))}")
        corners += [(across(effort), corners[-1][1]), (across(effort), up(share))]
    path.append(f"H{short(RIGHT)}")
    corners += [(RIGHT, corners[-1][1]), (RIGHT, up(0))]
    drawing.add("polygon", points=points(corners), fill="shade")
    drawing.add("path", d="".join(path), fill="none", stroke="yes", stroke_width=2.2)
    _draw_bar(drawing, up, served, curve)
    return drawing.picture()


def _draw_bar(drawing: Drawing, up: Scale, served: float, curve: EffortCurve) -> None:
    start, end = BAR
    parts = (
        (0.0, served, "yes", "yes", None),
        (served, curve.none, "no-tint", "no", None),
        (served + curve.none, curve.open, "paper", "open", "4 3"),
    )
    for low, share, fill, stroke, dashes in parts:
        if share > 0:
            drawing.add(
                "rect",
                x=start,
                y=up(low + share),
                width=end - start,
                height=max(up(low) - up(low + share), 1.0),
                fill=fill,
                stroke=stroke,
                stroke_dasharray=dashes,
            )


def effort_ticks(axis: EffortAxis) -> Picture:
    """The last row of a chart: the efforts along the axis, and in words its two ends."""
    along = ticks(0, axis.most)
    step = along[1] - along[0] if len(along) > 1 else 1
    figures = [figure(value, step) for value in along]
    drawing = Drawing(WIDTH, 20, " … ".join(dict.fromkeys((*figures[:1], *figures[-1:]))))
    for value, words in zip(along, figures, strict=True):
        drawing.text(
            axis.scale(value), 14, words, fill="muted", font_size=SMALL, text_anchor="middle"
        )
    return drawing.picture()
