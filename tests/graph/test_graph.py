"""The index of a graph agrees with a slow, obvious reference: networkx and plain loops."""

from collections import Counter
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from recourse_audit.errors import GraphError, SubjectError
from recourse_audit.graph.columns import to_strings
from recourse_audit.graph.graph import Graph, Ties, build_graph
from recourse_audit.graph.readers import from_arrays

Pairs = list[tuple[int, int]]


@st.composite
def multigraphs(draw: st.DrawFn) -> tuple[int, Pairs, list[int]]:
    """A number of nodes, ties between them (including repeated ties and loops), and their kinds."""
    count = draw(st.integers(1, 9))
    node = st.integers(0, count - 1)
    ties = draw(st.lists(st.tuples(node, node), max_size=24))
    kinds = draw(st.lists(st.integers(0, 2), min_size=len(ties), max_size=len(ties)))
    return count, ties, kinds


def index(count: int, ties: Pairs, kinds: list[int], *, directed: bool) -> Graph:
    ends = np.array(ties, np.int32).reshape(-1, 2)
    return build_graph(
        ids=to_strings(range(count)),
        features=np.zeros((count, 1)),
        feature_names=("x",),
        attributes={},
        ties=Ties(
            source=ends[:, 0],
            target=ends[:, 1],
            kind=np.array(kinds, np.int16),
            kinds=("a", "b", "c"),
        ),
        directed=directed,
    )


def is_mirrored(ties: Pairs, kinds: list[int]) -> bool:
    """Whether every tie that is not a loop is listed equally often in the other direction."""
    rows = Counter((a, b, k) for (a, b), k in zip(ties, kinds, strict=True) if a != b)
    return all(rows[b, a, k] == n for (a, b, k), n in rows.items())


@given(multigraphs(), st.booleans())
@example((2, [(0, 1), (1, 0)], [0, 0]), False)
@example((2, [(0, 1), (1, 0)], [0, 1]), False)
@example((3, [], []), False)
def test_the_index_agrees_with_plain_loops(
    drawn: tuple[int, Pairs, list[int]], directed: bool
) -> None:
    count, ties, kinds = drawn
    graph = index(count, ties, kinds, directed=directed)
    rows = list(zip(ties, kinds, strict=True))
    if not directed and is_mirrored(ties, kinds):
        rows = [((a, b), k) for (a, b), k in rows if a <= b]
    kept = list(zip(graph.ties.source.tolist(), graph.ties.target.tolist(), strict=True))
    assert list(zip(kept, graph.ties.kind.tolist(), strict=True)) == rows

    reference: nx.Graph[int] = nx.Graph()
    reference.add_nodes_from(range(count))
    reference.add_edges_from((a, b) for (a, b), _ in rows if a != b)
    for node in range(count):
        assert graph.neighbours(node).tolist() == sorted(reference.neighbors(node))
        assert graph.degree(node) == reference.degree(node)
    pairs = list(zip(graph.pair_low.tolist(), graph.pair_high.tolist(), strict=True))
    assert pairs == sorted((min(e), max(e)) for e in reference.edges)
    for node in range(count):
        span = slice(graph.starts[node], graph.starts[node + 1])
        for other, pair in zip(graph.neighbour[span], graph.neighbour_pair[span], strict=True):
            assert pairs[pair] == (min(node, other), max(node, other))

    loops = [(a, t) for t, ((a, b), _) in enumerate(rows) if a == b]
    assert list(zip(graph.loop_node, graph.loop_row, strict=True)) == sorted(loops)
    for pair, (low, high) in enumerate(pairs):
        span = slice(graph.pair_starts[pair], graph.pair_starts[pair + 1])
        arcs = list(
            zip(graph.arc_source[span], graph.arc_target[span], graph.arc_tie[span], strict=True)
        )
        expected = []
        for number, ((a, b), _) in enumerate(rows):
            if {a, b} == {low, high}:
                expected += [(a, b, number)] if directed else []
                expected += [] if directed else [(low, high, number), (high, low, number)]
        assert arcs == expected
    assert graph.pair_starts[-1] == len(graph.arc_tie)


@given(multigraphs())
def test_pairs_of_an_undirected_graph_do_not_depend_on_the_order_of_rows_and_ends(
    drawn: tuple[int, Pairs, list[int]],
) -> None:
    count, ties, kinds = drawn
    turned = [(b, a) for a, b in reversed(ties)]
    graph_as_listed = index(count, ties, kinds, directed=False)
    other = index(count, turned, kinds[::-1], directed=False)
    assert graph_as_listed.pair_low.tolist() == other.pair_low.tolist()
    assert graph_as_listed.pair_high.tolist() == other.pair_high.tolist()
    assert graph_as_listed.neighbour.tolist() == other.neighbour.tolist()
    assert graph_as_listed.pair_starts.tolist() == other.pair_starts.tolist()


