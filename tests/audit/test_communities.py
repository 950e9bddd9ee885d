"""Communities come from a column or there are none; of the ties it is kept who is tied to whom."""

import numpy as np
import pytest

from recourse_audit.audit import population as communities
from recourse_audit.audit.population import communities_of, ties_of
from recourse_audit.graph.graph import Graph
from recourse_audit.graph.readers import from_arrays
from recourse_audit.records.groups import Communities
from recourse_audit.settings import GroupSettings

SETTINGS = GroupSettings(attributes=("sex",))
BY_BRANCH = GroupSettings(attributes=("sex",), communities="branch")


def graph_of(branches: list[str], ends: list[tuple[int, int]], *, directed: bool = False) -> Graph:
    count = len(branches)
    return from_arrays(
        np.zeros((count, 1)),
        np.array(ends, np.int64).reshape(-1, 2).T,
        attributes={"sex": ["f"] * count, "branch": branches},
        directed=directed,
    )


def pairs_of(graph: Graph, settings: GroupSettings = SETTINGS) -> list[tuple[int, int]]:
    blocks = list(ties_of(graph, settings))
    assert [number for number, _ in blocks] == list(range(len(blocks)))
    pairs = np.frombuffer(b"".join(content for _, content in blocks), "<i4")
    return [(low, high) for low, high in pairs.reshape(-1, 2).tolist()]


def test_a_column_names_them_and_those_without_a_value_are_together() -> None:
    graph = graph_of(["b", "", "a", "b", ""], [(0, 1)])
    record, numbers = communities_of(graph, BY_BRANCH, 3)
    assert numbers is not None
    assert numbers.tolist() == [0, 1, 2, 0, 1]
    assert record == Communities(column="branch", count=3, seed=3)


def test_they_are_numbered_in_the_order_of_their_first_members() -> None:
    for seed in range(5):
        names = np.random.default_rng(seed).choice(["x", "y", "z", ""], 40).tolist()
        _, numbers = communities_of(graph_of(names, []), BY_BRANCH, seed)
        assert numbers is not None
        first = list(dict.fromkeys(numbers.tolist()))
        assert first == list(range(len(set(names))))


@pytest.mark.parametrize("settings", [SETTINGS, GroupSettings(communities="branch")])
def test_there_are_none_without_a_column_or_where_no_groups_are_compared(
    settings: GroupSettings,
) -> None:
    record, numbers = communities_of(graph_of(["a", "b"], [(0, 1)]), settings, 7)
    assert numbers is None
    assert record == Communities(column=None, count=0, seed=7)


@pytest.mark.parametrize("directed", [True, False])
def test_a_pair_is_kept_once_whatever_the_ties_between_them(directed: bool) -> None:
    ends = [(3, 1), (1, 3), (1, 3), (0, 2), (2, 2)]
    graph = graph_of(["a"] * 5, ends, directed=directed)
    assert sorted(pairs_of(graph)) == [(0, 2), (1, 3)]


def test_many_ties_are_kept_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of(["a"] * 30, [(one, one + 1) for one in range(29)])
    at_once = pairs_of(graph)
    monkeypatch.setattr(communities, "PAIRS_PER_BLOCK", 4)
    assert len(list(ties_of(graph, SETTINGS))) == 8
    assert pairs_of(graph) == at_once == [(one, one + 1) for one in range(29)]


def test_no_ties_are_kept_where_there_are_none_or_no_groups_are_compared() -> None:
    assert pairs_of(graph_of(["a"] * 4, [])) == []
    assert pairs_of(graph_of(["a"] * 4, [(0, 1)]), GroupSettings()) == []
