"""What decisions rest on, and what permitted changes do, is what trying every one of them says.

On random small worlds, with the second implementation of the policy and one query per changed
graph. Figures are compared to three digits of the log-odds, which is what single precision allows.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import log
from pathlib import Path

import numpy as np
import pytest

from recourse_audit.audit.report import explain
from recourse_audit.records.recourse import Part
from recourse_audit.records.subject import OwnColumn, OwnData, OwnTies, SubjectReport
from tests.cases import long_after
from tests.recourse.brute_force import BruteForce, Oracle, World
from tests.recourse.random_worlds import FEATURES, MOVING, NETWORKS, Case, random_case

NUMBERS = [15, MOVING, *range(16, 24), MOVING + 1, MOVING + 2]
# Log-odds beyond these are lost in the probabilities that a model of each head gives.
LARGEST = {"softmax": 25, "log_softmax": 25, "logits": 25, "sigmoid": 10, "score": 10}
SMALLEST = 0.1
LISTED, PAIRED, STATED = 3, 8, 4
Key = tuple[str, str]


def key_of(part: Part) -> Key:
    return part.what, part.name


@dataclass(frozen=True)
class Truth:
    """What is so for one person, worked out graph by graph."""

    case: Case
    oracle: Oracle
    person: int
    references: Mapping[str, float]

    @property
    def parts(self) -> list[Key]:
        """Every column that has a reference, and every kind of the person's ties to others."""
        own = {row.kind for row in self.case.world.rows if self._is_own(row.source, row.target)}
        kinds = [kind for kind in self.case.world.kinds if kind in own]
        return [
            *(("column", name) for name in self.references),
            *(("ties", kind) for kind in kinds),
        ]

    def _is_own(self, source: int, target: int) -> bool:
        return self.person in (source, target) and source != target

    def without(self, parts: Sequence[Key]) -> list[float]:
        """The person's probabilities with columns at their references and kinds removed."""
        world: World = self.case.world
        columns = {name: list(values) for name, values in world.columns.items()}
        for what, name in parts:
            if what == "column":
                columns[name][self.person] = self.references[name]
        gone = {name for what, name in parts if what == "ties"}
        rows = tuple(
            row
            for row in world.rows
            if row.kind not in gone or not self._is_own(row.source, row.target)
        )
        after = replace(
            world, rows=rows, columns={name: tuple(values) for name, values in columns.items()}
        )
        [answer] = self.oracle.probabilities(after, [self.person])
        return answer

    def lead(self, shares: Sequence[float]) -> float:
        """How far the best favourable class is ahead of the best other, in log-odds."""
        good = self.case.favourable
        best = max(log(max(shares[place], 1e-12)) for place in good)
        others = (p for place, p in enumerate(shares) if place not in good)
        return best - max(log(max(p, 1e-12)) for p in others)

    def moves(self, parts: Sequence[Key]) -> float:
        return self.lead(self.without(parts)) - self.lead(self.without(()))

    def is_favourable(self, shares: Sequence[float]) -> bool:
        return int(np.argmax(shares)) in self.case.favourable


