"""The search once more: slow, obvious, and straight from the definitions.

Nothing here is shared with the engine but the graph a user would give and the model's file. Sets
of ties are frozen sets, subgraphs are tried one combination after the other, every subgraph is one
query, fronts come from comparing every pair with every other.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import ceil, exp, floor, log
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import onnxruntime

from recourse_audit.graph.graph import Graph
from recourse_audit.graph.readers import from_arrays

Tie = tuple[int, int]
TieSet = frozenset[Tie]
NOTHING: TieSet = frozenset()
STEPS = 1_000_000
LAYERS = 25


@dataclass(frozen=True, kw_only=True)
class SmallGraph:
    """A graph as a user has it: one row per node, one per tie, perhaps with weights."""

    features: tuple[tuple[float, ...], ...]
    rows: tuple[Tie, ...]
    weights: tuple[float, ...]
    directed: bool

    def for_engine(self) -> Graph:
        return from_arrays(
            np.array(self.features),
            np.array(self.rows, np.int64).reshape(-1, 2).T,
            weight=np.array(self.weights),
            directed=self.directed,
        )

    @cached_property
    def drawing(self) -> "nx.Graph[int]":
        """Who is tied to whom: directions, parallel ties and self-loops left out."""
        drawing: nx.Graph[int] = nx.Graph()
        drawing.add_nodes_from(range(len(self.features)))
        drawing.add_edges_from(row for row in self.rows if row[0] != row[1])
        return drawing

    @property
    def ties(self) -> TieSet:
        return frozenset(tie_between(*ends) for ends in self.drawing.edges)

    def arcs(self, nodes: Sequence[int], ties: TieSet) -> list[tuple[int, int, float]]:
        """Source, target and weight of every arc, in canonical order; self-loops come last."""
        found = []
        for tie in sorted(ties):
            for row, weight in zip(self.rows, self.weights, strict=True):
                if row[0] != row[1] and tie_between(*row) == tie:
                    both = [row] if self.directed else [tie, tie[::-1]]
                    found += [(source, target, weight) for source, target in both]
        for node in sorted(nodes):
            for row, weight in zip(self.rows, self.weights, strict=True):
                if row == (node, node):
                    found.append((node, node, weight))
        return found


def tie_between(one: int, other: int) -> Tie:
    return min(one, other), max(one, other)


class Oracle:
    """Asks a model's file about one subgraph at a time."""

    def __init__(self, path: Path, *, form: str, head: str, dtype: str) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            path, options, providers=["CPUExecutionProvider"]
        )
        self._form, self._head, self._dtype = form, head, dtype

    def log_probabilities(
        self, graph: SmallGraph, nodes: Sequence[int], ties: TieSet
    ) -> dict[int, list[float]]:
        """A row of natural log-probabilities for each node of a subgraph."""
        place = {node: position for position, node in enumerate(sorted(nodes))}
        arcs = [(place[s], place[t], weight) for s, t, weight in graph.arcs(nodes, ties)]
        feeds: dict[str, Any] = {
            "x": np.array([graph.features[node] for node in place], self._dtype)
        }
        if self._form == "dense":
            matrix = np.zeros((len(place), len(place)), self._dtype)
            for source, target, _ in arcs:
                matrix[target, source] += 1
            feeds["adj"] = matrix
        else:
            ends = [(source, target) for source, target, _ in arcs]
            feeds["edge_index"] = np.array(ends, np.int64).reshape(-1, 2).T.copy()
        if self._form == "weight":
            single = np.array([weight for _, _, weight in arcs], np.float32)
            feeds["edge_weight"] = single.astype(self._dtype)
        (raw,) = self._session.run(None, feeds)
        return {node: self._logarithms(raw[row].tolist()) for node, row in place.items()}

    def _logarithms(self, raw: list[float]) -> list[float]:
        if self._head == "logits":
            total = log(sum(exp(value) for value in raw))
            return [value - total for value in raw]
        shares = [1.0 - raw[0], raw[0]] if self._head == "sigmoid" else raw
        return [log(max(share, 1e-12)) for share in shares]


def simulatability(whole: Sequence[float], part: Sequence[float]) -> float:
    """Eq. (4): minus both Kullback-Leibler divergences, of log-probabilities."""
    there = sum(exp(p) * (p - q) for p, q in zip(whole, part, strict=True))
    back = sum(exp(q) * (q - p) for p, q in zip(whole, part, strict=True))
    return -(there + back)


