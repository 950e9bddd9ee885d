"""What options cost, group by group: the share of people with an option up to each cost.

People without an option are never left out: a line ends below 100 % by their share.
"""

from dataclasses import dataclass

from recourse_audit.render.charts.svg import (
    COLOURS,
    DASHES,
    SMALL,
    Drawing,
    Picture,
    Scale,
    apart,
    figure,
    percent,
    short,
    shortened,
    ticks,
)
from recourse_audit.render.text import number

LIMIT = len(DASHES)
WIDTH, HEIGHT = 620, 372
LEFT, RIGHT, TOP, BOTTOM = 52, 400, 20, 296
LETTERS = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class CostCurve:
    """One group: at each cost, the share of its people with an option of at most that cost.

    `steps` ascend in cost; None where the group is too small to be shown.
    """

    group: str
    people: int | None
    steps: tuple[tuple[float, float], ...] | None

    @property
    def served(self) -> float:
        """The share with any option."""
        return self.steps[-1][1] if self.steps else 0.0


def cost_curves(curves: tuple[CostCurve, ...]) -> Picture:
    """Step lines, distinguished by their dashes and by the name at their end."""
    known = [curve for curve in curves if curve.steps is not None]
    shown = known[:LIMIT]
    costs = [cost for curve in shown for cost, _ in curve.steps or ()]
    most = max(costs, default=1.0) or 1.0
    notes = _notes(curves, known)
    drawing = Drawing(WIDTH, HEIGHT + 18 * max(len(notes) - 1, 0), _words(curves))
    across = Scale(low=0, high=1.05 * most, start=LEFT, end=RIGHT)
    up = Scale(low=0, high=1, start=BOTTOM, end=TOP)
    _draw_axes(drawing, across, up, most)
    ends = apart([up(curve.served) for curve in shown], 32, TOP + 8, BOTTOM - 8)
    for place, (curve, height) in enumerate(zip(shown, ends, strict=True)):
        _draw_curve(drawing, curve, place, across, up, height)
    for place, note in enumerate(notes):
        y = HEIGHT - 8 + 18 * place
        drawing.text(LEFT, y, note, fill="muted", font_size=SMALL)
    return drawing.picture()


def _draw_axes(drawing: Drawing, across: Scale, up: Scale, most: float) -> None:
    for quarter in range(5):
        y = up(quarter / 4)
        drawing.line(LEFT, y, RIGHT, y, "muted" if quarter in (0, 4) else "lines")
        words = f"{25 * quarter} %"
        drawing.text(LEFT - 8, y + 4, words, fill="muted", font_size=SMALL, text_anchor="end")
    along = ticks(0, most)
    for value in along:
        x = across(value)
        drawing.line(x, BOTTOM, x, BOTTOM + 4, "muted")
        words = figure(value, along[1] - along[0] if len(along) > 1 else 1)
        drawing.text(x, BOTTOM + 18, words, fill="muted", font_size=SMALL, text_anchor="middle")
    words = "cost of the cheapest option, at most"
    middle = (LEFT + RIGHT) / 2
    drawing.text(middle, BOTTOM + 38, words, fill="muted", font_size=SMALL, text_anchor="middle")


def _draw_curve(
    drawing: Drawing, curve: CostCurve, place: int, across: Scale, up: Scale, height: float
) -> None:
    colour = f"class-{place}"
    assert colour in COLOURS
    path = [f"M{short(across(0))} {short(up(0))}"]
    for cost, share in curve.steps or ():
        path.append(f"H{short(across(cost))}V{short(up(share))}")
    path.append(f"H{RIGHT}")
    dashes = DASHES[place]
    drawing.add(
        "path",
        d="".join(path),
        fill="none",
        stroke=colour,
        stroke_width=2.2,
        stroke_dasharray=dashes,
        stroke_linejoin="round",
    )
    drawing.line(RIGHT + 2, up(curve.served), RIGHT + 16, height, "lines")
    drawing.line(
        RIGHT + 18, height, RIGHT + 46, height, colour, stroke_width=2.2, stroke_dasharray=dashes
    )
    drawing.text(RIGHT + 52, height, shortened(curve.group, LETTERS), font_weight=600)
    without = f"{percent(1 - curve.served)} without an option"
    drawing.text(RIGHT + 52, height + 14, without, fill="muted", font_size=SMALL)


def _notes(curves: tuple[CostCurve, ...], known: list[CostCurve]) -> list[str]:
    notes = []
    hidden = len(curves) - len(known)
    if hidden:
        notes.append(f"{number(hidden, 'group')} too small to be shown.")
    if len(known) > LIMIT:
        notes.append(f"The first {LIMIT} of {len(known)} groups are shown; the table has all.")
    return notes


def _words(curves: tuple[CostCurve, ...]) -> str:
    sentences = ["Share of each group's people with an option up to each cost."]
    for curve in curves:
        if curve.steps is None:
            sentences.append(f"{curve.group}: too small to be shown.")
            continue
        people = "" if curve.people is None else f" ({number(curve.people, 'person')})"
        steps = ", ".join(f"{percent(share)} at {cost:g}" for cost, share in curve.steps)
        sentences.append(
            f"{curve.group}{people.replace('persons', 'people')}: {steps or 'none at any cost'}; "
            f"{percent(1 - curve.served)} without an option."
        )
    return " ".join(sentences)
