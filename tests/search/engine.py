"""The engine as the tests drive it: real models opened, searches run, tables turned into sets."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recourse_audit.graph.graph import Floats, Graph, Indices, Ints
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.probes import identify_output
from recourse_audit.model.queries import pool_of, whole
from recourse_audit.model.session import OnnxModel
from recourse_audit.records.search import SearchFailure, SearchResult
from recourse_audit.records.subject import SubjectReport
from recourse_audit.search.evaluation import Scope
from recourse_audit.search.moexp import Outcome, Search
from recourse_audit.search.pareto import GAP, PairTable
from recourse_audit.search.ranking import Layers, Ranking
from recourse_audit.search.subtrees import Level
from recourse_audit.settings import ModelSettings
from tests.decisions import decisions_over
from tests.search.reference import TieSet

Key = tuple[TieSet, TieSet]


def open_batcher(path: Path, graph: Graph, *, output: Any) -> QueryBatcher:
    """A batcher over a model whose output is declared."""
    settings = ModelSettings(path=path, output=output)
    model = OnnxModel(settings)
    identify_output(model, settings, [pool_of(graph)], np.random.default_rng(0))
    return QueryBatcher(model, pool_of(graph))


def whole_answers(batcher: QueryBatcher, graph: Graph) -> Floats:
    return batcher.ask(whole(graph), np.arange(graph.node_count))


def new_search(graph: Graph, batcher: QueryBatcher, scope: Scope) -> Search:
    answers = whole_answers(batcher, graph)
    classes = [f"c{n}" for n in range(answers.shape[1])]
    decisions = decisions_over(answers, classes[-1:], classes, graph=graph)
    return Search(graph, batcher, decisions, scope)


def results_by_subject(outcomes: Sequence[Outcome]) -> dict[int, SearchResult]:
    """Outcomes that must all be results."""
    found = {}
    for outcome in outcomes:
        assert not isinstance(outcome, SearchFailure), outcome.reason
        found[outcome.subject] = outcome
    return found


def in_full(*records: Outcome | SubjectReport) -> str:
    """Records with every digit of every figure; their own `repr` is short."""
    return repr([asdict(record) for record in records])


def all_pairs(table: PairTable) -> Ints:
    """Every pair of a table, without the gaps."""
    return np.flatnonzero(table.relevance_key != GAP)


@dataclass(frozen=True, kw_only=True)
class Table:
    """One subject's part of a pair table of the engine, with sets of ties for its numbers."""

    table: PairTable
    every_tree: list[TieSet]
    root: int = 0

    @property
    def _subtrees(self) -> list[int]:
        grown = np.flatnonzero(self.table.root == self.root) + self.table.roots
        return [self.root, *grown.tolist()]

    @property
    def trees(self) -> list[TieSet]:
        """Every subgraph of the subject."""
        return [self.every_tree[subtree] for subtree in self._subtrees]

    @property
    def values(self) -> dict[TieSet, float]:
        """The simulatability of every subgraph."""
        return dict(
            zip(self.trees, self.table.simulatability[self._subtrees].tolist(), strict=True)
        )

    @cached_property
    def ranking(self) -> Ranking:
        return Ranking(self.table)

    @cached_property
    def places(self) -> Ints:
        """Every pair of the subject, by its place in the table."""
        every = all_pairs(self.table)
        own = np.flatnonzero(self.table.root[self.table.explanation(every)] == self.root)
        return every[own]

    def keys(self, pairs: Iterable[int]) -> list[Key]:
        """Name some pairs by their explanations and what they keep, in their order."""
        some = np.array(list(pairs), np.int64)
        whole = self.table.explanation(some) + self.table.roots
        kept = self.table.kept[some]
        return [
            (self.every_tree[one], self.every_tree[other])
            for one, other in zip(whole.tolist(), kept.tolist(), strict=True)
        ]

    def layers(self) -> Iterator[Ints]:
        """The non-dominated layers of the subject's pairs."""
        layers, only = Layers(self.ranking), np.arange(self.table.roots) == self.root
        while len(pairs := layers.peel(only).pairs):
            yield pairs


def named_trees(graph: Graph, levels: Sequence[Level], pairs: Indices) -> list[TieSet]:
    """The sets of ties of subtrees, level by level."""
    ends = list(zip(graph.pair_low.tolist(), graph.pair_high.tolist(), strict=True))
    return [
        frozenset(ends[pair] for pair in pairs[column].tolist())
        for level in levels
        for column in level.ties.T
    ]


class Recorder:
    """Keeps the pair tables that results are written from."""

    def __init__(self, graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
        self._graph = graph
        self._last: list[Table] = []
        monkeypatch.setattr("recourse_audit.search.moexp.PairTable", self._recorded)

    def run(self, search: Search, subjects: Sequence[int]) -> dict[int, tuple[SearchResult, Table]]:
        """Search for all subjects together."""
        found = {}
        for outcome in search.run(np.array(subjects)):
            assert not isinstance(outcome, SearchFailure), outcome.reason
            found[outcome.subject] = outcome, self._last.pop(0)
        assert not self._last
        return found

    def _recorded(
        self, levels: Sequence[Level], scores: Floats, pairs: Indices, roots: int
    ) -> PairTable:
        table = PairTable(levels, scores, pairs, roots)
        trees = named_trees(self._graph, levels, pairs)
        self._last += [Table(table=table, every_tree=trees, root=root) for root in range(roots)]
        return table
