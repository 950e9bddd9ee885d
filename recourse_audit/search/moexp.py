"""GNN-MOExp: every small explanation and counterfactual of each subject, and the best of them.

One evaluation of a subtree serves every subject in it, so subjects are taken in blocks of
neighbours. For a subject with more subtrees than the budget, a uniform sample of them is evaluated
(see `sampling`). A subject's result depends on neither its block nor its batch. The subjects of a
batch are ranked and named together; only the records are made one by one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from recourse_audit.graph.graph import Floats, Graph, Indices, Ints
from recourse_audit.graph.neighbourhoods import by_locality, over_neighbours
from recourse_audit.model.batching import QueryBatcher, as_answers
from recourse_audit.model.decisions import DecisionRule, Decisions
from recourse_audit.records.search import (
    Counterfactual,
    Explanation,
    FrontPair,
    Ranks,
    Rest,
    SearchExtent,
    SearchFailure,
    SearchResult,
    StudyCase,
    Tie,
    TreeNumbers,
)
from recourse_audit.search.baselines import baselines
from recourse_audit.search.evaluation import Evaluator, Finding, Scope, join_scores
from recourse_audit.search.pareto import NO_TIE, PairTable, SpreadError, round_figures
from recourse_audit.search.ranking import (
    Layers,
    RankedPairs,
    Ranking,
    canonical_order,
    choose_diverse,
    count_dominated,
    objective_grids,
    winners,
)
from recourse_audit.search.sampling import sample_subtrees
from recourse_audit.search.study_cases import choose_cases
from recourse_audit.search.subtrees import CLOSED_FORM, LocalGraph, Trees, count_subtrees, subtrees
from recourse_audit.settings import OutputKind

SUBTREES_IN_BLOCK = 1_500_000
SUBTREES_IN_GROUP = 8_000_000
SUBTREES_IN_BATCH = 200_000
SUBJECTS_IN_BATCH = 200
FRONT_LISTED = 500

Outcome = SearchResult | SearchFailure


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Subjects that are searched together, and a bound on how many subtrees each has."""

    subjects: Ints
    bounds: Floats

    def batches(self) -> Iterator["Block"]:
        """Cut the block into runs whose subtrees fit into memory together."""
        yield from _runs(self.subjects, self.bounds, SUBTREES_IN_BATCH, SUBJECTS_IN_BATCH)


def blocks(
    graph: Graph, subjects: Ints, max_nodes: int, *, budget: int, limit: int = SUBTREES_IN_BLOCK
) -> Iterator[Block]:
    """Cut subjects into blocks; one that may have more subtrees than the budget gets its own.

    So does every subject where explanations may have over four nodes: no bound on them is cheap.
    """
    subjects = np.unique(subjects)
    if max_nodes > CLOSED_FORM:
        bounds = np.full(graph.node_count, np.inf)
    else:
        bounds = subtree_bounds(graph, max_nodes)
    alone = bounds[subjects] > budget
    for subject in subjects[alone]:
        yield Block(subjects=np.array([subject]), bounds=bounds[[subject]])
    yield from _group(graph, subjects[~alone], bounds, limit)


def subtree_bounds(graph: Graph, max_nodes: int) -> Floats:
    """Bound every node's number of subtrees from above, for all nodes at once.

    These are the closed forms of `subtrees`, without what cycles and the limit on hops take away.
    They cost a few sums over all neighbours, which are exact: all terms are whole numbers.
    """
    degree = np.diff(graph.starts).astype(float)
    bound = 1.0 + degree
    if max_nodes >= 3:
        second = over_neighbours(graph, degree - 1, np.add)
        bound += degree * (degree - 1) / 2 + second
    if max_nodes >= CLOSED_FORM:
        bound += degree * (degree - 1) * (degree - 2) / 6
        bound += over_neighbours(graph, (degree - 1) * (degree - 2) / 2, np.add)
        bound += over_neighbours(graph, second, np.add) + second * np.maximum(degree - 1, 0)
    return bound


