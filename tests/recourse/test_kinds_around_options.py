"""Whatever is drawn or tied anew around an option keeps to the kinds of nodes and relations."""

from collections.abc import Iterator
from itertools import chain

import numpy as np
import pytest

from recourse_audit.audit.caveats import Effects
from recourse_audit.audit.large_graphs import whole_answers
from recourse_audit.audit.load import LoadedAudit
from recourse_audit.audit.stability import _strangers, by_links, with_new_tie
from recourse_audit.graph.graph import Graph, Ints
from recourse_audit.model.edited_graph import EditedGraph
from recourse_audit.recourse.actions import action_table
from recourse_audit.recourse.robustness import OptionGraph, RobustnessTest
from recourse_audit.settings import CaveatSettings
from tests.recourse.test_kinds_against_brute_force import open_world
from tests.search.test_kinds_against_reference import random_world

RULES = [{"kind": "*", "allow": ["drop", "move"], "to": "anyone"}]


def opened(seed: int) -> tuple[LoadedAudit, EditedGraph]:
    audit = open_world(random_world(seed), "flat", RULES)
    graph = audit.graph
    answers = whole_answers(audit, np.arange(graph.person_count))
    decisions = audit.rule.over(answers)
    return audit, EditedGraph(graph, audit.batcher, audit.probes, decisions)


def option_graphs(seed: int) -> Iterator[tuple[EditedGraph, OptionGraph]]:
    """What is drawn around the first and the last change of everybody."""
    audit, edited = opened(seed)
    for person in range(audit.graph.person_count):
        table = action_table(audit.policy, person, 2)
        for action in {0, len(table) - 1} if len(table) else ():
            yield edited, OptionGraph(edited.about(person), table, np.array([action]))


def fits(graph: Graph, source: int, target: int, row: int) -> bool:
    """Whether an arc with a row about its tie leads between the kinds of its relation."""
    assert graph.kinds is not None
    ties = len(graph.ties)
    if row < 2 * ties:
        relation, back = graph.relations[graph.ties.kind[row % ties]], row >= ties
    else:
        relation, back = graph.relations[(row - 2 * ties) // 2], bool((row - 2 * ties) % 2)
    ends = (target, source) if back else (source, target)
    kinds = graph.kinds.of(np.array(ends)).tolist()
    return bool(kinds == [relation.source, relation.target])


def test_ties_that_are_drawn_lead_where_their_relation_does_and_both_arcs_change() -> None:
    moved, seed = 0, 3
    for edited, option in chain.from_iterable(map(option_graphs, range(2000, 2008))):
        graph, test = edited.graph, RobustnessTest(edited, draws=1, jitter=0.6, seed=0)
        drawn = test._with_other_ties(option, np.random.default_rng(seed), 30)
        own = set(option.option.added[1:].T.reshape(-1, 3)[:, 2].tolist())
        for _, source, target, row in drawn.added.T.tolist():
            assert fits(graph, source, target, row)
            moved += row not in own
        for version in range(30):
            part = drawn.part(version, version + 1)
            gone = np.bincount(graph.arc_tie[part.dropped[1]], minlength=1)
            assert set(gone.tolist()) <= {0, 2}
            ends = [tuple(sorted(arc[1:3])) for arc in part.added.T.tolist()]
            assert all(ends.count(pair) % 2 == 0 for pair in ends)
    assert moved > 100


def test_noise_is_on_the_features_of_a_nodes_own_kind() -> None:
    shifted, seed = np.zeros(2, bool), 2000
    for edited, option in option_graphs(seed):
        graph = edited.graph
        assert graph.kinds is not None
        test = RobustnessTest(edited, draws=1, jitter=0.5, seed=0)
        near, features = test._shift_features(option, np.random.default_rng(seed), 5)
        kinds = graph.kinds.of(np.tile(option.nodes[near], 5))
        for kind, (first, last) in enumerate(graph.kinds.blocks):
            rows = features[kinds == kind]
            outside = np.delete(rows, np.arange(first, last), axis=1)
            assert not outside.any()
            before = np.tile(option.features[near], (5, 1))[kinds == kind]
            shifted[kind] |= bool((rows != before).any())
    assert shifted.all()


def test_confounders_are_redrawn_from_their_own_kind() -> None:
    audit, edited = opened(2001)
    graph = audit.graph
    assert graph.kinds is not None
    settings = CaveatSettings(draws=60)
    effects = Effects(graph, audit.batcher, edited.decisions, 2, settings, 0)
    confounders: Ints = np.array([0, 1, graph.person_count], np.int64)
    donors = effects._donors(0, confounders, 60)
    assert np.array_equal(graph.kinds.of(donors), np.tile(graph.kinds.of(confounders), (60, 1)))
    assert np.array_equal(effects._donors(0, confounders, 20), donors[:20])


@pytest.mark.parametrize("seed", range(2000, 2010))
def test_a_link_to_a_stranger_is_of_a_relation_that_leads_there(seed: int) -> None:
    audit, _ = opened(seed)
    graph = audit.graph
    assert graph.kinds is not None
    linked = set()
    for person in range(graph.person_count):
        for other in _strangers(audit.policy, person, 20, 0):
            after = with_new_tie(audit, person, other).graph
            assert after.kinds is graph.kinds
            assert len(after.ties) == len(graph.ties) + 1
            relation = graph.relations[after.ties.kind[-1]]
            ends = np.array([after.ties.source[-1], after.ties.target[-1]])
            assert set(ends.tolist()) == {person, other}
            assert graph.kinds.of(ends).tolist() == [relation.source, relation.target]
            linked.add(relation.name)
    assert linked <= {"works_at", "recommends"}
    assert linked


def test_explanations_are_compared_after_links_over_kinds() -> None:
    audit, _ = opened(2002)
    report = by_links(audit, [0, 1], 3, with_options=True)
    assert report.rows
    assert {row.subject for row in report.rows} <= {"person:0", "person:1"}
