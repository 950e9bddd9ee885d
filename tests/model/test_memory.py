"""A question about a whole large graph gets the usual answer, and keeps no memory afterwards.

No question gets more memory than the limit, and one that wanted more keeps none of it.
"""

import gc
import shutil
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import psutil
import pytest
from numpy.typing import NDArray

from recourse_audit.errors import LimitError, ModelError
from recourse_audit.graph.graph import Floats, Graph
from recourse_audit.graph.readers import from_arrays
from recourse_audit.model import session
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.limits import MEGABYTE, MemoryLimit, peak_of
from recourse_audit.model.queries import Query, Union, pool_of, whole
from tests.audits import SAMPLES
from tests.model.small_graphs import open_model
from tests.onnx_models import Sheet, sprung_network, sum_network

limited = pytest.mark.skipif(sys.platform != "linux", reason="other systems keep no limit")


def random_graph(nodes: int, ties: int, features: int) -> Graph:
    random = np.random.default_rng(0)
    return from_arrays(
        random.normal(size=(nodes, features)), random.integers(0, nodes, size=(2, ties))
    )


def held() -> float:
    return float(psutil.Process().memory_info().rss) / MEGABYTE


def test_a_large_question_keeps_no_memory_once_it_is_answered() -> None:
    graph = random_graph(100_000, 400_000, 7)
    batcher = QueryBatcher(open_model(SAMPLES / "gcn.onnx"), pool_of(graph))
    union = whole(graph)
    assert len(union.nodes) + len(union.sources) > session.LARGE
    before = held()
    batcher.ask_raw(union, union.nodes)
    # In the session that stays open it was 278, in one of its own 87: what malloc has not returned.
    assert held() - before < 160


def test_questions_of_ever_different_sizes_hold_no_more_than_the_largest_needs() -> None:
    graph = random_graph(150_000, 300_000, 7)
    batcher = QueryBatcher(open_model(SAMPLES / "gcn.onnx"), pool_of(graph))
    random = np.random.default_rng(1)
    before = held()
    for size in random.integers(1_000, 40_000, 40).tolist():
        ends = random.integers(0, size, size=(2, 4 * size))
        union = Union(
            nodes=random.integers(0, graph.node_count, size),
            node_starts=np.array([0, size]),
            sources=ends[0],
            targets=ends[1],
            ties=np.zeros(4 * size, np.int64),
            arc_starts=np.array([0, 4 * size]),
        )
        batcher.ask_raw(union, np.arange(0, size, 50))
    # The largest of them takes about 60 by itself; 65 to 99 were seen.
    assert held() - before < 250


