"""A head on embeddings and raw columns: the chain answers as a bank's own code would have it."""

import json
import shutil
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from recourse_audit import Audit, from_arrays
from recourse_audit.audit.inspect import inspect_model
from recourse_audit.audit.large_graphs import whole_answers
from recourse_audit.audit.load import LoadedAudit, load_audit
from recourse_audit.audit.report import explain, try_by_hand
from recourse_audit.bundle.manifest import digest
from recourse_audit.errors import AuditError, LimitError, ModelError, SettingsError
from recourse_audit.graph.graph import Floats
from recourse_audit.model.queries import whole
from recourse_audit.model.session import OnnxModel
from recourse_audit.records.codec import INSPECTION
from recourse_audit.records.recourse import SetAction, TieAction
from recourse_audit.records.subject import SubjectReport
from recourse_audit.settings import ModelSettings, load_settings
from tests.command import command
from tests.head_audits import (
    COLUMNS,
    FILES,
    FORMS,
    WIDTH,
    ByHand,
    Row,
    head_audit,
    linear_head,
)
from tests.onnx_models import endless_network
from tests.onnx_pipelines import Draft

HIRING = FILES.parents[2] / "sample_models" / "hiring"
SETTING = 'head_columns = ["savings", "late_payments", "income"]'
NO_COLUMNS = (SETTING, "head_columns = []")
RULES = (
    "[[recourse.attributes]]"
    + (FILES / "audit.toml").read_text(encoding="utf-8").partition("[[recourse.attributes]]")[2]
)
NO_RULES = (RULES, "")
SCORE = (SETTING, f'{SETTING}\noutput = "score"')
CUT_OFF = ('favourable = ["approved"]', 'favourable = ["approved"]\ncut_off = 0.5')


def everybody(audit: LoadedAudit) -> Floats:
    return whole_answers(audit, np.arange(audit.graph.node_count))


def as_answers(raw: Floats, head: str) -> Floats:
    return raw if head == "score" else np.log(np.maximum(raw.astype(np.float64), 1e-12))


@pytest.mark.parametrize("head", FORMS)
def test_everybodys_answer_is_that_of_the_files_asked_by_hand(tmp_path: Path, head: str) -> None:
    changes = {"alone": [NO_COLUMNS, NO_RULES], "score": [SCORE, CUT_OFF]}.get(head, [])
    audit = load_audit(head_audit(tmp_path, *changes, head=head))
    by_hand = as_answers(ByHand(head).answers(), head)
    np.testing.assert_allclose(everybody(audit), by_hand, rtol=1e-6, atol=1e-6)
    names = () if head == "alone" else COLUMNS[:2]
    assert audit.graph.feature_names == ("income", "debt", *names)
    assert audit.model.signature.output.name == ("variable" if head == "score" else "probabilities")


def test_a_setting_names_the_output_with_the_embeddings(tmp_path: Path) -> None:
    path = ('path = "gnn.onnx"', 'path = "two_outputs.onnx"')
    with pytest.raises(ModelError, match=r"'embedding' .*'scores' .*name it in model.embedding_o"):
        load_audit(head_audit(tmp_path, path))
    name = (SETTING, f'{SETTING}\nembedding_output = "embedding"')
    audit = load_audit(head_audit(tmp_path, path, name))
    by_hand = as_answers(ByHand().answers(), "head")
    np.testing.assert_allclose(everybody(audit), by_hand, rtol=1e-6, atol=1e-6)
    name = (SETTING, f'{SETTING}\nembedding_output = "embeddings"')
    with pytest.raises(ModelError, match=r"model.embedding_output is 'embeddings', but the out"):
        load_audit(head_audit(tmp_path, path, name))


# ---------------------------------------------------------------- options


@pytest.fixture(scope="module")
def audit() -> LoadedAudit:
    return load_audit(FILES / "audit.toml")


@pytest.fixture(scope="module")
def reports(audit: LoadedAudit) -> list[SubjectReport]:
    refused = np.flatnonzero(ByHand().answers().argmax(axis=1) == 0)
    return explain(audit, audit.graph.ids[refused[:40]].tolist())


