import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.paper import table, tie_weights
from benchmarks.paper.cache import Key, ResultCache, setting_of
from benchmarks.paper.plans import Plan
from benchmarks.paper.published import OURS
from tests.benchmarks.worlds import NAME, open_dataset

ROOT = Path(__file__).resolve().parents[2]
PLAN = Plan(graphs=(NAME,), nodes=6)
ONLY_RANDOM = {"RND": tie_weights.OPENERS["RND"]}


def key(subject: int, setting: str = "") -> Key:
    return Key(part="table", graph="cora", method="RND", subject=subject, setting=setting)


def test_a_saved_result_is_found_by_the_next_run(tmp_path: Path) -> None:
    with ResultCache(tmp_path / "results.sqlite") as cache:
        cache.put(key(3), {"relevance": 0.25})
    with ResultCache(tmp_path / "results.sqlite") as cache:
        assert cache.has(key(3))
        assert not cache.has(key(4))
        assert not cache.has(key(3, "another model"))
        assert [row.document for row in cache.rows("table", graph="cora")] == [{"relevance": 0.25}]
        assert list(cache.rows("table", graph="citeseer")) == []


def test_a_result_survives_a_process_that_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    program = (
        "import os, signal, sys; from pathlib import Path\n"
        "from benchmarks.paper.cache import ResultCache, Key\n"
        f"cache = ResultCache(Path({str(path)!r}))\n"
        "for subject in range(5):\n"
        "    cache.put(Key(part='table', graph='cora', method='RND', subject=subject), {})\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    with ResultCache(path) as cache:
        assert [row.key.subject for row in cache.rows("table")] == [0, 1, 2, 3, 4]


def test_a_setting_is_the_same_text_whatever_the_order() -> None:
    assert setting_of(C=4, model="a") == setting_of(model="a", C=4)
    assert setting_of(C=4) != setting_of(C=5)


class StoppedError(Exception):
    """The run was stopped."""


class Interrupted(ResultCache):
    """Saves some results and then stops."""

    def __init__(self, path: Path, most: int) -> None:
        super().__init__(path)
        self.most, self.put_here = most, 0

    def put(self, key: Key, document: dict[str, Any]) -> None:
        if self.put_here == self.most:
            raise StoppedError
        self.put_here += 1
        super().put(key, document)


def made(cache: ResultCache) -> dict[tuple[str, int], dict[str, Any]]:
    """All results of the table, without their times."""
    return {
        (row.key.method, row.key.subject): {
            name: value for name, value in row.document.items() if name != "seconds"
        }
        for row in cache.rows("table")
    }


@pytest.mark.parametrize("most", [1, 8, 35, 38])
def test_a_stopped_run_resumes_and_ends_as_if_it_had_not_been_stopped(
    tmp_path: Path, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "OPENERS", ONLY_RANDOM)
    dataset = open_dataset(tmp_path)
    with ResultCache(tmp_path / "straight.sqlite") as cache:
        table.fill_table(cache, dataset, PLAN)
        straight = made(cache)
    # Seven choices from a search and one method that weighs ties, for six nodes.
    assert len(straight) == 48
    with Interrupted(tmp_path / "stopped.sqlite", most) as cache, pytest.raises(StoppedError):
        table.fill_table(cache, dataset, PLAN)
    with Interrupted(tmp_path / "stopped.sqlite", 1000) as cache:
        table.fill_table(cache, dataset, PLAN)
        assert made(cache) == straight
        # Only subjects whose search was interrupted are searched again.
        assert 48 - most <= cache.put_here <= 48 - most + 6
        done = cache.put_here
        table.fill_table(cache, dataset, PLAN)
        assert cache.put_here == done


def test_asking_for_more_nodes_reuses_earlier_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "OPENERS", ONLY_RANDOM)
    dataset = open_dataset(tmp_path)
    with Interrupted(tmp_path / "results.sqlite", 1000) as cache:
        table.fill_table(cache, dataset, Plan(graphs=(NAME,), nodes=3))
        few = made(cache)
        table.fill_table(cache, dataset, PLAN)
        assert few.items() <= made(cache).items()
        assert cache.put_here == 48


def test_every_method_is_judged_on_the_same_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "OPENERS", ONLY_RANDOM)
    with ResultCache(tmp_path / "results.sqlite") as cache:
        table.fill_table(cache, open_dataset(tmp_path), PLAN)
        subjects = {
            method: [row.key.subject for row in cache.rows("table", method=method)]
            for method in (OURS, "Shapley", "MOEB", "RND")
        }
    assert len(subjects[OURS]) == 6
    assert all(column == subjects[OURS] for column in subjects.values())
