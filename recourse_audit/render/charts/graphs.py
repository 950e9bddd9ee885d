"""Small graphs: an explanation as an indented tree, and the model's computation on it.

Marks of people differ by more than colour: a solid disc if decided favourably, a tinted square if
not, hollow and dashed without a decision, and a ring around the subject.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import networkx as nx

from recourse_audit.audit.rollout import RollOut, Variable
from recourse_audit.render.drawing import SMALL, Drawing, Picture, points, shortened, width_of
from recourse_audit.render.i18n import Words

Tie = tuple[int, int]
Box = tuple[float, float, float, float]

# ---------------------------------------------------------------- an explanation

EDGE, INDENT, ROW, RADIUS, RING = 16.0, 26.0, 28.0, 6.5, 1.75
BESIDE, LETTERS = 17.0, 28


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
    word: str,
    alt: str,
) -> Picture:
    """Draw a tree whose ties name people by place, the subject first.

    `favourable` is None where there is no decision; `word` is said of every removed tie.
    """
    labels = [shortened(name, LETTERS) for name in names]
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
    shape = "circle" if favourable else "square"
    drawing.shape(shape, x, y, RADIUS, fill=fill, stroke=stroke, stroke_width=1.5)


# ---------------------------------------------------------------- the model's computation on it

LIMIT_NODES, LIMIT_DEPTH = 12, 6
LEFT, COLUMN, LAYER_ROW, TOP = 110, 118, 44, 44
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
    bottom = TOP + LAYER_ROW * len(names)
    roles = {variable: _role(rolled, variable) for variable in sorted(rolled.graph)}
    present = [role for role in ROLES if role in roles.values()]
    width = max(LEFT + COLUMN * depth + 60, 330)
    drawing = Drawing(width, bottom + 22 * len(present) + 2, _describe(rolled, names, words))
    for layer in range(depth + 1):
        key = "subject.roll_out.layer" if layer else "subject.roll_out.own"
        heading = words.say(key, layer=str(layer))
        x, _ = _place((0, layer))
        drawing.text(x, 14, heading, font_size=SMALL, fill="muted", text_anchor="middle")
    for row, name in enumerate(names):
        drawing.text(0, _place((row, 0))[1] + 4, shortened(name, NAME), font_size=SMALL)
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
    return LEFT + 30.0 + COLUMN * layer, float(TOP + LAYER_ROW * node)


def _role(rolled: RollOut, variable: Variable) -> str:
    if variable == rolled.outcome:
        return "outcome"
    roles = ("treatment", rolled.treatment), ("mediator", rolled.mediators)
    for role, variables in (*roles, ("confounder", rolled.confounders)):
        if variable in variables:
            return role
    return "other"


def _describe(rolled: RollOut, names: Sequence[str], words: Words) -> str:
    def name(variable: Variable) -> str:
        node, layer = variable
        key = "subject.roll_out.at_layer" if layer else "subject.roll_out.features"
        return words.say(key, name=names[node], layer=str(layer))

    def list_of(variables: frozenset[Variable]) -> str:
        ordered = sorted(variables, key=lambda variable: variable[::-1])
        return words.listed([name(variable) for variable in ordered]) or words.say("subject.none")

    return words.say(
        "subject.roll_out.alt",
        layers=str(rolled.outcome[1]),
        treatment=list_of(rolled.treatment),
        outcome=name(rolled.outcome),
        mediators=list_of(rolled.mediators),
        confounders=list_of(rolled.confounders),
    )
