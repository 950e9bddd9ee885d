"""Charts of one subject, of stability, and of groups by cut-off.

An explanation as an indented tree, the model's computation on it, all pairs of a search by both
objectives, and how far explanations move. Marks of people differ by more than colour: a solid disc
if decided favourably, a pale one if not, dashed without a decision, and a ring around the subject.
Nodes of other kinds have a shape and a colour for each kind.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, cos, pi, sin
from typing import Any

import networkx as nx

from recourse_audit.audit.rollout import RollOut, Variable
from recourse_audit.records.groups import SweepTable
from recourse_audit.records.search import ObjectiveGrid
from recourse_audit.records.subject import EgoNetwork, StabilityReport
from recourse_audit.render.drawing import (
    SHAPES,
    SMALL,
    Drawing,
    Picture,
    Scale,
    points,
    short,
    shorten,
    ticks,
    widen,
    width_of,
)
from recourse_audit.render.i18n import Words
from recourse_audit.render.templates import our_templates

WORDS = "pages/pieces/chart_words.html"
Tie = tuple[int, int]
Point = tuple[float, float]
Box = tuple[float, float, float, float]

# ---------------------------------------------------------------- an explanation

EDGE, INDENT, ROW, RADIUS, RING = 16.0, 26.0, 28.0, 6.5, 1.75
BESIDE, LETTERS = 17.0, 28
NETWORK = 300.0
KIND_COLOURS = ("class-2", "class-3", "class-4", "class-5")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where somebody stands in a tree: the mark, the box of the label, and the tie that leads here.

    `tie` goes down from whom the tree reached before, then across; it is empty for the first.
    """

    mark: tuple[float, float]
    label: Box
    tie: tuple[tuple[float, float], ...] = ()


def place_tree(labels: Sequence[str], ties: Sequence[Tie]) -> list[Place]:
    """The first of some people at the top; everybody else below whom they are tied to, indented.

    Each person has a row of their own, with the label to the right of the mark. A tie runs left of
    all marks and labels of the rows that it passes, so none can cross a label.
    """
    tree: nx.Graph[int] = nx.Graph(sorted(ties))
    tree.add_node(0)
    rows = list(nx.dfs_preorder_nodes(tree, 0, sort_neighbors=sorted))
    before = dict(nx.dfs_predecessors(tree, 0, sort_neighbors=sorted))
    places: dict[int, Place] = {}
    for row, node in enumerate(rows):
        parent = places[before[node]].mark if node in before else None
        x = EDGE if parent is None else parent[0] + INDENT
        y = EDGE + ROW * row
        right = x + BESIDE + width_of(labels[node], SMALL)
        tie = () if parent is None else (parent, (parent[0], y), (x, y))
        places[node] = Place(mark=(x, y), label=(x + BESIDE, y - 8, right, y + 8), tie=tie)
    return [places[node] for node in range(len(labels))]


def draw_tree(
    names: Sequence[str],
    favourable: Sequence[bool | None],
    ties: Sequence[Tie],
    removed: Sequence[Tie],
    *,
    kinds: Sequence[int] = (),
    word: str,
    alt: str,
) -> Picture:
    """Draw a tree whose ties name people by place, the subject first.

    `favourable` is None where there is no decision; `kinds` are 0 for people, or none; `word` is
    said of every removed tie.
    """
    labels = [shorten(name, LETTERS) for name in names]
    places = place_tree(labels, ties)
    gone = {frozenset(tie) for tie in removed}
    at = {place.mark: node for node, place in enumerate(places)}
    cut = [
        bool(place.tie) and frozenset((at[place.tie[0]], node)) in gone
        for node, place in enumerate(places)
    ]
    after = width_of(f" {word}", SMALL)
    width = max(place.label[2] + after * is_cut for place, is_cut in zip(places, cut, strict=True))
    drawing = Drawing(width + 4, 2 * EDGE + ROW * (len(places) - 1), alt)
    for place, is_cut in zip(places, cut, strict=True):
        look = {"stroke": "no", "stroke_dasharray": "5 4"} if is_cut else {"stroke": "ink"}
        if place.tie:
            drawing.add("polyline", points=points(place.tie), fill="none", stroke_width=2, **look)
    for node, place in enumerate(places):
        if kinds and kinds[node]:
            _draw_other(drawing, *place.mark, kinds[node])
        else:
            _draw_person(drawing, *place.mark, favourable=favourable[node], subject=node == 0)
        y = place.mark[1] + 4
        weight = None if node else 700
        drawing.text(place.label[0], y, labels[node], font_size=SMALL, font_weight=weight)
        if cut[node]:
            x = place.label[2] + 4
            drawing.text(x, y, word, fill="no", font_size=SMALL, font_weight=600)
    return drawing.picture()


