"""Every script of the gallery, and the notebook, runs from its first line to its last."""

import json
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
SCRIPTS = sorted(EXAMPLES.glob("plot_*.py"))
NOTEBOOK = ROOT / "docs" / "tutorials" / "notebook.ipynb"
# It shows files of the tests, which are not installed.
IN_REPOSITORY = {"plot_export_traps"}
BANNED = re.compile(r"\b(fair|unbiased|compliant|because of|proves|guarantees?)\b", re.IGNORECASE)


def cells(kind: str) -> list[str]:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == kind]


def test_every_example_asks_a_question_and_promises_nothing() -> None:
    assert 8 <= len(SCRIPTS) <= 10
    for path in SCRIPTS:
        text = path.read_text(encoding="utf-8")
        title = text.splitlines()[1]
        assert title.endswith("?"), path
        assert BANNED.findall(text) == [], path
    assert BANNED.findall("\n".join(cells("markdown"))) == []


def test_the_notebook_is_kept_without_output() -> None:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(code) > 5
    assert [cell["source"] for cell in code if cell["outputs"] or cell["execution_count"]] == []


@pytest.mark.long
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_the_example_runs_and_draws(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.chdir(EXAMPLES if path.stem in IN_REPOSITORY else tmp_path)
    from matplotlib import pyplot

    pictures: list[int] = []
    monkeypatch.setattr(pyplot, "show", lambda: pictures.extend(pyplot.get_fignums()))
    try:
        runpy.run_path(str(path), run_name="__main__")
    finally:
        pyplot.close("all")
    assert pictures


@pytest.mark.long
def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = compile("\n".join(cells("code")), NOTEBOOK.name, "exec")
    names: dict[str, object] = {}
    exec(code, names)
    assert "bundle" in names
