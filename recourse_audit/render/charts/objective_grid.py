"""All pairs of a search on a grid, the front as a staircase over it, the choices numbered.

A shade shows how many pairs are in a cell, in powers of ten.
"""

from collections.abc import Sequence

from recourse_audit.records.search import ObjectiveGrid
from recourse_audit.render.charts.svg import (
    SMALL,
    Drawing,
    Picture,
    Scale,
    short,
    ticks,
    widened,
    width_of,
)
from recourse_audit.render.i18n import MINUS, Words

WIDTH, HEIGHT = 560, 416
LEFT, RIGHT, TOP, BOTTOM = 62, 546, 18, 288
SHADES = (1, 2, 10, 100, 1000)  # the least number of pairs of each shade
OPACITIES = (0.16, 0.3, 0.46, 0.66, 0.9)
MARK = 10.0

Point = tuple[float, float]


def objective_grid(
    found: ObjectiveGrid,
    words: Words,
    *,
    front: Sequence[Point],
    front_size: int,
    choices: Sequence[Point],
) -> Picture:
    """The pairs by both objectives: further right and further up is better.

    Points are simulatability, then relevance as an absolute value. `front_size` counts all pairs
    on the front; `front` may hold only the first of them.
    """
    drawing = Drawing(WIDTH, HEIGHT, _said(found, words, front_size, choices))
    low, high = widened(*found.simulatability)
    across = Scale(low=low, high=high, start=LEFT + MARK, end=RIGHT - MARK)
    low, high = widened(*found.relevance)
    up = Scale(low=low, high=high, start=BOTTOM - MARK, end=TOP + MARK)
    _draw_axes(drawing, words, across, up)
    _draw_cells(drawing, found, across, up)
    if front:
        _draw_front(drawing, front, across, up)
    _draw_choices(drawing, [(across(x), up(y)) for x, y in choices])
    _draw_key(drawing, words)
    return drawing.picture()


def _draw_axes(drawing: Drawing, words: Words, across: Scale, up: Scale) -> None:
    along = ticks(across.low, across.high)
    for value in along:
        x = across(value)
        drawing.line(x, TOP, x, BOTTOM, "faint")
        at = _tick(value, along, words)
        drawing.text(x, BOTTOM + 16, at, fill="muted", font_size=SMALL, text_anchor="middle")
    upright = ticks(up.low, up.high)
    for value in upright:
        y = up(value)
        drawing.line(LEFT, y, RIGHT, y, "faint")
        at = _tick(value, upright, words)
        drawing.text(LEFT - 8, y + 4, at, fill="muted", font_size=SMALL, text_anchor="end")
    drawing.line(LEFT, BOTTOM, RIGHT, BOTTOM, "muted")
    drawing.line(LEFT, TOP, LEFT, BOTTOM, "muted")
    middle = (LEFT + RIGHT) / 2
    along_words = words.say("subject.grid.simulatability")
    drawing.text(
        middle, BOTTOM + 36, along_words, fill="muted", font_size=SMALL, text_anchor="middle"
    )
    turned = f"translate(14 {(TOP + BOTTOM) / 2:.0f}) rotate(-90)"
    drawing.add(
        "text",
        words.say("subject.grid.relevance"),
        transform=turned,
        fill="muted",
        font_size=SMALL,
        text_anchor="middle",
    )


def _draw_cells(drawing: Drawing, found: ObjectiveGrid, across: Scale, up: Scale) -> None:
    """One path per shade, so that a full grid stays a small file."""
    width, height = _cell(found, across, up)
    left, bottom = across(found.simulatability[0]), up(found.relevance[0])
    paths: list[list[str]] = [[] for _ in SHADES]
    for cell, count in found.counts:
        row, column = divmod(cell, found.columns)
        x, y = left + column * width, bottom - (row + 1) * height
        shade = max(place for place, least in enumerate(SHADES) if count >= least)
        paths[shade].append(
            f"M{short(x)} {short(y)}h{short(width)}v{short(height)}h{short(-width)}z"
        )
    for path, opacity in zip(paths, OPACITIES, strict=True):
        if path:
            drawing.add("path", d="".join(path), fill="accent", fill_opacity=opacity)


def _cell(found: ObjectiveGrid, across: Scale, up: Scale) -> tuple[float, float]:
    """The size of a cell; a small visible one if all pairs have the same value."""
    (left, right), (low, high) = found.simulatability, found.relevance
    width = (across(right) - across(left)) / found.columns
    return width or 4.0, (up(low) - up(high)) / found.rows or 4.0


