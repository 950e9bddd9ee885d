"""Arrays become records: the winner, its diverse company, the front, in the user's own ids."""

from dataclasses import dataclass
from itertools import chain

import numpy as np

from recourse_audit.graph.arrays import Floats, Graph, Indices, Ints
from recourse_audit.model.output import log_probabilities
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
from recourse_audit.search.choice import (
    Ranking,
    canonical_order,
    diverse,
    dominated_by,
    fronts,
    winner,
)
from recourse_audit.search.evaluation import Scores
from recourse_audit.search.local import LocalGraph
from recourse_audit.search.pairs import NO_TIE, PairTable, pair_table
from recourse_audit.search.picks import picks
from recourse_audit.search.scope import Scope
from recourse_audit.search.subtrees import Level
from recourse_audit.settings import OutputKind

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
    scores: Scores
    coverage: Coverage
    winner: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """How numbers are turned into the user's words."""

    graph: Graph
    classes: tuple[str, ...]
    kind: OutputKind

    def nodes(self, nodes: Indices) -> tuple[str, ...]:
        """The ids of some nodes of the graph."""
        return tuple(self.graph.ids[nodes].tolist())

    def ties(self, local: LocalGraph, columns: Indices) -> list[tuple[Tie, ...]]:
        """The ends of local ties as ids: a tuple for each column, without the filling."""
        real = columns.T != NO_TIE
        pairs = local.pairs[columns.T[real]]
        low = self.nodes(self.graph.pair_low[pairs])
        high = self.nodes(self.graph.pair_high[pairs])
        ends = list(zip(low, high, strict=True))
        until = np.cumsum(real.sum(axis=1)).tolist()
        return [tuple(ends[a:b]) for a, b in zip([0, *until], until, strict=False)]

    def probabilities(self, answers: Floats) -> list[dict[str, float]]:
        """Rows of log-probabilities as probabilities by class."""
        return [
            {name: shown(value) for name, value in zip(self.classes, row, strict=True)}
            for row in np.exp(answers).tolist()
        ]


def shown(value: float) -> float:
    """Round to the resolution at which results are compared; no negative zero."""
    return round(value, SHOWN_DIGITS) + 0.0


def result_of(finding: Finding, naming: Naming, scope: Scope) -> SearchResult | SearchFailure:
    """Rank and choose; or say which subgraph the model gave no usable answer for."""
    simulatability = finding.scores.simulatability
    broken = np.flatnonzero(~np.isfinite(simulatability))
    if len(broken):
        reason = _broken(finding, naming, int(broken[0]))
        return SearchFailure(subject=finding.subject, reason=reason)
    table = pair_table(finding.levels, simulatability, finding.local.pairs)
    page = Page(finding, table, naming, scope) if len(table) else None
    return SearchResult(
        subject=finding.subject,
        max_nodes=scope.max_nodes,
        max_hops=scope.max_hops,
        subgraphs=finding.coverage.total,
        pairs=len(table),
        queries=len(simulatability) + 1,
        coverage=finding.coverage,
        counterfactuals=page.counterfactuals() if page else (),
        front=page.front() if page else (),
        front_size=page.front_size if page else 0,
        picks=page.picked() if page else {},
    )


