"""A pipeline is part of what an audit is of: hashed, shared with workers, named when it changes."""

import json
import shutil
from pathlib import Path

import pytest

from recourse_audit.audit.load import Selection
from recourse_audit.errors import InputError
from recourse_audit.execute.worker import Worker, prepare_job
from tests.bundles import contents, processes, request_for, run_here
from tests.command import command
from tests.onnx_pipelines import Draft, by_name
from tests.pipeline_audits import SETTINGS, pipeline_audit

QUICK = """
[search]
max_nodes = 3
[caveats]
draws = 0
[recourse]
max_changes = 1
draws = 0
"""
SAMPLE = Selection(subjects="all", sample=24)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An audit with a pipeline, and its bundle."""
    place = tmp_path_factory.mktemp("audit")
    settings = pipeline_audit(place, settings=SETTINGS + QUICK)
    run_here(request_for(settings, place / "bundle", SAMPLE))
    return place


def copied(folder: Path, to: Path) -> Path:
    """The same files elsewhere; the settings file among them."""
    for name in ("audit.toml", "nodes.csv", "edges.csv", "model.onnx", "pipeline.onnx"):
        shutil.copy(folder / name, to / name)
    return to / "audit.toml"


def other_pipeline(path: Path) -> None:
    """A pipeline that says the same, with another name in it."""
    by_name(path)
    path.write_bytes(path.read_bytes().replace(b"pipe", b"pope"))


def test_the_manifest_has_the_pipeline_and_its_digest(folder: Path) -> None:
    manifest = json.loads((folder / "bundle" / "manifest.json").read_text(encoding="utf-8"))
    found = manifest["inputs"]["preprocessing"]
    assert [*found["files"]] == ["pipeline.onnx"]
    assert found["sha256"] == found["files"]["pipeline.onnx"]
    settings = json.loads((folder / "bundle" / "settings.json").read_text(encoding="utf-8"))
    assert settings["model"]["preprocessing"] == "pipeline.onnx"


def test_worker_processes_give_the_bytes_of_this_one(folder: Path, tmp_path: Path) -> None:
    asked = request_for(folder / "audit.toml", tmp_path / "bundle", SAMPLE)
    run_here(asked, executor=processes(1))
    assert contents(tmp_path / "bundle") == contents(folder / "bundle")


def test_a_changed_pipeline_is_a_different_audit(folder: Path, tmp_path: Path) -> None:
    settings = copied(folder, tmp_path)
    other_pipeline(tmp_path / "pipeline.onnx")
    with pytest.raises(InputError, match="different audit: the pipeline of preprocessing changed"):
        run_here(request_for(settings, folder / "bundle", SAMPLE))


def test_a_replay_names_a_changed_pipeline_and_passes_with_the_right_one(
    folder: Path, tmp_path: Path
) -> None:
    settings = copied(folder, tmp_path)
    words = ("verify", folder / "bundle", "--replay", "3", "--settings", settings, "--json")
    assert command(*words).code == 0
    other_pipeline(tmp_path / "pipeline.onnx")
    done = command(*words)
    assert done.code == 5
    assert done.document["problems"] == [
        f"{settings}: the pipeline of preprocessing is not what was audited"
    ]


def test_a_worker_refuses_a_pipeline_that_has_changed(folder: Path, tmp_path: Path) -> None:
    asked = request_for(copied(folder, tmp_path), tmp_path / "bundle", SAMPLE)
    audit = asked.audit
    job = prepare_job(tmp_path, audit, audit.graph.features[:, :3])
    Worker(job)
    other_pipeline(tmp_path / "pipeline.onnx")
    with pytest.raises(InputError, match=r"pipeline.onnx: has changed since the audit began"):
        Worker(job)


def test_an_unfit_pipeline_is_exit_code_2_and_writes_nothing(tmp_path: Path) -> None:
    settings = pipeline_audit(tmp_path, settings=SETTINGS + QUICK)
    out = tmp_path / "bundle"
    draft = Draft()
    draft.output("variable", draft.op("Cast", draft.input("shoe", "int64", 1), to=1), 1)
    for write, words in (
        (lambda path: by_name(path, "mean"), "NOT ROW BY ROW"),
        (lambda path: by_name(path, "random"), "RANDOM"),
        (lambda path: by_name(path, "rows"), "has shape [59, 6] for 60 rows"),
        (draft.save, "takes the column 'shoe', which"),
    ):
        write(tmp_path / "pipeline.onnx")
        for done in (
            command("run", settings, "--out", out),
            command("explain", settings, "P0", "--json"),
        ):
            assert done.code == 2
            assert words in done.err
            assert str(tmp_path / "pipeline.onnx") in done.err
            assert not done.out
            assert not out.exists()


def test_inspect_shows_the_pipeline_and_ends_with_2_where_it_cannot_be_used(
    tmp_path: Path,
) -> None:
    settings = pipeline_audit(tmp_path)
    done = command("inspect", settings, columns=120)
    assert done.code == 0
    assert "Preprocessing: pipeline.onnx" in done.out
    assert "6 features" in done.out
    by_name(tmp_path / "pipeline.onnx", "mean")
    done = command("inspect", settings, "--json")
    assert done.code == 2
    assert done.document["preprocessing"]["probes"]["row_by_row"] is False
    assert "NOT ROW BY ROW" in done.err
