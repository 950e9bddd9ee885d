import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.version import Version

import recourse_audit

WORK = """
from pathlib import Path
from recourse_audit.model.session import OnnxModel
from recourse_audit.settings import ModelSettings
OnnxModel(ModelSettings(path=Path({path!r})))
"""
SAMPLE = Path(recourse_audit.__file__).parents[1] / "sample_models" / "lending" / "gcn.onnx"


def left_behind(script: str, folder: Path) -> list[str]:
    """The files that a fresh process leaves in its home and temporary folder."""
    # Nothing else of our environment: onnxruntime keeps still by itself where tests are run.
    variables = {"HOME": str(folder), "TMPDIR": str(folder), "PATH": os.environ["PATH"]}
    root = str(Path(recourse_audit.__file__).parents[1])
    subprocess.run([sys.executable, "-c", script], env=variables | {"PYTHONPATH": root}, check=True)
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_onnxruntime_names_the_machine_to_nobody(tmp_path: Path) -> None:
    assert left_behind(WORK.format(path=str(SAMPLE)), tmp_path) == []


@pytest.mark.skipif(
    sys.platform != "linux" or Version(version("onnxruntime")) < Version("1.29"),
    reason="other builds do not, or elsewhere",
)
def test_it_would_if_it_were_not_told_to_be_silent(tmp_path: Path) -> None:
    assert ".ses" in left_behind("import onnxruntime", tmp_path)
