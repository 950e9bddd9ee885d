"""GNN-MOExp: for each subject every small explanation, every counterfactual, and the best of them.

One evaluation of a subtree answers for every subject in it, so subjects are taken in blocks of
neighbours (see `blocks`). A subject with more subtrees than the budget gets a uniform sample of
them (see `sampling`). What comes out for a subject depends on neither its block nor its batch.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from recourse_audit.graph.arrays import Floats, Graph, Ints
from recourse_audit.model.desk import QueryDesk
from recourse_audit.records import Coverage, SearchFailure, SearchResult
from recourse_audit.search.blocks import Block, blocks
from recourse_audit.search.counting import count_subtrees
from recourse_audit.search.evaluation import Evaluator, joined
from recourse_audit.search.local import LocalGraph, local_graph
from recourse_audit.search.results import Finding, Naming, result_of
from recourse_audit.search.sampling import sampled
from recourse_audit.search.scope import Scope
from recourse_audit.search.subtrees import subtrees

Outcome = SearchResult | SearchFailure


class Search:
    """The search over one graph with one model."""

    def __init__(
        self, graph: Graph, desk: QueryDesk, whole: Floats, classes: Sequence[str], scope: Scope
    ) -> None:
        """`whole` holds every node's log-probabilities on the whole graph."""
        self._graph = graph
        self._desk = desk
        self._whole = whole
        self._naming = Naming(graph=graph, classes=tuple(classes), kind=desk.output_kind)
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
        evaluator = Evaluator(self._graph, self._desk, self._whole, block.subjects)
        for batch in block.batches():
            local = local_graph(self._graph, batch.subjects, self._scope.max_hops)
            if len(batch.subjects) == 1 and batch.bounds[0] > self._scope.budget:
                total = count_subtrees(local, self._scope.max_nodes)
                if total is None or total > self._scope.budget:
                    finding = sampled(local, int(batch.subjects[0]), total, evaluator, self._scope)
                    yield result_of(finding, self._naming, self._scope)
                    continue
            for finding in self._exhaustive(local, batch.subjects, evaluator):
                yield result_of(finding, self._naming, self._scope)
            evaluator.forget()

    def _exhaustive(
        self, local: LocalGraph, subjects: Ints, evaluator: Evaluator
    ) -> Iterator[Finding]:
        """Evaluate every subtree of some subjects, then cut out each subject's own."""
        levels = list(subtrees(local, self._scope.max_nodes))
        scores = evaluator.score(local, levels)
        edges = np.arange(len(subjects) + 1)
        cuts = [np.searchsorted(level.root, edges) for level in levels]
        for number, subject in enumerate(subjects):
            own, values, shift = [], [], number
            for level, score, cut in zip(levels, scores, cuts, strict=True):
                first, last = int(cut[number]), int(cut[number + 1])
                if first == last:
                    break
                own.append(level.cut(first, last, shift))
                values.append(score.cut(first, last))
                shift = first
            total = sum(len(level) for level in own)
            yield Finding(
                subject=int(subject),
                local=local,
                levels=tuple(own),
                scores=joined(values),
                coverage=Coverage(kind="exhaustive", drawn=total, total=total),
            )
