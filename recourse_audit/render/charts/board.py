"""The drawings of the board block: one small drawing per group, on one scale of shares or points.

Solid is favourable, tinted unfavourable, dashed not decided; what is hollow is the reference, or
where something began. These survive greyscale and paper.
"""

from collections.abc import Sequence
from math import ceil, floor

from recourse_audit.records.group_figures import Verdict
from recourse_audit.render.charts.strips import Axis, Mark, Part, Strip
from recourse_audit.render.charts.svg import Drawing, Picture, width_of

NO_BREAK = "\N{NO-BREAK SPACE}"
NARROW = 280.0  # a card's, which is three to a page
TALL = 30.0
FIGURES = 15.0
# Where an axis of shares may end, so that small shares can be told apart.
ENDS = (0.1, 0.25, 0.5, 1.0)
STEP = 0.2  # between the ticks of gaps
HIGH = 36.0  # of a row of gaps: two lines of words beside it
MARKS: dict[Verdict, Mark] = {
    "gap shown": "diamond",
    "not settled": "diamond",
    "no gap": "circle",
}


def unbroken(words: str) -> str:
    """Words for a drawing, where lines never break: no-break spaces would be written out."""
    return words.replace(NO_BREAK, " ")


def shares_axis(shares: Sequence[float]) -> Axis:
    """From nothing to the first round share that none exceeds."""
    end = next(end for end in ENDS if max(shares, default=1.0) <= end or end == ENDS[-1])
    return Axis(low=0.0, high=end, ticks=(0.0, end / 2, end), width=NARROW)


def share_strip(axis: Axis, share: float, reference: float | None, alt: str) -> Picture:
    """A share against that of the reference, which is hollow; the reference itself is alone."""
    strip = Strip(axis, unbroken(alt))
    if reference is None:
        return strip.dot(share, filled=False).picture()
    return strip.span(reference, share).dot(reference, filled=False).dot(share).picture()


def move_strip(axis: Axis, before: float, after: float, alt: str) -> Picture:
    """From a share on own data alone to the share as decided."""
    return Strip(axis, unbroken(alt)).arrow(before, after).picture()


def parts_strip(parts: Sequence[tuple[Part, float, str]], alt: str) -> Picture:
    """A bar of shares that add up to one, each with its figure where it fits."""
    drawing = Drawing(NARROW, TALL, unbroken(alt))
    at = 0.5
    for kind, share, figure in parts:
        wide = share * (NARROW - 1)
        if share <= 0:
            continue
        drawing.add(
            "rect",
            x=at,
            y=1.0,
            width=max(wide, 1.0),
            height=TALL - 2,
            fill={"yes": "yes", "no": "no-tint", "open": "paper"}[kind],
            stroke=kind,
            stroke_dasharray="4 3" if kind == "open" else None,
        )
        if wide > width_of(unbroken(figure), FIGURES) + 8:
            drawing.text(
                at + 7,
                TALL / 2 + 5.5,
                unbroken(figure),
                fill="paper" if kind == "yes" else "ink",
                font_size=FIGURES,
                font_weight=600 if kind == "yes" else None,
            )
        at += wide
    return drawing.picture()


def gaps_axis(values: Sequence[float], concern: float) -> Axis:
    """All gaps and the ends of their intervals, in steps; shaded from the gap of concern on."""
    low = max(-1.0, STEP * floor(min([-STEP, *values]) / STEP + 1e-9))
    high = min(1.0, STEP * ceil(max([2 * STEP, concern + STEP, *values]) / STEP - 1e-9))
    first, last = round(low / STEP), round(high / STEP)
    every = 1 if last - first <= 6 else 2
    ticks = tuple(STEP * place for place in range(first, last + 1) if place % every == 0)
    return Axis(low=low, high=high, ticks=ticks, line=0.0, shade=(concern, high), width=240.0)


def gap_strip(
    axis: Axis, gap: float, ends: tuple[float, float] | None, verdict: Verdict, alt: str
) -> Picture:
    """A gap with its interval; filled where a gap is shown, a circle where there is none."""
    mark = MARKS[verdict]
    colour = "muted" if verdict == "no gap" else "ink"
    strip = Strip(axis, unbroken(alt), HIGH)
    if ends is None:
        return strip.dot(gap, filled=False, mark=mark, colour=colour).picture()
    shown = verdict == "gap shown"
    return strip.interval(gap, *ends, filled=shown, mark=mark, colour=colour).picture()
