from pathlib import Path

import pytest

from benchmarks.paper.cache import ResultCache
from benchmarks.paper.moexp import BALANCED, BASELINES, most_balanced, search_all
from benchmarks.paper.plans import Size
from benchmarks.paper.published import OURS
from recourse_audit.records.search import FrontPair
from tests.benchmarks.worlds import open_dataset

SIZE = Size(max_nodes=3, max_hops=2, budget=1000)


def on_front(simulatability: float, relevance: float) -> FrontPair:
    return FrontPair(edges=(), removed=(), simulatability=simulatability, relevance=relevance)


@pytest.mark.parametrize(
    ("front", "balanced"),
    [
        ([(-0.1, 0.2)], 0),
        ([(-0.1, 0.2), (-0.2, 0.3), (-0.9, 0.9)], 1),
        ([(-0.1, 0.2), (-0.2, 0.3), (-0.9, 0.9), (-1.0, 1.0)], 1),
        # Two equal pairs share a rank, so the third is no closer than they are.
        ([(-0.1, 0.2), (-0.1, 0.2), (-0.9, 0.9)], 0),
    ],
)
def test_moeb_takes_the_pair_in_the_middle_of_the_front(
    front: list[tuple[float, float]], balanced: int
) -> None:
    pairs = [on_front(*figures) for figures in front]
    for order in (pairs, pairs[::-1]):
        assert most_balanced(order) == pairs[balanced]


def test_a_subject_without_a_result_for_moeb_is_searched_again(tmp_path: Path) -> None:
    dataset = open_dataset(tmp_path)
    subjects = dataset.test_nodes(3)
    with ResultCache(tmp_path / "results.sqlite") as cache:
        search_all(cache, "table", dataset, SIZE, subjects[:2])
        cache._store.execute("DELETE FROM results WHERE method = ?", (BALANCED,))
        search_all(cache, "table", dataset, SIZE, subjects)
        found = {(row.key.method, row.key.subject) for row in cache.rows("table")}
    assert found == {(name, one) for name in (*BASELINES, BALANCED, OURS) for one in subjects}
