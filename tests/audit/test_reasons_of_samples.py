"""What the decisions of both lending samples rest on, worked out again from their files.

The tables are read, columns set and ties left out, permitted changes listed and the files of model
and pipeline asked by the code below, which shares nothing with the tool.
"""

import csv
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

from recourse_audit.audit.load import open_audit
from recourse_audit.audit.report import explain
from recourse_audit.records.recourse import Part
from recourse_audit.records.subject import SubjectReport
from recourse_audit.settings import load_settings
from tests.cases import long_after

SAMPLES = Path(__file__).parents[2] / "sample_models"
Row = dict[str, Any]
Key = tuple[str, str]
# A single change: values of the person's own row, or ties that end, by their places.
Change = tuple[Mapping[str, Any], Sequence[int]]


def read_rows(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class Sample:
    """A sample's files, and its model asked about the whole graph."""

    def __init__(self, folder: Path) -> None:
        self.tables = tomllib.loads((folder / "audit.toml").read_text(encoding="utf-8"))
        self.people = read_rows(folder / "nodes.csv")
        self.ties = read_rows(folder / "edges.csv")
        self.number = {row["id"]: place for place, row in enumerate(self.people)}
        self._ends = np.array(
            [[self.number[tie["source"]], self.number[tie["target"]]] for tie in self.ties]
        )
        model = self.tables["model"]
        self._model = onnxruntime.InferenceSession(folder / model["path"])
        pipeline = model.get("preprocessing")
        self._pipeline = pipeline and onnxruntime.InferenceSession(folder / pipeline)
        self.columns = [*self.tables["graph"].get("features", ())]
        if self._pipeline:
            named = [port.name for port in self._pipeline.get_inputs()]
            self.columns = [name for name in self.people[0] if name in (*named, "debt")]
        self.cut_off = self.tables["decision"].get("cut_off", 0.5)
        self._x = self._features(self.people)

    def _features(self, people: Sequence[Row]) -> NDArray[np.float32]:
        if not self._pipeline:
            return np.array([[float(row[name]) for name in self.columns] for row in people], "f4")
        feeds: dict[str, Any] = {}
        for port in self._pipeline.get_inputs():
            if port.type == "tensor(string)":
                feeds[port.name] = np.array([[row[port.name]] for row in people], dtype=object)
            elif port.name == "debt_ratio":
                ratios = [[float(row["debt"]) / float(row["income"])] for row in people]
                feeds[port.name] = np.array(ratios, np.float32)
            else:
                feeds[port.name] = np.array([[float(row[port.name])] for row in people], np.float32)
        (features,) = self._pipeline.run(None, feeds)
        return np.asarray(features)

    def ask(self, person: int, values: Mapping[str, Any], ended: Sequence[int] = ()) -> float:
        """The person's probability of approval after a change of their row and of their ties."""
        x = self._x.copy()
        [x[person]] = self._features([{**self.people[person], **values}])
        return float(
            self._approvals(x, np.delete(self._ends, np.array(ended, int), axis=0))[person]
        )

    def _approvals(self, x: NDArray[np.float32], ends: NDArray[np.int64]) -> NDArray[np.float64]:
        arcs = np.ascontiguousarray(np.concatenate([ends, ends[:, ::-1]]).T)
        (raw,) = self._model.run(None, {"x": x, "edge_index": arcs})
        raw = raw.astype(np.float64)
        if raw.shape[1] == 1:
            return np.asarray(raw[:, 0])
        approved = self.tables["decision"]["classes"].index("approved")
        return np.asarray(1 / (1 + np.exp(raw[:, 1 - approved] - raw[:, approved])))

    @cached_property
    def answers(self) -> NDArray[np.float64]:
        return self._approvals(self._x, self._ends)

    @cached_property
    def references(self) -> dict[str, Any]:
        """The lower median, or the most frequent value, of everybody approved."""
        approved = [self.people[place] for place in np.flatnonzero(self.answers >= self.cut_off)]
        references: dict[str, Any] = {}
        for name in self.columns:
            texts = [row[name] for row in approved]
            if self._is_number(name):
                numbers = sorted(map(float, texts))
                references[name] = numbers[(len(numbers) - 1) // 2]
            else:
                references[name] = min(set(texts), key=lambda text: (-texts.count(text), text))
        return references

    def _is_number(self, name: str) -> bool:
        return str(self.people[0][name]).replace(".", "").isdigit()

    def own(self, person: int, kind: str) -> list[int]:
        theirs = np.flatnonzero((self._ends == person).any(axis=1)).tolist()
        return [place for place in theirs if self.ties[place]["kind"] == kind]

    def parts(self, person: int) -> Iterator[tuple[Key, Change]]:
        """Every column at its reference, and every kind of own tie removed."""
        for name, value in self.references.items():
            yield ("column", name), ({name: value}, ())
        for kind in sorted({tie["kind"] for tie in self.ties}):
            if self.own(person, kind):
                yield ("ties", kind), ({}, self.own(person, kind))

    def permitted(self, person: int) -> Iterator[tuple[Key, Change]]:
        """Every single change that the rules of the settings permit."""
        recourse, row = self.tables["recourse"], self.people[person]
        for rule in recourse["ties"]:
            ends = self.own(person, rule["kind"]) if "drop" in rule["allow"] else []
            for ended in [ends] if rule.get("together") and ends else [[end] for end in ends]:
                yield ("ties", rule["kind"]), ({}, ended)
        for rule in recourse["attributes"]:
            name = rule["name"]
            if "step" not in rule:
                moves = [m if isinstance(m, list) else [m["from"], m["to"]] for m in rule["moves"]]
                values: list[Any] = [after for before, after in moves if before == row[name]]
            else:
                everybody = [float(person[name]) for person in self.people]
                low, high = rule.get("min", min(everybody)), rule.get("max", max(everybody))
                step = rule["step"] if rule["direction"] == "up" else -rule["step"]
                levels = (round(float(row[name]) + n * step, 9) for n in range(1, 10_000))
                values = []
                for value in levels:
                    if not low <= value <= high:
                        break
                    values.append(value)
            for value in values:
                after = {**row, name: value}
                # The only condition of the samples: nobody without a job earns more than this.
                moved = name in ("job", "income") and "conditions" in recourse
                if not (moved and after["job"] == "none" and float(after["income"]) > 1500):
                    yield ("column", name), ({name: value}, ())


def logit(share: float) -> float:
    return log(share) - log(1 - share)


def key_of(part: Part) -> Key:
    return part.what, part.name


def check_person(report: SubjectReport, sample: Sample) -> None:
    person, own, recourse = sample.number[report.subject.id], report.own_data, report.recourse
    assert own is not None
    assert recourse is not None
    now = logit(float(sample.answers[person]))
    told: dict[Key, Any] = {
        **{("column", column.name): column for column in own.columns},
        **{("ties", ties.kind): ties for ties in own.ties},
    }
    parts = dict(sample.parts(person))
    assert told.keys() == parts.keys()
    assert own.distance is not None
    assert own.distance == pytest.approx(logit(sample.cut_off) - now, abs=2e-3)
    for key, record in told.items():
        share = sample.ask(person, *parts[key])
        assert record.answer.probabilities["approved"] == pytest.approx(share, abs=1e-5), key
        assert record.answer.favourable == (share >= sample.cut_off)
        assert record.moves == pytest.approx(logit(share) - now, abs=5e-3), key
    singles: dict[Key, list[float]] = {}
    for key, change in sample.permitted(person):
        singles.setdefault(key, []).append(sample.ask(person, *change))
    measured = {key_of(record.part): record for record in recourse.responsiveness}
    assert measured.keys() == singles.keys()
    for key, shares in singles.items():
        record = measured[key]
        assert (record.moves, record.tried) == (len(shares), len(shares)), key
        assert record.flips == sum(share >= sample.cut_off for share in shares), key
        assert record.best_answer == pytest.approx(max(shares), abs=1e-5)
        assert record.best_move == pytest.approx(logit(max(shares)) - now, abs=5e-3)
    least = 0.1 * own.distance
    strong = sorted((k for k in told if told[k].moves >= least), key=lambda k: -told[k].moves)
    assert [key_of(reason.part) for reason in report.reasons] == strong[:4]


@pytest.fixture(scope="module", params=["lending", "lending_deployed"])
def sample(request: pytest.FixtureRequest) -> tuple[str, Sample]:
    return request.param, Sample(SAMPLES / request.param)


@pytest.mark.parametrize("count", long_after(1, [10, 40]))
def test_ladders_and_responsiveness_are_those_of_the_files(
    sample: tuple[str, Sample], count: int
) -> None:
    name, files = sample
    refused = [
        row["id"]
        for row, share in zip(files.people, files.answers, strict=True)
        if share < files.cut_off and row.get("decision", "denied") == "denied"
    ]
    settings = load_settings(SAMPLES / name / "audit.toml")
    quick = {"search": {"max_nodes": 2}, "caveats": {"draws": 0}, "recourse": {"draws": 0}}
    for section, values in quick.items():
        part = getattr(settings, section).model_copy(update=values)
        settings = settings.model_copy(update={section: part})
    subjects = refused[:: len(refused) // count][:count]
    for report in explain(open_audit(settings), subjects):
        check_person(report, files)
    assert len(subjects) == count
