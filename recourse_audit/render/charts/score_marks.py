"""A score on several graphs, one row each, against the line that decides.

The figures are printed beside the marks, so that nothing has to be read off them.
"""

from collections.abc import Sequence
from typing import Literal

from recourse_audit.render.answers import amount
from recourse_audit.render.charts.svg import SMALL, Drawing, Picture

NAME, AXIS, FIGURE, ROW, TOP = 130, 300, 90, 28, 30
ROOM = 0.12  # of the range, on either side of it


def score_marks(
    values: Sequence[tuple[str, float]],
    line: float | None,
    *,
    better: Literal["higher", "lower"],
) -> Picture:
    """One mark per graph, on one axis; the favourable side of the line is to the right."""
    every = [value for _, value in values] + ([] if line is None else [line])
    low, high = min(every), max(every)
    room = (high - low) * ROOM or 1.0
    low, high = low - room, high + room
    height = TOP + ROW * len(values) + 6
    drawing = Drawing(NAME + AXIS + FIGURE, height, _words(values, line, better))

    def x(value: float) -> float:
        part = (value - low) / (high - low)
        return NAME + AXIS * (part if better == "higher" else 1 - part)

    if line is not None:
        at = x(line)
        drawing.add(
            "rect", x=at, y=TOP - 4, width=NAME + AXIS - at, height=ROW * len(values), fill="faint"
        )
        drawing.add("line", x1=at, x2=at, y1=TOP - 4, y2=height - 6, stroke="ink")
        drawing.text(at, 16, f"line {amount(line)}", font_size=SMALL, text_anchor="middle")
    for row, (name, value) in enumerate(values):
        y = TOP + row * ROW + 9
        drawing.text(0, y + 4.5, name)
        drawing.shape("circle", x(value), y, 6, fill="class-0")
        drawing.text(NAME + AXIS + 8, y + 4.5, amount(value), font_size=SMALL)
    return drawing.picture()


def _words(
    values: Sequence[tuple[str, float]], line: float | None, better: Literal["higher", "lower"]
) -> str:
    scores = ", ".join(f"{amount(value)} on the {name}" for name, value in values)
    rule = "" if line is None else f" The line is {amount(line)}; {better} is better."
    return f"The score: {scores}.{rule}"
