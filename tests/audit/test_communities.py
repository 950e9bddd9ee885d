"""Communities: found in the ties or in a column, numbered alike every time, or said to be none."""

import networkx as nx
import numpy as np
import pytest

from recourse_audit.audit import communities
from recourse_audit.audit.communities import communities_of
from recourse_audit.graph.arrays import Graph
from recourse_audit.graph.readers import from_arrays
from recourse_audit.records.groups import Communities
from recourse_audit.settings import GroupSettings

SETTINGS = GroupSettings(attributes=("sex",))
VILLAGES = 6
SIZE = 12
LONELY = 3


def villages(seed: int = 0, *, directed: bool = False) -> tuple[Graph, list[int]]:
    """Villages with one tie between neighbours, people in any order, and some without ties."""
    whole = nx.connected_caveman_graph(VILLAGES, SIZE)
    count = VILLAGES * SIZE + LONELY
    order = np.random.default_rng(seed).permutation(count)
    ends = order[np.array(whole.edges()).T]
    village = np.empty(count, np.int64)
    village[order] = np.arange(count) // SIZE
    village[order[-LONELY:]] = VILLAGES + np.arange(LONELY)
    graph = from_arrays(
        np.zeros((count, 1)),
        ends,
        attributes={"sex": np.array(["f"] * count), "village": village},
        directed=directed,
    )
    return graph, village.tolist()


def same_parts(first: list[int], second: list[int]) -> bool:
    pairs = set(zip(first, second, strict=True))
    return len(pairs) == len(set(first)) == len(set(second))


@pytest.mark.parametrize("directed", [True, False])
def test_villages_are_found_and_whoever_has_no_ties_is_alone(directed: bool) -> None:
    graph, village = villages(directed=directed)
    found = communities_of(graph, SETTINGS, 3)
    assert found.numbers is not None
    assert same_parts(found.numbers.tolist(), village)
    assert found.record == Communities(
        method="louvain",
        column=None,
        seed=3,
        count=VILLAGES + LONELY,
        reason="",
        alone=LONELY,
    )


def test_nobody_with_a_tie_is_alone() -> None:
    for seed in range(20):
        ends = np.random.default_rng(seed).integers(0, 60, (2, 15 + 5 * seed))
        ends = ends[:, ends[0] != ends[1]]
        graph = from_arrays(
            np.zeros((60, 1)), ends, attributes={"sex": np.array(["f"] * 60)}, directed=False
        )
        numbers = communities_of(graph, SETTINGS, seed).numbers
        assert numbers is not None
        alone = np.flatnonzero(np.bincount(numbers)[numbers] == 1)
        assert set(alone.tolist()) == set(range(60)) - set(ends.ravel().tolist())


def test_they_are_numbered_in_the_order_of_their_first_members() -> None:
    for seed in range(5):
        graph, _ = villages(seed)
        numbers = communities_of(graph, SETTINGS, seed).numbers
        assert numbers is not None
        first = list(dict.fromkeys(numbers.tolist()))
        assert first == list(range(len(first)))


def test_the_same_seed_finds_the_same_where_several_partitions_are_as_good() -> None:
    generator = np.random.default_rng(1)
    graph = from_arrays(
        np.zeros((80, 1)),
        generator.integers(0, 80, (2, 300)),
        attributes={"sex": np.array(["f"] * 80)},
    )
    found = [communities_of(graph, SETTINGS, seed).numbers for seed in (0, 0, 1, 2, 3)]
    texts = [str(None if numbers is None else numbers.tolist()) for numbers in found]
    assert texts[0] == texts[1]
    assert len(set(texts)) > 1, "the seed makes no difference, so nothing was tested"


def test_a_column_names_them_and_those_without_a_value_are_together() -> None:
    names = ["b", "", "a", "b", ""]
    graph = from_arrays(
        np.zeros((5, 1)), np.array([[0], [1]]), attributes={"sex": names, "branch": names}
    )
    settings = GroupSettings(attributes=("sex",), communities="branch")
    found = communities_of(graph, settings, 0)
    assert found.numbers is not None
    assert found.numbers.tolist() == [0, 1, 2, 0, 1]
    assert (found.method, found.column, found.count) == ("column", "branch", 3)


def test_a_graph_without_ties_has_everybody_alone() -> None:
    graph = from_arrays(
        np.zeros((4, 1)), np.empty((2, 0), np.int64), attributes={"sex": np.array(["f"] * 4)}
    )
    assert communities_of(graph, SETTINGS, 0).count == 4


def test_none_are_sought_where_no_groups_are_compared_or_there_are_too_many_ties(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph, _ = villages()
    none = communities_of(graph, GroupSettings(), 0)
    assert (none.method, none.numbers, none.count) == ("none", None, 0)
    assert "groups.attributes" in none.reason
    monkeypatch.setattr(communities, "MOST_PAIRS", 10)
    many = communities_of(graph, SETTINGS, 0)
    assert (many.method, many.numbers) == ("none", None)
    assert "name a column of communities in groups.communities" in many.reason
    column = GroupSettings(attributes=("sex",), communities="village")
    assert communities_of(graph, column, 0).method == "column"
