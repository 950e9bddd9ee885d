from itertools import chain, combinations
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.paper.explanations import Pairs, grown, nodes_of, pairs_around, parts
from benchmarks.paper.scoring import Scorer
from recourse_audit.graph.graph import Graph
from recourse_audit.graph.readers import from_arrays
from recourse_audit.records.search import SearchResult
from tests.benchmarks.worlds import open_dataset, random_ties


def small_graph(seed: int, count: int = 12) -> Graph:
    return from_arrays(np.zeros((count, 1)), random_ties(count, seed))


def ends(graph: Graph, pair: int) -> tuple[int, int]:
    return int(graph.pair_low[pair]), int(graph.pair_high[pair])


def slowly_grown(
    graph: Graph, subject: int, pairs: NDArray[np.int64], weights: NDArray[np.float64], most: int
) -> Pairs:
    """After each tie that was added, try every tie again, starting with the heaviest."""
    held: list[int] = []
    inside = {subject}
    ranked = sorted(zip(weights.tolist(), pairs.tolist(), strict=True), key=lambda w: (-w[0], w[1]))
    added = True
    while added and len(inside) < most:
        added = False
        for _, pair in ranked:
            if len(inside & set(ends(graph, pair))) == 1:
                held.append(pair)
                inside |= set(ends(graph, pair))
                added = True
                break
    return tuple(sorted(held))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("most", [2, 4, 5, 30])
def test_an_explanation_is_grown_by_the_heaviest_tie_that_leads_out(seed: int, most: int) -> None:
    graph = small_graph(seed)
    pairs = pairs_around(graph, 3, 2)
    # Few distinct weights, so that equal weights occur.
    weights = np.random.default_rng(seed).integers(0, 4, len(pairs)).astype(float)
    tree = grown(graph, 3, pairs, weights, most)
    assert tree == slowly_grown(graph, 3, pairs, weights, most)
    drawn = nx.Graph(ends(graph, pair) for pair in tree)
    assert nx.is_tree(drawn)
    assert 3 in drawn
    assert len(drawn) == min(most, len(nodes_of(graph, 3, tuple(pairs.tolist()))))


def test_the_pairs_around_a_subject_are_those_between_nodes_within_reach() -> None:
    graph = small_graph(1, 30)
    drawn = nx.Graph(ends(graph, pair) for pair in range(graph.pair_count))
    for subject in range(30):
        near = nx.ego_graph(drawn, subject, radius=2)
        found = {ends(graph, pair) for pair in pairs_around(graph, subject, 2).tolist()}
        assert found == {(min(a, b), max(a, b)) for a, b in near.edges}


@pytest.mark.parametrize("seed", range(10))
def test_the_parts_of_a_tree_are_all_that_are_connected_to_the_subject(seed: int) -> None:
    graph = small_graph(seed)
    pairs = pairs_around(graph, 5, 3)
    tree = grown(graph, 5, pairs, np.random.default_rng(seed).random(len(pairs)), 5)
    expected = set()
    for part in chain.from_iterable(combinations(tree, size) for size in range(len(tree) + 1)):
        drawn = nx.Graph(ends(graph, pair) for pair in part)
        drawn.add_node(5)
        if nx.is_connected(drawn):
            expected.add(part)
    found = list(parts(graph, 5, tree))
    assert set(found) == expected
    assert len(found) == len(expected)
    assert found[-1] == tree


def test_the_scorer_gives_the_scores_of_the_search(tmp_path: Path) -> None:
    """The search lists its most simulatable explanation with its best counterfactual."""
    dataset = open_dataset(tmp_path)
    graph, bench = dataset.graph, dataset.bench
    scorer = Scorer(graph, bench.batcher, bench.whole)
    number = {ends(graph, pair): pair for pair in range(graph.pair_count)}
    compared = 0
    for result in bench.search.run(np.arange(graph.node_count)):
        assert isinstance(result, SearchResult)
        chosen = result.baselines["simulatability"]
        tree = tuple(sorted(number[int(a), int(b)] for a, b in chosen.edges))
        scored = scorer.score(result.subject, tree)
        assert scored.simulatability == pytest.approx(chosen.simulatability, abs=1.1e-6)
        assert scored.relevance == pytest.approx(chosen.relevance, abs=1.1e-6)
        assert len(scored.removed) == len(chosen.removed)
        compared += 1
    assert compared == graph.node_count


def test_no_explanation_from_weights_dominates_the_choice_of_an_exhaustive_search(
    tmp_path: Path,
) -> None:
    dataset = open_dataset(tmp_path, seed=3)
    graph, bench = dataset.graph, dataset.bench
    scorer = Scorer(graph, bench.batcher, bench.whole)
    for result in bench.search.run(np.arange(graph.node_count)):
        assert isinstance(result, SearchResult)
        assert result.extent.coverage == "exhaustive"
        best = result.counterfactuals[0]
        pairs = pairs_around(graph, result.subject, 2)
        for seed in range(5):
            weights = np.random.default_rng(seed).random(len(pairs))
            other = scorer.score(result.subject, grown(graph, result.subject, pairs, weights, 4))
            assert (
                other.simulatability <= best.simulatability + 2e-6
                or other.relevance <= best.relevance + 2e-6
            )
