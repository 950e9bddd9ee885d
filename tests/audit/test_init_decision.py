"""`init` knows cut-offs, pipelines, recorded decisions and categories in columns of 0 and 1."""

import csv
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recourse_audit.audit.init import find_encodings
from recourse_audit.audit.questions import read_cut_off
from recourse_audit.errors import InputError
from recourse_audit.model.roles import OutputPort
from recourse_audit.settings import AttributeRule, load_settings
from tests.command import command, one_line
from tests.onnx_models import sum_network
from tests.onnx_outputs import layered_network

DEPLOYED = Path(__file__).parents[2] / "sample_models" / "lending_deployed"
PEOPLE = 24
HOUSING = ("rent", "own", "free")
JOBS = ("none", "some")


def write_tables(folder: Path, housing: str = "housing_{}", **more: list[Any]) -> list[str]:
    """Two numbers and two categories, one-hot; returns what to tell `init`."""
    random = np.random.default_rng(0)
    home, job = random.integers(0, 3, PEOPLE), random.integers(0, 2, PEOPLE)
    columns: dict[str, list[Any]] = {"id": [f"p{number}" for number in range(PEOPLE)]}
    columns["income"] = random.normal(size=PEOPLE).round(3).tolist()
    for place, label in enumerate(HOUSING):
        columns[housing.format(label)] = (home == place).astype(int).tolist()
    columns["has_car"] = random.integers(0, 2, PEOPLE).tolist()
    for place, label in enumerate(JOBS):
        columns[f"job={label}"] = (job == place).astype(int).tolist()
    columns |= more
    with (folder / "nodes.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    ties = "".join(f"p{n},p{(n * 5 + 1) % PEOPLE},work\n" for n in range(PEOPLE))
    (folder / "edges.csv").write_text(f"source,target,kind\n{ties}", encoding="utf-8")
    return ["--nodes", str(folder / "nodes.csv"), "--edges", str(folder / "edges.csv")]


def started(folder: Path, model: Path, *options: str | Path) -> tuple[dict[str, Any], str]:
    """What `init` wrote, and what it said."""
    out = folder / "audit.toml"
    finished = command("init", model, *options, "--out", out)
    assert finished.code == 0, finished.err
    return tomllib.loads(out.read_text(encoding="utf-8")), finished.err


@pytest.mark.parametrize("form", ["housing_{}", "housing={}", "housing.{}", "housing[{}]"])
def test_one_hot_columns_are_guessed_said_and_accepted(form: str, tmp_path: Path) -> None:
    model = sum_network(tmp_path / "model.onnx", features=7)
    written, said = started(tmp_path, model, *write_tables(tmp_path, form))
    assert written["graph"]["encodings"] == [
        {
            "name": "housing",
            "kind": "one_hot",
            "columns": [form.format(label) for label in HOUSING],
            "labels": list(HOUSING),
        },
        {
            "name": "job",
            "kind": "one_hot",
            "columns": ["job=none", "job=some"],
            "labels": ["none", "some"],
        },
    ]
    assert "are one category, 'housing'" in said.replace("\n", " ")
    settings = load_settings(tmp_path / "audit.toml")
    assert [one.name for one in settings.graph.encodings] == ["housing", "job"]
    explained = command("explain", tmp_path / "audit.toml", "p3", "--json")
    assert explained.code == 0, explained.err


def test_columns_that_do_not_sum_to_one_in_every_row_are_no_category(tmp_path: Path) -> None:
    options = write_tables(tmp_path)
    text = (tmp_path / "nodes.csv").read_text(encoding="utf-8").splitlines()
    first = text[1].split(",")
    first[2:5] = ["1", "1", "0"]
    text[1] = ",".join(first)
    (tmp_path / "nodes.csv").write_text("\n".join(text), encoding="utf-8")
    model = sum_network(tmp_path / "model.onnx", features=7)
    written, said = started(tmp_path, model, *options)
    assert [one["name"] for one in written["graph"]["encodings"]] == ["job"]
    assert "housing" not in said


def blocks(**columns: Sequence[float]) -> list[tuple[str, tuple[str, ...]]]:
    features = np.array(list(columns.values()), float).T
    return [(block.name, block.labels) for block in find_encodings(list(columns), features)]


def test_blocks_need_a_common_name_as_well_as_sums_of_one() -> None:
    assert blocks(rent=[1, 0, 0], own=[0, 1, 1]) == []
    assert blocks(home_rent=[1, 0, 0], home_own=[0, 1, 1]) == [("home", ("rent", "own"))]
    assert blocks(home_rent=[0.5, 0, 0], home_own=[0.5, 1, 1]) == []
    assert blocks(home_rent=[1, 1, 1], home_own=[0, 0, 0]) == [], "nobody differs"


def test_the_longest_name_that_gives_a_whole_category_is_taken() -> None:
    marital = {"marital_status_single": [1, 0, 0], "marital_status_married": [0, 1, 1]}
    assert blocks(**marital, marital_years=[3, 4, 5]) == [("marital_status", ("single", "married"))]


def test_a_category_is_not_called_as_a_column_is() -> None:
    found = blocks(home=[3, 4, 5], home_rent=[1, 0, 0], home_own=[0, 1, 1])
    assert found == [("home_category", ("rent", "own"))]


def test_a_protected_category_is_a_group_to_compare(tmp_path: Path) -> None:
    half = [1, 0] * (PEOPLE // 2)
    other = [1 - value for value in half]
    options = write_tables(tmp_path, gender_f=half, gender_m=other)
    model = sum_network(tmp_path / "model.onnx", features=9)
    written, _ = started(tmp_path, model, *options)
    assert written["groups"]["attributes"] == ["gender"]


def test_a_cut_off_is_written_for_probabilities(tmp_path: Path) -> None:
    model = sum_network(tmp_path / "model.onnx", features=7, head="sigmoid")
    written, _ = started(tmp_path, model, *write_tables(tmp_path), "--cut-off", "0.65")
    assert written["decision"]["cut_off"] == 0.65
    assert "output" not in written["model"]
    assert load_settings(tmp_path / "audit.toml").decision.cut_off == 0.65
    assert command("explain", tmp_path / "audit.toml", "p3", "--json").code == 0


def test_a_cut_off_outside_probabilities_means_a_score(tmp_path: Path) -> None:
    model = sum_network(tmp_path / "model.onnx", features=7, head="score")
    written, _ = started(tmp_path, model, *write_tables(tmp_path), "--cut-off", "620")
    assert written["decision"]["cut_off"] == 620
    assert written["decision"]["better"] == "higher"
    assert written["model"]["output"] == "score"
    assert load_settings(tmp_path / "audit.toml").decision.better == "higher"
    explained = command("explain", tmp_path / "audit.toml", "p3", "--json")
    assert explained.code == 0, explained.err
    assert explained.document["decision"]["cut_off"] == 620


@pytest.mark.parametrize("value", ["620", "0", "1", "-0.5", "nan", "inf"])
def test_a_cut_off_that_no_probability_can_have_is_refused(value: str, tmp_path: Path) -> None:
    model = sum_network(tmp_path / "model.onnx", features=7)
    options = write_tables(tmp_path)
    out = tmp_path / "audit.toml"
    finished = command("init", model, *options, "--cut-off", value, "--out", out)
    assert finished.code == 2
    assert "error: --cut-off: " in one_line(finished)
    assert not out.exists()


def test_recorded_decisions_name_the_classes_and_are_no_feature(tmp_path: Path) -> None:
    model = sum_network(tmp_path / "model.onnx", features=7, head="sigmoid")
    words = ["refused", "granted"] * (PEOPLE // 2)
    options = write_tables(tmp_path, outcome=words)
    written, _ = started(tmp_path, model, *options, "--recorded", "outcome")
    assert written["decision"]["classes"] == ["refused", "granted"]
    assert written["decision"]["favourable"] == ["granted"]
    assert written["decision"]["recorded"] == "outcome"
    inspected = command("inspect", tmp_path / "audit.toml", "--json")
    assert inspected.document["agreement"] is not None
    options = write_tables(tmp_path, paid=[0, 1] * (PEOPLE // 2))
    (tmp_path / "audit.toml").unlink()
    written, _ = started(tmp_path, model, *options, "--recorded", "paid")
    assert "paid" not in written["graph"]["features"]
    assert written["decision"]["classes"] == ["0", "1"]


def test_recorded_values_that_are_not_as_many_as_classes_are_marked(tmp_path: Path) -> None:
    model = sum_network(tmp_path / "model.onnx", features=7, head="sigmoid")
    options = write_tables(tmp_path, outcome=["a", "b", "c"] * (PEOPLE // 3))
    started(tmp_path, model, *options, "--recorded", "outcome")
    text = (tmp_path / "audit.toml").read_text(encoding="utf-8")
    assert "# CHECK: 'outcome' holds 3 different values (a, b, c), and the model has 2" in text


def test_a_recorded_column_that_is_not_there_is_named(tmp_path: Path) -> None:
    model = sum_network(tmp_path / "model.onnx", features=7)
    options = [*write_tables(tmp_path), "--recorded", "incom"]
    finished = command("init", model, *options, "--out", tmp_path / "audit.toml")
    assert finished.code == 2
    line = one_line(finished)
    assert "the nodes have no column 'incom' (from --recorded)" in line
    assert "'income'" in line


def deployed_options(folder: Path) -> list[str | Path]:
    return [
        *("--nodes", folder / "nodes.csv"),
        *("--edges", DEPLOYED / "edges.csv"),
        *("--preprocessing", DEPLOYED / "pipeline.onnx"),
        *("--recorded", "decision"),
    ]


def test_with_a_pipeline_features_are_not_listed(tmp_path: Path) -> None:
    with (DEPLOYED / "nodes.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    with (tmp_path / "nodes.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*rows[0], "debt_ratio"])
        writer.writeheader()
        for row in rows:
            ratio = float(row["debt"]) / float(row["income"])
            writer.writerow({**row, "debt_ratio": f"{ratio:.6f}"})
    written, _ = started(
        tmp_path, DEPLOYED / "model.onnx", *deployed_options(tmp_path), "--cut-off", "0.65"
    )
    assert written["model"]["preprocessing"].endswith("lending_deployed/pipeline.onnx")
    assert "features" not in written["graph"]
    assert "encodings" not in written["graph"]
    assert written["decision"] == {
        "classes": ["denied", "approved"],
        "favourable": ["approved"],
        "cut_off": 0.65,
        "recorded": "decision",
    }
    assert written["groups"]["attributes"] == ["gender", "age_band"]
    inspected = command("inspect", tmp_path / "audit.toml", "--json")
    assert inspected.code == 0, inspected.err
    assert inspected.document["preprocessing"]["features"] == 21


def test_a_column_that_a_pipeline_lacks_is_marked_with_what_to_write(tmp_path: Path) -> None:
    options = deployed_options(DEPLOYED)
    written, _ = started(tmp_path, DEPLOYED / "score.onnx", *options, "--cut-off", "620")
    assert written["model"]["output"] == "score"
    assert written["decision"]["classes"] == ["denied", "approved"]
    text = (tmp_path / "audit.toml").read_text(encoding="utf-8")
    assert "takes the column 'debt_ratio', which" in text
    assert "# [[graph.derived]]" in text


def test_outputs_among_which_one_must_be_chosen_are_named_in_the_file(tmp_path: Path) -> None:
    model = layered_network(tmp_path / "model.onnx", features=7)
    out = tmp_path / "audit.toml"
    finished = command("init", model, *write_tables(tmp_path), "--out", out)
    assert finished.code == 2
    assert f"error: wrote {out}, but nobody can be audited with it yet: {model}: " in finished.err
    text = (tmp_path / "audit.toml").read_text(encoding="utf-8")
    [line] = [line for line in text.splitlines() if "not beyond doubt" in line]
    assert line.startswith("# CHECK: ")
    assert 'output_name = "final"' in line


@pytest.mark.parametrize(
    ("values", "good"), [(["1", "0", ""], None), (["2", "1", ""], ["1"]), (["1", "3", ""], ["1"])]
)
def test_values_beside_empty_cells_are_written_as_settings_read_them(
    values: list[str], good: list[str] | None, tmp_path: Path
) -> None:
    model = sum_network(tmp_path / "model.onnx", features=7, head="sigmoid")
    options = write_tables(tmp_path, hired=values * (PEOPLE // 3))
    written, said = started(tmp_path, model, *options, "--outcome", "hired")
    assert written["decision"].get("good_outcome") == good
    assert "failed" not in said
    assert command("inspect", tmp_path / "audit.toml").code == 0
    (tmp_path / "audit.toml").unlink()
    written, _ = started(tmp_path, model, *options, "--recorded", "hired")
    assert {*written["decision"]["classes"]} == {*values} - {""}


def test_a_cut_off_for_probabilities_is_refused_where_the_only_column_is_one(
    tmp_path: Path,
) -> None:
    output = OutputPort(name="y", dtype="float32", shape=(), kind="probabilities", columns=1)
    with pytest.raises(InputError, match="lies between 0 and 1"):
        read_cut_off(output, "65")
    assert read_cut_off(replace(output, kind="logits"), "65") == 65
    assert read_cut_off(output, "None") is None


def test_a_record_that_speaks_against_the_guesses_points_to_the_features(tmp_path: Path) -> None:
    model = sum_network(tmp_path / "model.onnx", features=7, head="sigmoid")
    words = ["refused", "granted"] * (PEOPLE // 2)
    options = write_tables(tmp_path, outcome=words)
    _, said = started(tmp_path, model, *options, "--recorded", "outcome")
    assert "the model does not decide what column 'outcome' has on record" in said
    assert "check that graph.features names what the model takes, in its order" in said


def test_a_model_that_refuses_everybody_is_an_alarm(tmp_path: Path) -> None:
    model = sum_network(tmp_path / "model.onnx", features=7, trap="saturated")
    _, said = started(tmp_path, model, *write_tables(tmp_path))
    assert "! The model refuses everybody: check graph.features" in said


def test_standardised_columns_are_named_with_the_way_back_to_their_units(tmp_path: Path) -> None:
    values = np.random.default_rng(1).normal(800, 300, PEOPLE)
    z = ((values - values.mean()) / values.std()).round(9).tolist()
    model = sum_network(tmp_path / "model.onnx", features=8)
    _, said = started(tmp_path, model, *write_tables(tmp_path, z=z))
    words = " ".join(said.split())
    assert "z have mean 0 and standard deviation 1" in words
    rule = AttributeRule.model_validate(
        {"name": "z", "step": 1, "scale": values.std(), "shift": values.mean()}
    )
    assert "a person's value is the column's * S + M" in words
    assert np.allclose(np.array(z) * rule.scale + rule.shift, values)
