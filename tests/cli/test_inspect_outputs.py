"""`inspect` lists every output; commands stop where the decision could be in several."""

import json
from pathlib import Path

import pytest

from recourse_audit.records.codec import INSPECTION
from tests.audits import SAMPLES, small_audit
from tests.command import command, one_line
from tests.onnx_outputs import Head, layered_network

HEADS = [
    Head(name="early", of="conv1", how="linear", columns=3),
    Head(name="final", of="conv2", how="linear", columns=3),
]


def layered_audit(folder: Path, more: str = "") -> Path:
    """An audit with three classes of a model that returns its hidden layers first."""
    settings = small_audit(folder, old='path = "model.onnx"', new=f'path = "model.onnx"\n{more}')
    layers, shown = (("conv1", 8), ("conv2", 8)), ["early", "conv2", "final"]
    layered_network(folder / "model.onnx", layers=layers, heads=HEADS, order=shown)
    return settings


def test_inspect_lists_every_output_and_takes_the_one_that_is_beyond_doubt(tmp_path: Path) -> None:
    settings = layered_audit(tmp_path)
    document = command("inspect", settings, "--json").document
    assert document["output"]["name"] == "final"
    listed = {output["name"]: output for output in document["outputs"]}
    assert {name: (one["rows"], one["columns"], one["hops"]) for name, one in listed.items()} == {
        "early": ("node", 3, 1),
        "conv2": ("node", 8, 2),
        "final": ("node", 3, 2),
    }
    assert {name: bool(one["taken"]) for name, one in listed.items()} == {
        "early": False,
        "conv2": False,
        "final": True,
    }
    assert INSPECTION.read(json.dumps(document)).to_dict() == document
    shown = command("inspect", settings, "--full", columns=160)
    assert shown.code == 0
    for words in ("early", "conv2", "→ final", "per node", "taken: nodes 2 hops away can"):
        assert words in shown.out


def test_what_is_audited_is_the_output_that_inspect_takes(tmp_path: Path) -> None:
    found = command("explain", layered_audit(tmp_path), "a", "--json").document
    for name in ("final", "early"):
        folder = tmp_path / name
        folder.mkdir()
        settings = layered_audit(folder, f'output_name = "{name}"')
        named = command("explain", settings, "a", "--json").document
        same = named["subject"]["probabilities"] == found["subject"]["probabilities"]
        assert same == (name == "final")


@pytest.mark.parametrize("words", [("explain", "a"), ("run", "--out", "bundle")])
def test_an_audit_stops_where_the_decision_could_be_in_several_outputs(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = layered_audit(tmp_path)
    layered_network(tmp_path / "model.onnx", layers=(("conv1", 3), ("conv2", 3)), heads=HEADS[1:])
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    finished = command(words[0], settings, *words[1:])
    assert finished.code == 2
    assert 'output_name = "conv2" or output_name = "final"' in one_line(finished)
    assert sorted(tmp_path.iterdir()) == before


def test_inspect_shows_the_choices_where_none_is_beyond_doubt(tmp_path: Path) -> None:
    path = layered_network(tmp_path / "model.onnx")
    finished = command("inspect", path, "--json")
    assert finished.code == 2
    assert finished.document["output"] is None
    assert finished.document["probes"] is None
    assert [one["hops"] for one in finished.document["outputs"]] == [1, 2, 3, 3]
    assert 'write into [model]: output_name = "conv1"' in finished.document["problem"]
    assert finished.document["problem"] in finished.err


@pytest.mark.parametrize(
    ("name", "size", "axes"),
    [
        (
            "fixed.onnx",
            "exactly 8,422 arcs and 1,800 nodes. Every query",
            'dynamic_axes={"x": {0: "nodes"}, "edge_index": {1: "ties"}})',
        ),
        ("gcn.onnx", "", ""),
    ],
)
def test_inspect_says_what_a_fixed_size_costs_and_how_to_export_without_one(
    name: str, size: str, axes: str
) -> None:
    advice = command("inspect", SAMPLES / name).err
    assert ("takes several times as long" in advice) == bool(size)
    assert ("torch.onnx.export(" in advice) == bool(size)
    assert size in advice
    assert axes in advice


def test_a_pipeline_is_not_taken_for_a_model_of_a_graph() -> None:
    finished = command("inspect", SAMPLES.parent / "lending_deployed" / "pipeline.onnx")
    assert finished.code == 2
    assert "it looks like a pipeline" in one_line(finished)
    assert "model.preprocessing, or to init with --preprocessing" in one_line(finished)
