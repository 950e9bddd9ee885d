"""Candidates for reasons on planted worlds: what must be one, what never, and what is fixed."""

import csv
import tomllib
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from recourse_audit.audit.load import LoadedAudit, open_audit
from recourse_audit.audit.report import explain
from recourse_audit.errors import SettingsError
from recourse_audit.records.recourse import Part
from recourse_audit.records.subject import OwnColumn, SubjectReport
from recourse_audit.recourse import responsiveness
from recourse_audit.settings import parse_settings

LENDING = Path(__file__).parents[2] / "sample_models" / "lending"
TABLES = tomllib.loads((LENDING / "audit.toml").read_text(encoding="utf-8"))
LATE, SAVINGS = (Part(what="column", name=name) for name in ("late_payments", "savings"))
QUICK: dict[str, dict[str, Any]] = {
    "search": {"max_nodes": 2},
    "caveats": {"draws": 0},
    "recourse": {"draws": 0},
}


def lending(folder: Path = LENDING, **tables: dict[str, Any]) -> LoadedAudit:
    """The sample with some keys of its tables replaced, and little time spent on the rest."""
    merged = {
        name: {**TABLES.get(name, {}), **QUICK.get(name, {}), **tables.get(name, {})}
        for name in {*TABLES, *tables, *QUICK}
    }
    return open_audit(parse_settings(merged, folder=folder, origin="audit.toml"))


