"""Whom the options cut off: a group's share of dropped ties beside its share of droppable ones.

Equal shares mean that ties to the group are dropped as often as by chance.
"""

from recourse_audit.render.charts.board import unbroken
from recourse_audit.render.charts.intervals import RATES
from recourse_audit.render.charts.strips import Strip
from recourse_audit.render.charts.svg import Picture


def ties_strip(droppable: float, dropped: float, alt: str) -> Picture:
    """A hollow circle at the share of droppable ties, a diamond at the share of dropped ones."""
    strip = Strip(RATES, unbroken(alt)).span(droppable, dropped, colour="muted")
    return strip.dot(droppable, filled=False, colour="muted").dot(dropped, mark="diamond").picture()
