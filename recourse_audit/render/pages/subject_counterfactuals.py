"""Counterfactuals as small multiples: what is removed, and what that does in two places.

A counterfactual is about a small part of the graph. What removing the same ties does on the whole
graph stands beside it, and first.
"""

from collections import Counter
from dataclasses import dataclass

from recourse_audit.records.caveats import Caveat
from recourse_audit.records.recourse import Option, TieAction
from recourse_audit.records.report import SubjectReport
from recourse_audit.records.search import Counterfactual, Explanation
from recourse_audit.render.charts.mini_graph import TreeNode, mini_graph
from recourse_audit.render.charts.strips import Strip
from recourse_audit.render.charts.svg import Picture
from recourse_audit.render.page_words import PageWords
from recourse_audit.render.pages.redaction import Level
from recourse_audit.render.pages.subject_axis import NARROW, Watched
from recourse_audit.render.pages.subject_ladder import then
from recourse_audit.render.pages.subject_ties import Between, shown_ties, tie_name, ties_between
from recourse_audit.render.whole_graph import NOTHING, comparison

MOST_NODES = 12

Move = tuple[float | None, float | None]
# A report with all names, and as its reader may see it.
Both = tuple[SubjectReport, SubjectReport]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrowRow:
    """One move on the page's axis: in the explanation, or on the whole graph."""

    label: str
    picture: Picture | None
    figure: str
    strong: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CardView:
    """One counterfactual; `graph` is None in copies that show nobody else."""

    title: str
    direction: str
    graph: Picture | None
    arrows: tuple[ArrowRow, ...]
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterfactualsView:
    """All counterfactuals side by side; `finding` is what they do to the decision, if known."""

    heading: str
    lead: str
    finding: str
    cards: tuple[CardView, ...]
    axis: Picture
    key: str


def counterfactuals_view(
    report: SubjectReport, shown: SubjectReport, level: Level, watched: Watched
) -> CounterfactualsView | None:
    """A card for each counterfactual; `report` still has all names, see `shown_ties`."""
    if not shown.counterfactuals:
        return None
    words, between = watched.words, ties_between(report)
    pairs = zip(report.counterfactuals, shown.counterfactuals, strict=True)
    cards = tuple(
        _card(place, named, one, (report, shown), level, watched, between)
        for place, (named, one) in enumerate(pairs, start=1)
    )
    return CounterfactualsView(
        heading=words.say_count("subject.cf.heading", len(cards)),
        lead=words.say("subject.cf.lead"),
        finding=_finding(shown, words),
        cards=cards,
        axis=watched.small_figures(),
        key=words.say(
            "subject.cf.key", other=watched.other, favourable=watched.favourable, axis=watched.name
        ),
    )


def _finding(shown: SubjectReport, words: PageWords) -> str:
    """Whether any of them changes the decision on the whole graph; nothing if not all are known."""
    found = [one.whole_graph for one in shown.counterfactuals]
    known = [one for one in found if one is not None]
    flips = sum(one.flips for one in known)
    if flips:
        return words.say_count("subject.cf.some", flips)
    return words.say("subject.cf.none") if len(known) == len(found) else ""


def _card(
    place: int,
    named: Counterfactual,
    one: Counterfactual,
    both: Both,
    level: Level,
    watched: Watched,
    between: Between,
) -> CardView:
    words, shown = watched.words, both[1]
    ties = shown_ties(named.removed, one.removed, between, level, words)
    if level == "subject":
        title = f"{place}. {words.listed(ties)}"
    else:
        title = words.say_count(
            "subject.cf.title", len(ties), number=str(place), ties=", ".join(ties)
        )
    inside = (watched.value(one.explanation), watched.value(one))
    whole = (watched.decided, _on_whole_graph(named, one, both, watched, between))
    return CardView(
        title=title,
        direction=_direction(watched, len(one.removed), inside, whole),
        graph=None if level == "subject" else _graph(one, shown, words),
        arrows=(
            _arrow(words.say("subject.cf.explanation"), watched, inside),
            _arrow(words.say("subject.cf.whole"), watched, whole, strong=True),
        ),
        sentences=tuple(_sentences(place, one, shown, watched, inside, whole)),
    )


def _on_whole_graph(
    named: Counterfactual, one: Counterfactual, both: Both, watched: Watched, between: Between
) -> float | None:
    """The value on the whole graph without the ties.

    Reports of older versions tell it only of an option that drops these ties and nothing else. A
    counterfactual removes everything between two people, so an option has the same effect only if
    it drops every one of the parallel ties between them.
    """
    report, shown = both
    if one.whole_graph is not None:
        return watched.value(one.whole_graph)
    if report.recourse is None or shown.recourse is None:
        return None
    wanted = Counter[frozenset[str]]()
    for tie in named.removed:
        ends = frozenset(tie)
        if ends not in between:
            return None
        wanted[ends] = sum(parallel.count for parallel in between[ends])
    for option, other in zip(report.recourse.options, shown.recourse.options, strict=True):
        if option.verified_on == "whole graph" and _dropped(option) == wanted:
            return watched.value(other)
    return None


