"""Subjects with more subtrees than the budget: a uniform sample, honest about how far it went."""

import tracemalloc
from collections import Counter
from itertools import combinations, pairwise
from math import comb, factorial, log
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from recourse_audit.graph.graph import Graph, Ints
from recourse_audit.graph.readers import from_arrays
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.records.search import Sample, SearchResult
from recourse_audit.search.evaluation import Evaluator, Scope
from recourse_audit.search.pareto import PairTable
from recourse_audit.search.ranking import RankedPairs, Ranking, winners
from recourse_audit.search.sampling import Closure, SubtreeSampler, automorphisms, shapes
from recourse_audit.search.subtrees import LocalGraph, Trees, count_subtrees, subtrees
from tests.cases import long_after
from tests.onnx_models import sum_network
from tests.search.engine import (
    Recorder,
    Table,
    in_full,
    named_trees,
    new_search,
    open_batcher,
    results_by_subject,
    whole_answers,
)
from tests.search.reference import TieSet, dominates

SIZES = [2, 3, 4, 5, 6]
LEAVES = 9000


def graph_of(drawing: "nx.Graph[int]", *, seed: int = 0) -> Graph:
    features = np.random.default_rng(seed).normal(size=(len(drawing), 5)).round(1)
    return from_arrays(features, np.array(list(drawing.edges), np.int64).reshape(-1, 2).T)


def crowd(people: int = 20) -> Graph:
    """People with triangles and hubs; person 3 of twenty has 1,040 subtrees of up to four."""
    return graph_of(nx.powerlaw_cluster_graph(people, 3, 0.6, seed=1))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sum_network(tmp_path_factory.mktemp("models") / "model.onnx", seed=2)


def batcher_for(model: Path, graph: Graph) -> QueryBatcher:
    return open_batcher(model, graph, output="logits")


def result_for(model: Path, graph: Graph, subject: int, scope: Scope) -> SearchResult:
    search = new_search(graph, batcher_for(model, graph), scope)
    return results_by_subject(list(search.run(np.array([subject]))))[subject]


def names(graph: Graph, local: LocalGraph, trees: Trees) -> list[TieSet]:
    ends = list(zip(graph.pair_low.tolist(), graph.pair_high.tolist(), strict=True))
    return [frozenset(ends[pair] for pair in local.pairs[column]) for column in trees.ties.T]


def enumerated(graph: Graph, local: LocalGraph, max_nodes: int) -> list[TieSet]:
    return named_trees(graph, list(subtrees(local, max_nodes)), local.pairs)


DRAWINGS = {
    "wheel": nx.wheel_graph(6),
    "tree": nx.balanced_tree(2, 3),
    "bipartite": nx.complete_bipartite_graph(3, 3),
    "lollipop": nx.lollipop_graph(4, 3),
}


@pytest.mark.parametrize("max_nodes", [3, 4, 5])
@pytest.mark.parametrize("name", DRAWINGS)
def test_every_subtree_is_drawn_equally_often(name: str, max_nodes: int) -> None:
    graph = graph_of(DRAWINGS[name])
    local = LocalGraph(graph, np.array([0]), 3)
    expected = [tree for tree in enumerated(graph, local, max_nodes) if tree]
    sampler = SubtreeSampler(local, max_nodes)
    walks = 400 * len(expected)
    counts: Counter[TieSet] = Counter()
    early: Counter[TieSet] = Counter()
    for trees, turns in sampler.draw(np.random.default_rng(5), walks):
        drawn = names(graph, local, trees)
        counts.update(drawn)
        early.update(
            tree for tree, turn in zip(drawn, turns.tolist(), strict=True) if turn < walks // 2
        )
    assert set(counts) == set(expected)
    assert sampler.kept == counts.total()
    for some in (counts, early):
        mean = some.total() / len(expected)
        statistic = sum((some[tree] - mean) ** 2 / mean for tree in expected)
        freedom = len(expected) - 1
        # Mean k - 1, deviation sqrt(2 (k - 1)).
        assert abs(statistic - freedom) < 5 * (2 * freedom) ** 0.5


