"""What is found for a subject depends on nobody who was searched beside it, nor on how queries
were packed: equal to the last digit, for every field of every record."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from recourse_audit.graph.graph import Graph
from recourse_audit.graph.readers import from_arrays
from recourse_audit.model import batching
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.queries import pool_of
from recourse_audit.records.search import SearchResult
from recourse_audit.search import evaluation
from recourse_audit.search import moexp as blocks_module
from recourse_audit.search import ranking as objective_grid
from recourse_audit.search.evaluation import Scope
from recourse_audit.search.moexp import Block, Search, blocks, subtree_bounds
from tests.onnx_models import sum_network
from tests.search.engine import in_full, new_search, open_batcher, results_by_subject

PEOPLE = 30
SCOPE = Scope(max_nodes=4, max_hops=2, counterfactuals=4, seed=3)
FORMS = ["edges", "dense", "weight"]
SIZES: list[dict[str, int]] = [
    {"NODES_PER_QUERY": 1},
    {"NODES_PER_QUERY": 7},
    {"NODES_PER_QUERY": 33, "TREES_AT_ONCE": 5},
    {"NODES_PER_QUERY": 5000, "TREES_AT_ONCE": 100_000},
    {"TREES_AT_ONCE": 1},
    {"TREES_AT_ONCE": 64, "SUBTREES_IN_BATCH": 300},
    {"SUBTREES_IN_BLOCK": 1},
    {"SUBTREES_IN_BLOCK": 700, "SUBTREES_IN_BATCH": 90},
    {"SUBTREES_IN_BATCH": 1},
    {"SUBTREES_IN_BATCH": 1, "REMEMBERED_BYTES": 0},
    {"SUBTREES_IN_BATCH": 400, "REMEMBERED_BYTES": 5000},
    {"EXPLANATIONS_AT_ONCE": 3},
]
HOMES = {
    "NODES_PER_QUERY": batching,
    "TREES_AT_ONCE": evaluation,
    "REMEMBERED_BYTES": evaluation,
    "EXPLANATIONS_AT_ONCE": objective_grid,
    "SUBTREES_IN_BLOCK": blocks_module,
    "SUBTREES_IN_BATCH": blocks_module,
}


def community(*, awkward: bool = False) -> Graph:
    """A graph with hubs and triangles; features are rounded so that some answers are equal."""
    drawing = nx.powerlaw_cluster_graph(PEOPLE, 2, 0.5, seed=4)
    random = np.random.default_rng(4)
    rows = list(drawing.edges)
    if awkward:
        rows += [rows[3], rows[8], (2, 2), (9, 9), (9, 9)]
    return from_arrays(
        random.normal(size=(PEOPLE, 5)).round(),
        np.array(rows).T,
        weight=random.uniform(0.5, 2.0, size=len(rows)),
        directed=awkward,
    )


def opened(folder: Path, graph: Graph, **form: Any) -> QueryBatcher:
    return open_batcher(sum_network(folder / "model.onnx", seed=2, **form), graph, output="logits")


def together(search: Search, subjects: Iterable[int]) -> dict[int, SearchResult]:
    return results_by_subject(list(search.run(np.array([*subjects]))))


def alone(search: Search, graph: Graph, subject: int) -> SearchResult:
    block = Block(
        subjects=np.array([subject]), bounds=subtree_bounds(graph, SCOPE.max_nodes)[[subject]]
    )
    return results_by_subject(list(search.run_block(block)))[subject]


@pytest.mark.parametrize("awkward", [False, True], ids=["plain", "directed_with_loops"])
@pytest.mark.parametrize("form", FORMS)
def test_a_subject_searched_alone_gets_what_it_gets_among_everyone(
    form: str, awkward: bool, tmp_path: Path
) -> None:
    graph = community(awkward=awkward)
    search = new_search(graph, opened(tmp_path, graph, form=form), SCOPE)
    everyone = together(search, range(PEOPLE))
    assert sorted(everyone) == list(range(PEOPLE))
    for subject in range(PEOPLE):
        assert in_full(alone(search, graph, subject)) == in_full(everyone[subject])


@pytest.mark.parametrize("size", SIZES, ids=lambda size: "-".join(f"{k}={size[k]}" for k in size))
def test_packing_blocks_and_memory_are_not_visible_in_a_result(
    size: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = community()
    search = new_search(graph, opened(tmp_path, graph), SCOPE)
    expected = together(search, range(PEOPLE))
    limit = size.get("SUBTREES_IN_BLOCK", blocks_module.SUBTREES_IN_BLOCK)
    for name, value in size.items():
        monkeypatch.setattr(HOMES[name], name, value)
    cut = blocks(graph, np.arange(PEOPLE), SCOPE.max_nodes, budget=SCOPE.budget, limit=limit)
    found = results_by_subject([o for block in cut for o in search.run_block(block)])
    assert {s: in_full(found[s]) for s in found} == {s: in_full(expected[s]) for s in expected}


def test_small_blocks_of_any_members_give_the_same_results(tmp_path: Path) -> None:
    graph = community()
    search = new_search(graph, opened(tmp_path, graph), SCOPE)
    expected = together(search, range(PEOPLE))
    order = np.random.default_rng(8).permutation(PEOPLE)
    for some in np.array_split(order, 7):
        block = Block(subjects=some, bounds=subtree_bounds(graph, SCOPE.max_nodes)[some])
        found = results_by_subject(list(search.run_block(block)))
        assert sorted(found) == sorted(some.tolist())
        for subject, result in found.items():
            assert in_full(result) == in_full(expected[subject])


def test_the_order_in_which_subjects_are_named_changes_nothing(tmp_path: Path) -> None:
    graph = community()
    search = new_search(graph, opened(tmp_path, graph), SCOPE)
    forward = list(search.run(np.arange(PEOPLE)))
    backward = list(search.run(np.arange(PEOPLE)[::-1]))
    twice = list(search.run(np.tile(np.arange(PEOPLE), 2)))
    assert in_full(*forward) == in_full(*backward) == in_full(*twice)


def test_a_model_asked_one_graph_at_a_time_gives_the_same_results(tmp_path: Path) -> None:
    graph = community()
    packed = opened(tmp_path, graph)
    single = QueryBatcher(packed.model, pool_of(graph), graphs_per_query=1)
    expected = together(new_search(graph, packed, SCOPE), range(PEOPLE))
    found = together(new_search(graph, single, SCOPE), range(PEOPLE))
    assert {s: in_full(found[s]) for s in found} == {s: in_full(expected[s]) for s in expected}


def test_sampled_subjects_are_not_touched_by_their_company_either(tmp_path: Path) -> None:
    graph = community()
    scope = Scope(max_nodes=4, max_hops=2, budget=120, seed=3)
    search = new_search(graph, opened(tmp_path, graph), scope)
    everyone = together(search, range(PEOPLE))
    assert {result.extent.coverage for result in everyone.values()} == {"sampled", "exhaustive"}
    for subject in range(PEOPLE):
        (found,) = search.run(np.array([subject]))
        assert in_full(found) == in_full(everyone[subject])


def test_a_subtree_is_evaluated_once_for_all_the_subjects_in_it(tmp_path: Path) -> None:
    graph = community()
    batcher = opened(tmp_path, graph)
    search = new_search(graph, batcher, SCOPE)
    before = batcher.graphs
    everyone = together(search, range(PEOPLE))
    asked = batcher.graphs - before
    total = sum(result.extent.subgraphs for result in everyone.values())
    assert asked < total / 2
    before = batcher.graphs
    for subject in range(PEOPLE):
        alone(search, graph, subject)
    assert batcher.graphs - before >= total
