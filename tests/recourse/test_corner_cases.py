"""Parallel ties, mirrored lists, models that ignore ties, answers that are no numbers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recourse_audit.audit.report import explain
from recourse_audit.records.recourse import Action, MoveAction, Recourse, TieAction, TogetherAction
from tests.command import command
from tests.recourse.brute_force import BruteForce, Policy, TieRow, World, is_denied
from tests.recourse.random_worlds import (
    NETWORKS,
    PROTECTED,
    Case,
    Network,
    opened,
    random_columns,
    toml,
    write_csv,
)

EVERYTHING: dict[str, Any] = {
    "max_changes": 2,
    "options": 10,
    "draws": 0,
    "ties": [{"kind": "*", "allow": ["drop", "add"], "to": "anyone"}],
    "attributes": [
        {"name": "income", "step": 0.5, "cost": 0.3},
        {"name": "debt", "step": 0.2, "unit": "%", "implies": [{"name": "ratio", "by": 0.1}]},
    ],
}


def case_of(
    rows: Sequence[tuple[int, int, str, float]],
    network: Network,
    recourse: Mapping[str, Any] = EVERYTHING,
    *,
    count: int = 7,
    directed: bool = False,
    favourable: str = "granted",
    seed: int = 0,
) -> Case:
    kinds = tuple(sorted({kind for _, _, kind, _ in rows}))
    classes = ["refused", "granted", "deferred"][: network.classes]
    return Case(
        world=World(
            ids=tuple(f"p-{number}" for number in range(count)),
            columns=random_columns(np.random.default_rng(seed), count),
            rows=tuple(TieRow(source=a, target=b, kind=k, weight=w) for a, b, k, w in rows),
            kinds=kinds,
            directed=directed,
        ),
        network=network,
        seed=seed,
        settings={
            "decision": {"classes": classes, "favourable": [favourable]},
            "groups": {"attributes": list(PROTECTED)},
            "recourse": dict(recourse),
        },
    )


def both(case: Case, folder: Path) -> list[tuple[BruteForce, Recourse]]:
    """The truth and what is said, of everybody who was refused."""
    reports = explain(case.open(folder), case.world.ids)
    found = []
    for truth, report in zip(case.brute_force(folder), reports, strict=True):
        if not truth.is_favourable(truth.now):
            assert report.recourse is not None
            found.append((truth, report.recourse))
    assert found
    return found


RING = [(0, 1, "loan", 1.0), (1, 2, "loan", 0.5), (2, 3, "payment", 2.0), (3, 4, "loan", 1.0)]


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 8, 9, 11])
def test_parallel_ties_of_one_kind_are_dropped_one_by_one(seed: int, tmp_path: Path) -> None:
    """An action cannot say which of them it means, so its probabilities must fit one of them."""
    rows = [*RING, (0, 1, "loan", 3.0), (1, 0, "loan", 0.25), (1, 0, "payment", 1.0)]
    dropping = {"max_changes": 3, "options": 10, "draws": 0}
    case = case_of(rows, NETWORKS["weight"], dropping, seed=seed)
    for truth, recourse in both(case, tmp_path):
        assert recourse.certificate.possible == truth.possible
        assert recourse.status == ("verified" if truth.working else "certified_infeasible")
        for option in recourse.options:
            alike = [
                truth.answers[some]
                for some in truth.minimal
                if sorted(kinds_of(truth, case, some)) == sorted(map(kind_of, option.actions))
            ]
            shares = list(option.probabilities.values())
            assert any(shares == pytest.approx(answer, abs=1e-5) for answer in alike)


@pytest.mark.parametrize(
    ("name", "seed"), [("weight", 0), ("weight", 6), ("attributes", 7), ("attributes", 11)]
)
def test_a_new_tie_is_like_the_ties_of_its_kind_in_the_middle(
    name: str, seed: int, tmp_path: Path
) -> None:
    """Weights and attributes are far from even, so that a mean would not do."""
    rows = [*RING, (4, 5, "payment", 9.0), (5, 5, "loan", 30.0), (2, 0, "loan", 0.1)]
    recourse = {"ties": [{"kind": "*", "allow": ["add"], "to": "anyone"}], "max_changes": 1}
    case = case_of(rows, NETWORKS[name], {**recourse, "options": 10, "draws": 0}, seed=seed)
    skewed = [
        replace(row, attributes=(row.weight / 4, 0.1 + place**2 / 9))
        for place, row in enumerate(case.world.rows)
    ]
    case = replace(case, world=replace(case.world, rows=tuple(skewed)))
    shown = 0
    for truth, found in both(case, tmp_path):
        assert found.certificate.possible == truth.possible
        assert found.status == ("verified" if truth.working else "certified_infeasible")
        for option in found.options:
            alike = [
                truth.answers[some]
                for some in truth.working
                if kinds_of(truth, case, some) == list(map(kind_of, option.actions))
            ]
            shares = list(option.probabilities.values())
            assert [shares] == [pytest.approx(answer, abs=1e-5) for answer in alike]
            shown += 1
    assert shown


def kinds_of(truth: BruteForce, case: Case, some: frozenset[int]) -> list[tuple[str, str, str]]:
    moves = [truth.moves[place] for place in some]
    ends = [sorted(case.world.ids[end] for tie in move.ties for end in tie) for move in moves]
    return [(low, high, str(move.kind)) for (low, high), move in zip(ends, moves, strict=True)]


def kind_of(action: Action) -> tuple[str, str, str]:
    assert isinstance(action, TieAction)
    low, high = sorted(action.tie)
    return low, high, action.kind


@pytest.mark.parametrize("seed", [0, 8])
def test_a_list_with_every_tie_both_ways_is_changed_both_ways(seed: int, tmp_path: Path) -> None:
    case = case_of(RING, NETWORKS["gcn"], seed=seed)
    plain, mirrored = tmp_path / "plain", tmp_path / "mirrored"
    for folder in (plain, mirrored):
        folder.mkdir()
    rows = [*case.world.rows, *(replace(r, source=r.target, target=r.source) for r in RING_ROWS)]
    tables = case.write(plain)
    replace(case, world=replace(case.world, rows=tuple(rows))).write(mirrored)
    one, other = (explain(opened(at, tables), case.world.ids) for at in (plain, mirrored))
    assert [report.recourse for report in one] == [report.recourse for report in other]
    assert any(report.recourse and report.recourse.options for report in one)


RING_ROWS = [TieRow(source=a, target=b, kind=kind, weight=w) for a, b, kind, w in RING]


def test_a_model_that_ties_do_not_move_leaves_recourse_by_attributes(tmp_path: Path) -> None:
    network = replace(NETWORKS["three"], trap="ties")
    recourse = {**EVERYTHING, "ties": [{"kind": "*", "allow": []}]}
    said = []
    for truth, found in both(case_of(RING, network, recourse, seed=1), tmp_path):
        assert found.certificate.possible == truth.possible
        assert found.status == ("verified" if truth.working else "certified_infeasible")
        said.append(found.status)
    assert "verified" in said


def test_answers_that_are_no_numbers_are_an_error_of_one_person(tmp_path: Path) -> None:
    network = replace(NETWORKS["three"], trap="some_nan")
    case = case_of(RING, network, {"draws": 0}, seed=1)
    reports = explain(case.open(tmp_path), case.world.ids)
    failed = [report for report in reports if report.error]
    assert 0 < len(failed) < len(reports)
    for report in reports:
        if not report.subject.decision:
            assert report.recourse is None or report.recourse.status == "error"
        if not report.error:
            assert report.recourse is not None
        if report.recourse is not None and report.recourse.status == "error":
            assert report.recourse.error
            assert report.recourse.options == ()


def test_the_reference_finds_levels_and_combinations_worked_out_by_hand() -> None:
    world = World(
        ids=("a", "b", "c"),
        columns={"income": (0.1, 0.5, -0.2), "cards": (2.5, 0.0, 6.0), "debt": (0.3, 0.5, 0.0)},
        rows=(
            TieRow(source=0, target=1, kind="loan"),
            TieRow(source=1, target=2, kind="loan"),
            TieRow(source=0, target=0, kind="loan"),
            TieRow(source=1, target=0, kind="Trade Unions"),
        ),
        kinds=("Trade Unions", "loan"),
        directed=False,
    )
    rules = [
        {"name": "income", "step": 200, "scale": 1000, "implies": [{"name": "debt", "by": -0.1}]},
        {"name": "cards", "step": 2, "integer": True, "direction": "up"},
    ]
    ties = [{"kind": "loan", "allow": ["drop", "add"]}]
    recourse = {"ties": ties, "attributes": rules, "max_changes": 2}
    policy = Policy(world, {"recourse": recourse}, reach=2)
    moves = policy.moves(0)
    assert [(move.do, move.ties) for move in moves if move.ties] == [
        ("drop", ((0, 1),)),
        ("add", ((0, 2),)),
    ]
    # Up to 500 in steps of 200 from 100; a step down takes 300 away from 0.3, but also to 0.5 only.
    assert [(move.steps, dict(move.values)) for move in moves if move.attribute == "income"] == [
        (1, {"income": 300, "debt": 0.2}),
        (2, {"income": 500, "debt": 0.1}),
        (-1, {"income": -100, "debt": 0.4}),
    ]
    # Not whole yet, so the first step only rounds.
    assert [move.values["cards"] for move in moves if move.attribute == "cards"] == [3, 5]
    # 7 moves alone; of 21 pairs, three would set the income twice and one the cards.
    assert len(policy.combinations(moves)) == 7 + 21 - 4
    assert is_denied("Trade Unions")
    assert not is_denied("reunion")


def test_what_is_printed_is_what_was_found(tmp_path: Path) -> None:
    recourse = {key: value for key, value in EVERYTHING.items() if key != "draws"}
    case = case_of(RING, NETWORKS["three"], recourse, seed=10)
    path = tmp_path / "audit.toml"
    path.write_text(toml(case.write(tmp_path)), encoding="utf-8")
    printed = command("explain", path, *case.world.ids, "--json").document
    reports = explain(opened(tmp_path, case.write(tmp_path)), case.world.ids)
    seen = set()
    for document, report in zip(printed, reports, strict=True):
        shown, recourse_found = document["recourse"], report.recourse
        assert recourse_found is not None
        assert shown["status"] == recourse_found.status
        seen.add(shown["status"])
        assert len(shown["options"]) == len(recourse_found.options)
        for fixed in ("max_changes", "tried", "exhaustive"):
            assert shown["certificate"][fixed] == getattr(recourse_found.certificate, fixed)
        for written, option in zip(shown["options"], recourse_found.options, strict=True):
            assert {"cost", "decision", "probabilities", "verified"} <= set(written)
            assert written["verified"] is True
            assert written["decision"] == option.decision
            assert written["cost"] == pytest.approx(option.cost, abs=1e-6)
            for action, kept in zip(written["actions"], option.actions, strict=True):
                assert json.loads(json.dumps(fixed_part(kept))).items() <= action.items()
                assert set(action) <= {*fixed_part(kept), "unit", "implied", "cost"}
    assert seen == {"verified", "already_favourable", "certified_infeasible"}


def fixed_part(action: Action) -> dict[str, Any]:
    """What the design fixes of an action's form."""
    if isinstance(action, TieAction):
        return {"do": action.do, "tie": action.tie, "kind": action.kind}
    if isinstance(action, TogetherAction):
        return {"do": "drop", "kind": action.kind, "ties": action.ties}
    if isinstance(action, MoveAction):
        return {"do": "move", "tie": action.tie, "to": action.to, "kind": action.kind}
    return {
        "do": "set",
        "attribute": action.attribute,
        "from": action.before,
        "to": action.after,
    }


def test_candidates_without_kinds_are_ties_of_the_only_kind(tmp_path: Path) -> None:
    rows = [(a, b, "loan", 1.0) for a, b, _, _ in RING]
    recourse = {"ties": [{"kind": "loan", "allow": ["add"]}], "draws": 0, "options": 10}
    case = case_of(rows, NETWORKS["three"], recourse)
    tables = case.write(tmp_path)
    write_csv(tmp_path / "new.csv", ["source", "target"], [["p-0", "p-5"], ["p-6", "p-0"]])
    audit = opened(tmp_path, tables, candidates="new.csv")
    [report] = explain(audit, ["p-0"])
    assert report.recourse is not None
    if not report.subject.favourable:
        assert report.recourse.certificate.permitted.add == 2
