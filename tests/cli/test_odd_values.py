"""Odd numbers and documents end in one sentence with exit code 2, never in an internal error."""

import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from recourse_audit import Audit
from recourse_audit.audit.load import Selection
from recourse_audit.errors import InputError, SettingsError
from recourse_audit.settings import AttributeRule, Implication, Settings, TieRule, parse_settings
from recourse_audit.settings.section import Section
from tests.audits import SETTINGS, small_audit
from tests.bundles import request_for, run_here
from tests.command import command

ODD = [0, -1, 2**31, 2**63, 2**64, math.inf, -math.inf, math.nan, 1e308, -1e308]
RULES = """
[[recourse.ties]]
kind = "payment"
allow = ["drop"]

[[recourse.attributes]]
name = "f0"
step = 0.5
"""


def numeric_keys(section: type[Section]) -> Iterator[str]:
    for name, field in section.model_fields.items():
        kinds = get_args(field.annotation) or (field.annotation,)
        if {int, float} & set(kinds):
            yield name


SECTIONS = {
    name: field.annotation
    for name, field in Settings.model_fields.items()
    if isinstance(field.annotation, type) and issubclass(field.annotation, Section)
}
KEYS = [(name, key) for name, section in SECTIONS.items() for key in numeric_keys(section)]


def tables(name: str, key: str, value: float) -> dict[str, dict[str, object]]:
    """Settings that are sound but for one value."""
    given: dict[str, dict[str, object]] = {
        "model": {"path": "model.onnx"},
        "graph": {"npz": "graph.npz"},
        "decision": {"classes": ["no", "yes"], "favourable": ["yes"]},
    }
    given.setdefault(name, {})[key] = value
    return given


def accepted(name: str, key: str, value: float, folder: Path) -> bool:
    try:
        parse_settings(tables(name, key, value), folder=folder, origin="audit.toml")
    except SettingsError as error:
        complaint = str(error)
    else:
        return True
    assert complaint.startswith((f"audit.toml: {name}.{key}: ", f"audit.toml: {name}: "))
    assert "\n" not in complaint
    return False


def test_there_are_numeric_keys_in_most_sections() -> None:
    assert {name for name, _ in KEYS} == set(SECTIONS) - {"audit", "graph", "words"}
    assert ("search", "seed") in KEYS
    assert ("model", "timeout") in KEYS


def written(value: float) -> str:
    return str(value) if isinstance(value, int) else repr(value)


def too_long(value: float) -> bool:
    return isinstance(value, int) and value >= 2**63


@pytest.mark.parametrize("value", ODD, ids=str)
def test_every_numeric_key_refuses_an_odd_value_or_works_with_it(
    value: float, tmp_path: Path
) -> None:
    """All keys that accept the value get it at once, and somebody is explained with them."""
    settings = small_audit(tmp_path)
    text = f"{SETTINGS}\n{RULES}"
    lines = [line for line in text.splitlines() if not line.startswith(("max_nodes", "budget"))]
    text = "\n".join(lines)
    for name in SECTIONS:
        keys = [key for one, key in KEYS if one == name and accepted(name, key, value, tmp_path)]
        more = "".join(f"{key} = {written(value)}\n" for key in keys)
        if more and f"[{name}]\n" in text:
            text = text.replace(f"[{name}]\n", f"[{name}]\n{more}")
        elif more:
            text = f"{text}\n[{name}]\n{more}"
    settings.write_text(text, encoding="utf-8")
    done = command("explain", settings, "a")
    if too_long(value):
        assert done.code == 2, "TOML has no whole numbers of more than 64 bits"
        assert "has a whole number of more than 64 bits" in done.err
    else:
        assert done.code == 0, done.err


