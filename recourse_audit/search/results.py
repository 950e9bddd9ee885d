"""Arrays become records: the winner, its diverse company, the front, in the user's own ids."""

from dataclasses import dataclass

import numpy as np

from recourse_audit.graph.arrays import Floats, Graph, Ints
from recourse_audit.records import (
    Counterfactual,
    Coverage,
    Explanation,
    FrontPair,
    Ranks,
    SearchFailure,
    SearchResult,
    Tie,
)
from recourse_audit.search.choice import Pairs, Ranking, canonical_order, diverse, dominated_by, fronts
from recourse_audit.search.choice import winner as best_pair
from recourse_audit.search.evaluation import Evaluator
from recourse_audit.search.local import LocalGraph
from recourse_audit.search.pairs import PairTable, pair_table
from recourse_audit.search.picks import picks
from recourse_audit.search.scope import Scope
from recourse_audit.search.subtrees import Level

SHOWN_DIGITS = 6
FRONT_LISTED = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Everything evaluated for one subject: its subtrees level by level, and their scores.

    `winner` is set where a sampled search has moved to it; else the best rank sum wins.
    """

    subject: int
    local: LocalGraph
    levels: tuple[Level, ...]
    simulatability: Floats
    coverage: Coverage
    winner: Pairs | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """How numbers are turned into the user's words."""

    graph: Graph
    classes: tuple[str, ...]

    def ties(self, local: LocalGraph, ties: Ints) -> tuple[Tie, ...]:
        """The ends of some local ties, in canonical order, as ids."""
        pairs = local.pairs[np.sort(ties)]
        low, high = self.graph.pair_low[pairs], self.graph.pair_high[pairs]
        ids = self.graph.ids
        return tuple((str(ids[a]), str(ids[b])) for a, b in zip(low, high, strict=True))

    def probabilities(self, answer: Floats) -> dict[str, float]:
        """One row of log-probabilities as probabilities by class."""
        row = np.exp(answer)
        return {name: shown(float(value)) for name, value in zip(self.classes, row, strict=True)}


def shown(value: float) -> float:
    """Round to the resolution at which results are compared; no negative zero."""
    return round(value, SHOWN_DIGITS) + 0.0


def result_of(
    finding: Finding, naming: Naming, scope: Scope, evaluator: Evaluator
) -> SearchResult | SearchFailure:
    """Rank and choose; or say which subgraph the model gave no usable answer for."""
    broken = np.flatnonzero(~np.isfinite(finding.simulatability))
    if len(broken):
        return SearchFailure(
            subject=finding.subject, reason=_broken(finding, naming, int(broken[0]))
        )
    page = Page(finding, naming, scope)
    evaluated = sum(len(level) for level in finding.levels)
    return SearchResult(
        subject=finding.subject,
        max_nodes=scope.max_nodes,
        max_hops=scope.max_hops,
        subgraphs=finding.coverage.total,
        pairs=page.table.pair_count,
        queries=evaluated + 1,
        coverage=finding.coverage,
        counterfactuals=page.counterfactuals(evaluator),
        front=page.front(),
        front_size=page.front_size,
        picks=page.picked(),
    )


