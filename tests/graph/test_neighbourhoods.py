"""A neighbourhood is what networkx finds within the same number of hops."""

from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recourse_audit.graph import neighbourhoods
from recourse_audit.graph.neighbourhoods import (
    by_locality,
    neighbourhood,
    over_neighbours,
    spans,
)
from recourse_audit.graph.readers import from_arrays


@st.composite
def questions(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]], list[int], int]:
    count = draw(st.integers(1, 12))
    node = st.integers(0, count - 1)
    ties = draw(st.lists(st.tuples(node, node), max_size=20))
    return count, ties, draw(st.lists(node, min_size=1, max_size=4)), draw(st.integers(0, 6))


@given(questions(), st.booleans())
def test_a_neighbourhood_agrees_with_networkx(
    question: tuple[int, list[tuple[int, int]], list[int], int], directed: bool
) -> None:
    count, ties, start, hops = question
    edge_index = np.array(ties, np.int64).reshape(-1, 2).T
    graph = from_arrays(np.ones((count, 1)), edge_index, directed=directed)
    reference: nx.Graph[int] = nx.Graph()
    reference.add_nodes_from(range(count))
    reference.add_edges_from(ties)
    nearest: dict[int, int] = {}
    for node in start:
        lengths = nx.single_source_shortest_path_length(reference, node, cutoff=hops)
        for other, distance in lengths.items():
            nearest[other] = min(distance, nearest.get(other, hops))
    result = neighbourhood(graph, np.array(start), hops)
    assert result.nodes.tolist() == sorted(nearest)
    assert result.hops.tolist() == [nearest[node] for node in sorted(nearest)]


def test_a_node_without_ties_is_its_own_neighbourhood() -> None:
    graph = from_arrays(np.ones((3, 1)), [[0, 2], [1, 2]])
    result = neighbourhood(graph, np.array([2]), 3)
    assert result.nodes.tolist() == [2]
    assert result.hops.tolist() == [0]


def test_without_starting_nodes_there_are_none() -> None:
    graph = from_arrays(np.ones((2, 1)), [[0], [1]])
    assert neighbourhood(graph, np.array([], np.int64), 2).nodes.tolist() == []


@given(st.lists(st.integers(0, 4), min_size=1, max_size=8), st.data())
def test_spans_list_rows_in_order(lengths: list[int], data: st.DataObject) -> None:
    starts = np.concatenate(([0], np.cumsum(lengths)))
    row = st.integers(0, len(lengths) - 1)
    rows = data.draw(st.lists(row, max_size=6))
    positions, owner = spans(starts, np.array(rows, np.int32))
    expected = [
        (position, place)
        for place, number in enumerate(rows)
        for position in range(starts[number], starts[number + 1])
    ]
    assert list(zip(positions.tolist(), owner.tolist(), strict=True)) == expected


@pytest.mark.parametrize("at_once", [1, 5, 1000])
@pytest.mark.parametrize(("how", "reference"), [(np.add, sum), (np.maximum, max)])
def test_what_is_reduced_over_neighbours_in_parts_is_what_a_loop_finds(
    at_once: int,
    how: np.ufunc,
    reference: Callable[[list[int]], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(neighbourhoods, "NEIGHBOURS_AT_ONCE", at_once)
    random = np.random.default_rng(4)
    graph = from_arrays(np.ones((30, 1)), random.integers(0, 25, (2, 40)))
    values = random.integers(1, 100, 30)
    expected = [
        reference(values[near].tolist()) if len(near := graph.neighbours(node)) else 0
        for node in range(30)
    ]
    assert over_neighbours(graph, values, how).tolist() == expected


def test_an_order_by_locality_brings_shuffled_neighbours_together() -> None:
    shuffled = np.random.default_rng(0).permutation(200)
    graph = from_arrays(np.ones((200, 1)), shuffled[np.stack((np.arange(199), np.arange(1, 200)))])
    order = by_locality(graph)
    place = np.argsort(order)
    assert sorted(order.tolist()) == list(range(200))
    assert np.abs(place[graph.pair_low] - place[graph.pair_high]).max() == 1