def _draw_person(
    drawing: Drawing, x: float, y: float, *, favourable: bool | None, subject: bool
) -> None:
    if subject:
        ring = {"cx": x, "cy": y, "r": RING * RADIUS}
        drawing.add("circle", fill="paper", stroke="ink", stroke_width=1.5, **ring)
    if favourable is None:
        mark = {"fill": "paper", "stroke": "open", "stroke_dasharray": "3 2"}
        drawing.add("circle", cx=x, cy=y, r=RADIUS, **mark)
        return
    fill, stroke = ("yes", "yes") if favourable else ("no-tint", "no")
    drawing.shape("circle", x, y, RADIUS, fill=fill, stroke=stroke, stroke_width=1.5)


def draw_network(
    near: EgoNetwork, kinds: Sequence[str], part: Sequence[tuple[str, str]], alt: str
) -> Picture:
    """Who is near a subject: the subject in the middle, one ring of nodes for each hop.

    A part of the ties is thick, and the others at its ends have their names.
    """
    drawing, middle = Drawing(NETWORK, NETWORK, alt), NETWORK / 2
    reach = max(node.hops for node in near.nodes) or 1
    at: dict[str, Point] = {}
    for hops in range(reach + 1):
        ring = [node for node in near.nodes if node.hops == hops]
        radius = (middle - EDGE) * hops / reach
        for place, node in enumerate(ring):
            angle = 2 * pi * place / len(ring) + hops
            at[node.id] = middle + radius * cos(angle), middle + radius * sin(angle)
    thin = [(tie.ends, "axis", 1) for tie in near.ties]
    for (start, end), colour, thick in [*thin, *((ends, "ink", 3) for ends in part)]:
        drawing.line(*at[start], *at[end], colour, stroke_width=thick)
    for node in reversed(near.nodes):
        if node.kind in kinds:
            _draw_other(drawing, *at[node.id], kinds.index(node.kind))
        else:
            favourable = node.favourable if node.decision else None
            _draw_person(drawing, *at[node.id], favourable=favourable, subject=not node.hops)
    taken: list[tuple[float, float, float]] = []  # left and right of a name, and its height
    for node in near.nodes:
        if node.hops and node.id in {end for ends in part for end in ends}:
            (x, y), width = at[node.id], width_of(node.id, SMALL)
            # Inside the outer ring, and outside of the others.
            x += BESIDE if (x < middle) == (node.hops == reach) else -BESIDE - width
            x, y = min(max(x, 0), NETWORK - width), y + (middle - y) / 10
            step = ROW / 2 if y < middle else -ROW / 2
            while any(x < b and a < x + width and abs(y - c) < ROW / 2 for a, b, c in taken):
                y += step
            taken.append((x, x + width, y))
            drawing.text(x + width / 2, y + 4, node.id, font_size=SMALL, class_="mark-name")
    return drawing.picture()


def kind_shape(kind: int) -> str:
    """The shape of nodes of a kind other than the subject's, by its place among the kinds."""
    return SHAPES[1 + (kind - 1) % (len(SHAPES) - 1)]


def draw_kind(kind: int, alt: str) -> Picture:
    """The mark of a kind of nodes, for a key."""
    drawing = Drawing(20, 20, alt)
    _draw_other(drawing, 10, 10, kind)
    return drawing.picture()


def _draw_other(drawing: Drawing, x: float, y: float, kind: int) -> None:
    """A node of another kind; when all shapes are used, it is hollow."""
    colour = KIND_COLOURS[(kind - 1) % len(KIND_COLOURS)]
    fill, stroke = (colour, "ink") if kind < len(SHAPES) else ("paper", colour)
    drawing.shape(kind_shape(kind), x, y, RADIUS, fill=fill, stroke=stroke, stroke_width=1.5)


# ---------------------------------------------------------------- the model's computation on it

