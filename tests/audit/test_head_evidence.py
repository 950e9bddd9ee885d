"""A bundle has both files of a model with a head, and is another audit if the head is another."""

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest

from recourse_audit import Audit
from recourse_audit.audit.large_graphs import whole_answers
from recourse_audit.audit.load import Selection, load_audit
from recourse_audit.bundle.manifest import digest
from recourse_audit.errors import AuditError, InputError, ModelError
from recourse_audit.execute.worker import Worker, prepare_job
from tests.bundles import contents, processes, request_for, run_here
from tests.command import command
from tests.head_audits import (
    COLUMNS,
    FILES,
    head_audit,
)

QUICK = ("[recourse]\n", "[caveats]\ndraws = 0\n[recourse]\ndraws = 0\n")
SAMPLE = Selection(subjects="all", sample=12)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An audit with a head, and its bundle."""
    place = tmp_path_factory.mktemp("audit")
    run_here(request_for(head_audit(place, QUICK), place / "bundle", SAMPLE))
    return place


def test_the_manifest_has_both_files_and_one_digest_of_both(folder: Path) -> None:
    manifest = json.loads((folder / "bundle" / "manifest.json").read_text(encoding="utf-8"))
    model = manifest["inputs"]["model"]
    assert model["files"] == {n: digest(folder / n) for n in ("gnn.onnx", "head.onnx")}
    both = b"".join(bytes.fromhex(value) for value in model["files"].values())
    assert model["sha256"] == hashlib.sha256(both).hexdigest()
    settings = json.loads((folder / "bundle" / "settings.json").read_text(encoding="utf-8"))
    assert settings["model"]["head"] == "head.onnx"
    assert settings["model"]["head_columns"] == [*COLUMNS]


def test_a_head_elsewhere_is_named_by_its_path_from_the_model(tmp_path: Path) -> None:
    inside = tmp_path / "gbm"
    inside.mkdir()
    path = head_audit(tmp_path, ('"head.onnx"', '"gbm/gnn.onnx"'), head="none")
    shutil.copy(FILES / "head.onnx", inside / "gnn.onnx")
    assert [*load_audit(path).model.digests] == ["gnn.onnx", "gbm/gnn.onnx"]


def test_worker_processes_give_the_bytes_of_this_one(folder: Path, tmp_path: Path) -> None:
    asked = request_for(folder / "audit.toml", tmp_path / "bundle", SAMPLE)
    run_here(asked, executor=processes(1))
    assert contents(tmp_path / "bundle") == contents(folder / "bundle")


def test_a_changed_head_is_a_different_audit_and_is_named(folder: Path, tmp_path: Path) -> None:
    settings = head_audit(tmp_path, QUICK)
    words = ("verify", folder / "bundle", "--replay", "3", "--settings", settings, "--json")
    assert command(*words).code == 0
    head = onnx.load(tmp_path / "head.onnx")
    head.graph.name = "another"
    onnx.save(head, tmp_path / "head.onnx")
    [problem] = command(*words).document["problems"]
    assert problem.endswith("the head of the model is not what was audited")
    with pytest.raises(InputError, match="different audit: the head of the model"):
        run_here(request_for(settings, folder / "bundle", SAMPLE))


def test_a_head_that_changes_after_it_was_opened_is_not_opened_again(tmp_path: Path) -> None:
    opened = load_audit(head_audit(tmp_path, QUICK))
    shutil.copy(FILES / "score.onnx", tmp_path / "head.onnx")
    assert opened.model.head is not None
    with pytest.raises(ModelError, match=r"head.onnx: has changed since it was opened; restore"):
        opened.model.head._open()
    (tmp_path / "work").mkdir()
    job = prepare_job(
        tmp_path / "work", opened, whole_answers(opened, np.arange(opened.graph.node_count))
    )
    with pytest.raises(AuditError, match=r"head.onnx: has changed since the audit began"):
        Worker(job)


def test_a_perturbed_copy_of_the_network_goes_through_the_same_head(tmp_path: Path) -> None:
    opened = Audit.from_toml(head_audit(tmp_path, QUICK))
    shutil.copy(tmp_path / "gnn.onnx", tmp_path / "copy.onnx")
    report = opened.stability(["P003"], perturbed_models=[tmp_path / "copy.onnx"], options=False)
    assert report.rows
    assert not any(row.changed for row in report.rows)
