"""The committed exports of several kinds of nodes answer as torch did when they were made."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

FOLDER = Path(__file__).parents[1] / "files" / "kinds"
FILES: dict[str, dict[str, Any]] = json.loads((FOLDER / "files.json").read_text("utf-8"))


def largest_difference(name: str, graph: str) -> float:
    session = onnxruntime.InferenceSession(FOLDER / f"{name}.onnx")
    arrays = np.load(FOLDER / f"{name}.npz")
    feed = {port.name: arrays[f"{graph}/in/{port.name}"] for port in session.get_inputs()}
    outputs = [port.name for port in session.get_outputs()]
    answers = session.run(outputs, feed)
    wanted = [arrays[f"{graph}/out/{output}"] for output in outputs]
    assert [answer.shape for answer in answers] == [answer.shape for answer in wanted]
    return max(float(np.abs(a - b).max()) for a, b in zip(answers, wanted, strict=True))


@pytest.mark.parametrize("graph", ["small", "large"])
@pytest.mark.parametrize("name", sorted(FILES.keys() - {"traced_wrong"}))
def test_a_file_answers_as_torch_did(name: str, graph: str) -> None:
    assert largest_difference(name, graph) < 1e-5


def answers_to_repeated_recommendations(name: str) -> tuple[Any, Any]:
    session = onnxruntime.InferenceSession(FOLDER / f"{name}.onnx")
    arrays = np.load(FOLDER / f"{name}.npz")
    feed = {port.name: arrays[f"large/in/{port.name}"] for port in session.get_inputs()}
    once = session.run(None, feed)[0]
    feed["edge_index_recommends"] = np.repeat(feed["edge_index_recommends"], 2, axis=1)
    return once, session.run(None, feed)[0]


def test_attention_traced_without_recommendations_never_normalises_them() -> None:
    assert largest_difference("traced_wrong", "large") > 1
    once, twice = answers_to_repeated_recommendations("gat")
    assert np.abs(once - twice).max() < 1e-5
    once, twice = answers_to_repeated_recommendations("traced_wrong")
    assert np.abs(once - twice).max() > 1


@pytest.mark.parametrize("name", sorted(FILES))
def test_every_input_has_a_role_and_every_output_a_kind(name: str) -> None:
    session = onnxruntime.InferenceSession(FOLDER / f"{name}.onnx")
    assert FILES[name]["roles"].keys() == {port.name for port in session.get_inputs()}
    assert FILES[name]["outputs"].keys() == {port.name for port in session.get_outputs()}