def truths(case: Case, folder: Path) -> Iterator[Truth]:
    """The truth about everybody; a reference is the lower median of those approved.

    Of a model that answers for one person per query, nobody knows who else is approved.
    """
    oracle = Oracle(folder / "model.onnx", case.network.form, FEATURES)
    everybody = oracle.probabilities(case.world, range(len(case.world.ids)))
    approved = [p for p, row in enumerate(everybody) if int(np.argmax(row)) in case.favourable]
    references = {}
    for name in FEATURES if approved and case.network.form.inputs != "target" else ():
        values = sorted(np.float32(case.world.columns[name][person]) for person in approved)
        references[name] = float(values[(len(values) - 1) // 2])
    for person in range(len(case.world.ids)):
        yield Truth(case, oracle, person, references)


def close(expected: float) -> object:
    return pytest.approx(expected, rel=2e-3, abs=2e-3)


def check_ladder(own: OwnData, truth: Truth) -> dict[Key, float]:
    """Every answer and move is the truth; the moves are returned."""
    told: dict[Key, OwnColumn | OwnTies] = {
        **{("column", column.name): column for column in own.columns if column.answer is not None},
        **{("ties", ties.kind): ties for ties in own.ties},
    }
    assert list(told) == truth.parts
    assert own.distance == close(-truth.lead(truth.without(())))
    moves = {}
    for part, record in told.items():
        shares = truth.without([part])
        assert record.answer is not None
        assert record.moves is not None
        assert [*record.answer.probabilities.values()] == pytest.approx(shares, abs=1e-5)
        assert record.moves == close(truth.moves([part])), part
        moves[part] = record.moves
    for column in own.columns if truth.references else ():
        value = truth.case.policy().units(column.name).of(truth.references[column.name])
        assert column.reference == pytest.approx(value, rel=1e-4, abs=1e-4)
    return moves


def check_pairs(own: OwnData, truth: Truth, moves: Mapping[Key, float]) -> bool:
    """Pairs are asked about only if no single part decides, and are the farthest there are."""
    refused = not truth.is_favourable(truth.without(()))
    if not refused or any(truth.is_favourable(truth.without([part])) for part in moves):
        assert own.pairs == ()
        return False
    strongest = sorted(moves, key=lambda part: -moves[part])[:PAIRED]
    farthest = sorted((truth.moves(pair) for pair in combinations(strongest, 2)), reverse=True)
    assert [pair.moves for pair in own.pairs] == [close(move) for move in farthest[:LISTED]]
    for pair in own.pairs:
        parts = [key_of(part) for part in pair.parts]
        assert pair.moves == close(truth.moves(parts))
        assert pair.answer.favourable == truth.is_favourable(truth.without(parts))
    return bool(own.pairs)


def check_responsiveness(report: SubjectReport, force: BruteForce, truth: Truth) -> int:
    """All single permitted changes, by column and kind of tie, and what they do."""
    assert report.recourse is not None
    singles: dict[Key, list[list[float]]] = {}
    for place, move in enumerate(force.moves):
        key = ("ties", str(move.kind)) if move.attribute is None else ("column", move.attribute)
        singles.setdefault(key, []).append(force.answer(frozenset({place})))
    told = {key_of(record.part): record for record in report.recourse.responsiveness}
    assert told.keys() == singles.keys()
    for key, answers in singles.items():
        record = told[key]
        flips = sum(truth.is_favourable(shares) for shares in answers)
        assert (record.moves, record.tried, record.flips) == (len(answers), len(answers), flips)
        assert record.share == pytest.approx(flips / len(answers), abs=1e-6)
        assert record.interval is None
        best = max(answers, key=truth.lead)
        if abs(truth.lead(best)) < LARGEST[truth.case.network.form.head]:
            assert record.best_move == close(truth.lead(best) - truth.lead(truth.without(())))
        value = sum(best[place] for place in truth.case.favourable)
        assert record.best_answer == pytest.approx(value, abs=1e-4)
    return sum(record.flips for record in told.values())


def check_candidates(report: SubjectReport, moves: Mapping[Key, float]) -> int:
    """The strongest that move the answer a tenth of the way; fixed if nothing permitted does."""
    own, recourse = report.own_data, report.recourse
    assert own is not None
    assert recourse is not None
    assert own.distance is not None
    least = SMALLEST * own.distance
    strong = [part for part, move in moves.items() if move >= least]
    strong.sort(key=lambda part: -moves[part])
    assert [key_of(reason.part) for reason in report.reasons] == strong[:STATED]
    movable = {
        key_of(record.part)
        for record in recourse.responsiveness
        if record.best_move is not None and record.best_move >= least
    }
    for option in recourse.options:
        for action in option.to_dict()["actions"]:
            name = action.get("attribute") or action["kind"]
            movable.add(("column" if "attribute" in action else "ties", name))
    for reason in report.reasons:
        assert reason.share == pytest.approx(reason.moves / own.distance, abs=1e-5)
        assert reason.fixed == (key_of(reason.part) not in movable)
    return sum(reason.fixed for reason in report.reasons)


@pytest.mark.parametrize("number", long_after(2, NUMBERS))
@pytest.mark.parametrize("name", NETWORKS)
def test_ladders_and_responsiveness_equal_the_brute_force(
    name: str, number: int, tmp_path: Path
) -> None:
    case = random_case(name, number)
    audit = case.open(tmp_path)
    reports = explain(audit, case.world.ids)
    forces = case.brute_force(tmp_path)
    compared = 0
    for report, truth, force in zip(reports, truths(case, tmp_path), forces, strict=True):
        # At the edge, and where probabilities are all but 0 or 1, single precision decides.
        sets = [(), *((part,) for part in truth.parts), *combinations(truth.parts, 2)]
        leads = [abs(truth.lead(truth.without(parts))) for parts in sets]
        largest = LARGEST[case.network.form.head]
        if force.least_margin < 1e-5 or min(leads) < 1e-4 or max(leads) > largest:
            continue
        compared += 1
        assert report.own_data is not None
        moves = check_ladder(report.own_data, truth)
        check_pairs(report.own_data, truth, moves)
        if report.subject.favourable:
            assert report.reasons == ()
            assert report.own_data.distance is not None
            assert report.own_data.distance < 0
            continue
        check_responsiveness(report, force, truth)
        check_candidates(report, moves)
    assert compared
