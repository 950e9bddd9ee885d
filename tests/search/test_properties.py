"""What must hold of the parts of the search for any input, most of all where values are equal."""

from collections.abc import Sequence
from math import comb

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recourse_audit.graph.graph import Graph
from recourse_audit.graph.readers import from_arrays
from recourse_audit.search.baselines import baselines
from recourse_audit.search.moexp import blocks, subtree_bounds
from recourse_audit.search.pareto import PairTable, Staircase
from recourse_audit.search.ranking import Layers, RankedPairs, Ranking, winners
from recourse_audit.search.sampling import canonical, subtrees_of
from recourse_audit.search.subtrees import (
    KeyIndex,
    Level,
    LocalGraph,
    Trees,
    count_subtrees,
    subtrees,
)
from tests.search.engine import Table, all_pairs, named_trees
from tests.search.reference import (
    Reference,
    SmallGraph,
    TieSet,
    dominates,
    neighbourhood_ties,
    rooted_trees,
)

STEP = 1e-6
few_values = st.integers(0, 4).map(float)
any_values = st.floats(-1e6, 1e6)


@st.composite
def small_graphs(draw: st.DrawFn, most_nodes: int = 7, most_ties: int = 11) -> SmallGraph:
    count = draw(st.integers(1, most_nodes))
    node = st.integers(0, count - 1)
    rows = draw(st.lists(st.tuples(node, node), max_size=most_ties))
    return SmallGraph(
        features=((1.0,),) * count,
        rows=tuple((min(row), max(row)) for row in rows),
        weights=(1.0,) * len(rows),
        directed=draw(st.booleans()),
    )


def levels_of(graph: Graph, subject: int, max_nodes: int, max_hops: int) -> list[Level]:
    local = LocalGraph(graph, np.array([subject]), max_hops)
    return [level for level in subtrees(local, max_nodes) if len(level)]


def enumerated(graph: Graph, subject: int, max_nodes: int, max_hops: int) -> list[TieSet]:
    local = LocalGraph(graph, np.array([subject]), max_hops)
    return named_trees(graph, list(subtrees(local, max_nodes)), local.pairs)


@st.composite
def scored_tables(draw: st.DrawFn) -> Table:
    """The pairs of a subject whose subgraphs got one of a few values."""
    drawn = draw(small_graphs().filter(lambda graph: graph.drawing.number_of_edges() > 0))
    tied = [node for node, degree in drawn.drawing.degree if degree]
    subject = draw(st.sampled_from(tied))
    graph = drawn.for_engine()
    local = LocalGraph(graph, np.array([subject]), draw(st.integers(1, 3)))
    levels = [level for level in subtrees(local, draw(st.integers(2, 4))) if len(level)]
    total = sum(len(level) for level in levels)
    value = draw(st.sampled_from([few_values.map(lambda v: -0.2718281828 * v), st.floats(-5, 0)]))
    values = draw(st.lists(value, min_size=total, max_size=total))
    table = PairTable(levels, np.array(values), local.pairs)
    return Table(table=table, every_tree=named_trees(graph, levels, local.pairs))


@given(scored_tables())
def test_theorem_1_the_best_rank_sum_lies_on_the_front_also_with_ties(table: Table) -> None:
    ranking = Ranking(table.table)
    keys = table.keys(table.places)
    figures = RankedPairs(ranking, table.places)
    points = list(zip(figures.simulatability.tolist(), figures.relevance.tolist(), strict=True))
    total = figures.rank_sum.tolist()
    for place, point in enumerate(points):
        if total[place] == min(total):
            assert not any(dominates(other, point) for other in points)
    (chosen,) = table.keys(winners(table.table, Layers(ranking).peel()))
    assert total[keys.index(chosen)] == min(total)


