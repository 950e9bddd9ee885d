"""The picture of a neighbourhood: nothing in it overlaps, whatever the graph and the names."""

from itertools import combinations
from xml.etree import ElementTree as Xml

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recourse_audit.render.charts.rings import (
    DIRECT,
    DISC,
    RADIUS,
    Around,
    Layout,
    Person,
    layout_of,
    overlap,
    rings,
)
from recourse_audit.render.charts.svg import LARGEST

LIMIT = 60
GRAPHS = {
    "star": nx.star_graph(LIMIT - 1),
    "path": nx.path_graph(LIMIT),
    "complete": nx.complete_graph(LIMIT),
    "binary tree": nx.balanced_tree(2, 4),
    "broom": nx.compose(nx.path_graph(20), nx.star_graph(range(19, 60))),
    "two stars": nx.compose(nx.star_graph(range(30)), nx.star_graph([1, *range(30, 60)])),
    "a pair": nx.path_graph(2),
}
Box = tuple[float, float, float, float]


def made(graph: "nx.Graph[int]", name: str = "P{:04d}", removed: int = 2) -> Around:
    hops = nx.single_source_shortest_path_length(graph, 0)
    order = sorted(hops, key=lambda node: (hops[node], node))
    place = {node: number for number, node in enumerate(order)}
    ties = tuple(
        sorted(
            (min(place[a], place[b]), max(place[a], place[b])) for a, b in graph.edges if a in place
        )
    )
    return Around(
        people=tuple(
            Person(
                hops=hops[node],
                favourable=None if node == 5 else bool(node % 2),
                label=name.format(node) if hops[node] <= 1 else "",
                tip=name.format(node),
            )
            for node in order
        ),
        ties=ties,
        removed={tie: str(number) for number, tie in enumerate(ties[:removed], start=1)},
    )


def marks(found: Around, layout: Layout) -> list[Box]:
    """What each mark takes up: left, top, right, bottom."""
    boxes = []
    for person, (x, y) in zip(found.people, layout.places, strict=True):
        reach = LARGEST * (DIRECT if person.hops <= 1 else RADIUS) / 1.2
        boxes.append((x - reach, y - reach, x + reach, y + reach))
    return boxes


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
@pytest.mark.parametrize("name", ["{}", "P{:04d}", "WWWWWWW{}", "a very long name, number {:06d}"])
def test_no_label_overlaps_another_or_a_mark(graph: "nx.Graph[int]", name: str) -> None:
    found = made(graph, name)
    layout = layout_of(found)
    labels = {place: label.box for place, label in layout.labels.items()}
    assert 0 in labels
    assert not [
        pair for pair in combinations(labels, 2) if overlap(labels[pair[0]], labels[pair[1]])
    ]
    for place, box in labels.items():
        others = [one for number, one in enumerate(marks(found, layout)) if number != place]
        assert not any(overlap(box, one) for one in others)


@given(seed=st.integers(0, 10_000), density=st.sampled_from([0.02, 0.05, 0.1, 0.3]))
def test_no_mark_covers_another_in_random_graphs_of_sixty(seed: int, density: float) -> None:
    graph = nx.gnp_random_graph(LIMIT, density, seed=seed)
    graph.add_edges_from((0, node) for node in range(1, LIMIT) if graph.degree[node] == 0)
    found = made(graph)
    layout = layout_of(found)
    for (x1, y1), (x2, y2) in combinations(layout.places, 2):
        assert (x1 - x2) ** 2 + (y1 - y2) ** 2 > (2 * RADIUS) ** 2


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_everything_is_inside_the_picture(graph: "nx.Graph[int]") -> None:
    found = made(graph)
    layout = layout_of(found)
    for left, top, right, bottom in (
        *marks(found, layout),
        *(label.box for label in layout.labels.values()),
    ):
        assert left >= 0
        assert top >= 0
        assert right <= layout.width
        assert bottom <= layout.height


def test_who_is_nearer_stands_nearer() -> None:
    found = made(nx.balanced_tree(3, 3))
    layout = layout_of(found)
    x, y = layout.places[0]
    # Rings are ellipses: wider than high.
    far = [((a - x) ** 2 / 1.69 + (b - y) ** 2) ** 0.5 for a, b in layout.places]
    for one, other in combinations(range(len(far)), 2):
        if found.people[one].hops < found.people[other].hops:
            assert far[one] < far[other]


def test_the_numbers_of_removed_ties_stand_apart() -> None:
    layout = layout_of(made(nx.star_graph(40), removed=3))
    for (x1, y1), (x2, y2) in combinations(layout.discs.values(), 2):
        assert (x1 - x2) ** 2 + (y1 - y2) ** 2 > (2 * DISC) ** 2


def test_the_same_people_always_stand_in_the_same_places() -> None:
    graph = nx.gnp_random_graph(40, 0.1, seed=1)
    assert layout_of(made(graph)) == layout_of(made(graph))


def test_removed_ties_are_dashed_and_numbered_and_marks_differ_by_more_than_colour() -> None:
    root = Xml.fromstring(rings(made(nx.path_graph(6)), "words").svg)
    svg = "{http://www.w3.org/2000/svg}"
    dashed = [one for one in root.iter(f"{svg}line") if one.get("stroke-dasharray")]
    assert len(dashed) == 2
    assert {"1", "2"} <= {one.text for one in root.iter(f"{svg}text")}
    tips = {
        group.findtext(f"{svg}title"): [
            (part.tag.removeprefix(svg), part.get("stroke-dasharray"))
            for part in group
            if part.tag.removeprefix(svg) in ("circle", "polygon")
        ]
        for group in root.iter(f"{svg}g")
    }
    assert tips["P0001"] == [("circle", None)]  # favourable
    assert tips["P0002"] == [("polygon", None)]  # not
    assert tips["P0005"] == [("circle", "3 2")]  # no decision
    assert tips["P0000"] == [("circle", None), ("polygon", None)]  # the subject, in a ring
