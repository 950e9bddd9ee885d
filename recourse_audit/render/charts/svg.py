"""A small SVG builder: named colours, short numbers, escaped text, a text alternative.

A colour is written twice: as a plain attribute, which prints and which every program understands,
and as a class (`fill-ink`), through which the style sheet of a page adapts it to dark mode.
Programs that make PDFs do not know `var()` in SVG and would paint it black.
"""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from math import cos, floor, log10, pi, sin
from xml.etree import ElementTree as Xml

from recourse_audit.render.text import plain

# Safe for the colour-blind (Okabe and Ito); templates/styles/tokens.css has the same names.
COLOURS = {
    "ink": "#1b1f24",
    "muted": "#57606a",
    "lines": "#d0d7de",
    "faint": "#eaeef2",
    "paper": "#ffffff",
    "accent": "#0b5cad",
    "yes": "#0072b2",
    "no": "#b34700",
    "no-tint": "#fde3cf",
    "open": "#6e7781",
    "axis": "#8c959f",
    "shade": "#eaeef2",
    "class-0": "#0072b2",
    "class-1": "#d55e00",
    "class-2": "#009e73",
    "class-3": "#cc79a7",
    "class-4": "#e69f00",
    "class-5": "#56b4e9",
    "class-other": "#57606a",
}
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
    """An SVG drawing that elements are added to; `width` and `height` are in pixels."""

    def __init__(self, width: float, height: float, alt: str) -> None:
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
            },
        )
        self.add("title", self._alt)

    def add(
        self, tag: str, words: str = "", within: Xml.Element | None = None, /, **values: object
    ) -> Xml.Element:
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
        parent = self._root if within is None else within
        element = Xml.SubElement(parent, tag, named)
        element.text = plain(words) or None
        return element

    def group(self, *, within: Xml.Element | None = None, **values: object) -> Xml.Element:
        """A group of elements."""
        return self.add("g", "", within, **values)

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        within: Xml.Element | None = None,
        fill: str = "ink",
        **values: object,
    ) -> Xml.Element:
        """A line of text."""
        return self.add("text", words, within, x=float(x), y=float(y), fill=fill, **values)

    def line(
        self,
        x1: float,
        y1: float,
        x2: float,
        y2: float,
        stroke: str,
        *,
        within: Xml.Element | None = None,
        **values: object,
    ) -> Xml.Element:
        """A straight line."""
        ends = {"x1": float(x1), "y1": float(y1), "x2": float(x2), "y2": float(y2)}
        return self.add("line", "", within, stroke=stroke, **ends, **values)

    def shape(
        self,
        name: str,
        x: float,
        y: float,
        radius: float,
        *,
        within: Xml.Element | None = None,
        **values: object,
    ) -> Xml.Element:
        """A circle, or another shape that looks as large."""
        if name == "circle":
            return self.add(
                "circle", "", within, cx=float(x), cy=float(y), r=float(radius), **values
            )
        corners, turn, factor = _CORNERS[name]
        angles = [turn + 2 * pi * corner / corners for corner in range(corners)]
        size = radius * factor
        return self.add(
            "polygon",
            "",
            within,
            points=points((x + size * cos(angle), y + size * sin(angle)) for angle in angles),
            **values,
        )

    def picture(self) -> Picture:
        """The finished drawing."""
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


def shortened(words: str, most: int) -> str:
    """Text cut to `most` characters, in the middle, as ids often differ at their end."""
    words = plain(words)
    if len(words) <= most:
        return words
    tail = (most - 1) // 2
    return f"{words[: most - 1 - tail]}…{words[len(words) - tail :]}"


SMALL = 12


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


def widened(low: float, high: float) -> tuple[float, float]:
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