def test_a_great_hub_far_away_does_not_blur_the_draws_nearby() -> None:
    """Walks through the hub number some 1e19, more than a sum of floats can tell apart from it."""
    root, children = LEAVES + 1, [LEAVES + 5, LEAVES + 10, LEAVES + 15]
    ties = [(0, leaf) for leaf in range(1, LEAVES + 1)]
    ties += list(pairwise([root, root + 1, root + 2, root + 3, 0]))
    for child in children:
        ties += [(root, child), *((child, child + step) for step in range(1, 5))]
    graph = from_arrays(np.ones((children[-1] + 5, 1)), np.array(ties).T)
    local = LocalGraph(graph, np.array([root]), 5)
    sampler = SubtreeSampler(local, 6)
    counts: Counter[int] = Counter()
    for trees, _ in sampler.draw(np.random.default_rng(0), 300_000):
        if trees.size < 6:
            continue
        fans = np.flatnonzero((trees.parent.T == [0, 1, 1, 1, 1]).all(axis=1))
        counts.update(local.nodes[trees.nodes[1, fans]].tolist())
    assert counts.total() > 30
    assert sorted(counts) == children
    assert max(counts.values()) < 3 * min(counts.values())


@pytest.mark.parametrize("max_nodes", SIZES)
@pytest.mark.parametrize("name", DRAWINGS)
def test_the_estimate_of_the_total_is_near_the_exact_count(name: str, max_nodes: int) -> None:
    local = LocalGraph(graph_of(DRAWINGS[name]), np.array([0]), 3)
    sampler = SubtreeSampler(local, max_nodes)
    sampler.draw(np.random.default_rng(1), 40_000)
    assert sampler.estimated_total() == pytest.approx(count_subtrees(local, max_nodes), rel=0.1)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 7, 8])
