"""Settings are checked once, with messages that name the file, the key and the value."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from recourse_audit.errors import SettingsError
from recourse_audit.settings import (
    Settings,
    fingerprint_text,
    load_bundle_settings,
    load_settings,
    parse_settings,
    settings_schema,
    settings_text,
)
from recourse_audit.settings.section import close_matches

TABLES: dict[str, Any] = {
    "model": {"path": "model.onnx"},
    "graph": {"nodes": "nodes.csv", "edges": "edges.csv", "features": ["income"]},
    "decision": {"classes": ["denied", "approved"], "favourable": ["approved"]},
}
DESIGN = """
[model]
path = "model.onnx"
roles = { x = "features", edge_index = "edges" }
output = "logits"
depth = 2
[graph]
nodes = "nodes.csv"
edges = "edges.csv"
id = "id"
features = ["income", "debt_ratio"]
directed = false
[decision]
classes = ["denied", "approved"]
favourable = ["approved"]
[groups]
attributes = ["gender", "age_band"]
[search]
max_nodes = 4
max_hops = 2
budget = 200000
[recourse]
max_changes = 3
options = 3
budget = 5000
[[recourse.ties]]
kind = "guarantor"
allow = ["drop", "add"]
cost = 1.0
[[recourse.ties]]
kind = "*"
allow = []
[[recourse.attributes]]
name = "savings"
direction = "up"
step = 500
max = 20000
cost = 0.1
"""


def parsed(**changes: Any) -> Settings:
    """Settings with some keys changed; a key whose value is None is left out."""
    tables = copy.deepcopy(TABLES)
    for section, keys in changes.items():
        if isinstance(keys, dict):
            merged = {**tables.get(section, {}), **keys}
            tables[section] = {key: value for key, value in merged.items() if value is not None}
        else:
            tables[section] = keys
    return parse_settings(tables, folder=Path("there"), origin="there/audit.toml")


def message_of(**changes: Any) -> str:
    with pytest.raises(SettingsError) as raised:
        parsed(**changes)
    assert raised.value.exit_code == 2
    message = str(raised.value)
    assert message.startswith("there/audit.toml: ")
    assert "\n" not in message
    return message.removeprefix("there/audit.toml: ")


def test_the_example_from_the_design_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "audit.toml"
    path.write_text(DESIGN, encoding="utf-8")
    settings = load_settings(path)
    assert settings.recourse.ties[0].allow == ("drop", "add")
    assert settings.recourse.ties[1].allow == ()
    assert settings.recourse.attributes[0].step == 500


def test_absent_keys_have_the_documented_defaults() -> None:
    settings = parsed()
    assert (settings.search.max_nodes, settings.search.max_hops) == (4, None)
    assert settings.search.budget == 200_000
    assert settings.model.depth is None
    assert not settings.graph.directed


def test_memory_is_written_with_its_unit_or_in_megabytes() -> None:
    for written, megabytes in (("4 GB", 4096), ("600 MB", 600), (700, 700), (None, None)):
        assert parsed(model={"memory": written}).model.memory == megabytes
    [number, text, _] = json.loads(settings_schema())["$defs"]["ModelSettings"]["properties"][
        "memory"
    ]["anyOf"]
    assert (number["type"], text["type"]) == ("integer", "string")


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    path = tmp_path / "audit.toml"
    path.write_text(DESIGN.replace('"nodes.csv"', '"/data/nodes.csv"'), encoding="utf-8")
    settings = load_settings(path)
    assert settings.model.path == tmp_path / "model.onnx"
    assert settings.graph.edges == tmp_path / "edges.csv"
    assert settings.graph.nodes == Path("/data/nodes.csv")


def test_settings_are_frozen() -> None:
    settings = parsed()
    with pytest.raises(ValidationError, match="frozen"):
        settings.search.max_nodes = 5
    with pytest.raises(ValidationError, match="frozen"):
        settings.model = settings.model


def words_for(*end: str, together: bool) -> dict[str, Any]:
    """Words for ending address ties, and a rule that ends them together or one by one."""
    rule = {"kind": "address", "allow": ["drop"], "together": together}
    return {
        "recourse": {"ties": [rule]},
        "words": {"en": {"ties": {"address": {"end": list(end)}}}},
    }


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": {"pth": "m"}}, "model.pth: is not a known key; did you mean path?"),
        ({"serch": {}}, "serch: is not a known key; did you mean search?"),
        ({"zzzzz": 1}, "zzzzz: is not a known key; known keys here: audit, model,"),
        ({"model": {"path": None}}, "model.path: is missing"),
        ({"model": {"path": 3}}, "model.path: must be a path, in quotes (got 3)"),
        ({"model": {"path": "a\0b"}}, "model.path: holds a null character, which no path can"),
        ({"model": [1]}, "model: must be a table"),
        ({"model": {"roles": 3}}, "model.roles: must be a table: { name = value } (got 3)"),
        (
            {"model": {"roles": {"x": "feature"}}},
            "model.roles: x: there is no role 'feature'; a role is one of features, edges, sources",
        ),
        (
            {"model": {"roles": {"x": "edges:works_at:backwards"}}},
            "model.roles: x: there is no role 'edges:works_at:backwards'",
        ),
        (
            {"model": {"output": "scores"}},
            "model.output: must be 'logits', 'probabilities', 'log_probabilities' or 'score'",
        ),
        ({"model": {"depth": -1}}, "model.depth: must be at least 0 (got -1)"),
        ({"model": {"depth": 17}}, "model.depth: must be at most 16 (got 17)"),
        ({"model": {"memory": 63}}, "model.memory: must be at least 64 (got 63)"),
        (
            {"model": {"memory": "4 TB"}},
            "model.memory: must be like '4 GB' or '4000 MB', or",
        ),
        ({"model": {"memory": "9" * 5000 + " MB"}}, "model.memory: must be like '4 GB'"),
        ({"model": {"memory": "-4 GB"}}, "model.memory: must be like '4 GB'"),
        ({"model": {"self_loops": "yes"}}, "model.self_loops: must be 'none' or 'add'"),
        ({"model": {"normalisation": "l2"}}, "model.normalisation: must be 'none', 'symmetric'"),
        ({"graph": {"nodes": None, "edges": None}}, "graph: needs exactly one of nodes"),
        ({"graph": {"npz": "g.npz"}}, "(got nodes and npz)"),
        ({"graph": {"edges": None}}, "graph: needs edges as well as nodes"),
        ({"graph": {"features": None}}, "graph: needs features"),
        ({"graph": {"features": ["a", 1]}}, "graph.features[1]: must be text, in quotes (got 1)"),
        ({"graph": {"directed": "perhaps"}}, "graph.directed: must be true or false"),
        ({"decision": {"classes": ["a"]}}, "decision.classes: must name at least 2"),
        ({"decision": {"classes": ["a", "a"]}}, "decision.classes: names 'a' twice"),
        ({"decision": {"favourable": []}}, "decision.favourable: must name at least 1"),
        ({"decision": {"favourable": "approved"}}, "decision.favourable: must be a list"),
        (
            {"decision": {"favourable": ["aproved"]}},
            "decision.favourable: names 'aproved', which is not in decision.classes; did you mean",
        ),
        (
            {"decision": {"favourable": ["denied", "approved"]}},
            "decision.favourable: names every class",
        ),
        (
            {"decision": {"cut_off": 1.2}},
            "decision.cut_off: a cut-off for probabilities lies between 0 and 1 (got 1.2)",
        ),
        ({"decision": {"cut_off": 0.0}}, "decision.cut_off: a cut-off for probabilities lies"),
        ({"decision": {"cut_off": float("nan")}}, "decision.cut_off: must be a finite number"),
        (
            {"decision": {"cut_off_by": {"column": "c", "values": {"x": 620}}}},
            "decision.cut_off_by.values.x: a cut-off for probabilities lies between 0 and 1",
        ),
        ({"decision": {"cut_off": 0.6, "quota": 3}}, "cut_off and quota are different rules"),
        ({"decision": {"quota": 0}}, "decision.quota: must be a whole number of people, or a"),
        ({"decision": {"quota": 1.5}}, "decision.quota: must be a whole number of people, or a"),
        ({"decision": {"better": "lower"}}, "decision.better: only scores can be better when"),
        ({"model": {"output": "score"}}, "decision: a score decides nothing by itself; set"),
        (
            {"model": {"output": "score"}, "decision": {"classes": ["a", "b", "approved"]}},
            "decision.classes: a score model takes one of two decisions",
        ),
        ({"search": {"max_nodes": 1}}, "search.max_nodes: must be at least 2 (got 1)"),
        ({"search": {"max_nodes": 99}}, "search.max_nodes: must be at most 8 (got 99)"),
        ({"search": {"max_nodes": 2.5}}, "search.max_nodes: must be a whole number (got 2.5)"),
        ({"search": {"max_nodes": "four"}}, "search.max_nodes: must be a whole number"),
        ({"search": {"max_hops": 0}}, "search.max_hops: must be at least 1"),
        ({"search": {"budget": 0}}, "search.budget: must be at least 16, enough for one"),
        ({"search": {"max_nodes": 8, "budget": 255}}, "search.budget: must be at least 256"),
        ({"search": {"seed": -1}}, "search.seed: must be at least 0"),
        ({"recourse": {"max_changes": 7}}, "recourse.max_changes: must be at most 6"),
        ({"recourse": {"ties": {"kind": "x"}}}, "recourse.ties: must be a list"),
        (
            {"recourse": {"ties": [{"kid": "x", "allow": []}]}},
            "recourse.ties[0].kid: is not a known key; did you mean kind? (and 1 more)",
        ),
        (
            {"recourse": {"ties": [{"kind": "x", "allow": ["cut"]}]}},
            "recourse.ties[0].allow[0]: must be 'drop', 'add' or 'move' (got 'cut')",
        ),
        (
            {"recourse": {"attributes": [{"name": "x", "step": 0}]}},
            "recourse.attributes[0].step: must be more than 0",
        ),
        (
            {"recourse": {"attributes": [{"name": "x", "step": float("inf")}]}},
            "recourse.attributes[0].step: must be a finite number",
        ),
        (
            {"recourse": {"attributes": [{"name": "x", "step": 1, "min": 3, "max": 2}]}},
            "recourse.attributes[0]: min must not be more than max (got 3 and 2)",
        ),
        (
            {"recourse": {"attributes": [{"name": "x", "step": 0.5, "integer": True}]}},
            "recourse.attributes[0]: integer needs a step that is a whole number (got 0.5)",
        ),
        (
            {"recourse": {"attributes": [{"name": "x", "step": 1, "scale": 0}]}},
            "recourse.attributes[0]: scale must not be 0",
        ),
        (
            {"recourse": {"attributes": [{"name": "x", "step": 1}, {"name": "x", "step": 2}]}},
            "recourse.attributes: has two rules for 'x'; remove one of them",
        ),
        (
            {"recourse": {"attributes": [{"name": "x", "step": 1, "implies": [{"name": "x"}]}]}},
            "recourse.attributes[0].implies[0]: needs either by (of a number) or to",
        ),
        (
            {
                "recourse": {
                    "attributes": [
                        {"name": "x", "step": 1, "implies": [{"name": "x", "by": 1}]},
                    ]
                }
            },
            "recourse.attributes[0]: implies must not name 'x' itself",
        ),
        (
            {
                "recourse": {
                    "attributes": [{"name": "x", "step": 1, "implies": [{"name": "y", "bi": 1}]}]
                }
            },
            "recourse.attributes[0].implies[0].bi: is not a known key; known keys here: name, by",
        ),
        (
            {"recourse": {"ties": [{"kind": "x", "whose": "others", "allow": ["add"]}]}},
            "recourse.ties[0]: a person cannot add or move a tie between two other people",
        ),
        (
            {"recourse": {"ties": [{"kind": "x", "whose": "mine", "allow": []}]}},
            "recourse.ties[0].whose: must be 'own', 'outgoing', 'others' or 'any' (got 'mine')",
        ),
        (
            {"groups": {"attributes": ["a", "b", "a"]}},
            "groups.attributes: names 'a' twice; remove one of them",
        ),
        (
            {"groups": {"attributes": ["age"], "bins": {"age": [30, 50, 50]}}},
            "groups.bins: the boundaries for 'age' must be in ascending order (got 30, 50, 50)",
        ),
        (
            {"groups": {"attributes": ["age"], "bins": {"age": []}}},
            "groups.bins: must give at least one boundary for 'age' (got [])",
        ),
        (
            {"groups": {"attributes": ["age"], "bins": {"age": ["old"]}}},
            "groups.bins.age[0]: must be a number (got 'old')",
        ),
        (
            {"groups": {"attributes": ["sex", "age"], "bins": {"aeg": [30]}}},
            "groups: bins names 'aeg', which is not in groups.attributes; did you mean 'age'?",
        ),
        (
            {"groups": {"reference": {"sex": "f"}}},
            "groups: reference names 'sex', which is not in groups.attributes; there are none",
        ),
        (
            {"groups": {"attributes": ["sex"], "given": ["sex"]}},
            "groups: given names the protected attribute 'sex'; its groups are compared; name",
        ),
        (
            {"groups": {"attributes": ["sex"], "given": ["age"], "bins": {"aeg": [30]}}},
            "bins names 'aeg', which is not in groups.attributes or groups.given; did you mean",
        ),
        (
            {"decision": {"outcome": "repaid"}, "groups": {"given": ["repaid"]}},
            "groups.given names 'repaid', which is decision.outcome: people alike are told by",
        ),
        ({"groups": {"smallest": 1}}, "groups.smallest: must be at least 2 (got 1)"),
        ({"groups": {"alpha": 0}}, "groups.alpha: must be more than 0 (got 0)"),
        ({"groups": {"atributes": []}}, "groups.atributes: is not a known key; did you mean att"),
        (
            words_for("move to another address", together=False),
            "words: en.ties.address.end has no {count} ('move to another address'), but the pol",
        ),
        (
            words_for("end a tie", "end {count} ties", together=True),
            "words: en.ties.address.end has {count} ('end {count} ties'), but the policy ends all",
        ),
        (
            {"letters": {"about": 5}},
            "letters.about: must be text, in quotes (got 5)",
        ),
        (
            {"letters": {"about": {"german": "x"}}},
            "letters.about.german: must be a language such as en or de (got 'german')",
        ),
        (
            {"letters": {"about": {"en": "x", "de": " "}}},
            "letters.about.de: needs text (got ' ')",
        ),
        ({"recourse": {"jitter": 2}}, "recourse.jitter: must be at most 1 (got 2)"),
        ({"recourse": {"candidates": 3}}, "recourse.candidates: must be a path, in quotes"),
    ],
)
def test_a_problem_is_reported_with_its_key_and_value(changes: dict[str, Any], words: str) -> None:
    assert words in message_of(**changes)


def test_the_message_about_a_missing_file_says_how_to_create_one(tmp_path: Path) -> None:
    with pytest.raises(
        SettingsError, match=r"audit\.toml: cannot be read \(No such file.*create one"
    ):
        load_settings(tmp_path / "audit.toml")


def test_a_folder_is_not_a_settings_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"\(Is a directory\); name an audit\.toml"):
        load_settings(tmp_path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\xff\xfe\x00", "is not valid TOML ('utf-8' codec"),
        (b"[model\npath", "is not valid TOML ("),
        (b"a = " + b"9" * 5000, "is not valid TOML (Exceeds the limit "),
        (b"a = [0x" + b"f" * 5000, "is not valid TOML ("),
        (b"a = [0x" + b"f" * 5000 + b"]", "is not valid TOML (it has a whole number of more than"),
        (b"a = " + b"[" * 5000, "is not valid TOML (its lists are nested too deeply"),
    ],
)
def test_a_file_of_another_kind_is_refused(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "audit.toml"
    path.write_bytes(content)
    with pytest.raises(SettingsError) as raised:
        load_settings(path)
    assert str(raised.value).startswith(f"{path}: {words}")


def written(folder: Path, settings: Settings) -> Path:
    (folder / "settings.json").write_text(settings_text(settings, folder), encoding="utf-8")
    return folder


def test_the_settings_of_a_bundle_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "audit.toml"
    letters = """
