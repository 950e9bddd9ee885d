"""What is compared: our search, the bare runtime on the same queries, the plain algorithm."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from recourse_audit.graph.graph import Floats, Graph
from recourse_audit.model.batching import QueryBatcher, sharing_of
from recourse_audit.model.decisions import DecisionRule, Decisions
from recourse_audit.model.probes import probe
from recourse_audit.model.queries import pool_of, whole
from recourse_audit.model.session import OnnxModel
from recourse_audit.search.evaluation import Scope
from recourse_audit.search.moexp import Block, Search
from recourse_audit.settings import DecisionSettings, ModelSettings


@dataclass
class Bench:
    """A graph, a model, the search over them, and the rule that names its decisions.

    `unshared` is the same search without states that small graphs share: what it asks is the limit
    that the search is compared with.
    """

    graph: Graph
    model: OnnxModel
    batcher: QueryBatcher
    whole: np.ndarray
    search: Search
    unshared: Search
    decisions: Decisions
    scope: Scope


def answers_of(batcher: QueryBatcher, graph: Graph) -> Floats:
    """The answers about everybody on the whole graph; nothing about nodes of other kinds."""
    people = np.arange(graph.person_count)
    answers = np.full((graph.node_count, batcher.answer_width), np.nan)
    answers[people] = batcher.ask(whole(graph), people)
    return answers


def open_bench(graph: Graph, model: Path, scope: Scope) -> Bench:
    """Open a model, probe it, and ask it once about the whole graph."""
    settings = ModelSettings(path=model)
    opened = OnnxModel(settings, kinds=graph.kinds)
    probes = probe(opened, settings, pool_of(graph))
    batcher = QueryBatcher(opened, pool_of(graph), sharing=sharing_of(probes))
    answers = answers_of(batcher, graph)
    classes = tuple(str(number) for number in range(answers.shape[1]))
    decisions = decisions_of(graph, answers, classes)
    search = Search(graph, batcher, decisions, scope)
    unshared = Search(graph, QueryBatcher(opened, pool_of(graph)), decisions, scope)
    return Bench(graph, opened, batcher, answers, search, unshared, decisions, scope)


class Recorder:
    """Stands in for a session and keeps a copy of every query it passes on."""

    def __init__(self, session: Any) -> None:
        self.session = session
        self.asked: list[tuple[Any, dict[str, np.ndarray]]] = []

    def run(self, outputs: Any, feeds: dict[str, np.ndarray], options: Any = None) -> Any:
        self.asked.append((outputs, {name: value.copy() for name, value in feeds.items()}))
        return self.session.run(outputs, feeds, options)


def alone(subject: int) -> Block:
    """A block with a single subject, who is searched exhaustively."""
    return Block(subjects=np.array([subject]), bounds=np.zeros(1))


def search_against_runtime(bench: Bench, subjects: np.ndarray) -> tuple[float, float, int]:
    """Return the seconds of our search, the seconds of the bare runtime, and the number of answers.

    For each subject in turn, the queries of the search without shared states are recorded, the
    search is timed, and then the runtime is timed on the recorded queries, so that both run under
    the same load.
    """
    engine = runtime = 0.0
    answers = 0
    session = bench.model._session
    for subject in subjects.tolist():
        recorder = Recorder(session)
        bench.model._session = recorder
        [result] = bench.unshared.run_block(alone(subject))
        bench.model._session = session
        start = time.perf_counter()
        list(bench.search.run_block(alone(subject)))
        middle = time.perf_counter()
        for outputs, feeds in recorder.asked:
            session.run(outputs, feeds)
        end = time.perf_counter()
        engine += middle - start
        runtime += end - middle
        answers += result.extent.queries - 1
    return engine, runtime, answers


def plain_search(bench: Bench, subject: int) -> int:
    """Run the paper's algorithm as printed: depth-first, one query per networkx subgraph."""
    graph, scope = bench.graph, bench.scope
    ties = list(zip(graph.pair_low.tolist(), graph.pair_high.tolist(), strict=True))
    near = nx.ego_graph(_networkx(graph, ties), subject, radius=scope.max_hops)
    seen: dict[frozenset[tuple[int, int]], float] = {}
    own = np.exp(bench.whole[subject])
    for tie_set in _depth_first(near, subject, scope.max_nodes):
        tree = nx.Graph(list(tie_set))
        tree.add_node(subject)
        nodes = sorted(tree)
        place = {node: position for position, node in enumerate(nodes)}
        ends = [(place[a], place[b]) for a, b in tree.edges]
        arcs = np.array([*ends, *((b, a) for a, b in ends)], np.int64).reshape(-1, 2).T
        feeds = {"x": graph.features[nodes].astype(np.float32), "edge_index": arcs.copy()}
        logits = bench.model._session.run(None, feeds)[0][place[subject]].astype(float)
        answer = np.exp(logits - logits.max())
        answer /= answer.sum()
        seen[tie_set] = -float(((own - answer) * (np.log(own) - np.log(answer))).sum())
    pairs = [
        (score, abs(score - seen[inner]) / len(outer - inner), outer, inner)
        for outer, score in seen.items()
        for inner in _inside(outer, subject)
        if inner in seen
    ]
    _best_rank_sum(pairs)
    return len(seen)


def _best_rank_sum(pairs: list[tuple[Any, ...]]) -> Any:
    first = {id(p): rank for rank, p in enumerate(sorted(pairs, key=lambda p: -p[0]))}
    second = {id(p): rank for rank, p in enumerate(sorted(pairs, key=lambda p: -p[1]))}
    return min(pairs, key=lambda p: first[id(p)] + second[id(p)], default=None)


def _networkx(graph: Graph, ties: list[tuple[int, int]]) -> nx.Graph:
    made = nx.Graph(ties)
    made.add_nodes_from(range(graph.node_count))
    return made


def _depth_first(near: nx.Graph, root: int, most: int) -> Iterator[frozenset[tuple[int, int]]]:
    """Yield every rooted subtree once: a tried tie stays flagged for the rest of its branch."""

    def grow(
        nodes: frozenset[int], tie_set: frozenset[tuple[int, int]], flagged: set[tuple[int, int]]
    ) -> Iterator[frozenset[tuple[int, int]]]:
        yield tie_set
        if len(nodes) == most:
            return
        flagged = set(flagged)
        for node in sorted(nodes):
            for other in near[node]:
                tie = (node, other) if node < other else (other, node)
                if other in nodes or tie in flagged:
                    continue
                flagged.add(tie)
                yield from grow(nodes | {other}, tie_set | {tie}, flagged)

    yield from grow(frozenset({root}), frozenset(), set())


def _inside(tie_set: frozenset[tuple[int, int]], root: int) -> Iterator[frozenset[tuple[int, int]]]:
    ties = sorted(tie_set)
    for mask in range((1 << len(ties)) - 1):
        inner = frozenset(tie for place, tie in enumerate(ties) if mask >> place & 1)
        held = {root}
        left = set(inner)
        while left:
            touching = {tie for tie in left if tie[0] in held or tie[1] in held}
            if not touching:
                break
            held.update(*touching)
            left -= touching
        if not left:
            yield inner


def decisions_of(
    graph: Graph, answers: Floats, classes: tuple[str, ...], favourable: tuple[str, ...] = ()
) -> Decisions:
    """The likeliest class is decided; the first is favourable unless others are named."""
    settings = DecisionSettings(classes=classes, favourable=favourable or classes[:1])
    return DecisionRule(settings, graph).over(answers)