def neighbourhood_ties(graph: SmallGraph, subject: int, max_hops: int) -> TieSet:
    """The ties both ends of which are within some hops of the subject."""
    near = nx.ego_graph(graph.drawing, subject, radius=max_hops)
    return frozenset(tie_between(*ends) for ends in near.edges)


def rooted_trees(ties: TieSet, subject: int, max_nodes: int) -> list[TieSet]:
    """Every connected acyclic set of ties with the subject; the empty set is the subject alone."""
    found = [NOTHING]
    for size in range(1, max_nodes):
        for some in combinations(sorted(ties), size):
            nodes = {end for tie in some for end in tie}
            # As many ties as nodes less one, and connected: that is a tree.
            if subject in nodes and len(nodes) == size + 1 and nx.is_connected(nx.Graph(some)):
                found.append(frozenset(some))
    return found


def nodes_of(ties: TieSet, subject: int) -> list[int]:
    return sorted({subject, *(end for tie in ties for end in tie)})


@dataclass(frozen=True, kw_only=True)
class Pair:
    """An explanation, the counterfactual inside it, and both objectives."""

    explanation: TieSet
    kept: TieSet
    simulatability: float
    relevance: float

    @property
    def removed(self) -> TieSet:
        return self.explanation - self.kept

    @cached_property
    def point(self) -> tuple[int, int]:
        """What is compared: simulatability and absolute relevance, in steps of 1e-6."""
        return round(self.simulatability * STEPS), round(abs(self.relevance) * STEPS)

    @cached_property
    def order(self) -> tuple[Any, ...]:
        """Fewest removed ties, fewest nodes, then the canonical order of ties."""
        every, removed = sorted(self.explanation), sorted(self.removed)
        return len(removed), len(every), every, removed


