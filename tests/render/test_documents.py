"""The names that other programs rely on, whatever was found."""

import json
from pathlib import Path

import pytest

from recourse_audit.records.codec import INSPECTION, SUBJECT
from tests.audits import IDS, SAMPLES, lending_audit, small_audit
from tests.command import command

NAMES = {
    *("format", "subject", "search", "explanation", "counterfactuals", "front", "caveats"),
    *("probes", "front_size", "baselines", "recourse", "objective_grid", "ego_network"),
    *("what_if", "queries", "repeats", "note", "error", "decision", "carriers", "own_data"),
    *("reasons", "comparators"),
}
WHOLE_GRAPH = {"favourable", "probabilities", "score", "effect", "decision", "flips"}
EXPLANATION = {"nodes", "edges", "simulatability", "probabilities", "score"}


def test_explain_gives_the_documented_names(tmp_path: Path) -> None:
    document = command("explain", lending_audit(tmp_path), "P0004", "--json").document
    assert set(document) == NAMES | {"study_cases"}  # the sample asks for them
    assert document["format"] == SUBJECT.format
    assert set(document["subject"]) == {"id", "decision", "favourable", "probabilities"}
    assert set(document["subject"]["probabilities"]) == {"denied", "approved"}
    assert set(document["search"]) == {
        *("max_nodes", "max_hops", "subgraphs", "pairs", "coverage", "queries", "sample")
    }
    assert document["search"]["coverage"] == "exhaustive"
    assert set(document["explanation"]) == EXPLANATION
    for found in document["counterfactuals"]:
        assert {
            *("explanation", "removed", "kept", "simulatability", "relevance"),
            *("signed_relevance", "ranks", "layer", "dominates", "probabilities"),
        } <= set(found)
        assert set(found["explanation"]) == EXPLANATION
        assert set(found["ranks"]) == {"simulatability", "relevance", "sum"}
        assert set(found["whole_graph"]) == WHOLE_GRAPH
    carriers = document["carriers"]
    assert set(carriers) == {
        *(
            "front",
            "smallest_flip",
            "own",
            "own_ties",
            "ties_in_reach",
            "max_ties",
            "coverage",
            "tried",
        )
    }
    for one in (*carriers["front"], carriers["smallest_flip"]):
        assert set(one) == WHOLE_GRAPH | {"removed", "size"}
    for one in carriers["tried"]:
        assert set(one) == {"size", "tried", "of", "own_tried", "own_of"}
    for pair in document["front"]:
        assert set(pair) == {"edges", "removed", "simulatability", "relevance"}
    grid = document["objective_grid"]
    assert set(grid) == {"simulatability", "relevance", "columns", "rows", "counts"}
    assert sum(count for _, count in grid["counts"]) == document["search"]["pairs"]
    assert max(cell for cell, _ in grid["counts"]) < grid["columns"] * grid["rows"]
    assert grid["simulatability"][1] == document["front"][0]["simulatability"]
    around = document["ego_network"]
    assert set(around) == {"nodes", "ties", "shown", "total", "hops", "limit"}
    assert set(around["nodes"][0]) == {"id", "hops", "decision", "favourable"}
    assert set(around["ties"][0]) == {"ends", "kind", "count"}
    for caveat in document["caveats"]:
        assert set(caveat) == {
            *("kind", "grade", "counterfactual", "about", "text", "variables", "effect")
        }
    own_data = document["own_data"]
    assert set(own_data) == {
        *("alone", "columns", "columns_reason", "distance", "pairs", "reason", "ties")
    }
    assert set(own_data["alone"]) == {"decision", "favourable", "probabilities", "value"}
    assert document["what_if"] is None
    assert document["note"] == document["error"] == ""
    assert document["queries"] >= document["search"]["queries"]


POLICY = """
[recourse]
options = 10
[[recourse.ties]]
kind = "guarantor"
allow = ["drop", "add"]
[[recourse.ties]]
kind = "*"
allow = ["drop"]
[[recourse.attributes]]
name = "savings"
step = 4000
unit = "euros"
direction = "up"
implies = [{ name = "debt_ratio", by = -0.05 }]
"""


def test_recourse_has_the_documented_names(tmp_path: Path) -> None:
    settings = lending_audit(tmp_path)
    text = settings.read_text(encoding="utf-8").split("[recourse]")[0]
    settings.write_text(text + POLICY, encoding="utf-8")
    documents = command("explain", settings, "P0001", "P0008", "P0029", "--json").document
    favourable, *refused = (document["recourse"] for document in documents)
    assert favourable["status"] == "already_favourable"
    assert favourable["options"] == favourable["droppable"] == []
    assert all(set(tie) == {"tie", "kind"} for found in refused for tie in found["droppable"])
    assert any(found["droppable"] for found in refused)
    kinds = set()
    for found in (favourable, *refused):
        assert {"status", "options", "certificate", "margin", "evaluations", "error"} <= set(found)
        assert {
            *("max_changes", "tried", "exhaustive", "possible", "complete_up_to", "permitted"),
            *("denied", "reason", "left_out", "unasked"),
        } == set(found["certificate"])
    for found in refused:
        assert found["status"] == "verified"
        assert found["margin"] < 0
        assert [o["cost"] for o in found["options"]] == sorted(o["cost"] for o in found["options"])
        for option in found["options"]:
            assert {"actions", "cost", "decision", "probabilities", "verified"} <= set(option)
            assert option["verified"] is True
            assert option["decision"] == "approved"
            assert set(option["probabilities"]) == {"denied", "approved"}
            for action in option["actions"]:
                kinds.add(action["do"])
                assert set(action) == (
                    {"do", "attribute", "from", "to", "unit", "implied", "cost"}
                    if action["do"] == "set"
                    else {"do", "tie", "kind", "cost"}
                )
    assert kinds == {"drop", "add", "set"}


