"""Reasons by group: counted as documents have them, left out jointly, said where there are any."""

import csv
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from recourse_audit.audit.load import Selection
from recourse_audit.records.groups import GroupReport, LeftOut, ReasonFigures
from recourse_audit.render.groups_csv import groups_csv
from recourse_audit.render.terminal import show_groups
from tests.audits import SAMPLES
from tests.bundles import request_for, run_here
from tests.groups.stores import FOUND, Changed, Person, Reason, report_on, settings
from tests.render.boards import board_of
from tests.render.group_pages import ReadGroups

SAVINGS, LATE, PAYMENT = ("column", "savings"), ("column", "late_payments"), ("ties", "payment")
State = tuple[Changed, Reason]
NEITHER: State = ("no", "no")
# People by their states of savings and late payments.
FIXED: tuple[State, State] = (("in vain", "no"), ("no", "fixed"))
IN_VAIN: tuple[State, State] = (("in vain", "moves"), ("no", "fixed"))
FLIPS: tuple[State, State] = (("flips", "moves"), NEITHER)
NO_REASON: tuple[State, State] = (("in vain", "no"), NEITHER)


def people_of(**groups: dict[tuple[State, State], int]) -> list[Person]:
    """So many people of each kind in each group, and as many again with a favourable decision."""
    people = []
    for name, kinds in groups.items():
        for (savings, late), count in kinds.items():
            for _ in range(count):
                parts = {SAVINGS: savings, LATE: late}
                people.append(Person(groups={"origin": name}, status=FOUND, parts=parts))
                people.append(Person(groups={"origin": name}, favourable=True))
    return people


def counts(figures: ReasonFigures | None, table: str = "origin") -> dict[str, dict[str, int]]:
    assert figures is not None
    rows = {"everybody": figures.overall, **figures.by_group.get(table, {})}
    return {
        group: {measure: rate.count for measure, rate in rates.items()}
        for group, rates in rows.items()
    }


def test_people_are_counted_by_what_they_may_change_about_their_reasons() -> None:
    kinds = {FIXED: 12, IN_VAIN: 13, FLIPS: 14, NO_REASON: 15}
    report = report_on(people_of(north=kinds, south=kinds | {FIXED: 20}), settings("origin"))
    assert counts(report.reasons) == {
        "everybody": {"reasons": 86, "none_flips": 58, "all_fixed": 32},
        "north": {"reasons": 39, "none_flips": 25, "all_fixed": 12},
        "south": {"reasons": 47, "none_flips": 33, "all_fixed": 20},
    }
    late, savings = report.reason_parts  # the more frequent reason comes first
    assert (late.part.name, savings.part.name) == ("late_payments", "savings")
    assert counts(late.changes)["everybody"] == {"permitted": 0, "flips": 0}
    assert counts(late.reasons)["south"] == {"reason": 33, "fixed": 33}
    assert counts(savings.reasons)["north"] == {"reason": 27, "fixed": 0}
    assert counts(savings.changes)["north"] == {"permitted": 54, "flips": 14}
    rate = savings.changes.by_group["origin"]["north"]["flips"]
    assert rate.of == 54
    assert rate.share == pytest.approx(14 / 54)


def test_a_table_goes_without_the_measures_that_would_tell_a_few_people_apart() -> None:
    few = {FIXED: 12, IN_VAIN: 13, FLIPS: 14, NO_REASON: 2}
    report = report_on(people_of(north=few, south=few), settings("origin", smallest=11))
    # Two have no reason: whether somebody has one is said of nobody.
    assert counts(report.reasons) == {
        "everybody": {"none_flips": 50, "all_fixed": 24},
        "north": {"none_flips": 25, "all_fixed": 12},
        "south": {"none_flips": 25, "all_fixed": 12},
    }
    assert LeftOut(table="origin", part="reasons", why="few_people") in report.left_out
    assert LeftOut(table="overall", part="reasons", why="few_people") in report.left_out


def test_that_all_reasons_are_fixed_is_said_of_everybody_even_if_it_is_of_few() -> None:
    few = {FIXED: 2, IN_VAIN: 20, FLIPS: 20}
    report = report_on(people_of(north=few, south=few), settings("origin", smallest=11))
    assert counts(report.reasons) == {
        "everybody": {"reasons": 84, "none_flips": 44, "all_fixed": 4},
        # By group it is not, and how many of them some reason moves would give it away.
        "north": {"reasons": 42, "none_flips": 22},
        "south": {"reasons": 42, "none_flips": 22},
    }
    assert board_of(report).reasons.startswith(
        "For 4 of 84 refused people, nothing that they may change touches any of the reasons "
        "For 44 of 84, no single permitted change of a reason would turn the refusal into an "
        "approval: "
    )


