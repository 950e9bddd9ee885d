"""What must be said beside the counterfactuals, on a page, with the roll-out drawn."""

from dataclasses import dataclass

from recourse_audit.caveats.rollout import roll_out
from recourse_audit.records.caveats import Caveat, Grade
from recourse_audit.records.report import SubjectReport
from recourse_audit.records.search import Counterfactual
from recourse_audit.render.charts.rollout import LIMIT_DEPTH, LIMIT_NODES, fits, rollout
from recourse_audit.render.charts.svg import Picture
from recourse_audit.render.pages.redaction import Level

GRADES: dict[Grade, str] = {
    "holds": "the effect holds",
    "weakens": "the effect weakens",
    "reverses": "the effect reverses",
}
TOO_LARGE = (
    f"The roll-out is not drawn: a picture has room for {LIMIT_NODES} nodes and {LIMIT_DEPTH} "
    "layers."
)
DIRECTED = (
    "The roll-out is not drawn: messages travel one way along some ties, and the report does not "
    "say which."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaveatView:
    """One caveat; `grade` is empty if none was measured, and `limit` says why there is no picture.

    Both `picture` and `limit` are empty where there is nothing to draw.
    """

    title: str
    grade: str
    text: str
    picture: Picture | None
    limit: str


def caveat_views(shown: SubjectReport, level: Level) -> tuple[CaveatView, ...]:
    """Every caveat of a redacted report, in its order."""
    return tuple(_view(caveat, shown, level) for caveat in shown.caveats)


def _view(caveat: Caveat, shown: SubjectReport, level: Level) -> CaveatView:
    picture, limit = None, ""
    about = _counterfactual(caveat, shown)
    if about is not None and level != "subject":
        picture, limit = _drawn(caveat, about, shown)
    return CaveatView(
        title="Caution" if caveat.kind == "general" else caveat.about.capitalize(),
        grade="" if caveat.grade is None else GRADES[caveat.grade],
        text=caveat.text,
        picture=picture,
        limit=limit,
    )


def _counterfactual(caveat: Caveat, shown: SubjectReport) -> Counterfactual | None:
    """The counterfactual that a caveat on confounders is about."""
    place = caveat.counterfactual
    if caveat.kind != "confounders" or place is None:
        return None
    return shown.counterfactuals[place - 1] if place <= len(shown.counterfactuals) else None


def _drawn(
    caveat: Caveat, about: Counterfactual, shown: SubjectReport
) -> tuple[Picture | None, str]:
    """The roll-out behind a caveat; drawn only if it has the confounders that the audit found."""
    depth, subject = shown.probes.depth, shown.subject.id
    nodes = [subject, *(node for node in about.explanation.nodes if node != subject)]
    if depth is None:
        return None, ""
    if not fits(nodes, depth):
        return None, TOO_LARGE
    number = {node: place for place, node in enumerate(nodes)}
    arcs = [
        (number[one], number[other])
        for a, b in about.explanation.edges
        for one, other in ((a, b), (b, a))
    ]
    kept = {subject, *(end for tie in about.kept for end in tie)}
    removed = [number[node] for node in nodes if node not in kept]
    rolled = roll_out(arcs, range(len(nodes)), subject=0, removed=removed, depth=depth)
    if {nodes[one] for one in rolled.confounding_nodes} != set(caveat.variables):
        return None, DIRECTED
    return rollout(rolled, nodes), ""
