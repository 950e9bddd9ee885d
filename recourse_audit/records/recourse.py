"""What a subject could change, or how sure it is that there is nothing."""

from dataclasses import dataclass, field
from math import sqrt
from statistics import NormalDist
from typing import Literal

from recourse_audit.records.search import Tie

RecourseStatus = Literal[
    "already_favourable", "verified", "certified_infeasible", "not_found_within_budget", "error"
]

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One change: a tie is dropped or added, or an attribute is set, in the user's units.

    `implied` are the attributes that move along with one that is set.
    """

    do: Literal["drop", "add", "set"]
    tie: Tie | None = None
    kind: str | None = None
    attribute: str | None = None
    before: float | None = None
    after: float | None = None
    unit: str = ""
    implied: tuple["Action", ...] = ()
    cost: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """How often an option still works when its surroundings change a little.

    Shares of `draws`: with other people's ties changed, and with attributes shifted. Draws are few,
    so that another seed gives another share: the intervals say how far it may lie.
    """

    draws: int
    ties: float
    attributes: float

    @property
    def ties_count(self) -> int:
        """In how many draws with other ties it works."""
        return round(self.ties * self.draws)

    @property
    def attributes_count(self) -> int:
        """In how many draws with other values it works."""
        return round(self.attributes * self.draws)

    @property
    def ties_interval(self) -> tuple[float, float]:
        """Where the share with other ties lies, had there been draws without end."""
        return wilson(self.ties_count, self.draws)

    @property
    def attributes_interval(self) -> tuple[float, float]:
        """Where the share with other values lies, had there been draws without end."""
        return wilson(self.attributes_count, self.draws)


def wilson(count: int, of: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share, to six digits; `of` is above 0."""
    z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
    share, room = count / of, z * z / of
    middle = share + room / 2
    reach = z * sqrt(share * (1 - share) / of + room / (4 * of))
    low, high = (middle - reach) / (1 + room), (middle + reach) / (1 + room)
    return round(max(low, 0.0), 6), round(min(high, 1.0), 6)


@dataclass(frozen=True, slots=True, kw_only=True)
class SideEffects:
    """Whose other decisions an option changes; `other` change between classes of one kind.

    Not `measured`: the surroundings are too large (for us, or for an export of fixed size), or the
    model answers for one person at a time.
    """

    measured: bool
    to_favourable: tuple[str, ...] = ()
    to_unfavourable: tuple[str, ...] = ()
    other: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """Changes with which the model decides favourably, as asked on the whole graph.

    `margin` is the probability of the best favourable class minus that of the best other one.
    `minimal`: every part of it that the policy permits was tried, and none works. `source` says
    how it was found: "counterfactual", "effect" or "exhaustive".
    """

    actions: tuple[Action, ...]
    cost: float
    decision: str
    probabilities: dict[str, float]
    margin: float
    verified: bool
    minimal: bool
    source: str
    holds: Holding | None
    others: SideEffects


@dataclass(frozen=True, slots=True, kw_only=True)
class Permitted:
    """How many changes a policy permits a subject: ties to drop and add, levels by attribute."""

    drop: int = 0
    add: int = 0
    set: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """How far the search for options looked.

    `possible` counts all combinations of at most `max_changes` permitted changes, `tried` those put
    to the model. What contains a combination that works is covered without being tried.
    `exhaustive`: all were tried or covered; `complete_up_to` is the largest size of which that is
    so. `permitted` counts the changes, `denied` the ties left out as never suggested.
    """

    max_changes: int
    tried: int = 0
    possible: int = 0
    exhaustive: bool = False
    complete_up_to: int = 0
    permitted: Permitted = field(default_factory=Permitted)
    denied: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppableTie:
    """A tie that the policy would let a subject drop."""

    tie: Tie
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recourse:
    """What a subject could change, or how sure it is that there is nothing.

    `margin` is that of the decision as it stands. `evaluations` are those of the search for
    options, `checked_by` where they were made: "neighbourhood" or "whole graph". `droppable` are
    all ties that could have been dropped, in the order of the graph.
    """

    status: RecourseStatus
    certificate: Certificate
    margin: float | None = None
    options: tuple[Option, ...] = ()
    evaluations: int = 0
    checked_by: str = ""
    reason: str = ""
    droppable: tuple[DroppableTie, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """What the model decides on the whole graph after changes that somebody chose by hand.

    `forbidden` says, a sentence each, what the policy would not let anybody suggest.
    """

    actions: tuple[Action, ...]
    decision: str
    favourable: bool
    probabilities: dict[str, float]
    margin_before: float
    margin: float
    forbidden: tuple[str, ...]
