"""Class probabilities as bars: on the whole graph, the explanation and the counterfactual.

The figures are printed beside the bars, so that nothing has to be read off them. Every class has
one look on all charts.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from recourse_audit.render.charts.svg import SHAPES, SMALL, Drawing, Picture, shortened
from recourse_audit.render.text import share


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How a class is drawn."""

    colour: str
    shape: str


UNKNOWN = Look(colour="class-other", shape="circle")


def looks_of(classes: Sequence[str], favourable: Collection[str]) -> dict[str, Look]:
    """The first favourable class is a blue circle, the first other one a vermilion square.

    The rest follow in their order; classes beyond the sixth look alike and differ in name only.
    """
    good = [name for name in classes if name in favourable]
    bad = [name for name in classes if name not in favourable]
    first = {good[0]: 0} if good else {}
    second = {bad[0]: 1} if bad else {}
    taken = {**first, **second}
    free = [place for place in range(len(SHAPES)) if place not in taken.values()]
    rest = [name for name in classes if name not in taken]
    places = taken | dict(zip(rest, free, strict=False))
    return {
        name: Look(colour=f"class-{places[name]}", shape=SHAPES[places[name]])
        if name in places
        else UNKNOWN
        for name in classes
    }


LIMIT = 8
NAME, COLUMN, BAR, ROW, TOP = 130, 142, 84, 28, 30
LETTERS = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Class probabilities on one graph, and the name of that graph."""

    graph: str
    probabilities: Mapping[str, float]


def histograms(answers: tuple[Answer, ...], looks: Mapping[str, Look]) -> Picture:
    """One row of bars per class, one column per graph; the likeliest classes on the first graph."""
    first = answers[0].probabilities
    ordered = sorted(first, key=lambda name: -first[name])
    shown, left = ordered[:LIMIT], len(ordered) - LIMIT
    height = TOP + ROW * len(shown) + (22 if left > 0 else 2)
    drawing = Drawing(NAME + COLUMN * len(answers), height, _words(answers, ordered))
    for column, answer in enumerate(answers):
        left_edge = NAME + column * COLUMN
        drawing.text(left_edge, 16, answer.graph, font_size=SMALL, font_weight=600)
        likeliest = max(answer.probabilities, key=lambda name: answer.probabilities[name])
        for row, name in enumerate(shown):
            value = answer.probabilities.get(name, 0.0)
            look = looks.get(name, UNKNOWN)
            _draw_bar(drawing, left_edge, TOP + row * ROW, value, look, name == likeliest)
    for row, name in enumerate(shown):
        look, y = looks.get(name, UNKNOWN), TOP + row * ROW + 9
        drawing.shape(look.shape, 9, y, 6, fill=look.colour)
        drawing.text(22, y + 4.5, shortened(name, LETTERS))
    if left > 0:
        more = f"… and {left} more classes, each less likely on the {answers[0].graph}"
        drawing.text(0, height - 6, more, fill="muted", font_size=SMALL)
    return drawing.picture()


def _draw_bar(
    drawing: Drawing, x: float, y: float, value: float, look: Look, likeliest: bool
) -> None:
    size = {"y": y, "height": 18}
    drawing.add("rect", x=x, width=BAR, fill="faint", **size)
    drawing.add("rect", x=x, width=BAR * min(max(value, 0.0), 1.0), fill=look.colour, **size)
    weight = 700 if likeliest else None
    drawing.text(x + BAR + 6, y + 13.5, share(value), font_size=SMALL, font_weight=weight)


def _words(answers: tuple[Answer, ...], ordered: list[str]) -> str:
    sentences = [
        f"On the {answer.graph}: "
        + ", ".join(f"{name} {share(answer.probabilities.get(name, 0.0))}" for name in ordered)
        + "."
        for answer in answers
    ]
    return " ".join(["Probability of each class.", *sentences])
