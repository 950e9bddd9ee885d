"""What `init` writes, `inspect` and `explain` take as it is; every guess in it is marked."""

import tomllib
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.audits import SAMPLES
from tests.command import Finished, command, one_line
from tests.onnx_models import sum_network

PEOPLE = 30
FORMS = ("edges", "rows", "ends", "weight", "attributes", "type", "dense", "target", "batched")


def columns_of_people() -> dict[str, Any]:
    random = np.random.default_rng(0)
    return {
        "score": random.permutation(PEOPLE).astype(float),
        "customer_id": [f"c{number}" for number in range(PEOPLE)],
        **{f"f{number}": random.normal(size=PEOPLE) for number in range(4)},
        "original_sum": ["x"] * PEOPLE,
        "sex": ["f", "m"] * (PEOPLE // 2),
        "AgeBand": ["young", "old"] * (PEOPLE // 2),
    }


def columns_of_ties() -> dict[str, Any]:
    random = np.random.default_rng(1)
    number = np.arange(PEOPLE)
    return {
        "src": [f"c{k}" for k in number],
        "dst": [f"c{(k * 7 + 1) % PEOPLE}" for k in number],
        "type": random.choice(["debt", "family", "work"], PEOPLE),
        "amount": random.random(PEOPLE),
        "years": random.random(PEOPLE),
    }


def write_graph(folder: Path) -> dict[str, list[str]]:
    """The same graph in three formats: what to tell `init` for each."""
    people, ties = pa.table(columns_of_people()), pa.table(columns_of_ties())
    pq.write_table(people, folder / "people.parquet")
    pq.write_table(ties, folder / "ties.parquet")
    for name, table in (("people", people), ("ties", ties)):
        lines = [",".join(table.column_names)]
        lines += [",".join(map(str, row.values())) for row in table.to_pylist()]
        (folder / f"{name}.csv").write_text("\n".join(lines), encoding="utf-8")
    number = np.arange(PEOPLE)
    columns = columns_of_people()
    np.savez(
        folder / "graph.npz",
        x=np.stack([columns["score"], *(columns[f"f{k}"] for k in range(4))], axis=1),
        edge_index=np.stack([number, (number * 7 + 1) % PEOPLE]),
        edge_type=columns_of_ties()["type"],
        edge_attr=np.random.default_rng(2).random((PEOPLE, 2)),
        ids=np.array(columns["customer_id"]),
        sex=np.array(columns["sex"]),
    )
    return {
        "csv": ["--nodes", str(folder / "people.csv"), "--edges", str(folder / "ties.csv")],
        "parquet": [
            *("--nodes", str(folder / "people.parquet")),
            *("--edges", str(folder / "ties.parquet")),
        ],
        "npz": ["--npz", str(folder / "graph.npz")],
    }


def made(folder: Path, model: Path, options: list[str]) -> tuple[Path, Finished]:
    out = folder / "settings" / "audit.toml"
    out.parent.mkdir()
    return out, command("init", model, *options, "--out", out)


@pytest.mark.parametrize("kind", ["csv", "parquet", "npz"])
@pytest.mark.parametrize("form", FORMS)
def test_what_init_writes_is_accepted_right_away(form: str, kind: str, tmp_path: Path) -> None:
    options = write_graph(tmp_path)[kind]
    out, finished = made(tmp_path, sum_network(tmp_path / "model.onnx", form=form), options)
    assert finished.code == 0, finished.err
    assert f"Wrote {out}." in finished.err
    assert command("inspect", out).code == 0
    explained = command("explain", out, "c3", "--json")
    assert explained.code == 0, explained.err
    assert explained.document["counterfactuals"]


def test_columns_are_guessed_by_name_and_content(tmp_path: Path) -> None:
    options = write_graph(tmp_path)["csv"]
    out, _ = made(tmp_path, sum_network(tmp_path / "model.onnx", form="attributes"), options)
    table = tomllib.loads(out.read_text(encoding="utf-8"))
    graph = table["graph"]
    assert graph["nodes"] == "../people.csv"
    assert graph["id"] == "customer_id", "not the score, though no two people have the same"
    assert (graph["source"], graph["target"], graph["kind"]) == ("src", "dst", "type")
    assert graph["features"] == ["score", "f0", "f1", "f2", "f3"]
    assert graph["edge_attributes"] == ["amount", "years"]
    assert table["groups"]["attributes"] == ["sex", "AgeBand"], "but not the original sum"
    assert len(table["decision"]["classes"]) == 3


def test_init_on_the_lending_sample_finds_the_settings_it_was_made_with(tmp_path: Path) -> None:
    tables = ["--nodes", str(SAMPLES / "nodes.csv"), "--edges", str(SAMPLES / "edges.csv")]
    out, said = made(tmp_path, SAMPLES / "gcn.onnx", tables)
    assert said.err.strip().endswith(f"then run: recourse-audit explain {out} P0002"), "is refused"
    written = tomllib.loads(out.read_text(encoding="utf-8"))
    sample = tomllib.loads((SAMPLES / "audit.toml").read_text(encoding="utf-8"))
    assert written["graph"]["features"] == sample["graph"]["features"]
    assert "budget" not in written["recourse"], "the default decides more people"
    assert "budget" not in sample["recourse"]
    assert set(written["groups"]["attributes"]) == set(sample["groups"]["attributes"])


def test_a_model_that_takes_weights_gets_a_mark_about_preparation(tmp_path: Path) -> None:
    options = write_graph(tmp_path)["npz"]
    out, _ = made(tmp_path, sum_network(tmp_path / "model.onnx", form="weight"), options)
    text = out.read_text(encoding="utf-8")
    assert "# CHECK: is anything prepared outside the model?" in text
    assert '# normalisation = "symmetric"' in text


def test_protected_numbers_are_features_only_if_the_model_takes_that_many(tmp_path: Path) -> None:
    people = columns_of_people() | {"age": np.arange(PEOPLE) + 20}
    options = write_graph(tmp_path)["parquet"]
    pq.write_table(pa.table(people), tmp_path / "people.parquet")
    out, _ = made(tmp_path, sum_network(tmp_path / "model.onnx", features=6), options)
    text = out.read_text(encoding="utf-8")
    assert "protected attributes included" in text.replace("\n#", "")
    assert "age" in tomllib.loads(text)["graph"]["features"]


def test_tables_with_a_mistake_still_give_a_file_that_says_what_to_mend(tmp_path: Path) -> None:
    options = write_graph(tmp_path)["csv"]
    with (tmp_path / "ties.csv").open("a", encoding="utf-8") as file:
        file.write("\nc1,nobody,debt,1,1\n")
    out, finished = made(tmp_path, sum_network(tmp_path / "model.onnx"), options)
    assert finished.code == 0
    assert "# CHECK: " in out.read_text(encoding="utf-8")
    assert "'nobody'" in out.read_text(encoding="utf-8")


def test_a_file_that_is_there_is_kept_unless_forced(tmp_path: Path) -> None:
    options = write_graph(tmp_path)["npz"]
    model = sum_network(tmp_path / "model.onnx")
    out = tmp_path / "audit.toml"
    out.write_text("mine", encoding="utf-8")
    refused = command("init", model, *options, "--out", out)
    assert refused.code == 2
    assert one_line(refused).startswith(f"error: {out}: already exists")
    assert out.read_text(encoding="utf-8") == "mine"
    assert command("init", model, *options, "--out", out, "--force").code == 0
    assert out.read_text(encoding="utf-8") != "mine"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["model.onnx"], "init needs the graph"),
        (["model.onnx", "--nodes", "people.csv"], "init needs the graph"),
        (
            ["model.onnx", "--nodes", "a.csv", "--edges", "ties.csv", "--nodes", "b.csv"],
            "--nodes: is given more than once",
        ),
        (["gone.onnx", "--npz", "graph.npz"], "gone.onnx: there is no such file; correct the"),
        (["model.onnx", "--npz", "gone.npz"], "gone.npz: there is no such file; correct the"),
        (
            ["model.onnx", "--nodes", "gone.csv", "--edges", "ties.csv"],
            "gone.csv: there is no such file; correct the path in --nodes",
        ),
        (["model.onnx", "--npz", "graph.npz", "--out", "."], ".: is a folder"),
        (
            ["model.onnx", "--npz", "graph.npz", "--out", "no/a.toml"],
            "no/a.toml: cannot be written",
        ),
    ],
)
def test_what_init_cannot_use_is_named_as_it_was_typed(
    words: list[str], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_graph(tmp_path)
    sum_network(tmp_path / "model.onnx")
    monkeypatch.chdir(tmp_path)
    finished = command("init", *words)
    assert finished.code == 2
    assert one_line(finished).startswith(f"error: {complaint}")


def test_init_reads_graphml_and_names_what_its_nodes_have(tmp_path: Path) -> None:
    drawing: nx.Graph[str] = nx.cycle_graph(PEOPLE)
    columns = columns_of_people()
    for place, node in enumerate(drawing.nodes):
        drawing.nodes[node].update(
            {f"f{k}": float(columns[f"f{k}"][place]) for k in range(4)}
            | {"score": float(columns["score"][place]), "sex": columns["sex"][place]}
        )
    nx.write_graphml(drawing, tmp_path / "graph.graphml")
    sum_network(tmp_path / "model.onnx")
    out = tmp_path / "audit.toml"
    finished = command(
        "init", tmp_path / "model.onnx", "--graphml", tmp_path / "graph.graphml", "--out", out
    )
    assert finished.code == 0, finished.err
    written = tomllib.loads(out.read_text("utf-8"))
    assert written["graph"]["graphml"] == "graph.graphml"
    assert set(written["graph"]["features"]) == {"score", "f0", "f1", "f2", "f3"}
    assert written["graph"]["directed"] is False
    assert written["groups"]["attributes"] == ["sex"]
    assert command("explain", out, "0").code == 0


def test_init_names_the_features_of_an_archive(tmp_path: Path) -> None:
    sum_network(tmp_path / "model.onnx")
    names = ["income", "debt", "savings", "years", "loans"]
    x = np.random.default_rng(0).normal(size=(9, 5))
    ties = np.stack([np.arange(8), np.arange(1, 9)])
    np.savez(tmp_path / "plain.npz", x=x, edge_index=ties)
    np.savez(tmp_path / "named.npz", x=x, edge_index=ties, feature_names=names)
    for file, expected in (("plain", [f"x{k}" for k in range(5)]), ("named", names)):
        out = tmp_path / f"{file}.toml"
        made_of = ("--npz", tmp_path / f"{file}.npz")
        assert command("init", tmp_path / "model.onnx", *made_of, "--out", out).code == 0
        assert tomllib.loads(out.read_text("utf-8"))["graph"]["features"] == expected
        assert command("explain", out, "0").code == 0


def test_a_model_that_nobody_can_be_audited_with_is_an_error_and_said_in_the_file(
    tmp_path: Path,
) -> None:
    model = sum_network(tmp_path / "model.onnx", trap="nan")
    out = tmp_path / "audit.toml"
    finished = command("init", model, *write_graph(tmp_path)["csv"], "--out", out)
    assert finished.code == 2
    [line] = [line for line in finished.err.splitlines() if line.startswith("error: ")]
    problem = line.removeprefix(f"error: wrote {out}, but nobody can be audited with it yet: ")
    assert f"# CHECK: {problem}" in out.read_text(encoding="utf-8")
    assert command("inspect", out).code == 2


def with_more_columns(folder: Path, **more: Any) -> list[str]:
    """The tables as CSV, with more columns before the others."""
    options = write_graph(folder)["csv"]
    columns = more | columns_of_people()
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    (folder / "people.csv").write_text("\n".join(lines), encoding="utf-8")
    return options


@pytest.mark.parametrize("name", ["district", "zip", "PostCode"])
def test_codes_are_features_only_if_nothing_else_is_left(name: str, tmp_path: Path) -> None:
    codes = [
        f"{1067 + number:05d}" if name == "district" else 1067 + number for number in range(PEOPLE)
    ]
    options = with_more_columns(tmp_path, **{name: codes})
    out, said = made(tmp_path, sum_network(tmp_path / "model.onnx"), options)
    features = tomllib.loads(out.read_text(encoding="utf-8"))["graph"]["features"]
    assert features == ["score", "f0", "f1", "f2", "f3"]
    assert f"taken are score, f0, f1, f2, f3; left out are {name}" in said.err
    model = sum_network(tmp_path / "wider.onnx", features=6)
    assert command("init", model, *options, "--out", out, "--force").code == 0
    assert name in tomllib.loads(out.read_text(encoding="utf-8"))["graph"]["features"]


def test_columns_that_may_be_features_and_are_not_taken_are_said(tmp_path: Path) -> None:
    options = write_graph(tmp_path)["csv"]
    _, said = made(tmp_path, sum_network(tmp_path / "model.onnx", features=4), options)
    assert (
        "Guessed graph.features: the model takes 4 features, and 5 columns hold numbers: "
        in said.err
    )
    assert "left out are f3; name the right ones, in the model's order" in said.err


def test_an_age_is_protected_with_bins(tmp_path: Path) -> None:
    options = with_more_columns(
        tmp_path,
        age=range(20, 20 + PEOPLE),
    )
    out, said = made(tmp_path, sum_network(tmp_path / "model.onnx"), options)
    text = out.read_text(encoding="utf-8")
    groups = tomllib.loads(text)["groups"]
    assert groups == {"attributes": ["age", "sex", "AgeBand"], "bins": {"age": [28, 34, 42]}}
    assert "failed" not in said.err
    assert command("doctor", out, "--no-cost").code == 0


def test_an_empty_cell_of_a_feature_may_be_for_a_pipeline(tmp_path: Path) -> None:
    options = write_graph(tmp_path)["parquet"]
    people = columns_of_people()
    people["score"] = [None, *people["score"].tolist()[1:]]
    pq.write_table(pa.table(people), tmp_path / "people.parquet")
    _, said = made(tmp_path, sum_network(tmp_path / "model.onnx"), options)
    assert "column 'score' is empty" in said.err
    assert (
        "if a pipeline fills in or encodes raw columns, give it in model.preprocessing" in said.err
    )
