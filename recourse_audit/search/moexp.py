"""GNN-MOExp: every small explanation and counterfactual of each subject, and the best of them.

One evaluation of a subtree serves every subject in it, so subjects are taken in blocks of
neighbours (see `blocks`). For a subject with more subtrees than the budget, a uniform sample of
them is evaluated (see `sampling`). A subject's result depends on neither its block nor its batch.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from recourse_audit.graph.arrays import Floats, Graph, Ints
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.search.blocks import Block, blocks
from recourse_audit.search.counting import count_subtrees
from recourse_audit.search.evaluation import Evaluator, joined
from recourse_audit.search.local import local_graph
from recourse_audit.search.objectives import Whole
from recourse_audit.search.results import Finding, Naming, Outcome, Scope, results_of
from recourse_audit.search.sampling import sampled
from recourse_audit.search.subtrees import subtrees


class Search:
    """The search over one graph with one model."""

    def __init__(
        self,
        graph: Graph,
        batcher: QueryBatcher,
        whole: Floats,
        classes: Sequence[str],
        scope: Scope,
    ) -> None:
        """`whole` holds every node's log-probabilities on the whole graph."""
        self._graph = graph
        self._batcher = batcher
        self._whole = Whole.of_answers(whole)
        self._naming = Naming(graph=graph, classes=tuple(classes), kind=batcher.output_kind)
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
                    finding = self._found(subjects, bound, evaluator)
                    yield from results_of(finding, self._naming, self._scope)
            evaluator.forget()

    def _found(self, subjects: Ints, bound: float, evaluator: Evaluator) -> Finding:
        """Evaluate every subtree, or a sample for a single subject that has too many."""
        local = local_graph(self._graph, subjects, self._scope.max_hops)
        if len(subjects) == 1 and bound > self._scope.budget:
            total = count_subtrees(local, self._scope.max_nodes)
            if total is None or total > self._scope.budget:
                return sampled(local, int(subjects[0]), total, evaluator, self._scope)
        levels = tuple(level for level in subtrees(local, self._scope.max_nodes) if len(level))
        number = np.zeros(len(subjects), np.int64)
        for level in levels:
            number += np.bincount(level.root, minlength=len(subjects))
        return Finding(
            subjects=subjects,
            local=local,
            levels=levels,
            scores=joined(evaluator.score(local, levels)),
            totals=tuple(number.tolist()),
        )