LIMIT_NODES, LIMIT_DEPTH = 12, 6
NAMES, COLUMN, LAYER_ROW, HEADS = 110, 118, 44, 44
NAME = 13
# Role: colour, shape. The words of a role are `subject.role.<role>`.
ROLES = {
    "treatment": ("class-1", "square"),
    "mediator": ("class-0", "diamond"),
    "confounder": ("class-2", "triangle"),
    "outcome": ("ink", "circle"),
    "other": ("muted", "circle"),
}


def draw_roll_out(rolled: RollOut, names: Sequence[str], words: Words) -> Picture:
    """Variables as marks, one row per node and one column per layer; arcs point to the right.

    Nodes of the roll-out are places in `names`.
    """
    _, depth = rolled.outcome
    bottom = HEADS + LAYER_ROW * len(names)
    members = {
        "outcome": {rolled.outcome},
        "treatment": rolled.treatment,
        "mediator": rolled.mediators,
        "confounder": rolled.confounders,
        "other": rolled.graph,
    }
    roles = {
        variable: next(role for role, variables in members.items() if variable in variables)
        for variable in sorted(rolled.graph)
    }
    present = [role for role in ROLES if role in roles.values()]
    width = max(NAMES + COLUMN * depth + 60, 330)
    [alt] = our_templates().lines(WORDS, "roll_out", rolled, names, words=words)
    drawing = Drawing(width, bottom + 22 * len(present) + 2, alt)
    for layer in range(depth + 1):
        key = "subject.roll_out.layer" if layer else "subject.roll_out.own"
        heading = words.say(key, layer=str(layer))
        x, _ = _place((0, layer))
        drawing.text(x, 14, heading, font_size=SMALL, fill="muted", text_anchor="middle")
    for row, name in enumerate(names):
        drawing.text(0, _place((row, 0))[1] + 4, shorten(name, NAME), font_size=SMALL)
    _draw_arcs(drawing, rolled)
    for variable, role in roles.items():
        _draw_variable(drawing, role, *_place(variable))
    for place, role in enumerate(present):
        y = bottom + 10 + 22.0 * place
        _draw_variable(drawing, role, 13, y - 4)
        drawing.text(32, y, words.say(f"subject.role.{role}"), font_size=SMALL)
    return drawing.picture()


def _draw_arcs(drawing: Drawing, rolled: RollOut) -> None:
    """The plain arcs first, then those of confounders, then those that carry the effect."""
    carrying = rolled.treatment | rolled.mediators
    carried = {
        (start, end)
        for start, end in rolled.graph.edges
        if start in carrying and (end in rolled.mediators or end == rolled.outcome)
    }
    confounding = _confounding(rolled) - carried
    looks: list[tuple[set[tuple[Variable, Variable]], dict[str, object]]] = [
        (set(rolled.graph.edges) - carried - confounding, {"stroke": "lines"}),
        (confounding, {"stroke": "class-2", "stroke_width": 2, "stroke_dasharray": "5 3"}),
        (carried, {"stroke": "class-0", "stroke_width": 2}),
    ]
    for arcs, look in looks:
        for start, end in sorted(arcs):
            (x1, y1), (x2, y2) = _place(start), _place(end)
            drawing.add("line", x1=x1, y1=y1, x2=x2, y2=y2, **look)


def _confounding(rolled: RollOut) -> set[tuple[Variable, Variable]]:
    """The arcs by which confounders act on mediators, and on the outcome past the mediators."""
    past = rolled.graph.subgraph(rolled.graph.nodes - rolled.mediators - rolled.treatment)
    reached = set(rolled.confounders)
    for variable in rolled.confounders:
        reached |= nx.descendants(past, variable)
    leading = nx.ancestors(past, rolled.outcome) | {rolled.outcome}
    return {
        (start, end)
        for start, end in rolled.graph.edges
        if (start in rolled.confounders and end in rolled.mediators)
        or (start in reached and end in reached & leading)
    }


def _draw_variable(drawing: Drawing, role: str, x: float, y: float) -> None:
    colour, shape = ROLES[role]
    if role == "other":
        drawing.add("circle", cx=float(x), cy=y, r=5, fill="paper", stroke="muted")
        return
    if role == "outcome":
        drawing.add("circle", cx=float(x), cy=y, r=11, fill="paper", stroke="ink")
    drawing.shape(shape, x, y, 7, fill=colour, stroke="paper")


def _place(variable: Variable) -> tuple[float, float]:
    node, layer = variable
    return NAMES + 30.0 + COLUMN * layer, float(HEADS + LAYER_ROW * node)