@given(scored_tables())
def test_choices_from_few_values_equal_those_of_the_reference(table: Table) -> None:
    reference = Reference(table.values)
    ranking = Ranking(table.table)
    (chosen,) = table.keys(winners(table.table, Layers(ranking).peel()))
    assert chosen == (reference.winner.explanation, reference.winner.kept)
    picked = baselines(ranking, [(0, 0)])
    for name, pair in reference.baselines.items():
        assert table.keys(picked[name]) == [(pair.explanation, pair.kept)], name


@given(st.lists(st.tuples(few_values, few_values), min_size=1, max_size=40))
def test_the_front_is_what_comparing_each_with_every_other_finds(
    points: list[tuple[float, float]],
) -> None:
    assert_front(points)


@given(st.lists(st.tuples(any_values, st.floats(0, 1e6)), min_size=1, max_size=40))
def test_the_front_of_values_without_ties_is_the_same_too(
    points: list[tuple[float, float]],
) -> None:
    assert_front(points)


def assert_front(points: Sequence[tuple[float, float]]) -> None:
    columns = np.array(points, float)
    expected = [not any(dominates(other, point) for other in points) for point in points]
    front = Staircase.build(-columns[:, 0]).front(columns[:, 1])
    assert front.tolist() == np.flatnonzero(expected).tolist()


@given(st.lists(st.tuples(few_values, st.integers(1, 5)), max_size=30))
def test_competition_ranks_are_the_first_places_in_a_sorted_list(
    weighted: list[tuple[float, int]],
) -> None:
    values = np.array([value for value, _ in weighted])
    weights = np.array([weight for _, weight in weighted], np.int64)
    entries = sorted((v for v, weight in weighted for _ in range(weight)), reverse=True)
    expected = [1 + entries.index(value) for value, _ in weighted]
    nobody = np.zeros(1, np.int64)
    ranks = Staircase.build(-values).ranks(weights, np.zeros(len(values), np.int32), nobody)
    assert ranks.tolist() == expected


@given(small_graphs(), st.integers(2, 5), st.integers(1, 3))
def test_each_subtree_is_made_exactly_once(graph: SmallGraph, max_nodes: int, hops: int) -> None:
    engine = graph.for_engine()
    for subject in range(engine.node_count):
        found = enumerated(engine, subject, max_nodes, hops)
        ties = neighbourhood_ties(graph, subject, hops)
        assert len(set(found)) == len(found)
        assert set(found) == set(rooted_trees(ties, subject, max_nodes))


@given(small_graphs(), st.integers(2, 4), st.integers(1, 3))
def test_subtrees_of_many_roots_at_once_are_those_of_each_root_alone(
    graph: SmallGraph, max_nodes: int, hops: int
) -> None:
    engine = graph.for_engine()
    everyone = np.arange(engine.node_count)
    local = LocalGraph(engine, everyone, hops)
    found: list[list[TieSet]] = [[] for _ in everyone]
    for level in subtrees(local, max_nodes):
        assert level.root.tolist() == sorted(level.root.tolist())
        names = named_trees(engine, [level], local.pairs)
        for root, tree in zip(level.root.tolist(), names, strict=True):
            found[root].append(tree)
    assert found == [enumerated(engine, int(node), max_nodes, hops) for node in everyone]


@given(small_graphs(most_nodes=8, most_ties=14), st.integers(2, 6), st.integers(1, 3))
def test_subtrees_are_counted_before_they_are_made(
    graph: SmallGraph, max_nodes: int, hops: int
) -> None:
    engine = graph.for_engine()
    for subject in range(engine.node_count):
        local = LocalGraph(engine, np.array([subject]), hops)
        made = sum(len(level) for level in subtrees(local, max_nodes))
        assert count_subtrees(local, max_nodes) == made


@pytest.mark.parametrize("max_nodes", [2, 3, 4, 5, 6])
def test_the_subtrees_of_a_star_are_its_sets_of_leaves(max_nodes: int) -> None:
    star = nx.star_graph(12)
    graph = from_arrays(np.ones((13, 1)), np.array(star.edges).T)
    local = LocalGraph(graph, np.array([0]), 1)
    expected = sum(comb(12, leaves) for leaves in range(max_nodes))
    assert count_subtrees(local, max_nodes) == expected


