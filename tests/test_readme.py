"""Every command that the README shows works, one after the other, on fewer people than there."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.audits import SAMPLES, quick_audit
from tests.command import command

README = Path(__file__).parents[1] / "README.md"
LINE = re.compile(r"^recourse-audit (.+?)(?:\s+#.*)?$", re.MULTILINE)


def shown() -> list[list[str]]:
    return [shlex.split(line) for line in LINE.findall(README.read_text(encoding="utf-8"))]


def test_the_readme_shows_every_command() -> None:
    names = {words[0] for words in shown()}
    assert {"inspect", "init", "explain", "run", "groups", "report", "letters", "verify"} <= names


def test_the_commands_of_the_readme_work_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    shutil.copy(SAMPLES / "gcn.onnx", tmp_path / "model.onnx")
    for words in shown():
        if words[0] == "init":
            for name in ("nodes.csv", "edges.csv"):
                shutil.copy(SAMPLES / name, tmp_path / name)
        if words[0] == "demo":
            continue  # tests/cli/test_demo.py runs it
        more = ("--sample", "4", "--links", "2") if words[0] == "stability" else ()
        finished = command(*("3" if word == "20" else word for word in words), *more)
        assert finished.code == 0, (words, finished.err)
        if words[0] == "init":
            quick_audit(tmp_path)


def test_the_readme_says_how_to_install_it_for_a_model_of_ones_own() -> None:
    text = README.read_text(encoding="utf-8")
    assert "\npip install ." in text
    assert "explain audit.toml -- -5" in text


def test_every_module_that_the_documentation_names_exists() -> None:
    package = README.parent / "recourse_audit"
    pages = [*README.parent.glob("*.md"), *(README.parent / "docs").glob("*.md")]
    named = {
        path
        for page in pages
        for path in re.findall(
            r"`(?:recourse_audit/)?([a-z_]+/[a-z_/]+\.py)`", page.read_text("utf-8")
        )
    }
    ours = {path for path in named if (package / path.split("/")[0]).is_dir()}
    assert len(ours) > 30
    assert [path for path in sorted(ours) if not (package / path).is_file()] == []
