"""A share with its interval: one row of a chart of rates; the reference is hollow."""

from recourse_audit.render.charts.board import unbroken
from recourse_audit.render.charts.strips import Axis, Strip
from recourse_audit.render.charts.svg import Picture

WIDE = 320.0
RATES = Axis(low=0.0, high=1.0, ticks=(0.0, 0.25, 0.5, 0.75, 1.0), width=WIDE)


def rate_strip(
    share: float, ends: tuple[float, float] | None, alt: str, *, hollow: bool = False
) -> Picture:
    """A dot at a share, on the line of its interval where that is known."""
    strip = Strip(RATES, unbroken(alt))
    if ends is None:
        return strip.dot(share, filled=not hollow).picture()
    return strip.interval(share, *ends, filled=not hollow, mark="circle", colour="yes").picture()