def test_changes_are_not_shown_beside_reasons_that_would_give_people_away() -> None:
    """All have a reason, so 5 of each group may change it, not to a favourable decision."""
    kinds: dict[tuple[State, State], int] = {
        (("in vain", "moves"), NEITHER): 5,
        (("flips", "moves"), NEITHER): 30,
        (("no", "fixed"), NEITHER): 30,
    }
    report = report_on(people_of(north=kinds, south=kinds), settings("origin", smallest=11))
    [savings] = report.reason_parts
    assert counts(savings.reasons)["north"] == {"reason": 65, "fixed": 30}
    assert savings.changes.by_group == {}
    assert savings.changes.overall == {}
    dash = "A dash stands for what is left out because too few people are on one side."
    assert dash in ReadGroups(report).text


@pytest.mark.parametrize("asked", [True, False])
def test_nothing_is_said_where_there_is_no_reason_or_the_model_was_not_asked(asked: bool) -> None:
    people = people_of(north={NO_REASON: 40}, south={NO_REASON: 40})
    for person in people:
        person.parts = person.parts if asked else None
    report = report_on(people, settings("origin"))
    assert (report.reasons is not None) == asked
    assert board_of(report).reasons == ""
    assert "touches any of the reasons" not in terminal(report)
    pages = ReadGroups(report)
    assert "touches any of the reasons" not in pages.text
    assert ("Reasons, and what people may change" in pages.text) == asked  # savings may be changed


def test_few_people_asked_about_are_left_out() -> None:
    people = people_of(north={FIXED: 40}, south={FIXED: 40})
    for person in people[12:]:
        person.parts = None
    report = report_on(people, settings("origin", smallest=11))
    assert (report.reasons, report.reason_parts) == (None, ())
    assert LeftOut(table="overall", part="reasons", why="few_people") in report.left_out


def terminal(report: GroupReport, *, full: bool = False) -> str:
    console = Console(file=io.StringIO(), width=200)
    show_groups(console, report, full=full)
    assert isinstance(console.file, io.StringIO)
    return " ".join(console.file.getvalue().split())


def test_page_terminal_and_csv_say_the_same() -> None:
    kinds = {FIXED: 12, IN_VAIN: 13, FLIPS: 14, NO_REASON: 15}
    report = report_on(people_of(north=kinds, south=kinds | {FIXED: 20}), settings("origin"))
    headline = (
        "For 32 of 116 refused people, nothing that they may change touches any of the reasons"
    )
    groups = "12 of 54 (22.2%), south 20 of 62 (32.3%)."
    in_vain = (
        "For 58 of 116, no single permitted change of a reason would turn the refusal into an "
        "approval: north 25 of 54 (46.3%), south 33 of 62 (53.2%)."
    )
    assert f"{headline}. North {groups} {in_vain} Counted, not tested." in terminal(report)
    board = board_of(report)
    start = f"{headline} North {groups} {in_vain} A reason is "
    assert board.reasons.casefold().startswith(start.casefold())
    assert board.reasons.endswith("Counted, not tested.")
    pages = ReadGroups(report)
    [late, savings] = pages.tables(
        "Of 116 people refused: how often each is a reason, and what changing it does"
    )
    assert late.cells == ["Late payments", "58 (50.0%)", "58 (50.0%)", "0", "0"]
    assert savings.cells == ["Savings", "54 (46.6%)", "0", "116 (100.0%)", "28 (24.1%)"]
    north, _ = pages.tables("Reasons by group")
    assert north.cells == ["north", "39 (72.2%)", "25 (46.3%)", "12 (22.2%)"]
    first, *_ = pages.tables("Single reasons and changes, by origin")
    assert first.cells == ["north", "25 (46.3%)", "25 (46.3%)", "0", "0"]
    assert "Late payments 58 (50.0%) 58 (50.0%) 0 0" in terminal(report, full=True)
    rows = {
        (row["table"], row["group"], row["measure"]): (row["count"], row["of"])
        for row in csv.DictReader(groups_csv(report).splitlines())
    }
    assert rows["overall", "everybody", "all_fixed"] == ("32", "116")
    assert rows["origin", "south", "none_flips"] == ("33", "62")
    assert rows["origin", "north", "column savings: flips"] == ("14", "54")


