"""Common options: the few kinds of change that together serve most of the people refused."""

from dataclasses import dataclass

from recourse_audit.render.pictures.axes import SMALL, Scale, percent, percent_axis
from recourse_audit.render.pieces import number
from recourse_audit.render.svg import Drawing, Picture, shortened

LIMIT = 10
WIDTH = 620
LEFT, RIGHT, ROW, TOP = 210, 500, 32, 12
LETTERS = 28


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonOption:
    """A kind of change, the share of people it serves, and of those served by it or one before.

    `share` is None where it serves too few to be shown.
    """

    change: str
    share: float | None
    together: float | None


def common_options(options: tuple[CommonOption, ...]) -> Picture:
    """A bar for each kind of change, and a mark for how many all so far serve together."""
    shown = options[:LIMIT]
    bottom = TOP + ROW * len(shown)
    drawing = Drawing(WIDTH, bottom + 78, _words(options))
    across = Scale(low=0, high=1, start=LEFT, end=RIGHT)
    percent_axis(drawing, across, TOP, bottom, "share of the people refused")
    for row, option in enumerate(shown):
        y = TOP + ROW * (row + 0.5)
        drawing.text(0, y + 4, shortened(option.change, LETTERS))
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


def _words(options: tuple[CommonOption, ...]) -> str:
    sentences = ["Kinds of change, and the share of the people refused that each serves."]
    for option in options:
        if option.share is None:
            sentences.append(f"{option.change}: too few to be shown.")
            continue
        together = "" if option.together is None else f", {percent(option.together)} so far"
        sentences.append(f"{option.change}: {percent(option.share)}{together}.")
    return " ".join(sentences)
