"""A newcomer at a terminal: questions of `init`, checks of `doctor`, variables, completion."""

import os
import pty
import re
import select
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from recourse_audit.audit.init import find_encodings, find_standardised
from recourse_audit.audit.questions import read_changes, read_decisions
from recourse_audit.audit.sections import guess_step
from recourse_audit.errors import InputError
from recourse_audit.render import libraries
from recourse_audit.settings import load_settings
from tests.audits import SAMPLES, small_audit
from tests.command import command

PROGRAM = [sys.executable, "-m", "recourse_audit"]
ROOT = Path(__file__).parents[2]


def at_a_terminal(words: Sequence[str | Path], answers: Sequence[str]) -> tuple[str, int]:
    """What a command printed at a terminal of 80 columns, where each prompt got an answer."""
    child, terminal = pty.fork()
    if not child:
        os.environ |= {"COLUMNS": "80", "TERM": "dumb", "PYTHONPATH": str(ROOT)}
        os.execv(PROGRAM[0], [*PROGRAM, *map(str, words)])
    printed, seen, left = b"", 0, [*answers]
    while select.select([terminal], [], [], 120)[0]:
        try:
            printed += os.read(terminal, 4096)
        except OSError:  # the command has ended
            break
        if printed[seen:].endswith(b"> ") and left:
            seen = len(printed)
            answer = left.pop(0)
            os.write(terminal, b"\x04" if answer == "^D" else f"{answer}\n".encode())
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    return printed.decode().replace("\r\n", "\n"), os.waitstatus_to_exitcode(status)


def init_words(out: Path) -> list[str | Path]:
    tables: list[str | Path] = ["--nodes", SAMPLES / "nodes.csv", "--edges", SAMPLES / "edges.csv"]
    return ["init", SAMPLES / "gcn.onnx", *tables, "--out", out]


def test_init_asks_and_writes_a_file_that_it_has_tried(tmp_path: Path) -> None:
    out = tmp_path / "audit.toml"
    answers = [
        "refused, approved",  # nothing is marked
        "refused, approved*",
        "65",
        "none",
        "origin, gendr",
        "",
        "gender-",
        "age_years+, savings+",
        "savings+, loan_amount-, guarantor",
        "",
        "Bank; Jo; 0800 1",
    ]
    printed, code = at_a_terminal(init_words(out), answers)
    assert code == 0, printed
    words = " ".join(printed.split())
    assert re.findall(r"^\d\. ", printed, re.MULTILINE) == [f"{n}. " for n in range(1, 7)]
    assert "put * after what people hope for" in printed
    assert "there is no column 'gendr'; did you mean 'gender'" in printed
    assert "never suggested: family" in printed
    assert "the probability of approved is" in printed, "by its new name"
    assert "a cut-off for probabilities lies between 0 and 1 (got 65)" in words
    assert "'gender' is protected, so no change of it is suggested" in words
    assert re.search(r"Tried it on P\d{4}: refused, ", printed)
    settings = load_settings(out)
    assert settings.decision.favourable == ("approved",)
    assert settings.groups.attributes == ("gender", "origin", "age_band"), "the guess, by Enter"
    assert [rule.kind for rule in settings.recourse.ties] == ["guarantor"]
    rules = {rule.name: rule.direction for rule in settings.recourse.attributes}
    assert rules == {"savings": "up", "loan_amount": "down"}
    assert (settings.letters.sender, settings.letters.contact) == ("Bank", ("Jo", "0800 1"))


def test_init_left_early_writes_nothing_and_without_questions_it_asks_none(tmp_path: Path) -> None:
    out = tmp_path / "audit.toml"
    printed, code = at_a_terminal(init_words(out), ["", "^D"])
    assert (code, out.exists()) == (130, False)
    printed, code = at_a_terminal([*init_words(out), "--no-input"], [])
    assert (code, "1. " in printed) == (0, False)
    assert load_settings(out).recourse.attributes == ()


