"""Draws are seeded and bring nobody nearer; side effects are those of the rebuilt graph."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from recourse_audit.graph.graph import Graph, Ints
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.edited_graph import EditedGraph, Way
from recourse_audit.model.queries import pool_of, whole
from recourse_audit.records.model import ProbeReport
from recourse_audit.records.recourse import Robustness, SideEffects, survival, wilson
from recourse_audit.recourse import robustness
from recourse_audit.recourse import side_effects as side_effects_module
from recourse_audit.recourse.actions import DROP, action_table
from recourse_audit.recourse.policy import Policy
from recourse_audit.recourse.robustness import OptionGraph, RobustnessTest, _hops
from recourse_audit.recourse.side_effects import side_effects
from tests.onnx_models import sum_network
from tests.recourse.reference import changed
from tests.recourse.test_verification import ANYTHING, some_combinations
from tests.recourse.worlds import edited_graph, policy_of, sound, town, verifier_of
from tests.search.engine import open_batcher


def world(folder: Path, **more: Any) -> tuple[Graph, QueryBatcher, Policy, EditedGraph]:
    graph = town(5, people=40, ties=55, **more)
    batcher = open_batcher(
        sum_network(folder / "m.onnx", seed=3, scale=1.0), graph, output="logits"
    )
    return graph, batcher, policy_of(graph, **ANYTHING), edited_graph(graph, batcher)


def chosen(row: Ints) -> Ints:
    kept: Ints = row[row >= 0]
    return kept


def test_without_jitter_an_option_holds_in_every_draw_or_in_none(tmp_path: Path) -> None:
    graph, _, policy, context = world(tmp_path)
    still = RobustnessTest(context, draws=7, jitter=0.0, seed=0)
    seen = set()
    for subject in range(0, graph.node_count, 4):
        table = action_table(policy, subject, 2)
        verifier = verifier_of(context, table)
        for row in some_combinations(table, subject, count=6):
            combination = chosen(row)
            works = bool(
                verifier.reaches(combination[None], verifier.answers(combination[None]))[0]
            )
            held = still.of(verifier.asked, table, combination, 0, context.decisions)
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
            verifier = verifier_of(context, table)
            combination = np.array([0])
            held.append(shaky.of(verifier.asked, table, combination, 1, context.decisions))
        assert found.setdefault(seed, held) == held
    assert found[0] != found[1]


@pytest.mark.parametrize("directed", [False, True])
def test_draws_hold_as_often_when_they_share_a_query(directed: bool, tmp_path: Path) -> None:
    graph, batcher, policy, shared = world(tmp_path, directed=directed)
    alone = edited_graph(graph, batcher, sound())
    assert shared.allows("shared")
    assert not alone.allows("shared")
    found = set()
    for subject in range(0, graph.node_count, 3):
        table = action_table(policy, subject, 2)
        for row in some_combinations(table, subject, count=3):
            combination = chosen(row)
            held = []
            for context in (shared, alone):
                asked = context.about(subject)
                test = RobustnessTest(context, draws=30, jitter=0.4, seed=1)
                held.append(test.of(asked, table, combination, 0, context.decisions))
            assert held[0] == held[1]
            assert held[0] is not None
            found.add((held[0].ties.count, held[0].attributes.count))
    assert len(found) > 5


@pytest.mark.parametrize("directed", [False, True])
def test_other_peoples_ties_change_and_nobody_comes_nearer(directed: bool, tmp_path: Path) -> None:
    _, _, policy, context = world(tmp_path, directed=directed)
    table = action_table(policy, 3, 2)
    combination = np.flatnonzero(table.do == DROP)[:2]
    shaky = RobustnessTest(context, draws=1, jitter=0.4, seed=0)
    option_graph = OptionGraph(context.about(3), table, combination)
    drawn = shaky._with_other_ties(option_graph, np.random.default_rng(0), 200)
    before = sorted(zip(*option_graph.ends, option_graph.ties, strict=True))
    own = [arc for arc in before if option_graph.subject in arc[:2] or arc[0] == arc[1]]
    fewer = moved = 0
    place = dict(zip(option_graph.arcs.tolist(), range(len(option_graph.arcs)), strict=True))
    option = set(option_graph.option.dropped[1].tolist())
    for copy in range(200):
        part = drawn.part(copy, copy + 1)
        keep = np.ones(len(option_graph.arcs), bool)
        keep[[place[arc] for arc in part.dropped[1].tolist() if arc not in option]] = False
        kept = (*option_graph.ends[:, keep], option_graph.ties[keep])
        _, sources, targets, ties = part.added
        new = (*np.searchsorted(option_graph.nodes, (sources, targets)), ties)
        ends = np.concatenate((kept, new), axis=1)
        sources, targets = ends[:2]
        after = sorted(zip(*ends, strict=True))
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
    again = _hops(option_graph.ends, len(option_graph.nodes), option_graph.subject, 2)
    assert np.array_equal(again, option_graph.hops)


def test_what_an_option_sets_stays_as_it_is_while_attributes_shift(tmp_path: Path) -> None:
    graph, _, policy, context = world(tmp_path)
    table = action_table(policy, 3, 2)
    level = int(np.flatnonzero(table.move == 0)[0])
    combination = np.array([level])
    shaky = RobustnessTest(context, draws=1, jitter=0.4, seed=0)
    option_graph = OptionGraph(context.about(3), table, combination)
    fixed = table.column[table.changes[level] : table.changes[level + 1]]
    assert fixed.tolist() == [graph.feature_names.index(name) for name in ("income", "debt")]
    near, shifted = shaky._shift_features(option_graph, np.random.default_rng(0), 30)
    apart = shifted.reshape(30, len(near), -1) - option_graph.features[near]
    own = near.tolist().index(option_graph.subject)
    assert (apart[:, own, fixed] == 0).all()
    assert (apart[:, own, 2:] != 0).all()
    assert near.tolist() == np.flatnonzero(option_graph.hops <= 2).tolist()
    others = np.delete(apart, own, axis=1)
    assert others.std(axis=(0, 1)) == pytest.approx(0.4 * graph.features.std(axis=0), rel=0.2)


def flips(context: EditedGraph, batcher: QueryBatcher, rebuilt: Graph, subject: int) -> SideEffects:
    """Ask about everybody on the rebuilt graph."""
    after = QueryBatcher(batcher.model, pool_of(rebuilt)).ask(
        whole(rebuilt), np.arange(rebuilt.node_count)
    )
    every = np.arange(rebuilt.node_count)
    was, now = (context.decisions.favourable(rows, every) for rows in (context.everybody, after))
    different = context.everybody.argmax(axis=1) != after.argmax(axis=1)
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
    context = edited_graph(graph, batcher, probes)
    seen = SideEffects(measured=True)
    flipped = 0
    for subject in range(0, graph.node_count, 3):
        table = action_table(policy, subject, 2)
        for row in some_combinations(table, subject, count=8):
            combination = chosen(row)
            rebuilt = changed(policy, subject, table.records(combination))
            [seen] = side_effects([verifier_of(context, table).others.query(combination)])
            assert seen == flips(context, batcher, rebuilt, subject)
            flipped += len(seen.to_favourable) + len(seen.to_unfavourable) + len(seen.other)
    assert flipped > 0


@pytest.mark.parametrize("way", ["shared", "field", "whole"])
def test_side_effects_of_several_subjects_are_those_of_each_alone(way: Way, tmp_path: Path) -> None:
    graph, _, policy, context = world(tmp_path)
    queries = []
    for subject in range(0, graph.node_count, 3):
        table = action_table(policy, subject, 2)
        verifier = verifier_of(context, table, way)
        queries += [
            verifier.others.query(chosen(row)) for row in some_combinations(table, subject, count=3)
        ]
    runs = context.batcher.runs
    together = side_effects(queries)
    if way == "shared":
        assert context.batcher.runs == runs + 1
    assert together == [found for query in queries for found in side_effects([query])]
    assert any(found.to_favourable or found.to_unfavourable for found in together)


def test_what_is_too_large_is_not_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, policy, context = world(tmp_path)
    table = action_table(policy, 3, 2)
    asked = context.about(3)
    looking = RobustnessTest(context, draws=5, jitter=0.1, seed=0)
    monkeypatch.setattr(side_effects_module, "MOST_ARCS", 10)
    monkeypatch.setattr(robustness, "MOST_DRAWN_ARCS", 10)
    query = verifier_of(context, table).others.query(np.array([0]))
    assert side_effects([query]) == [SideEffects(measured=False)]
    assert looking.of(asked, table, np.array([0]), 0, context.decisions) is None
    none = RobustnessTest(context, draws=0, jitter=0.1, seed=0)
    assert none.of(asked, table, np.array([0]), 0, context.decisions) is None


@pytest.mark.parametrize(("count", "of"), [(0, 50), (50, 50), (41, 50), (23, 50), (1, 3), (0, 1)])
def test_the_interval_of_a_share_is_the_one_that_statsmodels_has(count: int, of: int) -> None:
    expected = proportion_confint(count, of, alpha=0.05, method="wilson")
    assert wilson(count, of) == pytest.approx(expected, abs=1e-6)


def test_shares_and_intervals_follow_from_the_counts() -> None:
    held = survival(41, 50)
    assert (held.count, held.share) == (41, 0.82)
    assert (held.low, held.high) == pytest.approx(wilson(41, 50), abs=1e-6)
    assert survival(23, 50).share == 0.46
