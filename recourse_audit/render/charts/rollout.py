"""The model's computation on an explanation, layer by layer, and the role of each variable."""

from collections.abc import Sequence

import networkx as nx

from recourse_audit.audit.rollout import RollOut, Variable
from recourse_audit.render.charts.svg import SMALL, Drawing, Picture, shortened
from recourse_audit.render.i18n import Words

LIMIT_NODES, LIMIT_DEPTH = 12, 6
LEFT, COLUMN, ROW, TOP = 110, 118, 44, 44
LETTERS = 13
# Role: colour, shape. The words of a role are `subject.role.<role>`.
ROLES = {
    "treatment": ("class-1", "square"),
    "mediator": ("class-0", "diamond"),
    "confounder": ("class-2", "triangle"),
    "outcome": ("ink", "circle"),
    "other": ("muted", "circle"),
}


def fits(names: Sequence[str], depth: int) -> bool:
    """Whether a roll-out is small enough to be read as a picture."""
    return len(names) <= LIMIT_NODES and depth <= LIMIT_DEPTH


def rollout(rolled: RollOut, names: Sequence[str], words: Words) -> Picture:
    """Variables as marks, one row per node and one column per layer; arcs point to the right.

    Nodes of the roll-out are places in `names`.
    """
    _, depth = rolled.outcome
    width = LEFT + COLUMN * depth + 60
    bottom = TOP + ROW * len(names)
    shown = [role for role in ROLES if any(_role(rolled, one) == role for one in rolled.graph)]
    drawing = Drawing(max(width, 330), bottom + 22 * len(shown) + 2, _said(rolled, names, words))
    for layer in range(depth + 1):
        heading = (
            words.say("subject.roll_out.layer", layer=str(layer))
            if layer
            else words.say("subject.roll_out.own")
        )
        x, _ = _place((0, layer))
        drawing.text(x, 14, heading, font_size=SMALL, fill="muted", text_anchor="middle")
    for row, name in enumerate(names):
        _, y = _place((row, 0))
        drawing.text(0, y + 4, shortened(name, LETTERS), font_size=SMALL)
    _draw_arcs(drawing, rolled)
    for variable in sorted(rolled.graph):
        _draw_variable(drawing, _role(rolled, variable), *_place(variable))
    for place, role in enumerate(shown):
        y = bottom + 10 + 22.0 * place
        _draw_variable(drawing, role, 13, y - 4)
        drawing.text(32, y, words.say(f"subject.role.{role}"), font_size=SMALL)
    return drawing.picture()


def _draw_arcs(drawing: Drawing, rolled: RollOut) -> None:
    """The plain arcs first, then those of confounders, then those that carry the effect."""
    carrying = rolled.treatment | rolled.mediators
    carried = {
        (one, other)
        for one, other in rolled.graph.edges
        if one in carrying and (other in rolled.mediators or other == rolled.outcome)
    }
    confounding = _confounding(rolled)
    for arc in sorted(rolled.graph.edges):
        ends = (*_place(arc[0]), *_place(arc[1]))
        if arc not in carried and arc not in confounding:
            drawing.line(*ends, "lines")
    for arc in sorted(confounding - carried):
        ends = (*_place(arc[0]), *_place(arc[1]))
        drawing.line(*ends, "class-2", stroke_width=2, stroke_dasharray="5 3")
    for arc in sorted(carried):
        drawing.line(*_place(arc[0]), *_place(arc[1]), "class-0", stroke_width=2)


def _confounding(rolled: RollOut) -> set[tuple[Variable, Variable]]:
    """The arcs by which confounders act on mediators, and on the outcome past the mediators."""
    past = rolled.graph.subgraph(rolled.graph.nodes - rolled.mediators - rolled.treatment)
    reached = set(rolled.confounders)
    for variable in rolled.confounders:
        reached |= nx.descendants(past, variable)
    leading = nx.ancestors(past, rolled.outcome) | {rolled.outcome}
    return {
        (one, other)
        for one, other in rolled.graph.edges
        if (one in rolled.confounders and other in rolled.mediators)
        or (one in reached and other in reached & leading)
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
    return LEFT + 30.0 + COLUMN * layer, TOP + ROW * node


def _role(rolled: RollOut, variable: Variable) -> str:
    if variable == rolled.outcome:
        return "outcome"
    if variable in rolled.treatment:
        return "treatment"
    if variable in rolled.mediators:
        return "mediator"
    return "confounder" if variable in rolled.confounders else "other"


def _said(rolled: RollOut, names: Sequence[str], words: Words) -> str:
    def named(variables: frozenset[Variable]) -> str:
        ordered = sorted(variables, key=lambda one: (one[1], one[0]))
        return words.listed([_variable(names, one, words) for one in ordered]) or words.say(
            "subject.none"
        )

    return words.say(
        "subject.roll_out.alt",
        layers=str(rolled.outcome[1]),
        treatment=named(rolled.treatment),
        outcome=_variable(names, rolled.outcome, words),
        mediators=named(rolled.mediators),
        confounders=named(rolled.confounders),
    )


def _variable(names: Sequence[str], variable: Variable, words: Words) -> str:
    node, layer = variable
    if layer:
        return words.say("subject.roll_out.at_layer", name=names[node], layer=str(layer))
    return words.say("subject.roll_out.features", name=names[node])