def _dropped(option: Option) -> Counter[frozenset[str]] | None:
    """How many ties an option drops between which people; None if it does anything else."""
    dropped = Counter[frozenset[str]]()
    for action in option.actions:
        if not isinstance(action, TieAction) or action.do != "drop":
            return None
        dropped[frozenset(action.tie)] += 1
    return dropped


def _gain(watched: Watched, move: Move) -> float | None:
    before, after = move
    return None if before is None or after is None else watched.gains(before, after)


def _direction(watched: Watched, count: int, inside: Move, whole: Move) -> str:
    """Which way, by the whole graph if that is known, and both moves in figures."""
    words = watched.words
    gain = _gain(watched, whole)
    gain = _gain(watched, inside) if gain is None else gain
    way = "nowhere" if not gain else "towards" if gain > 0 else "away"
    there = words.say("subject.cf.not_asked") if whole[1] is None else watched.pair(*whole)
    figures = words.say("subject.cf.figures", whole=there, inside=watched.pair(*inside))
    return words.say_count(
        f"subject.cf.{way}", count, favourable=watched.favourable, figures=figures
    )


def _arrow(label: str, watched: Watched, move: Move, *, strong: bool = False) -> ArrowRow:
    before, after = move
    figure = watched.pair(before, after)
    picture = None
    if before is not None and after is not None:
        strip = Strip(watched.axis(NARROW), f"{label}: {figure}", height=22)
        picture = strip.arrow(before, after).picture()
    return ArrowRow(
        label=label,
        picture=picture,
        figure=figure if after is not None else watched.words.say("subject.cf.not_asked"),
        strong=strong,
    )


def _graph(one: Counterfactual, shown: SubjectReport, words: PageWords) -> Picture | None:
    """The explanation as a small graph; None where it is too large to be read."""
    ends = [end for tie in one.explanation.edges for end in tie]
    names = list(dict.fromkeys((shown.subject.id, *ends)))
    if len(names) > MOST_NODES:
        return None
    near = shown.ego_network
    known = {
        node.id: (node.favourable if node.decision else None)
        for node in (near.nodes if near else ())
    }
    known.setdefault(shown.subject.id, shown.subject.favourable)
    place = {name: number for number, name in enumerate(names)}
    kept = {frozenset(tie) for tie in one.explanation.edges} - {
        frozenset(tie) for tie in one.removed
    }
    alt = words.say(
        "subject.cf.graph.alt",
        removed=", ".join(map(tie_name, one.removed)),
        kept=", ".join(tie_name(tie) for tie in one.explanation.edges if frozenset(tie) in kept)
        or words.say("subject.none"),
    )
    return mini_graph(
        [
            TreeNode(
                name=name,
                favourable=known.get(name),
                subject=not number,
            )
            for number, name in enumerate(names)
        ],
        [(place[a], place[b]) for a, b in one.explanation.edges],
        [(place[a], place[b]) for a, b in one.removed if a in place and b in place],
        word=words.say("subject.cf.removed"),
        alt=alt,
    )


def _sentences(
    place: int,
    one: Counterfactual,
    shown: SubjectReport,
    watched: Watched,
    inside: Move,
    whole: Move,
) -> list[str]:
    words, count = watched.words, len(one.removed)
    said = []
    if one.whole_graph is not None:
        outcome = then(words, one.whole_graph)
        said.append(f"{outcome[:1].upper()}{outcome[1:]}.")
    gain = _gain(watched, whole)
    if gain is not None and abs(gain) >= _least(shown):
        said.append(words.say_count(f"subject.cf.{'against' if gain > 0 else 'for'}", count))
    answers = _decided(one.explanation, watched)
    after = _decided(one, watched)
    compared = comparison(one, shown)
    if answers and after and answers != after and one.whole_graph and not one.whole_graph.flips:
        said.append(words.say("subject.cf.reverses"))
    elif compared:
        said.append(words.say(f"subject.cf.{compared}"))
    if answers and answers != shown.subject.decision:
        said.append(words.say("subject.cf.poor", decision=answers))
    said += [
        grade_sentence(caveat, words)
        for caveat in shown.caveats
        if caveat.kind == "confounders" and caveat.counterfactual == place
    ]
    return said


def _least(shown: SubjectReport) -> float:
    """The smallest effect that is worth a sentence."""
    return NOTHING * abs(shown.decision.margin or 0.0) if shown.decision.scored else NOTHING


def _decided(found: Explanation | Counterfactual, watched: Watched) -> str:
    """What the rule decides on an explanation alone; empty where a copy does not tell."""
    if watched.kind != "score" and not watched.at_least:
        return max(found.probabilities, key=found.probabilities.__getitem__, default="")
    reached = watched.reached(watched.value(found))
    if reached is None:
        return ""
    return watched.favourable if reached else watched.other


def grade_sentence(caveat: Caveat, words: PageWords) -> str:
    """How far an effect depends on other people's data, with its grade."""
    people = words.listed(list(caveat.variables)) or words.say("subject.grade.people")
    effect = caveat.effect
    if effect is None or caveat.grade is None:
        return words.say("subject.grade.unmeasured", people=people)
    same = words.out_of(round(effect.agreeing * effect.draws), effect.draws)
    said = words.say(f"subject.grade.{caveat.grade}", people=people, same=same)
    return f"{said} {words.say('subject.grade.whom')}" if effect.depends_on_whom else said
