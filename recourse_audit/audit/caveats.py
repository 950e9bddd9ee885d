"""What must be said beside a counterfactual: how its effect holds when its confounders are redrawn.

This is the back-door sum of section IV-B, computed by queries. The features of the confounding
nodes are replaced by those of nodes drawn at random, everything else stays, and the effect of the
removal on the probability of the decision, or on the score, is averaged. It is compared with the
effect with all features as they are.

A draw is a query about the same tree with other nodes' features in a few places. Effects whose
grade is not settled are drawn on: the draws of a subject are one sequence, of which more or less is
used.

Vocabulary
----------
move      what a removal does to the probability of the decision, or to the score.
smallest  a move below this is no effect to speak of; at least what the model resolves.
interval  that of the mean move at 95 %, turned so that the move as it is points upwards.

Only the mean decides, and only where its whole interval is on one side of a line. So a grade is
about the population and not about the draws: more draws would settle more effects, and change no
settled grade but by the chance that every interval has. The share of draws that go the same way is
beside it, and says whether the mean speaks for most of them.

The paper's general caution goes with every counterfactual.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import sqrt

import numpy as np
from scipy.special import stdtrit

from recourse_audit.audit.rollout import confounding_places
from recourse_audit.graph.graph import Floats, Graph, Ints
from recourse_audit.graph.neighbourhoods import spans
from recourse_audit.model.batching import QueryBatcher, noise_of
from recourse_audit.model.decisions import Decisions
from recourse_audit.model.queries import Union, side_by_side, with_pairs
from recourse_audit.records.search import SearchResult, TreeNumbers
from recourse_audit.records.subject import AdjustedEffect, Caveat, CaveatText, Grade
from recourse_audit.search.pareto import round_figure
from recourse_audit.settings.analysis import FIRST_DRAWS, CaveatSettings

# After each round there are so many times the draws that there were before it.
GROWTH = 4
SALT = 5
CONFIDENCE = 0.95
# Share of the move as it is that the mean must keep in order to hold.
KEPT = 0.5
# Share of draws that must do as the grade says, or it depends on whom.
MOST = 0.9
# An effect in which as many draws keep the direction does not reverse, whatever the mean.
HALF = 0.5
# A skewness below this, divided by the root of the number of draws, changes no interval.
NO_SKEW = 1e-6
EVERY = "every counterfactual"
CAUTION = Caveat(kind="general", grade=None, counterfactual=None, about=EVERY, text="general")
UNKNOWN_REACH = Caveat(
    kind="unknown_reach", grade=None, counterfactual=None, about=EVERY, text="unknown_reach"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """A part removed from a subject's explanation, with nodes and pairs numbered as in the graph.

    `pairs` are the explanation's ties and `kept` those that stay; `nodes` are its nodes,
    ascending; `decision` is the class whose probability is watched.
    """

    subject: int
    decision: int
    nodes: Ints
    pairs: Ints
    kept: Ints


def removal_of(subject: int, decision: int, tree: TreeNumbers) -> Removal:
    """The removal that a counterfactual of a search stands for."""
    return Removal(
        subject=subject,
        decision=decision,
        nodes=np.array(tree.nodes, np.int64),
        pairs=np.array(tree.pairs, np.int64),
        kept=np.array([pair for pair in tree.pairs if pair not in tree.removed], np.int64),
    )


def confounding_nodes(graph: Graph, removal: Removal, depth: int) -> Ints:
    """The nodes whose features confound the effect of a removal, ascending."""
    arcs, _ = spans(graph.pair_starts, removal.pairs)
    sources = np.searchsorted(removal.nodes, graph.arc_source[arcs])
    targets = np.searchsorted(removal.nodes, graph.arc_target[arcs])
    ways = sorted(set(zip(sources.tolist(), targets.tolist(), strict=True)))
    gone = np.flatnonzero(~np.isin(removal.nodes, _find_kept_nodes(graph, removal)))
    subject = int(np.searchsorted(removal.nodes, removal.subject))
    places = confounding_places(
        tuple(ways), len(removal.nodes), subject, tuple(gone.tolist()), depth
    )
    return removal.nodes[list(places)]


def _find_kept_nodes(graph: Graph, removal: Removal) -> Ints:
    ends = (graph.pair_low[removal.kept], graph.pair_high[removal.kept])
    return np.unique(np.concatenate(([removal.subject], *ends)))


@dataclass(frozen=True)
class Effects:
    """Measures effects of removals on one graph with one model."""

    graph: Graph
    batcher: QueryBatcher
    decisions: Decisions
    depth: int
    settings: CaveatSettings
    seed: int

    def measure(self, removals: Sequence[Removal]) -> list[tuple[Ints, AdjustedEffect | None]]:
        """For each removal, the confounding nodes and the effect with and without drawing them.

        The effect is None where nothing confounds, or an answer is not a number. All questions of
        a round of draws are packed together.
        """
        drawings = [
            Drawing(removal=each, confounders=confounding_nodes(self.graph, each, self.depth))
            for each in removals
        ]
        open_ = [drawing for drawing in drawings if len(drawing.confounders)]
        for draws in rounds(self.settings.draws):
            open_ = self.draw_on(open_, draws)
        return [(drawing.confounders, drawing.effect) for drawing in drawings]

    def draw_on(self, open_: Sequence["Drawing"], draws: int) -> list["Drawing"]:
        """Draw on, up to so many draws of each; those that are still not settled."""
        if not open_:
            return []
        queries = [query for drawing in open_ for query in self._queries(drawing, draws)]
        unions, rows = zip(*queries, strict=True)
        answers = self.batcher.ask(*side_by_side(unions, rows))
        asked = answers.reshape(len(open_), 2, -1, answers.shape[-1])
        for answer, drawing in zip(asked, open_, strict=True):
            watched = self.decisions.rule.class_value(answer, drawing.removal.decision)
            self._take(drawing, watched)
        return [each for each in open_ if each.effect and each.effect.grade == "not_settled"]

    def _queries(self, drawing: "Drawing", draws: int) -> Iterator[tuple[Union, Ints]]:
        """The explanation, then what is kept of it: each once for every further draw.

        In the first round, before all draws, with the features as they are.
        """
        removal, first = drawing.removal, not drawing.watched.size
        donors = self._donors(removal.subject, drawing.confounders, draws)[drawing.draws :]
        kept = _find_kept_nodes(self.graph, removal)
        for nodes, pairs in ((removal.nodes, removal.pairs), (kept, removal.kept)):
            union = with_pairs(self.graph, nodes, pairs)
            members = np.repeat(union.nodes[None], len(donors) + first, axis=0)
            members[int(first) :, np.searchsorted(nodes, drawing.confounders)] = donors
            row = int(np.searchsorted(nodes, removal.subject))
            yield repeat_graph(union, members), np.arange(len(members)) * len(nodes) + row

    def _donors(self, subject: int, confounders: Ints, draws: int) -> Ints:
        """Nodes whose features replace those of the confounders, one row per draw.

        They are of the confounder's own kind. The first rows are the same, however many there are.
        """
        shape, kinds = (draws, len(confounders)), self.graph.kinds
        generator = np.random.default_rng((self.seed, subject, SALT))
        if self.settings.stratum is not None:
            stratum = self.graph.attributes[self.settings.stratum]
            alike = np.flatnonzero(stratum == stratum[subject])
            donors: Ints = alike[generator.integers(len(alike), size=shape)]
        else:
            donors = generator.integers(self.graph.person_count, size=shape)
        if kinds is not None:  # of other kinds, no column says who is alike
            own = kinds.of(confounders)
            low, high = kinds.starts[own], kinds.starts[own + 1]
            others = np.random.default_rng((self.seed, subject, SALT, 1))
            donors = np.where(own > 0, others.integers(low, high, size=shape), donors)
        return donors

    def _take(self, drawing: "Drawing", watched: Floats) -> None:
        """Add what the model answered, and grade the effect by all draws so far."""
        drawing.watched = np.concatenate((drawing.watched, watched), axis=1)
        drawing.effect = None
        if np.isfinite(drawing.watched).all():
            before, after = drawing.watched
            resolved = self._resolution(before, after)
            moves = np.where(np.abs(after - before) > resolved, after - before, 0.0)
            # A probability has 1 for a unit, a score its standard deviation.
            smallest = self.settings.smallest_effect * self.decisions.spread
            drawing.effect = effect_over(
                float(moves[0]), moves[1:], smallest=smallest, resolved=float(resolved.max())
            )

    def _resolution(self, before: Floats, after: Floats) -> Floats:
        """How far two answers must be apart to differ, by their precision and by what repeats show.

        The noise is that of a logarithm; it moves a probability p by at most p (1 + |log p|) times
        as much, which is never more than 1.
        """
        noise = noise_of(self.batcher)
        largest = self.batcher.repeater.result.largest
        if not self.decisions.rule.scores:
            return np.full(len(before), max(noise, largest))
        return np.maximum(noise * (1 + np.maximum(np.abs(before), np.abs(after))), largest)


@dataclass(slots=True, kw_only=True)
class Drawing:
    """A removal, and what was watched so far: before and after it, as it is and for every draw."""

    removal: Removal
    confounders: Ints
    watched: Floats = field(default_factory=lambda: np.empty((2, 0)))
    effect: AdjustedEffect | None = None

    @property
    def draws(self) -> int:
        return max(len(self.watched[0]) - 1, 0)


def rounds(most: int) -> Iterator[int]:
    """How many draws there are after each round, up to `most`: 60, 240, 960 and so on."""
    draws = FIRST_DRAWS
    while draws < most:
        yield draws
        draws *= GROWTH
    if most:
        yield most


def repeat_graph(union: Union, members: Ints) -> Union:
    """Many copies of one graph; each row of `members` replaces its nodes once."""
    count, size = members.shape
    arcs = len(union.sources)
    shift = np.arange(count)[:, None] * size
    return Union(
        nodes=members.ravel(),
        node_starts=np.arange(count + 1) * size,
        sources=(union.sources + shift).ravel(),
        targets=(union.targets + shift).ravel(),
        ties=np.tile(union.ties, count),
        arc_starts=np.arange(count + 1) * arcs,
    )


def effect_over(
    unadjusted: float, drawn: Floats, *, smallest: float, resolved: float = 0.0
) -> AdjustedEffect:
    """The mean of the moves that were drawn, with its interval and its grade.

    Moves that the model does not resolve are zero in `unadjusted` and `drawn`. Where `resolved`
    exceeds `smallest`, it takes its place, and nobody can say that there is no effect.
    """
    line = max(smallest, resolved)
    low, high = mean_interval(drawn)
    turned = np.sign(unadjusted) * drawn
    agreeing = float(np.mean(turned > line))
    negligible = float(np.mean(np.abs(drawn) <= line))
    settled = grade(unadjusted, (low, high), agreeing, line)
    if settled == "no_effect" and resolved > smallest:
        settled = "not_settled"
    as_graded = {"no_effect": negligible, "reverses": float(np.mean(turned < -line))}
    return AdjustedEffect(
        unadjusted=round_figure(unadjusted),
        adjusted=round_figure(float(drawn.mean())),
        low=round_figure(low),
        high=round_figure(high),
        smallest=round_figure(line),
        agreeing=agreeing,
        negligible=negligible,
        depends_on_whom=as_graded.get(settled, agreeing) < MOST,
        draws=len(drawn),
        grade=settled,
    )


def mean_interval(drawn: Floats) -> tuple[float, float]:
    """The 95 % interval of the mean of skewed draws: Student's t after Hall's transformation.

    References
    ----------
    P. Hall, On the removal of skewness by transformation, J. R. Statist. Soc. B 54 (1992), 221-228.
    """
    count, mean, spread = len(drawn), float(drawn.mean()), float(drawn.std(ddof=1))
    if spread == 0:
        return mean, mean
    third = float(np.mean(((drawn - mean) / spread) ** 3))
    skew = third * count**2 / ((count - 1) * (count - 2)) / sqrt(count)
    quantile = float(stdtrit(count - 1, 0.5 + CONFIDENCE / 2))

    def without_skew(bound: float) -> float:
        if abs(skew) < NO_SKEW:
            return bound
        return float(3 / skew * (np.cbrt(1 + skew * (bound - skew / 6)) - 1))

    error = spread / sqrt(count)
    return mean - error * without_skew(quantile), mean - error * without_skew(-quantile)


def grade(
    unadjusted: float, interval: tuple[float, float], agreeing: float, smallest: float
) -> Grade:
    """What becomes of a move when its confounders are redrawn, by the interval of the mean.

    *No effect*: less than `smallest` either way. *Holds*: the same way, by at least `smallest` and
    half of the move as it is. *Weakens*: the same way, by at least `smallest` but less than half.
    *Reverses*: the opposite way, by at least `smallest`, and fewer than half of the draws keep the
    direction. *Not settled*: the interval has more than one of these in it.

    A move below `smallest` as it is cannot weaken, and does not reverse: it was none to speak of.
    It can hold. One of zero has no direction, and can only be no effect or not settled.
    """
    sign = float(np.sign(unadjusted))
    low, high = sorted(sign * end for end in interval) if sign else interval
    size = abs(unadjusted)
    if -smallest < low and high < smallest:
        return "no_effect"
    if sign and low >= max(smallest, KEPT * size):
        return "holds"
    if low >= smallest and high < KEPT * size:
        return "weakens"
    if size >= smallest and high <= -smallest and agreeing < HALF:
        return "reverses"
    return "not_settled"


def caveats_on(effects: Effects | None, search: SearchResult, decision: int) -> tuple[Caveat, ...]:
    """The general caveats, then one for each counterfactual that has confounders.

    There are none where removing ties changes nothing, since there is no effect then, and no
    `effects` where no number of hops bounds the model's reach.
    """
    if not search.counterfactuals or search.moves_nothing:
        return ()
    if effects is None:
        return CAUTION, UNKNOWN_REACH
    removals = [removal_of(search.subject, decision, tree) for tree in search.numbers]
    confounded = [
        confounder_caveat(number, tuple(effects.graph.ids[nodes].tolist()), effect)
        for number, (nodes, effect) in enumerate(effects.measure(removals), start=1)
        if len(nodes)
    ]
    return CAUTION, *confounded


def confounder_caveat(
    number: int, confounders: tuple[str, ...], effect: AdjustedEffect | None
) -> Caveat:
    """What the confounders of one counterfactual do to its effect, if that was measured."""
    text: CaveatText = "unmeasured"
    if effect is not None:
        small = abs(effect.unadjusted) < effect.smallest
        text = "too_small" if effect.grade == "not_settled" and small else effect.grade
    return Caveat(
        kind="confounders",
        grade=None if effect is None else effect.grade,
        counterfactual=number,
        about=f"counterfactual {number}",
        text=text,
        variables=confounders,
        effect=effect,
    )
