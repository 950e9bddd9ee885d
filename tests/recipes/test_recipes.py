"""The export recipes: each runs where torch is, and what their traps wrote is seen through here."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from recourse_audit.audit.inspect import inspect_model
from tests.command import command

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "recipes"
FILES = ROOT / "tests" / "files" / "recipes"
RECIPES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "check")
MISSING = [
    name
    for name in ("torch", "torch_geometric", "onnxscript", "skl2onnx")
    if importlib.util.find_spec(name) is None
]


@pytest.mark.skipif(bool(MISSING), reason=f"make recipes runs them; here is no {MISSING}")
@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_exports_compares_and_shows_its_traps(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, FOLDER / f"{name}.py", tmp_path],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("trap: ") >= 1
    assert "compared on" in done.stdout
    assert "Model checks: 5 of 5 passed" in done.stdout


@pytest.mark.parametrize(
    ("name", "failed"),
    [
        ("trap_opset_11", ("ties_matter",)),
        ("trap_index_add", ("tie_order",)),
        ("trap_training", ("deterministic",)),
    ],
)
def test_inspect_names_what_is_wrong_with_an_export(name: str, failed: tuple[str, ...]) -> None:
    inspection = inspect_model(FILES / f"{name}.onnx", None)
    assert inspection.probes is not None
    assert inspection.probes.failed == failed


def test_inspect_refuses_an_export_with_its_ties_baked_in() -> None:
    done = command("inspect", FILES / "trap_cached.onnx")
    assert done.code == 2
    assert "no input takes the ties" in done.err


def test_an_export_through_index_add_drops_all_but_the_last_of_several_messages() -> None:
    session = onnxruntime.InferenceSession(FILES / "trap_index_add.onnx")
    x = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)

    def ask(*arcs: tuple[int, int]) -> np.ndarray:
        edge_index = np.array(arcs, np.int64).T
        return np.asarray(session.run(None, {"x": x, "edge_index": edge_index})[0])

    assert not np.allclose(ask((0, 2), (1, 2)), ask((1, 2), (0, 2)), atol=1e-3)


def test_weights_of_dgl_as_recorded_give_its_answers_by_its_formula() -> None:
    recorded = dict(np.load(FOLDER / "recorded" / "dgl.npz"))
    x, (source, target) = recorded["large/x"], recorded["large/edge_index"]
    ties = np.zeros((len(x), len(x)))
    np.add.at(ties, (target, source), 1)
    received, sent = (np.maximum(ties.sum(axis=side), 1)[:, None] for side in (1, 0))
    hidden = x @ recorded["first.fc_self.weight"].T + recorded["first.fc_self.bias"]
    hidden = hidden + (ties @ x / received) @ recorded["first.fc_neigh.weight"].T
    hidden = np.maximum(hidden, 0) @ recorded["second.weight"]
    answers = (ties @ (hidden / np.sqrt(sent))) / np.sqrt(received) + recorded["second.bias"]
    np.testing.assert_allclose(answers, recorded["large/answers"], atol=1e-5)


def test_the_page_on_exports_links_every_recipe_and_no_recipe_is_long() -> None:
    [page] = ROOT.glob("docs/howto/export.md")
    text = page.read_text(encoding="utf-8")
    assert [name for name in RECIPES if f"recipes/{name}.py" not in text] == []
    lengths = {name: len((FOLDER / f"{name}.py").read_text().splitlines()) for name in RECIPES}
    assert {name: length for name, length in lengths.items() if length >= 120} == {}
