"""A model that wants more memory than it may have is refused in one sentence by every command."""

import sys
from pathlib import Path

import pytest

from tests.audits import small_audit
from tests.command import command
from tests.onnx_models import hungry_network

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems keep no limit")


@pytest.mark.parametrize("how", ["asked", "loop"])
@pytest.mark.parametrize("name", ["inspect", "explain", "run"])
def test_a_model_past_its_memory_is_refused_in_one_sentence(
    name: str, how: str, tmp_path: Path
) -> None:
    settings = small_audit(tmp_path, old="[model]", new='[model]\nmemory = "300 MB"')
    path = hungry_network(tmp_path / "model.onnx", how=how)
    more = {"inspect": (), "explain": ("a",), "run": ("--out", tmp_path / "bundle")}
    done = command(name, settings, *more[name])
    assert done.code == 2
    *_, last = done.err.splitlines()
    assert last.startswith(f"error: {path}: the model needs more memory for a query of ")
    assert "than 300 MB (model.memory); if it is only large, allow more" in last
    assert not (tmp_path / "bundle").exists()


def test_a_model_without_settings_has_a_limit_as_well(tmp_path: Path) -> None:
    """Forty gigabytes are less than three quarters of few machines; this one is asked for more."""
    done = command("inspect", hungry_network(tmp_path / "model.onnx", how="asked", gigabytes=10**6))
    assert done.code == 2
    assert "MB (model.memory)" in done.err