def test_thermometers_are_told_from_chance_and_keep_their_order() -> None:
    level = np.arange(200) % 4
    names = ["edu_2", "edu_1", "edu_3"]
    columns = np.stack([level >= 2, level >= 1, level >= 3], axis=1).astype(float)
    [encoding] = find_encodings(names, columns)
    assert (encoding.kind, encoding.columns) == ("thermometer", ("edu_1", "edu_2", "edu_3"))
    assert encoding.labels == ("below 1", "1", "2", "3")
    columns[0] = [1, 0, 0]  # one person breaks the order
    assert find_encodings(names, columns) == []
    rare = np.zeros((200, 2))
    rare[:2, 0] = rare[0, 1] = 1
    assert find_encodings(["has_car", "has_boat"], rare) == [], "two rare things, by chance"


def test_only_columns_without_units_count_as_standardised() -> None:
    draws = np.random.default_rng(0).normal(size=300)
    signs = np.where(np.arange(300) % 2, 1.0, -1.0)
    columns = np.stack([(draws - draws.mean()) / draws.std(), 800 + 300 * draws, signs], axis=1)
    assert find_standardised(["z", "euros", "sign"], columns) == ["z"]


def test_steps_are_round_and_whole_where_values_are() -> None:
    assert guess_step(np.arange(0, 21_000, 7)) == 2000
    assert guess_step(np.linspace(0, 1, 101)) == 0.1
    assert guess_step(np.array([1.0, 1.0])) == 1


@pytest.mark.parametrize("answer", ["a*", "a*, a", "a*, b*", "a, b", "a*, b, c"])
def test_names_of_decisions_that_cannot_be_meant_are_refused(answer: str) -> None:
    with pytest.raises(InputError):
        read_decisions(2, (), answer)


def test_decisions_keep_the_names_that_the_record_has() -> None:
    with pytest.raises(InputError, match="are called no, yes; keep these names"):
        read_decisions(2, ["no", "yes"], "refused, approved*")
    assert read_decisions(2, ["no", "yes"], "yes, no*") == (["yes", "no"], ["no"])


def test_doctor_says_what_an_audit_costs(tmp_path: Path) -> None:
    settings = small_audit(tmp_path, old='favourable = ["yes"]', new='favourable = ["no"]')
    finished = command("doctor", settings, "--workers", "2")
    assert finished.code == 0, finished.out
    words = " ".join(finished.out.split())
    assert "onnxruntime" in words
    assert "letters stay drafts until these are filled in: letters.profile" in words
    assert re.search(r"an audit of \d+ people takes .* with 2 workers and at most [\d,]+ MB", words)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"old": "[model]", "new": "[modle]"}, "modle: is not a known key; did you mean model?"),
        ({"old": '"edges.csv"', "new": '"edge.csv"'}, "there is no such file; correct the path"),
        ({"old": "favourable = ", "new": 'recorded = "x"\nfavourable = '}, "no column 'x'"),
    ],
)
def test_doctor_says_what_must_be_mended(
    changes: dict[str, str], words: str, tmp_path: Path
) -> None:
    finished = command("doctor", small_audit(tmp_path, **changes))
    assert finished.code == 2
    assert words in " ".join(finished.out.split()).partition("FAILS ")[2]


def test_doctor_names_what_pdfs_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries, "find_missing", lambda: iter(["pango", "subset"]))
    finished = command("doctor")
    assert finished.code == 0, "everything else works"
    assert "Pango is missing; install libpango-1.0-0" in " ".join(finished.out.split())


def test_options_are_read_from_variables_but_nobody_signs_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOURSE_AUDIT_DOCTOR_COST", "0")
    monkeypatch.setenv("RECOURSE_AUDIT_LETTERS_SIGN_OFF", "A. Clerk")
    assert "an audit of" not in command("doctor", small_audit(tmp_path)).out
    monkeypatch.setenv("RECOURSE_AUDIT_SCHEMA_JSON", "1")
    assert "RECOURSE_AUDIT" not in command("run", "--help").out
    assert "--sign-off" not in command("letters", tmp_path).err


