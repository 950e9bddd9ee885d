"""What must be said beside a counterfactual: how its effect holds when its confounders are redrawn.

This is the back-door sum of section IV-B, computed by queries. The features of the confounding
nodes are replaced by those of nodes drawn at random, everything else stays, and the effect of the
removal on the probability of the decision, or on the score, is averaged. It is compared with the
effect with all features as they are.

A node's features are looked up by its number, so a draw is a query about the same tree with other
numbers in a few places. Effects whose grade is not settled are drawn on: the draws of a subject are
one sequence, of which more or less is used.

Vocabulary
----------
move      what a removal does to the probability of the decision, or to the score.
smallest  a move below this is no effect to speak of; at least what the model resolves.
interval  that of the mean move at 95 %, turned so that the move as it is points upwards.

Only the mean decides, and only where its whole interval is on one side of a line. So a grade is
about the population and not about the draws: more draws would settle more effects, and change no
settled grade but by the chance that every interval has. The share of draws that go the same way is
beside it, and says whether the mean speaks for most of them.

Every caveat has one text for the auditor, which names variables, and one for a letter. The paper's
general caution goes with every counterfactual.
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
from recourse_audit.records.search import SearchResult, Tie, TreeNumbers
from recourse_audit.records.subject import AdjustedEffect, Caveat, Grade
from recourse_audit.search.results import round_figure
from recourse_audit.settings import FIRST_DRAWS, CaveatSettings

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
# Smaller moves would be +0.000.
LEAST_SHOWN = 0.0005
HEADLINES: dict[Grade, str] = {
    "holds": "The effect holds: on average it keeps its direction and at least half of its size.",
    "weakens": "The effect weakens: on average it keeps its direction, but less than half of its "
    "size.",
    "no_effect": "No effect to speak of: on average the move is below {smallest:.3g} either way.",
    "reverses": "The effect reverses: on average it goes the other way.",
    "not_settled": "Not settled: {draws} draws do not show whether the effect holds.",
}
TOO_SMALL = (
    "Not settled: with the features as they are, the move is below {smallest:.3g}, too small to "
    "hold or reverse."
)
_OTHERWISE = "With other information about you and the people you are connected with, "
LETTERS: dict[Grade, str] = {
    "holds": f"{_OTHERWISE}this kind of change worked in the same direction on average, and at "
    "least half as strongly.",
    "weakens": f"{_OTHERWISE}this kind of change worked less than half as strongly on average, so "
    "it may count for less than it seems.",
    "no_effect": f"{_OTHERWISE}this kind of change made hardly any difference on average. Please "
    "do not rely on it alone.",
    "reverses": f"{_OTHERWISE}this kind of change had the opposite effect on average. Please do "
    "not rely on it alone.",
    "not_settled": "We checked how far this depends on other information about you and the people "
    "you are connected with, but the result was not clear.",
}
LETTER_DEPENDS = "This was not the case every time we checked."
LETTER_UNMEASURED = "We could not check how far this depends on other information."
CAUTION = Caveat(
    kind="general",
    grade=None,
    counterfactual=None,
    about="every counterfactual",
    text="Removing these ties changes what the model answers on a small part of the graph. That "
    "makes them a part of how the answer came about, not its only or true cause: other variables "
    "in the model's own computation act on the same answer.",
    letter="These connections are a part of how the answer came about. They are not its only "
    "cause, and perhaps not its true one.",
)
UNBOUNDED = Caveat(
    kind="unknown_reach",
    grade=None,
    counterfactual=None,
    about="every counterfactual",
    text="Every node reaches every other in this model, so which of its variables confound a "
    "counterfactual cannot be listed, and no effect was adjusted for them. Declare model.depth if "
    "it is known.",
    letter="We could not check whether this depends on other information.",
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
    gone = np.flatnonzero(~np.isin(removal.nodes, _kept_nodes(graph, removal)))
    subject = int(np.searchsorted(removal.nodes, removal.subject))
    places = confounding_places(
        tuple(ways), len(removal.nodes), subject, tuple(gone.tolist()), depth
    )
    return removal.nodes[list(places)]


def _kept_nodes(graph: Graph, removal: Removal) -> Ints:
    ends = (graph.pair_low[removal.kept], graph.pair_high[removal.kept])
    return np.unique(np.concatenate(([removal.subject], *ends)))


class Effects:
    """Measures effects of removals on one graph with one model."""

    def __init__(
        self,
        graph: Graph,
        batcher: QueryBatcher,
        decisions: Decisions,
        depth: int,
        settings: CaveatSettings,
        seed: int,
    ) -> None:
        self._graph = graph
        self._decisions = decisions
        self._batcher = batcher
        self._depth = depth
        self._settings = settings
        self._seed = seed
        column = settings.stratum
        self._stratum = None if column is None else graph.attributes[column]

    def measure(self, removals: Sequence[Removal]) -> list[tuple[Ints, AdjustedEffect | None]]:
        """For each removal, the confounding nodes and the effect with and without drawing them.

        The effect is None where nothing confounds, or an answer is not a number. All questions of
        a round of draws are packed together.
        """
        drawings = [
            Drawing(
                removal=removal, confounders=confounding_nodes(self._graph, removal, self._depth)
            )
            for removal in removals
        ]
        open_ = [drawing for drawing in drawings if len(drawing.confounders)]
        for draws in rounds(self._settings.draws):
            open_ = self.draw_on(open_, draws)
        return [(drawing.confounders, drawing.effect) for drawing in drawings]

    def draw_on(self, open_: Sequence["Drawing"], draws: int) -> list["Drawing"]:
        """Draw on, up to so many draws of each; those that are still not settled."""
        if not open_:
            return []
        queries = [query for drawing in open_ for query in self._queries(drawing, draws)]
        unions, rows = [union for union, _ in queries], [row for _, row in queries]
        answers = self._batcher.ask(*side_by_side(unions, rows))
        asked = answers.reshape(len(open_), 2, -1, answers.shape[-1])
        for number, drawing in enumerate(open_):
            self._take(
                drawing, self._decisions.rule.class_value(asked[number], drawing.removal.decision)
            )
        return [
            drawing for drawing in open_ if drawing.effect and drawing.effect.grade == "not_settled"
        ]

    def _queries(self, drawing: "Drawing", draws: int) -> Iterator[tuple[Union, Ints]]:
        """The explanation, then what is kept of it: each once for every further draw.

        In the first round, before all draws, with the features as they are.
        """
        removal, first = drawing.removal, not drawing.watched.size
        donors = self._donors(removal.subject, len(drawing.confounders), draws)[drawing.draws :]
        kept = _kept_nodes(self._graph, removal)
        for nodes, pairs in ((removal.nodes, removal.pairs), (kept, removal.kept)):
            union = with_pairs(self._graph, nodes, pairs)
            members = np.repeat(union.nodes[None], len(donors) + first, axis=0)
            members[int(first) :, np.searchsorted(nodes, drawing.confounders)] = donors
            row = int(np.searchsorted(nodes, removal.subject))
            yield repeat_graph(union, members), np.arange(len(members)) * len(nodes) + row

    def _donors(self, subject: int, count: int, draws: int) -> Ints:
        """Nodes whose features replace those of the confounders, one row per draw.

        The first rows are the same, however many there are.
        """
        generator = np.random.default_rng((self._seed, subject, SALT))
        shape = (draws, count)
        if self._stratum is None:
            return generator.integers(self._graph.node_count, size=shape)
        alike = np.flatnonzero(self._stratum == self._stratum[subject])
        return alike[generator.integers(len(alike), size=shape)]

    def _take(self, drawing: "Drawing", watched: Floats) -> None:
        """Add what the model answered, and grade the effect by all draws so far."""
        drawing.watched = np.concatenate((drawing.watched, watched), axis=1)
        drawing.effect = None
        if np.isfinite(drawing.watched).all():
            before, after = drawing.watched
            resolved = self._resolution(before, after)
            moves = np.where(np.abs(after - before) > resolved, after - before, 0.0)
            # A probability has 1 for a unit, a score its standard deviation.
            smallest = self._settings.smallest_effect * self._decisions.spread
            drawing.effect = adjusted_effect(
                float(moves[0]), moves[1:], smallest=smallest, resolved=float(resolved.max())
            )

    def _resolution(self, before: Floats, after: Floats) -> Floats:
        """How far two answers must be apart to differ, by their precision and by what repeats show.

        The noise is that of a logarithm; it moves a probability p by at most p (1 + |log p|) times
        as much, which is never more than 1.
        """
        noise = noise_of(self._batcher)
        largest = self._batcher.repeater.result.largest
        if not self._decisions.rule.scores:
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


def adjusted_effect(
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


class Caveats:
    """Finds the caveats of counterfactuals, for one graph and one model."""

    def __init__(
        self,
        graph: Graph,
        batcher: QueryBatcher,
        decisions: Decisions,
        depth: int | None,
        settings: CaveatSettings,
        seed: int,
    ) -> None:
        self._graph = graph
        self._decisions = decisions
        self._effects = (
            None if depth is None else Effects(graph, batcher, decisions, depth, settings, seed)
        )
        self._general = general_caveats(depth_known=depth is not None)

    def on(self, search: SearchResult, decision: int) -> tuple[Caveat, ...]:
        """The general caveats, then one for each counterfactual that has confounders.

        There are none where removing ties changes nothing, since there is no effect then.
        """
        counterfactuals = search.counterfactuals
        if not counterfactuals or search.moves_nothing:
            return ()
        if self._effects is None:
            return self._general
        caveats = list(self._general)
        rule = self._decisions.rule
        watched = "score" if rule.scores else f"probability of {rule.classes[decision]}"
        removals = [removal_of(search.subject, decision, tree) for tree in search.numbers]
        measured = zip(counterfactuals, self._effects.measure(removals), strict=True)
        for number, (counterfactual, (nodes, effect)) in enumerate(measured, start=1):
            if len(nodes):
                names = tuple(self._graph.ids[nodes].tolist())
                removed = counterfactual.removed
                caveats.append(confounder_caveat(number, removed, watched, names, effect))
        return tuple(caveats)


def confounder_caveat(
    number: int,
    removed: tuple[Tie, ...],
    watched: str,
    confounders: tuple[str, ...],
    effect: AdjustedEffect | None,
) -> Caveat:
    """What the confounders of one counterfactual do to its effect, if that was measured.

    `watched` names what the effect is on: the probability of a class, or the score.
    """
    names = _join_names(confounders)
    ties = _join_names(tuple(f"{a}-{b}" for a, b in removed))
    act = f"The features of {names} act on the answer both through what is removed and around it"
    about = f"counterfactual {number}"
    if effect is None:
        return Caveat(
            kind="confounders",
            grade=None,
            counterfactual=number,
            about=about,
            text=f"{act}; how much of the effect of removing {ties} is theirs was not measured.",
            letter=LETTER_UNMEASURED,
            variables=confounders,
        )
    return Caveat(
        kind="confounders",
        grade=effect.grade,
        counterfactual=number,
        about=about,
        text=f"{_headline(effect)} Removing {ties} moves the {watched} by "
        f"{_move_in_words(effect.unadjusted)} with the features as they are. {act}: when they are "
        f"redrawn from the population, the move is {effect.adjusted:+.3f} on average (95 % "
        f"interval {effect.low:+.3f} to {effect.high:+.3f}). {_shares(effect)}",
        letter=_letter(effect),
        variables=confounders,
        effect=effect,
    )


def _headline(effect: AdjustedEffect) -> str:
    small = abs(effect.unadjusted) < effect.smallest
    words = TOO_SMALL if effect.grade == "not_settled" and small else HEADLINES[effect.grade]
    return words.format(smallest=effect.smallest, draws=effect.draws)


def _move_in_words(move: float) -> str:
    """A move with its sign; a small one with as many decimals as it has."""
    if move == 0:
        return "no measurable amount"
    return f"{move:+.3f}" if abs(move) >= LEAST_SHOWN else f"{move:+.6f}".rstrip("0")


def _shares(effect: AdjustedEffect) -> str:
    """In how many draws the move goes which way; all of them, if it depends on whom."""
    same = f"in the same direction in {_share(effect.agreeing)} of {effect.draws} draws"
    beyond = f"exceeds {effect.smallest:.3g}"
    if effect.unadjusted == 0:
        larger = _share(1 - effect.negligible)
        return f"It {beyond} in either direction in {larger} of {effect.draws} draws."
    if not effect.depends_on_whom:
        return f"It {beyond} {same}."
    opposite = _share(1 - effect.agreeing - effect.negligible)
    return (
        f"It depends on whom: the move {beyond} {same}, in the opposite direction in {opposite}, "
        f"and in neither in {_share(effect.negligible)}."
    )


def _share(share: float) -> str:
    # What is left of 1 may be a little less than nothing.
    return f"{100 * max(share, 0.0):.0f} %"


def _letter(effect: AdjustedEffect) -> str:
    """What a letter says; of an effect that holds, also that it does not always."""
    words = LETTERS[effect.grade]
    whom = effect.grade == "holds" and effect.depends_on_whom
    return f"{words} {LETTER_DEPENDS}" if whom else words


def _join_names(names: tuple[str, ...]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def general_caveats(*, depth_known: bool) -> tuple[Caveat, ...]:
    """The caveats that go with every counterfactual, whatever was measured."""
    return (CAUTION,) if depth_known else (CAUTION, UNBOUNDED)
