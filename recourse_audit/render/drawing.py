"""Small drawings: an SVG builder, and charts as tables with one drawing per row on one axis.

A colour is written twice: as a plain attribute, which prints and which every program understands,
and as a class (`fill-ink`), through which the style sheet of a page adapts it to dark mode.
Programs that make PDFs do not know `var()` in SVG and would paint it black.

A row's drawing holds marks only, so that a row can wrap, stack on a phone, and be read without it.
Everywhere a ring is how it is, a disc how it would be with a change, a tick a value to compare,
a square with a line an estimate with its interval; shaded are gaps of concern or more, either way.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, cos, floor, log10, pi, sin
from typing import Literal
from xml.etree import ElementTree as Xml

from recourse_audit.records.group_figures import Interval
from recourse_audit.records.recourse import Survival
from recourse_audit.render.templates import template_folder
from recourse_audit.render.text import plain

# Those of the light page that have a class for pictures.
_SHEET = (template_folder() / "styles" / "tokens.css").read_text(encoding="utf-8")
_LIGHT = re.findall(
    r"--([\w-]+): (#[0-9a-f]{6});", _SHEET.partition("prefers-color-scheme: dark")[0]
)
COLOURS = {name: colour for name, colour in _LIGHT if f".fill-{name} {{" in _SHEET}
SHAPES = ("circle", "square", "diamond", "triangle", "pentagon", "hexagon")
# Corners of a shape, its rotation, and its radius relative to a circle that looks as large.
_CORNERS = {
    "square": (4, pi / 4, 1.22),
    "diamond": (4, 0.0, 1.25),
    "triangle": (3, -pi / 2, 1.3),
    "pentagon": (5, -pi / 2, 1.15),
    "hexagon": (6, 0.0, 1.12),
}
FONTS = "'Source Sans 3', 'Source Sans 3 Extended', system-ui, sans-serif"
SMALL = 12
STRIP, EDGE = 26.0, 10.0  # the height of a row, and room for a mark at either end
RADIUS = 5.0
# Solid, tinted and dashed can be told apart without colour.
Part = Literal["refused", "yes", "no", "open"]
FILLS = {"refused": "no", "yes": "yes", "no": "no-tint", "open": "paper"}
STROKES = {"refused": "no", "yes": "yes", "no": "no", "open": "open"}
Mark = Literal["circle", "diamond", "square"]
_NARROW = frozenset("iljftrI.,:;'|!()[]-/ ")
_BROAD = frozenset("mwMW@%…—")


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A drawing as SVG, and its text alternative."""

    svg: str
    alt: str

    def __html__(self) -> str:
        """Goes into a page unchanged: the builder has escaped whatever came from a user's files."""
        return self.svg


class Drawing:
    """An SVG drawing that elements are added to; `width` and `height` are in pixels.

    With `stretch` it fills whatever room the page gives it, as a bar may.
    """

    def __init__(self, width: float, height: float, alt: str, *, stretch: bool = False) -> None:
        self._alt = plain(alt)
        self._root = Xml.Element(
            "svg",
            {
                "xmlns": "http://www.w3.org/2000/svg",
                "viewBox": f"0 0 {short(width)} {short(height)}",
                "width": short(width),
                "height": short(height),
                "role": "img",
                "font-family": FONTS,
                "font-size": "13",
                **({"preserveAspectRatio": "none"} if stretch else {}),
            },
        )
        self.add("title", self._alt)

    def add(self, tag: str, words: str = "", /, **values: object) -> None:
        """Draw one element; `fill` and `stroke` take the name of a colour, or none."""
        named: dict[str, str] = {}
        classes: list[str] = []
        for name, value in values.items():
            attribute = name.rstrip("_").replace("_", "-")
            if attribute in ("fill", "stroke") and value in COLOURS:
                classes.append(f"{attribute}-{value}")
                named[attribute] = COLOURS[str(value)]
            elif attribute == "class":
                classes.append(str(value))
            elif value is not None:
                named[attribute] = short(value) if isinstance(value, float) else str(value)
        if classes:
            named["class"] = " ".join(classes)
        Xml.SubElement(self._root, tag, named).text = plain(words) or None

    def part(self, kind: Part, x: float, y: float, width: float, height: float) -> None:
        """A part of a bar: at least so large that it is seen."""
        box = {"x": x, "y": y, "width": max(width, 1.0), "height": max(height, 1.0)}
        dashes = "3 2" if kind == "open" else None
        look = {"fill": FILLS[kind], "stroke": STROKES[kind], "stroke_width": 1.25}
        self.add("rect", **box, **look, stroke_dasharray=dashes)

    def text(self, x: float, y: float, words: str, *, fill: str = "ink", **values: object) -> None:
        self.add("text", words, x=float(x), y=float(y), fill=fill, **values)

    def line(
        self, x1: float, y1: float, x2: float, y2: float, stroke: str, **values: object
    ) -> None:
        ends = {"x1": float(x1), "y1": float(y1), "x2": float(x2), "y2": float(y2)}
        self.add("line", stroke=stroke, **ends, **values)

    def shape(self, name: str, x: float, y: float, radius: float, **values: object) -> None:
        """A circle, or another shape that looks as large."""
        if name == "circle":
            self.add("circle", cx=float(x), cy=float(y), r=float(radius), **values)
            return
        corners, turn, factor = _CORNERS[name]
        angles = [turn + 2 * pi * corner / corners for corner in range(corners)]
        size = radius * factor
        places = points((x + size * cos(angle), y + size * sin(angle)) for angle in angles)
        self.add("polygon", points=places, **values)

    def picture(self) -> Picture:
        return Picture(svg=Xml.tostring(self._root, encoding="unicode"), alt=self._alt)

    def file(self) -> str:
        """The finished drawing as a file of its own, one element per line."""
        Xml.indent(self._root)
        return Xml.tostring(self._root, encoding="unicode") + "\n"


