from pathlib import Path

import numpy as np
import pytest

from benchmarks.paper.edits import Around, Edit, answer_after, edited, pair_between
from recourse_audit.graph.readers import from_arrays
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.queries import pool_of, whole
from tests.benchmarks.worlds import open_dataset


@pytest.mark.parametrize("seed", range(6))
def test_an_edited_graph_equals_a_graph_built_from_the_remaining_ties(
    tmp_path: Path, seed: int
) -> None:
    dataset = open_dataset(tmp_path, seed=seed)
    graph, random = dataset.graph, np.random.default_rng(seed)
    removed = random.permutation(graph.pair_count)[:3]
    strangers = np.setdiff1d(np.arange(graph.node_count), [0, *graph.neighbours(0)])[:2]
    edit = Edit(removed=tuple(removed.tolist()), added=tuple((0, int(s)) for s in strangers))
    kept = np.setdiff1d(np.arange(graph.pair_count), removed)
    low = np.concatenate((graph.pair_low[kept], np.zeros(2, int)))
    high = np.concatenate((graph.pair_high[kept], strangers))
    made = from_arrays(graph.features, np.stack((low, high)))
    batcher = QueryBatcher(dataset.bench.model, pool_of(made))
    expected = batcher.ask(whole(made), np.arange(made.node_count))
    for subject in range(graph.node_count):
        found = answer_after(graph, dataset.bench.batcher, subject, edit)
        assert found == pytest.approx(expected[subject], abs=1e-5)
    assert len(edit) == 5
    assert len(edited(graph, edit).sources) == 2 * (graph.pair_count - 3 + 2)


def test_removals_around_a_subject_give_the_answers_of_the_whole_graph(tmp_path: Path) -> None:
    dataset = open_dataset(tmp_path, nodes=40)
    graph, random = dataset.graph, np.random.default_rng(0)
    for subject in range(0, 40, 7):
        around = Around(graph, dataset.bench.batcher, subject, 2)
        gone = [tuple(random.permutation(graph.pair_count)[:2].tolist()) for _ in range(40)]
        found = around.answers(gone)
        for removed, answer in zip(gone, found, strict=True):
            expected = answer_after(graph, dataset.bench.batcher, subject, Edit(removed=removed))
            assert answer == pytest.approx(expected, abs=1e-5)


def test_a_pair_is_found_by_its_ends(tmp_path: Path) -> None:
    graph = open_dataset(tmp_path).graph
    for pair in range(graph.pair_count):
        one, other = int(graph.pair_low[pair]), int(graph.pair_high[pair])
        assert pair_between(graph, one, other) == pair_between(graph, other, one) == pair
