"""Each caveat appears where it must, and nowhere else."""

from pathlib import Path

import numpy as np
import pytest

from recourse_audit.audit.caveats import removal_of
from recourse_audit.audit.load import load_audit
from recourse_audit.audit.report import explain
from recourse_audit.audit.rollout import roll_out
from recourse_audit.graph.readers import from_arrays
from recourse_audit.records.search import Counterfactual
from recourse_audit.records.subject import Caveat, Decision, SubjectReport
from recourse_audit.search.evaluation import Scope
from tests.audits import IDS, lending_audit, small_audit
from tests.command import command, one_line
from tests.onnx_models import sum_network
from tests.search.engine import new_search, open_batcher, results_by_subject

BANNED = ("proves", "guarantees", "unbiased", "will be approved", "because of", "caused")


def reports(settings: Path, *ids: str) -> list[SubjectReport]:
    return explain(load_audit(settings), ids)


def kinds(report: SubjectReport) -> list[str]:
    return [caveat.kind for caveat in report.caveats]


def confounders_of(subject: str, shown: Counterfactual) -> set[str]:
    """By rolling the explanation out, in ids."""
    names = list(shown.explanation.nodes)
    number = {name: place for place, name in enumerate(names)}
    arcs = [(number[a], number[b]) for tie in shown.explanation.edges for a, b in (tie, tie[::-1])]
    kept = {subject, *(end for tie in shown.kept for end in tie)}
    rolled = roll_out(
        arcs,
        range(len(names)),
        subject=number[subject],
        removed=[number[name] for name in names if name not in kept],
        depth=2,
    )
    return {names[node] for node in rolled.confounding_nodes}


def test_a_counterfactual_has_the_caveat_where_something_confounds_it(tmp_path: Path) -> None:
    confounded = clear = 0
    for report in reports(small_audit(tmp_path), *IDS):
        by_number = {caveat.counterfactual: caveat for caveat in report.caveats}
        for number, one in enumerate(report.counterfactuals, start=1):
            expected = confounders_of(report.subject.id, one)
            caveat = by_number.get(number)
            assert (caveat is not None) == bool(expected)
            clear += caveat is None
            if caveat is not None:
                confounded += 1
                assert caveat.kind == "confounders"
                assert caveat.about == f"counterfactual {number}"
                assert set(caveat.variables) == expected
                assert_effect(report.subject, one, caveat)
    assert confounded >= 5
    assert clear >= 5


def assert_effect(decision: Decision, shown: Counterfactual, caveat: Caveat) -> None:
    effect = caveat.effect
    assert effect is not None
    assert caveat.grade == effect.grade
    before = shown.explanation.probabilities[decision.decision]
    after = shown.probabilities[decision.decision]
    assert effect.unadjusted == pytest.approx(after - before, abs=3e-6)
    assert effect.low <= effect.adjusted <= effect.high
    assert caveat.text in (effect.grade, "too_small")


def test_one_layer_has_the_general_caution_only(tmp_path: Path) -> None:
    settings = small_audit(tmp_path)
    sum_network(tmp_path / "model.onnx", layers=1)
    [report] = reports(settings, "a")
    assert kinds(report) == ["general"]


def test_nobody_without_a_counterfactual_has_a_caveat(tmp_path: Path) -> None:
    [report] = reports(small_audit(tmp_path), "lonely")
    assert report.caveats == ()


def test_a_model_without_a_limit_to_its_reach_says_that_confounders_are_not_known(
    tmp_path: Path,
) -> None:
    [report] = reports(small_audit(tmp_path, "batch"), "a")
    assert kinds(report) == ["general", "unknown_reach"]


def test_without_draws_confounders_are_named_and_not_graded(tmp_path: Path) -> None:
    settings = small_audit(tmp_path)
    text = settings.read_text(encoding="utf-8")
    settings.write_text(f"{text}\n[caveats]\ndraws = 0\n", encoding="utf-8")
    named = [
        caveat
        for report in reports(settings, *IDS)
        for caveat in report.caveats
        if caveat.kind == "confounders"
    ]
    assert named
    for caveat in named:
        assert (caveat.grade, caveat.effect) == (None, None)
        assert caveat.variables
        assert caveat.text == "unmeasured"


def test_caveats_do_not_depend_on_who_else_is_asked_about(tmp_path: Path) -> None:
    settings = small_audit(tmp_path)
    together = reports(settings, *IDS)
    for name, report in zip(IDS, together, strict=True):
        [alone] = reports(settings, name)
        assert alone.caveats == report.caveats


def test_results_have_the_numbers_of_what_their_ids_name(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    graph = from_arrays(random.normal(size=(12, 5)), random.integers(12, size=(2, 25)))
    batcher = open_batcher(sum_network(tmp_path / "model.onnx"), graph, output="logits")
    results = results_by_subject(list(new_search(graph, batcher, Scope()).run(np.arange(12))))
    checked = 0
    for subject, result in results.items():
        for counterfactual, tree in zip(result.counterfactuals, result.numbers, strict=True):
            removal = removal_of(subject, 0, tree)
            ends = zip(graph.pair_low[removal.pairs], graph.pair_high[removal.pairs], strict=True)
            assert [(str(a), str(b)) for a, b in ends] == list(counterfactual.explanation.edges)
            ends = zip(graph.pair_low[removal.kept], graph.pair_high[removal.kept], strict=True)
            assert [(str(a), str(b)) for a, b in ends] == list(counterfactual.kept)
            names = [str(node) for node in removal.nodes]
            assert names == sorted(counterfactual.explanation.nodes, key=int)
            checked += 1
        for pair, numbers in zip(result.front, result.front_removed, strict=True):
            places = list(numbers)
            ends = zip(graph.pair_low[places], graph.pair_high[places], strict=True)
            assert [(str(a), str(b)) for a, b in ends] == list(pair.removed)
    assert checked > 20


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('stratum = "genre"', "caveats.stratum: the nodes have no column 'genre'"),
        ("draws = 59", "caveats.draws: must be 0, or at least 60 (got 59)"),
        ("draws = -1", "caveats.draws: must be at least 0"),
        ("smallest_effect = 0", "caveats.smallest_effect: must be more than 0"),
        ("smallest_effect = 2", "caveats.smallest_effect: must be at most 1"),
        ("weakens_below = 0.3", "caveats.weakens_below: is not a known key"),
    ],
)
def test_settings_that_make_no_sense_are_refused(lines: str, words: str, tmp_path: Path) -> None:
    settings = lending_audit(tmp_path)
    text = settings.read_text(encoding="utf-8")
    settings.write_text(f"{text}\n[caveats]\n{lines}\n", encoding="utf-8")
    refused = command("explain", settings, "P0004")
    assert refused.code == 2
    assert words in one_line(refused)