def after(chain: ByHand, subject: str, actions: Any) -> int:
    """The class of a person after some changes, by hand, on the whole graph."""
    values: dict[str, float] = {}
    gone = set()
    for action in actions:
        if isinstance(action, SetAction):
            values[action.attribute] = float(action.after)
        else:
            assert isinstance(action, TieAction)
            gone.add(frozenset(action.tie))
    ties = [t for t in chain.ties if frozenset((t["source"], t["target"])) not in gone]
    people = chain.changed(subject, **values)
    return int(chain.answers(people, ties)[chain.number[subject]].argmax())


def test_every_option_flips_on_the_whole_graph_asked_by_hand(
    reports: list[SubjectReport],
) -> None:
    chain, attributes, ties = ByHand(), set(), 0
    for report in reports:
        assert report.recourse is not None
        for option in report.recourse.options:
            assert after(chain, report.subject.id, option.actions) == 1
            attributes |= {a.attribute for a in option.actions if isinstance(a, SetAction)}
            ties += any(isinstance(action, TieAction) for action in option.actions)
    assert attributes == {"savings", "late_payments"}, "columns that the head alone takes"
    assert ties, "and ties, which only the network sees"


def test_whoever_has_no_option_has_none_among_all_combinations(
    reports: list[SubjectReport],
) -> None:
    chain = ByHand()
    without = [r for r in reports if r.recourse is not None and not r.recourse.options][:4]
    assert len(without) >= 2
    for report in without:
        name = report.subject.id
        own = next(row for row in chain.people if row["id"] == name)
        tried = 0
        for people, ties in every_combination(chain, name, own):
            tried += 1
            assert chain.answers(people, ties)[chain.number[name]].argmax() == 0
        assert tried > 5


def every_combination(chain: ByHand, name: str, own: Row) -> Iterator[tuple[list[Row], list[Row]]]:
    """Everybody and all ties after up to two changes that the settings permit."""
    savings, late = float(own["savings"]), int(own["late_payments"])
    changes: list[tuple[str, Any]] = [("savings", s) for s in np.arange(savings, 2e4, 1e3)[1:]]
    changes += [("late_payments", n) for n in range(late)]
    changes += [
        ("tie", tie)
        for tie in chain.ties
        if tie["kind"] == "guarantor" and name in (tie["source"], tie["target"])
    ]
    for count in (1, 2):
        for chosen in combinations(changes, count):
            kinds = [kind for kind, _ in chosen if kind != "tie"]
            if len({*kinds}) == len(kinds):
                gone = [tie for kind, tie in chosen if kind == "tie"]
                values = {kind: value for kind, value in chosen if kind != "tie"}
                ties = [tie for tie in chain.ties if tie not in gone]
                yield chain.changed(name, **values), ties


def test_a_column_of_both_files_changes_in_both(audit: LoadedAudit) -> None:
    chain = ByHand()
    subject = chain.people[3]["id"]
    answer = try_by_hand(audit, subject, ("income=9000",))
    rows = chain.answers(chain.changed(subject, income=9000))
    assert list(answer.probabilities.values()) == pytest.approx(rows[3], abs=1e-6)
    assert rows[3] != pytest.approx(chain.answers()[3], abs=1e-3)


def test_shared_states_give_the_answers_of_single_queries(audit: LoadedAudit) -> None:
    """Small graphs packed and shared, against the network and the head asked one by one."""
    assert audit.probes.sender_degree is False, "states are shared"
    chosen = explain(audit, audit.graph.ids[:60:6].tolist())
    answers = [report.recourse.compared for report in chosen if report.recourse is not None]
    assert sum(counted.answers for counted in answers) > 0
    assert max(counted.largest for counted in answers) < 1e-6


# ---------------------------------------------------------------- where columns come from


def test_a_head_takes_derived_columns_and_a_change_of_their_source_reaches_it(
    tmp_path: Path,
) -> None:
    derived = (
        "[decision]",
        '[[graph.derived]]\nname = "cushion"\nformula = "savings - debt"\n[decision]',
    )
    columns = (SETTING, 'head_columns = ["cushion"]')
    path = head_audit(tmp_path, columns, derived, NO_RULES, head="none")
    linear_head(tmp_path / "head.onnx", WIDTH + 1)
    audit = load_audit(path)
    chain = ByHand("head", tmp_path)
    chain.people[5]["savings"] = "3000"
    hidden = chain.embeddings(chain.people, chain.ties)
    cushion = [[float(row["savings"]) - float(row["debt"])] for row in chain.people]
    rows = np.concatenate((hidden, np.array(cushion, np.float32)), axis=1)
    [scores] = chain._head.run(None, {"rows": rows})
    chances = np.exp(scores[5]) / np.exp(scores[5]).sum()
    answer = try_by_hand(audit, "P005", ("savings=3000",))
    assert list(answer.probabilities.values()) == pytest.approx(chances, abs=1e-5)