def _group(graph: Graph, subjects: Ints, bounds: Floats, limit: int) -> Iterator[Block]:
    if not len(subjects):
        return
    count = graph.node_count
    position = np.empty(count, np.int64)
    position[by_locality(graph)] = np.arange(count)
    # The node with the most ties among each node and its neighbours; of several, the first.
    rank = np.diff(graph.starts) * count + (count - 1 - np.arange(count))
    best: Ints = np.maximum(rank, over_neighbours(graph, rank, np.maximum))
    centre = (count - 1 - best % count)[subjects]
    ordered = np.lexsort((position[subjects], position[centre]))
    subjects, centre = subjects[ordered], centre[ordered]
    starts = np.flatnonzero(np.append(True, centre[1:] != centre[:-1]))
    loads = np.add.reduceat(bounds[subjects], starts)
    ends = np.append(starts[1:], len(subjects))
    for run in _runs(np.arange(len(starts)), loads, limit, len(starts)):
        members = subjects[starts[run.subjects[0]] : ends[run.subjects[-1]]]
        yield from _runs(members, bounds[members], SUBTREES_IN_GROUP, len(members))


def _runs(items: Ints, loads: Floats, limit: float, most: int) -> Iterator[Block]:
    """Cut a list into runs of at most `limit` load and `most` items; one may exceed `limit`."""
    first, load = 0, 0.0
    for place, own in enumerate(loads.tolist()):
        if place > first and (load + own > limit or place - first == most):
            yield Block(subjects=items[first:place], bounds=loads[first:place])
            first, load = place, 0.0
        load += own
    if len(items):
        yield Block(subjects=items[first:], bounds=loads[first:])


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """Turns numbers of nodes, ties and classes into the user's names."""

    graph: Graph
    rule: DecisionRule
    kind: OutputKind

    def nodes(self, nodes: Indices) -> tuple[str, ...]:
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


def results_of(finding: Finding, naming: Naming, scope: Scope) -> Iterator[Outcome]:
    """The result for every subject, or which of its subgraphs got an answer that is no number.

    Raises `SpreadError` where the subjects must be taken one by one.
    """
    values, roots = finding.scores.simulatability, len(finding.subjects)
    broken = np.flatnonzero(~np.isfinite(values))
    if len(broken):
        if roots > 1:
            raise SpreadError
        tree = _subtree(finding, int(broken[0]))
        names = ", ".join(naming.nodes(_nodes_of(finding.local, tree)))
        [ties] = naming.ties(_numbers(finding.local, np.sort(tree.ties, axis=0)))
        tied = "; ".join(f"{a}-{b}" for a, b in ties) or "no ties"
        yield SearchFailure(
            subject=int(finding.subjects[0]),
            reason=f"the model's answer is not a number for the subgraph {names} ({tied})",
            queries=sum(len(level) for level in finding.levels) + 1,
        )
        return
    table = PairTable(finding.levels, values, finding.local.pairs, roots)
    queries = np.bincount(table.root, minlength=roots) + 2
    extents = [
        SearchExtent(
            max_nodes=scope.max_nodes,
            max_hops=scope.max_hops,
            subgraphs=total,
            pairs=number,
            coverage="exhaustive" if finding.sample is None else "sampled",
            queries=own,
            sample=finding.sample,
        )
        for total, number, own in zip(
            finding.totals, table.pairs_by_root.tolist(), queries.tolist(), strict=True
        )
    ]
    if table.blocks:
        yield from _with_pairs(finding, table, extents, naming, scope)
        return
    for subject, extent in zip(finding.subjects.tolist(), extents, strict=True):
        yield SearchResult(subject=subject, extent=extent)