def test_shapes_with_their_symmetries_account_for_all_labelled_rooted_trees(size: int) -> None:
    labelled = sum(factorial(size) // automorphisms(shape) for shape in shapes(size))
    assert labelled == size ** (size - 1)


@pytest.mark.parametrize("max_nodes", SIZES)
def test_as_many_subtrees_as_the_budget_are_searched_in_full_and_one_more_is_sampled(
    max_nodes: int, model: Path
) -> None:
    drawings = {
        "star": nx.star_graph(9),
        "wheel": nx.wheel_graph(8),
        "crowd": nx.gnm_random_graph(12, 18, seed=5),
    }
    for name, drawing in drawings.items():
        graph = graph_of(drawing)
        total = count_subtrees(LocalGraph(graph, np.array([0]), 2), max_nodes)
        assert total is not None
        if total <= 2**max_nodes:
            continue
        for budget, kind in ((total, "exhaustive"), (total - 1, "sampled")):
            scope = Scope(max_nodes=max_nodes, max_hops=2, budget=budget)
            result = result_for(model, graph, 0, scope)
            assert result.extent.coverage == kind, name
            assert result.extent.subgraphs == total
            assert result.extent.sample is None or result.extent.sample.of == total
            assert result.extent.queries <= budget + 1


def sample_of(result: SearchResult) -> Sample:
    """The sample that a search drew; it must have drawn one."""
    assert result.extent.coverage == "sampled"
    assert result.extent.sample is not None
    return result.extent.sample


class FirstChoice:
    """Notes what a sampled search had evaluated, and chosen from it, before it began to move."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.points: list[tuple[float, float]] = []
        self.explanations: list[int] = []
        monkeypatch.setattr("recourse_audit.search.sampling.winners", self._noted)

    def _noted(self, table: PairTable, front: RankedPairs) -> Ints:
        chosen = winners(table, front)
        figures = RankedPairs(Ranking(table), chosen)
        self.points.append((float(figures.simulatability[0]), float(figures.relevance[0])))
        self.explanations.append(len(table.simulatability) - 1)
        return chosen


def point(result: SearchResult) -> tuple[float, float]:
    shown = result.counterfactuals[0]
    return float(round(shown.simulatability * 1e6)), float(round(shown.relevance * 1e6))


def points_of(table: Table) -> list[tuple[float, float]]:
    figures = RankedPairs(table.ranking, table.places)
    return list(zip(figures.simulatability.tolist(), figures.relevance.tolist(), strict=True))


@pytest.mark.parametrize("seed", long_after(6, range(12)))
@pytest.mark.parametrize("budget", [64, 150, 400])
def test_a_sampled_winner_keeps_what_its_sample_promises(
    budget: int, seed: int, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = crowd()
    first = FirstChoice(monkeypatch)
    recorder = Recorder(graph, monkeypatch)
    scope = Scope(max_nodes=4, max_hops=2, budget=budget, seed=seed)
    search = new_search(graph, batcher_for(model, graph), scope)
    result, table = recorder.run(search, [3])[3]
    sample = sample_of(result)
    assert sample.confidence == 0.95
    assert sample.of == count_subtrees(LocalGraph(graph, np.array([3]), 2), 4)
    assert not sample.of_is_estimate
    assert 1 <= sample.drawn <= len(table.trees) - 1 <= budget
    assert result.extent.subgraphs == sample.of
    assert result.extent.queries == len(table.trees) + 1 <= budget + 1
    assert result.extent.pairs == len(table.places)
    assert result.objective_grid is not None
    assert sum(count for _, count in result.objective_grid.counts) == result.extent.pairs
    (sampled_point,) = first.points
    parts = sample.drawn * (2**3 - 1)
    epsilon = (log(parts) + log(1 / 0.05)) / max(sample.drawn - 1, 1)
    assert sample.bound == pytest.approx(min(1.0, epsilon))
    best = point(result)
    assert best == sampled_point or dominates(best, sampled_point)
    assert not any(dominates(other, best) for other in points_of(table))
    assert all(shown.layer >= 1 for shown in result.counterfactuals)


@pytest.mark.parametrize("budget", [64, 300])
def test_what_was_sampled_is_closed_under_taking_subtrees_and_scored_as_ever(
    budget: int, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = crowd()
    batcher = batcher_for(model, graph)
    recorder = Recorder(graph, monkeypatch)
    everything = recorder.run(new_search(graph, batcher, Scope(budget=10**6)), [3])[3][1].values
    for seed in range(5):
        search = new_search(graph, batcher, Scope(budget=budget, seed=seed))
        _, table = recorder.run(search, [3])[3]
        assert len(set(table.trees)) == len(table.trees)
        for tree, value in table.values.items():
            assert everything[tree] == value
            inside = {
                frozenset(part) for size in range(len(tree)) for part in combinations(tree, size)
            }
            assert inside & everything.keys() <= set(table.trees)


def test_the_bound_holds_in_repeated_samples(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = crowd(45)
    batcher = batcher_for(model, graph)
    recorder = Recorder(graph, monkeypatch)
    _, everything = recorder.run(new_search(graph, batcher, Scope(budget=10**6)), [3])[3]
    figures = RankedPairs(everything.ranking, everything.places)
    explanation = everything.table.explanation(everything.places)
    held = []
    for seed in range(25):
        search = new_search(graph, batcher, Scope(budget=500, seed=seed))
        (result,) = results_by_subject(list(search.run(np.array([3])))).values()
        first, second = point(result)
        as_good = (figures.simulatability >= first) & (figures.relevance >= second)
        better = (figures.simulatability > first) | (figures.relevance > second)
        through = np.unique(explanation[as_good & better])
        held.append(len(through) <= sample_of(result).bound * len(everything.trees))
        assert sample_of(result).bound < 0.15
    assert sum(held) >= 23


@pytest.mark.parametrize("max_nodes", long_after(len(SIZES) - 1, SIZES))
def test_every_budget_is_kept_down_to_the_least_allowed(max_nodes: int, model: Path) -> None:
    drawings = [
        nx.gnm_random_graph(14, 22, seed=3),
        nx.wheel_graph(9),
        nx.barbell_graph(4, 3),
        nx.random_labeled_tree(30, seed=1),
        nx.star_graph(70),
    ]
    least = 2**max_nodes
    kinds = set()
    for drawing in drawings:
        graph = graph_of(drawing)
        batcher = batcher_for(model, graph)
        for budget in (least, least + 1, 2 * least + 7):
            scope = Scope(max_nodes=max_nodes, max_hops=2, budget=budget)
            search = new_search(graph, batcher, scope)
            for outcome in search.run(np.arange(0, graph.node_count, 4)):
                found = results_by_subject([outcome])[outcome.subject]
                assert found.extent.queries <= budget + 1
                assert found.counterfactuals or not graph.degree(outcome.subject)
                kinds.add(found.extent.coverage)
    assert kinds == {"sampled", "exhaustive"}


def test_a_seed_fixes_the_sample_and_another_gives_another(model: Path) -> None:
    graph = crowd()
    found = {
        seed: [in_full(result_for(model, graph, 3, Scope(budget=200, seed=seed))) for _ in range(2)]
        for seed in range(5)
    }
    assert all(one == again for one, again in found.values())
    assert len({one for one, _ in found.values()}) == len(found)


def test_subjects_with_the_same_seed_draw_apart(model: Path) -> None:
    drawing: nx.Graph[int] = nx.star_graph(30)
    drawing = nx.disjoint_union(drawing, drawing)
    graph = graph_of(drawing)
    scope = Scope(max_nodes=4, max_hops=1, budget=100)
    search = new_search(graph, batcher_for(model, graph), scope)
    found = results_by_subject(list(search.run(np.array([0, 31]))))
    leaves = [
        {int(end) - subject for tie in found[subject].front[0].edges for end in tie}
        for subject in (0, 31)
    ]
    assert leaves[0] != leaves[1]


@pytest.fixture(scope="module")
def great_star() -> Graph:
    features = np.random.default_rng(3).normal(size=(LEAVES + 1, 5))
    return from_arrays(features, [[0] * LEAVES, range(1, LEAVES + 1)])


@pytest.mark.parametrize("subject", [0, 17], ids=["hub", "leaf"])
@pytest.mark.parametrize("max_nodes", [4, 5, 6])
def test_a_star_with_9000_leaves_is_answered_within_its_budget_and_in_bounded_memory(
    max_nodes: int, subject: int, model: Path, great_star: Graph
) -> None:
    scope = Scope(max_nodes=max_nodes, max_hops=2, budget=2000)
    search = new_search(great_star, batcher_for(model, great_star), scope)
    tracemalloc.start()
    try:
        (outcome,) = search.run(np.array([subject]))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    result = results_by_subject([outcome])[subject]
    assert result.extent.queries <= scope.budget + 1
    assert peak < 200_000_000
    assert result.counterfactuals
    sample = sample_of(result)
    assert sample.of_is_estimate == (max_nodes > 4)
    others = LEAVES if subject == 0 else LEAVES - 1
    most = max_nodes if subject == 0 else max_nodes - 1
    exact = sum(comb(others, leaves) for leaves in range(most)) + (subject != 0)
    assert sample.of == pytest.approx(exact, rel=0.1 if max_nodes > 4 else 0)
    assert 0 < sample.bound < 1


def test_a_closure_numbers_each_tree_by_the_one_it_grew_from(model: Path) -> None:
    graph = crowd()
    batcher = batcher_for(model, graph)
    local = LocalGraph(graph, np.array([3]), 2)
    closure = Closure(
        local,
        Evaluator(graph, batcher, whole_answers(batcher, graph), np.array([3])),
        4,
    )
    sampler = SubtreeSampler(local, 4)
    for seed in range(3):
        for trees, _ in sampler.draw(np.random.default_rng(seed), 30):
            if len(trees):
                closure.add(trees)
                assert not len(closure.new_among(trees))
    levels, _ = closure.levels()
    assert len(closure) == sum(len(level) for level in levels)
    for below, level in pairwise(levels):
        grown = named_trees(graph, [level], local.pairs)
        without = [frozenset(column.tolist()) for column in level.ties[:-1].T]
        owners = [frozenset(below.ties[:, owner].tolist()) for owner in level.owner.tolist()]
        assert without == owners
        assert len(set(grown)) == len(grown)