# ---------------------------------------------------------------- two axes


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    """The frame of a chart in pixels, and the scales of its two axes."""

    left: float
    right: float
    top: float
    bottom: float
    across: Scale
    up: Scale

    def draw(
        self,
        drawing: Drawing,
        along: Sequence[tuple[float, str]],
        upright: Sequence[tuple[float, str]],
        names: tuple[str, str],
    ) -> None:
        """Lines and figures at values of either axis, and the names of the axes."""
        look: dict[str, Any] = {"fill": "muted", "font_size": SMALL}
        for value, figure in along:
            x = self.across(value)
            drawing.line(x, self.top, x, self.bottom, "faint")
            drawing.text(x, self.bottom + 16, figure, text_anchor="middle", **look)
        for value, figure in upright:
            y = self.up(value)
            drawing.line(self.left, y, self.right, y, "faint")
            drawing.text(self.left - 8, y + 4, figure, text_anchor="end", **look)
        drawing.line(self.left, self.bottom, self.right, self.bottom, "muted")
        drawing.line(self.left, self.top, self.left, self.bottom, "muted")
        middle = (self.left + self.right) / 2
        drawing.text(middle, self.bottom + 36, names[0], text_anchor="middle", **look)
        turned = f"translate(14 {(self.top + self.bottom) / 2:.0f}) rotate(-90)"
        drawing.add("text", names[1], transform=turned, text_anchor="middle", **look)


# ---------------------------------------------------------------- the search

WIDTH, HEIGHT = 560, 416
LEFT, RIGHT, TOP, BOTTOM = 62, 546, 18, 288
# The least number of pairs of each shade.
SHADES = {1: 0.16, 2: 0.3, 10: 0.46, 100: 0.66, 1000: 0.9}
MARK = 10.0


def draw_objective_grid(
    grid: ObjectiveGrid, words: Words, alt: str, *, front: Sequence[Point], choices: Sequence[Point]
) -> Picture:
    """The pairs by both objectives: further right and further up is better.

    Points are simulatability, then relevance as an absolute value.
    """
    drawing = Drawing(WIDTH, HEIGHT, alt)
    low, high = widen(*grid.simulatability)
    across = Scale(low=low, high=high, start=LEFT + MARK, end=RIGHT - MARK)
    low, high = widen(*grid.relevance)
    up = Scale(low=low, high=high, start=BOTTOM - MARK, end=TOP + MARK)
    plane = Plane(left=LEFT, right=RIGHT, top=TOP, bottom=BOTTOM, across=across, up=up)
    along, upright = (_ticks(scale, words) for scale in (across, up))
    names = words.say("subject.grid.simulatability"), words.say("subject.grid.relevance")
    plane.draw(drawing, along, upright, names)
    _draw_cells(drawing, grid, across, up)
    if front:
        _draw_front(drawing, sorted({(across(x), up(y)) for x, y in front}))
    _draw_choices(drawing, [(across(x), up(y)) for x, y in choices])
    _draw_grid_key(drawing, words)
    return drawing.picture()


def _ticks(scale: Scale, words: Words) -> list[tuple[float, str]]:
    places = ticks(scale.low, scale.high)
    step = places[1] - places[0] if len(places) > 1 else 1.0
    write = words.amount if step < 0.01 else words.number
    values = [0.0 if abs(value) < step / 1000 else value for value in places]
    return [(value, write(value)) for value in values]


def _draw_cells(drawing: Drawing, grid: ObjectiveGrid, across: Scale, up: Scale) -> None:
    """One path per shade, so that a full grid stays a small file."""
    (left, right), (low, high) = grid.simulatability, grid.relevance
    width = (across(right) - across(left)) / grid.columns or 4.0  # 4 if all have the same value
    height = (up(low) - up(high)) / grid.rows or 4.0
    paths: dict[int, str] = dict.fromkeys(SHADES, "")
    for cell, count in grid.counts:
        row, column = divmod(cell, grid.columns)
        x, y = across(left) + column * width, up(low) - (row + 1) * height
        shade = max(least for least in SHADES if count >= least)
        paths[shade] += f"M{short(x)} {short(y)}h{short(width)}v{short(height)}h{short(-width)}z"
    for shade, path in paths.items():
        if path:
            drawing.add("path", d=path, fill="accent", fill_opacity=SHADES[shade])