def refused(audit: LoadedAudit, count: int) -> list[SubjectReport]:
    """Reports on refused people from all over the sample."""
    ids = [str(name) for name in audit.graph.ids[:: audit.graph.node_count // (4 * count)]]
    reports = [report for report in explain(audit, ids) if not report.subject.favourable]
    assert len(reports) >= count / 2
    return reports


def column(report: SubjectReport, name: str) -> OwnColumn:
    assert report.own_data is not None
    [own] = [column for column in report.own_data.columns if column.name == name]
    return own


def candidate(report: SubjectReport, part: Part) -> bool | None:
    """Whether a candidate is fixed; None if it is no candidate."""
    return {reason.part: reason.fixed for reason in report.reasons}.get(part)


def plant_ignored_column(folder: Path) -> None:
    """A model that takes one column more and looks at the others alone.

    The column repeats the late payments, so whoever goes by what columns have in common finds it.
    """
    model = onnx.load(str(LENDING / "gcn.onnx"))
    width = len(TABLES["graph"]["features"])
    [port] = [port for port in model.graph.input if port.name == "x"]
    port.type.tensor_type.shape.dim[1].dim_value = width + 1
    for node in model.graph.node:
        node.input[:] = ["seen" if name == "x" else name for name in node.input]
    ends = ("starts", [0]), ("ends", [width]), ("axes", [1])
    model.graph.initializer.extend(
        helper.make_tensor(name, TensorProto.INT64, [1], values) for name, values in ends
    )
    look = helper.make_node("Slice", ["x", "starts", "ends", "axes"], ["seen"])
    model.graph.node.insert(0, look)
    onnx.save(model, str(folder / "gcn.onnx"))
    (folder / "edges.csv").write_bytes((LENDING / "edges.csv").read_bytes())
    with (LENDING / "nodes.csv").open(encoding="utf-8", newline="") as file:
        people = list(csv.DictReader(file))
    with (folder / "nodes.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*people[0], "reminders"])
        writer.writeheader()
        writer.writerows({**row, "reminders": row["late_payments"]} for row in people)


def test_a_column_that_the_model_ignores_is_never_a_candidate(tmp_path: Path) -> None:
    plant_ignored_column(tmp_path)
    features = [*TABLES["graph"]["features"], "reminders"]
    audit = lending(tmp_path, graph={"features": features})
    reports = refused(audit, 30)
    assert any(candidate(report, LATE) is not None for report in reports)
    for report in reports:
        assert column(report, "reminders").moves == 0
        assert candidate(report, Part(what="column", name="reminders")) is None


def test_what_no_permitted_change_moves_is_fixed() -> None:
    """Late payments may only become more; who has nine of them may change nothing."""
    rule = {"name": "late_payments", "direction": "up", "step": 1, "max": 9, "cost": 1.0}
    some = {"attributes": [rule], "ties": [{"kind": "employer", "allow": []}]}
    reports = refused(lending(recourse=some), 24)
    marked = [candidate(report, LATE) for report in reports]
    assert True in marked
    assert False not in marked
    for report in reports:
        assert report.recourse is not None
        for measured in report.recourse.responsiveness:
            assert (measured.part, measured.flips) == (LATE, 0)
            assert measured.best_move is not None
            assert measured.best_move <= 0
    assert any(report.recourse and report.recourse.responsiveness for report in reports)


def test_what_a_permitted_change_moves_far_enough_is_not_fixed() -> None:
    """With savings that may rise as far as anybody's, they can be acted on."""
    rule = {"name": "savings", "direction": "up", "step": 2500, "max": 40000, "cost": 0.5}
    reports = refused(lending(recourse={"attributes": [rule]}), 24)
    marked = [candidate(report, SAVINGS) for report in reports]
    assert False in marked
    assert all(candidate(report, LATE) is not False for report in reports)


def test_a_kind_of_tie_that_counts_for_a_person_is_no_reason_though_an_option_ends_one() -> None:
    [report] = explain(lending(), ["P0570"])
    assert report.own_data is not None
    assert report.recourse is not None
    payments = Part(what="ties", name="payment")
    moves = {ties.kind: ties.moves for ties in report.own_data.ties}
    assert moves["payment"] is not None
    assert moves["payment"] < 0
    ended = {
        action["kind"]
        for option in report.recourse.options
        for action in option.to_dict()["actions"]
        if action["do"] == "drop"
    }
    assert "payment" in ended
    assert candidate(report, payments) is None
    assert candidate(report, Part(what="ties", name="co-borrower")) is False
    assert candidate(report, LATE) is True


def test_a_candidate_moves_the_answer_by_the_share_that_the_settings_say() -> None:
    [few], [many] = (
        explain(lending(reasons={"smallest": smallest}), ["P0570"]) for smallest in (0.4, 0.05)
    )
    assert [reason.part.name for reason in few.reasons] == ["co-borrower"]
    names = [reason.part.name for reason in many.reasons]
    assert names == ["co-borrower", "late_payments", "savings", "income"]
    assert [reason.share for reason in many.reasons] == sorted(
        (reason.share for reason in many.reasons), reverse=True
    )
    assert min(reason.share for reason in many.reasons) >= 0.05


def test_columns_that_are_protected_or_give_it_away_are_flagged() -> None:
    groups = {"attributes": ["late_payments", "origin"]}
    [report] = explain(lending(groups=groups), ["P0570"])
    proxies = {reason.part.name: reason.proxy for reason in report.reasons}
    assert proxies == {"co-borrower": "", "late_payments": "late_payments"}


def test_approved_people_have_no_candidates() -> None:
    [report] = explain(lending(), ["P1411"])
    assert report.subject.favourable
    assert report.own_data is not None
    assert report.own_data.distance is not None
    assert report.own_data.distance < 0
    assert (report.reasons, report.own_data.pairs) == ((), ())


def test_references_are_what_the_settings_say() -> None:
    audits = [
        lending(reasons={"reference": reference})
        for reference in ("approved_median", "population_median", {"savings": 12000})
    ]
    approved, everybody, given = (explain(audit, ["P0570"])[0] for audit in audits)
    values = sorted(audits[0].graph.features[:, 0].tolist())
    assert column(everybody, "income").reference == values[(len(values) - 1) // 2]
    assert column(approved, "income").reference != column(everybody, "income").reference
    assert column(given, "savings").reference == 12000
    assert column(given, "income") == column(approved, "income")
    moves = [column(report, "savings").moves for report in (approved, given)]
    assert moves[0] is not None
    assert moves[1] is not None
    assert moves[0] < moves[1]


@pytest.mark.parametrize(
    ("reference", "problem"),
    [
        ({"shoes": 3}, r"reasons\.reference\.shoes: .*'shoes'"),
        ({"savings": "many"}, r"reasons\.reference\.savings: must be a number from 90 to "),
        ({"savings": -5}, r"reasons\.reference\.savings: .*\(got -5(\.0)?\)"),
        ("median", r"reasons\.reference"),
    ],
)
def test_a_reference_that_is_no_value_of_its_column_is_refused(
    reference: object, problem: str
) -> None:
    with pytest.raises(SettingsError, match=problem):
        lending(reasons={"reference": reference})


def test_of_too_many_changes_a_sample_is_tried_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interval holds the share of all of them, and the draw is the same every time."""
    rule = {"name": "savings", "direction": "up", "step": 100, "max": 40000, "cost": 0.01}
    audit = lending(recourse={"attributes": [rule], "max_changes": 1, "budget": 40})
    [whole] = explain(audit, ["P0570"])
    monkeypatch.setattr(responsiveness, "MOST_TRIED", 60)
    [sampled], [again] = (explain(audit, ["P0570"]) for _ in range(2))
    assert sampled.recourse == again.recourse
    found = []
    for report in (whole, sampled):
        assert report.recourse is not None
        [measured] = [m for m in report.recourse.responsiveness if m.part == SAVINGS]
        found.append(measured)
    every, some = found
    assert every.tried == 256
    assert some.tried == 60
    assert some.moves == every.moves > 300
    for measured in found:
        assert measured.interval is not None
        assert measured.share is not None
        assert measured.interval[0] <= measured.share <= measured.interval[1]
    assert every.share is not None
    assert some.interval is not None
    assert some.interval[0] <= every.share <= some.interval[1]
