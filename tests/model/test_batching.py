"""The batcher counts what it asks, and never shows how it cut a question."""

from pathlib import Path

import numpy as np
import pytest

from recourse_audit.errors import ModelError
from recourse_audit.graph.graph import Graph, Ints
from recourse_audit.graph.readers import from_arrays
from recourse_audit.model.batching import NODES_PER_QUERY, QueryBatcher
from recourse_audit.model.queries import Pool, Union, pool_of, whole, with_pairs
from tests.model.small_graphs import SumNetwork, all_rows, open_model, random_pool, random_union
from tests.onnx_models import sum_network


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    return sum_network(tmp_path / "model.onnx")


def test_graphs_and_runs_are_counted(plain: Path) -> None:
    random = np.random.default_rng(0)
    pool = random_pool(random)
    union = random_union(random, pool, 50)
    packed = QueryBatcher(open_model(plain), pool)
    packed.ask_raw(union, all_rows(union))
    assert packed.graphs == 50
    assert packed.runs == 1
    packed.ask_raw(union, all_rows(union))
    assert (packed.graphs, packed.runs) == (100, 2)
    for size, runs in ((1, 50), (7, 8), (50, 1)):
        batcher = QueryBatcher(open_model(plain), pool, graphs_per_query=size)
        batcher.ask_raw(union, all_rows(union))
        assert (batcher.graphs, batcher.runs) == (50, runs)


def test_a_long_question_is_cut_into_several_queries(plain: Path) -> None:
    random = np.random.default_rng(1)
    pool = random_pool(random)
    union = random_union(random, pool, 1000)
    batcher = QueryBatcher(open_model(plain), pool)
    answer = batcher.ask_raw(union, all_rows(union))
    assert batcher.runs >= len(union.nodes) / NODES_PER_QUERY
    assert batcher.runs < 1000 / 10
    np.testing.assert_allclose(answer, SumNetwork().answer(pool, union), rtol=1e-4, atol=1e-4)