def _draw_front(drawing: Drawing, steps: Sequence[Point]) -> None:
    """Everything below or left of the line is dominated."""
    path = f"M{LEFT} {short(steps[0][1])}"
    for (x, y), (_, below) in zip(steps, [*steps[1:], (0.0, float(BOTTOM))], strict=True):
        path += f"H{short(x)}V{short(max(below, y))}"
    drawing.add("path", d=path, fill="none", stroke="ink", stroke_width=1.8)
    for x, y in steps:
        drawing.add("circle", cx=x, cy=y, r=2.5, fill="ink")


def _draw_choices(drawing: Drawing, choices: Sequence[Point]) -> None:
    """Numbers in discs; choices in nearly the same place share one."""
    discs: list[tuple[Point, list[int]]] = []
    for number, (x, y) in enumerate(choices, start=1):
        for (other_x, other_y), numbers in discs:
            if abs(x - other_x) < 2 * MARK and abs(y - other_y) < 2 * MARK:
                numbers.append(number)
                break
        else:
            discs.append(((x, y), [number]))
    for (x, y), numbers in discs:
        label = ", ".join(map(str, numbers))
        width = 2 * MARK + 9.5 * (len(label) - 1)
        # Shifted towards the middle, so that a long one stays inside the chart.
        left = min(max(x - width / 2, LEFT), RIGHT - width)
        box = {"x": left, "y": y - MARK, "width": width, "height": 2 * MARK, "rx": MARK}
        drawing.add("rect", fill="ink", stroke="paper", stroke_width=1.5, **box)
        look = {"fill": "paper", "font_weight": 700, "text_anchor": "middle"}
        drawing.add("text", label, x=left + width / 2, y=y + 4.5, **look)


def _draw_grid_key(drawing: Drawing, words: Words) -> None:
    y, x = HEIGHT - 68.0, float(LEFT)
    cell = words.say("subject.grid.cell")
    drawing.text(x, y, cell, font_size=SMALL, fill="muted")
    x += width_of(cell, SMALL) * 0.86 + 8
    for least, after in pairwise([*SHADES, None]):
        assert least is not None
        label = words.number(least)
        if after is None:
            label = words.say("subject.grid.or_more", least=label)
        elif after - 1 > least:
            label = words.interval(label, words.number(after - 1))
        box = {"x": x, "y": y - 10, "width": 12, "height": 12}
        drawing.add("rect", fill="accent", fill_opacity=SHADES[least], **box)
        drawing.text(x + 17, y, label, font_size=SMALL)
        x += 30 + 6.6 * len(label)
    y += 26
    step = f"M{LEFT} {short(y - 8)}h16v8h14"
    drawing.add("path", d=step, fill="none", stroke="ink", stroke_width=1.8)
    drawing.text(LEFT + 38, y, words.say("subject.grid.front"), font_size=SMALL)
    y += 24
    drawing.add("circle", cx=LEFT + 15.0, cy=y - 4, r=8, fill="ink")
    look: dict[str, Any] = {"font_size": SMALL, "font_weight": 700, "text_anchor": "middle"}
    drawing.text(LEFT + 15, y, "1", fill="paper", **look)
    drawing.text(LEFT + 38, y, words.say("subject.grid.shown"), font_size=SMALL)


# ---------------------------------------------------------------- cut-offs

# Groups differ by dash and label; colours are of decisions.
DASHES = (None, "7 4", "2 3", "10 3 2 3", "5 2", "1 5")
PANEL, BETWEEN, KEY_ROW = 250.0, 70.0, 20.0