def short(value: object) -> str:
    """A number with at most two decimals and no trailing zeros."""
    words = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if words == "-0" else words


def points(places: Iterable[tuple[float, float]]) -> str:
    """Corners in the syntax of a polygon or polyline."""
    return " ".join(f"{short(x)},{short(y)}" for x, y in places)


def width_of(words: str, size: float) -> float:
    """An upper bound on the width of a line of text, in any sans-serif font."""
    return size * sum(_width(letter) for letter in plain(words))


def _width(letter: str) -> float:
    if letter in _NARROW:
        return 0.42
    if letter in _BROAD or unicodedata.east_asian_width(letter) in "WF":
        return 1.02
    return 0.78 if letter.isupper() else 0.65


def shorten(words: str, most: int) -> str:
    """Text cut to `most` characters, in the middle, as ids often differ at their end."""
    words = plain(words)
    if len(words) <= most:
        return words
    tail = (most - 1) // 2
    return f"{words[: most - 1 - tail]}…{words[len(words) - tail :]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Maps values to pixels along one axis; `start` may be larger than `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def widen(low: float, high: float) -> tuple[float, float]:
    """A range that can be drawn, even if all values are equal."""
    if high - low > 1e-9 * max(abs(low), abs(high), 1e-3):
        return low, high
    room = abs(low) / 10 or 0.5
    return low - room, high + room


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round values within a range, at most about as many as asked for."""
    rough = (high - low) / most
    power = 10.0 ** floor(log10(rough))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= rough * (1 - 1e-9))
    first = -floor(-low / step + 1e-9)
    last = floor(high / step + 1e-9)
    return [place * step for place in range(first, last + 1)]


def figure(value: float, step: float) -> str:
    """A tick's value with as many decimals as the step between ticks needs."""
    decimals = max(0, -floor(log10(step) + 1e-9))
    words = f"{value:.{decimals}f}"
    return words.removeprefix("-") if float(words) == 0 else words


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """What all rows of a chart share: the range, the line, the shaded part, and the ticks."""

    low: float
    high: float
    ticks: tuple[float, ...] = ()
    line: float | None = None
    shade: float | None = None
    width: float = 320.0

    def __call__(self, value: float) -> float:
        """The place of a value; one beyond the range is drawn at its end."""
        scale = Scale(low=self.low, high=self.high, start=EDGE, end=self.width - EDGE)
        return scale(min(max(value, self.low), self.high))


class Strip:
    """The drawing of one row; marks are added from the back to the front.

    The line of the axis, where the decision turns or at zero, is always drawn.
    """

    def __init__(self, axis: Axis, alt: str, height: float = STRIP) -> None:
        self._axis = axis
        self._middle = height / 2
        self._drawing = drawing = Drawing(axis.width, height, alt)
        for start, end in (
            ((axis.low, -axis.shade), (axis.shade, axis.high)) if axis.shade is not None else ()
        ):
            if start < end:
                left, right = axis(start), axis(end)
                drawing.add("rect", x=left, y=0, width=right - left, height=height, fill="shade")
        for tick in axis.ticks:
            drawing.line(axis(tick), 0, axis(tick), height, "lines", stroke_width=1)
        if axis.line is not None:
            drawing.line(axis(axis.line), 0, axis(axis.line), height, "ink", stroke_width=1.5)

    def dot(
        self, value: float, *, filled: bool = True, mark: Mark = "circle", colour: str = "yes"
    ) -> "Strip":
        """A mark at a value: filled, or hollow for how it is."""
        fill, x = colour if filled else "paper", self._axis(value)
        self._drawing.shape(mark, x, self._middle, RADIUS, fill=fill, stroke=colour, stroke_width=2)
        return self

    def estimate(self, value: float, interval: Interval | Survival | None) -> "Strip":
        """A square, on the line of its interval where that is known."""
        if interval is not None:
            self.span(interval.low, interval.high, colour="ink")
        return self.dot(value, mark="square", colour="ink")

    def tick(self, value: float, *, colour: str = "ink") -> "Strip":
        """A short tick at a value to compare with, such as that of the reference."""
        x, y = self._axis(value), self._middle
        self._drawing.line(x, y - 8, x, y + 8, colour, stroke_width=2)
        return self

    def span(self, start: float, end: float, *, colour: str = "yes", thick: float = 3) -> "Strip":
        left, right, y = self._axis(start), self._axis(end), self._middle
        self._drawing.line(left, y, right, y, colour, stroke_width=thick)
        return self

    def bar(self, parts: Iterable[tuple[Part, float]]) -> "Strip":
        """Stacked shares from the low end."""
        start = self._axis.low
        for kind, share in parts:
            if share > 0:
                left, right = self._axis(start), self._axis(start + share)
                self._drawing.part(kind, left, 3.0, right - left, 2 * self._middle - 6)
                start += share
        return self

    def picture(self) -> Picture:
        return self._drawing.picture()


