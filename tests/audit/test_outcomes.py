"""Outcomes are read as they are written: good, bad or not known, and never guessed."""

import csv
import sqlite3
import tomllib
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recourse_audit.audit.load import Selection, load_audit
from recourse_audit.audit.population import read_outcomes
from recourse_audit.errors import GraphError, SettingsError
from recourse_audit.graph.arrays import from_arrays
from recourse_audit.graph.graph import Graph
from recourse_audit.settings import Settings, parse_settings
from tests.audits import small_audit
from tests.bundles import request_for, run_here
from tests.command import command, one_line

DEPLOYED = Path(__file__).parents[2] / "sample_models" / "lending_deployed"
NAMED = {"good_outcome": ["repaid"]}


def settings_of(decision: dict[str, Any] | None = None, **tables: Any) -> Settings:
    given = {
        "model": {"path": "model.onnx"},
        "graph": {"npz": "graph.npz"},
        "decision": {"classes": ["no", "yes"], "favourable": ["yes"], "outcome": "repaid"}
        | (decision or {}),
    }
    return parse_settings({**given, **tables}, folder=Path(), origin="a test")


def people(values: Any) -> Graph:
    no_ties = np.empty((2, 0), np.int64)
    attributes = {"repaid": np.array(values), "gender": np.array(["f"] * len(values))}
    return from_arrays(np.zeros((len(values), 1)), no_ties, attributes=attributes)


def read(values: Any, **decision: Any) -> list[int]:
    found = read_outcomes(settings_of(decision), people(values))
    assert found is not None
    return [int(one) for one in found]


@pytest.mark.parametrize(
    "values",
    [
        ["yes", "no", "", "YES "],
        ["True", "false", " ", "true"],
        ["1", "0", "", "1"],
        [1.0, 0.0, np.nan, 1.0],
    ],
)
def test_yes_true_and_1_are_good_and_what_is_empty_is_not_known(values: Any) -> None:
    assert read(values) == [1, 0, -1, 1]


def test_whole_numbers_and_booleans_are_read_too() -> None:
    assert read([1, 0, 1]) == [1, 0, 1]
    assert read([True, False, True]) == [1, 0, 1]


def test_values_with_other_names_are_good_as_the_settings_say() -> None:
    assert read(["repaid", "defaulted", ""], **NAMED) == [1, 0, -1]
    found = read(["repaid", "late", "running", "lost"], **NAMED, bad_outcome=["late", "lost"])
    assert found == [1, 0, -1, 0]
    assert read([1, 2, 2], good_outcome=["1"]) == [1, 0, 0]