def draw_sweep(
    table: SweepTable, names: Mapping[str, str], four_fifths: float, words: Words, alt: str
) -> Picture:
    """Shares refused and impact ratios of the groups with names; a line marks what is in force."""
    rule, looks = table.rule, dict(zip(names, DASHES, strict=False))
    top = KEY_ROW * len(looks) + 34
    drawing = Drawing(2 * (PANEL + BETWEEN), top + PANEL * 0.6 + 44, alt)
    marks = [*rule.cut_off_by.values(), *([] if rule.cut_off is None else [rule.cut_off])]
    low, high = widen(min([*table.cut_offs, *marks]), max([*table.cut_offs, *marks]))
    if rule.value == "probability":
        low, high = 0.0, 1.0
    ratios = [ratio for name in looks for ratio in table.by_group[name].impact_ratio if ratio]
    for place, key in enumerate(("refused", "ratio")):
        left = BETWEEN - 20 + place * (PANEL + BETWEEN)
        right, bottom = left + PANEL, top + PANEL * 0.6
        across = Scale(low=low, high=high, start=left, end=right)
        most = max(1.0, ceil(5 * max(ratios, default=1.0)) / 5) if place else 1.0
        up = Scale(low=0.0, high=most, start=bottom, end=top)
        plane = Plane(left=left, right=right, top=top, bottom=bottom, across=across, up=up)
        upright = [
            (at, words.fixed(at, 1) if place else words.whole_percent(at)) for at in ticks(0, most)
        ]
        axis = words.say(f"report.sweep.axis.{rule.value}")
        plane.draw(drawing, _ticks(across, words), upright, (axis, ""))
        title = words.say(f"report.sweep.axis.{key}")
        drawing.text(left, top - 8, title, font_size=SMALL, font_weight=600)
        if place:
            drawing.line(left, up(four_fifths), right, up(four_fifths), "muted")
        for mark in marks:
            x, dash = across(mark), "3 3" if rule.cut_off_by else None
            drawing.line(x, top, x, bottom, "axis", stroke_width=2, stroke_dasharray=dash)
            if not place and not dash:
                label = words.say("report.sweep.in_force")
                drawing.text(x + 4, top + 11, label, fill="muted", font_size=SMALL)
        for name, dash in looks.items():
            curve = table.by_group[name]
            values = curve.impact_ratio if place else [count / curve.of for count in curve.refused]
            at = zip(table.cut_offs, values, strict=True)
            line = [(across(cut_off), up(value)) for cut_off, value in at if value is not None]
            look: dict[str, Any] = {"stroke": "ink", "stroke_width": 2, "stroke_dasharray": dash}
            if not place or name != table.reference:
                drawing.add("polyline", points=points(line), fill="none", **look)
    for row, (name, dash) in enumerate(looks.items()):
        y = KEY_ROW * row + 8
        drawing.line(BETWEEN - 20, y, BETWEEN + 20, y, "ink", stroke_width=2, stroke_dasharray=dash)
        drawing.text(BETWEEN + 30, y + 4, names[name], font_size=SMALL)
    return drawing.picture()


# ---------------------------------------------------------------- stability

# Colour, mark and dash, so that the curves can be told apart without colour.
LOOKS = {"changed": ("class-1", "circle", None), "unchanged": ("class-0", "square", "6 4")}


def draw_stability(report: StabilityReport) -> str:
    """How far explanations move when the answer moves, one curve per outcome, as an SVG file."""
    words = Words()
    curves = {"changed": report.changed, "unchanged": report.unchanged}
    most = max((point.strength for curve in curves.values() for point in curve), default=0.0)
    most = max(ceil(10 * most), 1) / 10
    [alt] = our_templates().lines(WORDS, "stability", report, words=words)
    drawing = Drawing(640, 400, alt)
    drawing.add("rect", width=640, height=400, fill="paper")
    drawing.text(70, 24, words.say(f"stability.title.{report.kind}"), font_size=16)
    across = Scale(low=0, high=most, start=70, end=620)
    up = Scale(low=0, high=1, start=340, end=76)
    plane = Plane(left=70, right=620, top=76, bottom=340, across=across, up=up)
    shares = [step / 5 for step in range(6)]
    along = [(share * most, words.number(share * most)) for share in shares]
    names = words.say("stability.axis.answer"), words.say("stability.axis.distance")
    plane.draw(drawing, along, [(share, words.fixed(share, 1)) for share in shares], names)
    for place, (name, curve) in enumerate(curves.items()):
        colour, mark, dashes = LOOKS[name]
        line = {"stroke": colour, "stroke_width": 2.5, "stroke_dasharray": dashes}
        marks = [(across(point.strength), up(point.explanation)) for point in curve]
        drawing.add("polyline", points=points(marks), fill="none", **line)
        y = 44.0 + 18 * place
        drawing.add("line", x1=70.0, y1=y - 4, x2=104.0, y2=y - 4, **line)
        for x, height in [*marks, (87.0, y - 4)]:
            drawing.shape(mark, x, height, 5, fill=colour)
        rows = sum(point.rows for point in curve)
        drawing.text(114, y, words.say_count(f"stability.key.{name}", rows))
    return drawing.file()