def test_a_graph_larger_than_a_query_is_asked_whole(plain: Path) -> None:
    random = np.random.default_rng(2)
    pool = random_pool(random)
    size = 3 * NODES_PER_QUERY
    ends = random.integers(0, size, size=(2, 4000))
    union = Union(
        nodes=random.integers(0, 30, size=size),
        node_starts=np.array([0, size]),
        sources=ends[0],
        targets=ends[1],
        ties=np.zeros(4000, np.int64),
        arc_starts=np.array([0, 4000]),
    )
    batcher = QueryBatcher(open_model(plain), pool)
    answer = batcher.ask_raw(union, np.array([0, 700, size - 1]))
    assert batcher.runs == 1
    expected = SumNetwork().answer(pool, union)[[0, 700, size - 1]]
    np.testing.assert_allclose(answer, expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("form", ["edges", "target", "dense"])
@pytest.mark.parametrize("graphs_per_query", [None, 1, 4])
def test_any_subset_of_rows_gets_the_answers_of_all(
    form: str, graphs_per_query: int | None, tmp_path: Path
) -> None:
    model = open_model(sum_network(tmp_path / "model.onnx", form=form))
    random = np.random.default_rng(3)
    pool = random_pool(random)
    union = random_union(random, pool, 40)
    expected = SumNetwork().answer(pool, union)
    batcher = QueryBatcher(model, pool, graphs_per_query=graphs_per_query)
    for share in (0.0, 0.02, 0.3, 1.0):
        rows = np.flatnonzero(random.random(len(union.nodes)) <= share)
        answer = batcher.ask_raw(union, rows)
        assert len(answer) == len(rows)
        np.testing.assert_allclose(answer, expected[rows].reshape(answer.shape), atol=1e-3)


def test_no_rows_are_an_answer_without_a_run(plain: Path) -> None:
    random = np.random.default_rng(3)
    pool = random_pool(random)
    batcher = QueryBatcher(open_model(plain), pool)
    answer = batcher.ask_raw(random_union(random, pool, 3), np.arange(0))
    assert len(answer) == 0
    assert (batcher.graphs, batcher.runs) == (0, 0)


def test_a_batcher_that_knows_more_ties_counts_together_with_the_first(plain: Path) -> None:
    random = np.random.default_rng(4)
    pool = random_pool(random)
    union = random_union(random, pool, 10)
    batcher = QueryBatcher(open_model(plain), pool)
    more = batcher.with_more_ties(pool)
    batcher.ask_raw(union, all_rows(union))
    more.ask_raw(union, all_rows(union))
    assert (batcher.graphs, batcher.runs) == (more.graphs, more.runs) == (20, 2)


def test_only_what_reaches_the_model_is_counted(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    pool = random_pool(random)
    union = random_union(random, pool, 10)
    first = union.node_starts[[0, 3]]
    alone = QueryBatcher(open_model(sum_network(tmp_path / "a.onnx")), pool, graphs_per_query=1)
    alone.ask_raw(union, first)
    assert (alone.graphs, alone.runs) == (2, 2)
    one_row = QueryBatcher(open_model(sum_network(tmp_path / "b.onnx", form="target")), pool)
    one_row.ask_raw(union, all_rows(union))
    assert one_row.one_row_per_query
    assert one_row.graphs == one_row.runs == len(union.nodes)


@pytest.mark.parametrize("graphs_per_query", [None, 1])
def test_features_given_with_a_question_replace_those_of_the_pool(
    graphs_per_query: int | None, plain: Path
) -> None:
    random = np.random.default_rng(5)
    pool = random_pool(random)
    union = random_union(random, pool, 20)
    features = random.normal(size=(len(union.nodes), 5))
    batcher = QueryBatcher(open_model(plain), pool, graphs_per_query=graphs_per_query)
    answer = batcher.ask_raw(union, all_rows(union), features=features)
    renumbered = Union(
        nodes=all_rows(union),
        node_starts=union.node_starts,
        sources=union.sources,
        targets=union.targets,
        ties=union.ties,
        arc_starts=union.arc_starts,
    )
    expected = SumNetwork().answer(Pool(features=features), renumbered)
    np.testing.assert_allclose(answer, expected, rtol=1e-4, atol=1e-4)
    again = batcher.ask_raw(union, all_rows(union))
    np.testing.assert_allclose(again, SumNetwork().answer(pool, union), rtol=1e-4, atol=1e-4)


def test_a_wrong_number_of_features_is_refused_before_any_query(plain: Path) -> None:
    pool = random_pool(np.random.default_rng(0), features=6)
    with pytest.raises(ModelError, match=r"takes 5 features and the graph gives 6.*features") as e:
        QueryBatcher(open_model(plain), pool)
    assert e.value.exit_code == 2


@pytest.mark.parametrize(
    ("form", "role"), [("attributes", "edge_attributes"), ("type", "edge_type")]
)
def test_ties_that_lack_what_the_model_takes_are_refused(
    form: str, role: str, tmp_path: Path
) -> None:
    random = np.random.default_rng(0)
    pool = random_pool(random)
    union = random_union(random, pool, 3)
    batcher = QueryBatcher(
        open_model(sum_network(tmp_path / "model.onnx", form=form)), Pool(features=pool.features)
    )
    with pytest.raises(ModelError, match=f"takes {role}, which the graph does not have"):
        batcher.ask_raw(union, all_rows(union))


def test_missing_weights_of_ties_count_as_one(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    pool = random_pool(random)
    union = random_union(random, pool, 20)
    model = open_model(sum_network(tmp_path / "model.onnx", form="weight"))
    answer = QueryBatcher(model, Pool(features=pool.features)).ask_raw(union, all_rows(union))
    np.testing.assert_allclose(answer, SumNetwork().answer(pool, union), rtol=1e-4, atol=1e-4)


def random_graph(random: np.random.Generator, *, directed: bool, nodes: int = 12) -> Graph:
    """Parallel ties, loops and isolated nodes; every tie has a weight."""
    ends = random.integers(0, nodes - 2, size=(2, 25))
    return from_arrays(
        random.normal(size=(nodes, 5)),
        ends,
        weight=random.uniform(0.1, 1.0, size=25),
        directed=directed,
    )


@pytest.mark.parametrize("directed", [False, True])
def test_the_whole_graph_is_asked_with_every_arc_and_loop(directed: bool) -> None:
    for seed in range(20):
        graph = random_graph(np.random.default_rng(seed), directed=directed)
        union = whole(graph)
        assert arcs_of(union) == expected_arcs(graph, set(range(graph.node_count)))
        assert union.nodes.tolist() == list(range(graph.node_count))


@pytest.mark.parametrize("directed", [False, True])
def test_a_part_of_the_graph_has_exactly_the_ties_among_its_nodes(directed: bool) -> None:
    for seed in range(40):
        random = np.random.default_rng(seed)
        graph = random_graph(random, directed=directed)
        nodes = random.choice(graph.node_count, size=random.integers(1, 9), replace=False)
        union = among(graph, nodes)
        assert union.nodes.tolist() == sorted(nodes.tolist())
        assert arcs_of(union) == expected_arcs(graph, set(nodes.tolist()))


def arcs_of(union: Union) -> list[tuple[int, int, int]]:
    sources, targets = union.nodes[union.sources], union.nodes[union.targets]
    return sorted(zip(sources.tolist(), targets.tolist(), union.ties.tolist(), strict=True))


def expected_arcs(graph: Graph, nodes: set[int]) -> list[tuple[int, int, int]]:
    arcs = []
    for tie in range(len(graph.ties)):
        source, target = int(graph.ties.source[tie]), int(graph.ties.target[tie])
        if source in nodes and target in nodes:
            arcs.append((source, target, tie))
            if not graph.directed and source != target:
                arcs.append((target, source, tie))
    return sorted(arcs)


def among(graph: Graph, nodes: Ints) -> Union:
    """Some nodes with every tie among them, found by looking at all pairs."""
    chosen = set(nodes.tolist())
    ends = zip(graph.pair_low.tolist(), graph.pair_high.tolist(), strict=True)
    pairs = [pair for pair, both in enumerate(ends) if chosen.issuperset(both)]
    return with_pairs(graph, np.unique(nodes), np.array(pairs, np.int64))


def test_the_whole_graph_and_all_its_nodes_together_are_one_question() -> None:
    for seed in range(10):
        graph = random_graph(np.random.default_rng(seed), directed=bool(seed % 2))
        everybody, other = whole(graph), among(graph, np.arange(graph.node_count))
        for name in ("nodes", "node_starts", "sources", "targets", "ties", "arc_starts"):
            assert getattr(everybody, name).tolist() == getattr(other, name).tolist()


def test_a_neighbourhood_answers_as_the_whole_graph_does(plain: Path) -> None:
    """Two layers of sums: two hops of ties hold all that reaches a node."""
    for seed in range(10):
        graph = random_graph(np.random.default_rng(seed), directed=False)
        batcher = QueryBatcher(open_model(plain), pool_of(graph))
        everything = batcher.ask_raw(whole(graph), np.arange(graph.node_count))
        near = {0}
        for _ in range(2):
            near |= {int(other) for node in near for other in graph.neighbours(node)}
        union = among(graph, np.array(sorted(near)))
        alone = batcher.ask_raw(union, np.array([0]))
        np.testing.assert_allclose(alone[0], everything[0], rtol=1e-4, atol=1e-4)