@given(multigraphs(), st.randoms(use_true_random=False))
def test_a_tie_that_is_listed_in_both_directions_is_read_once(
    drawn: tuple[int, Pairs, list[int]], random: Any
) -> None:
    count, ties, kinds = drawn
    once = [(min(t), max(t), k) for t, k in zip(ties, kinds, strict=True)]
    assume(any(a != b for a, b, _ in once))
    both = once + [(b, a, k) for a, b, k in once if a != b]
    random.shuffle(both)
    weights = [float(a + b + k) for a, b, k in both]
    graph = from_arrays(
        np.ones((count, 1)),
        np.array([row[:2] for row in both]).T,
        kind=[row[2] for row in both],
        weight=weights,
        edge_attributes=np.array([weights]).T,
    )
    assert sorted(zip(graph.ties.source, graph.ties.target, graph.ties.kind, strict=True)) == (
        sorted(once)
    )
    directed = from_arrays(
        np.ones((count, 1)), np.array([row[:2] for row in both]).T, directed=True
    )
    assert len(directed.ties) == len(both)


def test_one_tie_without_a_mirror_keeps_every_row() -> None:
    graph = from_arrays(np.ones((3, 1)), [[0, 1, 1], [1, 0, 2]])
    assert len(graph.ties) == 3
    assert graph.pair_starts.tolist() == [0, 4, 6]


def test_ties_of_different_kinds_in_each_direction_are_two_ties() -> None:
    graph = from_arrays(np.ones((2, 1)), [[0, 1], [1, 0]], kind=["lends", "owes"])
    assert len(graph.ties) == 2
    assert graph.pair_count == 1


@pytest.mark.parametrize("column", ["weight", "edge_attributes"])
def test_mirrored_ties_that_differ_by_direction_are_refused(column: str) -> None:
    values: Any = [0.5, 0.25] if column == "weight" else [[0.5], [0.25]]
    arguments: dict[str, Any] = {column: values}
    with pytest.raises(GraphError, match="to true if the directions differ") as caught:
        from_arrays(np.ones((2, 1)), [[0, 1], [1, 0]], **arguments)
    assert caught.value.exit_code == 2
    assert len(from_arrays(np.ones((2, 1)), [[0, 1], [1, 0]], directed=True, **arguments).ties) == 2


def test_parallel_ties_are_one_pair_with_several_arcs() -> None:
    graph = from_arrays(np.ones((2, 1)), [[0, 0, 1], [1, 1, 0]])
    assert graph.pair_count == 1
    assert graph.pair_starts.tolist() == [0, 6]
    assert graph.arc_tie.tolist() == [0, 0, 1, 1, 2, 2]
    assert graph.neighbours(0).tolist() == [1]


def test_a_loop_is_neither_a_pair_nor_a_neighbour() -> None:
    graph = from_arrays(np.ones((3, 1)), [[1, 0, 1], [1, 2, 1]])
    assert graph.loop_node.tolist() == [1, 1]
    assert graph.loop_row.tolist() == [0, 2]
    assert graph.degree(1) == 0
    assert graph.pair_count == 1


def test_a_directed_tie_keeps_its_direction() -> None:
    graph = from_arrays(np.ones((3, 1)), [[2, 1], [0, 0]], directed=True)
    assert graph.arc_source.tolist() == [1, 2]
    assert graph.arc_target.tolist() == [0, 0]
    assert graph.neighbours(0).tolist() == [1, 2]


def test_a_graph_without_nodes_is_refused() -> None:
    with pytest.raises(GraphError, match="no nodes"):
        index(0, [], [], directed=False)


def test_a_node_is_found_by_its_id_and_an_unknown_id_is_refused() -> None:
    graph = from_arrays(np.ones((2, 1)), [[0], [1]], ids=["a", "b"])
    assert graph.find("b") == 1
    with pytest.raises(SubjectError, match="no node with the id 'z'; ids look like a, b"):
        graph.find("z")


@given(st.lists(st.text(max_size=4), min_size=1, max_size=30, unique=True))
def test_every_node_is_found_whatever_its_id_contains(names: list[str]) -> None:
    try:
        ids = to_strings(names)
    except UnicodeEncodeError:
        assume(False)
    ends = np.empty(0, np.int32)
    graph = build_graph(
        ids=ids,
        features=np.zeros((len(names), 1)),
        feature_names=("f",),
        attributes={},
        ties=Ties(source=ends, target=ends, kind=np.empty(0, np.int16), kinds=("tie",)),
        directed=False,
    )
    assert [graph.find(name) for name in names] == list(range(len(names)))


def test_a_graph_is_shown_in_one_short_line() -> None:
    graph = from_arrays(np.zeros((2000, 3)), np.zeros((2, 0), int))
    assert repr(graph) == "Graph(nodes=2000, ties=0, features=3)"
