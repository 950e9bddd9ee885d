"""Options under every rule, against rebuilding the graph and ranking everybody anew.

Nothing of the search is used on the other side: every set of changes is applied to plain arrays,
onnxruntime answers for everybody, and the rule is written here again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

from recourse_audit.audit.load import LoadedAudit, load_audit
from recourse_audit.audit.report import explain
from recourse_audit.records.recourse import SetAction
from recourse_audit.records.subject import SubjectReport
from tests.onnx_models import sum_network

PEOPLE, MOST = 13, 2
IDS = [f"n{number:02d}" for number in range(PEOPLE)]
STEP, LOW, HIGH, SET_COST, DROP_COST = 0.75, -1.5, 1.5, 0.4, 1.0
PRODUCT = np.array(["car" if number % 3 else "house" for number in range(PEOPLE)])
LINES = {"car": 0.45, "house": 0.6}
RULES: dict[str, tuple[str, str]] = {
    "cut_off": ("sigmoid", "cut_off = 0.55"),
    "classes": ("softmax", "cut_off = 0.5"),
    "score": ("score", "cut_off = 0.4"),
    "lower": ("score", 'cut_off = -0.4\nbetter = "lower"'),
    "by": ("sigmoid", 'cut_off_by = { column = "product", values = { car = 0.45, house = 0.6 } }'),
    "quota": ("sigmoid", "quota = 5"),
    "share": ("score", "quota = 0.4"),
}


@dataclass(frozen=True)
class World:
    """A graph in plain arrays, and the model in the bare runtime."""

    features: NDArray[np.float32]
    ties: tuple[tuple[int, int], ...]
    session: onnxruntime.InferenceSession
    rule: str

    def values(self, gone: tuple[int, ...] = (), moved: tuple[int, float] | None = None) -> Any:
        """What the rule compares, for everybody, after ties are dropped and a value is set."""
        features = self.features.copy()
        if moved is not None:
            features[moved[0], 0] = moved[1]
        left = [tie for number, tie in enumerate(self.ties) if number not in gone]
        ends = np.array([*left, *(tie[::-1] for tie in left)], np.int64).reshape(-1, 2).T
        names = [one.name for one in self.session.get_inputs()]
        [raw] = self.session.run(None, dict(zip(names, (features, ends), strict=True)))
        if raw.shape[1] == 1:
            return raw[:, 0].astype(float)
        return raw[:, 1:].sum(axis=1).astype(float)  # all classes but the first are favourable

    def favourable(self, values: Any) -> list[bool]:
        match self.rule:
            case "cut_off":
                return [value >= 0.55 for value in values]
            case "classes":
                return [value >= 0.5 for value in values]
            case "score":
                return [value >= 0.4 for value in values]
            case "lower":
                return [value <= -0.4 for value in values]
            case "by":
                return [v >= LINES[p] for v, p in zip(values, PRODUCT, strict=True)]
            case _:
                order = sorted(range(PEOPLE), key=lambda one: (-values[one], IDS[one]))
                return [one in order[:5] for one in range(PEOPLE)]

    def levels(self, subject: int) -> list[float]:
        start = float(f"{self.features[subject, 0]:.9g}")
        ups = np.arange(1, 9) * STEP
        found = [start + up for up in ups] + [start - up for up in ups]
        return [level for level in found if LOW <= level <= HIGH]

    def changes(self, subject: int) -> list[tuple[str, Any, float]]:
        own = [
            ("drop", number, DROP_COST) for number, tie in enumerate(self.ties) if subject in tie
        ]
        start = float(self.features[subject, 0])
        return own + [
            ("set", level, round(abs(level - start) / STEP) * SET_COST)
            for level in self.levels(subject)
        ]

    def sets(self, subject: int) -> Iterator[tuple[tuple[int, ...], float | None, float]]:
        """Every set of at most so many changes: ties dropped, the value set, the cost."""
        every = self.changes(subject)
        for size in range(1, MOST + 1):
            for chosen in combinations(every, size):
                levels = [change[1] for change in chosen if change[0] == "set"]
                if len(levels) <= 1:
                    gone = tuple(change[1] for change in chosen if change[0] == "drop")
                    cost = sum(change[2] for change in chosen)
                    yield gone, levels[0] if levels else None, cost

    def works(self, subject: int, gone: tuple[int, ...], level: float | None) -> bool:
        moved = None if level is None else (subject, level)
        return self.favourable(self.values(gone, moved))[subject]


def made(folder: Path, rule: str, seed: int) -> tuple[World, LoadedAudit]:
    draw = np.random.default_rng(seed)
    features = draw.normal(size=(PEOPLE, 3)).round(2).astype(np.float32)
    features[:, 0] = features[:, 0].clip(LOW, HIGH)
    pairs = list(combinations(range(PEOPLE), 2))
    ties = tuple(pairs[place] for place in sorted(draw.permutation(len(pairs))[:19].tolist()))
    head, words = RULES[rule]
    classes = 3 if head == "softmax" else 2
    model = sum_network(folder / "model.onnx", features=3, classes=classes, head=head, seed=seed)
    np.savez(
        folder / "graph.npz",
        x=features,
        edge_index=np.array(ties).T,
        ids=np.array(IDS),
        product=PRODUCT,
        feature_names=np.array(["f0", "f1", "f2"]),
    )
    names = ["no", "yes"] if classes == 2 else ["no", "partly", "yes"]
    output = 'output = "score"' if head == "score" else ""
    (folder / "audit.toml").write_text(
        f"""
