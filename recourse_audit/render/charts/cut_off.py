"""Whom the options cut off: each group's share of dropped ties beside its share of droppable ties.

Equal shares mean that ties to the group are dropped as often as by chance.
"""

from dataclasses import dataclass

from recourse_audit.render.charts.svg import (
    SMALL,
    Drawing,
    Picture,
    Scale,
    percent,
    percent_axis,
    shortened,
)

WIDTH = 600
LEFT, RIGHT, ROW, TOP = 150, 470, 36, 12
LETTERS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class CutOffBar:
    """One group: its share of all ties that could be dropped, and of those that options drop.

    None where the group is too small to be shown.
    """

    group: str
    droppable: float | None
    dropped: float | None


def cut_off(groups: tuple[CutOffBar, ...]) -> Picture:
    """Two marks per group on one line: a hollow circle and a filled square."""
    bottom = TOP + ROW * len(groups)
    drawing = Drawing(WIDTH, bottom + 78, _words(groups))
    across = Scale(low=0, high=1, start=LEFT, end=RIGHT)
    percent_axis(drawing, across, TOP, bottom, "share of ties")
    for row, group in enumerate(groups):
        y = TOP + ROW * (row + 0.5)
        drawing.text(0, y + 4, shortened(group.group, LETTERS))
        if group.droppable is None or group.dropped is None:
            words = "too small to be shown"
            drawing.text(LEFT + 12, y + 4, words, fill="muted", font_size=SMALL)
            continue
        before, after = across(group.droppable), across(group.dropped)
        drawing.line(before, y, after, y, "muted", stroke_width=2)
        drawing.shape("circle", before, y, 6.5, fill="paper", stroke="class-0", stroke_width=2.5)
        drawing.shape("square", after, y, 6, fill="class-1", stroke="paper")
        words = f"{percent(group.droppable)} → {percent(group.dropped)}"
        drawing.text(RIGHT + 14, y + 4, words)
    y = bottom + 66
    drawing.shape("circle", 8, y - 4, 6.5, fill="paper", stroke="class-0", stroke_width=2.5)
    drawing.text(22, y, "of ties that could be dropped", font_size=SMALL)
    drawing.shape("square", 228, y - 4, 6, fill="class-1")
    drawing.text(242, y, "of ties that the options drop", font_size=SMALL)
    return drawing.picture()


def _words(groups: tuple[CutOffBar, ...]) -> str:
    sentences = ["Whom the advice cuts off: the share of ties that lead to each group."]
    for group in groups:
        if group.droppable is None or group.dropped is None:
            sentences.append(f"{group.group}: too small to be shown.")
        else:
            sentences.append(
                f"{group.group}: {percent(group.droppable)} of ties that could be dropped, "
                f"{percent(group.dropped)} of ties that the options drop."
            )
    return " ".join(sentences)
