"""Caveats in full, in the page's own language, with the model's computation drawn beside them."""

from dataclasses import dataclass

from recourse_audit.audit.rollout import roll_out
from recourse_audit.records.caveats import AdjustedEffect, Caveat
from recourse_audit.records.report import SubjectReport
from recourse_audit.records.search import Counterfactual
from recourse_audit.render.charts.rollout import LIMIT_DEPTH, LIMIT_NODES, fits, rollout
from recourse_audit.render.charts.svg import Picture
from recourse_audit.render.page_words import PageWords
from recourse_audit.render.pages.redaction import Level
from recourse_audit.render.pages.subject_annex import Section
from recourse_audit.render.pages.subject_counterfactuals import grade_sentence
from recourse_audit.render.pages.subject_findings import Said
from recourse_audit.render.pages.subject_ties import tie_name

LEAST_SHOWN = 0.0005  # smaller moves would be +0.000


@dataclass(frozen=True, slots=True, kw_only=True)
class CaveatView:
    """One caveat; `grade` is empty if none was measured, and `limit` says why there is no picture.

    `depends` is empty unless the grade depends on whose features are drawn. Both `picture` and
    `limit` are empty where there is nothing to draw.
    """

    title: str
    grade: str
    depends: str
    said: Said
    picture: Picture | None
    limit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CaveatsView:
    """Every caveat of a report, in its order."""

    head: Section
    caveats: tuple[CaveatView, ...]
    caption: str


def caveats_view(
    shown: SubjectReport, level: Level, words: PageWords, letter: str
) -> CaveatsView | None:
    """The caveats of a redacted report; None if there are none."""
    if not shown.caveats:
        return None
    drawn = any(one.kind == "confounders" for one in shown.caveats) and level != "subject"
    return CaveatsView(
        head=Section(
            letter=letter,
            title=words.say("subject.caveats.title"),
            about=words.say(f"subject.caveats.{'drawn' if drawn else 'general'}"),
        ),
        caveats=tuple(_view(one, shown, level, words) for one in shown.caveats),
        caption=words.say("subject.roll_out.caption"),
    )


def _view(caveat: Caveat, shown: SubjectReport, level: Level, words: PageWords) -> CaveatView:
    picture, limit = None, ""
    about = _counterfactual(caveat, shown)
    if about is not None and level != "subject":
        picture, limit = _drawn(caveat, about, shown, words)
    number = caveat.counterfactual
    effect = caveat.effect
    return CaveatView(
        title=words.say("subject.caveat.every")
        if number is None
        else words.say("subject.caveat.about", number=str(number)),
        grade="" if caveat.grade is None else words.say(f"subject.grade.name.{caveat.grade}"),
        depends=words.say("subject.grade.depends")
        if effect is not None and effect.depends_on_whom
        else "",
        said=_said(caveat, about, shown, level, words),
        picture=picture,
        limit=limit,
    )


def _said(
    caveat: Caveat,
    about: Counterfactual | None,
    shown: SubjectReport,
    level: Level,
    words: PageWords,
) -> Said:
    if caveat.kind in ("general", "unknown_reach"):
        return Said(text=words.say(f"subject.caveat.{caveat.kind}"))
    if caveat.kind != "confounders":
        return Said(text="", quote=caveat.letter if level != "auditor" else caveat.text)
    if level == "subject" or about is None or caveat.effect is None or not caveat.variables:
        return Said(text=grade_sentence(caveat, words))
    return Said(text=_measured(caveat, caveat.effect, about, shown, words))


def _measured(
    caveat: Caveat,
    effect: AdjustedEffect,
    about: Counterfactual,
    shown: SubjectReport,
    words: PageWords,
) -> str:
    """The effect as it is, with others' data redrawn, and how often it goes which way."""
    watched = (
        words.say("subject.caveat.score")
        if shown.decision.scored
        else words.say("subject.caveat.probability", decision=shown.subject.decision)
    )
    headline = words.say(f"subject.caveat.{_headline(effect)}", **_sizes(effect, words))
    measured = words.say(
        "subject.caveat.measured",
        ties=words.listed([tie_name(tie) for tie in about.removed]),
        watched=watched,
        unadjusted=_moved(effect.unadjusted, words),
        people=words.listed(list(caveat.variables)),
        adjusted=words.signed(effect.adjusted),
        interval=words.interval(words.signed(effect.low), words.signed(effect.high)),
    )
    return f"{headline} {measured} {_shares(effect, words)}"


def _sizes(effect: AdjustedEffect, words: PageWords) -> dict[str, str]:
    return {
        "smallest": words.amount(effect.smallest),
        "draws": words.number(effect.draws),
    }


def _headline(effect: AdjustedEffect) -> str:
    """The key of what the grade means."""
    small = abs(effect.unadjusted) < effect.smallest
    return "too_small" if effect.grade == "not_settled" and small else effect.grade


def _moved(move: float, words: PageWords) -> str:
    """A move with its sign; a small one with as many decimals as it has."""
    if move == 0:
        return words.say("subject.caveat.nothing")
    return words.signed(move, 3 if abs(move) >= LEAST_SHOWN else 6)


def _shares(effect: AdjustedEffect, words: PageWords) -> str:
    """In how many draws the move goes which way; all of them, if it depends on whom."""

    def counted(share: float) -> str:
        # What is left of 1 may be a little less than nothing.
        return words.out_of(round(max(share, 0.0) * effect.draws), effect.draws)

    same = counted(effect.agreeing)
    smallest = words.amount(effect.smallest)
    if effect.unadjusted == 0:
        larger = counted(1 - effect.negligible)
        return words.say("subject.caveat.either", smallest=smallest, larger=larger)
    if not effect.depends_on_whom:
        return words.say("subject.caveat.beyond", smallest=smallest, same=same)
    return words.say(
        "subject.caveat.depends",
        smallest=smallest,
        same=same,
        opposite=counted(1 - effect.agreeing - effect.negligible),
        neither=counted(effect.negligible),
    )


def _counterfactual(caveat: Caveat, shown: SubjectReport) -> Counterfactual | None:
    """The counterfactual that a caveat on confounders is about."""
    place = caveat.counterfactual
    if caveat.kind != "confounders" or place is None:
        return None
    return shown.counterfactuals[place - 1] if place <= len(shown.counterfactuals) else None


def _drawn(
    caveat: Caveat, about: Counterfactual, shown: SubjectReport, words: PageWords
) -> tuple[Picture | None, str]:
    """The roll-out behind a caveat; drawn only if it has the confounders that the audit found."""
    depth, subject = shown.probes.depth, shown.subject.id
    nodes = [subject, *(node for node in about.explanation.nodes if node != subject)]
    if depth is None:
        return None, ""
    if not fits(nodes, depth):
        return None, words.say(
            "subject.roll_out.too_large", nodes=str(LIMIT_NODES), layers=str(LIMIT_DEPTH)
        )
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
        return None, words.say("subject.roll_out.directed")
    return rollout(rolled, nodes, words), ""
