"""Turns arrays into records: the winner, diverse others and the front, in the user's own ids.

The subjects of a batch are ranked and named together; only the records are made one by one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from recourse_audit.graph.graph import Floats, Graph, Indices, Ints
from recourse_audit.model.batching import as_answers
from recourse_audit.model.decisions import DecisionRule
from recourse_audit.records.search import (
    Counterfactual,
    Explanation,
    FrontPair,
    Sample,
    SearchExtent,
    SearchFailure,
    SearchResult,
    Tie,
    TreeNumbers,
)
from recourse_audit.search.baselines import baselines
from recourse_audit.search.evaluation import Scores
from recourse_audit.search.pareto import NO_TIE, SHOWN_DIGITS, PairTable, SpreadError, pair_table
from recourse_audit.search.ranking import (
    Layer,
    Layers,
    Ranking,
    canonical_order,
    choose_diverse,
    count_dominated,
    objective_grids,
    winners,
)
from recourse_audit.search.subtrees import Level, LocalGraph
from recourse_audit.settings import OutputKind

Outcome = SearchResult | SearchFailure

FRONT_LISTED = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The limits of a search: C and D of the paper, and our own budget and number to show."""

    max_nodes: int = 4
    max_hops: int = 2
    budget: int = 200_000
    counterfactuals: int = 3
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Everything evaluated for some subjects: their subtrees level by level, and the scores.

    The subjects are the roots of the local graph, in its order; either all of them have ties or
    none of them has. `totals` are the numbers of all their subtrees. `sample` and `winner` are set
    by a sampled search, which is about one subject: what it has seen, and the pair it has moved to.
    Without a `winner`, the best rank sum wins.
    """

    subjects: Ints
    local: LocalGraph
    levels: tuple[Level, ...]
    scores: Scores
    totals: tuple[int, ...]
    sample: Sample | None = None
    winner: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """Turns numbers of nodes, ties and classes into the user's names."""

    graph: Graph
    rule: DecisionRule
    kind: OutputKind

    def nodes(self, nodes: Indices) -> tuple[str, ...]:
        """The ids of some nodes of the graph."""
        return tuple(self.graph.ids[nodes].tolist())

    def ties(self, pairs: Sequence[tuple[int, ...]]) -> list[tuple[Tie, ...]]:
        """Pairs of nodes as ids, one tuple of them per list of numbers."""
        used = np.array(sorted({pair for numbers in pairs for pair in numbers}), np.int64)
        low, high = self.nodes(self.graph.pair_low[used]), self.nodes(self.graph.pair_high[used])
        ends = dict(zip(used.tolist(), zip(low, high, strict=True), strict=True))
        return [tuple(ends[pair] for pair in numbers) for numbers in pairs]

    def probabilities(self, answers: Floats) -> list[dict[str, float]]:
        """Rows of log-probabilities as probabilities by class; a score model has none."""
        if self.rule.scores:
            return [{} for _ in answers]
        rows = round_figures(np.exp(answers)).tolist()
        return [dict(zip(self.rule.classes, row, strict=True)) for row in rows]

    def scores(self, answers: Floats) -> list[float | None]:
        """What the rule compares with its line, row by row; nothing if the likeliest class wins."""
        if self.rule.name == "argmax":
            return [None] * len(answers)
        scores: list[float | None] = round_figures(self.rule.values(answers)).tolist()
        return scores


def round_figures(values: Floats) -> Floats:
    """Round to the resolution at which results are compared; no negative zero."""
    shorter: Floats = np.round(values, SHOWN_DIGITS) + 0.0
    return shorter


def round_figure(value: float) -> float:
    """One figure, rounded as it is shown."""
    return round(value, SHOWN_DIGITS) + 0.0


