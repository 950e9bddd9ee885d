"""GNN-MOExp: every small explanation and counterfactual of each subject, and the best of them.

One evaluation of a subtree serves every subject in it, so subjects are taken in blocks of
neighbours. For a subject with more subtrees than the budget, a uniform sample of
them is evaluated (see `sampling`). A subject's result depends on neither its block nor its batch.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from recourse_audit.graph.graph import Floats, Graph, Ints
from recourse_audit.graph.neighbourhoods import by_locality, over_neighbours
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.decisions import Decisions
from recourse_audit.search.evaluation import Evaluator, join_scores
from recourse_audit.search.pareto import SpreadError, Whole
from recourse_audit.search.results import Finding, Naming, Outcome, Scope, results_of
from recourse_audit.search.sampling import sample_subtrees
from recourse_audit.search.subtrees import CLOSED_FORM, count_subtrees, local_graph, subtrees

SUBTREES_IN_BLOCK = 1_500_000
SUBTREES_IN_GROUP = 8_000_000
SUBTREES_IN_BATCH = 200_000
SUBJECTS_IN_BATCH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Subjects that are searched together, and a bound on how many subtrees each has."""

    subjects: Ints
    bounds: Floats

    def batches(self) -> Iterator["Block"]:
        """Cut the block into runs whose subtrees fit into memory together."""
        yield from _runs(self.subjects, self.bounds, SUBTREES_IN_BATCH, SUBJECTS_IN_BATCH)


def blocks(
    graph: Graph,
    subjects: Ints,
    max_nodes: int,
    *,
    budget: int,
    limit: int = SUBTREES_IN_BLOCK,
) -> Iterator[Block]:
    """Cut subjects into blocks; one that may have more subtrees than the budget gets its own.

    So does every subject where explanations may have more than four nodes, since there is no cheap
    bound on their number.
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

    These are the closed forms of `counting`, without what cycles and the limit on hops take away.
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
    position = np.empty(graph.node_count, np.int64)
    position[by_locality(graph)] = np.arange(graph.node_count)
    centre = _centres(graph)[subjects]
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


def _centres(graph: Graph) -> Ints:
    """The node with the most ties among each node and its neighbours; of several, the first."""
    count = graph.node_count
    rank = np.diff(graph.starts) * count + (count - 1 - np.arange(count))
    best: Ints = np.maximum(rank, over_neighbours(graph, rank, np.maximum))
    return count - 1 - best % count


class Search:
    """The search over one graph with one model."""

    def __init__(
        self,
        graph: Graph,
        batcher: QueryBatcher,
        decisions: Decisions,
        scope: Scope,
    ) -> None:
        """`decisions` are those on everybody in the whole graph."""
        self._graph = graph
        self._batcher = batcher
        spread = decisions.spread if decisions.rule.scores else None
        self._whole = Whole.of_answers(decisions.everybody, spread)
        self._naming = Naming(graph=graph, rule=decisions.rule, kind=batcher.output_kind)
        self._scope = scope

    def blocks(self, subjects: Ints) -> Iterator[Block]:
        """The units of work for some subjects."""
        yield from blocks(self._graph, subjects, self._scope.max_nodes, budget=self._scope.budget)

    def run(self, subjects: Ints) -> Iterator[Outcome]:
        """Search for every subject, block by block; outcomes come in the order of the blocks."""
        for block in self.blocks(subjects):
            yield from self.run_block(block)

    def run_block(self, block: Block) -> Iterator[Outcome]:
        """Search for the subjects of one block."""
        evaluator = Evaluator(self._graph, self._batcher, self._whole, block.subjects)
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
        local = local_graph(self._graph, subjects, self._scope.max_hops)
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
