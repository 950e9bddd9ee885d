"""The engine says what the definitions say: on random small graphs, on real models, to the last
rank."""

from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from math import exp
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from recourse_audit.records.search import Counterfactual, FrontPair, SearchResult
from recourse_audit.search.evaluation import Scope
from recourse_audit.search.ranking import Layers, RankedPairs, count_dominated
from tests.cases import Cases
from tests.onnx_models import sum_network
from tests.search.engine import Key, Recorder, Table, new_search, open_batcher
from tests.search.reference import (
    STEPS,
    Oracle,
    Pair,
    Reference,
    ReferenceSearch,
    SmallGraph,
    TieSet,
    rooted_trees,
)

SHOWN = 4
COLUMNS = 3
MODELS: dict[str, dict[str, str]] = {
    "sum": {"form": "edges", "head": "logits", "dtype": "float64"},
    "dense": {"form": "dense", "head": "logits", "dtype": "float64"},
    "softmax": {"form": "edges", "head": "softmax", "dtype": "float64"},
    "sigmoid": {"form": "edges", "head": "sigmoid", "dtype": "float64"},
    "weight": {"form": "weight", "head": "logits", "dtype": "float64"},
}
SINGLE = {"form": "edges", "head": "logits", "dtype": "float32"}
KINDS = ("sparse", "cycles", "star", "tree", "isolated", "complete")
SEEDS = range(60)


