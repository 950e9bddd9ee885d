"""Gaps between groups as a forest plot: each gap with two intervals and its verdict in words.

The thick interval allows for people who are tied being alike; the thin, dashed one assumes
independent people and is often too narrow.
"""

from dataclasses import dataclass

from recourse_audit.render.charts.svg import (
    SMALL,
    Drawing,
    Picture,
    Scale,
    figure,
    shortened,
    ticks,
    widened,
)

WIDTH = 640
NAMES, LEFT, RIGHT, VERDICT = 0, 170, 446, 462
ROW, TOP = 40, 34
LETTERS = 22

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """One comparison in percentage points.

    `difference` is None where it is not shown, and then `verdict` says why.
    """

    name: str
    difference: float | None
    on_graph: Interval | None
    ordinary: Interval | None
    verdict: str


def intervals(gaps: tuple[Gap, ...], measure: str) -> Picture:
    """One row per gap, around the line of no difference; `measure` says what is compared."""
    ends = [0.0]
    for gap in gaps:
        ends += [gap.difference or 0.0, *(gap.on_graph or ()), *(gap.ordinary or ())]
    low, high = widened(min(ends), max(ends))
    room = (high - low) * 0.06
    across = Scale(low=low - room, high=high + room, start=LEFT, end=RIGHT)
    bottom = TOP + ROW * len(gaps)
    drawing = Drawing(WIDTH, bottom + 84, _words(gaps, measure))
    _draw_axis(drawing, across, bottom, measure)
    for row, gap in enumerate(gaps):
        _draw_gap(drawing, gap, across, TOP + ROW * (row + 0.5))
    _draw_key(drawing, bottom + 66)
    return drawing.picture()


def _draw_axis(drawing: Drawing, across: Scale, bottom: float, measure: str) -> None:
    along = ticks(across.low, across.high)
    for value in along:
        x = across(value)
        drawing.line(x, TOP - 6, x, bottom, "faint")
        words = figure(value, along[1] - along[0] if len(along) > 1 else 1)
        drawing.text(x, bottom + 16, words, fill="muted", font_size=SMALL, text_anchor="middle")
    zero = across(0)
    drawing.line(zero, TOP - 10, zero, bottom, "ink", stroke_width=1.4)
    drawing.text(
        zero, TOP - 16, "no difference", font_size=SMALL, fill="muted", text_anchor="middle"
    )
    drawing.text(
        (LEFT + RIGHT) / 2,
        bottom + 36,
        measure,
        fill="muted",
        font_size=SMALL,
        text_anchor="middle",
    )


def _draw_gap(drawing: Drawing, gap: Gap, across: Scale, y: float) -> None:
    drawing.line(0, y + ROW / 2, WIDTH, y + ROW / 2, "faint")
    drawing.text(NAMES, y + 4, shortened(gap.name, LETTERS))
    drawing.text(VERDICT, y + 4, gap.verdict, font_size=SMALL)
    if gap.difference is None:
        return
    if gap.on_graph is not None:
        low, high = (across(end) for end in gap.on_graph)
        drawing.line(low, y - 4, high, y - 4, "accent", stroke_width=4)
    if gap.ordinary is not None:
        low, high = (across(end) for end in gap.ordinary)
        drawing.line(low, y + 6, high, y + 6, "muted", stroke_width=1.5, stroke_dasharray="4 3")
    drawing.shape("diamond", across(gap.difference), y - 4, 6, fill="ink", stroke="paper")


def _draw_key(drawing: Drawing, y: float) -> None:
    drawing.shape("diamond", 8, y - 4, 6, fill="ink")
    drawing.text(20, y, "difference", font_size=SMALL)
    drawing.line(110, y - 4, 138, y - 4, "accent", stroke_width=4)
    drawing.text(146, y, "interval, allowing for ties", font_size=SMALL)
    drawing.line(330, y - 4, 358, y - 4, "muted", stroke_width=1.5, stroke_dasharray="4 3")
    drawing.text(366, y, "ordinary interval, for comparison", font_size=SMALL)


def _words(gaps: tuple[Gap, ...], measure: str) -> str:
    sentences = [f"Gaps between groups: {measure}."]
    for gap in gaps:
        if gap.difference is None:
            sentences.append(f"{gap.name}: not shown, {gap.verdict}.")
            continue
        parts = [f"{gap.difference:+.1f}"]
        if gap.on_graph is not None:
            low, high = gap.on_graph
            parts.append(f"interval {low:+.1f} to {high:+.1f}")
        if gap.ordinary is not None:
            low, high = gap.ordinary
            parts.append(f"ordinary interval {low:+.1f} to {high:+.1f}")
        sentences.append(f"{gap.name}: {', '.join(parts)}: {gap.verdict}.")
    return " ".join(sentences)
