"""A graph that workers share is the graph that was read, and a large one is held once."""

import mmap
import shutil
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from recourse_audit.execute import worker
from recourse_audit.execute.worker import let_go, open_shared_graph, share_graph
from recourse_audit.graph.arrays import from_arrays
from recourse_audit.graph.graph import Graph

PEOPLE = 3000


def made() -> Graph:
    random = np.random.default_rng(0)
    return from_arrays(
        random.normal(size=(PEOPLE, 4)),
        random.integers(0, PEOPLE, (2, 20_000)),
        ids=[f"person {number} ä" for number in range(PEOPLE)],
        attributes={"town": ["", "Łódź", "a name of more than fifteen bytes"] * (PEOPLE // 3)},
        weight=random.random(20_000),
    )


def arrays_of(graph: Graph) -> dict[str, NDArray[np.generic]]:
    found = {one.name: getattr(graph, one.name) for one in fields(Graph)}
    found |= {f"ties.{one.name}": getattr(graph.ties, one.name) for one in fields(graph.ties)}
    found |= graph.attributes
    return {name: value for name, value in found.items() if isinstance(value, np.ndarray)}


def alike(one: Graph, other: Graph) -> bool:
    first, second = arrays_of(one), arrays_of(other)
    return first.keys() == second.keys() and all(
        value.dtype == second[name].dtype and np.array_equal(value, second[name])
        for name, value in first.items()
    )


def is_mapped(values: NDArray[np.generic]) -> bool:
    base: object = values
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, mmap.mmap)


@pytest.mark.parametrize("at_once", [1, 1000, 2**16])
def test_workers_get_the_graph_that_was_read(
    at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "TEXTS_AT_ONCE", at_once)
    graph = made()
    shared = share_graph(tmp_path, graph)
    assert alike(open_shared_graph(tmp_path, shared), graph)


def test_a_large_graph_is_held_by_its_files_even_after_they_are_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "HELD_ONCE", 0)
    graph, expected = made(), made()
    folder = tmp_path / "work"
    folder.mkdir()
    share_graph(folder, graph)
    let_go(folder, graph)
    shutil.rmtree(folder)
    assert alike(graph, expected)
    assert is_mapped(graph.neighbour)
    assert is_mapped(graph.ties.source)


def test_a_small_graph_stays_in_memory(tmp_path: Path) -> None:
    graph = made()
    share_graph(tmp_path, graph)
    let_go(tmp_path, graph)
    assert not is_mapped(graph.neighbour)
