"""The drawings of the board block: bars of shares, and gaps with their intervals, on one scale.

Solid orange is refused, solid blue has an option, tinted has none, dashed is unfinished; these can
be told apart in greyscale. A square with a line is an estimate with its interval; shaded is worse.
"""

from collections.abc import Sequence
from math import ceil, floor
from typing import Literal

from recourse_audit.records.group_figures import Interval
from recourse_audit.render.charts.strips import Axis, Strip
from recourse_audit.render.charts.svg import Drawing, Picture

NO_BREAK = "\N{NO-BREAK SPACE}"
WIDE, TALL = 240.0, 16.0
STEP = 0.2  # between the ticks of gaps
HIGH = 40.0  # of a row of gaps: two lines of words beside it
Part = Literal["refused", "yes", "no", "open"]
FILLS = {"refused": "no", "yes": "yes", "no": "no-tint", "open": "paper"}
STROKES = {"refused": "no", "yes": "yes", "no": "no", "open": "open"}


def unbroken(words: str) -> str:
    """Words for a drawing, where lines never break: no-break spaces would be written out."""
    return words.replace(NO_BREAK, " ")


def share_bar(parts: Sequence[tuple[Part, float]], alt: str) -> Picture:
    """Shares one after the other, on a line from nothing to everybody."""
    drawing = Drawing(WIDE, TALL, unbroken(alt))
    drawing.line(0.0, TALL - 0.5, WIDE, TALL - 0.5, "lines")
    start = 0.75
    for kind, share in parts:
        if share > 0:
            drawing.add(
                "rect",
                x=start,
                y=1.5,
                width=max(share * (WIDE - 1.5), 1.0),
                height=TALL - 3,
                fill=FILLS[kind],
                stroke=STROKES[kind],
                stroke_width=1.25,
                stroke_dasharray="3 2" if kind == "open" else None,
            )
            start += share * (WIDE - 1.5)
    return drawing.picture()


def gaps_axis(values: Sequence[float], concern: float) -> Axis:
    """All gaps and the ends of their intervals, in steps; shaded from the gap of concern on."""
    low = max(-1.0, STEP * floor(min([-STEP, *values]) / STEP + 1e-9))
    high = min(1.0, STEP * ceil(max([2 * STEP, concern + STEP, *values]) / STEP - 1e-9))
    first, last = round(low / STEP), round(high / STEP)
    every = 1 if last - first <= 3 else 2 if last - first <= 6 else 4
    ticks = tuple(STEP * place for place in range(first, last + 1) if place % every == 0)
    return Axis(low=low, high=high, ticks=ticks, line=0.0, shade=(concern, high), width=WIDE)


def gap_strip(axis: Axis, gap: float, interval: Interval | None, alt: str) -> Picture:
    """A square at a gap, on the line of its interval where that is known."""
    strip = Strip(axis, unbroken(alt), HIGH)
    if interval is None:
        return strip.dot(gap, mark="square", colour="ink").picture()
    ends = (interval.low, interval.high)
    return strip.interval(gap, *ends, filled=True, mark="square").picture()
