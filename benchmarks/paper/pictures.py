"""Line charts for the page: a few series, distinguished by colour, mark and dash."""

from collections.abc import Mapping, Sequence

from recourse_audit.render.drawing import (
    SHAPES,
    SMALL,
    Drawing,
    Scale,
    figure,
    points,
    ticks,
    widen,
    width_of,
)

# One per line of a chart, so that lines can be told apart without colour.
DASHES = (None, "7 4", "2 3", "9 3 2 3", "4 2", "12 4")
WIDTH, HEIGHT = 640, 380
LEFT, TOP, BOTTOM = 74, 52, 316
LETTER = 12
Series = Sequence[tuple[float, float]]


def lines(title: str, across_words: str, up_words: str, series: Mapping[str, Series]) -> str:
    """Draw a chart as SVG; each series is labelled at its right end."""
    drawn = {name: sorted(found) for name, found in series.items() if found}
    drawing = Drawing(WIDTH, HEIGHT, f"{title}. {_described(drawn)}")
    drawing.add("rect", width=WIDTH, height=HEIGHT, fill="paper")
    drawing.text(LEFT, 26, title, font_size=16)
    if not drawn:
        drawing.text(LEFT, 80, "no measurements", fill="muted")
        return drawing.file()
    room = max(width_of(name, SMALL) for name in drawn) + 20
    xs = [x for found in drawn.values() for x, _ in found]
    ys = [y for found in drawn.values() for _, y in found]
    low, high = widen(min(0.0, *ys), max(0.0, *ys))
    across = Scale(
        **dict(zip(("low", "high"), widen(min(xs), max(xs)), strict=True)),
        start=LEFT,
        end=WIDTH - room,
    )
    up = Scale(low=low, high=high, start=BOTTOM, end=TOP)
    _draw_axes(drawing, across, up, sorted(set(xs)), (across_words, up_words))
    heights = apart([up(found[-1][1]) for found in drawn.values()], 16, TOP, BOTTOM)
    for place, ((name, found), height) in enumerate(zip(drawn.items(), heights, strict=True)):
        _draw_series(drawing, place, [(across(x), up(y)) for x, y in found])
        drawing.text(across.end + 12, height + 4, name, font_size=SMALL)
    return drawing.file()


def _described(series: Mapping[str, Series]) -> str:
    return " ".join(
        f"{name}: {', '.join(f'{y:.3g} at {x:.3g}' for x, y in found)}."
        for name, found in series.items()
    )


def _draw_axes(
    drawing: Drawing, across: Scale, up: Scale, xs: Sequence[float], words: tuple[str, str]
) -> None:
    heights = ticks(up.low, up.high)
    for value in heights:
        drawing.line(LEFT, up(value), across.end, up(value), "lines")
        text = figure(value, heights[1] - heights[0] if len(heights) > 1 else 1)
        drawing.text(LEFT - 8, up(value) + 4, text, text_anchor="end", fill="muted")
    whole = all(float(x).is_integer() for x in xs) and len(xs) < 8
    along = list(xs) if whole else ticks(across.low, across.high)
    for value in along:
        text = f"{value:.0f}" if whole else figure(value, along[1] - along[0])
        drawing.text(across(value), BOTTOM + 20, text, text_anchor="middle", fill="muted")
    middle = (LEFT + across.end) / 2
    drawing.text(middle, BOTTOM + 44, words[0], text_anchor="middle", fill="muted")
    turned = f"translate(18 {(TOP + BOTTOM) / 2:.0f}) rotate(-90)"
    drawing.add("text", words[1], transform=turned, text_anchor="middle", fill="muted")


def _draw_series(drawing: Drawing, place: int, places: Sequence[tuple[float, float]]) -> None:
    colour, mark = f"class-{place % len(SHAPES)}", SHAPES[place % len(SHAPES)]
    drawing.add(
        "polyline",
        points=points(places),
        fill="none",
        stroke=colour,
        stroke_width=2.5,
        stroke_dasharray=DASHES[place % len(DASHES)],
    )
    for x, y in places:
        drawing.shape(mark, x, y, 5, fill=colour)


def apart(wished: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions of labels close to those wished, in order, at least a gap apart if they fit."""
    order = sorted(range(len(wished)), key=lambda place: wished[place])
    found = [0.0] * len(wished)
    before = low - gap
    for place in order:
        before = found[place] = max(wished[place], before + gap)
    after = high + gap
    for place in reversed(order):
        after = found[place] = min(found[place], after - gap)
    return found
