"""What a search found for one subject, and how far it looked."""

from dataclasses import field
from typing import Literal

from recourse_audit.records import Record

Tie = tuple[str, str]


class Explanation(Record):
    """A small tree that holds the subject, and what the model answers on it alone.

    `score` is what the rule compares with its cut-off: None where the likeliest class wins. A score
    model has no `probabilities`.
    """

    nodes: tuple[str, ...]
    edges: tuple[Tie, ...]
    simulatability: float
    probabilities: dict[str, float]
    score: float | None = None


class Ranks(Record):
    """Competition ranks of a pair among all pairs of its subject."""

    simulatability: int
    relevance: int
    sum: int


class WholeGraph(Record):
    """What the model answers for the subject on the whole graph without some ties.

    `effect` is how far the probability of the subject's decision moves, or the score of a score
    model. `decision` is by the audit's own rule; under a quota, at the cut-off as it stands.
    `flips` says whether it is another decision than the subject's.
    """

    probabilities: dict[str, float]
    score: float | None = None
    effect: float
    decision: str
    favourable: bool
    flips: bool


class Counterfactual(Record):
    """An explanation with some ties removed, and what removing them does.

    `layer` is the non-dominated layer it was taken from, 1 being the front; `dominates` counts the
    pairs it dominates. `relevance` is |μ|. The sign of `signed_relevance` says on which side of the
    whole graph's answer the rest lies (above 0: farther from it than the explanation), and nothing
    of whether the decision gains or loses: that is in `probabilities`.

    All of that is about the explanation alone. `whole_graph` is what removing the same ties, every
    parallel one included, does on the whole graph; None where it was not asked about, or where the
    model's answer there is not a number.
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
    dominates_baselines: dict[str, bool]
    probabilities: dict[str, float]
    score: float | None = None
    whole_graph: WholeGraph | None = None


class CarryingSet(WholeGraph):
    """Ties within the model's reach, and what removing all of them does on the whole graph.

    `size` is the number of ties; several ties between two people are one.
    """

    removed: tuple[Tie, ...]
    size: int


class SetsTried(Record):
    """How many sets of one size were tried, of all that the ties within reach make up.

    `own_tried` and `own_of` count those of the subject's own ties alone.
    """

    size: int
    tried: int
    of: int
    own_tried: int
    own_of: int


class Carriers(Record):
    """The ties that carry the decision on the whole graph: small sets that move it most.

    `front` has the set of each size that moves the answer farthest away from the decision, smallest
    first; a size is left out if a smaller set moves it as far. `smallest_flip` is the smallest set
    found that changes the decision; of several, the one that moves the answer farthest. `own` has
    what removing one of the subject's own ties alone does: at most 60, those that move the answer
    farthest first, whichever way. `coverage` is exhaustive if every set of up to `max_ties` of the
    `ties_in_reach` was tried; if not, larger sets were grown from the best smaller ones, and
    `tried` says how many of how many.
    """

    front: tuple[CarryingSet, ...]
    smallest_flip: CarryingSet | None
    own: tuple[CarryingSet, ...]
    own_ties: int
    ties_in_reach: int
    max_ties: int
    coverage: Literal["exhaustive", "beam"]
    tried: tuple[SetsTried, ...]


class FrontPair(Record):
    """One pair that no other dominates."""

    edges: tuple[Tie, ...]
    removed: tuple[Tie, ...]
    simulatability: float
    relevance: float


class Sample(Record):
    """A uniform sample of a subject's subgraphs: `drawn` of `of`.

    With the confidence given, the winner is dominated through at most `bound` of all subgraphs.
    """

    drawn: int
    of: int
    of_is_estimate: bool
    bound: float
    confidence: float


class SearchExtent(Record):
    """How far a search looked: its limits, what it counted, and whether it saw everything.

    `subgraphs` counts every candidate that holds the subject, the subject alone included; with
    a sample it may be an estimate.
    """

    max_nodes: int
    max_hops: int
    subgraphs: int
    pairs: int
    coverage: Literal["exhaustive", "sampled"]
    queries: int
    sample: Sample | None = None


class ObjectiveGrid(Record):
    """Where the pairs of a subject lie: a grid over the ranges of simulatability and relevance.

    `counts` has (cell, number of pairs) for each cell that is not empty, in ascending order; a
    cell is row * columns + column. Columns run along simulatability and rows along absolute
    relevance, both from the lower end.
    """

    simulatability: tuple[float, float]
    relevance: tuple[float, float]
    columns: int
    rows: int
    counts: tuple[tuple[int, int], ...]


class Rest(Record):
    """What is left of an explanation without some ties; `relevance` is |μ|."""

    removed: tuple[Tie, ...]
    relevance: float
    probabilities: dict[str, float]


class StudyCase(Record):
    """An explanation with two counterfactuals that people are asked to compare.

    Both remove equally many ties: `high` has the largest relevance of those, `low` the smallest.
    """

    explanation: Explanation
    high: Rest
    low: Rest


class TreeNumbers(Record):
    """A counterfactual by numbers of the graph: its nodes, its pairs, and those that it removes."""

    nodes: tuple[int, ...]
    pairs: tuple[int, ...]
    removed: tuple[int, ...]


class SearchResult(Record):
    """What a search found for one subject, and how far it looked before it stopped.

    `front` lists the first of `front_size` pairs: where a model answers all subgraphs alike, every
    pair is on the front. `baselines` are what other ways of choosing would have picked. `numbers`
    are those of the counterfactuals, and `front_removed` the numbers of the pairs that those of
    `front` remove: whatever goes on from here needs no ids. `study_cases` have an explanation of
    high and one of low simulatability, if they were asked for, and `study_nodes` their nodes.
    """

    subject: int
    extent: SearchExtent
    counterfactuals: tuple[Counterfactual, ...] = ()
    front: tuple[FrontPair, ...] = ()
    front_size: int = 0
    baselines: dict[str, FrontPair] = field(default_factory=dict)
    objective_grid: ObjectiveGrid | None = None
    numbers: tuple[TreeNumbers, ...] = ()
    front_removed: tuple[tuple[int, ...], ...] = ()
    study_cases: tuple[StudyCase, ...] = ()
    study_nodes: tuple[int, ...] = ()

    @property
    def moves_nothing(self) -> bool:
        """Whether there are pairs, and none of them moves the answer at the resolution used."""
        return self.objective_grid is not None and self.objective_grid.relevance[1] == 0


class SearchFailure(Record):
    """Why there is no result for a subject, after how many queries; no other is touched by it."""

    subject: int
    reason: str
    queries: int
