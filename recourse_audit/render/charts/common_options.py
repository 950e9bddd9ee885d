"""Common options: the few kinds of change that together serve most of the refused and audited."""

from dataclasses import dataclass
from itertools import accumulate
from textwrap import wrap

from recourse_audit.render.charts.svg import (
    SMALL,
    Drawing,
    Picture,
    Scale,
    percent,
    percent_axis,
    shortened,
)
from recourse_audit.render.text import number, plain

LIMIT = 10
WIDTH = 620
LEFT, RIGHT, ROW, TOP = 210, 500, 32, 12
LETTERS = 28
LINE, MOST_LINES = 15, 4
WHOSE = "share of those refused and audited"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonOption:
    """A kind of change, the share of people it serves, and the share that it or one before serves.

    `share` is None where it serves too few to be shown.
    """

    change: str
    share: float | None
    together: float | None


def common_options(options: tuple[CommonOption, ...]) -> Picture:
    """A bar per kind of change, and a mark for how many are served so far."""
    shown = options[:LIMIT]
    labels = [_lines(option.change) for option in shown]
    tops = [*accumulate((max(ROW, LINE * len(one) + 4) for one in labels), initial=TOP)]
    bottom = tops[-1]
    drawing = Drawing(WIDTH, bottom + 78, _words(options))
    across = Scale(low=0, high=1, start=LEFT, end=RIGHT)
    percent_axis(drawing, across, TOP, bottom, WHOSE)
    for row, option in enumerate(shown):
        y = (tops[row] + tops[row + 1]) / 2
        for place, line in enumerate(labels[row]):
            drawing.text(0, y + 4 + LINE * (place - (len(labels[row]) - 1) / 2), line)
        if option.share is None:
            drawing.text(LEFT + 12, y + 4, "too few to be shown", fill="muted", font_size=SMALL)
            continue
        width = across(option.share) - LEFT
        drawing.add("rect", x=LEFT, y=y - 9, width=width, height=18, fill="class-0")
        words = percent(option.share)
        if option.together is not None:
            x = across(option.together)
            drawing.line(x, y - 12, x, y + 12, "class-1", stroke_width=3)
            words = f"{words} · {percent(option.together)}"
        drawing.text(RIGHT + 14, y + 4, words)
    y = bottom + 66
    drawing.add("rect", x=2, y=y - 12, width=22, height=14, fill="class-0")
    drawing.text(30, y, "served by this kind of change", font_size=SMALL)
    drawing.line(246, y - 14, 246, y + 3, "class-1", stroke_width=3)
    drawing.text(256, y, "by this one or one above", font_size=SMALL)
    if len(options) > LIMIT:
        words = f"{number(len(options) - LIMIT, 'more kind')} in the table"
        drawing.text(WIDTH, y, words, fill="muted", font_size=SMALL, text_anchor="end")
    return drawing.picture()


def _lines(change: str) -> list[str]:
    """A kind of change wrapped to a few lines; only what is still too long is cut."""
    lines = wrap(plain(change), LETTERS, break_on_hyphens=False) or [""]
    if len(lines) > MOST_LINES:
        rest = " ".join(lines[MOST_LINES - 1 :])
        lines = [*lines[: MOST_LINES - 1], shortened(rest, LETTERS)]
    return lines


def _words(options: tuple[CommonOption, ...]) -> str:
    sentences = [f"Kinds of change, and the {WHOSE} that each serves."]
    for option in options:
        if option.share is None:
            sentences.append(f"{option.change}: too few to be shown.")
            continue
        together = "" if option.together is None else f", {percent(option.together)} so far"
        sentences.append(f"{option.change}: {percent(option.share)}{together}.")
    return " ".join(sentences)