def _with_pairs(
    finding: Finding,
    table: PairTable,
    extents: Sequence[SearchExtent],
    naming: Naming,
    scope: Scope,
) -> Iterator[SearchResult]:
    """Choose the pairs to show for all subjects of a batch, and write them out as records.

    All pairs that are shown are in one list: first those chosen, subject by subject, then each
    subject's baselines, then each subject's front as far as it is listed.
    """
    ranking = Ranking(table)
    layers = Layers(ranking)
    front = layers.peel()
    best = winners(table, front) if finding.winner is None else np.array([finding.winner])
    choice, layer = choose_diverse(table, best, front, layers, scope.counterfactuals)
    chosen, layer = choice[choice >= 0], layer[choice >= 0].tolist()
    others = baselines(ranking, [(scope.seed, subject) for subject in finding.subjects.tolist()])
    ordered = front.pairs[canonical_order(table, front.pairs, -front.simulatability)]
    listed = ordered[np.arange(len(ordered)) - front.root.searchsorted(front.root) < FRONT_LISTED]
    # A score model has no histograms to compare.
    study = scope.study and not naming.rule.scores
    cases = choose_cases(table, scope.max_nodes - 1) if study else [()] * table.roots
    answered = np.concatenate((chosen, np.array([pair for own in cases for pair in own], np.int64)))
    pairs = np.concatenate((answered, np.stack([*others.values()], axis=1).ravel(), listed))
    first_other, first_listed = len(answered), len(pairs) - len(listed)

    ranked = RankedPairs(ranking, pairs)
    points = list(zip(ranked.simulatability.tolist(), ranked.relevance.tolist(), strict=True))
    ranks = zip(ranked.simulatability_rank.tolist(), ranked.relevance_rank.tolist(), strict=True)
    ranks_of = [Ranks(simulatability=a, relevance=b, sum=a + b) for a, b in ranks]
    numbers = _numbers(finding.local, np.concatenate(table.tie_columns(pairs), axis=1))
    removed = numbers[len(pairs) :]
    ties = naming.ties(numbers)
    subtree = table.explanation(pairs) + table.roots
    records = [
        FrontPair(edges=every, removed=gone, simulatability=nu, relevance=mu)
        for every, gone, nu, mu in zip(
            ties[: len(pairs)],
            ties[len(pairs) :],
            round_figures(table.simulatability[subtree]).tolist(),
            round_figures(np.abs(table.relevance[pairs])).tolist(),
            strict=True,
        )
    ]
    signed = round_figures(table.relevance[chosen]).tolist()
    on_front = np.array(layer) == 1
    if finding.winner is not None:
        on_front[0] = False  # a move may have led away from the front of the sample
    dominates = count_dominated(ranking, front, chosen, on_front)
    whole = subtree[: len(answered)]
    rows = finding.scores.raw[np.concatenate((whole, table.kept[answered]))]
    answers = as_answers(rows, naming.kind)
    probabilities, scores = naming.probabilities(answers), naming.scores(answers)
    nodes = [_nodes_of(finding.local, _subtree(finding, number)) for number in whole.tolist()]

    def explanation(place: int) -> Explanation:
        pair = records[place]
        return Explanation(
            nodes=naming.nodes(nodes[place]),
            edges=pair.edges,
            simulatability=pair.simulatability,
            probabilities=probabilities[place],
            score=scores[place],
        )

    def rest(place: int) -> Rest:
        return Rest(
            removed=records[place].removed,
            relevance=records[place].relevance,
            probabilities=probabilities[len(answered) + place],
        )

    def counterfactual(
        place: int, baseline_points: dict[str, tuple[float, float]]
    ) -> Counterfactual:
        pair, (nu, mu) = records[place], points[place]
        return Counterfactual(
            explanation=explanation(place),
            removed=pair.removed,
            kept=tuple(tie for tie in pair.edges if tie not in pair.removed),
            simulatability=pair.simulatability,
            relevance=pair.relevance,
            signed_relevance=signed[place],
            ranks=ranks_of[place],
            layer=layer[place],
            dominates=dominates[place],
            dominates_baselines={
                name: nu >= other[0] and mu >= other[1] and (nu, mu) != other
                for name, other in baseline_points.items()
            },
            probabilities=probabilities[len(answered) + place],
            score=scores[len(answered) + place],
        )

    front_size = np.bincount(front.root, minlength=table.roots)
    until_chosen = np.cumsum([0, *(choice >= 0).sum(axis=1)]).tolist()
    until_case = np.cumsum([len(chosen), *map(len, cases)]).tolist()
    until_listed = np.cumsum([first_listed, *np.minimum(front_size, FRONT_LISTED)]).tolist()
    grids = objective_grids(ranking)
    for root, (subject, grid) in enumerate(zip(finding.subjects.tolist(), grids, strict=True)):
        own = range(until_chosen[root], until_chosen[root + 1])
        here = slice(until_listed[root], until_listed[root + 1])
        shown_to_people = range(until_case[root], until_case[root + 1], 2)
        first = first_other + root * len(others)
        baseline_points = dict(zip(others, points[first:], strict=False))
        yield SearchResult(
            subject=subject,
            extent=extents[root],
            counterfactuals=tuple(counterfactual(place, baseline_points) for place in own),
            front=tuple(records[here]),
            front_size=int(front_size[root]),
            baselines=dict(zip(others, records[first:], strict=False)),
            objective_grid=grid,
            numbers=tuple(
                TreeNumbers(
                    nodes=tuple(nodes[place].tolist()), pairs=numbers[place], removed=removed[place]
                )
                for place in own
            ),
            front_removed=tuple(removed[here]),
            study_cases=tuple(
                StudyCase(explanation=explanation(place), high=rest(place), low=rest(place + 1))
                for place in shown_to_people
            ),
            study_nodes=tuple(int(node) for place in shown_to_people for node in nodes[place]),
        )


