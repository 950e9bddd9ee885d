"""Walks, distances and parts of a graph, against networkx and by hand."""

import networkx as nx
import numpy as np
import pytest

from recourse_audit.groups.redraws import UNREACHED, Network


def network_of(graph: "nx.Graph[int]") -> Network:
    pairs = np.array(sorted((min(pair), max(pair)) for pair in graph.edges), np.int64)
    low, high = pairs.reshape(-1, 2).T
    return Network(people=graph.number_of_nodes(), low=low, high=high)


@pytest.fixture
def graph() -> "nx.Graph[int]":
    drawn: nx.Graph[int] = nx.gnp_random_graph(120, 0.02, seed=3)
    return drawn


def test_distances_are_numbers_of_steps(graph: "nx.Graph[int]") -> None:
    people = np.arange(0, 120, 3)
    found = network_of(graph).distances(people)
    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    for row, one in enumerate(people.tolist()):
        for column, other in enumerate(people.tolist()):
            assert found[row, column] == lengths[one].get(other, UNREACHED)
    assert (found == UNREACHED).any()


def test_walks_stay_as_often_and_the_damped_one_shuns_hubs(graph: "nx.Graph[int]") -> None:
    network = network_of(graph)
    plain, damped = (walk.toarray() for walk in network.walks)
    for node in graph:
        near, degree = list(graph[node]), graph.degree[node]
        expected = np.zeros(120)
        expected[[node, *near]] = 1 / (degree + 1)
        assert plain[node] == pytest.approx(expected)
        weights = np.array([1 / graph.degree[one] for one in near])
        expected = np.zeros(120)
        expected[node] = 1 / (degree + 1)
        if near:
            expected[near] = degree / (degree + 1) * weights / weights.sum()
        assert damped[node] == pytest.approx(expected)
    assert network.tied == sum(degree > 0 for _, degree in graph.degree)


def test_parts_are_equal_and_follow_the_communities() -> None:
    drawn = nx.planted_partition_graph(8, 25, 0.4, 0.002, seed=1)
    part = network_of(drawn).parts(8)
    assert np.bincount(part).tolist() == [25] * 8
    cut = sum(part[a] != part[b] for a, b in drawn.edges) / drawn.number_of_edges()
    assert cut < 0.3  # 0.875 if people were dealt at random


def test_components_and_people_without_ties_are_divided_too() -> None:
    pieces = nx.disjoint_union_all([nx.path_graph(9), nx.path_graph(5), nx.empty_graph(10)])
    part = network_of(pieces).parts(4)
    assert np.bincount(part).tolist() == [6, 6, 6, 6]
    nobody = Network(people=7, low=np.zeros(0, np.int64), high=np.zeros(0, np.int64))
    assert sorted(np.bincount(nobody.parts(2))) == [3, 4]
