"""Over several kinds, what people know about themselves becomes features of people alone."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from recourse_audit.audit.load import LoadedAudit, open_audit
from recourse_audit.audit.report import explain
from recourse_audit.records.recourse import MoveAction, SetAction
from recourse_audit.settings import parse_settings
from tests.model.kind_files import FOLDER, settings_for

LABELS = ("rent", "own")
PEOPLE, EMPLOYERS = 24, 6


class Town:
    """People with a category and two numbers, their jobs and recommendations, as CSV files."""

    def __init__(self, folder: Path, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.housing = [str(label) for label in random.choice(LABELS, PEOPLE)]
        self.numbers = random.normal(size=(PEOPLE, 2)).round(2)
        self.employers = random.normal(size=(EMPLOYERS, 3)).round(2)
        self.jobs = [(n, int(random.integers(EMPLOYERS))) for n in range(PEOPLE)]
        ends = {tuple(random.choice(PEOPLE, 2, replace=False).tolist()) for _ in range(30)}
        self.recommends = sorted((a, b) for a, b in ends if (b, a) not in ends or a < b)
        people = [
            [n, *(int(self.housing[n] == label) for label in LABELS), *self.numbers[n]]
            for n in range(PEOPLE)
        ]
        write(folder / "people.csv", ["id", *LABELS, "pay", "age"], people)
        rows = [[f"E{n}", *self.employers[n]] for n in range(EMPLOYERS)]
        write(folder / "employers.csv", ["id", "a", "b", "c"], rows)
        jobs = [(n, f"E{employer}") for n, employer in self.jobs]
        write(folder / "jobs.csv", ["source", "target"], jobs)
        write(folder / "recommends.csv", ["source", "target"], self.recommends)
        self._session = onnxruntime.InferenceSession(FOLDER / "flat.onnx")

    def chance(self, person: int, *actions: Any) -> float:
        """The probability of the favourable class after some changes, on the whole graph."""
        housing, numbers, jobs = list(self.housing), self.numbers.copy(), list(self.jobs)
        for action in actions:
            if isinstance(action, MoveAction):
                old = int(action.tie[1].removeprefix("employer:E"))
                jobs.remove((person, old))
                jobs.append((person, int(action.to.removeprefix("employer:E"))))
            elif action.attribute == "housing":
                housing[person] = action.after
            else:
                numbers[person, ("pay", "age").index(action.attribute)] = action.after
        one_hot = [[label == own for label in LABELS] for own in housing]
        ends = np.array(jobs, np.int64).T
        feeds = {
            "x_person": np.concatenate((one_hot, numbers), axis=1).astype(np.float32),
            "x_employer": self.employers.astype(np.float32),
            "edge_index_works_at": ends,
            "edge_index_works_at_rev": np.ascontiguousarray(ends[::-1]),
            "edge_index_recommends": np.array(self.recommends, np.int64).T.copy(),
        }
        row = self._session.run(None, feeds)[0][person].astype(float)
        return float(1 / (1 + np.exp(row[0] - row[1])))


def write(path: Path, header: list[str], rows: Any) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


def opened(folder: Path) -> LoadedAudit:
    tables = {
        "model": settings_for("flat").model_dump(mode="json", exclude_unset=True),
        "graph": {
            "nodes": {
                "person": {"path": "people.csv", "features": [*LABELS, "pay", "age"]},
                "employer": {"path": "employers.csv", "features": ["a", "b", "c"]},
            },
            "ties": {
                "works_at": {"path": "jobs.csv", "from": "person", "to": "employer"},
                "recommends": {"path": "recommends.csv", "from": "person", "to": "person"},
            },
            "encodings": [
                {"name": "housing", "kind": "one_hot", "columns": LABELS, "labels": LABELS}
            ],
        },
        "decision": {"subject": "person", "classes": ["no", "yes"], "favourable": ["yes"]},
        "search": {"max_nodes": 2},
        "recourse": {
            "max_changes": 2,
            "draws": 4,
            "ties": [{"kind": "works_at", "allow": ["move"], "to": "anyone"}],
            "attributes": [
                {"name": "housing", "values": list(LABELS)},
                {"name": "pay", "step": 0.5},
            ],
            "not_protected": ["pay"],
        },
    }
    return open_audit(parse_settings(tables, folder=folder, origin="audit.toml"))


@pytest.mark.parametrize("seed", range(3))
def test_options_that_set_columns_and_move_ties_flip_on_the_whole_graph(
    seed: int, tmp_path: Path
) -> None:
    town = Town(tmp_path, seed)
    audit = opened(tmp_path)
    done: set[tuple[type, str]] = set()
    for person, report in enumerate(explain(audit, [str(n) for n in range(PEOPLE)])):
        recourse = report.recourse
        assert recourse is not None
        assert not recourse.error
        assert report.subject.probabilities["yes"] == pytest.approx(town.chance(person), abs=1e-5)
        for option in recourse.options:
            chance = town.chance(person, *option.actions)
            assert option.probabilities["yes"] == pytest.approx(chance, abs=1e-5)
            assert chance > 0.5
            assert option.robustness is not None
            done |= {(type(action), getattr(action, "attribute", "")) for action in option.actions}
        for column in report.own_data.columns if report.own_data else ():
            reference = column.reference
            if column.answer is None or reference is None:
                continue
            change = SetAction(attribute=column.name, before=0.0, after=reference)
            chance = town.chance(person, change)
            assert column.answer.probabilities["yes"] == pytest.approx(chance, abs=1e-5)
            done.add((type(column), column.name))
    assert {(MoveAction, ""), (SetAction, "pay")} <= done
    assert len(done) > 4