def test_a_hub_whose_subtrees_are_too_many_to_grow_is_left_uncounted() -> None:
    graph = from_arrays(np.ones((3001, 1)), [[0] * 3000, range(1, 3001)])
    local = LocalGraph(graph, np.array([0]), 1)
    assert count_subtrees(local, 4) == 1 + 3000 + comb(3000, 2) + comb(3000, 3)
    assert count_subtrees(local, 5) is None


@given(small_graphs(), st.integers(2, 4), st.integers(1, 3))
def test_bounds_are_never_below_the_number_of_subtrees(
    graph: SmallGraph, max_nodes: int, hops: int
) -> None:
    engine = graph.for_engine()
    bounds = subtree_bounds(engine, max_nodes)
    for subject in range(engine.node_count):
        assert len(enumerated(engine, subject, max_nodes, hops)) <= bounds[subject]


@given(small_graphs(), st.integers(2, 6), st.integers(1, 60), st.integers(1, 200), st.data())
def test_blocks_hold_every_subject_once(
    graph: SmallGraph, max_nodes: int, budget: int, limit: int, data: st.DataObject
) -> None:
    engine = graph.for_engine()
    node = st.integers(0, engine.node_count - 1)
    subjects = data.draw(st.lists(node, min_size=1))
    found = list(blocks(engine, np.array(subjects), max_nodes, budget=budget, limit=limit))
    members = [member for block in found for member in block.subjects.tolist()]
    assert sorted(members) == sorted(set(subjects))
    for block in found:
        assert len(block.subjects) == 1 or (block.bounds <= budget).all()
        batched = [member for batch in block.batches() for member in batch.subjects.tolist()]
        assert batched == block.subjects.tolist()


some_keys = st.one_of(
    st.integers(0, 6), st.integers(0, 2**64 - 1), st.integers(2**64 - 40, 2**64 - 1)
)


@given(st.lists(st.lists(some_keys, max_size=40), max_size=6))
def test_a_key_index_numbers_keys_like_a_dict(batches: list[list[int]]) -> None:
    index = KeyIndex()
    expected: dict[int, int] = {}
    for batch in batches:
        fresh = [n for n, key in enumerate(batch) if key not in expected and key not in batch[:n]]
        for key in batch:
            expected.setdefault(key, len(expected))
        numbers, found = index.enter(np.array(batch, np.uint64))
        assert numbers.tolist() == [expected[key] for key in batch]
        assert found.tolist() == fresh
        assert len(index) == len(expected)


def test_a_key_index_keeps_its_numbers_as_it_grows() -> None:
    keys = np.random.default_rng(0).integers(1, 2**64, size=30_000, dtype=np.uint64)
    index = KeyIndex()
    for first in range(0, len(keys), 997):
        index.enter(keys[first : first + 997])
    numbers, fresh = index.enter(keys)
    assert numbers.tolist() == list(range(len(keys)))
    assert not len(fresh)


@st.composite
def grown_trees(draw: st.DrawFn) -> Trees:
    """Trees of one size in any order of growth, the root first; ties numbered as they come."""
    size, count = draw(st.integers(2, 6)), draw(st.integers(1, 4))
    columns = []
    for _ in range(count):
        nodes = draw(st.permutations(range(10)))[:size]
        ties = draw(st.permutations(range(20)))[: size - 1]
        parent = [draw(st.integers(0, place)) for place in range(size - 1)]
        columns.append((nodes, ties, parent))
    return Trees(
        nodes=np.array([nodes for nodes, _, _ in columns], np.int32).T,
        ties=np.array([ties for _, ties, _ in columns], np.int32).T,
        parent=np.array([parent for _, _, parent in columns], np.int8).T,
    )