def test_an_option_says_on_what_it_was_verified(tmp_path: Path) -> None:
    found = command("explain", lending_audit(tmp_path), "P0029", "--json").document["recourse"]
    assert {"verified_on", "robustness", "side_effects"} <= set(found["options"][0])
    assert found["options"][0]["verified_on"] == "whole graph"
    assert found["evaluated_on"] in ("neighbourhood", "whole graph")


def test_inspect_gives_the_documented_names() -> None:
    document = command("inspect", SAMPLES / "gcn.onnx", "--json").document
    assert set(document) == {
        *("format", "sha256", "inputs", "output", "outputs", "probes", "problem"),
        *("decision", "agreement", "preprocessing"),
    }
    assert document["format"] == 6
    for port in document["inputs"]:
        assert set(port) == {"name", "dtype", "shape", "role", "why", "sure"}
    assert set(document["output"]) == {"name", "dtype", "shape", "kind", "classes", "why"}
    [listed] = document["outputs"]
    assert set(listed) == {*("name", "dtype", "shape", "rows", "columns", "looks", "hops", "taken")}
    assert (listed["rows"], listed["columns"]) == ("node", 2)
    assert set(document["probes"]) == {
        *("deterministic", "node_order", "tie_order", "ties_matter", "packing", "depth", "notes"),
        "sender_degree",
    }
    assert INSPECTION.read(json.dumps(document)).to_dict() == document


def test_the_winner_comes_first_and_its_ties_are_removed_or_kept(tmp_path: Path) -> None:
    document = command("explain", lending_audit(tmp_path), "P0004", "--json").document
    winner, *others = document["counterfactuals"]
    assert winner["explanation"] == document["explanation"]
    assert winner["layer"] == 1
    assert all(winner["ranks"]["sum"] <= other["ranks"]["sum"] for other in others)
    for found in (winner, *others):
        edges = found["explanation"]["edges"]
        assert sorted(found["removed"] + found["kept"]) == sorted(edges)
        assert found["removed"]
        assert found["relevance"] == abs(found["signed_relevance"])
        assert "P0004" in found["explanation"]["nodes"]
        assert len(found["explanation"]["nodes"]) == len(edges) + 1


def test_a_search_over_budget_says_how_much_of_how_many_it_drew(tmp_path: Path) -> None:
    settings = lending_audit(tmp_path)
    text = settings.read_text(encoding="utf-8").replace("budget = 200000", "budget = 400")
    settings.write_text(text, encoding="utf-8")
    search = command("explain", settings, "P0004", "--json").document["search"]
    assert search["coverage"] == "sampled"
    assert set(search["sample"]) == {"drawn", "of", "of_is_estimate", "bound", "confidence"}
    assert search["sample"]["drawn"] < search["sample"]["of"] == search["subgraphs"]


def test_one_id_gives_an_object_and_several_a_list_in_the_order_given(tmp_path: Path) -> None:
    settings = small_audit(tmp_path)
    assert command("explain", settings, "a", "--json").document["subject"]["id"] == "a"
    documents = command("explain", settings, "c", "a", "c", "--json").document
    assert [document["subject"]["id"] for document in documents] == ["c", "a", "c"]


@pytest.mark.parametrize(
    ("trap", "subject", "extra"),
    [(None, "lonely", "note"), ("ties", "a", "note"), ("some_nan", "", "error")],
)
def test_the_names_are_there_when_nothing_was_found(
    trap: str | None, subject: str, extra: str, tmp_path: Path
) -> None:
    settings = small_audit(tmp_path, trap)
    ids = [subject] * 2 if subject else IDS
    documents = command("explain", settings, *ids, "--json").document
    document = next(document for document in documents if document[extra])
    assert set(document) == NAMES
    assert document["explanation"] is None
    assert document["counterfactuals"] == document["front"] == document["caveats"] == []
    assert document["objective_grid"] is None


def test_a_failed_probe_is_in_every_subjects_document_and_on_stderr(tmp_path: Path) -> None:
    finished = command("explain", small_audit(tmp_path, "tie_order"), "a", "--json")
    document = finished.document
    assert document["probes"]["tie_order"] is False
    assert document["probes"]["notes"]["tie_order"] == {}
    assert "Answers depend on the order in which ties are listed" in finished.err


def test_ids_stay_what_they_are_whatever_the_stream_can_hold(tmp_path: Path) -> None:
    settings = small_audit(tmp_path)
    for encoding in ("utf-8", "ascii"):
        finished = command("explain", settings, *IDS, "--json", encoding=encoding)
        assert [document["subject"]["id"] for document in finished.document] == IDS
