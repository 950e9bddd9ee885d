"""A graph without ties is audited, but whoever reads anything of it is told first."""

import json
from pathlib import Path

import pytest

from tests.audits import IDS, small_audit
from tests.command import command, one_line

LOUD = "THE GRAPH HAS NO TIES"
HEADER = "source,target,kind\n"


@pytest.fixture
def audit(tmp_path: Path) -> Path:
    path = small_audit(tmp_path)
    (tmp_path / "edges.csv").write_text(HEADER, encoding="utf-8")
    return path


def test_inspect_and_explain_say_so_before_any_figure(audit: Path) -> None:
    assert LOUD in command("inspect", audit).out
    shown = command("explain", audit, "a")
    assert shown.code == 0
    assert shown.out.index(LOUD) < shown.out.index("decided")
    found = command("explain", audit, "a", "--json")
    assert found.document["probes"]["notes"] == {"no_ties": {}}
    assert LOUD in found.err


def test_run_says_so_and_so_do_index_and_reports(audit: Path, tmp_path: Path) -> None:
    out = tmp_path / "bundle"
    words = ("--out", out, "--subjects", "all", "--workers", "1")
    finished = command("run", "--no-pages", audit, *words)
    assert LOUD in finished.err
    assert command("report", out, "--workers", "1").code == 0
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    assert "no_ties" in manifest["probes"]["notes"]
    assert LOUD in (out / "pages" / "index.html").read_text("utf-8")
    reports = list((out / "pages" / "subjects").glob("*.html"))
    assert len(reports) == len(IDS)
    assert all(LOUD in report.read_text("utf-8") for report in reports)


def test_ties_from_people_to_themselves_are_none(audit: Path, tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text(f"{HEADER}a,a,payment\nb,b,payment\n", encoding="utf-8")
    explained = command("explain", audit, "a", "--json")
    assert explained.document["probes"]["notes"] == {"only_loops": {"loops": 2}}
    assert "only ties from a person to themselves (2)" in " ".join(explained.err.split())


def test_a_graph_with_ties_is_not_warned_of(tmp_path: Path) -> None:
    audit = small_audit(tmp_path)
    assert command("explain", audit, "a", "--json").document["probes"]["notes"] == {}


@pytest.mark.parametrize(
    "rule", ['never = ["payment"]', '[[recourse.ties]]\nkind = "payment"\nallow = ["drop"]']
)
def test_a_rule_for_a_kind_that_cannot_be_there_ends_in_a_whole_sentence(
    rule: str, audit: Path
) -> None:
    more = rule if rule.startswith("[[") else f"[recourse]\n{rule}"
    audit.write_text(f"{audit.read_text('utf-8')}\n{more}\n", encoding="utf-8")
    line = one_line(command("explain", audit, "a"))
    assert "'payment'; the graph has no ties at all, so check the file of ties" in line
