"""What a search found for one subject, and how far it looked."""

from dataclasses import dataclass

Tie = tuple[str, str]


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
    `relevance` is |μ|. The sign of `signed_relevance` says on which side of the whole graph's
    answer the rest lies (above 0: farther from it than the explanation), and nothing of whether
    the decision gains or loses: that is in `probabilities`.
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

    @property
    def moves_nothing(self) -> bool:
        """Whether there are pairs, and none of them moves the answer at the resolution used."""
        return self.cloud is not None and self.cloud.relevance[1] == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFailure:
    """Why there is no result for a subject; the others of its batch are not touched by it."""

    subject: int
    reason: str