@dataclass(frozen=True, kw_only=True)
class Case:
    """One graph to search, and how far."""

    graph: SmallGraph
    kind: str
    max_nodes: int
    max_hops: int

    @property
    def subjects(self) -> list[int]:
        """The best connected node, the least connected, and the one in the middle of the list."""
        degrees = dict(self.graph.drawing.degree)
        ordered = sorted(degrees, key=lambda node: degrees[node])
        return sorted({ordered[-1], ordered[0], len(ordered) // 2})


def random_case(seed: int) -> Case:
    """Draw a graph of one of the kinds; features are coarse, so that many answers are equal."""
    random = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    drawing = random_drawing(kind, random)
    shuffled = random.permutation(len(drawing)).tolist()
    rows = [(shuffled[one], shuffled[other]) for one, other in drawing.edges]
    directed = bool(random.random() < 0.4)
    if random.random() < 0.4 and rows:
        again = random.integers(len(rows), size=2).tolist()
        rows += [rows[place][:: int(random.choice([1, -1])) if directed else 1] for place in again]
    if not directed:
        rows = [(min(row), max(row)) for row in rows]
        if random.random() < 0.5:
            rows = [row[::-1] for row in rows]
    if random.random() < 0.4:
        rows += [(node, node) for node in random.integers(len(drawing), size=3).tolist()]
    levels = int(random.integers(1, 3))
    features = random.integers(0, levels + 1, size=(len(drawing), COLUMNS)).astype(float)
    if seed % 7 == 0:
        features = random.normal(size=features.shape)
    return Case(
        graph=SmallGraph(
            features=tuple(tuple(row) for row in features.tolist()),
            rows=tuple(rows),
            weights=tuple(random.choice([0.5, 1.0, 2.0], size=len(rows)).tolist()),
            directed=directed,
        ),
        kind=kind,
        max_nodes=2 + seed % 4,
        max_hops=1 + seed // 4 % 3,
    )


def random_drawing(kind: str, random: np.random.Generator) -> "nx.Graph[int]":
    seed = int(random.integers(2**31))
    drawing: nx.Graph[int]
    match kind:
        case "star":
            drawing = nx.star_graph(6)
            drawing.add_edges_from(random.integers(1, 7, size=(2, 2)).tolist())
        case "tree":
            drawing = nx.random_labeled_tree(9, seed=seed)
        case "complete":
            drawing = nx.complete_graph(5)
        case "cycles":
            drawing = nx.cycle_graph(6)
            drawing.add_edges_from(random.integers(0, 6, size=(3, 2)).tolist())
        case _:
            drawing = nx.gnm_random_graph(8, 9, seed=seed)
    drawing.remove_edges_from(list(nx.selfloop_edges(drawing)))
    if kind == "isolated":
        drawing.add_node(len(drawing))
    return drawing


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    every = {**MODELS, "single": SINGLE}
    return {
        name: sum_network(folder / f"{name}.onnx", features=COLUMNS, seed=5, scale=0.3, **kept)
        for name, kept in ((name, dict[str, Any](model)) for name, model in every.items())
    }


def searched(
    case: Case, path: Path, model: dict[str, str]
) -> tuple[ReferenceSearch, dict[int, tuple[SearchResult, Table]]]:
    """Search for every node of a graph together, and make the reference for it."""
    graph = case.graph.for_engine()
    output = "logits" if model["head"] == "logits" else "probabilities"
    batcher = open_batcher(path, graph, output=output)
    scope = Scope(
        max_nodes=case.max_nodes, max_hops=case.max_hops, counterfactuals=SHOWN, study=True
    )
    with pytest.MonkeyPatch.context() as patched:
        recorder = Recorder(graph, patched)
        found = recorder.run(new_search(graph, batcher, scope), range(graph.node_count))
    return ReferenceSearch(case.graph, Oracle(path, **model)), found


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seeds", [SEEDS[:24], pytest.param(SEEDS[24:], marks=pytest.mark.long)])
def test_the_engine_equals_the_reference(seeds: range, name: str, models: dict[str, Path]) -> None:
    cases = Cases()
    for seed in seeds:
        with cases(seed):
            case = random_case(1000 * list(MODELS).index(name) + seed)
            assert_equals_the_reference(case, models[name], MODELS[name])
    cases.assert_sound()


def assert_equals_the_reference(case: Case, path: Path, model: dict[str, str]) -> None:
    slow, found = searched(case, path, model)
    assert sorted(found) == list(case.graph.drawing)
    for subject in case.subjects:
        result, table = found[subject]
        values = slow.values(subject, max_nodes=case.max_nodes, max_hops=case.max_hops)
        assert table.values == pytest.approx(values, abs=1e-11)
        reference = Reference(values)
        assert_same_pairs(reference, table)
        assert_same_counts(reference, result, case)
        if reference.pairs:
            assert_same_ranks_and_layers(reference, table)
            assert_same_result(reference, result, slow, subject)
            assert_same_grid(reference, result)
            assert_same_cases(reference.study_cases(case.max_nodes - 1), result, slow, subject)
        else:
            assert_nothing_found(result)


def test_a_single_precision_model_differs_from_the_reference_by_its_own_rounding_only(
    models: dict[str, Path],
) -> None:
    cases = Cases()
    for seed in range(500, 524):
        with cases(seed):
            case = random_case(seed)
            slow, found = searched(case, models["single"], SINGLE)
            for subject in case.subjects:
                result, table = found[subject]
                values = slow.values(subject, max_nodes=case.max_nodes, max_hops=case.max_hops)
                assert table.values == pytest.approx(values, abs=1e-5)
                reference = Reference(table.values)
                if reference.pairs:
                    assert_same_ranks_and_layers(reference, table)
                    assert_same_result(reference, result, slow, subject)
                    assert_same_grid(reference, result)
    cases.assert_sound()


def test_the_random_graphs_hold_what_is_awkward() -> None:
    cases = [random_case(1000 * model + seed) for model in range(len(MODELS)) for seed in SEEDS]
    graphs = [case.graph for case in cases]
    assert {(case.max_nodes, case.max_hops) for case in cases} == {
        (nodes, hops) for nodes in (2, 3, 4, 5) for hops in (1, 2, 3)
    }
    for directed in (True, False):
        some = [graph for graph in graphs if graph.directed is directed]
        assert any(len(set(graph.rows)) < len(graph.rows) for graph in some)
        assert any(one == other for graph in some for one, other in graph.rows)
        assert any(nx.cycle_basis(graph.drawing) for graph in some)
        assert any(nx.number_of_isolates(graph.drawing) for graph in some)
    assert any(graph.directed and (b, a) in graph.rows for graph in graphs for a, b in graph.rows)
    assert any(len(set(graph.features)) < len(graph.features) // 2 for graph in graphs)


def test_equal_values_and_deep_layers_occur_in_the_random_graphs(models: dict[str, Path]) -> None:
    shared, layered = 0, 0
    for seed in range(24):
        case = random_case(seed)
        slow = ReferenceSearch(case.graph, Oracle(models["sum"], **MODELS["sum"]))
        for subject in case.subjects:
            reference = Reference(
                slow.values(subject, max_nodes=case.max_nodes, max_hops=case.max_hops)
            )
            if reference.pairs:
                sums = [reference.rank_sum(pair) for pair in reference.pairs]
                shared += sums.count(min(sums)) > 1
                layered += max(layer for _, layer in reference.diverse(SHOWN)) > 1
    assert shared >= 5
    assert layered >= 5


def assert_same_pairs(reference: Reference, table: Table) -> None:
    """Every pair once, with its signed relevance."""
    keys, relevance = table.keys(table.places), table.table.relevance[table.places].tolist()
    expected = {(pair.explanation, pair.kept): pair.relevance for pair in reference.pairs}
    assert len(set(keys)) == len(keys)
    assert dict(zip(keys, relevance, strict=True)) == pytest.approx(expected, abs=1e-11)


def assert_same_counts(reference: Reference, result: SearchResult, case: Case) -> None:
    total = len(reference.values)
    extent = result.extent
    assert (extent.max_nodes, extent.max_hops) == (case.max_nodes, case.max_hops)
    assert extent.subgraphs == total
    assert extent.pairs == len(reference.pairs)
    assert extent.queries == total + 1
    assert (extent.coverage, extent.sample) == ("exhaustive", None)


def assert_same_ranks_and_layers(reference: Reference, table: Table) -> None:
    """Ranks of all pairs, the first 25 layers, and how many pairs some of them dominate."""
    keys = table.keys(table.places)
    figures = RankedPairs(table.ranking, table.places)
    ranks = zip(figures.simulatability_rank.tolist(), figures.relevance_rank.tolist(), strict=True)
    points = zip(figures.simulatability.tolist(), figures.relevance.tolist(), strict=True)
    by_key = {(pair.explanation, pair.kept): pair for pair in reference.pairs}
    assert list(ranks) == [reference.ranks[by_key[key]] for key in keys]
    assert list(points) == [by_key[key].point for key in keys]
    layers = [table.keys(layer) for layer in table.layers()]
    assert all(len(set(layer)) == len(layer) for layer in layers)
    assert [set(layer) for layer in layers] == [
        {(pair.explanation, pair.kept) for pair in layer} for layer in reference.layers
    ]
    place = dict(zip(keys, table.places, strict=True))
    firsts = [layer[0] for layer in reference.layers[:3]]
    chosen = np.array([place[pair.explanation, pair.kept] for pair in firsts], dtype=np.int64)
    expected = [reference.dominated_by(pair) for pair in firsts]
    front = Layers(table.ranking).peel()
    for on_front in (np.arange(len(chosen)) == 0, np.zeros(len(chosen), bool)):
        assert count_dominated(table.ranking, front, chosen, on_front) == expected


def assert_same_result(
    reference: Reference, result: SearchResult, slow: ReferenceSearch, subject: int
) -> None:
    """What is shown: the winner and its company, the front, the baselines."""
    expected = reference.diverse(SHOWN)
    assert expected[0][0] in reference.layers[0]
    assert [key_of(shown) for shown in result.counterfactuals] == [
        (pair.explanation, pair.kept) for pair, _ in expected
    ]
    for shown, (pair, layer) in zip(result.counterfactuals, expected, strict=True):
        assert_same_counterfactual(reference, shown, pair, layer, slow, subject)
        random = point_of(result.baselines["random"])
        others = {name: other.point for name, other in reference.baselines.items()} | {
            "random": random
        }
        assert shown.dominates_baselines == {
            name: pair.point != other and pair.point[0] >= other[0] and pair.point[1] >= other[1]
            for name, other in others.items()
        }
    front = sorted(reference.layers[0], key=lambda pair: (-pair.point[0], pair.order))
    assert result.front_size == len(front)
    assert len(result.front) == min(len(front), 500)
    for listed, pair in zip(result.front, front, strict=False):
        assert_same_listing(listed, pair)
    assert set(result.baselines) == {"random", *reference.baselines}
    for name, pair in reference.baselines.items():
        assert_same_listing(result.baselines[name], pair)
    drawn = result.baselines["random"]
    kept = ties_of(drawn.edges) - ties_of(drawn.removed)
    assert (ties_of(drawn.edges), kept) in {(p.explanation, p.kept) for p in reference.pairs}


def assert_same_cases(
    expected: list[Pair], result: SearchResult, slow: ReferenceSearch, subject: int
) -> None:
    shown = [
        (case.explanation, rest) for case in result.study_cases for rest in (case.high, case.low)
    ]
    assert len(shown) == len(expected)
    for pair, (explanation, rest) in zip(expected, shown, strict=True):
        assert ties_of(explanation.edges) == pair.explanation
        assert ties_of(rest.removed) == pair.removed
        assert rest.relevance == pytest.approx(abs(pair.relevance), abs=2e-6)
        for ties, written in ((pair.explanation, explanation), (pair.kept, rest)):
            expected_ = [exp(value) for value in slow.answer(ties, subject)]
            assert list(written.probabilities.values()) == pytest.approx(expected_, abs=2e-6)


def assert_same_grid(reference: Reference, result: SearchResult) -> None:
    """Every pair in its cell, one after the other."""
    points = [pair.point for pair in reference.pairs]
    ranges = [(min(values), max(values)) for values in zip(*points, strict=True)]
    expected: Counter[int] = Counter()
    for point in points:
        column, row = (
            min((value - low) * cells // (high - low), cells - 1) if high > low else 0
            for value, (low, high), cells in zip(point, ranges, (32, 20), strict=True)
        )
        expected[row * 32 + column] += 1
    grid = result.objective_grid
    assert grid is not None
    assert (grid.columns, grid.rows) == (32, 20)
    assert [grid.simulatability, grid.relevance] == [
        (low / STEPS, high / STEPS) for low, high in ranges
    ]
    assert list(grid.counts) == sorted(expected.items())
    assert sum(count for _, count in grid.counts) == result.extent.pairs


def assert_same_counterfactual(
    reference: Reference,
    shown: Counterfactual,
    pair: Pair,
    layer: int,
    slow: ReferenceSearch,
    subject: int,
) -> None:
    first, second = reference.ranks[pair]
    nodes = sorted({subject, *(end for tie in pair.explanation for end in tie)})
    assert shown.explanation.nodes == tuple(str(node) for node in nodes)
    assert list(shown.explanation.edges) == named(pair.explanation)
    assert list(shown.removed) == named(pair.removed)
    assert list(shown.kept) == named(pair.kept)
    assert shown.layer == layer
    assert (shown.ranks.simulatability, shown.ranks.relevance) == (first, second)
    assert shown.ranks.sum == first + second
    assert shown.dominates == reference.dominated_by(pair)
    assert shown.simulatability == shown.explanation.simulatability
    assert shown.simulatability == pytest.approx(pair.simulatability, abs=6e-7)
    assert shown.signed_relevance == pytest.approx(pair.relevance, abs=6e-7)
    assert shown.relevance == abs(shown.signed_relevance)
    for ties, shares in (
        (pair.explanation, shown.explanation.probabilities),
        (pair.kept, shown.probabilities),
    ):
        answer = [exp(value) for value in slow.answer(ties, subject)]
        assert list(shares.values()) == pytest.approx(answer, abs=2e-6)


def assert_same_listing(listed: FrontPair, pair: Pair) -> None:
    assert list(listed.edges) == named(pair.explanation)
    assert list(listed.removed) == named(pair.removed)
    assert listed.simulatability == pytest.approx(pair.simulatability, abs=6e-7)
    assert listed.relevance == pytest.approx(abs(pair.relevance), abs=6e-7)


def assert_nothing_found(result: SearchResult) -> None:
    assert result.extent.subgraphs == 1
    assert (result.counterfactuals, result.front, result.front_size) == ((), (), 0)
    assert result.baselines == {}
    assert result.objective_grid is None


def named(ties: TieSet) -> list[tuple[str, str]]:
    return [(str(low), str(high)) for low, high in sorted(ties)]


def ties_of(edges: tuple[tuple[str, str], ...]) -> TieSet:
    return frozenset((int(low), int(high)) for low, high in edges)


def key_of(shown: Counterfactual) -> Key:
    return ties_of(shown.explanation.edges), ties_of(shown.kept)


def point_of(listed: FrontPair) -> tuple[int, int]:
    return round(listed.simulatability * 1e6), round(listed.relevance * 1e6)


def test_the_reference_finds_the_trees_of_a_triangle_with_a_tail() -> None:
    ties = frozenset({(0, 1), (0, 2), (1, 2), (2, 3)})
    trees = rooted_trees(ties, 0, 3)
    assert trees == [
        frozenset(),
        frozenset({(0, 1)}),
        frozenset({(0, 2)}),
        frozenset({(0, 1), (0, 2)}),
        frozenset({(0, 1), (1, 2)}),
        frozenset({(0, 2), (1, 2)}),
        frozenset({(0, 2), (2, 3)}),
    ]
    # Of the 16 trees of a complete graph with 4 nodes, all hold every node.
    complete = frozenset(combinations(range(4), 2))
    assert sum(len(tree) == 3 for tree in rooted_trees(complete, 2, 4)) == 16
