"""Every sample model, through the command line, says what its card says."""

import hashlib
import re
from pathlib import Path

import numpy as np
import pytest

from recourse_audit.audit.large_graphs import whole_answers
from recourse_audit.audit.load import load_audit
from tests.audits import SAMPLES, lending_audit
from tests.command import command

MODELS = ("gcn", "gat", "sage", "gin", "dense", "fixed", "outside_normalised", "sigmoid")
PREPARED = {"outside_normalised": 'self_loops = "add"\nnormalisation = "symmetric"'}


def card_of(model: str) -> str:
    return (SAMPLES / "cards" / f"{model}.md").read_text(encoding="utf-8")


def test_every_sample_model_has_a_card() -> None:
    assert {path.stem for path in SAMPLES.glob("*.onnx")} == set(MODELS)
    assert {path.stem for path in (SAMPLES / "cards").glob("*.md")} == set(MODELS)


# Whether a sender's own number of ties weighs its message; unknown for exports of fixed shape. The
# one that is normalised outside weighs nothing itself.
SENDER_DEGREE = {
    **dict.fromkeys(("gcn", "sigmoid"), True),
    **dict.fromkeys(("gat", "sage", "gin", "outside_normalised"), False),
}


@pytest.mark.parametrize("model", MODELS)
def test_decisions_agree_with_the_card(model: str, tmp_path: Path) -> None:
    settings = lending_audit(tmp_path, model, more=PREPARED.get(model, ""), max_nodes=2)
    audit = load_audit(settings)
    everyone = np.arange(audit.graph.node_count)
    denied = whole_answers(audit, everyone).argmax(axis=1) == 0
    found = re.search(r"It denies ([\d.]+) % of the people", card_of(model))
    assert found is not None
    assert f"{100 * denied.mean():.1f}" == found[1]

    some = everyone[:6]
    finished = command("explain", settings, *audit.graph.ids[some].tolist(), "--json")
    assert finished.code == 0, finished.err
    decisions = [document["subject"]["decision"] for document in finished.document]
    assert [decision == "denied" for decision in decisions] == denied[some].tolist()


def test_a_model_whose_normalisation_was_not_declared_decides_otherwise(tmp_path: Path) -> None:
    declared, silent = tmp_path / "declared", tmp_path / "silent"
    declared.mkdir()
    silent.mkdir()
    model = "outside_normalised"
    with_it = command("explain", lending_audit(declared, model, more=PREPARED[model]), "P0004")
    without = command("explain", lending_audit(silent, model), "P0004")
    assert with_it.out != without.out


@pytest.mark.parametrize("model", MODELS)
def test_inspect_gives_the_documented_names(model: str) -> None:
    document = command("inspect", SAMPLES / f"{model}.onnx", "--json").document
    for port in document["inputs"]:
        assert {"name", "dtype", "shape", "role"} <= set(port)
        assert port["role"] is not None
    assert {"name", "kind", "classes"} <= set(document["output"])
    probes = document["probes"]
    names = ["deterministic", "node_order", "tie_order", "ties_matter", "packing", "depth"]
    assert list(probes) == [*names, "sender_degree", "notes"]
    assert all(probes[name] is True for name in names[:-1])
    assert probes["depth"] == 2
    assert probes["sender_degree"] is SENDER_DEGREE.get(model)
    assert document["output"]["classes"] == 2
    assert document["output"]["kind"] == ("probabilities" if model == "sigmoid" else "logits")


def test_the_card_names_the_bytes_of_the_model() -> None:
    for model in MODELS:
        digest = hashlib.sha256((SAMPLES / f"{model}.onnx").read_bytes()).hexdigest()
        assert digest in card_of(model)
