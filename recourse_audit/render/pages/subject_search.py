"""What a decision rests on, on a page: the neighbourhood, the counterfactuals, all pairs.

Nothing here looks at a graph: the report holds everybody who is drawn.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recourse_audit.records.recourse import Option, TieAction
from recourse_audit.records.report import EgoTie, SubjectReport
from recourse_audit.records.search import Counterfactual, FrontPair, Tie
from recourse_audit.render.answers import (
    direction,
    effect,
    figure,
    held_back,
    value_of,
    watched,
)
from recourse_audit.render.charts.ego_network import (
    LIMIT,
    Neighbourhood,
    Person,
    labels_of,
    limited,
)
from recourse_audit.render.charts.histograms import Answer, Look, histograms
from recourse_audit.render.charts.neighbourhood import Pair, neighbourhood_pair
from recourse_audit.render.charts.objective_grid import Point, objective_grid
from recourse_audit.render.charts.score_marks import score_marks
from recourse_audit.render.charts.svg import Picture
from recourse_audit.render.pages.redaction import Level, people_of
from recourse_audit.render.pages.tables import Column, Fact, Kind, Table, cells
from recourse_audit.render.text import (
    HELD_BACK,
    beaten_baselines,
    number,
    plain,
)
from recourse_audit.render.whole_graph import NOT_ASKED, then_decided, whole_effect

PEOPLE = "People by the label at their mark, nearest first"
# Ties of up to this many letters are not broken over lines.
WHOLE = 24


def neighbourhood_of(
    shown: SubjectReport, level: Level, looks: Mapping[str, Look]
) -> Neighbourhood | None:
    """Who is drawn around the subject; None if nobody is, or nobody may be."""
    found = shown.ego_network
    if found is None or level == "subject" or not shown.counterfactuals:
        return None
    nodes = {node.id: node for node in found.nodes}
    ids = [one for one in people_of(shown) if one in nodes]
    places = {one: place for place, one in enumerate(ids)}
    winner = shown.counterfactuals[0]

    def placed(ties: Sequence[Tie]) -> tuple[tuple[int, int], ...]:
        pairs = dict.fromkeys(tuple(sorted((places[a], places[b]))) for a, b in ties)
        return tuple((one, other) for one, other in pairs)

    everybody = Neighbourhood(
        people=tuple(
            Person(
                name=one,
                label=_label(one, shown.subject.id, level),
                hops=nodes[one].hops,
                decision=nodes[one].decision,
            )
            for one in ids
        ),
        ties=placed([tie.ends for tie in found.ties]),
        explanation=placed(winner.explanation.edges),
        removed=placed(winner.removed),
        total=found.total,
        hops=found.hops,
        looks=looks,
    )
    return limited(everybody)


def _label(name: str, subject: str, level: Level) -> str:
    """What is written at a mark; of "person 3" only the number."""
    return name.removeprefix("person ") if level == "reviewer" and name != subject else name


def neighbourhood_pictures(near: Neighbourhood | None) -> Pair | None:
    """The neighbourhood and the explanation, side by side."""
    return None if near is None else neighbourhood_pair(near)


def people_table(near: Neighbourhood | None) -> Table | None:
    """Everybody in the picture, by the label at their mark."""
    if near is None:
        return None
    labels = labels_of(near.people)
    explained = {end for tie in near.explanation for end in tie} | {0}
    return Table(
        caption=PEOPLE,
        columns=(
            Column(heading="Label"),
            Column(heading="Person"),
            Column(heading="Hops away", kind="figures"),
            Column(heading="Decision"),
            Column(heading="In the explanation"),
        ),
        rows=tuple(
            cells(
                label,
                f"{person.name} (the subject)" if place == 0 else person.name,
                str(person.hops),
                person.decision or "none",
                "yes" if place in explained else "no",
            )
            for place, (label, person) in enumerate(zip(labels, near.people, strict=True))
        ),
    )


def limit_sentence(near: Neighbourhood | None) -> str:
    """What the picture leaves out, if anything."""
    if near is None or near.total <= len(near.people):
        return ""
    return (
        f"A picture has room for {LIMIT} people. Of the {near.total:,} within "
        f"{number(near.hops, 'hop')}, {len(near.people)} are drawn: everyone in the "
        "explanation, then the nearest."
    )


def histogram_picture(shown: SubjectReport, looks: Mapping[str, Look]) -> Picture | None:
    """Class probabilities on the whole graph, the explanation and the counterfactual."""
    whole = shown.subject.probabilities
    if not whole:
        return _score_picture(shown)
    answers = [Answer(graph="whole graph", probabilities=whole)]
    if shown.counterfactuals:
        first = shown.counterfactuals[0]
        inside = first.explanation.probabilities
        answers.append(Answer(graph="explanation", probabilities=inside))
        answers.append(Answer(graph="counterfactual", probabilities=first.probabilities))
    return histograms(tuple(answers), looks)


def _score_picture(shown: SubjectReport) -> Picture | None:
    """The score on the same three graphs, with the line; None if there is no score."""
    if not shown.decision.scored or shown.decision.score is None:
        return None
    values = [("whole graph", value_of(shown))]
    if shown.counterfactuals:
        first = shown.counterfactuals[0]
        values.append(("explanation", value_of(shown, first.explanation)))
        values.append(("counterfactual", value_of(shown, first)))
    return score_marks(values, shown.decision.cut_off, better=shown.decision.better or "higher")


def objective_picture(shown: SubjectReport) -> Picture | None:
    """All pairs of the search, the front, and the counterfactuals shown."""
    if shown.objective_grid is None:
        return None
    return objective_grid(
        shown.objective_grid,
        front=[_point(pair) for pair in shown.front],
        front_size=shown.front_size,
        choices=[_point(pair) for pair in shown.counterfactuals],
    )


def _point(pair: FrontPair | Counterfactual) -> Point:
    return pair.simulatability, abs(pair.relevance)


@dataclass(frozen=True, slots=True, kw_only=True)
class TieWords:
    """The ties of one counterfactual, as its reader may see them, and what removing them does.

    `on_whole_graph` is what the model said about the whole graph without these ties.
    """

    explanation: tuple[str, ...]
    removed: tuple[str, ...]
    on_whole_graph: tuple[str, ...]


def tie_words(report: SubjectReport, shown: SubjectReport, level: Level) -> tuple[TieWords, ...]:
    """Word the ties of every counterfactual.

    `report` still has all names: kinds and numbers of ties between two people can be looked up in
    it alone, because the subject's copy does not tell others apart. None of its names gets out.
    """
    between = ties_between(report)
    pairs = zip(report.counterfactuals, shown.counterfactuals, strict=True)
    return tuple(
        TieWords(
            explanation=shown_ties(one.explanation.edges, other.explanation.edges, between, level),
            removed=shown_ties(one.removed, other.removed, between, level),
            on_whole_graph=_on_whole_graph(report, one, between),
        )
        for one, other in pairs
    )


def explanation_facts(shown: SubjectReport, words: Sequence[TieWords]) -> tuple[Fact, ...]:
    """The first explanation in words."""
    if not shown.counterfactuals:
        return ()
    size = number(len(shown.counterfactuals[0].explanation.nodes), "node")
    return (
        Fact(name="Explanation", value=f"{size}, {', '.join(words[0].explanation)}"),
        Fact(name="The counterfactual removes", value=", ".join(words[0].removed)),
    )


def remark_on(shown: SubjectReport) -> str:
    """What must be said before the explanation: that it moves nothing, or stood against."""
    if not shown.counterfactuals:
        return ""
    against = direction(shown.counterfactuals[0], shown, "these ties")
    return shown.note or against


def counterfactual_table(shown: SubjectReport, words: Sequence[TieWords]) -> Table | None:
    """Each counterfactual with its ranks, what it dominates, and its effect."""
    if not shown.counterfactuals:
        return None
    pairs = 0 if shown.search is None else shown.search.pairs
    rows = []
    for place, (one, ties) in enumerate(zip(shown.counterfactuals, words, strict=True), start=1):
        against = one.relevance and held_back(one, shown)
        beaten = beaten_baselines(one)
        rows.append(
            cells(
                str(place),
                ties.explanation,
                ties.removed,
                f"{one.simulatability:.6f}",
                f"{one.relevance:.6f}",
                f"{one.ranks.simulatability:,} + {one.ranks.relevance:,}",
                str(one.layer),
                (f"{one.dominates:,} of {pairs:,}", *([beaten] if beaten else [])),
                (effect(one, shown), *([HELD_BACK] if against else [])),
                ties.on_whole_graph,
            )
        )
    longest = max(len(line) for row in rows for cell in row[1:3] for line in cell)
    kind: Kind = "whole" if longest <= WHOLE else "plain"
    return Table(
        caption=f"Counterfactuals; effects are on {watched(shown)}",
        columns=(
            Column(heading="No."),
            Column(heading="Explanation", kind=kind),
            Column(heading="Removed", kind=kind),
            Column(heading="Simulatability ν", kind="figures"),
            Column(heading="Relevance |μ|", kind="figures"),
            Column(heading="Ranks ν + |μ|", kind="figures"),
            Column(heading="Layer", kind="figures"),
            Column(heading="Dominates", kind="figures"),
            Column(heading="Effect in the explanation", kind="figures"),
            Column(heading="Effect on the whole graph", kind="figures"),
        ),
        rows=tuple(rows),
    )


Between = Mapping[frozenset[str], Sequence[EgoTie]]


def ties_between(report: SubjectReport) -> Between:
    """The ties between two people by kind, as far as the report has them."""
    found: dict[frozenset[str], list[EgoTie]] = {}
    for tie in report.ego_network.ties if report.ego_network else ():
        found.setdefault(frozenset(tie.ends), []).append(tie)
    return found


def _on_whole_graph(
    report: SubjectReport, found: Counterfactual, between: Between
) -> tuple[str, ...]:
    """The effect on the whole graph, and the decision there; or that it was not asked about."""
    if found.whole_graph is None:
        return _by_an_option(report, found.removed, between)
    words = whole_effect(report, found.whole_graph)
    return (words, f"decision {then_decided(found.whole_graph)}")


def _by_an_option(
    report: SubjectReport, removed: Sequence[Tie], between: Between
) -> tuple[str, ...]:
    """The effect of an option that drops these ties and nothing else, if there is such an option.

    Bundles of older versions know no other. A counterfactual removes everything between two people,
    so an option has the same effect only if it drops every one of the parallel ties between them.
    """
    wanted = Counter[frozenset[str]]()
    for tie in removed:
        ends = frozenset(tie)
        if ends not in between:
            return (NOT_ASKED,)
        wanted[ends] = sum(parallel.count for parallel in between[ends])
    for option in report.recourse.options if report.recourse else ():
        if _dropped(option) == wanted:
            before, after = value_of(report), value_of(report, option)
            words = f"{figure(report, before)} → {figure(report, after)}"
            asked_there = option.verified_on == "whole graph"
            return (words,) if asked_there else (words, "asked on the neighbourhood")
    return (NOT_ASKED,)


def _dropped(option: Option) -> Counter[frozenset[str]] | None:
    """How many ties an option drops between which people; None if it does anything else."""
    dropped = Counter[frozenset[str]]()
    for action in option.actions:
        if not isinstance(action, TieAction) or action.do != "drop":
            return None
        dropped[frozenset(action.tie)] += 1
    return dropped


def shown_ties(
    ties: Sequence[Tie], shown: Sequence[Tie], between: Between, level: Level
) -> tuple[str, ...]:
    """Ties by their ends; in the subject's own copy by kind and count only."""
    if level != "subject":
        return tuple(f"{one} - {other}" for one, other in shown)
    counts = Counter[str]()
    for ends in ties:
        for tie in between.get(frozenset(ends), (EgoTie(ends=ends, kind=""),)):
            counts[plain(tie.kind)] += tie.count
    return tuple(number(count, f"{kind} tie".strip()) for kind, count in counts.items())
