"""`groups` on real bundles: exit codes, words, files, and an audit that is not finished."""

import csv
import json
import re
import signal
import sqlite3
import tomllib
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from recourse_audit.api import Bundle
from recourse_audit.bundle.layout import FILES, GROUP_REPORT
from recourse_audit.bundle.reader import open_stored_audit
from recourse_audit.cli.groups import groups as groups_command
from recourse_audit.errors import AuditError, InputError
from recourse_audit.groups.report import groups_of
from recourse_audit.records.bundle import LogLine
from recourse_audit.records.codec import GROUPS as GROUPS_DOCUMENT
from recourse_audit.records.codec import LOG_LINE
from recourse_audit.render.i18n import Words
from recourse_audit.render.sarif import find_gaps, sarif_log
from tests.audits import PEOPLE, SAMPLES
from tests.bundles import contents, ended, request, run_here, started, stop_after
from tests.command import Finished, command, one_line
from tests.groups.stores import drawn_people, make_store
from tests.render.sarif_logs import check_log

GROUPS = {"attributes": ["origin", "gender"], "redraws": 100, "reference": {"origin": "north"}}

SINGLE = {"attributes": ["origin"], "redraws": 100, "reference": {"origin": "north"}}
READ = ("store.sqlite", "settings.json", GROUP_REPORT)
# What was made before, by what was asked for.
MADE: dict[str, dict[str, bytes]] = {}


def bundle(folder: Path, *, gap: float = 0.0, groups: Any = None, ties: bool = False) -> Path:
    """A folder with a made-up store, its settings and its report: all that `groups` reads."""
    asked = json.dumps([gap, groups, ties])
    if asked not in MADE:
        with_report(without_report(folder, gap=gap, groups=groups, ties=ties))
        MADE[asked] = {name: (folder / name).read_bytes() for name in READ}
    for name, content in MADE[asked].items():
        (folder / name).write_bytes(content)
    return folder


def with_report(folder: Path) -> Path:
    """Put the group report into a folder, as `run` does."""
    with open_stored_audit(folder) as stored:
        text = GROUPS_DOCUMENT.write_indented(groups_of(stored))
    (folder / GROUP_REPORT).write_text(text, encoding="utf-8")
    return folder


def without_report(folder: Path, *, gap: float, groups: Any, ties: bool = False) -> Path:
    """A folder with a made-up store and its settings."""
    asked: dict[str, Any] = GROUPS if groups is None else groups
    columns = [*asked["attributes"], *asked.get("given", ())]
    both = [name for name in columns if name in ("origin", "gender")]
    attributes = ["origin"] if both == ["origin"] else ["origin", "gender"]
    people = drawn_people(1, people=1200, gap=gap, attributes=attributes)
    make_store(people, ties=ties, path=folder / "store.sqlite").close()
    sample = tomllib.loads((SAMPLES / "audit.toml").read_text(encoding="utf-8"))
    document = sample | {"groups": asked}
    (folder / "settings.json").write_text(json.dumps(document, default=str), encoding="utf-8")
    return folder


def test_a_gap_ends_with_3_only_if_asked(tmp_path: Path) -> None:
    folder = bundle(tmp_path, gap=0.4, groups=SINGLE, ties=True)
    assert command("groups", folder).code == 0
    failed = command("groups", folder, "--fail-on", "gap")
    assert failed.code == 3
    assert "error: " in failed.err
    assert "shown: Of those refused, people in the South " in failed.err
    assert "gap shown" in failed.out  # the view is printed before


def test_a_gap_is_a_result_of_a_code_scan_with_a_lasting_fingerprint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    bundle(tmp_path, gap=0.4, groups=SINGLE, ties=True)
    log = tmp_path / "findings.sarif"
    assert command("groups", ".", "--fail-on", "gap", "--sarif", log).code == 3
    result, *_ = check_log(json.loads(log.read_text(encoding="utf-8")))
    assert result["ruleId"] == "gap/feasibility"
    assert result["message"]["text"].startswith("Of those refused, people in the South ")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": GROUP_REPORT}
    report = GROUPS_DOCUMENT.read((tmp_path / GROUP_REPORT).read_bytes())
    gap, *_ = find_gaps(report, Words())
    finer = replace(report, findings=(replace(report.flags[0], gap=0.3, adjusted=0.01),))
    prints = [
        check_log(json.loads(sarif_log([*find_gaps(one, Words())], log)))[0]["partialFingerprints"]
        for one in (report, finer)
    ]
    assert prints[0] == prints[1] == result["partialFingerprints"]
    assert gap.title == "gap shown: having an option"


def test_no_gap_ends_with_0_and_an_empty_scan(tmp_path: Path) -> None:
    folder, log = bundle(tmp_path, groups=SINGLE, ties=True), tmp_path / "findings.sarif"
    finished = command("groups", folder, "--fail-on", "gap", "--sarif", log)
    assert (finished.code, finished.err) == (0, "")
    document = json.loads(log.read_text(encoding="utf-8"))
    assert check_log(document) == []
    assert document["runs"][0]["invocations"][0]["executionSuccessful"] is True
    assert "--sarif: needs --fail-on" in one_line(command("groups", folder, "--sarif", log))


