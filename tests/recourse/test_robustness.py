"""Draws are seeded and bring nobody nearer; side effects are those of the rebuilt graph."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from recourse_audit.graph.arrays import Graph, Ints
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.queries import pool_of, whole
from recourse_audit.records.model import ProbeReport
from recourse_audit.records.recourse import Robustness, SideEffects, survival, wilson
from recourse_audit.recourse import robustness
from recourse_audit.recourse.actions import action_table
from recourse_audit.recourse.context import RecourseContext
from recourse_audit.recourse.policy import Policy
from recourse_audit.recourse.robustness import RobustnessTest, _hops
from recourse_audit.recourse.side_effects import OtherPeople
from recourse_audit.recourse.verification import Verifier
from tests.onnx_models import sum_network
from tests.recourse.reference import changed
from tests.recourse.test_variants import ANYTHING, some_combinations
from tests.recourse.worlds import context_of, policy_of, sound, town
from tests.search.engine import open_batcher


def world(folder: Path, **more: Any) -> tuple[Graph, QueryBatcher, Policy, RecourseContext]:
    graph = town(5, people=40, ties=55, **more)
    batcher = open_batcher(
        sum_network(folder / "m.onnx", seed=3, scale=1.0), graph, output="logits"
    )
    return graph, batcher, policy_of(graph, **ANYTHING), context_of(graph, batcher)


def chosen(row: Ints) -> Ints:
    kept: Ints = row[row >= 0]
    return kept


def test_without_jitter_an_option_holds_in_every_draw_or_in_none(tmp_path: Path) -> None:
    graph, _, policy, context = world(tmp_path)
    still = RobustnessTest(context, draws=7, jitter=0.0, seed=0)
    seen = set()
    for subject in range(0, graph.node_count, 4):
        table = action_table(policy, subject, 2)
        verifier = Verifier(context, table)
        for row in some_combinations(table, subject, count=6):
            combination = chosen(row)
            works = bool(
                verifier.reached(combination[None], verifier.answers(combination[None]))[0]
            )
            held = still.of(
                table, combination, verifier.question(combination), 0, context.decisions
            )
            assert held is not None
            assert (held.draws, held.ties, held.attributes) == (7, *[survival(7 * works, 7)] * 2)
            seen.add(works)
    assert seen == {True, False}


def test_draws_are_seeded_by_subject_and_option(tmp_path: Path) -> None:
    graph, _, policy, context = world(tmp_path)
    found: dict[int, list[Robustness | None]] = {}
    for seed in (0, 0, 1):
        shaky = RobustnessTest(context, draws=40, jitter=0.5, seed=seed)
        held = []
        for subject in range(0, graph.node_count, 5):
            table = action_table(policy, subject, 2)
            verifier = Verifier(context, table)
            combination = np.array([0])
            held.append(
                shaky.of(table, combination, verifier.question(combination), 1, context.decisions)
            )
        assert found.setdefault(seed, held) == held
    assert found[0] != found[1]


@pytest.mark.parametrize("directed", [False, True])
def test_draws_hold_as_often_when_they_share_a_question(directed: bool, tmp_path: Path) -> None:
    graph, batcher, policy, shared = world(tmp_path, directed=directed)
    alone = context_of(graph, batcher, sound())
    assert shared.what_ifs is not None
    assert alone.what_ifs is None
    found = set()
    for subject in range(0, graph.node_count, 3):
        table = action_table(policy, subject, 2)
        for row in some_combinations(table, subject, count=3):
            combination = chosen(row)
            held = []
            for context in (shared, alone):
                question = Verifier(context, table).question(combination)
                test = RobustnessTest(context, draws=30, jitter=0.4, seed=1)
                held.append(test.of(table, combination, question, 0, context.decisions))
            assert held[0] == held[1]
            assert held[0] is not None
            found.add((held[0].ties.count, held[0].attributes.count))
    assert len(found) > 5


@pytest.mark.parametrize("directed", [False, True])
def test_other_peoples_ties_change_and_nobody_comes_nearer(directed: bool, tmp_path: Path) -> None:
    _, _, policy, context = world(tmp_path, directed=directed)
    table = action_table(policy, 3, 2)
    verifier = Verifier(context, table)
    combination = np.array([0, 1])
    shaky = RobustnessTest(context, draws=1, jitter=0.4, seed=0)
    option_graph = shaky._option_graph(verifier.question(combination))
    drawn = shaky._with_other_ties(option_graph, np.random.default_rng(0), 200)
    before = sorted(
        zip(
            option_graph.union.sources,
            option_graph.union.targets,
            option_graph.union.ties,
            strict=True,
        )
    )
    own = [arc for arc in before if option_graph.subject in arc[:2] or arc[0] == arc[1]]
    fewer = moved = 0
    for copy in range(200):
        keep = drawn.keep[copy]
        sources, targets = drawn.ends[:, copy, keep]
        after = sorted(zip(sources, targets, option_graph.union.ties[keep], strict=True))
        assert [arc for arc in after if option_graph.subject in arc[:2] or arc[0] == arc[1]] == own
        if not directed:
            assert after == sorted((b, a, tie) for a, b, tie in after)
        gaps = np.abs(option_graph.hops[sources] - option_graph.hops[targets])
        assert (gaps <= 1).all()
        fewer += len(before) - len(after)
        moved += len(set(after) - set(before))
    others = len(before) - len(own)
    assert 0.1 < fewer / (200 * others) < 0.3
    assert moved > 0
    assert option_graph.hops.max() <= 4
    assert np.array_equal(_hops(option_graph.union, option_graph.subject, 2), option_graph.hops)


def test_what_an_option_sets_stays_as_it_is_while_attributes_shift(tmp_path: Path) -> None:
    graph, _, policy, context = world(tmp_path)
    table = action_table(policy, 3, 2)
    level = int(np.flatnonzero(table.move == 0)[0])
    combination = np.array([level])
    shaky = RobustnessTest(context, draws=1, jitter=0.4, seed=0)
    option_graph = shaky._option_graph(Verifier(context, table).question(combination))
    fixed = robustness._columns(table, combination)
    assert fixed.tolist() == [graph.feature_names.index(name) for name in ("income", "debt")]
    near, shifted = shaky._shifted(option_graph, np.random.default_rng(0), 30, fixed)
    apart = shifted.reshape(30, len(near), -1) - option_graph.features[near]
    own = near.tolist().index(option_graph.subject)
    assert (apart[:, own, fixed] == 0).all()
    assert (apart[:, own, 2:] != 0).all()
    assert near.tolist() == np.flatnonzero(option_graph.hops <= 2).tolist()
    others = np.delete(apart, own, axis=1)
    assert others.std(axis=(0, 1)) == pytest.approx(0.4 * graph.features.std(axis=0), rel=0.2)


def flips(
    context: RecourseContext, batcher: QueryBatcher, rebuilt: Graph, subject: int
) -> SideEffects:
    """Ask about everybody on the rebuilt graph."""
    after = QueryBatcher(batcher.model, pool_of(rebuilt)).ask(
        whole(rebuilt), np.arange(rebuilt.node_count)
    )
    every = np.arange(rebuilt.node_count)
    was, now = (context.decisions.favourable(rows, every) for rows in (context.whole, after))
    different = context.whole.argmax(axis=1) != after.argmax(axis=1)
    different[subject] = False
    ids = rebuilt.ids
    return SideEffects(
        measured=True,
        to_favourable=tuple(ids[different & ~was & now].tolist()),
        to_unfavourable=tuple(ids[different & was & ~now].tolist()),
        other=tuple(ids[different & (was == now)].tolist()),
    )


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("probes", [sound(2, sender_degree=False), sound(2), sound(None)])
def test_whose_decisions_flip_is_what_the_rebuilt_graph_says(
    probes: ProbeReport, directed: bool, tmp_path: Path
) -> None:
    graph, batcher, policy, _ = world(tmp_path, directed=directed)
    context = context_of(graph, batcher, probes)
    seen = SideEffects(measured=True)
    flipped = 0
    for subject in range(0, graph.node_count, 3):
        table = action_table(policy, subject, 2)
        for row in some_combinations(table, subject, count=8):
            combination = chosen(row)
            rebuilt = changed(policy, subject, table.records(combination))
            seen = OtherPeople(context, table).side_effects(combination)
            assert seen == flips(context, batcher, rebuilt, subject)
            flipped += len(seen.to_favourable) + len(seen.to_unfavourable) + len(seen.other)
    assert flipped > 0


def test_what_is_too_large_is_not_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, policy, context = world(tmp_path)
    table = action_table(policy, 3, 2)
    question = Verifier(context, table).question(np.array([0]))
    looking = RobustnessTest(context, draws=5, jitter=0.1, seed=0)
    monkeypatch.setattr(OtherPeople.answers, "__defaults__", (10,))
    monkeypatch.setattr(robustness, "MOST_DRAWN_ARCS", 10)
    assert OtherPeople(context, table).side_effects(np.array([0])) == SideEffects(measured=False)
    assert looking.of(table, np.array([0]), question, 0, context.decisions) is None
    assert (
        RobustnessTest(context, draws=0, jitter=0.1, seed=0).of(
            table, np.array([0]), question, 0, context.decisions
        )
        is None
    )


@pytest.mark.parametrize(("count", "of"), [(0, 50), (50, 50), (41, 50), (23, 50), (1, 3), (0, 1)])
def test_the_interval_of_a_share_is_the_one_that_statsmodels_has(count: int, of: int) -> None:
    expected = proportion_confint(count, of, alpha=0.05, method="wilson")
    assert wilson(count, of) == pytest.approx(expected, abs=1e-6)


def test_shares_and_intervals_follow_from_the_counts() -> None:
    held = survival(41, 50)
    assert (held.count, held.share) == (41, 0.82)
    assert (held.low, held.high) == pytest.approx(wilson(41, 50), abs=1e-6)
    assert survival(23, 50).share == 0.46