def results_of(finding: Finding, naming: Naming, scope: Scope) -> Iterator[Outcome]:
    """The result for every subject, or which of its subgraphs got an answer that is no number.

    Raises `SpreadError` where the subjects must be taken one by one.
    """
    values = finding.scores.simulatability
    broken = np.flatnonzero(~np.isfinite(values))
    roots = len(finding.subjects)
    if len(broken):
        if roots > 1:
            raise SpreadError
        reason = _broken(finding, naming, int(broken[0]))
        queries = sum(len(level) for level in finding.levels) + 1
        yield SearchFailure(subject=int(finding.subjects[0]), reason=reason, queries=queries)
        return
    table = pair_table(finding.levels, values, finding.local.pairs, roots)
    subtrees = np.bincount(table.root, minlength=roots) + 1
    records = BatchRecords(finding, table, naming, scope) if table.blocks else None
    number = table.pairs_by_root.tolist()
    for root, (subject, own) in enumerate(
        zip(finding.subjects.tolist(), subtrees.tolist(), strict=True)
    ):
        yield SearchResult(
            subject=subject,
            extent=SearchExtent(
                max_nodes=scope.max_nodes,
                max_hops=scope.max_hops,
                subgraphs=finding.totals[root],
                pairs=number[root],
                coverage="exhaustive" if finding.sample is None else "sampled",
                queries=own + 1,
                sample=finding.sample,
            ),
            counterfactuals=records.counterfactuals(root) if records else (),
            front=records.front(root) if records else (),
            front_size=records.front_size[root] if records else 0,
            baselines=records.baselines(root) if records else {},
            objective_grid=records.objective_grids[root] if records else None,
            numbers=records.numbers(root) if records else (),
            front_removed=records.front_removed(root) if records else (),
        )


class BatchRecords:
    """Chooses the pairs to show for all subjects of a batch, and writes them out as records.

    All pairs that are shown are in one list: first those chosen, subject by subject, then each
    subject's baselines, then each subject's front as far as it is listed.
    """

    def __init__(self, finding: Finding, table: PairTable, naming: Naming, scope: Scope) -> None:
        ranking = Ranking(table)
        layers = Layers(ranking)
        front = layers.peel()
        best = winners(table, front) if finding.winner is None else np.array([finding.winner])
        choice = choose_diverse(table, best, front, layers, scope.counterfactuals)
        seeds = [(scope.seed, subject) for subject in finding.subjects.tolist()]
        others = baselines(ranking, seeds)
        self.objective_grids = tuple(objective_grids(ranking))
        chosen, layer = choice.pairs[choice.pairs >= 0], choice.layers[choice.pairs >= 0]
        listed = _list_front(table, front)
        self._baseline_names = tuple(others)
        self.front_size = np.bincount(front.root, minlength=table.roots).tolist()
        first_listed = len(chosen) + len(others) * table.roots
        self._chosen = _until(0, (choice.pairs >= 0).sum(axis=1).tolist())
        self._baselines = range(len(chosen), first_listed + 1, len(others))
        self._list_front = _until(first_listed, [min(n, FRONT_LISTED) for n in self.front_size])

        pairs = np.concatenate((chosen, np.stack([*others.values()], axis=1).ravel(), listed))
        subtree = table.explanation(pairs) + table.roots
        figures = ranking.figures(pairs)
        columns = np.concatenate(table.tie_columns(pairs), axis=1)
        self._numbers = _numbers(finding.local, columns)
        self._half = len(pairs)
        ties = naming.ties(self._numbers)
        self._every, self._removed = ties[: len(pairs)], ties[len(pairs) :]
        self._simulatability = round_figures(table.simulatability[subtree]).tolist()
        self._relevance = round_figures(np.abs(table.relevance[pairs])).tolist()
        self._points = list(zip(*figures.points(), strict=True))

        self._signed = round_figures(table.relevance[chosen]).tolist()
        self._ranks = figures.ranks(len(chosen))
        on_front = layer == 1
        if finding.winner is not None:
            on_front[0] = False  # a move may have led away from the front of the sample
        self._dominates = count_dominated(ranking, front, chosen, on_front).tolist()
        self._layers = layer.tolist()
        whole = subtree[: len(chosen)]
        answers = finding.scores.raw[np.concatenate((whole, table.kept[chosen]))]
        rows = as_answers(answers, naming.kind)
        self._probabilities = naming.probabilities(rows)
        self._scores = naming.scores(rows)
        self._nodes = [_nodes_of(finding, number) for number in whole.tolist()]
        self._names = [naming.nodes(nodes) for nodes in self._nodes]

    def counterfactuals(self, root: int) -> tuple[Counterfactual, ...]:
        """The winner first, then the others in the order they were chosen."""
        places = range(self._chosen[root], self._chosen[root + 1])
        return tuple(self._counterfactual(root, place) for place in places)

    def numbers(self, root: int) -> tuple[TreeNumbers, ...]:
        """The counterfactuals by the numbers of their nodes and pairs."""
        return tuple(
            TreeNumbers(
                nodes=tuple(self._nodes[place].tolist()),
                pairs=self._numbers[place],
                removed=self._numbers[self._half + place],
            )
            for place in range(self._chosen[root], self._chosen[root + 1])
        )

    def front_removed(self, root: int) -> tuple[tuple[int, ...], ...]:
        """What the pairs of `front` remove, by the numbers of pairs of nodes."""
        first, last = self._list_front[root], self._list_front[root + 1]
        return tuple(self._numbers[self._half + first : self._half + last])

    def baselines(self, root: int) -> dict[str, FrontPair]:
        """The pairs that the baselines would show."""
        places = range(self._baselines[root], self._baselines[root + 1])
        return {n: self._pair(place) for n, place in zip(self._baseline_names, places, strict=True)}

    def front(self, root: int) -> tuple[FrontPair, ...]:
        """The pairs of the Pareto front, most simulatable first; at most as many as are listed."""
        return tuple(map(self._pair, range(self._list_front[root], self._list_front[root + 1])))

    def _pair(self, place: int) -> FrontPair:
        return FrontPair(
            edges=self._every[place],
            removed=self._removed[place],
            simulatability=self._simulatability[place],
            relevance=self._relevance[place],
        )

    def _counterfactual(self, root: int, place: int) -> Counterfactual:
        every, removed = self._every[place], self._removed[place]
        point, others = self._points[place], self._points[self._baselines[root] :]
        return Counterfactual(
            explanation=Explanation(
                nodes=self._names[place],
                edges=every,
                simulatability=self._simulatability[place],
                probabilities=self._probabilities[place],
                score=self._scores[place],
            ),
            removed=removed,
            kept=tuple(tie for tie in every if tie not in removed),
            simulatability=self._simulatability[place],
            relevance=self._relevance[place],
            signed_relevance=self._signed[place],
            ranks=self._ranks[place],
            layer=self._layers[place],
            dominates=self._dominates[place],
            dominates_baselines={
                name: _dominates(point, other)
                for name, other in zip(self._baseline_names, others, strict=False)
            },
            probabilities=self._probabilities[place + self._chosen[-1]],
            score=self._scores[place + self._chosen[-1]],
        )