def test_an_attribute_of_neighbours_has_its_table_too() -> None:
    people = people_of(north={FIXED: 20, FLIPS: 20}, south={FIXED: 20, FLIPS: 20})
    for person in people:
        person.groups = {"works_at.sector": person.groups["origin"]}
    pages = ReadGroups(report_on(people, settings("works_at.sector")))
    [caption] = [caption for caption in pages.captions if caption.startswith("Single reasons")]
    assert caption == "Single reasons and changes, by works at.sector"
    assert pages.tables(caption)[0].cells[0] == "north"


# ---------------------------------------------------------------- a real audit, counted again


def audit_of(folder: Path, **changes: str) -> Path:
    for name in ("gcn.onnx", "nodes.csv", "edges.csv"):
        shutil.copy(SAMPLES / name, folder / name)
    text = (SAMPLES / "audit.toml").read_text(encoding="utf-8")
    for old, new in {
        "max_nodes = 4": "max_nodes = 2",
        "max_changes = 3": "max_changes = 1",
        "[recourse]\n": "[recourse]\nbudget = 300\ndraws = 0\n",
        'attributes = ["origin", "gender", "age_band"]': (
            'attributes = ["origin", "gender"]\nsmallest = 3\nredraws = 100'
        ),
    }.items():
        assert old in text
        text = text.replace(old, new)
    (folder / "audit.toml").write_text(f"{text}\n[caveats]\ndraws = 0\n", encoding="utf-8")
    run_here(request_for(folder / "audit.toml", folder / "out", Selection(sample=60)))
    return folder / "out"


def recount(document: dict[str, Any]) -> tuple[set[str], dict[tuple[str, str], set[str]]]:
    """What holds of one person, all together and part by part."""
    parts: dict[tuple[str, str], set[str]] = {}

    def of(entry: dict[str, Any]) -> set[str]:
        return parts.setdefault((entry["part"]["what"], entry["part"]["name"]), set())

    for entry in document["recourse"]["responsiveness"]:
        assert entry["moves"] >= 1
        of(entry).update(["permitted"] + ["flips"] * (entry["flips"] > 0))
    for entry in document["reasons"]:
        of(entry).update(["reason"] + ["fixed"] * entry["fixed"])
    stated = [marks for marks in parts.values() if "reason" in marks]
    every = set()
    if stated:
        every.add("reasons")
        if not any("flips" in marks for marks in stated):
            every.add("none_flips")
        if all("fixed" in marks for marks in stated):
            every.add("all_fixed")
    return every, parts


def figures_of(report: dict[str, Any]) -> Iterator[tuple[tuple[str, str] | None, dict[str, Any]]]:
    yield None, report["reasons"]
    for entry in report["reason_parts"]:
        part = (entry["part"]["what"], entry["part"]["name"])
        yield part, entry["changes"]
        yield part, entry["reasons"]


def test_every_figure_is_what_the_documents_of_the_subjects_say(tmp_path: Path) -> None:
    bundle = audit_of(tmp_path)
    report = json.loads((bundle / "groups.json").read_text(encoding="utf-8"))
    lines = (bundle / "data" / "subjects.jsonl").read_text(encoding="utf-8").splitlines()
    with (bundle / "data" / "subjects.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["id"]: row for row in csv.DictReader(file)}
    people = []
    for document in map(json.loads, lines):
        row, stated = rows[document["subject"]["id"]], document["reasons"]
        assert row["reasons"] == str(len(stated))
        assert row["fixed_reasons"] == str(sum(reason["fixed"] for reason in stated))
        people.append((row, *recount(document)))
    assert len(people) == 60
    names = {"north", "south", "man", "woman"}
    checked, fixed = 0, set()
    for part, figures in figures_of(report):
        tables = {"overall": {"": figures["overall"]}, **figures["by_group"]}
        for table, groups in tables.items():
            assert table == "overall" or groups.keys() <= names
            for group, rates in groups.items():
                own = [
                    every if part is None else parts.get(part, set())
                    for row, every, parts in people
                    if table == "overall" or row[f"group_{table}"] == group
                ]
                for measure, rate in rates.items():
                    assert rate["of"] == len(own)
                    assert rate["count"] == sum(measure in marks for marks in own)
                    checked += 1
                    fixed |= {part} if measure == "fixed" and rate["count"] else set()
    assert checked > 50
    assert ("column", "late_payments") in fixed
    assert len(report["reason_parts"]) == len({part for *_, parts in people for part in parts})
