"""What passes between the stages: frozen facts, each with the words that go with it."""

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeReport:
    """What may be relied on when asking a model; true is good, and every false has a sentence."""

    deterministic: bool
    node_order: bool
    tie_order: bool
    ties_matter: bool
    packing: bool
    depth: int | None
    sentences: dict[str, str] = field(default_factory=dict)

    @property
    def failed(self) -> tuple[str, ...]:
        names = ("deterministic", "node_order", "tie_order", "ties_matter", "packing")
        return tuple(name for name in names if not getattr(self, name))


Tie = tuple[str, str]
RecourseStatus = Literal[
    "already_favourable", "verified", "certified_infeasible", "not_found_within_budget", "error"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What the model decided on a subject, on the whole graph."""

    id: str
    decision: str
    favourable: bool
    probabilities: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A small tree that holds the subject, and what the model answers on it alone."""

    nodes: tuple[str, ...]
    edges: tuple[Tie, ...]
    simulatability: float
    probabilities: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """Competition ranks of a pair among all pairs of its subject."""

    simulatability: int
    relevance: int
    sum: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterfactual:
    """An explanation with some ties removed, and what removing them does.

    `layer` is the non-dominated layer it was taken from, 1 being the front; `dominates` counts
    the pairs it dominates; `dominates_picks` says which other methods' picks are among them.
    """

    explanation: Explanation
    removed: tuple[Tie, ...]
    kept: tuple[Tie, ...]
    simulatability: float
    relevance: float
    signed_relevance: float
    ranks: Ranks
    layer: int
    dominates: int
    dominates_picks: dict[str, bool]
    probabilities: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontPair:
    """One pair that no other dominates."""

    edges: tuple[Tie, ...]
    removed: tuple[Tie, ...]
    simulatability: float
    relevance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How far a search looked.

    Exhaustive: `drawn` equals `total`. Sampled: `drawn` of `total` subgraphs were drawn uniformly;
    with the confidence given, the winner is dominated through at most `bound` of all subgraphs.
    """

    kind: str
    drawn: int
    total: int
    total_is_estimate: bool = False
    bound: float = 0.0
    confidence: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """How the pairs of a subject lie: a grid over the ranges of simulatability and relevance.

    `cells` are those that hold any, ascending, each row * columns + column; `pairs` how many each
    holds. Columns go along simulatability, rows along absolute relevance, from the lower end.
    """

    simulatability: tuple[float, float]
    relevance: tuple[float, float]
    columns: int
    rows: int
    cells: tuple[int, ...]
    pairs: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """What a search found for one subject, and how far it looked before it stopped.

    `front` lists the first of `front_size` pairs: where a model answers all subgraphs alike, every
    pair is on the front. `cloud` counts all pairs; there is none without any.
    """

    subject: int
    max_nodes: int
    max_hops: int
    subgraphs: int
    pairs: int
    queries: int
    coverage: Coverage
    counterfactuals: tuple[Counterfactual, ...]
    front: tuple[FrontPair, ...]
    front_size: int
    picks: dict[str, FrontPair]
    cloud: Cloud | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFailure:
    """Why there is no result for a subject; the others of its batch are not touched by it."""

    subject: int
    reason: str


Grade = Literal["holds", "weakens", "reverses"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdjustedEffect:
    """What removing a part does to the probability of the decision, confounders drawn or not.

    `unadjusted` is the move with all features as they are, `adjusted` the mean over draws of the
    confounders' features, `low` to `high` its interval; `agreeing` is the share of draws in which
    the move goes the same way.
    """

    unadjusted: float
    adjusted: float
    low: float
    high: float
    agreeing: float
    draws: int
    grade: Grade


@dataclass(frozen=True, slots=True, kw_only=True)
class Caveat:
    """What must be said beside a finding, and what it is about.

    `text` is for the auditor and may name nodes; `letter` says the same to the subject, and names
    nobody and nothing.
    """

    kind: str
    grade: Grade | None
    about: str
    text: str
    letter: str
    variables: tuple[str, ...] = ()
    effect: AdjustedEffect | None = None


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

    Shares of `draws`: with other people's ties changed, and with attributes shifted.
    """

    draws: int
    ties: float
    attributes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SideEffects:
    """Whose other decisions an option changes; `other` change between classes of one kind.

    Not `measured`: the surroundings are too large, or the model answers for one person at a time.
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

    Without a search, `note` says why there is nothing to explain, or `error` what went wrong.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class StabilityRow:
    """One subject under one perturbation: how far the answer, and what explains it, moved.

    Distances are Jaccard distances; None where there was nothing to compare.
    """

    subject: str
    perturbation: str
    strength: float
    changed: bool
    explanation: float | None
    options: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StabilityPoint:
    """Means over some rows of about the same strength."""

    strength: float
    explanation: float
    options: float | None
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StabilityReport:
    """How stable the findings are: every row, and curves for changed and unchanged decisions.

    `kind` is "links" or "models"; `unanswered` are subjects whom the model gave no number.
    """

    kind: str
    subjects: int
    unanswered: tuple[str, ...]
    rows: tuple[StabilityRow, ...]
    changed: tuple[StabilityPoint, ...]
    unchanged: tuple[StabilityPoint, ...]
