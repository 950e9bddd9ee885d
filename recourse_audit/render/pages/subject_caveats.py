"""What must be said beside the counterfactuals, on a page, with the roll-out drawn."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from recourse_audit.caveats.rollout import roll_out
from recourse_audit.caveats.wording import confounder_caveat
from recourse_audit.records.search import Counterfactual
from recourse_audit.render.charts.rollout import LIMIT_DEPTH, LIMIT_NODES, fits, rollout
from recourse_audit.render.charts.svg import Picture
from recourse_audit.render.pages.reading import effect_of
from recourse_audit.render.pages.redaction import Names

Document = dict[str, Any]
GRADES = {
    "holds": "the effect holds",
    "weakens": "the effect weakens",
    "reverses": "the effect reverses",
}
TOO_LARGE = (
    f"The roll-out is not drawn: a picture holds {LIMIT_NODES} nodes and {LIMIT_DEPTH} layers."
)
DIRECTED = (
    "The roll-out is not drawn: messages go one way along some ties, which the document does not "
    "hold."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaveatView:
    """One caveat; `grade` is empty where none was measured, and `limit` says why no picture is."""

    title: str
    grade: str
    text: str
    picture: Picture | None
    limit: str


def caveat_views(
    document: Document, found: Sequence[Counterfactual], names: Names
) -> tuple[CaveatView, ...]:
    """Every caveat of the document, in its order."""
    return tuple(_view(caveat, document, found, names) for caveat in document["caveats"])


def _view(
    caveat: Document, document: Document, found: Sequence[Counterfactual], names: Names
) -> CaveatView:
    title = "Caution" if caveat["kind"] == "general" else caveat["about"].capitalize()
    picture, limit = None, ""
    text = caveat["text"]
    place = _place(caveat, found)
    if place is not None and names.tells_people_apart:
        picture, limit = _drawn(caveat, document, place, names)
        variables = tuple(names.name(one) for one in caveat["variables"])
        text = confounder_caveat(
            place + 1,
            found[place],
            document["subject"]["decision"],
            variables,
            effect_of(caveat["effect"]),
        ).text
    if not names.tells_people_apart:
        text = caveat["letter"]
    return CaveatView(
        title=title,
        grade=GRADES.get(caveat["grade"] or "", ""),
        text=text,
        picture=picture,
        limit=limit,
    )


def _place(caveat: Document, found: Sequence[Counterfactual]) -> int | None:
    """Which counterfactual a caveat on confounders is about, counted from 0."""
    if caveat["kind"] != "confounders":
        return None
    place = int(caveat["about"].rpartition(" ")[2]) - 1
    return place if place < len(found) else None


def _drawn(
    caveat: Document, document: Document, place: int, names: Names
) -> tuple[Picture | None, str]:
    """The roll-out behind a caveat; drawn only if it has the confounders that the audit found."""
    raw = document["counterfactuals"][place]
    depth = document["probes"]["depth"]
    subject = document["subject"]["id"]
    nodes = [subject, *(node for node in raw["explanation"]["nodes"] if node != subject)]
    if depth is None:
        return None, ""
    if not fits(nodes, depth):
        return None, TOO_LARGE
    number = {node: place for place, node in enumerate(nodes)}
    arcs = [
        (number[one], number[other])
        for a, b in raw["explanation"]["edges"]
        for one, other in ((a, b), (b, a))
    ]
    kept = {subject, *(end for tie in raw["kept"] for end in tie)}
    removed = [number[node] for node in nodes if node not in kept]
    rolled = roll_out(arcs, range(len(nodes)), subject=0, removed=removed, depth=depth)
    if {nodes[one] for one in rolled.confounding_nodes} != set(caveat["variables"]):
        return None, DIRECTED
    return rollout(rolled, [names.name(node) for node in nodes]), ""
