"""Exit codes, streams and messages: what a pipeline and a person at a terminal may rely on."""

import re
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import typer

from recourse_audit.cli import program
from recourse_audit.errors import AnswerError
from tests.audits import IDS, SAMPLES, small_audit
from tests.command import command, one_line
from tests.onnx_models import sum_network

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_a_command_that_worked_ends_with_0_and_says_nothing_on_stderr(tmp_path: Path) -> None:
    finished = command("explain", small_audit(tmp_path), "a", "--json")
    assert (finished.code, finished.err) == (0, "")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("max_nodes", "max_node", "audit.toml: search.max_node: is not a known key; did you mean"),
        ('"no", ', "", "audit.toml: decision.classes: names 2 classes"),
        ('["yes"]', '["yess"]', "audit.toml: decision.favourable: names 'yess', which is not in"),
        ("max_nodes = 4", "max_nodes = 1", "audit.toml: search.max_nodes: must be at least 2"),
        ("max_nodes = 4", "max_nodes = 99", "audit.toml: search.max_nodes: must be at most 8"),
        ("budget = 200000", "budget = 0", "audit.toml: search.budget: must be at least 16"),
        ('"model.onnx"', '"gone.onnx"', "gone.onnx: there is no such model file; check model.path"),
        ('"nodes.csv"', '"gone.csv"', "gone.csv: there is no such file; correct the path in graph"),
        ('"f0"', '"F9"', "nodes.csv: there is no column 'F9' (from graph.features); choose from"),
        ("[model]", "[model", "audit.toml: is not valid TOML ("),
    ],
)
def test_bad_settings_are_one_line_with_file_and_key(
    old: str, new: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_audit(tmp_path, old=old, new=new)
    monkeypatch.chdir(tmp_path)
    finished = command("explain", "audit.toml", "a")
    assert finished.code == 2
    assert one_line(finished).startswith(f"error: {words}")


def test_files_are_named_by_the_path_that_was_typed(tmp_path: Path) -> None:
    settings = small_audit(tmp_path, old='"model.onnx"', new='"gone.onnx"')
    assert f"error: {tmp_path / 'gone.onnx'}: " in one_line(command("explain", settings, "a"))
    missing = tmp_path / "nope.toml"
    assert f"error: {missing}: cannot be read (No such" in one_line(
        command("explain", missing, "a")
    )


def test_an_unknown_id_is_one_line_and_ends_with_2(tmp_path: Path) -> None:
    finished = command("explain", small_audit(tmp_path), "a", "[bold]nobody[/]\n")
    assert finished.code == 2
    assert r"there is no node with the id '[bold]nobody[/]\n'" in one_line(finished)


def test_errors_for_some_subjects_end_with_4_and_the_others_are_shown(tmp_path: Path) -> None:
    finished = command("explain", small_audit(tmp_path, "some_nan"), *IDS)
    assert finished.code == 4
    assert "As decided" in finished.out
    assert "not a number" in " ".join(finished.out.split())
    [line] = finished.err.splitlines()
    assert re.match(rf"No result for \d of {len(IDS)}: ", line)


def test_a_mistake_of_ours_is_one_line_without_a_traceback_and_ends_with_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("surprise")

    monkeypatch.setattr("recourse_audit.audit.load.load_audit", fail)
    finished = command("explain", tmp_path / "audit.toml", "a")
    assert finished.code == 1
    assert one_line(finished).startswith("internal error: ZeroDivisionError: surprise; please")


def test_an_interrupted_command_ends_with_130(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("recourse_audit.audit.load.load_audit", interrupt)
    finished = command("explain", tmp_path / "audit.toml", "a")
    assert (finished.code, finished.out) == (130, "")


def test_a_real_interrupt_ends_with_130_and_leaves_no_traceback(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})\n"
        "from recourse_audit.audit import report\n"
        "from recourse_audit.cli import main\n"
        "explain = report.explain\n"
        "def interrupted(*words, **more):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    return explain(*words, **more)\n"
        "report.explain = interrupted\n"
        "main()\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", script, "explain", str(small_audit(tmp_path)), "a"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 128 + signal.SIGINT
    assert "Traceback" not in finished.stderr
    assert finished.stdout == ""


def test_the_installed_command_pipes_data_only(tmp_path: Path) -> None:
    executable = Path(sys.executable).with_name("recourse-audit")
    words = [str(executable), "inspect", str(SAMPLES / "gcn.onnx"), "--json"]
    piped = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert piped.stderr == ""
    assert piped.stdout.startswith("{")


def test_usage_mistakes_end_with_2_and_go_to_stderr() -> None:
    for words in (["explain"], ["bogus"], ["inspect", "--nope"], []):
        finished = command(*words)
        assert (finished.code, finished.out) == (2, "")
        assert "Usage: recourse-audit" in finished.err


def test_the_version_is_that_of_the_package() -> None:
    finished = command("--version")
    assert (finished.code, finished.out) == (0, f"recourse-audit {version('recourse-audit')}\n")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["gone.onnx"], "gone.onnx: there is no such file; correct the path in MODEL"),
        (["."], ".: is a folder"),
        (["nodes.csv"], "nodes.csv: is not an ONNX model"),
        (["model.onnx", "--graph", "gone.npz"], "gone.npz: there is no such file; correct the"),
        (["model.onnx", "--graph", "nodes.csv"], "nodes.csv: --graph takes an npz file, or an"),
    ],
)
def test_what_inspect_cannot_use_is_named_as_it_was_typed(
    words: list[str], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_audit(tmp_path)
    monkeypatch.chdir(tmp_path)
    finished = command("inspect", *words)
    assert finished.code == 2
    assert one_line(finished).startswith(f"error: {complaint}")


def test_inspect_refuses_a_graph_with_other_features_than_the_model_takes(tmp_path: Path) -> None:
    settings = small_audit(tmp_path)
    finished = command("inspect", SAMPLES / "gcn.onnx", "--graph", settings)
    assert finished.code == 2
    assert one_line(finished).startswith(f"error: {settings}: graph.features: the model")


def test_inspect_says_what_the_probe_of_determinism_can_see(tmp_path: Path) -> None:
    steady = command("inspect", sum_network(tmp_path / "steady.onnx"))
    assert "checked on 8 small graphs, each asked about 4 times" in steady.err
    random = command("inspect", sum_network(tmp_path / "random.onnx", trap="dropout"))
    assert "Determinism was checked" not in random.err


def test_inspect_shows_what_it_can_of_a_model_that_cannot_be_asked(tmp_path: Path) -> None:
    finished = command("inspect", small_audit(tmp_path, "nan"))
    assert finished.code == 2
    assert "edge_index" in finished.out
    assert finished.err.splitlines()[-1].startswith("error: ")
    as_data = command("inspect", tmp_path / "audit.toml", "--json")
    assert as_data.code == 2
    assert as_data.err == f"error: {as_data.document['problem']}\n"


def test_a_wrong_policy_is_one_line_and_ends_with_2(tmp_path: Path) -> None:
    policy = '[[recourse.ties]]\nkind = "friend"\nallow = ["drop"]\n[search]'
    finished = command("explain", small_audit(tmp_path, old="[search]", new=policy), "a")
    assert finished.code == 2
    assert "recourse.ties[0].kind: there is no kind of tie 'friend'; choose from" in one_line(
        finished
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            "drop a-z",
            "does not name two people and a kind of tie of this graph; write drop ID-ID:KIND",
        ),
        ("drop a-c", "there is no tie between the two"),
        ("f7=1", "there is no feature 'f7'; choose from"),
        ("f1=many", "'many' is not a finite number"),
        ("gender=f", "the model does not see 'gender'"),
        (
            "more",
            "is not one of drop ID-ID, add ID-ID:KIND, move ID-ID:KIND to ID and ATTRIBUTE=VALUE",
        ),
    ],
)
def test_a_change_that_cannot_be_tried_is_one_line_and_ends_with_2(
    change: str, words: str, tmp_path: Path
) -> None:
    finished = command("explain", small_audit(tmp_path), "a", "--what-if", change)
    assert finished.code == 2
    assert one_line(finished).startswith(f"error: --what-if {change!r}: {words}")


