"""Options through a pipeline, against brute force: raw rows pushed through both files by the test.

Nothing of the program is used to work out what is right: every permitted set of changes of raw
values is written down, goes through the pipeline and the model in onnxruntime on the whole graph,
and is compared with what the audit offers and certifies.
"""

from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from recourse_audit.audit.load import load_audit
from recourse_audit.audit.report import explain, try_by_hand
from recourse_audit.errors import InputError, SettingsError
from recourse_audit.records.recourse import Option, SetAction, TieAction
from recourse_audit.records.subject import SubjectReport
from tests.onnx_models import sum_network
from tests.onnx_pipelines import Draft
from tests.pipeline_audits import SETTINGS, people, pipeline_audit, ties

FAVOURABLE = 2
DROP, STEP, HOUSING, JOB = 1.0, 0.4, 1.5, 0.7
INCOME_STEP, MOST_INCOME = 700, 4000
MOVES = {"none": ["some"], "some": ["full"], "full": []}
MAX_CHANGES = 2
COUNT = 14
SEEDS = (2, 4, 11)  # of worlds in which some have options and some have none
POLICY = f"""
[search]
max_nodes = 3
[caveats]
draws = 0
[recourse]
max_changes = {MAX_CHANGES}
options = 3
budget = 100000
draws = 0
[[recourse.ties]]
kind = "*"
allow = ["drop"]
cost = {DROP}
[[recourse.attributes]]
name = "income"
direction = "up"
step = {INCOME_STEP}
max = {MOST_INCOME}
cost = {STEP}
[[recourse.attributes]]
name = "housing"
values = ["rent", "own", "free"]
cost = {HOUSING}
[[recourse.attributes]]
name = "job"
moves = [["none", "some"], ["some", "full"]]
cost = {JOB}
"""

Row = dict[str, Any]
Change = tuple[str, Any]


