"""The picture of a neighbourhood: nothing in it overlaps, whatever the graph and the names."""

from itertools import combinations
from xml.etree import ElementTree as Xml

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recourse_audit.render.charts.ego_network import (
    LABEL,
    LABEL_DROP,
    LIMIT,
    RADIUS,
    SPACING,
    SUBJECT_DROP,
    SUBJECT_RING,
    Layout,
    Neighbourhood,
    Person,
    capacity,
    labels_of,
    layout_of,
    ring_places,
)
from recourse_audit.render.charts.histograms import looks_of
from recourse_audit.render.charts.neighbourhood import neighbourhood_pair
from recourse_audit.render.charts.svg import LARGEST, width_of

CLASSES = ("denied", "approved")
GRAPHS = {
    "star": nx.star_graph(LIMIT - 1),
    "path": nx.path_graph(LIMIT),
    "complete": nx.complete_graph(LIMIT),
    "binary tree": nx.balanced_tree(2, 4),
    "broom": nx.compose(nx.path_graph(20), nx.star_graph(range(19, 60))),
    "two stars": nx.compose(nx.star_graph(range(30)), nx.star_graph([1, *range(30, 60)])),
    "alone": nx.empty_graph(1),
    "a pair": nx.path_graph(2),
}
Box = tuple[float, float, float, float]


def made(graph: "nx.Graph[int]", name: str = "P{:04d}", total: int | None = None) -> Neighbourhood:
    hops = nx.single_source_shortest_path_length(graph, 0)
    order = sorted(hops, key=lambda node: (hops[node], node))
    place = {node: number for number, node in enumerate(order)}
    ties = tuple((place[a], place[b]) for a, b in graph.edges if a in place)
    names = [name.format(node) for node in order]
    return Neighbourhood(
        people=tuple(
            Person(name=one, label=one, hops=hops[node], decision=CLASSES[node % 2])
            for node, one in zip(order, names, strict=True)
        ),
        ties=ties,
        explanation=ties[:2],
        removed=ties[:1],
        total=total or len(order),
        hops=max(hops.values()),
        looks=looks_of(CLASSES, CLASSES[1:]),
    )


def boxes(layout: Layout) -> list[tuple[Box, Box]]:
    """What each mark and each label takes up: left, top, right, bottom."""
    found = []
    for place, ((x, y), label) in enumerate(zip(layout.places, layout.labels, strict=True)):
        radius = LARGEST * RADIUS if place else SUBJECT_RING + 1
        half = width_of(label, LABEL) / 2
        bottom = y + (LABEL_DROP if place else SUBJECT_DROP)
        mark = (x - radius, y - radius, x + radius, y + radius)
        found.append((mark, (x - half, bottom - 0.8 * LABEL, x + half, bottom + 0.25 * LABEL)))
    return found


def overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def overlaps(layout: Layout) -> list[tuple[int, int]]:
    parts = [(place, box) for place, pair in enumerate(boxes(layout)) for box in pair]
    return [(a, b) for (a, one), (b, other) in combinations(parts, 2) if overlap(one, other)]


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
@pytest.mark.parametrize("name", ["{}", "P{:04d}", "WWWWWWW{}", "a very long name, number {:06d}"])
def test_no_mark_and_no_label_overlaps_another(graph: "nx.Graph[int]", name: str) -> None:
    assert overlaps(layout_of(made(graph, name))) == []


@given(seed=st.integers(0, 10_000), density=st.sampled_from([0.02, 0.05, 0.1, 0.3]))
def test_nothing_overlaps_in_random_graphs_of_sixty(seed: int, density: float) -> None:
    graph = nx.gnp_random_graph(LIMIT, density, seed=seed)
    graph.add_edges_from((0, node) for node in range(1, LIMIT) if graph.degree[node] == 0)
    assert overlaps(layout_of(made(graph))) == []


def test_the_check_for_overlaps_sees_one() -> None:
    layout = layout_of(made(GRAPHS["star"]))
    (x, y), *rest = layout.places
    moved = Layout(
        places=((x, y), (x + 5, y + 5), *rest[1:]),
        labels=layout.labels,
        width=layout.width,
        height=layout.height,
        rings=layout.rings,
    )
    assert (0, 1) in overlaps(moved)


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_everything_is_inside_the_picture(graph: "nx.Graph[int]") -> None:
    layout = layout_of(made(graph))
    for left, top, right, bottom in (box for pair in boxes(layout) for box in pair):
        assert left >= 0
        assert top >= 0
        assert right <= layout.width
        assert bottom <= layout.height


def test_four_rings_take_sixty_people() -> None:
    assert [capacity(ring) for ring in range(1, 5)] == [6, 12, 18, 25]
    _, rings = ring_places([0, *[1] * (LIMIT - 1)], [(0, k) for k in range(1, LIMIT)])
    assert rings == 4


def test_who_is_nearer_stands_nearer_where_rings_are_few() -> None:
    graph = nx.balanced_tree(3, 2)
    hops = nx.single_source_shortest_path_length(graph, 0)
    order = sorted(hops, key=lambda node: (hops[node], node))
    places, _ = ring_places([hops[node] for node in order], list(graph.edges))
    distances = [(x * x + y * y) ** 0.5 / SPACING for x, y in places]
    assert max(distances[1:4]) < min(distances[4:])


def test_the_same_people_always_stand_in_the_same_places() -> None:
    graph = nx.gnp_random_graph(40, 0.1, seed=1)
    assert layout_of(made(graph)) == layout_of(made(graph))


def test_names_too_long_to_stand_at_a_mark_are_told_apart() -> None:
    people = made(nx.path_graph(4), "customer-{}-of-the-same-bank").people
    labels = labels_of(people)
    assert labels == ("#1", "#2", "#3", "#4")
    assert labels_of(made(nx.path_graph(2), "customer-000{}").people) == ("cus…000", "cus…001")


def test_beyond_sixty_the_nearest_are_drawn_and_the_picture_says_so() -> None:
    graph = nx.path_graph(100)
    pair = neighbourhood_pair(made(graph, total=3120))
    assert "60 of 3,120 people are drawn, the nearest." in pair.whole.svg
    assert "60 of 3,120 people are drawn, the nearest." in pair.whole.alt
    assert "P0059" in pair.whole.alt
    assert "P0060" not in pair.whole.svg


def test_removed_ties_are_dashed_and_the_words_name_them() -> None:
    pair = neighbourhood_pair(made(nx.path_graph(4)))
    lines = Xml.fromstring(pair.explanation.svg).iter("{http://www.w3.org/2000/svg}line")
    # One removed, one kept, and one each in the key.
    assert [line.get("stroke-dasharray") for line in lines] == ["5 4", None, None, "5 4"]
    assert "Removed by the counterfactual: P0000 - P0001." in pair.explanation.alt
    assert "Kept: P0001 - P0002." in pair.explanation.alt


def test_the_words_name_everybody_with_distance_and_decision() -> None:
    alt = neighbourhood_pair(made(nx.path_graph(4))).whole.alt
    assert "1 hop away, decided approved: P0001." in alt
    assert "2 hops away, decided denied: P0002." in alt
