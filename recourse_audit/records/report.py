"""All that was found about one subject, put together: the decision, who is near, every finding."""

from dataclasses import dataclass

from recourse_audit.records.caveats import Caveat
from recourse_audit.records.recourse import Recourse, WhatIf
from recourse_audit.records.search import SearchResult, Tie


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What the model decided on a subject, on the whole graph."""

    id: str
    decision: str
    favourable: bool
    probabilities: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """Somebody near a subject, and the decision on them; it is empty if the answer is no number."""

    id: str
    hops: int
    decision: str
    favourable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SurroundingTie:
    """A tie of one kind between two nodes that are shown."""

    ends: Tie
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Who is within some hops of a subject, nearest first, the subject included.

    Of `total` nodes `shown` are listed: `limit` at most, unless the counterfactuals hold more. All
    nodes of these are among them. `ties` are those among the nodes listed.
    """

    nodes: tuple[Neighbour, ...]
    ties: tuple[SurroundingTie, ...]
    shown: int
    total: int
    hops: int
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectReport:
    """All that was found about one subject.

    Where ties explain nothing, `note` says why; `error` says what went wrong.
    Without any ties there are no surroundings.
    """

    decision: Decision
    search: SearchResult | None
    caveats: tuple[Caveat, ...] = ()
    note: str = ""
    error: str = ""
    recourse: Recourse | None = None
    what_if: WhatIf | None = None
    surroundings: Surroundings | None = None
