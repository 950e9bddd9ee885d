"""Of several kinds of nodes, people alone are decided on, whichever way the graph comes in."""

import csv
import shutil
import sqlite3
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import recourse_audit as ra
from recourse_audit.audit.large_graphs import BlockLimits, LargeGraph, whole_answers
from recourse_audit.audit.load import Selection, find_subjects, read_features, select_subjects
from recourse_audit.graph.graph import Graph
from recourse_audit.settings import GraphSettings, ModelSettings
from tests.audits import SAMPLES
from tests.command import command, one_line

HIRING = SAMPLES.parent / "hiring"
FEATURES = {
    kind: table["features"]
    for kind, table in tomllib.loads((HIRING / "audit.toml").read_text())["graph"]["nodes"].items()
}
TABLES = {"person": "people", "employer": "employers", "school": "schools"}
RELATIONS = {
    "works_at": ("person", "employer"),
    "studied_at": ("person", "school"),
    "recommends": ("person", "person"),
}


@pytest.fixture(scope="module")
def audit() -> ra.Audit:
    return ra.Audit.from_toml(HIRING / "audit.toml")


def rows_of(name: str) -> list[dict[str, str]]:
    with (HIRING / f"{name}.csv").open(newline="") as file:
        return [*csv.DictReader(file)]


def hiring_arrays() -> tuple[dict[str, Any], dict[str, Any], dict[Any, Any]]:
    """The sample's features and ids by kind, and the ends of ties by relation."""
    nodes = {kind: rows_of(name) for kind, name in TABLES.items()}
    ids = {kind: [row["id"] for row in rows] for kind, rows in nodes.items()}
    x = {
        kind: np.array([[float(row[n]) for n in FEATURES[kind]] for row in rows])
        for kind, rows in nodes.items()
    }
    place = {kind: {name: k for k, name in enumerate(names)} for kind, names in ids.items()}
    edges = {
        (start, name, to): np.array(
            [[place[start][row["source"]], place[to][row["target"]]] for row in rows_of(name)]
        ).T
        for name, (start, to) in RELATIONS.items()
    }
    return x, ids, edges


def settings_in_memory() -> dict[str, Any]:
    decision = {"classes": ["rejected", "invited"], "favourable": ["invited"], "subject": "person"}
    return {"model": {"path": str(HIRING / "hetero.onnx")}, "decision": decision}


def test_only_people_are_asked_about_and_chosen(audit: ra.Audit) -> None:
    loaded = audit.loaded
    graph = loaded.graph
    people = graph.person_count
    assert people == len(rows_of("people")) < graph.node_count
    answers = whole_answers(loaded, np.arange(people))
    assert answers.shape[0] == graph.node_count
    assert np.isfinite(answers[:people]).all()
    assert np.isnan(answers[people:]).all()
    for wanted in ("all", "unfavourable", "gender=man"):
        chosen = select_subjects(loaded, answers, Selection(subjects=wanted))
        assert len(chosen)
        assert chosen.max() < people
        assert {str(name).partition(":")[0] for name in graph.ids[chosen]} == {"person"}


def test_answers_about_people_in_blocks_are_those_at_once(audit: ra.Audit) -> None:
    loaded = audit.loaded
    people = np.arange(loaded.graph.person_count)
    at_once = whole_answers(loaded, people)
    assert loaded.probes.depth is not None
    limits = BlockLimits(whole=0, sizes=(300, 3000), times=1000)
    in_blocks = LargeGraph(loaded, loaded.probes.depth, limits).answers_in_blocks()
    assert in_blocks is not None
    assert np.isnan(in_blocks[len(people) :]).all()
    assert np.allclose(in_blocks[people], at_once[people], atol=1e-5)


def test_a_file_of_ids_may_leave_out_the_kind(audit: ra.Audit, tmp_path: Path) -> None:
    loaded = audit.loaded
    answers = whole_answers(loaded, np.arange(loaded.graph.person_count))
    listed = tmp_path / "ids.txt"
    listed.write_text("P0003\nperson:P0001\n")
    chosen = select_subjects(loaded, answers, Selection(subjects=str(listed)))
    assert chosen.tolist() == [0, 2]
    listed.write_text("E001\n")
    with pytest.raises(ra.AuditError, match="no node with the id 'E001'"):
        select_subjects(loaded, answers, Selection(subjects=str(listed)))


def test_arrays_and_hetero_data_are_explained_like_the_tables(audit: ra.Audit) -> None:
    x, ids, edges = hiring_arrays()
    data = SimpleNamespace(x_dict=x, edge_index_dict=edges)
    graph = ra.from_arrays(x, edges, ids=ids, feature_names=FEATURES, subject="person")
    expected = audit.explain("P0003").subject
    for given, name in ((graph, "P0003"), (data, "2")):
        report = ra.Audit(settings=settings_in_memory(), graph=given).explain(name)
        assert report.subject.decision == expected.decision
        assert report.subject.probabilities == expected.probabilities
    with pytest.raises(ra.AuditError, match=r"must be what from_arrays or from_networkx returns"):
        ra.Audit(settings=settings_in_memory(), graph={"x": 1})


