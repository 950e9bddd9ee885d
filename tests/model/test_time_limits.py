"""Every call of the runtime can be ended: by its time limit, whatever the model does."""

import subprocess
import sys
import threading
from concurrent.futures import Future, wait
from pathlib import Path

import numpy as np
import pytest

from recourse_audit.errors import ModelError
from recourse_audit.graph.graph import Floats
from recourse_audit.model import limits
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.limits import OutOfTimeError, call_within
from recourse_audit.model.session import OnnxModel
from recourse_audit.settings import ModelSettings
from tests.model.small_graphs import all_rows, open_model, random_pool, random_union
from tests.onnx_models import endless_network, slow_network, sum_network

SHORT = 0.2


def ask(path: Path, *, timeout: float) -> Floats:
    random = np.random.default_rng(0)
    pool = random_pool(random)
    union = random_union(random, pool, 2)
    return QueryBatcher(open_model(path, timeout=timeout), pool).ask_raw(union, all_rows(union))


def test_an_endless_loop_ends_when_its_time_is_up(tmp_path: Path) -> None:
    path = endless_network(tmp_path / "model.onnx")
    with pytest.raises(ModelError) as caught:
        ask(path, timeout=SHORT)
    message = str(caught.value)
    assert message.startswith(f"{path}: the model did not answer a query of ")
    assert "within 0.2 seconds" in message
    assert "allow more with model.timeout or --timeout" in message
    assert len(ask(endless_network(path, turns=2), timeout=60))


def test_a_call_that_does_not_listen_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SECONDS_TO_STOP", 0.1)
    release = threading.Event()
    idle = len(limits._idle)
    with pytest.raises(OutOfTimeError):
        call_within(SHORT, release.wait, lambda: None)
    assert len(limits._idle) <= idle, "its thread is not used again"
    assert call_within(60, lambda: 7, lambda: None) == 7
    release.set()


@pytest.mark.parametrize("folded", [False, True])
def test_one_operator_that_takes_minutes_does_not_hold_anybody_up(
    folded: bool, tmp_path: Path
) -> None:
    """In a process of its own, because the operator goes on until that ends."""
    path = slow_network(tmp_path / "model.onnx", folded=folded)
    words = ("inspect", str(path), "--timeout", "0.5")
    ended = subprocess.run(
        [sys.executable, "-m", "recourse_audit", *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 2
    what = "open" if folded else "answer"
    assert f"error: {path}: the model did not {what}" in ended.stderr


def test_what_a_call_returns_or_raises_comes_back() -> None:
    assert call_within(60, lambda: "answer", lambda: None) == "answer"
    with pytest.raises(ZeroDivisionError):
        call_within(60, lambda: 1 / 0, lambda: None)
    assert call_within(60, threading.current_thread, lambda: None) is not threading.current_thread()


def test_an_interrupted_wait_stops_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = threading.Event()
    waits = iter([KeyboardInterrupt])

    def interrupted(futures: tuple[Future[bool]], seconds: float) -> None:
        for error in waits:
            raise error
        wait(futures, seconds)

    monkeypatch.setattr(limits, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        call_within(60, stopped.wait, stopped.set)
    assert stopped.is_set()


def test_a_model_in_a_worker_answers_the_same_bits(tmp_path: Path) -> None:
    settings = ModelSettings(path=sum_network(tmp_path / "model.onnx"))
    random = np.random.default_rng(0)
    pool = random_pool(random)
    union = random_union(random, pool, 20)
    here, there = (
        QueryBatcher(OnnxModel(settings, in_worker=in_worker), pool).ask_raw(union, all_rows(union))
        for in_worker in (False, True)
    )
    np.testing.assert_array_equal(here, there)
