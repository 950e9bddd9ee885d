"""A name that is too long for the file system is one sentence, wherever it is given."""

from pathlib import Path

import pytest

from tests.audits import small_audit
from tests.command import command

LONG = "x" * 300
TABLES = ("--nodes", "nodes.csv", "--edges", "edges.csv")


@pytest.mark.parametrize(
    "words",
    [
        ("inspect", LONG),
        ("inspect", "model.onnx", "--graph", LONG),
        ("explain", LONG, "a"),
        ("run", "audit.toml", "--out", f"{LONG}/bundle", "--subjects", "all"),
        ("run", "audit.toml", "--out", "bundle", "--subjects", LONG),
        ("run", "audit.toml", "--out", "bundle", "--subjects", f"{LONG}=a"),
        ("report", LONG),
        ("report", "--eject", LONG),
        ("report", ".", "--templates", LONG),
        ("letters", LONG),
        ("groups", LONG),
        ("verify", LONG),
        ("init", "model.onnx", *TABLES, "--out", LONG),
        ("init", LONG, *TABLES, "--out", "new.toml"),
        ("demo", "--out", LONG),
    ],
)
def test_a_name_that_is_too_long_is_one_sentence(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_audit(tmp_path)
    monkeypatch.chdir(tmp_path)
    finished = command(*words)
    assert finished.code == 2, finished.err
    assert finished.err.splitlines()[-1].startswith("error: ")
    assert "x" * 50 in finished.err.splitlines()[-1]


@pytest.mark.parametrize("key", ["nodes", "edges"])
def test_a_long_name_in_the_settings_is_one_sentence(key: str, tmp_path: Path) -> None:
    path = small_audit(tmp_path, old=f'{key} = "{key}.csv"', new=f'{key} = "{LONG}"')
    finished = command("explain", path, "a")
    assert finished.code == 2
    assert f"there is no such file; correct the path in graph.{key}" in finished.err