def test_a_kind_with_other_widths_than_the_model_takes_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "hiring"
    shutil.copytree(HIRING, folder)
    text = (folder / "audit.toml").read_text()
    assert ', "training_days"' in text
    (folder / "audit.toml").write_text(text.replace(', "training_days"', ""))
    for words in (("inspect",), ("explain",)):
        done = command(*words, folder / "audit.toml", *(["P0003"] * (words == ("explain",))))
        assert done.code == 2
        message = one_line(done)
        assert "graph.nodes.employer.features: the input 'x_employer'" in message
        assert "takes 4 features, and the graph gives 3; name the model's features" in message


def test_an_employer_cannot_be_explained() -> None:
    done = command("explain", HIRING / "audit.toml", "employer:E001")
    assert done.code == 2
    assert "node of the kind 'employer', and decisions are on 'person' alone" in one_line(done)


def init_options(folder: Path) -> list[str]:
    nodes = [f"{kind}={folder / name}.csv" for kind, name in reversed(TABLES.items())]
    ties = [f"{name}={folder / name}.csv" for name in RELATIONS]
    return [
        *(word for value in nodes for word in ("--nodes", value)),
        *(word for value in ties for word in ("--edges", value)),
    ]


def test_init_finds_who_is_decided_on_and_says_so(tmp_path: Path) -> None:
    out = tmp_path / "audit.toml"
    done = command("init", HIRING / "hetero.onnx", *init_options(HIRING), "--out", out)
    assert done.code == 0, done.err
    said = done.out + done.err
    assert "Guessed that decisions are on 'person', of the kinds school, employer, person" in said
    settings = tomllib.loads(out.read_text())
    assert settings["decision"]["subject"] == "person"
    assert {k: table["features"] for k, table in settings["graph"]["nodes"].items()} == FEATURES
    ends = {name: (t["from"], t["to"]) for name, t in settings["graph"]["ties"].items()}
    assert ends == RELATIONS
    assert "gender" in settings["groups"]["attributes"]
    assert command("inspect", out).code == 0


def test_init_finds_who_is_decided_on_in_an_archive(tmp_path: Path) -> None:
    x, ids, edges = hiring_arrays()
    arrays = {f"x_{kind}": values for kind, values in x.items()}
    arrays |= {f"ids_{kind}": np.array(names) for kind, names in ids.items()}
    arrays |= {f"edge_index_{'__'.join(triple)}": ends for triple, ends in edges.items()}
    arrays["gender_person"] = np.array([row["gender"] for row in rows_of("people")])
    np.savez(tmp_path / "graph.npz", **arrays)
    out = tmp_path / "audit.toml"
    npz = tmp_path / "graph.npz"
    done = command("init", HIRING / "hetero.onnx", "--npz", npz, "--out", out)
    assert done.code == 0, done.err
    settings = tomllib.loads(out.read_text())
    assert settings["decision"]["subject"] == "person"
    assert settings["groups"]["attributes"] == ["gender"]
    assert command("inspect", out).code == 0


def test_init_needs_a_name_for_each_of_several_tables(tmp_path: Path) -> None:
    options: list[str | Path] = [
        "--nodes",
        HIRING / "people.csv",
        "--nodes",
        HIRING / "schools.csv",
    ]
    done = command("init", HIRING / "hetero.onnx", *options, "--out", tmp_path / "a.toml")
    assert done.code == 2
    assert "write --nodes NAME=FILE" in one_line(done)