def test_a_head_takes_the_columns_of_an_encoding_and_rules_speak_of_the_category(
    tmp_path: Path,
) -> None:
    encoding = """[[graph.encodings]]
name = "home"
kind = "one_hot"
columns = ["in_north", "in_south"]
labels = ["North", "South"]
[decision]"""
    columns = (SETTING, 'head_columns = ["in_north", "in_south"]')
    path = head_audit(tmp_path, columns, ("[decision]", encoding), NO_RULES, head="none")
    linear_head(tmp_path / "head.onnx", WIDTH + 2, scale=1.0)
    table = tmp_path / "nodes.csv"
    header, *lines = table.read_text(encoding="utf-8").splitlines()
    marks = [f"{int('north' in line)},{int('south' in line)}" for line in lines]
    rows = [f"{line},{mark}" for line, mark in zip(lines, marks, strict=True)]
    table.write_text("\n".join([f"{header},in_north,in_south", *rows]), encoding="utf-8")
    audit = load_audit(path)
    chain = ByHand("head", tmp_path)
    assert chain.people[5]["region"] == "south"
    hidden = chain.embeddings(chain.people, chain.ties)[5:6]
    for label, mark in (("North", (1, 0)), ("South", (0, 1))):
        [scores] = chain._head.run(None, {"rows": np.append(hidden, [mark], 1).astype("f4")})
        chances = np.exp(scores[0]) / np.exp(scores[0]).sum()
        if label == "South":
            mine = np.exp(everybody(audit)[5])
        else:
            answer = try_by_hand(audit, "P005", (f"home={label}",))
            mine = np.array([*answer.probabilities.values()])
        np.testing.assert_allclose(mine, chances, atol=1e-5)


def identity_pipeline(path: Path) -> None:
    """A pipeline that scales income and debt back and forth, and takes the region as text."""
    draft = Draft()
    names = [draft.input(name, "float32", 1) for name in ("income", "debt")]
    draft.ordinal(draft.input("region", "string", 1), ("north", "south"))
    draft.output("features", draft.op("Concat", *names, axis=1), 2)
    draft.save(path)


def test_raw_columns_reach_the_head_beside_a_pipeline(tmp_path: Path, audit: LoadedAudit) -> None:
    pipeline = (SETTING, f'{SETTING}\npreprocessing = "pipeline.onnx"')
    path = head_audit(tmp_path, pipeline, ('features = ["income", "debt"]\n', ""))
    identity_pipeline(tmp_path / "pipeline.onnx")
    piped = load_audit(path)
    assert piped.graph.feature_names == ("features[0]", "features[1]", *COLUMNS)
    np.testing.assert_array_equal(everybody(piped), everybody(audit))
    assert piped.preprocessing is not None
    assert piped.preprocessing.report.features == 2
    ids = audit.graph.ids[:40:4].tolist()
    for ours, plain in zip(explain(piped, ids), explain(audit, ids), strict=True):
        assert (ours.recourse is None) == (plain.recourse is None)
        if ours.recourse is not None and plain.recourse is not None:
            pairs = zip(ours.recourse.options, plain.recourse.options, strict=True)
            assert all(option.actions == other.actions for option, other in pairs)
    for columns, words in (
        ('["region"]', r"head_columns: 'region' is text, and a head takes numbers"),
        ('["saving"]', r"head_columns: the nodes have no column 'saving'; did you mean 'savings'"),
    ):
        path.write_text(
            path.read_text(encoding="utf-8").replace(SETTING, f"head_columns = {columns}"),
            encoding="utf-8",
        )
        with pytest.raises(SettingsError, match=words):
            load_audit(path)
        path = head_audit(tmp_path, pipeline, ('features = ["income", "debt"]\n', ""))