Hanging = dict[int, tuple[int, int]]


def hanging(trees: Trees, column: int) -> Hanging:
    """What each node but the root hangs on, and by which tie."""
    nodes = trees.nodes[:, column].tolist()
    parent, ties = trees.parent[:, column].tolist(), trees.ties[:, column].tolist()
    for place, above in enumerate(parent):
        assert above <= place, "a node comes after the one it hangs on"
    return {
        node: (nodes[above], tie) for node, above, tie in zip(nodes[1:], parent, ties, strict=True)
    }


@given(grown_trees())
def test_canonical_growth_ends_with_the_largest_leaf_at_every_size(trees: Trees) -> None:
    found = canonical(trees)
    for column in range(len(trees)):
        tree = hanging(trees, column)
        assert hanging(found, column) == tree
        assert found.nodes[0, column] == trees.nodes[0, column]
        for node in reversed(found.nodes[1:, column].tolist()):
            inner = {above for above, _ in tree.values()}
            assert node == max(leaf for leaf in tree if leaf not in inner)
            del tree[node]


@given(grown_trees())
def test_canonical_growth_does_not_depend_on_the_order_it_came_in(trees: Trees) -> None:
    once = canonical(trees)
    again = canonical(once)
    for one, other in zip((once.nodes, once.ties), (again.nodes, again.ties), strict=True):
        assert one.tolist() == other.tolist()
    assert once.parent.tolist() == again.parent.tolist()


@given(grown_trees())
def test_the_subtrees_of_a_tree_are_all_its_parts_that_hang_together(trees: Trees) -> None:
    found: list[list[frozenset[int]]] = [[] for _ in range(len(trees))]
    for part, columns in subtrees_of(trees):
        for place, column in enumerate(columns.tolist()):
            whole = hanging(trees, column)
            assert part.nodes[0, place] == trees.nodes[0, column]
            assert hanging(part, place).items() <= whole.items()
            found[column].append(frozenset(part.ties[:, place].tolist()))
    for column in range(len(trees)):
        ends = {tie: (above, node) for node, (above, tie) in hanging(trees, column).items()}
        drawing: nx.Graph[int] = nx.Graph(list(ends.values()))
        number = {frozenset(pair): tie for tie, pair in ends.items()}
        ties = frozenset((min(pair), max(pair)) for pair in ends.values())
        root = int(trees.nodes[0, column])
        expected = {
            frozenset(number[frozenset(tie)] for tie in tree)
            for tree in rooted_trees(ties, root, len(drawing))
            if tree
        }
        assert len(found[column]) == len(expected)
        assert set(found[column]) == expected


@settings(max_examples=50)
@given(scored_tables(), st.integers(0, 5))
def test_the_random_pick_is_one_of_the_pairs(table: Table, seed: int) -> None:
    (drawn,) = baselines(Ranking(table.table), [(seed, 0)])["random"]
    assert drawn in table.places


def test_the_random_pick_meets_every_pair_equally_often() -> None:
    graph = from_arrays(np.ones((5, 1)), [[0, 0, 1, 2], [1, 2, 3, 4]])
    levels = levels_of(graph, 0, 4, 2)
    total = sum(len(level) for level in levels)
    local = LocalGraph(graph, np.array([0]), 2)
    table = PairTable(levels, np.linspace(-1, 0, total), local.pairs)
    ranking = Ranking(table)
    draws = np.array([baselines(ranking, [(seed, 7)])["random"][0] for seed in range(2000)])
    counts = np.array([np.count_nonzero(draws == pair) for pair in all_pairs(table)])
    assert counts.sum() == len(draws)
    expected = len(draws) / len(counts)
    # The chi-square statistic has mean k - 1 and deviation sqrt(2 (k - 1)).
    statistic = float(((counts - expected) ** 2 / expected).sum())
    freedom = len(counts) - 1
    assert statistic < freedom + 5 * (2 * freedom) ** 0.5