[model]
path = "model.onnx"
{output}
[graph]
npz = "graph.npz"
[decision]
classes = {names}
favourable = {names[1:]}
{words}
[search]
max_nodes = 3
[recourse]
max_changes = {MOST}
draws = 0
[[recourse.attributes]]
name = "f0"
step = {STEP}
min = {LOW}
max = {HIGH}
cost = {SET_COST}
""",
        encoding="utf-8",
    )
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return World(features, ties, session, rule), load_audit(folder / "audit.toml")


@pytest.mark.parametrize("rule", RULES)
def test_options_reach_the_line_and_nothing_cheaper_does(rule: str, tmp_path: Path) -> None:
    statuses = set()
    for seed in (3, 4):
        folder = tmp_path / str(seed)
        folder.mkdir()
        world, audit = made(folder, rule, seed)
        now = world.favourable(world.values())
        for subject, report in enumerate(explain(audit, IDS)):
            assert report.subject.favourable == now[subject]
            if now[subject]:
                assert report.status == "already_favourable"
                continue
            check(world, subject, report)
            statuses.add(report.status)
    assert "verified" in statuses


def check(world: World, subject: int, report: SubjectReport) -> None:
    """Compare what was found for somebody who was refused with trying everything."""
    tried = [(cost, gone, level) for gone, level, cost in world.sets(subject)]
    working = [cost for cost, gone, level in tried if world.works(subject, gone, level)]
    assert report.recourse is not None
    if not working:
        assert report.status == "certified_infeasible"
        certificate = report.recourse.certificate
        assert certificate.tried == certificate.possible == len(tried)
        return
    assert report.status == "verified"
    first, *_ = report.recourse.options
    assert first.cost == pytest.approx(min(working), abs=1e-6)
    for option in report.recourse.options:
        gone, level = [], None
        for action in option.actions:
            if isinstance(action, SetAction):
                level = action.after
            else:
                [tie] = action.ties
                ends = sorted(IDS.index(end) for end in tie)
                gone.append(world.ties.index((ends[0], ends[1])))
        moved = None if level is None else (subject, float(level))
        values = world.values(tuple(gone), moved)
        after = world.favourable(values)
        assert after[subject]
        assert option.margin >= 0
        assert option.score == pytest.approx(values[subject], abs=1e-4)
        changed = {
            IDS[one]
            for one in range(PEOPLE)
            if one != subject and after[one] != world.favourable(world.values())[one]
        }
        seen = option.side_effects
        assert seen.measured
        assert {*seen.to_favourable, *seen.to_unfavourable} == changed
    line = report.decision
    assert line.score == pytest.approx(world.values()[subject], abs=1e-4)
    assert line.margin is not None
    assert line.margin <= 0


def test_whoever_gets_in_under_a_quota_takes_somebodys_place(tmp_path: Path) -> None:
    _, audit = made(tmp_path, "quota", 3)
    reports = [report for report in explain(audit, IDS) if report.status == "verified"]
    assert reports
    for report in reports:
        assert report.decision.rule == "quota"
        assert report.decision.places == 5
        assert report.decision.rank is not None
        assert report.decision.rank > 5
        assert report.recourse is not None
        for option in report.recourse.options:
            out, into = option.side_effects.to_unfavourable, option.side_effects.to_favourable
            assert len(out) == len(into) + 1


def test_a_score_model_says_scores_and_no_probabilities(tmp_path: Path) -> None:
    world, audit = made(tmp_path, "score", 3)
    values, answers = world.values(), explain(audit, IDS)
    spread = values.std()
    for subject, report in enumerate(answers):
        assert report.subject.probabilities == {}
        assert report.decision.better == "higher"
        assert report.decision.score == pytest.approx(values[subject], abs=1e-5)
        for found in report.counterfactuals:
            assert found.probabilities == found.explanation.probabilities == {}
            assert found.explanation.score is not None
            apart = (values[subject] - found.explanation.score) / spread
            assert found.simulatability == pytest.approx(-(apart**2), abs=1e-3)
            assert found.score is not None
            kept = -(((values[subject] - found.score) / spread) ** 2)
            mu = (found.simulatability - kept) / len(found.removed)
            assert found.signed_relevance == pytest.approx(mu, abs=1e-3)
