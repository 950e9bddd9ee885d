from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.paper import peers
from benchmarks.paper.cache import ResultCache
from benchmarks.paper.datasets import Dataset
from benchmarks.paper.edits import Edit, answer_after
from benchmarks.paper.explanations import pairs_around
from benchmarks.paper.peers import Contest, compare_peers
from benchmarks.paper.plans import Plan
from benchmarks.paper.rivals import (
    ANY,
    CF,
    GREEDY,
    METHODS,
    MOST_CHANGES,
    OWN,
    RANDOM,
    RANDOM_TRIES,
)
from tests.benchmarks.worlds import NAME, open_dataset

PLAN = Plan(peers={NAME: 9}, peer_budget=20_000, draws=6)


Results = dict[int, dict[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dataset]:
    """A data set on which CF-GNNExplainer finds nothing, since there are no weights."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Contest, "_masked", lambda self, subject: (None, 1))
        yield open_dataset(tmp_path_factory.mktemp("dataset"), seed=1)


@pytest.fixture(scope="module")
def results(dataset: Dataset) -> Results:
    """What every method finds, for every subject."""
    contest = Contest(dataset, PLAN)
    return {subject: dict(contest.results(subject)) for subject in contest.subjects(9)}


def flips_with_one_removal(dataset: Dataset, subject: int) -> bool:
    """Try every nearby tie."""
    decided = int(dataset.bench.whole[subject].argmax())
    return any(
        answer_after(dataset.graph, dataset.bench.batcher, subject, Edit(removed=(pair,))).argmax()
        != decided
        for pair in pairs_around(dataset.graph, subject, peers.DEPTH).tolist()
    )


def test_every_exhaustive_method_finds_a_single_removal_exactly_where_there_is_one(
    dataset: Dataset, results: Results
) -> None:
    one = 0
    for subject, found in results.items():
        expected = flips_with_one_removal(dataset, subject)
        one += expected
        for method in (ANY, GREEDY):
            assert (found[method]["size"] == 1) == expected
    assert 0 < one < 9


def test_what_counts_as_flipped_is_flipped_on_the_whole_graph(results: Results) -> None:
    for found in results.values():
        for method in (OWN, ANY, GREEDY):
            assert found[method]["flipped"] == float(found[method]["claimed"])
            assert found[method]["size"] <= MOST_CHANGES
        assert found[OWN]["flipped"] <= found[ANY]["flipped"]


def test_random_edits_are_as_large_and_as_many_as_ours(results: Results) -> None:
    for found in results.values():
        ours = found[ANY]
        assert found[RANDOM]["size"] == (ours["size"] or MOST_CHANGES)
        assert 0 <= found[RANDOM]["flipped"] <= 1
        assert found[RANDOM_TRIES]["queries"] <= max(ours["queries"], 1)


def test_every_method_has_one_cached_result_per_subject(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ResultCache(tmp_path / "results.sqlite") as cache:
        compare_peers(cache, dataset, PLAN)
        rows = list(cache.rows("peers"))
        assert {row.key.method for row in rows} == set(METHODS)
        assert len(rows) == 9 * len(METHODS)
        assert [row.document["claimed"] for row in rows if row.key.method == CF] == [False] * 9
        monkeypatch.setattr(Contest, "results", lambda self, subject: pytest.fail("run twice"))
        compare_peers(cache, dataset, PLAN)


def test_subjects_are_refused_test_nodes_where_one_class_is_favourable(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = int(np.bincount(dataset.bench.whole.argmax(axis=1)).argmax())
    monkeypatch.setitem(peers.FAVOURABLE, NAME, wanted)
    subjects = Contest(dataset, PLAN).subjects(100)
    decided = dataset.bench.whole.argmax(axis=1)
    expected = {node for node in range(9) if decided[node] != wanted}
    assert set(subjects) == expected
