"""Mediators and confounders by the definition, checked by d-separation on every small tree."""

from itertools import combinations, product

import networkx as nx
import pytest

from recourse_audit.audit.rollout import RollOut, confounding_places, roll_out


def both_ways(ties: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return [*ties, *((b, a) for a, b in ties)]


def small_trees() -> list[list[tuple[int, int]]]:
    """Every labelled tree on two to four nodes, and one of each shape on five."""
    trees = []
    for size in (2, 3, 4):
        for ties in combinations(list(combinations(range(size), 2)), size - 1):
            if nx.is_tree(nx.Graph(ties)) and len(nx.Graph(ties)) == size:
                trees.append(list(ties))
    return [*trees, *(sorted(nx.Graph(tree).edges) for tree in nx.nonisomorphic_trees(5))]


def removals(ties: list[tuple[int, int]], subject: int) -> list[set[int]]:
    """Every set of nodes whose removal leaves a tree that holds the subject."""
    tree = nx.Graph(ties)
    others = [node for node in tree if node != subject]
    found = []
    for size in range(1, len(others) + 1):
        for removed in combinations(others, size):
            if nx.is_connected(tree.subgraph(set(tree) - set(removed))):
                found.append(set(removed))
    return found


CASES = [
    (ties, subject, removed, depth)
    for ties, depth in product(small_trees(), (1, 2, 3, 4))
    for subject in sorted(nx.Graph(ties))
    for removed in removals(ties, subject)
]


def rolled(ties: list[tuple[int, int]], subject: int, removed: set[int], depth: int) -> RollOut:
    nodes = nx.Graph(ties).nodes
    return roll_out(both_ways(ties), nodes, subject=subject, removed=removed, depth=depth)


def test_at_depth_zero_nothing_is_mediated_or_confounded() -> None:
    case = rolled([(0, 1), (1, 2)], 0, {2}, 0)
    assert (case.mediators, case.confounders) == (frozenset(), frozenset())
    assert confounding_places(((0, 1), (1, 0)), 2, 0, (1,), 0) == ()


def back_doors_are_shut(case: RollOut, given: set[tuple[int, int]]) -> bool:
    """Whether no path enters a mediator against its arrow and reaches the outcome past the others.

    For each mediator alone: the other mediators and its own outgoing arcs are taken away, so what
    is left between it and the outcome enters it against its arrow.
    """
    for mediator in case.mediators:
        graph = case.graph.subgraph(case.graph.nodes - (case.mediators - {mediator})).copy()
        graph.remove_edges_from(list(graph.out_edges(mediator)))
        if not nx.is_d_separator(graph, {mediator}, {case.outcome}, given - {mediator}):
            return False
    return True


def test_the_figure_of_the_paper() -> None:
    case = rolled([(0, 1), (1, 2)], subject=0, removed={2}, depth=2)
    assert case.treatment == {(2, 0)}
    assert case.outcome == (0, 2)
    assert case.mediators == {(1, 1)}
    assert (0, 0) in case.confounders
    assert case.confounders == {(0, 0), (1, 0)}
    assert case.confounding_nodes == (0, 1)


def test_in_the_figure_of_the_paper_the_back_door_is_open_without_the_confounders() -> None:
    case = rolled([(0, 1), (1, 2)], subject=0, removed={2}, depth=2)
    assert back_doors_are_shut(case, set(case.confounders))
    assert not back_doors_are_shut(case, set())
    for confounder in case.confounders:
        assert not back_doors_are_shut(case, set(case.confounders) - {confounder})


def test_the_confounders_shut_every_back_door_of_every_small_explanation() -> None:
    assert len(CASES) > 500
    for ties, subject, removed, depth in CASES:
        case = rolled(ties, subject, removed, depth)
        assert back_doors_are_shut(case, set(case.confounders)), (ties, subject, removed, depth)


def test_confounders_are_what_the_definition_says_path_by_path() -> None:
    for ties, subject, removed, depth in CASES[::7]:
        case = rolled(ties, subject, removed, depth)
        paths = {
            source: list(nx.all_simple_paths(case.graph, source, case.outcome))
            for source in case.graph
            if source != case.outcome
        }
        mediators = {
            variable
            for treated in case.treatment
            for path in paths.get(treated, ())
            for variable in path[1:-1]
        }
        assert case.mediators == mediators
        below = set().union(*(nx.descendants(case.graph, treated) for treated in case.treatment))
        expected = {
            variable
            for variable, ways in paths.items()
            if variable not in case.treatment | below
            and any(nx.has_path(case.graph, variable, mediator) for mediator in mediators)
            and any(not mediators & set(way) for way in ways)
        }
        assert case.confounders == expected


def test_one_layer_has_neither_mediators_nor_confounders() -> None:
    for ties, subject, removed, depth in CASES:
        if depth == 1:
            case = rolled(ties, subject, removed, depth)
            assert not case.mediators
            assert not case.confounders


def test_whoever_confounds_in_a_later_layer_confounds_by_its_features_too() -> None:
    later = 0
    for ties, subject, removed, depth in CASES:
        case = rolled(ties, subject, removed, depth)
        later += any(layer for _, layer in case.confounders)
        assert {(node, 0) for node, _ in case.confounders} <= case.confounders
        assert not set(case.confounding_nodes) & removed
    assert later > 50


@pytest.mark.parametrize(
    ("arcs", "expected"),
    [
        ([(1, 0), (2, 1)], (1,)),  # messages only towards the subject: its own stay with it
        ([(0, 1), (1, 0), (2, 1)], (0, 1)),
        ([(0, 1), (1, 2)], ()),  # nothing ever comes from what is removed
    ],
)
def test_a_directed_explanation_carries_messages_one_way(
    arcs: list[tuple[int, int]], expected: tuple[int, ...]
) -> None:
    assert confounding_places(tuple(arcs), 3, 0, (2,), 2) == expected