@pytest.mark.parametrize(
    ("values", "decision", "words"),
    [
        (["yes", "perhaps"], {}, r"the outcome of 1 is 'perhaps' .*decision.good_outcome"),
        ([0.0, 0.37], {}, r"the outcome of 1 is '0.37' \(column 'repaid'\), which is neither"),
        ([1, 2], {}, r"the outcome of 1 is '2'"),
        (["", ""], {}, r"decision.outcome: column 'repaid' has nobody's outcome"),
        ([np.nan, np.nan], {}, r"has nobody's outcome"),
        (["yes"], {"outcome": "repayd"}, r"no column 'repayd'; did you mean 'repaid'\?"),
        (["paid", "lost"], NAMED, r"nobody's 'repaid' is 'repaid'; did you mean 'paid'\?"),
        (["repaid", "late", "lost"], NAMED, r"leaves 2 values .*'late', 'lost'.*bad_outcome"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_to_do(
    values: Any, decision: dict[str, Any], words: str
) -> None:
    with pytest.raises((GraphError, SettingsError), match=words):
        read_outcomes(settings_of(decision), people(values))


@pytest.mark.parametrize(
    ("decision", "words"),
    [
        ({"outcome": None, "good_outcome": ["x"]}, "set outcome as well"),
        ({"bad_outcome": ["x"]}, "bad_outcome needs good_outcome"),
        ({"good_outcome": ["x"], "bad_outcome": ["x"]}, "both name 'x'"),
        ({"recorded": "repaid"}, "outcome and recorded both name 'repaid'"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(
    decision: dict[str, Any], words: str
) -> None:
    with pytest.raises(SettingsError, match=words):
        settings_of({key: value for key, value in decision.items() if value is not None} | (
            {"outcome": None} if "outcome" in decision else {}
        ))  # fmt: skip


def test_an_outcome_that_the_model_sees_or_that_makes_groups_is_refused(tmp_path: Path) -> None:
    for old, new, words in (
        ('favourable = ["yes"]', 'favourable = ["yes"]\noutcome = "f1"', "features depend on it"),
        (
            'favourable = ["yes"]',
            'favourable = ["yes"]\noutcome = "gender"\ngood_outcome = ["m"]',
            "it is in groups.attributes",
        ),
    ):
        path = small_audit(tmp_path, old=old, new=new)
        with pytest.raises(SettingsError, match=f"came true after the decision, but .*{words}"):
            load_audit(path)


def test_a_raw_column_of_the_pipeline_is_no_outcome(tmp_path: Path) -> None:
    text = (DEPLOYED / "audit.toml").read_text(encoding="utf-8")
    name = tomllib.loads(text)["recourse"]["attributes"][0]["name"]
    changed = text.replace("[decision]", f'[decision]\noutcome = "{name}"')
    changed = changed.replace('"pipeline.onnx"', f'"{DEPLOYED / "pipeline.onnx"}"')
    for file in ("model.onnx", "nodes.csv", "edges.csv"):
        changed = changed.replace(f'"{file}"', f'"{DEPLOYED / file}"')
    changed = "\n".join(
        line for line in changed.splitlines() if not line.startswith('outcome = "repaid"')
    )
    (tmp_path / "audit.toml").write_text(changed, encoding="utf-8")
    with pytest.raises(SettingsError, match="features depend on it"):
        load_audit(tmp_path / "audit.toml")


def test_the_store_has_outcomes_and_scores_of_everybody(tmp_path: Path) -> None:
    values = [*["yes", "no"] * 4, "", "yes"]
    path = small_audit(tmp_path, old='["yes"]', new='["yes"]\noutcome = "repaid"')
    with (tmp_path / "nodes.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    with (tmp_path / "nodes.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(
            [*row, value] for row, value in zip(rows, ["repaid", *values], strict=True)
        )
    run_here(request_for(path, tmp_path / "out", Selection(subjects="all")))
    with closing(sqlite3.connect(tmp_path / "out" / "store.sqlite")) as store:
        outcomes, scores = zip(
            *store.execute("SELECT outcome, score FROM people ORDER BY number"), strict=True
        )
        chances = store.execute(
            "SELECT probability FROM probabilities WHERE class = 'yes' ORDER BY subject"
        ).fetchall()
    assert list(outcomes) == [1, 0] * 4 + [None, 1]
    assert scores == pytest.approx([chance for (chance,) in chances], abs=1e-5)


def test_init_leaves_the_outcome_out_of_the_features(tmp_path: Path) -> None:
    small_audit(tmp_path)
    text = (tmp_path / "nodes.csv").read_text(encoding="utf-8").replace("f4", "repaid", 1)
    (tmp_path / "nodes.csv").write_text(text, encoding="utf-8")
    tables = ("--nodes", tmp_path / "nodes.csv", "--edges", tmp_path / "edges.csv")
    out = tmp_path / "first.toml"
    asked: tuple[str | Path, ...] = ("init", tmp_path / "model.onnx", *tables, "--out", out)
    finished = command(*asked, "--outcome", "repayd")
    assert finished.code == 2
    assert "(from --outcome); did you mean 'repaid'?" in one_line(finished)
    assert command(*asked, "--outcome", "repaid").code == 0
    written = tomllib.loads(out.read_text(encoding="utf-8"))
    assert written["decision"]["outcome"] == "repaid"
    assert "repaid" not in written["graph"]["features"]
    assert command(*asked, "--outcome", "gender", "--force").code == 0
    written = tomllib.loads(out.read_text(encoding="utf-8"))
    assert written["decision"]["good_outcome"] == ["m"]  # f reads as false
    assert "gender" not in written["groups"]["attributes"]
