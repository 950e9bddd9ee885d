"""The effect of removing a part of an explanation, with its confounders drawn from the population.

This is the back-door sum of section IV-B, computed by queries. The features of the confounding
nodes are replaced by those of nodes drawn at random, everything else stays, and the effect of the
removal on the probability of the decision, or on the score, is averaged. It is compared with the
effect with all features as they are.

A node's features are looked up by its number, so a draw is a question about the same tree with
other numbers in a few places. `Caveats` puts the effects of a subject's counterfactuals into words.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy.special import ndtri

from recourse_audit.caveats.rollout import confounding_places
from recourse_audit.caveats.wording import confounder_caveat, general_caveats
from recourse_audit.graph.arrays import Floats, Graph, Ints
from recourse_audit.graph.neighbourhoods import spans
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.decisions import Decisions
from recourse_audit.model.queries import Union, side_by_side, with_pairs
from recourse_audit.records.caveats import AdjustedEffect, Caveat, Grade
from recourse_audit.records.search import Counterfactual, SearchResult, Tie
from recourse_audit.search.results import shown
from recourse_audit.settings import CaveatSettings

NO_EFFECT = 1e-6
CONFIDENCE = 0.95
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

        The effect is None where nothing confounds, or an answer is not a number. All questions are
        packed together.
        """
        confounders = [confounding_nodes(self._graph, one, self._depth) for one in removals]
        open_ = [place for place, nodes in enumerate(confounders) if len(nodes)]
        effects: list[AdjustedEffect | None] = [None] * len(removals)
        if open_ and self._settings.draws:
            unions, rows = [], []
            for place in open_:
                for union, row in self._questions(removals[place], confounders[place]):
                    unions.append(union)
                    rows.append(row)
            answers = self._batcher.ask(*side_by_side(unions, rows))
            asked = answers.reshape(len(open_), 2, self._settings.draws + 1, -1)
            for number, place in enumerate(open_):
                watched = self._decisions.rule.watched(asked[number], removals[place].decision)
                effects[place] = self._effect(watched[1] - watched[0])
        return list(zip(confounders, effects, strict=True))

    def _questions(self, removal: Removal, confounders: Ints) -> Iterator[tuple[Union, Ints]]:
        """The explanation, then what is kept of it: each as it is, and once for every draw."""
        donors = self._donors(removal.subject, len(confounders))
        kept = _kept_nodes(self._graph, removal)
        for nodes, pairs in ((removal.nodes, removal.pairs), (kept, removal.kept)):
            union = with_pairs(self._graph, nodes, pairs)
            members = np.repeat(union.nodes[None], len(donors) + 1, axis=0)
            members[1:, np.searchsorted(nodes, confounders)] = donors
            row = int(np.searchsorted(nodes, removal.subject))
            yield repeated(union, members), np.arange(len(members)) * len(nodes) + row

    def _donors(self, subject: int, count: int) -> Ints:
        """Nodes whose features replace those of the confounders, one row per draw."""
        generator = np.random.default_rng((self._seed, subject, SALT))
        shape = (self._settings.draws, count)
        if self._stratum is None:
            return generator.integers(self._graph.node_count, size=shape)
        alike = np.flatnonzero(self._stratum == self._stratum[subject])
        return alike[generator.integers(len(alike), size=shape)]

    def _effect(self, effects: Floats) -> AdjustedEffect | None:
        if not np.isfinite(effects).all():
            return None
        unadjusted, drawn = float(effects[0]), effects[1:]
        mean, error = float(drawn.mean()), float(drawn.std(ddof=1)) / sqrt(len(drawn))
        width = float(ndtri(0.5 + CONFIDENCE / 2)) * error
        same = np.sign(drawn) == np.sign(unadjusted)
        # A probability has 1 for a unit, a score its standard deviation.
        unit = self._decisions.spread
        agreeing = float(np.mean(same & (np.abs(drawn) >= NO_EFFECT * unit)))
        return AdjustedEffect(
            unadjusted=shown(unadjusted),
            adjusted=shown(mean),
            low=shown(mean - width),
            high=shown(mean + width),
            agreeing=agreeing,
            draws=len(drawn),
            grade=grade(unadjusted / unit, mean / unit, agreeing, self._settings),
        )


def grade(unadjusted: float, adjusted: float, agreeing: float, settings: CaveatSettings) -> Grade:
    """Say whether an effect holds, weakens or reverses when its confounders are redrawn.

    *Reverses*: the sign stays in fewer draws than `reverses_below`. *Weakens*: in fewer than
    `weakens_below`, or the mean keeps less than `shrinks_below` of its size, or there was no
    effect to begin with. *Holds*: otherwise.
    """
    if abs(unadjusted) < NO_EFFECT:
        return "weakens"
    if agreeing < settings.reverses_below:
        return "reverses"
    if agreeing < settings.weakens_below or adjusted / unadjusted < settings.shrinks_below:
        return "weakens"
    return "holds"


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
                caveats.append(confounder_caveat(number, one, watched, names, effect))
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
