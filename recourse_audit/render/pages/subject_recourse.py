"""What could change a decision, and what must be said beside it, as a page shows them."""

from collections.abc import Sequence
from dataclasses import dataclass

from recourse_audit.caveats.rollout import roll_out
from recourse_audit.records.caveats import Caveat, Grade
from recourse_audit.records.recourse import Action, AskedOn, Option, Recourse, SetAction
from recourse_audit.records.report import SubjectReport
from recourse_audit.records.search import Counterfactual
from recourse_audit.render.answers import margin_words, outcome_words
from recourse_audit.render.charts.rollout import LIMIT_DEPTH, LIMIT_NODES, fits, rollout
from recourse_audit.render.charts.svg import Picture
from recourse_audit.render.pages.redaction import Level
from recourse_audit.render.pages.tables import Column, Table, cells
from recourse_audit.render.status import (
    SEARCHED,
    STATUS_WORDS,
    certificate_sentence,
    status_sentence,
    verified_words,
)
from recourse_audit.render.terminal.recourse import (
    robustness_lines,
    side_effect_lines,
    worded,
)
from recourse_audit.render.text import number

SOURCES = {
    "counterfactual": "a counterfactual",
    "effect": "order of effect",
    "exhaustive": "exhaustive search",
    "common action": "common actions",
}
ASKED_ON: dict[AskedOn, str] = {
    "neighbourhood": "on the subject's neighbourhood, after checking that it gives the same answer "
    "as the whole graph",
    "whole graph": "on the whole graph",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecourseView:
    """Whether something could change the decision, what, and how sure that is."""

    status: str
    favourable: bool
    sentence: str
    options: Table | None
    certificate: str
    checked: str


def recourse_view(shown: SubjectReport, recourse: Recourse, level: Level) -> RecourseView:
    """The status in a sentence, the options by cost, and the certificate; names are redacted."""
    searched = recourse.status in SEARCHED
    sentence = status_sentence(recourse)
    return RecourseView(
        status=STATUS_WORDS[recourse.status].heading,
        favourable=recourse.status in ("already_favourable", "verified"),
        sentence=sentence if sentence.endswith(".") else f"{sentence}.",
        options=_options(shown, recourse.options, level) if recourse.options else None,
        certificate=certificate_sentence(recourse) if searched else "",
        checked=_checked(recourse) if searched else "",
    )


def _checked(recourse: Recourse) -> str:
    asked = number(recourse.evaluations, "evaluation")
    if recourse.evaluated_on is None:
        return f"{asked}."
    return f"{asked} by the deployed model, {ASKED_ON[recourse.evaluated_on]}."


def _options(shown: SubjectReport, options: Sequence[Option], level: Level) -> Table:
    headings = [
        Column(heading="No."),
        Column(heading="Change"),
        Column(heading="Cost", kind="figures"),
        Column(heading="Decision"),
        Column(heading="Margin", kind="figures"),
        Column(heading="Still works if the neighbourhood changes (draws, 95 % interval)"),
        Column(heading="Checked"),
        Column(heading="Found by"),
    ]
    if level != "subject":
        headings.append(Column(heading="Other decisions it changes"))
    decimals = max(_decimals(option.cost) for option in options)
    rows = []
    for place, option in enumerate(options, start=1):
        row = cells(
            str(place),
            tuple(_change(action, shown.subject.id, level) for action in option.actions),
            f"{option.cost:.{decimals}f}",
            (option.decision, outcome_words(shown, option)),
            margin_words(shown.decision, option.margin),
            robustness_lines(option.robustness),
            (verified_words(option), _minimal(option)),
            SOURCES.get(option.source, option.source),
        )
        others = cells(side_effect_lines(option.side_effects)) if level != "subject" else ()
        rows.append(row + others)
    return Table(caption="Options, cheapest first", columns=tuple(headings), rows=tuple(rows))


def _change(action: Action, subject: str, level: Level) -> str:
    """One change; in the subject's own copy a tie is described by its kind only."""
    if isinstance(action, SetAction) or level != "subject":
        return worded(action)
    kind = f"{action.kind} tie" if action.kind else "tie"
    if subject not in action.tie:
        return f"{action.do} a {kind} between two other people"
    return f"{action.do} one of your {kind}s" if action.do == "drop" else f"add a {kind}"


def _minimal(option: Option) -> str:
    return "no part of it suffices" if option.minimal else "a part of it may suffice"


def _decimals(value: float) -> int:
    words = f"{value:g}"
    return len(words.partition(".")[2]) if "e" not in words else 6


GRADES: dict[Grade, str] = {
    "holds": "the effect holds",
    "weakens": "the effect weakens",
    "no_effect": "no effect to speak of",
    "reverses": "the effect reverses",
    "not_settled": "not settled",
}
DEPENDS = "depends on whom"
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

    `depends` is empty unless the grade depends on whose features are drawn. Both `picture` and
    `limit` are empty where there is nothing to draw.
    """

    title: str
    grade: str
    depends: str
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
        depends=DEPENDS if caveat.effect is not None and caveat.effect.depends_on_whom else "",
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
