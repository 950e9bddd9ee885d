"""The sample of a bank's deployment is what its card says, checked without torch."""

import csv
import hashlib
import re
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

from recourse_audit.settings import DecisionSettings
from tests.command import command

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "sample_models" / "lending_deployed"
CARD = (SAMPLE / "README.md").read_text(encoding="utf-8")
CUT_OFF, SCORE_CUT_OFF = 0.65, 620


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


PEOPLE = rows_of(SAMPLE / "nodes.csv")


def session(name: str) -> Any:
    return onnxruntime.InferenceSession(SAMPLE / name, providers=["CPUExecutionProvider"])


def features(people: list[dict[str, str]]) -> NDArray[np.float32]:
    """Raw columns pushed through the pipeline by hand."""
    pipeline = session("pipeline.onnx")
    feeds: dict[str, Any] = {}
    for port in pipeline.get_inputs():
        if port.type == "tensor(string)":
            feeds[port.name] = np.array([[row[port.name]] for row in people], dtype=object)
        elif port.name == "debt_ratio":
            ratios = [[float(row["debt"]) / float(row["income"])] for row in people]
            feeds[port.name] = np.array(ratios, np.float32)
        else:
            feeds[port.name] = np.array([[float(row[port.name])] for row in people], np.float32)
    (answer,) = pipeline.run(None, feeds)
    return np.asarray(answer)


NUMBER = {row["id"]: place for place, row in enumerate(PEOPLE)}
TIES = rows_of(SAMPLE / "edges.csv")


def answers(
    model: str, people: list[dict[str, str]] = PEOPLE, ties: list[dict[str, str]] = TIES
) -> NDArray[np.float32]:
    """Everybody's answer, by a pipeline and a model that are asked by hand."""
    ends = np.array([[NUMBER[t["source"]], NUMBER[t["target"]]] for t in ties], np.int64)
    arcs = np.ascontiguousarray(np.concatenate([ends, ends[:, ::-1]]).T)
    (answer,) = session(model).run(None, {"x": features(people), "edge_index": arcs})
    assert answer.shape == (len(people), 1)
    return np.asarray(answer[:, 0])


def after(actions: list[dict[str, Any]], subject: str, model: str) -> float:
    """The subject's answer once everything that an option says has been done, in raw columns."""
    people, ties = [dict(row) for row in PEOPLE], list(TIES)
    for action in actions:
        if action["do"] == "set":
            row = people[NUMBER[subject]]
            before = row[action["attribute"]]
            kept = action["from"]
            assert before == kept if isinstance(kept, str) else float(before) == kept
            row[action["attribute"]] = str(action["to"])
        else:
            assert action["do"] == "drop"
            ends = set(action["tie"])
            [gone] = [
                tie
                for tie in ties
                if {tie["source"], tie["target"]} == ends and tie["kind"] == action["kind"]
            ]
            ties.remove(gone)
    return float(answers(model, people, ties)[NUMBER[subject]])


def on_card(pattern: str) -> tuple[str, ...]:
    found = re.search(pattern, CARD)
    assert found is not None, pattern
    return found.groups()


def test_the_card_names_the_bytes_of_every_file_and_all_are_small() -> None:
    for name in ("nodes.csv", "edges.csv", "pipeline.onnx", "model.onnx", "score.onnx"):
        content = (SAMPLE / name).read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        assert f"- `{name}`, {len(content):,} bytes, sha256 `{digest}`" in CARD
    assert sum(path.stat().st_size for path in SAMPLE.iterdir()) < 1_500_000


def test_the_pipeline_works_row_by_row() -> None:
    everybody = features(PEOPLE)
    assert everybody.shape == (900, 21)
    assert np.isfinite(everybody).all()
    for place in (0, 1, 450, 899):
        assert np.array_equal(features([PEOPLE[place]])[0], everybody[place])
    backwards = features(PEOPLE[::-1])
    assert np.array_equal(backwards[::-1], everybody)


def test_categories_become_one_hot_columns() -> None:
    categories = features(PEOPLE)[:, 6:]
    for start, width in ((0, 3), (3, 4), (7, 4), (11, 4)):
        block = categories[:, start : start + width]
        assert set(np.unique(block)) == {0.0, 1.0}
        assert (block.sum(axis=1) == 1).all()