def axis_row(axis: Axis, figures: Sequence[str], alt: str = "") -> Picture:
    """The last row of a chart: the figures at the ticks, and in words its two ends."""
    return _row_of_figures(map(axis, axis.ticks), figures, axis.width, alt)


def _row_of_figures(
    places: Iterable[float], figures: Sequence[str], width: float, alt: str = ""
) -> Picture:
    ends = " … ".join(dict.fromkeys((*figures[:1], *figures[-1:])))
    drawing = Drawing(width, 20, alt or ends)
    for place, words in zip(places, figures, strict=True):
        x, anchor = place, "middle"
        if x < 20:
            x, anchor = 0.0, "start"
        elif x > width - 20:
            x, anchor = width, "end"
        drawing.text(x, 14, words, fill="muted", font_size=SMALL, text_anchor=anchor)
    return drawing.picture()


# ---------------------------------------------------------------------- shares and gaps

CARD = 240.0  # as wide as a card, and as a panel of gaps
GAP_ROW = 40.0  # two lines of words beside it
STEP = 0.2  # between the ticks of gaps


def share_bar(alt: str, *parts: tuple[Part, float]) -> Picture:
    """Shares one after the other, on a line from nothing to everybody."""
    drawing, start = Drawing(CARD, 16.0, alt, stretch=True), 0.75
    drawing.line(0.0, 15.5, CARD, 15.5, "lines")
    for kind, share in parts:
        if share > 0:
            drawing.part(kind, start, 1.5, share * (CARD - 1.5), 13.0)
            start += share * (CARD - 1.5)
    return drawing.picture()


def gaps_axis(values: Sequence[float], concern: float) -> Axis:
    """All gaps and the ends of their intervals, in steps; shaded beyond the gap of concern."""
    low = max(-1.0, STEP * floor(min([-STEP, *values]) / STEP + 1e-9))
    high = min(1.0, STEP * ceil(max([2 * STEP, concern + STEP, *values]) / STEP - 1e-9))
    first, last = round(low / STEP), round(high / STEP)
    every = 2 if last - first <= 6 else 4
    places = tuple(STEP * place for place in range(first, last + 1) if place % every == 0)
    return Axis(low=low, high=high, ticks=places, line=0.0, shade=concern, width=CARD)


# ---------------------------------------------------------------------- effort

CURVE = Scale(low=0.0, high=1.0, start=58.0, end=8.0)  # shares, from the bottom to the top
LEFT, RIGHT = 44.0, 280.0  # of the curve; the bar is beside it
BAR = 288.0, 24.0


def effort_strip(
    steps: Sequence[tuple[float, float]],
    rest: Sequence[tuple[Part, float]],
    most: float,
    percents: tuple[str, str],
    alt: str,
) -> Picture:
    """At each effort the share with an option of at most that much; beside it a bar of everybody.

    People without an option are never left out: `rest` is what the curve leaves up to 100 %.
    `percents` are the words for none and all of the people.
    """
    drawing = Drawing(320.0, 64.0, alt)
    across = Scale(low=0.0, high=most, start=LEFT, end=RIGHT)
    for share, words in zip((0.0, 1.0), percents, strict=True):
        y = CURVE(share)
        drawing.line(LEFT, y, RIGHT, y, "lines")
        drawing.text(LEFT - 4, y + 4, words, fill="muted", font_size=SMALL, text_anchor="end")
    corners = [(LEFT, CURVE(0))]
    for effort, share in steps:
        corners += [(across(effort), corners[-1][1]), (across(effort), CURVE(share))]
    corners.append((RIGHT, corners[-1][1]))
    drawing.add("polyline", points=points(corners), fill="none", stroke="yes", stroke_width=2.2)
    below = 0.0
    for kind, share in [("yes", steps[-1][1] if steps else 0.0), *rest]:
        if share > 0:
            top = CURVE(below + share)
            drawing.part(kind, BAR[0], top, BAR[1], CURVE(below) - top)
            below += share
    return drawing.picture()


def effort_ticks(most: float) -> Picture:
    """The last row of a chart of efforts: the figures along the axis, and in words its two ends."""
    along = ticks(0, most)
    step = along[1] - along[0] if len(along) > 1 else 1
    figures = [figure(value, step) for value in along]
    across = Scale(low=0.0, high=most, start=LEFT, end=RIGHT)
    return _row_of_figures(map(across, along), figures, 320.0)