def test_encodings_and_formulas_are_of_the_people(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("id,rent,own,pay\np1,1,0,2\np2,0,1,3\n")
    (tmp_path / "e.csv").write_text("id,pay\ne1,9\n")
    (tmp_path / "w.csv").write_text("source,target\np1,e1\n")
    settings = GraphSettings.model_validate(
        {
            "nodes": {
                "person": {"path": tmp_path / "p.csv", "features": ["rent", "own", "double"]},
                "employer": {"path": tmp_path / "e.csv", "features": ["pay"]},
            },
            "ties": {"at": {"path": tmp_path / "w.csv", "from": "person", "to": "employer"}},
            "encodings": [
                {
                    "name": "housing",
                    "kind": "one_hot",
                    "columns": ["rent", "own"],
                    "labels": ["rents", "owns"],
                }
            ],
            "derived": [{"name": "double", "formula": "2 * pay"}],
        }
    )
    model = ModelSettings(path=tmp_path / "m.onnx")
    graph, _ = read_features(model, settings, subject="person")
    assert graph.feature_names == ("rent", "own", "double", "employer.pay")
    assert graph.features.tolist() == [[1, 0, 4, 0], [0, 1, 6, 0], [0, 0, 0, 9]]
    assert graph.columns["housing"].tolist() == ["rents", "owns", ""]
    again = _in_memory(settings, model)
    assert again.columns["housing"].tolist() == ["rents", "owns", ""]


def _in_memory(settings: GraphSettings, model: ModelSettings) -> Graph:
    x = {"person": [[1.0, 0.0], [0.0, 1.0]], "employer": [[9.0]]}
    graph = ra.from_arrays(
        x,
        {("person", "at", "employer"): [[0], [0]]},
        attributes={"person": {"pay": [2.0, 3.0]}},
        feature_names={"person": ["rent", "own"], "employer": ["pay"]},
        subject="person",
    )
    plain = GraphSettings(encodings=settings.encodings, derived=settings.derived)
    return read_features(model, plain, subject="person", graph=graph)[0]


def write_homogenised(folder: Path) -> Path:
    """The sample as one table of nodes and one of ties, both ways, with nodes in any order."""
    settings = tomllib.loads((HIRING / "rgcn.toml").read_text())
    types, width = settings["model"]["edge_types"], max(map(len, FEATURES.values()))
    rows = [
        [f"{row['id']}", kind, *([row[n] for n in FEATURES[kind]] + ["0"] * width)[:width]]
        for kind, name in TABLES.items()
        for row in rows_of(name)
    ]
    order = np.random.default_rng(0).permutation(len(rows))
    names = [f"f{place}" for place in range(width)]
    ties = [
        (*ends[::way], f"{name}{suffix}")
        for name in RELATIONS
        for way, suffix in ((1, ""), (-1, ":reversed"))
        if f"{name}{suffix}" in types
        for ends in ((row["source"], row["target"]) for row in rows_of(name))
    ]
    for file, header, table in (
        ("nodes.csv", ["id", "node_type", *names], [rows[place] for place in order]),
        ("edges.csv", ["source", "target", "kind"], ties),
    ):
        with (folder / file).open("w", newline="") as stream:
            csv.writer(stream).writerows([header, *table])
    shutil.copy(HIRING / "rgcn.onnx", folder / "rgcn.onnx")
    (folder / "audit.toml").write_text(
        f"""
[model]
path = "rgcn.onnx"
node_types = {settings["model"]["node_types"]}
[graph]
nodes = "nodes.csv"
edges = "edges.csv"
features = {names}
kinds = {types}
directed = true
[decision]
classes = ["rejected", "invited"]
favourable = ["invited"]
subject = {{ column = "node_type", value = "person" }}
"""
    )
    return folder / "audit.toml"


def test_a_homogenised_file_gets_the_answers_of_the_tables(tmp_path: Path) -> None:
    single = ra.Audit.from_toml(write_homogenised(tmp_path)).loaded
    several = ra.Audit.from_toml(HIRING / "rgcn.toml").loaded
    people = np.arange(several.graph.person_count)
    assert single.graph.person_count == len(people)
    names = single.graph.ids[people].tolist()
    place = {name.partition(":")[2]: k for k, name in enumerate(several.graph.ids[people].tolist())}
    answers = whole_answers(single, people)
    assert np.isnan(answers[len(people) :]).all()
    expected = whole_answers(several, people)[[place[name] for name in names]]
    assert np.allclose(answers[people], expected, atol=1e-5)
    with pytest.raises(ra.AuditError, match="'E001' is a node of the kind 'employer'"):
        find_subjects(single, ["E001"])


def test_a_bundle_holds_people_alone_and_takes_their_bare_ids(tmp_path: Path) -> None:
    x, ids, edges = hiring_arrays()
    graph = ra.from_arrays(x, edges, ids=ids, feature_names=FEATURES, subject="person")
    audit = ra.Audit(settings=settings_in_memory(), graph=graph)
    listed = tmp_path / "ids.txt"
    listed.write_text("P0003\nP0012\n")
    bundle = audit.run(tmp_path / "out", subjects=str(listed), workers=0)
    assert {report.subject.id for report in bundle} == {"person:P0003", "person:P0012"}
    assert bundle["P0012"] == bundle["person:P0012"]
    assert not bundle.verify().problems
    with sqlite3.connect(tmp_path / "out" / "store.sqlite") as store:
        people = [name for (name,) in store.execute("SELECT id FROM people ORDER BY number")]
    assert people == [f"person:{name}" for name in ids["person"]]


def test_init_asks_for_the_table_of_a_kind_that_is_missing(tmp_path: Path) -> None:
    tables = {"--nodes": ["person=people", "employer=employers"], "--edges": ["works_at=works_at"]}
    options = [
        word
        for option, values in tables.items()
        for kind, _, name in (value.partition("=") for value in values)
        for word in (option, f"{kind}={HIRING / name}.csv")
    ]
    done = command("init", HIRING / "hetero.onnx", *options, "--out", tmp_path / "a.toml")
    assert done.code == 2
    assert "if x_school, " in done.err
    assert "take more kinds of nodes, give --nodes KIND=FILE for each" in done.err