class Page:
    """The choices for one subject, made once, written out as records."""

    def __init__(self, finding: Finding, naming: Naming, scope: Scope) -> None:
        self._finding = finding
        self._naming = naming
        self.table = pair_table(finding.levels, finding.simulatability, finding.local.pairs)
        if not self.table.levels:
            return
        self._ranking = Ranking(self.table)
        self._front = next(fronts(self.table))
        winner = finding.winner or best_pair(self._ranking, self._front)
        self._chosen = diverse(self._ranking, winner, scope.counterfactuals)
        self._picks = picks(self._ranking, (scope.seed, finding.subject))

    def counterfactuals(self, evaluator: Evaluator) -> tuple[Counterfactual, ...]:
        """The winner first, then the others in the order they were chosen."""
        if not self.table.levels:
            return ()
        trees = []
        for pair, _ in self._chosen:
            level, column = self.table.locate(int(pair.explanation[0]))
            nodes, ties = level.level.nodes[:, column], level.level.ties[:, column]
            kept = (int(pair.mask[0]) >> np.arange(len(ties)) & 1) == 1
            trees += [(nodes, ties), (nodes[np.append(True, kept)], ties[kept])]
        answers = evaluator.answers(self._finding.local, self._finding.subject, trees)
        return tuple(
            self._counterfactual(pair, layer, answers[2 * place], answers[2 * place + 1])
            for place, (pair, layer) in enumerate(self._chosen)
        )

    def front(self) -> tuple[FrontPair, ...]:
        """The pairs of the Pareto front, most simulatable first; no more than can be read."""
        if not self.table.levels:
            return ()
        ordered = self._front.take(canonical_order(self.table, self._front))
        key = self.table.explanation_key[ordered.explanation]
        ordered = ordered.take(np.argsort(-key, kind="stable")[:FRONT_LISTED])
        return tuple(self._front_pair(ordered, place) for place in range(len(ordered)))

    @property
    def front_size(self) -> int:
        return len(self._front) if self.table.levels else 0

    def picked(self) -> dict[str, FrontPair]:
        """What other ways of choosing would have shown."""
        if not self.table.levels:
            return {}
        return {name: self._front_pair(pair, 0) for name, pair in self._picks.items()}

    def _front_pair(self, pairs: Pairs, place: int) -> FrontPair:
        explanation, mask = int(pairs.explanation[place]), int(pairs.mask[place])
        level, column = self.table.locate(explanation)
        ties, removed = self._ties(explanation, mask)
        return FrontPair(
            edges=self._naming.ties(self._finding.local, ties),
            removed=self._naming.ties(self._finding.local, removed),
            simulatability=shown(float(self.table.simulatability[explanation + 1])),
            relevance=shown(abs(float(level.relevance[mask, column]))),
        )

    def _ties(self, explanation: int, mask: int) -> tuple[Ints, Ints]:
        level, column = self.table.locate(explanation)
        ties = level.level.ties[:, column]
        removed = (mask >> np.arange(len(ties)) & 1) == 0
        return ties, ties[removed]

    def _counterfactual(
        self, pair: Pairs, layer: int, whole: Floats, reduced: Floats
    ) -> Counterfactual:
        finding, naming, table = self._finding, self._naming, self.table
        explanation, mask = int(pair.explanation[0]), int(pair.mask[0])
        level, column = table.locate(explanation)
        ties, removed = self._ties(explanation, mask)
        figures = self._ranking.figures(pair)
        own = (float(figures.simulatability[0]), float(figures.relevance[0]))
        signed = float(level.relevance[mask, column])
        nodes = np.sort(level.level.nodes[:, column])
        others = {name: self._ranking.figures(other) for name, other in self._picks.items()}
        return Counterfactual(
            explanation=Explanation(
                nodes=tuple(str(naming.graph.ids[n]) for n in finding.local.nodes[nodes]),
                edges=naming.ties(finding.local, ties),
                simulatability=shown(float(table.simulatability[explanation + 1])),
                probabilities=naming.probabilities(whole),
            ),
            removed=naming.ties(finding.local, removed),
            kept=naming.ties(finding.local, np.setdiff1d(ties, removed)),
            simulatability=shown(float(table.simulatability[explanation + 1])),
            relevance=shown(abs(signed)),
            signed_relevance=shown(signed),
            ranks=Ranks(
                simulatability=int(figures.simulatability_rank[0]),
                relevance=int(figures.relevance_rank[0]),
                sum=int(figures.rank_sum[0]),
            ),
            layer=layer,
            dominates=dominated_by(table, *own),
            dominates_picks={
                name: _dominates(own, (float(f.simulatability[0]), float(f.relevance[0])))
                for name, f in others.items()
            },
            probabilities=naming.probabilities(reduced),
        )


def _dominates(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one != other and one[0] >= other[0] and one[1] >= other[1]


def _broken(finding: Finding, naming: Naming, number: int) -> str:
    """Name the subgraph that got an answer which is not a number."""
    ids = naming.graph.ids
    for level in finding.levels:
        if number < len(level):
            nodes = finding.local.nodes[np.sort(level.nodes[:, number])]
            names = ", ".join(str(ids[node]) for node in nodes)
            ties = naming.ties(finding.local, level.ties[:, number])
            tied = "; ".join(f"{a}-{b}" for a, b in ties) or "no ties"
            return f"the model's answer is not a number for the subgraph {names} ({tied})"
        number -= len(level)
    raise IndexError(number)
