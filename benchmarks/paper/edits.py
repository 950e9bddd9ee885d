"""The graph with ties removed and added: what every counterfactual is judged on."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from recourse_audit.graph.graph import Graph
from recourse_audit.graph.neighbourhoods import reach, spans
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.queries import Union, side_by_side, whole, with_pairs

AT_ONCE = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """The pairs of the graph that lose their ties, and the ends of new ties."""

    removed: tuple[int, ...] = ()
    added: tuple[tuple[int, int], ...] = field(default=())

    def __len__(self) -> int:
        return len(self.removed) + len(self.added)


def edited(graph: Graph, edit: Edit) -> Union:
    """The whole graph after an edit, as one query; for models that see only the ends of ties."""
    union = whole(graph)
    gone, _ = spans(graph.pair_starts, np.array(edit.removed, np.int64))
    left = np.ones(len(union.sources), bool)
    left[gone] = False
    new = np.array(edit.added, np.int64).reshape(-1, 2)
    sources = np.concatenate((union.sources[left], new[:, 0], new[:, 1]))
    return Union(
        nodes=union.nodes,
        node_starts=union.node_starts,
        sources=sources,
        targets=np.concatenate((union.targets[left], new[:, 1], new[:, 0])),
        ties=np.zeros(len(sources), np.int64),
        arc_starts=np.array([0, len(sources)]),
    )


def answer_after(graph: Graph, batcher: QueryBatcher, subject: int, edit: Edit) -> np.ndarray:
    """Ask for the subject's log-probabilities on the whole graph after an edit."""
    assert not batcher.needs_ties, "an edited graph knows only the ends of its ties"
    return np.asarray(batcher.ask(edited(graph, edit), np.array([subject]))[0])


class Around:
    """All that a subject's answer can depend on at the given depth, and one hop more."""

    def __init__(self, graph: Graph, batcher: QueryBatcher, subject: int, depth: int) -> None:
        self._batcher = batcher
        nodes = reach(graph, np.array([subject]), depth + 1)
        positions, _ = spans(graph.starts, nodes)
        inside = np.isin(graph.neighbour[positions], nodes)
        pairs = np.unique(graph.neighbour_pair[positions[inside]])
        self._base = with_pairs(graph, nodes, pairs)
        # The pair of each arc; self-loops come last and belong to no pair.
        self._pair = np.full(len(self._base.sources), -1)
        _, owner = spans(graph.pair_starts, pairs)
        self._pair[: len(owner)] = pairs[owner]
        self._row = np.searchsorted(nodes, [subject])

    def answers(self, removals: Sequence[tuple[int, ...]]) -> np.ndarray:
        """The subject's log-probabilities after each of several removals."""
        found = []
        for first in range(0, len(removals), AT_ONCE):
            unions = [self._without(gone) for gone in removals[first : first + AT_ONCE]]
            found.append(self._batcher.ask(*side_by_side(unions, [self._row] * len(unions))))
        return np.concatenate(found)

    def _without(self, gone: tuple[int, ...]) -> Union:
        base = self._base
        left = np.flatnonzero(~np.isin(self._pair, gone))
        return Union(
            nodes=base.nodes,
            node_starts=base.node_starts,
            sources=base.sources[left],
            targets=base.targets[left],
            ties=base.ties[left],
            arc_starts=np.array([0, len(left)]),
        )


def pair_between(graph: Graph, one: int, other: int) -> int:
    """The number of the pair that two tied nodes form."""
    place = int(np.searchsorted(graph.neighbours(one), other))
    assert graph.neighbours(one)[place] == other, "the two are not tied"
    return int(graph.neighbour_pair[graph.starts[one] + place])