def test_a_graph_in_memory_has_the_columns_of_the_head_as_attributes(audit: LoadedAudit) -> None:
    chain, graph = ByHand(), audit.graph
    settings = load_settings(FILES / "audit.toml")
    memory = from_arrays(
        graph.features[:, :2],
        np.stack((graph.ties.source, graph.ties.target)),
        feature_names=["income", "debt"],
        attributes={n: [float(row[n]) for row in chain.people] for n in COLUMNS[:2]},
        ids=graph.ids.tolist(),
    )
    table = {
        "model": settings.model.model_dump(),
        "decision": settings.decision.model_dump(exclude_none=True),
    }
    plain = ModelSettings(path=FILES / "gnn.onnx")
    for model in (None, OnnxModel(plain), OnnxModel(settings.model)):
        opened = Audit(settings=table, graph=memory, model=model)
        np.testing.assert_array_equal(everybody(opened.loaded), everybody(audit))


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ('["savings"]', r"in no ways; correct head_columns or embedding_output"),
        ('["savings", "late_payments", "income", "debt"]', r"in no ways; correct head_columns"),
        ('["savings", "late_payments", "salary"]', r"model.head_columns: .* no column 'salary'"),
        ('["savings", "late_payments", "region"]', r"'region' is text, .*graph.encodings"),
        ('["savings", "savings", "income"]', r"head_columns: names 'savings' twice"),
    ],
)
def test_columns_that_do_not_fit_are_refused(tmp_path: Path, columns: str, words: str) -> None:
    path = head_audit(tmp_path, (SETTING, f"head_columns = {columns}"), NO_RULES)
    with pytest.raises(AuditError, match=words) as caught:
        load_audit(path)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)


def test_an_empty_cell_is_refused_by_its_id(tmp_path: Path) -> None:
    path = head_audit(tmp_path)
    table = tmp_path / "nodes.csv"
    lines = table.read_text(encoding="utf-8").splitlines()
    cells = lines[8].split(",")
    lines[8] = ",".join([*cells[:3], "", *cells[4:]])
    table.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(AuditError, match=r"column 'savings' is empty or not finite for 'P007'"):
        load_audit(path)


def test_settings_of_a_head_need_a_head(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"has head_columns, but no head that takes them"):
        load_audit(head_audit(tmp_path, ('head = "head.onnx"\n', "")))


def test_a_missing_or_broken_head_is_named(tmp_path: Path) -> None:
    path = head_audit(tmp_path, head="none")
    done = command("inspect", path)
    assert done.code == 2
    assert "head.onnx: there is no such model file; check model.head" in done.err
    (tmp_path / "head.onnx").write_bytes(b"\x08\x08trash")
    with pytest.raises(ModelError, match=r"head.onnx: is not an ONNX model"):
        load_audit(path)


@pytest.mark.parametrize(
    ("trap", "words"),
    [
        ("mean", r"head.onnx: THE HEAD IS NOT ROW BY ROW: a person's answers depend on who else"),
        ("random", r"head.onnx: THE HEAD IS RANDOM: asked twice about the same rows"),
        ("rows", r"head.onnx: the output 'scores' has shape .* a head answers once for each"),
        ("text", r"its input 'region' \(string .* takes text, .*graph.encodings"),
        ("fixed", r"takes exactly 1 row; ask for an export whose first axis is dynamic"),
    ],
)
def test_a_head_that_cannot_be_relied_on_is_refused(tmp_path: Path, trap: str, words: str) -> None:
    path = head_audit(tmp_path, head="none")
    linear_head(tmp_path / "head.onnx", WIDTH + 3, trap)
    with pytest.raises(ModelError, match=words):
        load_audit(path)
    done = command("inspect", path, "--json")
    assert done.code == 2
    if trap in ("mean", "random"):
        probes = done.document["head"]["probes"]
        assert probes["deterministic"] is (trap == "mean")
        assert probes["row_by_row"] is (False if trap == "mean" else None)
        assert "THE HEAD IS" in done.document["problem"]


def test_a_head_with_two_inputs_that_could_be_either_is_refused(tmp_path: Path) -> None:
    path = head_audit(tmp_path, NO_COLUMNS, NO_RULES, head="none")
    draft = Draft()
    joined = draft.op(
        "Concat", draft.input("a", "float32", 6), draft.input("b", "float32", 6), axis=1
    )
    draft.output("scores", joined, 12)
    draft.save(tmp_path / "head.onnx")
    with pytest.raises(ModelError, match=r"in no ways"):
        load_audit(path)
    derived = "".join(
        f'[[graph.derived]]\nname = "d{n}"\nformula = "savings * {n + 1}"\n' for n in range(6)
    )
    names = ", ".join(f'"d{n}"' for n in range(6))
    changes = ((SETTING, f"head_columns = [{names}]"), ("[decision]", f"{derived}[decision]"))
    with pytest.raises(ModelError, match=r"in 2 ways; .* named after what they take"):
        load_audit(head_audit(tmp_path, *changes, NO_RULES, head="none"))