class World:
    """Raw rows, ties, and both files opened by the test."""

    def __init__(self, folder: Path, rows: list[Row], ties: list[tuple[int, int]]) -> None:
        self.rows = rows
        self.ties = ties
        self.pipeline, self.model = (
            onnxruntime.InferenceSession(str(folder / name), providers=["CPUExecutionProvider"])
            for name in ("pipeline.onnx", "model.onnx")
        )

    def answers(self, subject: int, changes: tuple[Change, ...] = ()) -> Any:
        """Everybody's logits after one person's changes, on the whole graph."""
        rows = [dict(row) for row in self.rows]
        left = list(self.ties)
        for name, value in changes:
            if name == "drop":
                left.remove(value)
            else:
                rows[subject][name] = value
        feeds = {}
        for port in self.pipeline.get_inputs():
            values = [row[port.name] for row in rows]
            if "float" in port.type:
                numbers = [np.nan if value is None else value for value in values]
                feeds[port.name] = np.array(numbers, np.float32)[:, None]
            else:
                feeds[port.name] = np.array(values, object)[:, None]
        [features] = self.pipeline.run(None, feeds)
        arcs = np.array([*left, *((b, a) for a, b in left)], np.int64).reshape(-1, 2).T
        [logits] = self.model.run(None, {"x": features, "edge_index": arcs})
        return logits

    def lead(self, subject: int, changes: tuple[Change, ...] = ()) -> float:
        """How far the favourable class is ahead of the best other one."""
        row = self.answers(subject, changes)[subject]
        return float(row[FAVOURABLE] - np.delete(row, FAVOURABLE).max())

    def groups(self, subject: int) -> list[list[tuple[Change, float]]]:
        """Changes of raw values with their costs; those of one group exclude each other."""
        row = self.rows[subject]
        drops: list[list[tuple[Change, float]]] = [
            [(("drop", tie), DROP)] for tie in self.ties if subject in tie
        ]
        incomes: list[tuple[Change, float]] = []
        if row["income"] is not None:
            steps = range(1, int((MOST_INCOME - row["income"]) // INCOME_STEP) + 1)
            incomes = [(("income", row["income"] + k * INCOME_STEP), k * STEP) for k in steps]
        homes: list[tuple[Change, float]] = [
            (("housing", to), HOUSING)
            for to in ("rent", "own", "free")
            if row["housing"] and to != row["housing"]
        ]
        jobs: list[tuple[Change, float]] = [(("job", to), JOB) for to in MOVES[row["job"]]]
        return [group for group in (*drops, incomes, homes, jobs) if group]

    def permitted(self, subject: int) -> Iterator[tuple[tuple[Change, ...], float]]:
        """Every permitted set of changes with its cost."""
        groups = self.groups(subject)
        for size in range(1, MAX_CHANGES + 1):
            for chosen in combinations(groups, size):
                for changes in product(*chosen):
                    yield tuple(one for one, _ in changes), sum(cost for _, cost in changes)


def world_of(folder: Path, seed: int) -> tuple[World, list[SubjectReport]]:
    """A small world and the audit of everybody in it."""
    rows = people(COUNT, seed=seed)
    rows[3]["housing"] = ""
    pipeline_audit(folder, rows, SETTINGS + POLICY, seed=seed)
    sum_network(folder / "model.onnx", features=6, seed=seed)
    audit = load_audit(folder / "audit.toml")
    reports = explain(audit, [row["id"] for row in rows])
    return World(folder, rows, ties(COUNT, seed=seed)), reports


def changes_of(option: Option, world: World) -> tuple[Change, ...]:
    """An option as changes of raw values."""
    number = {row["id"]: place for place, row in enumerate(world.rows)}
    found: list[Change] = []
    for action in option.actions:
        if isinstance(action, SetAction):
            found.append((action.attribute, action.after))
        else:
            assert isinstance(action, TieAction)
            a, b = sorted(number[name] for name in action.tie)
            found.append(("drop", (a, b)))
    return tuple(found)


@pytest.mark.parametrize("seed", SEEDS)
def test_options_and_certificates_are_those_of_brute_force(tmp_path: Path, seed: int) -> None:
    world, reports = world_of(tmp_path, seed)
    seen = set()
    for subject, report in enumerate(reports):
        assert report.subject.favourable == (world.lead(subject) > 0)
        recourse = report.recourse
        assert recourse is not None
        seen.add(recourse.status)
        if report.subject.favourable:
            continue
        every = dict(world.permitted(subject))
        working = {
            changes: cost for changes, cost in every.items() if world.lead(subject, changes) > 0
        }
        for option in recourse.options:
            changes = changes_of(option, world)
            assert world.lead(subject, changes) > 0, "an option reaches the line"
            assert any(set(changes) == set(one) for one in every), "and is permitted"
            assert sum(action.cost for action in option.actions) == pytest.approx(option.cost)
        certificate = recourse.certificate
        assert certificate is not None
        assert certificate.possible == len(every)
        if working:
            assert recourse.status == "verified"
            assert recourse.options[0].cost == pytest.approx(min(working.values()))
        else:
            assert recourse.status == "certified_infeasible"
            assert certificate.exhaustive
            assert certificate.tried == len(every)
    assert "verified" in seen


def test_categories_are_offered_in_the_words_of_the_table(tmp_path: Path) -> None:
    offered: dict[str, list[SetAction]] = {}
    for seed in SEEDS:
        folder = tmp_path / str(seed)
        folder.mkdir()
        _, reports = world_of(folder, seed)
        for report in reports:
            for option in report.recourse.options if report.recourse else ():
                for action in option.actions:
                    if isinstance(action, SetAction):
                        offered.setdefault(action.attribute, []).append(action)
    assert set(offered) == {"income", "housing", "job"}
    assert all(action.after in ("rent", "own", "free") for action in offered["housing"])
    assert all(isinstance(action.after, float) for action in offered["income"])


def test_what_if_takes_raw_values(tmp_path: Path) -> None:
    world, _ = world_of(tmp_path, 11)
    audit = load_audit(tmp_path / "audit.toml")
    missing = next(row["id"] for row in world.rows if row["income"] is None)
    for subject, row in enumerate(world.rows):
        if not row["housing"]:
            continue
        tried = try_by_hand(audit, row["id"], ["housing=own", "job=full"])
        lead = world.lead(subject, (("housing", "own"), ("job", "full")))
        assert tried.favourable == (lead > 0)
    with pytest.raises(InputError, match="'income' is empty for this person"):
        try_by_hand(audit, missing, ["income=3000"])
    with pytest.raises(InputError, match="the model does not see 'variable\\[0\\]'"):
        try_by_hand(audit, "P0", ["variable[0]=1"])


def test_a_value_that_is_missing_is_not_changed(tmp_path: Path) -> None:
    world, reports = world_of(tmp_path, 4)
    missing = set()
    for row, report in zip(world.rows, reports, strict=True):
        if report.recourse is not None and report.recourse.certificate is not None:
            permitted = report.recourse.certificate.permitted.set
            for name in ("income", "housing"):
                assert permitted.get(name, 0) == 0 or row[name], "it is known"
                missing |= set() if row[name] else {name}
    assert missing == {"income", "housing"}
    audit = load_audit(tmp_path / "audit.toml")
    with pytest.raises(InputError, match="'housing' is empty for this person"):
        try_by_hand(audit, "P3", ["housing=own"])


def test_percentiles_are_those_of_people_with_a_value(tmp_path: Path) -> None:
    rows = people(COUNT, seed=2)
    known = [row["income"] for row in rows if row["income"] is not None]
    text = (SETTINGS + POLICY).replace(f"cost = {STEP}", 'cost = 0.1\ncost_in = "percentile"')
    path = pipeline_audit(tmp_path, rows, text, seed=2)
    audit = load_audit(path)
    tried = try_by_hand(audit, "P0", [f"income={max(known) + 1}"])
    start = rows[0]["income"]
    below = sum(one < start for one in known) + sum(one == start for one in known) / 2
    assert tried.actions[0].cost == pytest.approx(0.1 * (100 - 100 * below / len(known)))


def test_a_protected_value_that_is_missing_hides_no_option(tmp_path: Path) -> None:
    rows = [
        {**row, "age": None if place % 2 else 30 + place}
        for place, row in enumerate(people(COUNT, seed=2))
    ]
    groups = '[groups]\nattributes = ["age"]\nbins = { age = [36] }\n'
    condition = '[[recourse.conditions]]\nif = "income > 0"\nthen = "income <= 90000"\n'
    found = []
    for more in (groups, groups + condition):
        path = pipeline_audit(tmp_path, rows, SETTINGS + POLICY + more, seed=2)
        sum_network(tmp_path / "model.onnx", features=6, seed=2)
        reports = explain(load_audit(path), [row["id"] for row in rows])
        found.append([report.recourse.options if report.recourse else () for report in reports])
    assert found[0] == found[1]
    assert any(
        isinstance(action, SetAction)
        for options, row in zip(found[0], rows, strict=True)
        for option in options
        for action in option.actions
        if row["age"] is None
    )


def whole_numbers(path: Path) -> None:
    """A pipeline that takes one column as whole numbers, and others as they are."""
    draft = Draft()
    income, debt = draft.input("income", "int64", 1), draft.input("debt", "float64", 1)
    parts = [draft.op("Cast", one, to=1) for one in (income, debt)]
    numbers = draft.op("Concat", *parts, axis=1)
    draft.output("variable", draft.scaled(numbers, (2000, 500), (1 / 800, 1 / 200)), 2)
    draft.save(path)


def test_whole_numbers_stay_whole_in_every_draw(tmp_path: Path) -> None:
    rows = [{**row, "income": row["income"] or 2000} for row in people(COUNT, seed=4)]
    whole_numbers(tmp_path / "pipeline.onnx")
    step = f"step = {INCOME_STEP}"
    policy = POLICY[: POLICY.index('[[recourse.attributes]]\nname = "housing"')]
    policy = policy.replace("100000\ndraws = 0", "100\ndraws = 9")
    path = pipeline_audit(tmp_path, rows, SETTINGS + policy, seed=4)
    sum_network(tmp_path / "model.onnx", features=2, seed=2)
    reports = explain(load_audit(path), [row["id"] for row in rows])
    assert not any(report.error for report in reports)
    options = [one for report in reports if report.recourse for one in report.recourse.options]
    assert any(one.robustness is not None for one in options)
    path.write_text(path.read_text().replace(step, "step = 0.5"))
    with pytest.raises(SettingsError, match=r"attributes\[0\].step: 0.5 would give fractions"):
        load_audit(path)
