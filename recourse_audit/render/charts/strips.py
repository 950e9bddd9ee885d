"""Charts as tables: one small drawing per row, all rows on one axis, words in the other cells.

A strip holds marks only, so that a row can wrap, stack on a phone, and be read without it; the
last row of a chart is `axis_row`, with the figures of the axis. A line where the decision turns, or
at zero, is always drawn.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from recourse_audit.render.charts.svg import Drawing, Picture, Scale

HEIGHT = 26.0
WIDTH = 320.0
EDGE = 10.0  # room for a mark at either end
RADIUS = 5.0
HEAD = 5.0  # half the height of an arrow's head

# Solid, tinted and dashed can be told apart without colour.
Part = Literal["yes", "no", "open"]
Mark = Literal["circle", "diamond", "square"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """What all rows of a chart share: the range, the line, the shaded part, and the ticks.

    `shade` is a range, such as the side on which the decision is favourable.
    """

    low: float
    high: float
    ticks: tuple[float, ...] = ()
    line: float | None = None
    shade: tuple[float, float] | None = None
    width: float = WIDTH

    @property
    def scale(self) -> Scale:
        return Scale(low=self.low, high=self.high, start=EDGE, end=self.width - EDGE)

    def __call__(self, value: float) -> float:
        """The place of a value; one beyond the range is drawn at its end."""
        return self.scale(min(max(value, self.low), self.high))


class Strip:
    """The drawing of one row; marks are added from the back to the front."""

    def __init__(self, axis: Axis, alt: str, height: float = HEIGHT) -> None:
        self._axis = axis
        self._middle = height / 2
        self._drawing = Drawing(axis.width, height, alt)
        _background(self._drawing, axis, height)

    def dot(
        self, value: float, *, filled: bool = True, mark: Mark = "circle", colour: str = "yes"
    ) -> "Strip":
        """A mark at a value: filled, or hollow for a reference and for where something began."""
        self._drawing.shape(
            mark,
            self._axis(value),
            self._middle,
            RADIUS,
            fill=colour if filled else "paper",
            stroke=colour,
            stroke_width=2,
        )
        return self

    def arrow(self, before: float, after: float, *, colour: str = "yes") -> "Strip":
        """From a hollow dot to where a change leads; no arrow where nothing moves to be seen."""
        start, end = self._axis(before), self._axis(after)
        y = self._middle
        if abs(end - start) > RADIUS:
            towards = 1 if end > start else -1
            self._drawing.line(start, y, end - towards * HEAD, y, colour, stroke_width=2.5)
            corners = ((end, y), (end - towards * 8, y - HEAD), (end - towards * 8, y + HEAD))
            points = " ".join(f"{x:.1f},{height:.1f}" for x, height in corners)
            self._drawing.add("polygon", points=points, fill=colour)
        return self.dot(before, filled=False, colour=colour)

    def interval(
        self,
        value: float,
        low: float,
        high: float,
        *,
        filled: bool = False,
        mark: Mark = "diamond",
        colour: str = "ink",
    ) -> "Strip":
        """A value with its interval; filled where a claim is made of it."""
        width = 3 if filled else 1.5
        y = self._middle
        self._drawing.line(self._axis(low), y, self._axis(high), y, colour, stroke_width=width)
        return self.dot(value, filled=filled, mark=mark, colour=colour)

    def tick(self, value: float, *, colour: str = "ink") -> "Strip":
        """A short tick at a value to compare with, such as that of the reference."""
        x, y = self._axis(value), self._middle
        self._drawing.line(x, y - 8, x, y + 8, colour, stroke_width=2)
        return self

    def span(self, start: float, end: float, *, colour: str = "yes") -> "Strip":
        """A thick line between two values."""
        y = self._middle
        self._drawing.line(self._axis(start), y, self._axis(end), y, colour, stroke_width=3)
        return self

    def bar(self, parts: Sequence[tuple[Part, float]]) -> "Strip":
        """Stacked shares from the low end: solid for yes, tinted for no, dashed for open."""
        top, height = 3.0, 2 * self._middle - 6
        at = self._axis.low
        for kind, share in parts:
            if share <= 0:
                continue
            left, right = self._axis(at), self._axis(at + share)
            fill = {"yes": "yes", "no": "no-tint", "open": "paper"}[kind]
            self._drawing.add(
                "rect",
                x=left,
                y=top,
                width=max(right - left, 1.0),
                height=height,
                fill=fill,
                stroke=kind,
                stroke_dasharray="4 3" if kind == "open" else None,
            )
            at += share
        return self

    def figure(self, value: float, words: str, *, on: Part | None = None) -> "Strip":
        """A figure whose left end is at a value; `on` says what part of a bar it stands on."""
        colour = "paper" if on == "yes" else "ink"
        self._drawing.text(
            self._axis(value) + 6,
            self._middle + 4.5,
            words,
            fill=colour,
            font_size=13,
            font_weight=600 if on == "yes" else None,
        )
        return self

    def picture(self) -> Picture:
        """The finished drawing."""
        return self._drawing.picture()


def axis_row(axis: Axis, figures: Sequence[str], alt: str = "") -> Picture:
    """The last row of a chart: the figures at the ticks, and in words its two ends."""
    ends = " … ".join(dict.fromkeys((*figures[:1], *figures[-1:])))
    drawing = Drawing(axis.width, 20, alt or ends)
    for place, words in zip(axis.ticks, figures, strict=True):
        x = axis(place)
        anchor = "middle"
        if x < 20:
            x, anchor = 0.0, "start"
        elif x > axis.width - 20:
            x, anchor = axis.width, "end"
        drawing.text(x, 14, words, fill="muted", font_size=12, text_anchor=anchor)
    return drawing.picture()


def _background(drawing: Drawing, axis: Axis, height: float) -> None:
    if axis.shade is not None:
        left, right = (axis(end) for end in axis.shade)
        drawing.add("rect", x=left, y=0, width=right - left, height=height, fill="shade")
    for tick in axis.ticks:
        x = axis(tick)
        drawing.line(x, 0, x, height, "lines", stroke_width=1)
    if axis.line is not None:
        x = axis(axis.line)
        drawing.line(x, 0, x, height, "ink", stroke_width=1.5)