@pytest.mark.parametrize("form", ["edges", "target", "dense", "ends"])
def test_a_large_question_gets_the_answer_that_it_would_get_as_a_small_one(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = random_graph(40, 90, 5)
    batcher = QueryBatcher(open_model(sum_network(tmp_path / "m.onnx", form=form)), pool_of(graph))
    union, rows = whole(graph), np.arange(40)
    small = batcher.ask_raw(union, rows)
    monkeypatch.setattr(session, "LARGE", 0)
    assert np.array_equal(small, batcher.ask_raw(union, rows))


@pytest.mark.parametrize("gone", [True, False])
def test_a_model_that_was_exchanged_meanwhile_answers_no_large_question(
    gone: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = sum_network(tmp_path / "m.onnx")
    graph = random_graph(40, 90, 5)
    batcher = QueryBatcher(open_model(path), pool_of(graph))
    path.unlink()
    if not gone:
        shutil.copy(SAMPLES / "gcn.onnx", path)
    batcher.ask_raw(whole(graph), np.arange(40))
    monkeypatch.setattr(session, "LARGE", 0)
    with pytest.raises(ModelError, match=r"m\.onnx: has changed since it was opened; restore it"):
        batcher.ask_raw(whole(graph), np.arange(40))


def test_features_are_copied_unless_everybody_is_asked_about_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = random_graph(5_000, 3_000, 5)
    model = open_model(sum_network(tmp_path / "m.onnx"))
    batcher = QueryBatcher(model, pool_of(graph))
    answer, asked = model.ask, []

    def seen(query: Query) -> Floats:
        asked.append(query.features)
        return answer(query)

    monkeypatch.setattr(model, "ask", seen)
    union = whole(graph)
    batcher.ask_raw(union, np.arange(5_000))
    batcher.ask_raw(replace(union, nodes=union.nodes[::-1]), np.arange(5_000))
    everybody, reversed_ = asked
    assert everybody is batcher.features
    assert np.array_equal(reversed_, everybody[::-1])


def filled(megabytes: int) -> NDArray[np.uint8]:
    return np.ones(megabytes * MEGABYTE, np.uint8)


def what_calls_leave_behind_counts_until_it_is_freed(_folder: Path) -> None:
    gc.collect()  # what others left behind must not be freed meanwhile
    limit, kept = MemoryLimit(250), []
    kept.append(limit.hold(lambda: filled(100)))
    for _ in range(3):
        limit.hold(lambda: filled(140), keeps=False)
    kept.append(limit.hold(lambda: filled(100)))
    with pytest.raises(MemoryError):
        limit.hold(lambda: filled(100))
    kept.clear()
    limit.forget()
    assert len(limit.hold(lambda: filled(200))) == len(filled(200)), "and outside there is none"


def memory_that_others_hold_does_not_count(_folder: Path) -> None:
    others = filled(300)
    assert len(MemoryLimit(250).hold(lambda: filled(200))) < len(others)


def a_question_past_the_limit_keeps_nothing_and_the_next_one_is_answered(folder: Path) -> None:
    path = sprung_network(folder / "m.onnx", "growing", mark=77, people=40)
    graph = random_graph(80, 90, 7)
    graph.features[3, -1] = 77
    batcher = QueryBatcher(open_model(path, memory=400), pool_of(graph))
    sound = replace(whole(graph), nodes=np.zeros(80, np.int64))
    known = batcher.ask_raw(sound, np.arange(80))
    before = held()
    for _ in range(2):
        with pytest.raises(LimitError, match=r"80 nodes and 177 arcs than 400 MB \(model\.memory"):
            batcher.ask_raw(whole(graph), np.arange(80))
        assert held() - before < 100
        assert np.array_equal(batcher.ask_raw(sound, np.arange(80)), known)


def weights_past_the_limit_are_not_opened(folder: Path) -> None:
    sheet = Sheet()
    x = sheet.input("x", "float32", ["N", 5])
    sheet.input("edge_index", "int64", [2, "E"])
    weights = sheet.constant(np.zeros((5, 5 * MEGABYTE)), "float32")
    path = sheet.save(folder / "m.onnx", sheet.op("MatMul", x, weights))
    with pytest.raises(LimitError, match=r"m\.onnx: the model needs more memory to be opened than"):
        open_model(path, memory=64)


LIMITED = {
    check.__name__: check
    for check in (
        what_calls_leave_behind_counts_until_it_is_freed,
        memory_that_others_hold_does_not_count,
        a_question_past_the_limit_keeps_nothing_and_the_next_one_is_answered,
        weights_past_the_limit_are_not_opened,
    )
}


@limited
@pytest.mark.parametrize("name", LIMITED)
def test_in_a_process_of_its_own(name: str, tmp_path: Path) -> None:
    """What other tests took and freed there could be taken again without asking the kernel."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(LIMITED[name], tmp_path).result()


@limited
def test_the_peak_of_a_query_is_seen_though_its_memory_is_given_back() -> None:
    graph = random_graph(100_000, 400_000, 7)
    batcher = QueryBatcher(open_model(SAMPLES / "gcn.onnx"), pool_of(graph))
    union = whole(graph)
    before = peak_of(lambda: batcher.ask_raw(union.part(0, 0), union.nodes[:0]))
    # An index of 16 columns of 8 bytes, and messages of half that size, for 800,000 arcs.
    assert peak_of(lambda: batcher.ask_raw(union, union.nodes)) - before > 100 * MEGABYTE
    free = MemoryLimit(4096).free
    assert free is not None
    assert 0 < free <= 4096 * MEGABYTE
