"""Scores any method's explanation on both objectives, with the ONNX file.

These are the objectives of the search: simulatability, eq. (4), and relevance, eq. (5), for the
counterfactual with the largest |μ|, which is the best one for a given explanation.
"""

from dataclasses import dataclass

import numpy as np

from benchmarks.paper.explanations import Pairs, nodes_of, parts
from recourse_audit.graph.graph import Floats, Graph
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.queries import side_by_side, with_pairs
from recourse_audit.search.evaluation import simulatability
from recourse_audit.search.pareto import RESOLUTION, comparable, round_figures


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """An explanation with its best counterfactual: the removed pairs and both objectives."""

    tree: Pairs
    removed: Pairs
    simulatability: float
    relevance: float


class Scorer:
    """Scores explanations on one graph with one model."""

    def __init__(self, graph: Graph, batcher: QueryBatcher, answers: Floats) -> None:
        """`answers` holds every node's log-probabilities on the whole graph."""
        self._graph = graph
        self._batcher = batcher
        self._whole = answers

    def score(self, subject: int, tree: Pairs) -> Scored:
        """Try every counterfactual of an explanation and return the most relevant one.

        Among equals, the fewest removed ties win, then the order of the graph.
        """
        assert tree, "a subject without ties has no explanation"
        some = list(parts(self._graph, subject, tree))
        unions = [
            with_pairs(self._graph, nodes_of(self._graph, subject, part), np.array(part, int))
            for part in some
        ]
        rows = [np.searchsorted(union.nodes, [subject]) for union in unions]
        answers = self._batcher.ask(*side_by_side(unions, rows))
        own = self._whole[np.full(len(some), subject)]
        score = simulatability(own, answers)
        removed = np.array([len(tree) - len(part) for part in some[:-1]])
        change = comparable(np.abs(score[-1] - score[:-1]) / removed)
        best = int(np.lexsort((removed, -change))[0])
        return Scored(
            tree=tree,
            removed=tuple(pair for pair in tree if pair not in some[best]),
            simulatability=float(round_figures(RESOLUTION * comparable(score[-1:]))[0]),
            relevance=float(round_figures(RESOLUTION * change[best : best + 1])[0]),
        )