def _numbers(local: LocalGraph, columns: Indices) -> list[tuple[int, ...]]:
    """Local ties as numbers of pairs: one tuple per column, without the padding."""
    real = columns.T != NO_TIE
    every = local.pairs[columns.T[real]].tolist()
    until = _until(0, real.sum(axis=1).tolist())
    return [tuple(every[a:b]) for a, b in pairwise(until)]


def _until(first: int, counts: Sequence[int]) -> list[int]:
    """Where runs of some lengths begin and end, one after the other."""
    return list(accumulate(counts, initial=first))


def _list_front(table: PairTable, front: Layer) -> Ints:
    """The pairs of the fronts that are listed, in the order in which they are shown."""
    ordered = front.pairs[canonical_order(table, front.pairs, -front.figures.simulatability)]
    place = np.arange(len(ordered)) - front.root.searchsorted(front.root)
    return ordered[place < FRONT_LISTED]


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
    """Say which subgraph got an answer that is not a number."""
    names = ", ".join(naming.nodes(_nodes_of(finding, subtree)))
    for level in finding.levels:
        if subtree < len(level):
            [ties] = naming.ties(_numbers(finding.local, np.sort(level.ties[:, [subtree]], axis=0)))
            break
        subtree -= len(level)
    tied = "; ".join(f"{a}-{b}" for a, b in ties) or "no ties"
    return f"the model's answer is not a number for the subgraph {names} ({tied})"
