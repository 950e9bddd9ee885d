"""Every class keeps its colour, shape and name in all pictures of a page."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from recourse_audit.render.charts.svg import SHAPES


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
