"""The answers with data and places exchanged, one row each, with intervals on one axis.

Every figure is printed beside its mark, so that nothing has to be read off the axis.
"""

from collections.abc import Sequence

from recourse_audit.render.charts.svg import (
    SMALL,
    Drawing,
    Picture,
    Scale,
    figure,
    ticks,
    widened,
)
from recourse_audit.render.own_data import ALONE, AnswerRow

WIDTH = 640
LEFT, RIGHT, FIGURES, SHARES = 190, 410, 426, 640
ROW, TOP = 32, 30


def own_data_chart(rows: Sequence[AnswerRow], watched: str, *, scored: bool) -> Picture:
    """One row per answer; a probability's axis runs from 0 to 1."""
    low, high = 0.0, 1.0
    if scored:
        low, high = widened(min(row.low for row in rows), max(row.high for row in rows))
        room = (high - low) * 0.06
        low, high = low - room, high + room
    across = Scale(low=low, high=high, start=LEFT, end=RIGHT)
    bottom = TOP + ROW * len(rows)
    drawing = Drawing(WIDTH, bottom + 44, _words(rows, watched))
    drawing.text(SHARES, TOP - 14, "favourable", font_size=SMALL, fill="muted", text_anchor="end")
    along = ticks(low, high)
    for value in along:
        x = across(value)
        drawing.line(x, TOP - 6, x, bottom, "faint")
        words = figure(value, along[1] - along[0] if len(along) > 1 else 1)
        drawing.text(x, bottom + 16, words, fill="muted", font_size=SMALL, text_anchor="middle")
    drawing.text(
        (LEFT + RIGHT) / 2,
        bottom + 36,
        watched,
        fill="muted",
        font_size=SMALL,
        text_anchor="middle",
    )
    for place, row in enumerate(rows):
        _draw_row(drawing, row, across, TOP + ROW * (place + 0.5))
    return drawing.picture()


def _draw_row(drawing: Drawing, row: AnswerRow, across: Scale, y: float) -> None:
    drawing.line(0, y + ROW / 2, WIDTH, y + ROW / 2, "faint")
    drawing.text(0, y + 4, row.name)
    if row.high > row.low:
        drawing.line(across(row.low), y, across(row.high), y, "accent", stroke_width=4)
    shape, colour = ("circle", "class-1") if row.name == ALONE else ("diamond", "ink")
    drawing.shape(shape, across(row.mean), y, 6, fill=colour, stroke="paper")
    drawing.text(FIGURES, y + 4, row.words, font_size=SMALL)
    drawing.text(SHARES, y + 4, row.favourable, font_size=SMALL, text_anchor="end")


def _words(rows: Sequence[AnswerRow], watched: str) -> str:
    said = "; ".join(f"{row.name}: {row.words}, favourable: {row.favourable}" for row in rows)
    return f"The {watched} when data and places are exchanged. {said}."