def test_recorded_decisions_differ_exactly_where_the_card_says() -> None:
    approved = answers("model.onnx") >= CUT_OFF
    recorded = np.array([row["decision"] == "approved" for row in PEOPLE])
    assert {row["decision"] for row in PEOPLE} == {"approved", "denied"}
    different = {PEOPLE[place]["id"] for place in np.flatnonzero(approved != recorded)}
    planted: dict[str, list[str]] = {}
    for kind, names in re.findall(r"^\| ([a-z -]+) \| ((?:A\d{4}(?:, )?)+) \|", CARD, re.MULTILINE):
        planted[kind] = names.split(", ")
    assert {kind: len(names) for kind, names in planted.items()} == {
        "old cut-off": 5,
        "overruled": 4,
        "exception": 3,
    }
    assert different == {name for names in planted.values() for name in names}
    assert on_card(r"decision of (\d+) of the 900 people") == (str(len(different)),)
    denied = {row["id"] for row in PEOPLE if row["decision"] == "denied"}
    assert denied.isdisjoint(planted["old cut-off"] + planted["exception"])
    assert denied.issuperset(planted["overruled"])


def test_the_models_decide_as_the_card_says() -> None:
    chance, score = answers("model.onnx"), answers("score.onnx")
    assert ((chance > 0) & (chance < 1)).all()
    assert on_card(r"`model.onnx` \| 0.65 \| (\d+) \|") == (str((chance < CUT_OFF).sum()),)
    assert on_card(r"`score.onnx` \| 620 \| (\d+) \|") == (str((score < SCORE_CUT_OFF).sum()),)
    ends = on_card(r"Scores range from (\d+) to (\d+)")
    assert ends == (f"{score.min():.0f}", f"{score.max():.0f}")


@pytest.mark.skipif(
    "cut_off" not in DecisionSettings.model_fields, reason="settings have no cut-off yet"
)
@pytest.mark.parametrize(
    ("settings", "model", "line"),
    [("audit.toml", "model.onnx", CUT_OFF), ("score.toml", "score.onnx", SCORE_CUT_OFF)],
)
def test_every_option_reaches_the_line_when_raw_rows_go_through_both_files(
    settings: str, model: str, line: float
) -> None:
    answer = answers(model)
    refused = [
        row["id"]
        for place, row in enumerate(PEOPLE)
        if answer[place] < line and row["decision"] == "denied"
    ]
    jobless = [name for name in refused if PEOPLE[NUMBER[name]]["job"] == "none"]
    subjects = [*refused[:4], *jobless[:2]]
    finished = command("explain", SAMPLE / settings, *subjects, "--json")
    assert finished.code == 0, finished.err
    changed: set[str] = set()
    for document in finished.document:
        name = document["subject"]["id"]
        assert document["subject"]["favourable"] is False
        assert document["subject"]["decision"] == "denied"
        for option in document["recourse"]["options"]:
            assert option["verified"]
            assert after(option["actions"], name, model) >= line
            row = dict(PEOPLE[NUMBER[name]])
            sets = [action for action in option["actions"] if action["do"] == "set"]
            row |= {action["attribute"]: str(action["to"]) for action in sets}
            changed |= {action["attribute"] for action in sets}
            assert row["job"] != "none" or float(row["income"]) <= 1500
    assert changed & {"housing", "job"}, "some option is about a category"
    assert changed & {"savings", "loan_amount", "debt", "income"}, "and some about a number"


def test_nobody_without_a_job_earns_more_than_the_condition_says() -> None:
    without = [float(row["income"]) for row in PEOPLE if row["job"] == "none"]
    assert without
    assert max(without) <= 1500
    assert "debt_ratio" not in PEOPLE[0]


def test_the_tables_are_written_again_byte_for_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (made_with,) = on_card(r"numpy ([\d.]+)")
    if np.__version__ != made_with:
        pytest.skip(f"the tables were drawn with numpy {made_with}; another may draw differently")
    scripts = ROOT / "sample_models"
    monkeypatch.syspath_prepend(str(scripts))
    monkeypatch.setattr(sys, "argv", ["make_deployed.py", "--into", str(tmp_path)])
    runpy.run_path(str(scripts / "make_deployed.py"), run_name="__main__")
    made = tmp_path / "lending_deployed"
    assert (made / "edges.csv").read_bytes() == (SAMPLE / "edges.csv").read_bytes()
    kept = [{key: row[key] for key in row if key != "decision"} for row in PEOPLE]
    assert rows_of(made / "nodes.csv") == kept