[groups.bins]
age_band = [30, 50.5]
[letters]
sender = "Bürgschaftsbank"
about = { en = "Your loan", de = "Ihr Kredit" }
[audit]
data_as_of = 2026-03-31
[words.en]
month = ["month", "months"]
[words.en.ties.guarantor]
name = ["guarantor", "guarantors"]
"""
    candidates = 'budget = 5000\ncandidates = "/data/candidates.csv"'
    design = DESIGN.replace("budget = 5000", candidates)
    path.write_text(f"{design}{letters}", encoding="utf-8")
    settings = load_settings(path)
    assert load_bundle_settings(written(tmp_path, settings)) == settings


def test_a_bundle_keeps_every_setting_with_paths_relative_to_the_file(tmp_path: Path) -> None:
    path = tmp_path / "audit.toml"
    path.write_text(DESIGN.replace('"nodes.csv"', '"/data/nodes.csv"'), encoding="utf-8")
    settings = load_settings(path)
    text = settings_text(settings, tmp_path)
    document = json.loads(text)
    assert text == f"{json.dumps(document, ensure_ascii=False, indent=2)}\n"
    assert list(document) == list(Settings.model_fields)
    assert document["model"]["path"] == "model.onnx"
    assert document["graph"]["nodes"] == "/data/nodes.csv"
    assert document["graph"]["npz"] is None
    assert document["recourse"]["ties"][0]["allow"] == ["drop", "add"]
    assert document["search"]["counterfactuals"] == 3


def test_the_fingerprint_covers_the_settings_that_results_depend_on(tmp_path: Path) -> None:
    text = fingerprint_text(parsed(), Path("there"))
    assert text == fingerprint_text(parsed(search={"seed": 7}), Path("there"))
    assert text == fingerprint_text(parsed(letters={"sender": "A"}), Path("there"))
    assert text == fingerprint_text(parsed(model={"timeout": 9, "memory": 900}), Path("there"))
    assert text != fingerprint_text(parsed(search={"budget": 100_000}), Path("there"))
    assert json.loads(text)["model"]["path"] == "model.onnx"
    assert ": " not in text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot be read (No such file or directory); restore it"),
        (b"{", "was changed, it is not valid JSON; restore it"),
        (b"\xff\xfe\x00", "was changed, it is not valid JSON; restore it"),
        (b"[]", "was changed, or written by another version"),
        (b"{}", "was changed, or written by another version of recourse-audit (model: is missing"),
        (b'{"serch": {}}', "serch: is not a known key; did you mean search?"),
    ],
)
def test_a_problem_with_the_settings_of_a_bundle_is_reported(
    content: bytes | None, words: str, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / "settings.json").write_bytes(content)
    with pytest.raises(SettingsError) as raised:
        load_bundle_settings(tmp_path)
    message = str(raised.value)
    assert message.startswith(f"{tmp_path / 'settings.json'}: ")
    assert words in message
    assert "rerun the audit" in message
    assert "\n" not in message


def test_the_schema_knows_every_section_and_requires_what_is_required() -> None:
    schema = json.loads(settings_schema())
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert set(schema["properties"]) == set(Settings.model_fields)
    assert set(schema["required"]) == {"model", "graph", "decision"}
    assert schema["additionalProperties"] is False
    definitions = schema["$defs"]
    assert definitions["ModelSettings"]["required"] == ["path"]
    assert definitions["DecisionSettings"]["required"] == ["classes", "favourable"]
    for definition in definitions.values():
        assert definition["additionalProperties"] is False


def test_the_schema_accepts_one_text_or_one_per_language() -> None:
    about = json.loads(settings_schema())["$defs"]["LetterSettings"]["properties"]["about"]
    assert about["oneOf"] == [
        {"type": "string"},
        {"type": "object", "additionalProperties": {"type": "string"}},
    ]


@pytest.mark.parametrize(
    ("typed", "meant"), [("LN-0004", "LN-00004"), ("ln-4", "LN-00004"), ("LN-0060", "LN-00060")]
)
def test_names_that_differ_in_zeros_in_front_are_the_nearest(typed: str, meant: str) -> None:
    known = [f"LN-{number:05d}" for number in range(700)]
    assert close_matches(typed, known) == f"did you mean {meant!r}?"
    assert close_matches("LN-0004", ["LN-0005", "x"]) == "did you mean 'LN-0005'?"