class Page:
    """The choices for one subject, made once, named together, written out as records."""

    def __init__(self, finding: Finding, table: PairTable, naming: Naming, scope: Scope) -> None:
        self._finding = finding
        self._naming = naming
        self._table = table
        ranking = Ranking(table)
        layers = fronts(table)
        front = next(layers)
        best = winner(ranking, front) if finding.winner is None else finding.winner
        chosen = diverse(ranking, best, chain((front,), layers), scope.counterfactuals)
        others = picks(ranking, (scope.seed, finding.subject))
        self.front_size = len(front)
        self._layers = [layer for _, layer in chosen]
        self._pick_names = tuple(others)
        listed = _listed(table, front)
        self._pairs = np.concatenate(([pair for pair, _ in chosen], [*others.values()], listed))
        self._figures = ranking.figures(self._pairs)
        every, removed = table.tie_columns(self._pairs)
        self._every = naming.ties(finding.local, every)
        self._removed = naming.ties(finding.local, removed)

    def counterfactuals(self) -> tuple[Counterfactual, ...]:
        """The winner first, then the others in the order they were chosen."""
        table, pairs = self._table, self._pairs[: len(self._layers)]
        counts = dominated_by(table, pairs).tolist()
        subtrees = np.concatenate((table.explanation[pairs] + 1, table.kept[pairs]))
        answers = log_probabilities(self._finding.scores.raw[subtrees], self._naming.kind)
        named = self._naming.probabilities(answers)
        return tuple(
            self._counterfactual(place, count, named[place], named[place + len(pairs)])
            for place, count in enumerate(counts)
        )

    def picked(self) -> dict[str, FrontPair]:
        """What other ways of choosing would have shown."""
        start = len(self._layers)
        return {name: self._pair(start + place) for place, name in enumerate(self._pick_names)}

    def front(self) -> tuple[FrontPair, ...]:
        """The pairs of the Pareto front, most simulatable first; no more than can be read."""
        start = len(self._layers) + len(self._pick_names)
        return tuple(self._pair(place) for place in range(start, len(self._pairs)))

    def _pair(self, place: int) -> FrontPair:
        pair = self._pairs[place]
        explanation = self._table.explanation[pair]
        return FrontPair(
            edges=self._every[place],
            removed=self._removed[place],
            simulatability=shown(float(self._table.simulatability[explanation + 1])),
            relevance=shown(abs(float(self._table.relevance[pair]))),
        )

    def _objectives(self, place: int) -> tuple[float, float]:
        figures = self._figures
        return float(figures.simulatability[place]), float(figures.relevance[place])

    def _counterfactual(
        self, place: int, dominates: int, whole: dict[str, float], reduced: dict[str, float]
    ) -> Counterfactual:
        naming, table, figures = self._naming, self._table, self._figures
        pair = self._pairs[place]
        explanation, signed = int(table.explanation[pair]), float(table.relevance[pair])
        own = self._objectives(place)
        every, removed = self._every[place], self._removed[place]
        start = len(self._layers)
        simulatability = shown(float(table.simulatability[explanation + 1]))
        return Counterfactual(
            explanation=Explanation(
                nodes=naming.nodes(_nodes_of(self._finding, explanation + 1)),
                edges=every,
                simulatability=simulatability,
                probabilities=whole,
            ),
            removed=removed,
            kept=tuple(tie for tie in every if tie not in removed),
            simulatability=simulatability,
            relevance=shown(abs(signed)),
            signed_relevance=shown(signed),
            ranks=Ranks(
                simulatability=int(figures.simulatability_rank[place]),
                relevance=int(figures.relevance_rank[place]),
                sum=int(figures.rank_sum[place]),
            ),
            layer=self._layers[place],
            dominates=dominates,
            dominates_picks={
                name: _dominates(own, self._objectives(start + number))
                for number, name in enumerate(self._pick_names)
            },
            probabilities=reduced,
        )


def _listed(table: PairTable, front: Ints) -> Ints:
    """The front in the order it is shown in, as far as it is."""
    ordered = front[canonical_order(table, front)]
    key = table.explanation_key[table.explanation[ordered]]
    return ordered[np.argsort(-key, kind="stable")[:FRONT_LISTED]]


def _nodes_of(finding: Finding, subtree: int) -> Indices:
    """The nodes of one subtree, ascending."""
    for level in finding.levels:
        if subtree < len(level):
            return finding.local.nodes[np.sort(level.nodes[:, subtree])]
        subtree -= len(level)
    raise IndexError(subtree)


def _dominates(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one != other and one[0] >= other[0] and one[1] >= other[1]


def _broken(finding: Finding, naming: Naming, subtree: int) -> str:
    """Name the subgraph that got an answer which is not a number."""
    names = ", ".join(naming.nodes(_nodes_of(finding, subtree)))
    for level in finding.levels:
        if subtree < len(level):
            [ties] = naming.ties(finding.local, np.sort(level.ties[:, [subtree]], axis=0))
            break
        subtree -= len(level)
    tied = "; ".join(f"{a}-{b}" for a, b in ties) or "no ties"
    return f"the model's answer is not a number for the subgraph {names} ({tied})"