def test_a_message_names_the_variable_that_is_wrong_or_misspelt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOURSE_AUDIT_RUN_SAMPLE", "many")
    refused = command("run", tmp_path).err
    assert "RECOURSE_AUDIT_RUN_SAMPLE" in refused
    assert "--sample" not in refused
    assert "'--sample'" in command("run", tmp_path, "--sample", "many").err
    monkeypatch.setenv("RECOURSE_AUDIT_RUN_SAMPEL", "5")
    finished = command("schema", "settings")
    assert finished.code == 0
    [line] = finished.err.splitlines()
    assert line.startswith("! RECOURSE_AUDIT_RUN_SAMPEL: ")
    assert "did you mean 'RECOURSE_AUDIT_RUN_SAMPLE'" in line


def test_help_names_the_type_of_one_value() -> None:
    assert "list[" not in "".join(command(name, "--help").out for name in ("stability", "study"))


def test_shells_complete_commands_and_options() -> None:
    def complete(line: str) -> list[str]:
        asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
        variables = os.environ | asked | {"_RECOURSE_AUDIT_COMPLETE": "complete_bash"}
        return subprocess.run(
            PROGRAM, env=variables, cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.split()

    assert complete("recourse-audit do") == ["doctor"]
    assert {"--sample", "--stratify"} <= {*complete("recourse-audit run --s")}


def test_toml_of_answers_is_valid_for_any_name(tmp_path: Path) -> None:
    """Kinds with quotes and dots become keys that TOML reads back."""
    from recourse_audit.audit.sections import name_key

    for name in ('a "b"', "works.at", "é", "plain-1"):
        assert tomllib.loads(f"[{name_key(name)}]\nx = 1") == {name: {"x": 1}}


def test_changes_that_cannot_be_advised_are_told_apart_from_unknown_names() -> None:
    barred = {"arrears": "is not among the model's columns"}
    with pytest.raises(InputError, match="'arrears' is not among the model's columns"):
        read_changes(["income"], ["loan"], barred, "arrears-")
    with pytest.raises(InputError, match="there is no column or kind of tie 'arears'"):
        read_changes(["income"], ["loan"], barred, "arears")
    assert read_changes(["income"], ["loan"], barred, "income+, loan") == {
        "income": "up",
        "loan": "end",
    }


def test_messages_at_a_terminal_break_between_words(tmp_path: Path) -> None:
    printed, code = at_a_terminal(["init", SAMPLES / "gcn.onnx", "--out", tmp_path / "a.toml"], [])
    assert code == 2
    assert max(map(len, printed.splitlines())) <= 80
    assert "init needs the graph: --nodes FILE --edges FILE" in " ".join(printed.split())


def test_doctor_names_somebody_refused_and_words_for_nothing(tmp_path: Path) -> None:
    settings = small_audit(tmp_path, old='favourable = ["yes"]', new='favourable = ["no"]')
    with settings.open("a", encoding="utf-8") as file:
        file.write('[words.en.ties.paymnt]\nname = "a payment"\n[words.en.cautions]\nf9 = "x"\n')
    finished = command("doctor", settings, "--no-cost")
    words = " ".join(finished.out.split())
    assert finished.code == 0
    assert "words.en.ties: there is no 'paymnt'; did you mean 'payment'?" in words
    assert "words.en.cautions: there is no 'f9'; choose from" in words
    assert "to look at one person refused: recourse-audit explain" in words
    assert "and letters can be written" not in words, "since they stay drafts"


def test_doctor_refuses_groups_that_run_would_refuse(tmp_path: Path) -> None:
    settings = small_audit(
        tmp_path, old='["gender"]', new='["gender"]\nreference = { gender = "x" }'
    )
    finished = command("doctor", settings)
    assert finished.code == 2
    assert "groups.reference: there is nobody whose 'gender' is 'x'" in " ".join(
        finished.out.split()
    )


def test_explain_says_that_the_record_speaks_against_the_model(tmp_path: Path) -> None:
    settings = small_audit(tmp_path, old="favourable = ", new='recorded = "said"\nfavourable = ')
    table = pd.read_csv(tmp_path / "nodes.csv", dtype=str)
    for said, warned in (("no", True), (None, False)):
        table.assign(said=[said, *[None] * 8, "yes"]).to_csv(tmp_path / "nodes.csv", index=False)
        for more in ((), ("--json",)):
            finished = command("explain", settings, "a", *more)
            assert finished.code == 0
            assert (
                "check that graph.features names what the model takes" in finished.err
            ) == warned