def test_whole_numbers_are_not_cut_off(tmp_path: Path) -> None:
    path = head_audit(tmp_path, head="by_name")
    table = tmp_path / "nodes.csv"
    lines = table.read_text(encoding="utf-8").splitlines()
    cells = lines[8].split(",")
    lines[8] = ",".join([*cells[:4], "1.5", *cells[5:]])
    table.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(ModelError, match=r"cannot take 1.5 from the column 'late_payments'"):
        load_audit(path)


def test_limits_hold_for_the_head(tmp_path: Path) -> None:
    path = head_audit(tmp_path, head="none")
    linear_head(tmp_path / "head.onnx", WIDTH + 3, "endless")
    with pytest.raises(ModelError, match=r"the head did not answer for .* rows within 0.3 sec"):
        load_audit(path, timeout=0.3)
    path = head_audit(tmp_path)
    endless_network(tmp_path / "gnn.onnx", features=2, classes=6)
    with pytest.raises(ModelError, match=r"the model did not answer a query .* within 0.3 sec"):
        load_audit(path, timeout=0.3)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems keep no limit")
def test_a_head_gets_no_more_memory_than_the_limit(tmp_path: Path) -> None:
    path = head_audit(tmp_path, (SETTING, f'{SETTING}\nmemory = "1 GB"'), head="none")
    linear_head(tmp_path / "head.onnx", WIDTH + 3, "hungry")
    with pytest.raises(LimitError, match=r"head.onnx: the head needs more memory"):
        load_audit(path)


# ---------------------------------------------------------------- probes


def test_steps_of_a_head_do_not_hide_how_far_the_network_sees(tmp_path: Path) -> None:
    path = head_audit(tmp_path, NO_COLUMNS, NO_RULES, head="none")
    linear_head(tmp_path / "head.onnx", WIDTH, "steps")
    stepped = load_audit(path)
    moves = np.unique(everybody(stepped)[:, 0])
    assert len(moves) < 20, "few different answers"
    assert stepped.probes.depth == 2
    assert stepped.probes.ties_matter
    assert stepped.probes.sender_degree is False


def test_columns_for_the_head_do_not_hide_that_the_network_takes_constants(
    tmp_path: Path,
) -> None:
    """With the same features for everybody, only the head's columns tell people apart."""
    path = head_audit(tmp_path)
    table = tmp_path / "nodes.csv"
    header, *lines = table.read_text(encoding="utf-8").splitlines()
    same = [
        ",".join([line.split(",")[0], "2000.0", "700.0", *line.split(",")[3:]]) for line in lines
    ]
    table.write_text("\n".join([header, *same]), encoding="utf-8")
    assert load_audit(path).probes.depth == 2


def test_a_head_that_ignores_the_network_is_said_to_ignore_ties(tmp_path: Path) -> None:
    path = head_audit(tmp_path, head="none")
    draft = Draft()
    rows = draft.input("rows", "float32", WIDTH + 3)
    weights = np.zeros((WIDTH + 3, 2))
    weights[WIDTH] = (0.001, -0.001)
    draft.output("scores", draft.op("MatMul", rows, draft.constant(weights, "float32")), 2)
    draft.save(tmp_path / "head.onnx")
    inspection = inspect_model(path, None)
    assert inspection.probes is not None
    assert inspection.probes.failed == ("ties_matter",)


def test_embeddings_that_are_no_numbers_are_named(tmp_path: Path) -> None:
    path = head_audit(tmp_path)
    draft = Draft()
    rows = draft.input("x", "float32", 2)
    draft.inputs.append(helper.make_tensor_value_info("edge_index", TensorProto.INT64, [2, "E"]))
    nothing = draft.constant(np.full((2, WIDTH), np.nan), "float32")
    draft.output("embedding", draft.op("MatMul", rows, nothing), WIDTH)
    draft.save(tmp_path / "gnn.onnx")
    with pytest.raises(ModelError, match=r"gnn.onnx: every answer to a small graph is NaN"):
        load_audit(path)