@pytest.mark.parametrize(
    ("groups", "why"),
    [
        ({**GROUPS, "smallest": 5000}, "no two groups have 5000 people or more"),
        (GROUPS, "fewer than 100 people have ties"),
    ],
)
def test_what_could_not_be_tested_is_not_clean(groups: Any, why: str, tmp_path: Path) -> None:
    folder = bundle(tmp_path, gap=0.35, groups=groups)
    assert command("groups", folder).code == 0
    finished = command("groups", folder, "--fail-on", "gap")
    assert finished.code == 2
    assert f"--fail-on gap: nothing was tested: {why}" in finished.err
    log = tmp_path / "findings.sarif"
    assert command("groups", folder, "--fail-on", "gap", "--sarif", log).code == 2
    document = json.loads(log.read_text(encoding="utf-8"))
    assert check_log(document) == []
    [invocation] = document["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    assert why in invocation["toolExecutionNotifications"][0]["message"]["text"]


def test_the_view_leads_with_the_finding_and_says_how_it_was_found(tmp_path: Path) -> None:
    folder = bundle(tmp_path, gap=0.4, groups=SINGLE, ties=True)
    out = " ".join(command("groups", folder, "--full", columns=160).out.split())
    assert out.startswith("Of those refused, people in the South have an option ")
    for words in (
        "1,200 people: ",
        "3 tests of one attribute and 0 of two attributes combined",
        "Holm",
        "Dividing the number of people by the factor by which their variance grows gives the",
        "Whose ties would be ended",
    ):
        assert words in out
    assert out.count("Verdicts rest on corrected p values") == 1
    assert re.search(r"\d+ percentage points fewer \(95% interval: \d+ to \d+ fewer\)", out)
    assert not re.search(r"[-+][\d.]+%", out)


def test_json_and_table_say_the_same(tmp_path: Path) -> None:
    folder = bundle(tmp_path, gap=0.4, groups=SINGLE, ties=True)
    table = tmp_path / "groups.csv"
    document = command("groups", folder, "--json", "--csv", table).document
    assert document["finished"] is True
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    [row] = [
        one
        for one in rows
        if (one["table"], one["group"], one["measure"]) == ("origin", "south", "feasibility")
    ]
    [made] = [one for one in document["tables"] if one["name"] == "origin"]
    [gap] = [one for one in made["comparisons"] if one["measure"] == "feasibility"]
    assert row["verdict"] == gap["verdict"] == "gap shown"
    assert float(row["difference"]) == pytest.approx(gap["difference"], rel=1e-5)
    assert float(row["p_adjusted"]) == pytest.approx(gap["tests"]["adjusted"], rel=1e-5)


@pytest.mark.parametrize(
    ("times", "ran"),
    [
        (["2026-05-01T09:00:00.000+00:00"], {"first": "2026-05-01", "last": "2026-05-01"}),
        (
            ["2026-05-01T09:00:00.000+00:00", "2026-05-03T01:00:00.000+02:00"],
            {"first": "2026-05-01", "last": "2026-05-02"},
        ),
        (["now"], None),
        ([], None),
    ],
)
def test_the_days_of_the_audit_are_those_of_its_log(
    times: list[str], ran: dict[str, str] | None, tmp_path: Path
) -> None:
    folder = bundle(tmp_path)
    log = "".join(LOG_LINE.write(LogLine(at=time, event="chunk")) + "\n" for time in times)
    (folder / "run.jsonl").write_text(f'{log}{{"at":"cut off', encoding="utf-8")
    assert command("groups", folder, "--json").document["ran"] == ran
    if len(times) > 1:
        out = " ".join(command("groups", folder, "--full").out.split())
        assert "Date: 1 May 2026 to 2 May 2026 (UTC, " in out


def test_a_bundle_without_a_log_has_no_days(tmp_path: Path) -> None:
    finished = command("groups", bundle(tmp_path), "--full")
    assert "Date: not known" in finished.out


def test_the_same_bundle_is_told_the_same_way(tmp_path: Path) -> None:
    folder = bundle(tmp_path, gap=0.2, groups=SINGLE, ties=True)
    assert command("groups", folder, "--json").out == command("groups", folder, "--json").out


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ({"attributes": []}, "'gender' is no protected attribute"),
        ({"attributes": ["age"]}, "not everybody has a value of 'age'"),
        (
            {"attributes": ["origin", "gender"], "reference": {"origin": "east"}},
            "there is nobody whose 'origin' is 'east'; known: north, south",
        ),
        ({"attributes": "origin"}, "settings.json: was changed, or written by another version"),
    ],
)
def test_settings_that_do_not_fit_are_one_sentence(groups: Any, words: str, tmp_path: Path) -> None:
    folder = without_report(tmp_path, gap=0.0, groups=groups)
    with pytest.raises(InputError, match=re.escape(words)):
        with_report(folder)


