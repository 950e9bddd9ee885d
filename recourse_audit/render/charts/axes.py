"""Scales, ticks and labels that the charts have in common."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10

from recourse_audit.render.charts.svg import Drawing

SMALL = 12
# One per line of a chart, so that lines can be told apart without colour.
DASHES = (None, "7 4", "2 3", "9 3 2 3", "4 2", "12 4")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Maps values to pixels along one axis; `start` may be larger than `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def widened(low: float, high: float) -> tuple[float, float]:
    """A range that can be drawn, even if all values are equal."""
    if high - low > 1e-9 * max(abs(low), abs(high), 1e-3):
        return low, high
    room = abs(low) / 10 or 0.5
    return low - room, high + room


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round values within a range, at most about as many as asked for."""
    rough = (high - low) / most
    power = 10.0 ** floor(log10(rough))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= rough * (1 - 1e-9))
    first = -floor(-low / step + 1e-9)
    last = floor(high / step + 1e-9)
    return [place * step for place in range(first, last + 1)]


def figure(value: float, step: float) -> str:
    """A tick's value with as many decimals as the step between ticks needs."""
    decimals = max(0, -floor(log10(step) + 1e-9))
    words = f"{value:.{decimals}f}"
    return words.removeprefix("-") if float(words) == 0 else words


def percent(value: float) -> str:
    """A share in whole per cent; one just short of all or nothing is not rounded to it."""
    if 0 < value < 0.005:
        return "<1 %"
    return ">99 %" if 0.995 <= value < 1 else f"{value:.0%}".replace("%", " %")


def percent_axis(drawing: Drawing, scale: Scale, top: float, bottom: float, words: str) -> None:
    """Vertical lines at every quarter of a share, and the title of the axis."""
    for quarter in range(5):
        x = scale(quarter / 4)
        drawing.line(x, top, x, bottom, "lines")
        drawing.text(
            x, bottom + 16, f"{25 * quarter} %", fill="muted", font_size=SMALL, text_anchor="middle"
        )
    middle = (scale.start + scale.end) / 2
    drawing.text(middle, bottom + 36, words, fill="muted", font_size=SMALL, text_anchor="middle")


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


def listed(names: Sequence[str]) -> str:
    """Names as a list in a sentence."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
