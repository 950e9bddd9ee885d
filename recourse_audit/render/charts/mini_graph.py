"""A small tree drawn small: its longest path as a line, branches below it, removed ties dashed."""

from collections.abc import Sequence
from dataclasses import dataclass

import networkx as nx

from recourse_audit.render.charts.people import DASHES, draw_person
from recourse_audit.render.charts.svg import Drawing, Picture, shortened, width_of

STEP, DOWN, TOP, EDGE = 84.0, 60.0, 34.0, 42.0
RADIUS = 7.0
LETTERS = 11
LABEL = 12
LEAST_WIDTH = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeNode:
    """A person in a small tree; `favourable` is None where the decision is not known."""

    name: str
    favourable: bool | None
    subject: bool = False


def mini_graph(
    nodes: Sequence[TreeNode],
    ties: Sequence[tuple[int, int]],
    removed: Sequence[tuple[int, int]],
    *,
    word: str,
    alt: str,
) -> Picture:
    """Draw a tree whose ties name nodes by place; `word` stands at every removed tie."""
    places = _places(len(nodes), ties)
    width = max(max(x for x, _ in places.values()) + EDGE, LEAST_WIDTH)
    height = max(y for _, y in places.values()) + 30
    middle = (width - max(x for x, _ in places.values()) - EDGE) / 2
    drawing = Drawing(width, height, alt)
    gone = {frozenset(tie) for tie in removed}
    for one, other in ties:
        (x1, y1), (x2, y2) = places[one], places[other]
        x1, x2 = x1 + middle, x2 + middle
        if frozenset((one, other)) not in gone:
            drawing.line(x1, y1, x2, y2, "ink", stroke_width=2)
            continue
        drawing.line(x1, y1, x2, y2, "no", stroke_width=2, stroke_dasharray=DASHES)
        if y1 == y2:
            x, y, anchor = (x1 + x2) / 2, y1 - 9, "middle"
        else:  # beside the lower end, clear of the labels above
            x, y, anchor = x1 + 0.75 * (x2 - x1) + 10, y1 + 0.75 * (y2 - y1) + 2, "start"
        drawing.text(x, y, word, fill="no", font_size=LABEL, font_weight=600, text_anchor=anchor)
    for place, (left, y) in places.items():
        node = nodes[place]
        x = left + middle
        draw_person(drawing, x, y, RADIUS, favourable=node.favourable, subject=node.subject)
        label = _label(node.name)
        drawing.text(
            x,
            y + 26,
            label,
            font_size=LABEL,
            font_weight=700 if node.subject else None,
            text_anchor="middle",
        )
    return drawing.picture()


def _label(name: str) -> str:
    """A name short enough to stand below its mark."""
    letters = LETTERS
    while width_of(shortened(name, letters), LABEL) > STEP + 6 and letters > 4:
        letters -= 1
    return shortened(name, letters)


def _places(count: int, ties: Sequence[tuple[int, int]]) -> dict[int, tuple[float, float]]:
    """The longest path on one line; every branch hangs below, in the nearest free column."""
    tree: nx.Graph[int] = nx.Graph()
    tree.add_nodes_from(range(min(count, 1)))  # the subject, even if it has no tie
    tree.add_edges_from(ties)
    line = _longest(tree)
    columns = {node: place for place, node in enumerate(line)}
    rows = dict.fromkeys(line, 0)
    taken = {(place, 0) for place in range(len(line))}
    waiting = list(line)
    while waiting:
        node = waiting.pop(0)
        for other in sorted(set(tree[node]) - set(columns)):
            row, column = rows[node] + 1, columns[node]
            offset = 0
            while (column + offset, row) in taken or column + offset < 0:
                offset = -offset if offset > 0 else 1 - offset
            columns[other], rows[other] = column + offset, row
            taken.add((column + offset, row))
            waiting.append(other)
    # Half a column to the right, so that no tie runs through the label of its upper end.
    return {
        node: (EDGE + STEP * (columns[node] + rows[node] / 2), TOP + DOWN * rows[node])
        for node in columns
    }


def _longest(tree: "nx.Graph[int]") -> list[int]:
    """The longest path through the subject's part of a tree."""
    start = 0
    far = max(nx.single_source_shortest_path_length(tree, start).items(), key=_length)[0]
    paths = nx.single_source_shortest_path(tree, far)
    line = max(paths.values(), key=len)
    return list(line)


def _length(found: tuple[int, int]) -> tuple[int, int]:
    node, hops = found
    return hops, -node