def test_options_that_could_not_be_worked_out_end_with_4(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise AnswerError("the model's answer is not a number after drop a-b:payment")

    monkeypatch.setattr("recourse_audit.recourse.search.action_table", fail)
    settings = small_audit(tmp_path, old='["yes"]', new='["no"]')
    reports = command("explain", settings, *IDS, "--json").document
    refused = [r for r in reports if not r["subject"]["favourable"]]
    assert refused
    assert all(report["recourse"]["status"] == "error" for report in refused)
    finished = command("explain", settings, *IDS)
    assert finished.code == 4
    assert f"No options found for {len(refused)} of {len(IDS)}: " in finished.err
    text = " ".join(finished.out.split())
    assert "The search for options failed: the model's answer is not a number after" in text


def test_the_commands_in_the_documentation_exist_with_their_options() -> None:
    group = typer.main.get_command(program.app)
    commands = getattr(group, "commands")  # noqa: B009  # typer does not say which click it is
    seen = set()
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        shown = re.findall(r"^(?:\$ )?recourse-audit (.+)$", text, re.MULTILINE)
        shown += re.findall(r"`recourse-audit ([^`]+)`", text)
        for line in shown:
            name, *words = line.split("#")[0].split()
            if name.startswith("-"):
                continue
            assert name in commands, f"{page.name}: recourse-audit {line}"
            params = commands[name].params
            known = {word for each in params for word in (*each.opts, *each.secondary_opts)}
            given = words[: words.index("--")] if "--" in words else words
            options = {word.split("=")[0] for word in given if word.startswith("--")}
            assert options <= known, f"{page.name}: recourse-audit {line}"
            seen.add(name)
    assert seen == set(commands)


def test_the_schema_of_every_document_goes_to_stdout_alone() -> None:
    for name, title in (
        ("settings", "Settings"),
        ("subject", "SubjectReport"),
        ("groups", "GroupReport"),
        ("stability", "StabilityReport"),
        ("inspection", "ModelReport"),
        ("verification", "Verification"),
        ("manifest", "Manifest"),
    ):
        finished = command("schema", name)
        assert (finished.code, finished.err) == (0, ""), name
        assert finished.document["title"] == title
    refused = command("schema", "nothing")
    assert refused.code == 2
    assert "there is no such document; choose from 'settings', 'subject'" in one_line(refused)