def _draw_front(drawing: Drawing, front: Sequence[Point], across: Scale, up: Scale) -> None:
    """Everything below or left of the line is dominated."""
    steps = sorted({(across(x), up(y)) for x, y in front})
    path = [f"M{LEFT} {short(steps[0][1])}"]
    for place, (x, y) in enumerate(steps):
        path.append(f"H{short(x)}")
        below = steps[place + 1][1] if place + 1 < len(steps) else BOTTOM
        path.append(f"V{short(max(below, y))}")
    drawing.add("path", d="".join(path), fill="none", stroke="ink", stroke_width=1.8)
    for x, y in steps:
        drawing.add("circle", cx=x, cy=y, r=2.5, fill="ink")


def _draw_choices(drawing: Drawing, choices: list[Point]) -> None:
    """Numbers in discs; choices in nearly the same place share one."""
    discs: list[tuple[Point, list[int]]] = []
    for place, (x, y) in enumerate(choices, start=1):
        for (other_x, other_y), numbers in discs:
            if abs(x - other_x) < 2 * MARK and abs(y - other_y) < 2 * MARK:
                numbers.append(place)
                break
        else:
            discs.append(((x, y), [place]))
    for (x, y), numbers in discs:
        words = ", ".join(map(str, numbers))
        width = 2 * MARK + 9.5 * (len(words) - 1)
        # Shifted towards the middle, so that a long one stays inside the chart.
        left = min(max(x - width / 2, LEFT), RIGHT - width)
        box = {"x": left, "y": y - MARK, "width": width, "height": 2 * MARK, "rx": MARK}
        drawing.add("rect", fill="ink", stroke="paper", stroke_width=1.5, **box)
        drawing.text(
            left + width / 2,
            y + 4.5,
            words,
            fill="paper",
            font_weight=700,
            text_anchor="middle",
        )


def _draw_key(drawing: Drawing, words: Words) -> None:
    y, x = HEIGHT - 68.0, float(LEFT)
    cell = words.say("subject.grid.cell")
    drawing.text(x, y, cell, font_size=SMALL, fill="muted")
    x += width_of(cell, SMALL) * 0.86 + 8
    for place, opacity in enumerate(OPACITIES):
        said = _shade(place, words)
        drawing.add("rect", x=x, y=y - 10, width=12, height=12, fill="accent", fill_opacity=opacity)
        drawing.text(x + 17, y, said, font_size=SMALL)
        x += 30 + 6.6 * len(said)
    y += 26
    drawing.add(
        "path", d=f"M{LEFT} {short(y - 8)}h16v8h14", fill="none", stroke="ink", stroke_width=1.8
    )
    drawing.text(LEFT + 38, y, words.say("subject.grid.front"), font_size=SMALL)
    y += 24
    drawing.add("circle", cx=LEFT + 15.0, cy=y - 4, r=8, fill="ink")
    drawing.text(
        LEFT + 15, y, "1", fill="paper", font_size=SMALL, font_weight=700, text_anchor="middle"
    )
    drawing.text(LEFT + 38, y, words.say("subject.grid.shown"), font_size=SMALL)


def _shade(place: int, words: Words) -> str:
    """How many pairs a shade stands for: 1, 2 to 9, 1,000 or more."""
    least = SHADES[place]
    if place + 1 == len(SHADES):
        return words.say("subject.grid.or_more", least=words.number(least))
    most = SHADES[place + 1] - 1
    if most == least:
        return words.number(least)
    return words.interval(words.number(least), words.number(most))


def _tick(value: float, places: Sequence[float], words: Words) -> str:
    step = places[1] - places[0] if len(places) > 1 else 1.0
    small = step < 0.01
    value = 0.0 if abs(value) < step / 1000 else value
    return (words.amount(value) if small else words.number(value)).replace("-", MINUS)


def _said(found: ObjectiveGrid, words: Words, front_size: int, choices: Sequence[Point]) -> str:
    total = sum(count for _, count in found.counts)
    places = words.listed(
        [
            words.say(
                "subject.grid.alt.place",
                number=str(place),
                simulatability=words.signed(x, 6),
                relevance=words.signed(y, 6).removeprefix("+"),
            )
            for place, (x, y) in enumerate(choices, start=1)
        ]
    )
    return words.say(
        "subject.grid.alt",
        pairs=words.number(total),
        front=words.number(front_size),
        places=places or words.say("subject.none"),
    )