@pytest.mark.parametrize("rule", [TieRule, AttributeRule, Implication])
@pytest.mark.parametrize("value", ODD, ids=str)
def test_every_number_of_a_rule_is_refused_or_works(
    rule: type[Section], value: float, tmp_path: Path
) -> None:
    settings = small_audit(tmp_path)
    for key in numeric_keys(rule):
        given = f"{key} = {written(value)}"
        match rule.__name__:
            case "TieRule":
                text = RULES.replace('kind = "payment"', f'kind = "payment"\n{given}')
            case "AttributeRule":
                text = RULES.replace(
                    "step = 0.5", given if key == "step" else f"step = 0.5\n{given}"
                )
            case _:
                text = f'{RULES}implies = [{{ name = "f1", {given} }}]\n'
        settings.write_text(f"{SETTINGS}\n{text}", encoding="utf-8")
        done = command("explain", settings, "a")
        assert done.code in (0, 2), done.err
        if done.code:
            where = "is not valid TOML" if too_long(value) else "recourse."
            assert done.err.startswith(f"error: {settings}: {where}"), done.err


OPTIONS = [
    ("run", "--sample"),
    ("run", "--seed"),
    ("run", "--timeout"),
    ("run", "--workers"),
    ("run", "--fail-on"),
    ("inspect", "--timeout"),
    ("explain", "--timeout"),
    ("stability", "--new-ties"),
    ("stability", "--sample"),
    ("verify", "--seed"),
    ("verify", "--replay"),
]
REFUSED = {
    "--timeout": ["0", "-1", str(2**31), str(2**63), "inf", "nan", "-inf", "1e308"],
    "--seed": ["-1", str(2**63), str(2**64), "inf", "nan", "1e308"],
    "--fail-on": ["infeasible=-1", "infeasible=nan", "infeasible=inf", "infeasible=1e308"],
}


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_an_option_refuses_what_it_cannot_use(name: str, option: str, tmp_path: Path) -> None:
    settings = small_audit(tmp_path)
    refused = REFUSED.get(option, ["0", "-1", "inf", "nan", "1e308"])
    for value in refused if name != "verify" else ["-1", "inf", "nan", "1e308"]:
        first: list[str | Path] = [tmp_path if name == "verify" else settings]
        if name == "run":
            first += ["--no-pages", "--out", tmp_path / "bundle"]
        done = command(name, *first, *(["a"] if name == "explain" else []), option, value)
        assert done.code == 2, (value, done.err)
        assert option in done.err
    assert not (tmp_path / "bundle").exists()


@pytest.mark.parametrize("sample", [2**31, 2**63, 2**64])
def test_a_sample_larger_than_the_graph_is_everybody(sample: int, tmp_path: Path) -> None:
    settings = small_audit(tmp_path)
    done = command(
        "stability", settings, "--sample", str(sample), "--new-ties", "1", "--no-options"
    )
    assert done.code == 0, done.err


@pytest.mark.parametrize("seed", [-1, 2**63, 2**64])
def test_a_seed_from_python_is_checked_too(seed: int, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the seed must be from 0 to 2"):
        Audit.from_toml(small_audit(tmp_path), seed=seed)


def test_a_timeout_from_python_is_checked_too(tmp_path: Path) -> None:
    for timeout in (0.0, -1.0, math.inf, math.nan, 1e308):
        with pytest.raises(InputError, match=r"the timeout must be from 0\.1 to 604,800 seconds"):
            Audit.from_toml(small_audit(tmp_path), timeout=timeout)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    settings = small_audit(folder)
    run_here(request_for(settings, folder / "out", Selection(subjects="all")))
    return folder


DOCUMENTS = ["[]", "null", "{}", '{"format": 1e999}', "[" * 100_000]


@pytest.mark.parametrize("file", ["manifest.json", "settings.json"])
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda text: text[:20])
def test_a_document_that_is_none_of_ours_is_refused(
    file: str, document: str, bundle: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    shutil.copytree(bundle / "out", out)
    (out / file).write_text(document, encoding="utf-8")
    # `groups` computes from the store, and does not look at the manifest.
    for name in ("verify", "report", "groups" if file == "settings.json" else "letters"):
        done = command(name, out)
        assert done.code == (5 if name == "verify" else 2), (name, done.err)


def test_settings_nested_beyond_all_measure_are_refused(tmp_path: Path) -> None:
    settings = small_audit(tmp_path)
    settings.write_text(f"a = {'[' * 100_000}", encoding="utf-8")
    done = command("explain", settings, "a")
    assert done.code == 2
    assert done.err.startswith(f"error: {settings}: ")