def dominates(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Definition 2: at least as good in both objectives, and better in one."""
    return one[0] >= other[0] and one[1] >= other[1] and (one[0] > other[0] or one[1] > other[1])


class Reference:
    """Everything the search should say of one subject, given the values of its subgraphs."""

    def __init__(self, values: Mapping[TieSet, float]) -> None:
        self.values = values
        self.pairs = [
            Pair(
                explanation=tree,
                kept=kept,
                simulatability=value,
                relevance=(value - values[kept]) / (len(tree) - len(kept)),
            )
            for tree, value in values.items()
            for kept in _strict_subsets(tree)
            if kept in values
        ]

    @cached_property
    def ranks(self) -> dict[Pair, tuple[int, int]]:
        """Competition ranks along both objectives: one more than there are better pairs."""
        by_value = []
        for objective in (0, 1):
            counts = Counter(pair.point[objective] for pair in self.pairs)
            by_value.append(
                {
                    value: 1 + sum(number for other, number in counts.items() if other > value)
                    for value in counts
                }
            )
        return {
            pair: (by_value[0][pair.point[0]], by_value[1][pair.point[1]]) for pair in self.pairs
        }

    def rank_sum(self, pair: Pair) -> int:
        return sum(self.ranks[pair])

    @cached_property
    def layers(self) -> list[list[Pair]]:
        """The front, then the front of what remains, and so on, no further than the engine goes."""
        left = self.pairs
        found: list[list[Pair]] = []
        while left and len(found) < LAYERS:
            points = {pair.point for pair in left}
            best = {
                point for point in points if not any(dominates(other, point) for other in points)
            }
            found.append([pair for pair in left if pair.point in best])
            left = [pair for pair in left if pair.point not in best]
        return found

    @cached_property
    def winner(self) -> Pair:
        """The best rank sum of all pairs; of several, the first in order."""
        return min(self.pairs, key=lambda pair: (self.rank_sum(pair), pair.order))

    def diverse(self, count: int) -> list[tuple[Pair, int]]:
        """The winner, then whatever is farthest in removed ties from all chosen; with layers."""
        chosen = [(self.winner, 1)]
        for number, layer in enumerate(self.layers, start=1):
            while len(chosen) < count:
                least = {
                    pair: min(_distance(pair.removed, other.removed) for other, _ in chosen)
                    for pair in layer
                }
                best = max(least.values())
                if best == 0:
                    break
                farthest = [pair for pair in layer if least[pair] == best]
                farthest.sort(key=lambda pair: (self.rank_sum(pair), pair.order))
                chosen.append((farthest[0], number))
        return chosen

    def dominated_by(self, pair: Pair) -> int:
        return sum(dominates(pair.point, other.point) for other in self.pairs)

    @cached_property
    def shapley(self) -> dict[TieSet, float]:
        """Eq. (9): mean signed μ over all explanations from which a part can be removed."""
        found = defaultdict(list)
        for pair in self.pairs:
            found[pair.removed].append(pair.relevance)
        return {part: sum(values) / len(values) for part, values in found.items()}

    @cached_property
    def baselines(self) -> dict[str, Pair]:
        """What other ways would choose; the random one is left out."""
        largest = max(round(value * STEPS) for value in self.shapley.values())
        by_shapley = [
            pair for pair in self.pairs if round(self.shapley[pair.removed] * STEPS) == largest
        ]
        return {
            "simulatability": min(
                self.pairs, key=lambda pair: (-pair.point[0], -pair.point[1], pair.order)
            ),
            "relevance": min(
                self.pairs, key=lambda pair: (-pair.point[1], -pair.point[0], pair.order)
            ),
            "shapley": min(by_shapley, key=lambda pair: (-pair.point[1], pair.order)),
            "balanced": min(self.pairs, key=self._imbalance),
        }

    def study_cases(self, ties: int) -> list[Pair]:
        """High and low relevance of an explanation of high simulatability, and of one of low."""
        within: dict[TieSet, dict[int, list[Pair]]] = defaultdict(lambda: defaultdict(list))
        for pair in self.pairs:
            if len(pair.explanation) == ties and pair.kept:
                within[pair.explanation][len(pair.removed)].append(pair)
        widest = {}
        for tree, by_size in within.items():
            steps = {n: [abs(p.point[1]) for p in pairs] for n, pairs in by_size.items()}
            apart, size = max((max(own) - min(own), -n) for n, own in steps.items())
            if apart:
                widest[tree] = apart, by_size[-size]
        values = sorted(pairs[0].point[0] for _, pairs in widest.values())
        last = len(values) - 1
        if not values or values[-1 - floor(0.25 * last)] == values[last - ceil(0.75 * last)]:
            return []
        best, worst = values[-1 - floor(0.25 * last)], values[last - ceil(0.75 * last)]
        cases = []
        for quarter in (
            [tree for tree, (_, own) in widest.items() if own[0].point[0] >= best],
            [tree for tree, (_, own) in widest.items() if own[0].point[0] <= worst],
        ):
            tree = min(quarter, key=lambda tree: (-widest[tree][0], sorted(tree)))
            pairs = sorted(widest[tree][1], key=lambda pair: sorted(pair.removed))
            cases += [
                max(pairs, key=lambda pair: pair.point[1]),
                min(pairs, key=lambda pair: pair.point[1]),
            ]
        return cases

    def _imbalance(self, pair: Pair) -> tuple[Any, ...]:
        first, second = self.ranks[pair]
        return abs(first - second), first + second, pair.order


class ReferenceSearch:
    """The reference over one graph with one model; no subgraph is asked about twice."""

    def __init__(self, graph: SmallGraph, oracle: Oracle) -> None:
        self.graph = graph
        self._oracle = oracle
        self._asked: dict[tuple[TieSet, int], list[float]] = {}
        self.whole = oracle.log_probabilities(graph, list(graph.drawing), graph.ties)

    def answer(self, ties: TieSet, subject: int) -> list[float]:
        """The subject's log-probabilities on one subgraph."""
        if (ties, subject) not in self._asked:
            nodes = nodes_of(ties, subject)
            rows = self._oracle.log_probabilities(self.graph, nodes, ties)
            self._asked |= {(ties, node): row for node, row in rows.items()}
        return self._asked[ties, subject]

    def values(self, subject: int, *, max_nodes: int, max_hops: int) -> dict[TieSet, float]:
        """The simulatability of every subgraph of a subject, one query each."""
        ties = neighbourhood_ties(self.graph, subject, max_hops)
        return {
            tree: simulatability(self.whole[subject], self.answer(tree, subject))
            for tree in rooted_trees(ties, subject, max_nodes)
        }


def _strict_subsets(ties: TieSet) -> Iterator[TieSet]:
    for size in range(len(ties)):
        for some in combinations(ties, size):
            yield frozenset(some)


def _distance(one: TieSet, other: TieSet) -> Fraction:
    """The Jaccard distance, exactly."""
    return 1 - Fraction(len(one & other), len(one | other))