def _numbers(local: LocalGraph, columns: Indices) -> list[tuple[int, ...]]:
    """Local ties as numbers of pairs: one tuple per column, without the padding."""
    real = columns.T != NO_TIE
    every = local.pairs[columns.T[real]].tolist()
    until = np.cumsum([0, *real.sum(axis=1)]).tolist()
    return [tuple(every[a:b]) for a, b in pairwise(until)]


def _subtree(finding: Finding, number: int) -> Trees:
    for level in finding.levels:
        if number < len(level):
            return level.take(np.array([number]))
        number -= len(level)
    raise IndexError(number)


def _nodes_of(local: LocalGraph, tree: Trees) -> Indices:
    return local.nodes[np.sort(tree.nodes[:, 0])]


class Search:
    """The search over one graph with one model."""

    def __init__(
        self, graph: Graph, batcher: QueryBatcher, decisions: Decisions, scope: Scope
    ) -> None:
        """`decisions` are those on everybody in the whole graph."""
        self._graph = graph
        self._batcher = batcher
        self._whole = decisions.everybody
        self._spread = decisions.spread if decisions.rule.scores else None
        self._naming = Naming(graph=graph, rule=decisions.rule, kind=batcher.output_kind)
        self._scope = scope

    def blocks(self, subjects: Ints) -> Iterator[Block]:
        yield from blocks(self._graph, subjects, self._scope.max_nodes, budget=self._scope.budget)

    def run(self, subjects: Ints) -> Iterator[Outcome]:
        """Search for every subject, block by block; outcomes come in the order of the blocks."""
        for block in self.blocks(subjects):
            yield from self.run_block(block)

    def run_block(self, block: Block) -> Iterator[Outcome]:
        evaluator = Evaluator(self._graph, self._batcher, self._whole, block.subjects, self._spread)
        for batch in block.batches():
            tied = np.diff(self._graph.starts)[batch.subjects] > 0
            for subjects in (batch.subjects[tied], batch.subjects[~tied]):
                if len(subjects):
                    bound = float(batch.bounds.max())
                    yield from self._search(subjects, bound, evaluator)
            evaluator.forget()

    def _search(self, subjects: Ints, bound: float, evaluator: Evaluator) -> Iterator[Outcome]:
        """Search for subjects together, or one by one where their values cannot be compared."""
        finding = self._find(subjects, bound, evaluator)
        try:
            yield from results_of(finding, self._naming, self._scope)
        except SpreadError:
            for subject in subjects.tolist():
                yield from self._search(np.array([subject]), bound, evaluator)

    def _find(self, subjects: Ints, bound: float, evaluator: Evaluator) -> Finding:
        """Evaluate every subtree, or a sample for a single subject that has too many."""
        local = LocalGraph(self._graph, subjects, self._scope.max_hops)
        if len(subjects) == 1 and bound > self._scope.budget:
            total = count_subtrees(local, self._scope.max_nodes)
            if total is None or total > self._scope.budget:
                return sample_subtrees(local, int(subjects[0]), total, evaluator, self._scope)
        levels = tuple(level for level in subtrees(local, self._scope.max_nodes) if len(level))
        number = np.zeros(len(subjects), np.int64)
        for level in levels:
            number += np.bincount(level.root, minlength=len(subjects))
        return Finding(
            subjects=subjects,
            local=local,
            levels=levels,
            scores=join_scores(evaluator.score(local, levels)),
            totals=tuple(number.tolist()),
        )
