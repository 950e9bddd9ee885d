"""The hiring sample is what its card and the README of the samples say."""

import hashlib
import re
import runpy
import shlex
import shutil
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from recourse_audit.api import Audit
from tests.audit.hiring_world import SAMPLE, read_world
from tests.command import Finished, command, leave_out_pdfs

SCRIPTS = SAMPLE.parent
SETTINGS = {"hetero": "audit.toml", "rgcn": "rgcn.toml"}
MODELS = tuple(SETTINGS)
SUBJECTS = 24
TUTORIAL = SCRIPTS.parent / "docs" / "tutorials" / "hiring.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)\n```$", re.MULTILINE | re.DOTALL)


def card_of(model: str) -> str:
    return (SAMPLE / "cards" / f"{model}.md").read_text("utf-8")


def run_script(name: str, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    runpy.run_path(str(SCRIPTS / name), run_name="__main__")


@pytest.mark.parametrize("model", MODELS)
def test_a_card_has_the_digest_of_its_model(model: str) -> None:
    digest = hashlib.sha256((SAMPLE / f"{model}.onnx").read_bytes()).hexdigest()
    assert f"sha256 `{digest}`" in card_of(model)


def test_the_sample_is_small() -> None:
    assert sum(path.stat().st_size for path in SAMPLE.rglob("*") if path.is_file()) < 300_000


def test_the_gap_travels_through_employers_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_script("check_truth.py", monkeypatch, "--only", "hiring")
    printed = capsys.readouterr().out
    shares = re.findall(r"valley ([\d.]+) %, city ([\d.]+) %", printed)
    assert len(shares) == 4 * len(MODELS)
    readme = (SCRIPTS / "README.md").read_text("utf-8")
    for hetero, rgcn in zip(shares[:4], shares[4:], strict=True):
        assert f"| {' | '.join((*hetero, *rgcn))} |" in readme
    own, employers = re.findall(r"columns tell region: area ([\d.]+)", printed)
    assert f"{own} on people it was not fitted to" in " ".join(readme.split())
    assert f"employers' columns with {employers}" in " ".join(readme.split())


def test_the_tables_are_written_again_byte_for_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (made_with,) = re.findall(r"numpy ([\d.]+\d)", card_of("hetero"))
    if np.__version__ != made_with:
        pytest.skip(f"the tables were drawn with numpy {made_with}; another may draw differently")
    run_script("make_hiring.py", monkeypatch, "--into", str(tmp_path))
    tables = sorted(path.name for path in SAMPLE.glob("*.csv"))
    assert len(tables) == 7
    for name in tables:
        assert (tmp_path / "hiring" / name).read_bytes() == (SAMPLE / name).read_bytes()


@pytest.mark.parametrize("model", MODELS)
def test_everybody_is_decided_as_onnxruntime_decides(model: str) -> None:
    session = onnxruntime.InferenceSession(SAMPLE / f"{model}.onnx")
    answers = read_world().decide(session, homogenised=model == "rgcn")
    audit = Audit.from_toml(SAMPLE / SETTINGS[model])
    for report in audit.explain_many(["P0003", "person:P0150", "P1200"]):
        answer = answers[report.subject.id.removeprefix("person:")]
        chances = np.exp(answer - answer.max())
        wanted = chances[1] / chances.sum()
        assert report.subject.probabilities["invited"] == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("model", MODELS)
def test_every_option_flips_the_whole_graph_in_both_directions_of_a_relation(
    model: str, tmp_path: Path
) -> None:
    """An option is made in the tables themselves; then onnxruntime decides on everybody."""
    shutil.copytree(SAMPLE, tmp_path, dirs_exist_ok=True)
    settings = tmp_path / SETTINGS[model]
    quick = settings.read_text("utf-8").replace("\noptions = 3\n", "\noptions = 3\ndraws = 0\n")
    settings.write_text(quick, encoding="utf-8")
    session = onnxruntime.InferenceSession(SAMPLE / f"{model}.onnx")
    world = read_world()
    answers = world.decide(session, homogenised=model == "rgcn")
    refused = [person for person, (no, yes) in answers.items() if no >= yes][:SUBJECTS]
    done = set()
    for report in Audit.from_toml(settings).explain_many(refused):
        person = report.subject.id.removeprefix("person:")
        for option in report.to_dict()["recourse"]["options"]:
            changed = world
            for action in option["actions"]:
                changed = changed.after(person, action)
                done.add((action["do"], action.get("kind")))
            no, yes = changed.decide(session, homogenised=model == "rgcn")[person]
            assert yes > no, option
            chance = 1 / (1 + np.exp(no - yes))
            assert option["probabilities"]["invited"] == pytest.approx(chance, abs=1e-4)
    assert {("set", None), ("drop", "recommends"), ("move", "works_at")} <= done


def run_tutorial(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Finished]:
    """Every command of the tutorial, one after the other."""
    shutil.copytree(SAMPLE, folder / "hiring")
    monkeypatch.chdir(folder / "hiring")
    leave_out_pdfs(monkeypatch)
    lines = re.findall(r"^recourse-audit (.+)$", TUTORIAL.read_text("utf-8"), re.MULTILINE)
    assert len(lines) == 11
    done = []
    for words in map(shlex.split, lines):
        columns = 120 if words[0] == "groups" else 80
        done.append(command(*words, columns=columns))
        assert done[-1].code == 0, (words, done[-1].err)
    return done


def blocks_not_printed(done: list[Finished]) -> list[str]:
    """The blocks of output in the tutorial that no command printed."""
    printed = "\n".join(" ".join((each.out + each.err).split()) for each in done)
    blocks = [block for kind, block in BLOCK.findall(TUTORIAL.read_text("utf-8")) if not kind]
    outputs = [block for block in blocks if not block.startswith(("recourse-audit ", "cp "))]
    assert len(outputs) == 9
    return [block for block in outputs if " ".join(block.split()) not in printed]


@pytest.mark.long
def test_the_tutorial_shows_what_the_commands_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert blocks_not_printed(run_tutorial(tmp_path, monkeypatch)) == []