def test_columns_that_are_given_are_kept_and_are_no_groups(tmp_path: Path) -> None:
    folder = bundle(tmp_path, groups=SINGLE | {"given": ["gender"]})
    with open_stored_audit(folder) as stored:
        assert set(stored.groups_of(0)) == {"origin"}
        assert {name for own in stored.groups_of_subjects().values() for name in own} == {"origin"}
    report = Bundle(folder).groups()
    assert (report.given, [table.name for table in report.tables]) == (("gender",), ["origin"])


def test_an_audit_without_protected_attributes_has_no_groups(tmp_path: Path) -> None:
    folder = without_report(tmp_path, gap=0.0, groups={"attributes": []})
    with closing(sqlite3.connect(folder / "store.sqlite")) as store, store:
        store.execute("DELETE FROM members")
    finished = command("groups", folder)
    assert finished.code == 2
    assert "names no protected attribute" in one_line(finished)


def refused(*words: str | Path) -> str:
    finished: Finished = command("groups", *words)
    assert finished.code == 2
    return one_line(finished)


def test_what_is_no_bundle_is_one_sentence(tmp_path: Path) -> None:
    assert "there is no such folder" in refused(tmp_path / "nowhere")
    assert "holds no audit" in refused(tmp_path)
    folder = bundle(tmp_path)
    assert "--fail-on bias: must be gap" in refused(folder, "--fail-on", "bias")
    assert "cannot be written" in refused(folder, "--csv", tmp_path / "no" / "file.csv")
    (folder / "settings.json").unlink()
    assert "settings.json: cannot be read" in refused(folder)
    with closing(sqlite3.connect(folder / "store.sqlite")) as store:
        store.execute("PRAGMA user_version = 1")
    assert "is a store of version 1" in refused(folder)


def test_a_real_bundle_has_groups(tmp_path: Path) -> None:
    run_here(request(tmp_path, tmp_path / "out", sample=48))
    assert all((tmp_path / "out" / name).is_file() for name in FILES)
    document = command("groups", tmp_path / "out", "--json").document
    assert (document["done"], document["total"]) == (48, 48)
    sealed = json.loads((tmp_path / "out" / GROUP_REPORT).read_text(encoding="utf-8"))
    assert sealed["tables"] == document["tables"]
    overall = document["overall"]["decisions"]
    assert (overall["people"], overall["audited"]) == (PEOPLE, 48)
    assert overall["not_audited"] == overall["refused"] - 48
    assert document["communities"] == {"column": None, "count": 0, "seed": 0}


def test_what_was_sealed_is_read_and_not_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = bundle(tmp_path, gap=0.4, groups=SINGLE, ties=True)
    expected = Bundle(folder).groups()
    monkeypatch.delattr("recourse_audit.groups.report.group_report")
    assert Bundle(folder).groups() == expected
    assert expected.flags


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "groups.json: is missing; restore it"), ("{", "groups.json: this is not a groups")],
)
def test_a_report_that_is_missing_or_damaged_is_one_sentence(
    content: str | None, words: str, tmp_path: Path
) -> None:
    folder = bundle(tmp_path, groups=SINGLE)
    (folder / GROUP_REPORT).unlink()
    if content is not None:
        (folder / GROUP_REPORT).write_text(content, encoding="utf-8")
    assert words in refused(folder)


def test_an_unfinished_audit_is_said_loudly(tmp_path: Path) -> None:
    asked = request(tmp_path, tmp_path / "out", sample=64)
    process = started(
        "run", "--no-pages", asked.origin, "--out", asked.out, "--sample", "64", "--workers", "1"
    )
    stop_after(process, asked.out, 2, signal.SIGKILL)
    ended(process)
    before = contents(asked.out)
    finished = command("groups", asked.out, "--json")
    assert finished.code == 0
    assert "THIS AUDIT IS NOT FINISHED: " in finished.err.splitlines()[0]
    document = finished.document
    assert document["finished"] is False
    assert 0 < document["done"] < document["total"] == 64
    assert document["overall"]["decisions"]["audited"] == document["done"]
    assert command("groups", asked.out, columns=160).out.startswith("THIS AUDIT IS NOT FINISHED")
    checked = command("groups", asked.out, "--json", "--fail-on", "gap")
    assert checked.code == 3  # who was refused is known of everybody
    assert checked.document == document  # the figures are printed before
    assert "shown: People in the South " in checked.err.splitlines()[-1]
    assert contents(asked.out) == before  # it is only read


@pytest.mark.parametrize(
    ("gap", "finished", "code"),
    [(0.4, True, 3), (0.4, False, 3), (0.0, False, 2), (0.0, True, 0)],
)
def test_only_a_finished_audit_without_a_flag_passes(
    gap: float, finished: bool, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = bundle(tmp_path, gap=gap, groups=SINGLE, ties=True)
    report = replace(Bundle(folder).groups(), finished=finished, done=1, total=2)
    monkeypatch.setattr("recourse_audit.api.Bundle.groups", lambda _: report)
    ended_with = 0
    try:
        groups_command(tmp_path, as_json=True, fail_on="gap")
    except AuditError as error:
        ended_with = error.exit_code
    assert ended_with == code