def test_inspect_shows_both_files(tmp_path: Path) -> None:
    path = head_audit(tmp_path, head="by_name")
    document = command("inspect", path, "--json").document
    head = document["head"]
    assert head["file"] == "head.onnx"
    assert head["sha256"] == digest(tmp_path / "head.onnx")
    assert (head["embedding_output"], head["embeddings"]) == ("embedding", 6)
    assert [port["columns"] for port in head["inputs"]] == [
        ["savings"],
        [f"embedding[{place}]" for place in range(6)],
        ["late_payments"],
        ["income"],
    ]
    assert head["probes"] == {"deterministic": True, "row_by_row": True, "notes": {}}
    assert [port["name"] for port in document["inputs"]] == ["x", "edge_index"]
    assert [port["name"] for port in document["outputs"]] == ["label", "probabilities"]
    INSPECTION.read(json.dumps(document))
    brief, full = command("inspect", path).out, command("inspect", path, "--full").out
    assert "Head: head.onnx, 9 columns in; 2 of 2 checks passed." in brief
    assert "answer does not depend on who else is in the query" in full
    opened = Audit.from_toml(path).inspect().to_dict()
    assert opened["head"] == head
    assert opened["sha256"] == document["sha256"] != digest(tmp_path / "gnn.onnx")


# ---------------------------------------------------------------- several kinds of nodes


@pytest.mark.parametrize("settings", ["audit.toml", "rgcn.toml", "pipeline"])
def test_the_network_may_take_several_kinds_of_nodes(tmp_path: Path, settings: str) -> None:
    """The head takes what the network says of people, and columns of theirs; nothing of others."""
    for file in HIRING.iterdir():
        if file.is_file():
            shutil.copy(file, tmp_path / file.name)
    piped, settings = settings == "pipeline", settings.replace("pipeline", "audit.toml")
    plain = load_audit(tmp_path / settings)
    people, names = plain.graph.person_count, plain.graph.feature_names[:4]
    table = tmp_path / "people.csv"
    header, *lines = table.read_text(encoding="utf-8").splitlines()
    interviews = np.random.default_rng(1).integers(0, 9, people)
    rows = [f"{line},{count}" for line, count in zip(lines, interviews, strict=True)]
    table.write_text("\n".join([f"{header},interviews", *rows]), encoding="utf-8")
    text = (tmp_path / settings).read_text(encoding="utf-8")
    line = 'head = "head.onnx"\nhead_columns = ["interviews", "test_score"]\n'
    rule = '[[recourse.attributes]]\nname = "interviews"\ndirection = "up"\nstep = 1\nmax = 12\n'
    text = text.replace("[model]\n", f"[model]\n{line}", 1)
    text = text.replace("[[recourse.attributes]]", f"{rule}\n[[recourse.attributes]]", 1)
    if piped:
        listed = f", features = {json.dumps(names)}"
        assert listed in text
        text = text.replace(listed, "").replace(line, f'{line}preprocessing = "pipeline.onnx"\n')
        draft = Draft()
        own = [draft.input(name, "float32", 1) for name in names]
        draft.output("features", draft.op("Concat", *own, axis=1), 4)
        draft.save(tmp_path / "pipeline.onnx")
    (tmp_path / settings).write_text(text, encoding="utf-8")
    weights = linear_head(tmp_path / "head.onnx", 4, scale=0.1, embeddings=2)
    audit = load_audit(tmp_path / settings)

    assert audit.graph.kinds is not None
    assert audit.graph.feature_names[4] == "interviews"
    assert audit.graph.head_only == (2 if piped else 1)
    assert audit.graph.kinds.blocks[0] == (0, 4)
    assert [probe.hops for probe in audit.probes.kinds] == [p.hops for p in plain.probes.kinds]
    nodes = np.arange(people)
    hidden = plain.batcher.ask_raw(whole(plain.graph), nodes)
    columns = np.stack((interviews, plain.graph.features[:people, 0]), axis=1)
    scores = np.concatenate((hidden, columns), axis=1) @ weights
    by_hand = scores - np.logaddexp(scores[:, :1], scores[:, 1:])
    np.testing.assert_allclose(whole_answers(audit, nodes)[:people], by_hand, atol=1e-3)
    changed = int(interviews[3]) + 3
    answer = try_by_hand(audit, str(audit.graph.ids[3]), (f"interviews={changed}",))
    moved = scores[3] + 3 * weights[2]
    chances = np.exp(moved) / np.exp(moved).sum()
    assert list(answer.probabilities.values()) == pytest.approx(chances, abs=1e-3)
