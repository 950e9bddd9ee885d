"""The effect of removing a part of an explanation, with its confounders drawn from the population.

This is the back-door sum of section IV-B, computed by queries. The features of the confounding
nodes are replaced by those of nodes drawn at random, everything else stays, and the effect of the
removal on the probability of the decision, or on the score, is averaged. It is compared with the
effect with all features as they are.

A node's features are looked up by its number, so a draw is a question about the same tree with
other numbers in a few places. Effects whose grade is not settled are drawn on: the draws of a
subject are one sequence, of which more or less is used. `Caveats` puts the effects of a subject's
counterfactuals into words.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from recourse_audit.caveats.grades import adjusted_effect
from recourse_audit.caveats.rollout import confounding_places
from recourse_audit.caveats.wording import confounder_caveat, general_caveats
from recourse_audit.graph.arrays import Floats, Graph, Ints
from recourse_audit.graph.neighbourhoods import spans
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.decisions import Decisions
from recourse_audit.model.queries import Union, side_by_side, with_pairs
from recourse_audit.model.rounding import noise_of
from recourse_audit.records.caveats import AdjustedEffect, Caveat
from recourse_audit.records.search import Counterfactual, SearchResult, Tie
from recourse_audit.settings import FIRST_DRAWS, CaveatSettings

# After each round there are so many times the draws that there were before it.
GROWTH = 4
SALT = 5


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
        found = [
            Drawing(removal=one, confounders=confounding_nodes(self._graph, one, self._depth))
            for one in removals
        ]
        open_ = [one for one in found if len(one.confounders)]
        for draws in rounds(self._settings.draws):
            open_ = self.draw_on(open_, draws)
        return [(one.confounders, one.effect) for one in found]

    def draw_on(self, open_: Sequence["Drawing"], draws: int) -> list["Drawing"]:
        """Draw on, up to so many draws of each; those that are still not settled."""
        if not open_:
            return []
        questions = [one for each in open_ for one in self._questions(each, draws)]
        unions, rows = [union for union, _ in questions], [row for _, row in questions]
        answers = self._batcher.ask(*side_by_side(unions, rows))
        asked = answers.reshape(len(open_), 2, -1, answers.shape[-1])
        for number, one in enumerate(open_):
            self._take(one, self._decisions.rule.watched(asked[number], one.removal.decision))
        return [one for one in open_ if one.effect and one.effect.grade == "not_settled"]

    def _questions(self, one: "Drawing", draws: int) -> Iterator[tuple[Union, Ints]]:
        """The explanation, then what is kept of it: each once for every further draw.

        In the first round, before all draws, with the features as they are.
        """
        removal, first = one.removal, not one.watched.size
        donors = self._donors(removal.subject, len(one.confounders), draws)[one.draws :]
        kept = _kept_nodes(self._graph, removal)
        for nodes, pairs in ((removal.nodes, removal.pairs), (kept, removal.kept)):
            union = with_pairs(self._graph, nodes, pairs)
            members = np.repeat(union.nodes[None], len(donors) + first, axis=0)
            members[int(first) :, np.searchsorted(nodes, one.confounders)] = donors
            row = int(np.searchsorted(nodes, removal.subject))
            yield repeated(union, members), np.arange(len(members)) * len(nodes) + row

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

    def _take(self, one: "Drawing", watched: Floats) -> None:
        """Add what the model answered, and grade the effect by all draws so far."""
        one.watched = np.concatenate((one.watched, watched), axis=1)
        one.effect = None
        if np.isfinite(one.watched).all():
            before, after = one.watched
            resolved = self._resolved(before, after)
            moves = np.where(np.abs(after - before) > resolved, after - before, 0.0)
            # A probability has 1 for a unit, a score its standard deviation.
            smallest = self._settings.smallest_effect * self._decisions.spread
            one.effect = adjusted_effect(
                float(moves[0]), moves[1:], smallest=smallest, resolved=float(resolved.max())
            )

    def _resolved(self, before: Floats, after: Floats) -> Floats:
        """How far two answers must be apart to differ, by their precision and by what repeats show.

        The noise is that of a logarithm; it moves a probability p by at most p (1 + |log p|) times
        as much, which is never more than 1.
        """
        noise = noise_of(self._batcher)
        largest = self._batcher.repeater.found.largest
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


def repeated(union: Union, members: Ints) -> Union:
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
        shown = search.counterfactuals
        if not shown or search.moves_nothing:
            return ()
        if self._effects is None:
            return self._general
        caveats = list(self._general)
        rule = self._decisions.rule
        watched = "score" if rule.scores else f"probability of {rule.classes[decision]}"
        finder = TieFinder(self._graph, search.subject)
        removals = [finder.removal(one, decision) for one in shown]
        measured = self._effects.measure(removals)
        for number, (one, (nodes, effect)) in enumerate(zip(shown, measured, strict=True), start=1):
            if len(nodes):
                names = tuple(self._graph.ids[nodes].tolist())
                caveats.append(confounder_caveat(number, one.removed, watched, names, effect))
        return tuple(caveats)


class TieFinder:
    """Finds the ties of explanations in the graph again, walking from the subject by ids."""

    def __init__(self, graph: Graph, subject: int) -> None:
        self._graph = graph
        self._subject = subject
        self._numbers = {str(graph.ids[subject]): subject}
        self._near: dict[int, dict[str, int]] = {}

    def removal(self, shown: Counterfactual, decision: int) -> Removal:
        """The explanation, and what is kept of it, by numbers."""
        pairs = self._pairs(shown.explanation.edges)
        nodes = [self._numbers[name] for name in shown.explanation.nodes]
        return Removal(
            subject=self._subject,
            decision=decision,
            nodes=np.sort(np.array(nodes, np.int64)),
            pairs=np.array([pairs[tie] for tie in shown.explanation.edges], np.int64),
            kept=np.array([pairs[tie] for tie in shown.kept], np.int64),
        )

    def _pairs(self, ties: tuple[Tie, ...]) -> dict[Tie, int]:
        """The pair numbers of ties that are connected to the subject."""
        found: dict[Tie, int] = {}
        while len(found) < len(ties):
            for tie in ties:
                known, other = tie if tie[0] in self._numbers else tie[::-1]
                if tie not in found and known in self._numbers:
                    position = self._position(self._numbers[known], other)
                    found[tie] = int(self._graph.neighbour_pair[position])
                    self._numbers[other] = int(self._graph.neighbour[position])
        return found

    def _position(self, node: int, name: str) -> int:
        """The place of a neighbour, given by id, in a node's list."""
        first = int(self._graph.starts[node])
        if node not in self._near:
            names = self._graph.ids[self._graph.neighbours(node)].tolist()
            self._near[node] = {name: place for place, name in enumerate(names)}
        return first + self._near[node][name]
